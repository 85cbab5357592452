"""Selection of the results for a figure: cells that each show one quantity on both sides, selected by names
and groups.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from rtsim.errors import ConfigError
from rtsim.files.tables.legs import SIDES, SideGroup, groups_of
from rtsim.files.tables.sound import TELL
from rtsim.files.tables.tables import labels_of
from streams.messages import FieldSpec, Session

ALL = "all"
"""Name that selects every curve."""
N_NEAREST = 6
"""Number of similar names that are suggested for an unknown one."""


class CurveCell(NamedTuple):
    """One cell of a figure: a single quantity of a field, on both sides.

    spec : description of the field
    title : title in words
    of : right, left or "" -> index of the quantity's column in the flattened field
    labels : right, left or "" -> name of that column
    """

    spec: FieldSpec
    title: str
    of: Mapping[str, int]
    labels: Mapping[str, str]

    @property
    def usual(self) -> bool:
        """Whether the quantity of the cell is drawn by default."""
        return self.spec.curves is not None and len(self.spec.shape) == 1

    def of_side(self, side: str) -> CurveCell:
        """Return this cell of the figure with one curve only, that of the given side (right or left)."""
        return self._replace(of={side: self.of[side]}, labels={side: self.labels[side]})


def words_of(name: str) -> str:
    """Return a name as written in figures, with spaces instead of underscores."""
    return name.replace("_", " ")


def is_drawable(spec: FieldSpec) -> bool:
    """Return whether a field can be drawn as curves over time: it contains values (not standard deviations or
    masks), in an array of one or two axes.
    """
    return spec.role == "value" and len(spec.shape) in (1, 2) and math.prod(spec.shape) > 0


def cells_of_field(spec: FieldSpec, side: str) -> list[CurveCell]:
    """Return the cells of a figure for a field, one for each quantity, with its curves on both sides.

    side : side of labels that do not state one; "" = no side
    """
    labels = [label or spec.name for label in labels_of(spec)]
    parts: Sequence[str] = ("",)
    if len(spec.shape) == 2:
        parts = spec.parts if len(spec.parts) == spec.shape[1] else [str(k + 1) for k in range(spec.shape[1])]
    if len(labels) != spec.shape[0]:
        labels = [f"{spec.name} {k + 1}" for k in range(spec.shape[0])]
    entries = {label: k for k, label in enumerate(labels)}
    return [
        CurveCell(
            spec,
            title_of(spec, group, part),
            {own: entries[label] * len(parts) + p for own, label in group.of.items()},
            {own: f"{label}_{part}" if part else label for own, label in group.of.items()},
        )
        for group in groups_of(labels, side if spec.labels else "")
        for p, part in enumerate(parts)
    ]


def title_of(spec: FieldSpec, group: SideGroup, part: str = "") -> str:
    """Return the title of a curve, such as `Hip flexion moment`, or `Knee displacement: lateral`.

    spec : the field that the curve belongs to
    group : the entry of the field's first axis, without its side
    part : the entry of its second axis, "" = none
    """
    name = words_of(f"{group.name} {part}".strip())
    if spec.curves is None:
        field = words_of(spec.name)
        words = field if not name or name == field else f"{field}: {name}"
        return words[:1].upper() + words[1:]
    panel, axis = spec.curves.panel, spec.curves.axis
    if not name or name == words_of(spec.name):
        alone = axis == "angle" or not axis or not panel or panel.endswith(axis)
        return (panel or axis.capitalize()) if alone else f"{panel}: {axis}"
    if panel.endswith(axis) and panel != axis:
        return f"{panel}: {name}"
    words = name if axis == "angle" or name.endswith(axis) else f"{name} {axis}"
    if words.startswith("cgm "):
        words = words.replace("cgm", "CGM", 1)
    return words[:1].upper() + words[1:]


def cells_of_session(session: Session) -> list[CurveCell]:
    """Return a cell of a figure for every quantity of a result stream that can be drawn over time. session :
    the stream's descriptor, which lists its fields"""
    side = str(session.meta.get("side") or "")
    side = side if side in SIDES else ""
    return [cell for spec in session.fields if is_drawable(spec) for cell in cells_of_field(spec, side)]


def slug(words: str) -> str:
    """Return words as a name that can be typed on the command line."""
    return re.sub(r"\W+", "_", words.lower()).strip("_")


def names_of(cell: CurveCell) -> set[str]:
    """Return the names, besides that of its field, by which a user can select a cell: its quantity, its joint
    or panel, and its kind of quantity.
    """
    spec = cell.spec
    bases = {slug(base) for base in (_base_of(side, label) for side, label in cell.labels.items())}
    found = {slug(cell.title), *bases}
    found |= {base.partition("_")[0] for base in bases if "_" in base}
    found |= {kind_of(spec), spec.name.split("_")[0]}
    found.add(spec.name.split("_")[0].removesuffix("s") + "s")
    if spec.curves and spec.curves.panel:
        found.add(slug(spec.curves.panel))
    return found - {""}


def kind_of(spec: FieldSpec) -> str:
    """Return the kind of quantity of a field, such as angles or moments: the last word of the title of its
    vertical axis, or of its name.
    """
    words = spec.curves.axis.split() if spec.curves else spec.name.split("_")
    return slug((words or spec.name.split("_"))[-1]).removesuffix("s") + "s"


def _base_of(side: str, label: str) -> str:
    """Return a label without its side."""
    if not side:
        return label
    pattern = rf"(^|[_ .])({side[0]}|{side})(?=$|[_ .])"
    return re.sub(pattern, "", label, count=1, flags=re.IGNORECASE).strip("_ .")


def chosen_cells(session: Session, words: str, where: str = "--curves") -> list[CurveCell]:
    """Return the cells that `words` select, in the order of the words; without words, those drawn by
    default.

    Parameters
    ----------
    words : names separated by commas: of a field (joint_moments), a kind (angles, moments, powers), a joint
        or panel (knee), a quantity (knee_flexion, knee_flexion_moment), or one side of it (knee_flexion_r);
        all of them by "all". Except for names of fields, cells that are drawn by default come first.
    where : the option that states them, for the error

    Raises
    ------
    ConfigError : a name that selects nothing; the message lists similar names
    """
    cells = cells_of_session(session)
    if not words.strip():
        return [cell for cell in cells if cell.usual]
    found: dict[tuple[str, str], CurveCell] = {}
    for word in (part.strip() for part in words.split(",")):
        if not word:
            raise ConfigError(
                f"a name is missing in {words!r}", where=where, remedy="separate names by single commas"
            )
        matching = matching_cells(cells, word)
        if not matching:
            raise ConfigError(
                f"{word!r} is not the name of a curve or of a group of curves", where=where,
                allowed=", ".join(nearest_of(cells, word)), remedy="names must be separated by commas",
            )  # fmt: skip
        for cell in matching:
            key = (cell.spec.name, cell.title)
            before = found.get(key)
            found[key] = cell if before is None else cell._replace(
                of={**before.of, **cell.of}, labels={**before.labels, **cell.labels}
            )  # fmt: skip
    return list(found.values())


def matching_cells(cells: Sequence[CurveCell], word: str) -> list[CurveCell]:
    """Return the cells that a name given by a user selects, such as a field, a joint or a quantity."""
    asked = slug(word)
    if asked == ALL:
        return list(cells)
    if of_field := [cell for cell in cells if cell.spec.name == word]:
        return of_field
    by_name = [cell for cell in cells if asked in names_of(cell)]
    by_side = [cell.of_side(side) for cell in cells for side, label in cell.labels.items()
               if side and slug(label) == asked]  # fmt: skip
    matching = by_side or by_name
    return [cell for cell in matching if cell.usual] or matching


def nearest_of(cells: Iterable[CurveCell], word: str) -> list[str]:
    """Return the selectable names that are closest to a name that selects nothing, or else the available
    kinds of quantities.
    """
    names: set[str] = {ALL}
    kinds: dict[str, None] = {}
    for cell in cells:
        names |= names_of(cell) | {cell.spec.name} | {slug(label) for label in cell.labels.values()}
        if cell.usual:
            kinds[kind_of(cell.spec)] = None
    return get_close_matches(slug(word), sorted(names), N_NEAREST, 0.6) or [*kinds, ALL]


def not_drawn(session: Session, drawn: Iterable[CurveCell]) -> list[str]:
    """Return the names of the fields that can be drawn but are not among `drawn`, without those that describe
    markers or the status of frames.
    """
    shown = {cell.spec.name for cell in drawn}
    return [
        spec.name
        for spec in session.fields
        if is_drawable(spec) and spec.name not in shown and spec.name not in TELL
    ]
