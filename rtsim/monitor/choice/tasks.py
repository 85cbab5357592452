"""Groups of the panels of the monitor window by the quantity that they show, such as "Muscles", and the
groups that a task (a prepared selection, such as "clinic") shows.
"""

from __future__ import annotations

ANGLES, MOMENTS, FORCES = "Joint angles", "Moments and powers", "Forces"
DISPLACEMENTS, LIGAMENTS, MUSCLES = "Joint displacements", "Ligaments", "Muscles"
FEET, GAIT, DEVICE, ENERGY = "Feet", "Gait", "Device", "Energy"
QUALITY, OTHERS = "Quality", "Others"
GROUPS = (
    ANGLES, MOMENTS, FORCES, DISPLACEMENTS, LIGAMENTS, MUSCLES, FEET, GAIT, DEVICE, ENERGY, QUALITY, OTHERS,
)  # fmt: skip
"""Groups in the order in which they are offered."""

BY_FIELD = (
    ("foot_progression", ANGLES),
    ("foot_", FEET),
    ("ground_", FEET),
    ("gait_", GAIT),
    ("marker_", QUALITY),
    ("residual_", QUALITY),
    ("ligament_", LIGAMENTS),
    ("muscle_", MUSCLES),
    ("moment_arms", MUSCLES),
    ("device_", DEVICE),
)
"""Beginnings of fields' names, each with its group; the first that fits decides."""
BY_UNIT = {
    **dict.fromkeys(("°", "°/s", "°/s²"), ANGLES),
    **dict.fromkeys(("N m", "N m/kg", "W", "W/kg"), MOMENTS),
    "N": FORCES,
    **dict.fromkeys(("mm", "mm/s"), DISPLACEMENTS),
    "J": ENERGY,
}
"""Display unit -> group, for fields whose name does not determine it."""

ALL = "all"
TASKS: dict[str, tuple[str, ...]] = {
    ALL: GROUPS,
    "clinic": (ANGLES, MOMENTS, FEET),
    "joint": (DISPLACEMENTS, LIGAMENTS, FORCES, QUALITY),
    "forces": (FEET, FORCES, MOMENTS),
    "muscles": (MUSCLES, MOMENTS),
    "foot": (FEET, GAIT),
    "device": (DEVICE, ENERGY),
}
"""The groups that a task shows."""
SELDOM = ("gait_phase",)
"""Fields that are shown only if chosen by hand: the gait phase is merely a saw-tooth over time."""


def group_of(field: str, unit: str) -> str:
    """Return the group of quantities to which a panel belongs, such as "Muscles": from the name of its field,
    or else from its display unit.
    """
    for beginning, group in BY_FIELD:
        if field.startswith(beginning):
            return group
    return BY_UNIT.get(unit, OTHERS)
