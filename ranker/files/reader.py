"""Reader of files as columns. See `ranker.files`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ranker.errors import DataError, UsageError
from ranker.files import conll, exports, plain, separated, shapes, text, trec
from ranker.files.columns import MEMORY, Columns, Record
from ranker.files.draws import Draw, draw_records, sample_rows
from ranker.limits import LIMITS, Limits

PARQUET = ".parquet"
"""Ending of Parquet files, which have their own compression."""

_LINES: Mapping[str, Callable[[Path, str, Limits], Iterator[Record]]] = {
    ".csv": separated.by_commas,
    ".tsv": separated.by_tabs,
    ".txt": separated.by_either,
    ".conll": conll.by_tokens,
    ".bio": conll.by_tokens,
    ".run": trec.by_queries,
    ".qrels": trec.by_queries,
    ".jsonl": lambda path, encoding, limits: shapes.of_lines(str(path), text.nonblank_lines(path, encoding, limits)),
}

SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
"""Endings of files of spreadsheet programs."""

ENDINGS = (*_LINES, ".json", PARQUET, ".npy", ".npz")
"""Endings of the files that are read; those of text may be gzipped."""


def read_columns(
    path: Path,
    encoding: str = "",
    limits: Limits = LIMITS,
    nested: Collection[str] = (),
    empty: bool = False,
    form: str = "",
    header: Sequence[str] = (),
    draw: Draw | None = None,
    plain_column: str = plain.TEXT,
) -> Columns:
    """Read the columns of a file; exports of labelling tools have an annotation in each row.

    Args:
        path: ends in .csv, .tsv, .txt, .conll, .bio, .jsonl, .json, one of these and .gz, or .parquet, .npy, .npz.
        encoding: of a text file that is not UTF-8 and has no mark, as UTF-16 has.
        nested: columns of lists and objects of a Parquet file to read as JSON.
        empty: whether a file may have no rows.
        form: ending by which the file is read; "" for its own.
        header: names of the columns of a file by tabs, without quotes, whose first line is a row.
        draw: the rows to read of a file that may be larger than `limits`; a Parquet table may then be a folder or a
            pattern of files. None reads all.
        plain_column: name of the column of a .txt that is a text a line.

    Raises:
        UsageError: its name does not end in a known way.
        DataError: it cannot be read, is larger than `limits`, malformed, or holds no row.
    """
    files = [path] if draw is None else table_files(path)
    ending, streamed = check_ending(files[0], form), limits
    if draw is not None and ending in (*_LINES, PARQUET):  # the limit holds for the rows that are drawn
        streamed = replace(limits, file=max(limits.pool, limits.file))
    for file in files:
        text.check_file(file, streamed)
    if ending in (*_LINES, ".json"):
        text.check_unpacked(path, streamed)
    if ending == PARQUET and draw is not None:
        from ranker.files import parquet_draws

        columns = parquet_draws.draw_parquet(path, files, draw, limits, streamed, nested)
    elif ending == PARQUET:
        from ranker.files import parquet

        columns = parquet.read_parquet(path, limits, nested)
    elif ending in (".npy", ".npz"):
        from ranker.files import npy

        columns = npy.read_npy(path, limits)
        if draw is not None:
            rows = sample_rows(columns.size, draw.most, draw.seed)
            columns = columns.drawn(rows, rows + 1, columns.size)
    elif header:
        columns = _collect(separated.without_header(path, header, encoding, limits), draw, str(path), "line", limits)
    else:
        unit = "line" if ending in _LINES else "row"
        columns = _collect(_records(path, ending, encoding, streamed, plain_column), draw, str(path), unit, limits)
        if ending in (".csv", ".txt") and separated.has_semicolons(path, encoding, streamed):
            from ranker.files.decimals import with_points

            columns = with_points(columns)
    if not columns.size and not empty:
        raise DataError.of(path, "holds no row")
    return columns


def check_ending(path: Path, form: str = "") -> str:
    """Return the ending by which a file is read: `form`, or else its own.

    Raises:
        UsageError: it is none of those that are read.
    """
    packed = path.name.endswith(".gz")
    ending = form or Path(path.name.removesuffix(".gz")).suffix
    if ending in SPREADSHEETS:
        raise UsageError.at(path, "a spreadsheet is not read; save its sheet as .csv", value=ending, allowed=ENDINGS)
    if ending not in ENDINGS or (packed and ending not in (*_LINES, ".json")):
        endings = ", ".join(ENDINGS)
        raise UsageError.at(
            path,
            f"a file of rows or a table ends in {endings}; those of text may be gzipped (.csv.gz)",
            value=ending,
            allowed=ENDINGS,
        )
    return ending


def table_files(path: Path) -> list[Path]:
    """Return the files of a table: one, the Parquet files of a folder, or those that fit a pattern, by name.

    Raises:
        UsageError: a folder or a pattern names no Parquet file, or a pattern others, too.
    """
    if path.is_dir():
        files = sorted(path.glob(f"*{PARQUET}"))
    elif {"*", "?", "["} & {*str(path)} and not path.exists():
        files = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    else:
        return [path]
    stray = next((file for file in files if file.suffix != PARQUET), None)
    if not files or stray:
        reason = f"{stray} is another" if stray else "there is none"
        raise UsageError.at(path, f"a folder or a pattern must name files that end in {PARQUET}; {reason}", value=path)
    return files


def _collect(records: Iterable[Record], draw: Draw | None, origin: str, unit: str, limits: Limits) -> Columns:
    """Return rows as columns, drawn while they are read."""
    from ranker.files.collect import collect

    if draw is None:
        return collect(records, origin, unit, limits)
    drawn = draw_records(records, draw, origin, limits)
    return collect(drawn.records, origin, unit, limits).drawn(drawn.places, drawn.numbers, drawn.size)


def of_rows(rows: Iterable[Mapping[str, Any]], limits: Limits = LIMITS, draw: Draw | None = None) -> Columns:
    """Return the columns of rows in memory: mappings, a data set of `datasets`, or a data frame.

    With a draw, also of a stream of rows that is larger than the limits, such as an `IterableDataset`.

    Raises:
        UsageError: a row is no mapping of columns to values.

    Example:
        >>> [row.cells for row in of_rows([{"text": "Fine.", "label": 1}, {"text": "Dull."}]).rows()]
        [{'text': 'Fine.', 'label': 1}, {'text': 'Dull.', 'label': None}]
    """
    features = getattr(rows, "features", None)
    columns = _collect(exports.label_rows(_number_rows(rows)), draw, MEMORY, "row", limits)
    if not isinstance(features, Mapping):
        return columns
    labels = {name: getattr(features.get(name), "names", None) for name in columns.order}
    return replace(columns, names={name: tuple(names) for name, names in labels.items() if names})


def _number_rows(rows: Any) -> Iterator[Record]:
    """Yield rows in memory with their numbers."""
    if hasattr(rows, "to_dict") and not hasattr(rows, "features"):  # a data frame; rows of a data set are mappings
        rows = rows.to_dict("records")
    for number, cells in enumerate((rows,) if isinstance(rows, Mapping) else rows, 1):
        if cells is rows or not isinstance(cells, Mapping):
            type_name = type(rows if cells is rows else cells).__name__
            raise UsageError(
                f"rows in memory must be a list of column -> value, one such a row (got a {type_name})", value=type_name
            )
        yield number, cells


def _records(path: Path, ending: str, encoding: str, limits: Limits, plain_column: str) -> Iterator[Record]:
    """Yield the rows of a file that is no table of arrays."""
    if ending == ".txt" and conll.looks_like_conll(path, encoding, limits):
        ending = ".conll"
    if ending == ".txt" and trec.looks_like_trec(path, encoding, limits):
        ending = ".run"
    if ending == ".txt" and plain.is_plain(path, encoding, limits):
        return plain.by_lines(path, encoding, limits, plain_column)
    if ending in _LINES:
        records = trec.by_documents(_LINES[ending](path, encoding, limits), path)
        return exports.label_rows(records, f"{path}, line")
    content = text.content(path, encoding, limits)
    return exports.label_rows(exports.label_studio(path, shapes.of_text(path, content, limits)), f"{path}, row")
