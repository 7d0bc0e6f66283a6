"""BOSS's choices of OOD sets, from the numbers that it prints: sources, similarities and performance.

Source: Yuan et al. 2023, "Revisiting out-of-distribution robustness in NLP", Tables 1 to 3 (sentiment), 8 to 10
(toxicity), 11 to 13 (inference), 14 to 16 (entities), 17 to 19 (questions).
"""

import csv

import pytest
from published_tables import TABLES, answered
from refusals import refuses

from ranker import select_sets
from ranker.domains.results.shift import SetChoice
from ranker.domains.select import MAX_CHOSEN_SETS, SIMILAR, choose_sets
from ranker.errors import DataError, UnknownName

COLUMNS = ("set", "source", "similarity", "model", "value", "kind")


def choose(task, *options):
    """Return the reason for each decision on the sets of a task, and the names of the chosen sets."""
    choice = answered("shift", "--select", f"boss-{task}.csv", *options)
    reasons = {choice["name"]: choice["reason"] for choice in choice["choices"]}
    return reasons, {choice["name"] for choice in choice["choices"] if choice["chosen"]}


def test_boss_chooses_dynasent_semeval_and_sst():
    """From its Tables 1 to 3, and each decision has its number."""
    reasons, chosen = choose("sentiment")
    assert chosen == {"Dynasent", "SemEval", "SST"}
    assert reasons["DSC"] == "its texts have the source of the in-domain set: Product"
    assert reasons["IMDb"] == "of its source, Movie, SST has the greater drop: 15.8 points"
    assert reasons["Dynasent"] == "of its source, Adversarial, the greatest drop: 43.6 points"


@pytest.mark.parametrize(
    ("task", "kept_files", "expected"),
    [
        ("toxicity", ["AdvCivil"], {"AdvCivil", "Implicit Hate", "ToxiGen"}),
        ("inference", ["WANLI"], {"ANLI", "ContractNLI", "WANLI"}),
        ("entities", [], {"CoNLL", "E-NER", "WNUT"}),
        ("questions", ["AdvQA"], {"AdvQA", "NewsQA", "SearchQA"}),
    ],
)
def test_its_other_choices_follow_too(task, kept_files, expected):
    """With the one threshold, and the sets that it keeps by hand though they are like the in-domain one."""
    assert choose(task, *(part for name in kept_files for part in ("--keep", name)))[1] == expected
    if kept_files:
        assert not {*kept_files} & choose(task)[1]


def test_the_threshold_lies_between_what_boss_keeps_and_drops():
    """CoNLL is kept at 73.76, and OLID dropped at 76.20; it drops NaturalQuestions at 73.50 by hand."""
    assert 0.7376 < SIMILAR < 0.7620
    assert MAX_CHOSEN_SETS == 3
    assert choose("toxicity")[0]["OLID"] == "too similar: a cosine of 0.762, and 0.75 is the most"


def test_fewer_sets_are_those_with_the_greatest_drops():
    """Of toxicity with two sets, the third is told why it is none."""
    reasons, chosen = choose("toxicity", "--keep", "AdvCivil", "--sets", "2")
    assert chosen == {"AdvCivil", "Implicit Hate"}
    assert reasons["ToxiGen"] == "2 others have greater drops than 18.3 points"


def table(*changes):
    """Return BOSS's sentiment sets as rows, with a second model 10 points worse, changed by (row, column, cell)."""
    with open(TABLES / "boss-sentiment.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows += [{**row, "model": "second", "value": str(float(row["value"]) - 10)} for row in rows]
    for place, column, cell in changes:
        rows[place][column] = cell
    return rows


def test_drops_are_means_over_the_models_with_both_values():
    """A constant loss changes no drop; a model that lacks a value is counted."""
    (first, *_), (second, *_) = select_sets(table()[:7]).choices, select_sets(table()).choices
    assert first.drop == pytest.approx(second.drop) == pytest.approx(0.9094 - 0.9563)
    lacking = select_sets(table((8, "value", "-"), (9, "value", "47.38")))
    assert lacking.choices[0].drop == pytest.approx(0.9094 - 0.9563)
    assert lacking.choices[1].drop == pytest.approx((0.9094 + 0.8094) / 2 - 0.4738)
    assert "DSC: the drop is that of 1 of 2 models, which have both values." in lacking.notes


@pytest.mark.parametrize(
    ("changes", "error", "fields"),
    [
        ([(0, "kind", "ood"), (7, "kind", "ood")], DataError, {"option": "kind", "value": 0}),
        ([(1, "kind", "in-domain"), (8, "kind", "in-domain")], DataError, {"option": "kind", "value": 2}),
        ([(1, "source", ""), (8, "source", "")], DataError, {"option": "source", "value": "DSC"}),
        ([(1, "source", "TV")], DataError, {"value": "Product", "place": "row 9"}),
        ([(1, "similarity", "near"), (8, "similarity", "near")], DataError, {"option": "similarity", "value": "near"}),
        ([(1, "value", ""), (8, "value", "")], DataError, {"value": "DSC"}),
        ([(1, "similarity", "8602"), (8, "similarity", "8602")], DataError, {"value": 8602.0, "allowed": (-1, 1)}),
    ],
)
def test_tables_that_cannot_be_right_are_refused(changes, error, fields):
    """In-domain sets but one, a source or a similarity that is missing or told in two ways, no drop."""
    with refuses(error, **fields):
        select_sets(table(*changes))


def test_unknown_names_are_refused():
    """A column that is missing, and a set to keep that is not there."""
    with refuses(DataError, value="source"):
        select_sets([{key: cell for key, cell in row.items() if key != "source"} for row in table()])
    with refuses(UnknownName, value="Dyna"):
        select_sets(table(), keep=["Dyna"])


def test_equal_drops_take_the_first():
    """And none is chosen where all are too similar."""
    equal = choose_sets("web", [SetChoice("a", "news", 0.1, 0.2), SetChoice("b", "news", 0.1, 0.2)])
    assert [choice.chosen for choice in equal] == [True, False]
    assert not choose_sets("web", [SetChoice("a", "news", 0.9, 0.2)])[0].chosen
