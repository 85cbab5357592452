"""Cases with marker streams of false time, pace or sessions, and with missing markers."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from benchmarks.hil_hostile.case import Evidence, HostileCase
from benchmarks.hil_hostile.judge import names
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.ramp import too_steep
from benchmarks.hil_hostile.rig import Rig, until
from benchmarks.hil_hostile.scenarios import stream_goes_on, stream_lies, walk_with_torque
from benchmarks.hil_hostile.stream import RATE, FalseStream, Lie, OutgoingFrame, as_markers
from benchmarks.hil_hostile.wire import Keys, Parts, packed
from streams.clock import now_ns

LOST = ("no markers", "no usable frame", "unreadable", "infinite", "ended")
RATES = (*LOST, " hz", "another session")
TOO_FAST = (*RATES, "more than 700 deg/s")
"""A limb that is shown at twice its speed may turn too fast before its rate is measured."""
FOOT = ("RHEE", "RMT1", "RMT5")
TOLD_S = 3.0
"""Rates are told by two windows of a second."""
ARMED_MOST = 4
"""Times that a person arms, where a stall of this computer ends the torque before a lie is told."""
STRIDES_S = 4.5
"""Time until the spline has torque: more than three strides."""


def gone(positions: Any) -> Any:
    """Return invisible markers: NaN."""
    return np.full_like(positions, np.nan)


def unseen(time_of: Any) -> Lie:
    """Return a lie in which no marker is visible, and times are those of a function of the frame."""
    return lambda f: [as_markers(f.keys, gone(f.positions), time=time_of(f))]


def seen_at(time_of: Any) -> Lie:
    """Return a lie in which all markers are visible, at times of a function of the frame."""
    return lambda f: [as_markers(f.keys, f.positions, time=time_of(f))]


def stands(f: OutgoingFrame) -> float:
    """Return the time at which the lie began."""
    return f.keys["time"] - f.n / RATE


def creeps(f: OutgoingFrame) -> float:
    """Return a hundredth of the time that has passed."""
    return stands(f) + 0.01 * f.n / RATE


def goes_back(f: OutgoingFrame) -> float:
    """Return a time that runs backwards at its usual pace."""
    return stands(f) - f.n / RATE


def leaps(f: OutgoingFrame) -> float:
    """Return a time that has leapt by a hundred seconds."""
    return f.keys["time"] + 100.0


def silence(f: OutgoingFrame) -> list[Keys]:
    """Send no frames."""
    return []


def silent_for(seconds: float) -> Lie:
    """Send no frames for this time."""
    return lambda f: [] if f.s < seconds else [as_markers(f.keys, f.positions)]


def bursts(f: OutgoingFrame) -> list[Keys]:
    """Send fifteen frames at once, then nothing until the next fifteen."""
    held = f.stream.held
    held.append(as_markers(f.keys, f.positions))
    if len(held) < 15:
        return []
    f.stream.held = []
    return held


def dense(f: OutgoingFrame) -> list[Keys]:
    """Time runs backwards at its usual pace."""
    first, seq = f.keys["time"] * 20.0, f.keys["seq"] * 20
    return [as_markers(f.keys, f.positions, seq=seq + k, time=first + k / RATE) for k in range(20)]


def dense_by_the_clock(f: OutgoingFrame) -> list[Keys]:
    """Send twenty frames in place of one, at times between those of two."""
    first, seq = f.keys["time"], f.keys["seq"] * 20
    return [as_markers(f.keys, f.positions, seq=seq + k, time=first + k / (20.0 * RATE)) for k in range(20)]


def half_rate(f: OutgoingFrame) -> list[Keys]:
    """Send every second frame at its time, with numbers as if none were missing."""
    return [as_markers(f.keys, f.positions, seq=f.keys["seq"])] if f.n % 2 else []


def session_of(stream: FalseStream, **changed: Any) -> Parts:
    """Return the descriptor of a new session with which the stream continues."""
    return packed("session", stream.renew(**changed))


def another_session(**changed: Any) -> Lie:
    """Begin another session with the first frame of the lie, which is honest except for its descriptor."""

    def lie(f: OutgoingFrame) -> list[Keys | Parts]:
        if f.n == 0:
            return [session_of(f.stream, **changed)]
        return [as_markers(f.keys, f.positions)]

    return lie


def sessions_in_turns(f: OutgoingFrame) -> list[Keys | Parts]:
    """Begin a new session every three frames."""
    if f.n % 3 == 0:
        return [session_of(f.stream)]
    return [as_markers(f.keys, f.positions)]


def end(f: OutgoingFrame) -> list[Keys | Parts]:
    """End the session under torque."""
    if f.n == 0:
        return [packed("end", {"session": f.keys["session"], "seq": f.keys["seq"], "reason": "over"})]
    return []


def rubbish_between(f: OutgoingFrame) -> list[Keys | Parts]:
    """Send ten invalid messages before each frame."""
    return [*([b"markers", b"\xc1" * 300] for _ in range(10)), as_markers(f.keys, f.positions)]


def rubbish_alone(f: OutgoingFrame) -> list[Parts]:
    """Send invalid messages in place of frames."""
    return [[b"markers", b"\xc1" * 300]]


def duplicates(f: OutgoingFrame) -> list[Keys]:
    """Send one frame again and again."""
    if f.n == 0:
        f.stream.held = [as_markers(f.keys, f.positions)]
    return f.stream.held


def leaps_in_seq(f: OutgoingFrame) -> list[Keys]:
    """Send frame numbers that leap by a million each."""
    return [as_markers(f.keys, f.positions, seq=f.keys["seq"] + 1_000_000 * (f.n + 1))]


def old_frames(f: OutgoingFrame) -> list[Keys]:
    """Send frames that were captured 300 ms ago according to their stamps."""
    late = f.stream.trial[(f.stream.at - 30) % len(f.stream.trial)]
    return [as_markers(f.keys, late, t_capture=f.keys["t_capture"] - 300_000_000, time=f.keys["time"] - 0.3)]


def no_finite_time(f: OutgoingFrame) -> list[Keys]:
    """Send a time that is NaN."""
    return [as_markers(f.keys, f.positions, time=math.nan)]


def short_data(f: OutgoingFrame) -> list[Keys]:
    """Send fewer bytes than the descriptor says."""
    return [{**f.keys, "data": {"positions": bytes(24)}}]


def foot_unseen(f: OutgoingFrame) -> list[Keys]:
    """Remove the markers of the right foot."""
    positions = f.positions.copy()
    positions[[k for k, name in enumerate(f.stream.names) if name in FOOT]] = np.nan
    return [as_markers(f.keys, positions)]


def ramp_of(lie: Lie, pace: float = RATE) -> Any:
    """Return a case in which the lie lasts before and while a person arms: torque must rise by the clock, by
    no more than stated.

    If something else ended the torque, such as a stall of this computer, the person arms again: the lie has
    to be named, by the fault that ends the torque or by the rejection.
    """

    def act(lab: RunningModels) -> Evidence:
        rig, answers = lab.rig("worn"), list[tuple[int, str]]()
        assert rig.stream is not None
        since = now_ns()

        def named() -> bool:
            return any(names(text, RATES) for t, text in [*rig.listener.said, *answers] if t >= since)

        with rig.device() as device:
            time.sleep(0.5)
            rig.stream.begin(lie, pace)
            time.sleep(0.5)
            for _ in range(ARMED_MOST):
                done, answer = arms_by(rig, 3.0)
                answers.append((now_ns(), answer))
                if not done:
                    break
                until(lambda: rig.listener.on, 0.5)
                until(lambda: not rig.listener.on, TOLD_S)
                if until(named, 0.5) or rig.listener.on:
                    break
        seen = rig.evidence(since, 0, math.nan)
        wrong = too_steep(rig.declared.spec, seen.torque, device.history)
        return seen._replace(said=[*seen.said, *answers], wrong=wrong)

    return act


def arms_by(rig: Rig, seconds: float) -> tuple[bool, str]:
    """Ask to arm until it succeeds, at most this long; return whether it did, and the last answer."""
    due = time.monotonic() + seconds
    while True:
        asked = now_ns()
        done, answer = rig.ask("arm")
        if done:
            rig.arms.append(asked)
        if done or time.monotonic() >= due:
            return done, answer
        time.sleep(0.05)


def vanishes(lab: RunningModels) -> Evidence:
    """Close the stream's socket under torque."""
    rig = lab.rig("worn")
    assert rig.stream is not None
    since = now_ns()
    with rig.device():
        walk_with_torque(rig, 0.5)
        gone_ns = now_ns()
        rig.stream.close()
        rig.watch(1.5, 0.3)
        seen = rig.evidence(since, gone_ns, rig.declared.lost)
    lab.end("worn")
    return seen


LIES: tuple[tuple[str, str, Lie, tuple[str, ...]], ...] = (
    ("unseen", "shows no marker, its time stamps are in order", unseen(lambda f: f.keys["time"]), LOST),
    ("unseen_time_stands", "shows no marker, and its time stands still", unseen(stands), LOST),
    ("unseen_time_creeps", "shows no marker, and its time runs too slowly", unseen(creeps), LOST),
    ("unseen_time_goes_back", "shows no marker, and its time goes back", unseen(goes_back), LOST),
    ("foot_unseen", "does not show the foot", foot_unseen, LOST),
    ("time_stands", "has a time that stands still", seen_at(stands), LOST),
    ("time_creeps", "has a time that runs too slowly", seen_at(creeps), LOST),
    ("time_goes_back", "has a time that goes back", seen_at(goes_back), LOST),
    ("silent", "falls silent", silence, LOST),
    ("silent_for_300_ms", "is silent for 300 ms", silent_for(0.3), LOST),
    ("bursts", "comes in bursts of 150 ms", bursts, LOST),
    ("rubbish", "is rubbish", rubbish_alone, LOST),
    ("duplicates", "repeats one frame again and again", duplicates, LOST),
    ("time_is_no_number", "has a time that is not a number", no_finite_time, LOST),
    ("short_data", "has fewer bytes than it says", short_data, LOST),
    ("seq_leaps", "has sequence numbers that jump", leaps_in_seq, LOST),
    ("ends", "ends under torque", end, LOST),
    ("sessions_in_turns", "begins a new session every three frames", sessions_in_turns, RATES),
    ("other_rate", "begins a session of 120 Hz", another_session(rate=120.0), RATES),
    ("rate_zero", "begins a session of 0 Hz", another_session(rate=0.0), RATES),
    (
        "millimetres",
        "begins a session of millimetres with numbers in metres",
        lambda f: another_session(fields=[{**f.stream.session["fields"][0], "unit": "mm"}])(f),
        LOST,
    ),
    (
        "no_such_markers",
        "begins a session whose markers have other names",
        lambda f: another_session(
            fields=[
                {**f.stream.session["fields"][0], "labels": [f"M{k}" for k in range(len(f.stream.names))]}
            ]
        )(f),
        LOST,
    ),
)
PACES: tuple[tuple[str, str, Lie, float], ...] = (
    ("twenty_times_as_dense", "sends twenty times as many frames as stated", dense, RATE),
    ("dense_by_the_clock", "has twenty frames instead of one, by their times", dense_by_the_clock, RATE),
    ("twice_as_fast", "comes at twice its rate", lambda f: [as_markers(f.keys, f.positions)], 2.0 * RATE),
    ("half_as_fast", "comes at half its rate", lambda f: [as_markers(f.keys, f.positions)], 0.5 * RATE),
)
CASES = (
    *(
        HostileCase(
            f"stream_{name}.worn",
            "stream",
            f"The stream {what}.",
            stream_lies("worn", lie, lambda d: d.lost),
            words,
        )
        for name, what, lie, words in LIES
    ),
    *(
        HostileCase(
            f"stream_{name}.spline",
            "stream",
            f"The stream {what}; the torque follows the gait phase.",
            stream_lies("spline", lie, lambda d: d.lost, 2.5, walk_s=STRIDES_S),
            LOST,
        )
        for name, what, lie, words in LIES
        if name in ("unseen_time_stands", "unseen_time_creeps", "silent")
    ),
    *(
        HostileCase(
            f"stream_{name}.worn",
            "stream",
            f"The stream {what} while the device applies torque.",
            stream_lies("worn", lie, lambda d: d.pace, 3.0, pace),
            TOO_FAST if pace > RATE else RATES,
        )
        for name, what, lie, pace in PACES
    ),
    *(
        HostileCase(
            f"stream_{name}_while_armed.worn",
            "stream",
            f"The stream {what} while a person arms.",
            ramp_of(lie, pace),
            RATES,
        )
        for name, what, lie, pace in PACES
    ),
    HostileCase("stream_vanishes.worn", "stream", "The stream vanishes.", vanishes, LOST),
    HostileCase(
        "stream_rubbish_between.worn",
        "stream",
        "The stream has random bytes between its frames.",
        stream_goes_on(rubbish_between),
    ),
    HostileCase(
        "stream_old.worn",
        "stream",
        "The frames of the stream are 300 ms old by their own time stamps.",
        stream_lies("worn", old_frames, lambda d: d.pace, 3.0),
        (*LOST, "the joint's"),
    ),
)
