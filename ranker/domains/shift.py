"""How far domains are from each other: every two sets for themselves, so that no third changes what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from factors import Example
from factors.types import Floats
from ranker.domains import words
from ranker.domains.classifier import DomainClassification, classify_domains
from ranker.domains.references import KINDS, kinds, nearest, published
from ranker.domains.words import Both, WordCounts
from ranker.errors import listed
from ranker.limits import LIMITS, Limits
from ranker.numbers import interval, p_value, percent
from ranker.progress import Progress, silent
from ranker.results import shift as results
from ranker.results.shift import Pair, Verdict
from ranker.statistics import near, shift, summaries
from ranker.statistics.places import places
from ranker.statistics.shift import DistanceMeasure, Mmd
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.names import fold

FEW = 20
"""Texts of a set below which nothing is said of its distance."""


LABELS = 50
"""Different labels of a set that are more than these are no labels."""


@dataclass(frozen=True)
class Domain:
    """A set of texts.

    Attributes:
        name: of the set.
        examples: the rows, in their order.
        labels: (N,) as they are written; None where a row has none.
        words: of a topic, those that stand for it.
        summaries: (N,) the summary of each text; none where the rows have none.
        limits: how many words there may be in it.
        vectors: (N, D) of an encoder of sentences; None where there is none.
    """

    name: str
    examples: Sequence[Example]
    labels: Sequence[str | None]
    words: tuple[str, ...] = ()
    summaries: Sequence[str] = ()
    limits: Limits = LIMITS
    vectors: Floats | None = field(default=None, compare=False, repr=False)

    @property
    def texts(self) -> list[str]:
        """(N,) each row as one text."""
        return [" ".join(example.segments) for example in self.examples]

    def part(self, name: str, rows: Sequence[int], words: tuple[str, ...] = ()) -> Domain:
        """Some of its rows, under a name of their own."""
        summaries = [self.summaries[row] for row in rows] if self.summaries else ()
        examples, labels = [self.examples[row] for row in rows], [self.labels[row] for row in rows]
        return Domain(name, examples, labels, words, summaries, self.limits)

    def called(self, task: ClassificationTask) -> Domain:
        """Its labels by the names that a task has for them; one that is none of the task's stays as it is written."""
        indices = [None if label is None else task.index(label) for label in self.labels]
        labels = [
            label if index is None else task.labels[index] for index, label in zip(indices, self.labels, strict=True)
        ]
        return replace(self, labels=labels)

    @cached_property
    def counted(self) -> WordCounts:
        """Its words; those of two segments together.

        Raises:
            DataError: they are too many.
        """
        return words.counted(self.texts, self.name, self.limits)

    @cached_property
    def frequencies(self) -> Mapping[str, int]:
        """How often each label is there, by the name that it has first; case does not matter.

        None is where there are more than `LABELS`: these are numbers or texts, and no labels.
        """
        named: dict[str, str] = {}
        found = Counter(named.setdefault(fold(label), label) for label in self.labels if label is not None)
        return found if len(found) <= LABELS else {}

    def described(self, rng: np.random.Generator) -> results.DomainSummary:
        """What a report says of it.

        Args:
            rng: of the resamples of its summaries.
        """
        lengths, total = self.counted.lengths, sum(self.frequencies.values())
        return results.DomainSummary(
            self.name,
            len(self.examples),
            float(lengths.mean()),
            float(np.median(lengths)),
            {label: count / total for label, count in sorted(self.frequencies.items())},
            self.words,
            self._summed_up(rng),
        )

    def _summed_up(self, rng: np.random.Generator) -> tuple[DistanceMeasure, ...]:
        numbers: dict[str, int] = {}

        def tokens(text: str) -> list[int]:
            return [numbers.setdefault(token, len(numbers)) for token in words.tokens_of(text)]

        pairs = zip(self.examples if self.summaries else (), self.summaries, strict=True)
        return summaries.means(((tokens(" ".join(text.segments)), tokens(one)) for text, one in pairs), rng)


def measured(domains: Sequence[Domain], seed: int = 0, progress: Progress = silent, encoder: str = "") -> results.Shift:
    """Measure how far every two of several domains are from each other.

    Args:
        domains: two or more, the in-domain one first.
        seed: of draws and resamples; each pair has the same.
        progress: is told of each pair.
        encoder: what their vectors are of, in words; "" where they have none.
    """
    with progress("domains", len(domains) * (len(domains) - 1) // 2) as advance:
        pairs = []
        for a, b in combinations(domains, 2):
            pairs.append(between(a, b, np.random.default_rng(seed)))
            advance(1)
    return results.Shift(
        tuple(domain.described(np.random.default_rng(seed)) for domain in domains),
        tuple(pairs),
        _places([domain.name for domain in domains], pairs, "encoder_cosine" if encoder else "cosine"),
        seed,
        (*notes(domains), *_published(domains[0].name, pairs, encoder)),
        encoder,
    )


def between(a: Domain, b: Domain, rng: np.random.Generator) -> Pair:
    """Measure how far two domains are from each other.

    Args:
        a, b: the in-domain set first.
        rng: of draws and resamples.
    """
    embedding, centring, drawing, overlapping, lengthening, labelling, classifying, hashing = rng.spawn(8)
    of = words.both(a.counted, b.counted)
    first, second = words.vectors(of, embedding)
    apart = shift.mmd(first, second, drawing) if min(len(first), len(second)) > 1 else None
    groups = ([example.segments[0] for example in a.examples], [example.segments[0] for example in b.examples])
    classified = classify_domains(of, groups, classifying)
    found = (
        shift.of_centroids(first, second, centring),
        None if apart is None else apart.squared,
        *_encoded(a, b, rng),
        classified.auc,
        *_overlaps(of, overlapping),
        shift.ratio_of_means(a.counted.lengths, b.counted.lengths, lengthening),
        _labels(a, b, labelling),
        shift.share("repeated", _repeated(a, b)),
        shift.share("nearly_repeated", near.repeated(of.first, of.second, hashing) | _repeated(a, b)),
    )
    wordless = [one.name for one, own in ((a, first), (b, second)) if not own.any()]
    verdict, by, reason = _verdict(a, b, apart, classified, wordless)
    measures = tuple(one for one in found if one is not None)
    p = None if apart is None else apart.p
    return Pair(a.name, b.name, measures, p, verdict, by, reason, classified.first, classified.second)


def _encoded(a: Domain, b: Domain, rng: np.random.Generator) -> Iterator[DistanceMeasure]:
    """The same two by the vectors of an encoder, where there are some."""
    centring, drawing = rng.spawn(2)
    if a.vectors is None or b.vectors is None:
        return
    yield replace(shift.of_centroids(a.vectors, b.vectors, centring), name="encoder_cosine")
    if min(len(a.vectors), len(b.vectors)) > 1:
        yield replace(shift.mmd(a.vectors, b.vectors, drawing).squared, name="encoder_mmd")


def _overlaps(of: Both, rng: np.random.Generator) -> list[DistanceMeasure]:
    """Overlaps of words, over as many texts of each."""
    drawing, *resampling = rng.spawn(3)
    size = min(counts.shape[0] for counts in of.counts)
    first, second = (counts[np.sort(drawing.permutation(counts.shape[0])[:size])] for counts in of.counts)
    return [
        shift.word_overlap(first, second, resampling[0]),
        shift.vocabulary_overlap(first[:, of.content], second[:, of.content], resampling[1]),
    ]


def _labels(a: Domain, b: Domain, rng: np.random.Generator) -> DistanceMeasure | None:
    """How far the labels are apart; None where one set has none, or none of the other's."""
    counts = [{fold(label): count for label, count in one.frequencies.items()} for one in (a, b)]
    if not counts[0].keys() & counts[1].keys():
        return None
    every = sorted({*counts[0], *counts[1]})
    first, second = (np.array([one.get(label, 0) for label in every]) for one in counts)
    return shift.total_variation(first, second, rng)


def _repeated(a: Domain, b: Domain) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(O,) which texts of b stand in a, character for character."""
    known = {example.segments for example in a.examples}
    return np.array([example.segments in known for example in b.examples])


def _verdict(
    a: Domain, b: Domain, apart: Mmd | None, classified: DomainClassification, wordless: Sequence[str]
) -> tuple[Verdict, str, str]:
    """How far two domains are, the reference pair that is nearest, and the reason in a sentence.

    Args:
        a, b, apart, classified: the domains, and what was found.
        wordless: the names of those whose vectors of words are all 0.
    """
    for one in (a, b):
        if len(one.examples) < FEW:
            return "cannot be told", "", f"{one.name} has {len(one.examples)} texts, and {FEW} are needed."
        if len({example.segments for example in one.examples}) == 1:
            return "cannot be told", "", f"All texts of {one.name} are equal."
    if wordless:
        return "cannot be told", "", f"No word of {' and '.join(wordless)} stands in two of the texts."
    assert apart is not None  # two texts would do
    assert apart.squared.value is not None
    squared, by = apart.squared, nearest(apart.squared.value)
    number = f"MMD^2 {squared.value:.4f} ({interval(squared.low, squared.high, _small)}; p {p_value(apart.p)})"
    reached = kinds(squared)
    if len(reached) == len(KINDS):
        return "cannot be told", by.said, f"{number} may be that of {', of '.join(KINDS.values())}."
    beside = next((kind for kind in KINDS if kind in reached - {by.kind}), None)
    doubt = f", and may be that of {KINDS[beside]}" if beside else ""
    words_tell = (
        f"; by its words a text is told from one of {a.name} with an AUC of {percent(classified.auc.value)} %"
        if classified.auc.value is not None
        else ""
    )
    reason = f"{number} is nearest to that of {by.said} ({by.mmd:.4f}), {KINDS[by.kind]}{doubt}{words_tell}."
    return by.kind, by.said, reason


def _small(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def notes(domains: Sequence[Domain]) -> Iterator[str]:
    """What a reader has to know of the sets."""
    wordless = [one.name for one in domains if not one.counted.vocabulary]
    if wordless:
        yield f"No word stands in {listed(wordless)}."
    for a, b in combinations(domains, 2):
        if a.counted.vocabulary and b.counted.vocabulary and not {*a.counted.vocabulary} & {*b.counted.vocabulary}:
            yield f"{a.name} and {b.name} have no word in common: another language, or another script?"
    first, *new = domains
    others = [one.name for one in new if one.frequencies and not _folded(one) & _folded(first)]
    if first.frequencies and others:
        yield f"{listed(others)}: no label of {first.name} ({listed(first.frequencies)}), so no shift of labels."
    sizes = {len(one.examples[0].segments) for one in domains}
    if len(sizes) > 1:
        yield "Some sets have one text a row, and some two, which are read as one."


def _published(first: str, pairs: Sequence[Pair], encoder: str) -> Iterator[str]:
    """Of vectors of SimCSE the published pair whose cosine is nearest, for each new set."""
    for pair in pairs if "simcse" in encoder.casefold() else ():
        value = pair.measure("encoder_cosine").value
        if pair.a == first and value is not None:
            near = min(published(), key=lambda one: abs(one.cosine - value))
            yield (
                f"{pair.b}: a cosine of {value:.3f} by SimCSE is nearest to that of {near.a} and {near.b} "
                f"({near.cosine:.3f}) among the sentiment sets of BOSS (Table 2)."
            )


def _folded(domain: Domain) -> set[str]:
    return {*map(fold, domain.frequencies)}


def _places(names: Sequence[str], pairs: Sequence[Pair], measured: str) -> dict[str, tuple[float, float]]:
    """A map of the sets; empty where a centroid has no direction."""
    cosines: Floats = np.eye(len(names))
    for pair in pairs:
        value = pair.measure(measured).value
        if value is None:
            return {}
        i, j = names.index(pair.a), names.index(pair.b)
        cosines[i, j] = cosines[j, i] = value
    found = places(np.sqrt(np.maximum(2 - 2 * cosines, 0.0)))
    return {name: (float(x), float(y)) for name, (x, y) in zip(names, found, strict=True)}
