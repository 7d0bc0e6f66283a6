import json

import pytest
from test_inoculate import run

from ranker.datasets.embedded import SUITE
from ranker.domains.compare import compare
from ranker.sources import suites


def test_the_points_are_what_the_suite_states(capsys, tmp_path):
    """Two for each model, which `compare` reads as eight models on one set."""
    folder = suites.bundled_suites()["paws-mini"]
    assert run(capsys, "points", folder, "-o", tmp_path / "points.csv") == (0, "", "")
    comparison = compare(tmp_path / "points.csv")
    stated = json.loads((folder / SUITE).read_text(encoding="utf-8"))["models"]
    assert {model.model: (model.value, model.in_domain) for model in comparison.models} == {
        model["name"]: (model["ood_accuracy"]["paws"]["accuracy"], model["in_domain_accuracy"]) for model in stated
    }
    assert [trend.set for trend in comparison.trends] == ["paws"]


def test_members_of_several_suites_have_the_suites_name(capsys):
    """A file or a folder is the same; no model is run."""
    first_suite, second_suite = (suites.bundled_suites()[name] for name in ("hans-sub-mini", "hans-con-mini"))
    status, out, _ = run(capsys, "points", first_suite / SUITE, second_suite)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "model,set,value,n,group,kind"
    assert len(lines) == 1 + 2 * 16
    assert {line.partition("/")[0] for line in lines[1:]} == {"hans-sub-mini", "hans-con-mini"}


@pytest.mark.parametrize("content", ["{}", "[]", '{"models": [{}]}', '{"name": "a", "models": [{"name": "b"}]}'])
def test_what_states_no_accuracies_is_refused(capsys, tmp_path, content):
    """One line, and status 2."""
    (tmp_path / "suite.json").write_text(content)
    status, out, err = run(capsys, "points", tmp_path)
    assert (status, out) == (2, "")
    assert "is no suite that states accuracies" in err
    assert err.count("\n") == 1
