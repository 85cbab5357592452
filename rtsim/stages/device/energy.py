"""Energy balance of a limb with a device, after each forward step; if energy and work differ by too much, the
torque of the device is switched off.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.dynamics.energy import energy_and_power
from kernels.dynamics.system import new_dynamics_work
from kernels.forces.generators import GIVEN_TORQUE
from kernels.forces.path_forces import PATH_SPEED, PULL
from kernels.rosenbrock.advance import advance
from kernels.rosenbrock.trace import RECORDED, STEP
from rtsim.device.energy_monitor import EnergyMonitor
from rtsim.device.exchange import DeviceExchange
from rtsim.quantity import Quantity
from rtsim.simulation.simulator import Simulator
from rtsim.stages.device.device_element import device_element
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.messages import Curves
from streams.receiving.ring import ReceivedFrame

SOURCES = ("device", "generators", "muscles", "prescribed")
LABELS = ("model", *SOURCES, "drift")


class EnergyAccount(Stage):
    """Compares, after each forward step of a simulated limb with a device, the energy of the limb with the
    work of all forces on it; if they differ by too much, the device's torque ends and a fault is stored.
    """

    def __init__(self, exchange: DeviceExchange, simulator: Simulator) -> None:
        super().__init__()
        self.exchange, self.simulator = exchange, simulator
        self.balance = EnergyMonitor(exchange.period_s, len(SOURCES))
        self.refusal = ""
        self._values = np.zeros(len(LABELS))
        model, springs, at = simulator.model, simulator.model.forces.springs, device_element(simulator)
        self._moment, self._at = springs.moment, at
        self._q, self._dof = int(springs.coordinate[at]), int(springs.dof[at])
        self._row = row = simulator.trace(1)
        n_body = len(model.tree.parent)
        self._found = np.zeros(2)
        motion = simulator.q, simulator.v, row.v_dot[0]
        work = new_dynamics_work(model.tree), np.zeros(model.n_v), self._found
        plan = float(simulator.start_time), 0, 0, 1  # no step, one row
        at_state = (
            simulator.simulation, simulator.method.tableau, simulator.options, plan, simulator.gain,
            simulator.q, simulator.v, simulator.work, row,
        )  # fmt: skip
        of_state = (model.system, motion, np.zeros((n_body, 6)), *work)
        self._look, self._weigh = hold(advance, at_state), hold(energy_and_power, of_state)
        self._turned = None if model.forces.generators is None else model.forces.generators.dof
        self._n_muscle = len(model.names.pulling) if row.pull.size else 0
        couplers = simulator.simulation.couplers
        own = np.zeros(0, np.int64)
        if couplers is not None:
            own = np.flatnonzero(couplers.coordinate == couplers.driver)
        self._own, self._given = own, own if couplers is None else couplers.dof[own]
        self._n_step, self._turned_from = simulator.n_step, float(simulator.q[self._q])

    def reset(self) -> None:
        """Set the balance of energy and work to zero, as before the first forward step of the run."""
        super().reset()
        self._begin_anew()
        self.balance.largest = 0.0

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the energy of the limb and the work of each source of energy after the forward step of this
        tick.
        """
        s, balance = self.simulator, self.balance
        if self.exchange.hold.stands:
            return FINE
        if s.n_step <= self._n_step:  # it went back to its start
            self._begin_anew()
        self._n_step = s.n_step
        self._row.counts[RECORDED], self._row.counts[STEP] = 0, s.n_step
        self._look()
        self._weigh()
        angle, speed, moment = float(s.q[self._q]), float(s.v[self._dof]), float(self._moment[self._at])
        done = moment * (angle - self._turned_from)
        self._turned_from = angle
        energy, power = self._found.tolist()
        drift = balance.add(energy, power - moment * speed, done, self._powers())
        most = self.exchange.spec.limits.drift_max_J
        self.refusal = ""
        if math.isnan(drift):
            self.refusal = "the energy of the model is not a finite number"
        elif abs(drift) > most:
            self.refusal = (
                f"the energy balance of the model has an error of {drift:.3g} J in about a second; "
                f"allowed: {most:g} J"
            )
        if self.refusal:
            self.exchange.arming.fault(self.refusal)
        return FINE

    def wrong(self) -> str:
        """Return a sentence on why the device's torque must end because energy and work differ; empty if it
        need not.
        """
        return self.refusal

    def report(self) -> None:
        """Publish the energy balance."""
        b = self.balance
        self._values[:] = (b.energy, *b.work, b.drift)

    def quantities(self) -> list[Quantity]:
        """Declare the published energy balance: the energy of the limb, the work of each source, and the
        drift, which is the recent difference between the two [J].
        """
        return [balance_of(self._values)]

    def gauges(self) -> dict[str, float]:
        """Return for the telemetry the largest drift so far [J]: the difference between the limb's energy and
        the work on it that builds up within about a second.
        """
        return {"energy_drift_largest_J": self.balance.largest}

    def _powers(self) -> list[float]:
        """Return the powers [W] at the present state of device, torque generators, muscles and prescribed
        motion; 0 for the device, whose work `run` computes from its torque.
        """
        row, v = self._row, self.simulator.v
        turning = 0.0 if self._turned is None else float(row.generator[0, :, GIVEN_TORQUE] @ v[self._turned])
        n = self._n_muscle
        pulling = -float(row.pull[0, :n, PULL] @ row.pull[0, :n, PATH_SPEED]) if n else 0.0
        told = float(row.coupler[0, self._own] @ v[self._given]) if len(self._own) else 0.0
        return [0.0, turning, pulling, told]

    def _begin_anew(self) -> None:
        self.balance.begin()
        self.refusal = ""
        self._n_step, self._turned_from = self.simulator.n_step, float(self.simulator.q[self._q])


PANEL = Curves("Energy", "energy", 2, 1.0)
MEANING = (
    "energy of the model, kinetic and potential in gravity; work of the device, of torque generators, of "
    "muscles and of prescribed motion since the start; drift, the change of energy within about a second "
    "that no work explains"
)


def balance_of(values: NDArray[np.float64]) -> Quantity:
    """Return the energy balance as a quantity.

    values : (6,) energy of the model; work of the device, of torque generators, of muscles and of prescribed
        motion; and drift, the difference of energy and work that built up within about a second [J]
    """
    return Quantity("energies", values, "J", LABELS, curves=PANEL, meaning=MEANING)
