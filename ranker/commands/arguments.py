"""What is written on a command line, as the records that the flow takes; what cannot be right is refused in one line.

``given`` is what click read: the name of each option's variable -> its value, None where it was left out.
"""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ranker.commands import custom, stderr
from ranker.commands.options import records
from ranker.commands.outputs import meant
from ranker.datasets import sets
from ranker.datasets.mapping import by_hand
from ranker.datasets.sets import LabelledDataset
from ranker.errors import UsageError, look_up
from ranker.limits import LIMITS, Limits
from ranker.progress import Progress, silent
from ranker.records import parse_json, read_json
from ranker.report import FORMATS
from ranker.results.ranking import Ranking
from ranker.runs.decide import decided
from ranker.runs.explain import Chosen, find_example, text_example
from ranker.runs.gather import (
    InspectedModels,
    NamedDataset,
    RowsFile,
    inspect_models,
    inspect_references,
    unread,
    with_truth,
    without_truth,
)
from ranker.runs.label import LabelSettings
from ranker.runs.over_tasks import MatchedTasks, match_tasks
from ranker.runs.plan import Plan, plan
from ranker.runs.rank import evaluated
from ranker.runs.task import NamedTask
from ranker.runtime.base import Executor
from ranker.runtime.executors.named import ExecutorOptions, executor_named
from ranker.runtime.runtime import Runtime
from ranker.runtime.storage import USER_STORE, Remote, place
from ranker.runtime.store import Store
from ranker.scoring.gate import MARGIN
from ranker.scoring.score import Evidence
from ranker.sources import kinds, suites
from ranker.sources.base import Machine, ResourceCache, SourceOptions
from ranker.sources.options import from_flags
from ranker.sources.suites import Suite
from ranker.sources.tables.options import TableOptions
from ranker.statistics.pool import PoolMethod

log = logging.getLogger("ranker")

Given = Mapping[str, Any]

FOR_OWN_ROWS = ("pool", "pool_from_unlabelled", "method", "not_worse_than", "cluster")
"""Options of `run` that mean something on rows of one's own only, of ``--data`` or in the models' own files."""

FOR_A_SET = ("data_dir", "limit", "population", "draws")
"""Options of theirs that mean something on a set whose truth is known only."""

PROBE = 10
"""K on a set whose truth is known, where nobody says otherwise."""

ISOLATED = sys.platform == "linux"
"""Whether models have limits where nothing is said of it: where the system can set them."""

NOTHING_NAMED = "`--ood NAME` or `--data FILE` is needed; `rank-models ls ood` lists the names"


def store(given: Given) -> Store:
    """Where attributions are kept: see `store_folder`; it is made if it is not there."""
    return Store(store_folder(given))


def store_folder(given: Given) -> Path | Remote:
    """The folder or URL of ``--store``, else that of the user's store."""
    return place(given["store_folder"]) if given["store_folder"] else USER_STORE.place()


def set_of(given: Given) -> NamedDataset:
    """The set of ``--ood``.

    Raises:
        UsageError: none is named.
    """
    if not given["ood_name"]:
        raise UsageError(NOTHING_NAMED)
    return NamedDataset(
        given["ood_name"],
        data_dir=given.get("data_dir"),
        include=tuple(given["include"]),
        limit=given.get("limit"),
        population=given.get("population"),
        limits=given["limits"],
    )


def own_rows(given: Given, option: str) -> RowsFile | None:
    """The file of an option with rows of one's own; None where it was left out."""
    if given.get(option) is None:
        return None
    known = columns(given["columns"])
    if option == "data" and given.get("cluster"):
        known["cluster"] = [given["cluster"]]
    like, include, of = given["ood_name"], tuple(given["include"]), from_flags(TableOptions, given)
    return RowsFile(
        given[option], given.get("task"), known, like, include, of.encoding, given["limits"], of.empty_words
    )


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
class RunRequest:
    """What `rank-models run` was asked.

    Attributes:
        models: the suite, or references to models.
        rows: a set whose truth is known, or labelled rows of one's own; None for those that the models' files bring.
        pool: rows without labels; None where there are none.
        pool_from_unlabelled: rows without a true label, in the file of the labelled ones, are the pool.
        in_domain: labelled in-domain rows; None where there are none.
        evidence: what the models are to be ranked by.
        method: what a decision is to go by.
        metric: what models are compared by; None for the mean outcome.
        probe: K; None for the default.
        draws: B, or "exact".
        seed: of the draws.
        base: the model that the others are to be no worse than; None where that is not asked.
        runtime: how models are run.
    """

    models: Suite
    rows: NamedDataset | RowsFile | None
    pool: RowsFile | None
    pool_from_unlabelled: bool
    in_domain: RowsFile | None
    evidence: Evidence
    method: str | None
    metric: str | None
    probe: int | None
    draws: int | Literal["exact"]
    seed: int
    base: str | None
    runtime: Runtime

    def plan(self) -> Plan:
        """What models are to be asked."""
        if isinstance(self.rows, NamedDataset):
            return plan(
                with_truth(self.models, self.rows, self.size, self.in_domain), self.evidence, metric=self.metric
            )
        beside = self.pool or (), self.probe, self.in_domain, self.pool_from_unlabelled
        gathered = without_truth(self.models, self.rows, *beside)
        return plan(gathered, self.evidence, self.method, self.metric)

    def answer(self, made: Plan) -> Ranking:
        """What comes of it."""
        if isinstance(self.rows, NamedDataset):
            return evaluated(made, self.size, self.draws, self.seed, self.runtime)
        return decided(made, self.seed, self.runtime, self.base)

    @property
    def size(self) -> int:
        """K on a set whose truth is known."""
        return PROBE if self.probe is None else self.probe


def tasks(given: Given) -> MatchedTasks | None:
    """The tasks of the logs that are named, where each place holds several; None where there are none to match.

    Raises:
        UsageError: no task was asked of all models.
    """
    return match_tasks(_references(given), source_options(given)) if decides_on_own(given) else None


def alone(given: Given, format_name: str, shelf: ResourceCache) -> InspectedModels | None:
    """The only model that is named, where its answers lie in a file: nothing but a description can be made of it."""
    check_mode(given)
    asked = any(given[name] for name in ("output", "save", "not_worse_than", "plots", "pool", "dry_run"))
    if given["ood_name"] or not _references(given) or format_name != "table" or asked:
        return None
    name, found = suites.name_models(_references(given), source_options(given), shelf)
    described = len(found) == 1 and found[0].source.precomputed and not getattr(found[0].source, "doubt", "")
    return InspectedModels(found, name, shelf) if described else None


def wanted(given: Given, progress: Progress, shelf: ResourceCache | None = None) -> RunRequest:
    """What `rank-models run` was asked; what cannot be right is refused before any model is looked at.

    Args:
        given: the options.
        progress: how long work is shown.
        shelf: what was opened before.
    """
    check_mode(given)
    rows = None if decides_on_own(given) else own_rows(given, "data") or set_of(given)
    return RunRequest(
        models=suite(given, None if given["data"] else given["ood_name"], shelf),
        rows=rows,
        pool=own_rows(given, "pool"),
        pool_from_unlabelled=bool(given["pool_from_unlabelled"]),
        in_domain=own_rows(given, "in_domain"),
        evidence=evidence(given),
        method=given["method"],
        metric=given["metric"],
        probe=given["probe"],
        draws=draws(given["draws"] or "exact"),
        seed=given["seed"],
        base=given["not_worse_than"],
        runtime=runtime(given, progress),
    )


@dataclass(frozen=True)
class LabellingRequest:
    """What `rank-models label` was asked.

    Attributes:
        models: the models to choose from.
        pool: the rows to label, and what the user names that tells the task.
        labelled: files of rows that others have labelled.
        label_map: the user says what the models' labels mean.
        output: the file of the session; None where there is none.
        annotator: who answers; None for the user of this process.
        budget: how many answers are enough; None for any number.
        settings: how rows are picked, and when it is enough.
        runtime: how models are run.
    """

    models: InspectedModels
    pool: RowsFile
    labelled: tuple[Path, ...]
    label_map: bool
    output: Path | None
    annotator: str | None
    budget: int | None
    settings: LabelSettings
    runtime: Runtime


def labelling(given: Given, settings: LabelSettings, progress: Progress) -> LabellingRequest:
    """What `rank-models label` was asked, beside how rows are picked."""
    models = inspect_models(suite(given, given["ood_name"]))
    point_out(given, models)
    pool = own_rows(given, "pool")
    assert pool is not None  # click requires it
    return LabellingRequest(
        models,
        pool,
        labelled=given["labelled"],
        label_map=given["label_map"] is not None,
        output=given["output"],
        annotator=given["annotator"],
        budget=given["budget"],
        settings=settings,
        runtime=runtime(given, progress),
    )


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


def example(given: Given, models: InspectedModels) -> Chosen:
    """The example that ``--id`` or ``--text`` names."""
    if given["texts"]:
        named = NamedTask(like=given["ood_name"], include=tuple(given["include"]), option="ood")
        return text_example(given["texts"], given["label"], named, models)
    return find_example(own_rows(given, "data") or set_of(given), given["example_id"], models)


def suite(given: Given, ood_name: str | None, shelf: ResourceCache | None = None) -> Suite:
    """The models of ``--models``; else the embedded suite of an OOD set."""
    references = _references(given)
    return suites.load(references, source_options(given), shelf) if references else _embedded_suite(given, ood_name)


def models(given: Given, ood_name: str | None) -> InspectedModels:
    """The same where one model is enough, and what they say of themselves."""
    return named_models(given) or inspect_models(_embedded_suite(given, ood_name))


def named_models(given: Given) -> InspectedModels | None:
    """The models of ``--models``, one or more; None where there are none."""
    references, said = _references(given), source_options(given)
    if not references:
        kinds.check_concerned(said, ())
    return inspect_references(references, said) if references else None


def _references(given: Given) -> list[str]:
    return [*given["models"], *given["more_models"]]


def _embedded_suite(given: Given, ood_name: str | None) -> Suite:
    if ood_name is None:
        raise UsageError("`--models` is needed: the models to choose from")
    card = sets.find_card(ood_name, given["include"])
    default = f"{card.name}-mini"
    if default not in suites.bundled_suites():
        raise UsageError(f"no suite for {card.name} comes with the product; name your models with `--models`")
    log.warning("%s: the embedded suite of small models; for your own: `--models`", default)
    return suites.load([default], source_options(given))


def source_options(given: Given) -> SourceOptions:
    """What is said of all references; of rows of one's own `--cluster` says it, and not of their models."""
    typed = {**given, "cluster": None} if given.get("data") else given
    return SourceOptions(
        label_map=label_map(given["label_map"], given["limits"]),
        trust_remote_code=frozenset(given["trust_remote_code"]),
        allow_pickle=given["allow_pickle"],
        kinds=[from_flags(record, typed) for record in records()],
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
    return executor_named(given.get("executor", "auto"), ExecutorOptions(workers, isolated, memory))


def point_out(given: Given, models: InspectedModels) -> None:
    """Refuse options that none of these models reads; point out a label map that fits none.

    Under `--strict` what their files leave to guess is refused, too.
    """
    stderr.check_strict(given, (note for model in models.stated for note in model.notes))
    idle = unread(models.stated)
    if "label_map" in idle:
        log.warning("`--label-map`: none of its labels is one of these models', and it says nothing of them")
    kinds.refuse_unread_options(idle - {"label_map"})


def point_out_sample(given: Given, loaded: LabelledDataset) -> None:
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
    if given.get("pool_from_unlabelled") and given["pool"]:
        raise UsageError("`--pool-from-unlabelled` is for rows of one file, without `--pool`")
    if given.get("not_worse_than") and given["pool"]:
        raise UsageError("`--not-worse-than` is for labelled rows alone, without `--pool`")
    for name in ("by", "allow_absent"):
        if given.get(name) is not None and not given.get("not_worse_than"):
            raise UsageError(f"`--{name.replace('_', '-')}` is for `--not-worse-than`")
    if math.isnan(given.get("by") or 0):
        raise UsageError("`--by` must be between 0 and 1 (got nan)")
    if given["columns"] and not (given["data"] or given.get("in_domain")):
        raise UsageError("`--columns` is for files of your own: `--data`, `--pool`, `--in-domain`")


def gate(given: Given) -> tuple[float, bool]:
    """How much worse is no worse, a fraction, and whether tasks and rows may be absent."""
    return MARGIN if given["by"] is None else given["by"], bool(given["allow_absent"])


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
