"""Joint centres that the calibration puts in, against those that Nexus wrote into the same files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.files.markers.markers import read_markers
from rtsim.subjects.calibration.landmarks import find_landmarks, role_positions
from rtsim.subjects.calibration.stand_ins import LegMeasures, stand_ins
from rtsim.subjects.hip_centre import hip_measures
from rtsim.subjects.markers.labs import load_lab, side_of
from rtsim.subjects.markers.sides import MIRROR

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
FILES = (
    "gait_pycgm/Static_trial.c3d", "gait_pycgm/Movement_trial.c3d", "gait_mcgill/HC002D_static.c3d",
    "gait_mcgill/HC030A_straight.c3d",
)  # fmt: skip
CENTRES = {"hip": "FEP", "knee": "FEO", "ankle": "TIO"}
pytestmark = pytest.mark.skipif(not (DATA / "gait_pycgm").is_dir(), reason="the recordings are not here")


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("file", FILES)
def test_centres_are_those_of_nexus(file: str, side: str) -> None:
    """Protects Plug-in Gait through the calibration: hip, knee and ankle to a hundredth of a millimetre."""
    markers = read_markers(DATA / file)
    computed = read_markers(DATA / file, virtual=True)
    known = role_positions(markers, side_of(load_lab("cgm1"), side))
    known = {r: x for r, x in known.items() if r not in ("malleolus_medial", "epicondyle_medial")}
    mirror = MIRROR if side == "left" else np.ones(3)
    known = {role: mirror * x for role, x in known.items()}
    person = hip_measures(markers.subject, "davis1991", side, file)
    found = stand_ins(known, LegMeasures(markers.subject, side, "davis1991", person), file)
    landmarks = find_landmarks({**known, **found.roles}, None, "davis1991", person)
    for joint, name in CENTRES.items():
        theirs = mirror * computed.positions[:, computed.names.index(f"{side[0].upper()}{name}")]
        apart = np.linalg.norm(getattr(landmarks, joint) - theirs, axis=1)
        assert np.nanmax(apart) < 1e-5, joint
