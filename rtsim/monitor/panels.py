"""The panels of curves of the monitor window: contents, title and column of each, and where their values come
from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.messages import Curves

Array = NDArray[np.float64]


class PlotPanel(NamedTuple):
    """One plot, whose curves are the channels `first` to `first + len(names)` of the history, the ring buffer
    of the last values of all curves.

    extent_least : smallest useful length of the vertical axis; from_zero : whether the axis starts at zero
    deviation : first channel of their standard deviations; None without
    field : field whose values are drawn
    key : name of the panel in the settings file
    sides : right, left or "" of each curve
    """

    title: str
    quantity: str
    unit: str
    names: tuple[str, ...]
    first: int
    column: int
    extent_least: float
    from_zero: bool
    deviation: int | None = None
    field: str = ""
    key: str = ""
    sides: tuple[str, ...] = ()

    @property
    def axis_title(self) -> str:
        """Return quantity and unit as written on the axis."""
        return f"{self.quantity} ({self.unit})"

    @property
    def drawn_sides(self) -> tuple[str, ...]:
        """Return the side of each curve of a panel with one curve for each side, such as the loads of the
        feet; () for other panels.
        """
        apart = len(set(self.sides)) == len(self.sides)
        return self.sides if apart and "" not in self.sides else ()


def told_apart(panels: list[PlotPanel]) -> list[PlotPanel]:
    """Return the panels with the name of the quantity added to those titles that are equal, such as those of
    the angles and the moments of a joint."""
    counts = Counter(panel.title for panel in panels)
    return [
        panel._replace(title=f"{panel.title}, {panel.quantity}") if counts[panel.title] > 1 else panel
        for panel in panels
    ]


def balanced(panels: list[PlotPanel]) -> tuple[PlotPanel, ...]:
    """Move all panels to one column if one of two columns has less than half as many as the other."""
    counts = Counter(panel.column for panel in panels)
    if len(counts) == 2 and 2 * min(counts.values()) < max(counts.values()):
        panels = [panel._replace(column=0) for panel in panels]
    return tuple(panels)


class HistoryBlock(NamedTuple):
    """Where successive channels (curves) of the history, from number `first` on, get their values: scale
    times (entries of a flattened field of a frame - zeros), where `zeros` are reference values that are drawn
    as zero, such as a resting length; None = 0.
    """

    field: str
    entries: NDArray[np.intp]
    scale: float
    first: int
    zeros: Array | None = None


class FieldReading(NamedTuple):
    """How all channels (curves) of the history that belong to one field get their values from a frame:
    channels `into` are scales times (entries of the flattened field - zeros), where `zeros` are reference
    values that are drawn as zero, such as a resting length; None = 0.
    """

    field: str
    entries: NDArray[np.intp]
    scales: Array
    into: NDArray[np.intp]
    zeros: Array | None


def read_at_once(blocks: Sequence[HistoryBlock]) -> tuple[FieldReading, ...]:
    """Combine the blocks of each field, so that a frame is read with as few array accesses as possible."""
    of: dict[str, list[HistoryBlock]] = {}
    for block in blocks:
        of.setdefault(block.field, []).append(block)
    return tuple(
        FieldReading(
            field=field,
            entries=np.concatenate([block.entries for block in few]),
            scales=np.concatenate([np.full(len(block.entries), block.scale) for block in few]),
            into=np.concatenate([block.first + np.arange(len(block.entries)) for block in few]),
            zeros=_joined([np.zeros(len(b.entries)) if b.zeros is None else b.zeros for b in few]),
        )
        for field, few in of.items()
    )


def _joined(zeros: list[Array]) -> Array | None:
    joined = np.concatenate(zeros)
    return joined if joined.any() else None


def zeros_of(curves: Curves, n: int) -> Array | None:
    """Return the values of a field that are drawn as zero, such as reference lengths, one for each of its n
    entries, as its descriptor states them; None if values are drawn unchanged.
    """
    zeros = np.array(curves.zero, np.float64)
    return zeros if zeros.shape == (n,) and zeros.any() else None
