"""docs/api.md, made of the docstrings of the public names: ``make api``, or ``python docs/api.py``."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ranker
from ranker.results import (
    changes,
    decision,
    evaluation,
    explanation,
    header,
    label_ranking,
    over_sets,
    over_tasks,
    shift,
)
from ranker.results.table import ScoreTable
from ranker.statistics.forecast import Forecast
from ranker.statistics.leaders import Friedman
from ranker.statistics.paired import PairedComparison
from ranker.statistics.shift import DistanceMeasure

PAGE = Path(__file__).with_name("api.md")
WIDTH = 100

PARTS = {
    "Questions": (
        *("rank", "decide", "decide_within", "label", "explain", "compare", "what_changed", "over_tasks"),
        *("shift", "select_sets"),
    ),
    "Rows and models": ("load_set", "set_from_rows", "labelled", "unlabelled", "load_suite"),
    "Answers": (
        "Ranking",
        "Evaluation",
        "Decision",
        "LabelRanking",
        "Labelling",
        "Explanation",
        "OverSets",
        "Changes",
        "OverTasks",
        "Shift",
        "Selection",
    ),
    "What models are ranked by, and how they are run": (
        *("Evidence", "LabelSettings", "Runtime", "Machine", "Store", "USER_STORE", "Processes", "RayTasks", "silent"),
    ),
    "What rows and models are": (
        "ClassificationTask",
        "LabelledDataset",
        "Suite",
        "SourceOptions",
        "TableOptions",
        "LogOptions",
        "CheckpointOptions",
        "LMOptions",
        "EndpointOptions",
        "Prompt",
        "PromptedModel",
    ),
    "Models of your own kind": ("TextSource", "option", "attribute", "marker"),
    "Parts of answers": (),
    "Errors": ("RankModelsError", "UsageError", "DataError", "ModelError", "StoreError"),
}
"""Heading -> the public names below it."""

RECORDS = (
    *(header.Header, header.Provenance, header.Data, header.Quality, ScoreTable),
    *(evaluation.MethodResult, evaluation.EvaluatedModel, evaluation.PairResult),
    *(decision.DecidedModel, Forecast, PairedComparison, decision.RowResult),
    *(explanation.Reading, explanation.Word),
    label_ranking.LabelledModel,
    *(
        over_sets.Leader,
        over_sets.Difference,
        Friedman,
        over_sets.Trend,
        over_sets.Point,
        over_sets.OnAverage,
    ),
    *(changes.ModelChange, changes.MethodChange, changes.SettingChange),
    *(over_tasks.Part, over_tasks.Mean, over_tasks.Gap),
    *(shift.DomainSummary, shift.Pair, DistanceMeasure),
    *(shift.Score, shift.LabelShiftEstimate, shift.Correlation, shift.SetChoice),
)
"""What answers are made of; nobody needs their names."""

HEAD = """\
# The Python API

<!-- made by docs/api.py from the docstrings; `make api` writes it anew -->

These names of `ranker` are all that you need from Python, and all that the other pages use:

```python
from ranker import {some}
```

`Example`, `Attributions`, `Factor` and `@factor` come from `factors` ([factors of your
own](custom-factors.md)). In signatures, `Models` is whatever names models: a `Suite`, or what
`load_suite` takes, one or several. `LabelledRows` is a `LabelledDataset`, a file, or rows in memory;
`UnlabelledRows` is a file, or examples. `NamedDataset` and `RowsFile` are a set and a file as the command line
names them, and a `Task` is mostly a `ClassificationTask`.

The numbers are fractions, never percent. Whatever is asked for and cannot be had is refused by an
error with one line ([errors](#errors)). Every answer shows itself: `repr` says what was found in one
to three lines, a notebook adds a small table, `to_frame()` gives a pandas data frame (`to_rows()`
plain rows, without pandas), and `plot()` draws its figures.

Answers of models are kept in your store, the one that `rank-models` uses: `$RANK_MODELS_STORE`, else
a folder in your cache. A second call asks no model. `Runtime(store="DIR")` takes another place, and
`Runtime(store=None)` keeps nothing. A call works in this process. `Runtime(executor=Processes())`
starts others, `Runtime(executor=RayTasks())` uses a cluster ([SCALE.md](SCALE.md)), and nothing else
does, in a notebook either.
"""

SECTION = re.compile(r"(?m)^(Args|Attributes|Returns|Yields|Raises|Example|Source):[ \n]")
LISTS = {"Args": "Arguments", "Attributes": "Attributes", "Raises": "Raises"}


def page() -> str:
    """The whole page."""
    return HEAD.format(some="Evidence, decide, rank") + "".join(
        f"\n## {heading}\n" + "".join(map(entry, names) if names else map(part, RECORDS))
        for heading, names in PARTS.items()
    )


def part(record: type) -> str:
    """A record that answers are made of: what its docstring says."""
    return f"\n### {record.__name__}\n\n{documented(inspect.getdoc(record) or '')}\n"


def entry(name: str) -> str:
    """A public name: how it is called, what its docstring says, and its own methods in a line each."""
    value = getattr(ranker, name)
    kind = value if inspect.isclass(value) or inspect.isroutine(value) else type(value)
    lines = [f"\n### {name}\n"]
    if kind is value and not (inspect.isclass(value) and issubclass(value, Exception)):
        lines += ["```python", called(name, value), "```\n"]
    lines += [documented(inspect.getdoc(kind) or "")]
    return "\n".join([*lines, *methods(kind)]) + "\n"


def called(name: str, value: Any) -> str:
    """A signature, in one line or a line for each parameter."""
    signature = inspect.signature(value)
    given: list[str] = []
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in given:
            given.append("*")
        given.append(parameter(one))
    returned = "" if inspect.isclass(value) else f" -> {signature.return_annotation}"
    short = f"{name}({', '.join(given)}){returned}"
    return short if len(short) <= WIDTH else f"{name}(\n    " + ",\n    ".join(given) + f",\n){returned}"


def parameter(one: inspect.Parameter) -> str:
    """A parameter with its type, and its default where that is short and says something."""
    typed = f"{one.name}: {one.annotation}"
    if one.default is one.empty:
        return typed
    default = repr(one.default)
    if default == "<factory>" or "<" in default or len(default) > 30:
        default = f"{type(one.default).__name__}()" if not callable(one.default) and "<f" not in default else "..."
    return f"{typed} = {default}"


def documented(text: str) -> str:
    """A docstring as Markdown: paragraphs, lists of what it names, and its example as code."""
    parts = SECTION.split(text)
    made = [wrapped(parts[0])]
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        body = textwrap.dedent(body).strip("\n")
        if heading == "Example":
            made.append(f"```python\n{body}\n```")
        elif heading in LISTS and re.match(r"[\w, *]+: ", body):
            made.append(f"{LISTS[heading]}:\n\n" + "\n".join(items(body)))
        else:
            made.append(wrapped(f"{heading}: {body}"))
    return "\n\n".join(made)


def items(body: str) -> Iterator[str]:
    """Each name of a list, and what is said of it."""
    for item in re.split(r"\n(?=\S)", body):
        names, _, said = " ".join(item.split()).partition(": ")
        shown = ", ".join(f"`{one}`" for one in names.split(", "))
        line = f"- {shown}: {said}".replace("``", "`")
        yield textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def wrapped(text: str) -> str:
    """Paragraphs at the page's width; double backticks are single ones in Markdown."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    filled = [textwrap.fill(" ".join(one.split()), WIDTH, break_on_hyphens=False) for one in paragraphs]
    return "\n\n".join(filled).replace("``", "`")


def methods(kind: Any) -> list[str]:
    """The public methods and properties of a class, each with the first line of its docstring."""
    if not inspect.isclass(kind) or issubclass(kind, Exception):
        return []
    found = []
    for name in sorted({name for one in kind.__mro__ if one.__module__.startswith("ranker") for name in vars(one)}):
        member = inspect.getattr_static(kind, name)
        inner = getattr(member, "__func__", getattr(member, "func", getattr(member, "fget", member)))
        if name.startswith("_") or name in getattr(kind, "__dataclass_fields__", ()) or not inspect.isfunction(inner):
            continue
        plain = inspect.isfunction(member) or isinstance(member, classmethod)
        said = (inspect.getdoc(inner) or "").partition("\n\n")[0]
        shown = f"{name}({', '.join(list(inspect.signature(inner).parameters)[1:])})" if plain else name
        line = f"- `{shown}`: {' '.join(said.split())}"
        found.append(textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    return ["\nIt has:\n", *found] if found else []


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
