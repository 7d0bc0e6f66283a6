"""Tiny checkpoints with random weights, made from configurations: every common encoder, offline, in milliseconds."""

from __future__ import annotations

import logging
import signal
import string
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import pytest

from ranker.tasks.base import ANSWERS_GROUP
from ranker.tasks.classes import ClassificationTask

if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, and so do all that a test starts

collect_ignore = ["ranker/atheris_readers.py", "processors/noise/sitecustomize.py"]
"""No tests: a program, whose atheris is installed by hand, and a module that puts noise on sums once it is imported."""

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")  # how long a test takes depends on what runs beside it

LIMIT = 40
"""Tokens that the tiny models take, where their positions have an end."""

SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": LIMIT,
}  # fmt: skip
RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}

ENCODERS = {
    # name: (configuration, what differs from SIZES, tokenizer, form of a pair)
    "bert": ("BertConfig", {}, "wordpiece", "bert"),
    "roberta": ("RobertaConfig", {"max_position_embeddings": LIMIT + 2}, "bpe", "roberta"),
    "electra": ("ElectraConfig", {"embedding_size": 8}, "wordpiece", "bert"),
    "deberta": ("DebertaConfig", {**RELATIVE, "type_vocab_size": 0}, "bpe", "bert"),
    "deberta-v3": (
        "DebertaV2Config",
        {**RELATIVE, "type_vocab_size": 0, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True},
        "unigram",
        "bert",
    ),
    "distilbert": ("DistilBertConfig", {}, "wordpiece", "bert"),
    "albert": ("AlbertConfig", {"embedding_size": 8}, "unigram", "bert"),
    "modernbert": (
        "ModernBertConfig",
        {"local_attention": 8, "bos_token_id": 0, "cls_token_id": 0, "eos_token_id": 2, "sep_token_id": 2},
        "bpe",
        "bert",
    ),
    "mpnet": ("MPNetConfig", {"max_position_embeddings": LIMIT + 2}, "wordpiece", "roberta"),
    "xlnet": ("XLNetConfig", {"d_head": 8, "max_position_embeddings": None}, "unigram", "xlnet"),
}

T5_SIZES = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2, "max_position_embeddings": None}

OTHERS = {
    # less common kinds, which take something of their own
    "gpt2": ("GPT2Config", {"max_position_embeddings": None, "n_positions": LIMIT}, "bpe", "bert"),
    "esm": ("EsmConfig", {"mask_token_id": 4}, "wordpiece", "roberta"),
    "big-bird": (
        "BigBirdConfig",
        {"max_position_embeddings": 256, "block_size": 4, "num_random_blocks": 1},
        "wordpiece",
        "bert",
    ),
    "longformer": (
        "LongformerConfig",
        {"max_position_embeddings": LIMIT + 2, "attention_window": [8, 8], "sep_token_id": 2},
        "bpe",
        "roberta",
    ),
    "bart": (
        "BartConfig",
        {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2},
        "bpe",
        "roberta",
    ),
    "t5": ("T5Config", {**T5_SIZES, "decoder_start_token_id": 1, "eos_token_id": 2}, "unigram", "t5"),
    "mt5": ("MT5Config", {**T5_SIZES, "decoder_start_token_id": 1, "eos_token_id": 2}, "unigram", "t5"),
    "llama": ("LlamaConfig", {"num_key_value_heads": 1}, "bpe", "llama"),
    "gemma": ("GemmaConfig", {"num_key_value_heads": 1, "head_dim": 8}, "unigram", "llama"),
    "mistral": ("MistralConfig", {"num_key_value_heads": 1, "head_dim": 8}, "unigram", "llama"),
    "qwen2": ("Qwen2Config", {"num_key_value_heads": 1, "vocab_size": 400}, "bpe", "qwen"),  # its tokenizer adds one
    "qwen3": ("Qwen3Config", {"num_key_value_heads": 1, "head_dim": 8}, "bpe", "qwen"),
    "ibert": ("IBertConfig", {"max_position_embeddings": LIMIT + 2}, "bpe", "roberta"),
}

TASK = ClassificationTask("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral", "contradiction")})
LABELS = ("contradiction", "entailment", "neutral")

WORDS = ("the", "The", "doctor", "actor", "saw", "near", "an", "old", "judge", "danc", "believ", "because", "wait")
ENDINGS = ("ed", "ing", "or", "tor")
FORMS = {
    # one segment, two segments, each token with its segment id
    "bert": ("[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"),
    "roberta": ("[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 [SEP]:0 $B:0 [SEP]:0"),
    "xlnet": ("$A:0 [SEP]:0 [CLS]:2", "$A:0 [SEP]:0 $B:1 [SEP]:1 [CLS]:2"),
    "t5": ("$A:0 [SEP]:0", "$A:0 [SEP]:0 $B:0 [SEP]:0"),
    "llama": ("[CLS]:0 $A:0", "[CLS]:0 $A:0 [CLS]:0 $B:0"),
    "qwen": ("$A:0", "$A:0 $B:0"),
}
SPECIAL = {
    "cls_token": "[CLS]", "pad_token": "[PAD]", "sep_token": "[SEP]", "unk_token": "[UNK]", "mask_token": "[MASK]",
}  # fmt: skip


def make_tokenizer(kind: str, form: str = "bert"):
    """Build a fast tokenizer: "wordpiece", "bpe" or "unigram", with special tokens put around the segments."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = list(SPECIAL.values())
    characters = list(string.ascii_letters + string.digits + string.punctuation)
    if kind == "wordpiece":
        pieces = [*special, *characters, *WORDS, *("##" + piece for piece in (*characters, *ENDINGS))]
        tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    elif kind == "bpe":
        tokens = [start + word for word in WORDS for start in ("Ġ", "")]
        merges = dict.fromkeys((word[:i], word[i]) for word in tokens for i in range(1, len(word)))
        pieces = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet()), *map("".join, merges)]
        tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, list(merges)))
        tokenizer.pre_tokenizer, tokenizer.decoder = (
            pre_tokenizers.ByteLevel(add_prefix_space=False),
            decoders.ByteLevel(),
        )
    else:
        pieces = [*special, "▁", *characters, *ENDINGS, *("▁" + word for word in WORDS)]
        tokenizer = Tokenizer(models.Unigram([(piece, -10.0) for piece in pieces], unk_id=special.index("[UNK]")))
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    single, pair = FORMS[form]
    ids = [(token, tokenizer.token_to_id(token)) for token in special]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)
    inputs = ["input_ids", "attention_mask"] + ["token_type_ids"] * (":1" in pair)
    side = "left" if form == "xlnet" else "right"  # away from the token that the classifier reads
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=inputs, padding_side=side, **SPECIAL)


def make_checkpoint(
    folder: Path,
    name: str = "bert",
    labels: tuple[str, ...] | None = LABELS,
    head: str = "SequenceClassification",
    seed: int = 0,
    **changes: object,
) -> Path:
    """Save a checkpoint with random weights in a folder, its configuration changed by `changes`; return the folder."""
    import torch
    import transformers

    config_name, differs, kind, form = {**ENCODERS, **OTHERS}[name]
    tokenizer = make_tokenizer(kind, form)
    spread = {"initializer_range": 0.3}  # enough for outputs that depend on the input
    sizes = {**SIZES, **spread, "pad_token_id": tokenizer.pad_token_id, **differs, **changes}
    sizes = {"vocab_size": len(tokenizer), **{key: size for key, size in sizes.items() if size is not None}}
    config = getattr(transformers, config_name)(**sizes)
    if labels is not None:
        config.id2label = dict(enumerate(labels))
        config.label2id = {label: i for i, label in enumerate(labels)}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = getattr(transformers, f"AutoModelFor{head}").from_config(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


LM_SIZES = {
    "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 256, "initializer_range": 0.4,
}  # fmt: skip
SLIDING = {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]}
LMS = {
    "llama": ("LlamaConfig", LM_SIZES, "CausalLM"),
    "gemma": ("Gemma3TextConfig", {**LM_SIZES, **SLIDING}, "CausalLM"),
    "gpt2": ("GPT2Config", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 256, "initializer_range": 0.4},
             "CausalLM"),
    "t5": ("T5Config", {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}, "Seq2SeqLM"),
}  # fmt: skip
CHAT = (
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def make_lm(folder: Path, kind: str = "llama", chat: str | None = CHAT, seed: int = 0, **changes: object) -> Path:
    """Save a language model with random weights, one of LMS, with a chat template if any; return its folder."""
    import torch
    import transformers
    from tokenizers import processors

    config_name, sizes, head = LMS[kind]
    tokenizer = make_tokenizer("bpe" if kind != "t5" else "unigram", "roberta")
    plain = ("$A:0", "$A:0 $B:0") if kind != "t5" else ("$A:0 [SEP]:0", "$A:0 $B:0 [SEP]:0")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=plain[0], pair=plain[1], special_tokens=[("[SEP]", tokenizer.sep_token_id)]
    )
    tokenizer.eos_token = "[SEP]"
    tokenizer.chat_template = chat
    ends = {"eos_token_id": tokenizer.sep_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    if kind == "t5":
        ends["decoder_start_token_id"] = tokenizer.pad_token_id
    config = getattr(transformers, config_name)(vocab_size=len(tokenizer), **{**sizes, **ends, **changes})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = getattr(transformers, f"AutoModelFor{head}").from_config(config)
        for weight in model.parameters():
            if weight.dim() > 1:
                torch.nn.init.normal_(weight, std=0.3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> None:
    """Put logging back as it was before each test, since the program sets it up for its whole process."""
    logger = logging.getLogger("ranker")
    logger.handlers, logger.propagate = [], True
    logger.setLevel(logging.NOTSET)  # which, unlike the attribute, also empties what loggers remember of levels


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program works in this process, on one core: what a test patches would not be patched in other processes."""
    monkeypatch.setattr("ranker.runtime.executors.processes.cores", lambda: 1)
    monkeypatch.setattr("ranker.commands.arguments.ISOLATED", False)


@pytest.fixture
def registered_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the kind of the taggers' answers as an installed package does."""
    find, point = metadata.entry_points, SimpleNamespace(name="word-tags", value="tag_guest:Tags")
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: [point] if group == ANSWERS_GROUP else find(group=group)
    )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank_models: Callable[..., tuple[int, str, str]]):
    """The program in a folder, and with a store, of the test: arguments -> (exit status, stdout, stderr)."""
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    return rank_models


@pytest.fixture
def rank_models(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The program in this process: arguments -> (exit status, stdout, stderr)."""
    from ranker.cli import main

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        return stop.value.code or 0, *capsys.readouterr()

    return call


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny checkpoint, by the encoder's name; do not change what is in it."""
    folders: dict[str, Path] = {}

    def get(name: str = "bert") -> Path:
        if name not in folders:
            folders[name] = make_checkpoint(tmp_path_factory.mktemp(name), name)
        return folders[name]

    return get


@pytest.fixture(scope="session")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny language model, by its kind; do not change what is in it."""
    folders: dict[str, Path] = {}

    def get(kind: str = "llama") -> Path:
        if kind not in folders:
            folders[kind] = make_lm(tmp_path_factory.mktemp(kind) / kind, kind, seed=7 if kind == "t5" else 0)
        return folders[kind]

    return get


PREPARED: list[int] = []
"""The server of processes that has imported what checkpoints of BERT need, by its process id; none at first."""


@pytest.fixture
def bert_server() -> None:
    """Start a server of processes that has imported transformers, so that guests of its first run need not do so."""
    from multiprocessing import forkserver

    from ranker.runtime.executors.processes import PRELOADED, processes_with
    from ranker.sources.hf.kind import PRELOAD

    server = forkserver._forkserver
    if server._forkserver_pid is None or server._forkserver_pid not in PREPARED:
        server._stop()
        processes_with((*PRELOADED, *PRELOAD, "transformers.models.bert.modeling_bert"))
        PREPARED[:] = [server._forkserver_pid]


@pytest.fixture(scope="session")
def classifier(checkpoint: Callable[[str], Path]):
    """A loaded tiny classifier, by the encoder's name; its labels are those of NLI, three ways."""
    from ranker.sources.hf.classifiers import Classifier

    classifiers: dict[str, Classifier] = {}

    def get(name: str = "bert") -> Classifier:
        if name not in classifiers:
            classifiers[name] = Classifier.load(checkpoint(name), TASK)
        return classifiers[name]

    return get


@pytest.fixture(scope="session")
def hans():
    """The embedded HANS sample."""
    from ranker.datasets import sets

    return sets.load("hans-sub")


@pytest.fixture(scope="session")
def trained(hans):
    """A small BERT that was trained, in float64: what remains of a difference is the method's."""
    from ranker.sources import suites
    from ranker.sources.hf.classifiers import Classifier

    loaded = Classifier.load(suites.load(["hans-sub-mini"]).models[2].source.path, hans.task)
    loaded.model.double()
    return loaded
