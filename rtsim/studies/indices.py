"""Sensitivity of results to parameters: Sobol indices and Morris effects, with intervals by bootstrap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError

Array = NDArray[np.float64]
N_RESAMPLE = 1000
CONFIDENCE = 0.95
LEAST_ROWS = 4


class SobolIndices(NamedTuple):
    """Sobol indices of d parameters: first-order and total indices, (d,), with the ends of their confidence
    intervals, (2, d).

    n : number of rows of the sample matrices A and B of Saltelli's design that were used
    n_left_out : number of rows left out because a case has no result
    """

    first: Array
    total: Array
    first_interval: Array
    total_interval: Array
    n: int
    n_left_out: int


class MorrisEffects(NamedTuple):
    """Morris effects of d parameters, (d,). An elementary effect is the change of the result with one
    parameter, extrapolated to the whole range of the parameter. Given are the mean of these effects, the mean
    of their magnitudes (mu*) and their standard deviation, with confidence intervals (2, d) of the latter
    two.

    n : number of trajectories that were used; n_left_out : number of trajectories left out because a case has
        no result
    """

    mean: Array
    magnitude: Array
    deviation: Array
    magnitude_interval: Array
    deviation_interval: Array
    n: int
    n_left_out: int


def sobol_indices(results: Array, d: int, seed: int = 0) -> SobolIndices:
    """Estimate the Sobol indices of d parameters from the results of the cases of a Saltelli design
    (rtsim/studies/designs.saltelli).

    The first-order indices are those of Saltelli et al. (2010) Comput Phys Commun 181, 259-270, table 2 (b),
    the total indices those of table 2 (f), after Jansen. ConfigError if too few rows are complete.
    results : (n (d + 2),) - one result of each case in the order of the design, NaN where a case has none
    seed : seed of the bootstrap for the confidence intervals
    """
    blocks = results.reshape(d + 2, -1)
    whole = np.isfinite(blocks).all(axis=0)
    blocks = blocks[:, whole]
    n = blocks.shape[1]
    check_enough(n, int((~whole).sum()), "rows of the Saltelli design")
    rows = np.random.default_rng(seed).integers(0, n, (N_RESAMPLE, n))
    resampled = np.array([saltelli_estimate(blocks[:, row]) for row in rows])
    first, total = saltelli_estimate(blocks)
    (first_interval, total_interval) = interval_of(resampled).swapaxes(0, 1)
    return SobolIndices(
        first=first, total=total, first_interval=first_interval, total_interval=total_interval, n=n,
        n_left_out=int((~whole).sum()),
    )  # fmt: skip


def saltelli_estimate(blocks: Array) -> Array:
    """Return first-order and total Sobol indices, (2, d); blocks : (d + 2, n), results for the rows of the
    sample matrix A, of B, and of A with each column in turn taken from B.

    The common mean is subtracted from the results, which does not change the indices but removes most of the
    error.
    """
    blocks = blocks - blocks[:2].mean()
    A, B, mixed = blocks[0], blocks[1], blocks[2:]
    variance = blocks[:2].var()
    with np.errstate(invalid="ignore", divide="ignore"):
        first = (B * (mixed - A)).mean(axis=1) / variance
        total = 0.5 * ((A - mixed) ** 2).mean(axis=1) / variance
    return np.array([first, total])


def morris_effects(points: Array, results: Array, seed: int = 0) -> MorrisEffects:
    """Estimate the effects of d parameters from the results of the cases of a Morris design
    (rtsim/studies/designs.morris).

    Morris (1991) Technometrics 33, 161-174, eq. 1; mu* by Campolongo et al. (2007) Environ Modell Softw 22,
    1509-1518.
    points : (n (d + 1), d) - points of the design, 0 to 1; results : (n (d + 1),) - one result of each case,
        NaN where a case has none
    seed : seed of the bootstrap for the confidence intervals
    """
    d = points.shape[1]
    paths, values = points.reshape(-1, d + 1, d), results.reshape(-1, d + 1)
    whole = np.isfinite(values).all(axis=1)
    paths, values = paths[whole], values[whole]
    n = len(values)
    check_enough(n, int((~whole).sum()), "trajectories")
    steps, changes = np.diff(paths, axis=1), np.diff(values, axis=1)
    axis = abs(steps).argmax(axis=2)
    effects = np.empty((n, d))
    np.put_along_axis(effects, axis, changes / np.take_along_axis(steps, axis[:, :, None], 2)[:, :, 0], 1)
    rows = np.random.default_rng(seed).integers(0, n, (N_RESAMPLE, n))
    again = effects[rows]
    return MorrisEffects(
        mean=effects.mean(axis=0),
        magnitude=abs(effects).mean(axis=0),
        deviation=effects.std(axis=0, ddof=1),
        magnitude_interval=interval_of(abs(again).mean(axis=1)),
        deviation_interval=interval_of(again.std(axis=1, ddof=1)),
        n=n,
        n_left_out=int((~whole).sum()),
    )


def interval_of(resampled: Array) -> Array:
    """Return the ends of the confidence intervals, (2, ...), of estimates that were repeated n times by
    bootstrap, (n, ...).
    """
    part = 0.5 * (1.0 - CONFIDENCE)
    return np.quantile(resampled, [part, 1.0 - part], axis=0)


def check_enough(n: int, n_left_out: int, what: str) -> None:
    """Raise ConfigError if too few rows or trajectories of a design are complete; n, n_left_out : numbers of
    those complete and incomplete; what : word for them in the error
    """
    if n < LEAST_ROWS:
        raise ConfigError(
            f"{n} {what} are complete, {n_left_out} are not", where="indices",
            allowed=f"{LEAST_ROWS} or more",
            remedy="solve the study to its end, or read the reasons in its table",
        )  # fmt: skip
