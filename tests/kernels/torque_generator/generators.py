"""Generators of the tests: random ones, and tables of them for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from math import degrees

import numpy as np
from numpy.typing import NDArray

from kernels.torque_generator.torque import Generators
from rtsim.config.models.torque_generator_schema import JointGenerators, TorqueGenerator
from rtsim.models.packing.torque_generators import PlacedGenerator, pack_generators
from tests.naive.torque_generators import Generator

Array = NDArray[np.float64]


def placed(m: Generator) -> PlacedGenerator:
    """A twin's generator as the record of a config at a joint."""
    spec = TorqueGenerator(
        source="test",
        strength_Nm=m.tau_o,
        optimal_angle_deg=degrees(m.theta_o),
        width_deg=degrees(m.theta_w),
        speed_deg_s=degrees(m.omega_max),
        lengthening=m.lengthening,
        half_speed=m.half,
        passive_zero_deg=degrees(m.theta_0),
        passive_one_deg=degrees(m.theta_1),
        damping=m.beta,
    )
    joint = JointGenerators(
        coordinate="joint",
        extensor="",
        flexor="",
        flexion_sign=int(m.angle_sign),  # type: ignore[arg-type]
        offset_deg=degrees(m.offset),
        factor=m.factor,
    )
    return PlacedGenerator("one", "one", spec, joint, int(m.torque_sign), m.blend, m.to_one)


def table(generators: Sequence[Generator], fits: Array | None = None) -> Generators:
    """The kernels' table of these generators, fitted as they are or by these parameters."""
    made = pack_generators([placed(m) for m in generators])
    if fits is not None:
        made.fit[:] = fits
    return made


def random_generators(rng: np.random.Generator, n: int) -> list[Generator]:
    """Extensors and flexors of any size, blended much or little, at joints of either sign."""
    found = []
    for k in range(n):
        zero, span = rng.uniform(-1.0, 2.0), rng.uniform(0.2, 1.3) * (-1) ** k
        found.append(
            Generator(
                tau_o=rng.uniform(5.0, 700.0),
                omega_max=rng.uniform(5.0, 40.0),
                theta_o=rng.uniform(-1.2, 2.2),
                theta_w=rng.uniform(0.5, 6.3),
                lengthening=rng.uniform(1.05, 1.4),
                half=rng.uniform(0.1, 0.42),
                theta_0=zero,
                theta_1=zero + span,
                beta=rng.uniform(0.0, 0.3),
                blend=(1e-4, 0.15)[k % 2],
                to_one=k % 3 == 0,
                angle_sign=float(rng.choice([-1, 1])),
                torque_sign=float(rng.choice([-1, 1])),
                offset=rng.uniform(-0.3, 0.3),
                factor=float(1 + k % 2),
            )
        )
    return found


def random_fits(rng: np.random.Generator, n: int) -> Array:
    """(n, 5) - fitted parameters as a fit may find them."""
    low, high = [1.0, 1.0, -0.5, 0.0, 1.0], [2.0, 2.0, 0.7, 0.9, 2.0]
    return rng.uniform(low, high, (n, 5))
