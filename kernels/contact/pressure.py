"""Laws of the normal force of contact, one scalar kernel per law (Brown 2017, MASc thesis).

A new law needs one constant, one kernel with its equation and source, one branch in `normal_force` and in
`force_by_parameters`, and its name in rtsim/config/models/pressure_laws.py.

Whatever the geometry, the arguments of a law are the depth [m], the volume of the overlap [m^3] and the
normal velocity v_n [m/s], which is positive where the bodies part. A law returns the force [N], never
negative, and its derivatives with respect to those of the arguments that it depends on.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

VOLUMETRIC, KELVIN_VOIGT, HUNT_CROSSLEY, POWER = 0, 1, 2, 3
STIFFNESS, DAMPING, EXPONENT = 0, 1, 2
"""Columns of a law's parameters. VOLUMETRIC: k_V [N/m^3], -a_V [s/m]; KELVIN_VOIGT: k [N/m], d [N s/m];
HUNT_CROSSLEY: k [N/m^n], b [N s/m^(n+1)], n; POWER: k [N/m^n], none, n."""
N_PRESSURE = 3


@njit
def normal_force(law, p, depth, volume, v_n):
    """Return (F, F_depth, F_volume, F_v): the normal force F [N] of a law, and its derivatives with respect
    to depth, volume and normal velocity.

    All are zero without contact (depth <= 0), and NaN where the law has no branch.

    law : int - VOLUMETRIC, KELVIN_VOIGT, HUNT_CROSSLEY or POWER
    p : (N_PRESSURE,) - parameters of the law
    depth : float - how far the surfaces overlap [m]
    volume : float - volume of the overlap [m^3]
    v_n : float - normal velocity, positive where the bodies part [m/s]
    """
    if not depth > 0.0:
        return 0.0, 0.0, 0.0, 0.0
    if law == VOLUMETRIC:
        F, F_volume, F_v = volumetric(p, volume, v_n)
        return F, 0.0, F_volume, F_v
    if law == KELVIN_VOIGT:
        F, F_depth, F_v = kelvin_voigt(p, depth, v_n)
    elif law == HUNT_CROSSLEY:
        F, F_depth, F_v = hunt_crossley(p, depth, v_n)
    elif law == POWER:
        F, F_depth, F_v = power(p, depth)
    else:
        F, F_depth, F_v = math.nan, math.nan, math.nan
    return F, F_depth, 0.0, F_v


@njit
def force_by_parameters(law, p, depth, volume, v_n):
    """Return (F_stiffness, F_damping): the derivatives of the normal force with respect to stiffness and
    damping.

    The force of every law is linear in both. The derivatives are zero without contact and where the force is
    clamped at zero, and NaN where the law has no branch.

    law : int - VOLUMETRIC, KELVIN_VOIGT, HUNT_CROSSLEY or POWER
    p : (N_PRESSURE,) - parameters of the law
    depth : float - how far the surfaces overlap [m]
    volume : float - volume of the overlap [m^3]
    v_n : float - normal velocity, positive where the bodies part [m/s]
    """
    F, _, _, _ = normal_force(law, p, depth, volume, v_n)
    if F <= 0.0:
        return 0.0, 0.0
    if law == VOLUMETRIC:
        return F / p[STIFFNESS], -v_n * p[STIFFNESS] * volume
    if law == KELVIN_VOIGT:
        return depth, -v_n
    raised = depth ** p[EXPONENT]
    if law == HUNT_CROSSLEY:
        return raised, -v_n * raised
    if law == POWER:
        return raised, 0.0
    return math.nan, math.nan


@njit
def volumetric(p, volume, v_n):
    """Return the force F = k_V V (1 + a_V v_n) and its derivatives (F, dF/dV, dF/dv_n), with the volume V,
    the normal velocity v_n and the parameters k_V, a_V in p (Brown 2017, eq. 5.44, after Gonthier 2007).

    v_n is signed and a_V < 0. The factor in brackets is clamped at 0, so that the ground never pulls (errata
    of eq. 5.44).
    """
    bracket = 1.0 - p[DAMPING] * v_n
    if not bracket > 0.0:
        return 0.0, 0.0, 0.0
    stiffness = p[STIFFNESS]
    return stiffness * volume * bracket, stiffness * bracket, -p[DAMPING] * stiffness * volume


@njit
def kelvin_voigt(p, depth, v_n):
    """Return the force F = k depth - d v_n, clamped at 0, and its derivatives (F, dF/ddepth, dF/dv_n), with
    stiffness k and damping d in p (Brown 2017, eq. 2.1).

    The force jumps at touch-down.
    """
    F = p[STIFFNESS] * depth - p[DAMPING] * v_n
    if not F > 0.0:
        return 0.0, 0.0, 0.0
    return F, p[STIFFNESS], -p[DAMPING]


@njit
def hunt_crossley(p, depth, v_n):
    """Return the force F = k depth^n - b depth^n v_n, clamped at 0, and its derivatives (F, dF/ddepth,
    dF/dv_n), with k, b and n in p.

    The law is that of Hunt and Crossley (1975); Brown 2017, eq. 2.2.
    """
    raised = depth ** p[EXPONENT]
    bracket = p[STIFFNESS] - p[DAMPING] * v_n
    if not bracket > 0.0:
        return 0.0, 0.0, 0.0
    return raised * bracket, p[EXPONENT] * raised / depth * bracket, -p[DAMPING] * raised


@njit
def power(p, depth):
    """Return the force F = k depth^n and its derivatives (F, dF/ddepth, 0 by velocity), with k and n in p; n
    = 2 in the impact experiment of Brown 2017, sec. 4.3.2.
    """
    if p[EXPONENT] == 2.0:
        raised, slope = depth * depth, 2.0 * depth
    else:
        raised = depth ** p[EXPONENT]
        slope = p[EXPONENT] * raised / depth
    return p[STIFFNESS] * raised, p[STIFFNESS] * slope, 0.0
