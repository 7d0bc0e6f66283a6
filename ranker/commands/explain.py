"""`rank-models explain`."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

import click

from ranker.commands import options, outputs, stderr
from ranker.commands.config import CONFIG
from ranker.commands.program import name_flags
from ranker.errors import UsageError, look_up
from ranker.sources.options import Heading


@click.command(cls=options.HeadedCommand)
@options.option(
    Heading.COMMON,
    "--ood",
    "ood_name",
    metavar="NAME",
    help="OOD set whose task, marks and models are used.",
)
@options.option(
    Heading.COMMON,
    "--data",
    type=options.ROWS_PATH,
    metavar="FILE",
    help="Your own rows, labelled or not (.jsonl, .csv, .tsv, .parquet).",
)
@options.option(
    Heading.ROWS,
    "--id",
    "example_id",
    metavar="ID",
    help="Id of an example of the set or file; its number from 1 if there are no ids.",
)
@options.OWN_ROWS
@options.option(
    Heading.ROWS,
    "--text",
    "texts",
    multiple=True,
    metavar="TEXT",
    help="Your own text instead, twice for a pair. Without `--ood` or `--task` the models' labels are the task.",
)
@options.option(
    Heading.METHODS,
    "--toward",
    metavar="LABEL",
    help="Label to explain: positive scores speak for it.  [default: the shortcut's]",
)
@options.MODELS
@options.flags_from(*options.records(), without=options.NOT_FOR_EXPLAIN)
@options.ATTRIBUTION
@options.DATA_DIR
@options.INCLUDE
@options.MACHINE
@options.ISOLATE
@options.STORE
@options.option(
    Heading.OUTPUT,
    "--format",
    "format_name",
    metavar="NAME",
    help="Format of the report: terminal, html or json.  [default: by the ending of --output, else terminal]",
)
@options.OUTPUT
@options.FORCE
@CONFIG
@options.TALK
def explain(**values: Any) -> None:
    """Show what models see in one example: coloured words, the prediction, and what each factor reads.

    \b
    rank-models explain --models bert-a bert-b --text "What a waste of time."
    rank-models explain --ood hans-sub --id sn_past_participle-0 --models bert-a
    rank-models explain --ood hans-sub --text "The poets ran." --text "They ran."
    rank-models explain --ood hans-sub --id sn_past_participle-0 -o example.html
    rank-models explain --data ten.jsonl --id 3 --models bert-a bert-b
    """
    from ranker.commands import arguments
    from ranker.report.explain import FORMATS, render
    from ranker.runs.explain import check_askable, label_index
    from ranker.runs.explain import explain as explain_example
    from ranker.runs.plan import is_recorded_by

    stderr.log(values)
    endings = {"html": "html", "json": "json", "txt": "terminal"}
    format_name = values["format_name"] or outputs.format_of_path(values["output"], endings) or "terminal"
    look_up("format of explanations", format_name, FORMATS)
    outputs.check(values)
    arguments.check_mode(values)
    evidence = arguments.evidence(values)
    arguments.check_example(values)
    models = arguments.models(values, None if values["data"] else values["ood_name"])
    if values["metric"] and not is_recorded_by(values["metric"], models.infos):
        raise UsageError.about("metric", "is of logs here, and none of these models records it", values["metric"])
    check_askable(models, evidence)
    task, designed, example = arguments.example(values, models)
    toward = None if values["toward"] is None else label_index(values["toward"], task)
    arguments.point_out(values, models.infos)
    explanation = explain_example(
        models,
        example,
        task=task,
        evidence=evidence,
        toward=toward,
        designed=designed,
        runtime=arguments.runtime(values),
    )
    explanation = replace(
        explanation,
        left_out={factor: name_flags(reason) for factor, reason in explanation.left_out.items()},
        failures={model: name_flags(reason) for model, reason in explanation.failures.items()},
    )
    colour = values["output"] is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    outputs.write(render(explanation, format_name, colour), values["output"])
    if explanation.failures:
        raise SystemExit(1)
