"""Loads of force plates on bodies, if the run states which bodies load each plate, and with which fractions
of its load.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from kernels.compiler.jit import hold
from kernels.plates.given_assignment import given_wrenches, tell_given
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.files.markers.trial import name_some
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.quantity import Quantity
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.loads.applied_loads import AppliedLoads
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame


class StatedLoads(AppliedLoads):
    """Loads of force plates, divided among bodies in fixed proportions, such as between two feet on one
    plate, or two hands on an instrumented object.

    Parameters
    ----------
    borne_by : name of a plate -> name of a body that loads it -> fraction of the plate's load that acts on
        this body
    bodies : names of the model's bodies
    """

    def __init__(
        self,
        kinematics: Kinematics,
        feed: ForceFeed,
        borne_by: Mapping[str, Mapping[str, float]],
        bodies: Sequence[str],
        stated: Uncertainty | None = None,
    ) -> None:
        bearers = tuple(body for body in bodies if any(body in parts for parts in borne_by.values()))
        super().__init__(kinematics, feed, bearers, stated)
        self._borne_by = borne_by
        self.pressed = tuple((bodies.index(body), k) for k, body in enumerate(bearers))
        self.counters["plate_unmeasured"] = 0
        self.size()

    def call(self) -> None:
        """Call each kernel of this stage once, to compile it."""
        for kernel in (self._contacts, self._learn, self._wrenches, self._tell):
            kernel()

    def bearer_with(self, markers: Collection[str], side: str) -> int:
        """Raise an error, as fractions of plate loads that a run states apply only to a model with its own
        markers, and not to a person's feet."""
        raise NotImplementedError("plates.borne_by applies only to models with their own markers")

    def bearing_of(self, bearer: int) -> np.ndarray:
        """Return the stated fraction of each plate's load that acts on a body, (n_plate,)."""
        return np.asarray(self._share[:, bearer])

    def parts(self, plates: tuple[str, ...]) -> Quantity:
        """Return as a quantity the stated fraction of each plate's load that acts on each body."""
        return Quantity(
            "plate_parts", self._told.share, "1", plates, self.bearers,
            meaning="fraction of the force of the plate that acts on the body, as plates.borne_by of the "
                    "run states",
        )  # fmt: skip

    def begin(self, session: Session, anew: bool) -> None:
        """Begin a session; report plates for which the run names no body, and plates named by the run that do
        not exist.
        """
        anew = anew or self.outdated
        super().begin(session, anew)
        names = self.feed.names
        if not anew or not names:
            return
        if unborne := [name for name in names if name not in self._borne_by]:
            self.sentences.append(
                f"plates.borne_by gives no body for {name_some(unborne)}: the force of such a plate is not "
                "used."
            )
        if absent := [name for name in self._borne_by if name not in names]:
            self.sentences.append(
                f"plates.borne_by names {name_some(absent)}, but these are the plates: {name_some(names)}. "
                "The bodies named for plates that do not exist have no load."
            )

    def share_out(self, frame: ReceivedFrame, taken: bool) -> None:
        """Divide the wrench of each plate among the bodies by the stated fractions."""
        if self._wrenches() and taken:
            self.count("plate_unmeasured", "The signals of a force plate are missing.")

    def size_bearing(self) -> None:
        """Allocate the array of the stated fractions for the present plates, and prepare the kernels."""
        names = self.feed.names
        self._share = np.array(
            [[self._borne_by.get(name, {}).get(body, 0.0) for body in self.bearers] for name in names]
        ).reshape(len(names), len(self.bearers))
        force, moment, loaded = self._force[0], self._moment[0], self._loaded[0]
        of_bodies = (self.force, self.moment, self._status)
        self._wrenches = hold(given_wrenches, (loaded, self._share, force, moment, *of_bodies))
        off, errors = self.noise.off, self.noise.errors
        self._tell = hold(tell_given, (self._status, self._share, force, self.force, off, errors, self._told))
