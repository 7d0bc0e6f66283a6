"""The choice in one verb is the same in every format, and nothing beside it says otherwise."""

import dataclasses
import json
import re
from functools import cache

import numpy as np
import pytest
from goldens import PageReader
from scipy.special import ndtr
from test_evaluation import table as score_table
from test_report_formats import AGAINST, GOAL, decided, toy_decision, two_models, with_best, with_found

from ranker import report
from ranker.commands import outputs
from ranker.domains.compare import compare
from ranker.domains.report import over_sets as of_sets
from ranker.domains.results.over_sets import OverSets
from ranker.report import over_tasks as of_tasks
from ranker.report import ranking as of_run
from ranker.report import votes as of_votes
from ranker.report.document import Document
from ranker.results.choice import CLOSE, EVEN, LOST, SURE, choose
from ranker.results.costs import Costs, ModelCost, ModelUsage, Preference
from ranker.results.decision import RowResult
from ranker.results.judged import JudgeResult
from ranker.results.label_ranking import LabelledModel, LabelRanking
from ranker.results.over_tasks import Gap, Mean, OverTasks, Part
from ranker.results.ranking import Ranking
from ranker.runs.votes import rank_votes


def of_rows(*accuracies, rows):
    """The decision by rows of which models have these shares right, as near as can be, each its own."""
    outcomes, rng = np.zeros((len(accuracies), rows)), np.random.default_rng(0)
    for outcome, accuracy in zip(outcomes, accuracies, strict=True):
        outcome[rng.permutation(rows)[: round(accuracy * rows)]] = 1
    return decided(score_table(outcomes[:, None], ["ACC"], np.zeros(len(accuracies))))


def told(ranking, **changes):
    """The ranking with rows that show what models predict, and other fields."""
    names = ranking.decision.names
    rows = tuple(RowResult(row, "yes", dict.fromkeys(names, "yes")) for row in ranking.table.examples)
    rows = tuple(dataclasses.replace(row, label=("yes", "no")[n % 2]) for n, row in enumerate(rows))
    return with_found(ranking, **{"rows": rows, **changes})


def over_tasks(difference, se):
    """Two models on two tasks, and the mean over these."""
    apart = 1.96 * se
    gap = Gap("x", "y", difference, se, difference - apart, difference + apart, p=2 * ndtr(-difference / se))
    means = tuple(
        Mean(name, value, value - apart, value + apart) for name, value in (("x", 0.8), ("y", 0.8 - difference))
    )
    two = ("one", "two")
    tasks = [Part(name, "task", "acc", (name,), 100, means, (gap,)) for name in two]
    rankings = dict.fromkeys(two, with_models(of_rows(0.8, 0.7, rows=100), "x", "y"))
    return OverTasks(("x", "y"), (*tasks, Part("all tasks", "macro", "acc", two, 200, means, (gap,))), rankings)


def with_models(ranking, *names):
    """The ranking of models of other names."""
    models = tuple(
        dataclasses.replace(model, name=name) for model, name in zip(ranking.decision.models, names, strict=True)
    )
    versus = tuple(dataclasses.replace(pair, a=names[0], b=names[1]) for pair in ranking.decision.versus)
    return with_found(ranking, models=models, versus=versus)


def over_sets(tasks, **lead):
    """Three models on so many tasks; the leads of the first two on the third vary a little."""
    values = {"z": 0.6, **{name: 0.6 + apart for name, apart in lead.items()}}
    noise = np.random.default_rng(0).normal(0, 0.001, (len(values), tasks))
    return compare(
        [
            {"model": m, "set": f"set {n}", "value": v + noise[k][n]}
            for k, (m, v) in enumerate(values.items())
            for n in range(tasks)
        ]
    )


def priced(ranking, wish=None, **prices):
    """The ranking with prices of some models, and maybe the wish for the cheapest or fastest."""
    first = ranking.decision.models[0]
    models = tuple(
        ModelCost(
            model.name,
            ModelUsage(100.0, 10.0, prices.get(model.name), prices.get(model.name), "USD"),
            None if model.name not in prices else 0.9,
            model.p_near_best,
            *(value - first.expected for value in (model.expected, model.expected - 0.008, model.expected + 0.009)),
        )
        for model in ranking.decision.models
    )
    return with_found(ranking, costs=Costs(models, "money", wish and Preference.parse(wish)))


@cache
def close_by():
    """Two models that are near, and known to be."""
    return of_rows(0.9, 0.897, 0.5, rows=90_000)


@cache
def sure_of_one():
    """A model that is far ahead."""
    return of_rows(0.95, 0.6, 0.5, rows=300)


SITUATIONS = {
    "sure": (sure_of_one, "Take m0"),
    "sure, with a pool": (lambda: with_found(sure_of_one(), kind="pool", versus=()), "Take m0"),
    "sure of one of two": (lambda: of_rows(0.95, 0.6, rows=300), "Take m0"),
    "near-tied": (
        lambda: of_rows(0.9, 0.899, 0.6, rows=20_000),
        "m0 or m1: nothing tells them apart, take the cheaper",
    ),
    "three alike": (
        lambda: of_rows(0.9, 0.9, 0.9, rows=20_000),
        "m0, m1 or m2: nothing tells them apart, take the cheapest",
    ),
    "close, and known": (close_by, "Take m0; m1 is as good or close"),
    "level": (lambda: of_rows(1.0, 1.0, rows=3), "Cannot say yet: m0, m1 are level"),
    "ten rows": (lambda: told(of_rows(0.9, 0.7, 0.6, rows=10)), "Cannot say yet: m0 leads"),
    "ten rows, two models": (lambda: told(of_rows(0.9, 0.7, rows=10)), "Cannot say yet: m0 leads"),
    "a pool and ten rows": (lambda: with_found(toy_decision(), kind="pool"), "Cannot say yet: bert_large leads"),
    "worse than guessing": (
        lambda: with_found(sure_of_one(), worse=("m0", "m1")),
        "Cannot say yet: m0 leads, and does worse than guessing",
    ),
    "one label only": (
        lambda: with_found(
            sure_of_one(), rows=tuple(RowResult(row, "yes", {}) for row in sure_of_one().table.examples)
        ),
        "Cannot say yet: m0 leads, and all labels are alike",
    ),
    "judges alone": (
        lambda: with_found(sure_of_one(), confirmed=False),
        "Cannot say yet: no person has confirmed that m0 leads",
    ),
    "judges that agree with nobody": (
        lambda: with_found(
            with_best(sure_of_one(), 0.8, 0.1, 0.1),
            judges=(JudgeResult("gpt", 30, 1.0, None, 0.0), JudgeResult("other", 30, 1.0, -0.2, 0.0)),
        ),
        "Cannot say yet: m0 leads, and no judge agrees with people",
    ),
    "a judge that agrees": (
        lambda: with_found(sure_of_one(), judges=(JudgeResult("gpt", 30, 1.0, 0.4, 2.0),)),
        "Take m0",
    ),
    "labels against the method": (
        lambda: with_best(toy_decision(), 0.95, 0.6, 0.1, p_beats=AGAINST),
        "Cannot say yet: ACC+TIES puts bert_large first, but the labels speak for bert_base",
    ),
    "prices, and no wish": (lambda: priced(close_by(), m0=10, m1=1), "Take m0; m1 is as good or close"),
    "the cheapest": (
        lambda: priced(close_by(), "cheaper:1", m0=10, m1=1, m2=0.1),
        "Take m1: the cheapest within a point of the best",
    ),
    "the cheapest is the first": (
        lambda: priced(close_by(), "cheaper:1", m0=1, m1=10, m2=0.1),
        "Take m0: the cheapest within a point of the best",
    ),
    "the cheapest of those with a price": (
        lambda: priced(close_by(), "cheaper:1", m0=10, m2=0.1),
        "Take m0: the cheapest within a point of the best",
    ),
    "the fastest of two": (
        lambda: priced(of_rows(0.9, 0.897, rows=90_000), "faster:1", m0=10, m1=1),
        "Take m1: the fastest within a point of the best",
    ),
    "the cheapest, of few rows": (
        lambda: priced(told(of_rows(0.9, 0.7, 0.6, rows=10)), "cheaper:1", m0=10, m1=1, m2=0.1),
        "Cannot say yet: m0 leads",
    ),
    "the cheapest, and a doubt": (
        lambda: priced(with_found(sure_of_one(), confirmed=False), "cheaper:1", m0=10, m1=1, m2=0.1),
        "Cannot say yet: no person has confirmed that m0 leads",
    ),
    "votes": (
        lambda: rank_votes([{"id": n, "model_a": "x", "model_b": "y", "winner": "x"} for n in range(60)]),
        "Take x",
    ),
    "few votes": (
        lambda: rank_votes([{"id": n, "model_a": "x", "model_b": "y", "winner": "xxy"[n]} for n in range(3)]),
        "Cannot say yet: x leads",
    ),
    "several tasks": (lambda: over_tasks(0.1, 0.02), "Take x"),
    "several tasks, level": (lambda: over_tasks(0.001, 0.004), "x or y: nothing tells them apart, take the cheaper"),
    "several tasks, few rows": (lambda: over_tasks(0.02, 0.05), "Cannot say yet: x leads"),
    "many sets": (lambda: over_sets(12, x=0.2, y=0.1), "Take x"),
    "many sets, close": (lambda: over_sets(12, x=0.1, y=0.097), "Take x; y is as good or close"),
    "three sets": (
        lambda: over_sets(3, x=0.2, y=0.1),
        "Cannot say yet: x leads on 3 tasks, too few to speak for others",
    ),
}
"""A situation -> what finds it, and what it comes to."""

OF_RUNS = [name for name in SITUATIONS if not re.search("votes|tasks|sets", name)]

TAKING = ("Next: take", "is as good or close", "nothing tells them apart", "Take ")
"""What is said where a model may be taken."""

WAITING = (
    "Cannot say yet", "Next: label", "Next: add", "Next: mark", "Next: look", "Not told from", "cannot tell", "hardly",
)  # fmt: skip
"""What is said where none may be."""


def document(situation):
    """The document of a result."""
    rooms = {Ranking: of_run, OverTasks: of_tasks, OverSets: of_sets}
    return rooms.get(type(situation), of_votes).document(situation)


def texts(situation):
    """Format -> what a person reads in it."""
    page: Document = document(situation)
    formats = {name: outputs.render_document(page, name, None) for name in ("table", "markdown", "html", "latex")}
    formats["html"] = PageReader(formats["html"]).text
    formats["markdown"] = formats["markdown"].replace("\\", "")
    formats["notebook"] = PageReader(situation._repr_html_()).text
    formats["shell"] = repr(situation)
    return {name: " ".join(text.split()) for name, text in formats.items()}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", SITUATIONS)
def test_each_format_has_the_verb_and_nothing_that_says_otherwise(name):
    """In the headline, Next, captions and notes."""
    find, verb = SITUATIONS[name]
    situation = find()
    choice = situation.decision.choice if isinstance(situation, Ranking) else situation.choice
    assert choice.text == verb
    contrary = WAITING if choice.verb != "none" else TAKING
    for form, text in texts(situation).items():
        assert verb in text, form
        assert [words for words in contrary if words in text.replace(verb, "")] == [], form
    content = json.loads(json.dumps(situation.to_dict()))
    assert content.get("decision", content)["choice"]["text"] == verb


@pytest.mark.more
@pytest.mark.parametrize("name", OF_RUNS)
def test_next_says_what_the_verb_says(name):
    """One sentence begins with Next; where a model may be taken it names that, and what is expected to be lost."""
    situation = SITUATIONS[name][0]()
    choice, (*statements, last) = situation.decision.choice, of_run.answer(situation)[1]
    assert last.startswith("Next: ")
    assert not any("Next: " in statement for statement in statements)
    if choice.verb == "none":
        assert not last.startswith("Next: take")
        return
    models = choice.models if choice.verb == "any" else choice.models[:1]
    lost = max(model.shortfall for model in situation.decision.models if model.name in models)
    assert last.startswith(f"Next: take {'the cheapest of ' if choice.verb == 'any' else ''}{', '.join(models)}. ")
    assert f"{100 * lost:.1f} points" in last


@pytest.mark.parametrize(
    ("near", "lost", "beats", "verb", "models"),
    [
        (SURE, (0.03, 0.04), 0.7, "take", 1), (SURE - 1e-6, (0.03, 0.04), 0.7, "none", 1),
        (0.7, (LOST, 0.04), 0.95, "take", 1), (0.7, (LOST + 1e-6, 0.04), 0.95, "none", 1),
        (0.7, (CLOSE, CLOSE), EVEN[1], "any", 2), (0.7, (CLOSE, CLOSE), EVEN[0], "any", 2),
        (0.7, (LOST, CLOSE), EVEN[1] + 1e-6, "take", 2), (0.7, (CLOSE, CLOSE), EVEN[1] + 1e-6, "none", 1),
        (0.7, (LOST, CLOSE + 1e-6), 0.5, "take", 1), (None, (None, None), 0.5, "none", 1),
        (None, (0.001, 0.002), 0.9, "take", 2),
    ],
)  # fmt: skip
def test_the_rule(near, lost, beats, verb, models):
    """P(within a point), or what is expected to be lost; two are alike that lose little, and neither is better."""
    choice = choose(["x", "y"], near, lost, [0.5, beats])
    assert (choice.verb, len(choice.models)) == (verb, models)


def test_many_models_that_are_alike_are_not_all_named():
    """The first ones, and a number."""
    names = [f"m{n}" for n in range(9)]
    choice = choose(names, 0.99, [0.0] * 9, [0.5] * 9)
    assert choice.models == tuple(names)
    assert choice.text == "m0, m1, m2, m3 or 5 others: nothing tells them apart, take the cheapest"


@pytest.mark.parametrize(
    ("situation", "start"),
    [
        (
            told(of_rows(0.9, 0.7, 0.6, rows=10)),
            "Next: add rows without labels (--pool). On eleven sets, ten labels alone",
        ),
        (
            with_found(toy_decision(), kind="pool"),
            f"Next: label more rows. In eight of ten cases it takes 12 to 40 until {GOAL} `rank-models label` picks",
        ),
        (told(of_rows(0.9, 0.88, 0.6, rows=200)), "Next: label more rows."),
        (told(of_rows(0.9, 0.7, 0.6, rows=10), scale=(1, 5)), "Next: add a language model's marks"),
        (told(of_rows(0.9, 0.88, 0.6, rows=200), scale=(1, 5)), "Next: label more rows."),
        (SITUATIONS["judges alone"][0](), "Next: mark ten rows yourself"),
        (SITUATIONS["worse than guessing"][0](), "Next: look at rows that m0 has wrong. Their labels may be swapped"),
        (
            SITUATIONS["labels against the method"][0](),
            "Next: look at the rows on which bert_large and bert_base differ. ACC+TIES puts bert_large first, but by "
            "the labels bert_base is better with a probability of 92.0 %.",
        ),
    ],
)
def test_next_proposes_what_helps_most(situation, start):
    """A pool where none was given, then rows that are picked; whatever makes the numbers worthless comes first."""
    assert of_run.answer(situation)[1][-1].startswith(start)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("votes", "Next: take x. It is expected to be 0.0 points below the best model."),
        ("few votes", "Next: add a judge's verdicts on all rows (--judge NAME=FILE), or more votes. On one set"),
    ],
)
def test_votes_have_a_next_step(name, start):
    """As a decision has: what to take, or what would help most."""
    assert of_votes.answer(SITUATIONS[name][0]())[-1].startswith(start)


def test_the_answer_of_a_decision():
    """The answer says which model, how sure, who is not told from it, and how many more labels are probably needed."""
    lead, answer = of_run.answer(toy_decision())
    assert lead == "Cannot say yet: bert_large leads"
    assert answer == [
        "ACC+TIES puts bert_large first. Its accuracy on the 10 rows is 90.0 %.",
        "The probability that no other model is better by more than a point in the domain is 75.0 %.",
        "Not told from bert_large: bert_base.",
        f"Next: label more rows. In eight of ten cases it takes 12 to 40 until {GOAL}",
    ]


def test_the_accuracy_on_rows_that_a_session_picked_is_not_put_as_that_of_a_model():
    """Accuracy is low on rows on which models differ, as a note says."""
    picked = with_found(toy_decision(), picked=10)
    sentence = "Its accuracy on the 10 rows is 90.0 %."
    assert sentence in report.render(toy_decision(), "table")
    assert sentence not in " ".join(texts(picked).values())


@pytest.mark.parametrize(("p", "low"), [(0.951, 0.001), (0.951, None), (0.89, 0.001), (0.09, -0.3)])
def test_two_models_have_both_numbers_below_the_verb(p, low):
    """The probability, and the interval of the difference where there is one."""
    text = " ".join(of_run.answer(two_models(p, low))[1])
    assert f"is better in the domain with a probability of {100 * p:.1f} %" in text
    assert ("95 % interval" in text) == (low is not None)


def a_session(within, lost, answers=9, **options):
    """A session's order of three models after some answers."""
    models = [
        LabelledModel(name, 0.9, 0.8, 1.0, p, lost + n / 10)
        for n, (name, p) in enumerate(zip("xyz", (0.8, 0.1, 0.1), strict=True))
    ]
    return LabelRanking(tuple(models), ((0.5, 0.9, 0.9),) * 3, answers, 0.01, within, None, False, **options)


@pytest.mark.parametrize(
    ("ranking", "verb"),
    [
        (a_session(0.97, 0.001, until=0.965), "Take x"),
        (a_session(0.8, 0.02, until=0.965), "Cannot say yet: x leads"),
        (a_session(0.8, 0.009, until=0.965, shortfall=0.01), "Take x"),
        (a_session(0.8, 0.009, answers=4, until=0.965, shortfall=0.01), "Cannot say yet: x leads"),
        (a_session(0.82, 0.02, until=0.8), "Take x"),
        (
            dataclasses.replace(a_session(0.97, 0.001), alarmed=True),
            "Cannot say yet: the models' votes do not describe these labels",
        ),
        (a_session(0.97, 0.001, answers=0), "Cannot say yet: no row has an answer"),
    ],
)
def test_what_ends_a_session_is_enough_to_take_a_model(ranking, verb):
    """Whatever the user said is enough; never with an alarm."""
    assert ranking.choice.text == verb
    assert re.split("\n", repr(ranking))[0] == verb
