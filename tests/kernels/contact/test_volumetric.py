"""Geometry of the volumetric contact: closed forms, slices, known figures, and how the thesis' form errs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tests.naive import volumetric
from tests.naive.random_models import unit_rows

Array = NDArray[np.floating]

CASES = [(seed, d) for seed, d in enumerate((1e-4, 0.05, 0.3, 0.7, 1.0, 1.6, 1.99, 2.0))]
# Brown (2017), table 5.6: radii [mm] and the turns about x, y', z'' of the ellipsoids of a foot [rad].
FOOT = {
    "heel": ((35.4, 54.0, 22.6), (0.329, 0.201, 0.101)),
    "ball": ((63.2, 33.8, 24.0), (-0.235, 0.191, 0.528)),
    "toe": ((18.2, 18.6, 13.2), (0.339, 1.23, 0.454)),
}


def random_ellipsoid(seed: int) -> tuple[Array, Array]:
    """Return radii (3,) from 1 to 6 and an oblique normal (3,)."""
    rng = np.random.default_rng([seed, 61])
    return rng.uniform(1.0, 6.0, 3), unit_rows(rng, 1)[0]


def difference(found: Array, expected: Array) -> float:
    """Return the difference of two matrices relative to the second."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize(("seed", "d"), CASES)
def test_closed_forms_are_sums_over_slices(seed: int, d: float) -> None:
    """Protects volume, centroid and second moment against integration without any closed form."""
    radii, n = random_ellipsoid(seed)
    found, expected = volumetric.patch(radii, n, d), volumetric.patch_by_slices(radii, n, d)
    assert found.volume == pytest.approx(expected.volume, rel=1e-10)
    h = volumetric.height(radii, n)
    np.testing.assert_allclose(found.centroid, expected.centroid, rtol=0.0, atol=1e-10 * h)
    assert difference(found.second, expected.second) < 1e-9
    assert np.linalg.norm(found.second @ n) < 1e-12 * np.linalg.norm(found.second)


def test_swallowed_ellipsoid_is_whole() -> None:
    """Protects the end of the range: all the volume, its centroid the centre."""
    radii, n = random_ellipsoid(9)
    whole = volumetric.patch(radii, n, 2.0)
    assert whole.volume == pytest.approx(4.0 / 3.0 * np.pi * np.prod(radii), rel=1e-14)
    assert np.linalg.norm(whole.centroid) < 1e-15
    P = np.eye(3) - np.outer(n, n)
    assert difference(whole.second, whole.volume / 5.0 * P @ np.diag(radii**2) @ P) < 1e-14


def test_depth_is_measured_along_the_normal() -> None:
    """Protects d for any point of the plane: 0 where the plane touches, growing by 1/h per length."""
    radii, n = random_ellipsoid(3)
    h, (u, w) = volumetric.height(radii, n), volumetric.plane_axes(n)
    for d in (-0.4, 0.0, 0.7, 2.0):
        p = -(1.0 - d) * h * n + 3.0 * u - 2.0 * w
        assert volumetric.depth(radii, n, p) == pytest.approx(d, abs=1e-14)


def test_thesis_form_is_exact_for_spheres_and_upright_ellipsoids() -> None:
    """Protects the comparison: the two forms are one where they must be."""
    radii, n = random_ellipsoid(4)
    for d in (0.1, 0.8, 1.7):
        for r, normal in ((np.full(3, 2.0), n), *((radii, axis) for axis in np.eye(3))):
            exact = volumetric.patch(r, normal, d).J
            assert difference(volumetric.thesis_J(r, normal, d), exact) < 1e-14


@pytest.mark.parametrize(
    ("radii", "n", "deep", "volume", "centroid", "principal", "error"),
    [
        (
            (35.4, 54.0, 22.6),
            (-0.24666617456316428, -0.4102270442977376, 0.8779917826797222),
            5.0,
            3341.9784218616574,
            (8.90801402776596, 34.472801385399755, -12.923260514908382),
            (181521.05785463, 305766.19950375, 487287.25735838),
            0.009591124247219052,
        ),
        (
            (63.2, 33.8, 24.0),
            (0.5161591363065723, 0.4783932399146169, 0.71043624204516),
            8.0,
            5954.431043363357,
            (-44.538260597603575, -11.806846338994983, -8.840219900879934),
            (302784.65430074, 727229.25650443, 1030013.91080517),
            0.018848920002553393,
        ),
        (
            (35.4, 54.0, 22.6),
            (0.0, -0.5, np.sqrt(0.75)),
            10.0,
            10984.657648588161,
            (0.0, 35.102018485744395, -10.649324887453616),
            (1205566.4099481218, 1343051.0718069708, 2548617.4817550927),
            0.024740435417159312,
        ),
    ],
)
def test_published_ellipsoids(
    radii: tuple[float, ...],
    n: tuple[float, ...],
    deep: float,
    volume: float,
    centroid: tuple[float, ...],
    principal: tuple[float, ...],
    error: float,
) -> None:
    """Protects figures of the thesis' own ellipsoids [mm], from an independent integration over columns.

    The last one is by how much eqs 5.36-5.37 miss the second moment.
    """
    r, normal = np.array(radii), np.array(n)
    d = deep / volumetric.height(r, normal)
    found = volumetric.patch(r, normal, d)
    assert found.volume == pytest.approx(volume, rel=1e-12)
    np.testing.assert_allclose(found.centroid, centroid, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.linalg.eigvalsh(found.J), principal, rtol=1e-12)
    assert difference(volumetric.thesis_J(r, normal, d), found.J) == pytest.approx(error, rel=1e-10)


def test_reference_checks(shared: Path) -> None:
    """Protects all reference ellipsoids: volume, centroid, both forms of J, Monte Carlo within scatter."""
    rows = json.loads((shared / "reference" / "ellipsoid_plane_checks.json").read_text())
    assert len(rows) >= 7
    for row in rows:
        radii, n, d = np.array(row["abc"]), np.array(row["nE"]), row["d"]
        found, thesis = volumetric.patch(radii, n, d), volumetric.thesis_J(radii, n, d)
        assert d == pytest.approx(row["depth"] / volumetric.height(radii, n), rel=1e-12)
        assert found.volume == pytest.approx(row["V_formula"], rel=1e-12)
        np.testing.assert_allclose(found.centroid, row["centroid_formula"], rtol=1e-11, atol=1e-11)
        for J, expected in ((found.J, "J_flat_exact"), (thesis, "J_thesis")):
            principal = np.linalg.eigvalsh(row[expected])
            np.testing.assert_allclose(np.linalg.eigvalsh(J), principal, rtol=1e-11)
        scatter = 5.0 / np.sqrt(row["n"])
        assert found.volume == pytest.approx(row["V_mc"], rel=scatter)
        assert np.trace(found.J) == pytest.approx(np.trace(row["J_flat_mc"]), rel=scatter)


def test_reference_errors_of_the_thesis_form(shared: Path) -> None:
    """Protects the measured error of eqs 5.36-5.37 over the foot's ellipsoids, pitches and depths."""
    with (shared / "reference" / "ellipsoid_plane_thesis_vs_exact.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 60
    worst = 0.0
    for row in rows:
        radii, angles = FOOT[row["ellipsoid"]]
        axes = Rotation.from_euler("XYZ", angles).as_matrix()
        up = Rotation.from_euler("x", -float(row["pitch_deg"]), degrees=True).as_matrix()[:, 2]
        r, n = np.array(radii), axes.T @ up
        d = float(row["depth_mm"]) / volumetric.height(r, n)
        exact, thesis = volumetric.patch(r, n, d).J, volumetric.thesis_J(r, n, d)
        assert d == pytest.approx(float(row["d"]), rel=1e-12)
        error = float(row["relF_thesis_vs_exact_flat"])
        assert difference(thesis, exact) == pytest.approx(error, rel=1e-8)
        assert n @ thesis @ n / (n @ exact @ n) - 1.0 == pytest.approx(float(row["Jn_rel_err"]), rel=1e-8)
        worst = max(worst, error)
    assert 0.02 < worst < 0.04


@pytest.mark.parametrize("seed", range(3))
def test_force_at_the_centroid_is_the_gradient_of_the_energy(seed: int) -> None:
    """Protects place and size of the normal force: its work on any small motion is energy lost."""
    radii, n = random_ellipsoid(seed)
    k_V, step, h, d = 7.0, 1e-5, volumetric.height(radii, n), 0.5 + 0.5 * seed
    found = volumetric.patch(radii, n, d)

    def energy(shift: float, turn: Array) -> float:
        """Return the energy with the plane moved by the opposite of the ellipsoid's motion."""
        turned = Rotation.from_rotvec(-turn).apply(n)
        p = Rotation.from_rotvec(-turn).apply(-(1.0 - d) * h * n) - shift * turned
        return volumetric.energy(k_V, radii, turned, volumetric.depth(radii, turned, p))

    push = (energy(-step, np.zeros(3)) - energy(step, np.zeros(3))) / (2.0 * step)
    assert push == pytest.approx(k_V * found.volume, rel=1e-8)
    moment = [(energy(0.0, -step * axis) - energy(0.0, step * axis)) / (2.0 * step) for axis in np.eye(3)]
    expected = k_V * found.volume * np.cross(found.centroid, n)
    np.testing.assert_allclose(moment, expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())


def test_forces_have_the_signs_of_dissipation() -> None:
    """Protects eqs 5.44-5.50 with their errata: no pull, torques against the turning, units of a torque."""
    radii, n = random_ellipsoid(5)
    found = volumetric.patch(radii, n, 0.6)
    pushes = [volumetric.normal_force(3.0, 0.5, found.volume, v_n) for v_n in (-1.0, 0.0, 1.0, 5.0)]
    assert pushes[0] > pushes[1] > pushes[2] > pushes[3] == 0.0
    w_t = np.cross(n, (0.3, -0.2, 0.9))
    assert volumetric.rolling_torque(3.0, 0.5, found.J, w_t) @ w_t < 0.0
    r_g = volumetric.gyration(found.J, found.volume, n)
    # twice as large an ellipsoid under the same force takes twice the torque
    larger = volumetric.patch(2.0 * radii, n, 0.6)
    assert volumetric.gyration(larger.J, larger.volume, n) == pytest.approx(2.0 * r_g)
    np.testing.assert_allclose(volumetric.spinning_torque(4.0, r_g, n), -4.0 * r_g * n)
