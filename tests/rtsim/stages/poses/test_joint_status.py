"""Which joints and segments the flags of a frame regard."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.markers.marker_health import EXCHANGED, OUTLIER, SEGMENT, Health, new_health
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.stages.poses.joint_status import JointStatus, regards
from rtsim.subjects.anatomy import for_person
from streams.messages import Status
from tests.rtsim.stages.whole_person import whole_person

LEG_R, LEG_L = ("hip_r", "knee_r", "ankle_r"), ("hip_l", "knee_l", "ankle_l")


@pytest.fixture(scope="module")
def model() -> Model:
    """Both legs and a trunk."""
    subject = whole_person()
    return build(for_person(load_model("both_legs"), subject), subject, "minimised")


@pytest.fixture
def health(model: Model) -> Health:
    """All markers seen for long, none at fault."""
    found = new_health(len(model.names.markers))
    found.n_seen[:] = 100
    return found


def told(
    model: Model,
    health: Health,
    status: Status,
    held: tuple[str, ...] = (),
    vague: tuple[str, ...] = (),
    unusual: tuple[str, ...] = (),
) -> dict[str, int]:
    """The status of each joint that is not ok."""
    by_joint, labels = JointStatus(model), model.names.joint_angles
    weak, weaker = ([labels.index(name) for name in names] for names in (vague, unusual))
    by_joint.tell(status, held, health, weak, weaker, np.zeros(len(labels)))
    return {name: int(bits) for name, bits in zip(by_joint.names, by_joint.joints, strict=True) if bits}


def marker_of(model: Model, segment: str) -> int:
    """A marker of a segment."""
    return int(np.flatnonzero(model.markers.body == model.names.bodies.index(segment))[0])


def test_a_frame_that_is_ok_is_so_in_all_joints(model: Model, health: Health) -> None:
    """Protects the meaning of ok, also after a frame that was not."""
    by_joint = JointStatus(model)
    assert set(by_joint.names) == {*LEG_R, *LEG_L, "trunk"}
    nothing = np.zeros(len(model.names.joint_angles))
    by_joint.tell(Status.NOT_CONVERGED, (), health, [], [], nothing)
    assert set(by_joint.joints.tolist()) == set(by_joint.segments.tolist()) == {float(Status.NOT_CONVERGED)}
    by_joint.tell(Status.OK, (), health, [], [], nothing)
    assert not by_joint.joints.any()
    assert not by_joint.segments.any()


def test_a_marker_at_fault_regards_its_limb(model: Model, health: Health) -> None:
    """Protects the other leg: what is wrong on the right foot is no flag of the left, nor of the trunk."""
    health.fault[marker_of(model, "foot_r")] = OUTLIER
    assert told(model, health, Status.SUSPECT) == dict.fromkeys(LEG_R, Status.SUSPECT)
    health.fault[:] = 0
    health.fault[marker_of(model, "trunk")] = SEGMENT
    assert told(model, health, Status.SUSPECT) == {"trunk": Status.SUSPECT}


def test_what_is_wrong_with_the_root_regards_all(model: Model, health: Health) -> None:
    """Protects from legs that hang on a wrong pelvis, or on one that wrong markers of a leg pull at."""
    everything = {*LEG_R, *LEG_L, "trunk"}
    for marker, fault in (("pelvis", OUTLIER), ("thigh_l", SEGMENT)):
        health.fault[:] = 0
        health.fault[marker_of(model, marker)] = fault
        assert set(told(model, health, Status.SUSPECT)) == everything
    assert set(told(model, health, Status.DEGRADED)) == everything  # nothing says which
    assert set(told(model, health, Status.IMPLAUSIBLE)) == everything


def test_segments_that_are_held_regard_their_limb(model: Model, health: Health) -> None:
    """Protects the other leg of one that no marker determines."""
    found = told(model, health, Status.DEGRADED, held=("thigh_l", "shank_l"))
    assert found == dict.fromkeys(LEG_L, Status.DEGRADED)


def test_an_uncertain_angle_regards_its_joint(model: Model, health: Health) -> None:
    """Protects sound legs from a weak trunk, and the joints beside one whose angle always hangs on little;
    where it does by what the frame adds, or a marker is missed, the limb leans on what is left, and beside
    the pelvis all may."""
    assert told(model, health, Status.UNCERTAIN, vague=("trunk_bending",)) == {"trunk": Status.UNCERTAIN}
    assert told(model, health, Status.UNCERTAIN, vague=("hip_flexion_r",)) == {"hip_r": Status.UNCERTAIN}
    for name, regarded in (
        ("knee_flexion_r", set(LEG_R)),
        ("hip_flexion_r", {*LEG_R, *LEG_L, "trunk"}),
        ("trunk_flexion", {"trunk"}),
    ):
        found = told(model, health, Status.UNCERTAIN, vague=(name,), unusual=(name,))
        assert found == dict.fromkeys(regarded, Status.UNCERTAIN)
    health.weight[marker_of(model, "shank_r")] = 0.0
    found = told(model, health, Status.UNCERTAIN, vague=("hip_flexion_r",))
    assert found == dict.fromkeys(LEG_R, Status.UNCERTAIN)


def test_labels_put_right_for_certain_regard_none(model: Model, health: Health) -> None:
    """Protects the other flags of the frame: they do not make such labels suspect."""
    m = marker_of(model, "shank_l")
    health.fault[m], health.certain[m] = EXCHANGED, 1
    health.fault[marker_of(model, "foot_r")] = OUTLIER
    assert set(told(model, health, Status.SUSPECT)) == set(LEG_R)


def test_another_persons_markers_regard_all(model: Model, health: Health) -> None:
    """Protects from a stream that is not the subject's: no joint of it is ok, whatever else is flagged."""
    by_joint = JointStatus(model)
    by_joint.tell(Status.OK, (), health, [], [], np.zeros(len(model.names.joint_angles)))
    by_joint.doubt()
    assert (by_joint.joints == float(Status.SUSPECT)).all()
    by_joint.tell(Status.OK, (), health, [], [], np.zeros(len(model.names.joint_angles)))
    assert not by_joint.joints.any()


@pytest.mark.parametrize(
    ("segment", "regarded"), [("shank_l", {*LEG_R, *LEG_L, "trunk"}), ("trunk", {"trunk"})]
)
def test_a_segment_that_has_stepped_pulls_at_all(model: Model, segment: str, regarded: set[str]) -> None:
    """Protects the joints beside a segment that is off as one body: its markers are followed all the same."""
    health, by_joint = new_health(len(model.names.markers)), JointStatus(model)
    stepped = np.array([int(name == segment) for name in model.names.bodies])
    nothing = np.zeros(len(model.names.joint_angles))
    by_joint.tell(Status.SUSPECT, (), health, [], [], nothing, stepped)
    assert {name for name, bits in zip(by_joint.names, by_joint.joints, strict=True) if bits} == regarded
    assert set(np.flatnonzero(by_joint.segments)) == set(np.flatnonzero(stepped))


def test_limbs_of_any_tree() -> None:
    """Protects models of other trees: limbs are what hangs on the root, however they branch."""
    parent = np.array([-1, 0, 1, 1, 0, 4])  # two limbs, of which the first branches
    found = regards(parent, parent[1:], np.arange(1, 6))
    expected = [[1, 1, 1, 1, 0, 0]] * 3 + [[1, 0, 0, 0, 1, 1]] * 2
    np.testing.assert_array_equal(found, np.array(expected, bool))


def test_moments_need_all_below(model: Model) -> None:
    """Protects moments: that of the hip follows from the motion of the foot, too."""
    by_joint = JointStatus(model)
    below = dict(zip(by_joint.names, by_joint.joints_below(), strict=True))
    assert set(below["hip_l"]) == set(LEG_L)
    assert set(below["knee_r"]) == {"knee_r", "ankle_r"}
    assert below["ankle_l"] == ("ankle_l",)
    assert below["trunk"] == ("trunk",)


def test_what_lies_across_several_joints_regards_them_all(model: Model) -> None:
    """Protects ligaments over two joints, and contacts on ground, from the status of one joint alone."""
    by_joint, at = JointStatus(model), model.names.bodies.index
    ends = [
        (at("thigh_r"), at("shank_r")), (at("shank_r"), at("thigh_r")), (at("thigh_r"), at("foot_r")),
        (at("foot_l"), -1), (at("pelvis"), -1),
    ]  # fmt: skip
    assert [{*names} for names in by_joint.joints_across(ends)] == [
        {"knee_r"}, {"knee_r"}, {"knee_r", "ankle_r"}, {*LEG_L}, {*by_joint.names},
    ]  # fmt: skip
