"""Attribution backends: one file, one function each; this is their table.

A backend's settings are a frozen dataclass. Every field can change a number, and nothing else can: the fields are part
of the store's key. Heavy libraries are imported when a backend is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Literal

from factors.types import Attributions, Example
from ranker.errors import look_up

if TYPE_CHECKING:
    from ranker.classifiers import Classifier

Advance = Callable[[int], object]
"""Told how many more examples are done."""


@dataclass(frozen=True)
class Settings:
    """Settings of a backend; this one, of no attribution at all, has none."""

    function: ClassVar[str] = "ranker.backends.bare:attribute"
    libraries: ClassVar[tuple[str, ...]] = ()

    def accepts(self, row: Attributions) -> bool:
        """Say whether a row's own measure of error is within the tolerance."""
        return True


@dataclass(frozen=True)
class IGSettings(Settings):
    """Integrated gradients.

    Attributes:
        target: the class that positive scores speak for.
        output: what is attributed: the margin (log-odds of the class), its logit, or its probability.
        baseline: what the path starts from, at every position: the embedding of the mask or padding token, or zero.
        rule: the quadrature, in captum's names.
        steps: points on the path at first.
        max_steps: points on the path at most; they are doubled while the completeness gap is over the tolerance.
        tolerance: the completeness gap that is small enough, as a fraction of the sum of absolute scores.
    """

    function: ClassVar[str] = "ranker.backends.ig:attribute"
    libraries: ClassVar[tuple[str, ...]] = ("captum",)

    target: int = 1
    output: Literal["margin", "logit", "probability"] = "margin"
    baseline: Literal["mask", "pad", "zero"] = "mask"
    rule: Literal["gausslegendre", "riemann_middle"] = "gausslegendre"
    steps: int = 20
    max_steps: int = 320
    tolerance: float = 0.01

    def accepts(self, row: Attributions) -> bool:
        """The completeness gap is a small part of what was distributed."""
        return bool(abs(row.residual) <= self.tolerance * abs(row.scores).sum())


SETTINGS: dict[str, type[Settings]] = {"none": Settings, "ig": IGSettings}
"""Every backend's settings, by its name; they name the function that does the work."""


def attribute(
    classifier: Classifier,
    examples: Sequence[Example],
    method: str,
    settings: Settings | None = None,
    progress: Advance = lambda done: None,
) -> Iterator[Attributions]:
    """Attribute a classifier's output to the tokens of examples.

    Args:
        classifier: the model.
        examples: any number of them.
        method: a backend's name; "none" gives bare probabilities.
        settings: of that backend; its defaults where None.
        progress: told how many more examples are done.

    Yields:
        One row for each example, in order.

    Raises:
        UnknownName: there is no such backend.
        ModelError: the model cannot be run.
    """
    settings = settings or look_up("attribution backend", method, SETTINGS)()
    module, _, function = settings.function.partition(":")
    rows: Iterator[Attributions] = getattr(import_module(module), function)(classifier, examples, settings, progress)
    return rows
