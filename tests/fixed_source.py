"""A black box for tests."""

from dataclasses import dataclass
from typing import Any

from ranker.sources.texts import TextSource


@dataclass(frozen=True)
class FixedSource(TextSource):
    """A black box that gives every text one answer, or raises it."""

    names: tuple[str, ...] = ("non-entailment", "entailment")
    answer: Any = (0.2, 0.8)

    def labels(self):
        """Labels in the order of the answer."""
        return self.names

    def content(self):
        """All are one model."""
        return "1"

    def probabilities(self, texts):
        """The answer for each text."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return [self.answer] * len(texts)
