"""The numbers of docs/results/llms.md: prompts on language models, beside lm-evaluation-harness and among each other.

    python -m benchmarks.llms harness DATA MODEL
    python -m benchmarks.llms writing DATA MODEL
    python -m benchmarks.llms answers DATA WORK MODEL ...
    python -m benchmarks.llms accuracies WORK/matrices/*-both.npz
    python -m benchmarks.llms attributions DATA MODEL
    python -m benchmarks.sequential run WORK/matrices/*.npz -o orders.jsonl --labels 50 --replicates 200

DATA is the folder of the real files (see docs/data.md), MODEL that of a language model, WORK one for the store and what
comes of it. What is stored is not computed again.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import click
import numpy as np
from scipy.stats import spearmanr

from benchmarks.clock import timed
from benchmarks.labels import line, table
from benchmarks.shift_domains import Row, entailment, sentiment, toxicity
from benchmarks.single_texts import shuffled
from factors import Example
from factors.types import Attributions, Bools, Floats
from ranker.attribution import attribute, perturb, settings_of
from ranker.commands.options import PATH
from ranker.datasets import sets
from ranker.numbers import percent, points
from ranker.runs.inspected import inspect_references
from ranker.runs.label_predictions import predictions
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.sources.base import Machine, ResourceCache, SourceOptions
from ranker.sources.lm.demonstrations import Demonstration
from ranker.sources.lm.kind import PromptedModel
from ranker.sources.lm.options import CALIBRATIONS, LMOptions
from ranker.sources.lm.prompts import Prompt
from ranker.sources.lm.scoring import LabelScorer
from ranker.sources.lm.writing import Writer
from ranker.tasks.classes import ClassificationTask, require_labels
from ranker.tasks.texts import TextTask

ROWS, SHOTS = 300, (0, 4)
"""Rows of a set that are measured, and numbers of demonstrations."""

MOOD = ClassificationTask("sentiment", ("negative", "positive"))
TOXIC = ClassificationTask("toxicity", ("non-toxic", "toxic"), {"non-toxic": ("clean",)})
THREE_WAY = ClassificationTask("mnli", ("contradiction", "entailment", "neutral"))

PROMPTS = {
    "sst-2": Prompt(template="{text}\nQuestion: Is this sentence positive or negative?\nAnswer: "),
    "mnli": Prompt(
        template="{premise}\nQuestion: {hypothesis} True, False or Neither?\nAnswer: ",
        segments=("premise", "hypothesis"),
        verbalizers={"entailment": ("True",), "contradiction": ("False",), "neutral": ("Neither",)},
    ),
}
"""The harness's own prompts for two sets."""

ABOUT = Prompt(
    template="Text: {text}\nQuestion: What is the text about, in one sentence?\nAnswer: ",
    segments=("text",),
    name="about",
    max_new_tokens=32,
    stop=("\n",),
)
"""Prompt whose answers are written."""

CALIBRATED = "/calibrated"
"""End of the names of calibrated models."""

LEANING = 0.8
"""Share of one label from which a prompt counts as leaning to it."""

METHODS = ("shap:baseline=remove", "lime:hide=remove", "ig:baseline=zero", "occlusion:hide=remove")
SHORT = range(4, 7)
"""Attribution methods, and numbers of words of the rows they are compared on."""

BATCHES, TRIED, CHECKED = (1, 4, 8, 16), 16, 32
"""Batch sizes of the harness, rows on which the fastest is determined, and rows whose likelihoods are compared."""

DEVICE = click.option("--device", default="cpu", show_default=True, help="cpu, for processor seconds, or cuda.")
"""Option of commands that also measure GPUs."""


@dataclass(frozen=True)
class PromptCase:
    """Rows, and prompts that ask about them.

    Attributes:
        name: of the set.
        task: of the rows.
        examples: (N,) the rows.
        spare_rows: rows with their labels that demonstrations are drawn from; none is among the former.
        prompts: names of built-in prompts.
    """

    name: str
    task: ClassificationTask
    examples: tuple[Example, ...]
    spare_rows: Sequence[Row]
    prompts: tuple[str, ...]


def read_case(name: str, real_files: Path, count: int) -> PromptCase:
    """Read a set, and draw rows of it."""
    if name == "hans-sub":
        ood = sets.load(name, real_files / "hans")
        chosen = sets.sample(ood, count)
        drawn = {example.segments for example in chosen}
        spare_rows = [
            {"premise": row.segments[0], "hypothesis": row.segments[1], "label": ood.task.show(row.target)}
            for row in ood.examples
            if row.segments not in drawn
        ]
        prompts = ("nli/does-it-follow", "nli/entailment", "nli/true-or-false", "labels/which")
        return PromptCase(name, require_labels(ood.task, name), chosen, spare_rows, prompts)
    read_domains, task, (ranked, home), texts, names = {
        "sst-2": (sentiment, MOOD, ("sst2-test", "sst2-train"), ("text",), ("sentiment",)),
        "olid": (toxicity, TOXIC, ("olid-test", "olid"), ("text",), ("toxicity", "labels/which")),
        "mnli": (entailment, THREE_WAY, ("mnli", "mnli"), ("premise", "hypothesis"), ()),
    }[name]
    domains = read_domains(real_files)
    rows = shuffled(domains[ranked])
    examples = [Example(str(n), tuple(row[text] for text in texts), task.target_of(row["label"]))
                for n, row in enumerate(rows[:count])]  # fmt: skip
    spare_rows = [{column: row[column] for column in (*texts, "label")}
              for row in (rows[count:] if home == ranked else shuffled(domains[home]))]  # fmt: skip
    return PromptCase(name, task, tuple(examples), spare_rows, names)


@dataclass(frozen=True)
class HarnessComparison:
    """Both programs on the same prompts.

    Attributes:
        tokens: mean tokens of a prompt.
        seconds: a row here; processor seconds, on a GPU seconds until the work is finished.
        harness: the same of the harness.
        batch: its fastest batch size.
        same: share of rows with the same prediction.
        largest: largest difference of two log-likelihoods.
        margins: (D,) by how much the harness prefers its answer where predictions differ.
    """

    tokens: float
    seconds: float
    harness: float
    batch: int
    same: float
    largest: float
    margins: tuple[float, ...]

    @property
    def cells(self) -> list[str]:
        """Cells of the table."""
        return [
            f"{self.tokens:.0f}",
            f"{self.harness:.3f} ({self.batch})",
            f"{self.seconds:.3f}",
            f"{self.harness / self.seconds:.1f}",
            f"{self.same:.1%}" + "".join(f", by {margin:.0e}" for margin in self.margins),
            f"{self.largest:.0e}",
        ]


def prompted(case: PromptCase, folder: Path, shots: int, device: str = "cpu") -> LabelScorer:
    """Return a model with one of `PROMPTS` and demonstrations."""
    rows = map(dict.values, case.spare_rows[:shots])
    demonstrations = tuple(Demonstration(tuple(texts), json.dumps(label)) for *texts, label in rows)
    model = PromptedModel(case.name, str(folder), prompt=PROMPTS[case.name], demonstrations=demonstrations)
    scorer = model.open(case.task, Machine(device, threads=1), ResourceCache())
    assert isinstance(scorer, LabelScorer)
    return scorer


def ask(scorer: LabelScorer, examples: Sequence[Example]) -> tuple[Floats, float]:
    """Return (N, C) probabilities, and the seconds that a row takes."""
    blocks, spent = timed(lambda: list(scorer.predict(examples)), scorer.network.device.type)
    return np.concatenate([block.probs for block in blocks]), spent / len(examples)


def ask_harness(scorer: LabelScorer, examples: Sequence[Example], batch: int) -> tuple[Floats, float]:
    """Return (N, W) log-likelihoods of the words by lm-evaluation-harness, and its seconds a row."""
    from lm_eval.api.instance import Instance  # type: ignore[import-not-found]
    from lm_eval.models.huggingface import HFLM  # type: ignore[import-not-found]

    network, words = scorer.network, scorer.encoder.words
    device = network.device.type
    texts = [scorer.encoder.frame_of(len(row.segments)).text(row.segments)[0] for row in examples]
    model = HFLM(pretrained=network.model, tokenizer=network.tokenizer, batch_size=batch, device=device)
    requests = [Instance("loglikelihood", {}, (text, word), 0) for text in texts for word in words]
    values, spent = timed(lambda: model.loglikelihood(requests, disable_tqdm=True), device)
    return np.array([value for value, _ in values]).reshape(-1, len(words)), spent / len(examples)


def compare(
    scorer: LabelScorer, examples: Sequence[Example], count: int, batches: Sequence[int], tried: int
) -> HarnessComparison:
    """Measure both programs, the harness on the first `count` rows, with the batch size that was fastest on `tried`."""
    speeds = {batch: ask_harness(scorer, examples[:tried], batch)[1] for batch in batches}
    fastest = min(speeds, key=lambda batch: speeds[batch])
    theirs, harness_seconds = ask_harness(scorer, examples[:count], fastest)
    theirs = theirs[:, [group[0] for group in scorer.groups]]  # in the order of the labels, each of which has one word
    probs, seconds = ask(scorer, examples)
    rows = list(scorer.encodings(examples))
    requests = ((None, row, np.ones((1, len(row.ids)), bool)) for row in rows[: min(count, CHECKED)])
    ours = np.concatenate([logits for _, logits in scorer.answers(requests, "remove")])
    differing = probs[:count].argmax(axis=1) != theirs.argmax(axis=1)
    first, second = np.sort(theirs[differing], axis=1).T[-1:-3:-1]
    return HarnessComparison(
        tokens=float(np.mean([len(row.ids) for row in rows])),
        seconds=seconds,
        harness=harness_seconds,
        batch=fastest,
        same=1 - float(differing.mean()),
        largest=float(abs(ours - theirs[: len(ours)]).max()),
        margins=tuple((first - second).tolist()),
    )


def write_plainly(writer: Writer, texts: Sequence[str]) -> list[str]:
    """Return what transformers' `generate` writes after each text by itself."""
    network, answers = writer.network, list[str]()
    for text in texts:
        inputs = network.tokenizer(text, return_tensors="pt").to(network.device)
        tokens = network.model.generate(  # type: ignore[operator]
            **inputs, max_new_tokens=writer.most, do_sample=False, stop_strings=list(writer.stop),
            tokenizer=network.tokenizer,
        )  # fmt: skip
        answer = tokens[0, inputs["input_ids"].shape[1] :]
        answers.append(str(network.tokenizer.decode(answer, skip_special_tokens=True)))
    return answers


def write_with_harness(writer: Writer, texts: Sequence[str], batch: int) -> list[str]:
    """Return what lm-evaluation-harness writes after texts."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    network = writer.network
    model = HFLM(pretrained=network.model, tokenizer=network.tokenizer, batch_size=batch, device=network.device.type)
    settings = {"until": list(writer.stop), "max_gen_toks": writer.most, "do_sample": False}
    requests = [Instance("generate_until", {}, (text, settings), 0) for text in texts]
    return list(model.generate_until(requests, disable_tqdm=True))


def answers(case: PromptCase, folder: Path, work: Path) -> dict[str, Floats]:
    """Return prompt on a model -> (N, C) probabilities, without and with calibration; answers are stored."""
    file = work / f"{case.name}-demonstrations.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in case.spare_rows), encoding="utf-8")
    options = LMOptions(prompts=case.prompts, shots=SHOTS, demonstrations=str(file), calibration=CALIBRATIONS)
    models = inspect_references([f"lm:{folder}"], SourceOptions(kinds=[options]))
    runtime = Runtime(Machine(threads=1), store=Store(work / "store"))
    pool, _, collected = predictions(models, case.task, case.examples, runtime)
    if collected.failures:
        raise click.ClickException(f"some models have no answers: {collected.failures}")
    return dict(zip((model.name for model in models.models), pool.probs, strict=True))


@dataclass(frozen=True)
class CalibrationEffect:
    """Accuracy with calibration minus accuracy without it.

    Attributes:
        gains: (M,) of each prompt on a model.
        low, high: 95 % interval of their mean over other rows.
        leaning: (M,) share of the rows that get the prompt's most frequent label without calibration.
    """

    gains: Floats
    low: float
    high: float
    leaning: Floats

    @property
    def cells(self) -> list[str]:
        """Cells of the table."""
        leans = self.leaning >= LEANING
        return [
            f"{points(self.gains.mean())} [{points(self.low)}, {points(self.high)}]",
            f"{(self.gains > 0).sum()} and {(self.gains < 0).sum()} of {len(self.gains)}",
            *(f"{points(self.gains[part].mean())} ({part.sum()})" if part.any() else "" for part in (leans, ~leans)),
        ]


def calibration_effect(plain: Bools, corrected: Bools, predicted: Floats) -> CalibrationEffect:
    """Compare (M, N) right answers without and with calibration, whose (M, N) labels without it are `predicted`."""
    of_rows = (corrected.astype(float) - plain).mean(axis=0)
    half = 1.96 * of_rows.std(ddof=1) / np.sqrt(len(of_rows))
    leaning = [np.unique(labels, return_counts=True)[1].max() / len(labels) for labels in predicted]
    gains = corrected.mean(axis=1) - plain.mean(axis=1)
    return CalibrationEffect(gains, gains.mean() - half, gains.mean() + half, np.array(leaning))


@dataclass(frozen=True)
class HiddenWords:
    """Effects of hiding two words of a row on its prediction.

    Attributes:
        falls: (P,) fall of the margin of the predicted label for each pair of words.
        predicted: the predicted label, of two.
    """

    falls: Floats
    predicted: int

    def fall(self, row: Attributions) -> tuple[float, float]:
        """Return the fall for the two words with the highest scores, and the largest fall, both less the mean fall."""
        scores = np.nan_to_num(row.toward(self.predicted).word_scores)
        first, second = sorted(np.argsort(-scores, kind="stable")[:2])
        pairs = list(combinations(range(len(scores)), 2))
        fall = self.falls[pairs.index((first, second))]
        return fall - self.falls.mean(), self.falls.max() - self.falls.mean()


def hidden_words(scorer: LabelScorer, examples: Sequence[Example]) -> list[HiddenWords]:
    """Remove each pair of words of rows."""
    effects = []
    encodings = list(scorer.encodings(examples))
    masks = [np.ones((1 + row.words * (row.words - 1) // 2, row.words), bool) for row in encodings]
    for of_row in masks:
        for number, pair in enumerate(combinations(range(of_row.shape[1]), 2)):
            of_row[1 + number, list(pair)] = False
    hidden = zip(encodings, masks, strict=True)
    requests = ((None, row, perturb.token_masks(of_row, row.word)) for row, of_row in hidden)
    for _, logits in scorer.answers(requests, "remove"):
        predicted = int(logits[0].argmax())
        margins = logits[:, predicted] - logits[:, 1 - predicted]
        effects.append(HiddenWords(margins[0] - margins[1:], predicted))
    return effects


@click.group()
def main() -> None:
    """Measure prompts on language models."""


@main.command()
@click.argument("real_files", metavar="DATA", type=PATH)
@click.argument("folder", type=PATH)
@click.option("--set", "names", type=click.Choice(list(PROMPTS)), multiple=True, default=list(PROMPTS))
@click.option("--shots", "counts", multiple=True, default=(0, 4, 16), show_default=True)
@click.option("--rows", default=ROWS, show_default=True)
@click.option("--most", default=ROWS, show_default=True, help="Rows that the harness is asked about, at most.")
@click.option("--batch", "batches", multiple=True, default=BATCHES, show_default=True)
@click.option("--tried", default=TRIED, show_default=True, help="Rows on which the fastest batch is determined.")
@DEVICE
def harness(
    real_files: Path,
    folder: Path,
    names: Sequence[str],
    counts: Sequence[int],
    rows: int,
    most: int,
    batches: Sequence[int],
    tried: int,
    device: str,
) -> None:
    """Seconds a row and agreement with lm-evaluation-harness: install it to run this."""
    head = ["", "tokens", "harness, s (batch)", "here, s", "ratio", "same predictions", "largest difference"]
    click.echo(table(head, []))
    for name in names:
        case = read_case(name, real_files, rows)
        for shots in counts:
            cells = compare(prompted(case, folder, shots, device), case.examples, min(rows, most), batches, tried).cells
            click.echo(line([f"{name}, {shots}-shot", *cells]))


@main.command()
@click.argument("real_files", metavar="DATA", type=PATH)
@click.argument("folder", type=PATH)
@click.option("--rows", default=64, show_default=True)
@click.option("--batch", "batches", multiple=True, default=BATCHES, show_default=True)
@DEVICE
def writing(real_files: Path, folder: Path, rows: int, batches: Sequence[int], device: str) -> None:
    """Seconds a row of 32 written tokens here, by transformers row by row, and by lm-evaluation-harness."""
    examples = read_case("sst-2", real_files, rows).examples
    model = PromptedModel("about", str(folder), prompt=ABOUT)
    writer = model.open(TextTask("text"), Machine(device, threads=1), ResourceCache())
    assert isinstance(writer, Writer)
    texts = [writer.encoder.frame_of(1).text(example.segments)[0].rstrip() for example in examples]
    ways: dict[str, Callable[[], list[str]]] = {
        "here": lambda: [str(text) for block in writer.predict(examples) for text in block.answers() or ()],
        "transformers": partial(write_plainly, writer, texts),
    }
    ways |= {f"harness, batch {batch}": partial(write_with_harness, writer, texts, batch) for batch in batches}
    click.echo(table(["way", "s a row", "ratio", "same texts"], []))
    ours, base = timed(ways["here"], device)
    for name, way in ways.items():
        texts_of_way, spent = timed(way, device)
        same = np.mean([text.strip() == text_here for text, text_here in zip(texts_of_way, ours, strict=True)])
        click.echo(line([name, f"{spent / rows:.3f}", f"{spent / base:.1f}", f"{same:.1%}"]))


@main.command()
@click.argument("real_files", metavar="DATA", type=PATH)
@click.argument("folder", type=PATH)
@click.option("--set", "name", type=click.Choice(list(PROMPTS)), default="mnli", show_default=True)
@click.option("--shots", default=16, show_default=True)
@click.option("--rows", default=ROWS, show_default=True)
def memory(real_files: Path, folder: Path, name: str, shots: int, rows: int) -> None:
    """Peak memory of this process after answering rows."""
    case = read_case(name, real_files, rows)
    scorer = prompted(case, folder, shots)
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ask(scorer, case.examples)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    click.echo(f"{name}, {shots}-shot, {rows} rows: peak {peak:.0f} MiB, {loaded:.0f} MiB once loaded")


@main.command("answers")
@click.argument("real_files", metavar="DATA", type=PATH)
@click.argument("work", type=PATH)
@click.argument("folders", type=PATH, nargs=-1, required=True)
@click.option("--set", "names", multiple=True, default=("sst-2", "hans-sub", "olid"), show_default=True)
@click.option("--rows", default=ROWS, show_default=True)
def write_answers(real_files: Path, work: Path, folders: Sequence[Path], names: Sequence[str], rows: int) -> None:
    """Ask each model by each prompt, and write a file for each set and model, and for each set with all models."""
    (work / "matrices").mkdir(parents=True, exist_ok=True)
    for name in names:
        case = read_case(name, real_files, rows)
        labels = np.array([example.target for example in case.examples])
        of_models = {folder.name: answers(case, folder, work) for folder in folders}
        together = {key: probs for members in of_models.values() for key, probs in members.items()}
        for model, members in {**of_models, "both": together}.items():
            probs = np.array(list(members.values()))
            arrays = {"labels": labels, "predictions": probs.argmax(axis=2), "probabilities": probs}
            np.savez_compressed(work / "matrices" / f"{name}-{model}.npz", names=np.array(list(members)), **arrays)
            click.echo(f"{name}, {model}: {len(members)} members")


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
def accuracies(files: Sequence[Path]) -> None:
    """Accuracy of each prompt on each model, and whether calibration helps, from what `answers` wrote."""
    effects = []
    for file in files:
        with np.load(file) as held:
            right = dict(zip(held["names"].tolist(), held["predictions"] == held["labels"], strict=True))
            predicted = dict(zip(held["names"].tolist(), held["predictions"], strict=True))
            most = np.unique(held["labels"], return_counts=True)[1].max() / len(held["labels"])
        plain = [name for name in right if not name.endswith(CALIBRATED)]
        shots = [[name for name in plain if name.endswith("-shot") == with_shots] for with_shots in (False, True)]
        click.echo(f"\n{file.stem}: {percent(most)} % have the most frequent label\n")
        head = ["", *(f"{count}-shot{end}" for count in SHOTS for end in ("", ", calibrated"))]
        rows = [
            [name, *(percent(right[member + end].mean()) for member in pair for end in ("", CALIBRATED))]
            for name, pair in zip(shots[0], zip(*shots, strict=True), strict=True)
        ]
        click.echo(table(head, rows))
        for count, names in zip(SHOTS, shots, strict=True):
            arrays = [np.array([by_name[name + end] for name in names]) for by_name, end in (
                (right, ""), (right, CALIBRATED), (predicted, ""))]  # fmt: skip
            effects.append([f"{file.stem}, {count}-shot", *calibration_effect(*arrays).cells])
    leans = f"{LEANING:.0%} or more"
    click.echo(
        "\n" + table(["", "gain", "better and worse", f"one label on {leans} (cases)", "others (cases)"], effects)
    )


@main.command()
@click.argument("real_files", metavar="DATA", type=PATH)
@click.argument("folder", type=PATH)
@click.option("--rows", default=30, show_default=True)
@click.option("--shots", default=0, show_default=True)
@DEVICE
def attributions(real_files: Path, folder: Path, rows: int, shots: int, device: str) -> None:
    """Quality of attributions of short rows of SST-2, by method: errors, agreement, and what the best words change."""
    case = read_case("sst-2", real_files, 10 * ROWS)
    short = [row for row in case.examples if len(row.segments[0].split()) in SHORT][:rows]
    scorer = prompted(case, folder, shots, device)
    effects = hidden_words(scorer, short)
    scores, cells = {}, {}
    for name in METHODS:
        of_rows, spent = timed(partial(list[Attributions], attribute(scorer, short, name)), device)
        settings = settings_of(name)
        errors = [settings.error(row) for row in of_rows]
        accepted = np.mean([settings.accepts(row) for row in of_rows])
        falls = np.array([effect.fall(row) for effect, row in zip(effects, of_rows, strict=True)])
        shares = falls[:, 0] / falls[:, 1]
        error = shares.std(ddof=1) / np.sqrt(len(shares))
        scores[name] = of_rows
        cells[name] = [f"{spent / len(short):.1f}", f"{np.median(errors):.1e}", f"{accepted:.0%}",
                       f"{shares.mean():.2f} ({error:.2f})"]  # fmt: skip
        click.echo(f"{name}: {cells[name]}", err=True)
    head = ["", "s a row", "median error", "accepted", "share of the largest fall (s.e.)", *METHODS]
    click.echo(f"{len(short)} rows\n\n" + table(head, [
        [name, *cells[name], *(f"{agreement(scores[name], scores[method]):.2f}" for method in METHODS)]
        for name in METHODS
    ]))  # fmt: skip


def agreement(first: Sequence[Attributions], second: Sequence[Attributions]) -> float:
    """Return the mean rank correlation of two methods' word scores."""
    pairs = [(a.word_scores, b.word_scores) for a, b in zip(first, second, strict=True)]
    return float(np.nanmean([spearmanr(a, b, nan_policy="omit").statistic for a, b in pairs]))


if __name__ == "__main__":
    main()
