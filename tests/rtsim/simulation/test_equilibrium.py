"""Static equilibria: found where a model has one, kept, told from unstable ones, else refused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernels.joints.tree import integrate
from rtsim.errors import ModelError
from rtsim.models.load import load_model
from rtsim.simulation.equilibrium import find_equilibrium
from rtsim.simulation.load import load_simulator
from rtsim.simulation.simulator import Simulator

N_MODEL = 60
STATIC_PUSH = '[[loads]]\nname = "push"\nat = {{ segment = "{0}" }}\nforce_N = {1}\nstart_s = -1.0\n'
JOINTS = {"hinge": 'joint = "hinge"\naxis = "{}"\n', "slider": 'joint = "slider"\naxis = "{}"\n'}


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Simulator]:
    """The simulator of a model's text at its start."""

    def load(text: str, **changes: object) -> Simulator:
        path = tmp_path / "made.toml"
        path.write_text(text, encoding="utf-8")
        return load_simulator(str(path), **changes)

    return load


def vector(random: np.random.Generator, size: float) -> list[float]:
    """A random vector as TOML writes it."""
    return [round(float(x), 3) for x in size * random.normal(size=3)]


def random_model(seed: int) -> str:
    """A chain or tree of one to five bodies, every way that they can fall limited by springs or ligaments."""
    random = np.random.default_rng(seed)
    gravity = (0.0, -9.81, 0.0) if random.random() < 0.8 else (0.0, 0.0, 0.0)
    text = f'name = "made"\nsource = "random"\ngravity_m_s2 = {list(gravity)}\n'
    for b in range(int(random.integers(1, 6))):
        kind = str(random.choice(["hinge", "slider", "ball", "free"], p=[0.5, 0.2, 0.15, 0.15]))
        text += f'[[bodies]]\nname = "b{b}"\n'
        if b and kind != "free" and random.random() < 0.8:
            text += f'parent = "b{int(random.integers(b))}"\n'
        text += JOINTS.get(kind, f'joint = "{kind}"\n').format(random.choice(["u", "v", "w"]))
        if kind in JOINTS:
            neutral = f"neutral_deg = {random.uniform(-170.0, 170.0):.3f}" if kind == "hinge" else ""
            text += f'coordinates = [{{ name = "q{b}", {neutral} }}]\n'.replace(",  }", " }")
        text += f"in_parent = {{ offset_mm = {vector(random, 100.0)} }}\n"
        text += f"mass_kg = {random.uniform(0.1, 3.0):.3f}\nmass_centre_mm = {vector(random, 80.0)}\n"
        text += f"inertia_kg_m2 = [{', '.join(f'{x:.4f}' for x in random.uniform(0.01, 0.019, 3))}]\n"
        if kind == "slider" or (kind == "hinge" and random.random() < 0.5):
            unit = "rad" if kind == "hinge" else "m"
            per = "N_m_rad" if unit == "rad" else "N_m"
            rest = "rest_deg = 40.0" if unit == "rad" else "rest_mm = 20.0"
            stiffness = random.uniform(0.5, 30.0) if unit == "rad" else random.uniform(200.0, 5000.0)
            text += f'[[springs]]\nname = "s{b}"\ncoordinate = "q{b}"\n{rest}\n'
            text += f"stiffness_{per} = {stiffness:.3f}\n"
        for k in range(3 if kind == "free" else int(random.integers(2))):
            text += f'[[springs]]\nname = "l{b}{k}"\n'
            text += f'a = {{ segment = "b{b}", offset_mm = {vector(random, 60.0)} }}\n'
            text += f'b = {{ segment = "ground", offset_mm = {vector(random, 400.0)} }}\n'
            text += f"rest_mm = {random.uniform(10.0, 300.0):.3f}\n"
            text += f"stiffness_N_m = {random.uniform(50.0, 2000.0):.3f}\n"
        if random.random() < 0.3:
            text += (
                f'[[ligaments]]\nname = "t{b}"\na = {{ segment = "b{b}" }}\n'
                f'b = {{ segment = "ground", offset_mm = {vector(random, 300.0)} }}\n'
                f"slack_length_mm = {random.uniform(50.0, 400.0):.3f}\nstiffness_N = 2000.0\n"
            )
        if random.random() < 0.3:
            text += STATIC_PUSH.format(f"b{b}", vector(random, 5.0)).replace('"push"', f'"push{b}"')
    return text + '[simulation]\nequilibrium = "loaded"\n'


def accelerations(some: Simulator, q: np.ndarray, seconds: float = -1e-3) -> np.ndarray:
    """v-dot at rest at q, with the loads that act at this time; the simulator stays as it is."""
    kept = some.q.copy(), some.start_time
    some.q[:], some.start_time = q, seconds
    trace = some.trace(1)
    some.run(0, 0, trace, last=True)
    some.q[:], some.start_time = kept
    return trace.v_dot[0].copy()


def growth(some: Simulator) -> float:
    """Largest square of the rate [1/s^2] at which a deviation from some.q grows, by differences."""
    n, h = len(some.v), 1e-6
    columns = []
    for d in range(n):
        sides = []
        for sign in (1.0, -1.0):
            q = some.q.copy()
            integrate(some.simulation.system.tree, some.q, sign * h * np.eye(n)[d], 1.0, q)
            sides.append(accelerations(some, q))
        columns.append((sides[0] - sides[1]) / (2.0 * h))
    return float(np.linalg.eigvals(np.array(columns).T).real.max())


@pytest.mark.parametrize("seed", range(N_MODEL))
def test_random_models_balance_and_stay(start, seed):
    """Protects every model that has an equilibrium: found, balanced, stable, and found again from itself."""
    some = start(random_model(seed))
    assert abs(accelerations(some, some.q)).max() < 1e-6
    assert some.equilibrium.stable
    assert growth(some) < 1e-2
    q = some.q.copy()
    again, found = find_equilibrium(some, (), gravity=True)
    assert again.n_iteration == 0
    np.testing.assert_array_equal(found, q)


@pytest.mark.parametrize("model", ["knee", "chain", "impact", "stick_slip", "pin", "finger"])
@pytest.mark.parametrize("equilibrium", ["loaded", "weightless"])
def test_shipped_models_restart_from_their_own_result(model, equilibrium):
    """Protects a restart: what a search returned is an equilibrium for the next one, to the last bit."""
    some = load_simulator(model, equilibrium=equilibrium)
    q, hold = some.q.copy(), load_model(model).simulation.hold
    again, found = find_equilibrium(some, hold, gravity=equilibrium == "loaded")
    assert again.n_iteration == 0
    np.testing.assert_array_equal(found, q)


def arrays_of(record: object) -> list[np.ndarray]:
    """Copies of all arrays in a nested record."""
    if isinstance(record, np.ndarray):
        return [record.copy()]
    return [x for part in record for x in arrays_of(part)] if isinstance(record, tuple) else []


@pytest.mark.parametrize("model", ["knee", "chain", "pin", "finger"])
@pytest.mark.parametrize("gravity", [True, False])
def test_a_search_changes_no_simulator_that_it_was_lent(model, gravity):
    """Protects a run in progress: its state, options and working space are the same after a search."""
    some = load_simulator(model)
    some.run(50, 0, some.trace(1))
    kept = [some.q, some.v, some.gain, *some.model.system, some.simulation, some.work]
    before, options = arrays_of(tuple(kept)), (some.start_time, some.n_step, some.options)
    with contextlib.suppress(ModelError):  # some have none from there: that changes nothing either
        find_equilibrium(some, some.settings.hold, gravity=gravity)
    assert (some.start_time, some.n_step, some.options) == options
    for was, now in zip(before, arrays_of(tuple(kept)), strict=True):
        np.testing.assert_array_equal(was, now)


PENDULUM = """
name = "pendulum"
source = "test"
[[bodies]]
name = "arm"
joint = "hinge"
axis = "w"
coordinates = [{{ name = "swing", neutral_deg = {0!r} }}]
mass_kg = {1}
mass_centre_mm = [0.0, -200.0, 0.0]
inertia_kg_m2 = [{2}, {2}, {2}]
[simulation]
equilibrium = "loaded"
"""


def pendulum(degrees: float, mass: float = 0.5) -> str:
    """A hinge with a weight below it."""
    return PENDULUM.format(degrees, mass, 0.02 * mass)


@pytest.mark.parametrize(
    "degrees", [0.0, 1e-12, 1e-7, 1e-3, 10.0, -10.0, 90.0, 100.0, 135.0, 179.0, 179.9999]
)
@pytest.mark.parametrize("mass", [1e-6, 0.5, 1e4])
def test_a_pendulum_hangs_wherever_it_starts(start, degrees, mass):
    """Protects the criterion: not relative to the first force, so that a neutral at the root is one, too."""
    some = start(pendulum(degrees, mass))
    assert some.q[0] == pytest.approx(0.0, abs=2e-9)
    assert some.equilibrium.stable


def test_a_pendulum_that_stands_exactly_is_kept_and_told(start):
    """Protects users: an upright pose that balances is their own word, and it is said that it is unstable."""
    some = start(pendulum(180.0))
    assert some.q[0] == np.pi
    assert some.equilibrium.n_iteration == 0
    assert not some.equilibrium.stable


def test_a_search_does_not_end_where_something_stands(start):
    """Protects against saddles: a cart that has to move first takes its upright pendulum off the top."""
    cart = """
[[bodies]]
name = "cart"
joint = "slider"
axis = "u"
coordinates = [{ name = "along" }]
mass_kg = 2.0
[[springs]]
name = "spring"
coordinate = "along"
rest_mm = 100.0
stiffness_N_m = 300.0
[[bodies]]
name = "arm"
parent = "cart"
"""
    standing = pendulum(180.0).replace('[[bodies]]\nname = "arm"\n', cart)
    some = start(standing)
    assert some.equilibrium.stable
    np.testing.assert_allclose([some.q[0], np.cos(some.q[1])], [0.1, 1.0], atol=1e-9)
    some = start(standing.replace("[simulation]", '[simulation]\nhold = ["swing"]'))
    np.testing.assert_array_equal(some.q, [0.1, np.pi])


def test_what_nothing_acts_on_stays(start):
    """Protects degenerate models: a level slider and a turning wheel without forces stay where they are."""
    idle = """
[[bodies]]
name = "cart"
joint = "slider"
axis = "u"
coordinates = [{ name = "along", neutral_mm = 70.0 }]
mass_kg = 2.0
[[bodies]]
name = "wheel"
joint = "hinge"
axis = "w"
coordinates = [{ name = "turn", neutral_deg = 33.0 }]
mass_kg = 2.0
inertia_kg_m2 = [0.01, 0.01, 0.01]
[simulation]
"""
    some = start(pendulum(50.0).replace("[simulation]", idle))
    np.testing.assert_allclose(some.q, [0.0, 0.07, np.radians(33.0)], atol=1e-9)
    assert some.equilibrium.stable


def test_everything_may_be_held(start):
    """Protects a model of which hold names every coordinate: it stays."""
    some = start(pendulum(50.0).replace("[simulation]", '[simulation]\nhold = ["swing"]'))
    assert some.q[0] == np.radians(50.0)


@pytest.mark.parametrize(("degrees", "said"), [(0.0, "4.9 N"), (90.0, "4.9 N")])
def test_the_coordinate_without_support_is_named(start, degrees, said):
    """Protects users of a model that falls: which coordinate, and how much is missing."""
    text = pendulum(degrees).replace('joint = "hinge"\naxis = "w"', 'joint = "slider"\naxis = "v"')
    text = text.replace(f"neutral_deg = {degrees!r}", f"neutral_mm = {degrees!r}")
    with pytest.raises(ModelError, match=r"no static equilibrium .*: swing stays out of balance by " + said):
        start(text)


def test_forces_that_are_no_numbers_are_told(start):
    """Protects against a load that overflows: one sentence, no number that means nothing."""
    text = pendulum(10.0).replace("[simulation]", STATIC_PUSH.format("arm", [1e7, 0.0, 0.0]) + "[simulation]")
    with pytest.raises(ModelError, match="the forces at the neutral pose are not finite numbers"):
        start(text, gains={"push": 1e305})
