"""Small logs as the programs write them, for tests."""

import gzip
import json
import struct
import zlib

import pyarrow as pa
import pytest

from ranker.errors import DataError
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.reading import read_log

TIME = "2026-01-02T03-04-05.678901"


def choice_row(number, doc, target, likelihoods, choices=(" no", " yes"), prompt="Is it?", **fields):
    """A row of lm-evaluation-harness that asks for one of several choices; acc is left to the caller."""
    return {
        "doc_id": number, "doc": doc, "target": target,
        "arguments": {f"gen_args_{i}": {"arg_0": prompt, "arg_1": text} for i, text in enumerate(choices)},
        "resps": [[[str(value), "False"]] for value in likelihoods],
        "filtered_resps": [[str(value), "False"] for value in likelihoods], "filter": "none",
        "metrics": [key for key in fields if key not in ("filter", "metrics", "doc_hash", "target_hash")], **fields,
    }  # fmt: skip


def written_row(number, doc, target, wrote, left, filter="none", **metrics):
    """A row of lm-evaluation-harness whose model was asked to write: what it wrote, and what a filter left of it."""
    filter_fields = {} if filter is None else {"filter": filter, "metrics": list(metrics)}
    return {
        "doc_id": number, "doc": doc, "target": target,
        "arguments": {"gen_args_0": {"arg_0": "Is it?", "arg_1": {"until": ["\n"]}}}, "resps": [[wrote]],
        "filtered_resps": [left], **filter_fields, **metrics,
    }  # fmt: skip


def refused(path, **choice):
    """Option, value and allowed names of the error that a log is refused with, in one line that names the file."""
    with pytest.raises(DataError) as caught:
        read_log(path, LogOptions(**choice))
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return caught.value.option, caught.value.value, caught.value.allowed


def lines(rows):
    """Rows as lines of JSON."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def lm_log(folder, rows, task="small", time=TIME, packed=False):
    """A file of rows, named as since 0.4.3."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{time}.jsonl{'.gz' if packed else ''}"
    content = lines(rows).encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def results(folder, task="small", time=TIME, config=None, higher=None, name=None, **fields):
    """The results beside it."""
    content = {
        "configs": {task: config or {}},
        "higher_is_better": {task: higher or {}},
        "model_name": "org/model",
        "lm_eval_version": "0.4.9",
        **fields,
    }
    path = folder / (name or f"results_{time}.json")
    path.write_text(json.dumps(content))
    return path


def sample(identity, value, epoch=1, scorer="match", answer="yes", **fields):
    """A sample of Inspect with one score; `scores` replaces it."""
    return {
        "id": identity, "epoch": epoch, "input": f"Is {identity} so?", "choices": None, "target": "yes",
        "messages": [{"role": "user", "content": f"Is {identity} so?"}, {"role": "assistant", "content": "It is."}],
        "output": {"choices": [{"message": {"role": "assistant", "content": "It is."}}], "completion": "It is."},
        "scores": {scorer: {"value": value, "answer": answer}}, "metadata": {}, "error": None, **fields,
    }  # fmt: skip


def header(status="success", epochs=1, ids=None, metrics=None, scorer="match", **fields):
    """The header of a log of Inspect."""
    return {
        "version": 2,
        "status": status,
        "eval": {
            "created": "2026-01-02T03:04:05+00:00",
            "task": "small",
            "model": "org/model",
            "dataset": {"samples": len(ids or ()), "sample_ids": ids} if ids else {},
            "config": {"epochs": epochs},
            "packages": {"inspect_ai": "0.3.200"},
            "scorers": [{"name": scorer, "metrics": metrics or []}],
        },
        "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}]},
        **fields,
    }


def part(name, content, method=93, size=None, checksum=None, flags=0):
    """(name, packed, method, size, checksum, flags) of a part of an archive; a size or checksum may be false."""
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    packed = content
    if method == 8:
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(content) + packer.flush()
    elif method == 93:
        packed = pa.compress(content, codec="zstd", asbytes=True)
    checksum = zlib.crc32(content) if checksum is None else checksum
    return name, packed, method, len(content) if size is None else size, checksum, flags


def archive(parts, count=None, listed=None, place=None):
    """A zip archive of parts; the number of parts, the bytes of their list and its place may be false."""
    body, entries, start = [], [], 0
    for name, packed, method, size, checksum, flags in parts:
        raw = name if isinstance(name, bytes) else name.encode()
        common = struct.pack("<HHHHLLLHH", flags, method, 0, 0x21, checksum, len(packed), size, len(raw), 0)
        entries += [struct.pack("<4sHH", b"PK\1\2", 20, 20), common, struct.pack("<HHHLL", 0, 0, 0, 0, start), raw]
        body += [struct.pack("<4sH", b"PK\3\4", 20), common, raw, packed]
        start += 30 + len(raw) + len(packed)
    number = len(parts) if count is None else count
    listed, place = sum(map(len, entries)) if listed is None else listed, start if place is None else place
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, min(number, 0xFFFF), min(number, 0xFFFF), listed, place, 0)
    if number > 0xFFFF:
        record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, number, number, listed, place)
        end = record + struct.pack("<4sLQL", b"PK\6\7", 0, start + listed, 1) + end
    return b"".join([*body, *entries, end])


def named(entry):
    """The name of a sample's part."""
    return f"samples/{str(entry['id']).encode('utf-8', 'replace').decode()}_epoch_{entry['epoch']}.json"


def eval_log(path, samples, head=None, method=93, also=()):
    """A log of Inspect as an archive; no header where `head` is False."""
    parts = [part(named(entry), entry, method) for entry in samples]
    head = [] if head is False else [part("header.json", head or header(), method)]
    path.write_bytes(archive([part("_journal/start.json", header(), method), *parts, *also, *head]))
    return path


def json_log(path, samples, head=None):
    """A log of Inspect as one JSON text."""
    content = json.dumps({**(head or header()), "samples": samples}).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path
