"""Length and gradient of muscle paths: against a twin, against differences, under changes of description."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.kinds import BALL, FREE, HINGE, SLIDER
from kernels.path.muscle_path import NO_LENGTH, OK, POINT_INSIDE
from kernels.path.surfaces import CYLINDER, SPHERE
from rtsim.models.packing.tree import build_functions, linear
from tests.kernels.path.muscles import (
    GROUND,
    Case,
    Station,
    at,
    conditional,
    followed,
    in_the_way,
    moving,
    over,
    random_case,
    stations_of,
    surfaces_of,
)
from tests.naive import constrained, muscle_path, random_models
from tests.naive.mechanisms import moved, on_a_ground_body, point, posed, random_mechanism

Array = NDArray[np.floating]

SEEDS = range(3)
SMOOTH = [0, 1, 2, 3, 4, 6, 7, 8]  # all but the muscle over two surfaces, whose twin is a search
STEP = 2e-4  # of differences: wraps have large fifth derivatives


@pytest.mark.parametrize("seed", SEEDS)
def test_lengths_are_those_of_the_twin(seed: int) -> None:
    """Protects fixed, conditional and moving points, wraps, and which of them are there."""
    case = random_case(seed)
    work = followed(case, case.some.q)
    expected = muscle_path.lengths(case.tree, case.stations, case.surfaces, case.some.q)
    np.testing.assert_allclose(work.length, expected, rtol=1e-12)
    np.testing.assert_array_equal(work.status, OK)
    np.testing.assert_array_equal(work.wrap.touching[case.stations.surface >= 0], 1)


def slopes(case: Case, fixed: str = "") -> Array:
    """Return dl/dq of SMOOTH by differences of the twin, with the points or the poses fixed if so wanted."""
    tree, q = case.tree, case.some.q

    def values(there: Array) -> Array:
        q_pose, q_points = q if fixed == "poses" else there, q if fixed == "points" else there
        return muscle_path.lengths(tree, case.stations, case.surfaces, q_pose, q_points, SMOOTH)

    return constrained.gradient(values, tree, q, STEP)


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_are_the_differences_of_the_lengths(seed: int) -> None:
    """Protects dl/dq for every kind of joint and station: differences along the manifold."""
    case = random_case(seed)
    found = followed(case, case.some.q).gradient
    by_kernel = constrained.gradient(lambda q: followed(case, q).length.copy(), case.tree, case.some.q, STEP)
    np.testing.assert_allclose(found[SMOOTH], slopes(case), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found, by_kernel, rtol=0, atol=1e-9)
    assert (np.abs(found).max(axis=1)[:-1] > 0.01).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_without_the_work_of_moving_points_the_gradient_is_that_of_frozen_points(seed: int) -> None:
    """Protects moving_work = 0: exactly the slip of moving points along their coordinates is left out."""
    case = random_case(seed)
    whole, left_out = (followed(case, case.some.q, moving_work).gradient[SMOOTH] for moving_work in (1, 0))
    slip = slopes(case, fixed="poses")
    np.testing.assert_allclose(left_out, slopes(case, fixed="points"), rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole - left_out, slip, rtol=0, atol=1e-9)
    moves = np.array(SMOOTH)[np.abs(slip).max(axis=1) > 1e-3]
    np.testing.assert_array_equal(moves, (2, 4, 6))


def remapped(case: Case, R: Array, x: Array) -> Case:
    """Return the case with ground as a welded body 0 that is turned and moved."""
    bodies, tree = case.stations.body + 1, on_a_ground_body(case.tree, R, x)
    some = case.some._replace(system=case.some.system._replace(tree=tree))
    surfaces = case.surfaces._replace(body=case.surfaces.body + 1)
    return Case(some, case.stations._replace(body=bodies), surfaces)


@pytest.mark.parametrize("seed", SEEDS)
def test_rigid_motion_of_everything_changes_nothing(seed: int) -> None:
    """Protects invariance: ground as a body somewhere else, turned, gives the same lengths and gradients."""
    case, rng = random_case(seed), np.random.default_rng(seed)
    there = remapped(case, Rotation.random(None, rng).as_matrix(), np.array([2.0, -3.0, 1.0]))
    here, moved_there = followed(case, case.some.q), followed(there, case.some.q)
    np.testing.assert_allclose(moved_there.length, here.length, rtol=1e-12)
    np.testing.assert_allclose(moved_there.gradient, here.gradient, rtol=0, atol=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_path_read_backwards_is_the_same(seed: int) -> None:
    """Protects symmetry: insertion to origin gives the same length and gradient, over all surfaces."""
    case = random_case(seed)
    starts = zip(case.stations.start[:-1], case.stations.start[1:], strict=True)
    order = np.concatenate([np.arange(start, stop)[::-1] for start, stop in starts])
    backwards = case.stations._replace(
        **{name: x[order].copy() for name, x in case.stations._asdict().items() if name != "start"}
    )
    here, there = followed(case, case.some.q), followed(case._replace(stations=backwards), case.some.q)
    np.testing.assert_allclose(there.length, here.length, rtol=1e-12)
    np.testing.assert_allclose(there.gradient, here.gradient, rtol=0, atol=1e-9)


def test_in_other_units_of_length_the_path_is_as_much_longer() -> None:
    """Protects units: in millimetres lengths and slopes of rotations are 1000 times as large."""
    rng, kinds, parents = np.random.default_rng(9), (FREE, HINGE, BALL, SLIDER, HINGE), (-1, 0, 1, 2, 3)
    tree = random_models.tree_of(rng, kinds, parents)
    tree = tree._replace(functions=build_functions((linear(0.3, 0.1), linear(-0.2, 0.05))))
    q, x = random_models.random_coordinates(rng, tree), rng.uniform(-0.3, 0.3, (2, 3))
    slides, end, pose = moving(tree, 2, 4, (0, 1, 0)), at(4, x[1]), posed(tree, q)
    P = point(pose, 2, muscle_path.local_point(tree, stations_of([[slides]]), 0, q))
    kind, body, place, axes, radius = in_the_way(rng, pose, SPHERE, 3, P, point(pose, 4, x[1]), 0.5)
    found = []
    for unit in (1.0, 1000.0):
        scaled = tree._replace(
            position_in_parent=unit * tree.position_in_parent,
            position_in_child=unit * tree.position_in_child,
            functions=tree.functions._replace(data=unit * tree.functions.data),
        )
        lengths = np.r_[:3, tree.q_start[3]]
        q_scaled = q.copy()
        q_scaled[lengths] *= unit
        ball = surfaces_of([(kind, body, unit * place, axes, unit * radius)])
        muscle = [at(1, unit * x[0]), slides, over(ball, 0), end._replace(point=unit * end.point)]
        some = random_mechanism(0)
        case = Case(some._replace(system=some.system._replace(tree=scaled)), stations_of([muscle]), ball)
        found.append(followed(case, q_scaled))
    scale = np.where(tree.dof_rotates == 1, 1000.0, 1.0)
    np.testing.assert_allclose(found[1].length, 1000.0 * found[0].length, rtol=1e-12)
    np.testing.assert_allclose(found[1].gradient[0], scale * found[0].gradient[0], rtol=0, atol=1e-9)
    assert found[0].wrap.touching[2] == 1


def with_muscles(case: Case, *muscles: list[Station]) -> Case:
    """Return the mechanism with these muscles instead."""
    return case._replace(stations=stations_of(muscles))


def test_a_path_without_length_is_reported() -> None:
    """Protects the status: two points on one place, on one body or over a surface, give zeros and no NaN."""
    case, x = random_case(0), np.array([0.1, 0.2, -0.3])
    ball = surfaces_of(
        [(SPHERE, GROUND, x + 1.0, np.eye(3), 0.1), (CYLINDER, GROUND, x + 1.0, np.eye(3), 0.1)]
    )
    case = with_muscles(
        case._replace(surfaces=ball),
        [at(3, x), at(3, x)],
        [at(GROUND, x), over(ball, 0), at(GROUND, x)],
        [at(GROUND, x), over(ball, 1), at(GROUND, x)],
        [at(3, x), at(6, x)],
    )
    work = followed(case, case.some.q)
    np.testing.assert_array_equal(work.status, (NO_LENGTH,) * 3 + (OK,))
    np.testing.assert_array_equal(work.length[:3], 0.0)
    np.testing.assert_array_equal(work.gradient[:3], 0.0)


def test_a_point_given_twice_changes_nothing() -> None:
    """Protects pieces without direction: length, gradient and status of the path with the point once."""
    case, x = random_case(1), np.random.default_rng(2).uniform(-0.3, 0.3, (3, 3))
    a, b, c = at(3, x[0]), at(1, x[1]), at(6, x[2])
    work = followed(with_muscles(case, [a, b, c], [a, a, b, b, b, c, c]), case.some.q)
    np.testing.assert_allclose(work.length[1], work.length[0], rtol=1e-15)
    np.testing.assert_allclose(work.gradient[1], work.gradient[0], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(work.status, OK)
    np.testing.assert_array_equal(work.n_piece, 2)


def test_points_of_two_bodies_that_meet_break_nothing() -> None:
    """Protects paths through a joint's centre: the points of both bodies fall together, at any pose."""
    case = random_case(2)
    x, y = case.tree.position_in_parent[1], case.tree.position_in_child[1]
    through = [at(4, np.full(3, 0.1)), at(0, x), at(1, y), at(3, np.full(3, 0.2))]
    once = [through[0], through[1], through[3]]
    work = followed(with_muscles(case, through, once), case.some.q)
    np.testing.assert_allclose(work.length[0], work.length[1], rtol=1e-12)
    np.testing.assert_allclose(work.gradient[0], work.gradient[1], rtol=0, atol=1e-10)


def test_conditional_points_are_there_at_both_ends_of_their_range() -> None:
    """Protects the range: closed at both ends, and nothing of the point is left beyond them."""
    case, x = random_case(0), np.random.default_rng(4).uniform(-0.3, 0.3, (3, 3))
    here = case.some.q[case.tree.q_start[1]]
    ranges = ((here, here + 1), (here - 1, here), (here + 1e-9, here + 1), (here - 1, here - 1e-9))
    a, c = at(GROUND, x[0]), at(3, x[2])
    muscles = [[a, conditional(case.tree, 2, x[1], 1, *limits), c] for limits in ranges]
    work = followed(with_muscles(case, *muscles, [a, at(2, x[1]), c], [a, c]), case.some.q)
    for m, same in enumerate((4, 4, 5, 5)):
        assert work.length[m] == work.length[same]
        np.testing.assert_array_equal(work.gradient[m], work.gradient[same])


def test_a_conditional_point_that_is_away_leaves_the_wraps_around_it() -> None:
    """Protects runs of wraps: an absent point among them, before or after them, is as if not written."""
    case = random_case(0)
    first, stop = case.stations.start[5], case.stations.start[6]
    e, s2, s3, f = (
        Station(*(x[s] for name, x in case.stations._asdict().items() if name != "start"))
        for s in range(first, stop)
    )
    here = case.some.q[case.tree.q_start[1]]
    away = conditional(case.tree, GROUND, np.zeros(3), 1, here + 1.0, here + 2.0)
    muscles = (
        [e, s2, s3, f], [e, s2, away, s3, f], [e, away, s2, s3, away, f], [away, s2, e, s2, s3, f, s3, away],
        [e, s2, f], [e, s2, away, f], [e, away, s2, f],
    )  # fmt: skip
    work = followed(with_muscles(case, *muscles), case.some.q)
    for m, same in ((1, 0), (2, 0), (3, 0), (5, 4), (6, 4)):
        np.testing.assert_allclose(work.length[m], work.length[same], rtol=1e-14)
        np.testing.assert_allclose(work.gradient[m], work.gradient[same], rtol=0, atol=1e-13)
        assert work.status[m] == OK


def test_a_point_inside_a_surface_is_reported() -> None:
    """Protects the status of the wrap: it reaches the muscle, whose path stays straight."""
    case, x = random_case(0), np.array([0.1, 0.2, -0.3])
    ball = surfaces_of([(SPHERE, GROUND, x, np.eye(3), 0.1)])
    case = with_muscles(
        case._replace(surfaces=ball),
        [at(GROUND, x + 0.01), over(ball, 0), at(3, x)],
        [at(GROUND, x + 0.01), at(3, x)],
    )
    work = followed(case, case.some.q)
    np.testing.assert_array_equal(work.status, (POINT_INSIDE, OK))
    assert work.length[0] == work.length[1]


def test_a_muscle_on_ground_alone_has_a_length_and_no_gradient() -> None:
    """Protects body -1 at both ends: nothing moves it."""
    case = random_case(0)
    work, last = followed(case, case.some.q), case.n_muscle - 1
    a, b = case.stations.point[-2:]
    assert work.length[last] == pytest.approx(np.linalg.norm(a - b), rel=1e-15)
    np.testing.assert_array_equal(work.gradient[last], 0.0)
    there = followed(case, moved(case.tree, case.some.q, np.ones(case.some.n_v)))
    assert there.length[last] == work.length[last]
