"""Panels of results: how many curves they have, and bands that would hide them."""

from __future__ import annotations

import numpy as np

from rtsim.files.panels import MANY, MOST_CURVES, largest_of, with_bands


def test_of_many_curves_the_largest_are_drawn_in_their_order() -> None:
    """Protects figures of models with fifty muscles from legends without end."""
    curves = {f"muscle {k}": np.array([0.0, np.nan, 0.01 * (k % 7) + 0.001 * k]) for k in range(MANY + 8)}
    drawn = largest_of(curves)
    assert len(drawn) == MOST_CURVES
    assert list(drawn) == [name for name in curves if name in drawn]
    least = min(np.nanmax(y) for y in drawn.values())
    assert all(np.nanmax(y) <= least for name, y in curves.items() if name not in drawn)
    few = dict(list(curves.items())[:MANY])
    assert largest_of(few) == few


def test_a_band_wider_than_the_panel_is_a_word() -> None:
    """Protects curves from the band of what nothing determines; others keep theirs."""
    curves = {"protrusion": np.array([0.0, 3.0, 6.0]), "disc": np.zeros(3), "still": np.full(3, np.nan)}
    bands = {"protrusion": np.full(3, 0.5), "disc": np.full(3, 1000.0), "still": np.full(3, np.nan)}
    told, drawn = with_bands(curves, bands)
    assert list(told) == ["protrusion", "disc (not determined)", "still"]
    assert drawn is not None
    assert list(drawn) == ["protrusion", "still"]
    assert with_bands(curves, {}) == (curves, None)
