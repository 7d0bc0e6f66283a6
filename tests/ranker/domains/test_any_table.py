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
        found = compare(rows, missing=missing)
    except UsageError as error:
        return str(error)
    written = {name: write(over_sets.document(found), name) for name in GENERAL}
    json.loads(written["json"], parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    assert str(found)
    return found


@pytest.mark.more
@settings(max_examples=150)
@given(ROWS, st.sampled_from(["sets", "models", "ranks"]))
def test_any_rows_are_compared_or_refused_in_one_line(rows, missing):
    """Names, numbers, kinds and cells that are missing, in any mixture."""
    found = compared(rows, missing)
    assert not isinstance(found, str) or "\n" not in found


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
    found = compared(rows, missing)
    if isinstance(found, str):
        assert "\n" not in found
        return
    assert sorted(one.rank for one in found.models)[0] == 1
    for one in found.models:
        assert 1 - 1e-12 <= one.friedman <= len(found.models) + 1e-12
        assert one.low is None or 1 <= one.low <= one.high <= len(found.models)
    for one in found.differences:
        for p in (one.nemenyi, one.wilcoxon, one.holm, one.p_better, one.p_same, one.p_worse):
            assert p is None or -1e-12 <= p <= 1 + 1e-12
    for one in found.trends:
        assert one.type is None or math.isclose(sum(one.p_types.values()), 1)
