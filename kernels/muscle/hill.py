"""Hill-type muscle-tendon unit: its parameters, the geometry of its fibre, and its force with a rigid tendon.

x is the fibre length along the tendon, l(x) the length of the fibre itself, u the speed of x over the maximum
contraction speed, so that the fibre's own speed is l'(x) u. The force F along the tendon at activation a is
  F / F_max = l'(x) (a f_L(l) f_V(l' u) + f_P(l)) + beta u
Sources: Zajac (1989), Crit Rev Biomed Eng 17:359-411; damping beta of Millard, Uchida, Seth, Delp (2013), J
Biomech Eng 135:021005, but along the tendon, so that it does not vanish with the fibre's inclination. The
factor l'(x) is cos(alpha), with the pennation angle alpha: the power of the tendon is that of the fibre for
any x, also where x is limited to SHORTEST.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels.compiler.jit import njit
from kernels.muscle.curves import force_length, force_velocity, limited, passive_force, positive_part

# Shortest fibre length along the tendon and the width of its rounded corner, in optimal fibre lengths:
# far below what sarcomeres reach (0.44), so that the corner changes x = 0.44 by 1e-9 only.
SHORTEST, SHORTEST_CORNER = 0.1, 0.02
# Width of the corner where damping would make a passive muscle push, in maximum isometric forces.
PASSIVE_CORNER = 0.001


class Muscles(NamedTuple):
    """Parameters of n_muscle muscle-tendon units, one row each."""

    max_isometric_force: np.ndarray  # (n_muscle,) [N]
    optimal_fibre_length: np.ndarray  # (n_muscle,) [m]
    tendon_slack_length: np.ndarray  # (n_muscle,) [m] - above 0 where elastic
    pennation_at_optimal: np.ndarray  # (n_muscle,) [rad] - in [0, pi/2)
    max_contraction_speed: np.ndarray  # (n_muscle,) [optimal fibre lengths / s]
    tendon_strain_at_max_force: np.ndarray  # (n_muscle,) [1]
    fibre_damping: np.ndarray  # (n_muscle,) [max isometric forces / max speed] - above 0 where elastic
    activation_time: np.ndarray  # (n_muscle,) [s]
    deactivation_time: np.ndarray  # (n_muscle,) [s]
    min_activation: np.ndarray  # (n_muscle,) [1]
    elastic: np.ndarray  # (n_muscle,) int64 - 1 where the tendon stretches, 0 where it is rigid


@njit
def fibre(x, thickness):
    """Return (fibre length l(x), l'(x) = cos(alpha), l''(x)) for a muscle of constant thickness; unit of
    length: optimal fibre length.

    l = sqrt(X^2 + h^2) with the thickness h = sin(alpha_opt) (Zajac 1989). X is x limited to values above
    SHORTEST, with a rounded corner: l never becomes zero, and l' goes to zero where the path is too short for
    any x.

    x : float - fibre length along the tendon; thickness : float - h.
    """
    above, slope, curvature = positive_part(x - SHORTEST, SHORTEST_CORNER)
    bounded = SHORTEST + above
    length = math.sqrt(bounded * bounded + thickness * thickness)
    cosine = bounded * slope / length
    return length, cosine, (slope * slope + bounded * curvature - cosine * cosine) / length


@njit
def rigid_tendon(muscles, m, length, speed):
    """Return the active strength and passive force of muscle m with a rigid tendon, and their derivatives.

    The force is F = activation * strength + passive. Six numbers are returned: strength, the active force
    along the tendon at activation 1 [N], never negative; passive, the force of parallel element and damping
    [N], never negative; the derivatives of strength with respect to length and speed, and those of passive
    [N/m], [N s/m]. length [m] and speed [m/s] are those of the whole path, lengthening positive.
    """
    full = muscles.max_isometric_force[m]
    optimal = muscles.optimal_fibre_length[m]
    fastest = muscles.max_contraction_speed[m] * optimal
    damping = muscles.fibre_damping[m]
    x, inside = limited((length - muscles.tendon_slack_length[m]) / optimal)
    u, inside_speed = limited(speed / fastest)
    by_length, by_speed = full * inside / optimal, full * inside_speed / fastest
    fibre_length, cosine, turning = fibre(x, math.sin(muscles.pennation_at_optimal[m]))
    f_l, f_l_slope = force_length(fibre_length)
    f_v, f_v_slope = force_velocity(cosine * u)
    f_p, f_p_slope = passive_force(fibre_length)
    active = cosine * f_l * f_v
    active_x = turning * f_l * (f_v + cosine * f_v_slope * u) + cosine * cosine * f_l_slope * f_v
    passive, kept, _ = positive_part(cosine * f_p + damping * u, PASSIVE_CORNER)
    passive_x = kept * (turning * f_p + cosine * cosine * f_p_slope)
    return (
        full * active,
        full * passive,
        by_length * active_x,
        by_speed * cosine * cosine * f_l * f_v_slope,
        by_length * passive_x,
        by_speed * kept * damping,
    )
