"""Settings of every backend, a frozen record each.

Every field affects scores and is part of the store's key, except the field named by `Settings.judges`, which only
decides whether an attribution is accurate enough. The code affects scores, too; it has a revision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from math import nan
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np

from factors.types import SPECIAL, Attributions, Bools, Floats, Ints, Output
from ranker.attribution.trees import Tree, across_tree, evaluations, flat_tree, segments_tree
from ranker.errors import UsageError
from ranker.sources.base import Baseline, Hide
from ranker.tasks.names import fold

if TYPE_CHECKING:
    from typing import Self

    from ranker.sources.base import Encoding
    from ranker.tasks.base import Task

S = TypeVar("S", bound="Settings")

LEAST_RIDGE = 1e-6
"""Least penalty with which LIME's regression has one solution, however few the samples are."""

FIRST = ((0.0, 0.23), (0.23, 0.45), (0.45, 1.0))
"""Stretches of IG's paths at first: shorter near the baseline, where most models bend most."""


@dataclass(frozen=True)
class Settings:
    """No attribution: answers alone, for the baselines.

    It is the base class of the settings of all backends.

    Attributes:
        name: of the backend.
        function: that does the work, as "module:function".
        libraries: packages whose version affects scores, beside those of every model.
        measure: `error` in words.
        judges: the field that only decides about accuracy: it affects no score, and is not in the store's key.
        revision: raised when the same settings give other numbers: here for all backends, in a subclass for that one;
            both are in the store's key.
        bfloat16: whether its scores are nearly the same in bfloat16, as measured.
        hides: the field with the token that words are hidden behind.
        embedded: whether it needs points between embeddings, which not every model answers to.
    """

    name: ClassVar[str] = "none"
    function: ClassVar[str] = ""
    libraries: ClassVar[tuple[str, ...]] = ()
    measure: ClassVar[str] = ""
    judges: ClassVar[str] = ""
    revision: ClassVar[int] = 2
    bfloat16: ClassVar[bool] = True
    hides: ClassVar[str] = ""
    embedded: ClassVar[bool] = False

    def settled(self, labels: Sequence[str], shortcut: int | None = None) -> Self:
        """Return the settings for a task, with the number of the attributed label."""
        return self

    def only_label(self, classes: int) -> int | None:
        """Return the only label that attributions are about; None where a change of sign gives the other's."""
        return None

    def error(self, attribution: Attributions) -> float:
        """Return its error, in the unit of the tolerance; nan where there is no measure."""
        return float("nan")

    def accepts(self, attribution: Attributions) -> bool:
        """Return whether an attribution's own measure of error is within the tolerance."""
        return True

    def passes(self, segment: Ints, word: Ints) -> int:
        """Return the forward passes for an example, at first, from the (T,) segment and word of its tokens."""
        return 1


def settle(settings: S, task: Task, toward: int | None = None) -> S:
    """Return the settings for a task, with the number of the attributed output: a label, or the model's own answer.

    Args:
        settings: of a backend; for a task without outputs only "none".
        toward: the attributed label where the settings name none; None for the shortcut's.

    Raises:
        UsageError: the label that the settings name is none of the task's.
    """
    return settings.settled(task.outputs, getattr(task, "shortcut", None) if toward is None else toward)


@dataclass(frozen=True)
class Attributing(Settings):
    """Base class of settings of backends that give scores to tokens.

    Attributes:
        target: the label of positive scores, by its name or its number from 0. None takes the last of two, and of more
            the shortcut's, or the last where there is none.
        output: the attributed number: the margin (log-odds of the class), its logit, or its probability. Answers that
            are no labels have one number, see `ranker.tasks.base.Task.outputs`.
    """

    additive: ClassVar[bool] = False
    """Whether scores add up to the explained output, less that of the example with all its words hidden."""

    target: int | str | None = None
    output: Output = "margin"

    def settled(self, labels: Sequence[str], shortcut: int | None = None) -> Self:
        """Return the settings with the number of the attributed label.

        Args:
            labels: the names of the classes, in order; or of the only output.

        Raises:
            UsageError: the target is none of them, or the only output is to be shown on another scale.

        Example:
            >>> LIMESettings(target="Negative").settled(("negative", "neutral", "positive")).target
            0
        """
        target = self.target
        if len(labels) == 1 and self.output != "margin":
            predicate = f"must be margin: what is attributed is {labels[0]}"
            raise UsageError.about("output", predicate, self.output, allowed=("margin",))
        if target is None:
            last = len(labels) - 1
            target = last if len(labels) == 2 or shortcut is None else shortcut
        elif isinstance(target, str):
            numbers = {fold(label): i for i, label in enumerate(labels)}
            target = numbers.get(fold(target), -1)
        if not 0 <= target < len(labels):
            choices = ", ".join(f"{label} ({i})" for i, label in enumerate(labels))
            text = f"the target must be one of {choices} (got {self.target!r})"
            raise UsageError(text, option="target", value=self.target, allowed=labels)
        return replace(self, target=target)

    @property
    def label(self) -> int:
        """Number of the attributed label, after `settled`; a TypeError before."""
        if not isinstance(self.target, int):
            raise TypeError(f"settle the settings first; their target is {self.target!r}")
        return self.target

    def attributed(
        self, encoding: Encoding, probs: Floats, scores: Floats, *, effort: int, residual: float = nan
    ) -> Attributions:
        """Return the attributions of one example; fixed tokens, such as those of a prompt, are no part of them.

        Args:
            encoding: its T tokens.
            probs: (C,) the model's probabilities.
            scores: (T,) of its tokens, toward the attributed label.
            effort: in the backend's own unit.
            residual: the backend's own measure of error; nan where it has none.
        """
        free = ~encoding.fixed
        return Attributions(
            probs=probs,
            target=self.label,
            tokens=tuple(compress(encoding.tokens, free)),
            segment=encoding.segment[free],
            word=encoding.word[free],
            offsets=encoding.offsets[free],
            scores=scores[free],
            backend=self.name,
            residual=residual,
            effort=effort,
        )

    def only_label(self, classes: int) -> int | None:
        """Return the only label that attributions are about; None where a change of sign gives the other's.

        With two classes, a margin or a probability counts against the one as much as for the other. The logit of one
        says nothing about that of the other, and with three classes evidence against one may favour either of two.
        A single output has no other to be turned to.

        Example:
            >>> IGSettings(target=1).only_label(2), IGSettings(target=1).only_label(3)
            (None, 1)
            >>> IGSettings(target=1, output="logit").only_label(2), IGSettings(target=0).only_label(1)
            (1, None)
        """
        return None if classes <= 2 and self.output != "logit" else self.label


@dataclass(frozen=True)
class IGSettings(Attributing):
    """Integrated gradients.

    Attributes:
        baseline: the start of the path, at every position: the embedding of the mask or padding token, or zero.
        rule: the quadrature, in captum's names.
        steps: points on each stretch of the path: three stretches at first, or one where `max_steps` has no room for
            three. While the completeness gap of a stretch is over its share of the tolerance, it gets the points
            between its own, then is cut in halves; so is the roughest one while the gap of the whole path is over the
            tolerance; unless that did not help the last time.
        max_steps: most points an example, those of stretches that were cut included.
        tolerance: the largest completeness gap that is accepted, as a fraction of the sum of absolute scores.
        share: the part of the tolerance for one stretch.

    Raises:
        ValueError: a number out of range.
    """

    name: ClassVar[str] = "ig"
    additive: ClassVar[bool] = True
    function: ClassVar[str] = "ranker.attribution.ig:attribute"
    libraries: ClassVar[tuple[str, ...]] = ("captum",)
    measure: ClassVar[str] = "the completeness gap, as a fraction of the sum of absolute scores"
    revision: ClassVar[int] = 3
    bfloat16: ClassVar[bool] = False  # one step of it is .8 % of a score, and the tolerance is 1 %
    hides: ClassVar[str] = "baseline"
    embedded: ClassVar[bool] = True

    baseline: Baseline = "mask"
    rule: Literal["gausslegendre", "riemann_middle"] = "gausslegendre"
    steps: int = 5
    max_steps: int = 320
    tolerance: float = 0.01
    share: float = 0.2

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= self.max_steps:
            raise ValueError(f"`steps` must be between 1 and `max_steps`, {self.max_steps} (got {self.steps})")
        if not self.tolerance > 0:
            raise ValueError(f"`tolerance` must be above 0 (got {self.tolerance})")
        if not 0 < self.share <= 1:
            raise ValueError(f"`share` must be above 0 and at most 1 (got {self.share})")

    def error(self, attribution: Attributions) -> float:
        """Return the completeness gap, as a fraction of the sum of absolute scores; where that is 0, the gap itself."""
        return float(attribution.residual / (abs(attribution.scores).sum() or 1.0))

    def accepts(self, attribution: Attributions) -> bool:
        """Return whether the completeness gap is a small part of the sum of absolute scores."""
        return bool(attribution.residual <= self.tolerance * abs(attribution.scores).sum())

    @property
    def stretches(self) -> tuple[tuple[float, float], ...]:
        """Stretches of a path at first, from the baseline (0) to the input (1).

        Example:
            >>> IGSettings().stretches, IGSettings(steps=50, max_steps=50).stretches
            (((0.0, 0.23), (0.23, 0.45), (0.45, 1.0)), ((0.0, 1.0),))
        """
        return FIRST if len(FIRST) * self.steps <= self.max_steps else ((0.0, 1.0),)

    def passes(self, segment: Ints, word: Ints) -> int:
        """Return a pass and its way back for each point of four stretches, as measured, and one for each end."""
        stretches = 4 if self.stretches == FIRST else 1
        return stretches * (2 * self.steps + 1) + 1


class Units(NamedTuple):
    """Tokens of an example, by what they are hidden with.

    Attributes:
        segment: (T,) of each token; -1 for those that are never hidden.
        word: (T,) number of each token's word, which is unlike all others; -1 for none.
    """

    segment: Ints
    word: Ints

    @property
    def words(self) -> int:
        """Number of words that have tokens; 0 is possible if the example was cut."""
        return len(np.unique(self.word[self.word != SPECIAL]))


def with_separators(segment: Ints, word: Ints, fixed: Bools | None = None) -> Units:
    """Make a word of each separator, the last of the segment that it ends: a special token behind some text.

    Args:
        segment, word: (T,) of each token; -1 for special ones.
        fixed: (T,) True for tokens that no backend may hide; None if there are none.

    Example:
        >>> units = with_separators(np.array([-1, 0, 0, -1, 1, -1]), np.array([-1, 0, 0, -1, 1, -1]))
        >>> units.segment.tolist(), units.word.tolist(), units.words
        ([-1, 0, 0, 0, 1, 1], [-1, 0, 0, 2, 1, 3], 4)
    """
    places = np.maximum.accumulate(np.where(segment != SPECIAL, np.arange(len(segment)), -1))
    separators = (segment == SPECIAL) & (places >= 0)
    if fixed is not None:
        separators &= ~fixed
    numbers = word.max(initial=-1) + np.cumsum(separators)
    return Units(np.where(separators, segment[places], segment), np.where(separators, numbers, word))


@dataclass(frozen=True)
class Hiding(Attributing):
    """Base class of settings of backends that hide words, and on request separators.

    Attributes:
        separators: True to hide separators, too, each as a word of its own. Without, they score 0.

    Example:
        >>> from ranker import Hiding
        >>> Hiding(target=1, separators=True).output
        'margin'
    """

    separators: bool = False

    def units(self, encoding: Encoding) -> Units:
        """Return what is hidden by itself among the T tokens of an example."""
        if self.separators:
            return with_separators(encoding.segment, encoding.word, encoding.fixed)
        return Units(encoding.segment, encoding.word)


@dataclass(frozen=True)
class SHAPSettings(Hiding):
    """SHAP: Owen values over a tree of words and their pieces.

    Their additivity gap does not measure their quality: they add up for any function, by construction, but for the
    rounding of the sum. It checks the walk; `accepts` also detects a walk that the budget cut short.

    Attributes:
        baseline: the treatment of unseen tokens: replaced by the padding or mask token, or removed.
        tree: "across": words in halves that have their share of every segment, then the pieces of a word in halves;
            "segments": the segments first, as if one could be read without the other; "flat": no tree, the Shapley
            values of the tokens, at 2^T evaluations.
        max_evaluations: most evaluations an example; a tree that needs more is not walked to its leaves.
        tolerance: the largest additivity gap that is accepted, as a fraction of the sum of absolute scores.

    Raises:
        ValueError: a number out of range.
    """

    name: ClassVar[str] = "shap"
    additive: ClassVar[bool] = True
    function: ClassVar[str] = "ranker.attribution.shap:attribute"
    measure: ClassVar[str] = (
        "the additivity gap, as a fraction of the sum of absolute scores, or of 1 where that is less"
    )
    judges: ClassVar[str] = "tolerance"
    hides: ClassVar[str] = "baseline"

    baseline: Hide = "pad"
    tree: Literal["across", "segments", "flat"] = "across"
    max_evaluations: int = 1000
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.max_evaluations < 2:
            raise ValueError(f"`max_evaluations` must be at least 2 (got {self.max_evaluations})")

    def tree_of(self, segment: Ints, word: Ints) -> Tree:
        """Return the tree over an example's tokens without special ones, from the (T,) segment and word of each."""
        if self.tree == "flat":
            return flat_tree(segment)
        return (across_tree if self.tree == "across" else segments_tree)(segment, word)

    def truncated(self, attribution: Attributions) -> bool:
        """Return whether the budget was too small for the whole tree, so that some tokens share a group's value."""
        units = Units(attribution.segment, attribution.word)
        return attribution.effort < evaluations(self.tree_of(*(with_separators(*units) if self.separators else units)))

    def error(self, attribution: Attributions) -> float:
        """Return the additivity gap, as a fraction of the sum of absolute scores, or of 1 where that is less."""
        return float(attribution.residual / max(1.0, abs(attribution.scores).sum()))

    def accepts(self, attribution: Attributions) -> bool:
        """Return whether the tree was walked to its leaves, and the scores add up within the tolerance."""
        return not self.truncated(attribution) and self.error(attribution) <= self.tolerance

    def passes(self, segment: Ints, word: Ints) -> int:
        """Return the tree's evaluations, as far as the budget goes."""
        return min(evaluations(self.tree_of(segment, word)), self.max_evaluations)


@dataclass(frozen=True)
class LIMESettings(Hiding):
    """LIME: a weighted ridge regression on random sets of words.

    Attributes:
        hide: the treatment of an unseen word's tokens: replaced by the padding or mask token, or removed.
        samples: rows an example, the example itself included.
        kernel_width: of the exponential kernel, in hundredths of cosine distance.
        ridge: the penalty on squared coefficients; below 1e-6 it would be lost in the rounding of the sums, and words
            that no sample tells apart have no scores without it.
        seed: of the samples; each example has its own, derived from this, the model and the text.
        tolerance: the greatest share of variance that the regression may leave unexplained, 1 - R2.

    Raises:
        ValueError: a number out of range.
    """

    name: ClassVar[str] = "lime"
    function: ClassVar[str] = "ranker.attribution.lime:attribute"
    libraries: ClassVar[tuple[str, ...]] = ("numpy",)
    measure: ClassVar[str] = "1 - R2, the share of variance that the regression leaves unexplained"
    judges: ClassVar[str] = "tolerance"
    hides: ClassVar[str] = "hide"

    hide: Hide = "pad"
    samples: int = 500
    kernel_width: float = 25.0
    ridge: float = 1.0
    seed: int = 0
    tolerance: float = 0.5

    def __post_init__(self) -> None:
        if self.samples < 2:
            raise ValueError(f"`samples` must be at least 2 (got {self.samples})")
        if not self.kernel_width > 0:
            raise ValueError(f"`kernel_width` must be above 0 (got {self.kernel_width})")
        if not self.ridge >= LEAST_RIDGE:
            raise ValueError(
                f"`ridge` must be at least {LEAST_RIDGE}, or the regression has no one answer (got {self.ridge})"
            )

    def error(self, attribution: Attributions) -> float:
        """Return the share of variance that the regression leaves unexplained, 1 - R2."""
        return attribution.residual

    def accepts(self, attribution: Attributions) -> bool:
        """Return whether the regression explains enough of the model's answers."""
        return bool(attribution.residual <= self.tolerance)

    def passes(self, segment: Ints, word: Ints) -> int:
        """Return the number of samples."""
        return self.samples


@dataclass(frozen=True)
class OcclusionSettings(Hiding):
    """Occlusion: what the output loses when one word is hidden.

    Attributes:
        hide: the treatment of the hidden word's tokens: replaced by the padding or mask token, or removed.
    """

    name: ClassVar[str] = "occlusion"
    function: ClassVar[str] = "ranker.attribution.occlusion:attribute"
    hides: ClassVar[str] = "hide"

    hide: Hide = "pad"

    def passes(self, segment: Ints, word: Ints) -> int:
        """Return one pass for each word, and one for the example."""
        return len(set(word.tolist()) - {SPECIAL}) + 1


@dataclass(frozen=True)
class PhraseSettings(Attributing):
    """Phrase removal: what the output loses when a phrase is hidden beside another hidden word.

    Attributes:
        hide: the treatment of hidden tokens: replaced by the padding or mask token, or removed.
        window: most words of a phrase; a phrase of several begins with a negation.
        reach: words before and after a phrase that are beside it, each hidden in turn; 0 hides phrases alone.

    Raises:
        ValueError: a number out of range.
    """

    name: ClassVar[str] = "phrases"
    function: ClassVar[str] = "ranker.attribution.phrases:attribute"
    hides: ClassVar[str] = "hide"

    hide: Hide = "pad"
    window: int = 3
    reach: int = 1

    def __post_init__(self) -> None:
        for name, least in (("window", 1), ("reach", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"`{name}` must be at least {least} (got {getattr(self, name)})")

    def passes(self, segment: Ints, word: Ints) -> int:
        """Return a pass for the example, for each word, and for each word with one of its neighbours."""
        return len(set(word.tolist()) - {SPECIAL}) * (1 + self.reach) + 1
