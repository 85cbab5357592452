"""A cord over two joints of two hanging links, by hand: its moment arms are the radii that it runs over."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.fdk.problem import BALANCED
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from tests.naive.fdk import places
from tests.rtsim.models.small_models import read

pytestmark = pytest.mark.own_kernels

G, LENGTH = 9.81, 0.4
MASSES, CENTRES, RADII = (3.0, 2.0), (0.15, 0.22), (0.03, 0.02)
STRENGTH = 50.0
"""Of the reserves at both joints [N m]."""
HIP, KNEE = 0.3, -0.5
"""Angles from hanging straight down in the neutral pose [rad]."""


def link(name: str, parent: str, drop: float, k: int, coordinate: str, angle: float) -> str:
    """A link that hangs from a hinge, its mass centre below."""
    return f"""
[[bodies]]
name = "{name}"
parent = "{parent}"
joint = "hinge"
axis = "w"
in_parent = {{ offset_mm = [0.0, {-1e3 * drop}, 0.0] }}
coordinates = [{{ name = "{coordinate}", neutral_deg = {np.degrees(angle)} }}]
mass_kg = {MASSES[k]}
mass_centre_mm = [0.0, {-1e3 * CENTRES[k]}, 0.0]
inertia_kg_m2 = [0.01, 0.001, 0.01]
"""


TEXT = f"""
gravity_m_s2 = [0.0, -{G}, 0.0]
[[bodies]]
name = "base"
joint = "free"
mass_kg = 1.0
inertia_kg_m2 = [0.01, 0.01, 0.01]
{link("thigh", "base", 0.0, 0, "hip", HIP)}
{link("shank", "thigh", LENGTH, 1, "knee", KNEE)}
[[surfaces]]
name = "upper"
segment = "base"
kind = "cylinder"
radius_mm = {1e3 * RADII[0]}
[[surfaces]]
name = "lower"
segment = "thigh"
offset_mm = [0.0, {-1e3 * LENGTH}, 0.0]
kind = "cylinder"
radius_mm = {1e3 * RADII[1]}
[[muscles]]
name = "cord"                        # behind both joints
path = [
  {{ segment = "base", offset_mm = [50.0, 120.0, 0.0] }},
  {{ over = "upper", side = [-1.0, 0.0, 0.0] }},
  {{ over = "lower", side = [-1.0, 0.0, 0.0] }},
  {{ segment = "shank", offset_mm = [90.0, -60.0, 0.0] }},
]
[[muscles]]
name = "idle"                        # crosses no joint
path = [
  {{ segment = "base", offset_mm = [0.0, 0.0, 50.0] }},
  {{ segment = "base", offset_mm = [0.0, 90.0, 50.0] }},
]
hill = {{ max_isometric_force_N = 10.0, optimal_fibre_length_mm = 50.0, tendon_slack_length_mm = 40.0 }}
[[ligaments]]
name = "slack"
a = {{ segment = "base", offset_mm = [50.0, 120.0, 0.0] }}
through = [{{ over = "upper", side = [-1.0, 0.0, 0.0] }}]
b = {{ segment = "thigh", offset_mm = [50.0, -150.0, 0.0] }}
stiffness_N = 100.0
slack_length_mm = 900.0
""" + "".join(
    f'[[markers]]\nname = "{body}_{k}"\nsegment = "{body}"\noffset_mm = {[*map(float, x)]}\n'
    for body in ("base", "thigh")
    for k, x in enumerate(((60, 0, 0), (-30, -80, 50), (-30, 20, -50)))
) + "[methods.joint]\n"  # fmt: skip


def figure() -> ForceDependentKinematics:
    """The links with reserves at both joints, as strong as each other; the cord alone holds the knee."""
    spec = read(TEXT)
    fdk = FdkSpec(dofs=("cord",), tolerance_N=1e-7)
    sharing = RecruitmentSpec(power=2, strength="isometric", reserves={"hip": STRENGTH, "knee": STRENGTH})
    return ForceDependentKinematics(build(spec), roles_of(spec), fdk, sharing)


def moments(hip: float, knee: float) -> tuple[float, float]:
    """dE/d(hip), dE/d(knee) of E = -m1 g c1 cos(hip) - m2 g (l cos(hip) + c2 cos(hip + knee)) [N m]."""
    lower = MASSES[1] * G * CENTRES[1] * np.sin(hip + knee)
    return (MASSES[0] * CENTRES[0] + MASSES[1] * LENGTH) * G * np.sin(hip) + lower, lower


def test_statics_of_a_cord_over_two_joints() -> None:
    """Protects f and df/dalpha by hand. The cord's length is r1 hip + r2 knee and a constant. Reserves are
    the least that leaves the rest along the cord: f = (r1 E1 + r2 E2) / (r1² + r2²). Markers have the hip,
    alpha moves the knee by 1 / r2: df/dalpha = (r1 + r2) m2 g c2 cos(hip + knee) / (r2 (r1² + r2²)).
    """
    own = figure()
    x = places(own.model, own.model.q_neutral).reshape(-1, 3)
    still, weight = np.zeros_like(x), np.ones(len(x))
    own.balance(x, still, still, weight)
    at = {name: own.model.coordinates.q[k] for k, name in enumerate(own.model.coordinates.names)}
    r1, r2 = RADII
    square = r1**2 + r2**2
    for alpha in (-4e-3, 0.0, 3e-3, 9e-3):
        own.alpha[0] = alpha
        J = own.slopes(0.0)[0, 0]
        knee = KNEE + alpha / r2
        assert own.q[at["hip"]] == pytest.approx(HIP, abs=1e-9)
        assert own.q[at["knee"]] == pytest.approx(knee, abs=1e-9)
        upper, lower = moments(HIP, knee)
        f = (r1 * upper + r2 * lower) / square
        assert own.residual[0] == pytest.approx(f, rel=1e-8)
        pull, push = own.work.balance.activation[-4:].reshape(2, 2).T
        assert STRENGTH * (pull - push) == pytest.approx([upper - r1 * f, lower - r2 * f], rel=1e-7)
        slope = (r1 + r2) * MASSES[1] * G * CENTRES[1] * np.cos(HIP + knee) / (r2 * square)
        assert pytest.approx(slope, rel=1e-7) == J


def test_the_knee_hangs_where_nothing_has_to_hold_the_cord() -> None:
    """Protects the answer: r1 E1 + r2 E2 = 0, which an arcsine gives, and the knee's angle goes there."""
    own = figure()
    x = places(own.model, own.model.q_neutral).reshape(-1, 3)
    still, weight = np.zeros_like(x), np.ones(len(x))
    assert own.balance(x, still, still, weight) == BALANCED
    r1, r2 = RADII
    upper, lower = moments(HIP, -HIP)  # of a shank that hangs straight down
    assert lower == 0.0
    knee = np.arcsin(-r1 * upper / ((r1 + r2) * MASSES[1] * G * CENTRES[1])) - HIP
    assert own.alpha[0] == pytest.approx(r2 * (knee - KNEE), abs=1e-9)
    assert own.least_stiffness > 0.0
