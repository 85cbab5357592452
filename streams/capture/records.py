"""Records of the data of capture systems, for any protocol: descriptions, frames, clocks, and errors."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.errors import StreamError

FloatArray = NDArray[np.float64]
StampArray = NDArray[np.int64]
CaptureReason = Literal["address", "missing", "unreachable", "refused", "silent", "closed", "malformed"]
Upwards = Literal["+X", "-X", "+Y", "-Y", "+Z", "-Z", ""]
LengthUnit = Literal["m", "cm", "mm", ""]
MOST_MARKERS = 4096
"""Largest number of labels in a descriptor; a server that states more is taken as malformed."""
MOST_PLATES = 64


SLOWEST, FASTEST = 0.01, 100_000.0
"""Rates that are believed; no camera and no plate has others [Hz]."""


def believed_rate(rate: float) -> float:
    """Return a rate that a system states [Hz] if it is plausible, else 0."""
    return rate if SLOWEST <= rate <= FASTEST else 0.0


class CaptureError(StreamError):
    """Raised where a capture system cannot be read; the text is one sentence fit to be shown to a user.

    Parameters
    ----------
    reason : "address" (the address, or an option in it, is invalid), "missing" (a package that the system
      needs is not installed), "unreachable" (no answer), "refused" (the server rejects this client, or has an
      unsupported version), "silent" (it stopped answering), "closed" (it closed the connection), "malformed"
      (its data violate the protocol, so that the start of the next message is unknown)
    text : one plain sentence with the details
    """

    def __init__(self, reason: CaptureReason, text: str) -> None:
        super().__init__(text)
        self.reason: CaptureReason = reason

    @property
    def final(self) -> bool:
        """Whether another attempt would be useless, so that the command ends."""
        return self.reason in ("address", "missing")


class PlateDescription(NamedTuple):
    """Description of a force plate.

    name : as the system has it
    corners : four (x, y, z) of its surface in order around it, in the markers' axes [m]; () = not known
    rate : samples per second [Hz], 0 = not stated
    """

    name: str
    corners: tuple[tuple[float, float, float], ...] = ()
    rate: float = 0.0


class CaptureDescription(NamedTuple):
    """The description of a marker stream, which does not change from frame to frame; equal descriptions
    belong to one session.

    names : names of the markers, in the order of the frames' rows; () = there are none yet
    unit : unit of positions; "" = not reported, and then inferred from the size of the standing person
    up : the axis that points up; "" = not reported, and then inferred from the standing person
    rate : frames per second [Hz], 0 = irregular or not stated
    plates : force plates, in the order of the force samples
    labelled : whether the names are those of markers on the body, not mere numbers
    rate_measured : whether the rate was measured, as the system does not state it, so that it may differ a
        little on the next connection
    """

    names: tuple[str, ...]
    unit: LengthUnit
    up: Upwards
    rate: float
    plates: tuple[PlateDescription, ...] = ()
    labelled: bool = True
    rate_measured: bool = False


class ForceSamples(NamedTuple):
    """Samples of all plates that came with a frame, in the system's own axes and units.

    stamps : (n_sample,) times of the samples, on the clock of the frames' stamps [ns], increasing
    force : (n_plate, n_sample, 3) - in the markers' axes [N]; NaN = not measured
    moment : (n_plate, n_sample, 3) - about the laboratory's origin, in the markers' axes [N m]

    Whether these are forces on the person or on the plate is up to the system. The relay detects it by the
    weight of a person on the plates.
    """

    stamps: StampArray
    force: FloatArray
    moment: FloatArray


class CaptureFrame(NamedTuple):
    """One frame of a capture system, in a form that is the same for all systems.

    positions : (n_marker, 3) float64 in the description's unit and axes, an array of this frame alone; NaN =
        occluded
    arrived_ns : time when its last byte was read, by streams.clock.now_ns [ns]
    stamp_ns : time when it was captured, on the system's clock [ns]; None = not stated
    number : the system's frame number; only used to count missing frames, as it is unreliable; -1 = none
    age_ns : age on arrival, if the system reports its latency (sum of all that it knows) [ns]
    unnamed : (n, 3) unlabelled markers, also in the description's unit; None = not reported
    forces : samples of force plates that came with it; None = none
    """

    positions: FloatArray
    arrived_ns: int
    stamp_ns: int | None
    number: int = -1
    age_ns: int = 0
    unnamed: FloatArray | None = None
    forces: ForceSamples | None = None

    @property
    def shows_any(self) -> bool:
        """Whether a marker is visible, with a name or without."""
        rows = [self.positions] if self.unnamed is None else [self.positions, self.unnamed]
        return any(bool(np.isfinite(x).all(axis=-1).any()) for x in rows)


class ClockPair(NamedTuple):
    """Readings of the system's clock and of this machine's at one moment, from an echo or a time correction.

    Once such a pair is known, it replaces the offset that is estimated from the arrival times of frames.
    """

    stamp_ns: int
    local_ns: int


class FoundServer(NamedTuple):
    """A server found on the network: its address for `rtsim connect`, and its description of itself."""

    address: str
    words: str
