"""Connection to a Ray cluster, and the check that its nodes can do the work, before the work."""

from __future__ import annotations

import json
import logging
import os
import platform
import socket
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ranker.errors import UsageError, check_installed, printed
from ranker.files.buckets import check_listing, copied_from, copies_folder, local_path
from ranker.runtime.base import Job
from ranker.runtime.storage import contents_of, failures, place, put
from ranker.runtime.store import Store
from ranker.sources.base import version

log = logging.getLogger(__name__)

PACKAGES = ("rank-models", "torch", "transformers", "tokenizers", "captum", "peft")
"""Packages whose versions must be the same on all nodes, since numbers depend on them."""

CONNECT = 5.0
"""Seconds in which a cluster must answer; Ray itself would try for minutes."""

CLIENT_PORT = 10001
"""Port of Ray's client server where an address names none."""


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Connect to a cluster, or start one; one that a script is connected to is used and left."""
    check_installed("`executor=ray`", "ray", option="executor")
    import ray

    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    target = address or os.environ.get("RAY_ADDRESS", "")
    _knock(target)
    dashboard = False if target in ("", "local") else None  # None where the cluster has decided
    try:
        try:
            ray.init(target or None, include_dashboard=dashboard, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # of another version, of the network, of a daemon that has ended
            raise _refusal(f"Ray cannot be used at {target or 'this machine'}: {_one_line(error)}", target) from error
        yield
    finally:
        ray.shutdown()


def _knock(target: str) -> None:
    """Refuse an address where nothing listens."""
    host, _, port = target.rpartition("//")[2].rstrip("/").partition(":")
    if not host or (target == host and not port):  # none, "auto" or "local"
        return
    if port and not port.isdecimal():
        raise _refusal(f"a cluster's address is ray://HOST:PORT (got {target})", target)
    try:
        socket.create_connection((host, int(port or CLIENT_PORT)), CONNECT).close()
    except OSError as error:
        raise _refusal(f"no Ray cluster answers at {target} ({error.strerror or error})", target) from error


def _refusal(text: str, value: object) -> UsageError:
    return UsageError(f"`executor`: {text}", option="executor", value=value)


def _one_line(error: BaseException) -> str:
    return printed(" ".join(str(error).split()) or type(error).__name__)


class Expected(NamedTuple):
    """Conditions that a node must meet.

    Attributes:
        store: the store's folder or URL.
        mark: name of a file in the store.
        paths: files and folders of the models.
        copies: such paths that are copies from buckets -> the URLs that they were copied from; each node makes its own.
    """

    versions: Mapping[str, str | None]
    store: str
    mark: str
    paths: Sequence[str]
    copies: Mapping[str, str]

    @classmethod
    def of(cls, jobs: Sequence[Job], store: str, mark: str) -> Expected:
        """Return the conditions of jobs, whose paths exist on this machine."""
        paths = [path for path in paths_of(jobs) if os.path.exists(path)]
        copies = {path: url for path in paths if (url := copied_from(path))}
        return cls(versions(), store, mark, [path for path in paths if path not in copies], copies)


def paths_of(jobs: Sequence[Job]) -> list[str]:
    """Return the absolute paths that models name, in order."""
    names = {name.partition("#")[0] for job in jobs for name in (job.source.place, job.source.shares)}
    return sorted(filter(os.path.isabs, names))


def versions() -> dict[str, str | None]:
    """Return the versions of Python and of all `PACKAGES` here."""
    return {"Python": ".".join(platform.python_version_tuple()[:2]), **{name: version(name) for name in PACKAGES}}


@contextmanager
def marked_store(store: Store) -> Iterator[tuple[str, str]]:
    """Put a file into the store that each node must see; gives the store's place and the name of the file."""
    mark = store.root / f".{uuid.uuid4().hex}.tmp"
    with failures(store.root, "written to"):
        put(mark, b"")
    try:
        yield str(store.root if "://" in str(store.root) else os.path.abspath(str(store.root))), mark.name
    finally:
        with suppress(OSError):
            mark.unlink(missing_ok=True)


def trouble_here(expected: Expected) -> str:
    """Return the reason why this machine cannot do the work, in a line; "" if it can."""
    for name, number in versions().items():
        if number != expected.versions[name]:
            return f"has {name} {number or '(none)'}, and this machine {expected.versions[name] or 'none'}"
    try:
        mark = place(expected.store) / expected.mark
        contents_of(mark)
    except (OSError, UsageError) as error:
        return (
            f"does not see the store {expected.store} ({_one_line(error)}); `store` must be a shared folder or a bucket"
        )
    try:
        put(mark, b"")
    except OSError as error:
        return f"cannot write to the store {expected.store} ({_one_line(error)})"
    hidden = [path for path in expected.paths if not os.path.exists(path)]
    if hidden:
        count = f" and {len(hidden) - 1} more" if hidden[1:] else ""
        return f"does not see {hidden[0]}{count}; models must lie in a shared folder, in a bucket or on the hub"
    return _trouble_of_copies(expected.copies)


def _trouble_of_copies(copies: Mapping[str, str]) -> str:
    """Return the reason why this machine cannot copy models from buckets; each bucket is listed once."""
    elsewhere = [path for path in copies if not Path(path).is_relative_to(copies_folder())]
    if elsewhere:
        return f"keeps copies in {copies_folder()}, and not at {elsewhere[0]}; set $XDG_CACHE_HOME to one path on all"
    buckets = {"/".join(url.split("/")[:3]): url for url in copies.values()}
    for url in buckets.values():
        try:
            check_listing(url, "models")
        except UsageError as error:
            return f"does not see a bucket ({_one_line(error)})"
    return ""


def copy_models(paths: Sequence[str], copies: Mapping[str, str]) -> None:
    """Copy models from buckets to the paths that the driver's copies have.

    Raises:
        UsageError: one cannot be copied, or the bucket has another version by now.
    """
    for path in paths:
        if path in copies and not os.path.exists(path):
            local_path(copies[path], "models")
            if not os.path.exists(path):
                text = f"`models`: {copies[path]} has changed since the run began; give the same command again"
                raise UsageError(text, option="models", value=copies[path])


def probe_node(content: bytes) -> bytes:
    """Return `trouble_here`, as a task."""
    return trouble_here(Expected(*json.loads(content))).encode()


def check_nodes(expected: Expected) -> None:
    """Refuse a cluster with a node that cannot do the work, before any work."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    content = json.dumps(expected).encode()
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    if not nodes:
        log.warning("the Ray cluster has no cores yet; the run waits for them")
    probe = ray.remote(probe_node)
    probes = [
        probe.options(
            num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote(content)
        for node in nodes
    ]
    for node, ref in zip(nodes, probes, strict=True):
        try:
            trouble = ray.get(ref).decode()
        except (ray.exceptions.TaskUnschedulableError, ray.exceptions.NodeDiedError):
            log.warning("the node %s left the Ray cluster; the run goes on without it", node["NodeManagerAddress"])
            continue
        except ray.exceptions.RayError as error:
            missing = "No module named 'ranker'" in str(error)
            trouble = "lacks the package rank-models" if missing else f"runs no task ({cause(error)})"
        if trouble:
            address = node["NodeManagerAddress"]
            raise _refusal(f"the node {address} of the Ray cluster {trouble}", address)


def cause(error: BaseException) -> str:
    """Return the last line of an error of Ray, which may hold the trace of a task."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return printed(lines[-1] if lines else type(error).__name__)
