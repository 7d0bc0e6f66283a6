"""Measure how far domains are from each other, pair by pair, so that no third set changes a pair's figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from factors import Example
from factors.types import Floats
from ranker.domains import words
from ranker.domains.classifier import DomainClassification, classify_domains
from ranker.domains.references import KINDS, nearest_pair, verdicts_within
from ranker.domains.results import shift as results
from ranker.domains.results.shift import Pair, Verdict
from ranker.domains.statistics import shift, summaries
from ranker.domains.statistics.shift import Mmd
from ranker.domains.words import AlignedWords, WordCounts
from ranker.errors import listed
from ranker.limits import LIMITS, Limits
from ranker.numbers import interval, p_value, percent
from ranker.statistics.correlation import DistanceMeasure
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.names import fold

MIN_TEXTS_FOR_VERDICT = 20
"""Texts of a set below which no verdict on its distance is given."""

MAX_LABELS = 50
"""Distinct labels up to which a column counts as labels; more are numbers or texts."""


@dataclass(frozen=True)
class Domain:
    """A set of texts.

    Attributes:
        examples: the rows, in their order.
        labels: (N,) labels as written; None if a row has none.
        words: most probable words, if the set is a topic.
        summaries: (N,) the summary of each text; empty if the rows have none.
        limits: most words allowed in it.
        vectors: (N, D) of a sentence encoder; None without one.
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
        """Return some of its rows as a set of another name."""
        summaries = [self.summaries[row] for row in rows] if self.summaries else ()
        examples, labels = [self.examples[row] for row in rows], [self.labels[row] for row in rows]
        return Domain(name, examples, labels, words, summaries, self.limits)

    def with_task_labels(self, task: ClassificationTask) -> Domain:
        """Replace labels by the task's names for them; labels that the task does not know stay."""
        indices = [None if label is None else task.index(label) for label in self.labels]
        labels = [
            label if index is None else task.labels[index] for index, label in zip(indices, self.labels, strict=True)
        ]
        return replace(self, labels=labels)

    @cached_property
    def word_counts(self) -> WordCounts:
        """Counts of its words; segments of a row are joined."""
        return words.count_words(self.texts, self.name, self.limits)

    @cached_property
    def frequencies(self) -> Mapping[str, int]:
        """Frequency of each label, by its first spelling; case does not matter.

        Empty for more than `MAX_LABELS` labels, which are numbers or texts.
        """
        first_spellings: dict[str, str] = {}
        counts = Counter(first_spellings.setdefault(fold(label), label) for label in self.labels if label is not None)
        return counts if len(counts) <= MAX_LABELS else {}

    def summarize(self, rng: np.random.Generator) -> results.DomainSummary:
        """Summarize the set for a report."""
        lengths, total = self.word_counts.lengths, sum(self.frequencies.values())
        return results.DomainSummary(
            self.name,
            len(self.examples),
            float(lengths.mean()),
            float(np.median(lengths)),
            {label: count / total for label, count in sorted(self.frequencies.items())},
            self.words,
            summaries.means(self._summarized(), rng),
        )

    def _summarized(self) -> Iterator[tuple[list[str], list[str]]]:
        """Yield the tokens of each text and of its summary."""
        for text, summary in zip(self.examples if self.summaries else (), self.summaries, strict=True):
            yield words.tokens_of(" ".join(text.segments)), words.tokens_of(summary)


def measure_shift(
    domains: Sequence[Domain], seed: int = 0, encoder: str = "", advance: Callable[[int], object] = lambda pairs: None
) -> results.Shift:
    """Measure the distance between every two of several domains.

    Args:
        domains: two or more, the in-domain one first.
        seed: random seed; each pair starts from it.
        encoder: description of the sentence encoder; "" without one.
        advance: called after each pair.
    """
    pairs = []
    for a, b in combinations(domains, 2):
        pairs.append(compare_domains(a, b, np.random.default_rng(seed)))
        advance(1)
    return results.Shift(
        tuple(domain.summarize(np.random.default_rng(seed)) for domain in domains),
        tuple(pairs),
        seed,
        tuple(notes(domains)),
        encoder,
        halves=_halves(domains[0], np.random.default_rng(seed)),
    )


def _halves(domain: Domain, rng: np.random.Generator) -> tuple[DistanceMeasure, ...]:
    """Measure MMD^2 between two random halves of a set; nothing if it has too few texts."""
    if len(domain.examples) < 2 * MIN_TEXTS_FOR_VERDICT:
        return ()
    splitting, embedding, drawing = rng.spawn(3)
    rows = splitting.permutation(len(domain.examples)).tolist()
    middle = len(rows) // 2
    halves = [domain.part(domain.name, part).word_counts for part in (rows[:middle], rows[middle : 2 * middle])]
    first, second = words.vectors(words.align_words(*halves), embedding)
    return (shift.mmd(first, second, drawing).squared,) if first.any() and second.any() else ()


def compare_domains(a: Domain, b: Domain, rng: np.random.Generator) -> Pair:
    """Measure the distance between two domains."""
    embedding, centring, drawing, overlapping, lengthening, labelling, classifying = rng.spawn(7)
    word_pair = words.align_words(a.word_counts, b.word_counts)
    first, second = words.vectors(word_pair, embedding)
    apart = shift.mmd(first, second, drawing) if min(len(first), len(second)) > 1 else None
    groups = ([example.segments[0] for example in a.examples], [example.segments[0] for example in b.examples])
    classified = classify_domains(word_pair, groups, classifying)
    measures = (
        shift.centroid_cosine(first, second, centring),
        None if apart is None else apart.squared,
        *_encoded(a, b, rng),
        classified.auc,
        *_overlaps(word_pair, overlapping),
        shift.ratio_of_means(a.word_counts.lengths, b.word_counts.lengths, lengthening),
        _labels(a, b, labelling),
        shift.share("repeated", _repeated(a, b)),
    )
    wordless = [domain.name for domain, rows in ((a, first), (b, second)) if not rows.any()]
    verdict, by, reason = _verdict(a, b, apart, classified, wordless)
    measured = tuple(measure for measure in measures if measure is not None)
    p = None if apart is None else apart.p
    return Pair(a.name, b.name, measured, p, verdict, by, reason, classified.first, classified.second)


def _encoded(a: Domain, b: Domain, rng: np.random.Generator) -> Iterator[DistanceMeasure]:
    """Yield the measures by the vectors of an encoder, if there are any."""
    centring, drawing = rng.spawn(2)
    if a.vectors is None or b.vectors is None:
        return
    yield replace(shift.centroid_cosine(a.vectors, b.vectors, centring), name="encoder_cosine")
    if min(len(a.vectors), len(b.vectors)) > 1:
        yield replace(shift.mmd(a.vectors, b.vectors, drawing).squared, name="encoder_mmd")


def _overlaps(word_pair: AlignedWords, rng: np.random.Generator) -> list[DistanceMeasure]:
    """Return overlaps of words, over equally many texts of each set."""
    drawing, *resampling = rng.spawn(3)
    size = min(counts.shape[0] for counts in word_pair.counts)
    first, second = (counts[np.sort(drawing.permutation(counts.shape[0])[:size])] for counts in word_pair.counts)
    return [
        shift.word_overlap(first, second, resampling[0]),
        shift.vocabulary_overlap(first[:, word_pair.content], second[:, word_pair.content], resampling[1]),
    ]


def _labels(a: Domain, b: Domain, rng: np.random.Generator) -> DistanceMeasure | None:
    """Return the distance between the labels; None if a set has none, or the two share none."""
    counts = [{fold(label): count for label, count in domain.frequencies.items()} for domain in (a, b)]
    if not counts[0].keys() & counts[1].keys():
        return None
    all_labels = sorted({*counts[0], *counts[1]})
    first, second = (np.array([frequencies.get(label, 0) for label in all_labels]) for frequencies in counts)
    return shift.total_variation(first, second, rng)


def _repeated(a: Domain, b: Domain) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell (O,) whether each text of b stands in a, character for character."""
    texts_of_a = {example.segments for example in a.examples}
    return np.array([example.segments in texts_of_a for example in b.examples])


def _verdict(
    a: Domain, b: Domain, apart: Mmd | None, classified: DomainClassification, wordless: Sequence[str]
) -> tuple[Verdict, str, str]:
    """Return the verdict, the nearest reference pair, and the reason in a sentence."""
    for domain in (a, b):
        if len(domain.examples) < MIN_TEXTS_FOR_VERDICT:
            few = f"{domain.name} has {len(domain.examples)} texts, and {MIN_TEXTS_FOR_VERDICT} are needed."
            return "cannot be told", "", few
        if len({example.segments for example in domain.examples}) == 1:
            return "cannot be told", "", f"All texts of {domain.name} are equal."
    if wordless:
        return "cannot be told", "", f"No word of {' and '.join(wordless)} occurs in two of the texts."
    assert apart is not None  # two texts would do
    assert apart.squared.value is not None
    squared, by = apart.squared, nearest_pair(apart.squared.value)
    number = f"MMD^2 {squared.value:.4f} ({interval(squared.low, squared.high, '{:.4f}'.format)}; p {p_value(apart.p)})"
    reached = verdicts_within(squared)
    if len(reached) == len(KINDS):
        return "cannot be told", by.text, f"{number} may be that of {', of '.join(KINDS.values())}."
    beside = next((kind for kind in KINDS if kind in reached - {by.kind}), None)
    doubt = f", and may be that of {KINDS[beside]}" if beside else ""
    words_tell = (
        f"; words tell its texts from those of {a.name} with an AUC of {percent(classified.auc.value)} %"
        if classified.auc.value is not None
        else ""
    )
    reason = f"{number} is nearest to that of {by.text} ({by.mmd:.4f}), {KINDS[by.kind]}{doubt}{words_tell}."
    if by.kind == "other" and _folded(a) and _folded(a) == _folded(b):  # the labels say that the task is the same
        return "far", by.text, f"{reason} Its labels are those of {a.name}, so it counts as a far set of one task."
    return by.kind, by.text, reason


def notes(domains: Sequence[Domain]) -> Iterator[str]:
    """Yield the notes that a reader of the distances needs."""
    wordless = [domain.name for domain in domains if not domain.word_counts.vocabulary]
    if wordless:
        yield f"No word occurs in {listed(wordless)}."
    for a, b in combinations(domains, 2):
        ours, theirs = a.word_counts.vocabulary, b.word_counts.vocabulary
        if ours and theirs and not {*ours} & {*theirs}:
            yield f"{a.name} and {b.name} have no word in common: another language, or another script?"
    first, *new = domains
    unlike = [domain.name for domain in new if domain.frequencies and not _folded(domain) & _folded(first)]
    if first.frequencies and unlike:
        yield f"{listed(unlike)}: no label of {first.name} ({listed(first.frequencies)}), so no shift of labels."
    sizes = {len(domain.examples[0].segments) for domain in domains}
    if len(sizes) > 1:
        yield "Some sets have two texts a row; these are read as one."


def _folded(domain: Domain) -> set[str]:
    return {*map(fold, domain.frequencies)}
