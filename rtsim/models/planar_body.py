"""The planar whole body of Millard et al. (2019), with 16 segments and 18 degrees of freedom, for a person of
any size.

Masses, centres, radii of gyration and limb lengths relative to stature are de Leva's (1996). The body stands
on its feet with all joints at zero; its parts hang on the vertical line through hips and ankles:

  hips        shank and thigh above the ankles, which are 0.039 of the stature high (Winter 2009, fig. 4.1)
  L5/S1       0.0563 of the stature above the hips, 0.0168 behind them, and
  T12/L1      0.0884 above and 0.0110 behind that: where the authors' own model has them
  shoulders   0.818 of the stature high (Winter 2009, fig. 4.1)
  neck        at the cervicale, 242.9 mm (women 243.7 mm) of the mean person below the vertex (de Leva 1996)

De Leva divides the trunk at omphalion and xiphion, the model at the joints L5/S1 and T12/L1. To divide it
anew, each of de Leva's three slices is replaced by a rod with a linear mass density, which has the mass and
the mass centre of the slice; the rest of its radius of gyration is spread evenly along the rod. The parts of
the rods between two joints form one segment. Mass, mass centre and moment of inertia of the whole trunk are
preserved.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.inertia_schema import Population, SegmentShare
from rtsim.errors import ConfigError
from rtsim.subjects.calibration.masses import load_inertia_table

NAME = "planar_body"
SOURCE = (
    "16 segments, 18 degrees of freedom: Millard et al. (2019), J Biomech, fig. 2; sizes: de Leva (1996) "
    "J Biomech 29, 1223-1230, Winter (2009), fig. 4.1"
)
ANKLE, SHOULDER, L5_S1, T12_L1 = 0.039, 0.818, (-0.0168, 0.0563), (-0.0110, 0.0884)
"""Lengths in parts of the stature: heights of ankles and shoulders; L5/S1 from the hips, T12/L1 from there
(x, y)."""
CERVICALE_MM = {"male": 242.9, "female": 243.7}
"""Distance of the cervicale below the vertex of the mean person."""
HEEL = 0.266
"""Distance from the heel to below the ankle, in parts of the foot's length: of the authors' model."""
SOLE = {
    "heel": (47.9 / 1850.0, (54.0 / 1850.0, 22.6 / 1850.0, 35.4 / 1850.0)),
    "ball": (167.0 / 1850.0, (33.8 / 1850.0, 24.0 / 1850.0, 63.2 / 1850.0)),
}
"""Contacts, in parts of the stature: how far before the heel, and radii; not turned, and without the toes'.

Brown (2017), MASc thesis, University of Waterloo, table 5.6, of a man of 1850 mm, as are stiffness and
damping; friction as of the model foot."""
GIVES_MM = 5.0
"""About what tissue gives under a standing body, so that the soles are level then."""
GENERATORS = "planar"
SHOWN = ["knee_flexion_r", "hip_flexion_r", "lumbar_flexion"]
FREE = "pelvis_y"
"""Coordinate that is free while a standing body settles; turned about its soles it would fall."""
PLANAR = "planar"
COORDINATES: dict[str, tuple[str, float]] = {
    "pelvis": ("pelvis_tilt", 1.0),
    "thigh": ("hip_flexion", 1.0),
    "shank": ("knee_flexion", -1.0),
    "foot": ("ankle_dorsiflexion", 1.0),
    "middle_trunk": ("lumbar_flexion", -1.0),
    "upper_trunk": ("thoracic_flexion", -1.0),
    "head": ("neck_flexion", -1.0),
    "upper_arm": ("shoulder_flexion", 1.0),
    "forearm": ("elbow_flexion", 1.0),
    "hand": ("wrist_ulnar_deviation", -1.0),
}
"""Segment -> angle of the joint that carries it, and the direction of its axis along Z."""
LIMBS = (("thigh", "pelvis"), ("shank", "thigh"), ("foot", "shank"))
TRUNK = ("pelvis", "middle_trunk", "upper_trunk")
SLICES = ("lower_trunk", "middle_trunk", "upper_trunk")
"""Segments of the model that are slices of de Leva's trunk, from the hips upwards."""
AXES = "xyz"
ARMS = (("upper_arm", "upper_trunk"), ("forearm", "upper_arm"), ("hand", "forearm"))


class MassShare(NamedTuple):
    """Mass properties of a part of the trunk: its mass as a fraction of body mass, the height of its mass
    centre above the hips [mm], and its moment of inertia about this centre, divided by body mass [mm^2]."""

    mass: float
    centre: float
    moment: float


def joint_of(segment: str, side: str = "") -> dict[str, Any]:
    """Return the entries of a model file for the hinge between a segment and its parent: kind, axis and
    coordinate.

    side : suffix of the name of the coordinate, such as _r
    """
    name, axis = COORDINATES[segment]
    return {"joint": "hinge", "axis": (0.0, 0.0, axis), "coordinates": [{"name": name + side}]}


def body_keys() -> dict[str, dict[str, Any]]:
    """Return for each body of the planar model, by name and in its order, the entries of a model file for its
    joint: kind, axes, parent and coordinates.
    """
    tilt, _ = COORDINATES["pelvis"]
    found: dict[str, dict[str, Any]] = {
        "pelvis": {
            "joint": PLANAR, "axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
            "coordinates": [{"name": "pelvis_x"}, {"name": "pelvis_y"}, {"name": tilt}],
        }
    }  # fmt: skip
    for side in ("_r", "_l"):
        for name, parent in LIMBS:
            carrier = parent if parent == "pelvis" else parent + side
            found[name + side] = {"parent": carrier, **joint_of(name, side)}
    found["middle_trunk"] = {"parent": "pelvis", **joint_of("middle_trunk")}
    found["upper_trunk"] = {"parent": "middle_trunk", **joint_of("upper_trunk")}
    found["head"] = {"parent": "upper_trunk", **joint_of("head")}
    for side in ("_r", "_l"):
        for name, parent in ARMS:
            carrier = parent if parent == "upper_trunk" else parent + side
            found[name + side] = {"parent": carrier, **joint_of(name, side)}
    return found


BODIES = body_keys()


def planar_body(sex: str, mass_kg: float, stature_mm: float) -> ModelSpec:
    """Return the planar body of a person; sex : male or female."""
    people = load_inertia_table()
    if sex not in CERVICALE_MM:
        raise ConfigError(
            f"there are no body proportions for the sex {sex!r}",
            where="--sex",
            allowed=", ".join(CERVICALE_MM),
        )
    person: Population = getattr(people, sex)
    scale = stature_mm / person.stature_mm
    of = {name: length(share, scale) for name, share in person.segments.items()}
    hips = ANKLE * stature_mm + of["shank"] + of["thigh"]
    back, lumbar = (stature_mm * x for x in L5_S1)
    behind, thoracic = (stature_mm * x for x in T12_L1)
    cervicale = stature_mm - scale * CERVICALE_MM[sex]
    places = {
        "pelvis": (0.0, hips), "thigh": (0.0, 0.0), "shank": (0.0, -of["thigh"]), "foot": (0.0, -of["shank"]),
        "middle_trunk": (back, lumbar), "upper_trunk": (behind, thoracic),
        "head": (-back - behind, cervicale - hips - lumbar - thoracic),
        "upper_arm": (-back - behind, SHOULDER * stature_mm - hips - lumbar - thoracic),
        "forearm": (0.0, -of["upper_arm"]), "hand": (0.0, -of["forearm"]),
    }  # fmt: skip
    parts = trunk_parts(person, scale, (lumbar, lumbar + thoracic))
    below = {
        "pelvis": (0.0, 0.0),
        "middle_trunk": (back, lumbar),
        "upper_trunk": (back + behind, lumbar + thoracic),
    }
    bodies = []
    for name, keys in BODIES.items():
        stem = name[:-2] if name[-2:] in ("_r", "_l") else name
        x, y = places[stem]
        body: dict[str, Any] = {"name": name, **keys}
        if stem == "pelvis":
            body["coordinates"] = [
                {"name": "pelvis_x", "neutral_mm": 0.0}, {"name": "pelvis_y", "neutral_mm": rounded(y)},
                keys["coordinates"][2],
            ]  # fmt: skip
        else:
            body["in_parent"] = {"offset_mm": (rounded(x), rounded(y), 0.0)}
        if stem in parts:
            piece, (dx, dy) = parts[stem], below[stem]
            centre, m = (-dx, piece.centre - dy), mass_kg * piece.mass
            inertia = (1e-6 * mass_kg * piece.moment,) * len(AXES)
        else:
            centre, m, inertia = limb(stem, person.segments[stem], scale, mass_kg)
            if stem == "head":
                centre = (0.0, scale * CERVICALE_MM[sex] - centre[1])
            elif stem == "foot":
                centre = (centre[0], -0.5 * ANKLE * stature_mm)
        body |= {
            "mass_kg": rounded(m), "mass_centre_mm": (rounded(centre[0]), rounded(centre[1]), 0.0),
            "inertia_kg_m2": tuple(float(f"{value:.6g}") for value in inertia),
        }  # fmt: skip
        bodies.append(body)
    who = f"{sex}, {mass_kg:g} kg, {stature_mm:g} mm"
    soles = [contact for side in ("_r", "_l") for contact in sole(side, of["foot"], stature_mm)]
    tables = {
        "name": NAME, "source": f"{who}; {SOURCE}", "bodies": bodies, "contacts": soles,
        "torque_generators": {"set": GENERATORS}, "simulation": standing(),
    }  # fmt: skip
    return msgspec.convert(tables, ModelSpec)


def standing() -> dict[str, Any]:
    """Return the simulation settings as entries of a model file. The body starts from standing on its soles,
    with all torque generators at rest, so that it collapses.
    """
    names = [coordinate["name"] for keys in BODIES.values() for coordinate in keys["coordinates"]]
    hold = [name for name in names if name != FREE]
    return {"duration_s": 0.5, "equilibrium": "loaded", "hold": hold, "plot": SHOWN}


def sole(side: str, foot_mm: float, stature_mm: float) -> list[dict[str, Any]]:
    """Return the contacts of heel and ball of a foot with the floor."""
    found = []
    for name, (along, radii) in SOLE.items():
        radii_mm = tuple(rounded(stature_mm * radius) for radius in radii)
        place = (stature_mm * along - HEEL * foot_mm, radii_mm[1] - ANKLE * stature_mm - GIVES_MM)
        found.append(
            {
                "name": name + side, "law": "volumetric", "stiffness": 1.6e7, "damping": 0.565,
                "ellipsoid": {
                    "segment": "foot" + side, "offset_mm": (*map(rounded, place), 0.0), "radii_mm": radii_mm,
                },
                "plane": {"segment": "ground", "normal": (0.0, 1.0, 0.0)},
                "friction": {"static": 0.65, "dynamic": 0.65, "transition_velocity_m_s": 0.01},
            }
        )  # fmt: skip
    return found


def length(share: SegmentShare, scale: float) -> float:
    """Return the length of a segment [mm] of a person `scale` times as tall as the mean one."""
    return scale * share.length_mm


def limb(
    name: str, share: SegmentShare, scale: float, mass_kg: float
) -> tuple[tuple[float, float], float, tuple[float, ...]]:
    """Return for a limb segment or the head: mass centre (X, Y) relative to the proximal joint [mm], mass
    [kg], and moments of inertia about the mass centre, for the axes X, Y, Z [kg m^2].

    For the head, Y is instead the distance of the mass centre below the vertex. A foot lies along X, and the
    caller moves it below the ankle by half the height of the ankle; all other segments lie along Y.

    share : the segment in the mean person; scale : stature relative to that person; mass_kg : of the whole
        body
    """
    size, mass = length(share, scale), 0.01 * mass_kg * share.mass_percent
    sagittal, transverse, along = (mass * (1e-5 * radius * size) ** 2 for radius in share.radii_percent)
    centre = 0.01 * share.centre_percent * size
    if name == "foot":
        return (centre - HEEL * size, 0.0), mass, (along, sagittal, transverse)
    return (0.0, centre if name == "head" else -centre), mass, (sagittal, along, transverse)


def trunk_parts(person: Population, scale: float, cuts: tuple[float, float]) -> dict[str, MassShare]:
    """Divide de Leva's trunk at two heights above the hips, `cuts` [mm], into pelvis, middle and upper trunk;
    return the mass properties of each.

    person : mass, length and radii of the segments of the mean person; scale : stature relative to that
        person
    """
    borders = (-math.inf, *cuts, math.inf)
    pieces: dict[str, list[MassShare]] = {name: [] for name in TRUNK}
    bottom = 0.0
    for name in SLICES:
        share = person.segments[name]
        top = bottom + length(share, scale)
        for part, low, high in zip(TRUNK, borders[:-1], borders[1:], strict=True):
            low, high = max(low, bottom), min(high, top)
            if low < high:
                pieces[part].append(
                    piece_of(share, scale, (top - high) / (top - bottom), (top - low) / (top - bottom), top)
                )
        bottom = top
    return {name: together(found) for name, found in pieces.items()}


def piece_of(share: SegmentShare, scale: float, start: float, end: float, top: float) -> MassShare:
    """Return the mass properties of a piece of a slice of the trunk, between the fractions `start` and `end`
    of the slice's length, counted from its upper end.

    The mass density along the slice is 1 + b (2 s - 1), s from 0 to 1. With b = 6 (c - 1/2) its mass centre
    is at the fraction c that the table of segment masses states, and its variance is 1/12 - b^2/36.

    share : mass properties of the slice; scale : stature relative to the mean person
    top : height of the slice's upper end above the hips [mm]
    """
    size, c, radius = length(share, scale), 0.01 * share.centre_percent, 0.01 * share.radii_percent[1]
    b = 6.0 * (c - 0.5)
    moments = [
        (1.0 - b) * (end ** (k + 1) - start ** (k + 1)) / (k + 1)
        + 2.0 * b * (end ** (k + 2) - start ** (k + 2)) / (k + 2)
        for k in range(3)
    ]
    mass, centre = moments[0], moments[1] / moments[0]
    across = radius**2 - (1.0 / 12.0 - b * b / 36.0)
    moment = moments[2] - mass * centre**2 + mass * across
    whole = 0.01 * share.mass_percent
    return MassShare(whole * mass, top - size * centre, whole * moment * size**2)


def together(pieces: list[MassShare]) -> MassShare:
    """Return the mass properties of several slices joined into one part."""
    mass = sum(piece.mass for piece in pieces)
    centre = sum(piece.mass * piece.centre for piece in pieces) / mass
    return MassShare(
        mass, centre, sum(piece.moment + piece.mass * (piece.centre - centre) ** 2 for piece in pieces)
    )


def rounded(value: float) -> float:
    """Return a value rounded to a thousandth."""
    return round(float(value), 3)
