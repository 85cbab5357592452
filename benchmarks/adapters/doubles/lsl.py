"""A sender of markers over Lab Streaming Layer: a real outlet of liblsl on this computer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.adapters.double import DoubledFrame, DoubledPlate
from benchmarks.adapters.server_clock import ServerClock
from streams.capture.lsl.channels import LslChannel, marker_channels, positions_of
from streams.capture.lsl.library import lsl, to_ours_ns
from streams.clock import now_ns

PARTS = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")


class LslDouble:
    """See `benchmarks.adapters.double.CaptureDouble`. Frame numbers are not sent, as streams have none.

    Attributes
    ----------
    name, source_id, type : properties of the stream; unit : unit of positions, "meters" or "millimeters"
    described : whether channels are described; nominal : whether the rate is stated
    clock : clock of the stamps that frames have; they are sent as stamps of liblsl's clock
    """

    def __init__(self, names: Sequence[str], rate: float, plates: Sequence[DoubledPlate] = ()) -> None:
        self.names, self.rate, self.plates = list(names), rate, list(plates)
        self.name, self.source_id, self.type = f"rtsim double {id(self):x}", "double", "Mocap"
        self.unit, self.described, self.nominal = "meters", True, True
        self.clock = ServerClock()
        self._outlet: Any = None
        self._forces: Any = None
        self._last = (0, 0.0)
        self._ours_ns = 0

    @property
    def address(self) -> str:
        forces = f"?forces={self.name} forces" if self.plates else ""
        return f"lsl://{self.name}{forces}"

    @property
    def n_client(self) -> int:
        return int(self._outlet is not None and self._outlet.have_consumers())

    def start(self) -> None:
        self._ours_ns = to_ours_ns(lsl())
        self._outlet = self._opened(self.name, self.type, self._marker_channels(), self.rate)
        if self.plates:
            channels = [
                LslChannel(label=f"{plate.name}_{part}", unit="N" if part[0] == "F" else "N m")
                for plate in self.plates
                for part in PARTS
            ]
            self._forces = self._opened(f"{self.name} forces", "Force", channels, self.plates[0].rate)

    def stop(self) -> None:
        self._outlet = self._forces = None

    def describe(self, names: Sequence[str]) -> None:
        """End the stream and begin another one of the same name, as the channels of a stream cannot
        change.
        """
        self.names = list(names)
        if self._outlet is not None:
            self.stop()
            self.start()

    def send(self, frame: DoubledFrame) -> None:
        if self._outlet is None:
            return
        if frame.stamp_ns != self._last[0]:
            if self.clock.given is None:
                self.clock.learn(frame.stamp_ns)
            now = now_ns()  # once: whoever is interrupted between two looks at a clock has two times
            captured_ns = now - max(0, self.clock.at(now) - frame.stamp_ns)
            self._last = (frame.stamp_ns, 1e-9 * (captured_ns - self._ours_ns))
        stamp = self._last[1]
        if frame.wrenches is not None and self._forces is not None:
            n = frame.wrenches.shape[1]
            for k in range(n):
                values = np.concatenate([rows[k, :6] for rows in frame.wrenches])
                self._forces.push_sample(values.tolist(), stamp + k / (n * self.rate))
        self._outlet.push_sample(self._values(frame).tolist(), stamp)

    def keep_clock(self, given: Callable[[int], int]) -> None:
        self.clock.given = given

    def decoder(self, frame: DoubledFrame) -> Callable[[], object]:
        channels = self._marker_channels()
        markers = marker_channels(channels, len(channels))
        row = self._values(frame).tolist()
        return lambda: positions_of(np.array(row, np.float64), markers)

    def _values(self, frame: DoubledFrame) -> np.ndarray:
        return np.asarray(frame.positions * (1e3 if self.unit == "millimeters" else 1.0)).ravel()

    def _marker_channels(self) -> list[LslChannel]:
        if not self.described:
            return [LslChannel()] * (3 * len(self.names))
        return [
            LslChannel(f"{name}_{axis}", name, "", f"Position{axis}", self.unit)
            for name in self.names
            for axis in "XYZ"
        ]

    def _opened(self, name: str, kind: str, channels: Sequence[LslChannel], rate: float) -> Any:
        library = lsl()
        told = rate if self.nominal else 0.0
        info = library.StreamInfo(name, kind, len(channels), told, library.cf_double64, self.source_id)
        if self.described:
            described = info.desc().append_child("channels")
            for channel in channels:
                node = described.append_child("channel")
                for key, value in channel._asdict().items():
                    if value:
                        node.append_child_value(key, value)
        return library.StreamOutlet(info)


Double = LslDouble
