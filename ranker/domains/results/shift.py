"""`Shift`: distances between domains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ranker.errors import listed
from ranker.numbers import counted
from ranker.results.result import NAMES, Result, to_plain
from ranker.statistics.correlation import DistanceMeasure

SHIFT_VERSION, SELECTION_VERSION = 2, 1
"""Versions of their JSON."""

Verdict = Literal["near", "far", "other", "cannot be told"]
"""Verdict on a distance: like halves of one set, like sets of one task, like sets of two tasks, or unknown."""

Outcome = Literal["drop", "value"]
"""Outcome of models on a set: the loss against in-domain, or the mean value."""


@dataclass(frozen=True)
class DomainSummary:
    """Summary of one set of texts.

    Attributes:
        name: name of the set, of a file, or of a part of one.
        rows: number of its texts.
        mean_words, median_words: length of a text in words.
        labels: label -> its share of the labelled rows, a fraction; empty without labels.
        words: most probable words of a topic, the most telling first; else empty.
        summaries: DomainSum's eight measures, if texts have summaries; else empty.
    """

    name: str
    rows: int
    mean_words: float
    median_words: float
    labels: Mapping[str, float] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    summaries: tuple[DistanceMeasure, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two domains and the distance between them.

    Attributes:
        a, b: their names; a is the in-domain one, or the first one named.
        measures: measures of their distance.
        p: p of a permutation test of `mmd` that both are samples of one domain.
        verdict: verdict on the distance.
        nearest: the reference pair with the nearest distance; "" without one.
        reason: the verdict in words, with its numbers.
        words_a, words_b: the words that mark each domain, the most telling first.
    """

    a: str
    b: str
    measures: tuple[DistanceMeasure, ...]
    p: float | None
    verdict: Verdict
    nearest: str
    reason: str
    words_a: tuple[str, ...]
    words_b: tuple[str, ...]

    def measure(self, name: str) -> DistanceMeasure:
        """Return one of the measures; undefined if it was not taken."""
        return next(
            (measure for measure in self.measures if measure.name == name), DistanceMeasure(name, None, None, None)
        )


@dataclass(frozen=True)
class Score:
    """Mean outcome of one model on one set.

    Attributes:
        domain: the set.
        model: the model.
        rows: number of labelled rows.
        value: mean outcome, a fraction: for classes the accuracy.
        low, high: its 95 % interval.
    """

    domain: str
    model: str
    rows: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Correlation:
    """Correlation between a measure of sets and the models' scores on them.

    Attributes:
        measure: name of the measure.
        sets: number of sets.
        pearson: r of the measure and the outcome, averaged over models; None if undefined, as below.
        pearson_low, pearson_high: its 95 % interval.
        p: two-sided p that r is 0.
        spearman: rho.
        spearman_low, spearman_high: its 95 % interval.
        outcome: "drop" from in-domain, or "value".
        level: the level of the sets in a hierarchy; "" for all.
    """

    measure: str
    sets: int
    pearson: float | None
    pearson_low: float | None
    pearson_high: float | None
    p: float | None
    spearman: float | None
    spearman_low: float | None
    spearman_high: float | None
    outcome: Outcome = "drop"
    level: str = ""


@dataclass(frozen=True)
class SetChoice:
    """Choice of a set to test on outside the domain, with the reason.

    Attributes:
        name: name of the set.
        source: origin of its texts.
        similarity: cosine of its centroid with the in-domain one.
        drop: loss of the models against in-domain, a fraction, averaged over them.
        chosen: whether it is chosen.
        reason: the reason, with the number that decides.
    """

    name: str
    source: str
    similarity: float
    drop: float
    chosen: bool = False
    reason: str = ""


@dataclass(frozen=True, repr=False)
class Selection(Result):
    """Sets to test models on, chosen from numbers alone.

    Attributes:
        first: the in-domain set.
        source: origin of its texts.
        choices: decision on each other set.
        notes: notes for a reader, a sentence each.

    Example:
        >>> Selection("train", "web", ())
        test sets for train: none
    """

    first: str
    source: str
    choices: tuple[SetChoice, ...]
    notes: tuple[str, ...] = ()

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the chosen sets."""
        return tuple(choice.name for choice in self.choices if choice.chosen)

    @property
    def answer(self) -> str:
        """The chosen sets."""
        return f"test sets for {self.first}: {', '.join(self.chosen) or 'none'}"

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each set, with the fields of `SetChoice`."""
        return [to_plain(choice) for choice in self.choices]

    def in_words(self) -> list[dict[str, str]]:
        """Return each set with the reason for the decision."""
        return [
            {"set": choice.name, "chosen": "yes" if choice.chosen else "no", "reason": choice.reason}
            for choice in self.choices
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the stable schema: see `docs/json-schema.md`."""
        return {"schema_version": SELECTION_VERSION, **to_plain(self)}


@dataclass(frozen=True, repr=False)
class Shift(Result):
    """Distances between domains.

    Attributes:
        domains: the in-domain set first.
        pairs: every two of them, in their order; those of the first set come first.
        seed: random seed.
        notes: notes for a reader, a sentence each.
        encoder: the encoder of `encoder_cosine` and `encoder_mmd`, with layer and pooling; "" without one.
        metric: metric of the models' outcomes: "ACC" for classes; "" without models.
        scores: mean outcome of each model on each set that has labels.
        correlations: correlations between the measures and the models' losses.
        failures: model -> why it could not be run.
        halves: MMD^2 of words between two random halves of the in-domain set; empty if it has too few texts.

    Example:
        >>> from ranker import load_set, shift
        >>> shift(load_set("hans-sub"), load_set("paws"))
        hans-sub and 1 other domain
        paws: other
    """

    index: ClassVar[tuple[str, ...]] = ("a", "b", "measure")
    figures: ClassVar[str] = "ranker.domains.report.shift_figures"

    domains: tuple[DomainSummary, ...]
    pairs: tuple[Pair, ...]
    seed: int
    notes: tuple[str, ...] = ()
    encoder: str = ""
    metric: str = ""
    scores: tuple[Score, ...] = ()
    correlations: tuple[Correlation, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    halves: tuple[DistanceMeasure, ...] = ()

    @property
    def first(self) -> str:
        """Name of the in-domain set."""
        return self.domains[0].name

    @property
    def new(self) -> tuple[Pair, ...]:
        """Pairs of the in-domain set with each other set."""
        return tuple(pair for pair in self.pairs if pair.a == self.first)

    @property
    def models(self) -> tuple[str, ...]:
        """Models whose scores are known."""
        return tuple(dict.fromkeys(score.model for score in self.scores))

    def score(self, domain: str, model: str) -> Score | None:
        """Return the score of one model on one set; None if unknown."""
        return next((entry for entry in self.scores if (entry.domain, entry.model) == (domain, model)), None)

    def drop(self, domain: str) -> float | None:
        """Return the mean loss on a set against in-domain, over models whose scores on both are known."""
        pairs = [(self.score(self.first, model), self.score(domain, model)) for model in self.models]
        losses = [in_domain.value - new.value for in_domain, new in pairs if in_domain and new]
        return sum(losses) / len(losses) if losses else None

    @property
    def closeness(self) -> str:
        """Measure of similarity: the cosine by the encoder if there is one, else by words."""
        return "encoder_cosine" if self.encoder else "cosine"

    def pair(self, a: str, b: str) -> Pair:
        """Return the pair of two domains, in either order."""
        return next(pair for pair in self.pairs if {pair.a, pair.b} == {a, b})

    @property
    def title(self) -> str:
        """One-line title of the comparison."""
        return f"{self.first} and {counted(len(self.domains) - 1, 'other domain')}"

    @property
    def answer(self) -> str:
        """Verdict on each new domain."""
        kinds: dict[str, list[str]] = {}
        for pair in self.new:
            kinds.setdefault(pair.verdict, []).append(pair.b)
        lines = (f"{listed(names, NAMES)}: {verdict}" for verdict, names in kinds.items())
        return "\n".join([self.title, *lines])

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure of each pair, then of each set's summaries, whose `a` and `b` are this set."""
        of_pairs = [((pair.a, pair.b), measure, pair) for pair in self.pairs for measure in pair.measures]
        of_sets = [((domain.name,) * 2, measure, None) for domain in self.domains for measure in domain.summaries]
        return [
            {"a": a, "b": b, "measure": measure.name}
            | {"value": measure.value, "low": measure.low, "high": measure.high}
            | {"verdict": pair and pair.verdict, "p": pair.p if pair and measure.name == "mmd" else None}
            for (a, b), measure, pair in (*of_pairs, *of_sets)
        ]

    def in_words(self) -> list[dict[str, str]]:
        """Return the distance of each new domain from the first, in the measures behind the verdict."""
        return [
            {
                "domain": pair.b,
                "verdict": pair.verdict,
                **{
                    name: "" if (value := pair.measure(name).value) is None else f"{value:.3f}"
                    for name in ("cosine", "mmd", "auc")
                },
            }
            for pair in self.new
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the stable schema: see `docs/json-schema.md`."""
        return {"schema_version": SHIFT_VERSION, **to_plain(self)}
