"""Messages of files, datasets, domains, tasks and sources, and what provokes each."""

import gzip
import io
import json
import math
import os
import urllib.error
import urllib.response
import zipfile
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pyarrow as pa
import torch
from fixed_source import FixedSource
from logmaking import (
    TIME,
    archive,
    choice_row,
    eval_log,
    header,
    json_log,
    lines,
    lm_log,
    part,
    results,
    sample,
    written_row,
)
from pyarrow import parquet
from tables_made import ROWS, TASK, npy, written
from test_report_formats import toy as toy_ranking

from factors import Example
from ranker import LogOptions, SourceOptions, labelled, load_suite
from ranker.datasets import sets
from ranker.datasets.cards import read_card
from ranker.datasets.fetch import fetch
from ranker.datasets.mapping import check_spellings, parse_label_map
from ranker.datasets.marks import marker
from ranker.datasets.readers import examples, read_sheet
from ranker.domains import values
from ranker.domains.compare import compare
from ranker.domains.measures import read_measures, with_levels
from ranker.domains.select import select_sets
from ranker.domains.words import count_words
from ranker.files import encodings, footers, reader, text
from ranker.limits import Limits
from ranker.sources.base import Machine, ResourceCache
from ranker.sources.devices import resolve
from ranker.sources.hf import checkpoints, settings
from ranker.sources.hf.extractors import SpanExtractor
from ranker.sources.hf.files import open_checkpoint_files
from ranker.sources.hf.labels import check_inverse, reconcile, tag_outputs
from ranker.sources.hf.loading import label_names
from ranker.sources.kinds import kind_of, known_kinds, refuse_unread_options
from ranker.sources.logs.answers import match_rows, read_labels
from ranker.sources.logs.kind import scale_outcomes
from ranker.sources.logs.reading import list_logs, read_log
from ranker.sources.logs.runs import average_runs
from ranker.sources.packing import run_in_batches
from ranker.sources.references import Reference
from ranker.sources.tables import entries, join
from ranker.sources.tables.base import TableHints
from ranker.sources.tables.cells import Labels
from ranker.sources.tables.options import TableOptions
from ranker.sources.tables.reading import parse_predictions
from ranker.sources.texts import group_labels
from ranker.tasks.base import require_task
from ranker.tasks.classes import ClassificationTask, require_labels
from ranker.tasks.metrics import metric_named
from ranker.tasks.numbers import NumberTask
from ranker.tasks.precomputed import PrecomputedTask
from ranker.tasks.tags import TagTask
from ranker.tasks.texts import TextTask

NLI = ClassificationTask("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral", "contradiction")})
GOOD = {"premise": "The actor ran.", "hypothesis": "An actor ran.", "label": "entailment"}


def beside(folder, *names):
    """Write empty files into a folder."""
    for name in names:
        (folder / name).touch()
    return folder


def columns(folder, name, content, **options):
    """Write a file and read its columns."""
    return reader.read_columns(written(folder / name, content), **options)


def cut(folder):
    """Read a file whose gzip is cut."""
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"id\n1\n")[:-9])
    return reader.read_columns(folder / "a.csv.gz")


def rows(folder, content, name="a.jsonl", columns=None):
    """Write a file of rows, by default a mapping as a JSON line, and read its examples."""
    sheet = read_sheet(written(folder / name, json.dumps(content) + "\n" if name == "a.jsonl" else content), columns)
    return tuple(examples(sheet.rows, NLI, sheet.layout))


def reason(folder, cell):
    """Read a row with a rationale."""
    row = {"text": "Never again.", "label": "neutral", "why": cell}
    return rows(folder, row, columns={"rationale": ["why"]})


def of_values(folder, *lines, head="model,set,value,se,n,group,kind,run"):
    """Write a table of models and sets, and read it."""
    return values.read_values([written(folder / "a.csv", "\n".join([head, *lines]) + "\n")])


def member(content, method=zipfile.ZIP_DEFLATED):
    """Return a zip archive of one file of lines, of which bytes are replaced."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("ann.jsonl", '{"text": "It ran.", "label": ["a"]}\n' * 500)
    return file.getvalue()[:45] + content + file.getvalue()[45 + len(content) :]


def fetched(folder, answer):
    """Fetch the official file of hans-sub from a server that answers so: with bytes of 9, or with an error."""

    def open_url(address, timeout):
        if isinstance(answer, Exception):
            raise answer
        return urllib.response.addinfourl(io.BytesIO(answer), {"Content-Length": "9"}, address)

    with mock.patch("urllib.request.urlopen", open_url):
        fetch("hans-sub", folder, "https://example.org/a")


MEASURED_CELL = {"model": "a", "set": "x", "value": 0.5}
CANDIDATE = {"set": "home", "source": "web", "similarity": 0.5, "model": "a", "value": 0.9, "kind": "in-domain"}


def compared(*cells, **options):
    """Compare models by cells (model, set, value)."""
    return compare([dict(zip(("model", "set", "value", "kind"), cell, strict=False)) for cell in cells], **options)


def line_of(last):
    """Return cells of nine models on two sets, of which the last value is as given."""
    numbers = [n / 20 for n in range(1, 10)]
    cells = [(f"m{n}", "id", n, "in-domain") for n in numbers]
    return *cells, *((f"m{n}", "far", n) for n in numbers[:-1]), (f"m{numbers[-1]}", "far", last)


def ranged(start):
    """Return a Parquet file with an index that pandas wrote as a range."""
    index = {"kind": "range", "name": "row", "start": start, "step": 1}
    return packed(pandas=json.dumps({"index_columns": [index]}))


def described(features):
    """Return a Parquet file whose columns `datasets` described so."""
    return packed(huggingface=features)


def packed(**metadata):
    """Return a Parquet file with metadata of its columns."""
    file = io.BytesIO()
    parquet.write_table(pa.table({"label": [1]}).replace_schema_metadata(metadata), file)
    return file.getvalue()


CARD = """
description = "A toy."
source = "https://example.org/toy"
licence = "MIT"
population = 3
files = ["toy.tsv"]
folders = ["below"]

[task]
name = "colour"
labels = ["red", "blue"]

[[layouts]]
text = ["first", "second"]
label = "label"
where = { kind = "hard" }
"""


def toy(folder, text=CARD):
    """Write the card of a set, and return its folder."""
    (folder / "toy").mkdir()
    written(folder / "toy" / "card.toml", text)
    return folder / "toy"


def card(folder, old, new):
    """Read a card of which a part is replaced."""
    return read_card(toy(folder, CARD.replace(old, new, 1)) / "card.toml")


def official(folder):
    """Return the place of the official file of hans-sub."""
    return folder / "heuristics_evaluation_set.txt"


MOODS = ClassificationTask("moods", ("bad", "so", "good"))
RUNS = "text,label,seed,m\nA.,x,1,x\nB.,y,1,x\nB.,y,2,x\nA.,x,2,y\n"
CHOICE = choice_row(0, {"text": "a b"}, "1", (-3, -1), acc=1.0)
WRITTEN = written_row(0, {"q": 0}, "x", "x", "x", em=1.0, f1=0.5)
GENERATED = written_row(0, {"q": 0}, "a b", "a c", "a c", f1=0.5)
UNNAMED = [written_row(n, {"q": n}, "x", "x", "x", filter=None, em=1.0) for n in (0, 1, 0)]
PARTS = [part("header.json", header()), part("samples/1_epoch_1.json", sample(1, "C"))]
ANSWERED = [written_row(n, {"q": n}, name, name, name, em=1.0) for n, name in enumerate(("no", "yes") * 2)]


def table(folder, content, name="a.csv", task=TASK, **hints):
    """Write a table of answers and read it."""
    return parse_predictions(columns(folder, name, content), task, TableHints(**hints))


def joined(folder, content, **of_rows):
    """Join a table with the rows asked about."""
    file, requested = columns(folder, "a.csv", content), replace(ROWS, **of_rows)
    requested = entries.with_ids(file, requested)
    return join.join(parse_predictions(file, TASK, None, requested), requested)


def log(folder, *content, **selection):
    """Write a log of lm-evaluation-harness, as bytes or of rows, and read it."""
    path = folder / "a.jsonl"
    path.write_bytes(content[0] if isinstance(content[0], bytes) else lines(content).encode())
    return read_log(path, LogOptions(**selection))


def likelihoods(folder):
    """Read a log that holds log-likelihoods."""
    rows = [written_row(n, {"q": n}, "x", "x", ["-2", "False"], perplexity=n - 3.0) for n in (0, 2)]
    results(folder, higher={"perplexity": False}, results={"small": {"perplexity,none": math.exp(2)}})
    return read_log(lm_log(folder, rows))


def samples(folder, *parts):
    """Write a log of Inspect as an archive with these parts, and read it."""
    return read_log(written(folder / "a.eval", archive([PARTS[0], *parts])))


def scored(folder, *entries, **selection):
    """Write a log of Inspect as one text with these samples, and read it."""
    return read_log(json_log(folder / "a.json", list(entries)), LogOptions(**selection))


def moved(content):
    """Replace the mark of an archive's second part."""
    return content[:4] + content[4:].replace(b"PK\3\4", b"PK\3\5")


def linked(folder):
    """Return a folder with a log that is a link out of it."""
    (folder / "logs").mkdir()
    (folder / "logs" / f"samples_small_{TIME}.jsonl").symlink_to(lm_log(folder / "away", [CHOICE]))
    return folder / "logs"


def runs(folder):
    """Return a folder with two runs of a task with other arguments."""
    for day in (1, 2):
        head = header(ids=[1])
        head["eval"] |= {"created": f"2026-01-0{day}T00:00:00+00:00", "model_generate_config": {"seed": day}}
        eval_log(written(folder / f"{day}.eval", ""), [sample(1, "C")], head)
    return folder


def tasks(folder):
    """Return a folder with logs of two tasks."""
    for task in ("one", "two"):
        lm_log(folder, [CHOICE], task)
    return folder


def models(reference):
    """Return the models of a reference."""
    return load_suite([str(reference), "hans-sub-mini"])


FOREIGN = {"auto_map": {"AutoModel": "org/name--own.Own"}}
NAMES = {0: "entailment", 1: "not_entailment"}
SUITE = {"schema_version": 1, "name": "x"}


def unreached(folder, reference):
    """Look for a checkpoint on a hub that cannot be reached."""
    with mock.patch("huggingface_hub.snapshot_download", side_effect=OSError("no network\nand more")):
        checkpoints.locate(reference)


def adapter(folder, **config):
    """Return a folder with an adapter of this configuration."""
    written(folder / "adapter_config.json", config)
    return written(folder / "adapter_model.safetensors", "").parent


NO_NETWORK = SimpleNamespace(parameters=lambda: [torch.zeros(9)], config=SimpleNamespace())


def extractor():
    """Return a question answering head without a network."""
    tokenizer = SimpleNamespace(num_special_tokens_to_add=lambda pair: 3)
    fields = {"model": NO_NETWORK, "takes_type_ids": False, "special_ids": (), "device": torch.device("cpu")}
    return SpanExtractor(name="m", tokenizer=tokenizer, max_length=9, token_budget=9, **fields)


def network(names, problem=None):
    """Return what a loaded network says of its labels."""
    return SimpleNamespace(name_or_path="m", config=SimpleNamespace(id2label=names, problem_type=problem))


def exhausted(batch):
    """Fail as where no memory is left."""
    raise MemoryError


def suite(folder, content):
    """Load a suite.json."""
    return load_suite([str(written(folder / "suite.json", content).parent)])


def answered(answer):
    """Ask a black box for one answer."""
    model = FixedSource("bag", answer=answer).open(NLI, Machine(), ResourceCache())
    list(model.predict([Example("x", ("A.",), None)], print))


def installed(name, load):
    """Look for kinds of sources where a package has one."""
    point = SimpleNamespace(name=name, value="mine:kind", dist=SimpleNamespace(name="mine"), load=load)
    with mock.patch("importlib.metadata.entry_points", return_value=[point]):
        known_kinds(ResourceCache())


def checked(folder, **config):
    """Check the settings of a checkpoint."""
    written(folder / "model.safetensors", "")
    written(folder / "config.json", config)
    settings.check(open_checkpoint_files(folder), Limits(), False)


def adapted(folder, **config):
    """Check the settings of an adapter."""
    (folder / "base").mkdir()
    checked(folder / "base")
    files = open_checkpoint_files(adapter(folder, base_model_name_or_path="base", **config))
    settings.check(files, Limits(), False)


FILES = [
    ("no row", lambda folder: columns(folder, "a.csv", "id,text\n"), "a.csv holds no row"),
    ("a spreadsheet", lambda folder: columns(folder, "a.xlsx", ""),
     "a.xlsx: a spreadsheet is not read; save its sheet as .csv"),
    ("no file of rows", lambda folder: columns(folder, "a.doc", ""),
     "a.doc: a file of rows or a table ends in .csv, .tsv, .txt, .conll, .bio, .run, .qrels, .jsonl, .json, .parquet, "
     ".npy, .npz; those of text may be gzipped (.csv.gz)"),
    ("no list of rows", lambda folder: reader.of_rows(["A hut."]),
     "rows in memory must be a list of column -> value, one such a row (got a str)"),
    ("no such file", lambda folder: reader.read_columns(folder / "a.csv"),
     "a.csv cannot be read: No such file or directory"),
    ("a file with a mistyped name",
     lambda folder: reader.read_columns(beside(folder, "beta.csv", "b.csv") / "betta.csv"),
     "betta.csv cannot be read: No such file or directory; did you mean beta.csv?"),
    ("a file with a mistyped ending", lambda folder: reader.read_columns(beside(folder, "beta.jsonl") / "beta.csv"),
     "beta.csv cannot be read: No such file or directory; did you mean beta.jsonl?"),
    ("a model with a mistyped name",
     lambda folder: load_suite([str(beside(folder, "beta.csv") / "betta.csv"), "org/a"]),
     "`models`: no file, directory, suite.json or hub id `org/name` is called 'betta.csv'; did you mean beta.csv?"),
    ("a folder", lambda folder: (os.mkdir(folder / "a.csv"), reader.read_columns(folder / "a.csv")),
     "a.csv is no file, but a folder"),
    ("a pipe", lambda folder: (os.mkfifo(folder / "a.csv"), reader.read_columns(folder / "a.csv")), "a.csv is no file"),
    ("a link", lambda folder: (os.symlink("/etc/hosts", folder / "a.csv"), reader.read_columns(folder / "a.csv")),
     "a.csv links to /etc/hosts, outside of its folder; put a copy there"),
    ("an encoding of no name", lambda folder: encodings.check("utf-9"),
     "`encoding` must be one that Python knows, such as cp1252 (got 'utf-9')"),
    ("Latin-1", lambda folder: columns(folder, "a.csv", b"id\n\xe9\n"),
     "a.csv, line 2: not UTF-8 (byte 0xe9); save it as UTF-8, or say `encoding=cp1252`, or which it is"),
    ("Latin-1, whole", lambda folder: text.content(written(folder / "a.json", b"[\xe9]")),
     "a.json: not UTF-8 (byte 0xe9); save it as UTF-8, or say `encoding=cp1252`, or which it is"),
    ("UTF-16 without a mark", lambda folder: columns(folder, "a.csv", "id\n1\n".encode("utf-16-le")),
     "a.csv, line 1: not UTF-8 (byte 0x69); is it UTF-16? save it as UTF-8, or say `encoding=utf-16-le`"),
    ("another encoding", lambda folder: columns(folder, "a.csv", b"id\n\x81\n", encoding="cp1252"),
     "a.csv: not charmap (byte 0x81), as its mark or `encoding` says"),
    ("cut gzip", lambda folder: cut(folder), "a.csv.gz cannot be read: it ends in the middle of a part"),
    ("a NUL", lambda folder: columns(folder, "a.csv", "id\na\0\n"),
     "a.csv, line 2: the column 'id' holds a NUL; is the file text, and UTF-8?"),
    ("an empty file", lambda folder: columns(folder, "a.csv", ""),
     "a.csv is empty; its first line must name the columns"),
    ("two columns of a name", lambda folder: columns(folder, "a.csv", "id,id\n1,2\n"),
     "a.csv, line 1: two columns are named 'id'"),
    ("a cell too many", lambda folder: columns(folder, "a.csv", "id\n1,2\n"),
     "a.csv, line 2: 1 cells are needed, as in line 1 (got 2)"),
    ("carriage returns", lambda folder: columns(folder, "a.csv", "id,text\ra,b\r"),
     "a.csv, line 1: are its lines ended by bare carriage returns?"),
    ("a quote inside", lambda folder: columns(folder, "a.csv", 'id\n"a"b\n'), "a.csv, line 2: ',' expected after '\"'"),
    ("no JSON in a line", lambda folder: columns(folder, "a.jsonl", "{'id': 1}\n"),
     "a.jsonl, line 1: no JSON (Expecting property name enclosed in double quotes)"),
    ("two keys of a name", lambda folder: columns(folder, "a.jsonl", '{"id": 1, "id": 2}\n'),
     "a.jsonl, line 1: no JSON (the key 'id' is there twice)"),
    ("a line of another kind", lambda folder: columns(folder, "a.jsonl", "[1]\n[]\n"),
     "a.jsonl, line 2: an object {...} is needed (got '[]')"),
    ("no JSON", lambda folder: columns(folder, "a.json", "[" * 100_000), "a.json: no JSON (it is nested too deeply)"),
    ("a text as JSON", lambda folder: columns(folder, "a.json", '"a"'),
     "a.json: an array of records, or an object, is needed (got 'a')"),
    ("rows and texts", lambda folder: columns(folder, "a.json", ["a", {"id": 1}]),
     "a.json: the items of an array are all objects, or all answers"),
    ("answers by id", lambda folder: columns(folder, "a.json", {"a": "b", "c": {"d": 1}}),
     "a.json: an object of answers by id holds nothing but answers (got values of dict, str)"),
    ("a row too short", lambda folder: columns(folder, "a.json", {"columns": ["a", "b"], "data": [[1]]}),
     "a.json, row 1: 2 cells are needed, as in `columns` (got 1)"),
    ("two names in JSON", lambda folder: columns(folder, "a.json", {"columns": ["a", "a"], "data": []}),
     "a.json: two columns are named 'a'"),
    ("a NUL in Parquet", lambda folder: columns(folder, "a.parquet", {"id": ["a\0"]}),
     "a.parquet: the column 'id' holds a NUL; is that text?"),
    ("no UTF-8 in Parquet", lambda folder: columns(folder, "a.parquet", {"id": pa.array([b"\xe9"]).view("str")}),
     "a.parquet: the column 'id' holds no UTF-8 text"),
    ("no Parquet", lambda folder: columns(folder, "a.parquet", b"PAR1"),
     "a.parquet cannot be read: Parquet file size is 4 bytes, smaller than the minimum file footer (8 bytes)"),
    ("a broken footer", lambda folder: footers.read_footer(io.BytesIO(b"PAR1\x19\x19\2\0\0\0PAR1"), "a.parquet"),
     "a.parquet cannot be read: its footer is broken"),
    ("a range beyond 64 bits", lambda folder: columns(folder, "a.parquet", ranged(1 << 63)),
     "a.parquet cannot be read: its index holds numbers of more than 64 bits"),
    ("features that are no JSON", lambda folder: columns(folder, "a.parquet", described("[" * 100_000)),
     "a.parquet cannot be read: it is nested too deeply, in what `datasets` wrote of its columns"),
    ("an array of no classes", lambda folder: columns(folder, "a.npy", np.zeros((9, 0))),
     "a.npy: the array 'predictions' must have the shape (rows,) or (rows, classes) (got (9, 0))"),
    ("an array of objects", lambda folder: columns(folder, "a.npy", npy(np.array([{}]), allow_pickle=True)),
     "a.npy holds Python's own objects, which are never unpickled; save numbers or texts"),
    ("an array of dates", lambda folder: columns(folder, "a.npy", npy(np.zeros(2, "M8[s]"))),
     "a.npy must hold numbers, texts or truth values (got datetime64[s])"),
    ("a cut array", lambda folder: columns(folder, "a.npy", npy(np.zeros(2))[:-8]),
     "a.npy must have 16 bytes, as its header says (got 8)"),
    ("arrays of two lengths", lambda folder: columns(folder, "a.npz", {"a": np.zeros(3), "b": np.zeros(2)}),
     "a.npz: its arrays have different numbers of rows: 'a' 3, 'b' 2"),
    ("no zip", lambda folder: read_sheet(written(folder / "a.npz", b"PK\3\4")),
     "a.npz: no zip archive, or cut off (it has no end)"),
    ("a damaged part", lambda folder: read_sheet(written(folder / "a.npz", member(b"\xff" * 30))),
     "a.npz, part 'ann.jsonl': damaged (Error -3 while decompressing data: invalid code lengths set)"),
    ("an unknown method", lambda folder: read_sheet(written(folder / "a.npz", member(b"", zipfile.ZIP_BZIP2))),
     "a.npz, part 'ann.jsonl': packed by method 12, which is not read"),
    ("JSON_MIN", lambda folder: read_sheet(written(folder / "a.json", [{"annotation_id": 1, "lead_time": 2}])),
     "a.json: Label Studio's JSON_MIN loses rows; export JSON or CSV instead"),
    ("two labels of a row", lambda folder: rows(folder, {**GOOD, "label": ["a", "b"]}),
     "a.jsonl, line 1: a row must have one label (got a, b)"),
    ("a token without a tag", lambda folder: columns(folder, "a.conll", "a B-X\ndog\n"),
     "a.conll, line 2: a line needs a token and its tag (got 'dog')"),
    ("a line beyond its limit", lambda folder: columns(folder, "a.csv", "id\n123\n", limits=Limits(line=3)),
     "a.csv, line 2: more than 3 bytes in a line, the most that is read (`limits.line`)"),
]  # fmt: skip


DATASETS = [
    ("a number beyond the scale", lambda folder: labelled([{"text": "A.", "label": 6}], NumberTask("n", 0, 5)),
     "row 1: a number from 0 to 5 is needed (got '6')"),
    ("no reference yet", lambda folder: labelled([{"text": "A.", "references": []}], TextTask("text")),
     "rows in memory: the column 'references' is still empty in all 1 rows"),
    ("an article of no questions", lambda folder: rows(folder, {"data": [{"paragraphs": [{"qas": [{}]}]}]}, "a.json"),
     "a.json, article 1: 'id' is missing"),
    ("no such set", lambda folder: sets.load("hans-s"), "there is no OOD set 'hans-s'; did you mean hans-sub?"),
    ("a name like no other", lambda folder: sets.load("qqqq"),
     "there is no OOD set 'qqqq'; known: hans-con, hans-lex, hans-sub, msgs-adject, msgs-morph, msgs-verb, paws"),
    ("no sample of a set", lambda folder: sets.load("toy", None, [toy(folder)]),
     "toy has no embedded sample: name the folder of the official rows with `data_dir`; they come from "
     "https://example.org/toy"),
    ("no file of a set", lambda folder: sets.load("toy", folder, [toy(folder)]),
     "`data_dir`: there is no toy.tsv in FOLDER, nor in its below/; they come from https://example.org/toy"),
    ("no file that can be fetched", lambda folder: sets.load("hans-sub", folder),
     "`data_dir`: there is no heuristics_evaluation_set.txt in FOLDER, nor in its hans/; `rank-models "
     "fetch hans-sub --data-dir DIR` gets them"),
    ("no folder of data", lambda folder: sets.load("hans-sub", folder / "none"),
     "`data_dir` must be a folder that exists (got none)"),
    ("no card", lambda folder: sets.load("toy", folder, [folder]),
     "`include` must name a folder with a card.toml, or a folder of such (got FOLDER)"),
    ("no row of a set", lambda folder: sets.from_rows("toy", [], [toy(folder)]),
     "rows in memory holds no row of toy: none has kind = hard"),
    ("no column of a set", lambda folder: sets.from_rows("hans-lex", [{"premise": "A.", "label": 1}]),
     "rows in memory has another layout than hans-lex, which needs the columns sentence1, sentence2, gold_label, "
     "pairID, heuristic; or premise, hypothesis, label, heuristic (columns: premise, label)"),
    ("a rule that is none", lambda folder: card(folder, 'label = "label"', 'label = "label"\nmap = "starz"'),
     "toy/card.toml: there is no rule of labels 'starz'; did you mean stars?"),
    ("a task that is none", lambda folder: card(folder, 'labels = ["red", "blue"]', ""),
     "toy/card.toml: there is no task without `labels` 'colour'; known: tags, spans, text, number, ranking, "
     "label-sets"),
    ("too few rows", lambda folder: sets.load("hans-sub", limit=0), "`limit` must be at least 1 (got 0)"),
    ("a task beside a set", lambda folder: labelled([GOOD], "nli", like="paws"),
     "`task` nli is not that of paws, which is paraphrase"),
    ("no such task", lambda folder: labelled([GOOD], task="nil"), "there is no task 'nil'; did you mean nli?"),
    ("numbers of several tasks", lambda folder: labelled([{**GOOD, "label": 1}]),
     "`task=NAME` is needed: the labels of rows in memory fit several tasks (nli, msgs, paraphrase); or "
     "write names instead of numbers"),
    ("a label of no task", lambda folder: labelled([{**GOOD, "label": "green"}]),
     "row 1: the label 'green' is of no known task (nli: non-entailment, entailment; msgs: no-feature, "
     "feature; paraphrase: non-paraphrase, paraphrase); describe yours: a card and `include=DIR`, see "
     "docs/own-set.md, or say with `label_map` which outputs of the models are meant"),
    ("a label of no task beside others", lambda folder: labelled([GOOD, {**GOOD, "label": "maybe"}]),
     "row 2: the label 'maybe' is of no known task (nli: non-entailment, entailment; msgs: no-feature, "
     "feature; paraphrase: non-paraphrase, paraphrase); describe yours: a card and `include=DIR`, see "
     "docs/own-set.md, or say with `label_map` which outputs of the models are meant"),
    ("no label yet", lambda folder: labelled([{**GOOD, "label": ""}] * 3),
     "rows in memory: the column 'label' is still empty in all 3 rows"),
    ("no such role", lambda folder: labelled([GOOD], columns={"gold": "label"}),
     "there is no role of a column 'gold'; known: text, label, id, cluster, rationale"),
    ("no label of the task", lambda folder: rows(folder, {**GOOD, "label": "LABEL_1"}),
     "a.jsonl, line 1: a label must be one of non-entailment (0), entailment (1) or an alias (got 'LABEL_1')"),
    ("no label in a row", lambda folder: rows(folder, {**GOOD, "label": None}),
     "a.jsonl, line 1: the column 'label' is empty, and must hold a label"),
    ("no text in a row", lambda folder: rows(folder, {**GOOD, "premise": ""}),
     "a.jsonl, line 1: the column 'premise' is empty, and must hold a text"),
    ("a number as text", lambda folder: rows(folder, {**GOOD, "premise": 3}),
     "a.jsonl, line 1: the column 'premise' must hold a text (got '3')"),
    ("half of a character", lambda folder: rows(folder, '{"text": "\\ud800", "label": 1}\n', "b.jsonl"),
     "b.jsonl, line 1: the column 'text' holds a text with half of a character"),
    ("three texts", lambda folder: rows(folder, {"segments": ["a", "b", "c"], "label": 1}),
     "a.jsonl, line 1: example 1: one or two segments are needed (got 3)"),
    ("a cell beyond its limit", lambda folder: rows(folder, {**GOOD, "premise": "a" * 100_001}),
     "a.jsonl, line 1: the column 'premise': more than 100,000 characters in a cell, the most that is "
     "read (`limits.cell`)"),
    ("no id", lambda folder: labelled([{**GOOD, "id": "x"}, {**GOOD, "id": " ", "premise": "A."}], NLI),
     "row 2: the column 'id' is empty, and must name the row"),
    ("an id twice", lambda folder: labelled([{**GOOD, "id": "x"}, {**GOOD, "id": "x", "premise": "A."}], NLI),
     "row 2: the id 'x' is used at row 1 already"),
    ("no column of texts", lambda folder: rows(folder, {"remark": "a", "label": 1}),
     "a.jsonl, line 1: no column has a usual name for the text; "
     "say which: `columns text=NAME,label=NAME` (columns: remark, label)"),
    ("no column of that name", lambda folder: rows(folder, GOOD, columns={"label": ["gold"]}),
     "a.jsonl, line 1: the column 'gold' is missing (columns: premise, hypothesis, label)"),
    ("no line of names", lambda folder: rows(folder, "A dog ran.,It ran.,1\nA.,B.,1\n", "a.csv"),
     "a.csv, line 1: no column has a usual name for the text; is that a row, and the line that names the "
     "columns missing? (columns: A dog ran., It ran., 1)"),
    ("commas in a .tsv", lambda folder: rows(folder, "text,label\na,1\n", "a.tsv"),
     "a.tsv, line 1: no column has a usual name for the text; are its cells separated by ','? in a .tsv "
     "they are by tabs; call it .csv (columns: text,label)"),
    ("a column of bytes", lambda folder: rows(folder, {"text": [b"\xe9"], "label": [1]}, "a.parquet"),
     "a.parquet: the column 'text' holds binary, which are not read"),
    ("no spans as marks", lambda folder: rows(folder, {**GOOD, "marks": [1]}),
     "a.jsonl, line 1: marks must be name -> list of [segment, start, end] (got '[1]')"),
    ("a mark outside", lambda folder: rows(folder, {**GOOD, "marks": {"x": [[0, 4, 99]]}}),
     "a.jsonl, line 1: example 1: mark 'x' lies outside its text (Span(segment=0, start=4, end=99))"),
    ("an empty mark", lambda folder: rows(folder, {**GOOD, "marks": {"x": [[0, 3, 3]]}}),
     "a.jsonl, line 1: a span needs segment >= 0 and 0 <= start < end (got Span(segment=0, start=3, end=3))"),
    ("a rationale outside", lambda folder: reason(folder, [[0, 3], [9, 40]]),
     "a.jsonl, line 1: the column 'why' has a span outside its text ([0, 9, 40])"),
    ("rationales that overlap", lambda folder: reason(folder, [[4, 12], [0, 7]]),
     "a.jsonl, line 1: the column 'why' has spans that overlap ([0, 0, 7], [0, 4, 12])"),
    ("a rationale of no length", lambda folder: reason(folder, [[3, 3]]),
     "a.jsonl, line 1: the column 'why' has an empty span ([0, 3, 3])"),
    ("a rationale of other tokens", lambda folder: reason(folder, [0, 1, 1]),
     "a.jsonl, line 1: the column 'why' has 3 numbers, and the text 2 tokens between blanks: of another tokenization?"),
    ("a word of another tokenization", lambda folder: reason(folder, ["Nev", "##er"]),
     "a.jsonl, line 1: the column 'why' has the word 'Nev', which does not follow in the text: "
     "of another tokenization?"),
    ("a reason in words of its own", lambda folder: reason(folder, "since it was bad"),
     "a.jsonl, line 1: the column 'why' must hold spans of characters ([start, end], or [segment, start, end]), "
     "0 or 1 for each token, or words of the text (got 'since it was bad')"),
    ("tokens of two texts", lambda folder: rows(folder, {**GOOD, "why": [1, 0]}, columns={"rationale": ["why"]}),
     "a.jsonl, line 1: the column 'why' must hold spans, [segment, start, end], since the row has two texts"),
    ("no such rule", lambda folder: marker({"feature": "adjectives"}),
     "there is no rule of marks 'adjectives'; did you mean adjective?"),
    ("no label map", lambda folder: parse_label_map("a, b"),
     "`label_map` is written as `a,b = label; c = label` (got 'a, b')"),
    ("two labels of a name", lambda folder: parse_label_map("a = b; a = c"), "`label_map` gives two labels to 'a'"),
    ("one label or two", lambda folder: check_spellings("a.csv", "the column 'x'", ["toxic", "Toxic "]),
     "a.csv: 'toxic' and 'Toxic' in the column 'x' may be one label or two; `label_map` says it: "
     '`label_map={"Toxic": "toxic"}` if one, `label_map={"toxic": "toxic", "Toxic": "Toxic"}` if two'),
    ("a key misspelt", lambda folder: card(folder, "population", "popluation"),
     "toy/card.toml: there is no key of the card 'popluation'; did you mean population?"),
    ("a number below its range", lambda folder: card(folder, "population = 3", "population = 0"),
     "toy/card.toml: `population` must be at least 1 (got 0)"),
    ("a text for a number", lambda folder: card(folder, "population = 3", 'population = "3"'),
     "toy/card.toml: `population` must be a whole number (got '3')"),
    ("no description", lambda folder: card(folder, 'description = "A toy."', ""),
     "toy/card.toml: the card needs the key `description`"),
    ("no task", lambda folder: card(folder, "[task]", "[[task]]"),
     "toy/card.toml: `task` must be a table: `[task]` (got [{'name': 'colour', 'labels': ['red', 'blue']}])"),
    ("a name of a set", lambda folder: card(folder, "population = 3", 'name = "toy"'),
     "toy/card.toml: a set bears the name of its folder: leave the key `name` out"),
    ("no such label", lambda folder: card(folder, 'name = "colour"', 'name = "colour"\nshortcut = "reed"'),
     "toy/card.toml: there is no label for `shortcut` 'reed'; did you mean red?"),
    ("one label", lambda folder: card(folder, '["red", "blue"]', '["red"]'),
     "toy/card.toml: `[task]`: a task needs at least two labels (got ['red'])"),
    ("a label twice", lambda folder: card(folder, '["red", "blue"]', '["red", "red"]'),
     "toy/card.toml: `[task]`: the label name 'red' is given twice"),
    ("no card that can be read", lambda folder: card(folder, "population = 3", "population = "),
     "toy/card.toml cannot be read as a card: Invalid value (at line 5, column 14)"),
    ("no file to fetch", lambda folder: fetch("paws", folder),
     "paws has no official file to fetch; its rows come from https://github.com/google-research-datasets/paws: "
     "download the original QQP and the index of PAWS-QQP, and build dev_and_test.tsv with its generator, as its "
     "README.md says"),
    ("an address of another kind", lambda folder: fetch("hans-sub", folder, "file:///etc/hosts"),
     "`url` must begin with https://, http:// or hf:// (got file:///etc/hosts)"),
    ("another file there", lambda folder: (written(official(folder), "mine"), fetch("hans-sub", folder)),
     "heuristics_evaluation_set.txt is there already, and is not the official file: move it away"),
    ("no page", lambda folder: fetched(folder, urllib.error.HTTPError("", 404, "Not Found", {}, None)),
     "https://example.org/a cannot be fetched: HTTP 404 Not Found; `url` names another address of the file"),
    ("a cut answer", lambda folder: fetched(folder, b"12345"),
     "https://example.org/a cannot be fetched: the connection ended after 5 of 9 bytes"),
    ("another file", lambda folder: fetched(folder, b"123456789"),
     "https://example.org/a is not the official file: its sha256 is "
     "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225, not "
     "c55b62feef9913070e88f38938dc2492018c945ac81f70139346472494124e79"),
    ("no answer in time", lambda folder: fetched(folder, TimeoutError("timed out")),
     "https://example.org/a cannot be fetched: timed out; `url` names another address of the file"),
    ("no server", lambda folder: fetch("hans-sub", folder, "http://127.0.0.1:9/a"),
     "http://127.0.0.1:9/a cannot be fetched: Connection refused; `url` names another address of the file"),
    ("no room for the file", lambda folder: fetch("hans-sub", written(folder / "file", "") / "data"),
     "file/data/heuristics_evaluation_set.txt cannot be written: Not a directory"),
]  # fmt: skip

DOMAINS = [
    ("a column missing", lambda folder: of_values(folder, "a,0.5", head="model,value"),
     "a.csv, line 2: the columns model, set, value are needed, and set is missing (got model, value)"),
    ("an empty name", lambda folder: of_values(folder, "a,,0.5,,,,,"), "a.csv, line 2: the cell `set` is empty"),
    ("no number", lambda folder: of_values(folder, "a,x,good,,,,,"),
     "a.csv, line 2: `value` must be a number (got 'good')"),
    ("a decimal comma", lambda folder: of_values(folder, 'a,x,"0,5",,,,,'),
     "a.csv, line 2: `value` has a decimal comma (got '0,5'); write a point"),
    ("an infinite value", lambda folder: of_values(folder, "a,x,inf,,,,,"),
     "a.csv, line 2: `value` must be finite (got 'inf')"),
    ("an error beyond its range", lambda folder: of_values(folder, "a,x,0.5,-1,,,,"),
     "a.csv, line 2: `se` must be in [0, 100] (got -1)"),
    ("a set of no rows", lambda folder: of_values(folder, "a,x,0.5,,0,,,"),
     "a.csv, line 2: `n` must be at least 1 (got 0)"),
    ("no such kind of sets", lambda folder: of_values(folder, "a,x,0.5,,,,odd,"),
     "a.csv, line 2: there is no kind of sets 'odd'; did you mean ood?"),
    ("a cell twice", lambda folder: of_values(folder, "a,x,0.5,,,g,,", "a,x,0.4,,,g,,"),
     "a.csv, line 3: a on g: x a second time; the first is a.csv, line 2"),
    ("two kinds of a set", lambda folder: of_values(folder, "a,x,0.5,,,g,,", "b,x,0.5,,,g,in-domain,"),
     "a.csv, line 3: x is in-domain here, and ood in a.csv, line 2"),
    ("two runs of a model", lambda folder: of_values(folder, "a,x,0.5,,,,,r", "a,y,0.5,,,,,s"),
     "a.csv, line 3: a is of the run 's' here, and of 'r' before"),
    ("no value", lambda folder: values.values_of_rows([]), "the table has no rows"),
    ("percentages and fractions", lambda folder: compared(("a", "x", 0.91), ("b", "x", 88.4)),
     "row 2: some values are above 1 (88.4), others below (0.91): percentages beside fractions? Where all are "
     "percentages, say so with `percent`"),
    ("a value beyond 100", lambda folder: compared(("a", "x", 910), ("b", "x", 0.5)),
     "row 1: values must be fractions in [-1, 1], or percentages (got 910)"),
    ("one model", lambda folder: compared(("a", "x", 0.9), ("a", "y", 0.5)), "at least two models are needed (got 1)"),
    ("no other set", lambda folder: compared(("a", "x", 0.9, "in-domain"), ("b", "x", 0.5, "in-domain")),
     "at least one set must be of the kind ood (got 1 in-domain)"),
    ("too many models", lambda folder: compared(*((f"m{n}", "x", 0.5) for n in range(2_001))),
     "more than 2,000 models, the most that are compared (got 2,001)"),
    ("no table", lambda folder: values.read_values([3]),
     "a table must be a file, a data frame or a list of rows (got int)"),
    ("no set of all models", lambda folder: compared(("a", "x", 0.9), ("b", "y", 0.8)),
     "no set has a value of every model; `missing` says what else to leave out: sets, models, ranks"),
    ("no model on all sets", lambda folder: compared(("a", "x", 0.9), ("b", "y", 0.8), missing="models"),
     "fewer than two models have a value on every set; `missing` says what else to leave out: sets, models, ranks"),
    ("no such rule for cells", lambda folder: compared(("a", "x", 0.9), ("b", "x", 0.8), missing="rank"),
     "there is no rule for missing cells 'rank'; did you mean ranks?"),
    ("a column in two cases", lambda folder: of_values(folder, "a,a,x,0.5", head="model,Model,set,value"),
     "a.csv, line 2: two columns are called model, in any case"),
    ("a column of long tables", lambda folder: of_values(folder, "a,0.5,10", head="model,x,n"),
     "a.csv, line 2: the column 'n' cannot stand in a wide table: write a row for each model and set"),
    ("a cell of a wide table", lambda folder: of_values(folder, "a,0.5,good", "b,0.5,0.6", head="model,x,y"),
     "a.csv, line 2, column 'y': `value` must be a number (got 'good')"),
    ("two levels of a set", lambda folder: of_values(folder, "a,x,0.5,", "b,x,0.5,genre", head="model,set,value,level"),
     "a.csv, line 3: x is genre here, and blank in a.csv, line 2"),
    ("no such level", lambda folder: compared(*line_of(0.5), level="genre"),
     "`level` needs sets with a level, by a column `level` (got genre)"),
    ("no such level of several", lambda folder: values.read_values([[dict(MEASURED_CELL, level="g")]]).at_level("h"),
     "there is no level 'h'; known: g"),
    ("low runs", lambda folder: compare([toy_ranking()], lower_is_better=True),
     "`lower_is_better` is for tables: outcomes of runs are better if higher"),
    ("low values on probit axes", lambda folder: compared(*line_of(0.5), axes="probit", lower_is_better=True),
     "`axes` must be plain where lower values are better (got probit)"),
    ("no measures", lambda folder: read_measures([{"set": "x", "note": "long"}]),
     "the table has no measures: a column of numbers for each, or the columns measure and value"),
    ("a measure twice", lambda folder: read_measures([{"set": "x", "a": 1}, {"set": "x", "a": 2}]),
     "row 2: a of x a second time"),
    ("two levels in the measures", lambda folder: read_measures([{"set": "x", "a": 1, "level": n} for n in "gh"]),
     "row 2: x is h here, and g before"),
    ("another level of the measures",
     lambda folder: with_levels(values.read_values([[dict(MEASURED_CELL, level="g")]]), {"x": "h"}),
     "x is h in the measures, and g in the scores"),
    ("measures of other sets", lambda folder: compared(*line_of(0.5), measures=[{"set": "y", "a": 1}]),
     "no set of the measures has values (y); the sets are far"),
    ("no in-domain set to choose from", lambda folder: select_sets([dict(CANDIDATE, kind="ood")]),
     "one set must be of the kind in-domain, from which the others are chosen (got 0)"),
    ("a set without a source", lambda folder: select_sets([CANDIDATE, dict(CANDIDATE, set="x", kind="ood", source="")]),
     "every set needs a source, where its texts come from; x has none"),
    ("a set without a similarity",
     lambda folder: select_sets([CANDIDATE, dict(CANDIDATE, set="x", kind="ood", similarity="near")]),
     "every new set needs a number as `similarity`; x has 'near'"),
    ("a set without a drop",
     lambda folder: select_sets([CANDIDATE, dict(CANDIDATE, set="x", kind="ood", model="b")]),
     "no model has values on both home and x"),
    ("values without a probit", lambda folder: compared(*line_of(1.0), axes="probit"),
     "far: probit `axes` need values between 0 and 1, and neither of these (got 1)"),
    ("no such axes", lambda folder: compared(*line_of(0.5), axes="log"),
     "there is no kind of axes 'log'; known: plain, probit"),
    ("too many words", lambda folder: count_words(iter(["a b c"]), "a.csv", Limits(distinct_words=2)),
     "a.csv: more than 2 different words, the most that is read (`limits.distinct_words`)"),
]  # fmt: skip

TASKS = [
    ("no such metric", lambda folder: metric_named("macrof1", ("a", "b")),
     "there is no metric 'macrof1'; did you mean macro-f1?"),
    ("no such label of a metric", lambda folder: metric_named("f1:tow", ("one", "two")),
     "there is no label 'tow'; did you mean two?"),
    ("one label of several", lambda folder: metric_named("f1", ("a", "b", "c")),
     "`metric` f1 is of one label, and there are 3: name it, as in f1:a, or take macro-f1"),
    ("a metric of labels", lambda folder: metric_named("f1", ()),
     "`metric` f1 is of labels, and these answers are none"),
    ("a metric of numbers", lambda folder: metric_named("mae", ("bad", "good")),
     "`metric` mae is of numbers, and the labels are no numbers and have no order"),
    ("no answer to measure", lambda folder: metric_named("mae").statistics(np.array([np.nan]), np.ones(1)),
     "`metric` mae has no number for an answer that was not given (1 of 1 rows); leave these rows out, or "
     "name a metric of labels"),
    ("answers too far away", lambda folder: metric_named("pearson").statistics(np.arange(9.0) + 1e9, np.arange(9.0)),
     "`metric` of numbers: the answers vary too little for how far they are from the targets"),
    ("a range of numbers", lambda folder: NumberTask("number", 1, 0),
     "`range` must be two numbers, the lower first (got 1 0)"),
    ("a task without a scale", lambda folder: NumberTask.named("number"),
     "`task=number` needs `scale`: the lower and the upper end of the numbers"),
    ("letters that ROUGE does not read", lambda folder: TextTask("text").outcome("собака", ("собака",)),
     "ROUGE reads Latin letters and digits alone (got 'собака'); `metric=chrf` reads any"),
    ("references that ROUGE does not read", lambda folder: TextTask("text").reading_notes([("кошка iPad",)]),
     "rouge-l reads the letters a to z and digits alone: 56 % of the references' letters are others, and most of them "
     "in 1 of 1 texts; `metric=chrf` reads any"),
    ("a metric beside judged answers", lambda folder: PrecomputedTask("summaries", "JUDGE").metric_named("f1"),
     "`metric` f1 is of labels, and these answers have none: they are judged by JUDGE"),
    ("no task of labels", lambda folder: require_labels(PrecomputedTask("summaries", "JUDGE"), "bert"),
     "bert is for answers that are labels, and answers to summaries are judged by JUDGE"),
]  # fmt: skip


TABLES = [
    ("no answers", lambda folder: table(folder, "id\na\n"), "a.csv: no column holds answers (columns: 'id')"),
    ("semicolons in a .tsv", lambda folder: table(folder, "id;prediction\na;positive\n", "a.tsv"),
     "a.tsv: no column holds answers (columns: 'id;prediction'); are its cells separated by ';'? in a "
     ".csv they are by commas, in a .tsv by tabs"),
    ("no line of columns", lambda folder: table(folder, "positive\nnegative\n", "a.csv"),
     "a.csv: no column holds answers (columns: 'positive'); is that a row, and the line that names the "
     "columns missing?"),
    ("a cell too deep", lambda folder: table(folder, {"id": ["a"], "prediction": [b"\xe9"]}, "a.parquet"),
     "a.parquet: no column holds answers (columns: 'id'); 'prediction' holds binary, which are not read"),
    ("cells that are no labels", lambda folder: table(folder, "id,prediction\na,maybe\nb,yes\n"),
     "a.csv: 'maybe' and 'yes' in the column 'prediction' are no labels of the task (negative (0), "
     "positive (1)); `label_map` says what they stand for, `empty_words` which words are nothing, `prediction` "
     "another column"),
    ("one cell is no label", lambda folder: table(folder, "id,prediction\na,0\nb,2\n"),
     "a.csv: '2' in the column 'prediction' is no label of the task (negative (0), positive (1)); "
     "`label_map` says what it stands for, `empty_words` which words are nothing, `prediction` another column"),
    ("a model or a comment", lambda folder: table(folder, 'id,label,m\na,good,good\nb,negative,who\nc,good,"x y"\n'),
     "a.csv: 1 of 3 cells of the column 'm' are labels of the task, and others not, such as 'who'; "
     "`label_map` says what they stand for, or `prediction` which columns are to be read"),
    ("labels or not", lambda folder: table(folder, "id,m,n\na,1,0\nb,0,1\n"),
     "a.csv: 'm' and 'n' hold 0 and 1, which may be labels, or say whether an answer is right; `answers` "
     "says which: labels, outcomes"),
    ("two truths by name", lambda folder: table(folder, "id,label,gold_label\na,good,good\n"),
     "a.csv: 'label' and 'gold_label' may hold the answers, or something else; `prediction` says which "
     "hold the answers"),
    ("a score alone", lambda folder: table(folder, "id,score\na,0.5\nb,0.25\n"),
     "a.csv: 'score' holds numbers; `answers` says what they are: probabilities (of 'positive'), logits "
     "(a decision value), outcomes, labels"),
    ("numbers of two columns", lambda folder: table(folder, "id,m,n\na,7,8\nb,9,3\n"),
     "a.csv: 'm' and 'n' hold numbers; `answers` says what they are: logits (a decision value), labels; "
     "`label_map`, which label each is the score of, if they are scores"),
    ("numbers beside names", lambda folder: table(folder, "id,label,m\na,x,0\nb,y,1\nc,z,2\n", task=None),
     "a.csv: 'm' holds numbers; `label_map` says which label each stands for (0 = ...; 1 = ...)"),
    ("probabilities that do not add up", lambda folder: table(folder, "negative,positive\n0.4,0.6\n0.2,0.2\n"),
     "a.csv, row 2: 'negative' and 'positive' are probabilities, and must be at least 0 and add up to 1 "
     "(got 0.4); if they are something else, `answers` says what"),
    ("an infinite score", lambda folder: table(folder, "negative,positive\n-1.5,inf\n"),
     "a.csv, row 1: 'negative' and 'positive' must be finite (got inf)"),
    ("nothing likely", lambda folder: table(folder, "negative,positive\n-inf,-inf\n-1,-2\n"),
     "a.csv: 'negative' and 'positive': a row has no finite log-likelihood"),
    ("a score that is no number", lambda folder: table(folder, "negative,positive\n0.5,0.5\n0.4,much\n0.1,0.9\n"),
     "a.csv, row 2: the column 'positive' holds scores, and 'much' is no number"),
    ("decimal commas", lambda folder: table(folder, "negative\tpositive\n0,4\t0,6\n0.1\t0.9\n", "a.tsv"),
     "a.tsv: the column 'negative' holds numbers, and '0,4' has a decimal comma; write 0.4"),
    ("a probability too high",
     lambda folder: table(folder, "id,p\na,1.5\n", answers="probabilities", prediction=("p",)),
     "a.csv, row 1: the column 'p' holds probabilities, and must be between 0 and 1 (got 1.5)"),
    ("an outcome too high", lambda folder: table(folder, "id,p\na,7\n", answers="outcomes", prediction=("p",)),
     "a.csv, row 1: the column 'p' holds outcomes, and must be between 0 and 1 (got '7'); `range` says "
     "what is worst and best, `prediction` says which columns are to be read"),
    ("no outcomes", lambda folder: table(folder, "id,prediction\na,good\n", answers="outcomes"),
     "a.csv: no column holds outcomes, numbers from 0 to 1 (columns: 'id' and 'prediction'); `range` says "
     "what is worst and best, if they are others"),
    ("a log-likelihood alone",
     lambda folder: table(folder, "id,p\na,-1\n", answers="log-likelihoods", prediction=("p",)),
     "a.csv: log-likelihoods need a column for each label (got 'p' alone)"),
    ("one score of three", lambda folder: table(folder, "id,p\na,1\n", task=MOODS, answers="logits", prediction=("p",)),
     "a.csv: one column of scores, 'p', is enough for two labels only (the task has 3)"),
    ("scores of three", lambda folder: table(folder, {"predictions": [[1, 0, 0]]}, "a.parquet"),
     "a.parquet: 'predictions' holds 3 scores a row, for 2 labels; `label_map` says which label each "
     "stands for (0 = ...; 1 = ...)"),
    ("a score of no label", lambda folder: table(folder, "m/negative,m/x\n0.1,0.9\n", answers="logits"),
     "a.csv: 'm/x' stands among the scores of 'm', and 'x' is no label of the task (negative (0), "
     "positive (1)); `label_map` says what it stands for, `x = x` if it is a label too; leave it out "
     "if it is no score"),
    ("a label without a score", lambda folder: table(folder, "m/bad,m/so\n0.4,0.6\n", task=MOODS),
     "a.csv: 'm/bad' and 'm/so' are scores of 'm', which has no column for 'good'"),
    ("swapped columns", lambda folder: table(folder, "prediction,p_negative,p_positive\ngood,0.9,0.1\nnegative,0,1\n"),
     "a.csv: 'prediction' and the highest of 'p_negative' and 'p_positive' differ on 2 of 2 rows; are "
     "columns swapped? `prediction` says which are to be read"),
    ("no cluster", lambda folder: table(folder, "id,label,prediction,c\na,good,good,\n", cluster="c"),
     "a.csv, row 1: the column 'c' is empty"),
    ("no id", lambda folder: table(folder, "id,prediction\n,good\nb,good\n,good\n"),
     "a.csv, row 1: the column 'id' holds no id, as in 1 more rows"),
    ("two answers to a row", lambda folder: table(folder, "id,prediction\na,good\nb,good\na,negative\n"),
     "a.csv, rows 1 and 3: two answers are given to the row 'a'"),
    ("two truths of a row",
     lambda folder: table(folder, "model,id,label,prediction\nm,a,good,good\nn,a,negative,good\n"),
     "a.csv: the row 'a' has two truths in 'label'"),
    ("texts in another order", lambda folder: table(folder, RUNS, task=None, runs="mean"),
     "a.csv: the texts of the models stand in different orders; a column of ids is needed (`id_column`)"),
    ("several runs", lambda folder: table(folder, "id,label,seed,m\na,x,1,x\nb,y,1,x\na,x,2,x\nb,y,2,y\n", task=None),
     "a.csv: each row is answered 2 times, which 'seed' tells apart ('1' and '2'); `id_column=id` `id_column=seed` if "
     "these are other rows, `runs` (newest, mean, each) if they are runs of one"),
    ("several rows or runs",
     lambda folder: table(folder, "id,turn,prediction\na,1,good\na,2,good\nb,1,negative\n"),
     "a.csv, rows 1 and 2: two answers are given to the row 'a', which 'turn' tells apart; `id_column=id` "
     "`id_column=turn` if these are other rows, `runs` (newest, mean, each) if they are runs of one"),
    ("runs without a truth",
     lambda folder: table(folder, "id,run,m\na,1,x\nb,1,y\na,2,x\nb,2,y\n", task=None, runs="mean"),
     "a.csv: the mean of the runs in 'run' needs the true labels in the same file, in a column such as 'label'"),
    ("no such column", lambda folder: table(folder, "id,prediction\na,good\n", id="idd"),
     "there is no column in a.csv 'idd'; did you mean id?"),
    ("no such column of answers", lambda folder: table(folder, "id,prediction\na,good\n", prediction=("predictoin",)),
     "there is no column in a.csv 'predictoin'; did you mean prediction?"),
    ("no labels to read", lambda folder: table(folder, "id,count\na,0.25\nb,7.5\n", task=None),
     "a.csv: no labels of a task are found (columns: 'id' and 'count'); name the task, or say with "
     "`truth` which column holds them"),
    ("numbers to read", lambda folder: table(folder, "id,true,m\na,0.25,1.5\nb,7.5,1\n", task=None, truth="true"),
     "a.csv: no labels of a task are found (columns: 'id', 'true' and 'm'); name the task, beside `data` `task=number` "
     "if answers are numbers"),
    ("a word for nothing", lambda folder: table(folder, "id,label,m\na,x,x\nb,y,N/A\nc,y,x\n", task=None),
     "a.csv: 'N/A' in 1 cell of the column 'm' may be a label or no answer; `empty_words` says: "
     "`empty_words=N/A`, or `empty_words=` where it is a label"),
    ("names in two cases", lambda folder: table(folder, "id,label,m\na,yes,no\nb,YES,yes\nc,no,no\n", task=None),
     "a.csv: 'yes' and 'YES' in 'label' may be one label or two; `label_map` says it: `label_map={\"YES\": "
     '"yes"}` if one, `label_map={"yes": "yes", "YES": "YES"}` if two'),
    ("a program without a reader",
     lambda folder: table(folder, [{"doc": {"query": "q"}, "metric": {"acc": 1}}], "a.json"),
     "a.json is written by lighteval, and not read; docs/logs.md, From other programs, has the lines of "
     "pandas that make a table of it"),
    ("ids of other rows", lambda folder: joined(folder, "id,prediction\nx,good\ny,good\n"),
     "a.csv: no id of the file is that of a row asked about (file: 'x' and 'y'; rows: 'a', 'b', 'c' and 1 more)"),
    ("texts of other rows", lambda folder: joined(folder, "text,prediction\nOh.,good\nAh.,good\n"),
     "a.csv: no text of the file is that of a row asked about (file: 'Oh.' and 1 more)"),
    ("texts under other ids", lambda folder: joined(folder, "id,text,prediction\na,Oh.,good\nb,Ah.,good\nc,Eh.,good\n"),
     "a.csv: 3 of 3 texts are not those of the rows, the first that of the row 'a'; are these answers to other rows?"),
    ("another truth", lambda folder: joined(folder, "id,label,prediction\na,good,good\nb,negative,good\nc,good,good\n",
                                            truth=(1, 1, -1, 0)),
     "a.csv: its own true labels differ from those of the rows on 1 of 2 rows, the first the row 'b' (negative in the "
     "file, positive in the rows); is it about other rows, or in another order? If not, keep one truth: leave out "
     "`data`, or the labels of the file"),
    ("numbers of rows in another order", lambda folder: joined(
        folder, "id,prediction\n1,good\n2,good\n3,good\n4,good\n", ids=("r2", "r0", "r3", "r1"), texts=()),
     "a.csv: its ids count the rows from 1, and those of the rows ('r2', 'r0', 'r3' and 1 more) from 0, in another "
     "order than they stand in; give both the same ids, or say with `by_order` that both have one order"),
    ("one text of a pair that repeats", lambda folder: joined(
        folder, "premise,prediction\nOh.,good\nAh.,good\nOh.,good\nAh.,good\n", ids=None,
        texts=(("Oh.", "1"), ("Oh.", "2"), ("Ah.", "3"), ("Ah.", "4"))),
     "a.csv: 4 rows share a text of a pair, and the file holds no other, so the answer is ambiguous; give both ids, or "
     "all texts of the rows"),
    ("a number of two columns", lambda folder: joined(
        folder, "idx,prediction\n1,good\n2,good\n", ids=("1", "2"), texts=(),
        id_columns={"id": ("1", "2"), "idx": ("2", "1")}),
     "a.csv: 'idx' may hold the ids in 'id' of the rows, or those in 'idx'; `columns id=NAME` says which column of the "
     "rows holds the ids"),
    ("two columns of ids that differ", lambda folder: joined(
        folder, "id,guid,prediction\n1,b,good\n2,a,good\n", ids=("1", "2"), texts=(),
        id_columns={"id": ("1", "2"), "guid": ("a", "b")}),
     "a.csv: 'id' and 'guid' tell different rows, the first at id '1'; `columns id=NAME` says which column of the rows "
     "holds the ids"),
    ("rows that nothing tells", lambda folder: joined(folder, "prediction\ngood\n"),
     "a.csv has 1 row and no ids or texts that the rows have, too, so that their order must tell which is "
     "which, and 4 rows are asked about (`columns` names those of ids and texts)"),
    ("no such kind of answers", lambda folder: TableOptions(answers="words"),
     "`answers` must be one of labels, probabilities, logits, log-likelihoods, outcomes, values (got 'words')"),
    ("a range upside down", lambda folder: LogOptions(scale=(1, 1)),
     "`scale` must be two numbers, the worst below the best (got 1 1)"),
    ("no such errors", lambda folder: LogOptions(errors="lost"),
     "`errors` must be one of left-out, wrong (got 'lost')"),
    ("two records of a kind", lambda folder: SourceOptions(kinds=[LogOptions(), LogOptions()]),
     "`kinds` must hold one record of a kind (got 2 of LogOptions)"),
    ("an option of another kind", lambda folder: refuse_unread_options(["truth", "cluster"]),
     "none of these models reads `cluster` or `truth`; leave it out"),
    ("prompts for no language model", lambda folder: refuse_unread_options(["prompts"]),
     "none of these models reads `prompts`; leave it out, or call a language model on the hub `lm:org/name`"),
    ("no label of a map", lambda folder: Labels(TASK, {"a": "postive"}),
     "there is no label of the task 'postive'; did you mean positive?"),
]  # fmt: skip

LOGS = [
    ("an empty log", lambda folder: log(folder, b""), "a.jsonl holds no row"),
    ("a cut line", lambda folder: log(folder, json.dumps(CHOICE).encode()[:200]),
     "a.jsonl, line 1: no JSON, or cut off (Expecting value, character 200)"),
    ("no row of a log", lambda folder: log(folder, b"5\n"),
     "a.jsonl, line 1: no row of a log of lm-evaluation-harness (it needs `doc` and `filtered_resps`)"),
    ("a log in Latin-1", lambda folder: log(folder, b'{"x": "\xe9"}'), "a.jsonl, line 1: not UTF-8 (byte 0xe9)"),
    ("a log nested too deeply", lambda folder: log(folder, b'{"doc": ' + b"[" * 100_000),
     "a.jsonl, line 1: nested too deeply"),
    ("too many digits", lambda folder: log(folder, b'{"x": ' + b"9" * 5000 + b"}"),
     "a.jsonl, line 1: a number has too many digits"),
    ("a key of a log twice", lambda folder: log(folder, b'{"x": 1, "x": 2}'),
     "a.jsonl, line 1: the key 'x' is there twice"),
    ("no row in a list", lambda folder: log(folder, b"[1, 2]"),
     "a.jsonl, row 1: no row of a log of lm-evaluation-harness (it needs `doc` and `filtered_resps`)"),
    ("an infinite metric", lambda folder: log(folder, {**CHOICE, "acc": float("inf")}),
     "a.jsonl, line 1: its 'acc' is infinite, or too large a number"),
    ("answers without a metric", lambda folder: log(folder, {**CHOICE, "acc": None}),
     "a.jsonl has no metric with a number a row; were its answers not scored (predict_only)?"),
    ("a metric that is a text", lambda folder: log(folder, {**CHOICE, "acc": "good"}),
     "a.jsonl: its 'acc' is not one number a row; no metric of it is"),
    ("a metric that is a pair",
     lambda folder: log(folder, {**CHOICE, "metrics": ["acc", "bleu"], "bleu": ["a", "b"]}, metric="bleu"),
     "a.jsonl: its 'bleu' is not one number a row, but one of all rows, of their pairs [reference, "
     "prediction]; it has acc"),
    ("several metrics", lambda folder: log(folder, WRITTEN),
     "a.jsonl has several metrics, em, f1; say which with `metric`"),
    ("no such metric of a log", lambda folder: log(folder, WRITTEN, metric="recall"),
     "a.jsonl has no metric 'recall'; it has em, f1"),
    ("several filters", lambda folder: log(folder, CHOICE, {**CHOICE, "filter": "loose"}),
     "a.jsonl has several filters, none, loose; say which with `filter`"),
    ("no such filter", lambda folder: log(folder, CHOICE, {**CHOICE, "filter": "loose"}, filter="x"),
     "a.jsonl has no filter 'x'; it has none, loose"),
    ("two logs in one", lambda folder: log(folder, CHOICE, {**CHOICE, "filter": None, "doc_id": 1}),
     "a.jsonl: some of its rows name a filter, and some do not; are these two logs in one?"),
    ("an answer twice", lambda folder: log(folder, CHOICE, CHOICE),
     "a.jsonl, line 2: answers the row of line 1 a second time"),
    ("answers of another number", lambda folder: log(folder, *UNNAMED),
     "a.jsonl, line 2: answered 1 times, and other rows 2 times; the log names no filters, so that it "
     "must hold each row once for each"),
    ("no such field of documents", lambda folder: log(folder, CHOICE, cluster="kin"),
     "a.jsonl, line 1: its document has no 'kin'; it has text"),
    ("no ending of a log", lambda folder: read_log(written(folder / "a.csv", "a")),
     "a.csv is no log (lm-evaluation-harness with log_samples: samples_TASK_TIME.jsonl, beside results_TIME.json; "
     "Inspect: NAME.eval, or NAME.json if its log format is json; these may be gzipped)"),
    ("neither header nor samples", lambda folder: read_log(written(folder / "a.eval", archive([]))),
     "a.eval is an archive, and no log of Inspect: it has neither header.json nor _journal/start.json"),
    ("a list of parts that is short", lambda folder: read_log(written(folder / "a.eval", archive(PARTS, count=9))),
     "a.eval: damaged (its list of parts is not as long as it states)"),
    ("a list of parts that is long", lambda folder: read_log(written(folder / "a.eval", archive(PARTS, count=1))),
     "a.eval: damaged (its list of parts is longer than it states)"),
    ("a wrong checksum", lambda folder: samples(folder, part("samples/1_epoch_1.json", sample(1, "C"), checksum=1)),
     "a.eval, part 'samples/1_epoch_1.json': damaged (its size or its checksum is not what the archive states)"),
    ("an encrypted part", lambda folder: samples(folder, part("samples/1_epoch_1.json", sample(1, "C"), flags=1)),
     "a.eval, part 'samples/1_epoch_1.json': encrypted"),
    ("a bomb", lambda folder: samples(folder, part("samples/1_epoch_1.json", b" " * (64 << 20))),
     "a.eval, part 'samples/1_epoch_1.json': more than 200 times its size, the most that is read (`limits.ratio`)"),
    ("nothing where a part begins", lambda folder: read_log(written(folder / "a.eval", moved(archive(PARTS)))),
     "a.eval, part 'samples/1_epoch_1.json': damaged (nothing begins where the archive states)"),
    ("no sample of a log", lambda folder: samples(folder, part("samples/1_epoch_1.json", b"[]")),
     "a.eval, part 'samples/1_epoch_1.json': no sample of a log of Inspect (it needs an `id` and an `epoch`)"),
    ("a sample under two names",
     lambda folder: samples(folder, *PARTS[1:], part("samples/2_epoch_1.json", sample(1, "C"))),
     "a.eval: answers the sample '1' twice in epoch 1"),
    ("a header without a task",
     lambda folder: read_log(written(folder / "a.eval", archive([part("header.json", b"[1]"), PARTS[1]]))),
     "a.eval is no log of Inspect (its header has no `eval`)"),
    ("no log of Inspect", lambda folder: read_log(written(folder / "a.json", {})),
     "a.json is no log of Inspect (it needs `eval` and `samples`)"),
    ("samples that are no list", lambda folder: read_log(written(folder / "a.json", {**header(), "samples": {"a": 1}})),
     "a.json: `samples` must be a list"),
    ("no samples", lambda folder: scored(folder),
     "a.json holds no sample; were samples left out of it (no-log-samples)?"),
    ("no score", lambda folder: scored(folder, sample(1, 0, scores={})), "a.json has no sample with a score"),
    ("scores that are no numbers", lambda folder: scored(folder, sample(1, "good")),
     "a.json: the scores of 'match' are no numbers (got \"good\")"),
    ("an infinite score of a sample", lambda folder: scored(folder, sample("a", 10**400)),
     "a.json: a score of the sample 'a' is infinite, or too large a number"),
    ("several scores", lambda folder: scored(folder, sample(1, {"tone": 3, "fact": "C"})),
     "a.json has several scores, match.tone, match.fact; say which with `scorer`"),
    ("no such scorer", lambda folder: scored(folder, sample(1, "C"), scorer="x"),
     "a.json has no scorer 'x'; it has match"),
    ("no such reducer", lambda folder: scored(folder, sample(1, "C"), reducer="best"),
     "no reducer of epochs is called 'best'; there are mean, median, mode, majority, max, at_least_K, "
     "pass_at_K, pass_k_K"),
    ("no such field of metadata", lambda folder: scored(folder, sample(1, "C", metadata={"page": 1}), cluster="pages"),
     "a.json, sample 1: its metadata has no 'pages'; it has page"),
    ("no folder", lambda folder: list_logs(folder / "none"), "none cannot be read: No such file or directory"),
    ("a folder without logs", lambda folder: list_logs(folder),
     "FOLDER holds no log of lm-evaluation-harness or Inspect"),
    ("a folder with a broken log", lambda folder: (written(folder / "b.eval", b"PK\3\4"), list_logs(folder)),
     "FOLDER holds no log of lm-evaluation-harness or Inspect: b.eval: no zip archive, or cut off (it has no end)"),
    ("folders of several models",
     lambda folder: ([lm_log(folder / name, [CHOICE]) for name in ("a", "b")], list_logs(folder)),
     "FOLDER holds logs of several models, one folder each: a, b; name these folders"),
    ("a log that is a link", lambda folder: list_logs(linked(folder)),
     "logs/samples_small_2026-01-02T03-04-05.678901.jsonl links to a file outside of its folder; put a copy there"),
    ("no row asked about", lambda folder: match_rows(log(folder, CHOICE), [Example("x", ("Two.",), None)]),
     "no row of the log is one of those asked about"),
    ("no labels of a log", lambda folder: read_labels(log(folder, GENERATED), np.array([0]), TASK),
     "the log says how good answers were, and not which labels they are"),
    ("labels of other rows", lambda folder: read_labels(log(folder, *ANSWERED), np.arange(4), TASK),
     "the labels of the log are no, yes, and those of the rows negative, positive"),
    ("runs of other metrics",
     lambda folder: average_runs([log(folder, WRITTEN, metric=name) for name in ("em", "f1")], ["a", "b"]),
     "a is judged by em and b by f1: no mean is made of these"),
    ("runs with other truths",
     lambda folder: average_runs([scored(folder, sample(1, "C", target=to)) for to in "xy"], ["a", "b"]),
     "a, b differ on the right answer to the row '1'"),
    ("a range that has to be named", lambda folder: scale_outcomes(likelihoods(folder), LogOptions()),
     "small: perplexity is between -3 and -1; say with `range` what is worst and best, such as -3 0: a "
     "row holds a log-likelihood"),
    ("less that is no better",
     lambda folder: scale_outcomes(likelihoods(folder), LogOptions(scale=(-9, 0), lower_is_better=True)),
     "small: more of perplexity is better (a row holds a log-likelihood); leave `lower_is_better` out"),
    ("several runs of a log", lambda folder: models(runs(folder)),
     "FOLDER: small was run 2 times with other arguments: @1 2026-01-01T00:00:00, seed=1; @2 "
     "2026-01-02T00:00:00, seed=2; name one, FOLDER#small@2, or say with `runs` what is meant: newest, "
     "mean or each"),
    ("no such run", lambda folder: models(f"{runs(folder)}#@3"),
     "FOLDER: no run is called @3; there are @1 2026-01-01T00:00:00, seed=1; @2 2026-01-02T00:00:00, seed=2"),
    ("several such runs", lambda folder: models(f"{runs(folder)}#@2026"),
     "FOLDER: several runs are called @2026; there are @1 2026-01-01T00:00:00, seed=1; @2 "
     "2026-01-02T00:00:00, seed=2"),
    ("several tasks", lambda folder: models(tasks(folder)),
     "FOLDER holds logs of several tasks: one, two; name one, FOLDER#one"),
]  # fmt: skip


CHECKPOINTS = [
    ("no such directory", lambda folder: checkpoints.locate("./nowhere"),
     "`models`: there is no directory './nowhere'"),
    ("no hub", lambda folder: unreached(folder, "org/name@v1"),
     "`models`: org/name@v1 is no directory, and the hub does not give it: no network"),
    ("no base", lambda folder: checkpoints.locate_base(adapter(folder, base_model_name_or_path="./gone")),
     "the base of FOLDER: there is no directory './gone'"),
    ("an adapter of an adapter", lambda folder: checkpoints.locate_base(adapter(folder, base_model_name_or_path=".")),
     "the base of FOLDER is an adapter itself; merge that into its own base, and name what comes of it"),
    ("no base is named", lambda folder: checkpoints.adapter_base(adapter(folder)),
     "adapter_config.json names no base model (base_model_name_or_path)"),
    ("no weights", lambda folder: checkpoints.weight_files(folder),
     "FOLDER has no weights (*.safetensors); it must hold a saved checkpoint"),
    ("pickled weights", lambda folder: checkpoints.weight_files(written(folder / "pytorch_model.bin", "").parent),
     "FOLDER has no safetensors weights, only pytorch_model.bin, which may run code when it is loaded; "
     "convert it, or trust it with `allow_pickle`"),
    ("no configuration", lambda folder: checkpoints.read_json(folder / "config.json"),
     "FOLDER has no config.json; it must hold a saved checkpoint"),
    ("a configuration further down", lambda folder: (toy(folder, "{}"), checkpoints.read_json(folder / "card.toml")),
     "FOLDER has no card.toml; did you mean toy?"),
    ("no JSON in a configuration", lambda folder: checkpoints.read_json(written(folder / "config.json", "{")),
     "config.json cannot be read as a checkpoint's settings: Expecting property name enclosed in double "
     "quotes: line 1 column 2 (char 1)"),
    ("a list as configuration", lambda folder: checkpoints.read_json(written(folder / "config.json", "[]")),
     "config.json must hold a JSON object (got list)"),
    ("code of another repository", lambda folder: checkpoints.ask_for_code([(folder / "config.json", FOREIGN)]),
     "config.json takes its code from 'org/name'; put the module beside it, and name it 'own.Own'"),
    ("outputs without names", lambda folder: reconcile({0: "LABEL_0", 1: "LABEL_1"}, NLI, model="m"),
     "m has labels without names (LABEL_0, LABEL_1); say what they mean, for example "
     '`label_map={"LABEL_0": "non-entailment", "LABEL_1": "entailment"}`'),
    ("an output that is no label", lambda folder: reconcile({0: "positive", 1: "negative"}, NLI, model="m"),
     "m has the label 'positive' (positive, negative); say what they mean, for example "
     '`label_map={"positive": "non-entailment", "negative": "entailment"}`'),
    ("a label without an output", lambda folder: reconcile({0: "neutral", 1: "contradiction"}, NLI, model="m"),
     "m has no label that means 'entailment' (it has neutral, contradiction); say what they mean, for "
     'example `label_map={"neutral": "non-entailment", "contradiction": "entailment"}`'),
    ("a map of no output", lambda folder: reconcile(NAMES, NLI, {"entailment": "entailment", "no": "neutral"}),
     "`label_map`: the model has no label 'no'; its labels are entailment, not_entailment"),
    ("a map to no label", lambda folder: reconcile({0: "LABEL_0", 1: "LABEL_1"}, NLI, {"1": "entailing"}),
     "`label_map`: 'entailing' is no label of the task (non-entailment, entailment)"),
    ("a map against a name", lambda folder: reconcile(NAMES, NLI, {"0": "neutral", "1": "entailment"}),
     "`label_map`: the model calls its output 0 'entailment', not 'neutral'; to overrule it, name the "
     "label instead of the index"),
    ("an output that is no tag", lambda folder: tag_outputs({0: "O", 1: "PER"}, model="m"),
     "m has the label 'PER', and a tag must be O, B-TYPE or I-TYPE (O, PER); say what it means, for example "
     '`label_map={"PER": "B-PER"}`'),
    ("a tagger of labels", lambda folder: require_task(NLI, TagTask, "tags", "m"),
     "m is for answers that are tags, and answers to nli are judged by ACC"),
    ("a question alone", lambda folder: list(extractor().predict([Example("1", ("Who?",))])),
     "m needs a question and its passage, two texts a row (got 1)"),
    ("two maps of a configuration", lambda folder: check_inverse({0: "bad", 1: "good"}, {"bad": 1}, "config.json"),
     "config.json contradicts itself: by `id2label` 'bad' is output 0, by `label2id` 1"),
    ("one output", lambda folder: label_names(network({0: "similarity"})),
     "m has one output: a regression, where a classifier is needed"),
    ("a regression", lambda folder: label_names(network({0: "a", 1: "b"}, "regression")),
     "m says that it is a regression, where a classifier is needed"),
    ("labels beside each other", lambda folder: label_names(network({0: "a", 1: "b"}, "multi_label_classification")),
     "m says that labels do not exclude each other; a classifier of one label is needed"),
    ("outputs from 1", lambda folder: label_names(network({1: "a", 2: "b"})),
     "m: `id2label` in config.json must number its outputs from 0 (got 1, 2)"),
    ("no such dtype", lambda folder: resolve("float16"),
     "`dtype` must be one of auto, float32, bfloat16 (got 'float16')"),
    ("a black box of other labels", lambda folder: group_labels("bag", ("no", "entailment"), NLI),
     "bag has the label 'no', which is none of the task's (non-entailment, entailment)"),
    ("a label that nothing means", lambda folder: group_labels("bag", ("neutral", "contradiction"), NLI),
     "bag has no label that means 'entailment' (it has neutral, contradiction)"),
    ("probabilities of another shape", lambda folder: answered((0.5, 0.25, 0.25)),
     "bag must give probabilities of the shape (R, L), here (1, 2) (got (1, 3))"),
    ("probabilities of another sum", lambda folder: answered((0.5, 0.6)),
     "bag must give probabilities that add up to 1 (got [0.5, 0.6])"),
    ("a black box that fails", lambda folder: answered(KeyError("the\nword")),
     "bag cannot be run: KeyError: 'the\\nword'"),
    ("a kind that is there", lambda folder: installed("hf", lambda: SimpleNamespace(claims=bool, sources=list)),
     "a package adds a kind of source that there is already: 'hf'"),
    ("a package that is no kind", lambda folder: installed("mine", lambda: 3),
     "the package 'mine', entry point 'mine' of 'rank_models.sources': it must have the functions "
     "`claims` and `sources` (got mine:kind)"),
    ("a package that fails", lambda folder: installed("mine", lambda: 1 / 0),
     "the package 'mine', entry point 'mine' of 'rank_models.sources': mine:kind cannot be loaded: "
     "ZeroDivisionError: division by zero"),
    ("settings that select code", lambda folder: checked(folder, attn_implementation="org/kernel"),
     "config.json: `attn_implementation` selects code, and must be one of eager, sdpa, flex_attention "
     "(got 'org/kernel'); to have the checkpoint run others': `trust_remote_code`"),
    ("too many layers", lambda folder: checked(folder, num_hidden_layers=20_000),
     "config.json: `num_hidden_layers`: more than 1,000 layers, the most that is read (`limits.layers`)"),
    ("an adapter of others", lambda folder: adapted(folder, peft_type="XLORA"),
     "adapter_config.json: an adapter of the kind XLORA loads others; load each by itself"),
    ("a text without a token", lambda folder: run_in_batches([0], 9, print),
     "a text has no token, or none is left once its words are removed; leave out empty texts, and hide "
     "words behind a token (`hide=pad` or `hide=mask`; of SHAP `baseline=pad` or `baseline=mask`)"),
    ("too little memory", lambda folder: run_in_batches([8], 4, exhausted),
     "memory is too small for one row of 8 tokens"),
    ("one model of a suite", lambda folder: load_suite(["org/one"]),
     "a ranking needs at least two models (got 1); name more with `models`"),
    ("a model twice", lambda folder: load_suite(["org/one", "org/one"]),
     "org/one is named twice; name it once, or call it by two names: `models one=org/one one-again=org/one`"),
    ("two models of one name", lambda folder: load_suite(["a=org/one", "a=org/two"]),
     "two models are named 'a'; call one by another name: `models NAME=PATH`"),
    ("a name for several models", lambda folder: load_suite(["a=hans-sub-mini", "org/a"]),
     "`models`: a=hans-sub-mini: a name is for one model (got 8 in hans-sub-mini)"),
    ("a part of a checkpoint", lambda folder: load_suite(["org/one#2", "org/a"]),
     "`models`: org/one: a checkpoint has no parts (got #2)"),
    ("no such model", lambda folder: load_suite(["./nowhere", "org/a"]),
     "`models`: no file, directory, suite.json or hub id `org/name` is called './nowhere'; there is no "
     "suite './nowhere'; known: hans-con-mini, hans-lex-mini, hans-sub-across-mini, hans-sub-mini, "
     "msgs-adject-mini, msgs-morph-mini, msgs-verb-mini, paws-across-mini, paws-mini"),
    ("no such kind of source", lambda folder: kind_of(Reference("a", kind="hg"), SourceOptions(), ResourceCache()),
     "there is no kind of source 'hg'; known: log, table, lm, openai, hf"),
    ("no suite that can be read", lambda folder: suite(folder, "{"),
     "suite.json cannot be read as a suite: Expecting property name enclosed in double quotes: line 1 "
     "column 2 (char 1)"),
    ("a suite of another schema", lambda folder: suite(folder, {"schema_version": 2, "name": "x", "models": []}),
     "suite.json: this version reads suites of schema 1 (got 2)"),
    ("a suite without names", lambda folder: suite(folder, {"schema_version": 1, "name": "x", "models": [{}]}),
     "suite.json is no suite: `[models]` needs the key `name`"),
    ("a path out of a suite", lambda folder: suite(folder, SUITE | {"models": [{"name": "m", "path": "../m"}] * 2}),
     "suite.json: the path '../m' leads out of the suite's folder; write an absolute one"),
]  # fmt: skip


MESSAGES = [*FILES, *DATASETS, *DOMAINS, *TASKS, *TABLES, *LOGS, *CHECKPOINTS]
"""Short name, what provokes the error in an empty folder, and the message."""
