"""`Ranking`, the result: what a run found, which can be saved, loaded and shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from factors.registry import Factor
from factors.types import Floats
from ranker import records
from ranker.errors import DataError, RankModelsError, UnknownName, UsageError, listed
from ranker.files.saving import save as save_file
from ranker.limits import LIMITS, Limits
from ranker.numbers import counted
from ranker.results.decision import Decision
from ranker.results.evaluation import Evaluation, MethodResult
from ranker.results.explanation import Explanation, not_saved
from ranker.results.header import Header
from ranker.results.result import NAMES, Mode, Result, plain
from ranker.results.table import ScoreTable, nulls

SCHEMA_VERSION = 2

KEYS = ("schema_version", "header", "evaluation", "decision", "table", "examples")
"""What `save` writes, one of the two modes left out."""


@dataclass(frozen=True, repr=False)
class Ranking(Result):
    """The answer of a run.

    Attributes:
        header: what the run was about.
        found: an `Evaluation` where the truth is known (how good is each method?), a `Decision` where it is not (which
            model?).
        table: every score, in the order of the suite.
        examples: what the models see in some of the examples, those that tell most.

    Example:
        >>> from ranker import Evidence, load_set, load_suite, rank
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-3:], load_set("hans-sub", limit=40)
        >>> ranking = rank(models, rows, evidence=Evidence("none"))
        >>> ranking.title, ranking.mode
        ('models on hans-sub: 3 models, K = 10', 'evaluation')
    """

    header: Header
    found: Evaluation | Decision
    table: ScoreTable
    examples: tuple[Explanation, ...] = ()

    @property
    def answer(self) -> str:
        """What was ranked on what, and what was found; the whole of it is `to_dict`."""
        failed = [f"failed: {listed(list(self.header.failures), NAMES)}"] if self.header.failures else []
        first, *rest = self.found.answer.splitlines()
        return "\n".join([self.title, first, "; ".join([*rest, *failed])])

    @property
    def title(self) -> str:
        """What was ranked on what, in a line."""
        of = self.header
        return f"{of.suite} on {of.ood}: {counted(len(self.found.models), 'model')}, K = {of.probe}"

    @property
    def mode(self) -> Mode:
        """Which question was asked: "evaluation" (how good is each method?) or "decision" (which model?)."""
        return "decision" if isinstance(self.found, Decision) else "evaluation"

    @property
    def evaluation(self) -> Evaluation:
        """What was found of methods.

        Raises:
            UsageError: the truth was not known: it is a decision.
        """
        if isinstance(self.found, Evaluation):
            return self.found
        raise UsageError("a decision has no evaluation: the truth of these models is not known")

    @property
    def decision(self) -> Decision:
        """What was found of models.

        Raises:
            UsageError: the truth was known: it is an evaluation.
        """
        if isinstance(self.found, Decision):
            return self.found
        raise UsageError("an evaluation has no decision: the truth of these models is known")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers has to know, a sentence each."""
        return (*self.header.notes, *self.found.notes)

    def made_by(self, command: str | None) -> Ranking:
        """The same, with the command that made it."""
        provenance = replace(self.header.provenance, command=command)
        return replace(self, header=replace(self.header, provenance=provenance))

    def method(self, name: str) -> MethodResult:
        """The result of one method of an evaluation.

        Raises:
            UnknownName: no such method was measured.
        """
        return self.evaluation.method(name)

    def to_dict(self) -> dict[str, Any]:
        """The stable schema: all but the score table and the examples, as JSON knows it (null where undefined)."""
        key, header = self.mode, plain(self.header) | {"provenance": self.header.provenance.to_dict()}
        return {"schema_version": SCHEMA_VERSION, "header": header, key: plain(self.found)}

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each method (evaluation) or model (decision): see `Evaluation.to_rows`, `Decision.to_rows`."""
        return self.found.to_rows()

    def in_words(self) -> list[dict[str, str]]:
        """The same as a person reads it."""
        return self.found.in_words()

    def save(self, path: str | Path) -> None:
        """Write everything, the score table and the examples included, as one JSON file.

        Raises:
            RankModelsError: the file cannot be written.
        """
        whole = self.to_dict() | {
            "table": _table_to_dict(self.table),
            "examples": [example.to_dict() for example in self.examples],
        }
        try:
            text = json.dumps(whole, ensure_ascii=False, allow_nan=False) + "\n"
            # half a surrogate pair, as in a folder's name, is written as JSON escapes it
            save_file(Path(path), text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise RankModelsError(f"the ranking cannot be written to {path}: {error.strerror}") from error

    @classmethod
    def load(cls, path: str | Path, limits: Limits = LIMITS) -> Ranking:
        """Read what `save` wrote.

        Args:
            path: the file.
            limits: how much of it is read.

        Raises:
            DataError: the file cannot be read, is no ranking, or is one of another schema.
        """
        whole = records.read_json(Path(path), "a ranking", limits)
        version = whole.get("schema_version") if isinstance(whole, dict) else None
        if version != SCHEMA_VERSION:
            raise DataError(
                f"{path} must be a ranking of schema {SCHEMA_VERSION} (got {version!r}); rank again: what the models "
                "answered is in the store, and none is run"
            )
        try:
            return _from_dict(whole)
        except KeyError as error:
            raise DataError(f"{path} is no whole ranking: it has no {error}") from error
        except (ValueError, UsageError) as error:
            raise DataError(f"{path} is no whole ranking: {error}") from error


def _table_to_dict(table: ScoreTable) -> dict[str, Any]:
    declared = [field.name for field in fields(Factor) if field.name != "score"]
    methods = [{name: getattr(method, name) for name in declared} for method in table.methods]
    return {
        "models": table.models,
        "methods": methods,
        "examples": table.examples,
        "metric": table.metric,
        "truth": None if table.truth is None else table.truth.tolist(),
        "dropped": {name: dict(reasons) for name, reasons in table.dropped.items()},
        "values": nulls(table.values),
    }


def _table_from_dict(content: Any) -> ScoreTable:
    whole = records.table(content, "table")
    truth = records.typed(whole["truth"], tuple[float, ...] | None, "truth")
    declared = records.typed(whole["methods"], tuple[Any, ...], "methods")
    return ScoreTable(
        models=records.typed(whole["models"], tuple[str, ...], "models"),
        methods=tuple(
            records.record(Factor, {**records.table(one, "methods"), "score": not_saved}, "methods") for one in declared
        ),
        examples=records.typed(whole["examples"], tuple[str, ...], "examples"),
        values=_floats(whole["values"], "values"),
        metric=records.typed(whole["metric"], str, "metric"),
        truth=None if truth is None else np.array(truth, dtype=np.float64),
        dropped=records.typed(whole["dropped"], Mapping[str, Mapping[str, int]], "dropped"),
    )


def _floats(content: Any, name: str) -> Floats:
    """Finite numbers, nan for null; arrays of any shape."""
    try:
        values = np.array(content, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"`{name}` must be numbers, by model and example") from error
    if np.isinf(values).any():
        raise ValueError(f"`{name}` must be finite")
    return values


def _from_dict(whole: Mapping[str, Any]) -> Ranking:
    for key in whole:
        if key not in KEYS:
            raise UnknownName("key of the ranking", key, KEYS)
    if {"evaluation", "decision"} <= set(whole):
        raise ValueError("it is an evaluation and a decision at once")
    header = records.record(Header, whole["header"], "header")
    if "decision" in whole:
        given = records.table(whole["decision"], "decision")
        groupless = {name: value for name, value in given.items() if name != "groups"}
        found: Evaluation | Decision = records.record(Decision, groupless, "decision")
    else:
        found = _evaluation(whole["evaluation"])
    ranking = Ranking(header, found, _table_from_dict(whole["table"]), _examples(whole["examples"]))
    _check_references(ranking)
    return ranking


def _evaluation(content: Any) -> Evaluation:
    """What was found of methods; JSON has no numbers for keys, which a curve's are."""
    given = records.table(content, "evaluation")
    methods = records.typed(given["methods"], tuple[Any, ...], "methods")
    draws = given["draws"] if given["draws"] == "exact" else records.typed(given["draws"], int, "draws")
    found = records.record(Evaluation, {**given, "methods": tuple(map(_method, methods)), "draws": draws}, "evaluation")
    if not found.models:
        raise ValueError("`models` are none")
    return found


def _method(content: Any) -> MethodResult:
    given = records.table(content, "methods")
    curve = {int(size): accuracy for size, accuracy in records.table(given.get("curve", {}), "curve").items()}
    return records.record(MethodResult, {**given, "curve": curve}, "methods")


def _check_references(ranking: Ranking) -> None:
    """Refuse a ranking in which one part names what another does not have: a report would look for it in vain.

    Raises:
        ValueError: so it does.
    """
    header, found = ranking.header, ranking.found
    models = [model.name for model in found.models]
    measured = {method.name for method in ranking.table.methods}
    _same("`models`", models, ranking.table.models, "the table")
    _same(
        "`metric`",
        [header.metric],
        [found.metric or ranking.table.metric],
        found.metric and "what was found" or "the table",
    )
    for model in found.models:
        _within(f"{model.name} has scores by methods that", model.scores, measured | {_decided_by(found)}, "the table")
    if isinstance(found, Decision):
        compared = [name for one in found.versus for name in (one.a, one.b)]
        _within("`versus` compares models that", compared, models, "`models`")
        _within("`rows` are some that", [row.id for row in found.rows], ranking.table.examples, "the table")
        for row in (row for row in found.rows if row.predicted or row.label):
            _same(f"what is predicted of {row.id}", row.predicted, models, "the models")
    else:
        _check_methods(found, ranking.table)
        _check_pairs(found)
    _within("`quality` is of models that", header.quality, models, "`models`")
    _within(
        "`examples` are some that", [one.example.id for one in ranking.examples], ranking.table.examples, "the table"
    )
    for example in ranking.examples:
        _check_example(example, models)


def _check_example(example: Explanation, models: Sequence[str]) -> None:
    """Its models are those of the run, and all see the same words and give a value to each factor."""
    name, factors = example.example.id, {factor.name for factor in example.factors}
    _within(f"the example {name} is read by models that", [one.name for one in example.readings], models, "`models`")
    for one in example.readings:
        _same(f"what {one.name} reads in {name}", one.factors, factors, "the factors of the example")
        _same(f"what {one.name} predicts in {name}", one.probabilities, example.labels, "the example")
    if len({tuple((word.segment, word.span) for word in one.words if word.span) for one in example.readings}) > 1:
        raise ValueError(f"the models read other words in the example {name}, each its own")


def _decided_by(found: Evaluation | Decision) -> str:
    return found.method if isinstance(found, Decision) else ""


def _check_methods(found: Evaluation, table: ScoreTable) -> None:
    """The metric is the first, and the truth is known."""
    names, columns = [method.name for method in found.methods], [method.name for method in table.methods]
    if table.truth is None:
        raise ValueError("an evaluation needs the `truth` of its table")
    metric = found.metric or columns[0]
    if names[:1] != [metric] or found.methods[0].kind == "label-free":
        raise ValueError(f"the first of `methods` must be the metric, {metric}")
    for model in found.models:
        _within(f"{model.name} has ranks by methods that", model.expected_rank, names, "`methods`")


def _check_pairs(found: Evaluation) -> None:
    models, methods = ({one.name for one in some} for some in (found.models, found.methods))
    _within("`pairs` name methods that", {pair.method for pair in found.pairs}, methods, "`methods`")
    _within("`pairs` name models that", {one for pair in found.pairs for one in (pair.a, pair.b)}, models, "`models`")
    pairs = {name: {(pair.a, pair.b) for pair in found.pairs if pair.method == name} for name in methods}
    for method, those in pairs.items():
        _same(f"the pairs of {method}", those, next(iter(pairs.values())), "the other methods")


def _same(what: str, found: Iterable[Any], expected: Iterable[Any], whose: str) -> None:
    """Refuse names that are not the same, in whatever order."""
    if odd := set(found) ^ set(expected):
        raise ValueError(f"{what} must be those of {whose} (one side alone has {min(map(str, odd))!r})")


def _within(what: str, found: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse names that are not known."""
    if odd := set(found) - set(known):
        raise ValueError(f"{what} are not in {where}: {min(odd)!r}")


def _examples(content: Any) -> tuple[Explanation, ...]:
    try:
        return tuple(map(Explanation.from_dict, records.typed(content, tuple[Any, ...], "examples")))
    except (TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"`examples` must be what `explain --format json` writes: {error}") from error
