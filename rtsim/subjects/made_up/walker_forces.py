"""A synthetic force plate under the right foot of the synthetic walker, to try all computations up to joint
moments.

The vertical force has the two peaks of walking, the centre of pressure moves from the heel to the toes. The
force is not consistent with the walker's dynamics: joint moments have the size and shape of walking, but
residuals have no meaning.
"""

from __future__ import annotations

import numpy as np

from rtsim.files.forces.force_trial import ForceTrial, RawForces, force_trial
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.made_up.walker import CYCLE_S

STANCE = 0.62
"""Share of a cycle from heel strike to toe off."""
MASS_KG = 72.0
WEIGHT = 9.81 * MASS_KG
PER_FRAME = 10
"""Force samples per frame of markers."""
SOLE_M = 0.03
"""Height of the foot markers above the sole [m]."""


HEEL, TOES = "RHEE", ("RMT1", "RMT5")


def walker_forces(trial: MarkerTrial) -> ForceTrial:
    """Return the forces of the synthetic force plate on the right foot of the synthetic walker. They are
    sampled at ten times the rate of the markers.
    """
    n = (len(trial.times) - 1) * PER_FRAME + 1
    times = trial.times[0] + np.arange(n) / (PER_FRAME * trial.rate)
    at = {name: k for k, name in enumerate(trial.names)}

    def path(name: str) -> np.ndarray:
        places = trial.positions[:, at[name]]
        return np.stack([np.interp(times, trial.times, column) for column in places.T], axis=1)

    back, front = path(HEEL), 0.5 * (path(TOES[0]) + path(TOES[1]))
    part = (times / CYCLE_S) % 1.0 / STANCE
    stands = part < 1.0
    level = float(trial.positions[:, [at[name] for name in (HEEL, *TOES)], 1].min()) - SOLE_M
    rise = np.sin(np.pi * part)
    up = WEIGHT * np.where(stands, 1.15 * rise + 0.3 * np.sin(3.0 * np.pi * part), 0.0)
    forward = -0.18 * WEIGHT * np.where(stands, np.sin(2.0 * np.pi * part), 0.0)
    force = np.stack([forward, up, 0.05 * up], axis=1)
    centre = back + np.clip(part, 0.0, 1.0)[:, None] * (front - back)
    centre[:, 1] = level
    moment = np.cross(centre, force)
    raw = RawForces(
        names=("right",),
        times=times,
        rate=PER_FRAME * trial.rate,
        corners=np.full((1, 4, 3), np.nan),
        level=np.array([level]),
        force=force[:, None],
        moment=moment[:, None],
        source="walker",
        notes=("synthetic: a plate under the right foot",),
    )
    return force_trial(raw)
