"""Figures of a fitted foot: figures 5.9 to 5.15 of Brown (2017)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.foot.foot_misfit import StepMisfit, Weights
from rtsim.methods.foot.foot_parameters import (
    BODY,
    ELLIPSOIDS,
    N_GLOBAL,
    N_SHAPE,
    NAMES,
    euler,
    fill,
    new_foot,
)
from rtsim.methods.foot.foot_pressure import StepPressure, chosen_frames
from rtsim.report.foot_fit import FittedStep, panels

Array = NDArray[np.float64]

MU = NAMES.index("mu_d")
CELL = 0.00846
"""Edge of the cells where no pressure was measured [m]: those of a zebris mat."""
ACROSS, ALONG = (-0.07, 0.09), (-0.05, 0.31)
"""Part of the ground that they cover [m]."""


def drawn(step: FittedStep, parameters: Array) -> dict[str, Any]:
    """Return the content of the figures of a foot contact model for one step, as fields of
    foot_figure.FootFigureContent.

    step : the step, measured and simulated
    parameters : (30,) parameters of the contact model: material, then sizes and places of its ellipsoids
    """
    trial, maps = step.trial, {}
    if trial.pressure is not None:
        maps["measured"] = trial.pressure.pressure
    else:
        trial = trial._replace(pressure=cells_below(len(trial.times)))
    model = new_foot(friction=False)
    fill(model, parameters)
    felt = trial.pressure
    assert felt is not None
    simulated = StepMisfit(trial, Weights(), model).simulate(step.knots).pressure
    maps["simulated"] = np.zeros((0, 0)) if simulated is None else simulated
    shapes = parameters[N_GLOBAL:].reshape(-1, N_SHAPE)
    turns, _ = euler(shapes[:, 6:])
    frame, centres, forms = trial.frame, [], []
    for shape, turn, body in zip(shapes, turns, BODY.tolist(), strict=True):
        carrier = frame.toe_axes if body else np.eye(3)
        axes = carrier @ turn
        centres.append(carrier @ shape[3:6] + (frame.toe_origin if body else 0.0))
        forms.append((axes * shape[:3] ** 2) @ axes.T)
    return {
        "title": f"{step.name}: contact of the foot",
        "panels": panels(step, float(parameters[MU])),
        "centres": np.array(centres),
        "forms": np.array(forms),
        "names": ELLIPSOIDS,
        "maps": maps,
        "cells": felt.cells,
        "instants": trial.times[felt.frames] - trial.times[0],
    }


def peaks_of(step: FittedStep, parameters: Array) -> tuple[Array, Array]:
    """Simulate a step with a foot contact model on a grid of pressure cells; return the positions of the
    cells (n_cell, 2) [m], and the greatest pressure in each during the step, (n_cell,) [Pa].

    parameters : (30,) parameters of the contact model
    """
    n = len(step.trial.times)
    mat = cells_below(n)
    every = mat._replace(frames=np.arange(n), pressure=np.zeros((n, len(mat.cells))))
    model = new_foot(friction=False)
    fill(model, parameters)
    found = StepMisfit(step.trial._replace(pressure=every), Weights(), model).simulate(step.knots).pressure
    assert found is not None
    return mat.cells, found.max(axis=0)


def cells_below(n: int) -> StepPressure:
    """Return the grid of cells of a pressure mat under the foot, for a step of n frames, with all pressures
    zero.
    """
    across, along = np.arange(*ACROSS, CELL), np.arange(*ALONG, CELL)
    cells = np.stack(np.meshgrid(across, along), axis=-1).reshape(-1, 2)
    frames = chosen_frames(n)
    return StepPressure(frames, cells, CELL**2, np.zeros((len(frames), len(cells))))
