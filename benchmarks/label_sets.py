"""Classifiers of several labels ordered by K labelled rows: their metric alone, with a pool, and with asked rows.

    python -m benchmarks.label_sets crossner wnut17

A text's labels are the types of entities in it (persons, organisations, locations, others), in CrossNER's five domains,
CoNLL-2003 and WNUT-17. Up to 18 classifiers learn from CoNLL-2003, or from another domain; none learns from the domain
that it is ranked in. In each replicate eight of them, a pool of 300 rows and an order of its rows are drawn. The truth
is the metric on all rows of the domain.
"""

from __future__ import annotations

import gzip
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from benchmarks.labels import judged, table
from factors.types import Bools, Floats
from ranker.commands.options import PATH
from ranker.statistics import label_votes, likeness, rows
from ranker.statistics.draws import Draws
from ranker.statistics.label_votes import LabelVotes
from ranker.statistics.likeness import Anchors, LikenessEvidence, choose_rows
from ranker.statistics.rows import RowEvidence
from ranker.statistics.vote import MetricByLabel
from ranker.tasks.label_sets import LabelSetTask

LABELS = ("location", "organisation", "other", "person")
TYPES = {
    "person": "per person politician musicalartist writer scientist researcher",
    "organisation": "org organisation organization politicalparty band university corporation group",
    "location": "loc location country",
}
DOMAINS = ("ai", "literature", "music", "politics", "science")
SIZES, SYSTEMS, POOL = (3, 5, 10, 20), 8, 300
METRICS = ("micro-f1", "macro-f1")
OUTCOME = "samples-f1"

Rows = list[tuple[str, frozenset[str]]]


def read(file: Path) -> Rows:
    """Return the texts of a CoNLL file, and the types of their entities."""
    kinds = {word: kind for kind, words in TYPES.items() for word in words.split()}
    with gzip.open(file, "rt", encoding="utf-8", errors="replace") as lines:
        sentences = "".join(lines).strip().split("\n\n")
    texts: Rows = []
    for sentence in sentences:
        tokens = [line.split("\t") for line in sentence.splitlines() if line.strip()]
        tags = (parts[-1].partition("-")[2].lower() for parts in tokens)
        texts.append(
            (" ".join(parts[0] for parts in tokens), frozenset(kinds.get(tag, "other") for tag in tags if tag))
        )
    return texts


def indicators(texts: Rows) -> Bools:
    """Return (N, L) whether a text has a label."""
    return np.array([[label in has for label in LABELS] for _, has in texts])


def classifiers(crossner: Path, wnut: Path) -> dict[str, Any]:
    """Return classifiers of several kinds, trained on several numbers of rows of several domains."""
    rng = np.random.default_rng(0)
    words, signs = (
        partial(TfidfVectorizer, min_df=2),
        partial(
            TfidfVectorizer, analyzer="char_wb", ngram_range=(2, 4), min_df=2, max_features=60_000, lowercase=False
        ),
    )

    def some(texts: Rows, count: int) -> Rows:
        return [texts[place] for place in rng.permutation(len(texts))[:count].tolist()]

    news = read(crossner / "conll2003" / "train.txt.gz")
    plans: dict[str, tuple[Any, Any, Rows]] = {}
    for count in (300, 1500, 8000):
        for name, features in (("words", words()), ("signs", signs()), ("cased", words(lowercase=False))):
            plans[f"{name}-{count}"] = features, LogisticRegression(C=10), some(news, count)
    plans["bayes"] = words(binary=True, use_idf=False), BernoulliNB(alpha=0.1), some(news, 3000)
    plans["neighbours"] = signs(), KNeighborsClassifier(9, metric="cosine"), some(news, 3000)
    plans["trees"] = words(lowercase=False), ExtraTreesClassifier(60, random_state=0), some(news, 2500)
    plans["wnut17"] = signs(), LogisticRegression(C=10), read(wnut / "train.conll.gz")
    for domain in DOMAINS:
        parts = [read(crossner / domain / f"{part}.txt.gz") for part in ("train", "dev")]
        plans[domain] = signs(), LogisticRegression(C=10), [*parts[0], *parts[1]]
    trained = {}
    for name, (features, estimator, texts) in plans.items():
        trained[name] = make_pipeline(features, OneVsRestClassifier(estimator))
        trained[name].fit([text for text, _ in texts], indicators(texts).astype(int))
    return trained


@click.command()
@click.argument("crossner", type=PATH)
@click.argument("wnut", type=PATH)
@click.option("--replicates", default=40, show_default=True)
def main(crossner: Path, wnut: Path, replicates: int) -> None:
    """Print pairs in true order, the regret in points, and the log loss of the probabilities of pairs."""
    warnings.simplefilter("ignore")  # scikit-learn's, of labels without a row
    trained, results = classifiers(crossner, wnut), dict[tuple[str, str, int], list[list[Floats]]]()
    for domain in (*DOMAINS, "wnut17"):
        file = wnut / "test.conll.gz" if domain == "wnut17" else crossner / domain / "test.txt.gz"
        texts = read(file)
        answers = np.array(
            [model.predict([text for text, _ in texts]) for name, model in trained.items() if name != domain]
        )
        of_domain = dict[tuple[str, str, int], list[Floats]]()
        for replicate in range(replicates):
            for key, value in _replicate(answers > 0, indicators(texts), replicate):
                of_domain.setdefault(key, []).append(value)
        for key, values in of_domain.items():
            results.setdefault(key, []).append(values)
    cells: dict[tuple[str, str], list[str]] = {}
    for (metric, name, _), domains in results.items():
        means = np.array(domains).mean(axis=1)  # (domains, 3)
        right, regret, loss = means.mean(axis=0)
        error = means[:, 0].std(ddof=1) / np.sqrt(len(means))
        cells.setdefault((metric, name), []).append(f"{right:.1f} ({error:.1f}), {regret:.2f}, {loss:.2f}")
    click.echo(
        table(["", "", *(f"K = {size}" for size in SIZES)], [[*names, *of_sizes] for names, of_sizes in cells.items()])
    )


def _replicate(answers: Bools, truth: Bools, replicate: int) -> list[tuple[tuple[str, str, int], Floats]]:
    """Return pairs, regret and log loss by metric, method and K."""
    rng = np.random.default_rng(replicate)
    suite, pool = rng.choice(len(answers), SYSTEMS, replace=False), rng.permutation(len(truth))[:POOL]
    ours, true = answers[suite][:, pool], truth[pool]
    task = LabelSetTask("types", possible=LABELS)
    sets = [[tuple(np.array(LABELS)[row].tolist()) for row in matrix] for matrix in (*ours, true)]
    predictions = [task.predictions(of_model) for of_model in sets[:-1]]
    alike = Anchors(
        np.array([[task.similarity(of_model, anchor) for anchor in predictions] for of_model in predictions])
    )
    outcomes = np.array([task.judge(of_model, sets[-1]) for of_model in sets[:-1]])
    chosen_rows = choose_rows(alike, max(SIZES))
    results = []
    for metric_name in METRICS:
        metric = task.metric_named(metric_name)
        assert metric is not None
        statistics_by_label = metric.by_label()
        assert statistics_by_label is not None
        by_label = MetricByLabel(statistics_by_label, metric.value)
        of_all = [[tuple(np.array(LABELS)[row].tolist()) for row in matrix] for matrix in (*answers[suite], truth)]
        values = np.array(
            [metric.value(metric.statistics(sets_of_model, of_all[-1]).mean(axis=0)) for sets_of_model in of_all[:-1]]
        )
        statistics = np.array([metric.statistics(sets_of_model, sets[-1]) for sets_of_model in sets[:-1]])
        for size in SIZES:
            first, chosen = np.arange(size), chosen_rows[:size]
            beliefs: dict[str, Draws] = {
                "the metric alone": rows.draw(
                    RowEvidence(outcomes[:, :size], statistics[:, :size], metric.value, None), rng, 500
                ),
                "ANCHORS by samples-f1": likeness.draw(
                    LikenessEvidence(alike, outcomes[:, :size], first, random=True), rng, 500
                ),
                "LABEL-VOTES": label_votes.draw(LabelVotes(ours, first, true[:size], by_label)),
                "LABEL-VOTES, asked rows": label_votes.draw(LabelVotes(ours, chosen, true[chosen], by_label)),
            }
            for name, belief in beliefs.items():
                results.append(((metric_name, name, size), judged(belief, values)))
    return results


if __name__ == "__main__":
    main()
