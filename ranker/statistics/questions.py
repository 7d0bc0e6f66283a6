"""Questions about models' answers, in the order in which people are asked.

A question is about the answers of two models to a row, which may be compared, or about one, which may be marked. Axis
letters as in `engine`; P pairs of models, R rows of which some may be asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from factors.types import Bools

MOST = 5_000
"""Most questions that are prepared."""


@dataclass(frozen=True)
class Inquiry:
    """A question about answers to a row.

    Attributes:
        models: models whose answers to it are meant, in the order in which they stand.
    """

    row: int
    models: tuple[int, ...]

    @property
    def unit(self) -> tuple[int, frozenset[int]]:
        """The row and the models, whichever stands first."""
        return self.row, frozenset(self.models)


def of_pairs(present: Bools, seed: int, earlier: Sequence[Inquiry] = (), most: int = MOST) -> list[Inquiry]:
    """Return questions which of two answers is better: earlier ones, then random ones.

    Of the pairs that met least often the next one meets on a row that was asked about least often, else a random one.
    Which of them stands first is drawn.

    Args:
        present: (M, N) answers that there are.
        earlier: questions that were asked before, as they were asked.

    Example:
        >>> questions = of_pairs(np.ones((3, 4), dtype=bool), seed=0)
        >>> len({question.unit for question in questions}), len({question.unit[1] for question in questions[:3]})
        (12, 3)
        >>> len({question.row for question in questions[:4]})
        4
    """
    rng, pairs = np.random.default_rng(seed), np.array([*combinations(range(len(present)), 2)])
    rows = rng.permutation(present.shape[1])
    rows = rows[np.argsort(~np.isin(rows, [question.row for question in earlier]), kind="stable")][:most]
    rng.shuffle(pairs)
    left = (present[pairs[:, 0]] & present[pairs[:, 1]])[:, rows]  # (P, R) questions that were not asked
    met, used = np.zeros(len(pairs)), np.zeros(len(rows))
    questions, places = [*earlier], {row: place for place, row in enumerate(rows.tolist())}
    numbers = {frozenset(pair): number for number, pair in enumerate(pairs.tolist())}
    for question in earlier:
        number, place = numbers[frozenset(question.models)], places[question.row]
        left[number, place], met[number], used[place] = False, met[number] + 1, used[place] + 1
    open_rows = left.sum(axis=1)
    while open_rows.any() and len(questions) < most:
        number = int(np.where(open_rows > 0, met, np.inf).argmin())
        place = int(np.where(left[number], used, np.inf).argmin())
        left[number, place], open_rows[number] = False, open_rows[number] - 1
        met[number], used[place] = met[number] + 1, used[place] + 1
        pair = pairs[number].tolist()
        questions.append(Inquiry(int(rows[place]), (*(pair if rng.integers(2) else reversed(pair)),)))
    return questions


def of_rows(present: Bools, seed: int, earlier: Sequence[Inquiry] = (), most: int = MOST) -> list[Inquiry]:
    """Return questions how good an answer is: earlier ones, then the answers of one random row after the other.

    The last row is whole; see `of_pairs`.

    Example:
        >>> questions = of_rows(np.ones((2, 3), dtype=bool), seed=0)
        >>> [question.row for question in questions[:2]] == [questions[0].row] * 2
        True
        >>> sorted(question.models for question in questions[:2])
        [(0,), (1,)]
    """
    rng, units, questions = np.random.default_rng(seed), {question.unit for question in earlier}, [*earlier]
    begun = dict.fromkeys(question.row for question in earlier)
    shuffled = {row: rng.permutation(len(present)).tolist() for row in rng.permutation(present.shape[1]).tolist()}
    for row in dict.fromkeys([*begun, *shuffled]):
        of_row = [Inquiry(row, (model,)) for model in shuffled[row] if present[model, row]]
        questions += [question for question in of_row if question.unit not in units]
        if len(questions) >= most:
            break
    return questions
