"""The curves of torque generators: the authors' values, laws of the paper, slopes by parameters."""

from __future__ import annotations

import csv
from math import degrees, exp, sqrt
from pathlib import Path

import numpy as np
import pytest

from kernels.bezier.chain import evaluate, evaluate_by, new_curves, write_chain_slope
from kernels.torque_generator.curves import velocity_knots, velocity_knots_by_half
from kernels.torque_generator.torque import ANGLE_CURVE, FIRST_VELOCITY, PASSIVE_CURVE
from tests.kernels.torque_generator.generators import random_generators, table
from tests.naive.torque_generators import Generator, hill, t_A, t_PE, t_V

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference"
there = pytest.mark.skipif(not REFERENCE.is_dir(), reason="the reference files are not there")


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a reference file."""
    with (REFERENCE / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@there
def test_curves_are_those_of_the_authors():
    """Protects 72 published curves at 41 places: 1e-10 in value, 1e-8 in both derivatives."""
    parameters = {
        row.pop("muscle"): Generator(*map(float, row.values()))
        for row in rows("mtg_parameters_full_precision.csv")
    }
    curves = table([*parameters.values()]).curves
    names, n = [*parameters], 0
    for row in rows("mtg_reference_curves.csv"):
        m = parameters[row["muscle"]]
        c, centre, width = {
            "tA": (ANGLE_CURVE, m.theta_o, m.theta_w),
            "tPE": (PASSIVE_CURVE, m.theta_0, m.theta_1 - m.theta_0),
            "tV": (FIRST_VELOCITY + names.index(row["muscle"]), 0.0, 1.0),
        }[row["curve"]]
        value, slope, curvature = evaluate(curves, c, (float(row["x"]) - centre) / width)
        assert value == pytest.approx(float(row["value"]), abs=1e-10)
        assert slope / width == pytest.approx(float(row["dvalue_dx"]), abs=1e-8)
        assert curvature / width**2 == pytest.approx(float(row["d2value_dx2"]), abs=1e-8)
        n += 1
    assert n == 72 * 41


def test_curves_are_those_of_the_twin():
    """Protects all three curves of any generator, straight ends included."""
    generators = random_generators(np.random.default_rng(1), 4)
    curves = table(generators).curves
    for g, m in enumerate(generators):
        span = m.theta_1 - m.theta_0
        for t in np.linspace(-1.3, 1.4, 12):
            angle = m.theta_o + 3.0 * t * m.theta_w
            found = np.array(evaluate(curves, ANGLE_CURVE, 3.0 * t)) / m.theta_w ** np.arange(3)
            assert found == pytest.approx(t_A(angle, m), rel=1e-9, abs=1e-10)
            found = np.array(evaluate(curves, PASSIVE_CURVE, t)) / span ** np.arange(3)
            assert found == pytest.approx(t_PE(m.theta_0 + t * span, m), rel=1e-9, abs=1e-9)
            assert evaluate(curves, FIRST_VELOCITY + g, t) == pytest.approx(t_V(t, m), rel=1e-9, abs=1e-9)


def test_the_curves_follow_what_they_stand_for():
    """Protects their meaning: a bell, an exponential, Hill's hyperbola, as near as the authors' are."""
    curves = table([Generator(1, 1, 0, 1, 1.3, 0.3, 0, 1)]).curves
    for z in np.linspace(-5.0, 5.0, 101):
        assert evaluate(curves, ANGLE_CURVE, z)[0] == pytest.approx(exp(-z * z / 2), abs=0.0114)
    for s in np.linspace(0.0, 1.0, 101):
        exponential = (100**s - 1) / 99
        assert evaluate(curves, PASSIVE_CURVE, s)[0] == pytest.approx(exponential, abs=0.06)
    for w in np.linspace(0.0, 1.0, 101):
        assert evaluate(curves, FIRST_VELOCITY, w)[0] == pytest.approx(hill(0.3, w)[0], abs=0.02)


def test_values_that_the_parameters_name_are_met():
    """Protects the definition of every parameter of table A.2."""
    curves = table([Generator(1, 1, 0, 1, 1.3, 0.3, 0, 1)]).curves
    assert evaluate(curves, ANGLE_CURVE, 0.0) == pytest.approx((1.0, 0.0, 0.0), abs=1e-12)
    assert evaluate(curves, ANGLE_CURVE, 1.0)[0] == pytest.approx(exp(-0.5), abs=1e-12)
    assert evaluate(curves, ANGLE_CURVE, 10.0) == (0.0, 0.0, 0.0)
    assert evaluate(curves, PASSIVE_CURVE, -1.0) == (0.0, 0.0, 0.0)
    assert evaluate(curves, PASSIVE_CURVE, 1.0) == pytest.approx((1.0, 4.6, 0.0), abs=1e-12)
    assert evaluate(curves, FIRST_VELOCITY, 0.0) == pytest.approx((1.0, 1 - 1 / 0.3, 0.0), abs=1e-12)
    assert evaluate(curves, FIRST_VELOCITY, 0.5)[0] == pytest.approx(0.3, abs=0.005)
    assert evaluate(curves, FIRST_VELOCITY, -2.0) == pytest.approx((1.3, 0.0, 0.0), abs=1e-12)
    assert evaluate(curves, FIRST_VELOCITY, 2.0) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_curves_are_monotonous():
    """Protects fits, which rely on it: t^PE rises and t^V falls everywhere, t^A has one peak."""
    curves = table(random_generators(np.random.default_rng(2), 6)).curves
    x = np.linspace(-1.2, 1.2, 501)
    assert (np.diff([evaluate(curves, PASSIVE_CURVE, s)[0] for s in x]) >= 0.0).all()
    angle = np.diff([evaluate(curves, ANGLE_CURVE, 4.0 * z)[0] for z in x])
    assert (angle[:250] >= 0.0).all()
    assert (angle[250:] <= 0.0).all()
    for g in range(6):
        assert (np.diff([evaluate(curves, FIRST_VELOCITY + g, w)[0] for w in x]) <= 1e-15).all()


def test_curvature_does_not_jump():
    """Protects gradient-based users of the model: C2 at every knot of every curve."""
    curves = table(random_generators(np.random.default_rng(3), 3)).curves
    for c in range(len(curves.ends)):
        segments = range(curves.first[c], curves.first[c + 1])
        for x in [*curves.x[segments, 0], curves.ends[c, 3]]:
            around = [evaluate(curves, c, x + side * 1e-14) for side in (-1, 1)]
            assert np.abs(np.subtract(*around)).max() < 1e-6


def test_slopes_by_the_parameters_of_velocity_are_the_differences():
    """Protects t^V's derivatives by t^V(omega_max^E) and t^V(1/2), at a fixed shape of its corners."""
    lengthening, half, h, shapes = 1.25, 0.2, 1e-6, np.zeros(4)

    def knots(lengthening: float, half: float) -> np.ndarray:
        made = np.zeros((5, 3))
        velocity_knots(lengthening, half, made, shapes)
        return made

    by_lengthening, by_half = np.zeros((5, 3)), np.zeros((5, 3))
    by_lengthening[:2, 1] = 1.0
    velocity_knots_by_half(half, by_half)
    difference = (knots(lengthening, half + h) - knots(lengthening, half - h)) / (2 * h)
    assert by_half == pytest.approx(difference, rel=1e-6, abs=1e-6)
    difference = (knots(lengthening + h, half) - knots(lengthening - h, half)) / (2 * h)
    assert by_lengthening == pytest.approx(difference, rel=1e-6, abs=1e-6)
    curves = table([Generator(1, 1, 0, 1, lengthening, half, 0, 1)]).curves
    slopes = new_curves((4,))
    write_chain_slope(knots(lengthening, half), shapes, by_lengthening, 0, np.zeros((2, 6)), slopes)
    own = new_curves((4,))
    own.ends[0], own.x[:], own.y[:] = curves.ends[2], curves.x[-4:], curves.y[-4:]
    assert evaluate_by(own, slopes, 0, -0.95) == pytest.approx(1.0, abs=1e-9)
    assert evaluate_by(own, slopes, 0, 0.3) == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < evaluate_by(own, slopes, 0, -0.3) < 1.0


@there
def test_the_test_vector_of_the_authors():
    """Protects a torque and all that it is made of: one gymnast's hip extensor, digit for digit."""
    from kernels.torque_generator.torque import BY_ACTIVATION, BY_ANGLE, BY_SPEED, N_TORQUE, parts, torque

    row = next(r for r in rows("mtg_parameters_full_precision.csv") if r.pop("muscle") == "HipExtension")
    generators = table([Generator(*map(float, row.values()))])
    wanted = {r["quantity"]: float(r["value"]) for r in rows("mtg_test_vector.csv")}
    state = np.array([wanted["fiberAngle"], wanted["fiberAngularVelocity"], wanted["activation"]])
    made, of = np.zeros(N_TORQUE), np.zeros(4)
    torque(generators, 0, state, made)
    parts(generators, 0, state, of)
    assert of[:3] == pytest.approx([wanted["tA"], wanted["tV"], wanted["tPE"]], rel=1e-13)
    assert made[0] == pytest.approx(wanted["fiberTorque"], rel=1e-12)
    assert made[BY_ANGLE] == pytest.approx(wanted["dtau_dq"], rel=1e-12)
    assert made[BY_SPEED] == pytest.approx(wanted["dtau_dqdot"], rel=1e-12)
    assert made[BY_ACTIVATION] == pytest.approx(wanted["dtau_da"], rel=1e-12)
    assert degrees(state[0]) == pytest.approx(60.0)
    assert sqrt(of[2]) > 0.0
