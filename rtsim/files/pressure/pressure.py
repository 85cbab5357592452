"""Pressure under a foot from any supported file: pascals and metres, a frame per instant."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import count_of
from rtsim.files.pressure.emed import read_emed
from rtsim.files.pressure.pressure_trial import PressureTrial
from rtsim.files.pressure.tekscan import read_tekscan
from rtsim.files.pressure.zebris import read_zebris

__all__ = ["PRESSURE_SUFFIXES", "PressureTrial", "read_pressure", "told"]

READERS = {".asf": read_tekscan, ".lst": read_emed, ".apd": read_zebris}
PRESSURE_SUFFIXES = tuple(READERS)


def read_pressure(path: str | Path) -> PressureTrial:
    """The frames of a pressure file, whose format its suffix names.

    ConfigError for other suffixes and for files that cannot be read. What was assumed stands in `notes`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in READERS or Path(path).is_dir():
        kind = "a folder" if Path(path).is_dir() else f"files of type {suffix or '(no suffix)'!r}"
        raise ConfigError(
            f"pressure of {kind} cannot be read",
            where=str(path),
            allowed=", ".join(PRESSURE_SUFFIXES),
            remedy="export the pressure as one of these",
        )
    return READERS[suffix](path)


def told(trial: PressureTrial) -> list[str]:
    """What a trial holds, in a sentence, then its notes."""
    n, n_row, n_column = trial.pressure.shape
    long, wide = 1e3 * trial.cell
    grid = f"{n_row} x {n_column} cells of {long:.4g} x {wide:.4g} mm"
    if trial.peak:
        most = 1e-3 * float(np.nanmax(trial.pressure))
        return [f"pressure: a picture of peaks, {grid}, up to {most:.4g} kPa", *_notes(trial)]
    frames = f"{count_of(n, 'frame')} at {trial.rate:.4g} Hz"
    return [f"pressure: {frames}, {grid}, force up to {trial.force.max():.4g} N", *_notes(trial)]


def _notes(trial: PressureTrial) -> list[str]:
    return [f"note: {note}" for note in trial.notes]
