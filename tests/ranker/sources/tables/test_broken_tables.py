import gzip
import os
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from refusals import refuses
from tables_made import ROWS, TASK, npy, written, zipped

from ranker.errors import DataError, Question
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


def case(file, content, place="", option="", value=None, **hints):
    """A file, its content, hints, and the fields of the error: option, value and place in the file."""
    return file, content, hints, option, value, place


BROKEN = {
    "empty": case("a.csv", ""),
    "header alone": case("a.csv", "id,prediction\n"),
    "empty gzip": case("a.csv.gz", b""),
    "cut gzip": case("a.csv.gz", None),
    "a cell less": case("a.csv", "id,prediction\na\n", ", line 2", value=1),
    "a cell more": case("a.csv", "id,prediction\na,positive,1\n", ", line 2", value=3),
    "open quote": case("a.csv", 'id,prediction\n"a,positive\n', ", line 2"),
    "bare returns": case("a.csv", "id,prediction\ra,positive\r", ", line 1"),
    "twice a column": case("a.csv", "id,prediction,id\na,positive,b\n", ", line 1", value="id"),
    "twice a column, Parquet": case("a.parquet", None, value="x"),
    "twice a key": case("a.jsonl", '{"id": "a", "id": "b", "prediction": "positive"}\n', ", line 1"),
    "twice an id, object": case("a.json", '{"a": "positive", "a": "negative"}'),
    "twice a column, split": case("a.json", {"columns": ["x", "x"], "data": [[1, 2]]}, value="x"),
    "Latin-1": case("a.csv", "id,text,prediction\na,Café,positive\n".encode("latin-1"), ", line 2", option="encoding"),
    "cut UTF-16": case("a.csv", "id,prediction\na,positive\n".encode("utf-16")[:-1], option="encoding"),
    "UTF-16 without a mark": case(
        "a.csv", "id,prediction\na,positive\n".encode("utf-16-le"), ", line 1", option="encoding"
    ),
    "mixed encodings": case("a.csv", b"id,prediction\na,positive\nb\xe9,good\n", ", line 3", option="encoding"),
    "Latin-1 JSON": case("a.json", b'[{"id": "caf\xe9", "prediction": "positive"}]', option="encoding"),
    "NUL": case("a.csv", "id,prediction\na\0,positive\n", ", line 2", option="id"),
    "NUL in JSON": case("a.json", '[{"id": "a\\u0000", "prediction": "good"}]', ", row 1", option="id"),
    "NUL in Parquet": case("a.parquet", {"id": ["a\0"], "prediction": ["good"]}, option="id"),
    "huger cell": case("a.csv", f"id,prediction\n{'a' * 200_000},good\n", ", line 2"),
    "huge line": case("a.csv", "id,prediction\n" + "a" * (1 << 20) + "\n", ", line 2", option="limits.line"),
    "many columns": case(
        "a.csv", ",".join(map(str, range(20_001))) + "\n" + "," * 20_000 + "x\n", ", line 2", option="limits.columns"
    ),
    "many columns, JSON": case("a.json", [{str(i): i} for i in range(2_001)], option="limits.table_cells"),
    "no JSON": case("a.json", "{"),
    "deep JSON": case("a.json", DEEP),
    "deep line": case("a.jsonl", DEEP, ", line 1"),
    "deep cell": case("a.jsonl", '{"id": "a", "prediction": [[["positive"]]]}'),
    "long number": case("a.jsonl", '{"id": ' + "1" * 5_000 + "}", ", line 1"),
    "a text": case("a.json", '"positive"', value="positive"),
    "mixed array": case("a.json", ["positive", {"id": "a"}]),
    "empty array": case("a.json", []),
    "empty object": case("a.json", {}, value={}),
    "short row": case("a.json", {"columns": ["id", "prediction"], "data": [["a"]]}, ", row 1", value=1),
    "no rows": case("a.json", {"columns": ["id"], "data": ["a"]}, ", row 1", value="str"),
    "objects and texts": case("a.json", {"a": "positive", "b": {"c": "d"}}),
    "array in a .jsonl": case("a.jsonl", '["a"]\n', ", line 1", value='["a"]'),
    "cut line": case("a.jsonl", '{"id": "a", "prediction": "good"}\n{"id": "b", "pre', ", line 2"),
    "no Parquet": case("a.parquet", b"PAR1"),
    "cut Parquet": case("cut.parquet", None),
    "Parquet of dates": case(
        "a.parquet", {"prediction": pa.array([1], pa.date32())}, option="label_map", value="1970-01-02"
    ),
    "Parquet of bytes": case("a.parquet", {"prediction": [b"\xe9"]}),
    "Parquet of no rows": case("a.parquet", {"id": pa.array([], pa.string())}),
    "no array": case("a.npy", b"something"),
    "array of objects": case("a.npy", npy(np.array([{}, []], object), allow_pickle=True)),
    "objects in .npz": case(
        "a.npz", zipped(predictions=npy(np.array([{}], object), allow_pickle=True)), ": the array 'predictions'"
    ),
    "cut array": case("a.npy", npy(np.zeros((10, 2)))[:-8], value=152),
    "long array": case("a.npy", npy(np.zeros((10, 2))) + b"12", value=162),
    "an array of everything": case("a.npy", header((1 << 40, 1 << 20)), value=0),
    "an array of less than nothing": case("a.npy", header((-1, 2))),
    "a header that does not end": case("a.npy", header((2,)).replace(b"}", b"{")),
    "a header that runs": case("a.npy", header((2,)).replace(b"(2,)", b"f()*")),
    "array of records": case("a.npy", npy(np.zeros(2, [("a", "f8")])), value=np.dtype([("a", "f8")])),
    "array of dates": case("a.npy", npy(np.zeros(2, "M8[s]")), value=np.dtype("M8[s]")),
    "array of complex": case("a.npy", npy(np.zeros(2, complex)), value=np.dtype(complex)),
    "array of tokens": case("a.npy", np.zeros((2, 3, 4)), option="predictions", value=(2, 3, 4)),
    "array of nothing": case("a.npy", np.zeros(()), option="predictions", value=()),
    "arrays of two lengths": case(
        "a.npz", {"predictions": np.zeros((3, 2)), "label_ids": np.zeros(2)}, value={"predictions": 3, "label_ids": 2}
    ),
    "no zip": case("a.npz", b"PK\x03\x04 and nothing"),
    "no array in the zip": case("a.npz", zipped(predictions=b"text")),
    "many arrays": case("a.npz", zipped(**{f"a{i}": npy(np.zeros(1)) for i in range(101)}), option="limits.members"),
    "three scores": case("a.npy", np.eye(3)[:2] + 0.5, option="label_map"),
    "no label": case("a.csv", "id,prediction\na,maybe\nb,yes\n", option="label_map", value="maybe"),
    "labels of another task": case(
        "a.csv", "id,prediction\n" + "".join(f"{i},l{i}\n" for i in range(9)), option="label_map", value="l0"
    ),
    "a number too high": case("a.csv", "id,prediction\na,0\nb,2\n", option="label_map", value="2"),
    "no columns": case("a.csv", "id\na\n"),
    "semicolons in a .tsv": case("a.tsv", "id;prediction\na;positive\n"),
    "no header": case("a.txt", "positive\nnegative\n"),
    "no id": case("a.csv", "id,prediction\na,positive\n,negative\n", ", row 2", option="id"),
    "NaN id": case("a.parquet", {"id": [1.0, float("nan")], "prediction": ["good"] * 2}, ", row 2", option="id"),
    "NaN ids": case("a.csv", "id,prediction\nNaN,good\nb,good\nnan,good\n", ", row 1", option="id"),
    "two answers": case("a.csv", "id,prediction\na,good\nb,good\na,negative\n", ", rows 1 and 3", value="a"),
    "two answers of a model": case(
        "a.csv", "model,id,prediction\nm,a,good\nm,a,good\nn,a,good\n", ", rows 1 and 2", value="a"
    ),
    "two truths": case(
        "a.csv",
        "model,id,label,prediction\nm,a,good,good\nn,a,negative,good\nn,b,good,good\nm,b,good,good\n",
        option="label",
        value="a",
    ),
    "labels or outcomes": case("a.csv", "id,m,n\na,1,0\nb,0,1\n", option="answers"),
    "two truths by name": case("a.csv", "id,label,gold_label\na,good,good\n", option="prediction"),
    "a score alone": case("a.csv", "id,score\na,0.5\nb,0.25\n", option="answers"),
    "no probabilities": case(
        "a.json", {"columns": list(PAIR), "data": [[0.4, 0.6], [0.2, 0.2]]}, ", row 2", option="answers", value=0.4
    ),
    "no probabilities, said": case(
        "a.csv", "negative,positive\n-1,2\n", ", row 1", option="answers", value=1, answers="probabilities"
    ),
    "inf": case("a.csv", "negative,positive\n0.5,0.5\n-1.5,inf\n", ", row 2"),
    "-inf": case("a.csv", "negative,positive\n0.5,-inf\n", ", row 1", answers="logits"),
    "nothing likely": case("a.csv", "negative,positive\n-inf,-inf\n-1,-2\n", ": 'negative' and 'positive'"),
    "no number": case(
        "a.csv", "negative,positive\n0.5,0.5\n0.4,much\n0.1,0.9\n", ", row 2", option="positive", value="much"
    ),
    "decimal commas": case("a.tsv", "negative\tpositive\n0.5\t0.5\n0,4\t0,6\n0.1\t0.9\n"),
    "a score too high": case(
        "a.csv", "id,p\na,1.5\nb,0.1\n", ", row 1", option="p", value=1.5, answers="probabilities", prediction=("p",)
    ),
    "outcomes beyond 1": case(
        "a.csv",
        "id,score\na,7\nb,0.5\n",
        ", row 1",
        option="score",
        value="7",
        answers="outcomes",
        prediction=("score",),
    ),
    "no outcomes": case("a.csv", "id,prediction\na,good\n", answers="outcomes"),
    "log-likelihood alone": case(
        "a.csv", "id,ll\na,-1.5\nb,-0.1\n", option="ll", answers="log-likelihoods", prediction=("ll",)
    ),
    "swapped columns": case(
        "a.csv", "prediction,p_negative,p_positive\ngood,0.9,0.1\nnegative,0.1,0.9\n", option="prediction"
    ),
    "no cluster": case("a.csv", "id,label,prediction,c\na,good,good,\n", ", row 1", option="c", cluster="c"),
}


def broken(case, folder):
    """The file of a case, its hints, and the fields of the error."""
    name, content, hints, option, value, place = BROKEN[case]
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
    return path, TableHints(**hints), {"option": option, "value": value, "place": f"{path}{place}"}


ASKED = ("labels or outcomes", "two truths by name", "a score alone")


@pytest.mark.more
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_table_is_one_line(case, tmp_path):
    """The line names the file, and what is wrong there; fewer cells than by default are read, to save seconds."""
    path, hints, fields = broken(case, tmp_path)
    with refuses(Question if case in ASKED else DataError, **fields) as caught:
        reading.parse_predictions(reader.read_columns(path, limits=Limits(table_cells=1_000_000)), TASK, hints)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < len(str(path)) + 300


FOREIGN = {
    "ids of others": "id,prediction\nx,good\ny,good\n",
    "texts of others": "text,prediction\nOh.,good\nAh.,good\n",
    "ids alike, texts not": "id,text,prediction\na,Oh.,good\nb,Ah.,good\nc,Eh.,good\n",
    "fewer rows and no keys": "prediction\ngood\n",
}


@pytest.mark.parametrize("case", FOREIGN)
def test_a_table_of_other_rows_is_one_line(case, tmp_path):
    """Ids or texts that match nothing, texts that disagree, rows that nothing tells."""
    path = written(tmp_path / "a.csv", FOREIGN[case])
    with refuses(DataError, place=path):
        join.join(reading.parse_predictions(reader.read_columns(path), TASK, None, ROWS), ROWS)


def bounded(path, most=64 << 20, limits=LIMITS):
    """The option and the place of a file's error, which takes little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(DataError) as caught:
            reader.read_columns(path, limits=limits)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
    return caught.value.option, caught.value.place


def test_a_gzip_bomb_is_refused_by_its_ratio(tmp_path):
    """A hundred kilobytes that unpack to a hundred megabytes, in lines of a table."""
    path = tmp_path / "a.csv.gz"
    line = b"a" * 8_000 + b",good\n"
    path.write_bytes(gzip.compress(b"id,prediction\n") + gzip.compress(line * 1_000) * 13)
    assert bounded(path) == ("limits.ratio", str(path))


def test_a_gzip_bomb_of_json_is_refused(tmp_path):
    """The file is unpacked no further than its budget."""
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"[") + gzip.compress(b" " * (1 << 20)) * 10)
    assert bounded(path, limits=Limits(json=4 << 20)) == ("limits.json", str(path))


def test_a_gzip_bomb_is_refused_before_a_line_is_read(tmp_path, monkeypatch):
    """30 million rows in 120 kilobytes: it is unpacked no further than its ratio, and nothing is made of it."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"id,prediction\n") + gzip.compress(b"a,1\n" * 1_000_000) * 30)
    monkeypatch.setattr("ranker.files.text.lines", None)
    assert bounded(path) == ("limits.ratio", str(path))


def test_a_gzip_file_has_no_more_parts_than_are_read(tmp_path):
    """Of empty parts a small file can have a million."""
    path = tmp_path / "a.csv.gz"
    table = gzip.compress(b"id,prediction\na,good\n")
    path.write_bytes(table + gzip.compress(b"") * 9_999)
    assert reader.read_columns(path).size == 1
    path.write_bytes(table + gzip.compress(b"") * 10_000)
    assert bounded(path) == ("limits.gzip_parts", str(path))


@pytest.mark.parametrize("behind", [b"", b"\0" * 70_000])
def test_parts_of_a_gzip_file_are_read_as_one(tmp_path, behind):
    """A line may go on in the next part, and zeros may fill up the last block."""
    path = tmp_path / "a.csv.gz"
    parts = [b"id,prediction\n", b"a,go", b"", b"od\n" + b"b,bad\n" * 50_000]
    path.write_bytes(b"".join(map(gzip.compress, parts)) + behind)
    columns = reader.read_columns(path)
    assert (columns.size, columns.values("prediction")[:2]) == (50_001, ["good", "bad"])
    path.write_bytes(gzip.compress(parts[0]) + b"nothing of gzip")
    assert bounded(path) == ("", str(path))


def test_a_json_file_has_no_more_values_than_are_read(tmp_path):
    """Values are counted before anything is made of them."""
    path = tmp_path / "a.json"
    path.write_text("[" + "0," * 9_000_000 + "0]")
    assert bounded(path) == ("limits.values", str(path))


def test_a_zip_bomb_is_refused_by_what_it_says_of_itself(tmp_path):
    """An .npz of a hundred kilobytes that unpacks to thirty megabytes: none of it is unpacked."""
    path = tmp_path / "a.npz"
    path.write_bytes(zipped(predictions=npy(np.zeros((1 << 21, 2)))))
    assert bounded(path, 1 << 20) == ("limits.ratio", f"{path}, part 'predictions.npy'")


def test_a_zip_that_lies_about_its_size_is_read_no_further(tmp_path):
    """The size that stands in the directory of the archive is the most that is unpacked."""
    content = zipped(predictions=npy(np.zeros((1 << 16, 2))))
    real = len(npy(np.zeros((1 << 16, 2)))).to_bytes(4, "little")
    path = tmp_path / "a.npz"
    path.write_bytes(content.replace(real, (1_000).to_bytes(4, "little")))
    assert bounded(path, 8 << 20) == ("", f"{path}, part 'predictions.npy'")


def test_json_of_brackets_is_refused_before_it_is_parsed(tmp_path):
    """Each costs 64 bytes in memory, and two in the file."""
    path = written(tmp_path / "a.json", "[" + "[]," * 2_000 + "[]]")
    assert bounded(path, limits=Limits(objects=1_000)) == ("limits.objects", str(path))


@pytest.mark.parametrize("name", ["rows", "cells"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_rows_and_cells_are_counted(tmp_path, name, ending):
    """In text, in Parquet and in arrays."""
    content = {"csv": "a,b\n" + "1,2\n" * 20, "parquet": {"a": [1] * 20, "b": [2] * 20}, "npy": np.zeros((20, 2))}
    path = written(tmp_path / f"a.{ending}", content[ending])
    limit = "parquet_cells" if (name, ending) == ("cells", "parquet") else f"table_{name}"
    assert bounded(path, limits=Limits(**{limit: 10}))[0] == f"limits.{limit}"


def test_a_parquet_of_repeats_is_no_bomb(tmp_path):
    """A long text that stands in every row is kept once."""
    path = written(tmp_path / "a.parquet", {"text": ["a" * 50_000] * 2_000, "prediction": ["good"] * 2_000})
    assert path.stat().st_size < 100_000
    columns = reader.read_columns(path)
    assert columns.size == 2_000
    assert sum(array.nbytes for array in columns.cells.values()) < 1 << 20


def test_links_out_of_the_folder_are_refused(tmp_path):
    """As in the folder of a checkpoint; one within it is followed, and so are those of the hub's cache."""
    away = written(tmp_path / "away.csv", "id,prediction\na,good\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.csv").symlink_to(away)
    with refuses(DataError, place=folder / "a.csv"):
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
    for name in ("pipe", "folder", "round", "none"):
        assert bounded(tmp_path / f"{name}.csv") == ("", str(tmp_path / f"{name}.csv"))


def test_there_are_enough_broken_tables():
    """Fifty at least, and each case says something else."""
    assert len(BROKEN) + len(FOREIGN) >= 50
