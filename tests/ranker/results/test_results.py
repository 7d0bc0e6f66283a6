"""Every result shows itself: in a shell, in a notebook, as a table."""

import dataclasses
import json
import sys

import pandas as pd
import pytest
import test_report_formats as by
from goldens import PageReader
from test_evaluation import suite
from test_report_formats import toy, toy_decision

from factors.types import Example
from ranker.domains.compare import compare
from ranker.domains.select import select_sets
from ranker.domains.shift import Domain, measure_shift
from ranker.errors import UsageError
from ranker.results import result as base
from ranker.results.explanation import Explanation
from ranker.results.label_ranking import LabelledModel, LabelRanking
from ranker.results.over_tasks import Gap, Mean, OverTasks, Part
from ranker.results.result import Result
from ranker.runs.changes import what_changed
from ranker.runs.votes import rank_votes
from ranker.statistics.forecast import Forecast

HOSTILE = "<script>alert(1)</script>"
TEXTS = [
    Example(f"{animal} {verb}", (f"the {animal} {verb}",), None)
    for animal in ("cat", "dog")
    for verb in ("runs", "eats")
]


def several():
    """Two models on two tasks, of which one could not be decided."""
    means = (Mean("a", 0.75, 0.51, 0.9), Mean("b", 0.5, None, None))
    gaps, names = (Gap("a", "b", 0.25, 0.1, 0.05, 0.45, 0.02),), (HOSTILE, "sst2")
    parts = [Part(name, "task", "acc", (name,), 20, means, gaps) for name in names]
    macro_part = Part("all tasks", "macro", "acc", names, 40, means, gaps)
    return OverTasks(("a", "b"), (*parts, macro_part), {}, failures={"rte": "it is gone"})


def made():
    """Name -> a result of every kind, some with names that a page must not take for tags."""
    evaluation, decision = by.evaluated(suite(), HOSTILE), toy_decision()
    later = dataclasses.replace(evaluation, header=dataclasses.replace(evaluation.header, suite="later"))
    return {
        "evaluation": evaluation,
        "decision": decision,
        "found of methods": evaluation.found,
        "found of models": decision.found,
        "scores": evaluation.table,
        "comparison of evaluations": what_changed(evaluation, later),
        "comparison of decisions": what_changed(decision, decision),
        "explanation": toy().examples[0],
        "explanation without a model": dataclasses.replace(toy().examples[0], readings=(), failures={"m": HOSTILE}),
        "several tasks": several(),
        "votes": rank_votes([{"id": n, "model_a": HOSTILE, "model_b": "b", "winner": "b"} for n in range(4)]),
        "many sets": compare(
            [{"model": m, "set": s, "value": v} for m, v in ((HOSTILE, 0.9), ("b", 0.8), ("c", 0.7)) for s in "xyz"]
        ),
        "chosen sets": select_sets(
            [
                {"set": name, "source": HOSTILE, "similarity": 0.1, "model": "a", "value": 0.5, "kind": kind}
                for name, kind in (("home", "in-domain"), (HOSTILE, "ood"))
            ]
        ),
        "far sets": measure_shift([Domain(name, TEXTS, [None] * len(TEXTS)) for name in (HOSTILE, "b")]),
        "label ranking": LabelRanking(
            (LabelledModel(HOSTILE, 0.9, 0.8, 1.0, 1.0, 0.0),), ((0.5,),), 3, 0.01, 1.0, None, False, (HOSTILE,)
        ),
    }


MADE = made()


def kinds(base=Result):
    """Every class of a result."""
    return {kind for child in base.__subclasses__() for kind in (child, *kinds(child))}


def test_every_kind_of_result_is_here():
    """A new kind of result is shown in these tests, too."""
    assert kinds() == {type(example) for example in MADE.values()}


@pytest.mark.parametrize("name", MADE)
def test_a_shell_shows_the_answer(name):
    """One to three lines, however many cells there are behind them."""
    lines = repr(MADE[name]).splitlines()
    assert 1 <= len(lines) <= 3
    assert all(0 < len(line) <= 200 for line in lines)
    assert "array(" not in repr(MADE[name])


@pytest.mark.parametrize("name", MADE)
def test_a_frame_has_a_row_for_each_thing(name):
    """The same rows as without pandas, told apart by the index; a mapping is a column for each key, so all is plain."""
    example = MADE[name]
    rows, frame = example.to_rows(), example.to_frame()
    json.dumps(rows, allow_nan=False)
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == len(rows)
    columns = list(frame.reset_index(drop=not example.index).columns)
    plain = [column for column, value in (rows[0] if rows else {}).items() if not isinstance(value, dict)]
    assert [column for column in columns if ": " not in column or column in plain] == plain
    assert not any(isinstance(cell, (dict, list, tuple)) for column in frame for cell in frame[column])
    assert frame.index.is_unique
    assert [name for name in frame.index.names if name] == list(example.index)


@pytest.mark.parametrize("name", MADE)
def test_without_pandas_one_line_says_what_to_install(name, monkeypatch):
    """Pandas is no requirement."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError):
        MADE[name].to_frame()


@pytest.mark.parametrize("name", MADE)
def test_a_notebook_shows_the_answer_and_a_small_table(name):
    """Texts of others are texts, and never tags; every row has a cell for each column."""
    example = MADE[name]
    page = PageReader(example._repr_html_())
    rows, tags = example.in_words(), [tag for tag, _ in page.tags]
    assert set(tags) <= {"table", "caption", "br", "tr", "th", "td", "p", "code"}
    assert tags.count("tr") == 1 + min(len(rows), base.MAX_NOTEBOOK_ROWS)
    assert tags.count("td") == min(len(rows), base.MAX_NOTEBOOK_ROWS) * tags.count("th")
    assert page.text.startswith(repr(example).replace("\n", ""))
    assert {tuple(row) for row in rows} == {tuple(rows[0])}


def test_a_notebook_shows_the_first_rows_of_many(monkeypatch):
    """And says how many more a frame has."""
    monkeypatch.setattr(base, "MAX_NOTEBOOK_ROWS", 2)
    page = MADE["evaluation"]._repr_html_()
    left = len(MADE["evaluation"].to_rows()) - 2
    assert page.count("<tr>") == 3
    assert page.endswith(f"<p>{left} more rows: <code>to_frame()</code></p>")


def test_the_answer_of_a_decision():
    """The answer says what to take, which model is first, and how sure that is."""
    decision = toy_decision().decision
    name, near = decision.models[0].name, decision.models[0].p_near_best
    lines = repr(decision).splitlines()
    assert lines[0] == decision.choice.text == f"Cannot say yet: {name} leads"
    assert lines[1] == f"first by {decision.method}: {name}; P(within a point of the best) {100 * near:.1f} %"
    assert repr(toy_decision()).splitlines()[1:] == lines


def test_what_speaks_against_the_first_is_said():
    """As in the report: the first of the order stays the answer, with the model that the labels speak for."""
    decision = toy_decision().decision
    better = dataclasses.replace(decision, p_beats=((0.5, 0.05, 0.5), (0.95, 0.5, 0.95), (0.5, 0.05, 0.5)))
    assert (decision.against, better.against) == (0, 1)
    assert repr(better).splitlines()[0].endswith(f", but the labels speak for {decision.names[1]}")


def test_the_answer_of_an_evaluation():
    """The best method beside the metric, never one that sees no label; which models are truly best."""
    of_methods = MADE["found of methods"]
    best, metric = of_methods.best, of_methods.method("ACC")
    assert repr(of_methods) == (
        f"{best.name} puts two models right {100 * best.pairwise_accuracy:.1f} % of the time "
        f"(ACC {100 * metric.pairwise_accuracy:.1f} %; picked after the fact)\n"
        "truly best: m4, ACC 95.0 %"
    )
    label_free = tuple(dataclasses.replace(m, kind="label-free") for m in of_methods.methods if m.name != "ACC")
    alone = dataclasses.replace(of_methods, methods=(metric, *label_free))
    assert repr(alone).startswith(f"ACC puts two models right {100 * metric.pairwise_accuracy:.1f} % of the time, and ")
    coin = dataclasses.replace(metric, pairwise_accuracy=0.5)
    assert repr(dataclasses.replace(of_methods, methods=(coin,))).startswith("no method beats chance\n")


def test_the_answer_names_models_that_failed():
    """At the end of what was found."""
    failed = dataclasses.replace(
        MADE["decision"], header=dataclasses.replace(MADE["decision"].header, failures={f"f{n}": "" for n in range(9)})
    )
    assert repr(failed).endswith("; failed: f0, f1, f2, f3, f4 and 4 more")


def test_the_answer_of_a_comparison():
    """The answer says what has changed."""
    assert repr(MADE["comparison of decisions"]).splitlines()[1] == "nothing"
    assert repr(MADE["comparison of evaluations"]).splitlines()[1] == "1 setting differs"


def test_the_answer_of_several_tasks():
    """The answer says how far the first is above the second over all tasks, and names those without a decision."""
    assert repr(MADE["several tasks"]) == (
        "2 models on 2 tasks: Cannot say yet: a leads\na is 25.0 points above b, p 0.020\nfailed: rte"
    )


def test_the_answer_of_an_explanation():
    """The text, what the models take it for, and what the scores are of; a long text is cut, and never obeyed."""
    example: Explanation = MADE["explanation"]
    long = dataclasses.replace(example.example, segments=("\x1b[2J" + "x" * 100,), marks={})
    first = repr(dataclasses.replace(example, example=long)).splitlines()[0]
    assert first.startswith("'\\x1b[2Jxxx")
    assert len(first) < 150
    reading = example.readings[0]
    assert f"{reading.name} {reading.predicted} " in repr(example).splitlines()[1]


def test_every_result_shows_itself_alike():
    """Words and table come from the one class: no result has its own."""
    shared = ("to_frame", "_repr_html_", "__repr__")
    assert not [(kind, name) for kind in kinds() for name in shared if getattr(kind, name) is not getattr(Result, name)]


@pytest.mark.parametrize(
    ("low", "high", "needed"),
    [(1, None, "at least 1 more answer"), (2, None, "at least 2 more answers"), (1, 3, "1 to 3 more answers"),
     (1, 1, "1 more answer")],
)  # fmt: skip
def test_further_answers_agree_with_their_number(low, high, needed):
    """One answer is no answers, also where the upper end is open."""
    ranking = LabelRanking((), (), 7, 0.01, 0.83, Forecast(low, high, 100, 0.965), None, False, until=0.965)
    assert ranking.line.endswith(f"; {needed}")
