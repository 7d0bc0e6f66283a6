"""`Gate`: whether models are shown to be no worse than one of them, for CI."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.numbers import unit


@dataclass(frozen=True)
class HeldModel:
    """A model held to the base on the rows of one task.

    Attributes:
        model: its name.
        task: the task; "" where there is one decision.
        low: the lower end of the 95 % interval of its mean outcome minus the base's, or of its value of `Gate.metric`;
            None where these rows bound it by nothing.
        passes: it is shown to be worse by no more than the margin.
        why: what that rests on, in words.
    """

    model: str
    task: str
    low: float | None
    passes: bool
    why: str


@dataclass(frozen=True)
class Gate:
    """Whether every other model is shown to be no worse than one, but for a margin.

    Attributes:
        base: the model that the others are held to.
        margin: how much worse is no worse: a fraction, or in the unit of `metric`.
        held: each other model, on each task.
        absent: what the comparison lacks, each in words: tasks that the base was asked and another model was not, rows
            that one of them has no outcome on, logs that are partial.
        allow_absent: the comparison may lack it.
        passes: every model passes, and nothing is absent that may not be.
        metric: a metric that is no mean over rows, by which models are compared; "" for the mean outcome.

    Raises:
        ValueError: `passes` is not what follows from the rest.

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
        if self.passes != (all(one.passes for one in self.held) and (self.allow_absent or not self.absent)):
            raise ValueError("`passes` of a gate must follow from `held` and `absent`")

    @property
    def in_words(self) -> str:
        """The verdict in a line: who passes and by what, or who does not, and why."""
        of = unit(self.metric)
        by = f"no worse than {self.base} by more than {of.value(self.margin)}{of.points}"
        shown = [
            f"{one.model}{f' on {one.task}' if one.task else ''} ({one.why})"
            for one in self.held
            if one.passes == self.passes
        ]
        if self.passes:
            return f"{by}: {', '.join(shown)}"
        lacking = [] if self.allow_absent else self.absent
        return f"not shown to be {by}: {'; '.join([*([', '.join(shown)] if shown else []), *lacking])}"
