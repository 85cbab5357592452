"""Cases with a false joint angle: offset, late, mirrored, frozen, scaled, drifting."""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarks.hil_hostile.case import HostileCase
from benchmarks.hil_hostile.device import Lie, Moment
from benchmarks.hil_hostile.scenarios import device_angle
from benchmarks.hil_hostile.wire import Keys

RUNS = {
    "ankle": "a standing leg in lockstep",
    "free": "a swinging leg in a free run",
    "worn": "a walking person",
}
TOLD = ("angle", "sensor", "measures", "leaps", "off the", "apart")
DRIFT_DEG_S = 10.0


def turned(amount: Callable[[Moment, float], float]) -> Lie:
    """Add this amount to the angle [deg], by the moment and the true angle [deg]; speeds stay as they are."""

    def lie(told: Keys, m: Moment) -> list[Keys]:
        return [{**told, "angle": [math.radians(amount(m, math.degrees(told["angle"][0])))]}]

    return lie


def off(deg: float, over_s: float = 0.0) -> Lie:
    """Return an offset of the angle [deg], at once or along a drift."""
    return turned(lambda m, true: true + deg * (min(1.0, m.s / over_s) if over_s else 1.0))


def late(ms: float) -> Lie:
    """Return angle and speed delayed by this time; the delay grows slowly, so that nothing leaps."""

    def lie(told: Keys, m: Moment) -> list[Keys]:
        angle, speed = m.ago(ms * min(1.0, m.s / 0.3))
        return [{**told, "angle": [angle], "speed": [speed]}]

    return lie


def mirrored(told: Keys, m: Moment) -> list[Keys]:
    """Return angle and speed with the opposite sign, about the angle at which the lie begins, so that
    nothing leaps.
    """
    if m.n == 0:
        m.device.pivot = told["angle"][0]
    pivot = m.device.pivot
    return [{**told, "angle": [2.0 * pivot - told["angle"][0]], "speed": [-told["speed"][0]]}]


def frozen(noise_deg: float) -> Lie:
    """Return the angle of the first moment with noise, and zero speed."""

    def lie(told: Keys, m: Moment) -> list[Keys]:
        if m.n == 0:
            m.device.pivot = told["angle"][0]
        noise = math.radians(m.rng.gauss(0.0, noise_deg))
        return [{**told, "angle": [m.device.pivot + noise], "speed": [0.0]}]

    return lie


def scaled(by: float) -> Lie:
    """Return an angle with another scale, which develops within a second, so that nothing leaps."""
    return turned(lambda m, true: true * (1.0 + (by - 1.0) * min(1.0, m.s)))


def in_swing(deg: float) -> Lie:
    """Return an angle with an error that grows with the speed of the joint, as with a strap that is loose in
    swing: half of it at 40 deg/s.
    """

    def lie(told: Keys, m: Moment) -> list[Keys]:
        share = min(1.0, abs(math.degrees(told["speed"][0])) / 80.0)
        return [{**told, "angle": [told["angle"][0] + math.radians(deg) * share]}]

    return lie


def in_turns(told: Keys, m: Moment) -> list[Keys]:
    """Return an angle with an error of up to 8 degrees and back, five times a second."""
    share = min(1.0, 2.0 * math.sin(math.pi * (m.s % 0.2) / 0.2))
    return [{**told, "angle": [told["angle"][0] + math.radians(8.0) * share]}]


LIES: dict[str, tuple[str, Lie]] = {
    "off_6_deg": ("is suddenly wrong by 6 degrees", off(6.0)),
    "off_10_deg": ("is wrong by 10 degrees after a tenth of a second", off(10.0, 0.1)),
    "off_25_deg": ("is suddenly wrong by 25 degrees", off(25.0)),
    "off_minus_8_deg": (
        "is wrong by 8 degrees in the other direction after a tenth of a second",
        off(-8.0, 0.1),
    ),
    "drifts_to_7_deg": ("drifts by 7 degrees within 2 s", off(7.0, 2.0)),
    "drifts_to_25_deg": ("drifts by 25 degrees within 2.5 s", off(25.0, 2.5)),
    "late_60_ms": ("is 60 ms late", late(60.0)),
    "late_100_ms": ("is 100 ms late", late(100.0)),
    "late_200_ms": ("is 200 ms late", late(200.0)),
    "mirrored": ("is mirrored", mirrored),
    "frozen": ("is frozen", frozen(0.0)),
    "frozen_with_noise": ("is frozen, with noise", frozen(0.02)),
    "scaled_by_half": ("is half of its true value", scaled(0.5)),
    "doubled": ("is twice its true value", scaled(2.0)),
    "degrees_for_radians": (
        "is sent in degrees instead of radians",
        turned(lambda m, true: math.degrees(true)),
    ),
    "off_in_swing": ("is wrong by up to 10 degrees while the joint moves", in_swing(10.0)),
    "off_in_turns": ("is wrong by up to 8 degrees and right again, five times a second", in_turns),
}
OF_RUN = {
    "ankle": (
        "off_6_deg",
        "off_10_deg",
        "off_25_deg",
        "off_minus_8_deg",
        "drifts_to_7_deg",
        "drifts_to_25_deg",
        "degrees_for_radians",
        "off_in_turns",
        "late_100_ms",
        "frozen",
        "mirrored",
    ),
    "free": (
        "off_10_deg",
        "drifts_to_7_deg",
        "late_60_ms",
        "late_100_ms",
        "late_200_ms",
        "mirrored",
        "frozen",
        "frozen_with_noise",
        "scaled_by_half",
        "doubled",
        "off_in_swing",
    ),
    "worn": (
        "off_6_deg",
        "off_10_deg",
        "drifts_to_7_deg",
        "late_60_ms",
        "late_100_ms",
        "late_200_ms",
        "mirrored",
        "frozen",
        "frozen_with_noise",
        "off_in_swing",
    ),
}
FOLLOWS = ("late", "mirrored", "frozen", "scaled", "doubled")
"""Lies that begin so are told by how the angle follows the joint's."""
CASES = tuple(
    HostileCase(
        f"angle_{name}.{run}",
        "device",
        f"The angle of {RUNS[run]} {LIES[name][0]}.",
        device_angle(
            run, LIES[name][1], (lambda d: d.following) if name.startswith(FOLLOWS) else (lambda d: d.lie)
        ),
        TOLD,
        lie=True,
    )
    for run, names in OF_RUN.items()
    for name in names
)
