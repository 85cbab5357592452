"""Torque generators of a model: simulated by name, what is wrong refused, energy as their work says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

from kernels.forces.generators import GIVEN_ACTIVATION, GIVEN_TORQUE
from rtsim.errors import ConfigError
from rtsim.simulation.load import load_simulator
from rtsim.simulation.run import run

SET = """
name = "elbow"
source = "made up"
[generators.extension]
source = "made up"
strength_Nm = 60.0
optimal_angle_deg = 40.0
width_deg = 80.0
speed_deg_s = 1000.0
lengthening = 1.3
half_speed = 0.2
passive_zero_deg = 120.0
passive_one_deg = 150.0
[generators.flexion]
source = "made up"
strength_Nm = 70.0
optimal_angle_deg = 90.0
width_deg = 75.0
speed_deg_s = 1000.0
lengthening = 1.3
half_speed = 0.2
passive_zero_deg = 5.0
passive_one_deg = -10.0
[[joints]]
coordinate = "{coordinate}"
extensor = "extension"
flexor = "{flexor}"
"""
MODEL = """
name = "arm"
source = "made up"
gravity_m_s2 = [0.0, 0.0, 0.0]
[[bodies]]
name = "forearm"
joint = "hinge"
axis = [0.0, 0.0, 1.0]
coordinates = [{{ name = "elbow", neutral_deg = 60.0 }}]
mass_kg = 1.5
mass_centre_mm = [0.0, -120.0, 0.0]
inertia_kg_m2 = [0.02, 0.001, 0.02]
[torque_generators]
set = "{set}"
activation = {activation}
[simulation]
duration_s = 0.2
"""


def write(
    folder: Path, activation: str, coordinate: str = "elbow", flexor: str = "flexion", name: str = "set"
) -> str:
    (folder / f"{name}.toml").write_text(SET.format(coordinate=coordinate, flexor=flexor), encoding="utf-8")
    path = folder / "arm.toml"
    path.write_text(MODEL.format(set=folder / f"{name}.toml", activation=activation), encoding="utf-8")
    return str(path)


def test_their_work_is_the_energy_that_is_gained(tmp_path: Path) -> None:
    """Protects signs and sizes: without gravity the kinetic energy is the work of both torques, the flexor
    flexes, results bear the names of coordinate and side."""
    simulator = load_simulator(write(tmp_path, "{ elbow_flexor = 0.3, elbow_extensor = 0.05 }"), step_ms=0.2)
    done = run(simulator, 500, 1)
    trace = done.trace
    angle, speed = trace.q[:, 0], trace.v[:, 0]
    assert angle[-1] > angle[0] + 0.3
    inertia = 0.02 + 1.5 * 0.12**2
    torque = trace.generator[:, :, GIVEN_TORQUE].sum(axis=1)
    work = cumulative_simpson(torque * speed, x=done.times, initial=0.0)
    np.testing.assert_allclose(0.5 * inertia * speed**2, work, atol=2e-6 * work.max())
    assert simulator.model.names.generators == ("elbow_extensor", "elbow_flexor")
    np.testing.assert_allclose(trace.generator[:, 0, GIVEN_ACTIVATION], 0.05)


def test_activations_over_time_hold_over_a_step(tmp_path: Path) -> None:
    """Protects the clock: a function of time counts at the middle of each step, as loads do."""
    ramp = "{ elbow_flexor = { lines = { at = [0.0, 0.2], value = [0.0, 0.4] } } }"
    trace = run(load_simulator(write(tmp_path, ramp)), 100, 1).trace
    middle = 1e-3 * (np.arange(100) + 0.5)
    np.testing.assert_allclose(trace.generator[:-1, 1, GIVEN_ACTIVATION], 2.0 * middle, rtol=1e-12)


def test_an_activation_of_the_command_line_takes_the_models_place(tmp_path: Path) -> None:
    """Protects --excite for generators."""
    path = write(tmp_path, "{ elbow_flexor = 0.1 }")
    simulator = load_simulator(path, excited={"elbow_flexor": 0.3})
    np.testing.assert_allclose(run(simulator, 10, 1).trace.generator[:, 1, GIVEN_ACTIVATION], 0.3)
    with pytest.raises(
        ConfigError, match=r"no muscle or torque generator 'elbow_twister'.*elbow_extensor, elbow_flexor"
    ):
        load_simulator(path, excited={"elbow_twister": 0.3})


@pytest.mark.parametrize(
    ("activation", "coordinate", "flexor", "words"),
    [
        ("{ elbow_flexor = 1.2 }", "elbow", "flexion", "elbow_flexor: 1.2; allowed: 0 to 1"),
        ("{ biceps = 0.2 }", "elbow", "flexion", "no generator 'biceps'.*elbow_extensor, elbow_flexor"),
        ("{}", "knee", "flexion", "coordinate 'knee' does not exist"),
        ("{}", "elbow", "bending", "no generator 'bending'.*extension, flexion"),
    ],
)
def test_what_is_not_there_is_named(
    tmp_path: Path, activation: str, coordinate: str, flexor: str, words: str
) -> None:
    """Protects from generators that turn nothing in silence."""
    path = write(tmp_path, activation, coordinate, flexor, name=f"{coordinate}_{flexor}")
    with pytest.raises(ConfigError, match=words):
        load_simulator(path)
