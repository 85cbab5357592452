"""Forces and moments of the force plates on each foot at the times of the markers, computed for all frames of
a trial as a live run does for one frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.algebra.resampling import hold_samples, mean_between, new_held
from kernels.plates.plate_assignment import (
    AssignmentRules,
    assign_feet,
    foot_wrenches,
    new_plate_assignment,
    new_rules,
)
from kernels.plates.plate_contact import Plates
from rtsim.files.forces.force_trial import THRESHOLD, ForceTrial, find_contacts

FloatArray = NDArray[np.float64]
LONGEST_STEPS = 2.5
"""Multiple of the sample period above which the time between two samples is a gap."""


class PlateLoads(NamedTuple):
    """Wrenches and contacts of force plates, and the wrenches on the feet, at the times of n marker frames.

    times : (n,) [s]
    delay : delay of the forces relative to these times [s]
    force, moment : (n, n_plate, 3) - on the person, about the ground origin [N], [N m]; NaN = not measured
    centre : (n, n_plate, 3) - centre of pressure [m]; NaN without contact
    free_moment : (n, n_plate) [N m]
    loaded : (n, n_plate) int64 - LOADED, EMPTY or NOT_MEASURED of kernels.plates.plate_contact
    share : (n, n_plate, n_foot) int64 - whether the load of a plate is assigned to a foot, with the values of
        `assign_feet` in kernels.plates.plate_assignment
    status : (n, n_plate) int64 - result of the assignment of each plate, from the same kernel
    foot_force, foot_moment : (n, n_foot, 3) - on each foot, about the ground origin; NaN where not known
    """

    times: FloatArray
    delay: float
    force: FloatArray
    moment: FloatArray
    centre: FloatArray
    free_moment: FloatArray
    loaded: NDArray[np.int64]
    share: NDArray[np.int64]
    status: NDArray[np.int64]
    foot_force: FloatArray
    foot_moment: FloatArray


def at_times(trial: ForceTrial, times: FloatArray, before: float = 0.0, after: float = 0.0) -> FloatArray:
    """Average force and moment (n, n_plate, 6) over the interval from `before` before to `after` after each
    time [s].

    The delay of the averages is (before - after) / 2. If before and after are 0, values are interpolated
    instead. They are NaN at times at which the trial has no samples.
    """
    n_plate = len(trial.names)
    values = np.concatenate([trial.force, trial.moment], axis=2).reshape(len(trial.times), 6 * n_plate)
    held = new_held(len(trial.times), 6 * n_plate)
    hold_samples(trial.times, np.ascontiguousarray(values), held)
    result = np.empty((len(times), 6 * n_plate))
    for row, time in zip(result, times.tolist(), strict=True):
        mean_between(held, time - before, time + after, LONGEST_STEPS / trial.rate, row)
    return result.reshape(len(times), n_plate, 6)


def assign(
    plates: Plates,
    force: FloatArray,
    centre: FloatArray,
    loaded: NDArray[np.int64],
    feet: FloatArray,
    times: FloatArray,
    rules: AssignmentRules,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Assign feet to plates, frame after frame, by kernels.plates.plate_assignment.assign_feet.

    Returns share (n, n_plate, n_foot) and status (n, n_plate).

    force : (n, n_plate, 3) - on the person [N]
    centre (n, n_plate, 3), loaded (n, n_plate) : of kernels.plates.plate_contact.contacts
    feet : (n, n_foot, 2, 3) [m]; times : (n,) [s]
    """
    (n, n_plate), n_foot = loaded.shape, feet.shape[1]
    share, status = np.empty((n, n_plate, n_foot), np.int64), np.empty((n, n_plate), np.int64)
    state, lines, former = new_plate_assignment(n_plate, n_foot), np.ascontiguousarray(feet), np.inf
    for i, time in enumerate(times.tolist()):
        assign_feet(
            plates, force[i], centre[i], loaded[i], lines[i], time - former, rules, state, share[i], status[i]
        )
        former = time
    return share, status


def plate_loads(
    trial: ForceTrial,
    times: FloatArray,
    feet: FloatArray,
    *,
    before: float = 0.0,
    after: float = 0.0,
    threshold: float = THRESHOLD,
    rules: AssignmentRules | None = None,
) -> PlateLoads:
    """Compute the contacts of every plate and the wrench on every foot at these times (n,) [s].

    feet : (n, n_foot, 2, 3) - heel and tip of the toes at these times [m]; NaN = not seen
    before, after : forces are averaged from `before` before to `after` after each time [s]; 0 = interpolated
    threshold : vertical force above which a plate counts as loaded [N]
    """
    wrench = at_times(trial, times, before, after)
    force, moment = np.ascontiguousarray(wrench[..., :3]), np.ascontiguousarray(wrench[..., 3:])
    n, n_foot = len(times), feet.shape[1]
    centre, free_moment, loaded = find_contacts(trial.plates, force, moment, threshold)
    share, status = assign(trial.plates, force, centre, loaded, feet, times, rules or new_rules())
    foot_force, foot_moment = np.empty((n, n_foot, 3)), np.empty((n, n_foot, 3))
    for i in range(n):
        foot_wrenches(share[i], force[i], moment[i], foot_force[i], foot_moment[i])
    return PlateLoads(
        times=times,
        delay=0.5 * (before - after),
        force=force,
        moment=moment,
        centre=centre,
        free_moment=free_moment,
        loaded=loaded,
        share=share,
        status=status,
        foot_force=foot_force,
        foot_moment=foot_moment,
    )
