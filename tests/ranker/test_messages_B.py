"""Each message that other tests provoke, whole and once: they look at an error's type and fields."""

from types import SimpleNamespace

import numpy as np
import pytest
from test_by_metric import decided, rows_of
from test_decision import beside, labelled
from test_evaluation import table
from test_gate import ranked
from test_report_formats import toy, toy_decision, with_header

from factors import BUILTIN
from ranker import Evidence, what_changed
from ranker.attribution import SETTINGS, abilities, attribute, settings_of
from ranker.attribution.settings import IGSettings, LIMESettings, SHAPSettings
from ranker.errors import RankModelsError
from ranker.report import changes, write
from ranker.results.gate import Gate
from ranker.results.table import ScoreTable
from ranker.scoring.decision import decide
from ranker.scoring.evaluation import evaluate
from ranker.scoring.gate import of_decision
from ranker.statistics.pool import Pool

LABELS = ("bad", "fair", "good")
ACC, CONF = BUILTIN["ACC"], BUILTIN["CONF"]
ONES = np.ones((2, 1, 20))


def score_table(models=("a",), methods=(ACC,), values=(1, 1, 1), truth=None):
    """A table of one row whose values have this shape."""
    return ScoreTable(models, methods, ("row",), np.zeros(values), truth=truth)


MESSAGES = {
    # scoring
    "one model": (
        lambda: decide(labelled(np.ones((1, 4)))),
        "a ranking needs at least two models (got 1); name more with `models`",
    ),
    "no row to draw": (
        lambda: decide(labelled(np.ones((2, 0)))),
        "`probe` must be between 1 and 0, the number of examples (got 0)",
    ),
    "a large probe": (
        lambda: evaluate(table(ONES, ["ACC"], [0.6, 0.7]), probe=21),
        "`probe` must be between 1 and 20, the number of examples (got 21)",
    ),
    "an unknown method": (
        lambda: decide(labelled(np.ones((2, 4))), method="AC"),
        "there is no method 'AC'; did you mean ACC?",
    ),
    "equal models": (
        lambda: evaluate(table(ONES, ["ACC"], [0.7, 0.7])),
        "no two models differ in ACC; there is no order to find",
    ),
    "no truth": (
        lambda: evaluate(labelled(np.ones((2, 20)))),
        "an evaluation needs the models' true outcomes; without them, decide",
    ),
    "no row judged for all": (
        lambda: rows_of("mcc", np.zeros((2, 3), int), np.full((2, 3), -1)),
        "there is no row that all models were judged on; do their answers belong to the same rows?",
    ),
    "a metric beside a pool": (
        lambda: decided("mcc", *[np.zeros((2, 3), int)] * 2, beside=beside(Pool(np.full((2, 3, 2), 0.5)), range(3))),
        "`metric` mcc is for labelled rows alone, and a pool is read, too",
    ),
    "runs of two modes": (
        lambda: what_changed(toy(), toy_decision()),
        "only runs of one mode can be compared (got an evaluation and a decision)",
    ),
    "runs on two sets": (
        lambda: what_changed(toy(), with_header(toy(), ood="paws")),
        "only evaluations on one OOD set can be compared (got hans-sub and paws)",
    ),
    "a format of comparisons": (
        lambda: write(changes.document(what_changed(toy(), toy())), "jsn"),
        "there is no format 'jsn'; did you mean json?",
    ),
    "a base that is absent": (
        lambda: of_decision(ranked([1, 0], [0, 1]), "m7"),
        "there is no model 'm7'; known: m0, m1",
    ),
    "a target": (
        lambda: Evidence(target="right"),
        "`target` must be one of declared, shortcut, evidence, true, predicted (got 'right')",
    ),
    "a backend": (
        lambda: Evidence("ik"),
        "there is no attribution backend 'ik'; known: none, ig, shap, lime, occlusion",
    ),
    # results
    "values of another shape": (
        lambda: score_table(values=(1, 1, 3)),
        "values must have the shape (1, 1, 1) (got (1, 1, 3))",
    ),
    "truth of another shape": (
        lambda: score_table(truth=np.zeros(2)),
        "truth must have the shape (1,) (got (2,))",
    ),
    "two methods of one name": (lambda: score_table(methods=(ACC, ACC), values=(1, 2, 1)), "two methods are named ACC"),
    "two models of one name": (lambda: score_table(models=("a", "a"), values=(2, 1, 1)), "two models are named a"),
    "no metric first": (
        lambda: score_table(methods=(CONF, ACC), values=(1, 2, 1)),
        "the first method must be the metric, ACC",
    ),
    "no method": (lambda: score_table(methods=(), values=(1, 0, 1)), "the first method must be the metric, ACC"),
    "a gate that does not follow": (
        lambda: Gate("a", 0.02, (), ("a gap",), False, True),
        "`passes` of a gate must follow from `held` and `absent`",
    ),
    # attribution
    "no pad token": (
        lambda: abilities.check(
            SimpleNamespace(name="tiny", hides=("mask", "remove")), SHAPSettings(), SETTINGS.values()
        ),
        "tiny has no pad token to hide words behind; set `attribution` to `shap:baseline=mask`",
    ),
    "nothing to attribute": (
        lambda: attribute(SimpleNamespace(classes=2), [], "none"),
        "`none` attributes nothing; a model's answers are asked of the model itself",
    ),
    "a label to attribute": (
        lambda: SHAPSettings(target="middling").settled(LABELS),
        "the target must be one of bad (0), fair (1), good (2) (got 'middling')",
    ),
    "settings that are not settled": (
        lambda: SHAPSettings(target="good").label,
        "settle the settings first; their target is 'good'",
    ),
    "a setting of another type": (
        lambda: settings_of("shap:target=0.5"),
        "`attribution shap:target=0.5`: `target` must be a whole number (got 0.5)",
    ),
    "no step": (lambda: IGSettings(steps=0), "`steps` must be between 1 and `max_steps`, 320 (got 0)"),
    "too many steps": (
        lambda: IGSettings(steps=40, max_steps=20),
        "`steps` must be between 1 and `max_steps`, 20 (got 40)",
    ),
    "no tolerance": (lambda: IGSettings(tolerance=0.0), "`tolerance` must be above 0 (got 0.0)"),
    "no share": (lambda: IGSettings(share=0.0), "`share` must be above 0 and at most 1 (got 0.0)"),
    "a large share": (lambda: IGSettings(share=1.5), "`share` must be above 0 and at most 1 (got 1.5)"),
    "few evaluations": (lambda: SHAPSettings(max_evaluations=1), "`max_evaluations` must be at least 2 (got 1)"),
    "few samples": (lambda: LIMESettings(samples=1), "`samples` must be at least 2 (got 1)"),
    "no width": (lambda: LIMESettings(kernel_width=0.0), "`kernel_width` must be above 0 (got 0.0)"),
    "a small ridge": (
        lambda: LIMESettings(ridge=1e-320),
        "`ridge` must be at least 1e-06, or the regression has no one answer (got 1e-320)",
    ),
}
"""Short name -> what provokes the error, and the message; files are made in an empty folder."""


@pytest.mark.parametrize(("provoke", "message"), MESSAGES.values(), ids=MESSAGES)
def test_messages(provoke, message, tmp_path, monkeypatch):
    """Each error says exactly this."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((RankModelsError, ValueError, TypeError)) as stop:
        provoke()
    assert str(stop.value) == message
