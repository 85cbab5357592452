"""Force-dependent kinematics of the shipped mandible: twins, slopes, laws, and what it says when it fails."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.fdk.problem import BALANCED, NOT_BALANCED, NOT_BORNE, NOT_PLACED
from kernels.joints.tree import difference
from kernels.solver.constraints import OFF
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.errors import ConfigError
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.models.roles import roles_of
from tests.naive.fdk import places, rates, share, values, work_of_wrench

pytestmark = pytest.mark.own_kernels

Array = NDArray[np.float64]

SPEC = load_model("mandible")
DOFS = ("right_normal", "left_normal", "midline")
POSES = [
    {},
    {"opening": 0.1, "protrusion": 0.002, "elevation": -0.00115},
    {"opening": 0.2, "protrusion": 0.004, "elevation": -0.0023, "deviation": 0.02},
]


def joint(
    *dofs: str, model: Model | None = None, reserves: dict[str, float] | None = None, **options
) -> ForceDependentKinematics:
    """The mandible on points on planes, of which forces decide some."""
    return ForceDependentKinematics(
        model or build(SPEC, method="pop"), roles_of(SPEC, "pop"), FdkSpec(dofs=dofs, **options),
        RecruitmentSpec(reserves=reserves or {}),
    )  # fmt: skip


@pytest.fixture(scope="module")
def jaw() -> ForceDependentKinematics:
    """With the three FDK degrees of freedom of the paper, to 1e-6 N."""
    return joint(*DOFS, tolerance_N=1e-6)


def frame(model: Model, pose: dict[str, float], seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Markers of a pose with noise, in a motion of the size of chewing, and weights."""
    q = model.q_neutral.copy()
    for name, value in pose.items():
        q[model.coordinates.q[model.coordinates.names.index(name)]] = value
    rng = np.random.default_rng(seed)
    noise, velocity, acceleration = (s * rng.standard_normal((8, 3)) for s in (1e-4, 0.05, 1.0))
    return places(model, q).reshape(-1, 3) + noise, velocity, acceleration, np.ones(8)


@pytest.mark.parametrize("pose", POSES)
def test_rates_are_those_of_dense_algebra(jaw, pose) -> None:
    """Protects eqs 9 and 10: speeds and accelerations by differences and one dense system."""
    markers = frame(jaw.model, pose)
    jaw.forget()
    assert jaw.balance(*markers) == BALANCED
    v, v_dot = rates(jaw.model, jaw.q, *markers[1:])
    np.testing.assert_allclose(jaw.at.v, v, atol=1e-8)
    np.testing.assert_allclose(jaw.at.v_dot, v_dot, atol=2e-5)
    np.testing.assert_allclose(values(jaw.model, jaw.q), jaw.alpha, atol=1e-11)


def test_rates_of_the_optimum_are_those_of_poses_found_before_and_after() -> None:
    """Protects the differentiated conditions of optimality: v, v-dot by solving at t +- h, 5 mm residuals."""
    own = joint(velocities="optimum")
    x, v, a, w = frame(own.model, POSES[1])
    x += 5e-3 * np.random.default_rng(7).standard_normal(x.shape)
    tree, found = own.model.tree, []
    own.balance(x, v, a, w)
    q0, at = own.q.copy(), (own.at.v.copy(), own.at.v_dot.copy())
    for h in (2e-3, 1e-3):
        moved = []
        for t in (h, -h):
            own.balance(x + t * v + 0.5 * t**2 * a, v + t * a, a, w)
            step = np.zeros(own.model.n_v)
            difference(tree, q0, own.q, step)
            moved.append((step, own.at.v.copy()))
        (q_after, v_after), (q_before, v_before) = moved
        found.append(((q_after - q_before) / (2 * h), (v_after - v_before) / (2 * h)))
    for coarse, fine, exact, atol in zip(*found, at, (1e-7, 1e-5), strict=True):
        np.testing.assert_allclose(exact, (4.0 * fine - coarse) / 3.0, atol=atol)
    plain = joint()
    plain.balance(x, v, a, w)
    assert np.abs(plain.at.v - at[0]).max() > 1e-2  # eq. 9 leaves the residuals' part out


@pytest.mark.parametrize("dofs", [(), DOFS])
def test_the_load_is_borne_as_in_the_twin(dofs) -> None:
    """Protects eqs 11 to 14: muscles, one-way contacts and reactions beside sequential quadratic programs."""
    own = joint(*dofs)
    assert own.balance(*frame(own.model, POSES[1])) == BALANCED
    balance, at = own.work.balance, own.at
    x, phi = share(at.action, at.row, balance.load, 3)
    np.testing.assert_allclose(balance.activation, x, atol=2e-4)
    np.testing.assert_allclose(own.reactions, phi, atol=0.05)
    assert (balance.activation**3).sum() <= (x**3).sum() * (1.0 + 1e-6)
    lacking = at.action.T @ balance.activation + at.row.T @ own.reactions - balance.load
    np.testing.assert_allclose(lacking, 0.0, atol=1e-11)


def test_the_answer_fulfils_the_conditions_of_optimality_to_rounding(jaw) -> None:
    """Protects the polish: stationarity of every activation, none of the held rows in the multipliers."""
    jaw.forget()
    assert jaw.balance(*frame(jaw.model, POSES[2])) == BALANCED
    balance, at = jaw.work.balance, jaw.at
    drive = at.action @ balance.multiplier
    slope = 3.0 * balance.activation**2
    free = balance.free == 1
    assert free.any()
    assert not free.all()
    np.testing.assert_allclose(slope[free], drive[free], atol=1e-13)
    assert (drive[~free] <= 1e-13).all()
    np.testing.assert_allclose(at.row @ balance.multiplier, 0.0, atol=1e-13)


@pytest.mark.parametrize("pose", POSES)
def test_slopes_are_those_of_differences(jaw, pose) -> None:
    """Protects the analytic Jacobian: of everything that an evaluation solves, to 1e-6 of it."""
    markers = frame(jaw.model, pose)
    jaw.forget()
    assert jaw.balance(*markers) == BALANCED
    analytic = jaw.slopes(0.0)
    coarse, fine = jaw.slopes(2e-6), jaw.slopes(1e-6)
    np.testing.assert_allclose(analytic, (4.0 * fine - coarse) / 3.0, atol=1e-6 * np.abs(analytic).max())


def test_slopes_with_rates_of_the_optimum_are_those_of_differences() -> None:
    """Protects the analytic Jacobian where rates are of the optimum, whose multipliers change along alpha."""
    own = joint(*DOFS, tolerance_N=1e-6, velocities="optimum")
    assert own.balance(*frame(own.model, POSES[1])) == BALANCED
    analytic = own.slopes(0.0)
    coarse, fine = own.slopes(2e-6), own.slopes(1e-6)
    np.testing.assert_allclose(analytic, (4.0 * fine - coarse) / 3.0, atol=2e-6 * np.abs(analytic).max())


def test_both_jacobians_find_the_same_equilibrium(jaw) -> None:
    """Protects the answer: differences of the paper's step end at the same place, to 1e-7 m at 1e-6 N."""
    other = joint(*DOFS, tolerance_N=1e-6, jacobian="difference")
    jaw.forget()
    for seed, pose in enumerate(POSES):
        markers = frame(jaw.model, pose, seed)
        assert jaw.balance(*markers) == other.balance(*markers) == BALANCED
        np.testing.assert_allclose(jaw.alpha, other.alpha, atol=1e-7)
        assert np.linalg.norm(jaw.residual) <= 1e-6
        assert jaw.iterations <= 8


def test_a_laboratory_that_is_turned_and_moved_changes_nothing(jaw) -> None:
    """Protects frames: alpha and activations do not know where in the room, and whereto, a head looks."""
    markers = frame(jaw.model, POSES[2])
    jaw.forget()
    jaw.balance(*markers)
    alpha, activations = jaw.alpha.copy(), jaw.activations.copy()
    turn = Rotation.from_rotvec([0.0, 0.7, 0.0]).as_matrix()
    x, v, a, w = markers
    jaw.forget()
    assert jaw.balance(x @ turn.T + [1.0, 0.5, -2.0], v @ turn.T, a @ turn.T, w) == BALANCED
    np.testing.assert_allclose(jaw.alpha, alpha, atol=1e-10)
    np.testing.assert_allclose(jaw.activations, activations, atol=1e-8)


def test_external_wrenches_do_work_on_every_dof_beyond_them() -> None:
    """Protects the load under plates: less J' wrench, J by differences of the bodies' places and axes."""
    own, markers = joint(), frame(build(SPEC, method="pop"), POSES[2])
    assert own.balance(*markers) == BALANCED
    free = own.at.tau.copy()
    own.external[:] = [[0.3, -0.2, 0.1, 4.0, -3.0, 2.0], [-0.5, 0.4, 0.2, 2.0, 5.0, -1.0]]
    own.balance(*markers)
    expected = sum(work_of_wrench(own.model, own.q, b, wrench) for b, wrench in enumerate(own.external))
    np.testing.assert_allclose(free - own.at.tau, expected, atol=1e-7)


def test_weights_as_external_wrenches_are_gravity(jaw) -> None:
    """Protects signs and axes of external wrenches: without gravity, pushed by weights, a jaw lies alike."""
    markers = frame(jaw.model, POSES[1])
    jaw.forget()
    assert jaw.balance(*markers) == BALANCED
    weightless = build(msgspec.structs.replace(SPEC, gravity_m_s2=(0.0, 0.0, 0.0)), method="pop")
    other = joint(*DOFS, model=weightless, tolerance_N=1e-6)
    position, rotation = jaw.pose
    bodies, gravity = jaw.model.system.bodies, jaw.model.system.gravity
    for b, (mass, centre) in enumerate(zip(bodies.mass, bodies.centre, strict=True)):
        force = mass * gravity
        other.external[b] = np.r_[np.cross(position[b] + rotation[b] @ centre, force), force]
    assert other.balance(*markers) == BALANCED
    np.testing.assert_allclose(other.alpha, jaw.alpha, atol=1e-9)
    np.testing.assert_allclose(other.activations, jaw.activations, atol=1e-7)


def test_reserves_share_the_load_without_bound() -> None:
    """Protects reserves: beside the twin, beyond activation 1, in slopes; without them too little bears."""
    reserves = {"opening": 2.0, "deviation": 0.5, "cant": 1.0}
    own, plain = joint(*DOFS, reserves=reserves, tolerance_N=1e-6), joint(*DOFS)
    for each in (own, plain):
        each.external[1] = [0.0, 0.0, -60.0, 0.0, 0.0, 0.0]
    markers = frame(own.model, POSES[1])
    assert plain.balance(*markers) in (NOT_BALANCED, NOT_BORNE)
    assert own.balance(*markers) == BALANCED
    balance, at = own.work.balance, own.at
    assert balance.activation.max() > 1.0
    most = np.where(np.arange(len(balance.activation)) < len(own.activations), 1.0, np.inf)
    x, _ = share(at.action, at.row, balance.load, 3, most)
    np.testing.assert_allclose(balance.activation, x, atol=2e-4)
    up, down = balance.activation[-6:].reshape(3, 2).T
    np.testing.assert_allclose(own.reserves, (up - down) * [2.0, 0.5, 1.0])
    analytic, coarse, fine = (own.slopes(h) for h in (0.0, 2e-6, 1e-6))
    np.testing.assert_allclose(analytic, (4.0 * fine - coarse) / 3.0, atol=1e-6 * np.abs(analytic).max())


def test_held_rows_are_zero_forces_only_where_forces_decide(jaw) -> None:
    """Protects the difference of both models: points on planes are pressed, displaced condyles press."""
    markers = frame(jaw.model, POSES[1])
    held, one = joint(), joint("midline")
    assert held.balance(*markers) == BALANCED
    assert held.held == ("midline",)
    assert (held.pushes > 1.0).all()
    assert one.balance(*markers) == BALANCED
    assert one.held == ("midline",)
    assert abs(one.reactions[0]) <= 0.1
    assert abs(held.reactions[0]) > 0.1
    jaw.forget()
    assert jaw.balance(*markers) == BALANCED
    assert (jaw.alpha[:2] < 0.0).all()
    assert jaw.least_stiffness > 0.0


def test_the_jaws_way_across_is_a_coordinate_or_a_plane() -> None:
    """Protects coordinates of a joint of six freedoms: `shift` is what the element midline measures."""
    model = build(SPEC, method="pop")
    roles = roles_of(SPEC, "pop")
    markers = frame(model, POSES[1])
    plane = joint("midline", tolerance_N=1e-6)
    roles.mode[model.names.elements.index("midline")] = OFF
    named = ForceDependentKinematics(model, roles, FdkSpec(dofs=("shift",), tolerance_N=1e-6))
    assert plane.balance(*markers) == named.balance(*markers) == BALANCED
    np.testing.assert_allclose(named.alpha, plane.alpha, atol=1e-9)
    np.testing.assert_allclose(named.activations, plane.activations, atol=1e-7)
    np.testing.assert_allclose(named.stiffness, plane.stiffness, rtol=1e-5)


def test_frames_without_an_answer_say_why_and_the_next_one_goes_on(jaw) -> None:
    """Protects live runs: missing markers, a torn joint, too few steps: each its status, none for ever."""
    x, v, a, w = frame(jaw.model, POSES[1])
    jaw.forget()
    assert jaw.balance(x, v, a, np.r_[np.ones(4), np.zeros(4)]) == NOT_PLACED
    assert np.isnan(jaw.residual).all()
    assert np.isnan(jaw.least_stiffness)
    jaw.forget()
    torn = x.copy()
    torn[4:] += [0.02, 0.03, 0.0]
    assert jaw.balance(torn, v, a, w) in (NOT_BALANCED, NOT_BORNE)
    jaw.forget()
    assert jaw.balance(x, v, a, w) == BALANCED
    hasty = joint(*DOFS, tolerance_N=1e-9, max_iterations=1)
    assert hasty.balance(x, v, a, w) == NOT_BALANCED
    assert np.isfinite(hasty.residual).all()


def test_what_cannot_be_asked_is_told() -> None:
    """Protects configs: elements that are not held, bodies and dofs that are not there or not borne, criteria
    whose slopes are not known.
    """
    with pytest.raises(ConfigError, match="'left_knee' names no constraint of the method"):
        joint("left_knee")
    with pytest.raises(ConfigError, match="borne: unknown body 'knee'"):
        joint(borne=("knee",))
    with pytest.raises(
        ConfigError,
        match=r"right_normal is .* also acts on the joints of bodies that are not in fdk\.borne: mandible",
    ):
        joint(borne=("skull",))
    with pytest.raises(ConfigError, match="reserves: unknown coordinate 'skull_turn_x'"):
        joint(reserves={"skull_turn_x": 1.0})
    with pytest.raises(ConfigError, match="by the sum of a power of the activations"):
        ForceDependentKinematics(
            build(SPEC, method="pop"), roles_of(SPEC, "pop"), FdkSpec(), RecruitmentSpec(criterion="min_max")
        )
