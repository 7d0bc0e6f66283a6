"""What a Parquet file states of its columns: what Arrow finds there, or one line."""

import io
import struct
from contextlib import suppress

import pyarrow as pa
import pytest
from pyarrow import parquet
from refusals import refuses

from ranker.errors import DataError
from ranker.files import footers
from ranker.limits import Limits

TABLE = pa.table(
    {
        "text": ["x", "y"] * 500,
        "list": [[1, 2, 3], None] * 500,
        "object": [{"number": 1, "text": "a", "none": None}] * 1000,
        "nothing": pa.nulls(1000),
        "fraction": [0.5] * 1000,
        **{f"column {number}": [True] * 1000 for number in range(20)},
    }
)


def written(table=TABLE, **options):
    """A Parquet file."""
    file = io.BytesIO()
    parquet.write_table(table, file, **options)
    return file.getvalue()


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("size", [300, 1000])
def test_it_is_what_arrow_finds_there(size, compression):
    """Of each group of rows and each column of single values."""
    content = written(row_group_size=size, compression=compression)
    about = parquet.read_metadata(io.BytesIO(content))
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    columns = [[group.column(j) for j in range(about.num_columns)] for group in groups]
    expected = [[(chunk.num_values, chunk.total_uncompressed_size) for chunk in group] for group in columns]
    assert footers.read_footer(io.BytesIO(content), "a") == expected
    assert len(expected) == -(-1000 // size)


def test_a_footer_has_a_limit():
    """Python reads it byte by byte, and it may say that it is nested, or has a billion items."""
    with refuses(DataError, option="limits.footer", place="a"):
        footers.read_footer(io.BytesIO(written()), "a", Limits(footer=100))
    for footer in (b"\x19" * 100_000, b"\x19\xf9" + b"\xff" * 4 + b"\x0f" + b"\x00" * 1_000):
        content = b"PAR1" + footer + struct.pack("<L", len(footer)) + b"PAR1"
        with refuses(DataError, place="a"):
            footers.read_footer(io.BytesIO(content), "a")


@pytest.mark.more
def test_any_damage_is_one_line_or_none():
    """Each byte of a footer cut off or changed."""
    content = written(TABLE.slice(0, 10))
    size = int.from_bytes(content[-8:-4], "little")
    for place in range(len(content) - 8 - size, len(content)):
        before, after = content[:place], content[place + 1 :]
        for changed in (before, *(before + bytes([byte]) + after for byte in (0, 0x1C, 0xFF))):
            with suppress(DataError):
                footers.read_footer(io.BytesIO(changed), "a")


EVERY_TYPE = [
    (1, b""), (2, b""), (3, b"\xff"), (4, b"\xff\x01"), (5, b"\x02"), (6, b"\x80\x80\x01"), (7, b"\xff" * 8),
    (8, b"\x03abc"), (9, b"\x25\x02\x04"), (9, b"\xf5\x0f" + b"\x02" * 15), (10, b"\x11\x01"), (11, b"\x00"),
    (11, b"\x01\x58\x02\x01a"), (12, b"\x15\x02\x00"), (12, b"\x05\xc8\x01\x02\x00"), (13, b"\xff" * 16),
]  # fmt: skip
"""A type of Thrift's compact protocol, and a value of it."""


@pytest.mark.parametrize(("kind", "value"), EVERY_TYPE)
def test_a_field_of_any_type_is_passed_over(kind, value):
    """The columns' statements are read behind it, in the footer and in a column."""
    field = bytes([0x10 | kind]) + value
    numbers = b"\x46\x06\x16\x64\x00"  # fields 5 and 6, past field 1: 3 values, 50 bytes
    column = field + b"\x2c" + field + numbers + b"\x00"
    footer = field + b"\x39\x1c\x19\x1c" + column + b"\x00" + b"\x00"
    content = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    assert footers.read_footer(io.BytesIO(content), "a") == [[footers.ColumnChunkInfo(3, 50)]]
    for end in range(len(field), len(footer) - 3):  # cut off within what has to be read
        cut = b"PAR1" + footer[:end] + end.to_bytes(4, "little") + b"PAR1"
        with refuses(DataError, place="a"):
            footers.read_footer(io.BytesIO(cut), "a")
