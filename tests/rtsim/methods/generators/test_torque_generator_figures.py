"""Figures and sentences of fits: angles of joints, also where two joints share one generator's range."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from rtsim.methods.generators.joint_motion import JointMotion
from rtsim.methods.generators.strength_bounds import IsometricTorque, strength_bounds
from rtsim.methods.generators.torque_generator_figures import (
    panels_of_curves,
    panels_of_fit,
    panels_of_parameters,
)
from rtsim.methods.generators.torque_generator_fit import FitSettings, FittedGenerator, fit_all
from rtsim.models.generator_sets import generators_of
from rtsim.models.packing.torque_generators import PlacedGenerator
from rtsim.report.torque_generators import story

LUMBAR = "lumbar_flexion"
DEEPEST = 40.0


def bend() -> list[FittedGenerator]:
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


def counted_from(offset_deg: float, coordinate: str, flexion_sign: int = 1) -> list[PlacedGenerator]:
    """Generators of a joint whose coordinate is so much where its generators' angle is 0 [deg]."""
    return [
        one._replace(
            joint=replace(one.joint, offset_deg=offset_deg, flexion_sign=flexion_sign),
            torque_sign=one.torque_sign * one.joint.flexion_sign * flexion_sign,
        )
        for one in generators_of("planar")
        if one.joint.coordinate == coordinate
    ]


@pytest.mark.parametrize("sign", [1, -1])
def test_angles_are_those_of_the_joint_with_an_offset(sign):
    """Protects readers of a joint that is not counted from neutral standing: angles of fits, sentences and
    figures are those of its coordinate, whichever way that counts; what its parameters do says the offset."""
    zero = 30.0
    placed = counted_from(sign * zero, LUMBAR, sign)
    t = extensor_times()
    q = sign * np.radians(zero + DEEPEST * np.sin(np.pi * t) ** 2)
    motion = JointMotion((LUMBAR,), t, q[:, None], np.gradient(q, t)[:, None], np.zeros((50, 1)))
    extensor = fit_all(placed, motion, FitSettings(several=False))[0]
    as_usual = bend()[0]
    assert extensor.flexion == pytest.approx(sign * q)
    assert extensor.x == pytest.approx(as_usual.x, abs=1e-6)
    first, usual_first = (
        float(story(fit)[0].split(" deg of flexion")[0].split()[-1]) for fit in (extensor, as_usual)
    )
    assert first == pytest.approx(usual_first + zero, abs=0.11)
    for panel, usual in zip(panels_of_fit(extensor), panels_of_fit(as_usual), strict=True):
        moved = zero if panel.x_title == "flexion [deg]" else 0.0
        assert panel.x == pytest.approx(usual.x + moved, nan_ok=True)
    rest, usual_rest = panels_of_curves(placed)[0], panels_of_curves(counted_from(0.0, LUMBAR))[0]
    assert rest.x == pytest.approx(usual_rest.x + zero)
    for name, curve in rest.curves.items():
        assert curve == pytest.approx(usual_rest.curves[name], nan_ok=True, abs=1e-9)
    assert panels_of_parameters(placed[0])[0].x_title == "2 x (flexion - 30) [deg]"


def test_joints_of_other_angles_have_panels_of_their_own():
    """Protects the figure of all curves: joints share panels of the same curves over the same angles."""
    lumbar = counted_from(0.0, LUMBAR)

    def beside(**changed: float) -> int:
        other = [one._replace(joint=replace(one.joint, coordinate="other", **changed)) for one in lumbar]
        return len(panels_of_curves([*lumbar, *other]))

    assert beside() == 2
    assert beside(factor=1.0) == 4
    assert beside(offset_deg=10.0) == 4


def test_measured_angles_are_those_of_the_joint():
    """Protects the greatest strength of a joint that is not counted from neutral standing."""
    t = extensor_times()
    greatest = []
    for zero in (0.0, 20.0):
        q = np.radians(zero + 60.0 + 20.0 * np.sin(np.pi * t))[:, None]
        motion = JointMotion(("knee_flexion_r",), t, q, np.gradient(q, t, axis=0), np.full((50, 1), -30.0))
        measured = {"knee_flexion_r": IsometricTorque(64.0, np.radians(90.0 + zero))}
        placed = counted_from(zero, "knee_flexion_r")
        greatest.append(strength_bounds(placed, motion, FitSettings(several=False), measured)[0].greatest)
    assert greatest[1] == pytest.approx(greatest[0])
