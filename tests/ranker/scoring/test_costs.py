"""What models take, beside a belief in how good they are, and the choice of the cheapest that is good enough."""

import dataclasses

import numpy as np
import pytest
from deciding import decide
from refusals import refuses
from test_evaluation import table as score_table

from ranker.errors import UsageError
from ranker.numbers import unit
from ranker.results.costs import ModelUsage, Preference
from ranker.scoring.decision import compare_costs
from ranker.statistics.draws import Draws

RNG = np.random.default_rng(1)
NAMES = ("a", "b", "c")
BELIEF = Draws(RNG.normal([0.9, 0.895, 0.7], 0.002, (2000, 3)))
PRICES = {"a": 10.0, "b": 1.0, "c": 0.5}


def usage(**amounts):
    """Model -> its usage, of one quantity: ``money={"a": 1.0}``."""
    ((name, of_models),) = amounts.items()
    return {model: ModelUsage(**{name: amount}) for model, amount in of_models.items()}


def costs(prefer=None, order=(0, 1, 2), **amounts):
    """The costs of the three models."""
    return compare_costs(BELIEF, NAMES, np.array(order), usage(**amounts), prefer)


def test_each_model_has_its_share_of_the_frontier_and_its_difference_from_the_first():
    """In the order of the decision, from the same draws as everything else."""
    shares = costs(order=(1, 0, 2), money=PRICES)
    assert [model.name for model in shares.models] == ["b", "a", "c"]
    frontier = BELIEF.frontier(np.array([10.0, 1.0, 0.5]))
    assert [model.p_frontier for model in shares.models] == pytest.approx(frontier[[1, 0, 2]])
    for model, place in zip(shares.models, (1, 0, 2), strict=True):
        assert (model.difference, model.low, model.high) == pytest.approx(BELIEF.difference(place, 1))
    assert (shares.by, shares.prefer, shares.lacking("money")) == ("money", None, [])


def test_a_model_without_a_price_has_none_and_is_listed():
    """Nor has it a place beside the frontier; with one price alone seconds are compared, if they are known of two."""
    shares = costs(money={"a": 10.0, "b": 1.0})
    assert [model.p_frontier is None for model in shares.models] == [False, False, True]
    assert shares.lacking("money") == ["c"]
    two = {"a": ModelUsage(money=1.0, seconds=2.0), "b": ModelUsage(seconds=1.0)}
    assert compare_costs(BELIEF, NAMES, np.arange(3), two).by == "seconds"
    alone = costs(money={"a": 10.0})
    assert (alone.by, alone.models[0].usage.money, alone.models[0].p_frontier) == (None, 10.0, None)
    assert compare_costs(BELIEF, NAMES, np.arange(3), {}) is None


@pytest.mark.parametrize(("word", "quantity"), [("cheaper", "money"), ("faster", "seconds")])
def test_without_what_is_preferred_less_of_there_is_no_choice(word, quantity):
    """One line says what is missing, and of which models."""
    other_quantity = {"money": "seconds", "seconds": "money"}[quantity]
    with refuses(UsageError, option="prefer"):
        costs(Preference.parse(f"{word}:1"), **{other_quantity: PRICES})
    with refuses(UsageError, option="prefer"):
        compare_costs(BELIEF, NAMES, np.arange(3), {}, Preference.parse(f"{word}:1"))


@pytest.mark.parametrize("text", ["", "cheaper", "cheaper:", "dearer:1", "cheaper:one", "cheaper:0", "cheaper:nan"])
def test_a_preference_has_two_forms(text):
    """A word and a number of points above 0."""
    with refuses(UsageError, option="prefer"):
        Preference.parse(text)


RIGHT = {"m0": 0.9, "m1": 0.897, "m2": 0.6}
MONEY = {"m0": 10.0, "m1": 1.0, "m2": 0.5}


def decision(prefer, rows=90_000, money=MONEY):
    """The decision between three models on many rows."""
    outcomes = np.zeros((3, rows))
    for outcome, share in zip(outcomes, RIGHT.values(), strict=True):
        outcome[RNG.permutation(rows)[: round(share * rows)]] = 1
    wish = prefer and Preference.parse(prefer)
    return decide(score_table(outcomes[:, None], ["ACC"], np.zeros(3)), usage=usage(money=money), prefer=wish)


@pytest.mark.more
def test_the_cheapest_within_so_many_points_is_taken():
    """Which model that is depends on the points, and on what is known of prices."""
    assert decision(None).choice.text == "Take m0; m1 is as good or close"
    assert decision("cheaper:1").choice.text == "Take m1: the cheapest within a point of the best"
    assert decision("cheaper:0.1").choice.text == "Take m0: the cheapest within 0.1 points of the best"
    assert decision("cheaper:40").choice.text == "Take m2: the cheapest within 40.0 points of the best"
    unpriced = decision("cheaper:1", money={"m0": 10.0, "m2": 0.5})
    assert unpriced.choice.text == "Take m0: the cheapest within a point of the best"
    assert unpriced.costs.lacking("money") == ["m1"]


@pytest.mark.more
def test_where_none_is_surely_good_enough_the_usual_rule_stands():
    """Few rows say too little for any of them; and what speaks against a choice does so for a cheap one, too."""
    assert decision("cheaper:1", rows=40).choice.verb == "none"
    doubtful = dataclasses.replace(decision("cheaper:1"), worse=("m0",))
    assert doubtful.choice.text == "Cannot say yet: m0 leads, and does worse than guessing"


def test_points_are_hundredths_of_the_scale():
    """Of marks from 1 to 5, half a point is 0.02."""
    assert Preference("money", 0.5).in_words(unit("", (1, 5))) == "the cheapest within 0.02 of the best"
    assert Preference("seconds", 1).in_words(unit("mcc")) == "the fastest within 0.01 of the best"


@pytest.mark.more
def test_costs_are_of_the_models_in_their_order():
    """Else a price would be that of another model."""
    full_decision = decision("cheaper:1")
    swapped = dataclasses.replace(full_decision.costs, models=full_decision.costs.models[::-1])
    with pytest.raises(ValueError, match="in their order"):
        dataclasses.replace(full_decision, costs=swapped)
