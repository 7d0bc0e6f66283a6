"""`rank-models run --votes`: models by votes between their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ranker.commands import outputs, stderr
from ranker.commands.program import flag_error
from ranker.errors import look_up
from ranker.files.buckets import local_path

OTHERS = (
    "models", "data", "ood_name", "pool", "voters", "judge_prompts", "judge_directions", "not_worse_than", "dry_run",
    "save", "plots", "metric", "method", "in_domain", "factor_names",
)  # fmt: skip
"""Options of `run` that say nothing beside ``--votes``."""


def run(values: Mapping[str, Any], format_name: str) -> None:
    """Rank models by the file of ``--votes``, and write the report.

    Raises:
        UsageError: the command line has an option that votes do not read, or the file cannot be read.
    """
    from ranker.report import FORMATS, votes
    from ranker.runs.votes import rank_votes

    look_up("format", format_name, FORMATS)
    for name in OTHERS:
        if values[name]:
            raise flag_error(name, "is not read beside `--votes`", values[name])
    outputs.check(values)
    limits = values["limits"]
    pairs = [text.partition("=") for text in values["judges"]]
    judges = {name: reference if equals else name for name, equals, reference in pairs}
    ranking = rank_votes(
        local_path(values["votes"], "votes", limits.file), judges=judges, seed=values["seed"], limits=limits
    )
    stderr.check_strict(values, ranking.notes)
    outputs.write(outputs.render_document(votes.document(ranking), format_name, values["output"]), values["output"])
