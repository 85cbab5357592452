"""Normal forces of contact, one scalar kernel per law.

A new law is one constant, one kernel with its equation and source, one branch in `normal_force`, and its
name in rtsim/config/models/pressure_laws.py.

Arguments of a law, whatever the geometry: the depth [m], the volume of the overlap [m^3], and the normal
velocity v_n [m/s], positive where the bodies part. Results: the force [N], never negative, and its
derivatives by these.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

VOLUMETRIC, KELVIN_VOIGT, HUNT_CROSSLEY, POWER = 0, 1, 2, 3
STIFFNESS, DAMPING, EXPONENT = 0, 1, 2
"""Columns of a law's parameters: VOLUMETRIC k_V [N/m^3], -a_V [s/m]; KELVIN_VOIGT k [N/m], d [N s/m];
HUNT_CROSSLEY k [N/m^n], b [N s/m^(n+1)], n; POWER k [N/m^n], -, n."""
N_PRESSURE = 3


@njit
def normal_force(law, p, depth, volume, v_n):
    """(F, F_depth, F_volume, F_v) of a law; zero without contact, depth <= 0; NaN of a law without a branch.

    law : int - VOLUMETRIC, KELVIN_VOIGT, HUNT_CROSSLEY or POWER
    p : (N_PRESSURE,) - parameters of the law
    depth : float - how far the surfaces overlap [m]
    volume : float - of their overlap [m^3]
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
    """(F_stiffness, F_damping) of a law, whose force is linear in each; zero where it is clamped or open.

    NaN of a law without a branch.

    law : int - VOLUMETRIC, KELVIN_VOIGT, HUNT_CROSSLEY or POWER
    p : (N_PRESSURE,) - parameters of the law
    depth : float - how far the surfaces overlap [m]
    volume : float - of their overlap [m^3]
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
    """F = k_V V (1 + a_V v_n) (thesis, eq. 5.44, after Gonthier 2007).

    v_n is signed and a_V < 0, and the bracket is clamped at 0, so that the ground never pulls (errata of
    5.44).
    """
    bracket = 1.0 - p[DAMPING] * v_n
    if not bracket > 0.0:
        return 0.0, 0.0, 0.0
    stiffness = p[STIFFNESS]
    return stiffness * volume * bracket, stiffness * bracket, -p[DAMPING] * stiffness * volume


@njit
def kelvin_voigt(p, depth, v_n):
    """F = k depth + d depth-rate (eq. 2.1): jumps at touch-down; clamped at 0."""
    F = p[STIFFNESS] * depth - p[DAMPING] * v_n
    if not F > 0.0:
        return 0.0, 0.0, 0.0
    return F, p[STIFFNESS], -p[DAMPING]


@njit
def hunt_crossley(p, depth, v_n):
    """F = k depth^n + b depth^n depth-rate (Hunt, Crossley 1975; eq. 2.2); clamped at 0."""
    raised = depth ** p[EXPONENT]
    bracket = p[STIFFNESS] - p[DAMPING] * v_n
    if not bracket > 0.0:
        return 0.0, 0.0, 0.0
    return raised * bracket, p[EXPONENT] * raised / depth * bracket, -p[DAMPING] * raised


@njit
def power(p, depth):
    """F = k depth^n; n = 2 is the impact experiment of the thesis, section 4.3.2."""
    if p[EXPONENT] == 2.0:
        raised, slope = depth * depth, 2.0 * depth
    else:
        raised = depth ** p[EXPONENT]
        slope = p[EXPONENT] * raised / depth
    return p[STIFFNESS] * raised, p[STIFFNESS] * slope, 0.0
