"""The rows of a log of lm-evaluation-harness, 0.4.0 to today: of each what is needed, and no more in memory."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ranker.errors import DataError, listed
from ranker.files.text import beginning
from ranker.limits import LIMITS, Limits
from ranker.sources.logs import files
from ranker.sources.logs.base import canonical, hashed, name_of, number, shown
from ranker.sources.logs.measures import METRICS, OF_LABELS, SQUARED, WEIGHTED
from ranker.tasks.classes import softmax
from ranker.tasks.empty import INVALID

_OWN = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics")
    + ("doc_hash", "prompt_hash", "target_hash", "scores_per_repeat", "bypass")
)  # the keys of a row that are no metric


@dataclass(frozen=True, slots=True)
class LogRow:
    """What is kept of one row of a log.

    Attributes:
        number: the line, or the place in a list, where it stands, from 1.
        doc, prompt, target_hash: hashes; "" where they are not known.
        doc_id: the program's number of it, as text; "" where there is none. It tells rows of one file apart, and
            nothing else: it was wrong in some versions.
        filter: its filter; None where none is named.
        said: a hash of what the model said, before any filter; "" where that is not needed.
        text: what it says.
        target: the right answer, as it stands there.
        values: metric -> its value, or the number that a pair of its comes to; None where that is no number.
        weights: metric whose value is a pair that comes to a number -> what this is weighted by, 1 where by nothing.
        pairs: metric whose value is (right label, predicted label) -> these.
        likelihoods: the log-likelihood of each thing that was asked for; () where it was asked to write.
        choices: (the text of each choice, with what stands before it in the prompt).
        answer: what a filter made of what the model wrote; "" where that is nothing, or it was not asked to write.
        silent: it was asked to write, and that is nothing.
        cluster: what rows it belongs to; "" where that is not asked.
    """

    number: int
    doc: str
    prompt: str
    target_hash: str
    doc_id: str
    filter: str | None
    said: str
    text: str
    target: Any
    values: Mapping[str, float | None]
    weights: Mapping[str, float]
    pairs: Mapping[str, tuple[int, int]]
    likelihoods: tuple[float, ...]
    choices: tuple[str, ...]
    answer: str
    silent: bool
    cluster: str


def rows_of(
    path: Path, cluster: str | None, limits: Limits = LIMITS, aggregates: Mapping[str, str] | None = None
) -> Iterator[LogRow]:
    """The rows of a file: one a line, or all in one JSON list, as versions before 0.4.3 wrote them.

    Args:
        path: the file, which may be gzip.
        cluster: the field of a document that says what rows belong together, or None.
        limits: how much is read.
        aggregates: metric -> what all its rows are made into, as the task has it: see `measures.AGGREGATES`.

    Raises:
        DataError: it is no such log, or broken, or too large.
    """
    made = {metric: name for metric, (name, _) in METRICS.items()} | dict(aggregates or {})
    found = False
    for at, place, content in _contents(path, limits):
        try:
            found = True
            yield _row(content, at, place, cluster, made)
        except RecursionError as error:
            raise DataError(f"{place}: nested too deeply") from error
    if not found:
        raise DataError(f"{path} holds no row")


def _contents(path: Path, limits: Limits) -> Iterator[tuple[int, str, Any]]:
    """(number, place, content) of each row."""
    if beginning(path, 1 << 10).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        content = files.parse(files.whole(path, limits), path, files.Budget(limits))
        if not isinstance(content, list):  # it begins like one
            raise DataError(f"{path} is no list of rows")
        limits.check(path, "log_rows", len(content))
        yield from ((at, f"{path}, row {at}", row) for at, row in enumerate(content, 1))
        return
    budget = files.Budget(limits)
    for at, line in files.lines(path, limits):
        place = f"{path}, line {at}"
        yield at, place, files.parse(line, place, budget)


def _row(content: Any, at: int, place: str, cluster: str | None, aggregates: Mapping[str, str]) -> LogRow:
    if not isinstance(content, dict) or "doc" not in content or not {"resps", "filtered_resps"} & set(content):
        raise DataError(f"{place}: no row of a log of lm-evaluation-harness (it needs `doc` and `filtered_resps`)")
    doc, target = content["doc"], content.get("target")
    requests = _requests(content.get("arguments"))
    answers = content.get("filtered_resps", content.get("resps"))
    answers = answers if isinstance(answers, list) else [answers]
    likelihoods, requests = _likelihoods(answers, requests)
    named = content.get("filter")
    written = "" if likelihoods else _written(answers)
    values = _values(content)
    pairs = _pairs(content, [name for name, value in values.items() if value is None], aggregates, likelihoods)
    return LogRow(
        number=at,
        doc=_hash(content, "doc_hash") or hashed(json.dumps(doc, indent=2, ensure_ascii=False)),
        prompt=_hash(content, "prompt_hash") or (hashed(requests[0][0]) if requests else ""),
        target_hash=_hash(content, "target_hash") or hashed(str(target)),
        doc_id="" if content.get("doc_id") is None else name_of(content["doc_id"]),
        filter=None if named is None else name_of(named),
        said=hashed(canonical(content.get("resps"))) if named is None else "",
        text=shown(_text(doc)),
        target=target,
        values={**values, **{name: value for name, (value, _) in pairs.items()}},
        weights={name: weight for name, (_, weight) in pairs.items()},
        pairs=_label_pairs(content, [name for name, value in values.items() if value is None], aggregates),
        likelihoods=likelihoods,
        choices=_offered(requests) if len(likelihoods) == len(requests) > 1 else (),
        answer=written,
        silent=not likelihoods and not written,
        cluster=_cluster(doc, cluster, place) if cluster else "",
    )


def _hash(content: Mapping[str, Any], name: str) -> str:
    """A hash that stands in the log; "#" is what numbers repeated ones, so that what holds it is hashed again."""
    found = content.get(name)
    if not isinstance(found, str):
        return ""
    return hashed(found) if "#" in found else name_of(found)


def _text(doc: Any) -> str:
    """What a document says to people: its texts of several words, or all its texts, or all of it."""
    if isinstance(doc, str):
        return doc
    texts = [value for value in doc.values() if isinstance(value, str)] if isinstance(doc, dict) else []
    return "\n".join([text for text in texts if " " in text.strip()] or texts) or canonical(doc)


def _cluster(doc: Any, name: str, place: str) -> str:
    fields = doc if isinstance(doc, dict) else {}
    if fields.get(name) is None:
        raise DataError(f"{place}: its document has no {name!r}; it has {listed(fields) or 'none'}")
    return name_of(fields[name])


def _values(content: Mapping[str, Any]) -> dict[str, float | None]:
    """The metrics of a row: those that it names, or whatever is no key of the program's own."""
    named = content.get("metrics")
    names = named if isinstance(named, list) and named else content
    return {name_of(name): number(content.get(name)) for name in names if isinstance(name, str) and name not in _OWN}


def _pairs(
    content: Mapping[str, Any], names: Sequence[str], aggregates: Mapping[str, str], likelihoods: Sequence[float]
) -> dict[str, tuple[float, float]]:
    """Metric whose value is a pair -> the number that it comes to, and what that is weighted by."""
    found: dict[str, tuple[float, float]] = {}
    for name in names:
        pair, aggregate = content.get(name), aggregates.get(name)
        if not isinstance(pair, list) or len(pair) != 2:
            continue
        first, second = number(pair[0]), number(pair[1])
        if aggregate in WEIGHTED and first is not None and second is not None and second > 0:
            found[name] = first, second
        elif aggregate == SQUARED and first is not None:
            distance = _distance(first, pair[1], likelihoods)
            found |= {} if distance is None else {name: (distance, 1.0)}
    return found


def _label_pairs(
    content: Mapping[str, Any], names: Sequence[str], aggregates: Mapping[str, str]
) -> dict[str, tuple[int, int]]:
    """Metric whose value is a pair of labels -> the right one and the predicted one."""
    found: dict[str, tuple[int, int]] = {}
    for name in names:
        pair = content.get(name)
        if aggregates.get(name) not in OF_LABELS or not isinstance(pair, list) or len(pair) != 2:
            continue
        first, second = number(pair[0]), number(pair[1])
        if first is not None and second is not None and min(first, second) >= 0 and (first % 1, second % 1) == (0, 0):
            found[name] = int(first), int(second)
    return found


def _distance(right: float, probabilities: Any, likelihoods: Sequence[float]) -> float | None:
    """How far probabilities are from certainty of the right choice, squared; of choices by their log-likelihoods.

    The log has the probabilities with eight digits, and the log-likelihoods with all.
    """
    if likelihoods:
        probs = softmax(np.array([likelihoods]))[0]
    else:
        parts = probabilities.strip("[] ").split() if isinstance(probabilities, str) else probabilities
        numbers = [number(part) for part in parts] if isinstance(parts, list) else []
        probs = np.array([math.nan if value is None else value for value in numbers])
    if not (right.is_integer() and 0 <= right < len(probs)) or np.isnan(probs).any():
        return None
    return float(((probs - np.eye(len(probs))[int(right)]) ** 2).sum())


def _requests(arguments: Any) -> list[tuple[str, str]]:
    """(prompt, what is to follow) of each request; since 0.4.3 they are objects, before they were lists."""
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    found = []
    for request in requests if isinstance(requests, list) else ():
        parts = list(request.values()) if isinstance(request, dict) else request
        texts = parts if isinstance(parts, list) else [parts]
        prompt, follows = (*texts, "", "")[:2]
        prompt = prompt if isinstance(prompt, str) else canonical(prompt)
        found.append((prompt, follows if isinstance(follows, str) else ""))
    return found


def _likelihoods(
    answers: Sequence[Any], requests: list[tuple[str, str]]
) -> tuple[tuple[float, ...], list[tuple[str, str]]]:
    """The log-likelihoods of the choices and their requests; () where the model was asked to write.

    For mutual information every choice is asked for once more, after an empty prompt: these are no choices.
    """
    found = [number(pair[0]) for pair in answers if isinstance(pair, list) and len(pair) == 2 and _greedy(pair[1])]
    if not found or len(found) < len(answers) or None in found:
        return (), requests
    half = len(requests) // 2
    twice = half > 1 and len(requests) == len(found) == 2 * half
    if twice and requests[0][0] and not any(prompt for prompt, _ in requests[half:]):
        found, requests = found[:half], requests[:half]
    return tuple(value for value in found if value is not None), requests


def _greedy(value: Any) -> bool:
    """Whether a value says if a choice is what the model would have written."""
    return isinstance(value, bool) or value in ("True", "False")


def _offered(requests: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The texts of the choices: what is to follow; where that is one for all, what stands before it."""
    follows = tuple(follows for _, follows in requests)
    return tuple(prompt for prompt, _ in requests) if len(set(follows)) == 1 else follows


def _written(answers: Sequence[Any]) -> str:
    """What the model wrote, as a filter left it; of several answers the first that is one, "" where none is."""
    found: list[Any] = []
    for answer in answers:
        found.extend(answer if isinstance(answer, list) else (answer,))
    texts = [name_of(answer) for answer in found if answer is not None]
    return next((text for text in texts if text.strip() not in ("", INVALID, "None")), "")
