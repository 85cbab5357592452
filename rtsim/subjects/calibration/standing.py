"""Checks of the pose in a calibration: errors if it is impossible for a person, notes if it is unusual for a
person who stands.

Joint angles come from the natural coordinates, by the joint coordinate systems of the shipped model of a
leg, as medians over the frames. Angles outside the joints' ranges (`ranges_deg` of that model) are an error
in any pose. The usual ranges of standing apply only to trials without movement. As later joint angles do not
depend on the pose in the static trial, a person who sits or lies is only reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rtsim.config.load import load_toml
from rtsim.config.models.joint_schema import AnatomicalAxes
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.subjects.calibration.natural import unit
from rtsim.units import DEGREES

Array = NDArray[np.float64]
Range = tuple[float, float]

LEG = "lower_limb"
"""The shipped model whose joint coordinate systems are used."""
STILL = 0.1
"""Largest motion of a joint centre in a still trial [m]."""
USUAL = {
    "hip_flexion": (-25.0, 40.0), "hip_adduction": (-25.0, 25.0), "hip_internal_rotation": (-40.0, 40.0),
    "knee_flexion": (-20.0, 30.0), "knee_adduction": (-20.0, 20.0), "knee_internal_rotation": (-45.0, 35.0),
    "ankle_dorsiflexion": (-30.0, 30.0), "ankle_inversion": (-35.0, 40.0),
    "ankle_internal_rotation": (-35.0, 40.0),
}  # fmt: skip
"""Joint angles in standing [deg]: of ten legs of five persons of four labs, hip flexion -5 to 17, adduction
-6 to 5, rotation -12 to 11, knee flexion -12 to 1, adduction -6 to 7, rotation -21 to -2, dorsiflexion -8 to
7, inversion -10 to 15, rotation of the ankle -3 to 8; and 8 to 32 degrees more, as labs put their markers."""
TILT, OBLIQUITY = (-7.0, 33.0), (-15.0, 15.0)
"""Ranges of the pelvis in standing, ASIS lower and side higher positive [deg]: 4 to 22 and -3 to 3 of
these persons; 13 degrees of tilt on average in Preece et al. (2008) J Man Manip Ther 16, 113-117. 20 to
either side: markers that tilt the pelvis by 30 are told of nearly everybody."""
STRAIGHT = 30.0
"""A leg is upright if knee flexion, and the angle of the thigh from the vertical, are smaller [deg]."""
NEAREST = 0.25
"""Fraction of the upright frames that is judged, those with the most usual pelvis: a person who bends down in
some frames stands upright in others."""
LARGEST_TILT = 70.0
"""Largest tilt of a pelvis over straight legs, either way [deg]: nobody stands with more."""
UPRIGHT, UPSIDE_DOWN = 35.0, 135.0
"""Angles of a leg from the vertical above which the person does not stand, or is upside down [deg]."""
SITTING = 50.0
"""Flexion of hip and knee from which a still person sits or crouches [deg]."""
POSTURE = "results do not depend on this pose, but a standing pose shows errors in labels and markers best"
REMEDY = "check the labels, the lab's marker map and the positions of the markers"


@cache
def joints() -> dict[tuple[str, str], AnatomicalAxes]:
    """Return the joint coordinate systems of the shipped leg model, with names and ranges of their angles:
    (proximal segment, distal segment) -> axes of the joint."""
    spec = load_toml(find_config(LEG, "models"), ModelSpec)
    return {(body.parent, body.name): body.angles for body in spec.bodies if body.angles is not None}


def check_pose(Q: Mapping[str, Array], where: str) -> list[str]:
    """Return notes on an unusual pose of a leg; ConfigError for an impossible pose.

    Q : segment -> (n, 4, 3) natural coordinates u, rP, rD, w, of a right leg, or of a mirrored left one
    """
    ranges = {name: ends for axes in joints().values() for name, ends in zip_ranges(axes).items()}
    angles = {name: float(np.median(x)) for name, x in joint_angles(Q).items()}
    for name, angle in angles.items():
        low, high = ranges[name]
        if not low <= angle <= high:
            raise ConfigError(
                f"{name} is {angle:.0f} degrees in this pose, which is impossible for a person", where=where,
                allowed=f"{low:g} to {high:g} degrees", remedy=REMEDY,
            )  # fmt: skip
    if not is_still(Q):
        return check_upright(Q, where)
    lean = leaning(Q)
    if lean > UPSIDE_DOWN:
        raise ConfigError(
            f"the person is upside down: the leg leans {lean:.0f} degrees from the vertical", where=where,
            allowed=f"at most {UPRIGHT:g} degrees in a standing trial",
            remedy="give the axis that points up (--up)",
        )  # fmt: skip
    sits = angles["knee_flexion"] > SITTING and angles.get("hip_flexion", SITTING) >= SITTING
    notes = check_pelvis(Q, where) if lean <= UPRIGHT else []
    if lean > UPRIGHT and not sits:
        notes.append(
            f"check the pose: the leg is inclined by {lean:.0f} degrees from the vertical (usual in "
            f"standing: up to {UPRIGHT:g}): is the person lying, or is another axis up (--up)? "
            f"{POSTURE}"
        )
    odd = [
        f"{name} {angle:.0f} (usual {USUAL[name][0]:g} to {USUAL[name][1]:g})"
        for name, angle in angles.items()
        if not USUAL[name][0] <= angle <= USUAL[name][1]
    ]
    if odd:
        why = f"sitting? {POSTURE}" if sits else f"exchanged labels, or a marker in the wrong place? {REMEDY}"
        notes.append(f"check the pose, unusual in standing [deg]: {', '.join(odd)}: {why}")
    return notes


def check_upright(Q: Mapping[str, Array], where: str) -> list[str]:
    """Return notes on an unusual tilt or obliquity of the pelvis in those frames of a moving person in which
    the legs are upright; nothing is an error, as a moving person need not stand upright.

    Q : segment -> (n, 4, 3) natural coordinates u, rP, rD, w
    """
    if "pelvis" not in Q:
        return []
    knee = np.abs(joint_angles(Q)["knee_flexion"])
    thigh = DEGREES * np.arccos(np.clip(unit(Q["thigh"][:, 1] - Q["thigh"][:, 2])[:, 1], -1.0, 1.0))
    upright = np.flatnonzero((knee < STRAIGHT) & (thigh < STRAIGHT))
    if not upright.size:
        return []
    pelvis = Q["pelvis"][upright]
    off = np.abs(tilt_of(pelvis) - sum(TILT) / 2.0)
    nearest = np.argsort(off, kind="stable")[: max(1, round(NEAREST * upright.size))]
    return check_pelvis({"pelvis": pelvis[np.sort(nearest)]}, where, largest=180.0)


def tilt_of(pelvis: Array) -> Array:
    """Return the tilt of a pelvis with natural coordinates Q (n, 4, 3), positive with the ASIS lowered, (n,)
    [deg].
    """
    return np.asarray(-DEGREES * np.arcsin(np.clip(pelvis[:, 0, 1], -1.0, 1.0)))


def check_pelvis(Q: Mapping[str, Array], where: str, largest: float = LARGEST_TILT) -> list[str]:
    """Return notes on an unusual tilt or obliquity of the pelvis of a person with straight, upright legs;
    ConfigError for impossible values.

    Q : segment -> (n, 4, 3) natural coordinates u, rP, rD, w; largest : largest possible tilt [deg]
    """
    if "pelvis" not in Q:
        return []
    sideways = Q["pelvis"][:, 3]
    found = {
        "tilt": (float(np.median(tilt_of(Q["pelvis"]))), TILT),
        "obliquity": (DEGREES * float(np.median(np.arcsin(sideways[:, 1]))), OBLIQUITY),
    }
    notes = []
    for name, (angle, (low, high)) in found.items():
        if abs(angle) > largest:
            raise ConfigError(
                f"the pelvis has a {name} of {angle:.0f} degrees, although the legs are straight",
                where=where, remedy=REMEDY,
                allowed=f"a {name} of up to {largest:g} degrees; usual in standing: {low:g} to {high:g}",
            )  # fmt: skip
        if not low <= angle <= high:
            notes.append(
                f"check the pelvis: its {name} is {angle:.0f} degrees (usual in standing: {low:g} to "
                f"{high:g}): is a marker of the ASIS or PSIS in the wrong place?"
            )
    return notes


def joint_angles(Q: Mapping[str, Array]) -> dict[str, Array]:
    """Return the angles (n,) [deg] by name of the joints whose two segments are known, in the Z-X-Y sequence
    of body-fixed rotations (Wu et al. 2002).
    """
    found: dict[str, Array] = {}
    for (parent, child), axes in joints().items():
        if parent not in Q or child not in Q:
            continue
        R = np.einsum(
            "nji,njk->nik", segment_axes(Q[parent], *axes.proximal), segment_axes(Q[child], *axes.distal)
        )
        values = (
            np.arctan2(-R[:, 0, 1], R[:, 1, 1]),
            np.arcsin(np.clip(R[:, 2, 1], -1.0, 1.0)),
            np.arctan2(-R[:, 2, 0], R[:, 2, 2]),
        )
        found |= {n: DEGREES * s * x for n, s, x in zip(axes.names, axes.signs, values, strict=True)}
    return found


def segment_axes(q: Array, primary: str, secondary: str) -> Array:
    """Return the orthonormal axes of a segment in ground as columns, (n, 3, 3), from its natural coordinates
    q (n, 4, 3).

    primary, secondary : two of the directions u, v, w; the axis of the first has exactly its direction, that
        of the second is made perpendicular to it in the plane of both
    """
    directions = {"u": q[:, 0], "v": q[:, 1] - q[:, 2], "w": q[:, 3]}
    p, s = "uvw".index(primary), "uvw".index(secondary)
    third, sign = 3 - p - s, 1.0 if (s - p) % 3 == 1 else -1.0
    axes = np.empty((len(q), 3, 3))
    axes[:, :, p] = unit(directions[primary])
    axes[:, :, third] = sign * unit(np.cross(directions[primary], directions[secondary]))
    axes[:, :, s] = sign * np.cross(axes[:, :, third], axes[:, :, p])
    return axes


def zip_ranges(axes: AnatomicalAxes) -> dict[str, Range]:
    """Return the range of each angle of a joint, by the name of the angle [deg]."""
    return {
        name: (DEGREES * low, DEGREES * high)
        for name, (low, high) in zip(axes.names, axes.ranges, strict=True)
    }


def is_still(Q: Mapping[str, Array]) -> bool:
    """Return whether the person is still, as joint centres hardly move over the frames."""
    centres = np.concatenate([q[:, 1:3] for q in Q.values()], axis=1)
    return bool(np.ptp(centres, axis=0).max() < STILL)


def leaning(Q: Mapping[str, Array]) -> float:
    """Return the median angle between the vertical and the line of a leg, from ankle to hip [deg]."""
    up = unit(Q["thigh"][:, 1] - Q["shank"][:, 2])[:, 1]
    return DEGREES * float(np.median(np.arccos(np.clip(up, -1.0, 1.0))))
