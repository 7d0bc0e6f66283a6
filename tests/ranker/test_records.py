from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from refusals import refuses

from ranker.errors import DataError, UnknownName
from ranker.records import read_toml, record, table


@dataclass(frozen=True)
class Part:
    """A record inside another."""

    size: int
    share: float = 0.5

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"`size` must be at least 1 (got {self.size})")


@dataclass(frozen=True)
class Whole:
    """One field of each kind that an annotation can ask for."""

    name: str
    parts: tuple[Part, ...] = ()
    named: Mapping[str, Part] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limits: tuple[int, ...] | None = None
    switch: bool = False
    anything: Any = None
    kind: Literal["one", "two"] = "one"


def test_tables_become_records():
    """Lists become tuples, a lone value a tuple of one, a whole number a fraction where one is asked for."""
    read_record = record(
        Whole,
        {
            "name": "a", "parts": [{"size": 1}, {"size": 2, "share": 1}], "named": {"x": {"size": 3}},
            "words": {"yes": ["y", "true"], "no": "n"}, "limits": 7, "anything": [1, "2"],
        },
    )  # fmt: skip
    assert read_record.parts == (Part(1), Part(2, 1.0))
    assert isinstance(read_record.parts[1].share, float)
    assert read_record.named == {"x": Part(3)}
    assert read_record.words == {"yes": ("y", "true"), "no": ("n",)}
    assert read_record.limits == (7,)
    assert read_record.anything == [1, "2"]


def test_a_record_that_is_made_already_is_taken():
    """A record by a module's own rules stands beside what is made here."""
    part = Part(4)
    assert record(Whole, {"name": "a", "parts": (part,)}).parts == (part,)


def test_mappings_cannot_be_changed():
    """A record is frozen as deep as it goes."""
    frozen = record(Whole, {"name": "a", "words": {"yes": ["y"]}})
    with pytest.raises(TypeError):
        frozen.words["no"] = ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "the file needs the key `name`"),
        ({"name": 3}, "`name` must be a string (got 3)"),
        ({"name": "a", "switch": 1}, "`switch` must be true or false (got 1)"),
        ({"name": "a", "limits": [True]}, "`limits` must be a whole number (got True)"),
        ({"name": "a", "limits": 1.0}, "`limits` must be a whole number (got 1.0)"),
        ({"name": "a", "parts": 3}, "`parts` must be a table: `[parts]` (got 3)"),
        ({"name": "a", "parts": [{}]}, "`[parts]` needs the key `size`"),
        ({"name": "a", "parts": [{"size": 0}]}, "`[parts]`: `size` must be at least 1 (got 0)"),
        ({"name": "a", "named": []}, "`named` must be a table: `[named]` (got [])"),
        ({"name": "a", "named": {"x": {"size": "1"}}}, "`[named.x]`: `size` must be a whole number (got '1')"),
        ({"name": "a", "words": {"no": 0}}, "`no` in `words` must be a string (got 0)"),
        ({"name": "a", "kind": "three"}, "`kind` must be one of one, two (got 'three')"),
        ({"name": "a", "words": {"no": ["n", 0]}}, "`no` in `words` must be a string (got 0)"),
    ],
)
def test_what_cannot_be_right_is_named(content, message):
    """The message says which key of which table, what it must be, and what it is."""
    with pytest.raises(ValueError, match=r"^.+$") as caught:
        record(Whole, content)
    assert str(caught.value) == message


def test_a_misspelt_key_is_offered_the_near_one():
    """Also one that is no field, if the caller names it."""
    with refuses(UnknownName, value="sice", allowed=("size", "share")):
        record(Whole, {"name": "a", "parts": [{"sice": 1}]})
    with refuses(UnknownName, value="tusk"):
        record(Whole, {"name": "a", "tusk": 1}, label="the card", also=("task",))


def test_a_table_is_a_table():
    """Anything else is refused, with its name."""
    assert table({"a": 1}, "x") == {"a": 1}
    with pytest.raises(ValueError, match=r"^`x` must be a table: `\[x\]` \(got 1\)$"):
        table(1, "x")


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"a = \n", ValueError),
        (b'a = "\xff"\n', UnicodeDecodeError),
        (None, FileNotFoundError),
        (b"a = 1\n" + b"b." * 26 + b"c = 1\n", ValueError),
        (b"#" * ((1 << 16) + 1), ValueError),
    ],
)
def test_a_file_that_is_no_toml_is_named(tmp_path, content, cause):
    """The error names the file, and keeps the parser's own error as its cause."""
    file = tmp_path / "a.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(DataError) as stop:
        read_toml(file, "a card")
    assert stop.value.place == str(file)
    assert isinstance(stop.value.__cause__, cause)
