"""Several attribution backends in one run: each factor by each, how far they agree, and where models stand by each."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses
from scipy.stats import spearmanr

from factors import BUILTIN, Attributions
from ranker import Evidence, Ranking, decide, explain, labelled, load_set, load_suite, rank
from ranker.attribution import backends_of
from ranker.attribution.settings import IGSettings
from ranker.errors import UsageError
from ranker.report import render
from ranker.results.table import ScoreTable
from ranker.scoring.diagnostics import agreements
from ranker.scoring.score import column_of

LIME = "lime:samples=60,tolerance=0.001"
FACTORS = tuple(BUILTIN[name] for name in ("CONF", "CONST", "INDEX-DIFF"))


@pytest.fixture(scope="module")
def rows():
    """Twenty rows of HANS-CON."""
    return load_set("hans-con", limit=20)


@pytest.fixture(scope="module")
def models():
    """Four models that are inoculated against its shortcut."""
    return load_suite(["hans-con-mini"]).models[-4:]


def ranked(models, rows, attribution):
    """The ranking by three factors, without a pool's methods."""
    return rank(models, rows, evidence=Evidence(attribution, FACTORS, methods=()))


@pytest.fixture(scope="module")
def two_backends(models, rows):
    """By occlusion and LIME in one run."""
    return ranked(models, rows, f"occlusion,{LIME}")


@pytest.mark.more
def test_each_backend_has_the_columns_that_it_has_alone(two_backends, models, rows):
    """To the last bit; those of the second are named with it, and baselines stand there once."""
    columns = [method.name for method in two_backends.table.methods]
    assert columns == ["ACC", "CONF", "CONST", "INDEX-DIFF", "CONST@LIME", "INDEX-DIFF@LIME"]
    first, second = ranked(models, rows, "occlusion").table, ranked(models, rows, LIME).table
    np.testing.assert_array_equal(two_backends.table.values[:, :4], first.values)
    np.testing.assert_array_equal(two_backends.table.values[:, 4:], second.values[:, 2:])
    assert (
        two_backends.method("CONST@LIME").pairwise_accuracy
        == ranked(models, rows, LIME).method("CONST").pairwise_accuracy
    )
    assert [method.name for method in two_backends.evaluation.methods if method.designed] == ["CONST"]


def test_backends_agree_on_models_as_scipy_says(two_backends):
    """Spearman's rho of the models' mean values by a factor."""
    (pair,) = two_backends.agreement
    assert (pair.a, pair.b, list(pair.models)) == ("occlusion", "lime", ["CONST", "INDEX-DIFF"])
    means = dict(
        zip(
            [method.name for method in two_backends.table.methods],
            two_backends.table.values.mean(axis=2).T,
            strict=True,
        )
    )
    for name, rho in pair.models.items():
        assert rho == pytest.approx(spearmanr(means[name], means[f"{name}@LIME"]).statistic)
    assert 0.3 < pair.words < 0.6


def row(*scores):
    """An attribution of words, a token each, between special tokens."""
    inside = np.arange(len(scores))
    place = np.array([-1, *inside, -1])
    segment, ends = np.minimum(place, 0), np.zeros((len(place), 2), int)
    return Attributions(np.array([0.4, 0.6]), 1, ("t",) * len(place), segment, place, ends, np.array([9, *scores, 9.0]))


def test_backends_agree_on_words_as_their_ranks_do():
    """The mean over rows with three words or more; a score toward the other label is turned."""
    first = [row(1.0, 2, 3, 4), row(1.0, 2), row(3.0, 1, 2)]
    second = [row(1.0, 3, 2, 4), row(2.0, 1), row(3.0, 1, 2).toward(0)]
    table = ScoreTable(("m",), (column_of("ACC"),), ("1", "2", "3"), np.ones((1, 1, 3)))
    (pair,) = agreements({"a": first, "b": second}, {"a": {}, "b": {}}, table)
    assert pair.words == pytest.approx(np.mean([0.8, 1.0]))
    three = [replace(reading, probs=np.array([0.2, 0.3, 0.5])) for reading in (first[0], replace(second[0], target=0))]
    (apart,) = agreements({"a": three[:1], "b": three[1:]}, {"a": {}, "b": {}}, table)
    assert apart.words is None  # evidence against one of three labels is for either of two
    (short,) = agreements({"a": first[1:2], "b": second[1:2]}, {"a": {}, "b": {}}, table)
    assert short.words is None


def test_a_report_shows_agreement_and_the_places_by_each(two_backends, tmp_path):
    """On the terminal the designed factor's places, on a page those of each; a saved run has the same."""
    text, page = render(two_backends, "table"), render(two_backends, "html")
    assert "occlusion, lime" in text
    assert "CONST by occlusion  CONST by lime" in text
    assert "INDEX-DIFF by lime" in page
    assert "INDEX-DIFF by lime" not in text
    assert "Attributions over the error tolerance of lime, of each model: inoc-150 " in " ".join(text.split())
    assert "Attributions: occlusion,lime:" in text
    assert "CONST@LIME" in render(two_backends, "pairs")
    two_backends.save(tmp_path / "run.json")
    assert Ranking.load(tmp_path / "run.json").agreement == two_backends.agreement


def test_the_line_of_a_report_names_the_same_backends(two_backends):
    """The line can be given again."""
    assert [b.name for b in backends_of(two_backends.header.provenance.attribution)] == ["occlusion", "lime"]
    assert two_backends.header.attribution == "occlusion,lime"
    assert (
        "numpy" in two_backends.header.provenance.versions
    )  # on which LIME's scores depend, and those of occlusion do not


@pytest.mark.more
def test_a_decision_is_made_by_the_factor_of_any_backend(models, rows):
    """Models are ordered as by the factor of this backend alone."""
    from_labels = [
        {"premise": first, "hypothesis": second, "label": rows.task.show(row.target)}
        for row in rows.examples[:12]
        for first, second in [row.segments]
    ]
    truth = labelled(from_labels, "nli")
    options = {"factors": FACTORS, "shortcut": "entailment"}
    two = decide(models, truth, method="INDEX-DIFF@LIME", evidence=Evidence(f"occlusion,{LIME}", **options))
    decided_by_one = decide(models, truth, method="INDEX-DIFF", evidence=Evidence(LIME, **options))
    names = [[model.name for model in ranking.decision.models] for ranking in (two, decided_by_one)]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("shap", ["shap"]),
        ("shap,lime,ig", ["shap", "lime", "ig"]),
        ("ig:steps=7,baseline=pad,shap:tree=flat", ["ig", "shap"]),
        ("lime:hide=mask,samples=200, occlusion", ["lime", "occlusion"]),
    ],
)
def test_a_line_names_one_backend_or_several(line, names):
    """A comma stands before one more setting, or before another backend."""
    assert [backend.name for backend in backends_of(line)] == names


def test_settings_and_lines_may_stand_together():
    """As in Python."""
    assert backends_of([IGSettings(steps=7), "lime:samples=9"]) == backends_of("ig:steps=7,lime:samples=9")


@pytest.mark.parametrize("line", ["shap,shap:tree=flat", "none,shap"])
def test_a_backend_stands_once_and_none_alone(line):
    """Columns of the same backend could not be told apart."""
    with refuses(UsageError, option="attribution"):
        backends_of(line)


def test_one_row_is_explained_by_one_backend(models, rows):
    """A picture has one."""
    with refuses(UsageError, option="attribution", value="shap,lime"):
        explain(models, rows.examples[0], task=rows.task, evidence=Evidence("shap,lime"))
