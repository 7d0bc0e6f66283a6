"""Rank models by votes between their answers, and judges' verdicts beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from factors.types import Floats
from ranker.datasets.votes import Votes, of_raters, read_votes
from ranker.errors import UsageError, listed
from ranker.limits import LIMITS, Limits
from ranker.numbers import counted
from ranker.results.votes import Effect, PairRate, VotedModel, VoteRanking, VotingJudge
from ranker.runs.asked_judges import Answering, JudgeMarks, ask, ask_verdicts, compares
from ranker.runs.inspected import InspectedModels
from ranker.runs.judges import Judges, judged_run, marks_of, needed
from ranker.runs.rows import UnlabelledRows
from ranker.runs.signatures import checked
from ranker.runtime.runtime import Runtime
from ranker.sources.tables.raters import alpha
from ranker.statistics import preferences as statistics
from ranker.statistics.preferences import Preferences, Unit, unit_of

VoteFile = str | Path | Sequence[Mapping[str, object]]
"""Votes as a user names them: a file, or rows in memory."""

LEAST_ALIKE = 3
"""Least models whose answers are compared: of two each is as like the other."""

TINY = 1e-12
"""Least difference between marks that is divided by."""


@checked
def rank_votes(
    votes: VoteFile,
    *,
    judges: Judges | Collection[str] | Mapping[str, str | Path] = (),
    models: InspectedModels | None = None,
    pool: UnlabelledRows = (),
    length_controlled: bool = False,
    seed: int = 0,
    limits: Limits = LIMITS,
    runtime: Runtime = Runtime(),
) -> VoteRanking:
    """Rank models by votes: see `ranker.statistics.preferences`.

    Args:
        votes: a file of one's own, of MT-bench or the arena, or AlpacaEval's annotations, or rows in memory: see
            `ranker.datasets.votes`.
        judges: names of raters in it that are judges, not people; or name -> a rater's name, a file with a judge's
            votes or marks of answers to the same rows, or a language model that marks the models' answers to `pool`.
        models: the models that answer, for judges that are asked, for the lengths of answers, and for how alike these
            are.
        pool: rows with the ids of the votes, for these.
        length_controlled: whether the effect of longer answers is taken out; their texts are in the file, or those of
            `models`.
        seed: of the draws.
        limits: of reading.
        runtime: how models and judges are asked.

    Raises:
        DataError: the votes cannot be read, with the line.
        UsageError: no two models are connected by votes, or a judge says nothing of them.
        ModelError: a model, or a judge, cannot be asked.

    Example:
        >>> rows = [{"id": n, "model_a": "x", "model_b": "y", "winner": "x" if n else "tie"} for n in range(9)]
        >>> found = rank_votes(rows)
        >>> found.names, found.ties > 0.1, found.models[0].win_rate > 0.7
        (('x', 'y'), True, True)
    """
    everyone = read_votes(Path(votes) if isinstance(votes, str) else votes, limits)
    if not isinstance(judges, Judges):
        judges = Judges(dict(judges) if isinstance(judges, Mapping) else {name: name for name in judges})
    inside = {name: str(place) for name, place in judges.references.items() if str(place) in everyone.raters}
    people = of_raters(everyone, lambda rater: rater not in inside.values()) if inside else everyone
    verdicts = {
        name: _verdicts_of(of_raters(everyone, lambda rater, judge=judge: rater == judge))  # type: ignore[misc]
        for name, judge in inside.items()
    }
    references = {name: place for name, place in judges.references.items() if name not in inside}
    answering = judged_run(models, None, pool, Judges(), runtime).answering if models and pool else None
    try:
        beside = verdicts_beside(replace(judges, references=references), everyone, answering, limits, runtime)
    except UsageError as error:
        text = f"{error}; those who voted in {everyone.origin} are {listed(filter(None, everyone.raters))}"
        raise UsageError(text, option=error.option, value=error.value) from error
    verdicts |= {name: of_judge for name, (of_judge, _) in beside.items()}
    failed = {name: count for name, (_, count) in beside.items() if count}
    failed |= {} if answering is None else answering.failed(runtime)
    arrays = people.row, people.first, people.second, people.value
    length = _relative_lengths(people, answering, runtime) if length_controlled else None
    alike, notes = likeness_beside(people, answering, {people.rows[row] for row in people.row.tolist()}, runtime)
    by_raters = _by_raters(people)
    weights = statistics.reliability(by_raters)
    units = Preferences.joined(len(people.models), *arrays, [*verdicts.values()], length, alike, weights[people.rater])
    agreement = alpha(by_raters)
    ranking = _ranked(replace(people, notes=(*people.notes, *notes)), units, tuple(verdicts), seed)
    ranking = replace(ranking, failed_answers=failed)
    if np.isnan(agreement):
        return ranking
    voted = {people.raters[rater] for rater in people.rater.tolist()}
    by_name = zip(people.raters, weights.tolist(), strict=True)
    return replace(ranking, alpha=agreement, reliability={name: weight for name, weight in by_name if name in voted})


def likeness_beside(
    people: Votes, answering: Answering | None, voted: Collection[str], runtime: Runtime
) -> tuple[dict[Unit, float] | None, tuple[str, ...]]:
    """Return how much more like others the first answer of two is, and notes; None if answers cannot be compared.

    Rows that people voted on are compared in any case; a UsageError if the models answered none of the rows.
    """
    if answering is None or len({model.name for model in answering.models.models} & {*people.models}) < LEAST_ALIKE:
        return None, ()
    if not {row.id for row in answering.rows} & {*people.rows}:
        raise UsageError.about("pool", "has no row of the votes: their ids must be the same")
    try:
        likeness = answering.likeness(voted, runtime)
    except UsageError as error:  # a package is missing
        return None, (f"How alike answers are is not read: {error}.",)
    note = f"Answers to {len(likeness.rows):,} rows are compared with each other."
    return _verdicts_by("likeness", likeness, people), (note,)


def _relative_lengths(people: Votes, answering: Answering | None, runtime: Runtime) -> Floats:
    """Return (V,) how much longer the first answer of each vote is, from -1 to 1; 0 where that is unknown."""
    longer = people.longer
    if answering is not None and np.isnan(longer).all():
        lengths = np.full((len(people.models), len(people.rows)), np.nan)
        row_of = {row: place for place, row in enumerate(people.rows)}
        of_models = answering.answers(runtime)
        for place, texts in (
            (people.models.index(name), of_models[name].answers() or ()) for name in {*of_models} & {*people.models}
        ):
            for row, text in zip(answering.rows, texts, strict=True):
                if row.id in row_of and text is not None:
                    lengths[place, row_of[row.id]] = len(text)
        longer = lengths[people.first, people.row] - lengths[people.second, people.row]
    spread = np.nanstd(longer) if not np.isnan(longer).all() else np.nan
    if not spread > 0:
        text = "needs answers of different lengths: columns answer_a and answer_b of the votes, or `models` and `pool`"
        raise UsageError.about("length_controlled", text)
    return np.nan_to_num(np.tanh(longer / spread))


def verdicts_beside(
    judges: Judges,
    people: Votes,
    answering: Answering | None,
    limits: Limits = LIMITS,
    runtime: Runtime = Runtime(),
) -> dict[str, tuple[dict[Unit, float], int]]:
    """Return what judges say of every two models on each row, read or asked for, and how many answers failed.

    The numbers of units are those of `people`, the rows and models that are compared.
    """
    to_ask = judges.asked if judges.references else {}
    verdicts: dict[str, tuple[dict[Unit, float], int]] = {}
    for name, judge in to_ask.items():
        verdicts |= _asked(judge, needed(name, answering), people, runtime)
    for name, place in judges.references.items():
        if name not in to_ask:
            verdicts[name] = _verdicts_in(name, place, people, limits), 0
    return verdicts


def _verdicts_of(votes: Votes) -> dict[Unit, float]:
    """Return a judge's mean verdict on each unit, from -1 to 1."""
    of_units: dict[Unit, list[float]] = {}
    for row, a, b, value in zip(*_lists(votes.row, votes.first, votes.second, votes.value), strict=True):
        unit, for_first = unit_of(row, a, b, value)
        of_units.setdefault(unit, []).append(2 * for_first - 1)
    return {unit: float(np.mean(values)) for unit, values in of_units.items()}


def _verdicts_in(name: str, reference: str | Path, people: Votes, limits: Limits) -> dict[Unit, float]:
    """Return the verdicts in a judge's file: of votes, else of marks."""
    try:
        judged = read_votes(Path(reference), limits)
    except UsageError:  # of which a file without votes is one
        return _verdicts_by(name, marks_of(name, reference, limits), people)
    by_name = (
        ((judged.rows[row], judged.models[a], judged.models[b]), verdict)
        for (row, a, b), verdict in _verdicts_of(judged).items()
    )
    return _units(name, by_name, people)


def _units(name: str, verdicts: Iterable[tuple[tuple[str, str, str], float]], people: Votes) -> dict[Unit, float]:
    """Return a judge's verdicts, by the id of a row and two models, as units of people's votes; refuse none."""
    models = {model: place for place, model in enumerate(people.models)}
    rows = {row: place for place, row in enumerate(people.rows)}
    units = {}
    for (row, a, b), verdict in verdicts:
        if row in rows and {a, b} <= {*models}:
            unit, for_first = unit_of(rows[row], models[a], models[b], (verdict + 1) / 2)
            units[unit] = 2 * for_first - 1
    return _some(name, units, people)


def _verdicts_by(name: str, marks: JudgeMarks, people: Votes) -> dict[Unit, float]:
    """Return the differences of a judge's marks as verdicts, in units of their spread."""
    models = {model: place for place, model in enumerate(people.models)}
    rows = {row: place for place, row in enumerate(people.rows)}
    shared = {models[model]: of_model for model, of_model in marks.values.items() if model in models}
    of_rows = [(rows[row], n) for n, row in enumerate(marks.rows) if row in rows]
    return _some(name, _differences(shared, of_rows), people)


def _asked(
    judge: InspectedModels, answering: Answering, people: Votes, runtime: Runtime
) -> dict[str, tuple[dict[Unit, float], int]]:
    """Ask a judge for its verdicts, or for marks, by each of its prompts; with how many of its answers failed."""
    if not all(map(compares, judge.unpinned)):
        marks = ask(judge, answering, runtime)
        return {name: (_verdicts_by(name, of_judge, people), of_judge.failed) for name, of_judge in marks.items()}
    by_prompt = ask_verdicts(judge, answering, runtime)
    return {name: (_units(name, of_pairs.items(), people), failed) for name, (of_pairs, failed) in by_prompt.items()}


def _some(name: str, verdicts: dict[Unit, float], people: Votes) -> dict[Unit, float]:
    """Return verdicts; refuse none."""
    if not verdicts:
        raise UsageError.about("judges", f"{name} says nothing of these rows and models: {listed(people.models)}", name)
    return verdicts


def _differences(marks: Mapping[int, Floats], of_rows: Sequence[tuple[int, int]]) -> dict[Unit, float]:
    """Return the difference of two models' marks on each row, by their root mean square."""
    differences = {
        (row, a, b): float(marks[a][n] - marks[b][n])
        for row, n in of_rows
        for a in marks
        for b in marks
        if a < b and not np.isnan(marks[a][n] - marks[b][n])
    }
    size = max(float(np.sqrt(np.mean([value**2 for value in differences.values()]))), TINY) if differences else 1.0
    return {unit: value / size for unit, value in differences.items()}


def _ranked(people: Votes, preferences: Preferences, names: Sequence[str], seed: int) -> VoteRanking:
    """Rank the models that votes connect."""
    ranked, *apart = statistics.parts(preferences)
    if len(ranked) < 2:
        raise UsageError("`votes`: no two models were compared", option="votes")
    part = preferences.among(ranked)
    rates = statistics.win_rates(part, np.random.default_rng(seed))
    belief, order = rates.belief, rates.belief.order
    shortfall = belief.shortfall()
    models = [people.models[place] for place in ranked]
    counts, won = _won(part)
    best, near, (low, high), beats = belief.best(), belief.near(), belief.interval(), belief.beats()
    reason = f"no vote connects it to {models[int(order[0])]}"
    left_out = {people.models[model]: reason for members in apart for model in members}
    in_part = {people.models[place] for place in ranked}
    is_ranked = np.array([people.models[first] in in_part for first in people.first.tolist()], dtype=bool)
    voted = part.voted
    return VoteRanking(
        models=tuple(
            VotedModel(
                models[m],
                1 + place,
                int(counts[m]),
                None if not counts[m] else float(won[m] / counts[m]),
                float(belief.expected[m]),
                float(low[m]),
                float(high[m]),
                float(best[m]),
                float(near[m]),
                float(shortfall[m]),
            )
            for place, m in enumerate(order.tolist())
        ),  # fmt: skip
        pairs=tuple(_pairs(part, people, ranked, rates, order.tolist(), models)),
        p_beats=tuple(map(tuple, beats[np.ix_(order, order)].tolist())),
        votes=int(is_ranked.sum()),
        rows=len({*people.row[is_ranked].tolist()}),
        raters=len({*people.rater[is_ranked].tolist()}),
        ties=float((people.value[is_ranked] == 0.5).mean()) if is_ranked.any() else None,
        side=_effect(rates.side),
        length=_effect(rates.length),
        judges=tuple(_judge(part, judge, name, seed) for judge, name in enumerate(names)),
        left_out=left_out,
        notes=tuple(_notes(people, part, voted, left_out)),
        seed=seed,
    )


def _effect(chance: Floats) -> Effect | None:
    return None if np.isnan(chance).any() else Effect(*chance.tolist())


def _won(part: Preferences) -> tuple[Floats, Floats]:
    """Return (M,) votes on each model's answers, and (M,) votes for them."""
    counts, won = np.zeros(part.models), np.zeros(part.models)
    voted = part.voted
    for models, value in ((part.first[voted], part.value[voted]), (part.second[voted], 1 - part.value[voted])):
        np.add.at(counts, models, part.votes[voted])
        np.add.at(won, models, value * part.votes[voted])
    return counts, won


def _pairs(
    part: Preferences,
    people: Votes,
    ranked: Sequence[int],
    rates: statistics.WinRates,
    order: Sequence[int],
    names: Sequence[str],
) -> list[PairRate]:
    """Return every two models, in order."""
    beats, among = rates.belief.beats(), {model: place for place, model in enumerate(ranked)}
    votes, ties = np.zeros((2, len(ranked), len(ranked)), dtype=np.int64)
    for a, b, value in zip(*_lists(people.first, people.second, people.value), strict=True):
        if a in among and b in among:
            pair = tuple(sorted((among[a], among[b])))
            votes[pair] += 1
            ties[pair] += value == 0.5
    return [
        PairRate(
            names[a], names[b], int(votes[min(a, b), max(a, b)]), int(ties[min(a, b), max(a, b)]),
            float(rates.pairs[a, b]), float(rates.low[a, b]), float(rates.high[a, b]), float(beats[a, b]),
        )
        for place, a in enumerate(order)
        for b in order[place + 1 :]
    ]  # fmt: skip


def _judge(part: Preferences, judge: int, name: str, seed: int) -> VotingJudge:
    """Return what people's votes say of one judge."""
    verdicts = part.verdicts[judge]
    is_shared = ~np.isnan(verdicts) & (part.votes > 0)
    clear = is_shared & (np.nan_to_num(verdicts) != 0) & (part.value != 0.5)
    agree = ((verdicts[clear] > 0) == (part.value[clear] > 0.5)).mean() if clear.any() else None
    worth = statistics.worth(part, judge) if len(part.voted) else None
    return VotingJudge(name, int((~np.isnan(verdicts)).sum()), None if agree is None else float(agree), worth)


def _by_raters(votes: Votes) -> Floats:
    """Return (R, U) votes of each rater on each unit, nan where there is none; the last of several counts."""
    units: dict[Unit, int] = {}
    values: list[tuple[int, int, float]] = []
    arrays = _lists(votes.row, votes.first, votes.second, votes.rater, votes.value)
    for row, a, b, rater, value in zip(*arrays, strict=True):
        unit, for_first = unit_of(row, a, b, value)
        values.append((rater, units.setdefault(unit, len(units)), for_first))
    table = np.full((len(votes.raters), len(units)), np.nan)
    for rater, place, for_first in values:
        table[rater, place] = for_first
    return table


def _notes(people: Votes, part: Preferences, voted: Any, left_out: Mapping[str, str]) -> list[str]:
    """Return how votes were read and counted, a sentence each."""
    notes = [*people.notes]
    several = int((np.bincount(part.together, part.votes) > 1).sum())
    if several:
        weight = float(part.weights[voted].sum())
        notes.append(
            f"{counted(several, 'row and pair has', 'rows and pairs have')} several votes, which count as fewer rows: "
            f"{int(part.votes.sum()):,} votes as {weight:,.0f}."
        )
    if not part.sides_vary:
        notes.append("No two models were seen in both orders, so the effect of the side is unknown.")
    if left_out:
        notes.append(f"Not ranked, since no vote connects them to the others: {listed(left_out)}.")
    return notes


def _lists(*arrays: Any) -> list[list[Any]]:
    return [array.tolist() for array in arrays]
