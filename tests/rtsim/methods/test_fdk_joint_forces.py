"""Forces and displacements of a joint in the axes of its second body, whatever bodies its elements are on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rtsim.config.runs.fdk_schema import JointForceSpec
from rtsim.errors import ConfigError
from rtsim.methods.fdk.joint_forces import JointForces
from tests.rtsim.models.small_models import built

MODEL = """
[[bodies]]
name = "skull"
joint = "free"
[[bodies]]
name = "jaw"
parent = "skull"
joint = "free"
[[bodies]]
name = "hyoid"
parent = "jaw"
joint = "free"
[[elements]]
name = "condyle"
kind = "plane"
a = { segment = "jaw", offset_mm = [10.0, 20.0, 30.0] }
b = { segment = "ground" }
normal = [0.0, 1.0, 0.0]
[[elements]]
name = "across"
kind = "plane"
a = { segment = "jaw" }
b = { segment = "skull" }
normal = [0.0, 0.0, 1.0]
[[elements]]
name = "below"
kind = "plane"
a = { segment = "hyoid" }
b = { segment = "jaw" }
normal = [1.0, 0.0, 0.0]
[[elements]]
name = "other"
kind = "plane"
a = { segment = "hyoid" }
b = { segment = "skull" }
normal = [1.0, 0.0, 0.0]
"""
HELD = ("across", "below", "other")
TURNS = Rotation.from_rotvec([[0.1, 0.2, 0.3], [0.4, -0.2, 0.1], [-0.3, 0.5, 0.2]])
PLACES = np.array([[0.1, 1.5, 0.0], [0.15, 1.4, 0.02], [0.1, 1.3, 0.0]])


def solved(reactions: tuple[float, float, float]) -> SimpleNamespace:
    """What JointForces reads of a solver whose elements `HELD` bear these reactions [N]."""
    state = np.zeros((0, 40))
    return SimpleNamespace(
        model=built(MODEL), held=HELD, hard=HELD, pushes=np.zeros(0), reactions=np.array(reactions),
        joint=SimpleNamespace(pushing=(), element=(), strength=np.zeros(0)), pose=(PLACES, TURNS.as_matrix()),
        work=SimpleNamespace(forces=SimpleNamespace(contacts=SimpleNamespace(state=state))),
    )  # fmt: skip


def test_a_joint_with_ground_is_told_in_ground() -> None:
    """Protects displacements and forces of a joint whose plane is on ground from the last body's axes."""
    joints = JointForces(solved((0.0, 0.0, 0.0)), {"jaw": JointForceSpec("condyle")})
    joints.update(known=True)
    point = np.array([0.01, 0.02, 0.03])
    np.testing.assert_allclose(joints.displacement[0], PLACES[1] + TURNS[1].apply(point) - point, atol=1e-12)
    assert not joints.force.any()


def test_reactions_of_other_elements_are_turned_into_the_axes_of_the_joint() -> None:
    """Protects what a joint takes from elements: their normals are in other bodies' axes, and of one that
    holds the joint's body by its plane the opposite reaction acts.
    """
    takes = {"across": "negative", "below": "positive"}
    joints = JointForces(solved((-3.0, 5.0, 0.0)), {"jaw": JointForceSpec("condyle", takes=takes)})
    joints.update(known=True)
    expected = -3.0 * TURNS[0].apply([0.0, 0.0, 1.0]) - 5.0 * TURNS[1].apply([1.0, 0.0, 0.0])
    np.testing.assert_allclose(joints.force[0], expected, atol=1e-12)


def test_a_joint_takes_no_reaction_of_other_bodies() -> None:
    """Protects from the load of another joint: an element that does not act on the point's body."""
    with pytest.raises(ConfigError, match="element other does not act on jaw"):
        JointForces(solved((0.0, 0.0, 0.0)), {"jaw": JointForceSpec("condyle", takes={"other": "positive"})})
