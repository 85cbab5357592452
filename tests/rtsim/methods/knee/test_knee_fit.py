"""Identification of a knee: surfaces, fibres, eq. 1, the adjustment, and what tells no knee."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.methods.knee.bounded_least_squares import least_squares_within
from rtsim.methods.knee.isometric_fibres import least_varying, length_polynomials
from rtsim.methods.knee.knee_adjustment import (
    N_PARAMETER,
    KneeProblem,
    changed,
    nearest_where_found,
    parameter_names,
)
from rtsim.methods.knee.knee_fit import check_motion, fit_knee
from rtsim.methods.knee.knee_geometry import LIGAMENTS, KneeGeometry, knee_geometry_of
from rtsim.methods.knee.knee_mechanism import moved_along
from rtsim.methods.knee.knee_poses import KneePoses
from rtsim.methods.knee.made_up_anatomy import anatomy_of, measured_motion
from rtsim.methods.knee.surface_fits import fit_plane, fit_sphere
from rtsim.models.load import load_model
from tests.naive import knee_mechanism, knee_tables


@pytest.fixture(scope="module")
def geometry() -> KneeGeometry:
    """Of the shipped model."""
    return knee_geometry_of(load_model("lower_limb"))


@pytest.fixture(scope="module")
def motion(geometry: KneeGeometry) -> KneePoses:
    """Of the mechanism, 41 poses to 100 degrees."""
    return moved_along(geometry, np.radians(np.linspace(0.0, 100.0, 41)))


def test_a_sphere_and_a_plane_are_found() -> None:
    """Protects the surfaces: exact points give sphere and plane, the normal on the side of the femur."""
    rng = np.random.default_rng(2)
    down = rng.normal(size=(30, 3)) * 0.3 - [0.0, 1.0, 0.0]
    down /= np.linalg.norm(down, axis=1)[:, None]
    sphere = fit_sphere([0.01, 0.002, -0.02] + 0.03 * down, "condyles.medial")
    np.testing.assert_allclose(sphere.centre, [0.01, 0.002, -0.02], atol=1e-13)
    assert sphere.radius == pytest.approx(0.03, abs=1e-13)
    normal = np.array([0.1, 0.9, -0.2]) / np.linalg.norm([0.1, 0.9, -0.2])
    flat = rng.normal(size=(20, 3))
    flat -= (flat @ normal)[:, None] * normal
    plane = fit_plane([0.0, -0.03, 0.01] + 0.01 * flat, sphere.centre, "plateaus.medial")
    np.testing.assert_allclose(plane.normal, normal, atol=1e-13)
    assert plane.misfit < 1e-15


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.eye(3), "3 points are too few to determine a sphere"),
        (np.array([[x, y, 0.0] for x in range(3) for y in range(3)], float), "in a plane"),
    ],
)
def test_points_without_a_sphere_are_told(points: np.ndarray, words: str) -> None:
    """Protects users from a sphere out of nothing."""
    with pytest.raises(ConfigError, match=words):
        fit_sphere(points, "condyles.medial")


def test_points_on_a_line_are_told() -> None:
    """Protects users from a plane out of a line."""
    with pytest.raises(ConfigError, match="on a line"):
        fit_plane(np.outer(np.arange(5.0), [1.0, 2.0, 3.0]), np.zeros(3), "plateaus.medial")


def test_the_steadiest_pair_is_the_twins(geometry: KneeGeometry, motion: KneePoses) -> None:
    """Protects fibres: trying every pair one by one chooses the same."""
    anatomy = anatomy_of(geometry, np.random.default_rng(8), 0.0002)
    origins, insertions = anatomy.origins["PCL"][:7], anatomy.insertions["PCL"][:9]
    found = least_varying(origins, insertions, motion)
    i, j = knee_mechanism.steadiest_pair(origins, insertions, motion.rotations, motion.places)
    np.testing.assert_array_equal(found.origin, origins[i])
    np.testing.assert_array_equal(found.insertion, insertions[j])


def test_coefficients_of_eq_1_come_back() -> None:
    """Protects eq. 1: lengths that follow table 2 give its coefficients, of all four ligaments."""
    extension = -np.linspace(0.0, 90.0, 61)
    lengths = np.array([knee_tables.experimental_lengths(float(theta)) for theta in extension])
    neutral = knee_tables.neutral_lengths()
    found = length_polynomials(extension, lengths, neutral)
    again = (1.0 + extension[:, None] ** np.arange(1, 8) @ found.T) * neutral
    np.testing.assert_allclose(again, lengths, atol=1e-13)
    printed = [one.length.polynomial for one in load_model("lower_limb").ligaments[:4]]
    np.testing.assert_allclose(found, printed, rtol=1e-6)
    with pytest.raises(
        ConfigError, match="4 different flexion angles are too few for polynomials of 7 coefficients"
    ):
        length_polynomials(extension[:5], lengths[:5], neutral)


def test_slopes_of_the_adjustment(geometry: KneeGeometry, motion: KneePoses) -> None:
    """Protects the least squares: derivatives by all 35 changes, of motion, surfaces and ties."""
    rng = np.random.default_rng(5)
    anatomy, measured = anatomy_of(geometry, rng, 0.0005), measured_motion(motion, rng, 0.0005)
    problem = KneeProblem(measured, anatomy, geometry, nearest_where_found(geometry, measured))
    problem.linearise(geometry)
    problem.tied(np.ones(N_PARAMETER), np.zeros(N_PARAMETER))
    x = rng.normal(size=N_PARAMETER)
    columns = [
        (problem.residuals(x + 1e-5 * e) - problem.residuals(x - 1e-5 * e)) / 2e-5
        for e in np.eye(N_PARAMETER)
    ]
    np.testing.assert_allclose(problem.slopes(x), np.stack(columns, axis=1), atol=5e-6)
    assert len(parameter_names()) == N_PARAMETER
    np.testing.assert_allclose(changed(geometry, np.zeros(N_PARAMETER)).origins, geometry.origins)


def test_least_squares_stay_within_bounds() -> None:
    """Protects bounds: a valley that ends outside is followed to the bound, and to its least point there."""
    A = np.array([[1.0, 1.0], [1e-4, -1e-4]])
    target = A @ [3.0, -2.0]
    bound = np.array([1.0, 5.0])
    found = least_squares_within(lambda x: A @ x - target, lambda x: A, np.zeros(2), bound, 50)
    assert found[0] == pytest.approx(1.0)
    assert found[1] == pytest.approx(0.0, abs=1e-5)


def test_the_geometry_is_recovered(geometry: KneeGeometry, motion: KneePoses) -> None:
    """Protects the identification: from motion and points without errors every part comes back, though no
    area holds the true end of a fibre; nothing lies at a bound."""
    anatomy = anatomy_of(geometry, np.random.default_rng(1), 0.0)
    fit = fit_knee(motion, anatomy, geometry)
    assert fit.bounded == ()
    assert fit.misfits[1] < 1e-9
    for name in ("condyles", "radii", "normals", "lengths"):
        np.testing.assert_allclose(getattr(fit.geometry, name), getattr(geometry, name), atol=5e-8)
    np.testing.assert_allclose(fit.geometry.origins[:3], geometry.origins[:3], atol=5e-8)
    np.testing.assert_allclose(fit.geometry.insertions[:3], geometry.insertions[:3], atol=5e-8)
    assert np.abs(fit.preliminary.origins - geometry.origins).max() > 1e-3
    assert [fit.means[k] for k in range(3)] == pytest.approx(geometry.lengths.tolist(), abs=5e-8)
    assert LIGAMENTS[3] == "LCL"
    assert any(np.array_equal(fit.geometry.origins[3], point) for point in anatomy.origins["LCL"])


def test_errors_of_half_a_millimetre_keep_the_motion(geometry: KneeGeometry, motion: KneePoses) -> None:
    """Protects the ties: with errors the mechanism follows the motion to about these errors, and what
    surfaces tell stays right."""
    rng = np.random.default_rng(1)
    anatomy, measured = anatomy_of(geometry, rng, 0.0005), measured_motion(motion, rng, 0.0005)
    fit = fit_knee(measured, anatomy, geometry)
    assert fit.deviation < 0.0006
    np.testing.assert_allclose(fit.geometry.condyles, geometry.condyles, atol=0.0006)
    np.testing.assert_allclose(fit.geometry.radii, geometry.radii, atol=0.0006)


def test_a_motion_that_tells_no_knee_is_refused(motion: KneePoses) -> None:
    """Protects users from a knee out of a few poses or a leg that hardly bends."""
    with pytest.raises(ConfigError, match="5 poses are too few to fit a knee"):
        check_motion(motion.chosen(slice(0, 5)))
    with pytest.raises(ConfigError, match=r"bends by only 0\.0 degrees"):
        check_motion(motion.chosen(np.zeros(30, np.int64)))
