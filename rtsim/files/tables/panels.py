"""Results as panels of a figure: curves over one abscissa, and what is left out of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.files.gait.events import FILE, OFF, STRIKE
from rtsim.files.recording import Results
from rtsim.files.tables.legs import SIDES, SideGroup, groups_of
from rtsim.files.tables.sound import Sound
from rtsim.files.tables.tables import labels_of
from rtsim.units import ON_PAPER, face_of
from streams.messages import FieldSpec

Array = NDArray[np.float64]

MOST_CURVES = 8
"""Of a field with more than twelve entries: those that become largest."""
MANY = 12
MANY_CELLS, MOST_CELLS = 24, 12
"""The same of a figure with a cell for each of them, what is the same on both legs counted once."""
CELLS = 3
"""Cells of a row."""
LEAST = 0.1
"""Shortest ordinate of a cell, in parts of the one that a window shows."""
SMALL = 1e-3
"""Curves below this part of the largest one of their field are not drawn."""


class FigurePanel(NamedTuple):
    """Curves over one abscissa.

    enlarged : a part of the time, with an axis of its own
    deviations : name of a curve -> its standard deviation, drawn as a band; None = none
    flagged : (len(x),) bool - values that are not to be trusted as they are, shaded; None = none
    row : panels of one row, one after the other, stand side by side; "" = it has a row of its own
    sides : name of a curve -> right or left, by which it is drawn; None = curves are drawn by their numbers
    least : shortest ordinate worth showing, in the unit
    marks : gait events on the abscissa: where, right or left or "", and whether a foot comes down
    """

    title: str
    unit: str
    x_title: str
    x: Array
    curves: dict[str, Array]
    enlarged: bool = False
    deviations: dict[str, Array] | None = None
    flagged: NDArray[np.bool_] | None = None
    row: str = ""
    sides: Mapping[str, str] | None = None
    least: float = 0.0
    marks: tuple[tuple[float, str, bool], ...] = ()


class FigureContent(NamedTuple):
    """What a figure shows; left_out : sentences on curves that it could show and does not, and why."""

    panels: list[FigurePanel]
    left_out: list[str]


def curves_of(spec: FieldSpec, values: Array, only: Sequence[str] | None = None) -> dict[str, Array]:
    """Name -> values in the units of the figure, of all labels or only of these."""
    _, scale = face_of(spec.unit, ON_PAPER)
    flat = scale * values.reshape(len(values), -1)
    n_part = len(spec.parts) or 1
    labels = [label or spec.name for label in labels_of(spec)]
    names = [told(f"{label} {part}".strip()) for label in labels for part in (spec.parts or ("",))]
    return {name: flat[:, k] for k, name in enumerate(names) if only is None or labels[k // n_part] in only}


def small_of(curves: Mapping[str, Array]) -> list[str]:
    """Names of curves that are next to nothing beside the largest one."""
    peaks = peaks_of(curves)
    least = SMALL * max(peaks.values(), default=0.0)
    return [name for name, peak in peaks.items() if not peak > least]


def peaks_of(curves: Mapping[str, Array]) -> dict[str, float]:
    """The largest magnitude of each curve; 0 of one without values."""
    return {name: float(np.nan_to_num(np.abs(y)).max(initial=0.0)) for name, y in curves.items()}


def told(name: str) -> str:
    """The name of a curve as figures have it."""
    return name.replace("_", " ")


def panels_of_results(results: Results) -> FigureContent:
    """Panels over time of every field that says how it is drawn.

    Of results that tell the legs apart, or of one leg, a cell for each quantity, both legs in it; else a
    panel for each field, of joint angles for each joint that they name. Standard deviations are bands, frames
    in which a flag other than late regards a curve are shaded. Gait events that the descriptor keeps are
    marked.
    """
    drawn, marks = _panels_of(results), gait_marks(results.session.meta.get("gait_events"))
    return drawn._replace(panels=[panel._replace(marks=marks) for panel in drawn.panels])


def gait_marks(rows: object) -> tuple[tuple[float, str, bool], ...]:
    """Foot strikes and offs of a descriptor's rows (time, side, what it is, who tells): those of the file,
    where there are any, else those that were found.
    """
    told = [row for row in rows if _is_step(row)] if isinstance(rows, (list, tuple)) else []
    of_file = [row for row in told if row[3] == FILE]
    return tuple((float(time), str(side), kind == STRIKE) for time, side, kind, _ in of_file or told)


def _is_step(row: object) -> bool:
    """Whether a row tells of a foot that comes down or leaves the ground."""
    if not isinstance(row, (list, tuple)) or len(row) != 4 or row[2] not in (STRIKE, OFF):
        return False
    return isinstance(row[0], (int, float))


def _panels_of(results: Results) -> FigureContent:
    """As panels_of_results, without gait events."""
    fields = [spec for spec in results.session.fields if spec.curves is not None and len(spec.shape) == 1]
    side = str(results.session.meta.get("side") or "")
    side = side if side in SIDES else ""
    misfits = [
        f"{spec.curves.panel or told(spec.name)}: of shape {list(spec.shape)}, which is no list of curves"
        for spec in results.session.fields
        if spec.curves is not None and len(spec.shape) != 1
    ]
    if side or any(len(group.of) > 1 for spec in fields for group in groups_of(labels_of(spec))):
        found = cells_of(results, fields, side)
        return found._replace(left_out=[*misfits, *found.left_out])
    drawn, sound = FigureContent([], misfits), Sound(results)
    about = {spec.of: spec for spec in results.session.fields if spec.role == "deviation"}
    for spec in fields:
        assert spec.curves is not None
        unit, _ = face_of(spec.unit, ON_PAPER)
        every = curves_of(spec, results.fields[spec.name])
        few = largest_of(known_of(every))
        drawn.left_out.extend(rest_of(spec.curves.panel or told(spec.name), every, few, MOST_CURVES))
        of_it = about.get(spec.name)
        deviations = curves_of(of_it, results.fields[of_it.name]) if of_it else {}
        names, out = [told(label or spec.name) for label in labels_of(spec)], sound.unsound(spec)
        groups = {spec.curves.panel: few} if spec.curves.panel else by_joint(few)
        for title, group in groups.items():
            if group:
                flagged = np.asarray(out[:, [names.index(name) for name in group]].any(axis=1))
                curves, bands = with_bands(group, deviations)
                drawn.panels.append(
                    FigurePanel(
                        title=title,
                        unit=unit,
                        x_title="time [s]",
                        x=results.times,
                        curves=curves,
                        enlarged=False,
                        deviations=bands,
                        flagged=flagged,
                    )
                )
    return drawn


def cells_of(results: Results, fields: Sequence[FieldSpec], side: str) -> FigureContent:
    """A cell for each quantity, with the curves of both legs; side : of what names none, of one leg alone."""
    drawn, sound, n_cell = FigureContent([], []), Sound(results), 0
    about = {spec.of: spec for spec in results.session.fields if spec.role == "deviation"}
    for spec in fields:
        assert spec.curves is not None
        unit, scale = face_of(spec.unit, ON_PAPER)
        labels, out = [label or spec.name for label in labels_of(spec)], sound.unsound(spec)
        curves = dict(zip(labels, curves_of(spec, results.fields[spec.name]).values(), strict=True))
        of_it = about.get(spec.name)
        deviations = dict(
            zip(labels, curves_of(of_it, results.fields[of_it.name]).values(), strict=True) if of_it else ()
        )
        groups = groups_of(labels, side if spec.labels else "")
        every = {title_of(spec, group): of_group(group, curves) for group in groups}
        found = largest_of(known_of(every), MANY_CELLS, MOST_CELLS)
        drawn.left_out.extend(rest_of(spec.curves.panel or told(spec.name), every, found, MOST_CELLS))
        if len(found) >= CELLS:
            n_cell = -(-n_cell // CELLS) * CELLS  # a row of its own
        width = width_of(curves.values())
        for title, group in zip(every, groups, strict=True):
            if title not in found:
                continue
            named = {own or title: label for own, label in group.of.items()}
            chosen = {name: curves[label] for name, label in named.items()}
            chosen, bands = with_bands(
                chosen,
                {name: deviations[label] for name, label in named.items() if label in deviations},
                width,
            )
            flagged = np.asarray(out[:, [labels.index(label) for label in named.values()]].any(axis=1))
            sides = {name: side for name in chosen for side in SIDES if name.split(" (")[0] == side}
            doubt = "".join(f" ({name.replace(' (', ' ')}" for name in chosen if name not in named)
            drawn.panels.append(
                FigurePanel(title=f"{title}{doubt}", unit=unit, x_title="time [s]", x=results.times,
                            curves=chosen, enlarged=False, deviations=bands, flagged=flagged,
                      row=f"cells {n_cell // CELLS}", sides=sides, least=LEAST * scale * spec.curves.least)
            )  # fmt: skip
            n_cell += 1
    return drawn


def title_of(spec: FieldSpec, group: SideGroup) -> str:
    """What a cell shows, in words: `Hip flexion moment`, or `Knee displacement: lateral`."""
    assert spec.curves is not None
    name, panel, axis = told(group.name), spec.curves.panel, spec.curves.axis
    if not name or name == told(spec.name):
        return panel
    if panel.endswith(axis) and panel != axis:
        return f"{panel}: {name}"
    words = name if axis == "angle" or name.endswith(axis) else f"{name} {axis}"
    return words[:1].upper() + words[1:]


def of_group(group: SideGroup, curves: Mapping[str, Array]) -> Array:
    """All values of both legs."""
    return np.concatenate([curves[label] for label in group.of.values()])


def known_of(curves: Mapping[str, Array]) -> dict[str, Array]:
    """Those that have a value."""
    return {name: y for name, y in curves.items() if np.isfinite(y).any()}


def largest_of(curves: dict[str, Array], many: int = MANY, most: int = MOST_CURVES) -> dict[str, Array]:
    """All curves, or of many those that become largest, in their order."""
    if len(curves) <= many:
        return curves
    peaks = peaks_of(curves)
    kept = sorted(peaks, key=lambda name: -peaks[name])[:most]
    return {name: y for name, y in curves.items() if name in kept}


def rest_of(title: str, every: Mapping[str, Array], drawn: Mapping[str, Array], most: int) -> list[str]:
    """Sentences on the curves that are not drawn: those without a value, and those that stay smaller."""
    known = known_of(every)
    unknown = [name for name in every if name not in known]
    smaller = [name for name in known if name not in drawn]
    said = [f"{title}: of {', '.join(unknown)} no value is known"] if unknown else []
    if smaller:
        said.append(f"{title}: the {most} that become largest are drawn, not {', '.join(smaller)}")
    return said


def width_of(curves: Iterable[Array]) -> float:
    """From the least value to the largest of all curves; 0 where none is known."""
    rows = np.array([*curves])
    return float(np.nanmax(rows) - np.nanmin(rows)) if np.isfinite(rows).any() else 0.0


def with_bands(
    curves: dict[str, Array], deviations: dict[str, Array], width: float | None = None
) -> tuple[dict[str, Array], dict[str, Array] | None]:
    """Curves and their bands; a curve says so instead where its band is wider than all curves together, as of
    a coordinate that markers leave open.

    width : of all curves that are of their kind, where there are more
    """
    if not deviations:
        return curves, None
    width = width_of(curves.values()) if width is None else width
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
