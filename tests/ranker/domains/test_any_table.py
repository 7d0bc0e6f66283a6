"""Whatever a table holds, it is compared or refused in one line."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.domains.compare import compare
from ranker.domains.report import over_sets
from ranker.errors import UsageError
from ranker.report import GENERAL, write

NAMES = st.sampled_from(["a", "b", "c", "d", "x\ny", "=1+1", "é", ""])
CELLS = st.one_of(
    st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0, None, "", "-", "nan", "0.25", -1.0]), st.floats(allow_nan=True)
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"model": NAMES, "set": NAMES, "value": CELLS},
        optional={
            "kind": st.sampled_from(["ood", "in-domain", "", "odd"]),
            "group": st.sampled_from(["g", "h", "", None]),
            "se": st.sampled_from([0.0, 0.01, None, "x"]),
            "n": st.sampled_from([1, 100, None, 0]),
        },
    ),
    max_size=30,
)
GRIDS = st.integers(2, 9).flatmap(
    lambda models: st.integers(1, 5).flatmap(
        lambda sets: st.lists(
            st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.5, 0.5, None])), min_size=sets, max_size=sets),
            min_size=models,
            max_size=models,
        )
    )
)


def compared(rows, missing):
    """The result, shown in every format but a page's figures, or why there is none; the JSON knows no NaN."""
    try:
        comparison = compare(rows, missing=missing)
    except UsageError as error:
        return str(error)
    texts = {name: write(over_sets.document(comparison), name) for name in GENERAL}
    json.loads(texts["json"], parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    assert str(comparison)
    return comparison


@pytest.mark.more
@settings(max_examples=150)
@given(ROWS, st.sampled_from(["sets", "models", "ranks"]))
def test_any_rows_are_compared_or_refused_in_one_line(rows, missing):
    """Names, numbers, kinds and cells that are missing, in any mixture."""
    comparison = compared(rows, missing)
    assert not isinstance(comparison, str) or "\n" not in comparison


@pytest.mark.more
@settings(max_examples=30)
@given(GRIDS, st.sampled_from(["sets", "models", "ranks"]), st.booleans())
def test_any_grid_has_an_order_or_says_why_not(grid, missing, in_domain):
    """The first set may be in-domain; ranks lie between 1 and M, probabilities between 0 and 1."""
    rows = [
        {"model": f"m{m}", "set": f"s{s}", "value": value, "kind": "in-domain" if in_domain and s == 0 else "ood"}
        for m, values in enumerate(grid)
        for s, value in enumerate(values)
    ]
    comparison = compared(rows, missing)
    if isinstance(comparison, str):
        assert "\n" not in comparison
        return
    assert sorted(model.rank for model in comparison.models)[0] == 1
    for model in comparison.models:
        assert 1 - 1e-12 <= model.friedman <= len(comparison.models) + 1e-12
        assert model.low is None or 1 <= model.low <= model.high <= len(comparison.models)
    for model in comparison.differences:
        for p in (model.nemenyi, model.wilcoxon, model.holm, model.p_better, model.p_same, model.p_worse):
            assert p is None or -1e-12 <= p <= 1 + 1e-12
    for model in comparison.trends:
        assert model.type is None or math.isclose(sum(model.p_types.values()), 1)
