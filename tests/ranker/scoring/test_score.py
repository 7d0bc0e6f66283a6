import sys
from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

from factors import BUILTIN, Factor, factor
from factors.types import Attributions, Example, Span
from ranker.attribution.settings import IGSettings
from ranker.errors import UnknownName, UsageError
from ranker.scoring.score import (
    UNATTRIBUTED,
    UNJUDGED,
    Evidence,
    ModelScores,
    applicable,
    assemble,
    averages,
    column_of,
    defined_nowhere,
    score_model,
)
from ranker.tasks.classes import ClassificationTask, ClassProbabilities
from ranker.tasks.tags import TagTask
from ranker.tasks.texts import SpanTask

TASK = ClassificationTask("nli", ("no", "yes"), shortcut=1)
EXAMPLES = [Example("a", ("The actor ran.", "The actor"), 0), Example("b", ("A cat.", "Nothing shared"), 1)]


def rows(p_yes):
    """Bare words, one token each, with scores 1, 2, 3 ..., explaining "yes"."""
    score_rows = []
    for example, p in zip(EXAMPLES, p_yes, strict=True):
        count = len(example.words)
        segment = np.array([word.segment for word in example.words])
        scores = np.arange(1.0, count + 1)
        score_rows.append(
            Attributions(
                np.array([1 - p, p]), 1, ("x",) * count, segment, np.arange(count), np.zeros((count, 2), int), scores
            )
        )
    return score_rows


def scored(score_rows, *flags, **options):
    """The scores of a model whose answers are those that its attributions are of."""
    return score_model(ClassProbabilities(np.array([row.probs for row in score_rows])), score_rows, *flags, **options)


def right(models, count=2):
    """The outcomes of models that are right on every example."""
    return {name: np.ones(count) for name in models}


def pick(*names):
    """Factors by name."""
    return [BUILTIN[name] for name in names]


def test_each_factor_is_shown_the_label_it_declares():
    """CONF-GT the true one, CONF-H the shortcut's, CONF the predicted one, whatever the attribution explains."""
    values = scored(rows([0.9, 0.2]), EXAMPLES, pick("ACC", "CONF", "CONF-GT", "CONF-H"), TASK).values
    assert values == pytest.approx(np.array([[0, 0], [0.9, 0.8], [0.1, 0.2], [0.9, 0.2]]))


def test_baselines_read_the_probabilities_of_any_number_of_classes():
    """With tokens as without: of three classes the scores of one cannot be turned, and no baseline looks at them."""
    three = ClassificationTask("three", ("no", "yes", "maybe"), shortcut=2)
    three_class_rows = [replace(row, probs=np.array([0.1, 0.2, 0.7])) for row in rows([0.9, 0.2])]
    factors = pick("ACC", "CONF", "CONF-GT", "CONF-H", "NLL", "SUM-DIFF")
    values = scored(three_class_rows, EXAMPLES, factors, three).values
    assert values[:4] == pytest.approx(np.array([[0, 0], [0.7, 0.7], [0.1, 0.2], [0.7, 0.7]]))
    assert values[4] == pytest.approx(-np.log([0.1, 0.2]))
    assert np.isnan(values[5]).all()
    applied, left_out = applicable(factors, EXAMPLES, three, only_label=1)
    assert [factor.name for factor in applied] == ["ACC", "CONF", "CONF-GT", "CONF-H", "NLL"]
    assert left_out == {
        "SUM-DIFF": "is about maybe, and what is attributed is yes: see the setting `target=maybe` of `attribution`"
    }
    assert applicable(factors, EXAMPLES, three, only_label=2)[1] == {}
    left_out = applicable(factors, EXAMPLES, three, target="predicted", only_label=2)[1]
    assert left_out == {"SUM-DIFF": "is about another label on each row, and what is attributed is maybe"}


def test_whether_a_label_is_declared_is_asked_of_the_rule_in_use():
    """A run's own rule may need less than the factors declare, or more."""
    none = ClassificationTask("plain", ("no", "yes"))
    factors = pick("ACC", "CONF-H", "SUM-DIFF")
    for target, names in (("declared", ["ACC"]), ("predicted", ["ACC", "SUM-DIFF"]), ("evidence", ["ACC"])):
        assert [f.name for f in applicable(factors, EXAMPLES, none, target=target)[0]] == names
    assert applicable(pick("SUM-DIFF"), EXAMPLES, TASK, target="evidence")[1] == {
        "SUM-DIFF": "is about the evidence's label; this task declares none"
    }


def test_a_target_overrides_the_attribution_factors_only():
    """Under "true" SUM-DIFF of example a, of label 0, changes its sign; CONF-H stays what it is."""
    factors = pick("SUM-DIFF", "CONF-H")
    declared = scored(rows([0.9, 0.2]), EXAMPLES, factors, TASK).values
    overridden = scored(rows([0.9, 0.2]), EXAMPLES, factors, TASK, target="true").values
    assert overridden[0].tolist() == [-declared[0][0], declared[0][1]]
    assert overridden[1].tolist() == declared[1].tolist()


def test_an_undefined_cell_is_nan_and_counted_once_for_all_models():
    """INDEX-DIFF on two texts without a shared word: one example is lost, not one per model."""
    parts = {name: scored(rows([0.9, 0.2]), EXAMPLES, pick("INDEX-DIFF"), TASK) for name in ("m1", "m2")}
    table = assemble(right(parts), parts, EXAMPLES, pick("INDEX-DIFF"))
    assert np.isnan(table.values[:, 1]).tolist() == [[False, True], [False, True]]
    assert table.dropped == {"INDEX-DIFF": {"undefined": 1}}


def test_examples_that_any_model_lacks_are_lost_for_all():
    """Two models undefined on an example each lose both, in the count and in the averages."""
    values = np.array([[[1.0, np.nan, 3.0, 5.0]], [[2.0, 4.0, np.nan, 6.0]]])
    parts = {
        name: ModelScores(values[m], {"SUM-DIFF": {"undefined": frozenset({1 + m})}})
        for m, name in enumerate(("m1", "m2"))
    }
    table = assemble(right(parts, 4), parts, [replace(EXAMPLES[0], id=str(n)) for n in range(4)], pick("SUM-DIFF"))
    assert table.dropped == {"SUM-DIFF": {"undefined": 2}}
    expected = [{"ACC": 1.0, "SUM-DIFF": 3.0}, {"ACC": 1.0, "SUM-DIFF": 4.0}]
    assert averages(table) == [pytest.approx(row) for row in expected]


def test_one_pair_among_single_texts_keeps_the_factors_of_pairs():
    """They are undefined on the others, which is counted."""
    single = replace(EXAMPLES[0], segments=EXAMPLES[0].segments[:1])
    assert [f.name for f in applicable(pick("MAX-DIFF"), [single, EXAMPLES[1]], TASK)[0]] == ["MAX-DIFF"]
    assert applicable(pick("MAX-DIFF"), [single], TASK)[0] == []


def test_a_factor_that_raises_loses_the_cell_and_keeps_the_message():
    """One bad factor on one example is not a lost run."""

    @factor("RISKY", higher_is_better=True, explains="true")
    def risky(attributions, example):
        return 1 / (0 if example.id == "b" else 2)

    scores = scored(rows([0.9, 0.2]), EXAMPLES, [risky.factor], TASK)
    assert np.array_equal(scores.values, [[0.5, np.nan]], equal_nan=True)
    assert scores.undefined == {"RISKY": {"ZeroDivisionError: division by zero": frozenset({1})}}


def test_an_infinite_score_is_undefined():
    """Infinity cannot be averaged; it is dropped and counted like nan."""

    @factor("ENDLESS", higher_is_better=True, explains="true")
    def endless(attributions, example):
        return float("inf")

    scores = scored(rows([0.9, 0.2]), EXAMPLES, [endless.factor], TASK)
    assert np.isnan(scores.values).all()
    assert scores.undefined == {"ENDLESS": {"undefined": frozenset({0, 1})}}


def test_what_cannot_apply_is_left_out_with_its_reason():
    """One segment, or two, a mark that no example has, a label that the task does not declare."""

    @factor("MARKED", higher_is_better=True, explains="true", mark="control")
    def marked(attributions, example):
        return 0.0

    @factor("EVIDENT", higher_is_better=True, explains="evidence")
    def evident(attributions, example):
        return 0.0

    single = [Example("s", ("one text",), 0)]
    applied, left_out = applicable([*pick("ACC", "MAX-DIFF"), marked.factor, evident.factor], single, TASK)
    assert [f.name for f in applied] == ["ACC"]
    assert left_out == {
        "MAX-DIFF": "these examples have one segment, it compares two",
        "MARKED": "no example has the mark 'control'",
        "EVIDENT": "is about the evidence's label; this task declares none",
    }
    pairs = [Example("p", ("one text", "another"), 0)]
    assert applicable(pick("STOP-SHARE", "MAX-DIFF"), pairs, TASK) == (
        pick("MAX-DIFF"),
        {"STOP-SHARE": "these examples have two segments, it is about single texts"},
    )
    assert applicable(pick("STOP-SHARE"), single, TASK) == (pick("STOP-SHARE"), {})
    with_mark = [Example("m", ("one text",), 0, {"control": (Span(0, 0, 3),)})]
    assert [f.name for f in applicable([marked.factor], with_mark, TASK)[0]] == ["MARKED"]


def test_a_factor_for_designed_sets_needs_the_card_to_name_it():
    """IRREG, VERB and ADJ read one mark; the set says which of them it is, or none applies."""
    task = ClassificationTask("msgs", ("no", "yes"), shortcut=1, evidence=1)
    examples = [Example("m", ("They drew it",), 1, {"feature": (Span(0, 5, 9),)})]
    applied, left_out = applicable(pick("IRREG", "VERB"), examples, task, "IRREG")
    assert [factor.name for factor in applied] == ["IRREG"]
    assert left_out == {"VERB": "is for sets that it was designed for; this one's is IRREG"}
    assert applicable(pick("IRREG", "VERB"), examples, task)[0] == []


def test_true_outcomes_are_put_in_the_order_of_the_models():
    """They are looked up by name, not by position; where nobody knows them, there are none."""
    part = ModelScores(np.zeros((1, 2)), {})
    outcomes, scores = right(("m2", "m1")), {"m2": part, "m1": part}
    table = assemble(outcomes, scores, EXAMPLES, pick("CONF"), "ACC", {"m1": 0.1, "m2": 0.2})
    assert table.truth is not None
    assert table.truth.tolist() == [0.2, 0.1]
    assert assemble(outcomes, scores, EXAMPLES, pick("CONF")).truth is None


def test_outcomes_are_the_first_column_under_the_name_of_the_metric():
    """Of classes that is ACC as it is declared; what has no outcome for some model is counted, and why."""
    outcomes = {"m1": np.array([0.5, np.nan, 1.0]), "m2": np.array([0.25, 1.0, np.nan])}
    parts = {name: ModelScores(np.full((1, 3), value), {}) for name, value in (("m1", 0.1), ("m2", 0.2))}
    examples = [replace(EXAMPLES[0], id=str(n)) for n in range(3)]
    table = assemble(outcomes, parts, examples, pick("CONF"), "JUDGE")
    assert ([method.name for method in table.methods], table.metric) == (["JUDGE", "CONF"], "JUDGE")
    assert np.array_equal(table.outcomes, np.array(list(outcomes.values())), equal_nan=True)
    assert (table.values[:, 1] == [[0.1] * 3, [0.2] * 3]).all()
    assert table.dropped == {"JUDGE": {UNJUDGED: 2}}
    expected = [{"JUDGE": 0.5, "CONF": 0.1}, {"JUDGE": 0.25, "CONF": 0.2}]
    assert averages(table) == [pytest.approx(row) for row in expected]
    assert assemble(outcomes, parts, examples, pick("CONF")).methods[0] is BUILTIN["ACC"]


def test_more_of_a_metric_is_better_whatever_it_is_called():
    """A metric that has the name of a loss, or of a factor, is none."""
    for name in ("JUDGE", "NLL", "INDEX-DIFF"):
        column = column_of(name)
        assert (column.name, column.kind, column.higher_is_better) == (name, "baseline", True)


def test_a_factor_that_is_defined_on_no_example_is_not_in_the_table():
    """It has no accuracy; its first reason is kept, and text or an array is no number."""
    wrong = {
        "TEXT": lambda a, e: "3",
        "NONE": lambda a, e: None,
        "ARRAY": lambda a, e: a.scores,
        "EXIT": lambda a, e: sys.exit(3),
        "NAN": lambda a, e: np.nan,
    }
    own_factors = [factor(name, higher_is_better=True, explains="true")(score).factor for name, score in wrong.items()]
    parts = {"m": scored(rows([0.9, 0.2]), EXAMPLES, own_factors, TASK)}
    table = assemble(right(parts), parts, EXAMPLES, own_factors)
    assert [method.name for method in table.methods] == ["ACC"]
    assert table.values.shape == (1, 1, 2)
    assert defined_nowhere(table) == {
        "TEXT": "is defined on no example; TypeError: must return a number (got '3')",
        "NONE": "is defined on no example; TypeError: must return a number (got None)",
        "ARRAY": "is defined on no example; the first of 2 reasons: TypeError: must return a number (got an array of "
        "shape (6,))",
        "EXIT": "is defined on no example; SystemExit: 3",
        "NAN": "is defined on no example",
    }


@pytest.mark.parametrize(
    ("options", "error_type", "option", "value"),
    [
        ({"target": "right"}, UsageError, "target", "right"),
        ({"norm": "l3"}, UsageError, "norm", "l3"),
        ({"attribution": "ik"}, UnknownName, "", "ik"),
        ({"attribution": "ig:steps=none"}, UsageError, "attribution", "ig:steps=none"),
    ],
)
def test_evidence_that_there_is_not_is_refused_at_once(options, error_type, option, value):
    """Before any model is looked at."""
    with refuses(error_type, option=option, value=value):
        Evidence(**options)


def test_evidence_names_a_backend_or_leaves_it_open():
    """With its settings, as it comes, or none at all."""
    assert Evidence().backends == ()
    assert [backend.name for backend in Evidence("none").backends] == ["none"]
    assert Evidence("ig:steps=7").backends == Evidence(IGSettings(steps=7)).backends == (IGSettings(steps=7),)


def test_a_factor_changes_no_example():
    """What one sets on it, another does not see; nor does whoever reads the label afterwards."""
    example = Example("a", ("The judge ran.",), 0)
    answers = ClassProbabilities(np.array([[0.9, 0.1]]))

    def meddles(attributions, example):
        object.__setattr__(example, "target", 1)
        object.__setattr__(attributions, "target", 1)
        return float(example.target)

    first = Factor("MEDDLES", meddles, True, "predicted", "ours", kind="baseline")
    seeing = Factor("SEES", lambda _, example: float(example.target), True, "predicted", "ours", kind="baseline")
    scores = score_model(answers, [], [example], [first, seeing, first, seeing], TASK)
    assert scores.values[:, 0].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert example.target == 0


@pytest.mark.parametrize("task", [TagTask("tags"), SpanTask("spans")])
def test_of_answers_that_are_no_labels_factors_of_a_label_are_left_out(task):
    """Those of the prediction stay, and all do that are asked about the prediction; each reason is a line."""
    texts = ("Ann saw Bob",) if isinstance(task, TagTask) else ("Who?", "Ann saw Bob")
    generic = {"STOP-SHARE", "CONCENTRATION"} if isinstance(task, TagTask) else {"ABS-SUM-DIFF"}
    usable, left_out = applicable(list(BUILTIN.values()), [Example("a", texts)], task)
    assert {method.name for method in usable} == generic
    assert left_out["CONF"] == left_out["ACC"] == "reads probabilities of labels, and these answers have none"
    sentence = "and attributions are of each model's own answer: `target` can be `predicted`"
    of_label = {"CONTENT-TRUE": "true label"} if isinstance(task, TagTask) else {"SUM-DIFF": "shortcut's label"}
    for name, label in of_label.items():
        assert left_out[name] == f"is about the {label}, {sentence}"
    usable, left_out = applicable(list(BUILTIN.values()), [Example("a", texts)], task, target="predicted")
    assert {method.name for method in usable} == generic | (
        {"CONTENT-TRUE"}
        if isinstance(task, TagTask)
        else {"MAX-DIFF", "SUM-DIFF", "INDEX-DIFF", "FIRST-TOK", "SHARED-AVG"}
    )
    assert not any("own answer" in reason for reason in left_out.values())


def test_an_answer_without_a_span_leaves_factors_undefined_with_that_reason():
    """The same factor has a value where there is one."""
    word = {"segment": np.zeros(1, int), "word": np.zeros(1, int), "offsets": np.array([[0, 3]])}
    rows = [
        Attributions(np.array([share]), 0, ("Ann",), **word, scores=np.array([2.0 * share])) for share in (1.0, np.nan)
    ]
    outputs = ClassProbabilities.of_outputs(np.array([row.probs for row in rows]))
    examples = [Example(str(number), ("Ann",)) for number in range(2)]
    scored = score_model(outputs, rows, examples, [BUILTIN["CONCENTRATION"]], TagTask("tags"))
    assert scored.values[0, 0] == 1.0
    assert scored.undefined == {"CONCENTRATION": {UNATTRIBUTED: frozenset({1})}}
