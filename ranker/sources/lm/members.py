"""Prompts as members of a suite: each prompt, number of demonstrations and calibration makes a model of a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranker.errors import LabelError, UsageError, listed
from ranker.sources.lm import demonstrations, prompts
from ranker.sources.lm.answers import Words
from ranker.sources.lm.demonstrations import Demonstration
from ranker.sources.lm.options import LMOptions
from ranker.sources.lm.prompts import Prompt, prompt_of
from ranker.tasks.classes import has_labels
from ranker.tasks.values import has_values

if TYPE_CHECKING:
    from ranker.sources.base import SourceOptions
    from ranker.tasks.base import Task


@dataclass(frozen=True, kw_only=True)
class PromptSetup:
    """A prompt with all that is decided before it meets a network.

    Attributes:
        prompt: the prompt; None for the first built-in one of the task.
        calibration: see `LMOptions`.
        length: see `Prompt`.
    """

    prompt: Prompt | None = None
    demonstrations: tuple[Demonstration, ...] = ()
    calibration: str = "none"
    length: str = "sum"

    @property
    def prompt_name(self) -> str:
        """Name of the prompt in reports."""
        return "the task's" if self.prompt is None else self.prompt.name

    @property
    def prompt_labels(self) -> tuple[str, ...]:
        """Labels that the prompt has words for."""
        return () if self.prompt is None else tuple(self.prompt.verbalizers)

    @property
    def takes_any_labels(self) -> bool:
        """True if the prompt lists the labels of the rows, whatever they are."""
        prompt = self.prompt
        return prompt is not None and not prompt.verbalizers and prompts.lists_labels(prompt)

    def check_task(self, task: Task, name: str) -> None:
        """Raise a LabelError if no answers to a task can be read from what a model writes."""
        if not (has_labels(task) or has_values(task)):
            raise LabelError.of(name, f"writes answers, and those to {task.name} are judged by {task.metric}")

    def chosen_prompt(self, task: Task) -> Prompt:
        """Return the prompt, or the first built-in one of a task."""
        return prompt_of(task) if self.prompt is None else self.prompt

    def settings(self, task: Task | None = None) -> dict[str, Any]:
        """Return all of it as plain JSON; with a task, its built-in prompt where there is no other."""
        prompt = self.prompt if task is None else self.chosen_prompt(task)
        return {
            "prompt": None if prompt is None else prompt.identity(),
            "demonstrations": [[list(row.segments), row.answer] for row in self.demonstrations],
            "calibration": self.calibration,
            "length": self.length,
        }

    def answered(self, task: Task, words: Words, name: str) -> list[tuple[tuple[str, ...], str]]:
        """Return the texts of each demonstration, and the answer as the prompt shows it."""
        return [(row.segments, demonstrations.answer_text(row, task, words, name)) for row in self.demonstrations]


def listed_labels(words: Words) -> str:
    """Return the first word for each label, for `{labels}` in a template."""
    return ", ".join(forms[0] for forms in words.values())


def setups(chosen: LMOptions, options: SourceOptions) -> Iterator[tuple[str, PromptSetup]]:
    """Yield the setups that options name, each with the end of its model's name: "review/4-shot".

    Raises:
        UsageError: there is no such prompt, or demonstrations are needed and no file has them.
    """
    for prompt in prompts.load(chosen.prompts) or (None,):
        for count in (chosen.shots or (0,)) if prompt is None or prompt.shots is None else (prompt.shots,):
            file = (prompt.demonstrations if prompt else "") or chosen.demonstrations
            if count and not file:
                text = f"of {count} needs labelled rows; name a file with `demonstrations`"
                raise UsageError.about("shots", text, count)
            seed = prompt.seed if prompt else 0
            drawn = demonstrations.draw(Path(file), count, seed, options.limits, options.columns) if count else ()
            if drawn and prompt and prompt.segments and len(drawn[0].segments) != len(prompt.segments):
                has = f"the prompt {prompt.name} is for rows of {listed(prompt.segments)}"
                count = len(drawn[0].segments)
                text = f"has rows of {count} text{'s' * (count > 1)}, and {has}; `columns` names those of both"
                raise UsageError.of(file, text, option="demonstrations", value=file)
            length = prompt.length if prompt else "sum"
            for calibration in _calibrations(prompt, chosen):
                parts = ["" if prompt is None else prompt.name, f"{count}-shot" if count else ""]
                parts += ["calibrated" if calibration != "none" else ""]
                setup = PromptSetup(prompt=prompt, demonstrations=drawn, calibration=calibration, length=length)
                yield "/".join(filter(None, parts)), setup


def _calibrations(prompt: Prompt | None, chosen: LMOptions) -> tuple[str, ...]:
    """Return the calibrations of a prompt's models."""
    if prompt is not None and (prompt.decode or prompt.calibration is not None):
        return (prompt.calibration or "none",)
    return chosen.calibration or ("none",)
