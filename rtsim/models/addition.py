"""A model that extends another one by force laws, bodies, contacts, springs, motions, loads and methods."""

from __future__ import annotations

from typing import Any

import msgspec

from rtsim.config.load import check_record
from rtsim.config.models.addition_schema import Addition
from rtsim.config.models.contact_schema import Contact
from rtsim.config.models.force_schema import Ligament
from rtsim.config.models.model_schema import DEFAULT_METHOD, ModelSpec, default_method_of
from rtsim.errors import ConfigError

LAWFUL: dict[str, type[msgspec.Struct]] = {"contacts": Contact, "ligaments": Ligament}
"""Elements of a model that can have a force law, with their types."""
BEHIND = ("bodies", "springs", "elements", "couplers", "loads")
"""Tables whose entries are appended to the model's own; a name that both have is refused."""

INSTEAD = ("torque_generators", "simulation")
"""Tables that replace the model's own."""


def with_addition(spec: ModelSpec, more: Addition, where: str) -> ModelSpec:
    """Append the tables of an addition to a model; ConfigError for an invalid result.

    Invalid are a force law for an element that the model does not have, or that the addition replaces; a
    method with the name of an existing one; and any addition with which the model contradicts the rules for
    models. A model that lists no methods holds all that has no force law, with the addition as without it.

    where : the file of the addition
    """
    model = msgspec.to_builtins(spec)
    lawful = {row["name"]: row for key in LAWFUL for row in model[key]}
    kinds = {row["name"]: kind for key, kind in LAWFUL.items() for row in model[key]}
    for name, law in more.laws.items():
        if name not in lawful:
            raise ConfigError(
                f"there is a force law for {name!r}, but the model {spec.name} has no contact or ligament of "
                "this name", where=f"{where}: laws",
                allowed=", ".join(lawful) or "none, because the model has no contacts and ligaments",
            )  # fmt: skip
        if any(contact.name == name for contact in more.contacts):
            raise ConfigError(
                f"the contact {name} is given among the contacts, and a force law for that of {spec.name} as "
                "well", where=f"{where}: laws.{name}", remedy="write the force law into the contact",
            )  # fmt: skip
        told = [key for key in law if key == "name" or isinstance(lawful[name].get(key), dict)]
        if told:
            raise ConfigError(
                f"the key {told[0]} of {name} is not part of a force law", where=f"{where}: laws.{name}",
                remedy=f"remove the key: its value is taken from {spec.name}",
            )  # fmt: skip
        lawful[name].update(law)
        check_record(lawful[name], kinds[name], f"{where}: laws.{name}")
    for name in more.methods:
        if name in model["methods"]:
            raise ConfigError(
                f"{spec.name} has a method {name!r} already", where=f"{where}: methods",
                remedy="give this method another name",
            )  # fmt: skip
    added = msgspec.to_builtins(more)
    contacts = {row["name"]: row for row in (*model["contacts"], *added["contacts"])}
    record: dict[str, Any] = {
        **model,
        "name": more.name,
        "source": f"{more.source}; {spec.source}",
        "contacts": [*contacts.values()],
        **{key: [*model[key], *added[key]] for key in BEHIND},
        **{key: added[key] or model[key] for key in INSTEAD},
    }
    if not spec.lists_methods:  # anew: a law that is added frees its contact, an element that is added holds
        usual = default_method_of(
            (check_record(row, Contact, where) for row in contacts.values()),
            (check_record(row, Ligament, where) for row in model["ligaments"]),
            (*spec.elements, *more.elements),
        )
        record["methods"] = {DEFAULT_METHOD: msgspec.to_builtins(usual)}
    record["methods"] = {**record["methods"], **added["methods"]}
    return check_record(record, ModelSpec, where)
