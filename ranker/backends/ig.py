"""Integrated gradients, by captum, over word embeddings; many examples at once, and as many steps as each needs.

    score_t = sum_d (x_td - b_td) * integral_0^1 df(b + a (x - b)) / dx_td da

x (T, D) are the example's word embeddings, b (T, D) the baseline's, f the explained output. Completeness: the scores
add up to f(x) - f(b); by how much they do not is the gap, which is stored.

Source: Sundararajan, Taly, Yan 2017, "Axiomatic Attribution for Deep Networks"; Kokhlikyan et al. 2020, "Captum".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from captum.attr import IntegratedGradients

from factors.types import Attributions, Example
from ranker.align import Encoding
from ranker.backends import IGSettings
from ranker.batching import in_batches, stack, windows
from ranker.classifiers import explained, softmax
from ranker.errors import ModelError, UsageError

if TYPE_CHECKING:
    from ranker.classifiers import Classifier

READ_AHEAD = 16
"""Batches that are read ahead, for examples of one length to be found."""


def attribute(
    classifier: Classifier,
    examples: Sequence[Example],
    settings: IGSettings,
    progress: Callable[[int], object] = lambda done: None,
) -> Iterator[Attributions]:
    """Integrated gradients of examples.

    Every position starts from the baseline, separators and [CLS] too: one that stayed as it is would score 0 whatever
    the model made of it. Positions and segment ids stay as they are.

    Args:
        classifier: the model.
        examples: any number of them.
        settings: see there.
        progress: told how many more examples are done.

    Yields:
        One row for each example, in order; ``residual`` is the completeness gap, ``effort`` the steps used.

    Raises:
        UsageError: settings that cannot be.
        ModelError: the model has no token to start from, or cannot be run.
    """
    _validate(settings, len(classifier.groups))
    start = baseline(classifier, settings)
    limit = READ_AHEAD * classifier.token_budget
    for window in windows(classifier.encodings(examples), lambda encoding: len(encoding) * settings.steps, limit):
        yield from _attribute(classifier, window, start, settings, progress)


def baseline(classifier: Classifier, settings: IGSettings) -> torch.Tensor:
    """(D,) the float32 embedding that every path starts from.

    Raises:
        ModelError: the tokenizer has no such token.
    """
    if settings.baseline == "zero":
        return torch.zeros_like(classifier.embed(torch.tensor([[0]], device=classifier.device))[0, 0]).float()
    token = getattr(classifier.tokenizer, f"{settings.baseline}_token_id")
    if token is None:
        name = f"{classifier.name} has no {settings.baseline} token"
        raise ModelError(f"{name} for IG to start from; set another baseline")
    return classifier.embed(torch.tensor([[token]], device=classifier.device))[0, 0].float()


def _attribute(
    classifier: Classifier,
    encodings: Sequence[Encoding],
    start: torch.Tensor,
    settings: IGSettings,
    progress: Callable[[int], object],
) -> list[Attributions]:
    """Rows of some examples: all of them with few steps, and with twice as many those that need them."""

    def output(embeddings: torch.Tensor, type_ids: torch.Tensor | None) -> torch.Tensor:
        return explained(classifier.from_embeddings(embeddings, type_ids), settings.target, settings.output)

    gradients = IntegratedGradients(output)
    done: dict[int, Attributions] = {}
    change: dict[int, float] = {}  # f(x) - f(b)
    pending, steps = list(range(len(encodings))), settings.steps

    def run(places: Sequence[int], budget: int) -> None:
        numbers = [pending[place] for place in places]
        batch = stack([classifier.row(encodings[i]) for i in numbers], classifier.device)
        x = classifier.embed(batch.ids).float()  # (R, T, D)
        b = start.expand_as(x)
        if steps == settings.steps:
            with torch.no_grad():
                logits = classifier.from_embeddings(x, batch.type_ids)
                differences = explained(logits, settings.target, settings.output) - output(b, batch.type_ids)
            change.update(zip(numbers, differences.tolist(), strict=True))
            for i, probs in zip(numbers, softmax(logits.double().cpu().numpy()), strict=True):
                done[i] = Attributions(probs, settings.target, method="ig")
        at_once = max(len(numbers), budget // x.shape[1])
        scores = gradients.attribute(
            x,
            baselines=b,
            additional_forward_args=(batch.type_ids,),
            n_steps=steps,
            method=settings.rule,
            internal_batch_size=at_once if at_once < steps * len(numbers) else None,
        )
        for i, row in zip(numbers, scores.detach().double().sum(dim=-1).cpu().numpy(), strict=True):
            e = encodings[i]
            gap = float(row.sum() - change[i])
            done[i] = Attributions(
                done[i].probs, settings.target, e.tokens, e.segment, e.word, e.offsets, row, "ig", gap, steps
            )  # fmt: skip

    while pending:
        in_batches([len(encodings[i]) for i in pending], classifier.token_budget, run, cost=steps)
        steps *= 2
        rough = [i for i in pending if steps <= settings.max_steps and not settings.accepts(done[i])]
        progress(len(pending) - len(rough))
        pending = rough
    return [done[i] for i in range(len(encodings))]


def _validate(settings: IGSettings, classes: int) -> None:
    if not 1 <= settings.steps <= settings.max_steps:
        raise UsageError(f"IG's steps must be between 1 and its max_steps, {settings.max_steps} (got {settings.steps})")
    if not settings.tolerance > 0:
        raise UsageError(f"IG's tolerance must be above 0 (got {settings.tolerance})")
    if not 0 <= settings.target < classes:
        raise UsageError(f"IG's target must be one of {classes} classes, from 0 (got {settings.target})")
