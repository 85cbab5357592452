"""Force along a line: a ligament, which only pulls, or a linear spring with a damper.

The force of a ligament is quadratic in its toe region and linear beyond, with the stretch x = L - L0 over the
slack length L0, the stiffnesses K1 and K2 and the strain parameter eps1:
  F = 0 (x <= 0),  K1 x^2 (x <= 2 eps1 L0),  K2 (x - eps1 L0) above
Brown (2017), MASc thesis, University of Waterloo, eq. 3.1, after Abdel-Rahman & Hefzy (1998), Med Eng Phys
20:276-290. Force and slope are continuous if K1 = K2 / (4 eps1 L0), eq. 3.2. Tension is positive.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

TOE_LINEAR, LINEAR = 0, 1

SLACK_LENGTH, K_TOE, K_LINEAR, STRAIN, DAMPING, ONSET = 0, 1, 2, 3, 4, 5
"""Columns of a row of parameters; LINEAR reads only SLACK_LENGTH, K_LINEAR and DAMPING.

SLACK_LENGTH : L0, length without force [m]
K_TOE : K1 of the quadratic toe [N/m^2]
K_LINEAR : K2 of the linear region [N/m]
STRAIN : eps1; the toe ends at the strain 2 eps1 [1]
DAMPING : c [N s/m]
ONSET : stretch over which the damping of a ligament sets in [m], 0 = at once
"""
N_LIGAMENT = 6


@njit
def ligament_force(p, length):
    """Return (tension [N], its derivative with respect to length [N/m]) of an undamped ligament (eq. 3.1).

    p : (N_LIGAMENT,) - parameters, in the columns SLACK_LENGTH, K_TOE, ... of this module
    length : float - length of the ligament [m]
    """
    stretch = length - p[SLACK_LENGTH]
    if stretch <= 0.0:
        return 0.0, 0.0
    foot = p[STRAIN] * p[SLACK_LENGTH]
    if stretch <= 2.0 * foot:
        return p[K_TOE] * stretch * stretch, 2.0 * p[K_TOE] * stretch
    return p[K_LINEAR] * (stretch - foot), p[K_LINEAR]


@njit
def damped_ligament_force(p, length, rate):
    """Return (F [N], dF/dL [N/m], dF/drate [N s/m]) of a ligament with a damper that acts while it is taut.

    F = max(0, F(L) + c s dL/dt) for L > L0, else 0: it never pushes. Where F is 0, so are its derivatives.
    With u = min(1, x / onset) and the stretch x, the factor s = u^2 (3 - 2 u) keeps F and its derivatives
    continuous where the ligament becomes taut; with onset = 0, s = 1 and F jumps there by c dL/dt.

    p : (N_LIGAMENT,) - parameters, in the columns SLACK_LENGTH, K_TOE, ... of this module
    length : float - length of the ligament [m]
    rate : float - its lengthening speed dL/dt [m/s]
    """
    stretch = length - p[SLACK_LENGTH]
    if stretch <= 0.0:
        return 0.0, 0.0, 0.0
    force, slope = ligament_force(p, length)
    damping, onset = p[DAMPING], p[ONSET]
    if stretch < onset:
        u = stretch / onset
        slope += damping * 6.0 * u * (1.0 - u) / onset * rate
        damping *= u * u * (3.0 - 2.0 * u)
    force += damping * rate
    if force <= 0.0:
        return 0.0, 0.0, 0.0
    return force, slope, damping


@njit
def spring_force(p, length, rate):
    """Return (F [N], dF/dL [N/m], dF/drate [N s/m]) of a linear spring and damper, which pulls and pushes.

    F = k (L - L0) + c dL/dt.

    p : (N_LIGAMENT,) - parameters, in the columns SLACK_LENGTH, K_LINEAR and DAMPING of this module
    length : float - length of the spring [m]
    rate : float - its lengthening speed dL/dt [m/s]
    """
    stiffness, damping = p[K_LINEAR], p[DAMPING]
    return stiffness * (length - p[SLACK_LENGTH]) + damping * rate, stiffness, damping


@njit
def line_force(law, p, length, rate):
    """Return the tension along a line of force, and its derivatives: (F [N], dF/dL [N/m], dF/drate [N s/m]).

    All three are NaN for an unknown law.

    law : int - TOE_LINEAR (ligament) or LINEAR (spring and damper)
    p : (N_LIGAMENT,) - parameters, in the columns SLACK_LENGTH, K_TOE, ... of this module
    length : float - length of the line [m]
    rate : float - its lengthening speed dL/dt [m/s]
    """
    if law == TOE_LINEAR:
        return damped_ligament_force(p, length, rate)
    if law == LINEAR:
        return spring_force(p, length, rate)
    return math.nan, math.nan, math.nan


def toe_from_strain_stiffness(stiffness: float, slack_length: float, strain: float) -> tuple[float, float]:
    """Return the stiffnesses (K1 [N/m^2], K2 [N/m]) of a ligament from its stiffness k per unit of strain.

    F = k eps^2 / (4 eps1) in the toe and k (eps - eps1) beyond, with the strain eps: K1 = k / (4 eps1 L0^2),
    K2 = k / L0. Andersen et al. (2017), J Biomech Eng 139:091001, eq. 15. Arguments: k [N], L0 [m], eps1 [1].
    """
    return stiffness / (4.0 * strain * slack_length**2), stiffness / slack_length


def slack_length_from_reference(length: float, reference_strain: float) -> float:
    """Return the slack length L0 [m] of a ligament from its length L [m] and strain [1] in a reference pose.

    L0 = L / (1 + strain): Andersen et al. (2017), J Biomech Eng 139:091001, eq. 16.
    """
    return length / (1.0 + reference_strain)


def slack_length_from_stiffnesses(k_toe: float, k_linear: float, strain: float) -> float:
    """Return the slack length [m] at which toe and linear region join smoothly: L0 = K2 / (4 K1 eps1).

    Brown (2017), eq. 3.2. Arguments: K1 [N/m^2], K2 [N/m], eps1 [1].
    """
    return k_linear / (4.0 * k_toe * strain)
