"""Force plates: the wrench on each foot at the time of the frame."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from kernels.compiler.jit import hold
from kernels.plates.plate_assignment import (
    BEARS,
    FAR,
    OFF_PLATE,
    TWO_FEET,
    UNMEASURED,
    UNSEEN,
    assign_feet,
    foot_wrenches,
    new_plate_assignment,
    new_rules,
)
from kernels.plates.plate_errors import tell_plates
from kernels.plates.standing import may_stand
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.errors import ConfigError
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.feet import PlacedFeet, find_feet
from rtsim.models.model import build
from rtsim.quantity import Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import FORCES, WHOLE_BODY, StageDeclaration
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.loads.applied_loads import AppliedLoads
from rtsim.stages.loads.belt import Belt
from rtsim.stages.loads.stated_loads import StatedLoads
from rtsim.subjects.feet.foot_markers import FootMarkers
from rtsim.subjects.markers.labs import SIDES, lab_of
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.subject import segments_of
from rtsim.units import METRES
from streams.codec import FieldLayout
from streams.messages import Session, force_session, marker_session
from streams.receiving.ring import ReceivedFrame

FAULTY = {
    TWO_FEET: (
        "two_feet",
        "Two feet are on one force plate, or signals of its sensors are missing: the load of each foot "
        "is unknown.",
    ),
    FAR: (
        "plate_far",
        "The centre of pressure of a force plate is where no foot is: are plates exchanged, the clocks "
        "different, or signals of its sensors missing?",
    ),
    UNSEEN: ("foot_unseen", "A foot without markers may be on a force plate."),
    UNMEASURED: ("plate_unmeasured", "The signals of a force plate are missing."),
    OFF_PLATE: (
        "off_plate",
        "The centre of pressure of a force plate is outside its surface: check its corners.",
    ),
}
"""Status bit of a plate -> name of its counter, and message."""
ELSEWHERE = (
    "The {side} foot may stand beside the plates, on the floor, so the force on it is not known. If only the "
    "plates were stepped on, set bear_all = true in the table [plates] of the run."
)


class FootLoads(AppliedLoads):
    """Determines which foot loads which plate, and the wrench on each foot.

    A foot may stand on the floor beside the plates if, for some successive frames, it is low and slow, loads
    no plate, and is not above an empty one. Its wrench is then NaN, unless the run states that the person
    stepped on the plates only.

    Attributes
    ----------
    placed : the feet of a model that brings its own markers; None for a person, whose feet are found by the
        names of the markers
    """

    def __init__(
        self,
        kinematics: Kinematics,
        feed: ForceFeed,
        lab: str = "",
        bear_all: bool = False,
        placed: PlacedFeet | None = None,
        stated: Uncertainty | None = None,
    ) -> None:
        super().__init__(kinematics, feed, SIDES, stated)
        self._lab, self._bear_all, self.placed = lab, bear_all, placed
        if placed is not None:
            self.pressed = tuple((foot.bodies[0], foot.side) for foot in placed.feet)
        self._former = np.full((2, 2, 3), np.nan)
        self._n_standing = [0, 0]
        self._belt = Belt()
        self._named = True  # which markers are on the feet, or which bodies are
        self._labelled: FootMarkers | None = None
        self._rows = np.zeros(0, np.int64)  # of the markers of the model among these labels, -1 = none
        for name in (*(name for name, _ in FAULTY.values()), "foot_elsewhere"):
            self.counters[name] = 0
        self.size()

    def warm(self) -> None:
        """Compile the kernels also for plates that appear later."""
        call_plates()

    def call(self) -> None:
        """Call each kernel of this stage once, for plates without forces."""
        feet = np.zeros((2, 2, 3))
        for kernel in (self._contacts, self._learn, self._wrenches, self._tell):
            kernel()
        self._assign(feet, 0.0)
        self._may_stand(feet, 0.0)
        FootMarkers(("heel",), None, 1.0, False).take(np.zeros((1, 3)))

    def bearer_with(self, markers: Collection[str], side: str) -> int:
        """Return the index of the foot that carries these markers, or else of the foot on that side."""
        own = SIDES.index(side)
        return self._labelled.bearing(markers, own) if self._labelled is not None else own

    def bearing_of(self, bearer: int) -> np.ndarray:
        """Return for each plate 1 if this foot loads it, else 0."""
        return np.asarray(self._share[:, bearer] == BEARS, float)

    def parts(self, plates: tuple[str, ...]) -> Quantity:
        """Return a quantity that states for each plate and foot: 0 = the foot does not load the plate, 1 = it
        loads it, 2 = it might load it.
        """
        return Quantity(
            "plate_shares", self._told.share, "1", plates, SIDES,
            meaning="0 = the foot does not load the plate, 1 = the foot loads it, 2 = the foot might load it",
        )  # fmt: skip

    def begin(self, session: Session, anew: bool) -> None:
        """Find the feet among the markers of a session, and the plates of the session."""
        if anew:
            if self.placed is None:
                self._find_feet(session)
            self._tell_unknown()
            self._former[:] = np.nan
            self._n_standing = [0, 0]
            self._belt.forget()
        super().begin(session, anew)

    def share_out(self, frame: ReceivedFrame, taken: bool) -> None:
        """Assign plates to feet by the feet's positions, and write the wrench on each foot. A plate without a
        plausible foot at its centre of pressure is marked as faulty."""
        feet, dt = self._lines(frame), self.kinematics.dt
        n_odd = self._assign(feet, dt)
        self._wrenches()
        if n_odd and taken:
            self._name_faults()
        if taken and len(self._status) and not self._bear_all:
            bears, low = (self._share == BEARS).any(axis=0), self._floor + self._rules.low
            self._belt.take(feet, self._former, dt, bears, low)
            self._doubt(feet, dt)
        self._former[:] = feet

    def plane_under(self, foot: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the centre and the normal (3,) of the plate that a foot loads; if it loads several, of the
        one with the largest vertical force; None if it loads none.
        """
        borne = np.flatnonzero(self._share[:, foot] == BEARS)
        if not len(borne):
            return None
        plate = int(borne[np.argmax(self._force[0, borne, 1])])
        return self._plates.centre[plate], self._plates.axes[plate, 2]

    def _find_feet(self, session: Session) -> None:
        field = next((f for f in session.fields if f.name == "positions"), None)
        marker_input = self.kinematics.marker_input
        labels = (
            marker_input.labels
            if marker_input is not None
            else tuple(field.labels)
            if field is not None
            else ()
        )
        lab = None
        try:
            lab = lab_of(self._lab, (*labels, *self._unseen(labels)))
        except ConfigError as fault:
            self.sentences.append(f"It is not known which markers are on the feet: {fault}")
        unit = field.unit if field is not None else "m"
        up = session.meta.get("up")
        whose = self.kinematics.subject
        scale, z_up = METRES.get(unit, 1.0), up in ("Z", "z")
        if marker_input is not None and marker_input.gives_names:  # feet are among the markers named there
            labels, scale, z_up = marker_input.names, 1.0, False
        self._labelled = FootMarkers(labels, lab, scale, z_up, whose)
        self._named = lab is not None
        names = marker_input.names if marker_input is not None else ()
        index = find_markers(names, labels)
        self._rows = np.array([index.get(name, -1) for name in names], np.int64)

    def _lines(self, frame: ReceivedFrame) -> np.ndarray:
        """Return heel and tip of the toes of both feet in a frame, (2, 2, 3) [m]; NaN = not seen."""
        marker_input = self.kinematics.marker_input
        if self.placed is not None:
            if marker_input is None or not self.kinematics.admitted:
                return self.placed.lost()
            return self.placed.at(*self.kinematics.estimator.pose, marker_input.measured)
        assert self._labelled is not None
        if marker_input is None or not marker_input.usable:
            return self._labelled.lines
        named = marker_input.gives_names
        return self._labelled.take(
            self._as_used(marker_input.in_ground() if named else frame.data["positions"])
        )

    def _as_used(self, positions: np.ndarray) -> np.ndarray:
        """Return the markers of a frame with exchanged labels put right as the kinematics does it; NaN where
        it leaves them out. So a plate loads the foot that stands on it in the pose. Other markers that the
        kinematics leaves out stay: one that is astray still shows which foot it is on.

        positions : (n_label, 3) markers by the labels of the stream; not changed
        """
        kinematics, rows = self.kinematics, self._rows
        if not kinematics.admitted or kinematics.marker_input is None:
            return positions
        health, labelled = kinematics.estimator.health, kinematics.measured
        elsewhere = (health.swap_with >= 0) & (rows >= 0)  # markers at the place of another one
        if not elsewhere.any():
            return positions
        left_out, at = elsewhere & (health.weight == 0.0), np.flatnonzero(elsewhere)
        other = health.swap_with[at]
        put_right = (labelled[other] == kinematics.marker_input.measured[at]).all(axis=1) & (rows[other] >= 0)
        if not (left_out.any() or put_right.any()):
            return positions
        used = positions.copy()
        used[rows[other[put_right]]] = positions[rows[at[put_right]]]
        used[rows[left_out]] = math.nan
        return used

    def _tell_unknown(self) -> None:
        for side, known in zip(SIDES, self._known, strict=True):
            if self._named and not known:
                lacks = "There are no markers of" if self.placed is None else "The model lacks"
                self.sentences.append(
                    f"{lacks} the {side} foot: forces of plates on which this foot may stand are not used."
                )

    def _unseen(self, labels: Collection[str]) -> list[str]:
        """Return the names of the subject's tracked markers that are not among the labels of a stream. The
        feet are looked for with these names, too, as the marker map is recognised by all names together.
        """
        segments = segments_of(self.kinematics.subject).values()
        return [name for segment in segments for name in segment.markers_mm if name not in labels]

    def size_bearing(self) -> None:
        """Allocate the arrays for the feet."""
        n, force, moment = len(self._status), self._force[0], self._moment[0]
        self._share, self._state, self._rules = (
            np.zeros((n, 2), np.int64),
            new_plate_assignment(n, 2),
            new_rules(),
        )
        self._floor = float(self._plates.centre[:, 1].min()) if n else 0.0
        self._stands = np.zeros(2, np.int64)
        feet, loaded, errors = np.zeros((2, 2, 3)), self._loaded[0], self.noise.errors
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

    def _name_faults(self) -> None:
        for bit, (name, sentence) in FAULTY.items():
            if (self._status & bit).any():
                self.count(name, sentence)

    def _doubt(self, feet: np.ndarray, dt: float) -> None:
        """Set the loads to NaN for feet that bear no plate and may stand on the floor or a belt, or are not
        seen.

        feet : (2, 2, 3) heel and tip of the toes of both feet [m]; dt : time since the previous frame [s]
        """
        self._may_stand(feet, dt)
        stands = self._stands.tolist()
        if self._belt.moves:  # against which a foot that stands is at rest
            self._former += dt * self._belt.velocity
            self._may_stand(feet, dt)
            stands = [a or b for a, b in zip(stands, self._stands.tolist(), strict=True)]
        for f, side in enumerate(SIDES):
            if not stands[f]:
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
        """Whether the positions of the right and the left foot are known."""
        feet = self.placed or self._labelled
        return feet.known if feet is not None else (False, False)


def call_plates() -> None:
    """Call every kernel of the plates once."""
    feed = ForceFeed()
    markers = marker_session(("heel",), rate=100.0, t_start=0)
    forces = force_session(("plate",), 1, rate=100.0, sample_rate=100.0, t_start=0)
    message, frame = ReceivedFrame(forces, FieldLayout(forces)), ReceivedFrame(markers, FieldLayout(markers))
    for array in message.data.values():
        array[...] = 0.0
    feed.turn_to(markers)
    feed.admit(message)
    feed.take(frame, np.zeros((1, 3)), np.zeros((1, 3)))
    FootLoads(None, feed).call()  # type: ignore[arg-type]
    StatedLoads(None, feed, {"plate": {"body": 1.0}}, ("body",)).call()  # type: ignore[arg-type]


def make(setting: StageContext) -> AppliedLoads:
    """Return the stage for the force plates of the run: with bodies that the run states, or with feet that
    are found.
    """
    kinematics, run, placed = setting.stage(Kinematics), setting.run, None
    assert setting.forces is not None
    if run.plates.borne_by:
        bodies = kinematics.estimator.model.names.bodies
        return StatedLoads(kinematics, setting.forces, run.plates.borne_by, bodies, run.uncertainty)
    if setting.subject is None:
        feet = find_feet(build(setting.spec), run.plates.feet)
        placed = PlacedFeet(feet, kinematics.estimator.model.markers.body)
    return FootLoads(
        kinematics=kinematics,
        feed=setting.forces,
        lab=run.lab,
        bear_all=run.plates.bear_all,
        placed=placed,
        stated=run.uncertainty,
    )


STAGE = StageDeclaration(
    make=make, needs=("kinematics",), inputs=(FORCES,), usual=(FORCES,), order=50, spared=(WHOLE_BODY,),
    kernels={"forces": ()},
)  # fmt: skip
"""Stage of the plates. It may be missing if the ground reaction is computed from the motion of the whole
body, with which plates are then only compared."""
