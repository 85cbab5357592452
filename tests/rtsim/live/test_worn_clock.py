"""Markers that come over a socket and lie about their time: torque ends by this computer's clock."""

from __future__ import annotations

import math
import threading
import time
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from kernels.compiler.jit import allow_compilation
from rtsim.config.controllers.stiffness_damping import Controller
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.live.hardware.wearable_run import run_of, wearable_loop
from rtsim.live.inputs.recorded import KeptResults
from rtsim.live.inputs.sources import load_trial
from streams.clock import now_ns
from streams.messages import Command, Markers, Output, marker_session
from streams.publisher import Publisher
from tests.rtsim.device.straight import StraightPort
from tests.rtsim.live.hardware.test_wearable_run import RUN
from tests.rtsim.live.rig import until

pytestmark = pytest.mark.process
BUSY_S = 1.5
"""What a busy machine may add to a time."""


class Walker(threading.Thread):
    """Sends the walker's markers at 100 Hz, as a test has it change them.

    Attributes
    ----------
    every_s : between two frames [s]; silent : it sends none; forge : changes a frame before it goes
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.trial = load_trial("walker", 60.0)
        self.publisher = Publisher("tcp://127.0.0.1:0")
        self.every_s, self.silent, self.over = 0.01, False, False
        self.rate, self.next_rate = 100.0, 100.0
        self.forge = lambda frame: frame
        self.session = self._announce()

    def _announce(self):
        self.rate, self.k = self.next_rate, 0
        session = marker_session(self.trial.names, rate=self.rate, t_start=now_ns())
        self.publisher.announce(session)
        return session

    def begin(self, rate: float) -> None:
        """Begin another session with the next frame."""
        self.next_rate, self.session = rate, None

    def run(self) -> None:
        due = time.perf_counter()
        while not self.over:
            session = self.session  # the test takes it away for another
            if session is None:
                session = self.session = self._announce()
            self.publisher.service()
            if not self.silent:
                positions = self.trial.positions[self.k % len(self.trial.times)]
                frame = Markers(
                    session=session.session, seq=self.k, t_capture=now_ns(), time=0.01 * self.k,
                    data={"positions": positions.tobytes()},
                )  # fmt: skip
                self.publisher.send(self.forge(frame))
                self.k += 1
            due = max(due + self.every_s, time.perf_counter() - 0.05)
            time.sleep(max(0.0, due - time.perf_counter()))
        self.publisher.close()


class Worn:
    """A spring on the walker's ankle, on markers of a socket, with a simulated device in the same process."""

    def __init__(self, folder: Path, **changed) -> None:
        self.walker = Walker()
        run = folder / "walk.toml"
        run.write_text(RUN.replace("SOURCE", self.walker.publisher.address), encoding="utf-8")
        spec = load_toml(find_config("worn_ankle", "hil"), HilSpec)
        limits = replace(
            spec.limits, ramp_s=changed.pop("ramp_s", 0.2), energy_max_J=1e3, tracking_ms=5000.0,
            speed_max_deg_s=5000.0, measured_max_Nm=100.0,
        )  # fmt: skip
        mode = changed.pop("mode", "free")
        markers = replace(spec.markers, run=str(run), **changed)
        exchange = replace(spec.exchange, mode=mode, deadline_ms=1000.0, valid_for_ms=1000.0)
        self.spec = replace(
            spec, device="ideal_orthosis", markers=markers, exchange=exchange, limits=limits,
            controller=Controller(stiffness_N_m_rad=10.0, neutral_deg=60.0),
        )  # fmt: skip
        self.port, self.kept = (
            StraightPort(load_toml(find_config("ideal_orthosis", "devices"), DeviceSpec)),
            KeptResults(),
        )
        self.port.hello()

    def __enter__(self) -> Worn:
        allow_compilation()  # the run before has forbidden it
        self.loop = wearable_loop(self.spec, run_of(self.spec), self.port, self.kept)
        self.walker.start()
        self.thread = threading.Thread(target=self.loop.run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.loop.stop()
        self.thread.join(120.0)
        self.walker.over = True
        self.walker.join(120.0)

    def ask(self, name: str) -> tuple[bool, str]:
        """Give a command."""
        return self.loop.command(Command(name=name))

    def armed(self) -> None:
        """Arm, and wait for torque; anew where a busy machine costs it the torque meanwhile."""

        def has_torque() -> bool:
            if not (self.port.outputs and self.port.outputs[-1].armed):
                self.ask("arm")
            return bool(self.port.outputs) and abs(self.port.outputs[-1].torque[0]) > 1.0

        until(has_torque)
        self.kept.sentences.clear()

    def torque_s(self, since_ns: int) -> float:
        """How long after a time the last torque was commanded [s]."""
        last = max((o.t_sent for o in self.port.outputs if o.torque != [0.0]), default=since_ns)
        return 1e-9 * (last - since_ns)

    def told(self, words: str) -> bool:
        """Whether a sentence with these words was told."""
        return any(words in said for said in list(self.kept.sentences))


def unseen(frame: Markers) -> Markers:
    """The frame without a marker."""
    return replace(frame, data={"positions": np.full(len(frame.data["positions"]) // 8, np.nan).tobytes()})


LIES = {
    "stands, unseen": lambda frame, first: replace(unseen(frame), time=first.time),
    "creeps, unseen": lambda frame, first: replace(unseen(frame), time=first.time + 1e-6 * frame.seq),
    "goes back, unseen": lambda frame, first: replace(unseen(frame), time=2.0 * first.time - frame.time),
    "goes on, unseen": lambda frame, first: unseen(frame),
    "stands": lambda frame, first: replace(frame, time=first.time),
    "goes back": lambda frame, first: replace(frame, time=2.0 * first.time - frame.time),
    "leaps": lambda frame, first: replace(frame, time=1.0 * frame.seq),
}
"""What a frame then says, by itself and the first of those that lie."""


@pytest.mark.parametrize("lie", LIES)
def test_a_time_that_lies_ends_the_torque_by_the_clock(lie: str, tmp_path: Path) -> None:
    """Protects the wearer: frames go on coming, and what they say of their time keeps no torque alive."""
    with Worn(tmp_path) as worn:
        worn.armed()
        lying: list[Markers] = []

        def forge(frame: Markers) -> Markers:
            lying.append(frame)
            return LIES[lie](frame, lying[0])

        begun_ns = now_ns()
        worn.walker.forge = forge
        until(lambda: not worn.port.outputs[-1].armed)
        time.sleep(0.3)
        assert worn.torque_s(begun_ns) < 0.1 + BUSY_S
        until(lambda: worn.told("-> fault: "))
        assert not worn.ask("arm")[0]


@pytest.mark.parametrize("mode", ["free", "lockstep"])
def test_a_device_whose_clock_lags_ends_the_torque(mode: str, tmp_path: Path) -> None:
    """Protects the wearer in lockstep as in a free run: a sensor that falls behind its own clock, or whose
    clock is not ours, is found, and is not armed."""
    with Worn(tmp_path, mode=mode) as worn:
        worn.armed()
        begun_ns = now_ns()
        worn.port.forge = lambda message: replace(message, t=begun_ns + (message.t - begun_ns) // 2)
        until(lambda: worn.told("the device's clock advanced by") or worn.told("old by its own clock"))
        until(lambda: not worn.port.outputs[-1].armed)
        until(lambda: "by its own clock" in worn.ask("arm")[1] or "clock advanced by" in worn.ask("arm")[1])
        assert not worn.port.outputs[-1].armed


def test_a_session_without_a_rate_does_not_arm(tmp_path: Path) -> None:
    """Protects the wearer: nobody knows how densely such markers come, which is said."""
    worn = Worn(tmp_path)
    worn.walker.begin(0.0)
    with worn:
        until(lambda: len(worn.port.outputs) > 50)
        assert worn.ask("arm") == (False, "Not armed: the stream of markers does not state its frame rate.")


def test_dense_frames_do_not_give_torque_sooner(tmp_path: Path) -> None:
    """Protects the wearer: at twenty times the stated rate torque rises by the clock, and it is a fault."""
    with Worn(tmp_path, ramp_s=2.0) as worn:
        until(lambda: len(worn.port.outputs) > 50)
        worn.walker.every_s = 0.0005

        def armed_runs() -> list[list[Output]]:
            runs = groupby(list(worn.port.outputs), key=lambda output: output.armed)
            return [list(run) for is_armed, run in runs if is_armed]

        def is_long_and_over() -> bool:  # armed again where a busy machine ends it sooner
            if worn.port.outputs[-1].armed:
                return False
            worn.ask("arm")
            return any(len(run) > 20 for run in armed_runs())

        until(is_long_and_over)
        most = 10.0 * math.radians(100.0)  # of the spring, wherever the ankle is
        for run in armed_runs():
            for output in run:
                share = (1e-9 * (output.t_sent - run[0].t_sent) + 0.05) / 2.0
                assert abs(output.torque[0]) <= most * share
        until(lambda: worn.told("-> fault: "))  # which watch is first depends on how dense they really come
        until(
            lambda: "but the rate declared for them is 100" in worn.ask("arm")[1]
        )  # as soon as they are dense again


@pytest.mark.parametrize("name", ["emergency_stop", "disarm"])
def test_who_ends_torque_waits_for_no_frame(name: str, tmp_path: Path) -> None:
    """Protects whoever presses while markers are silent: it is obeyed in milliseconds, not with a frame."""
    with Worn(tmp_path, lost_ms=1000.0) as worn:
        worn.armed()
        worn.walker.silent = True
        time.sleep(0.1)
        n, begun_ns = len(worn.port.outputs), now_ns()
        assert worn.ask(name)[0]
        until(lambda: len(worn.port.outputs) > n)
        output = worn.port.outputs[n]
        assert (output.armed, output.torque) == (False, [0.0])
        assert 1e-9 * (output.t_sent - begun_ns) < 0.8  # markers are lost after 1 s


def other_session(worn: Worn) -> None:
    worn.walker.begin(100.0)


def other_rate(worn: Worn) -> None:
    worn.walker.begin(50.0)


def elsewhere(worn: Worn) -> None:
    def moved(frame: Markers) -> Markers:
        positions = np.frombuffer(frame.data["positions"]).reshape(-1, 3) + np.array([3.0, 0.0, 0.0])
        return replace(frame, data={"positions": positions.tobytes()})

    worn.walker.forge = moved


def paused(worn: Worn) -> None:
    worn.walker.silent = True
    time.sleep(0.5)
    worn.walker.silent = False


CHANGES = {
    "another session": (other_session, ""),  # which watch is first depends on when it begins
    "another rate": (other_rate, ""),
    "a leap of the person": (elsewhere, "the person leaps by 3 m"),
    "a pause": (paused, "no markers have come for"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_under_torque_latches(change: str, tmp_path: Path) -> None:
    """Protects the wearer: torque does not go over to another stream, another rate, another place."""
    make, words = CHANGES[change]
    with Worn(tmp_path) as worn:

        def latches() -> bool:  # again where a busy machine lost markers before
            worn.walker.forge = lambda frame: frame
            worn.armed()
            make(worn)
            until(lambda: worn.told("-> fault: ") and not worn.port.outputs[-1].armed)
            return worn.told(f"-> fault: {words}")

        until(latches)
        n = len(worn.port.outputs)
        until(lambda: len(worn.port.outputs) > n + 10)
        assert not any(output.armed for output in worn.port.outputs[n:])
