"""Options of tables of predictions."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.errors import choice_error
from ranker.sources.options import AnswerOptions, Heading, option


def words(text: str) -> tuple[str, ...]:
    """Split comma-separated words; an empty text has none.

    Example:
        >>> words("N/A, -1"), words("")
        (('N/A', '-1'), ())
    """
    return tuple(word.strip() for word in text.split(",") if word.strip())


@dataclass(frozen=True)
class TableOptions(AnswerOptions):
    """Options of all tables of predictions of a run.

    Attributes:
        prediction: columns that hold answers.
        truth: column of the true labels; "" if not stated.
        id_column: columns that tell a row together; () if not stated.
        answers: type of the cells: labels, probabilities, logits, log-likelihoods, outcomes, or values that the task
            parses (tags, texts, numbers); "" to infer it.
        empty_words: cells, as written, that count as empty; () for blank cells only, None if not stated.
        by_order: rows are matched by their order, whatever ids and texts the tables hold.
        encoding: of text tables that are neither UTF-8 nor say what they are, such as cp1252.
        runs, cluster, scale, lower_is_better, errors: of tables and logs alike, see `LogOptions`.

    Raises:
        UsageError: unknown type of answers, or unknown encoding; see also `LogOptions`.

    Example:
        >>> from ranker import SourceOptions, TableOptions
        >>> SourceOptions(kinds=[TableOptions(truth="gold")]).of(TableOptions).truth
        'gold'
    """

    prediction: tuple[str, ...] = option((), "Column with answers, in tables. Repeat for several.", metavar="COLUMN")
    truth: str = option("", "Column with the true labels, in tables.", metavar="COLUMN")
    id_column: tuple[str, ...] = option(
        (),
        "Column of the ids, in tables. Repeat if several tell a row together, such as a question and its turn.",
        metavar="COLUMN",
    )
    answers: str = option(
        "",
        "Type of the answers in tables: labels, probabilities, logits, log-likelihoods, outcomes, or values such as "
        "texts.",
        metavar="KIND",
    )
    empty_words: tuple[str, ...] | None = option(
        None,
        "Words that mean an empty cell in your own rows and tables, such as N/A,-1; '' for none.  [default: "
        "NA, N/A, nan, null and None, unless a label has that name]",
        metavar="WORD,...",
        parse=words,
        of_run=True,
        heading=Heading.ROWS,
    )
    by_order: bool = option(False, "Match rows of tables by their order, whatever ids and texts they hold.")
    encoding: str = option(
        "",
        "Encoding of files of rows and answers, such as cp1252.  [default: UTF-8, or what a file says]",
        metavar="NAME",
        of_run=True,
        heading=Heading.ROWS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.answers:
            from ranker.sources.tables.base import KINDS

            if self.answers not in KINDS:
                raise choice_error("answers", self.answers, KINDS)
        if self.encoding:
            from ranker.files.encodings import check

            object.__setattr__(self, "encoding", check(self.encoding))
