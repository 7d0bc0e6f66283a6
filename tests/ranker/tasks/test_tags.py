"""Tags and the F1 of their spans, against seqeval and nervaluate, and in whole runs from CoNLL files."""

import json
import random
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import seqeval.metrics
from nervaluate import Evaluator
from seqeval.scheme import IOB2

from factors import Example
from ranker import decide
from ranker.errors import Assumption, DataError, UnknownName
from ranker.runs.inspected import inspect_references
from ranker.runs.rows import RowsFile, labelled
from ranker.sources.base import ResourceCache, SourceOptions
from ranker.sources.references import Reference
from ranker.sources.tables import kind
from ranker.sources.tables.options import TableOptions
from ranker.sources.tables.values import collect_values
from ranker.tasks.tags import TagTask

TASK = TagTask("tags")
ALL = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


@pytest.fixture(scope="module")
def rows():
    """(targets, answers) of random tags, broken ones among them: I that follows nothing of its type."""
    rng = random.Random(0)
    true = [[rng.choice(ALL) for _ in range(rng.randint(1, 12))] for _ in range(300)]
    answers = [[tag if rng.random() < 0.7 else rng.choice(ALL) for tag in row] for row in true]
    return [tuple(row) for row in true], [tuple(row) for row in answers]


def value(name, answers, true):
    """A metric of all rows."""
    metric = TASK.metric_named(name)
    return float(metric.value(metric.statistics(answers, true).mean(axis=0)))


def test_span_f1_is_that_of_seqeval(rows):
    """By default as conlleval counts, and in its strict mode by IOB2."""
    true, answers = rows
    as_lists = [list(map(list, side)) for side in rows]
    assert value("", answers, true) == pytest.approx(seqeval.metrics.f1_score(*as_lists), abs=1e-12)
    strict = seqeval.metrics.f1_score(*as_lists, mode="strict", scheme=IOB2)
    assert value("span-f1:strict", answers, true) == pytest.approx(strict, abs=1e-12)


@pytest.mark.parametrize(("mode", "name"), [("exact", "exact"), ("partial", "partial"), ("type", "ent_type")])
def test_lenient_modes_are_those_of_nervaluate(rows, mode, name):
    """Of tags that mark spans as IOB2 does: its own reading of broken ones is another."""
    true, answers = ([[f"B{tag[1:]}" if tag[0] == "I" else tag for tag in row] for row in side] for side in rows)
    expected = Evaluator(true, answers, tags=["PER", "LOC"], loader="list").evaluate()["overall"][name].f1
    assert value(f"span-f1:{mode}", answers, true) == pytest.approx(expected, abs=1e-12)


def test_the_outcome_of_a_row_is_its_own_f1(rows):
    """1 where neither side has a span, 0 for a row without an answer."""
    true, answers = rows
    examples = [Example(str(n), ("x",), tags) for n, tags in enumerate(true)]
    outcomes = TASK.outcomes(TASK.predictions(answers), examples)
    for outcome, tags, answer in zip(outcomes, true, answers, strict=True):
        empty = all(tag == "O" for tag in (*tags, *answer))
        expected = 1.0 if empty else seqeval.metrics.f1_score([list(tags)], [list(answer)])
        assert outcome == pytest.approx(expected, abs=1e-12)
    assert TASK.outcomes(TASK.predictions([None]), examples[:1]).tolist() == [0.0]


@pytest.mark.parametrize(
    ("cell", "tokens", "message"),
    [
        ("B-PER X", "", "a tag must be O, B-TYPE or I-TYPE (got 'X')"),
        ("B- O", "", "a tag must be O, B-TYPE or I-TYPE (got 'B-')"),
        ([1, 2], "", "tags must be a list of texts (got '[1, 2]')"),
        (7, "", "tags must be a list of texts (got '7')"),
        ("B-PER O", "Ann saw it", "each token needs a tag (got 2 tags for 3 tokens)"),
    ],
)
def test_cells_that_are_no_tags_are_refused(cell, tokens, message):
    """In words that name the tag, or the numbers of tokens and tags."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        TASK.answer_of(cell, (tokens,))


@pytest.mark.parametrize("cell", ["B-PER O", '["B-PER", "O"]', ["B-PER", "O"], ("B-PER", "O")])
def test_tags_are_read_from_lists_and_texts(cell):
    """As CSV, JSON and Parquet hold them."""
    assert TASK.answer_of(cell, ("Ann ran",)) == ("B-PER", "O")


def test_an_unknown_metric_names_the_near_one():
    """So that nobody has to look it up."""
    with pytest.raises(UnknownName) as stop:
        TASK.metric_named("span-f2")
    assert (stop.value.value, "span-f1" in stop.value.allowed) == ("span-f2", True)


GOLD = "# id 1\nAnn\tB-PER\nran\tO\n\n-DOCSTART-\tO\n\nIn O\nNew B-LOC\nYork I-LOC\n\n\nIt\tO\n"


@pytest.fixture
def gold(tmp_path):
    """A CoNLL file of three rows: comments, a document's mark, tabs and blanks between cells."""
    path = tmp_path / "gold.conll"
    path.write_text(GOLD)
    return path


def written(path, *tags):
    """A submission: the gold tokens with other tags."""
    lines, remaining = [], iter(tags)
    for line in GOLD.splitlines():
        cells = line.split()
        lines.append(f"{cells[0]}\t{next(remaining)}" if cells and cells[0] not in ("#", "-DOCSTART-") else "")
    path.write_text("\n".join(lines))
    return str(path)


def test_conll_files_are_rows_and_answers(gold, tmp_path):
    """A file of gold tags, and two submissions that hold its lines."""
    good = written(tmp_path / "good.txt", "B-PER", "O", "O", "B-LOC", "I-LOC", "O")
    poor = written(tmp_path / "poor.txt", "B-PER", "O", "O", "O", "I-LOC", "O")
    rows = labelled(gold, TASK)
    assert [(row.segments[0], row.target) for row in rows.examples] == [
        ("Ann ran", ("B-PER", "O")), ("In New York", ("O", "B-LOC", "I-LOC")), ("It", ("O",)),
    ]  # fmt: skip
    ranking = decide([good, poor], RowsFile(gold, "tags"))
    assert ranking.decision.metric == "span-f1"
    assert [(model.name, round(model.outcome, 6)) for model in ranking.decision.models] == [
        ("good", 1.0),
        ("poor", 0.5),
    ]
    assert any("spans that begin with I, not B: 1" in note for note in ranking.notes)


def test_a_submission_with_other_tokens_is_joined_by_order_if_the_user_says_so(gold, tmp_path):
    """As many submissions have: the systems had changed the tokens."""
    good = written(tmp_path / "good.conll", "B-PER", "O", "O", "B-LOC", "I-LOC", "O")
    changed = tmp_path / "changed.conll"
    changed.write_text(gold.read_text().replace("Ann", "Anne").replace("In", "in").replace("It", "it"))
    poor = written(tmp_path / "poor.conll", "O", "O", "O", "O", "O", "O")
    ranking = decide([good, poor, changed], RowsFile(gold, "tags"))
    assert list(ranking.header.failures) == ["changed"]
    options = SourceOptions(kinds=[TableOptions(by_order=True, answers="values")])
    ranking = decide(inspect_references([good, str(changed)], options), RowsFile(gold, "tags"))
    assert [model.outcome for model in ranking.decision.models] == pytest.approx([1.0, 1.0])
    assert any("joined by their order, as stated; 3 texts differ" in note for note in ranking.notes)


def test_an_answer_of_another_length_is_no_answer(gold, tmp_path):
    """Such answers are counted, and the first is shown."""
    good = written(tmp_path / "good.conll", "B-PER", "O", "O", "B-LOC", "I-LOC", "O")
    short = tmp_path / "short.csv"
    short.write_text("text,prediction\nAnn ran,B-PER O\nIn New York,O B-LOC\nIt,O\n")
    ranking = decide([good, str(short)], RowsFile(gold, "tags"))
    assert {model.name: round(model.outcome, 3) for model in ranking.decision.models} == {"good": 1.0, "short": 0.667}
    assert any("each token needs a tag (got 2 tags for 3 tokens)" in note for note in ranking.notes)


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("Ann B-PER\nran\n", "gold.conll, line 2: a line needs a token and its tag (got 'ran')"),
        ("Ann B-PER\n\nran VBD O\n", "gold.conll, line 3: a line needs 2 cells (got 'ran VBD O')"),
        ("Ann\nran O\n", "gold.conll, line 2: a line needs a token alone (got 'ran O')"),
        ("Ann B-PER\nran X\n", "gold.conll, line 1: a tag must be O, B-TYPE or I-TYPE (got 'X')"),
    ],
)
def test_broken_conll_files_are_refused_with_the_line(tmp_path, text, ending):
    """The message names the line, or the row's first."""
    path = tmp_path / "gold.conll"
    path.write_text(text)
    with pytest.raises(DataError) as stop:
        labelled(path, TASK)
    assert str(stop.value).endswith(ending)


def test_of_more_cells_the_last_is_the_tag_and_that_is_said(tmp_path, caplog):
    """As in the files of CoNLL-2003, with parts of speech and chunks before it."""
    path = tmp_path / "gold.conll"
    path.write_text("Ann NNP B-NP B-PER\nran VBD B-VP O\n")
    rows = labelled(path, TASK)
    assert rows.examples[0].target == ("B-PER", "O")
    assert any(isinstance(record.msg, Assumption) and "of 4 cells on a line" in record.msg for record in caplog.records)


def test_rows_of_lists_are_read_as_their_tokens_and_tags(tmp_path):
    """JSON lines, as `datasets` holds such sets; short lists and long ones in one column."""
    rows = [{"id": "a", "tokens": ["Ann", "ran"], "tags": ["B-PER", "O"]}]
    rows += [{"id": "b", "tokens": ["It", "is", "New York"], "tags": ["O", "O", "B-LOC"]}]
    read_rows = labelled(rows, TASK)
    assert [row.segments[0] for row in read_rows.examples] == ["Ann ran", "It is New\u00a0York"]
    assert [row.target for row in read_rows.examples] == [("B-PER", "O"), ("O", "O", "B-LOC")]
    assert np.isnan(TASK.outcomes(TASK.predictions([("O", "O")]), [Example("c", ("x",))])).all()


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_answers_may_be_lists(tmp_path, ending):
    """Tags of a row as a list, as datasets hold them."""
    file, tags = tmp_path / f"a.{ending}", [["O", "B-LOC"], ["O"]]
    if ending == "jsonl":
        rows = [{"id": str(n), "prediction": of_row} for n, of_row in enumerate(tags)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.table({"id": ["0", "1"], "prediction": tags}), file)
    (source,) = kind.sources(Reference(str(file)), SourceOptions(values=True), ResourceCache())
    (model,) = collect_values(source.columns(ResourceCache())).models
    task = TagTask("tags")
    assert [task.answer_of(cell) for cell in model.answers] == [("O", "B-LOC"), ("O",)]
