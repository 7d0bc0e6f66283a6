"""Output of programs that ask models, as rows: batches of OpenAI's interface, and results of promptfoo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

ANSWER = "prediction"
"""Name of the column of answers where a file names none."""


def unwrap_answer(cells: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row; for a line of a batch the id of its request, and the model's answer, None if it failed.

    Example:
        >>> body = {"choices": [{"message": {"content": "yes"}}]}
        >>> unwrap_answer({"id": "b1", "custom_id": "r1", "response": {"body": body}, "error": None})
        {'id': 'r1', 'prediction': 'yes'}
        >>> unwrap_answer({"custom_id": "r2", "response": None, "error": {"code": "expired"}})
        {'id': 'r2', 'prediction': None}
    """
    if "custom_id" not in cells or "response" not in cells or "error" not in cells:
        return cells
    body = _inside(cells["response"], "body")
    choices = _inside(body, "choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    content = _inside(_inside(first, "message"), "content")
    if content is None:  # the interface that answers in parts
        output = _inside(body, "output")
        messages = [part for part in output if _inside(part, "type") == "message"] if isinstance(output, list) else []
        parts = _inside(messages[0], "content") if messages else None
        content = _inside(parts[0], "text") if isinstance(parts, list) and parts else None
    return {"id": cells["custom_id"], ANSWER: content if isinstance(content, str) else None}


def promptfoo(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]] | None:
    """Return the rows of promptfoo's results: a test, its provider, and its score; None for other objects.

    A provider with several prompts is a model for each; a repeated test has the number of its run.
    """
    results = _inside(content.get("results"), "results")
    if not isinstance(results, list) or not all(isinstance(test, dict) and "provider" in test for test in results):
        return None
    return _of_promptfoo(results)


def _of_promptfoo(results: list[dict[str, Any]]) -> Iterator[Mapping[str, Any]]:
    prompts = {str(trial.get("promptIdx")) for trial in results}
    runs: Counter[tuple[str, str]] = Counter()
    tests = []
    for trial in results:
        provider = trial["provider"]
        name = str(_inside(provider, "label") or _inside(provider, "id") or provider)
        model = f"{name} {trial.get('promptIdx')}" if len(prompts) > 1 else name
        test = str(trial.get("testIdx"))
        runs[test, model] += 1
        tests.append((test, model, runs[test, model], trial))
    repeated = max(runs.values(), default=1) > 1
    for test, model, run, trial in tests:
        variables = trial.get("vars")
        texts = [value for value in variables.values() if isinstance(value, str)] if isinstance(variables, dict) else []
        row = {"id": test, "text": "\n".join(texts), "model": model}
        yield {**row, **({"run": run} if repeated else {}), "outcome": trial.get("score", trial.get("success"))}


def _inside(content: Any, key: str) -> Any:
    return content.get(key) if isinstance(content, dict) else None
