"""The published tables and figures again, for suites of ours: rankings first, then the cells that stand in them.

What an exhibit is, is data (`published.toml`); its cells are made of rankings by one small function a kind, and every
number in them is percent. Figures are drawings of cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np

from experiments import recipe as recipes
from experiments.published import Exhibit, Models, Tier
from ranker import MethodResult, Ranking, rank
from ranker.datasets import sets
from ranker.datasets.embedded import SUITE
from ranker.errors import UsageError
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence, Target
from ranker.sources import suites
from ranker.sources.suites import Suite

Rankings = Mapping[tuple[str, str], Ranking]
"""(OOD set, attribution) -> what was found there."""

REPOSITORY = Path(__file__).parents[1]
"""Root of the checkout: `experiments` is not installed."""

DECIDED = 5.0
"""Percent. A method with a pairwise accuracy this near to 0 or 100 nearly always prefers the same model of the two."""


@dataclass(frozen=True)
class Cell:
    """One number of a table, in percent: as measured here, as published, or both.

    Attributes:
        row, column: where it stands.
        here: as measured here; None where it was not.
        low, high: its 95 % interval; None where there is none.
        published: as published; None where it is not.
    """

    row: str
    column: str
    here: float | None = None
    low: float | None = None
    high: float | None = None
    published: float | None = None

    @property
    def difference(self) -> float | None:
        """Here minus published, in points."""
        return None if self.here is None or self.published is None else self.here - self.published


@dataclass(frozen=True)
class Run:
    """Settings of the rankings: see `ranker.rank` for probe, draws, seed and runtime.

    Attributes:
        folder: where suites that do not come with the product lie, each in a folder of its name.
        own: OOD set -> references to suites that are to be taken instead.
        sets: of an exhibit, where it is not to be all of it; the rest keeps its published numbers.
        attributions: of an exhibit, likewise, each with its settings.
        target: the rule for the label that attribution factors are about: see `ranker.Evidence`.
        data_dir: where the official data is; embedded suites are ranked on the embedded samples without it.
        population: how many rows of a set are explained; None for as many as its card says.
    """

    folder: Path = Path("suites")
    own: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sets: Sequence[str] = ()
    attributions: Mapping[str, str] = field(default_factory=dict)
    target: Target = "declared"
    data_dir: Path | None = None
    probe: int = 10
    draws: int | Literal["exact"] = "exact"
    population: int | None = None
    seed: int = 0
    runtime: Runtime = Runtime()


def rankings(exhibit: Exhibit, tier: Tier, run: Run) -> dict[tuple[str, str], Ranking]:
    """Rank the tier's models on each of the exhibit's sets with each of its attributions.

    Sets that the tier has no suite for are left out, unless they are asked for. A tier with saved rankings is ranked
    anew only on official data.

    Raises:
        UsageError: no set is left, or one that was asked for has no suite; a suite or data is missing (the message says
            how to get it), or there is only one architecture where several are compared.
        ModelError, StoreError: as in `ranker.rank`.
    """
    suites = {**tier.of(exhibit.models), **dict.fromkeys(run.own, "")}
    wanted = [name for name in exhibit.sets if name in (run.sets or suites)]
    lacking = [name for name in wanted or exhibit.sets if name not in suites]
    if lacking:
        raise UsageError(
            f"no suite for {', '.join(lacking)}: name one with `--suite SET=PATH`", option="suite", value=lacking
        )
    if tier.saved and run.data_dir is None and not run.own:
        return saved_rankings(exhibit, wanted, REPOSITORY / tier.saved, run)
    chosen = {name: find(name, suites[name], run) for name in wanted}
    subjects = {name: select(suite, exhibit.models) for name, suite in chosen.items()}
    if not tier.embedded and run.data_dir is None:
        text = f"`--data-dir` is needed: the rows of {', '.join(subjects)} are read from official files"
        raise UsageError(text, option="data_dir")
    return {
        (name, attribution): one_ranking(suite, name, attribution, run)
        for name, suite in subjects.items()
        for attribution in exhibit.attributions
        if attribution in (run.attributions or exhibit.attributions)
    }


def saved_rankings(exhibit: Exhibit, wanted: Sequence[str], folder: Path, run: Run) -> dict[tuple[str, str], Ranking]:
    """Read the rankings of some sets that were saved; those that are not there are left out.

    Raises:
        UsageError: none is there, the exhibit compares architectures, or a setting is not that of a saved one.
    """
    if exhibit.models == "across":
        raise UsageError("no ranking of models of several architectures is saved with this tier", option="tier")
    loaded = {}
    for name, attribution in product(wanted, exhibit.attributions):
        files = sorted(folder.glob(f"{name}-{'*' if attribution == 'none' else attribution}.json"))
        if files and attribution in (run.attributions or exhibit.attributions):
            loaded[name, attribution] = check_settings(Ranking.load(files[0]), run)
    if not loaded:
        raise UsageError(f"no ranking of {', '.join(wanted)} is saved with this tier", option="tier", place=folder)
    return loaded


def check_settings(ranking: Ranking, run: Run) -> Ranking:
    """Return a saved ranking if the run wants its settings.

    Raises:
        UsageError: it wants others.
    """
    header, evaluation = ranking.header, ranking.evaluation
    saved = {
        "probe": header.probe,
        "draws": evaluation.draws,
        "target": header.provenance.target or "declared",
        "population": header.provenance.population,
    }
    for option, value in saved.items():
        wanted = getattr(run, option)
        if wanted not in (None, value):
            text = f"`--{option} {wanted}`: the rankings of this tier are saved with {value}; `--data-dir` ranks anew"
            raise UsageError(text, option=option, value=wanted)
    return ranking


def one_ranking(suite: Suite, name: str, attribution: str, run: Run) -> Ranking:
    """Return the ranking of one suite on one set."""
    loaded = sets.load(name, run.data_dir)
    return rank(
        suite,
        replace(loaded, population=run.population or loaded.population),
        probe=run.probe,
        draws=run.draws,
        seed=run.seed,
        evidence=Evidence(run.attributions.get(attribution, attribution), target=run.target),
        runtime=run.runtime,
    )


def find(ood_name: str, suite_name: str, run: Run) -> Suite:
    """Return the suite for a set: the user's own, an embedded one, or one in the folder of suites.

    Raises:
        UsageError: it is not there; the message has the command that makes it.
    """
    if ood_name in run.own:
        return suites.load(run.own[ood_name])
    if suite_name in suites.bundled_suites():
        return suites.load([suite_name])
    folder = run.folder / suite_name
    if not (folder / SUITE).is_file():
        option = " --data-dir DIR" if recipes.load(suite_name).reads_files else ""
        text = (
            f"the suite {suite_name} is not in {run.folder}; make it: "
            f"`python -m experiments inoculate {suite_name}{option} -o {folder}`"
        )
        raise UsageError(text, value=suite_name, place=run.folder)
    return suites.load([str(folder)])


def select(suite: Suite, models: Models) -> Suite:
    """Return the models of a suite that an exhibit is about.

    Raises:
        UsageError: architectures are compared, and there is only one.
    """
    families = Counter(model.family for model in suite.models)
    if models == "across" and len(families) < 2:
        text = (
            f"models of several architectures are needed, and {suite.name} has one ({next(iter(families))}); "
            "name more with `--suite SET=PATH`"
        )
        raise UsageError(text, option="suite", place=suite.name)
    if models != "inoculated":
        return suite
    [(most, _)] = families.most_common(1)
    return Suite(suite.name, tuple(model for model in suite.models if model.family == most))


def cells(exhibit: Exhibit, ranked: Rankings) -> list[Cell]:
    """Return the cells of an exhibit, row by row, those without any number left out."""
    return [cell for cell in KINDS[exhibit.kind](exhibit, ranked) if (cell.here, cell.published) != (None, None)]


def by_method(exhibit: Exhibit, ranked: Rankings) -> Iterator[Cell]:
    """Yield cells with methods as rows, OOD sets as columns: pairwise accuracy, with its interval over populations."""
    for row in exhibit.rows:
        for name in exhibit.sets:
            cell = Cell(row.label, name, published=row.published.get(name))
            row_result = method(ranked.get((name, row.attribution or exhibit.attribution)), row.name) or any_baseline(
                ranked, name, row.name
            )
            if row_result is None:
                yield cell
            else:
                yield replace(
                    cell,
                    here=100 * row_result.pairwise_accuracy,
                    low=100 * row_result.ci_low,
                    high=100 * row_result.ci_high,
                )


def any_baseline(ranked: Rankings, ood_name: str, name: str) -> MethodResult | None:
    """Return the result of a method that reads no attribution, whichever it was ranked beside; None for any other."""
    results = (method(ranking, name) for (ranking_ood, _), ranking in ranked.items() if ranking_ood == ood_name)
    return next((candidate for candidate in results if candidate is not None and candidate.kind == "baseline"), None)


def pooled(exhibit: Exhibit, ranked: Rankings) -> Iterator[Cell]:
    """Yield cells with methods as rows and one column: accuracy over the cross-architecture pairs of all sets."""
    accuracies = across_families(list(ranked.values()))
    for row in exhibit.rows:
        ours = accuracies.get(row.name)
        yield Cell(
            row.label,
            "pooled",
            here=None if ours is None else 100 * ours,
            published=row.published.get("pooled"),
        )


def across_families(rankings: Sequence[Ranking]) -> dict[str, float]:
    """Return each method's accuracy over the pairs of different families, pooled over several rankings.

    SET-DEPENDENT stands for the factor designed for each set, as in Table 3 of Singhal et al. 2022.

    Args:
        rankings: evaluations.

    Returns:
        Method -> mean accuracy, a fraction; only methods that all rankings have.
    """
    pooled: dict[str, list[float]] = {}
    sets: dict[str, set[int]] = {}
    for i, ranking in enumerate(rankings):
        designed = {method.name for method in ranking.evaluation.methods if method.designed}
        for pair in ranking.evaluation.pairs:
            if pair.same_family is False:
                for name in (pair.method, *(["SET-DEPENDENT"] if pair.method in designed else [])):
                    pooled.setdefault(name, []).append(pair.accuracy)
                    sets.setdefault(name, set()).add(i)
    return {name: float(np.mean(values)) for name, values in pooled.items() if len(sets[name]) == len(rankings)}


def by_pair(exhibit: Exhibit, ranked: Rankings) -> Iterator[Cell]:
    """Yield cells with pairs as rows, the better one first, and methods as columns: pairwise accuracy.

    The last rows tell in how many pairs a method nearly always prefers the same model: see `DECIDED`.
    """
    ours: list[Cell] = []
    for (name, _), ranking in ranked.items():
        for pair in ranking.evaluation.pairs:
            if exhibit.models != "across" or pair.same_family is False:
                for row in exhibit.rows:
                    row_result = method(ranking, row.name)
                    if row_result is not None and row_result.name == pair.method:
                        ours.append(Cell(f"{name}: {pair.a} > {pair.b}", row_result.name, here=100 * pair.accuracy))
    theirs = [
        Cell(f"published: {pair} ({models})", row.label, published=row.published.get(pair))
        for pair, models in exhibit.pairs.items()
        for row in exhibit.rows
    ]
    yield from (*ours, *theirs)
    if exhibit.draw:
        return
    for row in exhibit.rows:
        yield Cell("decided, here", row.label, here=decided([c.here for c in ours if c.column == row.name]))
    for row in exhibit.rows:
        yield Cell("decided, published", row.label, published=decided(tuple(row.published.values())))


def by_model(exhibit: Exhibit, ranked: Rankings) -> Iterator[Cell]:
    """Yield cells with models as rows, the published ones first, and OOD sets as columns: accuracy on the set."""
    ours = {
        (model.name, name): 100 * model.outcome
        for (name, _), ranking in ranked.items()
        for model in ranking.evaluation.models
    }
    published = {row.name: row.published for row in exhibit.rows}
    for model in dict.fromkeys((*published, *(model for model, _ in ours))):
        for name in exhibit.sets:
            yield Cell(model, name, ours.get((model, name)), published=published.get(model, {}).get(name))


def sizes(exhibit: Exhibit, run: Run) -> list[Cell]:
    """Return cells with OOD sets as columns: rows of the set, rows that are explained, and those of a probe."""
    published = {row.name: row.published for row in exhibit.rows}
    cells = []
    for name in run.sets or exhibit.sets:
        loaded = sets.load(name, run.data_dir)
        rows = len(loaded.examples)
        explained = min(run.population or loaded.population, rows)
        for row, number in (("rows", rows), ("explained", explained), ("probe", run.probe)):
            cells.append(Cell(row, name, number, published=published[row].get(name)))
    return cells


KINDS: Mapping[str, Callable[[Exhibit, Rankings], Iterator[Cell]]] = {
    "methods": by_method,
    "pooled": pooled,
    "pairs": by_pair,
    "accuracies": by_model,
}
"""Kind of an exhibit -> how its cells are made."""


def method(ranking: Ranking | None, name: str) -> MethodResult | None:
    """Return a ranking's result of a method, or of the factor designed for its set; None where it has none."""
    results = () if ranking is None else ranking.evaluation.methods
    return next(
        (candidate for candidate in results if (candidate.designed if name == "designed" else candidate.name == name)),
        None,
    )


def decided(accuracies: Sequence[float | None]) -> float | None:
    """Return the share of pairwise accuracies that lie within `DECIDED` of 0 or 100, all in percent.

    Example:
        >>> decided([0.2, 50.0, 99.0, 4.8]), decided([])
        (75.0, None)
    """
    known_accuracies = [accuracy for accuracy in accuracies if accuracy is not None]
    if not known_accuracies:
        return None
    return 100 * sum(min(accuracy, 100 - accuracy) <= DECIDED for accuracy in known_accuracies) / len(known_accuracies)
