"""`Shift`: how far domains are from each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ranker.errors import listed
from ranker.numbers import counted
from ranker.results.result import NAMES, Result, plain
from ranker.statistics.shift import DistanceMeasure

SCHEMA_VERSION = 1

Verdict = Literal["near", "far", "other", "cannot be told"]
"""Like two halves of one set, like two sets of one task, like sets of two tasks; or not known."""


@dataclass(frozen=True)
class DomainSummary:
    """What is known of one set of texts.

    Attributes:
        name: of the set, of a file, or of a part of one.
        rows: how many texts it has.
        mean_words, median_words: how long they are, in words.
        labels: label -> its share of the labelled rows, a fraction; empty where there is none.
        words: of a topic, the words that stand for it, the most telling first; else none.
        summaries: DomainSum's eight measures, where texts have summaries; else none.
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
    """Two domains.

    Attributes:
        a, b: their names; a is the in-domain one, or the one that was named first.
        measures: how far they are from each other.
        p: of a permutation test of `mmd`, that both are samples of one domain.
        verdict: how far that is.
        nearest: the pair of sets that come with the product whose distance is nearest to theirs; "" where none is.
        reason: the verdict in words, with its numbers.
        words_a, words_b: the words that give each domain away, the most telling first.
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
        """One of the measures; undefined where it was not taken."""
        return next((one for one in self.measures if one.name == name), DistanceMeasure(name, None, None, None))


@dataclass(frozen=True)
class Score:
    """How good one model is on one set.

    Attributes:
        domain: the set.
        model: the model.
        rows: on how many labelled rows.
        value: its mean outcome, a fraction: of classes its accuracy.
        low, high: the 95 % interval of that.
    """

    domain: str
    model: str
    rows: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimated:
    """How frequent labels are in a new domain, estimated from what one model predicts there.

    Attributes:
        domain: the set.
        model: the model.
        shares: label -> its estimated share, a fraction.
        shift: their total variation from those in-domain.
        condition: what an error of the predicted shares is multiplied by, at most.
    """

    domain: str
    model: str
    shares: Mapping[str, float]
    shift: float
    condition: float


@dataclass(frozen=True)
class Correlation:
    """Whether a measure goes with what models lose in new domains.

    Attributes:
        measure: which.
        sets: over how many new domains.
        pearson: r of the measure and the drop, averaged over models; None where it is not defined, as below.
        pearson_low, pearson_high: its 95 % interval.
        spearman: rho.
        spearman_low, spearman_high: its 95 % interval.
    """

    measure: str
    sets: int
    pearson: float | None
    pearson_low: float | None
    pearson_high: float | None
    spearman: float | None
    spearman_low: float | None
    spearman_high: float | None


@dataclass(frozen=True)
class SetChoice:
    """Whether a set is one to test on outside the domain, and why.

    Attributes:
        name: of the set.
        source: where its texts come from.
        similarity: the cosine of its centroid with the in-domain one.
        drop: how much worse the models are on it than in-domain, a fraction, averaged over them.
        chosen: whether it is chosen.
        reason: why, with the number that decides.
    """

    name: str
    source: str
    similarity: float
    drop: float
    chosen: bool
    reason: str


@dataclass(frozen=True, repr=False)
class Shift(Result):
    """How far domains are from each other.

    Attributes:
        domains: the in-domain set first.
        pairs: every two of them, in their order; those of the first set stand first.
        places: domain -> where it stands on a map of two dimensions, on which distances are about those of the
            centroids, by the measure of `closeness`.
        seed: of draws and resamples.
        notes: what a reader has to know, a sentence each.
        encoder: whose vectors `encoder_cosine` and `encoder_mmd` are of, with layer and pooling; "" without one.
        metric: what an outcome of the models is: "ACC" for classes; "" where no models were given.
        scores: how good each model is on each set that has labels.
        estimated: the frequencies of labels in new domains, estimated from what models predict.
        correlations: whether the measures go with what the models lose.
        choices: which sets to test on; none where that was not asked.
        failures: model -> why it could not be asked.

    Example:
        >>> from ranker import load_set, shift
        >>> shift(load_set("hans-sub"), load_set("paws"))
        hans-sub and 1 other domain
        paws: other
    """

    index: ClassVar[tuple[str, ...]] = ("a", "b", "measure")

    domains: tuple[DomainSummary, ...]
    pairs: tuple[Pair, ...]
    places: Mapping[str, tuple[float, float]]
    seed: int
    notes: tuple[str, ...] = ()
    encoder: str = ""
    metric: str = ""
    scores: tuple[Score, ...] = ()
    estimated: tuple[Estimated, ...] = ()
    correlations: tuple[Correlation, ...] = ()
    choices: tuple[SetChoice, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """The name of the in-domain set."""
        return self.domains[0].name

    @property
    def new(self) -> tuple[Pair, ...]:
        """The pairs of the in-domain set and each other."""
        return tuple(pair for pair in self.pairs if pair.a == self.first)

    @property
    def models(self) -> tuple[str, ...]:
        """The models whose scores are known."""
        return tuple(dict.fromkeys(one.model for one in self.scores))

    def score(self, domain: str, model: str) -> Score | None:
        """One model on one set; None where that is not known."""
        return next((one for one in self.scores if (one.domain, one.model) == (domain, model)), None)

    def drop(self, domain: str) -> float | None:
        """How much worse models are on a set than in-domain, averaged over those whose scores on both are known."""
        both = [(self.score(self.first, model), self.score(domain, model)) for model in self.models]
        known = [own.value - new.value for own, new in both if own and new]
        return sum(known) / len(known) if known else None

    @property
    def closeness(self) -> str:
        """The measure that says how like two sets are: the cosine by the encoder, if there is one, or else by words."""
        return "encoder_cosine" if self.encoder else "cosine"

    def pair(self, a: str, b: str) -> Pair:
        """Two domains, in whichever order."""
        return next(pair for pair in self.pairs if {pair.a, pair.b} == {a, b})

    @property
    def title(self) -> str:
        """What was compared, in a line."""
        return f"{self.first} and {counted(len(self.domains) - 1, 'other domain')}"

    @property
    def answer(self) -> str:
        """How far each new domain is from the first."""
        kinds: dict[str, list[str]] = {}
        for pair in self.new:
            kinds.setdefault(pair.verdict, []).append(pair.b)
        said = (f"{listed(names, NAMES)}: {verdict}" for verdict, names in kinds.items())
        return "\n".join([self.title, *said])

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each measure of each pair."""
        return [
            {"a": pair.a, "b": pair.b, "measure": one.name, "value": one.value, "low": one.low, "high": one.high}
            | {"verdict": pair.verdict, "p": pair.p if one.name == "mmd" else None}
            for pair in self.pairs
            for one in pair.measures
        ]

    def in_words(self) -> list[dict[str, str]]:
        """How far each new domain is from the first, in the measures that the verdict rests on."""
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
        """The stable schema: see `docs/json-schema.md`."""
        return {"schema_version": SCHEMA_VERSION, **plain(self)}
