"""`rank-models run --within`: the models ranked within each part of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ranker.commands import arguments, outputs, stderr
from ranker.commands.program import spoken
from ranker.errors import UsageError, look_up
from ranker.report import GENERAL, over_tasks
from ranker.runs.within import decide_within


def run(given: Mapping[str, Any], format_name: str) -> None:
    """Decide each part, and report them together.

    Args:
        given: what click read.
        format_name: of the report.

    Raises:
        UsageError: an option that is for one decision, or no file of rows.
        SystemExit: 1, a part could not be decided.
    """
    rows = arguments.own_rows(given, "data")
    if rows is None:
        raise UsageError("`--within` is for `--data`: a file of labelled rows with such a column")
    for name in (
        "pool",
        "pool_from_unlabelled",
        "save",
        "plots",
        "not_worse_than",
        "cluster",
        "method",
        "probe",
        "in_domain",
    ):
        if given[name] is not None:
            raise UsageError(f"`--{name.replace('_', '-')}` is for one decision, without `--within`")
    look_up("format of several parts", format_name, GENERAL)
    outputs.check(given)
    arguments.check_mode(given)
    found = decide_within(
        arguments.suite(given, None),
        rows,
        given["within"],
        seed=given["seed"],
        metric=given["metric"],
        evidence=arguments.evidence(given),
        runtime=arguments.runtime(given, stderr.bars(given)),
    )
    found = replace(found, failures={part: spoken(why) for part, why in found.failures.items()})
    shown = over_tasks.document(found)
    best, remarks = found.notes[-1], [one for one in shown.remarks if one != found.notes[-1]]
    said = [shown.lead, *shown.answer[:-1]]  # the last is what to type for tasks
    shown = replace(shown, lead=best, answer=said, remarks=remarks)
    outputs.write(outputs.rendered(shown, format_name, given["output"]), given["output"])
    if found.failures:
        raise SystemExit(1)
