"""From calibration to joint angles on real recordings: every frame solved, small residuals, human knees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.files.tables.storage import read_storage
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.calibration.trunk import TRUNK

from .recordings import METHODS, RECORDINGS, SIDES, Recording, lower_limb, read, run

pytestmark = pytest.mark.usefixtures("shared")
# mean marker RMS [mm]: generic knees on other people's legs, then kinematic knees
LIMITS_MM = {"zero": 28.0, "minimised": 16.0, "prescribed": 18.0, "hinge": 18.0, "ball": 13.0, "free": 12.0}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: Path(r.trial).stem)
def test_every_frame_is_solved(recording: Recording, side: str) -> None:
    """Protects calibration and solver together, with all methods on both legs of every trial."""
    trial, static = read(recording, n_frame=400)
    subject = subject_for(trial, static, side=side)
    spec = lower_limb()
    for method in METHODS:
        done = run(spec, subject, trial, method)
        assert done.converged.all(), method
        assert (done.n_open == 0).all(), method
        assert 1e3 * done.rms.mean() < LIMITS_MM[method], method
        # a trunk that turns fast between thinned frames costs a step in each of the two solutions of a frame
        assert np.median(done.iterations) <= (8 if TRUNK in subject.segments else 7), method
        low, high = (50.0, 75.0) if recording.walks else (90.0, 115.0)
        assert low < done.knee_flexion.max() < high, method
        assert -15.0 < done.knee_flexion.min() < 10.0, method


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", ["squats1", "STS1"])
@pytest.mark.parametrize(
    ("method", "limit_deg"), [("hinge", 5.0), ("free", 5.0), ("minimised", 6.0), ("zero", 8.0)]
)
def test_knee_flexion_agrees_with_independent_inverse_kinematics(
    shared: Path, name: str, side: str, method: str, limit_deg: float
) -> None:
    """Protects sign, zero and size of knee flexion against angles that came with the recording [rad]."""
    recording = next(r for r in RECORDINGS if Path(r.trial).stem == name)
    trial, static = read(recording, n_frame=400)
    done = run(lower_limb(), subject_for(trial, static, side=side), trial, method)
    table = read_storage(shared / "data" / "squat_opencap" / f"ref_{name}_ik.mot")
    theirs = np.degrees(np.interp(trial.times, table.column("time"), table.column(f"knee_angle_{side[0]}")))
    assert np.sqrt(np.mean((done.knee_flexion - theirs) ** 2)) < limit_deg
    assert np.corrcoef(done.knee_flexion, theirs)[0, 1] > 0.98


def test_both_hip_regressions_can_be_followed(shared: Path) -> None:
    """Protects the alternative regression beyond calibration; the choice moves the hip, not the fit."""
    recording = next(r for r in RECORDINGS if r.lab == "gait2392")
    trial, static = read(recording)
    for regression in ("harrington2007", "bell1990"):
        done = run(lower_limb(), subject_for(trial, static, hip_regression=regression), trial, "minimised")
        assert done.converged.all()
        assert 1e3 * done.rms.mean() < 12.0
