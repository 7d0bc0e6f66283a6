"""Options of checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.sources.options import option


@dataclass(frozen=True)
class CheckpointOptions:
    """Options of all checkpoints of a run.

    Attributes:
        null_answers: question answering heads may answer that a passage has no answer, where the score of that is above
            the score of every span. For models trained on rows without an answer, such as those of SQuAD 2.

    Example:
        >>> from ranker import SourceOptions
        >>> SourceOptions(kinds=[CheckpointOptions(null_answers=True)]).of(CheckpointOptions).null_answers
        True
    """

    null_answers: bool = option(
        False,
        "Let question answering checkpoints answer that a passage has no answer; for models trained on such rows, as "
        "SQuAD 2 has.",
    )
