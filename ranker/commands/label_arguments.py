"""Turn the options of `rank-models label` into the record that its session takes; refuse bad ones in one line.

``values`` is what click parsed, as in `ranker.commands.arguments`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ranker.commands import arguments, custom, judge_options
from ranker.commands.arguments import OptionValues
from ranker.commands.program import refuse
from ranker.errors import UsageError
from ranker.files.buckets import local_path
from ranker.progress import Progress
from ranker.runs.inspected import InspectedModels, inspect_models
from ranker.runs.judges import Judges
from ranker.runs.label_answers import SCALE, VOTE, Form, marks
from ranker.runs.label_predictions import LabelSettings
from ranker.runs.rows import RowsFile
from ranker.runtime.runtime import Runtime
from ranker.sources.base import Machine


@dataclass(frozen=True)
class LabellingRequest:
    """Inputs and settings of `rank-models label`.

    Attributes:
        output: file of the session; None without one.
        annotator: name of the person who answers; None for the user of this process.
        budget: number of answers in `output` after which to stop; None for no limit.
        form: what people say of the models' answers; None if they label rows.
        labelled: files of rows labelled by others.
        batch: number of rows to write at once; None in a session.
        label_map: True if the user maps the models' labels.
        documents: file of the texts of documents that are graded; None to show their names.
    """

    models: InspectedModels
    pool: RowsFile
    output: Path | None
    annotator: str | None
    budget: int | None
    report_command: str
    settings: LabelSettings
    runtime: Runtime
    form: Form | None = None
    judges: Judges = Judges()
    labelled: tuple[Path, ...] = ()
    batch: int | None = None
    label_map: bool = False
    documents: Path | None = None


NOT_OF_ANSWERS = ("batch", "labelled", "documents", "voters", "metric", "rule", "task", "ood_name")
"""Options of `label` that say nothing of models' answers."""


def form_of(values: OptionValues) -> Form | None:
    """Return what people say of the models' answers: ``--votes`` or ``--marks``; None if they label rows.

    Raises:
        UsageError: both, or an option of labels beside them.
    """
    option = next((name for name in ("votes", "marks") if values[name]), "")
    if not option:
        return None
    if values["votes"] and values["marks"]:
        raise UsageError.about("votes", "and `--marks` ask for two things; choose one", True)
    refuse(values, NOT_OF_ANSWERS, f"is not read beside `--{option}`")
    if option == "marks":
        return marks(values["scale"] or SCALE)
    refuse(values, ["scale"], "is for `--marks`")
    return VOTE


def _of_answers(
    values: OptionValues, form: Form, settings: LabelSettings, progress: Progress, report_command: str
) -> LabellingRequest:
    """Read the options of `rank-models label` where people judge the models' answers."""
    models = arguments.named_models(values, of_answers=True)
    if models is None:
        raise UsageError.about("models", "are needed: two or more, whose answers are judged")
    judges = judge_options.judges(values, arguments.source_options(values, of_answers=True), models.cache)
    for judge in judges.asked.values():
        arguments.connect(values, judge.unpinned, judge.cache)
    rows = arguments.own_rows(values, "pool")
    assert rows is not None  # click requires it
    return LabellingRequest(
        models,
        replace(rows, scale=None),
        output=values["output"],
        annotator=values["annotator"],
        budget=values["budget"],
        report_command=report_command,
        settings=settings,
        runtime=arguments.runtime(values, progress),
        form=form,
        judges=judges,
    )


def labelling_request(
    values: OptionValues, settings: LabelSettings, progress: Progress, report_command: str = ""
) -> LabellingRequest:
    """Read the options of `rank-models label`, other than how rows are picked."""
    form = form_of(values)
    if form is not None:
        return _of_answers(values, form, settings, progress, report_command)
    models = inspect_models(arguments.suite(values, values["ood_name"]))
    if values["judges"]:
        options = arguments.source_options(values, of_answers=True)
        voting = judge_options.judges(values, options, models.cache).voters(models, None)
        if not voting:
            raise UsageError.about("judge", "marks answers, which `label` does not ask for: see `run`")
        models = inspect_models(models, voters=voting)
    arguments.point_out(values, models.infos)
    rows = arguments.own_rows(values, "pool")
    assert rows is not None  # click requires it
    pool, metric = custom.judged_rows(rows, values["metric"], Machine(values["device"]))
    return LabellingRequest(
        models,
        pool,
        output=values["output"],
        annotator=values["annotator"],
        budget=values["budget"],
        report_command=report_command,
        settings=replace(settings, metric=metric or ""),
        runtime=arguments.runtime(values, progress),
        labelled=tuple(local_path(file, "labelled", values["limits"].file) for file in values["labelled"]),
        batch=values["batch"],
        label_map=values["label_map"] is not None,
        documents=values["documents"],
    )
