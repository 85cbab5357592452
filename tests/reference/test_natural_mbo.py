"""The twin in natural coordinates against the reference solution of a real gait cycle, and against itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.naive import knee_results, knee_tables, mbo
from tests.naive.natural_coordinates import (
    SegmentParameters,
    axes,
    basis,
    coordinates_of_frame,
    distal,
    local_coordinates,
    mean_parameters,
    point_matrix,
    rigid_body_products,
    segment_frame,
)

Array = NDArray[np.floating]

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
METHODS = ("zero", "minimised", "prescribed")
NAMES_IN_JSON = {"zero": "dL0", "minimised": "dLmin", "prescribed": "dLtheta"}
# Sancisi et al. 2017, table 4: RMS difference in % for ACL, PCL, MCL, LCL (the LCL is free in zero).
TABLE_4 = {
    "zero": (1.7, 1.8, 0.05, np.nan),
    "minimised": (2.9, 0.7, 0.3, 2.1),
    "prescribed": (1.7, 1.1, 0.1, 0.9),
}


class Gait(NamedTuple):
    """The recorded cycle: Q from the skin markers (131, 48), markers (131, 14, 3) m, and its subject."""

    Q: Array
    measured: Array
    leg: mbo.Leg


@pytest.fixture(scope="module")
def gait() -> Gait:
    """Recorded gait cycle with the normals as printed, which is how the reference solution was computed."""
    path = SHARED / "data" / "gait_dumas" / "dumas_gait_bsd3.npz"
    if not path.exists():
        pytest.skip("the shared recordings are absent")
    data = np.load(path)
    Q = np.hstack([data[f"{segment}_Q"] for segment in mbo.SEGMENTS])
    markers = tuple(np.swapaxes(data[f"{segment}_rM"], 1, 2) for segment in mbo.SEGMENTS)
    leg = mbo.leg_from_measurements(Q, markers)._replace(normals=knee_tables.PRINTED_PLATEAU_NORMALS)
    return Gait(Q, np.concatenate(markers, axis=1), leg)


def read_reference(name: str) -> dict[str, Any]:
    """Return a JSON file of the reference folder, or skip."""
    path = SHARED / "reference" / name
    if not path.exists():
        pytest.skip("the shared reference solutions are absent")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    """Summary of the reference solution."""
    return read_reference("mbo_gait_dumas.json")


@pytest.fixture(scope="module")
def reference_arrays() -> dict[str, Array]:
    """Arrays of the reference solution."""
    path = SHARED / "reference" / "mbo_gait_dumas_solution.npz"
    if not path.exists():
        pytest.skip("the shared reference solutions are absent")
    return dict(np.load(path))


@pytest.fixture(scope="module")
def trials(gait: Gait) -> dict[str, mbo.Trial]:
    """The twin's own solution of the three methods."""
    zero = mbo.solve_zero(gait.leg, gait.Q, gait.measured)
    return {
        "zero": zero,
        "minimised": mbo.solve_minimised(gait.leg, zero.Q, gait.measured),
        "prescribed": mbo.solve_prescribed(gait.leg, zero.Q, gait.measured),
    }


def rotation_about(axis: int, angle_deg: float) -> Array:
    """Return the right-handed rotation (3, 3) about a coordinate axis."""
    c, s = np.cos(np.radians(angle_deg)), np.sin(np.radians(angle_deg))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def synthetic_leg() -> mbo.Leg:
    """Return an invented subject with oblique axes in every segment and four scattered markers on each."""
    degrees = (
        (0.15, 82.0, 101.0, 160.0),
        (0.42, 97.0, 96.0, 91.0),
        (0.41, 86.0, 91.0, 88.0),
        (0.14, 89.0, 92.0, 125.0),
    )
    parameters = tuple(SegmentParameters(d[0], *np.radians(d[1:])) for d in degrees)
    scatter = np.random.default_rng(3)
    centres = ((0.07, -0.03, 0.0), (0.02, -0.2, 0.03), (0.02, -0.25, 0.04), (0.02, -0.02, 0.0))
    markers = tuple(
        np.linalg.solve(basis(p), (np.array(c) + scatter.uniform(-0.09, 0.09, (4, 3))).T).T
        for p, c in zip(parameters, centres, strict=True)
    )
    return mbo.Leg(parameters, markers, hip=np.array([0.02, -0.97, 0.088]))


def posed(leg: mbo.Leg, flexion_deg: float, internal_deg: float = 0.0) -> Array:
    """Return Q (48,) on every constraint of `zero`: a rough pose, then minimum-norm corrections."""
    points = mbo.rigid_export(leg)
    R_pelvis = rotation_about(1, 12.0) @ rotation_about(0, 4.0)
    R_thigh = R_pelvis @ rotation_about(2, 25.0) @ rotation_about(0, -5.0)
    R_shank = R_thigh @ rotation_about(2, flexion_deg) @ rotation_about(1, internal_deg)
    hip = np.array([0.3, 0.95, 0.1])
    knee = hip + R_thigh @ (-points["thigh"].basis[:, 1])
    ankle = knee + R_shank @ points["shank"].points["ankle_centre"]
    origins = (ankle - R_shank @ points["foot"].points["ankle_centre"], knee, hip)
    frames = zip((R_shank, R_shank, R_thigh), origins, strict=True)
    placed = [(*frame,) for frame in frames] + [(R_pelvis, hip - R_pelvis @ points["pelvis"].points["hip"])]
    Q = np.concatenate(
        [coordinates_of_frame(p, R, o) for p, (R, o) in zip(leg.parameters, placed, strict=True)]
    )
    problem = mbo.isometric_problem(leg)
    for _ in range(50):
        error = np.concatenate([problem.linear @ Q, problem.hard.value(Q)])
        slope = np.vstack([problem.linear, problem.hard.jacobian(Q)])
        Q = Q - np.linalg.pinv(slope) @ error
    return Q


def random_problem() -> tuple[mbo.Problem, Array]:
    """Return a problem with soft ligaments and a Q (48,) well off its constraints."""
    leg = synthetic_leg()
    problem = mbo.deformable_problem(leg, knee_tables.neutral_lengths(), knee_tables.MINIMISED_WEIGHTS)
    return problem, posed(leg, -20.0) + np.random.default_rng(5).normal(0.0, 0.02, 48)


def test_neutral_lengths_are_those_of_table_1() -> None:
    """Protects eq. 1's d(0): distances of table 1 with femur and tibia superimposed."""
    expected = [0.040216, 0.043734, 0.129779, 0.057338]
    np.testing.assert_allclose(knee_tables.neutral_lengths(), expected, atol=5e-7)
    np.testing.assert_array_equal(knee_tables.experimental_lengths(0.0), knee_tables.neutral_lengths())


def test_plateau_normals_are_unit() -> None:
    """Protects the normalisation of table 1's printed normals."""
    for name, normal in knee_tables.PLATEAU_NORMALS.items():
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-15)
        assert np.linalg.norm(knee_tables.PRINTED_PLATEAU_NORMALS[name]) == pytest.approx(1.0, abs=4e-5)


def test_basis_holds_the_rigid_body_constants() -> None:
    """Protects eq. 15 against eq. 3: the columns of B have the lengths and angles of the segment."""
    for parameters in synthetic_leg().parameters:
        q = coordinates_of_frame(parameters, rotation_about(1, 33.0), np.array([1.0, 2.0, 3.0]))
        left, right, constant = rigid_body_products(parameters)
        np.testing.assert_allclose(np.einsum("ci,ci->c", left @ q, right @ q), constant, atol=1e-14)
        assert mean_parameters(q[np.newaxis]) == pytest.approx(parameters, abs=1e-14)


def test_local_coordinates_undo_the_interpolation() -> None:
    """Protects eq. 13 against the interpolation matrix: n -> N q -> n."""
    q = posed(synthetic_leg(), -20.0)[12:24]
    n = np.array([0.03, -0.6, 0.05])
    np.testing.assert_allclose(local_coordinates(q, point_matrix(n) @ q), n, atol=1e-14)


def test_constraint_jacobians_match_central_differences() -> None:
    """Protects the Jacobians of all products: exact for central differences, because they are quadratic."""
    problem, Q = random_problem()
    for products in (problem.hard, problem.soft):
        step = 1e-3
        columns = [
            (products.value(Q + step * e) - products.value(Q - step * e)) / (2 * step) for e in np.eye(48)
        ]
        np.testing.assert_allclose(products.jacobian(Q), np.array(columns).T, atol=1e-12)


def test_constraint_hessians_match_central_differences() -> None:
    """Protects the constant second derivatives of all products."""
    problem, Q = random_problem()
    for products in (problem.hard, problem.soft):
        step = 1e-2
        slabs = [
            (products.jacobian(Q + step * e) - products.jacobian(Q - step * e)) / (2 * step)
            for e in np.eye(48)
        ]
        np.testing.assert_allclose(products.hessian(), np.moveaxis(np.array(slabs), 0, 2), atol=1e-12)


def test_newton_matrix_matches_central_differences() -> None:
    """Protects the exact Jacobian of eqs 6 and 9, curvature terms of soft and hard constraints included."""
    problem, Q = random_problem()
    n_constraint = len(problem.linear) + len(problem.hard.constant)
    multipliers = np.random.default_rng(7).normal(size=n_constraint)
    measured = problem.markers @ Q + 0.01
    _, J = mbo.conditions(problem, Q, multipliers, measured)
    x, step = np.concatenate([Q, multipliers]), 1e-5

    def F(x: Array) -> Array:
        return mbo.conditions(problem, x[:48], x[48:], measured)[0]

    columns = [(F(x + step * e) - F(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    np.testing.assert_allclose(J, np.array(columns).T, atol=2e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("occluded", [(), (1, 6, 13)])
def test_synthetic_leg_is_recovered_from_exact_markers(method: str, occluded: tuple[int, ...]) -> None:
    """Protects the solver without any file: exact markers of a feasible pose give that pose back."""
    leg = synthetic_leg()
    Q = posed(leg, -60.0)
    if method == "zero":
        problem = mbo.isometric_problem(leg)
    else:
        weights = {"minimised": knee_tables.MINIMISED_WEIGHTS, "prescribed": knee_tables.PRESCRIBED_WEIGHTS}
        problem = mbo.deformable_problem(leg, knee_results.ligament_lengths(Q), weights[method])
    assert np.abs(problem.hard.value(Q)).max() < 1e-14
    measured = problem.markers @ Q
    measured[list(occluded)] = np.nan
    start = Q + np.random.default_rng(11).normal(0.0, 0.0005, 48)
    solution = mbo.solve_frame(problem, start, measured)
    assert solution.residual <= 1e-11
    assert solution.n_iteration <= 9
    np.testing.assert_allclose(solution.Q, Q, atol=1e-8)


def test_isometric_knee_has_a_second_worse_assembly() -> None:
    """Protects the warning in the twin: from more internal rotation, `zero` ends in another local minimum."""
    leg = synthetic_leg()
    problem = mbo.isometric_problem(leg)
    Q = posed(leg, -40.0)
    other = mbo.solve_frame(problem, posed(leg, -40.0, internal_deg=30.0), problem.markers @ Q)
    rotation = np.degrees(knee_results.knee_angles(other.Q)[2] - knee_results.knee_angles(Q)[2])
    assert other.residual <= 1e-11
    assert rotation > 5.0
    assert knee_results.marker_residuals(problem.markers, other.Q, problem.markers @ Q).max() > 0.001


def test_knee_results_of_a_known_pose() -> None:
    """Protects the order and the signs of the knee angles and of the oblique displacements."""
    parameters = synthetic_leg().parameters
    thigh = coordinates_of_frame(parameters[2], rotation_about(1, 20.0), np.array([0.1, 0.9, 0.2]))
    u, _, w = axes(thigh)
    y = np.cross(w, u) / np.linalg.norm(np.cross(w, u))
    R_thigh = np.column_stack([np.cross(y, w), y, w])
    R_shank = R_thigh @ rotation_about(2, -40.0) @ rotation_about(0, 6.0) @ rotation_about(1, 11.0)
    shank = coordinates_of_frame(parameters[1], R_shank, distal(thigh))
    e3 = axes(shank)[1] / parameters[1].length
    e2 = np.cross(e3, w) / np.linalg.norm(np.cross(e3, w))
    moved = 0.001 * w + 0.003 * e2 - 0.002 * e3
    shank[3:6] += moved
    shank[6:9] += moved
    Q = np.concatenate([np.zeros(12), shank, thigh, np.zeros(12)])
    np.testing.assert_allclose(np.degrees(knee_results.knee_angles(Q)), [-40.0, 6.0, 11.0], atol=1e-12)
    np.testing.assert_allclose(knee_results.knee_displacements(Q), [0.001, 0.003, -0.002], atol=1e-15)


def test_ligaments_and_contacts_agree_with_the_constraints() -> None:
    """Protects the results against the constraints: held lengths, contacts one radius from the condyles."""
    leg = synthetic_leg()
    Q = posed(leg, -25.0)
    held = list(knee_tables.MECHANISM_LENGTHS.values())
    np.testing.assert_allclose(knee_results.ligament_lengths(Q)[:3], held, atol=1e-13)
    N = mbo.point_matrices(leg)
    free = np.linalg.norm((N["thigh"]["LCL"] - N["shank"]["LCL"]) @ Q)
    assert knee_results.ligament_lengths(Q)[3] == pytest.approx(free, abs=1e-14)
    assert knee_results.ligament_lengthening(Q)[0] == pytest.approx(0.04053 / 0.040215896 - 1.0, abs=1e-8)
    femur, tibia = knee_results.knee_points(Q)
    for name, contact in zip(knee_tables.COMPARTMENTS, knee_results.contact_points(Q), strict=True):
        normal = knee_tables.PLATEAU_NORMALS[name]
        assert (contact - tibia[f"{name}_plateau"]) @ normal == pytest.approx(0.0, abs=1e-15)
        arm = femur[f"{name}_condyle"] - contact
        np.testing.assert_allclose(arm, knee_tables.CONDYLE_RADII[name] * normal, atol=1e-13)


def test_rigid_export_places_every_point_where_natural_coordinates_do() -> None:
    """Protects the export: rotation and origin of the segment with local coordinates give the same points."""
    leg = synthetic_leg()
    Q = posed(leg, -25.0)
    matrices = mbo.point_matrices(leg)
    markers = []
    for (name, rigid), q, parameters in zip(
        mbo.rigid_export(leg).items(), mbo.segments_of(Q), leg.parameters, strict=True
    ):
        R, origin = segment_frame(q)
        markers.append(origin + rigid.markers @ R.T)
        for point, local in rigid.points.items():
            np.testing.assert_allclose(origin + R @ local, matrices[name][point] @ Q, atol=1e-14)
        for normal in rigid.normals.values():
            assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(coordinates_of_frame(parameters, R, origin), q, atol=1e-14)
    np.testing.assert_allclose(np.vstack(markers), mbo.marker_matrices(leg) @ Q, atol=1e-14)


def test_ankle_numbers_are_those_of_the_reference() -> None:
    """Protects the ankle points, their translation and the isometric lengths against the shared file."""
    file = read_reference("ankle_mechanism.json")
    keys = {"ankle_centre": "V1_lateral_centre", "TiCaL": "V2_TiCaL_calcaneus", "CaFiL": "V3_CaFiL_calcaneus"}
    for name, key in keys.items():
        np.testing.assert_array_equal(knee_tables.FOOT_ANKLE_POINTS[name], file["foot"][key])
    for name, key in {"TiCaL": "V2_TiCaL_tibia", "CaFiL": "V3_CaFiL_fibula"}.items():
        np.testing.assert_array_equal(knee_tables.SHANK_ANKLE_POINTS[name], file["shank"][key])
    np.testing.assert_array_equal(knee_tables.ANKLE_TRANSLATION, file["translation_tG2D"])
    lengths = [file["lengths_mm"][name] for name in knee_tables.ANKLE_LIGAMENTS]
    np.testing.assert_allclose(1e3 * knee_tables.isometric_ankle_lengths(), lengths, atol=1e-10)


def test_subject_is_that_of_the_reference(gait: Gait, reference: dict[str, Any]) -> None:
    """Protects eq. 12 on real data: lengths and angles of the four segments."""
    for name, parameters, expected in zip(
        mbo.SEGMENTS, gait.leg.parameters, reference["segment"], strict=True
    ):
        assert expected["name"] == name
        assert parameters.length == pytest.approx(expected["L"], abs=1e-12)
        angles = [expected[f"{angle}_deg"] for angle in ("alpha", "beta", "gamma")]
        np.testing.assert_allclose(np.degrees(parameters[1:]), angles, atol=1e-10)


def test_neutral_and_mean_lengths_are_those_of_the_reference(
    trials: dict[str, mbo.Trial], reference: dict[str, Any]
) -> None:
    """Protects eqs 1 and 10: d(0), and the targets of `minimised`."""
    neutral = [reference["neutral_lengths_mm"][name] for name in knee_tables.LIGAMENTS]
    mean = [reference["exp_mean_lengths_mm"][name] for name in knee_tables.LIGAMENTS]
    np.testing.assert_allclose(1e3 * knee_tables.neutral_lengths(), neutral, atol=1e-10)
    np.testing.assert_allclose(1e3 * trials["minimised"].targets[0], mean, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_every_frame_converges(method: str, trials: dict[str, mbo.Trial]) -> None:
    """Protects quadratic convergence: |F| <= 1e-11 in at most nine Newton steps, in all frames."""
    assert trials[method].residual.max() <= 1e-11
    assert trials[method].n_iteration.max() <= 9


@pytest.mark.parametrize("method", METHODS)
def test_solution_is_that_of_the_reference(
    method: str, trials: dict[str, mbo.Trial], reference_arrays: dict[str, Array]
) -> None:
    """Protects the optimum itself over all 131 frames: Q, knee angles, ligament lengths."""
    Q = trials[method].Q
    angles_deg = np.degrees([knee_results.knee_angles(Q_k) for Q_k in Q])
    lengths_mm = 1e3 * np.array([knee_results.ligament_lengths(Q_k) for Q_k in Q])
    np.testing.assert_allclose(Q, reference_arrays[f"{method}_Q"], rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(angles_deg, reference_arrays[f"{method}_angles_deg"], rtol=0.0, atol=1e-3)
    np.testing.assert_allclose(lengths_mm, reference_arrays[f"{method}_lengths_mm"], rtol=0.0, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_marker_rms_is_that_of_the_reference(
    method: str, gait: Gait, trials: dict[str, mbo.Trial], reference: dict[str, Any]
) -> None:
    """Protects the marker residuals: root mean square over all frames and markers."""
    N = mbo.marker_matrices(gait.leg)
    pairs = zip(trials[method].Q, gait.measured, strict=True)
    distances = np.array([knee_results.marker_residuals(N, Q, r) for Q, r in pairs])
    expected_mm = reference["methods"][NAMES_IN_JSON[method]]["marker_rms_mm"]
    assert 1e3 * np.sqrt(np.mean(distances**2)) == pytest.approx(expected_mm, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_lengthening_is_of_the_order_of_table_4(
    method: str, trials: dict[str, mbo.Trial], reference: dict[str, Any]
) -> None:
    """Protects the RMS lengthening in %: the reference's for this subject, within a factor 5 of table 4."""
    lengths = np.array([knee_results.ligament_lengths(Q) for Q in trials[method].Q])
    difference = lengths - knee_results.experimental_lengths(trials["zero"].Q)
    percent = 100.0 * np.sqrt(np.mean(difference**2, axis=0)) / knee_tables.neutral_lengths()
    expected = reference["methods"][NAMES_IN_JSON[method]]["rms_pct_vs_experimental"]
    np.testing.assert_allclose(percent, [expected[name] for name in knee_tables.LIGAMENTS], atol=1e-5)
    ratio = percent / np.array(TABLE_4[method])
    assert np.nanmax(np.maximum(ratio, 1.0 / ratio)) < 5.0


def test_unit_normals_move_the_optimum_by_a_known_amount(gait: Gait, trials: dict[str, mbo.Trial]) -> None:
    """Protects the reading of the reference: it kept the printed normals (1 um), which `zero` feels most."""
    some = slice(0, 131, 13)
    unit = gait.leg._replace(normals=knee_tables.PLATEAU_NORMALS)
    Q_zero, measured = trials["zero"].Q[some], gait.measured[some]
    zero = mbo.solve_zero(unit, gait.Q[some], measured)
    prescribed = mbo.solve_deformable(
        unit, Q_zero, measured, trials["prescribed"].targets[some], knee_tables.PRESCRIBED_WEIGHTS
    )
    assert 1e-4 < np.abs(zero.Q - Q_zero).max() < 3e-3
    assert np.abs(prescribed.Q - trials["prescribed"].Q[some]).max() < 2e-4
