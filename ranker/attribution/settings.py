"""The settings of every backend, a frozen record each.

Every field can change a score and is part of the store's key, except `Settings.judges`, which only says whether a
finished attribution is good enough. The code can change scores, too; it has a revision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

from factors.types import SPECIAL, Attributions, Floats, Ints, Output
from ranker.attribution.trees import Tree, across_tree, evaluations, flat_tree, segments_tree
from ranker.errors import UsageError
from ranker.sources.base import Baseline, Hide
from ranker.tasks.classes import has_labels
from ranker.tasks.names import fold

if TYPE_CHECKING:
    from typing import Self

    from ranker.sources.base import Encoding
    from ranker.tasks.base import Task

S = TypeVar("S", bound="Settings")

LEAST_RIDGE = 1e-6
"""The least penalty that makes LIME's regression one that can be solved, however few the samples are."""

FIRST = ((0.0, 0.23), (0.23, 0.45), (0.45, 1.0))
"""The stretches that IG cuts a path into at first: shorter near the baseline, where most models bend most."""


@dataclass(frozen=True)
class Settings:
    """No attribution: answers alone, for the baselines.

    It has no settings, and holds what those of all backends have in common.

    Attributes:
        name: of the backend.
        function: what does the work, as "module:function".
        libraries: packages whose version can change a score, beside those of every model.
        measure: what `error` is, in words.
        judges: the field that attributions are only judged by: it changes none, and is not in the store's key.
        revision: raised when the same settings come to give other numbers: here where all backends do, in one where
            that one does; both are in the store's key.
        bfloat16: its scores were measured to be nearly the same in bfloat16.
        hides: the field that says what words are hidden behind.
        embedded: it asks for points between embeddings, which not every model answers to.
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
        """The same settings for a task: with the number of the label that is attributed."""
        return self

    def only_label(self, classes: int) -> int | None:
        """The one label that attributions speak for; None where a change of sign turns them toward the other."""
        return None

    def error(self, attribution: Attributions) -> float:
        """How far it is from what it should be, in the unit of the tolerance; nan where there is no measure."""
        return float("nan")

    def accepts(self, attribution: Attributions) -> bool:
        """Say whether an attribution's own measure of error is within the tolerance."""
        return True

    def passes(self, segment: Ints, word: Ints) -> int:
        """Forward passes for an example, at first, given the (T,) segment and word of its tokens."""
        return 1


def settle(settings: S, task: Task, toward: int | None = None) -> S:
    """The same settings for a task: with the number of the label that is attributed, where there is one.

    Args:
        settings: of a backend; of a task without labels only "none".
        task: what the models do.
        toward: the label that is attributed where the settings name none; None for the one that the shortcut speaks
            for.

    Raises:
        UsageError: the label that the settings name is none of the task's.
    """
    if not has_labels(task):
        return settings
    return settings.settled(task.labels, task.shortcut if toward is None else toward)


@dataclass(frozen=True)
class Attributing(Settings):
    """Settings of what gives scores to tokens.

    Attributes:
        target: the label that positive scores speak for, by its name or its number from 0. None takes the last of two,
            and of more the one that the shortcut speaks for, or the last where it speaks for none.
        output: what is attributed: the margin (log-odds of the class), its logit, or its probability.
    """

    target: int | str | None = None
    output: Output = "margin"

    def settled(self, labels: Sequence[str], shortcut: int | None = None) -> Self:
        """The same settings with the number of the label that is attributed.

        Args:
            labels: the names of the classes, in order.
            shortcut: the one that the shortcut speaks for, if any.

        Raises:
            UsageError: the target is none of them.

        Example:
            >>> LIMESettings(target="Negative").settled(("negative", "neutral", "positive")).target
            0
        """
        target = self.target
        if target is None:
            last = len(labels) - 1
            target = last if len(labels) == 2 or shortcut is None else shortcut
        elif isinstance(target, str):
            numbers = {fold(label): i for i, label in enumerate(labels)}
            target = numbers.get(fold(target), -1)
        if not 0 <= target < len(labels):
            known = ", ".join(f"{label} ({i})" for i, label in enumerate(labels))
            raise UsageError(f"the target must be one of {known} (got {self.target!r})")
        return replace(self, target=target)

    @property
    def label(self) -> int:
        """The number of the label that is attributed, once it is `settled`.

        Raises:
            TypeError: it is not.
        """
        if not isinstance(self.target, int):
            raise TypeError(f"settle the settings first; their target is {self.target!r}")
        return self.target

    def attributed(
        self, encoding: Encoding, probs: Floats, scores: Floats, *, effort: int, residual: float = nan
    ) -> Attributions:
        """The attributions of one example.

        Args:
            encoding: its T tokens.
            probs: (C,) what the model makes of it.
            scores: (T,) of its tokens, toward the label that is attributed.
            effort: what it took, in the backend's own unit.
            residual: the backend's own measure of error; nan where it has none.
        """
        return Attributions(
            probs=probs,
            target=self.label,
            tokens=encoding.tokens,
            segment=encoding.segment,
            word=encoding.word,
            offsets=encoding.offsets,
            scores=scores,
            backend=self.name,
            residual=residual,
            effort=effort,
        )

    def only_label(self, classes: int) -> int | None:
        """The one label that attributions speak for; None where a change of sign turns them toward the other.

        Of two classes, a margin or a probability speaks against the one as much as for the other. The logit of one says
        nothing about that of the other, and of three classes what speaks against one may speak for either of two.

        Example:
            >>> IGSettings(target=1).only_label(2), IGSettings(target=1).only_label(3)
            (None, 1)
            >>> IGSettings(target=1, output="logit").only_label(2)
            1
        """
        return None if classes == 2 and self.output != "logit" else self.label


@dataclass(frozen=True)
class IGSettings(Attributing):
    """Integrated gradients.

    Attributes:
        baseline: what the path starts from, at every position: the embedding of the mask or padding token, or zero.
        rule: the quadrature, in captum's names.
        steps: points on each stretch of the path: three stretches at first, or one where `max_steps` has no room for
            three. While the completeness gap of a stretch is over its share of the tolerance, it is given the points
            between those that it has, then cut in halves; so is the roughest one while the gap of the whole path is
            over the tolerance; unless that was of no help the last time.
        max_steps: points an example at most, those of stretches that were cut included.
        tolerance: the completeness gap that is small enough, as a fraction of the sum of absolute scores.
        share: of the tolerance, what one stretch may be off by.

    Raises:
        ValueError: a number out of range.
    """

    name: ClassVar[str] = "ig"
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
        """The completeness gap, as a fraction of the sum of absolute scores; where that is 0, the gap itself."""
        return float(attribution.residual / (abs(attribution.scores).sum() or 1.0))

    def accepts(self, attribution: Attributions) -> bool:
        """The completeness gap is a small part of what was distributed."""
        return bool(attribution.residual <= self.tolerance * abs(attribution.scores).sum())

    @property
    def stretches(self) -> tuple[tuple[float, float], ...]:
        """The stretches of a path at first, from the baseline (0) to the input (1).

        Example:
            >>> IGSettings().stretches, IGSettings(steps=50, max_steps=50).stretches
            (((0.0, 0.23), (0.23, 0.45), (0.45, 1.0)), ((0.0, 1.0),))
        """
        return FIRST if len(FIRST) * self.steps <= self.max_steps else ((0.0, 1.0),)

    def passes(self, segment: Ints, word: Ints) -> int:
        """One for each point and one back, as for four stretches, which is what was measured, and one for each end."""
        stretches = 4 if self.stretches == FIRST else 1
        return stretches * (2 * self.steps + 1) + 1


@dataclass(frozen=True)
class SHAPSettings(Attributing):
    """SHAP: Owen values over a tree of words and their pieces.

    Their additivity gap is no measure of how good they are: they add up for any function, by construction, but for the
    rounding of the sum. It says that the walk is sound; `accepts` also tells a walk that the budget cut short.

    Attributes:
        baseline: what becomes of unseen tokens: replaced by the padding or mask token, or removed.
        tree: "across": words in halves that have their share of every segment, then the pieces of a word in halves;
            "segments": the segments first, as if one could be read without the other; "flat": no tree, the Shapley
            values of the tokens, at 2^T evaluations.
        max_evaluations: the most evaluations an example; a tree that needs more is not walked to its leaves.
        tolerance: the additivity gap that is small enough, as a fraction of the sum of absolute scores.

    Raises:
        ValueError: a number out of range.
    """

    name: ClassVar[str] = "shap"
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
        """The tree over an example's tokens, special ones left out, given the (T,) segment and word of each."""
        if self.tree == "flat":
            return flat_tree(segment)
        return (across_tree if self.tree == "across" else segments_tree)(segment, word)

    def truncated(self, attribution: Attributions) -> bool:
        """Say whether the budget was too small for the whole tree: some tokens share the value of their group."""
        return attribution.effort < evaluations(self.tree_of(attribution.segment, attribution.word))

    def error(self, attribution: Attributions) -> float:
        """The additivity gap, as a fraction of the sum of absolute scores, or of 1 where that is less."""
        return float(attribution.residual / max(1.0, abs(attribution.scores).sum()))

    def accepts(self, attribution: Attributions) -> bool:
        """The tree was walked to its leaves, and the scores add up to what was to be distributed."""
        return not self.truncated(attribution) and self.error(attribution) <= self.tolerance

    def passes(self, segment: Ints, word: Ints) -> int:
        """The tree's evaluations, as far as the budget goes."""
        return min(evaluations(self.tree_of(segment, word)), self.max_evaluations)


@dataclass(frozen=True)
class LIMESettings(Attributing):
    """LIME: a weighted ridge regression on random sets of words.

    Attributes:
        hide: what becomes of the tokens of an unseen word: replaced by the padding or mask token, or removed.
        samples: rows an example, the example itself included.
        kernel_width: of the exponential kernel, in hundredths of cosine distance.
        ridge: the penalty on squared coefficients; under 1e-6 it would be lost in the rounding of the sums that it
            is added to, and words that no sample tells apart have no scores without it.
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
        """The share of variance that the regression leaves unexplained, 1 - R2."""
        return attribution.residual

    def accepts(self, attribution: Attributions) -> bool:
        """The regression explains enough of the model's answers."""
        return bool(attribution.residual <= self.tolerance)

    def passes(self, segment: Ints, word: Ints) -> int:
        """One for each sample."""
        return self.samples


@dataclass(frozen=True)
class OcclusionSettings(Attributing):
    """Occlusion: what the output loses when one word is hidden.

    Attributes:
        hide: what becomes of the tokens of the hidden word: replaced by the padding or mask token, or removed.
    """

    name: ClassVar[str] = "occlusion"
    function: ClassVar[str] = "ranker.attribution.occlusion:attribute"
    hides: ClassVar[str] = "hide"

    hide: Hide = "pad"

    def passes(self, segment: Ints, word: Ints) -> int:
        """One for each word, and one for the example."""
        return len(set(word.tolist()) - {SPECIAL}) + 1
