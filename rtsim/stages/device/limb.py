"""The limb of a run with a device: a forward step that can be paused, and reset to its start, by command."""

from __future__ import annotations

from rtsim.device.exchange import DeviceExchange
from rtsim.simulation.motion_feed import MotionFeed
from rtsim.simulation.simulator import Simulator
from rtsim.stages.device.device_element import device_element
from rtsim.stages.device.forward import UNTOLD, ForwardStep
from rtsim.stages.stage import StageOutcome
from streams.messages import Status
from streams.receiving.ring import ReceivedFrame

STANDING = StageOutcome(Status.STALE)


class LimbStep(ForwardStep):
    """The forward step of a limb that can be paused; frames of a paused limb are flagged stale.

    This stage has no commands of its own. Pause and return to the start are commands of the device exchange,
    which disarms the device first.
    """

    def __init__(
        self,
        exchange: DeviceExchange,
        simulator: Simulator,
        rate: float,
        every: int,
        feed: MotionFeed | None = None,
    ) -> None:
        super().__init__(simulator, rate, every, feed=feed)
        self.exchange, self._usual = exchange, every
        self._q = int(simulator.model.forces.springs.coordinate[device_element(simulator)])
        self._n_standing = 0
        self.counters.update(resets=0)
        self.orders = {}

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Run the steps of one tick, unless `PauseControl` has paused the limb."""
        x, hold = self.exchange, self.exchange.hold
        if hold.back:
            self._begin_anew()
            x.obedience.jumps()
            self.counters["resets"] += 1
        x.angle_before = float(self.stride.simulator.q[self._q])
        frame.time = hold.n_moved / x.spec.exchange.rate_hz
        if hold.stands:
            self._n_standing += 1
            return STANDING if self._n_standing % self._usual == 0 else UNTOLD
        self.every = 1 if hold.wanted else self._usual  # the newest pose is known where it comes to stand
        return super().run(frame)
