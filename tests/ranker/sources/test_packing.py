"""Windows of a stream, and batches of rows of one length."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from ranker.sources.packing import in_blocks, pack, run_in_batches, windows


@given(lengths=st.lists(st.integers(1, 9), max_size=30), budget=st.integers(1, 40))
def test_batches_are_of_one_length_and_within_the_budget(lengths, budget):
    """Each row is in one batch; a batch over the budget is of one row."""
    batches = list(pack(lengths, budget))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len({lengths[i] for i in batch}) == 1
        assert len(batch) == 1 or sum(lengths[i] for i in batch) <= budget
    assert [lengths[batch[0]] for batch in batches] == sorted((lengths[b[0]] for b in batches), reverse=True)


@given(lengths=st.lists(st.integers(1, 9), max_size=30), budget=st.integers(1, 40), padding=st.integers(0, 20))
def test_padding_is_bounded(lengths, budget, padding):
    """Rows of a batch are in order of length, and their differences to the longest add up to the bound at most."""
    batches = list(pack(lengths, budget, padding))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        longest, shortest = lengths[batch[0]], lengths[batch[-1]]
        assert len(batch) * (longest - shortest) <= padding
        assert len(batch) == 1 or len(batch) * longest <= budget
        assert sorted((lengths[i] for i in batch), reverse=True) == [lengths[i] for i in batch]
    assert len(batches) <= len(list(pack(lengths, budget)))


def test_batches_are_as_few_as_the_budget_and_memory_demand():
    """Rows of one length fill batches to the budget, which is what memory allowed last."""
    assert [len(batch) for batch in pack([4] * 10, 12)] == [3, 3, 3, 1]
    batches = []

    def run(batch):
        batches.append(batch)
        if len(batch) > 2:
            raise torch.OutOfMemoryError

    assert run_in_batches([5, 5, 5], 20, run) == 7
    assert batches == [[0, 1, 2], [0], [1], [2]]


def test_windows_are_cut_lazily():
    """A window is given as soon as it is full."""
    stream = windows(iter([1, 2, 3, 4]), int, 3, 9)
    assert next(stream) == [1, 2]
    assert list(stream) == [[3], [4]]
    assert list(windows([], int, 3, 9)) == []


def test_blocks_are_given_when_they_are_old_or_full():
    """An item a second: three seconds make a block of three."""
    now = [0.0]

    def items():
        for number in range(8):
            now[0] += 1 if number < 6 else 0
            yield number

    assert list(in_blocks(items(), 2, 99.0, lambda: now[0])) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    now[0] = 0.0
    assert list(in_blocks(items(), 99, 3.0, lambda: now[0])) == [[0, 1, 2], [3, 4, 5], [6, 7]]
