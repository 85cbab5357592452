"""Damage: labels that are on each other's markers."""

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
    rest_of,
    some_frames,
    some_segment,
    whole_of,
)

EXCHANGED_S = 0.5
N_FIRST = 5
SIZES, ASIDE_M = (0.98, 1.02), (0.5, 1.5)
OTHER_SIDE = {"r": "l", "l": "r"}


def pair_exchanged(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """Two labels of a segment are exchanged for half a second."""
    return ring(rng, scene, some_frames(rng, scene, EXCHANGED_S), 2)


def pair_exchanged_across(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """Two labels of different segments are exchanged for half a second."""
    segments = scene.segments()
    if len(segments) < 2:
        return None
    two = rng.choice(sorted(segments), 2, replace=False)
    markers = [int(rng.choice(segments[name])) for name in two]
    return turned(scene, some_frames(rng, scene, EXCHANGED_S), markers)


def ring_of_three(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """Three labels of a segment are exchanged in a ring for half a second."""
    return ring(rng, scene, some_frames(rng, scene, EXCHANGED_S), 3)


def ring_of_segment(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All labels of a segment, three or more, are exchanged in a ring for half a second."""
    return ring(rng, scene, some_frames(rng, scene, EXCHANGED_S), 0)


def pair_exchanged_throughout(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """Two labels of a segment are exchanged in all frames, not in the static trial."""
    return ring(rng, scene, whole_of(scene), 2)


def ring_of_segment_throughout(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """All labels of a segment, three or more, are in a ring in all frames, not in the static trial."""
    return ring(rng, scene, whole_of(scene), 0)


def shuffled_at_first(rng: Generator, scene: DamagedMarkers) -> Damage:
    """All labels of the subject are in one random order in the first five frames."""
    markers = scene.usable
    order = rng.permutation(len(markers))
    positions = scene.positions.copy()
    frames = slice(0, min(N_FIRST, scene.n_frame))
    positions[frames, markers] = scene.positions[frames, np.array(markers)[order]]
    return damaged(scene, positions, frames, "all labels shuffled")


def sides_exchanged(rng: Generator, scene: DamagedMarkers) -> Damage | None:
    """Right and left, as the labels name them, are exchanged for half a second."""
    other = [opposite(name, scene.names) for name in scene.names]
    if not any(m >= 0 and scene.groups[k] for k, m in enumerate(other)):
        return None
    frames = some_frames(rng, scene, EXCHANGED_S)
    positions = scene.positions.copy()
    for k, m in enumerate(other):
        if m >= 0:
            positions[frames, k] = scene.positions[frames, m]
    return damaged(scene, positions, frames, "right and left exchanged")


def other_person_takes_all(rng: Generator, scene: DamagedMarkers) -> Damage:
    """All labels are on another person of nearly the same size to the end, who walks as this one began."""
    frames = rest_of(rng, scene)
    turn, aside, size = rng.uniform(-np.pi, np.pi), rng.uniform(*ASIDE_M), rng.uniform(*SIZES)
    c, s = np.cos(turn), np.sin(turn)
    about_up = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    level = np.array([1.0, 0.0, 1.0])
    before, first = (
        level * np.nanmean(scene.positions[k, scene.usable], axis=0) for k in (frames.start - 1, 0)
    )
    positions = scene.positions.copy()
    way = size * (scene.positions[: frames.stop - frames.start] - first) @ about_up.T
    positions[frames] = way + before + aside * np.array([s, 0.0, c])
    what = f"another person, {100.0 * (size - 1.0):.1f} % larger, {aside:.1f} m to the side"
    return damaged(scene, positions, frames, what)


def opposite(name: str, names: Sequence[str]) -> int:
    """Return the index of the name of the other side: RKNE and LKNE, r.ASIS and L.ASIS; -1 for none."""
    if name[:1].lower() not in OTHER_SIDE:
        return -1
    wanted = (OTHER_SIDE[name[0].lower()] + name[1:]).lower()
    return next((m for m, other in enumerate(names) if other.lower() == wanted), -1)


def ring(rng: Generator, scene: DamagedMarkers, frames: slice, n: int) -> Damage | None:
    """Exchange n labels of a segment in a ring, 0 = all labels of a segment with at least three: each label
    moves to the next one's marker.
    """
    segment = some_segment(rng, scene, n or 3)
    if segment is None:
        return None
    markers = rng.choice(segment[1], n, replace=False).tolist() if n else segment[1]
    return turned(scene, frames, markers)


def turned(scene: DamagedMarkers, frames: slice, markers: Sequence[int]) -> Damage:
    """Return the damage in which each label is on the marker of the next, and the last on that of the
    first.
    """
    positions, own = scene.positions.copy(), list(markers)
    positions[frames, own] = scene.positions[frames, own[1:] + own[:1]]
    return damaged(scene, positions, frames, f"{named(scene, markers)} exchanged")


KINDS = (
    *(
        DamageKind(damage, needless=5.0)
        for damage in (
            pair_exchanged, pair_exchanged_across, ring_of_three, ring_of_segment, pair_exchanged_throughout,
            ring_of_segment_throughout, sides_exchanged,
        )
    ),
    DamageKind(shuffled_at_first),
    DamageKind(other_person_takes_all),
)  # fmt: skip
