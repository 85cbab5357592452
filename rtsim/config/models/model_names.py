"""Checks of names inside a model file: each must be defined in the file, only once and before its use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rtsim.config.models.function_schema import MOTION, TIME
from rtsim.config.models.joint_schema import Body, coordinates_of
from rtsim.config.models.model_tables import Element, MethodSpec, ModelTables
from rtsim.config.models.muscle_schema import Muscle
from rtsim.config.models.place_schema import GROUND, Place


def check_names(spec: ModelTables) -> None:
    """Raise ValueError with the key and the allowed names for a name in a model file that is not defined
    there.
    """
    bodies = [body.name for body in spec.bodies]
    angles = [body.angles.names[0] for body in spec.bodies if body.angles]
    check_once(bodies, "bodies")
    if GROUND in bodies:
        raise ValueError(
            f"bodies.{GROUND}: this name is reserved for the ground, which does not move; choose another name"
        )
    check_once([body.joint_name or body.name for body in spec.bodies], "joints")
    held = [
        *(contact.name for contact in spec.contacts),
        *(ligament.name for ligament in spec.ligaments),
        *(element.name for element in spec.elements),
    ]
    check_once(held, "contacts, ligaments and elements")
    for b, body in enumerate(spec.bodies):
        check_body(body, bodies, bodies[:b])
    for body in (*spec.bodies, *spec.optional):
        check_known(body.registered_by, held, f"bodies.{body.name}.registered_by")
    for element in spec.elements:
        check_element(element, bodies)
    check_reactions(spec)
    check_once([roll.name for roll in spec.rolls], "rolls")
    for roll in spec.rolls:
        for end in ("a", "b"):
            place, key = getattr(roll, end), f"rolls.{roll.name}.{end}"
            check_known([place.segment], [*bodies, GROUND] if end == "b" else bodies, f"{key}.segment")
            check_place(place, bodies, key)
    for name, method in spec.methods.items():
        check_method(name, method, spec, bodies, held)
    check_held(spec)
    check_known(spec.flexions, angles, "flexion")
    check_coordinates(spec)
    check_muscles(spec, bodies)
    check_once([marker.name for marker in spec.markers], "markers")
    for marker in spec.markers:
        check_known([marker.segment], bodies, f"markers.{marker.name}.segment")
        check_place(marker, bodies, f"markers.{marker.name}")


def check_body(body: Body, bodies: Sequence[str], before: Sequence[str]) -> None:
    key = f"bodies.{body.name}"
    check_known(
        [body.parent] if body.parent else [], before, f"{key}.parent (must be a body that is listed earlier)"
    )
    if body.angles and not body.parent:
        raise ValueError(f"{key}.angles: a body without a parent has no joint angles; remove the key")
    for directions in (body.angles.proximal, body.angles.distal) if body.angles else ():
        if len(set(directions)) == 1:
            raise ValueError(
                f"{key}.angles: both axes of a body are {directions[0]}; give two different ones of u, v, w"
            )
    check_place(body.in_parent, bodies, f"{key}.in_parent", on_ground=not body.parent)
    check_place(body.in_child, bodies, f"{key}.in_child")


def check_element(element: Element, bodies: Sequence[str]) -> None:
    key = f"elements.{element.name}"
    for end in ("a", "b"):
        place = getattr(element, end)
        check_known([place.segment], [*bodies, GROUND], f"{key}.{end}.segment")
        check_place(place, bodies, f"{key}.{end}")
    if element.a.segment == element.b.segment:
        raise ValueError(
            f"{key}: both ends are on {element.a.segment}; an element must join two different segments"
        )
    if element.kind == "plane" and not any(element.normal or ()):
        raise ValueError(f"{key}.normal: a plane needs a normal; add normal = [x, y, z], not all of them 0")
    if element.lever_mm is not None and element.kind != "plane":
        raise ValueError(f"{key}.lever_mm: only an element of kind plane has this key; remove it")
    if element.target_mm is not None and element.kind.startswith("point"):
        raise ValueError(f"{key}.target_mm: a {element.kind} holds no distance; remove the key")
    if element.kind == "point_on_line" and not any(element.direction or ()):
        raise ValueError(
            f"{key}.direction: a line needs a direction; add direction = [x, y, z], not all of them 0"
        )


def check_reactions(spec: ModelTables) -> None:
    """Check that each reaction names a constraint element of the model with a single scalar equation, a
    distance or a plane, and that no two reactions name the same element.
    """
    scalar = [element.name for element in spec.elements if element.kind in ("distance", "plane")]
    check_once([reaction.name for reaction in spec.reactions], "reactions")
    for reaction in spec.reactions:
        check_known(
            [reaction.element],
            scalar,
            f"reactions.{reaction.name}.element (must be an element of kind distance or plane)",
        )
    check_once([reaction.element for reaction in spec.reactions], "reactions: element")


def check_method(
    name: str, method: MethodSpec, spec: ModelTables, bodies: Sequence[str], held: Sequence[str]
) -> None:
    key = f"methods.{name}"
    check_known(method.hard, held, f"{key}.hard")
    check_known(method.soft, held, f"{key}.soft")
    check_once([*method.hard, *method.soft], f"{key}: hard and soft")
    check_known(method.joints, bodies, f"{key}.joints")
    check_known([method.follows] if method.follows else [], spec.methods, f"{key}.follows")


def check_held(spec: ModelTables) -> None:
    """Check that each element that a marker method names can be a constraint: a ligament needs a length, a
    contact must be a sphere on a plane.
    """
    named = {name for method in spec.methods.values() for name in (*method.hard, *method.soft)}
    for ligament in spec.ligaments:
        if ligament.name in named and ligament.length is None:
            raise ValueError(
                f"ligaments.{ligament.name}.length: a method keeps this length constant, so the "
                "length is needed; add length = { target_mm = ... }"
            )
    for contact in spec.held_contacts:
        if contact.held_radius_mm is None:
            raise ValueError(
                f"contacts.{contact.name}.{contact.keys[0]}: a method can only keep a sphere on a plane "
                "as a constraint; give radius_mm, or give stiffness and remove the contact from the methods"
            )


def check_coordinates(spec: ModelTables) -> None:
    """Check that names of coordinates and angles are unique, and that custom joints, couplers and angles
    refer to coordinates of the model.
    """
    coordinates = coordinate_names(spec)
    check_once([*coordinates, *(angle.name for angle in spec.angles)], "coordinates and angles")
    for body in spec.bodies:
        own = [coordinate.name for coordinate in coordinates_of(body)]
        check_known([m.of for m in body.motion if m.of], own, f"bodies.{body.name}.motion.of")
    check_once([coupler.coordinate for coupler in spec.couplers], "couplers")
    for coupler in spec.couplers:
        check_known([coupler.coordinate], coordinates, "couplers.coordinate")
        check_known([coupler.driver], [*coordinates, TIME, MOTION], f"couplers.{coupler.coordinate}.of")
        if coupler.of in (TIME, MOTION) and coupler.of in coordinates:
            raise ValueError(
                f"couplers.{coupler.coordinate}.of: {coupler.of} is also the name of a coordinate; "
                "rename that coordinate"
            )
    for angle in spec.angles:
        check_known([term.of for term in angle.terms], coordinates, f"angles.{angle.name}.terms.of")


def check_muscles(spec: ModelTables, bodies: Sequence[str]) -> None:
    """Check wrapping surfaces and muscles, and the names to which muscle paths refer."""
    segments = [*bodies, GROUND]
    surfaces = [surface.name for surface in spec.surfaces]
    check_once(surfaces, "surfaces")
    check_once([muscle.name for muscle in spec.muscles], "muscles")
    for surface in spec.surfaces:
        check_known([surface.segment], segments, f"surfaces.{surface.name}.segment")
        check_place(surface, bodies, f"surfaces.{surface.name}")
    for muscle in spec.muscles:
        check_path(muscle, f"muscles.{muscle.name}.path", bodies, segments, surfaces, coordinate_names(spec))
    for ligament in spec.wrapping:
        check_path(ligament.path, f"ligaments.{ligament.name}.through", bodies, segments, surfaces, ())


def check_path(
    muscle: Muscle,
    where: str,
    bodies: Sequence[str],
    segments: Sequence[str],
    surfaces: Sequence[str],
    coordinates: Sequence[str],
) -> None:
    for s, station in enumerate(muscle.path):
        key = f"{where}[{s}]"
        if station.over:
            check_known([station.over], surfaces, f"{key}.over")
            continue
        check_known([station.segment], segments, f"{key}.segment")
        check_place(station, bodies, key)
        if station.within:
            check_known([station.within.coordinate], coordinates, f"{key}.within.coordinate")
        if station.moving:
            check_known([station.moving.of], coordinates, f"{key}.moving.of")


def check_place(place: Place, bodies: Sequence[str], key: str, on_ground: bool = False) -> None:
    if place.scaled:
        check_known([place.scaled.segment], bodies, f"{key}.scaled.segment")
    if (on_ground or place.segment == GROUND) and place.of_subject:
        raise ValueError(f"{key}: the ground has no ends and no landmarks; give only offset_mm")


def coordinate_names(spec: ModelTables) -> list[str]:
    """Return the names of all coordinates of a model, in the order of its bodies."""
    return [coordinate.name for body in spec.bodies for coordinate in coordinates_of(body)]


def check_known(names: Iterable[str], allowed: Iterable[str], key: str) -> None:
    for name in names:
        if name not in allowed:
            raise ValueError(f"{key}: unknown {name!r}; allowed: {', '.join(allowed) or 'none'}")


def check_once(names: Sequence[str], key: str) -> None:
    """Raise ValueError for a name that occurs twice, or cannot be a column heading; key : table of the names,
    for the message.
    """
    broken = next((name for name in names if not name.strip() or set(name) & set("\t\r\n")), None)
    if broken is not None:
        raise ValueError(f"{key}: {broken!r} cannot be a name; allowed: one line of text, without tabs")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{key}: {twice!r} occurs more than once; remove all but one")
