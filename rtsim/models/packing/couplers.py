"""Packing of coordinates that depend on others or are prescribed, and of angles that are functions of
coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.algebra.functions import CONSTANT, IDENTITY
from kernels.joints.couplers import Couplers
from kernels.joints.tree import Tree
from kernels.path.angles import Angles
from rtsim.config.models.function_schema import FunctionSpec, Spline
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.models.packing.functions import FunctionTable, value
from rtsim.models.packing.joints import Coordinates

N_KNOT = 5
"""Knots of the spline of a coordinate that a stream moves: values, speeds and accelerations at both ends
fit, and it extends a little beyond."""


def pack_couplers(spec: ModelSpec, coordinates: Coordinates, functions: FunctionTable) -> Couplers:
    """Pack the couplers in the order of the model's file; for a prescribed coordinate, the coupler's driving
    coordinate is the coordinate itself.
    """
    follower, driver, function = [], [], []
    for coupler in spec.couplers:
        where = f"couplers.{coupler.coordinate}"
        follower.append(coordinates.find(coupler.coordinate, where))
        driver.append(coordinates.find(coupler.driver, where))
        neutral = float(coordinates.neutral[follower[-1]])
        function.append(functions.add(at_rest(neutral) if coupler.is_identity else coupler))
    own, other = np.array(follower, np.int64), np.array(driver, np.int64)
    return Couplers(
        coordinates.q[own],
        coordinates.dof[own],
        coordinates.q[other],
        coordinates.dof[other],
        np.array(function, np.int64),
    )


def no_couplers() -> Couplers:
    """Return a table of couplers without rows."""
    return Couplers(*(np.zeros(0, np.int64) for _ in Couplers._fields))


def at_rest(value: float) -> FunctionSpec:
    """Return a spline of a constant value for a prescribed coordinate; a stream may later write a motion into
    the spline.
    """
    return FunctionSpec(spline=Spline(at=tuple(map(float, range(N_KNOT))), value=(value,) * N_KNOT))


def drivers_first(couplers: Couplers) -> Couplers:
    """Sort the couplers so that no dependent coordinate is used before it has its value."""
    order: list[int] = []
    waiting = dict(enumerate(couplers.coordinate))
    while waiting:
        # a prescribed coordinate waits for itself, and no circle of couplers passes the checks of the schema
        ready = [
            k for k, own in waiting.items()
            if couplers.driver[k] == own or couplers.driver[k] not in waiting.values()
        ]  # fmt: skip
        order += ready
        waiting = {k: own for k, own in waiting.items() if k not in ready}
    return Couplers(*(column[np.array(order, np.int64)] for column in couplers))


def follow_couplers(couplers: Couplers, functions: FunctionTable, q: NDArray[np.float64]) -> None:
    """Set the coupled coordinates of q : (n_q,) to the values of their couplers at time zero; a coordinate
    that drives others is set first."""
    ordered = drivers_first(couplers)
    for own, driver, f in zip(ordered.coordinate, ordered.driver, ordered.function, strict=True):
        q[own] = value(functions.rows[f], 0.0 if own == driver else float(q[driver]))


def with_couplers(tree: Tree, couplers: Couplers) -> Tree:
    """Return the joint tree with the couplers, for methods that eliminate dependent coordinates from the
    unknowns; a model without couplers keeps its tree unchanged.
    """
    check_timeless(tree, couplers)
    return tree._replace(couplers=drivers_first(couplers)) if len(couplers.dof) else tree


def check_timeless(tree: Tree, couplers: Couplers) -> None:
    """Raise ConfigError if a coordinate is prescribed as a function of time, which only forward simulations
    support.
    """
    alone = couplers.function[couplers.coordinate == couplers.driver]
    if (tree.functions.kind[alone] != CONSTANT).any():
        raise ConfigError(
            "a coordinate is prescribed over time, which is possible only in a forward simulation",
            where="couplers",
            remedy="prescribe a constant value for the coordinate, or remove its coupler",
        )


def pack_angles(spec: ModelSpec, coordinates: Coordinates, functions: FunctionTable) -> Angles:
    """Pack the angles that are results: first every coordinate as an angle of its own, then the named angles,
    which are weighted sums of functions of coordinates.
    """
    n = len(coordinates.names)
    terms = [(k, IDENTITY, 1.0) for k in range(n)]
    start = list(range(n + 1))
    for angle in spec.angles:
        for term in angle.terms:
            k = coordinates.find(term.of, f"angles.{angle.name}")
            terms.append((k, functions.add(term), term.weight))
        start.append(len(terms))
    at = np.array([k for k, _, _ in terms], np.int64)
    return Angles(
        np.array(start, np.int64),
        coordinates.q[at],
        coordinates.dof[at],
        np.array([function for _, function, _ in terms], np.int64),
        np.array([weight for *_, weight in terms], float),
    )


def named_rotations(spec: ModelSpec, coordinates: Coordinates) -> NDArray[np.bool_]:
    """Return a mask (n_named,) of the named angles that are rotations; a sum of lengths without
    functions is not a rotation.
    """
    lengths = {name for name, turns in zip(coordinates.names, coordinates.is_angle, strict=True) if not turns}
    return np.array(
        [not all(t.is_identity and t.of in lengths for t in angle.terms) for angle in spec.angles], np.bool_
    )
