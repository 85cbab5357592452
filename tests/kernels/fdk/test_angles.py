"""FDK degrees of freedom that are angles: a block on springs, carried by joints of all kinds that turn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from kernels.fdk.problem import BALANCED, NOT_PLACED
from kernels.joints.tree import difference
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.errors import ConfigError
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.models.entries import coordinate_names
from rtsim.models.model import Model, build
from rtsim.models.roles import roles_of
from tests.naive import joint_angles
from tests.naive.fdk import places
from tests.naive.tree import integrate, state
from tests.rtsim.models.small_models import read

pytestmark = pytest.mark.own_kernels

Array = NDArray[np.float64]

MASS, G = 2.0, 9.81
CENTRE = np.array([0.03, -0.05, 0.04])
SPRINGS = (
    # on the block, on the base [mm], rest [mm], stiffness [N/m]
    ((80, 0, 10), (90, 120, 0), 90, 900.0),
    ((-30, 0, 70), (-20, 110, 90), 80, 700.0),
    ((0, -60, -50), (60, -70, -120), 60, 800.0),
    ((10, -90, 0), (-80, -100, 30), 70, 600.0),
)
TURNED = "\nin_parent = { offset_mm = [4.0, 2.0, -3.0], turned_deg = [10.0, -20.0, 15.0] }\n"
ANGLES = (
    'angles = { proximal = ["w", "u"], distal = ["v", "w"], names = ["bend", "tilt", "twist"], '
    "signs = [-1.0, 1.0, 1.0] }\n"
)
JOINTS = {
    "hinge": 'joint = "hinge"\naxis = "w"\ncoordinates = [{ name = "bend", neutral_deg = 20.0 }]\n',
    "universal": 'joint = "universal"\naxes = [[0.0, 0.0, 1.0], [0.8, 0.0, 0.6]]\n'
    'coordinates = [{ name = "bend", neutral_deg = 10.0 }, { name = "tilt", neutral_deg = -15.0 }]\n',
    "custom": """joint = "custom"
motion = [
  { rotates = [0.0, 0.0, 1.0], of = "bend" },
  { rotates = [1.0, 0.0, 0.0], of = "tilt" },
  { rotates = [0.0, 1.0, 0.0], of = "twist" },
]
coordinates = [
  { name = "bend", neutral_deg = 5.0 },
  { name = "tilt", neutral_deg = 10.0 },
  { name = "twist", neutral_deg = -8.0 },
]
""",
    "ball": 'joint = "ball"\n' + ANGLES,
    "ellipsoidal": 'joint = "ellipsoidal"\nradii_mm = [20.0, 30.0, 25.0]\n' + ANGLES,
    "free": 'joint = "free"\n' + ANGLES,
}
NAMES = {"hinge": ("bend",), "universal": ("bend", "tilt")}
ALL = ("bend", "tilt", "twist")
MARKERS = ((60, 0, 0), (-30, 20, 50), (-30, -20, -50))


def row(body: str, offset: tuple[float, ...]) -> str:
    """A place on a body, as text."""
    return f'{{ segment = "{body}", offset_mm = {[float(x) for x in offset]} }}'


def text(kind: str, extra: str = "") -> str:
    """The model with a joint of this kind."""
    springs = "".join(
        f'[[springs]]\nname = "spring_{k}"\na = {row("block", a)}\nb = {row("base", b)}\n'
        f"rest_mm = {rest}.0\nstiffness_N_m = {stiffness}\n"
        for k, (a, b, rest, stiffness) in enumerate(SPRINGS)
    )
    muscles = "".join(
        f'[[muscles]]\nname = "{name}"\npath = [{row("base", (x, 100.0, z))}, {row("block", (x, 10.0, z))}]\n'
        "hill = { max_isometric_force_N = 100.0, optimal_fibre_length_mm = 60.0, "
        "tendon_slack_length_mm = 40.0 }\n"
        for name, x, z in (("muscle", -50.0, 20.0), ("other", 40.0, -30.0))
    )
    markers = "".join(
        f'[[markers]]\nname = "{body}_{k}"\nsegment = "{body}"\noffset_mm = {[float(v) for v in x]}\n'
        for body in ("base", "block")
        for k, x in enumerate(MARKERS)
    )
    held = '"centre"' if kind == "free" else ""
    return f"""
gravity_m_s2 = [0.0, -{G}, 0.0]
[[bodies]]
name = "base"
joint = "free"
mass_kg = 1.0
inertia_kg_m2 = [0.01, 0.01, 0.01]
[[bodies]]
name = "block"
parent = "base"
{JOINTS[kind]}{TURNED}
mass_kg = {MASS}
mass_centre_mm = {[1e3 * float(x) for x in CENTRE]}
inertia_kg_m2 = [0.01, 0.008, 0.006]
[[elements]]
name = "centre"
kind = "point"
a = {{ segment = "block" }}
b = {row("base", (4.0, 2.0, -3.0))}
{extra}
{springs}
{muscles}
{markers}
[methods.joint]
hard = [{held}]
{"[methods.more]" if extra else ""}
{'hard = ["more"]' if extra else ""}
"""


def block(kind: str, dofs: tuple[str, ...] = (), extra: str = "", **options) -> ForceDependentKinematics:
    """The block, whose angles are decided by forces."""
    spec, method = read(text(kind, extra)), "more" if extra else "joint"
    model = build(spec, method=method)
    names = coordinate_names(model)[1]
    reserves = {name: 20.0 for name, b in zip(names, model.tree.dof_body, strict=True) if b == 1}
    fdk = FdkSpec(dofs=dofs or NAMES.get(kind, ALL), **{"tolerance_N": 1e-6, "longest_mm": 10.0, **options})
    return ForceDependentKinematics(
        model, roles_of(spec, method), fdk, RecruitmentSpec(power=2, strength="isometric", reserves=reserves)
    )


def still(own: ForceDependentKinematics, q: Array | None = None) -> tuple[Array, ...]:
    """Markers of a pose at rest, rates, weights: the base's alone are seen, so that it stays there."""
    x = places(own.model, own.model.q_neutral if q is None else q).reshape(-1, 3)
    return x, np.zeros_like(x), np.zeros_like(x), (own.model.markers.body == 0).astype(float)


def energy(model: Model, q: Array) -> float:
    """Of weight and springs [J]."""
    at = state(model.tree, q)
    found = MASS * G * at.point(1, CENTRE)[1]
    for a, b, rest, stiffness in SPRINGS:
        length = np.linalg.norm(at.point(1, 1e-3 * np.array(a)) - at.point(0, 1e-3 * np.array(b)))
        found += 0.5 * stiffness * (length - 1e-3 * rest) ** 2
    return float(found)


def block_dofs(model: Model) -> NDArray[np.int64]:
    """Of the block, those that turn; nothing else is free."""
    return np.flatnonzero(model.tree.dof_body == 1)[-3:]


def least(model: Model, q: Array) -> Array:
    """(n_q,) - where the energy is least nearby, by Newton's method with differences."""
    dofs = block_dofs(model)

    def moved(x: Array) -> Array:
        step = np.zeros(model.n_v)
        step[dofs] = x
        return integrate(model.tree, q, step)

    def gradient(x: Array) -> Array:
        return slope_of(lambda y: energy(model, moved(y)), x)

    found = np.zeros(len(dofs))
    for _ in range(4):
        rows = [(gradient(found + h) - gradient(found - h)) / 2e-3 for h in 1e-3 * np.eye(len(dofs))]
        found = found - np.linalg.solve(np.array(rows), gradient(found))
    return moved(found)


def slope_of(f: Callable[[Array], float], x: Array) -> Array:
    """(n,) - gradient of a function of x (n,), with an error of the fourth order."""
    rows = 1e-3 * np.eye(len(x))
    return np.array([(8.0 * (f(x + h) - f(x - h)) - f(x + 2 * h) + f(x - 2 * h)) / 12e-3 for h in rows])


def angles_of(own: ForceDependentKinematics, q: Array) -> Array:
    """(n_fdk,) - the decided angles in a pose, as they are shown [rad]."""
    model, names = own.model, own.model.coordinates.names
    if names:
        return np.array([q[model.coordinates.q[names.index(name)]] for name in own.spec.dofs])
    base, body = (state(model.tree, q).body[b][:3, :3] for b in (0, 1))
    return joint_angles.angles(base, body) * [-1.0, 1.0, 1.0]


@pytest.mark.parametrize("kind", JOINTS)
def test_a_block_rests_where_its_energy_is_least(kind: str) -> None:
    """Protects angles as FDK degrees of freedom: the pose by its energy alone, angles as they are shown,
    slopes symmetrical as those of an energy.
    """
    own = block(kind)
    model = own.model
    assert own.balance(*still(own)) == BALANCED
    turned = own.alpha / own.arc
    assert np.abs(turned).max() > 0.15
    np.testing.assert_allclose(turned, angles_of(own, own.q) - angles_of(own, model.q_neutral), atol=1e-9)
    gap = np.zeros(model.n_v)
    difference(model.tree, least(model, own.q), own.q, gap)
    np.testing.assert_allclose(gap, 0.0, atol=1e-8)
    assert own.least_stiffness > 0.0
    J = own.slopes(0.0)
    np.testing.assert_allclose(J, J.T, atol=1e-8 * np.abs(J).max())


@pytest.mark.parametrize("kind", ["universal", "ball", "ellipsoidal", "free"])
def test_what_is_left_is_the_moment_that_holds_the_angle(kind: str) -> None:
    """Protects N m: away from balance f times its lever is the slope of the energy over the angle."""
    own = block(kind)
    assert own.balance(*still(own)) == BALANCED
    start = own.alpha / own.arc + [0.2, -0.15, 0.1][: len(own.alpha)]

    def at(angles: Array) -> float:
        own.alpha[:] = angles * own.arc
        own.slopes(0.0)
        return energy(own.model, own.q)

    expected = slope_of(at, start)
    at(start)
    assert np.abs(expected).max() > 0.5
    np.testing.assert_allclose(own.residual * own.arc, expected, atol=1e-8)


def test_the_same_rotations_by_other_joints_have_the_same_place() -> None:
    """Protects joints of all kinds beside each other: a ball, a free body held at a point, three hinges."""
    found = []
    for kind in ("custom", "ball", "free"):
        own = block(kind)
        assert own.balance(*still(own)) == BALANCED
        found.append(own.pose[1][1].copy())
    for rotation in found[1:]:
        np.testing.assert_allclose(rotation, found[0], atol=1e-9)


PLANE = """[[elements]]
name = "more"
kind = "plane"
a = { segment = "block", offset_mm = [60.0, 0.0, 0.0] }
b = { segment = "base" }
normal = [0.3, 0.9, 0.1]
"""
CORD = """[[elements]]
name = "more"
kind = "distance"
a = { segment = "block", offset_mm = [60.0, 0.0, 0.0] }
b = { segment = "base", offset_mm = [0.0, 90.0, 0.0] }
target_mm = 90.0
"""


@pytest.mark.parametrize("element", [PLANE, CORD])
def test_an_angle_and_an_element_that_turns_with_it_have_the_same_equilibrium(element: str) -> None:
    """Protects the choice of what forces decide: the angle of a hinge, or where a point of its body is."""
    angle, other = block("hinge"), block("hinge", ("more",), element)
    places_found = []
    for own in (angle, other):
        assert own.balance(*still(own)) == BALANCED
        places_found.append(angles_of(angle, own.q)[0])
    assert places_found[1] == pytest.approx(places_found[0], abs=1e-9)


def test_the_lever_is_a_measure_alone() -> None:
    """Protects from a number that would change the physics: the same place with a lever of 10 mm."""
    wide, narrow = block("ball"), block("ball", lever_mm=10.0)
    for own in (wide, narrow):
        assert own.balance(*still(own)) == BALANCED
    np.testing.assert_allclose(narrow.alpha / narrow.arc, wide.alpha / wide.arc, atol=1e-9)
    np.testing.assert_allclose(narrow.stiffness, 25.0 * wide.stiffness, rtol=1e-6)


def moving(own: ForceDependentKinematics) -> tuple[Array, ...]:
    """Markers of both bodies with noise, in motion."""
    rng = np.random.default_rng(9)
    x = still(own)[0]
    noise, v, a = (s * rng.standard_normal(x.shape) for s in (1e-3, 0.1, 1.0))
    return x + noise, v, a, np.ones(len(x))


@pytest.mark.parametrize("velocities", ["least_squares", "optimum"])
@pytest.mark.parametrize("kind", ["universal", "custom", "ball", "ellipsoidal", "free"])
def test_slopes_are_those_of_differences(kind: str, velocities: str) -> None:
    """Protects the analytic Jacobian of angles away from balance, others by markers, in motion: to 1e-6."""
    own = block(kind, ("tilt",) if kind == "universal" else ("twist", "tilt"), velocities=velocities)
    own.balance(*moving(own))
    assert own.activations.max() > 0.01
    own.alpha[:] += 2e-3
    analytic = own.slopes(0.0)
    assert np.abs(own.residual).max() > 1.0
    coarse, fine = own.slopes(2e-5), own.slopes(1e-5)
    np.testing.assert_allclose(analytic, (4.0 * fine - coarse) / 3.0, atol=1e-6 * np.abs(analytic).max())


@pytest.mark.parametrize("kind", ["custom", "ball"])
def test_the_root_is_that_of_scipy_and_of_differences(kind: str) -> None:
    """Protects the search: SciPy's root of the same forces, and the difference Jacobian, end at one place."""
    own, other = block(kind, ("tilt", "twist")), block(kind, ("tilt", "twist"), jacobian="difference")
    markers = moving(own)
    assert own.balance(*markers) == other.balance(*markers) == BALANCED
    found = own.alpha.copy()
    np.testing.assert_allclose(other.alpha, found, atol=1e-9)

    def residual(alpha: Array) -> Array:
        own.alpha[:] = 1e-3 * alpha
        own.slopes(0.0)
        return own.residual.copy()

    answer = root(residual, 1e3 * found + [3.0, -2.0], method="hybr", options={"xtol": 1e-12})
    np.testing.assert_allclose(1e-3 * answer.x, found, atol=1e-9)


def test_a_laboratory_that_is_turned_and_moved_changes_nothing() -> None:
    """Protects frames: angles and muscles do not know where in the room the base is."""
    own = block("free", ("tilt", "twist"))
    x, v, a, w = moving(own)
    assert own.balance(x, v, a, w) == BALANCED
    alpha, activations = own.alpha.copy(), own.activations.copy()
    turn = Rotation.from_rotvec([0.0, 0.8, 0.0]).as_matrix()
    own.forget()
    assert own.balance(x @ turn.T + [1.0, 0.5, -2.0], v @ turn.T, a @ turn.T, w) == BALANCED
    np.testing.assert_allclose(own.alpha, alpha, atol=1e-10)
    np.testing.assert_allclose(own.activations, activations, atol=1e-8)


def test_angles_that_cannot_be_are_told() -> None:
    """Protects configs: held twice, units exchanged, an axis askew to two others, an unknown name."""
    askew = text("custom").replace("[0.0, 1.0, 0.0], of", "[0.0, 0.8, 0.6], of")
    for make, words in (
        (lambda: block("hinge", ("bend",), PLANE), "bend is fixed already by more, which are constraints"),
        (
            lambda: block("ball", start_mm={"tilt": 1.0}),
            "tilt is an angle; give its start value in fdk.start_deg",
        ),
        (
            lambda: block("hinge", ("more",), PLANE, start_deg={"more": 1.0}),
            "more is a length; give its start value in fdk.start_mm",
        ),
        (
            lambda: block("ball", ("swing",)),
            "'swing' names no constraint of the method, and no coordinate, .* bend, tilt, twist",
        ),
        (lambda: build_askew(askew), "the coordinate 'twist' cannot be a degree of freedom"),
    ):
        with pytest.raises(ConfigError, match=words):
            make()


def build_askew(written: str) -> ForceDependentKinematics:
    """A block on three axes of which one is not at right angles to the others."""
    spec = read(written)
    return ForceDependentKinematics(build(spec), roles_of(spec), FdkSpec(dofs=("twist",)))


def test_a_search_begins_where_it_is_told() -> None:
    """Protects start_deg: of two places of rest the nearer one, from angles in degrees."""
    own = block("hinge", start_deg={"bend": 20.0})
    assert own.alpha[0] == pytest.approx(own.arc[0] * np.radians(20.0))
    assert own.balance(*still(own)) == BALANCED


def test_an_angle_beyond_its_pole_has_no_pose() -> None:
    """Protects runs: the second angle ends at 90 degrees, nothing is placed beyond, it goes on."""
    own = block("ball", start_deg={"tilt": 100.0})
    assert own.balance(*still(own)) == NOT_PLACED
    assert np.isfinite(own.q).all()
    own.forget()
    own.alpha[:] = 0.0
    assert own.balance(*still(own)) == BALANCED
