"""Rank models within each part of a file of labelled rows, and compare the best models of the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ranker.errors import UsageError
from ranker.results.over_tasks import OverTasks
from ranker.results.ranking import Ranking
from ranker.runs.decide import decide_plan
from ranker.runs.gather import RunInputs, gather_without_truth
from ranker.runs.inspected import Models
from ranker.runs.over_tasks import decide_all
from ranker.runs.plan import plan
from ranker.runs.rows import RowsFile
from ranker.runs.signatures import checked
from ranker.runtime.runtime import Runtime
from ranker.scoring.over_tasks import parts
from ranker.scoring.score import Evidence
from ranker.tasks.metrics import LabelScore

MAX_PARTS = 20
"""Parts of a file, at most: each is a decision of its own."""


@checked
def decide_within(
    models: Models,
    rows: RowsFile | str | Path,
    column: str,
    *,
    seed: int = 0,
    metric: str | LabelScore | None = None,
    evidence: Evidence = Evidence(),
    runtime: Runtime = Runtime(),
) -> OverTasks:
    """Decide between models within each part of a file, and over all parts.

    Args:
        models, seed, metric, evidence, runtime: as in `ranker.decide`.
        rows: the file.
        column: column whose values are the parts.

    Returns:
        The decision on each part, as on a task, and the means over them; its last note says whether the best differs.

    Raises:
        UsageError: the column has one value, or more than 20.
        RankModelsError: no part can be decided; the message is that of the first.

    Example:
        >>> import json
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from ranker import Evidence, load_set, load_suite
        >>> rows = load_set("hans-sub").examples[:40]
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "rows.jsonl")
        ...     lines = [
        ...         {"premise": a, "hypothesis": b, "label": row.target, "half": "even" if n % 2 else "odd"}
        ...         for n, row in enumerate(rows)
        ...         for a, b in [row.segments]
        ...     ]
        ...     _ = file.write_text("\\n".join(map(json.dumps, lines)))
        ...     models = load_suite(["hans-sub-mini"]).models[-3:]
        ...     found = decide_within(models, file, "half", evidence=Evidence("none"))
        >>> sorted(found.rankings), found.notes[-1]
        (['even', 'odd'], ...)
    """
    rows_file = rows if isinstance(rows, RowsFile) else RowsFile(Path(rows))
    inputs = gather_without_truth(models, replace(rows_file, columns={**rows_file.columns, "cluster": (column,)}))
    values = dict.fromkeys(example.group for example in inputs.population)
    if not 2 <= len(values) <= MAX_PARTS:
        examples = ", ".join(list(values)[:3])
        predicate = (
            f"must name a column with 2 to {MAX_PARTS} values (got {len(values)} in {rows_file.file}: {examples})"
        )
        raise UsageError.about("within", predicate, len(values), allowed=(2, MAX_PARTS))

    def ask(value: str) -> tuple[Ranking, Sequence[str]]:
        ranking = decide_plan(plan(_part(inputs, value), evidence, metric=metric), seed, runtime)
        return ranking, [""] * len(ranking.table.examples)

    outcomes, failures, complete = decide_all([*values], ask, "part")
    names, scores = parts(complete, {})
    rankings = {value: outcome.ranking for value, outcome in outcomes.items()}
    note = best_model_note({value: rankings[value] for value in complete})
    return OverTasks(names, scores, rankings, failures=failures, notes=(note,))


def _part(inputs: RunInputs, value: str) -> RunInputs:
    """Return the rows of one value as a set; they count as independent."""
    examples = tuple(replace(row, group="") for row in inputs.population if row.group == value)
    ood = replace(inputs.ood, name=value, examples=examples, population=len(examples))
    return RunInputs(inputs.inspected, ood, examples, in_domain=inputs.in_domain)


def best_model_note(rankings: Mapping[str, Ranking]) -> str:
    """Say in a sentence whether the best model is the same in all parts.

    It differs if one model is first in one part, another in another, and each is told from the other there.
    """
    firsts = {part: ranking.decision.names[0] for part, ranking in rankings.items()}
    if len(set(firsts.values())) == 1:
        return f"The best model does not differ: {next(iter(firsts.values()))} is first in every part."
    firsts_text = ", ".join(f"{model} in {part}" for part, model in firsts.items())
    for part, first in firsts.items():
        for other_part, second in firsts.items():
            if _is_better(rankings[part], first, second) and _is_better(rankings[other_part], second, first):
                return (
                    f"The best model differs: {first} is better than {second} in {part}, and {second} is better than "
                    f"{first} in {other_part}. First are {firsts_text}."
                )
    return (
        f"It is uncertain whether the best model differs: first are {firsts_text}, but no two parts tell these apart."
    )


def _is_better(ranking: Ranking, better: str, worse: str) -> bool:
    """Return True if one model is told from another as the better one."""
    decision = ranking.decision
    if better == worse or better not in decision.names or worse not in decision.names:
        return False
    return decision.better(decision.names.index(better), decision.names.index(worse))
