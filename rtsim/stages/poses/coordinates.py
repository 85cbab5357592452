"""Published values of a model's coordinates: one array for those that are angles, one for displacements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.models.model import Model
from rtsim.models.neutral import neutral_lengths
from rtsim.quantity import Quantity
from rtsim.stages.poses.joint_status import JointStatus
from rtsim.units import DEGREES
from streams.messages import Curves

Array = NDArray[np.float64]


class CoordinateValues:
    """Published arrays of a model's coordinates and of their standard deviations, updated by `report` and
    `deviate`.
    """

    def __init__(self, model: Model) -> None:
        turns = model.coordinates.is_angle
        self._at = (model.coordinates.q[turns], model.coordinates.q[~turns])
        self._dofs = (model.coordinates.dof[turns], model.coordinates.dof[~turns])
        self._values = tuple(np.zeros(len(at)) for at in self._at)
        self._deviations = tuple(np.full(len(at), np.nan) for at in self._at)
        self._bodies = tuple(model.tree.dof_body[dofs] for dofs in self._dofs)
        names = np.array(model.coordinates.names, object)
        self._names = tuple(names[turns].tolist()), tuple(names[~turns].tolist())
        self._as_is = model.coordinates.coupled
        self._neutral = neutral_lengths(model)

    def report(self, q: Array) -> None:
        """Update the values from generalized coordinates q : (n_q,)."""
        for at, values in zip(self._at, self._values, strict=True):
            values[:] = q[at]

    def deviate(self, of_dofs: Array) -> None:
        """Update the standard deviations of the coordinates from those of the generalized speeds, of_dofs :
        (n_v,)."""
        for dofs, deviations in zip(self._dofs, self._deviations, strict=True):
            deviations[:] = of_dofs[dofs]

    def quantities(
        self, implausible: Array | None = None, deviate: bool = False, by_joint: JointStatus | None = None
    ) -> list[Quantity]:
        """Return two quantities: the coordinates that are angles, then those that are lengths, with their
        names in the model.

        implausible : (n_angle,) 1 = the angle is outside its range; None = not checked
        deviate : whether standard deviations are known
        by_joint : status of the joints, if it is published
        """
        angles, lengths = self._deviations if deviate else (None, None)
        of_angles, of_lengths = map(by_joint.joints_of, self._bodies) if by_joint is not None else ((), ())
        return [
            Quantity(
                "joint_angles", self._values[0], "rad", self._names[0],
                curves=Curves("Coordinates", "angle", 0, 10.0 / DEGREES),
                meaning="coordinates of the model that are angles, with the names and signs of the model",
                implausible=implausible, deviation=angles, as_is=self._as_is,
                joints=of_angles,
            ),
            Quantity(
                "joint_displacements", self._values[1], "m", self._names[1],
                curves=Curves("Displacements", "displacement", 1, 0.01, zero=self._neutral),
                meaning="coordinates of the model that are lengths", deviation=lengths,
                joints=of_lengths,
            ),
        ]  # fmt: skip
