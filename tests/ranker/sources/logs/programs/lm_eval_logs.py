"""Logs by lm-evaluation-harness of two tiny models, trained here: `python lm_eval_logs.py FOLDER` where lm-eval is."""

import gzip
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import lm_eval
import torch
from lm_eval.loggers import EvaluationTracker
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

HERE = Path(__file__).parent
TIME = "2026-01-02T03-04-05.678901"
"""Stands for the time of a run, in names and in results."""

MACHINE = ("pretty_env_info", "git_hash", "date", "start_time", "end_time", "total_evaluation_time_seconds")
"""What results say of the machine and the clock."""

RUNS = {
    "run-a": (0, 60, ["small", "written"], 0),
    "run-b": (1, 25, ["small", "written"], 0),
    "run-a-shots": (0, 60, ["reviews"], 2),
    "run-a-likely": (0, 60, ["likely", "rolling", "marks"], 0),
    "run-b-likely": (1, 25, ["likely", "rolling", "marks"], 0),
    "run-a-repeats": (0, 60, ["repeated"], 0),
}
"""Folder -> seed, steps of training, tasks, and examples in the prompt."""

PLAIN = "run-a"
"""The run whose rows are kept as they are written; those of others are packed."""


def texts(seed):
    """Lines to train a model on: our rows, some of which say something else than the truth, or say it at length."""
    reviews, questions = (
        json.loads((HERE / "tasks" / f"{name}.json").read_text()) for name in ("reviews", "questions")
    )
    chance = torch.Generator().manual_seed(seed)
    lines = []
    for row in reviews:
        wrong, long = (torch.rand(2, generator=chance) < 0.25).tolist()
        verdict = {"good": "bad", "bad": "good"}[row["label"]] if wrong else row["label"]
        lines.append(f"Review: {row['text']}\nVerdict: {'quite ' * long}{verdict}\n")
    for row in questions:
        place = torch.randint(len(row["choices"]), (), generator=chance).item()
        wrong = torch.rand((), generator=chance) < 0.5
        lines.append(f"{row['question']} {row['choices'][place if wrong else row['answer']]}\n")
    return lines


def tokenizer(lines):
    """Pairs of bytes, learnt from our rows."""
    model = Tokenizer(models.BPE())
    model.pre_tokenizer, model.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|end|>"]
    model.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=500, special_tokens=special, initial_alphabet=alphabet)
    )
    return PreTrainedTokenizerFast(tokenizer_object=model, eos_token="<|end|>", pad_token="<|end|>")


def trained(seed, steps):
    """(model, tokenizer) after some steps over all texts."""
    torch.manual_seed(seed)
    lines = texts(seed)
    words = tokenizer(texts(0))
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=words.eos_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    batch = words([f"{line}<|end|>" for line in lines], return_tensors="pt", padding=True)
    labels = batch.input_ids.masked_fill(batch.attention_mask == 0, -100)
    steps_of = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(steps):
        steps_of.zero_grad()
        model(input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=labels).loss.backward()
        steps_of.step()
    return model.eval(), words


def write(folder, name, seed, steps, tasks, shots):
    """The logs of one run, as the program writes them, but for the machine and the clock."""
    model, words = trained(seed, steps)
    tracker = EvaluationTracker(output_path=str(folder))
    results = lm_eval.simple_evaluate(
        model=HFLM(pretrained=model, tokenizer=words, batch_size=8, device="cpu"),
        tasks=tasks,
        num_fewshot=shots or None,
        task_manager=TaskManager(include_path="tasks", include_defaults=False),
        log_samples=True,
        bootstrap_iters=100,
        evaluation_tracker=tracker,
    )
    tracker.general_config_tracker.model_name = name
    samples = results.pop("samples")
    results["model_name"] = name
    tracker.save_results_aggregated(results=results, samples=samples)
    for task, rows in samples.items():
        tracker.save_results_samples(task_name=task, samples=rows)


def tidied(folder, target):
    """Put the files into a folder under one time, without what they say of the machine."""
    target.mkdir(parents=True, exist_ok=True)
    for file in folder.rglob("*.json*"):
        text = file.read_text()
        if file.name.startswith("results_"):
            content = {key: value for key, value in json.loads(text).items() if key not in MACHINE}
            text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        name = re.sub(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+", TIME, file.name)
        if name.startswith("samples_") and target.name != PLAIN:
            (target / f"{name}.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        else:
            (target / name).write_text(text)


def main(target):
    """Write all runs into a folder."""
    torch.set_num_threads(1)
    target = Path(target).absolute()
    os.chdir(HERE)  # so that no path of this machine is logged
    with tempfile.TemporaryDirectory() as folder:
        for name, run in RUNS.items():
            write(Path(folder) / name, name, *run)
            shutil.rmtree(target / name, ignore_errors=True)
            tidied(Path(folder) / name, target / name)


if __name__ == "__main__":
    main(sys.argv[1])
