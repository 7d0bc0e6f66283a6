"""docs/notebook.ipynb: its cells run, and what they show is what it holds."""

import ast
import json
import os
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
CELLS = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def shown_by(source, names):
    """The text of a cell's last line, as a shell would show it."""
    *body, last = map(ast.unparse, ast.parse(source).body)
    exec("\n".join([*body, f"_ = {last}"]), names)
    return repr(names["_"])


def texts(cell):
    """The plain texts of what a cell shows."""
    return ["".join(output["data"]["text/plain"]) for output in cell["outputs"] if "data" in output]


@pytest.mark.more
def test_every_cell_shows_what_the_notebook_holds():
    """One after the other, in plain Python; cells that need IPython itself are run by the slow test."""
    names = {}
    plain = [cell for cell in CELLS if "ipython" not in cell["metadata"].get("tags", ())]
    assert len(plain) == len(CELLS) - 2
    for cell in plain:
        output = shown_by("".join(cell["source"]), names)
        assert texts(cell) == [output]


@pytest.mark.slow
def test_a_kernel_runs_the_notebook():
    """With RANK_MODELS_REFRESH_GOLDEN=1 its outputs are written anew; otherwise they are compared."""
    client = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, 4)
    client.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        cell.outputs = [output for output in cell.get("outputs", []) if output.output_type != "stream"]
        if cell.cell_type == "markdown":
            del cell["outputs"]
    if os.environ.get("RANK_MODELS_REFRESH_GOLDEN"):
        nbformat.write(notebook, NOTEBOOK)
    ran = [texts(cell) for cell in notebook.cells if cell.cell_type == "code"]
    assert ran == [texts(cell) for cell in CELLS]
