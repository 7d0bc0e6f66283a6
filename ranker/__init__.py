"""Obtain, store, resample, report: from checkpoints and examples to a ranking.

These names are all that a user needs, and `docs/reference` lists them; what else there is may change without notice.

>>> from ranker import Evidence, decide, rank  # and Ranking, what both give
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranker.attribution import attribute
    from ranker.attribution.perturb import explained_values, share_among_tokens, token_masks
    from ranker.attribution.settings import Hiding
    from ranker.datasets.marks import marker
    from ranker.datasets.sets import LabelledDataset, unlabelled
    from ranker.datasets.sets import from_rows as set_from_rows
    from ranker.datasets.sets import load as load_set
    from ranker.domains.compare import compare
    from ranker.domains.results.over_sets import OverSets
    from ranker.domains.results.shift import Selection, Shift
    from ranker.domains.runs.shift import shift
    from ranker.domains.select import select_sets
    from ranker.errors import DataError, ModelError, RankModelsError, StoreError, UsageError
    from ranker.progress import silent
    from ranker.report.plot import plot
    from ranker.results.changes import Changes
    from ranker.results.decision import Decision
    from ranker.results.evaluation import Evaluation, MethodResult
    from ranker.results.explanation import Explanation
    from ranker.results.label_ranking import LabelRanking
    from ranker.results.over_tasks import OverTasks
    from ranker.results.ranking import Ranking
    from ranker.results.votes import VoteRanking
    from ranker.runs.changes import what_changed
    from ranker.runs.decide import decide
    from ranker.runs.explain import explain
    from ranker.runs.label import Labelling, label
    from ranker.runs.label_predictions import LabelSettings as LabelSettings
    from ranker.runs.over_tasks import over_tasks
    from ranker.runs.rank import rank
    from ranker.runs.rows import labelled
    from ranker.runs.votes import rank_votes
    from ranker.runs.within import decide_within
    from ranker.runtime.executors.processes import Processes
    from ranker.runtime.executors.ray_tasks import RayTasks
    from ranker.runtime.runtime import Runtime
    from ranker.runtime.storage import USER_STORE
    from ranker.runtime.store import Store
    from ranker.scoring.score import Evidence
    from ranker.sources.base import Machine, SourceOptions
    from ranker.sources.endpoint.options import EndpointOptions
    from ranker.sources.hf.options import CheckpointOptions
    from ranker.sources.lm.kind import PromptedModel
    from ranker.sources.lm.options import LMOptions
    from ranker.sources.lm.prompts import Prompt
    from ranker.sources.logs.options import LogOptions
    from ranker.sources.logs.records import LogRecord, LogRecords
    from ranker.sources.options import option
    from ranker.sources.suites import Suite
    from ranker.sources.suites import load as load_suite
    from ranker.sources.tables.options import TableOptions
    from ranker.sources.texts import TextSource
    from ranker.tasks.classes import ClassificationTask
    from ranker.tasks.values import ValueAnswers, ValueTask

__all__ = [
    "USER_STORE",
    "Changes",
    "CheckpointOptions",
    "ClassificationTask",
    "DataError",
    "Decision",
    "EndpointOptions",
    "Evaluation",
    "Evidence",
    "Explanation",
    "Hiding",
    "LMOptions",
    "LabelRanking",
    "LabelSettings",
    "LabelledDataset",
    "Labelling",
    "LogOptions",
    "LogRecord",
    "LogRecords",
    "Machine",
    "MethodResult",
    "ModelError",
    "OverSets",
    "OverTasks",
    "Processes",
    "Prompt",
    "PromptedModel",
    "RankModelsError",
    "Ranking",
    "RayTasks",
    "Runtime",
    "Selection",
    "Shift",
    "SourceOptions",
    "Store",
    "StoreError",
    "Suite",
    "TableOptions",
    "TextSource",
    "UsageError",
    "ValueAnswers",
    "ValueTask",
    "VoteRanking",
    "attribute",
    "compare",
    "decide",
    "decide_within",
    "explain",
    "explained_values",
    "label",
    "labelled",
    "load_set",
    "load_suite",
    "marker",
    "option",
    "over_tasks",
    "plot",
    "rank",
    "rank_votes",
    "select_sets",
    "set_from_rows",
    "share_among_tokens",
    "shift",
    "silent",
    "token_masks",
    "unlabelled",
    "what_changed",
]

_HOME = {
    "ranker.attribution": ("attribute",),
    "ranker.attribution.perturb": ("explained_values", "share_among_tokens", "token_masks"),
    "ranker.attribution.settings": ("Hiding",),
    "ranker.datasets.marks": ("marker",),
    "ranker.datasets.sets": ("LabelledDataset", "unlabelled"),
    "ranker.domains.compare": ("compare",),
    "ranker.domains.select": ("select_sets",),
    "ranker.errors": ("DataError", "ModelError", "RankModelsError", "StoreError", "UsageError"),
    "ranker.progress": ("silent",),
    "ranker.report.plot": ("plot",),
    "ranker.results.changes": ("Changes",),
    "ranker.results.decision": ("Decision",),
    "ranker.results.evaluation": ("Evaluation", "MethodResult"),
    "ranker.results.explanation": ("Explanation",),
    "ranker.results.label_ranking": ("LabelRanking",),
    "ranker.domains.results.over_sets": ("OverSets",),
    "ranker.results.over_tasks": ("OverTasks",),
    "ranker.results.ranking": ("Ranking",),
    "ranker.domains.results.shift": ("Selection", "Shift"),
    "ranker.results.votes": ("VoteRanking",),
    "ranker.runs.decide": ("decide",),
    "ranker.runs.explain": ("explain",),
    "ranker.runs.rows": ("labelled",),
    "ranker.runs.label": ("Labelling", "label"),
    "ranker.runs.over_tasks": ("over_tasks",),
    "ranker.runs.rank": ("rank",),
    "ranker.domains.runs.shift": ("shift",),
    "ranker.runs.votes": ("rank_votes",),
    "ranker.runs.within": ("decide_within",),
    "ranker.runtime.executors.processes": ("Processes",),
    "ranker.runtime.executors.ray_tasks": ("RayTasks",),
    "ranker.runtime.runtime": ("Runtime",),
    "ranker.runtime.storage": ("USER_STORE",),
    "ranker.runtime.store": ("Store",),
    "ranker.runs.changes": ("what_changed",),
    "ranker.scoring.score": ("Evidence",),
    "ranker.sources.base": ("Machine", "SourceOptions"),
    "ranker.sources.hf.options": ("CheckpointOptions",),
    "ranker.sources.lm.kind": ("PromptedModel",),
    "ranker.sources.endpoint.options": ("EndpointOptions",),
    "ranker.sources.lm.options": ("LMOptions",),
    "ranker.sources.lm.prompts": ("Prompt",),
    "ranker.sources.logs.options": ("LogOptions",),
    "ranker.sources.logs.records": ("LogRecord", "LogRecords"),
    "ranker.sources.options": ("option",),
    "ranker.sources.suites": ("Suite",),
    "ranker.sources.tables.options": ("TableOptions",),
    "ranker.sources.texts": ("TextSource",),
    "ranker.tasks.classes": ("ClassificationTask",),
    "ranker.tasks.values": ("ValueAnswers", "ValueTask"),
}
"""Module -> its public names."""

_PLACES = {name: (module, name) for module, names in _HOME.items() for name in names} | {
    "LabelSettings": ("ranker.runs.label_predictions", "LabelSettings"),
    "load_set": ("ranker.datasets.sets", "load"),
    "load_suite": ("ranker.sources.suites", "load"),
    "set_from_rows": ("ranker.datasets.sets", "from_rows"),
}
"""Public name -> its module, and its name there."""


def __dir__() -> list[str]:
    """List the public names; the modules are imported by their own."""
    return __all__


if not TYPE_CHECKING:  # a type checker knows each name by its import, and no other

    def __getattr__(name: str) -> Any:
        """Import a public name on its first use, so that `rank-models --help` imports none."""
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _PLACES[name]
        try:
            return getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            from ranker.errors import EXTRAS, check_installed

            for extra in (extra for extra, modules in EXTRAS.items() if error.name in modules):
                check_installed(f"`ranker.{name}`", extra, str(error.name))
            raise
