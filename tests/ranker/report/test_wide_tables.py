"""Tables that are wider than a terminal."""

import re

from ranker.report import terminal
from ranker.report.tables import table


def test_no_name_is_broken_for_numbers_of_several_words():
    """A difference with its interval takes its whole width, so the table is split before names are folded."""
    heads = ["rows", "run-a/smollm2", "run-b/smollm2", "difference (95 % interval)", "p", "p (Holm)"]
    cells = ["300", "80.7", "66.0", "+14.7  +7.9 to +21.4", "<0.0001", "<0.0001"]
    lines = [["sst2_local", *cells], ["mnli_local", *cells]]
    text = terminal.plain_text([table("Tasks", ["task"], heads, lines)])
    assert max(map(len, text.split("\n"))) <= terminal.WIDTH
    assert re.findall(r"(?m)^(?:sst2|mnli)_local ", text) == ["sst2_local ", "mnli_local "] * 2
    assert all(cell in text for cell in cells)
