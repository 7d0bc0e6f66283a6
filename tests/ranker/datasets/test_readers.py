import gzip
import json

import pyarrow as pa
import pytest
from named_rows import NamedRows
from pyarrow import parquet
from refusals import refuses

from factors import Span
from ranker import labelled
from ranker.datasets.readers import examples, no_marks, read_sheet
from ranker.errors import DataError, UsageError
from ranker.files.reader import ENDINGS
from ranker.limits import Limits
from ranker.tasks.classes import ClassificationTask

NLI = ClassificationTask("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral", "contradiction")})
GOOD = {"premise": "The actor ran.", "hypothesis": "An actor ran.", "label": "entailment"}
TABLE = "premise,hypothesis,label\nThe actor ran.,An actor ran.,entailment\n"


@pytest.fixture
def read_as(tmp_path):
    """Writes a file and reads it: (name, content, ...) -> examples."""

    def write_and_read(name, content, columns=None, marker=no_marks):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        sheet = read_sheet(path, columns)
        return tuple(examples(sheet.rows, NLI, sheet.layout, marker))

    return write_and_read


def lines(*rows):
    """Rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def columnar(*rows, names=None, **columns):
    """Rows as Parquet; columns may be given ready, and names to the label numbers, as `datasets` writes them."""
    table = pa.Table.from_pylist(list(rows)) if rows else pa.table(columns)
    if names:
        features = {"label": {"names": names, "_type": "ClassLabel"}}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", lines(GOOD)),
        ("a.jsonl", lines(GOOD).rstrip()),
        ("a.csv", TABLE),
        ("a.csv", TABLE.replace("\n", "\r\n") + "\r\n"),
        ("a.tsv", TABLE.replace(",", "\t")),
        ("a.txt", TABLE.replace(",", "\t")),
        ("a.csv.gz", gzip.compress(TABLE.encode(), mtime=0)),
        ("a.csv.gz", TABLE),
        ("a.csv", TABLE.replace("label\n", "label\n\n") + "\n"),
        ("a.jsonl", "\n" + lines(GOOD) + "\n"),
        ("a.csv", "sep=,\n" + TABLE),
        ("a.tsv", b"\xef\xbb\xbf" + TABLE.replace(",", "\t").encode()),
        ("a.jsonl", lines({"segments": ["The actor ran.", "An actor ran."], "label": 1})),
        ("a.csv", TABLE.replace("entailment", "1")),
        ("a.jsonl", lines({"sentence1": "The actor ran.", "sentence2": "An actor ran.", "gold_label": "Entailment"})),
        ("a.jsonl", lines({**GOOD, "label": True})),
        ("a.parquet", columnar(GOOD)),
        ("a.parquet", columnar({"segments": ["The actor ran.", "An actor ran."], "label": 1})),
        ("a.parquet", columnar({**GOOD, "label": True})),
        ("a.parquet", columnar({**GOOD, "label": 0}, names=["entailment", "non-entailment"])),
        ("a.parquet", columnar(**{column: pa.array([cell]).dictionary_encode() for column, cell in GOOD.items()})),
    ],
)
def test_one_row_in_every_form_is_the_same_example(read_as, name, content):
    """Kind of file, ends of lines, compression, a byte order mark, column names and forms of labels do not matter."""
    (example,) = read_as(name, content)
    assert (example.id, example.segments, example.target) == ("1", ("The actor ran.", "An actor ran."), 1)
    assert example.marks == {}


def test_a_sentence_of_its_own_is_as_good_as_a_pair(read_as):
    """One text column makes one segment."""
    assert read_as("a.csv", "sentence,label\nIt rained.,0\n")[0].segments == ("It rained.",)


def test_quotes_are_read_in_a_csv_alone(read_as):
    """A quoted cell may hold anything (RFC 4180); in a TSV, as in HANS, a quote is a character like another."""
    rows = read_as("a.csv", 'text,label\n"He said, ""go"",\nand went.",0\nIt rained.,1\n')
    assert [example.segments[0] for example in rows] == ['He said, "go",\nand went.', "It rained."]
    assert read_as("a.tsv", 'text\tlabel\n"Go" he said.\t0\n')[0].segments == ('"Go" he said.',)


def test_a_file_of_usual_names_needs_no_others(read_as):
    """A run may read several files, of which one has columns of its own; a part of them is not enough."""
    columns = {"text": ["vorher", "nachher"], "label": ["gold"]}
    (example,) = read_as("a.jsonl", lines(GOOD), columns=columns)
    assert example.segments == (GOOD["premise"], GOOD["hypothesis"])
    with refuses(DataError, option="vorher"):
        read_as("b.jsonl", lines({**GOOD, "gold": 1}), columns=columns)


@pytest.mark.parametrize(
    "header", ["Premise,Hypothesis,Label", " premise,HYPOTHESIS ,gold_label", "Text_A,text_b,Target"]
)
def test_usual_names_are_usual_in_any_case(read_as, header):
    """As spreadsheets write them."""
    (example,) = read_as("a.csv", f"{header}\nThe actor ran.,An actor ran.,entailment\n")
    assert (example.segments, example.target) == (("The actor ran.", "An actor ran."), 1)


@pytest.mark.parametrize("pair", ["question,sentence", "question,passage", "text,text_pair", "sentence,question"])
def test_no_half_of_a_pair_is_left_out(read_as, pair):
    """Columns that are a text each by themselves are a pair side by side."""
    (example,) = read_as("a.csv", f"id,{pair},label\n1,A.,B.,1\n")
    assert sorted(example.segments) == ["A.", "B."]


def test_columns_can_be_named(read_as):
    """Named columns are taken, others found by the usual names; the case decides between two."""
    rows = lines({"vorher": "a b", "nachher": "b a", "premise": "x", "hypothesis": "y", "gold": "neutral", "id": 17})
    (example,) = read_as("a.jsonl", rows, columns={"text": ["vorher", "nachher"], "label": ["gold"]})
    assert (example.id, example.segments, example.target) == ("17", ("a b", "b a"), 0)
    assert read_as("a.csv", "Label,label,text\n0,1,A.\n")[0].target == 1


@pytest.mark.parametrize("label", ["neutral", "CONTRADICTION", "non_entailment", 0, 0.0, "0", "0.0", False])
def test_a_label_is_a_name_an_alias_or_a_number(read_as, label):
    """All of these are class 0."""
    assert read_as("a.jsonl", lines({**GOOD, "label": label}))[0].target == 0


def test_rows_may_bring_marks(read_as):
    """Marks are a name -> list of [segment, start, end]; in a table as JSON, in Parquet empty where a row has none."""
    marks = {"control": [[0, 4, 9], [1, 0, 2]]}
    expected = {"control": (Span(0, 4, 9), Span(1, 0, 2))}
    assert read_as("a.jsonl", lines({**GOOD, "marks": marks}))[0].marks == expected
    table = f"premise\thypothesis\tlabel\tmarks\nThe actor ran.\tAn actor ran.\t1\t{json.dumps(marks)}\n"
    assert read_as("a.tsv", table)[0].marks == expected
    first, second = {"x": [[0, 4, 9]]}, {"y": [[1, 0, 2]]}
    rows = read_as("a.parquet", columnar({**GOOD, "marks": first}, {**GOOD, "id": 2, "marks": second}))
    assert [set(example.marks) for example in rows] == [{"x"}, {"y"}]


def of_names(features):
    """A Parquet file that says this of its columns."""
    table = parquet.read_table(pa.BufferReader(columnar({**GOOD, "label": 1})))
    sink = pa.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata({"huggingface": features}), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("features", ["[]", "{}", '{"info": {"features": {"label": {"names": 5}}}}'])
def test_what_does_not_name_labels_says_nothing(read_as, features):
    """Then numbers are read in the order of the task."""
    assert [row.target for row in read_as("a.parquet", of_names(features))] == [1]


def test_a_rows_own_marks_win_over_a_rules(read_as):
    """A rule marks what the row leaves open."""
    rows = lines({**GOOD, "marks": {"feature": [[0, 4, 9]]}}, GOOD)
    examples = read_as("a.jsonl", rows, marker=lambda segments, row: {"feature": (Span(0, 0, 3),)})
    assert [example.marks["feature"] for example in examples] == [(Span(0, 4, 9),), (Span(0, 0, 3),)]


LONG = "a" * (10 << 20)
DEEP = "[" * 100_000

WRONG = [
    ("a.jsonl", lines(GOOD) + "{'premise': 1}\n", '', None, "a.jsonl, line 2"),
    ("a.jsonl", lines(GOOD) + DEEP + "\n", '', None, "a.jsonl, line 2"),
    ("a.jsonl", lines(GOOD) + "[1]\n", '', '[1]', "a.jsonl, line 2"),
    ("a.jsonl", lines(GOOD, {**GOOD, "label": None}), 'label', None, "a.jsonl, line 2"),
    ("a.jsonl", lines({**GOOD, "label": "LABEL_1"}), 'label', 'LABEL_1', "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "label": -1}), 'label', -1, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "label": 10**400}), 'label', str(10**400), "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "label": 0.5}), 'label', 0.5, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "label": float("nan")}), 'label', None, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "premise": ""}), 'premise', None, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "premise": 3}), 'premise', 3, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "premise": None}), 'premise', None, "a.jsonl, line 1"),
    ("a.jsonl", lines({"segments": ["a", "b", "c"], "label": 1}), '', None, "a.jsonl, line 1"),
    ("a.jsonl", '{"text": "\\ud800", "label": 1}\n', 'text', None, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "premise": "a" * 100_001}), 'limits.cell', None, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "premise": LONG}), 'limits.line', None, "a.jsonl, line 1"),
    ("a.tsv", f"text\tlabel\n{LONG}\t1\n", 'limits.line', None, "a.tsv, line 2"),
    ("a.csv", f"text,label\n{LONG},1\n", 'limits.line', None, "a.csv, line 2"),
    ("a.csv", 'text,label\n"' + "a line\n" * 30_000 + '",1\n', '', None, "a.csv, line 2"),
    (
        "a.csv.gz",
        gzip.compress(b"text,label\n" + b"a" * (10 << 20), mtime=0),
        'limits.line', None, "a.csv.gz, line 2",
    ),
    ("a.csv.gz", gzip.compress(TABLE.encode(), mtime=0)[:-9], '', None, "a.csv.gz"),
    ("a.jsonl", lines({**GOOD, "id": "x"}, {**GOOD, "id": "x"}), 'id', 'x', "a.jsonl, line 2"),
    ("a.jsonl", lines(GOOD, {"premise": "a", "label": 1}), 'hypothesis', None, "a.jsonl, line 2"),
    ("a.jsonl", lines({"remark": "a", "label": 1}), 'text', None, "a.jsonl, line 1"),
    ("a.csv", "premise,hypothesis,score\na,b,1\n", 'label', None, "a.csv, line 1"),
    ("a.csv", "premise;hypothesis;label\na;b\n", '', 2, "a.csv, line 2"),
    ("a.tsv", "text,label\na,1\n", 'text', None, "a.tsv, line 1"),
    ("a.csv", "A dog ran.,It ran.,1\nA.,B.,1\n", 'text', None, "a.csv, line 1"),
    ("a.csv", "", '', None, "a.csv"),
    ("a.tsv", "", '', None, "a.tsv"),
    ("a.tsv", "text\tlabel\na\t1\nb\n", '', 1, "a.tsv, line 3"),
    ("a.csv", "text,label\na,1\nb,c,1\n", '', 3, "a.csv, line 3"),
    ("a.csv", "text,label\ra,1\r", '', None, "a.csv, line 1"),
    ("a.csv", 'text,label\n"a"b,1\n', '', None, "a.csv, line 2"),
    ("a.tsv", "label\ttext\ttext\n1\ta\tb\n", '', 'text', "a.tsv, line 1"),
    ("a.tsv", b"text\tlabel\na\t1\ncaf\xe9\t1\n", 'encoding', None, "a.tsv, line 3"),
    ("a.csv", "text,label\n".encode("utf-16-le"), 'encoding', None, "a.csv, line 1"),
    ("a.csv", b"\xff\xfet\x00e", 'encoding', None, "a.csv"),
    ("a.jsonl", lines({**GOOD, "marks": {"x": [[0, 4, 99]]}}), '', None, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "marks": {"x": [[2, 0, 1]]}}), '', None, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "marks": {"x": [[0, 3, 3]]}}), '', None, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "marks": {"x": [[0, 3]]}}), 'marks', {'x': [[0, 3]]}, "a.jsonl, line 1"),
    ("a.jsonl", lines({**GOOD, "marks": [1]}), 'marks', [1], "a.jsonl, line 1"),
    ("a.tsv", "text\tlabel\tmarks\na\t1\tnone\n", 'marks', 'none', "a.tsv, line 2"),
    ("a.parquet", "text,label\na,1\n", '', None, "a.parquet"),
    ("a.parquet", columnar(GOOD)[:-9], '', None, "a.parquet"),
    ("a.parquet", gzip.compress(columnar(GOOD), mtime=0), '', None, "a.parquet"),
    ("a.parquet", columnar(GOOD, {**GOOD, "label": "often"}), 'label', 'often', "a.parquet, row 2"),
    ("a.parquet", columnar(GOOD, {**GOOD, "premise": None}), 'premise', None, "a.parquet, row 2"),
    ("a.parquet", columnar({**GOOD, "premise": b"\xe9"}), 'premise', None, "a.parquet"),
    ("a.parquet", columnar({"remark": "a", "label": 1}), 'text', None, "a.parquet"),
    ("a.parquet", columnar(text=pa.array([], pa.string()), label=pa.array([], pa.int64())), '', None, "a.parquet"),
    ("a.parquet", of_names("{"), '', None, "a.parquet"),
    ("a.parquet", of_names("[" * 100_000), '', None, "a.parquet"),
    ("a.parquet", columnar(text=pa.array([b"caf\xe9"]).view(pa.string()), label=[1]), 'text', None, "a.parquet"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "option", "value", "place"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_right_is_refused_in_one_line(read_as, tmp_path, name, content, option, value, place):
    """File, line, and what was wrong there: one line, and not a long one."""
    with refuses(DataError, option=option, value=value, place=tmp_path / place) as caught:
        read_as(name, content)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_column_that_is_named_must_be_there(read_as):
    """The message lists the columns there are."""
    with refuses(DataError, option="gold"):
        read_as("a.jsonl", lines(GOOD), columns={"label": ["gold"]})


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.gz", "a.parquet.gz"])
def test_an_unknown_kind_of_file_is_refused(read_as, tmp_path, name):
    """The error lists the kinds that are known."""
    with refuses(UsageError, allowed=ENDINGS, place=tmp_path / name):
        read_as(name, "")


def test_a_missing_file_is_said_so(tmp_path):
    """With the system's own words."""
    with refuses(DataError, place=tmp_path / "none.csv"):
        read_sheet(tmp_path / "none.csv")


def test_a_file_is_read_no_further_than_its_limit(tmp_path):
    """A file that unpacks into far more than it seems to be stops at the limit, with a line."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\n" + b"a,1\n" * 1000))
    with refuses(DataError, option="limits.file", place=path):
        read_sheet(path, limits=Limits(file=100))


@pytest.mark.parametrize("rows", [[{**GOOD, "premise": f"{n} " * 300} for n in range(40)], [GOOD] * 2000])
def test_a_parquet_file_is_read_no_further_than_its_limit(read_as, tmp_path, rows):
    """Nor where the file is small because its rows are all the same."""
    content = columnar(*rows)
    read_as("a.parquet", content)
    with refuses(DataError, option="limits.file", place=tmp_path / "a.parquet"):
        read_sheet(tmp_path / "a.parquet", limits=Limits(file=10_000))


def test_columns_of_one_name_in_a_parquet_file(read_as):
    """Nobody can know which of the two is meant."""
    table = pa.Table.from_arrays([pa.array([1]), pa.array(["a"]), pa.array(["b"])], ["label", "text", "text"])
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    with refuses(DataError, value="text"):
        read_as("a.parquet", sink.getvalue().to_pybytes())


def test_rows_in_memory_are_examples_as_well():
    """Any mappings will do, with numbers of labels as the data set names them."""
    assert [row.id for row in labelled([GOOD, {**GOOD, "label": 0}], NLI).examples] == ["1", "2"]
    with refuses(DataError, place="row 2"):
        labelled([GOOD, {**GOOD, "label": 7}], NLI)
    rows = NamedRows([{**GOOD, "label": 0}, {**GOOD, "label": 1}], ("entailment", "non-entailment"))
    assert [row.target for row in labelled(rows, NLI).examples] == [1, 0]


def test_a_real_data_set_of_hugging_face_is_read(tmp_path):
    """The same with the library itself, and with a file that it has written."""
    datasets = pytest.importorskip("datasets", reason="the library `datasets` is not installed")
    features = datasets.Features(
        premise=datasets.Value("string"),
        hypothesis=datasets.Value("string"),
        label=datasets.ClassLabel(names=["entailment", "non-entailment"]),
    )
    rows = datasets.Dataset.from_list([{**GOOD, "label": 0}, {**GOOD, "label": 1}], features=features)
    assert [row.target for row in labelled(rows).examples] == [1, 0]
    rows.to_parquet(tmp_path / "rows.parquet")
    assert [row.target for row in labelled(tmp_path / "rows.parquet").examples] == [1, 0]


def test_a_number_is_never_the_name_that_looks_like_it():
    """Stars are called "1" to "3", and counted from 0: the number 1 is two stars."""
    datasets = pytest.importorskip("datasets", reason="the library `datasets` is not installed")
    names = ["1", "2", "3"]
    features = datasets.Features(text=datasets.Value("string"), label=datasets.ClassLabel(names=names))
    rows = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [0, 1, 2]}, features=features)
    read_rows = labelled(rows, ClassificationTask("stars", ("3", "2", "1")))
    assert [read_rows.task.show(row.target) for row in read_rows.examples] == names


TEXT = "Never again, never."
SPANS = (Span(0, 0, 5), Span(0, 13, 18))


@pytest.mark.parametrize(
    "cell",
    [[[13, 18], [0, 5]], [[0, 0, 5], [0, 13, 18]], "[[0, 5], [13, 18]]", ["Never", "never"], '["Never", "never"]'],
)
def test_rationales_have_many_forms(read_as, cell):
    """Spans in any order, or words in that of the text; as lists or as JSON."""
    row = {"text": TEXT, "label": "neutral", "why": cell}
    (example,) = read_as("a.jsonl", lines(row), {"rationale": ["why"]})
    assert example.marks == {"rationale": SPANS}


@pytest.mark.parametrize("text", [{"tokens": ["Ne ver", "again", ",", "ne"]}, {"text": "Ne\u00a0ver again\t,  ne"}])
def test_rationales_may_be_numbers_of_tokens(read_as, text):
    """In a list, or a text between blanks, 1 marks a token; neighbours are one span, and no-break spaces part none."""
    row = {**text, "label": "neutral", "why": [True, 1, 0, 1], "too": [0, 0, 1, 0]}
    (example,) = read_as("a.jsonl", lines(row), {"rationale": ["why", "too"]})
    words = {mark: [example.text(span) for span in spans] for mark, spans in example.marks.items()}
    assert {mark: ["".join(name.split()) for name in names] for mark, names in words.items()} == {
        "rationale": ["Neveragain", "ne"],
        "rationale-2": [","],
    }


def test_each_column_of_rationales_is_an_annotator(read_as):
    """Blank cells and empty lists are of nobody; marks of the row and of a rule stay."""
    rows = [
        {"text": TEXT, "label": "neutral", "a": None, "b": [[0, 5]], "marks": {"cue": [[0, 6, 11]]}},
        {"text": TEXT, "label": "neutral", "a": [], "b": ""},
        {"text": TEXT, "label": "neutral", "a": [0, 0, 0], "b": [1, 0, 0]},
    ]
    rule = {"rule": (Span(0, 0, 1),)}
    first, second, third = read_as("a.jsonl", lines(*rows), {"rationale": ["a", "b"]}, lambda segments, row: rule)
    assert {*first.marks} == {"rule", "cue", "rationale-2"}
    assert {*second.marks} == {"rule"}
    assert third.marks["rationale-2"] == SPANS[:1]


def test_rationales_of_pairs_name_their_segment(read_as):
    """And may lie in either text."""
    row = {**GOOD, "why": [[0, 4, 9], [1, 3, 8]]}
    (example,) = read_as("a.jsonl", lines(row), {"rationale": ["why"]})
    assert [example.text(span) for span in example.marks["rationale"]] == ["actor", "actor"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_rationales_in_tables(read_as, name):
    """JSON in a CSV, lists in a Parquet file."""
    columns = {"text": [TEXT] * 2, "label": ["neutral"] * 2, "why": [[[0, 5]], [[13, 18]]]}
    content = f'text,label,why\n"{TEXT}",neutral,"[[0, 5]]"\n"{TEXT}",neutral,"[[13, 18]]"\n'
    examples = read_as(name, content if name == "a.csv" else columnar(**columns), {"rationale": ["why"]})
    assert [example.marks["rationale"] for example in examples] == [SPANS[:1], SPANS[1:]]
