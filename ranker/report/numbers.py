"""How numbers are written: accuracies and probabilities in percent, differences in percentage points."""

from __future__ import annotations


def percent(value: float | None) -> str:
    """A fraction as a percentage with one decimal.

    Example:
        >>> percent(0.9125)
        '91.2'
    """
    return "" if value is None else f"{100 * value:.1f}"


def points(value: float | None) -> str:
    """A difference of two fractions, in percentage points, signed.

    Example:
        >>> points(-0.031)
        '-3.1'
    """
    return "" if value is None else f"{100 * value:+.1f}"
