"""Tensors of a checkpoint's file that its network does not take: which of them are pointed out, and where."""

import json
import shutil

import pytest
import torch
from conftest import ENCODERS, TASK, make_checkpoint
from safetensors.torch import load_file, save_file

from factors.types import Example
from ranker.errors import ModelError
from ranker.progress import silent
from ranker.runs.collect import run_models
from ranker.runs.inspected import inspect_models
from ranker.runtime.base import Job, Request
from ranker.runtime.executors.processes import Processes
from ranker.runtime.executors.serial import Serial
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.runtime.upkeep import verify
from ranker.runtime.worker import run_job
from ranker.sources.base import ResourceCache
from ranker.sources.hf.classifiers import Classifier
from ranker.sources.hf.kind import Checkpoint
from ranker.sources.suites import Model, Suite

ROWS = [Example("a", ("The doctor saw the actor.", "An old judge danced."), 1)]
NOTE = (
    "16 tensors of its weights are not used, since its config.json has no place for them "
    "(bert.encoder.layer.1.attention.output.LayerNorm.bias, bert.encoder.layer.1.attention.output.LayerNorm.weight, "
    "bert.encoder.layer.1.attention.output.dense.bias and 13 more)"
)


def with_tensors(folder, source, *names):
    """A copy of a checkpoint whose file has more tensors."""
    shutil.copytree(source, folder)
    tensors = {name: torch.ones(2) for name in names}
    save_file(
        load_file(folder / "model.safetensors") | tensors, folder / "model.safetensors", metadata={"format": "pt"}
    )
    return folder


@pytest.fixture(scope="module")
def shortened(tmp_path_factory):
    """A checkpoint whose configuration has one layer, and whose file has two."""
    folder = make_checkpoint(tmp_path_factory.mktemp("shortened"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}))
    return folder


def test_layers_that_the_configuration_does_not_have_are_pointed_out(shortened):
    """The network is another than the one that was trained, and runs all the same."""
    assert Classifier.load(shortened, TASK).notes == (NOTE,)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_whole_checkpoint_has_nothing_to_point_out(classifier, name):
    """Every encoder takes all that was saved of it."""
    assert classifier(name).notes == ()


@pytest.mark.parametrize(("encoder", "name"), [
    ("bert", "bert.embeddings.position_ids"), ("distilbert", "distilbert.embeddings.token_type_ids"),
    ("bert", "cls.predictions.transform.dense.weight"), ("bert", "cls.seq_relationship.bias"),
    ("roberta", "lm_head.dense.weight"), ("roberta", "roberta.pooler.dense.weight"),
    ("distilbert", "vocab_transform.weight"), ("electra", "discriminator_predictions.dense.weight"),
    ("deberta-v3", "mask_predictions.dense.weight"), ("albert", "sop_classifier.classifier.weight"),
])  # fmt: skip
def test_what_no_answer_depends_on_is_passed_over(checkpoint, tmp_path, encoder, name):
    """Heads of pre-training, buffers that networks compute, and a pooler that the network has not."""
    assert Classifier.load(with_tensors(tmp_path / "copy", checkpoint(encoder), name), TASK).notes == ()


@pytest.mark.parametrize("name", ["bert.pooler.gate.weight", "lstm.weight_ih_l0", "classifier2.weight"])
def test_a_module_of_the_authors_own_is_pointed_out(checkpoint, tmp_path, name):
    """Such weights were trained, and the network that is run does not have them."""
    (note,) = Classifier.load(with_tensors(tmp_path / "copy", checkpoint("bert"), name), TASK).notes
    assert note == f"1 tensor of its weights is not used, since its config.json has no place for it ({name})"


@pytest.mark.more
@pytest.mark.parametrize("executor", [Serial(), Processes(2)], ids=["here", "elsewhere"])
def test_a_note_is_said_whether_the_model_is_run_or_its_answers_are_kept(
    shortened, checkpoint, tmp_path, caplog, executor, request
):
    """A note is kept with the answers, so that a second run, which loads no model, says the same."""
    if executor != Serial():
        request.getfixturevalue("bert_server")
    suite = [Model(Checkpoint(folder.name, str(folder))) for folder in (shortened, checkpoint("bert"))]
    for _ in range(2):
        caplog.clear()
        models = inspect_models(Suite("two", tuple(suite)))
        run_models(models, TASK, [[Request(ROWS)]] * 2, Runtime(store=Store(tmp_path), executor=executor))
        assert [record.getMessage() for record in caplog.records] == [f"{shortened.name}: {NOTE}"]
        assert models.cache.noted == {str(shortened): (0, (NOTE,)), str(checkpoint("bert")): (0, ())}
    assert verify(tmp_path)[1] == []


def test_a_dry_job_keeps_no_note(shortened, tmp_path):
    """A dry job leaves nothing in the store."""
    job = Job(Checkpoint("a", str(shortened)), TASK, (Request(ROWS),), dry=True)
    assert not run_job(job, Store(tmp_path), ResourceCache(), silent).failure
    assert list((tmp_path / "v2").iterdir()) == []


@pytest.mark.parametrize(("kind", "name"), [(torch.int64, "I64"), (torch.int8, "I8"), (torch.bool, "BOOL")])
def test_weights_of_whole_numbers_are_refused(checkpoint, tmp_path, kind, name):
    """Such weights are no trained network, all or one tensor; buffers of whole numbers may stand beside weights."""
    folder = with_tensors(tmp_path / "copy", checkpoint("bert"))
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"] = weights["classifier.weight"].to(kind)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=rf"holds whole numbers \({name}\) in classifier.weight"):
        Classifier.load(folder, TASK)
    weights["classifier.weight"] = weights["classifier.weight"].to(torch.bfloat16)
    weights["bert.embeddings.position_ids"] = torch.arange(40)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert Classifier.load(folder, TASK)
