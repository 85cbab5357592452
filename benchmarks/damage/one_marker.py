"""Detection of frames in which an angle depends on a single marker: leaving it out changes the angle beyond
its limit.

Flagging such a frame is correct even if its markers are undamaged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.damage.persons import RecordedPerson
from benchmarks.damage.scene import DamagedMarkers, damaged
from benchmarks.damage.scores import deviations
from benchmarks.damage.solving import SolvedScene, solve


def hang_on_one(
    person: RecordedPerson, scene: DamagedMarkers, clean: SolvedScene, asked: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return those of the requested frames in which an angle depends on one marker, by the method in use,
    (n_frame,).

    In these frames, leaving out some single marker of the subject throughout changes an angle beyond its
    limit.
    """
    hangs = np.zeros(scene.n_frame, bool)
    stop = int(np.flatnonzero(asked)[-1]) + 1 if asked.any() else 0
    for m in (m for m, group in enumerate(scene.groups) if group):
        if not (asked & ~hangs).any():
            break
        positions = scene.positions.copy()
        positions[:, m] = np.nan
        without = damaged(scene, positions, slice(0, stop), "")._replace(kept=np.arange(stop))
        apart = deviations(solve(person, scene, without), clean)
        hangs |= asked & (apart > limits_of(person, apart.shape[1])).any(axis=1)
    return hangs


def limits_of(person: RecordedPerson, n_angle: int) -> NDArray[np.float64]:
    """Return the limits of the standard deviations above which angles count as uncertain, (n_angle,) [rad];
    the third angle of a joint has another limit.
    """
    stated = person.run.uncertainty
    limits = (stated.limit_deg, stated.limit_deg, stated.limit_rotation_deg)
    return np.radians(np.tile(limits, n_angle // len(limits)))
