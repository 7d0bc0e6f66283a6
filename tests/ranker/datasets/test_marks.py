import doctest
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from factors import Example
from ranker.datasets import lexicon as lex
from ranker.datasets import sets
from ranker.datasets.clauses import main_verb
from ranker.datasets.marks import RULES, adjective, control, ing_main_verb, irregular_past, marker, swapped
from ranker.errors import UnknownName

PARSE = "(ROOT (S (NP (DT The) (NN clerk)) (VP (VBD hoped) (SBAR (IN that) (S {clause}))) (. .)))"
CLAUSE = "(NP (DT the) (NN nurse)) (VP (VBD sang))"
HOPED = "The clerk hoped that the nurse sang ."


def texts(segments, spans):
    """The marked texts of each segment."""
    return [[segments[s][span.start : span.end] for span in spans if span.segment == s] for s in range(len(segments))]


def marked(rule, *segments, **row):
    """Marked texts by segment; one list where there is one segment."""
    by_segment = texts(segments, rule(segments, row))
    return by_segment[0] if len(segments) == 1 else by_segment


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("Unless the nurse slept, the clerk sang.", "The nurse slept.", ["Unless"]),
        ("Unless the nurse slept, the clerk sang.", "The clerk sang.", ["Unless"]),
        ("Because the nurse slept , the clerk sang .", "The nurse slept .", ["Because"]),
        ("Whether or not the nurse slept, the clerk sang.", "The clerk sang.", ["Whether or not"]),
        ("In case the nurse slept, the clerk sang.", "The clerk sang.", ["In case"]),
        ("Without a doubt the nurse slept.", "The nurse slept.", ["Without a doubt"]),
        ("Hopefully the nurse slept.", "The nurse slept.", ["Hopefully"]),
        ("The clerk hoped that the nurse slept.", "The nurse slept.", ["hoped that"]),
        ("The clerk knew the nurse slept.", "The nurse slept.", ["knew"]),
        ("The nurse slept, or the clerk sang.", "The nurse slept.", ["or"]),
        ("The nurse slept, and the clerk sang.", "The clerk sang.", ["and"]),
        ("The clerk sang because the nurse slept.", "The nurse slept.", ["because"]),
        ("The clerk sang unless the nurse slept.", "The clerk sang.", ["unless"]),
        ("The nurse slept, probably.", "The nurse slept.", ["probably"]),
        ("If the nurse slept, perhaps the clerk sang.", "The clerk sang.", ["If", "perhaps"]),
        ("The nurse and the clerk sang.", "The clerk sang.", ["and"]),
        ("The nurse and the clerk sang, or the cook slept.", "The cook slept.", ["or"]),
        ("The nurse slept.", "The nurse slept.", []),
        ("If only.", "If only.", []),
        ("The nurse slept.", "...", []),
        ("The tall nurse slept.", "The nurse slept.", []),
    ],
)
def test_control_words_are_found_from_the_text(premise, hypothesis, expected):
    """At the beginning of the premise and beside the hypothesis in it; nowhere else."""
    assert marked(control, premise, hypothesis) == [expected, []]


@pytest.mark.parametrize("column", ["sentence1_parse", "parse_premise"])
def test_control_words_are_found_from_a_parse(column):
    """A verb that governs a clause, and what opens the clause; the hypothesis need not be in the premise."""
    parse = PARSE.format(clause=CLAUSE)
    assert marked(control, HOPED, "No clause of it .", **{column: parse}) == [["hoped that"], []]


def test_a_parse_tells_clauses_from_noun_phrases():
    """Inside subjects and predicates nothing is marked: "and" between nouns, "that" of a relative clause."""
    subject = "(NP (NP (DT The) (NN cook)) (CC and) (NP (DT the) (NN maid)) (SBAR (WDT that) (S (VP (VBD sang)))))"
    parse = f"(ROOT (S {subject} (VP (VBD slept)) (. .)))"
    premise = "The cook and the maid that sang slept ."
    assert marked(control, premise, "The maid that sang slept .", sentence1_parse=parse) == [[], []]


@pytest.mark.parametrize(
    "parse",
    ["", "(", ")))", "hoped", "(ROOT (S (NP (DT A) (NN dog))))", "(" * 500, "(S " * 100 + HOPED, None, 7, "n/a"],
)
def test_a_parse_of_something_else_is_not_believed(parse):
    """The text decides then."""
    assert marked(control, HOPED, "The nurse sang .", sentence1_parse=parse) == [["hoped that"], []]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Do painters visit bakers?", "Do bakers visit painters?", [["painters", "bakers"], ["bakers", "painters"]]),
        ("Is New York near Rome?", "Is Rome near New York?", [["New", "York", "Rome"], ["Rome", "New", "York"]]),
        ("Which US, UK or EU law?", "Which UK, US or EU law?", [["US", "UK"], ["UK", "US"]]),
        ("Can I like it and you have it?", "Can I have it and you like it?", [["like", "have"], ["have", "like"]]),
        ("Is a second third-rate?", "Is a third second-rate?", [["second", "third"], ["third", "second"]]),
        ("Is a polish Polish word old?", "Is a Polish polish word old?", [[], []]),
        ("Red wine or white wine?", "White wine or red wine?", [["Red", "white"], ["White", "red"]]),
        ("Old men or big, sad boys?", "Big men or sad, old boys?", [["Old", "big"], ["Big", "old"]]),
        ("Is it cheap to buy now?", "Is it now cheap to buy?", [["now"], ["now"]]),
        ("Who is he and who was she?", "Who was he and who is she?", [["is", "was"], ["was", "is"]]),
        ("Do painters visit bakers?", "Do painters visit bakers?", [[], []]),
        ("Do painters visit bakers?", "Do painters ever visit old bakers?", [[], []]),
        ("Do painters visit bakers?", "Why not go home?", [[], []]),
        ("?", "!", [[], []]),
    ],
)  # fmt: skip
def test_swapped_words_are_found_in_both_segments(first, second, expected):
    """Whole phrases; function words only where nothing else moved; a word that was put in or left out did not move."""
    assert marked(swapped, first, second) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The boys drew a map.", ["drew"]),
        ("The boys have drawn a map and the girls sang.", ["sang"]),
        ("The boys have cut a rope and the girls sing.", []),
        ("The boys hadn't quickly cut a rope.", []),
        ("The boys were often hurt.", []),
        ("The boys had a map.", ["had"]),
        ("The boys had gone.", []),
        ("The cut healed.", []),
        ("The boys walked home.", []),
    ],
)
def test_an_irregular_past_is_a_finite_verb(sentence, expected):
    """Neither a participle, nor a noun, nor a regular verb."""
    assert marked(irregular_past, sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "verb"),
    [
        # behind a preposition without its noun a verb follows, and no noun phrase
        ("The boy who every girl who washed some cup was talking about runs around these parks.", "runs"),
        ("That boy these girls that should hug some clerk aren't talking about climbs down a hill.", "climbs"),
        # of two words that may be nouns the one after a waiting noun is the verb
        ("The painters that boast about that boy a dog confuses are humming.", "humming"),
        ("Every wife these dogs that bother girls could harm was humming.", "humming"),
        # a word that no verb can be, or an adverb, is served by none
        ("A baker that looks like a lot of puppets was humming.", "humming"),
        ("Each baker runs around the parks and Anna is humming.", "runs"),
        # the verb agrees with its noun in number
        ("The claim that girls haven't met every boy is amusing that clerk.", "amusing"),
        ("That claim that most bakers observed a boy that reads was amusing the clerk.", "amusing"),
        ("A boy tears dresses and Anna is humming.", "tears"),
        # what takes no object is no noun's
        ("The claims that this baker that replies flees from some lakes aren't amusing all clerks.", "amusing"),
        # of two verbs in a group the last
        ("The claim that boys who got fired haven't painted a wall is amusing a clerk.", "amusing"),
        ("The boy got fired and a clerk is humming.", "fired"),
        ("A boy that has gone fishing was washing a cup.", "washing"),
        ("The boy is going fishing.", "fishing"),
        # quantities
        ("Fewer than three boys were humming and Anna ran.", "humming"),
        ("Some claim that a lot of waiters boasted about these boys hasn't amused a clerk.", "amused"),
        ("A lot of boys that trust some clerk were humming.", "humming"),
        # "had" with a noun of its own
        ("The girl had the maps and Anna is a clerk.", "had"),
    ],
)
def test_the_pass_over_a_sentence_finds_the_verb_that_serves_its_subject(sentence, verb):
    """One sentence or two for each thing that the pass knows."""
    words = sentence.replace(".", " .").split()
    group = main_verb(words)
    assert group is not None
    assert words[group.verb] == verb


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The girl is singing.", ["singing"]),
        ("The girl wasn't quietly singing.", ["singing"]),
        ("The girl sang.", []),
        ("The girls sing.", []),
        ("The girl can bring a map.", []),
        ("The girl that a man is watching sings.", []),
        ("The girl that a man watches is singing.", ["singing"]),
        ("The girl a man is watching was singing.", ["singing"]),
        ("The girl who is watching a man sings.", []),
        ("The girls who watch men who are dancing are singing.", ["singing"]),
        ("The rumor that a girl is singing amused the man.", []),
        ("The rumor that a girl sang is amusing the man.", ["amusing"]),
        ("Every joke that a nurse hired these poets was amusing a clerk.", ["amusing"]),
        ("The girl who said that the men sang is dancing.", ["dancing"]),
        ("Some girl said that the men are dancing.", []),
        ("Most men who the girl knows were dancing.", ["dancing"]),
        ("Singing songs amused the girl.", []),
        ("The girl", []),
    ],
)
def test_the_main_verb_is_told_from_embedded_ones(sentence, expected):
    """In a relative clause, in a clause of a noun and in an object clause an -ing form is not the main verb."""
    assert marked(ing_main_verb, sentence) == expected


@pytest.mark.parametrize(("sentence", "expected"), [
    ("The tall boy drew a map.", ["tall"]), ("The boy is very tall.", ["tall"]), ("Tall boys drew maps.", ["Tall"]),
    ("A boring boy drew a map.", ["boring"]), ("The boy is boring.", ["boring"]), ("The boy is boring the girls.", []),
    ("The boy upset the girls.", []), ("The boy has cleaned a dish and a kind of map.", []),
    ("An open ex-library is Ida.", ["open"]), ("The patient drew a map.", []), ("The boy drew a map.", []),
])  # fmt: skip
def test_an_adjective_is_told_from_verbs_and_nouns(sentence, expected):
    """The place of a word decides where it can be both."""
    assert marked(adjective, sentence) == expected


@pytest.mark.parametrize("rule", ["control", "swapped"])
def test_rules_for_pairs_find_nothing_in_a_single_text(rule):
    """There is no second segment to compare with."""
    assert RULES[rule](("Unless the boy draws, the girl sings.",), {}) == ()


@pytest.mark.parametrize("rule", ["irregular-past", "ing-main-verb", "adjective"])
def test_rules_for_sentences_read_each_segment(rule):
    """In a pair, both are looked at."""
    sentence = "The tall boy drew maps." if rule != "ing-main-verb" else "The boy is drawing."
    assert [span.segment for span in RULES[rule]((sentence, sentence), {})] == [0, 1]


def test_a_marker_names_what_it_finds_and_knows_its_rules():
    """A mark without a span is no mark, and an unknown rule is refused."""
    find = marker({"feature": "adjective", "verb": "ing-main-verb"})
    assert list(find(("The tall boy drew a map.",), {})) == ["feature"]
    with refuses(UnknownName, value="adjectives"):
        marker({"feature": "adjectives"})


def test_the_rules_of_all_cards_exist():
    """And every rule is used by a card."""
    used = {rule for card in sets.cards().values() for rule in card.marks.values()}
    assert used == set(RULES)


def test_words_of_the_lists_are_as_texts_are_cut():
    """In lower case, and one word each for `split_words` (phrases apart): else they could never be met."""
    for name, words in vars(lex).items():
        if isinstance(words, frozenset):
            assert all(word == word.lower() and len(Example("a", (word,), 0).words) == 1 for word in words), name


def test_the_examples_of_the_page_are_right():
    """docs/marks.md: every rule with what it finds and what it is known to miss."""
    page = (Path(__file__).parents[3] / "docs" / "marks.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"(?ms)^```python\n(.*?)^```", page))
    output: list[str] = []
    examples = doctest.DocTestParser().get_doctest(code, {}, "docs/marks.md", None, 0)
    assert doctest.DocTestRunner().run(examples, out=output.append).failed == 0, "".join(output)
    for card in sets.cards().values():
        for mark, rule in card.marks.items():
            assert re.search(rf"\| `{card.name}` \| `{mark}` \| \[`{rule}`\]\(#{rule}\) \| {card.designed}", page)
            assert f'>>> marked("{rule}", ' in page


WORDS = sorted(
    lex.FUNCTION_WORDS | lex.IRREGULAR_PASTS | {"girl", "girls", "sings", "singing", "tall", ",", ".", "’", "İ"}
)
SENTENCES = st.one_of(st.text(min_size=1), st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join))


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=60)
@given(segments=st.lists(SENTENCES, min_size=1, max_size=2).map(tuple), parse=st.text(alphabet="()SNVPBAR. \n"))
def test_no_text_is_too_strange(rule, segments, parse):
    """Each rule gives non-empty spans inside the segments, in order, apart, and the same ones again."""
    row = {"sentence1_parse": parse}
    spans = RULES[rule](segments, row)
    assert spans == RULES[rule](segments, row)
    assert list(spans) == sorted(spans)
    assert not any(a.overlaps(b) for a, b in zip(spans, spans[1:], strict=False))
    Example("a", segments, 0, {"mark": spans})  # raises where a span lies outside


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.randoms(use_true_random=False))
def test_swapping_is_the_same_from_either_side(words, random):
    """The words marked in one segment are those marked in the other, and exchanging the two exchanges the marks."""
    shuffled = words[:]
    random.shuffle(shuffled)
    pair = " ".join(words), " ".join(shuffled)
    first, second = marked(swapped, *pair)
    assert set(first) == set(second)
    assert marked(swapped, *pair[::-1]) == [second, first]
    assert bool(first) == (words != shuffled)


@pytest.mark.few(3)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("word", ["the ", "that ", "girls that sing ", ", ", "x"])
def test_a_text_of_the_largest_size_can_be_marked(rule, word):
    """Nothing is raised, however often a word stands in it; how long it takes, `benchmarks/scale.py` says."""
    text = (word * 100_000)[:100_000]
    RULES[rule]((text, f"so {text} it"), {"sentence1_parse": f"({text})"})
