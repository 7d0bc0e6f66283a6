"""Every model asked: jobs go to the executor, and answers come from the store; one that fails is left out."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TypeAlias

from ranker.errors import ModelError
from ranker.numbers import minutes
from ranker.runs.gather import InspectedModels
from ranker.runs.plan import Plan
from ranker.runtime.base import Answer, Job, JobOutcome, Request
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.runtime.worker import answer, content_of, find_work, read_precomputed
from ranker.sources.base import ResourceCache
from ranker.sources.suites import Model
from ranker.tasks.base import Task

log = logging.getLogger(__name__)


RequestMatrix: TypeAlias = Sequence[Sequence[Request]]
"""(M,) what each model is asked."""


@dataclass(frozen=True)
class RawResponses:
    """What one model answered.

    Attributes:
        content: what identifies it, wherever it lies.
        answers: in the order of its requests; None for one that could not be had, and need not.
    """

    content: str
    answers: Sequence[Answer | None]


@dataclass(frozen=True)
class ModelResponses:
    """What one model answered, by the names of the questions.

    Attributes:
        model: which.
        content: what identifies it, wherever it lies.
        to: the name of a question (see `Plan.questions`) -> the answers.
        hidden: those about hidden words, in the order of `Plan.hidden`; None where they could not be had.
    """

    model: Model
    content: str
    to: Mapping[str, Answer]
    hidden: Sequence[Answer | None]


@dataclass(frozen=True)
class RunResponses:
    """What became of every model, in the order of the suite.

    Attributes:
        answered: what those answered that could be asked.
        failures: model -> why it could not be.
    """

    answered: tuple[ModelResponses, ...]
    failures: Mapping[str, str]


def collect(plan: Plan, runtime: Runtime = Runtime()) -> RunResponses:
    """Ask every model of a plan.

    Raises:
        StoreError: the store cannot be read or written.
    """
    found, failures = run_models(plan.gathered.looked, plan.task, plan.asked, runtime)
    answered = []
    for model in plan.gathered.looked.models:
        if model.name in found:
            told = found[model.name]
            named = dict(zip(plan.questions(model), told.answers, strict=False))
            to = {name: one for name, one in named.items() if one}
            if "population" not in to and plan.rows.places is not None:
                to["population"] = Answer(to["pool"].predictions.part(plan.rows.places))
            answered.append(ModelResponses(model, told.content, to, told.answers[len(named) :]))
    return RunResponses(tuple(answered), failures)


def run_models(
    looked: InspectedModels, task: Task, asked: RequestMatrix, runtime: Runtime
) -> tuple[dict[str, RawResponses], dict[str, str]]:
    """Ask models.

    Args:
        looked: the models.
        task: what they do.
        asked: what each is asked.
        runtime: how they are run, and where their answers are kept.

    Returns:
        What each model answered that could be asked, and why the others could not, by name in their order.

    Raises:
        StoreError: the store cannot be read or written.
    """
    found: dict[int, RawResponses] = {}
    failures: dict[int, str] = {}
    with runtime.kept() as store, closing(run_jobs(looked, task, asked, runtime, store)) as ended:
        for number, done in ended:
            model = looked.models[number]
            try:
                if done.failure:
                    raise ModelError(done.failure)
                if model.source.precomputed:
                    job = _job(looked, task, asked, runtime, number)
                    found[number] = RawResponses(content_of(job, looked.shelf), read_precomputed(job, looked.shelf))
                else:
                    kept = [answer(store, *pair) for pair in zip(done.keys, asked[number], strict=True)]
                    found[number] = RawResponses(done.content, kept)
                    notes = tuple(dict.fromkeys(note for key in done.keys for note in store.kept(key).notes))
                    looked.shelf.noted[looked.stated[number].source.place] = 0, notes
                    for note in notes:
                        log.warning("%s: %s", model.name, note)
            except ModelError as error:
                failures[number] = str(error)
                log.error("%s is left out: %s", model.name, error)
            for key in dict.fromkeys(done.keys):
                store.close(key)
    names = [model.name for model in looked.models]
    return {names[n]: found[n] for n in sorted(found)}, {names[n]: failures[n] for n in sorted(failures)}


def run_jobs(
    looked: InspectedModels, task: Task, asked: RequestMatrix, runtime: Runtime, store: Store, *, dry: bool = False
) -> Generator[tuple[int, JobOutcome], None, None]:
    """The number of each model, and what became of its work, in any order.

    Models that cannot be read have no job, nor do those whose answers are at hand.
    """
    at: list[int] = []
    for number, one in enumerate(looked.stated):
        if one.trouble or one.source.precomputed:
            yield number, JobOutcome(failure=one.trouble)
        else:
            at.append(number)
    jobs = [_job(looked, task, asked, runtime, number, dry) for number in at]
    with closing(runtime.executor.run(jobs, store, runtime.progress, looked.shelf)) as ended:  # whatever interrupts it
        for job, done in ended:
            yield at[job], done


def unanswered(looked: InspectedModels, task: Task, asked: RequestMatrix, runtime: Runtime) -> bool:
    """Whether any model would have to be run: no model is loaded to know, and those that cannot be read say nothing.

    Raises:
        StoreError: the store cannot be read.
    """
    with runtime.kept() as store:
        for number, one in enumerate(looked.stated):
            if not (one.trouble or one.source.precomputed):
                with suppress(ModelError):
                    if find_work(
                        _job(looked, task, asked, runtime, number), store, ResourceCache(initial=looked.shelf)
                    )[1]:
                        return True
    return False


def _job(
    looked: InspectedModels, task: Task, asked: RequestMatrix, runtime: Runtime, number: int, dry: bool = False
) -> Job:
    stated = looked.stated[number]
    requests = tuple(asked[number])
    return Job(stated.source, task, requests, runtime.machine, dry, stated.size, stated.preload, stated.needs)


def dry_run_lines(plan: Plan, runtime: Runtime = Runtime()) -> Iterator[str]:
    """Say what a run would do, a line for each model: how much is not known yet, and how long it would take.

    A model of which anything is missing is loaded, and its speed is measured on a few rows.
    """
    rows, suite = plan.rows, plan.suite
    explained = {one.segments for one in (*rows.population, *(rows.pool if plan.explains_pool else ()))}
    predicted = rows.ood.examples if rows.truth else rows.population
    every = {
        one.segments if any(one.segments) else one.id for one in (*predicted, *rows.pool, *plan.gathered.in_domain_rows)
    }
    attributed = f", {len(explained)} to explain with {plan.settings.name}" if plan.settings.function else ""
    size = f"{len(suite.models)} models, {len(every)} rows{attributed}"
    yield f"{suite.name} on {rows.ood.name}: {size}"
    seconds = 0.0
    with runtime.kept() as store:
        ended = dict(run_jobs(plan.gathered.looked, plan.task, plan.asked, runtime, store, dry=True))
    for number, model in enumerate(suite.models):
        done = ended[number]
        if done.failure:
            yield f"{model.name}: cannot be run: {done.failure}"
            continue
        seconds += done.estimate.seconds if done.estimate else 0.0
        yield f"{model.name}: {done.estimate or 'all is known'}"
    yield f"in all at least {minutes(seconds)}"
