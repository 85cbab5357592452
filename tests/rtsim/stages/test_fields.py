"""The fields of a result: what the descriptor says is what the frames hold."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from rtsim.config.models.model_tables import MethodSpec
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.stages.poses.stick import stick
from rtsim.subjects.made_up.walker import ANGLES, CYCLE_S, series
from streams.codec import FieldLayout, decode, encode
from streams.messages import FieldSpec, Session, Status, marker_session
from tests.rtsim.stages.solving import Solving

MIRROR = np.array([1.0, 1.0, -1.0])


def solve(solving, make_frame, session, positions, n_frame=1):
    """Run some frames; the arrays and the bytes of the last."""
    result = None
    for index in range(n_frame):
        result = solving.solve(make_frame(session, positions[index], index))
        assert result.status == Status.OK
    return {name: array.copy() for name, array in solving.fields.arrays.items()}, result.data


def test_the_descriptor_is_consistent(make_solving):
    """Protects every reader: units and labels fit the shapes, and the descriptor survives the wire."""
    described = make_solving().fields.session
    for spec in described.fields:
        assert spec.unit in ("rad", "m", "s", "1")
        assert not spec.labels or len(spec.labels) == spec.shape[0]
        assert len(set(spec.labels)) == len(spec.labels)
    assert decode(encode(described)) == described


def shown(spec: FieldSpec) -> tuple:
    return spec.name, spec.shape, spec.unit, spec.labels


def test_the_descriptor_says_what_the_protocol_promises(make_solving, trial):
    """Protects the document: names, shapes, units and labels as docs/protocol.md lists them."""
    fields = {spec.name: spec for spec in make_solving().fields.session.fields}
    n = len(trial.names)
    per_marker = {
        "marker_residuals": "m",
        "marker_weights": "1",
        "marker_gap_age": "s",
        "marker_swap_with": "1",
    }
    for name, unit in per_marker.items():
        assert shown(fields[name]) == (name, (n,), unit, trial.names)
    for name in ("markers_measured", "markers_model"):
        assert shown(fields[name]) == (name, (n, 3), "m", trial.names)
        assert fields[name].frame == "ground"
    assert fields["knee_displacements"].labels == ("lateral", "anterior", "proximal")
    ligaments = ("ACL", "PCL", "MCL", "LCL")
    assert shown(fields["ligament_lengthening"]) == ("ligament_lengthening", (4,), "1", ligaments)
    assert shown(fields["contact_points"]) == ("contact_points", (2, 3), "m", ("medial", "lateral"))
    assert all(spec.meaning for spec in fields.values())
    assert fields["joint_angles"].unit == "rad"
    assert fields["joint_angles"].labels[:4] == (
        "hip_flexion",
        "hip_adduction",
        "hip_internal_rotation",
        "knee_flexion",
    )
    assert fields["joint_centres"].labels == ("lumbar", "hip", "knee", "ankle", "toe")
    assert fields["segment_positions"].labels == ("pelvis", "thigh", "shank", "foot")
    assert fields["segment_rotations"].shape == (4, 3, 3)
    assert fields["marker_rms"].shape == (1,)


def test_meta_describes_the_run(make_solving):
    """Protects the monitor, which draws by `stick` and shows subject and side; the method tells its bias."""
    solving = make_solving()
    meta = solving.fields.session.meta
    centres = next(f.labels for f in solving.fields.session.fields if f.name == "joint_centres")
    assert (meta["model"], meta["subject"], meta["side"]) == ("lower_limb", "walker", "right")
    assert meta["stick"] == stick(("pelvis", "thigh", "shank", "foot"), np.array([-1, 0, 1, 2]))
    assert all(point in centres for pair in meta["stick"] for point in pair)
    assert meta["bias_deg"] == solving.kinematics.estimator.bias_deg
    assert meta["bias_deg"]["hip_flexion"] > 0.0


def test_every_method_has_the_same_descriptor(make_solving, estimator, spec):
    """Protects a switch in mid-run: readers find the same fields whatever the method."""
    described = []
    for method in spec.methods:
        estimator.switch(method)
        described.append(make_solving().fields.session.fields)
    assert all(fields == described[0] for fields in described)


def test_bytes_are_the_arrays(make_solving, make_frame, session, trial):
    """Protects the way to the wire and back: FieldLayout reads what was filled in."""
    solving = make_solving()
    arrays, data = solve(solving, make_frame, session, trial.positions)
    layout = FieldLayout(decode(encode(solving.fields.session)))
    read = layout.views(np.full(layout.n_value, np.nan))
    assert layout.unpack_into(data, read) is None
    assert set(read) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)


def test_frames_do_not_share_memory(make_solving, make_frame, session, trial):
    """Protects a frame in the sender's queue from being overwritten by the next."""
    solving = make_solving()
    first = solving.solve(make_frame(session, trial.positions[0], 0)).data
    copied = dict(first)
    solving.solve(make_frame(session, trial.positions[50], 1))
    assert first == copied
    assert first["joint_angles"] != solving.fields.data()["joint_angles"]


def test_values_are_the_estimators(make_solving, make_frame, session, trial, estimator):
    """Protects each field from another one's values, and residuals from another definition."""
    arrays, _ = solve(make_solving(), make_frame, session, trial.positions, 5)
    out = estimator.outputs
    np.testing.assert_array_equal(arrays["markers_measured"], trial.positions[4])
    np.testing.assert_array_equal(arrays["markers_model"], out.markers)
    gaps = np.linalg.norm(arrays["markers_measured"] - arrays["markers_model"], axis=1)
    np.testing.assert_allclose(arrays["marker_residuals"], gaps, rtol=1e-12)
    assert arrays["marker_rms"][0] == pytest.approx(math.sqrt(np.mean(gaps**2)), rel=1e-12)
    assert (arrays["marker_weights"] == 1.0).all()
    assert (arrays["marker_gap_age"] == 0.0).all()
    assert (arrays["marker_swap_with"] == -1.0).all()
    np.testing.assert_array_equal(arrays["ligament_lengthening"], out.lengthening)
    np.testing.assert_array_equal(arrays["contact_points"], out.contact_points)


def test_angles_have_the_signs_of_the_clinic(make_solving, make_frame, session, trial, subject):
    """Protects the reader: the walker's flexions come out with their sign and to a few degrees."""
    solving = make_solving()
    labels = next(f.labels for f in solving.fields.session.fields if f.name == "joint_angles")
    estimated = []
    for index in range(0, 100, 5):
        solving.solve(make_frame(session, trial.positions[index], index))
        estimated.append(solving.fields.arrays["joint_angles"].copy())
    angles = dict(zip(labels, np.array(estimated).T, strict=True))
    phase = 2.0 * np.pi * trial.times[::5] / CYCLE_S
    truth = {name: np.radians(series(phase, *terms)) for name, terms in ANGLES.items()}
    for name in ("hip_flexion", "knee_flexion", "ankle_dorsiflexion"):
        off = np.degrees(angles[name] - truth[name])
        assert np.corrcoef(angles[name], truth[name])[0, 1] > 0.98, name
        assert np.abs(off).max() < 10.0, name


def test_segments_and_joint_centres_belong_together(make_solving, make_frame, session, trial, subject):
    """Protects the stick figure: joint centres are the segment origins, and the toe the end of the foot."""
    arrays, _ = solve(make_solving(), make_frame, session, trial.positions)
    np.testing.assert_allclose(arrays["joint_centres"][:4], arrays["segment_positions"], atol=1e-15)
    foot = np.linalg.norm(arrays["joint_centres"][4] - arrays["joint_centres"][3])
    assert foot == pytest.approx(1e-3 * subject.segments["foot"].length_mm, rel=1e-9)
    for rotation in arrays["segment_rotations"]:
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(rotation) == pytest.approx(1.0)
    thigh = subject.segments["thigh"]
    local = 1e-3 * np.array([thigh.markers_mm[name] for name in thigh.markers_mm])
    placed = local @ arrays["segment_rotations"][1].T + arrays["segment_positions"][1]
    np.testing.assert_allclose(placed, arrays["markers_model"][4:9], atol=1e-12)


@pytest.mark.parametrize("method", ["zero", "minimised", "prescribed", "hinge"])
def test_a_left_leg_is_a_mirrored_right_one(
    make_solving, make_frame, session, trial, subject, estimator, method
):
    """Protects left legs: mirrored input gives the very same angles and mirrored positions."""
    estimator.switch(method)
    right, _ = solve(make_solving(), make_frame, session, trial.positions, 4)
    left_subject = msgspec.structs.replace(subject, side="left")
    mirrored = make_solving(person=left_subject)
    left, _ = solve(mirrored, make_frame, session, trial.positions * MIRROR, 4)
    assert mirrored.fields.session.meta["side"] == "left"
    across = ("markers_measured", "markers_model", "joint_centres", "segment_positions")
    for name in right.keys() - {*across, "segment_rotations"}:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    for name in across:
        np.testing.assert_array_equal(left[name], right[name] * MIRROR, err_msg=name)
    S = np.diag(MIRROR)
    np.testing.assert_array_equal(left["segment_rotations"], S @ right["segment_rotations"] @ S)
    for rotation in left["segment_rotations"]:
        assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_a_left_leg_in_other_axes_and_units(make_solving, make_frame, session, trial, subject):
    """Protects the order of steps of the marker input: unit, axes, then the side."""
    right, _ = solve(make_solving(), make_frame, session, trial.positions)
    x, y, z = np.moveaxis(1000.0 * trial.positions * MIRROR, -1, 0)
    sent = np.stack([x, -z, y], axis=-1)
    declared = marker_session(trial.names, rate=100.0, t_start=0, unit="mm", up="Z")
    left, _ = solve(
        make_solving(declared, msgspec.structs.replace(subject, side="left")), make_frame, declared, sent
    )
    np.testing.assert_allclose(left["joint_angles"], right["joint_angles"], atol=1e-9)
    np.testing.assert_allclose(left["markers_measured"], trial.positions[0] * MIRROR, rtol=1e-12)


def test_moment_arms_are_labelled_by_muscle_and_angle(make_solving, estimator):
    """Protects the document: a row per muscle, a column per entry of joint_angles."""
    fields = {spec.name: spec for spec in make_solving().fields.session.fields}
    names = fields["muscle_lengths"].labels
    assert {"vasti", "hamstrings", "gastrocnemius", "soleus"} <= set(names)
    assert shown(fields["muscle_lengths"]) == ("muscle_lengths", (len(names),), "m", names)
    n_angle = len(fields["joint_angles"].labels)
    assert shown(fields["moment_arms"]) == ("moment_arms", (len(names), n_angle), "m", names)


@pytest.mark.parametrize(
    ("muscle", "angle", "sign"), [("vasti", "knee_flexion", -1.0), ("soleus", "ankle_dorsiflexion", -1.0)]
)
def test_published_arms_are_about_published_angles(
    make_solving, make_frame, session, trial, estimator, muscle, angle, sign
):
    """Protects signs and columns: between frames the length changes by -r times the change of the angle."""
    estimator.switch("hinge")  # knee flexion is the one angle that changes the vasti
    solving = make_solving()
    labels = {spec.name: spec.labels for spec in solving.fields.session.fields}
    m, a = labels["muscle_lengths"].index(muscle), labels["joint_angles"].index(angle)
    length, theta, arm = [], [], []
    for index in range(0, 100, 2):
        solving.solve(make_frame(session, trial.positions[index], index))
        arrays = solving.fields.arrays
        length.append(arrays["muscle_lengths"][m])
        theta.append(arrays["joint_angles"][a])
        arm.append(arrays["moment_arms"][m, a])
    assert (np.array(arm) * sign > 0.02).all()
    expected = -0.5 * (np.array(arm)[1:] + np.array(arm)[:-1]) * np.diff(theta)
    np.testing.assert_allclose(np.diff(length), expected, atol=2e-5)


def with_muscle_inside(spec):
    """The model with the origin of the gastrocnemius on the axis of the surface that it is to wrap."""
    surface = next(s for s in spec.surfaces if s.name == "medial_condyle_back")
    muscles = []
    for muscle in spec.muscles:
        if muscle.name == "gastrocnemius":
            origin = msgspec.structs.replace(muscle.path[0], offset_mm=surface.offset_mm)
            muscle = msgspec.structs.replace(muscle, path=(origin, *muscle.path[1:]))
        muscles.append(muscle)
    return msgspec.structs.replace(spec, muscles=tuple(muscles))


def test_a_failed_path_is_named_and_counted(spec, subject, session, trial, make_frame):
    """Protects the reader of one muscle: NaN, counted on every frame, told by name; the frame is good."""
    pierced = with_muscle_inside(spec)
    solving = Solving(pierced, MultibodyEstimator(pierced, subject, "minimised"), subject, session)
    for index in range(3):
        result = solving.solve(make_frame(session, trial.positions[index], index))
        assert result.status == Status.OK
    names = next(f.labels for f in solving.fields.session.fields if f.name == "muscle_lengths")
    bad = np.array([name == "gastrocnemius" for name in names])
    arrays = solving.fields.arrays
    np.testing.assert_array_equal(np.isnan(arrays["muscle_lengths"]), bad)
    assert np.isnan(arrays["moment_arms"][bad]).all()
    assert np.isfinite(arrays["moment_arms"][~bad, 0]).all()
    assert solving.muscles.counters["failed_paths"] == 3
    (sentence,) = solving.muscles.sentences
    assert "gastrocnemius (a path point lies inside a wrapping surface)" in sentence


def test_a_model_without_muscles_has_no_fields_of_muscles(spec, subject, session, trial, make_frame):
    """Protects other models: absent rather than empty."""
    bare = msgspec.structs.replace(spec, muscles=(), surfaces=())
    solving = Solving(bare, MultibodyEstimator(bare, subject, "free"), subject, session)
    data = solving.solve(make_frame(session, trial.positions[0])).data
    assert not {"muscle_lengths", "moment_arms"} & {*data, *(f.name for f in solving.fields.session.fields)}


def test_a_model_without_contacts_and_ligaments_has_none_of_them(spec, subject, session, trial, make_frame):
    """Protects other models: no contact, no ligament, no knee, and still a frame that can be sent."""
    bodies = tuple(msgspec.structs.replace(body, registered_by=()) for body in spec.bodies)
    bare = msgspec.structs.replace(
        spec, bodies=bodies, contacts=(), ligaments=(), flexion="", methods={"free": MethodSpec()}
    )
    solving = Solving(bare, MultibodyEstimator(bare, subject, "free"), subject, session)
    result = solving.solve(make_frame(session, trial.positions[0]))
    assert result.status == Status.OK
    assert not {"ligament_lengthening", "contact_points"} & set(result.data)
    assert isinstance(decode(encode(solving.fields.session)), Session)


def test_a_trunk_is_drawn_from_the_pelvis_up():
    """Protects the figure: the trunk's distal end is at its joint, and no toe."""
    lines = stick(("pelvis", "thigh", "shank", "foot", "trunk"), np.array([-1, 0, 1, 2, 0]))
    assert ["lumbar", "lumbosacral"] in lines
    assert ["shoulders", "lumbosacral"] in lines
    assert ["ankle", "toe"] in lines
    assert len(lines) == 6
