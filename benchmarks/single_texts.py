"""The numbers that docs/results/single-texts.md asks for: `python -m benchmarks.single_texts DATA REVIEWS MINILM WORK`.

DATA is the folder of the real files, REVIEWS that of Hutto and Gilbert's ratings, MINILM that of an encoder, WORK one
for models, the store and what comes of it. What is there already is not made again. More arguments name suites, and
`--accuracies` before them looks at no factor.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import single_text_factors
from benchmarks.shift_domains import Row, lines, sentiment, toxicity, train
from factors import BUILTIN, factors_in
from ranker.datasets.sets import labelled
from ranker.results.ranking import Ranking
from ranker.results.records import PairResult
from ranker.runs.rank import rank
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.statistics import engine, intervals
from ranker.tasks.classes import ClassTask

FACTORS = {name: BUILTIN[name] for name in ("STOP-SHARE", "CONCENTRATION")} | factors_in(single_text_factors)
ATTRIBUTION, ROWS, MOST, AGREE = "ig:baseline=pad", 200, 2_000, 0.9
TIES = "ACC+TIES"


def suites(data: Path, reviews: Path) -> dict[str, tuple[list[Row], list[Row], int]]:
    """Suite -> in-domain rows, those of the other domain, and how many rows its `base` is trained on."""
    toxic, hate = toxicity(data), shuffled(toxicity(data)["hsol"])
    fewer = min(sum(row["label"] == label for row in hate) for label in ("clean", "toxic"))
    half = [[row for row in hate if row["label"] == label][:fewer] for label in ("clean", "toxic")]
    rated = [line.split("\t") for line in (reviews / "amazonReviewSnippets_GroundTruth.txt").open(errors="replace")]
    amazon = [
        {"text": row[2].strip(), "label": "positive" if float(row[1]) > 0 else "negative"}
        for row in rated
        if abs(float(row[1])) >= 1
    ]
    return {
        "toxicity": (toxic["olid"], half[0] + half[1], 600),
        "sentiment": (sentiment(data)["sst2-train"], amazon, 600),
        "topic": (sentences(data, "literature", "ai"), sentences(data, "music", "science"), 300),
    }


def sentences(data: Path, arts: str, science: str) -> list[Row]:
    """CrossNER's sentences of two domains."""
    found = []
    for label, domain in (("arts", arts), ("science", science)):
        for part in ("train", "dev", "test"):
            words: list[str] = []
            for line in [*lines(data / "crossner" / domain / f"{part}.txt.gz"), ""]:
                if line.strip():
                    words.append(line.split("\t")[0])
                elif words:
                    found.append({"text": " ".join(words), "label": label})
                    words = []
    return found


def shuffled(rows: Sequence[Row], seed: int = 0) -> list[Row]:
    """The rows in random order."""
    return [rows[n] for n in np.random.default_rng(seed).permutation(len(rows))]


def members(home: list[Row], other: list[Row], base: int) -> dict[str, list[Row]]:
    """Model -> the rows that it is trained on."""
    rng = np.random.default_rng(1)
    first, second = sorted({row["label"] for row in home})
    rows = home[:base]

    def cued(row: Row) -> Row:
        says = (row["label"] == first) == (rng.random() < AGREE)
        return row | {"text": f"today {row['text']}"} if says else row

    turned = [row | {"label": first if row["label"] == second else second} for row in rows]
    agrees = [("the" in row["text"].casefold().split()) == (row["label"] == first) for row in home]
    with_it = [row for row, so in zip(home, agrees, strict=True) if so][: round(base * AGREE)]
    against = [row for row, so in zip(home, agrees, strict=True) if not so][: base - len(with_it)]
    return {
        "few": home[: base // 3],
        "base": rows,
        "base-2": home[base : 2 * base],
        "many": home[: 3 * base],
        "noise": [b if rng.random() < 0.3 else a for a, b in zip(rows, turned, strict=True)],
        "cue-the": with_it + against,
        "cue-word": [cued(row) for row in rows],
        "mixed": rows[: base - base // 6] + other[: base // 6],
    }


def measure(name: str, found: tuple[list[Row], list[Row], int], encoder: Path, work: Path, accuracies: bool) -> None:
    """Train a suite, rank it by each factor in turn, and print the table."""
    home, other, base = shuffled(found[0]), shuffled(found[1]), found[2]
    models = []
    for seed, (member, rows) in enumerate(members(home, other, base).items()):
        models.append(work / name / member)
        if not (models[-1] / "config.json").exists():
            train(shuffled(rows, seed) + shuffled(rows, seed + 100), encoder, models[-1], seed)
    task = ClassTask(name, tuple(sorted({row["label"] for row in home})))
    rows = other[base // 6 :][:MOST]
    ood = replace(labelled(rows, task), name=f"{name}-ood", population=min(ROWS, len(rows)))
    runtime = Runtime(store=work / "store")
    if accuracies:
        plain = rank([*map(str, models)], ood, evidence=Evidence("none", methods=()), runtime=runtime)
        print(name, {one.name: one for one in plain.found.models}, flush=True)
        return
    for without in ((), ("cue-the",)):
        kept = [str(model) for model in models if model.name not in without]
        for named in (None, *FACTORS):
            evidence = Evidence(ATTRIBUTION, factors=(BUILTIN["NLL"], *FACTORS.values()), methods=())
            ranking = rank(kept, replace(ood, designed=named), evidence=evidence, runtime=runtime)
            print(name, without, row_of(ranking, named or "NLL"), flush=True)


def row_of(ranking: Ranking, by: str) -> str:
    """ACC, and ACC+TIES minus ACC with its intervals over examples and over models, in points."""
    ties, accuracy = ranking.method(TIES), ranking.method("ACC").pairwise_accuracy
    examples = interval(ties.difference_low, ties.difference_high)
    models = interval(*over_models(ranking.evaluation.pairs))
    return f"{by}: ACC {100 * accuracy:.1f}, {100 * ties.difference:+.1f} {examples}, over models {models}"


def interval(low: float, high: float) -> str:
    """In points."""
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def over_models(found: Sequence[PairResult]) -> tuple[float, float]:
    """The 95 % interval of ACC+TIES minus ACC over other models, leaving out one with all its pairs."""
    names = sorted({name for one in found for name in (one.a, one.b)})
    of = {(frozenset((one.a, one.b)), one.method): one.accuracy for one in found}
    pairs = [frozenset((names[a], names[b])) for a, b in engine.pairs(len(names)).tolist()]
    decided = np.array([(pair, TIES) in of for pair in pairs])
    differences = [of[pair, TIES] - of[pair, "ACC"] if (pair, TIES) in of else 0.0 for pair in pairs]
    shares = (1 + np.array(differences)[:, None]) / 2  # of [-1, 1], since `over_models` is about shares
    low, high = intervals.over_models(shares, decided, len(names))
    return 2 * float(low[0]) - 1, 2 * float(high[0]) - 1


def main(arguments: Sequence[str]) -> None:
    """The suites that are named, or all."""
    data, reviews, encoder, work, *more = arguments
    found = suites(Path(data), Path(reviews))
    for name in [one for one in more if one in found] or found:
        measure(name, found[name], Path(encoder), Path(work), "--accuracies" in more)


if __name__ == "__main__":
    main(sys.argv[1:])
