"""Does a fixed number of simulation steps in one call, for a simulation that has a deadline, such as one with
a device.
"""

from __future__ import annotations

from kernels.compiler.jit import hold
from kernels.rosenbrock.advance import advance
from kernels.rosenbrock.trace import N_PART, RECORDED, STEP
from rtsim.errors import ConfigError
from rtsim.simulation.simulator import Simulator

WHOLE = 1e-9
"""A number of steps this near to a whole one, relative to it, is one."""


def steps_per_tick(simulator: Simulator, rate: float) -> int:
    """Return the number of simulator steps in one tick at `rate` [Hz]; ConfigError if it is not a whole
    number.
    """
    step, period = simulator.options.step, 1.0 / rate
    n = round(period / step)
    if n < 1 or abs(n * step - period) > WHOLE * period:
        raise ConfigError(
            f"a time step of the run (tick) of {1e3 * period:g} ms is no whole number of steps of "
            f"{1e3 * step:g} ms",
            where="--rate, --step",
            remedy=f"--rate {1.0 / (max(n, 1) * step):g} gives a tick of {max(n, 1)} step{'s' * (n > 1)}",
        )
    return n


class SimulatorStride:
    """Advances a simulator by n_step steps per call. The arguments of the compiled kernel are prepared once
    and stored.

    Otherwise Numba would examine them in every call, which would take longer than the steps themselves.

    Attributes
    ----------
    trace : results in one row, for the state after the last call with `tell`; simulator.work contains the
      pose of that state
    """

    def __init__(self, simulator: Simulator, n_step: int) -> None:
        self.simulator, self.n_step = simulator, n_step
        self.trace = simulator.trace(1)
        self._counts = self.trace.counts
        self._start = (simulator.q.copy(), simulator.v.copy(), simulator.n_step)
        inner = simulator.work.inner
        self._inner = None if inner is None else inner.now.copy()
        turning = simulator.work.forces.generators
        self._activations = None if turning is None else turning.step.copy()
        self._silent, self._told = (hold(advance, self._arguments(last)) for last in (0, 1))
        self._counts[STEP] = simulator.n_step

    def _arguments(self, last: int) -> tuple:
        s = self.simulator
        plan = float(s.start_time), self.n_step, 0, last
        return (s.simulation, s.method.tableau, s.options, plan, s.gain, s.q, s.v, s.work, self.trace)

    def step(self, tell: bool) -> int:
        """Do n_step steps; return the status of the last one (kernels/rosenbrock/step). tell : whether the
        state at their end is written as a row of results
        """
        self._counts[RECORDED] = 0
        status: int = self._told() if tell else self._silent()
        self.simulator.n_step = int(self._counts[STEP])
        return status

    @property
    def n_part(self) -> int:
        """Number of steps, or parts of steps, taken since the start or the last restart."""
        return int(self._counts[N_PART])

    def restart(self) -> None:
        """Return to the state of the simulator at the time when this object was made."""
        s = self.simulator
        s.q[:], s.v[:], s.n_step = self._start
        if s.work.inner is not None:
            s.work.inner.now[:] = self._inner
        if s.work.forces.generators is not None:
            s.work.forces.generators.step[:] = self._activations
        self._counts[:] = 0
        self._counts[STEP] = s.n_step
        self.trace.largest[:] = 0.0
