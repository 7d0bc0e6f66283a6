"""What a reader of the numbers has to know, and what is not in them, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from ranker.numbers import counted, percent
from ranker.report.answer import untold
from ranker.report.words import MOST_LABELS, labels, words_of
from ranker.results.decision import Decision
from ranker.results.evaluation import Evaluation
from ranker.results.gate import Gate
from ranker.results.ranking import Ranking

NOISE = 0.02
"""P(near best) is drawn: a difference of this size is none."""


def remarks(ranking: Ranking) -> list[str]:
    """What a reader of the numbers has to know, and what is not in them, a sentence each."""
    found = ranking.found
    first = notes(ranking, found) if isinstance(found, Evaluation) else decision_notes(ranking, found)
    return [*first, *ranking.notes, *omissions(ranking)]


def decision_notes(ranking: Ranking, decision: Decision) -> Iterator[str]:
    """What a reader of a decision has to know."""
    of = words_of(ranking)
    if decision.gate:
        yield verdict(decision.gate)
    yield (
        f"{of.over}. The interval, P(near best) and P(row > column) are about {of.what} in the whole domain. "
        f"P(near best) is the probability that no other model is better by more than {of.unit.point}. Of two "
        f"models that share a letter, neither is the better one with a probability of {decision.level:.0%}."
    )
    near = [model.p_near_best or 0.0 for model in decision.models]
    if max(near) > near[0] + NOISE and not decision.against:
        yield (
            f"The order goes by {decision.method}, not by P(near best): a model of which these rows tell little can "
            "have a high one."
        )
    reasons, equal = [], []
    for i, (a, b) in enumerate(pairwise(decision.names)):
        more = decision.more_labels[i][i + 1]
        if more and more > MOST_LABELS:
            equal.append(f"{a} and {b}")
        elif more:
            yield f"{a} or {b}: {labels(more, 'more label')} would tell, if they go on to disagree as here."
        if more is None and not decision.metric:
            reasons.append((f"{a} or {b}", untold(ranking.table, decision, i, i + 1)))
    if equal:
        yield f"Treat as equal {'; '.join(equal)}: {labels(MOST_LABELS + 1, 'label')} would be needed to tell."
    for why, pairs in by_reason(reasons, "; ").items():
        yield f"{pairs}: how many more labels would tell is not known: {why}."


def verdict(gate: Gate) -> str:
    """Whether models are shown to be no worse than one, in a sentence."""
    return f"{'PASSED' if gate.passes else 'NOT PASSED'}: {gate.in_words}."


def notes(ranking: Ranking, found: Evaluation) -> Iterator[str]:
    """What a reader of the numbers has to know."""
    decided = len({(pair.a, pair.b) for pair in found.pairs})
    exact, seed, metric = found.draws == "exact", ranking.header.seed, ranking.header.metric
    drawn = "all draws there are (exact)" if exact else f"{counted(int(found.draws), 'draw')}, seed {seed}"
    apart = any(method.kind == "label-free" or method.sees_chosen_rows for method in found.methods)
    but = ", but for methods that see no label or chosen rows" if apart else ""
    yield (
        "Pairwise accuracy (few-shot accuracy in the paper): how often a method orders two models rightly from "
        f"{counted(ranking.header.probe, 'example')}; "
        f"mean over {counted(decided, 'pair')}, {drawn}, from a population of {len(ranking.table.examples)}. A tie "
        "counts one half."
    )
    if found.tied_pairs:
        truth = words_of(ranking).what
        tied = counted(found.tied_pairs, f"pair of equal OOD {truth} is", f"pairs of equal OOD {truth} are")
        yield f"{tied} left out."
    if any(model.misled is not None for model in found.models):
        yield "misled: of the examples on which the shortcut is wrong, those on which a model gives its label."
    if any(method.designed for method in found.methods):
        yield f"* the factor designed for {ranking.header.ood}."
    few = [
        f"{one.name} {counted(one.draws, 'pool' if one.sees_chosen_rows else 'draw')} (standard error "
        f"{percent(one.draws_error)} points)"
        for one in found.methods
        if one.draws and one.draws_error is not None
    ]
    if few:
        yield f"Measured by few draws, which the intervals count: {', '.join(few)}."
    over = f"over other samples of examples; minus {metric}: paired{but}"
    yield f"Attributions: {attributed(ranking)}. Intervals: {over}."


def attributed(ranking: Ranking) -> str:
    """What words were scored by: the backend, with settings and number format where they are not the defaults."""
    made = ranking.header.provenance
    backend, dtype = made.attribution or ranking.header.attribution, made.dtype
    return backend if dtype in (None, "float32") else f"{backend} in {dtype}"


def omissions(ranking: Ranking) -> Iterator[str]:
    """What is not in the numbers: examples, factors, models."""
    measured = {method.name for method in ranking.table.methods}
    for name, reasons in ranking.table.dropped.items():
        for reason, count in reasons.items() if name in measured else ():
            of = counted(len(ranking.table.examples), "example")
            yield f"{name}: {count:,} of {of} dropped for all models ({reason})."
    if ranking.header.left_out:
        yield not_in_table(ranking.header.left_out)
    for model, found in ranking.header.quality.items():
        if found.over_tolerance:
            few = counted(found.over_tolerance, "attribution is", "attributions are")
            yield f"{model}: {few} less exact than the tolerance asks."
        if found.truncated:
            yield f"{model}: {counted(found.truncated, 'example')} cut, being longer than its limit."
    for model, reason in ranking.header.failures.items():
        yield f"{model} FAILED: {reason}"


def not_in_table(left_out: Mapping[str, str]) -> str:
    """Which methods have no numbers, and why, in one sentence.

    Example:
        >>> not_in_table({"CONF-H": "no label", "ARG": "no verb", "OVERLAP": "no label"})
        'Not in the table: CONF-H, OVERLAP (no label); ARG (no verb).'
    """
    each = [f"{names} ({reason})" for reason, names in by_reason(left_out.items()).items()]
    return f"Not in the table: {'; '.join(each)}."


def by_reason(pairs: Iterable[tuple[str, str]], between: str = ", ") -> dict[str, str]:
    """Reason -> the names that it holds for, with something between them.

    Example:
        >>> by_reason([("CONF-H", "no label"), ("ARG", "no verb"), ("OVERLAP", "no label")])
        {'no label': 'CONF-H, OVERLAP', 'no verb': 'ARG'}
    """
    names: dict[str, list[str]] = {}
    for name, reason in pairs:
        names.setdefault(reason, []).append(name)
    return {reason: between.join(held) for reason, held in names.items()}
