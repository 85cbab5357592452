"""Tableau of an eighth-order Runge-Kutta-Nystrom method for x'' = f(x), and sums of tuples of five numbers.

The method is the 8(6) formula of Dormand, El-Mikkawy and Prince 1987, IMA J Numer Anal 7, 423-430, without
its error estimate. The five numbers are the coordinates of a point and two Jacobi fields. A tuple stays in
the processor's registers, which takes half the time of an array.
"""

from __future__ import annotations

from kernels.compiler.jit import njit

NODES = (0.0, 1 / 20, 1 / 10, 3 / 10, 1 / 2, 7 / 10, 9 / 10, 1.0)
STAGE_1 = (1 / 800,)
STAGE_2 = (1 / 600, 1 / 300)
STAGE_3 = (9 / 200, -9 / 100, 9 / 100)
STAGE_4 = (-66701 / 197352, 28325 / 32892, -2665 / 5482, 2170 / 24669)
STAGE_5 = (
    227015747 / 304251000,
    -54897451 / 30425100,
    12942349 / 10141700,
    -9499 / 304251,
    539 / 9250,
)
STAGE_6 = (
    -1131891597 / 901789000,
    41964921 / 12882700,
    -6663147 / 3220675,
    270954 / 644135,
    -108 / 5875,
    114 / 1645,
)
STAGE_7 = (
    13836959 / 3667458,
    -17731450 / 1833729,
    1063919505 / 156478208,
    -33213845 / 39119552,
    13335 / 28544,
    -705 / 14272,
    1645 / 57088,
)
# x <- x + h x' + h^2 sum WEIGHTS f,  x' <- x' + h sum SPEEDS f; the second and last weights are zero
WEIGHTS = (223 / 7938, 0.0, 1175 / 8064, 925 / 6048, 41 / 448, 925 / 14112, 1175 / 72576, 0.0)
SPEEDS = (223 / 7938, 0.0, 5875 / 36288, 4625 / 21168, 41 / 224, 4625 / 21168, 5875 / 36288, 223 / 7938)


@njit
def plus(x, w, y):
    """Return x + w y for tuples x and y of five numbers, with the number w."""
    return x[0] + w * y[0], x[1] + w * y[1], x[2] + w * y[2], x[3] + w * y[3], x[4] + w * y[4]


@njit
def plus_2(x, w, v, y, z):
    """Return x + w y + v z for tuples of five numbers.

    x, y, z : (5,) - tuples
    w, v : float - weights
    """
    return plus(plus(x, w, y), v, z)


@njit
def plus_3(x, h, w, y, z, u):
    """Return x + h (w[0] y + w[1] z + w[2] u) for tuples of five numbers.

    x, y, z, u : (5,) - tuples
    h : float - factor of all weights, such as the step
    w : (3,) - weights
    """
    return plus(plus_2(x, h * w[0], h * w[1], y, z), h * w[2], u)
