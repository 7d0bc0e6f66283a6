"""The numbers of docs/results/shift.md: `python -m benchmarks.shift_domains DATA MINILM WORK [TASK ...]`.

DATA is the folder of the real files (see docs/data.md), MINILM that of an encoder, WORK an empty one for models and
rows. Of three tasks six classifiers are trained on in-domain rows, two sizes with three seeds. `ranker.shift` is asked
how far the other sets are, and what the models lose there.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]

SEEDS = (0, 1, 2)
ROWS = 300
"""Rows of a set that are measured, at most, drawn at random."""

RATE, LENGTH = 1e-4, 64


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of training six models.

    Attributes:
        sizes: rows of the smaller and of the larger models.
        epochs: how often these are seen.
        batch: rows of a step.
        fast: batches are of rows of like length, and computed in bfloat16.
    """

    sizes: tuple[int, int] = (600, 1_000)
    epochs: int = 1
    batch: int = 8
    fast: bool = False

    def batches(self, rows: Sequence[Row], seed: int) -> Iterator[Sequence[Row]]:
        """Yield the rows of each step."""
        rng = np.random.default_rng(seed)
        for _ in range(self.epochs):
            order, starts = list(range(len(rows))), np.arange(0, len(rows), self.batch)
            if self.fast:
                order = sorted(rng.permutation(len(rows)).tolist(), key=lambda n: _length(rows[n]) // 25)
                starts = rng.permutation(starts)
            for start in starts.tolist():
                yield [rows[n] for n in order[start : start + self.batch]]


def _length(row: Row) -> int:
    return sum(len(row[part]) for part in TEXTS if part in row)


TEXTS = ("text", "premise", "hypothesis")
TRAINED = {
    "toxicity": TrainingSettings(),
    "sentiment": TrainingSettings(),
    "entailment": TrainingSettings((3_000, 7_000), 3, 32, fast=True),
}
"""The tasks that models are trained for. Entailment takes more rows before a model is better than its majority."""


def lines(file: Path) -> Iterator[str]:
    """Yield the lines of a packed file."""
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        yield from stream


def table(file: Path, sign: str = "\t") -> list[Row]:
    """Return the rows of a packed table."""
    if sign == ",":
        return list(csv.DictReader(lines(file)))
    return list(csv.DictReader(lines(file), delimiter=sign, quoting=csv.QUOTE_NONE))


def objects(file: Path) -> list[Row]:
    """Return the rows of packed JSON lines."""
    return [json.loads(line) for line in lines(file)]


def toxicity(folder: Path) -> dict[str, list[Row]]:
    """OLID in-domain; its official test, HSOL and Stormfront.

    Tweets are parted by their kind, and sentences of Stormfront by whether they are a whole post, its first or a later.
    """
    truth = dict(line.strip().split(",") for line in lines(folder / "olid" / "test_a_labels.csv.gz"))
    label_names = {
        "OFF": "toxic",
        "NOT": "clean",
        "hate": "toxic",
        "noHate": "clean",
        "0": "toxic",
        "1": "toxic",
        "2": "clean",
    }
    train = [(row["tweet"], row["subtask_a"], "all") for row in table(folder / "olid" / "train.tsv.gz")]
    test = [(row["tweet"], truth[row["id"]], kind(row["tweet"])) for row in table(folder / "olid" / "test_a.tsv.gz")]
    davidson = table(folder / "hsol" / "labeled_data.csv.gz", ",")
    hsol = [(row["tweet"], row["class"], kind(row["tweet"])) for row in davidson]
    sentences = objects(folder / "stormfront" / "all.jsonl.gz")
    posts = Counter(row["id"].split("_")[0] for row in sentences)
    storm = [(row["text"], row["label"], place(row["id"], posts)) for row in sentences]
    sets = {"olid": train, "olid-test": test, "hsol": hsol, "stormfront": storm}
    return {
        name: [
            {"text": text, "label": label_names[label], "part": part}
            for text, label, part in rows
            if text and label in label_names
        ]
        for name, rows in sets.items()
    }


def kind(tweet: str) -> str:
    """Return the kind of a tweet by its start, or by a link in it."""
    start = tweet.lstrip("!\"' .:")
    if start.startswith("RT "):
        return "retweet"
    if start.startswith("@"):
        return "reply"
    return "link" if "http" in tweet or "URL" in tweet else "plain"


def place(name: str, posts: Mapping[str, int]) -> str:
    """Return the place of a sentence of Stormfront in its post."""
    post, number = name.split("_")
    if posts[post] == 1:
        return "whole"
    return "first" if number == "1" else "later"


def sentiment(folder: Path) -> dict[str, list[Row]]:
    """SST-2 in-domain; its dev and test, and film reviews of IMDb."""
    names = {"0": "negative", "1": "positive"}
    sets = {}
    for name in ("train", "dev", "test"):
        rows = [line.rstrip("\n").split("\t") for line in lines(folder / "sst2" / f"{name}.tsv.gz")]
        sets[f"sst2-{name}"] = [{"text": row[0], "label": names[row[1]]} for row in rows if row[1] in names]
    reviews = objects(folder / "rationales" / "imdb.jsonl.gz")
    return sets | {"imdb": [{"text": row["text"], "label": row["label"]} for row in reviews]}


def entailment(folder: Path) -> dict[str, list[Row]]:
    """MNLI in-domain; SNLI, and HANS parted by what its sentences are made of."""
    sets = {
        name: [
            {"premise": row["premise"], "hypothesis": row["hypothesis"], "label": row["gold_label"]}
            for row in objects(folder / file)
            if row["gold_label"] in ("entailment", "neutral", "contradiction")
        ]
        for name, file in (
            ("mnli", "mnli/dev_matched.jsonl.gz"),
            ("snli-dev", "snli/dev.jsonl.gz"),
            ("snli-test", "snli/test.jsonl.gz"),
        )
    }
    parts = {subcase: part for part, subcases in HANS.items() for subcase in subcases.split()}
    sets["hans"] = [
        {
            "premise": row["sentence1"],
            "hypothesis": row["sentence2"],
            "label": row["gold_label"],
            "part": parts[row["subcase"]],
        }
        for row in table(folder / "hans" / "heuristics_evaluation_set.txt.gz")
    ]
    return sets


HANS = {
    "lex-conjunction": "le_conjunction ln_conjunction",
    "lex-passive": "le_passive ln_passive",
    "lex-preposition": "le_around_prepositional_phrase ln_preposition",
    "lex-relative": "le_relative_clause ln_relative_clause",
    "lex-rest": "le_around_relative_clause ln_subject/object_swap",
    "sub-preposition": "se_PP_on_obj sn_PP_on_subject",
    "sub-relative": "se_relative_clause_on_obj sn_relative_clause_on_subject",
    "sub-rest": "se_adjective se_conjunction se_understood_object sn_NP/S sn_NP/Z sn_past_participle",
    "con-adverb": "ce_adverb cn_adverb",
    "con-after": "ce_after_since_clause cn_after_if_clause",
    "con-conjunction": "ce_conjunction cn_disjunction",
    "con-under": "ce_embedded_under_since cn_embedded_under_if",
    "con-verb": "ce_embedded_under_verb cn_embedded_under_verb",
}
"""Part of HANS -> its subcases. Each subcase has one label, so those whose names say the same are put together, one of
each label; what has no counterpart is the rest. Each part has half of each label, and no subcase is left out."""


def summaries(folder: Path) -> dict[str, list[Row]]:
    """News of CNN / Daily Mail in-domain; other news of CNN, and dialogues."""
    sets = {
        name: [{"text": row["document"], "summary": row["summary"]} for row in objects(folder / "domainsum" / file)]
        for name, file in (("cnndm", "cnndm_test.jsonl.gz"), ("cnn", "cnn_test.jsonl.gz"))
    }
    dialogues = objects(folder / "dialogsum" / "dev.jsonl.gz")
    return sets | {"dialogsum": [{"text": row["dialogue"], "summary": row["summary"]} for row in dialogues]}


TASKS = {"toxicity": toxicity, "sentiment": sentiment, "entailment": entailment, "summaries": summaries}


def parted(rows_of_sets: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """Sets with those that have parts split into them, but for the first, which is in-domain."""
    home, sets = next(iter(rows_of_sets)), dict[str, list[Row]]()
    for name, rows in rows_of_sets.items():
        for row in rows:
            part = "" if name == home or "part" not in row else f"-{row['part']}"
            sets.setdefault(name + part, []).append({key: row[key] for key in row if key != "part"})
    return sets


def write(rows: Sequence[Row], file: Path) -> Path:
    """JSON lines."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def train(
    rows: Sequence[Row], encoder: Path, folder: Path, seed: int, training: TrainingSettings = TrainingSettings()
) -> None:
    """Fine-tune an encoder on rows, and save it."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(seed)
    labels = sorted({row["label"] for row in rows})
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    model = AutoModelForSequenceClassification.from_pretrained(
        encoder,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id={label: n for n, label in enumerate(labels)},
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    steps = training.epochs * -(-len(rows) // training.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / steps))
    model.train()
    for batch in training.batches(rows, seed):
        texts = [[row[part] for row in batch] for part in TEXTS if part in batch[0]]
        inputs = tokenizer(*texts, padding=True, truncation=True, max_length=LENGTH, return_tensors="pt")
        targets = torch.tensor([labels.index(row["label"]) for row in batch])
        with torch.autocast("cpu", torch.bfloat16, enabled=training.fast):
            loss = model(**inputs, labels=targets).loss
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def trained(task: str, pool: Sequence[Row], encoder: Path, folder: Path) -> list[Path]:
    """Return the six models of a task; those that are there already are not trained again."""
    models = []
    for seed in SEEDS:
        for size in TRAINED[task].sizes:
            models.append(folder / f"minilm-{size}-{seed}")
            if not models[-1].exists():
                drawn = [pool[n] for n in np.random.default_rng(seed).permutation(len(pool))[:size]]
                train(drawn, encoder, models[-1], seed, TRAINED[task])
                print(models[-1], flush=True)
    return sorted(models, key=lambda model: int(model.name.split("-")[1]))


def measure(task: str, data_folder: Path, encoder: Path, work: Path) -> None:
    """Train, ask, and write what comes of it: WORK/TASK.json, .md and .html."""
    from ranker.domains.report.shift import document
    from ranker.domains.runs.shift import shift
    from ranker.report import write as written
    from ranker.runtime.runtime import Runtime

    rng = np.random.default_rng(0)
    folder = work / task
    folder.mkdir(parents=True, exist_ok=True)
    rows = {
        name: [rows_of_set[n] for n in rng.permutation(len(rows_of_set))]
        for name, rows_of_set in parted(TASKS[task](data_folder)).items()
    }
    home = next(iter(rows))
    files = [write(rows_of_set[:ROWS], folder / f"{name}.jsonl") for name, rows_of_set in rows.items()]
    models = trained(task, rows[home][ROWS:], encoder, folder) if task in TRAINED else None
    columns = {"text": ["text"], "summary": ["summary"]} if task == "summaries" else None
    vectors = None if task == "summaries" else encoder  # documents are longer than it takes
    measured = shift(
        *files,
        models=models,
        task="nli" if task == "entailment" else None,
        columns=columns,
        encoder=vectors,
        runtime=Runtime(store=work / "store"),
    )
    for form, ending in (("json", "json"), ("markdown", "md"), ("html", "html"), ("table", "txt")):
        (work / f"{task}.{ending}").write_text(str(written(document(measured), form)), encoding="utf-8")
    print((work / f"{task}.txt").read_text(encoding="utf-8"), flush=True)


def main(arguments: Sequence[str]) -> None:
    """The tasks that are named, or all."""
    data_folder, encoder, work, *tasks = arguments
    for task in tasks or TASKS:
        measure(task, Path(data_folder), Path(encoder), Path(work))


if __name__ == "__main__":
    main(sys.argv[1:])
