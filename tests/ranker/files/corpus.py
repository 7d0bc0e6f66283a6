"""One small table in every kind of file in which people have it: as R, Excel, pandas and Arrow write it."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

Table = dict[str, list[Any]]
"""Column -> its cells, all texts but for whole numbers and fractions; None is an empty cell."""


def lines(table: Table) -> list[list[Any]]:
    """The rows of a table."""
    return [list(row) for row in zip(*table.values(), strict=True)]


def records(table: Table) -> list[dict[str, Any]]:
    """The rows of a table, by column."""
    return [dict(zip(table, row, strict=True)) for row in lines(table)]


def separated(table: Table, between: str, quoting: int = csv.QUOTE_MINIMAL, end: str = "\n") -> str:
    """A table as text, with quotes where they are needed, or around everything."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=between, quoting=quoting, lineterminator=end)
    writer.writerow(table)
    writer.writerows([["" if cell is None else cell for cell in row] for row in lines(table)])
    return out.getvalue()


def of_r(table: Table, between: str, corner: str | None) -> str:
    """A table as R writes it: texts in quotes, numbers without, the names of rows first, NA where nothing is."""

    def cell(value: Any) -> str:
        if value is None:
            return "NA"
        return str(value) if not isinstance(value, str) else '"' + value.replace('"', '""') + '"'

    names = [cell(name) for name in table]
    first_line = names if corner is None else [cell(corner), *names]
    rows = [[cell(str(n)), *map(cell, row)] for n, row in enumerate(lines(table), 1)]
    return "\n".join(between.join(row) for row in [first_line, *rows]) + "\n"


def plain(table: Table, between: str = "\t") -> str:
    """A table without any quoting: what stands in a cell stands in the line."""
    rows = [["" if cell is None else str(cell) for cell in row] for row in lines(table)]
    return "\n".join(between.join(row) for row in [list(table), *rows]) + "\n"


def text(table: Table, make: Callable[[Table], str], path: Path, encoding: str = "utf-8") -> None:
    """Write a table that is text."""
    path.write_bytes(make(table).encode(encoding))


def json_lines(table: Table) -> str:
    """An object a line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records(table))


def arrow(table: Table, path: Path, kinds: Callable[[Any], Any] | None = None, **options: Any) -> None:
    """Write Parquet; columns of texts as another type of Arrow, where that is said."""
    columns = {name: pa.array(cells) for name, cells in table.items()}
    if kinds is not None:
        columns = {name: kinds(array) if pa.types.is_string(array.type) else array for name, array in columns.items()}
    parquet.write_table(pa.table(columns), path, **options)


def delta(table: Table, path: Path) -> None:
    """Write Parquet in its newer encodings, as DuckDB and parquet-mr's second version do."""
    by_type = {"int64": "DELTA_BINARY_PACKED", "double": "BYTE_STREAM_SPLIT"}
    encodings = {name: by_type.get(str(pa.array(cells).type), "DELTA_BYTE_ARRAY") for name, cells in table.items()}
    if "label" in encodings:
        encodings["label"] = "DELTA_LENGTH_BYTE_ARRAY"
    arrow(table, path, use_dictionary=False, column_encoding=encodings)


def frame(table: Table) -> pd.DataFrame:
    """A data frame of some rows of a larger one, whose index still numbers those."""
    rows = pd.DataFrame(table)
    rows.index = pd.Index([7 + 3 * n for n in range(len(rows))])
    return rows


QUOTED: dict[str, Callable[[Table, Path], None]] = {
    "plain.csv": lambda t, p: text(t, lambda t: separated(t, ","), p),
    "r.csv": lambda t, p: text(t, lambda t: of_r(t, ",", ""), p),
    "excel-sep.csv": lambda t, p: text(t, lambda t: "sep=;\r\n" + separated(t, ";", end="\r\n"), p, "utf-8-sig"),
    "excel.csv": lambda t, p: text(t, lambda t: separated(t, ";", end="\r\n"), p, "utf-8-sig"),
    "utf16.csv": lambda t, p: text(t, lambda t: separated(t, ",", end="\r\n"), p, "utf-16"),
    "unicode-text.txt": lambda t, p: text(t, lambda t: separated(t, "\t", end="\r\n"), p, "utf-16"),
    "quoted.tsv": lambda t, p: text(t, lambda t: separated(t, "\t", csv.QUOTE_ALL), p),
    "lines.jsonl": lambda t, p: text(t, json_lines, p),
    "lines.jsonl.gz": lambda t, p: p.write_bytes(gzip.compress(json_lines(t).encode())) and None,
    "records.json": lambda t, p: text(t, lambda t: json.dumps(records(t)), p),
    "split.json": lambda t, p: text(t, lambda t: json.dumps({"columns": list(t), "data": lines(t)}), p),
    "columns.json": lambda t, p: text(t, json.dumps, p),
    "index.json": lambda t, p: text(t, lambda t: json.dumps({str(n): row for n, row in enumerate(records(t))}), p),
    "lines.json": lambda t, p: text(t, json_lines, p),
    "default.parquet": lambda t, p: arrow(t, p),
    "dictionary.parquet": lambda t, p: arrow(t, p, dictionary_pagesize_limit=64, data_page_size=64, write_batch_size=2),
    "delta.parquet": delta,
    "string-view.parquet": lambda t, p: arrow(t, p, lambda a: a.cast(pa.string_view())),
    "binary-view.parquet": lambda t, p: arrow(t, p, lambda a: a.cast(pa.binary()).cast(pa.binary_view())),
    "binary.parquet": lambda t, p: arrow(t, p, lambda a: a.cast(pa.binary())),
    "large-dictionary.parquet": lambda t, p: arrow(t, p, lambda a: a.cast(pa.large_string()).dictionary_encode()),
    "pandas.parquet": lambda t, p: frame(t).to_parquet(p),
    "pandas-by-id.parquet": lambda t, p: pd.DataFrame(t).set_index(next(iter(t))).to_parquet(p),
}
"""Kinds of files in which a text may hold anything, line ends included."""

UNQUOTED: dict[str, Callable[[Table, Path], None]] = {
    "r-default.tsv": lambda t, p: text(t, lambda t: of_r(t, "\t", None), p),
    "plain.tsv": lambda t, p: text(t, plain, p),
    "plain.txt": lambda t, p: text(t, plain, p),
}
"""Kinds whose texts are on one line; all but R's may hold a quote that is none."""

NA = ("r.csv", "r-default.tsv")
"""Kinds that say NA where nothing is."""

KINDS = {**QUOTED, **UNQUOTED}


def saved(kind: str, table: Table, folder: Path, stem: str) -> Path:
    """Write a table as a kind of file; its path."""
    path = folder / f"{stem}-{kind}"
    KINDS[kind](table, path)
    return path


def asked(kind: str) -> Sequence[str]:
    """Options for a kind of file: which words are nothing."""
    return ("--empty-words", "NA") if kind in NA else ()
