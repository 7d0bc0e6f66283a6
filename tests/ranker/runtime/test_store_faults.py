"""Faults of a store: killed processes, bits that flip, two writers at once, disks that are full or read-only."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from asking import attributions
from refusals import refuses
from test_store import KEY, row_of, same

from factors.types import Example
from ranker.errors import StoreError
from ranker.runtime import store as store_module
from ranker.runtime.store import Store, key_digest
from ranker.runtime.upkeep import prune, verify

EXAMPLES = [Example(f"e{n}", (f"text {n}", "and more"), 0) for n in range(60)]
BLOCK = 4
SECONDS = 0.005
"""That a row takes to compute."""


def work(root: Path, log: Path, first: int) -> None:
    """Compute all rows into a store, from one of them on; each is noted in the log as soon as it is computed."""

    def compute(missing):
        with log.open("a") as notes:
            for example in missing:
                time.sleep(SECONDS)
                notes.write(f"{example.id}\n")
                notes.flush()
                yield row_of(example)

    attributions(Store(root).entry(KEY), EXAMPLES[first:] + EXAMPLES[:first], compute)


@contextmanager
def workers(count):
    """Processes that wait for work, a line each time: store, log, number of the first row."""
    command, variables = [sys.executable, __file__], {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=variables)
        for _ in range(count)
    ]
    try:
        for worker in processes:
            assert worker.stdout.readline() == "ready\n"
        yield processes
    finally:
        for worker in processes:
            worker.kill()
            worker.wait()
            worker.stdin.close()
            worker.stdout.close()


def send(worker, root, number):
    """Give a worker its work."""
    worker.stdin.write(f"{root}\t{root}-{number}.log\t{number}\n")
    worker.stdin.flush()


def logged(root, number):
    """List what a worker has computed, finished or not."""
    log = Path(f"{root}-{number}.log")
    return set(log.read_text().split()) if log.exists() else set()


def resume(root):
    """Compute the missing examples and return them, once all rows are right."""
    times = []

    def compute(missing):
        times.extend(example.id for example in missing)
        return map(row_of, missing)

    rows = attributions(Store(root).entry(KEY), EXAMPLES, compute)
    assert all(same(row, row_of(example)) for row, example in zip(rows, EXAMPLES, strict=True))
    return set(times)


@pytest.mark.more
@pytest.mark.parametrize("rounds", [2, pytest.param(67, marks=pytest.mark.soak)])
def test_killed_processes_lose_no_more_than_a_block(tmp_path, rounds):
    """SIGKILL at random moments of three writers loses at most one block of each, and `prune` leaves no file."""
    rng = np.random.default_rng(0)
    full_time = SECONDS * len(EXAMPLES) * 1.5
    for number in range(rounds):
        root = tmp_path / f"store-{number}"
        with workers(3) as processes:
            begins = [int(first) for first in rng.choice(len(EXAMPLES), 3, replace=False)]
            for worker, first in zip(processes, begins, strict=True):
                send(worker, root, first)
            moments = np.diff(np.sort(rng.uniform(0, full_time, 3)), prepend=0.0)
            for worker, pause in zip(processes, moments, strict=True):
                time.sleep(pause)
                worker.kill()
                worker.wait()
        computed = [logged(root, first) for first in begins]
        requests = resume(root)
        assert all(len(requests & done) <= BLOCK for done in computed)
        for _ in prune(root, abandoned=0):
            pass
        assert not list(root.rglob("*.tmp"))
        assert verify(root)[1] == []
        assert resume(root) == set()


@pytest.mark.more
@pytest.mark.parametrize("rounds", [2, pytest.param(50, marks=pytest.mark.soak)])
def test_two_processes_race(tmp_path, rounds):
    """Both finish, from the same row on or from different ones; nothing is lost, damaged or left over."""
    with workers(2) as racers:
        for number in range(rounds):
            root = tmp_path / f"store-{number}"
            for index, worker in enumerate(racers):
                send(worker, root, index * 30 * (number % 2))
            assert [worker.stdout.readline() for worker in racers] == ["done\n", "done\n"]
            assert resume(root) == set()
            assert not list(root.rglob("*.tmp"))
            assert verify(root)[1] == []
            for _ in prune(root):
                pass
            assert resume(root) == set()


@pytest.fixture
def shard(tmp_path):
    """The one shard of a store."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES[:3], lambda missing: map(row_of, missing))
    [file] = tmp_path.rglob("*.parquet")
    return file


@pytest.mark.parametrize("sample", [200, pytest.param(None, marks=pytest.mark.soak)])
def test_every_flipped_bit_and_every_cut_is_noticed(shard, sample):
    """One bit anywhere, or an end missing from anywhere on: all of them."""
    root, content = shard.parents[2], shard.read_bytes()
    places = np.random.default_rng(0).permutation(len(content))[:sample]
    for place in places:
        for bit in range(8) if sample is None else (place % 8,):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            shard.write_bytes(flipped)
            assert verify(root)[1] == [shard], (place, bit)
        shard.write_bytes(content[:place])
        assert verify(root)[1] == [shard], place
    shard.write_bytes(content + b"\0")
    assert verify(root)[1] == [shard]
    shard.write_bytes(content)
    assert verify(root)[1] == []


def test_a_file_in_the_place_of_a_keys_folder(tmp_path):
    """One line says what cannot be written, before anything is computed."""
    (tmp_path / "v2").mkdir()
    (tmp_path / "v2" / key_digest(KEY)[:32]).write_text("")

    def refuse(missing):
        raise AssertionError("computed in vain")

    entry = Store(tmp_path).entry(KEY)
    with refuses(StoreError, place=entry.folder):
        attributions(entry, EXAMPLES, refuse)


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own, and the function that mounts it anew with other options."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options):
        command = ["mount", "-t", "tmpfs", "-o", options, "rank-models-test", str(folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    try:
        mounted = mount("size=128k")
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("only root may mount a tmpfs, where a disk can be full")
    yield folder, mount
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_costs_what_did_not_fit(disk, monkeypatch):
    """One line; what was kept is whole, nothing half is left; with room again the same call goes on."""
    folder, mount = disk
    monkeypatch.setattr(store_module, "BLOCK", BLOCK)
    rng = np.random.default_rng(0)
    large = [Example(f"e{n}", (rng.bytes(4000).hex(),), 0) for n in range(40)]

    def compute(missing):
        for example in missing:
            small = row_of(EXAMPLES[0])
            yield type(small)(**{**vars(small), "tokens": (example.segments[0], "", "")})

    entry = Store(folder).entry(KEY)
    with refuses(StoreError, place=entry.folder):
        attributions(entry, large, compute)
    left = len(Store(folder).entry(KEY).missing(large))
    assert left % BLOCK == 0
    assert 0 < left < len(large)
    assert verify(folder)[1] == []
    assert not list(folder.rglob(".*"))
    assert mount("remount,size=8m")
    assert len(attributions(Store(folder).entry(KEY), large, compute)) == len(large)


def test_a_read_only_disk_is_told_at_once(disk, caplog):
    """Rows on the disk are read, with a note; others are refused before a model is loaded, in one line."""
    folder, mount = disk
    attributions(Store(folder).entry(KEY), EXAMPLES[:3], lambda missing: map(row_of, missing))
    assert mount("remount,ro")
    caplog.set_level("INFO")
    entry = Store(folder).entry(KEY)
    assert caplog.messages == [
        f"{folder} cannot be written to (Read-only file system), and is only read; new results need another `store`"
    ]
    assert len(attributions(entry, EXAMPLES[:3], lambda missing: pytest.fail("all is known"))) == 3
    with refuses(StoreError, place=entry.folder):
        entry.prepare()
    assert verify(folder) == (2, [])


if __name__ == "__main__":
    import pyarrow.parquet  # noqa: F401  # the clock of the test starts when all is loaded

    store_module.BLOCK = BLOCK
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        root, log, first = line.rstrip("\n").split("\t")
        work(Path(root), Path(log), int(first))
        sys.stdout.write("done\n")
        sys.stdout.flush()
