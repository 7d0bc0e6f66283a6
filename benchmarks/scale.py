"""Growth of time and memory with the input: rows of a file, characters of a text, models of a suite.

``python -m benchmarks.scale`` prints a table. Each line is a process of its own, so that its peak memory is its own;
seconds are of computing (CPU), memory is the peak of the process above what it had before the work. Twice the input
should take twice the time: the last column is the exponent of the growth from the line before, 1 where it is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from factors.types import Attributions, Example


def read(rows: int, folder: Path) -> Callable[[], object]:
    """Read a file of so many labelled pairs, and find their marks."""
    from ranker import labelled

    file = folder / "rows.jsonl"
    with file.open("w") as out:
        for number in range(rows):
            row = {"id": str(number), "premise": f"The doctor near the actor {number} danced.", "label": number % 2}
            out.write(json.dumps({**row, "hypothesis": "The actor danced."}) + "\n")
    return lambda: labelled(file, task="nli", like="hans-sub")


def text(characters: int, folder: Path) -> Callable[[], object]:
    """Cut a text of so many characters into words, find its marks, and encode it for a model of 128 tokens."""
    from ranker.datasets import sets
    from ranker.datasets.marks import RULES, marker
    from ranker.sources import suites
    from ranker.sources.hf import classifiers

    model = suites.load(["hans-sub-mini"]).models[0]
    loaded = classifiers.Classifier.load(model.source.place, sets.tasks()["nli"])
    words = ("The doctor near the actor danced and sang. " * (characters // 43 + 1))[:characters]

    def work() -> object:
        marks = marker({name: name for name in RULES})((words, words), {})
        return loaded.encode([Example("a", (words, words), 0, marks)])

    return work


def kept(rows: int, folder: Path) -> Callable[[], object]:
    """Keep so many rows in a store, and find them again."""
    from ranker.runtime.store import Store, collect_blocks

    examples = [Example(str(n), (f"The doctor {n}.", "The actor."), 0) for n in range(rows)]
    tokens = ("[CLS]", "the", "doctor", "number", "[SEP]", "the", "actor", "[SEP]")
    segment, word = np.array([-1, 0, 0, 0, -1, 1, 1, -1]), np.array([-1, 0, 1, 2, -1, 3, 4, -1])
    row = Attributions(np.array([0.5, 0.5]), 1, tokens, segment, word, np.zeros((8, 2), int), np.zeros(8))

    def work() -> object:
        entry = Store(folder).entry({"model": "a"})
        missing = entry.missing(examples)
        with collect_blocks(missing, entry.add) as keep:
            for _ in missing:
                keep([row])
        return Store(folder).entry({"model": "a"}).attributions(examples)

    return work


def ranked(models: int, folder: Path) -> Callable[[], object]:
    """Rank so many models by eight methods on 600 examples, and write the answer."""
    from factors import BUILTIN
    from ranker.report import render
    from ranker.results.header import Header
    from ranker.results.ranking import Ranking
    from ranker.results.table import ScoreTable
    from ranker.scoring.evaluation import evaluate

    rng = np.random.default_rng(0)
    accuracy = np.linspace(0.5, 0.95, models)
    values = (rng.random((models, 8, 600)) < accuracy[:, None, None]).astype(float)
    names = tuple(f"m{i}" for i in range(models))
    table = ScoreTable(names, tuple(BUILTIN.values())[:8], tuple(map(str, range(600))), values, truth=accuracy)
    header = Header("rows", "models", probe=10, seed=0)
    return lambda: render(Ranking(header, evaluate(table, probe=10), table), "json")


def answered(rows: int, folder: Path) -> Callable[[], object]:
    """Decide between 1,000 models by a table of their labels on so many rows, ten of them labelled.

    The file is read, SURROGATE ranks the models, the next row to label is chosen, and the page is written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    truth, labels = rng.integers(0, 2, rows), pa.array(["no", "yes"])
    labelled = set(rng.choice(rows, 10, replace=False).tolist())
    columns = {
        "id": pa.array([f"r{row}" for row in range(rows)]),
        "text": pa.array([f"The doctor {row} saw the actor dance." for row in range(rows)]),
        "label": pa.array([labels[int(c)].as_py() if row in labelled else None for row, c in enumerate(truth)]),
    }
    shared = rng.normal(size=rows)  # hard rows are hard for all models
    for number, level in enumerate(rng.uniform(0.1, 1.3, 1_000)):
        right = 0.5 * shared + 0.87 * rng.normal(size=rows) < level
        codes = pa.array(np.where(right, truth, 1 - truth).astype(np.int8))
        columns[f"model{number:04d}"] = pa.DictionaryArray.from_arrays(codes, labels)
    parquet.write_table(pa.table(columns), folder / "wide.parquet")
    del columns, shared
    return lambda: _decide(folder / "wide.parquet")


def _decide(file: Path) -> object:
    from ranker import Runtime, decide, load_suite
    from ranker.report import render
    from ranker.statistics.acquisition import next_rows
    from ranker.statistics.vote import believe

    believed = []

    def remember(*arguments: Any, **options: Any) -> Any:
        believed.append(believe(*arguments, **options))
        return believed[-1]

    with mock.patch("ranker.statistics.methods.believe", remember):
        ranking = decide(load_suite([str(file)]).models, pool_from_unlabelled=True, runtime=Runtime(store=None))
    return ranking, next_rows(believed[-1]), render(ranking, "html")


CASES = {
    "rows of a file": (read, (12_500, 25_000, 50_000, 100_000)),
    "characters of a text": (text, (25_000, 50_000, 100_000)),
    "rows of a store": (kept, (12_500, 25_000, 50_000, 100_000)),
    "models of a suite": (ranked, (13, 25, 50)),
    "rows of a wide table": (answered, (25_000, 50_000, 100_000)),
}


def measure(case: str, size: int) -> tuple[float, float]:
    """Seconds of computing, and MiB of peak memory above what was there before."""
    with tempfile.TemporaryDirectory() as folder:
        work = CASES[case][0](size, Path(folder))
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        alive = work()  # kept until the memory is read
        seconds, after = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        del alive
    return seconds, (after - before) / 1024


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser("python -m benchmarks.scale", description="How time and memory grow.").parse_args()
    print(f"{'':24} {'size':>8} {'seconds':>8} {'MiB':>6} {'growth':>7}")
    for case, (_, sizes) in CASES.items():
        last: tuple[int, float] | None = None
        for size in sizes:
            command = [sys.executable, "-m", "benchmarks.scale", case, str(size)]
            seconds, memory = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            growth = "" if last is None else f"{math.log(seconds / last[1]) / math.log(size / last[0]):.2f}"
            print(f"{case:24} {size:>8,} {seconds:>8.2f} {memory:>6.0f} {growth:>7}", flush=True)
            last = size, seconds


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
