"""The kernel of the marker input against its slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.markers.marker_intake import FARTHEST, take_in

Array = NDArray[np.float64]
N_MARKER = 7
N_FIRST, N_LAST = 2, 3
GROUP = np.array([1, 1, 0, 0, -1, -1, -1], np.int64)


def naive_take_in(
    positions: Array, source: NDArray[np.int64], scale: float, z_up: bool, mirror: bool
) -> tuple[Array, float, float, float, int]:
    """Reorder, scale, turn, mirror; then the line between the middles of both ends."""
    received = np.array([positions[row] if row >= 0 else np.full(3, np.nan) for row in source]) * scale
    received[(received == 0.0).all(axis=1)] = np.nan
    far = (np.abs(received) > FARTHEST).any(axis=1)
    received[far] = np.nan
    if z_up:
        x, y, z = received.T
        received = np.stack([x, z, -y], axis=1)
    seen = np.isfinite(received).all(axis=1)
    top = received[:N_FIRST][seen[:N_FIRST]]
    low = received[-N_LAST:][seen[-N_LAST:]]
    line = top.mean(axis=0) - low.mean(axis=0) if len(top) and len(low) else np.full(3, np.nan)
    out = received * np.array([1.0, 1.0, -1.0 if mirror else 1.0])
    return out, float(np.linalg.norm(line)), float(line[1]), float(line[2]), int(far.sum())


coordinates = st.one_of(
    st.floats(-2000.0, 2000.0),
    st.just(math.nan),
    st.just(0.0),
    st.sampled_from([1e-9, -5.0, 1e12, -1e13, 1e308, math.inf]),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    rows=st.lists(st.tuples(coordinates, coordinates, coordinates), min_size=N_MARKER, max_size=N_MARKER + 3),
    order=st.permutations(range(N_MARKER)),
    missing=st.sets(st.integers(0, N_MARKER - 1)),
    scale=st.sampled_from([1.0, 0.01, 0.001]),
    z_up=st.booleans(),
    mirror=st.booleans(),
)
def test_the_kernel_is_its_twin(rows, order, missing, scale, z_up, mirror):
    """Protects the first step of every frame: order, missing markers, unit, axes, side and gaps."""
    positions = np.array(rows)
    source = np.array([-1 if m in missing else order[m] for m in range(N_MARKER)], np.int64)
    out = np.full((N_MARKER, 3), 7.0)
    line = take_in(positions, source, scale, int(z_up), int(mirror), GROUP, out)
    expected, *expected_line = naive_take_in(positions, source, scale, z_up, mirror)
    np.testing.assert_allclose(out, expected, rtol=1e-14, atol=0.0)
    np.testing.assert_allclose(line, expected_line, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 0.01, 0.001])
def test_turning_is_a_proper_rotation(scale):
    """Protects right and left: Z up becomes Y up by a rotation about X, not by swapping two axes."""
    positions = np.eye(3) / scale
    out = np.zeros((3, 3))
    take_in(positions, np.arange(3), scale, 1, 0, np.array([1, 0, -1]), out)
    np.testing.assert_allclose(out, [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]], atol=1e-15)
    assert np.linalg.det(out) == pytest.approx(1.0)


def test_nothing_of_the_former_frame_remains():
    """Protects against silent old values: a marker that the stream lacks is NaN whatever was there."""
    out = np.ones((3, 3))
    *line, _ = take_in(np.zeros((0, 3)), np.full(3, -1), 1.0, 0, 0, np.array([1, 0, -1]), out)
    assert np.isnan(out).all()
    assert np.isnan(line).all()
