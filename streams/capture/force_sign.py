"""Detects whether a system sends the force of the floor on the person, or of the person on the plate.

This is a setting of the capture program that its protocol does not report. A foot can push a plate but not
pull it, so the setting follows from the sign of the vertical force while a person stands on the plates.
"""

from __future__ import annotations

import numpy as np

from streams.capture.records import CaptureError, FloatArray

CHOICES = ("check", "person", "plate")
BORNE_N = 100.0
"""Vertical force from which somebody stands on a plate, larger than any drift of its zero [N]."""
EMPTY_N = 20.0
"""Vertical force below which nobody stands on a plate, and the sign is that of noise [N]."""
ENOUGH = 25
"""The sign is known when loaded samples of one sign outnumber those of the other by so many."""


class ForceSign:
    """Sign of a system's forces: the factor that makes them those of the floor on the person.

    stated : what the system's forces act on: "person", "plate", or "check" to detect it from the forces

    Raises CaptureError for any other value of stated.
    """

    def __init__(self, stated: str = "check") -> None:
        if stated not in CHOICES:
            raise CaptureError("address", f"force_sign is {stated!r}; allowed: check, person and plate")
        self.factor = {"person": 1.0, "plate": -1.0, "check": 0.0}[stated]
        self._balance = 0

    def judge(self, vertical: FloatArray) -> str:
        """Learn the sign from vertical forces of plates (n_plate, n_sample) [N], upwards in the system's
        axes.

        Returns a message for the user when the sign becomes known, otherwise "".
        """
        if self.factor:
            return ""
        self._balance += int(np.sum(vertical > BORNE_N)) - int(np.sum(vertical < -BORNE_N))
        if abs(self._balance) < ENOUGH:
            return ""
        self.factor = 1.0 if self._balance > 0 else -1.0
        if self.factor > 0.0:
            return (
                "A person standing on the plates shows that the system sends the forces of the floor on "
                "the person."
            )
        return (
            "A person standing on the plates shows that the system sends the forces of the person on the "
            "plates: rtsim changes the sign of forces and moments."
        )

    def applied(
        self, force: FloatArray, moment: FloatArray, vertical: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return forces and moments (n_plate, n_sample, 3) with the sign of those on the person; NaN while a
        person is on the plate and the sign is unknown.

        vertical : (n_plate, n_sample) vertical forces, by which loaded plates are recognised [N]
        """
        if self.factor:
            return self.factor * force, self.factor * moment
        held = (np.abs(vertical) > EMPTY_N)[..., None]
        return np.where(held, np.nan, force), np.where(held, np.nan, moment)
