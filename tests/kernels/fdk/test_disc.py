"""A disc in each joint of the jaw, whose place and tilt forces decide: symmetry, balance, root, frames."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from kernels.fdk.problem import BALANCED
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.methods.fdk.joint_forces import JointForces
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from tests.naive import volumetric
from tests.naive.fdk import places
from tests.naive.tree import state

pytestmark = pytest.mark.own_kernels

Array = NDArray[np.float64]

RUN, SPEC = load_run(find_config("mandible_disc", "runs")), load_model("mandible_disc")
G = np.array([0.0, -9.81, 0.0])
SIDES = ("right", "left")
OPEN = {"opening": 0.2, "protrusion": 0.004, "elevation": -0.0023}
ASKEW = {"opening": 0.1, "protrusion": 0.002, "elevation": -0.00115, "deviation": 0.02}


def jaw(**options) -> ForceDependentKinematics:
    """As in the shipped run, to 1e-6 N."""
    fdk = msgspec.structs.replace(RUN.fdk, **{"tolerance_N": 1e-6, **options})
    return ForceDependentKinematics(build(SPEC, method=RUN.method), roles_of(SPEC, RUN.method), fdk)


@pytest.fixture(scope="module")
def own() -> ForceDependentKinematics:
    return jaw()


def frame(own: ForceDependentKinematics, pose: dict[str, float]) -> tuple[Array, ...]:
    """Markers of a pose at rest."""
    at, q = own.model.coordinates, own.model.q_neutral.copy()
    for name, value in pose.items():
        q[at.q[at.names.index(name)]] = value
    x = places(own.model, q).reshape(-1, 3)
    own.forget()
    return x, np.zeros_like(x), np.zeros_like(x), np.ones(len(x))


def decided(own: ForceDependentKinematics) -> dict[str, float]:
    """Where forces have what they decide, by name [m], [rad]."""
    return dict(zip(own.spec.dofs, (own.alpha / own.arc).tolist(), strict=True))


@pytest.mark.parametrize("pose", [{}, OPEN])
def test_both_joints_of_a_symmetrical_jaw_are_mirror_images(own, pose) -> None:
    """Protects both discs: alike forwards, upwards and tilted, opposite across, pressed alike; stable."""
    assert own.balance(*frame(own, pose)) == BALANCED
    found = decided(own)
    for part, sign in (("forwards", 1.0), ("up", 1.0), ("across", -1.0), ("tilt", 1.0)):
        right, left = (found[f"{side}_disc_{part}"] for side in SIDES)
        assert right == pytest.approx(sign * left, abs=1e-8)
    assert found["midline"] == pytest.approx(0.0, abs=1e-8)
    joints = JointForces(own, RUN.fdk.joints)
    joints.update(known=True)
    np.testing.assert_allclose(joints.force[0], joints.force[1] * [1.0, 1.0, -1.0], atol=1e-4)
    assert (joints.force[:, 1] < -1.0).all()
    assert joints.apart() == ()
    assert own.least_stiffness > 0.0


def contact(own: ForceDependentKinematics, name: str) -> tuple[int, int, Array, Array]:
    """Bodies A and B, force on A [N], and where it acts in ground [m], of an ellipsoid on a plane."""
    model, at = own.model, state(own.model.tree, own.q).body
    c, pairs = model.names.contacts.index(name), model.forces.pairs
    contacts, pair = model.forces.contacts, model.forces.contacts.pair[c]
    a, b = int(pairs.body_a[pair]), int(pairs.body_b[pair])
    centre = (at[a] @ np.append(contacts.centre[c], 1.0))[:3]
    n = at[b][:3, :3] @ contacts.normal[c]
    R, radii = at[a][:3, :3], contacts.radii[c]
    away = R.T @ ((at[b] @ np.append(contacts.point[c], 1.0))[:3] - centre)
    deep = volumetric.depth(radii, R.T @ n, away)
    patch = volumetric.patch(radii, R.T @ n, deep)
    return a, b, 1e10 * patch.volume * n * (deep > 0.0), centre + R @ patch.centroid


@pytest.mark.parametrize("pose", [{}, OPEN, ASKEW])
def test_all_that_acts_on_a_disc_is_in_equilibrium(own, pose) -> None:
    """Protects the whole: fossa, bands, springs and weight of NumPy add up to nothing along each axis, and
    about the axis of the tilt.
    """
    assert own.balance(*frame(own, pose)) == BALANCED
    model, at = own.model, state(own.model.tree, own.q).body
    springs = {one.name: one for one in SPEC.springs}
    bodies = {name: k for k, name in enumerate(model.names.bodies)}
    for side in SIDES:
        disc = bodies[f"{side}_disc"]
        centre = at[disc][:3, 3]
        total = model.system.bodies.mass[disc] * G
        moment = np.zeros(3)
        for part in ("lateral", "medial", "posterior_band", "anterior_band"):
            a, b, force, place = contact(own, f"{side}_{part}")
            assert disc in (a, b)
            assert np.linalg.norm(force) > 0.1
            force = force if a == disc else -force
            total, moment = total + force, moment + np.cross(place - centre, force)
        for part in ("lateral_collateral", "medial_collateral", "retrodiscal"):
            spring = springs[f"{side}_{part}"]
            ends = {
                end.segment: (at[bodies[end.segment]] @ np.append(1e-3 * np.array(end.offset_mm), 1.0))[:3]
                for end in (spring.a, spring.b)
            }
            here = ends.pop(f"{side}_disc")
            way = next(iter(ends.values())) - here
            long = np.linalg.norm(way)
            force = spring.stiffness_N_m * (long - 1e-3 * spring.rest_mm) * way / long
            total, moment = total + force, moment + np.cross(here - centre, force)
        np.testing.assert_allclose(total, 0.0, atol=1e-4)
        assert moment @ at[disc][:3, 2] == pytest.approx(0.0, abs=1e-6)


def test_an_opening_jaw_turns_under_its_discs(own) -> None:
    """Protects what a disc is for: as the jaw opens by 11 degrees the condyle turns under the disc by about
    as much, which hardly turns in the fossa.
    """
    tilt = {}
    for name, pose in (("closed", {}), ("open", OPEN)):
        assert own.balance(*frame(own, pose)) == BALANCED
        disc, skull = (own.pose[1][own.model.names.bodies.index(body)] for body in ("right_disc", "skull"))
        jaw_now = own.pose[1][own.model.names.bodies.index("mandible")]
        tilt[name] = [
            Rotation.from_matrix(a.T @ b).as_rotvec()[2] for a, b in ((skull, disc), (jaw_now, disc))
        ]
    in_fossa, on_condyle = np.subtract(tilt["open"], tilt["closed"])
    assert on_condyle == pytest.approx(0.2, abs=0.05)
    assert abs(in_fossa) < 0.05


@pytest.mark.parametrize("pose", [{}, ASKEW])
def test_slopes_are_those_of_differences(own, pose) -> None:
    """Protects the analytic Jacobian of eleven degrees of freedom, in motion: to 1e-6 of it."""
    x, v, a, w = frame(own, pose)
    rng = np.random.default_rng(3)
    assert (
        own.balance(x, v + 0.05 * rng.standard_normal(x.shape), a + rng.standard_normal(x.shape), w)
        == BALANCED
    )
    analytic, coarse, fine = (own.slopes(h) for h in (0.0, 2e-6, 1e-6))
    np.testing.assert_allclose(analytic, (4.0 * fine - coarse) / 3.0, atol=1e-6 * np.abs(analytic).max())


def test_the_equilibrium_is_the_root_of_the_same_forces(own) -> None:
    """Protects the search: SciPy's hybrid method ends at the same place from 20 micrometres beside."""
    assert own.balance(*frame(own, ASKEW)) == BALANCED
    found = own.alpha.copy()

    def residual(alpha: Array) -> Array:
        own.alpha[:] = 1e-3 * alpha
        own.slopes(0.0)
        return own.residual.copy()

    beside = 1e3 * found + 0.02 * np.random.default_rng(1).choice([-1.0, 1.0], len(found))
    answer = root(residual, beside, method="hybr", options={"xtol": 1e-11, "eps": 1e-6, "factor": 0.1})
    np.testing.assert_allclose(1e-3 * answer.x, found, atol=1e-8)


def test_a_laboratory_that_is_turned_and_moved_changes_nothing(own) -> None:
    """Protects frames: a head that looks elsewhere in the room has its discs in the same place."""
    x, v, a, w = frame(own, ASKEW)
    assert own.balance(x, v, a, w) == BALANCED
    alpha, activations = own.alpha.copy(), own.activations.copy()
    turn = Rotation.from_rotvec([0.0, 0.7, 0.0]).as_matrix()
    own.forget()
    assert own.balance(x @ turn.T + [1.0, 0.5, -2.0], v, a, w) == BALANCED
    np.testing.assert_allclose(own.alpha, alpha, atol=1e-9)
    np.testing.assert_allclose(own.activations, activations, atol=1e-7)
