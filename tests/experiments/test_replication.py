"""Several trainings of the embedded suites: distances of designed factors from accuracy, and their means."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t
from test_inoculate import run

from experiments import inoculate, replication
from experiments.replication import Distance, distances, means, written
from ranker import Evidence, load_set, rank
from ranker.runtime.runtime import Runtime
from ranker.sources.suites import bundled_suites

CON = bundled_suites()["hans-con-mini"]


def distance(training, difference, half=0.02, probe=10):
    """The distance of a factor in one training, with an interval over rows."""
    ends = difference - 1.96 * half, difference + 1.96 * half
    return Distance("hans-con", "shap", "CONST", probe, training, 0.8 + difference, 0.8, difference, *ends)


@pytest.mark.more
def test_a_training_is_measured_as_rank_does():
    """For each K; a set without a designed factor has none."""
    distances_found = list(distances(CON, 3, ["occlusion"], Runtime(), population=24))
    assert [measured.probe for measured in distances_found] == [5, 10, 20]
    for gap in distances_found:
        rows = replace(load_set("hans-con"), population=24)
        ranked = rank("hans-con-mini", rows, probe=gap.probe, evidence=Evidence("occlusion", methods=()))
        const = ranked.method("CONST")
        assert (gap.set, gap.factor, gap.training) == ("hans-con", "CONST", 3)
        assert gap.pairwise == const.pairwise_accuracy
        assert gap.accuracy == ranked.method("ACC").pairwise_accuracy
        assert (gap.difference, gap.low, gap.high) == (const.difference, const.difference_low, const.difference_high)
    assert list(distances(bundled_suites()["hans-lex-mini"], 1, ["occlusion"], Runtime(), population=24)) == []


def test_the_interval_is_over_trainings_and_rows():
    """Student's, of the mean over trainings; the noise of the rows, which all share, stays."""
    differences = [0.05, -0.01, 0.08, 0.02, 0.04]
    (mean,) = means(distance(training, measured) for training, measured in enumerate(differences, 1))
    half = t.ppf(0.975, 4) * np.sqrt(np.var(differences, ddof=1) / 5 + 0.02**2)
    assert (mean.trainings, mean.least, mean.most) == (5, -0.01, 0.08)
    assert mean.difference == pytest.approx(0.036)
    assert (mean.low, mean.high) == pytest.approx((0.036 - half, 0.036 + half))


def test_one_training_has_no_interval_over_trainings():
    """Cases are averaged by themselves."""
    first, second = means([distance(1, 0.05), distance(1, 0.02, probe=20)])
    assert (first.probe, second.probe) == (10, 20)
    assert first.low is first.high is None


def test_numbers_are_written_in_percent():
    """And trainings and probes as they are."""
    (row,) = csv.DictReader(written([distance(2, 0.05)]).splitlines())
    assert (row["training"], row["probe"], row["difference"], row["pairwise"]) == ("2", "10", "5.0", "85.0")


@pytest.mark.more
def test_the_command_trains_what_is_missing_and_measures_all(capsys, tmp_path, monkeypatch):
    """The first training is the embedded suite; the second is made once, with other seeds, and measured."""
    seeds = []

    def trained(recipe, data_dir, output, machine):
        seeds.append(recipe.seed)
        if not output.is_dir():
            shutil.copytree(CON, output)
        return output / "suite.json"

    monkeypatch.setattr(inoculate, "inoculate", trained)
    monkeypatch.setattr(replication, "PROBES", (5,))
    options = ("--attribution", "occlusion", "--population", "12", "--store", tmp_path / "store", "--workers", "1")
    status, out, messages = run(
        capsys, "replicate", "hans-con-mini", "-o", tmp_path / "out", "--trainings", "2", *options
    )
    assert status == 0, messages
    assert seeds == [1_000]
    assert Path(out.strip()) == tmp_path / "out" / "means.csv"
    rows = list(csv.DictReader((tmp_path / "out" / "trainings.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["training"] for row in rows] == ["1", "2"]
    assert rows[0]["difference"] == rows[1]["difference"]
    (mean,) = csv.DictReader((tmp_path / "out" / "means.csv").read_text(encoding="utf-8").splitlines())
    assert (mean["trainings"], mean["difference"]) == ("2", rows[0]["difference"])
