"""Shipped models for dynamics and moment arms: they move, their muscles pull the way they should."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.constrained import OK, constrained_dynamics
from kernels.dynamics.constraints import new_constraint_work
from kernels.dynamics.rolling import no_rolls
from kernels.dynamics.system import new_dynamics_work
from kernels.path.assembly import assemble
from kernels.path.moment_arms import (
    FORCE,
    PARTIAL_VELOCITY,
    VELOCITY,
    Leverage,
    LeverageWork,
    moment_arms,
    new_leverage_work,
)
from rtsim.config.paths import shipped_names
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.models.roles import roles_of

Array = NDArray[np.float64]

JAW = (
    *((name, -1) for name in ("superficial_masseter", "deep_anterior_masseter", "deep_posterior_masseter")),
    *((name, -1) for name in ("anterior_temporalis", "posterior_temporalis", "medial_pterygoid")),
    *((name, -1) for name in ("superior_lateral_pterygoid", "inferior_lateral_pterygoid")),
    *(
        (name, 1)
        for name in ("anterior_digastric", "geniohyoid", "anterior_mylohyoid", "posterior_mylohyoid")
    ),
)
JAWS = ("mandible", "mandible_disc")
FIBRES = dict.fromkeys(JAWS, (0.6, 1.2))
"""Of optimal lengths in the neutral pose, where that is not in the middle of the movement: a closed mouth."""
LEVERS = dict.fromkeys(JAWS, 0.09)
"""The largest moment arm [m], where it is not that of a limb: from the condyles to the chin."""

# model: angle of interest, its values [deg], and per muscle the sign of its moment arm there
SIGNS = {
    "pin": [("flexion", (-10.0, 30.0, 150.0), {"flexor": 1})],
    "finger": [
        ("mcp_flexion", (-30.0, 20.0, 85.0), {"extensor": -1, "profundus": 1, "interosseous": 1}),
        ("pip_flexion", (0.0, 50.0, 105.0), {"extensor": -1, "profundus": 1, "interosseous": -1}),
    ],
    **{
        jaw: [
            (
                "opening",
                (0.0, 3.0, 6.0),
                {f"{side}_{name}": sign for side in ("right", "left") for name, sign in JAW},
            )
        ]
        for jaw in JAWS
    },
    "mechanism": [("theta", (-40.0, 10.0, 40.0), {"muscle": 1})],
    "wrist": [
        (
            "wrist_flexion",
            (-70.0, 0.0, 40.0, 70.0),
            {"flexor_carpi_radialis": 1, "extensor_carpi_radialis_brevis": -1},
        )
    ],
}
CASES = [(name, *case) for name, cases in SIGNS.items() for case in cases]


class Body:
    """A shipped model with the working space of its kernels."""

    def __init__(self, name: str) -> None:
        spec = load_model(name)
        self.model: Model = build(spec)
        m = self.model
        self.constraints = m.constraints(roles_of(spec))._replace(rolls=no_rolls())  # as in a run
        self.leverage = Leverage(m.tree, self.constraints, m.stations, m.surfaces, m.angles)
        self.work: LeverageWork = new_leverage_work(self.leverage)

    def assembled(self, angle: int, target: float) -> Array:
        """Coordinates near the neutral ones with an angle at a value [rad], in which all constraints hold."""
        m, q = self.model, self.model.q_neutral.copy()
        status, residual = assemble(
            m.tree, self.constraints, m.angles, angle, target, 50, 1e-13, self.work.pose,
            self.work.constraint, q,
        )  # fmt: skip
        assert (status, residual < 1e-12) == (0, True)
        return q

    def arms(self, q: Array, method: int = FORCE) -> Array:
        """(n_muscle, n_angle) - moment arms at q; all paths and angles are well."""
        arms = np.zeros((len(self.model.names.muscles), len(self.model.names.angles)))
        moment_arms(self.leverage, q, method, 1, self.work, arms)
        assert not self.work.path.status.any()
        return arms

    def lengths(self, q: Array) -> Array:
        self.arms(q)
        return self.work.path.length.copy()


@pytest.fixture(scope="module")
def shipped() -> dict[str, Body]:
    return {name: Body(name) for name in SIGNS}


def test_every_shipped_mechanism_is_tried():
    """Protects models to come: one with muscles that needs no subject has them in the table above.

    One that rolls has no changes of length to compare with; tests/rtsim/methods has the wheel.
    """
    models = {name: load_model(name) for name in shipped_names("models")}
    alone = {name: spec for name, spec in models.items() if spec.muscles and not spec.of_subject}
    assert {name for name, spec in alone.items() if not spec.rolls} == set(SIGNS)


@pytest.mark.parametrize(("name", "angle", "values", "signs"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_muscles_pull_the_way_they_should(shipped, name, angle, values, signs):
    """Protects the shipped geometry: signs, three methods, and the change of length."""
    body = shipped[name]
    a = body.model.names.angles.index(angle)
    for degrees in values:
        theta, h = math.radians(degrees), 1e-6
        q = body.assembled(a, theta)
        r = body.arms(q)[:, a]
        expected = [signs[muscle] for muscle in body.model.names.muscles]
        assert np.sign(r).tolist() == expected, (degrees, r)
        assert (np.abs(r) < LEVERS.get(name, 0.06)).all()
        for method in (PARTIAL_VELOCITY, VELOCITY):
            np.testing.assert_allclose(body.arms(q, method)[:, a], r, atol=1e-12)
        change = body.lengths(body.assembled(a, theta + h)) - body.lengths(body.assembled(a, theta - h))
        np.testing.assert_allclose(-change / (2.0 * h), r, atol=1e-8)


@pytest.mark.parametrize("name", SIGNS)
def test_fibres_are_near_their_optimal_length_at_first(shipped, name):
    """Protects slack lengths: fibres of the neutral pose are near the optimum, or as told above."""
    body = shipped[name]
    low, high = FIBRES.get(name, (0.85, 1.15))
    muscles = body.model.muscles
    along = body.lengths(body.model.q_neutral) - muscles.tendon_slack_length
    thickness = muscles.optimal_fibre_length * np.sin(muscles.pennation_at_optimal)
    relative = np.hypot(along, thickness) / muscles.optimal_fibre_length
    assert ((along > 0.0) & (relative > low) & (relative < high)).all(), relative


@pytest.mark.parametrize("name", SIGNS)
def test_a_shipped_model_falls(shipped, name):
    """Protects forward dynamics: every coordinate moves mass, couplers hold, accelerations are moderate."""
    m, constraints = shipped[name].model, shipped[name].constraints
    n_v = m.n_v
    constraint_work = new_constraint_work(constraints, n_v)
    n_row = len(constraint_work.value)
    work = new_dynamics_work(m.tree, n_row)
    v_dot, multiplier = np.zeros(n_v), np.zeros(n_row)
    status = constrained_dynamics(
        m.system, constraints, m.q_neutral, np.zeros(n_v), np.zeros(n_v), np.zeros((len(m.names.bodies), 6)),
        work, constraint_work, v_dot, multiplier,
    )  # fmt: skip
    assert status == OK
    assert np.isfinite(v_dot).all()
    assert 0.0 < np.abs(v_dot).max() < 1000.0
    n = len(m.couplers.dof)
    np.testing.assert_allclose(constraint_work.row[:n] @ v_dot + constraint_work.bias[:n], 0.0, atol=1e-9)


def test_the_wrist_divides_its_flexion_evenly(shipped):
    """Protects the source's wrist: both joints turn by half of the flexion."""
    body = shipped["wrist"]
    q = body.assembled(body.model.names.angles.index("wrist_flexion"), 0.6)
    np.testing.assert_allclose(q, [0.3, 0.3], atol=1e-13)


def test_theta_of_the_mechanism_is_the_orientation_of_b(shipped):
    """Protects figure 3 of the source: theta is the orientation of B in A and reads as its coordinate."""
    body = shipped["mechanism"]
    m = body.model
    q = body.assembled(m.names.angles.index("theta"), 0.5)
    assert q[m.coordinates.names.index("theta_total")] == pytest.approx(0.5, abs=1e-12)
    body.arms(q)
    R = body.work.pose.rotation
    relative = R[m.names.bodies.index("A")].T @ R[m.names.bodies.index("B")]
    assert math.atan2(relative[1, 0], relative[0, 0]) == pytest.approx(0.5, abs=1e-12)
    alone = body.arms(q)[0, [m.names.angles.index("theta"), m.names.angles.index("theta_total")]]
    assert alone[0] == pytest.approx(alone[1], abs=1e-12)


def test_the_pin_has_the_arm_of_its_figure(shipped):
    """Protects the simplest case: the moment arm is the distance of the muscle's line from the pin."""
    body = shipped["pin"]
    q = body.model.q_neutral
    r = body.arms(q)[0, 0]
    c, s = math.cos(q[0]), math.sin(q[0])
    a, b = np.array([0.02, 0.25]), np.array([c * 0.015 + s * 0.04, s * 0.015 - c * 0.04])
    line = b - a
    assert r == pytest.approx((line[0] * a[1] - line[1] * a[0]) / math.hypot(*line), abs=1e-14)
