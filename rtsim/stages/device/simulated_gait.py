"""The gait phase of a simulated limb, for the controller of its device."""

from __future__ import annotations

from rtsim.config.runs.hil_schema import GaitSpec
from rtsim.device.controller import Gait
from rtsim.device.exchange import DeviceExchange
from rtsim.methods.gait_phase import GaitPhase
from rtsim.models.entries import coordinate_names
from rtsim.quantity import Quantity
from rtsim.stages.device.device_element import Limb
from rtsim.stages.gait_phase import quantities_of, tell, values_for
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.receiving.ring import ReceivedFrame


class SimulatedGait(Stage):
    """Gait phase of a simulated limb at every tick, from a coordinate that rises in swing, such as the foot's
    position relative to the pelvis.
    """

    def __init__(self, spec: GaitSpec, exchange: DeviceExchange, simulator: Limb) -> None:
        super().__init__()
        self._exchange, self._simulator = exchange, simulator
        self._leg = (spec.coordinate,)
        self._q = coordinate_names(simulator.model)[0].index(spec.coordinate)
        self._sign = -1.0 if spec.reversed else 1.0
        self._values = values_for(1)
        self.reset()

    def reset(self) -> None:
        """Forget the strides so far."""
        super().reset()
        self._phases, self._time = GaitPhase(1), 0.0

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the phase of the gait from the state of the limb after the forward step of this tick."""
        s = self._simulator
        if self._exchange.hold.stands:
            return FINE
        if s.time < self._time:  # it went back to its start
            self._phases = GaitPhase(1)
        self._time = s.time
        self._phases.add(s.time, [self._sign * float(s.q[self._q])])
        (stride,) = self._phases.strides
        self._exchange.gait = Gait(stride.phase, stride.confidence, stride.length)
        return FINE

    def report(self) -> None:
        """Publish the gait phase of the leg."""
        tell(self._phases.strides[0], self._values, 0)

    def quantities(self) -> list[Quantity]:
        """Return phase, confidence, stride time and events of the gait, labelled by the coordinate they come
        from."""
        return quantities_of(self._values, self._leg)
