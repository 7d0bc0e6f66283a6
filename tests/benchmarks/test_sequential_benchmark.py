import numpy as np
from click.testing import CliRunner

from benchmarks.sequential import drawn, main


def test_accuracies_on_one_set_stand_beside_predictions_on_another(tmp_path):
    """Models are joined by name; a suite that is drawn takes its accuracies along."""
    rng = np.random.default_rng(0)
    labels, predictions = rng.integers(2, size=50), rng.integers(2, size=(4, 50))
    np.savez(tmp_path / "new.npz", predictions=predictions, labels=labels, models=np.array(["c", "a", "d", "b"]))
    at_home = {"a": 0.2, "b": 0.4, "c": 0.6, "e": 1.0}
    home = np.arange(10) >= 10 * np.array([*at_home.values()])[:, None]  # wrong labels
    np.savez(tmp_path / "home.npz", predictions=home, labels=np.zeros(10, int), models=np.array([*at_home]))
    files = [str(tmp_path / name) for name in ("new.npz", "home.npz")]
    done = CliRunner().invoke(main, ["beside", *files, "-o", str(tmp_path / "both.npz")])
    assert done.output == "3 models are in both\n"
    world = drawn(tmp_path / "both.npz", 0, 2, 20)
    accuracy = (predictions == labels).mean(axis=1)
    expected = {round(accuracy[n], 9): at_home[name] for n, name in enumerate("cadb") if name in at_home}
    assert [expected[round(truth, 9)] for truth in world.truth] == world.in_domain.tolist()
    assert (world.patterns.in_domain == world.in_domain).all()
