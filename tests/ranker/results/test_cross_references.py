"""A saved run in which one part names what another does not have is refused, and never ends in a traceback."""

import copy
import dataclasses
import json

import pytest

from factors import BUILTIN
from ranker import Ranking, decide, rank, report
from ranker.datasets import sets
from ranker.errors import DataError
from ranker.report import changes
from ranker.runs.changes import what_changed
from ranker.scoring.score import Evidence
from ranker.sources import suites

FACTORS = [BUILTIN[name] for name in ("ACC", "CONF", "CONF-H", "INDEX-DIFF", "SUM-DIFF")]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved run of each mode, with examples as models see them."""
    folder = tmp_path_factory.mktemp("saved")
    rows = dataclasses.replace(sets.load("hans-sub", limit=16), population=12)
    first = dataclasses.replace(rows, examples=rows.examples[:6])
    three = suites.Suite("three", suites.load(["hans-sub-mini"]).models[::3])
    rank(three, rows, probe=2, evidence=Evidence("occlusion", factors=FACTORS)).save(folder / "evaluation.json")
    decide(three, first, evidence=Evidence("occlusion", factors=FACTORS)).save(folder / "decision.json")
    return {mode: json.loads((folder / f"{mode}.json").read_text()) for mode in ("evaluation", "decision")}


def places(value, path=()):
    """List the places of strings in a saved run, keys among them: of a list the first item and the last."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield (*path, [key])
            yield from places(inside, (*path, key))
    elif isinstance(value, list):
        for position in sorted({0, len(value) - 1} if value else ()):
            yield from places(value[position], (*path, position))
    elif isinstance(value, str):
        yield path


def changed(original, path, new="changed"):
    """The run with one string changed: a value, or a key."""
    *outer, last = path
    changed_copy = copy.deepcopy(original)
    inside = changed_copy
    for step in outer:
        inside = inside[step]
    if isinstance(last, list):
        inside[new] = inside.pop(last[0])
    else:
        inside[last] = new
    return changed_copy


@pytest.mark.more
@pytest.mark.parametrize("mode", ["decision", pytest.param("evaluation", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "new", ["changed", *(pytest.param(text, marks=pytest.mark.slow) for text in ("", "ACC", "untouched", "label-free"))]
)
def test_one_string_changed_anywhere_is_one_line_or_a_report(saved, mode, new, tmp_path):
    """A name that is changed in one place is missed in another, in every format, or is that of another thing."""
    file, refused, kinds = tmp_path / "run.json", 0, set()
    for path in places(saved[mode]):
        kind = tuple("*" if isinstance(step, int) else str(step) for step in path)
        if kind in kinds:  # one of each kind of place is enough
            continue
        kinds.add(kind)
        file.write_text(json.dumps(changed(saved[mode], path, new)))
        message, ranking = read(file)
        refused += ranking is None
        assert "\n" not in message, path
        quick = ("table", "json")  # the slow cases make all formats
        for name in (quick if new == "changed" else report.TEXTS) if ranking else ():
            assert report.render(ranking, name), path
        if ranking:
            assert report.write(changes.document(what_changed(ranking, ranking)), "table"), path
    assert len(kinds) > 59
    assert refused > 30


def read(file):
    """The run in a file; else why there is none."""
    try:
        return "", Ranking.load(file)
    except DataError as error:
        return str(error), None


NAMES = {
    "evaluation": [
        (("table", "models", 0), "`models` must be those of the table \\(one side alone has 'changed'\\)"),
        (("table", "methods", 0, "name"), "the first method must be the metric, ACC"),
        (("table", "methods", 1, "name"), "has scores by methods that are not in the table: 'CONF'"),
        (("table", "metric"), "the first method must be the metric, changed"),
        (("header", "metric"), "`metric` must be those of the table"),
        (("header", "quality", ["untouched"]), "`quality` is of models that are not in `models`: 'changed'"),
        (("evaluation", "models", 0, "name"), "`models` must be those of the table"),
        (("evaluation", "models", 0, "expected_rank", ["ACC"]), "has ranks by methods that are not in `methods`"),
        (("evaluation", "models", 0, "scores", ["ACC"]), "has scores by methods that are not in the table"),
        (("evaluation", "methods", 0, "name"), "the first of `methods` must be the metric, ACC"),
        (("evaluation", "methods", 1, "name"), "has ranks by methods that are not in `methods`: 'CONF'"),
        (("evaluation", "pairs", 0, "a"), "`pairs` name models that are not in `models`: 'changed'"),
        (("evaluation", "pairs", 0, "b"), "`pairs` name models that are not in `models`: 'changed'"),
        (("evaluation", "pairs", 0, "method"), "`pairs` name methods that are not in `methods`: 'changed'"),
        (("examples", 0, "models", 0, "name"), "is read by models that are not in `models`: 'changed'"),
        (("examples", 0, "models", 0, "predicted"), "`predicted` must be the most probable label .got 'changed'."),
        (("examples", 0, "models", 0, "probabilities", ["entailment"]), "`predicted` must be|predicts in .* must be"),
        (("examples", 0, "factors", 0, "name"), "reads in .* must be those of the factors of the example"),
        (("examples", 0, "example", "id"), "`examples` are some that are not in the table: 'changed'"),
        ((["evaluation"],), "there is no key of the ranking 'changed'"),
    ],
    "decision": [
        (("decision", "models", 0, "name"), "`models` must be those of the table"),
        (("decision", "models", 0, "scores", ["ACC"]), "has scores by methods that are not in the table"),
        (("decision", "rows", 0, "predicted", ["untouched"]), "what is predicted of .* must be those of the models"),
        (("decision", "rows", 0, "id"), "`rows` are some that are not in the table: 'changed'"),
        (("header", "metric"), "`metric` must be those of the table"),
        (("header", "quality", ["untouched"]), "`quality` is of models that are not in `models`: 'changed'"),
    ],
}


def check_refused(folder, run, reason):
    """Save a run that cannot be right; one line has the reason that it is not loaded."""
    (folder / "run.json").write_text(json.dumps(run))
    with pytest.raises(DataError, match=reason):
        Ranking.load(folder / "run.json")


@pytest.mark.few(3)
@pytest.mark.parametrize(("mode", "path", "reason"), [(mode, *case) for mode, all_ in NAMES.items() for case in all_])
def test_a_name_that_leads_nowhere_is_named(saved, mode, path, reason, tmp_path):
    """The line says which part has it, and which lacks it."""
    check_refused(tmp_path, changed(saved[mode], path), f"is no whole ranking: .*{reason}")


def test_a_pair_that_one_method_alone_has_is_missed(saved, tmp_path):
    """Every method is shown on every pair, in either direction."""
    changed_run = copy.deepcopy(saved["evaluation"])
    first = changed_run["evaluation"]["pairs"][0]
    first["a"], first["b"] = first["b"], first["a"]
    check_refused(tmp_path, changed_run, "the pairs of .* must be those of the other methods")


def test_a_run_is_of_one_mode_and_an_evaluation_knows_the_truth(saved, tmp_path):
    """A run with both parts, or without the truth that it was held against, is none."""
    evaluation = saved["evaluation"]
    for wrong, reason in (
        ({"decision": saved["decision"]["decision"]}, "it is an evaluation and a decision at once"),
        ({"table": evaluation["table"] | {"truth": None}}, "an evaluation needs the `truth` of its table"),
        ({"evaluation": evaluation["evaluation"] | {"methods": []}}, "the first of `methods` must be the metric"),
    ):
        check_refused(tmp_path, evaluation | wrong, reason)


def test_models_that_read_other_words_in_an_example_are_refused(saved, tmp_path):
    """A page shows a word of all of them in a row."""
    changed_run = copy.deepcopy(saved["evaluation"])
    words = changed_run["examples"][0]["models"][0]["words"]
    for word in [word for word in words if word["span"]][-1:]:
        words.remove(word)
    check_refused(tmp_path, changed_run, "the models read other words in the example .*, each its own")


@pytest.mark.parametrize("span", [[], [1], [0, 1, 2], [3, 3], [-1, 2]])
def test_a_word_that_stands_nowhere_is_refused(saved, span, tmp_path):
    """Two characters make a stretch of text, the second behind the first."""
    changed_run = copy.deepcopy(saved["evaluation"])
    next(word for word in changed_run["examples"][0]["models"][0]["words"] if word["span"])["span"] = span
    check_refused(tmp_path, changed_run, "is no whole ranking: .*(`span` must be two characters|a span needs)")


@pytest.mark.parametrize(
    ("mode", "path", "value", "reason"),
    [
        ("decision", ("decision", "models", 0, "expected"), 7, "`expected` of .* must be from 0 to 1 .got 7."),
        ("decision", ("decision", "models", 1, "expected"), -0.5, "`expected` of .* must be from 0 to 1 .got -0.5."),
        ("decision", ("decision", "models", 0, "expected"), "0.5", "`expected` must be a number"),
        ("decision", ("decision", "models", 0, "outcome"), 90.0, "`outcome` of .* must be from 0 to 1 .got 90."),
        ("decision", ("decision", "models", 0, "high"), 0.0, "`low` of .* must be at most `high`"),
        ("decision", ("header", "probe"), 5, "`probe` must be 6, the number of labelled rows of the table .got 5."),
        ("decision", ("header", "probe"), -6, "`probe` must be 6, the number of labelled rows of the table .got -6."),
        ("evaluation", ("header", "probe"), 0, "`probe` must be from 1 to 12, the rows of the table .got 0."),
        ("evaluation", ("header", "probe"), 13, "`probe` must be from 1 to 12, the rows of the table .got 13."),
    ],
)
def test_a_number_that_cannot_be_right_is_named(saved, mode, path, value, reason, tmp_path):
    """A share beyond 0 and 1, an interval that ends before it begins, and more rows than the table has."""
    check_refused(tmp_path, changed(saved[mode], path, value), f"is no whole ranking: .*{reason}")
