"""Schema of contacts: two surfaces of one of the geometries, a pressure law, a friction law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from rtsim.config.contact_geometries import GEOMETRIES
from rtsim.config.contact_geometry import ContactShape, Geometry
from rtsim.config.models.friction_laws import Friction
from rtsim.config.models.place_schema import Name
from rtsim.config.models.pressure_laws import Pressure


class ContactRecord(Pressure, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A contact in a model file: two surfaces that exert pressure if they have a stiffness. A sphere and a
    plane can also be kept in contact by a constraint when the pose is fitted to markers.

    The surfaces have keys of their own, depending on the geometry, such as ellipsoid and plane.
    """

    name: Name
    friction: Friction | None = None
    # resistance against rolling by the damping of a volumetric contact
    rolling: bool = False
    # friction against spinning about the normal
    spinning: bool = False

    def __post_init__(self) -> None:
        key = f"contacts.{self.name}"
        given = {name for kind in GEOMETRIES.values() for name in kind.surfaces if getattr(self, name)}
        if not any(given == set(kind.surfaces) for kind in GEOMETRIES.values()):
            choices = ", or ".join(" and ".join(kind.surfaces) for kind in GEOMETRIES.values())
            has = f"the contact has {' and '.join(sorted(given))}" if given else "the contact has no surfaces"
            raise ValueError(f"{key}: {has}; give {choices}")
        self.kind.check(self.a, self.b, key)
        self.check_layer(key)
        if self.presses and not self.is_spread and self.kind.only_spread:
            raise ValueError(
                f"{key}.law: surfaces made of triangles always press by the overlapping volume; remove law"
            )
        if not self.presses and (self.damping or self.friction or self.rolling or self.spinning):
            raise ValueError(f"{key}.stiffness: a force law needs the stiffness; add stiffness")
        if (self.rolling or self.spinning) and not (self.is_spread and self.kind.torques):
            able = " or ".join(name.replace("_", " ") for name, kind in GEOMETRIES.items() if kind.torques)
            raise ValueError(
                f"{key}: only a volumetric contact of an {able} can have rolling resistance or spinning "
                "friction; remove the key"
            )
        if self.rolling and not self.damping:
            raise ValueError(f"{key}.rolling: rolling resistance requires damping; add damping")
        if self.spinning and self.friction is None:
            raise ValueError(f"{key}.spinning: spinning friction requires sliding friction; add friction")
        threshold = self.friction and self.friction.transition_angular_velocity_rad_s
        if self.spinning and threshold is None:
            raise ValueError(
                f"{key}.friction: spinning friction needs transition_angular_velocity_rad_s; add this key "
                "(0.01 in Brown 2017)"
            )
        if threshold is not None and not self.spinning:
            raise ValueError(
                f"{key}.friction.transition_angular_velocity_rad_s: only spinning friction uses this "
                "key; add spinning = true to the contact, or remove the key"
            )

    @property
    def geometry(self) -> str:
        """Name of the contact's geometry, a key of GEOMETRIES."""
        return next(name for name, kind in GEOMETRIES.items() if getattr(self, next(iter(kind.surfaces))))

    @property
    def kind(self) -> Geometry:
        """Geometry of the contact, with its surfaces and checks."""
        return GEOMETRIES[self.geometry]

    @property
    def keys(self) -> tuple[str, str]:
        """Keys of the contact's two surfaces in the model's file."""
        a, b = self.kind.surfaces
        return a, b

    @property
    def a(self) -> Any:
        """The contact's surface on body A."""
        return getattr(self, self.keys[0])

    @property
    def b(self) -> Any:
        """The contact's surface on body B."""
        return getattr(self, self.keys[1])

    @property
    def held_radius_mm(self) -> float | None:
        """Radius of the sphere [mm], if a fit of the pose to markers can keep the sphere on the plane as a
        constraint; None for contacts of other geometries.
        """
        return self.kind.holds(self.a)

    @property
    def shape(self) -> ContactShape:
        """Sizes of the contact's two surfaces."""
        return self.kind.shape(self.a, self.b)


if TYPE_CHECKING:
    Contact = ContactRecord
else:  # with a key for each surface of each geometry
    Contact = msgspec.defstruct(
        "Contact",
        [
            (name, record | None, None)
            for kind in GEOMETRIES.values()
            for name, record in kind.surfaces.items()
        ],
        bases=(ContactRecord,),
        module=__name__,
        forbid_unknown_fields=True,
        frozen=True,
        kw_only=True,
    )
