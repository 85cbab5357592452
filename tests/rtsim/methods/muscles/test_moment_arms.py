"""Moment arms as a user computes them: four methods, torques that move the model, clear refusals."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ModelError
from rtsim.methods.muscles.moment_arms import DIFFERENCES, METHODS, MomentArms
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.papers.paper_002.methods_compared import effective_torque

SWEEPS = {
    ("pin", "flexion"): (-20.0, 140.0),
    ("finger", "mcp_flexion"): (-30.0, 85.0),
    ("finger", "pip_flexion"): (0.0, 105.0),
    ("mechanism", "theta"): (-40.0, 40.0),
    ("wrist", "wrist_flexion"): (-70.0, 70.0),
}


def arms_of(name: str, moving_point_work: bool = True) -> MomentArms:
    spec = load_model(name)
    return MomentArms(build(spec), roles_of(spec), moving_point_work)


@pytest.fixture(scope="module")
def shipped() -> dict[str, MomentArms]:
    return {name: arms_of(name) for name, _ in SWEEPS}


@pytest.mark.parametrize(("model", "angle"), SWEEPS, ids=lambda value: value)
def test_four_methods_agree_along_a_sweep(shipped, model, angle):
    """Protects eqs 10, 11, 15 and 18 against each other, over every range and wrap of the shipped models."""
    arms = shipped[model]
    values = np.radians(np.linspace(*SWEEPS[model, angle], 9))
    by_force = [point.arms for point in arms.sweep(angle, values)]
    for method in (*METHODS, DIFFERENCES):
        tolerance = 1e-8 if method == DIFFERENCES else 1e-13
        for point, expected in zip(arms.sweep(angle, values, method=method), by_force, strict=True):
            np.testing.assert_allclose(point.arms, expected, atol=tolerance)


@pytest.mark.parametrize(("model", "angle"), SWEEPS, ids=lambda value: value)
def test_the_effective_torque_is_the_moment_arm_times_the_tension(shipped, model, angle):
    """Protects eq. 24: what the constrained dynamics do under a tension is what the moment arm promises."""
    arms = shipped[model]
    column = arms.angle_index(angle)
    for value in np.radians(np.linspace(*SWEEPS[model, angle], 4)):
        q = arms.assembled(angle=angle, value=value)
        for m, muscle in enumerate(arms.model.names.muscles):
            expected = arms.at(q)[m, column] * 250.0
            assert effective_torque(arms, q, muscle, angle, 250.0) == pytest.approx(expected, abs=1e-8)


def test_an_angle_of_the_user_is_as_good_as_a_named_one(shipped):
    """Protects angles given as functions: coupled coordinates move along."""
    arms = shipped["wrist"]
    q = arms.assembled(angle="wrist_flexion", value=0.4)
    named = arms.at(q)[:, arms.angle_index("wrist_flexion")]
    np.testing.assert_allclose(arms.about(q, lambda q: q[0] + q[1]), named, atol=1e-12)
    np.testing.assert_allclose(arms.about(q, lambda q: 2.0 * q[0] + 2.0 * q[1]), named / 2.0, atol=1e-12)


def test_an_angle_that_nothing_turns_is_refused(shipped):
    """Protects against a division by nothing: undetermined and locked angles are told apart."""
    arms = shipped["wrist"]
    q = arms.assembled()
    with pytest.raises(ModelError, match="no coordinate determines"):
        arms.about(q, lambda q: 1.0)
    with pytest.raises(ModelError, match="hold the angle fixed"):
        arms.about(q, lambda q: q[0] - q[1])
    with pytest.raises(ModelError, match=r"unknown angle 'elbow'.*wrist_flexion"):
        arms.coupling(q, "elbow")


def test_a_value_out_of_reach_is_told(model_file):
    """Protects against a pose that does not satisfy the constraints: an infeasible set has a clear error."""
    arms = arms_of(str(model_file(LOOP)))
    with pytest.raises(ModelError, match=r"no pose that satisfies the constraints.*remaining error"):
        arms.assembled()
    locked = arms_of(str(model_file(LOCKED)))
    with pytest.raises(ModelError, match="with theta_2 at 45 deg"):
        locked.assembled(angle="theta_2", value=np.radians(45.0))


def test_a_path_that_fails_names_muscle_and_surface(model_file):
    """Protects against lengths of impossible paths: a point inside a surface, a path without length."""
    for text, reason in ((INSIDE, "path point 3 lies inside ball"), (POINT, "the path has no length")):
        arms = arms_of(str(model_file(text)))
        assert arms.failures(np.zeros(2)) == {"short": reason}
        for found in (arms.at(np.zeros(2)), arms.at(np.zeros(2), DIFFERENCES), arms.lengths(np.zeros(2))):
            assert np.isnan(found[arms.model.names.muscles.index("short")]).all()


def test_the_work_of_moving_points_can_be_left_out(model_file):
    """Protects the named option: OpenSim's rule leaves the moving point's own work out of -dl/dtheta."""
    path = str(model_file(MOVING))
    q = np.array([0.3, 0.2])
    ours, theirs = arms_of(path), arms_of(path, moving_point_work=False)
    np.testing.assert_allclose(ours.at(q), ours.at(q, DIFFERENCES), atol=1e-9)
    assert abs(ours.at(q)[0, 0] - theirs.at(q)[0, 0]) > 1e-3
    np.testing.assert_allclose(theirs.at(q, "partial-velocity"), theirs.at(q), atol=1e-14)
    np.testing.assert_array_equal(ours.lengths(q), theirs.lengths(q))


ARMS = """
name = "arms"
source = "test"
[[bodies]]
name = "first"
joint = "hinge"
axis = "w"
coordinates = [{ name = "theta_1" }]
[[bodies]]
name = "second"
parent = "first"
joint = "hinge"
axis = "w"
in_parent = { offset_mm = [100.0, 0.0, 0.0] }
coordinates = [{ name = "theta_2" }]
"""
MUSCLE = """
[[muscles]]
name = "short"
path = [{ segment = "ground", offset_mm = [50.0, 60.0, 0.0] }, PLACES]
"""
LOOP = (
    ARMS
    + """
[[elements]]
name = "rod"
kind = "distance"
a = { segment = "second", offset_mm = [50.0, 0.0, 0.0] }
b = { segment = "ground", offset_mm = [900.0, 0.0, 0.0] }
target_mm = 100.0
"""
    + MUSCLE.replace("PLACES", '{ segment = "second", offset_mm = [20.0, 0.0, 0.0] }')
)
LOCKED = (
    ARMS
    + '[[couplers]]\ncoordinate = "theta_2"\nconstant = 0.1\n'
    + MUSCLE.replace("PLACES", '{ segment = "second", offset_mm = [20.0, 0.0, 0.0] }')
)
INSIDE = (
    ARMS
    + '[[surfaces]]\nname = "ball"\nsegment = "first"\nkind = "sphere"\nradius_mm = 30.0\n'
    + MUSCLE.replace("PLACES", '{ over = "ball" }, { segment = "first", offset_mm = [10.0, 0.0, 0.0] }')
)
POINT = ARMS + MUSCLE.replace("PLACES", '{ segment = "ground", offset_mm = [50.0, 60.0, 0.0] }')
MOVING = ARMS + MUSCLE.replace(
    "PLACES",
    '{ segment = "first", moving = { of = "theta_1", x = { linear = [0.05, 0.04] }, '
    "y = { constant = 0.02 }, z = { constant = 0.0 } } }, "
    '{ segment = "second", offset_mm = [20.0, 10.0, 0.0] }',
)


@pytest.fixture
def model_file(tmp_path):
    """Writes a model's text to a file."""

    def write(text: str):
        path = tmp_path / "model.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture(scope="module")
def wheel() -> MomentArms:
    spec = load_model("wheel")
    return MomentArms(build(spec), roles_of(spec))


def test_rolling_couples_a_wheel_to_its_hub(wheel):
    """Protects eqs 11, 15 and 18 under a constraint of velocity: a cord at the hub turns the wheel.

    Its arm is the radius, and at another heading the part of it along the cord's own line.
    """
    q = wheel.assembled()
    column = wheel.angle_index("roll")
    for method in METHODS:
        assert wheel.at(q, method)[0, column] == pytest.approx(-0.3)
    q[2] = np.radians(60.0)
    for method in METHODS:
        assert wheel.at(q, method)[0, column] == pytest.approx(-0.15)
    C = wheel.coupling(q, "roll")
    np.testing.assert_allclose(C, [0.3 * np.sin(np.radians(60.0)), -0.15, 0.0, 1.0], atol=1e-12)
    assert effective_torque(wheel, q, "cord", "roll", 50.0) == pytest.approx(-7.5)
    assert wheel.about(q, lambda there: there[3])[0] == pytest.approx(-0.15)


def test_differences_refuse_what_no_position_has(wheel):
    """Protects against a wrong answer: moving q along differences would not roll, and names what it is."""
    with pytest.raises(ModelError, match=r"rolls\.ground_contact.*constrains velocities"):
        wheel.at(wheel.assembled(), DIFFERENCES)
