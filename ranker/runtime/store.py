"""Store of answers, attributions and scores, which are computed once and kept in Parquet.

A store is a folder; below ``v2/`` in it lies a folder for each key, the sha256 over named fields that affect a number:
the checkpoint's content, the label map, the backend and its settings, library versions. It holds ``key.json``, the
readable fields, with the model's name and notes; and shards (see `shards`), one for each computed block, which are
merged when a run is done with a key. Answers, attributions and scores have keys of their own. Answers and attributions
are found by the examples' texts, so a renamed data set or another order of rows costs nothing; scores by the measure
and its rows.
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
from ranker.runtime.storage import USER_STORE, Place, Remote, UserStore, contents_of, failures, place, put, put_new
from ranker.tasks.base import Predictions, answer_class

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

FOLDER = f"v{shards.FORMAT}"
"""Folder of the keys below a store's root; every format has its own."""
BLOCK = 64
"""Attributions a shard: a crash costs at most as many for each model, beside those in work."""
ANSWERS = 16_384
"""Most answers a shard."""
SECONDS = 5.0
"""Age at which an unfinished shard is written."""

TRIES = 5
"""Most listings of a folder while others change it."""

CALLED = "called"
"""Field of ``key.json`` that is no part of the key: the model's name in the last run."""

NOTES = "notes"
"""Another such field: notes on the model from loading it, a sentence each; absent where there are none."""

MOST_NOTES = 10
"""Most sentences kept of one model, since untrusted code may write them."""

Block = Predictions | Sequence[Attributions]
"""Answers, or attributions, to some consecutive examples."""

Keep = Callable[[Block], None]
"""Function that takes the next block."""


def key_digest(key: Mapping[str, Any]) -> str:
    """Return the digest of a key and the format: see `records.digest`."""
    return digest({"schema": shards.FORMAT, **key})


class Store:
    """Folder of stored answers.

    Args:
        root: the folder, made if missing; or a place on an object store, which `Runtime` makes from a URL.

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
            reason = error.strerror or str(error)
            if not _is_readable(root / FOLDER):
                text = f"`store`: {root} cannot be written to ({reason}); name another folder"
                raise StoreError(text, option="store", value=root) from error
            log.info("%s cannot be written to (%s), and is only read; new results need another `store`", root, reason)
        name_earlier(root)

        self._entries: dict[str, Entry] = {}
        self._keys: dict[str, tuple[Mapping[str, Any], str]] = {}  # those of `entry`; models may share one

    @property
    def folder(self) -> Path:
        """Local folder for what sources keep themselves: the store's own, or the user's where that is remote."""
        return (self.root if isinstance(self.root, Path) else USER_STORE.local()).absolute()

    def entry(self, key: Mapping[str, Any], called: str = "") -> Entry:
        """Return the entry of a key, as this run sees it; nothing is read yet.

        The key has every input except the example that affects a number, by name. Nothing is found by the model's name.
        """
        digest = key_digest(key)
        if digest not in self._entries:
            self._entries[digest] = Entry(self.root / FOLDER, key, called)
            self._keys[digest] = key, called
        return self._entries[digest]

    def entry_of(self, digest: str) -> Entry:
        """Return the entry of a key's digest, after a call of `entry` with the key; a KeyError without."""
        return self.entry(*self._keys[digest])

    def key(self, digest: str) -> Mapping[str, Any]:
        """Return the key of a digest, after a call of `entry` with it."""
        return self._keys[digest][0]

    def close(self, digest: str) -> int:
        """Merge the shards of a key and forget its rows, when no more is needed; return the bytes of those added.

        A disk that is too full for the merged shard leaves the others as they are: nothing is lost.
        """
        entry = self._entries.pop(digest, None)
        if entry is None:
            return 0
        with suppress(StoreError):
            entry.write_key()
            entry.compact()
        return entry.written

    def forget(self) -> None:
        """Forget all rows that were read, so that the next run sees those that others have written since."""
        self._entries.clear()
        self._keys.clear()


class Entry:
    """Rows under one key, as one run sees them: read once, when first needed, and added to.

    Its methods raise a StoreError where the store cannot be read or written.

    Args:
        key, called: as in `Store.entry`.

    Attributes:
        written: bytes of the rows added by this run.
    """

    def __init__(self, keys: Place, key: Mapping[str, Any], called: str) -> None:
        self._key, self._called = key, called
        self.digest = key_digest(key)
        self._known_shards = set[str]()
        self._described = False
        self.written = 0
        self.folder = keys / self.digest[:32]

    @cached_property
    def _known(self) -> list[pa.Table]:
        """Tables of the disk when first needed, and of each block that was added since."""
        tables = read_shards(self.folder, self._key)
        self._known_shards.update(tables)
        return list(tables.values())

    def missing(self, examples: Sequence[Example]) -> Texts:
        """Return the examples whose texts are missing, or whose answers failed, each text once, in order."""
        texts = examples if isinstance(examples, Texts) else Texts(examples)
        return texts.part(self._missing(texts.names))

    def predictions(self, examples: Sequence[Example]) -> Predictions:
        """Return the answers to examples, none of which is missing, in order."""
        return answer_class(self._key["answers"]).of_columns(shards.columns_of(self._rows_for(text_names(examples))))

    def attributions(self, examples: Sequence[Example]) -> shards.StoredAttributions:
        """Return the attributions of examples, none of which is missing, in order."""
        return shards.StoredAttributions(self._rows_for(text_names(examples)))

    def scores(self, names: Sequence[bytes]) -> dict[bytes, shards.MeasureColumn]:
        """Return the stored values of measures on examples, by name: see `shards.scores`."""
        missing = {names[index] for index in self._missing(names)}
        stored = [name for name in dict.fromkeys(names) if name not in missing]
        return dict(zip(stored, shards.scores_of(self._rows_for(stored)), strict=True)) if stored else {}

    def add(self, table: pa.Table) -> None:
        """Store the rows of a table of `shards.answers`, `shards.attributions` or `shards.scores`."""
        self.prepare()
        content = shards.serialize(table, self.digest)
        with failures(self.folder, "written to"):
            put_new(self.folder / shards.shard_name(content), content)
        self.written += len(content)
        self._known.append(table)
        self._known_shards.add(shards.shard_name(content))

    def accept_shard(self, content: bytes, examples: Sequence[Example]) -> None:
        """Store a shard of another process, after checking it as untrusted; a ValueError if it is not as asked."""
        table = shards.deserialize(content, shards.shard_name(content), self.digest)
        shards.check(table, self._key)
        if not set(table.column(shards.NAME).to_pylist()) <= set(text_names(examples)):
            raise ValueError("its rows are about something that was not asked")
        self.add(table)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on the model from loading it."""
        with failures(self.folder, "read"):
            try:
                described = parse_json(contents_of(self.folder / "key.json"))
            except (FileNotFoundError, ValueError):  # a damaged file is written anew with the next row
                return ()
        return sentences(described.get(NOTES)) if isinstance(described, dict) else ()

    def note(self, notes: Sequence[object]) -> None:
        """Store notes on the model from loading it, beside the key."""
        lines = sentences(notes)
        if lines != self.notes:
            self.notes, self._described = lines, False
            self.prepare()

    def write_key(self) -> None:
        """Write ``key.json`` where shards lie without one, as after a bad copy of a store."""
        with failures(self.folder, "read"):
            bare = bool(self._known_shards) and not (self.folder / "key.json").is_file()
        if bare:
            self._described = False
            self.prepare()

    def compact(self) -> None:
        """Merge the shards, if this run has seen several; readers meanwhile find the merged one or the others."""
        if len(self._known_shards) < 2:
            return
        files = {file.name: file for file in shards_of(self.folder)}
        if not files.keys() <= self._known_shards:  # others have written, too
            tables = read_shards(self.folder, self._key)
            self._known[:], self._known_shards = tables.values(), set(tables)
            if len(tables) < 2:  # they have merged the shards, or the folder is gone
                return
        merged = _merge_tables(self._known)
        content = shards.serialize(merged[0], self.digest)
        merged_name = shards.shard_name(content)
        with failures(self.folder, "written to"):
            put_new(self.folder / merged_name, content)
            for name in self._known_shards & files.keys() - {merged_name}:
                files[name].unlink(missing_ok=True)
        self._known[:], self._known_shards = merged, {merged_name}

    def _missing(self, names: Sequence[bytes]) -> list[int]:
        """Return indices of names missing from the store, each once."""
        import pyarrow as pa
        from pyarrow import compute

        tables = map(shards.without_failures, self._known)
        stored = pa.chunked_array([chunk for table in tables for chunk in table.column(shards.NAME).chunks],
                                 pa.binary(32))  # fmt: skip
        new = compute.invert(compute.is_in(arrays.of_binary(names, 32), value_set=stored))
        unknown = arrays.numbers(compute.indices_nonzero(new)).tolist()
        return sorted({names[index]: index for index in reversed(unknown)}.values())

    def _rows_for(self, names: Sequence[bytes]) -> pa.Table:
        """Return the rows of names, none of which is missing, in order."""
        import pyarrow as pa
        from pyarrow import compute

        self._known[:] = _merge_tables(self._known)
        if not self._known:
            return pa.table({shards.NAME: arrays.of_binary([], 32)})
        (table,) = self._known
        places = compute.index_in(arrays.of_binary(names, 32), value_set=table.column(shards.NAME))
        return table.take(places)

    def prepare(self) -> None:
        """Make the folder of the key, so that errors of writing show before anything is computed."""
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


def load_or_compute(
    entry: Entry | None,
    names: Sequence[bytes | None],
    compute: Callable[[Sequence[int]], Sequence[shards.MeasureColumn]],
) -> list[shards.MeasureColumn]:
    """Return measures by name; those without a name, or not in the entry, are computed, and the named ones stored.

    Equal names are computed once. `compute` takes places among the names; without an entry nothing is stored.
    """
    columns: dict[Any, shards.MeasureColumn] = {}
    if entry is not None and any(names):
        columns |= entry.scores([name for name in names if name])
    missing = {name or place: place for place, name in enumerate(names) if name not in columns}
    computed = dict(zip(missing, compute([*missing.values()]) if missing else (), strict=True))
    new = {name: column for name, column in computed.items() if isinstance(name, bytes)}
    if entry is not None and new:
        entry.add(shards.scores([*new], [*new.values()]))
        entry.compact()
    columns |= computed
    return [columns[name or place] for place, name in enumerate(names)]


def sentences(value: object) -> tuple[str, ...]:
    """Return untrusted notes as a few printable lines, each at most as long as a message.

    Example:
        >>> sentences(["a note", 1]), sentences("no list")
        (('a note',), ())
    """
    lines = value[:MOST_NOTES] if isinstance(value, (list, tuple)) else ()
    return tuple(printed(line) for line in lines if isinstance(line, str))


@contextmanager
def collect_blocks(examples: Sequence[Example], add: Callable[[pa.Table], None]) -> Iterator[Keep]:
    """Collect blocks into tables: some on the way, and the last at the end or at an interruption.

    The examples are those of the blocks, in order, no text twice; a ValueError if there is not one answer to each.
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
            add(table_of_blocks(new, blocks))

    def keep(block: Block) -> None:
        waiting.append(block)
        count = sum(map(len, waiting))
        most = BLOCK if isinstance(block, Sequence) else ANSWERS
        if count >= most or time.monotonic() - began >= SECONDS:
            write()

    try:
        yield keep
    finally:
        write()
    if done != len(names):
        raise ValueError(f"{len(names)} answers were asked for (got {done})")


def table_of_blocks(names: Sequence[bytes], blocks: Sequence[Block]) -> pa.Table:
    """Return blocks of one kind as one table of N names."""
    answers = [block for block in blocks if not isinstance(block, Sequence)]
    if answers:
        return shards.answers(names, type(answers[0]).joined(answers).columns())
    return shards.attributions(names, [row for block in blocks if isinstance(block, Sequence) for row in block])


def name_earlier(root: Place) -> list[Place]:
    """Return the keys of an earlier format, at the root itself, after logging them; they are left alone."""
    with failures(root, "read"):
        earlier = [entry for entry in root.iterdir() if is_key(entry)] if root.is_dir() else []
    if earlier:
        keys = counted(len(earlier), "key of an earlier format, which is", "keys of an earlier format, which are")
        log.info("%s holds %s left alone; no later version reads or removes them", root, keys)
    return earlier


def _is_readable(folder: Place) -> bool:
    """Return whether a store's folder can be listed."""
    try:
        return bool(folder.is_dir()) and isinstance(next(iter(folder.iterdir()), None), Place)
    except OSError:
        return False


def is_key(entry: Place) -> bool:
    """Return whether a folder is that of a key, by its name and content: shards or ``key.json``, or both."""
    has_name = bool(_KEY.fullmatch(entry.name)) and entry.is_dir()
    return has_name and ((entry / "key.json").is_file() or any(SHARD.fullmatch(file.name) for file in entry.iterdir()))


_KEY = re.compile(r"[0-9a-f]{32}")
SHARD = re.compile(r"[0-9a-f]{32}\.parquet")
"""Pattern of a shard's name: see `shards.shard_name`."""


def store_of(store: Store | str | Path | UserStore | None) -> Store | None:
    """Return a store, or that of a folder, a URL or the user, which is made if missing; None for None."""
    if isinstance(store, UserStore):
        return Store(store.place())
    return Store(place(str(store))) if isinstance(store, (str, Path)) else store


def read_shards(folder: Place, key: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Read the tables of a key's shards, by name, in order; files that are no shard of it are set aside."""
    digest = key_digest(key)
    for _ in range(TRIES):
        tables: dict[str, pa.Table] = {}
        gone = False
        for shard in shards_of(folder):
            try:
                content = _content(shard)
                if content is None:  # another process has merged the shards, or set this one aside
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


def _merge_tables(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Merge tables, the last row of each name counting; no table for none."""
    import pyarrow as pa
    from pyarrow import compute

    if len(tables) < 2:
        return list(tables)
    merged = pa.concat_tables(tables).combine_chunks()
    names = merged.column(shards.NAME)
    if len(compute.unique(names)) == len(merged):
        return [merged]
    last = {name: index for index, name in enumerate(names.to_pylist())}
    return [merged.take(arrays.of_numbers(np.array(sorted(last.values()))))]


def shards_of(folder: Place) -> list[Place]:
    """Return the shards of a key, in the order in which they are read."""
    return matching_files(folder, "*.parquet")


def matching_files(folder: Place, pattern: str) -> list[Place]:
    """Return the files of a folder whose names fit a pattern, in order."""
    with failures(folder, "read"):
        return sorted(folder.glob(pattern))


class ShardSummary(NamedTuple):
    """Content of a shard.

    Attributes:
        sound: whether it is undamaged and in its key's folder.
        names: of its examples, or measures; none if it is not sound.
    """

    sound: bool
    names: frozenset[bytes]
    size: int


def summarize_shards(folder: Place) -> dict[Place, ShardSummary]:
    """Summarize each shard of a key; the folder is listed anew where another process removes some meanwhile."""
    for _ in range(TRIES):
        summaries = {shard: _summarize(shard) for shard in shards_of(folder)}
        if None not in summaries.values():
            break
    return {shard: summary for shard, summary in summaries.items() if summary is not None}


def _summarize(shard: Place) -> ShardSummary | None:
    """Summarize one shard; None where it is gone by now."""
    try:
        content = _content(shard)
        if content is None:
            return None
        table = shards.deserialize(content, shard.name, shard.parent.name, [shards.NAME])
    except (ValueError, TypeError):
        return ShardSummary(False, frozenset(), 0)
    return ShardSummary(True, frozenset(table.column(shards.NAME).to_pylist()), len(content))


def _content(shard: Place) -> bytes | None:
    """Return the content of a file; None where it is gone by now; pipes, devices and folders raise ValueError."""
    with failures(shard, "read"):
        try:
            return contents_of(shard)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EISDIR):
                raise
            raise ValueError(error.strerror) from error
