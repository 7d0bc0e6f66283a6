"""Colours of figures and pages, as the colour-blind see them."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from ranker import report
from ranker.report import figures

STYLE = (Path(report.__file__).parent / "style.css").read_text(encoding="utf-8")

SIGHT = {
    "full": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""What each kind of sight makes of linear RGB: Machado, Oliveira and Fernandes 2009, severity 1."""

CLEARLY = 10.0
"""Distance in CIELAB of two colours that differ clearly; 2.3 is just noticeable."""


def cielab(rgb, sight="full"):
    """The CIELAB coordinates of an sRGB colour, 0 to 255, as a kind of sight sees it; white is D65."""
    shares = np.asarray(rgb) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = to_xyz @ np.clip(SIGHT[sight] @ linear, 0, 1) / (0.95047, 1, 1.08883)
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(first, second, sight):
    """The distance of two colours to a kind of sight."""
    return np.linalg.norm(cielab(first, sight) - cielab(second, sight))


def of_hex(colour):
    """Red, green and blue of a colour like #0072b2."""
    return [int(colour[n : n + 2], 16) for n in (1, 3, 5)]


def test_coordinates_are_those_of_cielab():
    """White and pure red have the coordinates that tables give for sRGB."""
    assert cielab((255, 255, 255)) == pytest.approx((100, 0, 0), abs=0.01)
    assert cielab((255, 0, 0)) == pytest.approx((53.24, 80.09, 67.20), abs=0.01)


@pytest.mark.parametrize("sight", SIGHT)
def test_the_colours_of_figures_differ_for_every_sight(sight):
    """Any two of the colours of lines and of kinds of methods are clearly apart."""
    colours = [figures.INK, figures.SOFT, figures.BLUE, figures.VERMILION, figures.GREEN, figures.PURPLE]
    assert {line["color"] for line in figures.LINES} | {*figures.KINDS.values()} <= {*colours}
    for first, second in combinations(map(of_hex, colours), 2):
        assert distance(first, second, sight) >= CLEARLY, (first, second)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_for_and_against_differ_for_every_sight(scheme, sight):
    """The two sides of the scale are clearly apart from the weakest shade on, and each shade from the paper."""
    first, dark = STYLE.split("@media screen and (prefers-color-scheme: dark)")
    inks = dict(re.findall(r"--([a-z]+): ([^;]+);", first if scheme == "light" else dark.split("* {")[0]))
    for_it, against = ([int(part) for part in inks[side].split()] for side in ("for", "against"))
    paper = {"#fff": [255, 255, 255]}.get(inks["paper"]) or of_hex(inks["paper"])
    for share in (0.12, 0.24, 0.36, 0.48, 0.6):
        mixed = [share * np.array(side) + (1 - share) * np.array(paper) for side in (for_it, against)]
        assert distance(*mixed, sight) >= CLEARLY
        assert min(distance(side, paper, sight) for side in mixed) >= CLEARLY / 3
