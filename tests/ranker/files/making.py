"""Tables of predictions as people have them, made of a few choices: what labels, what is empty, how it is written."""

import csv
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from opinion import fold
from pyarrow import parquet

LABELS: dict[str, tuple[Any, ...]] = {
    "moods": ("pos", "neg"),
    "three": ("Negative", "Neutral", "Positive"),
    "nli": ("entailment", "non-entailment"),
    "two words": ("not_related", "Related To"),
    "letters": ("A", "B", "C", "D"),
    "y and n": ("y", "n"),
    "valid": ("valid", "invalid"),
    "signs": ("-", "+"),
    "three signs": ("-", "0", "+"),
    "dashes": ("_", "-"),
    "minus one": ("-1", "0", "1"),
    "plus one": ("-1", "+1"),
    "zero padded": ("01", "02", "10"),
    "padded or not": ("01", "1"),
    "versions": ("v1", "v-1"),
    "accents": ("né", "été"),
    "separators": ("a,b", "a;b", 'say "c"'),
    "True": ("True", "False"),
    "bits": (0, 1),
    "counted": (1, 2, 3),
    "stars": (1, 2, 3, 4, 5),
    "far numbers": (10, 250, 1001),
    "below zero": (-1, 0, 1),
    "booleans": (False, True),
    "alike": ("a-b", "a_b"),
    "case": ("us", "US"),
}
"""Alphabets of labels; those that are no texts stand in JSON and in Parquet as what they are."""

NUMBERS = {name for name, labels in LABELS.items() if not isinstance(labels[0], str)}

WORDS = ("NA", "N/A", "nan", "NaN", "null", "None", "none", "#N/A")
"""Words that programs write where nothing is known."""

STRAY = ("unsure", "I cannot say", "refused")
"""Answers that are no label of any alphabet."""

LATE = ("booleans", "floats", "stray", "large")
"""What the first answers of the first model are, other than the rest, in a JSON file of numbers."""

FORMATS = (".csv", ".tsv", ".jsonl", ".json", ".parquet")

JSON = (".jsonl", ".json")

LARGE = 2**53 + 1
"""A whole number that no float is."""

MODELS = ("bert", "gpt", "llama", "mistral")


@dataclass(frozen=True)
class File:
    """Choices that make a table, or a table and files of answers."""

    formats: tuple[str, ...] = (".csv",)  # endings of the wide table; or of the rows, and of each model's file
    labels: str = "moods"
    rows: int = 12
    models: int = 2
    silent: float = 0.0  # share of empty answers
    unknown: int = 0  # number of rows without a truth
    respelled: bool = False  # answers differ from the truth in case, and in `_`, `-` and blanks
    strays: int = 0  # number of different answers that are no label
    word: tuple[str, str] = ("", "")  # a word for nothing that stands in a column of labels, and in which
    declared: str | None = None  # the value of `--empty-words`
    late: tuple[int, str] = (0, "")  # where the first model's cells change, and their kind before that (`LATE`)
    ids: str = "text"  # "text", "number", "padded", "large", or "" for none
    own_ids: str = "same"  # of the models' files: "same", "shuffled", "", or "other": where the rows have none
    texts: bool = False
    own_texts: bool = False  # the models' files have texts, too; their rows are then shuffled
    quoted: bool = False  # all cells of a `.tsv` stand in quotes, names too
    answers: bool = False  # with `--answers labels`
    seed: int = 0

    @property
    def wide(self) -> bool:
        """True if it is one table."""
        return len(self.formats) == 1


def drawn(wide: bool, number: int) -> File:
    """A file that somebody may have; most are small, and some are larger than a block of 1,000 rows."""
    draw = random.Random(number)
    choose = draw.choice
    models = choose((2, 2, 2, 3, 4))
    late = choose(LATE) if choose(range(8)) == 0 else ""
    rows = choose([*range(1, 31), *range(4, 61), 999, 1000, 1001, 1500, 2100, 3000])
    formats = tuple(choose(FORMATS) for _ in range(1 if wide else 1 + models))
    labels = choose(list(LABELS))
    if late:
        rows, labels = choose((24, 40, 1001, 1500, 2100)), choose(("bits", "counted"))
        formats = (choose(JSON),) if wide else (formats[0], choose(JSON), *formats[2:])
    if labels == "booleans" and formats[0] not in (".csv", ".tsv"):  # is `True` in a text JSON's true? nobody says
        formats = (formats[0], *(choose((*JSON, ".parquet")) for _ in formats[1:]))
    plain = labels != "booleans" or {*formats} <= {*JSON}
    word = choose(WORDS) if plain and not late and choose(range(6)) == 0 else ""
    ids = choose(("text", "text", "number", "padded", "large", ""))
    texts = not wide or choose((False, True))
    return File(
        formats=formats,
        labels=labels,
        rows=rows,
        models=models if rows < 900 else 2,
        silent=choose((0.0, 0.0, 0.1, 0.3)),
        unknown=choose((0, 0, 0, 1, rows // 4)),
        respelled=choose((False, True)),
        strays=choose((0, 0, 0, 1, 2)) if rows >= 12 and plain and not late else 0,
        word=(word, choose(("truth", "answers", "both")) if word else ""),
        declared=choose((None, word, "")) if word else None,
        late=(choose((rows // 2, rows - 5, min(1000, rows - 1))) if late else 0, late),
        ids=ids,
        own_ids=choose(("same", "shuffled", "shuffled", "") if ids else ("", "", "other")),
        texts=texts,
        own_texts=texts and choose((False, True)),
        quoted=choose((False, True)),
        answers=labels in ("bits", "booleans") or bool(late) or choose((False, True)),
        seed=draw.randrange(2**16),
    )


def files(wide: bool) -> st.SearchStrategy[File]:
    """Files that differ in everything: of one number each, since hypothesis would vary a few of them many times."""
    return st.builds(drawn, st.just(wide), st.integers(0, 2**48))


def simpler(file: File) -> Iterator[File]:
    """The same file with one thing less, each of which may still be read wrongly."""
    usual = File(texts=file.texts, ids=file.ids)
    for name in ("silent", "unknown", "respelled", "strays", "own_texts", "quoted", "models", "labels"):
        if not (name == "labels" and file.late[1]):
            yield replace(file, **{name: getattr(usual, name)})
    yield replace(file, formats=tuple(".jsonl" if file.late[1] else ".csv" for _ in file.formats))
    for rows in (3, 6, 12, 24):
        if rows < file.rows:
            late = (min(file.late[0], rows // 2), file.late[1])
            yield replace(file, rows=rows, unknown=min(file.unknown, 1), late=late)


def columns(file: File) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The columns of the rows (ids, texts, truth) and of the models, in one order."""
    draw = random.Random(file.seed)
    labels, size = LABELS[file.labels], file.rows
    of_text = isinstance(labels[0], str)
    truth: list[Any] = [labels[n % len(labels)] for n in range(size)]
    draw.shuffle(truth)
    models: dict[str, list[Any]] = {}
    for rank, name in enumerate(MODELS[: file.models]):
        models[name] = [answer if draw.random() < 0.85 - rank / 10 else draw.choice(labels) for answer in truth]
        if file.respelled and of_text:
            models[name] = [respelled(answer, draw) for answer in models[name]]
    first, name = models[MODELS[0]], MODELS[file.models - 1]
    until, kind = file.late
    if kind:
        first[:until] = [early(answer, kind, rank) for rank, answer in enumerate(first[:until])]
    for stray in STRAY[: file.strays]:
        models[name][draw.randrange(size)] = LARGE if not of_text and stray == STRAY[0] else stray
    word, column = file.word
    if word and column != "answers":
        truth[draw.randrange(size)] = word
    if word and column != "truth":
        for place in draw.sample(range(size), min(size, 3)):
            models[name][place] = word
    for answer in models.values():
        answer[:] = [None if draw.random() < file.silent else cell for cell in answer]
    for place in draw.sample(range(size), file.unknown):
        truth[place] = None
    start = LARGE if file.ids == "large" else draw.choice((0, 1, 5, 400))
    numbers = list(range(start, start + size))
    ids = {"text": [f"r{n}" for n in numbers], "padded": [f"{n:05}" for n in range(size)]}.get(file.ids, numbers)
    rows: dict[str, list[Any]] = {"id": ids} if file.ids else {}
    if file.texts:
        odd = ("The meal, number {}.", 'He said "no", and\nleft: {}.', "Row\t{}; fine.", "Plain {}")
        rows["text"] = [draw.choice(odd).format(n) for n in range(size)]
    return {**rows, "label": truth}, models


def holds_word(file: File) -> bool:
    """Whether a word for nothing stands where it may be a label, which it is not among answers to a known task."""
    # an empty cell may have come in its place
    rows, models = columns(file)
    columns_of_labels = [rows["label"], *(models.values() if file.labels != "nli" else ())]
    return bool(file.word[0]) and any(file.word[0] in cells for cells in columns_of_labels)


def respelled(label: str, draw: random.Random) -> str:
    """A label in another spelling of the same, as models write it."""
    if not label[0].isalpha() or label.casefold() in ("us", "v1"):
        return label
    between = draw.choice(("_", "-", " "))
    if label[:2] not in ("v-", "a-", "a_"):
        label = "".join(between if sign in "_- " else sign for sign in label)
    return draw.choice((label, label.upper(), label.lower(), label.title(), f" {label} "))


def early(label: Any, kind: str, place: int) -> Any:
    """A label as the first part of a file has it, the rest of which is of whole numbers."""
    if kind == "booleans":
        return bool(label) if label in (0, 1) else label
    if kind == "floats":
        return float(label)
    if place % 7:
        return float(label) if kind == "large" else label
    return STRAY[1] if kind == "stray" else LARGE


def written(file: File, folder: Path) -> tuple[list[str | Path], list[Path]]:
    """Write the files; the arguments of the program, and the same files for a reader without Parquet."""
    rows, models = columns(file)
    options: list[str | Path] = ["--answers", "labels"] if file.answers else []
    if file.declared is not None:
        options += ["--empty-words", file.declared]
    if file.wide:
        path, twin = saved(folder / "wide", file.formats[0], {**rows, **models}, file)
        return ["--models", path, *options], [twin]
    draw = random.Random(file.seed + 1)
    data_path, twin = saved(folder / "rows", file.formats[0], rows, file)
    paths, twins = [], [twin]
    for (name, answers), ending in zip(models.items(), file.formats[1:], strict=False):
        extra_columns: dict[str, list[Any]] = {}
        order = list(range(file.rows))
        if file.own_ids == "other":
            extra_columns["id"] = draw.sample(range(1, 3 * file.rows + 2), file.rows)
        elif file.own_ids:
            extra_columns["id"] = rows["id"]
        if file.own_texts:
            extra_columns["text"] = rows["text"]
        if file.own_ids == "shuffled" or (file.own_texts and file.own_ids != "same"):
            draw.shuffle(order)
        table = {
            column: [cells[place] for place in order]
            for column, cells in {**extra_columns, "prediction": answers}.items()
        }
        path, twin = saved(folder / name, ending, table, file)
        paths.append(path)
        twins.append(twin)
    return ["--data", data_path, "--models", *paths, *options], twins


def saved(path: Path, ending: str, cells: dict[str, list[Any]], file: File) -> tuple[Path, Path]:
    """Write a table; its path, and that of the same for a reader without Parquet."""
    path = path.with_suffix(ending)
    if ending == ".parquet":
        cells = {name: one_kind(column) for name, column in cells.items()}
    items = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    if ending == ".parquet":
        parquet.write_table(pa.table(cells), path)
        twin = path.with_name(f"{path.stem}-twin.jsonl")
        twin.write_text("".join(json.dumps(record) + "\n" for record in items), encoding="utf-8")
        return path, twin
    if ending in JSON:
        nothing = random.Random(file.seed).choice((None, float("nan"), "")) if ending == ".json" else None
        items = [{name: nothing if cell is None else cell for name, cell in record.items()} for record in items]
        text = json.dumps(items) if ending == ".json" else "".join(json.dumps(record) + "\n" for record in items)
        path.write_text(text, encoding="utf-8")
        return path, path
    with path.open("w", encoding="utf-8", newline="") as opened:
        odd = ending == ".tsv" and ("text" in cells or file.labels == "separators" or len(cells) == 1)
        quoting = csv.QUOTE_ALL if file.quoted or odd else csv.QUOTE_MINIMAL
        out = csv.writer(opened, delimiter="," if ending == ".csv" else "\t", quoting=quoting, lineterminator="\n")
        out.writerow(cells)
        out.writerows([["" if cell is None else cell for cell in record.values()] for record in items])
    return path, path


def one_kind(cells: list[Any]) -> list[Any]:
    """A column as Parquet can hold it: as texts, where it holds texts and other things."""
    if len({type(cell) for cell in cells} - {type(None)}) < 2:
        return cells
    return [None if cell is None else str(cell) for cell in cells]


def readable(file: File, truth: Sequence[str | None]) -> bool:
    """Whether the rule leaves no question: labels of two kinds or more, no ambiguity, no ids that rows lack."""
    labels = {text for text in truth if text is not None}
    return len(labels) > 1 and len({*map(fold, labels)}) == len(labels) and file.own_ids != "other"
