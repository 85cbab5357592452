"""The simulated device in the process of the model, without sockets; it answers within the call that
sends.
"""

from __future__ import annotations

from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.live.hardware.device_process import SimulatedDevice
from streams.clock import now_ns
from streams.messages import Device, Output


class InProcessPort:
    """The model's port and the device's link in one object, with the same device as in a separate process.

    Attributes
    ----------
    device : the device
    taken : messages of the device since they were last read, with the time [ns]
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
        """Pass the model's output to the device and advance it by a tick; its message becomes available."""
        if isinstance(message, Device):
            self._coming.append(message)
        else:
            self.device.answer(message)

    def receive(self) -> bool:
        """Move the device's message into `taken`; return whether there was one."""
        t_ns = now_ns()
        self.taken = [(message, t_ns) for message in self._coming]
        self._coming = []
        return bool(self.taken)

    def poll(self, timeout_ms: int) -> bool:
        """Return whether a message is waiting; none can arrive later."""
        return bool(self._coming)

    def newest(self, timeout_ms: int) -> None:
        """Do nothing, as the device receives every output directly."""

    def close(self) -> None:
        """Do nothing, as nothing is open."""

    def sentences(self) -> list[str]:
        """Return no sentences: there is nothing to report."""
        return []
