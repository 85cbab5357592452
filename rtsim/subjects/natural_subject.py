"""The subject of a gait cycle that is stored as natural coordinates of the segments in a file (.npz)."""

from __future__ import annotations

from pathlib import Path

from rtsim.files.markers.natural import SEGMENTS, NaturalTrial
from rtsim.subjects.calibration.natural import local_points, segment_parameters
from rtsim.subjects.subject import Subject, subject_segment

ORDER = ("pelvis", "thigh", "shank", "foot")


def subject_of_cycle(cycle: NaturalTrial) -> Subject:
    """Build the subject of a gait cycle: segment lengths and angles, and local marker coordinates, as means
    over the cycle (Sancisi et al. 2017, eqs 12 and 13).

    The hip centre is the pelvis point whose mean local coordinates are those of the thigh's proximal end.
    """
    n = len(cycle.Q)
    Q = {name: cycle.Q[:, 12 * k : 12 * k + 12].reshape(n, 4, 3) for k, name in enumerate(SEGMENTS)}
    trial = cycle.markers
    segments = {}
    for name in ORDER:
        segment = segment_parameters(Q[name])
        columns = [i for i, marker in enumerate(trial.names) if marker.startswith(f"{name}_")]
        local = local_points(Q[name], segment, trial.positions[:, columns])
        markers = {trial.names[i]: x for i, x in zip(columns, local, strict=True)}
        points = {}
        if name == "pelvis":
            points["hip_centre"] = local_points(Q[name], segment, Q["thigh"][:, 1:2])[0]
        segments[name] = subject_segment(segment, markers, points)
    return Subject(
        name=Path(trial.source).stem,
        source=f"natural coordinates of {Path(trial.source).name}",
        segments=segments,
        n_frame=n,
    )
