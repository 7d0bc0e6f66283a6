import gzip

import numpy as np
import pandas as pd
import pytest
from refusals import refuses

from ranker.domains import values
from ranker.domains.compare import compare
from ranker.errors import Assumption, DataError, UnknownName, UsageError

HEAD = "model,set,value,se,n,group,kind\n"


def table(tmp_path, text, name="table.csv", **options):
    """Read a table from a file."""
    path = tmp_path / name
    path.write_text(text)
    return values.read_values([path], **options)


def test_a_whole_table(tmp_path):
    """Every column, in the order of the file; what is missing is nan."""
    text = "a,x1,0.5,0.01,,x,ood\na,x0,0.9,,100,x,in-domain\nb,x1,0.25,,16,x,ood\nb,y1,0.75,,,y,\n"
    values_read = table(tmp_path, HEAD + text)
    assert values_read.models == ("a", "b")
    assert [(str(values_of_set), values_of_set.kind) for values_of_set in values_read.sets] == [
        ("x: x1", "ood"),
        ("x: x0", "in-domain"),
        ("y: y1", "ood"),
    ]
    assert values_read.values == pytest.approx(np.array([[0.5, 0.9, np.nan], [0.25, np.nan, 0.75]]), nan_ok=True)
    assert values_read.tasks == ("x", "y")
    assert values_read.places("x", "in-domain") == [1]
    assert values_read.places("y", "in-domain") == []


def test_errors_are_those_stated_or_the_most_that_a_mean_can_have(tmp_path):
    """`se` where it is there; of n outcomes in [0, 1] with mean v at most sqrt(v (1 - v) / n)."""
    values_read = table(tmp_path, HEAD + "a,x,0.5,0.01,4,,\nb,x,0.25,,12,,\na,y,0.5,,,,\nb,y,-0.2,,9,,\n")
    assert values_read.errors == pytest.approx(np.array([[0.01, np.nan], [0.125, np.nan]]), nan_ok=True)


def test_an_in_domain_set_without_a_group_belongs_to_all(tmp_path):
    """As in a table of one in-domain set and many others."""
    values_read = table(
        tmp_path, "model,set,value,kind\na,id,0.9,in-domain\nb,id,0.8,in-domain\na,x,0.5,\nb,y,0.4,ood\n"
    )
    assert values_read.tasks == ("x", "y")
    assert values_read.places("x", "in-domain") == values_read.places("y", "in-domain") == [0]


def test_percentages_are_known_where_nothing_else_can_be_meant(tmp_path):
    """All above 1 or 0: percentages, and it is said; their errors are divided, too."""
    values_read = table(tmp_path, "model,set,value,se\na,x,50,2\nb,x,0,1\n")
    assert values_read.values.tolist() == [[0.5], [0.0]]
    assert values_read.errors.tolist() == [[0.02], [0.01]]
    assert values_read.notes == ("All values are above 1, or 0: they are read as percentages.",)
    assert table(tmp_path, "model,set,value\na,x,50\nb,x,0.5\n", percent=True).values[1, 0] == 0.005
    assert table(tmp_path, "model,set,value\na,x,1\nb,x,0.5\n").values.tolist() == [[1.0], [0.5]]


def test_cells_that_hold_nothing(tmp_path):
    """As published tables write it, and data frames."""
    values_read = table(tmp_path, "model,set,value\na,x,-\na,y,0.5\nb,x,NA\nb,y,\nc,x,0.1\nc,y,nan\n")
    assert np.isnan(values_read.values).tolist() == [[True, False], [True, True], [False, True]]


def test_files_data_frames_and_rows_say_the_same(tmp_path):
    """A CSV, the same packed, as tabs, as JSON lines, as a data frame."""
    frame = pd.DataFrame({"model": ["a", "b"], "set": ["x", "x"], "value": [0.5, None], "group": [None, "g"]})
    frame.loc[1, "value"] = 0.25
    frame["group"] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    frame.to_csv(tmp_path / "c.tsv", index=False, sep="\t")
    frame.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
    tables = [values.read_values([tmp_path / name]) for name in ("a.csv", "b.csv.gz", "c.tsv", "d.jsonl")]
    tables += [values.read_values([frame]), values.read_values([frame.to_dict("records")])]
    assert {(table_read.models, table_read.sets, table_read.values.tobytes()) for table_read in tables} == {
        (("a", "b"), (values.Set("x", "x", "ood"),), np.array([[0.5], [0.25]]).tobytes())
    }


def test_several_files_are_one_table(tmp_path):
    """A file for each model, say."""
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"model,set,value\n{name},x,0.5\n")
    assert values.read_values([tmp_path / "a.csv", tmp_path / "b.csv"]).models == ("a", "b")


def test_columns_that_are_not_read_are_named(tmp_path):
    """So that a misspelt one is seen."""
    assert table(tmp_path, "model,set,value,grp\na,x,0.5,g\nb,x,0.5,g\n").notes == ("Unread columns: grp.",)


def test_checkpoints_of_one_run_are_no_models_of_their_own(tmp_path):
    """A note says so if there are trends; a run of one model, and rows that name none, are as ever."""
    head, rows = "model,set,value,kind,run\n", "a,x,0.5,ood,r\nb,x,0.5,ood,r\nc,x,0.5,ood,s\nd,x,0.5,ood,\n"
    assert table(tmp_path, head + rows).notes == ()
    assert table(tmp_path, f"{head}{rows}a,home,0.5,in-domain,r\n").notes == (
        "2 models are checkpoints of 1 training run (r): trends count each as a separate model, so they are too sure.",
    )


@pytest.mark.parametrize(
    ("text", "error", "option", "value", "place"),
    [
        ("model,value\na,0.5\n", DataError, "", "set", "table.csv, line 2"),
        ("model,set,value\na,,0.5\n", DataError, "set", None, "table.csv, line 2"),
        ("model,set,value\na,x,good\n", DataError, "value", "good", "table.csv, line 2"),
        ("model,set,value\na,x,inf\n", DataError, "value", "inf", "table.csv, line 2"),
        (HEAD + "a,x,0.5,-1,,,\n", DataError, "se", -1.0, "table.csv, line 2"),
        (HEAD + "a,x,0.5,1e308,,,\n", DataError, "se", 1e308, "table.csv, line 2"),
        ("model,set,value\na,x," + "9x" * 9_000 + "\n", DataError, "value", "9x" * 9_000, "table.csv, line 2"),
        (HEAD + "a,x,0.5,,0,,\n", DataError, "n", 0.0, "table.csv, line 2"),
        (HEAD + "a,x,0.5,,,,odd\n", DataError, "kind", "odd", "table.csv, line 2"),
        (HEAD + "a,x,0.5,,,g,\na,y,0.5,,,g,\na,x,0.4,,,g,\n", DataError, "", "a", "table.csv, line 4"),
        (HEAD + "a,x,0.5,,,g,\nb,x,0.5,,,g,in-domain\n", DataError, "", "in-domain", "table.csv, line 3"),
        ("model,set,value,run\na,x,0.5,r\na,y,0.5,s\n", DataError, "", "s", "table.csv, line 3"),
        ("model,set,value\n", DataError, "", None, "table.csv"),
        ("model,set,value\na,x,0.91\nb,x,88.4\n", DataError, "percent", 88.4, "table.csv, line 3"),
        ("model,set,value\na,x,910\nb,x,0.5\n", DataError, "", 910.0, "table.csv, line 2"),
        (HEAD + "a,x,0.9,,,,in-domain\nb,x,0.5,,,,in-domain\n", UsageError, "", None, ""),
        ("model,x,y\na,0.5,good\nb,0.5,0.6\n", DataError, "value", "good", "table.csv, line 2, column 'y'"),
        ("model,x,n\na,0.5,10\n", DataError, "n", "n", "table.csv, line 2"),
        ("model,note\na,fine\n", DataError, "", "set", "table.csv, line 2"),
        ("model,x\na,0.5\na,0.6\n", DataError, "", "a", "table.csv, line 3, column 'x'"),
    ],
)
def test_what_cannot_be_right_is_refused(tmp_path, text, error, option, value, place):
    """The file and the line are named, of a long table and of a wide one."""
    with refuses(error, option=option, value=value, place=place and tmp_path / place):
        table(tmp_path, text)


def test_a_table_of_very_many_models_or_sets_is_refused():
    """Before an array is made of it."""
    for column in ("model", "set"):
        rows = [
            {"model": "a", "set": "x", "value": 0.5} | {column: f"n{n}"} for n in range(values.MAX_MODELS_OR_SETS + 1)
        ]
        with refuses(DataError, value=2001):
            values.read_values([rows])


def test_inputs_that_are_no_table_are_refused():
    """A number, a list of numbers, rows without cells; and a table of one model is not compared."""
    for wrong in (3, [1, 2]):
        with refuses(UsageError, value="int"):
            values.read_values([wrong])
    with refuses(DataError, value="model", place="row 1"):
        values.read_values([[{}]])
    with refuses(UsageError, value=1):
        compare([{"model": "a", "set": "x", "value": 0.9}, {"model": "a", "set": "y", "value": 0.5}])


def test_columns_may_be_in_any_case(tmp_path):
    """As a spreadsheet has them; names in cells and unread columns keep theirs."""
    values_read = table(tmp_path, " Model,SET,Value,N,Grp\nA,X,0.5,4,g\nb,X,0.5,4,g\n")
    assert (values_read.models, values_read.sets[0].name, values_read.errors[0, 0]) == (("A", "b"), "X", 0.25)
    assert values_read.notes == ("Unread columns: Grp.",)
    with refuses(DataError, value="model", place=tmp_path / "table.csv, line 2"):
        table(tmp_path, "model,Model,set,value\na,a,x,0.5\n")


WIDE = """Model,Type,qa: x,qa: y,qa: home (in-domain),z,z (in-domain),Average
a,small,50,60,90,-,70,55
b,large,51,61,91,41,71,56
"""


def test_a_wide_table_is_the_long_table_of_its_cells(tmp_path):
    """Heads give task and kind; an in-domain set has the task of its name, and a column of averages is no set."""
    long = ["model,set,value,group,kind"]
    for model, first in (("a", "-"), ("b", "41")):
        step = 0 if model == "a" else 1
        long += [f"{model},{name},{value + step},qa,ood" for name, value in (("x", 50), ("y", 60))]
        long += [f"{model},home (in-domain),{90 + step},qa,in-domain", f"{model},z,{first},,ood"]
        long += [f"{model},z (in-domain),{70 + step},z,in-domain"]
    values_read, wanted = table(tmp_path, WIDE), table(tmp_path, "\n".join(long) + "\n")
    assert (values_read.models, values_read.sets) == (wanted.models, wanted.sets)
    assert values_read.values == pytest.approx(wanted.values, nan_ok=True)
    sets = "qa: x, qa: y, qa: home (in-domain), z, z (in-domain)"
    assert values_read.notes[:2] == (
        f"Each column but the model is read as a set: {sets}.",
        "Unread columns: Type, Average.",
    )
    assert isinstance(values_read.notes[1], Assumption)


def test_in_domain_sets_of_a_level_belong_to_its_tasks(tmp_path):
    """And a set has one level in all its rows."""
    head = "model,set,value,kind,level\n"
    rows = "a,news,0.9,in-domain,genre\na,web,0.8,in-domain,\na,x,0.5,,genre\na,y,0.5,,style\na,w,0.5,,\n"
    values_read = table(tmp_path, head + rows)
    assert values_read.levels == ("genre", "style")
    assert [values_read.places(task, "in-domain") for task in "xyw"] == [[0], [1], [1]]
    assert [scored.name for scored in values_read.at_level("Genre").sets] == ["news", "web", "x"]
    with refuses(UnknownName, value="topic"):
        values_read.at_level("topic")
    with refuses(DataError, value="style", place=tmp_path / "table.csv, line 3"):
        table(tmp_path, head + "a,x,0.5,,genre\nb,x,0.5,,style\n")


def test_values_of_any_size_may_be_better_if_lower(tmp_path):
    """Perplexities above 100 are refused as fractions, and read if lower ones are better."""
    text = "model,set,value\na,x,250\nb,x,31.5\n"
    with refuses(DataError, value=250.0):
        table(tmp_path, text)
    assert table(tmp_path, text, lower_is_better=True).values.tolist() == [[-2.5], [-0.315]]


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        (["model,qa,nli", "a,81.2%,55%", "b,83%,57%"], "line 2: the column 'qa'"),
        (["model,size,qa,nli", "a,7B,.5,55.1 ± 2", "b,13B,.6,52.1"], "line 2, column 'nli'"),
        (["model,qa,nli", "a,.5,.6", "b,.5,0.6*"], "line 3, column 'nli'"),
        (["model,elo,nli", "a,1250,.6", "b,1301,.5"], "line 3, column 'elo'"),
        (["model,qa,nli", "a,8.9,.6", "b,8.1,.5"], "line 2, column 'qa'"),
    ],
)
def test_a_cell_that_is_no_value_is_named_by_its_column(tmp_path, rows, place):
    """Of a wide table, the line and the column are named."""
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{row}\n" for row in rows))
    with pytest.raises(DataError) as stop:
        values.read_values([path])
    assert f"a.csv, {place}" in str(stop.value)
