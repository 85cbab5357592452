"""Models with their own markers and a body that is called trunk, which is no trunk of a person."""

from __future__ import annotations

import numpy as np

from kernels.compiler.jit import allow_compilation
from kernels.markers.marker_health import new_health
from rtsim.config.load import check_record, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.live.result_session import ResultSession
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.stages.building.find import make_stages
from rtsim.stages.markers.missing_root import is_trunk_apart
from rtsim.stages.poses.joint_status import JointStatus
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.calibration.trunk import TRUNK
from streams.messages import Status, marker_session
from tests.naive.tree import state
from tests.rtsim.models import legs
from tests.rtsim.stages.whole_person import both_legs, whole_person

HIDDEN = slice(20, 25)
BODY = """
[[bodies]]
name = "trunk"
parent = "hips"
joint = "hinge"
axis = [0, 0, 1]
in_parent = { offset_mm = [0.0, 100.0, 0.0] }
coordinates = [{ name = "bend" }]
mass_kg = 30.0
mass_centre_mm = [0.0, 200.0, 0.0]
inertia_kg_m2 = [1.0, 0.8, 1.2]
"""
PLACES = ([-70.0, 300.0, 0.0], [50.0, 350.0, 170.0], [50.0, 350.0, -170.0])
ON_TRUNK = "\n".join(
    legs.MARKER.format(name=f"trunk.{k}", segment="trunk", offset=list(place))
    for k, place in enumerate(PLACES)
)
SPEC = check_record(
    parse_toml(f"{legs.text(muscle=False)}\n{BODY}\n{ON_TRUNK}", "legs"), ModelSpec, "the test's model"
)


def bent(model: Model, index: int) -> np.ndarray:
    """Markers (n_marker, 3) [m] of a frame in which the trunk bends by 0.01 rad per frame."""
    q = model.q_neutral.copy()
    q[model.coordinates.q[model.coordinates.names.index("bend")]] += 0.01 * index
    pose = state(model.tree, q)
    places = zip(model.markers.body, model.markers.position, strict=True)
    positions = np.array([pose.point(int(body), place) for body, place in places])
    if HIDDEN.start <= index < HIDDEN.stop:
        positions[model.markers.body == model.names.bodies.index(TRUNK)] = np.nan
    return positions


def test_a_trunk_that_is_not_seen_is_no_sound_pose(make_frame) -> None:
    """Protects from coordinates of a trunk that stay as they were, and their centre of mass, under ok."""
    allow_compilation()
    model = build(SPEC)
    stages = make_stages(RunConfig(name="test", stages=("kinematics", "centre_of_mass")), SPEC, None)
    session = marker_session(model.names.markers, rate=100.0, t_start=0)
    course = ResultSession(stages, session, {})
    found, centre = [], []
    for index in range(40):
        frame = make_frame(session, bent(model, index), index)
        result = course.run(frame)
        found.append(result.status)
        sent = course.message(frame, result, index, result.status)
        centre.append(np.frombuffer(sent.data["centre_of_mass"]))
    assert all(Status.DEGRADED in status for status in found[HIDDEN])
    unknown = np.isnan(centre).any(axis=1)
    assert unknown[HIDDEN].all()
    assert not unknown[: HIDDEN.start].any()
    assert not any(found[: HIDDEN.start] + found[HIDDEN.stop :])
    counters, told = stages[0].collect()
    assert counters["held_frames"] == 5
    assert any("trunk: it stays near its last pose" in said for said in told)


def test_a_trunk_stands_apart_only_where_nothing_follows_from_it() -> None:
    """Protects what hangs on a trunk, and a model's own coordinates, from counting as a person's legs do."""
    person = whole_person()
    spec = for_person(load_model("both_legs"), person)
    assert is_trunk_apart(build(spec, person, "free"))
    assert not is_trunk_apart(build(for_person(load_model("both_legs"), both_legs()), both_legs(), "free"))
    assert not is_trunk_apart(build(SPEC))
    root = legs.text(muscle=False).replace('"hips', '"trunk')
    assert not is_trunk_apart(build(check_record(parse_toml(root, "legs"), ModelSpec, "the test's model")))


def test_a_trunk_of_a_model_pulls_at_the_rest() -> None:
    """Protects the joints beside a trunk that has fewer freedoms than a person's: its faults are theirs."""
    model = build(SPEC)
    by_joint, stepped = JointStatus(model), np.zeros(len(model.names.bodies), np.int64)
    stepped[model.names.bodies.index(TRUNK)] = 1
    health, nothing = new_health(len(model.names.markers)), np.zeros(len(by_joint.of_angles))
    by_joint.tell(Status.SUSPECT, (), health, [], [], nothing, stepped)
    assert (by_joint.joints == float(Status.SUSPECT)).all()
