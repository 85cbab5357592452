"""Where a simulation starts: equilibria, held coordinates, speeds, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from kernels.contact.elements import NORMAL
from kernels.forces.lines import TENSION
from rtsim.config.load import check_record, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ModelError
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator
from tests.naive.volumetric_knee import static_pose

HUNG = """
name = "hung"
source = "test"

[[bodies]]
name = "block"
joint = "slider"
axis = "v"
coordinates = [{ name = "height" }]
mass_kg = 2.0

[[bodies]]
name = "arm"
joint = "hinge"
axis = "w"
parent = "block"
coordinates = [{ name = "swing", neutral_deg = 60.0 }]
mass_kg = 0.5
mass_centre_mm = [0.0, -200.0, 0.0]
inertia_kg_m2 = [0.01, 0.01, 0.01]

[[springs]]
name = "rope"
coordinate = "height"
rest_mm = 10.0
stiffness_N_m = 500.0

[[loads]]
name = "hand"
at = { segment = "block" }
force_N = [0.0, 5.0, 0.0]
start_s = -10.0

[[loads]]
name = "push"
at = { segment = "block" }
force_N = [0.0, 1000.0, 0.0]
"""


def hung(change: Callable[[str], str] = str, **settings) -> Simulator:
    """Return a simulator of a block on a spring with a pendulum, its text changed first."""
    spec = check_record(parse_toml(change(HUNG), "test"), ModelSpec, "test")
    return Simulator(build(spec), msgspec.structs.replace(spec.simulation, **settings))


def test_knee_rests_where_an_independent_model_does() -> None:
    """Protects the start of the knee: forces of both contacts and of every ligament, weightless at 0 deg."""
    some = Simulator(build(load_model("knee")), load_model("knee").simulation)
    expected = static_pose(0.0, held_by="hinge")
    trace = some.trace(1)
    some.run(0, 0, trace, last=True)
    force = trace.contact[0, :, NORMAL]
    np.testing.assert_allclose(force, expected.contacts, rtol=1e-6)
    np.testing.assert_allclose(force, [171.019, 161.930], atol=6e-4)
    np.testing.assert_allclose(trace.line[0, :, TENSION], expected.ligaments, rtol=1e-6, atol=1e-6)
    assert not some.v.any()
    assert some.q[0] == 0.0


def test_equilibrium_under_weight() -> None:
    """Protects "loaded": weight and the loads before time zero, not those that start at zero."""
    some = hung(equilibrium="loaded")
    np.testing.assert_allclose(some.q, [0.01 + (5.0 - 2.5 * 9.81) / 500.0, 0.0], atol=1e-9)


def test_equilibrium_without_weight_moves_springs_alone() -> None:
    """Protects "weightless": neither weight nor loads, and gravity and gains are back afterwards."""
    some = hung(equilibrium="weightless", hold=("swing",))
    np.testing.assert_allclose(some.q, [0.01, np.radians(60.0)], atol=1e-12)
    assert some.simulation.system.gravity[1] == -9.81
    np.testing.assert_array_equal(some.gain, [1.0, 1.0])
    assert some.time == 0.0
    trace = some.trace(1)
    some.run(0, 0, trace, last=True)
    assert trace.v_dot[0, 0] > 100.0  # the push acts from time zero on


def test_a_held_coordinate_stays() -> None:
    """Protects "hold": the pendulum stays where the neutral pose has it, exactly."""
    some = hung(equilibrium="loaded", hold=("swing",))
    assert some.q[1] == np.radians(60.0)
    assert some.q[0] == pytest.approx(0.01 + (5.0 - 2.5 * 9.81) / 500.0, abs=1e-9)


def test_no_equilibrium_is_an_error_that_names_the_key() -> None:
    """Protects users of a model that nothing supports: which key asks for what does not exist."""
    with pytest.raises(ModelError, match=r"hung: simulation\.equilibrium") as error:
        hung(lambda text: text.replace("stiffness_N_m = 500.0", "stiffness_N_m = 0.0"), equilibrium="loaded")
    assert "no static equilibrium" in str(error.value)


def test_a_coordinate_without_mass_is_an_error() -> None:
    """Protects users of a massless body: told before the first step, with a remedy."""
    with pytest.raises(ModelError, match="does not move any mass") as error:
        hung(lambda text: text.replace("mass_kg = 0.5", "").replace("inertia_kg_m2 = [0.01, 0.01, 0.01]", ""))
    assert "mass_kg" in str(error.value)


def test_speeds_of_coordinates_and_bodies() -> None:
    """Protects units and places of the speeds that a model gives: deg/s, mm/s, and a free body's six."""
    some = hung(speeds={"height": 250.0, "swing": -90.0})
    np.testing.assert_allclose(some.v, [0.25, -0.5 * np.pi], rtol=1e-14)
    free = HUNG.replace('joint = "slider"\naxis = "v"\ncoordinates = [{ name = "height" }]', 'joint = "free"')
    free = free[: free.index("[[springs]]")].replace(
        "mass_kg = 2.0", "mass_kg = 2.0\ninertia_kg_m2 = [0.1, 0.1, 0.1]"
    )
    some = hung(
        lambda _: free, speeds={"swing": 30.0},
        velocities_mm_s={"block": (10.0, 20.0, 30.0)}, turning_deg_s={"block": (90.0, 0.0, -180.0)},
    )  # fmt: skip
    np.testing.assert_allclose(some.v, [0.01, 0.02, 0.03, 0.5 * np.pi, 0.0, -np.pi, np.pi / 6], rtol=1e-14)


def test_a_speed_without_its_joint_is_an_error() -> None:
    """Protects users who give a vector of speed to a body on a hinge."""
    for settings in (
        {"velocities_mm_s": {"arm": (1.0, 0.0, 0.0)}},
        {"turning_deg_s": {"block": (1.0, 0.0, 0.0)}},
    ):
        with pytest.raises(ModelError, match="has no joint"):
            hung(**settings)
