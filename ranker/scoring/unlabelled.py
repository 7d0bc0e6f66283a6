"""Rows of the domain without a label, as a decision reads them: what models say there, and methods that rank by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from factors.rounding import level
from factors.types import Floats, Ints
from ranker.errors import listed
from ranker.numbers import SHARES, Unit, counted
from ranker.results.choice import LOST, LOST_IN_SESSION
from ranker.results.judged import JudgeBias, JudgeResult
from ranker.statistics import judges, label_votes, likeness, matches, rows
from ranker.statistics.draws import Draws
from ranker.statistics.engine import none_if_nan
from ranker.statistics.judges import JudgedMarks
from ranker.statistics.label_votes import LabelVotes
from ranker.statistics.likeness import Anchors, LikenessEvidence
from ranker.statistics.matches import Matches
from ranker.statistics.pool import Kind, Pool, PoolMethod, Targets, possible
from ranker.statistics.rows import RowEvidence
from ranker.statistics.vote import MetricByLabel

ANCHORS, AGREEMENT = "ANCHORS", "AGREEMENT"
"""Methods that rank models by the likeness of their answers: with some outcomes, and without any."""

JUDGED, MARKED = "JUDGED", "MARKED"
"""Methods that rank models by people's marks: with judges', and with the likeness of the answers alone."""

Part = Literal["in-domain", "voters", "judges"]
"""Part of what a belief is made of, beside labels and the pool."""

LEAST_ROWS, SURE = 3, 2.0
"""Rows that a judge left out, and marked, from which people's marks of both are compared; standard errors apart."""

LEAST_FAMILY = 3
"""Models that answer alike from which on a note says so."""

LABEL_VOTES = "LABEL-VOTES"
"""Method that ranks models by a metric of label sets: each label's own vote."""

OF_ANSWERS = (ANCHORS, AGREEMENT)
"""Methods of likeness, in the order of their use."""


@dataclass(frozen=True)
class ModelOrder:
    """Method that orders the models, and its scores.

    Attributes:
        method, kind: of the method.
        score: (M,) of the models, higher is better.
        belief: in the models' values in the domain, where the method has one.
        warning: its main caveat, a clause that continues its name; "" for none.
        without: "in-domain", "voters" or "judges" -> the belief without what the models are known by in-domain, without
            those that only vote, or by people alone; nothing that is not there.
        judges: those whose marks were read.
        notes: on what was read, a sentence each.
        of_differences: whether the belief's values are differences from the mean model, whose own value is unknown.
        confirmed: whether people labelled or marked a row.
        lost: what may be expected to be lost by a model that is taken.
    """

    method: str
    kind: Kind
    score: Floats
    belief: Draws | None = None
    warning: str = ""
    without: Mapping[Part, Draws] = field(default_factory=dict)
    judges: tuple[JudgeResult, ...] = ()
    notes: tuple[str, ...] = ()
    of_differences: bool = False
    confirmed: bool = True
    lost: float = LOST


class UnlabelledContext(Protocol):
    """Rows of the domain beside the labelled ones."""

    @property
    def unlabelled(self) -> int:
        """Number of rows without a label."""

    @property
    def adds(self) -> str:
        """A sentence on what these rows add to the labelled ones."""
        return f"The pool adds {counted(self.unlabelled, 'row')}, read without labels."

    @property
    def reads_metric(self) -> bool:
        """True if the rows tell the metric by which models are judged, though labels alone do not give it."""
        return False

    @property
    def methods(self) -> dict[str, Kind]:
        """Methods that can order the models: name -> kind."""

    def order(self, method: str, seed: int, metric: MetricByLabel | None = None) -> ModelOrder:
        """Order the models by one of the methods.

        Args:
            metric: of labels, for the methods that have a belief in it; None for accuracy.
        """


@dataclass(frozen=True)
class LabelContext(UnlabelledContext):
    """Predicted labels on the rows of a pool; an `UnlabelledContext`.

    Attributes:
        pool: the models' predictions on all of them.
        targets: labels and outcomes of the labelled ones.
        places: (K,) places of the labelled ones in the pool; a row that several people labelled occurs several times.
        labels: (K,) their labels.
        candidates: methods that may rank by them.
    """

    pool: Pool
    targets: Targets
    places: Ints
    labels: Ints
    candidates: tuple[PoolMethod, ...]

    @property
    def unlabelled(self) -> int:
        """Number of rows without a label; labelled rows of one text stand in one place."""
        return len(self.targets.labels) - len(set(self.places.tolist()))

    @cached_property
    def _usable(self) -> dict[str, PoolMethod]:
        labels = self.targets.labels[self.places]
        return {method.name: method for method in possible(self.candidates, self.pool, labels) if method.decides}

    @property
    def methods(self) -> dict[str, Kind]:
        """Methods whose needs the rows meet: name -> kind."""
        return {name: method.kind for name, method in self._usable.items()}

    def order(self, method: str, seed: int, metric: MetricByLabel | None = None) -> ModelOrder:
        """Order the models by one of the methods. See `UnlabelledContext`."""
        by = self._usable[method]
        if by.belief is None:
            score = by.estimate(self.pool, self.targets, self.places[None])[:, 0]
            return ModelOrder(method, by.kind, score, None, by.warning)
        pools: dict[Part, Pool] = {}
        if self.pool.in_domain_accuracy is not None:
            pools["in-domain"] = replace(self.pool, in_domain_accuracy=None)
        if self.pool.voters is not None and self.pool.says.any():
            pools["voters"] = replace(self.pool, voters=None)
        without = {part: by.belief(pool, self.places, self.labels, metric) for part, pool in pools.items()}
        belief = by.belief(self.pool, self.places, self.labels, metric)
        return ModelOrder(method, by.kind, belief.score, belief, by.warning, without)


@dataclass(frozen=True)
class AnswerContext(UnlabelledContext):
    """Answers of any kind to the rows of a pool, and how alike they are; an `UnlabelledContext`.

    Attributes:
        models: (M,) names.
        anchors: likeness of the models' answers to the rows.
        outcomes: (M, K) outcomes on the labelled rows, 0 for a missing answer.
        places: (K,) places of the labelled rows among the rows, each once.
        sets: what models give to all rows of the pool, if models are compared by a metric of label sets; else None.
        unlabelled_pool: number of rows of the pool without a label, of which some are read; 0 if all are.
        slow: why fewer are read than usual, in words; "" if not.
        matches: statistics of the answers, if models are compared by a metric that ANCHORS reads by these; else None.
        random: False if a session picked labelled rows, whose outcomes then tell no level.
    """

    models: tuple[str, ...]
    anchors: Anchors
    outcomes: Floats
    places: Ints
    sets: LabelVotes | None = None
    unlabelled_pool: int = 0
    slow: str = ""
    matches: Matches | None = None
    random: bool = True

    @property
    def reads_metric(self) -> bool:
        """True if the statistics of a metric are there. See `UnlabelledContext`."""
        return self.matches is not None

    @property
    def adds(self) -> str:
        """A sentence on what these rows add to the labelled ones. See `UnlabelledContext`."""
        of_pool = f"{self.unlabelled:,} of its {self.unlabelled_pool:,} rows" if self._in_part else ""
        reason = f": {self.slow}" if self.slow and self._in_part else ""
        return f"The pool adds {of_pool or counted(self.unlabelled, 'row')}, read without labels{reason}."

    @property
    def _in_part(self) -> bool:
        return self.unlabelled < self.unlabelled_pool

    @property
    def unlabelled(self) -> int:
        """Number of rows without a label."""
        if self.sets is not None:
            return int(self.sets.answers.shape[1]) - len({*self.sets.places.tolist()})
        return self.anchors.rows - len(self.places)

    @property
    def methods(self) -> dict[str, Kind]:
        """LABEL-VOTES for a metric of label sets, ANCHORS and AGREEMENT."""
        votes: dict[str, Kind] = {} if self.sets is None else {LABEL_VOTES: "pool"}
        return {**votes, ANCHORS: "pool", AGREEMENT: "label-free"}

    def order(self, method: str, seed: int, metric: MetricByLabel | None = None) -> ModelOrder:
        """Order the models by one of the methods; those of likeness know means alone. See `UnlabelledContext`."""
        lost = LOST if self.random else LOST_IN_SESSION
        if method == LABEL_VOTES and self.sets is not None:
            belief, warning = label_votes.draw(self.sets), "takes labels of a row for independent"
            return ModelOrder(LABEL_VOTES, "pool", belief.score, belief, warning, lost=lost)
        if method == AGREEMENT:
            warning = "puts models first that err alike"
            return ModelOrder(AGREEMENT, "label-free", self.anchors.mean_agreement, None, warning)
        notes = (*family_notes(self.models, self.anchors),)
        warning = "is too bold among models that are nearly as good, and misled by models that err alike"
        belief, without = self._drawn(seed), dict[Part, Draws]()
        if self.anchors.references:
            without["voters"] = self._drawn(seed, of_models=True)
        of_differences = not self.random and self.matches is None
        return ModelOrder(
            *(ANCHORS, "pool", belief.score, belief, warning, without),
            notes=notes,
            of_differences=of_differences,
            lost=lost,
        )

    def _drawn(self, seed: int, of_models: bool = False) -> Draws:
        """Draw the belief from likeness, and if so without answers that are not ranked."""
        rng = np.random.default_rng(seed)
        if self.matches is not None:
            return matches.draw(self.matches.of_models if of_models else self.matches, rng)
        anchors = self.anchors.of_models if of_models else self.anchors
        return likeness.draw(LikenessEvidence(anchors, self.outcomes, self.places, self.random), rng)


def family_notes(models: Sequence[str], anchors: Anchors) -> Iterator[str]:
    """Say which models answer alike, if these are half of all or more: their order may be that of one mistake.

    Example:
        >>> alike = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1]])[:, :, None]
        >>> [*family_notes(["a", "b", "c", "d"], Anchors(alike))]
        ['3 of 4 models answer alike: a, b, c. If they err alike, the order is theirs.']
    """
    sizes = np.bincount(anchors.families)
    alike = anchors.families == sizes.argmax()
    if LEAST_FAMILY <= alike.sum() < len(models) <= 2 * alike.sum():
        names = listed(name for name, is_alike in zip(models, alike.tolist(), strict=True) if is_alike)
        yield f"{alike.sum()} of {len(models)} models answer alike: {names}. If they err alike, the order is theirs."


@dataclass(frozen=True)
class JudgeContext(UnlabelledContext):
    """Marks of the models' answers by people on some rows, and by judges on many; an `UnlabelledContext`.

    Attributes:
        models: (M,) names.
        names: (J,) of the judges.
        unit: of people's marks.
    """

    models: tuple[str, ...]
    names: tuple[str, ...]
    marks: JudgedMarks
    unit: Unit = SHARES

    @property
    def unlabelled(self) -> int:
        """Number of rows that no person marked."""
        return int(np.isnan(self.marks.people).all(axis=0).sum())

    @property
    def adds(self) -> str:
        """The number of rows, and of judges; that nobody confirms these, first of all."""
        if not self.marks.whole.any():
            return (
                "No person marked a row: the order is that of "
                f"{counted(len(self.names), 'judge')}, trusted as far as judges in general. The means are of the marks "
                f"of {self.names[0]}."
            )
        rows = f"{counted(self.unlabelled, 'row')} that people did not"
        alike = f"Answers to {rows} mark are compared with each other." if self.marks.likeness is not None else ""
        marked = f"{counted(len(self.names), 'judge')} marked {rows}." if self.names else ""
        return " ".join(filter(None, [marked, alike]))

    @property
    def methods(self) -> dict[str, Kind]:
        """JUDGED, or MARKED without judges."""
        return {JUDGED if self.names else MARKED: "pool"}

    def order(self, method: str, seed: int, metric: MetricByLabel | None = None) -> ModelOrder:
        """Order the models by the marks of both, which tell means alone. See `UnlabelledContext`."""
        belief = judges.draw(self.marks, np.random.default_rng(seed))
        people = self.marks.people[:, self.marks.whole]
        alone = rows.draw(RowEvidence.of_means(people), np.random.default_rng(seed)) if people.size else None
        warning = "reads how like an answer is to those of others, as far as marks bear it out"
        if self.names:
            warning = "is misled by judges that all flatter one model, until people marked more rows"
        return ModelOrder(
            method,
            "pool",
            belief.score,
            belief,
            warning,
            {} if alone is None else {"judges": alone},
            tuple(map(self._judge, range(len(self.names)))),
            tuple(self._notes()),
            of_differences=alone is None,
            confirmed=alone is not None,
            lost=LOST_IN_SESSION,
        )

    def _notes(self) -> Iterator[str]:
        """Say which judges count, how they alone order models, and which left out rows that people marked."""
        for name, says in zip(self.names, self.marks.says.tolist(), strict=True):
            if not says:
                yield f"{name} is left out: it tells no two models apart, or repeats another judge."
            if name.casefold() in map(str.casefold, self.models):
                yield f"{name} is a judge and is ranked: it may think better of itself."
        if not self.marks.whole.any():
            return
        if len(self.marks.telling):
            nobody = replace(self.marks, people=np.full(self.marks.people.shape, np.nan), likeness=None)
            order = np.argsort(-level(judges.infer(nobody).differences.score), kind="stable")
            yield f"By judges alone the order would be {', '.join(self.models[m] for m in order)}."
        means = self.marks.people[:, self.marks.whole].mean(axis=0)
        for name, marks in zip(self.names, self.marks.judges[:, :, self.marks.whole], strict=True):
            absent = np.isnan(marks).any(axis=0)
            if absent.any():
                rows = f"{absent.sum():,} of the {counted(len(means), 'row')} of people's marks"
                yield f"{name} left out answers to {rows}{self._hardness(means[absent], means[~absent])}."

    def _hardness(self, absent: Floats, present: Floats) -> str:
        """Return how much lower people marked rows that a judge left out; "" if that may be chance."""
        if min(len(absent), len(present)) < LEAST_ROWS:
            return ""
        lower = float(present.mean() - absent.mean())
        error = np.sqrt(absent.var(ddof=1) / len(absent) + present.var(ddof=1) / len(present))
        if abs(lower) <= SURE * error:
            return ""
        return f"; people marked these {self.unit.difference(-lower)}{self.unit.points} from the others on average"

    def _judge(self, judge: int) -> JudgeResult:
        """Return what people's marks say of one judge."""
        facts, says = judges.facts(self.marks, judge), self.marks.says
        is_read = says[judge] > 0 and not np.isnan(self.marks.people).all()
        biases = zip(self.models, facts.bias.tolist(), facts.low.tolist(), facts.high.tolist(), strict=True)
        return JudgeResult(
            self.names[judge],
            facts.rows,
            float(says[judge] / max(says.sum(), 1e-12)),
            none_if_nan(facts.agreement),
            facts.worth if is_read else None,
            tuple(JudgeBias(*bias) for bias in biases) if is_read else (),
        )
