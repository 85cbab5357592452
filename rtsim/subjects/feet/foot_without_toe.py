"""Position of the toe marker on a foot whose forefoot is not marked in the static trial, estimated from the
standing pose.

The sole is level and the foot points from the heel's marker past the ankle. The distance from the ankle to
the metatarsals is estimated from the length of the shank, of which it is 0.28 to 0.38 in nine recorded
persons. A heel marker displaced sideways by 5 mm rotates the foot by some 4 degrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabSide
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.landmarks import role_positions
from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]

LENGTH = 0.33
"""Distance from the ankle to the middle of the metatarsal heads, in lengths of the shank."""
UPRIGHT = np.cos(np.radians(25.0))
"""Cosine of the angle between shank and vertical up to which the sole counts as level."""
STILL = 0.06
"""Largest motion of the heel of a foot that stands [m]."""
FOREFOOT = ("toe", "metatarsal_1", "metatarsal_5")
UP = np.array([0.0, 1.0, 0.0])
"""Upward direction of the ground frame."""
WITHOUT_TOE = (
    "no marker on the toe or the metatarsals: the foot was assumed to be horizontal and to point "
    "from the heel past the ankle, which is accurate to about 5 degrees. In movement only the heel "
    "marker shows the direction of the foot, so angles of ankle and foot are uncertain"
)
REMEDY = "use a static trial in which the toe marker is worn, or in which the person stands upright"


def toe_by_heel(known: Mapping[str, Array], knee: Array, ankle: Array, name: str, where: str) -> Array:
    """Estimate the position of the toe marker from heel, ankle and knee, (n, 3) [m].

    known : landmark, such as "calcaneus" -> (n, 3) position of its marker [m]; knee, ankle : (n, 3) joint
        centres [m]
    name : name of the toe marker, for the error

    ConfigError for a person who does not stand upright and still.
    """
    shank, heel = knee - ankle, known["calcaneus"]
    if float(np.median(unit(shank) @ UP)) < UPRIGHT or float(np.ptp(heel, axis=0).max()) > STILL:
        raise ConfigError(
            f"no frame shows the toe marker ({name}), and the person does not stand upright and "
            "still, so the sole cannot be assumed horizontal",
            where=where, remedy=REMEDY,
        )  # fmt: skip
    ahead = (ankle - heel) * (1.0 - UP)
    length = LENGTH * float(np.median(np.linalg.norm(shank, axis=-1)))
    level = np.sqrt(np.maximum(length**2 - ((ankle - heel) @ UP) ** 2, 0.0))[:, None]
    place: Array = heel + ahead + level * unit(ahead)
    return place


def check_toe(trial: MarkerTrial, static: MarkerTrial, table: LabSide) -> None:
    """Raise ConfigError for a static trial without the toe marker that its movement trial has."""
    shown = role_positions(static, table)
    if "toe" in role_positions(trial, table) and not any(role in shown for role in FOREFOOT):
        raise ConfigError(
            f"no frame shows the toe marker ({table.toe}), but {Path(trial.source).name} shows it",
            where=Path(static.source).name, remedy="use a static trial in which the toe marker is worn",
        )  # fmt: skip
