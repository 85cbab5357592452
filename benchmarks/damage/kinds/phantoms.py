"""Damage: samples that belong to something else, such as another marker or a reflection."""

from __future__ import annotations

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
)

PHANTOM_S = 0.5
OFTEN = 0.2
"""Part of the frames that are wrong."""


def phantom_at_other(rng: Generator, scene: DamagedMarkers) -> Damage:
    """In single frames of half a second a marker is where another of the subject is."""
    marker, frames, wrong = some_samples(rng, scene)
    other = int(rng.choice([m for m in scene.usable if m != marker]))
    positions = scene.positions.copy()
    positions[wrong, marker] = scene.positions[wrong, other]
    return damaged(scene, positions, frames, f"{named(scene, [marker])} at {named(scene, [other])}")


def phantom_in_volume(rng: Generator, scene: DamagedMarkers) -> Damage:
    """In single frames of half a second a marker is anywhere between the outermost of the scene."""
    marker, frames, wrong = some_samples(rng, scene)
    low, high = np.nanmin(scene.positions, axis=(0, 1)), np.nanmax(scene.positions, axis=(0, 1))
    positions = scene.positions.copy()
    positions[wrong, marker] = rng.uniform(low, high, (len(wrong), 3))
    return damaged(scene, positions, frames, f"{named(scene, [marker])} anywhere")


def some_samples(rng: Generator, scene: DamagedMarkers) -> tuple[int, slice, list[int]]:
    """Return a random marker, frames, and those of the frames in which it is wrong, including the first and
    the last.
    """
    marker, frames = some_marker(rng, scene), some_frames(rng, scene, PHANTOM_S)
    inside = np.arange(frames.start, frames.stop)
    wrong = inside[rng.random(len(inside)) < OFTEN].tolist()
    return marker, frames, sorted({frames.start, *wrong, frames.stop - 1})


KINDS = (DamageKind(phantom_at_other), DamageKind(phantom_in_volume))
