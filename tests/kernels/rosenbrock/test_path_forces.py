"""Muscles in a simulation: the twin in all unknowns, slopes, order, work, rest, what does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import rtsim.simulation.run
from kernels.forces.path_forces import ACTIVATION, FIBRE, PATH_LENGTH, PATH_SPEED, PULL
from kernels.rosenbrock.step import OK
from kernels.rosenbrock.tableau import METHODS, lower
from rtsim.errors import ConfigError, ModelError
from rtsim.simulation.results import results_of
from rtsim.simulation.simulator import Simulator
from rtsim.simulation.stride import SimulatorStride
from tests.kernels.rosenbrock.mechanisms import apart, run, simulator
from tests.naive import hill, path_forces, rosenbrock
from tests.naive.dynamics import mass_matrix
from tests.naive.tree import integrate

pytestmark = [pytest.mark.own_kernels, pytest.mark.compiled]

Array = NDArray[np.float64]

# A ball and a hinge; one muscle over a sphere from ground to the forearm, one straight, one with a point that
# moves with the elbow.
ARM = """
name = "arm"
source = "test"

[[bodies]]
name = "upper"
joint = "ball"
mass_kg = 2.0
mass_centre_mm = [10.0, -140.0, 5.0]
inertia_kg_m2 = [0.02, 0.004, 0.02]

[[bodies]]
name = "fore"
joint = "hinge"
axis = "w"
parent = "upper"
in_parent = { offset_mm = [0.0, -300.0, 0.0] }
coordinates = [{ name = "elbow", neutral_deg = 50.0 }]
mass_kg = 1.2
mass_centre_mm = [0.0, -120.0, 10.0]
inertia_kg_m2 = [0.008, 0.002, 0.008]

[[surfaces]]
name = "head"
segment = "upper"
offset_mm = [0.0, -10.0, 0.0]
kind = "sphere"
radius_mm = 25.0

[[muscles]]
name = "long"
path = [
  { segment = "ground", offset_mm = [60.0, 40.0, 10.0] }, { over = "head" },
  { segment = "fore", offset_mm = [30.0, -40.0, 5.0] },
]
excitation = 0.6
[muscles.hill]
max_isometric_force_N = 400.0
optimal_fibre_length_mm = 140.0
tendon_slack_length_mm = 180.0
tendon = "TENDON"

[[muscles]]
name = "short"
path = [
  { segment = "upper", offset_mm = [-20.0, -150.0, 0.0] },
  { segment = "fore", offset_mm = [-25.0, 20.0, 0.0] },
]
excitation = 0.2
[muscles.hill]
max_isometric_force_N = 300.0
optimal_fibre_length_mm = 90.0
tendon_slack_length_mm = 80.0
pennation_deg = 12.0

[[muscles]]
name = "gliding"
path = [
  { segment = "ground", offset_mm = [-50.0, 20.0, -20.0] },
  { segment = "upper", moving = { MOVING } },
  { segment = "fore", offset_mm = [-20.0, 30.0, 0.0] },
]
excitation = 0.4
[muscles.hill]
max_isometric_force_N = 200.0
optimal_fibre_length_mm = 120.0
tendon_slack_length_mm = 170.0
tendon = "TENDON"
"""
MOVING = 'of = "elbow", x = { constant = -0.03 }, y = { linear = [0.01, -0.15] }, z = { constant = 0.0 }'
# A band over the same sphere, taut from the start, damped.
BAND = """
[[ligaments]]
name = "band"
a = { segment = "ground", offset_mm = [-70.0, 30.0, 15.0] }
b = { segment = "fore", offset_mm = [-30.0, -60.0, 10.0] }
THROUGH
stiffness_N = 900.0
slack_length_mm = 390.0
damping_N_s_m = 8.0
damping_onset_mm = 2.0
"""
STRAIGHT = BAND.replace("THROUGH", "")
AT_ITS_END = BAND.replace("THROUGH", 'through = [{ segment = "fore", offset_mm = [-30.0, -60.0, 10.0] }]')
BAND = BAND.replace(
    "THROUGH", 'through = [{ over = "head" }, { segment = "upper", offset_mm = [-25.0, -200.0, 10.0] }]'
)
TENDONS = {kind: ARM.replace("MOVING", MOVING).replace("TENDON", kind) for kind in ("rigid", "elastic")}


def moving(tendon: str, **settings: float | str) -> Simulator:
    """The arm, banded and thrown, some milliseconds after its muscles were asked for other activations."""
    arm = simulator(TENDONS[tendon] + BAND, step_ms=1.0, **settings)
    arm.v[:] = 1.5, -0.8, 0.6, 2.0
    arm.work.inner.now[:3] = 0.3, 0.5, 0.1
    assert arm.run(5, 0, arm.trace(0)) == OK
    return arm


def arguments(arm: Simulator) -> tuple:
    """System and muscles with the excitations held."""
    return arm.simulation.system, arm.simulation.pulls, arm.q.copy(), arm.work.pulls.excitation.copy()


@pytest.mark.parametrize("tendon", list(TENDONS))
@pytest.mark.parametrize("method", ["ros34pw2", "rodas4p"])
def test_a_step_is_that_of_the_twin(tendon: str, method: str) -> None:
    """Protects the elimination of inner states, and every slope: one step in all unknowns, the whole Jacobian
    by differences, dense solves.
    """
    arm = moving(tendon, method=method)
    system, own, q, e = arguments(arm)
    y = np.concatenate([np.zeros(4), arm.v, arm.work.inner.now])
    f = path_forces.motion(system, own, q, e)
    size = np.concatenate([np.full(4, 1e-5), np.full(4, 1e-3), np.full(4, 1e-4), np.full(4, 1e-6)])
    J = np.stack([(f(y + d) - f(y - d)) / (2.0 * d.max()) for d in np.diag(size)], axis=-1)
    alpha, gamma, b, _ = METHODS[method].published
    end, _ = rosenbrock.step(f, J, y, 1e-3, lower(alpha), lower(gamma), np.array(b), None)
    assert arm.run(1, 0, arm.trace(0)) == OK
    np.testing.assert_allclose(arm.q, integrate(system.tree, q, end[:4]), atol=2e-9)
    np.testing.assert_allclose(arm.v, end[4:8], atol=2e-6)
    np.testing.assert_allclose(arm.work.inner.now[:4], end[8:12], atol=1e-9)
    elastic = own.muscles.elastic > 0
    np.testing.assert_allclose(arm.work.inner.now[4:][elastic], end[12:][elastic], atol=2e-9)


@pytest.mark.parametrize("tendon", list(TENDONS))
def test_results_are_those_of_the_twin(tendon: str) -> None:
    """Protects what is told: activation, fibre, length, speed and force of every muscle, and v_dot."""
    arm = moving(tendon)
    system, own, q, e = arguments(arm)
    trace = arm.trace(1)
    arm.run(0, 0, trace, last=True)
    y = np.concatenate([np.zeros(4), arm.v, arm.work.inner.now])
    _, _, force = path_forces.generalized_forces(system, own, q, arm.v, arm.work.inner.now, e)
    np.testing.assert_allclose(trace.pull[0, :, PULL], force, rtol=1e-7)
    np.testing.assert_allclose(
        trace.v_dot[0], path_forces.motion(system, own, q, e)(y)[4:8], rtol=1e-6, atol=1e-6
    )
    np.testing.assert_array_equal(trace.pull[0, :3, ACTIVATION], arm.work.inner.now[:3])
    assert np.isnan(trace.pull[0, 1, FIBRE])  # on a rigid tendon
    assert np.isnan(trace.pull[0, 3, ACTIVATION])  # of a ligament
    assert trace.pull[0, 3, PULL] > 5.0


@pytest.mark.parametrize("tendon", list(TENDONS))
@pytest.mark.parametrize("method", ["ros34pw2", "rodas4p"])
def test_every_method_keeps_its_order(tendon: str, method: str) -> None:
    """Protects the stages of the inner states: the error of the motion falls with the method's order."""
    end = run(TENDONS[tendon], 1600, 0.02, method="rodas4p")
    coarse, fine = (apart(run(TENDONS[tendon], n, 0.02, method=method), end) for n in (50, 100))
    assert np.log2(coarse / fine) > METHODS[method].order - 0.4


def test_a_follower_and_a_given_coordinate_keep_the_order() -> None:
    """Protects muscles over reduced coordinates: the elbow moves as a function of time says."""
    given = '[[couplers]]\ncoordinate = "elbow"\nof = "time"\nsine = [0.5, 20.0, 0.0, 0.9]\n'
    model = (
        TENDONS["elastic"].replace("neutral_deg = 50.0 ", "").replace('name = "elbow",', 'name = "elbow"')
        + given
    )
    end = run(model, 1600, 0.02, method="rodas4p")
    coarse, fine = (apart(run(model, n, 0.02, method="rodas4p"), end) for n in (50, 100))
    assert np.log2(coarse / fine) > 3.5


def test_muscles_do_the_work_that_the_motion_gains() -> None:
    """Protects signs and arms: without gravity the kinetic energy grows by what the tendons do."""
    model = TENDONS["elastic"].replace(
        'source = "test"', 'source = "test"\ngravity_m_s2 = [0.0, 0.0, 0.0]', 1
    )
    arm = simulator(model, step_ms=0.1, method="rodas4p")
    arm.v[:] = 1.0, 0.5, -0.5, 1.0
    energy = [kinetic(arm)]
    trace = arm.trace(601)
    assert arm.run(600, 1, trace, last=True) == OK
    energy.append(kinetic(arm))
    power = -(trace.pull[:, :, PULL] * trace.pull[:, :, PATH_SPEED]).sum(axis=1)
    work = 1e-4 * (power[0::2][:-1] + 4.0 * power[1::2] + power[2::2]).sum() / 3.0
    assert energy[1] - energy[0] == pytest.approx(work, rel=1e-6)


def kinetic(arm: Simulator) -> float:
    """Energy of the motion [J]."""
    return float(0.5 * arm.v @ mass_matrix(arm.simulation.system, arm.q) @ arm.v)


def test_two_halves_pull_as_the_whole() -> None:
    """Protects sums over muscles: one of half the force twice changes nothing."""
    whole = TENDONS["elastic"]
    at = whole.index('[[muscles]]\nname = "gliding"')
    half = whole[at:].replace("force_N = 200.0", "force_N = 100.0")
    one, two = (
        run(model, 20, 0.02) for model in (whole, whole[:at] + half + half.replace('"gliding"', '"again"'))
    )
    np.testing.assert_allclose(one.q, two.q, atol=1e-12)
    np.testing.assert_allclose(one.v, two.v, atol=1e-10)


def test_a_settled_arm_stays() -> None:
    """Protects the static equilibrium with muscles: fibres at rest, forces and weights in balance, stable."""
    for tendon in TENDONS:
        settings = '[simulation]\nequilibrium = "loaded"\n'
        arm = simulator(TENDONS[tendon] + settings, step_ms=1.0)
        assert arm.equilibrium is not None
        assert arm.equilibrium.stable
        start, inner = arm.q.copy(), arm.work.inner.now.copy()
        assert arm.run(200, 0, arm.trace(0)) == OK
        np.testing.assert_allclose(arm.q, start, atol=1e-6)
        np.testing.assert_allclose(arm.work.inner.now, inner, atol=1e-6)


def test_activation_follows_an_excitation_over_time() -> None:
    """Protects functions of time: SciPy's solution of the same rate."""
    given = "excitation = { lines = { at = [0.0, 0.02, 0.05], value = [0.0, 1.0, 0.1] } }"
    arm = simulator(TENDONS["rigid"].replace("excitation = 0.6", given), step_ms=0.5)
    assert arm.work.inner.now[0] == pytest.approx(0.01)
    trace = arm.trace(101)
    arm.run(100, 1, trace, last=True)
    muscles = arm.simulation.pulls.muscles
    asked = lambda t: np.interp(t, [0.0, 0.02, 0.05], [0.0, 1.0, 0.1])  # noqa: E731
    times = 5e-4 * np.arange(101)
    found = solve_ivp(
        lambda t, a: [hill.activation_rate(muscles, 0, asked(t), a[0])], (0.0, 0.05), [0.01], t_eval=times,
        rtol=1e-9, atol=1e-12, max_step=1e-3,
    )  # fmt: skip
    np.testing.assert_allclose(trace.pull[:, 0, ACTIVATION], found.y[0], atol=2e-4)


def test_a_path_that_is_not_found_ends_the_run() -> None:
    """Protects from a muscle that quietly stops to pull: a point inside its surface has no path."""
    inside = TENDONS["rigid"].replace("radius_mm = 25.0", "radius_mm = 90.0")
    arm = simulator(inside, step_ms=1.0)
    trace = arm.trace(1)
    arm.run(0, 0, trace, last=True)
    assert np.isnan(trace.pull[0, 0, PULL])
    assert np.isfinite(trace.pull[0, 1, PULL])
    assert not np.isfinite(trace.v_dot).all()
    assert np.isfinite(trace.pull[0, :, PATH_LENGTH][1])
    with pytest.raises(
        ModelError, match="the path of long was not found at the start: a path point lies inside"
    ):
        rtsim.simulation.run.warm_up(simulator(inside))


def test_a_stride_begins_anew_with_its_muscles() -> None:
    """Protects laps of a live run: activations and fibres go back to the start with the motion."""
    arm = moving("elastic")
    stride = SimulatorStride(arm, 3)
    for _ in range(2):
        assert stride.step(True) == OK
    first = stride.trace.pull.copy(), arm.q.copy()
    stride.restart()
    for _ in range(2):
        stride.step(True)
    np.testing.assert_array_equal(stride.trace.pull, first[0])
    np.testing.assert_array_equal(arm.q, first[1])


def test_muscles_are_told() -> None:
    """Protects live frames and files: activations, forces, lengths, speeds; fibres where elastic."""
    arm = simulator(TENDONS["elastic"])
    found = results_of(arm, rtsim.simulation.run.run(arm, 20))
    specs = {spec.name: spec for spec in found.session.fields}
    for name, unit in (("activations", "1"), ("forces", "N"), ("lengths", "m"), ("speeds", "m/s")):
        assert specs[f"muscle_{name}"].unit == unit
        assert specs[f"muscle_{name}"].labels == ("long", "short", "gliding")
        assert np.isfinite(found.fields[f"muscle_{name}"]).all()
    assert specs["muscle_fibre_lengths"].labels == ("long", "gliding")
    assert (found.fields["muscle_fibre_lengths"] > 0.05).all()
    assert (found.fields["muscle_forces"] >= 0.0).all()


@pytest.mark.parametrize(("wrong", "words"), [
    ("excitation = 1.2", "excitation of long: 1.2; allowed: 0 to 1, or a function"),
    ("excitation = { }", "excitation of long has no function; give one of"),
    ("excitation = { lines = { at = [0.0, 1.0], value = [5.0, 60.0] } }", "fractions of full excitation"),
])  # fmt: skip
def test_excitations_that_cannot_be_are_told(wrong: str, words: str) -> None:
    """Protects from activations beyond 1 and tables that say nothing."""
    with pytest.raises(ConfigError, match=words):
        simulator(TENDONS["rigid"].replace("excitation = 0.6", wrong))


def test_what_has_no_force_is_not_excited() -> None:
    """Protects from an excitation that does nothing."""
    at = ARM.index("[muscles.hill]")
    weak = TENDONS["rigid"][:at] + TENDONS["rigid"][TENDONS["rigid"].index('\n[[muscles]]\nname = "short"') :]
    with pytest.raises(ConfigError, match="long has an excitation but no muscle force; add hill"):
        simulator(weak)


def test_a_path_without_bends_is_a_line() -> None:
    """Protects one law for both: a ligament through a point at its own end is the straight one."""
    one, two = (run(TENDONS["rigid"] + band, 20, 0.02) for band in (STRAIGHT, AT_ITS_END))
    np.testing.assert_allclose(one.q, two.q, atol=1e-9)
    np.testing.assert_allclose(one.v, two.v, atol=1e-7)


def test_a_model_of_bands_alone_moves() -> None:
    """Protects models without muscles: a ligament over a surface pulls, and is told."""
    model = TENDONS["rigid"]
    arm = simulator(model[: model.index("[[muscles]]")] + BAND)
    found = results_of(arm, rtsim.simulation.run.run(arm, 20))
    assert found.fields["wrapping_ligament_forces"].shape == (21, 1)
    assert found.fields["wrapping_ligament_forces"].max() > 5.0
    assert "muscle_forces" not in found.fields


@pytest.mark.parametrize(("right", "wrong", "words"), [
    ('over = "head"', 'over = "heel"', r"ligaments.band.through\[1\].over: unknown 'heel'"),
    (BAND[BAND.index("stiffness_N") :], "length = { target_mm = 400.0 }", "add a stiffness"),
    ("slack_length_mm = 390.0", "reference_strain = 0.02", "add reference_length_mm"),
    ("stiffness_N", "length = { target_mm = 400.0 }\nstiffness_N", "remove length or through"),
])  # fmt: skip
def test_bands_that_cannot_be_are_told(right: str, wrong: str, words: str) -> None:
    """Protects paths of ligaments: a sentence each, with the key."""
    with pytest.raises(ConfigError, match=words):
        simulator(TENDONS["rigid"] + BAND.replace(right, wrong))
