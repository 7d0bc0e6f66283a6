"""Report on the models by the answers of a labelling session, as the command that the session names makes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ranker import report
from ranker.commands import custom, outputs
from ranker.commands.session_files import SessionFile
from ranker.report import votes
from ranker.results.ranking import Ranking
from ranker.runs.decide import decide, decide_plan
from ranker.runs.judges import with_judges
from ranker.runs.label_answers import VOTE, Form
from ranker.runs.plan import plan
from ranker.runs.rows import RowsFile
from ranker.runs.votes import rank_votes
from ranker.scoring.score import Evidence


def report_page(session: SessionFile) -> str:
    """Return the report on the answers so far, as HTML; errors are those of the command."""
    request, form = session.request, session.request.form
    assert request.output is not None  # the command refuses a session without one
    if form is VOTE:
        ranking = rank_votes(
            request.output,
            judges=request.judges,
            models=request.models,
            pool=request.pool,
            limits=request.pool.limits,
            runtime=request.runtime,
        )
        return str(outputs.render_document(votes.document(ranking), "html", None))
    by_labels = _of_labels(session, request.output) if form is None else _of_marks(session, request.output, form)
    return str(report.render(outputs.name_flags_in_ranking(by_labels), "html"))


def _of_labels(session: SessionFile, file: Path) -> Ranking:
    request, labelling = session.request, session.labelling
    columns = {**request.pool.columns, "label": [session.column]}
    return decide(
        request.models,
        replace(request.pool, file=file, columns=columns, task=labelling.task),
        pool=labelling.rows,
        evidence=Evidence(methods=tuple(custom.available_methods().values())),
        runtime=request.runtime,
    )


def _of_marks(session: SessionFile, file: Path, form: Form) -> Ranking:
    request = session.request
    marks = RowsFile(file, limits=request.pool.limits, scale=form.scale)
    pool = request.pool if request.judges.references else ()
    _, _, beside = with_judges(request.models, marks, pool, request.judges, request.runtime)
    assert beside is not None  # marks of answers are no labels of rows
    run_plan = plan(beside.gather(), Evidence("none"))
    return decide_plan(run_plan, request.settings.seed, request.runtime, judges=beside)
