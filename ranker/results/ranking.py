"""`Ranking`, the result: what a run found, which can be saved, loaded and shown."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from factors.registry import Factor
from ranker import records
from ranker.errors import DataError, RankModelsError, UsageError, look_up
from ranker.numbers import points
from ranker.results.explanation import Explanation, not_saved
from ranker.results.records import (
    Decision,
    MethodResult,
    Mode,
    ModelResult,
    PairResult,
    Provenance,
    Quality,
    RowResult,
    plain,
)
from ranker.results.table import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1

_Cells = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Ranking:
    """The answer of a run.

    Attributes:
        mode: "evaluation" (the truth is known: how good is each method?) or "decision" (it is not: which model?).
        ood, suite: names.
        attribution: the backend that the factors read ("none": baselines alone).
        probe: K, labelled examples a draw; in a decision, all there are.
        draws: B, or "exact": over all draws there are; methods that are no means are drawn even then.
        seed: of the draws.
        table: every score, in the order of the suite.
        models: by rank, best first.
        methods: in the order of the table, then RANDOM and the combined ones; empty in a decision.
        pair_results: every decided pair with every method, best models first; empty in a decision.
        tied_pairs: pairs left out because their OOD accuracies are equal.
        near: OOD accuracies less than this apart make a near pair.
        decision: None in an evaluation.
        rows: (K,) the labelled rows, as every model predicts them; empty in an evaluation.
        failures: model -> why it is not ranked.
        left_out: method -> why it has no numbers: it cannot apply to this set, or is defined on none of its examples.
        failed_factors: those of the user's own that raised, or returned no number, on every example.
        quality: model -> how good its attributions are.
        notes: what a reader of the numbers has to know, a sentence each.
        provenance: what the numbers were made from.
        examples: what the models see in some examples: see `ranker.scoring.views.telling`.
    """

    mode: Mode
    ood: str
    suite: str
    probe: int
    draws: int | Literal["exact"]
    seed: int
    table: ScoreTable
    models: tuple[ModelResult, ...]
    attribution: str = "none"
    methods: tuple[MethodResult, ...] = ()
    pair_results: tuple[PairResult, ...] = ()
    tied_pairs: int = 0
    near: float = 0.1
    decision: Decision | None = None
    rows: tuple[RowResult, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    failed_factors: tuple[str, ...] = ()
    quality: Mapping[str, Quality] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)
    examples: tuple[Explanation, ...] = ()

    def __repr__(self) -> str:
        """In a line; the whole of it is `to_dict`, and a table is what a notebook shows, or `to_pandas`."""
        by = f"{len(self.methods)} methods, best" if self.decision is None else f"by {self.decision.method}, first"
        what = f"{self.suite} on {self.ood}: {len(self.models)} models, K = {self.probe}"
        return f"<Ranking {what}, {by} {self.models[0].name}>"

    def method(self, name: str) -> MethodResult:
        """The result of one method.

        Raises:
            UnknownName: no such method was measured.
        """
        return look_up("method", name, {result.name: result for result in self.methods})

    def pairs(self) -> list[dict[str, Any]]:
        """A row for every pair of models: with every method in an evaluation, with its probability in a decision."""
        if self.decision is None:
            return [asdict(pair) for pair in self.pair_results]
        names, found = self.decision.models, self.decision
        return [
            {"a": names[i], "b": names[j], "method": found.method}
            | {"p_beats": found.p_beats[i][j], "more_labels": found.more_labels[i][j]}
            for i in range(len(names))
            for j in range(i + 1, len(names))
        ]

    def to_dict(self) -> dict[str, Any]:
        """The stable schema: all but the score table and the examples, as JSON knows it (null where undefined)."""
        return {
            "schema_version": SCHEMA_VERSION,
            "mode": self.mode,
            "ood": self.ood,
            "suite": self.suite,
            "probe": self.probe,
            "draws": self.draws,
            "seed": self.seed,
            "attribution": self.attribution,
            "near": self.near,
            "tied_pairs": self.tied_pairs,
            "models": [plain(model) for model in self.models],
            "methods": [plain(method) for method in self.methods],
            "pairs": self.pairs(),
            "decision": None if self.decision is None else asdict(self.decision),
            "rows": [plain(row) for row in self.rows],
            "failures": dict(self.failures),
            "left_out": dict(self.left_out),
            "failed_factors": list(self.failed_factors),
            "quality": {model: asdict(found) for model, found in self.quality.items()},
            "notes": list(self.notes),
            "provenance": self.provenance.to_dict(),
        }

    def to_pandas(self) -> pd.DataFrame:
        """A row a method (evaluation) or a model (decision), with the fields of the result as columns.

        In a decision with those of the `Decision`, too, and `tied`: the models that it cannot be told apart from.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise UsageError("`to_pandas` needs pandas; install it with `pip install pandas`") from error
        rows = [plain(row) for row in (self.methods or self.models)]
        if self.decision is not None:
            rows = [row | decided for row, decided in zip(rows, _by_model(self.decision), strict=True)]
        return pd.DataFrame(rows).set_index("name")

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
            Path(path).write_bytes(text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise RankModelsError(f"the ranking cannot be written to {path}: {error.strerror}") from error

    @classmethod
    def load(cls, path: str | Path) -> Ranking:
        """Read what `save` wrote.

        Raises:
            DataError: the file cannot be read, is no ranking, or is one of another schema.
        """
        whole = records.read_json(Path(path), "a ranking")
        version = whole.get("schema_version") if isinstance(whole, dict) else None
        if version != SCHEMA_VERSION:
            raise DataError(f"{path} must be a ranking of schema {SCHEMA_VERSION} (got {version!r}); rank again")
        try:
            return _from_dict(whole)
        except KeyError as error:
            raise DataError(f"{path} is no whole ranking: it has no {error}") from error
        except (ValueError, UsageError) as error:
            raise DataError(f"{path} is no whole ranking: {error}") from error

    def _repr_html_(self) -> str:
        """The methods (evaluation) or models (decision) as a small table, for notebooks."""
        head, rows = self._methods_html() if self.decision is None else self._decision_html(self.decision)
        title = html.escape(f"{self.suite} on {self.ood}, K = {self.probe}")
        return f"<table><caption>{title}</caption>{_row('th', head)}{''.join(_row('td', row) for row in rows)}</table>"

    def _methods_html(self) -> tuple[_Cells, list[_Cells]]:
        head = ("method", "pairwise accuracy", "95 % interval", "minus ACC")
        return head, [
            (m.name, f"{m.few_shot_accuracy:.1%}", f"{m.ci_low:.1%} to {m.ci_high:.1%}", points(m.vs_acc))
            for m in self.methods
        ]

    def _decision_html(self, found: Decision) -> tuple[_Cells, list[_Cells]]:
        head = ("model", found.method, "accuracy here", "95 % interval", "P(best)")
        columns = zip(found.models, found.scores, found.accuracy, found.low, found.high, found.p_best, strict=True)
        return head, [
            (name, "" if score is None else f"{score:.3f}", f"{accuracy:.0%}", f"{low:.0%} to {high:.0%}", f"{p:.1%}")
            for name, score, accuracy, low, high, p in columns
        ]


def _by_model(found: Decision) -> Iterator[dict[str, Any]]:
    """What a decision says of each model, in its order."""
    for i in range(len(found.models)):
        tied = [name for j, name in enumerate(found.models) if j != i and not found.apart(i, j)]
        numbers = {field: getattr(found, field)[i] for field in ("accuracy", "low", "high", "p_best")}
        yield {"method": found.method, "score": found.scores[i], **numbers, "tied": ", ".join(tied)}


def _row(tag: str, cells: _Cells) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _table_to_dict(table: ScoreTable) -> dict[str, Any]:
    values = table.values.astype(object)
    values[np.isnan(table.values)] = None
    declared = [field.name for field in fields(Factor) if field.name != "score"]
    methods = [{name: getattr(method, name) for name in declared} for method in table.methods]
    return {
        "models": table.models,
        "methods": methods,
        "examples": table.examples,
        "labels": table.labels,
        "ood_accuracy": None if table.ood_accuracy is None else table.ood_accuracy.tolist(),
        "dropped": {name: dict(reasons) for name, reasons in table.dropped.items()},
        "values": values.tolist(),
    }


def _table_from_dict(content: Any) -> ScoreTable:
    whole = records.table(content, "table")
    truth = records.typed(whole["ood_accuracy"], tuple[float, ...] | None, "ood_accuracy")
    declared = records.typed(whole["methods"], tuple[Any, ...], "methods")
    try:
        values = np.array(whole["values"], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("`values` must be numbers, by model, method and example") from error
    if np.isinf(values).any():
        raise ValueError("`values` must be finite")
    return ScoreTable(
        models=records.typed(whole["models"], tuple[str, ...], "models"),
        methods=tuple(
            records.record(Factor, {**records.table(one, "methods"), "score": not_saved}, "methods") for one in declared
        ),
        examples=records.typed(whole["examples"], tuple[str, ...], "examples"),
        values=values,
        labels=records.typed(whole["labels"], tuple[int, ...], "labels"),
        ood_accuracy=None if truth is None else np.array(truth, dtype=np.float64),
        dropped=records.typed(whole["dropped"], Mapping[str, Mapping[str, int]], "dropped"),
    )


def _from_dict(whole: Mapping[str, Any]) -> Ranking:
    decided = whole["decision"] is not None
    fields = {key: value for key, value in whole.items() if key not in ("schema_version", "pairs")}
    made = {
        "table": _table_from_dict(whole["table"]),
        "methods": tuple(map(_method, records.typed(whole["methods"], tuple[Any, ...], "methods"))),
        "pair_results": () if decided else whole["pairs"],
        "decision": _decision_from_dict(whole["decision"]) if decided else None,
        "examples": _examples(whole.get("examples", [])),  # files of before have none
    }
    if whole["draws"] != "exact":
        made["draws"] = records.typed(whole["draws"], int, "draws")
    ranking = records.record(Ranking, fields | made, whole="the ranking")
    if not ranking.models or (ranking.decision is not None and not ranking.decision.models):
        raise ValueError("`models` are none")
    _check_references(ranking)
    return ranking


def _check_references(ranking: Ranking) -> None:
    """Refuse a ranking in which one part names what another does not have: a report would look for it in vain.

    Raises:
        ValueError: so it does.
    """
    models = {model.name for model in ranking.models}
    measured = {method.name for method in ranking.table.methods}
    results = {method.name for method in ranking.methods}
    _within("`models` are some that", models, ranking.table.models, "the table")
    for model in ranking.models:
        _within(f"{model.name} has scores by methods that", model.scores, measured, "the table")
    for row in ranking.rows:
        _same(f"what is predicted of {row.id}", row.predicted, models, "the models")
    if ranking.decision is not None:
        _same("decision.models", ranking.decision.models, models, "the models")
        _within("`decision` reads methods that", {"ACC"}, measured, "the table")
    pairs = {method: {(pair.a, pair.b) for pair in ranking.pair_results if pair.method == method} for method in results}
    _within("`pairs` name methods that", {pair.method for pair in ranking.pair_results}, results, "`methods`")
    _within("`pairs` name models that", {name for pair in ranking.pair_results for name in (pair.a, pair.b)}, models,
            "`models`")  # fmt: skip
    for method, found in pairs.items():
        _same(f"the pairs of {method}", found, next(iter(pairs.values())), "those of the other methods")
    _within("`quality` is of models that", ranking.quality, models, "`models`")
    for example in ranking.examples:
        factors = {factor.name for factor in example.factors}
        _within(f"the example {example.example.id} is read by models that", {one.model for one in example.readings},
                models, "`models`")  # fmt: skip
        for one in example.readings:
            _same(f"what {one.model} reads in {example.example.id}", one.values, factors, "the factors of the example")


def _same(what: str, found: Iterable[Any], expected: Iterable[Any], whose: str) -> None:
    """Refuse names that are not the same, in whatever order."""
    if odd := set(found) ^ set(expected):
        raise ValueError(f"{what} must be those of {whose} (one side alone has {min(map(str, odd))!r})")


def _within(what: str, found: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse names that are not known."""
    if odd := set(found) - set(known):
        raise ValueError(f"{what} are not in {where}: {min(odd)!r}")


def _decision_from_dict(content: Any) -> Decision:
    given = records.table(content, "decision")
    return records.record(Decision, {name: value for name, value in given.items() if name != "groups"}, "decision")


def _examples(content: Any) -> tuple[Explanation, ...]:
    try:
        return tuple(map(Explanation.from_dict, records.typed(content, tuple[Any, ...], "examples")))
    except (TypeError, AttributeError) as error:
        raise ValueError(f"`examples` must be what `explain --format json` writes: {error}") from error


def _method(content: Any) -> MethodResult:
    """A method's result; JSON has no numbers for keys, which a curve's are."""
    given = records.table(content, "methods")
    curve = {int(size): accuracy for size, accuracy in records.table(given.get("curve", {}), "curve").items()}
    return records.record(MethodResult, {**given, "curve": curve}, "methods")
