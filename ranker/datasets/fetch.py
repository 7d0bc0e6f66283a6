"""Download the official file of an OOD set, complete and of the right checksum, or not at all."""

from __future__ import annotations

import hashlib
import http.client
import logging
import os
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path

from ranker import progress
from ranker.datasets import sets
from ranker.errors import FetchError, UsageError, check_installed, first_line, look_up
from ranker.limits import LIMITS, Limits

log = logging.getLogger(__name__)

HUB = "hf"
"""Scheme of rows on the Hugging Face hub: hf://OWNER/NAME?name=CONFIG&split=SPLIT&revision=REVISION."""

HUB_OPTIONS = ("name", "split", "revision")
"""Options of such an address, which `datasets.load_dataset` takes."""

CHUNK = 1 << 16
"""Bytes read at once: 64 KiB."""

TIMEOUT = 30.0
"""Seconds of silence after which the download fails."""

_ELSEWHERE = "; `url` names another address of the file"


def fetch(
    name: str, data_dir: Path, url: str | None = None, include: Iterable[Path] = (), limits: Limits = LIMITS
) -> Path:
    """Download the official file of an OOD set to where ``--data-dir`` finds it.

    If the official file is there already, no request is made.

    Args:
        data_dir: target folder; created if missing.
        url: another address of the same file; None uses the card's.
        include: folders of a user's own sets.

    Raises:
        UsageError: there is no such set, it has no single official file, the address is neither HTTP nor the hub's, or
            another file has the name already.
        FetchError: the server cannot be reached or refuses, the connection ends early, or the checksum is wrong; no
            file is left then.
    """
    card = sets.find_card(name, include)
    if not card.url or not card.files:
        raise UsageError.of(card.name, f"has no official file to fetch; its rows {sets.how_to_get(card)}")
    address = url or card.url
    scheme = urllib.parse.urlsplit(address).scheme
    if scheme not in ("http", "https", HUB):
        raise UsageError.about("url", f"must begin with https://, http:// or {HUB}:// (got {address})", address)
    target = data_dir / card.files[0]
    if target.exists():
        if not target.is_file() or (card.sha256 and sha256(target) != card.sha256):
            raise UsageError.of(target, "is there already, and is not the official file: move it away")
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # a folder beside the target: removed whatever happens, and on its file system, so that the move is atomic
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
            part = Path(folder, target.name)
            (_download_rows if scheme == HUB else _download)(address, part, limits)
            checksum = sha256(part)
            if card.sha256 is None:
                log.warning("%s: no sha256 of the official file is known; that of this one is %s", card.name, checksum)
            elif checksum != card.sha256:
                raise FetchError.of(
                    address,
                    f"is not the official file: its sha256 is {checksum}, not {card.sha256}",
                    value=checksum,
                    allowed=[card.sha256],
                )
            os.replace(part, target)
    except OSError as error:
        raise FetchError.of(target, f"cannot be written: {error.strerror or error}") from error
    return target


def sha256(path: Path) -> str:
    """Compute the SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(address: str, target: Path, limits: Limits) -> None:
    with open(target, "wb") as file:
        for block in _blocks(address, target.name, limits):
            file.write(block)


def _download_rows(address: str, target: Path, limits: Limits) -> None:
    """Write rows of the Hugging Face hub as Parquet; needs `datasets`."""
    place = urllib.parse.urlsplit(address)
    name, options = f"{place.netloc}{place.path}", dict(urllib.parse.parse_qsl(place.query))
    for option in options:  # no other, such as one that lets code of the hub run
        look_up("option of a hub address", option, dict.fromkeys(HUB_OPTIONS))
    if os.path.exists(name):  # which `datasets` would read instead
        raise UsageError.of(name, "lies in this folder, and would be taken for the hub's: call this from another one")
    check_installed(f"`url` {address}", "datasets", option="url", value=address)
    import datasets

    try:
        rows = datasets.load_dataset(name, **options)
        rows.to_parquet(target)
    except Exception as error:  # of the hub's library, of any kind
        raise FetchError.of(address, f"cannot be fetched: {first_line(error)}{_ELSEWHERE}") from error
    limits.check(address, "file", target.stat().st_size)


def _blocks(address: str, label: str, limits: Limits) -> Iterator[bytes]:
    """Yield the bytes at an address in chunks, and show the progress."""
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as response:
            length = response.headers.get("Content-Length")
            size, total = 0, int(length) if length else None
            with progress.transfer(progress.stderr(), label, total) as advance:
                while block := response.read(CHUNK):
                    size += len(block)
                    if size > limits.file:
                        raise FetchError.like(limits.excess_error(address, "file"))
                    advance(len(block))
                    yield block
    except urllib.error.HTTPError as error:
        error.close()
        raise FetchError.of(
            address, f"cannot be fetched: HTTP {error.code} {error.reason}{_ELSEWHERE}", value=error.code
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        raise FetchError.of(address, f"cannot be fetched: {words}{_ELSEWHERE}") from error
    if total is not None and size < total:
        raise FetchError.of(
            address, f"cannot be fetched: the connection ended after {size:,} of {total:,} bytes", value=size
        )
