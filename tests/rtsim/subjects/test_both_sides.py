"""Two legs in one model: the mirror image of the right one, and each leg as if it were alone."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.config.models.both_sides_schema import SUFFIXES, BothSides
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import read_markers
from rtsim.live.inputs.sources import load_trial, resolve_subject
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.both_sides import both_sides
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.subjects.both_sides import join, one_side, symmetric
from rtsim.subjects.calibration.calibration import legs_that_are_there, subject_for
from rtsim.subjects.calibration.masses import load_inertia_table, person_of, with_masses
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.markers.labs import Coverage
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.subject import load_subject, save_subject
from streams.codec import FieldLayout
from streams.messages import marker_session
from streams.receiving.ring import ReceivedFrame
from tests.rtsim.models.small_models import read
from tests.rtsim.stages.solving import Solving

METHODS = ("zero", "minimised", "prescribed")
SIDES = ("right", "left")
ANGLE_DEG = 1e-6
TOLD = (
    "joint_angles", "knee_displacements", "ligament_lengthening", "contact_points", "muscle_lengths",
    "joint_centres", "segment_positions", "segment_rotations",
)  # fmt: skip

SCANNED = """
[[bodies]]
name = "pelvis"
joint = "free"
[[bodies]]
name = "foot"
parent = "pelvis"
joint = "hinge"
axis = "w"
[[contacts]]
name = "sole"
stiffness = 1e6
surface_a = {{ segment = "foot", offset_mm = [1.0, 2.0, 9.0], turned_deg = [10, 20, 30], file = "{file}" }}
surface_b = {{ segment = "ground", turned_deg = [-90.0, 0.0, 0.0], plate_mm = 400.0, lines = 4 }}
"""
SCAN = "v 0 0 0\nv 40 0 0\nv 0 30 0\nv 5 5 20\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
"""A tetrahedron that is not its own mirror image."""


@pytest.fixture(scope="module")
def one():
    return load_model("lower_limb")


@pytest.fixture(scope="module")
def two():
    return load_model("both_legs")


@pytest.fixture(scope="module")
def person():
    """The walker with a left leg that is longer than the right one."""
    whole = symmetric(load_subject(find_config("walker", "subjects")))
    shank = whole.segments["shank_l"]
    longer = {**whole.segments, "shank_l": msgspec.structs.replace(shank, length_mm=shank.length_mm + 9.0)}
    return msgspec.structs.replace(whole, segments=longer)


@pytest.fixture(scope="module")
def trial(two, person):
    return walk(two, person, 0.4)


@pytest.fixture(scope="module")
def estimator(two, person):
    return MultibodyEstimator(two, person, METHODS[0], METHODS)


def others_missing(person, side, measured):
    """The markers without those that stand on the other leg."""
    own = one_side(person, side).marker_names
    return np.where([[name in own] for name in person.marker_names], measured, np.nan)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("method", METHODS)
def test_a_leg_is_as_if_alone_where_the_other_has_no_markers(one, person, trial, estimator, side, method):
    """Protects each leg from the other: angles within 1e-6 degree of the model of one leg."""
    alone = MultibodyEstimator(one, one_side(person, side), method)
    estimator.switch(method)
    estimator.restart()
    legs = slice(0, 3) if side == "right" else slice(3, 6)
    frames = zip(markers_of(trial, one_side(person, side)), markers_of(trial, person), strict=True)
    for own, both in frames:
        assert alone.estimate(own, 0.01).converged
        solution = estimator.estimate(others_missing(person, side, both), 0.01)
        assert solution.converged
        assert solution.n_open > 0  # the other leg is held, and said to be
        expected = alone.outputs.angles * alone.model.joint_signs
        found = (estimator.outputs.angles * estimator.model.joint_signs)[legs]
        np.testing.assert_allclose(np.degrees(found), np.degrees(expected), rtol=0.0, atol=ANGLE_DEG)


def told(solving, trial, positions):
    """Quantity -> its values and labels after these frames."""
    frame = ReceivedFrame(solving.session, FieldLayout(solving.session))
    for k, x in enumerate(positions):
        frame.seq, frame.time = k, 0.01 * k
        frame.data["positions"][...] = x
        solving.solve(frame)
    specs = {spec.name: spec for spec in solving.fields.session.fields}
    return {name: (specs[name].labels, solving.fields.arrays[name].copy()) for name in (*TOLD, "moment_arms")}


@pytest.mark.parametrize("side", SIDES)
def test_every_result_of_a_leg_is_that_of_the_leg_alone(one, two, person, trial, side):
    """Protects signs and names: lateral, contact points, muscles and pictures of either leg read alike."""
    positions = others_missing(person, side, trial.positions)[:5]
    session = marker_session(trial.names, rate=100.0, t_start=0)
    subject = one_side(person, side)
    alone = told(
        Solving(one, MultibodyEstimator(one, subject, "minimised"), subject, session), trial, positions
    )
    both = told(Solving(two, MultibodyEstimator(two, person, "minimised"), person, session), trial, positions)
    for name in TOLD:
        own, expected = alone[name]
        labels, found = both[name]
        shared = ("pelvis", "lumbar")
        entries = [labels.index(label if label in shared else label + SUFFIXES[side]) for label in own]
        np.testing.assert_allclose(found[entries], expected, atol=1e-8, err_msg=name)
    muscles, arms = both["moment_arms"]
    rows = [muscles.index(muscle + SUFFIXES[side]) for muscle in alone["moment_arms"][0]]
    columns = [both["joint_angles"][0].index(angle + SUFFIXES[side]) for angle in alone["joint_angles"][0]]
    np.testing.assert_allclose(arms[np.ix_(rows, columns)], alone["moment_arms"][1], atol=1e-8)


def test_both_knees_start_in_the_right_assembly(person, trial, estimator):
    """Protects the start with two knees: from scratch every frame ends where following it does."""
    measured = markers_of(trial, person)
    estimator.switch("zero")
    estimator.restart()
    for frame in measured:
        estimator.estimate(frame, 0.01)
    followed = estimator.outputs.angles.copy()
    estimator.restart()
    estimator.estimate(measured[-1], 0.0)
    np.testing.assert_allclose(estimator.outputs.angles, followed, atol=1e-8)


def test_a_person_comes_apart_and_together_again(person, tmp_path):
    """Protects subject files of both legs: what is joined, written and read has the same legs."""
    again = join(one_side(person, "right"), one_side(person, "left"))
    for name, segment in person.segments.items():
        for key in ("length_mm", "alpha_deg", "beta_deg", "gamma_deg"):
            assert getattr(again.segments[name], key) == pytest.approx(getattr(segment, key), abs=1e-9)
        assert again.segments[name].markers_mm == segment.markers_mm
        assert again.segments[name].points_mm == segment.points_mm
    save_subject(tmp_path / "both.toml", person)
    assert load_subject(tmp_path / "both.toml") == person


def test_two_legs_of_one_side_are_refused(person):
    """Protects from labels that are wrong: two right legs are nobody."""
    right = one_side(person, "right")
    with pytest.raises(ConfigError, match="right and left"):
        join(right, right)


def test_what_has_no_mirror_image_is_refused(one):
    """Protects doubled models: a body that is not there, a joint and an axis that cannot be doubled."""
    how = BothSides("both", "made up", "lower_limb", ("pelvis",))
    with pytest.raises(ConfigError, match=r"middle: unknown 'trunk'; allowed: pelvis"):
        both_sides(one, msgspec.structs.replace(how, middle=("trunk",)))
    square = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    bent = ({"joint": "universal", "axes": square}, r"universal joint of thigh.*\(ball, free, hinge, weld\)")
    tilted = ({"joint": "hinge", "axis": (1.0, 0.0, 0.0)}, "axis of thigh")
    for change, said in (bent, tilted):
        bodies = tuple(msgspec.structs.replace(b, **change) if b.name == "thigh" else b for b in one.bodies)
        with pytest.raises(ConfigError, match=said):
            both_sides(msgspec.structs.replace(one, bodies=bodies), how)
    bodies = tuple(msgspec.structs.replace(b, axes=square) if b.name == "thigh" else b for b in one.bodies)
    methods = {
        name: msgspec.structs.replace(m, joints={"thigh": "universal"}) for name, m in one.methods.items()
    }
    with pytest.raises(ConfigError, match="universal joint of thigh has no mirror image"):
        both_sides(msgspec.structs.replace(one, bodies=bodies, methods=methods), how)


def test_the_left_side_is_the_mirror_image(two):
    """Protects the one owner of numbers: each point of the left has the right one's numbers, z turned."""
    right = {c.name: c for c in two.contacts if c.name.endswith("_r")}
    for name, contact in right.items():
        left = next(c for c in two.contacts if c.name == name[:-2] + "_l")
        for key in ("ellipsoid", "plane"):
            x, y, z = getattr(contact, key).offset_mm
            assert getattr(left, key).offset_mm == (x, y, -z)
            assert getattr(left, key).segment == getattr(contact, key).segment[:-2] + "_l"


def test_both_legs_are_taken_where_both_are_marked(shared):
    """Protects the default: both legs of a recording; with the markers of one, that one, and a note why."""
    trial = read_markers(shared / "data" / "gait_bmc" / "walk.trc")
    whole = subject_for(trial, side="")
    assert whole.side == "both"
    right = subject_for(trial, side="right")
    assert one_side(whole, "right").segments["foot"] == right.segments["foot"]
    kept = [k for k, name in enumerate(trial.names) if not name.startswith("R.") or name.endswith("SIS")]
    names = tuple(trial.names[k] for k in kept)
    left = subject_for(trial._replace(names=names, positions=trial.positions[:, kept]), side="")
    assert left.side == "left"
    assert "no right leg: " in left.notes[-1]
    with pytest.raises(ConfigError):
        subject_for(trial._replace(names=names, positions=trial.positions[:, kept]), side="both")


def test_the_walker_walks_on_both_legs_where_asked_for():
    """Protects `--side both` and `--side right`: the walker's legs, and one leg of a person with both."""
    assert resolve_subject(RunConfig(name="r", side="both")).side == "both"
    assert resolve_subject(RunConfig(name="r", model="both_legs")).side == "both"
    assert resolve_subject(RunConfig(name="r")).side == "right"
    assert len(load_trial("walker", 0.1, side="both").names) == 30
    with pytest.raises(ConfigError, match="cannot have the left leg alone"):
        resolve_subject(RunConfig(name="r", side="left"))


def test_one_leg_of_a_person_with_both(person, tmp_path):
    """Protects subject files of both legs in runs of one, and those of one leg from runs of both."""
    path = tmp_path / "both.toml"
    save_subject(path, person)
    assert resolve_subject(RunConfig(name="r", subject=str(path))) == person
    assert resolve_subject(RunConfig(name="r", subject=str(path), side="left")) == one_side(person, "left")
    with pytest.raises(ConfigError, match="right leg alone"):
        resolve_subject(RunConfig(name="r", subject="walker", side="both"))


def test_a_missing_leg_leaves_the_checks_of_the_other_as_they_are(person, trial, estimator):
    """Protects swaps and strays with a leg unseen: both are found on the other, and a leg that comes back is
    not taken for strays."""
    measured = markers_of(trial, person)
    names = list(person.marker_names)
    estimator.switch("minimised")
    estimator.restart()
    for k, frame in enumerate(measured):
        x = frame.copy() if k in (0, 35) else others_missing(person, "right", frame)
        if k == 30:
            pair = [names.index("RTTB"), names.index("RSH1")]
            x[pair] = x[pair[::-1]]
        if k == 32:
            x[names.index("RANK")] += 0.3
        solution = estimator.estimate(np.ascontiguousarray(x), 0.01)
        assert solution.converged
        assert solution.n_swap == (1 if k == 30 else 0)
        if k == 32:
            assert estimator.health.weight[names.index("RANK")] == 0.0
        if k == 35:
            assert (estimator.health.weight == 1.0).all()
        elif k > 0:
            assert estimator.held_bodies == ["thigh_l", "shank_l", "foot_l"]


def test_what_is_held_is_told(two, person, trial):
    """Protects the reader of a run with a leg that is not marked: it is said which, once in a while."""
    estimator = MultibodyEstimator(two, person, "minimised")
    session = marker_session(trial.names, rate=100.0, t_start=0)
    solving = Solving(two, estimator, person, session)
    told(solving, trial, others_missing(person, "right", trial.positions)[:5])
    counters, sentences = solving.kinematics.collect()
    assert counters["held_frames"] == 5
    (sentence,) = [text for text in sentences if "near its last pose" in text]
    assert "thigh_l, shank_l, foot_l" in sentence


def test_both_legs_weigh_what_each_does_alone(one, two, person):
    """Protects masses of both legs: those of each leg alone, the left one's as its mirror image."""
    table = load_inertia_table()
    whole = {body.name: body for body in with_masses(two, person, person_of(person, table, 70.0)).bodies}
    for side in SIDES:
        own = one_side(person, side)
        sign = 1.0 if side == "right" else -1.0
        for body in with_masses(one, own, person_of(person, table, 70.0)).bodies[1:]:
            found = whole[body.name + SUFFIXES[side]]
            assert found.mass_kg == pytest.approx(body.mass_kg)
            across = np.array([1.0, 1.0, sign])
            np.testing.assert_allclose(found.mass_centre_mm, across * body.mass_centre_mm, atol=1e-9)
            signs = np.array([1.0, 1.0, 1.0, 1.0, sign, sign])
            np.testing.assert_allclose(found.inertia_kg_m2, signs * body.inertia_kg_m2, atol=1e-12)
    assert person_of(one_side(person, "right"), table, 70.0).stature < person_of(person, table, 70.0).stature


def test_two_right_legs_make_one(person):
    """Protects maps of one leg on both of their sides, and labels exchanged on one: one leg, and a note where
    the markers differ; asked for both, it is an error."""
    right = one_side(person, "right")
    thigh = right.segments["thigh"]
    renamed = msgspec.structs.replace(thigh, markers_mm={f"X{m}": x for m, x in thigh.markers_mm.items()})
    other = msgspec.structs.replace(right, segments={**right.segments, "thigh": renamed})

    def covered(side):
        return Coverage(None, side, 10, ())

    assert legs_that_are_there(lambda side: right, covered, all_of_them=False) == right
    legs = {"right": right, "left": other}
    found = legs_that_are_there(legs.__getitem__, covered, all_of_them=False)
    assert found.segments == right.segments
    assert "stand on the right" in found.notes[-1]
    with pytest.raises(ConfigError, match="right and left"):
        legs_that_are_there(legs.__getitem__, covered, all_of_them=True)


def test_names_of_joints_are_those_of_a_side(one):
    """Protects results at joints: a name of its own is there on each side, that of the middle stays."""
    how = BothSides("both", "made up", "lower_limb", ("pelvis",))
    named = {"thigh": "hip", "pelvis": "root"}
    bodies = tuple(msgspec.structs.replace(body, joint_name=named.get(body.name, "")) for body in one.bodies)
    doubled = both_sides(msgspec.structs.replace(one, bodies=bodies), how)
    found = [body.joint_name for body in doubled.bodies if body.joint_name]
    assert found == ["root", "hip_r", "hip_l"]


def test_surfaces_of_triangles_are_mirrored(tmp_path):
    """Protects a left foot on the floor: its scan and the plate beneath are the right ones with z reversed,
    with their outsides outwards."""
    path = tmp_path / "scan.obj"
    path.write_text(SCAN)
    model = build(both_sides(
        read(SCANNED.format(file=path.as_posix())), BothSides("both", "made up", "m", ("pelvis",))
    ))  # fmt: skip
    meshes = model.forces.contacts.meshes
    assert len(meshes.table) == 4
    surfaces = []
    for row in meshes.table:
        corner, normal, *sides = np.split(meshes.triangle[row[2] : row[2] + row[3], :12], 4, axis=1)
        surfaces.append((corner + (sides[0] + sides[1]) / 3.0, normal))
    mirror = np.array([1.0, 1.0, -1.0])
    for right, left in zip(surfaces[:2], surfaces[2:], strict=True):
        away = np.linalg.norm((mirror * right[0])[:, None] - left[0][None], axis=2)
        assert away.min(axis=1).max() < 1e-12
        np.testing.assert_allclose(left[1][away.argmin(axis=1)], mirror * right[1], atol=1e-12)
    np.testing.assert_allclose(
        surfaces[3][1], np.broadcast_to([0.0, 1.0, 0.0], surfaces[3][1].shape), atol=1e-12
    )
