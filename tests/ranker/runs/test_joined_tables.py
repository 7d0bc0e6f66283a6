"""Runs on files of answers that can be joined to the rows in several ways: none is joined in a wrong one."""

import numpy as np
import pandas as pd
import pytest

from ranker import decide, load_suite
from ranker.errors import Question
from ranker.runs.rows import with_columns
from ranker.sources.base import SourceOptions
from ranker.sources.tables.options import TableOptions

SIZE = 40
TRUE = ["pos" if n % 3 else "neg" for n in range(SIZE)]
ORDER = np.random.default_rng(2).permutation(SIZE)


def flipped(wrong):
    """Answers that are wrong on as many rows, at even distances."""
    places = set(range(0, SIZE, SIZE // wrong)[:wrong])
    return [("neg" if label == "pos" else "pos") if n in places else label for n, label in enumerate(TRUE)]


def saved(path, shuffled=False, **columns):
    """A CSV of columns, in the order of the rows or in another one."""
    frame = pd.DataFrame(columns)
    (frame.iloc[ORDER] if shuffled else frame).to_csv(path, index=False)
    return str(path)


def rows_of(folder, shuffled=False, **columns):
    """A file of labelled rows with more columns."""
    return saved(folder / "rows.csv", shuffled, **{"label": TRUE, **columns})


def accuracies(models, rows=None):
    """Percentages of the models that are right, by name."""
    ranking = decide(models, rows)
    return {model.name: round(100 * model.outcome, 1) for model in ranking.decision.models}, ranking.notes


def two_models(folder, shuffled=True, **columns):
    """Files of two models, wrong on four and on eight rows."""
    return [
        saved(folder / f"{name}.csv", shuffled, prediction=flipped(wrong), **columns)
        for name, wrong in (("bert", 4), ("gpt", 8))
    ]


RIGHT = {"bert": 90.0, "gpt": 80.0}


# ---- the truth in files of answers


def test_answers_in_another_order_are_refused_by_their_own_truth(tmp_path):
    """Of arrays from a loader that shuffles, and of tables; the first row that differs is named."""
    rows = rows_of(tmp_path, text=[f"Sentence {n}." for n in range(SIZE)])
    in_order, shuffled = two_models(tmp_path, False, label=TRUE)[0], two_models(tmp_path, True, label=TRUE)[1]
    code = {"neg": 0, "pos": 1}
    arrays = tmp_path / "t.npz"
    answers, truth = (np.array([code[label] for label in labels])[ORDER] for labels in (flipped(8), TRUE))
    np.savez(arrays, predictions=np.eye(2)[answers], label_ids=truth)
    row = next(n for n in range(SIZE) if TRUE[ORDER[n]] != TRUE[n])
    for file in (shuffled, str(arrays)):
        with pytest.raises(Question) as stop:
            decide([saved(tmp_path / "bert.csv", label=TRUE, prediction=flipped(4)), file], rows)
        error = stop.value
        assert (error.option, error.value, error.allowed) == ("data", TRUE[ORDER[row]], (TRUE[row],))
        assert f"number {row + 1} " in str(error)
    assert accuracies([in_order, saved(tmp_path / "gpt.csv", label=TRUE, prediction=flipped(8))], rows)[0] == RIGHT


def test_ids_of_other_rows_are_refused_by_the_truth(tmp_path):
    """The ids were given to the file after its rows were shuffled."""
    ids = [f"r{n}" for n in range(SIZE)]
    bert = saved(tmp_path / "bert.csv", id=ids, prediction=flipped(4))
    gpt = pd.DataFrame({"label": TRUE, "prediction": flipped(8)}).iloc[ORDER].assign(id=ids)
    gpt.to_csv(tmp_path / "gpt.csv", index=False)
    with pytest.raises(Question) as stop:
        decide([bert, str(tmp_path / "gpt.csv")], rows_of(tmp_path, id=ids))
    assert stop.value.option == "data"


def test_a_truth_that_agrees_confirms_the_order(tmp_path):
    """A note says on how many rows; rows without a label on either side, and labels of numbers, are no trouble."""
    rows = rows_of(tmp_path, label=[*TRUE[:-1], ""])
    numbers = [int(label == "pos") for label in TRUE]
    models = two_models(tmp_path, False, label=["", *numbers[1:]])
    _, notes = accuracies(models, rows)
    assert any(f"only its true labels confirm it, on {SIZE - 2} of {SIZE - 1} rows" in note for note in notes), notes


def test_an_order_that_the_user_states_stands(tmp_path):
    """The note counts the true labels that differ, as after a correction of the rows."""
    corrected = ["neg" if n in (1, 4) else label for n, label in enumerate(TRUE)]
    models = two_models(tmp_path, False, label=TRUE)
    with pytest.raises(Question):
        decide(models, rows_of(tmp_path, label=corrected))
    stated = load_suite(models, SourceOptions(kinds=[TableOptions(by_order=True)]))
    _, notes = accuracies(stated, rows_of(tmp_path, label=corrected))
    assert any("as stated; 2 true labels differ" in note for note in notes), notes


# ---- numbers and ids


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["{:03d}", "r{}", "test-{}", "doc2-{:02d}"])
def test_numbers_that_ids_end_in_are_no_positions(tmp_path, form):
    """A data frame drops the zeros before a number, and the rows stand in another order than their ids count: asked."""
    for start in (0, 1):
        rows = rows_of(tmp_path, True, id=[form.format(n) for n in range(start, SIZE + start)])
        with pytest.raises(Question) as stop:
            decide(two_models(tmp_path, False, id=range(1, SIZE + 1)), rows)
        assert stop.value.option == "by_order"


@pytest.mark.parametrize("ids", [[f"r{n}" for n in range(SIZE)], [str(10**17 + 7919 * n % 1009) for n in range(SIZE)]])
def test_ids_that_count_in_order_or_not_at_all_leave_positions(tmp_path, ids):
    """As long as the ids of the rows say nothing against it."""
    right, notes = accuracies(two_models(tmp_path, True, index=range(SIZE)), rows_of(tmp_path, id=ids))
    assert right == RIGHT
    assert any("the numbers of the rows" in note for note in notes), notes


# ---- one text of a pair


@pytest.mark.more
def test_a_text_of_a_pair_that_repeats_joins_no_row(tmp_path):
    """Two hypotheses for each premise, and a file with the premise alone."""
    pairs = {"premise": [f"Premise {n // 2}." for n in range(SIZE)], "hypothesis": [f"It is {n}." for n in range(SIZE)]}
    rows = rows_of(tmp_path, **pairs)
    with pytest.raises(Question) as stop:
        decide(two_models(tmp_path, premise=pairs["premise"]), rows)
    assert stop.value.option == "text"
    assert accuracies(two_models(tmp_path, hypothesis=pairs["hypothesis"]), rows)[0] == RIGHT
    assert accuracies(two_models(tmp_path, **pairs), rows)[0] == RIGHT
    assert accuracies(two_models(tmp_path, False, premise=pairs["premise"]), rows)[0] == RIGHT


def test_of_a_text_that_repeats_at_times_the_others_are_joined(tmp_path):
    """The rows of the others are missing, and counted."""
    premises = ["Again.", "Again.", *(f"Premise {n}." for n in range(2, SIZE))]
    rows = rows_of(tmp_path, premise=premises, hypothesis=[f"It is {n}." for n in range(SIZE)])
    _, notes = accuracies(two_models(tmp_path, premise=premises), rows)
    assert any("2 rows share a text of a pair, and the file holds no other" in note for note in notes)


# ---- several columns of ids


@pytest.mark.more
def test_a_number_of_another_column_is_no_id(tmp_path):
    """An id and an index may hold the same numbers of other rows, so the user says which is which."""
    index = np.random.default_rng(3).permutation(SIZE)
    rows = rows_of(tmp_path, id=range(SIZE), idx=index)
    models = two_models(tmp_path, idx=index)
    with pytest.raises(Question) as stop:
        decide(models, rows)
    assert (stop.value.option, stop.value.value) == ("columns", "idx")
    assert accuracies(models, with_columns(rows, {"id": "idx"}))[0] == RIGHT
    placed = two_models(tmp_path, idx=range(SIZE))  # under the name of the index, the ids of the rows
    assert accuracies(placed, with_columns(rows, {"id": "id"}))[0] == RIGHT


def test_ids_that_two_columns_tell_differently_are_asked_about(tmp_path):
    """A file was numbered anew after it was shuffled, and kept the rows' own ids beside."""
    guid = [f"g{n}" for n in range(SIZE)]
    rows = rows_of(tmp_path, id=range(SIZE), guid=guid)
    models = two_models(tmp_path, guid=guid)
    for model in models:
        pd.read_csv(model).assign(id=range(SIZE)).to_csv(model, index=False)
    with pytest.raises(Question) as stop:
        decide(models, rows)
    assert (stop.value.option, stop.value.value) == ("columns", "0")
    assert accuracies(models, with_columns(rows, {"id": "guid"}))[0] == RIGHT


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("ids", "columns"),
    [
        ("r{}", ["id", "guid"]),  # both agree
        ("r{}", ["guid"]),  # the other column of the rows is the one that the file has
        ("{}", ["guid"]),
    ],
)
def test_columns_of_ids_that_leave_no_doubt_are_used(tmp_path, ids, columns):
    """Files have one or both of the rows' columns, and the row numbers of a data frame, which say nothing."""
    held = {"id": [ids.format(n) for n in range(SIZE)], "guid": [f"g{n * 7}" for n in range(SIZE)]}
    rows = rows_of(tmp_path, index=range(SIZE), **held)
    models = two_models(tmp_path, **{name: held[name] for name in columns})
    assert accuracies(models, rows)[0] == RIGHT
    for model in models:
        pd.read_csv(model).reset_index().to_csv(model, index=False)
    assert accuracies(models, rows)[0] == RIGHT
