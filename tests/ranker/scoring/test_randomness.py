"""Every draw has a stream of its own: no method's numbers depend on which others are computed."""

import numpy as np
import pytest

from factors import BUILTIN
from ranker.results.table import ScoreTable
from ranker.scoring.evaluation import evaluate
from ranker.statistics import methods
from ranker.statistics.pool import Pool, Targets

MODELS, ROWS = 5, 80


def world():
    """A table of ACC and NLL, the pool that it is of, and its targets."""
    rng = np.random.default_rng(3)
    labels = rng.integers(2, size=ROWS)
    skill = np.linspace(0.2, 1.2, MODELS)[:, None]
    positive = 1 / (1 + np.exp(-(skill * (2 * labels - 1) + rng.normal(size=(MODELS, ROWS)))))
    pool = Pool(np.stack([1 - positive, positive], axis=2))
    right = (pool.predicted == labels).astype(float)
    loss = -np.log(np.where(labels, positive, 1 - positive))
    table = ScoreTable(
        tuple(f"m{m}" for m in range(MODELS)),
        (BUILTIN["ACC"], BUILTIN["NLL"]),
        tuple(map(str, range(ROWS))),
        np.stack([right, loss], axis=1),
        truth=right.mean(axis=1) + 1e-6 * np.arange(MODELS),
    )
    return table, {"pool": pool, "targets": Targets(right, labels)}


def without(table, name):
    """The table without one of its columns."""
    left = [f for f, method in enumerate(table.methods) if method.name != name]
    columns = tuple(table.methods[f] for f in left)
    return ScoreTable(table.models, columns, table.examples, table.values[:, left].copy(), truth=table.truth)


@pytest.mark.slow
@pytest.mark.parametrize("draws", ["exact", 500])
def test_a_method_is_the_same_whoever_is_beside_it(draws):
    """Alone, beside all others, in another order, and without a column that it does not read."""
    table, beside = world()
    labelling_methods = [method for method in methods.BUILTIN if method.needs <= {"labels", "probabilities"}]
    complete = evaluate(table, probe=5, draws=draws, methods=labelling_methods, **beside)
    turned = evaluate(table, probe=5, draws=draws, methods=labelling_methods[::-1], **beside)
    for method in labelling_methods:
        alone = evaluate(table, probe=5, draws=draws, methods=[method], **beside)
        assert alone.method(method.name) == complete.method(method.name) == turned.method(method.name)
        assert alone.method("ACC+TIES") == complete.method("ACC+TIES")
        fewer = evaluate(without(table, "NLL"), probe=5, draws=draws, methods=[method], **beside)
        for name in (method.name, "ACC"):  # but for the rounding of sums that are laid out in another way
            assert fewer.method(name).curve == pytest.approx(complete.method(name).curve, abs=1e-12)
            assert fewer.method(name).ci_low == pytest.approx(complete.method(name).ci_low, abs=1e-12)


@pytest.mark.slow
def test_the_curve_at_one_size_does_not_depend_on_the_others_before_it():
    """Each size has a stream of its own by its place."""
    table, beside = world()
    long = evaluate(table, probe=5, methods=methods.DEFAULT, curve=(2, 5, 10), **beside)
    short = evaluate(table, probe=5, methods=methods.DEFAULT, curve=(2, 5), **beside)
    for name in ("SURROGATE", "ACC+TIES", "ACC"):
        assert {size: long.method(name).curve[size] for size in (2, 5)} == short.method(name).curve
