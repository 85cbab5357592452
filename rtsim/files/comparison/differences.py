"""Differences of one quantity between two runs, accumulated over frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.messages import FieldSpec

FloatArray = NDArray[np.float64]
AXES = ("x", "y", "z")
"""Names of the entries of vectors that have none of their own."""


class DifferencePlace(NamedTuple):
    """The place of a difference between two runs, and the two values.

    session : number of the session in its stream, from 1
    frame : number of the frame in the session
    time : time [s]
    label : label of the entry of the quantity, such as a coordinate; "" = the quantity has only one entry
    one, other : the values in the first and in the second run
    """

    session: int
    frame: int
    time: float
    label: str
    one: float
    other: float


class QuantityDifferences:
    """Differences between the values of one quantity in two runs.

    Attributes
    ----------
    spec : the quantity as the first session of the first run describes it
    n_value : number of compared values; n_differ : number of those that differ
    n_lacking : number of values that only one of the runs has; the other has NaN
    largest : largest difference of two existing values; peak : largest magnitude of a value of the first run
    first, most : place of the first and of the largest difference; None = no difference
    """

    def __init__(self, spec: FieldSpec) -> None:
        self.spec = spec
        self.n_value = self.n_differ = self.n_lacking = 0
        self.largest = self.peak = self._square = 0.0
        self.first: DifferencePlace | None = None
        self.most: DifferencePlace | None = None

    @property
    def rms(self) -> float:
        """Root mean square of the differences over the values that both runs have."""
        return float(np.sqrt(self._square / max(1, self.n_value - self.n_lacking)))

    def add(
        self,
        session: int,
        spec: FieldSpec,
        numbers: Sequence[int],
        times: Sequence[float],
        one: FloatArray,
        other: FloatArray,
    ) -> None:
        """Compare the quantity in corresponding frames of both runs, one (n, ...) and other (n, ...).

        spec : description of the quantity in this session; its entries may differ from those of other
            sessions
        numbers, times : (n,) - numbers and times of the frames
        """
        rows = (
            one.reshape(len(one), math.prod(one.shape[1:])),
            other.reshape(len(other), math.prod(other.shape[1:])),
        )
        known = np.isfinite(rows[0]), np.isfinite(rows[1])
        self.n_value += rows[0].size
        if known[0].any():
            self.peak = max(self.peak, float(np.abs(rows[0][known[0]]).max()))
        same = (rows[0] == rows[1]) & (np.signbit(rows[0]) == np.signbit(rows[1]))
        differ = ~(same | (np.isnan(rows[0]) & np.isnan(rows[1])))
        if not differ.any():
            return
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.where(known[0] & known[1], np.abs(rows[0] - rows[1]), 0.0)
        self.n_differ += int(differ.sum())
        self.n_lacking += int((differ & ~(known[0] & known[1])).sum())
        with np.errstate(over="ignore"):  # of a stranger's 1e308
            self._square += float((size**2).sum())
        k, column = (int(x) for x in np.argwhere(differ)[0])

        def place(k: int, column: int) -> DifferencePlace:
            one, other = (float(row[k, column]) for row in rows)
            return DifferencePlace(
                session=session, frame=int(numbers[k]), time=float(times[k]),
                label=label_of(spec, column), one=one, other=other,
            )  # fmt: skip

        self.first = self.first or place(k, column)
        if float(size.max()) > self.largest:
            self.largest = float(size.max())
            self.most = place(*(int(x) for x in np.unravel_index(int(size.argmax()), size.shape)))

    def within(self, relative: float, absolute: float) -> bool:
        """Return whether the runs agree in this quantity: no value is missing in only one of them, and every
        difference is at most `absolute`, or at most `relative` times `peak`.
        """
        return self.n_lacking == 0 and self.largest <= max(relative * self.peak, absolute)

    def row(self) -> dict[str, Any]:
        """Return the differences of the quantity as a dictionary for JSON."""
        return {
            "quantity": self.spec.name,
            "unit": self.spec.unit,
            "values": self.n_value,
            "differ": self.n_differ,
            "in_one_run_alone": self.n_lacking,
            "largest": self.largest,
            "rms": self.rms,
            "peak": self.peak,
            "first": self.first._asdict() if self.first else None,
            "most": self.most._asdict() if self.most else None,
        }


def label_of(spec: FieldSpec, column: int) -> str:
    """Return the name of an entry of a quantity; column : index of the entry in the flattened array."""
    if not spec.shape:
        return ""
    index = tuple(int(k) for k in np.unravel_index(column, tuple(spec.shape)))
    names = [str(k) for k in index]
    if spec.shape[-1] == len(AXES):
        names[-1] = AXES[index[-1]]
    if len(index) == 2 and spec.parts:
        names[1] = spec.parts[index[1]]
    if spec.labels:
        names[0] = spec.labels[index[0]]
    return " ".join(names)


class StatusDifferences:
    """Differences between the status bits of two runs.

    Attributes
    ----------
    n_frame, n_differ : number of compared frames, and number of frames whose bits differ
    first : session, frame, time [s] and both values of the first difference
    """

    def __init__(self) -> None:
        self.n_frame = self.n_differ = 0
        self.first: tuple[int, int, float, int, int] | None = None

    def add(
        self,
        session: int,
        numbers: Sequence[int],
        times: Sequence[float],
        one: Sequence[int],
        other: Sequence[int],
    ) -> None:
        """Compare the status bits of corresponding frames, `one` of the first and `other` of the second
        run.
        """
        self.n_frame += len(numbers)
        for number, time, mine, theirs in zip(numbers, times, one, other, strict=True):
            if mine != theirs:
                self.n_differ += 1
                self.first = self.first or (session, int(number), float(time), int(mine), int(theirs))

    def row(self) -> dict[str, Any]:
        """Return the differences of the status bits as a dictionary for JSON."""
        names = ("session", "frame", "time", "one", "other")
        return {
            "frames": self.n_frame,
            "differ": self.n_differ,
            "first": dict(zip(names, self.first, strict=True)) if self.first else None,
        }
