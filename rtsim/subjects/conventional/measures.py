"""Measures of a person that the conventional gait model needs in addition to the markers: lengths, widths
and offsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rtsim.errors import ConfigError

USUAL_MARKER_DIAMETER = 0.014
"""Diameter of the spheres that Plug-in Gait takes for granted where a file states none [m]."""
LETTERS = {"right": "R", "left": "L"}
MOST_ROTATION = 1.6
"""Largest offset or torsion [rad]."""
RANGES = {
    "leg_length": (0.2, 1.4), "knee_width": (0.03, 0.25), "ankle_width": (0.02, 0.2),
    "inter_asis": (0.05, 0.5), "asis_trochanter": (-0.03, 0.25), "sole_delta": (-0.1, 0.1),
    "marker_diameter": (0.002, 0.05),
    **dict.fromkeys(
        ("tibial_torsion", "thigh_rotation", "shank_rotation", "static_plant_flexion", "static_rotation"),
        (-MOST_ROTATION, MOST_ROTATION),
    ),
}  # fmt: skip
"""Ranges of the measures, from small children to very tall adults [m, rad]."""
STORED = {
    "leg_length": "LegLength", "knee_width": "KneeWidth", "ankle_width": "AnkleWidth",
    "asis_trochanter": "AsisTrocanterDistance", "sole_delta": "SoleDelta", "tibial_torsion": "TibialTorsion",
    "thigh_rotation": "ThighRotation", "shank_rotation": "ShankRotation",
    "static_plant_flexion": "StaticPlantFlex", "static_rotation": "StaticRotOff",
}  # fmt: skip
"""Field -> name after L or R in the PROCESSING group of a C3D file."""
STORED_ONCE = {"inter_asis": "InterAsisDistance", "marker_diameter": "MarkerDiameter"}
ABSENT_AT_ZERO = ("leg_length", "knee_width", "ankle_width", "asis_trochanter", *STORED_ONCE)
"""Measures for which 0 in a file means not measured."""
WORDS = {
    "inter_asis": "distance between both ASIS",
    "asis_trochanter": "distance from the ASIS to the trochanter",
}
"""Words for fields in messages, if the name of the field is not clear enough."""
HOW = {
    "leg_length": "distance from the ASIS to the medial malleolus",
    "knee_width": "knee width between the epicondyles",
    "ankle_width": "ankle width between the malleoli",
}


class SideMeasures(NamedTuple):
    """Measures of one leg; None where unknown.

    leg_length : from the ASIS to the medial malleolus [m]
    knee_width, ankle_width : between the epicondyles, between the malleoli [m]
    asis_trochanter : from the ASIS back to the trochanter, along the sagittal plane of the pelvis [m]
    sole_delta : thickness of the sole under the heel minus that under the toes [m]
    tibial_torsion : angle from the knee axis to the ankle axis, negative = external [rad]
    thigh_rotation, shank_rotation : angles from the wand to the plane of the knee axis, and of the ankle
        axis; positive = the wand is behind the plane [rad]
    static_plant_flexion, static_rotation : angles between the line from ankle to toe and the foot in
        standing [rad]
    """

    leg_length: float | None = None
    knee_width: float | None = None
    ankle_width: float | None = None
    asis_trochanter: float | None = None
    sole_delta: float | None = None
    tibial_torsion: float | None = None
    thigh_rotation: float | None = None
    shank_rotation: float | None = None
    static_plant_flexion: float | None = None
    static_rotation: float | None = None


class ConventionalMeasures(NamedTuple):
    """Measures of a person; None where unknown.

    right, left : measures of the legs
    inter_asis : between both ASIS [m]
    marker_diameter : of the markers' spheres [m]
    """

    right: SideMeasures = SideMeasures()
    left: SideMeasures = SideMeasures()
    inter_asis: float | None = None
    marker_diameter: float | None = None

    def of(self, side: str) -> SideMeasures:
        """Return the measures of the right or the left leg."""
        return self.left if side == "left" else self.right

    def with_side(self, side: str, own: SideMeasures) -> ConventionalMeasures:
        """Return a person's measures with the measures of one leg, `side`, replaced by `own`."""
        return self._replace(left=own) if side == "left" else self._replace(right=own)

    @property
    def mirrored(self) -> ConventionalMeasures:
        """Return the measures of the mirrored person, whose left leg becomes the right leg."""
        return self._replace(right=self.left, left=self.right)

    @property
    def marker_radius(self) -> float:
        """Return half the diameter of the markers [m]; half the usual diameter if it is unknown."""
        return 0.5 * (USUAL_MARKER_DIAMETER if self.marker_diameter is None else self.marker_diameter)

    @property
    def mean_leg_length(self) -> float | None:
        """Return the mean length of both legs, or the only known one [m]."""
        known = [side.leg_length for side in (self.right, self.left) if side.leg_length is not None]
        return sum(known) / len(known) if known else None


def stored_measures(stored: Mapping[str, float]) -> ConventionalMeasures:
    """Read the measures from the names under which Plug-in Gait stores them with a trial, such as LKneeWidth
    [m, rad].

    A length of 0 means not measured; foot offsets of exactly 0 mean that no static trial was processed. The
    numbers are checked later by `check_measures`, where they are used.
    """
    sides: dict[str, SideMeasures] = {}
    for side, letter in LETTERS.items():
        found = {field: _known(stored, field, f"{letter}{name}") for field, name in STORED.items()}
        if not found["static_plant_flexion"] and not found["static_rotation"]:
            found["static_plant_flexion"] = found["static_rotation"] = None
        sides[side] = SideMeasures(**found)
    once = {field: _known(stored, field, name) for field, name in STORED_ONCE.items()}
    return ConventionalMeasures(sides["right"], sides["left"], once["inter_asis"], once["marker_diameter"])


def _known(stored: Mapping[str, float], field: str, name: str) -> float | None:
    """Return the stored measure called `name`; None if the file lacks it, or stores a 0 that means not
    measured.
    """
    value = stored.get(name)
    return None if value is None or (value == 0.0 and field in ABSENT_AT_ZERO) else float(value)


def check_measures(measures: ConventionalMeasures, where: str, leg: str = "") -> None:
    """Raise ConfigError for an impossible number, such as a width in metres instead of millimetres.

    leg : side of the leg whose numbers are checked, besides the length of the other leg; "" = both legs
    """
    for side in LETTERS:
        for field, value in measures.of(side)._asdict().items():
            if leg in ("", side) or field == "leg_length":
                _check(field, value, f"{side} {WORDS.get(field, field)}", where)
        if leg in ("", side):
            own = measures.of(side)
            check_both_widths(own.knee_width or 0.0, own.ankle_width or 0.0, side, where)
    for field in STORED_ONCE:
        _check(field, getattr(measures, field), WORDS.get(field, field), where)


def check_both_widths(knee: float, ankle: float, side: str, where: str) -> None:
    """Raise ConfigError for an ankle that is wider than its knee [m]; 0 = not known. Widths outside their
    own ranges are not checked here.
    """
    if RANGES["knee_width"][0] <= knee < ankle <= RANGES["ankle_width"][1]:
        raise ConfigError(
            f"the {side} ankle is {1e3 * ankle:.4g} mm wide and the knee {1e3 * knee:.4g} mm: the widths "
            "seem exchanged",
            where=where,
            allowed="an ankle that is narrower than the knee",
            remedy="measure both widths, and correct them in the subject's measures or give --knee-width "
            "and --ankle-width",
        )


def usable_rotation(own: SideMeasures, field: str, side: str, where: str) -> float:
    """Return one of a leg's rotation offsets or its tibial torsion [rad], 0 if it is unknown; ConfigError for
    an impossible one. field : its name in `SideMeasures`
    """
    value: float | None = getattr(own, field)
    _check(field, value, f"{side} {field}", where)
    return value or 0.0


def _check(field: str, value: float | None, said: str, where: str) -> None:
    """Raise ConfigError for a measure outside the range that is possible for a person; said : its name in
    the message.
    """
    low, high = RANGES[field]
    if value is None or low <= value <= high:
        return
    name, is_angle = said.replace("_", " "), high == MOST_ROTATION
    factor, unit = (1.0, "rad") if is_angle else (1e3, "mm")
    if is_angle:
        guess = "; the value might be in degrees, but radians are expected"
    elif low <= 1e3 * value <= high:
        guess = "; the value might be in metres, but millimetres are expected"
    else:
        guess = ""
    raise ConfigError(
        f"the {name} of {factor * value:.4g} {unit} is impossible for a person{guess}",
        where=where,
        allowed=f"a value of {factor * low:g} to {factor * high:g} {unit}",
        remedy=HOW.get(field, "correct this value in the subject's measures") + ", or remove it",
    )


def needed(measures: ConventionalMeasures, side: str, field: str, where: str) -> float:
    """Return one of the lengths of a leg [m], by its name in `SideMeasures`, `field`; if it is unknown,
    ConfigError says where it is usually stored and how to get it.
    """
    value: float | None = getattr(measures.of(side), field)
    if value is None:
        stored = f"{LETTERS[side]}{STORED[field]}"
        raise ConfigError(
            f"the {side} {field.replace('_', ' ')} is needed, but the trial stores no {stored}",
            where=where,
            remedy=f"{HOW.get(field, 'measure it')} and give the value with --{field.replace('_', '-')}, "
            "or in a .vsk, .mp or .toml file with --measures",
        )
    return value
