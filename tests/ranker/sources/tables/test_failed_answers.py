"""Answers that failed are errors: in batches, in results of promptfoo, and where a column of a table says so."""

import pytest
from named_rows import json_lines
from refusals import refuses
from tables_made import STATES, answers, said_by, understood
from test_table_files import request

from ranker.errors import Question
from ranker.tasks.texts import TextTask


def states_of(model):
    """The names of a model's states."""
    return [STATES[state] for state in model.state]


REFUSED = {"status_code": 200, "body": {"choices": [{"message": {"content": None, "refusal": "I cannot."}}]}}
ENDS = {
    # the end of a request of OpenAI's batches -> what becomes of its answer
    "refused": ({"response": REFUSED}, "no answer"),
    "refused in parts": (
        {"response": {"body": {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]}}},
        "no answer",
    ),
    "too fast": ({"response": {"status_code": 429, "body": {"error": {"type": "rate_limit"}}}}, "error"),
    "failed there": ({"response": {"status_code": 500, "body": None}}, "error"),
    "expired": ({"response": None, "error": {"code": "batch_expired", "message": "late"}}, "error"),
    "an error in a text": ({"response": None, "error": "late"}, "error"),
    "an error in a number": ({"response": None, "error": {"code": 500}}, "error"),
    "failed in parts": ({"response": {"status_code": 200, "body": {"status": "failed", "output": []}}}, "error"),
    "nothing": ({"response": {"status_code": 200}}, "error"),
    "cut": ({"response": {"body": {"status": "incomplete", "output": []}}}, "no answer"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_request_of_a_batch_ends_in_an_answer_or_none_or_an_error(tmp_path, end):
    """A model that refuses has answered nothing; a request that did not reach it is no answer of its."""
    fields, state = ENDS[end]
    parsed = understood(tmp_path / "a.jsonl", json_lines(request(0), request(1, "negative"), request(2, **fields)))
    assert said_by(parsed.models[0]) == ["positive", "negative", state]
    assert any("1 answer failed, as 'error' says" in note for note in parsed.models[0].notes) == (state == "error")


def test_a_batch_of_anthropic_is_answers_too(tmp_path):
    """Results are of four types, of which three are errors; a refusal is no answer."""
    message = {"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "good"}]}
    results = [
        {"type": "succeeded", "message": message},
        {"type": "succeeded", "message": {"content": [{"type": "text", "text": "I"}], "stop_reason": "refusal"}},
        {"type": "errored", "error": {"type": "error", "error": {"type": "overloaded_error"}}},
        {"type": "expired"},
    ]
    lines = [{"custom_id": key, "result": end} for key, end in zip("abcd", results, strict=True)]
    (model,) = understood(tmp_path / "a.jsonl", json_lines(*lines)).models
    assert said_by(model) == ["positive", "no answer", "error", "error"]


def trial(test, **fields):
    """A test of promptfoo, whose model answered."""
    answered = {"response": {"output": "yes"}, "success": True, "score": 1}
    return {"testIdx": test, "promptIdx": 0, "provider": {"id": "openai:a"}, **answered, **fields}


WRONG = {"success": False, "score": 0, "error": "Expected no"}
CALLS = {
    # the end of a call, as versions of promptfoo write it -> what becomes of its score
    "a failed assertion": ({**WRONG, "failureReason": 1}, 0),
    "a failed assertion, before reasons": ({**WRONG, "gradingResult": {"pass": False}}, 0),
    "an answer without a grade, before reasons": (WRONG, 0),
    "an empty answer": ({**WRONG, "failureReason": 0, "error": "No output", "response": {"output": ""}}, 0),
    "a failed call": ({**WRONG, "failureReason": 2, "response": None}, "error"),
    "a failed call, before reasons": ({**WRONG, "response": None}, "error"),
    "a call that says so": ({**WRONG, "response": {"error": "429"}}, "error"),
    "a call without a word": ({"success": False, "score": 0, "failureReason": 2}, "error"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_failed_call_of_promptfoo_is_no_wrong_answer(tmp_path, call):
    """Although its score is 0, too; a failed assertion is one."""
    fields, value = CALLS[call]
    (model,) = understood(
        tmp_path / "a.json", {"results": {"results": [trial(0), trial(1, **fields)]}}, task=None
    ).models
    assert [STATES[model.state[1]] if model.state[1] else model.outcomes[1], model.outcomes[0]] == [value, 1]


def test_lines_and_arrays_say_what_the_usual_form_says(tmp_path):
    """Lines of promptfoo are its results, and a batch may be kept as an array."""
    failed = {**WRONG, "failureReason": 2, "response": None}
    lines = json_lines(trial(0), trial(1, **WRONG, failureReason=1), trial(2, **failed), trial(0, promptIdx=1))
    first, second = understood(tmp_path / "a.jsonl", lines, task=None).models
    assert (first.name, second.name) == ("openai:a", "openai:a 1")
    assert ([*first.outcomes[:2]], states_of(first)[2]) == ([1, 0], "error")
    batch = [request(0), request(1, response=None, error={"code": "batch_expired"})]
    assert said_by(understood(tmp_path / "b.json", batch).models[0]) == ["positive", "error"]


COLUMNS = {
    # a column beside the answers -> its cells where nothing failed, and where something did
    "error": ("", "Timeout"),
    "Error Message": ("None", "HTTP 429"),
    "exception": ("null", "ValueError: no JSON"),
    "status": ("success", "timed_out"),
    "status_code": ("200", "503"),
    "errors": ("false", "true"),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_says_what_failed(tmp_path, column):
    """Whatever stands in the cell of the answer then, it is an error, and counted."""
    fine, bad = COLUMNS[column]
    cells = [("a", "good", fine), ("b", "", bad), ("c", "ERROR", bad), ("d", "", fine)]
    content = "\n".join([f"id,prediction,{column}", *map(",".join, cells)])
    joined = answers(tmp_path / "a.csv", content)
    assert said_by(joined.models[0]) == ["positive", "error", "error", "no answer"]
    assert f"2 answers failed, as {column!r} says ({bad!r})" in joined.models[0].notes


def test_a_column_of_errors_tells_outcomes_and_texts_too(tmp_path):
    """A score of 0 beside an error is none, and so is a text."""
    content = json_lines({"id": "a", "score": 1, "error": None}, {"id": "b", "score": 0, "error": {"code": 429}})
    (model,) = understood(tmp_path / "a.jsonl", content, task=None, answers="outcomes").models
    assert states_of(model) == ["answered", "error"]
    deep = json_lines({"id": "a", "output": "Yes."}, {"id": "b", "output": "No.", "error": {"inner": {"code": 1}}})
    (tmp_path / "b.jsonl").write_text(deep)
    from ranker.files import reader
    from ranker.sources.tables.values import collect_values

    (model,) = collect_values(reader.read_columns(tmp_path / "b.jsonl")).models
    assert states_of(model) == ["answered", "error"]
    assert TextTask("a").predictions(model.answers.tolist(), model.state).answers() == ("Yes.", None)


def test_a_column_of_errors_is_about_one_model_of_several(tmp_path):
    """By its name; one that names none is a question, unless it is empty."""
    content = "id,gpt,gpt_error,pred_bert,bert_error\na,good,,good,\nb,good,late,negative,\nc,negative,,,late"
    gpt, bert = understood(tmp_path / "a.csv", content, prediction=("gpt", "pred_bert")).models
    assert (said_by(gpt)[1], said_by(bert)[2]) == ("error", "error")
    content = "id,gpt,bert,error\na,good,good,\nb,good,good,{}"
    assert len(understood(tmp_path / "b.csv", content.format("")).models) == 2
    with refuses(Question, option="prediction", value="error", place=tmp_path / "c.csv"):
        understood(tmp_path / "c.csv", content.format("late"))


@pytest.mark.parametrize("column", ["status,new,old", "error,0.5,0.25", "error_detector,good,negative"])
def test_a_column_of_something_else_says_nothing_of_failures(tmp_path, column):
    """A status of another kind, numbers, and a model with the word in its name."""
    name, *cells = column.split(",")
    content = f"id,prediction,{name}\na,good,{cells[0]}\nb,good,{cells[1]}"
    parsed = understood(tmp_path / "a.csv", content, prediction=("prediction",))
    assert said_by(parsed.models[0]) == ["positive", "positive"]


def test_rows_without_failures_read_as_before(tmp_path):
    """An empty column of errors is no unread one."""
    joined = answers(tmp_path / "a.csv", "id,prediction,error\na,good,\nb,good,\nc,good,\nd,good,")
    assert not [note for note in joined.notes if "error" in note]
