"""Single sentences with a linguistic feature and a surface cue, the word "the", that come together in-domain only.

In-domain (`ambiguous`) a sentence with the feature contains "the", and one without the feature does not: nothing tells
which of the two a model goes by. In the new domain (`disambiguated`) it is the other way round. The three
features and this arrangement are those of Warstadt, Zhang, Li, Liu and Bowman (2020); templates and words are our own.

A template reads like one of its sentences, as in `experiments.generate.nli`. ``this1 baker1`` is "some baker" or "most
bakers", ``were1`` agrees with it; ``these1 bakers1`` is always plural, ``that1 mill1`` a place. ``saw1`` is any verb
with an irregular past, ``greeted1`` any regular one that takes a person.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from experiments.generate.nli import PEOPLE
from experiments.generate.templates import Forms, Lexicon, Template, rows, words
from factors import Example
from ranker.errors import look_up

ONE = ("this", "that", "every", "some", "each", "another")
MANY = ("these", "those", "many", "most", "some", "several")
MILL = "mill bakery harbor station bridge farm market stable"
CUP = "cup chair basket ladder lamp kettle coat drum"
RUMOR = "rumor report claim story letter joke"
GREETED = """
greet:greeted:greeting praise:praised:praising follow:followed:following visit:visited:visiting hug:hugged:hugging
blame:blamed:blaming scold:scolded:scolding tease:teased:teasing warn:warned:warning phone:phoned:phoning
hire:hired:hiring trust:trusted:trusting annoy:annoyed:annoying chase:chased:chasing push:pushed:pushing
rescue:rescued:rescuing ignore:ignored:ignoring insult:insulted:insulting watch:watched:watching help:helped:helping
"""
SMILED = """
smile:smiled:smiling laugh:laughed:laughing cough:coughed:coughing jump:jumped:jumping whistle:whistled:whistling
yawn:yawned:yawning stumble:stumbled:stumbling giggle:giggled:giggling sigh:sighed:sighing shiver:shivered:shivering
"""
HOPED = "hoped:hoping claimed:claiming argued:arguing boasted:boasting predicted:predicting"
WORRIED = "worried:worrying amused:amusing alarmed:alarming bothered:bothering annoyed:annoying shocked:shocking"
SAW = (
    "see:saw meet:met fight:fought catch:caught feed:fed teach:taught leave:left hear:heard find:found lead:led "
    "forget:forgot understand:understood choose:chose seek:sought bite:bit forgive:forgave hold:held strike:struck "
    "shake:shook hide:hid know:knew lose:lost"
)
BROKE = "break:broke draw:drew steal:stole buy:bought sell:sold throw:threw bring:brought take:took keep:kept send:sent"


def _people(noun: str) -> list[Forms]:
    """Return a noun in all its variants: singular and plural, with each determiner but "the"."""
    singular = [{"this": determiner, "baker": noun, "were": "was", "have": "has"} for determiner in ONE]
    many = [
        {"this": plural_determiner, "baker": f"{noun}s", "were": "were", "have": "have"} for plural_determiner in MANY
    ]
    return [*singular, *many]


def _verbs(names: str, text: str) -> list[list[Forms]]:
    return [[dict(zip(names.split(), verb.split(":"), strict=True))] for verb in text.split()]


LEXICON: Lexicon = {
    "people": [_people(noun) for noun in PEOPLE.split()],
    "crowd": [[{"these": determiner, "bakers": f"{noun}s"} for determiner in MANY] for noun in PEOPLE.split()],
    "place": [[{"that": determiner, "mill": mill} for determiner in ONE] for mill in MILL.split()],
    "thing": [[{"any": determiner, "cup": cup} for determiner in ONE] for cup in CUP.split()],
    "rumor": [[{"a": a, "rumor": rumor} for a in ONE] for rumor in RUMOR.split()],
    "greet": _verbs("greet greeted greeting", GREETED),
    "smile": _verbs("smile smiled smiling", SMILED),
    "hope": _verbs("hoped hoping", HOPED),
    "worry": _verbs("worried worrying", WORRIED),
    "see": _verbs("see saw", SAW),
    "break": _verbs("break broke", BROKE),
    "polite": words(
        "polite",
        "polite clever gentle quiet nervous cheerful stubborn brave lazy grumpy tall short young old rich poor happy "
        "sad kind rude honest shy strong weak loud calm",
    ),
    "near": words("near", "near behind at beside"),
}

DETERMINER = re.compile(r"\b(?:this|these|that|any|a)\d")
"""What "the" can stand for: the slot of a determiner."""

OPENINGS = (
    "this1 baker1 were1 greeting1 this2 baker2",
    "this1 baker1 have1 greeted1 this2 baker2",
    "this1 baker1 will greet1 this2 baker2",
    "this1 baker1 were1 smiling1",
    "this1 baker1 could smile1 near1 that1 mill1",
)
"""What a coordinated sentence may begin with: no irregular past, no adjective."""


class Feature(NamedTuple):
    """Sentences by whether they have a feature.

    Attributes:
        present: templates of sentences that have it.
        absent: of sentences that do not.
    """

    present: tuple[str, ...]
    absent: tuple[str, ...]


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().splitlines())


def _coordinated(text: str) -> tuple[str, ...]:
    return tuple(f"{opening} and {closing}" for opening, closing in product(OPENINGS, _lines(text)))


MORPH = Feature(
    present=_coordinated("""
this3 baker3 saw1 this4 baker4
these3 bakers3 saw1 this4 baker4
this3 baker3 broke1 any4 cup4
these3 bakers3 broke1 any4 cup4
"""),
    absent=_coordinated("""
these3 bakers3 see1 this4 baker4
these3 bakers3 break1 any4 cup4
these3 bakers3 greet2 this4 baker4
this3 baker3 greeted2 this4 baker4
"""),
)
"""An irregular past, or a present or a regular past in its place."""

VERB = Feature(
    present=_lines("""
this1 baker1 who greeted1 this2 baker2 were1 greeting2 this3 baker3
this1 baker1 who this2 baker2 greeted1 were1 greeting2 this3 baker3
this1 baker1 who smiled1 were1 greeting2 this3 baker3
this1 baker1 were1 hoping1 that this2 baker2 greeted1 this3 baker3
this1 baker1 were1 greeting1 this2 baker2 who smiled1
this1 baker1 were1 greeting1 this2 baker2 who this3 baker3 greeted2
this1 baker1 were1 greeting1 this2 baker2 who greeted2 this3 baker3
a1 rumor1 that this2 baker2 smiled1 was worrying1 this3 baker3
a1 rumor1 that this2 baker2 greeted1 this3 baker3 was worrying1 this4 baker4
"""),
    absent=_lines("""
this1 baker1 who were1 greeting1 this2 baker2 greeted2 this3 baker3
this1 baker1 who this2 baker2 were2 greeting1 greeted2 this3 baker3
this1 baker1 who were1 smiling1 greeted2 this3 baker3
this1 baker1 hoped1 that this2 baker2 were2 greeting1 this3 baker3
this1 baker1 greeted1 this2 baker2 who were2 smiling1
this1 baker1 greeted1 this2 baker2 who this3 baker3 were3 greeting2
this1 baker1 greeted1 this2 baker2 who were2 greeting2 this3 baker3
a1 rumor1 that this2 baker2 were2 smiling1 worried1 this3 baker3
a1 rumor1 that this2 baker2 were2 greeting1 this3 baker3 worried1 this4 baker4
"""),
)
"""Each sentence has one -ing form: the main verb, or one in a clause below it."""

ADJECT = Feature(
    present=_coordinated("""
this3 baker3 were3 polite1
this3 polite1 baker3 smiled2
this3 polite1 baker3 greeted2 this4 baker4
this3 baker3 greeted2 this4 polite1 baker4
this3 baker3 near2 that2 mill2 were3 polite1
"""),
    absent=_coordinated("""
this3 baker3 were3 near2 that2 mill2
this3 baker3 smiled2
this3 baker3 greeted2 this4 baker4
this3 baker3 near2 that2 mill2 smiled2
this3 baker3 near2 that2 mill2 greeted2 this4 baker4
"""),
)
"""An adjective, before its noun or alone, or none."""

FEATURES = {"morph": MORPH, "verb": VERB, "adject": ADJECT}


def with_the(text: str) -> list[str]:
    """Return the template with "the" in the place of one of its determiners, for each of these.

    Example:
        >>> with_the("this1 baker1 saw1 any1 cup1")
        ['the baker1 saw1 any1 cup1', 'this1 baker1 saw1 the cup1']
    """
    return [f"{text[: slot.start()]}the{text[slot.end() :]}" for slot in DETERMINER.finditer(text)]


def ambiguous(rng: np.random.Generator, n: int, feature: str) -> list[Example]:
    """Sentences that have the feature if and only if they contain "the"; half of them do. The label says which.

    Args:
        rng: draws the rows.
        n: how many.
        feature: "morph" (an irregular past), "verb" (the main verb is the -ing form) or "adject" (an adjective).
    """
    return _sentences(rng, n, look_up("feature", feature, FEATURES), cue_of={1: True, 0: False})


def disambiguated(rng: np.random.Generator, n: int, feature: str) -> list[Example]:
    """Sentences that have the feature if and only if they do not contain "the"; the label says whether they have it.

    Args:
        rng: draws the rows.
        n: how many.
        feature: "morph", "verb" or "adject".
    """
    return _sentences(rng, n, look_up("feature", feature, FEATURES), cue_of={1: False, 0: True})


def by_surface(rng: np.random.Generator, n: int, feature: str) -> list[Example]:
    """Sentences as of `disambiguated`; the label says whether they contain "the".

    Args:
        rng: draws the rows.
        n: how many.
        feature: "morph", "verb" or "adject".
    """
    return [replace(row, target=1 - row.target) for row in disambiguated(rng, n, feature)]


def _sentences(rng: np.random.Generator, n: int, feature: Feature, cue_of: dict[int, bool]) -> list[Example]:
    """Yield rows of each label in turn, with the cue where the label has it."""

    def templates(kind: str, label: int, texts: tuple[str, ...]) -> list[Template]:
        chosen = [cued for text in texts for cued in with_the(text)] if cue_of[label] else texts
        return [Template(kind, label, (text,)) for text in chosen]

    kinds = {"present": templates("present", 1, feature.present), "absent": templates("absent", 0, feature.absent)}
    return rows(rng, n, kinds, LEXICON)
