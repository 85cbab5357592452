"""Cases with markers of another person, elsewhere, mirrored, exchanged, frozen, or of an impossible walk."""

from __future__ import annotations

import numpy as np

from benchmarks.hil_hostile.case import HostileCase
from benchmarks.hil_hostile.cases.stream_time import STRIDES_S
from benchmarks.hil_hostile.scenarios import stream_goes_on, stream_lies
from benchmarks.hil_hostile.stream import Lie, OutgoingFrame, Positions, as_markers
from benchmarks.hil_hostile.wire import Keys

WORDS = ("no usable frame", "leaps by", "turns by", "infinite", "the joint's")


def moved(move: object) -> Lie:
    """Return a lie that changes positions by a function of them and of the frame."""
    return lambda f: [as_markers(f.keys, move(f.positions.copy(), f))]  # type: ignore[operator]


def jumps(x: Positions, f: OutgoingFrame) -> Positions:
    """Move the person by 3 m from one frame to the next."""
    return x + np.array([3.0, 0.0, 0.0])


def jumps_now_and_then(x: Positions, f: OutgoingFrame) -> Positions:
    """Move the person by 3 m and back every ten frames."""
    return x + np.array([3.0, 0.0, 0.0]) * (f.n // 10 % 2 == 0)


def turns_round(x: Positions, f: OutgoingFrame) -> Positions:
    """Rotate the person at once by 180 degrees about the vertical axis through the middle."""
    centre = np.nanmean(x, axis=0)
    return centre + (x - centre) * np.array([-1.0, 1.0, -1.0])


def falls_down(x: Positions, f: OutgoingFrame) -> Positions:
    """Rotate the person by 90 degrees about the forward direction within a fifth of a second."""
    a = 0.5 * np.pi * min(1.0, f.s / 0.2)
    centre = np.nanmean(x, axis=0)
    y, z = x[:, 1] - centre[1], x[:, 2] - centre[2]
    x[:, 1], x[:, 2] = centre[1] + np.cos(a) * y - np.sin(a) * z, centre[2] + np.sin(a) * y + np.cos(a) * z
    return x


def mirrored(x: Positions, f: OutgoingFrame) -> Positions:
    """Exchange right and left."""
    x[:, 2] = -x[:, 2]
    return x


def upside_down(x: Positions, f: OutgoingFrame) -> Positions:
    """Turn the person upside down."""
    x[:, 1:] = -x[:, 1:]
    return x


def larger(x: Positions, f: OutgoingFrame) -> Positions:
    """Make the person a quarter taller."""
    return 1.25 * x


def exchanged(x: Positions, f: OutgoingFrame) -> Positions:
    """Assign the names to other markers in a ring."""
    return np.roll(x, 5, axis=0)


def infinite(x: Positions, f: OutgoingFrame) -> Positions:
    """Return infinite positions."""
    return np.full_like(x, np.inf)


def far(x: Positions, f: OutgoingFrame) -> Positions:
    """Return positions at 1e300 m."""
    return np.full_like(x, 1e300)


def at_the_origin(x: Positions, f: OutgoingFrame) -> Positions:
    """Return all markers at zero, as some systems send invisible ones."""
    return np.zeros_like(x)


def noisy(x: Positions, f: OutgoingFrame) -> Positions:
    """Add noise of 10 cm to the positions."""
    return x + np.random.default_rng(f.n).normal(scale=0.1, size=x.shape)


def frozen(f: OutgoingFrame) -> list[Keys]:
    """Send the first frame again and again, with advancing times."""
    if f.n == 0:
        f.stream.frozen = f.positions.copy()
    return [as_markers(f.keys, f.stream.frozen)]


def backwards(f: OutgoingFrame) -> list[Keys]:
    """Send the walk backwards."""
    trial = f.stream.trial
    return [as_markers(f.keys, trial[(f.stream.at - 2 * f.n) % len(trial)])]


def five_times_as_fast(f: OutgoingFrame) -> list[Keys]:
    """Send the walk faster than any person can walk."""
    trial = f.stream.trial
    return [as_markers(f.keys, trial[(f.stream.at + 4 * f.n) % len(trial)])]


LIES: tuple[tuple[str, str, Lie], ...] = (
    ("jumps_3_m", "jumps 3 m from one frame to the next", moved(jumps)),
    ("jumps_now_and_then", "jumps 3 m forwards and back", moved(jumps_now_and_then)),
    ("turns_round", "is turned round from one frame to the next", moved(turns_round)),
    ("mirrored", "is mirrored", moved(mirrored)),
    ("upside_down", "is upside down", moved(upside_down)),
    ("taller", "is replaced by another person who is a quarter taller", moved(larger)),
    ("infinite", "has infinite positions", moved(infinite)),
    ("far", "has positions of 1e300 m", moved(far)),
    ("at_the_origin", "has all markers at zero", moved(at_the_origin)),
    ("noisy", "has marker noise of 10 cm", moved(noisy)),
    ("frozen", "is frozen: all frames are alike", frozen),
)
WALKS: tuple[tuple[str, str, Lie], ...] = (
    ("jumps_3_m", "jumps 3 m from one frame to the next", moved(jumps)),
    ("turns_round", "is turned round from one frame to the next", moved(turns_round)),
    ("walks_backwards", "walks backwards", backwards),
    ("walks_five_times_as_fast", "walks five times as fast", five_times_as_fast),
    ("frozen", "is frozen: all frames are alike", frozen),
    ("falls_down", "falls down within a fifth of a second", moved(falls_down)),
)
CASES = (
    *(
        HostileCase(
            f"person_{name}.worn",
            "stream",
            f"The person {what}.",
            stream_lies("worn", lie, lambda d: d.person, 2.5),
            WORDS,
        )
        for name, what, lie in LIES
    ),
    *(
        HostileCase(
            f"person_{name}.spline",
            "stream",
            f"The person {what}; the torque follows the gait phase.",
            stream_lies("spline", lie, lambda d: d.walk, 3.0, walk_s=STRIDES_S, by_torque=True),
        )
        for name, what, lie in WALKS
    ),
    HostileCase(
        "person_exchanged.worn",
        "stream",
        "The person has its markers' names exchanged, which is detected and undone.",
        stream_goes_on(moved(exchanged), 1.5),
        ("labels",),
    ),
)
