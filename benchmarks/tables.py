"""Tables of predictions of three sizes, read and joined: ``python -m benchmarks.tables`` prints a table.

Each line is a process of its own, so that its peak memory is its own. Seconds are of computing (CPU); the ratio is to
`import numpy, pyarrow, pyarrow.parquet, pyarrow.compute` in the same process: what any program needs that reads such a
file. Memory is the peak of the process above what it had after the imports. Two lines have twice the rows of the one
before them: the time of a join grows with the rows, and not with their square.

The last line is a whole run, `rank-models --models wide.csv`, from the start of the program to its report.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

NAMES = ("negative", "positive")


def wide(models: int, rows: int, folder: Path) -> Path:
    """Write a CSV with a column of labels for each model, an id and a text, and the truth."""
    import numpy as np

    rng = np.random.default_rng(0)
    drawn, truth = rng.integers(2, size=(rows, models)).tolist(), rng.integers(2, size=rows).tolist()
    path = folder / "wide.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", *(f"model-{m}" for m in range(models)), "label"])
        for number, row in enumerate(drawn):
            labels = [NAMES[label] for label in (*row, truth[number])]
            writer.writerow([f"row-{number}", f"A sentence, the one of number {number}.", *labels])
    return path


def shuffled(models: int, rows: int, folder: Path) -> Path:
    """Write a CSV of probabilities whose ids are in another order than the rows."""
    import numpy as np

    rng = np.random.default_rng(0)
    path = folder / "shuffled.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", *(f"model-{m}/{name}" for m in range(models) for name in NAMES)])
        for number in rng.permutation(rows).tolist():
            scores = [p for first in rng.random(models).tolist() for p in (first, 1 - first)]
            writer.writerow([f"row-{number}", f"A sentence, the one of number {number}.", *scores])
    return path


def parquet(models: int, rows: int, folder: Path) -> Path:
    """Write a Parquet file with a column of labels for each model, an id and a text."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet as pq

    rng = np.random.default_rng(0)
    names = np.array(NAMES)
    columns = {
        "id": pa.array([f"row-{number}" for number in range(rows)]),
        "text": pa.array([f"A sentence, the one of number {number}." for number in range(rows)]),
        **{f"model-{m}": pa.array(names[rng.integers(2, size=rows)].tolist()) for m in range(models)},
    }
    path = folder / "wide.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=2_000)
    return path


MADE: dict[str, Callable[[int, int, Path], Path]] = {"wide": wide, "shuffled": shuffled, "parquet": parquet}
SIZES = (
    ("wide", 60, 5_000),
    ("shuffled", 1, 20_000),
    ("shuffled", 1, 40_000),
    ("parquet", 1_000, 10_000),
    ("parquet", 1_000, 20_000),
)


def peak() -> float:
    """Return the peak memory of this process in megabytes; on Linux without that of its parent, which counts there."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(path: Path, models: int, rows: int) -> tuple[float, float, float, float, float]:
    """Seconds of the imports, of reading, understanding and joining, and the megabytes that the last three took."""
    start = time.process_time()
    import numpy as np
    import pyarrow as pa  # noqa: F401  # what it costs is measured
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401

    imported = time.process_time() - start
    from ranker.files import reader
    from ranker.sources.tables import join, reading
    from ranker.sources.tables.base import RequestedRows
    from ranker.tasks.classes import ClassificationTask

    requested = RequestedRows(
        tuple(f"row-{number}" for number in range(rows)),
        tuple((f"A sentence, the one of number {number}.",) for number in range(rows)),
    )
    before = peak()
    start = time.process_time()
    columns = reader.read_columns(path)
    read_s = time.process_time() - start
    understood = reading.parse_predictions(columns, ClassificationTask("sentiment", NAMES), rows=requested)
    inspecting = time.process_time() - start - read_s
    joined = join.join(understood, requested)
    done = time.process_time() - start - read_s - inspecting
    memory = peak() - before
    assert len(joined.models) == models  # noqa: S101  # a benchmark of the wrong thing is none
    assert all((model.state == 0).all() for model in joined.models)  # noqa: S101
    probs = joined.models[-1].probs
    assert probs is not None and np.isfinite(probs).all()  # noqa: S101, PT018
    return imported, read_s, inspecting, done, memory


def whole(path: Path) -> tuple[float, float, float]:
    """Seconds of the imports, of a whole run, and the megabytes that it took."""
    start = time.process_time()
    import numpy as np  # noqa: F401  # what it costs is measured
    import pyarrow as pa  # noqa: F401
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401

    imported = time.process_time() - start
    before = peak()
    start = time.process_time()
    from ranker.cli import main as program

    report = str(path.with_name("report"))
    with contextlib.suppress(SystemExit):
        program(["--quiet", "--models", str(path), "--store", str(path.with_name("store")), "-o", report])
    return imported, time.process_time() - start, peak() - before


def main() -> None:
    """Measure all sizes, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("PATH", "MODELS", "ROWS"), help="measure one file, in this process")
    parser.add_argument("--run", metavar="PATH", type=Path, help="measure a whole run on one file, in this process")
    options = parser.parse_args()
    if options.one:
        print(*measured(Path(options.one[0]), *map(int, options.one[1:])))
        return
    if options.run:
        print(*whole(options.run))
        return
    print("| table | models | rows | MB of file | read s | understood s | joined s | times the imports | peak MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for kind, models, rows in SIZES:
        with tempfile.TemporaryDirectory() as scratch:
            path = MADE[kind](models, rows, Path(scratch))
            imported, read_s, inspect_s, done, peak_mb = in_a_process("--one", str(path), str(models), str(rows))
            size = path.stat().st_size / 2**20
        ratio = (read_s + inspect_s + done) / imported
        print(
            f"| {kind} | {models:,} | {rows:,} | {size:.1f} | {read_s:.2f} | {inspect_s:.2f} | {done:.2f} "
            f"| {ratio:.1f} | {peak_mb:.0f} |"
        )
    with tempfile.TemporaryDirectory() as scratch:
        path = wide(60, 5_000, Path(scratch))
        imported, seconds, peak_mb = in_a_process("--run", str(path))
    print(f"a whole run of 60 x 5,000: {seconds:.2f} s, {seconds / imported:.1f} times the imports, {peak_mb:.0f} MB")


def in_a_process(*arguments: str) -> list[float]:
    """Return the output of this program in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.tables", *arguments]
    return [
        float(number) for number in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    ]


if __name__ == "__main__":
    main()
