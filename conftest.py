"""Every test has a store of its own: none reads or writes that of whoever runs the tests; the doctests share one."""

from __future__ import annotations

import gc
import tempfile
from collections import Counter
from collections.abc import Generator

import pytest

DOCTESTS = pytest.StashKey[tempfile.TemporaryDirectory]()
"""Folder of the store of all doctests: several show parts of one result, which is computed once."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave all that is imported and collected out of garbage collections, which took a tenth of the suite's time."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000)
    return collected


CASES = pytest.StashKey[Counter]()
"""How many cases of each test were collected."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the cases of a test behind the first few as `more`."""
    if few := item.get_closest_marker("few"):
        cases = item.session.stash.setdefault(CASES, Counter())
        name = item.nodeid.partition("[")[0]
        cases[name] += 1
        if cases[name] > few.args[0]:
            item.add_marker("more")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Name a new folder before any fixture is made, those of modules too; it goes when the test is over."""
    with tempfile.TemporaryDirectory(prefix="rank-models-test-") as folder, pytest.MonkeyPatch.context() as patch:
        if isinstance(item, pytest.DoctestItem):
            if DOCTESTS not in item.config.stash:
                item.config.stash[DOCTESTS] = tempfile.TemporaryDirectory(prefix="rank-models-doctests-")
            folder = item.config.stash[DOCTESTS].name
        patch.setenv("RANK_MODELS_STORE", f"{folder}/store")
        return (yield)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the store of the doctests."""
    if DOCTESTS in config.stash:
        config.stash[DOCTESTS].cleanup()
