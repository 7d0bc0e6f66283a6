"""Rows of training data by name: from a user's files, or from our own generators."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.recipe import RecipeSource
from factors import Example
from ranker.datasets import readers
from ranker.errors import DataError, UsageError, look_up
from ranker.files import reader
from ranker.tasks.classes import ClassificationTask

NO_GOLD_LABEL = "-"
"""What SNLI and MNLI write where the annotators did not agree; such a row is passed over."""


def read(
    source: RecipeSource, name: str, task: ClassificationTask, data_dir: Path | None, seed: int
) -> tuple[Example, ...]:
    """Return the examples of a source, in the order of its files or its generator, as ``NAME-0``, ``NAME-1``, ...

    Args:
        source: what to read, and which rows of it.
        name: the source's name.
        task: the labels.
        data_dir: what the files are relative to.
        seed: of a generator and of balancing; each source draws for itself.

    Raises:
        UsageError: no such generator, or files without a data directory.
        DataError: a file is missing or malformed, with its line; or no row is left.
    """
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if source.generator:
        from experiments.generate import SOURCES

        examples = look_up("generator", source.generator, SOURCES)(rng, source.rows[1] if source.rows else 0)
    else:
        if data_dir is None:
            text = f"`--data-dir` is needed: the source {name!r} is read from {source.files[0]}"
            raise UsageError(text, option="data_dir")
        examples = [example for file in source.files for example in _from_file(source, task, data_dir / file)]
    renamed = [replace(example, id=f"{name}-{i}") for i, example in enumerate(examples)]
    chosen = renamed[slice(*source.rows)] if source.rows else renamed
    if not chosen:
        predicate = f"has no rows: {len(renamed)} were found, before its `rows` were taken"
        raise DataError.of(f"the source {name!r}", predicate, option="rows", value=source.rows)
    return tuple(balanced(chosen, rng) if source.balance else chosen)


def balanced(examples: Sequence[Example], rng: np.random.Generator) -> list[Example]:
    """Return as many rows of each label as of the rarest, drawn at random, in their original order.

    Example:
        >>> rows = [Example(str(i), ("A dog ran.",), int(i > 0)) for i in range(5)]
        >>> [row.target for row in balanced(rows, np.random.default_rng(0))]
        [0, 1]
    """
    return of_each_label(examples, min(Counter(example.target for example in examples).values()), rng)


def of_each_label(examples: Sequence[Example], count: int, rng: np.random.Generator) -> list[Example]:
    """So many rows of each label, drawn without replacement, in the order they had; no label may have fewer.

    Example:
        >>> rows = [Example(str(i), ("A dog ran.",), int(i > 1)) for i in range(5)]
        >>> [row.target for row in of_each_label(rows, 2, np.random.default_rng(0))]
        [0, 0, 1, 1]
    """
    labels = np.array([example.target for example in examples])
    chosen = [rng.choice(np.flatnonzero(labels == label), count, replace=False) for label in np.unique(labels)]
    return [examples[i] for i in sorted(np.concatenate(chosen))]


def _from_file(source: RecipeSource, task: ClassificationTask, path: Path) -> list[Example]:
    columns = {"label": (source.label,)} if source.label else {}
    file = reader.read_columns(path)
    layout = replace(readers.layout_of(file.order, columns), id=None, where=source.where)
    rows = (row for row in file.rows() if row.cells.get(source.label or "gold_label") != NO_GOLD_LABEL)
    return list(readers.examples(rows, task, layout))
