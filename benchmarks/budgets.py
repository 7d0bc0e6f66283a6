"""What hostile small files and honest large tables cost: `python -m benchmarks.budgets`.

Each line is a program of its own, on one thread, once: seconds of processor time, of the program and all that it
starts, and its peak of memory. The hostile files are refused (exit status 2) since rows, columns, cells and parts are
counted while they are read; the honest ones are ranked. `docs/limits.md` has the limits.
"""

from __future__ import annotations

import ctypes
import gzip
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.start import RANK, SUBREAPER, cost, written

MILLION = 1_000_000


def hostile(folder: Path) -> Iterator[tuple[str, Path]]:
    """Small files that would take minutes, or all memory, if they were read whole."""
    header = b"id,label,prediction\n"
    for name, line in (("30 million blank lines, gzipped", b"\n"), ("30 million rows, gzipped", b"1,a,b\n")):
        path = folder / f"{len(line)}.csv.gz"
        with gzip.open(path, "wb") as file:
            file.write(header)
            for _ in range(30):
                file.write(line * MILLION)
        yield name, path
    member = gzip.compress(b"")
    path = folder / "members.csv.gz"
    path.write_bytes(member * (20 * MILLION // len(member)))
    yield "20 MB of empty gzip members", path
    path = folder / "zeros.json"
    with path.open("w") as file:  # in parts: the peak of this process would count as that of the programs
        file.write("[0")
        for _ in range(30):
            file.write(",0" * MILLION)
        file.write("]")
    yield "a list of 30 million zeros, 60 MB", path
    names = [f"m{number}" for number in range(20_000)]
    yield "20,000 models x 24 rows", written(folder / "wide.csv", ("id", "label", *names), table(24, len(names)))


def table(rows: int, models: int) -> list[list[str]]:
    """Two labels in turn, and answers of models that are 50 to 83 % right."""
    drawn = random.Random(0)
    right = [0.5 + number / (3 * models) for number in range(models)]
    return [
        [str(row), "ab"[row % 2], *("ab"[(row + (drawn.random() > share)) % 2] for share in right)]
        for row in range(rows)
    ]


def honest(folder: Path) -> Iterator[tuple[str, Sequence[str | Path]]]:
    """Tables of a size that people have."""
    names = [f"m{number}" for number in range(1_000)]
    yield (
        "1,000 models x 60 rows",
        ("--models", written(folder / "models.csv", ("id", "label", *names), table(60, 1_000))),
    )
    drawn, classes = np.random.default_rng(0), [f"class{number}" for number in range(200)]
    files: list[str | Path] = []
    for model in range(5):
        scores = drawn.dirichlet(np.full(len(classes), 0.05), size=400)
        scores[np.arange(400), np.arange(400) % len(classes)] += 0.5 + 0.1 * model
        rows = [[row, *(f"{score:.4f}" for score in line / line.sum())] for row, line in enumerate(scores)]
        files += ["--models", written(folder / f"classes-{model}.csv", ("id", *classes), rows)]
    labelled = [(row, f"text {row}", classes[row % len(classes)]) for row in range(0, 400, 40)]
    ten = written(folder / "ten.csv", ("id", "text", "label"), labelled)
    pool = written(folder / "pool.csv", ("id", "text"), [(row, f"text {row}") for row in range(400)])
    yield "5 models, 200 classes, a pool of 400 rows", ("--data", ten, "--pool", pool, *files)


def main() -> None:
    """Measure, and print a table."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    print("| file | ends with | processor s | MB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, path in hostile(folder):
            for door in (("--models", path), ("--data", path, "--models", "hans-sub-mini")):
                line(f"{name} (`{door[0]}`)", door, 2)
        for name, command in honest(folder):
            line(name, command, 0)


def line(name: str, command: Sequence[str | Path], status: int) -> None:
    """Run a program, and print its line of the table."""
    seconds, _, megabytes = cost((*RANK, *command, "--quiet"), status)
    print(f"| {name} | {status} | {seconds:.1f} | {megabytes:.0f} |", flush=True)


if __name__ == "__main__":
    main()
