"""Loads of force plates on bodies of a model at the time of a frame: the base class of the stages that assign
plates to feet or to stated bodies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection

import numpy as np

from kernels.algebra.resampling import TAKEN
from kernels.compiler.jit import hold
from kernels.plates.plate_contact import contacts
from kernels.plates.plate_errors import learn_plate_errors, new_told_plates
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.files.forces.force_tare import LEAST_TARE_S
from rtsim.files.forces.force_trial import THRESHOLD, lay_out
from rtsim.files.markers.trial import name_some
from rtsim.methods.plates.force_feed import FAULTS, WORDS, ForceFeed
from rtsim.methods.plates.plate_noise import PlateNoise
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import FINE, Args, Stage, StageCommand, StageOutcome
from streams.messages import Curves, Session, Status
from streams.receiving.ring import ReceivedFrame

TARE_S = 2.0
MOST_TARE_S = 60.0
"""Time over which samples are gathered for the zero of the plates, usually and at most [s]."""
MISSED = StageOutcome(Status.DEGRADED)


class AppliedLoads(Stage):
    """Base of stages that compute the contacts on all plates, and the wrench that the plates exert on each
    body that loads them (a bearer).

    Attributes
    ----------
    bearers : names of the feet or bodies that load plates, in the order of the arrays
    pressed : pairs of a body's index in the model and its index among the bearers; empty if another stage
        determines which bodies load the plates
    force, moment : (n_bearer, 3) force of the plates on each bearer [N], and its moment about the ground
        origin [N m]; NaN = unknown
    """

    def __init__(
        self,
        kinematics: Kinematics,
        feed: ForceFeed,
        bearers: tuple[str, ...],
        stated: Uncertainty | None = None,
    ) -> None:
        super().__init__()
        self._stated = stated or Uncertainty()
        self.kinematics, self.feed, self.bearers = kinematics, feed, bearers
        self.pressed: tuple[tuple[int, int], ...] = ()
        n = len(bearers)
        self.force, self.moment = np.full((n, 3), np.nan), np.full((n, 3), np.nan)
        self._n_session = -1
        self._tell: Callable[[], object]
        for name in FAULTS.values():
            self.counters[name] = 0
        self.orders = {"tare": StageCommand(self._answer_tare, self._obey_tare, takes=("seconds",))}

    def share_out(self, frame: ReceivedFrame, taken: bool) -> None:
        """Compute the wrench of the plates on each body that loads them, from the plate forces of a frame.

        taken : whether the frame has plate measurements
        """
        raise NotImplementedError

    def size_bearing(self) -> None:
        """Allocate the arrays in which `share_out` divides the load of the present plates among the bodies,
        and prepare the kernel that `report` calls.
        """
        raise NotImplementedError

    def bearing_of(self, bearer: int) -> np.ndarray:
        """Return the fraction of each plate's load that acts on a body, (n_plate,).

        bearer : index of the body among those that load plates
        """
        raise NotImplementedError

    def parts(self, plates: tuple[str, ...]) -> Quantity:
        """Return a quantity that states how the load of each plate is divided among the bodies that load
        plates.

        plates : names of the plates
        """
        raise NotImplementedError

    def bearer_with(self, markers: Collection[str], side: str) -> int:
        """Return the index, among the feet or bodies on which plates act, of the one that carries these
        markers; if none carries them, of the one on this side.
        """
        raise NotImplementedError

    def reset(self) -> None:
        """Forget the session of markers to whose times the samples of the plates refer, and discard the
        counts of faults.
        """
        super().reset()
        self.feed.part()

    @property
    def outdated(self) -> bool:
        """Whether the plates have changed since this stage declared its quantities, which then have other
        shapes."""
        return self.feed.n_session != self._n_session

    def begin(self, session: Session, anew: bool) -> None:
        """Use the plates of a session; allocate arrays if the session is new (anew) or its plates have
        changed."""
        self.feed.turn_to(session)
        if anew or self.outdated:
            self.size()

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the wrench of the plates on each body that loads them in this frame."""
        self.n_frame += 1
        status = self.feed.take(frame, self._force[0], self._moment[0])
        if status != TAKEN:
            name = FAULTS[status]
            self.count(name, f"{WORDS[name]}: forces and moments of such frames are NaN.")
        self._contacts()
        self._learn()
        self.share_out(frame, status == TAKEN)
        if status != TAKEN or not len(self._status):
            self.force[:] = self.moment[:] = math.nan
        return FINE if status == TAKEN else MISSED

    def report(self) -> None:
        """Publish the status of the plates, which bodies load each plate, and standard deviations."""
        self._tell()

    def noise_of(self, bearer: int) -> np.ndarray:
        """Return the covariance (6, 6) of the noise of the wrench of all plates on a body: moment about the
        ground origin [N m], then force [N].

        bearer : index of the body among those that load plates
        """
        parts = self.bearing_of(bearer) ** 2
        return np.asarray(np.tensordot(parts, self.noise.covariance, axes=1))

    def quantities(self) -> list[Quantity]:
        """Return the quantities of every plate, and of all bodies that load plates."""
        names = self.feed.names
        return [
            Quantity(name="plate_forces", array=self._force[0], unit="N", labels=names, parts=AXES,
                     frame=GROUND,
                     meaning="force of the force plate on the person; NaN = not measured",
                     deviation=self._told.deviation[:, 3:]),
            Quantity(name="plate_moments", array=self._moment[0], unit="N m", labels=names, parts=AXES,
                     frame=GROUND,
                     meaning="moment of plate_forces about the origin of ground",
                     deviation=self._told.deviation[:, :3]),
            Quantity(name="plate_centres", array=self._centre[0], unit="m", labels=names, parts=AXES,
                     frame=GROUND,
                     meaning="centre of pressure on the surface of the plate; NaN without contact"),
            Quantity("plate_free_moments", self._free[0], "N m", names,
                     meaning="free moment about the surface normal (up) through the centre of pressure"),
            self.parts(names),
            Quantity("plate_status", self._told.status, "1", names,
                     meaning="status of the plate, bits: 1 off_plate, 2 far, 4 two_feet, 8 changed, 16 "
                         "unseen, 32 unmeasured"),
            Quantity("plate_zeros", self._zeros, "N", names,
                     meaning="zero of the normal force that taring subtracts from the newest samples"),
            Quantity(name="foot_forces", array=self.force, unit="N", labels=self.bearers, parts=AXES,
                     frame=GROUND,
                     meaning="force of all force plates on each foot, or on the body that bears them; "
                         "NaN = not known",
                     deviation=self._told.foot_deviation[:, 3:]),
            Quantity(name="foot_moments", array=self.moment, unit="N m", labels=self.bearers, parts=AXES,
                     frame=GROUND,
                     meaning="moment of foot_forces about the origin of ground",
                     deviation=self._told.foot_deviation[:, :3]),
            Quantity("foot_loads", self._loads, "N", self.bearers,
                     curves=Curves("Feet", "vertical force", 1, 100.0),
                     meaning="vertical part of foot_forces", deviation=self._told.foot_deviation[:, 4]),
        ]  # fmt: skip

    def status_text(self) -> str:
        """Return the outcome of the last taring (zeroing) of the plates as text, for the command `status`;
        empty before the first.
        """
        intake = self.feed.intake
        return f"force plates: {intake.zero.told}" if intake is not None and intake.zero.told else ""

    def collect(self) -> tuple[Counter[str], list[str]]:
        """Return the counters and messages of this stage, and those on the samples of the force plates."""
        counters, told = super().collect()
        of_feed, said = self.feed.collect()
        return Counter({**of_feed, **counters}), [*told, *said]

    def size(self) -> None:
        """Allocate arrays and prepare kernels for the present plates."""
        self._n_session = self.feed.n_session
        intake, n, n_bearer = self.feed.intake, len(self.feed.names), len(self.bearers)
        self._plates = intake.plates if intake is not None else lay_out(np.empty((0, 4, 3)), np.empty(0))
        self._zeros = intake.zero.normal if intake is not None else np.empty(0)
        self._force, self._moment = np.full((1, n, 3), np.nan), np.full((1, n, 3), np.nan)
        self._centre, self._free = np.full((1, n, 3), np.nan), np.full((1, n), np.nan)
        self._loaded, self._status = np.zeros((1, n), np.int64), np.zeros(n, np.int64)
        self._told = new_told_plates(n, n_bearer)
        self._loads = self.force[:, 1]
        self.noise = PlateNoise(self._plates.centre, self._stated)
        force, moment = self._force[0], self._moment[0]
        of_contacts = (self._force, self._moment, THRESHOLD, self._centre, self._free, self._loaded)
        self._contacts = hold(contacts, (self._plates, *of_contacts))
        self._learn = hold(learn_plate_errors, (self._loaded[0], moment, force, self.noise.errors))
        self.size_bearing()

    def _answer_tare(self, args: Args) -> tuple[bool, str]:
        seconds = seconds_of(args)
        if not LEAST_TARE_S <= seconds <= MOST_TARE_S:
            return False, f"tare needs seconds = {LEAST_TARE_S:g} to {MOST_TARE_S:g}, {TARE_S:g} by default."
        if not self.feed.names:
            return False, "No stream of forces has arrived yet, so there are no plates to tare."
        return True, (
            f"The zero of {name_some(self.feed.names)} is measured during the next {seconds:g} s; nobody may "
            "be on these plates then. The telemetry and the command status report the outcome."
        )

    def _obey_tare(self, args: Args) -> bool:
        if self.feed.intake is not None:
            self.feed.intake.zero.begin(seconds_of(args))
        return False


def seconds_of(args: Args) -> float:
    """Read the duration of a taring from the arguments of the command `tare` [s]; NaN if they state no valid
    one.
    """
    said = args.get("seconds", TARE_S)
    try:
        return float(said) if isinstance(said, (str, int, float)) else math.nan
    except (ValueError, OverflowError):
        return math.nan
