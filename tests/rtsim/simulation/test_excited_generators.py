"""Excited torque generators in a simulation: their activation follows by the law of muscles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from kernels.forces.generators import GIVEN_ACTIVATION
from rtsim.errors import ConfigError
from rtsim.simulation.load import load_simulator
from rtsim.simulation.run import run
from rtsim.simulation.simulator import Simulator
from rtsim.simulation.stride import SimulatorStride
from tests.rtsim.simulation.test_generators import write

LEAST, UP, DOWN = 0.05, 0.02, 0.07
AT, LEVEL = [0.0, 0.02, 0.08, 0.1, 0.2], [0.1, 0.9, 0.9, 0.0, 0.0]
TIMES = f"activation_ms = {1e3 * UP}\ndeactivation_ms = {1e3 * DOWN}\nmin_activation = {LEAST}\n"
PULSE = f"{{}}\nexcitation = {{ elbow_flexor = {{ lines = {{ at = {AT}, value = {LEVEL} }} }} }}"


def arm(folder: Path, said: str = PULSE, **options: object) -> Simulator:
    """An elbow whose flexor has times and a least activation of its own; said : what its model asks for."""
    path = write(folder, said)
    own = folder / "set.toml"
    if "min_activation" not in (text := own.read_text(encoding="utf-8")):
        head, tail = text.split("[generators.flexion]\n")
        own.write_text(f"{head}[generators.flexion]\n{TIMES}{tail}", encoding="utf-8")
    return load_simulator(path, **options)


def followed(simulator: Simulator) -> NDArray[np.float64]:
    """(n,) - activations of the flexor, held in each step of 0.2 s."""
    n = round(0.2 / simulator.options.step)
    return run(simulator, n, 1).trace.generator[:n, 1, GIVEN_ACTIVATION].copy()


def law(t: float, a: NDArray[np.float64]) -> NDArray[np.float64]:
    """da/dt by De Groote et al. (2016)."""
    gap = LEAST + (1.0 - LEAST) * np.interp(t, AT, LEVEL) - a
    f, g = 0.5 * np.tanh(10.0 * gap), 0.5 + 1.5 * a
    return ((0.5 + f) / (UP * g) + (0.5 - f) * g / DOWN) * gap


def test_the_error_falls_with_the_square_of_the_step(tmp_path: Path) -> None:
    """Protects activation dynamics: beside SciPy's solution at the middles of steps, of second order."""
    start = [LEAST + (1.0 - LEAST) * LEVEL[0]]
    exact = solve_ivp(law, (0.0, 0.2), start, rtol=1e-11, atol=1e-12, max_step=1e-3, dense_output=True).sol
    worst = []
    for step in (2.0, 1.0, 0.5):
        found = followed(arm(tmp_path, step_ms=step))
        middles = 1e-3 * step * (np.arange(len(found)) + 0.5)
        worst.append(float(np.abs(found - exact(middles)[0]).max()))
    assert worst[1] < 5e-4
    assert worst[0] > 3.5 * worst[1] > 12.0 * worst[2]


@pytest.mark.parametrize("step_ms", [0.2, 1.0, 20.0, 200.0])
def test_activations_stay_between_their_bounds(tmp_path: Path, step_ms: float) -> None:
    """Protects min_activation, and stability: never below it or above 1, however long the step."""
    steep = (
        "{}\nexcitation = { elbow_flexor = { lines = { at = [0.0, 0.1, 0.1001], value = [1.0, 1.0, 0.0] } } }"
    )
    n = max(1, round(200.0 / step_ms))
    found = run(arm(tmp_path, steep, step_ms=step_ms), n, 1).trace.generator[:, 1, GIVEN_ACTIVATION]
    assert found[0] == 1.0
    assert found.min() >= LEAST
    assert found.max() <= 1.0
    if step_ms < 2.0:
        assert found[-1] < 0.5


def test_a_run_again_is_the_same(tmp_path: Path) -> None:
    """Protects reset: activations are again those that the excitation at time zero asks for, bit for bit, and
    a look at the end of a run moves nothing on."""
    simulator = arm(tmp_path)
    first = followed(simulator)
    simulator.reset()
    assert (followed(simulator) == first).all()
    assert first[0] == pytest.approx(LEAST + (1.0 - LEAST) * LEVEL[0], abs=0.05)
    halves = arm(tmp_path)
    trace = halves.trace(203)
    for n in (37, 0, 163):
        halves.run(n, 1, trace, last=True)
    values = trace.generator[:203, 1, GIVEN_ACTIVATION]
    rows = [*range(37), *range(39, 202)]
    assert (values[rows] == first).all()


def test_an_excitation_of_the_command_line_has_the_generators_times(tmp_path: Path) -> None:
    """Protects --excite: it means the same for muscles and generators, in the place of whatever the model
    gives; at rest at the beginning, as if it had lasted for long."""
    simulator = arm(tmp_path, "{ elbow_flexor = 0.7 }", excited={"elbow_flexor": 0.4})
    assert simulator.simulation.forces.generators is not None
    assert simulator.simulation.forces.generators.excited.tolist() == [0, 1]
    np.testing.assert_allclose(followed(simulator), LEAST + (1.0 - LEAST) * 0.4, rtol=1e-15)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "{ elbow_flexor = 0.1 }\nexcitation = { elbow_flexor = 0.2 }",
            "has both an activation and an excitation",
        ),
        ("{}\nexcitation = { elbow_flexor = 20 }", "excitation.elbow_flexor: 20; allowed: 0 to 1"),
        ("{}\nexcitation = { biceps = 0.2 }", "excitation: there is no generator 'biceps'"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, said: str, words: str) -> None:
    """Protects from two masters of one activation, from percents and from names of nobody."""
    with pytest.raises(ConfigError, match=words):
        load_simulator(write(tmp_path, said))


def test_a_lap_begins_with_the_activations_of_the_start(tmp_path: Path) -> None:
    """Protects laps, `restart` and `reset`: an excited generator starts again with its first activation."""
    stride = SimulatorStride(arm(tmp_path, step_ms=1.0), 10)

    def lap() -> list[float]:
        found = []
        for _ in range(12):
            stride.step(True)
            found.append(float(stride.trace.generator[0, 1, GIVEN_ACTIVATION]))
        return found

    first = lap()
    stride.restart()
    assert lap() == first
    assert max(first) > 0.5
