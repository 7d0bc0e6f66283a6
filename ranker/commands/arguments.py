"""Turn the options of a command line into the records that the flow takes; refuse bad ones in one line.

``values`` is what click parsed: name of the option's variable -> value, None if the option was left out.
"""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeGuard

from ranker.attribution import backends_of
from ranker.attribution.settings import Hiding, Settings
from ranker.commands import custom, judge_options, stderr
from ranker.commands.options import records
from ranker.commands.outputs import format_of_path
from ranker.commands.program import refuse
from ranker.datasets import sets
from ranker.datasets.mapping import parse_label_map, unique_label_map
from ranker.datasets.sets import LabelledDataset
from ranker.errors import UsageError, listed, look_up
from ranker.files.buckets import local_path
from ranker.limits import LIMITS, Limits
from ranker.progress import Progress, silent
from ranker.records import parse_json, read_json
from ranker.report import FORMATS
from ranker.results.costs import Preference
from ranker.results.ranking import Ranking
from ranker.runs.decide import decide_plan
from ranker.runs.explain import Chosen, find_example, text_example
from ranker.runs.gather import gather_with_truth, gather_without_truth
from ranker.runs.inspected import InspectedModels, check_connected, inspect_models, inspect_references, unread_options
from ranker.runs.judges import JudgedRun, holds_marks, with_judges
from ranker.runs.over_tasks import MatchedTasks, match_tasks
from ranker.runs.plan import BACKEND, Plan, plan
from ranker.runs.rank import evaluate_plan
from ranker.runs.rows import NamedDataset, RowsFile, UnlabelledRows
from ranker.runs.task import NamedTask, takes_values
from ranker.runs.usage import Costing
from ranker.runtime.base import Executor
from ranker.runtime.executors.named import ExecutorOptions, executor_named
from ranker.runtime.runtime import Runtime
from ranker.runtime.storage import USER_STORE, Remote, place
from ranker.runtime.store import Store
from ranker.scoring.gate import MARGIN
from ranker.scoring.score import Evidence
from ranker.sources import kinds, suites
from ranker.sources.base import Machine, ModelInfo, ResourceCache, SourceOptions, is_connected
from ranker.sources.endpoint.prices import read_prices
from ranker.sources.metrics import LabelScore
from ranker.sources.options import from_flags
from ranker.sources.suites import Model, Suite
from ranker.sources.tables.options import TableOptions
from ranker.statistics.pool import PoolMethod

log = logging.getLogger("ranker")

OptionValues = Mapping[str, Any]

FOR_OWN_ROWS = ("pool", "pool_from_unlabelled", "method", "prefer", "not_worse_than", "cluster")
"""Options of `run` that only apply to a user's own rows, from ``--data`` or the models' own files."""

FOR_A_SET = ("data_dir", "limit", "population", "draws")
"""Options of `run` that only apply to a set whose truth is known."""

PROBE = 10
"""Default of K on a set whose truth is known."""

ISOLATED = sys.platform == "linux"
"""Default of ``--isolate``: True if the system can limit processes."""

NOTHING_NAMED = "`--ood NAME` or `--data FILE` is needed; `rank-models ls ood` lists the names"


def store(values: OptionValues) -> Store:
    """Return the store of attributions in `store_folder`; the folder is made if it does not exist."""
    return Store(store_folder(values))


def store_folder(values: OptionValues) -> Path | Remote:
    """Return the folder or URL of ``--store``, else that of the user's store."""
    return place(values["store_folder"]) if values["store_folder"] else USER_STORE.place()


def set_of(values: OptionValues) -> NamedDataset:
    """Return the set of ``--ood``."""
    if not values["ood_name"]:
        raise UsageError(NOTHING_NAMED, option="ood")
    return NamedDataset(
        values["ood_name"],
        data_dir=values.get("data_dir"),
        include=tuple(values["include"]),
        limit=values.get("limit"),
        population=values.get("population"),
        limits=values["limits"],
    )


def own_rows(values: OptionValues, option: str) -> RowsFile | None:
    """Return the file of an option for a user's own rows; None if it was left out."""
    if values.get(option) is None:
        return None
    roles = columns(values["columns"], ("rationale",))
    if option == "data" and values.get("cluster"):
        roles["cluster"] = [values["cluster"]]
    like, include, table = values["ood_name"], tuple(values["include"]), from_flags(TableOptions, values)
    limits = values["limits"]
    return RowsFile(
        local_path(values[option], option, limits.pool if option == "pool" else limits.file),
        values.get("task"),
        roles,
        like,
        include,
        table.encoding,
        limits,
        table.empty_words,
        values.get("scale"),
        separator=values.get("separator"),
        threshold=values.get("threshold"),
    )


def evidence(values: OptionValues) -> Evidence:
    """Return what models are ranked by: ``--attribution``, ``--factors``, ``--methods`` and their rules."""
    factor_names = _names("factors", values["factor_names"])
    return Evidence(
        attribution=_backends(values) if values["hide"] else values["attribution"],
        factors=None if factor_names is None else tuple(custom.factors(factor_names)),
        methods=_methods(values, _names("methods", values.get("method_names"))),
        target=values.get("target", "declared"),
        norm=values.get("norm", "raw"),
        shortcut=values["shortcut"],
    )


def _backends(values: OptionValues) -> tuple[Settings, ...]:
    """Return the backends of ``--attribution``, of which those that hide words hide separators, too."""
    backends = backends_of(values["attribution"] or BACKEND)
    if not any(isinstance(backend, Hiding) for backend in backends):
        names = listed([backend.name for backend in backends])
        raise UsageError.about("hide", f"is for backends that hide words, and {names} hides none", values["hide"])
    return tuple(replace(backend, separators=True) if isinstance(backend, Hiding) else backend for backend in backends)


def _methods(values: OptionValues, names: Sequence[str] | None) -> tuple[PoolMethod, ...]:
    """Return the methods of ``--methods``; else the short list, and for a decision all that it may use."""
    if names is None and (values.get("data") or decides_on_own(values)):
        return tuple(custom.available_methods().values())
    return tuple(custom.methods(names or ()))


def _names(option: str, text: str | None) -> list[str] | None:
    """Return the names of a list that an option takes; None without the option."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if text is not None and not names:
        raise UsageError(f"`{option}` names nothing", option=option, value=text)
    return names or None


@dataclass(frozen=True)
class RunRequest:
    """Inputs and settings of `rank-models run`.

    Attributes:
        rows: a set whose truth is known, or a user's own labelled rows; None for those in the models' files.
        pool: rows without labels; () without any.
        pool_from_unlabelled: True to use rows without a true label, in the file of the labelled ones, as the pool.
        in_domain: labelled in-domain rows; None without any.
        probe: K; None for the default.
        draws: B, or "exact".
        base: model that the others must be no worse than; None for no such check.
        beside: what judges mark; None without any.
        cost: prices, and whether the cheapest is preferred.
    """

    models: Suite | InspectedModels
    rows: NamedDataset | RowsFile | None
    pool: UnlabelledRows
    pool_from_unlabelled: bool
    in_domain: RowsFile | None
    evidence: Evidence
    method: str | None
    metric: str | LabelScore | None
    probe: int | None
    draws: int | Literal["exact"]
    seed: int
    base: str | None
    beside: JudgedRun | None
    cost: Costing
    runtime: Runtime

    def plan(self) -> Plan:
        """Plan the requests to the models."""
        if isinstance(self.rows, NamedDataset):
            return plan(
                gather_with_truth(self.models, self.rows, self.size, self.in_domain), self.evidence, metric=self.metric
            )
        if self.beside is not None:
            return plan(self.beside.gather(self.probe), self.evidence, self.method, self.metric)
        other_inputs = self.pool, self.probe, self.in_domain, self.pool_from_unlabelled
        inputs = gather_without_truth(self.models, self.rows, *other_inputs)
        return plan(inputs, self.evidence, self.method, self.metric)

    def answer(self, run_plan: Plan) -> Ranking:
        """Carry out the plan."""
        if isinstance(self.rows, NamedDataset):
            return evaluate_plan(run_plan, self.size, self.draws, self.seed, self.runtime)
        return decide_plan(run_plan, self.seed, self.runtime, self.base, self.beside, self.cost)

    @property
    def size(self) -> int:
        """K on a set whose truth is known."""
        return PROBE if self.probe is None else self.probe


def tasks(values: OptionValues) -> MatchedTasks | None:
    """Match the tasks of the named logs, if each place holds several; None if there are none to match.

    Raises:
        UsageError: there are several, beside voters, judges or a preference, which are of one task.
    """
    bundled = decides_on_own(values) and _references(values)
    several = match_tasks(_references(values), source_options(values)) if bundled else None
    if several:
        refuse(values, ("voters", "judges", "prefer"), "is for one task at a time: name one, as `--models FOLDER#TASK`")
    return several


def find_sole_model(values: OptionValues, format_name: str, cache: ResourceCache) -> InspectedModels | None:
    """Return the only named model, if it is a file of answers: it can be described, but not ranked."""
    check_mode(values)
    wants_more = any(
        values[name] for name in ("output", "save", "not_worse_than", "plots", "pool", "dry_run", "judges", "prefer")
    )
    if values["ood_name"] or not _references(values) or format_name != "table" or wants_more:
        return None
    name, models = suites.name_models(_references(values), source_options(values), cache)
    describable = len(models) == 1 and models[0].source.precomputed and not getattr(models[0].source, "doubt", "")
    return InspectedModels(models, name, cache) if describable else None


def run_request(values: OptionValues, progress: Progress, cache: ResourceCache | None = None) -> RunRequest:
    """Read the options of `rank-models run`; refuse bad ones before any model is inspected."""
    check_mode(values)
    rows = None if decides_on_own(values) else own_rows(values, "data") or set_of(values)
    rows, metric = custom.judged_rows(rows, values["metric"], Machine(values["device"]))
    pool: UnlabelledRows = own_rows(values, "pool") or ()
    beside = None
    models: Suite | InspectedModels | None = None
    if values["judges"] or are_marks(values, rows):
        assert not isinstance(rows, NamedDataset)  # `check_mode` refuses it
        of_answers = bool(values["data"] or values["pool"])
        inspected = named_models(values, of_answers) if _references(values) else None
        shared = ResourceCache() if inspected is None else inspected.cache
        judges = judge_options.judges(values, source_options(values, of_answers=True), shared)
        for judge in judges.asked.values():
            connect(values, judge.unpinned, judge.cache)
        inspected, pool, beside = with_judges(inspected, rows, pool, judges, runtime(values, progress))
        models = inspected or InspectedModels(())
    return RunRequest(
        models=models or suite(values, None if values["data"] else values["ood_name"], cache),
        rows=rows,
        pool=pool,
        pool_from_unlabelled=bool(values["pool_from_unlabelled"]),
        in_domain=own_rows(values, "in_domain"),
        evidence=evidence(values),
        method=values["method"],
        metric=metric,
        probe=values["probe"],
        draws=draws(values["draws"] or "exact"),
        seed=values["seed"],
        base=values["not_worse_than"],
        beside=beside,
        cost=Costing(read_prices(values["prices"] or ""), values["prefer"] and Preference.parse(values["prefer"])),
        runtime=runtime(values, progress) if beside is None else beside.runtime,
    )


def are_marks(values: OptionValues, rows: NamedDataset | RowsFile | None) -> TypeGuard[RowsFile]:
    """Return True if ``--data`` has people's marks of the models' answers: with their scale, and models by name."""
    if not isinstance(rows, RowsFile) or values.get("scale") is None or values.get("task"):
        return False
    return bool(_references(values)) and holds_marks(rows, named_models(values, of_answers=True))


def check_example(values: OptionValues) -> None:
    """Refuse an example that is named twice, or not at all."""
    if (values["example_id"] is None) == (not values["texts"]):
        raise UsageError("name one example: `--id ID`, or `--text TEXT` (twice for a pair)", option="id")
    if values["data"]:
        refuse(values, ["texts"], "is an example by itself; name a row of `--data` with `--id`")
    if not (values["data"] or values["ood_name"] or (values["texts"] and _references(values))):
        if values["texts"]:
            raise UsageError("`--models A B` are needed to explain a text of your own", option="models")
        raise UsageError(NOTHING_NAMED, option="ood")


def example(values: OptionValues, models: InspectedModels) -> Chosen:
    """Return the example of ``--id`` or ``--text``."""
    if values["texts"]:
        named_task = NamedTask(values["task"], values["ood_name"], tuple(values["include"]))
        return text_example(values["texts"], named_task, models)
    return find_example(own_rows(values, "data") or set_of(values), values["example_id"], models)


def suite(values: OptionValues, ood_name: str | None, cache: ResourceCache | None = None) -> Suite:
    """Return the models of ``--models``; else the embedded suite of an OOD set."""
    references = _references(values)
    if not references:
        return _embedded_suite(values, ood_name)
    trusted = () if values.get("judges") else values["trusted"]  # else they are judges
    loaded = suites.load(references, source_options(values), cache, values["voters"], trusted)
    connect(values, loaded.models, loaded.cache)
    return loaded


def models(values: OptionValues, ood_name: str | None) -> InspectedModels:
    """Return the same for commands that need only one model."""
    return named_models(values) or inspect_models(_embedded_suite(values, ood_name))


def named_models(values: OptionValues, of_answers: bool = False) -> InspectedModels | None:
    """Return the models of ``--models``, one or more; None without any. See `source_options`."""
    references, options = _references(values), source_options(values, of_answers)
    if not references:
        kinds.check_concerned(options, ())
        return None
    if values.get("judges"):
        options = kinds.without_unread(options, references)
    inspected = inspect_references(references, options)
    connect(values, inspected.unpinned, inspected.cache)
    return inspected


def connect(values: OptionValues, models: Sequence[Model], cache: ResourceCache) -> None:
    """Refuse models of which none can be asked, before any row is read; a dry run sends nothing."""
    if not values.get("dry_run") and any(is_connected(model.source) for model in models):
        cache.folder = store(values).folder
        check_connected(models, cache)


def _references(values: OptionValues) -> list[str]:
    return [*values["models"], *values["more_models"]]


def _embedded_suite(values: OptionValues, ood_name: str | None) -> Suite:
    if ood_name is None:
        raise UsageError.about("models", "is needed: the models to choose from")
    card = sets.find_card(ood_name, values["include"])
    default = f"{card.name}-mini"
    if default not in suites.bundled_suites():
        suites.check_installed(default)
        raise UsageError(f"no models for {card.name} are installed; name yours with `--models`", option="models")
    log.warning("%s: the embedded suite of small models; for your own: `--models`", default)
    return suites.load([default], source_options(values), None, values.get("voters", ()), values.get("trusted", ()))


def source_options(values: OptionValues, of_answers: bool = False) -> SourceOptions:
    """Return the options for all references; `--cluster` then only applies to `--data`, if that is given.

    `--range` applies to people's marks, where these stand beside `of_answers`.
    """
    option_values = {**values, "cluster": None} if values.get("data") else dict(values)
    roles = columns(values.get("columns"), ("rationale", "summary"))  # a command refuses those it does not read
    if takes_values(values.get("task")) or of_answers:
        option_values |= {"scale": None}  # it is the task's, or that of people's marks
    return SourceOptions(
        label_map=label_map(values["label_map"], values["limits"]),
        trust_remote_code=frozenset(values["trust_remote_code"]),
        allow_pickle=values["allow_pickle"],
        kinds=[from_flags(record, option_values) for record in records()],
        limits=values["limits"],
        values=takes_values(values.get("task")),
        columns={role: roles[role] for role in ("text", "label") if role in roles},
    )


def machine(values: OptionValues) -> Machine:
    """Return where and how models run; warn of a choice that only costs time."""
    if values["dtype"] == "bfloat16":
        from ranker.sources.devices import resolve

        if resolve("auto", values["device"]) != "bfloat16":
            log.warning("`--dtype bfloat16`: %s has no units for it; float32 may be faster", values["device"])
    return Machine(values["device"], values["dtype"])


def runtime(values: OptionValues, progress: Progress = silent) -> Runtime:
    """Return how models run, and where answers are stored."""
    return Runtime(machine(values), store(values), executor(values), progress)


def executor(values: OptionValues) -> Executor:
    """Return what runs the models: by default worker processes with limits."""
    isolated = ISOLATED if values.get("isolate") is None else values["isolate"]
    if values.get("isolate") is None and sys.platform != "linux":
        log.info("models run without limits on this system; `--isolate` sets those that it has")
    workers = values.get("workers", "auto")
    memory = round(values.get("memory", 4) * 1e9)
    return executor_named(values.get("executor", "auto"), ExecutorOptions(workers, isolated, memory))


def point_out(values: OptionValues, infos: Sequence[ModelInfo]) -> None:
    """Refuse options that none of the models reads, and warn of a label map that fits none.

    `--strict` also refuses guesses about their files.
    """
    stderr.check_strict(values, (note for info in infos for note in info.notes))
    unread = unread_options(infos)
    if "label_map" in unread:
        names = listed(map(repr, label_map(values["label_map"], values["limits"]) or ()))
        log.warning(
            "`--label-map`: none of its labels (%s) is one of these models', and it says nothing of them", names
        )
    kinds.refuse_unread_options(unread - {"label_map"})


def point_out_sample(values: OptionValues, loaded: LabelledDataset) -> None:
    """Tell the user of an embedded sample how to get the official rows."""
    card = sets.cards(values["include"]).get(loaded.name)
    if loaded.origin == sets.EMBEDDED and card is not None and card.files:
        fetch = f"`rank-models fetch {card.name} --data-dir DIR`, then " if card.url else ""
        log.warning(
            "%s: the embedded sample of %d rows; for the official data: %s`--data-dir DIR`",
            *(loaded.name, len(loaded.examples), fetch),
        )


def check_mode(values: OptionValues) -> None:
    """Refuse options of the other mode: a set whose truth is known, or a user's own rows."""
    if values["data"] or decides_on_own(values):
        refuse(values, FOR_A_SET, "is for `--ood`, without `--data`")
    else:
        refuse(values, FOR_OWN_ROWS, "is for `--data`")
    if not (values["data"] or values.get("texts")):
        refuse(values, ["task"], "is for the rows of `--data FILE`")
    if values.get("pool"):
        refuse(values, ["pool_from_unlabelled"], "is for rows of one file, without `--pool`")
        refuse(values, ["not_worse_than"], "is for labelled rows alone, without `--pool`")
    if values.get("voters") and not (values["ood_name"] or values["pool"] or values["pool_from_unlabelled"]):
        raise UsageError.about("voters", "vote on the rows of `--pool`; name it", values["voters"][0])
    judge_options.check(values)
    if not values.get("not_worse_than"):
        refuse(values, ("by", "allow_absent"), "is for `--not-worse-than`")
    if math.isnan(values.get("by") or 0):
        raise UsageError.about("by", "must be between 0 and 1 (got nan)", values["by"], allowed=(0, 1))
    if not (values["data"] or values.get("in_domain")):
        refuse(values, ["columns"], "is for files of your own: `--data`, `--pool`, `--in-domain`")


def gate(values: OptionValues) -> tuple[float, bool]:
    """Return the margin of "no worse", a fraction, and whether tasks and rows may be absent."""
    return MARGIN if values["by"] is None else values["by"], bool(values["allow_absent"])


def decides_on_own(values: OptionValues) -> bool:
    """Return True if the rows are those in the models' files: neither a set nor a file of rows is named."""
    return not (values["data"] or values["ood_name"]) and bool(_references(values) or values.get("judges"))


def draws(value: str) -> int | Literal["exact"]:
    """Parse ``--draws``: a number, or "exact"."""
    if value == "exact":
        return "exact"
    if value.isdecimal() and int(value) > 0:
        return int(value)
    raise UsageError.about("draws", f"must be a number of at least 1, or `exact` (got {value})", value)


def format_name(values: OptionValues) -> str:
    """Return ``--format``, or that of the ending of ``--output``."""
    endings = {ending: name for name, ending in reversed(FORMATS.items())}
    return values["format_name"] or format_of_path(values["output"], endings) or "table"


def columns(text: str | None, extra_roles: Sequence[str] = ()) -> dict[str, list[str]]:
    """Parse ``--columns`` into role -> columns.

    Example:
        >>> columns("text=premise,text=hypothesis,label=gold")
        {'text': ['premise', 'hypothesis'], 'label': ['gold']}
    """
    roles: dict[str, list[str]] = {role: [] for role in ("text", "label", "id", *extra_roles)}
    for part in text.split(",") if text else ():
        role, _, column = part.strip().partition("=")
        if not column:
            predicate = f"must be like text=premise,text=hypothesis,label=gold (got {text})"
            raise UsageError.about("columns", predicate, text)
        look_up("role of a column", role, roles).append(column)
    return {role: names for role, names in roles.items() if names}


def label_map(text: str | None, limits: Limits = LIMITS) -> dict[str, str] | None:
    """Parse ``--label-map`` into model's label or index -> task's label: JSON, a file of it, or the short form."""
    if text is None:
        return None
    if "=" in text and not text.lstrip().startswith(("{", "[")) and not os.path.isfile(text):
        return parse_label_map(text)
    try:
        mapping = read_json(Path(text), "a label map", limits) if os.path.isfile(text) else parse_json(text)
    except ValueError as error:
        forms = "JSON, a file of it, or like `a,b = label; c = label`"
        raise UsageError.about("label_map", f"must be {forms} (got {text[:100]!r}): {error}", text) from error
    if not isinstance(mapping, dict) or not all(isinstance(name, str) for name in mapping.values()):
        predicate = f'must be an object like {{"LABEL_0": "entailment"}} (got {text[:100]!r})'
        raise UsageError.about("label_map", predicate, text)
    return unique_label_map(mapping.items())
