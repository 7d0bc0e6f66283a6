"""Every test, doctests included, has a store of its own: none reads or writes that of whoever runs the tests."""

from __future__ import annotations

import tempfile
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Name a new folder before any fixture is made, those of modules too; it goes when the test is over."""
    with tempfile.TemporaryDirectory(prefix="rank-models-test-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANK_MODELS_STORE", f"{folder}/store")
        return (yield)
