"""CoNLL files: rows do not depend on how a file is cut into pieces, and are those of a loop over lines."""

import random

import pytest

from ranker.errors import DataError
from ranker.files import text
from ranker.files.conll import by_tokens
from ranker.limits import Limits

LINES = ("a\tO", "b\tB-PER", "c\tI-PER", "é\tO", "d O", "  e\tO ", "f g\tO", "# id 1", "#tag\tO", "-DOCSTART-\tO")
BLANK = ("", " ", "\t", "\u00a0")


def by_loop(content):
    """Yield rows of lines of two cells, one line at a time."""
    first, row = 0, []
    for number, line in enumerate([*content.split("\n"), ""], 1):
        raw = line.strip().split("\t") if "\t" in line.strip() else line.split()
        cells = [cell.strip().replace(" ", "\u00a0") for cell in raw]
        if cells and not line.startswith("# ") and cells[0] != "-DOCSTART-":
            first, row = first or number, [*row, cells]
        if not cells and row:
            tokens, tags = zip(*row, strict=True)
            yield first, {"text": " ".join(tokens), "tags": " ".join(tags)}
        if not cells:
            first, row = 0, []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_rows_are_those_of_a_loop_over_lines(tmp_path, monkeypatch, size, end):
    """Plain blocks, others, comments and blank lines of all kinds, read in pieces of any size."""
    monkeypatch.setattr(text, "BLOCK", size)
    rng, path = random.Random(size), tmp_path / "rows.conll"
    for _ in range(60):
        lines = rng.choices((*LINES, *BLANK * 2), k=rng.randint(1, 30))
        path.write_bytes(end.join(lines).encode() + end.encode() * rng.randint(0, 2))
        assert list(by_tokens(path)) == list(by_loop("\n".join(lines)))


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_errors_name_their_line_whatever_the_pieces(tmp_path, monkeypatch, size):
    """Lines before the wrong one are read; a byte that is no text, a long line, a large file and a long row."""
    monkeypatch.setattr(text, "BLOCK", size)
    path = tmp_path / "rows.conll"
    path.write_bytes(b"a\tO\n\nb\tO\nc\xff\tO\n")
    rows = by_tokens(path)
    if size == 1:
        assert next(rows) == (1, {"text": "a", "tags": "O"})
    with pytest.raises(DataError, match="line 4: not UTF-8"):
        list(rows)
    path.write_bytes(b"a\tO\n\nb\tO\nccccccccc\tO\nd\tO\n")
    for limits, place in ((Limits(line=8), 4), (Limits(file=12), 4), (Limits(list=2), 3)):
        with pytest.raises(DataError, match=f"line {place}: more than"):
            list(by_tokens(path, limits=limits))
