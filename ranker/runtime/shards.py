"""Files of a store: Parquet shards of answers, attributions or scores, with their kind and key.

The name of a shard is the sha256 of its content, and it contains the digest of its key. So damaged shards are
recognized, and shards in the folder of another key.
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
from ranker.tasks.base import ERROR, answer_class

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
"""Version of shards and keys, raised when either changes. Folders of other versions are left alone."""

NAME = "example"
"""Column with the names of examples' texts: see `datasets.identity.text_names`."""

STATE = "state"
"""Column with the states of answers."""

KEY = b"rank-models key"
"""Metadata field of a shard with the digest of its key and the format's version."""

FIELDS = tuple(field.name for field in fields(Attributions) if field.name != "erased")
LISTS = ("probs", "tokens", "segment", "word", "offsets", "scores")
"""Columns of attributions with a list in each row."""

KINDS = {
    **dict.fromkeys(("probs", "scores", "residual"), np.float64),
    **dict.fromkeys(("target", "segment", "word", "offsets", "effort"), np.int64),
}
"""Number types of the columns of attributions."""


DECODED = 256
"""Attributions decoded at once while all are read, which bounds the memory."""


@dataclass(frozen=True)
class MeasureColumn:
    """Values of one measure on N examples.

    Attributes:
        values: (N,) numbers, nan where there is none.
        why: (N,) index of the reason for that; -1 where there is a number.
        reasons: sentences.
    """

    values: Floats
    why: Ints
    reasons: tuple[str, ...] = ()


class StoredAttributions(Sequence[Attributions]):
    """Attributions as stored, in columns; each is decoded when it is read, and not cached.

    Attributes:
        table: of `attributions`, with or without names.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @overload
    def __getitem__(self, index: int) -> Attributions: ...

    @overload
    def __getitem__(self, index: slice) -> StoredAttributions: ...

    def __getitem__(self, index: int | slice) -> Attributions | StoredAttributions:
        places = range(len(self))[index]
        if isinstance(places, int):
            return attributions_of(self.table.slice(places, 1))[0]
        return StoredAttributions(self.table.take(arrays.of_numbers(np.array(places, dtype=np.int64))))

    def __iter__(self) -> Iterator[Attributions]:
        for start in range(0, len(self), DECODED):
            yield from attributions_of(self.table.slice(start, DECODED))

    @cached_property
    def probs(self) -> Floats:
        """(N, C) probabilities of all."""
        column = self.table.column("probs").combine_chunks()
        return arrays.numbers(column.flatten()).reshape(len(self), -1)


def answers(names: Sequence[bytes], columns: Mapping[str, Any]) -> pa.Table:
    """Return answers as a table: arrays (N,) become columns; arrays (N, L) become columns of lists of length L."""
    import pyarrow as pa

    table = {NAME: arrays.of_binary(names, 32)}
    for name, values in columns.items():
        if not isinstance(values, np.ndarray):  # an array of pyarrow
            table[name] = values
            continue
        flat = arrays.of_numbers(values.reshape(-1))
        table[name] = flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pa.table(table)


def columns_of(table: pa.Table) -> dict[str, Any]:
    """Invert `answers`, but for the names, to the last bit."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name in table.column_names:
        if name != NAME:
            column = table.column(name).combine_chunks()
            listed = pa.types.is_fixed_size_list(column.type)
            if not (listed or pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
                columns[name] = column
                continue
            flat = arrays.numbers(column.flatten() if listed else column)
            columns[name] = flat.reshape(len(column), column.type.list_size) if listed else flat
    return columns


def without_failures(table: pa.Table) -> pa.Table:
    """Return a table without answers that failed, so that they are asked again."""
    if STATE not in table.column_names:
        return table
    failed = arrays.numbers(table.column(STATE)) == ERROR
    return table.take(arrays.of_numbers(np.flatnonzero(~failed))) if failed.any() else table


def attributions(names: Sequence[bytes], rows: Sequence[Attributions]) -> pa.Table:
    """Return attributions as a table, a row each; arrays become lists."""
    import pyarrow as pa

    from ranker.files.arrow import of_texts

    columns = [arrays.of_binary(names, 32)]
    for field in list(_attributions())[1:]:
        values = [getattr(row, field.name) for row in rows]
        if field.name == "tokens":
            flat = of_texts([token for tokens in values for token in tokens])
            columns.append(arrays.of_lists(flat, list(map(len, values))))
        elif field.name in LISTS:
            flat = arrays.of_numbers(np.concatenate([value.ravel() for value in values]).astype(KINDS[field.name]))
            columns.append(arrays.of_lists(flat, [value.size for value in values]))
        elif field.name == "backend":
            columns.append(of_texts(values))
        else:
            columns.append(arrays.of_numbers(np.array(values, KINDS[field.name])))
    return pa.Table.from_arrays(columns, schema=_attributions())


def attributions_of(table: pa.Table) -> list[Attributions]:
    """Invert `attributions`, but for the names, to the last bit."""
    columns: dict[str, list[Any]] = {}
    for name in FIELDS:
        column = table.column(name).combine_chunks()
        if name in ("tokens", "backend"):
            columns[name] = column.to_pylist()
        elif name in LISTS:
            columns[name] = np.split(arrays.numbers(column.flatten()), np.cumsum(arrays.sizes(column))[:-1])
        else:
            columns[name] = arrays.numbers(column).tolist()
    return [
        Attributions(
            **{
                **dict(zip(columns, row, strict=True)),
                "tokens": tuple(row[FIELDS.index("tokens")]),
                "offsets": row[FIELDS.index("offsets")].reshape(-1, 2),
            }
        )
        for row in zip(*columns.values(), strict=True)
    ]


def scores(names: Sequence[bytes], rows: Sequence[MeasureColumn]) -> pa.Table:
    """Return the values of measures on the same examples as a table, a row for each measure.

    A name has 32 bytes, of everything but the answers that affects a number: measure and examples.
    """
    import pyarrow as pa

    from ranker.files.arrow import of_texts

    columns = [
        arrays.of_binary(names, 32),
        arrays.of_lists(arrays.of_numbers(_concat([row.values for row in rows], np.float64)), _sizes(rows, "values")),
        arrays.of_lists(arrays.of_numbers(_concat([row.why for row in rows], np.int64)), _sizes(rows, "why")),
        arrays.of_lists(of_texts([reason for row in rows for reason in row.reasons]), _sizes(rows, "reasons")),
    ]
    return pa.Table.from_arrays(columns, schema=_scores())


def _concat(parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind)


def _sizes(rows: Sequence[MeasureColumn], name: str) -> list[int]:
    return [len(getattr(row, name)) for row in rows]


def scores_of(table: pa.Table) -> list[MeasureColumn]:
    """Invert `scores`, but for the names, to the last bit."""
    parts = []
    for name in ("values", "why"):
        column = table.column(name).combine_chunks()
        parts.append(np.split(arrays.numbers(column.flatten()), np.cumsum(arrays.sizes(column))[:-1]))
    reasons = map(tuple, table.column("reasons").to_pylist())
    return [MeasureColumn(*row) for row in zip(*parts, reasons, strict=True)]


def serialize(table: pa.Table, key: str) -> bytes:
    """Return a table as the content of a shard, with the digest of its key."""
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    marked = table.replace_schema_metadata({KEY: f"{FORMAT} {key}".encode()})
    parquet.write_table(marked, sink, compression="zstd", use_dictionary=False)
    return bytes(sink.getvalue().to_pybytes())


def deserialize(content: bytes, name: str, key: str | None, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the table of a shard.

    Args:
        name: the file's, which is its checksum.
        key: the digest of its expected key, or the start of it; None for any.
        columns: those to read; None for all.

    Raises:
        ValueError: it is damaged, of another key, or no shard.
    """
    import pyarrow as pa
    from pyarrow import parquet

    if shard_name(content) != name:
        raise ValueError("its checksum is another")
    try:
        with within(LIMITS, name):
            file = parquet.ParquetFile(pa.BufferReader(content))
            groups = footers.read_footer(io.BytesIO(content), name)
            LIMITS.check(name, "shard", sum(chunk.size + 8 * chunk.values for group in groups for chunk in group))
            # without Arrow's threads: a shard is small, and a process that ends while they do can be aborted
            table = file.read(columns=None if columns is None else list(columns), use_threads=False)
    except (pa.ArrowException, OSError, DataError) as error:
        raise ValueError("it holds no rows of ours") from error
    number, _, own_key = (table.schema.metadata or {}).get(KEY, b"").decode(errors="replace").partition(" ")
    wanted = {NAME} if columns is None else set(columns)
    if number != str(FORMAT) or not wanted <= set(table.column_names) or table.schema.field(NAME).type != pa.binary(32):
        raise ValueError("it holds no rows of ours")
    if key is not None and not own_key.startswith(key):
        raise ValueError("it is of another key")
    return table.replace_schema_metadata(None)


def check(table: pa.Table, key: Mapping[str, Any]) -> None:
    """Refuse with a ValueError a table that does not fit its key: answers of a kind, scores, or attributions.

    Args:
        table: with all columns, see `deserialize`.
        key: itself. Where it has labels, there must be a probability of each.
    """
    if not _fits(table, key):
        raise ValueError("it holds no rows of ours")
    of_labels = bool(key.get("labels")) and "probs" in table.column_names
    if of_labels and set(arrays.sizes(table.column("probs")).tolist()) - {len(key["labels"])}:
        raise ValueError("its rows are of another kind")


def _fits(table: pa.Table, key: Mapping[str, Any]) -> bool:
    import pyarrow as pa
    from pyarrow import compute

    lists = [column for column in table.columns if pa.types.is_nested(column.type)]
    if any(column.null_count for column in [*table.columns, *map(compute.list_flatten, lists)]):
        return False
    schema = table.schema.remove_metadata()
    if "scores" in key:
        if not schema.equals(_scores()):
            return False
        places = table.column("why").combine_chunks()
        sizes, numbers = arrays.sizes(places), arrays.numbers(places.flatten())
        bounds = np.repeat(arrays.sizes(table.column("reasons")), sizes)
        return bool(np.all([*(arrays.sizes(table.column("values")) == sizes), *(numbers < bounds), *(numbers >= -1)]))
    if "answers" not in key:
        if not schema.equals(_attributions()):
            return False
        size = {name: arrays.sizes(table.column(name)) for name in LISTS}
        target, tokens = arrays.numbers(table.column("target")), size["tokens"]
        alike = [size[name] == tokens for name in ("segment", "word", "scores")] + [size["offsets"] == 2 * tokens]
        return bool(np.all([*alike, target >= 0, target < size["probs"]]))
    try:
        answer_class(key["answers"]).of_columns(columns_of(table))
    except (KeyError, TypeError, ValueError):
        return False
    return True


def shard_name(content: bytes) -> str:
    """Return a shard's file name: the checksum of its content."""
    return f"{hashlib.sha256(content).hexdigest()[:32]}.parquet"


def _scores() -> pa.Schema:
    import pyarrow as pa

    floats, integers, texts = pa.list_(pa.float64()), pa.list_(pa.int64()), pa.list_(pa.string())
    return pa.schema({NAME: pa.binary(32), "values": floats, "why": integers, "reasons": texts})


def _attributions() -> pa.Schema:
    import pyarrow as pa

    floats, integers = pa.list_(pa.float64()), pa.list_(pa.int64())
    kinds = {
        NAME: pa.binary(32),
        "probs": floats,
        "target": pa.int64(),
        "tokens": pa.list_(pa.string()),
        "segment": integers,
        "word": integers,
        "offsets": integers,
        "scores": floats,
        "backend": pa.string(),
        "residual": pa.float64(),
        "effort": pa.int64(),
    }
    return pa.schema(kinds)
