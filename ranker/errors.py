"""The errors a user can meet. Each message is one line: what was expected, of what, what came, what to do.

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

from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")

LONGEST = 2_000
"""Characters of a message; of a longer one the middle is left out, since its end says what to do."""

LONGEST_NAME = 100
"""Characters of a name in a message that lists several."""

NAMED = 10
"""Names that a message lists; of more it says how many."""


class Assumption(str):
    """A sentence about a guess, a dropped row or an unread column; `strict` makes an error of it.

    Example:
        >>> Assumption("the column 'c' is not read: it holds lists")
        "the column 'c' is not read: it holds lists"
    """

    __slots__ = ()


class RankModelsError(Exception):
    r"""The root: everything that the command line turns into one line and an exit code.

    A message quotes what stands in files of others: line ends and codes that a terminal obeys are written as escapes,
    and no message has more than `LONGEST` characters.

    Example:
        >>> print(RankModelsError("the column 'a\nb' is missing"))
        the column 'a\nb' is missing
        >>> len(str(RankModelsError("the column " + "a" * 100_000 + " is missing")))
        2000
    """

    exit_code = 1

    def __str__(self) -> str:
        return printed(super().__str__())


class UsageError(RankModelsError):
    """An argument, or a file that it names, cannot be right; nothing was run."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that nothing bears.

    Example:
        >>> print(UnknownName("OOD set", "hans-subs", ["hans-sub", "paws"]))
        there is no OOD set 'hans-subs'; did you mean hans-sub?
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        import difflib  # a program that is used as it should be never needs it

        by_folded = {key.casefold(): key for key in known}
        near = difflib.get_close_matches(name.casefold(), by_folded, n=1)
        hint = f"did you mean {by_folded[near[0]]}?" if near else f"known: {listed(by_folded.values(), 5 * NAMED)}"
        super().__init__(f"there is no {kind} {name!r}; {hint}")


class DataError(UsageError):
    """A file of examples, or a card, cannot be read."""


class Question(DataError):
    """What a file means cannot be known, and an option says it: nothing is guessed, and no model left out for it."""


class ModelError(RankModelsError):
    """A checkpoint cannot be loaded or run; the other models of the suite go on."""


class LabelError(ModelError):
    """A checkpoint's labels cannot be mapped to the task's."""


class FetchError(RankModelsError):
    """Official data cannot be had from its server; nothing of it is kept."""


class StoreError(RankModelsError):
    """The store cannot be read or written."""


def look_up(kind: str, name: str, known: Mapping[str, T]) -> T:
    """The value of a name in a table; where no name is the same, case does not matter.

    Raises:
        UnknownName: nothing bears that name.

    Example:
        >>> look_up("backend", "IG", {"ig": 1})
        1
    """
    if name in known:
        return known[name]
    by_name = {key.casefold(): value for key, value in known.items()}
    if name.casefold() not in by_name:
        raise UnknownName(kind, name, known)
    return by_name[name.casefold()]


def first_line(error: BaseException) -> str:
    r"""What another library's error says, in one line; its kind, if it says nothing.

    Example:
        >>> first_line(ValueError("\nno such thing\nsee the manual")), first_line(KeyError())
        ('no such thing', 'KeyError')
    """
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def listed(names: Iterable[object], most: int = NAMED) -> str:
    """Names in a message; of many the first few and how many more there are, of long ones the ends.

    Example:
        >>> listed(["a", "b"]), listed("abcd", most=2)
        ('a, b', 'a, b and 2 more')
    """
    every = list(names)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return f"{', '.join(_cut(str(name), LONGEST_NAME) for name in every[:most])}{more}"


def repeated(names: Iterable[T]) -> T | None:
    """The first of several names that was there before; None where there is none.

    Example:
        >>> repeated("abcb"), repeated("abc")
        ('b', None)
    """
    seen: set[T] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]


def printed(text: str) -> str:
    r"""Write a text of others as one line: line ends and codes that a terminal obeys are escaped, and it is not long.

    Example:
        >>> printed("a\nb")
        'a\\nb'
    """
    text = _cut(text, LONGEST)
    return _cut("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text), LONGEST)


def _cut(text: str, most: int) -> str:
    """A text without its middle, where it has more characters."""
    half = (most - 5) // 2
    return text if len(text) <= most else f"{text[: most - 5 - half]} ... {text[-half:]}"
