"""Names inside a model file: each stands for something that the file defines, once and in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rtsim.config.model_schema import Body, Element, MethodSpec, ModelSpec, Place


def check_names(spec: ModelSpec) -> None:
    """ValueError, a sentence with the key and the allowed names, where a name stands for nothing."""
    bodies = [body.name for body in spec.bodies]
    elements = [element.name for element in spec.elements]
    angles = [body.angles.names[0] for body in spec.bodies if body.angles]
    check_once(bodies, "bodies")
    check_once(elements, "elements")
    for b, body in enumerate(spec.bodies):
        check_body(body, bodies, bodies[:b])
    for element in spec.elements:
        check_element(element, bodies)
    for name, method in spec.methods.items():
        check_method(name, method, spec, bodies, elements)
    check_known(spec.contacts, elements, "contacts")
    check_known([spec.flexion] if spec.flexion else [], angles, "flexion")
    check_known([spec.displacement] if spec.displacement else [], bodies, "displacement")


def check_body(body: Body, bodies: Sequence[str], before: Sequence[str]) -> None:
    key = f"bodies.{body.name}"
    check_known([body.parent] if body.parent else [], before, f"{key}.parent (a body that comes before)")
    if body.angles and not body.parent:
        raise ValueError(f"{key}.angles: a body without parent has no joint angles; remove the key")
    for directions in (body.angles.proximal, body.angles.distal) if body.angles else ():
        if len(set(directions)) == 1:
            raise ValueError(f"{key}.angles: {directions[0]} is given twice; give two of u, v, w")
    check_place(body.in_parent, bodies, f"{key}.in_parent")
    check_place(body.in_child, bodies, f"{key}.in_child")


def check_element(element: Element, bodies: Sequence[str]) -> None:
    key = f"elements.{element.name}"
    for end in ("a", "b"):
        place = getattr(element, end)
        check_known([place.segment], bodies, f"{key}.{end}.segment")
        check_place(place, bodies, f"{key}.{end}")
    if element.kind == "sphere_on_plane" and not any(element.normal or ()):
        raise ValueError(f"{key}.normal: a plane needs its normal; add normal = [x, y, z], not all of them 0")


def check_method(
    name: str, method: MethodSpec, spec: ModelSpec, bodies: Sequence[str], elements: Sequence[str]
) -> None:
    key = f"methods.{name}"
    check_known(method.hard, elements, f"{key}.hard")
    check_known(method.soft, elements, f"{key}.soft")
    check_once([*method.hard, *method.soft], f"{key}: hard and soft")
    check_known(method.joints, bodies, f"{key}.joints")
    check_known([method.follows] if method.follows else [], spec.methods, f"{key}.follows")


def check_place(place: Place, bodies: Sequence[str], key: str) -> None:
    if place.scaled:
        check_known([place.scaled.segment], bodies, f"{key}.scaled.segment")


def check_known(names: Iterable[str], allowed: Iterable[str], key: str) -> None:
    for name in names:
        if name not in allowed:
            raise ValueError(f"{key}: unknown {name!r}; allowed: {', '.join(allowed)}")


def check_once(names: Sequence[str], key: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{key}: {twice!r} is there more than once")
