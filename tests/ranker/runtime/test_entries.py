"""Answers as columns in a store, and what a store does with its files: shards of others, compaction, other formats."""

import logging
import shutil

import numpy as np
import pytest
from asking import attributions, predictions
from test_store import EXAMPLES, KEY, Counter, row_of, same

from factors.types import Example
from ranker.datasets.identity import text_names
from ranker.errors import printed
from ranker.runtime import shards
from ranker.runtime import store as store_module
from ranker.runtime.store import Store, key_digest
from ranker.runtime.upkeep import contents, prune, verify
from ranker.tasks.base import ANSWERED, NO_ANSWER
from ranker.tasks.classes import ClassProbabilities

OTHER = {"model": "def", "backend": "ig"}
ANSWERS = {"model": "abc", "answers": "classes"}


def answer_of(example):
    """Awkward numbers, different for each text; of one text there is no answer."""
    number = int(example.segments[0][-1])
    state = NO_ANSWER if number == 3 else ANSWERED
    probs = [np.nan, np.nan] if number == 3 else [np.nextafter(number / 10, 1), 1 - number / 10]
    return ClassProbabilities(np.array([probs]), np.array([state]))


class Answering:
    """Answers in blocks of two, and remembers which examples it was asked about."""

    def __init__(self):
        self.ids = []

    def __call__(self, examples):
        """The answers to examples, block by block."""
        for start in range(0, len(examples), 2):
            self.ids += [example.id for example in examples[start : start + 2]]
            yield ClassProbabilities.joined([answer_of(example) for example in examples[start : start + 2]])


def expected(examples):
    """The answers to examples, one by one."""
    return ClassProbabilities.joined([answer_of(example) for example in examples])


def alike(first, second):
    """Equal to the last bit."""
    return first.probs.tobytes() == second.probs.tobytes() and first.state.tolist() == second.state.tolist()


def test_answers_come_back_to_the_last_bit_in_any_order(tmp_path):
    """With their states; equal texts are asked about once, known ones not at all."""
    first, second = Answering(), Answering()
    twice = [*EXAMPLES, Example("twin", EXAMPLES[0].segments, 1)]
    assert alike(predictions(Store(tmp_path).entry(ANSWERS), twice, first), expected(twice))
    assert first.ids == [example.id for example in EXAMPLES]
    turned = EXAMPLES[::-1]
    assert alike(predictions(Store(tmp_path).entry(ANSWERS), turned, second), expected(turned))
    assert second.ids == []


def test_answers_before_an_interruption_are_kept(tmp_path):
    """The blocks that came are there, whatever ended them."""

    def interrupted(examples):
        yield expected(examples[:3])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predictions(Store(tmp_path).entry(ANSWERS), EXAMPLES, interrupted)
    later = Answering()
    assert alike(predictions(Store(tmp_path).entry(ANSWERS), EXAMPLES, later), expected(EXAMPLES))
    assert later.ids == ["e3", "e4"]


def test_too_few_answers_are_an_error(tmp_path):
    """Answers are told apart by their order alone, so that one too few would make all others wrong."""
    with pytest.raises(ValueError, match=r"5 answers were asked for \(got 4\)"):
        predictions(Store(tmp_path).entry(ANSWERS), EXAMPLES, lambda examples: [expected(examples[:4])])


@pytest.mark.parametrize(
    ("name", "limit", "files"), [("ANSWERS", 2, 3), ("ANSWERS", 3, 2), ("ANSWERS", 100, 1), ("SECONDS", 0.0, 3)]
)
def test_blocks_are_written_when_they_are_large_or_old_enough(tmp_path, monkeypatch, name, limit, files):
    """Many answers are few files, and a process that is killed loses seconds, however long an answer takes."""
    monkeypatch.setattr(store_module, name, limit)
    predictions(Store(tmp_path).entry(ANSWERS), EXAMPLES, Answering())
    assert len(list(tmp_path.rglob("*.parquet"))) == files


def test_a_key_is_read_once_a_run(tmp_path, monkeypatch):
    """One reading tells what is missing, what was added and what is taken."""
    read_shards, times = store_module.read_shards, []
    monkeypatch.setattr(store_module, "read_shards", lambda *flags: times.append(flags) or read_shards(*flags))
    entry = Store(tmp_path).entry(KEY)
    assert len(entry.missing(EXAMPLES)) == 5
    attributions(entry, EXAMPLES[:2], Counter())
    assert len(entry.missing(EXAMPLES)) == 3
    attributions(entry, EXAMPLES, Counter())
    assert len(times) == 1


def test_what_was_said_of_a_model_stands_beside_its_key(tmp_path):
    """Whoever adds rows later leaves it there, and the key is the same."""
    Store(tmp_path).entry(ANSWERS, "a").note(["It has a layer more."])
    assert Store(tmp_path).entry(ANSWERS).notes == ("It has a layer more.",)
    predictions(Store(tmp_path).entry(ANSWERS, "b"), EXAMPLES, Answering())
    assert Store(tmp_path).entry(ANSWERS).notes == ("It has a layer more.",)
    assert verify(tmp_path) == (2, [])
    Store(tmp_path).entry(ANSWERS).note([])
    assert Store(tmp_path).entry(ANSWERS).notes == ()


@pytest.mark.parametrize(
    ("key_text", "notes"),
    [
        ("{", ()), ("[]", ()), ('{"notes": "text"}', ()), ('{"notes": [1, "a\\u001b[2J"]}', ("a\\x1b[2J",)),
        (f'{{"notes": {["note"] * 1000}}}'.replace("'", '"'), ("note",) * 10),
        (f'{{"notes": ["{"n" * 9000}"]}}', (printed("n" * 9000),)),
    ],
)  # fmt: skip
def test_what_anybody_wrote_of_a_model_is_a_few_printable_lines(tmp_path, key_text, notes):
    """A store may be shared, and a model's process may be anybody's code."""
    entry = Store(tmp_path).entry(ANSWERS)
    entry.prepare()
    (entry.folder / "key.json").write_text(key_text)
    assert Store(tmp_path).entry(ANSWERS).notes == notes


def test_a_shard_in_the_folder_of_another_key_is_set_aside(tmp_path, caplog):
    """As a bad copy of a store may leave it: it is named, never used, and the right ones are computed."""
    for key in (KEY, OTHER):
        attributions(Store(tmp_path).entry(key), EXAMPLES[:2], Counter())
    first_folder, second_folder = (tmp_path / "v2" / key_digest(key)[:32] for key in (KEY, OTHER))
    (shard,) = second_folder.glob("*.parquet")
    shutil.rmtree(first_folder)
    shutil.copytree(second_folder, first_folder)
    (first_folder / "key.json").write_bytes((first_folder / "key.json").read_bytes().replace(b"def", b"abc"))
    assert verify(tmp_path) == (4, [first_folder / shard.name])
    counter = Counter()
    answered = attributions(Store(tmp_path).entry(KEY), EXAMPLES[:2], counter)
    assert counter.asked == ["e0", "e1"]
    assert f"{shard.name} is damaged (it is of another key)" in caplog.text
    assert all(same(row, row_of(example)) for row, example in zip(answered, EXAMPLES, strict=False))


def test_shards_become_one_when_a_run_is_done_with_them(tmp_path):
    """With the same rows, to the last bit; what is one already is left alone."""
    entry = Store(tmp_path).entry(KEY)
    for end in (2, 3, 5):
        attributions(entry, EXAMPLES[:end], Counter())
    assert len(list(tmp_path.rglob("*.parquet"))) == 3
    entry.compact()
    (shard,) = tmp_path.rglob("*.parquet")
    assert [content.rows for content in contents(tmp_path)] == [5]
    again = Store(tmp_path).entry(KEY)
    answered = attributions(again, EXAMPLES, Counter())
    assert all(same(row, row_of(example)) for row, example in zip(answered, EXAMPLES, strict=True))
    again.compact()
    assert list(tmp_path.rglob("*.parquet")) == [shard]
    assert verify(tmp_path) == (2, [])


def test_who_reads_while_shards_become_one_finds_all(tmp_path, monkeypatch):
    """The shards that were listed are gone when they are to be read: the folder is listed anew."""
    entry = Store(tmp_path).entry(KEY)
    for end in (2, 5):
        attributions(entry, EXAMPLES[:end], Counter())
    list_shards, looks = store_module.shards_of, []

    def listed_before(folder):
        shard_list = list_shards(folder)
        if not looks:
            looks.append(folder)
            entry.compact()
        return shard_list

    monkeypatch.setattr(store_module, "shards_of", listed_before)
    assert Store(tmp_path).entry(KEY).missing(EXAMPLES) == ()
    assert looks


@pytest.mark.parametrize("look", ["info", "verify", "prune"])
def test_who_lists_a_store_while_shards_become_one_counts_all(tmp_path, monkeypatch, look):
    """The same for who looks after a store: no row, byte or file less, and nothing is called damaged."""
    entry = Store(tmp_path).entry(KEY)
    for end in (2, 5):
        attributions(entry, EXAMPLES[:end], Counter())
    list_shards, looks = store_module.shards_of, []

    def listed_before(folder):
        shard_list = list_shards(folder)
        if not looks:
            looks.extend(shard_list)
            entry.compact()
        return shard_list

    monkeypatch.setattr(store_module, "shards_of", listed_before)
    entries = {"info": contents, "verify": verify, "prune": lambda root: list(prune(root))}[look](tmp_path)
    (shard,) = list_shards(entry.folder)
    assert len(looks) == 2
    if look == "info":
        assert [(entry.rows, entry.size) for entry in entries] == [(len(EXAMPLES), shard.stat().st_size)]
    else:
        assert entries == ((2, []) if look == "verify" else [])


def test_what_others_wrote_meanwhile_outlives_compaction(tmp_path):
    """Rows that came after this run had read its key are in the one shard, or in their own."""
    entry = Store(tmp_path).entry(KEY)
    for end in (1, 2):
        attributions(entry, EXAMPLES[:end], Counter())
    attributions(Store(tmp_path).entry(KEY), EXAMPLES[2:], Counter())
    entry.compact()
    assert Store(tmp_path).entry(KEY).missing(EXAMPLES) == ()


@pytest.mark.parametrize("key", [KEY, ANSWERS])
def test_a_shard_of_another_kind_of_rows_is_set_aside(tmp_path, key):
    """Answers among attributions, attributions among answers, and answers of more classes: all may be forged."""
    entry = Store(tmp_path).entry(key)
    names = text_names(EXAMPLES)
    three = ClassProbabilities(np.full((5, 3), 1 / 3))
    forged = [shards.attributions(names, [row_of(example) for example in EXAMPLES])]
    forged += [shards.answers(names, part.columns()) for part in (ClassProbabilities(three.probs[:, :2].copy()), three)]
    if key is ANSWERS:
        predictions(entry, EXAMPLES[:1], Answering())
    else:
        attributions(entry, EXAMPLES[:1], Counter())
    for table in forged:
        content = shards.serialize(table, key_digest(key))
        (entry.folder / shards.shard_name(content)).write_bytes(content)
    again = Store(tmp_path).entry(key)
    answered = predictions(again, EXAMPLES, Answering()) if key is ANSWERS else attributions(again, EXAMPLES, Counter())
    assert len(answered) == 5
    assert list(tmp_path.rglob("*.damaged"))


def test_shards_that_are_gone_are_not_made_one(tmp_path):
    """Somebody has removed the key, and another process has begun it anew with what cannot be read."""
    entry = Store(tmp_path).entry(KEY)
    for end in (1, 2):
        attributions(entry, EXAMPLES[:end], Counter())
    for shard in tmp_path.rglob("*.parquet"):
        shard.unlink()
    (entry.folder / "other.parquet").write_text("of nobody")
    entry.compact()
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_store_of_an_earlier_format_is_left_alone_and_named(tmp_path, caplog):
    """Old keys lie at the root, are counted in one line, and are neither read, checked nor removed."""
    old = tmp_path / ("a" * 32)
    old.mkdir()
    (old / "key.json").write_text("{}")
    (old / "x.parquet").write_text("of another format")
    with caplog.at_level(logging.INFO, "ranker"):
        attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
        assert [content.rows for content in contents(tmp_path)] == [5]
    assert caplog.text.count(f"{tmp_path} holds 1 key of an earlier format, which is left alone") == 2
    assert verify(tmp_path) == (2, [])
    assert (old / "x.parquet").read_text() == "of another format"


def test_keys_of_answers_and_of_attributions_do_not_meet(tmp_path):
    """A key says what is under it."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    assert len(Store(tmp_path).entry(ANSWERS).missing(EXAMPLES)) == 5


def test_columns_come_back_as_they_went(tmp_path):
    """Whole numbers, floats and lists of one length, with an empty table among them."""
    columns = {"state": np.array([0, 1]), "probs": np.array([[0.1, 1e-300], [np.nan, 1.0]])}
    for count in (2, 0):
        table = shards.answers([b"%032d" % n for n in range(count)], {k: v[:count] for k, v in columns.items()})
        back = shards.columns_of(table)
        assert {name: values.tobytes() for name, values in back.items()} == {
            name: values[:count].tobytes() for name, values in columns.items()
        }
        assert back["probs"].shape == (count, 2)
