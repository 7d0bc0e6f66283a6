"""Output of programs that ask models, as rows: batches of OpenAI's interface, and results of promptfoo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

ANSWER = "prediction"
"""Name of the column of answers where a file names none."""

FAILURE = "error"
"""Name of the column that says why an answer failed; its cell is empty where none did."""

USAGE = "usage of "
"""Beginning of the names of columns that say what a row took, which hold no answers; a quantity or "model" follows."""

BAD = 400
"""Least status of HTTP that says that a request failed."""

UNFINISHED = ("failed", "cancelled")
"""Status of a response that ended without an answer."""

ERROR_REASON = 2
"""Failure reason of promptfoo for a call that failed; 0 is none, and 1 an assertion."""


def unwrap_answer(cells: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row; for a line of a batch the id of its request, the model's answer, and why the request failed.

    A refusal is no answer. Batches of OpenAI's interfaces and of Anthropic's are read, and lines of promptfoo.

    Example:
        >>> body = {"choices": [{"message": {"content": "yes"}}]}
        >>> unwrap_answer({"id": "b1", "custom_id": "r1", "response": {"body": body}, "error": None})
        {'id': 'r1', 'prediction': 'yes', 'error': None}
        >>> unwrap_answer({"custom_id": "r2", "response": None, "error": {"code": "expired"}})
        {'id': 'r2', 'prediction': None, 'error': 'expired'}
    """
    if {"testIdx", "promptIdx", "provider"} <= cells.keys():
        return _of_trial(cells, _name_of_model(cells, several=cells["promptIdx"] != 0))
    if "custom_id" not in cells:
        return cells
    if {"response", "error"} <= cells.keys() and isinstance(cells["response"], (dict, type(None))):
        content, reason = _of_openai(cells["response"], cells["error"])
    elif isinstance(_inside(cells.get("result"), "type"), str):
        content, reason = _of_anthropic(cells["result"])
    else:
        return cells
    return {"id": cells["custom_id"], ANSWER: None if reason else content, FAILURE: reason}


def _of_openai(response: Any, error: Any) -> tuple[str | None, str | None]:
    """Return the text of a response, and why there is none."""
    status, body = _inside(response, "status_code"), _inside(response, "body")
    choices, output = _inside(body, "choices"), _inside(body, "output")
    if error or _inside(body, "error") or (isinstance(status, int) and status >= BAD):
        return None, _reason(error or _inside(body, "error") or status)
    if _inside(body, "status") in UNFINISHED or not (isinstance(choices, list) or isinstance(output, list)):
        return None, _reason(_inside(body, "status") or "no response")
    if isinstance(choices, list):
        content = _inside(_inside(choices[0] if choices else None, "message"), "content")
    else:  # the interface that answers in parts
        message = next((part for part in output if _inside(part, "type") == "message"), None)
        content = _text(_inside(message, "content"))
    return content if isinstance(content, str) else None, None


def _of_anthropic(reply: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the text of a reply, and why there is none."""
    if reply["type"] != "succeeded":
        error = reply.get("error")
        return None, _reason(_inside(error, "error") or error or reply["type"])
    message = reply.get("message")
    return None if _inside(message, "stop_reason") == "refusal" else _text(_inside(message, "content")), None


def _text(parts: Any) -> str | None:
    """Return the first text among the parts of a message."""
    texts = [_inside(part, "text") for part in parts] if isinstance(parts, list) else []
    return next((text for text in texts if isinstance(text, str)), None)


def _reason(error: Any) -> str:
    """Return the reason of a failure in a line."""
    stated = (_inside(error, name) for name in ("code", "type", "message"))
    text = str(next((name for name in stated if name), error)).strip()
    return f"code {text}" if text.isdecimal() else text.partition("\n")[0] or FAILURE


def promptfoo(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]] | None:
    """Return the rows of promptfoo's results: a test, its provider, and its score; None for other objects.

    A call that failed has a reason, and no score: promptfoo gives it 0, as it does a wrong answer. A provider with
    several prompts is a model for each; a repeated test has the number of its run.
    """
    results = _inside(content.get("results"), "results")
    if not isinstance(results, list) or not all(isinstance(test, dict) and "provider" in test for test in results):
        return None
    return _of_promptfoo(results)


def _of_promptfoo(results: list[dict[str, Any]]) -> Iterator[Mapping[str, Any]]:
    prompts = {str(trial.get("promptIdx")) for trial in results}
    runs: Counter[tuple[str, str]] = Counter()
    rows: list[tuple[Mapping[str, Any], int]] = []
    for trial in results:
        row = _of_trial(trial, _name_of_model(trial, several=len(prompts) > 1))
        key = row["id"], row["model"]
        runs[key] += 1
        rows.append((row, runs[key]))
    repeated = max(runs.values(), default=1) > 1
    for row, run in rows:
        yield {**row, "run": run} if repeated else row


def _name_of_model(trial: Mapping[str, Any], several: bool) -> str:
    """Return the name of a test's provider, with the number of its prompt where there are several."""
    provider = trial["provider"]
    name = str(_inside(provider, "label") or _inside(provider, "id") or provider)
    return f"{name} {trial.get('promptIdx')}" if several else name


def _of_trial(trial: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """Return the row of one test."""
    variables = trial.get("vars")
    texts = [value for value in variables.values() if isinstance(value, str)] if isinstance(variables, dict) else []
    row = {"id": str(trial.get("testIdx")), **({"text": "\n".join(texts)} if texts else {}), "model": model}
    reason = _failed_call(trial)
    outcome = None if reason else trial.get("score", trial.get("success"))
    return {**row, "outcome": outcome, FAILURE: reason, **_usage_of_trial(trial)}


def _usage_of_trial(trial: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a test took, as far as it is stated; {} of an answer from promptfoo's cache, which took nothing."""
    response = trial.get("response")
    if _inside(response, "cached"):
        return {}
    tokens = _inside(response, "tokenUsage") or trial.get("tokenUsage")
    cost = trial.get("cost", _inside(response, "cost"))
    stated = {
        "prompt_tokens": _inside(tokens, "prompt"),
        "output_tokens": _inside(tokens, "completion"),
        "seconds": trial.get("latencyMs"),
        "money": cost,
    }
    usage = {name: value for name, value in stated.items() if type(value) in (int, float)}
    if "seconds" in usage:
        usage["seconds"] /= 1000
    return {f"{USAGE}{name}": value for name, value in usage.items()}


def _failed_call(trial: Mapping[str, Any]) -> str | None:
    """Return why the call of a test failed; None if the model was asked, whatever it answered."""
    response, error = trial.get("response"), trial.get("error")
    if of_call := _inside(response, "error"):
        return _reason(of_call)
    if "failureReason" in trial:
        return _reason(error or "error") if trial["failureReason"] == ERROR_REASON else None
    # older versions have no `failureReason`, and state the reason of a failed assertion as an error, too
    answered = trial.get("gradingResult") or _inside(response, "output") is not None
    return _reason(error) if error and not answered else None


def _inside(content: Any, key: str) -> Any:
    return content.get(key) if isinstance(content, dict) else None
