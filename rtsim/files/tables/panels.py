"""Results as panels of a figure: curves over a common horizontal axis, and notes on omitted ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.gait.events import FILE, OFF, STRIKE
from rtsim.files.recording import Results
from rtsim.files.tables.curve_choice import CurveCell, chosen_cells, not_drawn, words_of
from rtsim.files.tables.sound import Sound
from rtsim.files.tables.tables import labels_of
from rtsim.units import ON_PAPER, face_of
from streams.messages import FieldSpec

Array = NDArray[np.float64]

MANY_CELLS, MOST_CELLS = 24, 12
"""Largest number of cells with which a field is drawn in full unless some are selected, and number of cells,
those with the largest values, that are drawn otherwise.
"""
CELLS = 3
"""Number of cells in a row."""
DEVIATION, RANGE = "one standard deviation", "smallest to largest value of all runs"
"""Meanings of the band about a curve."""
LEAST = 0.5
"""Smallest range of the vertical axis of a cell, relative to that of a monitor window, so that values at rest
look constant.
"""
NOT_KNOWN = "not determined"
"""Note on a curve whose deviation is larger than the range of all curves together."""
SMALL = 1e-3
"""Curves whose largest magnitude is below this fraction of the largest one of their field are not drawn."""


class FigurePanel(NamedTuple):
    """Curves over a common horizontal axis.

    x, curves : (len(x),) values on the horizontal axis, and name of a curve -> (len(x),) its values
    enlarged : whether the panel is an enlarged part of the time with a horizontal axis of its own
    deviations : name of a curve -> (len(x),) its standard deviation, drawn as a band, or (2, len(x)) the
        extent of the band below and above; None = none
    band : meaning of the band in the key: one standard deviation, or the range of all runs
    whole_band : whether the vertical axis includes the bands, which are otherwise cut off
    flagged : (len(x),) bool, whether values are unreliable, which is shown by shading; None = none
    row : panels with the same row are side by side; "" = it has a row of its own
    sides : name of a curve -> right or left, which determines its colour; None = curves are coloured by
        number
    least : smallest useful range of the vertical axis, in its unit
    from_zero : whether the vertical axis begins at zero
    marks : gait events on the horizontal axis: position, right or left or "", and whether it is a foot strike
    group : panels of one group are placed on one page if possible; "" = none
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
    from_zero: bool = False
    group: str = ""
    band: str = DEVIATION
    whole_band: bool = False


class FigureContent(NamedTuple):
    """The content of a figure: its panels, and notes (left_out) on curves that were left out, with the
    reason.
    """

    panels: list[FigurePanel]
    left_out: list[str]


def curves_of(spec: FieldSpec, values: Array, only: Sequence[str] | None = None) -> dict[str, Array]:
    """Return the curves of a field by name, in the units of the figure.

    values : (n, ...) values of the field
    only : labels whose curves are returned; None = all
    """
    _, scale = face_of(spec.unit, ON_PAPER)
    flat = scale * values.reshape(len(values), -1)
    n_part = len(spec.parts) or 1
    labels = [label or spec.name for label in labels_of(spec)]
    names = [words_of(f"{label} {part}".strip()) for label in labels for part in (spec.parts or ("",))]
    return {name: flat[:, k] for k, name in enumerate(names) if only is None or labels[k // n_part] in only}


def small_of(curves: Mapping[str, Array]) -> list[str]:
    """Return the names of curves whose largest magnitude is below a fraction (SMALL) of that of the largest
    curve, which are not drawn.
    """
    peaks = peaks_of(curves)
    least = SMALL * max(peaks.values(), default=0.0)
    return [name for name, peak in peaks.items() if not peak > least]


def peaks_of(curves: Mapping[str, Array]) -> dict[str, float]:
    """Return the largest magnitude of each curve; 0 for a curve without values."""
    return {name: float(np.nan_to_num(np.abs(y)).max(initial=0.0)) for name, y in curves.items()}


def panels_of_results(results: Results, chosen: str = "") -> FigureContent:
    """Return panels over time: a cell for each quantity, with the curves of both sides.

    chosen : names separated by commas, of fields (joint_moments), kinds (angles), joints (knee) or quantities
        (knee_flexion); "" = every field that states how it is drawn; of a field with many cells, those with
        the largest values

    Standard deviations are drawn as bands; frames in which a curve is unreliable according to its status are
    shaded; gait events in the descriptor are marked. ConfigError for a name that selects nothing.
    """
    found = chosen_cells(results.session, chosen)
    if not chosen:
        found.sort(key=lambda cell: cell.spec.curves.column if cell.spec.curves else 0)
    fields = list(dict.fromkeys(cell.spec.name for cell in found))
    drawn, sound = FigureContent([], []), Sound(results)
    about = {spec.of: spec for spec in results.session.fields if spec.role == "deviation"}
    marks, n_cell = gait_marks(results.session.meta.get("gait_events")), 0
    for name in fields:
        cells = [cell for cell in found if cell.spec.name == name]
        field = DrawnField(cells[0].spec, about.get(name), results)
        known = [cell for cell in cells if any(field.known(k) for k in cell.of.values())]
        few = known if chosen else largest_of(known, field)
        drawn.left_out.extend(rest_of(cells, known, few, field))
        out = sound.unsound(field.spec)
        if len(few) >= CELLS:
            n_cell = -(-n_cell // CELLS) * CELLS  # a row of its own
        for cell in few:
            panel = field.panel_of(cell, out)
            row = f"cells {n_cell // CELLS}"
            drawn.panels.append(panel._replace(row=row, marks=marks, group=name))
            n_cell += 1
    rest = [] if chosen else not_drawn(results.session, found)
    if rest:
        drawn.left_out.append(f"not drawn, because --curves does not name them: {', '.join(rest)}")
    return drawn


class DrawnField:
    """The values of a field and their deviations, in the units of a figure.

    spec : description of the field
    width : difference between its largest and smallest value
    n_part : number of columns of each label
    """

    def __init__(self, spec: FieldSpec, deviation: FieldSpec | None, results: Results) -> None:
        self.spec, self._times = spec, results.times
        self._unit, self._scale = face_of(spec.unit, ON_PAPER)
        self._values = self._columns(results.fields[spec.name])
        same = deviation is not None and tuple(deviation.shape) == tuple(spec.shape)
        self._off = self._columns(results.fields[deviation.name]) if deviation and same else None
        self.width = width_of(self._values.T)
        self.n_part = self._values.shape[1] // spec.shape[0]

    def _columns(self, values: Array) -> Array:
        """Return values as columns in the unit of the figure, (n, n_column)."""
        return self._scale * values.reshape(len(values), -1)

    def known(self, column: int) -> bool:
        """Return whether a column has a value in any frame."""
        return bool(np.isfinite(self._values[:, column]).any())

    def of(self, cell: CurveCell) -> Array:
        """Return the values of a cell, one column for each side, (n, n_side)."""
        return self._values[:, list(cell.of.values())]

    def panel_of(self, cell: CurveCell, out: NDArray[np.bool_]) -> FigurePanel:
        """Return the panel of a cell, with the sides that have values; out : (n, n_label) - whether a value
        is unreliable, so that its frame is shaded.
        """
        cell = cell._replace(of={side: k for side, k in cell.of.items() if self.known(k)})
        curves = {side or cell.title: self._values[:, k] for side, k in cell.of.items()}
        off = {} if self._off is None else {
            side or cell.title: self._off[:, k] for side, k in cell.of.items()
        }  # fmt: skip
        drawn, bands = with_bands(curves, off, self.width)
        flagged = np.asarray(out[:, [k // self.n_part for k in cell.of.values()]].any(axis=1))
        sides = {name: side for name, side in zip(drawn, cell.of, strict=True) if side}
        doubted = [side for name, side in zip(drawn, cell.of, strict=True) if name not in curves]
        whose = "" if len(doubted) == len(cell.of) else " and ".join(doubted)
        doubt = f" ({f'{whose} {NOT_KNOWN}'.strip()})" if doubted else ""
        kind = self.spec.curves
        least = LEAST * self._scale * kind.least if kind is not None else 0.0
        return FigurePanel(
            title=f"{cell.title}{doubt}",
            unit=self._unit,
            x_title="time [s]",
            x=self._times,
            curves=drawn,
            deviations=bands,
            flagged=flagged,
            sides=sides,
            least=least,
            from_zero=kind is not None and kind.from_zero,
        )


def gait_marks(rows: object) -> tuple[tuple[float, str, bool], ...]:
    """Return foot strikes and foot offs as (time [s], side, whether it is a foot strike): events stored in
    the recorded file, if there are any, else those detected.

    rows : rows (time, side, kind, source) under "gait_events" in the metadata of a result stream's session
    """
    steps = [row for row in rows if _is_step(row)] if isinstance(rows, (list, tuple)) else []
    of_file = [row for row in steps if row[3] == FILE]
    return tuple((float(time), str(side), kind == STRIKE) for time, side, kind, _ in of_file or steps)


def _is_step(row: object) -> bool:
    """Return whether a row describes a foot strike or a foot off."""
    if not isinstance(row, (list, tuple)) or len(row) != 4 or row[2] not in (STRIKE, OFF):
        return False
    return isinstance(row[0], (int, float))


def largest_of(cells: list[CurveCell], field: DrawnField) -> list[CurveCell]:
    """Return the cells of a figure that are drawn: all if there are few, otherwise those with the largest
    magnitudes on either side; their order does not change.
    """
    if len(cells) <= MANY_CELLS:
        return cells
    peaks = {k: float(np.nanmax(np.abs(field.of(cell)))) for k, cell in enumerate(cells)}
    kept = sorted(peaks, key=lambda k: -peaks[k])[:MOST_CELLS]
    return [cell for k, cell in enumerate(cells) if k in kept]


def rest_of(
    cells: list[CurveCell], known: list[CurveCell], drawn: list[CurveCell], field: DrawnField
) -> list[str]:
    """Return notes on what is not drawn of a field: cells and sides without a value, and cells with smaller
    values than those drawn.

    cells, known, drawn : all cells of the field, those with a value, and those that are drawn
    """
    spec = cells[0].spec
    title = (spec.curves.panel if spec.curves else "") or words_of(spec.name)
    unknown = [cell.title for cell in cells if cell not in known]
    unknown += [
        f"{cell.title} {side}".strip() for cell in drawn for side, k in cell.of.items() if not field.known(k)
    ]
    smaller = [cell.title for cell in known if cell not in drawn]
    said = [f"{title}: no value is known for {', '.join(unknown)}"] if unknown else []
    if smaller:
        said.append(
            f"{title}: the {len(drawn)} with the largest values are drawn, draw all with --curves "
            f"{spec.name}; not drawn: {', '.join(smaller)}"
        )
    return said


def width_of(curves: Iterable[Array]) -> float:
    """Return the difference between the largest and the smallest value of all curves; 0 if there are no
    values.
    """
    rows = np.array([*curves])
    return float(np.nanmax(rows) - np.nanmin(rows)) if np.isfinite(rows).any() else 0.0


def with_bands(
    curves: dict[str, Array], deviations: dict[str, Array], width: float | None = None
) -> tuple[dict[str, Array], dict[str, Array] | None]:
    """Return curves and their bands of uncertainty.

    A curve whose band is wider than the range of all curves together, such as a coordinate that markers do
    not determine, gets no band, and a remark in its name instead.

    deviations : name of a curve -> its standard deviation
    width : range with which the bands are compared; None = the range of these curves
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
            drawn[f"{name} ({NOT_KNOWN})"] = y
            continue
        drawn[name] = y
        if band is not None:
            bands[name] = band
    return drawn, bands
