"""Words in place of a true label, such as SNLI's "-", are a question: beside labels, for rows and for tables."""

import pytest
from refusals import refuses
from tables_made import understood

from ranker import decide, labelled
from ranker.errors import Question
from ranker.tasks.classes import ClassificationTask

WORDS = ("neutral", "entailment")
TASK = ClassificationTask("pairs", WORDS)


def rows(*labels):
    """Rows with these labels."""
    return [{"id": f"r{n}", "text": f"Row {n}.", "label": label} for n, label in enumerate(labels)]


def table(path, header, *cells):
    """A CSV of rows with ids."""
    path.write_text("\n".join([f"id,{header}", *(f"r{n},{row}" for n, row in enumerate(cells))]))
    return path


@pytest.mark.parametrize("mark", ["-", "--", "–", "?", "N/A"])
def test_a_mark_beside_labels_of_rows_is_a_question(mark):
    """Whatever models there are; a user says that it is no label."""
    with refuses(Question, option="empty_words", value=mark, place="rows in memory"):
        labelled(rows("neutral", "entailment", mark))
    ood = labelled(rows("neutral", "entailment", mark), TASK, empty_words=[mark])
    assert [row.target for row in ood.examples] == [0, 1]


def test_a_mark_is_no_label_of_a_task_that_is_named():
    """The mark is counted, as an empty word is."""
    ood = labelled(rows("neutral", "entailment", "-"), TASK)
    assert len(ood.examples) == 2
    assert "1 cell says '-' in 'label': no label." in ood.notes


TRUTHS = {
    # true labels, labels that a model predicts -> the word that is asked about
    "a dash": (("a", "b", "-"), ("a", "b", "a"), "-"),
    "a dash that a model predicts": (("a", "b", "-"), ("a", "b", "-"), "-"),
    "minus one beside zero": (("0", "1", "-1"), ("0", "1", "1"), "-1"),
    "minus one that a model predicts": (("0", "1", "-1"), ("-1", "1", "0"), None),
    "minus one against one": (("-1", "1", "1"), ("1", "1", "1"), None),
    "minus beside plus": (("+", "-", "+"), ("+", "+", "+"), None),
    "people disagreed": (("a", "b", "no_consensus"), ("a", "b", "b"), "no_consensus"),
    "unknown": (("a", "b", "Unknown"), ("a", "b", "b"), "Unknown"),
    "unknown, which a model predicts": (("a", "b", "unknown"), ("a", "unknown", "b"), None),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_a_mark_in_the_truth_of_a_table_is_a_question(tmp_path, name):
    """A word that may be a label is one if a model predicts it."""
    truth, predicted, word = TRUTHS[name]
    path = table(tmp_path / "a.csv", "label,prediction", *map(",".join, zip(truth, predicted, strict=True)))
    if word is None:
        assert understood(path, task=None).truth.min() == 0
        return
    with refuses(Question, option="empty_words", value=word, place=path):
        understood(path, task=None)
    stated = understood(path, task=None, empty_words=(word,))
    assert stated.truth.tolist() == [0, 1, -1]


def test_rows_beside_tables_are_asked_about_by_what_these_predict(tmp_path):
    """Labels are numbers here, and neither table predicts the last one of the rows."""
    models = [
        str(table(tmp_path / f"{name}.csv", "prediction", *cells)) for name, cells in (("a", "0101"), ("b", "0010"))
    ]
    table_file = table(tmp_path / "rows.csv", "label", "0", "1", "0", "-1")
    with refuses(Question, option="empty_words", value="-1", place=table_file):
        decide(models, table_file)


def test_a_mark_among_answers_is_no_answer(tmp_path):
    """Models may write it for nothing; no question is asked about their cells."""
    understood_table = understood(table(tmp_path / "a.csv", "prediction", "neutral", "entailment", "-"), task=TASK)
    assert understood_table.models[0].predicted.tolist() == [0, 1, -1]
