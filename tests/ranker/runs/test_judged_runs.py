"""Whole runs on answers that were judged elsewhere: no label is needed, and none is made up."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from refusals import refuses

from factors import BUILTIN, Example
from ranker import Ranking, decide, rank
from ranker.datasets.sets import LabelledDataset
from ranker.errors import LabelError, UsageError
from ranker.runs.label import label
from ranker.scoring.score import Evidence
from ranker.sources.base import ModelInfo
from ranker.statistics import methods
from ranker.tasks.base import ANSWERED, MISSING, NO_ANSWER
from ranker.tasks.precomputed import PrecomputedScores, PrecomputedTask

ROWS = tuple(Example(str(n), (f"question {n}",)) for n in range(80))
TASK = PrecomputedTask("questions", "JUDGE")
LEVELS = {"poor": 0.3, "fair": 0.5, "good": 0.7}


@dataclass(frozen=True)
class Judged:
    """Source with scores at hand, as good as its name says; `odd` maps rows to states that are no score."""

    name: str
    labelled: bool = False
    odd: tuple[tuple[str, int], ...] = ()
    family: str = ""
    precomputed: bool = True

    @property
    def place(self):
        """The source is nowhere."""
        return f"judged {self.name}"

    def inspect(self, cache):
        """The source says nothing of itself."""
        return ModelInfo(self)

    def identity(self, task, machine, cache):
        """The name."""
        return {"content": self.name}

    def open(self, task, machine, cache):
        """Nothing has to be opened."""
        return self

    def predict(self, examples, advance):
        """Return what `scores` says."""
        places = [int(example.id) for example in examples]
        yield self.scores().part(places)

    def scores(self):
        """Of all rows."""
        rng = np.random.default_rng(list(LEVELS).index(self.name))
        state = np.array([dict(self.odd).get(row.id, ANSWERED) for row in ROWS])
        values = np.clip(LEVELS[self.name] + 0.3 * rng.normal(size=len(ROWS)), 0, 1)
        probs = rng.dirichlet([1, 1], len(ROWS)) if self.labelled else None
        return PrecomputedScores(np.where(state == ANSWERED, values, np.nan), state, probs)


def suite(**options):
    """One of each level."""
    return [Judged(name, **options) for name in LEVELS]


def a_set(count=80, task=TASK):
    """The first rows as a set."""
    return LabelledDataset("questions", task, ROWS[:count], count)


def test_models_are_ranked_by_scores_that_are_given():
    """The metric alone is there; what reads answers is left out, and says why."""
    ranking = rank(suite(), a_set(), probe=5)
    means = {model.name: model.scores().values.mean() for model in suite()}
    assert {model.name: model.outcome for model in ranking.evaluation.models} == pytest.approx(means)
    assert [model.name for model in ranking.evaluation.models] == ["good", "fair", "poor"]
    assert [method.name for method in ranking.evaluation.methods] == ["JUDGE", "RANDOM"]
    assert ranking.header.metric == ranking.table.metric == "JUDGE"
    assert set(ranking.header.left_out) >= {"ACC", "NLL", "INDEX-DIFF", "SURROGATE", "DAWID-SKENE"}
    assert ranking.header.attribution == "none"
    assert ranking.examples == ()
    assert ranking.method("JUDGE").pairwise_accuracy > 0.75
    assert not any("same label" in note for note in ranking.notes)
    assert any("JUDGE has an advantage" in note for note in ranking.notes)


def test_what_was_not_answered_is_zero_and_what_is_missing_is_left_out():
    """The mean over the set is of what can be judged; the population loses a row for all where one model lacks it."""
    odd = Judged("good", odd=(("0", NO_ANSWER), ("1", MISSING)))
    ranking = rank([*suite()[:2], odd], a_set(), probe=5)
    values = odd.scores().values
    outcomes = {model.name: model.outcome for model in ranking.evaluation.models}
    assert outcomes["good"] == pytest.approx(np.nansum(values) / 79)
    assert ranking.table.dropped == {"JUDGE": {"there is nothing to judge for some model": 1}}
    column = ranking.table.outcomes[ranking.table.models.index("good")]
    assert column[0] == 0
    assert np.isnan(column[1])


def test_models_are_decided_between_by_scores_that_are_given():
    """The order is that of the means on the rows; nobody says what label a row has."""
    ranking = decide(suite(), a_set(40))
    assert (ranking.decision.method, ranking.decision.names) == ("JUDGE", ("good", "fair", "poor"))
    means = [model.scores().values[:40].mean() for model in suite()[::-1]]
    assert [model.outcome for model in ranking.decision.models] == pytest.approx(means)
    assert not any(row.label or row.predicted for row in ranking.decision.rows)
    assert not any("same label" in note or "guessing" in note for note in ranking.notes)


def test_labels_that_answers_have_let_methods_see_them():
    """Probabilities of labels make a pool, of which no true label is known."""
    task = PrecomputedTask("questions", "JUDGE", ("no", "yes"))
    ranking = rank(suite(labelled=True), a_set(task=task), probe=5, evidence=Evidence(methods=methods.BUILTIN))
    names = {method.name for method in ranking.evaluation.methods}
    assert {"MAJORITY", "AVG-CONF"} <= names
    assert not any("same label" in note for note in ranking.notes)
    assert not {"SURROGATE", "SURROGATE+LABEL"} & names
    assert ranking.header.left_out["SURROGATE"] == "needs the true labels of rows, and some are not known"
    without = rank([*suite(labelled=True)[:2], Judged("good")], a_set(task=task), probe=5)
    assert "DAWID-SKENE" not in {method.name for method in without.evaluation.methods}
    assert without.header.left_out["DAWID-SKENE"].startswith("needs each model's prediction on each row")


def test_of_a_label_that_is_not_known_nothing_is_said():
    """Neither by a method that would take it for the last one, nor in the rows of a decision."""
    task = PrecomputedTask("questions", "JUDGE", ("no", "yes"))
    decision = decide(suite(labelled=True), a_set(40, task), pool=ROWS).decision
    assert decision.method == "JUDGE"
    assert not any(row.label or row.predicted for row in decision.rows)
    assert not any("same label" in note for note in decision.notes)
    with refuses(UsageError, option="method", value="SURROGATE"):
        decide(suite(labelled=True), a_set(40, task), pool=ROWS, method="SURROGATE")
    judged = LabelledDataset(
        "questions", task, tuple(replace(row, target=n % 2) for n, row in enumerate(ROWS[:40])), 40
    )
    decision = decide(suite(labelled=True), judged, pool=ROWS).decision
    assert (decision.method, decision.kind) == ("SURROGATE", "pool")
    assert [row.label for row in decision.rows] == ["no", "yes"] * 20


def test_a_saved_run_is_the_same(tmp_path):
    """Whatever the metric is."""
    for number, ranking in enumerate((rank(suite(), a_set(), probe=5), decide(suite(), a_set(40)))):
        ranking.save(tmp_path / f"{number}.json")
        assert Ranking.load(tmp_path / f"{number}.json").to_dict() == json.loads(json.dumps(ranking.to_dict()))


def test_what_needs_labels_is_refused():
    """A factor that reads answers orders nothing here, nothing is attributed, and no rows can be chosen."""
    with refuses(UsageError, option="method", value="NLL"):
        decide(suite(), a_set(40), method="NLL")
    with refuses(UsageError, option="attribution", value="shap", allowed=("none",)):
        rank(suite(), a_set(), probe=5, evidence=Evidence("shap"))
    with refuses(LabelError, place="`label`"):
        label(suite(), ROWS, task=TASK)
    factors = [BUILTIN["NLL"]]
    ranking = rank(suite(), a_set(), probe=5, evidence=Evidence(factors=factors))
    assert list(ranking.header.left_out)[0] == "NLL"
