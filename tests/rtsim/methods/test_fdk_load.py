"""Without FDK degrees of freedom, on plates: inverse dynamics and recruitment by another way."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.fdk.problem import BALANCED
from kernels.recruitment.problem import OPTIMAL
from rtsim.config.load import check_record, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.methods.inverse_dynamics import dynamics_of_model
from rtsim.methods.muscles.recruitment import MuscleRecruitment
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from tests.naive.fdk import places
from tests.rtsim.models import legs

pytestmark = pytest.mark.own_kernels

FORCE = "max_isometric_force_N = 3000.0, optimal_fibre_length_mm = 60.0, tendon_slack_length_mm = 295.0"
RESERVES = {f"{name}_{side}": 30.0 for name in ("hip_flexion", "knee", "ankle") for side in "rl"}


@pytest.mark.parametrize("strength", ["hill", "isometric"])
def test_the_load_and_its_sharing_are_those_of_both_other_stages(strength) -> None:
    """Protects plates, reserves and strengths: a walker with own markers on two plates, load, activations,
    forces and reserves beside inverse dynamics and recruitment of the same motion.
    """
    text = legs.text().replace(
        "offset_mm = [-50, -30, 0] },\n]", f"offset_mm = [-50, -30, 0] }},\n]\nhill = {{ {FORCE} }}"
    )
    spec = check_record(parse_toml(text, "legs"), ModelSpec, "legs")
    model, roles = build(spec), roles_of(spec)
    asked = RecruitmentSpec(strength=strength, reserves=RESERVES)
    own = ForceDependentKinematics(model, roles, FdkSpec(), asked)
    q = legs.NEUTRAL.copy()
    q[3:6] = 0.3, -0.7, 0.4
    x = places(model, q).reshape(-1, 3)
    rng = np.random.default_rng(5)
    velocity, acceleration = (size * rng.standard_normal(x.shape) for size in (0.1, 2.0))
    soles = [model.names.bodies.index(f"sole_{side}") for side in "rl"]
    for body, force in zip(soles, ([30.0, 400.0, 5.0], [-20.0, 250.0, 0.0]), strict=True):
        own.external[body] = np.r_[np.cross([0.1, 0.0, 0.1], force), force]
    own.start(q)
    assert own.balance(x, velocity, acceleration, np.ones(len(x))) == BALANCED
    other = dynamics_of_model(model)
    other.external[:] = own.external
    other.compute(own.q, own.at.v, own.at.v_dot)
    np.testing.assert_allclose(own.at.tau, other.tau, atol=1e-9)
    sharing = MuscleRecruitment(model, roles, asked)
    assert sharing.share(own.q, own.at.v, other.tau) == OPTIMAL
    assert sharing.activations.max() > 0.01
    np.testing.assert_allclose(own.activations, sharing.activations, atol=1e-5)
    np.testing.assert_allclose(own.forces, sharing.forces, atol=0.02)
    np.testing.assert_allclose(own.reserves, sharing.reserves, atol=1e-3)
