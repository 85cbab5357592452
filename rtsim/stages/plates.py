"""Plates: what force plates apply to each foot, at the time of the frame."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection

import numpy as np

from kernels._jit import hold
from kernels.bearing import (
    FAR,
    OFF_PLATE,
    TWO_FEET,
    UNMEASURED,
    UNSEEN,
    assign_feet,
    foot_wrenches,
    new_bearing,
    new_rules,
)
from kernels.plate_errors import learn_plate_errors, new_told_plates, tell_plates
from kernels.plates import contacts
from kernels.resampling import TAKEN
from kernels.standing import may_stand
from rtsim.config.run_schema import Uncertainty
from rtsim.errors import ConfigError
from rtsim.files.force_tare import LEAST_TARE_S
from rtsim.files.force_trial import THRESHOLD, lay_out
from rtsim.files.trial import name_some
from rtsim.methods.force_feed import FAULTS, WORDS, ForceFeed
from rtsim.methods.plate_noise import PlateNoise
from rtsim.models.feet import PlacedFeet, find_feet
from rtsim.models.model import build
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.find import Setting
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import FINE, Args, Order, Outcome, Stage
from rtsim.subjects.foot_markers import FootMarkers
from rtsim.subjects.labs import SIDES, find_lab, load_lab
from rtsim.units import METRES
from streams.codec import FieldLayout
from streams.messages import Curves, Session, Status, force_session, marker_session
from streams.ring import Frame

FAULTY = {
    TWO_FEET: (
        "two_feet",
        "Two feet are on one force plate, or it did not count all of its sensors: what each of them bears "
        "cannot be told.",
    ),
    FAR: (
        "plate_far",
        "A force plate is pressed where no foot is: are plates swapped, clocks apart, or not all of its "
        "sensors counted?",
    ),
    UNSEEN: ("foot_unseen", "A foot without markers may be on a force plate."),
    UNMEASURED: ("plate_unmeasured", "A force plate was not measured."),
    OFF_PLATE: ("off_plate", "A force plate is pressed beside its surface: check its corners."),
}
"""Bit of the status of a plate -> what it is counted as, and what is told."""
ELSEWHERE = (
    "The {side} foot may stand beside the plates: its force is not known. Where nothing but plates is stood "
    "on, say so by plates.bear_all."
)


TARE_S = 2.0
MOST_TARE_S = 60.0
"""How long samples are gathered for the zero of the plates, usually and at most [s]."""


class FootLoads(Stage):
    """Contacts of all plates, which foot bears which, and the wrench on each foot.

    A foot on no plate that is low and slow for some frames on end, and not above an empty plate, may stand on
    the floor: its wrench is NaN, unless the plates are known to bear all there is.

    Attributes
    ----------
    placed : the feet of a model that brings its own markers; None where markers of a laboratory tell them
    force, moment : (2, 3) - on the right and the left foot, about the ground origin [N], [N m]; NaN = unknown
    """

    needs = ("kinematics",)

    def __init__(
        self,
        kinematics: Kinematics,
        feed: ForceFeed,
        lab: str = "",
        bear_all: bool = False,
        placed: PlacedFeet | None = None,
        stated: Uncertainty | None = None,
    ) -> None:
        super().__init__()
        self._stated = stated or Uncertainty()
        self.kinematics, self.feed, self._lab, self._bear_all = kinematics, feed, lab, bear_all
        self.placed = placed
        self.force, self.moment = np.full((2, 3), np.nan), np.full((2, 3), np.nan)
        self._former = np.full((2, 2, 3), np.nan)
        self._n_standing = [0, 0]
        self._named = True  # which markers are on the feet, or which bodies are
        self._labelled: FootMarkers | None = None
        self._n_session = -1
        for name in (*FAULTS.values(), *(name for name, _ in FAULTY.values()), "foot_elsewhere"):
            self.counters[name] = 0
        self.orders = {"tare": Order(self._answer_tare, self._obey_tare, takes=("seconds",))}
        self._size()

    def warm(self) -> None:
        """Plates that come later, too."""
        call_plates()

    def call(self) -> None:
        """Every kernel of its own once, of plates without forces."""
        feet = np.zeros((2, 2, 3))
        for kernel in (self._contacts, self._learn, self._wrenches, self._tell):
            kernel()
        self._assign(feet, 0.0)
        self._may_stand(feet, 0.0)
        FootMarkers(("heel",), None, 1.0, False).take(np.zeros((1, 3)))

    def reset(self) -> None:
        """Neither markers nor faults."""
        super().reset()
        self.feed.part()

    @property
    def outdated(self) -> bool:
        """Whether other plates have come."""
        return self.feed.n_session != self._n_session

    def foot_with(self, markers: Collection[str], side: str) -> int:
        """The foot that has these markers, by its labels; that of the side, where none has."""
        own = SIDES.index(side)
        return self._labelled.bearing(markers, own) if self._labelled is not None else own

    def begin(self, session: Session, anew: bool) -> None:
        """The feet among the markers of a session, and the plates there are."""
        self.feed.turn_to(session)
        if anew:
            if self.placed is None:
                self._find_feet(session)
            self._tell_unknown()
            self._former[:] = np.nan
            self._n_standing = [0, 0]
        if anew or self.outdated:
            self._size()

    def run(self, frame: Frame) -> Outcome:
        """The wrench on each foot."""
        self.n_frame += 1
        status = self.feed.take(frame, self._force[0], self._moment[0])
        if status != TAKEN:
            name = FAULTS[status]
            self.count(name, f"{WORDS[name]}: forces and moments of such frames are NaN.")
        feet = self._lines(frame)
        self._contacts()
        self._learn()
        dt = self.kinematics.dt
        n_odd = self._assign(feet, dt)
        self._wrenches()
        if n_odd and status == TAKEN:
            self._name_faults()
        if status != TAKEN or not len(self._status):
            self.force[:] = self.moment[:] = math.nan
        elif not self._bear_all:
            self._doubt(feet, dt)
        self._former[:] = feet
        return FINE if status == TAKEN else MISSED

    def report(self) -> None:
        """Status words and bearers as numbers, and deviations."""
        self._tell()

    def plane_under(self, foot: int) -> tuple[np.ndarray, np.ndarray] | None:
        """A point and the normal (3,) of the plate that a foot bears, of two the one it bears more; None."""
        borne = np.flatnonzero(self._share[:, foot] == 1)
        if not len(borne):
            return None
        plate = int(borne[np.argmax(self._force[0, borne, 1])])
        return self._plates.centre[plate], self._plates.axes[plate, 2]

    def noise_of(self, foot: int) -> np.ndarray:
        """(6, 6) - covariance of the noise of the wrench on a foot, of all plates that it bears [N m, N]."""
        borne = self._share[:, foot] == 1
        return np.asarray(self.noise.covariance[borne].sum(axis=0))

    def quantities(self) -> list[Quantity]:
        """Of every plate, and of both feet."""
        names = self.feed.names
        return [
            Quantity("plate_forces", self._force[0], "N", names, AXES, GROUND,
                     meaning="force of the plate on the person; NaN = not measured",
                     deviation=self._told.deviation[:, 3:]),
            Quantity("plate_moments", self._moment[0], "N m", names, AXES, GROUND,
                     meaning="its moment about the origin of ground", deviation=self._told.deviation[:, :3]),
            Quantity("plate_centres", self._centre[0], "m", names, AXES, GROUND,
                     meaning="centre of pressure on the surface; NaN without contact"),
            Quantity("plate_free_moments", self._free[0], "N m", names,
                     meaning="about the surface's normal (up) through the centre of pressure"),
            Quantity("plate_shares", self._told.share, "1", names, SIDES,
                     meaning="0 = the foot does not bear the plate, 1 = it does, 2 = it may"),
            Quantity("plate_status", self._told.status, "1", names,
                     meaning="bits: 1 off_plate, 2 far, 4 two_feet, 8 changed, 16 unseen, 32 unmeasured"),
            Quantity("plate_zeros", self._zeros, "N", names,
                     meaning="normal force that taring has taken off the newest samples"),
            Quantity("foot_forces", self.force, "N", SIDES, AXES, GROUND,
                     curves=None, meaning="of all plates on each foot; NaN = not known",
                     deviation=self._told.foot_deviation[:, 3:]),
            Quantity("foot_moments", self.moment, "N m", SIDES, AXES, GROUND,
                     meaning="their moment about the origin of ground",
                     deviation=self._told.foot_deviation[:, :3]),
            Quantity("foot_loads", self._loads, "N", SIDES, curves=Curves("Feet", "vertical force", 1, 100.0),
                     meaning="vertical part of foot_forces", deviation=self._told.foot_deviation[:, 4]),
        ]  # fmt: skip

    def status_text(self) -> str:
        """What came of the last taring."""
        intake = self.feed.intake
        return f"force plates: {intake.zero.told}" if intake is not None and intake.zero.told else ""

    def collect(self) -> tuple[Counter[str], list[str]]:
        """Its own counters and those of the samples."""
        counters, told = super().collect()
        of_feed, said = self.feed.collect()
        return Counter({**of_feed, **counters}), [*told, *said]

    def _find_feet(self, session: Session) -> None:
        field = next((f for f in session.fields if f.name == "positions"), None)
        labels = tuple(field.labels) if field is not None else ()
        lab = None
        try:
            lab = load_lab(self._lab) if self._lab else find_lab((*labels, *self._unseen(labels)))
        except ConfigError as fault:
            self.sentences.append(f"Which markers are on the feet is not known: {fault}")
        unit = field.unit if field is not None else "m"
        up = session.meta.get("up")
        self._labelled = FootMarkers(labels, lab, METRES.get(unit, 1.0), up in ("Z", "z"))
        self._named = lab is not None

    def _lines(self, frame: Frame) -> np.ndarray:
        """(2, 2, 3) - heel and tip of the toes of both feet in a frame [m]; NaN = not seen."""
        door = self.kinematics.door
        if self.placed is not None:
            if door is None or not self.kinematics.admitted:
                return self.placed.lost()
            return self.placed.at(*self.kinematics.estimator.pose, door.measured)
        assert self._labelled is not None
        usable = door is not None and door.usable
        return self._labelled.take(frame.data["positions"]) if usable else self._labelled.lines

    def _tell_unknown(self) -> None:
        for side, known in zip(SIDES, self._known, strict=True):
            if self._named and not known:
                lacks = "No markers of" if self.placed is None else "The model has not"
                self.sentences.append(f"{lacks} the {side} foot: plates that it may bear are not used.")

    def _unseen(self, labels: Collection[str]) -> list[str]:
        """Markers of the person that a stream does not have: by them the laboratory is known all the same."""
        subject = self.kinematics.subject
        return [name for name in subject.marker_names if name not in labels] if subject is not None else []

    def _size(self) -> None:
        """Arrays for the plates at hand."""
        self._n_session = self.feed.n_session
        intake, n = self.feed.intake, len(self.feed.names)
        self._plates = intake.plates if intake is not None else lay_out(np.empty((0, 4, 3)), np.empty(0))
        self._zeros = intake.zero.normal if intake is not None else np.empty(0)
        self._force, self._moment = np.full((1, n, 3), np.nan), np.full((1, n, 3), np.nan)
        self._centre, self._free = np.full((1, n, 3), np.nan), np.full((1, n), np.nan)
        self._loaded, self._share = np.zeros((1, n), np.int64), np.zeros((n, 2), np.int64)
        self._status, self._state, self._rules = np.zeros(n, np.int64), new_bearing(n, 2), new_rules()
        self._told = new_told_plates(n)
        self._loads = self.force[:, 1]
        self.noise = PlateNoise(self._plates.centre, self._stated)
        self._floor = float(self._plates.centre[:, 1].min()) if n else 0.0
        self._stands = np.zeros(2, np.int64)
        self._hold()

    def _hold(self) -> None:
        """The kernels, with their arguments in place."""
        feet, force, moment = np.zeros((2, 2, 3)), self._force[0], self._moment[0]
        loaded, errors = self._loaded[0], self.noise.errors
        of_contacts = (self._force, self._moment, THRESHOLD, self._centre, self._free, self._loaded)
        self._contacts = hold(contacts, (self._plates, *of_contacts))
        self._learn = hold(learn_plate_errors, (loaded, moment, force, errors))
        self._assign = hold(
            assign_feet,
            (
                self._plates, force, self._centre[0], loaded, feet, 0.0, self._rules, self._state,
                self._share, self._status,
            ),
            given=(4, 5),
        )  # fmt: skip
        self._wrenches = hold(foot_wrenches, (self._share, force, moment, self.force, self.moment))
        self._tell = hold(
            tell_plates, (self._status, self._share, force, self.force, self.noise.off, errors, self._told)
        )
        self._may_stand = hold(
            may_stand,
            (
                self._plates, loaded, self._share, feet, self._former, 0.0, self._floor, self._rules,
                self._stands,
            ),
            given=(3, 5),
        )  # fmt: skip

    def _answer_tare(self, args: Args) -> tuple[bool, str]:
        seconds = seconds_of(args)
        if not LEAST_TARE_S <= seconds <= MOST_TARE_S:
            return False, f"tare takes seconds = {LEAST_TARE_S:g} to {MOST_TARE_S:g}; default {TARE_S:g}."
        if not self.feed.names:
            return False, "No stream of forces has come yet: there are no plates to tare."
        return True, (
            f"The zero of {name_some(self.feed.names)} is gathered from the next {seconds:g} s, in which "
            "nobody may be on them. The telemetry, and the command status, tell what came of it."
        )

    def _obey_tare(self, args: Args) -> bool:
        if self.feed.intake is not None:
            self.feed.intake.zero.begin(seconds_of(args))
        return False

    def _name_faults(self) -> None:
        for bit, (name, sentence) in FAULTY.items():
            if (self._status & bit).any():
                self.count(name, sentence)

    def _doubt(self, feet: np.ndarray, dt: float) -> None:
        """NaN for feet that bear no plate and may stand on the floor, or are not seen."""
        self._may_stand(feet, dt)
        for f, side in enumerate(SIDES):
            if not self._stands[f]:
                self._n_standing[f] = 0
                continue
            self._n_standing[f] += 1
            if self._n_standing[f] < self._rules.patience:
                continue
            self.force[f] = self.moment[f] = math.nan
            if self._known[f]:
                self.count("foot_elsewhere", ELSEWHERE.format(side=side))

    @property
    def _known(self) -> tuple[bool, ...]:
        """Whether it is known where the right and the left foot are."""
        feet = self.placed or self._labelled
        return feet.known if feet is not None else (False, False)


MISSED = Outcome(Status.DEGRADED)


def seconds_of(args: Args) -> float:
    """How long to gather, of the arguments of `tare` [s]; NaN where they do not tell it."""
    said = args.get("seconds", TARE_S)
    try:
        return float(said) if isinstance(said, (str, int, float)) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def call_plates() -> None:
    """Call every kernel of the plates once."""
    feed = ForceFeed()
    markers = marker_session(("heel",), rate=100.0, t_start=0)
    forces = force_session(("plate",), 1, rate=100.0, sample_rate=100.0, t_start=0)
    message, frame = Frame(forces, FieldLayout(forces)), Frame(markers, FieldLayout(markers))
    for array in message.data.values():
        array[...] = 0.0
    feed.turn_to(markers)
    feed.admit(message)
    feed.take(frame, np.zeros((1, 3)), np.zeros((1, 3)))
    FootLoads(None, feed).call()  # type: ignore[arg-type]


def make(setting: Setting) -> FootLoads | None:
    """The force plates of a run that has some."""
    kinematics = setting.before.get("kinematics")
    if setting.forces is None or not isinstance(kinematics, Kinematics):
        return None
    run, placed = setting.run, None
    if setting.subject is None:
        feet = find_feet(build(setting.spec), run.plates.feet)
        placed = PlacedFeet(feet, kinematics.estimator.model.markers.body)
    return FootLoads(kinematics, setting.forces, run.lab, run.plates.bear_all, placed, run.uncertainty)
