"""The built-in synthetic walker: markers of a synthetic person on a treadmill, with no file and no device.

Joint angles are short Fourier series that resemble level walking (Winter 2009, Biomechanics and Motor
Control of Human Movement); the knee rotates about its epicondylar axis, so its markers do not fit the
anatomical knee model exactly, as with real markers. Soft tissue moves the thigh and shank markers by
millimetres.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.joint_schema import Body
from rtsim.config.models.model_schema import ModelSpec
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.subject import Subject, kind_of_segment

Array = NDArray[np.float64]

CYCLE_S = 1.1
NOISE_M = 0.0003
SOFT_TISSUE_M = 0.003

Angles = dict[str, tuple[float, tuple[tuple[float, float], ...]]]
"""Harmonics of angles, by name: mean, then (cosine, sine) of the harmonics of one cycle from heel strike
[deg]."""
ANGLES: Angles = {
    "hip_flexion": (8.0, ((19.0, -6.5), (-2.5, 1.5))),
    "hip_adduction": (0.5, ((1.0, 4.0), (1.0, 1.5))),
    "hip_internal_rotation": (-2.0, ((2.0, 2.0), (1.0, -1.0))),
    "knee_flexion": (24.0, ((-4.5, -22.0), (-14.0, 6.0), (1.5, 4.0))),
    "ankle_dorsiflexion": (1.5, ((-2.0, 5.5), (-5.0, -5.0), (1.0, 2.0))),
    "ankle_inversion": (1.0, ((1.0, 2.0),)),
}
PELVIS = {"height": (0.0, ((0.0, 0.0), (0.018, 0.004))), "sway": (0.0, ((0.004, 0.02),))}
PELVIS_TURN = {
    "tilt": (8.0, ((0.0, 0.0), (1.0, 0.5))),
    "list": (0.0, ((1.0, 3.5),)),
    "turn": (0.0, ((4.0, -1.0),)),
}


def walk(
    spec: ModelSpec, subject: Subject, duration_s: float = 10.0, rate: float = 100.0, seed: int = 1
) -> MarkerTrial:
    """Return the markers of the walker; the same seed gives the same trial.

    Parameters
    ----------
    spec, subject : a lower-limb model, of one leg or of both, and the person
    duration_s, rate : length [s] and sampling rate [Hz]
    """
    n = max(1, round(duration_s * rate))
    times = np.arange(n) / rate
    phase = 2.0 * np.pi * times / CYCLE_S
    anatomy = Anatomy(spec, subject)
    rotations, origins = body_poses(spec, anatomy, phase)
    rng = np.random.default_rng(seed)
    names, columns = [], []
    for body in spec.bodies:
        for name, local in subject.segments[body.name].markers_mm.items():
            x = 1e-3 * np.array(local)
            if kind_of_segment(body.name) in ("thigh", "shank"):
                shift = rng.normal(size=(2, 3)) * SOFT_TISSUE_M
                x = x + np.cos(phase)[:, None] * shift[0] + np.sin(phase)[:, None] * shift[1]
            else:
                x = np.broadcast_to(x, (n, 3))
            columns.append(np.einsum("nij,nj->ni", rotations[body.name], x) + origins[body.name])
            names.append(name)
    positions = np.stack(columns, axis=1)
    positions += rng.normal(scale=NOISE_M, size=positions.shape)
    return MarkerTrial(
        names=tuple(names),
        times=times,
        positions=positions,
        rate=rate,
        source="walker",
        notes=("synthetic: walking on a treadmill at 55 strides a minute",),
    )


def series(phase: Array, mean: float, harmonics: tuple[tuple[float, float], ...]) -> Array:
    """Return a Fourier series at a phase [rad]: its mean, plus a cos(k phase) + b sin(k phase) for the k-th
    of the harmonics (a, b).
    """
    total = np.full(phase.shape, mean)
    for k, (a, b) in enumerate(harmonics, start=1):
        total = total + a * np.cos(k * phase) + b * np.sin(k * phase)
    return total


def body_poses(
    spec: ModelSpec, anatomy: Anatomy, phase: Array, angles: Angles = ANGLES
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return rotation (n, 3, 3) and origin (n, 3) [m] of every body, from the joint angles at a phase (n,)
    [rad].
    """
    rotations: dict[str, Array] = {}
    origins: dict[str, Array] = {}
    for body in spec.bodies:
        if not body.parent:
            tilt, side, turn = (np.radians(series(phase, *PELVIS_TURN[k])) for k in ("tilt", "list", "turn"))
            upright = anatomy.segments[body.name].axes("w", "u")
            rotations[body.name] = cardan(-tilt, side, turn) @ upright.T
            height = 1.0 + series(phase, *PELVIS["height"])
            origins[body.name] = np.stack([0.0 * phase, height, series(phase, *PELVIS["sway"])], axis=1)
            continue
        parent = rotations[body.parent]
        rotations[body.name] = parent @ relative_rotation(body, anatomy, phase, angles)
        joint = origins[body.parent] + parent @ anatomy.place(body.in_parent, body.parent, body.name)
        origins[body.name] = joint - rotations[body.name] @ anatomy.place(body.in_child, body.name, body.name)
    return rotations, origins


def relative_rotation(body: Body, anatomy: Anatomy, phase: Array, angles: Angles) -> Array:
    """Return rotations of a body in its parent from the angles of the joint coordinate system, (n, 3, 3)."""
    if body.angles is None:
        return np.broadcast_to(np.eye(3), (len(phase), 3, 3))
    proximal = anatomy.segments[body.parent].axes(*body.angles.proximal)
    distal = anatomy.segments[body.name].axes(*body.angles.distal)
    own = phase + np.pi if body.mirrored else phase  # the left leg half a stride later
    values = [
        sign * np.radians(series(own, *angles.get(kind_of_segment(name), (0.0, ()))))
        for name, sign in zip(body.angles.names, body.angles.signs, strict=True)
    ]
    return proximal @ cardan(*values) @ distal.T


def cardan(a: Array, b: Array, c: Array) -> Array:
    """Return Rz(a) Rx(b) Ry(c), (n, 3, 3), the Z-X-Y sequence of the joint coordinate system; angles
    [rad].
    """
    ca, sa, cb, sb, cc, sc = np.cos(a), np.sin(a), np.cos(b), np.sin(b), np.cos(c), np.sin(c)
    return np.stack(
        [
            np.stack([ca * cc - sa * sb * sc, -sa * cb, ca * sc + sa * sb * cc], -1),
            np.stack([sa * cc + ca * sb * sc, ca * cb, sa * sc - ca * sb * cc], -1),
            np.stack([-cb * sc, sb, cb * cc], -1),
        ],
        -2,
    )
