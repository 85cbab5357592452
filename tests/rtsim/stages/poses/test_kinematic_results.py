"""Sides and frames of the published results of the kinematics."""

from __future__ import annotations

import numpy as np

from rtsim.live.result_session import ResultSession
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.poses.kinematic_results import frame_of_planes, mirror
from streams.messages import marker_session
from tests.rtsim.models.small_models import read

STANDS = """
[[bodies]]
name = "pelvis"
joint = "free"
[[bodies]]
name = "foot_l"
parent = "pelvis"
joint = "hinge"
axis = "w"
mirrored = true
[[contacts]]
name = "sole"
ellipsoid = { segment = "foot_l", radius_mm = 20.0 }
plane = { segment = "ground", normal = [0.0, 1.0, 0.0] }
[[markers]]
name = "heel"
segment = "foot_l"
"""


def test_a_left_leg_is_mirrored_back():
    """Protects left legs: points and rotations of the right leg that was solved come back mirrored."""
    across = np.diag([1.0, 1.0, -1.0])
    rng = np.random.default_rng(6)
    points, rotations = rng.normal(size=(4, 3)), rng.normal(size=(5, 3, 3))
    expected_points, expected_rotations = points @ across, across @ rotations @ across
    mirror(points)
    mirror(rotations)
    np.testing.assert_array_equal(points, expected_points)
    np.testing.assert_array_equal(rotations, expected_rotations)


def test_a_contact_on_ground_has_no_side_and_the_axes_of_ground():
    """Protects a left foot on the floor: its point comes in ground, not with the signs of the last body."""
    estimator = MultibodyEstimator(read(STANDS), None, "default")
    session = ResultSession(
        [Kinematics(estimator, None)], marker_session(["heel"], rate=100.0, t_start=0), {}
    )
    (spec,) = (field for field in session.fields.session.fields if field.name == "contact_points")
    assert (spec.frame, spec.joints) == ("ground", (("pelvis", "foot_l"),))
    assert session.fields.arrays["contact_points"] is estimator.outputs.contact_points


def test_the_frame_of_contact_points_is_that_of_their_planes():
    """Protects readers from a frame that is named after another body than the one that carries the plane."""
    bodies = ("pelvis", "shank_r", "shank_l", "patella")
    planes = {
        "shank": [1, 2],
        "patella": [3],
        "ground": [-1, -1],
        "the segment that carries the plane": [1, -1],
    }
    for frame, at in planes.items():
        assert frame_of_planes(bodies, np.array(at)) == frame
    assert frame_of_planes(("x" * 65,), np.array([0])) == "the segment that carries the plane"
