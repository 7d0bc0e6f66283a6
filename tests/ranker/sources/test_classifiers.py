"""Checkpoints, end to end: tiny models of our own making, loaded as a user's would be."""

import json
import re
import shutil
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from conftest import ENCODERS, LIMIT, TASK, make_checkpoint, make_tokenizer
from refusals import refuses
from safetensors.torch import load_file, save_file

from factors.types import Example
from ranker.attribution import SETTINGS, attribute
from ranker.attribution.perturb import explained_output
from ranker.attribution.settings import LIMESettings
from ranker.errors import LabelError, ModelError, UsageError
from ranker.sources.base import is_perturbed
from ranker.sources.devices import DTYPES, resolve
from ranker.sources.hf import embedded, loading
from ranker.sources.hf.classifiers import Classifier, TextClassifier

PAIRS = [
    Example("a", ("The doctor saw the actor.", "An old judge danced."), 1),
    Example("b", ("The actor waited.", ""), 0),
    Example("c", ("the old judge",), 0),
]


def outputs(folder, examples):
    """(N, O) probabilities of the checkpoint's own outputs, by transformers alone, one example at a time."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = []
    for example in examples:
        inputs = tokenizer(*([segment] for segment in example.segments), return_tensors="pt")  # an empty one, too
        with torch.no_grad():
            rows.append(model(**inputs).logits[0].softmax(dim=0).numpy())
    return np.array(rows)


@pytest.mark.parametrize(
    "labels", [("contradiction", "entailment", "neutral"), ("ENTAILMENT", "neutral", "Contradiction")]
)
def test_three_labels_in_any_order_are_collapsed(tmp_path, labels):
    """A three-way NLI model gives the task's two probabilities: entailment, and the sum of the others."""
    folder = make_checkpoint(tmp_path, labels=labels)
    expected = outputs(folder, PAIRS)
    entailment = [label.lower() for label in labels].index("entailment")
    probs = Classifier.load(folder, TASK).probabilities(PAIRS)
    np.testing.assert_allclose(probs[:, 1], expected[:, entailment], atol=1e-6)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)


def test_labels_without_names_demand_a_map(tmp_path):
    """A checkpoint that does not say what its outputs mean is refused; with a map, in either order, it is not."""
    folder = make_checkpoint(tmp_path, labels=None)
    with refuses(LabelError, value="LABEL_0", place=tmp_path):
        Classifier.load(folder, TASK)
    expected = outputs(folder, PAIRS)
    for first, second in ((0, 1), (1, 0)):
        label_map = {str(first): "non-entailment", str(second): "entailment"}
        probs = Classifier.load(folder, TASK, label_map=label_map).probabilities(PAIRS)
        np.testing.assert_allclose(probs, expected[:, [first, second]], atol=1e-6)


def test_a_head_without_weights_is_refused(tmp_path):
    """Weights that transformers would draw at random are an error: such a model's answers mean nothing."""
    folder = make_checkpoint(tmp_path)
    weights = load_file(folder / "model.safetensors")
    del weights["classifier.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError) as caught:
        Classifier.load(folder, TASK)
    message = f"{folder} has no weights for classifier.weight; it must hold a trained sequence classifier"
    assert str(caught.value) == message


def test_a_tokenizer_larger_than_the_network_is_refused(tmp_path):
    """A token id that the network has no embedding for is found before the first example that has it."""
    folder = make_checkpoint(tmp_path)
    tokenizer = make_tokenizer("wordpiece")
    size = len(tokenizer)
    tokenizer.add_tokens(["judgeship"])
    tokenizer.save_pretrained(folder)
    with pytest.raises(ModelError) as caught:
        Classifier.load(folder, TASK)
    assert str(caught.value) == f"{folder}: its tokenizer has token ids up to {size}, its network only up to {size - 1}"


def test_pickled_weights_are_loaded_only_when_asked_to(tmp_path):
    """A .bin file is refused with the way out; allowed, it gives the numbers of its safetensors."""
    folder = make_checkpoint(tmp_path)
    expected = Classifier.load(folder, TASK).probabilities(PAIRS)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with refuses(ModelError, option="allow_pickle", place=tmp_path):
        Classifier.load(folder, TASK)
    loaded = Classifier.load(folder, TASK, allow_pickle=True)
    np.testing.assert_allclose(loaded.probabilities(PAIRS), expected, atol=1e-6)


def test_damaged_weights_are_told_in_one_line(tmp_path):
    """A file that was cut off is named, without a traceback of the library's."""
    folder = make_checkpoint(tmp_path)
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    with refuses(ModelError, place=folder) as stop:
        Classifier.load(folder, TASK)
    assert re.fullmatch("[^\n]*(damaged|cannot be loaded)[^\n]*", str(stop.value))


def test_a_checkpoint_without_a_tokenizer_is_refused(tmp_path):
    """The tokenizer that a model was trained with is part of it."""
    folder = make_checkpoint(tmp_path)
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with refuses(ModelError, place=folder) as stop:
        Classifier.load(folder, TASK)
    assert str(stop.value) == f"{folder} has no tokenizer (tokenizer.json); save it beside the weights"


def test_a_regression_is_refused(tmp_path):
    """One output is no classifier."""
    folder = make_checkpoint(tmp_path, labels=("similarity",))
    with refuses(LabelError, place=tmp_path):
        Classifier.load(folder, TASK)


@pytest.mark.parametrize("kind", ["multi_label_classification", "regression"])
def test_what_gives_no_one_label_is_refused(checkpoint, tmp_path, kind):
    """A head of several outputs whose configuration says that a softmax of them means nothing."""
    folder = shutil.copytree(checkpoint("bert"), tmp_path / "copy")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "problem_type": kind}))
    with refuses(LabelError, place=folder):
        Classifier.load(folder, TASK)
    (folder / "config.json").write_text(json.dumps({**config, "problem_type": "single_label_classification"}))
    Classifier.load(folder, TASK)


def test_outputs_that_are_not_numbered_from_0_are_refused(checkpoint, tmp_path):
    """A name that stands at no output, and an output without a name."""
    folder = shutil.copytree(checkpoint("bert"), tmp_path / "copy")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    names = {"1": "contradiction", "2": "entailment", "3": "neutral"}
    config |= {"id2label": names, "label2id": {name: int(number) for number, name in names.items()}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with refuses(LabelError, option="id2label", value=[1, 2, 3], place=folder):
        Classifier.load(folder, TASK)


@pytest.mark.parametrize("method", SETTINGS)
def test_every_backend_says_what_was_cut(classifier, caplog, method):
    """One warning, whatever is computed of the examples."""
    long = Example("long", ("the " * 60, "saw the actor"), 0)
    if method == "none":
        list(classifier("bert").predict([long, PAIRS[0]]))
    else:
        list(attribute(classifier("bert"), [long, PAIRS[0]], LIMESettings(samples=3) if method == "lime" else method))
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        f"1 of 2 examples are longer than its {LIMIT} tokens, and were cut"
    ]


@pytest.mark.more
@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("bart", r"answers otherwise to embeddings than to the tokens .* \(logits off by \d\.\d+\)"),
        ("ibert", r"cannot be run from embeddings \(tuple indices must be .*\)"),
    ],
)
def test_a_network_that_cannot_be_run_from_embeddings_answers_and_is_not_attributed(tmp_path, name, trouble):
    """BART's decoder reads the words once more; I-BERT's embeddings come with their scale."""
    folder = make_checkpoint(tmp_path, name)
    with refuses(ModelError, place=folder) as stop:
        Classifier.load(folder, TASK)
    assert re.search(f"{trouble}: it is of a kind that cannot be attributed$", str(stop.value))
    loaded = TextClassifier.load(folder, TASK)
    expected = outputs(folder, PAIRS[:2])
    np.testing.assert_allclose(loaded.probabilities(PAIRS[:2])[:, 1], expected[:, 1], atol=1e-6)
    assert not is_perturbed(loaded)


@pytest.mark.more
@pytest.mark.parametrize("name", ["longformer", "esm"])
def test_a_network_that_reads_ids_beside_the_words_is_ranked_and_attributed(tmp_path, name):
    """Longformer finds the tokens that attend to all others among the ids, ESM the number of its masks."""
    folder = make_checkpoint(tmp_path, name)
    loaded = Classifier.load(folder, TASK)
    np.testing.assert_allclose(loaded.probabilities(PAIRS)[:, 1], outputs(folder, PAIRS)[:, 1], atol=1e-6)
    for method in ("shap", "ig", "lime", "occlusion"):
        (row,) = attribute(loaded, PAIRS[:1], method)
        assert (row.scores != 0).any()


def test_a_last_layer_that_answers_otherwise_in_part_is_refused(checkpoint, monkeypatch):
    """From token ids as well: its numbers would be wrong, and look right."""

    def spoil(model):
        model.classifier.bias.data += 1.0
        model.classifier.bias.data[0] = 9.0

    monkeypatch.setattr("ranker.sources.hf.classifiers.read_first_token", spoil)
    with refuses(ModelError, place=checkpoint("bert")) as stop:
        TextClassifier.load(checkpoint("bert"), TASK)
    assert "answers otherwise where its last layer is computed in part (logits off by" in str(stop.value)


@pytest.mark.parametrize(
    ("installed", "command"),
    [((), "sentencepiece protobuf"), (("sentencepiece",), "protobuf"), (("google.protobuf",), "sentencepiece")],
)
def test_a_sentencepiece_model_alone_says_what_to_install(checkpoint, tmp_path, monkeypatch, installed, command):
    """Transformers would take it for one of tiktoken's, and ask for that."""
    folder = shutil.copytree(checkpoint("deberta-v3"), tmp_path / "copy")
    for file in folder.glob("tokenizer*"):
        file.unlink()
    (folder / "spm.model").write_bytes(b"\n\x0e\n\x05<unk>")
    monkeypatch.setattr(loading, "_has_module", lambda name: name in installed)
    with pytest.raises(ModelError) as caught:
        Classifier.load(folder, TASK)
    assert str(caught.value) == (
        f"{folder} has a SentencePiece tokenizer (spm.model) and no tokenizer.json; `pip install {command}` to read it"
    )


def test_what_reads_a_sentencepiece_model_is_looked_for_where_it_is_all_there_is(checkpoint, tmp_path, monkeypatch):
    """A tokenizer.json beside it is read in its place; a package of which a part is not there is none."""
    folder = shutil.copytree(checkpoint("deberta-v3"), tmp_path / "copy")
    (folder / "spm.model").write_bytes(b"\n\x0e\n\x05<unk>")
    monkeypatch.setattr(loading, "SENTENCEPIECE", {"nothing": "no_such_package.part"})
    Classifier.load(folder, TASK)
    (folder / "tokenizer.json").unlink()
    with refuses(ModelError, place=folder):
        Classifier.load(folder, TASK)


def test_what_a_network_reads_changes_nothing_of_what_it_answers_next(tmp_path):
    """BigBird changes to full attention at a short text, and never back: it is loaded with that."""
    folder = make_checkpoint(tmp_path, "big-bird")
    long = Example("long", ("the actor saw the doctor " * 20, "old judge " * 10), 0)
    loaded = Classifier.load(folder, TASK)
    before = loaded.probabilities([long])
    loaded.probabilities(PAIRS)
    np.testing.assert_array_equal(loaded.probabilities([long]), before)
    assert loaded.model.base_model.attention_type == "original_full"


def test_a_decoder_without_a_padding_token_takes_batches(tmp_path):
    """No row is padded, so that it needs none; transformers refuses more than one row without."""
    loaded = Classifier.load(make_checkpoint(tmp_path, "gpt2", pad_token_id=None), TASK)
    alike = [PAIRS[0], replace(PAIRS[0], id="too", segments=("The doctor saw the judge.", "An old actor danced."))]
    alone = [loaded.probabilities([example])[0] for example in alike]
    np.testing.assert_allclose(loaded.probabilities(alike), alone, atol=1e-6)


def test_what_is_too_long_is_cut_and_counted_in_one_warning(classifier, caplog):
    """However many examples are cut, and however they are asked for, there is one warning with the count."""
    long = Example("long", ("the " * 60, "saw the actor"), 0)
    model = classifier("bert")
    probs = model.probabilities([long, PAIRS[0], replace(long, id="too")])
    assert [record.getMessage() for record in caplog.records] == [
        f"{model.name}: 2 of 3 examples are longer than its {LIMIT} tokens, and were cut"
    ]
    np.testing.assert_array_equal(probs[0], probs[2])
    assert len(model.encode([long])[0]) == LIMIT


@pytest.mark.parametrize("name", ["bert", "roberta", "deberta-v3", "xlnet"])
def test_the_limit_is_what_the_network_takes(classifier, name):
    """Positions that start behind the padding index are taken off; where positions have no end there is no limit."""
    limit = classifier(name).max_length
    assert limit == LIMIT if name != "xlnet" else limit > 10**6
    probs = classifier(name).probabilities([Example("long", ("the " * 60,), 0)])
    assert np.isfinite(probs).all()


def test_out_of_memory_halves_the_budget_and_goes_on(classifier, monkeypatch, caplog):
    """An error of memory costs a warning and no number."""
    model = classifier("bert")
    expected = model.probabilities(PAIRS * 5)
    network, fits = Classifier.network, []

    def once(self, batch):
        fits.append(batch.ids.numel())
        if len(fits) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return network(self, batch)

    monkeypatch.setattr(Classifier, "network", once)
    np.testing.assert_allclose(model.probabilities(PAIRS * 5), expected, atol=1e-6)
    assert [record.getMessage() for record in caplog.records] == [
        f"out of memory: going on with at most {fits[0] // 2} tokens a batch"
    ]


def test_no_weight_takes_a_gradient(classifier):
    """Gradients are of inputs alone, in evaluation mode."""
    model = classifier("bert").model
    assert not model.training
    assert not any(weight.requires_grad for weight in model.parameters())


@pytest.mark.parametrize(("option", "value"), [("dtype", "float16"), ("device", "gpu")])
def test_a_device_or_a_dtype_that_is_none_is_refused(checkpoint, option, value):
    """The message comes before anything is read."""
    with refuses(UsageError, option=option, value=value):
        Classifier.load(checkpoint("bert"), TASK, **{option: value})


@pytest.mark.parametrize("units", [True, False])
def test_auto_is_bfloat16_where_there_are_units_for_it(checkpoint, monkeypatch, units):
    """The device settles "auto", since instructions without units are slower; a name stays."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True, "amx_bf16": units})
    assert resolve("auto") == ("bfloat16" if units else "float32")
    assert (resolve("float32"), resolve("bfloat16")) == ("float32", "bfloat16")
    loaded = Classifier.load(checkpoint("bert"), TASK, dtype="auto")
    assert loaded.dtype == DTYPES[resolve("auto")]


@pytest.mark.parametrize("name", ENCODERS)
def test_bfloat16_is_near_float32(checkpoint, classifier, name):
    """Probabilities in bfloat16 are those of float32 but for its rounding, and are not the same."""
    half = Classifier.load(checkpoint(name), TASK, dtype="bfloat16").probabilities(PAIRS)
    exact = classifier(name).probabilities(PAIRS)
    np.testing.assert_allclose(half, exact, atol=0.01)
    assert (half != exact).any()


def test_a_network_that_refuses_its_input_is_told_in_one_line(checkpoint, monkeypatch):
    """Such a model is left out like one that cannot be loaded; memory that ran out is another matter."""
    loaded = Classifier.load(checkpoint("bert"), TASK)

    def refuse(error):
        def forward(**inputs):
            raise error

        monkeypatch.setattr(loaded.model, "forward", forward)
        loaded.probabilities(PAIRS)

    with refuses(ModelError, place=loaded.name) as stop:
        refuse(NotImplementedError("input embeddings are not supported\nby this one"))
    assert str(stop.value) == f"{loaded.name} cannot be run: input embeddings are not supported"
    with refuses(ModelError, value=15):
        refuse(torch.OutOfMemoryError("CUDA out of memory"))


def test_weights_of_another_shape_than_the_configuration_says(checkpoint, tmp_path):
    """The library's own message points at a report that is not shown."""
    copy = shutil.copytree(checkpoint("bert"), tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    config |= {"id2label": {"0": "neutral", "1": "entailment"}, "label2id": {"neutral": 0, "entailment": 1}}
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with refuses(ModelError, place=copy) as stop:
        Classifier.load(copy, TASK)
    assert "cannot be loaded: its weights are not of the shapes that its config.json" in str(stop.value)


def test_only_matrix_products_are_in_bfloat16(checkpoint):
    """Weights that are multiplied are rounded; norms and embeddings are not."""
    model = Classifier.load(checkpoint("bert"), TASK, dtype="bfloat16").model
    kinds = {type(module).__name__: module.weight.dtype for module in model.modules() if hasattr(module, "weight")}
    assert kinds == {"Embedding": torch.float32, "LayerNorm": torch.float32, "Linear": torch.bfloat16}


@pytest.mark.parametrize(("dtype", "backward", "plain"), [("bfloat16", True, True), ("bfloat16", False, False),
                                                          ("float32", True, False)])  # fmt: skip
def test_attention_is_not_fused_where_its_way_back_is_slow(checkpoint, monkeypatch, dtype, backward, plain):
    """On a CPU in bfloat16, and only where there is a way back."""
    loaded, chosen = Classifier.load(checkpoint("bert"), TASK, dtype=dtype), []
    monkeypatch.setattr(embedded, "sdpa_kernel", lambda kind: nullcontext(chosen.append(kind)))
    encodings = loaded.encode(PAIRS[:1])
    loaded.from_embeddings(loaded.embed(encodings).requires_grad_(backward), encodings)
    assert bool(chosen) == plain


def test_a_classifier_says_how_it_can_hide_tokens(classifier):
    """Behind what its tokenizer has, or by leaving them out; what is hidden in another way is another answer."""
    bert = classifier("bert")
    assert bert.hides == ("pad", "mask", "remove")
    assert replace(bert, tokenizer=SimpleNamespace(mask_token_id=4)).hides == ("mask", "remove")
    (e,) = bert.encode(PAIRS[:1])
    visible = np.array([np.full(len(e), True), np.arange(len(e)) != 2])
    by_token = {hide: next(bert.answers([("tag", e, visible)], hide)) for hide in bert.hides}
    assert {tag for tag, _ in by_token.values()} == {"tag"}
    unhidden, part = zip(*(logits for _, logits in by_token.values()), strict=True)
    assert len(np.unique(np.round(unhidden, 6), axis=0)) == 1
    assert len(np.unique(np.round(part, 6), axis=0)) == 3


def test_what_is_explained():
    """The explained output of three classes is the target's log-odds, its logit, or its probability."""
    logits = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.0, 0.0]])
    for target in range(3):
        p = logits.softmax(dim=1)[:, target]
        torch.testing.assert_close(explained_output(logits, target), torch.log(p / (1 - p)))
        torch.testing.assert_close(explained_output(logits, target, "probability"), p)
        torch.testing.assert_close(explained_output(logits, target, "logit"), logits[:, target])
