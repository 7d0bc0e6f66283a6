"""A source, a pool method and a metric of one's own are seen everywhere, with no change in `ranker`."""

import csv
import io
import json
import sys
from dataclasses import dataclass, field, replace
from importlib import metadata
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from ranker import decide, rank, report
from ranker.cli import cli
from ranker.datasets import sets
from ranker.scoring.score import Evidence
from ranker.sources.suites import load
from ranker.sources.texts import TextSource
from ranker.statistics import methods
from ranker.statistics.pool import PoolMethod
from ranker.tasks.classes import ClassificationTask

CHECKPOINT = str(next(iter(load(["hans-sub-mini"]).models)).source.path)


@dataclass(frozen=True)
class Lengths(TextSource):
    """Says "entailment" the surer, the more of the premise's words stand in the hypothesis."""

    name: str
    slope: float = 1.0
    family: str = field(default="lengths", kw_only=True)
    libraries = ()

    def labels(self):
        """Labels of NLI."""
        return ("non-entailment", "entailment")

    def content(self):
        """The model's one weight."""
        return f"slope {self.slope}"

    def probabilities(self, texts):
        """(R, 2)."""
        shared = [len(set(text.split()) & set(other_text.split())) - 2 for text, other_text in texts]
        sure = 1 / (1 + np.exp(-self.slope * np.array(shared, dtype=float)))
        return np.stack([1 - sure, sure], axis=1)


class Kind:
    """References like `lengths:NAME`; the name's end is the weight."""

    def claims(self, reference, options):
        """None that does not name it."""
        return False

    def sources(self, reference, options, cache):
        """One."""
        return [Lengths(reference.place, float(reference.place.rpartition("-")[2]))]


def labels_of_halves(pool, targets, rows):
    """(M, B) agreement with the labels shown, each drawn to that of all models."""
    right = (pool.predicted == targets.labels)[:, rows].mean(axis=2)
    agreed = (pool.predicted[:, None] == pool.predicted).mean(axis=(1, 2))
    return 0.5 * right + 0.5 * agreed[:, None]


HALVES = PoolMethod("HALVES", "pool", labels_of_halves, warning="believes the crowd by half", default=True)


@dataclass(frozen=True)
class Graded(ClassificationTask):
    """A task whose answers are as good as they are sure of the true label."""

    @property
    def metric(self):
        """The name of its column."""
        return "SURENESS"

    def outcomes(self, answers, examples):
        """(N,) the probability of the true label."""
        labels = [example.target for example in examples]
        return answers.probs[np.arange(len(labels)), labels]


@pytest.fixture
def registered(monkeypatch):
    """The kind and the method, as an installed package registers them."""
    module = ModuleType("their_methods")
    module.halves = HALVES
    points = {"rank_models.sources": ("lengths", Kind()), "rank_models.methods": ("theirs", module)}

    def entry_points(group):
        entries = [points[group]] if group in points else []
        return [
            SimpleNamespace(name=name, value=name, dist=None, load=lambda loaded=loaded: loaded)
            for name, loaded in entries
        ]

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    monkeypatch.setitem(sys.modules, "their_methods", module)


@pytest.fixture(scope="module")
def graded():
    """Rows whose task has a metric of its own."""
    rows = sets.load("hans-sub", limit=60)
    task = rows.task
    own_task = Graded(task.name, task.labels, task.aliases, task.shortcut, task.evidence)
    return replace(rows, task=own_task, population=40)


MODELS = (Lengths("flat", 0.2), Lengths("steep", 2.0), Lengths("turned", -0.5))


@pytest.mark.more
def test_all_three_stand_in_every_format_of_an_evaluation(graded):
    """The metric's column comes first, the method has a curve, and the sources' names are those of the models."""
    quick = next(method for method in methods.BUILTIN if method.name == "AVG-CONF")
    ranking = rank(MODELS, graded, probe=5, evidence=Evidence("none", methods=(quick, HALVES)))
    assert ranking.evaluation.methods[0].name == "SURENESS"
    assert set(ranking.method("HALVES").curve) == set(ranking.method("SURENESS").curve)
    assert "SURENESS+TIES" in {method.name for method in ranking.evaluation.methods}
    assert {model.name for model in ranking.evaluation.models} == {"flat", "steep", "turned"}
    for name in report.TEXTS:
        text = report.render(ranking, name)
        for word in ("SURENESS", "HALVES", "steep") if name != "csv" else ("SURENESS", "HALVES"):
            assert word in text, (name, word)
    full_report = json.loads(report.render(ranking, "json"))
    assert full_report["header"]["metric"] == "SURENESS"
    table = report.render(ranking, "table")
    assert not [word for word in ("OOD accuracy", "accuracy, ACC", "% right") if word in table], table
    rows = list(csv.DictReader(io.StringIO(report.render(ranking, "csv"))))
    assert {"HALVES": "pool", "SURENESS": "baseline"}.items() <= {row["name"]: row["kind"] for row in rows}.items()


def test_all_three_stand_in_every_format_of_a_decision(graded):
    """Outcomes are graded, intervals are of them, and the method orders the models."""
    labelled = replace(graded, examples=graded.examples[:10])
    pool = [replace(row, target=None) for row in graded.examples]
    ranking = decide(MODELS, labelled, pool=pool, method="halves", evidence=Evidence("none", methods=(HALVES,)))
    assert (ranking.decision.method, ranking.decision.kind) == ("HALVES", "pool")
    assert any(0 < model.outcome < 1 and model.outcome * 10 % 1 for model in ranking.decision.models)
    assert all(model.low < model.outcome < model.high for model in ranking.decision.models)
    assert "HALVES believes the crowd by half." in ranking.notes
    for name in report.TEXTS:
        text = report.render(ranking, name)
        assert ("SURENESS" in text) == (name != "pairs"), name
        assert "steep" in text


@pytest.mark.more
def test_the_command_line_takes_them_by_their_names(registered, tmp_path, capsys):
    """`--models`, `--method` and `--methods` know what a package registers; every command works."""
    rows = sets.load("hans-sub", limit=40).examples
    task = sets.load("hans-sub").task
    texts = [dict(zip(("premise", "hypothesis"), row.segments, strict=True)) for row in rows]
    labelled = [{**text, "label": task.labels[row.target]} for text, row in zip(texts, rows, strict=True)][:8]
    for name, examples in (("ten.jsonl", labelled), ("pool.jsonl", texts)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in examples))
    arguments = ["--data", str(tmp_path / "ten.jsonl"), "--pool", str(tmp_path / "pool.jsonl")]
    models = ["--models", CHECKPOINT, "lengths:a-2", "--store", str(tmp_path / "store")]
    saved = str(tmp_path / "run.json")

    def said(*arguments):
        cli.main(list(arguments), standalone_mode=False)
        return capsys.readouterr().out

    assert "HALVES" in said("ls", "methods")
    decided = json.loads(said(*arguments, *models, "--method", "halves", "--format", "json", "--save", saved))
    assert decided["decision"]["method"] == "HALVES"
    assert {model["name"] for model in decided["decision"]["models"]} == {"untouched", "a-2"}
    assert "HALVES" in said("report", saved)
    both_models = [*models, "--attribution", "shap:baseline=remove,max_evaluations=20"]
    evaluated = said("--ood", "hans-sub", "--limit", "40", "--probe", "5", *both_models, "--factors", "ACC,INDEX-DIFF",
                     "--methods", "HALVES,SURROGATE")  # fmt: skip
    assert "HALVES" in evaluated
    assert "DAWID-SKENE" not in evaluated
    assert "a-2: all is cached" in said(*arguments, *models, "--dry-run")
    assert len(said("label", "--pool", str(tmp_path / "pool.jsonl"), "--task", "nli", "--batch", "3", *models)
               .splitlines()) == 4  # fmt: skip
    explanation = said("explain", "--ood", "hans-sub", "--id", rows[0].id, *both_models)
    assert "a-2: " in explanation
