"""Report of models by votes: the answer, win rates, and what judges' verdicts are worth."""

from __future__ import annotations

from collections.abc import Iterator

from ranker.numbers import SHARES, counted, interval, percent, probability
from ranker.report.document import Document
from ranker.report.next_step import to_take
from ranker.report.tables import Table, letters, table
from ranker.report.words import failed_answers
from ranker.results.votes import VoteRanking

MAX_MODELS = 10
"""Models whose win rates a table shows as a matrix, at most."""


def document(ranking: VoteRanking) -> Document:
    """Build the document of the ranking."""
    return Document(
        title=ranking.title,
        tables=list(tables(ranking)),
        remarks=list(remarks(ranking)),
        rows=ranking.to_rows(),
        content=ranking.to_dict,
        lead=ranking.choice.text,
        answer=[*failed_answers(ranking.failed_answers), *answer(ranking)],
    )


def answer(ranking: VoteRanking) -> list[str]:
    """Answer how often the first is preferred, how sure its place is, and what agreement, ties and the side say."""
    first = ranking.models[0]
    ends = interval(first.low, first.high)
    lines = [
        f"{first.name} is preferred to another model in {percent(first.win_rate)} % of rows (95 % interval {ends}), a "
        f"tie as one half. The probability that no other model is preferred more often by over a point is "
        f"{probability(first.p_near_best)} %."
    ]
    facts = []
    if ranking.ties is not None:
        facts.append(f"{percent(ranking.ties)} % of {counted(ranking.votes, 'vote')} are ties.")
    if ranking.alpha is not None:
        facts.append(f"Krippendorff's alpha of {counted(ranking.raters, 'rater')} is {ranking.alpha:.2f}.")
    if ranking.side is not None:
        side = ranking.side
        facts.append(
            f"Of two equal answers the one that stands first is preferred in {percent(side.chance)} % "
            f"({percent(side.low)} to {percent(side.high)})."
        )
    if ranking.length is not None:
        length = ranking.length
        facts.append(
            f"One that is longer by a standard deviation is preferred in {percent(length.chance)} % "
            f"({percent(length.low)} to {percent(length.high)}), which win rates leave out."
        )
    return [*lines, *([" ".join(facts)] if facts else []), f"Next: {_next_step(ranking)}"]


def _next_step(ranking: VoteRanking) -> str:
    """Advise what the choice says, or what would help most where there is none yet: docs/results/votes.md."""
    if ranking.choice.verb != "none":
        return to_take(ranking.choice, {model.name: model.shortfall for model in ranking.models}, SHARES)
    if not ranking.confirmed:
        return "vote on ten rows yourself (`rank-models label --votes` asks): judges alone may be wrong."
    alone = "On one set of five models ten votes put 68 % of the pairs of models in their true order, fifty 81 %"
    with_judge = "beside a judge's verdicts on all rows it was 91 and 97 %."
    if ranking.judges:
        return f"add votes. {alone}; {with_judge}"
    return f"add a judge's verdicts on all rows (--judge NAME=FILE), or more votes. {alone}; {with_judge}"


def tables(ranking: VoteRanking) -> Iterator[Table]:
    """Yield the order, the judges, and win rates of every two models."""
    tied = letters(ranking.groups)
    yield table(
        "Models",
        ["rank", "model", "tied"],
        ["votes", "won", "win rate (95 %)", "P(best)", "P(near best)"],
        (
            (
                f"{model.rank}", model.name, tied.get(model.name, ""), f"{model.votes:,}", percent(model.won),
                f"{percent(model.win_rate)} ({interval(model.low, model.high)})", probability(model.p_best),
                probability(model.p_near_best),
            )
            for model in ranking.models
        ),
        help="won: percent of its votes, a tie as one half. win rate: expected against each other model in turn. "
        "P(near best): that no other win rate is higher by more than a point.",
    )  # fmt: skip
    if ranking.judges:
        yield table(
            "Judges",
            ["judge"],
            ["verdicts", "agrees", "worth"],
            (
                (
                    judge.name, f"{judge.verdicts:,}", percent(judge.agreement),
                    "" if judge.worth is None else f"{judge.worth:.0f}",
                )
                for judge in ranking.judges
            ),
            help="agrees: percent of people's votes, ties aside. worth: further votes that would tell as much.",
        )  # fmt: skip
    if ranking.reliability:
        yield table(
            "Raters",
            ["rater"],
            ["a vote counts as"],
            ((name, f"{weight:.2f}") for name, weight in ranking.reliability.items()),
            help="By how far the others agree on the same rows, beside the mean rater.",
        )
    if len(ranking.models) <= MAX_MODELS:
        yield matrix(ranking)
    yield table(
        "Every two models",
        ["first", "second"],
        ["votes", "ties", "win rate (95 %)", "P(first is better)"],
        (
            (
                pair.a, pair.b, f"{pair.votes:,}", f"{pair.ties:,}",
                f"{percent(pair.win_rate)} ({interval(pair.low, pair.high)})", probability(pair.p),
            )
            for pair in ranking.pairs
        ),
        help="Win rate of the first against the second, in percent, a tie as one half.",
        formats=("html", "markdown", "latex", "pairs"),
    )  # fmt: skip


def matrix(ranking: VoteRanking) -> Table:
    """Tabulate the win rate of each row's model against each column's."""
    rates = {(pair.a, pair.b): pair.win_rate for pair in ranking.pairs}
    rates |= {(b, a): 1 - rate for (a, b), rate in rates.items()}
    return table(
        "Win rates",
        ["row against column"],
        [f"{model.rank}" for model in ranking.models],
        (
            (
                f"{model.rank} {model.name}",
                *("" if column == model.name else percent(rates[model.name, column]) for column in ranking.names),
            )
            for model in ranking.models
        ),
        help="Percent of rows on which the answer of the row's model is preferred, a tie as one half.",
    )


def remarks(ranking: VoteRanking) -> Iterator[str]:
    """Yield the remarks, a sentence each."""
    yield f"Two models that share a letter are not told apart with {probability(ranking.level, 0)} %."
    yield from ranking.notes
