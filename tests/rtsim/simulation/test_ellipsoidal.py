"""An ellipsoidal joint from the model's file to the simulation's results."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kernels.compiler.jit import allow_compilation
from kernels.joints.kinds import ELLIPSOIDAL
from kernels.joints.tree import new_pose, pose
from kernels.rosenbrock.tableau import METHODS
from rtsim.config.joint_kinds import KINDS
from rtsim.config.load import check_record, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.models.entries import coordinate_names
from rtsim.models.model import build
from rtsim.models.scaling import scale_geometry
from rtsim.simulation.quantities import SimulatedQuantities
from rtsim.simulation.simulator import Simulator
from tests.naive.dynamics import mass_matrix, potential_energy

TEXT = """
name = "shoulder"
source = "made up"
[[bodies]]
name = "blade"
joint = "ellipsoidal"
radii_mm = [70.0, 120.0, 90.0]
in_child = { offset_mm = [20.0, 0.0, 10.0] }
mass_kg = 0.7
mass_centre_mm = [10.0, -60.0, 20.0]
inertia_kg_m2 = [0.004, 0.002, 0.005]
[[bodies]]
name = "arm"
parent = "blade"
joint = "hinge"
axis = "w"
in_parent = { offset_mm = [30.0, -120.0, 0.0] }
mass_kg = 1.5
mass_centre_mm = [0.0, -150.0, 0.0]
inertia_kg_m2 = [0.01, 0.002, 0.01]
[[bodies]]
name = "hand"
parent = "arm"
joint = "ball"
in_parent = { offset_mm = [0.0, -300.0, 0.0] }
mass_kg = 0.4
mass_centre_mm = [0.0, -80.0, 0.0]
inertia_kg_m2 = [0.001, 0.0005, 0.001]
[simulation]
step_ms = 2.0
turning_deg_s = { blade = [100.0, -150.0, 60.0], hand = [0.0, 200.0, 100.0] }
speeds = { arm = 120.0 }
"""
RADII = "radii_mm = [70.0, 120.0, 90.0]"


def read(text: str = TEXT) -> ModelSpec:
    """Return the model of a text."""
    return check_record(parse_toml(text, "mine.toml"), ModelSpec, "mine.toml")


def drift(n_step: int, method: str) -> float:
    """Return how far the energy goes from its start within 0.2 s [J]."""
    spec = read()
    settings = msgspec.structs.replace(spec.simulation, step_ms=200.0 / n_step, method=method)
    simulator = Simulator(build(spec), settings)
    found = [energy(simulator)]
    for _ in range(4):
        simulator.run(n_step // 4, 0, simulator.trace(1))
        found.append(energy(simulator))
    return float(np.abs(np.array(found) - found[0]).max())


def energy(simulator: Simulator) -> float:
    """Return kinetic and potential energy [J], by the twin."""
    system, q, v = simulator.model.system, simulator.q, simulator.v
    return 0.5 * v @ mass_matrix(system, q) @ v + potential_energy(system, q)


@pytest.mark.parametrize("method", list(METHODS))
def test_a_fall_keeps_its_energy(method: str) -> None:
    """Protects forces, slopes and steps of the joint together: the energy drifts by the method's error."""
    allow_compilation()
    assert np.log2(drift(40, method) / drift(80, method)) > METHODS[method].order - 0.35


def test_the_child_lies_on_the_ellipsoid_of_the_file() -> None:
    """Protects radii and directions: the third axis of the child says where on the ellipsoid."""
    allow_compilation()
    model = build(read())
    assert model.tree.kind[0] == ELLIPSOIDAL
    assert model.q_neutral[:4].tolist() == [1.0, 0.0, 0.0, 0.0]
    q, quarter = model.q_neutral.copy(), np.sqrt(0.5)
    q[:4] = quarter, 0.0, quarter, 0.0  # about y: z to x
    at = new_pose(3, model.n_v)
    pose(model.tree, q, at)
    R = Rotation.from_euler("y", 90.0, degrees=True).as_matrix()
    np.testing.assert_allclose(at.position[0], [0.07, 0.0, 0.0] - R @ [0.02, 0.0, 0.01], atol=1e-15)


def test_results_name_what_has_no_coordinates() -> None:
    """Protects results: quaternion and angular velocity beside those of the ball, the speeds of the file."""
    model = build(read())
    q, v = coordinate_names(model)
    assert q == (*(f"blade_q{part}" for part in "wxyz"), "arm", *(f"hand_q{part}" for part in "wxyz"))
    assert v == (*(f"blade_turn_{part}" for part in "xyz"), "arm", *(f"hand_turn_{part}" for part in "xyz"))
    simulator = Simulator(model, read().simulation)
    np.testing.assert_allclose(simulator.v, np.radians([100.0, -150.0, 60.0, 120.0, 0.0, 200.0, 100.0]))
    quantities = SimulatedQuantities(simulator, simulator.trace(1), new_pose(3, model.n_v)).quantities
    labels = {quantity.name: quantity.labels for quantity in quantities}
    assert labels["joint_quaternions"] == labels["joint_turning"] == ("blade", "hand")
    assert labels["joint_positions"] == ()


def test_radii_grow_with_the_parent() -> None:
    """Protects scaling: each radius by its own factor of the parent, as in OpenSim."""
    text = TEXT.replace('name = "blade"\n', 'name = "blade"\nparent = "trunk"\n').replace(
        "[[bodies]]", '[[bodies]]\nname = "trunk"\njoint = "weld"\n[[bodies]]', 1
    )
    factors = {"trunk": np.array([1.1, 0.9, 1.2]), "blade": np.full(3, 2.0)}
    grown = scale_geometry(read(text), factors, lambda note: None).bodies[1]
    expected = {"radii_mm": pytest.approx((77.0, 108.0, 108.0))}
    assert {key: getattr(grown, key) for key in KINDS["ellipsoidal"].keys} == expected


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        (RADII, "", ("bodies.blade.radii_mm", "three radii")),
        (RADII, "radii_mm = [70.0, -1.0, 90.0]", ("bodies[0].radii_mm",)),
        (RADII, "radii_mm = [70.0, 90.0]", ("bodies[0].radii_mm",)),
        ('joint = "ellipsoidal"', 'joint = "ball"', ("bodies.blade.radii_mm", "ellipsoidal", "remove")),
        (
            "[simulation]",
            "[simulation]\nvelocities_mm_s = { blade = [1, 0, 0] }",
            ("ellipsoidal joint",),
        ),
    ],
)
def test_mistakes_are_told_with_their_key(right: str, wrong: str, words: tuple[str, ...]) -> None:
    """Protects authors of models: radii missing, impossible, or on another joint; speeds that are none."""
    with pytest.raises(ConfigError) as caught:
        read(TEXT.replace(right, wrong, 1))
    assert all(word in str(caught.value) for word in words), caught.value
