"""Costs of models beside their quality: a table, and the sentence on a cheaper model."""

from __future__ import annotations

from collections.abc import Iterator

from ranker.errors import listed
from ranker.numbers import Unit, interval, probability, with_interval
from ranker.report.tables import MANY_MODELS, Table, table
from ranker.report.words import MetricWords
from ranker.results.costs import Costs, ModelCost, Preference, Quantity
from ranker.results.decision import Decision
from ranker.results.result import NAMES

PRICED_ROWS = 1000
"""Rows that a price is shown of, since that of one is small."""

PARTS = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 10: "a tenth", 20: "a twentieth", 100: "a hundredth"}
"""One divided by a ratio -> the ratio in words."""

ROUGHLY = 0.03
"""Share by which a ratio may differ from the words for it."""

WHOLE = {"money": "price", "seconds": "time"}
"""Quantity -> what a part of it is of, in a sentence."""

Column = tuple[str, list[str]]


def cost_table(decision: Decision, costs: Costs, terms: MetricWords) -> Table:
    """Tabulate what the models take beside how good they are; a quantity that is known of none has no column."""
    models = costs.models[:MANY_MODELS]
    outcomes = [terms.unit.value(model.outcome) for model in decision.models[:MANY_MODELS]]
    write = terms.unit.difference
    against = ["", *(with_interval(model.difference, model.low, model.high, write) for model in models[1:])]
    columns: list[Column] = [(terms.column, outcomes), ("minus first (95 %)", against)]
    columns += [column for column in _amounts(costs, models) if any(column[1])]
    if costs.by is not None:
        columns.append(("P(frontier)", [probability(model.p_frontier) for model in models]))
    rows = zip([model.name for model in models], *(cells for _, cells in columns), strict=True)
    return table(
        *("Costs", ["model"], [head for head, _ in columns], rows),
        help=" ".join([*_meanings(costs), *unknown_notes(costs), *costs.notes]),
    )


def _amounts(costs: Costs, models: tuple[ModelCost, ...]) -> Iterator[Column]:
    """Yield the columns of quantities, with empty cells where they are unknown."""
    usages = [model.usage for model in models]
    yield "tokens", [_number(usage.tokens) for usage in usages]
    yield "seconds", [_number(usage.seconds) for usage in usages]
    currency = f", {costs.currency}" if costs.currency else ""
    prices = [None if usage.money is None else PRICED_ROWS * usage.money for usage in usages]
    yield f"price per {PRICED_ROWS:,} rows{currency}", [_number(price) for price in prices]


def _meanings(costs: Costs) -> Iterator[str]:
    """Yield what the columns are."""
    yield "Tokens (of prompts, from a cache or not, and of answers), seconds and price are means over rows."
    if costs.by is not None:
        verb = "costs" if costs.by == "money" else "takes"
        yield f"P(frontier): the probability, in percent, that no model that {verb} no more is better in the domain."


def unknown_notes(costs: Costs) -> Iterator[str]:
    """Yield which models have no price, or no time, where others have one."""
    by = costs.by or "money"
    lacking = costs.lacking(by)
    if 0 < len(lacking) < len(costs.models):
        yield f"No {WHOLE[by]} is known of {listed(lacking, NAMES)}."


def _number(value: float | None) -> str:
    """Return a quantity with three digits, or all before the point; "" if unknown.

    Example:
        >>> _number(1234.5), _number(0.0123456), _number(None), _number(0.0)
        ('1,234', '0.0123', '', '0')
    """
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def cost_sentences(decision: Decision, unit: Unit) -> Iterator[str]:
    """Yield how a cheaper model compares with the first, and of which models no price is known."""
    if decision.costs is not None:
        yield from _comparison(decision, decision.costs, unit)
        yield from unknown_notes(decision.costs)


def _comparison(decision: Decision, costs: Costs, unit: Unit) -> Iterator[str]:
    """Yield how the model that is taken, else the cheapest that is close, compares with the first."""
    by: Quantity = costs.prefer.by if costs.prefer else "money"
    model, first = _compared(decision, costs, by), costs.models[0]
    if model is None:
        return
    ratio = _ratio(getattr(model.usage, by), getattr(first.usage, by))
    differs = unit.difference(model.difference)
    worse = f"{differs.lstrip('+-')}{unit.points} {'worse' if differs.startswith('-') else 'better'} than {first.name}"
    saved = f" {'for' if by == 'money' else 'in'} {ratio} the {WHOLE[by]}" if ratio else ""
    sure = ""
    if costs.prefer and model.p_within is not None:
        sure = f", and with a probability of {probability(model.p_within)} % {costs.prefer.distance(unit)}"
    yield f"{model.name} is {worse} ({interval(model.low, model.high, unit.difference)}){saved}{sure}."


def _compared(decision: Decision, costs: Costs, by: Quantity) -> ModelCost | None:
    """Return the model that the first is compared with; None if none costs less and is close."""
    amounts = costs.amounts(by)
    if costs.prefer and decision.choice.models[0] != decision.names[0]:
        return costs.models[decision.names.index(decision.choice.models[0])]
    first = amounts[0]
    if first is None:
        return None
    cheaper = [
        (amount, model)
        for amount, model in zip(amounts[1:], costs.models[1:], strict=True)
        if amount is not None and amount < first and model.difference >= -Preference().margin
    ]
    return min(cheaper, key=lambda pair: pair[0])[1] if cheaper else None


def _ratio(amount: float | None, reference: float | None) -> str:
    """Return a ratio as the beginning of "the price"; "" if one is unknown.

    Example:
        >>> _ratio(1.0, 10.0), _ratio(7.0, 10.0), _ratio(0.51, 1.0), _ratio(0.0, 2.0), _ratio(None, 1.0)
        ('a tenth of', '0.7 times', 'half', 'none of', '')
    """
    if amount is None or not reference:
        return ""
    if not amount:
        return "none of"
    for part, words in PARTS.items():
        if abs(part * amount / reference - 1) < ROUGHLY:
            return words if part == 2 else f"{words} of"
    return f"{amount / reference:.2g} times"
