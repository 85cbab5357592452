"""Differences between predicted ground reactions and those of force plates: in total, and for each foot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.files.recording import Results
from rtsim.methods.plates.plate_check import GRAVITY
from rtsim.subjects.markers.labs import SIDES

Array = NDArray[np.float64]

BEARS, BORNE = 0.05, 0.3
"""A foot counts as loaded from the first fraction of the weight; the right foot's share is computed if both
feet together carry at least the second."""


def reaction_figures(results: Results) -> dict[str, Any] | None:
    """Compare predicted ground reactions with those of the plates; None if a run does not have both.

    Vertical forces are in body weights, centres of pressure in metres. Differences are given for:
        total : the force on the whole body, if the plates measure all of it
        feet : the force on each foot, if the plates measure it
        share, share_of_both : right foot's share of the force, in all frames and while both feet bear load
        along, across : the centre of pressure of each foot, along and across the foot
    """
    mass, get = results.session.meta.get("mass_kg"), results.fields.get
    error, off, loads = get("ground_reaction_error"), get("foot_contact_errors"), get("foot_contact_loads")
    if not mass or (error is None and off is None):
        return None
    weight = mass * GRAVITY
    found: dict[str, Any] = {"total": spread(error[:, 1]) if error is not None else None, "feet": {}}
    if off is None or loads is None:
        return found
    found["feet"] = {side: spread(off[:, k] / weight) for k, side in enumerate(SIDES)}
    away = results.fields["foot_contact_centre_errors"]
    for part, key in enumerate(("along", "across")):
        found[key] = {side: spread(away[:, k, part]) for k, side in enumerate(SIDES)}
    told = loads - off
    known = np.isfinite(off).all(axis=1) & (told.sum(axis=1) > BORNE * weight)
    both = known & (told > BEARS * weight).all(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = loads[:, 0] / loads.sum(axis=1) - told[:, 0] / told.sum(axis=1)
    found["share"] = spread(np.where(known, share, np.nan))
    found["share_of_both"] = spread(np.where(both, share, np.nan))
    return found


def spread(off: Array) -> dict[str, float | int] | None:
    """Return number, root mean square and largest magnitude of the differences between predicted and measured
    values, `off`, that are not NaN; None if all are.
    """
    off = off[np.isfinite(off)]
    if not off.size:
        return None
    return {"frames": int(off.size), "rms": float(np.sqrt(np.mean(off**2))), "most": float(np.abs(off).max())}


def reaction_words(figures: dict[str, Any]) -> list[str]:
    """Describe the comparison of predicted and measured ground reactions in sentences."""
    told = []
    if figures["total"]:
        told.append(
            "ground reaction computed without plates: the vertical force of the whole body differs from the "
            f"plates by {words(figures['total'])}"
        )
    feet = [f"{side} {words(one)}" for side, one in figures["feet"].items() if one]
    if feet:
        told.append(
            f"foot contact model: the vertical force of each foot differs from the plates by "
            f"{'; '.join(feet)}"
        )
    for key, where in (("share", ""), ("share_of_both", " in double support")):
        if figures.get(key):
            told.append(
                f"right foot's share of the ground reaction{where}, computed minus measured: "
                f"{words(figures[key], 'of the load of both feet')}"
            )
    for key in ("along", "across"):
        places = [f"{side} {1e3 * one['rms']:.0f} mm" for side, one in figures.get(key, {}).items() if one]
        if places:
            told.append(
                f"foot contact model: centre of pressure {key} the foot, RMS difference {', '.join(places)}"
            )
    return told


def words(off: dict[str, float | int], of: str = "of the weight") -> str:
    """Return the RMS and the largest magnitude of differences as text in percent; of : what 100 % stands
    for.
    """
    return (
        f"RMS {100.0 * off['rms']:.1f} % {of}, at most {100.0 * off['most']:.0f} %, in {off['frames']} frames"
    )
