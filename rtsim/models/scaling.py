"""A model scaled to a person: factors along the axes of every body, applied to everything on the body.

This does what OpenSim's scale tool does (Delp et al. 2007, IEEE Trans Biomed Eng 54, 1940-1950). The factors
S = diag(x, y, z) of a body are along its own axes. Every point x fixed to a body becomes S x, also in rotated
frames. If a joint translates a body by a function along the unit axis u, in the axes of the parent, the
function is multiplied by u'Su. OpenSim multiplies it by the sum of the factors times the components of u in
the joint's frame, which is the same for an axis of the body. A coordinate that is a length itself, its range
and its initial value stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.joint_kinds import KINDS
from rtsim.config.models.function_schema import FunctionSpec
from rtsim.config.models.joint_schema import Axis, Body, ElementaryMotion, coordinates_of
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.model_tables import Coupler, Element
from rtsim.config.models.muscle_schema import Moving, Muscle, Station, WrappingSurface
from rtsim.config.models.place_schema import Frame, Place
from rtsim.errors import ConfigError
from rtsim.models.packing.joints import turned

Array = NDArray[np.float64]
Factors = Mapping[str, Array]
"""Scale factors (3,) of bodies by name; other bodies, and ground, keep their size."""
Note = Callable[[str], None]
ONE = np.ones(3)
P = TypeVar("P", bound=Place)
replace = msgspec.structs.replace


def scale_geometry(spec: ModelSpec, factors: Factors, note: Note) -> ModelSpec:
    """Scale all geometry on a model's bodies, and the sizes of surfaces; leave masses and muscles unchanged.

    ConfigError for a model whose positions already come from a person's anatomy.
    """
    if spec.of_subject:
        raise ConfigError(
            "the points of the model come from a person's anatomy, and already have the size of this person",
            where=f"model {spec.name}",
            remedy="use the model with --subject",
        )
    kept = [element.name for element in spec.elements if element.target_mm]
    if kept:
        note(f"lengths that are not scaled: {', '.join(kept)}")
    groups = (spec.ligaments, spec.springs, spec.contacts, spec.frictions, spec.loads, spec.rolls)
    forces = [element.name for group in groups for element in group]
    if forces:
        note(f"force elements that are not scaled: {', '.join(forces)}")
    return replace(
        spec,
        bodies=tuple(scale_body(body, factors) for body in spec.bodies),
        elements=tuple(scale_element(element, factors) for element in spec.elements),
        couplers=tuple(scale_coupler(coupler, spec, factors) for coupler in spec.couplers),
        surfaces=tuple(scale_surface(surface, factors) for surface in spec.surfaces),
        muscles=tuple(scale_path(muscle, factors) for muscle in spec.muscles),
        markers=tuple(scale_place(marker, factors) for marker in spec.markers),
    )


def scale_body(body: Body, factors: Factors) -> Body:
    """Return a scaled body: the frames of its joint, its mass centre, and the functions by which its joint
    translates.
    """
    of_parent, own = factors.get(body.parent, ONE), factors.get(body.name, ONE)
    return replace(
        body,
        in_parent=scale_offset(body.in_parent, of_parent),
        in_child=scale_offset(body.in_child, own),
        mass_centre_mm=times(body.mass_centre_mm, own),
        motion=tuple(scale_motion(motion, body.in_parent, of_parent) for motion in body.motion),
        **KINDS[body.joint].scaled(body, of_parent),
    )


def scale_motion(motion: ElementaryMotion, frame: Frame, S: Array) -> ElementaryMotion:
    if motion.translates is None or motion.is_identity:
        return motion
    return replace(motion, **scaled_function(motion, stretch(motion.translates, frame, S)))


def stretch(axis: Axis, frame: Frame, S: Array) -> float:
    """Return the factor u'Su by which a translation along the unit axis u grows, if the body that carries the
    joint's frame is scaled by S.

    axis, frame : the axis in the joint's frame, and this frame on the body; S : (3,) scale factors along the
        axes of the body
    """
    u = np.array([float(axis == name) for name in "uvw"] if isinstance(axis, str) else axis)
    u = turned(frame) @ (u / np.linalg.norm(u))
    return float(u @ (S * u))


def scale_element(element: Element, factors: Factors) -> Element:
    return replace(element, a=scale_place(element.a, factors), b=scale_place(element.b, factors))


def scale_coupler(coupler: Coupler, spec: ModelSpec, factors: Factors) -> Coupler:
    """Return a scaled coupler: a coupled translation grows like the parent body along its axis; coupled
    rotations stay unchanged."""
    for body in spec.bodies:
        for k, coordinate in enumerate(coordinates_of(body)):
            if coordinate.name == coupler.coordinate != coupler.driver:
                axis = translation_of(body, k)
                if axis is None:
                    return coupler
                S = factors.get(body.parent, ONE)
                return replace(coupler, **scaled_function(coupler, stretch(axis, body.in_parent, S)))
    return coupler


def translation_of(body: Body, k: int) -> Axis | None:
    """Return the axis along which coordinate k of a body's joint moves it directly; None where it rotates
    it."""
    if (axis := KINDS[body.joint].slides(body, k)) is not None:
        return axis
    name = coordinates_of(body)[k].name
    found = [m.translates for m in body.motion if m.is_identity and m.of in ("", name) and m.translates]
    return found[0] if found else None


def scale_surface(surface: WrappingSurface, factors: Factors) -> WrappingSurface:
    """Return a scaled wrapping surface: its position, and its radii along its own axes; a sphere's radius
    grows by the mean of the three factors.
    """
    S = factors.get(surface.segment, ONE)
    sizes: dict[str, Any] = {}
    grows = surface_growth(turned(surface), S)
    if surface.radii_mm is not None:
        sizes["radii_mm"] = times(surface.radii_mm, grows)
    if surface.radius_mm is not None:
        mean = S.mean() if surface.kind == "sphere" else grows[:2].mean()
        sizes["radius_mm"] = surface.radius_mm * float(mean)
    if surface.length_mm is not None:
        sizes["length_mm"] = surface.length_mm * float(grows[2])
    return replace(scale_place(surface, factors), **sizes)


def surface_growth(R: Array, S: Array) -> Array:
    """Return the factors (3,) by which lengths grow along the axes of a wrapping surface, whose frame is
    rotated by R (3, 3) in its body, if the body is scaled by S (3,) along its own axes.
    """
    return np.linalg.norm(S[:, None] * R, axis=0)


def scale_path(muscle: Muscle, factors: Factors) -> Muscle:
    return replace(muscle, path=tuple(scale_station(station, factors) for station in muscle.path))


def scale_station(station: Station, factors: Factors) -> Station:
    if station.moving is not None:
        S = factors.get(station.segment, ONE)
        of = {axis: getattr(station.moving, axis) for axis in "xyz"}
        functions = {
            axis: replace(f, **scaled_function(f, float(S[k]))) for k, (axis, f) in enumerate(of.items())
        }
        return replace(station, moving=Moving(of=station.moving.of, **functions))
    return station if station.over else scale_place(station, factors)


def scale_place(place: P, factors: Factors) -> P:
    return scale_offset(place, factors.get(place.segment, ONE))


def scale_offset(place: P, S: Array) -> P:
    return replace(place, offset_mm=times(place.offset_mm, S))


def scaled_function(function: FunctionSpec, factor: float) -> dict[str, Any]:
    """Return a function multiplied by a factor, as entries of a model file."""
    if function.constant is not None:
        return {"constant": factor * function.constant}
    if function.linear is not None:
        return {"linear": tuple(factor * c for c in function.linear)}
    if function.polynomial is not None:
        return {"polynomial": tuple(factor * c for c in function.polynomial)}
    if function.sine is not None:
        amplitude, omega, phase, offset = function.sine
        return {"sine": (factor * amplitude, omega, phase, factor * offset)}
    for kind in ("spline", "lines"):
        points = getattr(function, kind)
        if points is not None:
            return {kind: replace(points, value=tuple(factor * y for y in points.value))}
    return {"linear": (factor, 0.0)}


def scale_masses(spec: ModelSpec, factors: Factors, mass_kg: float | None, keep_shares: bool) -> ModelSpec:
    """Scale masses and inertias of a model, then all of them to the person's mass, where it is given.

    keep_shares : whether all masses are scaled by one factor, so that each body keeps its fraction of the
        total mass; otherwise the mass of each body is first multiplied by the product of its three factors
    """
    bodies = []
    for body in spec.bodies:
        S = factors.get(body.name, ONE)
        mass = body.mass_kg * (1.0 if keep_shares else float(abs(np.prod(S))))
        bodies.append(replace(body, mass_kg=mass, inertia_kg_m2=scaled_inertia(body, S, mass)))
    total = sum(body.mass_kg for body in bodies)
    if mass_kg is not None and total > 0.0:
        part = mass_kg / total
        bodies = [
            replace(
                body, mass_kg=part * body.mass_kg, inertia_kg_m2=tuple(part * x for x in body.inertia_kg_m2)
            )
            for body in bodies
        ]
    return replace(spec, bodies=tuple(bodies))


def scaled_inertia(body: Body, S: Array, mass: float) -> tuple[float, ...]:
    """Return the inertia of a body about its mass centre for a new mass and axes scaled by S.

    With equal factors it grows with their square. Otherwise the body is taken for a cylinder along the axis
    of its smallest inertia, as in OpenSim: I_a = m r^2 / 2 and I_b = m (l^2 / 12 + r^2 / 4) give radius and
    length, which are scaled; products grow with their two factors.
    """
    if not body.mass_kg > 0.0 or not any(body.inertia_kg_m2):
        return tuple(0.0 for _ in body.inertia_kg_m2)
    share = mass / body.mass_kg
    if np.ptp(S) <= 1e-14 * abs(S[0]):
        return tuple(share * float(S[0] ** 2) * x for x in body.inertia_kg_m2)
    xx, yy, zz, xy, xz, yz = (*body.inertia_kg_m2, 0.0, 0.0, 0.0)[:6]
    own = np.array([xx, yy, zz])
    a = int(own.argmin())
    b, c = (k for k in range(3) if k != a)
    r2 = max(2.0 * own[a] / body.mass_kg, 0.0)
    l2 = max(12.0 * (own[b] / body.mass_kg - 0.25 * r2), 0.0) * S[a] ** 2
    r2 *= S[b] * S[c]
    diagonal = np.full(3, mass * (l2 / 12.0 + 0.25 * r2))
    diagonal[a] = 0.5 * mass * r2
    products = share * np.array([xy * S[0] * S[1], xz * S[0] * S[2], yz * S[1] * S[2]])
    return tuple(float(x) for x in (*diagonal, *products))


def scale_muscles(spec: ModelSpec, ratios: Mapping[str, float]) -> ModelSpec:
    """Scale fibre and tendon lengths of muscles by the ratio of the new path length to the former one; ratios
    : by muscle
    """
    muscles = []
    for muscle in spec.muscles:
        ratio = ratios.get(muscle.name, 1.0)
        if muscle.hill is not None:
            hill = replace(
                muscle.hill,
                optimal_fibre_length_mm=ratio * muscle.hill.optimal_fibre_length_mm,
                tendon_slack_length_mm=ratio * muscle.hill.tendon_slack_length_mm,
            )
            muscle = replace(muscle, hill=hill)
        muscles.append(muscle)
    return replace(spec, muscles=tuple(muscles))


def times(x: tuple[float, ...], S: Array) -> tuple[float, ...]:
    return tuple(float(a * b) for a, b in zip(x, S, strict=True))
