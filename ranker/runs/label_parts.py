"""Answers in parts: grades of the documents that models found for a query, and boxes for the labels of a row."""

from __future__ import annotations

import logging
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from factors import Example
from ranker.datasets.identity import row_key
from ranker.errors import DataError, UsageError
from ranker.files import trec
from ranker.files.reader import read_columns
from ranker.limits import LIMITS, Limits
from ranker.runs.label import Labelling
from ranker.runs.label_pool import Panel, PoolFile, Wording
from ranker.runs.label_predictions import ValuePredictions
from ranker.tasks.values import has_values

log = logging.getLogger(__name__)

GRADES = {"0": "Not relevant", "1": "Related", "2": "Relevant", "3": "Just what was asked for"}
"""Grade -> as people read it."""

IDS = ("_id", "id", *trec.DOCUMENTS)
TITLES = ("title",)
TEXTS = ("text", "contents", "content", "page_content", "body", "passage", "abstract")
"""Columns of documents."""


@dataclass(frozen=True)
class GradedPool(PoolFile):
    """Queries, and the documents that models found for them.

    Attributes:
        documents: name -> text, of those that have one.
        parts_of: the documents of each query by its key, in the order in which they are graded.
    """

    documents: Mapping[str, str]
    parts_of: Mapping[Hashable, tuple[str, ...]]

    @property
    def labels(self) -> tuple[str, ...]:
        """The grades of a document."""
        return tuple(GRADES)

    @property
    def hint(self) -> str:
        """Return "": nothing is typed."""
        return ""

    @property
    def wording(self) -> Wording:
        """Words for people; which model found a document is hidden."""
        return Wording("query", "How relevant is each document?", "".join(GRADES), GRADES, blind=True)

    def parts(self, row: Example) -> tuple[str, ...]:
        """Return the documents of a query."""
        return self.parts_of[row_key(row)]

    def panel(self, row: Example, graded: Collection[str] = ()) -> Panel:
        """Return the next document of a query, of which some are graded."""
        documents = self.parts(row)
        left = [document for document in documents if document not in graded]
        title = f"Document {len(documents) - len(left) + 1} of {len(documents)}"
        return Panel((self.documents.get(left[0], left[0]),), titles=(title,))


def in_parts(pool: PoolFile, labelling: Labelling, documents: Path | None, limits: Limits = LIMITS) -> PoolFile:
    """Return a pool of queries whose documents people grade, or whose boxes have the labels of models' answers.

    It is the pool itself where people answer otherwise. Documents without a file of texts are shown by their names.

    Raises:
        UsageError: answers are no rankings of documents, or the file has no column of ids, or of texts.
        DataError: the file cannot be read, or has two texts of a document.
    """
    task, predictions = labelling.task, labelling.predictions
    is_graded = has_values(task) and task.graded
    if documents is not None and not is_graded:
        raise UsageError.about("documents", "is for rankings", documents)
    if not (has_values(task) and isinstance(predictions, ValuePredictions)):
        return pool
    if not is_graded:
        return replace(pool, task=task)
    rankings, seed = zip(*predictions.values, strict=True), labelling.settings.seed
    parts_of = {
        row_key(row): task.parts(of_row, seed + place)
        for place, (row, of_row) in enumerate(zip(labelling.rows, rankings, strict=True))
    }
    wanted = {document for of_row in parts_of.values() for document in of_row}
    texts = {} if documents is None else read_documents(documents, wanted, limits)
    if len(texts) < len(wanted):
        lacks = "`documents` is to name a file with their texts" if documents is None else f"{documents} lacks them"
        log.warning("%d of %d documents are shown by their names: %s", len(wanted) - len(texts), len(wanted), lacks)
    return GradedPool(
        **{part.name: getattr(pool, part.name) for part in fields(pool)}, documents=texts, parts_of=parts_of
    )


def read_documents(path: Path, wanted: Collection[str], limits: Limits = LIMITS) -> dict[str, str]:
    """Return the texts of some documents after their titles, by their names, from a file such as BEIR's corpus.

    Raises:
        UsageError: there is no column of ids, or of texts.
        DataError: the file cannot be read, or has two texts of a document.
    """
    columns = read_columns(path, limits=limits)
    folded = {name.strip().casefold(): name for name in columns.cells}
    of_ids, of_titles, of_texts = (
        next((folded[name] for name in names if name in folded), "") for names in (IDS, TITLES, TEXTS)
    )
    if missing := next((names for names, column in ((IDS, of_ids), (TEXTS, of_texts)) if not column), None):
        raise UsageError.at(path, f"documents need a column {missing[0]!r} (columns: {', '.join(folded)})", value=path)
    texts: dict[str, str] = {}
    for row in columns.rows():
        name = str(row.cells[of_ids])
        if name not in wanted:
            continue
        title, text = (str(row.cells[column] or "") if column else "" for column in (of_titles, of_texts))
        text = "\n\n".join(filter(None, (title, text)))
        if texts.setdefault(name, text) != text:
            raise DataError.at(row.place, f"the document {name[:50]!r} has another text before", value=name)
    return texts
