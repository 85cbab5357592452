"""A measurement held against what was told: the kernel against the same in plain Python and NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernels.sensors.comparison import (
    AGREED_S,
    ANGLE_OFF,
    ANGLE_OVER,
    EH,
    EXTRA,
    GAIN_OFF,
    HH,
    LEAP_RAD,
    LONG_S,
    LONGEST_S,
    MOST_GAIN_OFF,
    MOVED_RAD,
    N_STATE,
    OFF,
    SHORT_S,
    SPEED_OFF,
    SPEED_OVER,
    TURNED,
    WORST,
    Allowed,
    compare,
)
from kernels.sensors.lag_sums import MEMORY_S, N_SUM
from kernels.sensors.told import N_TOLD

TICK_S, N_KEPT, N = 0.005, 60, 1200
ALLOWED = Allowed(agreement=math.radians(5.0), n_late=10, most_s=0.1, speed_max=math.radians(600.0))


class Times:
    """For how long something was wrong."""

    def __init__(self) -> None:
        self.wrong = self.right = 0.0
        self.over = False

    def add(self, wrong: bool, passed: float) -> None:
        self.wrong *= math.exp(-passed / LONG_S)
        if wrong:
            self.right, self.wrong = 0.0, self.wrong + passed
            self.over = self.over or self.wrong > ALLOWED.most_s
            return
        self.right += passed
        if self.over and self.right > AGREED_S:
            self.over, self.wrong = False, 0.0


class Twin:
    """What the kernel does, with whole arrays of what was told and of the samples so far."""

    def __init__(self, told: np.ndarray) -> None:
        self.told = told  # (N, 3) - time, angle, speed, of which the newest N_KEPT count
        self.samples: list[tuple[float, np.ndarray]] = []
        self.off = self.worst = self.turned = self.extra = self.hh = self.eh = 0.0
        self.off_times, self.denied_times = Times(), Times()
        self.was: tuple[int, float, float] | None = None

    def angle(self, seq: int, newest: int) -> float:
        return float(self.told[seq, 1]) if max(0, newest - N_KEPT + 1) <= seq <= newest else math.nan

    def look(self, at: int, newest: int, angle: float, speed: float, by_device: float) -> int:
        reference = self.angle(at, newest)
        if math.isnan(reference):
            self.was = None
            return -1
        off = angle - reference
        if abs(off) > ALLOWED.agreement:
            known = self.told[max(0, at - ALLOWED.n_late, newest - N_KEPT + 1) : newest + 1, 1]
            off = angle - float(np.clip(angle, np.nanmin(known), np.nanmax(known)))
        self.off = off if abs(off) > ALLOWED.agreement else 0.0
        self.off_times.add(self.off != 0.0, TICK_S)
        if abs(self.off) > abs(self.worst) or not (self.off or self.off_times.over):
            self.worst = self.off
        r, s, m = reference, float(self.told[at, 2]), angle
        self.samples.append((TICK_S, np.array([1.0, r, s, m, r * r, r * s, s * s, r * m, s * m, m * m])))
        found = self.of_speed(at, newest, angle, speed, by_device)
        found |= ANGLE_OFF * (self.off != 0.0) | ANGLE_OVER * self.off_times.over
        return found | SPEED_OVER * self.denied_times.over

    def of_speed(self, at: int, newest: int, angle: float, speed: float, by_device: float) -> int:
        was, self.was = self.was, (at, angle, speed)
        self.turned, self.extra = (math.exp(-TICK_S / SHORT_S) * x for x in (self.turned, self.extra))
        if was is None or was[0] <= newest - N_KEPT:
            return 0
        told_s = float(self.told[at, 0] - self.told[was[0], 0])
        both = [told_s] if math.isnan(by_device) else [told_s, by_device]
        leap = abs(self.angle(at, newest) - self.angle(was[0], newest))
        if min(both) < 0.0 or max(both) > LONGEST_S or leap > ALLOWED.speed_max * max(both) + LEAP_RAD:
            return 0
        turns = [w * t for w in (was[2], speed) for t in both]  # the least and the greatest that is possible
        turned = angle - was[1]
        self.turned += turned
        self.extra += min(turns) - turned if turned < min(turns) else min(0.0, max(turns) - turned)
        k = math.exp(-TICK_S / MEMORY_S)
        self.hh = k * self.hh + TICK_S * self.turned**2
        self.eh = k * self.eh + TICK_S * self.turned * self.extra
        moved = self.hh > MOVED_RAD**2 * MEMORY_S and abs(self.eh) > MOST_GAIN_OFF * self.hh
        found = SPEED_OFF if abs(self.extra) > ALLOWED.agreement else GAIN_OFF * moved
        self.denied_times.add(bool(found), TICK_S)
        return found

    def sums(self) -> np.ndarray:
        """(N_SUM,) - of all samples, each by its age."""
        ages = TICK_S * np.arange(len(self.samples))[::-1]
        return sum(math.exp(-a) * w * x for a, (w, x) in zip(ages, self.samples, strict=True))


def course(kind: str, told: np.ndarray, seq: int) -> tuple[int, float, float, float]:
    """Which output a measurement answers, its angle and speed, and the time by the device's clock."""
    angle, speed, odd = float(told[seq, 1]), float(told[seq, 2]), seq % 300 > 200
    at = seq
    if kind == "late":
        at = max(0, seq - 4)
    elif kind == "too old" and odd:
        at = seq - 59 - seq % 3  # of which some are not kept any more
    elif kind == "off":
        angle += math.radians(9.0) if odd else 0.0
    elif kind == "fast":
        speed *= 1.8 if seq > 200 else 1.0
    elif kind == "runs away":
        speed += 20.0 if odd else 0.0
    return at, angle, speed, 0.7 * TICK_S if kind == "clock" else math.nan


@pytest.mark.parametrize(
    "kind", ["honest", "late", "too old", "off", "fast", "runs away", "clock", "unknown"]
)
def test_the_kernel_finds_what_its_twin_finds(kind: str) -> None:
    """Protects the watch over the sensors: every sum and every verdict, in each kind of course."""
    rng = np.random.default_rng(3)
    time = TICK_S * np.arange(N)
    swing = 0.08 if kind == "fast" else 0.4  # so little that the gain tells it before the turn does
    told = np.stack([time, swing * np.sin(6.0 * time), swing * 6.0 * np.cos(6.0 * time)], axis=1)
    if kind == "unknown":
        told[400:500, 1] = np.nan
    rows, state, twin = np.full((N_KEPT, N_TOLD), -1.0), np.zeros(N_STATE), Twin(told)
    verdicts = set()
    for seq in range(N):
        rows[seq % N_KEPT] = seq, *told[seq]
        at, angle, speed, by_device = course(kind, told, seq)
        angle = (0.1 if math.isnan(angle) else angle) + 1e-4 * float(rng.standard_normal())
        found = compare(state, rows, ALLOWED, at, seq, angle, speed, TICK_S, by_device)
        assert found == twin.look(at, seq, angle, speed, by_device), seq
        verdicts.add(found)
    told_by = [twin.off, twin.worst, twin.turned, twin.extra, twin.hh, twin.eh]
    assert state[[OFF, WORST, TURNED, EXTRA, HH, EH]] == pytest.approx(told_by, rel=1e-9, abs=1e-12)
    assert state[:N_SUM] == pytest.approx(twin.sums(), rel=1e-9, abs=1e-12)
    bits = {"off": ANGLE_OFF | ANGLE_OVER, "fast": GAIN_OFF | SPEED_OVER, "runs away": SPEED_OFF | SPEED_OVER}
    found_of = 0
    for verdict in verdicts - {-1}:
        found_of |= verdict
    assert found_of & bits.get(kind, 0) == bits.get(kind, 0)
    assert found_of == 0 or kind != "honest"
    assert (-1 in verdicts) == (kind in ("too old", "unknown"))
