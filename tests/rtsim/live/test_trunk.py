"""A trunk that is hidden for a while: it alone is not known, pelvis and legs go on as they were."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.forces.force_trial import ForceTrial
from rtsim.files.markers.trial import MarkerTrial
from rtsim.models.load import load_model
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.calibration.trunk import LUMBOSACRAL, TRUNK
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import walker_forces
from rtsim.subjects.subject import Subject, SubjectSegment, load_subject
from streams.messages import Status
from tests.rtsim.live.test_with_forces import Analysed, analysed

HIDDEN = slice(40, 60)
MASSES = RunConfig(
    name="test", method="minimised", methods=("minimised",), stages=("kinematics", "centre_of_mass")
)


@pytest.fixture(scope="module")
def spec() -> ModelSpec:
    return load_model("lower_limb")


@pytest.fixture(scope="module")
def subject() -> Subject:
    """The walker with four markers on the trunk."""
    walker = load_subject(find_config("walker", "subjects"))
    x, y, _ = walker.segments["pelvis"].points_mm["hip_centre"]
    pelvis = walker.segments["pelvis"]
    pelvis = msgspec.structs.replace(pelvis, points_mm={**pelvis.points_mm, LUMBOSACRAL: (x, y + 80.0, 0.0)})
    markers = {"RSHO": (0.0, 0.0, 170.0), "LSHO": (0.0, 0.0, -170.0), "C7": (-70.0, 30.0, 0.0),
               "STRN": (100.0, -170.0, 0.0)}  # fmt: skip
    trunk = SubjectSegment(450.0, 90.0, 90.0, 90.0, markers)
    segments = {**walker.segments, "pelvis": pelvis, TRUNK: trunk}
    return msgspec.structs.replace(walker, segments=segments)


@pytest.fixture(scope="module")
def trial(spec: ModelSpec, subject: Subject) -> MarkerTrial:
    return walk(for_person(spec, subject), subject, 1.2)


@pytest.fixture(scope="module")
def forces(trial: MarkerTrial) -> ForceTrial:
    return walker_forces(trial)


@pytest.fixture(scope="module")
def whole(spec: ModelSpec, subject: Subject, trial: MarkerTrial, forces: ForceTrial) -> Analysed:
    return analysed(spec, subject, trial, forces)


def without(trial: MarkerTrial, subject: Subject, frames: slice) -> MarkerTrial:
    """The trial with the trunk's markers hidden on some frames."""
    positions = trial.positions.copy()
    positions[frames, [[trial.names.index(name)] for name in subject.segments[TRUNK].markers_mm]] = np.nan
    return trial._replace(positions=positions)


def rows(result: Analysed, field: str) -> NDArray[np.bool_]:
    """Which entries of a field are those of the trunk."""
    return np.array([label.startswith(TRUNK) for label in labels_of(result, field)])


def test_a_hidden_trunk_degrades_nothing_but_itself(whole, spec, subject, trial, forces) -> None:
    """Protects the legs' status and numbers, and the user from a trunk that is made up."""
    seen = analysed(spec, subject, without(trial, subject, HIDDEN), forces)
    assert (whole.status == Status.OK).all()
    np.testing.assert_array_equal(seen.status, whole.status)
    assert seen.counters["trunk_unseen"] == 20
    assert any("Too few markers determine the trunk" in said for said in seen.sentences)
    for field in ("joint_angles", "joint_moments", "joint_forces", "joint_powers"):
        own = rows(whole, field)
        assert own.any()
        assert np.isnan(seen.fields[field][HIDDEN][:, own]).all()
        np.testing.assert_allclose(
            seen.fields[field][:, ~own],
            whole.fields[field][:, ~own],
            atol=1e-5 * np.nanmax(np.abs(whole.fields[field])),
        )
    angles = rows(whole, "joint_angles")
    np.testing.assert_allclose(
        seen.fields["joint_angles"][60:, angles], whole.fields["joint_angles"][60:, angles], atol=1e-8
    )
    assert np.isnan(seen.fields["residual_force"][HIDDEN]).all()


def test_a_stream_without_the_trunk_of_the_person_is_fine(whole, spec, subject, trial, forces) -> None:
    """Protects persons whose file has a trunk, on a day when it was not marked."""
    own = subject.segments[TRUNK].markers_mm
    kept = [k for k, name in enumerate(trial.names) if name not in own]
    bare = trial._replace(names=tuple(trial.names[k] for k in kept), positions=trial.positions[:, kept])
    seen = analysed(spec, subject, bare, forces)
    assert (seen.status == Status.OK).all()
    angles = rows(whole, "joint_angles")
    assert np.isnan(seen.fields["joint_angles"][:, angles]).all()
    np.testing.assert_allclose(
        seen.fields["joint_angles"][:, ~angles], whole.fields["joint_angles"][:, ~angles], atol=1e-8
    )
    assert np.isnan(seen.fields["residual_force"]).all()


@pytest.fixture(scope="module")
def bending(subject: Subject, trial: MarkerTrial, whole: Analysed) -> MarkerTrial:
    """The trial with a trunk that bends forwards by three degrees per frame while its markers are hidden."""
    columns = [trial.names.index(name) for name in subject.segments[TRUNK].markers_mm]
    about = whole.fields["joint_centres"][:, [labels_of(whole, "joint_centres").index(LUMBOSACRAL)]]
    angle = -np.radians(3.0) * np.clip(np.arange(len(trial.times)) - HIDDEN.start + 4, 0, 20)
    c, s, none, one = np.cos(angle), np.sin(angle), np.zeros(len(angle)), np.ones(len(angle))
    R = np.moveaxis(np.array([[c, -s, none], [s, c, none], [none, none, one]]), 2, 0)
    positions = trial.positions.copy()
    positions[:, columns] = about + (positions[:, columns] - about) @ np.swapaxes(R, 1, 2)
    return trial._replace(positions=positions)


def test_a_trunk_that_is_found_again_is_told_when_its_filter_has_settled(
    spec, subject, bending, forces
) -> None:
    """Protects from moments and residuals of a trunk that leaps from where it was last seen to where it is,
    in frames called ok; the legs go on as they are."""
    truth = analysed(spec, subject, bending, forces)
    seen = analysed(spec, subject, without(bending, subject, HIDDEN), forces)
    assert (seen.status[HIDDEN] == Status.OK).all()
    settling, known = slice(HIDDEN.start, HIDDEN.stop + 15), slice(HIDDEN.stop + 20, None)
    for field in (
        "coordinates",
        "coordinate_accelerations",
        "joint_moments",
        "joint_powers",
        "residual_force",
    ):
        found, right = seen.fields[field], truth.fields[field]
        own = rows(truth, field) if field != "residual_force" else np.ones(3, bool)
        assert np.isnan(found[settling][:, own]).all(), field
        scale = np.nanmax(np.abs(right[:, own]))
        np.testing.assert_allclose(found[known][:, own], right[known][:, own], atol=0.05 * scale)
        np.testing.assert_allclose(found[:, ~own], right[:, ~own], atol=1e-5 * np.nanmax(np.abs(right)))


def test_an_unseen_trunk_has_no_pose_and_the_body_no_centre_of_mass(spec, subject, bending) -> None:
    """Protects from a trunk, half of the mass, that stays where it was last seen in frames called ok."""
    heavy = msgspec.structs.replace(subject, mass_kg=70.0)
    truth = analysed(spec, heavy, bending, None, MASSES)
    seen = analysed(spec, heavy, without(bending, subject, HIDDEN), None, MASSES)
    assert np.isfinite(truth.fields["centre_of_mass"]).all()
    assert np.ptp(truth.fields["centre_of_mass"][HIDDEN, 0]) > 0.05
    for field in ("centre_of_mass", "centre_of_mass_deviation"):
        np.testing.assert_array_equal(np.isnan(seen.fields[field]), np.isnan(seen.fields["centre_of_mass"]))
        assert np.isnan(seen.fields[field][HIDDEN]).all()
    known = np.delete(np.arange(len(seen.status)), HIDDEN)
    np.testing.assert_allclose(
        seen.fields["centre_of_mass"][known], truth.fields["centre_of_mass"][known], atol=1e-6
    )
    assert seen.counters["centre_of_mass_unseen"] == 20
    assert "pose_stepped" not in seen.counters
    assert (seen.status[HIDDEN] == Status.OK).all()
    markers = np.isin(labels_of(seen, "markers_model"), [*subject.segments[TRUNK].markers_mm])
    centres = np.isin(labels_of(seen, "joint_centres"), ["shoulders", LUMBOSACRAL])
    for field, own in (
        ("segment_positions", rows(seen, "segment_positions")),
        ("segment_rotations", rows(seen, "segment_rotations")),
        ("segment_positions_deviation", rows(seen, "segment_positions")),
        ("joint_centres", centres), ("joint_centres_deviation", centres), ("markers_model", markers),
    ):  # fmt: skip
        assert own.any()
        assert not own.all()
        assert np.isnan(seen.fields[field][HIDDEN][:, own]).all(), field
        assert np.isfinite(seen.fields[field][:, ~own]).all(), field
        assert np.isfinite(seen.fields[field][known]).all(), field


def test_a_trunk_of_one_marker_is_told_as_too_few_markers(spec, subject, trial) -> None:
    """Protects users who see a marker of the trunk on the screen: that it is not enough is what is told."""
    heavy = msgspec.structs.replace(subject, mass_kg=70.0)
    hidden = without(trial, subject, HIDDEN)
    shown = trial.names.index("STRN")
    hidden.positions[HIDDEN, shown] = trial.positions[HIDDEN, shown]
    seen = analysed(spec, heavy, hidden, None, MASSES)
    assert np.isnan(seen.fields["centre_of_mass"][HIDDEN]).all()
    assert seen.counters["centre_of_mass_unseen"] == 20
    assert not any("No marker" in said or "all segments" in said for said in seen.sentences)
    for part in ("the trunk", "the root or the trunk"):
        assert any(f"Too few markers determine {part}: " in said for said in seen.sentences)


def test_a_hidden_leg_leaves_the_centre_of_mass_as_it_says(spec, subject, trial) -> None:
    """Protects what is stated of NaN: a leg stays near its last pose, in frames that are degraded."""
    heavy = msgspec.structs.replace(subject, mass_kg=70.0)
    leg = [name for part in ("thigh", "shank", "foot") for name in subject.segments[part].markers_mm]
    positions = trial.positions.copy()
    positions[HIDDEN, [[trial.names.index(name)] for name in leg]] = np.nan
    seen = analysed(spec, heavy, trial._replace(positions=positions), None, MASSES)
    assert np.isfinite(seen.fields["centre_of_mass"]).all()
    assert (seen.status[HIDDEN] != Status.OK).all()
    assert "centre_of_mass_unseen" not in seen.counters
    (meaning,) = [one.meaning for one in seen.session.fields if one.name == "centre_of_mass"]
    assert meaning.endswith("or not of the root or the trunk")


def labels_of(result: Analysed, field: str) -> tuple[str, ...]:
    """The labels of a field."""
    return next(spec.labels for spec in result.session.fields if spec.name == field)
