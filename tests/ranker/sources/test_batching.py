import weakref

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from ranker.errors import ModelError
from ranker.sources.hf import batching
from ranker.sources.hf.batching import TokenRow, run_rows, stack


def forward(network, requests, budget, advance=lambda done: None):
    """The outputs of requests, (R, C) each."""
    answers = run_rows(lambda rows: network(stack(rows)).double().numpy(), requests, budget, advance)
    return ((state, np.stack(outputs)) for state, outputs in answers)


class Network:
    """Logits that follow from a row alone, the sums of its ids and type ids; an error for batches beyond its memory."""

    def __init__(self, memory=10**9, error=None):
        self.memory, self.error, self.batches = memory, error or torch.OutOfMemoryError("no more"), []

    def __call__(self, batch):
        """(R, T) ids -> (R, 2)."""
        if batch.ids.numel() > self.memory:
            raise self.error
        self.batches.append(tuple(batch.ids.shape))
        types = torch.zeros(len(batch.ids)) if batch.type_ids is None else batch.type_ids.sum(dim=1)
        return torch.stack([batch.ids.sum(dim=1), types], dim=1).float()


def row(length, start=0, type_ids=None):
    """A row of that many token ids from `start` on."""
    return TokenRow(np.arange(start, start + length), type_ids)


rows_of = st.builds(row, st.integers(1, 6), st.integers(0, 3))
requests_of = st.lists(st.lists(rows_of, min_size=1, max_size=5), max_size=12)


@pytest.mark.more
@given(requests=requests_of, budget=st.integers(1, 40), memory=st.integers(6, 50))
def test_answers_are_those_of_each_row_alone(requests, budget, memory):
    """Neither the budget, nor memory that runs out, nor neighbours change a value or the order."""
    answers = list(forward(Network(memory), enumerate(requests), budget))
    assert [state for state, _ in answers] == list(range(len(requests)))
    for wanted, (_, logits) in zip(requests, answers, strict=True):
        assert logits.dtype == np.float64
        assert logits.tolist() == [[row.ids.sum(), 0] for row in wanted]


@pytest.mark.more
@given(requests=requests_of, budget=st.integers(1, 40), memory=st.integers(6, 50))
def test_work_is_told_of_as_it_is_done(requests, budget, memory):
    """A request is told of once, after the batch that has the last of its rows, which is before it is answered."""
    network, calls = Network(memory), []
    tell = lambda done: calls.append((done, len(network.batches)))  # noqa: E731
    answers = forward(network, enumerate(requests), budget, advance=tell)
    for answered, _ in enumerate(answers, start=1):
        assert sum(done for done, _ in calls) >= answered
    assert sum(done for done, _ in calls) == len(requests)


def test_work_is_told_of_batch_by_batch():
    """Long before a window of requests is answered: the rows of nine tokens come first, then both of three."""
    network, calls = Network(), []
    requests = [[row(3)], [row(9), row(3)], [row(9, 1)], [row(3)]]
    list(forward(network, enumerate(requests), 9, advance=lambda done: calls.append((len(network.batches), done))))
    assert network.batches == [(1, 9), (1, 9), (1, 3)]
    assert [call for call in calls if call[1]] == [(2, 1), (3, 3)]


def test_duplicates_in_tokens_and_segments_are_computed_once():
    """The same tokens in other segments are another input."""
    network = Network()
    requests = [("a", [row(3), row(3), row(3, 1)]), ("b", [row(3, 1), row(3)])]
    answers = dict(forward(network, requests, 100))
    assert network.batches == [(2, 3)]
    assert answers["a"].tolist() == [[3, 0], [3, 0], [6, 0]]
    assert answers["b"].tolist() == [[6, 0], [3, 0]]
    rows = [row(3, 0, np.array(types)) for types in ([0, 0, 1], [0, 1, 1])]
    ((_, logits),) = forward(Network(), [(None, rows)], 100)
    assert logits.tolist() == [[3, 1], [3, 2]]


OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried 9 bytes"),
    RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    MemoryError(),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["cuda", "cpu", "mps", "cublas", "numpy"])
def test_out_of_memory_halves_the_budget_and_goes_on(error, caplog):
    """Done work is kept, the rest is done in smaller batches, and the budget stays small."""
    network = Network(memory=30, error=error)
    requests = [(i, [row(4, 10 * i)]) for i in range(20)]
    caplog.set_level("WARNING", "ranker")
    answers = list(forward(network, requests, 100))
    assert [logits[0, 0] for _, logits in answers] == [40 * i + 6 for i in range(20)]
    assert {tokens for _, tokens in network.batches} == {4}
    assert sum(rows for rows, _ in network.batches) == 20
    assert max(rows for rows, _ in network.batches) == 5  # 80 tokens did not fit, nor did 40: 20 did
    assert [record.getMessage() for record in caplog.records] == [
        "out of memory: going on with at most 40 tokens a batch",
        "out of memory: going on with at most 20 tokens a batch",
    ]


def test_a_row_that_does_not_fit_or_has_no_token_is_an_error():
    """A batch of one row cannot be halved, and nothing cannot be given to a network."""
    with refuses(ModelError, value=8):
        list(forward(Network(memory=7), [(0, [row(8)])], 100))
    with refuses(ModelError, option="hide"):
        list(forward(Network(), [(0, [row(2), row(0)])], 100))


@pytest.mark.parametrize("error", [RuntimeError("shapes do not agree"), IndexError("out of range")])
def test_other_errors_are_passed_on(error):
    """Only memory is tried again."""
    with pytest.raises(type(error), match=str(error)):
        list(forward(Network(memory=0, error=error), [(0, [row(2)])], 100))


def test_memory_stays_flat(monkeypatch):
    """However many requests come, the rows of one window at most are alive, and answers come before the end is read."""
    monkeypatch.setattr(batching, "WINDOW", 2)
    references, most = [], 0

    class Ids(np.ndarray):
        """An array that can be watched."""

    def requests():
        nonlocal most
        for i in range(500):
            ids = (np.arange(4) + i).view(Ids)
            references.append(weakref.ref(ids))
            most = max(most, sum(reference() is not None for reference in references))
            yield i, [TokenRow(ids)]

    answers = forward(Network(), requests(), 16)
    assert next(answers)[0] == 0
    assert len(references) == 8  # two batches of four rows
    assert sum(1 for _ in answers) == 499
    assert most <= 2 * 8


def test_large_batches_make_no_large_windows():
    """Of requests as cheap as can be, so many are read ahead and no more, whatever an accelerator's batches hold."""
    rows = []
    answers = forward(Network(), ((None, [row(1)]) for _ in range(3000) if not rows.append(0)), 65_536)
    next(answers)
    assert len(rows) == batching.MAX_REQUESTS_AHEAD
