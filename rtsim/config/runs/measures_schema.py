"""Schema of a person's measures in addition to the markers: a file for --measures, and the table `measures`
of a run.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from rtsim.config.bounds import check_numbers

Both = float | Annotated[tuple[float, ...], msgspec.Meta(min_length=2, max_length=2)]
"""One number for both legs, or [right, left]."""


class PersonMeasures(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Lengths [mm] and angles [deg] of a person, measured by rulers and goniometers; missing ones are taken
    from the trial.
    """

    # between the epicondyles, and between the malleoli
    knee_width_mm: Both | None = None
    ankle_width_mm: Both | None = None
    # from the ASIS to the medial malleolus
    leg_length_mm: Both | None = None
    # from the ASIS back to the trochanter
    asis_trochanter_mm: Both | None = None
    # between both ASIS
    inter_asis_mm: float | None = None
    # angle from the axis of the knee to that of the ankle; negative = turned outwards
    tibial_torsion_deg: Both | None = None
    # from the marker on the outside of thigh or shank to the axis of knee or ankle; positive = it is behind
    thigh_rotation_deg: Both | None = None
    shank_rotation_deg: Both | None = None
    # diameter of the spherical markers
    marker_diameter_mm: float | None = None
    # distance from the skin to the centre of a marker on the pelvis: its radius and its base plate; none
    # given: 0
    marker_standoff_mm: float | None = None
    # regression of the hip centre; none given: harrington2007
    hip: str = ""

    def __post_init__(self) -> None:
        check_numbers(self)
        for field in MORE_THAN_NOTHING:
            value = getattr(self, field)
            if 0.0 in (value if isinstance(value, tuple) else (value,)):
                raise ValueError(
                    f"{field}: 0 mm is not a possible body measure; allowed: more than 0; leave out a "
                    "measure that is not known"
                )
        standoff = self.marker_standoff_mm or 0.0
        if standoff != 0.0 and not LEAST_STANDOFF_MM <= standoff <= MOST_STANDOFF_MM:
            metres = "; metres, where millimetres are expected?" if 0.0 < standoff < LEAST_STANDOFF_MM else ""
            raise ValueError(
                f"marker_standoff_mm: {standoff:g}{metres}; allowed: 0, or {LEAST_STANDOFF_MM:g} "
                f"to {MOST_STANDOFF_MM:g}"
            )


MORE_THAN_NOTHING = (
    "knee_width_mm", "ankle_width_mm", "leg_length_mm", "inter_asis_mm", "marker_diameter_mm"
)  # fmt: skip
LEAST_STANDOFF_MM, MOST_STANDOFF_MM = 1.0, 50.0
