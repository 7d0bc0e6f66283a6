"""Diagnostics of a model's answers and attributions, and warnings."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from factors import Attributions, Example
from factors.types import Floats, Ints
from ranker.attribution.settings import Settings
from ranker.errors import MAX_EXAMPLES, listed
from ranker.results.agreement import Agreement
from ranker.results.balance import WORSE
from ranker.results.evaluation import FOLLOWS
from ranker.results.header import Quality
from ranker.results.table import ScoreTable
from ranker.scoring.score import averages
from ranker.statistics.correlation import spearman
from ranker.tasks.classes import ClassificationTask, ClassProbabilities


def misled_share(answers: ClassProbabilities, examples: Sequence[Example], task: ClassificationTask) -> float | None:
    """Return the share of examples with a wrong shortcut on which a model gives the shortcut's label.

    It is None where the task has no such label, or every example has it.
    """
    predicted = answers.predicted[[example.target != task.shortcut for example in examples]]
    return (
        float((predicted == task.shortcut).sum() / len(predicted))
        if len(predicted) and task.shortcut is not None
        else None
    )


def judge_attributions(
    attributions: Sequence[Attributions], population: Sequence[Example], settings: Settings
) -> Floats:
    """Return (3, N) checks of a model's attributions, none where nothing was attributed, row by row.

    They are the error by the backend's own measure, nan where nothing is attributed; 1 where it is over the tolerance;
    and 1 where the row was cut.
    """
    pairs = zip(attributions, population, strict=bool(attributions))
    return np.array(
        [
            (settings.error(attribution), not within_tolerance(settings, attribution), cut(attribution, row))
            for attribution, row in pairs
        ]
    ).T.reshape(3, -1)


def within_tolerance(settings: Settings, attribution: Attributions) -> bool:
    """Return whether a backend's own measure of error is small enough, or there is nothing to measure."""
    return attribution.undefined or settings.accepts(attribution)


def quality_of(judged: Floats) -> Quality:
    """Summarize the quality of a model's attributions, from the rows of `judge_attributions`."""
    errors, over, truncated = judged
    errors = errors[np.isfinite(errors)]
    return Quality(
        error_median=float(np.median(errors)) if len(errors) else None,
        error_high=float(np.quantile(errors, 0.95)) if len(errors) else None,
        over_tolerance=int(over.sum()),
        truncated=int(truncated.sum()),
    )


def cut(attribution: Attributions, example: Example) -> bool:
    """Return whether a model did not see the end of a segment; False for bare probabilities, where it is unknown.

    A token may cover several words, as one [UNK] does neighbouring emoji, so the reach of the tokens counts.
    """
    if not len(attribution.tokens):
        return False
    texts = example.segments
    last = {w.segment: w.start for w in example.words if has_sign(texts[w.segment][w.start : w.end])}
    reach = {s: attribution.offsets[attribution.segment == s, 1].max(initial=0) for s in last}
    return any(reach[s] <= start for s, start in last.items())


def has_sign(text: str) -> bool:
    """Return whether a text has a sign of its own; accents, joiners and codes alone have none, nor a token.

    Example:
        >>> has_sign("."), has_sign("\\u200b")
        (True, False)
    """
    return any(unicodedata.category(character)[0] not in "MC" for character in text)


def below_chance(in_domain: Mapping[str, float], classes: int) -> Iterator[str]:
    """Warn of models below chance in-domain: their labels are probably mapped wrongly.

    Args:
        in_domain: model -> accuracy, a fraction.

    Example:
        >>> list(below_chance({"a": 0.84, "b": 0.16}, 2))
        ['b is right on only 16.0 % of the in-domain rows, chance is 50.0 %: are its labels wrong (`label_map`)?']
    """
    for name, accuracy in in_domain.items():
        if accuracy < 1 / classes:
            right = f"{name} is right on only {100 * accuracy:.1f} % of the in-domain rows"
            yield f"{right}, chance is {100 / classes:.1f} %: are its labels wrong (`label_map`)?"


def copies(original: Mapping[str, str]) -> Iterator[str]:
    """Report models that are copies of one, wherever they lie and whatever their names.

    Args:
        original: model -> the model that it is a copy of.

    Example:
        >>> list(copies({"c": "a", "d": "a"}))
        ['a, c and d are copies of one model, which is ranked once, as a: what they are loaded from is the same.']
    """
    alike: dict[str, list[str]] = {}
    for name, first in original.items():
        alike.setdefault(first, [first]).append(name)
    for first, names in alike.items():
        same = f"{', '.join(names[:-1])} and {names[-1]}"
        once = f"which is ranked once, as {first}: what they are loaded from is the same"
        yield f"{same} are copies of one model, {once}."


def voter_notes(says: Mapping[str, float]) -> Iterator[str]:
    """Say which models vote and are not ranked, and which of them have no say.

    Args:
        says: voter -> its weight in the vote: 1 as a model that is ranked.

    Example:
        >>> for note in voter_notes({"old": 0.8, "lm": 2.0, "coin": 0.0}):
        ...     print(note)
        Vote, and are not ranked: old (weight 0.8), lm (2.0); a model that is ranked has 1.
        coin does not vote: it agrees with the models less than they do with each other, or repeats one of them.
    """
    voting = [f"{name} ({say:.1f})" for name, say in says.items() if say]
    if voting:
        first, *further = voting
        first = first.replace(" (", " (weight ")
        verb = "Vote, and are" if further else "Votes, and is"
        yield f"{verb} not ranked: {listed([first, *further])}; a model that is ranked has 1."
    if silent := [name for name, say in says.items() if not say]:
        do, agree, repeat = ("do", "they agree", "repeat") if len(silent) > 1 else ("does", "it agrees", "repeats")
        reason = f"{agree} with the models less than they do with each other, or {repeat} one of them"
        yield f"{listed(silent)} {do} not vote: {reason}."


def constant_models(names: Sequence[str], predicted: Ints, labels: Sequence[str]) -> Iterator[str]:
    """Report models that predict one label on every row of a pool.

    Args:
        predicted: (M, N) their labels; below 0 without one.

    Example:
        >>> list(constant_models(["a", "b"], np.array([[1, 1, 1], [0, 1, 1]]), ["no", "yes"]))
        ['a predicts yes on each of the 3 rows of the pool.']
    """
    for name, of_model in zip(names, predicted, strict=True):
        if of_model[0] >= 0 and (of_model == of_model[0]).all():
            yield f"{name} predicts {labels[of_model[0]]} on each of the {len(of_model):,} rows of the pool."


def worse_than_guessing(right: Mapping[str, int], rows: Mapping[str, int], classes: int) -> list[str]:
    """Return the models that are right less often than guessing; arguments as in `chance_notes`.

    Example:
        >>> worse_than_guessing({"a": 9, "b": 0}, {"a": 10, "b": 10}, 2)
        ['b']
    """
    from scipy.special import bdtr

    return [name for name, hits in right.items() if bdtr(hits, rows[name], 1 / classes) < 0.01]


def chance_notes(right: Mapping[str, int], rows: Mapping[str, int], classes: int) -> Iterator[str]:
    """Warn of models that are right less often than guessing: labels or columns are probably read wrongly.

    Args:
        right: model -> number of rows that it has right.
        rows: model -> number of rows with a label from it.

    Example:
        >>> list(chance_notes({"a": 9, "b": 0}, {"a": 10, "b": 10}, 2))
        ['b (0 of 10 right) does worse than guessing. Do its labels match those of the rows?']
        >>> list(chance_notes({"a": 5, "b": 3}, {"a": 10, "b": 10}, 2))
        ['No model does better than guessing on these rows.']
    """
    unlikely = worse_than_guessing(right, rows, classes)
    if unlikely:
        listing = listed((f"{name} ({right[name]} of {rows[name]} right)" for name in unlikely), MAX_EXAMPLES)
        do, their = ("does", "its") if len(unlikely) == 1 else ("do", "their")
        yield f"{listing} {do} {WORSE}. Do {their} labels match those of the rows?"
    if not unlikely and right and all(hits <= rows[name] / classes for name, hits in right.items()):
        yield "No model does better than guessing on these rows."


def shortcut_avoided(misled: Mapping[str, float]) -> Iterator[str]:
    """Report that no model follows the shortcut, so that measures of agreement with it say little.

    Args:
        misled: model -> share of rows on which the shortcut misleads it; empty where unknown.

    Example:
        >>> print(*shortcut_avoided({"a": 0.64, "b": 0.2}))  # doctest: +ELLIPSIS
        No model follows the shortcut. a gives its label most often: on 64 % of the rows where it is wrong...
        >>> list(shortcut_avoided({"a": 0.96, "b": 0.2}))
        []
    """
    most = max(misled, key=lambda name: misled[name], default=None)
    if most is not None and misled[most] < FOLLOWS:
        yield (
            f"No model follows the shortcut. {most} gives its label most often: on {100 * misled[most]:.0f} % of the "
            "rows where it is wrong. Factors measure agreement with a shortcut, so they may tell little here."
        )


def agreements(
    attributions: Mapping[str, Sequence[Attributions]], factors: Mapping[str, Mapping[str, str]], table: ScoreTable
) -> Iterator[Agreement]:
    """Compare each two attribution backends that read the same rows of the same models.

    Args:
        attributions: backend -> of each model and row, in one order.
        factors: backend -> factor -> the name of its column, read from this backend's attributions.
    """
    means = averages(table)
    for a, b in combinations(attributions, 2):
        rows = (_of_words(*pair) for pair in zip(attributions[a], attributions[b], strict=True))
        correlations = [correlation for correlation in rows if correlation is not None]
        yield Agreement(
            a,
            b,
            float(np.mean(correlations)) if correlations else None,
            {
                name: _rank_correlation(*(_values(means, factors[backend][name]) for backend in (a, b)))
                for name in factors[a]
                if name in factors[b]
            },
        )


def _values(means: Sequence[Mapping[str, float | None]], column: str) -> Floats:
    """Return (M,) the models' mean values by a factor; nan where there is none."""
    return np.array([mean.get(column) for mean in means], dtype=np.float64)


def _of_words(a: Attributions, b: Attributions) -> float | None:
    """Return the rank correlation of the words' scores toward one label; None if they are about two of three."""
    if a.target != b.target and len(a.probs) > 2:
        return None
    words = min(len(a.word_scores), len(b.word_scores))
    return _rank_correlation(a.word_scores[:words], b.toward(a.target).word_scores[:words])


def _rank_correlation(first: Floats, second: Floats) -> float | None:
    """Return Spearman's rho where both are defined; None for fewer than three, or where one is the same for all."""
    defined = ~(np.isnan(first) | np.isnan(second))
    return spearman(first[defined], second[defined]).value
