"""Reader of files as columns. See `ranker.files`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ranker.errors import DataError, UsageError
from ranker.files import conll, exports, separated, shapes, text
from ranker.files.columns import Columns
from ranker.limits import LIMITS, Limits

PARQUET = ".parquet"
"""Ending of Parquet files, which have their own compression."""

_LINES: Mapping[str, Callable[[Path, str, Limits], Iterator[separated.Record]]] = {
    ".csv": separated.by_commas,
    ".tsv": separated.by_tabs,
    ".txt": lambda *place: (conll.by_tokens if conll.looks_like_conll(*place) else separated.by_either)(*place),
    ".conll": conll.by_tokens,
    ".bio": conll.by_tokens,
    ".jsonl": lambda path, encoding, limits: shapes.of_lines(str(path), text.nonblank_lines(path, encoding, limits)),
}

ENDINGS = (*_LINES, ".json", PARQUET, ".npy", ".npz", ".zip")
"""Endings of the files that are read; those of text may be gzipped."""


def read_columns(
    path: Path,
    encoding: str = "",
    limits: Limits = LIMITS,
    nested: Collection[str] = (),
    empty: bool = False,
    form: str = "",
    header: Sequence[str] = (),
) -> Columns:
    """Read the columns of a file; exports of labelling tools have an annotation in each row.

    Args:
        path: ends in .csv, .tsv, .txt, .conll, .bio, .jsonl, .json, one of these and .gz, or .parquet, .npy, .npz,
            .zip.
        encoding: of a text file that is not UTF-8 and has no mark, as UTF-16 has.
        limits: bounds of what is read.
        nested: columns of lists and objects of a Parquet file to read as JSON.
        empty: whether a file may have no rows.
        form: ending by which the file is read; "" for its own.
        header: names of the columns of a file by tabs, without quotes, whose first line is a row.

    Raises:
        UsageError: its name does not end in a known way.
        DataError: it cannot be read, is larger than `limits`, malformed, or holds no row.
    """
    columns = _read(path, encoding, limits, nested, form, header)
    if not columns.size and not empty:
        raise DataError.of(path, "holds no row")
    return columns


def _read(
    path: Path, encoding: str, limits: Limits, nested: Collection[str], form: str, header: Sequence[str]
) -> Columns:
    packed = path.name.endswith(".gz")
    ending = form or Path(path.name.removesuffix(".gz")).suffix
    if ending not in ENDINGS or (packed and ending not in (*_LINES, ".json")):
        endings = ", ".join(ENDINGS)
        raise UsageError.at(
            path,
            f"a file of rows or a table ends in {endings}; those of text may be gzipped (.csv.gz)",
            value=ending,
            allowed=ENDINGS,
        )
    text.check_file(path, limits)
    if ending in (*_LINES, ".json"):
        text.check_unpacked(path, limits)
    if ending == PARQUET:
        from ranker.files import parquet

        return parquet.read_parquet(path, limits, nested)
    if ending in (".npy", ".npz"):
        from ranker.files import npy

        return npy.read_npy(path, limits)
    from ranker.files.collect import collect

    unit = "line" if ending in _LINES else "row"
    if header:
        return collect(separated.without_header(path, header, encoding, limits), str(path), unit, limits)
    return collect(_records(path, ending, encoding, limits), str(path), unit, limits)


def of_rows(rows: Iterable[Mapping[str, Any]], limits: Limits = LIMITS) -> Columns:
    """Return the columns of rows in memory: mappings, a data set of `datasets`, or a data frame.

    Raises:
        UsageError: a row is no mapping of columns to values.
        DataError: they hold too much.

    Example:
        >>> [row.cells for row in of_rows([{"text": "Fine.", "label": 1}, {"text": "Dull."}]).rows()]
        [{'text': 'Fine.', 'label': 1}, {'text': 'Dull.', 'label': None}]
    """
    from ranker.files.collect import collect

    features = getattr(rows, "features", None)
    columns = collect(exports.label_rows(_number_rows(rows)), limits=limits)
    if not isinstance(features, Mapping):
        return columns
    labels = {name: getattr(features.get(name), "names", None) for name in columns.order}
    return replace(columns, names={name: tuple(names) for name, names in labels.items() if names})


def _number_rows(rows: Any) -> Iterator[separated.Record]:
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


def _records(path: Path, ending: str, encoding: str, limits: Limits) -> Iterator[separated.Record]:
    """Yield the rows of a file that is no table of arrays."""
    if ending in _LINES:
        return exports.label_rows(_LINES[ending](path, encoding, limits), f"{path}, line")
    if ending == ".zip":
        return exports.label_rows(exports.doccano(path, limits), f"{path}, row")
    content = text.content(path, encoding, limits)
    return exports.label_rows(exports.label_studio(path, shapes.of_text(path, content, limits), limits), f"{path}, row")
