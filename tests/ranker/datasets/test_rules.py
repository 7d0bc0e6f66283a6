"""Rules of papers, on the examples and the tables that the papers print."""

import pytest

from ranker.datasets import rules

BOSS_B24 = """
academicjournal product album product algorithm miscellaneous astronomicalobject miscellaneous award miscellaneous
band organization book art chemicalcompound miscellaneous chemicalelement miscellaneous conference event country
location discipline miscellaneous election event enzyme miscellaneous event event field miscellaneous literarygenre art
location location magazine product metrics miscellaneous misc miscellaneous musicalartist person musicalinstrument
product musicgenre art organisation organization person person poem art politicalparty organization politician person
product product programlang miscellaneous protein miscellaneous researcher person scientist person song art task
miscellaneous theory miscellaneous university organization writer person
"""
"""CrossNER's types, and beside each what BOSS B.2.4 makes of it, as printed there."""


def test_the_types_of_crossner_are_those_that_boss_prints():
    """All 39, and no other."""
    words = BOSS_B24.split()
    assert dict(zip(words[::2], words[1::2], strict=True)) == rules.CROSSNER


@pytest.mark.parametrize(
    ("rule", "text", "cleaned"),
    [
        ("users", "@USER @Ann_1: Go home, mail a@b", "Go home, mail a"),
        ("urls", "see http://t.co/x?a=1#b, or WWW.EXAMPLE.ORG", "see or"),
        ("hashtags", "#MAGA: c# and &#39;it", ": c# and &#39;it"),
        ("emoji", "\u2764\ufe0f so \U0001f468\u200d\U0001f469 \u2013 fine &#x1F602;", "so \u2013 fine &#x1F602;"),
        ("emoji", "&#1114112; &#128514;", "&#1114112;"),
    ],
)
def test_a_text_is_cleaned(rule, text, cleaned):
    """The named parts go, with the blanks around them; the rest stays."""
    assert rules.TEXTS[rule](text) == cleaned


@pytest.mark.parametrize(
    ("rule", "cell", "label"),
    [
        ("stars", "4.0", None),
        ("fifths", 0.4, "neutral"),
        ("fifths", 0.6, None),
        ("half", 1, "toxic"),
        ("from-one", 4.5, "4"),
        ("from-one", 3.5, "2"),
        ("from-five", 5, "4"),
        ("from-five", 0.6, "0"),
        ("hate-or-not", "idk/skip", None),
        ("any-hate", "implicit_hate", "toxic"),
        ("two-of-three", "neutral", "negative"),
        ("no-mixed", "mixed", None),
        ("no-mixed", None, None),
        ("three-numbers", 2, "contradiction"),
        ("three-numbers", "-1", None),
        ("three-numbers", "neutral", "neutral"),
        ("conll", "B-PER I-PER O B-MISC", "B-person I-person O B-miscellaneous"),
        ("wnut", ["B-creative-work", "I-creative-work"], "B-art I-art"),
        ("crossner", "B-university O B-programlang", "B-organization O B-miscellaneous"),
        ("conll-numbers", [0, 1, 2, 7], "O B-person I-person B-miscellaneous"),
        ("wnut-numbers", [5, 6, 3, 12], "B-organization I-organization B-art I-product"),
        ("coarse", "art-music O art-music", "B-art O B-art"),
        ("coarse", "B-art I-art O", "B-art I-art O"),
        ("runs", "B-LOC B-LOC I-ORG", "B-location I-location B-organization"),
        ("runs", "B-person I-person", "B-person I-person"),
    ],
)
def test_a_label_is_mapped(rule, cell, label):
    """None is a row to leave out; tags that are Few-NERD's already stay."""
    assert rules.LABELS[rule](cell) == label


def test_every_rule_of_labels_is_tried():
    """A rule that is added without an example would be found by nobody."""
    tried = {mark.args[1][n][0] for mark in test_a_label_is_mapped.pytestmark for n in range(len(mark.args[1]))}
    assert tried == set(rules.LABELS)


@pytest.mark.parametrize(("rule", "cell"), [
    ("stars", 2.5), ("stars", 6), ("fifths", 1.1), ("fifths", "high"), ("half", None), ("from-one", 0.9),
    ("any-hate", "hate"), ("wnut", "B-team"), ("conll-numbers", [9]), ("runs", "I-GPE"),
])  # fmt: skip
def test_an_unknown_cell_is_refused(rule, cell):
    """No label is guessed."""
    with pytest.raises(ValueError, match="got|is none of"):
        rules.LABELS[rule](cell)


def test_toxigen_is_toxic_from_a_mean_of_three():
    """The two scores count alike."""
    rows = [{"toxicity_ai": ai, "toxicity_human": human} for ai, human in ((1, 5), (1, 4.9), (5, 5))]
    assert [next(rules.mean_of_two(row))["label"] for row in rows] == ["toxic", "benign", "toxic"]


def test_passages_become_rows_by_question_or_by_sentence():
    """Questions without an answer in the passage are left out; the sentence with the answer entails, as in QNLI."""
    questions = [
        {"qid": "1", "question": "Who?", "detected_answers": [{"text": "Ann"}, {"text": "Ann"}], "answers": ["ann"]},
        {"qid": "2", "question": "When?", "detected_answers": [], "answers": ["today"]},
    ]
    rows = list(rules.of_mrqa({"context": "Ann ran.", "qas": questions}))
    assert [(row["id"], row["answers"]) for row in rows] == [("1", ["Ann"])]
    row = {"id": "q", "question": "Where?", "context": "It rained. She ran to Rome! Then? ", "answers": ["Rome"]}
    pairs = list(rules.sentence_pairs(row))
    assert [(pair["id"], pair["sentence"], pair["label"]) for pair in pairs] == [
        ("q-0", "It rained.", "not_entailment"),
        ("q-1", "She ran to Rome!", "entailment"),
        ("q-2", "Then?", "not_entailment"),
    ]


def test_the_papers_examples_of_the_grammar_test_come_out():
    """GLUE-X prints one sentence of either label (appendix A)."""
    office = {"text": "Is there a post office near here? Yes, there ____.", "options": ["is", "isn't"], "answer": 0}
    charge = {"text": "The young man is the CEO, In other words, he is ___ of the company.",
              "options": ["in charge"], "answer": 0}  # fmt: skip
    labels = {row["sentence"]: row["label"] for case in (office, charge) for row in rules.filled_gaps(case)}
    assert labels == {
        "Is there a post office near here? Yes, there is.": "acceptable",
        "Is there a post office near here? Yes, there isn't.": "unacceptable",
        "The young man is the CEO, In other words, he is in charge of the company.": "acceptable",
    }


@pytest.mark.parametrize(("text", "answer"), [("No gap.", 0), ("A ___", 1)])
def test_an_exam_question_without_a_gap_or_a_right_option_is_refused(text, answer):
    """Such a question would give no acceptable sentence."""
    with pytest.raises(ValueError, match="a text with a gap"):
        list(rules.filled_gaps({"text": text, "options": ["a"], "answer": answer}))
