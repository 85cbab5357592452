"""Damage: markers that are not at their place: jumps, slides, drifts, permanent shifts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.damage.scene import (
    LONGEST,
    Array,
    Damage,
    DamagedMarkers,
    DamageKind,
    Generator,
    damaged,
    named,
    rest_of,
    some_direction,
    some_frames,
    some_marker,
    some_segment,
    whole_of,
)

JUMP_S, SLIDE_S = 0.2, 0.5
SLIDE_M_PER_S, ACROSS_M_PER_S, DRIFT_M_PER_S = 0.2, 0.15, 0.02
SKIN_M = 0.03
SPIKE_M = (0.1, 0.5)
CREEP_S, CREEP_M_PER_S = 1.0, 0.05
TOGETHER_M_PER_S = 0.1
BEGIN_S, BEGIN_M = 0.3, 0.1
ANEW_M = 0.04


def marker_jump_30mm(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker is 30 mm away for a fifth of a second."""
    return jump(rng, scene, 0.03)


def marker_jump_60mm(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker is 60 mm away for a fifth of a second."""
    return jump(rng, scene, 0.06)


def marker_jump_200mm(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker is 200 mm away for a fifth of a second."""
    return jump(rng, scene, 0.2)


def spike(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker is 100 to 500 mm away in one frame."""
    frames = some_frames(rng, scene, 1.0 / scene.rate)
    size = float(rng.uniform(*SPIKE_M))
    return moved(scene, frames, [some_marker(rng, scene)], size * some_direction(rng), "away")


def marker_slides(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker slides at 0.2 m/s for half a second, and is back then."""
    return sliding(rng, scene, some_frames(rng, scene, SLIDE_S), SLIDE_M_PER_S)


def marker_slides_across(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """One marker slides at 0.15 m/s for half a second across the plane of its segment, and is back then."""
    segment = some_segment(rng, scene, 3)
    frames = some_frames(rng, scene, SLIDE_S)
    if segment is None:
        return None
    own = rng.permutation(segment[1])[:3].tolist()
    a, b, c = (scene.positions[frames, m] for m in own)
    normal = np.cross(b - a, c - a)
    way = ACROSS_M_PER_S * normal / np.linalg.norm(normal, axis=1, keepdims=True)
    since = scene.times[frames] - scene.times[max(0, frames.start - 1)]
    return moved(scene, frames, own[:1], (since[:, None] * way)[:, None], "at the end of its way")


def marker_creeps_and_returns(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker slides at 0.05 m/s for half a second, and back as slowly."""
    frames = some_frames(rng, scene, CREEP_S)
    since = scene.times[frames] - scene.times[max(0, frames.start - 1)]
    way = CREEP_M_PER_S * np.minimum(since, since[-1] - since)
    by = np.multiply.outer(way, some_direction(rng))[:, None]
    return moved(scene, frames, [some_marker(rng, scene)], by, "at the end of its way")


def two_slide(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """Two markers of a segment slide at 0.1 m/s for half a second, each its own way, and are back then."""
    segment = some_segment(rng, scene, 2)
    frames = some_frames(rng, scene, SLIDE_S)
    if segment is None:
        return None
    two = rng.choice(segment[1], 2, replace=False).tolist()
    since = scene.times[frames] - scene.times[max(0, frames.start - 1)]
    ways = TOGETHER_M_PER_S * np.array([some_direction(rng), some_direction(rng)])
    return moved(scene, frames, two, since[:, None, None] * ways, "at the end of their ways")


def marker_drifts(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker drifts at 20 mm/s to the end."""
    return sliding(rng, scene, rest_of(rng, scene), DRIFT_M_PER_S)


def marker_moved_on_skin(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker is 30 mm off to the end."""
    shift = SKIN_M * some_direction(rng)
    return moved(scene, rest_of(rng, scene), [some_marker(rng, scene)], shift, "off to the end")


def begins_displaced(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker is 100 mm off in the first 0.3 s."""
    frames = slice(0, max(1, min(round(BEGIN_S * scene.rate), int(LONGEST * scene.n_frame))))
    return moved(scene, frames, [some_marker(rng, scene)], BEGIN_M * some_direction(rng), "off at first")


def marker_put_on_anew(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """One marker is 40 mm off in all frames, not in the static trial."""
    if not scene.calibrated:
        return None
    return moved(scene, whole_of(scene), [some_marker(rng, scene)], ANEW_M * some_direction(rng), "off")


def jump(rng: Generator, scene: DamagedMarkers, size: float) -> Damage:
    """Return the damage in which one marker is displaced by a distance [m] for a while."""
    frames = some_frames(rng, scene, JUMP_S)
    return moved(scene, frames, [some_marker(rng, scene)], size * some_direction(rng), "away")


def sliding(rng: Generator, scene: DamagedMarkers, frames: slice, speed: float) -> Damage:
    """Return the damage in which one marker slides at a speed [m/s]."""
    way = speed * some_direction(rng)
    since = scene.times[frames] - scene.times[max(0, frames.start - 1)]
    marker = some_marker(rng, scene)
    return moved(scene, frames, [marker], np.multiply.outer(since, way)[:, None], "at the end of its way")


def moved(scene: DamagedMarkers, frames: slice, markers: Sequence[int], by: Array, how: str) -> Damage:
    """Return the damage in which markers are shifted in some frames; by : (3,), (n, 1, 3) or (n, n_marker,
    3) [m].
    """
    positions = scene.positions.copy()
    positions[frames, list(markers)] += by
    size = 1e3 * float(np.linalg.norm(by, axis=-1).max())
    return damaged(scene, positions, frames, f"{named(scene, markers)} {size:.0f} mm {how}")


KINDS = (
    *(
        DamageKind(damage, in_deviations=True)
        for damage in (
            marker_jump_30mm, marker_slides, marker_slides_across, marker_creeps_and_returns, two_slide,
            marker_drifts,
        )
    ),
    *(
        DamageKind(damage)
        for damage in (
            marker_jump_60mm, marker_jump_200mm, spike, marker_moved_on_skin, begins_displaced,
            marker_put_on_anew,
        )
    ),
)  # fmt: skip
