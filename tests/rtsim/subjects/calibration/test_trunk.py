"""The trunk: calibrated where it is marked, carried by the pelvis, and of no effect on pelvis and legs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabMap
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import ONE_LEG, load_model, model_for
from rtsim.models.model import build
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.both_sides import one_side
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.calibration.masses import load_inertia_table, person_of, with_masses
from rtsim.subjects.calibration.trunk import LUMBOSACRAL, TRUNK, lumbosacral_centre
from rtsim.subjects.calibration.upper_body import upper_body
from rtsim.subjects.markers.labs import load_lab
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.subject import Subject

Array = NDArray[np.float64]

WALKS = {
    "mcgill": ("gait_mcgill/HC030A_straight.c3d", "gait_mcgill/HC030A_static.c3d"),
    "lenhart": ("gait_lenhart/overground_17.trc", "gait_lenhart/static1.trc"),
    "gait2392": ("gait_opensim/gait2354/subject01_walk1.trc", "gait_opensim/gait2354/subject01_static.trc"),
    "opencap": ("squat_opencap/walking1.trc", "squat_opencap/static1.trc"),
}
every_walk = pytest.mark.parametrize("lab", WALKS)


def read(shared: Path, lab: str, n_frame: int = 40) -> tuple[MarkerTrial, MarkerTrial]:
    """Return the first frames of a walk, and its static trial."""
    trial, static = (read_markers(shared / "data" / path) for path in WALKS[lab])
    return trial._replace(times=trial.times[:n_frame], positions=trial.positions[:n_frame]), static


def without_trunk(subject: Subject) -> Subject:
    """Return the person as if no marker were on the trunk."""
    segments = {name: segment for name, segment in subject.segments.items() if name != TRUNK}
    return msgspec.structs.replace(subject, segments=segments)


def solved(subject: Subject, trial: MarkerTrial, method: str) -> tuple[Array, Array, Array]:
    """Return angles (n, n_joint, 3), places (n, n_body, 3) and axes (n, n_body, 3, 3) of all frames."""
    estimator = MultibodyEstimator(load_model(model_for(ONE_LEG, subject.side)), subject, method)
    rows = []
    for frame, dt in zip(
        markers_of(trial, subject), np.diff(trial.times, prepend=trial.times[0]), strict=True
    ):
        solution = estimator.estimate(np.ascontiguousarray(frame), float(dt))
        assert solution.converged
        assert solution.n_open == 0
        rows.append((estimator.outputs.angles.copy(), *(x.copy() for x in estimator.pose)))
    angles, places, axes = (np.array(x) for x in zip(*rows, strict=True))
    return angles, places, axes


@every_walk
@pytest.mark.parametrize("side", ["both", "left"])
@pytest.mark.parametrize("method", ["zero", "minimised"])
def test_pelvis_and_legs_are_as_without_a_trunk(shared: Path, lab: str, side: str, method: str) -> None:
    """Protects the free joint: what the trunk's markers do moves nothing else, with real markers."""
    trial, static = read(shared, lab)
    subject = subject_for(trial, static, side=side)
    bare = without_trunk(subject)
    assert list(subject.segments) == [*bare.segments, TRUNK]
    for found, expected in zip(solved(subject, trial, method), solved(bare, trial, method), strict=True):
        assert found.shape[1] == expected.shape[1] + 1
        np.testing.assert_allclose(found[:, :-1], expected, atol=1e-9, rtol=0.0)


@every_walk
def test_the_trunk_is_told_alike_by_both_legs_and_by_the_left_one(shared: Path, lab: str) -> None:
    """Protects the signs of a leg that is solved in a mirror, and the sides of the shoulders."""
    trial, static = read(shared, lab, 3)
    both, left = (subject_for(trial, static, side=side) for side in ("both", "left"))
    signs = [build(load_model(model_for(ONE_LEG, s.side)), s).joint_signs[-1] for s in (both, left)]
    np.testing.assert_array_equal(signs, [[-1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]])
    shown = [
        np.degrees(sign * solved(s, trial, "minimised")[0][:, -1])
        for s, sign in zip((both, left), signs, strict=True)
    ]
    # pelvis and trunk of a leg alone follow other markers, or other frames of the calibration
    np.testing.assert_allclose(shown[0], shown[1], atol=2.0)
    assert (np.abs(shown[0]) < 30.0).all()


def test_the_angles_are_positive_as_the_docs_say(shared: Path) -> None:
    """Protects the signs: bent forwards, to the right, and turned to the left."""
    trial, static = read(shared, "opencap", 1)
    subject = subject_for(trial, static, side="both")
    model = build(load_model("both_legs"), subject)
    at = [subject.marker_names.index(name) for name in subject.segments[TRUNK].markers_mm]
    frame = markers_of(static, subject)[0]
    low = frame[[subject.marker_names.index(name) for name in subject.segments["pelvis"].markers_mm]].mean(
        axis=0
    )
    own, other = (frame[subject.marker_names.index(n)] for n in ("R_Shoulder", "L_Shoulder"))
    to_right = (own - other) / np.linalg.norm(own - other)
    up = np.array([0.0, 1.0, 0.0])
    forwards = np.cross(up, to_right)
    # right-handed turns of the upper body about the pelvis
    for k, axis in enumerate((-to_right, forwards, up)):
        moved = frame.copy()
        moved[at] = low + turned(axis, np.radians(10.0), frame[at] - low)
        shown = []
        for one in (frame, moved):
            estimator = MultibodyEstimator(load_model("both_legs"), subject, "minimised")
            estimator.estimate(np.ascontiguousarray(one), 0.0)
            shown.append(np.degrees(model.joint_signs[-1] * estimator.outputs.angles[-1]))
        change = shown[1] - shown[0]
        assert change[k] == pytest.approx(10.0, abs=1.5)
        assert np.abs(np.delete(change, k)).max() < 3.0


def turned(axis: Array, angle: float, x: Array) -> Array:
    """Return points (n, 3) turned about an axis (3,) through the origin (Rodrigues)."""
    e = axis / np.linalg.norm(axis)
    along = np.outer(x @ e, e)
    return along + np.cos(angle) * (x - along) + np.sin(angle) * np.cross(e, x)


@every_walk
def test_with_both_legs_and_a_trunk_the_model_is_as_heavy_as_the_person(shared: Path, lab: str) -> None:
    """Protects the masses: nothing is missing, nothing counted twice."""
    trial, static = read(shared, lab, 3)
    subject = subject_for(trial, static, side="both")
    spec = with_masses(load_model("both_legs"), subject, person_of(subject, load_inertia_table(), 60.0))
    assert sum(body.mass_kg for body in spec.bodies) == pytest.approx(
        60.0, rel=1e-3
    )  # a table of rounded numbers


def test_the_upper_body_is_the_sum_of_its_parts(shared: Path) -> None:
    """Protects centre and inertia against points of mass: the same moments of mass about any point."""
    trial, static = read(shared, "opencap", 3)
    subject = subject_for(trial, static, side="both")
    person = person_of(subject, load_inertia_table(), 60.0)
    table, H = person.population, person.stature
    segment = subject.segments[TRUNK].segment()
    mass, centre, inertia = upper_body(segment, 60.0, H, table)
    scale, axes = H / table.stature_mm, segment.axes("v", "w")
    tops = {"head": [(0.182 * H, 0.0)]}
    for names, sides in (
        (("upper_trunk", "middle_trunk"), (0.0,)),
        (("upper_arm", "forearm", "hand"), (-1, 1)),
    ):
        y = 0.0
        for name in names:
            tops[name] = [(y, side * 0.129 * H) for side in sides]
            y -= scale * table.segments[name].length_mm
    total, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for name, places in tops.items():
        share = table.segments[name]
        m, length = 0.6 * share.mass_percent, scale * share.length_mm
        sagittal, transverse, long = (1e-2 * length * r for r in share.radii_percent)
        moments = m * np.array([sagittal**2, long**2, transverse**2])  # about x, y, z
        for y, z in places:
            x = np.array([0.0, y - 1e-2 * share.centre_percent * length, z])
            total, first = total + m, first + m * x
            # second moments of mass, from which those of inertia follow
            second += m * np.outer(x, x) + np.diag(0.5 * moments.sum() - moments)
    second -= np.outer(first, first) / total
    assert mass == pytest.approx(total)
    np.testing.assert_allclose(axes.T @ centre, first / total, atol=1e-12)
    np.testing.assert_allclose(axes.T @ inertia @ axes, np.trace(second) * np.eye(3) - second, atol=1e-12)


def test_the_lumbosacral_centre_is_that_of_the_regression() -> None:
    """Protects the regression: a third of the width behind the ASIS, in the middle, on the pelvis' height."""
    asis = np.array([[0.1, 1.0, 0.12]])
    found = lumbosacral_centre(asis, asis * [1.0, 1.0, -1.0], np.array([[-0.1, 1.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.1 - 0.24 * 0.3375, 1.0 + 0.24 * 0.0085, 0.0]], atol=1e-12)


def test_too_few_markers_make_no_trunk_and_say_so(shared: Path) -> None:
    """Protects persons whose trunk is marked in part: the legs go on as before."""
    trial, static = read(shared, "lenhart", 3)
    kept = [k for k, name in enumerate(trial.names) if "Clavicle" not in name and "Scapula" not in name]
    less = trial._replace(names=tuple(trial.names[k] for k in kept), positions=trial.positions[:, kept])
    subject = subject_for(less, static, side="both")
    assert TRUNK not in subject.segments
    assert LUMBOSACRAL not in subject.segments["pelvis"].points_mm
    assert any(note.endswith("needs 3 tracked markers that are not on a line; tracked markers: "
                             "R.Shoulder, L.Shoulder") for note in subject.notes)  # fmt: skip


def test_shoulders_on_the_wrong_side_make_no_trunk(shared: Path) -> None:
    """Protects against exchanged labels, which would turn the trunk around."""
    trial, static = read(shared, "opencap", 3)
    exchanged = {"R_Shoulder": "L_Shoulder", "L_Shoulder": "R_Shoulder"}
    trial, static = (t._replace(names=tuple(exchanged.get(n, n) for n in t.names)) for t in (trial, static))
    subject = subject_for(trial, static, side="right")
    assert TRUNK not in subject.segments
    assert (
        "no trunk: right and left shoulder are exchanged: check right and left in the labels" in subject.notes
    )


def test_one_leg_of_a_person_keeps_the_trunk(shared: Path) -> None:
    """Protects taking a person apart: names of what is there once stay, and the model can be built."""
    trial, static = read(shared, "mcgill", 3)
    both = subject_for(trial, static, side="both")
    for side in ("right", "left"):
        one = one_side(both, side)
        assert list(one.segments) == ["pelvis", "thigh", "shank", "foot", TRUNK]
        assert set(one.segments["pelvis"].points_mm) == {"hip_centre", LUMBOSACRAL}
        assert build(load_model(ONE_LEG), one).names.bodies[-1] == TRUNK


def test_a_model_without_a_person_has_no_optional_bodies() -> None:
    """Protects the model of everybody else: as it was."""
    spec = load_model(ONE_LEG)
    assert [body.name for body in spec.bodies] == ["pelvis", "thigh", "shank", "foot"]
    assert [body.name for body in spec.optional] == [TRUNK]
    nobody = Subject(name="nobody", source="", segments={}, side="left")
    assert for_person(spec, nobody).bodies == spec.bodies


def test_a_marker_of_the_trunk_belongs_to_no_other_segment() -> None:
    """Protects the marker maps: one marker, one segment."""
    lab = msgspec.to_builtins(load_lab("mcgill"))
    lab["right"]["trunk"]["tracking"] = [*lab["right"]["trunk"]["tracking"], "RASI"]
    with pytest.raises((ConfigError, msgspec.ValidationError), match="RASI listed more than once"):
        msgspec.convert(lab, LabMap)


def test_raised_arms_in_the_static_trial_leave_the_trunk_to_the_walk(shared: Path) -> None:
    """Protects the trunk's shape: shoulders 77 mm nearer to each other with raised arms are no good place."""
    trial, static = read(shared, "gait2392", 151)
    subject = subject_for(trial, static, side="right")
    assert sum("calibrated by the movement" in note for note in subject.notes) == 1
    assert not any(note.startswith("check the trunk") for note in subject.notes)
    estimator = MultibodyEstimator(load_model(ONE_LEG), subject, "minimised")
    own = [estimator.model.names.bodies[b] == TRUNK for b in estimator.model.markers.body]
    for frame in markers_of(trial, subject)[::10]:
        estimator.estimate(np.ascontiguousarray(frame), 0.0)
        assert np.sqrt(np.mean(estimator.outputs.residuals[own] ** 2)) < 0.012


@pytest.mark.parametrize("marker", ["R.Shoulder", "R.Clavicle"])
def test_a_marker_that_stands_still_in_a_walk_makes_no_trunk(shared: Path, marker: str) -> None:
    """Protects a walk with a frozen marker: the trunk stays that of the static trial, and is looked at."""
    trial, static = read(shared, "lenhart", 200)
    at = trial.names.index(marker)
    trial.positions[:, at] = trial.positions[0, at] - [2.0, 0.0, 0.0]
    subject, plain = subject_for(trial, static), subject_for(static, static)
    assert subject.segments[TRUNK].length_mm == plain.segments[TRUNK].length_mm
    assert not any("calibrated by the movement" in note for note in subject.notes)
