"""What slow methods made of draws of a pool's rows, kept in the store: the same draws are not ranked twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from factors.types import Floats, Ints
from ranker.runs import functions
from ranker.runtime import shards
from ranker.runtime.shards import MeasureColumn
from ranker.runtime.store import Entry, Store
from ranker.statistics.pool import MANY, Pool, PoolMethod, Targets

REVISION = 2
"""Of what is kept here: raised when the same sources come to give other numbers."""


@contextmanager
def kept_methods(
    methods: Sequence[PoolMethod], pool: Pool | None, store: Store | None
) -> Iterator[tuple[PoolMethod, ...]]:
    """The methods, those that take few draws with a memory. What is new is written at the end, whatever ends it.

    A method that nobody can identify (`functions`) has none.

    Raises:
        StoreError: the store cannot be read or written.
    """
    made = [None if pool is None or store is None else _memory(one, pool, store) for one in methods]
    try:
        yield tuple(one if memory is None else memory.of(one) for one, memory in zip(methods, made, strict=True))
    finally:
        for memory in made:
            if memory is not None:
                memory.write()


def _memory(method: PoolMethod, pool: Pool, store: Store) -> _Memory | None:
    """Where what a method gives on a pool, and on parts of it, is kept."""
    if method.draws == MANY:
        return None
    known = [functions.identity(one) for one in (method.estimate, method.pick) if one is not None]
    if None in known:
        return None
    key = {"scores": REVISION, "of": {"method": known, "pool": _digest(pool).hex()}}
    return _Memory(store.entry(key, method.name), {})


@dataclass(frozen=True)
class _Memory:
    """What is kept of one method on one population, and what is new."""

    entry: Entry
    new: dict[bytes, MeasureColumn]

    def of(self, method: PoolMethod) -> PoolMethod:
        """The method, with this memory."""
        pick = method.pick

        def estimate(pool: Pool, targets: Targets, rows: Ints) -> Floats:
            shown = targets.part(np.unique(rows))
            name = _named("estimate", pool, shown, rows)
            found = self.known(name, lambda: method.estimate(pool, targets, rows))
            return found.reshape(len(pool.probs), len(rows))

        def picked(pool: Pool, targets: Targets, count: int) -> Ints:
            name = _named("pick", pool, targets, np.array([count]))
            return self.known(name, lambda: pick(pool, targets, count) if pick else None).astype(np.int64)

        return replace(method, estimate=estimate, pick=picked if pick else None)

    def known(self, name: bytes, compute: Callable[[], Floats | Ints | None]) -> Floats:
        """What stands under a name, or is computed now."""
        if name in self.new:
            return self.new[name].values
        known = self.entry.scores([name])
        if name in known:
            return known[name].values
        values = np.asarray(compute(), dtype=np.float64).ravel()
        self.new[name] = MeasureColumn(values, np.full(len(values), -1))
        return values

    def write(self) -> None:
        """Keep what is new."""
        if self.new:
            self.entry.add(shards.scores(list(self.new), list(self.new.values())))
            self.entry.compact()


def _named(what: str, pool: Pool, targets: Targets, rows: Ints) -> bytes:
    """32 bytes that identify what is asked of a method."""
    return _hashed(what, _digest(pool), targets.outcomes, targets.labels, rows)


def _digest(pool: Pool) -> bytes:
    """32 bytes that identify a pool."""
    own = pool.in_domain
    domain = () if own is None else (own.probs, own.labels)
    return _hashed("pool", pool.probs, pool.factor, pool.silence, *domain)


def _hashed(*parts: object) -> bytes:
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(json.dumps([part.dtype.str, part.shape]).encode())
            found.update(np.ascontiguousarray(part).tobytes())
        else:
            found.update(part if isinstance(part, bytes) else json.dumps(part).encode())
    return found.digest()
