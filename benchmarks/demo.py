"""Cost of the README's demo from an empty store: processor time of it and its processes, alone and beside others.

    python -m benchmarks.demo [busy]

``busy`` is how many other processes compute meanwhile, one by default. Where threads spin while they wait for each
other, a busy machine makes the demo dearer; the ratio of the two runs, made one after the other, says by how much.
On Linux only: processes that the demo leaves behind, as the server that forks its workers, are waited for here.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import sys
import tempfile

from benchmarks.start import RANK, SUBREAPER, cost

COMMAND = (*RANK, "--ood", "hans-sub", "--probe", "10", "--quiet")

ONE_PROCESS = ("--no-isolate", "--workers", "1")
ONE_GUEST = ("--isolate", "--workers", "1")
"""The same work in one process, and in a guest after the other; both on one thread."""


def spin() -> None:
    """Compute for ever."""
    while True:
        pass


def demo(*options: str, threads: int | None = None) -> tuple[float, float]:
    """Seconds of processor time of a cold demo with all its processes, and seconds on the clock."""
    environment = os.environ | ({} if threads is None else {"OMP_NUM_THREADS": str(threads)})
    with tempfile.TemporaryDirectory() as store:
        return cost([*COMMAND, *options, "--store", store], environment=environment)[:2]


def main() -> None:
    """Measure, and print a line each."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    alone, wall = demo()
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"alone: {alone:.0f} s of processor time, {wall:.0f} s on the clock, {os.cpu_count()} cores")
    print(f"memory of its largest process: {largest:.0f} MiB")
    in_process, guest = (min(demo(*options, threads=1)[0] for _ in range(2)) for options in (ONE_PROCESS, ONE_GUEST))
    print(f"one process: {in_process:.0f} s, a guest after the other: {guest:.0f} s, {guest / in_process:.3f} times")
    spinners = [multiprocessing.get_context("spawn").Process(target=spin, daemon=True) for _ in range(count)]
    for spinner in spinners:
        spinner.start()
    try:
        beside, wall = demo()
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.join()
    print(
        f"beside {count} busy: {beside:.0f} s of processor time, {wall:.0f} s on the clock, {beside / alone:.2f} times"
    )


if __name__ == "__main__":
    main()
