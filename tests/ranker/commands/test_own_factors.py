"""Factors of one's own in a decision: they stand in the table, and cost no more than they read."""

import json
from collections import Counter

import pytest
from conftest import make_checkpoint

from ranker import ClassificationTask, Evidence, decide, labelled
from ranker.attribution import attribute
from ranker.attribution.settings import SHAPSettings, settle
from ranker.commands.custom import factors
from ranker.sources.hf.classifiers import TextClassifier

MODELS = ("a", "b", "c")
FACTORS = '''
from factors import factor


@factor("LENGTH", higher_is_better=False, explains="predicted", kind="baseline")
def length(attributions, example):
    """Return the number of words."""
    return float(len(example.words))


@factor("TOWARD", higher_is_better=False, explains="shortcut")
def toward(attributions, example):
    """Return how much all words speak for the label of the shortcut."""
    return float(attributions.scores.sum())


@factor("PREDICTED", higher_is_better=True, explains="predicted")
def predicted(attributions, example):
    """Return how much all words speak for the predicted label."""
    return float(attributions.scores.sum())
'''
ROWS = [
    {"text": f"the {'old doctor' if n % 2 else 'judge'} saw {n} near an actor", "label": label}
    for n, label in enumerate(["positive", "negative"] * 5)
]
"""Ten rows whose words are tokens."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with ten labelled rows, three models, and a file for each of three factors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ten.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    head, *functions = FACTORS.split("\n\n\n")
    for function in functions:
        name = function.partition("def ")[2].partition("(")[0]
        (tmp_path / f"{name}.py").write_text(f"{head}\n\n\n{function}\n")
    for number, name in enumerate(MODELS):
        make_checkpoint(tmp_path / name, "bert", ("negative", "positive"), seed=number)
    return tmp_path


@pytest.fixture
def passes(monkeypatch):
    """Count of the rows that models are run on."""
    counted: Counter[str] = Counter()
    run_head = TextClassifier.run_head

    def counting(self, type_ids, **rows):
        counted["rows"] += len(next(iter(rows.values())))
        return run_head(self, type_ids, **rows)

    monkeypatch.setattr(TextClassifier, "run_head", counting)
    return counted


@pytest.fixture
def run(folder, rank_models):
    """`rank-models` on the ten rows and the three models: exit status, output and messages."""

    return lambda *arguments: rank_models("--data", "ten.jsonl", *arguments, "--models", *MODELS)


LOADING = 2 * len(MODELS)
"""Rows that models are run on as they are loaded: one from its ids, and one from its embeddings."""

ANSWERS = len(ROWS) * len(MODELS)
"""Rows that models are run on for their answers."""


@pytest.mark.few(1)
@pytest.mark.parametrize("names", ["ACC", "ACC,length.py", "length.py"])
def test_factors_of_answers_cost_a_pass_a_row(run, passes, names):
    """Neither the time of a pass is measured, nor anything attributed."""
    assert run("--factors", names)[0] == 0
    assert passes["rows"] == LOADING + ANSWERS


@pytest.mark.more
def test_factors_of_attributions_cost_their_evaluations(run, passes):
    """Each row costs SHAP's evaluations, a row that repeats once, beside the answer; two such factors cost as one."""
    status, out, _ = run("--factors", "ACC,predicted.py", "--format", "json")
    assert (status, json.loads(out)["header"]["attribution"]) == (0, "shap")
    alone = passes["rows"] - LOADING
    passes.clear()
    efforts = evaluations()
    distinct = passes["rows"] - LOADING // len(MODELS)
    assert alone == distinct * len(MODELS) < efforts * len(MODELS)
    passes.clear()
    run("--factors", "ACC,predicted.py,toward.py", "--shortcut", "positive", "--store", "another")
    assert passes["rows"] - LOADING == alone


@pytest.mark.more
def test_the_cost_is_told_before_it_is_paid(run, passes):
    """A message names the factors that read attributions, and the passes; of answers alone there is nothing to tell."""
    _, _, messages = run("--factors", "ACC,length.py,predicted.py")
    assert (
        f"PREDICTED reads attributions of 10 rows: shap takes about {3 * evaluations():,} forward passes of 3 models, "
        "by the number of words, where nothing is stored"
    ) in messages.splitlines()
    assert "forward passes" not in run("--factors", "ACC,length.py", "--store", "another")[2]


def evaluations() -> int:
    """Return SHAP's evaluations of the ten rows by a model whose tokens are words."""
    task = ClassificationTask("mood", ("negative", "positive"))
    model = TextClassifier.load("a", task)
    return sum(row.effort for row in attribute(model, labelled(ROWS, task).examples, settle(SHAPSettings(), task)))


@pytest.mark.more
def test_named_factors_stand_in_the_table(run):
    """Each with its direction, its order of the models, and that of accuracy with ties broken by it."""
    _, out, _ = run("--factors", "ACC,length.py,predicted.py", "--format", "json")
    scores = {model["name"]: model["scores"] for model in json.loads(out)["decision"]["models"]}
    by_factor = sorted(MODELS, key=lambda name: -scores[name]["PREDICTED"])
    with_ties = sorted(MODELS, key=lambda name: (-scores[name]["ACC"], -scores[name]["PREDICTED"]))
    _, page, _ = run("--factors", "ACC,length.py,predicted.py", "--format", "markdown")
    rows = {cells[0]: cells[1:] for line in page.splitlines() if (cells := [c.strip() for c in line.split("|")[1:-1]])}
    assert rows["PREDICTED"] == ["higher", ", ".join(by_factor), ", ".join(with_ties)]
    assert rows["LENGTH"][:2] == ["lower", "a = b = c"]


@pytest.mark.more
def test_a_factor_of_a_shortcut_needs_its_label(run, passes):
    """Without its label the factor is refused before a model is run; with the label it is measured."""
    status, _, messages = run("--factors", "ACC,toward.py")
    assert (status, passes["rows"]) == (2, 0)
    assert "TOWARD" in messages
    assert "`--shortcut`" in messages
    status, out, _ = run("--factors", "ACC,toward.py", "--shortcut", "positive", "--format", "json")
    assert status == 0
    positive = json.loads(out)["decision"]["models"][0]["scores"]["TOWARD"]
    _, out, _ = run("--factors", "ACC,toward.py", "--shortcut", "negative", "--format", "json")
    assert json.loads(out)["decision"]["models"][0]["scores"]["TOWARD"] == pytest.approx(-positive)


def test_a_label_of_a_shortcut_is_one_of_the_task(run, passes):
    """Another word is refused, with the labels that there are."""
    status, _, messages = run("--factors", "ACC,toward.py", "--shortcut", "neutral")
    assert (status, passes["rows"]) == (2, 0)
    assert all(name in messages for name in ("neutral", "negative", "positive"))


@pytest.mark.more
def test_a_decision_from_python_declares_the_label_as_evidence(folder):
    """The measure is that of a task that has the label."""
    task = ClassificationTask("mood", ("negative", "positive"), shortcut=1)
    own_factors = factors(["ACC", "toward.py"])
    ranking = decide(
        MODELS,
        labelled(ROWS, ClassificationTask("mood", task.labels)),
        evidence=Evidence(factors=own_factors, shortcut="positive"),
    )
    of_task = decide(MODELS, labelled(ROWS, task), evidence=Evidence(factors=own_factors))
    assert [m.scores for m in ranking.decision.models] == [m.scores for m in of_task.decision.models]


@pytest.mark.parametrize("option", ["factors", "methods"])
def test_a_list_that_names_nothing_is_refused(run, option):
    """An empty list is neither the default nor none."""
    status, _, messages = run(f"--{option}", ",")
    assert (status, f"`--{option}` names nothing" in messages) == (2, True)
