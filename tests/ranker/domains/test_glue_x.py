"""Tables 3, 4 and 8 of GLUE-X (Yang et al. 2023) as a leaderboard, the first from the other two."""

import csv
import gzip
import os
from pathlib import Path

import pytest
from published_tables import TABLES, answered

from ranker.domains.compare import compare

TASKS = ("SST-2", "MNLI", "QNLI", "RTE", "MRPC", "QQP", "STS-B", "CoLA")

PUBLISHED = """
ELECTRA-large   74.62 89.18 16.33 2.13 2.25 1
T5-large        72.81 87.70 16.98 2.38 3.00 2
RoBERTa-large   71.62 87.83 18.46 4.00 3.00 3
BART-large      70.38 87.05 19.15 5.00 3.63 6
T5-base         70.05 85.92 18.47 5.88 6.13 4
XLNet-large     69.69 86.75 19.67 6.00 4.63 8
RoBERTa-base    68.73 85.27 19.40 7.00 6.63 7
ELECTRA-base    67.78 85.92 21.11 9.63 8.63 15
GPT2-large      66.46 83.57 20.47 10.88 11.50 10
BART-base       65.89 83.04 20.65 11.00 11.00 12
BERT-large      65.80 83.26 20.97 11.38 10.38 14
T5-small        65.43 80.35 18.57 12.63 15.00 5
ALBERT-base     65.30 82.58 20.93 12.88 13.25 13
ELECTRA-small   65.06 81.50 20.17 13.88 16.13 9
GPT2-medium     65.03 81.84 20.54 12.88 13.63 11
XLNet-base      64.57 82.26 21.50 12.75 12.13 16
BERT-base       64.10 82.08 21.91 13.88 13.88 17
DistilBERT-base 61.94 80.21 22.78 17.75 17.38 18
GPT2            61.16 79.30 22.88 18.13 17.88 19
"""
"""Table 3: mean OOD and ID, decay, Friedman ranks OOD and ID, rank by decay."""

RELEASED = {
    # task -> the released results that its column of Table 4 is the mean of
    "RTE": (("hans", "accuracy"), ("scitail", "accuracy")),
    "MRPC": tuple((name, metric) for name in ("qqp", "twitter") for metric in ("accuracy", "f1")),
    "QQP": tuple((name, metric) for name in ("mrpc", "twitter") for metric in ("accuracy", "f1")),
}
DATA = Path(os.environ.get("RANK_MODELS_DATA", "")) / "glue-x" / "ood_results.csv.gz"
ENDINGS = ("-base-v2", "-base-uncased", "-large-uncased", "-base-cased", "-large-cased", "-discriminator")


def rows_of(text):
    """Model -> its numbers."""
    return {name: tuple(map(float, numbers)) for name, *numbers in map(str.split, text.strip().splitlines())}


def column(kind):
    """Return model -> its numbers on the tasks, out of domain ("") or in-domain."""
    with open(TABLES / "glue-x.csv", encoding="utf-8") as file:
        return {row["model"]: tuple(float(row[task + kind]) for task in TASKS) for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def board():
    """Return the leaderboard of Tables 4 and 8."""
    return answered("compare", "glue-x.csv")


def test_the_means_the_decay_and_the_order_are_those_of_table_3(board):
    """19 models: both means to the last digit, decay but for what rounding adds, and the two orders."""
    published = rows_of(PUBLISHED)
    assert [model["model"] for model in board["models"]] == list(published)
    for model in board["models"]:
        mean, in_domain, decay, _, _, place = published[model["model"]]
        assert 100 * model["value"] == pytest.approx(mean, abs=0.0051)
        assert 100 * model["in_domain"] == pytest.approx(in_domain, abs=0.0051)
        assert 100 * model["decay"] == pytest.approx(decay, abs=0.013)
        assert model["rank_by_decay"] == place


def test_the_friedman_ranks_are_those_of_table_3_where_two_digits_tell_models_apart(board):
    """Two models with the same two digits share a rank here, and did not there: an eighth at most for each such tie."""
    published, tied = rows_of(PUBLISHED), ties()
    for kind, key, column in (("", "friedman", 3), (" (in-domain)", "friedman_in_domain", 4)):
        for model in board["models"]:
            name = model["model"]
            assert model[key] == pytest.approx(published[name][column], abs=0.0051 + tied[kind, name] / 16)
    assert sum(not tied["", name] for name in published) == 17


def ties():
    """(kind, model) -> how many other models have its value on a task, over all tasks."""
    count = {}
    for kind in ("", " (in-domain)"):
        numbers_of = column(kind)
        for model, numbers in numbers_of.items():
            same = sum(row[place] == value for row in numbers_of.values() for place, value in enumerate(numbers))
            count[kind, model] = same - len(TASKS)
    return count


def test_who_leads_is_not_told_by_eight_tasks(board):
    """The models differ, but the first ten are within Nemenyi's difference of the first."""
    assert board["test"]["p"] < 1e-20
    assert board["test"]["critical_difference"] == pytest.approx(9.896, abs=1e-3)
    assert len(next(group for group in board["test"]["groups"] if "ELECTRA-large" in group)) == 11
    assert not [pair for pair in board["differences"] if pair["holm"] < 0.05]


@pytest.mark.skipif(not DATA.is_file(), reason="RANK_MODELS_DATA names no folder with glue-x/ood_results.csv.gz")
def test_table_4_is_the_mean_of_some_of_the_released_results():
    """Of every task all sets and metrics, but for three tasks, where some sets do not count (RTE: two of four)."""
    with gzip.open(DATA, "rt") as file:
        released = list(csv.DictReader(file))
    means = [
        {
            "model": short(row["model"]),
            "set": f"{row['ood_set']} {row['metric']}",
            "group": task,
            "value": float(row["value"]),
        }
        for row in released
        for task in [next(task_name for task_name in TASKS if task_name.replace("-", "").casefold() == row["task"])]
        if (row["ood_set"], row["metric"]) in RELEASED.get(task, [(row["ood_set"], row["metric"])])
    ]
    comparison = compare(means)
    table, published = column(""), {name.casefold(): name for name in rows_of(PUBLISHED)}
    for model in comparison.models:
        for task, value in zip(TASKS, table[published[model.model]], strict=True):
            assert 100 * model.tasks[task] == pytest.approx(value, abs=0.0051)
    exact = {model.model: model.friedman for model in comparison.models}
    off = {
        name: round(exact[folded] - rows_of(PUBLISHED)[name][3], 3)
        for folded, name in published.items()
        if abs(exact[folded] - rows_of(PUBLISHED)[name][3]) > 0.0051
    }
    assert off == {}


def short(name):
    """A model's name as the paper has it, but for its case."""
    for ending in ENDINGS:
        if name.endswith(ending):
            name = name.removesuffix(ending) + ("-base" if "base" in ending else "-large" if "large" in ending else "")
    return name
