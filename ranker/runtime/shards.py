"""The files of a store: Parquet shards of answers, attributions or scores, each of which says what it is and whose.

A shard is named by the sha256 of its own content, and carries the digest of its key. So one that is damaged gives
itself away, and so does one that lies in the folder of another key.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from factors.types import Attributions, Floats, Ints
from ranker.errors import DataError
from ranker.files import footers
from ranker.limits import LIMITS, within
from ranker.runtime import arrays
from ranker.tasks.answers import answer_class

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
"""Of shards and of keys: raised when either is written in another way. Folders of other formats are left alone."""

NAME = "example"
"""The column of the names of examples' texts: see `datasets.identity.text_names`."""

KEY = b"rank-models key"
"""Where a shard carries the digest of its key, with the number of the format."""

FIELDS = tuple(field.name for field in fields(Attributions))
LISTS = ("probs", "tokens", "segment", "word", "offsets", "scores")
"""The columns of attributions that hold a list in each row."""

KINDS = {
    **dict.fromkeys(("probs", "scores", "residual"), np.float64),
    **dict.fromkeys(("target", "segment", "word", "offsets", "effort"), np.int64),
}
"""What numbers the columns of attributions hold."""


DECODED = 256
"""Attributions that are made of columns at once, while all are read: memory is that of the columns and of these."""


@dataclass(frozen=True)
class MeasureColumn:
    """What one measure gives on N examples.

    Attributes:
        values: (N,) numbers, nan where there is none.
        why: (N,) which of the reasons there is for that; -1 where there is a number.
        reasons: sentences.
    """

    values: Floats
    why: Ints
    reasons: tuple[str, ...] = ()


class StoredAttributions(Sequence[Attributions]):
    """Attributions as they are kept, in columns; each is made where it is read, and nothing holds it.

    Attributes:
        table: of `attributions`, with or without names.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @overload
    def __getitem__(self, at: int) -> Attributions: ...

    @overload
    def __getitem__(self, at: slice) -> StoredAttributions: ...

    def __getitem__(self, at: int | slice) -> Attributions | StoredAttributions:
        places = range(len(self))[at]
        if isinstance(places, int):
            return attributions_of(self.table.slice(places, 1))[0]
        return StoredAttributions(self.table.take(arrays.of_numbers(np.array(places, dtype=np.int64))))

    def __iter__(self) -> Iterator[Attributions]:
        for start in range(0, len(self), DECODED):
            yield from attributions_of(self.table.slice(start, DECODED))

    @cached_property
    def probs(self) -> Floats:
        """(N, C) the probabilities of all."""
        column = arrays.whole(self.table.column("probs"))
        return arrays.numbers(column.flatten()).reshape(len(self), -1)


def answers(names: Sequence[bytes], columns: Mapping[str, Any]) -> pa.Table:
    """Answers as a table: an array whose first axis is N becomes a column; a second axis, lists of one length."""
    import pyarrow as pa

    table = {NAME: arrays.of_binary(names, 32)}
    for name, values in columns.items():
        if not isinstance(values, np.ndarray):  # pyarrow's own
            table[name] = values
            continue
        flat = arrays.of_numbers(values.reshape(-1))
        table[name] = flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pa.table(table)


def columns_of(table: pa.Table) -> dict[str, Any]:
    """The inverse of `answers`, but for the names, to the last bit."""
    import pyarrow as pa

    found: dict[str, Any] = {}
    for name in table.column_names:
        if name != NAME:
            column = arrays.whole(table.column(name))
            listed = pa.types.is_fixed_size_list(column.type)
            if not (listed or pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
                found[name] = column
                continue
            flat = arrays.numbers(column.flatten() if listed else column)
            found[name] = flat.reshape(len(column), column.type.list_size) if listed else flat
    return found


def attributions(names: Sequence[bytes], rows: Sequence[Attributions]) -> pa.Table:
    """Attributions as a table, a row each; arrays become lists."""
    import pyarrow as pa

    columns = [arrays.of_binary(names, 32)]
    for field in list(_attributions())[1:]:
        values = [getattr(row, field.name) for row in rows]
        if field.name == "tokens":
            flat = arrays.of_texts([token for tokens in values for token in tokens])
            columns.append(arrays.of_lists(flat, list(map(len, values))))
        elif field.name in LISTS:
            flat = arrays.of_numbers(np.concatenate([value.ravel() for value in values]).astype(KINDS[field.name]))
            columns.append(arrays.of_lists(flat, [value.size for value in values]))
        elif field.name == "backend":
            columns.append(arrays.of_texts(values))
        else:
            columns.append(arrays.of_numbers(np.array(values, KINDS[field.name])))
    return pa.Table.from_arrays(columns, schema=_attributions())


def attributions_of(table: pa.Table) -> list[Attributions]:
    """The inverse of `attributions`, but for the names, to the last bit."""
    read: dict[str, list[Any]] = {}
    for name in FIELDS:
        column = arrays.whole(table.column(name))
        if name in ("tokens", "backend"):
            read[name] = column.to_pylist()
        elif name in LISTS:
            read[name] = np.split(arrays.numbers(column.flatten()), np.cumsum(arrays.sizes(column))[:-1])
        else:
            read[name] = arrays.numbers(column).tolist()
    return [
        Attributions(
            **{
                **dict(zip(read, row, strict=True)),
                "tokens": tuple(row[FIELDS.index("tokens")]),
                "offsets": row[FIELDS.index("offsets")].reshape(-1, 2),
            }
        )
        for row in zip(*read.values(), strict=True)
    ]


def scores(names: Sequence[bytes], rows: Sequence[MeasureColumn]) -> pa.Table:
    """What measures give on the same examples as a table, a row for each measure.

    Args:
        names: of 32 bytes, each of everything but the answers that can change a number: measure and examples.
        rows: what they give.
    """
    import pyarrow as pa

    columns = [
        arrays.of_binary(names, 32),
        arrays.of_lists(arrays.of_numbers(_joined([row.values for row in rows], np.float64)), _sizes(rows, "values")),
        arrays.of_lists(arrays.of_numbers(_joined([row.why for row in rows], np.int64)), _sizes(rows, "why")),
        arrays.of_lists(arrays.of_texts([why for row in rows for why in row.reasons]), _sizes(rows, "reasons")),
    ]
    return pa.Table.from_arrays(columns, schema=_scores())


def _joined(parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind)


def _sizes(rows: Sequence[MeasureColumn], name: str) -> list[int]:
    return [len(getattr(row, name)) for row in rows]


def scores_of(table: pa.Table) -> list[MeasureColumn]:
    """The inverse of `scores`, but for the names, to the last bit."""
    parts = []
    for name in ("values", "why"):
        column = arrays.whole(table.column(name))
        parts.append(np.split(arrays.numbers(column.flatten()), np.cumsum(arrays.sizes(column))[:-1]))
    reasons = map(tuple, table.column("reasons").to_pylist())
    return [MeasureColumn(*row) for row in zip(*parts, reasons, strict=True)] if len(table) else []


def serialize(table: pa.Table, key: str) -> bytes:
    """A table as the content of a shard.

    Args:
        table: of `answers` or `attributions`.
        key: the digest of the key.
    """
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    marked = table.replace_schema_metadata({KEY: f"{FORMAT} {key}".encode()})
    parquet.write_table(marked, sink, compression="zstd", use_dictionary=False)
    return bytes(sink.getvalue().to_pybytes())


def deserialize(content: bytes, name: str, key: str | None, columns: Sequence[str] | None = None) -> pa.Table:
    """The table in a shard.

    Args:
        content: of the file.
        name: the file's, which is its checksum.
        key: the digest of the key that it should be of, or how that begins; None where any will do.
        columns: those that are wanted; None for all.

    Raises:
        ValueError: it is not what was written, is of another key, or holds nothing of ours.
    """
    import pyarrow as pa
    from pyarrow import parquet

    if shard_name(content) != name:
        raise ValueError("its checksum is another")
    try:
        with within(LIMITS, name):
            file = parquet.ParquetFile(pa.BufferReader(content))
            groups = footers.stated(io.BytesIO(content), name)
            LIMITS.check(name, "shard", sum(one.size + 8 * one.values for group in groups for one in group))
            # without Arrow's threads: a shard is small, and a process that ends while they do can be aborted
            table = file.read(columns=None if columns is None else list(columns), use_threads=False)
    except (pa.ArrowException, OSError, DataError) as error:
        raise ValueError("it holds no rows of ours") from error
    number, _, own = (table.schema.metadata or {}).get(KEY, b"").decode(errors="replace").partition(" ")
    wanted = {NAME} if columns is None else set(columns)
    if number != str(FORMAT) or not wanted <= set(table.column_names) or table.schema.field(NAME).type != pa.binary(32):
        raise ValueError("it holds no rows of ours")
    if key is not None and not own.startswith(key):
        raise ValueError("it is of another key")
    return table.replace_schema_metadata(None)


def check(table: pa.Table, key: Mapping[str, Any]) -> None:
    """Refuse a table that is not what is kept under a key: answers of a kind, scores of measures, or attributions.

    Args:
        table: whole, see `deserialize`.
        key: itself. Where it has labels, there must be a probability of each.

    Raises:
        ValueError: so it is.
    """
    import pyarrow as pa
    from pyarrow import compute

    lists = [column for column in table.columns if pa.types.is_nested(column.type)]
    if any(column.null_count for column in [*table.columns, *map(compute.list_flatten, lists)]):
        raise ValueError("it holds no rows of ours")
    if "scores" in key:
        if not table.schema.remove_metadata().equals(_scores()):
            raise ValueError("it holds no rows of ours")
        why, reasons = arrays.whole(table.column("why")), arrays.sizes(table.column("reasons"))
        within = np.repeat(reasons, arrays.sizes(why))
        which = arrays.numbers(why.flatten())
        if not np.all(
            [*(arrays.sizes(table.column("values")) == arrays.sizes(why)), *(which < within), *(which >= -1)]
        ):
            raise ValueError("it holds no rows of ours")
    elif "answers" not in key:
        if not table.schema.remove_metadata().equals(_attributions()):
            raise ValueError("it holds no rows of ours")
        size = {name: arrays.sizes(table.column(name)) for name in LISTS}
        target, tokens = arrays.numbers(table.column("target")), size["tokens"]
        alike = [size[name] == tokens for name in ("segment", "word", "scores")] + [size["offsets"] == 2 * tokens]
        if not np.all([*alike, target >= 0, target < size["probs"]]):
            raise ValueError("it holds no rows of ours")
    else:
        try:
            answer_class(key["answers"]).of_columns(columns_of(table))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError("it holds no rows of ours") from error
    of_labels = bool(key.get("labels")) and "probs" in table.column_names
    if of_labels and set(arrays.sizes(table.column("probs")).tolist()) - {len(key["labels"])}:
        raise ValueError("its rows are of another kind")


def shard_name(content: bytes) -> str:
    """A shard's file name: the checksum of what is in it."""
    return f"{hashlib.sha256(content).hexdigest()[:32]}.parquet"


def _scores() -> pa.Schema:
    import pyarrow as pa

    floats, whole, texts = pa.list_(pa.float64()), pa.list_(pa.int64()), pa.list_(pa.string())
    return pa.schema({NAME: pa.binary(32), "values": floats, "why": whole, "reasons": texts})


def _attributions() -> pa.Schema:
    import pyarrow as pa

    floats, whole = pa.list_(pa.float64()), pa.list_(pa.int64())
    kinds = {
        NAME: pa.binary(32),
        "probs": floats,
        "target": pa.int64(),
        "tokens": pa.list_(pa.string()),
        "segment": whole,
        "word": whole,
        "offsets": whole,
        "scores": floats,
        "backend": pa.string(),
        "residual": pa.float64(),
        "effort": pa.int64(),
    }
    return pa.schema(kinds)
