"""Prompts on a model behind a server: labels are scored in the best way that the server has."""

import math
import pickle  # noqa: TID251  # as processes do
import sys
from collections import deque
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
from servers import WORDS, score, serving, tokens_of

from factors.types import Example
from ranker.errors import LabelError, ModelError, UsageError
from ranker.progress import silent
from ranker.runtime.base import Job, Request
from ranker.runtime.store import Store
from ranker.runtime.worker import run_job
from ranker.sources.base import Bill, Machine, ResourceCache, SourceOptions, is_billed, is_perturbed
from ranker.sources.endpoint import kind
from ranker.sources.endpoint.abilities import doubt_of, repeats_prompt
from ranker.sources.endpoint.client import Client, ServerError
from ranker.sources.endpoint.options import EndpointOptions
from ranker.sources.endpoint.replies import Reply, Token
from ranker.sources.endpoint.scoring import NextTokens, ServerScorer, ServerWriter, WholeWords
from ranker.sources.lm.demonstrations import Demonstration
from ranker.sources.lm.members import PromptSetup
from ranker.sources.lm.prompts import CONTENT_FREE, Prompt, prompt_of
from ranker.sources.lm.prompts import load as load_prompts
from ranker.sources.references import Reference
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER
from ranker.tasks.classes import ClassificationTask, softmax
from ranker.tasks.texts import TextTask

MOOD = ClassificationTask("mood", ("negative", "positive"))
PLAIN = Prompt(name="plain", template="{text} It was ",
               verbalizers={"positive": ("good", "positive"), "negative": ("bad",)})  # fmt: skip
CHAT = replace(PLAIN, name="chat", template="{text} Was it good or bad?", chat=True,
               verbalizers={"positive": ("good",), "negative": ("bad",)})  # fmt: skip
EXAMPLES = [
    Example(f"{n}", (f"A row about {noun}.",), n % 2) for n, noun in enumerate(["cats", "dogs", "owls", "rain"])
]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Clients wait a hundredth of a second at first."""
    monkeypatch.setattr(kind, "Client", partial(Client, first_pause=0.01))


def model_of(server, prompt=PLAIN, model="tiny", setup=None, **options):
    """A prompt on the server."""
    chosen = EndpointOptions(**options)
    cache = ResourceCache()
    (source,) = kind.sources(Reference(server.url, part=model), SourceOptions(kinds=[chosen]), cache)
    return replace(source, prompt=prompt, **({} if setup is None else vars(setup))).inspect(cache).source


def opened(server, prompt=PLAIN, task=MOOD, cache=None, **options):
    """A model that is ready to answer."""
    return model_of(server, prompt, **options).open(task, Machine(), ResourceCache() if cache is None else cache)


def answers(model, examples=EXAMPLES):
    """Answers of a model to examples."""
    blocks = list(model.predict(examples))
    return type(blocks[0]).joined(blocks)


def oracle(prompt=PLAIN, example=EXAMPLES[0]):
    """The (2,) logits of a row, from the definition: words token by token, those of a label added up."""
    context = prompt.fill(example.segments).rstrip()
    scores = {word: score(context, f" {word}") for words in prompt.verbalizers.values() for word in words}
    words = [prompt.verbalizers[label] for label in MOOD.labels]
    return np.array([np.logaddexp.reduce([scores[word] for word in of_label]) for of_label in words])


@pytest.mark.parametrize(("abilities", "way"), [
    ({"echo": True}, WholeWords), ({}, NextTokens), ({"top": 100}, NextTokens),
    ({"echo": True, "usage": False}, WholeWords),
])  # fmt: skip
def test_labels_are_scored_by_the_probabilities_of_their_words(abilities, way):
    """Whether the server repeats the prompt, or shows next tokens: the numbers are those of the definition."""
    with serving(**abilities) as server:
        model = opened(server)
        assert isinstance(model, ServerScorer)
        assert type(model.way) is way
        expected = softmax(np.array([oracle(example=example) for example in EXAMPLES]))
        np.testing.assert_allclose(answers(model).probs, expected, atol=1e-12)


def test_log_probabilities_that_are_too_few_are_not_believed():
    """A server that ignores `echo` replies with that of the token that it writes, and is asked for next tokens."""
    with serving(echo=False) as server:
        assert opened(server).way.tokens == {"good": (b" good",), "positive": (b" posit", b"ive"), "bad": (b" bad",)}
        first = server.requests[0][1]
        assert (first["echo"], first["logprobs"]) == (True, 1)


def test_a_repeated_prompt_has_its_text_and_a_number_for_each_token():
    """As many as the server counts, of the prompt's own text, and none without a number but the first."""
    tokens = (Token(b"The"), Token(b" sun", -1.0), Token(b" is", -2.0), Token(b" hot", -3.0))
    repeated = Reply("", tokens, prompt_tokens=3, output_tokens=1)
    assert repeats_prompt(repeated, "The sun is")
    assert doubt_of(repeated) == ""
    assert not repeats_prompt(repeated, "The sea is")
    assert not repeats_prompt(repeated, "The sun")
    assert not repeats_prompt(Reply(" hot", tokens[3:], prompt_tokens=3, output_tokens=1), "The sun is")
    assert doubt_of(replace(repeated, prompt_tokens=4)) == "it counts 4 tokens, and shows 3"
    assert doubt_of(replace(repeated, tokens=(tokens[0], Token(b" sun"), *tokens[2:]))) == "some tokens have none"
    certain = tuple(replace(token, logprob=-0.01) for token in tokens)
    assert "no prompt has" in doubt_of(replace(repeated, tokens=certain))


def test_tokens_are_those_that_the_server_shows():
    """All words of its language, in the tokens that it has, which nobody here knows."""
    prompt = replace(PLAIN, verbalizers={"positive": WORDS[:4], "negative": WORDS[4:]})
    with serving() as server:
        tokens = opened(server, prompt).way.tokens
        assert tokens == {word: tuple(t.encode() for t in tokens_of(f" {word}")) for word in WORDS}


def test_more_requests_for_more_tokens():
    """A word of two tokens costs one request more, which it shares with words that begin alike."""
    with serving() as server:
        model = opened(server)
        before = len(server.requests)
        answers(model, EXAMPLES[:1])
        assert (len(server.requests) - before, model.requests_a_row) == (2, (2, 2))


def test_a_label_outside_of_the_most_probable_tokens_is_a_bound():
    """Such a label is counted; if the best word is one, there is no answer."""
    with serving(top=5) as server:
        cache = ResourceCache()
        source = model_of(server)
        model = source.open(MOOD, Machine(), cache)
        rows = [Example(f"{n}", (f"A row about number {n}.",)) for n in range(40)]
        predictions = answers(model, rows)
        scores = [model.ask_row(row.segments) for row in rows]
        best = [max(of_row, key=of_row.get) in of_row.bounded for of_row in scores]
        assert 0 < sum(best) < 40
        np.testing.assert_array_equal(predictions.state, np.where(best, NO_ANSWER, ANSWERED))
        for row, of_row in zip(rows, scores, strict=True):
            context = PLAIN.fill(row.segments).rstrip()
            assert all(of_row[word] >= score(context, f" {word}") - 1e-9 for word in of_row)
        notes = cache.noted[source.place][1]
        counts = {"positive": 0, "negative": 0}
        for of_row, bounded in zip(scores, best, strict=True):
            for label, words in PLAIN.verbalizers.items():
                counts[label] += not bounded and any(word in of_row.bounded for word in words)
        assert notes[0] == "labels are scored by the tokens of their words, among the 5 most probable next tokens"
        none = "no label is among the most probable tokens, so that there is no answer"
        assert f"{none} (different rows: {sum(best)})" in notes
        bound = "the label 'positive' is not among the most probable tokens, so that its probability is an upper bound"
        assert f"{bound} (different rows: {counts['positive']})" in notes


def test_a_word_that_is_not_shown_is_asked_for_among_more():
    """One more request asks for all tokens that the server gives, where it gives more than the usual number."""
    prompt = replace(PLAIN, verbalizers={"positive": ("good",), "negative": ("bad",)})
    with serving() as server:
        model = opened(server, prompt)
        few = replace(model, endpoint=replace(model.endpoint, usual_top=2))
        before = len(server.requests)
        np.testing.assert_allclose(answers(few, EXAMPLES[:1]).probs, answers(model, EXAMPLES[:1]).probs)
        counts = [body["logprobs"] for _, body, _ in server.requests[before:]]
        assert counts == [2, 35]  # the size of its vocabulary


def test_a_chat_scores_first_tokens_alone():
    """The prompt goes as messages, and words that begin alike are told apart by the text that is written."""
    with serving(chat_top=5_000) as server:
        model = opened(server, CHAT)
        assert isinstance(model.way, NextTokens)
        assert model.way.first_alone
        probs = answers(model, EXAMPLES[:1]).probs[0]
        context = f"user: {CHAT.fill(EXAMPLES[0].segments)}\nassistant: "
        np.testing.assert_allclose(probs, softmax(np.array([[score(context, "bad"), score(context, "good")]]))[0])
        assert server.requests[-1][1]["messages"] == [{"role": "user", "content": CHAT.fill(EXAMPLES[0].segments)}]
        alike = replace(CHAT, verbalizers={"positive": ("entailment",), "negative": ("entail",)})
        assert isinstance(opened(server, alike), ServerWriter)


@pytest.mark.parametrize("abilities", [{"top": 0}, {"top": None}])
def test_without_log_probabilities_labels_are_read_from_text(abilities):
    """Labels are hard, and the report says so; what is no label is no answer."""
    prompt = replace(PLAIN, verbalizers={"positive": ("good", "yes", "a"), "negative": ("bad", "no", "the")})
    with serving(**abilities) as server:
        cache = ResourceCache()
        source = model_of(server, prompt)
        model = source.open(MOOD, Machine(), cache)
        assert isinstance(model, ServerWriter)
        rows = [Example(f"{n}", (f"A row about number {n}.",)) for n in range(30)]
        predictions = answers(model, rows)
        assert {ANSWERED, NO_ANSWER} == set(predictions.state.tolist())
        assert set(predictions.probs[predictions.state == ANSWERED].ravel().tolist()) == {0.0, 1.0}
        none = int((predictions.state == NO_ANSWER).sum())
        counted = f"the text that the server writes holds no answer (different rows: {none})"
        assert cache.noted[source.place][1] == (ServerWriter.note, counted)


@pytest.mark.more
def test_a_server_of_chats_alone_is_asked_by_any_prompt():
    """A plain prompt is the user's message, with a note; a chat is none for a server that takes no chats."""
    with serving(completions=False) as server:
        cache = ResourceCache()
        source = model_of(server)
        model = source.open(MOOD, Machine(), cache)
        assert model.way.first_alone
        assert model.put(("A row.",)) == [{"role": "user", "content": "A row. It was"}]
        note = "the server takes chats alone, so that the prompt plain is put as a user's message"
        assert note in cache.noted[source.place][1]
        assert opened(server, CHAT).way.first_alone
        assert {path for path, _, _ in server.requests[1:]} <= {"/v1/completions", "/v1/chat/completions"}
    with serving(chat=False) as server, pytest.raises(ServerError, match="takes no chat"):
        opened(server, CHAT)
    neither = r"cannot complete texts \(.*Not Found\), and takes no chat \("
    with serving(chat=False, completions=False) as server, pytest.raises(ServerError, match=neither):
        opened(server)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["sentiment", "nli", "paraphrase", "toxicity", "msgs-verb"])
def test_a_built_in_set_has_a_form_that_the_server_takes(name):
    """Without a prompt: the set's first one, or its chat where the server takes no other."""
    texts = ("A row.", "A row of words.")
    labels = tuple(next(prompt for prompt in load_prompts([name])).verbalizers)
    task = ClassificationTask(name, labels)
    for completions in (True, False):
        with serving(completions=completions, chat_top=None) as server:
            model = opened(server, None, task)
            (wanted,) = load_prompts([f"{name}/chat"]) if not completions else [prompt_of(task)]
            texts_of_prompt = texts[: len(wanted.segments)]
            assert (wanted.chat, sorted(wanted.verbalizers)) == (not completions, sorted(labels))
            text = model.put(texts_of_prompt)
            text = text if completions else text[-1]["content"]
            assert text.strip() == wanted.fill(texts_of_prompt).strip()


def test_verbalizers_that_begin_alike_are_refused():
    """A word whose tokens begin those of another could never be the less probable one."""
    prompt = replace(PLAIN, verbalizers={"positive": ("entailment",), "negative": ("entai",)})
    with serving() as server, pytest.raises(LabelError, match="reads 'entai' as the beginning of 'entailment'"):
        opened(server, prompt)


def test_a_calibrated_model_divides_by_rows_without_content():
    """Three more rows are asked, once; the mean of their probabilities is what the others are divided by."""
    with serving() as server:
        source = replace(model_of(server), calibration="content-free")
        model = source.open(MOOD, Machine(), ResourceCache())
        empty = softmax(np.array([oracle(example=Example("e", (text,))) for text in CONTENT_FREE])).mean(axis=0)
        plain = np.array([oracle(example=example) for example in EXAMPLES])
        np.testing.assert_allclose(answers(model).probs, softmax(plain - np.log(empty)), atol=1e-12)
        before = len(server.requests)
        answers(model)
        assert len(server.requests) == before


def test_words_may_be_scored_by_the_mean_of_their_tokens():
    """The sum over the number of tokens, in both ways."""
    words = {"positive": ("positive",), "negative": ("bad",)}
    context = PLAIN.fill(EXAMPLES[0].segments).rstrip()
    for abilities in ({}, {"echo": True}):
        with serving(**abilities) as server:
            source = replace(model_of(server, replace(PLAIN, verbalizers=words)), length="mean")
            scores = source.open(MOOD, Machine(), ResourceCache()).ask_row(EXAMPLES[0].segments)
            assert scores["positive"] == pytest.approx(score(context, " positive") / 2)
            assert scores["bad"] == pytest.approx(score(context, " bad"))


def test_words_are_hidden_from_a_server_by_leaving_them_out():
    """Every method that hides words has what it needs; the numbers are those of the shorter text."""
    with serving() as server:
        model = opened(server)
        assert is_perturbed(model)
        (encoding,) = model.encodings(EXAMPLES[:1])
        visible = np.array([[True] * 5, [True, False, True, True, True]])
        ((_, logits),) = model.answers([("x", encoding, visible)], "remove", lambda done: None)
        expected = [oracle(), oracle(example=Example("h", ("A about cats.",)))]
        np.testing.assert_allclose(logits, expected, atol=1e-12)


def test_texts_are_written_and_read():
    """Tasks of texts are answered by what the server writes, up to a stop text that it is told of, too."""
    prompt = Prompt(name="write", template="{text} Answer:", max_new_tokens=7, stop=("\n", "e", "x", "y", "z"))
    with serving() as server:
        model = opened(server, prompt, TextTask("qa"))
        texts = answers(model).values
        assert len(texts) == len(EXAMPLES)
        assert not any("e" in text or "\n" in text for text in texts)
        assert server.requests[-1][1]["stop"] == ["\n", "e", "x", "y"]
        assert server.requests[-1][1]["max_tokens"] == 7


@pytest.mark.few(1)
@pytest.mark.parametrize(("wrong", "reason"), [
    (["400"], "it refuses the request: not now"), (["500"] * 6, "replies with status 500: not now"),
    (["no-logprobs"], "it gives no log-probabilities of the next token"),
])  # fmt: skip
def test_a_row_that_fails_has_failed_and_the_others_have_answers(wrong, reason):
    """The reason is counted, and the row's state is neither an answer nor none."""
    with serving(wrong=deque(wrong)) as server:
        cache = ResourceCache()
        source = model_of(server, concurrency=1)
        predictions = answers(source.open(MOOD, Machine(), cache))
        assert predictions.state.tolist() == [ERROR, ANSWERED, ANSWERED, ANSWERED]
        assert f"failed: {reason} (different rows: 1)" in cache.noted[source.place][1]


@pytest.mark.more
def test_a_failed_row_is_asked_again_and_others_are_not(tmp_path):
    """In the next run, of the store and of the journal; then the remark is gone, too."""
    with serving(wrong=deque(["500"] * 6)) as server:
        job = Job(model_of(server, concurrency=1), MOOD, (Request(EXAMPLES),))
        for failures in (1, 0):
            cache, store, before = ResourceCache(), Store(tmp_path), len(server.rows())
            outcome = run_job(job, store, cache, silent)
            assert outcome.failure == ""
            states = store.entry_of(outcome.keys[0]).predictions(EXAMPLES).state
            assert (states == ERROR).sum() == failures
            notes = store.entry_of(outcome.keys[0]).notes
            assert sum("failed" in note for note in notes) == failures
        assert len(server.rows()) - before == 2  # both requests of the one row
        assert run_job(job, Store(tmp_path), ResourceCache(), silent).failure == ""
        assert len(server.rows()) - before == 2


@pytest.mark.more
def test_a_server_that_fails_row_after_row_is_left_out():
    """Such a server is not asked about all rows."""
    rows = [Example(f"{n}", (f"A row about number {n}.",)) for n in range(300)]
    with serving(wrong=deque(["500"] * 10_000)) as server:
        with pytest.raises(ServerError, match="fails 20 rows in a row: it replies|fails 20 rows in a row: replies"):
            answers(opened(server, concurrency=4), rows)
        assert len(server.rows()) < 6 * 60


@pytest.mark.more
def test_a_change_of_the_model_leaves_it_out_until_it_is_asked_anew(tmp_path):
    """The fingerprint is in the key: after `refetch` the answers are those of the new one, and all are asked."""
    with serving() as server:

        def run(**options):
            job = Job(model_of(server, concurrency=1, **options), MOOD, (Request(EXAMPLES),))
            return run_job(job, Store(tmp_path), ResourceCache(), silent)

        server.behaviour.wrong.extend(["", "", "other fingerprint"])
        first = run()
        message = "replied as the fingerprint 'f1', and now replies as 'f2'; `refetch` asks everything anew"
        assert message in first.failure
        server.behaviour.fingerprint = "f2"
        assert "now replies as 'f2'" in run().failure
        before = len(server.rows())
        anew = run(refetch=True)
        assert anew.failure == ""
        assert len(server.rows()) - before == 2 * len(EXAMPLES)
        before = len(server.requests)
        assert run().keys == anew.keys
        assert len(server.requests) == before


def test_a_dry_run_sends_nothing_and_says_what_it_would(tmp_path):
    """Requests, tokens and money, with prices from a file; known answers cost nothing."""
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "EUR"\n[models.tiny]\nprompt = 10\noutput = 40\n')
    with serving() as server:
        job = Job(model_of(server, prices=str(prices)), MOOD, (Request(EXAMPLES),), dry=True)
        outcome = run_job(job, Store(tmp_path), ResourceCache(), silent)
        assert not server.requests
        bill = outcome.estimate.bill
        assert (bill.requests, bill.most, bill.output_tokens, bill.currency) == (4, 12, 12, "EUR")
        assert bill.money == pytest.approx((10 * bill.prompt_tokens + 40 * 12) / 1e6)
        opening = f"rows: 4 to predict; 4 to 12 requests to {job.source.server.host}, at most"
        assert str(outcome.estimate).startswith(opening)
        run_job(replace(job, dry=False), Store(tmp_path), ResourceCache(), silent)
        sent = len(server.requests)
        assert run_job(job, Store(tmp_path), ResourceCache(), silent).estimate is None
        larger = replace(job, requests=(Request([*EXAMPLES, Example("5", ("Another row.",))]),))
        assert run_job(larger, Store(tmp_path), ResourceCache(), silent).estimate.bill.requests == 2
        assert len(server.requests) == sent


def test_a_dry_run_counts_what_is_kept_and_how_much_a_row_took(tmp_path):
    """Half of the rows were asked: the others take as many requests as these did, which a run then needs."""
    rows = [Example(f"{n}", (f"A row about number {n}.",)) for n in range(20)]
    with serving(top=5_000) as server:
        source = model_of(server)
        job = Job(source, MOOD, (Request(rows[:10]),))
        run_job(job, Store(tmp_path), ResourceCache(), silent)
        count = len(server.rows())
        larger = replace(job, requests=(Request([*rows, Example("z", ("Row z.",))]),), dry=True)
        bill = run_job(larger, Store(tmp_path), ResourceCache(), silent).estimate.bill
        assert (bill.requests, bill.most) == (math.ceil(11 * count / 10),) * 2
        run_job(replace(larger, dry=False), Store(tmp_path), ResourceCache(), silent)
        assert abs(len(server.rows()) - count - bill.requests) <= 2


def test_a_dry_run_before_the_first_gives_a_range(tmp_path):
    """The server's abilities are not known, and a word may have to be asked for once more."""
    with serving() as server:
        job = Job(model_of(server), MOOD, (Request(EXAMPLES),), dry=True)
        bill = run_job(job, Store(tmp_path), ResourceCache(), silent).estimate.bill
        assert (bill.requests, bill.most) == (4, 12)
        assert f"4 to 12 requests to {job.source.server.host}, at most about " in str(bill)
        run_job(replace(job, dry=False), Store(tmp_path), ResourceCache(), silent)
        assert 4 <= len(server.rows()) <= 12


def test_bills_add_up():
    """Of one host; a price that is not known makes the sum unknown."""
    bill = Bill("h", 1, 2, 2, 3, 0.5, "EUR") + Bill("h", 1, 2, 2, 3, 0.25, "EUR")
    assert bill == Bill("h", 2, 4, 4, 6, 0.75, "EUR")
    assert math.isnan((bill + Bill("h", 1, 1, 2, 3)).money)
    assert is_billed(ServerScorer(name="m", endpoint=None, put=None, member="", way=None, groups=(), labels=()))


@pytest.mark.parametrize(("text", "message"), [
    ("[models.tiny]\nprompt = 'x'\noutput = 1", "`prompt` must be a number"),
    ("[models.tiny]\nprompt = 1", "the price of tiny needs the key `output`"),
    ("price = 1", "there is no key of the list of prices 'price'"),
    ("models = 3", "`models` must be tables"),
])  # fmt: skip
def test_a_list_of_prices_is_checked(tmp_path, text, message):
    """Each fault is a line with the file's name, before anything is asked."""
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        kind.sources(Reference("http://127.0.0.1:9/v1"), SourceOptions(kinds=[EndpointOptions(prices=str(file))]),
                     ResourceCache())  # fmt: skip


@pytest.mark.parametrize(("url", "message"), [
    ("127.0.0.1:8080", "must be the URL of a server, such as openai:http://127.0.0.1:8080/v1#MODEL"),
    ("ftp://127.0.0.1/v1", "must be the URL of a server"), ("http://", "must be the URL of a server"),
    ("http://127.0.0.1:99999/v1", "is no URL of a server"),
    ("http://me:secret@127.0.0.1/v1", "must hold no password and no query"),
    ("http://127.0.0.1/v1?key=secret", "must hold no password and no query"),
])  # fmt: skip
def test_an_address_that_is_none_is_refused(url, message):
    """Without a word of what it might hold of a password."""
    with pytest.raises(UsageError, match=message) as refused:
        kind.sources(Reference(url), SourceOptions(), ResourceCache())
    assert "secret" not in str(getattr(refused, "value", ""))


def test_texts_stay_on_this_machine_unless_that_is_allowed():
    """A host that is not this machine is asked for nothing, not even for what it can do."""
    source, = kind.sources(Reference("http://192.0.2.1/v1", part="m"), SourceOptions(), ResourceCache())  # fmt: skip
    message = "the texts of rows would be sent to 192.0.2.1, another machine: `send_texts` allows"
    with pytest.raises(UsageError, match=message):
        source.connect(ResourceCache())


def test_each_host_has_its_own_key(monkeypatch):
    """A variable without a host is for a run with one host alone."""
    options = EndpointOptions(api_key_env=("a.example=A_KEY", "B_KEY"))
    assert options.key_name("a.example", alone=False) == "A_KEY"
    assert options.key_name("b.example", alone=True) == "B_KEY"
    assert options.key_name("b.example", alone=False) == ""
    assert EndpointOptions().key_name("b.example", alone=True) == "OPENAI_API_KEY"
    cache = ResourceCache()
    local_sources = [
        kind.sources(Reference(f"http://127.0.0.1:{port}/v1"), SourceOptions(), cache)[0] for port in (1, 2)
    ]
    assert [source.inspect(cache).needs.secrets for source in local_sources] == [(), ()]


@pytest.mark.parametrize(("options", "message"), [
    ({"api_key_env": ("sk-1234",)}, "must name an environment variable"), ({"concurrency": 0}, "must be at least 1"),
    ({"max_requests": -1}, "must be at least 0"), ({"request_timeout": 0}, "must be above 0"),
])  # fmt: skip
def test_options_are_checked(options, message):
    """A key in the place of its variable's name is refused without being quoted."""
    with pytest.raises(UsageError, match=message) as refused:
        EndpointOptions(**options)
    assert "sk-1234" not in str(getattr(refused, "value", ""))


def test_members_are_prompts_on_one_model():
    """Each prompt makes a model; they share their family, their worker and their budget, and need the network."""
    options = SourceOptions(kinds=[EndpointOptions(prompts=("sentiment",), calibration=("none", "content-free"))])
    cache = ResourceCache()
    sources = kind.sources(Reference("http://127.0.0.1:9/v1/", part="org/tiny"), options, cache)
    assert [source.name for source in sources[:3]] == ["tiny/all-in-all", "tiny/all-in-all/calibrated", "tiny/like"]
    assert {source.family for source in sources} == {"org/tiny"}
    assert len({source.server.run for source in sources}) == len({source.shares for source in sources}) == 1
    assert len({source.place for source in sources}) == len(sources) == 8
    info = sources[0].inspect(cache)
    assert (info.needs.network, info.needs.accelerator, info.attributable) == (True, False, False)
    assert info.parts == {"model": "tiny", "prompt": "all-in-all"}
    assert replace(sources[0], server=replace(sources[0].server, options=EndpointOptions(max_requests=9))).inspect(
        cache).attributable  # fmt: skip
    assert PromptSetup().prompt_name == "the task's"


IDENTITY = {
    "name": ("other", False),
    "server": (None, True),  # its address: see below
    "model": ("another", True),
    "prompt": (replace(PLAIN, template="{text} All in all: "), True),
    "demonstrations": ((Demonstration(("A row shown.",), '"positive"'),), True),
    "calibration": ("content-free", True),
    "length": ("mean", True),
    "options": (SourceOptions(allow_pickle=True), False),
    "sharing": (4, False),
}
"""Field of a model behind a server -> (another value, whether it changes a number)."""

ASKING = {
    "send_texts": True, "api_key_env": ("A_KEY",), "max_requests": 900, "max_tokens": 90_000, "concurrency": 3,
    "request_timeout": 7.0, "prices": "", "refetch": False, "prompts": (), "shots": (), "demonstrations": "",
    "calibration": (), "too_long": "cut",
}  # fmt: skip
"""Options of asking: none of them changes a number by itself; those of prompts are in the model's record."""


@pytest.mark.few(1)
@pytest.mark.parametrize("name", IDENTITY)
def test_what_changes_a_number_is_in_the_key(name):
    """Another prompt, model, address or calibration; no name, and no way of sending."""
    value, changes = IDENTITY[name]
    with serving(model=None) as server, serving(model=None) as another:
        source = model_of(server)
        changed = replace(source, **{name: model_of(another).server if name == "server" else value})
        keys = [model.identity(MOOD, Machine(), ResourceCache())["content"] for model in (source, changed)]
        assert (keys[0] != keys[1]) == changes
        assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301  # our own
        assert hash(source) == hash(replace(source))
        if name == "options":
            sent = replace(source, server=replace(source.server, options=EndpointOptions(**ASKING)))
            assert sent.identity(MOOD, Machine(), ResourceCache())["content"] == keys[0]
    assert IDENTITY.keys() == {field.name for field in fields(kind.EndpointModel)}
    assert ASKING.keys() == {field.name for field in fields(EndpointOptions)}


def test_a_missing_package_is_named(monkeypatch):
    """With what installs it."""
    for name in ("httpx2", "stamina"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"needs httpx2, stamina: `pip install 'rank-models\[endpoint\]'`"):
        kind.sources(Reference("http://127.0.0.1:9/v1"), SourceOptions(), ResourceCache())


@pytest.mark.more
def test_a_chat_that_thinks_first_is_read_as_text():
    """The answer stands after the thoughts, and the first token says nothing of a label."""
    for opening, state in (("<think>so</think>", ANSWERED), ("<think>so", NO_ANSWER)):
        prompt = replace(CHAT, verbalizers={"positive": WORDS[:4], "negative": (*WORDS[4:], ":", "Label", "the", "a")})
        with serving(chat_top=5_000, opening=opening) as server:
            model = opened(server, prompt)
            assert isinstance(model, ServerWriter)
            rows = [Example(f"{n}", (f"A row about number {n}.",)) for n in range(30)]
            states = answers(model, rows).state.tolist()
            assert set(states) <= {state, NO_ANSWER}
            assert state in states


def test_a_prompt_that_is_not_repeated_whole_has_failed():
    """A server that leaves out its beginning would give numbers of another text."""
    short = replace(PLAIN, verbalizers={"positive": ("good",), "negative": ("bad",)})
    with serving(echo=True, wrong=deque(["truncated"] * 2)) as server:  # both words of the first row
        predictions = answers(opened(server, short, concurrency=1))
        assert predictions.state.tolist() == [ERROR, ANSWERED, ANSWERED, ANSWERED]


def test_a_calibration_by_bounds_is_none():
    """If no label is shown after rows without content, the model is left out."""
    prompt = replace(PLAIN, verbalizers={"positive": ("positive",), "negative": ("negative",)})
    with serving(top=5) as server:
        source = replace(model_of(server, prompt), calibration="content-free")
        with pytest.raises(ModelError, match="cannot be calibrated: of a row without content no label is among"):
            answers(source.open(MOOD, Machine(), ResourceCache()))


def test_trouble_at_the_probe_is_no_ability(tmp_path):
    """A server that is still loading is refused in this run, and found out anew by the next, once it is well."""
    with serving(ill=deque(["503"] * 6)) as server:
        cache = ResourceCache()
        cache.folder = tmp_path
        with pytest.raises(ServerError, match="replies with status 503: still loading"):
            opened(server, cache=cache)
        count = len(server.requests)
        with pytest.raises(ServerError, match="still loading"):
            opened(server, cache=cache)
        assert len(server.requests) == count
        cache = ResourceCache()
        cache.folder = tmp_path
        assert isinstance(opened(server, cache=cache), ServerScorer)


def test_a_dry_run_begins_no_round(tmp_path):
    """After a dry run of `refetch` nothing is asked again."""
    with serving() as server:
        job = Job(model_of(server), MOOD, (Request(EXAMPLES),))
        run_job(job, Store(tmp_path), ResourceCache(), silent)
        before = len(server.requests)
        dry = replace(job, source=model_of(server, refetch=True), dry=True)
        assert run_job(dry, Store(tmp_path), ResourceCache(), silent).estimate.bill.most == 12
        run_job(job, Store(tmp_path), ResourceCache(), silent)
        assert len(server.requests) == before


def test_a_blank_of_a_row_is_part_of_the_prompt():
    """That at the template's end belongs to the words; both ways give the same numbers."""
    prompt = replace(PLAIN, template="It was {text}", verbalizers={"positive": (" good",), "negative": (" bad",)})
    row = [Example("b", ("A row. ",))]
    with serving() as server:
        model = opened(server, prompt)
        assert model.ask_row(row[0].segments)[" good"] == pytest.approx(score("It was A row. ", " good"))
