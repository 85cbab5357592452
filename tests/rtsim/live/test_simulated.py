"""A simulation in step with the clock, read over real sockets: its frames, its commands, its end."""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest

from kernels.contact.elements import NORMAL
from kernels.forces.lines import TENSION
from kernels.rosenbrock.trace import RECORDED
from rtsim.errors import ConfigError, ModelError
from rtsim.live.loop import Loop, counting_collections
from rtsim.live.paced import paced_loop, summary_of
from rtsim.simulation.simulator import Simulator
from rtsim.simulation.stride import SimulatorStride, steps_per_tick
from streams.control.commands import ControlServer, request
from streams.messages import Status, Telemetry
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber

ROOT = Path(__file__).resolve().parents[3]
LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0  # how long a test may wait before it counts as hung
RATE, EVERY = 1000.0, 10  # ticks per second, and per frame
LATE, STALE = int(Status.LATE), int(Status.STALE)


class Paced:
    """A loop in a thread, and what a subscriber has seen of it."""

    def __init__(self, loop: Loop, results: Subscriber, control: str) -> None:
        self.loop, self.results, self.control = loop, results, control
        self.frames: list[tuple[int, float, int, dict]] = []
        self.stamps: list[tuple[int, ...]] = []
        self.telemetry: list[Telemetry] = []
        self.thread = threading.Thread(target=loop.run, name="loop")
        self.thread.start()

    def read(self, n: int, status: int | None = None) -> None:
        """Read until there are n frames in all, of those with a bit of the status if one is given."""
        due = time.monotonic() + GUARD_S
        while sum(status is None or bool(seen[2] & status) for seen in self.frames) < n:
            assert time.monotonic() < due, f"{len(self.frames)} frames came"
            self._take(0.1)

    def finish(self) -> None:
        """Read to the end."""
        due = time.monotonic() + GUARD_S
        while not self.results.ended or self.thread.is_alive():
            assert time.monotonic() < due, "the run never ended"
            self._take(0.05)
        while self._take(0.0):
            pass

    @property
    def final(self) -> Telemetry:
        assert self.telemetry[-1].gauges["final"] == 1.0
        return self.telemetry[-1]

    def ask(self, name: str) -> tuple[bool, str]:
        return request(self.control, name, {}, timeout_s=GUARD_S)

    def _take(self, timeout_s: float) -> bool:
        frame = self.results.wait(timeout_s)
        if frame is not None:
            data = {name: array.copy() for name, array in frame.data.items()}
            self.frames.append((frame.seq, frame.time, int(frame.status), data))
            self.stamps.append((frame.t_capture, frame.t_received, frame.t_solved, frame.t_published))
        while self.results.telemetry:
            self.telemetry.append(self.results.telemetry.popleft())
        return frame is not None


@pytest.fixture
def start(simulator):
    """Start a loop whose every frame is read."""
    with contextlib.ExitStack() as stack:

        def begin(
            duration_s: float = 0.0, rate: float = 1000.0, lap_s: float = 0.0, which=simulator
        ) -> Paced:
            publisher = stack.enter_context(Publisher(LOCAL))
            loop = paced_loop(which, publisher, rate, rate / EVERY, lap_s, duration_s)
            control = stack.enter_context(ControlServer(LOCAL, loop.command, loop.commands))
            results = stack.enter_context(Subscriber(publisher.address, ("result", "telemetry"), 4000))
            assert publisher.wait_for_subscriber(GUARD_S)
            run = Paced(loop, results, control.address)
            stack.callback(run.thread.join, GUARD_S)
            stack.callback(loop.stop)
            return run

        yield begin


def test_a_stride_is_a_run(simulator):
    """Protects the short cut past the dispatcher: the same state and the same row, to the last bit."""
    stride = SimulatorStride(simulator, 5)
    q, v = simulator.q.copy(), simulator.v.copy()
    assert [stride.step(tell) for tell in (False, True)] == [0, 0]
    found = (simulator.q.copy(), simulator.v.copy(), *(x.copy() for x in stride.trace[:7]))
    assert simulator.time == pytest.approx(0.010)
    assert stride.n_part == 10
    stride.restart()
    np.testing.assert_array_equal((simulator.q, simulator.v), (q, v))
    assert (simulator.n_step, stride.n_part) == (0, 0)
    trace = simulator.trace(1)
    simulator.run(10, 0, trace, last=True)
    assert trace.counts[RECORDED] == 1
    for mine, theirs in zip(found, (simulator.q, simulator.v, *trace[:7]), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(("rate", "n"), [(1000.0, 1), (500.0, 2), (100.0, 10), (1.0, 1000)])
def test_a_tick_is_so_many_steps(simulator, rate, n):
    """Protects the time of the simulation: a tick is as long as its steps."""
    assert steps_per_tick(simulator, rate) == n


@pytest.mark.parametrize(("rate", "instead"), [(2000.0, "1000"), (300.0, "333.333"), (1001.0, "1000")])
def test_a_tick_that_no_steps_fill_is_refused(simulator, rate, instead):
    """Protects the user of --rate: a sentence with a rate that fits, no simulation that runs slow."""
    with pytest.raises(
        ConfigError, match=rf"no whole number of steps of 1 ms.*--rate {instead} gives a tick"
    ):
        steps_per_tick(simulator, rate)


def test_the_descriptor_says_what_comes(start):
    """Protects readers: names, units and labels of a simulated session, and what it was made with."""
    run = start(duration_s=0.05)
    run.finish()
    session = run.results.session
    assert (session.stream, session.rate) == ("result", 100.0)
    specs = {spec.name: (spec.unit, tuple(spec.shape), spec.labels) for spec in session.fields}
    angles = ("flexion", "adduction", "internal_rotation")
    assert specs["joint_angles"] == ("rad", (3,), angles)
    assert specs["joint_angle_speeds"] == ("rad/s", (3,), angles)
    assert specs["joint_displacements"][:2] == ("m", (3,))
    moved = next(spec for spec in session.fields if spec.name == "joint_displacements")
    assert moved.curves is not None
    assert tuple(moved.curves.zero) == (0.0, -0.006, 0.213)
    assert specs["contact_normal_forces"] == ("N", (2,), ("medial", "lateral"))
    assert specs["ligament_ends"][:2] == ("m", (12, 2, 3))
    assert specs["segment_rotations"] == ("1", (2, 3, 3), ("femur", "tibia"))
    assert "friction_forces" not in specs
    expected = {
        "model": "knee",
        "source": "simulation",
        "step_ms": 1.0,
        "up": "Y",
        "stick": [["femur", "tibia"]],
    }
    assert {key: session.meta[key] for key in expected} == expected
    assert session.meta["stick"] == [["femur", "tibia"]]


def test_frames_are_the_simulation_tick_by_tick(start, simulator):
    """Protects the values: frame k is the state after 10 k steps, however late, and none is lost."""
    run = start(duration_s=0.25)  # beyond 88 degrees ligaments catch with a jerk: frames are degraded there
    run.finish()
    n = len(run.frames)
    assert n == run.final.counters["published"] == run.final.counters["ticks"] // EVERY
    assert [seq for seq, *_ in run.frames] == list(range(n))
    assert [t for _, t, *_ in run.frames] == pytest.approx(0.01 * np.arange(1, n + 1))
    assert all(status in (0, LATE) for _, _, status, _ in run.frames)
    assert run.final.counters["ticks"] + run.final.counters["missed"] >= 250
    for stamps in run.stamps:
        assert list(stamps) == sorted(stamps)
    twin = Simulator(simulator.model, simulator.settings)
    trace = twin.trace(n + 1)
    twin.run(EVERY * n, EVERY, trace, last=True)
    tibia = twin.model.names.bodies.index("tibia")
    for row, (*_, data) in enumerate(run.frames, start=1):
        np.testing.assert_array_equal(data["joint_angles"], trace.q[row, :3])
        np.testing.assert_array_equal(data["joint_displacement_speeds"], trace.v[row, 3:])
        np.testing.assert_array_equal(data["contact_normal_forces"], trace.contact[row, :, NORMAL])
        np.testing.assert_array_equal(data["ligament_forces"], trace.line[row, :, TENSION])
        ends = data["ligament_ends"]
        lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
        np.testing.assert_allclose(lengths, data["ligament_lengths"], rtol=1e-12)
        touching = data["contact_depths"] > 0.0
        np.testing.assert_array_equal(np.isfinite(data["contact_places"]).all(axis=1), touching)
        turned = data["segment_rotations"][tibia]
        np.testing.assert_allclose(turned @ turned.T, np.eye(3), atol=1e-12)


def test_the_simulation_goes_back_to_its_start(start):
    """Protects models that fall: after each lap the same frames again, while time and numbers go on."""
    run = start(lap_s=0.03)
    run.read(7)
    run.ask("stop")
    run.finish()
    angles = [data["joint_angles"] for *_, data in run.frames]
    for k in range(4):
        np.testing.assert_array_equal(angles[k], angles[k + 3])
    assert not np.array_equal(angles[0], angles[1])
    assert [t for _, t, *_ in run.frames[:7]] == pytest.approx(0.01 * np.arange(1, 8))
    assert run.final.counters["restarts"] >= 2


def test_commands(start):
    """Protects the control of a run: it holds, says so, goes on from there, starts anew, and ends."""
    run = start()
    run.read(2)
    assert run.ask("pause") == (True, "The simulation is paused from the next time step on.")
    run.read(2, STALE)
    assert run.ask("status")[1].startswith("Holding, ")
    assert run.telemetry[-1].gauges["paused"] == 1.0
    assert run.telemetry[-1].text == ["The simulation is paused."]
    assert not any(seen[2] & LATE and seen[2] & STALE for seen in run.frames)  # it holds on purpose
    held = [seen for seen in run.frames if seen[2] & STALE]
    last = [seen for seen in run.frames if not seen[2] & STALE][-1]
    for _, t, _, data in held:
        assert t == last[1]
        np.testing.assert_array_equal(data["joint_angles"], last[3]["joint_angles"])
    n_stale = len(held)
    assert run.ask("resume")[0]
    run.read(len(run.frames) + 2)
    assert run.ask("status")[1].startswith("Simulating, ")
    assert run.telemetry[-1].gauges["paused"] == 0.0
    fresh = [seen for seen in run.frames if not seen[2] & STALE]
    assert [t for _, t, *_ in fresh] == pytest.approx(0.01 * np.arange(1, len(fresh) + 1))
    assert run.ask("restart")[0]
    assert not run.ask("set_method")[0]
    assert run.ask("stop") == (True, "Stopping.")
    run.finish()
    assert [seq for seq, *_ in run.frames] == list(range(len(run.frames)))
    assert run.final.counters["restarts"] == 1
    assert run.final.counters["stale"] >= n_stale
    assert any("stopped" in said for said in run.results.events)


def test_the_run_ends_when_its_time_is_up(start):
    """Protects --duration: the reader is told why, the account is whole, nothing compiled or collected."""
    run = start(duration_s=0.1)
    run.finish()
    assert any("the requested duration is over" in said for said in run.results.events)
    assert run.final.counters["compiled"] == run.final.counters["collected"] == 0
    summary = summary_of(run.loop)
    assert summary["frames"] == len(run.frames)
    assert summary["reason"] == "the requested duration is over"
    tick = summary["tick_us"]
    assert 0.0 < tick["p50"] <= tick["p99"] <= tick["p99_9"] <= tick["max"]
    assert run.final.gauges["turn_us.p50"] >= run.final.gauges["receive_to_solve_us.p50"] > 0.0


def test_collections_are_counted():
    """Protects the count that shall be zero: a collection within is seen, one after it is not."""
    counters: Counter[str] = Counter()
    with counting_collections(counters):
        gc.collect(0)
    gc.collect(0)
    assert counters["collected"] == 1


def test_a_simulation_that_cannot_go_on_ends(start, simulator):
    """Protects readers from frames of nonsense: the session ends with the reason and the time."""
    run = start()
    run.read(1)
    run.ask("pause")
    run.read(1, Status.STALE)  # no step is under way now
    simulator.v[0] = math.nan
    run.ask("resume")
    run.finish()
    assert run.loop.failure.startswith("the state is no longer a finite number at 0.")
    assert any(run.loop.failure in said for said in run.results.events)
    assert all(np.isfinite(data["joint_angles"]).all() for *_, data in run.frames)


def test_frames_of_large_errors_are_flagged(start, simulator):
    """Protects honesty: a step whose error is above the tolerance makes its frame a degraded one."""
    strict = msgspec.structs.replace(simulator.settings, tolerance=1e-12)
    run = start(duration_s=0.05, which=Simulator(simulator.model, strict))
    run.finish()
    assert all(status & Status.DEGRADED for _, _, status, _ in run.frames)
    assert run.final.counters["large_error"] == run.final.counters["ticks"]


LIVE = """
import sys
from rtsim.cli.runs.simulate_live import PacedRun, run_live
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator

simulator = Simulator(build(load_model("knee")), load_model("knee").simulation)
local = "tcp://127.0.0.1:0"
sys.exit(run_live(simulator, PacedRun(results=local, control=local), as_json=True))
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize("how", ["Ctrl-C", "stop"])
def test_a_process_ends_cleanly(how):
    """Protects the user: Ctrl-C and the command end the session with its end message, and leave a summary."""
    process = subprocess.Popen(
        [sys.executable, "-c", LIVE],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = process.stderr.readline()
        assert said.startswith("knee: results at tcp://"), said + process.stderr.read()
        results, control = (word.rstrip(",") for word in said.split() if word.startswith("tcp://"))
        with Subscriber(results, ("result",), 512) as subscriber:
            due = time.monotonic() + GUARD_S
            while subscriber.wait(0.1) is None:
                assert time.monotonic() < due
            if how == "stop":
                assert request(control, "stop", {}, GUARD_S) == (True, "Stopping.")
            else:
                process.send_signal(signal.SIGINT)
            while not subscriber.ended:
                subscriber.wait(0.1)
                assert time.monotonic() < due
        out, err = process.communicate(timeout=GUARD_S)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, err) == (0 if how == "stop" else 130, "")
    summary = json.loads(out)
    assert summary["reason"] == ("stopped" if how == "stop" else "interrupted")
    assert summary["frames"] > 0
    assert summary["compiled"] == summary["collected"] == 0


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ((None, 0.0), "--rate"),
        ((None, 1e6), "--rate"),
        ((0.0, 1000.0), "--duration"),
        ((-1.0, 1000.0), "--duration"),
    ],
)
def test_impossible_times_are_told(simulator, arguments, option):
    """Protects the user of --live: the option is named before anything is bound."""
    from rtsim.cli.runs.simulate_live import PacedRun, run_live

    with pytest.raises(ConfigError, match=option):
        run_live(simulator, PacedRun(*arguments, results="nowhere"))
    with pytest.raises(ConfigError, match="--frame-rate"):
        run_live(simulator, PacedRun(None, 100.0, frame_rate_hz=1000.0, results="nowhere"))


def test_a_short_run_says_where_it_is_and_how_it_went(simulator, capsys):
    """Protects the user of --live: addresses and commands first, then the account; Ctrl-C is as it was."""
    from rtsim.cli.runs.simulate_live import PacedRun, run_live

    former = signal.getsignal(signal.SIGINT)
    assert run_live(simulator, PacedRun(0.05, results=LOCAL, control=LOCAL)) == 0
    assert signal.getsignal(signal.SIGINT) is former
    first, account, times = capsys.readouterr().out.splitlines()
    assert first.startswith("knee: results at tcp://127.0.0.1:")
    assert "pause, resume, restart, status, stop" in first
    assert re.fullmatch(
        r"\d+ time steps, \d+ missed, \d frames published, \d late; the requested duration is over", account
    ), account
    assert re.fullmatch(r"duration of a time step \[us\]: p50 \d+, p99 \d+, p99\.9 \d+, max \d+", times), (
        times
    )


def test_a_simulation_that_fails_is_an_error_with_a_remedy(simulator):
    """Protects the exit code: where it could not go on, what was the matter, what to do about it."""
    from rtsim.cli.runs.simulate_live import PacedRun, run_live

    simulator.v[0] = math.nan
    with pytest.raises(
        ModelError, match=r"knee: the state is no longer a finite number at 0 s; .*shorten the step"
    ):
        run_live(simulator, PacedRun(results=LOCAL, control=LOCAL), as_json=True)
