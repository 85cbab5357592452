"""Signs and zeros as docs/clinic.md tells them: a leg is moved by hand, and the angles are read."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rtsim.config.models.model_tables import MethodSpec
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.subjects.anatomy import Anatomy
from tests.rtsim.stages.solving import Solving

Array = NDArray[np.float64]

TURN_DEG = 20.0
BELOW = {"hip": ("thigh", "shank", "foot"), "knee": ("shank", "foot"), "ankle": ("foot",)}
# X forwards, Y up, Z to the right: which way the part below the joint of a right leg turns
MOVEMENTS = {
    "hip_flexion": ("Z", 1.0, "shank", (1, 0, 0)),  # the knee goes forwards
    "hip_adduction": ("X", 1.0, "shank", (0, 0, -1)),  # towards the other leg
    "hip_internal_rotation": ("Y", 1.0, "toes", (0, 0, -1)),  # the toes turn inwards
    "knee_flexion": ("Z", -1.0, "foot", (-1, 0, 0)),  # the heel goes backwards
    "knee_adduction": ("X", 1.0, "foot", (0, 0, -1)),  # the ankle goes inwards: bow leg
    "knee_internal_rotation": ("Y", 1.0, "toes", (0, 0, -1)),
    "ankle_dorsiflexion": ("Z", 1.0, "toes", (0, 1, 0)),  # the toes go up
    "ankle_inversion": ("X", 1.0, "sole", (0, 0, -1)),  # the sole turns inwards
    "ankle_internal_rotation": ("Y", 1.0, "toes", (0, 0, -1)),
}


@pytest.fixture
def leg(spec, subject):
    """Markers, and where parts are, of a leg whose angles are all 0 but for a turn of one joint about an axis
    of the upright body [rad]."""
    anatomy = Anatomy(spec, subject)

    def pose(joint: str = "", turn: Rotation | None = None) -> tuple[Array, dict[str, Array]]:
        rotation: dict[str, Array] = {}
        origin: dict[str, Array] = {}
        for body in spec.bodies:
            if not body.parent:
                rotation[body.name] = anatomy.segments[body.name].axes("w", "u").T
                origin[body.name] = np.array([0.0, 1.0, 0.0])
                continue
            up, down = body.angles.proximal, body.angles.distal
            relative = anatomy.segments[body.parent].axes(*up) @ anatomy.segments[body.name].axes(*down).T
            rotation[body.name] = rotation[body.parent] @ relative
            at = origin[body.parent] + rotation[body.parent] @ anatomy.place(
                body.in_parent, body.parent, body.name
            )
            if joint and turn and body.name == BELOW[joint][0]:
                rotation[body.name] = turn.as_matrix() @ rotation[body.name]
            own = anatomy.place(body.in_child, body.name, body.name)
            origin[body.name] = at - rotation[body.name] @ own
        markers = [
            origin[name] + rotation[name] @ (1e-3 * np.array(x))
            for name, segment in subject.segments.items()
            for x in segment.markers_mm.values()
        ]
        foot = rotation["foot"]
        parts = {**origin, "toes": origin["foot"] + foot[:, 0], "sole": origin["foot"] - foot[:, 1]}
        return np.array(markers), parts

    return pose


@pytest.fixture
def angles(spec, subject, make_frame, session):
    """Angles by name [deg] of a leg with these markers, knee and ankle free of contacts and ligaments."""
    loose = msgspec.structs.replace(spec, muscles=(), methods={"loose": MethodSpec()})
    estimator = MultibodyEstimator(loose, subject, "loose")

    def read(markers: Array) -> dict[str, float]:
        estimator.restart()
        solving = Solving(loose, estimator, subject, session)
        result = solving.solve(make_frame(session, markers))
        labels = next(f.labels for f in solving.fields.session.fields if f.name == "joint_angles")
        return dict(zip(labels, np.degrees(np.frombuffer(result.data["joint_angles"])), strict=True))

    return read


def test_the_zero_position_is_zero(leg, angles):
    """Protects the zero of all angles: axes of neighbours that coincide."""
    assert np.abs(list(angles(leg()[0]).values())).max() < 1e-4


@pytest.mark.parametrize("name", MOVEMENTS)
def test_a_movement_has_the_sign_of_its_name(leg, angles, name):
    """Protects reports: what the page for clinicians calls positive is, and moves no other angle much."""
    axis, sense, part, towards = MOVEMENTS[name]
    turn = Rotation.from_euler(axis.lower(), sense * TURN_DEG, degrees=True)
    markers, moved = leg(name.partition("_")[0], turn)
    _, before = leg()
    assert (moved[part] - before[part]) @ np.array(towards) > 0.05  # it is the movement that is meant
    found = angles(markers)
    # at knee and ankle the person's own axes are a few degrees off those of the upright body
    assert found.pop(name) == pytest.approx(TURN_DEG, abs=0.6)
    assert np.abs(list(found.values())).max() < 4.0


def test_a_tilted_pelvis_is_hip_flexion(leg, angles):
    """Protects the page's remark: who stands straight with a pelvis tilted forwards flexes the hip."""
    markers, parts = leg("hip", Rotation.from_euler("z", 10.0, degrees=True))
    upright = Rotation.from_euler("z", -10.0, degrees=True)  # the whole person, until the leg is vertical
    sagittal = upright.apply(parts["shank"] - parts["thigh"])[:2]
    assert abs(sagittal[0]) < 0.05 * abs(sagittal[1])
    assert angles(upright.apply(markers))["hip_flexion"] == pytest.approx(10.0, abs=1e-4)
