"""The shipped mandible: as long, as strong and as much alike on both sides as its sources say."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.system import new_dynamics_work
from kernels.recruitment.problem import OPTIMAL
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.methods.muscles.recruitment import MuscleRecruitment
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of

SPEC = load_model("mandible")
MIRROR = np.array([1.0, 1.0, -1.0])


def test_ligaments_are_as_long_as_published() -> None:
    """Protects Andersen et al. 2017: reference lengths of three elements a side, 272.4 N/m in all."""
    lengths = {"left": [23.509, 16.188, 12.474], "right": [20.557, 14.987, 13.031]}
    for side, expected in lengths.items():
        own = [ligament for ligament in SPEC.ligaments if ligament.name.startswith(side)]
        found = [float(np.linalg.norm(np.subtract(x.a.offset_mm, x.b.offset_mm))) for x in own]
        np.testing.assert_allclose(found, expected, atol=2e-3)
        stiffness = [1e3 * x.stiffness_N / length for x, length in zip(own, found, strict=True)]
        assert sum(stiffness) == pytest.approx(272.4, rel=1e-3)


def test_both_sides_have_the_same_muscles() -> None:
    """Protects the file's numbers: 12 muscles a side, mirror images with the same parameters."""
    muscles = {muscle.name: muscle for muscle in SPEC.muscles}
    assert len(muscles) == 24
    for name, right in muscles.items():
        if name.startswith("right"):
            left = muscles["left" + name.removeprefix("right")]
            assert left.hill == right.hill
            for a, b in zip(right.path, left.path, strict=True):
                np.testing.assert_allclose(np.array(a.offset_mm) * MIRROR, b.offset_mm)


@pytest.mark.parametrize(("opening_deg", "protrusion_mm"), [(0.0, 0.0), (0.0, 4.0), (10.0, 4.0), (15.0, 6.0)])
def test_points_on_planes_bear_what_muscles_press(opening_deg: float, protrusion_mm: float) -> None:
    """Protects the point-on-plane model: muscles bear the jaw, both condyles are pressed alike, by less than
    half a percent of the contacts' strength.
    """
    model, roles = build(SPEC, method="pop"), roles_of(SPEC, "pop")
    q = model.q_neutral.copy()
    for name, value in ("opening", np.radians(opening_deg)), ("protrusion", 1e-3 * protrusion_mm):
        q[model.coordinates.q[model.coordinates.names.index(name)]] = value
    q = MomentArms(model, roles).assembled(q)
    rest, tau = np.zeros(model.n_v), np.zeros(model.n_v)
    inverse_dynamics(model.system, q, rest, rest, np.zeros((2, 6)), new_dynamics_work(model.tree), tau)
    sharing = MuscleRecruitment(model, roles, RecruitmentSpec())
    assert sharing.share(q, rest, tau) == OPTIMAL
    right, left = sharing.reactions
    assert right == pytest.approx(left, rel=1e-3)
    assert 1.0 < right < 100.0
