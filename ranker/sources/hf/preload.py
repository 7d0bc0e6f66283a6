"""Imports that a server of processes makes once for all of them, ahead of the first checkpoint."""

from contextlib import suppress

import transformers.convert_slow_tokenizer  # noqa: F401  # loading a tokenizer imports it

with suppress(ImportError):  # the first loading of weights makes this table of a thousand patterns
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping

    get_checkpoint_conversion_mapping("")  # type: ignore[no-untyped-call]
