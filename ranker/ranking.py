"""`Ranking`, the result: what a run found, as plain records that can be saved, loaded and shown."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from factors.registry import Factor
from ranker import records
from ranker.errors import DataError, RankModelsError, UsageError, look_up
from ranker.explanation import Explanation, not_saved
from ranker.numbers import points
from ranker.score import ScoreTable
from ranker.statistics.agreement import Kind

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1

_Cells = tuple[str, ...]

Mode = Literal["evaluation", "decision"]


@dataclass(frozen=True)
class MethodResult:
    """How well one method ranks the suite from K examples. Accuracies are fractions.

    Attributes:
        name: "ACC", "INDEX-DIFF", ...
        kind: "baseline" reads probabilities (RANDOM and GUESS: nothing), "factor" reads attributions, "combined" both.
            "pool" reads labelled rows and unlabelled ones, "label-free" unlabelled ones alone.
        designed: it is the factor designed for this OOD set.
        few_shot_accuracy: the mean of its pairwise accuracies over the pairs that are decided.
        ci_low, ci_high: 95 %, over populations of examples: what other examples of the domain would have given.
        models_low, models_high: 95 %, over models: what other models of this kind would have given; None if M < 3.
        vs_acc: few-shot accuracy minus that of ACC; None where ACC was not measured.
        vs_acc_low, vs_acc_high: 95 % of that difference over populations of examples: on the same draws, and paired,
            but for methods that see no label or chosen rows, which are taken as independent of ACC.
        dropped: reason -> how many examples the method could not be computed on.
        curve: K -> few-shot accuracy with a probe of K examples.
        splits: a part of the pairs -> few-shot accuracy on it. Parts: "near" and "far"; "within-family" and
            "across-family"; "misled", one of the two models follows the shortcut, and "not-misled", neither does.
    """

    name: str
    kind: Kind
    few_shot_accuracy: float
    ci_low: float
    ci_high: float
    models_low: float | None
    models_high: float | None
    vs_acc: float | None
    vs_acc_low: float | None
    vs_acc_high: float | None
    designed: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    curve: Mapping[int, float] = field(default_factory=dict)
    splits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Quality:
    """How good a model's attributions are, by the backend's own measure of error: `Settings.error`.

    Attributes:
        error_median, error_high: the median and the 95th percentile; None where there is no such measure.
        over_tolerance: rows over the error tolerance.
        truncated: rows that were cut at the model's limit.
    """

    error_median: float | None
    error_high: float | None
    over_tolerance: int
    truncated: int


@dataclass(frozen=True)
class Data:
    """The rows that numbers were made from.

    Attributes:
        origin: the file, or "embedded sample".
        rows: of the whole set.
        fingerprint: a hash of their content.
    """

    origin: str
    rows: int
    fingerprint: str


@dataclass(frozen=True)
class Provenance:
    """What numbers were made from; None, or empty, what is not known.

    Attributes:
        command: the command that made the run, as a shell takes it; a run from Python has none.
        data: the rows.
        population: N, rows that probes are drawn from; in a decision, all there are.
        settings: of the attribution backend.
        target: the rule that says which label attributions speak for.
        norm: what an example's attributions are divided by.
        dtype: of the models' numbers.
        versions: package -> version.
        models: model -> what identifies its checkpoint.
    """

    command: str | None = None
    data: Data | None = None
    population: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    target: str | None = None
    norm: str | None = None
    dtype: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """What is known, as JSON knows it."""
        known = _plain(self) | {"data": self.data and asdict(self.data)}
        return {name: value for name, value in known.items() if value not in (None, {})}


@dataclass(frozen=True)
class ModelResult:
    """One model, and where the truth and each method put it.

    Attributes:
        name: unique in the suite.
        family: its architecture, "" where unknown.
        ood_accuracy: on the whole OOD set, a fraction; None in a decision.
        rank: 1 for the best; by OOD accuracy, in a decision by the chosen method. Equal models share the better rank.
        scores: method -> mean score over the population, in the method's own unit.
        expected_rank: method -> the rank it gives the model, averaged over draws.
        in_domain_accuracy: on rows of the domain that it was trained for, a fraction; None where it is not known.
        misled: share of the rows on which the shortcut is wrong where the model gives the shortcut's label; None where
            the set has no shortcut, or no such row.
    """

    name: str
    family: str
    ood_accuracy: float | None
    rank: int
    scores: Mapping[str, float | None] = field(default_factory=dict)
    expected_rank: Mapping[str, float] = field(default_factory=dict)
    in_domain_accuracy: float | None = None
    misled: float | None = None


@dataclass(frozen=True)
class PairResult:
    """How often a method puts two models in the right order.

    Attributes:
        a, b: the models, the truly better one first.
        method: the ranking method.
        accuracy: share of draws in which it scores a better than b, a tie counting one half.
        accuracy_a, accuracy_b: OOD accuracies, fractions.
        gap: accuracy_a - accuracy_b.
        near: the gap is below the threshold that `Ranking.near` states.
        same_family: None where families are unknown.
    """

    a: str
    b: str
    method: str
    accuracy: float
    accuracy_a: float
    accuracy_b: float
    gap: float
    near: bool
    same_family: bool | None


@dataclass(frozen=True)
class Decision:
    """What K labelled rows say about models whose truth is not known. Models are in the predicted order, best first.

    The order is the method's; every probability and interval is about accuracy in the domain, from who was right on
    which row: see `ranker.decision`.

    Attributes:
        method: what the order was made by.
        models: (M,) names.
        scores: (M,) the method's score of each model on the rows, in its own unit; ACC's for ACC+TIES.
        accuracy: (M,) share of the rows that the model was right on.
        low, high: (M,) 95 % interval of the model's accuracy in the domain.
        p_best: (M,) probability that no other model is more accurate in the domain; models that cannot differ share
            it.
        p_beats: (M, M) probability that the model of the row is more accurate than that of the column; 1/2 on the
            diagonal.
        groups: sets of models within which no two are told apart; two that are in none together are. A model that is
            told from all others is a set of its own. They follow from `p_beats` and `level`.
        more_labels: (M, M) how many more labels would tell the two apart, with 90 % probability, if they go on to
            disagree as they did; 0 where they are told apart already. None where that cannot be said: the two were
            right on the same rows, or each as often where the other was not; with a pool: labels and pool put them
            level, or nearly so, or the pool has too few rows.
        level: the probability at which two models count as told apart.

    Raises:
        ValueError: the lengths do not agree.
    """

    method: str
    models: tuple[str, ...]
    scores: tuple[float | None, ...]
    accuracy: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    p_best: tuple[float, ...]
    p_beats: tuple[tuple[float, ...], ...]
    groups: tuple[tuple[str, ...], ...] = field(init=False)
    more_labels: tuple[tuple[int | None, ...], ...]
    level: float = 0.9

    def __post_init__(self) -> None:
        size = len(self.models)
        for name in ("scores", "accuracy", "low", "high", "p_best", "p_beats", "more_labels"):
            column = getattr(self, name)
            rows = column if name in ("p_beats", "more_labels") else ()
            if {len(column), *map(len, rows)} != {size}:
                raise ValueError(f"`{name}` must have the length {size}, a value for each model")
        together = groups(self.p_beats, self.level)
        object.__setattr__(self, "groups", tuple(tuple(self.models[m] for m in members) for members in together))

    def apart(self, i: int, j: int) -> bool:
        """Whether the models at two places of the order are told apart, whichever is the better one."""
        return apart(self.p_beats, i, j, self.level)


def apart(p_beats: Sequence[Sequence[float]], i: int, j: int, level: float) -> bool:
    """Whether one of two models is more accurate with a probability of that level, whichever it is.

    Args:
        p_beats: (M, M), see `Decision`.
        i, j: the two.
        level: the probability.
    """
    return max(p_beats[i][j], 1 - p_beats[i][j]) >= level


def groups(p_beats: Sequence[Sequence[float]], level: float) -> list[list[int]]:
    """Sets of models within which no two are told apart; two that are in none together are.

    Models that cannot be told apart need not be neighbours in the order: it may be another than that of accuracy, and
    how sure a difference is, depends on how often the two disagree. So a set is usually a run of the order, but need
    not be one.

    Args:
        p_beats: (M, M), see `Decision`.
        level: the probability at which two count as told apart.

    Example:
        >>> groups([[0.5, 0.7, 0.95], [0.3, 0.5, 0.8], [0.05, 0.2, 0.5]], 0.9)
        [[0, 1], [1, 2]]
    """
    size = len(p_beats)
    sets: list[list[int]] = []
    covered: set[tuple[int, int]] = set()
    for i, j in combinations(range(size), 2):
        if (i, j) in covered or apart(p_beats, i, j, level):
            continue
        members = [i, j]
        for k in range(size):
            if k not in members and not any(apart(p_beats, min(k, m), max(k, m), level) for m in members):
                members.append(k)
        sets.append(sorted(members))
        covered.update(combinations(sets[-1], 2))
    inside = {m for members in sets for m in members}
    return sorted([*sets, *([m] for m in range(size) if m not in inside)])


@dataclass(frozen=True)
class Row:
    """A labelled row of a decision, and what the models took it for.

    Attributes:
        id: of the example.
        label: the true one, by name.
        predicted: model -> label, by name.
    """

    id: str
    label: str
    predicted: Mapping[str, str]


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
        examples: what the models see in some examples: see `ranker.explain.telling`.
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
    rows: tuple[Row, ...] = ()
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
            "models": [_plain(model) for model in self.models],
            "methods": [_plain(method) for method in self.methods],
            "pairs": self.pairs(),
            "decision": None if self.decision is None else asdict(self.decision),
            "rows": [_plain(row) for row in self.rows],
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
        rows = [_plain(row) for row in (self.methods or self.models)]
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
        head = ("method", "few-shot accuracy", "95 % interval", "minus ACC")
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


def _plain(result: ModelResult | MethodResult | Row | Provenance) -> dict[str, Any]:
    """A record's fields, by name; frozen mappings, which JSON does not know, as dicts."""
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(result).items()}


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
    methods = [{key: value for key, value in vars_of(method).items() if key != "score"} for method in table.methods]
    return {
        "models": table.models,
        "methods": methods,
        "examples": table.examples,
        "labels": table.labels,
        "ood_accuracy": None if table.ood_accuracy is None else table.ood_accuracy.tolist(),
        "dropped": {name: dict(reasons) for name, reasons in table.dropped.items()},
        "values": values.tolist(),
    }


def vars_of(method: Factor) -> dict[str, Any]:
    """A factor's declaration, by field."""
    return {name: getattr(method, name) for name in Factor.__dataclass_fields__}


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
    if any(model.name not in row.predicted for row in ranking.rows for model in ranking.models):
        raise ValueError("`rows` must say what every model predicts")
    return ranking


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
