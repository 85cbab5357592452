"""Force plates of Vicon's DataStream: forces and moments in the laboratory's axes."""

from __future__ import annotations

import numpy as np

from streams.capture.byte_reader import as_doubles
from streams.capture.plate_geometry import FloatArray, PlatePlace, to_laboratory
from streams.capture.records import ForceSamples, PlateDescription
from streams.capture.vicon.blocks import DeviceSamples, PlatePose
from streams.capture.vicon.stream import ViconFrame, ViconStatics

LOADED = 20.0
"""Samples with less force than this say nothing of the unit of moments [N]."""
LONGEST_LEVER = 3.0
"""No plate is so large that a moment about its own origin has a longer lever; then it is in N mm [m]."""
MOST_SAMPLES = 4096
CORNERS = ((1, 1), (0, 1), (0, 0), (1, 0))
"""Indices of the bounds in x and y of each corner, in C3D's order: +x +y, -x +y, -x -y, +x -y."""


class ViconPlates:
    """The force plates whose pose is known.

    in_millimetres : whether moments are in N mm. The SDK's source says N/mm and its manual N m, so the unit
      is inferred from the data: moment divided by force, the lever arm on the plate, is below a metre
    """

    def __init__(self, statics: ViconStatics) -> None:
        self.in_millimetres = False
        self._poses = statics.plates
        self._places = [PlatePlace(pose.rotation, 1e-3 * pose.translation) for pose in statics.plates]
        names = {number: name for number, _, name in statics.devices}
        self._names = [names.get(pose.device, "") or f"plate {pose.device}" for pose in self._poses]

    def descriptions(self, rate: float) -> tuple[PlateDescription, ...]:
        """Return the descriptions of the plates, in the order in which `samples` returns their forces.

        rate : samples per second, which the caller derives from the number of samples in a frame
        """
        return tuple(
            PlateDescription(name, _corners(pose, place), rate)
            for name, pose, place in zip(self._names, self._poses, self._places, strict=True)
        )

    def samples(self, frame: ViconFrame, stamp_ns: int, period_ns: int) -> ForceSamples | None:
        """Return the force samples that came with a frame, spread over its period from its stamp on; None
        without samples.
        """
        if not self._poses or "force" not in frame.samples:
            return None
        pairs = [self._of(pose.device, frame) for pose in self._poses]
        n = max(force.shape[1] for force, _ in pairs)
        if not 0 < n <= MOST_SAMPLES:
            return None
        force = np.full((len(pairs), n, 3), np.nan)
        moment = np.full_like(force, np.nan)
        for k, (f, m) in enumerate(pairs):
            if f.shape[1] == n and m.shape == f.shape:
                self._judge(f, m)
                scale = 1e-3 if self.in_millimetres else 1.0
                force[k], moment[k] = to_laboratory(self._places[k], f.T, scale * m.T)
        stamps = stamp_ns + (np.arange(n, dtype=np.int64) * max(period_ns, 1)) // n
        return ForceSamples(stamps, force, moment)

    def _of(self, device: int, frame: ViconFrame) -> tuple[FloatArray, FloatArray]:
        """Return forces and moments (3, n) of a plate, joined from the samples of its device in a frame, in
        the order of their frame numbers.
        """
        return _joined(frame.samples["force"], device), _joined(frame.samples.get("moment", []), device)

    def _judge(self, force: FloatArray, moment: FloatArray) -> None:
        if self.in_millimetres:
            return
        size = np.linalg.norm(force, axis=0)
        loaded = size > LOADED
        if loaded.any():
            levers = np.linalg.norm(moment[:, loaded], axis=0) / size[loaded]
            self.in_millimetres = bool(np.median(levers) > LONGEST_LEVER)


def _joined(parts: list[DeviceSamples], device: int) -> FloatArray:
    mine = sorted((p for p in parts if p.device == device), key=lambda p: p.frame)
    mine = [p for p in mine if p.channel == mine[0].channel]
    if not mine:
        return np.zeros((3, 0))
    return as_doubles(np.concatenate([p.samples for p in mine], axis=1))


def _corners(pose: PlatePose, place: PlatePlace) -> tuple[tuple[float, float, float], ...]:
    """Return the four corners [m] of the surface, the plane z = 0 of the plate's axes; () for bounds without
    an area."""
    bounds = 1e-3 * pose.bounds
    if not (bounds[1, :2] > bounds[0, :2]).all():
        return ()
    points = [np.array((bounds[i, 0], bounds[j, 1], 0.0)) for i, j in CORNERS]
    return tuple(tuple(float(x) for x in place.rotation @ p + place.origin) for p in points)  # type: ignore[misc]
