"""Schema of model files: their checked tables, and derived properties."""

from __future__ import annotations

from collections.abc import Container, Iterable

import msgspec

from rtsim.config.bounds import check_numbers, check_texts
from rtsim.config.models.contact_schema import Contact
from rtsim.config.models.force_checks import check_forces, places_of
from rtsim.config.models.force_schema import Ligament
from rtsim.config.models.joint_schema import free_in_ground
from rtsim.config.models.model_checks import check_mechanics
from rtsim.config.models.model_names import check_names
from rtsim.config.models.model_tables import Element, MethodSpec, ModelTables
from rtsim.config.models.place_schema import Place

DEFAULT_METHOD = "default"
"""Name of the method of a model that lists none."""


def default_method_of(
    contacts: Iterable[Contact], ligaments: Iterable[Ligament], elements: Iterable[Element]
) -> MethodSpec:
    """Return the method of a model with these tables that lists no method: every constraint without a force
    law holds exactly.
    """
    return MethodSpec(
        hard=(
            *(contact.name for contact in contacts if not contact.presses),
            *(ligament.name for ligament in ligaments if not ligament.pulls),
            *(element.name for element in elements),
        )
    )


class ModelSpec(ModelTables, forbid_unknown_fields=True, frozen=True):
    """A model file with its checks and derived properties."""

    def __post_init__(self) -> None:
        if not self.methods:
            msgspec.structs.force_setattr(self, "methods", {DEFAULT_METHOD: self.default_method})
        check_numbers(self)
        check_texts(msgspec.to_builtins(self))
        check_names(self)
        check_mechanics(self)
        check_forces(self)
        if self.optional:
            self.with_optional(tuple(body.name for body in self.optional))

    @property
    def default_method(self) -> MethodSpec:
        """The method of a model that lists none."""
        return default_method_of(self.contacts, self.ligaments, self.elements)

    @property
    def lists_methods(self) -> bool:
        """Whether the model has methods other than the one that a model without methods has."""
        own = self.methods.get(DEFAULT_METHOD)
        if own is None or len(self.methods) > 1:
            return True
        usual = self.default_method
        return {*own.hard} != {*usual.hard} or own != msgspec.structs.replace(usual, hard=own.hard)

    def with_optional(self, names: Container[str]) -> ModelSpec:
        """Return the model with only the optional bodies that are in `names`."""
        more = tuple(body for body in self.optional if body.name in names)
        return msgspec.structs.replace(self, bodies=(*self.bodies, *more), optional=())

    def without_root(self) -> ModelSpec:
        """Return the model without its first body, for a person without the segment of that name: the bodies
        that it carries move freely relative to ground, and everything else attached to it is removed.

        ValueError if a constraint or a force acts on that body.
        """
        root = self.bodies[0].name
        carried = [body.name for body in self.bodies if body.parent == root]
        bodies = tuple(free_in_ground(body) if body.name in carried else body for body in self.bodies[1:])
        methods = {
            name: msgspec.structs.replace(
                how, joints={n: kind for n, kind in how.joints.items() if n not in (root, *carried)}
            )
            for name, how in self.methods.items()
        }
        surfaces = tuple(surface for surface in self.surfaces if surface.segment != root)
        gone = {surface.name for surface in self.surfaces} - {surface.name for surface in surfaces}
        muscles = tuple(
            muscle
            for muscle in self.muscles
            if not any(station.segment == root or station.over in gone for station in muscle.path)
        )
        optional = tuple(body for body in self.optional if body.parent != root)
        return msgspec.structs.replace(
            self, bodies=bodies, optional=optional, methods=methods, surfaces=surfaces, muscles=muscles
        )

    @property
    def of_subject(self) -> bool:
        """Whether the model has places or axes that only a subject's anatomy gives."""
        places: list[Place] = [p for body in self.bodies for p in (body.in_parent, body.in_child)]
        places += [p for element in self.elements for p in (element.a, element.b)]
        places += [p for roll in self.rolls for p in (roll.a, roll.b)]
        places += [*self.surfaces, *self.markers]
        places += [station for muscle in self.muscles for station in muscle.path]
        places += places_of(self)
        return any(place.of_subject for place in places) or any(body.angles for body in self.bodies)
