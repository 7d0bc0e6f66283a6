import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ranker.attribution import SETTINGS, attribute
from ranker.datasets import sets
from ranker.sources import suites
from ranker.sources.hf.classifiers import Classifier

CARRY = ("_to_copy", "copy_", "to")
"""What brings a tensor from one device to another."""


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of two devices; zeros come back from one that has shapes and no numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.ran = {"cpu": 0, "meta": 0}  # device -> operations on it

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        leaves = tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        devices = {leaf.device.type for leaf in tensors if leaf.dim()}  # a single number may come from anywhere
        carries = operation.overloadpacket.__name__ in CARRY
        assert carries or len(devices) < 2, f"{operation} on tensors of {devices}"
        for device in devices:
            self.ran[device] += 1
        if carries and tensors[0].is_meta and torch.device("cpu") in leaves:
            dtype = next((leaf for leaf in leaves if isinstance(leaf, torch.dtype)), tensors[0].dtype)
            return torch.zeros(tensors[0].shape, dtype=dtype)
        return operation(*args, **(kwargs or {}))


@pytest.mark.more
@pytest.mark.parametrize("method", SETTINGS)
def test_what_runs_on_another_device_stays_there(method, monkeypatch):
    """A GPU would refuse an operation on tensors of two devices; so does one of shapes, which every machine has."""
    for name in ("item", "__bool__"):  # torch refuses to read a number where there is none
        original = getattr(torch.Tensor, name)
        monkeypatch.setattr(torch.Tensor, name, lambda tensor, original=original: original(tensor.cpu()))
    dataset = sets.load("hans-sub")
    path = suites.load(["hans-sub-mini"]).models[0].source.path
    with OneDevice() as counter:
        classifier = Classifier.load(path, dataset.task, device="meta")
        examples = dataset.examples[:3]
        if method == "none":
            probs = list(classifier.probabilities(examples))
        else:
            probs = [row.probs for row in attribute(classifier, examples, SETTINGS[method]())]
    assert [len(pair) for pair in probs] == [2] * 3
    assert counter.ran["meta"] > 100
