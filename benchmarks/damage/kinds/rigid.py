"""Damage: segments whose markers err together as one body, such as clusters, cuffs, or data from another
system.
"""

from __future__ import annotations

import numpy as np

from benchmarks.damage.kinds.moved import TOGETHER_M_PER_S, moved
from benchmarks.damage.scene import (
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
    some_segment,
    whole_of,
)

SLIDE_S = 0.5
BUMP_M, STEPS_M = 0.02, (0.03, 0.06)
TURNS_DEG = (10.0, 20.0)
LATE_FRAMES, LATE_S = 3, 0.05
CUFF_M_PER_S = 0.02
SMOOTHED_HZ = 2.0
BELOW = {"thigh": "shank", "shank": "foot"}
"""Segment towards which a cuff slides: towards the markers of the next segment."""


def cluster_slides(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a segment slide together at 0.1 m/s for half a second, and are back then."""
    segment = some_segment(rng, scene, 2)
    frames = some_frames(rng, scene, SLIDE_S)
    if segment is None:
        return None
    since = scene.times[frames] - scene.times[max(0, frames.start - 1)]
    by = np.multiply.outer(TOGETHER_M_PER_S * since, some_direction(rng))[:, None]
    return moved(scene, frames, segment[1], by, "at the end of their way")


def cluster_bumped(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a segment are 20 mm off to the end, in the same direction in ground."""
    segment = some_segment(rng, scene, 2)
    if segment is None:
        return None
    return moved(scene, rest_of(rng, scene), segment[1], BUMP_M * some_direction(rng), "off to the end")


def cluster_turned(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a segment are turned by 10 or 20 degrees about their middle in one frame, to the end."""
    segment = some_segment(rng, scene, 3)
    if segment is None:
        return None
    frames, (_, own) = rest_of(rng, scene), segment
    degrees, axis = float(rng.choice(TURNS_DEG)), some_direction(rng)
    positions = scene.positions.copy()
    whole = np.flatnonzero(np.isfinite(scene.positions[:, own]).all(axis=(1, 2)))
    if not whole.size:
        return None
    shape = scene.positions[whole[0], own]
    for k in range(frames.start, frames.stop):
        x = scene.positions[k, own]
        seen = np.isfinite(x).all(axis=1)
        if seen.sum() < 3:
            continue
        middle = x[seen].mean(axis=0)
        along = fitted(shape[seen] - shape[seen].mean(axis=0), x[seen] - middle) @ axis
        positions[k, np.array(own)[seen]] = middle + (x[seen] - middle) @ turn(along, degrees).T
    return damaged(scene, positions, frames, f"{named(scene, own)} turned by {degrees:g} degrees")


def segment_late(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a segment are 3 frames or 50 ms late, from the first frame or a later one to the end."""
    segment = some_segment(rng, scene)
    if segment is None:
        return None
    n = LATE_FRAMES if rng.random() < 0.5 else max(1, round(LATE_S * scene.rate))
    frames = rest_of(rng, scene) if rng.random() < 0.5 else whole_of(scene)
    positions, own = scene.positions.copy(), segment[1]
    for k in range(frames.start, frames.stop):
        positions[k, own] = scene.positions[max(0, k - n), own]
    frames = slice(max(1, frames.start), frames.stop)  # the first frame of all is itself
    return damaged(scene, positions, frames, f"{named(scene, own)} {n} frames late")


def segment_steps(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a segment are 30 or 60 mm off from one frame on, in the same direction in ground."""
    segment = some_segment(rng, scene, 2)
    if segment is None:
        return None
    by = float(rng.choice(STEPS_M)) * some_direction(rng)
    return moved(scene, rest_of(rng, scene), segment[1], by, "off to the end")


def segment_smoothed(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a segment, and no others, are smoothed at 2 Hz in all frames."""
    segment = some_segment(rng, scene)
    if segment is None:
        return None
    positions, own = scene.positions.copy(), segment[1]
    for m in own:
        seen = np.isfinite(positions[:, m]).all(axis=1)
        if seen.any():
            filled = [np.interp(scene.times, scene.times[seen], positions[seen, m, k]) for k in range(3)]
            positions[seen, m] = smooth(np.transpose(filled), SMOOTHED_HZ / scene.rate)[seen]
    return damaged(scene, positions, whole_of(scene), f"{named(scene, own)} smoothed at {SMOOTHED_HZ:g} Hz")


def cuff_slides(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a thigh or a shank slide down along it at 20 mm/s to the end."""
    segments = scene.segments()
    pairs = [(name, other) for name in sorted(segments) if (other := next_below(name)) in segments]
    if not pairs:
        return None
    name, other = pairs[int(rng.integers(len(pairs)))]
    frames, own = rest_of(rng, scene), segments[name]
    upper, lower = (np.nanmean(scene.positions[frames, segments[part]], axis=1) for part in (name, other))
    down = (lower - upper) / np.linalg.norm(lower - upper, axis=1, keepdims=True)
    since = scene.times[frames] - scene.times[max(0, frames.start - 1)]
    by = np.nan_to_num(CUFF_M_PER_S * since[:, None] * down)[:, None]
    return moved(scene, frames, own, by, "at the end of their way")


def smooth(x: Array, cutoff: float) -> Array:
    """Return x (n, 3) low-pass filtered, with half of the amplitude left at the cutoff [cycles per frame];
    the ends are mirrored through their points.
    """
    long = np.concatenate([2.0 * x[0] - x[:0:-1], x, 2.0 * x[-1] - x[-2::-1]])
    gain = 1.0 / (1.0 + (np.fft.rfftfreq(len(long)) / cutoff) ** 4)
    return np.asarray(
        np.fft.irfft(np.fft.rfft(long, axis=0) * gain[:, None], len(long), axis=0)[len(x) - 1 :][: len(x)]
    )


def next_below(name: str) -> str:
    """Return the segment below the thigh or shank on the same side; "" for others."""
    kind = next((kind for kind in BELOW if name.startswith(kind)), "")
    return name.replace(kind, BELOW[kind]) if kind else ""


def turn(axis: Array, degrees: float) -> Array:
    """Return the rotation about a unit axis : (3,), by Rodrigues' formula, (3, 3)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = np.radians(degrees)
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)


def fitted(y: Array, x: Array) -> Array:
    """Return the rotation R that fits R y best to x, (3, 3); x, y : (n, 3) relative to their centres [m]
    (Kabsch 1976).
    """
    U, _, Vt = np.linalg.svd(x.T @ y)
    return np.asarray(U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt)


KINDS = (
    DamageKind(cluster_slides, in_deviations=True),
    DamageKind(cuff_slides, in_deviations=True),
    *(
        DamageKind(damage)
        for damage in (cluster_bumped, cluster_turned, segment_late, segment_smoothed, segment_steps)
    ),
)
