"""The pose of a calibration: quiet on persons who stand, told or refused where it cannot be."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

import kernels.joints.joint_angles
from kernels.joints.joint_angles import JointAxes
from kernels.joints.tree import new_pose
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.subjects.subject_check import notes_of_person
from rtsim.subjects.calibration import proportions
from rtsim.subjects.calibration.calibration import calibrate, legs_that_are_there, subject_for
from rtsim.subjects.calibration.landmarks import find_landmarks, role_positions
from rtsim.subjects.calibration.natural import segment_parameters
from rtsim.subjects.calibration.segment_axes import natural_coordinates
from rtsim.subjects.calibration.standing import joint_angles, joints, segment_axes
from rtsim.subjects.markers.labs import Coverage, find_lab, load_lab, side_of
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.subject import load_subject
from tests.rtsim.subjects.conftest import LANDMARKS
from tests.rtsim.subjects.recordings import DATA

Array = NDArray[np.float64]
Person = Callable[..., MarkerTrial]

STATICS = (
    "gait_mcgill/HC002D_static.c3d", "gait_mcgill/HC030A_static.c3d",
    "gait_opensim/gait2392/subject01_static.trc", "squat_opencap/static1.trc",
)  # fmt: skip
WALKS = ("gait_bmc/walk.trc", "gait_bmc/walk1.trc", "gait_bmc/walk2.trc")
EXCHANGED = "gait_bmc/walk2.trc"
"""Two labels of the left forefoot are exchanged in most frames."""
recordings = pytest.mark.skipif(not DATA.is_dir(), reason="needs the recordings")
ALONE = {"greater_trochanter", "tibial_tuberosity", "fibula_head", "thigh_lateral"}
"""Roles that no pose hangs on, or that hardly change one."""
LIFT = np.array([0.0, 0.15, 0.0])


def posed(person: Person, move: Callable[[str, Array], Array], **options) -> MarkerTrial:
    """The still person with every marker of the leg moved."""
    moved = {role: tuple(move(role, np.array(x))) for role, x in LANDMARKS.items()}
    return person(n_frame=1, **options, **moved)


def about(centre: tuple[float, float], degrees: float, x: Array) -> Array:
    """x turned about an axis to the right through (X, Y), forwards up."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    gap = x[:2] - centre
    return np.array([centre[0] + c * gap[0] - s * gap[1], centre[1] + s * gap[0] + c * gap[1], x[2]])


OF_CONTACT = {"metatarsal_2", "metatarsal_3", "hallux"}
"""Markers that calibration does not use: of the foot's frame for its contact with the ground."""


def told(trial: MarkerTrial, side: str = "right") -> list[str]:
    """Notes of a calibration that ask to look at something; a lone frame is held for as long as others."""
    if len(trial.times) == 1:
        held = trial.positions.repeat(12, axis=0)
        trial = trial._replace(times=np.arange(12.0) / trial.rate, positions=held)
    return [note for note in calibrate(trial, side=side).notes if note.startswith("check")]


@recordings
@pytest.mark.parametrize("static", [*STATICS, *WALKS])
def test_good_statics_are_quiet(static: str) -> None:
    """Protects from warnings that nobody reads any more: one leg, the other, and both."""
    trial = read_markers(DATA / static)
    assert [told(trial, side) for side in ("right", "left")] == [[], []]
    found = [note for note in subject_for(trial, side="both").notes if "check" in note]
    assert len(found) == (static == EXCHANGED)


@recordings
def test_the_widest_knee_is_all_that_is_told() -> None:
    """Protects the one static trial whose knees are known to be wide from further words."""
    trial = read_markers(DATA / "gait_lenhart/static1.trc")
    for side in ("right", "left"):
        assert [note[:33] for note in told(trial, side)] == ["check the markers across the knee"]


@recordings
@pytest.mark.parametrize("static", STATICS)
def test_exchanged_pairs_of_labels_are_never_silent(static: str) -> None:
    """Protects from two labels in each other's place, whichever: all pairs of anatomical markers of a leg,
    but for right and left PSIS, whose middle alone is used."""
    trial = read_markers(DATA / static)
    table = side_of(find_lab(trial.names), "right")
    at = find_markers(table.roles.values(), trial.names)
    roles = {role: at[name] for role, name in table.roles.items() if name in at and role not in OF_CONTACT}
    silent = []
    for a, b in combinations(roles, 2):
        positions = trial.positions.copy()
        positions[:, [roles[a], roles[b]]] = trial.positions[:, [roles[b], roles[a]]]
        try:
            if not told(trial._replace(positions=positions)):
                silent.append({a, b})
        except ConfigError:
            pass
    assert silent in ([], [{"psis", "psis_opposite"}])


@recordings
@pytest.mark.parametrize("static", STATICS)
def test_a_lifted_marker_is_never_silent(static: str) -> None:
    """Protects from a marker 15 cm above its landmark; a sacrum that lies low stays within what is usual."""
    trial = read_markers(DATA / static)
    table = side_of(find_lab(trial.names), "right")
    at = find_markers(table.roles.values(), trial.names)
    silent = set()
    for role, name in table.roles.items():
        if name not in at or role in OF_CONTACT:
            continue
        positions = trial.positions.copy()
        positions[:, at[name]] += LIFT
        try:
            if not told(trial._replace(positions=positions)):
                silent.add(role)
        except ConfigError:
            pass
    assert silent - ALONE <= {"sacrum"}


@pytest.mark.parametrize("role", sorted(LANDMARKS.keys() - ALONE))
def test_a_lifted_marker_of_the_person_is_found(role: str, person: Person) -> None:
    """Protects every landmark that axes hang on."""
    x = tuple(np.array(LANDMARKS[role]) + LIFT)
    try:
        notes = told(person(n_frame=1, **{role: x}))
    except ConfigError as fault:
        notes = [str(fault)]
    assert notes
    assert "check" in notes[0]


def test_a_person_who_stands_is_quiet(person: Person) -> None:
    """Protects the made-up person of the tests below."""
    assert told(person(n_frame=1)) == []


def test_a_person_who_sits_is_told(person: Person) -> None:
    """Protects who thinks that he stood: all in one sentence, and calibrated all the same."""
    hip, knee = (0.03, 0.92), (0.87 - 0.43 + 0.03, 0.92)

    def sit(role: str, x: Array) -> Array:
        if "asis" in role or "psis" in role or role == "greater_trochanter":
            return x
        raised = about(hip, 90.0, x)
        return raised if "epicondyle" in role else about(knee, -90.0, raised)

    (note,) = told(posed(person, sit))
    assert "hip_flexion 9" in note
    assert "knee_flexion 9" in note
    assert "sitting? results do not depend on this pose" in note


@pytest.mark.parametrize("degrees", [90.0, -90.0])
def test_a_person_who_lies_is_told(degrees: float, person: Person) -> None:
    """Protects from a wrong axis up, which nothing else of a calibration shows."""
    trial = person(n_frame=1)
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    (note,) = told(trial._replace(positions=trial.positions @ turn.T))
    assert "is inclined by 90 degrees" in note
    assert "--up" in note


def test_a_person_on_the_head_is_refused(person: Person) -> None:
    """Protects from an axis that points down."""
    trial = person(n_frame=1)
    with pytest.raises(ConfigError, match=r"is upside down: .*allowed: .*--up"):
        calibrate(trial._replace(positions=trial.positions * [1.0, -1.0, -1.0]))


@pytest.mark.parametrize("n_frame", [1, 12])
def test_a_knee_bent_forwards_is_refused(n_frame: int, person: Person) -> None:
    """Protects from poses that no joint has, of a still person or not."""
    knee = (0.03, 0.485)

    def bend(role: str, x: Array) -> Array:
        below = role in ("malleolus_lateral", "malleolus_medial", "calcaneus", "metatarsal_1", "metatarsal_5")
        return about(knee, 70.0, x) if below or role in ("fibula_head", "tibial_tuberosity") else x

    moved = {role: tuple(bend(role, np.array(x))) for role, x in LANDMARKS.items()}
    with pytest.raises(ConfigError, match=r"knee_flexion is -\d+ degrees .*allowed: -35 to 180 degrees"):
        calibrate(person(n_frame=n_frame, **moved))


def test_toes_that_point_backwards_are_refused(person: Person) -> None:
    """Protects from a pelvis that faces the other way than the feet, by one axis or two."""
    back = {"asis": (-0.10, 1.00, 0.12), "asis_opposite": (-0.10, 1.00, -0.12),
            "psis": (0.06, 1.02, 0.05), "psis_opposite": (0.06, 1.02, -0.05)}  # fmt: skip
    with pytest.raises(ConfigError, match="do not agree on which side"):
        calibrate(person(n_frame=1, **back))
    turned = {role: (-x, y, -z) for role, (x, y, z) in LANDMARKS.items() if "sis" in role}
    words = r"hip_\w+ is -?\d+ degrees in this pose, which is impossible for a person"
    with pytest.raises(ConfigError, match=words):
        calibrate(person(n_frame=1, **turned))


def test_angles_are_those_of_the_model(person: Person) -> None:
    """Protects the check from a convention of its own: axes as of segments, angles as of the kernel."""
    known = role_positions(person(n_frame=1), load_lab("bmc").right)
    Q = natural_coordinates(find_landmarks(known, None, "harrington2007"))
    found = joint_angles(Q)
    for (parent, child), axes in joints().items():
        if child == "trunk" or parent not in Q:
            continue
        frames = []
        for name, (primary, secondary) in ((parent, axes.proximal), (child, axes.distal)):
            frame = segment_axes(Q[name], "u", "v")[0] @ segment_parameters(Q[name]).axes(primary, secondary)
            assert segment_axes(Q[name], primary, secondary)[0] == pytest.approx(frame, abs=1e-12)
            frames.append(frame)
        angles, points = np.zeros((1, 3)), np.zeros((1, 3))
        one = JointAxes(
            np.zeros(1, np.int64), np.ones(1, np.int64), *(f[None] for f in frames), points, points
        )
        pose = new_pose(2, 0)
        pose.rotation[:] = np.eye(3)
        kernels.joints.joint_angles.joint_angles(one, pose, np.zeros((3, 3, 3)), angles, np.zeros((1, 3)))
        expected = np.degrees(angles[0]) * axes.signs
        assert [float(found[name][0]) for name in axes.names] == pytest.approx(expected, abs=1e-9)


def test_legs_of_different_lengths_are_told_or_refused(person: Person) -> None:
    """Protects from a marker in another place on one side, which each leg alone does not show."""

    def legs(size: float):
        def leg(side: str):
            return calibrate(
                person(label=side, mirrored=side == "left", size=size if side == "left" else 1.0), side=side
            )

        return legs_that_are_there(leg, lambda side: Coverage(load_lab("bmc"), side, 9, ()), all_of_them=True)

    assert not any("check the legs" in note for note in legs(1.05).notes)
    assert any("check the legs: the thigh is" in note for note in legs(1.12).notes)
    with pytest.raises(
        ConfigError,
        match=r"the thigh is .* on the right and .* on the left; allowed: a difference of up to 30 %",
    ):
        legs(1.4)


@pytest.mark.parametrize(
    ("stature", "outcome"), [(1.75, "quiet"), (2.1, "told"), (0.9, "refused"), (3.0, "refused")]
)
def test_legs_go_with_the_stature(stature: float, outcome: str) -> None:
    """Protects from lengths or statures in another unit, and from another person's."""
    lengths = {"thigh": 0.43, "shank": 0.42}
    if outcome == "refused":
        with pytest.raises(ConfigError, match=r"of the stature of \d+ mm; allowed: 0.33 to 0.7"):
            proportions.check_stature(lengths, stature, "s")
    else:
        assert bool(proportions.check_stature(lengths, stature, "s")) == (outcome == "told")


def test_the_stature_of_the_file_is_used(person: Person) -> None:
    """Protects the comparison from being made of nothing: the height in a C3D file."""
    trial = person(n_frame=1)
    assert told(trial._replace(subject={proportions.HEIGHT: 1.75})) == []
    with pytest.raises(ConfigError, match="of the stature of 1000 mm"):
        calibrate(trial._replace(subject={proportions.HEIGHT: 1.0}))


def test_the_stature_of_a_subject_is_looked_at() -> None:
    """Protects from a stature typed in by hand: told before the first frame, or refused."""
    subject, run = (
        load_subject(find_config("walker", "subjects")),
        RunConfig(name="r", source="x.trc", subject="w"),
    )
    assert notes_of_person(subject, run) == []
    beside = notes_of_person(subject, msgspec.structs.replace(run, static="standing.c3d"))
    (note,) = beside
    assert "standing.c3d: because the subject w is given, this trial is used only for the body mass" in note
    leg = sum(subject.segments[name].length_mm for name in ("thigh", "shank"))
    tall = msgspec.structs.replace(subject, stature_mm=leg / 0.4)
    assert ["w: check the stature" in note for note in notes_of_person(tall, run)] == [True]
    with pytest.raises(ConfigError, match="correct the stature"):
        notes_of_person(msgspec.structs.replace(subject, stature_mm=leg / 0.8), run)
