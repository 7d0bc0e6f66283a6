"""Speed of the page of `rank-models label --web`: ``python -m benchmarks.page [ROWS MODELS]`` prints a table.

Files hold the answers of simulated models. The command serves its page, and a client in the same process asks it over
HTTP as the page's script does. *First screen* is the time from the models' answers to the page and its first row; *next
row* that from sending an answer to the reply with the next row, which includes saving the file. Beside the time on the
clock stands the processor time of the process, which other work on the machine does not change.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import http.client
import io
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ANSWERS, REPEATS = 24, 3
"""Answers of a session, and sessions of each kind."""

WORDS = ("dog", "cat", "town", "hill", "ran", "sat", "old", "new")
KINDS: dict[str, tuple[list[str], int]] = {"labels": ([], 1), "texts": (["--task", "text"], 8)}
"""Kind of answers -> flags, and words of an answer."""


def write(folder: Path, rows: int, models: int, words: int) -> dict[str, str]:
    """Write a pool, and a file of answers for each model; return the right answer to each text."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2 if words == 1 else len(WORDS), size=(rows, words))
    texts = [f"A sentence about something in the domain, the one of number {row}." for row in range(rows)]
    _table(folder / "pool.csv", ("id", "text"), texts)
    for model, wrong in enumerate(np.linspace(0.1, 0.5, models)):
        other = rng.integers(2 if words == 1 else len(WORDS), size=truth.shape)
        answers = np.where(rng.random(truth.shape) < wrong, other, truth)
        _table(folder / f"m{model}.csv", ("id", "prediction"), [_text(row) for row in answers])
    return dict(zip(texts, map(_text, truth), strict=True))


def _text(words: Any) -> str:
    return " ".join(WORDS[word] for word in words.tolist())


def _table(path: Path, header: tuple[str, str], cells: list[str]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *enumerate(cells)])


Times = tuple[float, float]
"""Seconds on the clock, and of the processor."""


def _now() -> Times:
    return time.perf_counter(), time.process_time()


def _since(begun: Times) -> Times:
    clock, processor = _now()
    return clock - begun[0], processor - begun[1]


def session(folder: Path, models: int, truth: dict[str, str], flags: list[str]) -> list[Times]:
    """Run a session, and return the times of its first screen and of each next row."""
    from ranker.cli import main
    from ranker.commands import label_web

    printed, serve = io.StringIO(), label_web.serve
    times: list[Times] = []

    def visit(begun: Times) -> None:
        while "label at " not in printed.getvalue() or not printed.getvalue().endswith("\n"):
            time.sleep(0.001)
        address, token = printed.getvalue().split("label at http://")[1].split()[0].split("/#")
        ask = _asker(address, token)
        ask("GET", "/")
        state = json.loads(ask("GET", "/state"))
        times.append(_since(begun))
        for _ in range(ANSWERS):
            text = "".join(piece["text"] for piece in state["row"]["segments"][0]["pieces"])
            sent = _now()
            state = json.loads(ask("POST", "/change", step=state["step"], action="answer", label=truth[text]))
            times.append(_since(sent))
        ask("POST", "/change", step=state["step"], action="stop")

    def served(*args: Any, **keywords: Any) -> None:
        threading.Thread(target=visit, args=[_now()], daemon=True).start()
        serve(*args, **keywords)

    files = [str(folder / f"m{model}.csv") for model in range(models)]
    output = folder / "labels.csv"
    output.unlink(missing_ok=True)
    arguments = ["label", "--web", "--pool", str(folder / "pool.csv"), "-o", str(output), "--until", "1", *flags]
    label_web.serve = served
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main([*arguments, "--store", str(folder / "store"), "--models", *files])
    finally:
        label_web.serve = serve
    return times


def _asker(address: str, token: str) -> Callable[..., bytes]:
    """Return a function that asks the page's server."""
    connection = http.client.HTTPConnection(address)
    headers = {"Authorization": f"Bearer {token}", "Origin": f"http://{address}", "Content-Type": "application/json"}

    def ask(method: str, path: str, **change: Any) -> bytes:
        connection.request(method, path, json.dumps(change) if change else None, headers)
        reply = connection.getresponse()
        body = reply.read()
        if reply.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {reply.status} {body.decode()}")
        return body

    return ask


def main() -> None:
    """Print a line for each kind of answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", type=int, default=10_000)
    parser.add_argument("models", nargs="?", type=int, default=50)
    options = parser.parse_args()
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        os.environ.pop(name, None)
    print("Median and maximum on the clock (processor time):\n")
    print("| answers | first screen | next row |\n|---|---:|---:|")
    for kind, (flags, words) in KINDS.items():
        with tempfile.TemporaryDirectory() as place:
            truth = write(Path(place), options.rows, options.models, words)
            runs = [session(Path(place), options.models, truth, flags) for _ in range(REPEATS)]
        screens, rows = [run[0] for run in runs], [times for run in runs for times in run[1:]]
        print(f"| {kind} | {_figures(screens)} | {_figures(rows)} |", flush=True)


def _figures(times: list[Times]) -> str:
    """Return the median and the maximum, on the clock and of the processor."""
    clock, processor = (
        f"{statistics.median(seconds):.2f}, {max(seconds):.2f} s" for seconds in zip(*times, strict=True)
    )
    return f"{clock} ({processor})"


if __name__ == "__main__":
    main()
