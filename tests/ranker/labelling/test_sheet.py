"""The file of a session."""

import json
from xml.etree import ElementTree

import pytest
from refusals import refuses

from factors import Example
from ranker import labelled
from ranker.datasets import readers
from ranker.datasets.readers import read_sheet
from ranker.errors import DataError, UsageError
from ranker.labelling import export
from ranker.labelling.session import LabelEvent
from ranker.labelling.sheet import Line, agreement, read_lines, to_csv

ROWS = [Example(str(n), (f"Row {n}, said\nin two lines.",), None) for n in range(5)]
LABELS = ("bad", "good")
LINES = [
    Line(LabelEvent(0, "answered", 1), "ann", 2.5, "2026-01-02T03:04:05Z", "order"),
    Line(LabelEvent(1, "skipped"), "ann", 1.0, "", "order"),
    Line(LabelEvent(2, "cannot-tell"), "ann", 1.0),
    Line(LabelEvent(1, "answered", 0), "bob", 3.0, "", "random", 1),
    Line(LabelEvent(3, "answered", 0), "bob", 3.0, "", "best", 0),
]


def with_cells(lines):
    """Lines as they are written."""
    return [Line(**{**vars(line), "cells": {"text": ROWS[line.event.row].segments[0]}}) for line in lines]


def read_back(path):
    """What stands in a file."""
    file = read_sheet(path, {"label": "label"}, ["text"])
    places = {row.segments: n for n, row in enumerate(ROWS)}
    return read_lines(
        file, readers.unlabelled(file), lambda row, _: places[row.segments], lambda cell, segments: LABELS.index(cell)
    )


def test_what_was_said_is_read_back_as_it_was(tmp_path):
    """Every event in its order, with all that is recorded beside it, and the rows that wait."""
    path = tmp_path / "labels.csv"
    lines = with_cells(LINES)
    path.write_text(to_csv(lines, [{"text": ROWS[4].segments[0]}], LABELS.__getitem__), newline="")
    answered, waiting = read_back(path)
    assert answered == lines
    assert [line_number for line_number, _ in waiting] == [4]
    assert "changed-after-reveal" in path.read_text()


def test_the_file_is_one_of_labelled_rows(tmp_path):
    """Rows without an answer are skipped and counted; the first answer is the label."""
    path = tmp_path / "labels.csv"
    path.write_text(to_csv(with_cells(LINES), [], LABELS.__getitem__), newline="")
    from ranker.tasks.classes import ClassificationTask

    dataset = labelled(path, ClassificationTask("mood", LABELS))
    assert [(row.segments, row.target) for row in dataset.examples] == [
        (ROWS[0].segments, 1),
        (ROWS[1].segments, 0),
        (ROWS[3].segments, 0),
    ]
    assert any("2 rows have no label yet" in note for note in dataset.notes)


@pytest.mark.parametrize(
    "line",
    ["good,,,,,,,done", "good,,,,,,,skipped", ",,,,,,,answered", "fine,,,,,,,answered", "good,,,,soon,,,answered"],
)
def test_a_line_that_cannot_be_right_is_named(tmp_path, line):
    """With its place."""
    path = tmp_path / "labels.csv"
    cells = line.split(",")
    beside = dict(
        zip(("label", "changed_to", "annotator", "when", "seconds", "picked", "order", "status"), cells, strict=True)
    )
    path.write_text(f'text,{",".join(beside)}\n"{ROWS[0].segments[0]}",{line}\n', newline="")
    with refuses(DataError, place=f"{path}, line 3"):
        read_back(path)


def test_a_sheet_of_somebody_else_is_gone_on_with(tmp_path):
    """A label without a status is an answer, and an empty one waits."""
    path = tmp_path / "labels.csv"
    path.write_text(f'text,note,label\n"{ROWS[2].segments[0]}",x,good\n"{ROWS[0].segments[0]}",y,\n', newline="")
    answered, waiting = read_back(path)
    assert [line.event for line in answered] == [LabelEvent(2, "answered", 1)]
    assert waiting == [(0, {"text": ROWS[0].segments[0], "note": "y"})]


def test_agreement_is_told_from_ten_rows_on():
    """Raw: the share of pairs of answers that are the same, each row counting once."""
    nine = [(n, 0) for n in range(9)] * 2
    assert agreement(nine).share is None
    agreement_found = agreement([*nine, (9, 0), (9, 1), (9, 1)])
    assert agreement_found.share == pytest.approx((9 + 1 / 3) / 10)
    assert agreement_found.disputed == (9,)


@pytest.mark.parametrize("name", ["csv", "label-studio", "doccano"])
def test_rows_are_handed_out_in_order_and_without_predictions(name):
    """The columns of the pool, an empty label, and what tells a row when it comes back; nothing else."""
    rows = [ROWS[3], ROWS[1]]
    text = export.render(name, rows, [{"text": row.segments[0]} for row in rows], LABELS)
    assert text.index("Row 3") < text.index("Row 1")
    if name == "csv":
        assert text.splitlines()[0] == "text,label"
    elif name == "label-studio":
        assert [set(entry["data"]) for entry in json.loads(text)] == [{"text", export.ROW, export.ORDER}] * 2
        assert all(set(entry) == {"data"} for entry in json.loads(text))
    else:
        lines = [json.loads(line) for line in text.splitlines()]
        assert all(set(line) == {"text", "label", export.ROW, export.ORDER} and line["label"] == [] for line in lines)


def test_a_configuration_is_xml_or_refused():
    """Signs of markup, quotes and line ends come back as they were; a control character is in no XML."""
    labels = ["a&b", "<c>", 'say "d"', "e\n\tf", "été", "𝔤"]
    tree = ElementTree.fromstring(export.configuration(["text"], labels, "cannot tell"))
    assert [choice.get("value") for choice in tree.iter("Choice")][: len(labels)] == labels
    for wrong in ("\x1b[31m", "\x00", "\ufffe", "\ud800"):
        with refuses(UsageError, option="label", value=f"bad{wrong}"):
            export.configuration(["text"], ["fine", f"bad{wrong}"], "cannot tell")
