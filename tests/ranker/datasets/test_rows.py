import gzip

import pytest

from ranker.datasets import rows
from ranker.errors import DataError


def cells(path):
    """The cells of a file's rows."""
    return [dict(row.cells) for row in rows.read_rows(path)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('id,text\n1,"a, b"\n', {"id": "1", "text": "a, b"}),
        ("id\ttext\n1\ta, b\n", {"id": "1", "text": "a, b"}),
        ("a, b\ttext\n1\tx\n", {"a, b": "1", "text": "x"}),
        ("text\na, b\n", {"text": "a, b"}),
    ],
)
def test_a_txt_is_read_by_the_sign_in_its_first_line(tmp_path, content, expected):
    """Tabs, as ever; commas where the line that names the columns has some and no tab."""
    for name, packed in (("a.txt", content.encode()), ("a.txt.gz", gzip.compress(content.encode()))):
        (tmp_path / name).write_bytes(packed)
        assert cells(tmp_path / name) == [expected]


def test_a_key_that_is_there_twice_is_refused(tmp_path):
    """JSON allows it; which value is meant nobody can tell. In objects inside of the row, too."""
    for line in ('{"text": "a", "text": "b"}', '{"text": "a", "marks": {"x": 1, "x": 2}}'):
        (tmp_path / "a.jsonl").write_text(f"{line}\n")
        with pytest.raises(DataError, match=r"a\.jsonl, line 1: no JSON \(the key '(text|x)' is there twice\)"):
            cells(tmp_path / "a.jsonl")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named(tmp_path, encoding):
    """A spreadsheet's "Unicode text"."""
    (tmp_path / "a.csv").write_bytes("id,text\n1,a\n".encode(encoding))
    with pytest.raises(DataError, match=r"a\.csv, line 1: not UTF-8 \(byte 0x[0-9a-f]{2}\); is it UTF-16\?"):
        cells(tmp_path / "a.csv")


def test_what_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path, monkeypatch):
    """Once it is large; a small file of one label may pack as well as that."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"label\n" + b"1\n" * 2_000_000))
    assert sum(1 for _ in rows.read_rows(path)) == 2_000_000
    monkeypatch.setattr(rows, "FREE", 1 << 20)
    with pytest.raises(DataError, match=r"a\.csv\.gz: it unpacks to more than 200 times its size"):
        cells(path)


def test_a_file_is_read_whole_up_to_a_bound(tmp_path):
    """As text, unpacked, without a byte-order mark."""
    for name, packed in (("a.json", "\ufeff[é]".encode()), ("a.json.gz", gzip.compress("\ufeff[é]".encode()))):
        (tmp_path / name).write_bytes(packed)
        assert rows.content(tmp_path / name, 7) == "[é]"
        with pytest.raises(DataError, match=r"more than 6 bytes, the most that is read$"):
            rows.content(tmp_path / name, 6)
    (tmp_path / "b.json").write_bytes(b"[\xe9]")
    with pytest.raises(DataError, match=r"b\.json: not UTF-8 \(byte 0xe9\)"):
        rows.content(tmp_path / "b.json", 100)
    with pytest.raises(DataError, match=r"c\.json cannot be read: No such file"):
        rows.content(tmp_path / "c.json", 100)
