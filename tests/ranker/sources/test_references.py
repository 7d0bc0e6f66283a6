import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker.sources.references import Reference, parse

KINDS = ("hf", "table", "llm", "openai")


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("org/bert", Reference("org/bert")),
        ("org/bert@v1", Reference("org/bert", revision="v1")),
        ("org/bert@refs/pr/1", Reference("org/bert", revision="refs/pr/1")),
        ("mine=org/bert@v1", Reference("org/bert", "mine", revision="v1")),
        ("hf:org/bert", Reference("org/bert", kind="hf")),
        ("a b=llm:models/small@v2#review", Reference("models/small", "a b", "llm", "v2", "review")),
        ("table:answers.csv#gpt-5", Reference("answers.csv", kind="table", part="gpt-5")),
        (r"C:\models\bert", Reference(r"C:\models\bert")),
        (r"mine=C:\models\bert", Reference(r"C:\models\bert", "mine")),
        ("https://host/answers.csv?version=2&key=a", Reference("https://host/answers.csv?version=2&key=a")),
        ("https://me@host:8080/answers.csv#gpt", Reference("https://me@host:8080/answers.csv", part="gpt")),
        ("openai:https://host/v1#gpt@2", Reference("https://host/v1", kind="openai", part="gpt@2")),
        ("s3://bucket/a@b.csv", Reference("s3://bucket/a@b.csv")),
        ("other:org/bert", Reference("other:org/bert")),
        ("dir/a=b", Reference("dir/a=b")),
        ("=x", Reference("=x")),
        ("", Reference("")),
    ],
)
def test_what_a_reference_says(text, reference):
    """A Windows path and a URL with a query are no other kind; only a kind that there is ends at a colon."""
    assert parse(text, KINDS) == reference


@pytest.mark.parametrize("name", ["a=b", "a@b", "a#b", "hf:x", "x=hf:a@b#c"])
def test_what_exists_is_a_place_whatever_is_in_its_name(tmp_path, monkeypatch, name):
    """Nobody has to rename a folder; behind a name, a kind or before a part it is found, too."""
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse(name, KINDS) == Reference(name)
    assert parse(f"mine={name}", KINDS) == Reference(name, "mine")
    assert parse(f"mine=hf:{name}", KINDS) == Reference(name, "mine", "hf")
    assert parse(f"mine={name}#p", KINDS) == Reference(name, "mine", part="p")


@pytest.mark.more
@given(st.text())
def test_every_text_says_something(text):
    """And nothing of it is lost but the signs between its parts."""
    reference = parse(text, KINDS)
    parts = (reference.name, reference.kind, reference.place, reference.revision, reference.part)
    assert sum(map(len, parts)) <= len(text) <= sum(map(len, parts)) + 4
