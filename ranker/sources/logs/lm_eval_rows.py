"""Rows of a log of lm-evaluation-harness, 0.4.0 to today; only the needed fields are held in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ranker.errors import DataError, listed
from ranker.files.text import read_start
from ranker.limits import LIMITS, Limits
from ranker.sources.logs import files
from ranker.sources.logs.base import canonical, clip_text, hashed, name_of, number
from ranker.sources.logs.measures import METRICS, OF_LABELS, SQUARED, WEIGHTED
from ranker.tasks.classes import softmax
from ranker.tasks.empty import INVALID

_OWN = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics")
    + ("doc_hash", "prompt_hash", "target_hash", "scores_per_repeat", "bypass")
)  # the keys of a row that are no metric


@dataclass(frozen=True, slots=True)
class LogRow:
    """Needed fields of one row of a log.

    Attributes:
        number: line, or position in a list, from 1.
        doc, prompt, target_hash: hashes; "" if unknown.
        doc_id: the program's number of the row, as text; "" for none. It distinguishes rows of one file and nothing
            else: it was wrong in some versions.
        filter: its filter; None if not named.
        response_hash: of the model's output before any filter; "" if not needed.
        values: metric -> its value, or the number computed from a pair; None if it is no number.
        weights: metric whose value is a pair with a number -> weight of this number, 1 for none.
        pairs: metric whose value is (right label, predicted label) -> the pair.
        likelihoods: log-likelihood of each request; () if the model was asked to write.
        choices: text of each choice, with the delimiter before it.
        answer: the model's text after a filter; "" if empty, or not asked to write.
        silent: the model was asked to write, and the answer is empty.
        cluster: group of dependent rows; "" if not requested.
    """

    number: int
    doc: str
    prompt: str
    target_hash: str
    doc_id: str
    filter: str | None
    response_hash: str
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
    path: Path, cluster: str, limits: Limits = LIMITS, aggregates: Mapping[str, str] | None = None
) -> Iterator[LogRow]:
    """Yield the rows of a file: one a line, or all in one JSON list, as versions before 0.4.3 wrote them.

    Args:
        cluster: field of a document that groups dependent rows; "" for none.
        aggregates: metric -> name of its aggregate, as the task states it: see `measures.AGGREGATES`.
    """
    all_aggregates = {metric: name for metric, (name, _) in METRICS.items()} | dict(aggregates or {})
    has_rows = False
    for line, place, content in _contents(path, limits):
        try:
            has_rows = True
            yield _row(content, line, place, cluster, all_aggregates)
        except RecursionError as error:
            raise DataError.at(place, "nested too deeply") from error
    if not has_rows:
        raise DataError.of(path, "holds no row")


def _contents(path: Path, limits: Limits) -> Iterator[tuple[int, str, Any]]:
    """Yield (line, place, content) of each row."""
    if read_start(path, 1 << 10).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        content = files.parse(files.read_whole(path, limits), path, files.Budget(limits))
        if not isinstance(content, list):  # it only starts like one
            raise DataError.of(path, "is no list of rows")
        limits.check(path, "log_rows", len(content))
        yield from ((line, f"{path}, row {line}", row) for line, row in enumerate(content, 1))
        return
    budget = files.Budget(limits)
    for line, content in files.iter_lines(path, limits):
        place = f"{path}, line {line}"
        yield line, place, files.parse(content, place, budget)


def _row(content: Any, line: int, place: str, cluster: str, aggregates: Mapping[str, str]) -> LogRow:
    if not isinstance(content, dict) or "doc" not in content or not {"resps", "filtered_resps"} & set(content):
        raise DataError.at(place, "no row of a log of lm-evaluation-harness (it needs `doc` and `filtered_resps`)")
    doc, target = content["doc"], content.get("target")
    requests = _requests(content.get("arguments"))
    answers = content.get("filtered_resps", content.get("resps"))
    answers = answers if isinstance(answers, list) else [answers]
    likelihoods, requests = _likelihoods(answers, requests)
    filter_name = content.get("filter")
    answer = "" if likelihoods else _first_text(answers)
    values = _values(content)
    no_numbers = [name for name, value in values.items() if value is None]
    weighted, labels = _pairs(content, no_numbers, aggregates, likelihoods)
    return LogRow(
        number=line,
        doc=_hash(content, "doc_hash") or hashed(json.dumps(doc, indent=2, ensure_ascii=False)),
        prompt=_hash(content, "prompt_hash") or (hashed(requests[0][0]) if requests else ""),
        target_hash=_hash(content, "target_hash") or hashed(str(target)),
        doc_id="" if content.get("doc_id") is None else name_of(content["doc_id"]),
        filter=None if filter_name is None else name_of(filter_name),
        response_hash=hashed(canonical(content.get("resps"))) if filter_name is None else "",
        text=clip_text(_text(doc)),
        target=target,
        values={**values, **{name: value for name, (value, _) in weighted.items()}},
        weights={name: weight for name, (_, weight) in weighted.items()},
        pairs=labels,
        likelihoods=likelihoods,
        choices=_choice_texts(requests) if len(likelihoods) == len(requests) > 1 else (),
        answer=answer,
        silent=not likelihoods and not answer,
        cluster=_cluster(doc, cluster, place) if cluster else "",
    )


def _hash(content: Mapping[str, Any], name: str) -> str:
    """Return a hash from the log; one with "#", which numbers repeats, is hashed again."""
    text = content.get(name)
    if not isinstance(text, str):
        return ""
    return hashed(text) if "#" in text else name_of(text)


def _text(doc: Any) -> str:
    """Return the readable text of a document: its texts of several words, else all its texts, else all of it."""
    if isinstance(doc, str):
        return doc
    texts = [value for value in doc.values() if isinstance(value, str)] if isinstance(doc, dict) else []
    return "\n".join([text for text in texts if " " in text.strip()] or texts) or canonical(doc)


def _cluster(doc: Any, name: str, place: str) -> str:
    fields = doc if isinstance(doc, dict) else {}
    if fields.get(name) is None:
        raise DataError.at(
            place,
            f"its document has no {name!r}; it has {listed(fields) or 'none'}",
            option="cluster",
            value=name,
            allowed=fields,
        )
    return name_of(fields[name])


def _values(content: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the metrics of a row: those that it names, else all keys that are not the program's own."""
    listed_names = content.get("metrics")
    names = listed_names if isinstance(listed_names, list) and listed_names else content
    return {name_of(name): number(content.get(name)) for name in names if isinstance(name, str) and name not in _OWN}


def _pairs(
    content: Mapping[str, Any], names: Sequence[str], aggregates: Mapping[str, str], likelihoods: Sequence[float]
) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[int, int]]]:
    """Map metrics whose value is a pair to the number computed from it and its weight, and others to two labels."""
    weighted: dict[str, tuple[float, float]] = {}
    labels: dict[str, tuple[int, int]] = {}
    for name in names:
        pair, aggregate = content.get(name), aggregates.get(name)
        if not isinstance(pair, list) or len(pair) != 2:
            continue
        first, second = number(pair[0]), number(pair[1])
        if aggregate == SQUARED and first is not None and first in range(len(likelihoods)):
            probs = softmax(np.array([likelihoods]))[0]  # with all digits; the log's probabilities have eight
            weighted[name] = float(((probs - np.eye(len(probs))[int(first)]) ** 2).sum()), 1.0
        elif first is None or second is None:
            continue
        elif aggregate in WEIGHTED and second > 0:
            weighted[name] = first, second
        elif aggregate in OF_LABELS and min(first, second) >= 0 and (first % 1, second % 1) == (0, 0):
            labels[name] = int(first), int(second)
    return weighted, labels


def _requests(arguments: Any) -> list[tuple[str, str]]:
    """Return (prompt, continuation) of each request; since 0.4.3 they are objects, before they were lists."""
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    pairs = []
    for request in requests if isinstance(requests, list) else ():
        parts = list(request.values()) if isinstance(request, dict) else request
        texts = parts if isinstance(parts, list) else [parts]
        prompt, follows = (*texts, "", "")[:2]
        prompt = prompt if isinstance(prompt, str) else canonical(prompt)
        pairs.append((prompt, follows if isinstance(follows, str) else ""))
    return pairs


def _likelihoods(
    answers: Sequence[Any], requests: list[tuple[str, str]]
) -> tuple[tuple[float, ...], list[tuple[str, str]]]:
    """Return the log-likelihoods of the choices and their requests; () if the model was asked to write."""
    pairs = [answer for answer in answers if isinstance(answer, list) and len(answer) == 2]
    # the second of a pair tells whether the model would have written the choice
    values = [number(first) for first, second in pairs if isinstance(second, bool) or second in ("True", "False")]
    if not values or len(values) < len(answers) or None in values:
        return (), requests
    half = len(requests) // 2  # for mutual information each choice is asked again after an empty prompt: no choices
    twice = half > 1 and len(requests) == len(values) == 2 * half
    if twice and requests[0][0] and not any(prompt for prompt, _ in requests[half:]):
        values, requests = values[:half], requests[:half]
    return tuple(value for value in values if value is not None), requests


def _choice_texts(requests: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return the texts of the choices: the continuations, or the prompts if there is one continuation for all."""
    follows = tuple(follows for _, follows in requests)
    return tuple(prompt for prompt, _ in requests) if len(set(follows)) == 1 else follows


def _first_text(answers: Sequence[Any]) -> str:
    """Return the first answer that is not empty, as a filter left it; "" if there is none."""
    texts_written: list[Any] = []
    for answer in answers:
        texts_written.extend(answer if isinstance(answer, list) else (answer,))
    texts = [name_of(answer) for answer in texts_written if answer is not None]
    return next((text for text in texts if text.strip() not in ("", INVALID, "None")), "")
