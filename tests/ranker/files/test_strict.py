"""Under `--strict` a guess, a dropped row and an unread column are errors; what is plain goes through."""

import pytest
from calling import called

ROWS = ["id,text,label", "r1,A fine day.,good", "r2,A dull day.,bad", "r3,A long day.,bad"]
ANSWERS = ["id,prediction", "r1,good", "r2,bad", "r3,good"]
OTHERS = ["id,prediction", "r1,good", "r2,good", "r3,good"]
WIDE = ["id,label,a,b", "r1,good,good,bad", "r2,bad,bad,bad", "r3,bad,good,bad"]


def saved(folder, **files):
    """Files of lines, by name."""
    for name, lines in files.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def run(folder, *arguments):
    """Ends of a run, plainly and under `--strict`."""
    typed = ["run", *(str(folder / word) if word.endswith(".csv") else word for word in arguments), "-q"]
    return called(*typed, output=folder / "a.json"), called(*typed, "--strict", output=folder / "b.json")


@pytest.mark.more
def test_what_is_plain_goes_through(tmp_path):
    """Rows with ids, and answers that are all labels, joined by ids."""
    saved(tmp_path, rows=ROWS, a=ANSWERS, b=OTHERS)
    plain, strict = run(tmp_path, "--data", "rows.csv", "--models", "a.csv", "b.csv")
    assert (plain.status, strict.status) == (0, 0), strict.message
    assert plain.accuracies == strict.accuracies


@pytest.mark.more
@pytest.mark.parametrize(
    ("files", "arguments", "says"),
    [
        ({"rows": [*ROWS, "r4,Another day.,"]}, ("--data", "rows.csv"), "1 row has no label yet"),
        ({"rows": [line.replace(",", ";") for line in ROWS]}, ("--data", "rows.csv"), "semicolons"),
        ({"a": ["prediction", "good", "bad", "good"]}, ("--data", "rows.csv"), "order alone"),
        ({"wide": [*WIDE, "r4,,good,bad"]}, (), "no true label"),
        ({"wide": [f"{line},{end}" for line, end in zip(WIDE, ("c", "x", "y", "z"), strict=True)]}, (), "not read"),
        ({"wide": [*WIDE[:-1], "r3,bad,perhaps,bad"]}, (), "'perhaps'"),
    ],
)
def test_a_guess_a_dropped_row_and_an_unread_column_are_errors(tmp_path, files, arguments, says):
    """Exit status 2 and a line that says which; without the flag the run goes on."""
    saved(tmp_path, **{"rows": ROWS, "a": ANSWERS, "b": OTHERS, "wide": WIDE, **files})
    models = ("a.csv", "b.csv") if arguments else ("wide.csv", "--truth", "label")
    plain, strict = run(tmp_path, *arguments, "--models", *models)
    assert plain.status == 0, plain.message
    assert (strict.status, strict.json) == (2, {})
    assert "`--strict`: " in strict.message
    assert says in strict.message


def test_a_table_of_results_is_strict_too(tmp_path):
    """Percentages that are told by their size, and a column that is not read."""
    rows = ["model,set,value,seed", "a,x,71,0", "a,y,64,0", "b,x,69,0", "b,y,66,0"]
    saved(tmp_path, table=rows)
    assert called("compare", tmp_path / "table.csv", output=tmp_path / "a.json").status == 0
    strict = called("compare", tmp_path / "table.csv", "--strict", output=tmp_path / "b.json")
    assert strict.status == 2
    assert "Unread columns: seed" in strict.message


def test_a_pool_without_a_text_is_said(tmp_path):
    """`label` drops no row in silence either."""
    saved(tmp_path, pool=["id,text", "r1,A fine day.", "r2,", "r3,A long day."], a=ANSWERS, b=OTHERS)
    pool, *models, out = (tmp_path / f"{name}.csv" for name in ("pool", "a", "b", "out"))
    strict = called("label", "--pool", pool, "--models", *models, "--batch", "1", "--strict", "-o", out)
    assert strict.status == 2
    assert "rows with a blank text are left out: 1" in strict.message
