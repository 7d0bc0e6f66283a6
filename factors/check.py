"""Checks of the rules for factors, for authors of factors and for the built-in ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from factors.registry import Factor, Score, number
from factors.types import SPECIAL, Attributions, Example, Floats, Span

Case = tuple[Attributions, Example]
Scale = Literal["linear", "free", "other"]

TIMES = 4.0
"""Factor by which scores grow in the check of a factor's scale; a power of two, so nothing is rounded."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Properties of a factor that keeps to the rules.

    Attributes:
        scale: the effect of four times the scores on the value: "linear" four times it, "free" the same, "other"
            neither. A factor that is neither ranks models by the unit of their scores.
        by_words: whether the value is independent of how a tokenizer cuts words, so that models can be compared.
        undefined: the cases on which it is nan.
    """

    scale: Scale
    by_words: bool
    undefined: tuple[str, ...]


def check_factor(factor: Factor | Score, more: Mapping[str, Case] | None = None) -> Checked:
    """Check that a factor is finite or nan, gives the same value each time, and changes nothing.

    Args:
        factor: a factor, or the function under ``@factor(...)``.
        more: further cases beside `cases`, by name, such as rows with the words that a factor reads; see
            `words_as_tokens`.

    Raises:
        TypeError: the function is no factor.
        ValueError: it breaks a rule; the message names the rule, and the case.

    Example:
        >>> from factors import BUILTIN
        >>> check_factor(BUILTIN["SUM-DIFF"]).scale
        'linear'
    """
    declared = getattr(factor, "factor", factor)
    if not isinstance(declared, Factor):
        raise TypeError(f"{factor!r} is no factor; declare it with `@factor(...)`")
    all_cases = {**cases(declared.mark or "mark"), **(more or {})}
    values = {name: _value(declared, name, case) for name, case in all_cases.items()}
    for name in reversed(all_cases):  # another order, which reveals state between calls
        again = _value(declared, name, all_cases[name])
        if not _equal(values[name], again):
            raise ValueError(
                f"{declared.name} must give the same value each time (got {values[name]}, then {again} on {name!r}); "
                "a factor keeps nothing between calls and draws nothing at random"
            )
    if all(map(math.isnan, values.values())):
        raise ValueError(
            f"{declared.name} must be defined somewhere (got nan on all of {', '.join(map(repr, all_cases))}); "
            "a factor that reads a mark declares it: `@factor(..., mark=...)`; one that reads certain words is checked "
            "on an example that has some: `check_factor(factor, more={name: (attributions, example)})`"
        )
    return Checked(
        scale=_scale(declared, all_cases, values),
        by_words=all(
            math.isclose(
                _value(declared, name, (_cut(attribution), example)), values[name], rel_tol=1e-9, abs_tol=1e-12
            )
            for name, (attribution, example) in all_cases.items()
            if not math.isnan(values[name])
        ),
        undefined=tuple(name for name, value in values.items() if math.isnan(value)),
    )


def cases(mark: str = "mark") -> dict[str, Case]:
    """Return the cases of a check: name -> a model's attributions and the example.

    Args:
        mark: the name of the marks that examples have.
    """
    first, second = "Unless the tall nurse slept, the clerk drew a map.", "The nurse slept."
    marks = {mark: (Span(0, 16, 27), Span(1, 4, 15))}  # nurse slept
    pair = Example("pair", (first, second), 0, marks)
    examples = {
        "a pair": pair,
        "no mark": Example("no mark", (first, second), 1),
        "nothing shared": Example("nothing shared", ("It rained.", "She left at noon!"), 1, {mark: (Span(1, 0, 3),)}),
        "one segment": Example("one segment", (first,), 1, {mark: marks[mark][:1]}),
        "no words": Example("no words", ("...", "?"), 0),
    }
    cases_by_name = {}
    for name, example in examples.items():
        wave = np.sin(1.0 + np.arange(len(example.words)))  # of both signs, no two alike
        attributions = words_as_tokens(example, wave, special=0.5)
        cases_by_name[name] = (replace(attributions, erased=np.array([[0.6, 0.4], [0.45, 0.55]])), example)
    pair_attributions, _ = cases_by_name["a pair"]
    first_tokens = np.flatnonzero(pair_attributions.word < 3)
    cases_by_name["cut off after three words"] = (
        replace(
            pair_attributions,
            tokens=tuple(pair_attributions.tokens[t] for t in first_tokens),
            **{
                name: getattr(pair_attributions, name)[first_tokens]
                for name in ("segment", "word", "offsets", "scores")
            },
        ),
        pair,
    )
    cases_by_name["all scores zero"] = (words_as_tokens(pair, np.zeros(len(pair.words))), pair)
    return cases_by_name


def words_as_tokens(
    example: Example, scores: Sequence[float] | Floats, special: float = 0.0, probs: tuple[float, ...] = (0.3, 0.7)
) -> Attributions:
    """Return attributions of an example with words as tokens: [CLS] words [SEP], and words [SEP] again.

    Args:
        example: the text.
        scores: (W,) each word's attribution, toward label 1.
        special: score of [CLS] and of each [SEP].
        probs: (C,) the model's probabilities.

    Example:
        >>> words_as_tokens(Example("a", ("It ran", "It sat"), 0), [0.1, 0.2, 0.3, 0.4]).tokens
        ('[CLS]', 'It', 'ran', '[SEP]', 'It', 'sat', '[SEP]')
    """
    word = [SPECIAL]
    for segment in range(len(example.segments)):
        word += [i for i, span in enumerate(example.words) if span.segment == segment]
        word.append(SPECIAL)
    spans = [None if i == SPECIAL else example.words[i] for i in word]
    texts = ["[SEP]" if span is None else example.text(span) for span in spans]
    return Attributions(
        probs=np.array(probs),
        target=1,
        tokens=("[CLS]", *texts[1:]),
        segment=np.array([SPECIAL if span is None else span.segment for span in spans]),
        word=np.array(word),
        offsets=np.array([(0, 0) if span is None else (span.start, span.end) for span in spans]),
        scores=np.array([special if i == SPECIAL else scores[i] for i in word], dtype=np.float64),
        backend="check",
    )


def _cut(attribution: Attributions) -> Attributions:
    """Return the same attribution from a tokenizer that cuts every word in two."""
    twice = np.repeat(np.arange(len(attribution.tokens)), np.where(attribution.word == SPECIAL, 1, 2))
    share = np.where(attribution.word[twice] == SPECIAL, 1.0, 0.5)
    return replace(
        attribution,
        tokens=tuple(attribution.tokens[t] for t in twice),
        segment=attribution.segment[twice],
        word=attribution.word[twice],
        offsets=attribution.offsets[twice],
        scores=attribution.scores[twice] * share,
    )


def _value(factor: Factor, name: str, case: Case) -> float:
    """Return the factor's value of a case; ValueError if it raises, returns no finite number, or changes the case."""
    attribution, example = case
    before = _snapshot(attribution, example)
    try:
        returned = factor.score(attribution, example)
    except (Exception, SystemExit) as error:  # an author's function may raise anything
        raise ValueError(
            f"{factor.name} must not raise (got {type(error).__name__}: {error} on {name!r}); it returns nan where it "
            "is undefined, and copies an array before changing it"
        ) from error
    try:
        value = number(returned)
    except TypeError as error:
        raise ValueError(f"{factor.name} {error}, on {name!r}") from error
    if math.isinf(value):
        raise ValueError(f"{factor.name} must be finite, or nan where it is undefined (got {value} on {name!r})")
    if _snapshot(attribution, example) != before:
        raise ValueError(f"{factor.name} must change nothing that it is shown (it did on {name!r})")
    return value


def _snapshot(attribution: Attributions, example: Example) -> tuple[object, ...]:
    arrays = (attribution.probs, attribution.segment, attribution.word, attribution.offsets, attribution.scores)
    return (
        *(array.tobytes() for array in (*arrays, attribution.erased)),
        attribution.tokens,
        attribution.target,
        example.segments,
        dict(example.marks),
    )


def _scale(factor: Factor, all_cases: Mapping[str, Case], values: Mapping[str, float]) -> Scale:
    larger = {
        name: _value(factor, name, (replace(attribution, scores=TIMES * attribution.scores), example))
        for name, (attribution, example) in all_cases.items()
    }
    scales: dict[Scale, float] = {"free": 1.0, "linear": TIMES}
    for scale, times in scales.items():
        if all(_equal(larger[name], times * values[name], tolerance=1e-9) for name in all_cases):
            return scale
    return "other"


def _equal(a: float, b: float, tolerance: float = 0.0) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
