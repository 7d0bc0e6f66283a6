"""What a Parquet file says beside its columns."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet
from refusals import refuses

from ranker.errors import DataError
from ranker.files.reader import read_columns


def ranged(folder, **index):
    """A file whose index pandas wrote as a range."""
    about = {"index_columns": [{"kind": "range", "name": "row", **index}]}
    table = pa.table({"label": ["a", "b", "c"]}).replace_schema_metadata({"pandas": json.dumps(about)})
    parquet.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet"


def test_an_index_that_is_a_range_is_a_column(tmp_path):
    """As pandas reads it."""
    columns = read_columns(ranged(tmp_path, start=3, step=2))
    assert columns.cells["row"].to_pylist() == [3, 5, 7]


@pytest.mark.parametrize(("start", "step"), [(10**30, 1), (0, 10**30), (1 << 62, 1 << 62), (-(1 << 63), -1)])
def test_an_index_beyond_whole_numbers_is_one_line(tmp_path, start, step):
    """Neither a traceback nor a number that has wrapped around."""
    with refuses(DataError, place=tmp_path / "rows.parquet"):
        read_columns(ranged(tmp_path, start=start, step=step))
