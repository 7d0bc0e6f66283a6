"""The suites that come with the product: one for each OOD set, small, alike in-domain and different elsewhere."""

import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from experiments import plan, recipe
from experiments.inoculate import TRAINING
from ranker.datasets import sets
from ranker.datasets.embedded import SUITE
from ranker.sources import suites
from ranker.sources.hf.classifiers import Classifier

MEGABYTE = 1_000_000
SETS = sets.names()
NAMES = sorted(suites.bundled_suites())


def content(name: str) -> dict:
    """Read an embedded suite's suite.json."""
    return json.loads((suites.bundled_suites()[name] / SUITE).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SETS)
def test_every_set_has_a_suite_of_six_to_eight(name):
    """The suite that `rank-models --ood NAME` takes by default is there, and of the set's task."""
    made_suite = content(f"{name}-mini")
    assert made_suite["name"] == f"{name}-mini"
    assert made_suite["task"] == sets.cards()[name].task.name
    assert 6 <= len(suites.load([f"{name}-mini"]).models) <= 8


@pytest.mark.parametrize("name", NAMES)
def test_every_suite_has_a_recipe(name):
    """`python -m experiments inoculate NAME` makes the suite again: its recipe has the same members and seeds."""
    loaded = recipe.load(name)
    assert [(member.name, member.seed) for member in loaded.members] == [
        (model["name"], model["training"]["seed"]) for model in content(name)["models"]
    ]


@pytest.mark.more
@pytest.mark.parametrize("name", NAMES)
def test_every_model_is_the_one_that_the_recipe_describes(name):
    """The key of each model's training, a digest of all its rows and settings, is that of the recipe as it is now."""
    for training in plan.make(recipe.load(name), None).trainings:
        report = json.loads((suites.bundled_suites()[name] / training.folder / TRAINING).read_text(encoding="utf-8"))
        assert report["key"] == training.key, training.folder


@pytest.mark.parametrize("name", NAMES)
def test_stated_accuracies_are_those_of_the_embedded_rows(name):
    """The fingerprints in suite.json are those of the rows at hand, so that the stated truth is believed."""
    for source in recipe.load(name).ood:
        rows = sets.load(source)
        for model in content(name)["models"]:
            stated = model["ood_accuracy"][source]
            assert (stated["fingerprint"], stated["rows"]) == (rows.fingerprint, len(rows.examples)), model["name"]


@pytest.mark.parametrize("name", NAMES)
def test_models_are_alike_at_home(name):
    """In-domain accuracies lie within 3 points, those of two suites within 4: they hardly tell models apart."""
    accuracies = [model.in_domain_accuracy for model in suites.load([name]).models]
    assert round(max(accuracies) - min(accuracies), 6) <= (
        0.04 if name in ("hans-lex-mini", "paws-across-mini") else 0.03
    )


@pytest.mark.parametrize("name", SETS)
def test_models_differ_in_the_new_domain(name):
    """The worst is hardly better than a guess, the best right in nine of ten rows; there are near and far pairs."""
    accuracies = [model["ood_accuracy"][name]["accuracy"] for model in content(f"{name}-mini")["models"]]
    gaps = [abs(a - b) for a, b in combinations(accuracies, 2)]
    assert min(accuracies) < 0.6
    assert max(accuracies) > 0.9
    assert any(0 < gap <= 0.1 for gap in gaps)
    assert any(0.1 < gap <= 0.3 for gap in gaps)
    assert any(gap > 0.3 for gap in gaps)


def test_all_suites_together_are_small():
    """A model weighs less than a megabyte with its tokenizer, and all suites less than 60."""
    models = [folder for suite in suites.bundled_suites().values() for folder in suite.iterdir() if folder.is_dir()]
    sizes = [sum(file.stat().st_size for file in folder.iterdir()) for folder in models]
    assert max(sizes) < MEGABYTE
    assert sum(sizes) < 60 * MEGABYTE


@pytest.mark.parametrize("name", NAMES)
def test_a_suite_holds_what_its_users_need_and_no_more(name):
    """Weights, configuration, tokenizer and where they come from; no path of the machine that trained them."""
    suite = suites.bundled_suites()[name]
    assert {path.name for path in suite.iterdir()} == {SUITE, *(m["path"] for m in content(name)["models"])}
    for model in content(name)["models"]:
        assert {path.name for path in (suite / model["path"]).iterdir()} == {
            "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", TRAINING,
        }  # fmt: skip
    for file in suite.rglob("*.json"):
        if file.name != "tokenizer.json":
            assert not re.search(r'"[^"]*[/\\][^"]*"', file.read_text(encoding="utf-8")), file


@pytest.mark.more
@pytest.mark.parametrize("name", NAMES)
def test_models_load_and_answer(name):
    """Labels are the task's, every letter is known, answers are probabilities, and [MASK] says nothing."""
    rows = sets.load(recipe.load(name).ood[0])
    for model in suites.load([name]).models:
        classifier = Classifier.load(model.source.path, rows.task)
        probabilities = classifier.probabilities(rows.examples[:4])
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-6)
        assert probabilities.shape == (4, len(rows.task.labels))
        encoded = [classifier.tokenizer(*example.segments).input_ids for example in rows.examples[:100]]
        assert not any(classifier.tokenizer.unk_token_id in ids for ids in encoded)
        assert not classifier.model.get_input_embeddings().weight[classifier.tokenizer.mask_token_id].any()


@pytest.mark.parametrize("member", ["untouched", "inoc-800"])
def test_stated_accuracies_can_be_measured_again(member):
    """On all embedded rows a model is right as often as its suite.json says: a label map or a sign would show."""
    rows = sets.load("paws")
    [model] = [model for model in suites.load(["paws-mini"]).models if model.name == member]
    predicted = Classifier.load(model.source.path, rows.task).probabilities(rows.examples).argmax(axis=1)
    right = np.mean(predicted == [example.target for example in rows.examples])
    assert right == pytest.approx(model.ood_accuracy[rows.fingerprint], abs=1.5 / len(rows.examples))


def test_the_page_shows_what_the_suites_state():
    """Each table of docs/suites.md has the members of its suite, their rows and accuracies, as in suite.json."""
    page = (Path(__file__).parents[2] / "docs" / "suites.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0].strip(): part for part in page.split("\n## ")}
    for name in NAMES:
        rows_shown = [
            tuple(cell.strip() for cell in line.strip("|").split("|"))
            for line in sections[name].splitlines()
            if line.startswith("| ")
        ]
        assert rows_shown[1:] == [shown_row(model, *recipe.load(name).ood) for model in content(name)["models"]]


def shown_row(model: dict, ood_name: str) -> tuple[str, ...]:
    """A model's line in docs/suites.md."""
    rows = model["training"]["rows"]
    names = {"home": "in-domain"}  # what recipes call the source of in-domain rows
    mixture = " + ".join(
        f"{rows[source]:,} {names.get(source, source)}" for source in sorted(rows, key=lambda source: source != "home")
    )
    accuracies = (model["in_domain_accuracy"], model["ood_accuracy"][ood_name]["accuracy"])
    return (model["name"], mixture or "none", *(f"{100 * accuracy:.1f}" for accuracy in accuracies))
