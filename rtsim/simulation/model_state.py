"""A model with its state: parameters, working space, coordinates and speeds in one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.forces.generators import BEGIN, END, set_activations
from kernels.forces.path_forces import set_excitations, settle
from kernels.rosenbrock.advance import advance
from kernels.rosenbrock.model import Simulation, SimulationWork, new_simulation_work, set_constants
from kernels.rosenbrock.step import StepOptions
from kernels.rosenbrock.tableau import METHODS
from kernels.rosenbrock.trace import STEP, Trace, new_trace
from rtsim.config.models.force_schema import SimulationSpec
from rtsim.errors import ModelError
from rtsim.models.model import Model
from rtsim.models.packing.couplers import drivers_first
from rtsim.simulation.inertia import is_constant

Array = NDArray[np.float64]
MAX_SPLIT = 2**16
"""A guard: no part of a split step is shorter than the step by this."""


def simulation_of(model: Model) -> Simulation:
    """Return the inputs of the simulation kernels for a model; nothing is compiled here.

    The mass matrix is marked as dependent on the pose; `ModelState` checks whether it is constant instead.
    """
    # one version of the kernels for all models that generators turn, couplers or none
    turned = model.forces.generators is not None
    given = len(model.couplers.dof) > 0 or model.holds is not None or turned
    couplers = drivers_first(model.couplers) if given else None
    return Simulation(
        system=model.system,
        forces=model.forces,
        constant=0,
        couplers=couplers,
        pulls=model.pulls,
        holds=model.holds,
    )


class ModelState:
    """A model with its state, in the neutral pose and at rest; every call of `run` goes on where the last one
    ended.

    q, v : (n_q,), (n_v,) - coordinates and speeds; gain : (n_load,) - factor by which each load is multiplied
      (1 at first), which devices may change
    """

    def __init__(self, model: Model, settings: SimulationSpec) -> None:
        self.model = model
        self.settings = settings
        simulation = simulation_of(model)
        constant = int(simulation.couplers is None and is_constant(model.system))
        self.simulation = simulation._replace(constant=constant)
        self.work: SimulationWork = new_simulation_work(self.simulation)
        self.method = METHODS[settings.method]
        self.options = StepOptions(
            step=1e-3 * settings.step_ms,
            secant=int(settings.kinks == "secant"),
            split=MAX_SPLIT if settings.kinks == "split" else 1,
            fraction=settings.split_fraction,
            floor=settings.split_floor,
            tolerance=settings.tolerance,
        )
        self.q: Array = model.q_neutral.copy()
        self.v: Array = np.zeros(model.n_v)
        self.gain: Array = np.ones(len(model.names.loads))
        self.start_time = 0.0
        self.n_step = 0
        self.refresh()

    def refresh(self) -> None:
        """Compute the mass matrix and the weight at the present coordinates; called at the start, and after
        the model's masses, its gravity or the start pose have changed. ModelError if a dof has no mass.
        """
        if not set_constants(self.simulation, self.q, self.work):
            raise ModelError(
                "a coordinate does not move any mass",
                where=self.model.name,
                remedy="give mass_kg and inertia_kg_m2 to the bodies that this coordinate moves",
            )

    def settle(self) -> None:
        """Set activations to the excitations at time zero, and muscle fibres to equilibrium at this state."""
        pulls, work = self.simulation.pulls, self.work
        turning = work.forces.generators
        if turning is not None:
            turning.step[:] = 0.0
            set_activations(self.simulation.forces.generators, self.start_time, np.inf, turning)
            turning.step[:, BEGIN] = turning.step[:, END]
        if pulls is None or work.pulls is None or work.inner is None:
            return
        set_excitations(pulls, self.start_time, work.pulls)
        settle(pulls, self.model.tree, work.dynamics.pose, self.q, work.pulls, work.inner.now)

    @property
    def time(self) -> float:
        """Time of the state [s]."""
        return self.start_time + self.n_step * self.options.step

    def trace(self, n_row: int) -> Trace:
        """Return an empty trace with room for n_row rows of results."""
        return new_trace(self.simulation, n_row, len(self.q), len(self.v))

    def run(self, n_step: int, every: int, trace: Trace, last: bool = False) -> int:
        """Advance the state by n_step steps; return the status of the last step.

        A row is added to the trace after every `every` steps (0 = no rows).

        trace : results, with room for the rows; its counts are the steps done since the start
        last : whether one more row is added for the state at the end
        """
        trace.counts[STEP] = self.n_step
        status = advance(
            self.simulation, self.method.tableau, self.options, (self.start_time, n_step, every, int(last)),
            self.gain, self.q, self.v, self.work, trace,
        )  # fmt: skip
        self.n_step = int(trace.counts[STEP])
        return int(status)
