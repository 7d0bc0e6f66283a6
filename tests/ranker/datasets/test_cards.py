import tomllib

import pytest
from refusals import refuses

from ranker.datasets import embedded, sets
from ranker.datasets.cards import read_card
from ranker.errors import DataError
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.names import fold

CARD = """
description = "A toy."
population = 5
source = "nowhere"
licence = "MIT"
folders = "below"
files = ["rows.tsv"]

[task]
name = "nli"
labels = ["non-entailment", "entailment"]
shortcut = "entailment"

[task.aliases]
non-entailment = ["neutral", "contradiction"]

[[layouts]]
text = ["premise", "hypothesis"]
label = "label"
where = { kind = "hard" }

[marks]
control = "control"
"""


@pytest.fixture
def card_of(tmp_path):
    """Writes a card into a folder named toy, and reads it."""

    def write_and_read(text):
        folder = tmp_path / "toy"
        folder.mkdir(exist_ok=True)
        (folder / "card.toml").write_text(text, encoding="utf-8")
        return read_card(folder / "card.toml")

    return write_and_read


def test_a_card_becomes_a_record(card_of, tmp_path):
    """The set bears the folder's name, labels become numbers, and every list a tuple."""
    card = card_of(CARD)
    assert (card.name, card.folder, card.population) == ("toy", tmp_path / "toy", 5)
    assert card.folders == ("below",)
    assert (card.task.shortcut, card.task.evidence) == (1, None)
    assert card.layouts[0].columns == ("premise", "hypothesis", "label", "kind")
    assert card.marks == {"control": "control"}


@pytest.mark.parametrize(
    ("old", "new", "option", "value"),
    [
        ("population", "popluation", "", "popluation"),
        ("population = 5", "population = 0", "population", 0),
        ("population = 5", 'population = "5"', "", None),
        ('description = "A toy."', "", "", None),
        ("population = 5", 'name = "toy"', "name", None),
        ('shortcut = "entailment"', 'shortcut = "entails"', "", "entails"),
        ('labels = ["non-entailment", "entailment"]', 'labels = "entailment"', "", None),
        ('"neutral", "contradiction"', '"neutral", "Neutral"', "", None),
        ("non-entailment = [", "nonentailment = [", "", "nonentailment"),
        ('label = "label"', "", "", None),
        ('kind = "hard"', "kind = 1", "", None),
        ('name = "nli"', "", "", None),
        ("population = 5", "population = ", "", None),
    ],
)
def test_what_cannot_be_right_is_refused_in_one_line(card_of, tmp_path, old, new, option, value):
    """The error names the file, and the key and its value where these are known."""
    assert old in CARD
    with refuses(DataError, option=option, value=value, place=tmp_path / "toy" / "card.toml") as caught:
        card_of(CARD.replace(old, new, 1))
    assert "\n" not in str(caught.value)


def test_a_card_without_a_task_is_refused(card_of, tmp_path):
    """A set without labels is none."""
    with refuses(DataError, place=tmp_path / "toy" / "card.toml"):
        card_of(CARD.partition("[task]")[0])


@pytest.mark.parametrize("name", ["neutral", "Non_Entailment", " non entailment ", "NON-ENTAILMENT"])
def test_a_label_goes_by_many_names(name):
    """Case does not matter, and neither does which of "_", "-" and a blank is used; an alias is as good as a name."""
    task = ClassificationTask("nli", ("non-entailment", "entailment"), {"non-entailment": ("neutral",)})
    assert task.index(name) == 0


@pytest.mark.parametrize("name", ["LABEL_0", "0", "", "nonentailment"])
def test_what_is_no_label_is_not_guessed(name):
    """An unnamed label is nobody's."""
    assert ClassificationTask("nli", ("non-entailment", "entailment")).index(name) is None


@pytest.mark.parametrize("name", sets.names())
def test_the_cards_that_come_with_the_product_are_complete(name):
    """A card says what it is, where it comes from, and which layouts it has, and marks what its factor reads."""
    card = sets.cards()[name]
    assert all((card.description, card.source, card.licence, card.citation, card.in_domain, card.files, card.layouts))
    assert card.url is None or (card.sha256 and len(card.sha256) == 64)
    assert card.task.shortcut == 1
    sourced = {field for fields in card.sources.values() for field in fields}
    assert sourced == {*tomllib.loads(embedded.cards()[name].read_text("utf-8"))} - {"notes", "sources"}
    if card.designed not in (None, "INDEX-DIFF"):
        assert card.marks


def test_the_seven_sets_are_there():
    """The sets of the paper, in the order of their names."""
    assert sets.names() == ("hans-con", "hans-lex", "hans-sub", "msgs-adject", "msgs-morph", "msgs-verb", "paws")


def test_folding_leaves_only_differences_that_matter():
    """Two names of one label are equal once folded."""
    assert fold("Not__Entailment ") == fold("not-entailment") == "not-entailment"


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ('where = { kind = "hard" }', 'map = "starz"', "starz"),
        ("population = 5", 'metrics = ["acuracy"]', "acuracy"),
        ('where = { kind = "hard" }', 'clean = ["user"]', "user"),
        ('where = { kind = "hard" }', 'rows = ["mrqb"]', "mrqb"),
        ("population = 5", 'sources = { "A 1" = ["licenc"] }', "licenc"),
        ('labels = ["non-entailment", "entailment"]\nshortcut = "entailment"', "", "nli"),
    ],
)
def test_a_name_that_a_card_cannot_use_is_refused(card_of, tmp_path, old, new, value):
    """A rule, a field of `sources`, and a task without labels: one line names the file and what is there."""
    text = CARD.replace(old, new, 1) if value != "nli" else CARD.replace(old, new, 1).partition("[task.aliases]")[0]
    with refuses(DataError, place=tmp_path / "toy" / "card.toml") as caught:
        card_of(text)
    assert repr(value) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_card_may_have_a_task_of_other_answers(card_of):
    """Tags, spans and texts by their names, and numbers with the ends of their scale."""
    head = CARD.partition("[task]")[0]
    assert card_of(f'{head}[task]\nname = "spans"\n').task.metric == "TOKEN-F1"
    assert card_of(f'{head}[task]\nname = "number"\nrange = [0, 5]\n').task.high == 5
    with refuses(DataError, option="scale"):
        card_of(f'{head}[task]\nname = "number"\n')
