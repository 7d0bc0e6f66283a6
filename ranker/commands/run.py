"""`rank-models run`, which is what `rank-models` without a command does."""

from __future__ import annotations

from typing import Any

import click

from ranker.commands import options, outputs, stderr
from ranker.commands.config import CONFIG
from ranker.commands.program import refuse, say
from ranker.errors import UsageError, look_up
from ranker.sources.options import Heading


@click.command(cls=options.HeadedCommand)
@options.option(
    Heading.COMMON,
    "--ood",
    "ood_name",
    metavar="NAME",
    help="The OOD set: see `rank-models ls ood`.",
)
@options.option(
    Heading.COMMON,
    "--data",
    type=options.ROWS_PATH,
    metavar="FILE",
    help="Your own labelled rows (.jsonl, .csv, .tsv, .parquet), to decide between models.",
)
@options.option(
    Heading.COMMON,
    "--pool",
    type=options.ROWS_PATH,
    metavar="FILE",
    help="Unlabelled rows of the same domain, beside --data: a file, or a folder or 'pattern' of Parquet files. They "
    "make ten labels worth many (see `label`).",
)
@options.option(
    Heading.ROWS,
    "--pool-from-unlabelled",
    is_flag=True,
    default=None,
    help="Use rows without a true label, of --data or the models' files, as the pool.",
)
@options.option(
    Heading.ROWS,
    "--within",
    metavar="COLUMN",
    help="Column of --data, such as a source: rank within each of its values, and say whether the best model differs.",
)
@options.option(
    Heading.ANSWERS,
    "--votes",
    type=options.ROWS_PATH,
    metavar="FILE",
    help="Votes, which of two answers is better: columns id, model_a, model_b, winner, and rater for who voted; or a "
    "file of MT-bench, the arena or AlpacaEval. They rank the models alone. With --judge NAME that rater is a judge.",
)
@options.option(
    Heading.ANSWERS,
    "--length-controlled",
    is_flag=True,
    help="Take the effect of longer answers out of --votes. Their texts are in the file (answer_a, answer_b), or those "
    "of --models to --pool.",
)
@options.OWN_ROWS
@options.MODELS
@options.VOTERS
@options.flags_from(*options.records())
@options.JUDGES
@options.option(
    Heading.ANSWERS,
    "--judge-direction",
    "judge_directions",
    multiple=True,
    metavar="NAME=lower",
    help="Judge whose lower marks are better.",
)
@options.option(
    Heading.METHODS,
    "--method",
    metavar="NAME",
    help="Method to order models by, with --data.  [default: ACC+TIES; with --pool SURROGATE]",
)
@options.PREFER
@options.option(
    Heading.METHODS,
    "--probe",
    type=int,
    metavar="K",
    help="Number of labelled examples.  [default: 10; with --data all of its rows]",
)
@options.option(
    Heading.METHODS,
    "--draws",
    metavar="B|exact",
    help="Number of probes to draw, or exact: all that there are.  [default: exact]",
)
@options.SEED
@options.ATTRIBUTION
@options.option(
    Heading.METHODS,
    "--methods",
    "method_names",
    metavar="NAMES|FILE.py|all|none",
    help="Methods that use unlabelled rows: comma-separated names, files with your own, all, or none. See "
    "`rank-models ls methods`.  [default: SURROGATE, SURROGATE+LABEL, DAWID-SKENE]",
)
@options.TARGET
@options.option(
    Heading.METHODS,
    "--normalise",
    "norm",
    type=click.Choice(["raw", "l1"]),
    default="raw",
    show_default=True,
    help="Divisor of the attributions of an example: none (raw), or the sum of their magnitudes (l1).",
)
@options.option(
    Heading.ROWS,
    "--in-domain",
    type=options.ROWS_PATH,
    metavar="FILE",
    help="Labelled rows of the domain that the models were trained for. SURROGATE starts from the accuracies there,"
    " and models below chance are pointed out. The methods ATC, DOC, ID-ACC, ALINE and COT need them.",
)
@options.DATA_DIR
@options.INCLUDE
@options.option(
    Heading.ROWS,
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help="Number of rows of the set to use, drawn at random, for a quick try. True accuracies are those on these rows.",
)
@options.option(
    Heading.ROWS,
    "--population",
    type=click.IntRange(1),
    metavar="N",
    help="Number of examples of the set to attribute, and to draw probes from.  [default: 400 or 600, by the "
    "set's card]",
)
@options.MACHINE
@options.WORKERS
@options.ISOLATE
@options.STORE
@options.FORMAT
@options.OUTPUT
@options.option(
    Heading.OUTPUT,
    "--save",
    type=options.PATH,
    metavar="FILE",
    help="File to save the whole run to, for `rank-models report`.",
)
@options.PLOTS
@options.FORCE
@CONFIG
@options.option(
    Heading.CHECKS,
    "--not-worse-than",
    metavar="MODEL",
    help="Model to hold the others to, for CI: exit with 3 unless each is shown to be no worse, within --by.",
)
@options.option(
    Heading.CHECKS,
    "--by",
    type=click.FloatRange(0, 1),
    metavar="MARGIN",
    help="Margin of --not-worse-than, as a fraction: the 95 % interval of the difference must lie above minus "
    "this.  [default: 0.02, two points]",
)
@options.option(
    Heading.CHECKS,
    "--allow-absent",
    is_flag=True,
    default=None,
    help="Let --not-worse-than pass although tasks or rows are absent, or a log is partial.",
)
@options.option(Heading.MACHINE, "--dry-run", is_flag=True, help="Show what would run, and how much of it is cached.")
@options.TALK
def run(**values: Any) -> None:
    """Rank a suite of models: on an OOD set whose labels are known, or on a few labelled rows of your own.

    \b
    rank-models --data ten.jsonl --pool rows.jsonl --models bert-a bert-b
    rank-models --data ten.jsonl --models org/lm --prompts nli --shots 0 --shots 4
    rank-models --models a.csv b.csv --metric mcc --not-worse-than a --by 0.02
    rank-models --ood hans-sub --models bert-a org/bert-b@main -o report.html

    With --ood the report says how often each method, shown K examples, would have put two models in the right order:
    its pairwise accuracy. With --data it says which model to take, or that it cannot say yet, and what would help
    most then. Tables of predictions and logs may bring the rows, and their truth, themselves.

    Exit status: 0 done. 1: something failed, the rest was done and is reported. 2: an argument cannot be right. 3: the
    condition of --not-worse-than does not hold, or a model failed, so that it cannot. 130, 143, 129: stopped by Ctrl-C,
    SIGTERM, SIGHUP.
    """
    from contextlib import ExitStack
    from dataclasses import replace

    from ranker.datasets import embedded

    if values["ood_name"]:  # before slow imports
        embedded.find(values["ood_name"], values["include"])
    from ranker import report
    from ranker.commands import arguments
    from ranker.commands.program import name_flags
    from ranker.report.ranking import document
    from ranker.runs.collect import dry_run_lines
    from ranker.runs.describe import describe_model
    from ranker.runs.plan import is_recorded_by
    from ranker.scoring.gate import of_decision
    from ranker.sources.base import ResourceCache
    from ranker.sources.endpoint.prices import read_prices

    stderr.log(values)
    format_name = arguments.format_name(values)
    if values["votes"] is not None:
        from ranker.commands import votes

        votes.run(values, format_name)
        return
    refuse(values, ["length_controlled"], "is for `--votes`")
    look_up("format", format_name, report.FORMATS)
    if values["within"] is not None:
        from ranker.commands import within

        within.run(values, format_name)
        return
    if (several := arguments.tasks(values)) is not None:
        from ranker.commands import tasks  # imports the report writers

        tasks.run(values, several, format_name)
        return
    outputs.check(values)
    cache = ResourceCache()
    if (sole_model := arguments.find_sole_model(values, format_name, cache)) is not None:
        stderr.check_strict(values, sole_model.infos[0].notes)
        if values["metric"] and not is_recorded_by(values["metric"], sole_model.infos):
            name = values["metric"]
            raise UsageError.about("metric", f"{name} compares models: name two or more with `--models`", name)
        for line in describe_model(sole_model, arguments.own_rows(values, "data")):
            say(name_flags(line))
        return
    request = arguments.run_request(values, stderr.bars(values), cache)
    if values["dry_run"] and request.beside is not None:
        for line in request.beside.dry_lines(read_prices(values["prices"] or "")):
            say(line)
        return
    run_plan = request.plan()
    arguments.point_out(values, (*run_plan.inspected.infos, *(request.beside.infos if request.beside else ())))
    arguments.point_out_sample(values, run_plan.ood)
    if values["dry_run"]:
        for line in dry_run_lines(run_plan, request.runtime, read_prices(values["prices"] or "")):
            say(line)
        return
    with outputs.failing_check(request.base):
        answer = request.answer(run_plan)
    ranking = outputs.name_flags_in_ranking(answer).made_by(click.get_current_context().obj)
    if request.base is not None:
        gate = of_decision(ranking, request.base, *arguments.gate(values))
        ranking = replace(ranking, found=replace(ranking.decision, gate=gate))
    stderr.check_strict(values, (*ranking.header.notes, *ranking.found.notes))
    with ExitStack() as after:  # each is written, even if another fails
        after.callback(outputs.plot, ranking, values["plots"])
        if values["save"]:
            after.callback(ranking.save, values["save"])
        with request.runtime.steps(f"report of {len(ranking.table.models):,} models", 1):
            answer_document = document(ranking)
            content = outputs.render_document(answer_document, format_name, values["output"])
        outputs.write(content, values["output"])
        outputs.append_summary(answer_document, format_name)
    if ranking.gate is not None:
        outputs.enforce_gate(ranking.gate)
    if ranking.header.failures or ranking.header.failed_answers or ranking.header.failed_factors:
        raise SystemExit(1)
