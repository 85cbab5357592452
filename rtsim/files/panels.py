"""Results as panels of a figure: curves over one abscissa."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.both_sides_schema import SUFFIXES
from rtsim.files.recording import Results
from rtsim.files.sound import Sound
from rtsim.files.tables import labels_of
from rtsim.units import ON_PAPER, face_of
from streams.messages import FieldSpec

Array = NDArray[np.float64]

MOST_CURVES = 8
"""Of a field with more than twelve entries: those that become largest."""
MANY = 12
SMALL = 1e-3
"""Curves below this part of the largest one of their field are not drawn."""


class Panel(NamedTuple):
    """Curves over one abscissa.

    enlarged : a part of the time, with an axis of its own
    deviations : name of a curve -> its standard deviation, drawn as a band; None = none
    flagged : (len(x),) bool - values that are not to be trusted as they are, shaded; None = none
    """

    title: str
    unit: str
    x_title: str
    x: Array
    curves: dict[str, Array]
    enlarged: bool = False
    deviations: dict[str, Array] | None = None
    flagged: NDArray[np.bool_] | None = None


def curves_of(spec: FieldSpec, values: Array, only: Sequence[str] | None) -> dict[str, Array]:
    """Name -> values in the units of the figure; vectors by those components that are not next to nothing."""
    _, scale = face_of(spec.unit, ON_PAPER)
    flat = scale * values.reshape(len(values), -1)
    n_part = len(spec.parts) or 1
    labels = [label or spec.name for label in labels_of(spec)]
    names = [f"{label} {part}".strip() for label in labels for part in (spec.parts or ("",))]
    sizes = np.nan_to_num(np.abs(flat)).max(axis=0, initial=0.0)
    least = SMALL * sizes.max(initial=0.0)
    curves = {}
    for k, name in enumerate(names):
        wanted = labels[k // n_part] in only if only is not None else sizes[k] > least
        if wanted:
            curves[told(name)] = flat[:, k]
    return curves


def told(name: str) -> str:
    """The name of a curve as figures have it."""
    return name.replace("_", " ")


def panels_of_results(results: Results) -> list[Panel]:
    """A panel over time for every field that says how it is drawn; joint angles by the joints they name.

    Standard deviations are bands, frames in which a flag other than late regards a curve are shaded.
    """
    panels = []
    sound = Sound(results)
    about = {spec.of: spec for spec in results.session.fields if spec.role == "deviation"}
    for spec in results.session.fields:
        if spec.curves is None or len(spec.shape) != 1:
            continue
        unit, _ = face_of(spec.unit, ON_PAPER)
        found = largest_of(curves_of(spec, results.fields[spec.name], spec.labels or None))
        of_it = about.get(spec.name)
        deviations = curves_of(of_it, results.fields[of_it.name], of_it.labels or None) if of_it else {}
        names, out = [told(label or spec.name) for label in labels_of(spec)], sound.unsound(spec)
        groups = {spec.curves.panel: found} if spec.curves.panel else by_joint(found)
        for title, group in groups.items():
            if group:
                flagged = np.asarray(out[:, [names.index(name) for name in group]].any(axis=1))
                curves, bands = with_bands(group, deviations)
                panels.append(Panel(title, unit, "time [s]", results.times, curves, False, bands, flagged))
    return panels


def largest_of(curves: dict[str, Array]) -> dict[str, Array]:
    """All curves, or of many those that become largest, in their order."""
    if len(curves) <= MANY:
        return curves
    peaks = {name: float(np.nan_to_num(np.abs(y)).max(initial=0.0)) for name, y in curves.items()}
    kept = sorted(peaks, key=lambda name: -peaks[name])[:MOST_CURVES]
    return {name: y for name, y in curves.items() if name in kept}


def with_bands(
    curves: dict[str, Array], deviations: dict[str, Array]
) -> tuple[dict[str, Array], dict[str, Array] | None]:
    """Curves and their bands; a curve says so instead where its band is wider than the whole panel, as of a
    coordinate that markers leave open.
    """
    if not deviations:
        return curves, None
    rows = np.array([*curves.values()])
    width = float(np.nanmax(rows) - np.nanmin(rows)) if np.isfinite(rows).any() else 0.0
    drawn: dict[str, Array] = {}
    bands: dict[str, Array] = {}
    for name, y in curves.items():
        band = deviations.get(name)
        known = band is not None and bool(np.isfinite(band).any())
        if band is not None and known and float(np.nanmedian(band)) > width > 0.0:
            drawn[f"{name} (not determined)"] = y
            continue
        drawn[name] = y
        if band is not None:
            bands[name] = band
    return drawn, bands


def by_joint(curves: dict[str, Array]) -> dict[str, dict[str, Array]]:
    """Curves by the first word of their names, and by the side where they say it."""
    groups: dict[str, dict[str, Array]] = {}
    for name, y in curves.items():
        joint = name.partition(" ")[0].capitalize()
        side = next((f" {side}" for side, s in SUFFIXES.items() if name.endswith(f" {s[1:]}")), "")
        groups.setdefault(joint + side, {})[name] = y
    return groups
