"""Segments whose markers leap as one body, through the stage of a run."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rtsim.stages.markers.stepped import STEPPED
from streams.messages import Status

FIRST, STOP = 40, 70
N_FRAME = 100


def damaged(trial, estimator, name, degrees, by):
    """(n, n_marker, 3) - the walker, a segment of which is turned and shifted for some frames [m]."""
    model = estimator.model
    own = model.markers.body == model.names.bodies.index(name)
    positions = trial.positions[:N_FRAME].copy()
    turn = Rotation.from_rotvec(np.radians(degrees) * np.array([0.0, 0.6, 0.8]))
    for k in range(FIRST, STOP):
        middle = positions[k, own].mean(axis=0)
        positions[k, own] = middle + turn.apply(positions[k, own] - middle) + by
    return positions


@pytest.mark.parametrize("name", ["pelvis", "thigh", "shank", "foot"])
@pytest.mark.parametrize(
    ("degrees", "by"), [(10.0, (0.0, 0.0, 0.0)), (20.0, (0.0, 0.0, 0.0)), (0.0, (0.024, 0.018, 0.0))]
)
def test_a_segment_that_errs_as_one_body_is_suspect(
    make_solving, make_frame, session, trial, name, degrees, by
):
    """Protects from angles that are wrong under ok: from the frame in which the markers of a segment leap
    together until they leap back, in the status of the frame, of the segment and of a joint beside it."""
    solving = make_solving()
    kinematics = solving.kinematics
    positions = damaged(trial, kinematics.estimator, name, degrees, by)
    body = kinematics.estimator.model.names.bodies.index(name)
    status, segment, joints = [], [], []
    for index in range(N_FRAME):
        status.append(int(solving.solve(make_frame(session, positions[index], index)).status))
        segment.append(int(kinematics.by_joint.segments[body]))
        joints.append(int(kinematics.by_joint.joints.max()))
    for told in map(np.array, (status, segment, joints)):
        assert not told[:FIRST].any()
        assert (told[FIRST:STOP] & Status.SUSPECT).all()
    assert not np.array(status)[STOP + 10 :].any()
    assert kinematics.counters[STEPPED] >= STOP - FIRST
    assert name in " ".join(kinematics.sentences)


def test_a_new_session_knows_of_no_step(make_solving, make_frame, session, trial):
    """Protects the next person: what stepped before is forgotten with the stream."""
    solving = make_solving()
    kinematics = solving.kinematics
    positions = damaged(trial, kinematics.estimator, "thigh", 20.0, 0.0)
    for index in range(FIRST + 10):
        solving.solve(make_frame(session, positions[index], index))
    assert kinematics.odd.stepped.off.any()
    kinematics.begin(session, True)
    assert not kinematics.odd.stepped.off.any()
    assert solving.solve(make_frame(session, trial.positions[0], 0)).status == Status.OK
