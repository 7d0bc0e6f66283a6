"""Options of models behind a server, beside those of language models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ranker.errors import UsageError
from ranker.sources.lm.options import LMOptions
from ranker.sources.options import Heading, option

API_KEY = "OPENAI_API_KEY"
"""Environment variable with the key of a server, unless another is named."""


@dataclass(frozen=True)
class EndpointOptions(LMOptions):
    """Options of models behind servers: those of language models (see `LMOptions`), and these.

    Attributes:
        send_texts: allow texts to be sent to servers on other machines.
        api_key_env: environment variables with keys, each a NAME, or HOST=NAME where models are at several hosts. ()
            takes OPENAI_API_KEY.
        max_requests: most requests of a run to all servers, retries included; 0 for no limit.
        max_tokens: most tokens of all requests and answers of a run; 0 for no limit.
        concurrency: requests at a time.
        request_timeout: seconds to wait for a server.
        prices: TOML file with prices of models, for dry runs and for what answers cost; "" for none.
        refetch: ask everything anew, although answers are stored.

    Raises:
        UsageError: a number below its minimum, or a malformed name of a variable.

    Example:
        >>> EndpointOptions(max_requests=500).concurrency
        8
    """

    heading: ClassVar[str] = Heading.SERVERS

    send_texts: bool = option(
        False, "Allow texts to be sent to servers on other machines. Without it only this machine's are asked."
    )
    api_key_env: tuple[str, ...] = option(
        (),
        "Environment variable with the key of a server; HOST=NAME for one of several hosts. Repeat for several.  "
        f"[default: {API_KEY}]",
        metavar="NAME",
    )
    max_requests: int = option(
        0, "Most requests of the run to all servers, retries included.  [default: no limit]", metavar="N", type=int
    )
    max_tokens: int = option(
        0,
        "Most tokens of the run in all requests and answers.  [default: no limit]",
        name="token-budget",
        metavar="N",
        type=int,
    )
    concurrency: int = option(8, "Requests to servers at a time.", metavar="N")
    request_timeout: float = option(60.0, "Seconds to wait for an answer of a server.", metavar="SECONDS")
    prices: str = option(
        "",
        "Prices of models by their tokens, in logs and behind servers, and of hours for `--dry-run`: a TOML file, see "
        "docs/costs.md.",
        metavar="FILE",
        of_run=True,
    )
    refetch: bool = option(False, "Ask servers everything anew, although their answers are stored.")

    def __post_init__(self) -> None:
        super().__post_init__()
        least = {"max_requests": 0, "max_tokens": 0, "concurrency": 1}
        for name, minimum in least.items():
            if getattr(self, name) < minimum:
                raise UsageError.about(name, f"must be at least {minimum} (got {getattr(self, name)})")
        if not 0 < self.request_timeout < float("inf"):
            raise UsageError.about("request_timeout", f"must be above 0 (got {self.request_timeout:g})")
        for text in self.api_key_env:
            if not _host_and_name(text)[1].isidentifier():
                predicate = "must name an environment variable, NAME or HOST=NAME, and not hold the key itself"
                raise UsageError.about("api_key_env", predicate)

    @property
    def budgeted(self) -> bool:
        """True if the number of requests or tokens is limited."""
        return bool(self.max_requests or self.max_tokens)

    def key_name(self, host: str, alone: bool) -> str:
        """Return the environment variable with the key of a host; "" where none is named for it.

        Args:
            host: with its port, as the URL has it.
            alone: no other host is asked in the run, so that a name without a host is this one's.
        """
        names = list(map(_host_and_name, self.api_key_env))
        host_names = [name for named_host, name in names if named_host == host]
        plain = [name for named_host, name in names if not named_host] or [API_KEY]
        return host_names[0] if host_names else plain[0] if alone else ""


def _host_and_name(text: str) -> tuple[str, str]:
    """Return the host, "" for any, and the name of a variable in a value of `api_key_env`."""
    host, _, name = text.rpartition("=")
    return host, name
