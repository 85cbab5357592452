"""Coordinates that a live stream moves: followed without jumps, checked, and at rest where it ends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.models.packing.couplers import N_KNOT
from rtsim.models.packing.functions import spline_at
from rtsim.simulation.load import load_simulator
from rtsim.simulation.motion_feed import PIECE, RAMP_S, SILENT_S, MotionFeed
from rtsim.simulation.simulator import Simulator
from rtsim.stages.device.forward import ForwardStep
from rtsim.units import streamed_scale
from streams.codec import FieldLayout
from streams.messages import FieldSpec, Session, Status
from streams.receiving.ring import ReceivedFrame

KICK = find_config("kick", "models").read_text(encoding="utf-8")
STREAM = "tcp://127.0.0.1:1"
TURN = 2.0 * math.pi


def test_a_piece_joins_values_slopes_and_second_derivatives():
    """Protects the smoothness of streamed motion: six numbers at the ends, no jump within."""
    ends = np.random.default_rng(3).normal(size=6)
    inner = PIECE @ ends
    knots = np.array([
        np.arange(4) / 3.0, [ends[0], *inner[:2], ends[3]], [ends[2], *inner[2:], ends[5]]
    ])  # fmt: skip
    np.testing.assert_allclose(spline_at(knots, 0.0), ends[:3], atol=1e-12)
    np.testing.assert_allclose(spline_at(knots, 1.0), ends[3:], atol=1e-12)
    for x in (1.0 / 3.0, 2.0 / 3.0):
        low, high = spline_at(knots, x - 1e-9), spline_at(knots, x + 1e-9)
        np.testing.assert_allclose(low[:2], high[:2], atol=1e-6)


UNITS = ("rad, m", "rad/s, m/s")


class Sender:
    """Frames of a live run's results, by hand; where no time is given, each a period after the one before."""

    def __init__(self, *names: str, rate: float = 100.0, units: Sequence[str] = UNITS) -> None:
        declared = zip(("coordinates", "coordinate_speeds"), units, strict=True)
        fields = tuple(FieldSpec(name, (len(names),), unit, names) for name, unit in declared)
        self.session = Session(session="s", stream="result", t_start=0, rate=rate, fields=fields)
        self.time = 0.0

    def frame(self, value: float, speed: float, status: int = 0, time: float | None = None) -> ReceivedFrame:
        frame = ReceivedFrame(self.session, FieldLayout(self.session))
        self.time = self.time + 1.0 / self.session.rate if time is None else time
        frame.status, frame.time = status, self.time
        frame.data["coordinates"][:], frame.data["coordinate_speeds"][:] = value, speed
        return frame


@pytest.fixture
def feed(model):
    """Of the kick's hip."""
    allow_compilation()
    return MotionFeed(load_simulator(model, motion=STREAM), ("hip",))


def hip(simulator: Simulator, time: float) -> tuple[float, float, float]:
    """Value, speed and acceleration that the simulation takes at a time."""
    functions, couplers = simulator.simulation.system.tree.functions, simulator.model.couplers
    own = int(np.flatnonzero(couplers.driver == couplers.coordinate)[0])
    start = int(functions.start[couplers.function[own]])
    return spline_at(functions.data[start : start + 3 * N_KNOT].reshape(3, N_KNOT), time)


def test_a_stream_is_followed_without_jumps(feed):
    """Protects the joining of frames: neither value nor speed jumps, the error after the ramp is small."""
    sender, simulator, seen = Sender("hip"), feed.simulator, []
    assert feed.drive(0.0) == Status.DEGRADED
    assert hip(simulator, 0.0)[0] == 0.0
    for tick in range(1, 2001):
        t = 1e-3 * tick
        if tick % 10 == 0:
            feed.admit(sender.frame(0.5 * math.sin(TURN * t), 0.5 * TURN * math.cos(TURN * t), time=t))
        feed.drive(t)
        seen.append((t, *hip(simulator, t)))
    t, value, speed, acceleration = np.array(seen).T
    assert np.abs(np.diff(value)).max() < 2e-3 * np.abs(speed).max()
    assert np.abs(np.diff(speed)).max() < 0.15  # the stream's own and the ramp's, 1 ms of 150 rad/s^2
    late = t > RAMP_S + 0.1
    assert np.abs(value - 0.5 * np.sin(TURN * t))[late].max() < 2e-3
    peak = 0.5 * TURN**2  # straight between pieces, all of it is lost; differences of speeds lose half
    assert np.abs(acceleration + peak * np.sin(TURN * t))[late].max() < 0.6 * peak
    assert feed.counters["motion_taken"] == 200


def test_where_a_stream_falls_silent_the_coordinate_comes_to_rest(feed):
    """Protects a run whose sender has gone: degraded and at rest, and joined again when it comes back."""
    sender = Sender("hip")
    feed.drive(0.0)
    for k in range(100):
        feed.admit(sender.frame(0.01 * k, 1.0))
        assert feed.drive(0.01 * (k + 1)) == Status.OK
    gone = [feed.drive(1.0 + 0.001 * k) for k in range(600)]
    assert gone[0] == Status.OK
    assert gone[-1] == Status.DEGRADED
    value, speed, acceleration = hip(feed.simulator, 1.6)
    assert (speed, acceleration) == (pytest.approx(0.0, abs=1e-9), 0.0)
    assert value == pytest.approx(1.0 + SILENT_S + 0.05, abs=0.02)
    assert sum("No more frames of the prescribed motion arrive" in said for said in feed.sentences) == 1
    for k in range(60):
        feed.admit(sender.frame(2.0, 0.0))
        assert feed.drive(1.7 + 0.01 * k) == Status.OK
        if k == 0:
            assert hip(feed.simulator, 1.701)[0] == pytest.approx(value, abs=1e-3)
    assert hip(feed.simulator, 1.7 + RAMP_S + 0.02)[0] == pytest.approx(2.0, abs=1e-6)


def test_frames_without_the_coordinate_or_without_numbers_are_counted(feed):
    """Protects the simulation from senders: no number, one of no motion, old frames, other coordinates."""
    sender = Sender("hip")
    feed.admit(sender.frame(math.nan, 0.0))
    feed.admit(sender.frame(1.0, 1e300))
    feed.admit(sender.frame(1.0, 0.0, int(Status.STALE)))
    feed.admit(Sender("knee").frame(1.0, 0.0))
    assert feed.counters["motion_unusable"] == 3
    assert "lacks hip with speeds" in feed.sentences[-1]
    assert feed.drive(0.0) == Status.DEGRADED
    for k in range(60):
        feed.admit(sender.frame(TURN + 0.1, 0.0))
        feed.drive(0.01 * k)
    assert hip(feed.simulator, 0.6)[0] == pytest.approx(0.1, abs=1e-6)


def test_a_sender_whose_time_stands_has_no_motion(feed):
    """Protects whoever is moved: the same frame again and again is no motion, and it comes to rest."""
    sender = Sender("hip")
    for k in range(60):
        feed.admit(sender.frame(0.1, 1.0, time=1.0))
        status = feed.drive(0.01 * k)
    assert (feed.counters["motion_taken"], feed.counters["motion_unusable"]) == (1, 59)
    assert status == Status.DEGRADED


def test_a_frame_without_numbers_leaves_the_one_before(feed):
    """Protects a tick to which two frames come: one that cannot be used is passed over."""
    sender = Sender("hip")
    for k in range(60):
        t = 0.02 * k
        feed.admit(sender.frame(0.5 * t, 0.5, time=t))
        feed.admit(sender.frame(math.nan, math.nan, time=t + 0.01))
        feed.drive(t)
    assert feed.counters == {
        "motion_taken": 60,
        "motion_unusable": 60,
        "motion_jumps": 0,
        "motion_missing": 0,
    }
    assert hip(feed.simulator, t)[:2] == pytest.approx((0.5 * t, 0.5), abs=1e-2)


@pytest.mark.parametrize(
    ("units", "scale"),
    [(UNITS, 1.0), (("rad", "rad/s"), 1.0), (("deg", "deg/s"), 180.0 / math.pi), (("deg", "rad/s"), None)],
    ids=str,
)
def test_a_stream_is_read_in_the_units_that_it_declares(feed, units, scale):
    """Protects from degrees taken as radians: speeds, and accelerations from their differences, as well."""
    sender = Sender("hip", units=units)
    of_value, of_speed = (scale, scale) if scale else (180.0 / math.pi, 1.0)
    for k in range(100):
        t = 0.01 * k
        feed.admit(sender.frame(of_value * t**2, of_speed * 2.0 * t, time=t))
        feed.drive(t)
    assert hip(feed.simulator, t) == pytest.approx((t**2, 2.0 * t, 2.0), abs=0.05)


@pytest.mark.parametrize("units", [("m", "m/s"), ("rad", "rad"), ("turn", "turn/s"), ("", "")], ids=str)
def test_a_stream_in_other_units_is_refused(feed, units):
    """Protects from numbers that mean something else: told with the field and what may be declared."""
    sender = Sender("hip", units=units)
    for k in range(10):
        feed.admit(sender.frame(0.1, 0.0))
        assert feed.drive(0.01 * k) == Status.DEGRADED
    assert feed.counters["motion_unusable"] == 10
    assert f"gives hip in {units[1]!r} (coordinate_speeds)" in feed.sentences[-1]
    assert (
        "must state rad/s, deg/s as the unit of a rotation, "
        "m/s, cm/s, mm/s as the unit of a translation" in feed.sentences[-1]
    )
    feed.admit(Sender("knee", units=units).frame(0.1, 0.0))
    assert "lacks hip with speeds" in feed.sentences[-1]
    feed.admit(Sender("hip").frame(0.1, 0.0))
    assert feed.drive(0.1) == Status.OK


def test_units_of_coordinates_that_slide():
    """Protects lengths: those of a field that has both kinds, and none that are angles."""
    assert streamed_scale("mm", False, 0) == 1e-3
    assert streamed_scale("deg/s^2, cm/s^2", False, 2) == 1e-2
    assert streamed_scale("deg/s^2, cm/s^2", True, 2) == math.radians(1.0)
    assert streamed_scale("rad/s", False, 1) == streamed_scale("m", False, 1) == 0.0


@pytest.mark.parametrize("other", ["hip", "knee"])
def test_a_new_session_finds_the_coordinate_at_rest(feed, other):
    """Protects from a sender that begins anew and brings nothing: the coordinate does not run on."""
    sender = Sender("hip")
    for k in range(100):
        feed.admit(sender.frame(0.01 * k, 1.0, time=0.01 * k))
        feed.drive(0.01 * k)
    feed.admit(sender.frame(1.0, 1.0, time=1.0))
    feed.admit(Sender(other).frame(math.nan, 0.0))
    assert [feed.drive(1.0 + 0.01 * k) for k in range(30)] == 30 * [Status.DEGRADED]
    value, speed, _ = hip(feed.simulator, 1.3)
    assert (value, speed) == (pytest.approx(1.04, abs=0.02), pytest.approx(0.0, abs=1e-9))


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (1, 0)], ids=str)
def test_fields_of_more_axes_have_no_coordinates(feed, shape):
    """Protects the run from a stranger's shapes: a row of numbers is no value."""
    names = ("coordinates", "coordinate_speeds", "coordinate_accelerations")
    fields = tuple(FieldSpec(name, shape, "rad", ("hip",)) for name in names)
    session = Session(session="s", stream="result", t_start=0, rate=100.0, fields=fields)
    feed.admit(ReceivedFrame(session, FieldLayout(session)))
    assert feed.counters["motion_unusable"] == 1
    assert "lacks hip with speeds" in feed.sentences[-1]


@pytest.mark.parametrize("values", [(1e7, 0.0), (0.0, 1e4), (1e300, 0.0), (0.0, -1e300)], ids=str)
def test_motion_that_nothing_has_is_left_out_and_told(feed, values):
    """Protects the simulation's numbers: beyond what moves, frames are no motion."""
    sender = Sender("hip")
    for k in range(1, 60):
        feed.admit(sender.frame(*(values if k % 2 else (0.1, 0.0))))
        feed.drive(0.01 * k)
    assert feed.counters["motion_unusable"] == 30
    assert feed.counters["motion_taken"] == 29
    assert sum("exceed 1e+06 rad" in said for said in feed.sentences) == 1
    assert hip(feed.simulator, 0.6)[:2] == pytest.approx((0.1, 0.0), abs=1e-6)


@pytest.mark.parametrize("rate", [0.0, 1e-300, 1e4, 1e12, 1e300])
@pytest.mark.parametrize("times", [(0.0, 0.01), (5.0, 5.0 + 1e-12), (1e300, -1e300)], ids=str)
def test_no_stated_rate_and_no_clock_makes_motion_endless(feed, rate, times):
    """Protects divisions by a period or by the time between frames, for streams without accelerations."""
    sender = Sender("hip", rate=rate)
    for k in range(1, 80):
        feed.admit(sender.frame(0.1, 0.01 * (-1) ** k, time=times[k % 2]))
        feed.drive(0.01 * k)
        assert np.abs(hip(feed.simulator, 0.01 * k + 0.005)).max() < 20.0
    assert feed.counters["motion_taken"] == 79


def test_a_frame_without_numbers_costs_no_other_one(feed):
    """Protects the next frame: differences are taken to the last speed that was one."""
    sender = Sender("hip")
    for k in range(1, 21):
        feed.admit(sender.frame(math.nan if k % 2 else 0.1, 0.0 if k % 4 else 0.01, time=0.01 * k))
    assert feed.counters == {
        "motion_taken": 10, "motion_unusable": 10, "motion_jumps": 0, "motion_missing": 0
    }  # fmt: skip


def test_a_motion_that_jumps_is_joined_anew(feed):
    """Protects the model from a leap in one period: told, flagged, and as slow as at a beginning."""
    sender, seen, flagged = Sender("hip"), [], 0
    for tick in range(1, 2401):
        t = 1e-3 * tick
        if tick % 10 == 0:
            feed.admit(sender.frame(0.1 if tick < 1200 else 2.1, 0.0, time=t))
        flagged += feed.drive(t) == Status.DEGRADED and tick > 10
        seen.append(hip(feed.simulator, t))
    value, speed, _ = np.array(seen).T
    assert (feed.counters["motion_jumps"], flagged) == (1, 1)
    assert sum("jumps" in said for said in feed.sentences) == 1
    assert np.abs(speed).max() < 3.0 * 2.0 / RAMP_S
    assert value[-1] == pytest.approx(2.1, abs=1e-6)


def test_a_flag_of_a_tick_is_told_with_the_next_frame(feed):
    """Protects the flag: frames are fewer than ticks, and a fault between two of them belongs to the next."""
    flags = [Status.OK] * 2 + [Status.DEGRADED] + [Status.OK] * 7
    feed.drive = lambda time: flags.pop(0)
    stage = ForwardStep(feed.simulator, 1000.0, every=5, feed=feed)
    outcomes = [stage.run(None) for _ in range(10)]
    assert [o.status for o in outcomes if o.told] == [Status.DEGRADED, Status.OK]


def test_a_restart_goes_on_from_the_motion_at_hand(feed):
    """Protects laps: time begins again, the coordinate stays where it is."""
    sender = Sender("hip")
    for k in range(100):
        feed.admit(sender.frame(1.0, 0.0))
        feed.drive(0.01 * k)
    feed.restart()
    assert hip(feed.simulator, 0.0)[0] == pytest.approx(1.0, abs=1e-9)
    feed.admit(sender.frame(1.0, 0.0))
    assert feed.drive(0.001) == Status.OK


@pytest.mark.parametrize("source", ["walk.c3d", "simulation"])
def test_angles_whose_speeds_are_older_do_not_move_a_limb(feed, source):
    """Protects the wearer of a moved limb: a person's speeds are a filter's delay older than the angles."""
    units = {"joint_angles": "rad", "joint_angle_speeds": "rad/s"}
    fields = tuple(FieldSpec(name, (1,), unit, ("hip",)) for name, unit in units.items())
    session = Session(
        session="s", stream="result", t_start=0, rate=100.0, fields=fields, meta={"source": source}
    )
    frame = ReceivedFrame(session, FieldLayout(session))
    frame.time, frame.data["joint_angles"][:], frame.data["joint_angle_speeds"][:] = 0.01, 0.1, 0.0
    feed.admit(frame)
    taken = source == "simulation"
    assert feed.counters["motion_taken"] == taken
    assert any("lag by the delay of a filter" in said for said in feed.sentences) != taken
