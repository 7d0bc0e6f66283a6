"""Checkpoints whose labels do not exclude each other, trained here on real texts with any number of labels."""

import json
import shutil

import numpy as np
import pytest
import torch
from conftest import make_checkpoint
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from factors import Example
from ranker import load_set
from ranker.errors import LabelError
from ranker.sources.hf.heads import SEVERAL
from ranker.sources.hf.set_classifiers import SetClassifier
from ranker.tasks.label_sets import LabelSetTask

LABELS = ("adjective", "lawyer", "paraphrase")
SOURCES = ("msgs-adject", "hans-sub", "paws")
"""Sets whose sentences have each label: a text is made of sentences of any of them."""

SEED, LONGEST = 5, 128
SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "max_position_embeddings": LONGEST}


def texts_of(count):
    """Real sentences joined, none to one of each set: text, labels."""
    rng = np.random.default_rng(SEED)
    texts = [[row.segments[0] for row in load_set(name, limit=200).examples] for name in SOURCES]
    sentences = [sorted(of_set, key=len)[:60] for of_set in texts]
    rows = []
    for has in rng.random((count, len(LABELS))) < 0.5:
        parts = [str(rng.choice(sentences[n])) for n in np.flatnonzero(has)] or ["Nothing."]
        rng.shuffle(parts)
        rows.append((" ".join(parts), [LABELS[n] for n in np.flatnonzero(has)]))
    return rows


def trained(folder, steps, rows):
    """A small network that was trained on rows for some steps, as a folder."""
    path = make_checkpoint(folder, labels=LABELS, problem_type=SEVERAL, **SIZES)
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(path), AutoTokenizer.from_pretrained(path)
    torch.manual_seed(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    texts, cut = [text for text, _ in rows], {"truncation": True, "max_length": LONGEST}
    inputs = tokenizer(texts, padding=True, return_tensors="pt", **cut)
    targets = torch.tensor([[float(label in has) for label in LABELS] for _, has in rows])
    for step in range(steps):
        places = torch.arange(32) + 32 * step % (len(rows) - 31)
        batch = {name: values[places] for name, values in inputs.items()}
        model(**batch, labels=targets[places]).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two checkpoints, one hardly trained, and rows that neither has seen."""
    path, rows = tmp_path_factory.mktemp("sets"), texts_of(220)
    for name, steps in (("good", 90), ("poor", 3)):
        trained(path / name, steps, rows[:180])
    lines = [json.dumps({"id": f"r{n}", "text": text, "labels": has}) for n, (text, has) in enumerate(rows[180:])]
    (path / "rows.jsonl").write_text("\n".join(lines[:20]))
    (path / "pool.jsonl").write_text("\n".join(lines))
    return path


@pytest.mark.more
def test_answers_are_the_labels_above_the_threshold(folder):
    """As the network itself gives them, text by text; the option moves the threshold."""
    rows = [json.loads(line) for line in (folder / "pool.jsonl").read_text().splitlines()]
    tokenizer = AutoTokenizer.from_pretrained(folder / "good")
    model = AutoModelForSequenceClassification.from_pretrained(folder / "good").eval()
    with torch.no_grad():
        inputs = [tokenizer(row["text"], truncation=True, max_length=LONGEST, return_tensors="pt") for row in rows]
        expected = torch.cat([model(**encoded).logits.sigmoid() for encoded in inputs]).numpy()
    examples = [Example(row["id"], (row["text"],)) for row in rows]
    counts = []
    for threshold in (0.1, 0.5, 0.9):
        loaded = SetClassifier.load(folder / "good", LabelSetTask("topics", threshold=threshold))
        answers = [answer for block in loaded.predict(examples) for answer in block.answers()]
        assert answers == [tuple(np.array(LABELS)[row >= threshold].tolist()) for row in expected]
        counts.append(sum(map(len, answers)))
    assert counts == sorted(counts, reverse=True)
    assert len({*answers}) > 3


@pytest.mark.more
def test_checkpoints_are_ranked_as_their_table_is(folder, monkeypatch, rank_models):
    """The same numbers of checkpoints and of a file with their probabilities; with a pool, too."""
    monkeypatch.chdir(folder)
    command = ("--data", "rows.jsonl", "--task", "label-sets", "--format", "json", "--models")
    status, out, err = rank_models(*command, "good", "poor")
    assert status == 0, err
    of_checkpoints = json.loads(out)["decision"]
    rows = [json.loads(line) for line in (folder / "pool.jsonl").read_text().splitlines()]
    for name in ("good", "poor"):
        loaded = SetClassifier.load(folder / name, LabelSetTask("topics"))
        blocks = loaded.predict([Example(row["id"], (row["text"],)) for row in rows])
        lines = [",".join(["id", *LABELS])]
        for row, has in zip(rows, (answer for block in blocks for answer in block.answers()), strict=True):
            lines.append(",".join([row["id"], *(str(int(label in has)) for label in LABELS)]))
        (folder / f"{name}.csv").write_text("\n".join(lines))
    of_tables = json.loads(rank_models(*command, "good.csv", "poor.csv")[1])["decision"]
    for part in ("models", "labels", "p_beats"):
        assert of_checkpoints[part] == of_tables[part], part
    assert [model["name"] for model in of_checkpoints["models"]] == ["good", "poor"]
    assert of_checkpoints["models"][0]["outcome"] > of_checkpoints["models"][1]["outcome"] + 0.1
    status, out, err = rank_models(*command[:4], "--pool", "pool.jsonl", "--models", "good", "poor")
    assert status == 0, err
    assert "LABEL-VOTES puts good first" in out


def test_a_task_of_other_answers_is_refused(folder, monkeypatch, rank_models, checkpoint, tmp_path):
    """Sets of labels where one label is judged, and the reverse; and outputs without names."""
    monkeypatch.chdir(folder)
    (tmp_path / "one.csv").write_text("text,label\nIt rang.,O O\nIt fell.,O B\n")
    status, _, err = rank_models("--data", str(tmp_path / "one.csv"), "--models", "good", "poor", "--task", "tags")
    assert (status, "is for answers that are sets of labels" in err) == (1, True), err
    models = [str(checkpoint("bert")), str(checkpoint("roberta"))]
    status, _, err = rank_models("--data", "rows.jsonl", "--models", *models, "--task", "label-sets")
    assert (status, "is for answers that are labels" in err) == (1, True), err
    copy = shutil.copytree(folder / "good", tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text())
    names = {str(n): f"LABEL_{n}" for n in range(3)}
    config |= {"id2label": names, "label2id": {name: int(number) for number, name in names.items()}}
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(LabelError, match="names an output LABEL_0 or so; `label_map` says what each means"):
        SetClassifier.load(copy, LabelSetTask("topics"))
    loaded = SetClassifier.load(copy, LabelSetTask("topics"), label_map={"0": "a", "1": "b", "2": "c"})
    assert loaded.names == ("a", "b", "c")
    with pytest.raises(LabelError, match="has several outputs for one label"):
        SetClassifier.load(copy, LabelSetTask("topics"), label_map={"0": "a", "1": "b", "2": "a"})
