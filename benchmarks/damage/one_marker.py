"""Frames whose angles depend on one marker: leaving it out moves them by more than their limit.

Such a frame may be flagged however clean its markers are: what is reported of it is true.
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
    """(n_frame,) - those of the frames asked for in which an angle depends on one marker, by the method in
    use.

    That is where leaving out some one marker of the subject throughout moves an angle beyond its limit.
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
    """(n_angle,) - limits of the deviations from which angles are uncertain; the third angle of a joint
    has another one [rad].
    """
    stated = person.run.uncertainty
    limits = (stated.limit_deg, stated.limit_deg, stated.limit_rotation_deg)
    return np.radians(np.tile(limits, n_angle // len(limits)))
