"""Rows as data sets and files hold them."""

import json
from types import SimpleNamespace


class NamedRows(list):
    """Rows with the features of a `datasets.Dataset`, which names its label numbers."""

    def __init__(self, rows, names):
        super().__init__(rows)
        self.features = {"label": SimpleNamespace(names=names)}


def json_lines(*rows):
    """Rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)
