"""Damage: frames that come at other times, twice, or not at all."""

from __future__ import annotations

import numpy as np

from benchmarks.damage.scene import (
    Damage,
    DamagedMarkers,
    DamageKind,
    Generator,
    damaged,
    some_frames,
    whole_of,
)

JITTER = 0.3
"""Largest change of a time stamp, in frame periods."""
DROPPED_S = 0.2
REPEATED_S = 1.0
BACKWARDS_S = 0.3
STRETCHES = (0.5, 0.8, 1.25, 2.0)


def time_jitter(rng: Generator, scene: DamagedMarkers) -> Damage:
    """Every time stamp is off by up to 0.3 of a frame."""
    frames = whole_of(scene)
    times = scene.times + rng.uniform(-JITTER, JITTER, scene.n_frame) / scene.rate
    what = f"times off by up to {JITTER:g} of a frame"
    return Damage(
        positions=scene.positions,
        times=times,
        kept=np.arange(scene.n_frame),
        first=frames.start,
        stop=frames.stop,
        what=what,
    )


def frames_dropped(rng: Generator, scene: DamagedMarkers) -> Damage:
    """A fifth of a second is not sent; the damage is the frame after it."""
    gap = some_frames(rng, scene, DROPPED_S)
    kept = np.delete(np.arange(scene.n_frame), gap)
    what = f"{gap.stop - gap.start} frames dropped before"
    return Damage(
        positions=scene.positions,
        times=scene.times,
        kept=kept,
        first=gap.stop,
        stop=min(gap.stop + 1, scene.n_frame),
        what=what,
    )


def frames_repeated(rng: Generator, scene: DamagedMarkers) -> Damage:
    """In a second every other frame is the one before it, to the last bit."""
    frames = some_frames(rng, scene, REPEATED_S)
    positions = scene.positions.copy()
    again = np.arange(frames.start, frames.stop, 2)
    positions[again] = scene.positions[again - 1]
    return damaged(scene, positions, frames, "every other frame repeats the one before it")


def played_backwards(rng: Generator, scene: DamagedMarkers) -> Damage:
    """The frames of 0.3 s come in the opposite order."""
    frames = some_frames(rng, scene, BACKWARDS_S)
    positions = scene.positions.copy()
    positions[frames] = scene.positions[frames][::-1]
    return damaged(scene, positions, frames, f"{frames.stop - frames.start} frames backwards")


def time_stretched(rng: Generator, scene: DamagedMarkers) -> Damage:
    """Time stamps say half, four fifths, 1.25 times or twice the rate, in all frames."""
    factor = float(rng.choice(STRETCHES))
    return Damage(
        positions=scene.positions,
        times=scene.times[0] + factor * (scene.times - scene.times[0]),
        kept=np.arange(scene.n_frame),
        first=0,
        stop=scene.n_frame,
        what=f"time stamps {factor:g} times as far apart",
    )


KINDS = (
    DamageKind(time_stretched),
    DamageKind(time_jitter, in_deviations=True),
    DamageKind(frames_dropped),
    DamageKind(played_backwards),
    DamageKind(frames_repeated, needless=5.0),
)
