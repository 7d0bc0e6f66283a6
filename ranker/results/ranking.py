"""`Ranking`: the result of a run, which can be saved, loaded and shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from ranker.results.agreement import Agreement
from ranker.results.decision import Decision
from ranker.results.evaluation import Evaluation, MethodResult
from ranker.results.explanation import Explanation, not_saved
from ranker.results.gate import Gate
from ranker.results.header import Header
from ranker.results.parts import ModelParts
from ranker.results.result import NAMES, Mode, Result, to_plain
from ranker.results.same_names import same, within
from ranker.results.table import ScoreTable, with_nulls

SCHEMA_VERSION = 2

KEYS = ("schema_version", "header", "evaluation", "decision", "parts", "agreement", "table", "examples")
"""Keys of a saved ranking; one of the two modes is left out, and so are parts and agreement if there are none."""


@dataclass(frozen=True, repr=False)
class Ranking(Result):
    """Result of a run.

    Attributes:
        header: subject of the run.
        found: an `Evaluation` if the truth is known (how good is each method?), else a `Decision` (which model?).
        table: every score, in the order of the suite.
        examples: explanations of a few examples, those that tell most.
        parts: the models grouped by their parts; None if they have none.
        agreement: how far attribution backends agree, each two; () for one backend.

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
    parts: ModelParts | None = None
    agreement: tuple[Agreement, ...] = ()

    @property
    def answer(self) -> str:
        """The verdict of a gate, the subject and the answer; `to_dict` has everything."""
        failed = [f"failed: {listed(list(self.header.failures), NAMES)}"] if self.header.failures else []
        *verdict, first, further = self.found.answer.splitlines()
        return "\n".join([*verdict, self.title, first, "; ".join([further, *failed])])

    @property
    def title(self) -> str:
        """One-line title of the run."""
        header = self.header
        return f"{header.suite} on {header.ood}: {counted(len(self.found.models), 'model')}, K = {self.labelled}"

    @property
    def compared(self) -> int:
        """Number of examples that models are compared on: of a decision, the rows that all of them were judged on."""
        left_out = len(self.table.examples) - len(self.table.judged) if self.mode == "decision" else 0
        return self.header.probe - left_out

    @property
    def labelled(self) -> int:
        """Number of these that people labelled or marked."""
        return self.compared if self.found.confirmed else 0

    @property
    def mode(self) -> Mode:
        """The question: "evaluation" (how good is each method?) or "decision" (which model?)."""
        return self.found.mode

    @property
    def evaluation(self) -> Evaluation:
        """Results of methods.

        Raises:
            UsageError: the truth is unknown: this is a decision.
        """
        if self.found.mode == "evaluation":
            return self.found
        raise UsageError("a decision has no evaluation: the truth of these models is not known", value=self.mode)

    @property
    def decision(self) -> Decision:
        """Results of models.

        Raises:
            UsageError: the truth is known: this is an evaluation.
        """
        if self.decided:
            return self.decided
        raise UsageError("an evaluation has no decision: the truth of these models is known", value=self.mode)

    @property
    def decided(self) -> Decision | None:
        """Results of models whose truth is unknown; None if it is known."""
        return self.found if self.found.mode == "decision" else None

    @property
    def gate(self) -> Gate | None:
        """Verdict on whether the others are shown to be no worse than one model; None if not requested."""
        return self.decided.gate if self.decided else None

    @property
    def best(self) -> str:
        """Name of the model that is first; a UsageError for an evaluation."""
        return self.order[0]

    @property
    def order(self) -> tuple[str, ...]:
        """Names of the models, the best first; a UsageError for an evaluation."""
        return self.decision.names

    @property
    def p_near_best(self) -> float | None:
        """P(no model is better than the first by more than the margin), None if unknown; a UsageError as `best`."""
        return self.decision.models[0].p_near_best

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for a reader of the numbers, a sentence each."""
        return (*self.header.notes, *self.found.notes)

    def made_by(self, command: str | None) -> Ranking:
        """Return a copy that records the command of the run."""
        provenance = replace(self.header.provenance, command=command)
        return replace(self, header=replace(self.header, provenance=provenance))

    def method(self, name: str) -> MethodResult:
        """Return the result of one method of an evaluation.

        Raises:
            UnknownName: no such method was measured.
        """
        return self.evaluation.method(name)

    def to_dict(self) -> dict[str, Any]:
        """Return the stable schema: all but the score table and the examples, as JSON values (null where undefined)."""
        key, header = self.mode, to_plain(self.header) | {"provenance": self.header.provenance.to_dict()}
        parts = {} if self.parts is None else {"parts": to_plain(self.parts)}
        agreement = {"agreement": [to_plain(pair) for pair in self.agreement]} if self.agreement else {}
        return {"schema_version": SCHEMA_VERSION, "header": header, key: to_plain(self.found), **parts, **agreement}

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each method or model: see `Evaluation.to_rows`, `Decision.to_rows`."""
        return self.found.to_rows()

    def in_words(self) -> list[dict[str, str]]:
        """Return the same as text for people."""
        return self.found.in_words()

    def save(self, path: str | Path) -> None:
        """Write everything, with the score table and the examples, to one JSON file.

        Raises:
            RankModelsError: the file cannot be written.
        """
        content = self.to_dict() | {
            "table": _table_to_dict(self.table),
            "examples": [example.to_dict() for example in self.examples],
        }
        try:
            text = json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"
            # half a surrogate pair, as in a folder's name, is written as JSON escapes it
            save_file(Path(path), text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            text = f"the ranking cannot be written to {path}: {error.strerror}"
            raise RankModelsError(text, place=path) from error

    @classmethod
    def load(cls, path: str | Path, limits: Limits = LIMITS) -> Ranking:
        """Read a saved ranking.

        Args:
            path: the file.
            limits: size limits of the file.

        Raises:
            DataError: the file cannot be read, is no ranking, or has another schema.
        """
        content = records.read_json(Path(path), "a ranking", limits)
        version = content.get("schema_version") if isinstance(content, dict) else None
        if version != SCHEMA_VERSION:
            predicate = (
                f"must be a ranking of schema {SCHEMA_VERSION} (got {version!r}); rank again: what the models answered "
                "is in the store, and none is run"
            )
            raise DataError.of(path, predicate, value=version, allowed=(SCHEMA_VERSION,))
        try:
            return _from_dict(content)
        except KeyError as error:
            keep = "; `save` keeps a whole one, which a report is not"
            raise DataError.of(path, f"is no whole ranking: it has no {error}{keep}") from error
        except (ValueError, UsageError) as error:
            raise DataError.of(path, f"is no whole ranking: {error}") from error


def _table_to_dict(table: ScoreTable) -> dict[str, Any]:
    declared = [field.name for field in fields(Factor) if field.name != "score"]
    return {
        "models": table.models,
        "methods": [{name: getattr(method, name) for name in declared} for method in table.methods],
        "examples": table.examples,
        "metric": table.metric,
        "truth": None if table.truth is None else table.truth.tolist(),
        "dropped": {name: dict(reasons) for name, reasons in table.dropped.items()},
        "values": with_nulls(table.values),
    }


def _table_from_dict(content: Any) -> ScoreTable:
    saved = records.table(content, "table")
    truth = records.typed(saved["truth"], tuple[float, ...] | None, "truth")
    declared = records.typed(saved["methods"], tuple[Any, ...], "methods")
    return ScoreTable(
        models=records.typed(saved["models"], tuple[str, ...], "models"),
        methods=tuple(
            records.record(Factor, {**records.table(method, "methods"), "score": not_saved}, "methods")
            for method in declared
        ),
        examples=records.typed(saved["examples"], tuple[str, ...], "examples"),
        values=_floats(saved["values"]),
        metric=records.typed(saved["metric"], str, "metric"),
        truth=None if truth is None else np.array(truth, dtype=np.float64),
        dropped=records.typed(saved["dropped"], Mapping[str, Mapping[str, int]], "dropped"),
    )


def _floats(content: Any) -> Floats:
    """Convert the values of a table to an array of finite numbers, nan for null, of any shape."""
    try:
        values = np.array(content, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("`values` must be numbers, by model and example") from error
    if np.isinf(values).any():
        raise ValueError("`values` must be finite")
    return values


def _from_dict(content: Mapping[str, Any]) -> Ranking:
    for key in content:
        if key not in KEYS:
            raise UnknownName("key of the ranking", key, KEYS)
    if {"evaluation", "decision"} <= set(content):
        raise ValueError("it is an evaluation and a decision at once")
    header = records.record(Header, content["header"], "header")
    if "decision" in content:
        saved = records.table(content["decision"], "decision")
        settled = {name: value for name, value in saved.items() if name not in ("groups", "choice")}
        outcome: Evaluation | Decision = records.record(Decision, settled, "decision")
    else:
        outcome = records.record(Evaluation, content["evaluation"], "evaluation")
    parts = records.record(ModelParts, content["parts"], "parts") if "parts" in content else None
    pairs = records.typed(content.get("agreement", []), tuple[Any, ...], "agreement")
    agreement = tuple(records.record(Agreement, pair, "agreement") for pair in pairs)
    table, examples = _table_from_dict(content["table"]), _examples(content["examples"])
    ranking = Ranking(header, outcome, table, examples, parts, agreement)
    _check_references(ranking)
    return ranking


def _check_references(ranking: Ranking) -> None:
    """Raise a ValueError if one part names what another lacks, which a report would look up in vain."""
    header, outcome, table = ranking.header, ranking.found, ranking.table
    models = [model.name for model in outcome.models]
    same("`models`", models, table.models, "the table")
    metric, whose = (outcome.metric, "what was found") if outcome.metric else (table.metric, "the table")
    same("`metric`", [header.metric], [metric], whose)
    is_made_by_a_run = header.provenance.population is not None
    outcome.check(table, header.probe if is_made_by_a_run else len(table.examples))
    if header.probe < 1:
        raise ValueError(f"`probe` must be 1 or more (got {header.probe})")
    for part in ranking.parts.parts if ranking.parts else ():
        members = [model for level in part.levels for model in level.models]
        within(f"the {part.name}s are parts of models that", members, models, "`models`")
    within("`quality` is of models that", header.quality, models, "`models`")
    example_ids = [explanation.example.id for explanation in ranking.examples]
    within("`examples` are some that", example_ids, table.examples, "the table")
    for explanation in ranking.examples:
        _check_example(explanation, models)


def _check_example(explanation: Explanation, models: Sequence[str]) -> None:
    """Check that its models are of the run, see the same words, and have a value for each factor."""
    name, factors = explanation.example.id, {factor.name for factor in explanation.factors}
    readers = [reading.name for reading in explanation.readings]
    within(f"the example {name} is read by models that", readers, models, "`models`")
    for reading in explanation.readings:
        same(f"what {reading.name} reads in {name}", reading.factors, factors, "the factors of the example")
        same(f"what {reading.name} predicts in {name}", reading.probabilities, explanation.labels, "the example")
    spans = (((word.segment, word.span) for word in reading.words if word.span) for reading in explanation.readings)
    if len(set(map(tuple, spans))) > 1:
        raise ValueError(f"the models read other words in the example {name}, each its own")


def _examples(content: Any) -> tuple[Explanation, ...]:
    try:
        return tuple(map(Explanation.from_dict, records.typed(content, tuple[Any, ...], "examples")))
    except (TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"`examples` must be what `explain --format json` writes: {error}") from error
