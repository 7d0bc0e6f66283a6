"""Sets by name, from files, memory and folders of one's own; `test_readers` has how rows are read."""

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from named_rows import NamedRows
from refusals import refuses

from factors import Span
from ranker import labelled
from ranker.datasets import sets
from ranker.datasets.identity import fingerprint
from ranker.datasets.sets import EMBEDDED, LabelledDataset, sample
from ranker.errors import DataError, Question, UnknownName, UsageError
from ranker.tasks.classes import ClassificationTask

CARD = """
description = "A toy."
source = "https://example.org/toy"
licence = "MIT"
population = 3
files = ["toy.tsv", "toy.jsonl"]
folders = ["below"]

[task]
name = "colour"
labels = ["red", "blue"]

[[layouts]]
text = ["first", "second"]
label = "label"
id = "name"
numbers = ["blue", "red"]
where = { kind = "hard" }

[[layouts]]
text = ["first"]
label = "colour"

[marks]
cue = "adjective"
"""

TABLE = """\
first,second,label,name,kind
A tall tree.,A tree.,0,a,hard
A hut.,A hut.,red,b,easy
A wet day.,A day.,1,c,hard
""".replace(",", "\t")

OWN = [
    {"id": "x", "segments": ["A sad song.", "A song."], "label": "blue"},
    {"id": "y", "segments": ["A song.", "A sad song."], "label": "red", "marks": {"cue": [[0, 2, 6]]}},
]


def lines(rows):
    """Rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def toy(tmp_path):
    """A folder with the card of a set named toy, as `include` takes it."""
    folder = tmp_path / "sets" / "toy"
    folder.mkdir(parents=True)
    (folder / "card.toml").write_text(CARD, encoding="utf-8")
    return folder


@pytest.fixture
def official(tmp_path):
    """A folder with the set's official file."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "toy.tsv").write_text(TABLE, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", sets.names())
def test_every_set_comes_with_a_sample(name):
    """Both labels, as many rows as are attributed, and the card's marks on all, or on all with the feature."""
    loaded = sets.load(name)
    assert loaded.origin == EMBEDDED
    assert len(loaded.examples) == loaded.population == (400 if name == "paws" else 600)
    assert {example.target for example in loaded.examples} == {0, 1}
    marks = sets.cards()[name].marks
    assert {mark for example in loaded.examples for mark in example.marks} == set(marks)
    featured = [example for example in loaded.examples if example.target == 1 or not name.startswith("msgs")]
    assert all(set(example.marks) == set(marks) for example in featured)


def test_a_set_is_read_from_its_official_file(toy, official):
    """The first layout whose columns are there, its part of the rows, its order of label numbers, its ids and marks."""
    loaded = sets.load("toy", official, [toy])
    assert (loaded.name, loaded.population, loaded.origin) == ("toy", 3, str(official / "toy.tsv"))
    assert [(example.id, example.target) for example in loaded.examples] == [("a", 1), ("c", 0)]
    assert loaded.examples[0].segments == ("A tall tree.", "A tree.")
    assert loaded.examples[0].marks == {"cue": (Span(0, 2, 6),)}


def test_a_path_may_be_text(toy, official, tmp_path):
    """As one types it in a notebook; text is never taken for rows."""
    assert sets.load("toy", str(official), [str(toy)]) == sets.load("toy", official, [toy])
    rows = tmp_path / "ten.jsonl"
    rows.write_text('{"text": "A tree.", "label": "red"}\n', encoding="utf-8")
    expected = labelled(rows, like="toy", include=[toy])
    assert labelled(rows, "COLOUR", like="TOY", include=[toy]) == expected
    assert labelled(str(rows), like="toy", include=[toy]) == expected
    assert (expected.name, expected.origin) == ("ten", str(rows))
    assert sets.unlabelled(str(rows)) == sets.unlabelled(rows)
    with refuses(UsageError, option="task", value="nli", allowed=("colour",)):
        labelled(rows, "nli", like="toy", include=[toy])


def test_another_layout_is_as_good(toy, official):
    """Here one of single texts, without ids: the rows' numbers serve."""
    (official / "toy.tsv").write_text("colour\tfirst\nblue\tA hut.\n", encoding="utf-8")
    (example,) = sets.load("toy", official, [toy]).examples
    assert (example.id, example.segments, example.target) == ("1", ("A hut.",), 1)


@pytest.mark.parametrize("place", ["", "below", "file"])
def test_the_file_is_found_in_each_place(toy, official, place):
    """In the folder that is named, in the set's own below it, or named itself, whatever it is called then."""
    target = official / ("other.tsv" if place == "file" else Path(place, "toy.tsv"))
    shutil.copy(official / "toy.tsv", toy)
    assert sets.load("toy", include=[toy]).origin == str(toy / "toy.tsv")  # beside its card, and no sample
    target.parent.mkdir(exist_ok=True)
    (official / "toy.tsv").rename(target)
    assert len(sets.load("TOY", target if place == "file" else official, [toy.parent]).examples) == 2


@pytest.mark.parametrize("name", ["examples.jsonl", "examples.jsonl.gz"])
def test_a_set_of_ones_own_brings_its_rows_beside_its_card(toy, name):
    """In the layout of the embedded samples; a row's own marks win over the rule's."""
    content = lines(OWN).encode()
    (toy / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    loaded = sets.load("toy", include=[toy])
    assert [example.target for example in loaded.examples] == [1, 0]
    assert [example.marks["cue"] for example in loaded.examples] == [(Span(0, 2, 5),), (Span(0, 2, 6),)]


def test_rows_in_memory_make_a_set(toy):
    """In any of its layouts."""
    rows = [{"first": "A tall tree.", "second": "A tree.", "label": 1, "name": "a", "kind": "hard"}]
    loaded = sets.from_rows("toy", rows, [toy])
    assert (loaded.origin, loaded.examples[0].target, loaded.examples[0].id) == ("rows in memory", 0, "a")
    assert sets.from_rows("toy", OWN, [toy]).examples[1].target == 0


def test_label_numbers_are_read_as_the_rows_count_them():
    """Names of numbers are believed, and the hub's copy of HANS, which has no ids, counts from entailment."""
    row = {"id": "a", "sentence1": "Is P or Q first?", "sentence2": "Is Q or P first?", "label": 0}
    assert sets.from_rows("paws", [row]).examples[0].target == 0
    assert sets.from_rows("paws", NamedRows([row], ("paraphrase", "non-paraphrase"))).examples[0].target == 1
    row = {"premise": "The cook ran .", "hypothesis": "The cook ran .", "label": 0, "heuristic": "subsequence"}
    rows = [row, {**row, "heuristic": "constituent"}, {**row, "label": 1}]
    assert [example.target for example in sets.from_rows("hans-sub", rows).examples] == [1, 0]


def test_a_users_set_hides_a_built_in_one_of_its_name(toy):
    """And stands among the names and tasks."""
    toy.rename(toy.parent / "paws")
    assert sets.cards([toy.parent])["paws"].task.name == "colour"
    assert sets.tasks([toy.parent])["colour"].labels == ("red", "blue")
    assert sets.names([toy.parent]) == sets.names()


def test_rows_of_a_user_are_all_population(tmp_path):
    """The file's name is the set's; the task is the only one that the labels fit; there is no mark and no factor."""
    path = tmp_path / "mine.csv"
    path.write_text(
        "premise,hypothesis,label\nA cook ran.,A cook ran.,entailment\nA cook ran.,It rained.,neutral\n", "utf-8"
    )
    mine = labelled(path)
    assert (mine.name, mine.task.name, mine.population, mine.designed) == ("mine", "nli", 2, None)
    assert [example.marks for example in mine.examples] == [{}, {}]
    assert labelled(path, task="NLI") == mine


def test_rows_of_a_user_may_be_like_a_set(toy):
    """Such rows take the task, marks and designed factor of a set, which `include` may bring."""
    rows = [{"premise": "Unless it rains, we go.", "hypothesis": "We go.", "label": "neutral"}]
    mine = labelled(rows, like="hans-con")
    assert (mine.name, mine.designed, mine.origin) == ("rows", "CONST", "rows in memory")
    assert mine.examples[0].marks == {"control": (Span(0, 0, 6),)}
    mine = labelled([{"text": "A tall tree.", "label": "blue"}], like="toy", include=[toy])
    assert (mine.task.name, mine.examples[0].marks) == ("colour", {"cue": (Span(0, 2, 6),)})
    assert labelled([{"text": "A hut.", "label": "Blue"}], include=[toy]).task.name == "colour"


def labelled_as(*labels):
    """Rows with these labels."""
    return [{"text": f"A tree of {number} years.", "label": label} for number, label in enumerate(labels)]


def test_a_task_of_ones_own_needs_no_card():
    """From Python a task is a record like any other; of as many labels as it has."""
    task = ClassificationTask("group", tuple(f"group {n}" for n in range(12)))
    rows = labelled(labelled_as("11", "group 3", 7), task)
    assert ([row.target for row in rows.examples], rows.task) == ([11, 3, 7], task)


def test_rows_without_a_label_and_repeats_are_left_out_and_that_is_said():
    """The same text with another label stays: which of the two is wrong, only their author knows."""
    task = ClassificationTask("colour", ("blue", "red"))
    rows = [
        {"text": text, "label": label} for text, label in (("A.", "red"), ("B.", ""), ("A.", "Red"), ("A.", "blue"))
    ]
    mine = labelled(rows, task)
    assert [(row.segments, row.target, row.id) for row in mine.examples] == [(("A.",), 1, "1"), (("A.",), 0, "4")]
    assert mine.population == 2
    assert mine.notes == (
        "1 row has no label yet, and counts only in a pool (`pool`).",
        "1 row that exactly repeats another was left out.",
        "2 rows have the same text as another, but a different label.",
    )


def test_labels_that_count_as_one_and_numbers_are_told():
    """Whoever wrote three labels hears that two were judged; whoever wrote numbers, how they were read."""
    assert labelled(labelled_as("neutral", "contradiction", "Neutral", "entailment")).notes == (
        "The labels Neutral and contradiction of the rows count as one label here: non-entailment.",
    )
    numbered = labelled(labelled_as("1", 0, True), "nli")
    assert numbered.notes == ("0 was read as non-entailment, 1 as entailment.",)
    assert numbered.numbers == {0: 0, 1: 1}
    assert labelled(labelled_as("neutral", "entailment")).notes == ()


def test_rows_of_a_data_frame_are_rows():
    """Of pandas, or of anything that gives its records so; what is not there is blank."""

    class Frame:
        def to_dict(self, orient):
            assert orient == "records"
            return [{"text": "A.", "label": "red"}, {"text": "B.", "label": float("nan")}]

        def __iter__(self):
            return iter(["text", "label"])

    rows = labelled(Frame(), ClassificationTask("colour", ("blue", "red")), columns={"text": "text", "label": "label"})
    assert [row.segments for row in rows.examples] == [("A.",)]


def test_columns_that_hold_text_and_are_not_read_are_named():
    """Half of a pair would be a ranking of other models' inputs; where the user says what to read, nothing is said."""
    cells = {"question": "Who ran?", "answer": "A dog did.", "by": "Ann"}
    rows = [{**cells, "label": "yes"}, {**cells, "question": "Who sang?", "label": "no"}]
    task = ClassificationTask("asked", ("no", "yes"))
    note = "Read as text: question. Unread, though it holds text: answer; choose with `columns`."
    assert note in labelled(rows, task).notes
    assert not labelled(rows, task, {"text": ["question", "answer"]}).notes


def test_several_columns_of_references_are_all_read():
    """None of them is said to be unread."""
    rows = [{"document": f"It {verb}.", "reference": "A dog.", "ref2": "The dog."} for verb in ("ran", "sang")]
    mine = labelled(rows, "text", {"label": ["reference", "ref2"]})
    assert mine.examples[0].target == ("A dog.", "The dog.")
    assert not any("ref2" in note for note in mine.notes)


@pytest.mark.parametrize(("ending", "quoted"), [("tsv", True), ("csv", False)])
def test_quotes_that_a_tsv_does_not_have_are_told(tmp_path, ending, quoted):
    """A spreadsheet quotes cells with a comma; in a .csv they are no part of the text, in a .tsv they are."""
    sign = {"tsv": "\t", "csv": ","}[ending]
    file = tmp_path / f"rows.{ending}"
    file.write_text(f'text{sign}label\n"Well, it ran."{sign}yes\nIt sang.{sign}no\n')
    rows = labelled(file, ClassificationTask("asked", ("no", "yes")))
    assert rows.examples[0].segments == (('"Well, it ran."' if quoted else "Well, it ran."),)
    assert any(note.startswith("1 row has a text in quotes") for note in rows.notes) == quoted


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        ("jsonl", '{"text": "It ran.", "label": "yes"}\n\n \n'),
        ("tsv", "text\tlabel\nIt ran.\tyes\n\n\n"),
        ("csv", "text,label\nIt ran.,yes\n,\n\n,\n"),
    ],
)
def test_blank_lines_at_the_end_are_no_rows(tmp_path, ending, content):
    """Nor are the commas that a spreadsheet leaves of cells that were cleared."""
    file = tmp_path / f"rows.{ending}"
    file.write_text(content)
    rows = labelled(file, ClassificationTask("asked", ("no", "yes")))
    assert (len(rows.examples), rows.notes) == (1, ())


def test_truths_as_data_frames_write_them_are_numbers():
    """True is 1 in a file of text, too."""
    rows = [{"text": "It ran.", "label": "True"}, {"text": "It sang.", "label": "False"}]
    assert [row.target for row in labelled(rows, ClassificationTask("asked", ("no", "yes"))).examples] == [1, 0]


@pytest.mark.parametrize(
    ("call", "error", "option", "place"),
    [
        (lambda toy, official: sets.load("hans-s"), UnknownName, '', ""),
        (lambda toy, official: sets.load("qqqq"), UnknownName, '', ""),
        (lambda toy, official: sets.load("toy", None, [toy]), UsageError, 'data_dir', ""),
        (lambda toy, official: sets.load("toy", toy, [toy]), UsageError, 'data_dir', ""),
        (lambda toy, official: sets.load("hans-sub", official), UsageError, 'data_dir', ""),
        (lambda toy, official: sets.load("toy", official / "none", [toy]), UsageError, 'data_dir', ""),
        (lambda toy, official: sets.load("toy", official, [official]), UsageError, 'include', ""),
        (
            lambda toy, official: sets.from_rows("hans-lex", [{**HANS, "heuristic": "constituent"}]),
            DataError,
            '', "rows in memory",
        ),
        (lambda toy, official: sets.from_rows("toy", [], [toy]), DataError, '', "rows in memory"),
        (
            lambda toy, official: sets.from_rows("hans-lex", [{"premise": "A.", "label": 1}]),
            DataError,
            'hypothesis', "rows in memory",
        ),
        (lambda toy, official: sets.from_rows("hans-con", [{**HANS, "label": "maybe"}]), DataError, 'label', "row 1"),
        (
            lambda toy, official: sets.from_rows("toy", [{**OWN[0], "marks": {"cue": [[0, 2, 60]]}}], [toy]),
            DataError,
            '', "row 1",
        ),
        (lambda toy, official: labelled(OWN, task="colours", include=[toy]), UnknownName, '', ""),
        (lambda toy, official: labelled(OWN, like="pawss"), UnknownName, '', ""),
        (lambda toy, official: labelled([{**OWN[0], "label": 1}], include=[toy]), Question, 'task', "rows in memory"),
        (lambda toy, official: labelled([{**OWN[0], "label": "green"}]), DataError, 'label', "row 1"),
        (lambda toy, official: labelled(labelled_as("neutral", "entailed", "maybe")), DataError, 'label', "row 3"),
        (lambda toy, official: labelled(labelled_as("", None, " ")), DataError, 'label', "rows in memory"),
        (lambda toy, official: labelled(OWN, columns={"gold": "label"}), UnknownName, '', ""),
        (lambda toy, official: labelled({"text": ["A hut."], "label": ["red"]}), UsageError, '', ""),
        (lambda toy, official: labelled(["A hut."]), UsageError, '', ""),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_refused(toy, official, call, error, option, place):
    """The option to change is named, or the row."""
    with refuses(error, option=option, place=place):
        call(toy, official)


HANS = {"premise": "The cook ran .", "hypothesis": "The cook ran .", "label": 0, "heuristic": "constituent"}


@pytest.mark.parametrize(
    ("old", "new", "option", "value", "place"),
    [
        ("\t0\t", "\t7\t", 'label', '7', "data/toy.tsv, line 2"),
        ("kind", "sort", 'kind', None, "data/toy.tsv"),
        ("\tc\t", "\ta\t", 'id', 'a', "data/toy.tsv, line 4"),
        ("A day.", "", 'second', None, "data/toy.tsv, line 4"),
        ("A day.", "A d\xe4y.", 'encoding', None, "data/toy.tsv, line 4"),
        ("A day.", "a" * 200000, 'limits.cell', None, "data/toy.tsv, line 4"),
        ("A day.", "a" * (10 << 20), 'limits.line', None, "data/toy.tsv, line 4"),
    ],
)  # fmt: skip
def test_a_wrong_line_of_the_official_file_is_named(toy, official, old, new, option, value, place):
    """File and line, and what is wrong with it."""
    (official / "toy.tsv").write_text(TABLE.replace(old, new), encoding="latin-1")
    with refuses(DataError, option=option, value=value, place=official.parent / place):
        sets.load("toy", official, [toy])


def test_a_wrong_line_of_a_set_of_ones_own_is_named(toy):
    """JSON that is none."""
    (toy / "examples.jsonl").write_text(lines(OWN) + '{"id": "z", "segments": [\n', encoding="utf-8")
    with refuses(DataError, place=f"{toy}/examples.jsonl, line 3"):
        sets.load("toy", include=[toy])


@pytest.fixture
def ten(toy):
    """A set of ten rows."""
    rows = [{"id": str(i), "segments": ["A hut."], "label": "blue"} for i in range(10)]
    return sets.from_rows("toy", rows, [toy])


def test_a_sample_is_drawn_evenly_and_without_replacement(ten):
    """In the set's order, the same for the same seed; each of ten rows is in four of ten samples."""
    drawn = [[int(example.id) for example in sample(ten, 4, seed)] for seed in range(5)]
    assert all(len(ids) == 4 and ids == sorted(set(ids)) for ids in drawn)
    assert len(set(map(tuple, drawn))) > 1
    assert sample(ten, 4) == sample(ten, 4)
    counts = np.zeros(10)
    for seed in range(500):
        counts[[int(example.id) for example in sample(ten, 4, seed)]] += 1
    assert np.allclose(counts / 500, 0.4, atol=0.1)


@pytest.mark.parametrize("size", [10, 11, 10**9])
def test_a_sample_of_all_is_the_set(ten, size):
    """However many are asked for."""
    assert sample(ten, size) == ten.examples


def test_the_fingerprint_is_of_rows_and_labels_by_name(toy):
    """A text, an id, a label and the order count; marks, population and name do not."""
    base = sets.from_rows("toy", OWN, [toy])
    assert fingerprint([replace(example, marks={}) for example in base.examples], base.task) == base.fingerprint
    assert LabelledDataset("x", base.task, base.examples, 1).fingerprint == fingerprint(base.examples, base.task)
    for changed in (
        [{**OWN[0], "id": "z"}, OWN[1]],
        [{**OWN[0], "label": "red"}, OWN[1]],
        [{**OWN[0], "segments": ["A sad song.", "A song"]}, OWN[1]],
        [{**OWN[0], "segments": ["A sad song. A song."]}, OWN[1]],
        OWN[::-1],
        OWN[:1],
    ):
        assert sets.from_rows("toy", changed, [toy]).fingerprint != base.fingerprint
    assert len({sets.load(name).fingerprint for name in sets.names()}) == len(sets.names())


def test_a_few_rows_are_taken_for_the_whole_set():
    """The limit takes those that `sample` draws; 0 is no number of rows."""
    few = sets.load("hans-sub", limit=12)
    assert few.examples == sets.sample(sets.load("hans-sub"), 12)
    with refuses(UsageError, option="limit", value=0):
        sets.load("hans-sub", limit=0)


def test_a_smaller_sample_is_part_of_a_larger_one(ten):
    """Answers to 3 rows serve the 7 that they are among."""
    smaller, larger = ([example.id for example in sample(ten, size)] for size in (3, 7))
    assert (len(smaller), len(larger)) == (3, 7)
    assert set(smaller) <= set(larger)
