"""Integrated gradients, by captum's gradients, over word embeddings; many examples at once, and points where needed.

    score_t = integral_0^1 slope_t(a) da,    slope_t(a) = sum_d (x_td - b_td) * df(b + a (x - b)) / dx_td

x (T, D) are the example's word embeddings, b (T, D) the baseline's, f the explained output. Completeness: the scores
add up to f(x) - f(b); the gap between the two is stored.

The integral is the sum over stretches of the path, and the integral of each is an integrated gradient too: from the
stretch's start as the baseline to its end as the input. So each stretch has a gap of its own, which shows where on the
path more points are needed. That is mostly near the baseline, so the first stretches are shorter there. A stretch with
too large a gap gets the points between its own; then it is cut in halves. A small gap that does not shrink with more
points comes from the rounding of the network's numbers, and is left.

Source: Sundararajan, Taly, Yan 2017, "Axiomatic Attribution for Deep Networks"; Kokhlikyan et al. 2020, "Captum".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple

import numpy as np
import torch
from captum.attr import Saliency

from factors.types import Attributions, Example, Floats
from ranker.attribution.perturb import explained_output
from ranker.attribution.quadrature import Rule, nested_rules
from ranker.attribution.settings import IGSettings
from ranker.progress import Advance
from ranker.sources.base import E, Embedded
from ranker.sources.packing import run_in_batches, windows
from ranker.tasks.classes import softmax

MAX_WINDOW = 256
"""Most examples of a window: a row is expensive, and an interruption loses those of the current window."""

PASSES = 3
"""Forward passes that a gradient costs, with the one forward."""

ROUNDINGS = 4
"""Gap, in roundings, that may come from rounding; in bfloat16 gaps of two occur."""


class Stretch(NamedTuple):
    """Part of one example's path, and the density of its points.

    Attributes:
        start, end: between 0, the baseline, and 1, the input.
        dense: whether it has the points of the larger rule.
    """

    example: int
    start: float
    end: float
    dense: bool = False

    def finer(self) -> tuple[Stretch, ...]:
        """Return its refinement: itself with more points, or both halves.

        Example:
            >>> Stretch(7, 0.5, 1.0, dense=True).finer()
            (Stretch(example=7, start=0.5, end=0.75, dense=False), Stretch(example=7, start=0.75, end=1.0, dense=False))
        """
        if not self.dense:
            return (self._replace(dense=True),)
        middle = (self.start + self.end) / 2
        return Stretch(self.example, self.start, middle), Stretch(self.example, middle, self.end)

    def rule(self, settings: IGSettings) -> Rule:
        """Return the places of its points on the path, and their weights."""
        places, weights = nested_rules(settings.rule, settings.steps)[self.dense]
        length = self.end - self.start
        return Rule(self.start + length * places, length * weights)

    def price(self, settings: IGSettings) -> int:
        """Return the number of points that its refinement adds."""
        small, large = nested_rules(settings.rule, settings.steps)
        return 2 * small.size if self.dense else large.size - small.size


@dataclass
class Path:
    """State of one example's path.

    Attributes:
        parts: stretch -> (T,) its scores of the tokens.
        effort: points used so far.
        left: the stretches that were refined last, with their gaps; their refinements are in the parts.
        settled: stretches that more points did not improve.
    """

    parts: dict[Stretch, Floats] = field(default_factory=dict)
    effort: int = 0
    left: dict[Stretch, float] = field(default_factory=dict)
    settled: set[Stretch] = field(default_factory=set)

    @property
    def scores(self) -> Floats:
        """(T,) scores of the tokens over all stretches."""
        return np.sum(list(self.parts.values()), axis=0)  # type: ignore[no-any-return]

    def refine(self, values: Mapping[tuple[int, float], float], settings: IGSettings, rounding: float) -> list[Stretch]:
        """Replace the stretches that need more points by finer ones, within the budget of points, and return these.

        Args:
            values: the explained output, by the example and the place on its path.
            rounding: the relative step between numbers of the network's type.
        """
        ends = {stretch: (values[stretch.example, stretch.start], values[stretch.example, stretch.end])
                for stretch in self.parts}  # fmt: skip
        gaps = {stretch: float(self.parts[stretch].sum() - (end - start)) for stretch, (start, end) in ends.items()}
        total = float(abs(self.scores).sum())
        step = rounding * max(total, *(abs(value) for pair in ends.values() for value in pair))
        self.settled.update(stuck_stretches(gaps, self.left, ROUNDINGS * step))
        self.left = {}
        unsettled = {stretch: gap for stretch, gap in gaps.items() if stretch not in self.settled}
        for stretch in rough_stretches(unsettled, total, settings, step):
            if self.effort + stretch.price(settings) <= settings.max_steps:
                self.effort += stretch.price(settings)
                self.left[stretch] = gaps[stretch]
                del self.parts[stretch]
        return [finer for stretch in self.left for finer in stretch.finer()]


def attribute(
    model: Embedded[E], examples: Sequence[Example], settings: IGSettings, advance: Advance
) -> Iterator[Attributions]:
    """Compute integrated gradients of examples.

    Every position starts from the baseline, separators and [CLS] too, since one that stayed constant would score 0.
    Fixed tokens (`Encoding.fixed`) do stay constant along the path, as do positions and segment ids.

    The rest is as of `ranker.attribution.attribute`; ``residual`` is the completeness gap, ``effort`` the steps used.
    """
    limit, points = model.window(PASSES), len(settings.stretches) * settings.steps
    for window in windows(model.encodings(examples), lambda encoding: len(encoding) * points, limit, MAX_WINDOW):
        yield from _attribute(model, window, settings, advance)


def _attribute(
    model: Embedded[E], encodings: Sequence[E], settings: IGSettings, advance: Advance
) -> Iterator[Attributions]:
    """Yield rows of some examples: every path in its first stretches, then finer ones where the gap is too large."""
    samples = _Samples(model, encodings, settings)
    pending = [Stretch(i, *ends) for i in range(len(encodings)) for ends in settings.stretches]
    paths = [Path(effort=len(settings.stretches) * settings.steps) for _ in encodings]
    while pending:
        samples.evaluate({(s.example, place) for s in pending for place in (s.start, s.end)})
        rules = {stretch: stretch.rule(settings) for stretch in pending}
        samples.differentiate({(s.example, place) for s, rule in rules.items() for place in rule.places})
        for s, rule in rules.items():
            paths[s.example].parts[s] = rule.weights @ np.stack([samples.slopes[s.example, a] for a in rule.places])
        refined = [
            paths[i].refine(samples.values, settings, model.rounding) for i in sorted({s.example for s in pending})
        ]
        advance(refined.count([]))  # paths without refined stretches are done
        pending = [stretch for finer in refined for stretch in finer]
    for i, (e, path) in enumerate(zip(encodings, paths, strict=True)):
        scores = path.scores
        gap = abs(float(scores.sum() - (samples.values[i, 1.0] - samples.values[i, 0.0])))
        yield settings.attributed(e, samples.probs[i], scores, residual=gap, effort=path.effort)


Point = tuple[int, float]
"""An example, and a place on its path."""


class _Samples(Generic[E]):
    """Values and slopes of the model at points of the paths of some examples, computed once for each.

    Attributes:
        values: the explained output f.
        slopes: (T,) derivatives of f by the share of each token.
        probs: (C,) the probabilities of an example, by its number, once it was evaluated at the end of its path.
    """

    def __init__(self, model: Embedded[E], encodings: Sequence[E], settings: IGSettings) -> None:
        self.values: dict[Point, float] = {}
        self.slopes: dict[Point, Floats] = {}
        self.probs: dict[int, Floats] = {}
        self._model, self._encodings, self._settings = model, encodings, settings
        self._start, self._budget = model.start(settings.baseline), model.token_budget
        frames: dict[Hashable, int] = {}
        self._alike = [frames.setdefault(model.frame(encoding), i) for i, encoding in enumerate(encodings)]

    def evaluate(self, points: Iterable[Point]) -> None:
        """Fill in the values at points; at the baseline, one example stands for all that are equal there."""
        stands = {(i, place): (i if place else self._alike[i], place) for i, place in points}
        self._ask(self._evaluate, set(stands.values()) - self.values.keys())
        self.values.update({point: self.values[representative] for point, representative in stands.items()})

    def differentiate(self, points: Iterable[Point]) -> None:
        """Fill in the slopes at points."""
        self._ask(self._differentiate, set(points) - self.slopes.keys())

    def _ask(self, ask: Callable[[Sequence[Point]], None], points: Iterable[Point]) -> None:
        """Compute points in batches that fit into memory."""
        ordered = sorted(points)
        lengths = [len(self._encodings[i]) for i, _ in ordered]
        self._budget = run_in_batches(
            lengths, self._budget, lambda chosen: ask([ordered[j] for j in chosen]), self._model.padding
        )

    def _evaluate(self, points: Sequence[Point]) -> None:
        encodings, x, shares = self._rows(points)
        with torch.inference_mode():
            logits = self._output(encodings, x, shares)
            outputs = explained_output(logits, self._settings.label, self._settings.output).tolist()
        self.values.update(zip(points, outputs, strict=True))
        probs = softmax(logits.double().cpu().numpy())
        self.probs.update((i, row) for (i, place), row in zip(points, probs, strict=True) if place == 1)

    def _differentiate(self, points: Sequence[Point]) -> None:
        encodings, x, shares = self._rows(points)

        def along(shares: torch.Tensor) -> torch.Tensor:
            logits = self._output(encodings, x, shares)
            # rows are independent, so the gradient of their sum is that of each
            return explained_output(logits, self._settings.label, self._settings.output).sum(dim=0, keepdim=True)

        gradients = Saliency(along).attribute(shares.contiguous().requires_grad_(), abs=False)
        for point, encoding, slopes in zip(points, encodings, gradients.double().cpu().numpy(), strict=True):
            self.slopes[point] = slopes[: len(encoding)]

    def _rows(self, points: Sequence[Point]) -> tuple[list[E], torch.Tensor, torch.Tensor]:
        """Return points of paths as R rows: encodings, (R, T, D) embeddings, (R, T) shares of tokens."""
        numbers, places = zip(*points, strict=True)
        chosen, row_of_point = np.unique(numbers, return_inverse=True)
        x = self._model.embed([self._encodings[i] for i in chosen])
        x = x[torch.from_numpy(row_of_point).to(x.device)]
        shares = torch.tensor(places, dtype=x.dtype, device=x.device)[:, None].expand(x.shape[:2])
        return [self._encodings[i] for i in numbers], x, shares

    def _output(self, encodings: Sequence[E], x: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
        """Return (R, C) logits for (R, T) shares of the tokens, from 0, the baseline, to 1."""
        # fixed tokens and padding always have the full share, so that their slope is 0
        fixed = np.ones(shares.shape, bool)
        for row, encoding in zip(fixed, encodings, strict=True):
            row[: len(encoding)] = encoding.fixed
        shares = shares.masked_fill(torch.from_numpy(fixed).to(x.device), 1.0)
        return self._model.from_embeddings(torch.lerp(self._start, x, shares[..., None]), encodings)


def rough_stretches(
    gaps: Mapping[Stretch, float], total: float, settings: IGSettings, step: float = 0.0
) -> list[Stretch]:
    """Return the stretches of one example whose gap is too large, the widest gap first.

    A gap is too large over the stretch's share of the tolerance. Where many small gaps add up to more than the
    tolerance, the widest of them is returned.
    """
    widest = sorted(gaps, key=lambda stretch: -abs(gaps[stretch]))
    allowed = settings.tolerance * total
    rough = [stretch for stretch in widest if abs(gaps[stretch]) > max(settings.share * allowed, step)]
    if not rough and abs(sum(gaps.values())) > max(allowed, step):
        rough = widest[:1]
    return rough


def stuck_stretches(gaps: Mapping[Stretch, float], left: Mapping[Stretch, float], rounded: float) -> list[Stretch]:
    """Return refined stretches that are no better: their gap is more than half of the former one.

    Twice the points make the error of a rule several times smaller where a path bends. A small gap that stays comes
    from the rounding of the network's numbers, which more points do not improve.

    Example:
        >>> whole = Stretch(0, 0.0, 1.0, dense=True)
        >>> first, second = whole.finer()
        >>> stuck_stretches({first: 0.1, second: -0.2}, {whole: 0.5}, rounded=1.0)
        []
        >>> stuck_stretches({first: 0.1, second: 0.2}, {whole: 0.5}, rounded=1.0) == [first, second]
        True
    """
    stuck: list[Stretch] = []
    for stretch, gap in left.items():
        finer = stretch.finer()
        if abs(gap) / 2 < abs(sum(gaps[part] for part in finer)) <= rounded:
            stuck += finer
    return stuck
