"""Segments that step as one body, until they step back; motion, noise and clocks are no steps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.faults.added import FLAT, MOVED, RIGID, find_added, go_on, moves_as_one, new_motion
from kernels.faults.stepped import find_steps, new_steps
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import new_health
from rtsim.config.runs.run_schema import MarkerCheck
from rtsim.methods.kinematics.frame_options import health_options
from tests.naive import faults

Array = NDArray[np.float64]
N_BODY, N_OF, N = 4, 4, 200
N_MARKER, AT = N_BODY * N_OF, 100
BODY, PARENT = np.repeat(np.arange(N_BODY), N_OF), np.arange(N_BODY) - 1
LOCAL = np.random.default_rng(3).uniform(-0.12, 0.12, (N_MARKER, 3))
OWN = BODY == 2
OPTIONS = health_options(MarkerCheck(), np.ones(N_MARKER))


def walk(rate: float = 100.0, noise: float = 2e-4, n: int = N) -> Array:
    """(n, n_marker, 3) - four segments that swing and go on at 1.3 m/s [m]."""
    t, found = np.arange(n) / rate, np.zeros((n, N_MARKER, 3))
    for b in range(N_BODY):
        turns = Rotation.from_rotvec(np.outer(0.4 * np.sin(5.0 * t + b), [0.2, 0.1, 1.0]))
        middle = np.stack([1.3 * t + 0.1 * np.sin(6.0 * t + b), 1.0 - 0.3 * b + 0.0 * t, 0.0 * t], axis=1)
        for m in np.flatnonzero(b == BODY):
            found[:, m] = middle + turns.apply(LOCAL[m])
    return found + noise * np.random.default_rng(1).standard_normal(found.shape)


def states(
    frames: Array, rate: float = 100.0, residual: Array | None = None, times: Array | None = None
) -> NDArray[np.bool_]:
    """(n, n_body) - whether each is off; residual : (n, n_marker, 3) - of the solution [m]."""
    health, steps = new_health(N_MARKER), new_steps(N_MARKER, N_BODY)
    health.n_seen[:] = 100
    markers, axes = ModelMarkers(BODY.copy(), LOCAL), np.tile(np.eye(3), (N_BODY, 1, 1))
    told = np.zeros((len(frames), N_BODY), bool)
    for k, x in enumerate(frames):
        dt = 1.0 / rate if times is None else times[k] - times[k - 1] if k else 0.0
        health.labelled[:] = x
        health.weight[:] = np.isfinite(x[:, 0])
        if residual is not None:
            health.residual[:] = residual[k]
        n = find_steps(markers, PARENT, axes, dt, OPTIONS, health, steps)
        told[k] = steps.state > 0
        assert n == told[k].sum()
    return told


def turned(frames: Array, degrees: float, first: int, stop: int = N) -> Array:
    """The frames with one segment turned about its middle."""
    found, turn = frames.copy(), Rotation.from_rotvec(np.radians(degrees) * np.array([0.6, 0.8, 0.0]))
    for k in range(first, stop):
        middle = found[k, OWN].mean(axis=0)
        found[k, OWN] = middle + turn.apply(found[k, OWN] - middle)
    return found


def test_shift_and_turn_are_those_of_least_squares():
    """Protects what a frame adds, against its definition."""
    rng, health, motion = np.random.default_rng(5), new_health(N_MARKER), new_motion(N_MARKER, N_BODY)
    health.weight[:] = 1.0
    for x in walk(n=3):
        health.labelled[:] = x
        find_added(BODY, 0.01, health, motion)
        go_on(BODY, False, 0.01, health, motion)
    at = motion.at.copy()
    motion.speed[:] = 0.0  # no clock to be taken off
    health.labelled[:] = at + 0.01 * rng.standard_normal(at.shape)
    find_added(BODY, 0.01, health, motion)
    for b in range(N_BODY):
        own = b == BODY
        expected = faults.added_motion(at[own], health.labelled[own] - at[own], FLAT)
        np.testing.assert_allclose(motion.added[b], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
def test_what_moves_as_one_body_is_one_rigid_displacement(n):
    """Protects the choice of what is a step, against its definition: random ways, turns, single markers."""
    rng, found = np.random.default_rng(n), []
    body = np.zeros(n, np.int64)
    for k in range(200):
        at, health, motion = rng.uniform(-0.1, 0.1, (n, 3)), new_health(n), new_motion(n, 1)
        axis, through = rng.standard_normal(3), at[rng.integers(n)] if k % 2 else at.mean(axis=0)
        way = np.cross(0.2 * axis / np.linalg.norm(axis), at - through)
        way += rng.choice([0.001, 0.01, 0.03]) * rng.standard_normal((n, 3)) * (rng.random((n, 1)) < 0.4)
        if k % 5 == 0:
            way[rng.permutation(n)[: n // 2]] = 0.0
        health.weight[:], health.labelled[:] = 1.0, at + way
        motion.at[:], motion.speed[:], motion.age[:] = at, 0.0, 0.0
        find_added(body, 0.01, health, motion)
        one = bool(moves_as_one(body, 0, n, tuple(at.mean(axis=0)), motion))
        assert one == faults.moves_as_one(at, way, FLAT, MOVED, RIGID)
        found.append(one)
    assert 0.1 < np.mean(found) < 0.9 or n == 2


def test_a_foot_that_turns_about_its_toes_is_off():
    """Protects against a foot that is late, or turned, while its toes stand: some markers are on the axis."""
    frames = walk()
    for k in range(AT, N):  # the first two markers are on the axis
        at = frames[k, OWN]
        axis = (at[1] - at[0]) / np.linalg.norm(at[1] - at[0])
        frames[k, OWN] = at[0] + Rotation.from_rotvec(np.radians(15.0) * axis).apply(at - at[0])
    told = states(frames)
    assert told[AT:, 2].all()
    assert not told[:AT].any()


@pytest.mark.parametrize("degrees", [10.0, 20.0, -20.0])
@pytest.mark.parametrize("rate", [60.0, 100.0, 250.0])
def test_a_cluster_that_is_turned_is_off_from_that_frame_on(degrees, rate):
    """Protects against whole segments that err rigidly under ok, and the other segments from their fault."""
    told = states(turned(walk(rate), degrees, AT), rate)
    assert told[AT:, 2].all()
    assert not told[:AT].any()
    assert not told[:, [0, 1, 3]].any()


@pytest.mark.parametrize("by", [0.03, 0.06])
def test_a_segment_that_steps_is_off_until_it_steps_back(by):
    """Protects the rest of a run: a suspicion ends with the fault, in ground or in the segment's axes."""
    frames = walk()
    frames[AT : AT + 40, OWN] += by * np.array([0.0, 0.6, 0.8])
    told = states(frames)
    assert told[AT : AT + 40, 2].all()
    assert not told[AT + 40 :].any()
    back = states(turned(walk(), 15.0, AT, AT + 40))
    assert back[AT : AT + 40, 2].all()
    assert not back[AT + 40 :].any()


def test_a_segment_that_falls_behind_is_off():
    """Protects against a segment of another system that is late from some frame on."""
    frames = walk()
    late = frames.copy()
    late[AT:, OWN] = frames[AT - 5 : -5, OWN]
    assert states(late)[AT:, 2].all()


@pytest.mark.parametrize("rate", [25.0, 60.0, 100.0, 250.0])
def test_motion_noise_and_gaps_are_no_steps(rate):
    """Protects clean runs at all rates: swinging, noise of 1 mm, markers that flicker."""
    frames = walk(rate, noise=1e-3)
    frames[np.random.default_rng(7).random(frames.shape[:2]) < 0.2] = np.nan
    assert not states(frames, rate).any()


def test_noise_that_begins_leaves_nobody_off():
    """Protects against suspicions that outlive noise: a step is borne out by quiet frames."""
    frames = walk()
    frames[AT : AT + 50] += 0.005 * np.random.default_rng(11).standard_normal((50, N_MARKER, 3))
    assert not states(frames)[AT + 62 :].any()


def test_a_clock_that_is_off_is_no_step():
    """Protects against frames that were lost without a word: all segments are further on their ways."""
    frames = np.delete(walk(n=N + 3), slice(AT, AT + 3), axis=0)
    assert not states(frames).any()
    jitter = np.arange(N) / 100.0 + 0.003 * np.random.default_rng(2).uniform(-1.0, 1.0, N)
    assert not states(walk(), times=jitter).any()


def test_labels_that_all_leap_are_left_to_others():
    """Protects the person who leaps as a whole: no single segment has stepped."""
    frames = walk()
    frames[AT:] += np.array([0.0, 0.0, 0.5])
    assert not states(frames).any()


def test_some_markers_of_a_segment_do_not_make_it_step():
    """Protects gaps that were filled in wrongly: where half of a segment comes back it has not stepped."""
    frames = walk()
    frames[AT:, np.flatnonzero(OWN)[:2]] += np.array([0.0, 0.05, 0.0])
    assert not states(frames).any()


def test_the_way_back_is_none_away():
    """Protects a segment that had slid unseen and leaps back: the model fits better at once."""
    frames, residual = walk(), np.full((N, N_MARKER, 3), 0.001)
    slide = np.zeros((N, 1, 3))
    slide[AT - 50 : AT, 0, 1] = 0.001 * np.arange(50)
    frames[:, OWN] += slide
    residual[:, OWN] += 0.4 * slide
    assert not states(frames, residual=residual)[AT:].any()


def test_who_was_gone_is_off_no_more():
    """Protects the rest of a run: nobody knows where a segment came back that none could foresee."""
    frames = turned(walk(), 20.0, AT)
    frames[AT + 30 : AT + 45, OWN] = np.nan
    told = states(frames)
    assert told[AT : AT + 30, 2].all()
    assert not told[AT + 45 :].any()
    times = np.arange(N) / 100.0 + 0.1 * (np.arange(N) >= AT + 30)
    told = states(turned(walk(), 20.0, AT), times=times)
    assert told[AT : AT + 30, 2].all()
    assert not told[AT + 30 :].any()


def test_what_no_residual_bears_out_ends_in_time():
    """Protects long runs: after the time in which places are learnt anew nothing but one frame speaks for it,
    and with residuals that have risen it goes on.
    """
    n = 1500
    frames = turned(walk(n=n), 20.0, AT, n)
    residual = np.full((n, N_MARKER, 3), 0.001)
    told = states(frames, residual=residual)
    assert told[AT : AT + 1000, 2].all()
    assert not told[AT + 1003 :].any()
    residual[AT:, OWN] = 0.01
    assert states(frames, residual=residual)[AT:, 2].all()
