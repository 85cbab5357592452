"""Received markers into the model's order, unit, axes and side."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.markers.marker_intake import take_in

Array = NDArray[np.floating]

# As received: five markers in millimetres, Z up, in another order and with one that the model lacks.
SOURCE = np.array([3, 1, -1, 0, 4], np.int64)
GROUP = np.array([1, 1, 0, 0, -1], np.int64)


def received() -> Array:
    """Return positions (5, 3) as received."""
    return np.random.default_rng(100).uniform(-900.0, 900.0, (5, 3))


def taken(positions: Array, z_up: int = 0, mirror: int = 0) -> tuple[tuple[float, float, float], Array]:
    """Return the line between last (one marker) and first segment (two), and the markers (5, 3) m."""
    x = np.full((5, 3), 7.0)
    *line, n_far = take_in(positions, SOURCE, 1e-3, z_up, mirror, GROUP, x)
    assert n_far == 0
    return tuple(line), x


def test_order_and_unit() -> None:
    """Protects the assignment of rows to markers; a marker that is not in the stream is NaN."""
    positions = received()
    _, x = taken(positions)
    np.testing.assert_allclose(x[[0, 1, 3, 4]], 1e-3 * positions[[3, 1, 0, 4]], rtol=1e-15)
    assert np.isnan(x[2]).all()


@pytest.mark.parametrize("mirror", [0, 1])
@pytest.mark.parametrize("z_up", [0, 1])
def test_axes_and_side(z_up: int, mirror: int) -> None:
    """Protects the turn from Z up to Y up, which keeps hands, and the mirror, which changes them."""
    positions = received()
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]) if z_up else np.eye(3)
    side = np.diag([1.0, 1.0, -1.0]) if mirror else np.eye(3)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    _, x = taken(positions, z_up, mirror)
    np.testing.assert_allclose(x[[0, 1, 3, 4]], 1e-3 * positions[[3, 1, 0, 4]] @ (side @ turn).T, rtol=1e-14)


def test_exact_zeros_are_not_seen() -> None:
    """Protects from systems that send 0, 0, 0 for a hidden marker; a single zero is a coordinate."""
    positions = received()
    positions[3], positions[1, 0] = 0.0, 0.0
    _, x = taken(positions)
    assert np.isnan(x[0]).all()
    assert x[1, 0] == 0.0
    np.testing.assert_allclose(x[1], 1e-3 * positions[1])


@pytest.mark.parametrize("number", [9999.0, -9999.0, 9_999_999.0])
def test_numbers_that_stand_for_not_seen(number: float) -> None:
    """Protects from systems that send 9999999 for a hidden marker; as one coordinate it is where it is."""
    positions = received()
    positions[3], positions[1, :2] = number, number
    _, x = taken(positions)
    assert np.isnan(x[0]).all()
    np.testing.assert_allclose(x[1], 1e-3 * positions[1])


@pytest.mark.parametrize("mirror", [0, 1])
def test_line_from_last_to_first_segment(mirror: int) -> None:
    """Protects the numbers that tell a wrong unit or axis: between means of visible markers."""
    positions = received()
    positions[1] = np.nan
    (length, rise, sideways), _ = taken(positions, 0, mirror)
    # the other marker of the first segment is hidden; one in the middle takes no part
    line = 1e-3 * (positions[3] - positions[4])
    np.testing.assert_allclose([length, rise, sideways], [np.linalg.norm(line), line[1], line[2]], rtol=1e-12)


@pytest.mark.parametrize("hidden", [(3, 1), (4,)])
def test_line_without_an_end_is_nan(hidden: tuple[int, ...]) -> None:
    """Protects frames in which one of the two segments is not visible at all."""
    positions = received()
    positions[list(hidden)] = np.nan
    assert np.isnan(taken(positions)[0]).all()


def test_line_between_means_of_several_markers() -> None:
    """Protects the numbers that tell a wrong unit: all visible markers of both segments count, no others; one
    with a single coordinate missing is not visible.
    """
    positions = np.random.default_rng(101).uniform(-900.0, 900.0, (8, 3))
    source, x = np.arange(8), np.empty((8, 3))
    first, last = [0, 1, 2], [5, 6, 7]
    expected = 1e-3 * (positions[first].mean(axis=0) - positions[last].mean(axis=0))
    for hidden in range(-1, 3):
        if hidden >= 0:
            positions[[1, 6], hidden] = np.nan
            expected = 1e-3 * (positions[[0, 2]].mean(axis=0) - positions[[5, 7]].mean(axis=0))
        *line, n_far = take_in(positions, source, 1e-3, 0, 0, np.array([1, 1, 1, 0, 0, -1, -1, -1]), x)
        assert n_far == 0
        np.testing.assert_allclose(line, [np.linalg.norm(expected), *expected[1:]], rtol=1e-12)
        positions[[1, 6]] = 300.0
