"""Converts a capture system's description and frames to sessions and messages of the protocol of rtsim's
streams.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from streams.account import plain
from streams.capture.force_sign import ForceSign
from streams.capture.records import (
    MOST_MARKERS,
    MOST_PLATES,
    CaptureDescription,
    CaptureFrame,
    FloatArray,
    ForceSamples,
)
from streams.capture.upwards import turn_up
from streams.clock import now_ns
from streams.codec import WIRE_FLOAT, FieldLayout
from streams.errors import StreamError
from streams.messages import Forces, Markers, force_session, marker_session, new_session_id

LONGEST_NAME = 128
METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001}
MOST_SAMPLES = 256
"""Room for samples of a plate in a message; more go into another one."""
MOST_NUMBERS = 100_000
"""Numbers that the forces of a message may have, so that it can be sent."""


class Labelled(NamedTuple):
    """A description of markers with known unit and axes.

    n_unnamed : number of further rows, for markers without names
    notes : remarks for the user, which the session's descriptor contains
    """

    description: CaptureDescription
    n_unnamed: int = 0
    notes: tuple[str, ...] = ()


class RelayedSession:
    """Builds the messages of a session of markers and, if there are force plates, of a session of forces
    whose times count from the same instant.

    Parameters
    ----------
    labelled : the description, with a unit and an axis
    source : source of the frames, for the descriptor
    sign : detector of the sign of the system's forces, which all sessions of a relay share
    """

    def __init__(self, labelled: Labelled, source: str, sign: ForceSign) -> None:
        description = self.description = labelled.description
        self._n_unnamed, self._sign = labelled.n_unnamed, sign
        self._turn, up = turn_up(description.up)
        self._up = "YZ".index(up) + 1
        self._plates = description.plates[:MOST_PLATES]
        if len(description.names) + self._n_unnamed > MOST_MARKERS:
            raise StreamError(f"{len(description.names)} markers are more than the {MOST_MARKERS} that fit")
        names = unique([plain(name, LONGEST_NAME) for name in description.names])
        names += [f"unnamed_{k + 1}" for k in range(self._n_unnamed)]
        base = {"time_base": new_session_id(), "source": source}
        named = {} if description.labelled else {"labelled": False}
        t_start = now_ns()
        self.markers = marker_session(
            names, rate=description.rate, t_start=t_start, unit=description.unit or "m",
            up=up, meta={**base, **named, "notes": list(labelled.notes)},
        )  # fmt: skip
        self.n_named, self.n_marker = len(description.names), len(names)
        self.forces = None
        if self._plates:
            rate = max(plate.rate for plate in self._plates)
            per_frame = rate / description.rate if description.rate > 0.0 else MOST_SAMPLES
            room = min(
                max(8, 2 * math.ceil(per_frame)), MOST_SAMPLES, MOST_NUMBERS // (6 * len(self._plates))
            )
            self.forces = force_session(
                [plain(plate.name, LONGEST_NAME) for plate in self._plates], room, rate=description.rate,
                sample_rate=rate, t_start=t_start, corners=self._corners(), up=up, meta=base,
            )  # fmt: skip
            self._room, self._layout = room, FieldLayout(self.forces)
        self._seq = {"markers": 0, "forces": 0}

    def positions(self, frame: CaptureFrame) -> FloatArray | None:
        """Return the positions of a frame as they are published, (n_marker, 3): with Y or Z up, and with rows
        for markers without names; None if the number of named markers is not that of the description.
        """
        named = frame.positions
        if named.shape != (self.n_named, 3):
            return None
        if self._n_unnamed:
            rows = np.full((self.n_marker, 3), np.nan)
            rows[: self.n_named] = named
            if frame.unnamed is not None:
                others = frame.unnamed[: self._n_unnamed]
                rows[self.n_named : self.n_named + len(others)] = others
            named = rows
        if np.isinf(named).any():  # no place, whatever the system means by it
            named = np.where(np.isinf(named), np.nan, named)
        if self._turn is not None:
            named = named @ self._turn.T
        return np.ascontiguousarray(named, dtype=WIRE_FLOAT)

    def marker_message(self, content: bytes, t_capture: int, time: float) -> Markers:
        """Return the message of a frame of markers; content : bytes of the array that `positions` returned"""
        return Markers(
            session=self.markers.session, seq=self._next("markers"), t_capture=t_capture, time=time,
            data={"positions": content},
        )  # fmt: skip

    def force_messages(
        self, samples: ForceSamples, stamp_ns: int, t_capture: int, time: float
    ) -> tuple[list[Forces], str]:
        """Build the messages of force samples that came with a frame of the given stamp and time.

        Returns the messages, and a sentence on the sign of the forces when it becomes known. No message is
        built if the plates are not those of the description.
        """
        n_sample = len(samples.stamps)
        expected = (len(self._plates), n_sample, 3)
        if self.forces is None or samples.force.shape != expected or samples.moment.shape != expected:
            return [], ""
        force, moment = samples.force, samples.moment
        if self._turn is not None:
            force, moment = force @ self._turn.T, moment @ self._turn.T
        vertical = force[..., self._up]
        told = self._sign.judge(vertical)
        force, moment = self._sign.applied(force, moment, vertical)
        after_s: FloatArray = 1e-9 * (samples.stamps - stamp_ns).astype(np.float64)
        messages = []
        for start in range(0, n_sample, self._room):
            part = slice(start, min(start + self._room, n_sample))
            messages.append(
                self._force_message(force[:, part], moment[:, part], after_s[part], t_capture, time)
            )
        return messages, told

    def _force_message(
        self, force: FloatArray, moment: FloatArray, after_s: FloatArray, t_capture: int, time: float
    ) -> Forces:
        n, n_plate = len(after_s), len(self._plates)
        times = np.full(self._room, np.nan)
        rows = np.full((2, n_plate, self._room, 3), np.nan)
        times[:n] = time + after_s
        rows[0, :, :n], rows[1, :, :n] = force, moment
        assert self.forces is not None
        return Forces(
            session=self.forces.session, seq=self._next("forces"),
            t_capture=max(0, t_capture + round(1e9 * float(after_s[-1]))), time=float(times[n - 1]),
            data=self._layout.pack({"sample_times": times, "force": rows[0], "moment": rows[1]}),
        )  # fmt: skip

    def _next(self, stream: str) -> int:
        seq = self._seq[stream]
        self._seq[stream] = seq + 1
        return seq

    def _corners(self) -> list[list[list[float]]]:
        """Return the corners of each plate in the axes of the published positions [m]."""
        turned = []
        for plate in self._plates:
            corners = np.array(plate.corners, dtype=np.float64).reshape(-1, 3)
            turned.append((corners if self._turn is None else corners @ self._turn.T).tolist())
        return turned if any(turned) else []


def unique(names: list[str]) -> list[str]:
    """Make names unique: a repeated name gets a number, as two markers with one name are two markers."""
    taken: set[str] = set()
    found = []
    for name in names:
        other, k = name, 1
        while other in taken:
            k += 1
            other = f"{name[: LONGEST_NAME - 8]}_{k}"
        taken.add(other)
        found.append(other)
    return found
