"""A made-up walk with all that a report shows, and reports of it."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from rtsim.files.norms.norm_set import NormCurve, NormSet
from rtsim.files.norms.variables import ISB, NAMES, VARIABLES
from rtsim.files.recording import Results
from rtsim.report.clinical.report import GaitReport, make_report
from rtsim.report.clinical.session import ReportSession, trial_of
from streams.messages import Curves, FieldSpec
from tests.rtsim.methods.gait.test_cycles import walk

JOINTS = ("hip", "knee", "ankle")
ANGLES = (
    "hip_flexion", "hip_adduction", "hip_internal_rotation", "knee_flexion", "knee_adduction",
    "ankle_dorsiflexion",
)  # fmt: skip


def gait_results(forces: bool = True, seed: int = 0, **meta: object) -> Results:
    """A walk on plates, with angles that come back with each stride."""
    results, random = walk(loads=forces), np.random.default_rng(seed)
    both = [f"{name}_{side}" for side in "rl" for name in ANGLES]
    joints = [f"{joint}_{side}" for side in "rl" for joint in JOINTS]
    fields = {
        "joint_angles": (both, "rad", 0.3),
        "pelvis_angles": (["pelvis_anterior_tilt", "pelvis_obliquity", "pelvis_rotation"], "rad", 0.1),
        "foot_progression": (["foot_progression_r", "foot_progression_l"], "rad", 0.1),
        "ligament_lengthening": (["ACL_r", "ACL_l"], "1", 0.05),
        "marker_residuals": (["RASI", "LASI", "RHEE"], "m", 0.004),
    }
    if forces:
        fields |= {"joint_moments": (both, "N m", 40.0), "foot_loads": (["right", "left"], "N", 700.0)}
    specs, values = list(results.session.fields), dict(results.fields)
    phase = 2.0 * np.pi * results.times / 1.1
    for name, (labels, unit, size) in fields.items():
        curves = Curves("Ligaments", "lengthening") if name == "ligament_lengthening" else None
        specs.append(FieldSpec(name, (len(labels),), unit, tuple(labels), curves=curves))
        starts = random.uniform(0.0, 6.0, len(labels))
        values[name] = size * np.sin(phase[:, None] + starts)
    if forces:
        specs.append(FieldSpec("joint_powers", (6, 2), "W", tuple(joints), ("moment", "force")))
        values["joint_powers"] = 100.0 * np.sin(phase[:, None, None] + np.arange(12.0).reshape(6, 2))
    told = {"mass_kg": 70.0, "model": "both_legs", "method": "zero", "source": "made up", **meta}
    session = structs.replace(results.session, fields=tuple(specs), meta={**results.session.meta, **told})
    return results._replace(session=session, fields=values)


def norms_of(session: ReportSession) -> NormSet:
    """Norms whose mean is that of the right side of a session."""
    from rtsim.report.clinical.session import curve_of, kinematic_sources

    curves = {c.name: c for c in (curve_of(session, source) for source in kinematic_sources(ISB))}
    assert len(NAMES) == len(VARIABLES) == len(curves)
    own = {name: NormCurve(curve.mean("right"), np.ones(101)) for name, curve in curves.items()}
    return NormSet("made up", ISB, own)


def report_of(
    *trials: Results, before: Results | None = None, norms: bool = False, **person: str
) -> GaitReport:
    """A report of trials."""
    now = ReportSession("now", tuple(trial_of(t, f"walk {k}.c3d") for k, t in enumerate(trials, 1)))
    then = ReportSession("before", (trial_of(before, "old.c3d"),)) if before is not None else None
    return make_report(
        now,
        then,
        norms_of(now) if norms else None,
        "norms.toml",
        person.get("name", "Anna"),
        "2026-01-02",
        "1.0",
    )
