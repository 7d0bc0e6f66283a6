"""Train one sequence classifier on examples: a loop of our own, small enough to be read at once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from experiments import freelb, losses, tuning
from experiments.losses import LossOf
from experiments.recipe import Base, Loss, Perturb, Stage
from factors import Example
from ranker.errors import LabelError, ModelError, UsageError
from ranker.sources.hf.classifiers import collapse
from ranker.sources.hf.labels import reconcile
from ranker.sources.hf.loading import one_line_errors

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ranker.tasks.classes import ClassificationTask

Start: TypeAlias = "tuple[PreTrainedModel, PreTrainedTokenizerBase]"
"""A classifier and its tokenizer."""

BUCKET = 50
"""Batches that are sorted by length together: enough to save most padding, few enough to stay shuffled."""

SPECIAL_TOKENS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's own generator for a while, and give it back as it was.

    New weights and dropout draw from it and take no other; everything else here has a generator of its own.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def resolve(path: str) -> str:
    """Return a base's path as transformers takes it: ``package:NAME/FOLDER`` becomes a folder of an installed package.

    Raises:
        UsageError: there is no such package, or it has no such folder.
    """
    if not path.startswith("package:"):
        return path
    package, _, inside = path.removeprefix("package:").partition("/")
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # of a package within one that is not there; of no name at all
        spec = None
    folders = [Path(root) / inside for root in (spec and spec.submodule_search_locations) or ()]
    existing = next((folder for folder in folders if folder.is_dir()), None)
    if existing is None:
        text = f"the Python package {package!r} with the base model is not installed (or has no {inside!r})"
        raise UsageError(text, option="path", value=path)
    return str(existing)


def load(path: str, task: ClassificationTask, seed: int, labels: Sequence[str] | None = None) -> Start:
    """Return a checkpoint with a head for the task: its own if it has one, else a new one.

    Its own head may tell more classes apart than the task does, as three-way NLI models do.

    Args:
        path: a directory or a hub id.
        task: the classes.
        seed: of a new head.
        labels: what the checkpoint's outputs mean, where its configuration does not say.

    Raises:
        ModelError: it cannot be loaded, or it has a head for another task.
    """
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    names = configured(path, task, labels)
    with one_line_errors(path, "cannot be trained from"):
        # Eager attention: its backward pass is the fastest on CPU for sentences, in float32 and in bfloat16.
        with seeded(seed):
            model = AutoModelForSequenceClassification.from_pretrained(
                path, **names, attn_implementation="eager", use_safetensors=True, dtype=torch.float32
            )
        tokenizer = AutoTokenizer.from_pretrained(path)
        if len(tokenizer) <= len(tokenizer.all_special_tokens):
            raise ModelError.of(path, "has no tokenizer")
        if tokenizer.pad_token is None:
            raise ModelError.of(path, "cannot be trained from: its tokenizer has no padding token")
    return model, tokenizer


def configured(path: str, task: ClassificationTask, labels: Sequence[str] | None = None) -> dict[str, dict[Any, Any]]:
    """Return the label names that a checkpoint has to be given, and whether it can be trained for a task; nothing is
    loaded.

    Args:
        path: a directory or a hub id.
        task: the classes.
        labels: what the checkpoint's outputs mean, where its configuration does not say.

    Raises:
        ModelError: it is not there, or it has a head for another task.
    """
    from transformers import AutoConfig

    with one_line_errors(path, "cannot be trained from"):
        config = AutoConfig.from_pretrained(path)
        has_head = any("ForSequenceClassification" in name for name in config.architectures or ())
        if has_head:
            if labels:
                config.update(names_of(labels))
            outputs(config.id2label or {}, task, path)
        return names_of(labels or task.labels) if labels or not has_head else {}


def outputs(names: Mapping[Any, str], task: ClassificationTask, path: str) -> tuple[tuple[int, ...], ...]:
    """Return (C,) the outputs of a model that make up each class of the task, by their names.

    Raises:
        ModelError: it is a classifier for another task.
    """
    try:
        return reconcile(names, task)
    except LabelError as error:
        predicate = (
            f"is a classifier of {len(names)} labels ({', '.join(names.values())}), and those of the task {task.name} "
            f"are {', '.join(task.labels)}"
        )
        raise ModelError.of(path, predicate, allowed=task.labels) from error


def build(base: Base, labels: Sequence[str], texts: Sequence[str], seed: int) -> Start:
    """Return a new model of the base's architecture, with random weights and a tokenizer learnt from the texts.

    Raises:
        ModelError: transformers knows no such architecture, or not with that configuration.
    """
    from transformers import AutoConfig, AutoModelForSequenceClassification

    settings = {"vocab_size": base.vocabulary, "pad_token_id": 0, "max_position_embeddings": 130, **base.config}
    with one_line_errors(base.architecture or "", "cannot be built"):
        config = AutoConfig.for_model(base.architecture or "", **names_of(labels), **settings)
        # Two tokens less than positions: RoBERTa's kind counts them from behind the padding token.
        length, segments = config.max_position_embeddings - 2, getattr(config, "type_vocab_size", 0) > 1
        tokenizer = wordpiece(texts, base.vocabulary, length, segments)
        config.vocab_size = len(tokenizer)
        with seeded(seed):
            model = AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")  # type: ignore[no-untyped-call]
    say_nothing(model, tokenizer.mask_token_id)
    return model, tokenizer


def say_nothing(model: PreTrainedModel, token: int) -> None:
    """Set the embedding of a token that no text has to zero, as transformers does with the padding token's.

    Attributions may hide words behind [MASK]. Where a model is not pretrained with it training never changes its
    embedding, which would stay as it was drawn: as long as a word's, and a word that the model does not know is no
    neutral one.
    """
    with torch.no_grad():
        model.get_input_embeddings().weight[token] = 0.0  # type: ignore[operator]


def names_of(labels: Sequence[str]) -> dict[str, dict[Any, Any]]:
    """Return the label names as a transformers configuration wants them."""
    return {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}


def wordpiece(texts: Sequence[str], vocabulary: int, max_length: int, segments: bool) -> PreTrainedTokenizerBase:
    """Return a lower-casing WordPiece tokenizer for one text or a pair, learnt from the texts.

    Args:
        texts: what it is learnt from; the same texts give the same tokenizer.
        vocabulary: the most entries that it may have.
        max_length: the most tokens that the model takes.
        segments: the model is told which segment a token belongs to.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    normalizer, splitter = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    words = {word for text in texts for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))}
    # The trainer numbers "##" letters in the random order of a hash table, and breaks ties of merges by those numbers;
    # named beforehand they are numbered in our order. They are no special tokens afterwards.
    letters = sorted({f"##{letter}" for word in words for letter in word[1:]})
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, special_tokens=[*SPECIAL_TOKENS.values(), *letters], show_progress=False
    )
    learner = Tokenizer(models.WordPiece())
    learner.normalizer, learner.pre_tokenizer = normalizer, splitter
    learner.train_from_iterator(texts, trainer)

    tokenizer = Tokenizer(models.WordPiece(learner.get_vocab(), unk_token=SPECIAL_TOKENS["unk"]))
    tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = normalizer, splitter, decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=max_length,
        model_input_names=["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"],
        **{f"{role}_token": token for role, token in SPECIAL_TOKENS.items()},
    )


def train(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    examples: Sequence[Example],
    stage: Stage,
    *,
    seed: int,
    groups: Sequence[Sequence[int]] | None = None,
    device: str = "cpu",
    bf16: bool = False,
    advance: Callable[[int], object] = lambda rows: None,
    after: Callable[[Sequence[float]], None] = lambda losses: None,
) -> list[float]:
    """Train the model in place, and leave it in evaluation mode.

    The same seed gives the same weights on the same machine with the same number of threads.

    Args:
        model: a sequence classifier with a head for the examples' labels.
        tokenizer: its tokenizer.
        examples: the stage's rows; none, or a stage of 0 steps, trains nothing.
        stage: how long and how fast.
        seed: of the order of batches and of dropout.
        groups: (C,) the outputs that make up each class, where the model tells more of them apart than the task does.
        device: a torch device.
        bf16: compute in bfloat16 where that is safe; weights and optimiser stay float32.
        advance: told of rows seen.
        after: told, after each step, of the mean loss of each so far; it may look at the model, and draws nothing.

    Returns:
        The mean loss of each step, in nats.
    """
    steps = number_of_steps(len(examples), stage)
    if not steps:
        return []
    groups = groups or [[output] for output in range(model.config.num_labels or 0)]
    encoded = encode(tokenizer, examples, stage.max_length)
    lengths = [len(row["input_ids"]) for row in encoded]
    model.to(torch.device(device)).train()  # type: ignore[arg-type]
    loss_of = objective(stage.loss, examples, len(groups))
    order = torch.Generator().manual_seed(seed)
    stream = endless_batches(lengths, stage.batch_size, order)
    of_steps = []
    with seeded(seed):
        for weights, count in tuning.phases(stage.tune, steps):
            with tuning.trainable(model, weights, stage.tune):
                optimizer = torch.optim.AdamW(weight_groups(model, stage.weight_decay), stage.learning_rate, fused=True)
                schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, slope(count, stage.warmup))
                for rows in islice(stream, count):
                    batch = tokenizer.pad([encoded[row] for row in rows], return_tensors="pt").to(device)
                    labels = torch.tensor([examples[row].target for row in rows], device=device)
                    loss_at = partial(_loss, loss_of, labels, rows, groups)
                    with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=bf16):
                        of_steps.append(backward(model, batch, loss_at, stage.perturb))
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    schedule.step()
                    optimizer.zero_grad()
                    advance(len(rows))
                    after(of_steps)
    model.to(torch.device("cpu")).eval()  # type: ignore[arg-type]
    return of_steps


def objective(loss: Loss | None, examples: Sequence[Example], classes: int) -> LossOf:
    """Return the loss of a training.

    Args:
        how: the loss; None for cross entropy.
        examples: the rows that it is minimised on; a biased model is fitted to them.
        classes: C.
    """
    if loss is None:
        return losses.plain
    if loss.name == "focal":
        return lambda logits, labels, rows: losses.focal(logits, labels, loss.gamma)
    if loss.name == "smoothed":
        return lambda logits, labels, rows: losses.smoothed(logits, labels, loss.smoothing)
    from experiments.bias import log_probabilities

    biased = torch.from_numpy(log_probabilities(loss.bias, examples, classes)).float()
    return lambda logits, labels, rows: losses.product_of_experts(logits, labels, biased[list(rows)].to(logits.device))


def _loss(
    loss_of: LossOf, labels: torch.Tensor, rows: Sequence[int], groups: Sequence[Sequence[int]], logits: torch.Tensor
) -> torch.Tensor:
    return loss_of(collapse(logits.float(), groups), labels, rows)


def backward(
    model: PreTrainedModel,
    batch: Mapping[str, torch.Tensor],
    loss_of: Callable[[torch.Tensor], torch.Tensor],
    perturb: Perturb | None = None,
) -> float:
    """Add the gradient of a batch's loss to the weights', and give the loss in nats."""
    if perturb is not None and perturb.steps:
        return freelb.backward(model, batch, loss_of, perturb)
    loss = loss_of(model(**batch).logits)
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.item()


def number_of_steps(rows: int, stage: Stage) -> int:
    """Return the number of batches that a stage of so many rows takes."""
    per_epoch = -(-rows // stage.batch_size)
    wanted = stage.steps if stage.steps is not None else max(1, round(stage.epochs * per_epoch))
    return wanted if rows else 0


def encode(tokenizer: PreTrainedTokenizerBase, examples: Sequence[Example], max_length: int) -> list[dict[str, Any]]:
    """Encode each example by the tokenizer as one text or a pair, cut and not padded.

    A model whose tokenizer says that it takes less is given no more than that.
    """
    max_length = min(max_length, tokenizer.model_max_length)
    return [dict(tokenizer(*example.segments, truncation=True, max_length=max_length)) for example in examples]


def weight_groups(model: torch.nn.Module, decay: float) -> list[dict[str, Any]]:
    """Return the parameters in two groups: biases and normalisations are vectors, and vectors are not decayed."""
    matrices = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    vectors = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def slope(steps: int, warmup: float) -> Callable[[int], float]:
    """Return the learning rate's factor at each step: up to 1 within the warm-up, then down to 0, in straight lines.

    Example:
        >>> factor = slope(10, warmup=0.2)
        >>> [round(factor(step), 3) for step in (0, 1, 2, 6, 9)]
        [0.5, 1.0, 0.889, 0.444, 0.111]
    """
    rising = max(1, round(steps * warmup))

    def factor(step: int) -> float:
        return min((step + 1) / rising, (steps - step) / (steps - rising + 1))

    return factor


def endless_batches(lengths: Sequence[int], size: int, order: torch.Generator) -> Iterator[list[int]]:
    """Epoch after epoch, every row once, in shuffled batches of rows of similar length."""
    while True:
        yield from batches(lengths, size, order)


def batches(lengths: Sequence[int], size: int, order: torch.Generator) -> list[list[int]]:
    """Every row once, in shuffled batches of rows of similar length.

    Rows are shuffled, sorted by length within buckets of `BUCKET` batches, cut into batches, and the batches shuffled.
    """
    rows = torch.randperm(len(lengths), generator=order).tolist()
    cut = []
    for start in range(0, len(rows), BUCKET * size):
        bucket = sorted(rows[start : start + BUCKET * size], key=lambda row: lengths[row])
        cut += [bucket[i : i + size] for i in range(0, len(bucket), size)]
    return [cut[i] for i in torch.randperm(len(cut), generator=order).tolist()]


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write the weights (safetensors), the configuration and the tokenizer.

    Raises:
        OSError: the folder cannot be written.
    """
    from safetensors import SafetensorError

    try:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    except SafetensorError as error:  # a full disk, for one
        raise OSError(str(error)) from error


def finite(model: PreTrainedModel) -> bool:
    """Return whether all weights are finite numbers."""
    return all(bool(torch.isfinite(weight).all()) for weight in model.parameters())
