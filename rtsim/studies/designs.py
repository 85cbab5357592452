"""Designs of studies: the values of the parameters in each case, as a table of numbered cases.

Grids and lists have stated values; samples are points in the unit cube, which the range or distribution of
each parameter converts to values. The number of cases is known before any of them is created.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, qmc

from rtsim.config.runs.study_schema import SAMPLED, Design, StudyParameter, StudySpec
from rtsim.errors import ConfigError

Array = NDArray[np.float64]
MOST_CASES = 1_000_000
EDGE = 2.0**-53
"""Least distance of a point from 0 and 1 at which its quantile of a normal distribution is finite."""


def n_case(spec: StudySpec) -> int:
    """Return the number of cases of a study, before any is created; ConfigError if there are none or too
    many.
    """
    n, d = spec.design.n, len(spec.parameters)
    lengths = [len(one.values) for one in spec.parameters]
    counts = {
        "grid": math.prod(lengths), "list": lengths[0], "sobol": n, "latin_hypercube": n,
        "saltelli": n * (d + 2), "morris": n * (d + 1),
    }  # fmt: skip
    count = counts[spec.design.kind]
    if not 1 <= count <= MOST_CASES:
        raise ConfigError(
            f"the {spec.design.kind} of {d} parameters has {count:,} cases",
            where=f"study {spec.name}: design",
            allowed=f"1 to {MOST_CASES:,}",
            remedy="give fewer values per parameter, or choose n sampled cases by design.kind = \"sobol\"",
        )  # fmt: skip
    return count


def cases_of(spec: StudySpec) -> list[tuple[Any, ...]]:
    """Return the values of the parameters, case by case, (n_case, n_parameter)."""
    n_case(spec)
    if spec.design.kind == "grid":
        return list(product(*(one.values for one in spec.parameters)))
    if spec.design.kind == "list":
        return list(zip(*(one.values for one in spec.parameters), strict=True))
    points = unit_points(spec.design, len(spec.parameters), spec.seed)
    columns = [valued(one, points[:, k]).tolist() for k, one in enumerate(spec.parameters)]
    return list(zip(*columns, strict=True))


def unit_points(design: Design, d: int, seed: int) -> Array:
    """Return the points of a sampled design for d parameters in the unit cube, (n_case, d)."""
    assert design.kind in SAMPLED
    if design.kind == "sobol":
        return np.asarray(qmc.Sobol(d, rng=np.random.default_rng(seed)).random(design.n))
    if design.kind == "latin_hypercube":
        return np.asarray(qmc.LatinHypercube(d, rng=np.random.default_rng(seed)).random(design.n))
    if design.kind == "saltelli":
        return saltelli(design.n, d, seed)
    return morris(design.n, d, design.levels, seed)


def saltelli(n: int, d: int, seed: int) -> Array:
    """Return Saltelli's design, (n (d + 2), d) points of the unit cube. Its rows are those of a sample matrix
    A, of a second one B, and of A with each column in turn replaced by that of B.

    Saltelli et al. (2010) Comput Phys Commun 181, 259-270, section 3; A and B are halves of one Sobol
    sequence of 2 d dimensions.
    """
    both = np.asarray(qmc.Sobol(2 * d, rng=np.random.default_rng(seed)).random(n))
    A, B = both[:, :d], both[:, d:]
    mixed = []
    for k in range(d):
        own = A.copy()
        own[:, k] = B[:, k]
        mixed.append(own)
    return np.concatenate([A, B, *mixed])


def morris(n: int, d: int, levels: int, seed: int) -> Array:
    """Return Morris' design, (n (d + 1), d) points of the unit cube: n trajectories on a grid of `levels`
    values for each of d parameters, with steps of levels / (2 (levels - 1)).

    Morris (1991) Technometrics 33, 161-174, section 3.
    """
    rng = np.random.default_rng(seed)
    step = levels / (2.0 * (levels - 1.0))
    points = np.empty((n, d + 1, d))
    for trajectory in points:
        start = rng.integers(0, levels // 2, d) / (levels - 1.0)
        upwards = rng.integers(0, 2, d).astype(bool)
        trajectory[0] = np.where(upwards, start, start + step)
        for row, axis in enumerate(rng.permutation(d), 1):
            trajectory[row] = trajectory[row - 1]
            trajectory[row, axis] = start[axis] + step if upwards[axis] else start[axis]
    return points.reshape(-1, d)


def valued(parameter: StudyParameter, points: Array) -> Array:
    """Convert points : (n,) between 0 and 1 to values of a parameter, (n,): within its range, on a linear or
    logarithmic scale, or as quantiles of its normal distribution.
    """
    if parameter.normal is not None:
        mean, deviation = parameter.normal
        return np.asarray(mean + deviation * norm.ppf(np.clip(points, EDGE, 1.0 - EDGE)))
    assert parameter.range is not None
    low, high = parameter.range
    if parameter.scale == "log":
        return np.exp(np.log(low) + points * (np.log(high) - np.log(low)))
    return low + points * (high - low)
