"""EMG over time for fits of torque generators: activations in every frame, and co-contraction.

The EMG of a generator, as a fraction of that in maximum voluntary contraction, is taken as its activation. It
is filtered, and delayed by the electromechanical delay. If both generators of a joint have EMG, the torque
that the antagonist produces at its activation is taken as the co-contraction (Millard et al. 2019, J Biomech,
section 2.2, after eq. 7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.torque_generator.torque import N_TORQUE, TORQUE, torques
from rtsim.errors import ConfigError
from rtsim.files.tables.storage import Table
from rtsim.methods.generators.joint_motion import JointMotion
from rtsim.models.packing.torque_generators import PlacedGenerator, pack_generators

Array = NDArray[np.float64]
LEAST = 1e-3
"""Activation that a silent generator may reach all the same: a fit needs one above 0."""


def columns_of(table: Table, where: str, names: Sequence[str]) -> dict[str, Array]:
    """Return the columns of a table of EMG with these names; ConfigError if the table has none of them, or if
    one has no value. where : the file
    """
    found = {name: table.column(name) for name in names if name in table.columns}
    if not found:
        raise ConfigError(
            "the table has none of the columns for muscles of the model",
            where=where,
            allowed=", ".join(names),
        )
    empty = next((name for name, values in found.items() if not np.isfinite(values).any()), None)
    if empty is not None:
        raise ConfigError(f"the column {empty} contains no number", where=where, remedy="remove the column")
    return found


def at_frames(table: Table, where: str, names: Sequence[str], times: Array) -> dict[str, Array]:
    """Interpolate a table's columns at the frames of a motion; times : (n,) [s].

    Raises ConfigError if the table does not cover the whole motion, or has a gap during the motion.
    """
    found = columns_of(table, where, names)
    if "time" not in table.columns:
        raise ConfigError("the table has no column time", where=where, allowed="time [s] as the first column")
    own = table.column("time")
    if len(own) < 2 or not (np.diff(own) > 0.0).all():
        raise ConfigError(
            "the times of the table do not increase", where=where, allowed="a column time [s], 2 rows or more"
        )
    # not the longest step: frames that are not known are missing in a motion
    slack = 1e-6 + (float(np.median(np.diff(times))) if len(times) > 1 else 0.0)
    if own[0] > times[0] + slack or own[-1] < times[-1] - slack:
        raise ConfigError(
            f"the table of EMG lasts from {own[0]:g} to {own[-1]:g} s, but the motion from {times[0]:g} to "
            f"{times[-1]:g} s",
            where=where, remedy="shorten the motion, or shift the times of the table to those of the motion",
        )  # fmt: skip
    rows = (own >= times[0] - slack) & (own <= times[-1] + slack)
    for name, values in found.items():
        if n := int((~np.isfinite(values[rows])).sum()):
            raise ConfigError(
                f"the column {name} has no value in {n} of {int(rows.sum())} rows", where=where,
                remedy="fill the gaps, or remove the column",
            )  # fmt: skip
    return {name: np.interp(times, own, values) for name, values in found.items()}


def check_activations(found: Mapping[str, Array], where: str) -> None:
    """Raise ConfigError for a column that cannot be activations: percents, volts, not rectified, silent."""
    for name, values in found.items():
        low, peak = float(np.nanmin(values)), float(np.nanmax(values))
        if low < 0.0:
            raise ConfigError(
                f"the column {name} has values down to {low:g}",
                where=where,
                allowed="0 to 1",
                remedy="rectify and filter the EMG",
            )
        if not 0.0 < peak <= 1.0:
            raise ConfigError(
                f"the peak of {name} is {peak:g}", where=where, allowed="a peak above 0, up to 1",
                remedy="divide the EMG by the value measured in a maximum contraction",
            )  # fmt: skip


def around(emg: Mapping[str, Array], part: float) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return lower and upper limits (n,) of activations for a fit, by the names of the torque generators:
    their EMG minus and plus the margin `part`.

    emg : name of the generator -> (n,) EMG as a fraction of the maximum
    """
    floors = {name: np.clip(values - part, 0.0, 1.0) for name, values in emg.items()}
    return floors, {name: np.clip(values + part, LEAST, 1.0) for name, values in emg.items()}


def borne_against(
    placed: Sequence[PlacedGenerator], motion: JointMotion, emg: Mapping[str, Array]
) -> dict[str, Array]:
    """Return for each coordinate the torque (n,) [N m] that the antagonist exerts against the agonist, for
    joints with EMG. The antagonist is in each frame the generator whose direction is opposite to the joint's
    torque; where it has no EMG, its torque is taken as 0.

    placed : the torque generators before the fit; emg : generator -> (n,) EMG, taken as its activation
    """
    found = {}
    for name in motion.names:
        pair = [one for one in placed if one.joint.coordinate == name]
        if not any(one.name in emg for one in pair):
            continue
        q, qd, tau = motion.of(name)
        both = np.zeros(len(q))
        for one in pair:
            if one.name in emg:
                against = ~(one.torque_sign * tau > 0.0)
                both[against] = np.maximum(one.torque_sign * torque_of(one, q, qd, emg[one.name]), 0.0)[
                    against
                ]
        found[name] = both
    return found


def torque_of(one: PlacedGenerator, q: Array, qd: Array, activation: Array) -> Array:
    """Compute the torque (n,) about the joint along a motion [N m]; q [rad], qd [rad/s], activation : (n,)
    each."""
    packed, out, found = pack_generators([one]), np.zeros((1, N_TORQUE)), np.zeros(len(q))
    for k, state in enumerate(np.column_stack([q, qd, activation])):
        torques(packed, state[None], out)
        found[k] = out[0, TORQUE]
    return found
