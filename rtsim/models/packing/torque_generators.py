"""Packing of torque generators, with their curves and parameters before or after a fit, into the table
Generators that kernels/torque_generator reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernels.bezier.chain import BezierCurves, new_curves, write_chain
from kernels.bezier.corner import NO_CORNER
from kernels.torque_generator.curves import (
    N_ANGLE,
    N_PASSIVE,
    N_VELOCITY,
    angle_knots,
    find_shape,
    passive_knots,
    velocity_knots,
)
from kernels.torque_generator.torque import ANGLE_CURVE, FIRST_VELOCITY, PASSIVE_CURVE, Generators
from rtsim.config.models.torque_generator_schema import JointGenerators, TorqueGenerator
from rtsim.errors import ConfigError

UNFITTED = (1.0, 1.0, 0.0, 0.0, 1.0)
"""s_A, s_V, Delta_P, lambda_P, s_tau that leave a generator as it is."""
BLENDED = float(np.finfo(float).eps ** 0.25)
"""lambda_A and lambda_V by which eq. 3 can be solved for any activation; Millard et al. (2019), 2.2."""
SHORTENING_CORNER = 2


class PlacedGenerator(NamedTuple):
    """A torque generator (extensor or flexor) at a joint, after Millard et al. (2019).

    name : name of the generator at this joint; muscle : its name in the set of generators
    spec, joint : its parameters, and the joint with its coordinate
    torque_sign : sign of its torque about the coordinate
    fit : fitted parameters: scales s_A and s_V of the torque-angle and the torque-speed curve, shift Delta_P
        [rad] and blend lambda_P of the passive curve, and scale s_tau of the strength
    blend : value of both lambda_A and lambda_V, by which the torque-angle and the torque-speed curve are
        blended with a constant, so that the activation can be found for any torque
    to_one : whether the torque-speed curve t^V is blended towards 1 (Millard et al. 2019, eq. 5), else to its
        eccentric maximum
    """

    name: str
    muscle: str
    spec: TorqueGenerator
    joint: JointGenerators
    torque_sign: int
    blend: float = BLENDED
    to_one: bool = False
    fit: tuple[float, ...] = UNFITTED


def pack_generators(placed: Sequence[PlacedGenerator]) -> Generators:
    """Return the table Generators of these torque generators, in their order: curves, parameters, and times
    of activation.
    """
    n = len(placed)
    return Generators(
        curves=pack_curves([one.spec for one in placed]),
        parameter=np.array([parameters(one) for one in placed], float).reshape(n, -1),
        fit=np.array([one.fit for one in placed], float).reshape(n, -1),
        min_activation=np.array([one.spec.min_activation for one in placed], float),
        activation_time=1e-3 * np.array([one.spec.activation_ms for one in placed], float),
        deactivation_time=1e-3 * np.array([one.spec.deactivation_ms for one in placed], float),
    )


def parameters(one: PlacedGenerator) -> tuple[float, ...]:
    """Return the numbers of a torque generator (strength, largest speed, optimal angle, ...) in the order of
    the columns STRENGTH to FACTOR of Generators.parameter.
    """
    spec, joint = one.spec, one.joint
    optimal, width, speed, zero, last = np.radians(
        [spec.optimal_angle_deg, spec.width_deg, spec.speed_deg_s, spec.passive_zero_deg,
         spec.passive_one_deg]
    )  # fmt: skip
    flat = 1.0 if one.to_one else spec.lengthening
    signs = (float(joint.flexion_sign), float(one.torque_sign))
    curves = (spec.strength_Nm, speed, optimal, width, zero, last - zero, spec.damping)
    return (*curves, one.blend, one.blend, flat, *signs, joint.offset, joint.factor)


def pack_curves(specs: Sequence[TorqueGenerator]) -> BezierCurves:
    """Pack the curves of torque generators: active torque over angle t^A and passive torque over angle t^PE,
    which are the same for all generators, then torque over speed t^V of each generator.
    """
    curves = new_curves((N_ANGLE, N_PASSIVE, *(N_VELOCITY,) * len(specs)))
    scratch, knots, shapes = np.zeros(6), np.zeros((5, 3)), np.zeros(4)
    angle_knots(knots, shapes)
    write_chain(knots, shapes, ANGLE_CURVE, scratch, curves)
    passive_knots(knots, shapes)
    write_chain(knots, shapes, PASSIVE_CURVE, scratch, curves)
    for g, spec in enumerate(specs):
        c = FIRST_VELOCITY + g
        velocity_knots(spec.lengthening, spec.half_speed, knots, shapes)
        segment = int(curves.first[c]) + SHORTENING_CORNER
        shapes[2:] = find_shape(spec.half_speed, knots, segment, scratch, curves)
        if write_chain(knots, shapes, c, scratch, curves) == NO_CORNER:
            raise ConfigError(
                f"no smooth torque-velocity curve goes through {spec.half_speed:g} at half speed and "
                f"{spec.lengthening:g} while lengthening",
                where="half_speed and lengthening",
                remedy="move half_speed towards 0.25",
            )
    return curves
