"""Arrays of numpy that hold nothing."""

import numpy as np
from refusals import refuses

from ranker.errors import DataError
from ranker.files.reader import read_columns


def test_an_array_without_classes_is_refused(tmp_path):
    """The header of a file may state millions of rows of nothing."""
    np.save(tmp_path / "a.npy", np.zeros((1_000_000, 0)))
    with refuses(DataError, option="predictions", value=(1000000, 0), place=tmp_path / "a.npy"):
        read_columns(tmp_path / "a.npy")
