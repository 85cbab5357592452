"""Taking the zero off the force plates of a trial, from seconds in which nobody is on them."""

from __future__ import annotations

import numpy as np

from kernels.plates import gather_tare, new_tare, settle_tare, take_off
from rtsim.errors import ConfigError
from rtsim.files.force_trial import MOST_DRIFT, THRESHOLD, ForceTrial, find_contacts
from rtsim.files.trial import name_some


def tare(trial: ForceTrial, start: float, stop: float) -> ForceTrial:
    """The trial without the mean of start to stop [s], plate by plate, as its notes tell.

    A plate whose normal force varies there by more than 20 N, or is beyond 50 N, is not empty, and stays as
    it is, which is told, too. ConfigError where there are no samples between, or no plate is empty.
    """
    inside = (trial.times >= start) & (trial.times <= stop)
    if not inside.any():
        raise ConfigError(
            f"no force samples from {start:g} to {stop:g} s",
            where=trial.source,
            allowed=f"{trial.times[0]:g} to {trial.times[-1]:g} s",
        )
    force, moment, zero = trial.force.copy(), trial.moment.copy(), new_tare(len(trial.names))
    gather_tare(trial.plates, np.ascontiguousarray(force[inside]), np.ascontiguousarray(moment[inside]), zero)
    zero.baseline[:] = np.nan  # what stays so was not empty
    settle_tare(zero, THRESHOLD, MOST_DRIFT)
    empty = np.isfinite(zero.baseline).all(axis=1)
    zero.baseline[~empty] = 0.0
    if not empty.any():
        raise ConfigError(
            f"no force plate is empty from {start:g} to {stop:g} s",
            where=trial.source,
            remedy="give seconds in which nobody is on the plates",
        )
    take_off(zero, force, moment)
    normal = np.einsum("pi,pi->p", zero.baseline[:, :3], trial.plates.axes[:, 2])
    done = [
        f"{name} {off:.3g} N" for name, off, is_so in zip(trial.names, normal, empty, strict=True) if is_so
    ]
    notes = [f"zero taken off from {start:g} to {stop:g} s: {name_some(done)}"]
    left = [name for name, is_so in zip(trial.names, empty.tolist(), strict=True) if not is_so]
    if left:
        notes.append(f"loaded or not measured from {start:g} to {stop:g} s, and not tared: {name_some(left)}")
    centre, free_moment, loaded = find_contacts(trial.plates, force, moment)
    return trial._replace(
        force=force,
        moment=moment,
        centre=centre,
        free_moment=free_moment,
        loaded=loaded,
        notes=(*trial.notes, *notes),
    )
