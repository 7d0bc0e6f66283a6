import json
import shutil

import pytest
from test_inoculate import run

from experiments import inoculate
from experiments.rebuild import differences
from ranker.datasets.embedded import SUITE
from ranker.sources import suites


@pytest.fixture
def again(monkeypatch):
    """Stands in for the training: the embedded suite, one accuracy of it so many points lower."""

    def points(off):
        def copied(recipe, data_dir, output, machine):
            output.mkdir(parents=True)
            content = json.loads((suites.bundled_suites()[recipe.name] / SUITE).read_text(encoding="utf-8"))
            content["models"][1]["ood_accuracy"]["paws"]["accuracy"] -= off / 100
            (output / SUITE).write_text(json.dumps(content), encoding="utf-8")
            return output / SUITE

        monkeypatch.setattr(inoculate, "inoculate", copied)

    return points


def test_a_suite_is_itself(tmp_path):
    """Every model has an in-domain and an OOD accuracy, and none is off from itself."""
    folder = suites.bundled_suites()["paws-mini"]
    shutil.copy(folder / SUITE, tmp_path)
    differing = list(differences(folder, tmp_path))
    assert len(differing) == 16
    assert {difference.of for difference in differing} == {"in-domain", "paws"}
    assert max(difference.points for difference in differing) == 0


@pytest.mark.parametrize(("off", "status", "count"), [(2.5, 0, 0), (3.5, 1, 1)])
def test_what_is_too_far_off_is_counted(capsys, tmp_path, again, off, status, count):
    """Within three points all is well; beyond, the exit status says so."""
    again(off)
    ended, out, _ = run(capsys, "rebuild", "paws-mini", "-o", tmp_path / "out")
    assert ended == status
    assert out.splitlines()[-1] == f"16 accuracies, {count} of them more than 3 points off; the furthest {off}"


def test_only_embedded_suites_are_rebuilt(capsys, tmp_path):
    """Another name gets the nearest one."""
    status, _, err = run(capsys, "rebuild", "pawsmini", "-o", tmp_path)
    assert status == 2
    assert "there is no embedded suite 'pawsmini'; did you mean paws-mini?" in err
