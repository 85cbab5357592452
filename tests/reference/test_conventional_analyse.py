"""Angles named cgm, as `rtsim analyse` makes them of a file, against those that Vicon Nexus wrote into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.markers.c3d import read_c3d
from rtsim.live.inputs.recorded import RecordingInput
from rtsim.live.result_session import ResultSession
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.subjects.calibration.calibration import subject_for

JOINTS = {"pelvis": "Pelvis", "hip": "Hip", "knee": "Knee", "ankle": "Ankle", "foot": "FootProgress"}
SIDES = {"r": "R", "l": "L"}
N_FRAME = 40
"""From the beginning, from which the direction of walking is."""


@pytest.mark.parametrize(
    ("walk", "static"),
    [
        ("gait_mcgill/HC030A_straight.c3d", "gait_mcgill/HC030A_static.c3d"),
        ("gait_mcgill/HC002D_static.c3d", ""),
        ("gait_pycgm/Movement_trial.c3d", "gait_pycgm/Static_trial.c3d"),
        ("gait_pycgm/Static_trial.c3d", ""),
    ],
)
def test_every_angle(shared: Path, walk: str, static: str) -> None:
    """Protects the whole chain, from PROCESSING to published labels: all 30 angles to 0.0001 degrees."""
    ezc3d = pytest.importorskip("ezc3d")
    path, still = shared / "data" / walk, shared / "data" / static if static else None
    if not path.is_file():
        pytest.skip(f"{walk} is not there")
    trial = read_c3d(path)
    subject = subject_for(trial, still, side="")
    run = RunConfig(
        name="test",
        source=str(path),
        method="zero",
        methods=("zero",),
        stages=("kinematics", "conventional_angles"),
    )
    source = RecordingInput(trial)
    course = ResultSession(make_stages(run, load_model("both_legs"), subject), source.session, {})
    content = ezc3d.c3d(str(path))
    point = content["parameters"]["POINT"]
    labels = [*point["LABELS"]["value"], *point.get("LABELS2", {"value": []})["value"]]
    data = np.moveaxis(content["data"]["points"][:3], 0, -1)
    specs = {spec.name: spec for spec in course.fields.session.fields}
    for n in range(N_FRAME):
        course.run(source.wait(lambda: None))
        for stage in course.stages:
            stage.report()
        for joint, name in JOINTS.items():
            spec = specs[f"cgm_{joint}_angles"]
            found = np.degrees(course.fields.arrays[spec.name]).reshape(2, 3)
            ends = [label[-1] for label in spec.labels[::3]]
            expected = [data[labels.index(f"{SIDES[end]}{name}Angles"), n] for end in ends]
            off = (found - expected + 180.0) % 360.0 - 180.0
            assert np.abs(off).max() < 1e-4, (n, name)
