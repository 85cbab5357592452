"""Rehearsals: at the right time, in step with the run, and without a trace in its results."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from rtsim.live.compiled.cache_warming import FASTEST, FASTEST_WITH_FORCES, LATEST_NS, LEAD_NS, CacheWarming
from rtsim.live.inputs.inputs import WAIT_S, StreamInput
from rtsim.live.result_session import ResultSession
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.muscles import MuscleLengths
from streams.codec import FieldLayout
from streams.messages import Status, marker_session
from streams.publisher import Publisher
from streams.receiving.ring import ReceivedFrame
from streams.recording.player import MarkerFrames, play

PERIOD_NS = 10_000_000
LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0


@pytest.fixture
def clock(monkeypatch):
    """The rehearsal's clock, set by the test: [ns]."""
    time = [PERIOD_NS]
    monkeypatch.setattr("rtsim.live.compiled.cache_warming.now_ns", lambda: time[0])
    return time


@pytest.fixture
def stages(estimator, subject):
    kinematics = Kinematics(estimator, subject)
    return [kinematics, MuscleLengths(kinematics)]


def disturbed(trial):
    """The walker with gaps, swaps, a jump, and frames that no person can have."""
    rng = np.random.default_rng(5)
    positions = trial.positions + rng.normal(scale=1e-3, size=trial.positions.shape)
    positions[rng.random(positions.shape[:2]) < 0.03] = np.nan
    positions[20:25] = np.nan
    positions[40:50, [5, 6]] = positions[40:50, [6, 5]]
    positions[60:63] *= 1000.0
    positions[70:, 7] += 0.4
    return positions


def results_of(stages, trial, positions, clock, rehearsal=None):
    """What every frame came to, all of its bytes; half way the method changes."""
    session = marker_session(trial.names, rate=100.0, t_start=0)
    course, frame, rows = ResultSession(stages, session, {}), ReceivedFrame(session, FieldLayout(session)), []
    for seq, here in enumerate(positions):
        if seq == len(positions) // 2:
            stages[0].estimator.switch("zero")
            course = ResultSession(stages, session, {}, anew=False)
        frame.time, frame.t_received = seq / 100.0, clock[0]
        frame.data["positions"][...] = here
        result = course.run(frame)
        message = course.message(frame, result, seq, result.status)
        rows.append((result.status, result.iterations, repr(result.residual), message.data))
        if rehearsal is not None:
            rehearsal.follow(frame)
            clock[0] += PERIOD_NS - LEAD_NS
            rehearsal.run()
            clock[0] += LEAD_NS
    return rows


def test_results_are_the_same_bit_by_bit(stages, trial, clock):
    """Protects live = analyse: a rehearsal leaves no trace in poses, weights, muscles or what they follow."""
    positions = disturbed(trial)
    plain = results_of(stages, trial, positions, clock)
    stages[0].reset()
    stages[0].estimator.switch("minimised")
    rehearsal = CacheWarming(stages)
    rehearsed = results_of(stages, trial, positions, clock, rehearsal)
    assert rehearsal.n_done == len(positions) - 1  # the first frame tells no rate
    assert len({status for status, *_ in plain}) > 2
    for one, other in zip(plain, rehearsed, strict=True):
        assert one == other


def test_a_rehearsal_is_of_the_frame_before(stages, trial, clock):
    """Protects its use: the copies do what the run did, by the method in use, with the same result."""
    rehearsal = CacheWarming(stages)
    rows = results_of(stages, trial, trial.positions, clock, rehearsal)
    own, _ = rehearsal._stages
    assert own.estimator.method == "zero"
    assert own.estimator is not stages[0].estimator
    np.testing.assert_allclose(own.estimator.outputs.markers, stages[0].estimator.outputs.markers, atol=1e-4)
    angles = np.frombuffer(rows[-1][-1]["joint_angles"])
    signs = own.estimator.model.joint_signs.ravel()
    np.testing.assert_allclose(own.estimator.outputs.angles.ravel() * signs, angles, atol=2e-3)


def test_down_weighting_is_switched_without_holding_anything_anew(stages, monkeypatch):
    """Protects the frame after the command: a number is written in place, in the run and then in its copy."""
    copies = CacheWarming(stages)._stages
    own, others = copies[0].estimator, stages[0].estimator
    monkeypatch.setattr("rtsim.methods.kinematics.multibody.hold", None)
    others.set_downweighting(False)
    assert own.downweights
    assert not copies[0].follow(stages[0])
    assert not own.downweights
    own.set_downweighting(True)
    assert not others.downweights


def frame_at(session, t_received):
    frame = ReceivedFrame(session, FieldLayout(session))
    frame.t_received, frame.leads = t_received, True
    return frame


def test_it_waits_for_a_steady_stream_and_begins_before_the_next_frame(clock, trial):
    """Protects frames from being held up: none at an unknown rate, after a late frame, or too near one."""
    session = marker_session(trial.names, rate=100.0, t_start=0)
    rehearsal = CacheWarming([])
    rehearsal.follow(frame_at(session, clock[0]))
    assert rehearsal.ahead_s() == 0.0
    clock[0] += PERIOD_NS
    rehearsal.follow(frame_at(session, clock[0]))
    assert rehearsal.ahead_s() == pytest.approx(1e-9 * (PERIOD_NS - LEAD_NS))
    rehearsal.follow(frame_at(session, clock[0] + PERIOD_NS + 2 * LEAD_NS))
    assert rehearsal.ahead_s() == 0.0
    clock[0] += 2 * PERIOD_NS + 2 * LEAD_NS
    rehearsal.follow(frame_at(session, clock[0]))
    assert rehearsal.ahead_s() > 0.0
    clock[0] += PERIOD_NS - LATEST_NS + 1
    rehearsal.run()
    assert rehearsal.n_done == 0


@pytest.mark.parametrize(
    ("rate", "fastest"), [(0.0, FASTEST), (0.1, FASTEST), (500.0, FASTEST), (200.0, FASTEST_WITH_FORCES)]
)
def test_there_is_none_for_streams_without_steady_or_with_short_pauses(clock, trial, rate, fastest):
    """Protects the processor: fast streams keep warm by themselves, and irregular ones cannot be foretold."""
    session = marker_session(trial.names, rate=rate, t_start=0)
    rehearsal = CacheWarming([], fastest)
    for _ in range(5):
        rehearsal.follow(frame_at(session, clock[0]))
        assert rehearsal.ahead_s() == 0.0
        clock[0] += round(1e9 / rate) if rate else PERIOD_NS


def test_a_frame_that_comes_early_is_not_held_up(clock, trial):
    """Protects latency: who waits for a rehearsal takes a frame that comes first, without it."""
    session = marker_session(trial.names, rate=100.0, t_start=0)
    frames = [frame_at(session, PERIOD_NS * k) for k in (1, 2, 3)]

    waits = []

    class Received:
        def wait(self, timeout_s):
            waits.append(timeout_s)
            return frames.pop(0)

    source = StreamInput(lambda: None)  # type: ignore[arg-type, return-value]
    source.subscriber = Received()  # type: ignore[assignment]
    source.rehearsal = CacheWarming([])
    for k in range(3):
        clock[0] = k * PERIOD_NS + 1000
        assert source.wait(lambda: None) is not None
    assert waits == [WAIT_S, WAIT_S, pytest.approx(1e-9 * (PERIOD_NS - LEAD_NS - 1000))]
    assert source.rehearsal.n_done == 0


def test_a_live_run_rehearses_and_tells_how_often(start, trial):
    """Protects the whole: over real sockets at a steady rate frames are rehearsed, and all come out."""
    session = marker_session(trial.names, rate=100.0, t_start=0)
    with Publisher(LOCAL) as publisher:
        run = start(address=publisher.address, rehearses=True)
        frames = MarkerFrames(trial.times, trial.positions)
        player = threading.Thread(
            target=play, args=(publisher, session, frames, 1.0), kwargs={"wait_s": GUARD_S}
        )
        player.start()
        seen = run.finish()
        player.join()
    results = [result for result in seen if not result.status & Status.STALE]
    assert [result.time for result in results] == pytest.approx(trial.times.tolist())
    assert 0 < run.final.gauges["rehearsals"] < len(trial.times)
