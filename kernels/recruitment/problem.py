"""What recruitment is asked, remembers, and answers.

    min  G(x)   subject to   C x = d,   0 <= x <= most

x the activations of elements: a muscle's force over its strength, or that of an actuator or a reaction that
pushes one way. C has for each element what it does to each row of the equations of motion at full
activation, d what these rows ask for (Andersen et al. 2017, eqs 11-14; Damsgaard et al. 2006). Criteria:

    power p = 2, 3, ...   G = sum weight x^p
    power 0, min/max      G = max x, and of all answers to that one in their middle
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

OPTIMAL, VIOLATED, NOT_CONVERGED = 0, 1, 2
"""The optimum; rows that nothing can fulfil, the least violation found; neither."""


class Recruitment(NamedTuple):
    """One frame. An element that works both ways is two elements."""

    action: np.ndarray  # (n_element, n_row) - of each element on each row at activation 1 [N, N m]
    demand: np.ndarray  # (n_row,) - what the elements have to deliver together [N, N m]
    weight: np.ndarray  # (n_element,) - in the criterion, above 0 [1]
    most: np.ndarray  # (n_element,) - largest activation, above 0, inf = none [1]


class RecruitmentOptions(NamedTuple):
    """The criterion, and how exactly it is met."""

    power: int  # 2 and more, or 0 = min/max
    n_iteration: int  # at most
    residual: float  # of the rows, in parts of the largest demand, where they can be fulfilled [1]
    gap: float  # of primal and dual objective, in parts of the objective [1]


class RecruitmentState(NamedTuple):
    """The answer of the last frame, from which the next one starts."""

    x: np.ndarray  # (n_element,) - activations
    lower: np.ndarray  # (n_element,) - multipliers of x >= 0
    upper: np.ndarray  # (n_element,) - multipliers of x <= most, or of x <= max x
    multiplier: np.ndarray  # (n_row,) - of the rows as scaled
    peak: np.ndarray  # (1,) - max x, of min/max
    started: np.ndarray  # (1,) int64 - 1 = there was a frame that was optimal


class RecruitmentWork(NamedTuple):
    """Scratch."""

    action: np.ndarray  # (n_element, n_row) - by rows of the same size
    weight: np.ndarray  # (n_element,) - in parts of the largest
    demand: np.ndarray  # (n_row,)
    scale: np.ndarray  # (n_row,) - what they were multiplied with
    most: np.ndarray  # (n_element,) - largest activations in parts of the answer's size (conditioned.py)
    mix: np.ndarray  # (n_row, n_row) - rows by rows that are square to each other
    S: np.ndarray  # (n_row, n_row) - C H^-1 C' and its factor
    v: np.ndarray  # (n_row,)
    rhs: np.ndarray  # (n_row,)
    r: np.ndarray  # (n_row,) - demand that is not met
    inverse: np.ndarray  # (n_element,) - of H, the diagonal
    edge: np.ndarray  # (n_element,) - upper / room
    room: np.ndarray  # (n_element,) - most - x, or max x - x
    dual: np.ndarray  # (n_element,) - stationarity
    drive: np.ndarray  # (n_element,) - C' multiplier
    low: np.ndarray  # (n_element,) - target of lower, less lower
    high: np.ndarray  # (n_element,) - target of upper, less upper
    dx: np.ndarray  # (n_element,)
    dlower: np.ndarray  # (n_element,)
    dupper: np.ndarray  # (n_element,)
    dmultiplier: np.ndarray  # (n_row,)


class RecruitmentOut(NamedTuple):
    """The answer, and what proves it."""

    activation: np.ndarray  # (n_element,)
    violation: np.ndarray  # (n_row,) - demand that is not met [N, N m]
    objective: np.ndarray  # (1,) - sum weight x^p, or max x
    gap: np.ndarray  # (1,) - objective less a lower bound of it, in parts of it; NaN where rows lack anything
    residual: np.ndarray  # (1,) - largest violation in parts of the largest demand, rows of the same size


def new_recruitment_state(n_element: int, n_row: int) -> RecruitmentState:
    """Allocate the state of n_element elements on n_row rows."""
    return RecruitmentState(
        np.zeros(n_element),
        np.zeros(n_element),
        np.zeros(n_element),
        np.zeros(n_row),
        np.zeros(1),
        np.zeros(1, np.int64),
    )


def new_recruitment_work(n_element: int, n_row: int) -> RecruitmentWork:
    """Allocate scratch."""

    def rows() -> np.ndarray:
        return np.zeros(n_row)

    def elements() -> np.ndarray:
        return np.zeros(n_element)

    return RecruitmentWork(
        action=np.zeros((n_element, n_row)),
        weight=elements(),
        demand=rows(),
        scale=rows(),
        most=elements(),
        mix=np.zeros((n_row, n_row)),
        S=np.zeros((n_row, n_row)),
        v=rows(),
        rhs=rows(),
        r=rows(),
        inverse=elements(),
        edge=elements(),
        room=elements(),
        dual=elements(),
        drive=elements(),
        low=elements(),
        high=elements(),
        dx=elements(),
        dlower=elements(),
        dupper=elements(),
        dmultiplier=rows(),
    )


def new_recruitment_out(n_element: int, n_row: int) -> RecruitmentOut:
    """Allocate the answer."""
    return RecruitmentOut(
        np.full(n_element, math.nan),
        np.full(n_row, math.nan),
        np.full(1, math.nan),
        np.full(1, math.nan),
        np.full(1, math.nan),
    )


def new_recruitment(
    weight: np.ndarray, most: np.ndarray, n_row: int, options: RecruitmentOptions
) -> tuple[Recruitment, RecruitmentOptions, RecruitmentState, RecruitmentWork, RecruitmentOut]:
    """What `recruit` is called with: nothing acts yet, and nothing is asked; weight, most : (n_element,)."""
    n = len(weight)
    return (
        Recruitment(np.zeros((n, n_row)), np.zeros(n_row), weight, most),
        options,
        new_recruitment_state(n, n_row),
        new_recruitment_work(n, n_row),
        new_recruitment_out(n, n_row),
    )
