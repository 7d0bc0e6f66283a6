"""Logs by Inspect of models that answer by a list of words: `python inspect_logs.py FOLDER` where inspect-ai is."""

import gzip
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from inspect_ai import Epochs, Task, eval, eval_set, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, choice, includes, match, mean, pattern, scorer, stderr
from inspect_ai.solver import generate, multiple_choice, prompt_template, solver

HERE = Path(__file__).parent
ROWS = json.loads((HERE / "tasks" / "reviews.json").read_text())[:12]
ASKS = "Is this review good or bad? Say it in one word.\n\n{prompt}"
LONG = "Is this review good or bad? Say verdict, a colon, and one word.\n\n{prompt}"

MODELS = {"run-a": ("warm clever bright lovely moving fresh", 0.15), "run-b": ("warm clever honest", 0.3)}
"""Model -> the words that it takes for praise, and how often it does not answer in one word."""


def model(name):
    """A model that looks for words; the same every time, and not quite the same when it is asked again."""
    words, wordy = MODELS[name]
    times = Counter()

    def answer(messages, tools, tool_choice, config):
        text = messages[-1].text
        times[text] += 1
        chance = int(hashlib.sha256(f"{name} {text} {times[text]}".encode()).hexdigest()[:8], 16) / 16**8
        praise = any(word in text for word in words.split()) != (chance > 0.9)
        verdict = "good" if praise else "bad"
        if "ANSWER: $LETTER" in text:
            letter = "AB"[["bad", "good"].index(verdict)]
            content = "I cannot tell." if chance < wordy / 2 else f"ANSWER: {letter}"
        elif "a colon" in text:
            content = "fair" if chance < wordy / 2 else f"My verdict: {'mixed' if chance < wordy else verdict}"
        elif chance < wordy:
            content = f"{verdict.title()}, I think"
        else:
            content = f"{verdict.title()}."
        output = ModelOutput.from_content(f"mockllm/{name}", content)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else tokens are counted, online
        return output

    return get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


def rows(target=lambda row: row["label"], choices=None):
    """Our rows as samples."""
    samples = [
        Sample(id=row["id"], input=row["text"], target=target(row), choices=choices, metadata={"writer": row["writer"]})
        for row in ROWS
    ]
    return MemoryDataset(samples, name="reviews")


@task
def begins():
    """The answer begins with the target; whoever wrote a review is a cluster."""
    return Task(rows(), solver=[prompt_template(ASKS), generate()], scorer=[match("begin"), includes()])


@task
def exact():
    """The answer is the target."""
    return Task(rows(), solver=[prompt_template(ASKS), generate()], scorer=match("exact"))


@task
def lettered():
    """Two choices."""
    return Task(
        rows(lambda row: "AB"[row["label"] == "good"], ["bad", "good"]), solver=multiple_choice(), scorer=choice()
    )


@task
def found():
    """Words that a pattern finds."""
    return Task(rows(), solver=[prompt_template(LONG), generate()], scorer=pattern(r"verdict: (\w+)"))


@solver
def breaks():
    """A solver that cannot do one of the samples at all, and another one only once."""

    async def solve(state, generate):
        if state.sample_id == "r03" or (state.sample_id == "r05" and state.epoch == 2):
            raise RuntimeError("this sample cannot be done")
        return await generate(state)

    return solve


@scorer(metrics=[accuracy(), stderr(cluster="writer")])
def graded():
    """Right, half right, wrong or without an answer."""

    async def score(state, target):
        answer = state.output.completion.casefold()
        if answer.startswith(target.text):
            return Score(value="C" if len(answer) < 6 else "P", answer=answer)
        return Score(value="N" if len(answer) > 8 else "I", answer=answer)

    return score


@scorer(metrics={"short": [mean(), stderr()], "polite": [mean()]})
def manners():
    """Two numbers of one answer."""

    async def score(state, target):
        answer = state.output.completion
        return Score(value={"short": 1 / len(answer), "polite": "I think" in answer}, answer=answer)

    return score


@task
def twice():
    """Two epochs, of which some fail."""
    return Task(
        rows(),
        solver=[prompt_template(ASKS), breaks()],
        scorer=[graded(), manners()],
        epochs=Epochs(2, ["mean"]),
        fail_on_error=False,
    )


@task
def reduced():
    """Three epochs, reduced in each way that there is."""
    names = ["max", "mean", "median", "mode", "at_least_2", "pass_at_2", "pass_k_2"]
    return Task(rows(), solver=[prompt_template(ASKS), generate()], scorer=match("begin"), epochs=Epochs(3, names))


@task
def shuffled(seed=1):
    """Two choices in an order of their own for each row."""
    dataset = rows(lambda row: "AB"[row["label"] == "good"], ["bad", "good"])
    dataset.shuffle_choices(seed)
    return Task(dataset, solver=multiple_choice(), scorer=choice())


@solver
def ponders():
    """A solver that thinks twice about two of the samples, which is more than it may."""

    async def solve(state, generate):
        for _ in range(3 if state.sample_id in ("r02", "r07") else 1):
            state = await generate(state)
        return state

    return solve


@task
def limited():
    """A limit of tokens that two samples hit."""
    return Task(rows(), solver=[prompt_template(ASKS), ponders()], scorer=match("begin"), token_limit=3)


FAILED = set()
"""Models that have failed in a run already."""


@solver
def stumbles():
    """A solver that fails on a sample in the first run of a model, and not in the next."""

    async def solve(state, generate):
        if state.sample_id == "r09" and str(state.model) not in FAILED:
            FAILED.add(str(state.model))
            raise RuntimeError("this sample cannot be done yet")
        return await generate(state)

    return solve


@task
def retried():
    """A run that has to be made again."""
    return Task(rows(), solver=[prompt_template(ASKS), stumbles()], scorer=match("begin"))


def write_set(folder, target):
    """An eval-set of one model whose first run fails: both logs, and the lists beside them."""
    eval_set(
        [retried()], log_dir=str(folder), model=[model("run-a")], retry_attempts=2, retry_wait=0.01,
        retry_cleanup=False, display="none", max_samples=1, max_tasks=1, log_format="eval",
    )  # fmt: skip
    target.mkdir()
    for number, path in enumerate(sorted(folder.glob("*.eval")), 1):
        write_eval_log(tidied(read_eval_log(str(path))), str(target / f"retried-{number}.eval"))
    lists = {name: json.loads((folder / name).read_text()) for name in ("logs.json", "eval-set.json")}
    for entry in lists["logs.json"].values():
        entry.pop("error", None)
        entry["eval"] |= {"task_file": "inspect_logs.py", "revision": None}
    for entry in lists["eval-set.json"]["tasks"]:
        entry["task_file"] = "inspect_logs.py"
    for name, content in lists.items():
        (target / name).write_text(json.dumps(content, indent=1) + "\n")


RUNS = [(begins, "eval"), (exact, "eval"), (lettered, "eval"), (found, "eval"), (twice, "eval"), (twice, "json")]
RUNS += [(reduced, "eval"), (shuffled, "eval"), (limited, "eval")]
"""A task, and how its logs are written."""


def tidied(log):
    """A log without what it says of the machine, and of what happened meanwhile, which is long."""
    log.eval.task_file, log.eval.revision = "inspect_logs.py", None
    if log.error:
        log.error.traceback = log.error.traceback_ansi = ""
    for sample in log.samples:
        sample.events, sample.attachments, sample.error_retries = [], {}, []
        if sample.error:
            sample.error.traceback = sample.error.traceback_ansi = ""
    return log


def main(target):
    """Write all runs into a folder."""
    target = Path(target).absolute()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for make, form in RUNS:
            for name in MODELS:
                arguments = {"seed": list(MODELS).index(name) + 1} if make is shuffled else {}
                options = {"log_dir": folder, "log_format": form, "display": "none", "max_samples": 1, "max_tasks": 1}
                (log,) = eval(make(**arguments), model(name), **options)
                if log.status != "success":
                    raise SystemExit(f"{make.__name__}: {log.error.message}")
                log = tidied(read_eval_log(log.location))
                path = target / f"{make.__name__}-{name}.{form}"
                write_eval_log(log, str(path))
                if form == "json":
                    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
                    path.unlink()
        write_set(Path(folder) / "set", target / "set")


if __name__ == "__main__":
    main(sys.argv[1])
