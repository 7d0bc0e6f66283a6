import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses
from scipy import stats

from ranker.domains.compare import compare
from ranker.errors import UnknownName, UsageError

DATA = Path(os.environ.get("RANK_MODELS_DATA", "")) / "squadshifts" / "results.json.gz"


def rows_of(x, y, **columns):
    """A row for each model and set: in-domain x, and y on another; None is no value."""
    for index, (value_x, value_y) in enumerate(zip(x, y, strict=True)):
        yield {"model": f"m{index}", "set": "id", "kind": "in-domain", "value": value_x, **columns}
        yield {"model": f"m{index}", "set": "far", "kind": "ood", "value": value_y, **columns}


def trend_of(x, y, **options):
    """The one trend of such rows."""
    (trend,) = compare(list(rows_of(x, y)), **options).trends
    return trend


def line(models=12, seed=0, noise=0.01):
    """Points around y = 1.2 x - 0.3."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.6, 0.95, models)
    return x, 1.2 * x - 0.3 + rng.normal(0, noise, models)


def test_a_line_and_how_far_each_model_is_from_it():
    """Slope and effective robustness are scipy's line and its residuals."""
    x, y = line()
    trend, fitted = trend_of(x, y), stats.linregress(x, y)
    assert (trend.type, trend.shape, trend.models, trend.why) == ("I", "line", 12, "")
    assert trend.slopes == pytest.approx((fitted.slope, fitted.slope))
    assert trend.correlation == pytest.approx(fitted.rvalue)
    assert trend.joint is None
    assert [point.x for point in trend.points] == pytest.approx(sorted(x))
    for point in trend.points:
        place = int(point.model[1:])
        assert point.robustness == pytest.approx(y[place] - fitted.intercept - fitted.slope * x[place])
        assert point.low < point.expected < point.high


def test_a_model_without_a_value_is_predicted():
    """A model with an in-domain value alone changes no fit, and has an interval."""
    x, y = line()
    trend = trend_of([*x, 0.8], [*y, None])
    (new,) = [point for point in trend.points if point.model == "m12"]
    fitted = stats.linregress(x, y)
    assert trend.models == 12
    assert new.y is new.robustness is None
    assert new.expected == pytest.approx(fitted.intercept + fitted.slope * 0.8)
    left = y - fitted.intercept - fitted.slope * x
    spread = 1 + 1 / 12 + (0.8 - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()
    error = np.sqrt((left**2).sum() / 10 * spread)
    assert new.high - new.low == pytest.approx(2 * stats.t.ppf(0.975, 10) * error)


def test_probit_axes():
    """A line of normal quantiles is one there, and what is reported are fractions."""
    x = np.linspace(0.6, 0.99, 14)
    y = stats.norm.cdf(0.8 * stats.norm.ppf(x) - 0.5)
    trend = trend_of(x, y + np.random.default_rng(0).normal(0, 1e-4, 14), axes="probit")
    assert trend.slopes == pytest.approx((0.8, 0.8), abs=0.01)
    assert [point.expected for point in trend.points] == pytest.approx(y, abs=1e-3)
    with refuses(UsageError, option="axes", value=1.0, place="far"):
        trend_of(x, [*y[:-1], 1.0], axes="probit")
    with refuses(UnknownName, value="log"):
        trend_of(x, y, axes="log")


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        ([0.5, 0.6, 0.7, 0.8, 0.9], "5 models have both values, and 6 are needed"),
        ([0.5] * 9, "all models have the same in-domain value"),
    ],
)
def test_what_cannot_be_told_says_why(x, reason):
    """Under six models, or with one in-domain value for all, there is no type and no point."""
    trend = trend_of(x, np.linspace(0.4, 0.6, len(x)))
    assert (trend.type, trend.why, trend.points) == (None, reason, ())


def test_a_type_that_resamples_do_not_agree_on_is_not_told():
    """The shape that was fitted stands there all the same."""
    rng = np.random.default_rng(3)
    trends = [trend_of(rng.uniform(0.5, 0.9, 8), rng.uniform(0.4, 0.5, 8)) for _ in range(12)]
    untold = [trend for trend in trends if trend.type is None]
    assert untold
    assert all(trend.why.startswith("resamples of the models disagree with ") and trend.shape for trend in untold)
    assert all(sum(trend.p_types.values()) == pytest.approx(1) for trend in trends)


def test_models_far_off_are_named_with_the_type_of_the_others():
    """Two of 30 bend the fit, and are named."""
    x, y = line(30)
    x[:2], y[:2] = (0.55, 0.56), (0.75, 0.72)
    trend = trend_of(x, y)
    assert trend.far == ("m0", "m1")
    assert trend.type_without == "I"


def test_each_task_has_its_own_in_domain_sets():
    """Two sets of one task, one of another, and one without in-domain values."""
    x, y = line()
    rows = [*rows_of(x, y, group="one")]
    rows += [{**row, "set": "farther", "value": row["value"] - 0.1} for row in rows if row["kind"] == "ood"]
    rows += [{**row, "group": "two", "set": "lone"} for row in rows if row["set"] == "far"]
    comparison = compare(rows)
    assert [(trend.task, trend.set) for trend in comparison.trends] == [("one", "far"), ("one", "farther")]
    assert comparison.trends[0].slopes == pytest.approx(comparison.trends[1].slopes)


def test_the_trends_need_no_whole_sets():
    """A model that lacks a set counts for the trends of the others, though the set has no place in the order."""
    x, y = line()
    rows = [*rows_of(x, y)]
    rows += [{"model": f"m{index}", "set": "part", "kind": "ood", "value": y[index]} for index in range(7)]
    comparison = compare(rows)
    assert list(comparison.left_out) == ["part"]
    assert [trend.models for trend in comparison.trends] == [12, 7]


def squad(metric, without=()):
    """Rows of about 100 models of SQuAD: new Wikipedia articles stand for in-domain."""
    with gzip.open(DATA, "rt") as file:
        results = json.load(file)
    for domain, trends_of_domain in results.items():
        for model in trends_of_domain["models"]:
            if model["name"] not in without:
                kind = "in-domain" if domain == "new-wiki" else "ood"
                value = float(model[f"{domain}_{metric}"])
                yield {"model": model["name"], "set": domain, "kind": kind, "value": value}


NO_READERS = ("UnsupervisedQA V1", "UQA (single model)", "RQA+IDR (single model)", "XLNet (single model)")
"""Trained on no question of SQuAD, or with answers cut so that exact match and F1 fall apart."""


@pytest.mark.skipif(not DATA.is_file(), reason="RANK_MODELS_DATA names no folder with squadshifts/results.json.gz")
def test_models_of_squad_lie_on_lines_but_for_a_few():
    """Miller et al. 2020 found so: by exact match, on probit axes, without four models, all three sets are lines."""
    trends = compare(list(squad("em", NO_READERS)), axes="probit").trends
    assert {trend.set: trend.type for trend in trends} == {"nyt": "I", "amazon": "I", "reddit": "I"}
    assert all(trend.correlation > 0.97 for trend in trends)


@pytest.mark.skipif(not DATA.is_file(), reason="RANK_MODELS_DATA names no folder with squadshifts/results.json.gz")
def test_a_few_models_bend_the_lines_of_squad():
    """With all models Amazon and Reddit have joined lines; those that lie far off are named, these four among them."""
    by_set = {trend.set: trend for trend in compare(list(squad("em"))).trends}
    assert {by_set[name].shape for name in ("amazon", "reddit")} == {"joined"}
    for trend in by_set.values():
        assert set(trend.far) == {*NO_READERS, *(["BERT+WWM+MT"] if trend.set == "nyt" else [])}, trend.set
