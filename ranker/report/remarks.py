"""Remarks for a reader of the numbers, and omissions, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ranker.numbers import counted, percent
from ranker.report.tables import MAX_LETTERS
from ranker.report.words import MISLED, words_of
from ranker.results.ranking import Ranking

NOISE = 0.02
"""Difference of P(near best), which is estimated by draws, up to which it is noise."""


def decision_notes(ranking: Ranking) -> Iterator[str]:
    """Yield the remarks on a decision."""
    decision, terms = ranking.decision, words_of(ranking)
    yield (
        f"{terms.over}. In the domain: what is expected of {terms.what} there, with a 95 % interval; P(near best) and "
        "P(row > column) are about the domain, too. "
        f"P(near best) is the probability that no other model is better by more than {terms.unit.point}. If two models "
        f"share a {'letter' if len(decision.groups) <= MAX_LETTERS else 'group'}, neither is better with a probability "
        f"of {decision.level:.0%} or more."
    )
    near = [model.p_near_best or 0.0 for model in decision.models]
    if max(near) > near[0] + NOISE and not decision.against:
        yield (
            f"The order is that of {decision.method}, not of P(near best): a model about which these rows say little "
            "can have a high one."
        )


def evaluation_notes(ranking: Ranking) -> Iterator[str]:
    """Yield the remarks on an evaluation."""
    evaluation = ranking.evaluation
    decided = len({(pair.a, pair.b) for pair in evaluation.pairs})
    exact, seed, metric = evaluation.draws == "exact", ranking.header.seed, ranking.header.metric
    drawn = "all possible draws (exact)" if exact else f"{counted(int(evaluation.draws), 'draw')}, seed {seed}"
    apart = any(not method.sees_labels or method.sees_chosen_rows for method in evaluation.methods)
    but = ", except for methods that see no label or chosen rows" if apart else ""
    yield (
        "Pairwise accuracy (few-shot accuracy in the paper): how often a method orders two models correctly from "
        f"{counted(ranking.header.probe, 'example')}; "
        f"mean over {counted(decided, 'pair')}, {drawn}, from a population of {len(ranking.table.examples)}. A tie "
        "counts one half."
    )
    if evaluation.tied_pairs:
        truth = words_of(ranking).what
        tied = counted(evaluation.tied_pairs, f"pair of equal OOD {truth} is", f"pairs of equal OOD {truth} are")
        yield f"{tied} left out."
    if any(model.misled is not None for model in evaluation.models):
        yield f"{MISLED}."
    if any(method.designed for method in evaluation.methods):
        yield f"* marks the factor designed for {ranking.header.ood}."
    few = [
        f"{method.name} {counted(method.draws, 'pool' if method.sees_chosen_rows else 'draw')} (standard error "
        f"{percent(method.draws_error)} points)"
        for method in evaluation.methods
        if method.draws and method.draws_error is not None
    ]
    if few:
        yield f"Measured on few draws; the intervals include this noise: {', '.join(few)}."
    over = f"over other samples of examples; minus {metric}: paired{but}"
    yield f"Attributions: {attribution_text(ranking)}. Intervals: {over}."


def attribution_text(ranking: Ranking) -> str:
    """Return the attribution backend, with settings and number format if they are not the defaults."""
    provenance = ranking.header.provenance
    backend, dtype = provenance.attribution or ranking.header.attribution, provenance.dtype
    return backend if dtype in (None, "float32") else f"{backend} in {dtype}"


def omissions(ranking: Ranking) -> Iterator[str]:
    """Yield the examples, factors and models that are missing from the numbers."""
    measured = {method.name for method in ranking.table.methods}
    for name, reasons in ranking.table.dropped.items():
        for reason, count in reasons.items() if name in measured else ():
            total = counted(len(ranking.table.examples), "example")
            yield f"{name}: {count:,} of {total} dropped for all models ({reason})."
    if ranking.header.left_out:
        yield not_in_table(ranking.header.left_out)
    for model, row_quality in ranking.header.quality.items():
        if row_quality.over_tolerance:
            few = counted(row_quality.over_tolerance, "attribution is", "attributions are")
            yield f"{model}: {few} over the error tolerance."
        if row_quality.truncated:
            yield f"{model}: {counted(row_quality.truncated, 'example')} cut at its limit."
    for model, reason in ranking.header.failures.items():
        yield f"{model} FAILED: {reason}"


def not_in_table(left_out: Mapping[str, str]) -> str:
    """Return the methods without numbers and the reasons, in one sentence.

    Example:
        >>> not_in_table({"CONF-H": "no label", "ARG": "no verb", "OVERLAP": "no label"})
        'Not in the table: CONF-H, OVERLAP (no label); ARG (no verb).'
    """
    reasons = [f"{names} ({reason})" for reason, names in by_reason(left_out.items()).items()]
    return f"Not in the table: {'; '.join(reasons)}."


def by_reason(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Group names by reason, joined by commas.

    Example:
        >>> by_reason([("CONF-H", "no label"), ("ARG", "no verb"), ("OVERLAP", "no label")])
        {'no label': 'CONF-H, OVERLAP', 'no verb': 'ARG'}
    """
    names: dict[str, list[str]] = {}
    for name, reason in pairs:
        names.setdefault(reason, []).append(name)
    return {reason: ", ".join(held) for reason, held in names.items()}
