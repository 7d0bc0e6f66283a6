"""Decimal commas in files with semicolons between their cells."""

import pytest

from ranker.files.draws import Draw
from ranker.files.reader import read_columns
from ranker.limits import LIMITS


def cells(tmp_path, *column, sign=";"):
    """Write one column of numbers beside one of texts, and return how it is read."""
    file = tmp_path / "sheet.csv"
    rows = [f"text{sign}value", *(f"Row {n}.{sign}{cell}" for n, cell in enumerate(column))]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8-sig")
    return read_columns(file, limits=LIMITS).cells["value"].to_pylist()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (("0,25", "1", "", "-2,5"), ["0.25", "1", None, "-2.5"]),
        (("1,5E-05", "12,5 %"), ["1.5E-05", "12.5 %"]),
        (("1,234", "0,5"), ["1.234", "0.5"]),
    ],
)
def test_decimal_commas_are_read_as_points(tmp_path, caplog, column, expected):
    """In a column of nothing but numbers, and a note names it."""
    assert cells(tmp_path, *column) == expected
    (note,) = (line for line in caplog.messages if "decimal points" in line)
    assert note.endswith("sheet.csv: the commas in the numbers of 'value' are read as decimal points")


@pytest.mark.parametrize(
    "column", [("1,234", "12,500"), ("0,5", "0.5"), ("0,5", "no"), ("1,2,3", "4"), ("yes, both", "no")]
)
def test_other_commas_stay(tmp_path, caplog, column):
    """Commas stay that may separate thousands, and those of a column that holds other cells."""
    assert cells(tmp_path, *column) == [*column]
    assert not [line for line in caplog.messages if "decimal points" in line]


def test_commas_between_cells_leave_no_decimal_commas(tmp_path):
    """A file by commas quotes such a number, and it stays for the reader of numbers to refuse."""
    assert cells(tmp_path, '"0,5"', "1", sign=",") == ["0,5", "1"]


def test_many_different_numbers_are_read_like_few(tmp_path):
    """A column that is not dictionary-encoded, since its cells hardly repeat."""
    assert cells(tmp_path, *(f"{n},5" for n in range(3000))) == [f"{n}.5" for n in range(3000)]


@pytest.mark.parametrize("most", [2, 100])
def test_a_pool_has_points_like_any_file(tmp_path, most):
    """Drawn rows have points as all rows have."""
    path = tmp_path / "pool.csv"
    path.write_text("id;score\n" + "".join(f"q{n};{n},5\n" for n in range(20)))
    drawn, columns = read_columns(path, draw=Draw(most)), read_columns(path)
    of_id = dict(zip(columns.values("id"), columns.values("score"), strict=True))
    assert of_id["q3"] == "3.5"
    assert [of_id[name] for name in drawn.values("id")] == drawn.values("score")


def test_a_text_file_with_semicolons_is_read_like_a_csv(tmp_path):
    """Numbers have points, with and without a line of names that are words."""
    for name, first_line in (("a.txt", "id;value"), ("b.csv", "x;0,5")):
        file = tmp_path / name
        file.write_text(f"{first_line}\nr1;0,25\nr2;1,5\n")
        assert [list(row.cells.values())[1] for row in read_columns(file).rows()] == ["0.25", "1.5"]
