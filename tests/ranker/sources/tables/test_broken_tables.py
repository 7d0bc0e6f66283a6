import gzip
import os
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tables_made import ROWS, TASK, npy, written, zipped

from ranker.errors import DataError
from ranker.files import reader
from ranker.limits import LIMITS, Limits
from ranker.sources.tables import join, reading
from ranker.sources.tables.base import TableHints

DEEP = "[" * 100_000 + "]" * 100_000
PAIR = {"negative": [0.4, 0.6], "positive": [0.6, 0.4]}
TWO = {"id": ["a", "b"], "prediction": ["positive", "negative"]}


def header(shape, kind="<f8"):
    """The beginning of an .npy file that promises so much."""
    text = repr({"descr": kind, "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


BROKEN = {
    # name -> (file, content, what is said of it, what the message says)
    "empty": ("a.csv", "", {}, "is empty; its first line must name the columns"),
    "header alone": ("a.csv", "id,prediction\n", {}, "holds no row"),
    "empty gzip": ("a.csv.gz", b"", {}, "is empty"),
    "cut gzip": ("a.csv.gz", None, {}, "it ends in the middle of a part"),
    "a cell less": ("a.csv", "id,prediction\na\n", {}, "line 2: 2 cells are needed, as in line 1 (got 1)"),
    "a cell more": ("a.csv", "id,prediction\na,positive,1\n", {}, "line 2: 2 cells are needed, as in line 1 (got 3)"),
    "open quote": ("a.csv", 'id,prediction\n"a,positive\n', {}, "unexpected end of data"),
    "bare returns": ("a.csv", "id,prediction\ra,positive\r", {}, "bare carriage returns"),
    "twice a column": ("a.csv", "id,prediction,id\na,positive,b\n", {}, "two columns are named 'id'"),
    "twice a column, Parquet": ("a.parquet", None, {}, "two columns are named 'x'"),
    "twice a key": ("a.jsonl", '{"id": "a", "id": "b", "prediction": "positive"}\n', {}, "the key 'id' is there twice"),
    "twice an id, object": ("a.json", '{"a": "positive", "a": "negative"}', {}, "the key 'a' is there twice"),
    "twice a column, split": ("a.json", {"columns": ["x", "x"], "data": [[1, 2]]}, {}, "two columns are named 'x'"),
    "Latin-1": (
        "a.csv",
        "id,text,prediction\na,Café,positive\n".encode("latin-1"),
        {},
        "line 2: not UTF-8 (byte 0xe9)",
    ),
    "cut UTF-16": ("a.csv", "id,prediction\na,positive\n".encode("utf-16")[:-1], {}, "not UTF-16-LE (byte 0x0a)"),
    "UTF-16 without a mark": (
        "a.csv",
        "id,prediction\na,positive\n".encode("utf-16-le"),
        {},
        "line 1: not UTF-8 (byte 0x69); is it UTF-16?",
    ),
    "mixed encodings": ("a.csv", b"id,prediction\na,positive\nb\xe9,good\n", {}, "line 3: not UTF-8 (byte 0xe9)"),
    "Latin-1 JSON": ("a.json", b'[{"id": "caf\xe9", "prediction": "positive"}]', {}, "not UTF-8 (byte 0xe9)"),
    "NUL": (
        "a.csv",
        "id,prediction\na\0,positive\n",
        {},
        "line 2: the column 'id' holds a NUL; is the file text, and UTF-8?",
    ),
    "NUL in JSON": ("a.json", '[{"id": "a\\u0000", "prediction": "good"}]', {}, "the column 'id' holds a NUL"),
    "NUL in Parquet": ("a.parquet", {"id": ["a\0"], "prediction": ["good"]}, {}, "the column 'id' holds a NUL"),
    "huger cell": ("a.csv", f"id,prediction\n{'a' * 200_000},good\n", {}, "field larger than field limit"),
    "huge line": (
        "a.csv",
        "id,prediction\n" + "a" * (1 << 20) + "\n",
        {},
        "line 2: more than 1,048,576 bytes in a line",
    ),
    "many columns": (
        "a.csv",
        ",".join(map(str, range(20_001))) + "\n" + "," * 20_000 + "x\n",
        {},
        "more than 20,000 columns",
    ),
    "many columns, JSON": ("a.json", [{str(i): i} for i in range(20_001)], {}, "more than "),
    "no JSON": ("a.json", "{", {}, "no JSON (Expecting property name enclosed in double quotes)"),
    "deep JSON": ("a.json", DEEP, {}, "no JSON (it is nested too deeply)"),
    "deep line": ("a.jsonl", DEEP, {}, "line 1: no JSON"),
    "deep cell": ("a.jsonl", '{"id": "a", "prediction": [[["positive"]]]}', {}, "'prediction' holds lists or objects"),
    "long number": ("a.jsonl", '{"id": ' + "1" * 5_000 + "}", {}, "line 1: no JSON"),
    "a text": ("a.json", '"positive"', {}, "an array of records, or an object, is needed"),
    "mixed array": ("a.json", ["positive", {"id": "a"}], {}, "all objects, or all answers"),
    "empty array": ("a.json", [], {}, "holds no row"),
    "empty object": ("a.json", {}, {}, "an array of records, or an object, is needed"),
    "short row": ("a.json", {"columns": ["id", "prediction"], "data": [["a"]]}, {}, "row 1: 2 cells are needed"),
    "no rows": (
        "a.json",
        {"columns": ["id"], "data": ["a"]},
        {},
        "row 1: 1 cells are needed, as in `columns` (got str)",
    ),
    "objects and texts": ("a.json", {"a": "positive", "b": {"c": "d"}}, {}, "holds nothing but answers"),
    "array in a .jsonl": ("a.jsonl", '["a"]\n', {}, "line 1: an object {...} is needed"),
    "cut line": ("a.jsonl", '{"id": "a", "prediction": "good"}\n{"id": "b", "pre', {}, "line 2: no JSON"),
    "no Parquet": ("a.parquet", b"PAR1", {}, "cannot be read"),
    "cut Parquet": ("cut.parquet", None, {}, "cannot be read"),
    "Parquet of dates": ("a.parquet", {"prediction": pa.array([1], pa.date32())}, {}, "'1970-01-02' in the column"),
    "Parquet of bytes": ("a.parquet", {"prediction": [b"\xe9"]}, {}, "'prediction' holds binary"),
    "Parquet of no rows": ("a.parquet", {"id": pa.array([], pa.string())}, {}, "holds no row"),
    "no array": ("a.npy", b"something", {}, "cannot be read: the magic string is not correct"),
    "array of objects": ("a.npy", npy(np.array([{}, []], object), allow_pickle=True), {}, "are never unpickled"),
    "objects in .npz": (
        "a.npz",
        zipped(predictions=npy(np.array([{}], object), allow_pickle=True)),
        {},
        "never unpickled",
    ),
    "cut array": ("a.npy", npy(np.zeros((10, 2)))[:-8], {}, "must have 160 bytes, as its header says (got 152)"),
    "long array": ("a.npy", npy(np.zeros((10, 2))) + b"12", {}, "must have 160 bytes, as its header says"),
    "an array of everything": ("a.npy", header((1 << 40, 1 << 20)), {}, "bytes, as its header says"),
    "an array of less than nothing": ("a.npy", header((-1, 2)), {}, "its header is none of numpy's"),
    "a header that runs": ("a.npy", header((2,)).replace(b"(2,)", b"f()*"), {}, "cannot be read"),
    "array of records": ("a.npy", npy(np.zeros(2, [("a", "f8")])), {}, "must hold numbers, texts or truth values"),
    "array of dates": ("a.npy", npy(np.zeros(2, "M8[s]")), {}, "must hold numbers, texts or truth values"),
    "array of complex": ("a.npy", npy(np.zeros(2, complex)), {}, "must hold numbers, texts or truth values"),
    "array of tokens": ("a.npy", np.zeros((2, 3, 4)), {}, "must have the shape (rows,) or (rows, classes)"),
    "array of nothing": ("a.npy", np.zeros(()), {}, "must have the shape (rows,) or (rows, classes)"),
    "arrays of two lengths": (
        "a.npz",
        {"predictions": np.zeros((3, 2)), "label_ids": np.zeros(2)},
        {},
        "different numbers",
    ),
    "no zip": ("a.npz", b"PK\x03\x04 and nothing", {}, "no zip archive, or cut off"),
    "no array in the zip": ("a.npz", zipped(predictions=b"text"), {}, "cannot be read"),
    "many arrays": ("a.npz", zipped(**{f"a{i}": npy(np.zeros(1)) for i in range(101)}), {}, "more than 100 parts"),
    "three scores": (
        "a.npy",
        np.eye(3)[:2] + 0.5,
        {},
        "'predictions' holds 3 scores a row, for 2 labels; `label_map` says",
    ),
    "no label": (
        "a.csv",
        "id,prediction\na,maybe\nb,yes\n",
        {},
        "'maybe' and 'yes' in the column 'prediction' are no labels",
    ),
    "labels of another task": (
        "a.csv",
        "id,prediction\n" + "".join(f"{i},l{i}\n" for i in range(9)),
        {},
        "'l0', 'l1', 'l2' and 6 more in the",
    ),
    "a number too high": ("a.csv", "id,prediction\na,0\nb,2\n", {}, "'2' in the column 'prediction' is no label"),
    "no columns": ("a.csv", "id\na\n", {}, "no column holds answers (columns: 'id')"),
    "semicolons in a .tsv": ("a.tsv", "id;prediction\na;positive\n", {}, "are its cells separated by ';'?"),
    "no header": ("a.txt", "positive\nnegative\n", {}, "is that a row, and the line that names the columns missing?"),
    "no id": ("a.csv", "id,prediction\na,positive\n,negative\n", {}, "row 2: the column 'id' holds no id"),
    "NaN id": (
        "a.parquet",
        {"id": [1.0, float("nan")], "prediction": ["good"] * 2},
        {},
        "row 2: the column 'id' holds no",
    ),
    "NaN ids": (
        "a.csv",
        "id,prediction\nNaN,good\nb,good\nnan,good\n",
        {},
        "row 1: the column 'id' holds no id, as in 1 more",
    ),
    "two answers": (
        "a.csv",
        "id,prediction\na,good\nb,good\na,negative\n",
        {},
        "rows 1 and 3: two answers are given to the row 'a'",
    ),
    "two answers of a model": (
        "a.csv",
        "model,id,prediction\nm,a,good\nm,a,good\nn,a,good\n",
        {},
        "rows 1 and 2: two answers are given to the row 'a'",
    ),
    "two truths": (
        "a.csv",
        "model,id,label,prediction\nm,a,good,good\nn,a,negative,good\nn,b,good,good\nm,b,good,good\n",
        {},
        "the row 'a' has two truths in 'label'",
    ),
    "labels or outcomes": (
        "a.csv",
        "id,m,n\na,1,0\nb,0,1\n",
        {},
        "'m' and 'n' hold 0 and 1, which may be labels, or say",
    ),
    "two truths by name": (
        "a.csv",
        "id,label,gold_label\na,good,good\n",
        {},
        "'label' and 'gold_label' may hold the answers, or something else; `prediction` says",
    ),
    "a score alone": ("a.csv", "id,score\na,0.5\nb,0.25\n", {}, "'score' holds numbers; `answers` says what they are"),
    "no probabilities": (
        "a.json",
        {"columns": list(PAIR), "data": [[0.4, 0.6], [0.2, 0.2]]},
        {},
        "row 2: 'negative' and 'positive' are",
    ),
    "no probabilities, said": (
        "a.csv",
        "negative,positive\n-1,2\n",
        {"answers": "probabilities"},
        "add up to 1 (got 1)",
    ),
    "inf": (
        "a.csv",
        "negative,positive\n0.5,0.5\n-1.5,inf\n",
        {},
        "row 2: 'negative' and 'positive' must be finite (got inf)",
    ),
    "-inf": ("a.csv", "negative,positive\n0.5,-inf\n", {"answers": "logits"}, "must be finite"),
    "nothing likely": ("a.csv", "negative,positive\n-inf,-inf\n-1,-2\n", {}, "has no finite log-likelihood"),
    "no number": (
        "a.csv",
        "negative,positive\n0.5,0.5\n0.4,much\n0.1,0.9\n",
        {},
        "row 2: the column 'positive' holds scores, and 'much'",
    ),
    "decimal commas": ("a.tsv", "negative\tpositive\n0.5\t0.5\n0,4\t0,6\n0.1\t0.9\n", {}, "'0,4' has a decimal comma"),
    "a score too high": (
        "a.csv",
        "id,p\na,1.5\nb,0.1\n",
        {"answers": "probabilities", "prediction": ("p",)},
        "between 0 and 1 (got 1.5)",
    ),
    "outcomes beyond 1": (
        "a.csv",
        "id,score\na,7\nb,0.5\n",
        {"answers": "outcomes", "prediction": ("score",)},
        "between 0 and 1 (got '7')",
    ),
    "no outcomes": ("a.csv", "id,prediction\na,good\n", {"answers": "outcomes"}, "no column holds outcomes"),
    "log-likelihood alone": (
        "a.csv",
        "id,ll\na,-1.5\nb,-0.1\n",
        {"answers": "log-likelihoods", "prediction": ("ll",)},
        "need a column",
    ),
    "a class missing": (
        "a.csv",
        "m/negative,m/x\n0.1,0.9\n0.2,0.8\n",
        {"answers": "logits"},
        "'m/x' stands among the scores of 'm', and 'x' is no label",
    ),
    "swapped columns": (
        "a.csv",
        "prediction,p_negative,p_positive\ngood,0.9,0.1\nnegative,0.1,0.9\n",
        {},
        "differ on 2 of 2 rows; are columns swapped?",
    ),
    "no cluster": (
        "a.csv",
        "id,label,prediction,c\na,good,good,\n",
        {"cluster": "c"},
        "row 1: the column 'c' is empty",
    ),
}


def broken(case, folder):
    """The file of a case, and what is said of it."""
    name, content, said, message = BROKEN[case]
    path = folder / name
    if case == "cut gzip":
        path.write_bytes(gzip.compress(b"id,prediction\na,positive\n" * 50)[:-12])
    elif case == "twice a column, Parquet":
        pa.parquet.write_table(pa.table([[1], [2]], names=["x", "x"]), path)
    elif case == "cut Parquet":
        content = written(folder / "whole.parquet", TWO).read_bytes()
        path.write_bytes(content[: len(content) // 2])
    else:
        written(path, content)
    return path, TableHints(**said), message


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_table_is_one_line(case, tmp_path):
    """It names the file first, and says what is wrong."""
    path, said, message = broken(case, tmp_path)
    with pytest.raises(DataError) as caught:
        reading.parse_predictions(reader.read_columns(path), TASK, said)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert message in text
    assert "\n" not in text
    assert len(text) < len(str(path)) + 300


FOREIGN = {
    "ids of others": ("a.csv", "id,prediction\nx,good\ny,good\n", "no id of the file is that of a row asked about"),
    "texts of others": (
        "a.csv",
        "text,prediction\nOh.,good\nAh.,good\n",
        "no text of the file is that of a row asked about",
    ),
    "ids alike, texts not": (
        "a.csv",
        "id,text,prediction\na,Oh.,good\nb,Ah.,good\nc,Eh.,good\n",
        "3 of 3 texts are not those of the rows",
    ),
    "fewer rows and no keys": ("a.csv", "prediction\ngood\n", "has 1 row and no ids or texts"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_a_table_of_other_rows_is_one_line(case, tmp_path):
    """Ids or texts that match nothing, texts that disagree, rows that nothing tells."""
    name, content, message = FOREIGN[case]
    path = written(tmp_path / name, content)
    with pytest.raises(DataError) as caught:
        join.join(reading.parse_predictions(reader.read_columns(path), TASK, None, ROWS), ROWS)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def bounded(path, most=64 << 20, limits=LIMITS):
    """The message of a file, which takes little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(DataError) as caught:
            reader.read_columns(path, limits=limits)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
    return str(caught.value)


def test_a_gzip_bomb_is_refused_by_its_ratio(tmp_path):
    """A hundred kilobytes that unpack to a hundred megabytes, in lines of a table."""
    path = tmp_path / "a.csv.gz"
    line = b"a" * 8_000 + b",good\n"
    path.write_bytes(gzip.compress(b"id,prediction\n") + gzip.compress(line * 1_000) * 13)
    assert bounded(path) == f"{path}: more than 200 times its size, the most that is read (`limits.ratio`)"


def test_a_gzip_bomb_of_json_is_refused(tmp_path):
    """It is unpacked no further than its budget."""
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"[") + gzip.compress(b" " * (1 << 20)) * 10)
    said = bounded(path, limits=Limits(json=4 << 20))
    assert said == f"{path}: more than 4,194,304 bytes, the most that is read (`limits.json`)"


def test_a_gzip_bomb_is_refused_before_a_line_is_read(tmp_path, monkeypatch):
    """30 million rows in 120 kilobytes: it is unpacked no further than its ratio, and nothing is made of it."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"id,prediction\n") + gzip.compress(b"a,1\n" * 1_000_000) * 30)
    monkeypatch.setattr("ranker.files.text.lines", None)
    assert bounded(path).endswith("more than 200 times its size, the most that is read (`limits.ratio`)")


def test_a_gzip_file_has_no_more_parts_than_are_read(tmp_path):
    """Of empty parts a small file can have a million."""
    path = tmp_path / "a.csv.gz"
    table = gzip.compress(b"id,prediction\na,good\n")
    path.write_bytes(table + gzip.compress(b"") * 9_999)
    assert reader.read_columns(path).size == 1
    path.write_bytes(table + gzip.compress(b"") * 10_000)
    assert bounded(path) == f"{path}: more than 10,000 parts, the most that is read (`limits.gzip_parts`)"


@pytest.mark.parametrize("behind", [b"", b"\0" * 70_000])
def test_parts_of_a_gzip_file_are_read_as_one(tmp_path, behind):
    """A line may go on in the next part, and zeros may fill up the last block."""
    path = tmp_path / "a.csv.gz"
    parts = [b"id,prediction\n", b"a,go", b"", b"od\n" + b"b,bad\n" * 50_000]
    path.write_bytes(b"".join(map(gzip.compress, parts)) + behind)
    columns = reader.read_columns(path)
    assert (columns.size, columns.values("prediction")[:2]) == (50_001, ["good", "bad"])
    path.write_bytes(gzip.compress(parts[0]) + b"nothing of gzip")
    assert "cannot be read" in bounded(path)


def test_a_json_file_has_no_more_values_than_are_read(tmp_path):
    """They are counted before anything is made of them."""
    path = tmp_path / "a.json"
    path.write_text("[" + "0," * 9_000_000 + "0]")
    assert bounded(path) == f"{path}: more than 8,388,608 cells, the most that is read (`limits.values`)"


def test_a_zip_bomb_is_refused_by_what_it_says_of_itself(tmp_path):
    """An .npz of a hundred kilobytes that unpacks to thirty megabytes: none of it is unpacked."""
    path = tmp_path / "a.npz"
    path.write_bytes(zipped(predictions=npy(np.zeros((1 << 21, 2)))))
    assert bounded(path, 1 << 20).endswith("more than 200 times its size, the most that is read (`limits.ratio`)")


def test_a_zip_that_lies_about_its_size_is_read_no_further(tmp_path):
    """The size that stands in the directory of the archive is the most that is unpacked."""
    content = zipped(predictions=npy(np.zeros((1 << 16, 2))))
    real = (npy(np.zeros((1 << 16, 2))).__len__()).to_bytes(4, "little")
    path = tmp_path / "a.npz"
    path.write_bytes(content.replace(real, (1_000).to_bytes(4, "little")))
    assert "a.npz, part 'predictions.npy': damaged" in bounded(path, 8 << 20)


def test_json_of_brackets_is_refused_before_it_is_parsed(tmp_path):
    """Each costs 64 bytes in memory, and two in the file."""
    path = written(tmp_path / "a.json", "[" + "[]," * 2_000 + "[]]")
    said = bounded(path, limits=Limits(objects=1_000))
    assert said == f"{path}: more than 1,000 objects and lists, the most that is read (`limits.objects`)"


@pytest.mark.parametrize("name", ["rows", "cells"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_rows_and_cells_are_counted(tmp_path, name, ending):
    """In text, in Parquet and in arrays."""
    content = {"csv": "a,b\n" + "1,2\n" * 20, "parquet": {"a": [1] * 20, "b": [2] * 20}, "npy": np.zeros((20, 2))}
    said = bounded(written(tmp_path / f"a.{ending}", content[ending]), limits=Limits(**{f"table_{name}": 10}))
    assert f"more than 10 {name}, the most that is read (`limits.table_{name}`)" in said


def test_a_parquet_of_repeats_is_no_bomb(tmp_path):
    """A long text that stands in every row is kept once."""
    path = written(tmp_path / "a.parquet", {"text": ["a" * 50_000] * 2_000, "prediction": ["good"] * 2_000})
    assert path.stat().st_size < 100_000
    found = reader.read_columns(path)
    assert found.size == 2_000
    assert sum(array.nbytes for array in found.cells.values()) < 1 << 20


def test_links_out_of_the_folder_are_refused(tmp_path):
    """As in the folder of a checkpoint; one within it is followed, and so are those of the hub's cache."""
    away = written(tmp_path / "away.csv", "id,prediction\na,good\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.csv").symlink_to(away)
    with pytest.raises(DataError, match=r"a\.csv links to .*away\.csv, outside of its folder; put a copy there"):
        reader.read_columns(folder / "a.csv")
    written(folder / "here.csv", "id,prediction\na,good\n")
    (folder / "b.csv").symlink_to("here.csv")
    assert reader.read_columns(folder / "b.csv").size == 1
    snapshot = tmp_path / "hub" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (tmp_path / "hub" / "blobs").mkdir()
    away.rename(tmp_path / "hub" / "blobs" / "123")
    (snapshot / "a.csv").symlink_to("../../blobs/123")
    assert reader.read_columns(snapshot / "a.csv").size == 1


def test_what_is_no_file_is_not_opened(tmp_path):
    """A pipe would wait for ever, a device never end."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "round.csv").symlink_to("round.csv")
    said = {name: bounded(tmp_path / f"{name}.csv") for name in ("pipe", "folder", "round", "none")}
    assert said["pipe"].endswith("pipe.csv is no file")
    assert said["folder"].endswith("folder.csv is no file, but a folder")
    assert "cannot be read: " in said["round"]
    assert said["none"].endswith("none.csv cannot be read: No such file or directory")


def test_there_are_enough_broken_tables():
    """Fifty at least, and each case says something else."""
    assert len(BROKEN) + len(FOREIGN) >= 50
