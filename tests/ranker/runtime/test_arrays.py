"""Arrays go into Arrow's memory and come back, to the last bit, and pandas is left where it is."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factors.types import Attributions
from ranker.runtime import arrays, shards

FLOATS = st.floats(allow_nan=False)


@st.composite
def attributions(draw):
    """Attributions of a few tokens, or of none."""
    tokens = draw(st.lists(st.text(max_size=3), max_size=5))
    count = len(tokens)
    numbers = st.lists(st.integers(-1, 3), min_size=count, max_size=count)
    probs = draw(st.lists(FLOATS, min_size=2, max_size=3))
    return Attributions(
        probs=np.array(probs),
        target=draw(st.integers(0, len(probs) - 1)),
        tokens=tuple(tokens),
        segment=np.array(draw(numbers), np.int64),
        word=np.array(draw(numbers), np.int64),
        offsets=np.array(draw(st.lists(st.integers(0, 9), min_size=2 * count, max_size=2 * count))).reshape(-1, 2),
        scores=np.array(draw(st.lists(FLOATS, min_size=count, max_size=count)), np.float64),
        backend=draw(st.text(max_size=3)),
        residual=draw(st.floats()),
        effort=draw(st.integers(0, 2**62)),
    )


@pytest.mark.more
@given(rows=st.lists(attributions(), min_size=1, max_size=4), strategy=st.data())
def test_attributions_come_back_to_the_last_bit(rows, strategy):
    """In any order, and out of a part of a table; Arrow's own reading of the table is the same."""
    names = [bytes([n]) * 32 for n in range(len(rows))]
    table = shards.attributions(names, rows)
    table.validate(full=True)
    assert table.column("tokens").to_pylist() == [list(row.tokens) for row in rows]
    order = strategy.draw(st.permutations(range(len(rows))))
    start = strategy.draw(st.integers(0, len(rows) - 1))
    part = table.take(pa.array(order, pa.int64())).slice(start)
    for attribution, n in zip(shards.attributions_of(part), order[start:], strict=True):
        for name in shards.FIELDS:
            read_value, value = getattr(attribution, name), getattr(rows[n], name)
            assert type(read_value) is type(value), name
            np.testing.assert_array_equal(read_value, value)


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1)), parts=st.integers(1, 3))
def test_numbers_come_back_from_any_column(values, parts):
    """From one array, from several, from a part of one, and from none."""
    array = arrays.of_numbers(np.array(values, np.int64))
    column = pa.chunked_array([array[n::1][: len(values) // parts] for n in range(parts)], pa.int64())
    expected = [value for n in range(parts) for value in values[n:][: len(values) // parts]]
    assert arrays.numbers(column).tolist() == expected
    assert arrays.numbers(pa.chunked_array([], pa.int64())).tolist() == []


def test_bytes_of_another_width_are_refused():
    """Such bytes would all be read wrongly."""
    with pytest.raises(ValueError, match="must have 3 bytes"):
        arrays.of_binary([b"abc", b"d"], 3)


def test_a_store_is_written_and_read_without_pandas(tmp_path):
    """Pandas takes a second to import, in each process, and Arrow imports it if it can."""
    script = f"""
import sys
import numpy as np
from pathlib import Path
from factors.types import Attributions, Example
from ranker.runtime.store import Store, collect_blocks
from ranker.tasks.classes import ClassProbabilities

examples = [Example(str(n), (f"text {{n}}",), 0) for n in range(3)]
row = Attributions(np.array([0.5, 0.5]), 1)
halves = ClassProbabilities(np.full((3, 2), 0.5))
for key, block in (({{"answers": "classes"}}, halves), ({{"backend": "x"}}, [row] * 3)):
    for asked in (examples, examples[:2], examples):
        entry = Store(Path({str(tmp_path)!r})).entry(key)
        missing = entry.missing(asked)
        if missing:
            with collect_blocks(missing, entry.add) as keep:
                keep(block)
        assert len(entry.predictions(asked) if "answers" in key else entry.attributions(asked)) == len(asked)
        entry.compact()
print("pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
