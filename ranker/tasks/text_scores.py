"""Scores of a text against a reference, by name, and BLEU of all texts together."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import numpy as np

from factors.types import Floats
from ranker.errors import UsageError, check_installed, first_line
from ranker.tasks.metrics import MatchedStatistics, ValueMetric

Score = Callable[[str, str], float]
"""(answer, one reference) -> score in [0, 1]."""

OWN, EMBEDDED = "own", "embedded"
"""Names of a score that is a function, and of one that embeds texts, in `SECONDS_A_PAIR`."""

SECONDS_A_PAIR = {
    **dict.fromkeys(("rouge-l", "rouge-l:stem", "rouge-1", "rouge-2", "rouge-1:stem", "rouge-2:stem"), 2e-5),
    **dict.fromkeys(("token-f1", "exact-match", "equal"), 3e-5),
    "chrf": 1e-4,
    "sentence-bleu": 5e-4,
    OWN: 5e-4,
    EMBEDDED: 2e-4,
}
"""Time to compare two texts of some sentences, on one core, as measured once."""

SECONDS_A_TEXT = 0.03
"""Time to embed a text of some sentences by an encoder of 22 million weights."""


@runtime_checkable
class EmbeddingScore(Protocol):
    """A `Score` that reads many texts at once before it compares any two."""

    __name__: str

    def embed(self, texts: Sequence[str]) -> None:
        """Embed texts that pairs will be asked for."""

    def __call__(self, answer: str, reference: str) -> float:
        """Return the score of an answer against one reference."""


STEM = ":stem"


def checked(score: Score, answer: str, reference: str) -> float:
    """Return what a user's own function gives, if it is a score."""
    try:
        value = score(answer, reference)
    except Exception as error:  # whatever a user's code raises
        reason = f"it raised {type(error).__name__}: {first_line(error)}"
        raise UsageError(f"`metric` {score.__name__}: {reason} (answer {answer[:50]!r})", option="metric") from error
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value <= 1:
        needed = f"it must give a number from 0 to 1 (got {str(value)[:50]}, answer {answer[:50]!r})"
        raise UsageError(f"`metric` {score.__name__}: {needed}", option="metric", value=value, allowed=(0, 1))
    return float(value)


def normalise(text: str) -> str:
    """Return a text in lower case, without punctuation and English articles, and with single blanks.

    Example:
        >>> normalise("The U.S.  army")
        'us army'

    Source: Rajpurkar et al. 2016, "SQuAD: 100,000+ questions for machine comprehension of text", section 6.1.
    """
    without_punctuation = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", without_punctuation).split())


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


@dataclass(frozen=True)
class BagScore:
    """Score of two texts by what both have of counted parts, such as words; a `Score`.

    Many texts are compared at once by `compare`, with the same numbers.

    Attributes:
        count: a text -> counts of its parts, of O kinds.
        value: (..., O) parts that both have, that the answer has, and that the reference has -> (...) scores.

    Example:
        >>> round(rouge_1("The dog sat.", "The dog ran."), 3)
        0.667
        >>> rouge_1.compare(["The dog sat."], ["The dog ran.", "A cat"]).round(3).tolist()
        [[0.667, 0.0]]
    """

    count: Callable[[str], Sequence[Mapping[Any, int]]]
    value: Callable[[Floats, Floats, Floats], Floats]

    def __call__(self, answer: str, reference: str) -> float:
        """Return the score of an answer against one reference."""
        return float(self.compare([answer], [reference])[0, 0])

    def compare(self, answers: Sequence[str], references: Sequence[str]) -> Floats:
        """Return (A, R) scores of each answer against each reference."""
        of_answers, of_references = (list(map(self.count, texts)) for texts in (answers, references))
        shared = []
        for kind in range(len(of_answers[0])):
            counts = [[of_text[kind] for of_text in of_texts] for of_texts in (of_answers, of_references)]
            places = {part: place for place, part in enumerate(dict.fromkeys(chain.from_iterable(counts[0])))}
            left, right = (_count_matrix(of_texts, places) for of_texts in counts)
            shared.append(np.array([np.minimum(row, right).sum(axis=1) for row in left]))
        totals = (
            np.array([[sum(part.values()) for part in of_text] for of_text in of_texts], dtype=np.float64)
            for of_texts in (of_answers, of_references)
        )
        answered, true = totals
        return self.value(np.stack(shared, axis=-1), answered[:, None], true[None])


def _count_matrix(texts: Sequence[Mapping[Any, int]], places: Mapping[Any, int]) -> Floats:
    """Return (T, P) counts of the parts that have a place."""
    matrix = np.zeros((len(texts), len(places)))
    for row, counts in enumerate(texts):
        known_parts = counts.keys() & places.keys()
        matrix[row, [places[part] for part in known_parts]] = [counts[part] for part in known_parts]
    return matrix


def _f1(shared: Floats, answered: Floats, true: Floats, empty: float = 0.0) -> Floats:
    """Return (...) F1 of (..., 1) counts; `empty` where neither text has a part."""
    total = (answered + true)[..., 0]
    return np.where(total > 0, 2 * shared[..., 0] / np.maximum(total, 1.0), empty)


def _sequences(text: str, n: int, stem: bool = False) -> Sequence[Mapping[Any, int]]:
    """Count the sequences of n words of a text that ROUGE reads."""
    words = words_of(text, stem)
    return [Counter(zip(*(words[start:] for start in range(n)), strict=False))]


exact_match = BagScore(lambda text: [Counter([normalise(text)])], lambda shared, *_: shared[..., 0])
"""1 if two texts are equal once normalised."""


def _rouge_n(n: int, stem: bool = False) -> BagScore:
    """Return ROUGE-N, F1 of the sequences of n words of two texts. Source: as for ROUGE-L."""
    return BagScore(partial(_sequences, n=n, stem=stem), _f1)


rouge_1 = _rouge_n(1)

token_f1 = BagScore(lambda text: [Counter(normalise(text).split())], partial(_f1, empty=1.0))
"""F1 of the words of two texts, once normalised; 1 if neither has a word."""


def rouge_l(answer: str, reference: str, stem: bool = False) -> float:
    """Return ROUGE-L, F1 by the longest common subsequence of the words of two texts. Needs rapidfuzz.

    Example:
        >>> round(rouge_l("The dog sat.", "The old dog ran."), 3)
        0.571

    Source: Lin 2004, "ROUGE: a package for automatic evaluation of summaries".
    """
    answered, true = words_of(answer, stem), words_of(reference, stem)
    total = len(answered) + len(true)
    return 2 * _common_length()(answered, true) / total if answered and true else 0.0


@lru_cache(maxsize=1 << 14)
def words_of(text: str, stem: bool = False) -> tuple[str, ...]:
    """Return the words that ROUGE counts: letters a to z and digits, in lower case; stems of words of four or more.

    Raises:
        UsageError: a text has letters, but none of these, so that its score would always be 0; or stems are asked for
            without nltk.

    Example:
        >>> words_of("Dogs' ears, 2 cats"), words_of("Dogs were running", stem=True)
        (('dogs', 'ears', '2', 'cats'), ('dog', 'were', 'run'))
    """
    words = _WORDS.findall(text.lower())
    if not words and any(map(str.isalnum, text)):
        message = f"ROUGE reads Latin letters and digits alone (got {text[:50]!r}); `metric=chrf` reads any"
        raise UsageError(message, option="metric", value=text)
    return tuple(_stem()(word) if len(word) > 3 else word for word in words) if stem else tuple(words)


_WORDS = re.compile(r"[a-z0-9]+")


def _check_installed(metric: str, module: str) -> None:
    check_installed(metric, "texts", module, option="metric", value=metric)


@cache
def _common_length() -> Callable[[Sequence[str], Sequence[str]], int]:
    """Return the function of the length of the longest common subsequence."""
    _check_installed("rouge-l", "rapidfuzz")
    from rapidfuzz.distance import LCSseq

    return LCSseq.similarity


@cache
def _stem() -> Callable[[str], str]:
    """Return Porter's stemmer."""
    _check_installed(f"rouge{STEM}", "nltk")
    from nltk.stem.porter import PorterStemmer

    return lru_cache(maxsize=1 << 16)(PorterStemmer().stem)


CHRF_BETA, CHRF_ORDER = 2, 6
"""Weight of recall, and the longest sequences of letters."""


def _letter_sequences(text: str) -> Sequence[Mapping[Any, int]]:
    """Count the sequences of 1 to `CHRF_ORDER` letters of a text without blanks."""
    _check_installed("chrf", "sacrebleu")
    from sacrebleu.metrics.helpers import extract_all_char_ngrams

    counts: list[Counter[str]] = extract_all_char_ngrams(text, CHRF_ORDER)
    return counts


def _chrf(shared: Floats, answered: Floats, true: Floats) -> Floats:
    """Return (...) chrF of (..., 6) counts: means over the orders that both texts have."""
    in_both = (answered > 0) & (true > 0)
    orders = np.maximum(in_both.sum(axis=-1), 1)
    precision, recall = (
        np.where(in_both, shared / np.maximum(total, 1.0), 0.0).sum(axis=-1) / orders for total in (answered, true)
    )
    weight, total = CHRF_BETA**2, precision + recall
    value = (1 + weight) * precision * recall / np.where(total > 0, weight * precision + recall, 1.0)
    return np.asarray(np.where(total > 0, value, 0.0))


chrf = BagScore(_letter_sequences, _chrf)
"""chrF2 of two texts, in [0, 1], as sacrebleu has it. Source: Popović 2015, "chrF: character n-gram F-score"."""


def sentence_bleu(answer: str, reference: str) -> float:
    """Return smoothed BLEU of one text, in [0, 1], by sacrebleu.

    Source: Chen, Cherry 2014, "A systematic comparison of smoothing techniques for sentence-level BLEU", method 3.
    """
    bleu = _sacrebleu().BLEU(effective_order=True)
    return min(float(bleu.sentence_score(answer, [reference]).score) / 100, 1.0)


@cache
def _sacrebleu() -> Any:
    _check_installed("bleu", "sacrebleu")
    from sacrebleu import metrics

    return metrics


SCORES: dict[str, Score] = {
    "rouge-l": rouge_l,
    "rouge-1": rouge_1,
    "rouge-2": _rouge_n(2),
    f"rouge-l{STEM}": lambda answer, reference: rouge_l(answer, reference, stem=True),
    f"rouge-1{STEM}": _rouge_n(1, stem=True),
    f"rouge-2{STEM}": _rouge_n(2, stem=True),
    "chrf": chrf,
    "sentence-bleu": sentence_bleu,
    "token-f1": token_f1,
    "exact-match": exact_match,
    "equal": lambda answer, reference: float(answer.strip() == reference.strip()),
}
"""Scores of a text against a reference. `token-f1` and `exact-match` normalise both; `equal` strips outer blanks."""

BLEU, ORDER = "bleu", 4
"""Name of the metric, and the longest sequences of words that it counts."""


@dataclass(frozen=True)
class ReadLetters:
    """What a metric reads of a text, for a note on letters that it loses.

    Attributes:
        rule: what it does, in words that follow its name.
        lost: letters that it cannot tell apart.
        kind: what these are, in words.
        drops: it leaves them out; else it takes several for one word.
    """

    rule: str
    lost: re.Pattern[str]
    kind: str
    drops: bool


_OF_ROUGE = ReadLetters("reads the letters a to z and digits alone", re.compile("[^a-zA-Z]"), "others", True)
_OF_BLANKS = ReadLetters(
    "takes letters without a blank between them for one word",
    # Thai, Lao and Tibetan; Burmese; Khmer; kana; signs of Chinese
    re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
    "of scripts without blanks",
    False,
)
LETTER = re.compile(r"[^\W\d_]")

READINGS: Mapping[str, ReadLetters] = {
    **{name: _OF_ROUGE for name in SCORES if name.startswith("rouge")},
    **dict.fromkeys(("token-f1", "sentence-bleu", BLEU), _OF_BLANKS),
}
"""Metric -> what it reads; those that are left out tell all letters apart."""

FEW_LOST, MOST_LOST = 0.1, 0.5
"""Shares of the references' letters that a metric may lose without a note, and with one."""


def is_text_metric(name: str) -> bool:
    """Return whether `TextTask` has a metric of that name.

    Example:
        >>> is_text_metric("ROUGE-L"), is_text_metric("bleu"), is_text_metric("f1")
        (True, True, False)
    """
    return name.casefold() in (*SCORES, BLEU)


@dataclass(frozen=True)
class CorpusBleu(ValueMetric):
    """BLEU of all rows together, in [0, 1]; a `Metric`. Needs sacrebleu.

    It is 0 where no sequence of four words is right, without smoothing: only then sacrebleu's own value differs.

    Example:
        >>> metric = CorpusBleu()
        >>> rows = metric.statistics(["the dog sat on the mat"], [("the dog sat on a mat",)])
        >>> round(float(metric.value(rows.mean(axis=0))), 3)
        0.537

    Source: Papineni et al. 2002, "BLEU: a method for automatic evaluation of machine translation".
    """

    name: str = BLEU

    def statistics(self, answers: Sequence[Any], targets: Sequence[Any]) -> Floats:
        """Return (N, 10) lengths of answer and reference, right sequences and sequences of 1 to 4 words.

        An answer, or a target, that is None has no word.
        """
        bleu, rows = _sacrebleu().BLEU(), []
        for answer, references in zip(answers, targets, strict=True):
            row = bleu.corpus_score([answer or ""], [[reference] for reference in references or ("",)])
            rows.append([row.sys_len, row.ref_len, *row.counts, *row.totals])
        return np.array(rows, dtype=np.float64).reshape(len(rows), 2 + 2 * ORDER)

    def value(self, means: Floats) -> Floats:
        """Return (...) BLEU of (..., 10) means."""
        means = np.asarray(means)
        answered, true = means[..., 0], means[..., 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            precisions = np.log(means[..., 2 : 2 + ORDER]) - np.log(means[..., 2 + ORDER :])
            brevity = np.minimum(1 - true / answered, 0.0)
            score = np.exp(precisions.mean(axis=-1) + brevity)
        return np.asarray(np.nan_to_num(score, nan=0.0))


MATCHED_BLEU = MatchedStatistics(tuple(range(2, 2 + ORDER)), (1,), SECONDS_A_PAIR["sentence-bleu"])
"""Right sequences are given by answer and reference together, and the reference's length by itself."""
