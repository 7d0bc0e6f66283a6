"""Ask judges: language models that read a row and a model's answer to it, and mark the answer.

An answer is put to a judge like a row to a model, so prompts, servers, budgets and the store are those of all models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypeAlias

import numpy as np

from factors.types import Example, Floats
from ranker.errors import ModelError, UsageError, listed
from ranker.runs.collect import RawResponses, RequestMatrix, count_failed, estimate_lines, run_models
from ranker.runs.inspected import InspectedModels, inspect_references
from ranker.runs.likeness import compare_answers
from ranker.runs.pool import compared_rows, most_compared
from ranker.runtime.base import Request
from ranker.runtime.runtime import Runtime
from ranker.sources.base import ResourceCache, SourceOptions
from ranker.sources.endpoint.prices import NO_PRICES, Prices
from ranker.sources.lm.options import LMOptions
from ranker.sources.suites import Model
from ranker.tasks.base import Predictions, Task
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.named import value_task
from ranker.tasks.names import number_of
from ranker.tasks.values import has_values

QUALITY = "judge/quality"
"""Built-in prompt of a judge for which none is named."""

ANSWER = "answer"
"""Segment of a judge's prompt that is a model's answer; the other one is the row."""

ANSWERS, BOTH = "answers", "Answer A: {}\n\nAnswer B: {}"
"""Segment of a prompt that is two models' answers, and its text. The prompt's first label says that A is better."""

SEVERAL = "\n"
"""Text between several texts of a row, as a judge reads them."""


@dataclass(frozen=True)
class JudgeMarks:
    """Marks of one judge; or how alike answers are to those of other models, which is read as marks are.

    Attributes:
        rows: (n,) ids.
        values: model -> (n,) marks, nan where there is none.
        failed: answers of the judge that failed.
    """

    rows: tuple[str, ...]
    values: Mapping[str, Floats]
    failed: int = 0


@dataclass(frozen=True)
class Answering:
    """Models whose answers judges read.

    Attributes:
        rows: rows that they answer, each with an id of its own.
    """

    models: InspectedModels
    rows: tuple[Example, ...]
    _responded: dict[int, Mapping[str, RawResponses]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def _requests(self) -> RequestMatrix:
        return [[Request(self.rows)] for _ in self.models.models]

    def dry_lines(self, runtime: Runtime, prices: Prices = NO_PRICES) -> Iterator[str]:
        """Describe what the answers would cost; nothing is asked."""
        if not self.models.precomputed:
            yield from estimate_lines(self.models, text_task(), self._requests, runtime, prices)

    def answers(self, runtime: Runtime) -> dict[str, Predictions]:
        """Return model -> its answers as texts; a ModelError if a model cannot be asked."""
        return {name: _only(response) for name, response in self._responses(runtime).items()}

    def failed(self, runtime: Runtime) -> dict[str, int]:
        """Return model -> its answers that failed, if there are any; errors are those of `answers`."""
        counts = {} if self.models.precomputed else {n: count_failed(r) for n, r in self._responses(runtime).items()}
        return {name: count for name, count in counts.items() if count}

    def _responses(self, runtime: Runtime) -> Mapping[str, RawResponses]:
        """Ask the models once, so that answers that failed are counted as they were read."""
        if id(runtime) in self._responded:
            return self._responded[id(runtime)]
        responses, failures = run_models(self.models, text_task(), self._requests, runtime)
        for name, reason in failures.items():
            raise ModelError(reason, place=name)
        self._responded[id(runtime)] = responses
        return responses

    def check_comparable(self) -> None:
        """Refuse with a UsageError answers that cannot be compared, before any is asked for: a package is missing."""
        task = text_task()
        try:
            task.outcomes(task.predictions(["a"]), [Example("", ("",), ("a",))])
        except UsageError as error:
            reason = str(error).removeprefix("`metric` ")
            raise UsageError.about("pool", f"is for comparing the models' answers: {reason}") from error

    def likeness(self, marked: Collection[str], runtime: Runtime) -> JudgeMarks:
        """Compare the models' answers with each other, on the rows whose ids are marked and some others.

        The value of an answer is its mean outcome, were another model's the truth.
        """
        answers, task = self.answers(runtime), text_task()
        assert has_values(task)
        is_marked = np.array([row.id in marked for row in self.rows])
        most = most_compared(task, len(answers))
        places = compared_rows(self.rows, np.flatnonzero(is_marked), most)
        parts = {name: of_model.part(places) for name, of_model in answers.items()}
        with runtime.open_store() as store:
            similarity = compare_answers(task, parts, runtime, store).similarity
        likeness = np.where(np.eye(len(parts), dtype=bool)[:, :, None], 0.0, similarity).sum(axis=1) / (len(parts) - 1)
        return JudgeMarks(tuple(self.rows[place].id for place in places), dict(zip(parts, likeness, strict=True)))

    def to_mark(self, runtime: Runtime) -> tuple[Example, ...]:
        """Return each answer as an example of two texts, row and answer; models and rows in order."""
        return tuple(
            Example(f"{name}: {row.id}", (SEVERAL.join(row.segments), text or ""))
            for name, of_model in self.answers(runtime).items()
            for row, text in zip(self.rows, of_model.answers() or (), strict=True)
        )


def text_task() -> Task:
    """Return the task of answers that only judges mark."""
    task = value_task("text")
    assert task is not None  # it is built in
    return task


def inspect_judge(
    name: str, reference: str, options: SourceOptions, prompts: Sequence[str], cache: ResourceCache
) -> InspectedModels:
    """Prepare a judge that is asked: a model for each prompt.

    Args:
        reference: of a language model, or any model whose labels are marks.
        options: of language models and servers; others do not apply.
        prompts: files and names; none takes `QUALITY`.
        cache: of what was opened; the budget of a run for servers is that of its cache.
    """
    kinds = [record for record in options.kinds if isinstance(record, LMOptions)]
    kinds += [] if any(type(record) is LMOptions for record in kinds) else [LMOptions()]
    names = tuple(prompts) or (QUALITY,)
    kinds = [replace(record, prompts=names, shots=(), demonstrations="", calibration=()) for record in kinds]
    inspected = inspect_references([reference], replace(options, label_map=None, kinds=kinds), cache)
    if len(inspected.unpinned) == 1:
        return replace(inspected, unpinned=(inspected.unpinned[0].called(name),))
    ends = [model.name.rpartition("/")[2] for model in inspected.unpinned]
    return replace(
        inspected,
        unpinned=tuple(model.called(f"{name}/{end}") for model, end in zip(inspected.unpinned, ends, strict=True)),
    )


def marks_answers(model: Model) -> bool:
    """Return True if a model is asked with a prompt that has a place for an answer; any other one labels or writes."""
    prompt = getattr(model.source, "prompt", None)
    return prompt is None or ANSWER in prompt.segments


def ask(judge: InspectedModels, answering: Answering, runtime: Runtime) -> dict[str, JudgeMarks]:
    """Ask a judge for its mark of each answer: the mean of its marks, by the probabilities that it gives them.

    A missing answer has no mark. The name is the judge's, with a prompt's where it has several.

    Raises:
        ModelError: the judge cannot be asked, or a model whose answers it is to read.
        UsageError: its answers are no marks.
    """
    names, rows = tuple(model.name for model in answering.models.models), tuple(row.id for row in answering.rows)
    return {
        name: JudgeMarks(rows, dict(zip(names, marks.reshape(len(names), len(rows)), strict=True)), failed)
        for name, (marks, failed) in _expected(judge, answering.to_mark(runtime), runtime).items()
    }


Verdicts: TypeAlias = dict[tuple[str, str, str], float]
"""Id of a row and two models -> a judge's verdict, from -1 for the second to 1 for the first."""


def compares(model: Model) -> bool:
    """Return True if a model is asked with a prompt that has a place for two answers."""
    prompt = getattr(model.source, "prompt", None)
    return prompt is not None and ANSWERS in prompt.segments


def ask_verdicts(judge: InspectedModels, answering: Answering, runtime: Runtime) -> dict[str, tuple[Verdicts, int]]:
    """Ask a judge which of two answers is better, of every two models on each row, in both orders.

    A verdict is the mean over the orders of the difference of the probabilities of its two words. Beside
    the verdicts stands how many answers failed.
    """
    texts = {name: of_model.answers() or () for name, of_model in answering.answers(runtime).items()}
    units = [
        (row, a, b, texts[a][n], texts[b][n])
        for n, row in enumerate(answering.rows)
        for a, b in combinations(texts, 2)
        if texts[a][n] and texts[b][n]
    ]
    examples = tuple(
        Example(f"{row.id}: {first}, {second}", (SEVERAL.join(row.segments), BOTH.format(*pair_of_texts)))
        for row, a, b, text_a, text_b in units
        for first, second, pair_of_texts in ((a, b, (text_a, text_b)), (b, a, (text_b, text_a)))
    )
    verdicts: dict[str, tuple[Verdicts, int]] = {}
    for name, (places, failed) in _expected(judge, examples, runtime).items():
        by_order = (1 - 2 * places).reshape(-1, 2)  # the first word has the value 0, the second 1
        means = (by_order[:, 0] - by_order[:, 1]) / 2
        of_units = zip(units, means.tolist(), strict=True)
        verdicts[name] = {(row.id, a, b): mean for (row, a, b, *_), mean in of_units if not np.isnan(mean)}, failed
    return verdicts


def _expected(judge: InspectedModels, examples: Sequence[Example], runtime: Runtime) -> dict[str, tuple[Floats, int]]:
    """Return by each prompt of a judge (n,) means of its labels' values, nan for no answer, and its failed answers."""
    present = [place for place, example in enumerate(examples) if all(example.segments[1:])]
    if not present:
        raise UsageError.about("models", "wrote no answer to these rows, so a judge has nothing to mark")
    request, expected = Request(tuple(examples[place] for place in present)), dict[str, tuple[Floats, int]]()
    for by_prompts, task in _by_labels(judge):
        responses, failures = run_models(by_prompts, task, [[request]] * len(by_prompts.models), runtime)
        for name, reason in failures.items():
            raise ModelError(reason, place=name)
        for name, response in responses.items():
            probabilities = _only(response).probabilities()
            assert probabilities is not None  # its task has labels
            means = np.full(len(examples), np.nan)
            means[present] = probabilities @ _values(task.labels)
            expected[name] = means, count_failed(response)
    return {model.name: expected[model.name] for model in judge.models}


def dry_lines(
    judge: InspectedModels, answering: Answering, runtime: Runtime, prices: Prices = NO_PRICES
) -> Iterator[str]:
    """Describe what asking a judge would cost; models are asked only if their answers are in files."""
    size = len(answering.models.models) * len(answering.rows)
    if not answering.models.precomputed:
        yield f"{listed(model.name for model in judge.models)}: {size:,} answers to mark, once they are written"
        return
    examples = tuple(example for example in answering.to_mark(runtime) if example.segments[1])
    for by_prompts, task in _by_labels(judge):
        requests = [[Request(examples)]] * len(by_prompts.models)
        yield from estimate_lines(by_prompts, task, requests, runtime, prices)


def _by_labels(judge: InspectedModels) -> Iterator[tuple[InspectedModels, ClassificationTask]]:
    """Yield a judge by those of its prompts that have the same marks, and the task of these."""
    by_labels: dict[tuple[str, ...], list[Model]] = {}
    for model, info in zip(judge.models, judge.infos, strict=True):
        if len(info.labels) < 2:
            text = "must give marks as labels: `[verbalizers]` of its prompt lists them, from worst to best"
            raise UsageError.of(model.name, text, option="judge")
        by_labels.setdefault(info.labels, []).append(model)
    for labels, models in by_labels.items():
        yield replace(judge, unpinned=tuple(models)), ClassificationTask("marks", labels, ordered=False)


def _only(response: RawResponses) -> Predictions:
    """Return the answers to the only request, which is not optional."""
    (answer,) = response.answers
    assert answer is not None
    return answer.predictions


def _values(labels: Sequence[str]) -> Floats:
    """Return the marks that labels mean: their numbers, else their places from worst to best.

    Example:
        >>> _values(("1", "10")).tolist(), _values(("poor", "fair", "good")).tolist()
        ([1.0, 10.0], [0.0, 1.0, 2.0])
    """
    numbers = [number_of(label) for label in labels]
    return np.array([place if None in numbers else number for place, number in enumerate(numbers)], dtype=np.float64)
