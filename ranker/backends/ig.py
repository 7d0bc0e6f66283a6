"""Integrated gradients, by captum, over word embeddings; many examples at once, and points where they are needed.

    score_t = sum_d (x_td - b_td) * integral_0^1 df(b + a (x - b)) / dx_td da

x (T, D) are the example's word embeddings, b (T, D) the baseline's, f the explained output. Completeness: the scores
add up to f(x) - f(b); by how much they do not is the gap, which is stored.

The integral is the sum of those over stretches of the path, and each of them is an integrated gradient too: from the
stretch's start as the baseline to its end as the input. So each stretch has a gap of its own, which says where on the
path more points are needed. That is near the baseline mostly, so the first stretches are shorter there. A small gap
that does not shrink with more points is no bend of the path but the rounding of the network's numbers, and is left.

Source: Sundararajan, Taly, Yan 2017, "Axiomatic Attribution for Deep Networks"; Kokhlikyan et al. 2020, "Captum".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from captum.attr import IntegratedGradients
from torch.nn.attention import SDPBackend, sdpa_kernel

from factors.types import Attributions, Example, Floats
from ranker.align import Encoding
from ranker.backends import IGSettings
from ranker.batching import WINDOW, in_batches, stack, windows
from ranker.classifiers import explained, softmax
from ranker.errors import ModelError, UsageError

if TYPE_CHECKING:
    from ranker.classifiers import Classifier


ROUNDINGS = 4
"""A gap of at most so many roundings of the whole may be due to them; in bfloat16 gaps of two were seen."""


class Stretch(NamedTuple):
    """A part of one example's path.

    Attributes:
        example: its number.
        start, end: between 0, the baseline, and 1, the input.
    """

    example: int
    start: float
    end: float

    def halves(self) -> tuple[Stretch, Stretch]:
        """Both halves.

        Example:
            >>> Stretch(7, 0.5, 1.0).halves()
            (Stretch(example=7, start=0.5, end=0.75), Stretch(example=7, start=0.75, end=1.0))
        """
        middle = (self.start + self.end) / 2
        return self._replace(end=middle), self._replace(start=middle)


@dataclass
class Path:
    """What is known of one example's path.

    Attributes:
        parts: what each stretch gives the tokens, (T,).
        effort: points used so far.
        cut: the stretches that were cut last, with the gaps that they had; their halves are among the parts.
        settled: stretches that are left as they are.
    """

    parts: dict[Stretch, Floats] = field(default_factory=dict)
    effort: int = 0
    cut: dict[Stretch, float] = field(default_factory=dict)
    settled: set[Stretch] = field(default_factory=set)

    @property
    def scores(self) -> Floats:
        """(T,) what all stretches together give the tokens."""
        return np.sum(list(self.parts.values()), axis=0)  # type: ignore[no-any-return]

    def refine(self, values: Mapping[tuple[int, float], float], settings: IGSettings, rounding: float) -> list[Stretch]:
        """Cut the stretches that need more points, as many as there are points for.

        Args:
            values: the explained output, by the example and the place on its path.
            settings: see there.
            rounding: the step from a number of the network to the next, as a part of it.

        Returns:
            Their halves, which are to be integrated.
        """
        gaps = {s: float(row.sum() - (values[s.example, s.end] - values[s.example, s.start]))
                for s, row in self.parts.items()}  # fmt: skip
        total = float(abs(self.scores).sum())
        self.settled.update(unmended(gaps, self.cut, ROUNDINGS * rounding * total))
        rough = too_rough(gaps, total, settings, rounding, self.settled)
        affordable = (settings.max_steps - self.effort) // (2 * settings.steps)
        self.cut = {stretch: gaps[stretch] for stretch in rough[:affordable]}
        for stretch in self.cut:
            del self.parts[stretch]
        return [half for stretch in self.cut for half in stretch.halves()]


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
    limit, points = WINDOW * classifier.token_budget, len(settings.stretches) * settings.steps
    for window in windows(classifier.encodings(examples), lambda encoding: len(encoding) * points, limit):
        yield from _attribute(classifier, window, start, settings, progress)


def baseline(classifier: Classifier, settings: IGSettings) -> torch.Tensor:
    """(D,) the embedding that every path starts from.

    Raises:
        ModelError: the tokenizer has no such token.
    """
    if settings.baseline == "zero":
        return torch.zeros_like(classifier.embed(torch.tensor([[0]], device=classifier.device))[0, 0])
    token = getattr(classifier.tokenizer, f"{settings.baseline}_token_id")
    if token is None:
        name = f"{classifier.name} has no {settings.baseline} token"
        raise ModelError(f"{name} for IG to start from; set another baseline")
    return classifier.embed(torch.tensor([[token]], device=classifier.device))[0, 0]


def _attribute(
    classifier: Classifier,
    encodings: Sequence[Encoding],
    start: torch.Tensor,
    settings: IGSettings,
    progress: Callable[[int], object],
) -> Iterator[Attributions]:
    """Rows of some examples: every path in its first stretches, then the halves of those whose gap is too large."""

    def output(embeddings: torch.Tensor, type_ids: torch.Tensor | None) -> torch.Tensor:
        return explained(classifier.from_embeddings(embeddings, type_ids), settings.target, settings.output)

    gradients = IntegratedGradients(output)
    starts: dict[tuple[int, bytes], int] = {}  # paths of one shape start alike
    first = [starts.setdefault(_shape(classifier, encoding), i) for i, encoding in enumerate(encodings)]
    values: dict[tuple[int, float], float] = {}  # f at ends of stretches
    probs: dict[int, Floats] = {}
    paths = [Path() for _ in encodings]

    def points(numbers: Sequence[int], places: Sequence[float]) -> tuple[torch.Tensor, torch.Tensor | None]:
        batch = stack([classifier.row(encodings[i]) for i in numbers], classifier.device)
        weights = torch.tensor(places, device=classifier.device)[:, None, None]
        return torch.lerp(start, classifier.embed(batch.ids), weights), batch.type_ids  # (R, T, D)

    def evaluate(chosen: Sequence[int], budget: int) -> None:
        ends = [unknown[i] for i in chosen]
        with torch.inference_mode():
            logits = classifier.from_embeddings(*points(*zip(*ends, strict=True)))
            values.update(zip(ends, explained(logits, settings.target, settings.output).tolist(), strict=True))
        for (i, place), row in zip(ends, softmax(logits.double().cpu().numpy()), strict=True):
            if place == 1:
                probs[i] = row

    def integrate(chosen: Sequence[int], budget: int) -> None:
        stretches = [pending[i] for i in chosen]
        numbers, starts, ends = zip(*stretches, strict=True)
        x, type_ids = points(numbers, ends)
        at_once = max(len(stretches), budget // x.shape[1])
        with _kernels(classifier):
            scores = gradients.attribute(
                x,
                baselines=points(numbers, starts)[0],
                additional_forward_args=(type_ids,),
                n_steps=settings.steps,
                method=settings.rule,
                internal_batch_size=at_once if at_once < settings.steps * len(stretches) else None,
            )
        for stretch, row in zip(stretches, scores.detach().double().sum(dim=-1).cpu().numpy(), strict=True):
            paths[stretch.example].parts[stretch] = row
            paths[stretch.example].effort += settings.steps

    budget = classifier.token_budget
    rounding = torch.finfo(classifier.dtype).eps  # of a number, the step to the next
    pending = [Stretch(i, *ends) for i in range(len(encodings)) for ends in settings.stretches]
    while pending:
        unknown = sorted({(i if place else first[i], place) for i, *ends in pending for place in ends} - values.keys())
        budget = in_batches([len(encodings[i]) for i, _ in unknown], budget, evaluate)
        values.update({(i, 0.0): values[first[i], 0.0] for i, place, _ in pending if not place})
        budget = in_batches([len(encodings[s.example]) for s in pending], budget, integrate, cost=settings.steps)
        unfinished, pending = sorted({stretch.example for stretch in pending}), []
        for i in unfinished:
            halves = paths[i].refine(values, settings, rounding)
            pending += halves
            progress(int(not halves))
    for i, (e, path) in enumerate(zip(encodings, paths, strict=True)):
        scores = path.scores
        gap = float(scores.sum() - (values[i, 1.0] - values[i, 0.0]))
        yield Attributions(
            probs[i], settings.target, e.tokens, e.segment, e.word, e.offsets, scores, "ig", gap, path.effort
        )  # fmt: skip


def _shape(classifier: Classifier, encoding: Encoding) -> tuple[int, bytes]:
    """What the network sees of an example besides its words: how long it is, and where its segments are."""
    types = classifier.row(encoding).type_ids
    return len(encoding), b"" if types is None else types.tobytes()


def too_rough(
    gaps: Mapping[Stretch, float],
    total: float,
    settings: IGSettings,
    rounding: float = 0.0,
    settled: Collection[Stretch] = (),
) -> list[Stretch]:
    """The stretches of one example whose gap is too large, the widest first.

    That is over the stretch's share of the tolerance, or, where many small gaps add up to more than the tolerance, the
    widest of them.

    Args:
        gaps: the completeness gap of each stretch.
        total: the sum of absolute scores, which the tolerance is a part of.
        settings: see there.
        rounding: the part of the total under which the gap of a stretch says nothing.
        settled: stretches that are left as they are.
    """
    widest = sorted((stretch for stretch in gaps if stretch not in settled), key=lambda stretch: -abs(gaps[stretch]))
    rough = [s for s in widest if abs(gaps[s]) > max(settings.share * settings.tolerance, rounding) * total]
    if not rough and abs(sum(gaps.values())) > settings.tolerance * total:
        rough = widest[:1]
    return rough


def unmended(gaps: Mapping[Stretch, float], cut: Mapping[Stretch, float], rounded: float) -> list[Stretch]:
    """The halves of stretches that a cut did not help: together they are off by more than half of what the whole was.

    Twice the points make the error of a rule several times smaller where a path bends; what stays, and is small, is
    the rounding of the network's numbers, which no cut mends.

    Args:
        gaps: the completeness gap of each stretch.
        cut: what was cut, with the gap that it had; its halves are among `gaps`.
        rounded: the largest gap that rounding may leave.

    Example:
        >>> whole = Stretch(0, 0.0, 1.0)
        >>> first, second = whole.halves()
        >>> unmended({first: 0.1, second: -0.2}, {whole: 0.5}, rounded=1.0)
        []
        >>> unmended({first: 0.1, second: 0.2}, {whole: 0.5}, rounded=1.0) == [first, second]
        True
    """
    stuck: list[Stretch] = []
    for whole, gap in cut.items():
        halves = whole.halves()
        left = abs(sum(gaps[half] for half in halves))
        if abs(gap) / 2 < left <= rounded:
            stuck += halves
    return stuck


def _kernels(classifier: Classifier) -> AbstractContextManager[None]:
    """Attention without torch's fused kernel in bfloat16 on CPU: its way back takes twelve times as long there."""
    fused_is_slow = classifier.device.type == "cpu" and classifier.dtype == torch.bfloat16
    return sdpa_kernel(SDPBackend.MATH) if fused_is_slow else nullcontext()


def _validate(settings: IGSettings, classes: int) -> None:
    if not 1 <= settings.steps <= settings.max_steps:
        raise UsageError(f"IG's steps must be between 1 and its max_steps, {settings.max_steps} (got {settings.steps})")
    if not settings.tolerance > 0:
        raise UsageError(f"IG's tolerance must be above 0 (got {settings.tolerance})")
    if not 0 < settings.share <= 1:
        raise UsageError(f"IG's share must be above 0 and at most 1 (got {settings.share})")
    if not 0 <= settings.target < classes:
        raise UsageError(f"IG's target must be one of {classes} classes, from 0 (got {settings.target})")
