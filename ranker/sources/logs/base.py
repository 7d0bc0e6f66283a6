"""Records of one task in one log, whichever program wrote it.

Logs are untrusted data. Every reader respects `ranker.limits`, and refuses anything beyond in one line.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from factors.types import Floats, Ints
from ranker.datasets.identity import counted_keys
from ranker.errors import DataError, listed
from ranker.sources.logs.measures import MetricInfo
from ranker.sources.usage import RowUsage

MAX_TEXT = 100_000
"""Most characters of a row's text that are stored for display; the rest is cut off."""

MAX_LABEL_DISAGREEMENT = 0.01
"""Largest share of rows on which labels may contradict the metric; beyond it they are left out."""


@dataclass(frozen=True)
class FoundLog:
    """A log in a folder.

    Attributes:
        program: that wrote it: a name of `formats`.
        model: "" if neither the log nor the results beside it state it.
        time: of the run, as far as its name tells: later times are greater.
        arguments: of the run, by name, as JSON.
        trouble: why the log is incomplete; "" if it is complete, or the only one of its model and task.
    """

    path: Path
    program: str
    model: str
    task: str
    time: str
    arguments: Mapping[str, str] = field(default_factory=dict, compare=False)
    trouble: str = field(default="", compare=False)

    @property
    def run_key(self) -> tuple[str, str, str]:
        """Program, model and task, which several runs share."""
        return self.program, self.model, self.task


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskLog:
    """One task in one log. Arrays are read-only; row n of one is row n of all.

    Attributes:
        program: that wrote it: a name of `formats`.
        version, model: "" if not stated.
        metric: recorded value used as outcome, followed by the reducer unless epochs are averaged.
        candidates: all recorded values to choose from, with the chosen one. lm-evaluation-harness: metrics; Inspect:
            "scorer" or "scorer.part".
        measure: properties of the metric: its direction in a row, and whether the recorded aggregate follows from the
            rows.
        keys: (N,) identity of a row in every log of the task. A text that repeats in the data has "#2", "#3" after its
            key, in order of occurrence.
        numbered: the keys may be mere positions: then the texts of two logs must agree.
        responses: (N,) text that the model wrote, as filter or scorer read it; "" for none. Of epochs the first.
        references: (N,) right answer, as written: a text or a list; None if unknown.
        texts: (N,) text of a row, for display and comparison; "" if unknown.
        target_hashes: (N,) of the right answer; if two logs differ, their questions do. "" if unknown.
        prompt_hashes: (N,) of the model's input; if two logs differ, their prompts do. "" if unknown.
        outcomes: (N,) float64 metric of each row, reduced over the epochs that have one; nan if unknown.
        state: (N,) `ANSWERED`, `NO_ANSWER` (asked but not answered: wrong) or `ERROR` (failed, or not scored). A
            `MISSING` row is in no log; joining logs finds it.
        labels: (C,) the choices, if they are the same on all rows; else ().
        truth: (N,) index into labels of the right choice; -1 if unknown, or several.
        answers: (N,) index into labels of the model's choice, the most frequent of several epochs; -1 for none of them.
        scores: (N, C) log-likelihoods of the labels as the metric compares them, nan for none; or None. They are not
            log-probabilities: their softmax is not calibrated.
        clusters: (N,) groups of dependent rows, or None.
        usage: what the answers took, row by row; None if nothing is known of it.

    Raises:
        ValueError: a key occurs twice.
    """

    program: str
    version: str = ""
    task: str
    model: str
    metric: str
    candidates: tuple[str, ...]
    measure: MetricInfo
    keys: tuple[str, ...]
    numbered: bool = False
    responses: tuple[str, ...]
    references: tuple[Any, ...]
    texts: tuple[str, ...]
    target_hashes: tuple[str, ...]
    prompt_hashes: tuple[str, ...]
    outcomes: Floats
    epochs: int = 1
    state: Ints
    labels: tuple[str, ...]
    truth: Ints
    answers: Ints
    scores: Floats | None
    clusters: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    usage: RowUsage | None = None

    def __post_init__(self) -> None:
        if len(set(self.keys)) < len(self.keys):
            raise ValueError(f"the key {Counter(self.keys).most_common(1)[0][0]!r} occurs twice")
        for array in (self.outcomes, self.state, self.truth, self.answers, self.scores):
            if array is not None:
                array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.keys)


def each_log(folder: Path, names: Iterable[str], find: Callable[[Path], FoundLog]) -> tuple[list[FoundLog], list[str]]:
    """Return what a function finds in each file of a folder, and the errors of those that cannot be read."""
    logs, broken = [], []
    for name in names:
        try:
            logs.append(find(folder / name))
        except DataError as error:
            broken.append(str(error))
    return logs, broken


def number(value: Any) -> float | None:
    """Convert a recorded value: nan if it is empty, None if it is no single number.

    Numbers may be written as text, as NumPy's are.

    Example:
        >>> number(True), number("0.5"), number(None), number([1, 0])
        (1.0, 0.5, nan, None)
    """
    if value is None:
        return math.nan
    if isinstance(value, str):
        value = {"true": 1.0, "false": 0.0}.get(value.strip().casefold(), value)
    if not isinstance(value, (bool, int, float, str)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except ValueError:
        return None


def table_in(content: Any, key: str) -> dict[str, Any]:
    """Return the object under a key of JSON; {} if there is none."""
    table = content.get(key) if isinstance(content, dict) else None
    return table if isinstance(table, dict) else {}


def list_in(content: Any, key: str) -> list[Any]:
    """Return the list under a key of JSON; [] if there is none."""
    values = content.get(key) if isinstance(content, dict) else None
    return values if isinstance(values, list) else []


def text_in(content: Any, key: str) -> str:
    """Return the text under a key of JSON; "" if there is none."""
    text = content.get(key) if isinstance(content, dict) else None
    return name_of(text) if isinstance(text, str) else ""


def plain(text: str) -> str:
    r"""Replace half a surrogate pair, which JSON can express and UTF-8 cannot, by a question mark.

    Example:
        >>> plain("a\ud800")
        'a?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def clip_text(text: str) -> str:
    """Cut a row's text to `MAX_TEXT` characters."""
    return plain(text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…")


def name_of(value: Any) -> str:
    """Convert a value to a name: a text as it is, anything else as JSON."""
    return plain(value) if isinstance(value, str) else str(value) if type(value) is int else canonical(value)


def canonical(value: Any) -> str:
    """Write a value as JSON with sorted keys."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True)


def hashed(text: str) -> str:
    """Return the sha256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def number_repeats(keys: Iterable[str]) -> tuple[str, ...]:
    """Number repeated keys, by their order.

    Example:
        >>> number_repeats(["a", "b", "a"])
        ('a', 'b', 'a#2')
    """
    return tuple(f"{key}" if count == 1 else f"{key}#{count}" for key, count in counted_keys(keys))


def missing_name_error(place: object, noun: str, name: str, names: Sequence[str]) -> DataError:
    """Return the error that a log has nothing of a name."""
    return DataError.of(
        place, f"has no {noun} {name!r}; it has {listed(names) or 'none'}", option=noun, value=name, allowed=names
    )


def several_names_error(place: object, plural: str, names: Iterable[str], option: str) -> DataError:
    """Return the error that a log has several of a kind, of which an option names one."""
    names = tuple(names)
    text = f"has several {plural}, {listed(names)}; say which with `{option}`"
    return DataError.of(place, text, option=option, allowed=names)
