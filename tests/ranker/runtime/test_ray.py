"""Models on a real Ray cluster of two nodes, started once for this module: `make ray` installs what it needs."""

import os
from pathlib import Path

import numpy as np
import pytest
from toys import ROWS, TASK, Toy, truth

from ranker.progress import silent
from ranker.runs.collect import run_models
from ranker.runs.gather import inspect_models
from ranker.runtime.base import Request
from ranker.runtime.executors.ray_tasks import RayTasks
from ranker.runtime.runtime import Runtime
from ranker.runtime.upkeep import verify

ray = pytest.importorskip("ray", reason="`make ray` installs it")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # Ray's own code warns
    pytest.mark.allow_hosts(["127.0.0.1", ray.util.get_node_ip_address()]),  # nodes are named by this machine's address
]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two nodes of one core each, and a server for clients on the first."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("RAY_raylet_start_wait_time_s", "120")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(HERE.parents[2])]))
        head = {"num_cpus": 1, "include_dashboard": False, "ray_client_server_port": 23_400 + os.getpid() % 500}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.add_node(num_cpus=1)
        patch.setenv("RAY_ADDRESS", cluster.address)
        yield cluster
        ray.shutdown()
        cluster.shutdown()


def asked(toys, store, executor):
    """Answers of toys, by name, and the reasons of those that have none."""
    runtime = Runtime(store=store, executor=executor, progress=silent)
    return run_models(inspect_models(toys), TASK, [[Request(ROWS)]] * len(toys), runtime)


@pytest.mark.usefixtures("cluster")
def test_answers_come_through_the_store_and_a_model_that_fails_is_left_out(tmp_path):
    """Each way of failing costs its own model alone, in the words of local processes."""
    toys = [Toy("a"), Toy("b", "is_killed"), Toy("c", "raises"), Toy("d", shares="e"), Toy("e", shares="e")]
    answers, failures = asked(toys, tmp_path, RayTasks())
    assert list(answers) == ["a", "d", "e"]
    for name, told in answers.items():
        assert np.array_equal(told.answers[0].predictions.probs, truth(name, ROWS))
    assert failures == {
        "b": "its process was ended by SIGKILL, perhaps for want of memory",
        "c": "ZeroDivisionError: division by zero",
    }
    assert not verify(tmp_path)[1]
