"""A Ray cluster of two nodes on this machine, and what tests ask of models there."""

import os
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from toys import ROWS, TASK, Toy, truth

from ranker.attribution.settings import SHAPSettings
from ranker.progress import silent
from ranker.runs.collect import run_models
from ranker.runs.inspected import inspect_models
from ranker.runtime.base import Request
from ranker.runtime.executors.named import executor_named
from ranker.runtime.runtime import Runtime
from ranker.runtime.storage import place
from ranker.runtime.upkeep import contents

HERE = Path(__file__).parent


@contextmanager
def two_nodes(patch, home, port):
    """Start two nodes of one core each, and a server for clients on the first; their environment is that of now."""
    import ray
    from ray.cluster_utils import Cluster

    patch.setenv("HOME", str(home))
    patch.setenv("RAY_raylet_start_wait_time_s", "120")
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    patch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(HERE.parents[2]), os.environ.get("PYTHONPATH", "")]))
    head = {"num_cpus": 1, "include_dashboard": False, "ray_client_server_port": port}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=1)
    patch.setenv("RAY_ADDRESS", cluster.address)
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def asked(toys, store, executor):
    """Answers of toys, by name, and the reasons of those that have none."""
    runtime = Runtime(store=store, executor=executor, progress=silent)
    return run_models(inspect_models(toys), TASK, [[Request(ROWS)]] * len(toys), runtime)


def check(answers, names):
    """All answers are there, and right to the last bit."""
    assert list(answers) == names
    for name, answer in answers.items():
        assert np.array_equal(answer.answers[0].predictions.probs, truth(name, ROWS))


def numbers(models, rows, store, executor, explained):
    """Answers of models to 60 rows, or all that are explained, and SHAP of the first rows, as one array."""
    examples = rows.examples
    requests = [[Request(examples[: max(60, explained)]), Request(examples[:explained], SHAPSettings())]]
    runtime = Runtime(store=str(store), executor=executor_named(executor), progress=silent)
    answers, failures = run_models(inspect_models(models), rows.task, requests * len(models), runtime)
    assert not failures
    parts = []
    for model in models:
        predicted, attributed = answers[model.name].answers
        parts += [predicted.predictions.probs.ravel(), *(row.scores for row in attributed.attributions)]
    return np.concatenate(parts)


def at_work():
    """Numbers of the processes of Ray that run a task."""
    busy_nodes = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if line.read_bytes().startswith(b"ray::run_group"):
                busy_nodes.append(int(line.parent.name))
        except OSError:
            continue
    return busy_nodes


def wait_for_end():
    """Wait until Ray has run no task for a second: after a driver has died, it may begin another before it ends all."""
    idle_since = time.monotonic()
    while time.monotonic() - idle_since < 1:
        if at_work():
            idle_since = time.monotonic()
        time.sleep(0.05)


def logging_toys(folder, count=8):
    """Toys that leave a line each time that they are asked, two of them in one group."""
    return [Toy(f"t{n}", "logs", str(folder / "log"), shares="pair" * (n < 2)) for n in range(count)]


def stored(store):
    """Names of the toys all of whose answers are stored; a task that is ended by SIGTERM stores some of a toy's."""
    root = place(str(store))
    return {entry.called for entry in contents(root) if entry.rows == len(ROWS)} if root.is_dir() else set()


def lines(folder):
    """Names of the toys that were asked, in order."""
    return (folder / "log").read_text().split() if (folder / "log").exists() else []
