"""Costs of settings in separate simulations: limb and simulated device, in lockstep, without sockets.

Each run gives the same numbers as `rtsim hil --fast --arm 0`, which runs as fast as possible with the device
armed from the start, with the parameters of the setting. Several processes share the runs; results do not
depend on which process executes a run.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import LONGEST_MS, HilSpec
from rtsim.config.runs.tuning_schema import LONGEST_CYCLE_S
from rtsim.device.arming import ArmState
from rtsim.device.tuning import OVER_S
from rtsim.errors import ConfigError
from rtsim.live.hardware.device_loop import DeviceClock, hil_loop
from rtsim.live.hardware.in_process import InProcessPort
from rtsim.live.hardware.limb_parts import moved, simulator_for
from rtsim.live.loop import Loop
from rtsim.live.processes.gc_control import gc_paused
from rtsim.live.processes.signals import REQUESTS
from rtsim.stages.device.device_element import device_element
from rtsim.stages.device.exchange import DeviceTorque
from rtsim.tuning.costs import CycleCost
from rtsim.tuning.problem import tuning_of
from streams.addresses import is_stream
from streams.messages import AnyMessage, Result, Session

MEASURED = "measured"
Item = TypeVar("Item")
Done = TypeVar("Done")


class RunRequest(NamedTuple):
    """A run to simulate: its setting (None = zero torque, never armed), and the number of the random sample
    of the device's sensor noise.
    """

    setting: Mapping[str, float] | None
    repeat: int = 0


class RunCost(NamedTuple):
    """The cost of a run; NaN with a reason if it has none."""

    value: float
    why: str = ""


class Controlled(Protocol):
    """Interface of a function that applies a setting to a simulated run (its loop) before it starts. It
    returns a sentence on why the run cannot have this setting; empty if it can.
    """

    def __call__(self, loop: Loop, setting: Mapping[str, float]) -> str: ...


def set_at_once(loop: Loop, setting: Mapping[str, float]) -> str:
    """Set the parameters of a run to a setting at its first tick, without a ramp; return why they cannot be
    set, empty if they can.
    """
    torque = loop.stages[0]
    assert isinstance(torque, DeviceTorque)
    args = {**setting, OVER_S: 0.0}
    torque.ask("set", args)
    return torque.exchange.tuning.refusal("set", args)


def check_own_motion(spec: HilSpec) -> None:
    """Raise ConfigError for a limb that a stream moves, which separate simulations do not receive."""
    if is_stream(spec.motion):
        raise ConfigError(
            f"the limb is moved by the stream {spec.motion}, which simulations without sockets do not "
            "receive",
            where="--offline", remedy="give a motion file in the config, or tune the running model",
        )  # fmt: skip


class OfflineRuns:
    """Simulates runs of one config, one after the other, in the present process. ConfigError for a limb that
    a stream moves.

    Parameters
    ----------
    spec : config with a table [tuning]; seed : added to the seed of the device's noise
    control : function that applies a setting to a run; by default it sets the controller's parameters in the
        first tick, without a ramp

    Attributes
    ----------
    motion_s : duration of the motion that moves the limb [s], beyond which no run lasts; infinite without one
    """

    def __init__(self, spec: HilSpec, seed: int = 0, control: Controlled = set_at_once) -> None:
        check_own_motion(spec)
        self.tuning = tuning_of(spec)
        exchange = replace(
            spec.exchange, mode="lockstep", paced=False, deadline_ms=LONGEST_MS, valid_for_ms=LONGEST_MS
        )
        n_cycle = self.tuning.cycles + 2
        longest = self.tuning.cycle.period_s or LONGEST_CYCLE_S
        self._t_settled = spec.limits.ramp_s + self.tuning.settle_s
        whole, _ = moved(replace(spec, duration_s=0.0))
        self.motion_s = whole.duration_s or math.inf
        duration_s = min(self._t_settled + n_cycle * longest, self.motion_s)
        self.spec = replace(spec, exchange=exchange, duration_s=duration_s)
        self.seed, self._control = seed, control
        self._device = load_toml(find_config(spec.device, "devices"), DeviceSpec)
        self._simulator = simulator_for(self.spec)

    def cost(self, asked: RunRequest) -> RunCost:
        """Simulate a run with the requested setting and noise, and return its cost. It has none if the device
        is not armed with this setting over all cycles.
        """
        simulator = self._simulator
        # the start is in equilibrium with this torque, which may be that of the run before
        simulator.model.forces.springs.moment[device_element(simulator)] = 0.0
        simulator.reset()
        output = Measuring(self, "disarmed" if asked.setting is None else "armed")
        sensors = replace(self._device.sensors, seed=self._device.sensors.seed + self.seed + asked.repeat)
        port = InProcessPort(replace(self._device, sensors=sensors))
        arm_s = None if asked.setting is None else 0.0
        loop = hil_loop(self.spec, simulator, port, output, arm_s)
        output.loop = loop
        if asked.setting is not None and (refused := self._control(loop, asked.setting)):
            return RunCost(math.nan, refused)
        loop.run()
        clock = loop.source
        assert isinstance(clock, DeviceClock)
        x = clock.exchange
        if loop.failure:
            return RunCost(math.nan, loop.failure)
        if x.arming.n_fault:
            return RunCost(math.nan, output.fault or "the device reported a fault")
        if not output.began and math.isnan(output.armed_s):
            return RunCost(math.nan, f"the device was never armed: {x.refusal or x.arming.reason}")
        if output.cost is None or not output.cost.done:
            return RunCost(
                math.nan,
                f"the run contains fewer than {self.tuning.cycles} whole cycles in {output.duration_s:g} s"
                + (", as long as its motion" if output.duration_s >= self.motion_s else "")
                + (f"; the device was armed only after {output.armed_s:g} s" if output.is_late else ""),
            )
        return RunCost(output.cost.cost)

    def collector(self, session: Session) -> CycleCost:
        """Return the object that computes the cost of a run from its frames."""
        return CycleCost(self.tuning, session.fields, self._t_settled)


class Measuring:
    """Output of a run that computes the cost from its results; it ends the run when the cost is known, or at
    a fault.

    Parameters
    ----------
    runs : knows how costs are computed; state : arming state of the device while results count

    Attributes
    ----------
    cost : the cost of the run; began : whether the device has had this state; fault : why it had a fault
    armed_s : when the device was armed [s], NaN = not yet; is_late : whether this was after the first tick in
        which a run can be armed; duration_s : duration of the run [s], longer if armed late
    """

    def __init__(self, runs: OfflineRuns, state: ArmState = "armed") -> None:
        self._runs, self._state, self.fault = runs, state, ""
        self.began = self.is_late = False
        self.armed_s, self.duration_s = math.nan, runs.spec.duration_s
        self.events: deque[str] = deque()
        self.loop: Loop | None = None
        self.cost: CycleCost | None = None

    def announce(self, session: Session) -> None:
        """Store the descriptor of the stream of results: it lists the fields of the frames that follow."""
        self.cost = self._runs.collector(session)

    def send(self, message: AnyMessage) -> None:
        """Add a frame of results to the cost of the run, if the device is in the arming state that counts."""
        if not isinstance(message, Result) or self.loop is None or self.cost is None:
            return
        clock = self.loop.source
        assert isinstance(clock, DeviceClock)
        x = clock.exchange
        if x.arming.state == "fault":
            self.fault = x.arming.reason
            self.loop.stop(self.fault)
        if x.arming.on and math.isnan(self.armed_s):
            self.armed_s = message.time - x.arming.armed_s
            self._put_off(self.armed_s - x.period_s, clock)
        if x.arming.state != self._state:
            return
        self.began = True
        self.cost.add(message.time, message.data)
        if self.cost.done:
            self.loop.stop(MEASURED)

    def _put_off(self, late_s: float, clock: DeviceClock) -> None:
        """Put off the cycles that count, and the end of the run, by the time that the device was armed late.

        late_s : time from the first tick in which a run can be armed, the second one, to the arming [s]
        clock : clock of the run, which does not end after the motion of the limb
        """
        self.is_late = late_s > 0.5 * clock.exchange.period_s
        if self.is_late and self.cost is not None:
            self.cost.t_settled += late_s
            self.duration_s = min(self.duration_s + late_s, self._runs.motion_s)
            clock.end_at(self.duration_s)

    def service(self) -> None:
        """Do nothing: the loop of a run calls this for new subscribers, and here are none."""

    def end(self, reason: str) -> None:
        """Do nothing: the loop of a run calls this at the end of the results, which nobody receives here."""


class Pool:
    """Executes simulated runs of one config in several worker processes; with n_process = 1 in the present
    process. ConfigError for a config of which no run can be simulated.

    Parameters
    ----------
    spec : config with a table [tuning]
    seed : added to the seed of the device's noise
    n_process : number of processes
    control : function that applies a setting to a run; by default it sets the controller's parameters in the
        first tick, without a ramp
    """

    def __init__(
        self, spec: HilSpec, seed: int = 0, n_process: int = 1, control: Controlled = set_at_once
    ) -> None:
        self._executor: ProcessPoolExecutor | None = None
        self._runs = OfflineRuns(spec, seed, control)  # an impossible config is told before processes start
        if n_process > 1:
            apart = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(n_process, apart, begin_work, (spec, seed, control))

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._executor is None:
            return
        if kind is not None:  # nobody wants what they are at, and to ask them may be interrupted again
            for child in multiprocessing.active_children():
                child.kill()
        self._executor.shutdown(wait=kind is None, cancel_futures=True)

    def costs(self, asked: Sequence[RunRequest]) -> Iterator[RunCost]:
        """Yield the costs of these runs in their order."""
        return self.each(OfflineRuns.cost, asked)

    def each(self, task: Callable[[OfflineRuns, Item], Done], items: Sequence[Item]) -> Iterator[Done]:
        """Apply a task to each item and yield the results in the order of the items; the task also receives
        the OfflineRuns of the process that executes it.
        """
        if self._executor is not None:
            yield from self._executor.map(work, [task] * len(items), items)
        else:
            with gc_paused():
                for item in items:
                    yield task(self._runs, item)


_own: list[OfflineRuns] = []
_kept = contextlib.ExitStack()
"""Runs that a process which works for another keeps open to its end."""


def begin_work(spec: HilSpec, seed: int, control: Controlled) -> None:
    """Prepare a worker process: build its OfflineRuns, and ignore Ctrl-C, which its parent handles."""
    for number in REQUESTS:
        signal.signal(number, signal.SIG_IGN)
    _kept.enter_context(gc_paused())
    _own[:] = [OfflineRuns(spec, seed, control)]


def work(task: Callable[[OfflineRuns, Item], Done], item: Item) -> Done:
    """Call the function `task` in this worker process with the OfflineRuns of the process and one item;
    return its result.
    """
    return task(_own[0], item)
