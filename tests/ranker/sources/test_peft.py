"""PEFT adapters as models: a LoRA directory is a checkpoint like any other."""

import json
import re
import shutil
import warnings

import numpy as np
import pytest
import torch
from conftest import TASK, make_checkpoint
from refusals import refuses
from safetensors.torch import load_file, save_file

from factors.types import Example
from ranker.attribution import attribute
from ranker.attribution.settings import SHAPSettings
from ranker.errors import LabelError, ModelError
from ranker.sources.hf.classifiers import Classifier
from ranker.sources.hf.files import content_hash

peft = pytest.importorskip("peft", reason="needs the extra `peft`")
EXAMPLES = [
    Example("a", ("The doctor saw the actor.", "An old judge danced."), 1),
    Example("b", ("The actor waited.", ""), 0),
]


def make_adapter(folder, base, seed, init=False, bias="none"):
    """A LoRA adapter of a base's queries and values, with random weights and a head of its own, and its network."""
    from transformers import AutoModelForSequenceClassification

    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft reads what transformers will drop
        torch.manual_seed(seed)
        model = AutoModelForSequenceClassification.from_pretrained(base)
        config = peft.LoraConfig(
            task_type="SEQ_CLS", r=2, target_modules=["query", "value"], init_lora_weights=init, bias=bias
        )
        model = peft.get_peft_model(model, config)
        for name, weight in model.named_parameters():
            if "modules_to_save" in name:
                weight.data.normal_(0, 0.5)
            if name.endswith("bias") and weight.requires_grad:
                weight.data.normal_(0, 0.5)
            if "lora" in name and init:
                weight.data += 0.3 * torch.randn_like(weight)
        model.save_pretrained(folder)
    return model.eval()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A tiny BERT."""
    return make_checkpoint(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def adapters(base, tmp_path_factory):
    """Folders of two adapters on it, and their networks."""
    folders = [tmp_path_factory.mktemp("adapter") for _ in range(2)]
    return folders, [make_adapter(folder, base, seed) for seed, folder in enumerate(folders)]


@pytest.mark.more
def test_an_adapter_answers_as_the_network_it_was_saved_from(base, adapters):
    """Loaded from its folder alone, an adapter gives its own numbers, and neither the base's nor another's."""
    rows = []
    for folder, network in zip(*adapters, strict=True):
        loaded = Classifier.load(folder, TASK)
        for example in EXAMPLES:
            inputs = loaded.tokenizer(*([segment] for segment in example.segments), return_tensors="pt")
            with torch.no_grad():
                expected = network(**inputs).logits[0].softmax(dim=0)
            probs = loaded.probabilities([example])
            assert probs[0, 1] == pytest.approx(expected[1].item(), abs=1e-6)
        rows.append(loaded.probabilities(EXAMPLES))
    rows.append(Classifier.load(base, TASK).probabilities(EXAMPLES))
    assert min(abs(a - b).max() for i, a in enumerate(rows) for b in rows[:i]) > 1e-3


def of_base(classifier):
    """Addresses in memory of the weights that an adapter has from its base."""
    weights = classifier.model.named_parameters()
    return {name: w.data_ptr() for name, w in weights if "lora" not in name and "classifier" not in name}


def test_adapters_of_one_base_share_its_weights_in_memory(adapters):
    """Two adapters loaded together hold one copy of the base; alone or together, the numbers are the same."""
    bases = {}
    first, second = (Classifier.load(folder, TASK, bases=bases) for folder in adapters[0])
    assert len(of_base(first)) > 10
    assert of_base(first) == of_base(second)
    for folder, together in zip(adapters[0], (first, second), strict=True):
        alone = Classifier.load(folder, TASK).probabilities(EXAMPLES)
        np.testing.assert_allclose(together.probabilities(EXAMPLES), alone, atol=1e-6)


@pytest.mark.more
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("init", "share"), [("gaussian", True), ("pissa", False), ("olora", False)])
def test_an_adapter_that_begins_by_changing_its_base_changes_no_other(base, tmp_path, init, share, dtype):
    """PEFT takes some inits out of the base's own weights; in any order, beside plain ones, numbers are the same."""
    folders = [tmp_path / name for name in ("plain", "first", "second")]
    for seed, folder in enumerate(folders):
        make_adapter(folder, base, seed, init if seed else False)
    alone = [Classifier.load(folder, TASK, dtype=dtype).probabilities(EXAMPLES) for folder in folders]
    for order in ((0, 1, 2), (2, 1, 0)):
        bases = {}
        loaded = {i: Classifier.load(folders[i], TASK, dtype=dtype, bases=bases) for i in order}
        for i in order:
            np.testing.assert_allclose(loaded[i].probabilities(EXAMPLES), alone[i], atol=1e-6)
        assert (of_base(loaded[1]) == of_base(loaded[2])) == share


@pytest.mark.more
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_an_adapter_with_biases_of_its_own_changes_no_other(base, tmp_path, order):
    """PEFT writes these into the base's tensors; in any order, beside one that has none, numbers are the same."""
    folders = [tmp_path / bias for bias in ("none", "all", "lora_only")]
    for seed, folder in enumerate(folders):
        make_adapter(folder, base, seed, bias=folder.name)
    alone = [Classifier.load(folder, TASK).probabilities(EXAMPLES) for folder in folders]
    bases = {}
    loaded = {i: Classifier.load(folders[i], TASK, bases=bases) for i in order}
    for i in order:
        np.testing.assert_allclose(loaded[i].probabilities(EXAMPLES), alone[i], atol=1e-6)
    shared = [name for name, place in of_base(loaded[1]).items() if place == of_base(loaded[2]).get(name)]
    assert any(name.endswith("query.base_layer.weight") for name in shared)


def test_an_untrusted_adapter_does_not_run_what_a_trusted_one_may(tmp_path):
    """The code that comes with a base is run for the model that was named, and for no other adapter of that base."""
    base = make_checkpoint(tmp_path / "base")
    for seed, name in enumerate("ab"):
        make_adapter(tmp_path / name, base, seed)
    config = json.loads((base / "config.json").read_text())
    classes = {"AutoModelForSequenceClassification": "own.Own"}
    (base / "config.json").write_text(json.dumps({**config, "auto_map": classes}))
    code = "from transformers import BertForSequenceClassification\nclass Own(BertForSequenceClassification): pass\n"
    (base / "own.py").write_text(code)
    bases = {}
    kinds = [
        type(Classifier.load(tmp_path / name, TASK, trust_remote_code=trusted, bases=bases).model).__name__
        for name, trusted in (("a", True), ("b", False))
    ]
    assert kinds == ["Own", "BertForSequenceClassification"]


@pytest.mark.more
def test_a_base_is_held_until_an_adapter_of_another_comes(adapters, tmp_path):
    """Adapters of three bases, one after the other, take the memory of one; its formats are held side by side."""
    bases = {}
    for number in range(3):
        base = make_checkpoint(tmp_path / f"base-{number}", intermediate_size=8 + number)
        make_adapter(tmp_path / f"{number}", base, number)
        for dtype in ("float32", "bfloat16"):
            Classifier.load(tmp_path / f"{number}", TASK, dtype=dtype, bases=bases)
    assert len(bases) == 2
    assert all(key[0] == content_hash(base) for key in bases)


@pytest.mark.parametrize("method", ["ig", "shap", "lime", "occlusion"])
def test_adapters_are_attributed(adapters, method):
    """Every backend explains an adapter, and its scores are the adapter's own."""
    first, second = (next(attribute(Classifier.load(f, TASK), EXAMPLES, method)) for f in adapters[0])
    assert first.tokens == second.tokens
    assert abs(first.scores - second.scores).max() > 1e-3


def test_an_adapter_is_known_by_its_content_and_its_bases(base, adapters):
    """Adapters of one base are different models, and none of them is the base."""
    assert len({content_hash(folder) for folder in (base, *adapters[0])}) == 3


def test_a_base_that_is_not_there_is_told(adapters, tmp_path):
    """The message names what the adapter says its base is."""
    for file in adapters[0][0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": "./gone"}))
    with refuses(ModelError, value="./gone", place=f"the base of {tmp_path}"):
        Classifier.load(tmp_path, TASK)


def test_pickled_weights_beside_stray_safetensors_are_refused(adapters, tmp_path):
    """PEFT goes by names: where its own file is not there it would take the pickled one."""
    for file in adapters[0][0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    torch.save(load_file(tmp_path / "adapter_model.safetensors"), tmp_path / "adapter_model.bin")
    (tmp_path / "adapter_model.safetensors").rename(tmp_path / "stray.safetensors")
    with refuses(ModelError, place=tmp_path) as stop:
        Classifier.load(tmp_path, TASK)
    assert str(stop.value) == f"{tmp_path} has no adapter_model.safetensors; it must hold a saved adapter"
    assert Classifier.load(tmp_path, TASK, allow_pickle=True).probabilities(EXAMPLES).shape == (2, 2)


def test_an_adapter_that_adds_tokens_is_refused(base, tmp_path):
    """Prompt tuning has tokens that stand for no word."""
    options = {"task_type": "SEQ_CLS", "num_virtual_tokens": 2, "num_layers": 2, "token_dim": 16}
    peft.PromptTuningConfig(base_model_name_or_path=str(base), **options).save_pretrained(tmp_path)
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    with refuses(ModelError, place=tmp_path) as stop:
        Classifier.load(tmp_path, TASK)
    assert re.search("adds tokens to the input .*; adapters must change weights only$", str(stop.value))


def test_a_base_without_label_names_needs_a_map(tmp_path_factory):
    """The base's configuration is where an adapter's labels are named; else a map says what they mean."""
    base = make_checkpoint(tmp_path_factory.mktemp("unnamed"), labels=None)
    folder = tmp_path_factory.mktemp("adapter")
    make_adapter(folder, base, 0)
    with refuses(LabelError, value="LABEL_0", place=folder):
        Classifier.load(folder, TASK)
    probs = Classifier.load(folder, TASK, label_map={"0": "non-entailment", "1": "entailment"}).probabilities(EXAMPLES)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-12)


def test_an_adapter_of_an_encoder_without_a_head_brings_its_own(base, tmp_path):
    """As those of published encoders do, with as many outputs as the map says; such a base is no classifier itself."""
    from transformers import AutoModel, AutoModelForSequenceClassification

    shutil.copytree(base, tmp_path / "encoder")
    AutoModel.from_pretrained(base).save_pretrained(tmp_path / "encoder")
    content = json.loads((tmp_path / "encoder" / "config.json").read_text())
    plain = {name: value for name, value in content.items() if name not in ("id2label", "label2id")}
    (tmp_path / "encoder" / "config.json").write_text(json.dumps(plain))
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in `make_adapter`
        torch.manual_seed(0)
        model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "encoder", num_labels=3)
        config = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query"], init_lora_weights=False)
        model = peft.get_peft_model(model, config)
        model.save_pretrained(tmp_path / "adapter")
    label_map = {"0": "entailment", "1": "neutral", "2": "contradiction"}
    loaded = Classifier.load(tmp_path / "adapter", TASK, label_map=label_map)
    model.eval()
    inputs = loaded.tokenizer(*([segment] for segment in EXAMPLES[0].segments), return_tensors="pt")
    with torch.no_grad():
        expected = model(**inputs).logits[0].softmax(dim=0)
    assert loaded.probabilities(EXAMPLES[:1])[0, 1] == pytest.approx(expected[0].item(), abs=1e-6)
    with refuses(ModelError, place=tmp_path / "encoder"):
        Classifier.load(tmp_path / "encoder", TASK, label_map=label_map)


def renamed(folder, adapter, change):
    """A copy of an adapter whose tensors are called otherwise, or left out where the new name is None."""
    shutil.copytree(adapter, folder)
    weights = {change(name): value for name, value in load_file(folder / "adapter_model.safetensors").items()}
    save_file({name: value for name, value in weights.items() if name}, folder / "adapter_model.safetensors")
    return folder


def refusal(folder):
    """Message with which an adapter is refused, before it is shortened."""
    with pytest.raises(ModelError) as caught:
        Classifier.load(folder, TASK)
    return str(caught.value.args[0])


QUERY = "bert.encoder.layer.0.attention.self.query.lora_A.weight"


def saved(folder, base, task, around):
    """An adapter as PEFT saves it of a network that something stands around, or that is a part of it."""
    from transformers import AutoModelForSequenceClassification

    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in `make_adapter`
        torch.manual_seed(0)
        network = around(AutoModelForSequenceClassification.from_pretrained(base))
        config = peft.LoraConfig(
            task_type=task, r=2, target_modules=["query", "value"], init_lora_weights=False,
            base_model_name_or_path=str(base),
        )  # fmt: skip
        peft.get_peft_model(network, config).save_pretrained(folder)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": str(base)}))
    return folder


@pytest.mark.more
@pytest.mark.parametrize(("task", "count", "expected"), [(None, 8, QUERY), ("SEQ_CLS", 10, "classifier.")])
def test_an_adapter_saved_from_torch_compile_is_refused(base, tmp_path, task, count, expected):
    """None of its tensors fits, and it would answer as its base does; with a head, PEFT looks for that first."""
    adapter = saved(tmp_path / "adapter", base, task, torch.compile)
    message = refusal(adapter)
    assert message.startswith(
        f"{adapter}: {count} of the adapter's {count} tensors fit nothing in its base: it has base_model.model."
        f"_orig_mod.{QUERY}, where the base expects base_model.model.{expected}"
    )
    assert message.endswith("; it was probably saved from a network wrapped by torch.compile: save it from the network "
                            "inside")  # fmt: skip


def test_an_adapter_saved_from_the_backbone_alone_is_refused(base, tmp_path):
    """Names lack the part that the classifier around the backbone puts before them."""
    adapter = saved(tmp_path / "adapter", base, "FEATURE_EXTRACTION", lambda network: network.bert)
    assert refusal(adapter) == (
        f"{adapter}: 8 of the adapter's 8 tensors fit nothing in its base: it has base_model.model."
        f"{QUERY.removeprefix('bert.')}, where the base expects base_model.model.{QUERY}; it was probably saved from "
        "the backbone alone (bert): save it from the network with its head"
    )


def test_an_adapter_of_a_larger_base_is_refused(adapters, tmp_path):
    """Tensors that fit are not enough."""
    adapter = renamed(tmp_path / "adapter", adapters[0][0], lambda name: name.replace("layer.1.", "layer.7."))
    message = refusal(adapter)
    assert message.startswith(f"{adapter}: 4 of the adapter's 10 tensors fit nothing in its base: it has base_model")
    assert message.endswith("; it was probably trained on another base")


def test_an_adapter_that_was_cut_is_refused(adapters, tmp_path):
    """PEFT would go on with what these weights began as."""
    cut = "layer.1.attention.self.value"
    adapter = renamed(tmp_path / "adapter", adapters[0][0], lambda name: None if cut in name else name)
    lacking = "base_model.model.bert.encoder.layer.1.attention.self.value.lora_A.weight"
    assert refusal(adapter) == f"{adapter} has no weights for {lacking}; it must hold a saved adapter, whole"


def test_an_adapter_without_its_head_says_so(adapters, tmp_path):
    """In words, and how to save it."""
    adapter = renamed(tmp_path / "adapter", adapters[0][0], lambda name: None if "classifier" in name else name)
    assert refusal(adapter) == (
        f"{adapter} holds no weights of its classification head (classifier), so that the head would be random, or its "
        'base\'s; save the adapter with task_type="SEQ_CLS" and modules_to_save=["classifier"]'
    )


def test_neither_an_adapter_nor_its_base_has_a_head(base, tmp_path):
    """The base is refused for what the adapter should have brought."""
    from transformers import AutoModel

    shutil.copytree(base, tmp_path / "encoder")
    AutoModel.from_pretrained(base).save_pretrained(tmp_path / "encoder")
    config = json.loads((base / "config.json").read_text())
    (tmp_path / "encoder" / "config.json").write_text(json.dumps(config))
    adapter = saved(tmp_path / "adapter", base, None, lambda network: network)
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": "../encoder"}))
    assert refusal(adapter).endswith(
        f"has no weights for classifier.bias; it must hold a trained sequence classifier, since the adapter {adapter} "
        'brings no head of its own; save it with task_type="SEQ_CLS" and modules_to_save=["classifier"]'
    )


def test_an_adapter_of_other_shapes_says_which(adapters, tmp_path):
    """The library names the tensor in its second line."""
    shutil.copytree(adapters[0][0], tmp_path / "adapter")
    weights = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    weights = {name: (value[:, :4] if "lora_A" in name else value).contiguous() for name, value in weights.items()}
    save_file(weights, tmp_path / "adapter" / "adapter_model.safetensors")
    assert "cannot be loaded: size mismatch for base_model.model.bert.encoder.layer.0" in refusal(tmp_path / "adapter")


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("AdaLoraConfig", {"init_r": 3, "target_r": 2, "total_step": 10}),
        ("IA3Config", {"feedforward_modules": []}),
        ("LNTuningConfig", {"target_modules": ["LayerNorm"]}),
        ("LoraConfig", {"r": 2, "use_dora": True}),
        ("LoraConfig", {"r": 2, "trainable_token_indices": [5, 6]}),
        ("LoraConfig", {"r": 2, "target_modules": ["query", "word_embeddings"]}),
        ("VeraConfig", {"r": 4, "save_projection": False}),
        ("VBLoRAConfig", {"r": 2, "num_vectors": 8, "vector_length": 4, "topk": 2}),
    ],
)
def test_whatever_kind_of_adapter_peft_saves_fits(base, tmp_path, kind, settings):
    """Each kind names its tensors in its own way, and some leave out what can be made again."""
    from transformers import AutoModelForSequenceClassification

    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in `make_adapter`
        model = AutoModelForSequenceClassification.from_pretrained(base)
        config = getattr(peft, kind)(task_type="SEQ_CLS", **{"target_modules": ["query"], **settings})
        peft.get_peft_model(model, config).save_pretrained(tmp_path)
    assert Classifier.load(tmp_path, TASK).probabilities(EXAMPLES).shape == (2, 2)


def test_what_is_not_used_of_a_base_is_noted_of_each_adapter(tmp_path):
    """Of the first, and of those that share the base with it."""
    base = make_checkpoint(tmp_path / "base")
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}))
    for seed, name in enumerate("ab"):
        make_adapter(tmp_path / name, base, seed)
    bases = {}
    for name in "ab":
        (note,) = Classifier.load(tmp_path / name, TASK, bases=bases).notes
        assert note.startswith("of its base, 16 tensors of its weights are not used")


def test_attributions_of_adapters_that_share_a_base_do_not_mix(adapters):
    """Working through one adapter changes nothing of another that was loaded beside it."""
    bases = {}
    first, second = (Classifier.load(folder, TASK, bases=bases) for folder in adapters[0])
    (before,) = attribute(first, EXAMPLES[:1], SHAPSettings())
    list(attribute(second, EXAMPLES, "ig"))
    (after,) = attribute(first, EXAMPLES[:1], SHAPSettings())
    np.testing.assert_array_equal(before.scores, after.scores)
