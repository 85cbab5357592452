"""The forward step: integrates the motion of a model over the length of one tick of the clock."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kernels.rosenbrock.step import ERROR_LARGE
from rtsim.quantity import Quantity
from rtsim.simulation.motion_feed import MotionFeed
from rtsim.simulation.quantities import SimulatedQuantities
from rtsim.simulation.results import described
from rtsim.simulation.run import fault_of
from rtsim.simulation.simulator import Simulator
from rtsim.simulation.stride import SimulatorStride, steps_per_tick
from rtsim.stages.stage import Args, Stage, StageCommand, StageOutcome
from streams.messages import Status
from streams.receiving.ring import ReceivedFrame

N_WARM = 20
"""Number of ticks before the run by which all kernels are compiled; the simulation then starts anew."""


class ForwardStep(Stage):
    """Forward dynamics of a simulated model in real time: each tick of a clock advances the model by one
    period.

    Parameters
    ----------
    rate : ticks per second [Hz]; the period of a tick is a whole number of integration steps
    every : number of ticks between published frames
    lap_s : simulated time after which the simulation returns to its start [s]; 0 = never
    feed : motion from a stream that moves some coordinates; None = no coordinate is moved by a stream
    """

    def __init__(
        self,
        simulator: Simulator,
        rate: float,
        every: int = 1,
        lap_s: float = 0.0,
        feed: MotionFeed | None = None,
    ) -> None:
        super().__init__()
        self.feed = feed
        self.stride = SimulatorStride(simulator, steps_per_tick(simulator, rate))
        self.every, self.n_lap = every, round(lap_s * rate)
        self.told = SimulatedQuantities(simulator, self.stride.trace, simulator.work.dynamics.pose)
        self.counters.update(large_error=0)
        self._n_in_lap = self._n_part = 0
        self._flags = Status.OK  # of the ticks since the one told before
        self.orders = {"restart": StageCommand(self._answer_restart, self._obey_restart)}

    def warm(self) -> None:
        """Run some ticks, with and without output, so that all kernels are compiled."""
        for _ in range(N_WARM):
            if any(self.stride.step(tell) > ERROR_LARGE for tell in (False, True)):
                break
        self.report()

    def reset(self) -> None:
        """Return the simulation to its start."""
        super().reset()
        self._begin_anew()
        self._flags = Status.OK

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Integrate over one tick; if the integration fails, the run ends and the reason is reported."""
        if self._n_in_lap and self._n_in_lap == self.n_lap:
            self._begin_anew()
            self.counters["restarts"] += 1
        self.n_frame += 1
        self._n_in_lap += 1
        told = self.n_frame % self.every == 0
        if self.feed is not None:
            self._flags |= self.feed.drive(self.stride.simulator.time)
        status = self.stride.step(told)
        if status > ERROR_LARGE:
            what, _ = fault_of(status, self.stride.simulator)
            return StageOutcome(told=False, failure=f"{what} at {self.stride.simulator.time:.6g} s")
        if status == ERROR_LARGE:
            self.counters["large_error"] += 1
            self._flags |= Status.DEGRADED
        if not told:
            return UNTOLD
        flags, self._flags = self._flags, Status.OK
        n_part, self._n_part = self.stride.n_part - self._n_part, self.stride.n_part
        return StageOutcome(flags, n_part, float(self.stride.trace.error[0]))

    def report(self) -> None:
        """Publish the quantities of the newest state."""
        self.told.report()

    def quantities(self) -> list[Quantity]:
        """Return motion, forces and positions as quantities."""
        return self.told.quantities

    def meta(self) -> dict[str, Any]:
        """Return model, method and step for the descriptor (first message) of the result stream."""
        return described(self.stride.simulator)

    def status_text(self) -> str:
        """Return the state of the simulation in words."""
        return "Simulating"

    def collect(self) -> tuple[Counter[str], list[str]]:
        """Return the counters and the messages of the simulation and of the motion stream."""
        counters, told = super().collect()
        if self.feed is None:
            return counters, told
        said, self.feed.sentences = self.feed.sentences, []
        return Counter({**counters, **self.feed.counters}), [*told, *said]

    def _begin_anew(self) -> None:
        self.stride.restart()
        if self.feed is not None:
            self.feed.restart()
        self._n_in_lap = self._n_part = 0

    def _answer_restart(self, args: Args) -> tuple[bool, str]:
        return True, "The simulation goes back to its start."

    def _obey_restart(self, args: Args) -> bool:
        self._begin_anew()
        self.counters["restarts"] += 1
        return False


UNTOLD = StageOutcome(told=False)
