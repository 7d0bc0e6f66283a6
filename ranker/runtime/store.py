"""The store: what models answer, and what is attributed to words, is computed once and kept in Parquet.

A store is a folder; below ``v2/`` in it lies a folder for each key, the sha256 over named fields that can change a
number: the checkpoint's content, the label map, the backend and its settings, library versions. It holds ``key.json``,
the fields in the open, with what the model is called and what was said of it; and shards (see `shards`), one for each
block that was computed; when a run is done with a key, they become one. Answers, attributions and scores have keys of
their own. Answers and attributions are found by the examples' texts, so a renamed data set or another order of rows
costs nothing; scores by what was measured, and on which rows.
"""

from __future__ import annotations

import errno
import json
import logging
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from factors.types import Attributions, Example
from ranker.datasets.identity import Texts, text_names
from ranker.errors import StoreError, printed
from ranker.files.saving import sync
from ranker.numbers import counted
from ranker.records import digest, parse_json
from ranker.runtime import arrays, shards
from ranker.runtime.storage import Place, Remote, UserStore, contents_of, failures, place, put
from ranker.tasks.answers import answer_class
from ranker.tasks.base import Predictions

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

FOLDER = f"v{shards.FORMAT}"
"""The folder below a store's root in which its keys lie; that of another format is another."""
BLOCK = 64
"""Attributions a shard: what a crash can cost, for each model, beside what its backend is at."""
ANSWERS = 16_384
"""Answers a shard, at most."""
SECONDS = 15.0
"""After so long an unfinished shard of answers is written, too."""

TRIES = 5
"""How often a folder is listed anew where others change what is in it."""

CALLED = "called"
"""The field of ``key.json`` that is no part of the key: the model's name, as the last run called it."""

NOTES = "notes"
"""Another such field: what was said of the model when it was loaded, a sentence each; not there where nothing was."""

MOST_NOTES = 10
"""Sentences that are kept of one model; whoever writes them may be anybody's code."""

Block = Predictions | Sequence[Attributions]
"""Answers, or attributions, to some examples that follow each other."""

Keep = Callable[[Block], None]
"""Takes the next block."""


def key_digest(key: Mapping[str, Any]) -> str:
    """What identifies a key: see `records.digest`; keys of another format are others."""
    return digest({"schema": shards.FORMAT, **key})


class Store:
    """A folder that remembers.

    Args:
        root: the folder, made if it is not there; or a place on an object store, which `Runtime` makes of a URL.

    Raises:
        StoreError: the folder cannot be made or written to.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Store(Path(folder)).root == Path(folder)
        True
    """

    def __init__(self, root: Place) -> None:
        self.root = root
        try:
            (root / FOLDER).mkdir(parents=True, exist_ok=True)
            if isinstance(root, Remote):
                root.check()
            else:
                with tempfile.TemporaryFile(dir=root / FOLDER):
                    sync(root)
        except OSError as error:
            why = error.strerror or str(error)
            if not _is_readable(root / FOLDER):
                raise StoreError(f"`store`: {root} cannot be written to ({why}); name another folder") from error
            log.info("%s cannot be written to (%s), and is only read; new results need another `store`", root, why)
        name_earlier(root)

        self._entries: dict[str, Entry] = {}
        self._keys: dict[str, tuple[Mapping[str, Any], str]] = {}  # what was asked for; models may share one

    def entry(self, key: Mapping[str, Any], called: str = "") -> Entry:
        """What is kept under a key, as this run sees it; nothing is read yet.

        Args:
            key: named fields, everything that can change a number but the example itself.
            called: what the model is called, for the list of keys to tell; nothing is found by it.
        """
        digest = key_digest(key)
        if digest not in self._entries:
            self._entries[digest] = Entry(self.root / FOLDER, key, called)
            self._keys[digest] = key, called
        return self._entries[digest]

    def kept(self, digest: str) -> Entry:
        """The same by the key's digest, once somebody has asked for it by the key.

        Raises:
            KeyError: nobody has.
        """
        return self.entry(*self._keys[digest])

    def close(self, digest: str) -> None:
        """Tidy up what is kept under a key, and forget what was read of it, now that nothing more is asked of it.

        A disk that is too full for one shard beside several leaves these as they are: nothing is lost.
        """
        entry = self._entries.pop(digest, None)
        if entry is not None:
            with suppress(StoreError):
                entry.describe()
                entry.compact()

    def forget(self) -> None:
        """Forget all that was read, so that whoever asks next sees what others have written since."""
        self._entries.clear()
        self._keys.clear()


class Entry:
    """What is kept under one key, as one run sees it: read once, when it is first asked for, and added to.

    Args:
        keys: the folder in which keys lie.
        key, called: as in `Store.entry`.

    Attributes:
        digest: of the key.
    """

    def __init__(self, keys: Place, key: Mapping[str, Any], called: str) -> None:
        self._key, self._called = key, called
        self.digest = key_digest(key)
        self._held = set[str]()  # the shards that are known
        self._described = False
        self.folder = keys / self.digest[:32]

    @cached_property
    def _known(self) -> list[pa.Table]:
        """What is known: what was on the disk when it was first asked for, and each block that was added since."""
        found = read_shards(self.folder, self._key)
        self._held.update(found)
        return list(found.values())

    def missing(self, examples: Sequence[Example]) -> Texts:
        """The examples whose texts are not known, each text once, in order.

        Raises:
            StoreError: the store cannot be read.
        """
        texts = examples if isinstance(examples, Texts) else Texts(examples)
        return texts.part(self._missing(texts.names))

    def predictions(self, examples: Sequence[Example]) -> Predictions:
        """The answers to examples, all of which are known, in order.

        Raises:
            StoreError: the store cannot be read.
        """
        return answer_class(self._key["answers"]).of_columns(shards.columns_of(self._taken(text_names(examples))))

    def attributions(self, examples: Sequence[Example]) -> shards.StoredAttributions:
        """The attributions of examples, all of which are known, in order.

        Raises:
            StoreError: the store cannot be read.
        """
        return shards.StoredAttributions(self._taken(text_names(examples)))

    def scores(self, names: Sequence[bytes]) -> dict[bytes, shards.MeasureColumn]:
        """What is known of measures on examples, by name: see `shards.scores`.

        Raises:
            StoreError: the store cannot be read.
        """
        missing = {names[at] for at in self._missing(names)}
        known = [name for name in dict.fromkeys(names) if name not in missing]
        return dict(zip(known, shards.scores_of(self._taken(known)), strict=True)) if known else {}

    def add(self, table: pa.Table) -> None:
        """Keep the rows of a table of `shards.answers`, `shards.attributions` or `shards.scores`.

        Raises:
            StoreError: the disk refuses to be written.
        """
        self.prepare()
        content = shards.serialize(table, self.digest)
        with failures(self.folder, "written to"):
            put(self.folder / shards.shard_name(content), content)
        self._known.append(table)
        self._held.add(shards.shard_name(content))

    def receive(self, content: bytes, examples: Sequence[Example]) -> None:
        """Keep a shard that another process has written; it is looked at as one that comes from anywhere.

        Args:
            content: of the shard.
            examples: those that it may be about.

        Raises:
            ValueError: it is damaged, of another key or kind, or about something else.
            StoreError: the disk refuses to be written.
        """
        table = shards.deserialize(content, shards.shard_name(content), self.digest)
        shards.check(table, self._key)
        if not set(table.column(shards.NAME).to_pylist()) <= set(text_names(examples)):
            raise ValueError("its rows are about something that was not asked")
        self.add(table)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was said of the model when it was loaded.

        Raises:
            StoreError: the store cannot be read.
        """
        with failures(self.folder, "read"):
            try:
                described = parse_json(contents_of(self.folder / "key.json"))
            except (FileNotFoundError, ValueError):  # a damaged one is written anew with the next row
                return ()
        return sentences(described.get(NOTES)) if isinstance(described, dict) else ()

    def note(self, notes: Sequence[object]) -> None:
        """Keep what was said of the model when it was loaded, beside the key.

        Raises:
            StoreError: the disk refuses to be read or written.
        """
        told = sentences(notes)
        if told != self.notes:
            self.notes, self._described = told, False
            self.prepare()

    def describe(self) -> None:
        """Write ``key.json`` where shards lie without one, as a bad copy of a store leaves them.

        Raises:
            StoreError: the disk refuses to be read or written.
        """
        with failures(self.folder, "read"):
            bare = bool(self._held) and not (self.folder / "key.json").is_file()
        if bare:
            self._described = False
            self.prepare()

    def compact(self) -> None:
        """Make one shard of several, if this run has seen several; whoever reads meanwhile finds it or them.

        Raises:
            StoreError: the disk refuses to be read or written.
        """
        if len(self._held) < 2:
            return
        there = {file.name: file for file in shards_of(self.folder)}
        if not there.keys() <= self._held:  # others have written, too
            found = read_shards(self.folder, self._key)
            self._known[:], self._held = found.values(), set(found)
            if len(found) < 2:  # they have made one of several, or the folder is gone
                return
        whole = _united(self._known)
        content = shards.serialize(whole[0], self.digest)
        one = shards.shard_name(content)
        with failures(self.folder, "written to"):
            put(self.folder / one, content)
            for name in self._held & there.keys() - {one}:
                there[name].unlink(missing_ok=True)
        self._known[:], self._held = whole, {one}

    def _missing(self, names: Sequence[bytes]) -> list[int]:
        """Where among names the first of each stands that is not known."""
        import pyarrow as pa
        from pyarrow import compute

        known = pa.chunked_array([chunk for table in self._known for chunk in table.column(shards.NAME).chunks],
                                 pa.binary(32))  # fmt: skip
        new = compute.invert(compute.is_in(arrays.of_binary(names, 32), value_set=known))
        unknown = arrays.numbers(compute.indices_nonzero(new)).tolist()
        return sorted({names[at]: at for at in reversed(unknown)}.values())

    def _taken(self, names: Sequence[bytes]) -> pa.Table:
        """What is kept under names, all of which are known, in order."""
        import pyarrow as pa
        from pyarrow import compute

        self._known[:] = _united(self._known)
        if not self._known:
            return pa.table({shards.NAME: arrays.of_binary([], 32)})
        (whole,) = self._known
        places = compute.index_in(arrays.of_binary(names, 32), value_set=whole.column(shards.NAME))
        return whole.take(places)

    def prepare(self) -> None:
        """Make the folder of the key, so that a store that cannot be written is told of before anything is computed.

        Raises:
            StoreError: the disk refuses to be written.
        """
        if self._described:
            return
        with failures(self.folder, "written to"):
            self.folder.mkdir(exist_ok=True)
            if isinstance(self.folder, Path):
                sync(self.folder.parent)
            beside = {CALLED: self._called} | ({NOTES: self.notes} if self.notes else {})
            described = json.dumps({**self._key, **beside}, indent=1, sort_keys=True)
            put(self.folder / "key.json", described.encode())
        self._described = True


def sentences(value: object) -> tuple[str, ...]:
    """Read notes that another process, or anybody, has written: a few printable lines, each as long as a message.

    Example:
        >>> sentences(["a note", 1]), sentences("no list")
        (('a note',), ())
    """
    lines = value[:MOST_NOTES] if isinstance(value, (list, tuple)) else ()
    return tuple(printed(line) for line in lines if isinstance(line, str))


@contextmanager
def filling(examples: Sequence[Example], add: Callable[[pa.Table], None]) -> Iterator[Keep]:
    """Keep what comes block by block: a table now and then, and the rest at the end or where the work is interrupted.

    Args:
        examples: those that the blocks are about, in order; no text twice.
        add: takes each table.

    Raises:
        ValueError: something else than one answer to each example came.
    """
    names, done = text_names(examples), 0
    waiting: list[Block] = []
    began = time.monotonic()

    def write() -> None:
        nonlocal done, began
        count = sum(map(len, waiting))
        if count:
            new, blocks = names[done : done + count], waiting.copy()
            done, began = done + count, time.monotonic()
            waiting.clear()
            if len(new) != count:
                raise ValueError(f"{len(names)} answers were asked for (got {done})")
            add(_table(new, blocks))

    def keep(block: Block) -> None:
        waiting.append(block)
        count = sum(map(len, waiting))
        answers = not isinstance(block, Sequence)
        if count >= (ANSWERS if answers else BLOCK) or (answers and time.monotonic() - began >= SECONDS):
            write()

    try:
        yield keep
    finally:
        write()
    if done != len(names):
        raise ValueError(f"{len(names)} answers were asked for (got {done})")


def _table(names: Sequence[bytes], blocks: Sequence[Block]) -> pa.Table:
    """Blocks of one kind as one table."""
    answers = [block for block in blocks if not isinstance(block, Sequence)]
    if answers:
        return shards.answers(names, type(answers[0]).joined(answers).columns())
    return shards.attributions(names, [row for block in blocks if isinstance(block, Sequence) for row in block])


def name_earlier(root: Place) -> list[Place]:
    """The keys of an earlier format, which lie at the root itself: they are named in one line, and left alone.

    Raises:
        StoreError: the store cannot be read.
    """
    with failures(root, "read"):
        earlier = [entry for entry in root.iterdir() if is_key(entry)] if root.is_dir() else []
    if earlier:
        keys = counted(len(earlier), "key of an earlier format, which is", "keys of an earlier format, which are")
        log.info("%s holds %s left alone; no later version reads or removes them", root, keys)
    return earlier


def _is_readable(folder: Place) -> bool:
    """Whether a store's folder can be listed."""
    try:
        return bool(folder.is_dir()) and isinstance(next(iter(folder.iterdir()), None), Place)
    except OSError:
        return False


def is_key(entry: Place) -> bool:
    """Say whether a folder is that of a key; others' are not taken for one, whatever their names.

    Shards lie in it, or what says what the key is: one of both may be gone.
    """
    named = bool(_KEY.fullmatch(entry.name)) and entry.is_dir()
    return named and ((entry / "key.json").is_file() or any(SHARD.fullmatch(file.name) for file in entry.iterdir()))


_KEY = re.compile(r"[0-9a-f]{32}")
SHARD = re.compile(r"[0-9a-f]{32}\.parquet")
"""What a shard is called: see `shards.shard_name`."""


def store_of(store: Store | str | Path | UserStore | None) -> Store | None:
    """A store, or the one in a folder, at a URL or of the user, which is made if it is not there; None is none."""
    if isinstance(store, UserStore):
        return Store(store.place())
    return Store(place(str(store))) if isinstance(store, (str, Path)) else store


def read_shards(folder: Place, key: Mapping[str, Any]) -> dict[str, pa.Table]:
    """The tables in a key's shards, by name, in the order in which they count; what is no shard of it is set aside.

    Args:
        folder: the key's.
        key: itself.

    Raises:
        StoreError: the folder cannot be read.
    """
    digest = key_digest(key)
    for _ in range(TRIES):
        tables: dict[str, pa.Table] = {}
        gone = False
        for shard in shards_of(folder):
            try:
                content = _content(shard)
                if content is None:  # another process has made one shard of several, or set this one aside
                    gone = True
                    continue
                table = shards.deserialize(content, shard.name, digest)
                shards.check(table, key)
                if table.schema != next(iter(tables.values()), table).schema:
                    raise ValueError("it holds rows of another kind")
                tables[shard.name] = table
            except (ValueError, TypeError, OverflowError) as error:
                log.warning("%s is damaged (%s); it is set aside, and its rows are computed anew", shard, error)
                with suppress(OSError):  # another process was faster, or the store can only be read
                    shard.rename(shard.with_suffix(".damaged"))  # type: ignore[arg-type]  # both are of one kind
        if not gone:
            break
    return tables


def _united(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Tables as one, in which each name stands once: what was read last counts; none where there is none."""
    import pyarrow as pa
    from pyarrow import compute

    if len(tables) < 2:
        return list(tables)
    whole = pa.concat_tables(tables).combine_chunks()
    names = whole.column(shards.NAME)
    if len(compute.unique(names)) == len(whole):
        return [whole]
    last = {name: at for at, name in enumerate(names.to_pylist())}
    return [whole.take(arrays.of_numbers(np.array(sorted(last.values()))))]


def shards_of(folder: Place) -> list[Place]:
    """The shards of a key, in the order in which they are read."""
    return listed(folder, "*.parquet")


def listed(folder: Place, pattern: str) -> list[Place]:
    """The files of a folder whose names fit a pattern, in order.

    Raises:
        StoreError: it cannot be read.
    """
    with failures(folder, "read"):
        return sorted(folder.glob(pattern))


class ShardSummary(NamedTuple):
    """What a shard holds.

    Attributes:
        sound: it is what was written, and lies where it belongs.
        names: of the examples, or measures, that it is about; none of one that is not sound.
        size: bytes.
    """

    sound: bool
    names: frozenset[bytes]
    size: int


def looked_at(folder: Place) -> dict[Place, ShardSummary]:
    """What each shard of a key holds; the folder is listed anew where another process removes some meanwhile.

    Raises:
        StoreError: the folder cannot be read.
    """
    for _ in range(TRIES):
        found = {shard: _looked(shard) for shard in shards_of(folder)}
        if None not in found.values():
            break
    return {shard: one for shard, one in found.items() if one is not None}


def _looked(shard: Place) -> ShardSummary | None:
    """The same of one shard; None where it is gone by now."""
    try:
        content = _content(shard)
        if content is None:
            return None
        table = shards.deserialize(content, shard.name, shard.parent.name, [shards.NAME])
    except (ValueError, TypeError):
        return ShardSummary(False, frozenset(), 0)
    return ShardSummary(True, frozenset(table.column(shards.NAME).to_pylist()), len(content))


def _content(shard: Place) -> bytes | None:
    """What is in a file; None where another process has removed it by now.

    Raises:
        ValueError: it is a pipe, a device or a folder.
        StoreError: it cannot be read.
    """
    with failures(shard, "read"):
        try:
            return contents_of(shard)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EISDIR):
                raise
            raise ValueError(error.strerror) from error
