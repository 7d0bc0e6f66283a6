"""DomainSum: its eight measures on two of its samples, and its Table 4 from its Tables 2, 3 and 5.

Source: Yuan and Zhang 2025, "DomainSum", Tables 2 to 5; the numbers are those of the paper.
"""

import csv
import gzip
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from published_tables import TABLES, answered
from scipy.stats import pearsonr

from ranker.domains.statistics import summaries
from ranker.domains.words import tokens_of

_DATA = os.environ.get("RANK_MODELS_DATA")
FOLDER = (Path(_DATA) if _DATA else Path(__file__).parents[4] / "shared" / "data") / "domainsum"

PUBLISHED = (
    *("document_length", "summary_length", "compression", "document_diversity", "summary_diversity"),
    *("coverage", "abstractiveness", "density"),
)
"""The columns of Table 5."""

# fmt: off
TABLE_4 = {
    "genre": [-0.305, -0.159, -0.431, 0.022, -0.319, 0.313, -0.321, 0.424],
    "style": [-0.935, 0.436, -0.915, 0.944, -0.998, 0.994, -0.997, 0.83],
    "topic": [0.275, 0.886, -0.68, -0.617, -0.929, 0.764, -0.718, 0.155],
}
"""Level -> correlations of the eight measures with performance."""
# fmt: on

SIGNIFICANT = {
    "genre": set(),
    "style": {*PUBLISHED} - {"summary_length", "density"},
    "topic": {"summary_length", "summary_diversity"},
}
"""Level -> measures with an asterisk in Table 4."""

SETS = {"cnndm": "CNN/DM", "cnn": "CNN"}

DIFFERENT = {("genre", "summary_diversity"), ("style", "summary_diversity"), ("topic", "density")}
"""Where Table 4 does not follow from Tables 2, 3 and 5: 0.48, -0.26 and 0.71 instead of -0.32, -1.00 and 0.16."""


def means(pairs, rng):
    """Measure -> its mean over documents and summaries."""
    return {mean.name: mean for mean in summaries.means(pairs, rng)}


@cache
def table_5():
    """Return set -> measure -> its mean in Table 5."""
    with open(TABLES / "domainsum-measures.csv", encoding="utf-8") as file:
        return {row["set"]: {name: float(row[name]) for name in PUBLISHED} for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def board():
    """Return the comparison of Tables 2 and 3, beside Table 5; ROUGE and BERTScore are two sets of a task."""
    return answered("compare", "domainsum.csv", "--measures", "domainsum-measures.csv")


def fits(board, level):
    """Return measure -> its correlation with the mean of ROUGE and BERTScore over all models and settings."""
    return {fit["measure"]: fit for fit in board["correlations"] if (fit["outcome"], fit["level"]) == ("value", level)}


@pytest.mark.parametrize("level", TABLE_4)
def test_table_4_follows_from_the_other_tables(board, level):
    """21 of 24 correlations within 0.05, if performance is the mean of ROUGE and BERTScore; three are different."""
    published = dict(zip(PUBLISHED, TABLE_4[level], strict=True))
    fit = fits(board, level)
    wrong = {(level, name) for name, r in published.items() if abs(r - fit[name]["pearson"]) > 0.05}
    assert wrong == {pair for pair in DIFFERENT if pair[0] == level}
    starred = {name for name, fit in fit.items() if fit["p"] <= 0.05}
    assert starred - {"summary_diversity"} == {name for name in SIGNIFICANT[level] if name != "summary_diversity"}
    assert {fit["sets"] for fit in fit.values()} == {5}


def test_the_three_other_correlations_are_different(board):
    """Other statistics stand in for the three, and every p and interval is scipy's."""
    assert [round(fits(board, level)[name]["pearson"], 2) for level, name in sorted(DIFFERENT)] == [0.48, -0.26, 0.71]
    of_set = {task: sum(model["tasks"][task] for model in board["models"]) for task in board["tasks"]}
    for level in TABLE_4:
        names = [name for name in board["levels"][level] if name in of_set]
        for measure, fit in fits(board, level).items():
            r = pearsonr([table_5()[name][measure] for name in names], [of_set[name] for name in names])
            assert (fit["pearson"], fit["p"]) == pytest.approx((r.statistic, r.pvalue))
            assert (fit["pearson_low"], fit["pearson_high"]) == pytest.approx(tuple(r.confidence_interval()), abs=1e-4)


def test_style_and_not_genre_has_the_lowest_values(board):
    """Section 4.2 calls genre the most challenging; ten of 13 models have their lowest mean on style, none on topic."""
    means = {level: np.mean([model["levels"][level] for model in board["models"]]) for level in TABLE_4}
    assert means == pytest.approx({"genre": 0.532, "style": 0.529, "topic": 0.564}, abs=5e-4)
    assert Counter(min(model["levels"], key=model["levels"].get) for model in board["models"]) == {
        "style": 10,
        "genre": 3,
    }


def test_a_level_alone_is_compared_like_the_part_of_the_table(board):
    """With `--level` the five sets of style count, and nothing else changes in their correlations."""
    style = answered("compare", "domainsum.csv", "--measures", "domainsum-measures.csv", "--level", "STYLE")
    assert list(style["tasks"]) == ["CNN", "Fox", "NYDaily", "NYTimes", "WaPo"]
    assert fits(style, "style") == fits(board, "style")
    of_board = {model["model"]: model["levels"]["style"] for model in board["models"]}
    assert {model["model"]: model["value"] for model in style["models"]} == pytest.approx(of_board)


def test_drops_by_level_are_those_of_figure_5():
    """Drops are those of models trained on one set of a level, over its four others, in the paper's order of levels."""
    drops = {model["model"]: model["drops"] for model in answered("compare", "domainsum-table6.csv")["models"]}
    assert {
        name: {level: round(100 * drop, 1) for level, drop in by_level.items()} for name, by_level in drops.items()
    } == {
        "BART, fine-tuned": {"genre": 11.0, "style": 6.8, "topic": 0.4},
        "Llama3.1-8B, fine-tuned": {"genre": 10.0, "style": 0.7, "topic": -0.3},
    }
    with (TABLES / "domainsum-table6.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["model"], row["level"]) == ("BART, fine-tuned", "genre")]
    (home,) = (float(row["value"]) for row in rows if row["kind"] == "in-domain")
    away = np.mean([float(row["value"]) for row in rows if row["kind"] == "ood"])
    assert drops["BART, fine-tuned"]["genre"] == pytest.approx((home - away) / 100)


@cache
def sample(name):
    """(document, summary) as numbers of words and punctuation marks."""
    if not FOLDER.exists():
        pytest.skip("needs ../shared/data/domainsum")
    numbers = {}
    with gzip.open(FOLDER / f"{name}_test.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [
        tuple(
            [numbers.setdefault(token, len(numbers)) for token in tokens_of(row[text])]
            for text in ("document", "summary")
        )
        for row in rows
    ]


@pytest.mark.parametrize("name", ["cnndm", "cnn"])
def test_six_of_eight_measures_agree_with_table_5_as_far_as_a_sample_can(name):
    """Of 500 texts of two sets: lengths and compression within 6 %, diversity and coverage within a point."""
    correlations = means(sample(name), np.random.default_rng(0))
    published = table_5()[SETS[name]]
    for text in ("document_length", "summary_length", "compression"):
        assert correlations[text].value == pytest.approx(published[text], rel=0.06)
    for text in ("document_diversity", "summary_diversity", "coverage"):
        assert 100 * correlations[text].value == pytest.approx(published[text], abs=1.0)


@pytest.mark.parametrize(("name", "formula", "trigrams"), [("cnndm", 44.1, 70.9), ("cnn", 36.9, 53.3)])
def test_the_published_abstractiveness_is_that_of_trigrams(name, formula, trigrams):
    """Equation 6, a mean over three sizes, gives 15 to 26 points less than Table 5; trigrams alone agree with it."""
    pairs = sample(name)
    error = means(pairs, np.random.default_rng(0))["abstractiveness"].value
    shares = []
    for document, summary in pairs:
        grams = [{*zip(tokens, tokens[1:], tokens[2:], strict=False)} for tokens in (document, summary)]
        triples = [*zip(summary, summary[1:], summary[2:], strict=False)]
        shares.append(sum(gram not in grams[0] for gram in triples) / len(triples))
    assert 100 * error == pytest.approx(formula, abs=0.1)
    assert 100 * np.mean(shares) == pytest.approx(trigrams, abs=0.1)
    assert 100 * np.mean(shares) == pytest.approx(table_5()[SETS[name]]["abstractiveness"], abs=2)


@pytest.mark.parametrize(("name", "density"), [("cnndm", 3.7), ("cnn", 13.2)])
def test_the_published_density_is_another(name, density):
    """Equation 2 gives 3.7 and 13.2; Table 5 has 83.81 and 10.77, and says that these are percent."""
    error = means(sample(name), np.random.default_rng(0))["density"].value
    assert error == pytest.approx(density, abs=0.05)
    assert error != pytest.approx(table_5()[SETS[name]]["density"], rel=0.15)
