"""Slopes of the published numbers against differences of their twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kernels.joints.tree import pose
from kernels.solver.constraints import element_values
from kernels.solver.output_jacobian import new_jacobian_work, output_jacobian
from kernels.solver.outputs import read_outputs
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from tests.kernels import leg
from tests.naive.deviation import outputs
from tests.naive.differences import first_derivative
from tests.rtsim.models.small_models import read

ON_GROUND = """
[[bodies]]
name = "foot"
joint = "free"
[[bodies]]
name = "toes"
parent = "foot"
joint = "hinge"
axis = "w"
in_parent = { offset_mm = [90.0, -20.0, 0.0] }
[[contacts]]
name = "sole"
ellipsoid = { segment = "foot", offset_mm = [-30.0, -40.0, 5.0], radius_mm = 20.0 }
plane = { segment = "ground", offset_mm = [10.0, 5.0, 0.0], normal = [0.1, 1.0, 0.2] }
[[markers]]
name = "heel"
segment = "foot"
"""
"""A sole on a slope of the ground; the last body is far from it, and turned."""
KNEE = slice(11, 14)
"""Its translations among the coordinates [m]."""


@pytest.mark.parametrize("method", ["zero", "ball", "free"])
@pytest.mark.parametrize("joints", [(1,), (0, 2)])
def test_slopes_are_those_of_the_numbers(method: str, joints: tuple[int, ...]) -> None:
    """Protects every column: angles, displacements, lengthening and contact points."""
    running = MultibodyEstimator(leg.lower_limb(), leg.SUBJECT, method, check=leg.QUICK)
    setup = running._now
    model, work = setup.skeleton, setup.work.solver
    q, displaced = leg.rough_coordinates(0.3 + joints[0]), np.array(joints, np.int64)
    q[KNEE] = 0.012, -0.02, 0.016  # what turns with a gap is nothing where there is none
    if len(running.q) < len(q):  # a ball at the knee has no translations
        q = np.delete(q, KNEE)
    pose(model.tree, q, work.pose)
    element_values(model.elements, work.pose, running.roles.target, work.element)
    expected = first_derivative(lambda x: outputs(model, displaced, x), model.tree, q)
    found = np.full((expected.shape[1], expected.shape[0]), np.nan)
    output_jacobian(model, displaced, work.pose, work.element, new_jacobian_work(), found)
    np.testing.assert_allclose(found.T, expected, atol=2e-9)


def test_a_contact_on_ground_is_told_in_ground() -> None:
    """Protects a point on the floor, and its deviation, from the frame of the model's last body."""
    running = MultibodyEstimator(read(ON_GROUND), None, "default")
    setup = running._now
    model, work, out = setup.skeleton, setup.work.solver, running.outputs
    turn = Rotation.from_rotvec([0.2, -0.5, 0.3])
    q = np.r_[0.3, 0.9, -0.2, np.roll(turn.as_quat(), 1), 0.7]
    centre, normal = q[:3] + turn.apply([-0.03, -0.04, 0.005]), np.array([0.1, 1.0, 0.2]) / np.sqrt(1.05)
    pose(model.tree, q, work.pose)
    element_values(model.elements, work.pose, running.roles.target, work.element)
    found, none = np.full(3, np.nan), np.zeros(0, np.int64)
    read_outputs(model, none, work.pose, work.element, out, found)
    height = (centre - [0.01, 0.005, 0.0]) @ normal
    np.testing.assert_allclose(found, centre - height * normal, atol=1e-12)
    slopes = np.full((len(model.tree.dof_body), 3), np.nan)
    output_jacobian(model, none, work.pose, work.element, new_jacobian_work(), slopes)
    expected = first_derivative(lambda x: outputs(model, none, x), model.tree, q)
    np.testing.assert_allclose(slopes.T, expected, atol=2e-9)
