"""Stick-slip and impact of Brown (2017), section 4.3, under all four friction laws.

Held against SciPy's solution of equations that share nothing with the kernels, that of the bench
(rtsim/bench/mechanics/friction_reference.py), and against what follows by hand.
"""

from __future__ import annotations

import math
from functools import cache

import msgspec
import numpy as np
import pytest
from scipy.integrate import quad

from rtsim.bench.mechanics.friction import contact_time, error, with_law
from rtsim.bench.mechanics.friction_reference import BELT, LAWS, LOAD, STIFFNESS, impact, stick_slip
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator

impact_of, stick_slip_of = cache(impact), cache(stick_slip)
STATIC, DYNAMIC = 0.2, 0.15


def simulator(experiment: str, law: str, **settings) -> Simulator:
    """The shipped experiment with another law and other settings."""
    spec = with_law(load_model(experiment), law)
    return Simulator(build(spec), msgspec.structs.replace(spec.simulation, **settings))


@pytest.mark.parametrize("law", LAWS)
def test_impact_at_the_models_settings(law):
    """Protects the shipped settings: under every law 1e-6 m/s at the ends of all steps, kink included."""
    solution, _ = impact_of(law, 8e-3, 1e-12)
    assert error("impact", simulator("impact", law), solution) < 1e-6


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("step_ms", [0.37, 0.4, 0.43])
def test_impact_at_loose_settings(law, step_ms):
    """Protects long steps, split as the model says or more coarsely, at neighbouring steps too: a single step
    may be lucky.
    """
    solution, _ = impact_of(law, 8e-3, 1e-12)
    for split in ({}, {"split_fraction": 0.8, "split_floor": 0.5}):
        assert error("impact", simulator("impact", law, step_ms=step_ms, **split), solution) < 3e-5


@pytest.mark.parametrize("law", LAWS)
def test_touch_down_inside_a_step(law):
    """Protects the part that ends at touch-down, where two laws jump: the error of a start there."""
    solution, _ = impact_of(law, 8e-3, 1e-12)
    late = simulator("impact", law)
    early = 0.37 * late.options.step
    late.q[1] -= early * late.v[1]
    n_step = 50
    trace = late.trace(n_step + 1)
    late.run(n_step, 1, trace, last=True)
    t = late.options.step * np.arange(1, n_step + 1) - early
    found = np.array([trace.v[1:, 0], 0.05 * trace.v[1:, 2]])
    assert np.abs(found - solution(t)).max() < 1e-6


def test_contact_lasts_as_long_as_energy_says():
    """Protects the normal force: half the contact is integral dy/sqrt(v^2 - 2 k y^3/(3 m)), 6.94 ms in all.

    The greatest depth is D = (3 m v^2 / (2 k))^(1/3); with y = D sin(s)^(2/3) the integrand stays finite.
    """
    v, D = 7.0 / math.sqrt(2.0), (1.5 * 0.5 * 24.5 / 1e7) ** (1.0 / 3.0)
    half = quad(lambda s: D / v * (2.0 / 3.0) * math.sin(s) ** (-1.0 / 3.0), 0.0, 0.5 * math.pi)[0]
    assert 2.0 * half == pytest.approx(6.94e-3, abs=5e-6)
    for law in LAWS:
        assert contact_time(with_law(load_model("impact"), law)) == pytest.approx(2.0 * half, rel=1e-5)


@pytest.mark.parametrize("law", LAWS)
def test_the_ball_rolls_off(law):
    """Protects friction and inertia: whatever the law, a ball that sticks leaves with 5/7 of its velocity.

    Angular momentum about the floor is kept, m r v = m r v' + 2/5 m r^2 w', and v' = r w' once it sticks.
    """
    ball = simulator("impact", law)
    trace = ball.trace(1)
    ball.run(50, 0, trace)
    v = 7.0 / math.sqrt(2.0)
    assert ball.v == pytest.approx([5.0 / 7.0 * v, v, -5.0 / 7.0 * v / 0.05], rel=1e-6)


@pytest.mark.parametrize(
    ("law", "settings"),
    [
        ("brown_mcphee", {}),
        ("andersson", {"step_ms": 1.0}),
        ("hollars", {"step_ms": 0.125}),
        ("specker", {"step_ms": 1.0}),
    ],
    ids=list(LAWS),
)
def test_stick_slip_against_the_reference(law, settings):
    """Protects the shipped settings over ten seconds of stick and slip: 1e-6 m/s at the ends of all steps."""
    assert (
        error("stick_slip", simulator("stick_slip", law, **settings), stick_slip_of(law, 10.0, 1e-12)) < 1e-6
    )


def test_long_steps_of_stick_slip():
    """Protects long steps: 16 ms find every slip to 1e-4 m/s."""
    solution = stick_slip_of("brown_mcphee", 10.0, 1e-12)
    for step_ms in (15.0, 16.0, 17.0):
        fast = simulator("stick_slip", "brown_mcphee", step_ms=step_ms, method="ros34pw2")
        assert error("stick_slip", fast, solution) < 1e-4


@pytest.mark.parametrize("law", LAWS)
def test_when_the_block_slips_and_sticks(law):
    """Protects both transitions: slip where the spring pulls with static friction, and stick a swing later.

    Slipping, the block swings about x = mu_d F_n/k, from x = mu_s F_n/k at the belt's speed v; it is back at
    that speed after (2 pi - 2 atan(w (mu_s - mu_d) F_n/(k v)))/w (Coulomb friction, by hand). All laws let go
    a little late, since sticking creeps, and none sticks at once.
    """
    block = simulator("stick_slip", law, step_ms=1.0)
    n_step = 10000
    trace = block.trace(n_step + 1)
    block.run(n_step, 1, trace, last=True)
    x, sliding = trace.q[:, 0], np.abs(trace.v[:, 0] - BELT)
    slips = np.flatnonzero((sliding[1:] > 2e-3) & (sliding[:-1] <= 2e-3))
    sticks = np.flatnonzero((sliding[1:] <= 2e-3) & (sliding[:-1] > 2e-3))
    assert 1e-3 * slips[0] == pytest.approx(STATIC * LOAD / STIFFNESS / BELT, rel=0.02)
    assert x[slips] == pytest.approx(STATIC * LOAD / STIFFNESS, rel=0.02)
    w = math.sqrt(STIFFNESS)
    swing = (2.0 * math.pi - 2.0 * math.atan(w * (STATIC - DYNAMIC) * LOAD / (STIFFNESS * BELT))) / w
    assert len(slips) == 4
    n = min(len(slips), len(sticks))
    assert 1e-3 * (sticks[:n] - slips[:n]) == pytest.approx(swing, rel=0.02)
