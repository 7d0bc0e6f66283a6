import unicodedata

import numpy as np
import pytest
from conftest import ENCODERS, LIMIT, make_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from factors.types import Attributions, Example, Span
from ranker.sources.hf import align
from ranker.sources.hf.align import encode, trim, words_of

TEXTS = [
    ("The doctor's co-worker waited.", "An old judge danced."),
    ("A naïve café 👍 near the 走路, because 猫!", "naïve naïve 👍"),
    ("the the  the\tthe", "the"),
    ("The actor saw the judge.", ""),
    ("", "The actor"),
    ("2 > 1 & 10% (of 3)",),
]


def spelled(tokenizer, kind, tokens, covered):
    """Text that tokens spell; one that the vocabulary does not know counts as the characters it covers."""
    if kind == "bpe":
        return tokenizer.convert_tokens_to_string(list(tokens)).strip()
    pieces = [text if token == "[UNK]" else token for token, text in zip(tokens, covered, strict=True)]
    return "".join(piece.removeprefix("##").replace("▁", "") for piece in pieces).strip()


def normal(kind, text):
    """A text as a tokenizer of that kind reads it."""
    if kind == "wordpiece":
        text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    return text


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ENCODERS)
def test_the_tokens_of_a_word_spell_it(classifier, name):
    """Put together, the tokens that were given to a word are that word: accents, emoji, CJK and all."""
    kind = ENCODERS[name][2]
    tokenizer = classifier(name).tokenizer
    examples = [Example(f"e{i}", segments, 0) for i, segments in enumerate(TEXTS)]
    for example, e in zip(examples, encode(tokenizer, examples, 100), strict=True):
        for w, word in enumerate(example.words):
            mine = np.flatnonzero(e.word == w)
            covered = [example.segments[word.segment][slice(*e.offsets[t])] for t in mine]
            assert spelled(tokenizer, kind, [e.tokens[t] for t in mine], covered) == normal(kind, example.text(word))
            assert (e.segment[mine] == word.segment).all()
            assert all(word.start <= a < b <= word.end or a == b <= word.start for a, b in e.offsets[mine].tolist())


@pytest.mark.parametrize("name", ENCODERS)
def test_special_tokens_belong_to_no_word(classifier, name):
    """Separators and their like have no segment, no word and no characters; every other token has a word."""
    tokenizer = classifier(name).tokenizer
    for e in encode(tokenizer, [Example("e", segments, 0) for segments in TEXTS], 100):
        special = np.isin(e.ids, [tokenizer.cls_token_id, tokenizer.sep_token_id])
        assert (e.segment[special] == -1).all()
        assert (e.word[special] == -1).all()
        assert not e.offsets[special].any()
        assert (e.word[~special] >= 0).all()


@pytest.mark.parametrize("name", ENCODERS)
def test_ids_are_the_tokenizers_own_pair_encoding(classifier, name):
    """Nothing is glued by hand: an encoding is what the tokenizer itself makes of the pair."""
    tokenizer = classifier(name).tokenizer
    for segments, e in zip(TEXTS, encode(tokenizer, [Example("e", s, 0) for s in TEXTS], 100), strict=True):
        expected = tokenizer(
            *([segment] for segment in segments)
        )  # alone, not in a list, an empty one would be dropped
        assert [e.ids.tolist()] == expected["input_ids"]
        assert (None if e.type_ids is None else [e.type_ids.tolist()]) == expected.get("token_type_ids")
        assert len(e) == len(e.ids)
        assert not e.truncated


def test_examples_of_one_and_of_two_segments_keep_their_order():
    """Single texts and pairs can stand in one list."""
    tokenizer = make_tokenizer("wordpiece")
    examples = [Example("a", ("saw",), 0), Example("b", ("the", "old"), 0), Example("c", ("actor",), 0)]
    tokens = [[t for t in e.tokens if t[0] != "["] for e in encode(tokenizer, examples, 100)]
    assert tokens == [["saw"], ["the", "old"], ["actor"]]
    assert encode(tokenizer, [], 100) == []


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_what_is_too_long_loses_the_end_of_its_longer_segment(kind):
    """A cut example says so, keeps its separators and its short segment, and its words are those of the text."""
    tokenizer = make_tokenizer(kind)
    example = Example("long", ("the " * 60 + "judge", "saw the actor"), 0)
    (e,) = encode(tokenizer, [example], LIMIT)
    (uncut,) = encode(tokenizer, [example], 1000)
    assert e.truncated
    assert not uncut.truncated
    assert len(e) == LIMIT
    assert (e.segment == 1).sum() == (uncut.segment == 1).sum()
    assert (e.segment == -1).sum() == 3
    first = e.segment == 0
    assert e.word[first].tolist() == uncut.word[uncut.segment == 0][: first.sum()].tolist()
    assert e.word[e.segment == 1].tolist() == uncut.word[uncut.segment == 1].tolist()


KINDS = [("wordpiece", "bert"), ("bpe", "roberta"), ("unigram", "xlnet")]


@pytest.fixture(scope="module")
def tokenizers():
    """One of each way to cut words."""
    return [make_tokenizer(kind, form) for kind, form in KINDS]


letters = st.text("abcdeéñ走猫theTHEor", min_size=1, max_size=6)
symbols = st.sampled_from(list("👍.,!%¿"))
sentences = st.lists(letters | symbols, max_size=8).map(" ".join)


@given(first=sentences, second=sentences, seed=st.integers(0, 9))
def test_word_scores_do_not_depend_on_the_tokenizer(tokenizers, first, second, seed):
    """A word's score stays, however the tokens are cut, where each character speaks for as much in all."""
    example = Example("e", (first, second), 0)
    weights = [np.random.default_rng(seed).normal(size=len(text)) for text in example.segments]
    wanted = [weights[word.segment][word.start : word.end].sum() for word in example.words]
    for tokenizer in tokenizers:
        (e,) = encode(tokenizer, [example], 1000)
        shares = [np.zeros(len(text)) for text in example.segments]  # of a character, several tokens may have a part
        for s, (a, b) in zip(e.segment, e.offsets, strict=True):
            shares[s][a:b] += s >= 0
        scores = [(weights[s][a:b] / shares[s][a:b]).sum() for s, (a, b) in zip(e.segment, e.offsets, strict=True)]
        row = Attributions(
            np.array([0.5, 0.5]), 1, e.tokens, e.segment, e.word, e.offsets, np.where(e.segment < 0, 7.0, scores)
        )
        np.testing.assert_allclose(row.word_scores, wanted, atol=1e-9)


@given(
    words=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(1, 5)), max_size=6),
    tokens=st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 20), st.integers(0, 5)), max_size=8),
)
def test_words_of_agrees_with_its_definition(words, tokens):
    """Each token goes to the word it shares most characters with; one without characters, to that ahead of it."""
    spans = sorted(Span(s, a, a + n) for s, a, n in words)
    segment = np.array([s for s, _, _ in tokens], np.int64)
    offsets = np.array([(a, a + n) if s >= 0 else (0, 0) for s, a, n in tokens], np.int64).reshape(-1, 2)
    wanted = []
    for s, (a, b) in zip(segment, offsets.tolist(), strict=True):
        shared = [len(set(range(a, b)) & set(range(w.start, w.end))) * (w.segment == s) for w in spans]
        ahead = [i for i, w in enumerate(spans) if w.segment == s and a == b <= w.start]
        wanted.append(shared.index(max(shared)) if max(shared, default=0) else next(iter(ahead), -1))
    assert words_of(offsets, segment, spans).tolist() == wanted


def test_trim_leaves_white_space_out():
    """Spaces on either side of a token do not count; a token of nothing else ends where the next word begins."""
    text = "a \t bc  d"
    offsets = np.array([[0, 0], [0, 2], [2, 7], [6, 8], [7, 9]])
    trimmed = trim(offsets, np.array([-1, 0, 0, 0, 0]), [text])
    assert trimmed.tolist() == [[0, 0], [0, 1], [4, 6], [8, 8], [8, 9]]


def test_a_family_of_emoji_is_lost_by_no_tokenizer(tokenizers):
    """Joined or coloured emoji are several words and few tokens: each token goes to one of those it covers."""
    example = Example("e", ("ok 👩‍👩‍👧 👍🏽", "👩"), 0)
    for tokenizer in tokenizers:
        (e,) = encode(tokenizer, [example], 100)
        inside = e.segment >= 0
        assert (e.word[inside] >= 0).all()
        for (a, b), s, w in zip(e.offsets[inside].tolist(), e.segment[inside], e.word[inside], strict=True):
            assert a == b or Span(int(s), a, b).overlaps(example.words[w])


LONG_TEXTS = {
    "words": "The doctor near the actor danced. " * 45,
    "blanks": "The" + " " * 1300 + "actor danced. " * 15,
    "one word": "a" * 1500,
    "dots": "." * 1500,
    "marks": "走路 naïve 👍" * 140,
}


@pytest.fixture(scope="module", params=["wordpiece", "bpe", "unigram"])
def tokenizer(request):
    """A tokenizer of each kind."""
    return make_tokenizer(request.param)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("second", ["The actor.", None])
@pytest.mark.parametrize("name", LONG_TEXTS)
def test_a_long_text_is_cut_before_it_is_encoded(tokenizer, name, second, side, monkeypatch):
    """The model sees the same as if the tokenizer had been given all of it, whatever side it cuts."""
    monkeypatch.setattr(tokenizer, "truncation_side", side)
    example = Example("a", (LONG_TEXTS[name], second or LONG_TEXTS[name]), 0)
    [cut] = encode(tokenizer, [example], LIMIT)
    monkeypatch.setattr(align, "LONG", 10**9)
    [uncut] = encode(tokenizer, [example], LIMIT)
    assert cut.tokens == uncut.tokens
    for field in ("ids", "type_ids", "segment", "word", "offsets"):
        assert np.array_equal(getattr(cut, field), getattr(uncut, field)), field
    assert cut.truncated == uncut.truncated


@pytest.mark.more
def test_the_tokenizer_is_given_no_more_than_the_model_can_read():
    """Of a pair it keeps every piece of one beside every piece of the other: 100,000 characters are too many."""
    tokenizer = make_tokenizer("wordpiece")
    for text in ("The doctor near the actor danced. " * 3000, "走" * 100_000):
        for side in ("right", "left"):
            tokenizer.truncation_side = side
            assert len(align._part(tokenizer, text, LIMIT).text) <= LIMIT * align.LONG + align.MARGIN
