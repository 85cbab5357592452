"""A skeleton of legs and trunk for benches: 23 coordinates, 54 muscles, wraps, conditional and moving
points.

Dimensions are rounded ones of an adult, and muscle paths are set by eye: the model serves to time the
mechanics, not to describe a person.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rtsim.config.models.model_schema import ModelSpec

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
SIDES = {"r": 1.0, "l": -1.0}  # z is to the right

# Name, then stations: (segment, x, y, z) in mm for the right side; ("over", surface, side). A range in
# degrees of the knee as a fifth entry makes a point conditional; ("patella",) is the moving insertion.
FRONT, BACK = (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)
LEG: dict[str, list[tuple[Any, ...]]] = {
    "gluteus_medius_1": [("pelvis", -40, 30, 120), ("thigh", -22, -12, 58)],
    "gluteus_medius_2": [("pelvis", -85, 45, 77), ("thigh", -26, -6, 54)],
    "gluteus_medius_3": [("pelvis", -120, 10, 65), ("thigh", -31, -5, 53)],
    "gluteus_maximus_1": [
        ("pelvis", -120, 60, 70), ("pelvis", -130, 0, 88),
        ("thigh", -46, -25, 40), ("thigh", -28, -57, 48),
    ],
    "gluteus_maximus_2": [
        ("pelvis", -135, 17, 56), ("pelvis", -138, -50, 90), ("thigh", -43, -53, 30), ("thigh", -16, -102, 42)
    ],
    "gluteus_maximus_3": [("pelvis", -155, -30, 8), ("over", "hip_back", BACK), ("thigh", -30, -110, 40)],
    "biceps_femoris_long": [("pelvis", -125, -100, 69), ("over", "condyles", BACK), ("shank", -22, -55, 34)],
    "biceps_femoris_short": [("thigh", 5, -211, 23), ("shank", -30, -36, 29), ("shank", -23, -56, 34)],
    "semimembranosus": [("pelvis", -119, -101, 69), ("over", "condyles", BACK), ("shank", -24, -53, -19)],
    "semitendinosus": [
        ("pelvis", -123, -104, 60), ("shank", -31, -54, -14), ("shank", -11, -74, -24), ("shank", 3, -95, -19)
    ],
    "sartorius": [
        ("pelvis", -15, -1, 124), ("thigh", -3, -356, -42), ("shank", -5, -42, -40), ("shank", 24, -84, -25)
    ],
    "adductor_longus": [("pelvis", -32, -83, 17), ("thigh", 5, -211, 23)],
    "adductor_magnus": [("pelvis", -83, -118, 31), ("thigh", 5, -227, 22)],
    "tensor_fasciae_latae": [
        ("pelvis", -31, 21, 124), ("thigh", 29, -99, 60), ("thigh", 5, -403, 36), ("shank", 6, -48, 30)
    ],
    "gracilis": [("pelvis", -73, -118, 28), ("shank", -15, -47, -36), ("shank", 6, -84, -23)],
    "iliacus": [
        ("pelvis", -67, 36, 85), ("pelvis", -26, -55, 81),
        ("over", "hip_front", FRONT), ("thigh", -19, -62, 13),
    ],
    "psoas": [("pelvis", -65, 88, 29), ("over", "hip_front", FRONT), ("thigh", -19, -60, 10)],
    "rectus_femoris": [
        ("pelvis", -29, -31, 97), ("over", "trochlea", FRONT),
        ("thigh", 50, -385, 2, (-180, -84)), ("patella",),
    ],
    "vastus_intermedius": [
        ("thigh", 29, -192, 31), ("over", "trochlea", FRONT),
        ("thigh", 50, -385, 1, (-180, -81)), ("patella",),
    ],
    "vastus_lateralis": [("thigh", 27, -185, 41), ("over", "trochlea", FRONT), ("patella",)],
    "gastrocnemius_medial": [("thigh", -24, -376, -24), ("over", "condyles", BACK), ("calcaneus", 0, 31, -5)],
    "soleus": [("shank", -2, -153, 7), ("calcaneus", 0, 31, -5)],
    "tibialis_posterior": [
        ("shank", -9, -135, 2), ("shank", -14, -405, -23),
        ("calcaneus", 42, 33, -29), ("calcaneus", 77, 16, -28),
    ],
    "tibialis_anterior": [("shank", 18, -162, 12), ("shank", 33, -395, -18), ("calcaneus", 117, 18, -31)],
}  # fmt: skip
TRUNK: dict[str, list[tuple[Any, ...]]] = {
    "erector_spinae": [("pelvis", -140, 44, 27), ("pelvis", -140, 90, 23), ("torso", -55, 23, 15)],
    "internal_oblique": [("pelvis", -40, 70, 116), ("torso", 70, 10, 15)],
    "external_oblique": [("pelvis", -30, -64, 10), ("torso", 65, 12, 110)],
}
SURFACES: dict[str, dict[str, Any]] = {
    "condyles": {"segment": "thigh", "offset_mm": (-4, -400, 0), "kind": "cylinder", "radius_mm": 24},
    "trochlea": {"segment": "thigh", "offset_mm": (2, -396, 0), "kind": "cylinder", "radius_mm": 36},
    "hip_front": {"segment": "pelvis", "offset_mm": (-68, -66, 83), "kind": "sphere", "radius_mm": 24},
    "hip_back": {
        "segment": "pelvis", "offset_mm": (-78, -83, 80), "kind": "ellipsoid", "radii_mm": (42, 40, 60)
    },
}  # fmt: skip


def muscled_skeleton(ellipsoid: bool = True) -> ModelSpec:
    """Return the model of the skeleton with its muscles; with ellipsoid False, spheres take the place of its
    two wrapping ellipsoids.
    """
    bodies: list[dict[str, Any]] = [pelvis(), torso()]
    surfaces: list[dict[str, Any]] = []
    muscles: list[dict[str, Any]] = []
    for side, sign in SIDES.items():
        bodies += leg(side, sign)
        for name, surface in SURFACES.items():
            if surface["kind"] == "ellipsoid" and not ellipsoid:
                surface = {**surface, "kind": "sphere", "radius_mm": 42}
                del surface["radii_mm"]
            surfaces.append(
                {
                    **surface,
                    "name": f"{name}_{side}",
                    "segment": on_side(surface["segment"], side),
                    "offset_mm": mirrored(surface["offset_mm"], sign),
                }
            )
        for name, path in {**LEG, **TRUNK}.items():
            muscles.append(
                {
                    "name": f"{name}_{side}",
                    "path": [station(entry, side, sign) for entry in path],
                    "hill": {
                        "max_isometric_force_N": 1000.0,
                        "optimal_fibre_length_mm": 100.0,
                        "tendon_slack_length_mm": 200.0,
                    },
                }
            )
    model = {
        "name": "muscled_skeleton",
        "source": "illustrative, for benches",
        "bodies": bodies,
        "surfaces": surfaces,
        "muscles": muscles,
    }
    return msgspec.convert(model, ModelSpec, strict=False)


def pelvis() -> dict[str, Any]:
    names = ("forward", "up", "right", "tilt", "list", "turn")
    return {
        "name": "pelvis",
        "joint": "custom",
        "motion": [{"translates": axis, "of": name} for axis, name in zip((X, Y, Z), names[:3], strict=True)]
        + [{"rotates": axis, "of": name} for axis, name in zip((Z, X, Y), names[3:], strict=True)],
        "coordinates": [{"name": name} for name in names],
        **mass(11.8, (-70.0, 0.0, 0.0), (0.10, 0.09, 0.06)),
    }


def torso() -> dict[str, Any]:
    return {
        "name": "torso",
        "parent": "pelvis",
        "joint": "custom",
        "in_parent": {"offset_mm": (-100.0, 82.0, 0.0)},
        **three_rotations(("trunk_extension", "trunk_bending", "trunk_turn")),
        **mass(34.2, (-30.0, 320.0, 0.0), (1.47, 0.76, 1.43)),
    }


def leg(side: str, sign: float) -> list[dict[str, Any]]:
    """Return the bodies of a leg as tables of a model file: thigh, shank with a knee that translates along
    splines, talus, calcaneus and toes.

    side : end of their names, such as "r"; sign : 1 or -1, direction of outwards along the lateral axis
    """
    knee = f"knee_{side}"
    bends = [-2.1, -1.4, -0.9, -0.35, 0.0]
    slides = {
        "x": [-3.2e-3, 1.8e-3, 4.1e-3, 2.1e-3, -5e-3],
        "y": [-42.3e-2, -40.8e-2, -39.9e-2, -39.6e-2, -39.6e-2],
    }
    return [
        {
            "name": f"thigh_{side}",
            "parent": "pelvis",
            "joint": "custom",
            "in_parent": {"offset_mm": (-71.0, -66.0, 84.0 * sign)},
            **three_rotations(
                (f"hip_flexion_{side}", f"hip_adduction_{side}", f"hip_turn_{side}"), mirror=sign
            ),
            **mass(9.3, (0.0, -170.0, 0.0), (0.134, 0.035, 0.141)),
        },
        {
            "name": f"shank_{side}",
            "parent": f"thigh_{side}",
            "joint": "custom",
            "motion": [
                {"translates": X, "of": knee, "spline": {"at": bends, "value": slides["x"]}},
                {"translates": Y, "of": knee, "spline": {"at": bends, "value": slides["y"]}},
                {"rotates": Z, "of": knee},
            ],
            "coordinates": [{"name": knee, "neutral_deg": -10.0, "range_deg": (-120.0, 0.0)}],
            **mass(3.7, (0.0, -187.0, 0.0), (0.050, 0.005, 0.051)),
        },
        hinge("talus", f"shank_{side}", side, (0.0, -430.0, 0.0), (-0.105, -0.174, 0.979), sign, 0.1),
        hinge(
            "calcaneus", f"talus_{side}", side, (-49.0, -42.0, 8.0 * sign), (0.787, 0.605, -0.121), sign, 1.25
        ),
        hinge("toes", f"calcaneus_{side}", side, (179.0, -2.0, 1.0 * sign), (-0.581, 0.0, 0.814), sign, 0.22),
    ]


def hinge(
    name: str, parent: str, side: str, at: tuple[float, ...], axis: tuple[float, ...], sign: float, kg: float
) -> dict[str, Any]:
    return {
        "name": f"{name}_{side}",
        "parent": parent,
        "joint": "hinge",
        "in_parent": {"offset_mm": at},
        "axis": (sign * axis[0], sign * axis[1], axis[2]),
        **mass(kg, (50.0, 10.0, 0.0), (0.0014, 0.0039, 0.0041)),
    }


def three_rotations(names: tuple[str, ...], mirror: float = 1.0) -> dict[str, Any]:
    axes = (Z, (mirror, 0.0, 0.0), (0.0, mirror, 0.0))
    return {
        "motion": [{"rotates": axis, "of": name} for axis, name in zip(axes, names, strict=True)],
        "coordinates": [{"name": name} for name in names],
    }


def mass(kg: float, centre_mm: tuple[float, ...], inertia: tuple[float, ...]) -> dict[str, Any]:
    return {"mass_kg": kg, "mass_centre_mm": centre_mm, "inertia_kg_m2": inertia}


def on_side(segment: str, side: str) -> str:
    return segment if segment in ("pelvis", "torso") else f"{segment}_{side}"


def mirrored(x: tuple[float, ...], sign: float) -> tuple[float, float, float]:
    return float(x[0]), float(x[1]), sign * x[2]


def station(entry: tuple[Any, ...], side: str, sign: float) -> dict[str, Any]:
    """Return a point or wrapping surface of a muscle path as a table for a model file.

    entry : a row of the muscle tables of this module; side : end of the bodies' names, such as "r"; sign : 1
        or -1, direction of outwards along the lateral axis
    """
    if entry[0] == "over":
        return {"over": f"{entry[1]}_{side}", "side": entry[2]}
    if entry[0] == "patella":
        bends = [-2.0, -1.4, -0.7, 0.0]
        return {
            "segment": f"shank_{side}",
            "moving": {
                "of": f"knee_{side}",
                "x": {"spline": {"at": bends, "value": [0.015, 0.025, 0.043, 0.057]}},
                "y": {"spline": {"at": bends, "value": [0.021, 0.021, 0.016, 0.004]}},
                "z": {"constant": 0.0015 * sign},
            },
        }
    place: dict[str, Any] = {"segment": on_side(entry[0], side), "offset_mm": mirrored(entry[1:4], sign)}
    if len(entry) == 5:
        place["within"] = {"coordinate": f"knee_{side}", "range_deg": entry[4]}
    return place
