"""Balance of the labels of rows: a caveat where all labels, or nearly all, are one."""

from __future__ import annotations

from collections.abc import Mapping

SAME = 5
"""Answers with one label from which on a session says so."""

MIN_ROWS = 3
"""Rows of one label from which on it is worth saying that they have one."""

NEARLY = 2
"""Rows with another label, up to which labels are nearly all alike if they are a tenth of the rows at most."""

WORSE = "worse than guessing"
"""Words of a note on models whose labels or columns are probably read wrongly: it comes before the answer."""

SKEWED = 0.75
"""Share of the most frequent label from which on accuracy hides how well other labels are recognized."""


def one_label(counts: Mapping[str, int]) -> str:
    """Say that the labels of rows, or nearly all of them, are one, so that its recall is what was measured.

    Returns:
        The caveat; "" where labels differ, and for fewer than `MIN_ROWS` rows.

    Example:
        >>> one_label({"toxic": 12}), one_label({"toxic": 8, "fine": 4})
        ('all 12 labels are toxic: only the recall of toxic is measured', '')
        >>> one_label({"toxic": 11, "fine": 1})
        '11 of 12 labels are toxic: it is mostly the recall of toxic that is measured'
    """
    total, label = sum(counts.values()), max(counts, key=lambda name: counts[name], default="")
    minority = total - counts.get(label, 0)
    if total < MIN_ROWS or minority > NEARLY or 10 * minority > total:
        return ""
    if minority:
        return f"{total - minority} of {total} labels are {label}: it is mostly the recall of {label} that is measured"
    return f"all {total} labels are {label}: only the recall of {label} is measured"


def skewed(counts: Mapping[str, int]) -> bool:
    """Return True if there are several labels, and one of them has at least `SKEWED` of the rows.

    Example:
        >>> skewed({"toxic": 8, "fine": 2}), skewed({"toxic": 6, "fine": 4}), skewed({"toxic": 10})
        (True, False, False)
    """
    frequent = [count for count in counts.values() if count]
    return len(frequent) > 1 and max(frequent) >= SKEWED * sum(frequent)
