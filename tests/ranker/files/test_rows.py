import gzip
import json

import pytest
from refusals import refuses

from ranker import limits
from ranker.errors import DataError
from ranker.files import reader, text
from ranker.files.collect import BLOCK
from ranker.limits import Limits


def cells(path):
    """The cells of a file's rows."""
    return [dict(row.cells) for row in reader.read_columns(path).rows()]


@pytest.mark.parametrize(("content", "expected"), [
    ('id,text\n1,"a, b"\n', {"id": "1", "text": "a, b"}), ("id\ttext\n1\ta, b\n", {"id": "1", "text": "a, b"}),
    ("a, b\ttext\n1\tx\n", {"a, b": "1", "text": "x"}), ("text\na, b\n", {"text": "a, b"}),
])  # fmt: skip
def test_a_txt_is_read_by_the_sign_in_its_first_line(tmp_path, content, expected):
    """Tabs, as ever; commas where the line that names the columns has some and no tab."""
    for name, packed in (("a.txt", content.encode()), ("a.txt.gz", gzip.compress(content.encode()))):
        (tmp_path / name).write_bytes(packed)
        assert cells(tmp_path / name) == [expected]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.tsv", '"id"\t"text"\n"1"\t"a"\t"b ""c"""\n"2"\t"d"\t""\n', [["1", "a", 'b "c"'], ["2", "d", None]]),
        ("a.csv", '"id","text"\n"1","a","b"\n', [["1", "a", "b"]]),
        ("a.csv", "\ufeffsep=;\r\nid;text\r\na;b,c\r\n", [["a", "b,c"]]),
        ("a.tsv", 'id\ttext\tlabel\n\t"one\ntwo"\tgood\n', [[None, "one\ntwo", "good"]]),
        ("a.tsv", '"\na\n', [["a"]]),
    ],
    ids=["R by tabs", "R by commas", "Excel's first line", "a line end in quotes", "a column named by a quote"],
)
def test_quotes_and_names_of_rows_are_read_as_programs_write_them(tmp_path, name, content, expected):
    """R writes a name before each row and none above it."""
    (tmp_path / name).write_bytes(content.encode())
    assert [list(row.values()) for row in cells(tmp_path / name)] == expected


def test_a_key_that_is_there_twice_is_refused(tmp_path):
    """Nobody can tell which value is meant, in the row or in objects inside of it."""
    for line in ('{"text": "a", "text": "b"}', '{"text": "a", "marks": {"x": 1, "x": 2}}'):
        (tmp_path / "a.jsonl").write_text(f"{line}\n")
        with refuses(DataError, place=f"{tmp_path}/a.jsonl, line 1"):
            cells(tmp_path / "a.jsonl")


TEXT = "id;text\r\n1;caf\xe9\u2028 \u20ac\n2;b\n"
CELLS = [{"id": "1", "text": "caf\xe9\u2028 \u20ac"}, {"id": "2", "text": "b"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("declared", ["", "cp1252", "utf-16-be"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_says_its_encoding_is_read_by_that(tmp_path, encoding, declared, packed):
    """A spreadsheet's "Unicode text", by its mark; UTF-8 by its bytes, whatever is said of other files."""
    raw, path = TEXT.encode(encoding), tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(raw) if packed else raw)
    assert [dict(row.cells) for row in reader.read_columns(path, declared).rows()] == CELLS
    assert [row.place.rpartition(", ")[2] for row in reader.read_columns(path, declared).rows()] == ["line 2", "line 3"]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le", "utf-16-be", "mac-roman"])
def test_another_encoding_is_read_where_it_is_said(tmp_path, encoding):
    """Without, the message names the line to type; with a wrong one, it says that, too."""
    (tmp_path / "a.csv").write_bytes(TEXT.replace("\u2028", "").encode(encoding))
    rows = [dict(row.cells) for row in reader.read_columns(tmp_path / "a.csv", encoding).rows()]
    assert rows == [{"id": "1", "text": "caf\xe9 \u20ac"}, CELLS[1]]
    line = "encoding=utf-16-le" if encoding.startswith("utf-16") else "encoding=cp1252"
    with refuses(DataError, option="encoding") as stop:
        cells(tmp_path / "a.csv")
    assert line in str(stop.value)
    (tmp_path / "b.csv").write_bytes(b"id,text\n1,\x81\n")
    with refuses(DataError, place=tmp_path / "b.csv"):
        list(reader.read_columns(tmp_path / "b.csv", "cp1252").rows())


@pytest.mark.parametrize(("sign", "called"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars"), (",", "")])
def test_the_sign_between_cells_is_told_by_the_first_line(tmp_path, sign, called, caplog):
    """And said where it is no comma; quotes hold all of them, and a cell too many is told as ever."""
    path = tmp_path / "a.csv"
    path.write_text(f'id{sign}"te,x;t|"\n1{sign}"a{sign}b"\n')
    assert [dict(row.cells) for row in reader.read_columns(path).rows()] == [{"id": "1", "te,x;t|": f"a{sign}b"}]
    assert caplog.messages == ([f"{path}: read with {called} between its cells"] if called else [])
    path.write_text(f"id{sign}text\n1{sign}a{sign}b\n")
    with refuses(DataError, value=3, place=f"{path}, line 2"):
        cells(path)


def test_a_file_in_another_encoding_is_bounded_as_any(tmp_path):
    """Lines and the whole, by their bytes as UTF-8; and what is packed too well."""
    (tmp_path / "a.csv").write_bytes(("text\n" + "\u20ac" * 50).encode("utf-16"))
    with refuses(DataError, option="limits.line", place=f"{tmp_path}/a.csv, line 2"):
        list(reader.read_columns(tmp_path / "a.csv", limits=Limits(line=100)).rows())
    with refuses(DataError, option="limits.file", place=f"{tmp_path}/a.csv, line 2"):
        list(text.lines(tmp_path / "a.csv", "cp1252", Limits(file=50)))
    (tmp_path / "b.csv").write_bytes(b"text\n" + b"\xe9" * 60)
    with refuses(DataError, option="limits.file", place=tmp_path / "b.csv"):
        list(reader.read_columns(tmp_path / "b.csv", "cp1252", Limits(file=50)).rows())


@pytest.mark.more
def test_what_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path, monkeypatch):
    """Once it is large; a small file of one label may pack as well as that."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"label\n" + b"1\n" * 600_000))
    assert reader.read_columns(path).size == 600_000
    monkeypatch.setattr(limits, "FREE", 1 << 20)
    with refuses(DataError, option="limits.ratio", place=path):
        reader.read_columns(path)


def test_a_file_is_read_whole_up_to_a_bound(tmp_path):
    """As text, unpacked, without a byte-order mark."""
    for name, packed in (("a.json", "\ufeff[é]".encode()), ("a.json.gz", gzip.compress("\ufeff[é]".encode()))):
        (tmp_path / name).write_bytes(packed)
        assert text.content(tmp_path / name, limits=Limits(json=7)) == "[é]"
        with refuses(DataError, option="limits.json"):
            text.content(tmp_path / name, limits=Limits(json=6))
    (tmp_path / "b.json").write_bytes(b"[\xe9]")
    with refuses(DataError, place=tmp_path / "b.json"):
        text.content(tmp_path / "b.json")
    with refuses(DataError, place=tmp_path / "c.json"):
        text.content(tmp_path / "c.json")


def test_empty_columns_at_the_end_of_a_sheet_are_ignored(tmp_path):
    """A spreadsheet writes columns that were once in use; one that holds a cell is not ignored."""
    file = tmp_path / "sheet.csv"
    file.write_text("text,label,,\na,x,,\nb,y,,\n,,,\n")
    assert cells(file) == [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}]
    file.write_text("text,label,,\na,x,,\nb,y,,note\n")
    with refuses(DataError, place=f"{file}, line 3"):
        cells(file)


@pytest.mark.parametrize("rows", [[[1, 0], None, [1]], [None, ["a", "b"]], [{"x": 1, "y": None}, None], ["a", [1, 2]]])
def test_a_list_keeps_its_place_beside_other_cells(tmp_path, rows):
    """A null, or a text, in one row of a column takes nothing from the lists and objects of the others."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"id": n, "cell": cell}) + "\n" for n, cell in enumerate(rows)))
    assert [row["cell"] for row in cells(path)] == rows


def test_objects_with_half_of_a_character_are_read_as_they_are_written(tmp_path):
    """In each block of rows that has one, and in those before and after: an object is one value with all its parts."""
    marks = [{"x": "q", "y": 1}, {"x": "\ud800", "y": "\udfff"}, {"x": "z", "y": 2}]
    rows = [{"text": "a", "marks": row_marks} for row_marks in marks for _ in range(BLOCK + 1)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    held = reader.read_columns(file)
    assert (held.unread, list(held.cells), held.groups) == ({"marks": "half of a character"}, ["text"], {})
    assert [row.cells for row in held.rows()] == rows
