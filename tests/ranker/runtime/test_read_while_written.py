"""A store is read while another process fills it, makes one shard of several, and begins again."""

import subprocess
import sys
from pathlib import Path

import pytest
import test_store
from test_store import KEY, row_of, same

from factors.types import Example
from ranker.datasets.identity import text_names
from ranker.runtime.store import Store
from ranker.runtime.upkeep import contents, verify

MANY = [Example(f"e{n}", (f"text {n} {n % 10}", "naïve 走"), n % 2) for n in range(60)]

WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from asking import attributions
from test_read_while_written import MANY
from test_store import KEY, Counter
from ranker.runtime.store import Store
for number in range(int(sys.argv[2])):
    for at in range(0, len(MANY), 6):
        store = Store(Path(sys.argv[1]))
        entry = store.entry({**KEY, "round": number})
        attributions(entry, MANY[: at + 6], Counter())
        if at % 18 == 0:
            entry.compact()
"""


@pytest.mark.more
def test_what_is_read_meanwhile_is_right(tmp_path, caplog):
    """Each row that is there is the right one, none that was there goes away, and nothing is called damaged."""
    places = [str(Path(test_store.__file__).parent), *(path for path in sys.path if path)]
    command = [sys.executable, "-c", WRITER, str(tmp_path), "3", *places]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    counts, reads, grew = {}, 0, 0
    try:
        while writer.poll() is None or reads == 0:
            for number in range(3):
                key = {**KEY, "round": number}
                entry = Store(tmp_path).entry(key)
                missing = set(entry.missing(MANY).names)
                present = [example for example, name in zip(MANY, text_names(MANY), strict=True) if name not in missing]
                if present:
                    rows = list(entry.attributions(present))
                    assert all(same(row, row_of(example)) for row, example in zip(rows, present, strict=True))
                assert len(present) >= counts.get(number, 0)
                grew += len(present) > counts.get(number, 0)
                counts[number], reads = len(present), reads + 1
            contents(tmp_path)
            assert verify(tmp_path)[1] == []
    finally:
        _, message = writer.communicate()
    assert (writer.returncode, message) == (0, "")
    assert grew > 1, "the reader saw only what was complete"
    assert not caplog.records
