"""Decide which columns hold answers and which the truth. Ambiguous files are refused: names alone are not trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ranker.datasets.mapping import label_map_reading
from ranker.errors import Absence, Assumption, DataError, FileReading, Question, UnknownName
from ranker.files.cells import cell_text
from ranker.files.npy import PLACES
from ranker.sources.tables import groups, names
from ranker.sources.tables.base import UNIT, Columns, Kind, TableHints, some
from ranker.sources.tables.cells import READABLE, UNKNOWN, Labels, distinct, is_text, numbers_of
from ranker.sources.tables.groups import ModelColumns
from ranker.sources.tables.keys import Keys, check_column
from ranker.sources.tables.ranked import check_places

RECIPES = {
    ("instance_id", "stats"): "HELM",
    ("doc", "metric"): "lighteval",
    ("__doc__", "__metric__"): "lighteval",
}
"""Columns of other programs for which docs/logs.md has a recipe, the last of lists or objects -> the program."""


def check_program(columns: Columns) -> None:
    """Refuse a file of a program for which there is a recipe and no reader.

    Raises:
        DataError: the file is from such a program.
    """
    nested = {*columns.unread, *columns.groups}
    held = {*columns.cells, *nested}
    program = next(
        (program for names, program in RECIPES.items() if held.issuperset(names) and names[-1] in nested), ""
    )
    if program:
        recipe = "docs/logs.md, From other programs, has the lines of pandas that make a table of it"
        raise DataError.of(columns.origin, f"is written by {program}, and not read; {recipe}")


EMPTY, WORDS = "empty", "cells that are no labels"
"""Contents of columns that are not read; those of a model that failed throughout may be so."""


@dataclass(frozen=True)
class ColumnRoles:
    """Columns of the answers and the truth.

    Attributes:
        truth: column of true labels; "" if unknown.
        notes: how the columns were read, in sentences.
        doubt: why other columns may hold the answers, in a sentence; "" if the choice is plain.
    """

    models: tuple[ModelColumns, ...]
    truth: str = ""
    notes: tuple[str, ...] = ()
    doubt: str = ""


def find(columns: Columns, hints: TableHints, keys: Keys, labels: Labels) -> ColumnRoles:
    """Find the columns of the answers and the truth.

    Raises:
        UnknownName: a column that the user named does not exist.
        DataError: the choice is ambiguous; the message lists the candidates and the option that decides.
    """
    free = [name for name in columns.cells if name not in keys.columns | {hints.truth}]
    resolver = _ColumnRoleResolver(columns, hints, labels, free)
    infer_roles = resolver.outcome_roles if hints.answers == "outcomes" else resolver.inferred_roles
    layout = resolver.named_roles() if hints.prediction else infer_roles()
    for model in layout.models:
        check_places(columns, model.columns if model.classes else (), labels)
    used = {column for model in layout.models for column in (*model.columns, model.beside)} | {layout.truth}
    notes = list(layout.notes)
    if layout.truth and layout.truth != hints.truth:
        note = f"{layout.truth!r} is read as the truth, by its name; to change that, use `truth` and `prediction`"
        notes.append(Assumption(note))
    left = [name for name in free if name not in used]
    unread = list(resolver.unread(left))
    only = [name for model in layout.models for name in model.columns]
    doubtful = len(only) == 1 < len(left) and names.is_true(only[0]) and not hints.prediction
    doubt = f"{only[0]!r} is read as the answers; {'; '.join(unread)}" if doubtful and unread else ""
    return replace(layout, notes=(*notes, *unread), doubt=doubt)


class _ColumnRoleResolver:
    """Candidate columns of one file: groups of scores, and single columns, some of them labels."""

    def __init__(self, columns: Columns, hints: TableHints, labels: Labels, free: Sequence[str]) -> None:
        self.columns, self.hints, self.labels, self.free = columns, hints, labels, free
        self.groups = groups.find(columns, hints, labels, free)
        inside = {column for model in self.groups.values() for column in model.columns}
        self.single = [name for name in free if name not in inside]
        self._cells: dict[str, names.LabelCells] = {}
        self.labelled = [name for name in self.single if names.holds_labels(columns, name, self.label_cells(name))]
        if any(names.is_prediction(name) and self._is_readable(name) for name in self.labelled):
            self.labelled = [name for name in self.labelled if self._is_readable(name) or not self._is_free(name)]
        self.labelled = [name for name in self.labelled if not self._has_clearer_twin(name)]

    def _has_clearer_twin(self, name: str) -> bool:
        """Return True if another column holds the same labels, as names, or the only ones of the two that are known."""
        clear = self._clearness(name)
        clearer = (column for column in self.labelled if self._clearness(column) > clear)
        return any(names.are_twins(self.columns, name, column) for column in clearer)

    def _clearness(self, name: str) -> tuple[bool, bool]:
        return self._is_readable(name), not names.holds_numbers(self.columns, name)

    def label_cells(self, name: str) -> names.LabelCells:
        """Count the cells of a column that are labels, once."""
        if name not in self._cells:
            self._cells[name] = names.label_cells(self.columns, name, self.labels)
        return self._cells[name]

    def unread(self, left: Sequence[str]) -> Iterator[str]:
        """Report the columns that are not read; ignored labels are an absence unless the user named the answers."""
        labelled = [name for name in left if name in self.labelled]
        if labelled:
            note = f"{some(labelled)} {_verb(labelled)} not read; choose columns with `prediction`"
            yield note if self.hints.prediction else Absence(note)
        if self.hints.prediction:
            return
        by_content: dict[str, list[str]] = {}
        for name in (name for name in left if name not in labelled):
            single = name not in groups.nested_columns(self.columns)
            empty = not distinct(self.columns.cells[name])
            number = names.holds_numbers(self.columns, name)
            held = EMPTY if empty else "numbers" if number else WORDS
            by_content.setdefault(held if single else "lists or objects", []).append(name)
        for name in self.columns.unread:
            by_content.setdefault("lists or objects", []).append(name)
        for held, columns in by_content.items():
            holds = _listed(columns, held) if held != EMPTY else f"{some(columns)} {_verb(columns)} empty"
            may_be_models = held in (EMPTY, WORDS) and not all(map(self._is_free, columns))
            yield (Absence if may_be_models else Assumption)(f"{holds}: not read")

    def named_roles(self) -> ColumnRoles:
        """Return the columns, or groups of columns, that the user named."""
        models = []
        for name in self.hints.prediction:
            if name not in self.groups and name not in (*self.columns.cells, *self.columns.unread):
                raise UnknownName("column", name, [*self.groups, *self.columns.cells], place=self.columns.origin)
            if name not in self.groups:
                check_column(self.columns, name)
            models.append(self.groups.get(name) or self._single_column(name))
        if len(models) == 1 and (
            names.words(models[0].name) & names.NAMED or names.plain(models[0].name) in names.GENERIC
        ):
            models = [replace(models[0], name="")]  # the name describes the content, not the model
        used = {column for model in models for column in model.columns}
        return ColumnRoles(tuple(models), self._find_truth([name for name in self.labelled if name not in used]))

    def outcome_roles(self) -> ColumnRoles:
        """Return the columns of numbers on the scale that are named for nothing else."""
        candidates = [name for name in self.single if self._may_be_right(name)]
        right = [name for name in candidates if names.is_right(name)]
        unnamed = [name for name in candidates if not names.is_true(name) and not names.is_prediction(name)]
        chosen = right or unnamed or candidates
        if not chosen:
            low, high = self.hints.scale
            hint = "" if self.hints.scale != UNIT else "; `range` says what is worst and best, if they are others"
            raise self._no_column_error(f"outcomes, numbers from {low:g} to {high:g}", hint)
        truth = self._find_truth([name for name in self.labelled if name not in chosen])
        return ColumnRoles(_models(chosen, "outcomes"), truth, (_listed(chosen, "outcomes"),))

    def inferred_roles(self) -> ColumnRoles:
        """Infer the roles from the columns."""
        if self.groups:
            return self._score_roles()
        if len(self.columns.cells) == 1 and _hint(next(iter(self.columns.cells)), self.labels):
            raise self._no_column_error("answers")
        self._check_parts()
        right = [n for n in self.single if names.is_right(n) and self._may_be_right(n)]
        if self.hints.answers != "labels" and (scores := self._scores_alone()):
            return self._alone_roles(scores)
        models, truth = self._split_labels([name for name in self.labelled if name not in right], bool(right))
        if models:
            self._check_bits(models, truth)
            note = _listed(models, "labels")
            if len(models) == 1 and names.is_true(models[0]):
                note = Assumption(f"{models[0]!r} is read as the answers, since no other column could hold them")
            return ColumnRoles(_models(models, "labels"), truth, (note,))
        if right:
            note = _listed(right, "outcomes: correctness, not predictions")
            return ColumnRoles(_models(right, "outcomes"), truth, (note,))
        return self._fallback_roles()

    def _check_parts(self) -> None:
        """Refuse a text column of which a minority are labels: it may be a model or a comment."""
        labelled = {*self.labelled}
        for name in (name for name in self.single if name not in labelled):
            cells = self.label_cells(name)
            if cells.readable and not names.holds_numbers(self.columns, name):
                strange = next(v for v in distinct(self.columns.cells[name]) if self.labels.index(v) == UNKNOWN)
                raise DataError.at(
                    self.columns.origin,
                    f"{cells.readable:,} of {cells.readable + cells.unread:,} cells of the "
                    f"column {name!r} are labels of the task, and others not, such as {cell_text(strange)[:50]!r}; "
                    "`label_map` says what they stand for, or `prediction` which columns are to be read",
                    option="label_map",
                    value=cell_text(strange),
                )

    def _is_readable(self, name: str) -> bool:
        return self.label_cells(name).readable > 0

    def _is_free(self, name: str) -> bool:
        """Return True if a column holds texts that are no labels and hardly repeat."""
        cells = self.label_cells(name)
        return cells.readable == 0 and cells.strangers > READABLE * cells.unread

    def _scores_alone(self) -> list[str]:
        """Return columns of one score for two labels: by what the user says of the answers, else by their names."""
        numeric = [name for name in self.single if not names.is_true(name) and names.holds_numbers(self.columns, name)]
        if self.hints.answers:
            exact = [name for name in numeric if names.has_fractions(self.columns, name)] or numeric
            shares = [name for name in exact if names.in_unit(self.columns, name)]
            return (shares or exact) if self.hints.answers == "probabilities" else exact
        two = len(self.labels.task.labels) == 2
        if not two or not all(map(names.is_true, self.labelled)) or any(map(names.is_right, numeric)):
            return []
        judged = bool(self.labelled or self.hints.truth)
        scores = [name for name in numeric if names.holds_probability(self.columns, name, judged)]
        clear = self.hints.truth or any(names.words(name) & names.TRUE for name in self.labelled)
        if self.labelled and not clear and not any((numbers_of(self.columns, name)[0] < 0.5).any() for name in scores):
            return []  # a label and its probability, as pipelines of transformers answer: that of the likelier one
        return scores

    def _alone_roles(self, scores: Sequence[str]) -> ColumnRoles:
        """Return the roles of columns of one score for two labels."""
        kind = self.hints.answers or "probabilities"
        parts = [groups.split(self.columns, self.labels, name) for name in scores]
        classes = [part.class_index if part else self._second(name) for name, part in zip(scores, parts, strict=True)]
        models = [ModelColumns(name, (name,), (label,), kind) for name, label in zip(scores, classes, strict=True)]
        note = f"{_listed(scores, 'probabilities')}, by {'its name' if len(scores) == 1 else 'their names'}"
        notes = () if self.hints.answers else (Assumption(f"{note}; `answers` says what else it may be"),)
        models = [replace(models[0], name="")] if len(models) == 1 else models
        return ColumnRoles(tuple(models), self._find_truth(self.labelled), notes)

    def _fallback_roles(self) -> ColumnRoles:
        """Choose the one column of texts, which fails when it is read; without labels there is no other."""
        numeric = [name for name in self.single if names.holds_numbers(self.columns, name)]
        texts = [name for name in self.single if is_text(self.columns.cells[name]) and name not in numeric]
        if len(texts) == 1:
            return ColumnRoles(_models(texts, "labels"))
        if numeric:
            raise self._numbers_question(numeric, _listed(numeric, "numbers"))
        raise self._no_column_error("answers")

    def _numbers_question(self, numeric: Sequence[str], problem: str, **fields: str) -> Question:
        """Return the question what columns of numbers are."""
        kinds = self._kinds(numeric)
        text = f"{problem}; `answers` says what they are: {', '.join(f'{kind}{note}' for kind, note in kinds.items())}"
        advice = "; `label_map`, which label each is the score of, if they are scores" if len(numeric) > 1 else ""
        readings = [FileReading.by("answers", kind) for kind in kinds]
        return Question.at(self.columns.origin, f"{text}{advice}", option="answers", readings=readings, **fields)

    def _score_roles(self) -> ColumnRoles:
        """Return groups of columns, and columns of one score."""
        models = list(self.groups.values())
        models += [self._single_column(name) for name in self.single if self._is_decision(name)]
        truth = self._find_truth(self.labelled)
        if len(models) == 1:
            (only,) = models
            beside = [name for name in self.labelled if names.is_prediction(name) and name != truth]
            of_file = "/" not in only.columns[0] or only.columns[0] in groups.nested_columns(self.columns)
            name = "" if of_file or names.plain(only.name) in names.GENERIC else only.name
            models = [replace(only, name=name, beside=beside[0] if len(beside) == 1 else "")]
        return ColumnRoles(tuple(models), truth)

    def _split_labels(self, labelled: Sequence[str], judged: bool) -> tuple[list[str], str]:
        """Split columns of labels into the answers and the truth; a truth alone is the answers unless outcomes are."""
        predicted = [name for name in labelled if names.is_prediction(name)]
        true = [] if self.hints.truth else [name for name in labelled if names.is_true(name)]
        unnamed = [name for name in labelled if name not in {*predicted, *true}]
        truth = self.hints.truth or next(iter(true), "")
        if len(true) == 1 and not unnamed and not predicted and not judged:
            self._check_numbers(true[0])
            return true, ""
        unclear = [*true] if len(true) > 1 else []
        if predicted and unnamed and not all(map(names.is_bare, predicted)):
            unclear += [*predicted, *unnamed]
        if unclear:
            text = (
                f"{some(unclear, 5)} may hold the answers, or something else; `prediction` says which hold the answers"
            )
            single = [[name] for name in dict.fromkeys((*predicted, *unclear))]
            ways = single if len(true) > 1 else [predicted, [*predicted, *unnamed]]
            readings = map(prediction_reading, ways)
            raise Question.at(self.columns.origin, text, option="prediction", readings=readings)
        return predicted or unnamed, truth

    def _find_truth(self, labelled: Sequence[str]) -> str:
        """Return the one column named as the truth; "" if there are none or several."""
        scores, truth = PLACES  # of arrays, as `np.savez` makes of `trainer.predict`
        in_place = truth if scores in self.columns.groups else ""
        true = [name for name in labelled if names.is_true(name) or name == in_place]
        return self.hints.truth or (true[0] if len(true) == 1 else "")

    def _single_column(self, name: str) -> ModelColumns:
        """Return the model of one column."""
        kind = self.hints.answers
        if not kind and name in self.labelled:
            kind = "outcomes" if names.is_right(name) and self._may_be_right(name) else "labels"
        if kind in ("labels", "outcomes"):
            return ModelColumns(name, (name,), kind=kind)
        part = groups.split(self.columns, self.labels, name)
        if kind:
            return ModelColumns(name, (name,), (part.class_index if part else self._second(name),), kind)
        if self._is_decision(name):
            before, sign, _ = name.rpartition("/")
            return ModelColumns(before if sign else "", (name,), (self._second(name),), "logits")
        if names.holds_numbers(self.columns, name):
            raise self._numbers_question([name], f"the column {name!r} holds numbers", value=name)
        return ModelColumns(name, (name,), kind="labels")

    def _second(self, name: str) -> int:
        """Return the class that a single score is of, the second of two labels; ask if these have no order."""
        if self.labels.second is None and len(self.labels.task.labels) == 2:
            readings = [label_map_reading({name: label}) for label in self.labels.task.labels]
            ways = " or ".join(reading.answer for reading in readings)
            problem = f"{name!r} is the score of one label, and only you know of which; say {ways}"
            raise Question.at(self.columns.origin, problem, option="label_map", value=name, readings=readings)
        return 1 if self.labels.second is None else self.labels.second

    def _may_be_right(self, name: str) -> bool:
        return names.holds_outcomes(self.columns, name, self.hints.scale)

    def _is_decision(self, name: str) -> bool:
        return len(self.labels.task.labels) == 2 and names.holds_decision(self.columns, name)

    def _kinds(self, scores: Sequence[str]) -> dict[str, str]:
        """Return the possible meanings of columns with one number a row -> a remark on each."""
        two = len(self.labels.task.labels) == 2
        unit = all(names.in_unit(self.columns, name) for name in scores)
        second = "" if self.labels.second is None else f" (of {self.labels.task.labels[self.labels.second]!r})"
        kinds = {"probabilities": second} if two and unit else {}
        kinds |= {"logits": " (a decision value)"} if two else {}
        return kinds | ({"outcomes": ""} if unit else {}) | {"labels": ""}

    def _check_bits(self, models: Sequence[str], truth: str) -> None:
        """Refuse 0 and 1 that may be labels or outcomes; a truth in the same numbers shows that they are labels."""
        unnamed = [name for name in models if not names.words(name) & names.NAMED]
        bits = [name for name in unnamed if names.holds_bits(self.columns, name, self.labels)]
        mapped = {"0", "1"} <= set(self.hints.label_map)
        if bits and not self.hints.answers and not mapped and not (truth and names.holds_whole(self.columns, truth)):
            problem = f"{_listed(bits, '0 and 1')}, which may be labels, or say whether an answer is right"
            advice = (
                "; `prediction` says which columns are to be read, if these are not" if len(bits) < len(models) else ""
            )
            text = f"{problem}; `answers` says which: labels, outcomes{advice}"
            readings = [FileReading.by("answers", kind) for kind in ("labels", "outcomes")]
            raise Question.at(self.columns.origin, text, option="answers", readings=readings)

    def _check_numbers(self, truth: str) -> None:
        """Refuse numbers beside a truth alone: of another form, or whole ones, labels in an unknown order."""
        for problem in names.other_numbers(self.columns, self.single):
            raise DataError.at(self.columns.origin, problem)
        task = self.labels.task
        numeric = [name for name in self.single if name != truth and names.holds_whole(self.columns, name)]
        if numeric and not (task.ordered or task.numbers) and len(task.labels) > 2:
            problem = f"{_listed(numeric, 'numbers')}; `label_map` says which label each stands for (0 = ...; 1 = ...)"
            raise DataError.at(self.columns.origin, problem, option="label_map")

    def _no_column_error(self, missing: str, advice: str = "") -> DataError:
        unread = [f"{name!r} holds {held}, which are not read" for name, held in self.columns.unread.items()]
        note = f"; {', '.join(unread[:3])}" if unread else ""
        hint = _hint(next(iter(self.columns.cells)), self.labels) if len(self.columns.cells) == 1 else ""
        hint = hint or next((f"; {problem}" for problem in names.other_numbers(self.columns, self.free)), "")
        columns = f"(columns: {some(self.columns.cells, 10)}){note}{hint}{advice}"
        return DataError.at(self.columns.origin, f"no column holds {missing} {columns}", allowed=self.columns.cells)


def _hint(name: str, labels: Labels) -> str:
    """Suggest what is wrong with a file whose only column has this name."""
    sign = next((sign for sign in ";\t|," if sign in name), None)
    if sign:
        return f"; are its cells separated by {sign!r}? in a .csv they are by commas, in a .tsv by tabs"
    return "; is that a row, and the line that names the columns missing?" if labels.index(name) >= 0 else ""


def _models(columns: Sequence[str], kind: Kind) -> tuple[ModelColumns, ...]:
    """Return a model for each column: a single one has the file's name, and ``model/label`` names the model."""
    before = [
        name.rpartition("/")[0] for name in columns if names.words(name.rpartition("/")[2]) <= names.NAMED | names.RIGHT
    ]
    short = len(set(before) - {""}) == len(columns)
    called = dict(zip(columns, before if short else columns, strict=True))
    return tuple(ModelColumns("" if len(columns) == 1 else called[name], (name,), kind=kind) for name in columns)


def prediction_reading(columns: Sequence[str]) -> FileReading:
    """Return the reading of columns as the answers."""
    return FileReading(" ".join(f"`prediction={name}`" for name in columns), {"prediction": (*columns,)})


def _verb(columns: Sequence[str]) -> str:
    return "is" if len(columns) == 1 else "are"


def _listed(columns: Sequence[str], content: str) -> str:
    """Describe the content of columns."""
    return f"{some(columns)} {'holds' if len(columns) == 1 else 'hold'} {content}"
