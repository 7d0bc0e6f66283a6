"""Logs that are cut, damaged or made to do harm: each is refused in one line, in little memory and time."""

import gzip
import json
import os
import struct
import tracemalloc

import pytest
from logmaking import TIME, archive, choice_row, eval_log, header, json_log, lines, named, part, sample, written_row
from refusals import refuses

from ranker.errors import DataError
from ranker.limits import Limits
from ranker.sources.logs.inspect_samples import header_of
from ranker.sources.logs.options import LogOptions
from ranker.sources.logs.reading import list_logs, program_of, read_log
from ranker.sources.logs.results import results_of

ROW = choice_row(0, {"text": "a b"}, "1", (-3, -1), acc=1.0)
LINE = json.dumps(ROW).encode()
GOOD = [part("header.json", header()), part(named(sample(1, "C")), sample(1, "C"))]
JSONL, EVAL, JSON = f"samples_small_{TIME}.jsonl", "log.eval", "log.json"
NAME = "samples/2_epoch_1.json"
MEMORY = 200 << 20


def with_part(**faults):
    """A good archive with one sample whose part is false."""
    content = faults.pop("content", sample(2, "C"))
    return archive([*GOOD, part(faults.pop("name", NAME), content, **faults)])


def changed(content, place, by):
    """Bytes with some of them replaced; a place below 0 is from the end."""
    place = place % len(content)
    return content[:place] + by + content[place + len(by) :]


def whole(**fields):
    """A log of Inspect as one text."""
    return json.dumps({**header(), "samples": [sample(1, "C")], **fields}).encode()


def inspect_of(*samples):
    """The same of some samples."""
    return whole(samples=list(samples))


def row(**fields):
    """A line of lm-evaluation-harness with some of it changed."""
    return json.dumps({**ROW, **fields}).encode()


NESTED, BOMB, PART = b"[" * 100_000, b" " * (100 << 20), f", part '{NAME}'"
END = len(archive(GOOD)) - 22
ZIP64 = struct.pack("<4sLQL", b"PK\6\7", 0, 2**63, 1)
ZIP64 += struct.pack("<4s4H2LH", b"PK\5\6", *(0xFFFF,) * 4, *(0xFFFFFFFF,) * 2, 0)

BROKEN = {
    # lm-evaluation-harness: a name -> (the file's name, its content, the option of the error, its place in the file)
    "empty": (JSONL, b"", "", ""),
    "blank lines": (JSONL, b"\n \n\n", "", ""),
    "cut line": (JSONL, LINE + b"\n" + LINE[:200], "", ", line 2"),
    "prose": (JSONL, b"Dear reader,\n", "", ", line 1"),
    "a table": (JSONL, b"id,text\n1,a\n", "", ", line 1"),
    "NUL bytes": (JSONL, b"\0" * 1000, "", ", line 1"),
    "NUL in a line": (JSONL, LINE + b"\n\0\n", "", ", line 2"),
    "Latin-1": (JSONL, LINE + b"\n" + LINE.replace(b"a b", b"a \xe9"), "", ", line 2"),
    "UTF-16": (JSONL, LINE.decode().encode("utf-16"), "", ", line 1"),
    "a number": (JSONL, b"5\n", "", ", line 1"),
    "no document": (JSONL, json.dumps({"resps": []}).encode(), "", ", line 1"),
    "no answer at all": (JSONL, b'{"doc_id": 0, "doc": {}}', "", ", line 1"),
    "another object": (JSONL, LINE + b'\n{"doc_id": 1}', "", ", line 2"),
    "an empty list": (JSONL, b"[]", "", ""),
    "a list of numbers": (JSONL, b"[1, 2]", "", ", row 1"),
    "a cut list": (JSONL, b"[" + LINE, "", ""),
    "a list and more": (JSONL, b"[" + LINE + b"] x", "", ""),
    "two keys": (JSONL, LINE.replace(b'"acc": 1.0', b'"acc": 1.0, "acc": 0.0'), "", ", line 1"),
    "two keys in a document": (JSONL, LINE.replace(b'"text"', b'"text": 1, "text"'), "", ", line 1"),
    "nested": (JSONL, b'{"doc_id": 0, "doc": ' + NESTED, "", ", line 1"),
    "a nested list": (JSONL, NESTED, "", ""),
    "nested, whole": (JSONL, LINE[:-1] + b', "x": ' + b"[" * 5000 + b"]" * 5000 + b"}", "", ", line 1"),
    "many digits": (JSONL, LINE.replace(b"1.0", b"9" * 5000), "", ", line 1"),
    "huge number": (JSONL, LINE.replace(b'"acc": 1.0', b'"acc": 1' + b"0" * 400), "acc", ", line 1"),
    "Infinity": (JSONL, LINE.replace(b'"acc": 1.0', b'"acc": Infinity'), "acc", ", line 1"),
    "1e999": (JSONL, LINE.replace(b'"acc": 1.0', b'"acc": -1e999'), "acc", ", line 1"),
    "no metric": (JSONL, row(acc=None), "metric", ""),
    "only NaN": (JSONL, row(acc=float("nan")), "metric", ""),
    "a metric that is a text": (JSONL, row(acc="good"), "metric", ""),
    "a metric that is a list": (JSONL, row(acc=[1, 0]), "metric", ""),
    "twice": (JSONL, LINE + b"\n" + LINE, "", ", line 2"),
    "two logs in one": (JSONL, LINE + b"\n" + row(filter=None, doc_id=1), "filter", ""),
    "two filters": (JSONL, LINE + b"\n" + row(filter="loose"), "filter", ""),
    "gzip cut": (JSONL, gzip.compress(LINE * 50)[:-9], "", ""),
    "gzip damaged": (JSONL, changed(gzip.compress(LINE), -8, b"xxxx"), "", ""),
    "gzip and more": (JSONL, gzip.compress(LINE) + b"more", "", ""),
    "gzip of nothing": (JSONL, gzip.compress(b""), "", ""),
    "only the mark of gzip": (JSONL, b"\x1f\x8b", "", ""),
    "gzip in gzip": (JSONL, gzip.compress(gzip.compress(LINE)), "", ", line 1"),
    "a long line in gzip": (JSONL, gzip.compress(b"x" * (40 << 20), 1), "limits.log_line", ", line 1"),
    "a long list in gzip": (JSONL, gzip.compress(b"[" + b" " * (300 << 20), 1), "limits.log_whole", ""),
    "many values": (JSONL, b'{"doc_id": 0, "doc": [' + b"1," * (9 << 20), "limits.log_line", ", line 1"),
    # archives
    "an empty archive": (EVAL, archive([]), "", ""),
    "no archive": (EVAL, b"PK\3\4 and so on", "", ""),
    "an archive of something else": (EVAL, archive([part("a.txt", b"a")]), "", ""),
    "a cut archive": (EVAL, archive(GOOD)[:END], "", ""),
    "a list of parts that is cut": (EVAL, archive(GOOD)[: END - 60] + archive(GOOD)[END:], "", ""),
    "too many parts": (EVAL, archive(GOOD, count=9), "", ""),
    "a list elsewhere": (EVAL, archive(GOOD, place=7), "", ""),
    "a list beyond the end": (EVAL, archive(GOOD, place=0xFFFFFFF0), "", ""),
    "a huge list": (EVAL, archive(GOOD, listed=0xFFFFFFF0), "limits.directory", ", its list of parts"),
    "zip64 far away": (EVAL, archive(GOOD)[:END] + ZIP64, "limits.directory", ", its list of parts"),
    "wrong checksum": (EVAL, with_part(checksum=1), "", PART),
    "size too small": (EVAL, with_part(size=5, method=8), "", PART),
    "size too large": (EVAL, with_part(size=9999, method=8), "", PART),
    "size too small, zstd": (EVAL, with_part(size=5), "", PART),
    "size too large, zstd": (EVAL, with_part(size=9999), "", PART),
    "size too small, stored": (EVAL, with_part(size=5, method=0), "", PART),
    "noise for zstd": (EVAL, archive([*GOOD, (NAME, b"noise", 93, 9, 1, 0)]), "", PART),
    "noise for deflate": (EVAL, archive([*GOOD, (NAME, b"noise", 8, 9, 1, 0)]), "", PART),
    "an unknown method": (EVAL, archive([*GOOD, (NAME, b"noise", 14, 9, 1, 0)]), "", PART),
    "encrypted": (EVAL, with_part(flags=1), "", PART),
    "a bomb": (EVAL, with_part(content=BOMB), "limits.ratio", PART),
    "a deflated bomb": (EVAL, with_part(content=BOMB, method=8), "limits.ratio", PART),
    "a bomb that lies": (EVAL, with_part(content=BOMB, method=8, size=900), "", PART),
    "a zstd bomb that lies": (EVAL, with_part(content=BOMB, size=900), "", PART),
    "a large part": (EVAL, with_part(size=0xFFFFFFF0), "limits.log_part", PART),
    "a header that is none": (EVAL, archive([part("header.json", b"[1]"), GOOD[1]]), "", ""),
    "a header that is cut": (EVAL, archive([part("header.json", b'{"eval":'), GOOD[1]]), "", ", part 'header.json'"),
    "no samples": (EVAL, archive(GOOD[:1]), "", ""),
    "a sample that is cut": (EVAL, with_part(content=b'{"id": 1'), "", PART),
    "a sample that is a list": (EVAL, with_part(content=b"[]"), "", PART),
    "a nested sample": (EVAL, with_part(content=NESTED), "", PART),
    "a sample in Latin-1": (EVAL, with_part(content=b'{"id": "\xe9"}'), "", PART),
    "a sample of many values": (
        EVAL,
        with_part(content=b"[" + b"1," * (17 << 20) + b"1]", method=0),
        "limits.log_values_at_once",
        PART,
    ),
    "an odd name": (
        EVAL,
        with_part(name="samples/../../etc/x_epoch_1.json", content=b"{"),
        "",
        ", part 'samples/../../etc/x_epoch_1.json'",
    ),
    "a name of controls": (
        EVAL,
        with_part(name="samples/\n\x1b[2J_epoch_1.json", content=b"{"),
        "",
        ", part 'samples/\\n\\x1b[2J_epoch_1.json'",
    ),
    "a name that is no text": (
        EVAL,
        with_part(name=b"samples/\xff_epoch_1.json", flags=0x800, content=b"{"),
        "",
        ", part 'samples/\ufffd_epoch_1.json'",
    ),
    "a sample under two names": (EVAL, with_part(content=sample(1, "C")), "", ""),
    # Inspect as one text
    "text, empty": (JSON, b"", "", ""),
    "text, cut": (JSON, whole()[:-20], "", ""),
    "text, another object": (JSON, b"{}", "", ""),
    "text, a list": (JSON, b"[]", "", ""),
    "text, no samples": (JSON, whole(samples=None), "", ""),
    "text, samples of another kind": (JSON, whole(samples={"a": 1}), "samples", ""),
    "text, no id": (JSON, inspect_of({"epoch": 1}), "", ", sample 1"),
    "text, an id that is a list": (JSON, inspect_of(sample([1], "C")), "", ", sample 1"),
    "text, an epoch that is none": (JSON, inspect_of(sample(1, "C", epoch="x")), "", ", sample 1"),
    "text, twice": (JSON, inspect_of(sample("a", 1), sample("a", 0)), "", ""),
    "text, two keys": (JSON, whole().replace(b'"id": 1', b'"id": 1, "id": 2'), "", ""),
    "text, many digits": (JSON, whole().replace(b'"id": 1', b'"id": ' + b"1" * 5000), "", ""),
    "text, no scores": (JSON, inspect_of(sample(1, 0, scores=[])), "scorer", ""),
    "text, odd scores": (JSON, inspect_of(sample(1, 0, scores={"a": 1})), "scorer", ""),
    "text, a score in a score": (JSON, inspect_of(sample(1, {"a": {"b": 1}})), "scorer", ""),
    "text, nested": (JSON, b'{"eval": {"task": ' + NESTED, "", ""),
    "text, in gzip, endless": (
        JSON,
        gzip.compress(b'{"eval": {}, "status": "' + b"x" * (300 << 20), 1),
        "limits.log_whole",
        "",
    ),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", BROKEN)
def test_it_is_refused_in_one_line(tmp_path, name):
    """The line names the file; reading it takes little memory."""
    file, content, option, place = BROKEN[name]
    path = tmp_path / file
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with refuses(DataError, option=option, place=f"{path}{place}") as caught:
            read_log(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000
    assert peak < (MEMORY if "endless" not in name and "long list" not in name else 3 * MEMORY)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", BROKEN)
def test_looking_at_it_does_no_harm(tmp_path, name):
    """A broken file can be asked for its program, and a folder with it is listed or refused in one line."""
    file, content, *_ = BROKEN[name]
    (tmp_path / file).write_bytes(content)
    assert program_of(tmp_path / file) in (None, "lm-eval", "inspect")
    harmless(list_logs, tmp_path)


def harmless(done, *arguments):
    """Do something that may be refused in one line, and nothing else."""
    message = ""
    try:
        done(*arguments)
    except DataError as error:
        message = str(error)
    assert message.isprintable()


@pytest.mark.parametrize(("name", "most"), [("log_line", 100), ("log", 1000), ("log_rows", 3), ("log_values", 100)])
def test_lines_keep_to_the_budget(tmp_path, name, most):
    """Each limit of the table by itself."""
    path = tmp_path / JSONL
    path.write_bytes(lines([{**ROW, "doc_id": n, "doc": {"n": n}} for n in range(9)]).encode())
    assert len(read_log(path)) == 9
    with refuses(DataError, option=f"limits.{name}", allowed=(0, most)):
        read_log(path, limits=Limits(**{name: most}))


@pytest.mark.parametrize(
    ("name", "most"),
    [("log_part", 100), ("log", 1500), ("log_parts", 9), ("directory", 100), ("log_rows", 3), ("log_values", 100)],
)
def test_archives_keep_to_the_budget(tmp_path, name, most):
    """Each limit of the table by itself."""
    path = eval_log(tmp_path / EVAL, [sample(n, "C") for n in range(9)])
    assert len(read_log(path)) == 9
    with refuses(DataError, option=f"limits.{name}", allowed=(0, most)):
        read_log(path, limits=Limits(**{name: most}))


def test_texts_and_lists_keep_to_the_budget(tmp_path):
    """Limits hold for rows in one list, samples in one text, and files in one folder."""
    old, new = tmp_path / JSONL, json_log(tmp_path / JSON, [sample(n, "C") for n in range(9)])
    old.write_text(json.dumps([{**ROW, "doc_id": n, "doc": {"n": n}} for n in range(9)]))
    assert len(read_log(old)) == len(read_log(new)) == 9
    for path in (old, new):
        for name, most in {"log_rows": 3, "log_whole": 300, "log_values_at_once": 30}.items():
            with refuses(DataError, option=f"limits.{name}", place=path):
                read_log(path, limits=Limits(**{name: most}))
    with refuses(DataError, option="limits.log_files", place=tmp_path):
        list_logs(tmp_path, Limits(log_files=1))


def test_what_is_no_row_keeps_to_the_budget(tmp_path):
    """The header of an archive, a row that only looks like one of a log, and the results beside it."""
    limits = Limits(log_values=20)
    with refuses(DataError, option="limits.log_values", place=f"{tmp_path}/log.eval, part 'header.json'"):
        header_of(eval_log(tmp_path / EVAL, [sample(1, "C")]), limits)
    path = tmp_path / JSONL
    path.write_bytes(json.dumps({"resps": [], "x": [0] * 30, "doc": {}, "doc_id": 0}).encode())
    assert (program_of(path), program_of(path, limits)) == ("lm-eval", None)
    (tmp_path / f"results_{TIME}.json").write_text(json.dumps({"configs": {"small": [0] * 30}}))
    assert "`limits.log_values`" in results_of(path, limits=limits).notes[0]


def test_a_text_is_cut_where_it_is_too_long_to_show(tmp_path):
    """Two rows that begin alike are still two rows."""
    path = tmp_path / JSONL
    path.write_bytes(lines([{**ROW, "doc_id": n, "doc": {"text": "a " * 80_000 + str(n)}} for n in (1, 2)]).encode())
    log = read_log(path)
    assert [len(text) for text in log.texts] == [100_001] * 2
    assert len(set(log.keys)) == 2


def test_parts_that_share_their_bytes_are_counted_each(tmp_path):
    """An archive whose list names one part a thousand times unpacks no more than the budget."""
    packed = archive([part(f"samples/{n}_epoch_1.json", sample(n, "C")) for n in range(1000)])
    path = tmp_path / EVAL
    path.write_bytes(packed)
    with refuses(DataError, option="limits.log", place=path):
        read_log(path, limits=Limits(log=50_000))


@pytest.mark.parametrize(
    "make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/dev/zero", path), lambda path: os.symlink(path, path)]
)
@pytest.mark.parametrize("file", [JSONL, EVAL, JSON])
def test_what_is_no_file_is_not_opened(tmp_path, make, file):
    """A folder, a pipe that nobody writes into, a device without an end, and a link to itself."""
    make(tmp_path / file)
    with refuses(DataError, place=tmp_path / file):
        read_log(tmp_path / file)


@pytest.mark.parametrize("name", [JSONL, EVAL, JSON, "\0.jsonl", "x" * 300 + ".jsonl", "table.csv"])
def test_a_file_that_is_not_there_is_refused(tmp_path, name):
    """Whatever it is called."""
    with pytest.raises(DataError) as caught:
        read_log(tmp_path / name)
    assert str(caught.value).isprintable()


def test_a_message_tells_nothing_of_a_file_that_is_no_log(tmp_path):
    """A link may lead to a file that is none of the reader's business."""
    (tmp_path / "secret").write_text("password: swordfish\n")
    for name in (JSONL, EVAL, JSON):
        (tmp_path / name).symlink_to(tmp_path / "secret")
        with pytest.raises(DataError) as caught:
            read_log(tmp_path / name)
        assert "swordfish" not in str(caught.value)


@pytest.mark.more
@pytest.mark.parametrize("seed", range(3))
def test_any_damage_is_one_line_or_none(tmp_path, seed):
    """Bytes changed, cut or put in at random: a log is read or refused, and nothing else happens."""
    import random

    draw = random.Random(seed)
    rows = [{**ROW, "doc_id": n, "doc": {"n": n}} for n in range(3)]
    rows.append(written_row(9, {"n": 9}, "x", "x", "x", acc=1.0))
    sources = {
        JSONL: lines(rows).encode(),
        EVAL: archive([*GOOD, part("samples/2_epoch_1.json", sample(2, "I"), 8)]),
        JSON: whole(),
        JSONL + ".gz": gzip.compress(lines(rows).encode()),
    }
    for _ in range(150):
        for name, content in sources.items():
            damaged = bytearray(content)
            for _ in range(draw.randint(1, 4)):
                place = draw.randrange(len(damaged))
                size = draw.choice([0, 1, 1, 8])
                damaged[place : place + size] = draw.choice([b"", b"\0", b"9", b'"', b"[", b"\xff\xff", b"null"])
            (tmp_path / name).write_bytes(damaged)
            harmless(read_log, tmp_path / name, LogOptions(metric=draw.choice(["", "acc"])))


@pytest.mark.more
def test_values_of_every_kind_in_every_place_do_no_harm(tmp_path):
    """Each field of a row and of a sample, and of the header, replaced by each kind of value."""
    numbers, texts = [None, True, 0, -1, 10**30, 1.5, float("nan")], ["", "x", "\ud800"]
    for kind in [*numbers, *texts, [], [[]], [None], {}, {"x": None}, {"name": []}]:
        for key in [*ROW, "doc_hash", "scores_per_repeat"]:
            (tmp_path / JSONL).write_text(json.dumps({**ROW, key: kind}))
            harmless(read_log, tmp_path / JSONL)
        for key in [*sample(1, "C"), "attachments"]:
            harmless(read_log, json_log(tmp_path / JSON, [{**sample(1, "C"), key: kind}, sample(2, "C")]))
        for key in ("value", "answer"):
            harmless(read_log, json_log(tmp_path / JSON, [sample(1, "C", scores={"m": {"value": 1, key: kind}})]))
        log_header = header()
        for table in (log_header, log_header["eval"], log_header["eval"]["scorers"][0]):
            for key in [*table]:
                before, table[key] = table[key], kind
                harmless(read_log, json_log(tmp_path / JSON, [sample(1, "C")], log_header))
                table[key] = before
        (tmp_path / JSONL).write_bytes(LINE)
        for key in ("configs", "higher_is_better", "group_subtasks", "n-samples", "model_name"):
            fields = {"doc_to_choice": kind, "filter_list": kind, "effective": kind}
            for value in (kind, {"small": kind}, {"small": fields}):
                (tmp_path / f"results_{TIME}.json").write_text(json.dumps({key: value}))
                harmless(read_log, tmp_path / JSONL)


def test_a_broken_log_in_a_folder_is_named(tmp_path):
    """The broken log hides no other one, and is the reason where there is no other."""
    (tmp_path / "b.eval").write_bytes(b"PK\3\4")
    with refuses(DataError, place=tmp_path):
        list_logs(tmp_path)
    log = eval_log(tmp_path / "a.eval", [sample(1, "C")])
    (tmp_path / "samples_x_2026-01-02T03-04-05.6.jsonl").write_bytes(b"")
    listing = list_logs(tmp_path)
    assert [known_log.path for known_log in listing.logs] == [log]
    assert [note.partition(str(tmp_path))[0] for note in listing.notes] == ["Unreadable: "] * 2
    assert "b.eval: no zip archive" in listing.notes[0]
    assert "is empty, or no log" in listing.notes[1]
