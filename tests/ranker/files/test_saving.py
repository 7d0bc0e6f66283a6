"""What the program writes: whole or not at all, with the mode of what was there, through links, pipes and devices."""

import ast
import csv
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ranker.files.saving import save

ROOT = Path(__file__).resolve().parents[3]

TABLE = "id,text,label,a,b\n" + "".join(f"r{n},Row {n}.,{n % 2},{n % 2},{n % 3 % 2}\n" for n in range(12))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a wide table and a pool, the current one."""
    monkeypatch.chdir(tmp_path)
    Path("wide.csv").write_text(TABLE)
    Path("pool.csv").write_text("id,text\n" + "".join(f"r{n},Row {n}.\n" for n in range(12)))
    for name, column in (("a", 3), ("b", 4)):
        rows = list(csv.reader(TABLE.splitlines()))
        Path(f"{name}.csv").write_text("".join(f"{row[0]},{row[column] if n else 'prediction'}\n"
                                               for n, row in enumerate(rows)))  # fmt: skip
    return tmp_path


def program(*arguments, most=None, stdin=""):
    """The program in a process of its own, whose files may have so many bytes: as on a disk that is full."""

    def limited():
        if most is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    # compiled files would be cut, and Python would not notice until it reads them
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "ranker", *map(str, arguments)], env=environment,
        capture_output=True, text=True, preexec_fn=limited, input=stdin, timeout=600,
    )  # fmt: skip


RUN = ("--models", "wide.csv", "--force", "-q")
LABEL = ("label", "--pool", "pool.csv", "--models", "a.csv", "b.csv", "--plain", "-q", "--label-map", "0=0,1=1")

DOORS = {
    "save": (*RUN, "--save", "out"),
    **{name: (*RUN, "--format", name, "-o", "out") for name in ("table", "csv", "json", "html", "markdown", "latex")},
    "batch": (*LABEL[:6], "--batch", "5", "-q", "--force", "-o", "out"),
}
"""What writes a file of the name `out`."""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "door", [door if door in ("save", "csv", "batch") else pytest.param(door, marks=pytest.mark.slow) for door in DOORS]
)
def test_a_full_disk_leaves_what_was_there(folder, door):
    """The earlier file stays whole, one line says what could not be written, and nothing lies beside it."""
    Path("out").write_text("what was there")
    before = {*os.listdir()}
    ended = program(*DOORS[door], most=40)
    assert ended.returncode == 1
    assert "out" in ended.stderr
    assert "cannot be written: File too large" in ended.stderr.replace("written to out", "written")
    assert Path("out").read_text() == "what was there"
    assert {*os.listdir()} == before


@pytest.mark.more
def test_a_full_disk_leaves_each_figure_whole(folder):
    """Of those that were there none is cut."""
    shutil.rmtree("figures", ignore_errors=True)
    assert program(*RUN, "--plots", "figures", "-o", "t").returncode == 0
    before = {path.name: path.read_bytes() for path in Path("figures").iterdir()}
    ended = program(*RUN, "--plots", "figures", "-o", "t", most=8_000)
    assert ended.returncode == 1
    assert "`--plots`: figures cannot be written: File too large" in ended.stderr
    assert {path.name: path.read_bytes() for path in Path("figures").iterdir()} == before


@pytest.mark.more
def test_a_full_disk_leaves_the_answers_of_a_session(folder):
    """Answers that were written stay; the one that cannot be kept does not."""
    ended = program(*LABEL, "-o", "labels.csv", stdin="1\n1\nq\n")
    assert ended.returncode == 0, ended.stderr
    before = Path("labels.csv").read_text()
    assert before.count("answered") == 2
    ended = program(*LABEL, "-o", "labels.csv", stdin="1\n1\nq\n", most=len(before) + 10)
    assert ended.returncode == 1, ended.stderr
    assert "`--output`: labels.csv cannot be written: File too large" in ended.stderr
    assert Path("labels.csv").read_text() == before


def test_a_file_keeps_its_mode(tmp_path):
    """One that others may not read does not become one that they may; a new one is as the umask says."""
    file = tmp_path / "out"
    before = os.umask(0o027)
    try:
        save(file, b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    file.chmod(0o600)
    save(file, b"newer")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_bytes() == b"newer"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_keeps_its_owner(tmp_path):
    """Also where root writes it."""
    file = tmp_path / "out"
    file.write_bytes(b"old")
    os.chown(file, 1234, 1235)
    save(file, b"new")
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 1235)


def test_a_file_of_another_owner_is_refused(tmp_path, monkeypatch):
    """A file that cannot stay theirs stays as it is."""
    file = tmp_path / "out"
    file.write_bytes(b"old")
    real = os.fstat

    def of_another(number):
        status = list(real(number))
        return os.stat_result([*status[:4], status[4] + 1, *status[5:]])

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fstat", of_another)
    monkeypatch.setattr(os, "fchown", refuse)
    with pytest.raises(PermissionError, match="it belongs to somebody else"):
        save(file, b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.more
def test_a_read_only_file_is_refused(folder):
    """Root included: somebody meant it to stay."""
    Path("out").write_text("old")
    Path("out").chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        save(Path("out"), b"new")
    ended = program(*RUN, "-o", "out")
    assert (ended.returncode, Path("out").read_text()) == (2, "old")
    assert "`--output`: out cannot be written: permission denied" in ended.stderr


def test_a_link_stays_a_link(tmp_path):
    """The file that a link leads to is replaced where it lies, or made there."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "file").write_bytes(b"old")
    link, dangling = tmp_path / "link", tmp_path / "dangling"
    link.symlink_to("far/file")
    dangling.symlink_to("far/none")
    for place, name in ((link, "file"), (dangling, "none")):
        save(place, b"new")
        assert place.is_symlink()
        assert (tmp_path / "far" / name).read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path / "far")) == ["file", "none"]


@pytest.mark.more
def test_what_a_link_leads_to_is_locked(folder):
    """Two sessions by way of two links to one file do not write over each other's answers."""
    from ranker.runtime.storage import lock_file

    Path("far").mkdir()
    Path("one.csv").symlink_to("far/labels.csv")
    Path("two.csv").symlink_to("far/labels.csv")
    with lock_file(Path("one.csv")):
        ended = program(*LABEL, "-o", "two.csv", stdin="q\n")
    assert ended.returncode == 2
    assert "another process is labelling" in ended.stderr


def test_a_pipe_is_written_through(tmp_path):
    """The reader gets all of it, and the pipe stays a pipe."""
    pipe, contents = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: contents.append(pipe.read_bytes()))
    reader.start()
    save(pipe, b"new")
    reader.join(timeout=600)
    assert contents == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.more
@pytest.mark.parametrize("redirected", [False, True])
def test_stdout_by_its_name_is_written_through(folder, redirected):
    """Through a pipe, or behind what somebody else wrote into a file."""
    command = f"{sys.executable} -m ranker {' '.join(RUN)} --format csv -o /dev/stdout"
    line = f"(echo before; {command}; echo after) > out" if redirected else f"(echo before; {command}; echo after)"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=600, check=True,
                           env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    lines = (Path("out").read_text() if redirected else ended.stdout).splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert lines[1].startswith("suite,")


WRITES = {"write_text", "write_bytes", "savefig", "fdopen", "memfd_create", "mkstemp", "NamedTemporaryFile"}

ALLOWED = {
    "ranker/files/saving.py": "it is the one",
    "ranker/runtime/storage.py": "an object store puts a file there in one piece; the lock has no content",
    "ranker/datasets/fetch.py": "a download, into a folder of its own, renamed once its hash is right",
    "ranker/sources/hf/files.py": "copies for this process alone, in memory or in a folder of its own",
    "ranker/report/figures.py": "figures as bytes, in memory",
}


def writing(source):
    """The lines of a source that may write to a file, as they stand there."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        texts = [leaf.value for leaf in (*node.args, *(key.value for key in node.keywords))
                 if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)]  # fmt: skip
        opens = name == "open" and any(set(mode) & set("wax+") and set(mode) <= set("rwaxbt+") for mode in texts)
        flags = {leaf.attr for part in node.args for leaf in ast.walk(part) if isinstance(leaf, ast.Attribute)}
        by_number = name == "open" and flags & {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}
        reads = name == "fdopen" and texts == ["rb"]
        if opens or by_number or (name in WRITES and not reads):
            yield ast.unparse(node)


@pytest.mark.more
def test_nothing_is_written_in_another_way():
    """One function writes files of the user, so that none is ever half of one."""
    calls = {}
    for file in sorted(file for package in ("ranker", "factors") for file in (ROOT / package).rglob("*.py")):
        lines = [line for line in writing(file.read_text(encoding="utf-8")) if "devnull" not in line]
        if lines:
            calls[file.relative_to(ROOT).as_posix()] = lines
    assert calls.keys() == ALLOWED.keys(), calls


@pytest.mark.parametrize(
    "line",
    ["open(path, 'w')", "open(path, mode='ab')", "path.open('x')", "path.write_text(a)", "path.write_bytes(a)",
     "figure.savefig(path)", "os.open(path, os.O_WRONLY | os.O_CREAT)", "os.fdopen(number, 'wb')", "os.fdopen(number)"],
)  # fmt: skip
def test_each_way_of_writing_is_seen(line):
    """The test above cannot be passed by another spelling."""
    assert list(writing(line))


@pytest.mark.parametrize(
    "line", ["open(path, 'rb')", "path.open()", "os.open(path, os.O_RDONLY)", "os.fdopen(n, 'rb')"]
)
def test_reading_is_not_writing(line):
    """Calls that only read are let through."""
    assert not list(writing(line))
