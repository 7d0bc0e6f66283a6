"""Weights that are replaced while models are asked: no number is kept under the content of other weights."""

import os
import random
import shutil
import threading

import numpy as np
import pytest
from conftest import TASK
from safetensors.numpy import load_file, save_file
from toys import ROWS

from ranker.runs.collect import run_models
from ranker.runs.inspected import inspect_models
from ranker.runtime.base import Request
from ranker.runtime.executors.processes import Processes
from ranker.runtime.executors.serial import Serial
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.runtime.upkeep import contents
from ranker.sources.hf.classifiers import Classifier
from ranker.sources.hf.files import content_hash

SWAPS = 100
EXECUTORS = {"serial": Serial(), "guests": Processes(1)}


@pytest.fixture
def two(checkpoint, tmp_path):
    """Two checkpoints that differ in their weights, and the folder of the first, in which both will lie in turn."""
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        shutil.copytree(checkpoint("bert"), folder)
    tensors = load_file(folders[1] / "model.safetensors")
    rng = np.random.default_rng(0)
    changed = {name: tensor + rng.normal(0, 0.1, tensor.shape).astype(tensor.dtype) for name, tensor in tensors.items()}
    save_file(changed, folders[1] / "model.safetensors", metadata={"format": "pt"})
    return folders


@pytest.mark.more
@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.usefixtures("bert_server")
def test_weights_are_swapped_at_a_hundred_moments(two, tmp_path, name):
    """Between hashing and loading, too, and back before anybody looks: what is kept is of the weights in its key."""
    truth = {content_hash(folder): Classifier.load(folder, TASK).probabilities(ROWS) for folder in two}
    assert np.abs(np.subtract(*truth.values())).max() > 0.01
    weights = [(folder / "model.safetensors").read_bytes() for folder in two]
    place, stop, swaps, rng = two[0] / "model.safetensors", threading.Event(), [], random.Random(0)

    def swap():
        while not stop.wait(rng.uniform(0, 0.04)):
            beside = place.with_suffix(".new")
            beside.write_bytes(weights[len(swaps) % 2 - 1])
            os.replace(beside, place)
            swaps.append(place)

    swapping = threading.Thread(target=swap)
    swapping.start()
    count, runs = 0, 0
    try:
        while len(swaps) < SWAPS or not count:
            store, runs = Store(tmp_path / f"store-{runs}"), runs + 1
            runtime = Runtime(store=store, executor=EXECUTORS[name])
            run_models(inspect_models([two[0]]), TASK, [[Request(ROWS)]], runtime)
            for content in contents(store.root):
                entry = store.entry(content.key)
                if not entry.missing(ROWS):
                    probs = entry.predictions(ROWS).probs
                    np.testing.assert_allclose(probs, truth[content.key["source"]["content"]], atol=1e-6)
                    count += 1
    finally:
        stop.set()
        swapping.join()
    assert count
