"""`Gate`: whether models are shown to be no worse than one of them, for CI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ranker.numbers import counted, unit
from ranker.results.result import NAMES


@dataclass(frozen=True)
class HeldModel:
    """A model compared with the base on the rows of one task.

    Attributes:
        model: its name.
        task: the task; "" for a single decision.
        low: lower end of the 95 % interval of its mean outcome, or its value of `Gate.metric`, minus the base's; None
            if these rows give no bound.
        passes: whether it is shown to be worse by no more than the margin.
        why: the reason in words.
        lost, won: number of rows on which it did worse than the base, and better; None in runs that were saved before
            they were counted.
    """

    model: str
    task: str
    low: float | None
    passes: bool
    why: str
    lost: int | None = None
    won: int | None = None

    @property
    def reason(self) -> str:
        """The reason in words, with the numbers of rows lost and won.

        Example:
            >>> HeldModel("b", "", -0.1, False, "may be 10.0 points worse", 7, 3).reason
            'may be 10.0 points worse; lost 7 rows, won 3'
        """
        return self.why if self.lost is None else f"{self.why}; lost {counted(self.lost, 'row')}, won {self.won:,}"


@dataclass(frozen=True)
class Gate:
    """Verdict on whether every other model is shown to be no worse than one, within a margin.

    Attributes:
        base: model that the others are compared with.
        margin: loss that still counts as no worse: a fraction, or in the unit of `metric`.
        held: each other model, on each task.
        absent: gaps of the comparison, in words: tasks that the base was run on and another model was not, rows on
            which one of them has no outcome, logs that are partial or invalid.
        allow_absent: whether such gaps are allowed.
        passes: whether every model passes, nothing failed, and no gap is left that is not allowed.
        metric: a metric that is no mean over rows, by which models are compared; "" for the mean outcome.
        failed: models and answers that failed, and tasks that could not be compared, in words; nothing allows them.

    Raises:
        ValueError: `passes` does not follow from the rest.

    Example:
        >>> gate = Gate("a", 0.02, (HeldModel("b", "", -0.013, True, "at most 1.3 points worse"),), (), False, True)
        >>> gate.in_words
        'no worse than a by more than 2.0 points: b (at most 1.3 points worse)'
    """

    base: str
    margin: float
    held: tuple[HeldModel, ...]
    absent: tuple[str, ...]
    allow_absent: bool
    passes: bool
    metric: str = ""
    failed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.passes != passes(self.held, self.absent, self.allow_absent, self.failed):
            raise ValueError("`passes` of a gate must follow from `held`, `absent` and `failed`")

    @property
    def in_words(self) -> str:
        """The verdict in a line: the models that pass or fail, and why."""
        return self._in_words(len(self.held) + len(self.absent) + len(self.failed))

    @property
    def headline(self) -> str:
        """The verdict as the first line of a report: the same, of many models the first few."""
        return f"{'PASSED' if self.passes else 'NOT PASSED'}: {self._in_words(NAMES)}."

    def _in_words(self, most: int) -> str:
        metric_unit = unit(self.metric)
        by = f"no worse than {self.base} by more than {metric_unit.value(self.margin)}{metric_unit.points}"
        decisive = [
            f"{held.model}{f' on {held.task}' if held.task else ''} ({held.reason})"
            for held in self.held
            if held.passes == self.passes
        ]
        allowed = " (allowed)" if self.absent and self.allow_absent else ""
        parts = [_first(decisive, most, ", "), _first(self.failed, most, "; "), _first(self.absent, most, "; ")]
        return f"{'' if self.passes else 'not shown to be '}{by}: {'; '.join(filter(None, parts))}{allowed}"


def passes(held: Sequence[HeldModel], absent: Sequence[str], allow_absent: bool, failed: Sequence[str]) -> bool:
    """Tell whether a gate passes: every model does, nothing failed, and each gap is allowed.

    Example:
        >>> passes((), ["m1 was not asked old"], True, []), passes((), [], True, ["m1 failed"])
        (True, False)
    """
    return all(model.passes for model in held) and not failed and (allow_absent or not absent)


def _first(texts: Sequence[str], most: int, between: str) -> str:
    """Join the first texts, and the number of the others."""
    left = len(texts) - most
    return between.join([*texts[:most], *([f"{left:,} more"] if left > 0 else [])])
