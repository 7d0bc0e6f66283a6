"""Explanations as what shap's and captum's own plots take."""

import math

import pytest
from captum.attr import visualization
from refusals import refuses

from ranker import Evidence, explain, load_set, load_suite
from ranker.errors import UnknownName, UsageError

shap = pytest.importorskip("shap")


@pytest.fixture(scope="module")
def models():
    """Two embedded models."""
    return load_suite(["hans-sub-mini"]).models[-2:]


@pytest.fixture(scope="module")
def explanation(models):
    """A pair of texts as these models see it, by scores that add up."""
    rows = load_set("hans-sub", limit=10)
    return explain(models, rows.examples[0], task=rows.task, evidence=Evidence("shap:max_evaluations=60"))


def test_values_for_shap_add_up_to_the_log_odds(explanation):
    """Base value and values make the log-odds of the explained label, for each model, from its probability."""
    for reading in explanation.readings:
        exported = explanation.to_shap(reading.name)
        p = reading.probabilities[explanation.toward]
        assert exported.base_values + exported.values.sum() == pytest.approx(math.log(p / (1 - p)), abs=1e-4)
        assert exported.output_names == explanation.toward


def test_words_for_shap_are_the_text(explanation):
    """Words with the blanks after them make the two segments again, and shap's own plot shows each with its value."""
    exported = explanation.to_shap(explanation.readings[0].name)
    special = [word.text for word in explanation.readings[0].words if word.span is None]
    joined = "".join(text for text in exported.data if text.strip() not in special)
    assert joined.split() == " ".join(explanation.example.segments).split()
    page = shap.plots.text(exported, display=False)
    assert all(text.strip() in page for text in exported.data)


def test_records_for_captum_hold_what_its_picture_shows(explanation):
    """A record a model: its prediction with the probability, the labels, and scores as shares of the strongest one."""
    records = explanation.to_captum()
    assert len(records) == 2
    for reading, record in zip(explanation.readings, records, strict=True):
        assert isinstance(record, visualization.VisualizationDataRecord)
        classes = (record.pred_class, record.true_class, record.attr_class)
        assert classes == (reading.predicted, explanation.label, explanation.toward)
        assert record.pred_prob == reading.probability
        scores = [word.score for word in reading.words if word.score is not None]
        assert record.attr_score == pytest.approx(sum(scores))
        assert record.word_attributions.tolist() == pytest.approx([score / reading.strongest for score in scores])
        assert len(record.raw_input_ids) == len(scores)
        painted = visualization.format_word_importances(record.raw_input_ids, record.word_attributions)
        assert painted.count("<mark") == len(scores)


def test_scores_that_do_not_add_up_are_refused_by_shap(models):
    """Plots would state a sum that is none of the model's; captum's picture takes any scores."""
    rows = load_set("hans-sub", limit=10)
    explanation = explain(models[-1:], rows.examples[0], task=rows.task, evidence=Evidence("occlusion"))
    with refuses(UsageError, option="attribution", value="occlusion", allowed=("shap", "ig")):
        explanation.to_shap()
    assert len(explanation.to_captum()) == 1


def test_a_model_is_named_where_there_are_several(explanation):
    """A plot of shap is of one model: among several it must be named, and be one of them."""
    names = tuple(reading.name for reading in explanation.readings)
    with refuses(UsageError, option="model", allowed=names):
        explanation.to_shap()
    with refuses(UnknownName, value="other"):
        explanation.to_shap("other")


def test_without_scores_there_is_nothing_to_export(models):
    """Answers alone have no words to show."""
    rows = load_set("hans-sub", limit=10)
    plain = explain(models[-1:], rows.examples[0], task=rows.task, evidence=Evidence("none"))
    for export in (plain.to_shap, plain.to_captum):
        with refuses(UsageError, option="attribution", value="none"):
            export()
