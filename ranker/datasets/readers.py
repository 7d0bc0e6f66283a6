"""Read rows as examples: find the columns of the texts, the label and the id, and interpret their cells."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from factors import Example, Span
from ranker.datasets.cards import Layout
from ranker.datasets.rationales import rationale_marks
from ranker.errors import Assumption, DataError, UsageError, listed, look_up
from ranker.files import reader
from ranker.files.cells import cell_text
from ranker.files.columns import Columns, Row
from ranker.files.draws import Draw
from ranker.files.plain import TEXT
from ranker.files.trec import QRELS
from ranker.limits import LIMITS, Limits
from ranker.records import parse_json
from ranker.tasks.base import Task
from ranker.tasks.classes import label_names
from ranker.tasks.empty import is_blank
from ranker.tasks.names import number_of, spelled, with_numbers
from ranker.tasks.tags import has_tags

log = logging.getLogger(__name__)

USUAL = {
    "text": (
        ("segments",),
        ("premise", "hypothesis"),
        ("sentence1", "sentence2"),
        ("question1", "question2"),
        ("text1", "text2"),
        ("text_a", "text_b"),
        ("text", "text_pair"),
        ("question", "sentence"),
        ("question", "passage"),
        ("question", "context"),
        ("tokens",),
        ("document",),
        ("dialogue",),
        ("sentence",),
        ("question",),
        ("text",),
    ),
    "label": (
        ("gold_label",),
        ("label",),
        ("labels",),
        ("is_duplicate",),
        ("target",),
        ("tags",),
        ("ner_tags",),
        ("answers",),
        ("references",),
        ("reference",),
    ),
    "id": (("id",), ("_id",), ("pairID",), ("idx",), ("index",), ("guid",)),
    "cluster": (),
    "rationale": (),
}
"""Usual names of columns; the first group that fits is used."""

IDS = (
    *(name for names in USUAL["id"] for name in names),
    "example_id",
    "sample_id",
    "row_id",
    "doc_id",
    "uid",
    "uuid",
    "question_id",
    "key",
    "hash",
)
"""Usual names of id columns in files of answers, the likelier first."""

_FOLDED_IDS = frozenset(map(str.casefold, IDS))

LISTS = ("tags", "ner_tags", "answers", "references")
"""Usual names of targets that are lists or objects."""

NESTED = ("marks", *dict.fromkeys(name for names in USUAL["text"] for name in names), *LISTS)
"""Columns of a Parquet file that are read even if they hold lists or objects: marks, texts and targets."""

TOKENS = ("tokens", "words")
"""Columns whose lists are one text, in tokens."""

SHOWN = 50
"""Rows that show the task of a layout."""

Marker = Callable[[tuple[str, ...], Mapping[str, Any]], Mapping[str, tuple[Span, ...]]]
"""Finds marks: (segments, the whole row) -> name -> spans."""


def no_marks(segments: tuple[str, ...], row: Mapping[str, Any]) -> Mapping[str, tuple[Span, ...]]:
    """Return no marks: the marker of data without marks."""
    return {}


class Sheet(NamedTuple):
    """Rows of a file, or of another table, and the layout of their parts.

    Attributes:
        origin: the file, or "rows in memory".
        size: number of rows of the file, some of which may be left out.
    """

    origin: str
    rows: tuple[Row, ...]
    layout: Layout
    limits: Limits = LIMITS
    size: int = 0


def read_sheet(
    source: Path | Iterable[Mapping[str, Any]] | Columns,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    required: Sequence[str] = ("text", "label"),
    encoding: str = "",
    limits: Limits = LIMITS,
) -> Sheet:
    """Read a user's rows: from memory, a ``.jsonl``, ``.csv``, ``.tsv`` or ``.txt`` file, maybe ``.gz``, or a
    ``.parquet``.

    If the container of the rows names its label numbers (``features[...].names``, as a ``datasets.Dataset`` and the
    Parquet that it writes do), they are read by these names: the Hugging Face copy of HANS counts from entailment.

    Args:
        source: the file; or mappings, such as a ``datasets.Dataset``, or a table with ``to_dict("records")``, such as a
            pandas ``DataFrame``; or columns read of them (see `content`).
        columns: "text" -> one or two columns; "label", "id" and "cluster" (groups of dependent rows) -> one;
            "rationale" -> one for each annotator, see `datasets.rationales`; other roles are found by `USUAL` names.
            Several columns of labels are several references of a row; if all hold 0 and 1 alone, each is a label of a
            set, which a row has or not.
        required: the parts that there must be columns for.
        encoding: of a file that is not UTF-8 and does not say what it is: see `ranker.files.reader.read_columns`.

    Raises:
        DataError: the file cannot be read, a line is malformed, or a column is missing.

    Example:
        >>> read_sheet([{"premise": "A man ran.", "hypothesis": "An actor ran.", "label": "neutral"}]).layout.text
        ('premise', 'hypothesis')
    """
    roles = {
        look_up("role of a column", role, {part: part for part in USUAL}): (names,) if isinstance(names, str) else names
        for role, names in (columns or {}).items()
    }
    file = source if isinstance(source, Columns) else content(source, columns, encoding, limits)
    if not file.size:
        raise DataError.of(file.origin, "holds no row")
    try:
        layout = with_number_names(layout_of(file.order, roles, required), file)
    except (ValueError, DataError) as error:
        position = ", line 1" if file.unit == "line" else ""
        raise DataError.at(f"{file.origin}{position}", error) from error
    for column in layout.columns:
        if column in file.unread and column not in file.nested:
            raise DataError.of_column(column, f"holds {file.unread[column]}, which are not read", place=file.origin)
    rows = tuple(file.rows())
    if len(columns_of_labels := roles.get("label", ())) > 1:
        merge = _merge_indicators if _are_indicators(rows, columns_of_labels) else _merge_references
        rows = tuple(row._replace(cells=merge(row.cells, columns_of_labels)) for row in rows)
    return Sheet(file.origin, rows, layout, limits, file.file_size)


def _merge_references(cells: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return cells with those of some columns in the first of them, as a list without blank ones; None for none."""
    filled = [cells[column] for column in columns if not is_blank(cells.get(column))]
    return {name: cell for name, cell in cells.items() if name not in columns} | {columns[0]: filled or None}


def _are_indicators(rows: Iterable[Row], columns: Sequence[str]) -> bool:
    """Return whether all cells of some columns are 0 or 1, which say of a label each whether a row has it."""
    cells = {row.cells.get(column) for row in rows for column in columns if not is_blank(row.cells.get(column))}
    return all(isinstance(cell, (str, int, float)) and number_of(cell) in (0, 1) for cell in cells)


def _merge_indicators(cells: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return cells with those of some columns in the first of them, as an object; None where one is blank."""
    filled = {column: number_of(cells[column]) for column in columns if not is_blank(cells.get(column))}
    kept_cells = {name: cell for name, cell in cells.items() if name not in columns}
    return kept_cells | {columns[0]: filled if len(filled) == len(columns) else None}


def content(
    source: Path | Iterable[Mapping[str, Any]],
    columns: Mapping[str, str | Sequence[str]] | None = None,
    encoding: str = "",
    limits: Limits = LIMITS,
    draw: Draw | None = None,
) -> Columns:
    """Read the columns of rows, with lists and objects in those that may hold texts or marks. See `read_sheet`.

    With a draw, of files and streams of any size; a Parquet table may then be a folder or a pattern of files.
    """
    if not isinstance(source, Path):
        return reader.of_rows(source, limits, draw)
    extra = (name for names in (columns or {}).values() for name in ((names,) if isinstance(names, str) else names))
    return reader.read_columns(source, encoding, limits, (*NESTED, *extra), draw=draw)


def layout_task(columns: Columns) -> str:
    """Return the name of the only task that a file of this layout can have; "" if it may have several.

    Texts beside a tag for each token are of `tags`, as in CoNLL files; questions about a passage beside objects of
    answers are of `spans`, as in SQuAD's. Queries without a text and with grades of documents are of `ranking`.

    Example:
        >>> layout_task(reader.of_rows([{"text": "Ann ran", "tags": "B-PER O"}]))
        'tags'
    """
    key = "task of the layout"
    if key not in columns.worked_out:
        columns.worked_out[key] = _layout_task(columns)
    return str(columns.worked_out[key])


def _layout_task(columns: Columns) -> str:
    layout = layout_of(columns.order, {}, ())
    if layout.label == QRELS and not layout.text:
        grades = list(islice((cell for cell in columns.values(QRELS) if not is_blank(cell)), SHOWN))
        return "ranking" if grades and all(str(cell)[:2] == '{"' for cell in grades) else ""
    if layout.label not in LISTS or not layout.text:
        return ""
    cells = list(islice((cell for cell in columns.values(layout.label) if not is_blank(cell)), SHOWN))
    if layout.text[0] == "question" and len(layout.text) == 2:
        return "spans" if cells and all(isinstance(cell, dict) and "text" in cell for cell in cells) else ""
    texts = columns.values(layout.text[0])
    pairs = zip(texts, columns.values(layout.label), strict=True)
    filled = islice(((text, cell) for text, cell in pairs if not (is_blank(text) or is_blank(cell))), SHOWN)
    return "tags" if len(layout.text) == 1 and cells and all(has_tags(*pair) for pair in filled) else ""


def check_named(columns: Mapping[str, str | Sequence[str]], files: Sequence[Columns], absent: str = "") -> None:
    """Raise a UsageError if a named column is in none of the files; columns of the role `absent` may still come."""
    header = dict.fromkeys(name for file in files for name in file.order)
    for role, names in columns.items() if files else ():
        for name in (names,) if isinstance(names, str) else names:
            if name not in header and role not in (absent, "cluster"):  # of clusters no file may lack its column
                origins = " and ".join(dict.fromkeys(file.origin for file in files))
                raise UsageError(
                    f"`columns={role}={name}`: {origins} has no such column (columns: {listed(header)})",
                    option="columns",
                    value=name,
                    allowed=header,
                    place=origins,
                )


def with_number_names(layout: Layout, columns: Columns) -> Layout:
    """Return the layout with the label names that the file or the container has for numbers, if any."""
    names = columns.names.get(layout.label or "", ())
    return replace(layout, numbers=names) if names else layout


def read_pool_rows(
    source: Path | Iterable[Mapping[str, Any]] | Columns,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    encoding: str = "",
    limits: Limits = LIMITS,
    by_id: bool = False,
) -> Sheet:
    """Read a user's rows that need no label (see `read_sheet`).

    Rows with a blank text are left out, with a warning. With `by_id`, ids may stand alone, without texts.

    Raises:
        UsageError, DataError: as in `read_sheet`; or no row has a text.
    """
    sheet = read_sheet(source, columns, () if by_id else ("text",), encoding, limits)
    if by_id and not sheet.layout.text and sheet.layout.id is None:
        text = f"no column has a usual name for the text or the id (columns: {listed(sheet.rows[0].cells)})"
        raise DataError.at(sheet.origin, text, option="text", allowed=sheet.rows[0].cells)
    rows = tuple(row for row in sheet.rows if not any(is_blank(row.cells.get(column)) for column in sheet.layout.text))
    if not rows:
        raise DataError.of(sheet.origin, "holds no row with a text")
    if len(rows) < len(sheet.rows):
        number = len(sheet.rows) - len(rows)
        log.warning(Assumption(f"{sheet.origin}: rows with a blank text are left out: {number}"))
    return sheet._replace(rows=rows)


def unlabelled(sheet: Sheet, marker: Marker = no_marks) -> tuple[Example, ...]:
    """Return the rows of a sheet as examples without labels, even if the sheet has labels: see `examples`."""
    return tuple(examples(sheet.rows, None, sheet.layout, marker, sheet.limits, sheet.size))


def raw_labels(sheet: Sheet) -> list[str | None]:
    """Return the label of each row, as written or as the container names it; None if blank."""
    layout = sheet.layout
    return [None if layout.label is None else _label(row.cells.get(layout.label), layout.numbers) for row in sheet.rows]


def _label(cell: Any, names: Sequence[str]) -> str | None:
    """Convert a cell of labels to text; a number that has a name becomes that name."""
    if is_blank(cell) and cell != []:  # which may be a set of no labels
        return None
    if isinstance(cell, (list, dict)):
        return type(cell).__name__  # which is no label
    number = number_of(cell)
    if names and number == -1:  # how `datasets` writes that a row has none
        return None
    if number is not None and 0 <= number < len(names):
        return names[number]
    return spelled(cell_text(cell))


def examples(
    rows: Iterable[Row],
    task: Task | None,
    layout: Layout,
    marker: Marker = no_marks,
    limits: Limits = LIMITS,
    size: int = 0,
    repeated: bool = False,
) -> Iterator[Example]:
    """Yield the rows of the layout's part of the data as examples; without text columns their text is empty.

    Args:
        task: interprets the labels; None leaves the rows without a target.
        marker: finds marks in rows that bring none.
        repeated: several rows may have one id, as answers to one row.

    Raises:
        DataError: a column is missing, a label is unknown, a text is empty or too long, or an id occurs twice without a
            column `annotator` that tells answers of several people apart.
    """
    places: dict[tuple[str, str], str] = {}
    for place, number, cells in rows:
        try:
            if any(str(cells[column]) != value for column, value in layout.where.items()):
                continue
            segments = tuple(_texts(cells, layout.text, limits)) or ("",)
            identity = str(number) if layout.id is None else _filled_cell(cells, layout.id, "name the row")
            annotator = str(cells.get("annotator") or "")  # several people's answers to a row share its id
            if places.setdefault((identity, annotator), place) is not place and not repeated:
                earlier = places[identity, annotator]
                raise DataError(f"the id {identity!r} is used at {earlier} already", option="id", value=identity)
            target = None if task is None else _target_in(cells, layout, task, segments)
            row_marks = {**marker(segments, cells), **rationale_marks(cells, layout.rationale, segments)}
            row_marks |= _marks(cells["marks"]) if cells.get("marks") else {}
            belongs = "say which rows this one belongs with"
            group = "" if layout.cluster is None else _filled_cell(cells, layout.cluster, belongs)
            origin = place if layout.id is None else ""
            ids = {name: str(cells.get(name, "")) for name in layout.id_columns}
            yield Example(identity, segments, target, row_marks, group, origin, (number, size), ids)
        except KeyError as error:
            raise DataError.of_column(
                error.args[0], f"is missing (columns: {listed(cells)})", place=place, allowed=cells
            ) from error
        except (ValueError, DataError) as error:
            raise DataError.at(place, error) from error
        except RecursionError as error:
            raise DataError.at(place, "a value is nested too deeply") from error


def _target_in(cells: Mapping[str, Any], layout: Layout, task: Task, segments: tuple[str, ...]) -> Any:
    """Return the target of a row; an error says why the cell is none."""
    cell = cells[layout.label or ""]
    if cell is None:
        raise DataError.of_column(layout.label or "", "is empty, and must hold a label")
    names = layout.numbers
    number = number_of(cell) if names and cell not in names else None
    try:
        cell_in_words = cell if number is None else names[number] if 0 <= number < len(names) else ""
        return task.target_of(cell_in_words, segments if any(segments) else ())
    except ValueError as error:
        numbered = f"a label must be one of {with_numbers(names)} or an alias (got {str(cell)[:50]!r})"
        text, allowed = (numbered, names) if names else (str(error), label_names(task))
        raise DataError(text, option=layout.label or "", value=cell, allowed=allowed) from error


def _filled_cell(cells: Mapping[str, Any], column: str, need: str) -> str:
    """Return the text of a cell; an error says what an empty one must do."""
    if is_blank(cells[column]):
        raise DataError.of_column(column, f"is empty, and must {need}")
    return str(cells[column])


def layout_of(
    header: Sequence[str], columns: Mapping[str, Sequence[str]], required: Sequence[str] = ("text", "label")
) -> Layout:
    """Build the layout of a file with these columns; roles that are not named are found by usual names, in any case.

    Args:
        columns: "text", "label", "id", "cluster" and "rationale" -> columns. A file without these columns whose texts
            have usual names is read by those, since a run may read several files.
        required: the parts that there must be columns for.

    Raises:
        DataError: a column is missing, or none has a usual name, so that a parameter must name it.
    """
    named_columns = [name for names in columns.values() for name in names]
    if columns.get("text") and _usual("text", header) and not set(named_columns) & set(header):
        columns = {}  # another file, with usual names
    named_for_content = {*columns.get("text", ()), *columns.get("label", ())}
    parts: dict[str, Sequence[str]] = {}
    for part in USUAL:
        parts[part] = (
            columns[part] if part in columns else _usual(part, [n for n in header if n not in named_for_content])
        )
        missing = [name for name in parts[part] if name not in header]
        if missing and part not in (*required, "cluster"):  # rows without it would be taken as independent
            parts[part] = ()
        elif missing:
            raise DataError.of_column(missing[0], f"is missing (columns: {listed(header)})", allowed=header)
        elif part in required and not parts[part]:
            text = f"no column has a usual name for the {part}; {_fault(header, part)} (columns: {listed(header)})"
            raise DataError(text, option=part, allowed=header)
    label, identity, cluster = (next(iter(parts[part]), None) for part in ("label", "id", "cluster"))
    id_names = [] if identity is None or "id" in columns else [n for n in header if n.strip().casefold() in _FOLDED_IDS]
    id_columns = (identity, *(name for name in id_names if name != identity)) if identity and len(id_names) > 1 else ()
    return Layout(tuple(parts["text"]), label, identity, cluster, tuple(parts["rationale"]), id_columns=id_columns)


def _usual(part: str, header: Sequence[str]) -> tuple[str, ...]:
    """Return the columns with usual names for a part; none if there are no such columns."""
    by_name = {name.strip().casefold(): name for name in reversed(header)} | {name: name for name in header}
    meant = ([by_name.get(name, by_name.get(name.casefold(), "")) for name in names] for names in USUAL[part])
    return next((tuple(names) for names in meant if all(names)), ())


_NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?")


def _fault(header: Sequence[str], missing: str) -> str:
    """Guess the fault of a first line that names no text or no label."""
    between = next((sign for sign in (";", ",", "|") if len(header) == 1 and sign in header[0]), None)
    if between:
        return f"are its cells separated by {between!r}? in a .tsv they are by tabs; call it .csv"
    if len(header) == 1 and missing == "label" and header[0] == TEXT:
        return f"there are texts alone; if they are the labels, say `columns label={TEXT}`"
    if any(name.strip().endswith((".", "?", "!")) or _NUMBER.fullmatch(name.strip()) for name in header):
        return "is that a row, and the line that names the columns missing?"
    return "say which: `columns text=NAME,label=NAME`"


def _texts(cells: Mapping[str, Any], columns: tuple[str, ...], limits: Limits) -> Iterator[str]:
    for column in columns:
        value = cells[column]
        if value is None:
            raise DataError.of_column(column, "is empty, and must hold a text")
        if column in TOKENS and isinstance(value, list):
            value = " ".join(str(token).replace(" ", "\u00a0") for token in value)
        for text in value if isinstance(value, list) else (value,):
            if not isinstance(text, str) or not text.strip():
                raise DataError.of_column(column, f"must hold a text (got {str(text)[:50]!r})", text)
            limits.check(f"the column {column!r}", "cell", len(text))
            if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
                raise DataError.of_column(column, "holds a text with half of a character")
            yield text


def _marks(cell: Any) -> Mapping[str, tuple[Span, ...]]:
    """Read marks: name -> list of [segment, start, end], or the same as JSON."""
    try:
        content = parse_json(cell) if isinstance(cell, str) else cell
        present = {name: spans for name, spans in content.items() if spans is not None}  # a column of Parquet names all
        return {str(name): tuple(Span(*map(int, span)) for span in spans) for name, spans in present.items()}
    except (AttributeError, TypeError, OverflowError, json.JSONDecodeError) as error:
        text = f"marks must be name -> list of [segment, start, end] (got {str(cell)[:50]!r})"
        raise DataError(text, option="marks", value=cell) from error
