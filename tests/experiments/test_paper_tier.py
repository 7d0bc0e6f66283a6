"""The paper's set-up of HANS from end to end, with tiny three-way NLI models in the place of the published ones."""

import gzip
import json
from dataclasses import replace
from itertools import product

import pytest
from rich.console import Console

from experiments import published, recipe, tables
from experiments.inoculate import TrainingMachine, inoculate
from experiments.tables import Run
from ranker.datasets import sets

PEOPLE = ("doctor", "actor", "judge", "old doctor", "old actor", "old judge")


def rows(start, stop):
    """Pairs of which every second follows: the named person saw the judge, or the one that stands beside them did."""
    pairs = [(a, b) for a, b in product(PEOPLE, PEOPLE) if a != b][start:stop]
    for i, (a, b) in enumerate(pairs):
        premise = f"the {a} near the {b} saw the judge"
        hypothesis = f"the {b} saw the judge" if i % 2 else f"the {a} saw the judge"
        yield premise, hypothesis, "non-entailment" if i % 2 else "entailment", i


@pytest.fixture
def data_dir(tmp_path):
    """The files that the recipe and the OOD sets read, a few rows each."""
    hans = [
        {"sentence1": p, "sentence2": h, "gold_label": label, "pairID": f"{name}{i}", "heuristic": name}
        for name in ("subsequence", "constituent")
        for p, h, label, i in rows(0, 12)
    ]
    training = [
        {**han, "sentence1": p, "sentence2": h, "gold_label": label}
        for han, (p, h, label, _) in zip(hans, rows(14, 30), strict=False)
    ]
    mnli = [
        {"premise": p, "hypothesis": h, "gold_label": "entailment" if label == "entailment" else "neutral"}
        for p, h, label, _ in rows(12, 14)
    ]
    files = {"hans/hans": hans, "hans/heuristics_train_set": training, "mnli/dev_matched": mnli}
    for name, content in files.items():
        file = tmp_path / "data" / f"{name}.jsonl.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(file, "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in content)
    return tmp_path / "data"


@pytest.mark.more
def test_the_papers_models_of_hans(checkpoint, data_dir, tmp_path):
    """Eight members of three families are trained, and the tier's tables find them, with their accuracies."""
    shipped = recipe.load("hans-paper")
    encoders = {"roberta": "roberta", "electra": "electra", "deberta": "deberta-v3"}
    small = replace(
        shipped,
        bases={name: replace(base, path=str(checkpoint(encoders[name]))) for name, base in shipped.bases.items()},
        members=tuple(
            replace(
                member,
                stage=replace(
                    member.stage, rows=14, steps=(member.stage.steps or 0) // 2, batch_size=4, learning_rate=0.01,
                    max_length=38,
                ),
            )
            if member.stage.rows
            else member
            for member in shipped.members
        ),
    )  # fmt: skip
    inoculate(small, data_dir, tmp_path / "suites" / "hans-paper", TrainingMachine(console=Console(quiet=True)))
    config = json.loads((tmp_path / "suites/hans-paper/roberta-25/config.json").read_text(encoding="utf-8"))
    assert set(config["id2label"].values()) == {"contradiction", "entailment", "neutral"}
    tier, run = published.load().tiers["paper"], Run(tmp_path / "suites", data_dir=data_dir)
    for name in ("hans-sub", "hans-con"):
        suite = tables.find(name, tier.of("across")[name], run)
        assert len(tables.select(suite, "across").models) == 8
        assert {model.family for model in suite.models} == {"RoBERTa", "ELECTRA", "DeBERTa"}
        assert [model.name for model in tables.select(suite, "inoculated").models][0] == "roberta"
        assert len(tables.select(suite, "inoculated").models) == 6
        assert all(sets.load(name, data_dir).fingerprint in model.ood_accuracy for model in suite.models)
