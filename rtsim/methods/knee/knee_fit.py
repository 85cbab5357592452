"""Identification of the knee mechanism from a motion (Sancisi et al. 2017, section 2.1).

A preliminary geometry of best-fitting spheres and planes and least-varying fibres is adjusted within bounds
so that the mechanism's motion is nearest to the measured one (`knee_adjustment`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.methods.knee.isometric_fibres import fibre_lengths, least_varying, length_polynomials
from rtsim.methods.knee.knee_adjustment import adjust_knee
from rtsim.methods.knee.knee_anatomy import KneeAnatomy
from rtsim.methods.knee.knee_geometry import COMPARTMENTS, HELD, LIGAMENTS, KneeGeometry
from rtsim.methods.knee.knee_mechanism import nearest_poses
from rtsim.methods.knee.knee_poses import KneePoses
from rtsim.methods.knee.surface_fits import fit_plane, fit_sphere

Array = NDArray[np.float64]

BOUND_M, BOUND_RAD = 0.005, np.radians(5.0)
"""Largest adjustments of points and lengths, and of normals, where nothing else is given."""
FEWEST_POSES, LEAST_FLEXION = 20, np.radians(30.0)
"""Smallest number of poses and range of flexion from which a mechanism can be identified."""


class KneeFit(NamedTuple):
    """An identified knee.

    geometry, preliminary : geometry after and before the adjustment
    polynomials : (4, 7) coefficients a1 to a7 of each ligament's length as a polynomial of flexion
        (Sancisi et al. 2017, eq. 1)
    means : (4,) mean lengths of the ligaments by these polynomials over the motion [m]
    misfits : root mean square distances of the mechanism from the measured poses: rotation [rad] and
        translation [m]
    surface_misfits : by compartment, root mean square distances of the sphere and of the plane from their
      measured points [m]; empty without measured points
    bounded : names of parameters at a bound
    deviation : standard deviation, per coordinate, of the measured poses from the nearest poses of the
        mechanism [m]; angles are multiplied by the lever arm LEVER
    """

    geometry: KneeGeometry
    preliminary: KneeGeometry
    means: Array
    polynomials: Array
    misfits: tuple[float, float]
    surface_misfits: Mapping[str, tuple[float, float]]
    bounded: tuple[str, ...]
    deviation: float


def fit_knee(
    poses: KneePoses,
    anatomy: KneeAnatomy | None,
    start: KneeGeometry,
    bound_m: float = BOUND_M,
    bound_rad: float = BOUND_RAD,
    tell: Callable[[str], None] = lambda words: None,
) -> KneeFit:
    """Identify a knee.

    Parameters
    ----------
    poses : the measured motion
    anatomy : surfaces and attachment areas; None = the preliminary geometry is `start`
    start : geometry that replaces an anatomy
    bound_m, bound_rad : largest adjustment of points and lengths [m], and of the directions of normals [rad]

    Raises ConfigError if the motion or the points do not determine a knee.
    """
    check_motion(poses)
    found, misfits = (start, {}) if anatomy is None else preliminary(poses, anatomy)
    tell("adjusting the mechanism to the motion")
    geometry, bounded, deviation = adjust_knee(poses, anatomy, found, bound_m, bound_rad)
    nearest = nearest_poses(geometry, poses)
    if anatomy is not None:
        own = least_varying(anatomy.origins[LIGAMENTS[-1]], anatomy.insertions[LIGAMENTS[-1]], nearest)
        geometry = geometry._replace(
            origins=np.vstack([geometry.origins[:HELD], own.origin]),
            insertions=np.vstack([geometry.insertions[:HELD], own.insertion]),
        )
    lengths = fibre_lengths(geometry.origins, geometry.insertions, poses)
    extension = np.degrees(poses.angles[:, 0])
    return KneeFit(
        geometry=geometry,
        preliminary=found,
        means=lengths.mean(axis=0),
        polynomials=length_polynomials(extension, lengths, geometry.neutral_lengths),
        misfits=(
            root_mean_square(nearest.angles - poses.angles),
            root_mean_square(nearest.places - poses.places),
        ),
        surface_misfits=misfits,
        bounded=bounded,
        deviation=deviation,
    )


def root_mean_square(values: Array) -> float:
    """Return the root mean square of the lengths of vectors (n, 3)."""
    return float(np.sqrt(np.mean(np.sum(values**2, axis=1))))


def check_motion(poses: KneePoses) -> None:
    """Raise ConfigError for a measured motion of a knee from which its mechanism cannot be identified, such
    as one with too little flexion.
    """
    if len(poses.angles) < FEWEST_POSES:
        raise ConfigError(
            f"{len(poses.angles)} poses are too few to fit a knee",
            where="MOTION",
            allowed=f"{FEWEST_POSES} or more",
        )
    bent = float(np.ptp(poses.angles[:, 0]))
    if bent < LEAST_FLEXION:
        raise ConfigError(
            f"the knee bends by only {np.degrees(bent):.1f} degrees in the motion", where="MOTION",
            allowed=f"{np.degrees(LEAST_FLEXION):.0f} degrees or more",
        )  # fmt: skip


def preliminary(
    poses: KneePoses, anatomy: KneeAnatomy
) -> tuple[KneeGeometry, dict[str, tuple[float, float]]]:
    """Return the geometry of best-fitting surfaces and most isometric fibres, and the surfaces' misfits
    [m]."""
    spheres = [fit_sphere(anatomy.condyles[name], f"condyles.{name}") for name in COMPARTMENTS]
    planes = [
        fit_plane(anatomy.plateaus[name], sphere.centre, f"plateaus.{name}")
        for name, sphere in zip(COMPARTMENTS, spheres, strict=True)
    ]
    fibres = [least_varying(anatomy.origins[name], anatomy.insertions[name], poses) for name in LIGAMENTS]
    geometry = KneeGeometry(
        condyles=np.array([sphere.centre for sphere in spheres]),
        radii=np.array([sphere.radius for sphere in spheres]),
        plateaus=np.array([plane.point for plane in planes]),
        normals=np.array([plane.normal for plane in planes]),
        origins=np.array([fibre.origin for fibre in fibres]),
        insertions=np.array([fibre.insertion for fibre in fibres]),
        lengths=np.array([fibre.length for fibre in fibres[:HELD]]),
    )
    pairs = zip(COMPARTMENTS, spheres, planes, strict=True)
    return geometry, {name: (sphere.misfit, plane.misfit) for name, sphere, plane in pairs}
