"""FDK degrees of freedom that are lengths: a block on a spring, held by a cord whose length forces decide."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.fdk.problem import BALANCED
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.errors import ConfigError
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from tests.naive.fdk import places
from tests.rtsim.models.small_models import read

pytestmark = pytest.mark.own_kernels

STIFFNESS, REST, MASS, G = 1000.0, 0.09, 2.0, 9.81
ANCHOR, TARGET, INSERTION, CENTRE = 0.06, 0.12, -0.05, -0.03
"""Of the cord, beside the block [m]; its length; the muscle and the mass centre beside the block's origin."""
MARKERS = ((60, 0, 0), (-30, 20, 50), (-30, -20, -50))
MARKED = "".join(
    f'[[markers]]\nname = "{body}_{k}"\nsegment = "{body}"\noffset_mm = [{x}, {y}, {z}]\n'
    for body in ("base", "block")
    for k, (x, y, z) in enumerate(MARKERS)
)
SPEC = read(f"""
gravity_m_s2 = [0.0, -{G}, 0.0]
[[bodies]]
name = "base"
joint = "free"
mass_kg = 1.0
inertia_kg_m2 = [0.01, 0.01, 0.01]
[[bodies]]
name = "block"
parent = "base"
joint = "custom"
motion = [{{ translates = [0.0, 1.0, 0.0], of = "drop" }}, {{ rotates = [0.0, 0.0, 1.0], of = "turn" }}]
coordinates = [{{ name = "drop", neutral_mm = 0.0 }}, {{ name = "turn", neutral_deg = 0.0 }}]
mass_kg = {MASS}
mass_centre_mm = [{1e3 * CENTRE}, 0.0, 0.0]
inertia_kg_m2 = [0.01, 0.01, 0.01]
[[elements]]
name = "cord"
kind = "distance"
a = {{ segment = "block" }}
b = {{ segment = "base", offset_mm = [60.0, 100.0, 0.0] }}
target_mm = {1e3 * TARGET}
[[elements]]
name = "level"
kind = "plane"
a = {{ segment = "block" }}
b = {{ segment = "base" }}
normal = [0.0, 1.0, 0.0]
[[springs]]
name = "spring"
a = {{ segment = "block" }}
b = {{ segment = "base", offset_mm = [0.0, 100.0, 0.0] }}
rest_mm = {1e3 * REST}
stiffness_N_m = {STIFFNESS}
[[muscles]]
name = "muscle"
path = [
  {{ segment = "base", offset_mm = [-50.0, 100.0, 0.0] }},
  {{ segment = "block", offset_mm = [-50.0, 0.0, 0.0] }},
]
hill = {{ max_isometric_force_N = 200.0, optimal_fibre_length_mm = 60.0, tendon_slack_length_mm = 50.0 }}
{MARKED}
[methods.cord]
hard = ["cord"]
[methods.level]
hard = ["level"]
[methods.none]
""")


def hanging(method: str, dof: str = "", **options) -> ForceDependentKinematics:
    """The block, with the element of a method, or a coordinate, left to forces."""
    model = build(SPEC, method=method)
    own = ForceDependentKinematics(
        model, roles_of(SPEC, method), FdkSpec(dofs=(dof or method,), tolerance_N=1e-8, **options)
    )
    x = places(model, model.q_neutral).reshape(-1, 3)
    assert own.balance(x, np.zeros_like(x), np.zeros_like(x), np.ones(len(x))) == BALANCED
    return own


def places_of(own: ForceDependentKinematics) -> tuple[float, float]:
    """drop and turn."""
    at = own.model.coordinates
    drop, turn = (own.q[at.q[at.names.index(name)]] for name in ("drop", "turn"))
    return float(drop), float(turn)


@pytest.mark.parametrize("jacobian", ["analytic", "difference"])
def test_a_block_hangs_where_statics_has_it(jacobian: str) -> None:
    """Protects lengths as FDK degrees of freedom: the equilibrium of two equations of statics."""
    own = hanging("cord", jacobian=jacobian)
    drop, turn = places_of(own)
    assert turn == pytest.approx(0.0, abs=1e-9)
    muscle = MASS * G * CENTRE / INSERTION  # straight up: moments about the block's origin
    assert own.forces[0] == pytest.approx(muscle, rel=1e-6)
    assert STIFFNESS * (0.1 - drop - REST) + muscle - MASS * G == pytest.approx(0.0, abs=1e-6)
    assert own.alpha[0] == pytest.approx(np.hypot(ANCHOR, 0.1 - drop) - TARGET, abs=1e-10)


def test_a_translation_and_a_length_have_the_same_equilibrium() -> None:
    """Protects the choice of what forces decide: a slider's coordinate, as a plane across it, a cord, a
    spring's own length, from the neutral pose.
    """
    level, cord, named, spring = (
        hanging("level"), hanging("cord"), hanging("none", "drop"), hanging("none", "spring")
    )  # fmt: skip
    assert places_of(spring)[0] == pytest.approx(level.alpha[0], abs=1e-9)
    assert spring.alpha[0] == pytest.approx(-level.alpha[0], abs=1e-9)
    assert named.hard == named.held == ("drop",)
    assert named.alpha[0] == pytest.approx(level.alpha[0], abs=1e-12)
    assert level.alpha[0] == pytest.approx(places_of(level)[0], abs=1e-12)
    assert places_of(cord)[0] == pytest.approx(level.alpha[0], abs=1e-9)


@pytest.mark.parametrize("velocities", ["least_squares", "optimum"])
def test_slopes_along_a_length_are_those_of_differences(velocities: str) -> None:
    """Protects the analytic Jacobian of lengths away from balance, where 2 L changes: in motion, to 1e-7."""
    own = hanging("cord", velocities=velocities)
    x = places(own.model, own.model.q_neutral).reshape(-1, 3)
    rng = np.random.default_rng(5)
    x, v, a = (0.1 * s * rng.standard_normal(x.shape) + o for s, o in ((0.01, x), (1.0, 0.0), (10.0, 0.0)))
    own.balance(x, v, a, np.ones(len(x)))
    own.alpha[0] += 2e-3
    analytic = own.slopes(0.0)
    assert abs(own.residual[0]) > 1.0
    coarse, fine = own.slopes(4e-6), own.slopes(2e-6)
    np.testing.assert_allclose(analytic, (4.0 * fine - coarse) / 3.0, rtol=1e-7)


def test_what_cannot_be_decided_is_told() -> None:
    """Protects configs: a name that is neither element, nor coordinate, nor path."""
    words = (
        "'swing' names no constraint of the method, and no coordinate, .* allowed: drop, turn, muscle, spring"
    )
    with pytest.raises(ConfigError, match=words):
        hanging("none", "swing")
