"""The samples of a log of Inspect, 0.3.41 to today, and its header: of each what is needed, and no more in memory."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

from ranker.errors import DataError, listed
from ranker.files.archive import Archive
from ranker.files.text import beginning
from ranker.limits import LIMITS, Limits
from ranker.sources.logs import files
from ranker.sources.logs.base import canonical, hashed, name_of, number, shown

ZIP = (b"PK\3\4", b"PK\5\6")
"""How an archive begins; one without parts begins with its end."""

VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}
"""What the words for scores count as, beside "true" and "false"."""

_SAMPLE = re.compile(r"samples/.*_epoch_[0-9]+(?:\.json|/sample\.json)", re.DOTALL)
_METADATA = "metadata.json"  # beside a sample.json
_HEADER, _START = "header.json", "_journal/start.json"
_ATTACHED = "attachment://"


class Mark(NamedTuple):
    """What a scorer, or a part of its value, says of one sample.

    Attributes:
        value: a number; nan: it is not scored; None: what stands there is no number.
        silent: the model gave no answer.
        answer: the answer that was scored; "" where none is recorded.
        written: the value as it stands there.
    """

    value: float | None
    silent: bool
    answer: str
    written: str


@dataclass(frozen=True, slots=True)
class Sample:
    """What is kept of one sample of one epoch.

    Attributes:
        key: its id, as text.
        position: the id where it is a number from 1, which may be a mere position; else 0.
        epoch: from 1.
        text: what it says.
        target_hash, prompt_hash: of the right answer, and of what the model was given; "" where that is not logged, or
            the sample failed, since nobody knows then how much of it there was.
        choices: what could be answered; () where anything could.
        right: the choices that are right; of a sample without choices the right answers.
        marks: (scorer, part of its value, "" for all of it) -> what it says.
        limit: the limit that ended it, such as "token"; "" where none did.
        groups: field of its metadata -> its value, of the fields that were asked for.
    """

    key: str
    position: int
    epoch: int
    text: str
    target_hash: str
    prompt_hash: str
    choices: tuple[str, ...]
    right: tuple[str, ...]
    marks: Mapping[tuple[str, str], Mark]
    limit: str
    groups: Mapping[str, str]


@dataclass(frozen=True)
class InspectHeader:
    """What a log says of its run.

    Attributes:
        task, model, version: names, and the program's version; "" where it does not say.
        created: when the run began; "" where it does not say.
        epochs: how often each sample was to be run.
        size: samples of the data, of which a part may have been run.
        planned: samples that were to be run; None where it does not say.
        complete: the run ended, and ended well.
        arguments: what the task and the model were run with, by name, as JSON.
        reducers: what the epochs of a sample are reduced to, several for several numbers; () where it does not say.
        recorded: (scorer, part of its value, reducer) -> metric -> its number of all samples. A part is "" for all of
            it, a reducer where none is named.
        clusters: scorer -> the field of the samples' metadata by which its standard errors are clustered.
        setup: a hash of the solver's steps and of what was passed to it and to the task; "" where it does not say.
        notes: what is to be known of it.
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
    """A log's header and its samples, in the order of the file.

    Args:
        path: the file.
        cluster: the field of the samples' metadata that every one must have, or None.
        limits: how much is read.

    Raises:
        DataError: it is no such log, or broken, or too large, or holds a sample twice.
    """
    if beginning(path, 4).startswith(ZIP):
        with files.open_log(path) as stream:
            header, samples = _of_archive(_seekable(stream, path, limits), path, cluster, limits)
    else:
        header, samples = _of_json(path, cluster, limits)
    if not samples:
        raise DataError(f"{path} holds no sample; were samples left out of it (no-log-samples)?")
    seen: set[tuple[str, int]] = set()
    for sample in samples:
        if (sample.key, sample.epoch) in seen:
            raise DataError(f"{path}: answers the sample {sample.key!r} twice in epoch {sample.epoch}")
        seen.add((sample.key, sample.epoch))
    return header, samples


def header_of(path: Path, limits: Limits = LIMITS) -> InspectHeader:
    """A log's header; of an archive nothing else is read.

    Raises:
        DataError: as in `samples_of`.
    """
    if beginning(path, 4).startswith(ZIP):
        with files.open_log(path) as stream:
            return _archived(Archive(_seekable(stream, path, limits), path, limits), path, files.Budget(limits))
    return _header(_json(path, limits), path)


def _seekable(stream: IO[bytes], path: Path, limits: Limits) -> IO[bytes]:
    """An archive that is packed once more is unpacked in memory; one on a disk is read from there."""
    return stream if stream.seekable() else io.BytesIO(files.whole(path, limits))


def _of_archive(
    stream: IO[bytes], path: Path, cluster: str | None, limits: Limits
) -> tuple[InspectHeader, tuple[Sample, ...]]:
    archive, budget = Archive(stream, path, limits), files.Budget(limits)
    header = _archived(archive, path, budget)
    names = [name for name in archive.parts if _SAMPLE.fullmatch(name)]
    limits.check(path, "log_rows", len(names))
    again = len(archive.repeated.intersection(names))
    if again:
        note = f"{again} samples stand in the archive more than once; the last of each counts."
        header = _noted(header, note)
    return header, tuple(
        _sample(_part(archive, name, path, budget), f"{path}, part {name[:200]!r}", header, cluster) for name in names
    )


def _part(archive: Archive, name: str, path: Path, budget: files.Budget) -> Any:
    """A sample of an archive; one that is stored in pieces has its metadata beside it."""
    content = files.parse(archive.read(name), f"{path}, part {name[:200]!r}", budget)
    beside = name.removesuffix("sample.json") + _METADATA
    if name.endswith("/sample.json") and isinstance(content, dict) and beside in archive.parts:
        content.setdefault("metadata", files.parse(archive.read(beside), f"{path}, part {beside[:200]!r}", budget))
    return content


def _archived(archive: Archive, path: Path, budget: files.Budget) -> InspectHeader:
    """The header of an archive, or what a run wrote when it began."""
    if _HEADER in archive.parts:
        return _header(files.parse(archive.read(_HEADER), f"{path}, part {_HEADER!r}", budget), path)
    note = "The log is partial: its run was killed before it wrote a header."
    if _START in archive.parts:
        start = files.parse(archive.read(_START), f"{path}, part {_START!r}", budget)
        started = {**start, "status": "success"} if isinstance(start, dict) else start
        return replace(_noted(_header(started, path), note), complete=False)
    if not any(_SAMPLE.fullmatch(name) for name in archive.parts):
        raise DataError(f"{path} is an archive, and no log of Inspect: it has neither a header nor samples")
    return InspectHeader(task=path.name.removesuffix(".gz").removesuffix(".eval"), complete=False, notes=(note,))


def _noted(header: InspectHeader, note: str) -> InspectHeader:
    return replace(header, notes=(*header.notes, note))


def _json(path: Path, limits: Limits) -> dict[str, Any]:
    content = files.parse(files.whole(path, limits), path, files.Budget(limits))
    if not isinstance(content, dict) or not isinstance(content.get("eval"), dict):
        raise DataError(f"{path} is no log of Inspect (it needs `eval` and `samples`)")
    return content


def _of_json(path: Path, cluster: str | None, limits: Limits) -> tuple[InspectHeader, tuple[Sample, ...]]:
    content = _json(path, limits)
    header = _header(content, path)
    samples = content.get("samples")
    if not isinstance(samples, list | None):
        raise DataError(f"{path}: `samples` must be a list")
    limits.check(path, "log_rows", len(samples or ()))
    return header, tuple(
        _sample(sample, f"{path}, sample {at}", header, cluster) for at, sample in enumerate(samples or (), 1)
    )


def _header(content: Any, path: Path) -> InspectHeader:
    spec = _table(content, "eval")
    if not spec:
        raise DataError(f"{path} is no log of Inspect (its header has no `eval`)")
    data, status = _table(spec, "dataset"), content.get("status")
    ids, size, config = data.get("sample_ids"), data.get("samples"), _table(spec, "config")
    epochs, reducers = config.get("epochs"), config.get("epochs_reducer")
    reducers = [reducers] if isinstance(reducers, str) else reducers
    notes = []
    if status != "success":
        notes.append(f"The log is partial: its run ended with the status {name_of(status)}.")
    if content.get("invalidated") is True:
        notes.append("Somebody has marked the log as invalid.")
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
    """A hash of how a run asked; what was left out is not in it, since other versions may have other defaults."""
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
    """What a run was asked with: that of two runs which differs makes them two things."""
    config = _table(spec, "config")
    every = {name: config.get(name) for name in _OF_RUN}
    for table in ("model_args", "model_generate_config", "task_args"):
        every |= _table(spec, table)
    return {name_of(name): canonical(value) for name, value in every.items() if value is not None}


def _recorded(content: Any) -> dict[tuple[str, str, str], dict[str, float]]:
    """The numbers that a log has of all samples, by scorer, part and reducer."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    scores = _table(content, "results").get("scores")
    for entry in scores if isinstance(scores, list) else ():
        scorer, name = _string(entry, "scorer"), _string(entry, "name")
        metrics = {
            name_of(key): number(_table(_table(entry, "metrics"), key).get("value")) for key in _table(entry, "metrics")
        }
        known = {key: value for key, value in metrics.items() if value is not None}
        found[scorer, "" if name == scorer else name, _string(entry, "reducer")] = known
    return found


def _clusters(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    scorers = spec.get("scorers")
    for scorer in scorers if isinstance(scorers, list) else ():
        metrics = scorer.get("metrics") if isinstance(scorer, dict) else None
        for metric in _metrics(metrics):
            cluster = _table(metric, "options").get("cluster")
            if metric.get("name") in ("inspect_ai/stderr", "stderr") and isinstance(cluster, str):
                yield _string(scorer, "name"), name_of(cluster)


def _metrics(found: Any) -> Iterator[Mapping[str, Any]]:
    """The metrics of a scorer: a list of them, or one such list for each part of its value."""
    for entry in found if isinstance(found, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            yield entry
        elif isinstance(entry, dict):
            yield from _metrics(entry)
    for entry in found.values() if isinstance(found, dict) else ():
        yield from _metrics(entry)


def _sample(content: Any, place: str, header: InspectHeader, cluster: str | None) -> Sample:
    try:
        return _kept(content, place, header, cluster)
    except RecursionError as error:
        raise DataError(f"{place}: nested too deeply") from error


def _kept(content: Any, place: str, header: InspectHeader, cluster: str | None) -> Sample:
    identity = content.get("id") if isinstance(content, dict) else None
    epoch = content.get("epoch", 1) if isinstance(content, dict) else None
    if not isinstance(identity, (str, int)) or isinstance(identity, bool) or type(epoch) is not int or epoch < 1:
        raise DataError(f"{place}: no sample of a log of Inspect (it needs an `id` and an `epoch`)")
    metadata = _table(content, "metadata")
    if cluster is not None and metadata.get(cluster) is None:
        raise DataError(f"{place}: its metadata has no {cluster!r}; it has {listed(metadata) or 'none'}")
    wanted = {*header.clusters.values(), *([] if cluster is None else [cluster])}
    choices = content.get("choices")
    texts = tuple(map(name_of, choices)) if isinstance(choices, list) else ()
    target = content.get("target")
    targets = [_plain(part).strip() for part in (target if isinstance(target, list) else [target])]
    attached = _table(content, "attachments")
    return Sample(
        key=name_of(identity),
        position=identity if type(identity) is int and 0 < identity <= LIMITS.log_rows else 0,
        epoch=epoch,
        text=shown(_said(content.get("input"), attached)),
        target_hash=hashed(canonical(_right(targets, texts))),
        prompt_hash="" if content.get("error") else _prompt(content.get("messages"), attached),
        choices=texts,
        right=chosen(",".join(targets), texts) if texts else tuple(targets),
        marks=dict(_marks(content)),
        limit=_limit(content),
        groups={key: name_of(metadata[key]) for key in wanted if metadata.get(key) is not None},
    )


def _right(targets: Sequence[str], choices: Sequence[str]) -> Sequence[str]:
    """What the right answer is known by: the texts of the choices that are right, whatever letter they stand behind."""
    named = chosen(",".join(targets), choices)
    return sorted(named) if named and len(set(choices)) == len(choices) else targets


_CUT = frozenset({"max_tokens", "model_length"})


def _limit(content: Mapping[str, Any]) -> str:
    """The limit that ended a sample, or its last answer."""
    named = _string(_table(content, "limit"), "type")
    choices = _table(content, "output").get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    reason = _string(first, "stop_reason")
    return named or (reason if reason in _CUT else "")


def chosen(answer: str, choices: Sequence[str]) -> tuple[str, ...]:
    """The choices that an answer names: by one letter or several, or by its text.

    Example:
        >>> chosen("B", ["yes", "no"]), chosen("A, B", ["yes", "no"]), chosen("no", ["yes", "no"]), chosen("?", ["yes"])
        (('no',), ('yes', 'no'), ('no',), ())
    """
    text = answer.strip()
    if len(text) > 1 and text in choices:
        return (text,)
    places = [_letter(sign) for sign in text if sign not in ", "] if len(text) <= 4 * len(choices) else []
    return tuple(choices[place] for place in places) if all(0 <= place < len(choices) for place in places) else ()


def _letter(sign: str) -> int:
    """The place of a choice: A to Z, then 1 to 9; -1 for other signs."""
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789".find(sign)


def _marks(content: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Mark]]:
    """What each scorer says of a sample, and each part of a value that has parts."""
    blank = not _completion(content.get("output")).strip()
    for scorer, score in _table(content, "scores").items():
        value = score.get("value") if isinstance(score, dict) else None
        answer = score.get("answer") if isinstance(score, dict) else None
        quiet = blank if answer is None else not _plain(answer).strip()
        parts: Mapping[Any, Any] = {"": value}
        if isinstance(value, (dict, list)):
            parts = value if isinstance(value, dict) else dict(enumerate(value))
        for part, said in parts.items():
            counted = _counted(said)
            good = parts is not value and "" in parts and counted is not None and counted > 0
            silent = said == "N" or (quiet and not good)
            yield (name_of(scorer), name_of(str(part))), Mark(counted, silent, _plain(answer), canonical(said)[:50])


def _counted(value: Any) -> float | None:
    """A score as a number: nan where a sample is not scored, None where it is no number."""
    if isinstance(value, str):
        text = value.strip()
        value = VALUES.get(text, VALUES.get(text.casefold(), text))
    return number(value)


def _prompt(messages: Any, attached: Mapping[str, Any]) -> str:
    """A hash of what the model was given before it answered for the first time; "" where that is not logged."""
    given = []
    for message in messages if isinstance(messages, list) else ():
        role = message.get("role") if isinstance(message, dict) else None
        if role == "assistant":
            break
        given.append([_plain(role), _said(message, attached)])
    return hashed(canonical(given)) if given else ""


def _completion(output: Any) -> str:
    """What the model wrote at last."""
    found = _table({"output": output}, "output")
    if isinstance(found.get("completion"), str):
        return str(found["completion"])
    choices = found.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return _said(_table(first, "message"), {})


def _said(content: Any, attached: Mapping[str, Any]) -> str:
    """The text of an input: a text, messages, or a message whose content may have parts."""
    if isinstance(content, str):
        if content.startswith(_ATTACHED):
            return _plain(attached.get(content.removeprefix(_ATTACHED)))
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (_said(part, attached) for part in content)))
    found = content if isinstance(content, dict) else {}
    return _said(found.get("content", found.get("text", "")), attached)


def _plain(value: Any) -> str:
    return "" if value is None else name_of(value)


def _table(content: Any, key: str) -> dict[str, Any]:
    found = content.get(key) if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}


def _string(content: Any, key: str) -> str:
    found = content.get(key) if isinstance(content, dict) else None
    return name_of(found) if isinstance(found, str) else ""
