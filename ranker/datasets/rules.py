"""Rules by which papers turn rows of an official file into theirs: pure functions, which cards name.

A rule of texts cleans one text. A rule of labels maps one cell, and leaves out the row where it returns None. A rule of
rows makes any number of rows of one. Each raises a ValueError for a cell that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

Cells = Mapping[str, Any]
"""Column -> value of one row."""

_USER = re.compile(r"@\w+:?")
_URL = re.compile(r"(?i)\b(?:https?://|www\.)\S+")
_HASHTAG = re.compile(r"(?<![&\w])#\w+")  # and not the number of a character: &#128514;
_REFERENCE = re.compile(r"&#(\d{1,7});")
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u200d\u20e3\ufe0f]")


def without_users(text: str) -> str:
    """Remove user names.

    Example:
        >>> without_users("@USER She should ask. RT @Ann: why?")
        'She should ask. RT why?'

    Source: BOSS B.2.2.
    """
    return _squeezed(_USER.sub(" ", text))


def without_urls(text: str) -> str:
    """Remove addresses of the web.

    Example:
        >>> without_urls("Look: https://t.co/a1 and www.example.org/x now")
        'Look: and now'

    Source: BOSS B.2.2.
    """
    return _squeezed(_URL.sub(" ", text))


def without_hashtags(text: str) -> str:
    """Remove tags that begin with a "#".

    Example:
        >>> without_hashtags("No #MAGA here, it's #1. &#8220;So")
        "No here, it's . &#8220;So"

    Source: BOSS B.2.2.
    """
    return _squeezed(_HASHTAG.sub(" ", text))


def without_emoji(text: str) -> str:
    """Remove emoji, also those that HTML writes by number.

    Example:
        >>> without_emoji("drunk! \U0001f44a\U0001f1fa\U0001f1f8 &#128514; &#8220;So")
        'drunk! &#8220;So'

    Source: BOSS B.2.2.
    """
    as_characters = _REFERENCE.sub(lambda match: " " if _is_emoji(int(match[1])) else match[0], text)
    return _squeezed(_EMOJI.sub(" ", as_characters))


def _is_emoji(number: int) -> bool:
    return number <= 0x10FFFF and _EMOJI.match(chr(number)) is not None


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def mapped(table: Mapping[str, str | None], cell: Any) -> str | None:
    """Return the label of a name, None for one whose rows are left out; raises a ValueError for others."""
    name = str(cell).strip()
    if name not in table:
        raise ValueError(f"the label {name[:50]!r} is none of {', '.join(table)}")
    return table[name]


def stars(cell: Any) -> str | None:
    """Return the class of 1, 3 or 5 stars; rows of 2 and 4 are left out.

    Example:
        >>> [stars(cell) for cell in (1, "3", 5.0, 2)]
        ['negative', 'neutral', 'positive', None]

    Source: BOSS B.2.1, Amazon and Yelp.
    """
    classes = {1: "negative", 2: None, 3: "neutral", 4: None, 5: "positive"}
    number = _number(cell, 1, 5)
    if number not in classes:
        raise ValueError(f"a whole number of stars is needed (got {str(cell)[:50]!r})")
    return classes[int(number)]


def fifths(cell: Any) -> str | None:
    """Return the class of a score from 0 to 1 in five equal bins; the second and the fourth are left out.

    Example:
        >>> [fifths(cell) for cell in (0, 0.19, 0.2, "0.5", 0.79, 0.8, 1)]
        ['negative', 'negative', None, 'neutral', None, 'positive', 'positive']

    Source: BOSS B.2.1, SST; a score on a border belongs to the upper bin, as in the authors' program.
    """
    bins = ("negative", None, "neutral", None, "positive")
    score = _number(cell, 0, 1)
    return bins[sum(score >= border for border in (0.2, 0.4, 0.6, 0.8))]


def half(cell: Any) -> str:
    """Return "toxic" for a score of 0.5 or more, else "benign".

    Example:
        >>> half(0.5), half("0.49")
        ('toxic', 'benign')

    Source: BOSS B.2.2, Civil Comments.
    """
    return "toxic" if _number(cell, 0, 1) >= 0.5 else "benign"


def from_one(cell: Any) -> str:
    """Return a score from 1 to 5, less one, as the nearest whole number from 0 to 4 (a half goes to the even one).

    Example:
        >>> [from_one(cell) for cell in (1, 2.4, "2.6", 5)]
        ['0', '1', '2', '4']

    Source: GLUE-X 3.2, SICK.
    """
    return str(round(_number(cell, 1, 5) - 1))


def from_five(cell: Any) -> str:
    """Return a score from 0 to 5, times 4 / 5, as the nearest whole number from 0 to 4.

    Example:
        >>> [from_five(cell) for cell in (0, 2.5, "3.8", 5)]
        ['0', '2', '3', '4']

    Source: GLUE-X 3.2; the factor is that of the authors' program.
    """
    return str(round(_number(cell, 0, 5) * 4 / 5))


def _number(cell: Any, low: float, high: float) -> float:
    try:
        number = float(cell)
    except (TypeError, ValueError):
        number = low - 1
    if not low <= number <= high:
        raise ValueError(f"a number from {low} to {high} is needed (got {str(cell)[:50]!r})")
    return number


def renamed(types: Mapping[str, str], cell: Any) -> str:
    """Return tags with other types of entities; those of Few-NERD stay.

    Example:
        >>> renamed(WNUT, "B-group O I-corporation B-art")
        'B-organization O I-organization B-art'

    Raises:
        ValueError: a type is not in the table.
    """
    tags = [tag.partition("-") for tag in _tags(cell)]
    if strange := [kind for _, _, kind in tags if kind and kind not in (*types, *FEW_NERD)]:
        raise ValueError(f"the type {strange[0][:50]!r} is none of {', '.join(types)}")
    return " ".join(f"{begin}-{types.get(kind, kind)}" if kind else begin for begin, _, kind in tags)


def numbered(types: Sequence[str], cell: Any) -> str:
    """Return tags of numbers: 0 is O, and each type has one for B and one for I.

    Example:
        >>> numbered(("person", "place"), [1, 2, 0, 3])
        'B-person I-person O B-place'
    """
    tags = ["O", *(f"{begin}-{kind}" for kind in types for begin in "BI")]
    numbers = [int(number) for number in cell]
    if strange := [number for number in numbers if not 0 <= number < len(tags)]:
        raise ValueError(f"a tag must be a number from 0 to {len(tags) - 1} (got {strange[0]})")
    return " ".join(tags[number] for number in numbers)


def coarse(cell: Any) -> str:
    """Return BIO tags of Few-NERD's names, its coarse types alone; a run of equal names is one entity.

    Example:
        >>> coarse("O art-music art-music art-film other-law")
        'O B-art I-art B-art B-miscellaneous'

    Source: BOSS B.2.4, Few-NERD.
    """
    return _bio(_tags(cell), lambda name: {"other": "miscellaneous"}.get(kind := name.partition("-")[0], kind))


def runs(cell: Any) -> str:
    """Return BIO tags of four types whose beginnings are not marked; a run of equal tags is one entity.

    Example:
        >>> runs("I-PER I-PER O I-MISC")
        'B-person I-person O B-miscellaneous'

    Source: BOSS B.2.4, E-NER.
    """
    return _bio(_tags(cell), lambda name: renamed(CONLL, name).partition("-")[2])


def _bio(names: Sequence[str], kind_of: Callable[[str], str]) -> str:
    """Return names of entities as BIO tags; BIO tags of Few-NERD's types stay."""
    if all(name == "O" or (name[:2] in ("B-", "I-") and name[2:] in FEW_NERD) for name in names):
        return " ".join(names)
    tags = [
        name if name == "O" else f"{'I' if name == before else 'B'}-{kind_of(name)}"
        for before, name in zip(("O", *names), names, strict=False)
    ]
    return " ".join(tags)


def _tags(cell: Any) -> list[str]:
    return cell.split() if isinstance(cell, str) else list(map(str, cell))


def mean_of_two(cells: Cells) -> Iterator[Cells]:
    """Make the row toxic whose two scores of toxicity, of people and of a machine, have a mean of 3 or more.

    Example:
        >>> [row["label"] for row in mean_of_two({"text": "x", "toxicity_ai": 2, "toxicity_human": 3.9})]
        ['benign']

    Source: the authors' program of BOSS; the paper says that ToxiGen needs no processing.
    """
    mean = (_number(cells["toxicity_ai"], 0, 5) + _number(cells["toxicity_human"], 0, 5)) / 2
    yield {**cells, "label": "toxic" if mean >= 3 else "benign"}


def of_mrqa(cells: Cells) -> Iterator[Cells]:
    """Make a row of each question of a passage; its answers are those that stand in the passage.

    Example:
        >>> question = {"qid": "q", "question": "Who ran?", "detected_answers": [{"text": "Ann"}], "answers": ["ANN"]}
        >>> list(of_mrqa({"header": None, "context": "Ann ran.", "qas": [question]}))
        [{'id': 'q', 'question': 'Who ran?', 'context': 'Ann ran.', 'answers': ['Ann']}]
        >>> list(of_mrqa({"header": {"dataset": "NewsQA"}, "context": None, "qas": None}))
        []

    Source: BOSS B.2.5.
    """
    for question in cells["qas"] or ():
        answers = [*(answer["text"] for answer in question["detected_answers"]), *question["answers"]]
        row = {"id": question["qid"], "question": question["question"], "context": cells["context"], "answers": answers}
        yield from answers_in_passage(row)


def answers_in_passage(cells: Cells) -> Iterator[Cells]:
    """Keep the answers that stand in the passage, each once; without any, the row is left out.

    Example:
        >>> list(answers_in_passage({"context": "Ann ran.", "answers": {"text": ["ANN", "Ann", "Ann"]}}))
        [{'context': 'Ann ran.', 'answers': ['Ann']}]
    """
    texts = cells["answers"]["text"] if isinstance(cells["answers"], Mapping) else cells["answers"]
    if present := [text for text in dict.fromkeys(texts) if text in cells["context"]]:
        yield {**cells, "answers": present}


def sentence_pairs(cells: Cells) -> Iterator[Cells]:
    """Make a pair of the question and each sentence of its passage: an entailment if an answer stands in the sentence.

    Example:
        >>> row = {"id": "q", "question": "Who ran?", "context": "It rained. Ann ran.", "answers": ["Ann"]}
        >>> [(pair["sentence"], pair["label"]) for pair in sentence_pairs(row)]
        [('It rained.', 'not_entailment'), ('Ann ran.', 'entailment')]

    Source: GLUE-X 3.2, which converts NewsQA "to the consistent data format of QNLI"; it does not say how sentences are
    cut, nor which are kept.
    """
    sentences = [sentence for sentence in _SENTENCE.split(cells["context"]) if sentence.strip()]
    for number, sentence in enumerate(sentences):
        label = "entailment" if any(answer in sentence for answer in cells["answers"]) else "not_entailment"
        cells_of_pair = {"question": cells["question"], "sentence": sentence.strip(), "label": label}
        yield {"id": f"{cells['id']}-{number}", **cells_of_pair}


_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def three_summaries(cells: Cells) -> Iterator[Cells]:
    """Make one list of three summaries, which are references of the same dialogue.

    Example:
        >>> row = {"fname": "a", "summary1": "Ann ran.", "summary2": "She ran.", "summary3": "A run."}
        >>> [made["summary"] for made in three_summaries(row)]
        [['Ann ran.', 'She ran.', 'A run.']]
    """
    yield {**cells, "summary": [cells[f"summary{number}"] for number in (1, 2, 3)]}


def filled_gaps(cells: Cells) -> Iterator[Cells]:
    """Make a sentence of each choice that may fill a gap: acceptable with the right one, else unacceptable.

    Example:
        >>> row = {"text": "Is there a post office near here? Yes, there ___.", "options": ["isn't", "is"], "answer": 1}
        >>> [(made["sentence"], made["label"]) for made in filled_gaps(row)][0]
        ("Is there a post office near here? Yes, there isn't.", 'unacceptable')

    Source: GLUE-X, appendix A, Grammar Test.
    """
    options, right = cells["options"], cells["answer"]
    parts = _GAP.split(cells["text"], maxsplit=1)
    if len(parts) < 2 or right not in range(len(options)):
        raise ValueError("a text with a gap (___) and the number of the right option, from 0, are needed")
    for number, option in enumerate(options):
        label = "acceptable" if number == right else "unacceptable"
        yield {"sentence": f"{parts[0]}{option}{parts[1]}", "label": label}


_GAP = re.compile(r"_{2,}")

FEW_NERD = ("art", "building", "event", "location", "miscellaneous", "organization", "person", "product")
"""Coarse types of entities (BOSS, Table 21)."""

CONLL = {"PER": "person", "ORG": "organization", "LOC": "location", "MISC": "miscellaneous"}
"""Types of CoNLL-2003 and E-NER -> Few-NERD's (BOSS B.2.4)."""

WNUT = {
    "corporation": "organization",
    "creative-work": "art",
    "group": "organization",
    "location": "location",
    "person": "person",
    "product": "product",
}
"""Types of WNUT-17 -> Few-NERD's (BOSS B.2.4)."""

_CROSSNER = {
    "art": "book literarygenre musicgenre poem song",
    "event": "conference election event",
    "location": "country location",
    "miscellaneous": "algorithm astronomicalobject award chemicalcompound chemicalelement discipline enzyme field "
    "metrics misc programlang protein task theory",
    "organization": "band organisation politicalparty university",
    "person": "musicalartist person politician researcher scientist writer",
    "product": "academicjournal album magazine musicalinstrument product",
}
CROSSNER = {name: kind for kind, names in _CROSSNER.items() for name in names.split()}
"""Types of CrossNER -> Few-NERD's (BOSS B.2.4)."""

TEXTS: Mapping[str, Callable[[str], str]] = {
    "users": without_users,
    "urls": without_urls,
    "hashtags": without_hashtags,
    "emoji": without_emoji,
}

LABELS: Mapping[str, Callable[[Any], str | None]] = {
    "stars": stars,
    "fifths": fifths,
    "half": half,
    "from-one": from_one,
    "from-five": from_five,
    "hate-or-not": partial(mapped, {"noHate": "benign", "hate": "toxic", "relation": None, "idk/skip": None}),
    "any-hate": partial(mapped, {"not_hate": "benign", "implicit_hate": "toxic", "explicit_hate": "toxic"}),
    "three-numbers": partial(
        mapped,
        {"0": "entailment", "1": "neutral", "2": "contradiction", "-1": None, "-": None}
        | {name: name for name in ("entailment", "neutral", "contradiction")},
    ),
    "two-of-three": partial(mapped, {"negative": "negative", "neutral": "negative", "positive": "positive"}),
    "no-mixed": partial(
        mapped, {**{name: name for name in ("negative", "neutral", "positive")}, "mixed": None, "None": None}
    ),
    "conll": partial(renamed, CONLL),
    "wnut": partial(renamed, WNUT),
    "crossner": partial(renamed, CROSSNER),
    "conll-numbers": partial(numbered, tuple(CONLL.values())),
    "wnut-numbers": partial(numbered, ("organization", "art", "organization", "location", "person", "product")),
    "coarse": coarse,
    "runs": runs,
}

ROWS: Mapping[str, Callable[[Cells], Iterator[Cells]]] = {
    "mean-of-two": mean_of_two,
    "mrqa": of_mrqa,
    "in-passage": answers_in_passage,
    "sentence-pairs": sentence_pairs,
    "three-summaries": three_summaries,
    "filled-gaps": filled_gaps,
}
