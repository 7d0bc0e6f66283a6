"""Whole runs of models that are made of two parts."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from test_judged_runs import ROWS, Judged, a_set, suite

from ranker import Ranking, decide, rank, report
from ranker.sources.base import ModelInfo
from ranker.statistics.components import variance_components
from ranker.tasks.precomputed import PrecomputedScores

EFFECTS = {"small": 0.0, "large": 0.03, "plain": 0.3, "review": 0.8, "shout": 0.5}
"""A prompt moves a score by up to half, a model hardly."""


@dataclass(frozen=True)
class Prompted(Judged):
    """A model with a prompt, named "model+prompt"."""

    def inspect(self, cache):
        """The record of two parts."""
        return ModelInfo(self, parts=dict(zip(("model", "prompt"), self.name.split("+"), strict=True)))

    def scores(self):
        """Each row scores 0 or 1."""
        chance = sum(EFFECTS[part] for part in self.name.split("+"))
        rng = np.random.default_rng(list(self.name.encode()))
        return PrecomputedScores((rng.random(len(ROWS)) < chance).astype(float), np.zeros(len(ROWS), int))


MEMBERS = [Prompted(f"{model}+{prompt}") for model in ("small", "large") for prompt in ("plain", "review", "shout")]


@pytest.mark.more
@pytest.mark.parametrize("run", [rank, decide])
def test_a_run_says_which_part_matters_more(run, tmp_path):
    """The part is said in every format, with and without a truth, and again when it is loaded."""
    ranking = run(MEMBERS, a_set())
    components = ranking.parts.components
    assert [part.name for part in ranking.parts.parts] == ["model", "prompt"]
    assert components.p_first < 0.05
    assert components.first.sd < components.second.sd
    assert components.rows == 80
    ranking.save(tmp_path / "run.json")
    loaded = Ranking.load(tmp_path / "run.json")
    assert loaded.parts == ranking.parts
    for name in report.TEXTS:
        assert report.render(loaded, name) == report.render(ranking, name)
    assert "Prompts matter more than models, with a probability of" in report.render(ranking, "markdown")
    assert json.loads(report.render(ranking, "json"))["parts"]["parts"][0]["levels"][0]["models"][0] == "large+plain"


@pytest.mark.parametrize("run", [rank, decide])
def test_the_seed_and_the_groups_of_rows_are_those_of_the_run(run):
    """Draws are from the seed, and rows of a group are drawn together."""
    rows = tuple(replace(row, group=f"g{n // 4}") for n, row in enumerate(ROWS))
    ranking = run(MEMBERS, replace(a_set(), examples=rows), seed=3)
    first, second = (np.array([name.split("+")[part] for name in ranking.table.models]) for part in (0, 1))
    codes = [np.unique(names, return_inverse=True)[1] for names in (first, second)]
    rng, clusters = np.random.default_rng(3), np.arange(80) // 4
    assert ranking.parts.components == variance_components(ranking.table.outcomes, *codes, rng, clusters)


def test_few_rows_cannot_tell():
    """Of five rows the report says how unsure it is, where 80 rows are sure."""
    ranking = decide(MEMBERS, a_set(5))
    text = " ".join(report.render(ranking, "table").split())
    assert "From 5 rows it cannot be told whether" in text
    assert "the noise of the 5 rows is subtracted" in text


def test_models_of_one_piece_have_no_parts():
    """Nothing is said of parts anywhere in their report or their file."""
    ranking = decide(suite(), a_set(40))
    assert ranking.parts is None
    assert "parts" not in ranking.to_dict()
    assert "tandard deviation" not in report.render(ranking, "html")


def test_parts_of_a_model_are_a_record():
    """A source's parts cannot be changed by who reads them."""
    parts = {"model": "small"}
    info = ModelInfo(MEMBERS[0], parts=parts)
    parts["prompt"] = "plain"
    assert info.parts == {"model": "small"}
    assert hash(info.parts)
