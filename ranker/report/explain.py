"""An explanation on a terminal, as one HTML file, or as JSON: words coloured by their scores.

A word's colour shows its score's sign: blue supports the label, orange opposes it. The colour's strength shows the
score's magnitude, as a share of the model's own strongest score. Colour is never the only sign: without it the scores
are written out, and in HTML they are the words' titles.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from ranker.errors import look_up
from ranker.numbers import signed
from ranker.report import json, pages
from ranker.report.remarks import by_reason, not_in_table
from ranker.report.tables import Table, table
from ranker.report.terminal import printable_text, rich_table
from ranker.results.explanation import Explanation, Reading, Word

WIDTH = 100
FOR, AGAINST = (70, 140, 230), (240, 150, 60)
"""Colours of the strongest scores (red, green, blue); a score of 0 is white. Black is readable on both."""

MAX_COLOUR_PERCENT = 65
"""Opacity of the strongest score's colour on a page, at which texts stay readable on white and on black."""

UNDERLINED = "  Words with a mark are underlined."
NO_STYLE = "default on default"

RGB = tuple[int, int, int]


def render(explanation: Explanation, name: str, colour: bool = False) -> str:
    """Render the explanation in the named format; `colour` tells that the reader is a terminal with colours."""
    return look_up("format of explanations", name, FORMATS)(explanation, colour)


def shade(share: float) -> RGB:
    """Return the colour of a share in [-1, 1] of the strongest score.

    Example:
        >>> shade(0.0), shade(1.0), shade(-0.5)
        ((255, 255, 255), (70, 140, 230), (248, 202, 158))
    """
    strongest = FOR if share > 0 else AGAINST
    red, green, blue = (round(255 + abs(share) * (part - 255)) for part in strongest)
    return red, green, blue


# ---- terminal


def terminal(explanation: Explanation, colour: bool = False) -> str:
    """Render the explanation as text, with colours or with the scores written out."""
    console = Console(
        file=io.StringIO(), width=WIDTH, force_terminal=colour, color_system="truecolor" if colour else None,
        highlight=False,
    )  # fmt: skip
    for part in _parts(explanation, colour):
        console.print(part)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO from above
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _parts(explanation: Explanation, colour: bool) -> Iterator[RenderableType]:
    yield _text(_title(explanation), "bold")
    yield _text(_legend(explanation))
    if colour:
        yield (
            Text(" for ", _style(1.0))
            .append("  ", NO_STYLE)
            .append(" against ", _style(-1.0))
            .append(UNDERLINED, NO_STYLE)
        )
    for reading in explanation.readings:
        yield Text()
        yield _text(f"{reading.name}: {_verdict(explanation, reading)}", "bold")
        for segment in range(len(explanation.example.segments)):
            line = Text()
            for word, gap in _line(explanation, reading, segment):
                if colour:
                    style = _style(_share(reading, word)) + (" underline" if word.marks else "")
                    line.append(gap).append(printable_text(word.text), style)
                else:
                    line.append(" " if len(line) else "").append(printable_text(_word_text(reading, word)))
            yield Padding(line, (0, 0, 0, 2))
    yield Text()
    if explanation.factors:
        yield rich_table(_factors(explanation))
        yield Text()
    for note in _notes(explanation):
        yield _text(f"- {note}")


def _word_text(reading: Reading, word: Word) -> str:
    """Return a word with its score and its marks."""
    if not reading.scored:
        return word.text
    return f"{word.text}({', '.join((_score_text(word.score), *word.marks))})"


def _style(share: float) -> str:
    return f"black on rgb({','.join(map(str, shade(share)))})"


def _text(line: str, style: str = "") -> Text:
    """Return a line in which names and words are shown, not obeyed."""
    return Text(printable_text(line), style)


# ---- HTML


class Piece(NamedTuple):
    """A word on a page after its gap: text, CSS classes, CSS colour ("" for none), score and marks."""

    gap: str
    text: str
    classes: str
    background: str
    title: str


class ReadingView(NamedTuple):
    """A model's reading on a page: its name, its verdict, and the words of each segment."""

    name: str
    verdict: str
    segments: tuple[tuple[Piece, ...], ...]


@dataclass(frozen=True)
class ExplanationPage:
    """Content of an explanation on a page or in a report.

    Attributes:
        title, legend: the example, and the meaning of the colours.
        reads: factor whose words are outlined; "" if none are.
        marked: whether some words have a mark.
        factors: value of each factor for each model.
        scores: score of each word for each model, without special tokens.
    """

    title: str
    legend: str
    coloured: bool
    reads: str
    marked: bool
    models: tuple[ReadingView, ...]
    factors: Table
    scores: Table
    notes: tuple[str, ...]


def sheet(explanation: Explanation) -> ExplanationPage:
    """Build the content of an explanation's page."""
    words = [word for reading in explanation.readings for word in reading.words]
    names = tuple(reading.name for reading in explanation.readings)
    lines = zip(*([word for word in reading.words if word.span] for reading in explanation.readings), strict=True)
    return ExplanationPage(
        title=_title(explanation),
        legend=_legend(explanation),
        coloured=explanation.attribution != "none",
        reads=(explanation.designed or "") if any(word.read for word in words) else "",
        marked=any(word.marks for word in words),
        models=tuple(
            ReadingView(reading.name, _verdict(explanation, reading), tuple(_segments(explanation, reading)))
            for reading in explanation.readings
        ),
        factors=_factors(explanation),
        scores=table(
            "Scores in numbers", ["word"], names,
            [(line[0].text, *(_score_text(word.score) for word in line)) for line in lines],
        ),
        notes=tuple(_notes(explanation)),
    )  # fmt: skip


def _segments(explanation: Explanation, reading: Reading) -> Iterator[tuple[Piece, ...]]:
    for segment in range(len(explanation.example.segments)):
        yield tuple(_piece(reading, word, gap) for word, gap in _line(explanation, reading, segment))


def _piece(reading: Reading, word: Word, gap: str) -> Piece:
    kinds = {
        "special": word.span is None,
        "mark": bool(word.marks),
        "read": word.read,
        "unseen": _unseen(reading, word),
    }
    share = _share(reading, word)
    side = "--for" if share > 0 else "--against"
    return Piece(
        gap=gap,
        text=word.text,
        classes=" ".join(["word", *(kind for kind, holds in kinds.items() if holds)]),
        background=f"rgb(var({side}) / {MAX_COLOUR_PERCENT * abs(share):.0f}%)" if share else "",
        title=", ".join((*([_score_text(word.score)] if reading.scored else []), *word.marks)),
    )


# ---- what both say


def _title(explanation: Explanation) -> str:
    return f"{explanation.example.id}: {'label unknown' if explanation.label is None else explanation.label}"


def _legend(explanation: Explanation) -> str:
    if explanation.attribution == "none":
        return "Predictions only, without attributions."
    return f"Scores by {explanation.attribution}: how much a word speaks for (+) or against (-) {explanation.toward!r}."


def _verdict(explanation: Explanation, reading: Reading) -> str:
    label = explanation.label
    right = "" if label is None else ", right" if reading.predicted == label else ", wrong"
    strongest = f"; strongest score {reading.strongest:.3g}" if reading.strongest else ""
    probability = "" if reading.probability is None else f" with probability {reading.probability:.3f}{right}"
    return f"{reading.predicted}{probability}{strongest}"


def _line(explanation: Explanation, reading: Reading, segment: int) -> Iterator[tuple[Word, str]]:
    """Yield one segment's words and special tokens, each with the text between it and the one before."""
    text, end = explanation.example.segments[segment], None
    for i, word in enumerate(word for word in reading.words if word.segment == segment):
        if word.span is None:
            yield word, " " if i else ""
        else:
            before = text[end or 0 : word.span[0]]
            yield word, before if end is not None else " " if i else ""
            end = word.span[1]


def _share(reading: Reading, word: Word) -> float:
    return 0.0 if word.score is None or not reading.strongest else word.score / reading.strongest


def _score_text(score: float | None) -> str:
    return "not seen" if score is None else signed(score, decimals=2)


def _factors(explanation: Explanation) -> Table:
    """Tabulate the factors: name, label, better direction, and value for each model."""
    rows = []
    for factor in explanation.factors:
        values = (reading.factors[factor.name] for reading in explanation.readings)
        better = "higher" if factor.higher_is_better else "lower"
        cells = ("-" if value is None else f"{value:.3f}" for value in values)
        rows.append((factor.name, factor.explains, better, *cells))
    models = [reading.name for reading in explanation.readings]
    return table("Factor values", ["factor", "label", "better"], models, rows)


def _notes(explanation: Explanation) -> Iterator[str]:
    if explanation.factors:
        yield "A factor is about the label in its row, which may differ from that of the colours; - means undefined."
    undefined = {(name, reason): None for reading in explanation.readings for name, reason in reading.undefined.items()}
    for reason, names in by_reason(undefined).items():
        yield f"{names}: {reason}."
    shares = [(reading.name, reading.wordless) for reading in explanation.readings if reading.wordless is not None]
    if shares:
        listed_shares = ", ".join(f"{name} {signed(share, decimals=2)}" for name, share in shares)
        yield f"Log-odds of {explanation.toward} with every word hidden, which no word explains: {listed_shares}."
    if explanation.left_out:
        yield not_in_table(explanation.left_out)
    for reading in explanation.readings:
        if not reading.within_tolerance:
            yield f"{reading.name}: the attribution is over its error tolerance."
        if unseen := sum(_unseen(reading, word) for word in reading.words):
            yield f"{reading.name}: words past its limit: {unseen}."
    for model, reason in explanation.failures.items():
        yield f"{model} FAILED: {reason}"


def _unseen(reading: Reading, word: Word) -> bool:
    return word.score is None and reading.scored


FORMATS: Mapping[str, Callable[[Explanation, bool], str]] = {
    "terminal": terminal,
    "html": lambda explanation, _: pages.page("explanation.html", shown=sheet(explanation)),
    "json": lambda explanation, _: json.to_json(explanation.to_dict()),
}
"""Format -> function that renders an explanation, with colours or without."""
