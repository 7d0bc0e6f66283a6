"""One truth, written in every layout and with every harmless addition, gives the same values.

A `Truth` holds rows, their right answers, and what models answer. A `Writing` says how it is written: which files and
formats, with ids or texts, in which order, beside which pool, and with which additions. What a model's answers are
worth on the labelled rows is counted here, by equality and differences alone, and must not depend on the writing:
neither must the number of rows, the metric, nor the order of the models if nothing but these rows is read.

What may change: the order of models beside a pool, since it reads more than the labelled rows; the order among models
of one value; and all that is said of certainty. Two writings may be refused, see `may_be_refused`. A pool that no model
answers is refused, but beside marks, which read none.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ranker import Evidence, Runtime, SourceOptions, TableOptions, load_suite
from ranker.errors import RankModelsError, UsageError
from ranker.runs.collect import collect
from ranker.runs.decide import decide_plan
from ranker.runs.gather import gather_without_truth
from ranker.runs.inspected import inspect_models
from ranker.runs.plan import Plan, plan
from ranker.runs.rows import RowsFile
from ranker.runs.run_measurements import measure_run
from ranker.tasks.named import value_task

SCALE = (1, 5)
LABELS = (
    ("neg", "pos"), ("ham", "spam"), ("unacceptable", "acceptable"), ("real", "fake"), ("A", "B", "C"),
    ("entailment", "neutral", "contradiction"), ("0", "1"), ("1", "2"), ("01", "02"), ("0", "1", "2"),
    ("2019", "2020", "2021"), ("1", "2", "3", "4", "5"), ("-1", "1"), ("LABEL_0", "LABEL_1"),
)  # fmt: skip
JUNK = ("x", "?", "n.a.", "-", "error", "LABEL_7", "oops!")
PHRASES = ("red fox", "blue whale", "old oak", "tall ship")
METRICS = {"labels": "ACC", "texts": "EXACT-MATCH", "tags": "span-f1", "numbers": "1-MAE", "marks": "outcome"}
"""Kind -> metric. Tags beside a pool are compared by the mean of their rows."""
TAGS = ("B-PER O O", "O B-LOC O", "O O B-ORG")


@dataclass(frozen=True)
class Truth:
    """Rows of a domain, labelled and not, and what models answer to them.

    Attributes:
        kind: "labels", "texts", "tags", "numbers" or "marks".
        labels: the answers that are possible.
        ids: (N,) of all rows; the first `size` are labelled.
        size: K.
        gold: (N,) the right answers.
        answers: model -> (N,) its answers; None where it has none. Of marks, how good they are.
        junk: (model, row) -> what stands in the place of an answer.
        scores: a probability of each label stands for an answer.
    """

    kind: str
    labels: tuple[str, ...]
    ids: tuple[str, ...]
    size: int
    gold: tuple[str, ...]
    answers: dict[str, tuple[str | None, ...]]
    junk: dict[tuple[str, int], str]
    scores: bool = False

    def cell(self, model: str, row: int) -> str | None:
        """Write a model's answer to a row."""
        return self.junk.get((model, row), self.answers[model][row])

    @property
    def judged(self) -> list[int]:
        """Rows that count: a mark that is none, and scores that are not there, leave their row out for all models."""
        gone = {row for _, row in self.junk} if self.kind == "marks" else set()
        silent = {row for cells in self.answers.values() for row, cell in enumerate(cells) if cell is None}
        return [row for row in range(self.size) if row not in gone | (silent if self.scores else set())]

    def values(self) -> dict[str, float]:
        """Model -> mean worth of its answers to the labelled rows."""
        return {model: float(np.mean([self.worth(model, row) for row in self.judged])) for model in self.answers}

    def worth(self, model: str, row: int) -> float:
        """Worth of one answer, from 0 to 1."""
        answer = None if (model, row) in self.junk else self.answers[model][row]
        if answer is None:
            return 0.0
        if self.kind == "marks":
            return (float(answer) - SCALE[0]) / (SCALE[1] - SCALE[0])
        if self.kind == "numbers":
            return 1 - abs(float(answer) - float(self.gold[row])) / (SCALE[1] - SCALE[0])
        return float(answer == self.gold[row])


@dataclass(frozen=True)
class Writing:
    """How a truth is written.

    Attributes:
        layout: "files" (rows, and a file for each model), "apart" (rows, and a table with a column for each model),
            "wide" (one table with the truth) or "long" (rows, and a line for each model and row).
        form: ending of the files.
        ids: a column of ids.
        texts: "one", "two", "shared" (one for all rows), or "" for none.
        pool: "" for none, "others" (unlabelled rows), "all" (labelled ones, too), "strange" (rows without answers).
        shuffled: the files have orders of their own, of rows, columns and models.
        typed: numbers are written as numbers, where a form has types.
        extra: columns that say nothing.
        join: what files of answers hold beside these: "ids", "texts" or "" (the order tells).
        truth: files of answers hold the right ones, too.
        blank: the file of rows holds some without a label.
    """

    layout: str = "files"
    form: str = "csv"
    ids: bool = True
    texts: str = "one"
    pool: str = ""
    shuffled: bool = False
    typed: bool = False
    extra: bool = False
    join: str = "ids"
    truth: bool = False
    blank: bool = False


def drawn_truth(rng: random.Random, kind: str, labels: tuple[str, ...] = ()) -> Truth:
    """A truth in which models answer some rows wrongly, and one may be silent once."""
    choices = {"labels": labels, "texts": PHRASES, "tags": TAGS, "numbers": tuple("12345"), "marks": tuple("12345")}
    possible, size = choices[kind], rng.randint(6, 12)
    count = size + rng.randint(3, 8)
    gold = [possible[n % len(possible)] for n in range(count)]
    answers: dict[str, list[str | None]] = {}
    for model in ("bert", "gpt", "llama")[: rng.randint(2, 3)]:
        wrong = rng.uniform(0.1, 0.5)
        answers[model] = [rng.choice(possible) if kind == "marks" or rng.random() < wrong else true for true in gold]
        answers[model][: len(possible)] = gold[: len(possible)]  # so that each model uses each answer
    silent = rng.random() < 0.3 and kind not in ("marks", "tags")  # span-F1 is no mean
    if silent:
        answers["gpt"][rng.randrange(len(possible), count)] = None
    return Truth(
        kind, possible, tuple(f"r{n}" for n in range(count)), size, tuple(gold),
        {model: tuple(cells) for model, cells in answers.items()}, {},
    )  # fmt: skip


def drawn_writing(rng: random.Random, kind: str) -> Writing:
    """A writing that says which rows are which."""
    layouts = ["wide", "long"] if kind == "marks" else ["files", "apart", "long"]
    layout = rng.choice([*layouts, "wide"] if kind == "labels" else layouts)
    writing = Writing(
        layout=layout, form=rng.choice(("csv", "tsv", "jsonl", "json", "parquet")), ids=rng.random() < 0.7,
        texts=rng.choice(("one", "one", "two", "shared", "")), pool=rng.choice(("", "", "others", "all", "strange")),
        shuffled=rng.random() < 0.7, typed=rng.random() < 0.5, extra=rng.random() < 0.4,
        join=rng.choice(("ids", "ids", "ids", "texts", "")),
        truth=rng.random() < 0.2 and kind == "labels" and layout == "files", blank=rng.random() < 0.2,
    )  # fmt: skip
    if kind == "tags" and writing.texts == "two":
        writing = replace(writing, texts="one")
    if writing.texts in ("shared", "") or (layout == "long" and writing.shuffled):
        writing = replace(writing, ids=True)
    if layout not in ("files", "apart") or not writing.ids:
        writing = replace(writing, join="ids")
    if writing.join == "texts" and writing.texts not in ("one", "two"):
        writing = replace(writing, join="ids")
    if not writing.join:  # beside a pool, ids or texts must tell which rows are answered
        writing = replace(writing, shuffled=False, pool="")
    if kind == "marks" or layout == "wide":
        writing = replace(writing, ids=True, pool=writing.pool and "strange")
    return writing


class Files:
    """Files of one truth in one writing."""

    def __init__(self, folder: Path, truth: Truth, writing: Writing, rng: random.Random) -> None:
        self.folder, self.truth, self.writing, self.rng = folder, truth, writing, rng
        folder.mkdir(parents=True, exist_ok=True)

    def texts(self, row: int) -> dict[str, str]:
        """The texts of a row, by column."""
        if self.writing.texts == "two":
            return {"premise": f"Cook{row} saw maids", "hypothesis": f"Maid{row} ran."}
        words = {"one": f"Number{row} saw dogs", "shared": "Say what happened", "": ""}
        return {"text": words[self.writing.texts]} if self.writing.texts else {}

    def names(self, row: int) -> dict[str, str]:
        """The id and the texts of a row."""
        return ({"id": self.truth.ids[row]} if self.writing.ids else {}) | self.texts(row)

    def names_of_answer(self, row: int) -> dict[str, str]:
        """List the columns of a row in a file of answers."""
        if self.writing.ids and self.writing.join == "ids":
            return {"id": self.truth.ids[row]}
        return self.texts(row) if self.writing.join else {}

    def typed(self, cell: str | None) -> Any:
        """A cell, as a number if it is one."""
        plain = cell is not None and cell.removeprefix("-").isdecimal() and str(int(cell)) == cell
        return int(cell) if self.writing.typed and plain else cell

    def write(self, name: str, rows: list[dict[str, Any]], extra: bool = True) -> Path:
        """Write one file, in an order of its own."""
        if self.writing.extra and extra:
            for number, row in enumerate(rows):
                row |= {"words": 17 + number % 13, "comment": f"Seen on day {number}.", "seconds": 100 + number / 7}
        columns = list(rows[0])
        if self.writing.shuffled:
            self.rng.shuffle(rows)
            self.rng.shuffle(columns)
        rows = [{column: row[column] for column in columns} for row in rows]
        path, form = self.folder / f"{name}.{self.writing.form}", self.writing.form
        if form == "parquet":
            table = {column: [row[column] for row in rows] for column in columns}
            mixed = {n for n, cells in table.items() if {type(c) for c in cells} - {type(None)} not in ({int}, {float})}
            pq.write_table(
                pa.table({n: [None if c is None else str(c) for c in cells] if n in mixed else cells
                          for n, cells in table.items()}), path,
            )  # fmt: skip
        elif form in ("json", "jsonl"):
            lines = [json.dumps(row) for row in rows]
            path.write_text("[" + ",".join(lines) + "]" if form == "json" else "\n".join(lines) + "\n")
        else:
            with path.open("w", newline="") as file:
                writer = csv.writer(file, delimiter="," if form == "csv" else "\t", quoting=csv.QUOTE_MINIMAL)
                writer.writerow(columns)
                writer.writerows([["" if row[c] is None else row[c] for c in columns] for row in rows])
        return path

    def answer(self, model: str, row: int) -> Any:
        """The cell of a model's answer."""
        cell = self.truth.cell(model, row)
        return cell if (model, row) in self.truth.junk else self.typed(cell)

    def line(self, model: str, row: int) -> dict[str, Any]:
        """The line of one answer in a file of one model."""
        truth = {"label": self.typed(self.truth.gold[row])} if self.writing.truth else {}
        if not self.truth.scores:
            return {**self.names_of_answer(row), "prediction": self.answer(model, row), **truth}
        answer, share = self.truth.answers[model][row], 0.3 / (len(self.truth.labels) - 1)
        scores = {f"prob_{label}": 0.7 if label == answer else share for label in self.truth.labels}
        if answer is None:
            scores = dict.fromkeys(scores)
        return {**self.names_of_answer(row), **scores, **truth}

    def rows(self) -> Path:
        """The labelled rows."""
        label = {"labels": "label", "texts": "reference", "tags": "tags", "numbers": "label"}[self.truth.kind]
        rows = [{**self.names(n), label: self.typed(self.truth.gold[n])} for n in range(self.truth.size)]
        if self.writing.blank:
            rows.insert(1, {**{column: f"{cell}b" for column, cell in self.names(2).items()}, label: None})
        return self.write("rows", rows)

    def pool(self) -> Path | None:
        """The rows of the pool; None without one."""
        if not self.writing.pool:
            return None
        size, count = self.truth.size, len(self.truth.ids)
        chosen = range(0 if self.writing.pool == "all" else size, count)
        texts = [self.texts(n) or {"text": f"Pool text{n} here"} for n in chosen]
        names = [{"id": self.truth.ids[n]} if self.writing.ids else {} for n in chosen]
        if self.writing.pool == "strange":
            names = [{"id": f"s{n}"} if self.writing.ids else {} for n in chosen]
            texts = [{column: f"{text}x" for column, text in columns.items()} for columns in texts]
        return self.write("pool", [{**name, **text} for name, text in zip(names, texts, strict=True)], extra=False)

    def models(self) -> list[str]:
        """References to the models."""
        truth, layout = self.truth, self.writing.layout
        answered = range(len(truth.ids) if self.writing.pool in ("others", "all") else truth.size)
        models = list(truth.answers)
        if self.writing.shuffled:
            self.rng.shuffle(models)
        if layout == "files":
            return [str(self.write(model, [self.line(model, n) for n in answered])) for model in models]
        if layout == "long":
            lines = [{**self.names_of_answer(n), "model": model, "prediction": self.answer(model, n)}
                     for n in answered for model in models]  # fmt: skip
            return [str(self.write("long", lines))]
        cells = [{model: self.answer(model, n) for model in models} for n in answered]
        names = self.names if layout == "wide" else self.names_of_answer
        lines = [{**names(n), **of_row} for n, of_row in zip(answered, cells, strict=True)]
        if layout == "wide" and truth.kind != "marks":
            lines = [{**line, "label": self.typed(truth.gold[n])} for n, line in enumerate(lines)]
        return [str(self.write(layout, lines))]


def written_run(folder: Path, truth: Truth, writing: Writing, seed: int) -> Plan:
    """The plan of a run on a truth in a writing, as `decide` makes it."""
    files = Files(folder, truth, writing, random.Random(seed))
    options = TableOptions(answers="outcomes", scale=SCALE) if truth.kind == "marks" else TableOptions()
    if writing.layout == "apart":
        answers = "labels" if truth.kind == "labels" and set(truth.labels) <= {"0", "1"} else ""
        options = TableOptions(answers=answers, prediction=() if truth.kind == "labels" else tuple(truth.answers))
    tasks = {"texts": "text", "tags": "tags", "numbers": "number"}
    task = value_task(tasks[truth.kind], scale=SCALE) if truth.kind in tasks else None
    with_truth = truth.kind == "marks" or writing.layout == "wide"
    rows, pool = None if with_truth else RowsFile(files.rows(), task), files.pool()
    models = inspect_models(load_suite(files.models(), SourceOptions(kinds=[options])))
    inputs = gather_without_truth(models, rows, () if pool is None else RowsFile(pool))
    return plan(inputs, Evidence("none"), metric="exact-match" if truth.kind == "texts" else None)


def check(folder: Path, seed: int, decided: bool) -> None:
    """Compare one truth, in one writing, with what is counted here; the order only if the run is `decided`."""
    rng = random.Random(seed)
    kind = rng.choice(["labels", "labels", *METRICS])
    truth = drawn_truth(rng, kind, rng.choice(LABELS))
    writing = drawn_writing(rng, kind)
    if kind == "labels" and writing.layout == "files" and rng.random() < 0.25:
        truth = replace(truth, scores=True)
    elif rng.random() < 0.25 and kind not in ("texts", "tags"):
        model, row = rng.choice(list(truth.answers)), rng.randrange(len(truth.labels), len(truth.ids))
        truth = replace(truth, junk={(model, row): rng.choice(JUNK)})
    run_plan, runtime = written_run(folder, truth, writing, seed), Runtime(store=None)
    measurements = measure_run(run_plan, collect(run_plan, runtime), runtime)
    outcomes = measurements.table.outcomes
    judged = ~np.isnan(outcomes).any(axis=0)
    values = dict(zip(measurements.table.models, outcomes[:, judged].mean(axis=1).tolist(), strict=True))
    metric = "ROW-F1" if kind == "tags" and writing.pool else METRICS[kind]
    assert values == pytest.approx(truth.values(), abs=1e-9)
    name = run_plan.metric.name if run_plan.metric else run_plan.task.metric
    assert (int(judged.sum()), name) == (len(truth.judged), metric)
    if decided and writing.pool == "strange" and kind != "marks":
        with pytest.raises(UsageError, match="no row of the pool without a label has an answer of every model"):
            decide_plan(run_plan, 0, runtime)
    elif decided:
        decision = decide_plan(run_plan, 0, runtime).decision
        assert {model.name: model.outcome for model in decision.models} == pytest.approx(values)
        if not writing.pool:
            order = [round(values[model.name], 9) for model in decision.models]
            assert order == sorted(order, reverse=True)


def may_be_refused(seed: int, message: str) -> bool:
    """Tell whether a refusal, of a run or of a model, is one that is better than a guess.

    A file is read before the rows are. So numbers that hardly repeat, beside a column with fractions, may be labels or
    measurements: the user is asked for the task. A line of separators alone is a spreadsheet's end, or a row without an
    answer: if only the order tells which row is which, the number of lines does not fit.
    """
    rng = random.Random(seed)
    kind = rng.choice(["labels", "labels", *METRICS])
    truth = drawn_truth(rng, kind, rng.choice(LABELS))
    writing = drawn_writing(rng, kind)
    if "no labels of a task are found" in message:
        numbers = all(label.removeprefix("-").isdecimal() for label in truth.labels)
        return kind == "labels" and numbers and writing.extra and 2 * len(truth.labels) > truth.size
    silent = any(None in cells for cells in truth.answers.values())
    return "so that their order must tell" in message and silent and not writing.join and writing.form in ("csv", "tsv")


PARTS = 10
"""Tests that the quick run is cut into, for several processes."""


@pytest.mark.more
@pytest.mark.parametrize(
    ("first", "count"),
    [
        *((20 * part, 20) for part in range(PARTS)), (2_785, 1), (3_605, 1), (6_957, 1), (11_905, 1),
        pytest.param(0, 20_000, marks=pytest.mark.soak),
    ],
)  # fmt: skip
def test_one_truth_has_one_value_in_every_writing(tmp_path, caplog, first, count):
    """Each seed draws a truth and a writing; every tenth run is decided, too."""
    wrong: dict[int, str] = {}
    refused = 0
    for seed in range(first, first + count):
        caplog.clear()
        try:
            check(tmp_path / str(seed), seed, decided=seed % 10 == 0)
        except (AssertionError, RankModelsError) as error:
            if may_be_refused(seed, f"{error}{caplog.text}"):
                refused += 1
            else:
                wrong[seed] = f"{type(error).__name__}: {error}"
        shutil.rmtree(tmp_path / str(seed))
    assert wrong == {}
    assert refused <= 1 + count / 200


def test_a_wrong_value_is_found(tmp_path):
    """If the files hold other answers than those that are counted."""
    rng = random.Random(0)
    truth = drawn_truth(rng, "labels", LABELS[0])
    swapped = replace(truth, gold=tuple(truth.labels[1 - truth.labels.index(label)] for label in truth.gold))
    run_plan = written_run(tmp_path, swapped, Writing(), 0)
    runtime = Runtime(store=None)
    outcomes = measure_run(run_plan, collect(run_plan, runtime), runtime).table.outcomes
    assert outcomes.mean(axis=1).tolist() != pytest.approx(list(truth.values().values()))
