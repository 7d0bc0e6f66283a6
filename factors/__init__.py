"""What is measured on one example: the types, the registry, and the factors that come with the product."""

from factors import baselines, general, marked, single
from factors.registry import Factor, factor, factors_in
from factors.types import Attributions, Example, Span

BUILTIN = factors_in(baselines, general, single, marked)
"""Every factor that comes with the product, by name, in the order of the tables."""

__all__ = ["BUILTIN", "Attributions", "Example", "Factor", "Span", "factor", "factors_in"]
