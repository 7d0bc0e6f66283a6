"""Answers of a kind that nobody here knows: they are asked, sent, kept and joined by their protocol alone."""

from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from refusals import refuses
from tag_guest import Tagger, Tags, TagTask, tags_of
from toys import ROWS

from ranker.errors import UnknownName, UsageError
from ranker.progress import silent
from ranker.runs.collect import run_models
from ranker.runs.inspected import inspect_models
from ranker.runtime.base import Request
from ranker.runtime.executors.processes import Processes
from ranker.runtime.executors.serial import Serial
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store, collect_blocks
from ranker.runtime.upkeep import contents, verify
from ranker.tasks import base

pytestmark = pytest.mark.usefixtures("registered_tags")


def asked(taggers, executor, store, rows=ROWS):
    """Ask taggers, and return their answers by name."""
    runtime = Runtime(store=store, executor=executor, progress=silent)
    responses, failures = run_models(
        inspect_models(taggers), TagTask("tags"), [[Request(rows)]] * len(taggers), runtime
    )
    return {name: response.answers[0].predictions for name, response in responses.items()}, failures


@pytest.mark.more
@pytest.mark.parametrize("executor", [Serial(), Processes(2)])
def test_answers_of_any_kind_are_asked_kept_and_joined(tmp_path, executor):
    """Answers come back as they were given, in any order of the rows, and a second run asks nothing."""
    mark = tmp_path / "asked"
    taggers = [Tagger("a", "marks", str(mark)), Tagger("xy", "marks", str(mark))]
    predictions, failures = asked(taggers, executor, tmp_path / "store")
    assert not failures
    for name, predicted in predictions.items():
        assert (type(predicted).__name__, list(predicted.values)) == ("Tags", [tags_of(name, row) for row in ROWS])
    before = mark.read_text()
    again, _ = asked(taggers, executor, tmp_path / "store", ROWS[::-2])
    assert list(again["xy"].values) == [tags_of("xy", row) for row in ROWS[::-2]]
    assert mark.read_text() == before
    assert not verify(tmp_path / "store")[1]
    assert {content.key["answers"] for content in contents(tmp_path / "store")} == {"word-tags"}


def test_a_run_that_ended_early_goes_on_with_what_it_has(tmp_path):
    """A model that fails on its second block has its first one kept."""
    _, failures = asked([Tagger("a", "leaves"), Tagger("b")], Processes(2), tmp_path / "store")
    assert list(failures) == ["a"]
    predictions, failures = asked([Tagger("a"), Tagger("b")], Serial(), tmp_path / "store")
    assert (sorted(predictions), failures) == (["a", "b"], {})


@pytest.mark.parametrize(
    "blocks",
    [
        ([None, None], [("B", "O"), ()], [(), ()]),
        ([1, 2], [0.5, None], [1e300, 3]),
        ([None], ["a", "\ud800 is half a character"], [""]),
    ],
)
def test_blocks_of_any_values_are_kept_together(tmp_path, blocks):
    """The values of one block, such as empty ones, decide no type for the others."""
    rows = iter(ROWS)
    entry = Store(tmp_path).entry({"answers": "word-tags"})
    for values in blocks:
        with collect_blocks([next(rows) for _ in values], entry.add) as keep:
            keep(Tags(values))
    expected = [value for values in blocks for value in values]
    store_entry = Store(tmp_path).entry({"answers": "word-tags"})
    assert list(store_entry.predictions(ROWS[: len(expected)]).values) == expected
    store_entry.compact()
    assert list(Store(tmp_path).entry({"answers": "word-tags"}).predictions(ROWS[: len(expected)]).values) == expected


def test_a_kind_that_is_not_there_is_one_line():
    """With the near names, as of any other."""
    with refuses(UnknownName, value="class"):
        base.answer_class("class")


def test_a_class_of_another_kind_is_refused(monkeypatch):
    """The entry point's name is that of the kind."""
    point = SimpleNamespace(name="word-texts", value="tag_guest:Tags")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point])
    with refuses(UsageError, value="word-texts", place="tag_guest:Tags"):
        base.answer_class("word-texts")


def test_who_keeps_and_sends_answers_knows_no_class_of_them():
    """Neither the store nor workers nor executors name one; tasks and answers are told apart in `tasks` alone."""
    root = Path(base.__file__).parents[1]
    forbidden = ("ClassProbabilities", "ClassificationTask", "PrecomputedTask", "tasks.precomputed")
    rooms = sorted(file for file in (root / "runtime").rglob("*.py"))
    assert [file.name for file in rooms if any(name in file.read_text() for name in forbidden)] == []
    kinds = ("ClassificationTask", "ClassProbabilities", "PrecomputedTask", "PrecomputedScores")
    tests = [f"isinstance({value}, {kind})" for kind in kinds for value in ("task", "answers", "predictions", "one")]
    elsewhere = [file for file in root.rglob("*.py") if file.parent.name != "tasks"]
    assert not [file for file in elsewhere if any(test in file.read_text() for test in tests)]
