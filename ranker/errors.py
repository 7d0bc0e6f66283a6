"""Errors that a user can meet. Each message is one line: the expectation, its subject, the actual value, the remedy.

RankModelsError                 exit code 1
├── UsageError                  exit code 2: an argument, or a file it names, cannot be right
│   ├── UnknownName             no such OOD set, factor, suite or backend; the near one is offered
│   └── DataError               a file of examples cannot be read; file and line are named
│       └── Question            what a file means cannot be known; the option that says it is named
├── ModelError                  a checkpoint cannot be loaded or run; the other models go on
│   └── LabelError              its labels cannot be mapped to the task's
├── FetchError                  official data cannot be had from its server
└── StoreError                  the store cannot be read or written
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from itertools import accumulate
from typing import Any, NamedTuple, Self, TypeVar

T = TypeVar("T")

MAX_MESSAGE_CHARACTERS = 280
"""Most characters of a message; the middle of a longer one is left out, since its end has the remedy."""

BEGINNING = 0.35
"""Share of a shortened message that stands before what is left out; the remedy, behind it, may be an option to type."""

MAX_PATH_CHARACTERS = 200
"""Most characters of absolute paths by which a message may be longer."""

SHORT_PATH = 20
"""Characters of a path that the limit of a message includes."""

MAX_LINE_CHARACTERS = 2_000
"""Most characters of a line that is no message of ours."""

MAX_NAME_CHARACTERS = 100
"""Most characters of a name in a message that lists several."""

MAX_LIST_CHARACTERS = 150
"""Characters of a list in a message, from which on only `MAX_EXAMPLES` names are listed."""

MAX_LISTED_NAMES = 10
"""Most names in a message, which counts the others."""

MAX_EXAMPLES = 3
"""Most examples in a message."""

_PATH = re.compile(r"(?<!\S)['(]?/[^\s/]+/\S+")
"""Absolute path."""


class Assumption(str):
    """Sentence about a guess, a dropped row or an unread column; `strict` turns it into an error.

    Example:
        >>> Assumption("the column 'c' is not read: it holds lists")
        "the column 'c' is not read: it holds lists"
    """

    __slots__ = ()


class Absence(Assumption):
    """Assumption by which a model, or a part of its answers, may be missing; no gate passes on it."""

    __slots__ = ()


class FileReading(NamedTuple):
    """One of the ways to read an ambiguous file, which the command line shows below the question.

    Attributes:
        answer: what to type for it, in the form of messages.
        options: option -> value that means the same in Python.
        preview: its models, then the first rows as they are read so, a line each; () if that is not known.

    Example:
        >>> FileReading.by("answers", "labels")
        FileReading(answer='`answers=labels`', options={'answers': 'labels'}, preview=())
    """

    answer: str
    options: Mapping[str, Any]
    preview: tuple[str, ...] = ()

    @classmethod
    def by(cls, option: str, value: str) -> Self:
        """Return the reading that one value of an option of texts chooses."""
        return cls(f"`{option}={value}`", {option: value})


class RankModelsError(Exception):
    r"""Base class of the errors that the command line turns into one line and an exit code.

    A message may quote untrusted files: line ends and terminal control codes are escaped, and no message has more than
    `MAX_MESSAGE_CHARACTERS` characters, besides long absolute paths.

    Args:
        message: for people. Programs read the fields instead, since wordings change.
        option: parameter, option without dashes, or column of a file, that the message is about; "" where none is.
        value: what was given, or found in its place; None where the message names no single value.
        allowed: names that are right, or the two ends of a range.
        place: file, and a line, row or column of it, or the name of a model, set or factor; "" where none is named.
        readings: ways to read the file that the message is about; () where it is not ambiguous.

    Attributes:
        option, value, allowed, place, readings: as given.

    Example:
        >>> error = RankModelsError("`probe` must be 1 to 6 (got 7)", option="probe", value=7, allowed=(1, 6))
        >>> error.option, error.value, error.allowed, error.place
        ('probe', 7, (1, 6), '')
        >>> print(RankModelsError("the column 'a\nb' is missing"))
        the column 'a\nb' is missing
        >>> len(str(RankModelsError("the column " + "a" * 100_000 + " is missing")))
        280
    """

    exit_code = 1

    def __init__(
        self,
        message: str = "",
        *,
        option: str = "",
        value: object = None,
        allowed: Iterable[object] = (),
        place: object = "",
        readings: Iterable[FileReading] = (),
    ) -> None:
        super().__init__(message)
        self.readings = tuple(readings)
        self.option, self.value, self.allowed, self.place = option, value, tuple(allowed), str(place)

    @property
    def fields(self) -> dict[str, Any]:
        """All that the error is about, without its place."""
        return {name: getattr(self, name) for name in ("option", "value", "allowed", "readings")}

    @classmethod
    def at(cls, place: object, cause: str | Exception, **fields: Any) -> Self:
        """Return an error whose message opens with its place; an error as its cause lends its fields.

        Example:
            >>> error = DataError.at("a.csv, line 2", UsageError("`n` must be at least 1 (got 0)", option="n", value=0))
            >>> print(error, error.option, error.place, sep="; ")
            a.csv, line 2: `n` must be at least 1 (got 0); n; a.csv, line 2
        """
        if isinstance(cause, RankModelsError):
            fields = cause.fields | fields
        return cls(f"{place}: {cause}", place=place, **fields)

    @classmethod
    def of(cls, place: object, predicate: str, **fields: Any) -> Self:
        """Return an error whose message has its place as the subject.

        Example:
            >>> print(DataError.of("a.csv", "holds no row"))
            a.csv holds no row
        """
        return cls(f"{place} {predicate}", place=place, **fields)

    @classmethod
    def like(cls, error: RankModelsError) -> Self:
        """Return an error of this type with the message and the fields of another."""
        return cls(str(error), place=error.place, **error.fields)

    @classmethod
    def about(cls, option: str, predicate: str, value: object = None, *, place: object = "", **fields: Any) -> Self:
        """Return an error whose message opens with its option, behind its place if there is one.

        Example:
            >>> print(UsageError.about("limit", "must be at least 1 (got 0)", 0))
            `limit` must be at least 1 (got 0)
        """
        return cls(f"{place}{place and ': '}`{option}` {predicate}", option=option, value=value, place=place, **fields)

    @classmethod
    def of_column(cls, column: str, predicate: str, value: object = None, *, place: object = "", **fields: Any) -> Self:
        """Return an error about a column of a file, which is its option.

        Example:
            >>> print(DataError.of_column("text", "is empty", place="a.csv, line 2"))
            a.csv, line 2: the column 'text' is empty
        """
        message = f"{place}{place and ': '}the column {column!r} {predicate}"
        return cls(message, option=column, value=value, place=place, **fields)

    @classmethod
    def unreadable(cls, place: object, cause: BaseException) -> Self:
        """Return the error of a file that cannot be read; of the system's errors only the reason is quoted.

        Example:
            >>> print(DataError.unreadable("a.csv", FileNotFoundError(2, "No such file or directory", "a.csv")))
            a.csv cannot be read: No such file or directory
        """
        return cls(f"{place} cannot be read: {getattr(cause, 'strerror', None) or cause}", place=place)

    def __str__(self) -> str:
        text = super().__str__()
        longer = sum(max(0, len(path) - SHORT_PATH) for path in _PATH.findall(text[:MAX_LINE_CHARACTERS]))
        return printed(text, MAX_MESSAGE_CHARACTERS + min(longer, MAX_PATH_CHARACTERS))


class UsageError(RankModelsError):
    """Invalid argument, or invalid file that it names; nothing was run."""

    exit_code = 2


class UnknownName(UsageError):
    """Unknown name.

    Example:
        >>> print(UnknownName("OOD set", "hans-subs", ["hans-sub", "paws"]))
        there is no OOD set 'hans-subs'; did you mean hans-sub?
        >>> print(UnknownName("column", "lable", ["label"], place="a.csv"))
        there is no column in a.csv 'lable'; did you mean label?
    """

    def __init__(self, kind: str, name: str, choices: Iterable[str], *, place: object = "") -> None:
        import difflib  # only needed for errors

        by_folded = {key.casefold(): key for key in choices}
        near = difflib.get_close_matches(name.casefold(), by_folded, n=1)
        hint = f"did you mean {by_folded[near[0]]}?" if near else f"known: {listed(by_folded.values())}"
        noun = f"{kind} in {place}" if place else kind
        super().__init__(f"there is no {noun} {name!r}; {hint}", value=name, allowed=by_folded.values(), place=place)


class DataError(UsageError):
    """Unreadable file of examples, or card."""


class Question(DataError):
    """Ambiguous file, whose meaning an option decides: nothing is guessed, and no model is left out for it."""


class ModelError(RankModelsError):
    """Failure to load or run a checkpoint; the other models of the suite go on."""


class LabelError(ModelError):
    """Failure to map a checkpoint's labels to the task's."""


class FetchError(RankModelsError):
    """Failure to fetch official data from its server; nothing of it is kept."""


class StoreError(RankModelsError):
    """Failure to read or write the store."""


EXTRAS: Mapping[str, Mapping[str, str]] = {
    "datasets": {"datasets": "datasets"},
    "endpoint": {"httpx2": "httpx2", "stamina": "stamina"},
    "lm": {"accelerate": "accelerate", "gguf": "gguf"},
    "models": {name: name for name in ("captum", "huggingface_hub", "safetensors", "torch", "transformers")},
    "notebook": {"pandas": "pandas", "shap": "shap"},
    "peft": {"peft": "peft"},
    "rankings": {"ir_measures": "ir-measures", "pytrec_eval": "pytrec-eval-terrier"},
    "ray": {"ray": "ray"},
    "shift": {"sklearn": "scikit-learn"},
    "tags": {"nervaluate": "nervaluate"},
    "texts": {"nltk": "nltk", "rapidfuzz": "rapidfuzz", "sacrebleu": "sacrebleu"},
    "web": {"markdown_it": "markdown-it-py", "starlette": "starlette", "uvicorn": "uvicorn"},
}
"""Extra of the package -> its modules, and the packages that bring them."""


def need(extra: str, modules: Iterable[str] = ()) -> str:
    """Return what a message says after its subject, where modules of an extra are not installed; "" where all are.

    Args:
        extra: one of `EXTRAS`.
        modules: the modules that are needed; without any, all of the extra.

    Example:
        >>> from unittest.mock import patch
        >>> with patch.dict("sys.modules", {"nltk": None}):
        ...     need("texts"), need("texts", ["sacrebleu"])
        ("needs nltk: `pip install 'rank-models[texts]'`", '')
    """
    packages = EXTRAS[extra]
    missing = [packages[module] for module in modules or packages if not _is_installed(module)]
    return f"needs {listed(missing)}: `pip install 'rank-models[{extra}]'`" if missing else ""


def _is_installed(module: str) -> bool:
    return sys.modules[module] is not None if module in sys.modules else find_spec(module) is not None


def check_installed(subject: str, extra: str, *modules: str, option: str = "", value: object = None) -> None:
    """Refuse what needs modules of an extra that are not installed: see `need`.

    Raises:
        UsageError: one is missing.
    """
    if lack := need(extra, modules):
        raise UsageError(f"{subject} {lack}", option=option, value=value)


def choice_error(option: str, value: object, choices: Iterable[object]) -> UsageError:
    """Return the error of a parameter that is none of a few choices.

    Example:
        >>> print(choice_error("norm", "l3", ["raw", "l1"]))
        `norm` must be one of raw, l1 (got 'l3')
    """
    allowed = tuple(choices)
    text = f"`{option}` must be one of {listed(allowed)} (got {_cut(repr(value), MAX_NAME_CHARACTERS)})"
    return UsageError(text, option=option, value=value, allowed=allowed)


def range_error(option: str, value: float, low: float, high: float, noun: str = "") -> UsageError:
    """Return the error of a parameter outside its range, of which `noun` may explain the higher end.

    Example:
        >>> print(range_error("probe", 7, 1, 6, "the number of examples"))
        `probe` must be between 1 and 6, the number of examples (got 7)
    """
    text = f"`{option}` must be between {low} and {high}{noun and f', {noun}'} (got {value})"
    return UsageError(text, option=option, value=value, allowed=(low, high))


def look_up(kind: str, name: str, choices: Mapping[str, T]) -> T:
    """Return the value of a name in a table; where no name is equal, case does not matter.

    Raises:
        UnknownName: there is no such name.

    Example:
        >>> look_up("backend", "IG", {"ig": 1})
        1
    """
    if name in choices:
        return choices[name]
    by_name = {key.casefold(): value for key, value in choices.items()}
    if name.casefold() not in by_name:
        raise UnknownName(kind, name, choices)
    return by_name[name.casefold()]


def first_line(error: BaseException) -> str:
    r"""Return the first line of another library's error; its type, if there is none.

    Example:
        >>> first_line(ValueError("\nno such thing\nsee the manual")), first_line(KeyError())
        ('no such thing', 'KeyError')
    """
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def listed(names: Iterable[object], most: int = MAX_LISTED_NAMES) -> str:
    """Return names for a message; of many or long ones the first few and the number of others, of a long one the ends.

    Example:
        >>> listed(["a", "b"]), listed("abcd", most=2)
        ('a, b', 'a, b and 2 more')
    """
    all_names = [_cut(str(name), MAX_NAME_CHARACTERS) for name in names]
    ends = accumulate(len(name) + 2 for name in all_names[:most])
    count = max(sum(end <= MAX_LIST_CHARACTERS for end in ends), min(MAX_EXAMPLES, most))
    others_text = f" and {len(all_names) - count:,} more" if len(all_names) > count else ""
    return f"{', '.join(all_names[:count])}{others_text}"


def find_repeat(names: Iterable[T]) -> T | None:
    """Return the first name that occurred before; None where there is none.

    Example:
        >>> find_repeat("abcb"), find_repeat("abc")
        ('b', None)
    """
    earlier: set[T] = set()
    return next((name for name in names if name in earlier or earlier.add(name)), None)  # type: ignore[func-returns-value]


def check_distinct(place: object, noun: str, names: Iterable[str]) -> None:
    """Raise if a name is there twice.

    Example:
        >>> check_distinct("a.csv", "columns", "aba")
        Traceback (most recent call last):
        ranker.errors.DataError: a.csv: two columns are named 'a'
    """
    if (twice := find_repeat(names)) is not None:
        raise DataError.at(place, f"two {noun} are named {twice!r}", value=twice)


def reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of a JSON parser's pairs, if no key occurs twice.

    Raises:
        ValueError: a key occurs twice, so that its value is ambiguous.

    Example:
        >>> reject_repeated_keys([("a", 1), ("a", 2)])
        Traceback (most recent call last):
        ValueError: the key 'a' is there twice
    """
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = find_repeat(name for name, _ in pairs) or ""
        raise ValueError(f"the key {twice[:50]!r} is there twice")
    return content


def printed(text: str, most: int = MAX_LINE_CHARACTERS) -> str:
    r"""Return an untrusted text as one line of limited length: line ends and terminal control codes are escaped.

    Example:
        >>> printed("a\nb")
        'a\\nb'
    """
    text = _cut(text, most, BEGINNING)
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return _cut(escaped, most, BEGINNING)


def _cut(text: str, most: int, beginning: float = 0.5) -> str:
    """Return a text, without its middle if it is longer than `most`; `beginning` is the share that stands before it."""
    first = round(beginning * (most - 5))
    return text if len(text) <= most else f"{text[:first]} ... {text[5 + first - most :]}"
