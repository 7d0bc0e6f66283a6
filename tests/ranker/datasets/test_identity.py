from factors import Example
from ranker.attribution.lime import seed_of
from ranker.datasets.identity import text_key
from ranker.runtime import shards

PAIR = Example("a", ("A dog ran.", "It ran."), 1)


def test_a_texts_name_and_limes_seeds_are_what_they_were(monkeypatch):
    """Another format of the store changes neither, so LIME's numbers stay."""
    monkeypatch.setattr(shards, "FORMAT", shards.FORMAT + 1)
    assert text_key(PAIR) == "789e308daf3ad0ccaaebd8d5c3c9f815cd09ddc6568ec423e6c619f36ec765d3"
    assert seed_of(0, "model", PAIR) == 258084788300509748895105839560530554772
