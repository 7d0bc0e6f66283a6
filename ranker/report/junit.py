"""The checks as JUnit's XML, which GitLab, Jenkins and others show as tests."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ranker.report import terminal
from ranker.report.document import Check, Document
from ranker.report.escapes import visible

SUITE = "rank-models"
"""Class of a test that belongs to no task."""

TAGS = {"failed": "failure", "error": "error", "skipped": "skipped"}
"""State of a check -> the element that says so; of others there is none."""

_NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
"""Characters beside controls that XML has no place for."""


def write(document: Document) -> str:
    """Write a suite with a test for each check, and the report as plain text.

    Without a verdict, the choice is a test that is skipped: a test that passes would say that something was checked.
    """
    tests = [*([] if document.verdict else [_choice(document)]), *document.checks]
    counts = {name: sum(TAGS.get(test.state) == tag for test in tests) for name, tag in COUNTS.items()}
    numbers = {"tests": str(len(tests)), **{name: str(count) for name, count in counts.items()}, "time": "0"}
    headline = document.verdict or document.lead or document.title
    root = ElementTree.Element("testsuites", {"name": one_line(headline), **numbers})
    suite = ElementTree.SubElement(root, "testsuite", {"name": one_line(document.title), **numbers})
    for test in tests:
        _add_test(suite, test)
    ElementTree.SubElement(suite, "system-out").text = _text(terminal.write(document))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}
"""Attribute of a suite -> the element that it counts."""


def _choice(document: Document) -> Check:
    nothing = "nothing was checked: no model was named that the others are held to"
    return Check("", document.lead or document.title, "skipped", nothing)


def _add_test(suite: ElementTree.Element, test: Check) -> None:
    """Add a test; a text without a failure is its output."""
    attributes = {"classname": one_line(test.group) or SUITE, "name": one_line(test.name), "time": "0"}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    if tag := TAGS.get(test.state):
        reason = ElementTree.SubElement(case, tag, {"message": one_line(test.text)})
        reason.text = "\n".join(map(one_line, test.details)) or None
    elif test.text:
        allowed = " (allowed)" if test.state == "allowed" else ""
        ElementTree.SubElement(case, "system-out").text = one_line(f"{test.text}{allowed}")


def one_line(text: str) -> str:
    r"""Return a text in one line, with escapes for characters that XML has no place for.

    Example:
        >>> print(one_line("a\nb\x00"))
        a b\u0000
    """
    return " ".join(_text(text).split())


def _text(text: str) -> str:
    return _NO_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", visible(text))
