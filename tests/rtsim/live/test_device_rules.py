"""When torque may act in a device, and how it ends: one table of courses, every client held against it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, count
from pathlib import Path

import pytest

from streams.clock import now_ns
from streams.messages import Device
from tests.rtsim.live.clients import CLIENTS, HELD, KEEP, Trial, client
from tests.rtsim.live.output_table import good, parts_of
from tests.rtsim.live.rig import RAMP_MS, until
from tests.rtsim.live.test_device_clients import OTHER, RUN

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="it stops processes by signals"),
]
SHORT = 60.0
"""Time to live of outputs that are to run out [ms]."""
BUSY_S = 1.5
"""What a busy machine may take beside [s]."""
MS = 1_000_000
BRIEF = good("brief", torque=[HELD], valid_for_ms=SHORT)
OLD = good("waited", torque=[HELD], t_sent=lambda: now_ns() - 2000 * MS)


def of_session(session: str, **changed: object) -> object:
    """Return an output of a run."""
    return good("of a run", session=session, torque=[HELD], **changed)


def last(trial: Trial) -> Device:
    """Return what the client said last, waiting for it where all before was forgotten."""
    until(lambda: (trial.talk.port.poll(20) and trial.talk.listen()) or trial.talk.heard)
    return trial.talk.last


def is_over(trial: Trial) -> bool:
    """Whether the torque has ended and has been measured as zero: a motor's answer may be a tick behind."""
    message = last(trial)
    return message.state == "stopped" and message.torque == [0.0]


def stays_off(trial: Trial, seconds: float = 0.2, case: object = KEEP) -> None:
    """Have armed outputs come for a while: no torque acts."""
    trial.talk.heard.clear()
    due = time.monotonic() + seconds

    def is_over() -> bool:
        trial.answer(trial.say(case), 0.05)
        return bool(trial.talk.heard) and time.monotonic() > due

    until(is_over)
    assert all(m.torque == [0.0] and m.state != "armed" for m, _ in trial.talk.heard)


def armed(trial: Trial) -> None:
    """Disarm, arm, and wait for the torque."""
    until(lambda: trial.arm() or trial.hold())


def first_output_arms_nothing(trial: Trial) -> None:
    """An armed output that nothing disarmed before gives no torque."""
    stays_off(trial)
    armed(trial)


def torque_ends_with_its_time(trial: Trial) -> None:
    """Beyond the time to live torque falls to zero by the ramp, and stays there until disarmed and armed."""
    armed(trial)
    trial.talk.heard.clear()
    t_last = now_ns()
    trial.say(BRIEF)
    until(lambda: is_over(trial))
    said = [message for message, _ in trial.talk.heard]
    assert all(m.t < t_last + (SHORT + 20.0) * MS + 1e9 * BUSY_S for m in said if m.state == "armed")
    torques = [m.torque[0] for m in said if m.state in ("falling", "stopped")]
    assert torques == sorted(torques, reverse=True)
    assert torques[-1] == 0.0
    assert said[-1].t - t_last < (SHORT + RAMP_MS + 20.0) * MS + 1e9 * BUSY_S
    assert said[-1].fault
    stays_off(trial)
    armed(trial)


def waiting_costs_the_torque(trial: Trial) -> None:
    """What comes later than it lives is no command: it ends the torque at hand, and arms none."""
    armed(trial)
    trial.say(OLD)
    until(lambda: is_over(trial))
    trial.arm()
    stays_off(trial, case=OLD)
    armed(trial)


def another_run_must_disarm_first(trial: Trial) -> None:
    """The first armed output of another run ends the torque; two models that take turns arm nothing."""

    def ends_by_session() -> bool:  # on a busy machine its time may be over before the other run speaks
        armed(trial)
        trial.say(of_session(OTHER))
        until(lambda: is_over(trial))
        return "session" in last(trial).fault

    until(ends_by_session)
    stays_off(trial, case=of_session(OTHER))
    for _ in range(5):
        trial.answer(trial.say(of_session(OTHER), armed=False), 0.05)
        trial.answer(trial.say(of_session(RUN), armed=False), 0.05)
        trial.talk.heard.clear()
        trial.answer(trial.say(of_session(OTHER)), 0.05)
        assert all(m.torque == [0.0] for m, _ in trial.talk.heard)
    armed(trial)


def a_run_played_again_arms_nothing(trial: Trial) -> None:
    """All outputs of a run once more, with the stamps of then: none of them is a command."""
    trial.arm()
    t_then = now_ns() - 3000 * MS
    trial.talk.heard.clear()
    for seq in range(40):
        played = of_session(OTHER, t_sent=t_then + 5 * MS * seq, valid_for_ms=SHORT)
        trial.send(parts_of(played, seq, armed=seq > 20))
        time.sleep(0.005)
        trial.talk.listen()
    trial.answer(trial.say(KEEP, armed=False))
    assert all(m.torque == [0.0] and m.state != "armed" for m, _ in trial.talk.heard)
    armed(trial)


def a_number_at_its_end_is_no_end(trial: Trial) -> None:
    """Two outputs in a row may leap to the last number there is; the run goes on from a small one as well."""
    armed(trial)
    trial.numbers = chain([2**63 - 2, 2**63 - 1], count(next(trial.numbers)))
    trial.say(KEEP)
    assert trial.answer(trial.say(KEEP)) is not None
    trial.say(KEEP)
    assert trial.answer(trial.say(KEEP)) is not None
    armed(trial)


def a_stopped_client_finds_its_ramp_over(trial: Trial) -> None:
    """A process that is stopped for half a second has no torque left in its first tick: the ramp was then."""
    armed(trial)
    while last(trial).state != "armed" or trial.answer(trial.say(BRIEF)) is None:
        armed(trial)
    trial.talk.process.send_signal(signal.SIGSTOP)
    time.sleep(0.02)
    trial.talk.listen()
    trial.talk.heard.clear()
    time.sleep(0.5)
    t_on = now_ns()
    trial.talk.process.send_signal(signal.SIGCONT)
    until(lambda: trial.say(KEEP) and last(trial).t > t_on + 50 * MS)
    said = [m for m, _ in trial.talk.heard if m.t > t_on]
    assert all(m.torque == [0.0] and m.state in ("falling", "stopped") for m in said)
    armed(trial)


def a_model_that_asks_slowly_makes_no_ramp_longer(trial: Trial) -> None:
    """Ticks of a millionth of a second are asked for: the ramp is over by the clock all the same."""
    armed(trial)
    tiny = good("a tiny tick", torque=[HELD], valid_for_ms=SHORT, tick_ms=1e-3)
    trial.answer(trial.say(BRIEF))
    time.sleep(1e-3 * SHORT)
    trial.talk.heard.clear()
    t_begun = now_ns()
    until(lambda: trial.answer(trial.say(tiny), 0.05) and is_over(trial))
    # by the device's clock: how soon this process reads it does not count
    torques = [m.torque[0] for m, _ in trial.talk.heard if m.t > t_begun + (RAMP_MS + 2.0 * SHORT) * MS]
    assert all(torque == 0.0 for torque in torques)
    armed(trial)


COURSES: tuple[Callable[[Trial], None], ...] = (
    first_output_arms_nothing,
    torque_ends_with_its_time,
    waiting_costs_the_torque,
    another_run_must_disarm_first,
    a_run_played_again_arms_nothing,
    a_number_at_its_end_is_no_end,
    a_stopped_client_finds_its_ramp_over,
    a_model_that_asks_slowly_makes_no_ramp_longer,
)


@pytest.fixture(params=CLIENTS)
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trial]:
    """Each client in its turn."""
    with client(request.param, tmp_path) as made:
        yield Trial(made)


def test_every_client_keeps_the_rules(trial: Trial) -> None:
    """Protects whoever wears a copied client: latch, time to live and ramp, by the clock, in every course."""
    for course in COURSES:
        course(trial)
    assert trial.talk.process.poll() is None
