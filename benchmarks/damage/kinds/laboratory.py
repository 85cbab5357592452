"""Damage by cameras, clothes and hands: reflections, biases, lag, marker plates placed elsewhere."""

from __future__ import annotations

import numpy as np

from benchmarks.damage.kinds.moved import moved
from benchmarks.damage.kinds.rigid import fitted
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
    some_marker,
    some_segment,
    whole_of,
)

GHOST_S, GHOST_M, GHOST_NOISE_M = 0.3, 0.04, 0.001
BIAS_M = 0.008
LAG_S = 0.05
PAUSE_S, REMOUNTED_M = 0.3, 0.015
PLATE_M = 0.025
SHAKES_HZ, SHAKES_M = 12.0, 0.01
WANDERS_HZ, WANDERS_M = 0.5, 0.015


def ghost_taken(rng: Generator, scene: DamagedMarkers) -> Damage:
    """For 0.3 s one marker is a reflection 40 mm away, which stands in the room and shakes by 1 mm."""
    frames, marker = some_frames(rng, scene, GHOST_S), some_marker(rng, scene)
    positions = scene.positions.copy()
    seen = np.flatnonzero(np.isfinite(scene.positions[frames, marker, 0]))
    if not seen.size:
        return damaged(scene, positions, frames, f"{named(scene, [marker])} is not seen")
    place = scene.positions[frames.start + seen[0], marker] + GHOST_M * some_direction(rng)
    shaking = GHOST_NOISE_M * rng.standard_normal((frames.stop - frames.start, 3))
    positions[frames, marker] = place + shaking
    return damaged(scene, positions, frames, f"{named(scene, [marker])} is a reflection")


def side_biased(rng: Generator, scene: DamagedMarkers) -> Damage:
    """All markers of the half of the subject's markers farthest along some direction are 8 mm off."""
    direction = some_direction(rng)
    places = np.nanmean(scene.positions[:, scene.usable], axis=0) @ direction
    half = [m for m, x in zip(scene.usable, places, strict=True) if x >= np.median(places)]
    return moved(
        scene, whole_of(scene), half, BIAS_M * some_direction(rng), "off, as by one wrongly calibrated camera"
    )


def marker_lags(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker follows with a lag of 50 ms (first order) in all frames, as one that sticks to trousers."""
    marker, positions = some_marker(rng, scene), scene.positions.copy()
    course = np.full(3, np.nan)
    for k in np.flatnonzero(np.isfinite(scene.positions[:, marker, 0])).tolist():
        middle = np.nanmean(scene.positions[k, scene.usable], axis=0)
        x = scene.positions[k, marker] - middle
        course = x if np.isnan(course[0]) else course + (x - course) / (1.0 + LAG_S * scene.rate)
        positions[k, marker] = middle + course
    return damaged(scene, positions, whole_of(scene), f"{named(scene, [marker])} lags by 50 ms")


def marker_remounted(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker falls off, is missing for 0.3 s, and is 15 mm elsewhere then, to the end."""
    frames, marker = rest_of(rng, scene), some_marker(rng, scene)
    back = min(frames.start + round(PAUSE_S * scene.rate), frames.stop)
    found = moved(scene, frames, [marker], REMOUNTED_M * some_direction(rng), "elsewhere after a gap")
    found.positions[frames.start : back, marker] = np.nan
    return found


def plate_put_on_anew(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a segment are 25 mm elsewhere on it in all frames, not in the static trial."""
    segment = some_segment(rng, scene, 3) if scene.calibrated else None
    if segment is None:
        return None
    by = PLATE_M * some_direction(rng)
    return in_segment(
        scene, segment[1], np.broadcast_to(by, (scene.n_frame, 3)), "elsewhere on their segment"
    )


def plates_exchanged(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """The markers of two segments with as many, of both legs where there are such, exchange labels."""
    segments = scene.segments(2)
    pairs = [
        (a, b) for a in sorted(segments) for b in sorted(segments)
        if a < b and len(segments[a]) == len(segments[b])
    ]  # fmt: skip
    across = [(a, b) for a, b in pairs if a[:-1] == b[:-1]]
    if not pairs:
        return None
    chosen = across or pairs
    a, b = (segments[name] for name in chosen[int(rng.integers(len(chosen)))])
    positions = scene.positions.copy()
    positions[:, a], positions[:, b] = scene.positions[:, b], scene.positions[:, a]
    return damaged(scene, positions, whole_of(scene), f"{named(scene, a)} and {named(scene, b)} exchanged")


def segment_shakes(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All markers of a segment shake together at 12 Hz by 10 mm to the end, as soft tissue does."""
    segment = some_segment(rng, scene, 2)
    if segment is None:
        return None
    frames, direction = rest_of(rng, scene), some_direction(rng)
    since = scene.times[frames] - scene.times[frames.start]
    by = np.multiply.outer(SHAKES_M * np.sin(2.0 * np.pi * SHAKES_HZ * since), direction)[:, None]
    return moved(scene, frames, segment[1], by, "to either side at 12 Hz")


def marker_wanders(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One marker wanders by 15 mm to either side, once in two seconds, from the first frame on."""
    since = scene.times - scene.times[0]
    way = WANDERS_M * np.sin(2.0 * np.pi * (WANDERS_HZ * since + rng.random()))
    by = np.multiply.outer(way, some_direction(rng))[:, None]
    return moved(scene, whole_of(scene), [some_marker(rng, scene)], by, "to either side")


def in_segment(scene: DamagedMarkers, own: list[int], by: Array, how: str) -> Damage | None:
    """Shift the markers of a segment in the segment's own axes; by : (n_frame, 3) [m]."""
    whole = np.flatnonzero(np.isfinite(scene.positions[:, own]).all(axis=(1, 2)))
    if not whole.size:
        return None
    shape = scene.positions[whole[0], own]
    shift = np.zeros((scene.n_frame, 1, 3))
    for k in range(scene.n_frame):
        x = scene.positions[k, own]
        seen = np.isfinite(x).all(axis=1)
        if seen.sum() >= 3:
            turned = fitted(shape[seen] - shape[seen].mean(axis=0), x[seen] - x[seen].mean(axis=0))
            shift[k, 0] = turned @ by[k]
    return moved(scene, whole_of(scene), own, shift, how)


KINDS = (
    *(DamageKind(damage, in_deviations=True) for damage in (side_biased, marker_wanders, segment_shakes)),
    *(
        DamageKind(damage)
        for damage in (ghost_taken, marker_lags, marker_remounted, plate_put_on_anew, plates_exchanged)
    ),
)
