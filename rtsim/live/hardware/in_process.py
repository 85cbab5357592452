"""The simulated device in the process of the model, without sockets: when the model sends it an output, the
device computes its answer within that call.
"""

from __future__ import annotations

from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.live.hardware.device_process import SimulatedDevice
from streams.clock import now_ns
from streams.messages import Device, Output


class InProcessPort:
    """Connection of the model to a simulated device in the same process.

    It is both ends at once: the model's port (in place of `streams.exchange.DevicePort`), by which the model
    sends outputs and receives messages, and the device's link (`DeviceLink`), by which the device answers.
    The device is the same as in a process of its own.

    Attributes
    ----------
    device : the device
    taken : messages from the device that the model received by its last call of `receive`, each with the time
        of that call [ns]
    """

    def __init__(self, spec: DeviceSpec) -> None:
        self.device = SimulatedDevice(spec, self)
        self.taken: list[tuple[Device, int]] = []
        self.counters: dict[str, int] = {}
        self.decode_ns = self.encoded_ns = 0
        self.keeps = False  # there is no other device
        # no tick comes before somebody has spoken
        self._coming = [
            Device(session="", seq=0, t=0, angle=[0.0], speed=[0.0], torque=[0.0], state="disarmed")
        ]

    def send(self, message: Output | Device) -> None:
        """Pass a message to the other side. An output of the model goes to the device, which advances by a
        tick and answers by this method, too; the answer waits until the model calls `receive`.
        """
        if isinstance(message, Device):
            self._coming.append(message)
        else:
            self.device.answer(message)

    def receive(self) -> bool:
        """Move the messages that wait for the model into `taken`; return whether there were any."""
        t_ns = now_ns()
        self.taken = [(message, t_ns) for message in self._coming]
        self._coming = []
        return bool(self.taken)

    def poll(self, timeout_ms: int) -> bool:
        """Return whether a message from the device waits for the model; none can arrive during the call."""
        return bool(self._coming)

    def newest(self, timeout_ms: int) -> None:
        """Do nothing, as the device receives every output directly."""

    def close(self) -> None:
        """Do nothing, as nothing is open."""

    def sentences(self) -> list[str]:
        """Return no sentences: there is nothing to report."""
        return []
