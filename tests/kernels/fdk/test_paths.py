"""FDK degrees of freedom that are lengths of paths: a block on springs, with cords over surfaces."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.fdk.problem import BALANCED, NOT_PLACED
from kernels.joints.tree import difference
from kernels.path.lengths import new_length_work, path_lengths
from kernels.path.muscle_path import OK, follow_paths, new_path_work
from kernels.solver.constraints import Roles
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.errors import ConfigError
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.methods.fdk.fdk_coordinates import with_coordinates
from rtsim.methods.fdk.fdk_rows import check_rows
from rtsim.models.entries import coordinate_names
from rtsim.models.model import Model, build
from rtsim.models.roles import roles_of
from rtsim.stages.fdk import Balance
from tests.kernels.fdk.test_angles import (
    CORD,
    angles_of,
    block,
    block_dofs,
    energy,
    moving,
    row,
    slope_of,
    still,
    text,
)
from tests.naive.mechanisms import posed
from tests.naive.tree import integrate
from tests.rtsim.models.small_models import read

pytestmark = [pytest.mark.own_kernels, pytest.mark.compiled]

Array = NDArray[np.float64]

SURFACES = {
    "cylinder": 'kind = "cylinder"\nradius_mm = 25.0\n',
    "sphere": 'kind = "sphere"\nradius_mm = 30.0\n',
    "ellipsoid": 'kind = "ellipsoid"\nradii_mm = [20.0, 24.0, 40.0]\n',
}
STIFFNESS, SLACK, STRAIN = 300.0, 0.12, 0.03
"""Of the band: per strain [N], [m], strain where the toe ends in the mean."""
CASES = (
    ("universal", "cylinder", ("band", "tilt")),
    ("ball", "sphere", ("twist", "band", "tilt")),
    ("free", "ellipsoid", ("band", "cord", "twist")),
)


def tied_text(joint: str, surface: str, bone: tuple[float, float, float], extra: str = "") -> str:
    """The block with a bone of its base, a cord over it that nothing pulls, and an elastic band."""
    more = f"""
[[surfaces]]
name = "bone"
segment = "base"
offset_mm = {[*bone]}
{SURFACES[surface]}
[[muscles]]
name = "cord"
path = [{row("base", (0, 90, 0))}, {{ over = "bone" }}, {row("block", (60, 0, 0))}]
[[ligaments]]
name = "band"
a = {row("base", (-10, 90, 0))}
through = [{{ over = "bone" }}]
b = {row("block", (70, -20, 20))}
stiffness_N = {STIFFNESS}
slack_length_mm = {1e3 * SLACK}
threshold_strain = {STRAIN}
"""
    return text(joint, extra).replace("[[elements]]", more + "[[elements]]", 1)


def tied(
    joint: str,
    surface: str,
    dofs: tuple[str, ...],
    bone: tuple[float, float, float] = (50, 40, 10),
    **options,
) -> ForceDependentKinematics:
    """The block, held by cords and angles that forces decide."""
    return ForceDependentKinematics(*asked(read(tied_text(joint, surface, bone)), dofs, **options))


def asked(spec: ModelSpec, dofs: tuple[str, ...], **options) -> tuple[Model, Roles, FdkSpec, RecruitmentSpec]:
    """What a run asks of the block, with reserves about all its axes."""
    model = build(spec)
    names = coordinate_names(model)[1]
    reserves = {name: 20.0 for name, b in zip(names, model.tree.dof_body, strict=True) if b == 1}
    fdk = FdkSpec(dofs=dofs, **{"tolerance_N": 1e-6, "longest_mm": 10.0, **options})
    return model, roles_of(spec), fdk, RecruitmentSpec(power=2, strength="isometric", reserves=reserves)


def length(own: ForceDependentKinematics, name: str, q: Array) -> float:
    """Of a held path at q [m], not a number where it is not found."""
    lengths, value = own.model.elements.lengths, np.zeros(len(own.model.elements.kind))
    work = new_length_work(lengths, own.model.tree)
    path_lengths(own.model.tree, lengths, q, np.zeros(len(value)), work, value)
    return float(value[own.model.names.elements.index(name)])


def band_energy(model: Model, q: Array) -> float:
    """Of the elastic band [J]: K1 x^2 up to twice the toe's mean strain, then a line."""
    bands, work = model.pulls, None
    assert bands is not None
    work = new_path_work(bands.stations, bands.surfaces, model.n_v)
    follow_paths(model.tree, bands.stations, bands.surfaces, posed(model.tree, q), q, work)
    assert work.status[-1] == OK
    x, toe = work.length[-1] - SLACK, STRAIN * SLACK
    curve, linear = STIFFNESS / (4.0 * STRAIN * SLACK**2), STIFFNESS / SLACK
    if x <= 2.0 * toe:
        return float(curve * max(x, 0.0) ** 3 / 3.0)
    return float(curve * (2.0 * toe) ** 3 / 3.0 + 0.5 * linear * ((x - toe) ** 2 - toe**2))


def all_energy(model: Model, q: Array) -> float:
    """Of weight, springs and band [J]."""
    return energy(model, q) + band_energy(model, q)


def least(model: Model, q: Array) -> Array:
    """(n_q,) - where the energy is least nearby, by Newton's method with differences."""
    dofs = block_dofs(model)

    def moved(x: Array) -> Array:
        step = np.zeros(model.n_v)
        step[dofs] = x
        return integrate(model.tree, q, step)

    def gradient(x: Array) -> Array:
        return slope_of(lambda y: all_energy(model, moved(y)), x)

    found = np.zeros(len(dofs))
    for _ in range(4):
        rows = [(gradient(found + h) - gradient(found - h)) / 2e-3 for h in 1e-3 * np.eye(len(dofs))]
        found = found - np.linalg.solve(np.array(rows), gradient(found))
    return moved(found)


def touching(own: ForceDependentKinematics) -> bool:
    """Whether the first held path lies on its surface where the solver was last."""
    return bool(own.work.constraint.element.lengths.here.wrap.touching[:3].any())


@pytest.mark.parametrize(("joint", "surface", "dofs"), CASES)
def test_a_block_rests_where_its_energy_is_least(joint: str, surface: str, dofs: tuple[str, ...]) -> None:
    """Protects lengths of paths as FDK degrees of freedom, and bands in the balance: the pose by its energy
    alone, lengths as they are, slopes symmetrical as those of an energy.
    """
    own = tied(joint, surface, dofs)
    model = own.model
    assert own.balance(*still(own)) == BALANCED
    assert touching(own)
    assert np.abs(own.alpha).max() > 1e-3
    for k, name in enumerate(dofs):
        if name in ("band", "cord"):
            change = length(own, name, own.q) - length(own, name, model.q_neutral)
            assert own.alpha[k] == pytest.approx(change, abs=1e-12)
    assert own.at.tension[0] > 5.0
    gap = np.zeros(model.n_v)
    difference(model.tree, least(model, own.q), own.q, gap)
    np.testing.assert_allclose(gap, 0.0, atol=1e-7)
    assert own.least_stiffness > 0.0
    J = own.slopes(0.0)
    np.testing.assert_allclose(J, J.T, atol=1e-7 * np.abs(J).max())


@pytest.mark.parametrize(
    ("joint", "surface", "dofs"), [*CASES[:2], ("free", "ellipsoid", ("tilt", "band", "twist"))]
)
def test_what_is_left_is_the_force_along_the_path(joint: str, surface: str, dofs: tuple[str, ...]) -> None:
    """Protects N: away from balance f is the slope of the energy over lengths, and over arcs of angles."""
    own = tied(joint, surface, dofs)
    assert own.balance(*still(own)) == BALANCED
    start = own.alpha + np.array([4e-3, -3e-3, 5e-3])[: len(dofs)]

    def at(alpha: Array) -> float:
        own.alpha[:] = start + 0.05 * alpha
        own.slopes(0.0)
        return all_energy(own.model, own.q) / 0.05

    expected = slope_of(at, np.zeros(len(dofs)))
    at(np.zeros(len(dofs)))
    assert np.abs(expected).max() > 5.0
    np.testing.assert_allclose(own.residual, expected, atol=1e-5)


def test_a_path_that_touches_nothing_is_a_distance() -> None:
    """Protects paths beside elements: clear of its surface a cord is the distance of its ends."""
    path, straight = tied("hinge", "cylinder", ("cord",), (-300, 0, 0)), block("hinge", ("more",), CORD)
    slack = path.joint.bands
    assert slack is not None
    slack.parameter[:, 0] = 10.0  # the band, which the other block has not
    found = []
    for own in (path, straight):
        assert own.balance(*still(own)) == BALANCED
        found.append(angles_of(block("hinge"), own.q)[0])
    assert not touching(path)
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    assert path.residual[0] == pytest.approx(straight.residual[0], abs=1e-5)
    assert path.stiffness[0, 0] == pytest.approx(straight.stiffness[0, 0], rel=1e-7)


@pytest.mark.parametrize(
    ("joint", "surface", "dofs"),
    [
        ("universal", "cylinder", ("cord",)),
        ("ball", "sphere", ("band", "tilt")),
        ("free", "ellipsoid", ("cord",)),
    ],
)
@pytest.mark.parametrize("velocities", ["least_squares", "optimum"])
def test_slopes_are_those_of_differences(
    joint: str, surface: str, dofs: tuple[str, ...], velocities: str
) -> None:
    """Protects the analytic Jacobian of paths away from balance, others by markers, in motion: to 1e-6."""
    own = tied(joint, surface, dofs, velocities=velocities)
    own.balance(*moving(own))
    own.alpha[:] += 2e-3
    analytic = own.slopes(0.0)
    assert touching(own)
    assert np.abs(own.residual).max() > 1.0
    coarse, fine = own.slopes(2e-5), own.slopes(1e-5)
    np.testing.assert_allclose(analytic, (4.0 * fine - coarse) / 3.0, atol=1e-6 * np.abs(analytic).max())


@pytest.mark.parametrize(("joint", "surface"), [("universal", "cylinder"), ("free", "ellipsoid")])
def test_rates_keep_the_length(joint: str, surface: str) -> None:
    """Protects the row and its second derivative: along speeds and accelerations the held length stays."""
    own = tied(joint, surface, ("cord",))
    own.balance(*moving(own))
    own.slopes(0.0)
    q, v, v_dot = own.q.copy(), own.at.v.copy(), own.at.v_dot.copy()
    assert np.abs(v).max() > 0.05
    assert touching(own)

    def at(t: float) -> float:
        return length(own, "cord", integrate(own.model.tree, q, t * v + 0.5 * t**2 * v_dot))

    h = 1e-3
    ahead, now, behind = at(h), at(0.0), at(-h)
    assert (ahead - behind) / (2.0 * h) == pytest.approx(0.0, abs=1e-5)
    assert (ahead - 2.0 * now + behind) / h**2 == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize(("joint", "surface"), [("universal", "cylinder"), ("free", "ellipsoid")])
def test_rates_of_the_optimum_are_those_of_poses_before_and_after(joint: str, surface: str) -> None:
    """Protects the curvature in the fit: with residuals of millimetres speeds are those of poses solved."""
    own = tied(joint, surface, ("cord",), velocities="optimum")
    x, v, a, weight = moving(own)
    own.balance(x, v, a, weight)
    own.slopes(0.0)
    q, speeds, alpha = own.q.copy(), own.at.v.copy(), own.alpha.copy()
    assert np.abs(own.state.multiplier).max() > 1e-3
    assert touching(own)

    def along(h: float) -> Array:
        found = []
        for t in (h, -h):
            own.joint.fit.measured[:] = x + t * v + 0.5 * t**2 * a
            own.alpha[:] = alpha
            own.slopes(0.0)
            gap = np.zeros(own.model.n_v)
            difference(own.model.tree, q, own.q, gap)
            found.append(gap)
        return np.asarray((found[0] - found[1]) / (2.0 * h))

    np.testing.assert_allclose((4.0 * along(2e-4) - along(4e-4)) / 3.0, speeds, atol=1e-6)


def test_a_path_lifts_off_and_comes_back() -> None:
    """Protects runs: as gravity goes round the block, frames through the lift-off are balanced, alpha
    goes on, and is the same both ways.
    """
    own = tied("universal", "cylinder", ("cord", "tilt"), (5, 40, 10))
    x, v, a, weight = still(own)
    found, touched = [], []
    for degrees in (*range(0, 361, 5), *range(360, -1, -5)):
        turn = Rotation.from_euler("z", degrees, degrees=True).as_matrix()
        assert own.balance(x @ turn.T, v, a, weight) == BALANCED
        found.append(own.alpha.copy())
        touched.append(touching(own))
    half = len(found) // 2
    assert 10 < sum(touched[:half]) < half - 10
    assert touched[half:] == touched[:half][::-1]
    np.testing.assert_allclose(found[half:], found[:half][::-1], atol=1e-8)
    assert np.abs(np.diff(found[:half], 2, axis=0)).max() < 1e-4


def test_a_run_tells_lengths_and_tensions() -> None:
    """Protects results: alpha and f of lengths and angles apart, tensions, NaN without balance."""
    stage = Balance(*asked(read(tied_text("universal", "cylinder", (50, 40, 10))), ("band", "tilt")))
    own = stage.balanced
    stage.come_to(own.balance(*still(own)))
    told = {quantity.name: quantity for quantity in stage.quantities()}
    assert told["fdk_displacements"].labels == told["wrapping_ligament_forces"].labels == ("band",)
    assert told["fdk_rotations"].labels == ("tilt",)
    assert told["fdk_displacements"].array[0] == own.alpha[0]
    assert told["wrapping_ligament_forces"].array[0] == own.at.tension[0] > 5.0
    stage.come_to(NOT_PLACED)
    assert any("Or the path of band cannot be computed" in sentence for sentence in stage.sentences)
    assert np.isnan(told["wrapping_ligament_forces"].array).all()


@pytest.mark.parametrize(
    ("right", "wrong", "dofs", "words"),
    [
        (
            "radius_mm = 25.0",
            "radius_mm = 60.0",
            ("cord",),
            "the path of cord cannot be computed in the neutral pose",
        ),
        (
            'segment = "block", offset_mm = [60',
            'segment = "base", offset_mm = [60',
            ("cord",),
            "no joint movement of the model changes",
        ),
        ("", "", ("string",), "no coordinate, joint angle, muscle, ligament or spring"),
    ],
)
def test_paths_that_cannot_be_are_told(right: str, wrong: str, dofs: tuple[str, ...], words: str) -> None:
    """Protects configs: a path inside a surface, one that no joint changes, an unknown name."""
    spec = read(tied_text("hinge", "cylinder", (50, 40, 10)).replace(right, wrong))
    with pytest.raises(ConfigError, match=words):
        ForceDependentKinematics(build(spec), roles_of(spec), FdkSpec(dofs=dofs))


TWIN = f"""[[muscles]]
name = "twin"
path = [{row("block", (60, 0, 0))}, {{ over = "bone" }}, {row("base", (0, 90, 0))}]
"""
GUIDED = f"""[[muscles]]
name = "guided"
path = [{row("base", (-100, 90, 0))}, {row("base", (-10, 120, 0))}, {row("block", (60, 0, 30))}]
[[muscles]]
name = "straight"
path = [{row("base", (-10, 120, 0))}, {row("block", (60, 0, 30))}]
"""


@pytest.mark.parametrize(
    ("joint", "extra", "dofs", "words"),
    [
        (
            "ball",
            TWIN,
            ("cord", "twin"),
            "cord is fixed already by twin, which are constraints of the method, too",
        ),
        ("ball", GUIDED, ("guided", "straight"), "guided is fixed already by straight, which"),
        ("universal", "", ("cord", "bend", "tilt"), "cord is fixed already by bend, tilt, which"),
        ("universal", GUIDED, ("cord", "band", "guided"), "cord is fixed already by band, guided, which"),
        ("free", TWIN, ("twin", "twist", "cord"), "twin is fixed already by cord, which"),
    ],
)
def test_paths_that_always_repeat_others_are_told(
    joint: str, extra: str, dofs: tuple[str, ...], words: str
) -> None:
    """Protects runs without a single answer: of two equal lengths, of a length beside all angles of a joint,
    of three lengths on two freedoms.
    """
    spec = read(tied_text(joint, "cylinder", (50, 40, 10)).replace("[[elements]]", f"{extra}[[elements]]", 1))
    with pytest.raises(ConfigError, match=words):
        ForceDependentKinematics(build(spec), roles_of(spec), FdkSpec(dofs=dofs))


def test_lengths_side_by_side_that_differ_are_none_of_these() -> None:
    """Protects from refusing too much: a cord and a twin of it a millimetre aside are two lengths."""
    text = tied_text("ball", "cylinder", (50, 40, 10))
    aside = TWIN.replace("[60.0, 0.0, 0.0]", "[60.0, 0.0, 1.0]")
    spec = read(text.replace("[[elements]]", f"{aside}[[elements]]", 1))
    model, roles = with_coordinates(build(spec), roles_of(spec), ("cord", "twin"))
    check_rows(model, roles, ("cord", "twin"))


@pytest.mark.parametrize("name", ["cord", "spring_0"])
def test_a_length_begins_above_nothing(name: str) -> None:
    """Protects start_mm: a length cannot be shorter than nothing, where its square would begin elsewhere."""
    spec = read(tied_text("universal", "cylinder", (50, 40, 10)))
    with pytest.raises(ConfigError, match=f"{name} cannot start 500 mm shorter: .* only 1.* mm; allowed"):
        ForceDependentKinematics(build(spec), roles_of(spec), FdkSpec(dofs=(name,), start_mm={name: -500.0}))


def test_a_distance_below_nothing_has_no_pose() -> None:
    """Protects values: a distance of -20 mm is none of 20 mm, whose square is the same."""
    own = block("hinge", ("spring_0",))
    assert own.balance(*still(own)) == BALANCED
    own.alpha[0] = -own.joint.rest[0] - 0.02
    assert own.balance(*still(own)) == NOT_PLACED
