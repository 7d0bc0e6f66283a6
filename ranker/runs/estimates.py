"""Store the results of slow pool methods, so that the same draws are not ranked twice."""

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
"""Version of the stored results; raised when the same sources give other numbers."""


@contextmanager
def cache_methods(methods: Sequence[PoolMethod], pool: Pool | None, store: Store) -> Iterator[tuple[PoolMethod, ...]]:
    """Yield the methods, those that take few draws with a cache. New results are written at the end, even on errors.

    Methods that are not ours (`functions`) have no cache.
    """
    caches = [None if pool is None else _cache_of(method, pool, store) for method in methods]
    try:
        yield tuple(
            method if cache is None else cache.wrap(method) for method, cache in zip(methods, caches, strict=True)
        )
    finally:
        for cache in caches:
            if cache is not None:
                cache.write()


def _cache_of(method: PoolMethod, pool: Pool, store: Store) -> _MethodCache | None:
    """Return the cache of a method's results on a pool and its parts; None for methods without one."""
    if method.draws == MANY:
        return None
    identities = [functions.identity(function) for function in (method.estimate, method.pick) if function is not None]
    if None in identities:
        return None
    key = {"scores": REVISION, "of": {"method": identities, "pool": _digest(pool).hex()}}
    return _MethodCache(store.entry(key, method.name), {})


@dataclass(frozen=True)
class _MethodCache:
    """Stored and new results of one method on one population."""

    entry: Entry
    new: dict[bytes, MeasureColumn]

    def wrap(self, method: PoolMethod) -> PoolMethod:
        """Return the method with this cache."""
        pick = method.pick

        def estimate(pool: Pool, targets: Targets, rows: Ints) -> Floats:
            shown_targets = targets.part(np.unique(rows))
            name = _key("estimate", pool, shown_targets, rows)
            values = self.load_or_compute(name, lambda: method.estimate(pool, targets, rows))
            return values.reshape(len(pool.probs), len(rows))

        def picked(pool: Pool, targets: Targets, count: int) -> Ints:
            name = _key("pick", pool, targets, np.array([count]))
            return self.load_or_compute(name, lambda: pick(pool, targets, count) if pick else None).astype(np.int64)

        return replace(method, estimate=estimate, pick=picked if pick else None)

    def load_or_compute(self, name: bytes, compute: Callable[[], Floats | Ints | None]) -> Floats:
        """Return the values stored under a name, or compute them."""
        if name in self.new:
            return self.new[name].values
        stored = self.entry.scores([name])
        if name in stored:
            return stored[name].values
        values = np.asarray(compute(), dtype=np.float64).ravel()
        self.new[name] = MeasureColumn(values, np.full(len(values), -1))
        return values

    def write(self) -> None:
        """Store the new results."""
        if self.new:
            self.entry.add(shards.scores(list(self.new), list(self.new.values())))
            self.entry.compact()


def _key(step: str, pool: Pool, targets: Targets, rows: Ints) -> bytes:
    """Return 32 bytes that identify one call of a method."""
    return _hash(step, _digest(pool), targets.outcomes, targets.labels, rows)


def _digest(pool: Pool) -> bytes:
    """Return 32 bytes that identify a pool."""
    in_domain = pool.in_domain
    domain = () if in_domain is None else (in_domain.probs, in_domain.labels)
    voters = () if pool.voters is None else ("voters", pool.voters.probs, pool.voters.trusted)
    return _hash("pool", pool.probs, pool.factor, pool.silence, pool.in_domain_accuracy, *domain, *voters)


def _hash(*parts: object) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(json.dumps([part.dtype.str, part.shape]).encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(part if isinstance(part, bytes) else json.dumps(part).encode())
    return digest.digest()
