"""Rotation offsets from a static trial, by a knee alignment device or by medial markers.

The device clamps the knee and carries three markers, labelled KAX, KD1 and KD2, at equal distances from one
point on perpendicular arms; the arm of KAX is parallel to the knee axis (HAS-Motion wiki, "Knee Alignment
Device").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.subjects.calibration.natural import unit
from rtsim.subjects.conventional.chord import TURNS, chord_centre, wand_rotation

Array = NDArray[np.float64]

DEVICE_SPACING = 0.14376
"""Distance between two markers of the alignment device: 5.66 inches [m]."""
MOST_MISFIT = 0.15
"""Largest deviation of the distances between its markers from their mean [1]: above, they are not of one
device."""


class AlignedJoint(NamedTuple):
    """A knee or ankle of a static trial: centre, lateral marker and rotation offset.

    centre : (n, 3) - joint centre [m]
    lateral : (n, 3) - lateral marker, or its place if the marker was not attached [m]
    rotation : angle from the segment's wand marker to the joint axis, mean over the frames, with the sign as
        stored in files: positive = the wand is behind the axis [rad]
    """

    centre: Array
    lateral: Array
    rotation: float


def device_origin(kax: Array, kd1: Array, kd2: Array, side: str) -> Array:
    """Return the point where the arms of the device meet, which is the place of the marker on the lateral
    epicondyle, (n, 3) [m].

    kax, kd1, kd2 : (n, 3) - markers of the device [m]; side : side of the leg that wears it, in right-handed
        axes
    """
    arm = DEVICE_SPACING / np.sqrt(2.0)
    normal = TURNS["left"] * TURNS[side] * unit(np.cross(kd2 - kd1, kax - kd1))
    origin: Array = (kax + kd1 + kd2) / 3.0 - normal * arm / np.sqrt(3.0)
    return origin


def check_device(kax: Array, kd1: Array, kd2: Array, side: str, where: str) -> str:
    """Return a note on a device of unusual size; "" for the usual size.

    ConfigError where its markers are not at equal distances, for example because labels are exchanged.
    """
    pairs = ((kax, kd1), (kax, kd2), (kd1, kd2))
    sizes = np.array([np.nanmean(np.linalg.norm(a - b, axis=-1)) for a, b in pairs])
    if not np.ptp(sizes) <= MOST_MISFIT * sizes.mean():
        raise ConfigError(
            f"the markers of the {side} knee alignment device are "
            f"{', '.join(f'{1e3 * size:.0f}' for size in sizes)} mm apart",
            where=where,
            allowed="three equal distances",
            remedy="check the labels KAX, KD1 and KD2 of this side",
        )
    size = float(sizes.mean())
    if abs(size - DEVICE_SPACING) <= 0.05 * DEVICE_SPACING:
        return ""
    return (
        f"the markers of the {side} knee alignment device are {1e3 * size:.0f} mm apart; "
        f"{1e3 * DEVICE_SPACING:.0f} mm is usual"
    )


def by_device(
    hip: Array, device: tuple[Array, Array, Array], wand: Array, radius: float, side: str
) -> AlignedJoint:
    """Return the knee of a static trial with a knee alignment device.

    hip, wand : (n, 3) - hip centre, and lateral marker (wand) of the thigh [m]
    device : KAX, KD1, KD2, each (n, 3) [m]
    radius : distance of the knee centre from the place of the lateral epicondyle's marker, which the device
        replaces [m]
    """
    lateral = device_origin(*device, side)
    centre = chord_centre(hip, lateral, device[0], radius)
    return AlignedJoint(centre, lateral, _mean_rotation(hip, centre, lateral, wand, side))


def by_medial_marker(proximal: Array, lateral: Array, medial: Array, wand: Array, side: str) -> AlignedJoint:
    """Return a knee or an ankle of a static trial with medial markers; its centre is the middle between the
    medial and the lateral marker.

    proximal : (n, 3) - hip centre for a knee, knee centre for an ankle [m]; wand : lateral marker on the
        segment between the two joints [m]
    """
    centre = 0.5 * (lateral + medial)
    return AlignedJoint(centre, lateral, _mean_rotation(proximal, centre, lateral, wand, side))


def tibial_torsion(knee: Array, ankle: Array, across_knee: Array, across_ankle: Array, side: str) -> float:
    """Return the angle from the knee axis to the ankle axis about the tibia, mean over the frames [rad].

    The sign is that of stored files: negative = the ankle axis is rotated externally.

    knee, ankle : (n, 3) - centres [m]; across_knee, across_ankle : (n, 3) - vectors from the centres
        laterally [m]
    """
    up = unit(knee - ankle)
    flat = [v - np.sum(v * up, axis=-1, keepdims=True) * up for v in (across_knee, across_ankle)]
    sine = np.sum(up * np.cross(flat[0], flat[1]), axis=-1)
    return TURNS[side] * float(np.nanmean(np.arctan2(sine, np.sum(flat[0] * flat[1], axis=-1))))


def _mean_rotation(proximal: Array, centre: Array, lateral: Array, wand: Array, side: str) -> float:
    """Return the rotation offset of the wand from the joint axis, as a mean over the frames, with the sign as
    stored in files [rad].

    proximal, centre, lateral, wand : (n, 3) - proximal joint centre, joint centre, lateral marker, wand [m]
    """
    return TURNS[side] * float(np.nanmean(wand_rotation(proximal, centre, lateral, wand)))
