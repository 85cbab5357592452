"""The device's guard: no torque by an old command, none after a fall until disarmed and armed again."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtsim.config.runs.device_schema import SafeState
from rtsim.device.watchdog import WINDOW_NS, Delays, Watchdog
from streams.messages import Output

MS = 1_000_000
RUN, OTHER = "0123456789abcdef", "fedcba9876543210"
SAFE = {
    "ramp": SafeState("ramp", ramp_ms=10.0),
    "damp": SafeState("damp", ramp_ms=5.0, lasts_ms=5.0, damping_N_m_s_rad=2.0),
    "hold": SafeState("hold", ramp_ms=5.0, lasts_ms=5.0, damping_N_m_s_rad=2.0, stiffness_N_m_rad=30.0),
    "last": SafeState("last", ticks=3),
}


def output(seq: int, t_sent: int, armed: bool, session: str = RUN) -> Output:
    """Return an output that is valid for 5 ms."""
    return Output(
        session=session, seq=seq, t_sent=t_sent, valid_for_ms=5.0, armed=armed, time=0.0, tick_ms=1.0,
        torque=[4.0], torque_max=[10.0], angle=[0.0], speed=[0.0],
    )  # fmt: skip


def armed(kind: str = "ramp") -> Watchdog:
    """Return a watchdog that was disarmed at 0 ms and armed at 1 ms, ticking once a millisecond."""
    watchdog = Watchdog(SAFE[kind], 1e-3)
    watchdog.take(output(0, 0, False), 0, 0.0, 0.0)
    watchdog.take(output(1, MS, True), MS, 0.0, 0.0)
    assert watchdog.state == "armed"
    return watchdog


def fallen(watchdog: Watchdog, angle: float = 0.0, speed: float = 0.0, **tick) -> float:
    """Return the torque of the safe state after a tick of a millisecond."""
    watchdog.tick(1e-3, tick.get("t_ns"), tick.get("asked", False))
    return watchdog.falling_torque(angle, speed)


def test_nothing_arms_that_was_not_disarmed_before() -> None:
    """Protects who just connected: the first command that comes cannot be one that gives torque."""
    watchdog = Watchdog(SAFE["ramp"], 1e-3)
    for k in range(5):
        watchdog.take(output(k, k * MS, True), k * MS, 0.0, 0.0)
        assert watchdog.state == "disarmed"


def test_an_old_command_falls_and_stays() -> None:
    """Protects the time to live and the latch: torque comes back by disarming and arming alone."""
    watchdog = armed()
    watchdog.look(6 * MS, 4.0, 0.0)
    assert watchdog.state == "armed"
    watchdog.look(6 * MS + 1, 4.0, 0.0)
    assert watchdog.state == "falling"
    assert watchdog.fault
    for k in range(20):
        watchdog.take(output(2 + k, (7 + k) * MS, True), (7 + k) * MS, 0.0, 0.0)
        fallen(watchdog)
    assert watchdog.state == "stopped"
    watchdog.take(output(30, 30 * MS, False), 30 * MS, 0.0, 0.0)
    assert (watchdog.state, watchdog.fault) == ("disarmed", "")
    watchdog.take(output(31, 31 * MS, True), 31 * MS, 0.0, 0.0)
    assert watchdog.state == "armed"


def test_a_command_that_waited_arms_nothing() -> None:
    """Protects from queues: what comes late by more than its time to live is no command."""
    watchdog = Watchdog(SAFE["ramp"], 1e-3)
    watchdog.take(output(0, 0, False), 0, 0.0, 0.0)
    watchdog.take(output(1, 1 * MS, True), 20 * MS, 0.0, 0.0)
    assert watchdog.state == "disarmed"


def test_another_session_falls_and_must_disarm_first() -> None:
    """Protects from a model that was started anew: its first armed command gives no torque."""
    watchdog = armed()
    watchdog.take(output(0, 2 * MS, True, OTHER), 2 * MS, 4.0, 0.0)
    assert watchdog.state == "falling"
    for _ in range(20):
        fallen(watchdog)
    watchdog.take(output(1, 3 * MS, True, OTHER), 3 * MS, 0.0, 0.0)
    assert watchdog.state == "stopped"


@given(origin=st.integers(-(10**15), 10**15), late_ms=st.floats(0.0, 50.0))
def test_age_needs_no_common_clock(origin: int, late_ms: float) -> None:
    """Protects machines whose clocks have other origins: age is how much later than the swiftest."""
    delays = Delays()
    delays.note(origin, 7 * MS)
    assert delays.age_ms(origin + 3 * MS, 10 * MS + round(late_ms * MS)) == pytest.approx(late_ms, abs=1e-4)


def test_clocks_may_drift() -> None:
    """Protects long runs: after two windows the least delay is that of now."""
    delays = Delays()
    for k in range(40):
        delays.note(k * WINDOW_NS // 10, k * WINDOW_NS // 10 + k * MS)  # later and later
    assert delays.age_ms(0, 39 * MS) < 25.0


@pytest.mark.parametrize("kind", SAFE)
def test_the_safe_state_is_what_it_says(kind: str) -> None:
    """Protects each kind: the torque in each tick, and none in the end."""
    watchdog = armed(kind)
    watchdog.fall("why", 4.0, 0.1)
    angle, speed = 0.2, 0.5
    found = [fallen(watchdog, angle, speed) for _ in range(15)]
    faded = [1.0] * 5 + [0.8, 0.6, 0.4, 0.2] + [0.0] * 6
    expected = {
        "ramp": [4.0 * (1.0 - 0.1 * k) for k in range(1, 11)] + [0.0] * 5,
        "damp": [-1.0 * share for share in faded],
        "hold": [-4.0 * share for share in faded],
        "last": [4.0] * 3 + [0.0] * 12,
    }[kind]
    assert found == pytest.approx(expected, abs=1e-12)
    assert watchdog.state == "stopped"


@pytest.mark.parametrize("kind", SAFE)
def test_a_device_that_was_stopped_finds_its_safe_state_over(kind: str) -> None:
    """Protects the joint from a stalled device: what is left of the safe state counts from the expiry on."""
    watchdog = armed(kind)
    watchdog.tick(1e-3, 2 * MS, False)
    watchdog.look(500 * MS, 4.0, 0.1)
    assert watchdog.state == "falling"
    assert fallen(watchdog, 0.2, 0.5, t_ns=500 * MS) == 0.0
    assert watchdog.state == "stopped"


def test_a_ramp_that_is_found_late_is_as_far_as_the_clock() -> None:
    """Protects the ramp: found 3 ms too late, its first tick is 3 ms down, not all that passed before."""
    watchdog = armed()
    watchdog.tick(1e-3, MS, False)
    watchdog.look(9 * MS, 4.0, 0.0)  # sent at 1 ms, valid for 5
    assert fallen(watchdog, t_ns=9 * MS) == pytest.approx(4.0 * 0.7)
    assert fallen(watchdog, t_ns=11 * MS) == pytest.approx(4.0 * 0.5)


def test_ticks_that_are_asked_for_count_alike_until_the_clock_is_far_ahead() -> None:
    """Protects both: a lockstep run repeats however long each tick took, and no model holds a ramp up."""
    found = []
    for late_ms in (0.0, 0.4):
        watchdog = armed()
        watchdog.fall("why", 4.0, 0.0)
        times = [round((2 + k * (1.0 + late_ms)) * MS) for k in range(9)]
        found.append([fallen(watchdog, t_ns=t, asked=True) for t in times])
    assert found[0] == found[1]
    watchdog = armed()
    watchdog.fall("why", 4.0, 0.0)
    torques = [
        (watchdog.tick(1e-9, (2 + 4 * k) * MS, True), watchdog.falling_torque(0.0, 0.0))[1] for k in range(6)
    ]
    assert torques[1] > 3.9  # 4 ms late: the command was valid for 5
    assert torques[2] == pytest.approx(4.0 * 0.2, abs=1e-6)  # 8 ms: the clock counts
    assert torques[4] == 0.0


def test_a_clock_that_goes_back_holds_no_torque() -> None:
    """Protects from a clock that leaps: the command ends at once, and the ramp ends by its ticks."""
    watchdog = armed()
    watchdog.look(-MS, 4.0, 0.0)
    assert (watchdog.state, watchdog.fault) == ("falling", "the clock went back")
    watchdog = armed()
    watchdog.fall("why", 4.0, 0.0)
    found = [fallen(watchdog, t_ns=(1000 - 10 * k) * MS) for k in range(11)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == 0.0


def test_a_command_that_waited_ends_the_torque() -> None:
    """Protects the time to live: torque of a command that comes too late does not act for a tick."""
    watchdog = armed()
    watchdog.take(output(2, 2 * MS, True), 9 * MS, 4.0, 0.0)
    assert watchdog.state == "falling"


def test_a_safe_state_without_its_numbers_is_refused() -> None:
    """Protects configs: damp, hold and last say what they need."""
    for kind in ("damp", "hold", "last"):
        with pytest.raises(msgspec.ValidationError, match="needs"):
            msgspec.convert({"kind": kind}, SafeState)
