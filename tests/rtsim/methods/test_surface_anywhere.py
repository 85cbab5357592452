"""A knee whose extensor meets its condyles between other points as it bends: lengths, arms, energy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.compiler.jit import allow_compilation
from rtsim.config.load import check_record, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.simulation.simulator import Simulator
from tests.naive import muscle_path
from tests.naive.dynamics import mass_matrix, potential_energy

Array = NDArray[np.float64]
RADIUS, STIFFNESS_N, SLACK, TOE = 0.03, 400.0, 0.36, 0.03
POINTS = (
    ("thigh", 20.0, -100.0), ("thigh", 45.0, -300.0), ("shank", 45.0, 20.0), ("shank", 45.0, -30.0),
    ("shank", 45.0, -80.0),
)  # fmt: skip
TEXT = """
name = "knee"
source = "made up"
[[bodies]]
name = "thigh"
joint = "hinge"
axis = [0, 0, 1]
mass_kg = 8.0
mass_centre_mm = [0.0, -150.0, 0.0]
inertia_kg_m2 = [0.1, 0.03, 0.1]
[[bodies]]
name = "shank"
parent = "thigh"
joint = "hinge"
axis = [0, 0, 1]
in_parent = {{ offset_mm = [0.0, -400.0, 0.0] }}
coordinates = [{{ name = "knee", neutral_deg = -60.0, range_deg = [-130.0, 10.0] }}]
mass_kg = 4.0
mass_centre_mm = [0.0, -150.0, 0.0]
inertia_kg_m2 = [0.1, 0.03, 0.1]
[[surfaces]]
name = "condyles"
segment = "thigh"
offset_mm = [0.0, -400.0, 0.0]
kind = "cylinder"
radius_mm = 30.0
[[muscles]]
name = "extensor"
path = [{stations}]
[[ligaments]]
name = "band"
a = {first}
b = {last}
through = [{through}]
stiffness_N = 400.0
slack_length_mm = 360.0
[simulation]
step_ms = 1.0
speeds = {{ knee = -800.0 }}
"""


def model(home: int) -> ModelSpec:
    """The knee; home : behind which point the surface does not only pass."""
    points = [f'{{ segment = "{body}", offset_mm = [{x}, {y}, 0.0] }}' for body, x, y in POINTS]
    stations = []
    for k, point in enumerate(points):
        passing = "" if k == home else ", passing = true"
        stations += [point, f'{{ over = "condyles", yields = true{passing} }}']
    path = stations[:-1]
    text = TEXT.format(stations=", ".join(path), first=path[0], last=path[-1], through=", ".join(path[1:-1]))
    return check_record(parse_toml(text, "knee.toml"), ModelSpec, "knee.toml")


@pytest.fixture(scope="module", params=[0, 2])
def knee(request) -> ModelSpec:
    """The knee, its surface at home on the thigh or on the shank."""
    return model(request.param)


def swept(spec: ModelSpec, degrees: Array) -> tuple[Array, Array, Array]:
    """Lengths by kernel and twin, and arms, over angles of the knee."""
    built = build(spec)
    arms = MomentArms(built, roles_of(spec))
    q, at = built.q_neutral.copy(), built.coordinates.q[built.coordinates.names.index("knee")]
    about = built.names.angles.index("knee")
    found = []
    for angle in np.radians(degrees):
        q[at] = angle
        twin = muscle_path.length(built.tree, built.stations, built.surfaces, 0, q)
        found.append((arms.lengths(q)[0], twin, arms.at(q)[0, about]))
    length, twin, arm = np.array(found).T
    return length, twin, arm


def test_the_condyles_are_met_between_whatever_points(knee: ModelSpec) -> None:
    """Protects bent knees: the arm is the radius where the path lies on the condyles."""
    allow_compilation()
    degrees = np.linspace(-125.0, 0.0, 126)
    length, twin, arm = swept(knee, degrees)
    np.testing.assert_allclose(length, twin, rtol=1e-12)
    np.testing.assert_allclose(arm[degrees <= -85.0], RADIUS, rtol=1e-9)
    assert (arm[degrees > -80.0] > RADIUS).all()


def test_its_length_has_no_leaps(knee: ModelSpec) -> None:
    """Protects forward runs: the arm is minus the slope of the length, also where the path touches down."""
    allow_compilation()
    degrees = np.linspace(-90.0, -75.0, 1501)
    length, _, arm = swept(knee, degrees)
    slope = np.diff(length) / np.diff(np.radians(degrees))
    np.testing.assert_allclose(slope, -0.5 * (arm[1:] + arm[:-1]), atol=1e-6)


def stored(length: float) -> float:
    """Energy [J] of the band by its law: a quadratic toe up to twice the threshold strain, then a line."""
    strain = max(length / SLACK - 1.0, 0.0)
    if strain < 2.0 * TOE:
        return SLACK * STIFFNESS_N * strain**3 / (12.0 * TOE)
    return SLACK * STIFFNESS_N * (TOE**2 / 6.0 + 0.5 * (strain - TOE) ** 2)


def test_a_forward_run_keeps_its_energy(knee: ModelSpec) -> None:
    """Protects forward simulation: a band comes to lie on the condyles and leaves them without a loss."""
    allow_compilation()
    built = build(knee)
    simulator = Simulator(built, knee.simulation)
    arms = MomentArms(built, roles_of(knee))
    at = built.coordinates.q[built.coordinates.names.index("knee")]
    energies, angles = [], []
    for _ in range(25):
        q, v = simulator.q, simulator.v
        motion = 0.5 * v @ mass_matrix(built.system, q) @ v + potential_energy(built.system, q)
        energies.append(motion + stored(float(arms.lengths(q)[0])))
        angles.append(np.degrees(q[at]))
        simulator.run(10, 0, simulator.trace(1))
    assert min(angles) < -90.0
    assert max(angles) > -65.0
    np.testing.assert_allclose(energies, energies[0], atol=5e-5)
