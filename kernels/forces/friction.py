"""Friction of one contact as a function of sliding velocity and normal force: five laws with one signature.

Every law gives the friction F, with the sign of the sliding velocity v (the caller applies it against the
motion), and its derivatives with respect to v and the normal force F_n. Other symbols: the constants after
this text.
  BROWN_MCPHEE   F = F_n [mu_d tanh(4 s) + (mu_s - mu_d) s / w^2] + mu_v v tanh(4 F_n / F_nt),
                 w = (s^2 + 3) / 4
  ANDERSSON  F = F_n [mu_d + (mu_s - mu_d) exp(-(|v| / v_s)^p)] tanh(k_tanh v) + mu_v v
  HOLLARS    F = F_n [sign(v) min(|s|, 1) (mu_d + 2 (mu_s - mu_d) / (1 + s^2)) + k_v v]
  SPECKER    F = [F_n mu_s - F_n mu_d tanh(v_t / v_d) - mu_v v_t] s exp((1 - s^2) / 2)
                 + F_n mu_d tanh(v / v_d) + mu_v v,                                          s = v / v_t
  BENGISU_AKAY  F = F_n mu_s s (2 - s) up to v_t, F_n [mu_d + (mu_s - mu_d) exp(-xi (v - v_t))] above, odd
The first four are eqs 4.4, 4.1, 4.2 and 4.3 of Brown (2017), MASc thesis, University of Waterloo, with mu_v
in place of the k_v printed in 4.3, and 4.2 continued to v < 0 as an odd function; BROWN_MCPHEE is also in
Brown & McPhee (2016), J Comput Nonlinear Dyn 11:054502. BENGISU_AKAY is the law of Bengisu & Akay (1994), J
Sound Vib 171:557-570, as in Marques et al. (2016), Nonlinear Dyn 86:1407-1443. Without contact (F_n <= 0)
every law gives zero.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

BROWN_MCPHEE, ANDERSSON, HOLLARS, SPECKER, BENGISU_AKAY = 0, 1, 2, 3, 4

MU_S, MU_D, V_T, MU_V, F_NT, K_V, V_D, P, K_TANH = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Columns of a row of parameters; a law reads only its own, V_T, F_NT, V_D and P above 0 where it does.

MU_S, MU_D : coefficients of static and dynamic friction [1]
V_T : transition velocity, at which static friction peaks [m/s]; not ANDERSSON
MU_V : viscous friction [N s/m]; not HOLLARS, BENGISU_AKAY
F_NT : normal force from which viscous friction is whole [N]; BROWN_MCPHEE
K_V : viscous friction per normal force [s/m]; HOLLARS
V_D : velocity at which dynamic friction sets in [m/s]; SPECKER
P : exponent of the decay from static to dynamic friction [1]; ANDERSSON
K_TANH : steepness at rest [s/m]; ANDERSSON
"""
V_S = V_D
"""The same column for ANDERSSON: velocity over which static friction decays [m/s]."""
XI = K_TANH
"""The same column for BENGISU_AKAY: how fast static friction decays above v_t [s/m]."""
N_FRICTION = 9

# From here on tanh is 1 to the last digit of a double.
SATURATED = 19.1
# Below this the exponential form of tanh loses digits, and the rational one is exact to the last.
SMALL = 0.25
# exp(-x) is below the smallest double.
VANISHED = 750.0


@njit
def saturation(x):
    """Return tanh(x) to full double precision, in a third of the time of the mathematical library or less.

    tanh |x| = 1 - 2 / (exp(2 |x|) + 1), which loses digits near 0. Near 0, Lambert's continued fraction x /
    (1 + x^2 / (3 + x^2 / (5 + ...))), cut after the term 11, is used instead (DLMF, eq. 4.39.1).
    """
    size = abs(x)
    if size > SATURATED:
        return math.copysign(1.0, x)
    if size < SMALL:
        y = x * x
        return x * (10395.0 + y * (1260.0 + 21.0 * y)) / (10395.0 + y * (4725.0 + y * (210.0 + y)))
    return math.copysign(1.0 - 2.0 / (math.exp(2.0 * size) + 1.0), x)


@njit
def brown_mcphee_friction(p, v, F_n):
    """Return (F [N], dF/dv [N s/m], dF/dF_n [1]) of the friction law of Brown and McPhee for F_n > 0.

    Source: Brown (2017), eq. 4.4; F is smooth in v and F_n (4.6). With r = 1 / w, the derivative of s / w^2
    by s is 3 r^2 (r - 1), which is finite for any s.
    """
    static = p[MU_S] - p[MU_D]
    per_v_t = 1.0 / p[V_T]
    s = v * per_v_t
    r = 1.0 / (0.25 * s * s + 0.75)
    bell = static * r * r
    settled = saturation(4.0 * s)
    mu = p[MU_D] * settled + bell * s
    slope = 4.0 * p[MU_D] * (1.0 - settled * settled) + 3.0 * bell * (r - 1.0)
    force, by_v = F_n * mu, F_n * per_v_t * slope
    mu_v = p[MU_V]
    if mu_v == 0.0:
        return force, by_v, mu
    per_F = 4.0 / p[F_NT]
    wet = saturation(per_F * F_n)
    return force + mu_v * wet * v, by_v + mu_v * wet, mu + mu_v * v * per_F * (1.0 - wet * wet)


@njit
def andersson_friction(p, v, F_n):
    """Return (F [N], dF/dv [N s/m], dF/dF_n [1]) of Andersson's friction law (Brown 2017, eq. 4.1) for F_n >
    0.

    Its viscous part does not depend on F_n: F jumps by mu_v v where contact begins. k_tanh and the exponent p
    must be above 0.
    """
    speed = abs(v)
    power = (speed / p[V_S]) ** p[P]
    static = 0.0
    if power < VANISHED:
        static = (p[MU_S] - p[MU_D]) * math.exp(-power)
    settled = saturation(p[K_TANH] * v)
    mu = p[MU_D] + static
    slope = mu * p[K_TANH] * (1.0 - settled * settled)
    if static != 0.0 and speed > 0.0:
        slope -= static * p[P] * power / speed * abs(settled)
    return F_n * mu * settled + p[MU_V] * v, F_n * slope + p[MU_V], mu * settled


@njit
def hollars_friction(p, v, F_n):
    """Return (F [N], dF/dv [N s/m], dF/dF_n [1]) of Hollars' friction law (Brown 2017, eq. 4.2) for F_n > 0.

    dF/dv jumps at |v| = v_t; at that speed its value for higher speeds is returned.
    """
    per_v_t = 1.0 / p[V_T]
    s = v * per_v_t
    r = 1.0 / (1.0 + s * s)
    double = 2.0 * (p[MU_S] - p[MU_D])
    bell = p[MU_D] + double * r
    fall = -2.0 * double * r * r * s
    if abs(v) < p[V_T]:
        mu, slope = s * bell, bell + s * fall
    else:
        side = math.copysign(1.0, v)
        mu, slope = side * bell, side * fall
    mu += p[K_V] * v
    return F_n * mu, F_n * (slope * per_v_t + p[K_V]), mu


@njit
def specker_friction(p, v, F_n):
    """Return (F [N], dF/dv [N s/m], dF/dF_n [1]) of Specker's friction law (Brown 2017, eq. 4.3) for F_n > 0.

    Where contact begins, F jumps from 0 to mu_v v (1 - exp((1 - s^2) / 2)), s = v / v_t. For |v| < v_t this
    force has the wrong sign and drives the motion; for F_n >= mu_v v_t / (mu_s - mu_d tanh(v_t / v_d)) that
    cannot happen.
    """
    per_v_t, per_v_d = 1.0 / p[V_T], 1.0 / p[V_D]
    s = v * per_v_t
    half_square = 0.5 * s * s
    settled = saturation(v * per_v_d)
    missing = p[MU_S] - p[MU_D] * saturation(p[V_T] * per_v_d)
    peak = F_n * missing - p[MU_V] * p[V_T]
    bell, bell_slope = 0.0, 0.0
    if half_square < VANISHED:
        growth = math.exp(0.5 - half_square)
        bell, bell_slope = s * growth, (1.0 - 2.0 * half_square) * growth
    mu = p[MU_D] * settled
    slope = F_n * p[MU_D] * per_v_d * (1.0 - settled * settled)
    return (
        peak * bell + F_n * mu + p[MU_V] * v,
        peak * per_v_t * bell_slope + slope + p[MU_V],
        missing * bell + mu,
    )


@njit
def bengisu_akay_friction(p, v, F_n):
    """Return (F [N], dF/dv [N s/m], dF/dF_n [1]) of the friction law of Bengisu and Akay for F_n > 0.

    Up to v_t the law is a parabola with its top mu_s F_n at v_t, above it an exponential decay; xi must be
    above 0. dF/dv jumps at |v| = v_t by -xi (mu_s - mu_d) F_n; at that speed its value for higher speeds is
    returned.
    """
    speed = abs(v)
    if speed < p[V_T]:
        s = speed / p[V_T]
        mu, slope = p[MU_S] * s * (2.0 - s), 2.0 * p[MU_S] * (1.0 - s) / p[V_T]
    else:
        static = (p[MU_S] - p[MU_D]) * math.exp(-p[XI] * (speed - p[V_T]))
        mu, slope = p[MU_D] + static, -p[XI] * static
    mu = math.copysign(mu, v)
    return F_n * mu, F_n * slope, mu


@njit
def friction_force(law, p, v, F_n):
    """Return the friction along the sliding velocity by one of five laws: (F [N], dF/dv [N s/m], dF/dF_n
    [1]).

    All three are 0 for F_n <= 0, that is without contact, and NaN for an unknown law.

    law : int - BROWN_MCPHEE, ANDERSSON, HOLLARS, SPECKER or BENGISU_AKAY
    p : (N_FRICTION,) - parameters, in the columns MU_S, MU_D, V_T, ... of this module
    v : float - sliding velocity [m/s]
    F_n : float - normal force, positive in compression [N]
    """
    if F_n <= 0.0:
        return 0.0, 0.0, 0.0
    if law == BROWN_MCPHEE:
        return brown_mcphee_friction(p, v, F_n)
    if law == HOLLARS:
        return hollars_friction(p, v, F_n)
    if law == ANDERSSON:
        return andersson_friction(p, v, F_n)
    if law == SPECKER:
        return specker_friction(p, v, F_n)
    if law == BENGISU_AKAY:
        return bengisu_akay_friction(p, v, F_n)
    return math.nan, math.nan, math.nan
