"""Driven coordinates of a model, which follow a motion from a file, for kinematics in which they determine
all others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.models.model import Model
from rtsim.models.packing.functions import spline_at
from rtsim.models.packing.tree import spline
from rtsim.simulation.motion import read_motion

KEY = "fdk.drivers"


class Drivers:
    """Values, speeds and accelerations of the coordinates of a model that follow a motion from a file; a
    kinematic method computes the other coordinates from them. `go_to` sets them to those at a time of the
    file.

    The dofs of the first body that have no named coordinates, such as those of a free joint, count as driven,
    too: they keep their neutral values and do not move. All other driven coordinates follow cubic splines
    through the values of the file (rtsim/simulation/motion).

    Parameters
    ----------
    spec, model : the model as read from its file, and the same built for the kernels
    names : coordinates that the file moves
    path : a .mot or .sto file
    note : called with sentences on irregularities of the file

    Attributes
    ----------
    times : (n,) times of the file [s]
    q : (n_q,) coordinates at the last requested time [rad, m]
    v, v_dot : (n_v,) speeds [rad/s, m/s] and accelerations [rad/s^2, m/s^2] at that time
    driven : (n_v,) bool, whether a dof is driven

    Raises ConfigError if a name is not that of a coordinate, if the coordinate follows others by a coupler,
    or if the file has no column for it.
    """

    def __init__(
        self, spec: ModelSpec, model: Model, names: tuple[str, ...], path: str, note: Callable[[str], None]
    ) -> None:
        check_drivers(model, names)
        own = [model.coordinates.names.index(name) for name in names]
        splines, self.times = read_motion(spec, names, path, note)
        self._knots = [
            np.reshape(spline(s.at, s.value, s.ends).numbers, (3, -1)) for s in (splines[n] for n in names)
        ]
        self._q, self._dof = model.coordinates.q[own], model.coordinates.dof[own]
        self.q, (self.v, self.v_dot) = model.q_neutral.copy(), np.zeros((2, model.n_v))
        dofs = np.arange(model.n_v)
        self.driven = (model.tree.dof_body == 0) & ~np.isin(dofs, model.coordinates.dof)
        self.driven[self._dof] = True

    def go_to(self, time: float) -> None:
        """Set q, v and v_dot to their values at a time of the file [s]."""
        found = np.array([spline_at(knots, time - self.times[0]) for knots in self._knots])
        self.q[self._q], self.v[self._dof], self.v_dot[self._dof] = found.T


def check_drivers(model: Model, names: tuple[str, ...]) -> None:
    """Raise ConfigError if no coordinate is to be driven by a motion, and for names of coordinates that
    cannot be driven: those that do not exist, or that follow others by a coupler.
    """
    followers = model.couplers.dof
    free = [
        name
        for name, dof in zip(model.coordinates.names, model.coordinates.dof, strict=True)
        if dof not in followers
    ]
    if not names:
        raise ConfigError(
            "no coordinate is prescribed by a motion", where=KEY, allowed=", ".join(free) or "none",
            remedy="name the coordinates that move: as many as the constraints of the method leave free",
        )  # fmt: skip
    for name in names:
        if name not in free:
            raise ConfigError(
                f"{name!r} is not a coordinate that can be driven",
                where=KEY,
                allowed=", ".join(free) or "none",
            )
