"""The flow from Python: what the command line calls, and what a notebook would."""

import dataclasses
import json
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

import ranker
from factors import BUILTIN, Example
from ranker import Ranking, decide, labelled, rank
from ranker.attribution import SETTINGS, attribute, settings_line, settings_of
from ranker.attribution.settings import Attributing, LIMESettings, SHAPSettings
from ranker.datasets import sets
from ranker.errors import ModelError, UnknownName, UsageError
from ranker.report.ranking import answer
from ranker.runs.collect import RunResponses, dry_run_lines
from ranker.runs.gather import RunInputs, gather_without_truth
from ranker.runs.inspected import inspect_models
from ranker.runs.plan import plan
from ranker.runs.rows import RowsFile
from ranker.runs.run_measurements import provenance
from ranker.runtime import worker
from ranker.runtime.runtime import Runtime
from ranker.scoring.diagnostics import judge_attributions, quality_of
from ranker.scoring.score import Evidence
from ranker.sources import suites
from ranker.sources.base import Machine
from ranker.sources.hf.checkpoints import locate
from ranker.sources.hf.files import content_hash, open_checkpoint_files
from ranker.sources.hf.kind import Checkpoint
from ranker.sources.suites import Model, Suite
from ranker.tasks.classes import ClassificationTask

POOL = tuple(Example(f"p{n}", (f"The actor saw {n} dogs.", "The dogs ran."), None) for n in range(5))


@pytest.fixture
def labelled_rows(tmp_path) -> Path:
    """A file of four labelled rows."""
    rows = tmp_path / "ten.jsonl"
    text = '{"premise": "The judge ran %d miles.", "hypothesis": "The judge ran.", "label": "entailment"}\n'
    rows.write_text("".join(text % n for n in range(4)))
    return rows


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    """The embedded suite on the embedded examples, by what needs no attribution."""
    return rank(["hans-sub-mini"], "hans-sub", evidence=Evidence("none", methods=()), draws=50)


@pytest.mark.more
def test_rank_takes_names_and_gives_a_ranking(ranking):
    """The models stand in the order of their true accuracy, with every baseline beside them."""
    assert isinstance(ranking, Ranking)
    outcomes = [model.outcome for model in ranking.evaluation.models]
    assert outcomes == sorted(outcomes, reverse=True)
    assert {method.name for method in ranking.evaluation.methods} >= {
        "ACC", "CONF", "CONF-GT", "NLL", "CONF-H", "RANDOM",
    }  # fmt: skip


def test_a_ranking_says_what_it_was_made_from(ranking):
    """The provenance names data, sizes, settings, versions and the content of each checkpoint, and is JSON."""
    provenance = json.loads(json.dumps(ranking.to_dict()))["header"]["provenance"]
    assert provenance["data"]["rows"] == 600
    assert provenance["data"]["origin"] == "embedded sample"
    assert set(provenance["versions"]) == {"rank-models", "torch", "transformers", "numpy"}
    paths = {model.name: model.source.path for model in suites.load(["hans-sub-mini"]).models}
    assert provenance["models"] == {
        model.name: content_hash(locate(paths[model.name])) for model in ranking.found.models
    }


@pytest.mark.more
def test_stated_accuracies_are_those_that_are_measured():
    """Accuracies in the embedded suite.json are those that models reach on these rows."""
    dataset = sets.load("hans-sub")
    suite = suites.load(["hans-sub-mini"])
    untold = Suite("untold", tuple(Model(Checkpoint(model.name, model.source.path)) for model in suite.models))
    ranking_of_all = rank(suite, dataset, evidence=Evidence("none", methods=()), draws=1)
    measured = rank(untold, dataset, evidence=Evidence("none", methods=()), draws=1)
    assert [(m.name, m.outcome) for m in measured.evaluation.models] == [
        (m.name, pytest.approx(m.outcome, abs=1e-6)) for m in ranking_of_all.evaluation.models
    ]


def test_how_often_the_shortcut_misleads_is_told_of_each_model(ranking):
    """In a binary task that is how often it is wrong where the shortcut is; pairs are parted by it."""
    table, dataset = ranking.table, sets.load("hans-sub")
    labels = {example.id: example.target for example in dataset.examples}
    deceptive = np.array([labels[name] != dataset.task.shortcut for name in table.examples])
    assert 0 < deceptive.sum() < len(deceptive)
    wrong = 1 - table.outcomes[:, deceptive].mean(axis=1)
    shares = dict(zip(table.models, wrong, strict=True))
    assert {model.name: model.misled for model in ranking.evaluation.models} == pytest.approx(shares)
    nll_pairs = [p for p in ranking.evaluation.pairs if p.method == "NLL" and max(shares[p.a], shares[p.b]) >= 0.8]
    assert 0 < len(nll_pairs) < 28
    assert ranking.method("NLL").splits["misled"] == pytest.approx(np.mean([pair.accuracy for pair in nll_pairs]))


@pytest.mark.slow
def test_where_no_model_follows_the_shortcut_factors_are_doubted(ranking):
    """A note says so, if there are factors at all; not where one model does, nor where nobody can know."""
    dataset = dataclasses.replace(sets.load("hans-sub"), population=40)
    right = [row for row in dataset.examples if row.target == dataset.task.shortcut]
    folder = suites.bundled_suites()["hans-sub-mini"]

    def notes(*names, attribution="lime:samples=8", dataset=dataset):
        new_ranking = rank(
            [f"{folder}/{name}" for name in names], dataset, evidence=Evidence(attribution, methods=()), draws=1
        )
        return [note for note in new_ranking.notes if "follows the shortcut" in note]

    (doubt,) = notes("inoc-800", "inoc-4000")
    assert doubt.startswith("No model follows the shortcut. inoc-800 gives its label most often: on ")
    assert not notes("inoc-800", "untouched")
    assert not notes("inoc-800", "inoc-4000", attribution="none")
    assert not notes("inoc-800", "inoc-4000", dataset=dataclasses.replace(dataset, examples=tuple(right)))
    assert not notes(
        "inoc-800",
        "inoc-4000",
        dataset=dataclasses.replace(dataset, task=dataclasses.replace(dataset.task, shortcut=None)),
    )


@pytest.mark.parametrize("long", [0, 1])
def test_examples_that_were_cut_are_counted(trained, long):
    """Whichever segment lost its end; where nothing was attributed nobody knows."""
    words = ["The", "judge", "near", "the", "actor", "ran", "."]
    segments = [" ".join(words), " ".join(words)]
    segments[long] = " ".join(words * 5)
    examples = [Example("short", (" ".join(words), "The judge ran ."), 1), Example("long", tuple(segments), 1)]
    rows = list(attribute(dataclasses.replace(trained, max_length=40), examples, "occlusion"))
    assert quality_of(judge_attributions(rows, examples, SETTINGS["occlusion"]())).truncated == 1
    assert quality_of(judge_attributions([], examples, SETTINGS["none"]())).truncated == 0


def test_signs_that_have_no_token_are_not_missed(trained):
    """The variation selector behind an emoji, a space of no width, an accent by itself: nothing was cut."""
    examples = [
        Example(end, ("The judge ran .", f"The judge ran {end}"), 1) for end in ("\u2764\ufe0f", "\u200b", "\u0301")
    ]
    rows = list(attribute(trained, examples, "occlusion"))
    assert quality_of(judge_attributions(rows, examples, SETTINGS["occlusion"]())).truncated == 0


def test_a_backend_is_named_with_its_settings_or_given_as_they_are():
    """One attribution, however it is written."""
    flat = SHAPSettings(tree="flat", max_evaluations=100)
    assert settings_of("SHAP: tree=flat, max_evaluations=100") == settings_of(flat) == flat
    assert settings_of("lime") == LIMESettings()


@pytest.mark.parametrize(
    ("options", "option", "value"),
    [
        ({"attribution": SHAPSettings(baseline="cls")}, "attribution", "shap"),
        ({"attribution": SHAPSettings}, "attribution", SHAPSettings),
        ({"attribution": LIMESettings(seed="5")}, "attribution", "lime"),
        *(
            ({"attribution": kind(target=2)}, "target", 2)
            for kind in SETTINGS.values()
            if issubclass(kind, Attributing)
        ),
        ({"target": "foo"}, "target", "foo"),
        ({"norm": "l2"}, "norm", "l2"),
        ({"probe": 601}, "probe", 601),
        ({"draws": -5}, "draws", -5),
    ],
)
def test_what_the_command_line_refuses_is_refused_from_python(options, option, value):
    """Before any model is loaded."""
    of_evidence = {name: options[name] for name in ("attribution", "target", "norm") if name in options}
    remaining = {name: value for name, value in options.items() if name not in of_evidence}
    with refuses(UsageError, option=option, value=value):
        rank("hans-sub-mini", "hans-sub", **remaining, **({"evidence": Evidence(**of_evidence)} if of_evidence else {}))


@pytest.mark.parametrize(
    ("options", "error_type", "option", "value"),
    [
        ({"method": "AC"}, UnknownName, "", "AC"),
        ({"method": "SURROGATE"}, UsageError, "method", "SURROGATE"),
        ({"probe": 5}, UsageError, "probe", 5),
        ({"probe": 0}, UsageError, "probe", 0),
        ({"method": "atc", "pool": POOL}, UsageError, "method", "ATC"),
        ({"method": "pool-factor", "pool": POOL}, UsageError, "method", "POOL-FACTOR"),
        ({"method": "index-diff"}, UsageError, "method", "INDEX-DIFF"),
    ],
)
def test_a_decision_is_refused_before_any_model_is_loaded(labelled_rows, tmp_path, options, error_type, option, value):
    """The folders are not even there."""
    models = Suite("two", tuple(Model(Checkpoint(name, str(tmp_path / name))) for name in "ab"))
    with refuses(error_type, option=option, value=value):
        decide(models, labelled(labelled_rows), evidence=Evidence("none"), **options)


def test_rows_are_not_judged_by_labels_of_models_that_cannot_be_read(labelled_rows, tmp_path):
    """Of a file it would be said that its labels are wrong; what is wrong is the models' folder."""
    models = Suite("two", tuple(Model(Checkpoint(name, str(tmp_path / name))) for name in "ab"))
    with refuses(ModelError, place="a"):
        decide(models, labelled_rows, evidence=Evidence("none", methods=()))


@pytest.mark.more
def test_the_first_rows_are_used_when_fewer_are_asked_for(labelled_rows):
    """Of the others a decision knows nothing but, if there is a pool, that they are rows of it."""
    rows = labelled(labelled_rows)
    first = dataclasses.replace(rows, examples=rows.examples[:2])
    for pool in ((), POOL):
        pool_rows = [dataclasses.replace(row, target=None) for row in rows.examples] if pool else ()
        decision = decide("hans-sub-mini", rows, evidence=Evidence("none", methods=()), pool=pool, probe=2)
        alone = decide("hans-sub-mini", first, evidence=Evidence("none", methods=()), pool=(*pool, *pool_rows))
        assert decision.decision == alone.decision
        assert len(decision.decision.rows) == 2
        assert decision.table.examples == tuple(row.id for row in first.examples)
        assert [note for note in decision.notes if note not in rows.notes] == [
            note for note in alone.notes if note not in rows.notes
        ]
    expected = [
        next(iter(dry_run_lines(plan(gather_without_truth("hans-sub-mini", rows, probe=2), Evidence(attribution)))))
        for attribution in (None, "shap")
    ]
    assert expected == [f"hans-sub-mini on ten: 8 models, 2 rows{text}" for text in ("", ", 2 to explain with shap")]


@pytest.fixture
def attributed(monkeypatch):
    """The backends that a run has asked for, in this process."""
    requests, attribute = [], worker.attribute

    def noted(model, rows, settings, *flags):
        requests.append(settings.name)
        return attribute(model, rows, settings, *flags)

    monkeypatch.setattr(worker, "attribute", noted)
    return requests


@pytest.mark.more
def test_a_decision_attributes_nothing_that_no_factor_reads(labelled_rows, attributed):
    """Neither for a factor that nobody knows the worth of, nor to colour words; one that is named is measured."""
    by_default = decide("hans-sub-mini", labelled_rows, pool=POOL)
    assert attributed == []
    assert [method.name for method in by_default.table.methods if method.kind == "factor"] == []
    assert by_default.header.attribution == "none"
    factor = BUILTIN["INDEX-DIFF"]
    by_name = decide("hans-sub-mini", labelled_rows, evidence=Evidence(factors=[BUILTIN["ACC"], factor]))
    assert "shap" in attributed
    assert factor in by_name.table.methods


@pytest.mark.more
def test_the_designed_factor_of_a_set_is_measured_in_a_decision(labelled_rows, attributed):
    """The designed factor breaks ties of accuracy; a factor that is to order the models is measured, too."""
    rows = labelled(labelled_rows, like="hans-sub")
    models = suites.load(["hans-sub-mini"]).models[::3]
    assert decide(models, rows).decision.method == "ACC+TIES"
    assert "shap" in attributed
    attributed.clear()
    anew = Runtime(store=None)
    assert decide(models, labelled_rows, method="MAX-DIFF", runtime=anew).decision.method == "MAX-DIFF"
    assert "shap" in attributed


@pytest.mark.more
def test_baselines_alone_run_no_backend(attributed):
    """On a set, too: accuracy of eight models takes a second, and SHAP half a minute."""
    dataset = dataclasses.replace(sets.load("hans-sub"), population=12)
    alone = rank("hans-sub-mini", dataset, probe=2, evidence=Evidence(methods=(), factors=[BUILTIN["ACC"]]), draws=1)
    assert (attributed, alone.header.attribution) == ([], "none")
    rank(
        "hans-sub-mini",
        dataset,
        probe=2,
        evidence=Evidence(methods=(), factors=[BUILTIN["ACC"]], attribution="occlusion"),
        draws=1,
    )
    assert set(attributed) == {"occlusion"}


@pytest.mark.more
def test_a_method_is_found_whatever_its_case(labelled_rows):
    """Like every other name."""
    assert (
        decide("hans-sub-mini", labelled_rows, evidence=Evidence("none", methods=()), method="acc+ties").decision.method
        == "ACC+TIES"
    )
    assert (
        decide("hans-sub-mini", labelled_rows, evidence=Evidence("none", methods=()), method="nll").decision.method
        == "NLL"
    )


@pytest.mark.more
def test_a_checkpoint_is_read_for_its_hash_once_a_run(monkeypatch, tmp_path):
    """A hash reads as many bytes as the model has."""
    hashed = []
    monkeypatch.setattr(
        "ranker.sources.hf.kind.open_checkpoint_files",
        lambda path, *flags, **options: hashed.append(path) or open_checkpoint_files(path, *flags, **options),
    )
    rank("hans-sub-mini", "hans-sub", evidence=Evidence("none", methods=()), runtime=Runtime(store=tmp_path), draws=1)
    assert len(hashed) == len(set(hashed)) == 8


def test_a_decision_takes_a_file(labelled_rows):
    """Of rows, as text or as a path, like the rest of the library."""
    folder = suites.bundled_suites()["hans-sub-mini"]
    models = [folder / name for name in ("untouched", "inoc-4000")]
    decisions = [
        decide(models, text, evidence=Evidence("none", methods=())).decision
        for text in (str(labelled_rows), labelled_rows, labelled(labelled_rows))
    ]
    assert decisions[0] == decisions[1] == decisions[2]


def test_copies_of_a_checkpoint_are_ranked_once(labelled_rows, tmp_path):
    """Whatever the folder is called: what identifies a model is its content."""
    folder = suites.bundled_suites()["hans-sub-mini"]
    shutil.copytree(folder / "untouched", tmp_path / "copied")
    models = [folder / "untouched", tmp_path / "copied", folder / "inoc-4000"]
    ranking = decide(models, labelled_rows, evidence=Evidence("none", methods=()), base="copied")
    note = "untouched and copied are copies of one model, which is ranked once, as untouched: what they are loaded"
    assert any(line.startswith(note) for line in ranking.notes)
    assert {*ranking.decision.names} == {"untouched", "inoc-4000"}
    assert ranking.header.copies == {"copied": "untouched"}
    assert answer(ranking)[0].endswith(" (the same model twice: copied is untouched)")
    with refuses(UsageError, option="models"):
        decide(models[:2], labelled_rows, evidence=Evidence("none", methods=()))
    assert not any(
        "copies" in note for note in decide(models[1:], labelled_rows, evidence=Evidence("none", methods=())).notes
    )


@pytest.mark.more
def test_a_file_is_judged_by_the_models_own_labels(tmp_path):
    """Single texts and labels that no known task has; what was made of the rows stands in the notes."""
    models = [tmp_path / name for name in ("untouched", "inoc-4000")]
    for folder in models:
        shutil.copytree(suites.bundled_suites()["hans-sub-mini"] / folder.name, folder)
        config = json.loads((folder / "config.json").read_text())
        config |= {"id2label": {"0": "Dull", "1": "LOVELY"}, "label2id": {"Dull": 0, "LOVELY": 1}}
        (folder / "config.json").write_text(json.dumps(config))
    rows = tmp_path / "reviews.csv"
    rows.write_text("text,label\nThe judge ran.,lovely\nThe actor saw it.,dull\nIt ran.,\nThe judge ran.,lovely\n")
    new_ranking = decide(models, rows, evidence=Evidence("none", methods=()))
    assert new_ranking.header.probe == 2
    assert tuple(note.replace("`--pool`", "`pool`") for note in new_ranking.notes[:2]) == (
        "1 row has no label yet, and counts only in a pool (`pool`).",
        "1 row that exactly repeats another was left out.",
    )
    rows.write_text("text,label\nThe judge ran.,0\nThe actor saw it.,1\n")
    assert decide(models, rows, evidence=Evidence("none", methods=())).notes[0] == "0 was read as Dull, 1 as LOVELY."
    turned = labelled(rows, ClassificationTask("reviews", ("lovely", "dull")))
    with refuses(UsageError, place=rows):
        decide(models, turned, evidence=Evidence("none", methods=()))
    home = labelled(rows, ClassificationTask("nli", ("entailment", "non-entailment")))
    with refuses(UsageError, place=rows):
        rank("hans-sub-mini", "hans-sub", evidence=Evidence("none", methods=()), in_domain=home)


@pytest.mark.more
def test_a_decision_tells_what_every_model_takes_each_row_for(labelled_rows):
    """By name, and of the rows that it is made from only."""
    suite = suites.load(["hans-sub-mini"])
    new_ranking = decide(suite, labelled_rows, evidence=Evidence("none", methods=()), probe=3)
    assert len(new_ranking.decision.rows) == 3
    for row in new_ranking.decision.rows:
        assert row.label == "entailment"
        assert list(row.predicted) == list(new_ranking.table.models)
    for model in new_ranking.decision.models:
        right = sum(row.predicted[model.name] == row.label for row in new_ranking.decision.rows)
        assert right == pytest.approx(3 * model.outcome)


def test_a_store_is_taken_by_its_folder(labelled_rows, tmp_path):
    """As a path or as text; what was computed lies in it."""
    suite = Suite("two", suites.load(["hans-sub-mini"]).models[:2])
    for folder in (tmp_path / "store", str(tmp_path / "store")):
        decide(suite, labelled_rows, evidence=Evidence("none", methods=()), runtime=Runtime(store=folder))
        assert list((tmp_path / "store").rglob("*.parquet"))


@pytest.mark.parametrize("attribution", ["none", "NONE"])
def test_factors_that_nothing_is_attributed_for_are_named(attribution):
    """No attribution, in whatever letters, leaves factors that read any out of the table, and says so."""
    folder = suites.bundled_suites()["hans-sub-mini"]
    models = [folder / name for name in ("untouched", "inoc-4000")]
    dataset = dataclasses.replace(sets.load("hans-sub"), population=20)
    new_ranking = rank(models, dataset, evidence=Evidence(attribution, methods=()), draws=1)
    assert new_ranking.header.attribution == "none"
    assert new_ranking.header.left_out["INDEX-DIFF"] == "reads attributions, and there are none"
    assert "factor" not in {method.kind for method in new_ranking.evaluation.methods}


@pytest.mark.parametrize(
    ("shortcut", "target", "line"),
    [
        (None, None, "shap"), (None, "Yes", "shap"), (None, 1, "shap:target=maybe"), (1, None, "shap"), (1, 1, "shap"),
        (1, 2, "shap:target=yes"),
    ],
)  # fmt: skip
def test_the_label_that_was_asked_for_is_told(shortcut, target, line):
    """By name, where it is not the one that the task has by itself, the shortcut's or the last."""
    task = ClassificationTask("three", ("no", "maybe", "yes"), shortcut=shortcut)
    inputs = RunInputs(inspect_models("hans-sub-mini"), sets.LabelledDataset("mine", task, (), 0), ())
    made_plan = plan(inputs, Evidence(SHAPSettings(target=target), factors=()))
    origin = provenance(made_plan, RunResponses((), {}), Machine())
    assert origin.attribution == settings_line("shap", origin.settings) == line


@pytest.mark.slow
def test_a_logit_is_read_by_factors_of_its_label_only():
    """Attributions of one logit cannot be turned toward the other label: what would need that is left out, and said."""
    dataset = dataclasses.replace(sets.load("hans-sub"), population=20)
    models = [f"{suites.bundled_suites()['hans-sub-mini']}/{name}" for name in ("untouched", "inoc-4000")]
    by_output = {
        output: rank(models, dataset, evidence=Evidence(LIMESettings(samples=8, output=output)), draws=1)
        for output in ("margin", "logit")
    }
    names = {output: {method.name for method in ranking.evaluation.methods} for output, ranking in by_output.items()}
    assert names["margin"] - names["logit"] == {"ABS-SUM-DIFF"}
    assert by_output["logit"].header.left_out["ABS-SUM-DIFF"].startswith("is about another label")
    assert "INDEX-DIFF" in names["logit"]


def test_too_few_models_that_work(tmp_path):
    """There is nothing to rank if all but one model fail."""
    path = suites.load(["hans-sub-mini"]).models[0].source.path
    suite = Suite("broken", (Model(Checkpoint("good", path)), Model(Checkpoint("gone", str(tmp_path)))))
    with refuses(ModelError, option="models"):
        rank(suite, "hans-sub", evidence=Evidence("none", methods=()))


def test_what_cannot_be_right_is_refused_before_any_model_is_loaded():
    """An unknown set, backend or suite, and a probe larger than the population, are errors of the caller."""
    with pytest.raises(UnknownName):
        rank(["hans-sub-mini"], "hans")
    with pytest.raises(UnknownName):
        rank(["hans-sub-mini"], "hans-sub", evidence=Evidence("saliency"))
    with refuses(UsageError, option="probe", value=601):
        rank(["hans-sub-mini"], "hans-sub", probe=601)
    with pytest.raises(UsageError):
        rank(["/no/such/model", "/nor/this"], "hans-sub")


def test_the_package_offers_what_one_starts_with():
    """`ranker.rank` and `ranker.decide` are those of their files, and what is not there is no attribute."""
    assert ranker.rank is import_module("ranker.runs.rank").rank
    assert ranker.decide is import_module("ranker.runs.decide").decide
    with pytest.raises(AttributeError, match="no attribute 'rnak'"):
        ranker.rnak  # noqa: B018


def test_a_decision_takes_a_label_map_and_columns(tmp_path):
    """A label map and columns that messages name can be given; not for models or rows that were read already."""
    folder = suites.bundled_suites()["hans-sub-mini"]
    models = [folder / "untouched", folder / "inoc-4000"]
    rows = [{"a": f"The judge saw actor {n}.", "b": "The actor ran.", "gold": ("yes", "no")[n % 2]} for n in range(4)]
    none = Evidence("none", methods=())
    label_map = {"entailment": "yes", "non-entailment": "no"}
    columns = {"text": ["a", "b"], "label": "gold"}
    ranking = decide(models, rows, label_map=label_map, columns=columns, evidence=none)
    assert {row.label for row in ranking.decision.rows} == {"yes", "no"}
    with refuses(UsageError, option="label_map"):
        decide(suites.load(models), rows, label_map=label_map, columns=columns, evidence=none)
    with refuses(UsageError, option="columns"):
        decide(models, RowsFile(rows, columns=columns), label_map=label_map, columns=columns, evidence=none)
