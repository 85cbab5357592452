"""Schema of a model file that extends another model by force laws, bodies, elements and methods."""

from __future__ import annotations

from typing import Any

import msgspec

from rtsim.config.models.contact_schema import Contact
from rtsim.config.models.driven_generators_schema import DrivenGeneratorSpec
from rtsim.config.models.force_schema import Load, SimulationSpec, Spring
from rtsim.config.models.joint_schema import Body
from rtsim.config.models.model_tables import Coupler, Element, MethodSpec
from rtsim.config.models.place_schema import Name

KEY = "adds_to"
"""Key that such a file has and no other model."""


class Addition(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Schema of what a model file adds to another model.

    adds_to : a shipped model or a file (.toml)
    laws : name of a contact or ligament of the other model -> the keys of its force law that are replaced
    contacts : further contacts, or replacements of contacts with the same name
    torque_generators, simulation : tables that replace those of the other model
    """

    name: Name
    source: str
    adds_to: Name
    laws: dict[str, dict[str, Any]] = {}
    bodies: tuple[Body, ...] = ()
    contacts: tuple[Contact, ...] = ()
    springs: tuple[Spring, ...] = ()
    couplers: tuple[Coupler, ...] = ()
    loads: tuple[Load, ...] = ()
    torque_generators: DrivenGeneratorSpec | None = None
    simulation: SimulationSpec | None = None
    elements: tuple[Element, ...] = ()
    methods: dict[str, MethodSpec] = {}
