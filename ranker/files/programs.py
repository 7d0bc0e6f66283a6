"""What programs that ask models write, as rows: batches of OpenAI's interface, and results of promptfoo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

ANSWER = "prediction"
"""What the column of answers is called where a file names none."""


def unwrap_answer(cells: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row; of a line of a batch the id that somebody gave to the request, and what the model wrote.

    What failed has no answer.

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
    if content is None:  # of the interface that answers in parts
        output = _inside(body, "output")
        messages = [one for one in output if _inside(one, "type") == "message"] if isinstance(output, list) else []
        parts = _inside(messages[0], "content") if messages else None
        content = _inside(parts[0], "text") if isinstance(parts, list) and parts else None
    return {"id": cells["custom_id"], ANSWER: content if isinstance(content, str) else None}


def promptfoo(whole: Mapping[str, Any]) -> Iterator[Mapping[str, Any]] | None:
    """The rows of results of promptfoo: a test, the provider that was asked, and its score; None of other objects.

    A provider that was asked with several prompts is a model for each; a test that was repeated has the number of its
    run.
    """
    results = _inside(whole.get("results"), "results")
    if not isinstance(results, list) or not all(isinstance(one, dict) and "provider" in one for one in results):
        return None
    return _of_promptfoo(results)


def _of_promptfoo(results: list[dict[str, Any]]) -> Iterator[Mapping[str, Any]]:
    prompts = {str(one.get("promptIdx")) for one in results}
    seen: Counter[tuple[str, str]] = Counter()
    asked = []
    for one in results:
        provider = one["provider"]
        name = str(_inside(provider, "label") or _inside(provider, "id") or provider)
        model = f"{name} {one.get('promptIdx')}" if len(prompts) > 1 else name
        test = str(one.get("testIdx"))
        seen[test, model] += 1
        asked.append((test, model, seen[test, model], one))
    repeated = max(seen.values(), default=1) > 1
    for test, model, run, one in asked:
        said = one.get("vars")
        texts = [value for value in said.values() if isinstance(value, str)] if isinstance(said, dict) else []
        row = {"id": test, "text": "\n".join(texts), "model": model}
        yield {**row, **({"run": run} if repeated else {}), "outcome": one.get("score", one.get("success"))}


def _inside(content: Any, key: str) -> Any:
    return content.get(key) if isinstance(content, dict) else None
