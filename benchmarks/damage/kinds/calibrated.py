"""Damage: markers beside their landmarks in the static trial; the recording itself is unchanged."""

from __future__ import annotations

import numpy as np

from benchmarks.damage.scene import Damage, DamagedMarkers, DamageKind, Generator, some_direction

OFF_M = (0.02, 0.04)


def static_marker_off(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """One marker is 20 or 40 mm off in the static trial."""
    if not scene.calibrated:
        return None
    name = scene.calibrated[int(rng.integers(len(scene.calibrated)))]
    size = float(rng.choice(OFF_M))
    what = f"{name} {1e3 * size:.0f} mm off in the static trial"
    by = tuple((size * some_direction(rng)).tolist())
    return Damage(
        positions=scene.positions,
        times=scene.times,
        kept=np.arange(scene.n_frame),
        first=0,
        stop=scene.n_frame,
        what=what,
        misplaced=name,
        by=by,
    )


KINDS = (DamageKind(static_marker_off),)
