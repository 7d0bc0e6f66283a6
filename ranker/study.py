"""What the models of a suite are asked, and what they score: the part of the flow that runs them, one by one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from factors import Attributions, Example, Factor
from factors.types import Floats, Norm
from ranker import hiding
from ranker.backends import SETTINGS, Settings
from ranker.cards import Task
from ranker.errors import ModelError, look_up
from ranker.estimate import estimate
from ranker.explain import Explanation, telling
from ranker.measure import Advance, ModelOptions, Progress, Question, Subject
from ranker.ood import OODSet
from ranker.pool import Home, Pool
from ranker.score import ModelScores, ScoreTable, Target, about_one_label, applicable, assemble, score_model
from ranker.suites import Model, Suite
from ranker.truth import FOLLOWS
from ranker.unlabelled import BASELINES
from ranker.workers import ahead

if TYPE_CHECKING:
    from ranker.classifiers import Bases
    from ranker.ranking import Ranking
    from ranker.store import Store

log = logging.getLogger(__name__)

VERSIONED = ("rank-models", "torch", "transformers", "numpy")
"""The packages whose versions stand in a ranking's provenance."""

WORTH_SAYING = 2.0
"""Seconds of work from which on an estimate is shown."""


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
        misled: model -> how often the shortcut misleads it, a fraction; empty where the set has no shortcut, or the
            population no row on which it is wrong.
        in_domain: model -> accuracy in the domain that it was trained for, a fraction, where it is known.
        notes: what is to be known of the models before the factors are trusted, a sentence each.
        failures: model -> why it could not be measured.
        examples: what the models see in the most telling examples.
        provenance: what the numbers were made from.
    """

    table: ScoreTable
    pool: Pool
    families: tuple[str, ...] | None
    misled: Mapping[str, float]
    in_domain: Mapping[str, float]
    notes: tuple[str, ...]
    failures: Mapping[str, str]
    examples: tuple[Explanation, ...]
    provenance: Mapping[str, Any]

    def completed(self, ranking: Ranking) -> Ranking:
        """The ranking with what no table of scores tells of its models: see the attributes."""
        models = tuple(
            replace(model, in_domain_accuracy=self.in_domain.get(model.name), misled=self.misled.get(model.name))
            for model in ranking.models
        )
        of_factors = any(method.kind == "factor" for method in self.table.methods)
        notes = (*self.notes, *(shortcut_avoided(self.misled) if of_factors else ()), *ranking.notes)
        return replace(ranking, models=models, notes=notes, examples=self.examples)


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
        misled: dict[str, float] = {}
        in_domain: dict[str, float] = {}
        scores: dict[str, ModelScores] = {}
        quality: dict[str, dict[str, int | float | None]] = {}
        measured: dict[str, Sequence[Attributions]] = {}
        content: dict[str, str] = {}
        probs: list[list[Floats]] = []
        probs_at_home: list[list[Floats]] = []
        failures: dict[str, str] = {}
        bases: Bases = {}
        hidden = hiding.questions(settings, population)
        effects: dict[str, tuple[float, float]] = {}
        asked = [
            (model, self.questions(model, ood, population, settings, truth, pool, explain_pool))
            for model in suite.models
        ]
        jobs = [(model, [*questions.values(), *hidden]) for model, questions in asked]
        ahead(jobs, ood.task, self.options, self.store, self.progress)
        for model, questions in asked:
            subject = Subject(model, ood.task, self.options, self.store, bases)
            try:
                if log.isEnabledFor(logging.INFO):
                    wanted_rows = unknown(model, ood) if truth else ()
                    todo = estimate(subject, wanted_rows, population, self.attribution, settings)
                    log.log(logging.INFO if todo.seconds >= WORTH_SAYING else logging.DEBUG, "%s: %s", model.name, todo)
                found = {name: subject.answer(question, self.progress) for name, question in questions.items()}
                content[model.name] = subject.content
            except ModelError as error:
                failures[model.name] = str(error)
                log.error("%s is left out: %s", model.name, error)
                continue
            if hidden:
                with suppress(ModelError):  # its tokenizer has no such token
                    behind_mask, behind_pad = (subject.answer(question, self.progress) for question in hidden)
                    effects[model.name] = hiding.effect(behind_mask), hiding.effect(behind_pad)
            rows = found["population"]
            pool_rows = found.get("pool", rows)
            rows_at_home = found.get("home", [])
            if truth:
                stated = model.ood_accuracy.get(ood.fingerprint)
                accuracy[model.name] = accuracy_of(found["set"], ood.examples) if stated is None else stated
            at_home = accuracy_of(rows_at_home, self.home) if rows_at_home else model.in_domain_accuracy
            if at_home is not None:
                in_domain[model.name] = at_home
            share = misled_share(rows, population, ood.task)
            if share is not None:
                misled[model.name] = share
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
            misled=misled,
            in_domain=in_domain,
            notes=(*warnings, *hiding.speaks(effects, self.attribution, settings)),
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
                "dtype": subject.dtype(settings),
                "left_out": left_out,
                "quality": quality,
                "versions": {name: metadata.version(name) for name in (*VERSIONED, *settings.libraries)},
            },
        )

    @property
    def home(self) -> Sequence[Example]:
        """The labelled rows of the domain that the models were trained for; none where there are none."""
        return () if self.in_domain is None else self.in_domain.examples

    def questions(
        self,
        model: Model,
        ood: OODSet,
        population: Sequence[Example],
        settings: Settings,
        truth: bool,
        pool: Sequence[Example],
        explain_pool: bool,
    ) -> dict[str, Question]:
        """What a model is asked; see `of` for the arguments.

        Returns:
            home: the in-domain rows, if there are any.
            set: all rows of the set, where the truth is wanted and the suite does not state it.
            population: the rows that are attributed.
            pool: the rows of the pool, if there are any.
        """
        bare = Settings()
        method, of_pool = (self.attribution, settings) if explain_pool else ("none", bare)
        every = {
            "home": Question("in-domain rows", self.home, "none", bare),
            "set": Question(f"accuracy on {ood.name}", unknown(model, ood) if truth else (), "none", bare),
            "population": Question(self.attribution, population, self.attribution, settings),
            "pool": Question(f"{method} of the pool" if explain_pool else "the pool", pool, method, of_pool),
        }
        return {name: question for name, question in every.items() if question.examples}


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


def accuracy_of(rows: Sequence[Attributions], examples: Sequence[Example]) -> float:
    """The share of the examples that a model is right on, a fraction."""
    return sum(row.predicted == example.label for row, example in zip(rows, examples, strict=True)) / len(rows)


def misled_share(rows: Sequence[Attributions], examples: Sequence[Example], task: Task) -> float | None:
    """The share of the examples on which the shortcut is wrong where a model gives the shortcut's label, a fraction.

    None where the task has no such label, or every example that one.
    """
    given = [row.predicted for row, example in zip(rows, examples, strict=True) if example.label != task.heuristic]
    return given.count(task.heuristic) / len(given) if given and task.heuristic is not None else None


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


def shortcut_avoided(misled: Mapping[str, float]) -> Iterator[str]:
    """Say so where no model follows the shortcut: what measures agreement with it has little to go by.

    Args:
        misled: model -> how often the shortcut misleads it, a fraction; empty where that is not known.

    Example:
        >>> print(*shortcut_avoided({"a": 0.64, "b": 0.2}))  # doctest: +ELLIPSIS
        No model follows the shortcut: where it is wrong, a gives its label most often, on 64 % of the rows...
        >>> list(shortcut_avoided({"a": 0.96, "b": 0.2}))
        []
    """
    most = max(misled, key=lambda name: misled[name], default=None)
    if most is not None and misled[most] < FOLLOWS:
        yield (
            f"No model follows the shortcut: where it is wrong, {most} gives its label most often, on "
            f"{100 * misled[most]:.0f} % of the rows. Factors measure agreement with a shortcut, and may tell little "
            "here."
        )
