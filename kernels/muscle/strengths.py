"""Forces that the muscles of a model can exert at present lengths and speeds, as muscle recruitment needs
them: activation * strength + passive force.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.muscle.curves import force_velocity, limited, positive_part, tendon_force
from kernels.muscle.elastic import OK, fibre_equilibrium
from kernels.muscle.hill import PASSIVE_CORNER, fibre, rigid_tendon


@njit
def resting_force(muscles, m, length, activation):
    """Compute the force of muscle m with an elastic tendon in static equilibrium; return (force, fibre length
    along the tendon [m], status).

    The force is over the muscle's maximum isometric force [1]; length is that of the path [m].
    """
    x, status = fibre_equilibrium(muscles, m, length, activation)
    slack = muscles.tendon_slack_length[m]
    strain, _ = limited((length - x) / slack - 1.0)
    force, _ = tendon_force(strain, muscles.tendon_strain_at_max_force[m])
    return force, x, status


@njit
def elastic_strength(muscles, m, length, speed):
    """Compute what muscle m with an elastic tendon can exert; return (strength [N], passive force [N],
    status).

    The state of its fibre need not be known. The passive force is that of static equilibrium at activation 0,
    plus damping. The strength is the difference of the static forces at activation 1 and 0, times the
    force-velocity multiplier f_V. So for a muscle at rest the force is exact at both activations, and linear
    between them, as recruitment needs it. The speed of the path is taken as that of the fibre, as if the
    tendon kept its length during the frame.

    length, speed : float - length and speed of the path [m], [m/s], lengthening positive
    """
    optimal = muscles.optimal_fibre_length[m]
    relaxed, _, status = resting_force(muscles, m, length, 0.0)
    tense, x, status_tense = resting_force(muscles, m, length, 1.0)
    u, _ = limited(speed / (muscles.max_contraction_speed[m] * optimal))
    _, cosine, _ = fibre(x / optimal, math.sin(muscles.pennation_at_optimal[m]))
    f_v, _ = force_velocity(cosine * u)
    passive, _, _ = positive_part(relaxed + muscles.fibre_damping[m] * u, PASSIVE_CORNER)
    full = muscles.max_isometric_force[m]
    return full * max(tense - relaxed, 0.0) * f_v, full * passive, max(status, status_tense)


@njit
def all_strengths(muscles, length, speed, strength_out, passive_out):
    """Compute strength and passive force of all muscles for given path lengths and speeds; return a status.

    It is OK, or NOT_CONVERGED if the equilibrium of any muscle with an elastic tendon was not found (an input
    is not a number).

    muscles : Muscles - parameters of the muscle-tendon units
    length, speed : (n_muscle,) - of the paths [m], [m/s], lengthening positive
    strength_out, passive_out : (n_muscle,) - forces along the tendon [N], never negative, written
    """
    worst = OK
    for m in range(length.shape[0]):
        if muscles.elastic[m] == 0:
            strength, passive, _, _, _, _ = rigid_tendon(muscles, m, length[m], speed[m])
        else:
            strength, passive, status = elastic_strength(muscles, m, length[m], speed[m])
            worst = max(worst, status)
        strength_out[m] = strength
        passive_out[m] = passive
    return worst
