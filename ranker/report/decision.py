"""Tables of a decision: the order of the models, every two of them, and the labelled rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ranker.numbers import counted, interval, p_value, percent, probability, with_interval
from ranker.report.costs import cost_table
from ranker.report.tables import (
    MANY_MODELS,
    MAX_LETTERS,
    MAX_PAIRED_MODELS,
    READ,
    Place,
    Table,
    cut,
    group_numbers,
    letters,
    table,
)
from ranker.report.words import ACCURACY, MetricWords, words_of
from ranker.results.balance import WORSE, one_label, skewed
from ranker.results.decision import Decision, RowResult
from ranker.results.ranking import Ranking
from ranker.results.table import ScoreTable

MAX_TERMINAL_MODELS = 10
"""Models whose pairs a terminal shows as a matrix, at most."""

PLACES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Numbers of first models for which the probability is shown that the best is among them."""

MAX_RANKED = 8
"""Models in the order of a factor, at most."""

MAX_LISTED_ROWS = 200
"""Labelled rows that are listed, at most; the JSON has all."""

MAX_LABEL_COLUMNS = 50
"""True labels that are columns of a table, at most."""

MAX_TERMINAL_LABELS = 6
"""True labels that are columns of a table on a terminal, at most."""

MAX_GRADED_MODELS = 12
"""Models whose answers that are no labels are listed, at most: the first of the order."""

MAX_ID_CHARACTERS = 24
"""Characters shown of a row's id; ample for a hash."""

RIGHT, WRONG = "✓", "✗"
"""Marks of a right answer, and of a wrong one."""

MAX_UNFOLDED_ROWS = 20
"""Rows of a table that a page shows unfolded, at most."""


def rows(ranking: Ranking) -> Iterator[dict[str, Any]]:
    """Yield a row for each model; two that share a group cannot be told apart."""
    decision, model_parts = ranking.decision, ranking.parts.parts if ranking.parts else ()
    groups_of = group_numbers(decision.groups)
    for model, cost in zip(decision.models, decision.cost_rows, strict=True):
        groups = " ".join(map(str, groups_of[model.name]))
        numbers = {key: getattr(model, key) for key in ("score", "outcome", "low", "high", "p_best", "p_near_best")}
        place = {"rank": model.rank, "name": model.name, "groups": groups, "method": decision.method}
        levels = {
            f"part_{part.name}": next((level.name for level in part.levels if model.name in level.models), None)
            for part in model_parts
        }
        yield place | numbers | levels | cost


def certainty(decision: Decision) -> Iterator[str]:
    """Yield the probability that the first model is good enough; nothing where it is unknown."""
    first = decision.models[0]
    if first.p_near_best is not None:
        yield (
            f"Probability that no other model is better than {first.name} by more than {decision.unit.point}: "
            f"{probability(first.p_near_best)} %."
        )


def tables(ranking: Ranking) -> Iterator[Table]:
    """Yield all tables, each for the formats that show it."""
    decision = ranking.decision
    many, same = len(decision.models) > MANY_MODELS, comparison_table(decision)
    two = pair_table(decision, decision.names[:MANY_MODELS])
    in_order = order(decision, words_of(ranking))
    counts = label_counts(ranking, decision)
    yield replace(first_models(in_order) if many else in_order, formats=tuple(name for name in READ if name != "html"))
    yield replace(in_order.select_columns(_page_columns(decision)), formats=("html",))
    if decision.costs:
        yield cost_table(decision, decision.costs, words_of(ranking))
    if decision.judges:
        yield judges(decision)
    if skewed(counts) and len(counts) <= MAX_LABEL_COLUMNS:
        yield by_label(decision, judged_rows(ranking, decision), balanced=True)
    if decision.labels:
        yield by_label_of_sets(decision)
    if ranking.table.factors and decision.models[0].scores:
        yield by_factor(decision, ranking.table)
    if many:
        yield places(decision)
    yield matrix(decision)
    yield replace(two, formats=("pairs",), help=_first_models(decision, MANY_MODELS).strip())
    if decision.versus:
        yield same
        yield replace(same, formats=("pairs",), help="Every two models on the same rows")
        if len(decision.models) == 2:
            yield flips(ranking)
    if any(row.predicted for row in decision.rows):
        if counts and not skewed(counts) and len(counts) <= MAX_LABEL_COLUMNS:
            yield by_label(decision, judged_rows(ranking, decision))
        if not counts:
            yield graded_rows(ranking)
        elif len(decision.rows) <= MAX_LISTED_ROWS:
            yield one_by_one(decision)
    first_pairs = pair_table(decision, decision.names[:MAX_PAIRED_MODELS])
    yield replace(first_pairs, help=f"{first_pairs.help}{_first_models(decision)}")


def judges(decision: Decision) -> Table:
    """Tabulate what each judge's marks are worth, and the models that it surely flatters or belittles."""
    rows, write = [], decision.unit.difference
    for judge in decision.judges:
        sure = [bias for bias in judge.biases if bias.low > 0 or bias.high < 0]
        sides = ([bias for bias in sure if bias.value > 0], [bias for bias in sure if bias.value < 0])
        texts = (
            "; ".join(f"{bias.model} {write(bias.value)} ({interval(bias.low, bias.high, write)})" for bias in side)
            for side in sides
        )
        agreement = "" if judge.agreement is None else f"{judge.agreement:.2f}"
        worth = "" if judge.worth is None else f"{judge.worth:.0f}"
        rows.append((judge.name, *texts, f"{judge.rows:,}", percent(judge.share), agreement, worth))
    return table(
        *("Judges", ["judge", "flatters", "belittles"], ["rows", "weight", "agrees", "worth"], rows),
        help="By people's marks. agrees: correlation with them within rows. worth: how many more rows marked by people "
        "would tell as much. flatters, belittles: models that the judge surely marks higher or lower than people do, "
        f"{'on' if decision.scale else 'in points of'} people's scale, with 95 % intervals. weight: percent of the "
        "judges' weight before people speak.",
        formats=READ,
    )


def first_caveat(ranking: Ranking, decision: Decision) -> str:
    """Return what comes before the answer: models are worse than guessing, or nearly all labels are one."""
    caveat = one_label(label_counts(ranking, decision))
    worse = "".join(f"{note} " for note in ranking.header.notes if WORSE in note)
    return f"{worse}{caveat[:1].upper()}{caveat[1:]}. " if caveat else worse


def label_counts(ranking: Ranking, decision: Decision) -> Counter[str]:
    """Count the rows of each true label; none where answers are no labels."""
    labelled = any(row.predicted for row in decision.rows) and answers_are_labels(ranking)
    return Counter(row.label for row in judged_rows(ranking, decision) if labelled)


def judged_rows(ranking: Ranking, decision: Decision) -> list[RowResult]:
    """Return the labelled rows that all models were judged on, which models are compared on."""
    not_judged = {*ranking.table.examples} - {*ranking.table.judged}
    return [row for row in decision.rows if row.id not in not_judged]


def answers_are_labels(ranking: Ranking) -> bool:
    """Return True for accuracies, and if each outcome is 1 where the answer is the true label, and 0 elsewhere."""
    outcomes = outcomes_by_row(ranking)
    return ranking.table.metric == "ACC" or all(
        outcome != outcome or outcome == (row.predicted[model] == row.label)  # nan is not judged
        for row in ranking.decision.rows
        for model, outcome in outcomes.get(row.id, {}).items()
        if model in row.predicted
    )


def outcomes_by_row(ranking: Ranking) -> Mapping[str, Mapping[str, float]]:
    """Return row -> model -> outcome."""
    scores = ranking.table
    of_rows = [dict(zip(scores.models, column, strict=True)) for column in scores.outcomes.T.tolist()]
    return dict(zip(scores.examples, of_rows, strict=True))


def order(decision: Decision, terms: MetricWords) -> Table:
    """Tabulate the models in the predicted order; models that share a letter cannot be told apart."""
    many, value = len(decision.groups) > MAX_LETTERS, terms.unit.value
    tied = _tied_ranks(decision) if many else letters(decision.groups)
    rows = [
        (
            *(str(model.rank), model.name, tied[model.name], "" if model.score is None else f"{model.score:.3g}"),
            *(value(model.outcome), with_interval(model.expected, model.low, model.high, value)),
            probability(model.p_near_best),
        )
        for model in decision.models
    ]
    numbers = [decision.method, terms.column, "in the domain (95 %)", "P(near best)"]
    meaning = terms.over if decision.metric else "right: percent of the rows"
    mean = terms.what if decision.metric else ACCURACY.what
    of_tied = (
        "tied: from the first to the last rank of the models that cannot be told from this one"
        if many
        else "Models that share a letter cannot be told apart"
    )
    return table(
        *("Order", ["rank", "model", "tied"], numbers, rows),
        help=f"{of_tied}. {meaning}. In the domain: the {mean} that is expected "
        "there, and its 95 % interval. "
        f"P(near best) is the probability that no other model is better there by more than {terms.unit.point}.",
    )


def first_models(by_rank: Table) -> Table:
    """Return the first rows of the order of many models, for formats that list no more."""
    caption = f"Order: the first {MANY_MODELS} of {len(by_rank.rows):,} models (csv, parquet, json, html: all)"
    return replace(by_rank, caption=caption, rows=by_rank.rows[:MANY_MODELS])


def _tied_ranks(decision: Decision) -> Mapping[str, str]:
    """Return model -> the first and the last rank among the models that cannot be told from it; "" for none."""
    rank = {model.name: model.rank for model in decision.models}
    spans = {name: (ranking, ranking) for name, ranking in rank.items()}
    for group in decision.groups:
        first, last = min(rank[name] for name in group), max(rank[name] for name in group)
        for name in group:
            spans[name] = min(first, spans[name][0]), max(last, spans[name][1])
    return {name: f"{first:,}-{last:,}" if first < last else "" for name, (first, last) in spans.items()}


def places(decision: Decision) -> Table:
    """Tabulate the probability that the best model is among the first ones of the order."""
    among = list(accumulate(model.p_best for model in decision.models))
    counts = [count for count in PLACES if count < len(among)]
    return table(
        *("Where is the best model?", [], ["among the first", "probability"]),
        [(f"{count:,}", probability(min(among[count - 1], 1.0))) for count in counts],
        help="The probability, in percent, that the best model in the domain is among so many first ones of the order.",
    )


def _page_columns(decision: Decision) -> Sequence[int]:
    """Return the columns of a page's first table: what is to be read first stands first."""
    rank, model, tied, score, outcome, ends, near = range(7)
    repeated = all(model.score == model.outcome for model in decision.models)
    return [rank, model, near, outcome, ends, *([] if repeated else [score]), tied]


def by_label_of_sets(decision: Decision) -> Table:
    """Tabulate the F1 of each label of a set on the labelled rows, the most frequent labels first."""
    labels = decision.labels[:MAX_LABEL_COLUMNS]
    rows = [(model.name, *(percent(label.f1[model.name]) for label in labels)) for model in decision.models]
    hidden = len(decision.labels) - len(labels)
    rare = f" {counted(hidden, 'rarer label')} not shown." if hidden else ""
    formats = ("markdown", "html", "pairs")
    return table(
        *("F1 by label", ["model"], [f"{label.label}, {counted(label.rows, 'row')}" for label in labels], rows),
        help=f"F1 of each label on the labelled rows, in percent, and the number of rows with it.{rare}",
        formats=("table", *formats) if len(labels) <= MAX_TERMINAL_LABELS else formats,
    )


def by_factor(decision: Decision, scores: ScoreTable) -> Table:
    """Tabulate the order of the models by each factor, and by the metric with ties broken by it."""
    rows, metric = [], scores.metric
    for factor in scores.factors:
        sign = 1.0 if factor.higher_is_better else -1.0
        means = {model.name: sign * (model.scores[factor.name] or 0.0) for model in decision.models}
        outcomes = {model.name: model.scores[metric] or 0.0 for model in decision.models}
        with_ties = ranked({name: (round(outcomes[name], 9), round(mean, 9)) for name, mean in means.items()})
        alone = ranked({name: (round(mean, 9),) for name, mean in means.items()})
        rows.append((factor.name, "higher" if factor.higher_is_better else "lower", alone, with_ties))
    return table(
        *("Order by each factor", ["factor", "better", "order", f"{metric}, ties by the factor"], [], rows),
        help=f"The order of the models by each factor alone, and by {metric} with ties broken by it. How well a factor "
        "ranks in this domain is unknown; few labels cannot tell.",
    )


def ranked(scores: Mapping[str, tuple[float, ...]]) -> str:
    """Return names from the highest score to the lowest, the first `MAX_RANKED` of them.

    Example:
        >>> ranked({"a": (0.5, 1.0), "b": (0.7, 0.0), "c": (0.5, 1.0)})
        'b, a = c'
    """
    names = sorted(scores, key=lambda name: scores[name], reverse=True)
    text = names[0]
    for before, name in pairwise(names[:MAX_RANKED]):
        text += f"{' = ' if scores[before] == scores[name] else ', '}{name}"
    return text if len(names) <= MAX_RANKED else f"{text} ... ({len(names) - MAX_RANKED:,} more)"


def matrix(decision: Decision) -> Table:
    """Tabulate P(the model of the row is more accurate than that of the column)."""
    names = decision.names[:MAX_PAIRED_MODELS]
    rows = [
        [f"{i + 1} {name}", *("" if i == j else probability(decision.p_beats[i][j]) for j in range(len(names)))]
        for i, name in enumerate(names)
    ]
    numbers = [str(i + 1) for i in range(len(names))]
    better = f"better by {decision.metric}" if decision.metric else "more accurate"
    return table(
        *("How sure is the order of two models?", ["P(row > column)"], numbers, rows),
        help=f"Percent probability that the model of the row is {better} in the domain than that of the column; "
        f"50 is undecided.{_first_models(decision)}",
        formats=READ if len(rows) <= MAX_TERMINAL_MODELS else tuple(name for name in READ if name != "table"),
        heat=1,
    )


def comparison_table(decision: Decision) -> Table:
    """Tabulate every two models on the labelled rows: difference, certainty, and rows on which each did better."""
    difference = decision.unit.difference
    rows = [
        (pair.a, pair.b, difference(pair.difference), interval(pair.low, pair.high, difference), f"{pair.better:,}",
         f"{pair.worse:,}", p_value(pair.p), p_value(pair.p_corrected))
        for pair in decision.versus
    ]  # fmt: skip
    subject = (
        f"{decision.metric} on the same rows"
        if decision.metric
        else f"mean outcomes on the same rows{'' if decision.scale else ', in points'}"
    )
    numbers = ["difference", "95 % interval", "first better", "second better", "p", "p, Holm"]
    return table(
        *("On the same rows", ["first", "second"], numbers, rows),
        help=f"The difference of {subject}, and its interval; the number of rows on which each did better; p of a test "
        "that both are equally good, alone and corrected for the number of pairs.",
        formats=("html",),
        place=_place(rows),
    )


def _place(rows: Sequence[object]) -> Place:
    return "folded" if len(rows) > MAX_UNFOLDED_ROWS else "main"


def _first_models(decision: Decision, most: int = MAX_PAIRED_MODELS) -> str:
    """Return a sentence on how many models a table has, if not all."""
    count = len(decision.models)
    return f" The first {most} of {count:,} models." if count > most else ""


def pair_table(decision: Decision, names: Sequence[str]) -> Table:
    """Tabulate the certainty of the order of two models, of the first ones, the better ranked one first."""
    rows = []
    for i, a in enumerate(names):
        for j, b in enumerate(names[i + 1 :], i + 1):
            rows.append((a, b, probability(decision.p_beats[i][j])))
    return table(
        *("Two by two", ["better", "worse"], ["P(better > worse)"], rows),
        formats=("html",),
        place="folded",
    )


def one_by_one(decision: Decision) -> Table:
    """Tabulate each row's true label and the models that predict another, in their order."""
    names, listed = decision.names, []
    for row in decision.rows:
        wrong = [f"{name} ({row.predicted[name]})" for name in names if row.predicted[name] != row.label]
        others_text = f" and {len(wrong) - MAX_PAIRED_MODELS:,} more" if len(wrong) > MAX_PAIRED_MODELS else ""
        listed.append((row.id, row.label, ", ".join(wrong[:MAX_PAIRED_MODELS]) + others_text))
    return table(
        *("Labelled rows", ["row", "true label", "wrong"], [], listed),
        help="wrong: the models with a wrong prediction, and their predictions; empty: all are right.",
        formats=("markdown", "html", "pairs"),
        place=_place(listed),
    )


def graded_rows(ranking: Ranking) -> Table:
    """Tabulate rows with their texts and references, and each model's answer with its outcome, in the models' order.

    Rows on which the listed models differ most come first.
    """
    decision, outcomes = ranking.decision, outcomes_by_row(ranking)
    names = decision.names[:MAX_GRADED_MODELS]

    def spread(row: RowResult) -> float:
        judged = [outcomes[row.id][name] for name in names if outcomes[row.id][name] == outcomes[row.id][name]]
        return max(judged) - min(judged) if judged else 0.0

    listed = sorted(decision.rows, key=lambda row: -spread(row))[:MAX_LISTED_ROWS]
    is_right = are_right_or_wrong(outcomes[row.id][name] for row in listed for name in names)
    rows = [
        (
            *(row.id, cut(row.text), cut(row.label)),
            *(judged_answer(cut(row.predicted[name]), outcomes[row.id][name], is_right) for name in names),
        )
        for row in listed
    ]
    first_rows = (
        f" The first {MAX_LISTED_ROWS} of {len(decision.rows):,} rows." if len(rows) < len(decision.rows) else ""
    )
    return table(
        *("Labelled rows", ["row", "text", "reference", *names], [], rows),
        help=f"Each model's answer{'' if is_right else ' and, in brackets, its outcome'}. "
        "Rows on which outcomes differ most come first."
        f"{first_rows}{_first_models(decision, MAX_GRADED_MODELS)}",
        formats=("markdown", "html", "pairs"),
        place=_place(rows),
    ).without_empty("text")


def are_right_or_wrong(outcomes: Iterable[float]) -> bool:
    """Tell whether outcomes are 1 for a right answer and 0 for a wrong one, all that are known."""
    return {*outcomes} <= {0.0, 1.0}


def judged_answer(answer: str, outcome: float, is_right: bool) -> str:
    """Return an answer with its outcome: a mark if that is right or wrong, else a number.

    Example:
        >>> judged_answer("positive", 1.0, True), judged_answer("", 0.0, True), judged_answer("A dog.", 0.5, False)
        ('✓ positive', '✗', 'A dog. (0.5)')
    """
    if is_right:
        return f"{RIGHT if outcome else WRONG} {answer}".strip()
    return f"{answer} ({outcome:.3g})" if answer else f"{outcome:.3g}"


@dataclass(frozen=True)
class Flip:
    """Row on which two models differ.

    Attributes:
        id, text, label: of the row; "" where unknown.
        worse: whether the second model does worse.
        answers: of both models, with their outcomes.
    """

    id: str
    text: str
    label: str
    worse: bool
    answers: tuple[str, str]


def flip_places(scores: ScoreTable, first: str, second: str) -> tuple[list[int], list[int]]:
    """Return the rows on which the second model does worse than the first, and better, in the order of the table."""
    lead = scores.outcomes[scores.models.index(second)] - scores.outcomes[scores.models.index(first)]
    return np.flatnonzero(lead < 0).tolist(), np.flatnonzero(lead > 0).tolist()  # nan is neither


def flips_at(ranking: Ranking, first: str, second: str, rows: Sequence[int]) -> list[Flip]:
    """Return rows on which two models differ, with their text, label and answers as far as these are known."""
    scores, labelled_rows = ranking.table, {row.id: row for row in ranking.decision.rows}
    models = [scores.models.index(name) for name in (first, second)]
    outcomes = scores.outcomes[models][:, rows].T.tolist()
    is_right = are_right_or_wrong(outcome for pair in outcomes for outcome in pair)
    flipped = []
    for place, (of_first, of_second) in zip(rows, outcomes, strict=True):
        row = labelled_rows.get(scores.examples[place], RowResult(scores.examples[place], "", {}))
        answers = (
            judged_answer(row.predicted.get(first, ""), of_first, is_right),
            judged_answer(row.predicted.get(second, ""), of_second, is_right),
        )
        short_id = cut(row.id, MAX_ID_CHARACTERS)
        flipped.append(Flip(short_id, row.text, row.label if row.predicted else "", of_second < of_first, answers))
    return flipped


def flips(ranking: Ranking) -> Table:
    """Tabulate the rows on which two models differ, first those on which the second one does worse.

    Each row has its text, the true label, and each model's label and outcome, as far as they are known.
    """
    first, second = ranking.table.models[:2]
    worse, better = flip_places(ranking.table, first, second)
    listed = flips_at(ranking, first, second, [*worse, *better][:MAX_LISTED_ROWS])
    rows = [(flip.id, flip.text, "worse" if flip.worse else "better", *flip.answers, flip.label) for flip in listed]
    return table(
        *("Rows on which the two differ", ["row", "text", f"{second} does", first, second, "true label"], [], rows),
        help="Rows on which the second model does worse come first.",
        formats=("html",),
    ).without_empty("text", "true label")


def by_label(decision: Decision, judged: Sequence[RowResult], balanced: bool = False) -> Table:
    """Tabulate on how many of the rows of each true label that all models were judged on a model is right."""
    true_labels = Counter(row.label for row in judged)
    counts = []
    for model in decision.models:
        right = Counter(row.label for row in judged if row.predicted[model.name] == row.label)
        recalls = [right[label] / count for label, count in true_labels.items()]
        mean = (percent(sum(recalls) / len(recalls)),) if balanced else ()
        counts.append((model.name, *(str(right[label]) for label in true_labels), *mean))
    numbers = [f"{label}, {counted(count, 'row')}" for label, count in true_labels.items()]
    formats = ("markdown", "html", "pairs")
    meaning = " Balanced accuracy: the mean, over labels, of the percentage of its rows." if balanced else ""
    return table(
        *("Right, by true label", ["model"], [*numbers, *(["balanced accuracy"] if balanced else [])], counts),
        help=f"Number of rows of each true label on which a model is right.{meaning}",
        formats=("table", *formats) if balanced and len(true_labels) <= MAX_TERMINAL_LABELS else formats,
        place="main" if balanced else _place(counts),
    )
