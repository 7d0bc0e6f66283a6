"""Quadrature rules on [0, 1], each with a larger rule that contains its places.

So a function that was evaluated at a rule's places needs only the places that the larger rule adds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from factors.types import Floats


class Rule(NamedTuple):
    """Quadrature rule: the integral of f from 0 to 1 is about sum_i weights_i f(places_i).

    Attributes:
        places: (N,) between 0 and 1.
        weights: (N,) which add up to 1.
    """

    places: Floats
    weights: Floats

    @property
    def size(self) -> int:
        """N."""
        return len(self.places)


@lru_cache
def nested_rules(name: str, size: int) -> tuple[Rule, Rule]:
    """Return a rule, and the larger one whose first places are those of the rule.

    Args:
        name: "gausslegendre", whose larger rule is Kronrod's, one place more between each two and at both ends; or
            "riemann_middle", the middles of equal parts, whose larger rule has those of thirds of them.
        size: places of the smaller rule, 1 or more.

    Example:
        >>> small, large = nested_rules("riemann_middle", 1)
        >>> small.places.tolist(), large.places.round(3).tolist()
        ([0.5], [0.5, 0.167, 0.833])

    Source: Kronrod 1965, "Nodes and Weights of Quadrature Formulas"; Monegato 1978, "Some Remarks on the Construction
        of Extended Gaussian Quadrature Rules", for the polynomial whose roots are added.
    """
    if name == "riemann_middle":
        places = (np.arange(size) + 0.5) / size
        thirds = np.concatenate([places, places - 1 / (3 * size), places + 1 / (3 * size)])
        return Rule(places, np.full(size, 1 / size)), Rule(thirds, np.full(3 * size, 1 / (3 * size)))
    gauss, weights = legendre.leggauss(size)
    places = np.concatenate([gauss, stieltjes_roots(size)])
    # weights under which P_0, P_1 ... have their integrals over [-1, 1]: 2, 0, 0 ...
    larger = np.linalg.solve(legendre.legvander(places, 2 * size).T, 2.0 * (np.arange(2 * size + 1) == 0))
    return Rule((gauss + 1) / 2, weights / 2), Rule((places + 1) / 2, larger / 2)


def stieltjes_roots(size: int) -> Floats:
    """Return (N + 1,) places that Kronrod adds to the N Gauss places on [-1, 1]: the roots of Stieltjes' polynomial.

    It is the polynomial E of degree N + 1 for which P_N E is orthogonal to all of degree N or less.

    Example:
        >>> stieltjes_roots(1).round(6).tolist()  # sqrt(3/5): Kronrod's rule of three places is Gauss's
        [-0.774597, 0.774597]
    """
    x, weights = legendre.leggauss(2 * size + 2)  # exact to the degree of P_N E P_k
    values = legendre.legvander(x, size + 1)  # (X, N + 2) of P_0 ... P_(N + 1)
    products = (values[:, : size + 1] * (weights * values[:, size])[:, None]).T @ values  # of P_k and P_N P_j
    coefficients = np.linalg.lstsq(products[:, :-1], -products[:, -1], rcond=None)[0]
    return np.sort(legendre.legroots([*coefficients, 1.0]).real)
