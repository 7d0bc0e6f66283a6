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

from benchmarks.shift_domains import Row, sentiment, toxicity, train
from factors import BUILTIN, Attributions, Example, factor
from factors.types import Bools, Floats, Ints
from ranker.files.conll import TEXT, by_tokens
from ranker.results.ranking import Ranking
from ranker.results.table import ScoreTable
from ranker.runs.rank import rank
from ranker.runs.rows import labelled
from ranker.runtime.runtime import Runtime
from ranker.scoring.reference import Truth
from ranker.scoring.score import Evidence, signed_scores
from ranker.statistics import combined, engine, intervals
from ranker.statistics.pool import MANY
from ranker.tasks.classes import ClassificationTask

ATTRIBUTION, ROWS, MOST, AGREE = "ig:baseline=pad", 200, 2_000, 0.9
PROBE, TIES = 10, "ACC+TIES"


@factor("HALVES", higher_is_better=True, explains="predicted", single=True)
def halves(attributions: Attributions, example: Example) -> float:
    """(sum a / sum |a|) of the first half of the words, times the same of the second; of an odd number the second has
    one more. It did not pass."""
    word_scores = attributions.word_scores
    parts = np.split(word_scores, [len(word_scores) // 2])
    return float(np.prod([np.nansum(part) / (np.nansum(abs(part)) or np.nan) for part in parts]))


DECLARED = ("STOP-SHARE", "CONCENTRATION", "HALVES", "CONTENT-TRUE")
FACTORS = {name: (BUILTIN | {"HALVES": halves.factor})[name] for name in DECLARED}  # type: ignore[attr-defined]


def suites(folder: Path, reviews: Path) -> dict[str, tuple[list[Row], list[Row], int]]:
    """Suite -> in-domain rows, those of the other domain, and how many rows its `base` is trained on."""
    toxic, hate = toxicity(folder), shuffled(toxicity(folder)["hsol"])
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
        "sentiment": (sentiment(folder)["sst2-train"], amazon, 600),
        "topic": (sentences(folder, "literature", "ai"), sentences(folder, "music", "science"), 300),
    }


def sentences(folder: Path, arts: str, science: str) -> list[Row]:
    """CrossNER's sentences of two domains."""
    return [
        {"text": row[TEXT], "label": label}
        for label, domain in (("arts", arts), ("science", science))
        for part in ("train", "dev", "test")
        for _, row in by_tokens(folder / "crossner" / domain / f"{part}.txt.gz")
    ]


def shuffled(rows: Sequence[Row], seed: int = 0) -> list[Row]:
    """Return the rows in random order."""
    return [rows[n] for n in np.random.default_rng(seed).permutation(len(rows))]


def members(home: list[Row], new_domain: list[Row], base: int) -> dict[str, list[Row]]:
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
        "mixed": rows[: base - base // 6] + new_domain[: base // 6],
    }


def measure(
    name: str, rows_of_suite: tuple[list[Row], list[Row], int], encoder: Path, work: Path, accuracies: bool
) -> None:
    """Train a suite, rank it by each factor in turn, and print the table."""
    home, new_domain, base = shuffled(rows_of_suite[0]), shuffled(rows_of_suite[1]), rows_of_suite[2]
    models = []
    for seed, (member, rows) in enumerate(members(home, new_domain, base).items()):
        models.append(work / name / member)
        if not (models[-1] / "config.json").exists():
            train(shuffled(rows, seed) + shuffled(rows, seed + 100), encoder, models[-1], seed)
    task = ClassificationTask(name, tuple(sorted({row["label"] for row in home})))
    rows = new_domain[base // 6 :][:MOST]
    ood = replace(labelled(rows, task), name=f"{name}-ood", population=min(ROWS, len(rows)))
    runtime = Runtime(store=work / "store")
    if accuracies:
        plain = rank([*map(str, models)], ood, evidence=Evidence("none", methods=()), runtime=runtime)
        print(name, {model_result.name: model_result for model_result in plain.found.models}, flush=True)
        return
    for without in ((), ("cue-the",)):
        remaining = [str(model) for model in models if model.name not in without]
        for designed_factor in (None, *FACTORS):
            evidence = Evidence(ATTRIBUTION, factors=(BUILTIN["NLL"], *FACTORS.values()), methods=())
            ranking = rank(
                remaining, replace(ood, designed=designed_factor), probe=PROBE, evidence=evidence, runtime=runtime
            )
            print(name, without, row_of(ranking, designed_factor or "NLL"), flush=True)
        for designed_factor in FACTORS:
            print(name, without, lead_of(ranking.table, designed_factor), flush=True)


def row_of(ranking: Ranking, by: str) -> str:
    """ACC, and ACC+TIES minus ACC with its intervals over examples and over models, in points."""
    ties, accuracy = ranking.method(TIES), ranking.method("ACC").pairwise_accuracy
    cells = points(ties.difference, (ties.difference_low, ties.difference_high), over_models(*gains(ranking)))
    return f"by {by}: ACC {100 * accuracy:.1f}, {cells}"


def lead_of(table: ScoreTable, by: str) -> str:
    """ACC+TIES by a factor minus ACC+TIES by NLL, on the same draws, with both intervals, in points."""
    truth = Truth.of(table, None)
    columns = [[column.name for column in table.methods].index(name) for name in ("ACC", by, "NLL")]
    draws = engine.draw_probes(np.random.default_rng(0), len(table.examples), PROBE, MANY)

    def ties(means: Floats, rows: Ints) -> Floats:
        return np.stack([combined.scores(TIES, means[:, 0], means[:, other_column]) for other_column in (1, 2)], axis=1)

    simulation = engine.simulate(signed_scores(table)[truth.order][:, columns], draws, truth.decided, ties)
    lead = simulation.pairwise_accuracy[:1] - simulation.pairwise_accuracy[1:]
    influence = intervals.drawn_influence(lead, draws, len(table.examples))
    noise = (1 - PROBE) * intervals.of_draws(lead)  # what the draws add to the mean, less what to the influences
    low, high = intervals.of_difference(lead.mean(axis=1), intervals.variance(influence, noise))
    model_interval = over_models(simulation.beats[:, 0] - simulation.beats[:, 1], truth.decided, len(table.models))
    return f"by {by} minus by NLL: {points(float(lead.mean()), (float(low[0]), float(high[0])), model_interval)}"


def points(difference: float, examples: tuple[float, float], models: tuple[float, float]) -> str:
    """Return a difference and its intervals."""
    over = [f"[{100 * low:.1f}, {100 * high:.1f}]" for low, high in (examples, models)]
    return f"{100 * difference:+.1f} {over[0]}, over models {over[1]}"


def gains(ranking: Ranking) -> tuple[Floats, Bools, int]:
    """Return (P,) ACC+TIES minus ACC on each pair, (P,) which pairs have a true order, and M."""
    names = [model.name for model in ranking.found.models]
    accuracy_of = {
        (pair_result.a, pair_result.b, pair_result.method): pair_result.accuracy
        for pair_result in ranking.evaluation.pairs
    }
    pairs = [(names[a], names[b]) for a, b in engine.pairs(len(names)).tolist()]
    leads = [
        accuracy_of[*pair, TIES] - accuracy_of[*pair, "ACC"] if (*pair, TIES) in accuracy_of else np.nan
        for pair in pairs
    ]
    return np.array(leads), ~np.isnan(leads), len(names)


def over_models(differences: Floats, decided: Bools, models: int) -> tuple[float, float]:
    """Return the 95 % interval of a mean difference over other models: one is left out with all its pairs."""
    shares = (1 + differences[:, None]) / 2  # of [-1, 1], since the product's interval is of shares
    low, high = intervals.over_models(shares, decided, models)
    return 2 * float(low[0]) - 1, 2 * float(high[0]) - 1


def main(arguments: Sequence[str]) -> None:
    """The suites that are named, or all."""
    folder, reviews, encoder, work, *names = arguments
    rows_by_name = suites(Path(folder), Path(reviews))
    for name in [name for name in names if name in rows_by_name] or rows_by_name:
        measure(name, rows_by_name[name], Path(encoder), Path(work), "--accuracies" in names)


if __name__ == "__main__":
    main(sys.argv[1:])
