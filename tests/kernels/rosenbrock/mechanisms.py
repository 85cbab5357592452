"""Small models in motion, as text of model files, and simulators of them."""

from __future__ import annotations

import tomllib
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.rosenbrock.trace import Trace
from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.packing.holds import with_holds
from rtsim.simulation.simulator import Simulator
from tests.naive.tree import difference

Array = NDArray[np.float64]

# Two hinges square to each other, a damped spring on one, one from the end to ground.
DOUBLE_PENDULUM = """
name = "double pendulum"
source = "test"

[[bodies]]
name = "upper"
joint = "hinge"
axis = "w"
coordinates = [{ name = "swing", neutral_deg = 40.0 }]
mass_kg = 1.2
mass_centre_mm = [20.0, -150.0, 0.0]
inertia_kg_m2 = [0.01, 0.004, 0.012]

[[bodies]]
name = "lower"
joint = "hinge"
parent = "upper"
axis = "u"
in_parent = { offset_mm = [0.0, -300.0, 50.0] }
coordinates = [{ name = "side", neutral_deg = -30.0 }]
mass_kg = 0.8
mass_centre_mm = [0.0, -120.0, 30.0]
inertia_kg_m2 = [0.006, 0.002, 0.005]

[[springs]]
name = "hip"
coordinate = "side"
rest_deg = 10.0
stiffness_N_m_rad = 3.0
damping_N_m_s_rad = 0.05

[[springs]]
name = "string"
a = { segment = "lower", offset_mm = [0.0, -250.0, 0.0] }
b = { segment = "ground", offset_mm = [300.0, -400.0, 200.0] }
rest_mm = 250.0
stiffness_N_m = 60.0
damping_N_s_m = 1.0

[simulation]
speeds = { swing = 60.0, side = -100.0 }
"""

# A body that tumbles about its middle axis while a damped spring on its rim pulls it about.
TUMBLER = """
name = "tumbler"
source = "test"

[[bodies]]
name = "box"
joint = "free"
mass_kg = 1.5
mass_centre_mm = [10.0, -5.0, 20.0]
inertia_kg_m2 = [0.02, 0.035, 0.05, 0.001, -0.002, 0.003]

[[springs]]
name = "string"
a = { segment = "box", offset_mm = [100.0, 30.0, -20.0] }
b = { segment = "ground", offset_mm = [0.0, 600.0, 100.0] }
rest_mm = 400.0
stiffness_N_m = 40.0
damping_N_s_m = 0.5

[simulation]
velocities_mm_s = { box = [300.0, 100.0, -200.0] }
turning_deg_s = { box = [40.0, 300.0, -30.0] }
"""

# A free, a ball, a hinge and a planar joint, hung up by springs with dampers.
LINKAGE = """
name = "linkage"
source = "test"

[[bodies]]
name = "base"
joint = "free"
mass_kg = 2.0
mass_centre_mm = [10.0, 30.0, -20.0]
inertia_kg_m2 = [0.03, 0.02, 0.04, 0.002, 0.001, -0.003]

[[bodies]]
name = "ball"
joint = "ball"
parent = "base"
in_parent = { offset_mm = [100.0, 20.0, 40.0] }
in_child = { offset_mm = [0.0, 80.0, 10.0], turned_deg = [10.0, 20.0, -30.0] }
mass_kg = 0.7
mass_centre_mm = [5.0, -60.0, 0.0]
inertia_kg_m2 = [0.004, 0.001, 0.003]

[[bodies]]
name = "hinge"
joint = "hinge"
parent = "ball"
axis = [1.0, 2.0, 0.5]
in_parent = { offset_mm = [0.0, -150.0, 0.0] }
coordinates = [{ name = "bend", neutral_deg = 20.0 }]
mass_kg = 0.4
mass_centre_mm = [0.0, -40.0, 10.0]
inertia_kg_m2 = [0.001, 0.0005, 0.001]

[[bodies]]
name = "plate"
joint = "planar"
parent = "base"
in_parent = { offset_mm = [30.0, 50.0, 0.0] }
axes = ["u", "w"]
coordinates = [{ name = "x" }, { name = "z" }, { name = "turn", neutral_deg = 15.0 }]
mass_kg = 0.5
mass_centre_mm = [20.0, 10.0, -30.0]
inertia_kg_m2 = [0.002, 0.003, 0.002]

[[springs]]
name = "bend"
coordinate = "bend"
stiffness_N_m_rad = 2.0
damping_N_m_s_rad = 0.1

[[springs]]
name = "hook"
a = { segment = "base", offset_mm = [0.0, 100.0, 0.0] }
b = { segment = "ground", offset_mm = [50.0, 500.0, 0.0] }
rest_mm = 300.0
stiffness_N_m = 200.0
damping_N_s_m = 4.0

[[springs]]
name = "tie"
a = { segment = "hinge", offset_mm = [0.0, -80.0, 0.0] }
b = { segment = "plate", offset_mm = [20.0, 0.0, 30.0] }
rest_mm = 100.0
stiffness_N_m = 150.0
damping_N_s_m = 2.0

[[springs]]
name = "guy"
a = { segment = "plate", offset_mm = [-20.0, 0.0, 60.0] }
b = { segment = "ground", offset_mm = [0.0, -300.0, 300.0] }
rest_mm = 200.0
stiffness_N_m = 100.0
damping_N_s_m = 1.0

[simulation]
speeds = { bend = 80.0, x = -150.0, turn = 120.0 }
velocities_mm_s = { base = [300.0, 100.0, -200.0] }
turning_deg_s = { base = [100.0, -60.0, 30.0], ball = [-90.0, 120.0, 150.0] }
"""

# Nothing but a mass on a line.
MASS = """
name = "mass"
source = "test"

[[bodies]]
name = "block"
joint = "slider"
axis = "u"
coordinates = [{ name = "position" }]
mass_kg = 1.0

[[springs]]
name = "damper"
coordinate = "position"
damping_N_s_m = 0.0

[[loads]]
name = "pulse"
at = { segment = "block" }
force_N = [2.0, 0.0, 0.0]
start_s = 0.010
duration_s = 0.020
"""


def read(text: str) -> ModelSpec:
    """Return the model of a text."""
    return check_record(tomllib.loads(text), ModelSpec, "test")


def simulator(model: str, **settings: Any) -> Simulator:
    """Return the simulator of a text, or of a shipped model, with some settings of its own."""
    spec = read(model) if "\n" in model else load_model(model)
    return Simulator(with_holds(spec, build(spec)), msgspec.structs.replace(spec.simulation, **settings))


def run(model: str, n_step: int, duration: float, **settings: Any) -> Simulator:
    """Return the simulator after this many equal steps; every one of them went well."""
    some = simulator(model, step_ms=1e3 * duration / n_step, **settings)
    status = some.run(n_step, 0, some.trace(0))
    assert status in (0, 1)
    return some


def rows(model: str, n_step: int, duration: float, n_row: int, **settings: Any) -> tuple[Simulator, Trace]:
    """Return the simulator after n_step equal steps and n_row + 1 rows, evenly spread over them."""
    some = simulator(model, step_ms=1e3 * duration / n_step, **settings)
    trace = some.trace(n_row + 1)
    some.run(n_step, n_step // n_row, trace, last=True)
    return some, trace


def state_of(some: Simulator) -> Array:
    """Return coordinates and speeds, (n_q + n_v,)."""
    return np.concatenate([some.q, some.v])


def apart(a: Simulator, b: Simulator) -> float:
    """Return how far two states of a model are apart: tangent of the coordinates, and speeds."""
    tree = a.model.tree
    return float(np.linalg.norm(np.concatenate([difference(tree, a.q, b.q), a.v - b.v])))
