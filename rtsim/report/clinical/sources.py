"""Sentences on the published methods behind the numbers of a report; only methods that its runs used."""

from __future__ import annotations

from collections.abc import Iterable

from rtsim.files.gait.events import FILE, MARKERS, PLATES
from rtsim.files.norms.variables import CGM
from rtsim.report.clinical.session import ReportTrial

ANATOMICAL_KNEE = ("zero", "minimised", "prescribed")
"""Methods whose knee is the mechanism of condyles and ligaments."""
SANCISI = (
    "Multi-body optimisation with a knee of articular contacts and ligaments: Sancisi et al. (2017), "
    "Meccanica 52:695-711"
)
LU = "Multi-body optimisation: Lu and O'Connor (1999), J Biomech 32:129-134"
ISB_ANGLES = (
    "Angles and joint axes: Wu et al. (2002), J Biomech 35:543-548; Grood and Suntay (1983), J Biomech Eng "
    "105:136-144"
)
CGM_ANGLES = (
    "Angles of the conventional gait model: Kadaba et al. (1990), J Orthop Res 8:383-392; Davis et al. "
    "(1991), Hum Mov Sci 10:575-587"
)
INERTIA = "Inertia of segments: de Leva (1996), J Biomech 29:1223-1230"
FDK = "Force-dependent kinematics: Andersen et al. (2017), J Biomech Eng 139:091001"
RECRUITMENT = "Muscle recruitment: Andersen et al. (2017), J Biomech Eng 139:091001, equations 11 to 14"
FOOT = "Contact of foot and ground: Brown (2017), MASc thesis, University of Waterloo, chapter 5"
BY = {
    PLATES: "foot contact: force plates, from 20 N on",
    FILE: "the recording's own",
    MARKERS: "markers, Zeni et al. (2008), Gait Posture 27:710-714, and O'Connor et al. (2007), Gait Posture "
    "25:469-474",
}


def sources_of(trials: Iterable[ReportTrial], convention: str) -> list[str]:
    """Return sentences on the published methods by which the results of trials were computed; convention :
    convention of the angles on page one.
    """
    found: list[str] = []
    told_by: set[str] = set()
    for trial in trials:
        fields, meta = trial.results.fields, trial.results.session.meta
        if "marker_rms" in fields or "marker_residuals" in fields:
            knee = meta.get("method") in ANATOMICAL_KNEE and "knee_displacements" in fields
            found.append(SANCISI if knee else LU)
        if convention == CGM:
            found.append(CGM_ANGLES)
        if meta.get("subject") and (convention != CGM or "joint_moments" in fields):
            found.append(ISB_ANGLES)
        if "joint_moments" in fields and meta.get("subject"):
            found.append(INERTIA)
        if any(name.startswith("fdk_") for name in fields):
            found.append(FDK)
        if "muscle_activations" in fields:
            found.append(RECRUITMENT)
        if any(name.startswith("foot_contact_") for name in fields):
            found.append(FOOT)
        told_by |= {event.by for event in trial.gait.used}
    events = "; ".join(words for by, words in BY.items() if by in told_by)
    return [*dict.fromkeys(found), *([f"Gait events: {events}"] if events else [])]
