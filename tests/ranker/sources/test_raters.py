"""Several raters of one answer: their levels and spreads, and how far they agree."""

import shlex
import warnings

import numpy as np
import pytest
from nltk.metrics import interval_distance
from nltk.metrics.agreement import AnnotationTask

from ranker.sources.tables.raters import alpha, joint_marks


def some_marks(seed, raters=3, level=0.2, part=0.5, spread=0.3):
    """Marks of some answers, and the true ones."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0.5, 0.15, 40)
    levels, spreads = rng.normal(0, level, (raters, 1)), np.exp(rng.normal(0, spread, (raters, 1)))
    marks = 0.5 + levels + spreads * (truth - 0.5) + rng.normal(0, 0.08, (raters, 40))
    return np.where(rng.random(marks.shape) < part, np.clip(marks, 0, 1), np.nan), truth


@pytest.mark.parametrize("seed", range(5))
def test_alpha_is_that_of_nltk(seed):
    """With answers that one rater marked, which do not count there either."""
    rng = np.random.default_rng(seed)
    marks = np.where(rng.random((3, 15)) < 0.7, rng.integers(1, 6, (3, 15)), np.nan)
    paired = (~np.isnan(marks)).sum(axis=0) > 1
    places = np.argwhere(~np.isnan(marks) & paired)
    task = AnnotationTask([(f"r{r}", f"a{n}", float(marks[r, n])) for r, n in places], distance=interval_distance)
    assert alpha(marks) == pytest.approx(task.alpha(), abs=1e-12)


def test_alpha_is_unknown_where_nothing_is_shared_or_all_is_one():
    """No answer of two raters, and one mark for all."""
    assert np.isnan(alpha(np.array([[1.0, np.nan], [np.nan, 2.0]])))
    assert np.isnan(alpha(np.full((2, 4), 3.0)))
    assert alpha(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])) == 1


def correlations(**changes):
    """Correlation with the truth of plain means, and of joint marks, on average."""
    rows = []
    for seed in range(60):
        marks, truth = some_marks(seed, **changes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            plain = np.nanmean(marks, axis=0)
        marked = ~np.isnan(plain)
        joint, _ = joint_marks(marks)
        rows.append([np.corrcoef(values[marked], truth[marked])[0, 1] for values in (plain, joint)])
    return np.mean(rows, axis=0)


@pytest.mark.more
def test_what_a_rater_adds_is_taken_out():
    """Much where raters differ and each marks a part; nothing is lost where they do not."""
    plain, joint = correlations()
    assert joint > plain + 0.05
    plain, joint = correlations(level=0.0, spread=0.0)
    assert joint > plain - 0.01
    plain, joint = correlations(part=1.1, spread=0.0)
    assert joint == pytest.approx(plain, abs=0.01)


def test_raters_who_mark_everything_change_no_difference():
    """Of two raters whose spreads agree, each answer's mark is their mean."""
    marks = np.array([[0.1, 0.3, 0.5, 0.2], [0.4, 0.6, 0.8, 0.5]])
    joint, levels = joint_marks(marks)
    assert joint == pytest.approx(marks.mean(axis=0), abs=1e-9)
    assert levels[1] - levels[0] > 0.1
    nobody = np.full((2, 3), np.nan)
    assert np.isnan(joint_marks(nobody)[0]).all()


@pytest.mark.more
def test_a_table_of_raters_is_one_set_of_marks(tmp_path, monkeypatch, rank_models):
    """Long, with a column that says who marked: the note has alpha and the levels, on the file's scale."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [
        f"q{n},{model},{rater},{min(5, max(1, base + shift + int(rng.integers(-1, 2))))}"
        for n in range(12)
        for model, base in (("a", 2), ("b", 3), ("c", 4))
        for rater, shift in (("ann", -1), ("bob", 1))
        if rng.random() < 0.8
    ]
    (tmp_path / "people.csv").write_text("id,model,rater,mark\n" + "\n".join(lines) + "\n")
    status, out, err = rank_models(*shlex.split("--models people.csv --range 1 5"))
    assert (status, err) == (0, "")
    text = " ".join(out.split())
    assert "Marks of 2 raters (Krippendorff's alpha" in text
    assert "are joined, without what each adds to all marks: ann -0." in text
    assert "of 5" in text
    status, out, _ = rank_models(*shlex.split("--models people.csv --range 1 5 --runs each --format json"))
    assert (status, "c@bob" in out) == (0, True)
