"""Removal of the offset of force plates: the mean over seconds in which they are unloaded is subtracted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_contact import EMPTY, Plates, gather_tare, new_tare, settle_tare, take_off
from rtsim.errors import ConfigError
from rtsim.files.forces.force_trial import MOST_DRIFT, THRESHOLD, ForceTrial, find_contacts
from rtsim.files.markers.trial import name_some

FloatArray = NDArray[np.float64]

FINE_S = 1e-9
"""Round-off of a duration that is a sum of time steps [s]."""
LEAST_TARE_S = 0.1
"""Shortest duration of the samples of an empty plate [s]; a single sample would seem constant."""


def tare(trial: ForceTrial, start: float, stop: float) -> ForceTrial:
    """Return the trial with the mean force and moment from start to stop [s] subtracted from each plate, and
    with additional notes on this.

    A plate whose normal force varies by more than 20 N in this time, or exceeds 50 N, is not empty; it is
    left unchanged, which is reported. ConfigError if the samples cover less than 0.1 s, or no plate is empty.
    """
    inside = (trial.times >= start) & (trial.times <= stop)
    if not inside.any():
        raise ConfigError(
            f"there are no force samples from {start:g} to {stop:g} s",
            where=trial.source,
            allowed=f"{trial.times[0]:g} to {trial.times[-1]:g} s",
        )
    lasting = float(inside.sum()) / trial.rate
    if lasting < LEAST_TARE_S - FINE_S:
        raise ConfigError(
            f"the force samples from {start:g} to {stop:g} s last only {lasting:.3g} s",
            where=trial.source,
            allowed=f"{LEAST_TARE_S:g} s or more",
            remedy="give a longer time in which nobody is on the plates",
        )
    n_plate = len(trial.names)
    values = np.concatenate([trial.force, trial.moment], axis=2).reshape(-1, 6 * n_plate)
    zero, found = new_tare(n_plate), np.empty(n_plate, np.int64)
    gather_tare(trial.plates, values[inside], zero)
    settle_tare(zero, THRESHOLD, MOST_DRIFT, found)
    if not (found == EMPTY).any():
        raise ConfigError(
            f"no force plate is empty from {start:g} to {stop:g} s",
            where=trial.source,
            remedy="give a time in which nobody is on the plates",
        )
    take_off(zero, values)
    done, left = name_tared(trial.names, found, normal_of(trial.plates, zero.baseline))
    notes = [f"the zero measured from {start:g} to {stop:g} s was subtracted from: {done}"]
    if left:
        notes.append(
            f"no zero was subtracted, because the plate is loaded or not measured from {start:g} "
            f"to {stop:g} s: {left}"
        )
    wrench = values.reshape(-1, n_plate, 6)
    force, moment = wrench[..., :3].copy(), wrench[..., 3:].copy()
    centre, free_moment, loaded = find_contacts(trial.plates, force, moment)
    return trial._replace(
        force=force,
        moment=moment,
        centre=centre,
        free_moment=free_moment,
        loaded=loaded,
        zero=trial.zero + zero.baseline,
        notes=(*trial.notes, *notes),
    )


def normal_of(plates: Plates, wrench: FloatArray) -> FloatArray:
    """Return the components (n_plate,) of forces along the normals of the plates [N], from forces and
    moments (n_plate, 6).
    """
    return np.asarray((wrench[:, :3] * plates.axes[:, 2]).sum(axis=1))


def name_tared(names: Sequence[str], found: NDArray[np.int64], normal: FloatArray) -> tuple[str, str]:
    """Return two texts: the names of the tared plates with their normal forces [N], and the names of the
    plates that were not tared; "" if there are none.

    found : (n_plate,) - 0 = tared, 1 = not tared because it was loaded, -1 = not tared for lack of samples
    normal : (n_plate,) - subtracted normal forces [N]
    """
    empty = found == EMPTY
    done = [f"{name} {off:.3g} N" for name, off, is_so in zip(names, normal, empty, strict=True) if is_so]
    left = [name for name, is_so in zip(names, empty.tolist(), strict=True) if not is_so]
    return name_some(done) if done else "", name_some(left) if left else ""
