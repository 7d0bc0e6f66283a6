"""Runs and judgements of retrieval as rows: TREC's files, and tables with a document in each line.

A row is a query: its id, and a ranking of documents as JSON, an object of documents with their scores (`prediction`) or
their grades (`reference`). Lines may stand in any order.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ranker.errors import DataError
from ranker.files import text
from ranker.files.columns import Record
from ranker.limits import LIMITS, Limits

RUN, QRELS = "prediction", "reference"
"""Columns of documents with scores, and with grades."""

RUN_LINE = re.compile(r"\A\s*\S+\s+Q?0\s+\S+\s+\d+\s+[-+.\deE]+\s+\S+\s*", re.IGNORECASE)
QRELS_LINE = re.compile(r"\A\s*\S+\s+Q?0\s+\S+\s+-?\d+\s*", re.IGNORECASE)
"""Lines of TREC's files: query, Q0, document, rank, score, tag; and query, 0, document, grade."""

SHOWN = 5
"""Lines that show what a file holds."""

QUERIES = ("id", "query_id", "qid", "query-id", "query", "topic")
DOCUMENTS = ("document", "doc_id", "docid", "document_id", "corpus-id", "docno", "doc")
GRADES = ("grade", "relevance", "rel", "qrel")
"""Columns of tables with a document in each line."""

MOST_GRADE = 10
"""Highest whole number that is read as a grade where nothing names it."""

MOST_FILLED = 0.8
"""Share of documents that a query has of all, above which they are columns of records."""


def by_queries(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[Record]:
    """Yield the queries of a run or of judgements, in the order of their first lines.

    Raises:
        DataError: a line is of another kind than the first, a number is none, or a document stands twice.
    """
    numbered = text.nonblank_lines(path, encoding, limits)
    first = next(numbered, None)
    if first is None:
        return
    is_run, queries = bool(RUN_LINE.fullmatch(first[1])), dict[str, tuple[int, dict[str, float]]]()
    pattern = RUN_LINE if is_run else QRELS_LINE
    for count, (number, line) in enumerate(chain([first], numbered), 1):
        limits.check(path, "values", count)
        if not pattern.fullmatch(line):
            kind = "query, Q0, document, rank, score and tag" if is_run else "query, 0, document and grade"
            raise DataError.at(f"{path}, line {number}", f"a line needs {kind} (got {line.strip()[:50]!r})", value=line)
        cells = line.split()
        _add(queries, cells[0], cells[2], cells[4] if is_run else cells[3], path, number)
    column = RUN if is_run else QRELS
    for query, (number, documents) in queries.items():
        yield number, {"id": query, column: json.dumps(documents if is_run else _whole(documents))}


def _whole(documents: Mapping[str, float]) -> dict[str, int]:
    return {document: int(grade) for document, grade in documents.items()}


def _add(
    queries: dict[str, tuple[int, dict[str, float]]], query: str, document: str, cell: str, path: Path, number: int
) -> None:
    """Add a document with its number to a query."""
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError.at(f"{path}, line {number}", f"a score must be a number (got {cell[:50]!r})", value=cell)
    documents = queries.setdefault(query, (number, {}))[1]
    if document in documents:
        problem = f"the document {document[:50]!r} stands twice for the query {query[:50]!r}"
        raise DataError.at(f"{path}, line {number}", problem, value=document)
    documents[document] = value


def looks_like_trec(path: Path, encoding: str = "", limits: Limits = LIMITS) -> bool:
    """Return whether the first lines of a file are those of a run, or of judgements."""
    first_lines = [line for line in islice(text.lines(path, encoding, limits), SHOWN) if line.strip()]
    return bool(first_lines) and any(all(map(pattern.fullmatch, first_lines)) for pattern in (RUN_LINE, QRELS_LINE))


def by_documents(records: Iterable[Record], path: Path) -> Iterator[Record]:
    """Yield the rows of a table; a query a row, where each line holds a document and its rank, score or grade.

    Such a table has queries with several lines, and names of documents without blanks: texts are no names.

    Raises:
        DataError: a number is none, or a document stands twice for a query.
    """
    following = iter(records)
    first = next(following, None)
    if first is None:
        return
    names, lines = _columns(first[1]), chain([first], following)
    if names is None:
        yield from lines
        return
    table, (query, document, value) = [*lines], names
    several = len({str(cells.get(query)) for _, cells in table}) < len(table)
    if not several or any(" " in str(cells.get(document)) for _, cells in table):
        yield from table
        return
    queries: dict[str, tuple[int, dict[str, float]]] = {}
    for number, cells in table:
        if missing := next((name for name in names if cells.get(name) is None), None):
            raise DataError.at(f"{path}, line {number}", f"the column {missing!r} is empty")
        _add(queries, str(cells[query]), str(cells[document]), str(cells[value]), path, number)
    is_rank, is_grade = value.casefold() == "rank", value.casefold() in GRADES
    for name, (number, documents) in queries.items():
        scores = {document: -rank for document, rank in documents.items()} if is_rank else documents
        yield number, {"id": name, QRELS if is_grade else RUN: json.dumps(_whole(scores) if is_grade else scores)}


def _columns(cells: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return the columns of query, document, and grade, score or rank; None if the table is of something else."""
    folded = {name.strip().casefold(): name for name in cells}
    query, document, value = (
        next((folded[name] for name in group if name in folded), "")
        for group in (QUERIES, DOCUMENTS, (*GRADES, "score", "rank"))
    )
    return (query, document, value) if query and document and value else None


def of_objects(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]] | None:
    """Return the rows of an object of objects, as BEIR and ranx write runs and judgements; None if it is none.

    Example:
        >>> [*of_objects({"q1": {"d1": 2, "d2": 0}, "q2": {"d9": 1}})]
        [{'id': 'q1', 'reference': '{"d1": 2, "d2": 0}'}, {'id': 'q2', 'reference': '{"d9": 1}'}]
        >>> of_objects({"row 1": {"a": 0.5}, "row 2": {"a": 0.7}}) is None
        True
    """
    values = [*content.values()]
    if len(values) < 2 or not all(isinstance(value, dict) and value for value in values):
        return None
    numbers = [number for value in values for number in value.values()]
    if not all(isinstance(number, (int, float)) and not isinstance(number, bool) for number in numbers):
        return None
    names, filled = {name for value in values for name in value}, sum(map(len, values))
    if len(names) == max(map(len, values)) or filled > MOST_FILLED * len(names) * len(values):
        return None  # records by id, most with the same columns
    are_grades = all(number == int(number) and 0 <= number <= MOST_GRADE for number in numbers if math.isfinite(number))
    column = QRELS if are_grades else RUN
    return ({"id": query, column: json.dumps(documents)} for query, documents in content.items())
