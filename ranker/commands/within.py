"""`rank-models run --within`: rank models within each part of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ranker.commands import arguments, outputs, stderr
from ranker.commands.program import name_flags, refuse
from ranker.errors import UsageError, look_up
from ranker.report import GENERAL, over_tasks
from ranker.runs.within import decide_within

OF_ONE_DECISION = (
    "pool", "pool_from_unlabelled", "save", "plots", "not_worse_than", "cluster", "method", "prefer", "probe",
    "in_domain",
)  # fmt: skip
"""Options of `run` that are for a single decision."""


def run(values: Mapping[str, Any], format_name: str) -> None:
    """Decide each part, and report them together."""
    rows = arguments.own_rows(values, "data")
    if rows is None:
        predicate = "is for `--data`: a file of labelled rows with such a column"
        raise UsageError.about("within", predicate, values["within"])
    refuse(values, OF_ONE_DECISION, "is for one decision, without `--within`")
    look_up("format of several parts", format_name, GENERAL)
    outputs.check(values)
    arguments.check_mode(values)
    outcome = decide_within(
        arguments.suite(values, None),
        rows,
        values["within"],
        seed=values["seed"],
        metric=values["metric"],
        evidence=arguments.evidence(values),
        runtime=arguments.runtime(values, stderr.bars(values)),
    )
    outcome = replace(outcome, failures={part: name_flags(reason) for part, reason in outcome.failures.items()})
    document = over_tasks.document(outcome)
    best, remarks = outcome.notes[-1], [remark for remark in document.remarks if remark != outcome.notes[-1]]
    answer = [document.lead, *document.answer[:-1]]  # the last line is advice on tasks
    document = replace(document, lead=best, answer=answer, remarks=remarks)
    outputs.write_document(document, format_name, values["output"])
    outputs.report_failures(outcome.failures)
    if outcome.failures or any(ranking.header.failed_answers for ranking in outcome.rankings.values()):
        raise SystemExit(1)
