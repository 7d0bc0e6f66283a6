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
    """Number of files that the rule can read, and of those of them that were refused, by the reason."""

    readable: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def check(self) -> None:
        """Print what was refused, and hold its share against what may be."""
        for kind, count in self.kinds.most_common():
            print(f"{count} of {self.readable} refused: {kind}")  # noqa: T201  # a soak run shows it
        assert self.kinds.total() <= MOST_REFUSED * self.readable, self.kinds


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
    rows, *answers = map(rows_of, twins)
    truth, truths = truth_of(rows, "label", words)
    if answers:
        cells = {
            path.stem.removesuffix("-twin"): [row.get("prediction") for row in joined(rows, of_model)]
            for path, of_model in zip(twins[1:], answers, strict=True)
        }
    else:
        names = dict.fromkeys(name for row in rows for name in row if name not in ("id", "text", "label"))
        cells = {name: [row.get(name) for row in rows] for name in names}
    models = {name: column(of_model, words, truths) for name, of_model in cells.items()}
    return truth, accuracies(truth, models) if any(truth) else []


def fault(ended: Ended, truth, readings) -> str:
    """Fault of what the program said; "" where it is what the second opinion says, or a refusal."""
    if ended.refused and not ended.json:
        return ""
    if not ended.json or not (ended.refused or ended.status == 0):
        return f"no refusal in one line, but {ended.status}: {ended.message}"
    if not readings:
        return "no row has a truth"
    accuracy, labelled = ended.accuracies, sum(text is not None for text in truth)
    unread = " ".join(note for note in ended.json["header"]["notes"] if "not read" in note)
    models = {name for name in readings[0] if repr(name) not in unread}  # numbers of which most are no labels are said
    if {*accuracy} | ended.failed != models or (ended.failed and not ended.refused):
        return f"models are {sorted(accuracy)}, and stand in the file as {sorted(readings[0])}"
    if not any(all(abs(accuracy[name] - reading[name]) <= EXACT for name in accuracy) for reading in readings):
        return f"accuracies are {accuracy}, and by the rule {readings}"
    pairs = len(accuracy) * (len(accuracy) - 1) // 2
    if ended.paired != [labelled] * pairs:
        return f"{pairs} pairs are compared on {labelled} rows (got {ended.paired})"
    return ""


def looked_at(file: File, folder, survey: Survey) -> str:
    """Write the files, and see what the program makes of them: what is wrong with that."""
    arguments, twins = written(file, folder)
    ended = called("run", *arguments, "-q", output=folder / "out.json")
    truth, readings = opinion(twins, (file.declared,) if file.declared else ())
    if file.declared is None and holds_word(file):
        asks = ended.status == 2 and "--empty-words" in ended.message
        stated = ("run", *arguments, "--empty-words", file.word[0], "-q")
        right = ended.refused and not ended.json and (asks or called(*stated, output=folder / "told.json").refused)
        return "" if right else f"it must ask what {file.word} is (got {ended.status}: {ended.message[:300]})"
    if readable(file, truth):
        survey.readable += 1
        if ended.refused:
            survey.kinds[kind_of(ended.message)] += 1
    return fault(ended, truth, readings)


def simplest(file: File, folder) -> str:
    """A simpler file that is read wrongly, too, and what is wrong with that."""
    while smaller := next((part for part in simpler(file) if part != file and looked_at(part, folder, Survey())), None):
        file = smaller
    return f"{file}: {looked_at(file, folder, Survey())}"


def kind_of(message: str) -> str:
    """A refusal without what is of this file: its name, its numbers and what it quotes."""
    words = message.removeprefix("rank-models: ").split(";")[0].split()
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
    """Files in which a fault was seen, and the accuracies."""

    files: dict[str, str]  # name -> content; the rows are first, if they stand in a file of their own
    right: dict[str, float]  # model -> accuracy
    arguments: tuple[str, ...] = ()
    refused: bool = False  # it may be refused, too


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


def wide(right, refused=False, **columns):
    """A case of one table."""
    return Case({"wide.csv": table(**columns)}, right, refused=refused)


def bits(*answers, right=1.0, refused=False):
    """A case of 1,200 rows of 0 and 1, on which the second of two models has nine of ten right."""
    files = {"rows.csv": asked(*BITS), "a.jsonl": said(*answers), "b.jsonl": said(*TENTH)}
    return Case(files, {"a": right, "b": 0.9}, ("--answers", "labels"), refused)


STRAYS = {"label": "tea milk tea milk tea milk", "a": "tea milk tea tea tea milk", "b": "tea milk tea milk ? oat"}
GAP = {"label": "tea milk tea milk tea .", "a": "tea milk tea tea tea milk", "b": "tea milk milk milk milk tea"}

CASES = {
    "a minus is a label, an empty cell is none": wide(
        {"a": 0.75, "b": 0.625}, label="- - - - + + + +", a="- - . . + + + +", b="- - - + + + - -"
    ),
    "a zero before a number": wide({"a": 4 / 6, "b": 0.5}, label="01 1 01 1 01 1", a="01 1 1 1 01 01", b="1 1 1 1 1 1"),
    "a low line and a minus": wide({"a": 5 / 6, "b": 0.5}, label="_ - _ - _ -", a="_ - - - _ -", b="_ _ _ _ _ _"),
    "a low line, a minus, and a letter": wide(
        {"a": 5 / 6, "b": 2 / 6}, label="_ - x _ - x", a="_ - x - - x", b="_ _ _ _ _ _"
    ),
    "minus one is a truth": wide({"a": 4 / 6, "b": 0.5}, label="-1 0 1 -1 0 1", a="-1 0 1 -1 1 .", b="0 0 0 -1 0 0"),
    "minus one is a truth of rows": Case(
        {
            "rows.csv": asked(-1, 0, 1, -1, 0, 1),
            "a.csv": table(prediction="-1 0 1 -1 1 ."),
            "b.csv": table(prediction="0 0 0 -1 0 0"),
        },
        {"a": 4 / 6, "b": 0.5},
    ),
    "n is a label": wide({"a": 5 / 6, "b": 0.5}, label="y n y n y n", a="y n y y y n", b="n n n n n n"),
    "a truth value is not the label beside False": Case(
        {
            "rows.csv": asked("False", "False", "N/A", "False"),
            "a.csv": table(id="q0 q1 q2 q3", prediction="False False True False"),
            "b.csv": table(id="q0 q1 q2 q3", prediction="False N/A N/A N/A"),
        },
        {"a": 0.75, "b": 0.5},
        ("--empty-words", ""),
    ),
    "truth values, and whole numbers from the second thousand on": bits(*map(bool, BITS[:1000]), *BITS[1000:]),
    "whole numbers, and a truth value at the end": bits(*BITS[:-1], True),
    "whole numbers, and floats from the second thousand on": bits(*BITS[:1000], *map(float, BITS[1000:])),
    "a number that no float is, and floats from the second thousand on": bits(
        2**53 + 1, *BITS[1:1000], *map(float, BITS[1000:]), right=1199 / 1200, refused=True
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
    "numbers, and a stray text from the second thousand on": bits(
        *BITS[:-1], "I cannot say", right=1199 / 1200, refused=True
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
    "two answers that are no labels": wide({"a": 5 / 6, "b": 4 / 6}, refused=True, **STRAYS),
    "two answers that are no labels, among three models": wide(
        {"a": 5 / 6, "b": 4 / 6, "c": 0.5}, refused=True, **STRAYS, c="milk milk milk milk milk milk"
    ),
    "one row has no truth": wide({"a": 0.8, "b": 0.6}, **GAP),
    "one row has no truth, among three models": wide(
        {"a": 0.8, "b": 0.6, "c": 0.4}, **GAP, c="milk milk milk milk milk milk"
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
    data_options = ["--data", paths[0]] if len(paths) > 1 else []
    models = paths[1:] if data_options else paths
    ended = called("run", *data_options, "--models", *models, *case.arguments, "-q", output=folder / "out.json")
    truth, readings = opinion(paths)
    assert readings == [pytest.approx(case.right, abs=EXACT)]
    wrong = fault(ended, truth, readings)
    assert not wrong
    assert case.refused or not ended.refused, ended.message


@pytest.mark.more
@pytest.mark.parametrize(
    ("column", "word"),
    [*(("truth", word) for word in ("NA", "n/a", "nan", "NULL", "None", "#N/A")), ("answers", "NA"), ("rows", "NA"),
     ("file", "NA")],
)  # fmt: skip
def test_a_word_for_nothing_is_asked_about(folder, column, word):
    """The word may be a label, or nothing: the accuracies are those of what `--empty-words` says."""
    label, a, b = ["tea", "milk", "tea", "milk", "tea", "tea"], ["tea", "milk", "tea", "tea", "tea", "tea"], ["tea"] * 6
    (label if column in ("truth", "rows") else a)[4] = word
    if column in ("truth", "answers"):
        paths = [folder / "wide.csv"]
        paths[0].write_text(table(label=" ".join(label), a=" ".join(a), b=" ".join(b)), encoding="utf-8")
    else:
        paths = [folder / "rows.csv", folder / "a.csv", folder / "b.csv"]
        texts = asked(*label), table(prediction=" ".join(a)), table(prediction=" ".join(b))
        for path, content in zip(paths, texts, strict=True):
            path.write_text(content, encoding="utf-8")
    data_options = ["--data", paths[0]] if len(paths) > 1 else []
    arguments = ["run", *data_options, "--models", *paths[len(data_options) // 2 :], "-q"]
    ended = called(*arguments, output=folder / "out.json")
    assert ended.refused, ended.message
    assert ended.status == 2
    assert "--empty-words" in ended.message
    for words in (word, ""):
        ended = called(*arguments, "--empty-words", words, output=folder / "out.json")
        truth, readings = opinion(paths, (words,) if words else ())
        wrong = fault(ended, truth, readings)
        assert not wrong
        assert not ended.refused, ended.message
