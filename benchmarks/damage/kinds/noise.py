"""Damage: markers whose positions are inexact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.damage.scene import (
    Damage,
    DamagedMarkers,
    DamageKind,
    Generator,
    damaged,
    some_frames,
    some_marker,
    whole_of,
)

NOISE_S = 1.0
STEP_M = 0.001


def marker_noise_5mm(rng: Generator, scene: DamagedMarkers) -> Damage:
    """White noise on one marker for a second, 5 mm in each coordinate."""
    return noisy(rng, scene, [some_marker(rng, scene)], 0.005)


def marker_noise_20mm(rng: Generator, scene: DamagedMarkers) -> Damage:
    """White noise on one marker for a second, 20 mm in each coordinate."""
    return noisy(rng, scene, [some_marker(rng, scene)], 0.02)


def marker_noise_40mm(rng: Generator, scene: DamagedMarkers) -> Damage:
    """White noise on one marker for a second, 40 mm in each coordinate."""
    return noisy(rng, scene, [some_marker(rng, scene)], 0.04)


def noise_on_all_3mm(rng: Generator, scene: DamagedMarkers) -> Damage:
    """White noise on all markers for a second, 3 mm in each coordinate."""
    return noisy(rng, scene, range(len(scene.names)), 0.003)


def noise_on_all_5mm(rng: Generator, scene: DamagedMarkers) -> Damage:
    """White noise on all markers for a second, 5 mm in each coordinate."""
    return noisy(rng, scene, range(len(scene.names)), 0.005)


def quantised(rng: Generator, scene: DamagedMarkers) -> Damage:
    """All coordinates are whole millimetres."""
    positions = STEP_M * np.round(scene.positions / STEP_M)
    return damaged(scene, positions, whole_of(scene), f"steps of {1e3 * STEP_M:g} mm")


def noisy(rng: Generator, scene: DamagedMarkers, markers: Sequence[int], deviation: float) -> Damage:
    """Add white noise of a standard deviation in each coordinate [m] for a second."""
    frames = some_frames(rng, scene, NOISE_S)
    positions = scene.positions.copy()
    n_frame = frames.stop - frames.start
    positions[frames, list(markers)] += deviation * rng.standard_normal((n_frame, len(markers), 3))
    which = scene.names[markers[0]] if len(markers) == 1 else "all markers"
    return damaged(scene, positions, frames, f"noise of {1e3 * deviation:g} mm on {which}")


KINDS = (
    DamageKind(marker_noise_5mm, in_deviations=True),
    DamageKind(marker_noise_20mm, in_deviations=True),
    DamageKind(marker_noise_40mm),
    DamageKind(noise_on_all_3mm, in_deviations=True),
    DamageKind(noise_on_all_5mm, in_deviations=True),
    DamageKind(quantised, in_deviations=True),
)
