"""Noise on every sum of `factors` and `ranker`, as another processor would round it.

Python imports this module by its name when it starts, where its folder is in `PYTHONPATH`. An operator of arrays cannot
be replaced, so the modules of the two packages are compiled with a call of `noisy` in place of each `@`, of each method
or function of numpy in `SUMS`, and of each built-in `sum`.

The noise is relative to what was added up: where numbers cancel, some 1e-16 are left. It is drawn with a seed of what
was added up, since a processor rounds the same numbers in the same way. Sums of whole numbers have none: they are exact
on every processor. Nor have sums in single precision, which 1e-16 does not change.
"""

from __future__ import annotations

import ast
import builtins
import operator
import sys
import zlib
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

import numpy as np

PACKAGES = ("factors", "ranker")

SUMS = (
    *("average", "bincount", "cumsum", "dot", "einsum", "inner", "matmul", "mean"),
    *("nanmean", "nansum", "reduceat", "sum", "tensordot", "trace", "vdot"),
)
"""Names of functions that add up products, so that the same of sizes bounds what rounding may change."""

MEANS = ("average", "mean", "nanmean")
"""Those of them that divide."""

OWNERS = (np, np.add, operator, builtins)
"""Where they are, beside arrays."""

ROUNDING = 2.0**-52
"""Most that a sum is off by, in units of the sum of sizes: 2e-16."""


def noisy(owner: object, name: str, *arguments: object, **options: object) -> object:
    """Call a function of its owner; return the result with noise if it is a sum in double precision."""
    if owner is builtins:
        arguments = ([*arguments[0]], *arguments[1:])  # a generator can be read once
    output = getattr(owner, name)(*arguments, **options)
    if not isinstance(owner, np.ndarray) and owner not in OWNERS:
        return output
    if not isinstance(output, (float, np.ndarray)) or np.asarray(output).dtype != np.float64:
        return output
    numbers = _arrays([owner, *arguments])
    if name not in MEANS and all((array % 1 == 0).all() for array in numbers):
        return output
    size = getattr(_sizes(owner), name)(*map(_sizes, arguments), **{key: _sizes(options[key]) for key in options})
    size = np.where(np.isfinite(size), size, 0.0)
    rng = np.random.default_rng([zlib.crc32(array) for array in numbers])
    moved = output + ROUNDING * size * rng.uniform(-1, 1, np.shape(output))
    return moved if isinstance(output, (np.ndarray, np.float64)) else float(moved)


def _sizes(value: object) -> object:
    """Return floating-point numbers without their signs; all else as it is."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_sizes, value))
    is_float = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
    return np.abs(value) if is_float else value


def _arrays(values: Iterable[object]) -> list[np.ndarray]:
    """Return the numbers among values."""
    arrays = (np.ascontiguousarray(value) for value in values if isinstance(value, (np.ndarray, list)))
    return [array for array in arrays if array.dtype.kind in "biuf"]


class _Noise(ast.NodeTransformer):
    """Put a call of `noisy` in place of a sum."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        return _call(node, _module("operator"), "matmul", [node.left, node.right], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in SUMS:
            return _call(node, node.func.value, node.func.attr, node.args, node.keywords)
        if isinstance(node.func, ast.Name) and node.func.id == "sum":
            return _call(node, _module("builtins"), "sum", node.args, node.keywords)
        return node


def _module(name: str) -> ast.expr:
    """Return an expression that is a module of the standard library."""
    return ast.parse(f"__import__({name!r})", mode="eval").body


def _call(node: ast.AST, owner: ast.expr, name: str, args: Sequence[ast.expr], keywords: list[ast.keyword]) -> ast.AST:
    """Return a call of `noisy` in the place of a node."""
    function = ast.Attribute(_module("sitecustomize"), "noisy", ast.Load())
    return ast.copy_location(ast.Call(function, [owner, ast.Constant(name), *args], keywords), node)


class Loader(SourceFileLoader):
    """Loader of modules whose sums have noise; reads no compiled file, and writes none."""

    def get_code(self, fullname: str):  # type: ignore[no-untyped-def]
        """Compile the module."""
        tree = ast.fix_missing_locations(_Noise().visit(ast.parse(self.get_data(self.path), self.path)))
        return compile(tree, self.path, "exec", dont_inherit=True)


class Finder:
    """Finder of the modules of `PACKAGES`."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Find the module as usual, and give it the loader."""
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, Finder)
