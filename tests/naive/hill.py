"""Hill-type muscles as printed: curves in NumPy, equilibria by bracketing the balance of forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from kernels.muscle.hill import Muscles

Array = NDArray[np.floating]

# De Groote et al. (2016), supplement: digits of the authors' code; b11, d1, d4 as OpenSim 4 solved them.
BELLS = (
    (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
    (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
    (0.1, 1.0, 0.353553390593274, 0.0),
)
D1, D2, D3, D4 = -0.3211346127989808, -8.149, -0.374, 0.8825327733249912
CORNER, PASSIVE_CORNER, SHORTEST, SHORTEST_CORNER = 0.005, 0.001, 0.1, 0.02


def soft(x: float, width: float) -> float:
    """Return the positive part of x with a rounded corner."""
    return float(width * np.logaddexp(0.0, x / width))


def force_length(x: float) -> float:
    """Return f_L."""
    return float(sum(b1 * np.exp(-0.5 * ((x - b2) / (b3 + b4 * x)) ** 2) for b1, b2, b3, b4 in BELLS))


def force_velocity(v: float) -> float:
    """Return f_V."""
    return soft(D1 * np.arcsinh(D2 * v + D3) + D4, CORNER)


def exponential(x: float) -> float:
    """Return exp(x), a parabola above 5."""
    t = max(x - 5.0, 0.0)
    return float(np.exp(min(x, 5.0)) * (1.0 + t + t * t / 2.0))


def passive_force(x: float) -> float:
    """Return f_P."""
    return exponential(4.0 * ((x - 1.0) / 0.6 - 1.0))


def tendon_force(strain: float, strain_at_max: float) -> float:
    """Return f_T."""
    return soft(0.2 * (exponential(np.log(6.0) * strain / strain_at_max) - 1.0), CORNER)


def fibre(muscles: Muscles, m: int, x: float) -> tuple[float, float]:
    """Return length and cosine of the fibre that reaches x along the tendon, in optimal lengths."""
    h = np.sin(muscles.pennation_at_optimal[m])
    bounded = SHORTEST + soft(x - SHORTEST, SHORTEST_CORNER)
    slope = 1.0 / (1.0 + np.exp(-(x - SHORTEST) / SHORTEST_CORNER))
    length = np.hypot(bounded, h)
    return float(length), float(bounded / length * slope)


def parts(muscles: Muscles, m: int, x: float, u: float) -> tuple[float, float, float]:
    """Return active force at activation 1, parallel element, damping, along the tendon, over the maximum."""
    length, cosine = fibre(muscles, m, x)
    active = cosine * force_length(length) * force_velocity(cosine * u)
    return active, cosine * passive_force(length), muscles.fibre_damping[m] * u


def rigid_tendon(muscles: Muscles, m: int, length: float, speed: float) -> tuple[float, float]:
    """Return strength and passive force [N]."""
    optimal, full = muscles.optimal_fibre_length[m], muscles.max_isometric_force[m]
    x = (length - muscles.tendon_slack_length[m]) / optimal
    active, parallel, damping = parts(muscles, m, x, speed / (muscles.max_contraction_speed[m] * optimal))
    return full * active, full * soft(parallel + damping, PASSIVE_CORNER)


def balance(muscles: Muscles, m: int, length: float, a: float, x: float, u: float) -> float:
    """Return fibre minus tendon force over the maximum; x, u dimensionless."""
    slack = muscles.tendon_slack_length[m]
    strain = (length - x * muscles.optimal_fibre_length[m]) / slack - 1.0
    active, parallel, damping = parts(muscles, m, x, u)
    return a * active + parallel + damping - tendon_force(strain, muscles.tendon_strain_at_max_force[m])


def elastic_tendon(muscles: Muscles, m: int, length: float, a: float, along: float) -> tuple[float, float]:
    """Return tendon force [N] and dx/dt [m/s]."""
    optimal = muscles.optimal_fibre_length[m]
    u = brentq(
        lambda u: balance(muscles, m, length, a, along / optimal, u), -1e4, 1e4, xtol=1e-13, rtol=1e-14
    )
    strain = (length - along) / muscles.tendon_slack_length[m] - 1.0
    force = tendon_force(strain, muscles.tendon_strain_at_max_force[m])
    return muscles.max_isometric_force[m] * force, u * muscles.max_contraction_speed[m] * optimal


def rests(muscles: Muscles, m: int, length: float, a: float) -> list[float]:
    """Return every x [m] where the muscle rests stably, short ones first, found on a fine grid."""
    optimal = muscles.optimal_fibre_length[m]
    grid = np.linspace(-1.0, 4.0, 2001)
    values = [balance(muscles, m, length, a, x, 0.0) for x in grid]
    rising = [i for i in range(2000) if values[i] < 0.0 <= values[i + 1]]
    solve = lambda i: brentq(  # noqa: E731
        lambda x: balance(muscles, m, length, a, x, 0.0), grid[i], grid[i + 1], xtol=1e-14
    )
    return [optimal * solve(i) for i in rising]


def activation_rate(muscles: Muscles, m: int, e: float, a: float) -> float:
    """Return da/dt [1/s] for e and a within 0 and 1."""
    least = muscles.min_activation[m]
    gap = least + (1.0 - least) * e - a
    f = 0.5 * np.tanh(10.0 * gap)
    up, down = muscles.activation_time[m] * (0.5 + 1.5 * a), muscles.deactivation_time[m] / (0.5 + 1.5 * a)
    return float(((f + 0.5) / up + (0.5 - f) / down) * gap)


def random_muscles(rng: np.random.Generator, n: int, **fixed: float) -> Muscles:
    """Return n muscles of the human range; `fixed` sets columns."""
    optimal = rng.uniform(0.03, 0.3, n)
    muscles = Muscles(
        max_isometric_force=rng.uniform(50.0, 6000.0, n),
        optimal_fibre_length=optimal,
        tendon_slack_length=optimal * rng.uniform(0.3, 9.0, n),
        pennation_at_optimal=rng.uniform(0.0, 0.6, n),
        max_contraction_speed=rng.uniform(8.0, 15.0, n),
        tendon_strain_at_max_force=rng.uniform(0.03, 0.1, n),
        fibre_damping=rng.uniform(0.01, 0.1, n),
        activation_time=rng.uniform(0.01, 0.02, n),
        deactivation_time=rng.uniform(0.04, 0.06, n),
        min_activation=np.full(n, 0.01),
        elastic=np.ones(n, np.int64),
    )
    columns = {name: np.full(n, value, getattr(muscles, name).dtype) for name, value in fixed.items()}
    return muscles._replace(**columns)
