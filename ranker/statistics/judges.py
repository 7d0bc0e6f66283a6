"""Differences between models from people's marks on a few rows and judges' marks on many.

A judge (a language model, or a metric) marks the answers of all models, with errors. Its marks are an anchor: with
x_jmn a judge's mark of model m's answer to row n, less the row's mean over models, in units of its root mean square,
and y_mn people's, in units of theirs,

    y_mn = sum over j of w_j x_jmn + d_m + e_mn,    e_mn ~ Normal(0, sigma^2),
    w_j ~ Normal(WEIGHT p_j, sigma^2 WEIGHT_SD^2 p_j),    d_m ~ Normal(0, sigma^2 r^2),    p_j = s_j / sum of s.

Likeness of the answers, where they are known, is one more x: how like a model's answer is to the others' on the row,
by a metric of texts. Its weight has the mean 0 and the standard deviation sigma `LIKENESS_SD`: marks may switch it off.

d_m is what people think better of a model than judges do: a judge that flatters a model is overruled by few marks.
Or the judges misjudge one of the models, whichever: its d has the spread sigma `FLATTERED`. Values of r and these
cases are weighed by a prior and their marginal likelihood. sigma^2 has an inverse gamma prior (`SHAPE`).
Each row has an effect of its own that is not estimated: a row that people marked for some of the models tells how these
differ.

s_j is how much a judge agrees with the others before people speak: its mean correlation with them, by that of the judge
with the highest, `LEAST_SAY` at least; 1 for one judge or two. So noise takes no prior weight from the others. A judge
that tells no two models apart on any row, or repeats another one, is left out.

Marks may be missing. A judge's missing mark is filled by the sum of a model's and a row's effect, fitted to the judge's
other marks; on a row that it did not see these are its mean marks of the models. Rows that people marked for all models
count as they are, and all others as they are expected to be. Where people marked nothing the prior alone speaks: judges
are trusted as far as judges in general.

Source: ours. Axis letters as in `engine`, J judges, and R values of r.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics.draws import Draws
from ranker.statistics.likeness import AnchorPosterior

WEIGHT, WEIGHT_SD = 0.4, 0.35
"""Prior mean of the sum of all judges' weights, and its standard deviation in units of sigma."""

LIKENESS_SD = 0.15
"""Prior standard deviation of the weight of likeness, in units of sigma; its mean is 0."""

EFFECT_SDS, USUAL_EFFECT = (0.03, 0.07, 0.15, 0.3, 0.6, 1.2), 0.3
"""Values of r, in units of sigma; their prior falls as 1 / sqrt(1 + (r / USUAL_EFFECT)^2)."""

SHAPE, SCALE = 2.0, 1.6
"""Prior of sigma^2, in units of the variance of people's marks within rows: an inverse gamma distribution."""

FLATTERY, FLATTERED = 0.5, 1.5
"""Prior probability that the judges misjudge one of the models, and the spread of its d, in units of sigma."""

USUAL, USUAL_MARKS = 0.15, 2.0
"""Usual root mean square of people's marks within rows, and the marks that it counts as: those of one row may be equal,
or nearly, by chance."""

LEAST_SAY = 0.1
"""Least s of a judge: one that agrees with no other may yet be the only good one."""

ROUNDS = 30
"""Rounds of the fit of a model's and a row's effect to a judge's marks."""

SAME = 1e-9
"""Difference of two marks, in units of their spread, up to which they are equal."""


@dataclass(frozen=True, eq=False)
class JudgedMarks:
    """Marks of models' answers, by people and by judges.

    Attributes:
        people: (M, N) from 0 to 1, nan where there is none.
        judges: (J, M, N) on scales of their own, higher is better, nan where there is none.
        unit: root mean square of people's marks within rows, where they marked nothing.
        likeness: (M, N) how like each answer is to the other models' on the row; None if unknown.

    Raises:
        ValueError: another shape, or fewer than two models.
    """

    people: Floats
    judges: Floats
    unit: float = 1.0
    likeness: Floats | None = None

    def __post_init__(self) -> None:
        if self.people.ndim != 2 or len(self.people) < 2 or self.judges.shape[1:] != self.people.shape:
            shapes = f"(got {self.people.shape} and {self.judges.shape})"
            raise ValueError(f"marks must have the shapes (M, N) and (J, M, N), with M >= 2 {shapes}")

    @cached_property
    def whole(self) -> Bools:
        """(N,) rows that people marked for all models."""
        return np.asarray(~np.isnan(self.people).any(axis=0))

    @cached_property
    def filled(self) -> Floats:
        """(J, M, N) judges' marks less their mean over models, in units of their root mean square; 0 if all are 0."""
        return _relative(self.judges)

    @cached_property
    def inputs(self) -> Floats:
        """(A, M, N) what tells of people's marks: those of the judges that count, and likeness if it is known."""
        likeness = () if self.likeness is None else _relative(self.likeness[None])
        return np.concatenate([self.filled[self.telling], *([likeness] if len(likeness) else [])])

    @cached_property
    def telling(self) -> Ints:
        """Judges that tell models apart, and repeat no judge before them."""
        places: list[int] = []
        for place, marks in enumerate(self.filled):
            if marks.any() and all(np.abs(marks - self.filled[earlier]).max() > SAME for earlier in places):
                places.append(place)
        return np.array(places, dtype=np.int64)

    @cached_property
    def says(self) -> Floats:
        """(J,) s of each judge; 0 of one that is left out."""
        says = np.zeros(len(self.judges))
        says[self.telling] = 1.0
        if len(self.telling) > 2:
            flat = self.filled[self.telling].reshape(len(self.telling), -1)
            agreements = flat @ flat.T / np.sqrt(np.outer((flat**2).sum(axis=1), (flat**2).sum(axis=1)))
            means = (agreements.sum(axis=1) - 1) / (len(flat) - 1)
            says[self.telling] = np.round(np.clip(means / max(means.max(), SAME), LEAST_SAY, 1.0), 9)
        return says

    def by(self, judges: Ints) -> JudgedMarks:
        """Return the marks by people and by some of the judges."""
        return replace(self, judges=self.judges[judges])


def _relative(all_marks: Floats) -> Floats:
    """Return (A, M, N) marks, missing ones filled, less their mean over models, in units of their root mean square."""
    relative = np.zeros(all_marks.shape)
    for place, marks in enumerate(all_marks):
        present = ~np.isnan(marks)
        if present.any():
            complete = _completed(marks, present)
            relative[place] = complete - complete.mean(axis=0)
            size = np.sqrt((relative[place][present] ** 2).mean())
            relative[place] = relative[place] / size if size > SAME * np.nanmax(np.abs(marks)) else 0.0
    return relative


def _completed(marks: Floats, present: Bools) -> Floats:
    """Return (M, N) marks, those that are missing as the sum of a model's and a row's effect."""
    counts = present.astype(float)
    values = np.where(present, marks, 0.0)
    of_models, of_rows = np.zeros((len(marks), 1)), np.zeros((1, marks.shape[1]))
    overall = values.sum() / counts.sum()
    for _ in range(ROUNDS if not present.all() else 0):
        of_models = ((values - counts * (overall + of_rows)).sum(axis=1) / np.maximum(counts.sum(axis=1), 1))[:, None]
        of_rows = ((values - counts * (overall + of_models)).sum(axis=0) / np.maximum(counts.sum(axis=0), 1))[None]
    return np.where(present, marks, overall + of_models + of_rows)


@dataclass(frozen=True, eq=False)
class JudgedPosterior:
    """Belief in the differences between models by people's marks, and in d, of the same scale."""

    differences: AnchorPosterior
    effects: AnchorPosterior


def infer(marks: JudgedMarks, domain: bool = True) -> JudgedPosterior:
    """Compute the posterior of the differences between models by people's marks, on all rows or in their domain.

    Args:
        domain: whether the differences are those in the domain that the rows are a random sample of.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> quality = np.array([0.6, 0.5, 0.4])[:, None] + rng.normal(0, 0.1, (3, 200))
        >>> people = np.where(np.arange(200) < 5, quality, np.nan)
        >>> judge = 5 * quality + rng.normal(0, 0.3, (3, 200)) + np.array([[0], [1], [0]])  # it flatters the second
        >>> found = infer(JudgedMarks(people, judge[None]))
        >>> found.differences.score.argsort()[::-1].tolist(), int(found.effects.score.argmin())
        ([0, 1, 2], 1)
    """
    people, judges, says = marks.people, marks.inputs, marks.says[marks.telling]
    size, models, rows = len(judges), len(people), people.shape[1]
    shares = says / max(says.sum(), SAME)
    of_likeness = [0.0] * (size - len(says))
    weights_sds = np.append(WEIGHT_SD * np.sqrt(np.maximum(shares, SAME)), np.add(of_likeness, LIKENESS_SD))
    inputs, targets = [np.zeros((0, size + models))], [np.zeros(0)]
    for n in np.flatnonzero((~np.isnan(people)).sum(axis=0) > 1):
        marked = np.flatnonzero(~np.isnan(people[:, n]))
        design = np.concatenate([judges[:, marked, n], np.eye(models)[:, marked]]).T  # (marked, J + M)
        inputs.append(design - design.mean(axis=0))
        targets.append(people[marked, n] - people[marked, n].mean())
    y, x = np.concatenate(targets), np.concatenate(inputs)
    unit = np.sqrt((y @ y + USUAL_MARKS * USUAL**2) / (len(y) + USUAL_MARKS)) if len(y) else marks.unit
    y, freedom = y / unit, len(y) - (len(targets) - 1)
    open_ = ~marks.whole
    mean = np.concatenate([WEIGHT * shares, of_likeness, np.zeros(models)])
    centring = np.eye(models) - 1 / models
    pooled = np.concatenate([judges[:, :, open_].sum(axis=2).T, open_.sum() * centring], axis=1) / rows
    labelled = people[:, marks.whole] - people[:, marks.whole].mean(axis=0)
    logs, coefficients, spreads, variances = [], [], [], []
    for prior_log, effect_sds in _effects(models):
        prior = np.diag(1 / np.concatenate([weights_sds, effect_sds]) ** 2)
        precision = prior + x.T @ x
        solution = np.linalg.solve(precision, prior @ mean + x.T @ y)
        shape, scale = SHAPE + freedom / 2, SCALE + (y @ y + mean @ prior @ mean - solution @ precision @ solution) / 2
        determinants = np.linalg.slogdet(prior)[1] - np.linalg.slogdet(precision)[1]
        logs.append(prior_log + determinants / 2 - shape * np.log(max(scale, SAME)))
        variances.append(max(scale, SAME) / (shape - 1))
        coefficients.append(solution)
        spreads.append(np.linalg.inv(precision) * variances[-1])
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    effects, covariances = np.array(coefficients), np.array(spreads)
    noise = np.array(variances)[:, None, None] * centring
    of_rows = pooled @ covariances @ pooled.T + open_.sum() / rows**2 * noise
    if domain:
        expected = np.einsum("j,jmn->mn", weights @ effects[:, :size], judges)
        of_rows += (np.cov(expected, bias=True).reshape(models, models) + noise) / max(rows - 1, 1)
    of_models = slice(size, None)
    return JudgedPosterior(
        AnchorPosterior(weights, labelled.sum(axis=1) / rows + unit * effects @ pooled.T, unit**2 * of_rows),
        AnchorPosterior(
            weights,
            unit * effects[:, of_models] @ centring,
            unit**2 * centring @ covariances[:, of_models, of_models] @ centring,
        ),
    )


def _effects(models: int) -> Iterator[tuple[float, Floats]]:
    """Yield log prior probabilities, and (M,) standard deviations of d in units of sigma."""
    for r in EFFECT_SDS:
        usual = -np.log1p((r / USUAL_EFFECT) ** 2) / 2
        yield usual + np.log(1 - FLATTERY), np.full(models, r)
        for model in range(models):
            yield usual + np.log(FLATTERY / models), np.where(np.arange(models) == model, FLATTERED, r)


def draw(evidence: JudgedMarks, rng: np.random.Generator, samples: int = 0) -> Draws:
    """Draw the models' mean marks by people in the domain that the rows are a random sample of.

    Judges tell how far models are apart. The level is that of the rows that people marked for all models, alone;
    without such a row, values are differences from the mean model.
    """
    alike = np.nan_to_num(np.concatenate([evidence.people[None], evidence.judges]), nan=np.inf)
    differences, labelled = infer(evidence).differences, evidence.people[:, evidence.whole]
    return differences.belief(labelled, alike.swapaxes(0, 1), rng, samples)


@dataclass(frozen=True, eq=False)
class JudgeFacts:
    """Findings about one judge by people's marks.

    Attributes:
        rows: rows that it marked.
        agreement: correlation of its marks and people's, each less its mean over a row's models; nan if unknown.
        worth: rows marked by people that tell as much: K (v / v_j - 1), K the rows that people marked, v the mean
            variance of the difference of two models by them alone, v_j with the judge, both of all rows.
        bias: (M,) how much better of each model it thinks than people do, relative to the mean model, in people's unit.
        low, high: (M,) ends of the 95 % intervals of these.
    """

    rows: int
    agreement: float
    worth: float
    bias: Floats
    low: Floats
    high: Floats


def facts(marks: JudgedMarks, judge: int) -> JudgeFacts:
    """Compute what people's marks say of one judge, as if there were no other.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> quality = np.array([0.6, 0.5, 0.4])[:, None] + rng.normal(0, 0.1, (3, 200))
        >>> people = np.where(np.arange(200) < 10, quality, np.nan)
        >>> judge = 5 * quality + rng.normal(0, 0.3, (3, 200)) + np.array([[0], [1], [0]])
        >>> found = facts(JudgedMarks(people, judge[None]), 0)
        >>> found.rows, int(found.bias.argmax()), found.agreement > 0.5, found.worth > 5
        (200, 1, True, True)
    """
    alone, beside = marks.by(np.zeros(0, dtype=np.int64)), marks.by(np.array([judge]))
    judged = infer(beside, domain=False)
    shared = ~(np.isnan(marks.people) | np.isnan(marks.judges[judge]))
    shared &= shared.sum(axis=0) > 1
    pair = [_centred(values, shared)[shared] for values in (marks.people, marks.judges[judge])]
    spread = [float(np.sqrt((part**2).sum())) for part in pair]
    before = _mean_variance(infer(alone, domain=False).differences)
    after = _mean_variance(judged.differences)
    labelled = int(((~np.isnan(marks.people)).sum(axis=0) > 1).sum())
    ends = judged.effects.interval()
    return JudgeFacts(
        int((~np.isnan(marks.judges[judge])).any(axis=0).sum()),
        float(pair[0] @ pair[1] / (spread[0] * spread[1])) if min(spread) > SAME else float("nan"),
        max(labelled * (before / max(after, SAME**2) - 1), 0.0),
        -judged.effects.score,
        -ends[1],
        -ends[0],
    )


def _centred(values: Floats, present: Bools) -> Floats:
    """Return (M, N) values less their means over the present ones of a row."""
    zeroed = np.where(present, values, 0.0)
    return np.asarray(zeroed - zeroed.sum(axis=0) / np.maximum(present.sum(axis=0), 1))


def _mean_variance(differences: AnchorPosterior) -> float:
    """Return the mean variance of the difference of two models."""
    covariance = np.tensordot(differences.weights, differences.covariances, axes=1)
    models = len(covariance)
    return float(2 * (models * np.trace(covariance) - covariance.sum()) / (models * (models - 1)))
