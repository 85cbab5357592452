"""The stage of the conventional gait model: which person has it, in whose axes, under which names."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from kernels.conventional.leg import FLAT, WALKING
from rtsim.config.runs.run_schema import RunConfig
from rtsim.stages.building.context import StageContext
from rtsim.stages.conventional_angles import ConventionalAngles, legs_of, make
from rtsim.stages.kinematics import Kinematics
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.subject import Subject
from tests.rtsim.subjects.conventional.persons import person

MIRROR = np.array([1.0, 1.0, -1.0])


@pytest.fixture(scope="module")
def both() -> Subject:
    return subject_for(person(source="walk.c3d", speed=0.02), person(), side="")


def kinematics_of(subject: Subject) -> Kinematics:
    """What the stage reads of the kinematics of a person."""
    found, names = Kinematics.__new__(Kinematics), subject.marker_names
    found.subject, found.admitted = subject, True
    found.measured = np.full((len(names), 3), math.nan)
    found.reference_length = SimpleNamespace(names=names, mirrors=subject.side == "left")
    found.by_joint = SimpleNamespace(
        names=("hip_r", "knee_r", "ankle_r", "hip_l", "knee_l", "ankle_l", "hip")
    )
    return found


def stage_of(subject: Subject) -> ConventionalAngles:
    records = {side: leg for side, leg in subject.conventional.items() if subject.side in (side, "both")}
    return ConventionalAngles(kinematics_of(subject), records, itself=False)


def shown(stage: ConventionalAngles, turn: float = 0.0, time: float = 0.0) -> dict[str, float]:
    """Label -> angle [deg] of the standing person, turned about the vertical."""
    trial, names = person(), stage.kinematics.reference_length.names
    c, s = math.cos(turn), math.sin(turn)
    x = trial.positions[0] @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]).T
    rows = np.array([x[trial.names.index(name)] for name in names])
    stage.kinematics.measured[:] = rows * (MIRROR if stage.kinematics.reference_length.mirrors else 1.0)
    return after(stage, time)


def after(stage: ConventionalAngles, time: float) -> dict[str, float]:
    stage.run(SimpleNamespace(time=time))
    stage.report()
    return {
        label: math.degrees(value)
        for quantity in stage.quantities()
        if quantity.unit == "rad"
        for label, value in zip(quantity.labels, quantity.array.tolist(), strict=True)
    }


def test_names_say_cgm_and_the_side(both: Subject) -> None:
    """Protects the two sets of angles from each other: none has a name of our own ones."""
    found = shown(stage_of(both))
    assert len(found) == 30
    assert all(label.startswith("cgm_") and label[-2:] in ("_r", "_l") for label in found)
    assert all(math.isfinite(value) for value in found.values())
    assert {q.name for q in stage_of(both).quantities()} == {
        "cgm_pelvis_angles", "cgm_hip_angles", "cgm_knee_angles", "cgm_ankle_angles", "cgm_foot_angles",
        "cgm_joint_centres",
    }  # fmt: skip


@pytest.mark.parametrize("side", ["right", "left"])
def test_one_leg_has_the_angles_that_it_has_beside_the_other(both: Subject, side: str) -> None:
    """Protects a leg that is solved alone, a left one in the mirror: the same angles without an ending."""
    alone = subject_for(person(source="walk.c3d", speed=0.02), person(), side=side)
    two, one = shown(stage_of(both)), shown(stage_of(alone))
    assert one == pytest.approx({k[:-2]: v for k, v in two.items() if k.endswith(f"_{side[0]}")}, abs=1e-9)


def test_a_symmetric_person_has_symmetric_angles(both: Subject) -> None:
    """Protects signs: both sides alike where the person is."""
    found = shown(stage_of(both))
    for label, value in found.items():
        if label.endswith("_r"):
            assert found[f"{label[:-2]}_l"] == pytest.approx(value, abs=0.2), label


def test_pelvis_and_foot_are_told_to_the_direction_of_walking(both: Subject) -> None:
    """Protects laboratories whose walkway is along another axis, and who turns a little on it."""
    ahead = shown(stage_of(both))
    aside = shown(stage_of(both), 0.5 * math.pi)
    assert aside == pytest.approx(ahead, abs=1e-9)
    stage = stage_of(both)
    shown(stage)
    turned = shown(stage, math.radians(20.0), 0.01)
    assert turned["cgm_pelvis_rotation_r"] - ahead["cgm_pelvis_rotation_r"] == pytest.approx(20.0, abs=1.0)
    assert turned["cgm_pelvis_rotation_l"] - ahead["cgm_pelvis_rotation_l"] == pytest.approx(-20.0, abs=1.0)
    assert turned["cgm_hip_flexion_r"] == pytest.approx(ahead["cgm_hip_flexion_r"], abs=1e-9)


def test_a_frame_that_is_not_admitted_has_no_angles(both: Subject) -> None:
    """Protects against angles of a frame before."""
    stage = stage_of(both)
    shown(stage)
    stage.kinematics.admitted = False
    assert all(math.isnan(value) for value in after(stage, 0.01).values())


def test_standing_feet_are_of_their_own_trial(both: Subject) -> None:
    """Protects streams, and walks, from the foot of the static trial that their subject comes from."""
    itself = subject_for(person(), side="")
    assert {leg.stands for leg in itself.conventional.values()} == {"flat"}
    names = itself.marker_names
    assert legs_of(itself.conventional, names, itself=True).foot.tolist() == [FLAT, FLAT]
    assert legs_of(itself.conventional, names, itself=False).foot.tolist() == [WALKING, WALKING]


def test_who_has_no_record_has_no_stage(both: Subject) -> None:
    """Protects persons of other marker sets, whose runs are as before."""
    bare = Subject(both.name, both.source, both.segments, "both")
    setting = StageContext(RunConfig(name="test"), None, bare, {"kinematics": kinematics_of(bare)})
    assert make(setting) is None
