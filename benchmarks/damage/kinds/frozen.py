"""Damage: markers that stand still at their last position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.damage.scene import (
    Damage,
    DamagedMarkers,
    DamageKind,
    Generator,
    damaged,
    named,
    some_frames,
    some_marker,
    some_segment,
)

FROZEN_S = 1.0


def marker_frozen(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker stands still for a second."""
    return frozen(rng, scene, [some_marker(rng, scene)])


def segment_frozen(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a segment stand still for a second."""
    segment = some_segment(rng, scene)
    return frozen(rng, scene, segment[1]) if segment else None


def frozen(rng: Generator, scene: DamagedMarkers, markers: Sequence[int]) -> Damage:
    """Return the damage in which markers stay at their last visible position, including gaps."""
    frames = some_frames(rng, scene, FROZEN_S)
    positions = scene.positions.copy()
    for marker in markers:
        seen = np.flatnonzero(np.isfinite(scene.positions[: frames.start, marker]).all(axis=1))
        if seen.size:
            positions[frames, marker] = scene.positions[seen[-1], marker]
    return damaged(scene, positions, frames, f"{named(scene, markers)} frozen")


KINDS = (DamageKind(marker_frozen), DamageKind(segment_frozen))
