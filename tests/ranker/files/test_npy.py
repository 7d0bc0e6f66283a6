"""Arrays of numpy that hold nothing."""

import numpy as np
import pytest

from ranker.errors import DataError
from ranker.files.reader import read_columns


def test_an_array_without_classes_is_refused(tmp_path):
    """Its header may state millions of rows of nothing."""
    np.save(tmp_path / "a.npy", np.zeros((1_000_000, 0)))
    with pytest.raises(DataError, match=r"must have the shape \(rows,\) or \(rows, classes\) \(got \(1000000, 0\)\)"):
        read_columns(tmp_path / "a.npy")
