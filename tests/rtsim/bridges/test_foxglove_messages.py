"""What Foxglove is told: each message against its schema, places and turns against the frame's."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rtsim.bridges.foxglove_messages import FoxgloveFrames
from rtsim.bridges.foxglove_scene import quaternion_of
from rtsim.bridges.foxglove_schemas import stamp
from streams.codec import FieldLayout
from streams.messages import FieldSpec, Session, Status, new_session_id
from streams.receiving.ring import ReceivedFrame

T_NS = 1_700_000_000_123_456_789


def told(frames, said=None, fields=()):
    """Return messages of frames, 10 ms apart, as they come out of JSON."""
    made = FoxgloveFrames(fields, (said if said is not None else []).append)
    messages = [m for k, frame in enumerate(frames) for m in made.of(frame, T_NS + 10_000_000 * k)]
    return [m._replace(payload=json.loads(msgspec.json.encode(m.payload))) for m in messages]


def of_topic(messages, topic):
    return [message.payload for message in messages if message.topic == topic]


def test_every_message_is_as_its_schema_says(walk_frames):
    """Protects Foxglove's panels: messages of whole, broken and unusable frames fit their schemas."""
    jsonschema = pytest.importorskip("jsonschema")
    frames = walk_frames(20, 40, joint_angles=np.array([np.nan, 0.5]))
    frames[5].status = Status.NOT_CONVERGED
    frames[6].data["markers_measured"][:] = np.nan
    frames[7].data["segment_rotations"][:] = 0.0
    frames[8].data["joint_centres"][2] = np.inf
    messages = told(frames)
    assert len({message.topic for message in messages}) >= 7
    for message in messages:
        jsonschema.Draft202012Validator.check_schema(message.schema)
        jsonschema.Draft202012Validator(message.schema).validate(message.payload)


def test_the_figure_is_where_the_frame_has_it(walk_frames):
    """Protects the picture: spheres at the markers, pieces from joint to joint, the ground below a world
    with Z up, the pelvis as it is turned.
    """
    turn = Rotation.from_euler("xyz", [0.3, -0.2, 1.1])
    frame = walk_frames(7, 1, segment_rotations=turn.as_matrix()[None])[0]
    messages = told([frame])
    (scene,), (tree,) = of_topic(messages, "/scene"), of_topic(messages, "/tf")
    entities = {entity["id"]: entity for entity in scene["entities"]}
    places = [list(sphere["pose"]["position"].values()) for sphere in entities["markers_measured"]["spheres"]]
    np.testing.assert_array_equal(places, frame.data["markers_measured"])
    ends = [list(point.values()) for point in entities["bones"]["lines"][0]["points"]]
    np.testing.assert_array_equal(ends, frame.data["joint_centres"][[0, 1, 1, 2, 0, 3, 3, 4]])
    ground, pelvis = tree["transforms"]
    upright = Rotation.from_quat(list(ground["rotation"].values())).apply([0.0, 1.0, 0.0])
    np.testing.assert_allclose(upright, [0.0, 0.0, 1.0], atol=1e-12)
    assert (pelvis["parent_frame_id"], pelvis["child_frame_id"]) == ("ground", "pelvis")
    back = Rotation.from_quat(list(pelvis["rotation"].values()))
    np.testing.assert_allclose(back.as_matrix(), turn.as_matrix(), atol=1e-12)
    np.testing.assert_array_equal(list(pelvis["translation"].values()), frame.data["segment_positions"][0])


def test_what_is_not_to_be_used_is_left_out(walk_frames):
    """Protects curves: JSON has no NaN, so numbers of unusable frames and of no marker are not there."""
    frames = walk_frames(0, 2)
    frames[1].status = Status.NOT_CONVERGED
    frames[1].data["markers_measured"][0] = np.nan
    messages = told(frames)
    first, second = of_topic(messages, "/numbers/joint_angles")
    assert first["knee_flexion_r"] == pytest.approx(np.degrees(frames[0].data["joint_angles"][0]))
    assert second == {}
    entity = of_topic(messages, "/scene")[1]["entities"]
    assert len(next(e for e in entity if e["id"] == "markers_measured")["spheres"]) == 1
    assert [status["words"] for status in of_topic(messages, "/status")] == ["ok", "not_converged"]
    assert of_topic(messages, "/status")[1]["bits"] == int(Status.NOT_CONVERGED)


def test_events_status_and_notes_are_in_the_log(walk_frames, new_walk_session):
    """Protects who reads along: heel strikes, toe-offs, another status and the notes, each once."""
    session = new_walk_session()
    session.meta["notes"] = ["the left leg is short"]
    frames = walk_frames(20, 60, session)
    frames[30].status = Status.NOT_CONVERGED
    log = of_topic(told(frames), "/log")
    assert [entry["message"] for entry in log] == [
        "the left leg is short", "status: ok", "left toe-off", "right heel strike", "status: not_converged",
        "status: ok", "left toe-off",
    ]  # fmt: skip
    assert [entry["level"] for entry in log] == [2, 2, 2, 2, 3, 2, 2]


def test_fields_that_are_asked_for(walk_frames):
    """Protects --field: those alone, and a wrong name is told with those that there are."""
    said: list[str] = []
    messages = told(walk_frames(0, 2), said, ("markers_measured", "joint_angels"))
    assert {m.topic for m in messages if m.topic.startswith("/numbers")} == {"/numbers/markers_measured"}
    assert set(of_topic(messages, "/numbers/markers_measured")[0]) == {"RKNE", "LKNE"}
    assert any("'joint_angels'" in sentence and "joint_angles" in sentence for sentence in said)


def test_fields_beyond_the_most_numbers_are_left_out_and_told():
    """Protects viewers of large models: what is too much is named, and the rest is shown."""
    fields = (
        FieldSpec("coordinates", (2,), "rad, m", ("knee", "pelvis_x"), units=("rad", "m")),
        FieldSpec("muscle_lengths", (4096,), "m"),
        FieldSpec("last", (1,), "m"),
    )
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=fields, meta={}
    )
    frame, said = ReceivedFrame(session, FieldLayout(session)), []
    frame.data["coordinates"][:] = 0.5, 0.25
    messages = told([frame], said)
    numbers = [m for m in messages if m.topic.startswith("/numbers")]
    assert [m.topic for m in numbers] == ["/numbers/coordinates"]
    assert numbers[0].payload == pytest.approx({"knee": np.degrees(0.5), "pelvis_x": 0.25})
    described = numbers[0].schema["properties"]
    assert [described[name]["description"] for name in ("knee", "pelvis_x")] == ["deg", "m"]
    assert any("more than 4096 numbers" in text and "muscle_lengths" in text for text in said)


def test_a_new_session_has_its_own_schemas(walk_frames, new_walk_session):
    """Protects a switch of method or model: what follows is as the new descriptor says."""
    first, second = walk_frames(0, 1), walk_frames(0, 1, new_walk_session())
    messages = told([*first, *second])
    assert len(of_topic(messages, "/numbers/joint_angles")) == 2


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.full((3, 3), np.nan), -np.eye(3), 2.0 * np.eye(3)])
def test_what_is_no_rotation_is_none(matrix):
    """Protects the frames' tree: a mirrored, scaled or missing matrix makes no quaternion."""
    assert quaternion_of(matrix) is None


def test_stamps_keep_nanoseconds():
    """Protects times: seconds and nanoseconds make up the time again."""
    assert stamp(T_NS) == {"sec": 1_700_000_000, "nsec": 123_456_789}
