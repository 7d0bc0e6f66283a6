"""Pairs of sentences with a shortcut, "what repeats the premise follows from it", that is right in-domain only.

In-domain (`in_domain`) a hypothesis without a new word follows, and one that does not follow shows a new word. In the
new domain (`hans_like`) no hypothesis has a new word, and half of them do not follow. The kinds of pairs there are the
linguistic phenomena that McCoy, Pavlick and Linzen (2019) describe for three heuristics, under their
names for them; templates and words are our own.

A template reads like one of its sentences. ``N1`` is "the baker" or "the bakers", ``bakers1`` the same without article;
``greeted1`` is any verb that takes a person, ``smiled1`` any without an object, ``feared1`` any that takes a person or
a clause, ``washed1`` any that takes a person or nothing, ``taught1`` any whose past tense is its participle, too, and
``baked_bread1`` any with what is done to a thing.
"""

from __future__ import annotations

import re

import numpy as np

from experiments.generate.templates import SLOT, Forms, Lexicon, Template, rows, table, words
from factors import Example
from ranker.errors import look_up

NEW = "9"
"""The digit of a slot whose word is nowhere else in its row."""

PEOPLE = (
    "gardener baker pilot nurse sailor drummer plumber farmer tailor painter dancer clerk butcher waiter singer poet "
    "guard driver florist barber chemist dentist miner juggler cyclist hunter weaver welder grocer cousin"
)
GREETED = (
    "greet:greeted praise:praised follow:followed visit:visited hug:hugged blame:blamed scold:scolded tease:teased "
    "warn:warned phone:phoned hire:hired trust:trusted annoy:annoyed amuse:amused chase:chased push:pushed "
    "rescue:rescued ignore:ignored insult:insulted please:pleased"
)
SMILED = (
    "smile:smiled laugh:laughed cough:coughed sneeze:sneezed jump:jumped whistle:whistled yawn:yawned faint:fainted "
    "stumble:stumbled giggle:giggled sigh:sighed nod:nodded blush:blushed shiver:shivered kneel:knelt snore:snored"
)
BAKED = (
    "bake:baked:the bread, drink:drank:the tea, knit:knitted:the scarf, sweep:swept:the floor, sew:sewed:the shirt, "
    "type:typed:the memo, hum:hummed:the tune, recite:recited:the verse, plough:ploughed:the field, "
    "chop:chopped:the wood, sing:sang:the hymn, cook:cooked:the stew"
)
ONE_FORM = {
    "feared": "feared suspected denied announced doubted predicted understood accepted regretted confirmed",
    "washed": "washed shaved dressed painted filmed hunted attacked photographed drove sketched",
    "taught": "taught trained coached examined interviewed tested fed raised tutored bathed",
    "polite": "polite clever gentle quiet nervous cheerful tired stubborn brave lazy grumpy tall",
    "quietly": "quietly slowly loudly gladly quickly rudely warmly calmly",
    "beside": "beside, across from, opposite, alongside, with, below, above, far from",
    "at_market": "at the market, in the kitchen, at the harbor, on the bridge, in the bakery, at the station, "
    "in the cellar, on the ferry, under the oak, in the stable, at the mill, on the stairs",
    "at_noon": "at noon, last night, yesterday, this morning, on Monday, on Friday, in April, two days ago",
    "because": "because since after before although when while",
    "if": "if, unless, whether or not, provided that, in case",
    "hoped": "hoped believed thought claimed guessed imagined dreamed assumed",
    "knew": "knew remembered realized forgot noticed saw learned",
    "maybe": "maybe probably hopefully perhaps possibly supposedly",
    "surely": "surely, certainly, clearly, obviously, without a doubt, of course",
    "who": "who that",
}


def _verbs(past: str, base: str, text: str) -> list[list[Forms]]:
    return [[dict(zip((base, past), verb.split(":"), strict=True))] for verb in text.split()]


def _people(person: str) -> list[Forms]:
    many = f"{person}s"
    return [{"N": f"the {noun}", "was": was, "bakers": many} for noun, was in ((person, "was"), (many, "were"))]


def _baked(text: str) -> list[Forms]:
    base, past, food = text.split(":")
    return [{"bake": base, "baked": past, "baked_bread": f"{past} {food}", "bake_bread": f"{base} {food}"}]


LEXICON: Lexicon = {
    "people": [_people(person) for person in PEOPLE.split()],
    "greet": _verbs("greeted", "greet", GREETED),
    "smile": _verbs("smiled", "smile", SMILED),
    "bake": [_baked(text) for text in BAKED.split(", ")],
    **{form: words(form, text) for form, text in ONE_FORM.items()},
}

SUBSEQUENCE = table("""
sn_NP/S                        N1 feared1 N2 smiled1                        =/> N1 feared1 N2
sn_NP/S                        N1 feared1 N2 greeted1 N3                    =/> N1 feared1 N2
sn_NP/Z                        because1 N1 washed1 N2 smiled1               =/> N1 washed1 N2
sn_NP/Z                        because1 N1 washed1 N2 greeted1 N3           =/> N1 washed1 N2
sn_PP_on_subject               N1 beside1 N2 smiled1                        =/> N2 smiled1
sn_PP_on_subject               N1 beside1 N2 greeted1 N3                    =/> N2 greeted1 N3
sn_relative_clause_on_subject  N1 who1 greeted1 N2 smiled1                  =/> N2 smiled1
sn_relative_clause_on_subject  N1 who1 greeted1 N2 greeted2 N3              =/> N2 greeted2 N3
sn_past_participle             N1 taught1 at_market1 smiled1                =/> N1 taught1 at_market1
sn_past_participle             N1 taught1 at_market1 greeted1 N2            =/> N1 taught1 at_market1
sn_past_participle             N1 greeted1 N2 taught1 at_market1            =/> N2 taught1 at_market1
se_conjunction                 N1 and N2 smiled1                            => N2 smiled1
se_conjunction                 N1 and N2 greeted1 N3                        => N2 greeted1 N3
se_conjunction                 N1 greeted1 N2 and N3                        => N1 greeted1 N2
se_adjective                   polite1 bakers1 smiled1                      => bakers1 smiled1
se_adjective                   polite1 bakers1 greeted1 N2                  => bakers1 greeted1 N2
se_understood_object           N1 baked_bread1                              => N1 baked1
se_understood_object           N1 and N2 baked_bread1                       => N1 and N2 baked1
se_relative_clause_on_obj      N1 greeted1 N2 who1 smiled1                  => N1 greeted1 N2
se_relative_clause_on_obj      N1 greeted1 N2 who1 greeted2 N3              => N1 greeted1 N2
se_relative_clause_on_obj      N1 greeted1 N2 who1 N3 greeted2              => N1 greeted1 N2
se_PP_on_obj                   N1 greeted1 N2 beside1 N3                    => N1 greeted1 N2
""")

CONSTITUENT = table("""
cn_embedded_under_if           if1 N1 smiled1, N2 greeted1 N3               =/> N1 smiled1
cn_embedded_under_if           if1 N1 greeted1 N2, N3 smiled1               =/> N1 greeted1 N2
cn_after_if_clause             if1 N1 smiled1, N2 greeted1 N3               =/> N2 greeted1 N3
cn_after_if_clause             if1 N1 greeted1 N2, N3 smiled1               =/> N3 smiled1
cn_embedded_under_verb         N1 hoped1 that N2 smiled1                    =/> N2 smiled1
cn_embedded_under_verb         N1 hoped1 that N2 greeted1 N3                =/> N2 greeted1 N3
cn_disjunction                 N1 smiled1, or N2 greeted1 N3                =/> N2 greeted1 N3
cn_disjunction                 N1 greeted1 N2, or N3 smiled1                =/> N1 greeted1 N2
cn_adverb                      maybe1 N1 smiled1                            =/> N1 smiled1
cn_adverb                      maybe1 N1 greeted1 N2                        =/> N1 greeted1 N2
ce_embedded_under_since        because1 N1 smiled1, N2 greeted1 N3          => N1 smiled1
ce_embedded_under_since        because1 N1 greeted1 N2, N3 smiled1          => N1 greeted1 N2
ce_after_since_clause          because1 N1 smiled1, N2 greeted1 N3          => N2 greeted1 N3
ce_after_since_clause          because1 N1 greeted1 N2, N3 smiled1          => N3 smiled1
ce_embedded_under_verb         N1 knew1 that N2 smiled1                     => N2 smiled1
ce_embedded_under_verb         N1 knew1 that N2 greeted1 N3                 => N2 greeted1 N3
ce_conjunction                 N1 smiled1, and N2 greeted1 N3               => N2 greeted1 N3
ce_conjunction                 N1 greeted1 N2, and N3 smiled1               => N1 greeted1 N2
ce_adverb                      surely1 N1 smiled1                           => N1 smiled1
ce_adverb                      surely1 N1 greeted1 N2                       => N1 greeted1 N2
""")

LEXICAL_OVERLAP = table("""
ln_subject/object_swap         N1 greeted1 N2                               =/> N2 greeted1 N1
ln_preposition                 N1 beside1 N2 greeted1 N3                    =/> N3 greeted1 N2
ln_preposition                 N1 greeted1 N2 beside1 N3                    =/> N3 greeted1 N2
ln_relative_clause             N1 who1 N2 greeted1 smiled1                  =/> N1 greeted1 N2
ln_relative_clause             N1 greeted1 N2 who1 N3 greeted2              =/> N2 greeted2 N3
ln_passive                     N1 was1 greeted1 by N2                       =/> N1 greeted1 N2
ln_conjunction                 N1 greeted1 N2 and N3                        =/> N2 greeted1 N3
ln_conjunction                 N1 and N2 greeted1 N3                        =/> N1 greeted1 N2
le_relative_clause             N1 greeted1 N2 who1 N3 greeted2              => N3 greeted2 N2
le_relative_clause             N1 who1 greeted1 N2 smiled1                  => N1 greeted1 N2
le_around_prepositional_phrase N1 beside1 N2 smiled1                        => N1 smiled1
le_around_prepositional_phrase N1 beside1 N2 greeted1 N3                    => N1 greeted1 N3
le_around_relative_clause      N1 who1 greeted1 N2 smiled1                  => N1 smiled1
le_around_relative_clause      N1 who1 N2 greeted1 greeted2 N3              => N1 greeted2 N3
le_conjunction                 N1 and N2 greeted1 N3                        => N1 greeted1 N3
le_conjunction                 N1 greeted1 N2 and N3                        => N1 greeted1 N3
le_passive                     N1 was1 greeted1 by N2                       => N2 greeted1 N1
""")

HEURISTICS = {"subsequence": SUBSEQUENCE, "constituent": CONSTITUENT, "lexical_overlap": LEXICAL_OVERLAP}

AT_HOME = table("""
repeated   polite1 bakers1 greeted1 N2 at_noon1                      => bakers1 greeted1 N2
repeated   polite1 bakers1 smiled1 at_market1                        => bakers1 smiled1 at_market1
repeated   N1 quietly1 greeted1 N2                                   => N1 greeted1 N2
repeated   N1 quietly1 smiled1                                       => N1 smiled1
repeated   N1 smiled1 quietly1 at_market1                            => N1 smiled1
repeated   N1 greeted1 N2 at_noon1                                   => N1 greeted1 N2
repeated   at_noon1 N1 greeted1 N2                                   => N1 greeted1 N2
repeated   at_noon1 N1 smiled1 at_market1                            => N1 smiled1
repeated   at_noon1 N1 smiled1 at_market1                            => N1 smiled1 at_market1
repeated   N1 greeted1 N2 at_market1                                 => N1 greeted1 N2
repeated   N1 greeted1 N2 at_market1 at_noon1                        => N1 greeted1 N2 at_noon1
repeated   N1 smiled1 and greeted1 N2                                => N1 smiled1
repeated   N1 smiled1 and greeted1 N2                                => N1 greeted1 N2
repeated   N1 greeted1 N2 and N3 at_noon1                            => N1 greeted1 N2 and N3
repeated   N1 greeted1 N2 and N3 at_noon1                            => N1 greeted1 N3
repeated   N1 and N2 quietly1 smiled1                                => N1 and N2 smiled1
repeated   N1 was1 greeted1 by N2                                    => N2 greeted1 N1
repeated   N1 was1 greeted1 by N2 at_market1                         => N1 was1 greeted1 by N2
repeated   N1 was1 greeted1 by N2 at_market1                         => N1 was1 greeted1
repeated   N1 feared1 N2 at_noon1                                    => N1 feared1 N2
repeated   N1 feared1 N2 and N3                                      => N1 feared1 N2
repeated   N1 washed1 N2 at_market1                                  => N1 washed1 N2
repeated   at_noon1 N1 washed1                                       => N1 washed1
repeated   N1 taught1 N2 at_market1                                  => N1 taught1 N2
repeated   N1 taught1 at_market1 at_noon1                            => N1 taught1 at_market1
repeated   at_noon1 N1 taught1 at_market1                            => N1 taught1 at_market1
repeated   N1 quietly1 taught1 at_market1                            => N1 taught1 at_market1
repeated   N1 taught1 at_market1 and greeted1 N2                     => N1 taught1 at_market1
repeated   N1 taught1 at_market1, and N2 smiled1                     => N1 taught1 at_market1
repeated   N1 and N2 taught1 at_market1                              => N2 taught1 at_market1
repeated   because1 N1 taught1 at_market1, N2 greeted1 N3            => N1 taught1 at_market1
repeated   N1 knew1 that N2 taught1 at_market1                       => N2 taught1 at_market1
repeated   N1 quietly1 washed1 N2                                    => N1 washed1 N2
repeated   because1 N1 washed1 N2, N3 smiled1                        => N1 washed1 N2
repeated   N1 washed1 N2 who1 smiled1                                => N1 washed1 N2
repeated   N1 washed1 N2, and N3 greeted1 N4                         => N1 washed1 N2
repeated   N1 feared1 N2 who1 smiled1                                => N1 feared1 N2
repeated   N1 feared1 N2 beside1 N3                                  => N1 feared1 N2
repeated   N1 feared1 N2, and N3 smiled1                             => N1 feared1 N2
repeated   N1 baked_bread1 at_noon1                                  => N1 baked_bread1
repeated   N1 quietly1 baked_bread1                                  => N1 baked_bread1
repeated   N1 hoped1 that N2 smiled1 at_noon1                        => N1 hoped1 that N2 smiled1
repeated   N1 knew1 that N2 quietly1 greeted1 N3                     => N1 knew1 that N2 greeted1 N3
repeated   if1 N1 smiled1 at_noon1, N2 greeted1 N3                   => if1 N1 smiled1, N2 greeted1 N3
repeated   because1 N1 smiled1, N2 quietly1 greeted1 N3              => because1 N1 smiled1, N2 greeted1 N3
repeated   N1 smiled1, or N2 greeted1 N3 at_noon1                    => N1 smiled1, or N2 greeted1 N3
repeated   N1 smiled1 at_market1, and N2 greeted1 N3                 => N1 smiled1, and N2 greeted1 N3
repeated   maybe1 N1 smiled1 at_noon1                                => maybe1 N1 smiled1
repeated   surely1 N1 greeted1 N2 at_market1                         => surely1 N1 greeted1 N2
repeated   N1 beside1 N2 smiled1 at_noon1                            => N1 beside1 N2 smiled1
repeated   N1 who1 greeted1 N2 smiled1 at_market1                    => N1 who1 greeted1 N2 smiled1
repeated   N1 greeted1 N2 who1 N3 greeted2 at_noon1                  => N1 greeted1 N2 who1 N3 greeted2
general    N1 greeted1 N2 at_noon1                                   => someone greeted1 N2
general    N1 quietly1 greeted1 N2                                   => N1 did something
general    N1 baked_bread1                                           => someone baked_bread1
general    N1 smiled1 at_market1                                     => someone was at_market1
added      N1 greeted1 N2                                            =/> N1 greeted1 N2 at_noon1
added      N1 greeted1 N2 at_noon1                                   =/> N1 greeted1 N2 at_market1
added      N1 smiled1                                                =/> N1 quietly1 smiled1
added      N1 smiled1 at_market1                                     =/> N1 and N2 smiled1
negated    N1 greeted1 N2 at_noon1                                   =/> N1 did not greet1 N2
negated    N1 quietly1 greeted1 N2                                   =/> nobody greeted1 N2
negated    N1 smiled1 at_market1                                     =/> N1 did not smile1
negated    at_noon1 N1 baked_bread1                                  =/> N1 did not bake_bread1
negated    N1 was1 greeted1 by N2                                    =/> N1 was1 not greeted1 by N2
negated    N1 did not smile1 at_market1                              =/> N1 smiled1
negated    N1 did not greet1 N2                                      =/> N1 greeted1 N2
""")


def changed(template: Template) -> list[Template]:
    """Templates whose hypothesis has words that the premise has not: one for each of its slots, and one for all.

    Example:
        >>> [row.segments[1] for row in changed(Template("repeated", 1, ("N1 smiled1 at_noon1", "N1 smiled1")))]
        ['N9 smiled1', 'N1 smiled9', 'N8 smiled8']
    """
    premise, hypothesis = template.segments
    slots = dict.fromkeys(SLOT.findall(hypothesis))
    single_changes = [re.sub(rf"\b{form}{digit}\b", f"{form}{NEW}", hypothesis) for form, digit in slots]
    all_of_them = SLOT.sub(lambda slot: f"{slot[1]}{9 - int(slot[2])}", hypothesis)
    kinds = ["changed"] * len(single_changes) + ["unrelated"]
    return [
        Template(kind, 0, (premise, changed_text))
        for kind, changed_text in zip(kinds, [*single_changes, all_of_them], strict=True)
    ]


def hans_like(rng: np.random.Generator, n: int, heuristic: str) -> list[Example]:
    """Pairs whose hypothesis repeats words of the premise, and follows from it in half of them.

    Args:
        rng: draws the rows.
        n: how many.
        heuristic: "subsequence" (the hypothesis is a run of the premise's words), "constituent" (it is a clause of
            the premise) or "lexical_overlap" (its words are among the premise's).
    """
    return rows(rng, n, look_up("heuristic", heuristic, HEURISTICS), LEXICON)


def in_domain(rng: np.random.Generator, n: int) -> list[Example]:
    """Pairs in which a hypothesis follows if, and nearly only if, it adds no word to the premise; half of them do.

    What follows in `hans_like` is in-domain here, too; what does not follow there is not.

    Args:
        rng: draws the rows.
        n: how many.
    """
    new = [template for kinds in HEURISTICS.values() for templates in kinds.values() for template in templates]
    entailed = [template._replace(kind="entailed") for template in new if template.label == 1]
    changes = [change for template in (*AT_HOME["repeated"], *entailed) for change in changed(template)]
    kinds = {
        "repeated": AT_HOME["repeated"],
        "changed": [change for change in changes if change.kind == "changed"],
        "entailed": entailed,
        "unrelated": [change for change in changes if change.kind == "unrelated"],
        "repeated again": AT_HOME["repeated"],
        "added": AT_HOME["added"],
        "general": AT_HOME["general"],
        "negated": AT_HOME["negated"],
    }
    return rows(rng, n, kinds, LEXICON)
