"""Messages of runs, reports, commands and experiments, and what provokes each."""

import dataclasses
import errno
import json
import os
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import deciding
import numpy as np
import pytest
from test_by_metric import rows_of
from test_decision import labelled
from test_evaluation import table
from test_gate import ranked
from test_report_formats import toy, toy_decision, with_header

from experiments import generate, inoculate, plan, recipe, sources, tables, train
from experiments.generate import sentences
from factors import BUILTIN
from ranker import (
    Evidence,
    Runtime,
    decide,
    decide_within,
    label,
    load_set,
    load_suite,
    over_tasks,
    rank,
    report,
    shift,
    what_changed,
)
from ranker.attribution import attribute, check, settings_of
from ranker.attribution.settings import IGSettings, LIMESettings, SHAPSettings
from ranker.commands import custom, outputs
from ranker.datasets.readers import read_sheet, unlabelled
from ranker.domains.runs.shift import ReadOptions, ShiftRequest, answer_request
from ranker.labelling import export
from ranker.labelling.learners import VoteLearner
from ranker.labelling.session import LabelEvent, Session
from ranker.labelling.sheet import read_lines
from ranker.limits import LIMITS, Limits
from ranker.records import read_toml, record
from ranker.report import changes, write
from ranker.report.plot import plot
from ranker.results.gate import Gate
from ranker.results.ranking import Ranking
from ranker.results.table import ScoreTable
from ranker.runs.explain import explain
from ranker.runs.gather import RunInputs
from ranker.runs.label_predictions import LabelSettings
from ranker.runs.plan import check_shortcut, metric_of
from ranker.runs.rank import check_draws
from ranker.runs.task import check_known_labels, decide_task
from ranker.runtime import storage
from ranker.runtime.base import WorkItem
from ranker.runtime.executors.named import executor_named
from ranker.runtime.executors.processes import Processes
from ranker.runtime.store import Store
from ranker.runtime.worker import answer_blocks
from ranker.scoring.evaluation import evaluate
from ranker.scoring.gate import of_decision
from ranker.sources.base import ModelInfo
from ranker.statistics.patterns import fold
from ranker.tasks.classes import ClassificationTask, ClassProbabilities

GOOD = """from factors import factor

@factor("MINE", higher_is_better=True, explains="true")
def mine(attributions, example):
    return 1.0
"""
LABELS = ("bad", "fair", "good")
ACC, CONF = BUILTIN["ACC"], BUILTIN["CONF"]
pytest.importorskip("shap")  # its first import warns of what matplotlib will drop

ONES = np.ones((2, 1, 20))


HANS = load_set("hans-sub", limit=4).examples
MINI = load_suite(["hans-sub-mini"]).models[:2]
PROMPTED = ModelInfo(SimpleNamespace(name="lm", precomputed=False), ("good", "bad"), parts={"prompt": "p"})
MOOD, FRUIT = ClassificationTask("mood", LABELS), ClassificationTask("rows", ("fruit", "good"))
NLI_ROWS = [{"premise": "It ran.", "hypothesis": "It sat.", "label": "entailment"}] * 4
SUMMARIES = ReadOptions({"summary": ["summary"]})
ROW_OF_MAIL = '{"text": "a", "label": "entailment", "source": "mail"}\n'


def score_table(models=("a",), methods=(ACC,), values=(1, 1, 1), metric="ACC", truth=None):
    """A table of one row whose values have this shape."""
    return ScoreTable(models, methods, ("row",), np.zeros(values), metric, truth)


def written(name, text):
    """The path of a new file."""
    Path(name).write_text(text)
    return Path(name)


def saved():
    """A decision as it is saved."""
    toy_decision().save("saved.json")
    return json.loads(Path("saved.json").read_text())


def loaded(text):
    """A saved run of this text."""
    return Ranking.load(written("r.json", text))


def checked(option, path):
    """Check where an option writes: `file` and `full` are there."""
    Path("full").mkdir()
    written("full/file", "old")
    written("file", "old")
    outputs.check({option: path, "force": False})


def own_factors(text):
    """The factors of a user's file."""
    return custom.factors([str(written("own.py", text))])


def own_method(name):
    """A method of a user's file under a name."""
    text = f"from ranker.statistics.pool import PoolMethod\nMINE = PoolMethod({name!r}, 'pool', print)\n"
    return custom.methods([str(written("own.py", text))])


def installed_metric(name):
    """Look up a metric beside one that a package brings under a name."""
    point = SimpleNamespace(name=name, value="theirs:score", dist=None, load=lambda: min)
    with mock.patch.object(metadata, "entry_points", return_value=[point]):
        custom.metric("other")


def labelled_sheet(*labels):
    """Rows in memory with these labels."""
    return read_sheet([{"text": "A tree.", "label": label} for label in labels])


def hiding(*ways):
    """A model that is called tiny, and hides words in these ways."""
    return SimpleNamespace(name="tiny", hides=ways)


def without_pandas(_):
    """Ask for a data frame where pandas is not installed."""
    with mock.patch.dict(sys.modules, pandas=None):
        toy().to_frame()


def without_shap(_):
    """Ask for shap's record where shap is not installed."""
    with mock.patch.dict(sys.modules, shap=None):
        toy().examples[0].to_shap()


def session(*events):
    """A labelling session on 60 rows and two labels."""
    return Session(VoteLearner(fold(np.zeros((2, 60), int), 2)), events)


def read_answer(label, status):
    """The lines of a session's file with one row."""
    sheet = read_sheet(written("labels.csv", f"text,label,status\na,{label},{status}\n"), {"label": "label"}, ["text"])
    return read_lines(sheet, unlabelled(sheet), lambda row, _: 0, lambda cell, segments: LABELS.index(cell))


def full_disk(_):
    """Write a key to a disk without room."""
    with storage.failures(Path("v2/0"), "written to"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def executor_of_a_package(_):
    """Ask for an executor of a package that gives a number."""
    point = SimpleNamespace(name="threads", value="mine:threads", dist=None, load=lambda: lambda options: 3)
    with mock.patch("importlib.metadata.entry_points", return_value=[point]):
        executor_named("threads")


def answered(model, method):
    """Blocks of answers of a model that is called tiny."""
    settings = None if method == "none" else settings_of(method)
    return list(answer_blocks(model, "tiny", WorkItem({}, settings, (), False), None))


MESSAGES = [
    # scoring
    ("a large probe", lambda _: evaluate(table(ONES, ["ACC"], [0.6, 0.7]), probe=21),
     "`probe` must be between 1 and 20, the number of examples (got 21)"),
    ("an unknown method", lambda _: deciding.decide(labelled(np.ones((2, 4))), method="AC"),
     "there is no method 'AC'; did you mean ACC?"),
    ("equal models", lambda _: evaluate(table(ONES, ["ACC"], [0.7, 0.7])),
     "no two models differ in ACC; there is no order to find"),
    ("no truth", lambda _: evaluate(labelled(np.ones((2, 20)))),
     "an evaluation needs the models' true outcomes; without them, decide"),
    ("no row judged for all", lambda _: rows_of("mcc", np.zeros((2, 3), int), np.full((2, 3), -1)),
     "there is no row that all models were judged on; do their answers belong to the same rows?"),
    ("a metric beside a pool",
     lambda _: metric_of("mae", RunInputs(None, load_set("hans-sub", limit=4), (), pool=("a row",))),
     "`metric` mae is for labelled rows alone, and a pool is read, too"),
    ("runs of two modes", lambda _: what_changed(toy(), toy_decision()),
     "only runs of one mode can be compared (got an evaluation and a decision)"),
    ("runs on two sets", lambda _: what_changed(toy(), with_header(toy(), ood="paws")),
     "only evaluations on one OOD set can be compared (got hans-sub and paws)"),
    ("a format of comparisons", lambda _: write(changes.document(what_changed(toy(), toy())), "jsn"),
     "there is no format 'jsn'; did you mean json?"),
    ("a base that is absent", lambda _: of_decision(ranked([1, 0], [0, 1]), "m7"),
     "there is no model 'm7'; known: m0, m1"),
    ("a target", lambda _: Evidence(target="right"),
     "`target` must be one of declared, shortcut, evidence, true, predicted (got 'right')"),
    ("a factor without the label of a shortcut",
     lambda _: check_shortcut(BUILTIN.values(), {"SUM-DIFF": "is about the shortcut's label; this task declares none"},
                              MOOD, SimpleNamespace(precomputed=False)),
     "`factors`: SUM-DIFF explains the label that a shortcut points to; name it: `shortcut`"),
    ("a label of a shortcut that there is not",
     lambda _: RunInputs(None, load_set("hans-sub", limit=4), ()).with_shortcut("mild"),
     "there is no label of nli 'mild'; known: non-entailment, entailment"),
    ("a backend", lambda _: Evidence("ik"),
     "there is no attribution backend 'ik'; known: none, ig, shap, lime, occlusion, phrases"),
    # results
    ("values of another shape", lambda _: score_table(values=(1, 1, 3)),
     "values must have the shape (1, 1, 1) (got (1, 1, 3))"),
    ("truth of another shape", lambda _: score_table(truth=np.zeros(2)), "truth must have the shape (1,) (got (2,))"),
    ("an evaluation asked for its decision", lambda _: toy().decision,
     "an evaluation has no decision: the truth of these models is known"),
    ("a decision asked for its evaluation", lambda _: toy_decision().evaluation,
     "a decision has no evaluation: the truth of these models is not known"),
    ("no pandas", without_pandas, "`to_frame` needs pandas: `pip install 'rank-models[notebook]'`"),
    ("no shap", without_shap, "`to_shap` needs shap: `pip install 'rank-models[notebook]'`"),
    ("no scores of words", lambda _: dataclasses.replace(toy().examples[0], readings=()).to_captum(),
     "there are no scores of words to show"),
    ("a model whose words shap shows", lambda _: toy().examples[0].to_shap(),
     "`model` is needed, one of bert_large, bert_base, lstm"),
    ("scores that shap adds up", lambda _: toy().examples[0].to_shap("lstm"),
     "`attribution` must be shap or ig, of the margin: these scores by ig do not add up to log-odds of a label, as "
     "shap's plots take them to"),
    ("a method of an evaluation", lambda _: toy().method("INDEX-DIF"),
     "there is no method 'INDEX-DIF'; did you mean INDEX-DIFF?"),
    ("a folder to save in", lambda _: toy().save("no/r.json"),
     "the ranking cannot be written to no/r.json: No such file or directory"),
    ("a saved factor", lambda _: loaded(json.dumps(saved())).table.methods[0].score(None, None),
     "a saved ranking holds a factor's scores, not its function"),
    ("no JSON", lambda _: loaded("no json"),
     "r.json cannot be read as a ranking: Expecting value: line 1 column 1 (char 0)"),
    ("another schema", lambda _: loaded('{"schema_version": 1}'),
     "r.json must be a ranking of schema 2 (got 1); rank again: what the models answered is in the store, and none is "
     "run"),
    ("no header", lambda _: loaded('{"schema_version": 2}'), "r.json is no whole ranking: it has no 'header'; "
     "`save` keeps a whole one, which a report is not"),
    ("a decision that is no table",
     lambda _: loaded(json.dumps({key: saved()[key] for key in ("schema_version", "header")} | {"decision": None})),
     "r.json is no whole ranking: `decision` must be a table: `[decision]` (got None)"),
    ("no model", lambda _: loaded(json.dumps(saved() | {"decision": saved()["decision"] | {"models": []}})),
     "r.json is no whole ranking: `[decision]`: `models` are none"),
    ("two methods of one name", lambda _: score_table(methods=(ACC, ACC), values=(1, 2, 1)),
     "two methods are named ACC"),
    ("two models of one name", lambda _: score_table(models=("a", "a"), values=(2, 1, 1)), "two models are named a"),
    ("no metric first", lambda _: score_table(methods=(CONF, ACC), values=(1, 2, 1)),
     "the first method must be the metric, ACC"),
    ("no method", lambda _: score_table(methods=(), values=(1, 0, 1), metric="F1"),
     "the first method must be the metric, F1"),
    ("a gate that does not follow", lambda _: Gate("a", 0.02, (), ("a gap",), False, True),
     "`passes` of a gate must follow from `held`, `absent` and `failed`"),
    # report
    ("a result without figures", lambda _: plot(toy().table),
     "this ScoreTable has no figure: `to_frame()` has its numbers"),
    ("a figure of a ranking", lambda _: plot(toy_decision(), "distribution"),
     "there is no figure of this Ranking 'distribution'; known: accuracies"),
    ("a shift of two sets", lambda _: plot(shift("hans-sub", "hans-con")),
     "this Shift has no figure: `to_frame()` has its numbers"),
    ("a format", lambda _: report.render(toy(), "pair"), "there is no format 'pair'; did you mean pairs?"),
    # labelling
    ("nothing to undo", lambda _: session().undo(), "nothing was said that could be taken back"),
    ("a second answer", lambda _: session(LabelEvent(3, "answered", 1)).tell(3, 1), "row 3 has an answer"),
    ("a row of the pool", lambda _: session().tell(-1, 0), "row must be between 0 and 59 (got -1)"),
    ("a label of the pool", lambda _: session(LabelEvent(0, "answered", 7)), "label must be between 0 and 1 (got 7)"),
    ("a rule of a session", lambda _: Session(VoteLearner(fold(np.zeros((2, 60), int), 2)), rule="worst"),
     "rule must be one of best, order, random (got 'worst')"),
    ("a status", lambda _: read_answer("good", "done"),
     "labels.csv, line 2: a status must be answered, cannot-tell, skipped or changed-after-reveal (got 'done')"),
    ("a skipped row", lambda _: read_answer("good", "skipped"),
     "labels.csv, line 2: a row that is skipped has no label (got 'good')"),
    ("an answered row", lambda _: read_answer("", "answered"),
     "labels.csv, line 2: a row that is answered must have a label"),
    ("a label in XML", lambda _: export.configuration(["text"], ["fine", "bad\x00"], ""),
     "no configuration of Label Studio can hold the label 'bad\\x00'"),
    # records and limits
    ("a key", lambda _: record(Gate, {"bas": "a"}, label="the gate"),
     "there is no key of the gate 'bas'; did you mean base?"),
    ("a file that is absent", lambda _: read_toml(Path("a.toml"), "a card"),
     "a.toml cannot be read as a card: No such file or directory"),
    ("dots in TOML", lambda _: read_toml(written("a.toml", "b." * 26 + "c = 1\n"), "a card"),
     "a.toml cannot be read as a card: line 1 has more than 25 dots; write it on several lines"),
    ("long TOML", lambda _: read_toml(written("a.toml", "#" * ((1 << 16) + 1)), "a card"),
     "a.toml cannot be read as a card: it has more than 65,536 characters, the most that are read"),
    ("a limit", lambda _: LIMITS.check("rows.csv", "rows", 1 << 40),
     f"rows.csv: more than {LIMITS.rows:,} rows, the most that is read (`limits.rows`)"),
    ("a limit of 0", lambda _: Limits(rows=0), "`limits.rows` must be at least 1 (got 0)"),
    # runtime
    ("a protocol of a store", lambda _: storage.place("nowhere://bucket"),
     "`store`: nowhere://bucket cannot be opened: Protocol not known: nowhere"),
    ("a file in the place of the store", lambda _: Store(written("taken", "")),
     "`store`: taken cannot be written to (Not a directory); name another folder"),
    ("a full disk", full_disk, "v2/0 cannot be written to: No space left on device"),
    ("no worker", lambda _: Processes(0), "`workers` must be at least 1 (got 0)"),
    ("an executor", lambda _: executor_named("proceses"), "there is no executor 'proceses'; did you mean processes?"),
    ("an executor that cannot run", executor_of_a_package,
     "a package, entry point 'threads' of 'rank_models.executors': it must make an object with `run` (got a int)"),
    ("a model that answers nan",
     lambda _: answered(SimpleNamespace(predict=lambda *_: [ClassProbabilities(np.full((1, 2), np.nan))]), "none"),
     "tiny: the model gives numbers that are not finite"),
    ("whole texts only", lambda _: answered(SimpleNamespace(), "shap"),
     "tiny answers to whole texts only; set `attribution` to `none`"),
    # runs
    ("draws", lambda _: check_draws(-5), "`draws` must be a number of at least 1, or `exact` (got -5)"),
    ("a method of a pool", lambda _: decide(MINI, NLI_ROWS, method="SURROGATE", evidence=Evidence("none")),
     "`method`: SURROGATE needs rows without labels: `pool`"),
    ("a method that reads attributions",
     lambda _: decide(MINI, NLI_ROWS, method="index-diff", evidence=Evidence("none")),
     "`method`: INDEX-DIFF cannot order these models: reads attributions, and there are none"),
    ("a metric of errors", lambda _: rank("hans-sub-mini", "hans-sub", metric="mae", evidence=Evidence("none")),
     "`metric` mae is for a decision: less of it is better"),
    ("more rows than there are", lambda _: label(MINI, HANS[:3], task="nli", runtime=Runtime(store=None)).next_batch(4),
     "`batch` must be between 1 and 3, the rows of the pool without a label (got 4)"),
    ("a rule", lambda _: LabelSettings(rule="worst"),
     "`rule` must be one of order, best, random (got 'worst')"),
    ("a margin", lambda _: LabelSettings(margin=2.0), "`margin` must be between 0 and 1 (got 2.0)"),
    ("a label toward which nothing speaks",
     lambda _: explain([], HANS[0], task=MOOD, evidence=Evidence(SHAPSettings(target=1)), toward=0),
     "`toward` bad: the scores speak for fair alone; see `target` of `attribution` shap"),
    ("a column of one value", lambda _: decide_within(MINI, written("a.jsonl", ROW_OF_MAIL), "source"),
     "`within` must name a column with 2 to 20 values (got 1 in a.jsonl: mail)"),
    ("no folder of logs", lambda _: over_tasks(["hans-sub-mini"]),
     "`references` must be folders of logs that hold several tasks each, or name `#TASK` of none"),
    ("no labels of models", lambda _: decide_task(),
     "`task=NAME` is needed (nli, msgs, paraphrase): the models name no labels, or not all the same"),
    ("models of tags", lambda _: decide_task(infos=[ModelInfo(MINI[0].source, unclear="m answers with tags")]),
     "`task=NAME` is needed (tags, spans, text, number, ranking, label-sets): m answers with tags"),
    ("a label of no task", lambda _: decide_task(rows=labelled_sheet("maybe", "yes", "no")),
     "row 1: the label 'maybe' is of no known task (nli: non-entailment, entailment; msgs: no-feature, feature; "
     "paraphrase: non-paraphrase, paraphrase); describe yours: a card and `include=DIR`, see docs/own-set.md, or say "
     "with `label_map` which outputs of the models are meant"),
    ("a label of no prompt", lambda _: decide_task(rows=labelled_sheet("pos", "neg"), infos=[PROMPTED]),
     "row 1: the label 'pos' is none of the prompts' (good, bad); for labels of your own take `prompts labels`, or a "
     "prompt file that has `verbalizers` for them"),
    ("a label beside those of a prompt",
     lambda _: decide_task(rows=labelled_sheet("good", "bad", "x"), infos=[PROMPTED]),
     "row 3: a label must be one of good (0), bad (1) or an alias (got 'x'); for labels of your own take "
     "`prompts labels`, or a prompt file that has `verbalizers` for them"),
    ("a label of no prompt and no task",
     lambda _: decide_task(rows=labelled_sheet("pos", "neg"), infos=[dataclasses.replace(PROMPTED, labels=())]),
     "row 1: the label 'pos' is of no known task; for labels of your own take `prompts labels`, or a prompt file that "
     "has `verbalizers` for them"),
    ("a label that no model knows",
     lambda _: check_known_labels(FRUIT, [ModelInfo(MINI[0].source, LABELS[::2])], "rows.csv"),
     "rows.csv: no model knows the label 'fruit'; theirs are bad, good"),
    ("one set", lambda _: shift("hans-sub"),
     "two sets or more are needed, up to 20: in-domain rows, and new ones (got 1)"),
    ("three sets to split", lambda _: shift(*["hans-sub"] * 3, by="x"),
     "`by` splits one set: name it alone, or after the in-domain one (got 3)"),
    ("two splits", lambda _: shift("hans-sub", by="x", topics=2),
     "`by` and `topics` both split a set: give one of them"),
    ("one topic", lambda _: shift("hans-sub", topics=1), "`topics` must be between 2 and 20 (got 1)"),
    ("a set without columns", lambda _: shift("hans-sub", by="x"), "`by`: hans-sub is no file whose columns are known"),
    ("a column to split by", lambda _: shift([{"text": "a", "y": "1"}], by="x"),
     "`by`: rows in memory has no column 'x' (columns: text, y)"),
    ("a column of one value to split by", lambda _: shift([{"text": "a", "y": "1"}], by="y"),
     "`by` must name a column with 2 to 20 values (got 1 in rows in memory: 1)"),
    ("more topics than words", lambda _: shift([{"text": "a b"}, {"text": "c"}], topics=2),
     "`topics` must be at most the 0 words that two texts of rows in memory share"),
    ("two sets of one name", lambda _: shift(*[written(f"{name}.csv", "text\na\n") for name in ("x", "x", "x 1")]),
     "two sets would have the name 'x 1': call a file otherwise"),
    ("a row without a summary",
     lambda _: answer_request(ShiftRequest([[{"text": "a", "summary": None}]] * 2, reading=SUMMARIES)),
     "row 1: the column 'summary' must hold a summary (columns: text, summary)"),
    # commands
    ("a file that is there", lambda _: checked("output", "file"),
     "`--output`: file is there already; `--force` writes over it"),
    ("a folder that is full", lambda _: checked("plots", "full"),
     "`--plots`: full is there already; `--force` writes over it"),
    ("a folder as a file", lambda _: checked("output", "full"), "`--output`: full must be a file, and is a folder"),
    ("a file as a folder", lambda _: checked("plots", "file"), "`--plots`: file must be a folder, and is a file"),
    ("a file in no folder", lambda _: checked("output", "no/new"),
     "`--output`: no/new cannot be written: there is no folder no"),
    ("a long path", lambda _: checked("output", "n" * 300),
     f"`--output`: {'n' * 84} ... {'n' * 141} cannot be written: File name too long"),
    ("two options of one path", lambda _: outputs.check({"output": "a", "save": "a", "force": False}),
     "`output` and `--save` must be different (got a for both)"),
    ("a syntax error of factors", lambda _: own_factors("def broken(:\n"),
     "`--factors`: own.py, line 1: invalid syntax"),
    ("no factor", lambda _: own_factors("x = 1\n"),
     "`--factors`: own.py: no factor is defined there; a factor is a function under `@factor(...)`"),
    ("an error of factors", lambda _: own_factors("\n1 / 0\n"),
     "`--factors`: own.py, line 2: ZeroDivisionError: division by zero"),
    ("the exit of factors", lambda _: own_factors("raise SystemExit(0)\n"),
     "`--factors`: own.py, line 1: SystemExit: 0"),
    ("a name of a coin", lambda _: own_factors(GOOD.replace("MINE", "Random")),
     "`--factors`: own.py: Random is a method of every report; name the factor otherwise"),
    ("a name of a factor", lambda _: own_factors(GOOD.replace("MINE", "MAX-DIFF")),
     "`--factors`: own.py: two factors are named MAX-DIFF: max_diff in factors.general and mine in own.py"),
    ("a file of factors", lambda _: custom.factors(["no.py"]), "`--factors`: there is no file no.py"),
    ("a factor", lambda _: custom.factors(["MAX-DIF"]), "there is no factor 'MAX-DIF'; did you mean MAX-DIFF?"),
    ("no method in a file", lambda _: custom.methods([str(written("own.py", "x = 1\n"))]),
     "`--methods`: own.py: no method is defined there; a method is a `PoolMethod` by any name"),
    ("a name of a method", lambda _: own_method("Surrogate"), "`--methods`: own.py: two methods are named Surrogate"),
    ("a name of a metric", lambda _: own_method("acc"),
     "`--methods`: own.py: acc is a method of every report; name the method otherwise"),
    ("a method's name of two words", lambda _: own_method("two words"),
     "`--methods`: own.py, line 2: ValueError: a method's name must be one word without a comma (got 'two words')"),
    ("a metric's file", lambda _: custom.metric("no.py"), "`--metric`: there is no file no.py"),
    ("an encoder that is not named", lambda _: custom.metric("bertscore"),
     "`metric` must be bertscore:FOLDER, of an encoder, or bertscore:FOLDER#LAYER (got 'bertscore:')"),
    ("no folder of an encoder", lambda _: custom.metric("bertscore:no"), "`metric`: there is no directory 'no'"),
    ("a metric that a package may not name so", lambda _: installed_metric("rouge-l"),
     "a package, entry point 'rouge-l' of 'rank_models.metrics': another metric is named rouge-l"),
    ("a metric of a package of two words", lambda _: installed_metric("my metric"),
     "a package, entry point 'my metric' of 'rank_models.metrics': the name of a metric must be one word without a "
     "comma"),
    ("a factor and a method of one name", lambda _: Evidence(factors=[ACC, ACC]),
     "two methods are named ACC; name one of them otherwise"),
    # experiments
    ("a recipe", lambda _: recipe.load("hans-minilm2"), "there is no recipe 'hans-minilm2'; did you mean hans-minilm?"),
    ("a recipe that is absent", lambda _: recipe.load("small.toml"),
     "small.toml cannot be read as a recipe: No such file or directory"),
    ("a folder of somebody", lambda _: inoculate.check_folder(written("half", "mine")),
     "half is no model of a suite, and would be written over; move it, or set another `-o`"),
    ("a source without a folder", lambda _: sources.read(recipe.RecipeSource(files=("a.csv",)), "pairs", MOOD, None, 0),
     "`--data-dir` is needed: the source 'pairs' is read from a.csv"),
    ("too few rows", lambda _: plan.draw(recipe.Stage(rows=9), {plan.IN_DOMAIN: HANS}, 2, 0, "the member half"),
     "the member half needs 9 rows of the in-domain data, which has 4"),
    ("no row left", lambda _: plan.draw(recipe.Stage(), {plan.IN_DOMAIN: ()}, 2, 0, "the shared stage"),
     "the shared stage takes every row of the in-domain data, and none is left beside those measured on"),
    ("too few rows of a label", lambda _: plan.few(HANS[:1], 5, 2, np.random.default_rng(0), "it"),
     "it needs 5 rows of each label, and of one there are 0"),
    ("a classifier of other labels", lambda _: train.outputs({0: "cat", 1: "dog"}, MOOD, "a/model"),
     "a/model is a classifier of 2 labels (cat, dog), and those of the task mood are bad, fair, good"),
    ("a package of a base", lambda _: train.resolve("package:no_such_package/model"),
     "the Python package 'no_such_package' with the base model is not installed (or has no 'model')"),
    ("a generator", lambda _: generate.sample("hans-subb", 1, ("a", "b")),
     "there is no generator 'hans-subb'; did you mean hans-sub?"),
    ("a feature", lambda _: sentences.ambiguous(np.random.default_rng(0), 1, "morf"),
     "there is no feature 'morf'; did you mean morph?"),
    ("one architecture", lambda _: tables.select(load_suite(["hans-sub-mini"]), "across"),
     "models of several architectures are needed, and hans-sub-mini has one (bert-mini); name more with `--suite "
     "SET=PATH`"),
    # attribution
    ("no pad token", lambda _: check(hiding("mask", "remove"), SHAPSettings()),
     "tiny has no pad token to hide words behind; set `attribution` to `shap:baseline=mask`"),
    ("no embeddings", lambda _: check(hiding("pad"), IGSettings()),
     "tiny does not answer to points between word embeddings, which `ig` needs; set `attribution` to "
     "`shap:baseline=pad`, `lime:hide=pad`, `occlusion:hide=pad` or `phrases:hide=pad`"),
    ("no words left out", lambda _: check(hiding("pad"), SHAPSettings(baseline="remove")),
     "tiny cannot leave words out; set `attribution` to `shap:baseline=pad`"),
    ("no way to hide words", lambda _: check(hiding(), SHAPSettings()),
     "tiny has no pad token to hide words behind; set `attribution` to `none`"),
    ("nothing to attribute", lambda _: attribute(SimpleNamespace(classes=2), [], "none"),
     "`none` attributes nothing; a model's answers are asked of the model itself"),
    ("a label to attribute", lambda _: SHAPSettings(target="middling").settled(LABELS),
     "the target must be one of bad (0), fair (1), good (2) (got 'middling')"),
    ("settings that are not settled", lambda _: SHAPSettings(target="good").label,
     "settle the settings first; their target is 'good'"),
    ("a setting of another type", lambda _: settings_of("shap:target=0.5"),
     "`attribution shap:target=0.5`: `target` must be a whole number (got 0.5)"),
    ("no step", lambda _: IGSettings(steps=0), "`steps` must be between 1 and `max_steps`, 320 (got 0)"),
    ("too many steps", lambda _: IGSettings(steps=40, max_steps=20),
     "`steps` must be between 1 and `max_steps`, 20 (got 40)"),
    ("no tolerance", lambda _: IGSettings(tolerance=0.0), "`tolerance` must be above 0 (got 0.0)"),
    ("no share", lambda _: IGSettings(share=0.0), "`share` must be above 0 and at most 1 (got 0.0)"),
    ("a large share", lambda _: IGSettings(share=1.5), "`share` must be above 0 and at most 1 (got 1.5)"),
    ("few evaluations", lambda _: SHAPSettings(max_evaluations=1), "`max_evaluations` must be at least 2 (got 1)"),
    ("few samples", lambda _: LIMESettings(samples=1), "`samples` must be at least 2 (got 1)"),
    ("no width", lambda _: LIMESettings(kernel_width=0.0), "`kernel_width` must be above 0 (got 0.0)"),
    ("a small ridge", lambda _: LIMESettings(ridge=1e-320),
     "`ridge` must be at least 1e-06, or the regression has no one answer (got 1e-320)"),
]  # fmt: skip
"""Short name, what provokes the error, and the message; files are made in an empty folder."""
