"""Following one skeleton: prediction, open dofs, speeds, new starts and second looks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.joints.tree import new_pose, pose
from kernels.markers.marker_health import new_health
from kernels.solver.frame import Skeleton
from kernels.solver.kkt import CONVERGED, NON_FINITE, NOT_CONVERGED, SolverOptions
from kernels.solver.optimality import FrameProblem
from kernels.solver.track import (
    HOLD_ROTATION,
    HOLD_TRANSLATION,
    LEAST_RMS,
    WORSE,
    TrackOptions,
    TrackState,
    TrackWork,
    conclude,
    find_open_dofs,
    follow,
    predict,
    remember,
    rewind,
)
from rtsim.methods.kinematics.multibody import set_up
from tests.kernels import leg
from tests.naive.tree import difference, integrate

Array = NDArray[np.floating]

N_MARKER = len(leg.NAMES)
SOLVER = SolverOptions(1e-11, 60, 0.5)
TRACKING = TrackOptions(SOLVER, restart_rms=0.05, max_prediction=0.05, restart_interval=200)


class Follower(NamedTuple):
    """One followed solution of the made-up leg."""

    model: Skeleton
    setup: Any
    track: TrackState
    work: TrackWork

    def follow(
        self, measured: Array, dt: float = leg.DT, tracking: TrackOptions = TRACKING
    ) -> tuple[int, int, float, float, int]:
        """Follow one frame as kernels.solver.frame does, NaN = occluded."""
        weight = np.isfinite(measured).all(axis=1).astype(float)
        roles, followed = self.setup.method.roles, bool(self.track.started[0])
        remember(self.track)
        said = follow(self.model, roles, measured, weight, dt, tracking, self.track, self.work)
        conclude(self.model.tree, dt, followed, said[0] == CONVERGED and said[4] == 0, self.track)
        return said

    def gap(self, q: Array) -> float:
        """Return the largest tangent entry between a state and the track's."""
        return float(np.abs(difference(self.model.tree, q, self.track.q)).max())


def follower(method: str = "zero", q_neutral: Array | None = None) -> Follower:
    """Return a follower that has not started."""
    setup: Any = set_up(leg.lower_limb(), leg.SUBJECT, method, leg.built(method), new_health(N_MARKER))
    model = setup.skeleton if q_neutral is None else setup.skeleton._replace(q_neutral=q_neutral)
    return Follower(model, setup, setup.state.track, setup.work)


def without(measured: Array, *names: str) -> Array:
    """Return markers with some, or those of some segments, occluded."""
    hidden = measured.copy()
    hidden[leg.indices(*names)] = np.nan
    return hidden


def other_assembly() -> Array:
    """Return neutral coordinates from which the isometric knee falls into its other assembly."""
    q = leg.built("zero").q_neutral.copy()
    delta = np.zeros(18)
    delta[13] = np.radians(40.0)
    return integrate(leg.built("zero").tree, q, delta)


def test_prediction_moves_on_with_the_last_speed() -> None:
    """Protects the warm start: one step at the last speed, none over gaps that are too long or unknown."""
    running = follower()
    rng = np.random.default_rng(90)
    running.track.q[:] = leg.exact_trial().q[0]
    running.track.speed[:] = rng.normal(size=18)
    tree, q = running.model.tree, np.zeros(len(running.track.q))
    for dt, step in ((0.01, 0.01), (0.05, 0.05), (0.051, 0.0), (0.0, 0.0), (-0.01, 0.0), (np.nan, 0.0)):
        predict(tree, dt, TRACKING, running.track, q)
        expected = integrate(tree, running.track.q, step * running.track.speed)
        np.testing.assert_allclose(difference(tree, expected, q), 0.0, atol=1e-13)


# The isometric knee and the ankle keep one dof each; the other knees keep more.
OPEN = {
    "zero": {"": 0, "F1": 0, "foot": 1, "pelvis": 3, "thigh": 0, "shank": 0},
    "free": {"": 0, "F1": 0, "foot": 1, "pelvis": 3, "thigh": 3, "shank": 1},
}


@pytest.mark.parametrize("method", OPEN)
def test_open_dofs_are_counted(method: str) -> None:
    """Protects the count of what nothing determines, for single markers and for whole segments."""
    running, exact = follower(method), leg.exact_trial()
    for hidden, expected in OPEN[method].items():
        measured = without(exact.markers[20], hidden) if hidden else exact.markers[20].copy()
        assert open_dofs(running, measured)[0] == expected, hidden


def open_dofs(running: Follower, measured: Array) -> tuple[int, Array]:
    """Return how many dofs are open at an exact state well bent, and the weights that hold them.

    Near 20 degrees of flexion the isometric knee itself is almost open.
    """
    model, hold, q = running.model, np.zeros(18), leg.exact_trial().q[20]
    weight = np.isfinite(measured).all(axis=1).astype(float)
    roles = running.setup.method.roles
    problem = FrameProblem(model.tree, model.markers, model.elements, roles, measured, weight, hold, q)
    return find_open_dofs(problem, q, running.work, np.zeros(18, np.int64)), hold


def test_open_dofs_are_held_and_determined_ones_are_not() -> None:
    """Protects the weights: those of open dofs only, in the unit of their kind."""
    n_open, hold = open_dofs(follower(), without(leg.exact_trial().markers[20], *leg.SEGMENTS))
    rotates = leg.built("zero").tree.dof_rotates == 1
    assert n_open == 18 - 7  # every hard element closes one dof
    assert n_open == np.count_nonzero(hold)
    assert set(hold[rotates]) <= {0.0, HOLD_ROTATION}
    assert set(hold[~rotates]) <= {0.0, HOLD_TRANSLATION}
    assert not open_dofs(follower(), leg.exact_trial().markers[20])[1].any()


@pytest.mark.parametrize("method", ["zero", "minimised", "free"])
def test_first_frame_is_solved_from_scratch(method: str) -> None:
    """Protects the first start: no state is needed, and exact markers give the state back."""
    running, exact = follower(method), leg.exact_trial()
    status, _, residual, cost, n_open = running.follow(exact.markers[3], 0.0)
    assert (status, n_open) == (CONVERGED, 0)
    assert residual <= SOLVER.tolerance
    if method != "minimised":
        assert running.gap(exact.q[3]) < 1e-9
        assert cost < 1e-18
    assert running.track.started[0] == 1


def test_speed_is_that_of_the_last_two_frames() -> None:
    """Protects the prediction's speed: tangent step over time, from solved and determined frames only."""
    running, exact = follower(), leg.exact_trial()
    running.follow(exact.markers[3], 0.0)
    np.testing.assert_array_equal(running.track.speed, 0.0)
    running.follow(exact.markers[4])
    expected = difference(running.model.tree, exact.q[3], exact.q[4]) / leg.DT
    np.testing.assert_allclose(running.track.speed, expected, atol=1e-6)
    running.follow(without(exact.markers[5], "foot"))
    np.testing.assert_array_equal(running.track.speed, 0.0)
    assert running.track.trusted[0] == 0
    running.follow(exact.markers[6])
    assert running.track.trusted[0] == 1


def test_rewound_frame_is_solved_as_if_for_the_first_time() -> None:
    """Protects the second solution of a frame: it starts from the frame before, not from the first one."""
    running, once = follower(), follower()
    exact = leg.exact_trial()
    for measured in exact.markers[:3]:
        running.follow(measured)
        once.follow(measured)
    spoilt = exact.markers[3].copy()
    spoilt[leg.indices("S5")] += [0.3, 0.0, 0.0]
    running.follow(spoilt)
    rewind(running.track)
    assert running.gap(exact.q[2]) < 1e-9
    np.testing.assert_array_equal(running.track.q, once.track.q)
    np.testing.assert_array_equal(running.track.multiplier, once.track.multiplier)
    # and it may look again as the first solution could
    np.testing.assert_array_equal(running.track.doubt, once.track.doubt)


def test_prediction_saves_iterations() -> None:
    """Protects the use of the speed: a steady motion is solved in fewer iterations than without it."""
    exact = leg.exact_trial()
    counts = {}
    for max_prediction in (0.0, 0.05):
        running = follower("minimised")
        said = [
            running.follow(x, tracking=TRACKING._replace(max_prediction=max_prediction))
            for x in exact.markers[:12]
        ]
        counts[max_prediction] = sum(iterations for _, iterations, *_ in said[2:])
    assert counts[0.05] < counts[0.0]


@pytest.mark.parametrize("segment", ["foot", "pelvis"])
def test_open_dofs_stay_near_the_last_frame(segment: str) -> None:
    """Protects a segment that is gone: what nothing determines moves less than half a degree per frame."""
    running, exact = follower(), leg.exact_trial()
    for measured in exact.markers[:3]:
        running.follow(measured)
    own = running.model.tree.dof_body == (3 if segment == "foot" else 1)
    for measured in exact.markers[3:8]:
        before = running.track.q.copy()
        status, *_, n_open = running.follow(without(measured, segment))
        assert status == CONVERGED
        assert n_open > 0
        assert running.track.hold.any()
        moved = difference(running.model.tree, before, running.track.q)[own]
        assert np.abs(moved).max() < np.radians(2.0)


def test_bad_frame_leaves_the_last_pose() -> None:
    """Protects against numbers that overflow: a status, the last pose, and a next frame as usual."""
    running, exact = follower(), leg.exact_trial()
    for measured in exact.markers[:3]:
        running.follow(measured)
    bad = exact.markers[3].copy()
    bad[7, 1] = 1e200
    with np.errstate(all="ignore"):
        status, *_ = running.follow(bad)
    assert status == NON_FINITE
    assert running.gap(exact.q[2]) < 1e-9
    assert running.follow(exact.markers[4])[0] == CONVERGED
    assert running.gap(exact.q[4]) < 1e-9


@pytest.mark.parametrize("method", ["zero", "minimised"])
def test_frame_after_a_ruined_one_is_right(method: str) -> None:
    """Protects recovery: whatever one frame of noise does to the state, the next one is solved right."""
    exact, wrong = leg.exact_trial(), []
    undisturbed = follower(method)
    for measured in exact.markers[:5]:
        undisturbed.follow(measured)
    for seed in range(3):
        running = follower(method)
        for measured in exact.markers[:3]:
            running.follow(measured)
        noise = np.random.default_rng([seed, 91]).normal(0.0, 0.5, (N_MARKER, 3))
        running.follow(exact.markers[3] + noise)
        running.follow(exact.markers[4])
        if running.gap(undisturbed.track.q) > 1e-6:
            wrong.append(seed)
    assert not wrong


def test_unsolved_frame_has_no_speed() -> None:
    """Protects the prediction from a state that was given up half-way."""
    running, exact = follower(), leg.exact_trial()
    for measured in exact.markers[:3]:
        running.follow(measured)
    noise = np.random.default_rng(91).normal(0.0, 0.5, (N_MARKER, 3))
    status, *_ = running.follow(
        exact.markers[3] + noise, tracking=TRACKING._replace(solver=SOLVER._replace(max_iterations=2))
    )
    assert status == NOT_CONVERGED
    np.testing.assert_array_equal(running.track.speed, 0.0)


def test_nothing_to_start_from_spoils_nothing() -> None:
    """Protects a stream that begins empty: everything is open, and the first markers give the right state."""
    running, exact = follower(), leg.exact_trial()
    *_, n_open = running.follow(without(exact.markers[0], *leg.SEGMENTS), 0.0)
    assert n_open > 0
    assert running.follow(exact.markers[1], 0.0)[0] == CONVERGED
    assert running.gap(exact.q[1]) < 1e-9


def test_lost_track_starts_anew() -> None:
    """Protects against a wild state: a pose that has nothing to do with the markers is left in one frame."""
    running, exact = follower(), leg.exact_trial()
    running.follow(exact.markers[0], 0.0)
    wild = integrate(running.model.tree, exact.q[1], np.random.default_rng(92).normal(0.0, 1.5, 18))
    running.track.q[:] = wild
    assert running.follow(exact.markers[1], 0.0)[0] == CONVERGED
    assert running.gap(exact.q[1]) < 1e-9


def test_wrong_assembly_is_left_at_the_second_look() -> None:
    """Protects the isometric knee: its other assembly is followed no longer than until the next look."""
    exact, tracking = leg.exact_trial(), TRACKING._replace(restart_interval=5)
    running = follower()
    running.follow(exact.markers[0], 0.0, tracking)
    running.track.q[:], running.track.multiplier[:] = wrong_state(exact.markers[0]), 0.0
    gaps = []
    for measured, q in zip(exact.markers[1:8], exact.q[1:8], strict=True):
        running.follow(measured, tracking=tracking)
        gaps.append(running.gap(q))
    assert gaps[0] > 0.1
    assert gaps[-1] < 1e-9


def test_wrong_assembly_is_left_where_it_fits_much_worse() -> None:
    """Protects recordings shorter than the time between two looks: two assemblies may fit one pose alike."""
    exact, running = leg.exact_trial(), follower()
    running.follow(exact.markers[0], 0.0)
    running.track.q[:], running.track.multiplier[:] = wrong_state(exact.markers[0]), 0.0
    running.track.fit[0] = 1e-4 / N_MARKER
    costs = []
    for k in range(1, 8):
        cost = running.follow(exact.markers[k])[3]
        if running.gap(exact.q[k]) < 1e-9:
            break
        costs.append(cost)
    assert 1 <= len(costs) < 7
    assert max(costs) <= WORSE * 1e-4
    assert running.track.doubt[0] == TRACKING.restart_interval
    assert running.track.fit[0] < 1e-18


def test_a_close_fit_is_not_looked_at_again() -> None:
    """Protects the time of a frame: for residuals up to LEAST_RMS no other assembly is looked for."""
    exact = leg.exact_trial()
    beside = np.random.default_rng(93).normal(scale=0.003, size=exact.markers[1].shape)
    bound = WORSE * 0.5 * N_MARKER * LEAST_RMS**2
    part = 1.0
    for aim, looks in ((0.9, False), (1.1, True)):
        for _ in range(3):  # the cost goes with the square, nearly
            running = follower("free")
            running.follow(exact.markers[0], 0.0)
            cost = running.follow(exact.markers[1] + part * beside)[3]
            part *= math.sqrt(aim * bound / cost)
        assert cost == pytest.approx(aim * bound, rel=0.05)
        assert running.track.doubt[0] == TRACKING.restart_interval - int(not looks)


def wrong_state(measured: Array) -> Array:
    """Return the other assembly of the isometric knee for exact markers, which costs more."""
    running = follower()
    running.track.started[0] = 1
    delta = np.zeros(18)
    delta[13] = np.radians(40.0)
    running.track.q[:] = integrate(running.model.tree, leg.exact_trial().q[0], delta)
    running.track.doubt[0] = 1000
    status, _, _, cost, _ = running.follow(measured, 0.0)
    assert status == CONVERGED
    assert cost > 1e-6
    return running.track.q.copy()


@pytest.mark.parametrize("rejected", [False, True])
def test_work_holds_the_pose_of_the_solution(rejected: bool) -> None:
    """Protects what follows a frame from a rejected second look: pose and markers in work are the track's."""
    exact = leg.exact_trial()
    running = follower(q_neutral=other_assembly() if rejected else None)
    for measured in exact.markers[:3]:
        running.follow(measured, tracking=TRACKING._replace(restart_interval=1))
    assert running.gap(exact.q[2]) < 1e-9
    placed = new_pose(4, 18)
    pose(running.model.tree, running.track.q, placed)
    np.testing.assert_allclose(running.work.solver.pose.rotation, placed.rotation, atol=1e-9)
    np.testing.assert_allclose(running.work.solver.marker.model, exact.markers[2], atol=1e-9)
