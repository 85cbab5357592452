"""The frame of a foot for its contact with the ground, and the axis of its toes (Brown 2017, figure 5.7).

The origin is at the heel, Y points through the head of the third metatarsal, the head of the first lies in
the X-Y plane, X points medially, and Z up. The axis of the toes is parallel to the ground, 16 mm above it,
and passes below the heads of the first and the third metatarsal. The thesis' foot is a left one; positions
of a right foot are mirrored by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError

Array = NDArray[np.float64]

AXIS_HEIGHT = 0.016
"""Height of the toes' axis above the ground [m], about half that of the third metatarsal (section 5.3.1)."""
THIRD_FROM_SECOND = 1.0 / 3.0
"""Position of the third metatarsal head between the second (0) and the fifth (1), equally spaced."""
THIRD_FROM_FIRST = 0.5
"""Position of the third metatarsal head between the first (0) and the fifth (1)."""


class FootFrame(NamedTuple):
    """A left foot as a rigid body, and the axis about which its toes rotate.

    The frame of the foot has its origin at the heel marker (calcaneus). Y points to the head of the third
    metatarsal, Z upwards at right angles to the plane of the heel, first and third metatarsals, X medially.

    names : names of the n_marker tracked markers
    markers : (n_marker, 3) - their positions in the frame of the foot [m]
    toe_origin : (3,) - origin of the toes' axis, below the first metatarsal [m]
    toe_axes : (3, 3) - axes of the toes' frame in the foot's frame, as columns: x medial along their axis, y
        forward, z up
    up : (3,) - the vertical in the frame of the foot where it stands flat
    heel_height : height of the origin above the ground where the foot stands flat [m]
    length : distance from the heel to the toes' axis along Y [m]
    notes : plain sentences: replacements of missing markers
    """

    names: tuple[str, ...]
    markers: Array
    toe_origin: Array
    toe_axes: Array
    up: Array
    heel_height: float
    length: float
    notes: tuple[str, ...]


def foot_frame(flat: Mapping[str, Array], source: str) -> FootFrame:
    """Build the frame of a foot from its mean markers while it stands flat, with Z up and the ground at Z =
    0.

    flat : landmark ("calcaneus", "metatarsal_1" and "metatarsal_5" are needed), or name of another marker ->
        (3,) mean position, of a left foot [m]

    ConfigError naming `source` for missing markers, and for markers that do not span a foot.
    """
    lacking = [role for role in ("calcaneus", "metatarsal_1", "metatarsal_5") if role not in flat]
    if lacking:
        raise ConfigError(
            f"the trial lacks the marker {lacking[0]} of the foot",
            where=source,
            remedy="check the marker map",
        )
    third, notes = third_metatarsal(flat)
    heel, first = flat["calcaneus"], flat["metatarsal_1"]
    along = third - heel
    across = first - heel
    normal = np.cross(across, along)
    if not np.linalg.norm(normal) > 1e-4:
        raise ConfigError("heel and metatarsals lie on one line", where=source, remedy="check the labels")
    y = along / np.linalg.norm(along)
    z = normal / np.linalg.norm(normal)
    axes = np.stack([np.cross(y, z), y, z], axis=1)
    level = np.array([1.0, 1.0, 0.0])
    origin = first * level + [0.0, 0.0, AXIS_HEIGHT]
    medial = (first - third) * level
    medial /= np.linalg.norm(medial)
    if "hallux" not in flat:
        notes.append(
            "no marker on the first toe: the toes are assumed horizontal when the foot is flat on the ground"
        )
    forward = (flat["hallux"] - origin) if "hallux" in flat else np.cross([0.0, 0.0, 1.0], medial)
    forward = forward - medial * (forward @ medial)
    forward /= np.linalg.norm(forward)
    toe = np.stack([medial, forward, np.cross(medial, forward)], axis=1)
    names = tuple(flat)
    return FootFrame(
        names=names,
        markers=np.array([(flat[name] - heel) @ axes for name in names]),
        toe_origin=(origin - heel) @ axes,
        toe_axes=axes.T @ toe,
        up=axes[2],
        heel_height=float(heel[2]),
        length=float(((origin - heel) @ axes)[1]),
        notes=tuple(notes),
    )


def third_metatarsal(flat: Mapping[str, Array]) -> tuple[Array, list[str]]:
    """Return the head of the third metatarsal, (3,), or a point between other metatarsals if it has no
    marker, with notes on this.

    flat : role, such as "metatarsal_1" -> (3,) position of the marker while the foot stands flat [m]
    """
    if "metatarsal_3" in flat:
        return flat["metatarsal_3"], []
    fifth = flat["metatarsal_5"]
    if "metatarsal_2" in flat:
        second = flat["metatarsal_2"]
        return second + THIRD_FROM_SECOND * (fifth - second), [
            "no marker on the third metatarsal: the point at a third of the way from the second to "
            "the fifth metatarsal was used"
        ]
    first = flat["metatarsal_1"]
    return first + THIRD_FROM_FIRST * (fifth - first), [
        "no marker on the third metatarsal: the midpoint between the first and the fifth metatarsal was used"
    ]


def rigid_pose(local: Array, seen: Array) -> tuple[Array, Array]:
    """Fit position (n, 3) [m] and rotation (n, 3, 3) of a body to markers by least squares (Arun et al.
    1987).

    local : (n_marker, 3) - markers on the body [m]; seen : (n, n_marker, 3) [m]
    """
    centre, mean = local.mean(axis=0), seen.mean(axis=1)
    u, _, vt = np.linalg.svd(np.einsum("nmi,mj->nij", seen - mean[:, None], local - centre))
    turned = np.ones((len(seen), 3))
    turned[:, 2] = np.linalg.det(u) * np.linalg.det(vt)
    rotation = np.einsum("nij,nj,njk->nik", u, turned, vt)
    return mean - rotation @ centre, rotation


def rigid_twist(rotation: Array, local: Array, velocity: Array) -> tuple[Array, Array]:
    """Return the velocity of the body's origin and its angular velocity, (n, 3) each, from the velocities of
    markers.

    rotation : (n, 3, 3); local : (n_marker, 3) - on the body [m]; velocity : (n, n_marker, 3) [m/s]
    """
    arm = np.einsum("nij,mj->nmi", rotation, local - local.mean(axis=0))
    mean = velocity.mean(axis=1)
    spin = np.cross(arm, velocity - mean[:, None]).sum(axis=1)
    square = np.einsum("nmi,nmi->n", arm, arm)
    inertia = square[:, None, None] * np.eye(3) - np.einsum("nmi,nmj->nij", arm, arm)
    turning = np.linalg.solve(inertia, spin[..., None])[..., 0]
    return mean - np.cross(turning, rotation @ local.mean(axis=0)), turning
