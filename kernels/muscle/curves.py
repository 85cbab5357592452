"""Dimensionless curves of a Hill-type muscle, each returned with its derivative (slope), finite and smooth
everywhere.

f_L is the active force-length curve, f_V the force-velocity curve, f_P the passive force-length curve, f_T
that of the tendon. Source: De Groote, Kinney, Rao, Fregly (2016), Ann Biomed Eng 44:2922-2936, supplement
S1-S4, with these changes: b11, d1 and d4 are solved for so that f_L(1) = 1, f_V(0) = 1 and f_V(-1) = 0 hold
exactly, not to three digits (the other digits are those of the code that the authors published with the
paper). f_V and f_T pass through `positive_part`: neither the contractile element nor the tendon ever pushes.
f_P is the exponential alone, without the shift that makes the published curve negative for short fibres. f_T
has c2 = 1 and c3 = c1, so that it starts at slack length; its parameter is the strain at force 1.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

# Bells of the active force-length curve, b1 exp(-((x - b2) / (b3 + b4 x))^2 / 2), supplement S2.
B21, B31, B41 = 1.055033428970575, 0.162384573599574, 0.063303448465465
B12, B22, B32, B42 = 0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188
B13, B23, B33 = 0.1, 1.0, 0.5 * math.sqrt(0.5)
# The factor of the first bell that makes the sum 1 at length 1, where the third bell is at its top.
B11 = (1.0 - B12 * math.exp(-0.5 * ((1.0 - B22) / (B32 + B42)) ** 2) - B13) / math.exp(
    -0.5 * ((1.0 - B21) / (B31 + B41)) ** 2
)
# Force-velocity curve d1 asinh(d2 v + d3) + d4, supplement S4.
D2, D3 = -8.149, -0.374
D1 = 1.0 / (math.asinh(D3) - math.asinh(D3 - D2))
D4 = 1.0 - D1 * math.asinh(D3)
# Passive curve: kPE and the fibre strain at force 1, supplement S3.
PASSIVE_SHAPE, PASSIVE_STRAIN = 4.0, 0.6
# Tendon curve: c1, and the exponent at force 1.
TENDON_TOE = 0.2
TENDON_EXPONENT = math.log((1.0 + TENDON_TOE) / TENDON_TOE)

# Width of the rounded corners where f_V and f_T leave zero, in units of maximum isometric force: a
# tendon at slack length carries log(2) times this, 0.35 %.
CORNER = 0.005
# Beyond this exponent (forces of 30 to 150 times the maximum) exponentials go on as parabolas.
LARGEST_EXPONENT = 5.0
LARGEST_GROWTH = math.exp(LARGEST_EXPONENT)
# Beyond these exponents the neglected term is below rounding, or below the smallest number.
ROUNDING_EXPONENT, VANISHING_EXPONENT = 40.0, 700.0
# Dimensionless lengths, strains, speeds are held within this: nothing can overflow.
RANGE = 1000.0


@njit
def limited(x):
    """Return (a length, strain or speed x [1] limited to the range from -RANGE to RANGE, the derivative of
    this: 1 inside, 0 outside), so that nothing overflows; NaN stays NaN.
    """
    if x > RANGE:
        return RANGE, 0.0
    if x < -RANGE:
        return -RANGE, 0.0
    return x, 1.0


@njit
def held(x):
    """Return (activation x limited to the range from 0 to 1, derivative of this: 1 inside, 0 outside); NaN
    stays NaN.
    """
    if x > 1.0:
        return 1.0, 0.0
    if x < 0.0:
        return 0.0, 0.0
    return x, 1.0


@njit
def positive_part(x, width):
    """Return a smooth version of max(x, 0), width log(1 + exp(x / width)), with its first and second
    derivative.

    The function is infinitely smooth, increasing and positive (zero only where it underflows), and at most
    log(2) width above max(x, 0).
    """
    t = x / width
    if t > ROUNDING_EXPONENT:
        return x, 1.0, 0.0
    e = math.exp(-abs(t))
    slope = 1.0 / (1.0 + e)
    curvature = e * slope * slope / width
    if t > 0.0:
        return x + width * math.log1p(e), slope, curvature
    return width * math.log1p(e), e * slope, curvature


@njit
def growth(x):
    """Return (exp(x), its derivative); above LARGEST_EXPONENT a parabola replaces exp(x), so that nothing
    overflows.

    The parabola is the expansion of exp(x) at LARGEST_EXPONENT to second order.
    """
    if x > LARGEST_EXPONENT:
        t = x - LARGEST_EXPONENT
        return LARGEST_GROWTH * (1.0 + t + 0.5 * t * t), LARGEST_GROWTH * (1.0 + t)
    e = math.exp(x)
    return e, e


@njit
def bell(x, b1, b2, b3, b4):
    """Return (one bell-shaped term of f_L, its derivative): b1 exp(-((x - b2) / (b3 + b4 x))^2 / 2).

    Both are 0 where the denominator b3 + b4 x is 0.

    x : float - fibre length / optimal fibre length [1]
    b1, b2, b3, b4 : float - parameters of the term [1]
    """
    numerator, denominator = x - b2, b3 + b4 * x
    square = denominator * denominator
    if numerator * numerator > 2.0 * VANISHING_EXPONENT * square:
        return 0.0, 0.0
    value = b1 * math.exp(-0.5 * numerator * numerator / square)
    return value, -value * numerator * (b3 + b4 * b2) / (square * denominator)


@njit
def force_length(x):
    """Return (active force-length multiplier f_L, its derivative with respect to x) (supplement S2).

    x : float - fibre length / optimal fibre length [1]
    """
    f1, s1 = bell(x, B11, B21, B31, B41)
    f2, s2 = bell(x, B12, B22, B32, B42)
    f3, s3 = bell(x, B13, B23, B33, 0.0)
    return f1 + f2 + f3, s1 + s2 + s3


@njit
def force_velocity(v):
    """Return (force-velocity multiplier f_V, its derivative with respect to v) (supplement S4).

    It increases everywhere, f_V(0) = 1, and decays to zero for v below -1.

    v : float - lengthening speed of the fibre / maximum contraction speed [1]
    """
    x = D2 * v + D3
    root = math.sqrt(x * x + 1.0)
    # of the two equal forms of asinh, the one without cancellation
    inverse_sinh = math.log(root + x) if x > 0.0 else -math.log(root - x)
    value, slope, _ = positive_part(D1 * inverse_sinh + D4, CORNER)
    return value, slope * D1 * D2 / root


@njit
def passive_force(x):
    """Return (passive force multiplier f_P = exp(kPE ((x - 1) / e0 - 1)), its derivative with respect to x)
    (supplement S3).

    x : float - fibre length / optimal fibre length [1]
    """
    value, slope = growth(PASSIVE_SHAPE * ((x - 1.0) / PASSIVE_STRAIN - 1.0))
    return value, slope * (PASSIVE_SHAPE / PASSIVE_STRAIN)


@njit
def tendon_force(strain, strain_at_max_force):
    """Return (tendon force multiplier f_T, its derivative with respect to strain) (supplement S1).

    f_T = c1 (exp(kT strain) - 1), with a rounded corner at slack length; strain_at_max_force is the strain
    [1] at which f_T is 1.
    """
    stiffness = TENDON_EXPONENT / strain_at_max_force
    grown, slope = growth(stiffness * strain)
    value, slope_of_part, _ = positive_part(TENDON_TOE * (grown - 1.0), CORNER)
    return value, slope_of_part * TENDON_TOE * stiffness * slope
