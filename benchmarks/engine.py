"""The engine next to plain loops: `python -m benchmarks.engine` (two minutes).

Everything runs in one process and on one thread, by turns, and the medians of the processor times are compared. Two
loops stand for what one writes without the engine, both given the same draws and giving the same numbers:

- *lists*: scores as nested Python lists, `sum(...) / K`, comparisons one by one;
- *np.mean*: scores as arrays, `np.mean` of the drawn examples for each model, method and draw.

With 50 models the loops are timed on the first draws only, as the table says, and multiplied; they do the same work for
each draw, so this is fair to them.

Memory: the engine holds CHUNK * (2 M F + P F / 8) * 8 bytes of drawn means and points, 25 MB at 50 models and 12
methods, however many draws; the exact probabilities need 30 bytes for each of up to 2^20 differences of one method,
30 MB. Both are measured below with tracemalloc. Models that are sure of nearly everything have log losses from 1e-9 to
10, which only grids of up to 2^22 points resolve, one at a time: up to 200 MB. They come last.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported

import argparse
import platform
import statistics
import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.clock import seconds
from factors.rounding import TIE
from factors.types import Floats, Ints
from ranker.statistics import engine, exact

METHODS, EXAMPLES, DRAWS, PROBE = 12, 600, 500, 10
REPEATS = 5


def table(models: int) -> Floats:
    """Return (M, F, N) scores: the first method 0 or 1 like ACC, the others real; models from poor to good."""
    rng = np.random.default_rng(0)
    quality = np.linspace(0.0, 1.0, models)[:, None, None]
    values = quality + rng.normal(size=(models, METHODS, EXAMPLES))
    values[:, 0] = values[:, 0] > 0
    return np.asarray(values)


def sure(models: int) -> Floats:
    """Return (M, 1, N) minus the log losses of models that are sure of nearly everything, and mostly right."""
    margin = np.random.default_rng(2).normal(np.linspace(8, 10, models)[:, None], 8, (models, EXAMPLES))
    return np.asarray(-np.logaddexp(0, -margin)[:, None])


def lists(values: Floats, draws: Ints) -> Floats:
    """Return (P, F) results of the engine, in plain Python."""
    scores, listed = values.tolist(), draws.tolist()
    models, methods = len(scores), len(scores[0])
    beats = [[0.0] * methods for _ in range(models * (models - 1) // 2)]
    for draw in listed:
        for f in range(methods):
            means = [sum(scores[m][f][n] for n in draw) / len(draw) for m in range(models)]
            pair = 0
            for a in range(models):
                for b in range(a + 1, models):
                    difference = means[a] - means[b]
                    beats[pair][f] += 0.5 if abs(difference) <= TIE else float(difference > 0)
                    pair += 1
    return np.array(beats) / len(listed)


def mean_loops(values: Floats, draws: Ints) -> Floats:
    """Return (P, F) the same with an `np.mean` for each model, method and draw."""
    models, methods, _ = values.shape
    beats = np.zeros((models * (models - 1) // 2, methods))
    for draw in draws:
        for f in range(methods):
            means = [np.mean(values[m, f, draw]) for m in range(models)]
            pair = 0
            for a in range(models):
                for b in range(a + 1, models):
                    difference = means[a] - means[b]
                    beats[pair, f] += 0.5 if abs(difference) <= TIE else float(difference > 0)
                    pair += 1
    return np.asarray(beats / len(draws))


def peak(function: Callable[[], object]) -> float:
    """Return the most memory that one call holds, in MB."""
    tracemalloc.start()
    function()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def compare(models: int) -> None:
    """Print what the engine and the loops take for this many models."""
    values = table(models)
    draws = engine.draw_probes(np.random.default_rng(1), EXAMPLES, PROBE, DRAWS)
    pairs = np.ones(len(engine.pairs(models)), dtype=bool)
    repeats = {lists: DRAWS, mean_loops: DRAWS} if models < 10 else {lists: 50, mean_loops: 25}
    expected = engine.simulate(values, draws, pairs).beats
    times_of: dict[str, list[float]] = {"engine": []}
    for _ in range(REPEATS):
        times_of["engine"] += [seconds(lambda: engine.simulate(values, draws, pairs)) for _ in range(3)]
        for loop, count in repeats.items():
            seconds_taken = seconds(lambda: loop(values, draws[:count]))  # noqa: B023
            times_of.setdefault(loop.__name__, []).append(seconds_taken * DRAWS / count)
    for loop, count in repeats.items():
        beats = engine.simulate(values, draws[:count], pairs).beats
        assert np.allclose(loop(values, draws[:count]), beats), loop.__name__
    ours = statistics.median(times_of["engine"])
    print(f"\n{models} models, {METHODS} methods, N = {EXAMPLES}, B = {DRAWS}, K = {PROBE}")
    print(f"  engine           {1e3 * ours:10.2f} ms")
    for loop, count in repeats.items():
        slow = statistics.median(times_of[loop.__name__])
        measured = "" if count == DRAWS else f"  (from {count} of {DRAWS} draws)"
        print(f"  {loop.__name__:16} {1e3 * slow:10.0f} ms  {slow / ours:8.0f} x{measured}")
    times = [seconds(lambda: exact.probabilities(values, PROBE)) for _ in range(REPEATS)]
    exact_p = exact.probabilities(values, PROBE)
    off = np.abs(exact_p - expected)
    print(
        f"  exact, all pairs {1e3 * statistics.median(times):10.0f} ms; {np.isnan(exact_p).sum()} not to be had exactly"
    )
    print(f"  the {DRAWS} draws are off by {off.mean():.3f} on average, {off.max():.3f} at most")
    print(f"  peak memory: engine {peak(lambda: engine.simulate(values, draws, pairs)):.0f} MB, "
          f"exact {peak(lambda: exact.probabilities(values, PROBE)):.0f} MB")  # fmt: skip


def main() -> None:
    """Measure, and say on what."""
    argparse.ArgumentParser("python -m benchmarks.engine", description="The engine next to plain loops.").parse_args()
    print(f"{os.cpu_count()} CPUs ({platform.machine()}), Python {platform.python_version()}, numpy {np.__version__}")
    for models in (6, 50):
        compare(models)
    values = sure(8)
    missing = np.isnan(exact.probabilities(values, PROBE)).sum()
    print("\n8 models that are sure of nearly everything, one method (log loss)")
    print(
        f"  exact, all pairs {1e3 * seconds(lambda: exact.probabilities(values, PROBE)):10.0f} ms; "
        f"{missing} of {len(engine.pairs(8))} not to be had exactly; "
        f"peak memory {peak(lambda: exact.probabilities(values, PROBE)):.0f} MB"
    )


if __name__ == "__main__":
    main()
