"""Every accuracy is held against a second reader of the same file (`opinion`), which knows `csv` and `json` alone."""

import json
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata

import pytest
from calling import Ended, called
from hypothesis import HealthCheck, Phase, given, seed, settings
from making import File, files, holds_word, readable, simpler, written
from opinion import accuracies, column, joined, rows_of, truth_of

MOST_REFUSED = 0.05
"""The part of the files that the rule can read which may be refused."""

EXACT = 1e-12


@dataclass
class Survey:
    """What became of many files.

    Attributes:
        read: how many of those that the rule can read.
        kinds: why which of these were refused, with their number.
    """

    read: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def refused(self) -> int:
        """How many files were refused that the rule can read."""
        return sum(self.kinds.values())

    def check(self) -> None:
        """Print what was refused, and hold its share against what may be."""
        for kind, count in self.kinds.most_common():
            print(f"{count} of {self.read} refused: {kind}")  # noqa: T201  # a soak run shows it
        assert self.refused <= MOST_REFUSED * self.read, self.kinds


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for all files of this module, and a store."""
    path = tmp_path_factory.mktemp("opinion")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANK_MODELS_STORE", str(path / "store"))
        patch.chdir(path)
        patch.setattr(metadata, "entry_points", cache(metadata.entry_points))  # a third of the time of a small run
        yield path


def opinion(twins, words=()):
    """The second opinion: the truth, the readings, and whether they are of the same rows."""
    rows, *others = map(rows_of, twins)
    truth, truths = truth_of(rows, "label", words)
    if others:
        cells = {
            path.stem.removesuffix("-twin"): [row.get("prediction") for row in joined(rows, own)]
            for path, own in zip(twins[1:], others, strict=True)
        }
    else:
        names = dict.fromkeys(name for row in rows for name in row if name not in ("id", "text", "label"))
        cells = {name: [row.get(name) for row in rows] for name in names}
    models = {name: column(said, words, truths) for name, said in cells.items()}
    return truth, accuracies(truth, models) if any(truth) else []


def fault(ended: Ended, truth, readings) -> str:
    """What is wrong with what the program said; "" where it is what the second opinion says, or a refusal."""
    if ended.refused and not ended.found:
        return ""
    if not ended.found or not (ended.refused or ended.status == 0):
        return f"no refusal in one line, but {ended.status}: {ended.said}"
    if not readings:
        return "no row has a truth"
    found, labelled = ended.accuracies, sum(text is not None for text in truth)
    unread = " ".join(note for note in ended.found["header"]["notes"] if "not read" in note)
    kept = {name for name in readings[0] if repr(name) not in unread}  # numbers of which most are no labels are said
    if {*found} | ended.failed != kept or (ended.failed and not ended.refused):
        return f"models are {sorted(found)}, and stand in the file as {sorted(readings[0])}"
    if not any(all(abs(found[name] - one[name]) <= EXACT for name in found) for one in readings):
        return f"accuracies are {found}, and by the rule {readings}"
    pairs = len(found) * (len(found) - 1) // 2
    if ended.paired != [labelled] * pairs:
        return f"{pairs} pairs are compared on {labelled} rows (got {ended.paired})"
    return ""


def looked_at(file: File, folder, survey: Survey) -> str:
    """Write the files, and see what the program makes of them: what is wrong with that."""
    arguments, twins = written(file, folder)
    ended = called("run", *arguments, "-q", output=folder / "out.json")
    truth, readings = opinion(twins, (file.declared,) if file.declared else ())
    if file.declared is None and holds_word(file):
        named = ended.status == 2 and "--empty-words" in ended.said
        told = ("run", *arguments, "--empty-words", file.word[0], "-q")
        asked = ended.refused and not ended.found and (named or called(*told, output=folder / "told.json").refused)
        return "" if asked else f"it must ask what {file.word} is (got {ended.status}: {ended.said[:300]})"
    if readable(file, truth):
        survey.read += 1
        if ended.refused:
            survey.kinds[kind_of(ended.said)] += 1
    return fault(ended, truth, readings)


def simplest(file: File, folder) -> str:
    """A simpler file that is read wrongly, too, and what is wrong with that."""
    while found := next((one for one in simpler(file) if one != file and looked_at(one, folder, Survey())), None):
        file = found
    return f"{file}: {looked_at(file, folder, Survey())}"


def kind_of(said: str) -> str:
    """A refusal without what is of this file: its name, its numbers and what it quotes."""
    words = said.removeprefix("rank-models: ").split(";")[0].split()
    return " ".join("..." if any(sign in word for sign in "'\"/0123456789") else word for word in words)[:150]


@pytest.mark.more
@pytest.mark.parametrize("wide", [True, False], ids=["wide", "pairs"])
@pytest.mark.parametrize(
    "count", [30, pytest.param(150, marks=pytest.mark.slow), pytest.param(2500, marks=pytest.mark.soak)]
)
def test_accuracies_are_those_of_a_second_reader(folder, wide, count):
    """Each model of a file has the accuracy that the rule gives it, on the same rows, or the file is refused."""
    survey = Survey()

    @seed(count)
    @settings(
        max_examples=count,
        derandomize=count == 150,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(files(wide))
    def look(file):
        wrong = looked_at(file, folder, survey)
        assert not wrong, simplest(file, folder)

    look()
    survey.check()


@dataclass(frozen=True)
class Case:
    """Files in which a fault was seen.

    Attributes:
        files: name -> content; the rows are first, if they stand in a file of their own.
        right: model -> its accuracy.
        arguments: that are given, too.
        refused: it may be refused, too.
    """

    files: dict[str, str]
    right: dict[str, float]
    arguments: tuple[str, ...] = ()
    refused: bool = False


def table(**columns):
    """A CSV of columns of words, a blank between two; `.` is an empty cell, and ids are made where there are none."""
    cells = {name: words.split() for name, words in columns.items()}
    size = len(next(iter(cells.values())))
    cells = {"id": [f"q{n}" for n in range(size)], **cells} if "id" not in cells else cells
    rows = zip(*cells.values(), strict=True)
    lines = [",".join(cells), *(",".join("" if cell == "." else cell for cell in row) for row in rows)]
    return "\n".join(lines) + "\n"


def asked(*labels, ids=True):
    """A CSV of rows with texts and labels, and with ids or without."""
    lines = [f"q{n}," * ids + f"The tide came in {n} times,{label}" for n, label in enumerate(labels)]
    return "\n".join(["id," * ids + "text,label", *lines]) + "\n"


def said(*answers):
    """JSON lines of answers by id."""
    return "".join(json.dumps({"id": f"q{n}", "prediction": answer}) + "\n" for n, answer in enumerate(answers))


BITS = [n % 2 for n in range(1200)]
TENTH = [1 - bit if n % 10 == 0 else bit for n, bit in enumerate(BITS)]

CASES = {
    "a minus is a label, an empty cell is none": Case(
        {"wide.csv": table(label="- - - - + + + +", a="- - . . + + + +", b="- - - + + + - -")},
        {"a": 0.75, "b": 0.625},
    ),
    "a zero before a number": Case(
        {"wide.csv": table(label="01 1 01 1 01 1", a="01 1 1 1 01 01", b="1 1 1 1 1 1")},
        {"a": 4 / 6, "b": 0.5},
    ),
    "a low line and a minus": Case(
        {"wide.csv": table(label="_ - _ - _ -", a="_ - - - _ -", b="_ _ _ _ _ _")},
        {"a": 5 / 6, "b": 0.5},
    ),
    "a low line, a minus, and a letter": Case(
        {"wide.csv": table(label="_ - x _ - x", a="_ - x - - x", b="_ _ _ _ _ _")},
        {"a": 5 / 6, "b": 2 / 6},
    ),
    "minus one is a truth": Case(
        {"wide.csv": table(label="-1 0 1 -1 0 1", a="-1 0 1 -1 1 .", b="0 0 0 -1 0 0")},
        {"a": 4 / 6, "b": 0.5},
    ),
    "minus one is a truth of rows": Case(
        {
            "rows.csv": asked(-1, 0, 1, -1, 0, 1),
            "a.csv": table(prediction="-1 0 1 -1 1 ."),
            "b.csv": table(prediction="0 0 0 -1 0 0"),
        },
        {"a": 4 / 6, "b": 0.5},
    ),
    "n is a label": Case(
        {"wide.csv": table(label="y n y n y n", a="y n y y y n", b="n n n n n n")}, {"a": 5 / 6, "b": 0.5}
    ),
    "a truth value is not the label beside False": Case(
        {
            "rows.csv": asked("False", "False", "N/A", "False"),
            "a.csv": table(id="q0 q1 q2 q3", prediction="False False True False"),
            "b.csv": table(id="q0 q1 q2 q3", prediction="False N/A N/A N/A"),
        },
        {"a": 0.75, "b": 0.5},
        ("--empty-words", ""),
    ),
    "truth values, and whole numbers from the second thousand on": Case(
        {
            "rows.csv": asked(*BITS),
            "a.jsonl": said(*map(bool, BITS[:1000]), *BITS[1000:]),
            "b.jsonl": said(*TENTH),
        },
        {"a": 1.0, "b": 0.9},
        ("--answers", "labels"),
    ),
    "whole numbers, and a truth value at the end": Case(
        {"rows.csv": asked(*BITS), "a.jsonl": said(*BITS[:-1], True), "b.jsonl": said(*TENTH)},
        {"a": 1.0, "b": 0.9},
        ("--answers", "labels"),
    ),
    "whole numbers, and floats from the second thousand on": Case(
        {
            "rows.csv": asked(*BITS),
            "a.jsonl": said(*BITS[:1000], *map(float, BITS[1000:])),
            "b.jsonl": said(*TENTH),
        },
        {"a": 1.0, "b": 0.9},
        ("--answers", "labels"),
    ),
    "a number that no float is, and floats from the second thousand on": Case(
        {
            "rows.csv": asked(*BITS),
            "a.jsonl": said(2**53 + 1, *BITS[1:1000], *map(float, BITS[1000:])),
            "b.jsonl": said(*TENTH),
        },
        {"a": 1199 / 1200, "b": 0.9},
        ("--answers", "labels"),
        refused=True,
    ),
    "numbers that no float is are ids": Case(
        {
            "rows.csv": "id,text,label\n" + "".join(f"{2**53 + n},Tide {n},{n % 2}\n" for n in range(8)),
            "a.jsonl": "".join(json.dumps({"id": 2**53 + n, "prediction": n % 2}) + "\n" for n in reversed(range(8))),
            "b.jsonl": "".join(json.dumps({"id": 2**53 + n, "prediction": 0}) + "\n" for n in reversed(range(8))),
        },
        {"a": 1.0, "b": 0.5},
        ("--answers", "labels"),
    ),
    "numbers, and a stray text from the second thousand on": Case(
        {
            "rows.csv": asked(*BITS),
            "a.jsonl": said(*BITS[:-1], "I cannot say"),
            "b.jsonl": said(*TENTH),
        },
        {"a": 1199 / 1200, "b": 0.9},
        ("--answers", "labels"),
        refused=True,
    ),
    "rows have no ids, and the files of answers have some": Case(
        {
            "rows.csv": asked("tea", "tea", "milk", "milk", "tea", "milk", ids=False),
            "a.csv": table(id="4 5 6 7 8 9", prediction="tea tea milk milk tea tea"),
            "b.csv": table(id="4 5 6 7 8 9", prediction="tea milk milk milk milk tea"),
        },
        {"a": 5 / 6, "b": 0.5},
        refused=True,
    ),
    "two answers that are no labels": Case(
        {
            "wide.csv": table(
                label="tea milk tea milk tea milk", a="tea milk tea tea tea milk", b="tea milk tea milk ? oat"
            )
        },
        {"a": 5 / 6, "b": 4 / 6},
        refused=True,
    ),
    "two answers that are no labels, among three models": Case(
        {
            "wide.csv": table(
                label="tea milk tea milk tea milk",
                a="tea milk tea tea tea milk",
                b="tea milk tea milk ? oat",
                c="milk milk milk milk milk milk",
            )
        },
        {"a": 5 / 6, "b": 4 / 6, "c": 0.5},
        refused=True,
    ),
    "one row has no truth": Case(
        {
            "wide.csv": table(
                label="tea milk tea milk tea .", a="tea milk tea tea tea milk", b="tea milk milk milk milk tea"
            )
        },
        {"a": 0.8, "b": 0.6},
    ),
    "one row has no truth, among three models": Case(
        {
            "wide.csv": table(
                label="tea milk tea milk tea .",
                a="tea milk tea tea tea milk",
                b="tea milk milk milk milk tea",
                c="milk milk milk milk milk milk",
            )
        },
        {"a": 0.8, "b": 0.6, "c": 0.4},
    ),
    "a line end and a comma in quotes": Case(
        {
            "rows.csv": 'id,text,label\nq0,"Low, then\nhigh","sea, salt"\nq1,"He ""rowed""",fresh\n',
            "a.csv": 'id,prediction\nq1,fresh\nq0,"sea, salt"\n',
            "b.csv": 'id,prediction\nq1,"sea, salt"\nq0,"SEA, SALT"\n',
        },
        {"a": 1.0, "b": 0.5},
    ),
}
"""What was read wrongly once, each with rows of our own."""


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_what_was_read_wrongly_once(folder, name):
    """Each has the accuracies that one counts by hand, and two models are compared on all rows with a truth."""
    case = CASES[name]
    paths = [folder / name for name in case.files]
    for path, content in zip(paths, case.files.values(), strict=True):
        path.write_text(content, encoding="utf-8")
    data = ["--data", paths[0]] if len(paths) > 1 else []
    models = paths[1:] if data else paths
    ended = called("run", *data, "--models", *models, *case.arguments, "-q", output=folder / "out.json")
    truth, readings = opinion(paths)
    assert readings == [pytest.approx(case.right, abs=EXACT)]
    wrong = fault(ended, truth, readings)
    assert not wrong
    assert case.refused or not ended.refused, ended.said


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("where", "word"),
    [*(("truth", word) for word in ("NA", "n/a", "nan", "NULL", "None", "#N/A")), ("answers", "NA"), ("rows", "NA"),
     ("file", "NA")],
)  # fmt: skip
def test_a_word_for_nothing_is_asked_about(folder, where, word):
    """It may be a label, or nothing: `--empty-words` says, and the accuracies are those of what it says."""
    label, a, b = ["tea", "milk", "tea", "milk", "tea", "tea"], ["tea", "milk", "tea", "tea", "tea", "tea"], ["tea"] * 6
    (label if where in ("truth", "rows") else a)[4] = word
    if where in ("truth", "answers"):
        paths = [folder / "wide.csv"]
        paths[0].write_text(table(label=" ".join(label), a=" ".join(a), b=" ".join(b)), encoding="utf-8")
    else:
        paths = [folder / "rows.csv", folder / "a.csv", folder / "b.csv"]
        texts = asked(*label), table(prediction=" ".join(a)), table(prediction=" ".join(b))
        for path, content in zip(paths, texts, strict=True):
            path.write_text(content, encoding="utf-8")
    data = ["--data", paths[0]] if len(paths) > 1 else []
    arguments = ["run", *data, "--models", *paths[len(data) // 2 :], "-q"]
    ended = called(*arguments, output=folder / "out.json")
    assert ended.refused, ended.said
    assert ended.status == 2
    assert "--empty-words" in ended.said
    for words in (word, ""):
        ended = called(*arguments, "--empty-words", words, output=folder / "out.json")
        truth, readings = opinion(paths, (words,) if words else ())
        wrong = fault(ended, truth, readings)
        assert not wrong
        assert not ended.refused, ended.said
