"""Samples and header of a log of Inspect, 0.3.41 to today; only the needed fields are held in memory."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

from ranker.errors import Absence, DataError, listed
from ranker.files.archive import ZIP, Archive
from ranker.files.text import open_unpacked, read_start
from ranker.limits import LIMITS, Limits
from ranker.sources.logs import files
from ranker.sources.logs.base import canonical, clip_text, hashed, list_in, name_of, number, table_in, text_in
from ranker.sources.usage import amount

VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}
"""Values of the words for scores, beside "true" and "false"."""

FAILURES = {"error": "error", "invalidated": "invalidation"}
"""State of a sample that failed -> the field that says so; it may have a score all the same."""

_SAMPLE = re.compile(r"samples/.*_epoch_[0-9]+(?:\.json|/sample\.json)", re.DOTALL)
_METADATA = "metadata.json"  # beside a sample.json
_HEADER, _START = "header.json", "_journal/start.json"
_ATTACHED = "attachment://"


class Mark(NamedTuple):
    """Value of a scorer, or of a part of it, for one sample.

    Attributes:
        value: a number; nan if not scored; None if it is no number.
        silent: the model gave no answer.
        answer: the scored answer; "" if not recorded.
        raw: the value as written.
    """

    value: float | None
    silent: bool
    answer: str
    raw: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Needed fields of one sample in one epoch.

    Attributes:
        key: its id, as text.
        position: the id if it is a number from 1, which may be a mere position; else 0.
        epoch: from 1.
        target_hash, prompt_hash: of the right answer, and of the model's input; "" if not logged, or if the sample
            failed, since the length of its input is then unknown.
        choices: possible answers; () if any.
        right: the right choices; the right answers of a sample without choices.
        completion: what the model wrote; "" for nothing, and for a sample that failed.
        marks: (scorer, part of its value, "" for all of it) -> its value; empty for a sample that failed.
        failed: "error" if the sample ended in one, "invalidated" if somebody marked it so; "" for neither.
        void: marks that a sample was given although it failed.
        retried: it was run again after an error.
        edited: somebody changed its score.
        limit: that ended it, such as "token"; "" for none.
        groups: field of its metadata -> its value, for the requested fields.
        usage: what it took, see `ranker.sources.usage.QUANTITIES`; nan where unknown.
    """

    key: str
    position: int
    epoch: int
    text: str
    target_hash: str
    prompt_hash: str
    choices: tuple[str, ...]
    right: tuple[str, ...]
    completion: str
    marks: Mapping[tuple[str, str], Mark]
    failed: str
    void: Mapping[tuple[str, str], Mark]
    retried: bool
    edited: bool
    limit: str
    groups: Mapping[str, str]
    usage: tuple[float, ...]


@dataclass(frozen=True)
class InspectHeader:
    """Run settings and recorded numbers of a log.

    Attributes:
        task, model, version: names, and the program's version; "" if not stated.
        created: start of the run; "" if not stated.
        size: number of samples of the data, of which a part may have been run.
        planned: number of samples to be run; None if not stated.
        arguments: of the task and the model, by name, as JSON.
        reducers: of the epochs of a sample, several for several numbers; () if not stated.
        recorded: (scorer, part of its value, reducer) -> metric -> its aggregate. A part is "" for all of it, a reducer
            "" if none is named.
        clusters: scorer -> field of the samples' metadata by which its standard errors are clustered.
        setup: hash of the solver's steps and of the arguments of it and the task; "" if not stated.
    """

    task: str
    model: str
    version: str
    created: str
    epochs: int
    size: int
    planned: int | None
    complete: bool
    arguments: Mapping[str, str]
    reducers: tuple[str, ...]
    recorded: Mapping[tuple[str, str, str], Mapping[str, float]]
    clusters: Mapping[str, str]
    setup: str
    notes: tuple[str, ...]


def samples_of(path: Path, cluster: str = "", limits: Limits = LIMITS) -> tuple[InspectHeader, tuple[Sample, ...]]:
    """Read a log's header and its samples, in the order of the file.

    Args:
        cluster: field of metadata that each sample must have; "" for none.

    Raises:
        DataError: it is no such log, or broken, or too large, or holds a sample twice.
    """
    samples: dict[tuple[str, int], Sample] = {}
    with open_unpacked(path) as stream:
        header, contents = _read(stream, path, limits)
        for place, content in contents:
            try:
                sample = _sample(content, place, header, cluster)
            except RecursionError as error:
                raise DataError.at(place, "nested too deeply") from error
            if (sample.key, sample.epoch) in samples:
                reason = f"answers the sample {sample.key!r} twice in epoch {sample.epoch}"
                raise DataError.at(path, reason, value=sample.key)
            samples[sample.key, sample.epoch] = sample
            limits.check(path, "log_rows", len(samples))
    if not samples:
        raise DataError.of(path, "holds no sample; were samples left out of it (no-log-samples)?")
    return header, tuple(samples.values())


def header_of(path: Path, limits: Limits = LIMITS) -> InspectHeader:
    """Read a log's header; of an archive nothing else is read."""
    with open_unpacked(path) as stream:
        return _read(stream, path, limits)[0]


def _read(stream: IO[bytes], path: Path, limits: Limits) -> tuple[InspectHeader, Iterator[tuple[str, Any]]]:
    """Return a log's header, and its samples with their places, which are read as they are asked for."""
    budget = files.Budget(limits)
    if not read_start(path, 4).startswith(ZIP):
        content = files.parse(files.read_whole(path, limits), path, budget)
        if not isinstance(content, dict) or not isinstance(content.get("eval"), dict):
            raise DataError.of(path, "is no log of Inspect (it needs `eval` and `samples`)")
        return _header(content, path), _samples_of_json(content.get("samples"), path)
    archive = Archive(stream if stream.seekable() else io.BytesIO(files.read_whole(path, limits)), path, limits)
    names = [name for name in archive.parts if _SAMPLE.fullmatch(name)]
    header = _archive_header(archive, path, budget)
    if again := len(archive.repeated.intersection(names)):
        note = f"{again} samples occur in the archive more than once; the last of each counts."
        header = replace(header, notes=(*header.notes, note))
    return header, ((f"{path}, part {name[:200]!r}", _part(archive, name, path, budget)) for name in names)


def _samples_of_json(samples: Any, path: Path) -> Iterator[tuple[str, Any]]:
    if not isinstance(samples, list | None):
        raise DataError.about("samples", "must be a list", place=path)
    yield from ((f"{path}, sample {number}", sample) for number, sample in enumerate(samples or (), 1))


def _part(archive: Archive, name: str, path: Path, budget: files.Budget) -> Any:
    """Parse a sample of an archive; one that is stored in pieces has its metadata in a file beside it."""
    content = files.parse(archive.read(name), f"{path}, part {name[:200]!r}", budget)
    beside = name.removesuffix("sample.json") + _METADATA
    if name.endswith("/sample.json") and isinstance(content, dict) and beside in archive.parts:
        content.setdefault("metadata", files.parse(archive.read(beside), f"{path}, part {beside[:200]!r}", budget))
    return content


def _archive_header(archive: Archive, path: Path, budget: files.Budget) -> InspectHeader:
    """Read the header of an archive, or the record of a run's start."""
    if _HEADER in archive.parts:
        return _header(files.parse(archive.read(_HEADER), f"{path}, part {_HEADER!r}", budget), path)
    note = Absence("The log is partial: its run was killed before it wrote a header.")
    if _START not in archive.parts:
        raise DataError.of(path, f"is an archive, and no log of Inspect: it has neither {_HEADER} nor {_START}")
    start = files.parse(archive.read(_START), f"{path}, part {_START!r}", budget)
    header = _header({**start, "status": "success"} if isinstance(start, dict) else start, path)
    return replace(header, notes=(*header.notes, note), complete=False)


def _header(content: Any, path: Path) -> InspectHeader:
    spec = table_in(content, "eval")
    if not spec:
        raise DataError.of(path, "is no log of Inspect (its header has no `eval`)")
    dataset, status = table_in(spec, "dataset"), content.get("status")
    ids, size, config = dataset.get("sample_ids"), dataset.get("samples"), table_in(spec, "config")
    epochs, reducers = config.get("epochs"), config.get("epochs_reducer")
    reducers = [reducers] if isinstance(reducers, str) else reducers
    notes = []
    if status != "success":
        notes.append(Absence(f"The log is partial: its run ended with the status {name_of(status)}."))
    if content.get("invalidated") is True:
        notes.append(Absence("Somebody has marked the log as invalid."))
    return InspectHeader(
        task=text_in(spec, "task"),
        model=text_in(spec, "model"),
        version=text_in(table_in(spec, "packages"), "inspect_ai"),
        created=text_in(spec, "created"),
        epochs=epochs if type(epochs) is int and 0 < epochs <= LIMITS.log_rows else 1,
        size=size if type(size) is int else 0,
        planned=len(ids) if isinstance(ids, list) else None,
        complete=status == "success",
        arguments=_arguments(spec),
        reducers=tuple(name_of(name) for name in reducers) if isinstance(reducers, list) else (),
        recorded=_recorded(content),
        clusters=dict(_clusters(spec)),
        setup=_setup(content),
        notes=tuple(notes),
    )


def _setup(content: Any) -> str:
    """Hash how a run asked; omitted settings are left out, since other versions may have other defaults."""
    steps = table_in(content, "plan").get("steps")
    if not isinstance(steps, list):
        return ""
    solver = [
        [step.get("solver"), step.get("params_passed", step.get("params"))] for step in steps if isinstance(step, dict)
    ]
    spec = table_in(content, "eval")
    return hashed(canonical([solver, spec.get("task_args_passed", spec.get("task_args"))]))


_OF_RUN = ("epochs", "epochs_reducer", "limit", "sample_id", "message_limit", "token_limit", "time_limit")


def _arguments(spec: Mapping[str, Any]) -> dict[str, str]:
    """Collect the arguments that make two runs different ones."""
    config = table_in(spec, "config")
    arguments = {name: config.get(name) for name in _OF_RUN}
    for table in ("model_args", "model_generate_config", "task_args"):
        arguments |= table_in(spec, table)
    return {name_of(name): canonical(value) for name, value in arguments.items() if value is not None}


def _recorded(content: Any) -> dict[tuple[str, str, str], dict[str, float]]:
    """Read the recorded aggregates, by scorer, part and reducer."""
    recorded: dict[tuple[str, str, str], dict[str, float]] = {}
    for entry in list_in(table_in(content, "results"), "scores"):
        scorer, name = text_in(entry, "scorer"), text_in(entry, "name")
        metrics = {
            name_of(key): number(table_in(table_in(entry, "metrics"), key).get("value"))
            for key in table_in(entry, "metrics")
        }
        numbers = {key: value for key, value in metrics.items() if value is not None}
        recorded[scorer, "" if name == scorer else name, text_in(entry, "reducer")] = numbers
    return recorded


def _clusters(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for scorer in list_in(spec, "scorers"):
        for metric in _metrics(scorer.get("metrics") if isinstance(scorer, dict) else None):
            cluster = table_in(metric, "options").get("cluster")
            if metric.get("name") in ("inspect_ai/stderr", "stderr") and isinstance(cluster, str):
                yield text_in(scorer, "name"), name_of(cluster)


def _metrics(metrics: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the metrics of a scorer, from one list or a list for each part of its value."""
    for entry in metrics if isinstance(metrics, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            yield entry
        elif isinstance(entry, dict):
            yield from _metrics(entry)
    for entry in metrics.values() if isinstance(metrics, dict) else ():
        yield from _metrics(entry)


def _sample(content: Any, place: str, header: InspectHeader, cluster: str) -> Sample:
    identity = content.get("id") if isinstance(content, dict) else None
    epoch = content.get("epoch", 1) if isinstance(content, dict) else None
    if not isinstance(identity, (str, int)) or isinstance(identity, bool) or type(epoch) is not int or epoch < 1:
        raise DataError.at(place, "no sample of a log of Inspect (it needs an `id` and an `epoch`)")
    metadata = table_in(content, "metadata")
    if cluster and metadata.get(cluster) is None:
        raise DataError.at(
            place,
            f"its metadata has no {cluster!r}; it has {listed(metadata) or 'none'}",
            option="cluster",
            value=cluster,
            allowed=metadata,
        )
    wanted = {*header.clusters.values(), cluster}
    texts = tuple(map(name_of, list_in(content, "choices")))
    target = content.get("target")
    targets = [_plain(part).strip() for part in (target if isinstance(target, list) else [target])]
    attached = table_in(content, "attachments")
    failed = next((state for state, name in FAILURES.items() if content.get(name)), "")
    marks = dict(_marks(content))
    return Sample(
        key=name_of(identity),
        position=identity if type(identity) is int and 0 < identity <= LIMITS.log_rows else 0,
        epoch=epoch,
        text=clip_text(_message_text(content.get("input"), attached)),
        target_hash=hashed(canonical(_right(targets, texts))),
        prompt_hash="" if content.get("error") else _prompt(content.get("messages"), attached),
        choices=texts,
        right=choices_named(",".join(targets), texts) if texts else tuple(targets),
        completion="" if failed else name_of(_completion(table_in(content, "output"))),
        marks={} if failed else marks,
        failed=failed,
        void=marks if failed else {},
        retried=bool(content.get("error_retries")),
        edited=any(len(list_in(score, "history")) > 1 for score in table_in(content, "scores").values()),
        limit=_limit(content),
        groups={key: name_of(metadata[key]) for key in wanted if metadata.get(key) is not None},
        usage=_usage(content, header.model),
    )


def _usage(content: Mapping[str, Any], model: str) -> tuple[float, ...]:
    """Return what a sample took of the model itself, not of others, such as one that graded its answer."""
    by_model = table_in(content, "model_usage")
    counts = by_model.get(model) or (next(iter(by_model.values())) if len(by_model) == 1 else None)
    counts = counts if isinstance(counts, dict) else table_in(table_in(content, "output"), "usage")
    output, total = amount(counts.get("output_tokens")), amount(counts.get("total_tokens"))
    # all tokens that are not written count as those of prompts; the time is that without waiting, where it is logged
    prompt = total - output if total >= output else amount(counts.get("input_tokens"))
    working = amount(content.get("working_time"))
    seconds = amount(content.get("total_time")) if math.isnan(working) else working
    return prompt, output, seconds, amount(counts.get("total_cost"))


def _right(targets: Sequence[str], choices: Sequence[str]) -> Sequence[str]:
    """Identify the right answer by the texts of the right choices, whatever their letters."""
    right = choices_named(",".join(targets), choices)
    return sorted(right) if right and len(set(choices)) == len(choices) else targets


_CUT = frozenset({"max_tokens", "model_length"})


def _limit(content: Mapping[str, Any]) -> str:
    """Return the limit that ended a sample, or its last answer."""
    limit = text_in(table_in(content, "limit"), "type")
    reason = text_in(next(iter(list_in(table_in(content, "output"), "choices")), None), "stop_reason")
    return limit or (reason if reason in _CUT else "")


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789"  # of choices, in their order


def choices_named(answer: str, choices: Sequence[str]) -> tuple[str, ...]:
    """Return the choices that an answer names, by one letter or several, or by its text.

    Example:
        >>> choices_named("B", ["yes", "no"]), choices_named("A, B", ["yes", "no"])
        (('no',), ('yes', 'no'))
        >>> choices_named("no", ["yes", "no"]), choices_named("?", ["yes"])
        (('no',), ())
    """
    text = answer.strip()
    if len(text) > 1 and text in choices:
        return (text,)
    places = [_LETTERS.find(sign) for sign in text if sign not in ", "] if len(text) <= 4 * len(choices) else []
    return tuple(choices[place] for place in places) if all(0 <= place < len(choices) for place in places) else ()


def _marks(content: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Mark]]:
    """Yield the value of each scorer for a sample, and of each of its parts."""
    blank = not _completion(table_in(content, "output")).strip()
    for scorer, score in table_in(content, "scores").items():
        fields = score if isinstance(score, dict) else {}
        value, answer = fields.get("value"), fields.get("answer")
        quiet = blank if answer is None else not _plain(answer).strip()
        parts: Mapping[Any, Any] = {"": value}
        if isinstance(value, (dict, list)):
            parts = value if isinstance(value, dict) else dict(enumerate(value))
        for part, mark in parts.items():
            counted = _score_value(mark)
            good = parts is not value and "" in parts and counted is not None and counted > 0
            silent = mark == "N" or (quiet and not good)
            yield (name_of(scorer), name_of(str(part))), Mark(counted, silent, _plain(answer), canonical(mark)[:50])


def _score_value(value: Any) -> float | None:
    """Convert a score: nan if not scored, None if it is no number."""
    if isinstance(value, str):
        text = value.strip()
        value = VALUES.get(text, VALUES.get(text.casefold(), text))
    return number(value)


def _prompt(messages: Any, attached: Mapping[str, Any]) -> str:
    """Hash the model's input up to its first answer; "" if not logged."""
    turns = []
    for message in messages if isinstance(messages, list) else ():
        role = message.get("role") if isinstance(message, dict) else None
        if role == "assistant":
            break
        turns.append([_plain(role), _message_text(message, attached)])
    return hashed(canonical(turns)) if turns else ""


def _completion(output: Mapping[str, Any]) -> str:
    """Return the model's last output."""
    if isinstance(output.get("completion"), str):
        return str(output["completion"])
    return _message_text(table_in(next(iter(list_in(output, "choices")), None), "message"), {})


def _message_text(content: Any, attached: Mapping[str, Any]) -> str:
    """Return the text of an input: a text, messages, or a message whose content may have parts."""
    if isinstance(content, str):
        if content.startswith(_ATTACHED):
            return _plain(attached.get(content.removeprefix(_ATTACHED)))
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (_message_text(part, attached) for part in content)))
    fields = content if isinstance(content, dict) else {}
    return _message_text(fields.get("content", fields.get("text", "")), attached)


def _plain(value: Any) -> str:
    return "" if value is None else name_of(value)
