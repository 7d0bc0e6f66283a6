"""Formats of numbers: accuracies and probabilities in percent, their differences in points; others unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Return a count with its noun in the right number, and the verb if there is one.

    Example:
        >>> counted(1, "row"), counted(1200, "more row"), counted(2, "row has", "rows have")
        ('1 row', '1,200 more rows', '2 rows have')
    """
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"


def percent(value: float | None) -> str:
    """Return a fraction as a percentage with one decimal.

    Example:
        >>> percent(0.9125)
        '91.2'
    """
    return "" if value is None else f"{100 * value:.1f}"


def probability(value: float | None, decimals: int = 1) -> str:
    """Return a probability in percent; none is rounded to certainty.

    Example:
        >>> probability(0.9996), probability(0.25), probability(0.0), probability(0.996, decimals=0)
        ('>99.9', '25.0', '<0.1', '>99')
    """
    if value is None:
        return ""
    least = 10.0**-decimals
    low, high = f"<{least:.{decimals}f}", f">{100 - least:.{decimals}f}"
    text = f"{100 * value:.{decimals}f}"
    return {f"{0:.{decimals}f}": low, f"{100:.{decimals}f}": high}.get(text, text)


LEAST_P = 1e-4
"""Least p-value that is written; smaller ones are "<"."""


def p_value(value: float | None) -> str:
    """Return a p-value with three decimals, or four where it is small.

    Example:
        >>> p_value(0.0312), p_value(0.00072), p_value(2e-7), p_value(1.0)
        ('0.031', '0.0007', '<0.0001', '1.000')
    """
    if value is None:
        return ""
    return f"<{LEAST_P:.4f}" if value < LEAST_P else f"{value:.3f}" if value >= 1e-3 else f"{value:.4f}"


def signed(value: float, decimals: int = 1) -> str:
    """Return a number with its sign; one that rounds to 0 has a plus.

    Example:
        >>> signed(-3.14), signed(-0.04), signed(-0.004, decimals=2)
        ('-3.1', '+0.0', '+0.00')
    """
    return f"{round(value, decimals) + 0.0:+.{decimals}f}"  # -0.0 + 0.0 is 0.0


def points(value: float | None) -> str:
    """Return a difference of two fractions, in percentage points, signed.

    Example:
        >>> points(-0.031)
        '-3.1'
    """
    return "" if value is None else signed(100 * value)


def interval(low: float | None, high: float | None, write: Callable[[float | None], str] = percent) -> str:
    """Return an interval as text; empty where there is none.

    Example:
        >>> interval(0.25, 0.5), interval(-0.031, 0.0, points), interval(None, None)
        ('25.0 to 50.0', '-3.1 to +0.0', '')
    """
    return "" if low is None else f"{write(low)} to {write(high)}"


def with_interval(
    value: float | None, low: float | None, high: float | None, write: Callable[[float | None], str] = percent
) -> str:
    """Return a number as text, with its interval in brackets where there is one.

    Example:
        >>> with_interval(0.3, 0.25, 0.5), with_interval(0.3, None, None)
        ('30.0 (25.0 to 50.0)', '30.0')
    """
    return f"{write(value)} ({interval(low, high, write)})" if low is not None else write(value)


def decimal(value: float | None) -> str:
    """Return a number with three decimals.

    Example:
        >>> decimal(0.7123), decimal(-0.0001), decimal(None)
        ('0.712', '0.000', '')
    """
    return "" if value is None else f"{round(value, 3) + 0.0:.3f}"  # -0.0 + 0.0 is 0.0


def signed_decimal(value: float | None) -> str:
    """Return a difference of two numbers with three decimals, signed.

    Example:
        >>> signed_decimal(-0.0312)
        '-0.031'
    """
    return "" if value is None else signed(value, 3)


@dataclass(frozen=True)
class Unit:
    """Format of the values of models.

    Attributes:
        value, difference: functions for the value of one model, and the difference of two.
        sign: text after a value.
        points: text after a difference.
        point: name of 0.01.
    """

    value: Callable[[float | None], str]
    difference: Callable[[float | None], str]
    sign: str
    points: str
    point: str


SHARES = Unit(percent, points, " %", " points", "a point")
"""Unit of accuracies and other mean outcomes: percent, and percentage points."""

VALUES = Unit(decimal, signed_decimal, "", "", "0.01")
"""Unit of metrics that are no means: their own values."""


def unit(metric: str, scale: tuple[float, float] | None = None) -> Unit:
    """Return the unit of a metric that is no mean over rows; "" is the mean outcome.

    Args:
        metric: its name.
        scale: worst and best mark, where outcomes are marks; None where they are shares.

    Example:
        >>> [unit(metric).value(0.712) + unit(metric).sign for metric in ("", "macro-f1")]
        ['71.2 %', '0.712']
        >>> marks = unit("", (1, 5))
        >>> marks.value(0.712) + marks.sign, marks.difference(-0.1), marks.point
        ('3.85 of 5', '-0.40', '0.04')
    """
    if metric or scale is None:
        return VALUES if metric else SHARES
    low, high = scale

    def value(share: float | None) -> str:
        return "" if share is None else f"{round(low + (high - low) * share, 2) + 0.0:.2f}"

    def difference(of_shares: float | None) -> str:
        return "" if of_shares is None else signed((high - low) * of_shares, 2)

    return Unit(value, difference, f" of {high:g}", "", f"{(high - low) / 100:g}")


def minutes(seconds: float) -> str:
    """Return a duration in a suitable unit.

    Example:
        >>> minutes(90), minutes(7), minutes(9000)
        ('1.5 min', '7 s', '2.5 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
