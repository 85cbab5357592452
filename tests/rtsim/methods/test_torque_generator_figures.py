"""Figures and sentences of fits: angles of joints, also where two joints share one generator's range."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.methods.joint_motion import JointMotion
from rtsim.methods.torque_generator_figures import panels_of_curves, panels_of_fit, panels_of_parameters
from rtsim.methods.torque_generator_fit import Fit, FitSettings, fit_all
from rtsim.models.generator_sets import generators_of
from rtsim.report.torque_generators import story

LUMBAR = "lumbar_flexion"
DEEPEST = 40.0


def bend() -> list[Fit]:
    """Fits of the lumbar extensor and flexor to a bend to 40 degrees without a torque, at which the curves of
    the extensor are asked for 80 degrees."""
    t = np.linspace(0.0, 1.0, 50)
    q = np.radians(DEEPEST) * np.sin(np.pi * t) ** 2
    motion = JointMotion((LUMBAR,), t, q[:, None], np.gradient(q, t)[:, None], np.zeros((50, 1)))
    placed = [one for one in generators_of("planar") if one.joint.coordinate == LUMBAR]
    return fit_all(placed, motion, FitSettings(several=False))


def test_angles_are_those_of_the_joint():
    """Protects readers from twice the flexion of a lumbar joint: sentences, and the planes of a fit."""
    extensor = bend()[0]
    assert extensor.before is not None
    assert extensor.before.words == "too stiff"
    assert np.degrees(extensor.theta.max()) == pytest.approx(2.0 * DEEPEST, rel=1e-2)
    (before, *_) = story(extensor)
    first = float(before.split(" deg of flexion")[0].split()[-1])
    # the passive torque begins at 18 degrees of the generator, the joint is then bent by half of it
    assert 9.0 < first < 12.0
    angle, speed, *_, needed = panels_of_fit(extensor)
    fastest = np.degrees(np.abs(np.gradient(np.radians(DEEPEST) * np.sin(np.pi * extensor_times()) ** 2,
                                            extensor_times())).max())  # fmt: skip
    assert np.nanmax(angle.x[-50:]) == pytest.approx(DEEPEST, rel=1e-2)
    assert np.nanmax(np.abs(speed.x[-50:])) == pytest.approx(fastest, rel=1e-9)
    assert needed.x.max() == pytest.approx(DEEPEST, rel=1e-2)


def extensor_times() -> np.ndarray:
    """(50,) - times of the bend [s]."""
    return np.linspace(0.0, 1.0, 50)


def test_curves_of_a_shared_range_are_over_the_joints_angle():
    """Protects the figure of all curves: the lumbar extensor is strongest at half of its generator's angle;
    the figure of its parameters, over the generator's own angle, says the factor."""
    placed = [one for one in generators_of("planar") if one.joint.coordinate == LUMBAR]
    rest, _ = panels_of_curves(placed)
    best = rest.x[np.abs(rest.curves["lumbar extension, active"]).argmax()]
    assert best == pytest.approx(0.5 * placed[0].spec.optimal_angle_deg, abs=1.0)
    assert panels_of_parameters(placed[0])[0].x_title == "2 x flexion [deg]"
