"""Geometry of the knee mechanism (Sancisi et al. 2017, table 1), read from a model and written into one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.force_schema import Length, Ligament
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError

Array = NDArray[np.float64]

COMPARTMENTS = ("medial", "lateral")
LIGAMENTS = ("ACL", "PCL", "MCL", "LCL")
HELD = 3
"""Number of the ligaments, the first ones, whose lengths are constant in the mechanism."""


class KneeGeometry(NamedTuple):
    """Points of femur and tibia in their axes, whose origins and axes coincide at full extension [m].

    X points forward, Y up, Z to the right of a right knee.

    condyles : (2, 3) - centres of the medial and lateral spheres on the femur; radii : (2,)
    plateaus : (2, 3) - a point of each plane on the tibia; normals : (2, 3) - unit, towards the femur
    origins : (4, 3) - of ACL, PCL, MCL, LCL on the femur; insertions : (4, 3) - on the tibia
    lengths : (3,) lengths of ACL, PCL, MCL that the mechanism keeps constant
    """

    condyles: Array
    radii: Array
    plateaus: Array
    normals: Array
    origins: Array
    insertions: Array
    lengths: Array

    @property
    def neutral_lengths(self) -> Array:
        """(4,) distances of origin and insertion when the axes of femur and tibia coincide [m]."""
        return np.asarray(np.linalg.norm(self.origins - self.insertions, axis=1))


def knee_geometry_of(spec: ModelSpec) -> KneeGeometry:
    """Return the knee geometry of a model; ConfigError if the model lacks one of the two contacts or four
    ligaments of this knee, or a constant length of ACL, PCL or MCL.
    """
    contacts = by_name(spec.contacts, COMPARTMENTS, spec, "contacts")
    ligaments = by_name(spec.ligaments, LIGAMENTS, spec, "ligaments")
    normals = np.array([contact.plane.normal for contact in contacts])
    held = [one.length.target_mm if one.length else None for one in ligaments[:HELD]]
    if None in held:
        raise ConfigError(
            f"the ligament {LIGAMENTS[held.index(None)]} lacks the constant length that this knee needs",
            where=f"model {spec.name}: ligaments", remedy="give the ligament a target_mm",
        )  # fmt: skip
    return KneeGeometry(
        condyles=1e-3 * np.array([contact.ellipsoid.offset_mm for contact in contacts]),
        radii=1e-3 * np.array([contact.ellipsoid.radius_mm for contact in contacts]),
        plateaus=1e-3 * np.array([contact.plane.offset_mm for contact in contacts]),
        normals=normals / np.linalg.norm(normals, axis=1)[:, None],
        origins=1e-3 * np.array([one.a.offset_mm for one in ligaments]),
        insertions=1e-3 * np.array([one.b.offset_mm for one in ligaments]),
        lengths=1e-3 * np.array(held),
    )


def by_name(records: tuple, names: tuple[str, ...], spec: ModelSpec, key: str) -> list:
    """Return the contacts or ligaments with these names from a model's records; ConfigError if one does not
    exist.

    records : all contacts, or all ligaments, of the model; key : the word for them in the error
    """
    there = {record.name: record for record in records}
    lacking = [name for name in names if name not in there]
    if lacking:
        raise ConfigError(
            f"the model has no {lacking[0]}", where=f"model {spec.name}: {key}", allowed=", ".join(names),
            remedy="use a model with the knee of lower_limb",
        )  # fmt: skip
    return [there[name] for name in names]


def with_knee_geometry(
    spec: ModelSpec, geometry: KneeGeometry, means: Array, polynomials: Array, name: str, source: str
) -> ModelSpec:
    """Return the model with another knee geometry.

    means : (4,) mean lengths, from which the method `minimised` lets ligaments deviate as little as possible
        [m]
    polynomials : (4, 7) - coefficients a1 to a7 of ligament length over the angle in degrees, positive in
        extension and negative in flexion (Sancisi et al. 2017, eq. 1)
    """
    contacts = {
        compartment: contact_with(contact, geometry, k)
        for k, (compartment, contact) in enumerate(
            zip(COMPARTMENTS, by_name(spec.contacts, COMPARTMENTS, spec, "contacts"), strict=True)
        )
    }
    ligaments: Mapping[str, Ligament] = {
        ligament: ligament_with(record, geometry, k, float(means[k]), polynomials[k])
        for k, (ligament, record) in enumerate(
            zip(LIGAMENTS, by_name(spec.ligaments, LIGAMENTS, spec, "ligaments"), strict=True)
        )
    }
    return msgspec.structs.replace(
        spec,
        name=name,
        source=source,
        contacts=tuple(contacts.get(one.name, one) for one in spec.contacts),
        ligaments=tuple(ligaments.get(one.name, one) for one in spec.ligaments),
    )


def contact_with(contact: Any, geometry: KneeGeometry, k: int) -> Any:
    """Return a copy of a model's contact in which the sphere and the plane are those of compartment k (0
    medial, 1 lateral) of a knee geometry.
    """
    sphere = msgspec.structs.replace(
        contact.ellipsoid, offset_mm=in_mm(geometry.condyles[k]), radius_mm=1e3 * float(geometry.radii[k])
    )
    plane = msgspec.structs.replace(
        contact.plane, offset_mm=in_mm(geometry.plateaus[k]), normal=tuple(geometry.normals[k].tolist())
    )
    return msgspec.structs.replace(contact, ellipsoid=sphere, plane=plane)


def ligament_with(
    ligament: Ligament, geometry: KneeGeometry, k: int, mean: float, polynomial: Array
) -> Ligament:
    """Return a copy of a model's ligament in which the ends and lengths are those of ligament k (0 ACL, 1
    PCL, 2 MCL, 3 LCL) of a knee geometry.

    mean : its mean length [m]; polynomial : (7,) coefficients of its length over the angle
    """
    length = Length(
        target_mm=1e3 * float(geometry.lengths[k]) if k < HELD else None,
        mean_mm=1e3 * mean,
        polynomial=tuple(polynomial.tolist()),
    )
    return msgspec.structs.replace(
        ligament,
        a=msgspec.structs.replace(ligament.a, offset_mm=in_mm(geometry.origins[k])),
        b=msgspec.structs.replace(ligament.b, offset_mm=in_mm(geometry.insertions[k])),
        length=length,
    )


def in_mm(point: Array) -> tuple[float, float, float]:
    """Return a point [m] in millimetres."""
    x, y, z = (1e3 * point).tolist()
    return x, y, z
