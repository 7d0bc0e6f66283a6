"""Files and folders on object stores, through fsspec: opened by their URL, and copied to this machine once."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from ranker.errors import UsageError, listed
from ranker.files.saving import save
from ranker.files.scratch import Scratch

log = logging.getLogger(__name__)

T = TypeVar("T")

PAUSES = (0.2, 1.0, 5.0)
"""Seconds before each further attempt of a request to an object store that failed for no lasting reason."""

LASTING = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError)
"""Failures that another attempt does not change."""

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"}
"""Protocol -> the extra of this package that it needs."""

BUCKET = re.compile(rf"(?:{'|'.join(EXTRAS)}|memory)://.+")
"""URLs of models and rows that are copied; the memory store is for tests."""

MAX_FILES = 10_000
"""Most files that are copied of one folder: a suite of a thousand adapters has some thousands."""

UNUSED = 30 * 86_400.0
"""Seconds after which a copy that no run has used is removed, to bound the disk that copies take."""

_COPY = re.compile(r"[0-9a-f]{32}")
"""Name of the folder of a copy."""

_VERSION = ("ETag", "etag", "md5Hash", "content_md5", "LastModified", "last_modified", "updated", "mtime", "created")
"""Fields of a listing that change with a file's content, as the services name them."""


def file_system(url: str, option: str) -> tuple[Any, str]:
    """Return fsspec's file system of a URL, and the path in it.

    Raises:
        UsageError: no such protocol, or its package is not installed.

    Example:
        >>> file_system("memory://shared/store", "store")[1]
        '/shared/store'
    """
    from fsspec.core import url_to_fs

    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError, TypeError, OSError) as error:
        extra = EXTRAS.get(url.partition("://")[0], "") if isinstance(error, ImportError) else ""
        remedy = f"; `pip install 'rank-models[{extra}]'`" if extra else ""
        raise _refusal(option, url, f"{url} cannot be opened: {_reason(error)}{remedy}") from error
    return system, path


def request(send: Callable[[], T]) -> T:
    """Send a request, again after pauses if it may work later; other errors (no such bucket) become OSErrors."""
    pauses = iter(PAUSES)
    while True:
        try:
            return send()
        except (*LASTING, NotImplementedError):
            raise
        except OSError as error:
            pause = next(pauses, None)
            if pause is None:
                raise
            log.info("a request to the store failed (%s); it is sent again in %s s", error, pause)
            time.sleep(pause)
        except Exception as error:
            raise OSError(_reason(error)) from error


def cache_folder() -> Path:
    """Return the folder of this program in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rank-models"


def is_bucket_url(text: object) -> bool:
    """Return whether a text is the URL of something in a bucket.

    Example:
        >>> is_bucket_url("s3://team/adapter"), is_bucket_url("org/name"), is_bucket_url("openai:http://localhost#m")
        (True, False, False)
    """
    return isinstance(text, str) and bool(BUCKET.fullmatch(text))


def local_path(place: str | Path, option: str, most: int | None = None) -> Path:
    """Return a path as it is, and of a URL in a bucket a copy on this machine.

    A copy is made once for each version of the files, as the service's listing states it; nothing is written to the
    bucket. One listing is asked for. Copies that were not used for 30 days are removed when another is made.

    Args:
        place: a path; or the URL of a file, of a folder, or a pattern of files, such as ``s3://bucket/rows/*.parquet``.
        most: largest number of bytes; None for what the disk holds.

    Raises:
        UsageError: it cannot be opened or listed, nothing lies there, or it is too large.

    Example:
        >>> local_path("rows.csv", "data")
        PosixPath('rows.csv')
    """
    if not is_bucket_url(place):
        return Path(place)
    url = str(place).rstrip("/")
    system, path = file_system(url, option)
    with _failures(url, option):
        below, pattern, files = _list(system, path)
        sizes = _sizes(files, option, url, most)
        target = copies_folder() / _digest(url, files)
        name = PurePosixPath(below).name or "bucket"
        if not target.is_dir():
            _copy(system, files, target, name, sum(sizes.values()), option, url)
        os.utime(target)
        if not _url_file(target).exists():
            save(_url_file(target), url.encode())
    return target / name / pattern if pattern else target / name


def copies_folder() -> Path:
    """Return the folder of the copies on this machine."""
    return cache_folder() / "copies"


def copied_from(path: str) -> str:
    """Return the URL that `local_path` was given for a path, or for a folder around it; "" for no copy.

    Example:
        >>> copied_from("/shared/models/a")
        ''
    """
    copies = copies_folder()
    if not Path(path).is_relative_to(copies) or Path(path) == copies:
        return ""
    file = _url_file(copies / Path(path).relative_to(copies).parts[0])
    return file.read_text() if file.is_file() else ""


def with_urls(text: str) -> str:
    """Return a message with the URLs of files in place of their copies' paths.

    Example:
        >>> with_urls("/shared/rows.csv, line 3: 2 cells are needed")
        '/shared/rows.csv, line 3: 2 cells are needed'
    """
    copies = f"{copies_folder()}{os.sep}"
    for name in {*re.findall(rf"{re.escape(copies)}({_COPY.pattern})", text)}:
        file = _url_file(Path(copies, name))
        if file.is_file():
            url = re.split(r"/[^/]*[*?[]", file.read_text())[0]  # a pattern is of what lies below the copy
            text = text.replace(f"{copies}{name}{os.sep}{PurePosixPath(url).name}", url)
    return text


def check_listing(url: str, option: str) -> None:
    """Ask for the listing of a URL in a bucket, and copy nothing."""
    system, path = file_system(url, option)
    with _failures(url, option):
        _sizes(_list(system, path)[2], option, url, None)


def _url_file(copy: Path) -> Path:
    """Return the file beside a copy that holds its URL."""
    return copy.with_name(f"{copy.name}.url")


def _remove_unused(copies: Path) -> None:
    """Remove the copies that no run has used for long."""
    for copy in copies.iterdir():
        with suppress(OSError):  # another process was faster
            if _COPY.fullmatch(copy.name) and time.time() - copy.stat().st_mtime > UNUSED:
                shutil.rmtree(copy)
                log.info("%s was not used for %d days; it is removed", copy, UNUSED // 86_400)
                _url_file(copy).unlink(missing_ok=True)


def _list(system: Any, path: str) -> tuple[str, str, dict[str, Mapping[str, Any]]]:
    """Return the folder or file of a path, the pattern below it, and (path below it) -> what the listing says."""
    parts = PurePosixPath(path).parts
    magic = next((n for n, part in enumerate(parts) if {"*", "?", "["} & {*part}), len(parts))
    below = str(PurePosixPath(*parts[:magic])) if parts[:magic] else path
    pattern = "/".join(parts[magic:])
    system.invalidate_cache(below)  # a process that runs for long sees what others write meanwhile
    listing = request(lambda: system.find(below, detail=True))
    files: dict[str, Mapping[str, Any]] = {
        str(name)[len(below) :].strip("/"): {**about, "path": str(name)} for name, about in listing.items()
    }
    if pattern:
        depth = pattern.count("/")
        files = {
            name: about for name, about in files.items() if fnmatchcase(name, pattern) and name.count("/") == depth
        }
    return below, pattern, files


def _sizes(files: Mapping[str, Mapping[str, Any]], option: str, url: str, most: int | None) -> dict[str, int]:
    """Return the size of each file, after refusing what is not there, too much, or leads elsewhere."""
    sizes = {name: int(about.get("size") or 0) for name, about in files.items()}
    if not files:
        raise _refusal(option, url, f"nothing lies at {url}")
    outside = [name for name in files if {"..", "."} & {*name.split("/")} or "\\" in name or "//" in name]
    if outside:
        raise _refusal(option, url, f"{url} has names that no folder has: {listed(outside)}")
    if len(files) > MAX_FILES:
        raise _refusal(option, url, f"{url} has {len(files):,} files, and at most {MAX_FILES:,} are copied")
    total = sum(sizes.values())
    if most is not None and total > most:
        raise _refusal(option, url, f"{url} has {total:,} bytes, and at most {most:,} are read")
    return sizes


def _digest(url: str, files: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the name of a copy: it changes with the content of any file."""
    versions = {name: [str(about.get(field, "")) for field in ("size", *_VERSION)] for name, about in files.items()}
    return hashlib.sha256(json.dumps([url, versions], sort_keys=True).encode()).hexdigest()[:32]


def _copy(
    system: Any, files: Mapping[str, Mapping[str, Any]], target: Path, name: str, size: int, option: str, url: str
) -> None:
    """Copy files into a new folder, which appears as a whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_unused(target.parent)
    free = shutil.disk_usage(target.parent).free
    if size > free:
        raise _refusal(option, url, f"{url} has {size:,} bytes, and {target.parent} has room for {free:,}")
    log.info("%s: %d files with %d bytes are copied to %s", url, len(files), size, target)
    with Scratch(str(target.parent)) as scratch:
        for within, about in files.items():
            file = scratch.path / "copy" / name / within
            file.parent.mkdir(parents=True, exist_ok=True)
            request(lambda about=about, file=file: system.get_file(about["path"], str(file)))  # type: ignore[misc]
            if file.stat().st_size != int(about.get("size") or 0):
                raise OSError(f"{within or name} changed while it was copied")
        try:
            (scratch.path / "copy").rename(target)
        except OSError:
            if not target.is_dir():  # another process was first
                raise


@contextmanager
def _failures(url: str, option: str) -> Iterator[None]:
    """Report failures of a service in one line."""
    try:
        yield
    except OSError as error:
        raise _refusal(option, url, f"{url} cannot be read: {_reason(error)}") from error


def _refusal(option: str, url: str, reason: str) -> UsageError:
    return UsageError(f"`{option}`: {reason}", option=option, value=url)


def _reason(error: Exception) -> str:
    """Return the first line of an error."""
    missing = "there is no such bucket or file" if isinstance(error, FileNotFoundError) else ""
    return missing or getattr(error, "strerror", None) or next(iter(str(error).splitlines()), type(error).__name__)
