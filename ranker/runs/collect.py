"""Ask all models: the executor runs jobs, answers come from the store, and failing models are left out."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from factors.rationales import erasures
from ranker.datasets.identity import Texts
from ranker.errors import ModelError, UsageError, listed
from ranker.runs.inspected import InspectedModels
from ranker.runs.plan import Plan
from ranker.runs.usage import usage_of
from ranker.runtime.base import Answer, Job, JobOutcome, Request, Usage
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.runtime.worker import answer, content_of, find_work, read_precomputed
from ranker.sources.base import FAILED, Bill, ModelInfo, ResourceCache
from ranker.sources.endpoint.prices import NO_PRICES, Prices
from ranker.sources.suites import Model
from ranker.sources.usage import RowUsage
from ranker.tasks.base import ERROR, Task

log = logging.getLogger(__name__)


RequestMatrix: TypeAlias = Sequence[Sequence[Request]]
"""(M,) Requests to each model."""


@dataclass(frozen=True)
class RawResponses:
    """Answers of one model.

    Attributes:
        content: hash that identifies the model, wherever it lies.
        answers: in the order of its requests; None for an optional request that the model cannot answer.
        usage: what the answers to its first request took, if the source knows.
    """

    content: str
    answers: Sequence[Answer | None]
    usage: RowUsage | None = None


@dataclass(frozen=True)
class ModelResponses:
    """Answers of one model, by question.

    Attributes:
        content: hash that identifies the model, wherever it lies.
        answers: question (see `Plan.questions`) -> answers.
        hidden: answers about hidden words, in the order of `Plan.hidden_word_requests`; None where the model has none.
    """

    model: Model
    content: str
    answers: Mapping[str, Answer]
    hidden: Sequence[Answer | None]
    usage: RowUsage | None = None


@dataclass(frozen=True)
class RunResponses:
    """Answers and failures of all models, in the order of the suite.

    Attributes:
        answered: answers of the models that could be asked, one of each group of copies.
        failed_answers: model that was asked -> its answers that failed, if there are any.
        copies: model -> the earlier model that it is a copy of, and whose answers are its own.
        voters: answers of the models that vote and are not ranked.
    """

    answered: tuple[ModelResponses, ...]
    failures: Mapping[str, str]
    copies: Mapping[str, str] = field(default_factory=dict)
    failed_answers: Mapping[str, int] = field(default_factory=dict)
    voters: tuple[ModelResponses, ...] = ()


def collect(plan: Plan, runtime: Runtime = Runtime()) -> RunResponses:
    """Ask every model of a plan; a UsageError if all are copies of one."""
    responses, failures = run_models(plan.inspected, plan.task, plan.request_matrix, runtime)
    ranked = {model.name: responses[model.name] for model in plan.inspected.ranked if model.name in responses}
    answered, voters, copies = [], [], find_copies(ranked)
    if len(ranked) - len(copies) == 1 < len(ranked):
        text = f"are copies of one model, so there is nothing to rank: {listed(ranked)}"
        raise UsageError(f"these {text}", option="models")
    for model in plan.inspected.models:
        if model.name in responses and model.name not in copies:
            response = responses[model.name]
            by_question = dict(zip(plan.questions(model), response.answers, strict=False))
            answers = {name: answer for name, answer in by_question.items() if answer}
            if model.votes_only:
                voters.append(ModelResponses(model, response.content, answers, ()))
                continue
            if apart := answers.pop("attributions", None):
                answers["population"] = replace(apart, predictions=answers["population"].predictions)
            for question in (backend.question for backend in plan.backends[1:]):
                answers[question] = replace(answers[question], predictions=answers["population"].predictions)
            if "population" not in answers and plan.places is not None:
                answers["population"] = Answer(answers["pool"].predictions.part(plan.places))
            hidden = response.answers[len(by_question) :]
            answered.append(ModelResponses(model, response.content, answers, hidden, response.usage))
    if any(factor.erases for factor in plan.factors):
        answered, more_failures = with_erasures(plan, answered, runtime)
        failures |= more_failures
    failed = {
        model.name: count
        for model in plan.inspected.models
        if not model.source.precomputed and (count := count_failed(responses.get(model.name)))
    }
    return RunResponses(tuple(answered), failures, copies, failed, tuple(voters))


def count_failed(response: RawResponses | None) -> int:
    """Count the rows of requests to a model that failed."""
    answers = () if response is None else response.answers
    return sum(int((answer.predictions.state == ERROR).sum()) for answer in answers if answer is not None)


def failed_of(inspected: InspectedModels, collected: RunResponses) -> str:
    """Return how many of the models that are ranked failed, in words."""
    failed = sum(model.name in collected.failures for model in inspected.ranked)
    return f"{failed} of {len(inspected.ranked)} models"


def with_erasures(
    plan: Plan, replies: Sequence[ModelResponses], runtime: Runtime
) -> tuple[list[ModelResponses], dict[str, str]]:
    """Ask models about their rows without the top words, and about these words alone."""
    rows = plan.population
    attributions = [reply.answers["population"].attributions for reply in replies]
    texts = [[text for pair in map(erasures, of_model, rows) for text in pair] for of_model in attributions]
    inspected = replace(plan.inspected, unpinned=tuple(reply.model for reply in replies))
    responses, failures = run_models(inspected, plan.task, [(Request(Texts(of_model)),) for of_model in texts], runtime)
    asked_again = []
    for reply, of_model in zip(replies, attributions, strict=True):
        if response := responses.get(reply.model.name):
            (answers,) = response.answers
            probabilities = None if answers is None else answers.predictions.probabilities()
            if probabilities is not None:
                pairs = zip(of_model, probabilities.reshape(len(rows), 2, -1), strict=True)
                erased = [replace(row, erased=probabilities_of_pair) for row, probabilities_of_pair in pairs]
                population = replace(reply.answers["population"], attributions=erased)
                reply = replace(reply, answers={**reply.answers, "population": population})
            asked_again.append(reply)
    return asked_again, failures


def find_copies(responses: Mapping[str, RawResponses]) -> dict[str, str]:
    """Find models whose answers have the store's keys of an earlier model: they are loaded from the same content."""
    first: dict[tuple[str, ...], str] = {}
    copies = {}
    for name, response in responses.items():
        keys = tuple(answer.key if answer else "" for answer in response.answers)
        if any(keys) and first.setdefault(keys, name) != name:
            copies[name] = first[keys]
    return copies


def run_models(
    inspected: InspectedModels, task: Task, requests: RequestMatrix, runtime: Runtime
) -> tuple[dict[str, RawResponses], dict[str, str]]:
    """Ask models; return model -> answers, and model -> why it could not be asked, both in the order of the models."""
    raw: dict[int, RawResponses] = {}
    failures: dict[int, str] = {}
    used, todo = Usage(), Usage()
    with runtime.open_store() as store, closing(run_jobs(inspected, task, requests, runtime, store)) as outcomes:
        for number, outcome in outcomes:
            model = inspected.models[number]
            try:
                if outcome.failure:
                    raise ModelError(outcome.failure, place=model.name)
                if model.source.precomputed:
                    job = _job(inspected, task, requests, runtime, number)
                    raw[number] = RawResponses(content_of(job, inspected.cache), read_precomputed(job, inspected.cache))
                else:
                    answers = [answer(store, *pair) for pair in zip(outcome.keys, requests[number], strict=True)]
                    notes = tuple(dict.fromkeys(note for key in outcome.keys for note in store.entry_of(key).notes))
                    check_some_answered(answers, notes)
                    raw[number] = RawResponses(outcome.content, answers)
                    inspected.cache.noted[inspected.infos[number].source.place] = 0, notes
                    for note in notes:
                        log.warning("%s: %s", model.name, note)
                of_first = requests[number][0].examples if requests[number] else ()
                usage = usage_of(model.source, task, of_first, runtime.machine, inspected.cache, store.folder)
                raw[number] = replace(raw[number], usage=usage)
            except ModelError as error:
                failures[number] = str(error)
                log.error("%s is left out: %s", model.name, error)
            sizes = [store.close(key) for key in dict.fromkeys(outcome.keys)]
            if outcome.used is not None:
                used += outcome.used + Usage(stored=sum(sizes))
                todo += (outcome.estimate and outcome.estimate.usage) or Usage()
    if used.seconds:
        log.info("models took %s%s", used, f"; estimated: {todo}" if todo.seconds else "")
    names = [model.name for model in inspected.models]
    return {names[n]: raw[n] for n in sorted(raw)}, {names[n]: failures[n] for n in sorted(failures)}


def run_jobs(
    inspected: InspectedModels,
    task: Task,
    requests: RequestMatrix,
    runtime: Runtime,
    store: Store,
    *,
    dry: bool = False,
) -> Generator[tuple[int, JobOutcome], None, None]:
    """Yield the number of each model and the outcome of its job, in any order.

    Unreadable models and precomputed answers need no job.
    """
    numbers: list[int] = []
    for number, info in enumerate(inspected.infos):
        if info.trouble or info.source.precomputed:
            yield number, JobOutcome(failure=info.trouble)
        else:
            numbers.append(number)
    jobs = [_job(inspected, task, requests, runtime, number, dry) for number in numbers]
    # closed even if interrupted
    with closing(runtime.executor.run(jobs, store, runtime.progress, inspected.cache)) as outcomes:
        for job, outcome in outcomes:
            yield numbers[job], outcome


def check_some_answered(answers: Iterable[Answer | None], notes: Iterable[str]) -> None:
    """Raise a ModelError if a model failed on every row that it was asked about, with the reasons in its notes."""
    states = [answer.predictions.state for answer in answers if answer is not None]
    if any(map(len, states)) and all((state == ERROR).all() for state in states):
        reasons = [note for note in notes if note.startswith(FAILED)]
        raise ModelError(f"it answered no row; {listed(reasons, 2)}" if reasons else "it answered no row")


def unanswered(inspected: InspectedModels, task: Task, requests: RequestMatrix, runtime: Runtime) -> bool:
    """Return True if some answer is missing from the store. Loads no model; ignores models that cannot be read."""
    with runtime.open_store() as store:
        for number, info in enumerate(inspected.infos):
            if not (info.trouble or info.source.precomputed):
                with suppress(ModelError):
                    if find_work(
                        _job(inspected, task, requests, runtime, number), store, ResourceCache(initial=inspected.cache)
                    )[1]:
                        return True
    return False


def _job(
    inspected: InspectedModels, task: Task, requests_of: RequestMatrix, runtime: Runtime, number: int, dry: bool = False
) -> Job:
    info = inspected.infos[number]
    requests = tuple(requests_of[number])
    check_unseen(info, requests)
    if not dry:
        check_budget(info, requests)
    return Job(info.source, task, requests, runtime.machine, dry, info.size, info.preload, info.needs)


def check_budget(info: ModelInfo, requests: Sequence[Request]) -> None:
    """Refuse to attribute answers that cost requests to a server, of which there is no limit."""
    if not info.attributable and any(request.settings is not None for request in requests):
        text = "is behind a server, where attributions cost hundreds of requests a row; set a budget: `max_requests`"
        raise UsageError.of(info.source.name, f"{text} or `max_tokens`", option="max_requests")


def check_unseen(info: ModelInfo, requests: Sequence[Request]) -> None:
    """Refuse to ask a model about rows that it was shown with their answers."""
    shown_texts = set(info.demonstrations)
    examples = (example for request in requests if shown_texts for example in request.examples)
    if known_rows := [example.id for example in examples if example.segments in shown_texts]:
        text = (
            f"was shown rows that models are ranked on, as demonstrations: {listed(dict.fromkeys(known_rows))}; draw "
            "demonstrations from other rows"
        )
        raise UsageError.of(info.source.name, text, option="demonstrations", value=known_rows[0])


def dry_run_lines(plan: Plan, runtime: Runtime = Runtime(), prices: Prices = NO_PRICES) -> Iterator[str]:
    """Describe what a run would do, one line per model: what is missing from the store, and what it costs.

    A model with missing answers is loaded, and its speed is measured on some rows, where the executor would run it.
    """
    attributed_rows = {example.segments for example in (*plan.population, *(plan.pool if plan.explains_pool else ()))}
    predicted = plan.ood.examples if plan.truth else plan.population
    all_rows = {
        example.segments if any(example.segments) else example.id
        for example in (*predicted, *plan.pool, *plan.in_domain_rows)
    }
    names = [backend.settings.name for backend in plan.backends if backend.settings.function]
    attributed = f", {len(attributed_rows)} to explain with {listed(names)}" if names else ""
    size = f"{len(plan.inspected.models)} models, {len(all_rows)} rows{attributed}"
    yield f"{plan.inspected.name} on {plan.ood.name}: {size}"
    yield from estimate_lines(plan.inspected, plan.task, plan.request_matrix, runtime, prices)


def estimate_lines(
    inspected: InspectedModels, task: Task, requests: RequestMatrix, runtime: Runtime, prices: Prices = NO_PRICES
) -> Iterator[str]:
    """Describe what requests would do and cost, a line a model, then in all; a ModelError if no model can be run."""
    usage, bills = Usage(), dict[str, Bill]()
    with runtime.open_store() as store:
        outcomes = dict(run_jobs(inspected, task, requests, runtime, store, dry=True))
    for number, model in enumerate(inspected.models):
        outcome = outcomes[number]
        if outcome.failure:
            yield f"{model.name}: cannot be run: {outcome.failure}"
            continue
        usage += (outcome.estimate and outcome.estimate.usage) or Usage()
        yield f"{model.name}: {outcome.estimate or 'all is cached'}"
        if outcome.estimate and (bill := outcome.estimate.bill):
            bills[bill.host] = bills[bill.host] + bill if bill.host in bills else bill
    if outcomes and all(outcome.failure for outcome in outcomes.values()):
        raise ModelError("no model can be run")
    yield from (f"in all {bill}; nothing was sent" for bill in bills.values())
    if not bills or usage.seconds:
        yield f"in all {usage}{prices.of_hours(usage.seconds, usage.accelerated)}"
