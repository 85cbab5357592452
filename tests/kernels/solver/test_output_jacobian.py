"""Slopes of the published numbers against differences of their twins."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.joints.tree import pose
from kernels.solver.constraints import element_values
from kernels.solver.output_jacobian import new_jacobian_work, output_jacobian
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from tests.kernels import leg
from tests.naive.deviation import outputs
from tests.naive.differences import first_derivative

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
