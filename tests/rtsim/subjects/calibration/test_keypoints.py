"""Keypoints in the places of markers: joint centres, and nothing of the bones."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.subject import Subject, load_subject, save_subject

FLEXION = np.radians(np.linspace(5.0, 60.0, 12))
HIP = np.radians(np.linspace(0.0, 30.0, 12))


def trial(mirrored: bool = False) -> MarkerTrial:
    """A person who lifts both thighs and bends both knees, walking forwards along X."""
    frames = []
    for k, (hip, knee) in enumerate(zip(HIP, FLEXION, strict=True)):
        down = np.array([np.sin(hip), -np.cos(hip), 0.0])
        shin = np.array([np.sin(hip - knee), -np.cos(hip - knee), 0.0])
        ahead = np.array([np.cos(hip - knee), np.sin(hip - knee), 0.0])
        origin = np.array([0.02 * k, 1.0, 0.0])
        points = {"Hip": origin, "Neck": origin + np.array([0.0, 0.5, 0.0])}
        for side, z in (("R", 0.1), ("L", -0.1)):
            points[f"{side}Hip"] = origin + np.array([0.0, 0.0, z])
            points[f"{side}Knee"] = points[f"{side}Hip"] + 0.42 * down
            points[f"{side}Ankle"] = ankle = points[f"{side}Knee"] + 0.41 * shin
            points[f"{side}Heel"] = ankle + 0.06 * shin - 0.05 * ahead
            points[f"{side}BigToe"] = ankle + 0.06 * shin + 0.16 * ahead - np.array([0.0, 0.0, 0.4 * z])
            points[f"{side}SmallToe"] = ankle + 0.06 * shin + 0.14 * ahead + np.array([0.0, 0.0, 0.4 * z])
        frames.append(np.array([*points.values()]))
    positions = np.array(frames) * ([1.0, 1.0, -1.0] if mirrored else 1.0)
    return MarkerTrial(tuple(points), np.arange(12) / 50.0, positions, 50.0, "video.trc")


@pytest.fixture(scope="module")
def person() -> Subject:
    """Both legs."""
    return subject_for(trial(), side="")


@pytest.fixture(scope="module")
def spec(person: Subject) -> ModelSpec:
    """The model for that person."""
    return for_person(load_model("both_legs"), person)


def test_flexions_come_back(person: Subject, spec: ModelSpec) -> None:
    """Protects what keypoints can tell: flexions of hip and knee as the person was made, on both sides."""
    assert person.side == "both"
    assert person.keypoints
    estimator = MultibodyEstimator(spec, person, "hinge")
    names = estimator.model.names.joint_angles
    for k, frame in enumerate(markers_of(trial(), person)):
        assert estimator.estimate(np.ascontiguousarray(frame), 0.02).converged
        angles = (estimator.outputs.angles * estimator.model.joint_signs).ravel()
        for side in ("r", "l"):
            assert angles[names.index(f"hip_flexion_{side}")] == pytest.approx(HIP[k], abs=1e-6)
            assert angles[names.index(f"knee_flexion_{side}")] == pytest.approx(FLEXION[k], abs=1e-6)


def test_nothing_is_said_of_contacts_and_ligaments(person: Subject, spec: ModelSpec) -> None:
    """Protects from numbers that keypoints cannot give: the model has a hinge and nothing that acts on it."""
    assert not any((spec.contacts, spec.ligaments, spec.muscles, spec.elements))
    assert tuple(spec.methods) == ("hinge",)
    assert sum("joint centres only" in note for note in person.notes) == 1
    assert sum("hip flexion is the angle between thigh and trunk" in note for note in person.notes) == 1


def test_a_mirrored_file_is_noticed() -> None:
    """Protects the sides: hips that are exchanged against the way the feet point are told."""
    subject = subject_for(trial(mirrored=True), side="right")
    assert subject.side == "left"
    assert any("labelled right stand on the left" in note for note in subject.notes)


def test_a_subject_file_keeps_it(person: Subject, tmp_path) -> None:
    """Protects `calibrate`: a written subject is still one of keypoints."""
    save_subject(tmp_path / "anna.toml", person)
    assert load_subject(tmp_path / "anna.toml").keypoints


def test_a_keypoint_that_is_missing_is_named() -> None:
    """Protects the sentence on a set without feet."""
    whole = trial()
    keep = [k for k, name in enumerate(whole.names) if "Toe" not in name]
    less = whole._replace(names=tuple(whole.names[k] for k in keep), positions=whole.positions[:, keep])
    with pytest.raises(ConfigError, match=r"metatarsal_1 \(RBigToe\)"):
        subject_for(less, lab="halpe", side="right")
