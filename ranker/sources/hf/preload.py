"""Imported by a server of processes, once for all of them: what the first checkpoint of a process would have to do."""

from contextlib import suppress

import transformers.convert_slow_tokenizer  # noqa: F401  # loading a tokenizer imports it

with suppress(ImportError):  # a table of a thousand patterns, which is made where weights are first loaded
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping

    get_checkpoint_conversion_mapping("")  # type: ignore[no-untyped-call]
