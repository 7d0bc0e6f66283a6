"""How numbers are written: accuracies and probabilities in percent, differences in percentage points."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """How many of something, the noun in its number.

    Example:
        >>> counted(1, "row"), counted(1200, "more row")
        ('1 row', '1,200 more rows')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def percent(value: float | None) -> str:
    """A fraction as a percentage with one decimal.

    Example:
        >>> percent(0.9125)
        '91.2'
    """
    return "" if value is None else f"{100 * value:.1f}"


def probability(value: float | None, decimals: int = 1) -> str:
    """A probability in percent; none is rounded to certainty.

    Example:
        >>> probability(0.9996), probability(0.25), probability(0.0), probability(0.996, decimals=0)
        ('>99.9', '25.0', '<0.1', '>99')
    """
    if value is None:
        return ""
    least = 10.0**-decimals
    low, high = f"<{least:.{decimals}f}", f">{100 - least:.{decimals}f}"
    shown = f"{100 * value:.{decimals}f}"
    return {f"{0:.{decimals}f}": low, f"{100:.{decimals}f}": high}.get(shown, shown)


def signed(value: float, decimals: int = 1) -> str:
    """A number with its sign; what rounds to nothing has a plus, whichever side it came from.

    Example:
        >>> signed(-3.14), signed(-0.04), signed(-0.004, decimals=2)
        ('-3.1', '+0.0', '+0.00')
    """
    return f"{round(value, decimals) + 0.0:+.{decimals}f}"  # -0.0 + 0.0 is 0.0


def points(value: float | None) -> str:
    """A difference of two fractions, in percentage points, signed.

    Example:
        >>> points(-0.031)
        '-3.1'
    """
    return "" if value is None else signed(100 * value)
