"""Samples and header of a log of Inspect, 0.3.41 to today; only the needed fields are held in memory."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

from ranker.errors import Absence, DataError, listed
from ranker.files.archive import Archive
from ranker.files.text import read_start
from ranker.limits import LIMITS, Limits
from ranker.sources.logs import files
from ranker.sources.logs.base import canonical, clip_text, hashed, name_of, number
from ranker.sources.usage import amount

ZIP = (b"PK\3\4", b"PK\5\6")
"""First bytes of an archive; one without parts begins with its end."""

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
        text: of the question.
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
        epochs: planned runs of each sample.
        size: number of samples of the data, of which a part may have been run.
        planned: number of samples to be run; None if not stated.
        complete: the run ended well.
        arguments: of the task and the model, by name, as JSON.
        reducers: of the epochs of a sample, several for several numbers; () if not stated.
        recorded: (scorer, part of its value, reducer) -> metric -> its aggregate. A part is "" for all of it, a reducer
            "" if none is named.
        clusters: scorer -> field of the samples' metadata by which its standard errors are clustered.
        setup: hash of the solver's steps and of the arguments of it and the task; "" if not stated.
        notes: on the log, in sentences.
    """

    task: str = ""
    model: str = ""
    version: str = ""
    created: str = ""
    epochs: int = 1
    size: int = 0
    planned: int | None = None
    complete: bool = True
    arguments: Mapping[str, str] = field(default_factory=dict)
    reducers: tuple[str, ...] = ()
    recorded: Mapping[tuple[str, str, str], Mapping[str, float]] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)
    setup: str = ""
    notes: tuple[str, ...] = ()


def samples_of(
    path: Path, cluster: str | None = None, limits: Limits = LIMITS
) -> tuple[InspectHeader, tuple[Sample, ...]]:
    """Read a log's header and its samples, in the order of the file.

    Args:
        path: the file.
        cluster: field of metadata that each sample must have, or None.
        limits: size limits of reading.

    Raises:
        DataError: it is no such log, or broken, or too large, or holds a sample twice.
    """
    if read_start(path, 4).startswith(ZIP):
        with files.open_log(path) as stream:
            header, samples = _read_archive(_seekable(stream, path, limits), path, cluster, limits)
    else:
        header, samples = _read_json(path, cluster, limits)
    if not samples:
        raise DataError.of(path, "holds no sample; were samples left out of it (no-log-samples)?")
    sample_epochs: set[tuple[str, int]] = set()
    for sample in samples:
        if (sample.key, sample.epoch) in sample_epochs:
            raise DataError.at(
                path, f"answers the sample {sample.key!r} twice in epoch {sample.epoch}", value=sample.key
            )
        sample_epochs.add((sample.key, sample.epoch))
    return header, samples


def header_of(path: Path, limits: Limits = LIMITS) -> InspectHeader:
    """Read a log's header; of an archive nothing else is read.

    Raises:
        DataError: as in `samples_of`.
    """
    if read_start(path, 4).startswith(ZIP):
        with files.open_log(path) as stream:
            return _archive_header(Archive(_seekable(stream, path, limits), path, limits), path, files.Budget(limits))
    return _header(_json(path, limits), path)


def _seekable(stream: IO[bytes], path: Path, limits: Limits) -> IO[bytes]:
    """Unpack a gzipped archive in memory; a plain one is read from its file."""
    return stream if stream.seekable() else io.BytesIO(files.read_whole(path, limits))


def _read_archive(
    stream: IO[bytes], path: Path, cluster: str | None, limits: Limits
) -> tuple[InspectHeader, tuple[Sample, ...]]:
    archive, budget = Archive(stream, path, limits), files.Budget(limits)
    header = _archive_header(archive, path, budget)
    names = [name for name in archive.parts if _SAMPLE.fullmatch(name)]
    limits.check(path, "log_rows", len(names))
    again = len(archive.repeated.intersection(names))
    if again:
        note = f"{again} samples occur in the archive more than once; the last of each counts."
        header = _add_note(header, note)
    return header, tuple(
        _sample(_part(archive, name, path, budget), f"{path}, part {name[:200]!r}", header, cluster) for name in names
    )


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
    if _START in archive.parts:
        start = files.parse(archive.read(_START), f"{path}, part {_START!r}", budget)
        started = {**start, "status": "success"} if isinstance(start, dict) else start
        return replace(_add_note(_header(started, path), note), complete=False)
    if not any(_SAMPLE.fullmatch(name) for name in archive.parts):
        raise DataError.of(path, "is an archive, and no log of Inspect: it has neither a header nor samples")
    return InspectHeader(task=path.name.removesuffix(".gz").removesuffix(".eval"), complete=False, notes=(note,))


def _add_note(header: InspectHeader, note: str) -> InspectHeader:
    return replace(header, notes=(*header.notes, note))


def _json(path: Path, limits: Limits) -> dict[str, Any]:
    content = files.parse(files.read_whole(path, limits), path, files.Budget(limits))
    if not isinstance(content, dict) or not isinstance(content.get("eval"), dict):
        raise DataError.of(path, "is no log of Inspect (it needs `eval` and `samples`)")
    return content


def _read_json(path: Path, cluster: str | None, limits: Limits) -> tuple[InspectHeader, tuple[Sample, ...]]:
    content = _json(path, limits)
    header = _header(content, path)
    samples = content.get("samples")
    if not isinstance(samples, list | None):
        raise DataError.about("samples", "must be a list", place=path)
    limits.check(path, "log_rows", len(samples or ()))
    return header, tuple(
        _sample(sample, f"{path}, sample {index}", header, cluster) for index, sample in enumerate(samples or (), 1)
    )


def _header(content: Any, path: Path) -> InspectHeader:
    spec = _table(content, "eval")
    if not spec:
        raise DataError.of(path, "is no log of Inspect (its header has no `eval`)")
    dataset, status = _table(spec, "dataset"), content.get("status")
    ids, size, config = dataset.get("sample_ids"), dataset.get("samples"), _table(spec, "config")
    epochs, reducers = config.get("epochs"), config.get("epochs_reducer")
    reducers = [reducers] if isinstance(reducers, str) else reducers
    notes = []
    if status != "success":
        notes.append(Absence(f"The log is partial: its run ended with the status {name_of(status)}."))
    if content.get("invalidated") is True:
        notes.append(Absence("Somebody has marked the log as invalid."))
    return InspectHeader(
        task=_string(spec, "task"),
        model=_string(spec, "model"),
        version=_string(_table(spec, "packages"), "inspect_ai"),
        created=_string(spec, "created"),
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
    steps = _table(content, "plan").get("steps")
    if not isinstance(steps, list):
        return ""
    solver = [
        [step.get("solver"), step.get("params_passed", step.get("params"))] for step in steps if isinstance(step, dict)
    ]
    spec = _table(content, "eval")
    return hashed(canonical([solver, spec.get("task_args_passed", spec.get("task_args"))]))


_OF_RUN = ("epochs", "epochs_reducer", "limit", "sample_id", "message_limit", "token_limit", "time_limit")


def _arguments(spec: Mapping[str, Any]) -> dict[str, str]:
    """Collect the arguments that make two runs different ones."""
    config = _table(spec, "config")
    arguments = {name: config.get(name) for name in _OF_RUN}
    for table in ("model_args", "model_generate_config", "task_args"):
        arguments |= _table(spec, table)
    return {name_of(name): canonical(value) for name, value in arguments.items() if value is not None}


def _recorded(content: Any) -> dict[tuple[str, str, str], dict[str, float]]:
    """Read the recorded aggregates, by scorer, part and reducer."""
    recorded: dict[tuple[str, str, str], dict[str, float]] = {}
    scores = _table(content, "results").get("scores")
    for entry in scores if isinstance(scores, list) else ():
        scorer, name = _string(entry, "scorer"), _string(entry, "name")
        metrics = {
            name_of(key): number(_table(_table(entry, "metrics"), key).get("value")) for key in _table(entry, "metrics")
        }
        numbers = {key: value for key, value in metrics.items() if value is not None}
        recorded[scorer, "" if name == scorer else name, _string(entry, "reducer")] = numbers
    return recorded


def _clusters(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    scorers = spec.get("scorers")
    for scorer in scorers if isinstance(scorers, list) else ():
        metrics = scorer.get("metrics") if isinstance(scorer, dict) else None
        for metric in _metrics(metrics):
            cluster = _table(metric, "options").get("cluster")
            if metric.get("name") in ("inspect_ai/stderr", "stderr") and isinstance(cluster, str):
                yield _string(scorer, "name"), name_of(cluster)


def _metrics(metrics: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the metrics of a scorer, from one list or a list for each part of its value."""
    for entry in metrics if isinstance(metrics, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            yield entry
        elif isinstance(entry, dict):
            yield from _metrics(entry)
    for entry in metrics.values() if isinstance(metrics, dict) else ():
        yield from _metrics(entry)


def _sample(content: Any, place: str, header: InspectHeader, cluster: str | None) -> Sample:
    try:
        return _parse_sample(content, place, header, cluster)
    except RecursionError as error:
        raise DataError.at(place, "nested too deeply") from error


def _parse_sample(content: Any, place: str, header: InspectHeader, cluster: str | None) -> Sample:
    identity = content.get("id") if isinstance(content, dict) else None
    epoch = content.get("epoch", 1) if isinstance(content, dict) else None
    if not isinstance(identity, (str, int)) or isinstance(identity, bool) or type(epoch) is not int or epoch < 1:
        raise DataError.at(place, "no sample of a log of Inspect (it needs an `id` and an `epoch`)")
    metadata = _table(content, "metadata")
    if cluster is not None and metadata.get(cluster) is None:
        raise DataError.at(
            place,
            f"its metadata has no {cluster!r}; it has {listed(metadata) or 'none'}",
            option="cluster",
            value=cluster,
            allowed=metadata,
        )
    wanted = {*header.clusters.values(), *([] if cluster is None else [cluster])}
    choices = content.get("choices")
    texts = tuple(map(name_of, choices)) if isinstance(choices, list) else ()
    target = content.get("target")
    targets = [_plain(part).strip() for part in (target if isinstance(target, list) else [target])]
    attached = _table(content, "attachments")
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
        completion="" if failed else _string(_table(content, "output"), "completion"),
        marks={} if failed else marks,
        failed=failed,
        void=marks if failed else {},
        retried=bool(content.get("error_retries")),
        edited=any(_is_edited(score) for score in _table(content, "scores").values()),
        limit=_limit(content),
        groups={key: name_of(metadata[key]) for key in wanted if metadata.get(key) is not None},
        usage=_usage(content, header.model),
    )


def _usage(content: Mapping[str, Any], model: str) -> tuple[float, ...]:
    """Return what a sample took of the model itself, not of others, such as one that graded its answer.

    All tokens that are not written count as those of prompts, read from a cache or not. The time is that without
    waiting for the model's server, where it is logged.
    """
    by_model = _table(content, "model_usage")
    counts = by_model.get(model) or (next(iter(by_model.values())) if len(by_model) == 1 else None)
    counts = counts if isinstance(counts, dict) else _table(_table(content, "output"), "usage")
    output, total = amount(counts.get("output_tokens")), amount(counts.get("total_tokens"))
    prompt = total - output if total >= output else amount(counts.get("input_tokens"))
    working = amount(content.get("working_time"))
    seconds = amount(content.get("total_time")) if math.isnan(working) else working
    return prompt, output, seconds, amount(counts.get("total_cost"))


def _is_edited(score: Any) -> bool:
    """Return True if somebody changed a score: its history holds the score before, too."""
    history = score.get("history") if isinstance(score, dict) else None
    return isinstance(history, list) and len(history) > 1


def _right(targets: Sequence[str], choices: Sequence[str]) -> Sequence[str]:
    """Identify the right answer by the texts of the right choices, whatever their letters."""
    right = choices_named(",".join(targets), choices)
    return sorted(right) if right and len(set(choices)) == len(choices) else targets


_CUT = frozenset({"max_tokens", "model_length"})


def _limit(content: Mapping[str, Any]) -> str:
    """Return the limit that ended a sample, or its last answer."""
    limit = _string(_table(content, "limit"), "type")
    choices = _table(content, "output").get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    reason = _string(first, "stop_reason")
    return limit or (reason if reason in _CUT else "")


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
    places = [_letter(sign) for sign in text if sign not in ", "] if len(text) <= 4 * len(choices) else []
    return tuple(choices[place] for place in places) if all(0 <= place < len(choices) for place in places) else ()


def _letter(sign: str) -> int:
    """Return the index of a choice's letter: A to Z, then 1 to 9; -1 for other signs."""
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789".find(sign)


def _marks(content: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Mark]]:
    """Yield the value of each scorer for a sample, and of each of its parts."""
    blank = not _completion(content.get("output")).strip()
    for scorer, score in _table(content, "scores").items():
        value = score.get("value") if isinstance(score, dict) else None
        answer = score.get("answer") if isinstance(score, dict) else None
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


def _completion(output: Any) -> str:
    """Return the model's last output."""
    fields = _table({"output": output}, "output")
    if isinstance(fields.get("completion"), str):
        return str(fields["completion"])
    choices = fields.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return _message_text(_table(first, "message"), {})


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


def _table(content: Any, key: str) -> dict[str, Any]:
    table = content.get(key) if isinstance(content, dict) else None
    return table if isinstance(table, dict) else {}


def _string(content: Any, key: str) -> str:
    text = content.get(key) if isinstance(content, dict) else None
    return name_of(text) if isinstance(text, str) else ""
