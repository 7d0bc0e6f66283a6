"""What is written on a command line, as the records that the flow takes; what cannot be right is refused in one line.

``given`` is what click read: the name of each option's variable -> its value, None where it was left out.
"""

from __future__ import annotations

import logging
import math
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from factors import Example
from factors.types import UNLABELLED
from ranker.commands import custom
from ranker.commands.outputs import meant
from ranker.datasets import sets
from ranker.datasets.cards import Card
from ranker.datasets.encodings import check
from ranker.datasets.mapping import by_hand
from ranker.datasets.marks import marker
from ranker.datasets.readers import Marker, Sheet, label_of, no_marks, sheet, unlabelled, written
from ranker.datasets.sets import OODSet
from ranker.errors import DataError, UnknownName, UsageError, listed, look_up
from ranker.limits import LIMITS, Limits
from ranker.progress import Progress, silent
from ranker.records import parse_json, read_json
from ranker.report import FORMATS
from ranker.results.ranking import Ranking
from ranker.runs.decide import decided
from ranker.runs.gather import Looked, Named, Own, agreed, look, looked, said, unused, with_truth, without_truth
from ranker.runs.over_tasks import Matched, matched
from ranker.runs.plan import Plan, plan
from ranker.runs.rank import evaluated
from ranker.runtime.base import Executor
from ranker.runtime.executors.processes import Processes
from ranker.runtime.executors.serial import Serial
from ranker.runtime.runtime import Runtime
from ranker.runtime.storage import USER_STORE, Remote, place
from ranker.runtime.store import Store
from ranker.scoring.score import Evidence
from ranker.sources import suites
from ranker.sources.base import OF_FILES, Machine, Shelf, SourceOptions
from ranker.sources.suites import Suite
from ranker.statistics.pool import PoolMethod
from ranker.tasks.classes import ClassTask, of_classes

log = logging.getLogger("ranker")

Given = Mapping[str, Any]

FOR_OWN_ROWS = ("pool", "method", "not_worse_than", "cluster")
"""Options of `run` that mean something on rows of one's own only, of ``--data`` or in the models' own files."""

FOR_A_SET = ("data_dir", "limit", "population", "draws")
"""Options of theirs that mean something on a set whose truth is known only."""

PROBE = 10
"""K on a set whose truth is known, where nobody says otherwise."""

ISOLATED = sys.platform == "linux"
"""Whether models have limits where nothing is said of it: where the system can set them."""

SAID = {
    **{name: name.replace("_", "-") for name in OF_FILES},
    "scale": "range",
}
"""Field of `SourceOptions` -> the flag, of those that are about models whose answers lie in files."""

NOTHING_NAMED = "`--ood NAME` or `--data FILE` is needed; `rank-models ls ood` lists the names"


def store(given: Given) -> Store:
    """Where attributions are kept: see `store_folder`; it is made if it is not there."""
    return Store(store_folder(given))


def store_folder(given: Given) -> Path | Remote:
    """The folder or URL of ``--store``, else that of the user's store."""
    return place(given["store_folder"]) if given["store_folder"] else USER_STORE.place()


def set_of(given: Given) -> Named:
    """The set of ``--ood``.

    Raises:
        UsageError: none is named.
    """
    if not given["ood_name"]:
        raise UsageError(NOTHING_NAMED)
    return Named(
        given["ood_name"],
        data_dir=given.get("data_dir"),
        include=tuple(given["include"]),
        limit=given.get("limit"),
        population=given.get("population"),
        limits=given["limits"],
    )


def own_rows(given: Given, option: str) -> Own | None:
    """The file of an option with rows of one's own; None where it was left out."""
    if given.get(option) is None:
        return None
    known = columns(given["columns"])
    if option == "data" and given.get("cluster"):
        known["cluster"] = [given["cluster"]]
    like, include, encoding = given["ood_name"], tuple(given["include"]), check(given["encoding"] or "")
    return Own(given[option], given.get("task"), known, like, include, encoding, given["limits"])


def evidence(given: Given) -> Evidence:
    """What models are to be ranked by: ``--attribution``, ``--factors``, ``--methods`` and the rules of these."""
    named = given["factor_names"]
    return Evidence(
        attribution=given["attribution"],
        factors=None if named is None else tuple(custom.factors(_names(named))),
        methods=_methods(given),
        target=given.get("target", "declared"),
        norm=given.get("norm", "raw"),
    )


def _methods(given: Given) -> tuple[PoolMethod, ...]:
    """The methods of ``--methods``; else the short list, and for a decision all that it may go by."""
    if given.get("method_names") is None and (given.get("data") or decides_on_own(given)):
        return tuple(custom.available_methods().values())
    return tuple(custom.methods(_names(given.get("method_names") or "")))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@dataclass(frozen=True)
class Wanted:
    """What `rank-models run` was asked.

    Attributes:
        models: the suite, or references to models.
        rows: a set whose truth is known, or labelled rows of one's own; None for those that the models' files bring.
        pool: rows without labels; None where there are none.
        in_domain: labelled in-domain rows; None where there are none.
        evidence: what the models are to be ranked by.
        method: what a decision is to go by.
        probe: K; None for the default.
        draws: B, or "exact".
        seed: of the draws.
        base: the model that the others are to be no worse than; None where that is not asked.
        runtime: how models are run.
    """

    models: Suite
    rows: Named | Own | None
    pool: Own | None
    in_domain: Own | None
    evidence: Evidence
    method: str | None
    probe: int | None
    draws: int | Literal["exact"]
    seed: int
    base: str | None
    runtime: Runtime

    def plan(self) -> Plan:
        """What models are to be asked."""
        if isinstance(self.rows, Named):
            return plan(with_truth(self.models, self.rows, self.size, self.in_domain), self.evidence)
        gathered = without_truth(self.models, self.rows, self.pool or (), self.probe, self.in_domain)
        return plan(gathered, self.evidence, self.method)

    def answer(self, made: Plan) -> Ranking:
        """What comes of it."""
        if isinstance(self.rows, Named):
            return evaluated(made, self.size, self.draws, self.seed, self.runtime)
        return decided(made, self.seed, self.runtime, self.base)

    @property
    def size(self) -> int:
        """K on a set whose truth is known."""
        return PROBE if self.probe is None else self.probe


def tasks(given: Given) -> Matched | None:
    """The tasks of the logs that are named, where each place holds several; None where there are none to match.

    Raises:
        UsageError: no task was asked of all models.
    """
    return matched(_references(given), source_options(given)) if decides_on_own(given) else None


def wanted(given: Given, progress: Progress) -> Wanted:
    """What `rank-models run` was asked; what cannot be right is refused before any model is looked at."""
    check_mode(given)
    rows = None if decides_on_own(given) else own_rows(given, "data") or set_of(given)
    return Wanted(
        models=suite(given, None if given["data"] else given["ood_name"]),
        rows=rows,
        pool=own_rows(given, "pool"),
        in_domain=own_rows(given, "in_domain"),
        evidence=evidence(given),
        method=given["method"],
        probe=given["probe"],
        draws=draws(given["draws"] or "exact"),
        seed=given["seed"],
        base=given["not_worse_than"],
        runtime=runtime(given, progress),
    )


def labelled(given: Given, task: ClassTask) -> tuple[Example, ...]:
    """The rows of the files of ``--labelled``, one after the other; a row may be there several times."""
    found: list[Example] = []
    for file in given["labelled"]:
        of = sheet(file, columns(given["columns"]), encoding=given["encoding"] or "", limits=given["limits"])
        rows = [row for row, label in zip(of.rows, written(of), strict=True) if label is not None]
        alone = of._replace(layout=replace(of.layout, id=None))  # several people's answers to a row share its id
        read = [
            replace(row, label=label_of(name, task, of.layout.numbers))
            for row, name in zip(unlabelled(alone._replace(rows=tuple(rows))), filter(None, written(of)), strict=True)
        ]
        named = [str(row.cells.get("annotator") or "") for row in rows]
        found += {(row.segments, row.label, who): row for row, who in zip(read, named, strict=True)}.values()
    return tuple(found)


def task(given: Given, models: Looked, pool: Sheet) -> ClassTask:
    """The task of ``--task``, or of the set of ``--ood``, or that of the models' own labels and those that rows have.

    Args:
        given: the command line.
        models: whose own labels these are.
        pool: rows to choose from; those of ``--labelled``, or of a file that is gone on with, go before them.

    Raises:
        UsageError, DataError: no task fits, as in `sets.task_of`; or the rows have labels that no model knows instead
            of some that all know.
    """
    if given["task"]:
        return look_up("task", given["task"], sets.tasks(given["include"]))
    if given["ood_name"]:
        return look_up("OOD set", given["ood_name"], sets.cards(given["include"])).task
    read = {"encoding": given["encoding"] or "", "limits": given["limits"]}
    file = next(iter(given["labelled"] or ()), None)
    known = sheet(file, columns(given["columns"]), **read) if file else pool
    own = agreed(models)
    found = sets.task_of(known, own, given["include"], models.at_hand, said(models))
    common = [name for name in own.labels if found.index(name) is not None] if own else []
    if own and 0 < len(common) < len(own.labels) and not given["label_map"]:
        strange = listed(repr(name[:50]) for name in found.labels if own.index(name) is None)
        raise DataError(f"{known.origin}: no model knows the label {strange}; theirs are {listed(own.labels)}")
    return found


def own_labels(given: Given, models: Looked) -> ClassTask | None:
    """The task of the models' own labels; None where a task is named, or they name no labels that all share."""
    return None if given["task"] or given["ood_name"] else agreed(models)


def check_example(given: Given) -> None:
    """Refuse an example that is named twice, or not at all."""
    if (given["example_id"] is None) == (not given["texts"]):
        raise UsageError("name one example: `--id ID`, or `--text TEXT` (twice for a pair)")
    if given["texts"] and given["data"]:
        raise UsageError("`--text` is an example by itself; name a row of `--data` with `--id`")
    if given["label"] is not None and not given["texts"]:
        raise UsageError("`--label` is for `--text`; an example of the set has its own")
    if not (given["data"] or given["ood_name"] or (given["texts"] and _references(given))):
        raise UsageError("`--models A B` are needed to explain a text of your own" if given["texts"] else NOTHING_NAMED)


def example(given: Given, models: Looked) -> tuple[ClassTask, str | None, Example]:
    """The example that ``--id`` or ``--text`` names, with the task and the designed factor of its set or file."""
    if given["texts"] and not given["ood_name"]:
        return _of_models(given, models)
    if given["texts"]:
        card = look_up("OOD set", given["ood_name"], sets.cards(given["include"]))
        return card.task, card.designed, _own_example(card, given["texts"], given["label"])
    loaded = _rows(given, models)
    found = next((row for row in loaded.examples if row.id == given["example_id"]), None)
    if found is None:
        some = ", ".join(row.id for row in loaded.examples[:3])
        raise UsageError(f"`--id`: {loaded.name} has no example {given['example_id']!r}; its ids are like {some}")
    return of_classes(loaded.task, loaded.name), loaded.designed, found


def _rows(given: Given, models: Looked) -> OODSet:
    """All rows of ``--data``, with their labels where these can be read, or the whole set of ``--ood``."""
    file = own_rows(given, "data")
    if file is None:
        return set_of(given).load()
    rows, own = file.unlabelled(), own_labels(given, models)
    try:
        known = file.labelled(own, models.at_hand, said(models))
    except DataError as error:
        if not (given["task"] or given["ood_name"] or own):
            raise
        log.warning("the rows are taken without labels: %s", error)
        of_task = task(
            {**given, "labelled": None},
            models,
            sheet(given["data"], columns(given["columns"]), ("text",), given["encoding"] or "", given["limits"]),
        )
        cards, like = sets.cards(given["include"]), given["ood_name"]
        designed = look_up("OOD set", like, cards).designed if like else None
        return OODSet(given["data"].stem, of_task, rows, len(rows), designed, str(given["data"]))
    labels = {row.id: row for row in known.examples}
    alike = Counter(row.segments for row in known.examples)
    once = {row.segments: row for row in known.examples if alike[row.segments] == 1}  # what repeats it was left out
    named = (labels.get(row.id) or replace(once.get(row.segments, row), id=row.id) for row in rows)
    return replace(known, examples=tuple(named))


def _of_models(given: Given, models: Looked) -> tuple[ClassTask, None, Example]:
    """``--text`` without a set: the task is that of the models' own labels, and nothing is marked.

    Raises:
        UsageError: they name no labels that all share, or more than two texts are given.
    """
    own = agreed(models)
    if own is None:
        unnamed = "the models name no labels; say with `label_map` what their outputs mean, or name a set: `--ood NAME`"
        raise UsageError(said(models).differ or unnamed)
    if len(given["texts"]) > 2:
        raise UsageError(f"`--text` must be given once, or twice for a pair (got {len(given['texts'])})")
    task = sets.known(own, given["include"])
    return task, None, _text_example(given["texts"], given["label"], task, no_marks)


def _own_example(card: Card, texts: tuple[str, ...], label_name: str | None) -> Example:
    own = not card.layouts or any(layout.text == sets.OWN.text for layout in card.layouts)  # one text or two
    wanted = {1, 2} if own else {len(layout.text) for layout in card.layouts}
    if len(texts) not in wanted:
        times = " or ".join(map(str, sorted(wanted)))
        raise UsageError(f"`--text` must be given {times} times for {card.name} (got {len(texts)})")
    return _text_example(texts, label_name, card.task, marker(card.marks))


def _text_example(texts: tuple[str, ...], label_name: str | None, of: ClassTask, marks: Marker) -> Example:
    true = UNLABELLED if label_name is None else label(label_name, of)
    try:
        return Example("text", texts, true, marks(texts, {}))
    except ValueError as error:  # bytes of the command line that are no text
        raise UsageError(f"`--text`: {error}") from error


def label(name: str, task: ClassTask) -> int:
    """A label's index, by its name or an alias."""
    found = task.index(name)
    if found is None:
        raise UnknownName(f"label of {task.name}", name, task.labels)
    return found


def suite(given: Given, ood_name: str | None, shelf: Shelf | None = None) -> Suite:
    """The models of ``--models``; else the embedded suite of an OOD set."""
    references = _references(given)
    return suites.load(references, source_options(given), shelf) if references else _embedded_suite(given, ood_name)


def models(given: Given, ood_name: str | None) -> Looked:
    """The same where one model is enough, and what they say of themselves."""
    references = _references(given)
    if not references:
        return looked(_embedded_suite(given, ood_name))
    return look(references, source_options(given))


def named_models(given: Given) -> Looked | None:
    """The models of ``--models``, one or more; None where there are none."""
    references = _references(given)
    return look(references, source_options(given)) if references else None


def _references(given: Given) -> list[str]:
    return [*given["models"], *given["more_models"]]


def _embedded_suite(given: Given, ood_name: str | None) -> Suite:
    if ood_name is None:
        raise UsageError("`--models` is needed: the models to choose from")
    card = look_up("OOD set", ood_name, sets.cards(given["include"]))
    default = f"{card.name}-mini"
    if default not in suites.embedded():
        raise UsageError(f"no suite for {card.name} comes with the product; name your models with `--models`")
    log.warning("%s: the embedded suite of small models; for your own: `--models`", default)
    return suites.load([default], source_options(given))


def source_options(given: Given) -> SourceOptions:
    """What is said of all references."""
    return SourceOptions(
        label_map=label_map(given["label_map"], given["limits"]),
        trust_remote_code=frozenset(given["trust_remote_code"]),
        allow_pickle=given["allow_pickle"],
        prediction=given.get("prediction") or (),
        truth=given.get("truth") or "",
        answers=given.get("answers") or "",
        metric=given.get("metric") or "",
        filter=given.get("filter") or "",
        scorer=given.get("scorer") or "",
        cluster="" if given.get("data") else given.get("cluster") or "",
        scale=given.get("scale") or None,
        lower_is_better=bool(given.get("lower_is_better")),
        errors_are_wrong=given.get("errors") == "wrong",
        encoding=check(given.get("encoding") or ""),
        limits=given["limits"],
    )


def machine(given: Given) -> Machine:
    """Where and how models are run; what only costs time is pointed out."""
    if given["dtype"] == "bfloat16" and resolve_dtype(given["device"]) != "bfloat16":
        log.warning("`--dtype bfloat16`: %s has no units for it; float32 may be faster", given["device"])
    return Machine(given["device"], given["dtype"], given.get("batch_size"))


def resolve_dtype(device: str) -> str:
    """The number format that "auto" is on a device."""
    from ranker.sources.devices import resolve

    return resolve("auto", device)


def runtime(given: Given, progress: Progress = silent) -> Runtime:
    """How models are run, and where their answers are kept."""
    return Runtime(machine(given), store(given), executor(given), progress)


def executor(given: Given) -> Executor:
    """Who runs the models: guests with limits, unless it is told otherwise.

    Raises:
        UsageError: a number of workers that cannot be.
    """
    isolated = ISOLATED if given.get("isolate") is None else given["isolate"]
    if given.get("isolate") is None and sys.platform != "linux":
        log.info("models run without limits on this system; `--isolate` sets those that it has")
    workers = given.get("workers", "auto")
    memory = round(given.get("memory", 4) * 1e9)
    return Serial() if workers == 1 and not isolated else Processes(workers, limits=isolated, memory=memory)


def point_out(given: Given, models: Looked) -> None:
    """Warn of options that do nothing for these models."""
    if given["label_map"] and unused(models.stated, "label_map"):
        log.warning("`--label-map`: none of its labels is one of these models', and it says nothing of them")
    for name, flag in SAID.items():
        if unused(models.stated, name):
            log.warning("`--%s`: it says nothing of these models", flag)


def point_out_sample(given: Given, loaded: OODSet) -> None:
    """Say of a set's embedded sample how to have the official rows."""
    card = sets.cards(given["include"]).get(loaded.name)
    if loaded.origin == sets.EMBEDDED and card is not None and card.files:
        fetch = f"`rank-models fetch {card.name} --data-dir DIR`, then " if card.url else ""
        log.warning(
            "%s: the embedded sample of %d rows; for the official data: %s`--data-dir DIR`",
            *(loaded.name, len(loaded.examples), fetch),
        )


def check_mode(given: Given) -> None:
    """Refuse options that say something of the other mode: a set whose truth is known, or rows of one's own.

    Raises:
        UsageError: the command line has one.
    """
    if given["data"] or decides_on_own(given):
        refused = dict.fromkeys(FOR_A_SET, "`--ood`, without `--data`")
    else:
        refused = dict.fromkeys(FOR_OWN_ROWS, "`--data`")
    if not given["data"]:
        refused["task"] = "`--data`"
    for name, mode in refused.items():
        if given.get(name) is not None:
            raise UsageError(f"`--{name.replace('_', '-')}` is for {mode}")
    if given.get("not_worse_than") and given["pool"]:
        raise UsageError("`--not-worse-than` is for labelled rows alone, without `--pool`")
    if math.isnan(given.get("by") or 0):
        raise UsageError("`--by` must be between 0 and 1 (got nan)")
    if given["columns"] and not (given["data"] or given.get("in_domain")):
        raise UsageError("`--columns` is for files of your own: `--data`, `--pool`, `--in-domain`")


def decides_on_own(given: Given) -> bool:
    """Whether the rows are those that the models' own files bring: neither a set nor a file of rows is named."""
    return not (given["data"] or given["ood_name"]) and bool(_references(given))


def draws(value: str) -> int | Literal["exact"]:
    """``--draws``: a number, or "exact"."""
    if value == "exact":
        return "exact"
    if value.isdecimal() and int(value) > 0:
        return int(value)
    raise UsageError(f"`--draws` must be a number of at least 1, or `exact` (got {value})")


def format_name(given: Given) -> str:
    """``--format``, or what ``--pairs`` is short for, or the format that the name of ``--output`` ends like."""
    if not given.get("pairs"):
        endings = {form.ending: name for name, form in reversed(FORMATS.items())}
        return given["format_name"] or meant(given["output"], endings) or "table"
    if given["format_name"] not in (None, "pairs"):
        raise UsageError(f"`--pairs` is a format of its own (got `--format {given['format_name']}` beside it)")
    return "pairs"


def columns(text: str | None, also: Sequence[str] = ()) -> dict[str, list[str]]:
    """``--columns``: role -> columns.

    Args:
        text: what was typed.
        also: roles beside text, label and id.

    Example:
        >>> columns("text=premise,text=hypothesis,label=gold")
        {'text': ['premise', 'hypothesis'], 'label': ['gold']}
    """
    roles: dict[str, list[str]] = {role: [] for role in ("text", "label", "id", *also)}
    for part in text.split(",") if text else ():
        role, _, column = part.strip().partition("=")
        if not column:
            raise UsageError(f"`--columns` must be like text=premise,text=hypothesis,label=gold (got {text})")
        look_up("role of a column", role, roles).append(column)
    return {role: names for role, names in roles.items() if names}


def label_map(text: str | None, limits: Limits = LIMITS) -> dict[str, str] | None:
    """``--label-map``: a model's label, or its index, -> the task's label; as JSON, a file of it, or by hand."""
    if text is None:
        return None
    if "=" in text and not text.lstrip().startswith(("{", "[")) and not os.path.isfile(text):
        return by_hand(text)
    try:
        read = read_json(Path(text), "a label map", limits) if os.path.isfile(text) else parse_json(text)
    except ValueError as error:
        how = "JSON, a file of it, or like `a,b = label; c = label`"
        raise UsageError(f"`--label-map` must be {how} (got {text[:100]!r}): {error}") from error
    if not isinstance(read, dict) or not all(isinstance(name, str) for name in read.values()):
        raise UsageError(f'`--label-map` must be an object like {{"LABEL_0": "entailment"}} (got {text[:100]!r})')
    return read
