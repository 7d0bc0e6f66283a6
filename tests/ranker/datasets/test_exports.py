"""Files of other tools; `exports/` holds rows of `label --batch` that two people answered in Label Studio 1.23.2."""

import json
from pathlib import Path

import pytest
from refusals import refuses

from ranker import labelled
from ranker.datasets.readers import raw_labels, read_sheet
from ranker.errors import DataError
from ranker.limits import Limits
from ranker.tasks.classes import ClassificationTask

PAIR = {"premise": "The cook ran.", "hypothesis": "It ran."}
OTHER = {"premise": "The cook sat.", "hypothesis": "It ran."}
TASK = ClassificationTask("nli", ("not_entailment", "entailment"))

NLI = ClassificationTask("nli", ("non-entailment", "entailment"))
EXPORTS = Path(__file__).parent / "exports"
ANSWERED = {
    # annotator: row -> label, None where it was skipped or could not be told
    "1": {"r2": "entailment", "r4": "non-entailment", "r3": None, "r0": None, "r1": "non-entailment"},
    "2": {"r2": "entailment", "r4": "entailment", "r0": "non-entailment"},
}


@pytest.mark.parametrize("name", ["label-studio.json", "label-studio.csv"])
def test_real_exports_say_who_gave_which_answer(name):
    """Each row by its own id and texts, quotes, line ends and signs of HTML included; without a label there is none."""
    sheet = read_sheet(EXPORTS / name)
    labels = {
        (row.cells["annotator"], row.cells["id"]): label
        for row, label in zip(sheet.rows, raw_labels(sheet), strict=True)
        if label is not None
    }
    assert labels == {
        (annotator, row): label for annotator, rows in ANSWERED.items() for row, label in rows.items() if label
    }
    texts = {row.cells["id"]: (row.cells["premise"], row.cells["hypothesis"]) for row in sheet.rows}
    assert texts["r2"] == ('A "quoted" word, and a comma, moved.', "It moved.")
    assert texts["r3"] == ("Naïve cafés are near the <b>old</b> & new bridge.", "Cafés are near a bridge.")
    assert texts["r4"][0] == "One line.\nA second line of the premise."
    rows = labelled(EXPORTS / name, NLI)  # answers that agree are one
    assert sorted((row.id, row.target) for row in rows.examples) == [
        ("r0", 0), ("r1", 0), ("r2", 1), ("r4", 0), ("r4", 1),
    ]  # fmt: skip
    assert "1 row that exactly repeats another was left out." in rows.notes


def test_a_real_json_min_is_refused():
    """In one line that names the exports to take."""
    with refuses(DataError, place=EXPORTS / "label-studio-min.json"):
        read_sheet(EXPORTS / "label-studio-min.json")


def annotation(label, annotator=1, **fields):
    """An annotation of Label Studio."""
    chosen = [{"from_name": "label", "to_name": "hypothesis", "type": "choices", "value": {"choices": [label]}}]
    return {"id": 5, "completed_by": annotator, "was_cancelled": False, "lead_time": 3.2, "result": chosen, **fields}


def test_the_json_of_label_studio(tmp_path):
    """An annotation a row; skipped and untold ones have no label, and predictions are not read."""
    path = tmp_path / "export.json"
    tasks = [
        {"id": 1, "data": {**PAIR, "rank_models_row": "sha256:0"}, "predictions": [annotation("entailment")],
         "annotations": [annotation("entailment"), annotation("not_entailment", {"email": "a@b.c"})]},
        {"id": 2, "data": OTHER,
         "annotations": [annotation("entailment", was_cancelled=True), annotation("x", result=[]),
         annotation("cannot tell")]},
    ]  # fmt: skip
    path.write_text(json.dumps(tasks))
    sheet = read_sheet(path)
    assert raw_labels(sheet) == ["entailment", "not_entailment", None, None, None]
    assert [row.cells["annotator"] for row in sheet.rows[:2]] == ["1", "a@b.c"]
    assert sheet.rows[0].cells["seconds"] == 3.2
    assert [row.target for row in labelled(path, TASK).examples] == [1, 0]


def test_the_lines_of_doccano(tmp_path):
    """No label is none, and two are an error."""
    lines = [
        {"id": 7, "text": "x", **PAIR, "label": ["entailment"], "Comments": []},
        {"id": 8, "text": "y", **OTHER, "label": [], "Comments": []},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "one.jsonl").write_text(text)
    assert raw_labels(read_sheet(tmp_path / "one.jsonl")) == ["entailment", None]
    (tmp_path / "two.jsonl").write_text(json.dumps({**PAIR, "label": ["entailment", "not_entailment"]}) + "\n")
    with refuses(DataError, value=["entailment", "not_entailment"], place=f"{tmp_path}/two.jsonl, line 1"):
        read_sheet(tmp_path / "two.jsonl")


@pytest.mark.parametrize(("answer", "label"), [("accept", "entailment"), ("reject", None), ("ignore", None)])
def test_the_lines_of_prodigy(tmp_path, answer, label):
    """The accepted option is the label."""
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**PAIR, "accept": ["entailment"], "answer": answer, "_annotator_id": "ann"}) + "\n")
    sheet = read_sheet(path, required=["text"])
    assert raw_labels(sheet) == [label]
    assert sheet.rows[0].cells["annotator"] == "ann"


@pytest.mark.parametrize(("limits", "name"), [
    (Limits(objects=5), "objects"), (Limits(columns=1), "columns"), (Limits(values=5), "values"),
    (Limits(rows=2), "rows"),
])  # fmt: skip
def test_what_a_file_of_label_studio_holds_is_counted(tmp_path, limits, name):
    """Objects before they are decoded, and the cells that each annotation repeats."""
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"data": PAIR, "annotations": [annotation("entailment")] * 3}]))
    assert len(read_sheet(path).rows) == 3
    with refuses(DataError, option=f"limits.{name}"):
        read_sheet(path, limits=limits)
