"""A model that is simulated forward at a fixed step, from the start in its settings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.rosenbrock.trace import Trace, new_trace
from kernels.solver.constraints import DISTANCE
from rtsim.config.models.force_schema import SimulationSpec
from rtsim.models.model import Model
from rtsim.simulation.equilibrium import Equilibrium, find_equilibrium
from rtsim.simulation.held_start import Met, meet_places, meet_speeds
from rtsim.simulation.model_state import ModelState, simulation_of
from rtsim.simulation.start import set_speeds

Array = NDArray[np.float64]


class Simulator(ModelState):
    """A model with its state; every call of `run` continues where the last one ended.

    equilibrium : result of the search for the static equilibrium at the start; None if the run does not start
        in equilibrium
    met : how the start was made to satisfy the constraints, None without constraints
    """

    def __init__(self, model: Model, settings: SimulationSpec) -> None:
        super().__init__(model, settings)
        self.equilibrium: Equilibrium | None = None
        self.met: Met | None = None
        self.reset()

    def reset(self) -> None:
        """Return to the start in the settings, at time zero."""
        self.q[:], self.v[:] = self.model.q_neutral, 0.0
        self.n_step, self.equilibrium = 0, None
        if self.settings.equilibrium != "none":
            loaded = self.settings.equilibrium == "loaded"
            self.equilibrium, self.q[:] = find_equilibrium(self, self.settings.hold, loaded)
            self.refresh()
        shifted = meet_places(self)
        self.settle()
        set_speeds(self)
        self.met = meet_speeds(self, shifted)

    @property
    def widest(self) -> str:
        """Name of the constraint with the largest violation when the constraints were last checked."""
        holds, own = self.simulation.holds, self.work.holds
        if holds is None or own is None:
            return ""
        gap = np.abs(own.rows.value[: len(holds.pair)])
        rods = holds.constraints.elements.kind == DISTANCE
        gap[rods] /= 2.0 * holds.constraints.roles.target[rods]
        return self.model.names.holds[int(np.nan_to_num(gap, nan=np.inf).argmax())]


class Still:
    """A stand-in for a Simulator at its start, by which the quantities that a simulation publishes can be
    listed. It cannot be advanced, so no kernel is compiled for it.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.simulation = model, simulation_of(model)
        self.q: Array = model.q_neutral.copy()
        self.v: Array = np.zeros(model.n_v)
        self.time = 0.0

    def trace(self) -> Trace:
        """Return a trace with room for one row of results."""
        return new_trace(self.simulation, 1, len(self.q), len(self.v))
