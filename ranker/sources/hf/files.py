"""Files of one checkpoint, opened once: what is loaded is what was hashed, even if its folder changes.

Files may be replaced during a run: a trainer saves its next step, or somebody tidies a folder. So no path is looked up
twice. Small files are read into memory. Weights are hashed through their open descriptors, and once more while they
are copied into memory to be loaded; the libraries get the copy.

A copy is safer than the file itself, which safetensors would map into memory and read lazily. Later writes to the file
would then reach the network, and truncating it would end the process; file times detect neither reliably. A copy of
90 MB costs 0.05 s, and the memory that the network would take once it runs.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import IO, Any

from blake3 import blake3

from ranker.errors import DataError, ModelError
from ranker.files.scratch import Scratch
from ranker.limits import LIMITS, Limits, free_memory
from ranker.limits import open_regular as regular
from ranker.sources.hf import checkpoints

CHUNK = 1 << 20
GGUF = ".gguf"
"""Ending of a file that holds a whole model."""
LARGE = (".safetensors", ".bin", GGUF)
"""Endings of weight files; their index files are small."""
DESCRIPTORS = Path("/proc/self/fd")
"""Folder in which Linux has a process's open files by number; opening one there starts at its beginning."""


@dataclass(frozen=True, eq=False)
class Files:
    """Files of one checkpoint that can change a number, see `open_checkpoint_files`.

    `close` closes them and removes the private folder; so does the end of the record's life.

    Attributes:
        path: their folder when they were opened, for messages.
        names: in the order of hashing.
        contents: by name: bytes of a small file, or an open file of weights.
        under: files of a PEFT adapter's base; None if the checkpoint is no adapter.
        beat: called with each part that is read.
    """

    path: Path
    names: Sequence[str]
    contents: Mapping[str, bytes | FileIO] = field(repr=False)
    under: Files | None
    beat: Callable[[], None]
    held: ExitStack

    def __post_init__(self) -> None:
        weakref.finalize(self, self.held.close)

    def close(self) -> None:
        """Close the files, and remove the private folder."""
        self.held.close()

    @cached_property
    def digest(self) -> str:
        """BLAKE3 hash of weights, configuration and tokenizer, by name and content, and of an adapter's base.

        Other files in the folder (a README, logs, a trainer's state) do not count.

        Raises:
            ModelError: weights cannot be read.
        """
        return self._hash_contents({})

    @cached_property
    def folder(self) -> Path:
        """Private folder with copies of the small files, as read.

        Its name is the digest: transformers names the modules of a checkpoint's own code after the folder.

        Raises:
            ModelError: weights cannot be read, or there is no room.
        """
        digest = self.digest
        try:
            folder = self.held.enter_context(Scratch()).path / f"blake3_{digest}"
            folder.mkdir()
            for name, content in self.small.items():
                (folder / name).write_bytes(content)
        except OSError as error:
            raise ModelError.of(self.path, f"cannot be copied to {tempfile.gettempdir()}: {error.strerror}") from error
        return folder

    @property
    def base(self) -> Path | None:
        """Private folder of an adapter's base; None if the checkpoint is no adapter."""
        return None if self.under is None else self.under.folder

    @property
    def small(self) -> dict[str, bytes]:
        """Small files (all but the weights), by name."""
        return {name: content for name, content in self.contents.items() if isinstance(content, bytes)}

    @property
    def weights(self) -> dict[str, FileIO]:
        """Open files of weights, by name."""
        return {name: content for name, content in self.contents.items() if not isinstance(content, bytes)}

    @property
    def gguf(self) -> str:
        """Name of the file, if it is a GGUF file with the whole model; else ""."""
        return next((name for name in self.names if name.endswith(GGUF)), "")

    @contextmanager
    def loadable(self) -> Iterator[Path]:
        """Add a copy of the weights in memory to the private folder, for the libraries to load from.

        The copy lives as long as what was loaded needs it.

        Raises:
            ModelError: weights differ from what was hashed, or cannot be read; or there is no room.
        """
        free, size = free_memory(), sum(os.fstat(file.fileno()).st_size for file in self.weights.values())
        if free is not None and size > free:
            raise ModelError.of(
                self.path, f"has {size / 1e9:.1f} GB of weights, and {free / 1e9:.1f} GB of memory are free"
            )
        with ExitStack() as held:
            copies = {name: held.enter_context(_memory_file(self.path)) for name in self.weights}
            digest = self._hash_contents({name: copy for name, (copy, _) in copies.items()})
            if vars(self).setdefault("digest", digest) != digest:  # unhashed weights are hashed here
                raise self._changed()
            for name, (_, place) in copies.items():
                link = self.folder / name
                link.symlink_to(place)
                held.callback(link.unlink)
            yield self.folder

    def settings(self, name: str) -> dict[str, Any]:
        """Parse a JSON file."""
        return checkpoints.read_json(self.path / name, self.small.get(name))

    def brings_code(self) -> bool:
        """Return True if the checkpoint, or an adapter's base, asks for code of its own."""
        asking = [name for name in checkpoints.ASKING if name in self.contents]
        code = checkpoints.ask_for_code((self.path / name, self.settings(name)) for name in asking)
        return (self.under is not None and self.under.brings_code()) or code

    def rephrase(self, text: str) -> str:
        """Replace private folders in a message by those that the user knows."""
        if "folder" in vars(self):
            text = text.replace(str(self.folder), str(self.path))
        return text if self.under is None else self.under.rephrase(text)

    def _hash_contents(self, copies: Mapping[str, IO[bytes]]) -> str:
        """Hash the contents as they are read now, and write weights to copies by name."""
        digest, room = blake3(), memoryview(bytearray(CHUNK))
        try:
            for name in self.names:
                content = self.contents[name]
                if isinstance(content, bytes):
                    digest.update(f"{name}\0{len(content)}\0".encode() + content)
                    continue
                size = os.fstat(content.fileno()).st_size
                digest.update(f"{name}\0{size}\0".encode())
                content.seek(0)
                while count := content.readinto(room):
                    digest.update(room[:count])
                    if name in copies:
                        copies[name].write(room[:count])
                    self.beat()
                if content.tell() != size:
                    raise self._changed()
            for copy in copies.values():
                copy.flush()
        except OSError as error:
            raise ModelError.unreadable(self.path, error) from error
        if self.under is not None:
            digest.update(self.under.digest.encode())
        return digest.hexdigest()

    def _changed(self) -> ModelError:
        return ModelError.of(self.path, "was changed while it was in use; run again when nothing writes to its weights")


def open_checkpoint_files(
    folder: Path,
    base: Path | None = None,
    *,
    allow_pickle: bool = False,
    beat: Callable[[], None] = lambda: None,
    limits: Limits = LIMITS,
) -> Files:
    """Open all files of a checkpoint that can change a number, each once, and those of an adapter's base.

    Args:
        folder: of a checkpoint, as `checkpoints.locate` returns it.
        base: folder of an adapter's base; None looks for the one that the adapter names.
        allow_pickle: take weights that are not safetensors.
        beat: called with each part of the weights that is read, as a sign of life.

    Raises:
        ModelError: the checkpoint has no weights, names files elsewhere, or cannot be read.
    """
    with ExitStack() as held:
        names, contents = _read_files(folder, held, allow_pickle, limits)
        under = None
        if (adapter := contents.get(checkpoints.ADAPTER)) is not None:
            assert isinstance(adapter, bytes)
            if base is None:
                config = checkpoints.read_json(folder / checkpoints.ADAPTER, adapter)
                base = checkpoints.base_at(checkpoints.named_base(config, folder), folder, allow_pickle=allow_pickle)
            with ExitStack() as below:
                base_files = _read_files(base, below, allow_pickle, limits)
                if checkpoints.ADAPTER in base_files[1]:
                    raise ModelError.of(f"the base of {folder}", checkpoints.NO_BASE)
                under = Files(base, *base_files, None, beat, below.pop_all())
            held.callback(under.close)
        return Files(folder, names, contents, under, beat, held.pop_all())


def open_gguf(path: Path, *, beat: Callable[[], None] = lambda: None) -> Files:
    """Open a GGUF file, which holds a whole model; raises a ModelError if it cannot be read."""
    with ExitStack() as held:
        try:
            file = held.enter_context(FileIO(regular(path)))
        except OSError as error:
            raise ModelError.unreadable(path, error) from error
        return Files(path, [path.name], {path.name: file}, None, beat, held.pop_all())


def content_hash(folder: Path, *, allow_pickle: bool = False) -> str:
    """Return the hash that identifies a checkpoint wherever it lies: see `Files.digest`."""
    with closing(open_checkpoint_files(folder, allow_pickle=allow_pickle)) as files:
        return files.digest


def _read_files(
    folder: Path, held: ExitStack, allow_pickle: bool, limits: Limits
) -> tuple[list[str], dict[str, bytes | FileIO]]:
    """Return the names of a folder's files, in the order of hashing, and their contents."""
    if not checkpoints.is_checkpoint(folder):
        checkpoints.read_json(folder / checkpoints.CONFIG)  # raises the error with a hint
    paths = [*checkpoints.weight_files(folder, allow_pickle=allow_pickle), *checkpoints.other_files(folder)]
    contents: dict[str, bytes | FileIO] = {}
    try:
        for path in dict.fromkeys(paths):
            file = held.enter_context(FileIO(regular(path)))
            contents[path.name] = file
            if path.suffix not in LARGE:
                with file:
                    name = "config" if path.name in (checkpoints.CONFIG, checkpoints.ADAPTER) else "settings"
                    limits.check(path, name, os.fstat(file.fileno()).st_size)
                    contents[path.name] = file.readall()
    except OSError as error:
        raise ModelError.unreadable(error.filename or folder, error) from error
    except DataError as error:
        raise ModelError.like(error) from error
    small = {name: content for name, content in contents.items() if isinstance(content, bytes)}
    checkpoints.check_names(folder, small)
    return [path.name for path in paths], contents


@contextmanager
def _memory_file(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """Yield a nameless file in memory and a path that opens it; one on disk if the system has none."""
    try:
        if hasattr(os, "memfd_create") and DESCRIPTORS.is_dir():  # elsewhere readers would share one position
            descriptor = os.memfd_create("weights")
            file: IO[bytes] = os.fdopen(descriptor, "wb")
            place = str(DESCRIPTORS / str(descriptor))
        else:
            file = tempfile.NamedTemporaryFile(prefix="rank-models-")  # noqa: SIM115  # closed below
            place = file.name
    except OSError as error:
        raise ModelError.of(path, f"cannot be loaded: no room for a copy of its weights ({error.strerror})") from error
    with file:
        yield file, place
