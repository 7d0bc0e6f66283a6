"""Time of a store with many answers: writing, reading, and finding what is missing, beside plain Parquet.

    python -m benchmarks.store [rows] [models]

The yardstick is pyarrow alone: the same columns written as one file a model, and read again. Seconds are not stable
from machine to machine; the ratios, measured side by side, are more so. Memory is what Python and Arrow hold at most.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from factors.types import Example
from ranker.datasets.identity import Texts
from ranker.runtime.shards import answers
from ranker.runtime.store import Store, collect_blocks
from ranker.tasks.classes import ClassProbabilities


def seconds(work: Callable[[], object]) -> float:
    """Measure the times."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Measure, and print a line each."""
    rows, models = (int(argument or default) for argument, default in zip_longest(sys.argv[1:], (100_000, 8)))
    examples = Texts(Example(str(n), (f"The doctor {n} saw the actor.", "The actor ran."), 0) for n in range(rows))
    rng = np.random.default_rng(0)
    answers_of_models = [ClassProbabilities(rng.dirichlet([1.0, 1.0], rows)) for _ in range(models)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        def write() -> None:
            for n, stored_answers in enumerate(answers_of_models):
                blocks = [stored_answers.part(range(start, min(start + 256, rows))) for start in range(0, rows, 256)]
                entry = Store(root / "store").entry({"model": n, "answers": "classes"})
                with collect_blocks(entry.missing(examples), entry.add) as keep:
                    for block in blocks:
                        keep(block)
                entry.compact()

        def read() -> None:
            for n, stored_answers in enumerate(answers_of_models):
                stored = Store(root / "store").entry({"model": n, "answers": "classes"}).predictions(examples)
                assert stored.columns()["probs"].tobytes() == stored_answers.probs.tobytes()

        def missing() -> None:
            for n in range(models):
                assert not Store(root / "store").entry({"model": n, "answers": "classes"}).missing(examples)

        names = [b"%032d" % n for n in range(rows)]

        def plain_write() -> None:
            for n, stored_answers in enumerate(answers_of_models):
                parquet.write_table(answers(names, stored_answers.columns()), root / f"{n}.parquet", compression="zstd")

        def plain_read() -> None:
            for n in range(models):
                parquet.read_table(root / f"{n}.parquet")

        print(f"{rows:,} answers x {models} models, Arrow {pa.__version__}")
        for name, ours, theirs in (
            ("write", write, plain_write),
            ("read", read, plain_read),
            ("missing", missing, None),
        ):
            took = seconds(ours)
            beside = f", {took / seconds(theirs):.1f} times plain Parquet" if theirs else ""
            print(f"{name}: {took:.2f} s{beside}")
    print(f"memory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
