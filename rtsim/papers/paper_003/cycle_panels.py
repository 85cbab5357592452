"""Panels of curves over the gait cycle: mean and standard deviation over persons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.files.tables.panels import FigurePanel

Array = NDArray[np.float64]

CYCLE, RECORDING = "gait cycle [%]", "part of the recording [%]"


def percent(n: int) -> Array:
    """Return the percentage of the cycle at n evenly spaced frames, (n,)."""
    return np.linspace(0.0, 100.0, n)


def mean_panel(
    title: str, unit: str, curves: Mapping[str, Sequence[Array] | Array], x_title: str
) -> FigurePanel:
    """Return a panel with means of curves (n_frame,) over persons by name, with a standard deviation if
    there are several persons.
    """
    stacked = {name: np.array(list(of_persons)) for name, of_persons in curves.items()}
    several = next(iter(stacked.values())).shape[0] > 1
    return FigurePanel(
        title=title,
        unit=unit,
        x_title=x_title,
        x=percent(next(iter(stacked.values())).shape[1]),
        curves={name: values.mean(axis=0) for name, values in stacked.items()},
        deviations={name: values.std(axis=0, ddof=1) for name, values in stacked.items()}
        if several
        else None,
        whole_band=True,
    )
