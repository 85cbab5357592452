"""The nine angles of a gait report and of the movement analysis profile, by convention.

Conventions: `isb`, the joint coordinate systems of rtsim's model, and `cgm`, the conventional gait model as
Plug-in Gait computes it. Angles of one convention are never compared with those of the other.
"""

from __future__ import annotations

from typing import NamedTuple

ISB, CGM = "isb", "cgm"
CONVENTIONS = {ISB: "ISB joint coordinate systems", CGM: "conventional gait model (Plug-in Gait)"}


class GaitVariable(NamedTuple):
    """An angle of the gait report in degrees; a positive value has the same anatomical meaning on both sides.

    name : name in norms and tables
    title : title in reports
    up, down : meaning of positive and negative values
    fields : convention -> name of the field (array) of the results that has the angle, and the angle's label
        in this field without its side
    gcd : name in .gcd files
    turned : convention in which the results have only one angle for both sides, that of the right side; for
        the left side its sign is reversed; "" = none
    """

    name: str
    title: str
    up: str
    down: str
    fields: dict[str, tuple[str, str]]
    gcd: str
    turned: str = ""


def _variable(
    name: str, title: str, ends: tuple[str, str], isb: tuple[str, str], cgm: tuple[str, str], gcd: str
) -> GaitVariable:
    return GaitVariable(
        name=name, title=title, up=ends[0], down=ends[1], fields={ISB: isb, CGM: cgm}, gcd=gcd,
        turned=ISB if name in ("pelvis_obliquity", "pelvis_rotation") else "",
    )  # fmt: skip


_PELVIS, _CGM_PELVIS, _JOINTS = "pelvis_angles", "cgm_pelvis_angles", "joint_angles"
_HIP, _INOUT = "cgm_hip_angles", ("internal", "external")
VARIABLES = (
    _variable("pelvis_tilt", "Pelvic tilt", ("anterior", "posterior"),
              (_PELVIS, "pelvis_anterior_tilt"), (_CGM_PELVIS, "cgm_pelvis_tilt"), "PelvicTilt"),
    _variable("pelvis_obliquity", "Pelvic obliquity", ("up", "down"),
              (_PELVIS, "pelvis_obliquity"), (_CGM_PELVIS, "cgm_pelvis_obliquity"), "PelvicObliquity"),
    _variable("pelvis_rotation", "Pelvic rotation", _INOUT,
              (_PELVIS, "pelvis_rotation"), (_CGM_PELVIS, "cgm_pelvis_rotation"), "PelvicRotation"),
    _variable("hip_flexion", "Hip flexion", ("flexion", "extension"),
              (_JOINTS, "hip_flexion"), (_HIP, "cgm_hip_flexion"), "HipFlexExt"),
    _variable("hip_adduction", "Hip adduction", ("adduction", "abduction"),
              (_JOINTS, "hip_adduction"), (_HIP, "cgm_hip_adduction"), "HipAbAdduct"),
    _variable("hip_rotation", "Hip rotation", _INOUT,
              (_JOINTS, "hip_internal_rotation"), (_HIP, "cgm_hip_internal_rotation"), "HipRotation"),
    _variable("knee_flexion", "Knee flexion", ("flexion", "extension"),
              (_JOINTS, "knee_flexion"), ("cgm_knee_angles", "cgm_knee_flexion"), "KneeFlexExt"),
    _variable("ankle_dorsiflexion", "Ankle dorsiflexion", ("dorsiflexion", "plantarflexion"),
              (_JOINTS, "ankle_dorsiflexion"), ("cgm_ankle_angles", "cgm_ankle_dorsiflexion"),
              "DorsiPlanFlex"),
    _variable("foot_progression", "Foot progression", _INOUT,
              ("foot_progression", "foot_progression"),
              ("cgm_foot_angles", "cgm_foot_internal_rotation"), "FootProgression"),
)  # fmt: skip
"""The nine variables of Baker et al. (2009), in the order of a report: pelvis, hip, then knee, ankle and
foot.
"""
NAMES = tuple(variable.name for variable in VARIABLES)
