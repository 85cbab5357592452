"""Controller law that applies one peak of torque in every stride, as long as the estimated gait phase is
reliable.
"""

from __future__ import annotations

from collections.abc import Mapping

from rtsim.config.controllers.torque_spline import Controller
from rtsim.device import torque_spline
from rtsim.device.controller import NOBODY_WALKS, Gait, Seen

WRAPS = 0.5
"""A phase that falls by more has begun a new stride."""


class StrideTorque:
    """Torque by a spline over the phase of the stride. When the phase becomes doubtful, torque ends until the
    next stride that begins with a reliable phase.

    So torque always begins at the start of a stride, also after arming and after the person has stopped.

    Attributes
    ----------
    open : whether torque acts in the present stride
    """

    def __init__(self, confidence: float) -> None:
        self._least = confidence
        self._before = NOBODY_WALKS
        self.open = False

    def torque(self, values: Mapping[str, float], seen: Seen) -> float:
        """Return the torque at the present phase of the stride [N m]."""
        gait, before, self._before = seen.gait, self._before, seen.gait
        sure = gait.confidence >= self._least and gait.phase == gait.phase
        if not sure or not seen.armed:
            self.open = False
        elif not self.open:
            self.open = begins(before, gait)
        if not self.open:
            return 0.0
        return torque_spline.torque(
            gait.phase, values["peak_Nm"], values["peak_time"], values["rise_time"], values["fall_time"]
        )


def begins(before: Gait, gait: Gait) -> bool:
    """Return whether a stride has begun between two ticks; before, gait : gait phase in the previous and in
    this tick"""
    return before.phase - gait.phase > WRAPS


def make(spec: Controller) -> StrideTorque:
    """Create the law of a torque spline, in its state before the first stride."""
    return StrideTorque(spec.confidence)
