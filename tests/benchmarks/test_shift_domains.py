from collections import Counter

from benchmarks.shift_domains import HANS, TrainingSettings, kind, parted, place

ROWS = [{"text": "x" * (n % 7 * 40), "label": str(n)} for n in range(50)]


def test_every_row_is_seen_once_an_epoch():
    """In the order given, or with rows of like length in a batch."""
    plain = list(TrainingSettings(batch=8).batches(ROWS, 0))
    assert [row for batch in plain for row in batch] == ROWS
    fast = list(TrainingSettings(epochs=3, batch=8, fast=True).batches(ROWS, 0))
    assert len(fast) == 21
    assert Counter(row["label"] for batch in fast for row in batch) == {str(n): 3 for n in range(50)}
    spread = [max(len(row["text"]) for row in batch) - min(len(row["text"]) for row in batch) for batch in fast]
    assert max(spread) <= 80


def test_new_sets_are_parted_and_the_first_is_whole():
    """A part is in the name of its set, and no column of its rows."""
    row = {"text": "a", "label": "b"}
    parts = parted({"home": [row | {"part": "x"}], "new": [row | {"part": "y"}, row | {"part": "z"}], "plain": [row]})
    assert parts == {"home": [row], "new-y": [row], "new-z": [row], "plain": [row]}


def test_parts_are_told_by_how_texts_are_made():
    """Tweets by their start or a link; sentences of a post by their place; HANS by subcases of either label."""
    tweets = ["!!! RT @a: b", '"@a: b', "see http://b", "see URL", "b @a RT "]
    assert [kind(tweet) for tweet in tweets] == ["retweet", "reply", "link", "link", "plain"]
    posts = {"1": 1, "2": 2}
    assert [place(name, posts) for name in ("1_1", "2_1", "2_2")] == ["whole", "first", "later"]
    for part, subcases in HANS.items():
        labels = Counter(name[1] for name in subcases.split())
        assert labels["e"] == labels["n"], part
    assert len({name for subcases in HANS.values() for name in subcases.split()}) == 30
