"""A person who stands on two plates, for tests of the checks of plates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.plates.plate_contact import Plates
from rtsim.files.forces.force_trial import lay_out
from rtsim.methods.plates.plate_check import GRAVITY, PlateFinding, check_plates

MASS = 70.0
NAMES = ("first", "second")


class Stand(NamedTuple):
    """A person who stands and sways, the right foot on the first plate, the left one on the second."""

    plates: Plates
    force: np.ndarray
    moment: np.ndarray
    times: np.ndarray
    feet: np.ndarray

    def check(self, names=NAMES, mass: float | None = MASS, **changed) -> list[PlateFinding]:
        given = {
            "force": self.force,
            "moment": self.moment,
            "feet": self.feet,
            "plates": self.plates,
            **changed,
        }
        return check_plates(
            names, given["plates"], given["force"], given["moment"], self.times, given["feet"], mass,
            changed.get("origins"),
        )  # fmt: skip

    def local(self, p: int) -> tuple[np.ndarray, np.ndarray]:
        centre, axes = self.plates.centre[p], self.plates.axes[p]
        return self.force[:, p] @ axes.T, (self.moment[:, p] - np.cross(centre, self.force[:, p])) @ axes.T

    def placed(self, p: int, force: np.ndarray, moment: np.ndarray) -> dict[str, np.ndarray]:
        """Force and moment of all plates, of plate p from these in its axes."""
        centre, axes = self.plates.centre[p], self.plates.axes[p]
        both = self.force.copy(), self.moment.copy()
        both[0][:, p] = force @ axes
        both[1][:, p] = moment @ axes + np.cross(centre, both[0][:, p])
        return {"force": both[0], "moment": both[1]}


def corners(x: float, z: float) -> np.ndarray:
    return np.array([[x + i * 0.3, 0.0, z + j * 0.25] for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1))])


def standing_person() -> Stand:
    """The person, for the fixture `stand`: sways over both plates, off the middles of their edges."""
    rng = np.random.default_rng(1)
    n = 200
    places = np.stack([corners(0.0, 0.0), corners(0.7, -0.1)])
    # Off the middle along both edges, so that turned and mirrored plates show.
    heels = np.array([[-0.02, 0.03, 0.08], [0.4, 0.03, -0.18]])
    feet = np.stack([heels, heels + np.array([0.25, 0.0, 0.0])], axis=1)
    share = 0.5 + 0.1 * np.sin(np.arange(n) / 20.0)
    up = MASS * GRAVITY * np.stack([share, 1.0 - share], axis=1)
    force = np.stack([rng.normal(0.0, 3.0, (n, 2)), up, rng.normal(0.0, 3.0, (n, 2))], axis=2)
    point = heels[None] + [0.18, -0.03, 0.0] + rng.normal(0.0, 0.01, (n, 2, 3)) * [1.0, 0.0, 1.0]
    return Stand(
        lay_out(places, np.zeros(2)),
        force,
        np.cross(point, force),
        np.arange(n) / 100.0,
        np.tile(feet, (n, 1, 1, 1)),
    )


def names_of(findings: list[PlateFinding]) -> list[tuple[str, int]]:
    """Without what follows from the others: that most of the load is where no foot is."""
    return [(finding.name, finding.plate) for finding in findings if finding.name != "elsewhere"]
