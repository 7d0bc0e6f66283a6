"""Arrays of numpy, ``.npy`` and ``.npz``, as columns. Nothing is unpickled: numpy reads no more than the headers."""

from __future__ import annotations

import io
import math
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy

from ranker.errors import DataError, listed
from ranker.files.archive import Archive
from ranker.files.arrow import compact, mask_empty
from ranker.files.columns import Columns
from ranker.limits import LIMITS, Limits, open_regular

ALONE, TRUTH = "predictions", "label_ids"
"""Names of the predictions and of the true labels in `trainer.predict`; a ``.npy`` file holds the former."""

PLACES = ("arr_0", "arr_1")
"""Names that ``np.savez(file, *trainer.predict(rows))`` gives them."""


def read_npy(path: Path, limits: Limits = LIMITS) -> Columns:
    """Read arrays as columns: n numbers or texts are a column, (n, C) numbers a group of C.

    Beside predictions (`ALONE`, or the first of `PLACES`), arrays of other shapes, such as metrics, are not read.

    Raises:
        DataError: an array holds Python's objects, has another shape or length, or is larger than `limits`.
    """
    cells: dict[str, Any] = {}
    groups: dict[str, tuple[str, ...]] = {}
    unread: dict[str, str] = {}
    sizes: dict[str, int] = {}
    try:
        for name, array in _arrays(path, limits, unread):
            of_rows = array.ndim in (1, 2)
            size = sizes.get(ALONE, sizes.get(PLACES[0]))
            if size is not None and name not in (TRUTH, PLACES[1]) and not (of_rows and len(array) == size):
                unread[name] = f"an array of the shape {array.shape}"
                continue
            if not of_rows or array.shape[1:] == (0,):
                raise DataError.at(
                    path,
                    f"the array {name!r} must have the shape (rows,) or (rows, classes) (got {array.shape})",
                    option=name,
                    value=array.shape,
                )
            sizes[name] = len(array)
            limits.check(path, "table_rows", len(array))
            limits.check(path, "columns", array.shape[1] if array.ndim == 2 else 1)
            if array.ndim == 2:
                groups[name] = tuple(f"{name}/{i}" for i in range(array.shape[1]))
            for column, values in zip(groups.get(name, (name,)), np.atleast_2d(array.T), strict=True):
                cells[column] = compact(mask_empty(pa.array(np.ascontiguousarray(values))))
    except (ValueError, OverflowError, OSError, pa.ArrowException, SyntaxError, MemoryError) as error:
        raise DataError.unreadable(path, error) from error
    if len(set(sizes.values())) > 1:
        numbers = listed(f"{name!r} {size:,}" for name, size in sizes.items())
        raise DataError.at(path, f"its arrays have different numbers of rows: {numbers}", value=sizes)
    limits.check(path, "table_cells", len(cells) * max(sizes.values(), default=0))
    return Columns(str(path), max(sizes.values(), default=0), cells, groups, unread, order=tuple(sizes), limits=limits)


def _arrays(path: Path, limits: Limits, unread: dict[str, str]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of a file by name, predictions first; other content is added to `unread`."""
    with os.fdopen(open_regular(path), "rb") as file:
        if path.suffix == ".npy":
            yield ALONE, _array(file.read(), f"{path}", limits)
            return
        archive = Archive(file, path, limits, parts="members", size="file", total="file")
        names = {part: part.removesuffix(".npy") for part in archive.parts}
        first = ALONE if ALONE in names.values() else PLACES[0]
        members = dict(sorted(names.items(), key=lambda part: part[1] != first))
        twice = archive.repeated | {name for name, count in Counter(members.values()).items() if count > 1}
        if twice:
            raise DataError.at(path, f"two arrays are named {min(twice).removesuffix('.npy')!r}")
        limits.check(path, "file", sum(part.size for part in archive.parts.values()))
        for part, name in members.items():
            content = archive.read(part)
            try:
                array = _array(content, f"{path}: the array {name!r}", limits)
            except DataError:
                is_needed = name == first or (name in (TRUTH, PLACES[1]) and not _is_single(content))
                if is_needed or first not in members.values():
                    raise
                unread[name] = "no numbers or texts"
                continue
            yield name, array


def _is_single(content: bytes) -> bool:
    """Return whether an array holds one value, as that of no true labels does."""
    file = io.BytesIO(content)
    return _header(file, npy.read_magic(file))[0] == ()


def _array(content: bytes, place: str, limits: Limits) -> np.ndarray:
    """Return one array, after checking its header against the content."""
    file = io.BytesIO(content)
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise DataError.of(place, f"is written in the version {version} of the format, which holds no plain numbers")
    shape, by_column, kind = _header(file, version)
    if kind.hasobject:
        raise DataError.of(place, "holds Python's own objects, which are never unpickled; save numbers or texts")
    if kind.kind not in "biufU":
        raise DataError.of(place, f"must hold numbers, texts or truth values (got {kind})", value=kind)
    count, got = math.prod(shape), len(content) - file.tell()
    if count * kind.itemsize != got:
        raise DataError.of(
            place, f"must have {count * kind.itemsize:,} bytes, as its header says (got {got:,})", value=got
        )
    if kind.kind == "U":
        limits.check(place, "cell", kind.itemsize // 4)
    array = np.frombuffer(content, kind, count, file.tell()).reshape(shape, order="F" if by_column else "C")
    return array.astype(np.float64 if kind.kind == "f" else kind.newbyteorder("="))


def _header(file: IO[bytes], version: tuple[int, int]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape of an array, whether it is written by columns, and its type."""
    try:
        header = npy.read_array_header_1_0(file) if version == (1, 0) else npy.read_array_header_2_0(file)
        if min(header[0], default=0) < 0:
            raise ValueError(header[0])
    except Exception as error:  # numpy reads it as Python's own text, which may end anywhere
        raise ValueError("its header is none of numpy's") from error
    return header
