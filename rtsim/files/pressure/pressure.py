"""Pressure under a foot from any supported file: pascals and metres, frame by frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rtsim.files.formats import PRESSURE, check_format, read
from rtsim.files.markers.trial import count_of
from rtsim.files.pressure.pressure_trial import PressureTrial

__all__ = ["PressureTrial", "read_pressure", "told"]


def read_pressure(path: str | Path) -> PressureTrial:
    """Read the frames of a pressure file; the suffix determines the format.

    ConfigError for other suffixes and for files that cannot be read. Assumptions are listed in `notes`.
    """
    form = check_format(path, PRESSURE, "pressure", "export the pressure in one of these formats")
    trial: PressureTrial = read(form, path)
    return trial


def told(trial: PressureTrial) -> list[str]:
    """Return notes for the user on a pressure trial: one on its content, then its own notes."""
    n, n_row, n_column = trial.pressure.shape
    long, wide = 1e3 * trial.cell
    grid = f"{n_row} x {n_column} cells of {long:.4g} x {wide:.4g} mm"
    if trial.peak:
        most = 1e-3 * float(np.nanmax(trial.pressure))
        return [f"pressure: image of peak pressures, {grid}, maximum {most:.4g} kPa", *_notes(trial)]
    frames = f"{count_of(n, 'frame')} at {trial.rate:.4g} Hz"
    return [f"pressure: {frames}, {grid}, largest force {trial.force.max():.4g} N", *_notes(trial)]


def _notes(trial: PressureTrial) -> list[str]:
    return [f"note: {note}" for note in trial.notes]
