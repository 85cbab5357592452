"""A simulation in step with the clock: a tick, its steps, and every so many ticks a result frame."""

from __future__ import annotations

import gc
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from kernels._jit import freeze_compilation, n_compiled
from kernels.rosenbrock.step import ERROR_LARGE, NON_FINITE
from rtsim.live.collection import no_collection
from rtsim.live.latency import PERCENTILES, LatencyHistogram
from rtsim.live.mailbox import Mailbox
from rtsim.live.simulated_fields import SimulatedFields
from rtsim.live.stride import Stride, steps_per_tick
from rtsim.live.ticks import Ticks
from rtsim.live.urgency import urgent
from rtsim.simulation.simulator import Simulator
from streams.account import Sentences, account
from streams.clock import now_ns
from streams.codec import encode
from streams.messages import Command, Result, Status, Telemetry
from streams.publisher import Publisher

COMMANDS = ("pause", "resume", "restart", "status", "stop")
ANSWERS = {
    "pause": "The simulation holds from the next tick on.",
    "resume": "The simulation goes on.",
    "restart": "The simulation goes back to its start.",
    "stop": "Stopping.",
}
TELEMETRY_S = 1.0
STALE_S = 0.25
"""While the simulation holds, its last frame is published again this often, flagged stale [s]."""
N_WARM = 20
"""Ticks before the first that counts; the simulation then starts anew."""


class SimulatedLoop:
    """Advances a simulator tick by tick until its time is up, `stop` is asked for, or it cannot go on.

    Parameters
    ----------
    rate : ticks per second [Hz]; the period is a whole number of steps
    frame_rate : of published frames, one every so many ticks [Hz]
    lap_s : simulated time after which the simulation goes back to its start [s]; 0 = never
    urgently : before all other work of the processor, where the system grants that

    Attributes
    ----------
    failure : why the simulation could not go on, in words; empty where nothing failed
    granted : whether the run came before all other work of the processor
    """

    def __init__(
        self,
        simulator: Simulator,
        publisher: Publisher,
        rate: float = 1000.0,
        frame_rate: float = 100.0,
        lap_s: float = 0.0,
        meta: dict | None = None,
        urgently: bool = False,
    ) -> None:
        self.rate, self.publisher, self.urgently = rate, publisher, urgently
        self.stride = Stride(simulator, steps_per_tick(simulator, rate))
        self.every = max(1, round(rate / frame_rate))
        self.n_lap = round(lap_s * rate)
        said = {**(meta or {}), "commands": list(COMMANDS)}
        self.fields = SimulatedFields(simulator, self.stride.trace, said, rate / self.every, now_ns())
        self.times = {name: LatencyHistogram() for name in ("tick", "step", "wake", "publish")}
        self.counters: Counter[str] = Counter(missed=0, late=0, large_error=0, collected=0, compiled=0)
        self.failure, self.granted = "", False
        self.control_events: deque[str] = deque()  # sentences of the control server, if there is one
        self._mailbox = Mailbox()
        self._reason = ""
        self._paused = self._large = self._late = False
        self._n_tick = self._n_in_lap = self._n_part = 0  # ticks since the start, and since the lap's
        self._last: Result | None = None
        self._seq = 0
        self._began_ns = self._cpu_ns = 0
        self._warm_up()

    def run(self, duration_s: float = 0.0) -> None:
        """Simulate for duration_s on the clock; 0 means until stopped."""
        self.publisher.announce(self.fields.session)
        self._began_ns, self._cpu_ns = now_ns(), time.process_time_ns()
        before = n_compiled()
        try:
            with urgent(self.urgently) as granted, no_collection(), counting_collections(self.counters):
                self.granted = granted
                self._tick_on(round(duration_s * self.rate))
        finally:
            self.counters["compiled"] = n_compiled() - before
            self._report(final=True)
            self.publisher.end(self._reason or "the simulation was interrupted")

    def stop(self, reason: str = "stopped") -> None:
        """End the run before the next tick; from any thread or signal handler."""
        self._reason = self._reason or reason

    def command(self, command: Command) -> tuple[bool, str]:
        """Answer a command (in the control server's thread); the loop obeys before the next tick."""
        if command.name == "status":
            return True, self._status_text()
        # pausing and going on undo each other, so they are of one kind
        self._mailbox.put("pause" if command.name == "resume" else command.name, command)
        return True, ANSWERS[command.name]

    def summary(self) -> dict:
        """The run in numbers."""
        counted, spent = self.counters, self.times["tick"]
        tick = {label: round(spent.percentile_us(p), 1) for label, p in PERCENTILES.items()}
        return {
            "ticks": self._n_tick,
            "missed": counted["missed"],
            "frames": counted["published"],
            "late": counted["late"],
            "large_error": counted["large_error"],
            "restarts": counted["restarts"],
            "compiled": counted["compiled"],
            "collected": counted["collected"],
            "simulated_s": self._n_tick / self.rate,
            "urgent": self.granted,
            "reason": self._reason,
            "tick_us": {**tick, "max": round(1e-3 * spent.largest_ns, 1)} if spent.n else {},
        }

    def _warm_up(self) -> None:
        """Everything that a tick can call, down to bytes; then no compilation any more."""
        for _ in range(N_WARM):
            for tell in (False, True):
                if self.stride.step(tell) > ERROR_LARGE:
                    break
        encode(self._frame(0, 0, 0))
        self._account(final=False)
        self.stride.restart()
        self._n_part = 0
        freeze_compilation()

    def _tick_on(self, n_end: int) -> None:
        ticks = Ticks(self.rate)
        n_account, n_stale = round(TELEMETRY_S * self.rate), max(1, round(STALE_S * self.rate))
        spent, woken = self.times["tick"], self.times["wake"]
        n_reported = n_repeated = 0
        while not self._reason:
            due_ns = ticks.wait()
            began_ns = now_ns()
            self._late |= ticks.n_missed != self.counters["missed"]
            self.counters["missed"] = ticks.n_missed
            self._obey()
            if not self._paused:
                self._tick(due_ns, began_ns)
                n_repeated = ticks.n_due
            elif ticks.n_due - n_repeated >= n_stale:
                self._publish_stale()
                n_repeated = ticks.n_due
            if ticks.n_due - n_reported >= n_account:
                self._report()
                n_reported = ticks.n_due
            if n_end and ticks.n_due >= n_end:
                self.stop("the time is up")
            woken.add(began_ns - due_ns)
            spent.add(now_ns() - began_ns)

    def _tick(self, due_ns: int, began_ns: int) -> None:
        self._n_tick += 1
        self._n_in_lap += 1
        tell = self._n_tick % self.every == 0
        status = self.stride.step(tell)
        t_solved = now_ns()
        self.times["step"].add(t_solved - began_ns)
        if status > ERROR_LARGE:
            self._fail(status)
            return
        if status == ERROR_LARGE:
            self.counters["large_error"] += 1
            self._large = True
        if tell:
            self._publish(due_ns, began_ns, t_solved)
        if self._n_in_lap == self.n_lap:
            self._restart()

    def _publish(self, due_ns: int, began_ns: int, t_solved: int) -> None:
        self.publisher.service()  # first, so that who has just joined knows the descriptor
        frame = self._frame(due_ns, began_ns, t_solved)
        self.publisher.send(frame)
        self.times["publish"].add(now_ns() - frame.t_published)
        self.counters["published"] += 1
        self.counters["late"] += self._late
        self._last, self._seq = frame, self._seq + 1
        self._large = self._late = False

    def _frame(self, due_ns: int, began_ns: int, t_solved: int) -> Result:
        n_part, self._n_part = self.stride.n_part - self._n_part, self.stride.n_part
        status = Status.LATE if self._late else Status.OK
        return Result(
            session=self.fields.session.session,
            seq=self._seq,
            time=self._n_tick / self.rate,
            t_capture=due_ns,
            t_received=began_ns,
            t_solved=t_solved,
            data=self.fields.fill(),
            status=int(status | Status.DEGRADED if self._large else status),
            iterations=n_part,
            residual=float(self.stride.trace.error[0]),
            t_published=now_ns(),  # last: what follows is encoding and sending
        )

    def _publish_stale(self) -> None:
        """Repeat the last frame under the flag stale: whoever controls something must know it is old."""
        if self._last is not None:
            status = self._last.status & ~int(Status.LATE) | int(Status.STALE)  # a repetition has no deadline
            self.publisher.send(replace(self._last, seq=self._seq, t_published=now_ns(), status=status))
            self._seq += 1
            self.counters["stale"] += 1
        self.publisher.service()

    def _obey(self) -> None:
        """Do what was commanded since the last tick."""
        for command in self._mailbox.take():
            if command.name == "stop":
                self.stop()
            elif command.name == "restart":
                self._restart()
            else:
                self._hold(command.name == "pause")

    def _hold(self, on: bool) -> None:
        """Hold or go on, and say so at once: its frames would otherwise look as those of a failed source."""
        if on != self._paused:
            self._paused = on
            self._report(text="The simulation is paused." if on else "The simulation goes on.")

    def _restart(self) -> None:
        self.stride.restart()
        self._n_in_lap = self._n_part = 0
        self.counters["restarts"] += 1

    def _fail(self, status: int) -> None:
        what = "the state is no number any more" if status == NON_FINITE else "a step has no solution"
        self.failure = f"{what} at {self.stride.simulator.time:.6g} s"
        self.stop(self.failure)

    def _account(self, final: bool, text: str = "") -> Telemetry:
        gauges = {
            "final": float(final),
            "paused": float(self._paused),
            "behind_s": self.counters["missed"] / self.rate,
        }
        for name, histogram in self.times.items():
            gauges |= histogram.gauges(name)
        wall_ns = max(now_ns() - self._began_ns, 1)
        gauges["cpu_percent"] = 100.0 * (time.process_time_ns() - self._cpu_ns) / wall_ns
        counters = {**self.counters, "ticks": self._n_tick}
        session = self.fields.session.session
        sentences = Sentences()
        if text:
            sentences.say(text)
        for events in (self.publisher.events, self.control_events):
            while events:
                sentences.say(events.popleft())
        return account(session, counters, gauges, sentences)

    def _report(self, final: bool = False, text: str = "") -> None:
        self.publisher.send(self._account(final, text))
        self.publisher.service()

    def _status_text(self) -> str:
        spent = self.times["tick"]
        p50 = f", a tick takes {spent.percentile_us(50.0):.0f} us (p50)" if spent.n else ""
        what = "Holding" if self._paused else "Simulating"
        return f"{what}, {self._n_tick} ticks done, {self.counters['missed']} missed{p50}."


@contextmanager
def counting_collections(counters: Counter[str]) -> Iterator[None]:
    """Within, every garbage collection is counted as `collected`."""

    def count(phase: str, _: dict) -> None:
        counters["collected"] += phase == "start"

    gc.callbacks.append(count)
    try:
        yield
    finally:
        gc.callbacks.remove(count)
