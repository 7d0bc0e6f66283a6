"""The words of the messages of files, datasets, domains, tasks and sources: each once, as it is printed."""

import gzip
import io
import json
import os
import urllib.error
import urllib.response
import zipfile
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tables_made import npy, written

from ranker import labelled
from ranker.datasets import sets
from ranker.datasets.cards import read_card
from ranker.datasets.fetch import fetch
from ranker.datasets.mapping import check_spellings, parse_label_map
from ranker.datasets.marks import marker
from ranker.datasets.readers import examples, read_sheet
from ranker.domains import values
from ranker.domains.compare import compare
from ranker.domains.words import count_words
from ranker.errors import RankModelsError
from ranker.files import encodings, footers, reader, text
from ranker.limits import Limits
from ranker.tasks.classes import ClassificationTask, require_labels
from ranker.tasks.metrics import metric_named
from ranker.tasks.precomputed import PrecomputedTask

NLI = ClassificationTask("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral", "contradiction")})
GOOD = {"premise": "The actor ran.", "hypothesis": "An actor ran.", "label": "entailment"}


def columns(folder, name, content, **options):
    """Write a file and read its columns."""
    return reader.read_columns(written(folder / name, content), **options)


def cut(folder):
    """Read a file whose gzip is cut."""
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"id\n1\n")[:-9])
    return reader.read_columns(folder / "a.csv.gz")


def rows(folder, content, name="a.jsonl", named=None):
    """Write a file of rows, by default a mapping as a JSON line, and read its examples."""
    sheet = read_sheet(written(folder / name, json.dumps(content) + "\n" if name == "a.jsonl" else content), named)
    return tuple(examples(sheet.rows, NLI, sheet.layout))


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


def described(said):
    """Return a Parquet file whose columns `datasets` described so."""
    return packed(huggingface=said)


def packed(**metadata):
    """Return a Parquet file with metadata of its columns."""
    file = io.BytesIO()
    parquet.write_table(pa.table({"label": [1]}).replace_schema_metadata(metadata), file)
    return file.getvalue()


def twice():
    """Return a zip archive with two files of one name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("ann.jsonl", "{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("ann.jsonl", "{}")
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


FILES = [
    ("no row", lambda folder: columns(folder, "a.csv", "id,text\n"), "a.csv holds no row"),
    ("no file of rows", lambda folder: columns(folder, "a.xlsx", ""),
     "a.xlsx: a file of rows or a table ends in .csv, .tsv, .txt, .jsonl, .json, .parquet, .npy, .npz, "
     ".zip; those of text may be gzipped (.csv.gz)"),
    ("no list of rows", lambda folder: reader.of_rows(["A hut."]),
     "rows in memory must be a list of column -> value, one such a row (got a str)"),
    ("no such file", lambda folder: reader.read_columns(folder / "a.csv"),
     "a.csv cannot be read: No such file or directory"),
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
    ("no zip", lambda folder: read_sheet(written(folder / "a.zip", b"PK\3\4")),
     "a.zip: no zip archive, or cut off (it has no end)"),
    ("a damaged part", lambda folder: read_sheet(written(folder / "a.zip", member(b"\xff" * 30))),
     "a.zip, part 'ann.jsonl': damaged (Error -3 while decompressing data: invalid code lengths set)"),
    ("an unknown method", lambda folder: read_sheet(written(folder / "a.zip", member(b"", zipfile.ZIP_BZIP2))),
     "a.zip, part 'ann.jsonl': packed by method 12, which is not read"),
    ("two files of a name", lambda folder: read_sheet(written(folder / "a.zip", twice())),
     "a.zip: two files are named 'ann.jsonl'"),
    ("JSON_MIN", lambda folder: read_sheet(written(folder / "a.json", [{"annotation_id": 1, "lead_time": 2}])),
     "a.json: Label Studio's JSON_MIN loses rows; export JSON or CSV instead"),
    ("two labels of a row", lambda folder: rows(folder, {**GOOD, "label": ["a", "b"]}),
     "a.jsonl, line 1: a row must have one label (got a, b)"),
    ("a line beyond its limit", lambda folder: columns(folder, "a.csv", "id\n123\n", limits=Limits(line=3)),
     "a.csv, line 2: more than 3 bytes in a line, the most that is read (`limits.line`)"),
]  # fmt: skip


DATASETS = [
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
     "row 1: the column 'heuristic' is missing (columns: premise, label)"),
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
     "docs/data.md, or say with `label_map` which outputs of the models are meant"),
    ("a label of no task beside others", lambda folder: labelled([GOOD, {**GOOD, "label": "maybe"}]),
     "row 2: the label 'maybe' is of no known task (nli: non-entailment, entailment; msgs: no-feature, "
     "feature; paraphrase: non-paraphrase, paraphrase); describe yours: a card and `include=DIR`, see "
     "docs/data.md, or say with `label_map` which outputs of the models are meant"),
    ("no label yet", lambda folder: labelled([{**GOOD, "label": ""}] * 3),
     "rows in memory: the column 'label' is still empty in all 3 rows"),
    ("no such role", lambda folder: labelled([GOOD], columns={"gold": "label"}),
     "there is no role of a column 'gold'; known: text, label, id, cluster"),
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
    ("an id twice", lambda folder: labelled([{**GOOD, "id": "x"}, {**GOOD, "id": "x", "premise": "A."}], NLI),
     "row 2: the id 'x' is used at row 1 already"),
    ("no column of texts", lambda folder: rows(folder, {"words": "a", "label": 1}),
     "a.jsonl, line 1: no column has a usual name for the text; say which with `columns` (columns: words, label)"),
    ("no column of that name", lambda folder: rows(folder, GOOD, named={"label": ["gold"]}),
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
    ("no such rule", lambda folder: marker({"feature": "adjectives"}),
     "there is no rule of marks 'adjectives'; did you mean adjective?"),
    ("no label map", lambda folder: parse_label_map("a, b"),
     "`label_map` is written as `a,b = label; c = label` (got 'a, b')"),
    ("two labels of a name", lambda folder: parse_label_map("a = b; a = c"), "`label_map` gives two labels to 'a'"),
    ("one label or two", lambda folder: check_spellings("a.csv", "the column 'x'", ["toxic", "Toxic "]),
     "a.csv: 'toxic' and 'Toxic ' in the column 'x' may be one label or two; `label_map` says it: "
     '`label_map={"Toxic ": "toxic"}` if one, `label_map={"toxic": "toxic", "Toxic ": "Toxic "}` if two'),
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
     "paws has no official file to fetch; its rows come from https://github.com/google-research-datasets/paws"),
    ("an address of another kind", lambda folder: fetch("hans-sub", folder, "file:///etc/hosts"),
     "`url` must begin with https:// or http:// (got file:///etc/hosts)"),
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
     "some values are above 1 (88.4), others below (0.91): percentages beside fractions? Where all are "
     "percentages, say so with `percent`"),
    ("a value beyond 100", lambda folder: compared(("a", "x", 910), ("b", "x", 0.5)),
     "values must be fractions in [-1, 1], or percentages (got 910)"),
    ("one model", lambda folder: compared(("a", "x", 0.9), ("a", "y", 0.5)), "at least two models are needed (got 1)"),
    ("no other set", lambda folder: compared(("a", "x", 0.9, "in-domain"), ("b", "x", 0.5, "in-domain")),
     "at least one set must be of the kind ood (got 1 in-domain)"),
    ("too many models", lambda folder: compared(*((f"m{n}", "x", 0.5) for n in range(2_001))),
     "more than 2,000 models, the most that are compared (got 2,001)"),
    ("no table", lambda folder: values.as_rows(3), "a table must be a file, a data frame or a list of rows (got int)"),
    ("no set of all models", lambda folder: compared(("a", "x", 0.9), ("b", "y", 0.8)),
     "no set has a value of every model; `missing` says what else to leave out: sets, models, ranks"),
    ("no model on all sets", lambda folder: compared(("a", "x", 0.9), ("b", "y", 0.8), missing="models"),
     "fewer than two models have a value on every set; `missing` says what else to leave out: sets, models, ranks"),
    ("no such rule for cells", lambda folder: compared(("a", "x", 0.9), ("b", "x", 0.8), missing="rank"),
     "there is no rule for missing cells 'rank'; did you mean ranks?"),
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
     "`metric` mae is of numbers, and the labels are none and have no order"),
    ("no answer to measure", lambda folder: metric_named("mae").statistics(np.array([np.nan]), np.ones(1)),
     "`metric` mae has no number for an answer that was not given (1 of 1 rows); leave these rows out, or "
     "name a metric of labels"),
    ("answers too far away", lambda folder: metric_named("pearson").statistics(np.arange(9.0) + 1e9, np.arange(9.0)),
     "`metric` of numbers: the answers vary too little for how far they are from the targets"),
    ("a metric beside judged answers", lambda folder: PrecomputedTask("summaries", "JUDGE").metric_named("f1"),
     "`metric` f1 is of labels, and these answers have none: they are judged by JUDGE"),
    ("no task of labels", lambda folder: require_labels(PrecomputedTask("summaries", "JUDGE"), "bert"),
     "bert is for answers that are labels, and answers to summaries are judged by JUDGE"),
]  # fmt: skip


MESSAGES = [*FILES, *DATASETS, *DOMAINS, *TASKS]


@pytest.mark.parametrize(("provoke", "message"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES])
def test_a_message_is_printed_whole(tmp_path, provoke, message):
    """The words are these, and the option and the place of the error stand among them."""
    with pytest.raises(RankModelsError) as stop:
        provoke(tmp_path)
    error = stop.value
    assert str(error).replace(f"{tmp_path}/", "").replace(str(tmp_path), "FOLDER") == message
    assert error.option in str(error)
    assert error.place in str(error)


def test_no_row_is_there_twice():
    """Each message has an id of its own, and no other row has its words."""
    ids, _, messages = zip(*MESSAGES, strict=True)
    assert len(set(ids)) == len(set(messages)) == len(MESSAGES)
