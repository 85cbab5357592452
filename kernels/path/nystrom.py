"""One step of an eighth-order Runge-Kutta-Nystrom method for x'' = f(x), its tableau as data.

Dormand, El-Mikkawy and Prince 1987, IMA J Numer Anal 7, 423-430, the 8(6) formula without its error estimate.
"""

from __future__ import annotations

import numpy as np

N_STAGE = 8
NODES = np.array([0.0, 1 / 20, 1 / 10, 3 / 10, 1 / 2, 7 / 10, 9 / 10, 1.0])
STAGES = np.zeros((N_STAGE, N_STAGE))
STAGES[1, :1] = (1 / 800,)
STAGES[2, :2] = (1 / 600, 1 / 300)
STAGES[3, :3] = (9 / 200, -9 / 100, 9 / 100)
STAGES[4, :4] = (-66701 / 197352, 28325 / 32892, -2665 / 5482, 2170 / 24669)
STAGES[5, :5] = (
    227015747 / 304251000,
    -54897451 / 30425100,
    12942349 / 10141700,
    -9499 / 304251,
    539 / 9250,
)
STAGES[6, :6] = (
    -1131891597 / 901789000,
    41964921 / 12882700,
    -6663147 / 3220675,
    270954 / 644135,
    -108 / 5875,
    114 / 1645,
)
STAGES[7, :7] = (
    13836959 / 3667458,
    -17731450 / 1833729,
    1063919505 / 156478208,
    -33213845 / 39119552,
    13335 / 28544,
    -705 / 14272,
    1645 / 57088,
)
# x <- x + h x' + h^2 sum WEIGHTS f,  x' <- x' + h sum SPEEDS f
WEIGHTS = np.array([223 / 7938, 0.0, 1175 / 8064, 925 / 6048, 41 / 448, 925 / 14112, 1175 / 72576, 0.0])
SPEEDS = np.array(
    [223 / 7938, 0.0, 5875 / 36288, 4625 / 21168, 41 / 224, 4625 / 21168, 5875 / 36288, 223 / 7938]
)
