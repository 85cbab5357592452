"""Least and greatest strength of the torque generators of a weak person: Millard et al. (2019), appendix B.

First the extensors of hip, knee and ankle are fitted, beginning at 80 % of the peak moment. Then the flexors
are fitted, beginning at the strength of the fitted extensors times the ratio of flexors to extensors in young
men (Anderson et al. 2007). The least strength is the fitted one, tau_o* s_tau: the isometric torque at the
start of the fit times the fitted scale of strength, as in the text of the paper (its table B.4 prints tau_o*
only). The greatest strength comes from isometric torques of a comparable healthy person, divided by the
active torque-angle curve t^A at the angle of the measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import degrees, radians
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kernels.torque_generator.torque import S_TAU, angle_multiplier
from rtsim.config.models.torque_generator_schema import MOST_STRENGTH_NM
from rtsim.errors import ConfigError
from rtsim.methods.generators.joint_motion import JointMotion
from rtsim.methods.generators.torque_generator_fit import FitSettings, FittedGenerator, fit_all
from rtsim.models.packing.torque_generators import PlacedGenerator, pack_generators

Array = NDArray[np.float64]

PART_OF_PEAK = 0.8
"""Strength of an extensor at the start of its fit, as a fraction of its peak moment."""
FLEXOR_RATIOS = {"hip_flexion": 0.702, "knee_flexion": 0.533, "ankle_dorsiflexion": 0.347}
"""Strength of flexors in parts of that of their extensors: Anderson et al. (2007), young men."""


LEAST_PART = 0.2
"""Smallest t^A at the angle of a measured torque with which this is converted to the optimal angle."""


class IsometricTorque(NamedTuple):
    """An isometric torque of an extensor [N m] at an angle, positive in flexion [rad]."""

    torque: float
    angle: float


class StrengthBounds(NamedTuple):
    """Bounds of the strength of one torque generator.

    fit : the generator fitted to the person's motion
    least, greatest : least and greatest strength [N m], NaN = not known
    """

    fit: FittedGenerator
    least: float
    greatest: float


def with_strength(one: PlacedGenerator, strength: float) -> PlacedGenerator:
    """Return a copy of a generator with another isometric torque [N m]."""
    return one._replace(spec=replace(one.spec, strength_Nm=float(strength)))


def beginning_with(one: PlacedGenerator, strength: float) -> PlacedGenerator:
    """Return a generator at the start of a fit, with the isometric torque `strength` [N m] and without a
    scale of strength from an earlier fit.
    """
    fit = tuple(1.0 if k == S_TAU else value for k, value in enumerate(one.fit))
    return with_strength(one, strength)._replace(fit=fit)


def weakened(
    placed: Sequence[PlacedGenerator], factors: Mapping[str, float], factor: float = 1.0
) -> list[PlacedGenerator]:
    """Return the generators with their strengths multiplied by `factors`, by generator name or coordinate,
    or by `factor` for all others.
    """
    found = []
    for one in placed:
        own = factors.get(one.name, factors.get(one.joint.coordinate, factor))
        strength = own * one.spec.strength_Nm
        if strength > MOST_STRENGTH_NM:
            raise ConfigError(
                f"{one.name} would have a strength of {strength:.4g} N m",
                where="factor of the strength before the fit",
                allowed=f"up to {MOST_STRENGTH_NM:g} N m", remedy="give a smaller factor",
            )  # fmt: skip
        found.append(with_strength(one, strength) if own != 1.0 else one)
    return found


def strength_bounds(
    placed: Sequence[PlacedGenerator], motion: JointMotion, settings: FitSettings, measured: Mapping[str,
    IsometricTorque], tell: Callable[[str], None] = lambda name: None, stopped: Callable[[], bool] = lambda:
False, ) -> list[StrengthBounds]:  # fmt: skip
    """Find the least and the greatest strength of the torque generators of the legs, by the rules of this
    module.

    measured : coordinate -> isometric torque of a comparable healthy person
    tell : called with the name of each generator before its fit
    stopped : returns whether to end now with the results so far
    """
    legs = [one for one in placed if one.muscle in FLEXOR_RATIOS and one.joint.coordinate in motion.names]
    found: list[StrengthBounds] = []
    for flexor in legs:
        extensor = next(
            one for one in placed if one.joint == flexor.joint and one.torque_sign == -flexor.torque_sign
        )
        ratio = FLEXOR_RATIOS[flexor.muscle]
        moment = motion.of(extensor.joint.coordinate)[2]
        peak = float((extensor.torque_sign * moment[np.isfinite(moment)]).max(initial=0.0))
        greatest = isometric(extensor, measured.get(extensor.joint.coordinate))
        strong = beginning_with(extensor, PART_OF_PEAK * peak) if peak > 0.0 else extensor
        (fit,) = fit_all([strong], motion, settings, tell, stopped)
        least = strength_of(fit)
        found.append(StrengthBounds(fit, least, greatest))
        bent = beginning_with(flexor, ratio * least) if np.isfinite(least) else flexor
        (other,) = fit_all([bent], motion, settings, tell, stopped)
        found.append(StrengthBounds(other, strength_of(other), ratio * greatest))
    return found


def strength_of(fit: FittedGenerator) -> float:
    """Return the fitted strength [N m]: isometric torque times fitted scale; NaN where there is no fit."""
    return float("nan") if fit.fault else fit.placed.spec.strength_Nm * float(fit.x[S_TAU])


def isometric(one: PlacedGenerator, measured: IsometricTorque | None) -> float:
    """Convert a measured isometric torque to that at the optimal angle [N m]; NaN without a measured one."""
    if measured is None:
        return float("nan")
    packed = pack_generators([one])
    theta = one.joint.theta_of(measured.angle)
    part = angle_multiplier(packed.curves, packed.parameter[0], theta, 1.0)[0]
    if part < LEAST_PART:
        best = degrees(one.joint.flexion_of(radians(one.spec.optimal_angle_deg)))
        raise ConfigError(
            f"at the measured angle of {degrees(measured.angle):.4g} deg {one.name} can make only the "
            f"fraction {part:.2g} of its greatest torque",
            where="measured torque", allowed=f"an angle with a fraction of {LEAST_PART:g} or more",
            remedy=f"measure at an angle nearer to {best:.4g} deg",
        )  # fmt: skip
    return measured.torque / part
