"""Moment arms about anatomical joint angles: differences, mechanisms solved again, and laws, on the leg."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.compiler.jit import hold
from kernels.joints.tree import new_pose, pose
from kernels.path.angles import LOCKED, OK, UNDETERMINED
from kernels.path.joint_arms import FOLLOWS, YIELD, joint_moment_arms, new_joint_leverage_work, soft_rows
from kernels.path.muscle_path import POINT_INSIDE, new_path_work, wraps_in_closed_form
from kernels.path.stations import WRAP
from kernels.path.surfaces import ELLIPSOID
from kernels.solver.constraints import HARD, SOFT
from tests.kernels import leg
from tests.kernels.path.muscled_leg import (
    angles_at,
    arms_at,
    heavier,
    leg_by,
    moved_by_joint,
    rows_at,
    swing,
    values_at,
    weights,
)
from tests.naive import differences
from tests.naive.tree import integrate, state

Array = NDArray[np.floating]

KNEE = ("knee_flexion", "knee_adduction", "knee_internal_rotation")
# of the knee alone, whose soft elements belong to it and to nothing else
SOFT_KNEE = ("minimised", "prescribed")


@pytest.mark.parametrize("method", leg.METHODS)
def test_gradients_are_the_differences_of_the_published_angles(method: str) -> None:
    """Protects the meaning of the angles: the rows are their slopes along each dof."""
    of = leg_by(method)
    for q in (swing(of), swing(of, 2.9)):
        expected = differences.first_derivative(lambda x, of=of: angles_at(of, x), of.leverage.tree, q)
        np.testing.assert_allclose(arms_at(of, q).gradient, expected, atol=1e-8)


@pytest.mark.parametrize("method", leg.METHODS)
def test_couplings_keep_the_hard_elements_and_turn_the_angle_at_unit_rate(method: str) -> None:
    """Protects C: G C = 0 and g . C = 1 for every angle that exists; other joints stay at rest."""
    of = leg_by(method)
    q = swing(of)
    found, G = arms_at(of, q), rows_at(of, q, HARD)
    for a, name in enumerate(of.model.names.joint_angles):
        if found.status[a] != OK:
            continue
        C = found.coupling[a]
        np.testing.assert_allclose(G @ C, 0.0, atol=1e-9)
        assert found.gradient[a] @ C == pytest.approx(1.0, abs=1e-9)
        own = of.dofs({"hip": "thigh", "knee": "shank", "ankle": "foot"}[name.split("_")[0]])
        np.testing.assert_allclose(np.delete(C, own), 0.0, atol=1e-12)


@pytest.mark.parametrize("method", leg.METHODS)
def test_arms_are_the_change_of_length_along_the_coupled_motion(method: str) -> None:
    """Protects r = -dl/dtheta, wraps included: lengths after small steps along C."""
    of, step = leg_by(method), 1e-5
    q = swing(of)
    found, tree = arms_at(of, q), of.leverage.tree
    assert (found.status == OK).sum() >= 5
    for a in np.flatnonzero(found.status == OK):
        there, back = (arms_at(of, integrate(tree, q, s * step * found.coupling[a])) for s in (1.0, -1.0))
        expected = -(there.lengths - back.lengths) / (2.0 * step)
        np.testing.assert_allclose(found.arms[:, a], expected, atol=1e-8)


@pytest.mark.parametrize("k", range(3))
def test_an_angle_of_an_unconstrained_joint_turns_alone(k: int) -> None:
    """Protects the hip: the motion of each angle is the rotation about its own axis, the two others stay."""
    of = leg_by("zero")
    q = swing(of)
    C = arms_at(of, q).coupling[k]
    step = 1e-5
    there, back = (angles_at(of, integrate(of.leverage.tree, q, s * step * C)) for s in (1.0, -1.0))
    np.testing.assert_allclose((there - back) / (2.0 * step), np.eye(len(there))[k], atol=1e-8)
    if k == 0:  # about e1, the pelvis's own axis: any step, not only a small one
        far = angles_at(of, integrate(of.leverage.tree, q, 0.4 * C))
        np.testing.assert_allclose(far - angles_at(of, q), 0.4 * np.eye(len(far))[0], atol=1e-12)


def test_knee_flexion_of_zero_follows_the_mechanism() -> None:
    """Protects arms of a joint with one freedom: constraints solved again at theta +- h, lengths there."""
    of, h = leg_by("zero"), 1e-4
    q = swing(of)
    a, before, start = of.angle("knee_flexion"), values_at(of, q, HARD), angles_at(of, q)
    lengths = []
    for turn in (h, -h):

        def goal(x: Array, turn: float = turn) -> Array:
            return np.append(values_at(of, x, HARD) - before, angles_at(of, x)[a] - start[a] - turn)

        lengths.append(arms_at(of, moved_by_joint(of, q, "shank", goal)).lengths)
    found = arms_at(of, q)
    np.testing.assert_allclose(found.arms[:, a], -(lengths[0] - lengths[1]) / (2.0 * h), atol=1e-8)
    crossing = [of.muscles.index(name) for name in ("vasti", "rectus_femoris", "hamstrings", "gastrocnemius")]
    assert (np.abs(found.arms[crossing, a]) > 0.005).all()


@pytest.mark.parametrize("method", SOFT_KNEE)
def test_soft_elements_are_those_of_a_dense_solution(method: str) -> None:
    """Protects soft rows: least |u - u0|^2 + sum w (G u)^2 / YIELD, one system in NumPy."""
    of = leg_by(method)
    q = swing(of)
    found, G, soft = arms_at(of, q), rows_at(of, q, HARD), rows_at(of, q, SOFT)
    for a in (of.angle("knee_flexion"), of.angle("knee_internal_rotation")):
        g = found.gradient[a]
        # the rotation about the angle's own axis alone: holds the two others, and the joint's centre
        joint = slice(3 * (a // 3), 3 * (a // 3) + 3)
        turning = of.dofs("shank")[3:]
        alone = np.zeros(of.n_v)
        alone[turning] = np.linalg.inv(found.gradient[joint][:, turning])[:, a % 3]
        H = np.eye(of.n_v) + (soft.T * weights(of)) @ soft / YIELD
        rows = np.vstack([G, g])
        n = len(rows)
        K = np.block([[H, rows.T], [rows, np.zeros((n, n))]])
        right = np.concatenate([alone, np.zeros(n - 1), [1.0]])
        u = np.linalg.solve(K, right)[: of.n_v]
        np.testing.assert_allclose(found.coupling[a], u, atol=1e-6)


@pytest.mark.parametrize("method", SOFT_KNEE)
def test_soft_ligaments_give_as_little_as_they_can(method: str) -> None:
    """Protects the meaning of soft rows: the ligaments' least cost at theta +- h, by steps."""
    of, h = leg_by(method), 1e-4
    q = swing(of)
    a, own, tree = of.angle("knee_flexion"), of.dofs("shank"), of.leverage.tree
    hard, soft, start = values_at(of, q, HARD), values_at(of, q, SOFT), angles_at(of, q)
    lengths = []
    for turn in (h, -h):
        x = q
        for _ in range(4):  # Gauss-Newton with exact constraints: the residuals are small
            phi = np.append(values_at(of, x, HARD) - hard, angles_at(of, x)[a] - start[a] - turn)
            rows = np.vstack([rows_at(of, x, HARD), arms_at(of, x).gradient[a]])[:, own]
            J, gap = rows_at(of, x, SOFT)[:, own], values_at(of, x, SOFT) - soft
            H = (J.T * weights(of)) @ J
            n = len(rows)
            K = np.block([[H, rows.T], [rows, np.zeros((n, n))]])
            step = np.linalg.lstsq(K, -np.append(J.T @ (weights(of) * gap), phi), rcond=1e-14)[0]
            delta = np.zeros(of.n_v)
            delta[own] = step[: len(own)]
            x = integrate(tree, x, delta)
        lengths.append(arms_at(of, x).lengths)
    expected = -(lengths[0] - lengths[1]) / (2.0 * h)
    # what YIELD gives the angle: 0.2 mm at the shipped weights, a hundredth of it at hundredfold ones
    for more, off in ((1.0, 2e-4), (100.0, 2e-6)):
        np.testing.assert_allclose(arms_at(heavier(of, more), q).arms[:, a], expected, atol=off)


def test_a_hinge_has_one_angle() -> None:
    """Protects angles that the joint does not have: NaN, and the hinge's own angle is its coordinate."""
    of = leg_by("hinge")
    q = swing(of)
    found, a = arms_at(of, q), of.angle("knee_flexion")
    for name in KNEE[1:]:
        assert np.isnan(found.arms[:, of.angle(name)]).all()
    dof = of.dofs("shank")[0]
    step = 1e-5 * np.eye(of.n_v)[dof]
    there, back = (arms_at(of, integrate(of.leverage.tree, q, s * step)).lengths for s in (1.0, -1.0))
    np.testing.assert_allclose(np.abs(found.arms[:, a]), np.abs(there - back) / 2e-5, atol=1e-8)


@pytest.mark.parametrize("method", leg.METHODS)
def test_an_angle_that_follows_is_left_out(method: str) -> None:
    """Protects readers from arms of metres: an angle counts where half of the joint's rotation is its own."""
    of = leg_by(method)
    tree, q = of.leverage.tree, swing(of)
    found = arms_at(of, q)
    placed = new_pose(len(tree.parent), of.n_v)
    pose(tree, q, placed)
    for a, body in enumerate(np.repeat(of.model.joints.distal, 3)):
        own = np.flatnonzero(tree.dof_body == body)
        speed = np.linalg.norm(found.coupling[a, own] @ placed.twist[own, :3])
        assert (found.status[a] == OK) == (speed <= FOLLOWS), of.model.names.joint_angles[a]
        assert np.isnan(found.arms[:, a]).all() == (found.status[a] != OK)
    # the ankle has one freedom, mostly dorsiflexion
    ankle = [found.status[of.angle(f"ankle_{name}")] for name in ("dorsiflexion", "inversion")]
    assert ankle == [OK, LOCKED]


def test_no_angle_where_the_first_and_the_third_axis_coincide() -> None:
    """Protects the singularity: NaN about all three angles of that joint, and other joints untouched."""
    of = leg_by("free")
    q = swing(of)
    tree, joints = of.leverage.tree, of.model.joints
    start = tree.q_start[1]
    placed = new_pose(len(tree.parent), of.n_v)
    pose(tree, q, placed)
    # distal Y on proximal Z
    P = placed.rotation[0] @ joints.axes_proximal[0]
    D = np.column_stack([P[:, 0], P[:, 2], -P[:, 1]])
    R = placed.rotation[0].T @ D @ joints.axes_distal[0].T
    q[start : start + 4] = np.roll(Rotation.from_matrix(R).as_quat(), 1)
    found = arms_at(of, q)
    assert list(found.status[:3]) == [UNDETERMINED] * 3
    assert np.isnan(found.arms[:, :3]).all()
    assert np.isfinite(found.arms[:, 3:6]).all()


def test_a_failed_path_is_nan_and_counted() -> None:
    """Protects readers from a length that is none: a point inside a surface, said for that muscle alone."""
    of = leg_by("minimised")
    q = swing(of)
    leverage = of.leverage
    m = of.muscles.index("gastrocnemius")
    point = leverage.stations.point.copy()
    surface = leverage.stations.surface[leverage.stations.start[m] + 1]
    point[leverage.stations.start[m]] = leverage.surfaces.position[surface] + np.array([0.0, 0.001, 0.0])
    broken = of._replace(leverage=leverage._replace(stations=leverage.stations._replace(point=point)))
    found, whole = arms_at(broken, q), arms_at(of, q)
    assert (found.n_failed, whole.n_failed) == (1, 0)
    assert found.path_status[m] == POINT_INSIDE
    assert np.isnan(found.lengths[m])
    assert np.isnan(found.arms[m]).all()
    others = np.arange(len(of.muscles)) != m
    np.testing.assert_array_equal(found.lengths[others], whole.lengths[others])
    np.testing.assert_array_equal(found.arms[others], whole.arms[others])


def test_moving_the_pelvis_changes_nothing() -> None:
    """Protects invariance: lengths and arms do not depend on where the whole leg is."""
    of = leg_by("minimised")
    q = swing(of)
    rng = np.random.default_rng(60)
    delta = np.zeros(of.n_v)
    delta[:6] = rng.normal(size=6)
    here, there = arms_at(of, q), arms_at(of, integrate(of.leverage.tree, q, delta))
    np.testing.assert_allclose(there.lengths, here.lengths, atol=1e-12)
    np.testing.assert_allclose(there.arms, here.arms, atol=1e-10)


def test_lengths_of_straight_paths_are_distances() -> None:
    """Protects the stations of the model in their bodies: the sum of distances between points in ground."""
    of = leg_by("zero")
    q = swing(of)
    stations, at = of.leverage.stations, state(of.leverage.tree, q)
    found = arms_at(of, q)
    straight = 0
    for m in range(len(of.muscles)):
        rows = range(stations.start[m], stations.start[m + 1])
        if any(stations.surface[s] >= 0 for s in rows):
            continue
        points = [at.point(int(stations.body[s]), stations.point[s]) for s in rows]
        expected = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
        assert found.lengths[m] == pytest.approx(expected, abs=1e-12)
        straight += 1
    assert straight >= 6


def test_closed_form_wraps_are_the_general_ones() -> None:
    """Protects the quick start: without the iterative wraps the very same lengths and arms."""
    of = leg_by("minimised")
    q = swing(of)
    leverage, quick = of.leverage, arms_at(of, q)
    assert wraps_in_closed_form(leverage.stations, leverage.surfaces)
    placed = new_pose(len(leverage.tree.parent), of.n_v)
    pose(leverage.tree, q, placed)
    work = new_joint_leverage_work(leverage)
    assert work.path.wrap.chain is None
    work = work._replace(path=new_path_work(leverage.stations, leverage.surfaces, of.n_v))
    lengths, arms = np.zeros_like(quick.lengths), np.zeros_like(quick.arms)
    hold(joint_moment_arms, (leverage, placed, q, work, lengths, arms))()
    assert work.path.wrap.touching.any()
    np.testing.assert_array_equal(lengths, quick.lengths)
    np.testing.assert_array_equal(arms, quick.arms)


def test_ellipsoids_and_runs_are_not_in_closed_form() -> None:
    """Protects the choice: one ellipsoid, or two surfaces after each other, need the general wraps."""
    of = leg_by("minimised")
    stations, surfaces = of.leverage.stations, of.leverage.surfaces
    kind = surfaces.kind.copy()
    kind[0] = ELLIPSOID
    assert not wraps_in_closed_form(stations, surfaces._replace(kind=kind))
    run = stations.kind.copy()
    run[np.flatnonzero(run == WRAP)[0] + 1] = WRAP
    assert not wraps_in_closed_form(stations._replace(kind=run), surfaces)


def test_soft_rows_lie_behind_the_hard_ones() -> None:
    """Protects the factor: as many rows as elements that take part, with the compliance of each weight."""
    of = leg_by("minimised")
    q = swing(of)
    tree, work = of.leverage.tree, new_joint_leverage_work(of.leverage)
    placed = new_pose(len(tree.parent), of.n_v)
    pose(tree, q, placed)
    lengths, arms = np.zeros(len(of.muscles)), np.zeros((len(of.muscles), len(of.model.names.joint_angles)))
    hold(joint_moment_arms, (of.leverage, placed, q, work, lengths, arms))()
    n_hard, n = int((of.leverage.constraints.roles.mode == HARD).sum()), len(weights(of))
    assert soft_rows(of.leverage.constraints, placed, n_hard, work.constraint) == n_hard + n
    np.testing.assert_array_equal(work.constraint.compliance[:n_hard], 0.0)
    np.testing.assert_allclose(work.constraint.compliance[n_hard : n_hard + n], YIELD / weights(of))
    np.testing.assert_allclose(work.constraint.row[n_hard : n_hard + n], rows_at(of, q, SOFT), atol=1e-9)
