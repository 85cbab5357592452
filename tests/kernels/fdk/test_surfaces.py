"""Surfaces of triangles in a joint: contacts of the model, told of as any other, with slopes of their own."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kernels.fdk.problem import BALANCED, NOT_BALANCED, NOT_BORNE
from rtsim.config.models.contact_schema import Contact
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.fdk_schema import FdkSpec, JointForceSpec
from rtsim.errors import ConfigError
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.methods.fdk.joint_forces import JointForces
from rtsim.models.jaw.jaw_surfaces import of_formulas
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from tests.naive.fdk import places

pytestmark = [pytest.mark.own_kernels, pytest.mark.compiled]

DOFS = ("right_normal", "left_normal", "midline")
JOINTS = {side: JointForceSpec(f"{side}_normal", (side,)) for side in ("left", "right")}


@pytest.fixture(scope="module")
def spec(tmp_path_factory) -> ModelSpec:
    """The mandible on the surfaces that formulas make, read from files."""
    return of_formulas(load_model("mandible"), tmp_path_factory.mktemp("jaw"))


def jaw(spec: ModelSpec, **options: str) -> ForceDependentKinematics:
    """Decided by forces, to a micronewton."""
    settings = FdkSpec(dofs=DOFS, tolerance_N=1e-6, **options)
    return ForceDependentKinematics(build(spec, method="pop"), roles_of(spec, "pop"), settings)


def exchanged(spec: ModelSpec) -> ModelSpec:
    """The same contacts with what is A and what is B exchanged."""
    rows = msgspec.to_builtins(spec.contacts)
    for row in rows:
        row["surface_a"], row["surface_b"] = row["surface_b"], row["surface_a"]
    return msgspec.structs.replace(spec, contacts=tuple(msgspec.convert(rows, list[Contact])))


def test_surfaces_of_a_model_decide_where_its_joint_lies(spec) -> None:
    """Protects the one mechanism: balance, slopes, forces told of, in whatever order surfaces are named."""
    found = []
    for one in (jaw(spec), jaw(exchanged(spec))):
        still, joints = np.zeros((8, 3)), JointForces(one, JOINTS)
        x = places(one.model, one.model.q_neutral).reshape(-1, 3)
        assert one.balance(x, still, still, np.ones(8)) == BALANCED
        analytic = one.slopes(0.0)
        np.testing.assert_allclose(analytic, one.slopes(1e-7), atol=5e-3 * np.abs(analytic).max())
        joints.update(known=True)
        assert (joints.force[:, 1] < -1.0).all()  # the skull pushes condyles down
        assert joints.apart() == ()
        found.append((one.alpha.copy(), joints.force.copy()))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-8)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-3)


def test_both_jacobians_end_at_the_same_place(spec) -> None:
    """Protects alpha on triangles from the way its slopes are found: forces do not leap."""
    places_found = []
    for kind in ("analytic", "difference"):
        one, still = jaw(spec, jacobian=kind), np.zeros((8, 3))
        x = places(one.model, one.model.q_neutral).reshape(-1, 3)
        assert one.balance(x, still, still, np.ones(8)) == BALANCED
        places_found.append(one.alpha.copy())
    np.testing.assert_allclose(*places_found, atol=1e-9)


TORN = (
    # turned, shifted [rad], [m]: what nothing presses in, and how it ends
    ((0.0, 0.0, 0.3), (0.0, 0.0, 0.0), ("right", "left"), NOT_BALANCED),
    ((0.2, 0.0, 0.0), (0.0, 0.02, 0.0), ("left",), NOT_BORNE),  # the right condyle alone: too far for muscles
)


def test_of_surfaces_that_are_apart_no_force_is_told(spec) -> None:
    """Protects a joint pulled apart, on one side or both, from the force of its last touch; it goes on."""
    for one in (jaw(spec), jaw(exchanged(spec))):
        still, joints = np.zeros((8, 3)), JointForces(one, JOINTS)
        x = places(one.model, one.model.q_neutral).reshape(-1, 3)
        for turn, shift, apart, ended in TORN:
            assert one.balance(x, still, still, np.ones(8)) == BALANCED
            assert joints.apart() == ()
            one.forget()
            away = x.copy()
            away[4:] = x[4:] @ Rotation.from_rotvec(turn).as_matrix().T + shift
            assert one.balance(away, still, still, np.ones(8)) == ended
            assert joints.apart() == apart
            joints.update(known=True)
            for k, name in enumerate(joints.names):
                assert joints.force[k].any() == (name not in apart)
            one.forget()
        assert one.balance(x, still, still, np.ones(8)) == BALANCED


def test_a_joint_names_contacts_of_its_own_body(spec) -> None:
    """Protects from the force of another joint: a contact that does not press on the point's body."""
    one = jaw(spec)
    pairs = one.model.forces.pairs
    kept = pairs.body_a.copy(), pairs.body_b.copy()
    pairs.body_a[:], pairs.body_b[:] = 0, -1  # the skull on the ground
    with pytest.raises(ConfigError, match="left does not act on mandible"):
        JointForces(one, JOINTS)
    pairs.body_a[:], pairs.body_b[:] = kept
