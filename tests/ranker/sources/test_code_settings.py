"""Settings of a checkpoint: each key that selects code, each size, and what a tokenizer makes of a text."""

import base64
import json
import resource
import shutil
from pathlib import Path

import pytest
from conftest import TASK

from factors.types import Example
from ranker.errors import ModelError
from ranker.limits import Limits
from ranker.sources.hf.classifiers import Classifier
from ranker.sources.hf.loading import Options
from ranker.sources.hf.settings import LISTED


@pytest.fixture
def model(checkpoint, tmp_path):
    """A copy of a tiny checkpoint, to be changed."""
    return Path(shutil.copytree(checkpoint("bert"), tmp_path / "model"))


def change(file, **values):
    """Set values in a JSON file; those with a dot in the key further in."""
    content = json.loads(file.read_text()) if file.exists() else {}
    for key, value in values.items():
        inner = content
        *path, last = key.split("__")
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    file.write_text(json.dumps(content))


def refusal(model, **options):
    """The error that it is refused with, of one line: in little memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelError) as caught:
        Classifier.load(model, TASK, **options)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB
    assert "\n" not in str(caught.value)
    return caught.value


CODE = [
    {"attn_implementation": "kernels-community/flash-attn"}, {"attn_implementation": "org/kernel@main:name"},
    {"attn_implementation": "flash_attention_2"},
    {"attn_implementation": {"": "sdpa", "text_config": "kernels-community/x"}},
    {"_attn_implementation": "kernels-community/flash-attn"}, {"text_config__attn_implementation": "org/kernel"},
    {"encoder__inner__attn_implementation": "org/kernel"}, {"experts_implementation": "org/kernel"},
    {"use_kernels": True}, {"kernel_config": {"RMSNorm": "org/kernel:RMSNorm"}},
    {"quantization_config": {"quant_method": "eetq"}},
    {"quantization_config": {"quant_method": "mine", "module": "mine.Quantizer"}},
]  # fmt: skip


@pytest.mark.parametrize("values", CODE, ids=map(str, range(len(CODE))))
def test_a_key_that_selects_code_takes_listed_values_only(model, monkeypatch, values):
    """Before transformers sees it; the file and the key are named."""
    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", lambda *_, **__: pytest.fail("it was loaded"))
    change(model / "config.json", **values)
    error = refusal(model)
    assert (error.option, error.place) == ("trust_remote_code", str(model / "config.json"))


@pytest.mark.parametrize("values", [{"attn_implementation": name} for name in (None, "eager", "sdpa")])
def test_listed_values_and_unknown_keys_pass(model, values):
    """A new architecture's settings are no fault."""
    before = Classifier.load(model, TASK).probabilities([Example("a", ("The doctor saw.", "An actor."), 0)])
    change(model / "config.json", **values, new_thing=[{"deep": {"er": "org/name"}}], rotary={"kernel": "x/y"})
    after = Classifier.load(model, TASK).probabilities([Example("a", ("The doctor saw.", "An actor."), 0)])
    assert abs(after - before).max() < 1e-6


def test_a_model_that_is_trusted_may_select_code(model):
    """By the name that the user gave: it then fails, or not, as transformers has it."""
    change(model / "config.json", attn_implementation="kernels-community/none")
    assert refusal(model, trust_remote_code=True).option == ""


@pytest.mark.parametrize("name", ["Mine", "os.system", "", ["BertTokenizer"], 5])
def test_a_class_of_tokenizers_that_nobody_knows_is_refused(model, name):
    """Classes of transformers are taken, by their old names as well."""
    change(model / "tokenizer_config.json", tokenizer_class=name)
    error = refusal(model)
    assert (error.option, error.value) == ("trust_remote_code", name)
    change(model / "tokenizer_config.json", tokenizer_class="BertTokenizerFast")
    assert Classifier.load(model, TASK)


@pytest.mark.parametrize("values", [{"megatron_config": {"a": 1}}, {"megatron_core": "antigravity"}])
def test_an_adapter_imports_nothing(model, tmp_path, values):
    """PEFT would import what its configuration names."""
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    content = {"base_model_name_or_path": str(model), "peft_type": "LORA", "task_type": "SEQ_CLS", **values}
    (adapter / "adapter_config.json").write_text(json.dumps(content))
    shutil.copy(model / "model.safetensors", adapter / "adapter_model.safetensors")
    assert refusal(adapter).option == "trust_remote_code"
    (adapter / "adapter_config.json").write_text(json.dumps({**content, **dict.fromkeys(values), "peft_type": "XLORA"}))
    assert refusal(adapter).value == "XLORA"


TOO_MUCH = [
    ("labels", {"num_labels": 100_000_000, "id2label": None}),
    ("labels", {"id2label": {str(i): str(i) for i in range(10_001)}}), ("layers", {"num_hidden_layers": 20_000}),
    ("layers", {"text_config__num_hidden_layers": 20_000}), ("layers", {"n_layer": 20_000}),
    ("layers", {"block_sizes": [500, 400, 200]}), ("layers", {"num_local_experts": 20_000}),
    ("vocabulary", {"vocab_size": 1 << 40}), ("vocabulary", {"vocab_size": 1e200}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "values"), TOO_MUCH, ids=[f"{n} {i}" for i, (n, _) in enumerate(TOO_MUCH)])
def test_sizes_have_plausible_bounds(model, name, values):
    """The file, the key and the limit are named; trust lifts none of them."""
    change(model / "config.json", **values)
    error = refusal(model, trust_remote_code=True)
    assert error.option == f"limits.{name}"
    assert str(model / "config.json") in error.place


def test_a_limit_can_be_raised(model):
    """By the same table as for files."""
    change(model / "config.json", num_local_experts=2_000)
    assert refusal(model).option == "limits.layers"
    assert Classifier.load(model, TASK, limits=Limits(layers=3_000))
    assert Options(False, False, "float32").limits == Limits()


CHARSMAP = base64.b64encode((4).to_bytes(4, "little") + bytes(4) + b"a\0" + b"b" * 100_000 + b"\0").decode()
"""A table of SentencePiece that puts a long text in the place of a character."""

DOUBLE = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
CLS = {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}
TEXT = {"Sequence": {"id": "A", "type_id": 0}}
BOMBS = {
    "doubled 30 times": {"normalizer": {"type": "Sequence", "normalizers": [DOUBLE] * 30}},
    "sequences in sequences": {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [DOUBLE] * 6}] * 5}
    },
    "one long text": {"normalizer": {**DOUBLE, "content": "a" * 1_000_000}},
    "put everywhere": {"normalizer": {**DOUBLE, "pattern": {"Regex": ""}, "content": "a" * 2_000}},
    "put before": {"normalizer": {"type": "Prepend", "prepend": "a" * 10_000_000}},
    "a table": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}},
    "bytes of bytes": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 30}},
    "many tokens": {
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * 2_000 + [TEXT],
            "pair": [TEXT, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": CLS},
        }
    },
    "a token of many": {
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, TEXT],
            "pair": [TEXT, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2] * 100_000, "tokens": ["[CLS]"] * 100_000}},
        }
    },
    "a text a thousand times": {
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [TEXT] * 1_000,
            "pair": [TEXT, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {},
        }
    },
    "no template": {"post_processor": {"type": "TemplateProcessing", "single": [1, 2], "pair": 3}},
    "no table": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "%%%"}},
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_tokenizer_makes_no_more_of_a_text_than_is_plausible(model, name):
    """Refused before the library reads it: some would go off with the first token that is added."""
    content = json.loads((model / "tokenizer.json").read_text())
    (model / "tokenizer.json").write_text(json.dumps({**content, **BOMBS[name]}))
    error = refusal(model)
    assert str(model / "tokenizer.json") in error.place
    assert error.option == "limits.growth" or "repeats a text" in str(error) or name in ("no template", "no table")


@pytest.mark.parametrize("kind", ["bert", "deberta-v3", "roberta", "albert", "xlnet"])
def test_usual_tokenizers_pass(checkpoint, kind):
    """Of each way to cut texts."""
    assert Classifier.load(checkpoint(kind), TASK)


def test_a_large_small_file_is_refused_by_its_size(model):
    """A sparse file of a terabyte costs nothing, neither where it is a setting nor where it is a weight."""
    for name, limit in (("tokenizer.json", "settings"), ("config.json", "config"), ("own.py", "settings")):
        folder = Path(shutil.copytree(model, model.parent / name))
        with (folder / name).open("ab") as file:
            file.truncate(1 << 40)
        error = refusal(folder)
        assert (error.option, error.place) == (f"limits.{limit}", str(folder / name))


def test_every_listed_key_is_tried():
    """A key that is added to the table has a case above."""
    tried = " ".join(json.dumps(values) for values in CODE)
    internal = {key for key in LISTED if key.endswith("_internal") or key.startswith(("_experts", "megatron"))}
    assert [key for key in LISTED if key not in tried and key not in internal] == []
