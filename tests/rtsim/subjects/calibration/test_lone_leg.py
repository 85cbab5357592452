"""A leg that is marked without a pelvis: its hip centre, the person, and what a run says of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.calibration.lone_leg import (
    ABOVE,
    AHEAD,
    OUTWARDS,
    TROCHANTERS,
    LoneLeg,
    hip_and_knee,
    straight_frames,
)
from rtsim.subjects.calibration.masses import load_inertia_table, person_of, with_masses
from rtsim.subjects.conventional.chord import wand_rotation
from rtsim.subjects.markers.labs import find_lab, load_lab, side_of
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.markers.sides import find_side
from rtsim.subjects.subject import Subject, load_subject, save_subject

Array = NDArray[np.float64]
LEG = LoneLeg(
    *(
        np.array([x])
        for x in (
            (0.0, 0.5, 0.05), (0.0, 0.5, -0.05), (0.0, 0.1, 0.04), (0.0, 0.1, -0.04), (0.01, 0.88, 0.10),
            (0.02, 0.7, 0.09),
        )
    )
)  # fmt: skip
"""A straight leg with a shank of 0.4 m, of one frame: X forwards, Y up, Z to the right [m]."""


def leg_alone(trial: MarkerTrial, lab: str, side: str) -> MarkerTrial:
    """The trial with the markers of one leg, and none of the pelvis."""
    table = side_of(load_lab(lab), side)
    pelvis = {*table.tracking.pelvis, table.asis, table.asis_opposite, table.psis, table.psis_opposite}
    pelvis.add(table.sacrum)
    wanted = [name for name in (*table.tracking.names, *table.roles.values()) if name not in pelvis]
    columns = sorted(find_markers(dict.fromkeys(wanted), trial.names).values())
    names = tuple(trial.names[k] for k in columns)
    return trial._replace(names=names, positions=np.ascontiguousarray(trial.positions[:, columns]))


def angles_of(subject: Subject, trial: MarkerTrial, method: str) -> dict[str, Array]:
    """Joint angles (n,) by name over a trial [deg]."""
    estimator = MultibodyEstimator(load_model("lower_limb"), subject, method)
    rows = []
    for frame, dt in zip(
        markers_of(trial, subject), np.diff(trial.times, prepend=trial.times[0]), strict=True
    ):
        solution = estimator.estimate(np.ascontiguousarray(frame), float(dt))
        assert solution.converged
        assert solution.n_open == 0
        rows.append((estimator.model.joint_signs * estimator.outputs.angles).reshape(-1))
    return dict(zip(estimator.model.names.joint_angles, np.degrees(rows).T, strict=True))


def test_a_trochanter_has_the_hip_inwards() -> None:
    """Protects the published rule: a quarter of the distance of both trochanters, along the epicondyles."""
    hip, medial = hip_and_knee(LEG, None)
    assert_allclose(hip, [[0.01, 0.88, 0.10 - 0.25 * TROCHANTERS * 0.4]], atol=1e-15)
    assert_allclose(medial, LEG.epicondyle_medial)


def test_without_one_the_hip_is_beyond_the_knee() -> None:
    """Protects the proportions, in the axes of the shank, which leans here."""
    c, s = np.cos(0.3), np.sin(0.3)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    leaning = LoneLeg(*(x @ turn.T if x is not None else None for x in LEG._replace(trochanter=None)))
    hip, _ = hip_and_knee(leaning, None)
    expected = turn @ [0.4 * AHEAD, 0.5 + 0.4 * ABOVE, 0.4 * OUTWARDS]
    assert_allclose(hip, [expected], atol=1e-15)


def test_hip_and_knee_agree_where_there_is_no_medial_epicondyle() -> None:
    """Protects the construction in turn: the knee of the chord for that hip, and the hip for that knee."""
    leg = LEG._replace(trochanter=None, epicondyle_medial=None)
    hip, medial = hip_and_knee(leg, 0.05)
    knee = 0.5 * (leg.epicondyle_lateral + medial)
    assert np.linalg.norm(knee - leg.epicondyle_lateral) == pytest.approx(0.05)
    assert np.sum((hip - knee) * (leg.epicondyle_lateral - knee)) == pytest.approx(0.0, abs=1e-6)
    again, _ = hip_and_knee(leg._replace(epicondyle_medial=medial), None)
    assert_allclose(again, hip, atol=1e-6)


def test_the_stored_rotation_of_the_thigh_turns_the_knee() -> None:
    """Protects the axis of a knee without a medial epicondyle: the thigh's rotation counts."""
    leg = LEG._replace(trochanter=None, epicondyle_medial=None)
    hip, medial = hip_and_knee(leg, 0.05, 0.17)
    knee = 0.5 * (leg.epicondyle_lateral + medial)
    turn = wand_rotation(hip, knee, leg.epicondyle_lateral, leg.thigh_lateral)
    assert_allclose(turn, [0.17], atol=1e-4)  # after the rounds between hip and knee


def test_a_leg_alone_has_the_knee_of_its_stored_measures(shared: Path) -> None:
    """Protects a leg without a pelvis from another knee than the same measures give with one."""
    static = read_markers(shared / "data" / "gait_mcgill" / "HC002D_static.c3d")
    measures = {"RKneeWidth": 0.08, "RAnkleWidth": 0.06, "RThighRotation": np.radians(10.0)}
    alone = leg_alone(static._replace(subject=measures), "mcgill", "right")
    subject = subject_for(alone, lab="mcgill", side="right")
    (said,) = [note for note in subject.notes if "no medial epicondyle" in note]
    assert "knee centre put 47.0 mm from" in said
    assert "with the stored thigh rotation of 10.0 degrees" in said
    assert any("markers of 14 mm were assumed" in note for note in subject.notes)


def test_the_straightest_frames_are_found() -> None:
    """Protects walks without a trochanter: only frames of a straight knee tell where the hip is."""
    bend = np.radians([60.0, 30.0, 8.0, 2.0, 1.0, 0.0, 0.5, 1.5, 20.0, 70.0, np.nan])
    on_thigh = np.stack([0.2 * np.sin(bend), 0.5 + 0.2 * np.cos(bend), np.full(11, 0.05)], axis=1)
    many = LoneLeg(*(np.repeat(x, 11, axis=0) for x in LEG))
    # flexion puts the thigh behind the line of the shank
    found = straight_frames(many, on_thigh * [-1.0, 1.0, 1.0])
    assert np.flatnonzero(found).tolist() == [3, 4, 5, 6, 7]


def test_a_map_is_found_without_its_pelvis() -> None:
    """Protects the choice of the lab: what is on the pelvis counts only where some of it is there."""
    for name in ("bmc", "gait2392", "lenhart", "mcgill", "opencap", "rajagopal", "condyles"):
        tracking = load_lab(name).right.tracking
        assert find_lab((*tracking.thigh, *tracking.shank, *tracking.foot)).name == name
    with pytest.raises(ConfigError, match="no marker map of the program"):
        find_lab(("R.Knee", "R.Ankle"))


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_person_without_a_pelvis(person: Callable[..., MarkerTrial], tmp_path: Path, side: str) -> None:
    """Protects calibration, file, model and masses of a leg alone, on either side."""
    trial = leg_alone(person(mirrored=side == "left", label=side), "bmc", side)
    subject = subject_for(trial, side="")
    assert (list(subject.segments), subject.side) == (["thigh", "shank", "foot"], side)
    assert subject.hip_regression == ""
    assert any("the pelvis has no markers: hip centre computed from" in note for note in subject.notes)
    save_subject(tmp_path / "s.toml", subject)
    assert load_subject(tmp_path / "s.toml") == subject
    spec = load_model("lower_limb")
    own = for_person(spec, subject)
    assert own.bodies[0].joint == "free"
    model = build(spec, subject)
    assert model.names.bodies == ("thigh", "shank", "foot")
    assert model.names.joint_angles[0] == "knee_flexion"
    assert len(model.names.joint_angles) == 6
    assert "soleus" in model.names.muscles
    assert not {"psoas", "hamstrings", "rectus_femoris"} & set(model.names.muscles)
    heavy = with_masses(spec, subject, person_of(subject, load_inertia_table(), 70.0))
    assert 0.1 < sum(body.mass_kg for body in heavy.bodies) / 70.0 < 0.25


def test_both_legs_without_a_pelvis_are_one(person: Callable[..., MarkerTrial]) -> None:
    """Protects from two legs on nothing: one is taken and told, both are refused."""
    right = leg_alone(person(), "bmc", "right")
    left = leg_alone(person(mirrored=True, label="left"), "bmc", "left")
    two = right._replace(
        names=(*right.names, *left.names),
        positions=np.concatenate([right.positions, left.positions], axis=1),
    )
    subject = subject_for(two, side="")
    assert subject.side == "right"
    assert "has no markers; solve the other leg with --side left" in subject.notes[-1]
    with pytest.raises(ConfigError, match="the pelvis, which joins both legs, has no markers"):
        subject_for(two, side="both")


def test_some_markers_of_a_pelvis_are_no_leg_alone(person: Callable[..., MarkerTrial]) -> None:
    """Protects from a hip by guess where a label is wrong: the missing markers are named, as ever."""
    with pytest.raises(ConfigError, match=r"no frame shows asis \(R.ASIS\)"):
        subject_for(person(without=("R.ASIS",)), side="right")


def test_a_foot_that_tells_no_side_is_refused() -> None:
    """Protects from a leg whose side nothing tells: there is no pelvis that would."""
    roles = {
        "epicondyle_lateral": (0.0, 0.5, 0.05), "epicondyle_medial": (0.0, 0.5, -0.05),
        "malleolus_lateral": (0.04, 0.1, 0.0), "malleolus_medial": (-0.04, 0.1, 0.0),
        "calcaneus": (-0.06, 0.03, 0.0), "metatarsal_1": (0.14, 0.02, -0.04),
        "metatarsal_5": (0.14, 0.02, 0.04),
    }  # fmt: skip
    with pytest.raises(ConfigError, match="do not tell which side it is on"):
        find_side({role: np.array([x]) for role, x in roles.items()}, "right", "a.trc")


def test_a_model_that_needs_the_pelvis_says_so(person: Callable[..., MarkerTrial]) -> None:
    """Protects models of users: a ligament at the pelvis cannot go without it."""
    subject = subject_for(leg_alone(person(), "bmc", "right"), side="")
    record = msgspec.to_builtins(load_model("lower_limb"))
    record["ligaments"][0]["a"]["segment"] = "pelvis"
    with pytest.raises(ConfigError, match=r"has no segment pelvis, which the model needs: .*ACL"):
        for_person(msgspec.convert(record, ModelSpec), subject)


WALKS = {
    "bmc": ("gait_bmc/walk2.trc", ""),
    "gait2392": ("gait_opensim/gait2354/subject01_walk1.trc", "gait_opensim/gait2354/subject01_static.trc"),
    "opencap": ("squat_opencap/walking1.trc", "squat_opencap/static1.trc"),
}


def read(shared: Path, lab: str) -> tuple[MarkerTrial, MarkerTrial | None]:
    """Every fourth frame of a walk, and its static trial."""
    trial, static = (read_markers(shared / "data" / path) if path else None for path in WALKS[lab])
    assert trial is not None
    return trial._replace(times=trial.times[::4], positions=trial.positions[::4]), static


@pytest.mark.parametrize("lab", WALKS)
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("method", ["minimised", "hinge"])
def test_knee_and_ankle_are_nearly_those_with_a_pelvis(
    shared: Path, lab: str, side: str, method: str
) -> None:
    """Protects docs/trials.md: the hip's place moves knee angles by some degrees, ankles hardly."""
    trial, static = read(shared, lab)
    known = angles_of(subject_for(trial, static, side=side), trial, method)
    bare = leg_alone(trial, lab, side)
    subject = subject_for(bare, leg_alone(static, lab, side) if static else None, side=side)
    found = angles_of(subject, bare, method)
    assert set(found) == {name for name in known if not name.startswith(("hip", "trunk"))}
    for name, limits in (("knee_flexion", (9.0, 2.5)), ("knee_adduction", (3.0, 1.0)),
                         ("ankle_dorsiflexion", (1.0, 1.0))):  # fmt: skip
        apart = found[name] - known[name]
        assert abs(apart.mean()) < limits[0], name
        assert apart.std() < limits[1], name


def test_a_walk_without_the_pelvis_of_its_static_trial(shared: Path) -> None:
    """Protects the better hip: by the pelvis of the static trial, though the walk shows none. What is left is
    the pull of the pelvis' markers on the thigh."""
    trial, static = read(shared, "gait2392")
    full = subject_for(trial, static, side="right")
    bare = leg_alone(trial, "gait2392", "right")
    subject = subject_for(bare, static, side="right")
    assert list(subject.segments) == ["thigh", "shank", "foot"]
    assert subject.segments["thigh"] == full.segments["thigh"]
    assert subject.hip_regression == "harrington2007"
    assert any("shows no marker of the pelvis: the thigh is the root" in note for note in subject.notes)
    known, found = angles_of(full, trial, "minimised"), angles_of(subject, bare, "minimised")
    assert abs((found["knee_flexion"] - known["knee_flexion"]).mean()) < 2.0
    assert np.abs(found["knee_flexion"] - known["knee_flexion"]).max() < 4.0
    assert np.abs(found["ankle_dorsiflexion"] - known["ankle_dorsiflexion"]).max() < 1.0
