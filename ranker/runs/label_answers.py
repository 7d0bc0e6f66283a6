"""Ask people about models' answers to a pool: which of two is better, or a mark for each."""

from __future__ import annotations

import logging
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from factors import Example
from factors.types import Floats
from ranker.datasets import readers
from ranker.datasets.identity import row_key
from ranker.datasets.sheets import COLUMNS
from ranker.datasets.votes import Votes
from ranker.errors import UsageError, find_repeat
from ranker.labelling.learners import QuestionLearner
from ranker.labelling.session import LabelEvent, Learner
from ranker.runs.asked_judges import Answering
from ranker.runs.inspected import InspectedModels
from ranker.runs.judges import Judges, aligned, check_marked
from ranker.runs.label import Labelling
from ranker.runs.label_pool import Panel, PoolFile, Wording
from ranker.runs.label_predictions import LabelSettings, PoolPredictions
from ranker.runs.rows import RowsFile
from ranker.runs.votes import likeness_beside, verdicts_beside
from ranker.runtime.runtime import Runtime
from ranker.statistics import judges as by_marks
from ranker.statistics import preferences as by_votes
from ranker.statistics import rows as by_rows
from ranker.statistics.draws import Draws
from ranker.statistics.judges import JudgedMarks
from ranker.statistics.preferences import Preferences
from ranker.statistics.questions import Inquiry, of_pairs, of_rows
from ranker.statistics.rows import RowEvidence
from ranker.tasks.classes import ClassificationTask

log = logging.getLogger(__name__)

ANSWERED_ROWS = 100
"""Rows of a pool that models are asked to answer, where no file has their answers."""

MOST_MARKS = 9
"""Most marks of a scale: each has a digit as its key."""

SCALE = (1.0, 5.0)
"""Worst and best mark of a scale that is not named."""


@dataclass(frozen=True)
class Form:
    """Form of what people say of answers.

    Attributes:
        labels: as a file holds them.
        column: of the labels.
        models, answers: columns of the models, and of their answers.
        scale: worst and best mark; None if they are no marks.
    """

    wording: Wording
    labels: tuple[str, ...]
    column: str
    models: tuple[str, ...]
    answers: tuple[str, ...]
    scale: tuple[float, float] | None = None

    @property
    def task(self) -> ClassificationTask:
        """The labels, as a task."""
        return ClassificationTask(self.wording.noun, self.labels)


FIRST, SECOND, TIE = "model_a", "model_b", "tie"
"""Labels of a vote."""

VOTE = Form(
    Wording("vote", "Which answer is better?", "120", {FIRST: "The first", SECOND: "The second", TIE: "Tie"}, True),
    (FIRST, SECOND, TIE),
    "winner",
    ("model_a", "model_b"),
    ("answer_a", "answer_b"),
)
"""Which of two answers is better."""

VALUES = (1.0, 0.0, 0.5)
"""Votes for the first model, by the labels of `VOTE`."""


def marks(scale: tuple[float, float] = SCALE) -> Form:
    """Return the form of marks on a scale of whole numbers.

    Raises:
        UsageError: the scale has one mark, or more than there are keys for, or others than digits.

    Example:
        >>> marks((1, 3)).labels
        ('1', '2', '3')
    """
    low, high = scale
    if not (low == int(low) and high == int(high) and 0 <= low < high <= MOST_MARKS):
        raise UsageError.about(
            "range", f"must be two digits, the worst mark and the best (got {low:g} {high:g})", scale
        )
    digits = tuple(str(mark) for mark in range(int(low), int(high) + 1))
    wording = Wording("mark", "How good is each answer?", "".join(digits), blind=True)
    return Form(wording, digits, "mark", ("model",), ("answer",), scale)


@dataclass(frozen=True)
class AnsweredPool(PoolFile):
    """Rows, models' answers to them, and what people are asked.

    The rows of the session are the questions: examples with ids of their own and the texts of a row. No text that
    people see names a model.

    Attributes:
        names: (M,) of the models.
        answers: (M, N) of the models to `rows`; None for none.
        questions: in the order in which they are asked.
    """

    form: Form
    names: tuple[str, ...]
    answers: tuple[tuple[str | None, ...], ...]
    questions: tuple[Inquiry, ...]

    @property
    def wording(self) -> Wording:
        """Words for people."""
        return self.form.wording

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """The questions as examples."""
        return tuple(
            Example(
                f"{self.rows[question.row].id}: {', '.join(self._names(question))}", self.rows[question.row].segments
            )
            for question in self.questions
        )

    @cached_property
    def _by_key(self) -> Mapping[Hashable, Inquiry]:
        return {row_key(example): question for example, question in zip(self.examples, self.questions, strict=True)}

    @cached_property
    def _of_row(self) -> Mapping[int, list[int]]:
        """Row -> models whose answers to it are marked, in order."""
        of_row: dict[int, list[int]] = {}
        for question in self.questions:
            of_row.setdefault(question.row, []).extend(question.models[:1])
        return of_row

    @cached_property
    def cells(self) -> Mapping[Hashable, Mapping[str, str]]:
        """The cells of each question, by its key, as a session's file has them."""
        return {key: self._cells(question) for key, question in self._by_key.items()}

    def _cells(self, question: Inquiry) -> dict[str, str]:
        row = self.rows[question.row]
        texts = dict(zip(text_columns(self.sheet, row), row.segments, strict=True))
        answers = zip(self.form.answers, self._texts(question), strict=True)
        return {
            "id": row.id,
            **texts,
            **dict(zip(self.form.models, self._names(question), strict=True)),
            **dict(answers),
        }

    def _names(self, question: Inquiry) -> list[str]:
        return [self.names[model] for model in question.models]

    def _texts(self, question: Inquiry) -> list[str]:
        return [self.answers[model][question.row] or "" for model in question.models]

    @property
    def own_columns(self) -> Mapping[str, Sequence[str]]:
        """Columns of a session's file by their part."""
        return {"id": ["id"], "text": text_columns(self.sheet, self.rows[0])}

    def panel(self, row: Example, graded: Collection[str] = ()) -> Panel:
        """Return the answers that people see: two, or all of a row, of which one is marked."""
        question = self._by_key[row_key(row)]
        if len(question.models) > 1:
            return Panel(tuple(self._texts(question)))
        models = self._of_row[question.row]
        texts = tuple(self.answers[model][question.row] or "" for model in models)
        return Panel(texts, models.index(question.models[0]))

    def known(self, row: Example) -> str:
        """Return the label that need not be asked: a tie of equal answers; "" if people are to say."""
        texts = {*map(normal, self._texts(self._by_key[row_key(row)]))}
        return TIE if self.form is VOTE and len(texts) == 1 else ""

    def whole(self, answered: Sequence[Example]) -> bool:
        """Return whether a session may end: of a row with a mark all answers are marked."""
        counts = Counter(self._by_key[row_key(example)].row for example in answered)
        return self.form is VOTE or all(count == len(self._of_row[row]) for row, count in counts.items())

    def finder(self, rows: Sequence[Example]) -> Callable[[Example, Mapping[str, object]], int]:
        """Return what finds the question of a line in a session's file, or raises a ValueError."""
        places = {(*map(str, self._identity(cells)),): n for n, cells in enumerate(map(self._cells, self.questions))}

        def place(row: Example, cells: Mapping[str, object]) -> int:
            names = self._identity(cells)
            number = places.get((*map(str, names),))
            if number is None:
                raise ValueError(f"no answer of {' and '.join(map(str, names[1:]))} to the row {names[0]!r} is there")
            if row.segments != self.examples[number].segments:
                raise ValueError(f"the row {names[0]!r} has another text in {self.sheet.origin}")
            for column, text in zip(self.form.answers, self._texts(self.questions[number]), strict=True):
                if column in cells and normal(str(cells[column] or "")) != normal(text):
                    raise ValueError(f"an answer to the row {names[0]!r} is another one now")
            return number

        return place

    def _identity(self, cells: Mapping[str, object]) -> list[object]:
        return [cells.get("id"), *(cells.get(column) for column in self.form.models)]


def normal(text: str) -> str:
    """Return a text without what makes no difference to its reader: blanks, and how signs are composed.

    Example:
        >>> normal("A  dog.\\n") == normal("A dog.")
        True
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def text_columns(sheet: readers.Sheet, row: Example) -> tuple[str, ...]:
    """Return the columns of a row's texts in a session's file."""
    names = sheet.layout.text
    return names if len(names) == len(row.segments) else COLUMNS[len(row.segments)]


@dataclass(frozen=True)
class AskedAnswers(PoolPredictions):
    """Questions about answers; which answer is whose is not told.

    Attributes:
        task: votes, or marks.
        pool: the questions.
        believe, gains: as for `ranker.labelling.learners.QuestionLearner`.
    """

    task: ClassificationTask
    pool: AnsweredPool
    believe: Callable[[Sequence[LabelEvent]], Draws]
    gains: Callable[[Sequence[LabelEvent]], Floats] | None = None
    ruled = False

    @property
    def alike(self) -> bool:
        """True if all models give the same answers."""
        return all(
            len({normal(text) for text in of_row if text is not None}) == 1
            for of_row in zip(*self.pool.answers, strict=True)
        )

    def learner(self, events: Sequence[LabelEvent], settings: LabelSettings) -> Learner:
        """Return what learns from votes or marks."""
        return QuestionLearner(len(self.pool.questions), len(self.pool.form.labels), self.believe, self.gains)

    def notes(self, models: Sequence[str], margin: float) -> Iterator[str]:
        """Say how many rows and models there are, and that names are hidden."""
        rows = len({question.row for question in self.pool.questions})
        yield f"Answers of {len(models)} models to {rows:,} rows are shown without names, in a random order."


Earlier = Sequence[tuple[str, ...]]
"""Id of a row, and names of models, of each line in a session's file."""


def label_answers(
    file: RowsFile,
    models: InspectedModels,
    form: Form,
    judges: Judges,
    earlier: Earlier = (),
    settings: LabelSettings = LabelSettings(),
    runtime: Runtime = Runtime(),
) -> tuple[AnsweredPool, Labelling]:
    """Ask models for their answers to a pool, and prepare what people are asked about them.

    Returns:
        The questions, and a session without a line. In the sight of `Labelling`, rows are questions.

    Raises:
        UsageError: fewer than two models, rows without a text, or columns of the session's own names.
    """
    sheet = file.with_texts()
    names = tuple(model.name for model in models.models)
    if len(names) < 2:
        raise UsageError.about("models", f"must be two or more, whose answers are judged (got {len(names)})", names)
    rows = _few(readers.unlabelled(sheet), {row for row, *_ in earlier}, models, settings.seed)
    columns = (*text_columns(sheet, rows[0]), "id", form.column, *form.models, *form.answers)
    if twice := find_repeat(columns):
        raise UsageError.about("columns", f"are named like those of a {form.wording.noun}: {twice!r}", twice)
    answering = Answering(models, tuple(rows))
    of_models = answering.answers(runtime)
    texts = tuple(tuple(of_models[name].answers() or (None,) * len(rows)) for name in names)
    present = np.array([[text is not None for text in of_model] for of_model in texts])
    row_of, model_of = {row.id: n for n, row in enumerate(rows)}, {name: m for m, name in enumerate(names)}
    before = [
        Inquiry(row_of[row], tuple(model_of[name] for name in of_models))
        for row, *of_models in earlier
        if row in row_of and {*of_models} <= {*names}
    ]
    questions = (of_pairs if form is VOTE else of_rows)(present, settings.seed, before)
    if not questions:
        raise UsageError.about("models", "gave no answers to the same rows of this pool")
    pool = AnsweredPool(sheet, tuple(rows), form.task, (), form, names, texts, tuple(questions))
    learnt = (_votes_learnt if form is VOTE else _marks_learnt)(pool, judges, answering, runtime)
    predictions = AskedAnswers(form.task, pool, *learnt)
    session = predictions.session((), (), settings)
    return pool, Labelling(form.task, names, pool.examples, predictions, session, settings=settings, scale=form.scale)


def _few(rows: Sequence[Example], earlier: Collection[str], models: InspectedModels, seed: int) -> Sequence[Example]:
    """Return rows that models answer: all if they are answered already, else some, and those that were asked about."""
    if models.precomputed or len(rows) <= ANSWERED_ROWS:
        return rows
    drawn = {*np.random.default_rng(seed).choice(len(rows), ANSWERED_ROWS, replace=False).tolist()}
    few = [row for place, row in enumerate(rows) if place in drawn or row.id in earlier]
    log.warning("the models answer %d of the %d rows of the pool, drawn at random", len(few), len(rows))
    return few


Learnt = tuple[Callable[[Sequence[LabelEvent]], Draws], Callable[[Sequence[LabelEvent]], Floats] | None]
"""What turns answers into a belief, and what tells which question to ask; None if all are asked in order."""


def _votes_learnt(pool: AnsweredPool, judges: Judges, answering: Answering, runtime: Runtime) -> Learnt:
    """Return what learns from votes, beside judges' verdicts; with these it asks what tells most."""
    nobody, ids = np.zeros(0, dtype=np.int64), tuple(row.id for row in pool.rows)
    people = Votes("the pool", pool.names, ids, ("",), nobody, nobody, nobody, nobody, *np.zeros((2, 0)))
    beside = verdicts_beside(judges, people, answering, judges.options.limits, runtime)
    verdicts = {name: of_judge for name, (of_judge, _) in beside.items()}
    first_rows = {pool.rows[question.row].id for question in pool.questions[:ANSWERED_ROWS]}
    alike, notes = likeness_beside(people, answering, first_rows, runtime)
    for note in notes if alike is None else ():
        log.warning(note)
    units = [(question.row, *question.models) for question in pool.questions]

    def joined(answered: Sequence[LabelEvent]) -> Preferences:
        rows, first, second = np.array([units[event.row] for event in answered], dtype=np.int64).reshape(-1, 3).T
        values, tables = [VALUES[event.label] for event in answered], [*verdicts.values()]
        return Preferences.joined(len(pool.names), rows, first, second, values, tables, likeness=alike)

    def believe(answered: Sequence[LabelEvent]) -> Draws:
        return by_votes.draw(joined(answered), np.random.default_rng(0))

    if not verdicts:
        return believe, None
    tables = [*verdicts.values(), *([] if alike is None else [alike])]
    signs = [1 if first < second else -1 for _, first, second in units]
    keys = [(row, min(pair), max(pair)) for row, *pair in units]
    of_units = [[sign * table.get(key, np.nan) for sign, key in zip(signs, keys, strict=True)] for table in tables]
    row, first, second = np.array(units).T
    nothing = np.zeros(len(units))
    questions = Preferences(
        len(pool.names), row, first, second, nothing, nothing, nothing, np.array(of_units), alike=alike is not None
    )
    unasked = np.array([bool(pool.known(example)) for example in pool.examples])

    def gains(answered: Sequence[LabelEvent]) -> Floats:
        return np.where(unasked, -np.inf, by_votes.gains(joined(answered), questions))

    return believe, gains


def _marks_learnt(pool: AnsweredPool, judges: Judges, answering: Answering, runtime: Runtime) -> Learnt:
    """Return what learns from marks, beside those of judges."""
    ids = [row.id for row in pool.rows]
    row_of = {row: n for n, row in enumerate(ids)}
    marks_of = judges.marks(answering, runtime)
    of_judges = np.full((len(marks_of), len(pool.names), len(ids)), np.nan)
    for number, (name, of_judge) in enumerate(marks_of.items()):
        check_marked(name, of_judge, pool.names)
        in_pool = [n for n, row in enumerate(of_judge.rows) if row in row_of]
        values = {model: of_model[in_pool] for model, of_model in of_judge.values.items()}
        of_judges[number] = aligned(values, pool.names, [of_judge.rows[n] for n in in_pool], ids)
    levels = np.linspace(0, 1, len(pool.form.labels))

    def believe(answered: Sequence[LabelEvent]) -> Draws:
        people: Floats = np.full((len(pool.names), len(ids)), np.nan)
        for event in answered:
            question = pool.questions[event.row]
            people[question.models[0], question.row] = levels[event.label]
        complete = ~np.isnan(people).any(axis=0)
        if not marks_of and complete.any():  # as the report on the file
            belief = by_rows.draw(RowEvidence.of_means(people[:, complete]), np.random.default_rng(0))
            return replace(belief, outlook=None)  # of rows, and people count marks
        judged = ~(np.isnan(people).all(axis=0) & np.isnan(of_judges).all(axis=(0, 1)))
        judged[0] |= not judged.any()  # nobody said anything yet
        return by_marks.draw(JudgedMarks(people[:, judged], of_judges[:, :, judged]), np.random.default_rng(0))

    return believe, None
