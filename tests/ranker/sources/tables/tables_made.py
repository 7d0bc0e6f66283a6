"""Small files of tables, and readings of them, that tests share."""

import gzip
import io
import json
import zipfile

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from ranker.files import reader
from ranker.sources.tables import join, reading
from ranker.sources.tables.base import RequestedRows, TableHints
from ranker.tasks.classes import ClassificationTask

TASK = ClassificationTask("sentiment", ("negative", "positive"), {"positive": ("good",)})
STATES = ("answered", "no answer", "error", "missing")
ROWS = RequestedRows(("a", "b", "c", "d"), (("Lovely.",), ("Dull.",), ("Fine.",), ("Poor.",)))


def written(path, content):
    """A file with a content: text, bytes, JSON, arrays, or columns of Parquet; gzipped where its name says so."""
    if path.suffix == ".parquet" and isinstance(content, dict):
        parquet.write_table(pa.table(content), path)
    elif path.suffix == ".npy" and isinstance(content, np.ndarray):
        np.save(path, content)
    elif path.suffix == ".npz" and isinstance(content, dict):
        np.savez(path, **content)
    else:
        content = json.dumps(content) if isinstance(content, (dict, list)) else content
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def csv(*rows):
    """A CSV of rows, the header first, each a text or its cells."""
    return "\n".join(row if isinstance(row, str) else ",".join(map(str, row)) for row in rows) + "\n"


def zipped(**members):
    """The bytes of a zip file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def npy(array, **options):
    """The bytes of an array."""
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def understood(path, content=None, task=TASK, rows=None, **hints):
    """Parse a table, which is written first if a content is given."""
    if content is not None:
        written(path, content)
    name = path.name.partition(".")[0]
    return reading.parse_predictions(reader.read_columns(path), task, TableHints(**hints), rows, name)


def answers(path, content=None, task=TASK, rows=ROWS, **hints):
    """The answers of a table to rows."""
    return join.join(understood(path, content, task, rows, **hints), rows)


def joined_by(joined):
    """The way in which rows were matched: "id", "number", "order" or "text"."""
    parts = {"by their ids": "id", "are the numbers of the rows": "number", "by their texts": "text"}
    return next((way for part, way in parts.items() if part in joined.notes[0]), "order")


def differing(joined):
    """The number of rows with another text in the file, as a note counts them."""
    counted = [note.split()[0] for note in joined.notes if note.endswith("another text in the file: missing")]
    return int(counted[0]) if counted else 0


def said_by(model):
    """The names of a model's labels; the state where it gives none."""
    return [
        TASK.labels[label] if label >= 0 else STATES[state]
        for label, state in zip(model.predicted, model.state, strict=True)
    ]
