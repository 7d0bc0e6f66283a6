"""Every number of some runs as it was when it was frozen; run as a program, this file is the process that makes them.

The statistics are computed in float64: from the same scores they are the same on every processor, but for a rounding
far below `TOLERANCE`. The models are computed in float32, and the kernels for that differ between processors: those of
AVX-512 and of AVX2 move scores and accuracies of the demo by up to 3e-6, which no tolerance tells from a small mistake.
So the runs are made in a process of their own, held to one thread and to the kernels that all x86-64 processors share
(`experiments.portable`); these give the same bits on each. There one tolerance is right for scores, accuracies and
intervals alike. Elsewhere the tests skip.

Frozen are numbers, names and orders. Sentences (notes, reasons) are not: the golden reports hold them. Nor is what
depends on the machine or the place (commands, versions, hashes).
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import platform
import random
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from factors import BUILTIN
from ranker.runtime.upkeep import contents

ROOT = Path(__file__).resolve().parents[1]
FROZEN = Path(__file__).with_name("frozen")
SAMPLE = ROOT / "data" / "hans-sub" / "examples.jsonl.gz"
REFRESH = "RANK_MODELS_REFRESH_GOLDEN"
"""Set it to write the frozen files anew; then read the diff: a refactoring has none."""

TOLERANCE = 1e-9
"""Absolute, of fractions, scores and percent."""

SINGLE = 1e-7
"""That of a decision that reads a pool: label probabilities are in single precision, and so are their kernels."""

SENTENCES = ("notes", "left_out", "failures", "provenance", "schema_version")
PARTS = ("header", "evaluation", "decision")
LIBRARIES = ("torch", "transformers", "tokenizers", "captum", "numpy", "scipy")

SUITE = ROOT / "data" / "suites" / "hans-sub-mini"
MODEL = str(SUITE / "inoc-400")
FOUR = [str(SUITE / name) for name in ("untouched", "inoc-50", "inoc-400", "inoc-4000")]
IDS = ("sn_past_participle-0", "se_understood_object-60", "sn_NP/Z-120")
DATA = ("--data", "ten.jsonl", "--models", "hans-sub-mini", "--workers", "1")

EVERY = ("--factors", ",".join(BUILTIN))
"""A decision measures no attribution factor that is not named."""

COMMANDS = {
    "explained": [
        ["explain", "--ood", "hans-sub", "--id", row, "--models", MODEL, "--attribution", backend]
        for backend in ("shap", "lime", "ig", "occlusion")
        for row in IDS
    ],
    "decisions": [[*DATA, *EVERY], [*DATA, *EVERY, "--pool", "pool.jsonl"]],
    "decisions-by-default": [[*DATA], [*DATA, "--pool", "pool.jsonl"]],
    "lime": [["--ood", "hans-sub", "--limit", "20", "--probe", "10", "--attribution", "lime", "--methods", "all"]],
    "ranking": [
        [
            "--ood", "hans-sub", "--limit", "20", "--probe", "10", "--draws", "100", "--methods", "AVG-CONF",
            "--attribution", "occlusion", "--models", *FOUR, "--workers", "1",
        ]
    ],
    "demo": [["--ood", "hans-sub", "--probe", "10", "--methods", "all"]],
}  # fmt: skip
"""Frozen file -> the commands whose answers are in it, without `rank-models`."""

QUICK = ("explained", "decisions", "decisions-by-default", "ranking")
WHOLE = ("demo", "lime")
HERE = "--no-isolate"
"""An option of the quick runs: a process for each costs as much as what it computes. The whole runs have them."""


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The answers of the quick runs, by the name of their file."""
    answers = made(tmp_path_factory.mktemp("quick"), [f"{name} {HERE}" for name in QUICK])
    return dict(zip(QUICK, answers.values(), strict=True))


@pytest.mark.parametrize("name", QUICK)
def test_numbers_are_as_frozen(quick, name):
    """Scores of single words, decisions with and without a pool, and a ranking by occlusion are what they were."""
    compare(name, quick[name])


@pytest.mark.parametrize(
    "name",
    [*(pytest.param(name, marks=pytest.mark.more) for name in WHOLE), pytest.param("table-2", marks=pytest.mark.slow)],
)
def test_numbers_of_whole_runs_are_as_frozen(tmp_path, name):
    """README's demo and a ranking by LIME with every method, and every cell of table 2 (mini), are what they were.

    Each has a store of its own, since the last bits of a row are those of its batch.
    """
    compare(name, made(tmp_path, [name])[name])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_numbers_are_as_frozen_with_any_number_of_workers(tmp_path, workers):
    """A guest after the other, two, or more than there are cores: each on one thread."""
    (answers,) = made(tmp_path, [f"demo --workers {workers}"]).values()
    compare("demo", answers)


@pytest.mark.slow
def test_numbers_are_as_frozen_after_five_interruptions(tmp_path):
    """Rows found before a Ctrl-C are those that the next run starts from."""
    rng, rows = random.Random(0), 0
    for _ in range(5):
        run = subprocess.Popen([sys.executable, __file__, "demo"], cwd=tmp_path, env=environment(),
                               stderr=subprocess.DEVNULL)  # fmt: skip
        time.sleep(rng.uniform(15, 25))
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=600), "it was not interrupted: the machine is too fast for these moments"
        stored = sum(entry.rows for entry in contents(tmp_path / "store"))
        assert stored > rows
        rows = stored
    compare("demo", made(tmp_path, ["demo"])["demo"])


def test_all_ways_of_attributing_are_frozen():
    """Raw scores of every backend are among the frozen numbers, those of LIME with the seeds that they hang on."""
    answers = json.loads((FROZEN / "explained.json").read_text(encoding="utf-8"))
    assert {answer["attribution"] for answer in answers} == {"shap", "lime", "ig", "occlusion"}
    assert all(any(word["score"] for word in answer["models"][0]["words"]) for answer in answers)


def made(folder, names):
    """The answers of runs, made in a process that is held to portable kernels; rows and store lie in the folder."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("frozen with kernels of x86-64 processors; others round float32 differently")
    rows = [json.loads(line) for line in gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()]
    texts = [dict(zip(("premise", "hypothesis"), row["segments"], strict=True)) for row in rows]
    labelled = [{**text, "label": row["label"]} for text, row in zip(texts, rows, strict=True)][::60]
    pool = [text for n, text in enumerate(texts) if n % 60][:200]
    for file, examples in (("ten.jsonl", labelled), ("pool.jsonl", pool)):
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in examples), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, __file__, *names], cwd=folder, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in names}


def environment():
    """Return this process's environment, with the packages under test, and noise if this process has it."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def compare(name, current):
    """Hold answers to the frozen ones; the flag that refreshes golden files writes these anew."""
    current = [numbers(answer) for answer in current]
    file, versions = FROZEN / f"{name}.json", {library: metadata.version(library) for library in LIBRARIES}
    if os.environ.get(REFRESH):
        file.write_text(written(current) + "\n", encoding="utf-8")
        (FROZEN / "versions.json").write_text(json.dumps(versions, indent=1) + "\n", encoding="utf-8")
    wrong = list(differences(json.loads(file.read_text(encoding="utf-8")), json.loads(json.dumps(current)), name))
    frozen_with = json.loads((FROZEN / "versions.json").read_text(encoding="utf-8"))
    changed = {library: (frozen_with[library], versions[library]) for library in LIBRARIES}
    changed = {library: pair for library, pair in changed.items() if pair[0] != pair[1]}
    text = f"; other versions than frozen with, which may be why: {changed}" if changed else ""
    assert not wrong, f"{len(wrong)} differences{text}:\n" + "\n".join(wrong[:20])


def numbers(answer):
    """Return what is frozen of an answer: all but sentences, and what depends on the machine or the place."""
    remaining = {
        key: numbers(value) if key in PARTS else value for key, value in answer.items() if key not in SENTENCES
    }
    return remaining | {key: sorted(answer[key]) for key in ("left_out", "failures") if key in answer}


def differences(frozen, current, place, tolerance=TOLERANCE):
    """List where two answers differ, a line each: numbers by more than the tolerance, all else at all."""
    if isinstance(frozen, dict) and isinstance(current, dict):
        tolerance = SINGLE if frozen.get("kind") == "pool" else tolerance
        for key in dict.fromkeys([*frozen, *current]):
            if key in frozen and key in current:
                yield from differences(frozen[key], current[key], f"{place}.{key}", tolerance)
            else:
                yield f"{place}.{key}: only {'frozen' if key in frozen else 'here'}"
    elif isinstance(frozen, list) and isinstance(current, list):
        if len(frozen) != len(current):
            yield f"{place}: {len(frozen)} items frozen, {len(current)} here"
        for n, pair in enumerate(zip(frozen, current, strict=False)):
            yield from differences(*pair, f"{place}[{n}]", tolerance)
    elif float in (type(frozen), type(current)) and {type(frozen), type(current)} <= {float, int}:
        if not abs(frozen - current) <= tolerance:
            yield f"{place}: {frozen!r} frozen, {current!r} here"
    elif frozen != current or type(frozen) is not type(current):
        yield f"{place}: {frozen!r} frozen, {current!r} here"


def written(value, depth=4):
    """JSON with a line for each model, method, pair or cell, so that a diff can be read."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not depth or not any(isinstance(value, (dict, list)) for value in inside):
        return json.dumps(value, ensure_ascii=False)
    lines = [written(value, depth - 1) for value in inside]
    if isinstance(value, dict):
        lines = [f"{json.dumps(key)}: {line}" for key, line in zip(value, lines, strict=True)]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([first, ",\n".join(lines), last])


@pytest.mark.parametrize(
    ("frozen", "current", "count"),
    [
        ([{"a": 1.0}], [{"a": 1.0 + 1e-10}], 0),
        ([{"a": 1.0}], [{"a": 1.0 + 1e-8}], 1),
        ([{"kind": "pool", "a": [1.0]}], [{"kind": "pool", "a": [1.0 + 1e-8]}], 0),
        ([{"a": 1.0}], [{"a": None}], 1),
        ([{"a": 1.0}], [{"a": float("nan")}], 1),
        ([{"a": 1}], [{"a": True}], 1),
        ([{"a": "x"}], [{"a": "y"}], 1),
        ([{"a": 1}, {}], [{"b": 1}], 3),
    ],
)
def test_a_difference_is_seen(frozen, current, count):
    """A number that is off by more than the tolerance, another name, and what is missing or new are differences."""
    assert len(list(differences(frozen, current, "it"))) == count


def make(line):
    """The answers that go into a frozen file, whose name may have further options behind it."""
    name, *models = line.split()
    if name == "table-2":
        from experiments import published, tables
        from ranker.runtime.runtime import Runtime

        known_tables = published.load()
        exhibit, run = known_tables.tables["2"], tables.Run(runtime=Runtime(store="store"))
        rankings = tables.rankings(exhibit, known_tables.tiers["mini"], run)
        return [dataclasses.asdict(cell) for cell in tables.cells(exhibit, rankings)]
    from ranker.cli import cli

    answers = []
    for command in COMMANDS[name]:
        flags = ["--store", "store", "--format", "json", "-o", "answer.json", "--force"]
        cli.main([*command, *models, *flags], standalone_mode=False)
        answers.append(json.loads(Path("answer.json").read_text(encoding="utf-8")))
    return answers


if __name__ == "__main__":
    from experiments import portable

    portable.hold()
    for name in sys.argv[1:]:
        Path(f"{name}.json").write_text(json.dumps(make(name)), encoding="utf-8")
