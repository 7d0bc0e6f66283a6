"""The verdict of --not-worse-than: what is shown, what is not, and what is absent."""

from dataclasses import replace

import numpy as np
import pytest
from deciding import decide
from refusals import refuses
from test_evaluation import table

from ranker.errors import Absence, Assumption, UnknownName, UsageError
from ranker.results.header import Header
from ranker.results.over_tasks import OverTasks
from ranker.results.ranking import Ranking
from ranker.scoring.gate import MARGIN, of_decision, of_tasks


def ranked(*outcomes, notes=(), groups=()):
    """A decision on these outcomes of m0, m1 ..."""
    judged = table(np.array(outcomes, dtype=float)[:, None], ["ACC"], None)
    header = Header("rows", "models", len(judged.examples), 0, notes=tuple(notes))
    return Ranking(header, decide(judged, groups=groups), judged)


def test_three_rows_on_which_both_agree_show_nothing():
    """No discordant row is no proof: the second may be anything up to 69 points worse."""
    gate = of_decision(ranked([1, 1, 1], [1, 1, 1]), "m0")
    (held,) = gate.held
    assert (gate.passes, gate.margin, held.passes) == (False, MARGIN, False)
    assert held.low == pytest.approx(-0.69, abs=0.005)
    assert gate.in_words == (
        "not shown to be no worse than m0 by more than 2.0 points: m1 (may be 69.0 points worse; lost 0 rows, won 0)"
    )


@pytest.mark.parametrize(("rows", "margin", "passes"), [(300, 0.02, True), (300, 0.0, False), (200, 0.02, False)])
def test_models_that_never_differ_pass_with_enough_rows_and_a_margin(rows, margin, passes):
    """Two points take 300 rows and not 200; at a margin of 0 no number of rows is enough."""
    assert of_decision(ranked([1] * rows, [1] * rows), "m0", margin).passes == passes


def test_rows_lost_and_won_are_counted_from_the_model_against_the_base():
    """Whichever of the two is first in the order."""
    good, poor = [1] * 8 + [0, 0], [0] * 5 + [1] * 5
    for base, counts in (("m0", (5, 2)), ("m1", (2, 5))):
        (held,) = of_decision(ranked(good, poor), base).held
        assert (held.lost, held.won) == counts
        assert held.reason == f"{held.why}; lost {counts[0]} rows, won {counts[1]}"


def test_a_model_that_failed_fails_the_check():
    """Whatever may be absent; the base, too, which then nothing is held to."""
    ranking = ranked([1] * 400, [1] * 400)
    for failed, base, models in (("m7", "m0", ["m1"]), ("m7", "m7", [])):
        broken = replace(ranking, header=replace(ranking.header, failures={failed: "it is gone"}))
        gate = of_decision(broken, base, allow_absent=True)
        assert (gate.passes, gate.failed, [held.model for held in gate.held]) == (False, ("m7 failed",), models)
        assert gate.in_words == f"not shown to be no worse than {base} by more than 2.0 points: m7 failed"


def test_a_task_that_was_not_compared_fails_the_check():
    """The others are held; the failed one is named."""
    rankings = {"nli": ranked([1] * 400, [1] * 400), "qa": ranked([1] * 5, [1] * 5)}
    over_both = OverTasks(("m0", "m1"), (), rankings, failures={"qa": "m2: it is gone"})
    gate = of_tasks(over_both, {"m0": ("nli", "qa"), "m1": ("nli", "qa")}, "m0")
    assert (gate.passes, gate.failed, [held.task for held in gate.held]) == (False, ("qa was not compared",), ["nli"])


def test_the_headline_names_the_first_models():
    """All stand in `in_words`."""
    gate = of_decision(ranked([1] * 9, *[[0] * 9] * 8), "m0")
    assert gate.headline.startswith("NOT PASSED: not shown to be no worse than m0")
    assert [name in gate.headline for name in ("m5", "m6", "m8")] == [True, False, False]
    assert gate.headline.endswith("lost 9 rows, won 0), 3 more.")
    assert all(f"m{n} (" in gate.in_words for n in range(1, 9))


@pytest.mark.parametrize("base", ["m0", "m1", "m2"])
def test_each_other_model_is_held_to_the_base(base):
    """Whichever is first in the order; the bound is the end of the interval on the base's side."""
    rng = np.random.default_rng(0)
    outcomes = (rng.random((3, 400)) < [[0.95], [0.9], [0.6]]).astype(int)
    ranking = ranked(*outcomes)
    gate = of_decision(ranking, base, 0.1)
    assert {held.model for held in gate.held} == {"m0", "m1", "m2"} - {base}
    for held in gate.held:
        assert held.low < outcomes[int(held.model[1])].mean() - outcomes[int(base[1])].mean()
        assert held.passes == (held.low >= -0.1)
    assert gate.passes == (base == "m2")


def test_one_cluster_shows_nothing():
    """There is no bound, and the line says why."""
    gate = of_decision(ranked([1] * 50, [1] * 50, groups=["g"] * 50), "m0", 1.0)
    assert (gate.held[0].low, gate.held[0].why, gate.passes) == (None, "one row or cluster shows nothing", False)


def test_rows_that_were_not_joined_are_named():
    """Those of the base, too; `allow_absent` lets them be."""
    good, lacking = [1.0] * 400, [np.nan] * 3 + [1.0] * 397
    for outcomes, model in (((good, lacking), "m1"), ((lacking, good), "m0")):
        gate = of_decision(ranked(*outcomes), "m0")
        assert (gate.passes, gate.absent) == (False, (f"{model} has no outcome on 3 of 400 rows",))
        assert gate.in_words == f"not shown to be no worse than m0 by more than 2.0 points: {gate.absent[0]}"
        allowed = of_decision(ranked(*outcomes), "m0", allow_absent=True)
        assert (allowed.passes, allowed.absent) == (True, gate.absent)
        verdict = "no worse than m0 by more than 2.0 points: m1 (at most 1.2 points worse; lost 0 rows, won 0)"
        assert allowed.in_words == f"{verdict}; {gate.absent[0]} (allowed)"


def test_a_run_that_was_cut_short_is_named():
    """By the note of its log."""
    note = Absence("m1: The log is partial: it holds 400 of the 500 rows that were run.")
    gate = of_decision(ranked([1] * 400, [1] * 400, notes=[note, "m1: Something else."]), "m0")
    assert (gate.passes, gate.absent) == (False, (note[:-1],))


def test_a_column_that_was_not_read_and_may_be_a_model_is_named():
    """By the kind of its note, whatever it says; other assumptions hold up no gate."""
    notes = [Absence("wide: 'gpt' is empty: not read."), Assumption("wide: 'length' holds numbers: not read.")]
    gate = of_decision(ranked([1] * 400, [1] * 400, notes=notes), "m0")
    assert (gate.passes, gate.absent) == (False, ("wide: 'gpt' is empty: not read",))


def test_tasks_that_the_base_alone_was_asked_are_named():
    """What the other alone was asked is no matter; each task is held for itself."""
    rankings = {"nli": ranked([1] * 400, [1] * 400), "qa": ranked([1] * 5, [1] * 5)}
    over_both = OverTasks(("m0", "m1"), (), rankings)
    gate = of_tasks(over_both, {"m0": ("nli", "qa", "old"), "m1": ("nli", "qa", "new")}, "m0")
    assert gate.absent == ("m1 was not asked old",)
    assert [(held.task, held.passes) for held in gate.held] == [("nli", True), ("qa", False)]
    assert gate.in_words == (
        "not shown to be no worse than m0 by more than 2.0 points: m1 on qa (may be 53.7 points worse; lost 0 rows, "
        "won 0); m1 was not asked old"
    )
    over_one = replace(over_both, rankings={"nli": rankings["nli"]})
    assert not of_tasks(over_one, {"m0": ("nli", "old"), "m1": ("nli",)}, "m0").passes
    assert of_tasks(over_one, {"m0": ("nli", "old"), "m1": ("nli",)}, "m0", allow_absent=True).passes
    assert of_tasks(over_one, {"m0": ("nli",), "m1": ("nli", "new")}, "m0").passes


def test_what_cannot_be_judged_is_refused():
    """A base that is not there, and a decision by a pool."""
    ranking = ranked([1, 0], [0, 1])
    with refuses(UnknownName, value="m7"):
        of_decision(ranking, "m7")
    pooled = replace(ranking, found=replace(ranking.decision, versus=()))
    with refuses(UsageError, option="not_worse_than", value="m0"):
        of_decision(pooled, "m0")
