"""Readers of what no writer wrote give a result or one of our errors, in a second, and change no file."""

import gc
import gzip
import io
import json
import shutil
import signal
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import logmaking as log_making
import numpy as np
import pyarrow as pa
import pytest
from asking import attributions
from conftest import TASK
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from published_tables import TABLES as PUBLISHED
from pyarrow import parquet
from test_evaluation import suite
from test_report_formats import decided, evaluated, telling
from test_store import EXAMPLES, KEY, row_of

from experiments import recipe
from ranker import records, report
from ranker.commands import arguments
from ranker.commands.run import run
from ranker.datasets import cards, embedded, readers, sets
from ranker.datasets.identity import text_names
from ranker.domains import measures, select, values
from ranker.errors import MAX_MESSAGE_CHARACTERS, MAX_PATH_CHARACTERS, RankModelsError
from ranker.files import reader
from ranker.limits import LIMITS
from ranker.results import ranking as ranking_module
from ranker.results.ranking import Ranking
from ranker.runs.changes import what_changed
from ranker.runtime import shards
from ranker.runtime.store import Store, key_digest
from ranker.runtime.upkeep import contents, verify
from ranker.sources import suites
from ranker.sources.hf import checkpoints, labels
from ranker.sources.hf.files import open_checkpoint_files
from ranker.sources.hf.settings import check as check_settings
from ranker.sources.logs import reading as logs
from ranker.sources.tables import join, reading
from ranker.sources.tables.base import RequestedRows

ROWS = [
    {"premise": "The actor ran.", "hypothesis": "An actor ran.", "label": "entailment", "marks": {"x": [[0, 4, 9]]}},
    {"premise": "Naïve 走 judges, and more.", "hypothesis": "He said: 'no'.", "label": 0},
]
COLUMNAR = [{**row, "label": 0, "marks": {"x": [[0, 4, 9]]}} for row in ROWS]
SUITE = {
    "schema_version": 1,
    "name": "toy",
    "models": [
        {"name": name, "path": name, "family": "mini", "label_map": {"0": "entailment"}, "in_domain_accuracy": 0.9}
        | {"ood_accuracy": {"hans-sub": {"accuracy": 0.5, "rows": 10, "fingerprint": "f" * 8}}}
        for name in ("a", "b")
    ],
}
CHECKPOINT = {
    "model_type": "bert",
    "auto_map": {"AutoModel": "own.Own"},
    "base_model_name_or_path": "org/base",
    "revision": "main",
}
OPTIONS = 'probe = 5\nood = "hans-sub"\nquiet = true\nmodels = ["a", "b"]\ndraws = 7\nlabel-map = \'{"0": "x"}\'\n'
TABLE = 'premise,hypothesis,label\nThe actor ran.,"An actor, he said, ""ran"".",entailment\nIt rained.,No.,1\n'


class Hang(BaseException):
    """A reader took too long: no Exception, so that no reader can take it for a bad file."""


def stop(signum, frame):
    """The alarm."""
    raise Hang


@contextmanager
def bounded(seconds):
    """Ring after some seconds of computing, whatever other work the machine has, with garbage collection off."""
    gc.disable()
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.enable()


# values


ODD = st.sampled_from(
    [None, True, "", "\x00", "\ud800", "\u202e", "a" * 5000, "../../x", "NaN", [], {}, [[]], [{}], -1, 0, 1 << 64,
     10**400, 1e308, float("nan"), float("inf"), -0.0, 0.5, "entailment", "\n", "{}", "/", "org/name"]
)  # fmt: skip
VALUES = ODD | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    """The paths to every value inside a value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner_value in inner:
        yield from places(inner_value, (*path, key))


def changed(value, path, change):
    """A copy of a value with what stands at a path changed."""
    if not path:
        return change(value)
    copy = value.copy()
    copy[path[0]] = changed(copy[path[0]], path[1:], change)
    return copy


@st.composite
def turned(draw, original):
    """A JSON value with some of the values in it replaced, removed, doubled or renamed."""
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(list(places(original))))
        change = draw(st.sampled_from(["replace", "replace", "replace", "remove", "rename", "double"]))
        if change == "replace" or not path:
            value = draw(VALUES)
            original = changed(original, path, lambda old, value=value: value)
            continue
        name = draw(st.text(max_size=5))

        def edit(parent, change=change, last=path[-1], name=name):
            parent = parent.copy()
            if change == "remove":
                del parent[last]
            elif isinstance(parent, list):
                parent.append(parent[last])
            elif change == "rename":
                parent[name] = parent.pop(last)
            else:
                parent[name] = parent[last]
            return parent

        original = changed(original, path[:-1], edit)
    return original


# bytes


TOKENS = [b"\x00", b"\xff", b"\xef\xbb\xbf", b'"', b"'", b"[" * 3000, b'{"a":' * 3000, b"\n", b"\r", b"\t",
          b",", b"=", b"NaN", b"-Infinity", b"9" * 5000, b"1e999", b"\\ud800", b"\x1f\x8b", b"[[x]]\n", b"[a.b]\n",
          b"1979-05-27T07:32:00Z", b"0x" + b"f" * 500, b'"schema_version": 1, ', b"PAR1", b"\xe2\x80\xa8", b"\x0b",
          b"a." * 1500 + b"a = 1\n", b"x = " + b"{a = " * 1500 + b"\n", b"\\u0000", b"{}", b"#"]  # fmt: skip
BOMB = gzip.compress(b"a" * (1 << 22))


@st.composite
def scratched(draw, content):
    """Bytes with some of them cut off, flipped, taken out, doubled, put in, or read in another encoding."""
    for _ in range(draw(st.integers(0, 3))):
        position, size = draw(st.integers(0, len(content))), draw(st.integers(0, 40))
        change = draw(st.sampled_from(["cut", "flip", "remove", "double", "insert", "random", "encode", "zip"]))
        head, piece, tail = content[:position], content[position : position + size], content[position + size :]
        if change == "cut":
            content = head
        elif change == "flip":
            content = (
                head
                + bytes(byte ^ (1 << size % 8) for byte in content[position : position + 1])
                + content[position + 1 :]
            )
        elif change == "remove":
            content = head + tail
        elif change == "double":
            content = head + piece * 3 + tail
        elif change == "insert":
            content = head + draw(st.sampled_from(TOKENS)) + content[position:]
        elif change == "random":
            content = head + draw(st.binary(max_size=20)) + content[position:]
        elif change == "encode":
            encoding = draw(st.sampled_from(["utf-16", "utf-32", "latin-1", "utf-7", "cp1252"]))
            content = content.decode("utf-8", "replace").encode(encoding, "replace")
        else:
            content = draw(st.sampled_from([gzip.compress(content), BOMB]))
    return content


def as_json(value, lines=False):
    """A value as JSON, halves of surrogate pairs and numbers that are none included."""
    if lines and isinstance(value, list):
        return b"".join(as_json(row) + b"\n" for row in value)
    return json.dumps(value).encode()


# readers


@dataclass(frozen=True)
class Reader:
    """A way into the product: a file's name, the `inputs` it may find, how it is read, and the seconds it may take."""

    file: str
    inputs: st.SearchStrategy[bytes]
    read: Callable[[Path], object]
    keeps: bool = True
    seconds: float = 1.0


def of_json(original, lines=False):
    """JSON files that are like this one."""
    return turned(original).flatmap(lambda value: scratched(as_json(value, lines)))


def of_bytes(*wholes):
    """Files that are like one of these."""
    return st.sampled_from([text.encode() if isinstance(text, str) else text for text in wholes]).flatmap(scratched)


def rows_of(file):
    """The examples of a file; marks are found in them by every rule, too."""
    marker = sets.marker(
        {name: name for name in ("control", "swapped", "irregular-past", "ing-main-verb", "adjective")}
    )
    sheet = readers.read_sheet(file)
    return list(readers.examples(sheet.rows, TASK, sheet.layout, marker))


def label_map_of(file):
    """`--label-map`, and what becomes of it."""
    label_map = arguments.label_map(file.read_bytes().decode("utf-8", "surrogateescape"))
    return labels.reconcile({0: "entailment", 1: "neutral"}, TASK, label_map)


def checkpoint_of(file):
    """Read a checkpoint's JSON as before it is loaded."""
    return open_checkpoint_files(checkpoints.locate(file.parent)).brings_code()


def adapter_of(file):
    """Read an adapter's JSON as before it and its base are looked for."""
    return checkpoints.adapter_base(file.parent)


def reports_of(file):
    """A saved run, its reports, and how it compares to itself."""
    ranking = Ranking.load(file)
    assert what_changed(ranking, ranking).mode == ranking.mode
    return [report.render(ranking, name) for name in ("json", "table", "csv", "markdown", "latex")]


def page_of(file):
    """A saved run, and its report with drawings."""
    return report.render(Ranking.load(file), "html")


def options_of(file):
    """`--config`, and the options that it sets."""
    try:
        run.make_context("run", ["--config", str(file)]).close()
    except click.ClickException as error:  # its own complaint about an option
        assert "\n" not in error.format_message()  # noqa: PT017


def settings_of(file):
    """A checkpoint's small file, held against what it may say."""
    (file.parent / "model.safetensors").touch()
    if not (file.parent / "config.json").exists():
        (file.parent / "config.json").write_text("{}")
    check_settings(open_checkpoint_files(file.parent), LIMITS, trusted=False)


def table_of(file):
    """A table of predictions: what it says of its models, and of some rows."""
    columns = reader.read_columns(file)
    predictions = reading.parse_predictions(columns, name="a")
    for rows in (RequestedRows(("a", "b"), ()), RequestedRows(("1", "2"), (("The actor ran.",), ("It rained.",)))):
        join.join(reading.parse_predictions(columns, TASK, rows=rows, name="a"), rows)
    return predictions


def log_of(file):
    """A log of either program, by itself and in its folder."""
    log_read = logs.read_log(file)
    assert np.isfinite(log_read.outcomes[~np.isnan(log_read.outcomes)]).all()
    return logs.list_logs(file.parent)


FOLDER = f"v2/{key_digest(KEY)[:32]}"


def store_of(file):
    """A store with one shard under the name that its content gives it."""
    root = file.parents[2]
    described = file.parent / "key.json"
    described.write_text(json.dumps(KEY))
    renamed = file.rename(file.with_name(shards.shard_name(file.read_bytes())))
    verify(root)
    contents(root)
    store = Store(root)
    rows = attributions(store.entry(KEY), EXAMPLES, lambda missing: map(row_of, missing))
    assert len(rows) == len(EXAMPLES)
    assert store.entry(KEY).missing(EXAMPLES) == ()
    return renamed


def described_store_of(file):
    """A store whose ``key.json`` is another."""
    verify(file.parents[2])
    return [str(entry) for entry in contents(file.parents[2])]


def shard_of(value):
    """Rows as a shard, as far as Parquet can say them; else as they are in JSON."""
    try:
        rows = [{k: v.encode("latin-1") if k == shards.NAME else v for k, v in row.items()} for row in value]
        table = pa.Table.from_pylist(rows)
        schema = shards._attributions()
        alike = set(table.column_names) == set(schema.names)
        return shards.serialize(table.select(schema.names).cast(schema) if alike else table, key_digest(KEY))
    except (pa.ArrowException, TypeError, AttributeError, KeyError, ValueError, OverflowError):
        return as_json(value)


def parquet_of(value):
    """Records as a plain Parquet file, as far as it can say them; else as they are in JSON."""
    sink = pa.BufferOutputStream()
    try:
        parquet.write_table(pa.Table.from_pylist(value), sink)
    except (pa.ArrowException, TypeError, AttributeError, KeyError, ValueError, OverflowError):
        return as_json(value)
    return sink.getvalue().to_pybytes()


def arrays_of(write, **columns):
    """Arrays as numpy writes them."""
    file = io.BytesIO()
    write(file, *([columns.pop("alone")] if "alone" in columns else []), **columns)
    return file.getvalue()


def archive_of(value):
    """A log of Inspect as the archive that it writes, some of whose parts are no JSON it would write."""
    head, *samples = value if isinstance(value, list) and value else [value]
    parts = [log_making.part("header.json", head)]
    parts += [log_making.part(f"samples/{n}_epoch_1.json", entry) for n, entry in enumerate(samples, 1)]
    return log_making.archive(parts)


def saved_runs():
    """One of each mode, as JSON."""
    table = suite(models=3, examples=12)
    for ranking in (evaluated(table, families=["a", "a", "b"], designed="INDEX-DIFF", draws=3), decided(table)):
        original = {
            "table": ranking_module._table_to_dict(ranking.table),
            "examples": [telling(table.models).to_dict()],
        }
        original["examples"][0]["example"]["id"] = table.examples[0]
        yield json.loads(json.dumps(ranking.to_dict() | original))


EVALUATED, DECIDED = saved_runs()
RECORDS = [
    {**row, shards.NAME: row[shards.NAME].decode("latin-1")}  # JSON knows no bytes
    for row in shards.attributions(text_names(EXAMPLES[:2]), [row_of(example) for example in EXAMPLES[:2]]).to_pylist()
]
CARDS = [path.read_bytes() for path in sorted(embedded.folder().glob(f"*/{embedded.CARD}"))[:3]]
RECIPES = [path.read_bytes() for path in recipe.shipped().values()][:4]

PREDICTED = [
    {"id": "a", "text": "The actor ran.", "label": "entailment", "gpt": "entailment", "bert": [0.9, 0.1]},
    {"id": "b", "text": "It rained.", "label": "non-entailment", "gpt": "neutral", "bert": [0.2, 0.8]},
]
WIDE = "id,text,label,gpt,bert/entailment,bert/non-entailment\na,The actor ran.,entailment,entailment,0.9,0.1\n" \
       "b,It rained.,non-entailment,,0.2,0.8\n"  # fmt: skip
TABLES = [PREDICTED, {"a": "entailment", "b": "neutral"}, {"columns": ["id", "gpt"], "data": [["a", "x"], ["b", "y"]]}]
SCORES = np.array([[0.9, 0.1], [0.2, 0.8]])
ARRAYS = (
    arrays_of(np.savez, predictions=SCORES, label_ids=np.array([0, 1])),
    arrays_of(np.savez_compressed, predictions=np.array(["a", "b"])),
)
STUDIO = [
    {"id": 1, "data": {"text": "The actor ran."}, "annotations": [
        {"id": 5, "completed_by": {"email": "a@b.c"}, "was_cancelled": False, "lead_time": 3.2,
         "result": [{"type": "choices", "value": {"choices": ["entailment"]}}]}]},
]  # fmt: skip
MEASURED = "model,set,value,se,n,group,kind\na,x,0.9,0.01,50,g,ood\nb,x,0.8,,,g,\na,y,0.7,,,g,in-domain\n"
LEADERBOARD = "Model,a: x,y (in-domain),Average\nb,0.5,0.6,-\nc,0.1,0.7,0.4\n"
HARNESS = [log_making.choice_row(n, {"text": f"a {n}"}, "1", (-3, -1), acc=1.0) for n in range(2)]
INSPECT = [log_making.header(), log_making.sample(1, "C"), log_making.sample(2, {"a": 0.5})]
TOKENIZER = {
    "added_tokens": [{"id": 0, "content": "[CLS]"}],
    "normalizer": {
        "type": "Sequence",
        "normalizers": [
            {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"},
            {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAABhAGIA"},
        ],
    },
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [0], "tokens": ["[CLS]"]}},
    },
    "model": {"type": "WordPiece", "vocab": {"[CLS]": 0, "a": 1}},
}
SETTINGS = {
    **CHECKPOINT,
    "num_hidden_layers": 2,
    "id2label": {"0": "a"},
    "attn_implementation": {"": "sdpa"},
    "quantization_config": {"quant_method": "awq"},
    "text_config": {"vocab_size": 5, "layer_types": ["a"]},
}

READERS = {
    "tsv": Reader("a.tsv", of_bytes(TABLE.replace(",", "\t"), TABLE), rows_of),
    "tsv.gz": Reader("a.tsv.gz", of_bytes(gzip.compress(TABLE.replace(",", "\t").encode()), BOMB), rows_of),
    "csv": Reader("a.csv", of_bytes(TABLE), rows_of),
    "jsonl": Reader("a.jsonl", of_json(ROWS, lines=True), rows_of),
    "parquet": Reader("a.parquet", turned(COLUMNAR).map(shard_of).flatmap(scratched), rows_of),
    "table csv": Reader("a.csv", of_bytes(WIDE), table_of),
    "table tsv": Reader("a.tsv", of_bytes(WIDE.replace(",", "\t"), gzip.compress(WIDE.encode())), table_of),
    "table jsonl": Reader("a.jsonl", of_json(PREDICTED, lines=True), table_of),
    "table json": Reader("a.json", st.sampled_from(TABLES).flatmap(of_json), table_of),
    "table parquet": Reader("a.parquet", turned(PREDICTED).map(parquet_of).flatmap(scratched), table_of),
    "table npy": Reader("a.npy", of_bytes(arrays_of(np.save, alone=SCORES)), table_of),
    "table npz": Reader("a.npz", of_bytes(*ARRAYS), table_of),
    "label studio": Reader("a.json", of_json(STUDIO), readers.read_sheet),
    "wide values": Reader("a.csv", of_bytes(LEADERBOARD), lambda file: values.read_values([file])),
    "measures": Reader("a.csv", of_bytes(b"set,level,length\na,easy,0.5\nb,hard,0.25\n"), measures.read_measures),
    "candidates": Reader("a.csv", of_bytes((PUBLISHED / "boss-sentiment.csv").read_bytes()), select.select_sets),
    "values": Reader("a.csv", of_bytes(MEASURED), lambda file: values.read_values([file])),
    "log jsonl": Reader("samples_a_2026-01-01T00-00-00.000000.jsonl", of_json(HARNESS, lines=True), log_of),
    "log list": Reader("samples_a_2026-01-01T00-00-00.000000.jsonl", of_json(HARNESS), log_of),
    "log eval": Reader("a.eval", turned(INSPECT).map(archive_of).flatmap(scratched), log_of),
    "log json": Reader("a.json", of_json({**INSPECT[0], "samples": INSPECT[1:]}), log_of),
    "settings": Reader("config.json", of_json(SETTINGS), settings_of, keeps=False),
    "adapter settings": Reader("adapter_config.json", of_json(SETTINGS), settings_of, keeps=False),
    "tokenizer": Reader("tokenizer.json", of_json(TOKENIZER), settings_of, keeps=False),
    "suite": Reader("suite.json", of_json(SUITE), lambda file: suites.load([str(file.parent)])),
    "card": Reader("card.toml", of_bytes(*CARDS), cards.read_card),
    "recipe": Reader("a.toml", of_bytes(*RECIPES), lambda file: recipe.load(str(file))),
    "config": Reader("a.toml", of_bytes(OPTIONS), options_of),
    "label map": Reader("map", of_json({"0": "entailment", "neutral": "non-entailment"}), label_map_of),
    "checkpoint": Reader("config.json", of_json(CHECKPOINT), checkpoint_of),
    "adapter": Reader("adapter_config.json", of_json(CHECKPOINT), adapter_of),
    "shard": Reader(f"{FOLDER}/shard", turned(RECORDS).map(shard_of).flatmap(scratched), store_of, keeps=False),
    "key": Reader(f"{FOLDER}/key.json", of_json(KEY), described_store_of),
    "run": Reader("run.json", st.sampled_from([EVALUATED, DECIDED]).flatmap(of_json), reports_of),
    # Drawing costs a page a third of a second and more, whatever is in the file.
    "page": Reader("run.json", st.sampled_from([EVALUATED, DECIDED]).flatmap(of_json), page_of, seconds=3.0),
}


def as_long_as_is_read(used, line):
    """Numbered lines, as many as the longest TOML file that is read has room for."""
    return b"".join(line % number for number in range((records.MAX_TOML - used) // len(line % 0)))


DEEP_HEADER = b"[" + b"a." * records.MAX_DOTS + b"a]\n"
"""Of as many parts as a line may have: each key below it costs the parser all of them."""

WORD = DECIDED["examples"][0]["models"][0]["words"][0]


def without_score(model, name):
    """A model of a decision that has no score by a factor of the table."""
    return {**model, "scores": {key: score for key, score in model["scores"].items() if key != name}}


def with_words(example, words):
    """An example in which the first model reads other words."""
    first, *model = example["models"]
    return {**example, "models": [{**first, "words": words}, *model]}


REQUIRED = parquet_of(COLUMNAR).replace(b"\x15\x04\x25\x02\x18\x05label", b"\x15\x04\x25\x00\x18\x05label")
ROW_COUNT = b"\x16\x04\x19\x1c"  # two, before the groups of rows
FOUND = [
    *((name, REQUIRED) for name in ("parquet", "table parquet")),
    ("table csv", WIDE.encode().replace(b"gpt", b"a-" * 30_000, 1)),
    ("table parquet", parquet_of([PREDICTED[0], {**PREDICTED[1], "bert": [1e308, 1e308]}])),
    *(("table parquet", parquet_of(PREDICTED).replace(ROW_COUNT, b"\x16%c\x19\x1c" % n)) for n in (1, 2, 6)),
    ("card", b"a = " + b"[" * 5000),
    ("card", b"a = " + b"9" * 5000),
    ("card", b"a." * 9000 + b"a = 1\n"),
    ("recipe", b"a." * 1500 + b"a = 1\n"),
    ("recipe", DEEP_HEADER + as_long_as_is_read(len(DEEP_HEADER), b"b." * records.MAX_DOTS + b"c%04d=1\n")),
    ("config", as_long_as_is_read(0, b"[" + b"a." * records.MAX_DOTS + b"c%04d]\n")),
    ("config", b"probe = 1e999\n"),
    ("config", b"seed = [5]\n"),
    ("config", b"output = 5\nmodels = 1979-05-27\n"),
    ("config", b"x = " + b"{a = " * 1500 + b"\n"),
    ("label map", b"[" * 100_000),
    ("label map", b'{"0": ' + b"9" * 5000 + b"}"),
    ("jsonl", as_json([{**ROWS[0], "marks": {"x": [[float("inf"), 4, 9]]}}], lines=True)),
    ("jsonl", as_json([{**ROWS[0], "marks": {"x": "\ud800", "y": "\udfff"}}, *ROWS[1:]], lines=True)),
    ("jsonl", b'{"text": "a", "label": ' + b"[" * 970 + b"]" * 970 + b"}"),
    ("jsonl", b'{"text": "a", "label": 0, "a\\nb": 0, "label": "\\u001b[2J"}'),
    ("jsonl", b'{"text": "a", "\\nlabel": 0}'),
    ("tsv", b"text\tlab\x0bel\na\t0\n"),
    ("csv", b"text,label,marks\na,1," + b"[" * 100_000),
    ("csv", b'text,"\n"\na,1\n'),
    ("table jsonl", as_json([{**PREDICTED[0], "bert": ["\ud800", 0.1]}, PREDICTED[1]], lines=True)),
    ("suite", b"[" * 100_000),
    ("suite", as_json({**SUITE, "models": [{**SUITE["models"][0], "path": "a" * 5000}]})),
    ("suite", as_json({**SUITE, "models": [{**SUITE["models"][0], "in_domain_accuracy": "high"}]})),
    ("suite", as_json({**SUITE, "models": [{**SUITE["models"][0], "in_domain_accuracy": float("nan")}]})),
    ("checkpoint", b"[" * 100_000),
    ("adapter", as_json({**CHECKPOINT, "base_model_name_or_path": True})),
    ("adapter", as_json({**CHECKPOINT, "base_model_name_or_path": "a" * 5000})),
    ("key", b"[" * 100_000),
    ("shard", shard_of([{**RECORDS[0], "probs": None}])),
    ("shard", shard_of([{**RECORDS[0], "segment": [1 << 63, 0, 0]}])),
    ("shard", shard_of([RECORDS[0], {**RECORDS[1], "target": None}])),
    ("run", b"[" * 100_000),
    ("run", as_json({**DECIDED, "models": [1]})),
    ("run", as_json({**DECIDED, "decision": {**DECIDED["decision"], "models": [1]}})),
    ("run", as_json({**DECIDED, "header": {**DECIDED["header"], "provenance": {"settings": {"a": float("inf")}}}})),
    ("page", as_json({**DECIDED, "header": {**DECIDED["header"], "provenance": {"settings": {"a": float("inf")}}}})),
    ("run", as_json({**DECIDED, "decision": {**DECIDED["decision"], "p_beats": [[0.5]]}})),
    ("page", as_json({**DECIDED, "decision": {**DECIDED["decision"], "p_beats": [
        [1e308] * len(row) for row in DECIDED["decision"]["p_beats"]]}})),
    ("page", as_json({**EVALUATED, "evaluation": {**EVALUATED["evaluation"], "pairs": [
        {**pair, "accuracy": 1e308} for pair in EVALUATED["evaluation"]["pairs"]]}})),
    ("run", as_json({**DECIDED, "decision": {**DECIDED["decision"], "models": [
        without_score(model, "ACC") for model in DECIDED["decision"]["models"]]}})),
    ("page", as_json({**DECIDED, "examples": [with_words(DECIDED["examples"][0], [])]})),
    ("run", as_json({**DECIDED, "examples": [with_words(DECIDED["examples"][0], [{**WORD, "score": 10**400}])]})),
    ("run", as_json({**DECIDED, "table": {**DECIDED["table"], "values": [[[1 << 2000]]]}})),
]  # fmt: skip
"""What brought something else about once."""


def holds(reader, folder, content):
    """Read the content: a result, or one of our errors in one line; and nothing but it in the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    file = folder / reader.file
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    message = ""
    try:
        with bounded(reader.seconds):
            reader.read(file)
    except RankModelsError as error:
        message = str(error)
    assert message.isprintable()
    assert len(message) <= MAX_MESSAGE_CHARACTERS + MAX_PATH_CHARACTERS
    if reader.keeps:
        assert [path for path in folder.rglob("*") if path.is_file()] == [file]
        assert file.read_bytes() == content


@pytest.fixture(scope="module", autouse=True)
def _imported(tmp_path_factory):
    """A page is made, so that no file's second is spent on importing what draws it."""
    file = tmp_path_factory.mktemp("imported") / "run.json"
    file.write_bytes(as_json(EVALUATED))
    page_of(file)


@pytest.mark.few(3)
@pytest.mark.parametrize("count", [20, pytest.param(20_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", READERS)
def test_whatever_is_in_a_file_is_a_result_or_one_line(name, count, tmp_path):
    """No other exception, no second of computing, and no file that is changed, made or removed."""
    reader = READERS[name]

    @settings(max_examples=count, database=None, derandomize=count < 1000,
              phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(reader.inputs)
    def check(content):
        holds(reader, tmp_path / "input", content)

    check()


def places_of_numbers(content, place=()):
    """Yield the keys that lead to each number of a saved run."""
    if isinstance(content, (dict, list)):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from places_of_numbers(value, (*place, key))
    elif isinstance(content, (int, float)) and not isinstance(content, bool):
        yield place


def with_number(content, place, number):
    """The same with another number at a place."""
    if not place:
        return number
    key, *inner_place = place
    if isinstance(content, dict):
        return {**content, key: with_number(content[key], inner_place, number)}
    return [*content[:key], with_number(content[key], inner_place, number), *content[key + 1 :]]


@pytest.mark.soak
@pytest.mark.parametrize("number", [1e308, -1e308, 1e-320, 10**18, -(10**18)])
@pytest.mark.parametrize("run", [EVALUATED, DECIDED], ids=["evaluated", "decided"])
def test_no_number_of_a_saved_run_is_too_large_for_its_page(run, number, tmp_path):
    """In each place that differs by more than its position in a list, first and last: a page, or one line."""
    content = json.loads(as_json(run))
    places = {}
    for place in places_of_numbers(content):
        names = tuple(key for key in place if isinstance(key, str))
        places.setdefault(names, []).append(place)
    assert len(places) > 20
    for first, *_, last in ([*alike, alike[-1]] for alike in places.values()):
        for place in {first, last}:
            holds(READERS["page"], tmp_path / "input", as_json(with_number(content, place, number)))


@pytest.mark.parametrize(("name", "content"), FOUND, ids=[f"{name} {number}" for number, (name, _) in enumerate(FOUND)])
def test_what_was_not_said_in_one_line_once_is_now(name, content, tmp_path):
    """Files that were found to bring about another exception, or a store that was told nothing and lost a row."""
    holds(READERS[name], tmp_path / "input", content)
