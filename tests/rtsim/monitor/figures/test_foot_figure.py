"""The figure of a fitted foot: its views are of one and the same foot."""

from __future__ import annotations

import numpy as np

from rtsim.monitor.figures.foot_figure import VIEWS, FootFigureContent, edges_of, pressed, seen


def test_the_foot_from_above_is_the_foot_of_the_maps() -> None:
    """Protects from a mirror image: from above, forward to the right, medial of a left foot is downwards, as
    the maps, forward upwards, have it to the right.
    """
    step = np.diag([0.04, 0.09, 0.01])
    step[0, 1] = step[1, 0] = 0.02
    one = FootFigureContent(
        "", (), np.array([[0.01, 0.2, -0.02]]), step[None], ("ball",), {}, np.zeros((0, 2)), np.zeros(0)
    )
    centre, form = seen(one, VIEWS["from above"])
    map_to_view = np.array([[0.0, 1.0], [-1.0, 0.0]])  # a quarter turn to the right, no reflection
    assert np.linalg.det(map_to_view) == 1.0
    np.testing.assert_allclose(centre[0], map_to_view @ one.centres[0, :2])
    np.testing.assert_allclose(form[0], map_to_view @ step[:2, :2] @ map_to_view.T)
    side, _ = seen(one, VIEWS["from the side"])
    np.testing.assert_allclose(side[0], [0.2, -0.02])


def test_cells_of_a_mat_that_is_turned_touch() -> None:
    """Protects the maps of a mat that was laid by its centre of pressure: cells are as large as they lie."""
    grid = np.stack(np.meshgrid(0.005 * np.arange(12), 0.008 * np.arange(20)), axis=-1).reshape(-1, 2)
    turn = np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    for cells in (grid, grid @ turn.T):
        edges = edges_of(cells)
        np.testing.assert_allclose(np.linalg.norm(edges, axis=1), [0.005, 0.008])
        assert abs(edges[0] @ edges[1]) < 1e-12


def test_maps_are_as_large_as_the_foot() -> None:
    """Protects the maps of a large mat: what is drawn is where the foot presses, faint cells aside."""
    cells = np.stack(np.meshgrid(0.01 * np.arange(60), 0.01 * np.arange(80)), axis=-1).reshape(-1, 2)
    felt = np.full((2, len(cells)), 1e-3)
    foot = (np.abs(cells - [0.2, 0.4]) < [0.045, 0.125]).all(axis=1)
    felt[1, foot] = 1.0
    blank = np.zeros(0)
    one = FootFigureContent(
        "", (), blank, blank, (), {"measured": felt, "simulated": np.zeros((0, 0))}, cells, blank
    )
    low, high = pressed(one)
    np.testing.assert_allclose([low, high], [[0.15, 0.27], [0.25, 0.53]])
    none = pressed(one._replace(maps={"measured": 0.0 * felt}))
    np.testing.assert_allclose(none, [[-0.01, -0.01], [0.6, 0.8]])
