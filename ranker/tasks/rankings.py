"""Retrieval: a ranking of documents for each query, judged by grades of documents."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from factors.types import Floats, Ints
from ranker.errors import Assumption, UnknownName, UsageError, check_installed, listed
from ranker.tasks.base import MISSING, NO_ANSWER, Predictions
from ranker.tasks.metrics import Metric
from ranker.tasks.values import ValueAnswers, ValueTask

Ranking = tuple[str, ...]
"""Documents, the best first."""

Grades = tuple[tuple[str, int], ...]
"""Documents with their grades, sorted by name."""

MEASURES = {
    "ndcg": "nDCG",
    "mrr": "RR",
    "map": "AP",
    "recall": "R",
    "precision": "P",
    "hit": "Success",
    "bpref": "Bpref",
    "judged": "Judged",
}
"""Metric -> measure of ir-measures."""

WITHOUT_LEVEL = ("ndcg", "judged")
"""Metrics that read grades as they are, or no grade."""

WITH_CUTOFF = ("recall", "precision", "hit", "judged")
"""Metrics that need a cutoff."""

READ_UNJUDGED = ("bpref", "judged")
"""Metrics to which a document that nobody judged is not one that is irrelevant."""

METRIC = re.compile(r"(?P<name>[a-z]+)(?:\(rel=(?P<rel>\d+)\))?(?:@(?P<k>[1-9]\d*))?(?P<judged>:judged)?")

JUDGED = ":judged"
"""Ending of metrics that leave out documents that nobody judged."""

USUAL = "ndcg@10"

DEPTH = 10
"""Documents of another model's ranking that count as relevant where rankings are compared without judgements."""

MOST_POOLED = 20
"""Most documents of a query that people grade."""


class RankingAnswers(ValueAnswers):
    """Rankings of N queries: `values` has a tuple of documents for each, or None. See `ValueAnswers`."""

    kind = "rankings"


@dataclass(frozen=True)
class RankingTask(ValueTask):
    """Retrieval, reranking, or the contexts of a pipeline; a `ranker.tasks.base.Task`.

    An answer is a list of documents, the best first, or an object of documents and scores. A target is an object of
    documents and grades, or a list of relevant documents. Documents with equal scores are ordered as trec_eval does, by
    name from the last; scores are read in single precision, as there. A query without an answer counts 0. A document
    that nobody judged counts as not relevant; with ``:judged`` it is left out of the rankings first.

    Attributes:
        score: name of the metric, such as "ndcg@10", "map(rel=2)" or "ndcg@10:judged". Its gain is linear, and a
            document is relevant from the grade `rel` on, 1 if not stated.

    Raises:
        UnknownName: there is no such metric.
        UsageError: it needs a cutoff, or has no level.

    Example:
        >>> from factors import Example
        >>> task = RankingTask("search")
        >>> rows = [Example("q1", ("",), task.target_of({"d1": 2, "d2": 0, "d3": 1}))]
        >>> task.outcomes(task.predictions([task.answer_of({"d1": 0.9, "d2": 0.5, "d3": 0.1})]), rows).round(3).tolist()
        [0.95]

    Source: Järvelin and Kekäläinen 2002, "Cumulated gain-based evaluation of IR techniques"; Sakai 2007, "Alternatives
    to bpref", for lists of judged documents.
    """

    answers = RankingAnswers.kind
    graded = True
    metrics = tuple(f"{name}@10" if name != "map" else name for name in MEASURES)
    label_metric = USUAL + JUDGED  # people grade few of the documents

    score: str = USUAL

    def __post_init__(self) -> None:
        _ = self._parts

    @property
    def metric(self) -> str:
        """Name of the outcome in tables."""
        return self.score.upper()

    @property
    def hint(self) -> str:
        """The form of judgements. See `ValueTask.hint`."""
        return 'Documents and grades: {"d1": 2, "d2": 0}'

    @cached_property
    def _parts(self) -> Mapping[str, str | None]:
        """Parts of the metric's name."""
        match = METRIC.fullmatch(self.score)
        name = "" if match is None else match["name"]
        if match is None or name not in MEASURES:
            raise UnknownName("metric of rankings", self.score, self.metrics)
        if name in WITH_CUTOFF and not match["k"]:
            raise UsageError.about("metric", f"{name} needs a cutoff, such as {name}@10", self.score)
        if match["rel"] and name in WITHOUT_LEVEL:
            raise UsageError.about("metric", f"{name} reads all grades, and has no level", self.score)
        return match.groupdict()

    def judged_by(self, name: str) -> Self:
        """Return the task with another metric. See `ranker.tasks.base.Task`."""
        return replace(self, score=name.casefold()) if name else self

    def metric_named(self, name: str) -> Metric | None:
        """Return None: each metric is a mean over queries. See `ranker.tasks.base.Task`."""
        if name:
            _ = replace(self, score=name.casefold())
        return None

    def answer_of(self, cell: Any, segments: Sequence[str] = ()) -> Ranking:
        """Return the documents of a cell, the best first. See `ranker.tasks.base.Task`."""
        content = _content(cell)
        if isinstance(content, dict):
            names = sorted(content, reverse=True)
            scores = np.array(_numbers([content[name] for name in names]), dtype=np.float32)
            order = np.argsort(-scores, kind="stable").tolist()
            return tuple([sys.intern(str(names[place])) for place in order])  # all runs name the same documents
        documents = tuple(map(_document, content))
        if len({*documents}) < len(documents):
            twice = next(document for place, document in enumerate(documents) if document in documents[:place])
            raise ValueError(f"the document {twice[:50]!r} stands twice")
        return documents

    def target_of(self, cell: Any, segments: Sequence[str] = ()) -> Grades:
        """Return the grades in a cell; documents of a list have the grade 1. See `ranker.tasks.base.Task`."""
        content = _content(cell)
        grades = content if isinstance(content, dict) else {_document(document): 1 for document in content}
        numbers = dict(zip(map(str, grades), _numbers([*grades.values()]), strict=True))
        if wrong := next((grade for grade in numbers.values() if grade != int(grade)), None):
            raise ValueError(f"a grade must be a whole number (got {wrong:g})")
        if not numbers:
            raise ValueError("a query needs a judged document")
        return tuple(sorted((document, int(grade)) for document, grade in numbers.items()))

    def cell_of(self, target: Grades) -> str:
        """Return the grades as JSON. See `ranker.tasks.base.Task`."""
        return json.dumps(dict(target), ensure_ascii=False)

    def show(self, answer: Any, segments: Sequence[str] = ()) -> str:
        """Return the first documents; of a target those with the highest grades.

        Example:
            >>> RankingTask("search").show(("d3", "d1")), RankingTask("search").show((("d1", 0), ("d2", 2)))
            ('d3, d1', 'd2 (2), d1 (0)')
        """
        documents = sorted(answer, key=lambda part: -part[1]) if answer and isinstance(answer[0], tuple) else answer
        names = [part if isinstance(part, str) else f"{part[0]} ({part[1]})" for part in documents[:DEPTH]]
        return ", ".join(names) + (" ..." if len(answer) > DEPTH else "")

    def as_target(self, answer: Any) -> Any:
        """Return the first documents of a ranking as relevant ones; None without any."""
        return tuple(sorted((document, 1) for document in answer[:DEPTH])) if answer else None

    def similarity(self, answers: Predictions, anchors: Predictions) -> Floats:
        """Return (N,) outcomes, were the first documents of another model the relevant ones. See `ValueTask`.

        What a model found is all that its ranking says, so documents that it did not find count as not relevant.
        """
        score = USUAL if self._parts["name"] in READ_UNJUDGED else self.score.removesuffix(JUDGED)
        return ValueTask.similarity(replace(self, score=score), answers, anchors)

    def predictions(self, answers: Sequence[Any], state: Ints | None = None) -> Predictions:
        """Return answers; a query that is missing from a run has none, and counts 0 (`trec_eval -c`)."""
        absent = None if state is None else np.where(state == MISSING, NO_ANSWER, state)
        return super().predictions(answers, absent)

    def outcome(self, answer: Any, target: Any) -> float:
        """Return the metric of one query."""
        return float(self.judge([answer], [target])[0])

    def judge(self, answers: Sequence[Any], targets: Sequence[Any]) -> Floats:
        """Return (N,) the metric of each query, all at once; nan where the target is None, as unknown."""
        outcomes = np.full(len(answers), np.nan)
        judged = [row for row, target in enumerate(targets) if target is not None]
        qrels = {str(row): dict(targets[row]) for row in judged}
        runs = {str(row): dict(self._scores(answers[row] or (), qrels[str(row)])) for row in judged}
        outcomes[judged] = 0.0
        for query in _ir_measures().iter_calc([self._measure], qrels, {row: run for row, run in runs.items() if run}):
            outcomes[int(query.query_id)] = query.value
        return outcomes

    def _scores(self, answer: Ranking, grades: Mapping[str, int]) -> Iterator[tuple[str, float]]:
        """Yield the documents of a ranking that the metric reads, with scores that fall."""
        cutoff = int(self._parts["k"] or len(answer))
        judged = [document for document in answer if document in grades] if self._parts["judged"] else answer
        return ((document, float(-place)) for place, document in enumerate(judged[:cutoff]))

    @property
    def _measure(self) -> Any:
        """The measure of ir-measures."""
        parts = self._parts
        level = f"(rel={parts['rel']})" if parts["rel"] else ""
        cutoff = f"@{parts['k']}" if parts["k"] else ""
        return _ir_measures().parse_measure(f"{MEASURES[str(parts['name'])]}{level}{cutoff}")

    def parts(self, answers: Sequence[Any], seed: int) -> tuple[str, ...]:
        """Return the documents of a query to grade, in random order: the first ones of all models, place by place.

        No more than the metric reads, and than `MOST_POOLED`. Of a place that is not all among them, models are drawn.

        Source: Spärck Jones and van Rijsbergen 1975, for pools of the first documents of several systems.
        """
        rng, depth = np.random.default_rng(seed), int(self._parts["k"] or DEPTH)
        rankings = [answers[model] or () for model in rng.permutation(len(answers)).tolist()]
        by_place = (ranking[place] for place in range(depth) for ranking in rankings if place < len(ranking))
        documents = [*dict.fromkeys(by_place)][:MOST_POOLED]
        return tuple(documents[place] for place in rng.permutation(len(documents)).tolist())

    def judging_notes(self, answers: Mapping[str, Sequence[Any]], targets: Sequence[Any]) -> tuple[str, ...]:
        """Return how many of each model's first documents nobody judged. See `ValueTask.judging_notes`."""
        if self._parts["name"] in READ_UNJUDGED:
            return ()
        depth, shares = int(self._parts["k"] or DEPTH), dict[str, float]()
        for name, of_model in answers.items():
            pairs = zip(of_model, targets, strict=True)
            judged = [
                document in dict(target) for answer, target in pairs if answer and target for document in answer[:depth]
            ]
            shares[name] = 1 - float(np.mean(judged)) if judged else 0.0
        most = sorted((name for name, share in shares.items() if share), key=lambda name: -shares[name])
        if not most:
            return ()
        models = listed((f"{name} {100 * shares[name]:.0f} %" for name in most), MOST_NAMED)
        fate = (
            "They are left out"
            if self._parts["judged"]
            else f"They count as not relevant; `{self.score}:judged` leaves them out"
        )
        return (Assumption(f"Nobody judged these of the first {depth} documents: {models}. {fate}."),)


MOST_NAMED = 5
"""Models whose share of unjudged documents a note names."""


def _content(cell: Any) -> Any:
    """Return the list or object in a cell."""
    content = cell
    if isinstance(cell, str):
        stripped = cell.strip()
        content = json.loads(stripped) if stripped[:1] in ("[", "{") else stripped.split()
    if not isinstance(content, (dict, list, tuple)):
        raise ValueError(
            f"a ranking must be a list of documents, or an object of their scores (got {str(cell)[:50]!r})"
        )
    return content


def _document(part: Any) -> str:
    """Return the name of a document: a text or number, or an object's id, as retrievers of LangChain give it."""
    if isinstance(part, dict):
        metadata = part.get("metadata")
        cells = {**(metadata if isinstance(metadata, dict) else {}), **part}
        part = next((cells[name] for name in ("id", "doc_id", "document") if cells.get(name) is not None), None)
    if not isinstance(part, (str, int)) or isinstance(part, bool) or part == "":
        raise ValueError("a document needs an id")
    return str(part)


def _numbers(values: list[Any]) -> list[float]:
    """Return the values, which are finite numbers, or raise a ValueError."""
    if {*map(type, values)} <= {int, float} and all(map(math.isfinite, values)):
        return values
    wrong = next(value for value in values if type(value) not in (int, float) or not math.isfinite(value))
    raise ValueError(f"a score must be a number (got {str(wrong)[:50]!r})")


def _ir_measures() -> Any:
    check_installed("`task` ranking", "rankings", option="task", value="ranking")
    import ir_measures

    return ir_measures
