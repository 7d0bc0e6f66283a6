"""What the models of a suite are asked, and what they score: the part of the flow that runs them, one by one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from factors import Attributions, Example, Factor
from factors.types import Floats, Norm
from ranker.backends import SETTINGS, Settings
from ranker.errors import ModelError, look_up
from ranker.estimate import estimate
from ranker.explain import Explanation, telling
from ranker.measure import Advance, ModelOptions, Subject
from ranker.ood import OODSet
from ranker.pool import Home, Pool
from ranker.score import ModelScores, ScoreTable, Target, about_one_label, applicable, assemble, score_model
from ranker.suites import Model, Suite
from ranker.unlabelled import BASELINES

if TYPE_CHECKING:
    from ranker.classifiers import Bases
    from ranker.ranking import Ranking
    from ranker.store import Store

log = logging.getLogger(__name__)

VERSIONED = ("rank-models", "torch", "transformers", "numpy")
"""The packages whose versions stand in a ranking's provenance."""

WORTH_SAYING = 2.0
"""Seconds of work from which on an estimate is shown."""

Progress = Callable[[str, int], AbstractContextManager[Advance]]
"""Opens a stage (its label, its number of examples); gives the function that is told of examples done."""


def silent(label: str, total: int) -> AbstractContextManager[Advance]:
    """No progress."""
    return nullcontext(lambda done: None)


@dataclass(frozen=True)
class Scored:
    """What the models of a suite scored.

    Attributes:
        table: the scores of the models that could be measured.
        pool: what these make of all rows, labelled or not.
        families: their families, in the order of the table; None where no family is known.
        in_domain: model -> accuracy in the domain that it was trained for, a fraction, where it is known.
        warnings: what is wrong with a model that could be measured, a sentence each.
        failures: model -> why it could not be measured.
        examples: what the models see in the most telling examples.
        provenance: what the numbers were made from.
    """

    table: ScoreTable
    pool: Pool
    families: tuple[str, ...] | None
    in_domain: Mapping[str, float]
    warnings: tuple[str, ...]
    failures: Mapping[str, str]
    examples: tuple[Explanation, ...]
    provenance: Mapping[str, Any]

    def at_home(self, ranking: Ranking) -> Ranking:
        """The ranking with what is known of its models at home, in the domain that they were trained for."""
        models = tuple(replace(model, in_domain_accuracy=self.in_domain.get(model.name)) for model in ranking.models)
        return replace(ranking, models=models, notes=(*self.warnings, *ranking.notes), examples=self.examples)


@dataclass(frozen=True)
class Study:
    """What is asked of every model: see `rank` for the fields."""

    attribution: str
    settings: Settings | None
    factors: tuple[Factor, ...]
    target: Target
    norm: Norm
    in_domain: OODSet | None
    options: ModelOptions
    store: Store | None
    progress: Progress

    def of(
        self,
        suite: Suite,
        ood: OODSet,
        population: Sequence[Example],
        truth: bool = True,
        pool: Sequence[Example] = (),
        explain_pool: bool = False,
    ) -> Scored:
        """Score every model of a suite on the population.

        Args:
            suite: the models.
            ood: the set.
            population: those of its examples that are attributed.
            truth: the models' accuracies on the whole set go into the table, too.
            pool: rows, labelled or not, that the models are only to predict; the population where there are none.
            explain_pool: these are attributed, too, for the factor designed for the set.

        Raises:
            UsageError: an unknown backend.
            ModelError: fewer than two models could be measured.
            StoreError: the store cannot be read or written.
        """
        settings = self.settings or look_up("attribution backend", self.attribution, SETTINGS)()
        baselines = [factor for factor in self.factors if factor.kind == "baseline"]
        wanted = baselines if self.attribution == "none" else self.factors
        factors, left_out = applicable(wanted, population, ood.task, ood.designed, self.target, settings.only_label)
        if truth and self.in_domain is None:
            left_out |= {one.name: "needs labelled rows: `--in-domain`" for one in BASELINES if one.needs == "home"}
        free = [f for f in factors if f.name == ood.designed and about_one_label(f, self.target)]
        pooled_factor: list[Floats] = []
        accuracy: dict[str, float] = {}
        in_domain: dict[str, float] = {}
        scores: dict[str, ModelScores] = {}
        quality: dict[str, dict[str, int | float | None]] = {}
        measured: dict[str, Sequence[Attributions]] = {}
        content: dict[str, str] = {}
        probs: list[list[Floats]] = []
        probs_at_home: list[list[Floats]] = []
        failures: dict[str, str] = {}
        bases: Bases = {}
        for model in suite.models:
            subject = Subject(model, ood.task, self.options, self.store, bases)
            try:
                if log.isEnabledFor(logging.INFO):
                    wanted_rows = unknown(model, ood) if truth else ()
                    todo = estimate(subject, wanted_rows, population, self.attribution, settings)
                    log.log(logging.INFO if todo.seconds >= WORTH_SAYING else logging.DEBUG, "%s: %s", model.name, todo)
                at_home = model.in_domain_accuracy
                home = self.in_domain.examples if self.in_domain is not None else ()
                rows_at_home = bare(home, subject, "in-domain rows", self.progress)
                if home:
                    at_home = accuracy_of(rows_at_home, home)
                right = accuracy_on(ood, subject, self.progress) if truth else None
                with self.progress(f"{model.name}: {self.attribution}", len(population)) as advance:
                    rows = subject.rows(population, self.attribution, settings, advance)
                pool_rows: Sequence[Attributions]
                if explain_pool and pool:
                    with self.progress(f"{model.name}: {self.attribution} of the pool", len(pool)) as advance:
                        pool_rows = subject.rows(pool, self.attribution, settings, advance)
                else:
                    pool_rows = bare(pool, subject, "the pool", self.progress) if pool else rows
                content[model.name] = subject.content
            except ModelError as error:
                failures[model.name] = str(error)
                log.error("%s is left out: %s", model.name, error)
                continue
            if right is not None:
                accuracy[model.name] = right
            if at_home is not None:
                in_domain[model.name] = at_home
            scores[model.name] = score_model(rows, population, factors, ood.task, self.target, self.norm)
            quality[model.name] = quality_of(rows, population, settings)
            measured[model.name] = rows
            probs.append([row.probs for row in pool_rows])
            if free and (explain_pool or not pool):
                of_pool = score_model(pool_rows, pool or population, free, ood.task, self.target, self.norm).values[0]
                pooled_factor.append(of_pool if free[0].higher_is_better else -of_pool)
            probs_at_home.append([row.probs for row in rows_at_home])
        warnings = tuple(below_chance(in_domain, len(ood.task.labels)))
        for warning in warnings:
            log.warning(warning)
        if len(scores) < 2:
            raise ModelError(f"nothing to rank: {len(failures)} of {len(suite.models)} models failed")
        families = {model.name: model.family for model in suite.models}
        return Scored(
            table=assemble(scores, population, factors, accuracy if truth else None),
            pool=Pool(
                np.array(probs),
                home_of(probs_at_home, self.in_domain),
                np.array(pooled_factor) if pooled_factor else None,
            ),
            families=tuple(families[name] for name in scores) if any(families.values()) else None,
            in_domain=in_domain,
            warnings=warnings,
            failures=failures,
            examples=tuple(
                telling(
                    *(measured, population, factors, ood.task, settings),
                    attribution=self.attribution,
                    designed=ood.designed,
                    target=self.target,
                    norm=self.norm,
                )
            ),
            provenance={
                "data": {"origin": ood.origin, "rows": len(ood.examples), "fingerprint": ood.fingerprint},
                "models": content,
                "population": len(population),
                "settings": asdict(settings),
                "target": self.target,
                "norm": self.norm,
                "dtype": subject.dtype,
                "left_out": left_out,
                "quality": quality,
                "versions": {name: metadata.version(name) for name in (*VERSIONED, *settings.libraries)},
            },
        )


def quality_of(
    rows: Sequence[Attributions], population: Sequence[Example], settings: Settings
) -> dict[str, int | float | None]:
    """How good a model's attributions are, by the backend's own measure of error, and how many are not good enough.

    Returns:
        error_median, error_high: the median and the 95th percentile of `Settings.error`; None where there is none.
        over_tolerance: rows over the error tolerance.
        truncated: rows that were cut at the model's limit.
    """
    errors = np.array([settings.error(row) for row in rows])
    errors = errors[np.isfinite(errors)]
    return {
        "error_median": float(np.median(errors)) if len(errors) else None,
        "error_high": float(np.quantile(errors, 0.95)) if len(errors) else None,
        "over_tolerance": sum(not settings.accepts(row) for row in rows),
        "truncated": sum(
            len(row.tokens) > 0 and len(row.word_scores) < len(example.words)
            for row, example in zip(rows, population, strict=True)
        ),
    }


def unknown(model: Model, ood: OODSet) -> Sequence[Example]:
    """The examples that have to be predicted for a model's accuracy on a set: none where its suite states it."""
    return () if ood.fingerprint in model.ood_accuracy else ood.examples


def accuracy_on(ood: OODSet, subject: Subject, progress: Progress) -> float:
    """A model's accuracy on all rows of a set, a fraction: as its suite states it for these very rows, or measured.

    Raises:
        ModelError: the model cannot be loaded or run.
    """
    stated = subject.model.ood_accuracy.get(ood.fingerprint)
    if stated is not None:
        return stated
    return accuracy_of(bare(ood.examples, subject, f"accuracy on {ood.name}", progress), ood.examples)


def bare(examples: Sequence[Example], subject: Subject, what: str, progress: Progress) -> Sequence[Attributions]:
    """A model's probabilities of examples, and no attributions; nothing is done, or shown, where there are none.

    Raises:
        ModelError: the model cannot be loaded or run.
    """
    if not examples:
        return []
    with progress(f"{subject.model.name}: {what}", len(examples)) as advance:
        return subject.rows(examples, "none", Settings(), advance)


def accuracy_of(rows: Sequence[Attributions], examples: Sequence[Example]) -> float:
    """The share of the examples that a model is right on, a fraction."""
    return sum(row.predicted == example.label for row, example in zip(rows, examples, strict=True)) / len(rows)


def home_of(probs: Sequence[Sequence[Floats]], in_domain: OODSet | None) -> Home | None:
    """The in-domain rows as the models see them; None where there are none."""
    if in_domain is None:
        return None
    return Home(np.array(probs), np.array([example.label for example in in_domain.examples]))


def below_chance(in_domain: Mapping[str, float], classes: int) -> Iterator[str]:
    """Warn of models that do worse at home than guessing does: their labels are probably mapped wrongly.

    Args:
        in_domain: model -> accuracy, a fraction.
        classes: C.

    Example:
        >>> list(below_chance({"a": 0.84, "b": 0.16}, 2))
        ['b is right on only 16.0 % of the in-domain rows, chance is 50.0 %: are its labels wrong (`--label-map`)?']
    """
    for name, accuracy in in_domain.items():
        if accuracy < 1 / classes:
            right = f"{name} is right on only {100 * accuracy:.1f} % of the in-domain rows"
            yield f"{right}, chance is {100 / classes:.1f} %: are its labels wrong (`--label-map`)?"
