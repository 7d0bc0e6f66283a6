"""The work behind one command, counted; run as a program, this file is the counted process."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "data" / "suites" / "hans-sub-mini"
SAMPLE = ROOT / "data" / "hans-sub" / "examples.jsonl.gz"

CALLS = {
    "look-ups": ("ranker.sources.hf.checkpoints", "_resolve_folder"),
    "keys built": ("ranker.runtime.worker", "key_of"),
}
"""What no file tells of -> the module and the name of the function that does it; a move changes these lines alone."""

BOUNDS = {
    "look-ups": 8,  # a reference to a model is turned into its folder: once, when it is looked at
    "listings": 56,  # of models' folders
    "JSON files": 41,  # opened: 8 for labels, 24 to be hashed, 8 with what was said of answers, and suite.json
    "weights": 8,  # files opened, to be hashed: no model is loaded
    "keys built": 8,  # of the store
    "keys read": 8,  # folders of keys that are listed for their shards: once a model, whose answers are under one key
    "shards": 8,  # opened: one for each key
}
"""The most that a second decision between eight known models may do; lower them as work is saved, never raise them."""


def count(arguments: list[str], store: Path) -> Counter[str]:
    """Run `rank-models` in this process, and count what it does to the suite and to the store.

    Files and folders are counted by Python's audit events, which do not depend on the names of our own functions. A
    hook cannot be taken away again: the process is to be one of its own.
    """
    counted: Counter[str] = Counter()

    def hook(event: str, event_arguments: tuple[object, ...]) -> None:
        if event not in ("open", "os.listdir", "os.scandir") or not isinstance(event_arguments[0], (str, os.PathLike)):
            return
        path = Path(os.path.abspath(event_arguments[0]))
        if SUITE not in path.parents and store not in path.parents:
            return
        if event == "open":
            kinds = {".json": "JSON files", ".safetensors": "weights", ".parquet": "shards"}
            if path.suffix in kinds:
                counted[kinds[path.suffix]] += 1
        else:
            counted["listings" if SUITE in path.parents else "keys read"] += 1

    for name, (module, function) in CALLS.items():
        *owner, last = function.split(".")
        holder = import_module(module)
        for part in owner:
            holder = getattr(holder, part)
        setattr(holder, last, counting(getattr(holder, last), counted, name))
    from ranker.cli import main

    sys.addaudithook(hook)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert not ended.value.code
    return counted


def counting(function, counted, name):
    """The function, each call of which is counted."""

    def wrapped(*flags, **options):
        counted[name] += 1
        return function(*flags, **options)

    return wrapped


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Count the work of a second decision over ten labelled rows and a pool of 200, once the first filled the store."""
    folder = tmp_path_factory.mktemp("counters").resolve()
    rows = [json.loads(line) for line in gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()]
    texts = [dict(zip(("premise", "hypothesis"), row["segments"], strict=True)) for row in rows]
    labelled = [{**text, "label": row["label"]} for text, row in zip(texts, rows, strict=True)][::60]
    pool = [text for n, text in enumerate(texts) if n % 60][:200]
    for name, examples in (("ten.jsonl", labelled), ("pool.jsonl", pool)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in examples), encoding="utf-8")
    arguments = ["--data", "ten.jsonl", "--pool", "pool.jsonl", "--models", "hans-sub-mini", "--attribution", "none"]
    for flags in (("--no-isolate", "--workers", "1"), ()):  # a process for each model would cost more than its answers
        done = subprocess.run(
            [sys.executable, __file__, *arguments, *flags, "--store", str(folder / "store")],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.more
@pytest.mark.parametrize("name", BOUNDS)
def test_a_second_decision_does_no_more_than_this(counted, name):
    """Known models cost as many look-ups, reads and keys as they did when the bounds were set, and no more."""
    assert 0 < counted[name] <= BOUNDS[name], f"{name}: {counted}"


if __name__ == "__main__":
    print(json.dumps(count(sys.argv[1:], Path(sys.argv[-1]))), file=sys.stderr)  # noqa: T201  # to the test above
