"""Muscle with an elastic tendon; its only state is x, the fibre length along the tendon.

The length of the tendon is that of the path minus x. Fibre and tendon bear the same force (damped
equilibrium, Millard et al. 2013, J Biomech Eng 135:021005), which determines the speed u of x, over the
maximum contraction speed:
  r(u) = l' (a f_L f_V(l' u) + f_P) + beta u - f_T = 0,   dr/du >= beta > 0
with activation a, cosine l' of the pennation, damping beta and the curves f of kernels/muscle/curves. The
state x has no bounds, unlike the fibre's own length or the tendon's force: a fibre exists for every x.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.muscle.curves import force_length, force_velocity, held, limited, passive_force, tendon_force
from kernels.muscle.hill import fibre

OK, NOT_CONVERGED = 0, 1
MAX_ITERATIONS = 100
SPEED_TOLERANCE, LENGTH_TOLERANCE = 1e-12, 1e-14


@njit
def guarded_step(x, r, slope, low, high, last):
    """Return the next step towards a root of r in a bracket: a Newton step, or else a step to the bracket's
    middle.

    r(low) < 0 < r(high) is required. The bracket is halved where the Newton step leaves it or is more than
    half of the last step, so that the iteration ends. Source: Press et al. (2007), Numerical Recipes, section
    9.4.

    x : float - present estimate of the root
    r : float - residual at x
    slope : float - dr/dx at x
    low : float - lower end of the bracket
    high : float - upper end of the bracket
    last : float - the last step
    """
    leaves = ((x - high) * slope - r) * ((x - low) * slope - r) > 0.0
    if leaves or abs(2.0 * r) > abs(last * slope):
        return 0.5 * (low + high) - x
    return -r / slope


@njit
def fibre_speed(active, passive, cosine, damping, tendon):
    """Return (u, status): the fibre speed u at which active f_V(cosine u) + passive + damping u - tendon = 0.

    u is the speed along the tendon over the maximum contraction speed [1]; the status is OK or NOT_CONVERGED.
    The bracket of the search only requires 0 <= f_V, and f_V <= 1 for u <= 0.

    active : float - l' a f_L [1]
    passive : float - l' f_P [1]
    cosine : float - cosine l' of the pennation angle [1]
    damping : float - damping of the fibre, in maximum isometric forces at maximum contraction speed [1]
    tendon : float - force of the tendon over the maximum isometric force [1]
    """
    high = (tendon - passive) / damping
    low = min(0.0, high - active / damping)
    u = min(0.0, high)
    last = high - low
    for _ in range(MAX_ITERATIONS):
        f_v, f_v_slope = force_velocity(cosine * u)
        r = active * f_v + passive + damping * u - tendon
        if r > 0.0:
            high = u
        elif r < 0.0:
            low = u
        else:
            return u, OK if r == 0.0 else NOT_CONVERGED  # neither: NaN
        last = guarded_step(u, r, active * cosine * f_v_slope + damping, low, high, last)
        u += last
        if abs(last) <= SPEED_TOLERANCE * (1.0 + abs(u)):
            return u, OK
    return u, NOT_CONVERGED


@njit
def elastic_tendon(muscles, m, length, activation, fibre_along):
    """Return the tendon force of muscle m, the speed of its fibre, their derivatives, and a status.

    Seven values are returned: the force [N], never negative; dx/dt [m/s]; the derivative of the force with
    respect to length [N/m] (that with respect to x is its negative, that with respect to activation is 0);
    the derivatives of dx/dt with respect to length and x [1/s], and to activation [m/s]; and OK, or
    NOT_CONVERGED (only where an input is not a number, or fibre_damping is not positive). None depends on the
    speed of the path.

    muscles : Muscles - parameters of the muscle-tendon units
    m : int - index of the muscle
    length : float - length of the whole path [m]
    activation : float - 0 to 1
    fibre_along : float - the state x: fibre length along the tendon [m]
    """
    full = muscles.max_isometric_force[m]
    optimal, slack = muscles.optimal_fibre_length[m], muscles.tendon_slack_length[m]
    damping = muscles.fibre_damping[m]
    x, inside = limited(fibre_along / optimal)
    strain, inside_strain = limited((length - fibre_along) / slack - 1.0)
    a, inside_a = held(activation)
    fibre_length, cosine, turning = fibre(x, math.sin(muscles.pennation_at_optimal[m]))
    f_l, f_l_slope = force_length(fibre_length)
    f_p, f_p_slope = passive_force(fibre_length)
    f_t, f_t_slope = tendon_force(strain, muscles.tendon_strain_at_max_force[m])
    u, status = fibre_speed(cosine * a * f_l, cosine * f_p, cosine, damping, f_t)
    f_v, f_v_slope = force_velocity(cosine * u)
    # r(u; x, length, a) = 0: du = -(r_x dx + r_length dlength + r_a da) / r_u
    stiffness = f_t_slope * inside_strain / slack
    r_u = cosine * cosine * a * f_l * f_v_slope + damping
    r_x = turning * (a * f_l * (f_v + cosine * f_v_slope * u) + f_p)
    r_x += cosine * cosine * (a * f_l_slope * f_v + f_p_slope)
    fastest = muscles.max_contraction_speed[m] * optimal
    gain = fastest / r_u
    return (
        full * f_t,
        fastest * u,
        full * stiffness,
        gain * stiffness,
        -gain * (r_x * inside / optimal + stiffness),
        -gain * cosine * f_l * f_v * inside_a,
        status,
    )


@njit
def fibre_equilibrium(muscles, m, length, activation):
    """Return (fibre length along the tendon [m] at which muscle m is in static equilibrium, status).

    The muscle has a path of the given length [m] and an activation in [0, 1]. For a short fibre the force of
    the stretched tendon exceeds that of the fibre, for a long fibre the force of its parallel element exceeds
    the tendon's; so there is an equilibrium between them, and a stable one. It is the only one, unless the
    tendon is so long (20 optimal fibre lengths) and compliant that it outweighs the descending limb of f_L;
    then one of two is returned.
    """
    optimal, slack = muscles.optimal_fibre_length[m], muscles.tendon_slack_length[m]
    strain_at_max = muscles.tendon_strain_at_max_force[m]
    thickness = math.sin(muscles.pennation_at_optimal[m])
    a, _ = held(activation)
    path, _ = limited(length / optimal)
    ratio = slack / optimal
    # f_T is 7 at twice the strain of force 1, the fibre at most 2.4 below length 1.3; and a slack tendon
    # carries less than the parallel element of any fibre above optimal length.
    low = min(path - ratio * (1.0 + 2.0 * strain_at_max), 1.3)
    high = max(path - ratio * (1.0 - 2.0 * strain_at_max), 1.0)
    x = min(max(path - ratio, low), high)
    last = high - low
    for _ in range(MAX_ITERATIONS):
        fibre_length, cosine, turning = fibre(x, thickness)
        f_l, f_l_slope = force_length(fibre_length)
        f_p, f_p_slope = passive_force(fibre_length)
        f_t, f_t_slope = tendon_force((path - x) / ratio - 1.0, strain_at_max)
        r = cosine * (a * f_l + f_p) - f_t
        if r > 0.0:
            high = x
        elif r < 0.0:
            low = x
        else:
            return x * optimal, OK if r == 0.0 else NOT_CONVERGED
        slope = turning * (a * f_l + f_p) + cosine * cosine * (a * f_l_slope + f_p_slope) + f_t_slope / ratio
        last = guarded_step(x, r, slope, low, high, last)
        x += last
        if abs(last) <= LENGTH_TOLERANCE * (1.0 + abs(x)):
            return x * optimal, OK
    return x * optimal, NOT_CONVERGED
