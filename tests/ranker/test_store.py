import numpy as np
import pytest

from factors.types import Attributions, Example
from ranker import store as store_module
from ranker.errors import StoreError
from ranker.store import Store, digest

EXAMPLES = [Example(f"e{n}", (f"text {n}", "naïve 走"), n % 2) for n in range(5)]
KEY = {"model": "abc", "method": "ig"}


def row_of(example):
    """A row with awkward numbers, different for each example."""
    number = float(len(example.segments[0]) + int(example.segments[0][-1])) / 3
    return Attributions(
        probs=np.array([number / 10, 1 - number / 10]),
        target=1,
        tokens=("[CLS]", "▁té", "👍"),
        segment=np.array([-1, 0, 1]),
        word=np.array([-1, 0, 3]),
        offsets=np.array([[0, 0], [0, 2], [4, 5]]),
        scores=np.array([number, -1e-300, np.nextafter(1, 2)]),
        method="ig",
        residual=float("nan"),
        effort=20,
    )


class Counter:
    """Computes rows, and remembers which examples it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, examples):
        """One row for each example."""
        for example in examples:
            self.asked.append(example.id)
            yield row_of(example)


def same(a, b):
    """Equal to the last bit, field by field."""
    arrays = ("probs", "segment", "word", "offsets", "scores")
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in arrays) and (
        (a.target, a.tokens, a.method, a.effort) == (b.target, b.tokens, b.method, b.effort)
        and np.isnan(a.residual) == np.isnan(b.residual)
    )


def test_what_is_read_back_equals_what_was_kept(tmp_path):
    """Every field of a row survives the way to disk and back, bit by bit."""
    Store(tmp_path).rows(KEY, EXAMPLES, Counter())
    again = Store(tmp_path).rows(KEY, EXAMPLES, Counter())
    assert all(same(row, row_of(example)) for row, example in zip(again, EXAMPLES, strict=True))


def test_the_second_run_computes_nothing(tmp_path):
    """Whatever the order, the ids and the labels of the rows are the second time."""
    Store(tmp_path).rows(KEY, EXAMPLES, Counter())
    second = Counter()
    renamed = [Example("other", example.segments, 1 - example.label) for example in reversed(EXAMPLES)]
    rows = Store(tmp_path).rows(KEY, renamed, second)
    assert second.asked == []
    assert same(rows[0], row_of(EXAMPLES[-1]))


def test_only_what_is_missing_is_computed_and_the_whole_comes_back(tmp_path):
    """A larger population builds on a smaller one."""
    Store(tmp_path).rows(KEY, EXAMPLES[:2], Counter())
    counter = Counter()
    assert len(Store(tmp_path).rows(KEY, EXAMPLES, counter)) == 5
    assert counter.asked == ["e2", "e3", "e4"]


def test_equal_texts_are_computed_once(tmp_path):
    """Two rows of one text have one answer."""
    counter = Counter()
    rows = Store(tmp_path).rows(KEY, [EXAMPLES[0], Example("twin", EXAMPLES[0].segments, 1)], counter)
    assert len(counter.asked) == 1
    assert rows[0] is rows[1]


def test_another_key_is_computed_anew(tmp_path):
    """A changed setting never meets the rows of another one."""
    Store(tmp_path).rows(KEY, EXAMPLES, Counter())
    counter = Counter()
    Store(tmp_path).rows({**KEY, "method": "lime"}, EXAMPLES, counter)
    assert len(counter.asked) == 5


def test_what_was_done_before_an_interruption_is_kept(tmp_path, monkeypatch):
    """Ctrl-C in the fourth example keeps three, the last incomplete block included."""
    monkeypatch.setattr(store_module, "BLOCK", 2)

    def interrupted(examples):
        yield from (row_of(example) for example in examples[:3])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).rows(KEY, EXAMPLES, interrupted)
    counter = Counter()
    Store(tmp_path).rows(KEY, EXAMPLES, counter)
    assert counter.asked == ["e3", "e4"]
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("where", [0.0, 0.25, 0.5, 0.75, 0.999])
def test_a_damaged_shard_is_set_aside_and_computed_anew(tmp_path, caplog, where):
    """A flipped byte anywhere in the file, footer included, is noticed, named, and costs the rows of one shard."""
    Store(tmp_path).rows(KEY, EXAMPLES, Counter())
    [shard] = tmp_path.rglob("*.parquet")
    content = bytearray(shard.read_bytes())
    content[int(len(content) * where)] ^= 0xFF
    shard.write_bytes(content)
    counter = Counter()
    rows = Store(tmp_path).rows(KEY, EXAMPLES, counter)
    assert all(same(row, row_of(example)) for row, example in zip(rows, EXAMPLES, strict=True))
    assert len(counter.asked) == 5
    assert f"{shard.name} is damaged" in caplog.text
    assert shard.with_suffix(".damaged").exists()


def test_a_truncated_shard_is_set_aside(tmp_path):
    """Half a file is no file."""
    Store(tmp_path).rows(KEY, EXAMPLES, Counter())
    [shard] = tmp_path.rglob("*.parquet")
    shard.write_bytes(shard.read_bytes()[:-100])
    counter = Counter()
    Store(tmp_path).rows(KEY, EXAMPLES, counter)
    assert len(counter.asked) == 5


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path):
    """Before hours of work, not after them: here a file stands where the folder should be."""
    (tmp_path / "taken").write_text("")
    with pytest.raises(StoreError, match=r"`--store`: .*taken cannot be written to"):
        Store(tmp_path / "taken")


def test_a_field_that_has_no_name_is_an_error():
    """An object's address is no key."""
    with pytest.raises(TypeError):
        digest({"model": object()})
