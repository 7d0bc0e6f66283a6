"""Models ranked within each part of one file of labelled rows, and whether the best is another in another part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ranker.domains.parts import MOST
from ranker.errors import RankModelsError, UsageError
from ranker.results.over_tasks import OverTasks
from ranker.results.ranking import Ranking
from ranker.runs.decide import decided
from ranker.runs.gather import Gathered, Models, RowsFile, RunRows, without_truth
from ranker.runs.plan import plan
from ranker.runtime.runtime import Runtime
from ranker.scoring.over_tasks import TaskOutcomes, parts, task_outcomes
from ranker.scoring.score import Evidence


def decide_within(
    models: Models,
    rows: RowsFile | str | Path,
    column: str,
    *,
    seed: int = 0,
    metric: str | None = None,
    evidence: Evidence = Evidence(),
    runtime: Runtime = Runtime(),
) -> OverTasks:
    """Decide between models within each part of a file, and over all parts.

    Args:
        models, seed, metric, evidence, runtime: as in `ranker.decide`.
        rows: the file.
        column: what says which part a row belongs to.

    Returns:
        The decision on each part, as on a task, and the means over them; its last note says whether the best differs.

    Raises:
        UsageError: the column has one value, or more than 20.
        RankModelsError: no part can be decided: why the first cannot.

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
    of = rows if isinstance(rows, RowsFile) else RowsFile(Path(rows))
    whole = without_truth(models, replace(of, columns={**of.columns, "cluster": (column,)}))
    values = dict.fromkeys(example.group for example in whole.rows.population)
    if not 2 <= len(values) <= MOST:
        some = ", ".join(list(values)[:3])
        raise UsageError(
            f"`within` must name a column with 2 to {MOST} values (got {len(values)} in {of.file}: {some})"
        )
    made: dict[str, TaskOutcomes] = {}
    failures: dict[str, str] = {}
    first = None
    for value in values:
        try:
            ranking = decided(plan(_part(whole, value), evidence, metric=metric), seed, runtime)
        except RankModelsError as error:
            failures[value], first = str(error), first or error
            continue
        made[value] = task_outcomes(ranking, [""] * len(ranking.table.examples))
        if ranking.header.failures:
            failures[value] = "; ".join(f"{model}: {why}" for model, why in ranking.header.failures.items())
    there = {value: one for value, one in made.items() if value not in failures}
    if not there:
        raise first or RankModelsError(f"no part can be decided; {next(iter(failures.items()))}")
    names, found = parts(there, {})
    rankings = {value: one.ranking for value, one in made.items()}
    return OverTasks(names, found, rankings, failures=failures, notes=(best({v: rankings[v] for v in there}),))


def _part(whole: Gathered, value: str) -> Gathered:
    """The rows of one value, as a set of their own; they are independent of each other."""
    examples = tuple(replace(row, group="") for row in whole.rows.population if row.group == value)
    ood = replace(whole.rows.ood, name=value, examples=examples, population=len(examples))
    return replace(whole, rows=RunRows(ood, examples))


def best(rankings: Mapping[str, Ranking]) -> str:
    """Whether the best model is the same in all parts, in a sentence.

    It differs where a model is first in one part, another in another, and each is told from the other there.
    """
    firsts = {part: ranking.decision.names[0] for part, ranking in rankings.items()}
    if len(set(firsts.values())) == 1:
        return f"The best model does not differ: {next(iter(firsts.values()))} is first in every part."
    named = ", ".join(f"{model} in {part}" for part, model in firsts.items())
    for one, first in firsts.items():
        for other, second in firsts.items():
            if _told(rankings[one], first, second) and _told(rankings[other], second, first):
                return (
                    f"The best model differs: in {one} {first} is told from {second} as the better one, and in {other} "
                    f"{second} from {first}. First are {named}."
                )
    return f"Whether the best model differs cannot be told: first are {named}, and no two parts tell these apart."


def _told(ranking: Ranking, better: str, worse: str) -> bool:
    """Whether one model may be called better than another."""
    decision = ranking.decision
    if better == worse or better not in decision.names or worse not in decision.names:
        return False
    return decision.better(decision.names.index(better), decision.names.index(worse))
