"""The optimisation problem of muscle recruitment, its state from frame to frame, and its results.

    min  G(x)   subject to   C x = d,   0 <= x <= most

x are the activations of elements: the force of a muscle over its strength, or that of an actuator or of a
reaction that pushes in one direction. Each row is one equation of motion: C contains the contribution of each
element at activation 1, d the demand, that is the load to be borne (Andersen et al. 2017, eqs 11-14;
Damsgaard et al. 2006). Criteria:

    power p = 2, 3, ...   G = sum weight x^p
    power 0, min/max      G = max x, and of all solutions with that maximum the one in their middle
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate

OPTIMAL, VIOLATED, NOT_CONVERGED = 0, 1, 2
"""Status of a frame: the optimum; rows that no activations can fulfil, and the least violation found; or
neither."""


class Recruitment(NamedTuple):
    """The recruitment problem of one frame; an element that acts in both directions is entered as two
    elements.
    """

    # of each element on each row at activation 1 [N, N m]
    action: Annotated[np.ndarray, Floats("n_element", "n_row")]
    demand: Annotated[np.ndarray, Floats("n_row")]  # what the elements have to deliver together [N, N m]
    weight: np.ndarray  # (n_element,) - in the criterion, above 0 [1]
    most: np.ndarray  # (n_element,) - largest activation, above 0, inf = none [1]


class RecruitmentOptions(NamedTuple):
    """Settings of recruitment: the criterion, the largest number of iterations, and the tolerances."""

    power: int  # 2 and more, or 0 = min/max
    n_iteration: int  # at most
    residual: float  # of the rows, in parts of the largest demand, where they can be fulfilled [1]
    gap: float  # of primal and dual objective, in parts of the objective [1]


class RecruitmentState(NamedTuple):
    """Activations and multipliers of the last frame, from which the solution of the next frame starts."""

    x: Annotated[np.ndarray, Floats("n_element")]  # activations
    lower: Annotated[np.ndarray, Floats("n_element")]  # multipliers of x >= 0
    upper: Annotated[np.ndarray, Floats("n_element")]  # multipliers of x <= most, or of x <= max x
    multiplier: Annotated[np.ndarray, Floats("n_row")]  # of the rows as scaled
    peak: Annotated[np.ndarray, Floats(1)]  # max x, of min/max
    started: Annotated[np.ndarray, Integers(1)]  # 1 = there was a frame that was optimal


class RecruitmentWork(NamedTuple):
    """The recruitment problem with scaled rows and weights, and working space of the solution methods."""

    action: Annotated[np.ndarray, Floats("n_element", "n_row")]  # with scaled rows
    weight: Annotated[np.ndarray, Floats("n_element")]  # scaled weights
    demand: Annotated[np.ndarray, Floats("n_row")]
    scale: Annotated[np.ndarray, Floats("n_row")]  # factors of the rows
    # bounds of the activations in the unit of conditioned.py
    most: Annotated[np.ndarray, Floats("n_element")]
    mix: Annotated[np.ndarray, Floats("n_row", "n_row")]  # triangular factor of the rows (conditioned.py)
    S: Annotated[np.ndarray, Floats("n_row", "n_row")]  # C H^-1 C' and its factor
    v: Annotated[np.ndarray, Floats("n_row")]
    rhs: Annotated[np.ndarray, Floats("n_row")]
    r: Annotated[np.ndarray, Floats("n_row")]  # demand that is not met
    inverse: Annotated[np.ndarray, Floats("n_element")]  # of H, the diagonal
    edge: Annotated[np.ndarray, Floats("n_element")]  # upper / room
    room: Annotated[np.ndarray, Floats("n_element")]  # most - x, or max x - x
    dual: Annotated[np.ndarray, Floats("n_element")]  # residuals of stationarity
    drive: Annotated[np.ndarray, Floats("n_element")]  # C' multiplier
    low: Annotated[np.ndarray, Floats("n_element")]  # target of lower, less lower
    high: Annotated[np.ndarray, Floats("n_element")]  # target of upper, less upper
    dx: Annotated[np.ndarray, Floats("n_element")]
    dlower: Annotated[np.ndarray, Floats("n_element")]
    dupper: Annotated[np.ndarray, Floats("n_element")]
    dmultiplier: Annotated[np.ndarray, Floats("n_row")]


class RecruitmentOut(NamedTuple):
    """Activations found for a frame, with the unmet load, the objective, and the gap and residual that prove
    the solution.
    """

    activation: Annotated[np.ndarray, Floats("n_element", fill=math.nan)]
    violation: Annotated[np.ndarray, Floats("n_row", fill=math.nan)]  # demand that is not met [N, N m]
    objective: Annotated[np.ndarray, Floats(1, fill=math.nan)]  # sum weight x^p, or max x
    # objective minus a lower bound of it, over the objective; NaN where the load is not borne
    gap: Annotated[np.ndarray, Floats(1, fill=math.nan)]
    # largest violation over the largest demand, of scaled rows
    residual: Annotated[np.ndarray, Floats(1, fill=math.nan)]


def new_recruitment_state(n_element: int, n_row: int) -> RecruitmentState:
    """Allocate a RecruitmentState for n_element elements (muscles, actuators, reactions) and n_row equations
    of motion.
    """
    return allocate(RecruitmentState, n_element=n_element, n_row=n_row)


def new_recruitment_work(n_element: int, n_row: int) -> RecruitmentWork:
    """Allocate a RecruitmentWork for n_element elements (muscles, actuators, reactions) and n_row equations
    of motion.
    """
    return allocate(RecruitmentWork, n_element=n_element, n_row=n_row)


def new_recruitment_out(n_element: int, n_row: int) -> RecruitmentOut:
    """Allocate a RecruitmentOut for n_element elements (muscles, actuators, reactions) and n_row equations of
    motion.
    """
    return allocate(RecruitmentOut, n_element=n_element, n_row=n_row)


def new_recruitment(
    weight: np.ndarray, most: np.ndarray, n_row: int, options: RecruitmentOptions
) -> tuple[Recruitment, RecruitmentOptions, RecruitmentState, RecruitmentWork, RecruitmentOut]:
    """Return all arguments of `recruit`; the actions of the elements and the demand are zero, for the caller
    to fill in.

    weight, most : (n_element,) - weights in the criterion, and largest activations [1]
    n_row : int - number of equations of motion (rows)
    options : RecruitmentOptions - the criterion and tolerances
    """
    n = len(weight)
    return (
        allocate(Recruitment, n_element=n, n_row=n_row, weight=weight, most=most),
        options,
        new_recruitment_state(n, n_row),
        new_recruitment_work(n, n_row),
        new_recruitment_out(n, n_row),
    )
