"""`Gate`: whether models are shown to be no worse than one of them, for CI."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.numbers import unit


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
    """

    model: str
    task: str
    low: float | None
    passes: bool
    why: str


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
        passes: whether every model passes, and no gap is left that is not allowed.
        metric: a metric that is no mean over rows, by which models are compared; "" for the mean outcome.

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

    def __post_init__(self) -> None:
        if self.passes != (all(model.passes for model in self.held) and (self.allow_absent or not self.absent)):
            raise ValueError("`passes` of a gate must follow from `held` and `absent`")

    @property
    def in_words(self) -> str:
        """The verdict in a line: the models that pass or fail, and why."""
        metric_unit = unit(self.metric)
        by = f"no worse than {self.base} by more than {metric_unit.value(self.margin)}{metric_unit.points}"
        decisive = [
            f"{held.model}{f' on {held.task}' if held.task else ''} ({held.why})"
            for held in self.held
            if held.passes == self.passes
        ]
        verdict = f"{by}: {'; '.join([*([', '.join(decisive)] if decisive else []), *self.absent])}"
        verdict = f"{verdict} (allowed)" if self.absent and self.allow_absent else verdict
        return verdict if self.passes else f"not shown to be {verdict}"
