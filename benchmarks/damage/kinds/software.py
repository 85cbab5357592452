"""Damage by programs: gaps filled in, labels merged, axes scaled, coordinates rounded."""

from __future__ import annotations

import numpy as np

from benchmarks.damage.scene import (
    Array,
    Damage,
    DamagedMarkers,
    DamageKind,
    Generator,
    damaged,
    named,
    rest_of,
    some_frames,
    some_marker,
    some_segment,
    whole_of,
)

LINE_S, CURVE_S, PATTERN_S, MERGED_S, MIRRORED_S = 0.15, 0.3, 0.4, 0.3, 0.5
SCALE = 1.02
STEP_M = 0.005
ROUNDED_M = 1e-4


def gap_filled_by_line(rng: Generator, scene: DamagedMarkers) -> Damage:
    """A gap of 0.15 s of one marker is filled by a straight line, and written in tenths of a millimetre."""
    frames, marker = some_frames(rng, scene, LINE_S), some_marker(rng, scene)
    ends = scene.positions[[frames.start - 1, min(frames.stop, scene.n_frame - 1)], marker]
    line, positions = ends[0] + np.multiply.outer(parts_of(frames), ends[1] - ends[0]), scene.positions.copy()
    positions[frames, marker] = ROUNDED_M * np.round(line / ROUNDED_M)
    return damaged(scene, positions, frames, f"{named(scene, [marker])} on a straight line")


def gap_filled_by_curve(rng: Generator, scene: DamagedMarkers) -> Damage:
    """A gap of 0.3 s of one marker is filled by a cubic that goes on at both ends, in tenths of a mm."""
    frames, marker = some_frames(rng, scene, CURVE_S), some_marker(rng, scene)
    x, last = scene.positions[:, marker], scene.n_frame - 1
    first, stop = frames.start - 1, min(frames.stop, last)
    begin, end = x[first] - x[max(0, first - 1)], x[min(stop + 1, last)] - x[stop]
    t, n = parts_of(frames)[:, None], stop - first
    curve = (1.0 + 2.0 * t) * (1.0 - t) ** 2 * x[first] + t**2 * (3.0 - 2.0 * t) * x[stop]
    curve += n * (t * (1.0 - t) ** 2 * begin - t**2 * (1.0 - t) * end)
    positions = scene.positions.copy()
    positions[frames, marker] = ROUNDED_M * np.round(curve / ROUNDED_M)
    return damaged(scene, positions, frames, f"{named(scene, [marker])} on a cubic")


def gap_filled_by_other(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """A gap of 0.4 s of one marker is filled by the path of one of another segment, moved to its ends."""
    frames, marker = some_frames(rng, scene, PATTERN_S), some_marker(rng, scene)
    others = [m for m in scene.usable if scene.groups[m] != scene.groups[marker]]
    if not others:
        return None
    pattern = int(rng.choice(others))
    ends = [frames.start - 1, min(frames.stop, scene.n_frame - 1)]
    apart = scene.positions[ends, marker] - scene.positions[ends, pattern]
    positions, part = scene.positions.copy(), parts_of(frames)
    carried = apart[0] + np.multiply.outer(part, apart[1] - apart[0])
    positions[frames, marker] = scene.positions[frames, pattern] + carried
    return damaged(
        scene,
        positions,
        frames,
        f"{named(scene, [marker])} filled with the motion of {named(scene, [pattern])}",
    )


def two_merged(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """For 0.3 s two markers of a segment are one point between them, which both labels have."""
    segment = some_segment(rng, scene, 2)
    if segment is None:
        return None
    frames, two = some_frames(rng, scene, MERGED_S), rng.choice(segment[1], 2, replace=False).tolist()
    positions = scene.positions.copy()
    positions[frames, two] = scene.positions[frames][:, two].mean(axis=1, keepdims=True)
    return damaged(scene, positions, frames, f"{named(scene, two)} coincide in one point")


def marker_mirrored(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """For half a second one marker is on the other side of the plane, or line, of others of its segment."""
    segment = some_segment(rng, scene, 3)
    if segment is None:
        return None
    frames, own = some_frames(rng, scene, MIRRORED_S), rng.permutation(segment[1]).tolist()
    x, others = scene.positions[frames, own[0]], [scene.positions[frames, m] for m in own[1:4]]
    positions = scene.positions.copy()
    along = others[1] - others[0]
    if len(others) > 2:
        normal = np.cross(along, others[2] - others[0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        away = ((x - others[0]) * normal).sum(axis=1, keepdims=True) * normal
    else:
        along = along / np.linalg.norm(along, axis=1, keepdims=True)
        away = x - others[0]
        away = away - (away * along).sum(axis=1, keepdims=True) * along
    positions[frames, own[0]] = x - 2.0 * away
    return damaged(scene, positions, frames, f"{named(scene, own[:1])} mirrored")


def axis_scaled(rng: Generator, scene: DamagedMarkers) -> Damage:
    """One axis of the room is 2 % longer in all frames, not in the static trial."""
    axis, positions = int(rng.integers(3)), scene.positions.copy()
    positions[:, :, axis] *= SCALE
    return damaged(scene, positions, whole_of(scene), f"axis {'xyz'[axis]} is 2 % longer")


def quantised_to_5mm(rng: Generator, scene: DamagedMarkers) -> Damage:
    """All coordinates are whole multiples of 5 mm from some frame on."""
    frames, positions = rest_of(rng, scene), scene.positions.copy()
    positions[frames] = STEP_M * np.round(positions[frames] / STEP_M)
    return damaged(scene, positions, frames, "rounded to 5 mm")


def segment_at_half_rate(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """Every other sample of the markers of a segment is the one before it, to the end."""
    segment = some_segment(rng, scene)
    if segment is None:
        return None
    frames, positions = rest_of(rng, scene), scene.positions.copy()
    again = np.arange(frames.start, frames.stop, 2)
    positions[again[:, None], segment[1]] = scene.positions[again[:, None] - 1, segment[1]]
    return damaged(scene, positions, frames, f"{named(scene, segment[1])} at half the rate")


def parts_of(frames: slice) -> Array:
    """Return for each of these frames its fraction of the way from the frame before them to the one after,
    (n,).
    """
    return np.linspace(0.0, 1.0, frames.stop - frames.start + 2)[1:-1]


KINDS = (
    DamageKind(axis_scaled, in_deviations=True),
    DamageKind(quantised_to_5mm, in_deviations=True),
    *(
        DamageKind(damage)
        for damage in (
            gap_filled_by_line, gap_filled_by_curve, gap_filled_by_other, two_merged, marker_mirrored,
            segment_at_half_rate,
        )
    ),
)  # fmt: skip
