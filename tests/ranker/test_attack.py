"""Hundreds of files that somebody hands on to do harm: each is a result or one line, within the stated bounds."""

import gzip
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from test_code_settings import BOMBS, CODE, TOO_MUCH, change
from test_evaluation import suite
from test_report_formats import decided, evaluated

READ = """
import json, os, resource, sys, warnings
from pathlib import Path

warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_DATA, (6 << 30, 6 << 30))  # a machine is no place to try more

from ranker import labelled
from ranker import report
from ranker.errors import RankModelsError
from ranker.limits import LIMITS
from ranker.results.ranking import Ranking
from ranker.sources.hf.classifiers import Classifier
from ranker.tasks.classes import ClassificationTask
from factors.types import Example
import pyarrow.parquet

TASK = ClassificationTask("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral", "contradiction")})

def model(path):
    found = Classifier.load(path, TASK).probabilities([Example("a", ("The doctor saw the actor.", "An old judge."), 0)])
    assert found.shape == (1, 2) and abs(found.sum() - 1) < 1e-6
    return "loaded"

def rows(path):
    return f"{len(labelled(path, TASK).examples)} rows"

def saved(path):
    found = Ranking.load(path)
    return str(sum(len(report.render(found, name)) for name in report.TEXTS))

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024

read = {"model": model, "rows": rows, "saved": saved}[sys.argv[1]]
for line in sys.stdin:
    path = Path(line.strip())
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    try:
        said, kind = read(path), "result"
    except RankModelsError as error:
        said, kind = str(error), "line"
    except BaseException as error:
        said, kind = f"{type(error).__name__}: {error}", "fault"
    print(json.dumps([path.name, kind, said, peak() - before]), flush=True)
"""


def attacked(kind, paths, canary=None):
    """Attack a reader: name -> (result, line or fault; what was said; MiB)."""
    ran = subprocess.run(
        [sys.executable, "-c", READ, kind], input="\n".join(map(str, paths)) + "\n", cwd=paths[0].parent,
        capture_output=True, text=True, timeout=3600,
    )  # fmt: skip
    lines = {line[0]: line[1:] for line in map(json.loads, ran.stdout.splitlines())}
    assert list(lines) == [path.name for path in paths], ran.stderr[-2000:]
    return lines


def harmless(replies, mebibytes):
    """Assert that each is a result or one line, in so much memory."""
    return {
        name: (kind, reply[:300], size)
        for name, (kind, reply, size) in replies.items()
        if kind == "fault" or not reply.isprintable() or size > mebibytes
    }


OWN_CODE = "from pathlib import Path\nPath({!r}).touch()\nclass Own: pass\n"


def folders(root, good, count, seed=0):
    """Model folders: every poisoned setting that there is, then random mixtures of wrong values and files."""
    generator = random.Random(seed)
    paths = []

    def folder():
        path = Path(shutil.copytree(good, root / f"m{len(paths):03}"))
        (path / "own.py").write_text(OWN_CODE.format(str(root / "canary")))
        paths.append(path)
        return path

    for values in CODE:
        change(folder() / "config.json", **values)
    for _, values in TOO_MUCH:
        change(folder() / "config.json", **values)
    for values in BOMBS.values():
        change(folder() / "tokenizer.json", **values)
    sizes = ("hidden_size", "intermediate_size", "num_attention_heads", "max_position_embeddings", "vocab_size",
             "type_vocab_size", "num_hidden_layers", "pad_token_id", "initializer_range", "layer_norm_eps")  # fmt: skip
    for name in sizes:
        for value in (1 << 22, -1, 0, None, "x", [1], 1e300):
            change(folder() / "config.json", **{name: value})
    odd = [None, -1, 0, 1 << 40, 1e308, "", "x" * 100_000, [], {}, [[]] * 1000, True, "own.Own", "org/name--own.Own"]
    keys = ["model_type", "architectures", "auto_map", "id2label", "problem_type", "torch_dtype", "quantization_config",
            "hidden_act", "position_embedding_type", "is_decoder", "add_cross_attention", "chunk_size_feed_forward",
            "tie_word_embeddings", "transformers_version", "pruned_heads", "output_attentions"]  # fmt: skip
    while len(paths) < count:
        path = folder()
        for _ in range(generator.randint(1, 3)):
            file = generator.choice(["config.json", "config.json", "tokenizer.json", "tokenizer_config.json"])
            content = json.loads((path / file).read_text())
            key = generator.choice([*keys, *content]) if file == "config.json" else generator.choice(list(content))
            change(path / file, **{key.replace("__", "_"): generator.choice(odd)})
    return paths[:count]


def row_files(root, count, seed=0):
    """Files of rows: bombs of each kind, then random bytes and values in good ones."""
    generator = random.Random(seed)
    paths = []

    def file(ending, content):
        path = root / f"r{len(paths):03}.{ending}"
        path.write_bytes(content)
        paths.append(path)

    def table(**columns):
        path = root / f"r{len(paths):03}.parquet"
        parquet.write_table(pa.table(columns), path, compression="zstd", dictionary_pagesize_limit=1 << 24)
        paths.append(path)

    def one(text, count):
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([text]))

    label = b"premise,hypothesis,label\n"
    good = label + b"The actor ran.,An actor ran.,entailment\n"
    for ending in ("csv", "tsv", "txt", "jsonl"):
        for line in (b"\n", b" \n", b",\n", b"a,b,0\n", b'{"a":1}\n', b"a\tb\t0\n", b'"', b"\r\n", b"\0"):
            file(f"{ending}.gz", gzip.compress(good) + gzip.compress(line * 200_000) * 20)
    for size in (1_000, 90_000, 1 << 20, 1 << 25):
        for rows in (200, 20_000):
            table(premise=one("a" * size, rows), hypothesis=one("b", rows), label=one("entailment", rows))
    for row_count in (10, 10_000, 100_000):
        lists = pa.ListArray.from_arrays(
            pa.array(range(0, 101 * row_count, row_count), pa.int32()), pa.array(np.zeros(100 * row_count))
        )
        table(premise=one("a", 100), hypothesis=one("b", 100), label=one("0", 100), marks=lists)
        table(segments=lists, label=one("0", 100))
        table(premise=one("a", 100), hypothesis=one("b", 100), label=lists)
        fixed = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(100 * row_count)), row_count)
        table(premise=one("a", 100), hypothesis=one("b", 100), label=one("0", 100), extra=fixed)
        nothing = pa.nulls(100, pa.list_(pa.float64(), row_count))
        table(premise=nothing, hypothesis=one("b", 100), label=one("0", 100))
    file("csv", b",".join(b"c%d" % n for n in range(150_000)) + b"\n" + b"," * 149_999 + b"\n")
    file("csv", label + b'"' + b"a\n" * 60_000 + b'",b,0\n')
    file("jsonl", b"[" * 500_000)
    file("jsonl", b'{"premise": "a", "hypothesis": "b", "label": ' + b"9" * 5_000 + b"}\n")
    file("jsonl", b'{"premise": "a", "hypothesis": "b", "label": 0, "marks": ' + b"[" * 900 + b"]" * 900 + b"}\n")
    parquet_bytes = next(path.read_bytes() for path in paths if path.suffix == ".parquet")
    while len(paths) < count:
        ending, content = generator.choice(
            [("csv", good * 3), ("jsonl", b'{"premise": "a", "label": 0}\n'), ("parquet", parquet_bytes)]
        )
        mixed = bytearray(content)
        for _ in range(generator.randint(1, 20)):
            mixed[generator.randrange(len(mixed))] = generator.randrange(256)
        file(ending, bytes(mixed))
    return paths


def saved_runs(root, count, seed=0):
    """Saved runs in which names, numbers and lists are others."""
    generator = random.Random(seed)
    table = suite(models=3, examples=12)
    rankings = [evaluated(table, families=["a", "a", "b"], designed="INDEX-DIFF", draws=3), decided(table)]
    odd = [None, -1, 0, 1 << 70, 1e308, "", "\x1b[2J\u202e", "a" * 50_000, [], {}, [[]], True, "=1+1", "<script>"]

    def places(value, path=()):
        yield path
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner_value in inner:
            yield from places(inner_value, (*path, key))

    paths = []
    for number in range(count):
        ranking = rankings[number % 2]
        file = root / f"s{number:03}.json"
        ranking.save(file)
        content = json.loads(file.read_text())
        for _ in range(generator.randint(1, 3)):
            *path, last = generator.choice([place for place in places(content) if place])
            inner = content
            for key in path:
                inner = inner[key]
            inner[last] = generator.choice(odd)
        file.write_text(json.dumps(content))
        paths.append(file)
    return paths


COUNTS = [pytest.param("few", marks=pytest.mark.slow), pytest.param("all", marks=pytest.mark.soak)]


@pytest.mark.parametrize("count", COUNTS)
def test_poisoned_model_folders(checkpoint, tmp_path, count):
    """None runs code of its own, and none takes much memory; 1,056 MiB is the most of 250 that was seen."""
    paths = folders(tmp_path, checkpoint("bert"), 250)[:: 1 if count == "all" else 12]
    replies = attacked("model", paths)
    assert harmless(replies, 1_500) == {}
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(
    ("kind", "make", "size", "mebibytes"), [("rows", row_files, 150, 2_500), ("saved", saved_runs, 100, 500)]
)
def test_poisoned_files(tmp_path, count, kind, make, size, mebibytes):
    """Rows cost no more than the table of limits has room for; a saved run is one line, or rendered in every format."""
    paths = make(tmp_path, size)[:: 1 if count == "all" else 10]
    assert harmless(attacked(kind, paths), mebibytes) == {}
