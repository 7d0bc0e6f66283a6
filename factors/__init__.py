"""Factors, which measure one example: types, registry, and the built-in factors."""

from factors import baselines, general, marked, rationales, single
from factors.registry import Factor, factor, factors_in
from factors.types import Attributions, Example, Span

BUILTIN = factors_in(baselines, general, single, marked, rationales)
"""Built-in factors, by name, in the order of the tables."""

__all__ = ["BUILTIN", "Attributions", "Example", "Factor", "Span", "factor", "factors_in"]
