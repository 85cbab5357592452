"""Coefficients of Rosenbrock methods, as published and in the transformed form in which a step is computed.

In the published form, with J = f' at the start of the step (for an autonomous system; Hairer & Wanner (1996),
Solving Ordinary Differential Equations II, section IV.7, eq. 7.4), a step is
  k_i = h f(y + sum_j alpha_ij k_j) + h J sum_(j <= i) gamma_ij k_j,   y1 = y + sum_i b_i k_i
h is the step, Gamma the matrix of the gamma_ij, g its constant diagonal. With u = Gamma k no product with J
is left, and one matrix serves all stages (eq. 7.25):
  (I / (h g) - J) u_i = f(y + sum_j a_ij u_j) + sum_(j < i) C_ij u_j / h,   y1 = y + sum_i m_i u_i
  a = alpha Gamma^-1,  C = I / g - Gamma^-1,  m = b Gamma^-1,  e = (b - b_hat) Gamma^-1,  c_i = sum_j alpha_ij
Where f depends on t as well, stage i is at t + c_i h, and gamma_i h df/dt is added to its right-hand side.
A method that keeps its order with any matrix in place of J is a W-method.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Row = tuple[float, ...]


class Tableau(NamedTuple):
    """Coefficients of a Rosenbrock method in the transformed form; a and C are strictly lower triangular."""

    g: float  # diagonal of Gamma
    a: np.ndarray  # (n_stage, n_stage) - stage states
    C: np.ndarray  # (n_stage, n_stage) - earlier stages on the right-hand side
    m: np.ndarray  # (n_stage,) - the step
    e: np.ndarray  # (n_stage,) - difference to the embedded step; zero without one
    c: np.ndarray  # (n_stage,) - times of the stages, in steps
    gamma: np.ndarray  # (n_stage,) - sums of Gamma's rows: what a slope with time adds to a stage
    same: np.ndarray  # (n_stage,) int64 - 1 = the stage's state is that of the one before
    embedded: bool  # e is an error estimate


class Published(NamedTuple):
    """Coefficients of a Rosenbrock method as published; b_hat is None where there is no embedded method.

    alpha is strictly lower triangular, gamma lower triangular with a constant diagonal.
    """

    alpha: tuple[Row, ...]
    gamma: tuple[Row, ...]
    b: Row
    b_hat: Row | None


class RosenbrockMethod(NamedTuple):
    """A Rosenbrock method: its name, order and coefficients; embedded_order is 0 if it has no embedded
    method.
    """

    name: str
    about: str
    published: Published
    tableau: Tableau
    order: int
    embedded_order: int
    w_method: bool


def lower(rows: tuple[Row, ...]) -> np.ndarray:
    """Return a square matrix (n, n) from its n rows, which are given without their trailing zeros."""
    matrix = np.zeros((len(rows), len(rows)))
    for row, numbers in zip(matrix, rows, strict=True):
        row[: len(numbers)] = numbers
    return matrix


def tableau(alpha: tuple[Row, ...], gamma: tuple[Row, ...], b: Row, b_hat: Row | None) -> Tableau:
    """Return the coefficients of a Rosenbrock method in the transformed form (module docstring) from
    published ones.

    Rows may be given without their trailing zeros.

    Gamma^-1 is built row by row, so that the zeros above its diagonal, and those on the diagonal of C, are
    exact.
    """
    A, Gamma, weights = lower(alpha), lower(gamma), np.array(b)
    g = float(Gamma[0, 0])
    inverse = np.eye(len(b)) / g
    for i in range(1, len(b)):
        inverse[i, :i] = -Gamma[i, :i] @ inverse[:i, :i] / g
    estimate = weights - np.array(b_hat) if b_hat is not None else np.zeros(len(b))
    return Tableau(
        g=g,
        a=A @ inverse,
        C=np.eye(len(b)) / g - inverse,
        m=weights @ inverse,
        e=estimate @ inverse,
        c=A.sum(axis=1),
        gamma=Gamma.sum(axis=1),
        same=np.array([i > 1 and (A[i] == A[i - 1]).all() for i in range(len(b))], np.int64),
        embedded=b_hat is not None,
    )


def method(
    name: str, about: str, order: int, embedded_order: int, w_method: bool, published: Published
) -> RosenbrockMethod:
    """Return the RosenbrockMethod with the given name, description and orders, with its coefficients in the
    transformed form.

    w_method : whether it keeps its order with any matrix in place of the Jacobian.
    """
    return RosenbrockMethod(
        name=name,
        about=about,
        published=published,
        tableau=tableau(*published),
        order=order,
        embedded_order=embedded_order,
        w_method=w_method,
    )


# Root of g^3 - 3 g^2 + 3 g / 2 - 1 / 6 that makes three stages of order 3 L-stable.
G3 = 0.43586652150845900
# Of ROS2, the smaller of the two that make it L-stable: a tenth of the other's error.
G2 = 1.0 - 0.5**0.5
# Of the D-stable method of order 4.
GV = 0.2257081148225682

LIEULER = method(
    "lieuler",
    "linearly implicit Euler: order 1, one stage, the most robust",
    order=1,
    embedded_order=0,
    w_method=True,
    # Hairer & Wanner (1996), section IV.9
    published=Published(alpha=((),), gamma=((1.0,),), b=(1.0,), b_hat=None),
)

ROS2 = method(
    "ros2",
    "order 2 with any Jacobian, two stages: the cheapest",
    order=2,
    embedded_order=1,
    w_method=True,
    # Verwer, Spee, Blom, Hundsdorfer (1999), SIAM J Sci Comput 20:1456-1480
    published=Published(
        alpha=((), (1.0,)),
        gamma=((G2,), (-2.0 * G2, G2)),
        b=(0.5, 0.5),
        b_hat=(1.0, 0.0),
    ),
)

ROS3 = method(
    "ros3",
    "order 3 with the exact Jacobian, three stages",
    order=3,
    embedded_order=2,
    w_method=False,
    # Sandu, Verwer, Blom, Spee, Carmichael, Potra (1997), Atmos Environ 31:3459-3472
    published=Published(
        alpha=((), (G3,), (G3, 0.0)),
        gamma=(
            (G3,),
            (-0.19294655696029095575, G3),
            (0.0, 1.74927148125794685174, G3),
        ),
        b=(-0.75457412385404315830, 1.94100407061964420293, -0.18642994676560104463),
        b_hat=(-1.53358745784149585371, 2.81745131148625772214, -0.28386385364476186843),
    ),
)

ROS34PW2 = method(
    "ros34pw2",
    "order 3 with any Jacobian, four stages, stiffly accurate",
    order=3,
    embedded_order=2,
    w_method=True,
    # Rang & Angermann (2005), BIT Numer Math 45:761-787
    published=Published(
        alpha=(
            (),
            (8.7173304301691801e-1,),
            (8.4457060015369423e-1, -1.1299064236484185e-1),
            (0.0, 0.0, 1.0),
        ),
        gamma=(
            (G3,),
            (-8.7173304301691801e-1, G3),
            (-9.0338057013044082e-1, 5.4180672388095326e-2, G3),
            (2.4212380706095346e-1, -1.2232505839045147, 5.4526025533510214e-1, G3),
        ),
        b=(2.4212380706095346e-1, -1.2232505839045147, 1.5452602553351020, G3),
        b_hat=(3.7810903145819369e-1, -9.6042292212423178e-2, 0.5, 2.1793326075422950e-1),
    ),
)

ROS34PRW = method(
    "ros34prw",
    "order 3 with any Jacobian, four stages, stiffly accurate; as ros34pw2, made for very stiff problems",
    order=3,
    embedded_order=2,
    w_method=True,
    # Rang (2015), J Comput Appl Math 286:128-144
    published=Published(
        alpha=(
            (),
            (8.7173304301691801e-1,),
            (1.4722022879435914, -3.1840250568090289e-1),
            (8.1505192016694938e-1, 0.5, -3.1505192016694938e-1),
        ),
        gamma=(
            (G3,),
            (-8.7173304301691801e-1, G3),
            (-1.2855347382089872, 5.0507005541550687e-1, G3),
            (-4.8201449182864348e-1, 2.1793326075422950e-1, -1.7178529043404503e-1, G3),
        ),
        b=(3.3303742833830591e-1, 7.1793326075422947e-1, -4.8683721060099439e-1, G3),
        b_hat=(0.25, 7.4276119608319180e-1, -3.1472922970066219e-1, 3.2196803361747034e-1),
    ),
)

ROS3PRL = method(
    "ros3prl",
    "order 3 with the exact Jacobian, four stages, stiffly accurate; made for very stiff problems",
    order=3,
    embedded_order=2,
    w_method=False,
    # Rang (2014), The Prothero and Robinson example, doi:10.24355/dbbs.084-201408121139-0
    published=Published(
        alpha=((), (0.5,), (0.5, 0.5), (0.5, 0.5, 0.0)),
        gamma=(
            (G3,),
            (-0.5, G3),
            (-0.791564804204642, 0.352442167927514, G3),
            (-0.497889699145187, 0.386075154415805, -0.324051976779077, G3),
        ),
        b=(0.00211030085481324, 0.886075154415805, -0.324051976779077, G3),
        b_hat=(0.5, 0.387524229532982, -0.209492263150452, 0.32196803361747),
    ),
)

# Steinebach (1995), Preprint 1741, TH Darmstadt (RODASP), which gives beta = alpha + gamma.
_ALPHA = (
    (),
    (0.75,),
    (8.6120400814152190e-2, 0.1238795991858478),
    (0.7749345355073236, 0.1492651549508680, -0.2941996904581916),
    (5.308746682646142, 1.330892140037269, -5.374137811655562, -0.2655010110278497),
    (-1.764437648774483, -0.4747565572063027, 2.369691846915802, 0.6195023590649829, 0.25),
)
_BETA = (
    (0.25,),
    (0.0, 0.25),
    (-0.049392, -0.014112, 0.25),
    (-0.4820494693877561, -0.1008795555555556, 0.9267290249433117, 0.25),
    (-1.764437648774483, -0.4747565572063027, 2.369691846915802, 0.6195023590649829, 0.25),
    (
        -8.0368370789113464e-2,
        -5.6490613592447572e-2,
        0.4882856300427991,
        0.5057162114816189,
        -0.1071428571428569,
        0.25,
    ),
)

RODAS4P = method(
    "rodas4p",
    "order 4 with the exact Jacobian, six stages, stiffly accurate: for smooth problems",
    order=4,
    embedded_order=3,
    w_method=False,
    published=Published(
        alpha=_ALPHA,
        gamma=tuple(
            tuple(b - a for a, b in zip((*alpha, 0.0), beta, strict=True))
            for alpha, beta in zip(_ALPHA, _BETA, strict=True)
        ),
        b=_BETA[5],
        b_hat=(*_BETA[4], 0.0),
    ),
)

VELDD4 = method(
    "veldd4",
    "order 4 with the exact Jacobian, four stages, three evaluations: cheap where nothing is stiff",
    order=4,
    embedded_order=3,
    w_method=False,
    # van Veldhuizen (1984), D-stability and Kaps-Rentrop methods, Computing 32:229-237
    published=Published(
        alpha=(
            (),
            (0.4514162296451364,),
            (-0.1577320243863873, 1.0333249189882332),
            (-0.1577320243863873, 1.0333249189882332, 0.0),
        ),
        gamma=(
            (GV,),
            (-0.27170214984937385, GV),
            (0.20011014796684073, 0.09194078770499862, GV),
            (0.35990464608230993, -0.5223679908610089, -0.10130100942441361, GV),
        ),
        b=(0.20961757675658377, 0.48433148684809996, 0.0, 0.30605093639531666),
        b_hat=(1.1656168838215446, -0.8177595595517936, 0.040040802939615205, 0.6121018727906333),
    ),
)

METHODS = {found.name: found for found in (LIEULER, ROS2, ROS3, ROS34PW2, ROS34PRW, ROS3PRL, VELDD4, RODAS4P)}

MAX_STAGES = max(len(found.tableau.m) for found in METHODS.values())
