"""`rank-models run --votes`: models by votes between their answers, and the votes themselves in another layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ranker.commands import outputs, stderr
from ranker.commands.program import refuse
from ranker.errors import UsageError, look_up
from ranker.files.buckets import local_path

OTHERS = (
    "data", "ood_name", "voters", "not_worse_than", "dry_run", "save", "plots", "metric", "method", "in_domain",
    "factor_names", "prefer",
)  # fmt: skip
"""Options of `run` that say nothing beside ``--votes``."""


def run(values: Mapping[str, Any], format_name: str) -> None:
    """Rank models by the file of ``--votes``, and write the report."""
    from ranker.commands import arguments, judge_options
    from ranker.datasets.votes import EXPORTS, read_votes
    from ranker.report import FORMATS, votes
    from ranker.runs.votes import rank_votes
    from ranker.sources.base import ResourceCache

    look_up("format", format_name, {**FORMATS, **EXPORTS})
    refuse(values, OTHERS, "is not read beside `--votes`")
    if bool(values["models"]) != bool(values["pool"]):
        text = "is beside `--votes` for the models' answers: name both `--models` and `--pool`"
        raise UsageError.about("models" if values["models"] else "pool", text, values["models"] or values["pool"])
    outputs.check(values)
    file = local_path(values["votes"], "votes", values["limits"].file)
    if format_name in EXPORTS:
        outputs.write(EXPORTS[format_name](read_votes(file, values["limits"])), values["output"])
        return
    models = arguments.named_models(values, of_answers=True) if values["models"] else None
    ranking = rank_votes(
        file,
        judges=judge_options.judges(
            values,
            arguments.source_options(values, of_answers=True),
            ResourceCache() if models is None else models.cache,
        ),
        models=models,
        pool=arguments.own_rows(values, "pool") or (),
        length_controlled=values["length_controlled"],
        seed=values["seed"],
        limits=values["limits"],
        runtime=arguments.runtime(values, stderr.bars(values)),
    )
    stderr.check_strict(values, ranking.notes)
    outputs.write_document(votes.document(ranking), format_name, values["output"])
    if ranking.failed_answers:
        raise SystemExit(1)
