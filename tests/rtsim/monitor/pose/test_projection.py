"""The camera: what it must keep whatever way it looks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtsim.monitor.pose.projection import SPAN_LIMITS, VIEWS, Camera, View, floor_grid

WIDTH, HEIGHT = 400.0, 500.0
angles = st.floats(-180.0, 180.0)
elevations = st.floats(-90.0, 90.0)
lengths = st.floats(-5.0, 5.0)
points = st.tuples(lengths, lengths, lengths).map(np.array)


def camera_at(azimuth: float, elevation: float, perspective: bool = False) -> Camera:
    camera = Camera()
    camera.look(View(azimuth, elevation, perspective))
    return camera


@given(angles, elevations)
def test_basis_is_a_rotation(azimuth: float, elevation: float) -> None:
    """Protects the picture from being sheared or mirrored: a knee must not become its mirror image."""
    basis = camera_at(azimuth, elevation).basis()
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(basis) == pytest.approx(1.0)


@given(angles, elevations, points, st.booleans())
def test_target_is_in_the_middle(
    azimuth: float, elevation: float, target: np.ndarray, perspective: bool
) -> None:
    """Protects the following of the pelvis: the target is in the middle of every view."""
    camera = camera_at(azimuth, elevation, perspective)
    camera.target[:] = target
    pixels = camera.project(target[None, :], WIDTH, HEIGHT)
    np.testing.assert_allclose(pixels, [[WIDTH / 2, HEIGHT / 2, 0.0]], atol=1e-9)


@given(angles, elevations, points, points)
def test_orthographic_view_keeps_lengths_in_space(
    azimuth: float, elevation: float, a: np.ndarray, b: np.ndarray
) -> None:
    """Protects the scale: pixels and depth together give the true distance of two points."""
    camera = camera_at(azimuth, elevation)
    scale = camera.pixels_per_metre(WIDTH, HEIGHT)
    d = np.subtract(*camera.project(np.array([a, b]), WIDTH, HEIGHT))
    assert np.hypot(np.hypot(d[0], d[1]) / scale, d[2]) == pytest.approx(np.linalg.norm(a - b), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "right", "up"),
    [
        ("Sagittal", (1, 0, 0), (0, 1, 0)),
        ("Frontal", (0, 0, -1), (0, 1, 0)),
        ("Transverse", (1, 0, 0), (0, 0, -1)),
    ],
)
def test_named_views_look_along_the_anatomical_axes(
    name: str, right: tuple[int, int, int], up: tuple[int, int, int]
) -> None:
    """Protects the meaning of the buttons, with X forward, Y up and Z to the right of the subject."""
    camera = Camera()
    camera.look(VIEWS[name])
    np.testing.assert_allclose(camera.basis()[:2], [right, up], atol=1e-12)


def test_perspective_enlarges_what_is_near() -> None:
    """Protects the impression of depth: the nearer of two equal rods looks longer."""
    camera = camera_at(0.0, 0.0, perspective=True)
    rods = camera.target + np.array([[0.0, 0.0, 0.5], [0.0, 0.2, 0.5], [0.0, 0.0, -0.5], [0.0, 0.2, -0.5]])
    y = camera.project(rods, WIDTH, HEIGHT)[:, 1]
    assert y[0] - y[1] > 1.1 * (y[2] - y[3])


@given(st.lists(points, min_size=1, max_size=8), angles, elevations)
def test_perspective_never_turns_points_over(
    places: list[np.ndarray], azimuth: float, elevation: float
) -> None:
    """Protects against points behind the eye: they stay finite and on their own side of the middle."""
    camera = camera_at(azimuth, elevation, perspective=True)
    flat = camera_at(azimuth, elevation)
    camera.zoom(0.1)
    flat.zoom(0.1)
    seen = camera.project(np.array(places), WIDTH, HEIGHT)[:, :2] - [WIDTH / 2, HEIGHT / 2]
    true = flat.project(np.array(places), WIDTH, HEIGHT)[:, :2] - [WIDTH / 2, HEIGHT / 2]
    assert np.isfinite(seen).all()
    assert (seen * true >= -1e-9).all()


def test_unknown_positions_stay_unknown() -> None:
    """Protects occluded markers from being drawn somewhere."""
    pixels = Camera().project(np.array([[np.nan, 1.0, 0.0], [0.0, 1.0, 0.0]]), WIDTH, HEIGHT)
    assert np.isnan(pixels[0]).all()
    assert np.isfinite(pixels[1]).all()


@given(st.lists(st.tuples(st.floats(-400, 400), st.floats(-400, 400)), max_size=20))
def test_turning_keeps_the_angles_in_range(turns: list[tuple[float, float]]) -> None:
    """Protects the orbit: the eye goes round and round, but never over the pole."""
    camera = Camera()
    for d_azimuth, d_elevation in turns:
        camera.orbit(d_azimuth, d_elevation)
        assert -180.0 <= camera.azimuth < 180.0
        assert -90.0 <= camera.elevation <= 90.0


@given(st.lists(st.floats(0.01, 100.0), max_size=20))
def test_zoom_has_limits(factors: list[float]) -> None:
    """Protects the wheel: the figure can neither vanish nor be lost inside a joint."""
    camera = Camera()
    for factor in factors:
        camera.zoom(factor)
        assert SPAN_LIMITS[0] <= camera.span <= SPAN_LIMITS[1]


@given(points)
def test_floor_grid_stands_on_the_ground(centre: np.ndarray) -> None:
    """Protects the sense of walking: lines lie on whole steps of the ground, around the centre."""
    step = 0.25
    grid = floor_grid(centre, 1.5, step)
    assert (grid[:, 1] == 0.0).all()
    np.testing.assert_allclose(grid[:, [0, 2]] / step, np.round(grid[:, [0, 2]] / step), atol=1e-9)
    assert np.abs(grid[:, [0, 2]].mean(axis=0) - centre[[0, 2]]).max() <= step / 2 + 1e-9
