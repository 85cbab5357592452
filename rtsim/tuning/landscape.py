"""A map of the cost predicted by a search's model over two parameters, with the other parameters as in the
best setting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.tuning.kept import KeptTuning
from rtsim.tuning.problem import Parameters
from rtsim.tuning.search import TuningSearch

Array = NDArray[np.float64]
CELLS = 61
"""Number of cells of a map, along either parameter."""


class Landscape(NamedTuple):
    """Map of the expected cost and of its standard deviation over two parameters; the others have the values
    of the best setting.

    title : title of the figure
    names, low, high : names and ranges of the two parameters
    mean, deviation : (CELLS, CELLS) expected cost and its standard deviation; the first index is along the
        first parameter
    tried : (m, 2) - settings that were tried, in their order; best : (2,) best setting
    held : names and values of the other parameters, as text
    """

    title: str
    names: tuple[str, str]
    low: Array
    high: Array
    mean: Array
    deviation: Array
    tried: Array
    best: Array
    held: str


def landscape_of(search: TuningSearch, parameters: Parameters, kept: KeptTuning) -> Landscape:
    """Compute the map of the expected cost over those two parameters along which it changes most; kept : the
    tuning with its trials and best setting
    """
    n = len(parameters.names)
    best = parameters.point(kept.best)
    line = np.linspace(0.0, 1.0, CELLS)
    spans = []
    for k in range(n):
        at = np.tile(best, (CELLS, 1))
        at[:, k] = line
        spans.append(float(np.ptp(search.landscape(at)[0])))
    chosen = sorted(np.argsort(spans)[::-1][:2].tolist()) if n > 1 else [0, 0]
    a, b = chosen
    at = np.tile(best, (CELLS * CELLS, 1))
    first, second = np.meshgrid(line, line, indexing="ij")
    at[:, a], at[:, b] = first.ravel(), second.ravel()
    mean, deviation = (values.reshape(CELLS, CELLS) for values in search.landscape(at))
    tried = np.array([parameters.point(s) for trial in kept.trials for s in trial.settings])
    scale, low = (parameters.high - parameters.low)[chosen], parameters.low[chosen]
    others = [name for k, name in enumerate(parameters.names) if k not in chosen]
    return Landscape(
        title=f"{kept.config}, method {kept.method}, cost: {kept.cost}",
        names=(parameters.names[a], parameters.names[b]),
        low=low, high=parameters.high[chosen], mean=mean, deviation=deviation,
        tried=low + scale * tried[:, chosen], best=low + scale * best[chosen],
        held=", ".join(f"{name} {kept.best[name]:.3g}" for name in others),
    )  # fmt: skip
