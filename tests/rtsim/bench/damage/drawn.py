"""A scene of markers that all move, and what a damage of it changed."""

import numpy as np

from benchmarks.damage.scene import DamagedMarkers

SEEDS = range(8)
NAMES = ("RASI", "LASI", "SACR", "RTHI", "RKNE", "RTH2", "RTIB", "RANK", "RSHN", "LKNE", "GHOST")
GROUPS = ("pelvis",) * 3 + ("thigh",) * 3 + ("shank",) * 3 + ("", "")


def a_scene() -> DamagedMarkers:
    """Two seconds of markers that all move; LKNE and GHOST are not the subject's."""
    rng = np.random.default_rng(1)
    times = 3.0 + np.arange(200) / 100.0
    places = rng.uniform(0.0, 1.5, (len(NAMES), 3))
    steps = rng.standard_normal((200, len(NAMES), 3)).cumsum(axis=0)
    return DamagedMarkers(NAMES, GROUPS, places + 0.01 * steps, times, 100.0, ("RASI", "RMED"))


def draw(damage, seed=0, scene=None):
    """A damage of the scene."""
    return damage(np.random.default_rng(seed), scene or a_scene())


def changed(found) -> np.ndarray:
    """(n_frame, n_marker) - where the positions are others."""
    before = a_scene().positions
    same = (found.positions == before) | (np.isnan(found.positions) & np.isnan(before))
    return ~same.all(axis=2)


def shifts(found) -> np.ndarray:
    """(n, n_marker) - how far markers were moved in the frames of the damage [m]."""
    return np.linalg.norm(found.positions - a_scene().positions, axis=2)[found.first : found.stop]
