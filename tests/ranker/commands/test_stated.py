import json

import pytest
from refusals import refuses

from ranker import compare
from ranker.datasets.embedded import SUITE
from ranker.errors import UsageError
from ranker.sources import suites

MEMBERS = {"a": (0.99, 0.9, 0.8), "b": (0.98, 0.7, 0.6), "c": (0.97, 0.5, 0.55)}
"""Model -> accuracy in-domain, and on two sets of 400 rows."""


@pytest.fixture
def suite(tmp_path):
    """The folder of a suite over two sets."""
    models = [
        {
            "name": name,
            "in_domain_accuracy": mean_own,
            "training": {"in_domain_rows": 1000},
            "ood_accuracy": {"one": {"accuracy": first, "rows": 400}, "two": {"accuracy": second, "rows": 400}},
        }
        for name, (mean_own, first, second) in MEMBERS.items()
    ]
    (tmp_path / SUITE).write_text(json.dumps({"name": "mine", "models": models}), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("form", ["folder", "file"])
def test_a_suite_over_several_sets_is_a_table(suite, form):
    """Members lead by what the suite states of them, and each set has the in-domain values beside it."""
    comparison = compare(suite if form == "folder" else suite / SUITE)
    assert {model.model: (pytest.approx(model.value), model.in_domain) for model in comparison.models} == {
        name: ((first + second) / 2, mean_own) for name, (mean_own, first, second) in MEMBERS.items()
    }
    assert [trend.set for trend in comparison.trends] == ["one", "two"]


def test_a_suite_is_compared_on_the_command_line(rank_models, suite):
    """As a folder, beside a table; members of one suite have their own names."""
    more_sets = suite / "more.csv"
    more_sets.write_text("model,set,value,n\na,three,.6,100\nb,three,.7,100\nc,three,.5,100\n")
    status, out, err = rank_models("compare", suite, more_sets)
    assert (status, err) == (0, "")
    assert "3 models over 3 tasks" in out


def test_members_of_several_suites_have_the_names_of_these():
    """Two suites on two sets: no model was measured on both, and that is said."""
    two_suites = [suites.bundled_suites()[name] for name in ("hans-sub-mini", "paws-mini")]
    with refuses(UsageError, option="missing", allowed=("sets", "models", "ranks")):
        compare(two_suites)
    comparison = compare(two_suites, missing="ranks")
    assert {model.model.partition("/")[0] for model in comparison.models} == {"hans-sub-mini", "paws-mini"}


def test_a_folder_without_a_suite_is_refused(rank_models, tmp_path):
    """One line, and status 2."""
    status, out, err = rank_models("compare", tmp_path)
    assert (status, out) == (2, "")
    assert SUITE in err
    assert err.count("\n") == 1
