"""Pairs of questions with a shortcut, "the same words ask the same", that is right in-domain only.

In-domain (`in_domain`) questions that differ in a word that matters are no paraphrases, and all others are. In the new
domain (`paws_like`) the two questions of every pair consist of the same words, two of which, or two phrases, have
changed places; in half of the pairs that changes what is asked. Zhang, Baldridge and He (2019) describe such pairs;
templates and words are our own.

A template reads like one of its questions, as in `experiments.generate.nli`.
"""

from __future__ import annotations

import numpy as np

from experiments.generate.nli import changed
from experiments.generate.templates import Forms, Lexicon, rows, table, words
from factors import Example

LAWYERS = (
    "lawyer teacher doctor farmer banker soldier singer student painter pilot nurse baker driver writer dancer judge "
    "sailor tailor plumber gardener butcher miner hunter poet"
)
ONE_FORM = {
    "Anna": "Anna Peter Maria David Laura Simon Nina Oscar Clara Victor Helen Martin Alice Robert Julia Walter",
    "Paris": "Paris Berlin Madrid Tokyo Delhi Boston Denver Cairo Dublin Lima Oslo Prague Rome Vienna Sydney Chicago "
    "Toronto Lisbon Athens Warsaw",
    "rich": "rich poor young old tall short happy sad strong weak clever lazy honest shy polite rude",
    "richer": "richer poorer happier smarter kinder braver busier calmer healthier stronger",
    "trust": "trust help hate admire fear envy respect follow blame ignore like pay invite visit",
    "chess": "chess French physics piano tennis chemistry German guitar history biology Latin golf violin poker",
    "phone": "phone laptop camera bicycle printer tablet guitar helmet jacket sofa kettle mattress lamp backpack",
    "cheap": "cheap light small quiet sturdy modern simple elegant comfortable reliable",
    "cheaper": "cheaper lighter smaller quieter heavier louder faster safer",
    "miles": "miles kilometers feet inches meters yards leagues fathoms furlongs",
    "at_home": "at home, at school, at work, at night, on Sundays, on weekends, without a teacher, with a friend",
    "in_winter": "in winter, in summer, in one month, in a week, in two days, in April",
    "by_train": "by train, by bus, by car, by plane, by ferry, on foot",
}


def _lawyers(noun: str) -> list[Forms]:
    return [{"lawyer": noun, "lawyers": f"{noun}s"}]


LEXICON: Lexicon = {
    "lawyer": [_lawyers(noun) for noun in LAWYERS.split()],
    **{form: words(form, text) for form, text in ONE_FORM.items()},
}

SWAPPED = table("""
role          do lawyers1 trust1 lawyers2?                        =/> do lawyers2 trust1 lawyers1?
role          why did Anna1 trust1 Anna2?                         =/> why did Anna2 trust1 Anna1?
role          why should a rich1 lawyer1 trust1 a lawyer2?        =/> why should a rich1 lawyer2 trust1 a lawyer1?
both          can lawyers1 and lawyers2 trust1 Anna1?             => can lawyers2 and lawyers1 trust1 Anna1?
both          why did Anna1 and Anna2 visit Paris1?               => why did Anna2 and Anna1 visit Paris1?
both          how can I learn chess1 and chess2 at_home1?         => how can I learn chess2 and chess1 at_home1?
adjective     do rich1 lawyers1 trust1 rich2 lawyers2?            =/> do rich2 lawyers1 trust1 rich1 lawyers2?
adjective     can a rich1 lawyer1 marry a rich2 lawyer2?          =/> can a rich2 lawyer1 marry a rich1 lawyer2?
adjectives    where can I buy a cheap1, cheap2 phone1?            => where can I buy a cheap2, cheap1 phone1?
adjectives    what is it like to be rich1 and rich2?              => what is it like to be rich2 and rich1?
adjectives    why are rich1 and rich2 lawyers1 so rare?           => why are rich2 and rich1 lawyers1 so rare?
route         how do I get from Paris1 to Paris2 by_train1?       =/> how do I get from Paris2 to Paris1 by_train1?
route         what does a flight from Paris1 to Paris2 cost?      =/> what does a flight from Paris2 to Paris1 cost?
route         can a lawyer1 from Paris1 work in Paris2?           =/> can a lawyer1 from Paris2 work in Paris1?
distance      how far is Paris1 from Paris2 by_train1?            => how far is Paris2 from Paris1 by_train1?
distance      how far apart are Paris1 and Paris2?                => how far apart are Paris2 and Paris1?
distance      is there a bridge between Paris1 and Paris2?        => is there a bridge between Paris2 and Paris1?
conversion    how do I convert miles1 to miles2?                  =/> how do I convert miles2 to miles1?
conversion    why are miles1 used instead of miles2 in Paris1?    =/> why are miles2 used instead of miles1 in Paris1?
conversion    can I use a phone1 instead of a phone2?             =/> can I use a phone2 instead of a phone1?
difference    what is the difference between miles1 and miles2?   => what is the difference between miles2 and miles1?
difference    what do lawyers1 and lawyers2 have in common?       => what do lawyers2 and lawyers1 have in common?
difference    is chess1 similar to chess2?                        => is chess2 similar to chess1?
comparison    is Paris1 cheaper1 than Paris2?                     =/> is Paris2 cheaper1 than Paris1?
comparison    why are lawyers1 richer1 than lawyers2?             =/> why are lawyers2 richer1 than lawyers1?
comparison    is a phone1 cheaper1 than a phone2?                 =/> is a phone2 cheaper1 than a phone1?
alternative   which is cheaper1, Paris1 or Paris2?                => which is cheaper1, Paris2 or Paris1?
alternative   who is richer1, lawyers1 or lawyers2?               => who is richer1, lawyers2 or lawyers1?
alternative   should I buy a phone1 or a phone2?                  => should I buy a phone2 or a phone1?
order         should I learn chess1 before chess2?                =/> should I learn chess2 before chess1?
order         is it wise to visit Paris1 after Paris2?            =/> is it wise to visit Paris2 after Paris1?
order         did Anna1 leave Paris1 because of Anna2?            =/> did Anna2 leave Paris1 because of Anna1?
adjuncts      how can I learn chess1 at_home1 in_winter1?         => how can I learn chess1 in_winter1 at_home1?
adjuncts      where do lawyers1 go at_home1 in_winter1?           => where do lawyers1 go in_winter1 at_home1?
adjuncts      how do I get to Paris1 in_winter1 by_train1?        => how do I get to Paris1 by_train1 in_winter1?
""")
"""Kinds of pairs, those that ask something else and those that ask the same in turns."""

REWORDED = table("""
reworded   do lawyers1 trust1 lawyers2?                     => do lawyers1 really trust1 lawyers2?
reworded   do lawyers1 trust1 lawyers2?                     => do most lawyers1 trust1 lawyers2?
reworded   why did Anna1 trust1 Anna2?                      => why exactly did Anna1 trust1 Anna2?
reworded   why did Anna1 trust1 Anna2?                      => for what reason did Anna1 trust1 Anna2?
reworded   why should a rich1 lawyer1 trust1 a lawyer2?     => why should any rich1 lawyer1 trust1 a lawyer2?
reworded   can lawyers1 and lawyers2 trust1 Anna1?          => could lawyers1 and lawyers2 trust1 Anna1?
reworded   how can I learn chess1 and chess2 at_home1?      => how do I learn chess1 and chess2 at_home1?
reworded   do rich1 lawyers1 trust1 rich2 lawyers2?         => do rich1 lawyers1 ever trust1 rich2 lawyers2?
reworded   can a rich1 lawyer1 marry a rich2 lawyer2?       => could a rich1 lawyer1 marry a rich2 lawyer2?
reworded   where can I buy a cheap1, cheap2 phone1?         => where do I buy a cheap1, cheap2 phone1?
reworded   how do I get from Paris1 to Paris2 by_train1?    => how can I go from Paris1 to Paris2 by_train1?
reworded   how do I get from Paris1 to Paris2 by_train1?    => what is the best way from Paris1 to Paris2 by_train1?
reworded   what does a flight from Paris1 to Paris2 cost?   => how much is a flight from Paris1 to Paris2?
reworded   can a lawyer1 from Paris1 work in Paris2?        => may a lawyer1 from Paris1 work in Paris2?
reworded   how far is Paris1 from Paris2 by_train1?         => how many miles is Paris1 from Paris2 by_train1?
reworded   how do I convert miles1 to miles2?               => how can one convert miles1 to miles2?
reworded   how do I convert miles1 to miles2?               => what is a simple way to convert miles1 to miles2?
reworded   why are miles1 used instead of miles2 in Paris1? => why do they use miles1 instead of miles2 in Paris1?
reworded   can I use a phone1 instead of a phone2?          => may I use a phone1 instead of a phone2?
reworded   what do lawyers1 and lawyers2 have in common?    => what exactly do lawyers1 and lawyers2 have in common?
reworded   is Paris1 cheaper1 than Paris2?                  => is Paris1 really cheaper1 than Paris2?
reworded   why are lawyers1 richer1 than lawyers2?          => what makes lawyers1 richer1 than lawyers2?
reworded   is a phone1 cheaper1 than a phone2?              => is a phone1 usually cheaper1 than a phone2?
reworded   should I learn chess1 before chess2?             => would you learn chess1 before chess2?
reworded   is it wise to visit Paris1 after Paris2?         => is it a good idea to visit Paris1 after Paris2?
reworded   did Anna1 leave Paris1 because of Anna2?         => did Anna1 really leave Paris1 because of Anna2?
reworded   how can I learn chess1 at_home1 in_winter1?      => what is the best way to learn chess1 at_home1 in_winter1?
reworded   how can I learn chess1 at_home1?                 => how does one learn chess1 at_home1?
reworded   where do lawyers1 go at_home1 in_winter1?        => where do most lawyers1 go at_home1 in_winter1?
reworded   is Anna1 a rich1 lawyer1?                        => is Anna1 really a rich1 lawyer1?
reworded   what is it like to be a lawyer1 in Paris1?       => how is it to be a lawyer1 in Paris1?
""")["reworded"]


def paws_like(rng: np.random.Generator, n: int) -> list[Example]:
    """Pairs of questions of the same words in another order; half of them ask the same.

    Args:
        rng: draws the rows.
        n: how many.
    """
    return rows(rng, n, SWAPPED, LEXICON)


def in_domain(rng: np.random.Generator, n: int) -> list[Example]:
    """Pairs of questions that ask the same if, and only if, no word that matters is another; half of them do.

    What asks the same in `paws_like` is in-domain here, too; what asks something else there is not.

    Args:
        rng: draws the rows.
        n: how many.
    """
    same = [template._replace(kind="reordered") for kind in SWAPPED.values() for template in kind if template.label]
    changes = [change for template in (*REWORDED, *same) for change in changed(template)]
    kinds = {
        "reworded": REWORDED,
        "changed": [change for change in changes if change.kind == "changed"],
        "reordered": same,
        "unrelated": [change for change in changes if change.kind == "unrelated"],
    }
    return rows(rng, n, kinds, LEXICON)
