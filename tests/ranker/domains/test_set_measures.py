import numpy as np
import pytest
from refusals import refuses
from scipy.stats import pearsonr, spearmanr

from ranker import shift
from ranker.domains.compare import compare
from ranker.domains.measures import read_measures
from ranker.domains.report.shift import document
from ranker.errors import DataError, UsageError
from ranker.report import write
from ranker.statistics.correlation import pearson_p

LENGTHS = {"p": 3.0, "q": 4.0, "r": 6.0, "s": 9.0, "t": 9.5}


def scores(models=3, levels=("",) * 5):
    """Return rows of models on one in-domain set and five others, which fall by length but for noise."""
    noise = np.random.default_rng(0).normal(0, 0.02, (models, 5))
    for model in range(models):
        yield {"model": f"m{model}", "set": "home", "value": 0.9 + 0.01 * model, "kind": "in-domain"}
        for (name, length), level, extra in zip(LENGTHS.items(), levels, noise[model], strict=True):
            yield {"model": f"m{model}", "set": name, "value": 0.8 - 0.03 * length + extra, "level": level}


def lengths(**options):
    """Return a row of measures for each set."""
    return [{"set": name, "length": length, **options} for name, length in LENGTHS.items()]


def test_measures_go_with_mean_values_and_drops_as_scipy_says():
    """Pearson, its p and interval, and Spearman; the drop has the opposite sign of the value, since home is one set."""
    rows = list(scores())
    board = compare(rows, measures=lengths())
    means = [np.mean([row["value"] for row in rows if row["set"] == name]) for name in LENGTHS]
    value, drop = board.correlations
    r = pearsonr(list(LENGTHS.values()), means)
    assert (value.outcome, value.measure, value.sets, value.level) == ("value", "length", 5, "")
    assert (value.pearson, value.p) == pytest.approx((r.statistic, r.pvalue))
    assert (value.pearson_low, value.pearson_high) == pytest.approx(tuple(r.confidence_interval()), abs=1e-4)
    assert value.spearman == pytest.approx(spearmanr(list(LENGTHS.values()), means).statistic)
    assert (drop.outcome, drop.pearson, drop.p) == ("drop", pytest.approx(-r.statistic), pytest.approx(r.pvalue))
    assert board.notes[-1].startswith("The correlations are over 5 sets. Below 8 sets")


def test_long_measures_are_wide_ones():
    """A row for each set and measure, with columns in any case; a missing number is no measure."""
    long = [{"SET": name, "Measure": "length", "Value": length} for name, length in LENGTHS.items()]
    assert read_measures(long).values == read_measures(lengths()).values == {"length": LENGTHS}
    assert read_measures([*lengths()[:4], {"set": "t", "length": "-"}]).values["length"].keys() == {*"pqrs"}
    assert read_measures(lengths(note="see there")).notes == ("Unread columns: note.",)


def test_a_shift_is_a_table_of_measures(tmp_path):
    """The CSV gives new sets their distance from the in-domain one, and every set the measures of its summaries."""
    texts = {"home": "a b c d", "p": "a b x y", "q": "v w x y z"}
    files = []
    for name, text in texts.items():
        files.append(tmp_path / f"{name}.csv")
        rows = "".join(f"{text} {n},{text[:3]} {n}\n" for n in range(25))
        files[-1].write_text("text,summary\n" + rows)
    distances = shift(*files, columns={"summary": ["summary"]})
    (tmp_path / "shift.csv").write_text(write(document(distances), "csv"))
    values = read_measures(tmp_path / "shift.csv").values
    assert values["cosine"] == {name: distances.pair("home", name).measure("cosine").value for name in "pq"}
    assert values["compression"] == {
        domain.name: next(m.value for m in domain.summaries if m.name == "compression") for domain in distances.domains
    }


def test_levels_may_stand_in_either_table():
    """Each model has means and drops by level, and correlations are over the sets of each level, and over all."""
    levels = ("genre", "genre", "genre", "style", "style")
    of_scores = compare(list(scores(levels=levels)), measures=lengths())
    rows = [row | {"level": level} for row, level in zip(lengths(), levels, strict=True)]
    of_measures = compare(list(scores()), measures=rows)
    assert of_scores.to_dict() == of_measures.to_dict()
    first = of_scores.models[0]
    genre = np.mean([first.tasks[name] for name in "pqr"])
    assert first.levels == pytest.approx({"genre": genre, "style": (first.tasks["s"] + first.tasks["t"]) / 2})
    assert first.drops["genre"] == pytest.approx(first.in_domain - genre)
    fits = {(fit.outcome, fit.level): fit.sets for fit in of_scores.correlations}
    assert fits == {("value", ""): 5, ("drop", ""): 5, ("value", "genre"): 3, ("drop", "genre"): 3}
    assert of_scores.to_rows()[0]["drop: genre"] == first.drops["genre"]


def test_a_measure_of_a_task_is_beside_the_mean_of_its_sets():
    """Like ROUGE and BERTScore on one set; a set with the name of no other has measures of its own."""
    rows = [
        {"model": m, "set": f"{metric}{suffix}", "group": name, "value": 0.5 + 0.1 * place + bonus + 0.01 * (m == "a")}
        for m in "ab"
        for place, name in enumerate("pqr")
        for metric, suffix, bonus in (("rouge", "", 0.0), ("bert", f" of {name}", 0.02 * place))
    ]
    by_task = compare(rows, measures=[{"set": name, "x": n} for n, name in enumerate("pqr")])
    assert [fit.pearson for fit in by_task.correlations] == [pytest.approx(1)]
    by_set = compare(rows, measures=[{"set": f"bert of {name}", "x": -n} for n, name in enumerate("pqr")])
    assert [fit.pearson for fit in by_set.correlations] == [pytest.approx(-1)]
    with refuses(UsageError, option="measures"):  # three sets are called rouge
        compare(rows, measures=[{"set": "rouge", "x": 1}])


@pytest.mark.parametrize(
    ("rows", "error", "fields"),
    [
        ([{"name": "p", "x": 1}], DataError, {"value": "set", "place": "row 1"}),
        ([{"set": "p", "x": "long"}], DataError, {"option": "measures"}),
        ([{"set": "p", "x": 1}, {"set": "p", "x": 2}], DataError, {"value": "x", "place": "row 2"}),
        ([{"set": "p", "x": 1}, {"set": "q", "x": "1,5"}], DataError, {"option": "x", "place": "row 2"}),
        ([{"set": "p", "x": 1, "level": "genre"}], UsageError, {"value": "genre", "place": "p"}),
        ([{"set": "p", "x": 1, "level": "a"}, {"set": "p", "y": 1, "level": "b"}], DataError, {"value": "b"}),
        ([{"set": "elsewhere", "x": 1}], UsageError, {"allowed": (*"pqrst",)}),
    ],
)
def test_measures_that_cannot_be_right_are_refused(rows, error, fields):
    """No set, no number, twice the same, another level than the scores have, or no set that they have."""
    with refuses(error, **fields):
        compare(list(scores(levels=("style",) * 5)), measures=rows)


def test_p_of_a_perfect_correlation_is_zero():
    """And of none it is 1, whatever the number of sets."""
    assert (pearson_p(1.0, 3), pearson_p(-1.0, 9), pearson_p(0.0, 3)) == (0.0, 0.0, 1.0)


@pytest.mark.more
def test_lower_is_better_turns_the_order_and_keeps_the_unit():
    """Error rates rank as accuracies do, in the table's unit and sign; decay is the growth of the error."""
    errors = [row | {"value": 1 - row["value"]} for row in scores(8)]
    high, low = compare(list(scores(8))), compare(errors, lower_is_better=True, measures=lengths())
    assert low.names == high.names
    for better, worse in zip(high.models, low.models, strict=True):
        assert (worse.rank, worse.friedman, worse.low, worse.high) == (
            *(better.rank, better.friedman, better.low, better.high),
        )
        assert (worse.value, worse.in_domain) == pytest.approx((1 - better.value, 1 - better.in_domain))
        assert worse.decay == pytest.approx((worse.value - worse.in_domain) / worse.in_domain)
        assert worse.tasks["p"] == pytest.approx(1 - better.tasks["p"])
    assert low.differences[0].difference == pytest.approx(-high.differences[0].difference)
    for better, worse in zip(high.trends, low.trends, strict=True):
        assert (worse.type, worse.correlation) == (better.type, pytest.approx(better.correlation))
        for above, below in zip(better.points, worse.points[::1], strict=True):
            assert below.model == above.model
            assert below.low <= below.expected <= below.high
            assert below.robustness == pytest.approx(-above.robustness)
    value, drop = low.correlations
    assert value.pearson > 0.9
    assert drop.pearson == pytest.approx(value.pearson)
    with refuses(UsageError, option="axes", value="probit"):
        compare(errors, lower_is_better=True, axes="probit")
