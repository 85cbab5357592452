"""Force plates of NatNet: forces and moments of calibrated channels, in the laboratory's axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streams.capture.byte_reader import as_doubles
from streams.capture.natnet.frame import NatNetFrame, NatNetPlateSamples
from streams.capture.natnet.messages import Definitions, PlateDefinition
from streams.capture.plate_geometry import PlatePlace, in_metres, place_of_corners, to_laboratory
from streams.capture.records import MOST_PLATES, ForceSamples, PlateDescription

CHANNELS = ("fx", "fy", "fz", "mx", "my", "mz")
MOST_SAMPLES = 256
"""Samples of a plate in a frame; more are no measurement of one frame's time."""


class _Plate:
    """A usable plate: its pose, and which of its channels are forces and moments."""

    def __init__(
        self, definition: PlateDefinition, place: PlatePlace, scale: float, order: list[int]
    ) -> None:
        self.number = definition.number
        self.place = place
        self.order = order
        corners = tuple(tuple(float(x) for x in corner) for corner in scale * definition.corners)
        name = definition.serial or f"plate {definition.number}"
        self.description = PlateDescription(name, corners)  # type: ignore[arg-type]


class NatNetPlates:
    """The force plates of the definitions that can be used.

    before : the number of readings that earlier definitions left out

    unused : names of plates that cannot be used, because they are not calibrated, have no area, or have other
      channels than forces and moments
    left_out : number of readings of a plate in a frame that are not used, because its channels, or the
      plates, have different numbers of samples, or more than MOST_SAMPLES
    """

    def __init__(self, definitions: Definitions, before: int = 0) -> None:
        self.left_out = before
        self._plates: list[_Plate] = []
        self.unused: list[str] = []
        for definition in definitions.plates[:MOST_PLATES]:
            scale = in_metres(definition.corners)
            place = place_of_corners(scale * definition.corners, scale * definition.origin)
            order = _order(definition.channels)
            if place is None or order is None or not definition.calibrated:
                self.unused.append(definition.serial or f"plate {definition.number}")
            else:
                self._plates.append(_Plate(definition, place, scale, order))

    def descriptions(self, rate: float) -> tuple[PlateDescription, ...]:
        """Return the descriptions of the plates, in the order in which `samples` returns their forces.

        rate : samples per second, which the server states in another message
        """
        return tuple(plate.description._replace(rate=rate) for plate in self._plates)

    def samples(self, frame: NatNetFrame, stamp_ns: int | None, period_ns: int) -> ForceSamples | None:
        """Return the force samples that came with a frame, spread over its period from its stamp on, as
        analog samples are in C3D.

        Returns None if there are no plates, no stamps, or no samples.
        """
        if not self._plates or stamp_ns is None or period_ns <= 0:
            return None
        measured = {plate.number: plate for plate in frame.plates}
        n = max((_n_sample(measured.get(p.number), p.order) for p in self._plates), default=0)
        if not 0 < n <= MOST_SAMPLES:
            self.left_out += len(self._plates) if n else 0
            return None
        force = np.full((len(self._plates), n, 3), np.nan)
        moment = np.full_like(force, np.nan)
        for k, plate in enumerate(self._plates):
            rows = _rows(measured.get(plate.number), plate.order)
            if rows is not None and len(rows) == n:
                force[k], moment[k] = to_laboratory(plate.place, rows[:, :3], rows[:, 3:])
            elif _n_sample(measured.get(plate.number), plate.order):
                self.left_out += 1
        stamps = stamp_ns + (np.arange(n, dtype=np.int64) * period_ns) // n
        return ForceSamples(stamps, force, moment)


def _order(channels: tuple[str, ...]) -> list[int] | None:
    """Return the indices of Fx to Mz among the channels; 0 to 5 for six channels with unknown names, else
    None."""
    names = [name.strip().casefold()[-2:] for name in channels]
    if all(name in names for name in CHANNELS):
        return [names.index(name) for name in CHANNELS]
    return list(range(6)) if len(channels) == 6 else None


def _n_sample(samples: NatNetPlateSamples | None, order: list[int]) -> int:
    return (
        len(samples.channels[order[0]]) if samples is not None and len(samples.channels) > max(order) else 0
    )


def _rows(samples: NatNetPlateSamples | None, order: list[int]) -> NDArray[np.float64] | None:
    """Return the samples of a plate : (n_sample, 6); None where channels are missing or of different
    lengths."""
    n = _n_sample(samples, order)
    if samples is None or n == 0 or any(len(samples.channels[k]) != n for k in order):
        return None
    return as_doubles(np.column_stack([samples.channels[k] for k in order]))
