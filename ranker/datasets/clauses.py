"""Find the main verb of a sentence in one pass over its words, with a stack of subjects that wait for their verb.

A clause is opened by its subject and closed by its verb. In "the girl that a man likes is singing", "the girl" waits,
then "a man" waits, "likes" serves the man, and "is singing" serves the girl: no subject is left, so it is the main
verb.

- A noun phrase after a verb or a preposition is an object; anywhere else it is a subject, and waits.
- After "who" or "that" the pronoun may be the subject itself: the next verb then serves no waiting subject.
- In a relative clause with a subject of its own the object is what the clause is about: its verb takes no bare noun.
- A word without a determiner may be a noun or a verb; the verb's agreement with the subject that waits decides, and
  where that cannot, what follows. No tagger is needed: the sentences are of a few patterns, and the words of a few
  kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ranker.datasets import lexicon as lex

_NO_VERBS = frozenset().union(
    lex.DETERMINERS, lex.PREPOSITIONS, lex.PARTICLES, lex.MASS_NOUNS, lex.IRREGULAR_PLURALS, lex.COMPOUNDS
)


class Group(NamedTuple):
    """A finite verb group, such as "wasn't slowly eating": word indices of its first word and of its verb."""

    first: int
    verb: int


class _Subject(NamedTuple):
    plural: bool | None
    gapped: bool  # its clause lacks an object: "the girl (that) a man likes"


def main_verb(words: Sequence[str]) -> Group | None:
    """Find the verb group of the main clause; None if there is no verb.

    Example:
        >>> words = "The girl that a man likes is singing".split()
        >>> main_verb(words)
        Group(first=6, verb=7)
    """
    return _Reader([word.lower() for word in words] + ["."] * 4).main_verb(len(words))


class _Reader:
    """The pass itself; ``after`` is the kind of the last piece."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.waiting: list[_Subject] = []
        self.after = "start"  # or "noun", "relative", "verb" (an object may follow), "gap", "intransitive" (none can)
        self.plural: bool | None = None  # number of the last noun phrase
        self.head = ""
        self.gapped = True  # whether a clause opened here lacks an object

    def main_verb(self, length: int) -> Group | None:
        index = 0
        while index < length:
            word = self.words[index]
            if not word[0].isalpha() or word in lex.PARTICLES:
                index += 1
            elif word in lex.RELATIVES and self.after == "noun":  # elsewhere "that" is a determiner
                self.gapped = not (word == "that" and self.head in lex.CONTENT_NOUNS)
                self.after = "relative"
                index += 1
            elif word in lex.PREPOSITIONS:
                self.after = "gap" if self.after == "gap" else "verb"
                index += 1
            elif word not in lex.AUXILIARIES and self._is_noun(index):
                index = self._noun_phrase(index)
            else:
                group = self._verb_group(index)
                if self._closes_main_clause():
                    return group
                if self.after == "verb" and _intransitive(self.words[group.verb]):
                    self.after = "intransitive"
                index = group.verb + 1
        return None

    def _is_noun(self, index: int) -> bool:
        """Decide whether a noun phrase, and no verb, begins here."""
        word, following = self.words[index], self._kind_of_that(index + 1)
        if word in lex.DETERMINERS or following == "than" or following in lex.COMPOUNDS.get(word, ()):
            return True
        if self.after in ("start", "gap", "intransitive"):
            return self.after == "start"
        if _past(word):
            return False
        if word in lex.IRREGULAR_PLURALS or word in lex.MASS_NOUNS:
            return True
        third_person = _ends_in_s(word)
        subject = self.plural if self.after == "relative" else self.waiting[-1].plural if self.waiting else None
        agrees = subject is None or subject != third_person
        if agrees and _intransitive(word):
            return False
        if self.after == "verb":
            return third_person and not (agrees and following in lex.DETERMINERS)
        if not third_person:  # a bare singular is a noun after "that" alone, its determiner: "that girl sings"
            bare = self.after == "relative" and self.words[index - 1] == "that"
            return bare and (not agrees or self._serves(following, plural=False))
        if not agrees:
            return True
        if self.after == "noun" and len(self.waiting) > 1:
            return False
        return self._serves(following, plural=True)

    def _kind_of_that(self, index: int) -> str:
        """Return the word at an index, "that" as "who" (a pronoun) or "this" (a determiner)."""
        word, following = self.words[index], self.words[index + 1]
        if word != "that":
            return word
        verb = following in lex.AUXILIARIES or _past(following) or _ends_in_s(following) or _intransitive(following)
        return "who" if verb or following in lex.DETERMINERS else "this"

    def _serves(self, word: str, plural: bool) -> bool:
        """Decide whether a word could be the verb, or open the clause, of a noun of that number right before it."""
        if word in lex.SINGULAR_AUXILIARIES:
            return not plural
        if word in lex.PLURAL_AUXILIARIES:
            return plural
        if word in lex.AUXILIARIES or word in ("who", "which") or _past(word):
            return True
        if not word[0].isalpha() or word in _NO_VERBS or word.endswith("ly"):
            return False
        return _ends_in_s(word) != plural

    def _noun_phrase(self, index: int) -> int:
        """Read determiner, quantity and noun; return the index after them."""
        determiner = self.words[index]
        if determiner in lex.DETERMINERS or self.words[index + 1] == "than":
            index += 1
        if self.words[index : index + 2] == ["lot", "of"] or self.words[index] == "than":
            index, determiner = index + 2, "many"
        if self.words[index + 1] in lex.COMPOUNDS.get(self.words[index], ()):
            index += 1
        self.head = self.words[index]
        plural = self.head in lex.IRREGULAR_PLURALS or _ends_in_s(self.head)
        singular = determiner in lex.SINGULAR_DETERMINERS
        self.plural = not singular and (plural or determiner in lex.PLURAL_DETERMINERS)
        if self.after not in ("verb", "gap", "intransitive"):
            self.waiting.append(
                _Subject(self.plural, self.gapped if self.after == "relative" else self.after == "noun")
            )
        self.after = "noun"
        return index + 1

    def _verb_group(self, first: int) -> Group:
        """Read a verb group: "has not been singing", "got fired", "was going fishing"."""
        index = first
        if self.words[index] in lex.AUXILIARIES:
            index += 1
            while self.words[index] in lex.BETWEEN or self.words[index].endswith("ly"):
                index += 1
            if self.words[first] == "had" and self.words[index] in lex.DETERMINERS:
                index = first  # "had" is the verb itself
        following = self.words[index + 1]
        if self.words[index] in ("get", "gets", "got", "gotten", "getting") and _past(following):
            return Group(first, index + 1)
        if (
            self.words[index] in ("go", "goes", "going", "gone", "went")
            and following.endswith("ing")
            and len(following) > 4
        ):
            return Group(first, index + 1)
        return Group(first, index)

    def _closes_main_clause(self) -> bool:
        """Match the verb with its subject; return whether no subject is left."""
        if self.after == "relative":
            self.after = "verb"
            return False
        served = self.waiting.pop() if self.waiting else None
        self.after = "gap" if served is not None and served.gapped else "verb"
        return not self.waiting


def _intransitive(word: str) -> bool:
    """Test whether a form of a verb takes no object: "exist", "exists", "existed", "existing"."""
    stems = (word, word[:-1], word[:-2], word[:-3], word[:-4], word[:-3] + "y", word[:-3] + "e")
    return any(stem in lex.INTRANSITIVES for stem in stems)


def _ends_in_s(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _past(word: str) -> bool:
    return word in lex.IRREGULAR_PASTS or (word.endswith("ed") and len(word) > 3)
