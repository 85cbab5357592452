"""Shapes of peak pressure: the same footprint is alike however it lies, another one is less so."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.pressure.pressure_trial import PressureTrial
from rtsim.methods.foot.footprint import likeness

Array = NDArray[np.floating]
EDGE = 0.008


def print_of(spots: list[tuple[float, float, float]]) -> Array:
    """Return peak pressure (34, 16) of round spots: along, across [m], radius [m]."""
    rows, columns = np.meshgrid(EDGE * np.arange(34), EDGE * np.arange(16), indexing="ij")
    felt = np.zeros(rows.shape)
    for x, y, r in spots:
        felt = np.maximum(felt, 2e5 * np.exp(-(((rows - x) ** 2 + (columns - y) ** 2) / r**2)))
    return felt


FOOT = [(0.04, 0.06, 0.025), (0.19, 0.05, 0.03), (0.24, 0.03, 0.012)]


def recorded(felt: Array) -> PressureTrial:
    """Return a picture of peaks."""
    return PressureTrial(np.zeros(1), 0.0, np.array([EDGE, EDGE]), felt[None], np.zeros(2), True, "a print")


@pytest.mark.parametrize("mirrored", [1.0, -1.0])
def test_the_same_print_is_alike_wherever_it_lies(mirrored):
    """Protects the comparison from place, direction and side."""
    felt = print_of(FOOT)
    rows, columns = np.meshgrid(EDGE * np.arange(34), EDGE * np.arange(16), indexing="ij")
    cells = np.stack([rows.ravel(), mirrored * columns.ravel()], axis=1)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert likeness(cells @ turn.T + [1.0, 2.0], felt.ravel(), recorded(felt)) > 0.98


def test_another_print_is_less_alike():
    """Protects that a shape without a forefoot is seen to be another."""
    felt = print_of(FOOT)
    rows, columns = np.meshgrid(EDGE * np.arange(34), EDGE * np.arange(16), indexing="ij")
    cells = np.stack([rows.ravel(), columns.ravel()], axis=1)
    assert likeness(cells, print_of([(0.13, 0.06, 0.02)]).ravel(), recorded(felt)) < 0.6


def test_an_empty_print_is_refused():
    """Protects the sentence for a picture in which nothing is pressed."""
    with pytest.raises(ConfigError, match="the pressure is 0 in all cells"):
        likeness(np.zeros((4, 2)), np.zeros(4), recorded(print_of(FOOT)))
