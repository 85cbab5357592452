"""Coordinates that follow others, and angles made of coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.constraints import Couplers
from kernels.functions import IDENTITY
from kernels.path.angles import Angles
from rtsim.config.model_schema import ModelSpec
from rtsim.models.packing.functions import FunctionTable, value
from rtsim.models.packing.joints import Coordinates

Array = NDArray[np.float64]


def pack_couplers(spec: ModelSpec, coordinates: Coordinates, functions: FunctionTable) -> Couplers:
    """Couplers in the file's order; a prescribed coordinate drives itself by a constant."""
    follower, driver, function = [], [], []
    for coupler in spec.couplers:
        where = f"couplers.{coupler.coordinate}"
        follower.append(coordinates.find(coupler.coordinate, where))
        driver.append(coordinates.find(coupler.of or coupler.coordinate, where))
        function.append(functions.add(coupler))
    own, other = np.array(follower, np.int64), np.array(driver, np.int64)
    return Couplers(
        coordinates.q[own],
        coordinates.dof[own],
        coordinates.q[other],
        coordinates.dof[other],
        np.array(function, np.int64),
    )


def follow_couplers(couplers: Couplers, functions: FunctionTable, q: Array) -> None:
    """Move coupled coordinates of q : (n_q,) to where their couplers put them, drivers first."""
    drivers = dict(zip(couplers.coordinate, couplers.driver, strict=True))
    numbers = dict(zip(couplers.coordinate, couplers.function, strict=True))
    while drivers:
        # a prescribed coordinate waits for itself, and no circle of couplers passes the checks of the schema
        for k in [k for k, driver in drivers.items() if driver == k or driver not in drivers]:
            q[k] = value(functions.rows[numbers[k]], float(q[drivers.pop(k)]))


def pack_angles(spec: ModelSpec, coordinates: Coordinates, functions: FunctionTable) -> Angles:
    """Every coordinate by itself, then the named angles."""
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
    """(n_named,) - whether each named angle is one: unless it is made of lengths alone, without functions."""
    lengths = {name for name, turns in zip(coordinates.names, coordinates.is_angle, strict=True) if not turns}
    return np.array(
        [not all(t.is_identity and t.of in lengths for t in angle.terms) for angle in spec.angles], np.bool_
    )
