"""The files of one checkpoint, opened once: what is loaded is what was hashed, whatever becomes of its folder since.

Files are replaced while models are asked: a trainer saves its next step, a folder is put in order, somebody tries
something out. So no path is looked up twice. Small files are read into memory. Weights are hashed through their open
descriptors, and once more while they are copied into memory to be loaded; the libraries are given the copy.

A copy is better than the file itself, which safetensors would map into memory and read when a number is asked for.
What is written into the file later would then be in the network, and a file that is cut off would end the process. The
times of a file tell neither reliably: they are coarse on some systems, writes through a mapping may not change them,
and renaming a file changes the time of its last change. A copy of 90 MB costs 0.05 s, of which 0.02 s are hashing: as
much as 20 pairs of sentences that such a model is asked. It takes the memory that the network would take once asked.
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
LARGE = (".safetensors", ".bin")
"""How the names of weights end; beside these there are lists of them, which are small."""
DESCRIPTORS = Path("/proc/self/fd")
"""Where Linux has a process's open files by number; to open one there opens it anew, at its beginning."""


@dataclass(frozen=True, eq=False)
class Files:
    """The files of one checkpoint: all that can change a number, see `open_checkpoint_files`.

    They are closed, and what was written of them is removed, by `close`, or when nobody has the record any more.

    Attributes:
        path: their folder, when they were opened; messages name it.
        names: in the order in which they are hashed.
        contents: a small file's bytes, or a file of weights, open; by name.
        under: those of what a PEFT adapter is added to; None if the checkpoint is no adapter.
        beat: called with each part that is read.
        held: what has to be closed.
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
        """The BLAKE3 hash of weights, configuration and tokenizer, by name and content; an adapter's base counts.

        What else lies in the folder (a README, logs, a trainer's state) does not.

        Raises:
            ModelError: weights cannot be read.
        """
        return self._hashed({})

    @cached_property
    def folder(self) -> Path:
        """A private folder with the small files in it, as they were read.

        Its name is the content's: transformers calls the modules of a checkpoint's own code after the folder.

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
            raise ModelError(f"{self.path} cannot be copied to {tempfile.gettempdir()}: {error.strerror}") from error
        return folder

    @property
    def base(self) -> Path | None:
        """The private folder of what an adapter is added to; None if the checkpoint is no adapter."""
        return None if self.under is None else self.under.folder

    @property
    def small(self) -> dict[str, bytes]:
        """All but the weights, by name."""
        return {name: content for name, content in self.contents.items() if isinstance(content, bytes)}

    @property
    def weights(self) -> dict[str, FileIO]:
        """The open files of weights, by name."""
        return {name: content for name, content in self.contents.items() if not isinstance(content, bytes)}

    @contextmanager
    def loadable(self) -> Iterator[Path]:
        """The private folder with the weights in it, for the libraries to load from: a copy in memory.

        The copy is kept for as long as what was loaded needs it.

        Raises:
            ModelError: weights are not what was hashed any more, or cannot be read; or there is no room.
        """
        free, size = free_memory(), sum(os.fstat(file.fileno()).st_size for file in self.weights.values())
        if free is not None and size > free:
            raise ModelError(
                f"{self.path} has {size / 1e9:.1f} GB of weights, and {free / 1e9:.1f} GB of memory are free"
            )
        with ExitStack() as held:
            copies = {name: held.enter_context(_room(self.path)) for name in self.weights}
            found = self._hashed({name: copy for name, (copy, _) in copies.items()})
            if vars(self).setdefault("digest", found) != found:  # who loads what was not hashed yet has both in one
                raise self._changed()
            for name, (_, place) in copies.items():
                link = self.folder / name
                link.symlink_to(place)
                held.callback(link.unlink)
            yield self.folder

    def settings(self, name: str) -> dict[str, Any]:
        """What a JSON file says.

        Raises:
            ModelError: there was no such file, or something else is in it.
        """
        return checkpoints.read_json(self.path / name, self.small.get(name))

    def brings_code(self) -> bool:
        """Say whether the checkpoint, or an adapter's base, asks for code of its own.

        Raises:
            ModelError: its configuration cannot be read, or asks for the code of another repository.
        """
        asking = [name for name in checkpoints.ASKING if name in self.contents]
        code = checkpoints.ask_for_code((self.path / name, self.settings(name)) for name in asking)
        return (self.under is not None and self.under.brings_code()) or code

    def told(self, text: str) -> str:
        """A message with the folders that the user knows, for those that the libraries were given."""
        if "folder" in vars(self):
            text = text.replace(str(self.folder), str(self.path))
        return text if self.under is None else self.under.told(text)

    def _hashed(self, copies: Mapping[str, IO[bytes]]) -> str:
        """The digest of what is read now.

        Args:
            copies: where to write weights, by name.
        """
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
            raise ModelError(f"{self.path} cannot be read: {error.strerror}") from error
        if self.under is not None:
            digest.update(self.under.digest.encode())
        return digest.hexdigest()

    def _changed(self) -> ModelError:
        return ModelError(f"{self.path} was changed while it was in use; run again when nothing writes to its weights")


def open_checkpoint_files(
    folder: Path,
    base: Path | None = None,
    *,
    allow_pickle: bool = False,
    beat: Callable[[], None] = lambda: None,
    limits: Limits = LIMITS,
) -> Files:
    """Open all of a checkpoint's files that can change a number, each once, and those of an adapter's base.

    Args:
        folder: a checkpoint's, as `checkpoints.locate` gives it.
        base: the folder of what it is added to, if it is an adapter; None looks for what the adapter names.
        allow_pickle: take weights that are not safetensors.
        beat: called with each part of the weights that is read, as a sign of life.
        limits: how large its small files may be.

    Raises:
        ModelError: the checkpoint has no weights, names files elsewhere, or cannot be read.
    """
    with ExitStack() as held:
        names, contents = _read(folder, held, allow_pickle, limits)
        under = None
        if (adapter := contents.get(checkpoints.ADAPTER)) is not None:
            assert isinstance(adapter, bytes)
            if base is None:
                config = checkpoints.read_json(folder / checkpoints.ADAPTER, adapter)
                base = checkpoints.base_at(checkpoints.named_base(config, folder), folder, allow_pickle=allow_pickle)
            with ExitStack() as below:
                found = _read(base, below, allow_pickle, limits)
                if checkpoints.ADAPTER in found[1]:
                    raise ModelError(f"the base of {folder} {checkpoints.NO_BASE}")
                under = Files(base, *found, None, beat, below.pop_all())
            held.callback(under.close)
        return Files(folder, names, contents, under, beat, held.pop_all())


def content_hash(folder: Path, *, allow_pickle: bool = False) -> str:
    """What identifies a checkpoint wherever it lies: see `Files.digest`.

    Args:
        folder: a checkpoint's, as `checkpoints.locate` gives it.
        allow_pickle: take weights that are not safetensors.

    Raises:
        ModelError: the checkpoint has no weights, or cannot be read.
    """
    with closing(open_checkpoint_files(folder, allow_pickle=allow_pickle)) as files:
        return files.digest


def _read(
    folder: Path, held: ExitStack, allow_pickle: bool, limits: Limits
) -> tuple[list[str], dict[str, bytes | FileIO]]:
    """The names of a folder's files, in the order in which they are hashed, and what is in them."""
    if not checkpoints.is_checkpoint(folder):
        checkpoints.read_json(folder / checkpoints.CONFIG)  # which says what is missing, and where there is one
    paths = [*checkpoints.weights(folder, allow_pickle=allow_pickle), *checkpoints.others(folder)]
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
        raise ModelError(f"{error.filename or folder} cannot be read: {error.strerror}") from error
    except DataError as error:
        raise ModelError(str(error)) from error
    small = {name: content for name, content in contents.items() if isinstance(content, bytes)}
    checkpoints.check_names(folder, small)
    return [path.name for path in paths], contents


@contextmanager
def _room(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """A nameless file in memory, and a place where it can be opened; where the system has none, one on the disk.

    Only Linux opens a descriptor anew. Elsewhere its readers would share where they are in the file.

    Args:
        path: the folder whose weights it is for.

    Raises:
        ModelError: there is no room.
    """
    try:
        if hasattr(os, "memfd_create") and DESCRIPTORS.is_dir():
            descriptor = os.memfd_create("weights")
            file: IO[bytes] = os.fdopen(descriptor, "wb")
            place = str(DESCRIPTORS / str(descriptor))
        else:
            file = tempfile.NamedTemporaryFile(prefix="rank-models-")  # noqa: SIM115  # closed below
            place = file.name
    except OSError as error:
        raise ModelError(f"{path} cannot be loaded: no room for a copy of its weights ({error.strerror})") from error
    with file:
        yield file, place
