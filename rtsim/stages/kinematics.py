"""Kinematics: from the markers of a frame to the pose, by multi-body optimisation."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.kinematics.choice import followed_by, method_of, methods_of
from rtsim.methods.kinematics.multibody import NO_FRAME, MultibodyEstimator, Solution
from rtsim.models.tracked import tracked_of
from rtsim.quantity import Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import OWN_MARKERS, PERSON, StageDeclaration
from rtsim.stages.markers.identity import OTHER_PERSON, WHOSE, identity_of
from rtsim.stages.markers.marker_faults import faults_in_words
from rtsim.stages.markers.marker_input import MarkerInput, known_labels
from rtsim.stages.markers.missing_root import angles_of_trunk, beside_missing_root, is_trunk_apart
from rtsim.stages.markers.odd_segments import OddSegments
from rtsim.stages.markers.reference_length import reference_length_of
from rtsim.stages.markers.unnamed_markers import unnamed_markers
from rtsim.stages.poses.angle_ranges import AngleRanges
from rtsim.stages.poses.frame_steps import FrameSteps
from rtsim.stages.poses.joint_status import JointStatus
from rtsim.stages.poses.kinematic_results import KinematicResults
from rtsim.stages.poses.observability_check import unobservable_angles
from rtsim.stages.poses.pose_steps import POSE_STEPPED, PoseSteps, some_of
from rtsim.stages.poses.solution_status import status_of
from rtsim.stages.poses.stick import figure_of
from rtsim.stages.stage import Args, Stage, StageCommand, StageOutcome
from rtsim.subjects.calibration.trunk import TRUNK
from rtsim.subjects.subject import Subject, segments_of
from streams.account import plain
from streams.messages import Session, Status
from streams.receiving.ring import ReceivedFrame

Array = NDArray[np.float64]

STIR_M = 1e-5
"""Displacement of the markers from one synthetic frame to the next [m]."""
HELD, UNSEEN_TRUNK, VAGUE = "held_frames", "trunk_unseen", "uncertain_frames"
BEYOND = "implausible_frames"
HELD_AT_END, PASSED, LARGE_RMS = "held_at_end_frames", "beyond_clamp_frames", "large_residual_frames"
MOST_RMS, MOST_PART = 0.04, 0.05
"""Marker RMS above which a run is reported: [m], and relative to `reference_length`; usual are 5 to 30 mm."""
FEWEST_FRAMES = 10
"""Least number of frames from which the marker RMS of a run is judged."""
TRUNK_LOST = "Too few markers determine the trunk: its results and the residual are NaN, others continue."
STAYS = "Too few markers determine {}: it stays near its last pose and is degraded."
LONGEST_METHOD = 64
"""Length of a method's name that is shown when there is none of that name [characters]."""
SWITCHES = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


class Kinematics(Stage):
    """The pose of a subject, or of a model with markers of its own, from the markers of a stream.

    Attributes
    ----------
    estimator, marker_input : the solver, and the marker input of the present session
    person : the person whose markers are used, if a stream has several; "" = none is requested
    dt : time since the previous frame [s], 0 if the stream does not state it
    identity, odd : check for another person in the stream; check for segments with implausible markers
    pose_steps : check for jumps of joints when a marker returns or is left out
    admitted : whether the newest frame can be of a person, so that it was passed to the solver
    status : status of the newest frame
    solved : whether its pose is a solution; false if the solver gave up
    measured : (n_marker, 3) markers of the newest frame, with exchanged labels corrected, NaN = not seen [m]
    by_joint : status of each joint and segment in the newest frame
    unknown : (3 n_joint,) bool, angles that are NaN: those at a root without markers in the stream, and
        those of a trunk that the present frame does not determine
    lost : (n_body,) bool, segments whose pose is NaN: a trunk that the present frame does not determine
    """

    rehearses = True

    def __init__(
        self, estimator: MultibodyEstimator, subject: Subject | None, person: str = "", unnamed: bool = False
    ) -> None:
        super().__init__()
        self.estimator, self.subject, self.person = estimator, subject, person
        tracked = tracked_of(estimator.model, subject)
        self.unnamed = unnamed_markers(tracked, estimator.model.names.markers) if unnamed else None
        self.rehearses = not unnamed  # a search takes longer than there is for practice
        self.reference_length = reference_length_of(estimator, subject)
        self.marker_input: MarkerInput | None = None
        self.identity = identity_of(estimator.model)
        self.odd = OddSegments(estimator, tracked)
        self.pose_steps = PoseSteps(estimator)
        self.unknown = self.lost = np.zeros(0, bool)
        self.measured = np.zeros((0, 3))
        self.dt = 0.0
        self.status = Status.OK
        self.admitted = self.solved = False
        self._former: Counter[str] = Counter()  # of the doors of former sessions
        self._steps = FrameSteps()
        self._square_sum, self._n_square = 0.0, 0
        self._unseen = self._of_trunk = np.zeros(0, bool)
        self._trunk_apart = False
        self._ranges = AngleRanges(estimator)
        self.by_joint = JointStatus(estimator.model)
        self._vague: list[int] = []
        size = self.reference_length.size
        self._most_rms = min(MOST_RMS, MOST_PART * size) if size > 0.0 else MOST_RMS
        self._beforehand: dict[str, str] = {}
        self.orders = {
            "set_method": StageCommand(self._answer_method, self._obey_method, takes=("method",)),
            "set_downweighting": StageCommand(
                self._answer_downweighting, self._obey_downweighting, takes=("on",)
            ),
        }

    def warm(self) -> None:
        """Run a few synthetic frames through every method: the subject's markers in the neutral pose, with
        one of them occluded at the end.
        """
        estimator, chosen = self.estimator, self.estimator.method
        for method in estimator.methods:
            estimator.switch(method)
            estimator.estimate(np.full((len(estimator.model.names.markers), 3), np.nan), 0.0)
            markers = estimator.outputs.markers.copy()
            estimator.restart()
            for last in (False, False, False, False, True):
                markers[:] += STIR_M  # else it would be the frame before, sent again
                if last:
                    markers[0] = np.nan
                estimator.deviate(0.01, estimator.estimate(markers, 0.01))
        estimator.switch(chosen)
        estimator.restart()

    def reset(self) -> None:
        """Discard the stream, the pose and the history of the markers."""
        super().reset()
        self.estimator.restart()
        self.identity.forget()
        self.odd.forget()
        self.pose_steps.forget()
        self.marker_input, self._former = None, Counter()
        self._square_sum, self._n_square = 0.0, 0

    def begin(self, session: Session, anew: bool) -> None:
        """In a new input session (anew), create its marker input; discard the pose and the marker history."""
        if not anew and self.marker_input is not None:
            return
        if self.marker_input is not None:
            self._former.update(self.marker_input.counters)
            self.sentences += self.marker_input.sentences
        self.estimator.restart()
        self.identity.forget()
        self.odd.forget()
        self.pose_steps.forget()
        self.marker_input = MarkerInput(
            self.reference_length, session, self.person, known_labels(self.subject), self.unnamed
        )
        absent = self.marker_input.absent if self.marker_input.usable else frozenset()
        self._unseen, said = beside_missing_root(self.estimator.model, segments_of(self.subject), absent)
        self.sentences += said
        self.unknown, self.lost = self._unseen.copy(), np.zeros(len(self.estimator.model.names.bodies), bool)
        self._of_trunk = angles_of_trunk(self.estimator.model)
        self._trunk_apart = is_trunk_apart(self.estimator.model)
        self._beforehand = unobservable_angles(self.estimator, absent, self._unseen)
        self._warn()
        self._steps.forget()

    def _warn(self) -> None:
        """Report which results the method in use leaves uncertain in every frame."""
        if self.estimator.method in self._beforehand:
            self.sentences.append(self._beforehand[self.estimator.method])

    def follow(self, other: Kinematics) -> bool:
        """Copy the method, and the settings for faulty markers, from another kinematics stage."""
        own, others = self.estimator, other.estimator
        own.set_downweighting(others.downweights)
        changed = own.method != others.method
        if changed:
            own.switch(others.method)
        return changed

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Solve one frame; never raises for bad data, as the status states what is wrong with it."""
        assert self.marker_input is not None
        self.dt = self._steps.take(frame.time)
        waited = 1e-9 * max(0, frame.t_taken - frame.t_arrived)
        measured, plausible = self.marker_input.admit(frame.data, self.dt, waited)
        self.admitted, self.measured = plausible, measured
        self.estimator.aim(frame.time)
        since, self._vague = self.dt + self.estimator.waited, []
        step = self._steps.since_used(plausible)
        solution = self.estimator.estimate(measured, step) if plausible else NO_FRAME
        self.solved = plausible and solution.converged
        rms = float(self.estimator.outputs.rms[0])
        self.n_frame += 1
        lost = bool(solution.n_open) and TRUNK in self.estimator.held_bodies
        if lost != self.lost.any():
            self.lost[:] = lost & self.by_joint.is_trunk
            np.logical_or(self._unseen, lost & self._of_trunk, out=self.unknown)
        if lost and self._trunk_apart:
            self.count(UNSEEN_TRUNK, TRUNK_LOST)
        if lost and self._trunk_apart and self.estimator.held_bodies == [TRUNK]:
            solution = solution._replace(n_open=0)
        elif solution.n_open and self.n_frame >= self._tell_at.get(HELD, 0):
            self.count(HELD, STAYS.format(", ".join(self.estimator.held_bodies)))
        elif solution.n_open:
            self.counters[HELD] += 1
        if plausible:
            self.measured = self.estimator.health.labelled
        if solution.n_fault or solution.n_swap:
            for kind, sentence in faults_in_words(self.estimator.health, self.estimator.model.names.markers):
                self.count(kind, sentence)
        if plausible and rms == rms:
            self._square_sum += rms * rms
            self._n_square += 1
            self._judge_fit()
        status = status_of(solution, plausible)
        if self._deviate(solution, since):
            status |= Status.UNCERTAIN
        if self._is_beyond(plausible):
            status |= Status.IMPLAUSIBLE
        near_last = self.estimator.held_bodies if solution.n_open else []
        found = self.estimator.deviations
        unusual = found.unusual(self._vague) if found is not None else []
        health, beyond = self.estimator.health, self._ranges.outside
        new = self.solved and not solution.sent_again
        odd = self.odd.look(self.estimator.pose[1], self.dt, new) and plausible
        for kind, sentence in self.odd.said() if odd else ():
            status |= Status.SUSPECT
            self.count(kind, sentence)
        off, turned = (self.odd.off, self.odd.off_in_limb) if odd else ((), ())
        self.by_joint.tell(status, near_last, health, self._vague, unusual, beyond, off, turned)
        again = solution.sent_again
        if self.pose_steps.look(self.by_joint, self.dt, new and not near_last, self.lost, again):
            status |= Status.SUSPECT
            self.count(POSE_STEPPED, self.pose_steps.said())
        if self.marker_input.in_doubt:
            status |= Status.SUSPECT
            self.by_joint.doubt()
        if plausible and self.identity.look(self.measured, step):
            status |= Status.SUSPECT
            self.by_joint.doubt()
            self.count(OTHER_PERSON, WHOSE)
        self.status = status
        return StageOutcome(status, solution.iterations, solution.residual)

    def _is_beyond(self, plausible: bool) -> bool:
        """Return whether a published angle is out of its range; False if the frame is not plausible."""
        if not plausible:  # what is published is of another frame
            self._ranges.forget()
            return False
        if not self._ranges.given or not self._ranges.look(self.unknown):
            return False
        if self._ranges.held:
            self.count(
                HELD_AT_END,
                "These coordinates are clamped at the end of their range in the model's file, although the "
                f"markers lie beyond, so the frame is implausible: {self._ranges.held_said()}.",
            )
        if not self._ranges.is_outside:
            return True
        if self.n_frame >= self._tell_at.get(BEYOND, 0):
            self.count(BEYOND, f"Angles are outside their ranges, implausible [deg]: {self._ranges.said()}.")
        else:
            self.counters[BEYOND] += 1
        return True

    def _judge_fit(self) -> None:
        """Report markers that are nowhere near the model, and a root that is outside its clamped range."""
        if self._n_square >= FEWEST_FRAMES:
            rms = math.sqrt(self._square_sum / self._n_square)
            if rms > self._most_rms:
                self.count(
                    LARGE_RMS,
                    f"The RMS of the marker residuals is {1e3 * rms:.0f} mm so far, while up to "
                    f"{1e3 * self._most_rms:.0f} mm is usual: the model, its size or its joint ranges do not "
                    "fit this person, or markers are placed elsewhere than in the model.",
                )
        if self.estimator.passed and (said := self._ranges.passed()):
            self.count(
                PASSED,
                "These coordinates are outside the range to which the model's file clamps them; they are "
                f"not clamped, because they determine the position of the body: {said}.",
            )

    def _deviate(self, solution: Solution, since: float) -> bool:
        """Compute the frame's standard deviations; return whether a published angle is uncertain.

        since : time since the previous solved frame [s]
        """
        if not solution.sent_again and not self.estimator.deviate(since, solution):
            return False
        found = self.estimator.deviations
        if not solution.converged or found is None:
            return False
        if solution.sent_again and self.estimator.waited > 0.0:  # joints may have turned meanwhile
            found.doubt(self.estimator.turned_meanwhile()[self.estimator.model.joints.distal])
        self._vague = vague = np.flatnonzero((found.uncertain > 0.0) & ~self.unknown).tolist()
        if vague and self.n_frame >= self._tell_at.get(VAGUE, 0):
            names = self.estimator.model.names.joint_angles
            said = some_of([names[k] for k in vague])
            self.count(VAGUE, f"Uncertain angles, whose standard deviation is above the limit: {said}.")
        elif vague:
            self.counters[VAGUE] += 1
        return bool(vague)

    def report(self) -> None:
        """Update the arrays of the published quantities."""
        self._results.report()

    def quantities(self) -> list[Quantity]:
        """Return the method's results: angles, displacements, ligaments, contacts, markers, segments."""
        assert self.marker_input is not None
        of_person = self.subject is not None
        self._ranges = AngleRanges(self.estimator)
        self.by_joint = JointStatus(self.estimator.model)
        self._results = KinematicResults(
            estimator=self.estimator, measured=self.marker_input.measured, mirrors=self.marker_input.mirrors,
            of_person=of_person, unknown=self.unknown, lost=self.lost,
            ranges=self._ranges, by_joint=self.by_joint,
        )  # fmt: skip
        return self._results.quantities()

    def meta(self) -> dict[str, Any]:
        """Return model, method, stick figure, ranges of angles, and the subject, or weights of markers."""
        model, following = self.estimator.model, self.estimator.following
        ranges: dict[str, Any] = {"ranges_deg": self._ranges.in_degrees()} if self._ranges.given else {}
        if self.estimator.bias_deg:
            ranges["bias_deg"] = dict(self.estimator.bias_deg)
        ranges["methods"] = list(self.estimator.methods)
        mirrored = bool(self.marker_input and self.marker_input.mirrors)
        figure = figure_of(model, self.subject is not None, mirrored)
        described = {"model": model.name, "method": self.estimator.method, **figure, **ranges}
        if self.subject is not None:
            return {**described, "subject": self.subject.name, "side": self.subject.side}
        assert following is not None
        weights = {drawn.name: drawn.weight for drawn in following.coordinates}
        return {**described, "marker_weights": dict(following.markers), "coordinate_weights": weights}

    def gauges(self) -> dict[str, float]:
        """Return the marker RMS over the run for the telemetry."""
        if not self._n_square:
            return {}
        return {"marker_rms_mm": 1e3 * math.sqrt(self._square_sum / self._n_square)}

    def status_text(self) -> str:
        """Return the name of the method in use."""
        return f"Method {self.estimator.method}"

    def collect(self) -> tuple[Counter[str], list[str]]:
        """Return the counters of faults since the start of the run, and the messages since the last call."""
        counters, sentences = self._former + self.counters, self.sentences
        self.sentences = []
        if self.marker_input is not None:
            counters.update(self.marker_input.counters)
            sentences = [*sentences, *self.marker_input.sentences]
            self.marker_input.sentences.clear()
        return counters, sentences

    def _answer_method(self, args: Args) -> tuple[bool, str]:
        method = str(args.get("method", ""))
        if method not in self.estimator.methods:
            said = plain(method, LONGEST_METHOD)
            return False, f"There is no method {said!r}; this run offers {', '.join(self.estimator.methods)}."
        return True, f"The method is {method} from the next frame on."

    def _obey_method(self, args: Args) -> bool:
        self.estimator.switch(str(args["method"]))
        self._warn()
        return True

    def _answer_downweighting(self, args: Args) -> tuple[bool, str]:
        switch = SWITCHES.get(str(args.get("on", "")).lower())
        if switch is None:
            return False, "set_downweighting needs the argument on = true or false."
        return (
            True,
            f"Markers at fault are {'left out' if switch else 'only reported'} from the next frame on.",
        )

    def _obey_downweighting(self, args: Args) -> bool:
        self.estimator.set_downweighting(SWITCHES[str(args["on"]).lower()])
        return False


def make(setting: StageContext) -> Kinematics:
    """Return the stage with the estimator of the run's model and methods."""
    run, spec, subject = setting.run, setting.spec, setting.subject
    estimator = MultibodyEstimator(
        spec=spec, subject=subject, method=method_of(run, spec), methods=methods_of(run, spec),
        solver=run.solver, check=run.markers, uncertainty=run.uncertainty,
        following=followed_by(run, spec) if subject is None else None,
    )  # fmt: skip
    return Kinematics(estimator, subject, run.person, run.label_unnamed)


GROUPS = {PERSON: ("solver", "deviations"), OWN_MARKERS: ("model", "model-deviations")}
KERNELS = {name: (who,) for who, names in GROUPS.items() for name in names}
STAGE = StageDeclaration(make=make, usual=(), kernels=KERNELS)
