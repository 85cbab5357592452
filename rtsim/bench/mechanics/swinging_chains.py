"""Models for the benchmark of the integrators: a double pendulum, smooth or stiff, and chains of any
length.
"""

from __future__ import annotations

from typing import Any

from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec

STRIDE = 3
"""One of so many successive links of a chain carries a sphere."""
LENGTH_MM, RADIUS_MM, DEPTH_MM = 100.0, 20.0, 0.25


def double_pendulum(stiff: bool) -> ModelSpec:
    """Return the model of two perpendicular hinges with springs and dampers; stiff : whether the second hinge
    is almost locked.

    The rates of the motion are about 5 /s. Those of the almost locked hinge, with stiffness k, damping c and
    moment of inertia I, are c/I = 2e4 /s and k/c = 100 /s.
    """
    lock = {"stiffness_N_m_rad": 1e4, "damping_N_m_s_rad": 100.0, "rest_deg": -30.0}
    soft = {"stiffness_N_m_rad": 3.0, "damping_N_m_s_rad": 0.05, "rest_deg": 10.0}
    bodies = [
        {
            "name": "upper",
            "joint": "hinge",
            "axis": "w",
            "coordinates": [{"name": "swing", "neutral_deg": 40.0}],
            "mass_kg": 1.2,
            "mass_centre_mm": [20.0, -150.0, 0.0],
            "inertia_kg_m2": [0.01, 0.004, 0.012],
        },
        {
            "name": "lower",
            "joint": "hinge",
            "axis": "u",
            "parent": "upper",
            "in_parent": {"offset_mm": [0.0, -300.0, 50.0]},
            "coordinates": [{"name": "side", "neutral_deg": -30.0}],
            "mass_kg": 0.8,
            "mass_centre_mm": [0.0, -120.0, 30.0],
            "inertia_kg_m2": [0.006, 0.002, 0.005],
        },
    ]
    string = {
        "name": "string",
        "a": {"segment": "lower", "offset_mm": [0.0, -250.0, 0.0]},
        "b": {"segment": "ground", "offset_mm": [300.0, -400.0, 200.0]},
        "rest_mm": 250.0,
        "stiffness_N_m": 60.0,
        "damping_N_s_m": 1.0,
    }
    springs = [{"name": "hip", "coordinate": "side", **(lock if stiff else soft)}, string]
    speeds = {"swing": 60.0} if stiff else {"swing": 60.0, "side": -100.0}
    return model("double pendulum", bodies, springs=springs, simulation={"speeds": speeds})


def chain(n_link: int, floor: bool) -> ModelSpec:
    """Return a chain of links on hinges with stiff, damped bending, which starts horizontal and sinks.

    floor : whether spheres at every STRIDE-th link carry the chain on a moving floor with friction
    """
    bodies = [link(k) for k in range(n_link)]
    springs = [
        {
            "name": name(k),
            "coordinate": name(k),
            "stiffness_N_m_rad": 20.0,
            "damping_N_m_s_rad": 0.2,
        }
        for k in range(n_link)
    ]
    contacts = [sphere(k) for k in range(0, n_link, STRIDE)] if floor else []
    return model("chain", bodies, springs=springs, contacts=contacts)


def name(k: int) -> str:
    """Return the name of link k and of its hinge."""
    return f"link_{k}"


def link(k: int) -> dict[str, Any]:
    """Return link k, which is attached to the end of the previous link, as a table of a model file."""
    return {
        "name": name(k),
        "joint": "hinge",
        "axis": "w" if k % 2 == 0 else "v",
        **({"parent": name(k - 1)} if k else {}),
        "in_parent": {"offset_mm": [LENGTH_MM if k else 0.0, 0.0, 0.0]},
        "coordinates": [{"name": name(k)}],
        "mass_kg": 0.15,
        "mass_centre_mm": [0.5 * LENGTH_MM, 0.0, 0.0],
        "inertia_kg_m2": [4e-5, 2e-4, 2e-4],
    }


def sphere(k: int) -> dict[str, Any]:
    """Return the sphere at the end of link k, in contact with a floor that moves along the chain, as a table
    of a model file.
    """
    return {
        "name": name(k),
        "ellipsoid": {"segment": name(k), "offset_mm": [LENGTH_MM, 0.0, 0.0], "radius_mm": RADIUS_MM},
        "plane": {
            "segment": "ground",
            "offset_mm": [0.0, DEPTH_MM - RADIUS_MM, 0.0],
            "normal": [0.0, 1.0, 0.0],
            "velocity_mm_s": [50.0, 0.0, 0.0],
        },
        "stiffness": 1e9,
        "damping": 1.0,
        "friction": {"static": 0.5, "dynamic": 0.4, "transition_velocity_m_s": 0.01},
    }


def model(title: str, bodies: list[dict[str, Any]], **tables: Any) -> ModelSpec:
    """Build a model from tables of bodies, and check it."""
    return check_record(
        {"name": title, "source": "illustrative", "bodies": bodies, **tables}, ModelSpec, title
    )
