"""A listener to what a model publishes at the results endpoint: outputs, messages, parameters."""

from __future__ import annotations

import struct
import threading
from typing import Any

import zmq

from benchmarks.hil_hostile.case import Sample
from benchmarks.hil_hostile.wire import Keys, unpacked
from streams.clock import now_ns

TOPICS = (b"output", b"telemetry", b"session", b"result")
PARAMETERS = "device_parameters"
LATCHED = "-> fault"


class OutputListener:
    """Listens in a separate thread from the first message on.

    Attributes
    ----------
    torque : the outputs, by the model's clock when each was sent, which is this computer's
    said : sentences, and when they were heard
    parameters : parameters of the controller in each result, and the time at which it was heard
    """

    def __init__(self, address: str) -> None:
        self.torque: list[Sample] = []
        self.said: list[tuple[int, str]] = []
        self.parameters: list[tuple[int, dict[str, float]]] = []
        self._labels: list[str] = []
        self._over = threading.Event()
        self._address = address
        self._thread = threading.Thread(target=self._listen, name="listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._over.set()
        self._thread.join()

    @property
    def on(self) -> bool:
        """Whether the newest output is armed."""
        return bool(self.torque) and self.torque[-1].on

    def faults_since(self, t_ns: int) -> list[str]:
        """Return the messages on faults that latched since a time [ns]."""
        return [text for t, text in list(self.said) if t >= t_ns and LATCHED in text]

    def _listen(self) -> None:
        with zmq.Context() as context, context.socket(zmq.SUB) as socket:
            socket.linger, socket.rcvhwm = 0, 0
            socket.connect(self._address)
            for topic in TOPICS:
                socket.subscribe(topic)
            while not self._over.is_set():
                if socket.poll(50):
                    parts = socket.recv_multipart()
                    self._keep(parts[0], unpacked(parts))

    def _keep(self, topic: bytes, message: Keys) -> None:
        if topic == b"output":
            self.torque.append(Sample(message["t_sent"], message["armed"], message["torque"][0]))
        elif topic == b"telemetry":
            self.said += [(now_ns(), text) for text in message.get("text", ())]
        elif topic == b"session":
            fields: list[dict[str, Any]] = message["fields"]
            self._labels = next((f.get("labels", []) for f in fields if f["name"] == PARAMETERS), [])
        elif self._labels and PARAMETERS in message["data"]:
            values = struct.unpack(f"<{len(self._labels)}d", message["data"][PARAMETERS])
            self.parameters.append((now_ns(), dict(zip(self._labels, values, strict=True))))
