"""Damage: missing markers."""

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
    whole_of,
)

GAP_S, LONG_GAP_S, BLINK_S, WINK_S = 0.5, 1.0, 0.2, 0.05
MANY, FLICKER = 0.6, 0.1
"""Parts of the samples that are missing."""


def marker_missing(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker is missing for half a second."""
    return without(scene, some_frames(rng, scene, GAP_S), [some_marker(rng, scene)])


def marker_missing_throughout(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker is missing in all frames."""
    return without(scene, whole_of(scene), [some_marker(rng, scene)])


def two_of_segment_missing(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """Two markers of a segment are missing for half a second."""
    segment = some_segment(rng, scene, 2)
    if segment is None:
        return None
    two = rng.choice(segment[1], 2, replace=False).tolist()
    return without(scene, some_frames(rng, scene, GAP_S), two)


def segment_missing(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a segment are missing for half a second."""
    segment = some_segment(rng, scene)
    return without(scene, some_frames(rng, scene, GAP_S), segment[1]) if segment else None


def pelvis_missing(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of the pelvis are missing for half a second."""
    markers = scene.segments().get("pelvis")
    return without(scene, some_frames(rng, scene, GAP_S), markers) if markers else None


def thigh_and_shank_missing(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of thigh and shank of one leg are missing for half a second."""
    segments = scene.segments()
    thighs = sorted(name for name in segments if name.startswith("thigh"))
    if not thighs:
        return None
    thigh = thighs[int(rng.integers(len(thighs)))]
    markers = segments[thigh] + segments.get(thigh.replace("thigh", "shank"), [])
    return without(scene, some_frames(rng, scene, GAP_S), markers)


def all_missing(rng: Generator, scene: DamagedMarkers) -> Damage:
    """All markers are missing for a fifth of a second."""
    return without(scene, some_frames(rng, scene, BLINK_S), range(len(scene.names)))


def many_missing(rng: Generator, scene: DamagedMarkers) -> Damage:
    """In every frame of a second a random 60 % of all markers are missing."""
    return thinned(rng, scene, MANY)


def flicker(rng: Generator, scene: DamagedMarkers) -> Damage:
    """In every frame of a second a random tenth of all markers is missing."""
    return thinned(rng, scene, FLICKER)


def two_wink(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """Two markers of a segment are missing in turn, each for a twentieth of a second, for a second."""
    segment = some_segment(rng, scene, 2)
    frames = some_frames(rng, scene, LONG_GAP_S)
    if segment is None:
        return None
    two = rng.choice(segment[1], 2, replace=False).tolist()
    turn = np.arange(frames.stop - frames.start) // max(1, round(WINK_S * scene.rate)) % 2
    positions = scene.positions.copy()
    for k, m in enumerate(two):
        positions[frames, m][turn == k] = np.nan
    return damaged(scene, positions, frames, f"{named(scene, two)} missing in turn")


def without(scene: DamagedMarkers, frames: slice, markers: Sequence[int]) -> Damage:
    """Return the damage in which markers are missing in some frames."""
    positions = scene.positions.copy()
    positions[frames, list(markers)] = np.nan
    return damaged(scene, positions, frames, f"{named(scene, markers)} missing")


def thinned(rng: Generator, scene: DamagedMarkers, part: float) -> Damage:
    """Return the damage in which random samples are missing for a second; part : fraction of the samples."""
    frames = some_frames(rng, scene, LONG_GAP_S)
    positions = scene.positions.copy()
    positions[frames][rng.random(positions[frames].shape[:2]) < part] = np.nan
    return damaged(scene, positions, frames, f"{100 * part:g} % of all samples missing")


KINDS = (
    DamageKind(marker_missing, needless=20.0),
    DamageKind(marker_missing_throughout, needless=20.0),
    *(
        DamageKind(damage)
        for damage in (
            two_of_segment_missing, segment_missing, pelvis_missing, thigh_and_shank_missing, all_missing,
            many_missing, flicker, two_wink,
        )
    ),
)  # fmt: skip
