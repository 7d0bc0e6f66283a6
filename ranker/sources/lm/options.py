"""Options of language models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ranker.errors import UsageError, choice_error
from ranker.sources.options import Heading, option

Calibration = Literal["none", "content-free"]
"""Correction of the probabilities: none, or by those of rows without content."""

CALIBRATIONS, TOO_LONG = ("none", "content-free"), ("refuse", "cut")


@dataclass(frozen=True)
class LMOptions:
    """Options of all language models of a run. A prompt's own settings come before `shots` and `calibration`.

    Attributes:
        prompts: files, folders of files, and names of built-in prompts; each prompt makes a model of each network. ()
            takes the first built-in prompt of the task that is no chat.
        shots: numbers of demonstrations; each makes a model.
        demonstrations: file of labelled rows that demonstrations are drawn from; "" for none.
        calibration: corrections; each makes a model.
        too_long: treatment of rows that are too long.

    Raises:
        UsageError: a choice that there is not, or a number below 0.

    Example:
        >>> from ranker import SourceOptions
        >>> SourceOptions(kinds=[LMOptions(shots=(0, 4))]).of(LMOptions).shots
        (0, 4)
    """

    heading: ClassVar[str] = Heading.PROMPTS

    prompts: tuple[str, ...] = option(
        (),
        "Prompts of language models: .toml files, folders of them, or built-in prompts (`nli`, "
        "`nli/true-or-false`; `rank-models ls` lists them). Each makes a model. Repeat for several.  [default: the "
        "first built-in prompt of the task]",
        metavar="PROMPT",
    )
    shots: tuple[int, ...] = option(
        (), "Number of demonstrations in a prompt. Repeat to compare several.  [default: 0]", metavar="N", type=int
    )
    demonstrations: str = option(
        "",
        "Labelled rows that demonstrations are drawn from, as many of each label. They must not be among the rows "
        "that models are ranked on.",
        metavar="FILE",
    )
    calibration: tuple[str, ...] = option(
        (),
        "Correct label probabilities by those of rows without content (content-free: Zhao et al. 2021), or not "
        "(none). Repeat to compare both.  [default: none]",
        type=None,
        choices=CALIBRATIONS,
    )
    too_long: str = option(
        "refuse", "Refuse rows that are too long with their prompt, or cut the longest text at its end.",
        choices=TOO_LONG,
    )  # fmt: skip

    def __post_init__(self) -> None:
        choices = {"too_long": TOO_LONG, "calibration": CALIBRATIONS}
        for name, allowed in choices.items():
            value = getattr(self, name)
            for choice in value if isinstance(value, tuple) else (value,):
                if choice not in allowed:
                    raise choice_error(name, choice, allowed)
        for count in self.shots:
            if count < 0:
                raise UsageError.about("shots", f"must be 0 or more (got {count})", count)
