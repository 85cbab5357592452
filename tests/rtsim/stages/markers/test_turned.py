"""Markers turned about the bone, through the stage of a run: who is named, and which limb it regards."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import BOTH_LEGS, load_model
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.markers.turned import BESIDE, MOVED
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.subject import subject_text
from streams.messages import Status, marker_session
from tests.rtsim.stages.solving import Solving
from tests.rtsim.subjects.conventional.persons import person

N_FRAME = 40
KEPT = ("RTH1", "RKNE")
"""Of the walker's thigh, as Plug-in Gait has it."""


@pytest.fixture(scope="module")
def standing_person():
    """Somebody in the markers of Plug-in Gait, right leg, with a static trial."""
    return subject_for(person(source="walk.c3d", speed=0.02), person(), side="right")


def run(spec, subject, names, positions, make_frame, method="minimised"):
    """The kinematics after these frames, and the status of each."""
    session = marker_session(tuple(names), rate=100.0, t_start=0)
    estimator = MultibodyEstimator(spec, subject, method, ("minimised", "hinge"))
    solving = Solving(spec, estimator, subject, session)
    frames = [make_frame(session, x, k) for k, x in enumerate(positions)]
    return solving.kinematics, np.array([int(solving.solve(frame).status) for frame in frames])


@pytest.mark.parametrize(("name", "segment"), [("RTHI", "thigh"), ("RTIB", "shank")])
def test_a_wand_put_on_anew_is_named(spec, standing_person, make_frame, name, segment):
    """Protects hip and knee rotation of two markers to a segment: wrong by some 25 degrees, and told."""
    trial = person(n=N_FRAME, speed=0.01)
    moved = trial.positions.copy()
    moved[:, trial.names.index(name), 0] += 0.05
    kinematics, status = run(spec, standing_person, trial.names, moved, make_frame, "hinge")
    assert (status[15:] & Status.SUSPECT).all()
    assert f"{name} on {segment}, rotated by " in " ".join(kinematics.collect()[1])
    assert kinematics.counters[MOVED] > N_FRAME // 2


def test_a_person_as_calibrated_has_no_wand_put_on_anew(spec, standing_person, make_frame):
    """Protects clean runs from the witness."""
    trial = person(n=N_FRAME, speed=0.01)
    kinematics, _ = run(spec, standing_person, trial.names, trial.positions, make_frame, "hinge")
    assert MOVED not in kinematics.counters
    assert BESIDE not in kinematics.counters


def test_a_wand_beside_the_axis_of_the_knee_is_named(spec, subject, trial, make_frame):
    """Protects from a wand that stood in front of the knee's axis in both trials, until a new stream."""
    thigh = subject.segments["thigh"]
    markers = {name: thigh.markers_mm[name] for name in KEPT}
    x, y, z = markers["RTH1"]
    turned = {**markers, "RTH1": (-z, y, x)}  # calibrated a quarter turn from where it is
    session_of = {}
    for case, placed in (("clean", markers), ("turned", turned)):
        segments = {**subject.segments, "thigh": msgspec.structs.replace(thigh, markers_mm=placed)}
        someone = msgspec.structs.replace(subject, segments=segments)
        names = someone.marker_names
        positions = trial.positions[:, [trial.names.index(name) for name in names]]
        session_of[case] = run(spec, someone, names, positions, make_frame)
    assert BESIDE not in session_of["clean"][0].counters
    kinematics, status = session_of["turned"]
    assert kinematics.counters[BESIDE] > 0
    assert status[-1] & Status.SUSPECT
    assert "RTH1 on thigh, rotated by " in " ".join(kinematics.collect()[1])
    kinematics.odd.turned.forget()
    assert not kinematics.odd.turned.off.any()


def test_the_turn_of_the_thigh_in_standing_is_kept(standing_person):
    """Protects the witness: the subject's file has how thigh and shank stood, from which a wand has moved."""
    turned = {name: standing_person.segments[name].in_parent_deg for name in ("thigh", "shank")}
    assert all(np.isfinite(angles).all() for angles in turned.values())
    assert "in_parent_deg" in subject_text(standing_person).partition('segments."shank"')[0]


def test_the_other_leg_is_spared(standing_person):
    """Protects the sound leg: markers turned about a bone regard their own limb alone."""
    both = subject_for(person(source="walk.c3d", speed=0.02), person(), side="both")
    estimator = MultibodyEstimator(load_model(BOTH_LEGS), both, "hinge", ("hinge",))
    by_joint = Kinematics(estimator, both).by_joint
    turned = np.array([name == "thigh_r" for name in estimator.model.names.bodies], np.int64)
    nothing = np.zeros(3 * len(by_joint.names))
    by_joint.tell(Status.SUSPECT, (), estimator.health, [], [], nothing, (), turned)
    flagged = {n for n, s in zip(by_joint.names, by_joint.joints, strict=True) if int(s) & Status.SUSPECT}
    assert flagged == {"hip_r", "knee_r", "ankle_r"}
