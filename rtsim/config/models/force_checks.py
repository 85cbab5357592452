"""Checks that force elements and [simulation] fit the rest of a model file: names, ends, units."""

from __future__ import annotations

from collections.abc import Iterable

from rtsim.config.joint_kinds import KINDS
from rtsim.config.models.joint_schema import coordinates_of, is_angular
from rtsim.config.models.model_names import check_known, check_once, check_place, coordinate_names
from rtsim.config.models.model_tables import ModelTables
from rtsim.config.models.place_schema import GROUND, Place


def check_forces(spec: ModelTables) -> None:
    """Raise ValueError, with the key and the allowed values, for an impossible force element of a model file,
    or an impossible setting in [simulation].
    """
    bodies = [body.name for body in spec.bodies]
    check_lines(spec, bodies)
    for contact in spec.contacts:
        key = f"contacts.{contact.name}"
        for place, name in zip((contact.a, contact.b), contact.keys, strict=True):
            check_end(place, bodies, f"{key}.{name}")
        check_two(contact.a.segment, contact.b.segment, key)
    for friction in spec.frictions:
        key = f"frictions.{friction.name}"
        check_end(friction.a, bodies, f"{key}.a")
        check_known([friction.b], [*bodies, GROUND], f"{key}.b")
        check_two(friction.a.segment, friction.b, key)
    for load in spec.loads:
        check_known([load.at.segment], bodies, f"loads.{load.name}.at.segment")
        check_place(load.at, bodies, f"loads.{load.name}.at")
    check_once([friction.name for friction in spec.frictions], "frictions")
    check_once([load.name for load in spec.loads], "loads")
    check_settings(spec, bodies)


def check_lines(spec: ModelTables, bodies: list[str]) -> None:
    """Check the end points and the keys of ligaments and springs."""
    for ligament in spec.ligaments:
        key = f"ligaments.{ligament.name}"
        check_end(ligament.a, bodies, f"{key}.a")
        check_end(ligament.b, bodies, f"{key}.b")
        check_two(ligament.a.segment, ligament.b.segment, key)
    turns = angular_coordinates(spec)
    for spring in spec.springs:
        key = f"springs.{spring.name}"
        if spring.a is None or spring.b is None:
            check_known([spring.coordinate], turns, f"{key}.coordinate")
            if spring.is_angular != turns[spring.coordinate]:
                kind, unit = ("an angle", "N_m_rad") if turns[spring.coordinate] else ("a length", "N_m")
                raise ValueError(
                    f"{key}: the coordinate {spring.coordinate} is {kind}; give stiffness_{unit}"
                )
            continue
        check_end(spring.a, bodies, f"{key}.a")
        check_end(spring.b, bodies, f"{key}.b")
        check_two(spring.a.segment, spring.b.segment, key)
    names = [*(ligament.name for ligament in spec.ligaments), *(spring.name for spring in spec.springs)]
    check_once(names, "ligaments and springs")


def check_settings(spec: ModelTables, bodies: list[str]) -> None:
    """Check the names in [simulation], and that the stated initial speeds belong to joints that can have
    them.
    """
    settings, names = spec.simulation, coordinate_names(spec)
    check_known(settings.hold, names, "simulation.hold")
    check_known(settings.plot, names, "simulation.plot")
    check_known(settings.speeds, names, "simulation.speeds")
    check_known(settings.holds or (), holdable(spec), "simulation.holds")
    check_once(settings.holds or (), "simulation.holds")
    if settings.hold and settings.equilibrium == "none" and not spec.held:
        raise ValueError(
            "simulation.hold: coordinates can be held only for an equilibrium or for constraints; "
            "remove hold, or set equilibrium to loaded or weightless"
        )
    joints = {body.name: body.joint for body in spec.bodies}
    for table, allowed in (
        ("velocities_mm_s", [name for name, kind in KINDS.items() if kind.translation is not None]),
        ("turning_deg_s", [name for name, kind in KINDS.items() if kind.rotation is not None]),
    ):
        for name in getattr(settings, table):
            key = f"simulation.{table}"
            check_known([name], bodies, key)
            if joints[name] not in allowed:
                raise ValueError(
                    f"{key}.{name}: a {joints[name]} joint does not have this speed; allowed: "
                    f"{' or '.join(allowed)} joints; name the coordinates of the joint in "
                    "simulation.speeds"
                )


def holdable(spec: ModelTables) -> list[str]:
    """Return the names of elements that a simulation can enforce as exact constraints: those with a suitable
    geometry and without a force law.
    """
    return [
        *(x.name for x in spec.contacts if x.held_radius_mm is not None and not x.presses),
        *(x.name for x in spec.ligaments if x.length is not None and not x.pulls),
        *(x.name for x in spec.elements),
    ]


def check_end(place: Place, bodies: list[str], key: str) -> None:
    """Check that an end of a force element is on an existing body or on ground."""
    check_known([place.segment], [*bodies, GROUND], f"{key}.segment")
    check_place(place, bodies, key)


def check_two(a: str, b: str, key: str) -> None:
    if a == b:
        raise ValueError(f"{key}: both ends are on {a}; an element must join two different segments")


def angular_coordinates(spec: ModelTables) -> dict[str, bool]:
    """Return for each coordinate of the model, by name, whether it is an angle."""
    return {
        coordinate.name: is_angular(body, k)
        for body in spec.bodies
        for k, coordinate in enumerate(coordinates_of(body))
    }


def places_of(spec: ModelTables) -> Iterable[Place]:
    """Yield the ends and points of application of all force elements."""
    for ligament in spec.ligaments:
        yield from (ligament.a, ligament.b)
    for spring in spec.springs:
        yield from (place for place in (spring.a, spring.b) if place is not None)
    for contact in spec.contacts:
        yield from (contact.a, contact.b)
    yield from (friction.a for friction in spec.frictions)
    yield from (load.at for load in spec.loads)
