"""Quantities: the results of a run, such as joint angles, each declared once, where it is computed.

Descriptor, frames, recordings, tables, figures and panels of a run are all derived from the list of its
quantities, so that a live run, a simulation and the same run read from a file cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.messages import Curves, FieldSpec, Image, Session, new_session_id

Array = NDArray[np.float64]

GROUND = "ground"
"""The frame of vectors that are turned with the ground, so that Y points up in everything published."""
AXES, QUATERNION = ("x", "y", "z"), ("w", "x", "y", "z")
ACTIVATIONS = Curves("Muscle activations", "activation", 2, 0.1, True)
"""Drawing of activations, whatever they come from."""


class Quantity(NamedTuple):
    """A result: its description, and the array that holds its newest value.

    name : field of the frames
    array : float64 array with the shape of every frame, in SI units, updated in place
    labels : labels of the entries of the first axis
    parts : names of the entries of the second axis, if tables have a column for each
    frame : axes in which vectors and rotation matrices are expressed, as text: GROUND, or a description
    curves : how it is drawn over time
    image : how it is drawn as an image
    meaning : a one-line description
    deviation, mask : arrays of the same shape: standard deviations, and 1 for entries that must not be used
    implausible : array of the same shape: 1 for entries outside the range of their joint
    joints : for each label the joints on which its entry depends, by their labels in the field
        `joint_status`; () = every entry depends on all joints
    as_is : labels of entries that files state in the SI unit, while they convert the other entries
    units : unit of each entry of the first axis, if they differ; `unit` then contains all of them
    """

    name: str
    array: Array
    unit: str
    labels: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    frame: str = ""
    curves: Curves | None = None
    meaning: str = ""
    deviation: Array | None = None
    mask: Array | None = None
    implausible: Array | None = None
    image: Image | None = None
    joints: tuple[tuple[str, ...], ...] = ()
    as_is: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def fields(self) -> list[tuple[FieldSpec, Array]]:
        """Return the fields of the quantity in a frame: the values, then deviations and masks if it has
        them.
        """
        shape = self.array.shape
        own = FieldSpec(
            name=self.name, shape=shape, unit=self.unit, labels=self.labels, parts=self.parts,
            frame=self.frame,
            curves=self.curves, image=self.image, meaning=self.meaning, joints=self.joints, as_is=self.as_is,
            units=self.units,
        )  # fmt: skip
        found = [(own, self.array)]
        if self.deviation is not None:
            spec = FieldSpec(
                f"{self.name}_deviation", shape, self.unit, self.labels, self.parts,
                of=self.name, role="deviation", meaning=f"standard deviation of {self.name}",
                units=self.units,
            )  # fmt: skip
            found.append((spec, self.deviation))
        if self.mask is not None:
            spec = FieldSpec(
                f"{self.name}_mask", shape, "1", self.labels, self.parts, of=self.name, role="mask",
                meaning=f"1 = this value of {self.name} is not to be used",
            )  # fmt: skip
            found.append((spec, self.mask))
        if self.implausible is not None:
            spec = FieldSpec(
                f"{self.name}_implausible", shape, "1", self.labels, self.parts, of=self.name, role="mask",
                meaning=f"1 = this value of {self.name} is outside the range of its joint",
            )  # fmt: skip
            found.append((spec, self.implausible))
        return found


class Fields:
    """The quantities of one result session, as its descriptor and as the data of its frames.

    A quantity without entries is left out: a model without ligaments has no fields for them.

    Attributes
    ----------
    session : descriptor; arrays : field -> its newest values
    """

    def __init__(
        self, quantities: Iterable[Quantity], rate: float, t_start: int, meta: Mapping[str, Any]
    ) -> None:
        fields = [field for quantity in quantities for field in quantity.fields() if field[1].size]
        self.arrays = {spec.name: array for spec, array in fields}
        self.session = Session(
            session=new_session_id(),
            stream="result",
            t_start=t_start,
            rate=rate,
            fields=tuple(spec for spec, _ in fields),
            meta=dict(meta),
        )

    def data(self) -> dict[str, bytes]:
        """Return the bytes of all fields."""
        return {name: array.tobytes() for name, array in self.arrays.items()}


def is_rotation(array: Array) -> bool:
    """Return whether an array of a frame contains rotation matrices rather than vectors."""
    return array.ndim == 3 and array.shape[1:] == (3, 3)
