"""Kinematics: from the markers of a frame to the pose, by multi-body optimisation."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.config.model_schema import ModelSpec
from rtsim.config.run_schema import USUAL_METHODS, Run
from rtsim.errors import ConfigError
from rtsim.methods.multibody import MultibodyEstimator, Solution
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.door import Door
from rtsim.stages.find import Setting
from rtsim.stages.stage import Args, Order, Outcome, Stage
from rtsim.subjects.subject import Subject
from rtsim.units import DEGREES
from streams.account import plain
from streams.messages import Curves, Session, Status
from streams.ring import Frame

Array = NDArray[np.float64]

NO_SOLUTION = Solution(converged=False, iterations=0, residual=math.nan, n_open=0, n_visible=0, n_swap=0)
LONGEST_STEP_S = 86_400.0
"""A clock that leaps by more between two frames has told nothing."""
SHORTEST_STEP_S = 1e-9
"""Nor has one that moves by less: a motion divided by that is no speed."""
LONGEST_METHOD = 64
"""So much of a method's name is told when there is none of that name [characters]."""
SWITCHES = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
CENTRES = {"pelvis": "lumbar", "thigh": "hip", "shank": "knee", "foot": "ankle"}


class Kinematics(Stage):
    """The pose of a subject from the markers of a stream.

    Attributes
    ----------
    estimator : whose newest results other stages read; door : of the session at hand
    dt : time since the frame before [s], 0 where the stream does not tell
    admitted : whether the newest frame could be a person, and the solver saw it
    """

    def __init__(self, estimator: MultibodyEstimator, subject: Subject) -> None:
        super().__init__()
        self.estimator, self.subject = estimator, subject
        self.door: Door | None = None
        self.dt = 0.0
        self.admitted = False
        self._former: Counter[str] = Counter()  # of the doors of former sessions
        self._time = math.nan
        self._square_sum, self._n_square = 0.0, 0
        self.orders = {
            "set_method": Order(self._answer_method, self._obey_method),
            "set_downweighting": Order(self._answer_downweighting, self._obey_downweighting),
        }

    def warm(self) -> None:
        """A few made-up frames through every method: the subject's own markers in the neutral pose, with one
        of them occluded at the end."""
        estimator, chosen = self.estimator, self.estimator.method
        for method in estimator.methods:
            estimator.switch(method)
            estimator.estimate(np.full((len(estimator.model.names.markers), 3), np.nan), 0.0)
            markers = estimator.outputs.markers.copy()
            estimator.restart()
            for last in (False, False, False, False, True):
                if last:
                    markers[0] = np.nan
                estimator.estimate(markers, 0.01)
        estimator.switch(chosen)
        estimator.restart()

    def reset(self) -> None:
        """Neither a stream, nor a pose, nor a history of markers."""
        super().reset()
        self.estimator.restart()
        self.door, self._former = None, Counter()
        self._square_sum, self._n_square = 0.0, 0

    def begin(self, session: Session, anew: bool) -> None:
        """A new door; the pose and the markers' history are forgotten."""
        if not anew and self.door is not None:
            return
        if self.door is not None:
            self._former.update(self.door.counters)
            self.sentences += self.door.sentences
        self.estimator.restart()
        self.door = Door(self.subject, session)
        self._time = math.nan

    def run(self, frame: Frame) -> Outcome:
        """Solve one frame; never raises for bad data, the status says what is wrong with it."""
        assert self.door is not None
        dt = frame.time - self._time
        self._time = frame.time
        self.dt = dt if SHORTEST_STEP_S <= dt < LONGEST_STEP_S else 0.0
        measured, plausible = self.door.admit(frame.data)
        self.admitted = plausible
        solution = self.estimator.estimate(measured, self.dt) if plausible else NO_SOLUTION
        rms = float(self.estimator.outputs.rms[0])
        if plausible and rms == rms:
            self._square_sum += rms * rms
            self._n_square += 1
        return Outcome(status_of(solution, plausible), solution.iterations, solution.residual)

    def report(self) -> None:
        """Signs of the angles, swaps as numbers, and the side of the body."""
        np.multiply(self.estimator.outputs.angles.reshape(-1), self._signs, out=self._angles)
        self._swaps[:] = self.estimator.health.swap_with
        for out, own in self._mirrored:
            out[:] = own
            mirror(out)

    def quantities(self) -> list[Quantity]:
        """Angles, knee, ligaments, contacts, markers and segments of the method in use."""
        assert self.door is not None
        model, out, health = self.estimator.model, self.estimator.outputs, self.estimator.health
        self._signs = model.joint_signs.ravel()
        self._angles = np.zeros(self._signs.shape)
        self._swaps = np.zeros(health.swap_with.shape)
        names, bodies = model.names.markers, model.names.bodies
        ligaments = tuple(model.names.elements[e] for e in model.reported.ligaments)
        contacts = tuple(model.names.elements[e] for e in model.reported.contacts)
        joint = displaced_joint(bodies, model.joints.distal)
        knee = [
            Quantity(
                "knee_displacements", out.displacements[joint], "m", ("lateral", "anterior", "proximal"),
                curves=Curves("Knee displacement", "displacement", 1, 0.004),
                meaning="tibial origin from the femoral one, along the knee's axes",
            )
        ] if joint >= 0 else []  # fmt: skip
        position, rotation = self.estimator.pose
        found = [
            Quantity(
                "joint_angles", self._angles, "rad", model.names.joint_angles,
                curves=Curves("", "angle", 0, 10.0 / DEGREES),
                meaning="joint coordinate system of the ISB, mobile Z-X-Y; positive as the label says",
            ),
            *knee,
            Quantity(
                "ligament_lengthening", out.lengthening, "1", ligaments,
                curves=Curves("Ligaments", "lengthening", 1, 0.04),
                meaning="change of length / neutral length",
            ),
            Quantity(
                "contact_points", out.contact_points, "m", contacts, AXES, "tibia",
                meaning="contact points in the tibial frame: X forward, Y up, Z lateral",
            ),
            Quantity(
                "markers_measured", self.door.measured, "m", names, frame=GROUND,
                meaning="the input, converted; NaN = occluded",
            ),
            Quantity(
                "markers_model", out.markers, "m", names, frame=GROUND,
                meaning="where the model has them",
            ),
            Quantity(
                "marker_residuals", out.residuals, "m", names,
                meaning="distance of the two; NaN when occluded",
            ),
            Quantity(
                "marker_weights", health.weight, "1", names,
                meaning="weight in the solution: 1 = full, 0 = occluded, suspicious ones between",
            ),
            Quantity(
                "marker_gap_age", health.gap_age, "s", names,
                meaning="how long a marker has been occluded",
            ),
            Quantity(
                "marker_swap_with", self._swaps, "1", names,
                meaning="index of the marker it may be swapped with, -1 = none",
            ),
            Quantity(
                "marker_rms", out.rms, "m", curves=Curves("Marker residual", "RMS", 1, 0.005, True),
                meaning="root mean square of the residuals",
            ),
            Quantity(
                "joint_centres", out.points, "m", centre_names(bodies), frame=GROUND,
                meaning="for a stick figure",
            ),
            Quantity("segment_positions", position, "m", bodies, frame=GROUND, meaning="segment origins"),
            Quantity(
                "segment_rotations", rotation, "1", bodies, frame=GROUND,
                meaning="rotation matrices, segment to ground",
            ),
        ]  # fmt: skip
        self._mirrored: list[tuple[Array, Array]] = []
        return [self._of_side(quantity) for quantity in found]

    def meta(self) -> dict[str, Any]:
        """Method, person and stick figure."""
        return {
            "method": self.estimator.method,
            "stick": stick(self.estimator.model.names.bodies),
            "subject": self.subject.name,
            "side": self.subject.side,
        }

    def gauges(self) -> dict[str, float]:
        """The marker RMS over the run."""
        if not self._n_square:
            return {}
        return {"marker_rms_mm": 1e3 * math.sqrt(self._square_sum / self._n_square)}

    def status_text(self) -> str:
        """The method in use."""
        return f"Method {self.estimator.method}"

    def collect(self) -> tuple[Counter[str], list[str]]:
        """Counters of all doors so far, and what is to be told since the last time."""
        counters, sentences = self._former + self.counters, self.sentences
        self.sentences = []
        if self.door is not None:
            counters.update(self.door.counters)
            sentences = [*sentences, *self.door.sentences]
            self.door.sentences.clear()
        return counters, sentences

    def _of_side(self, quantity: Quantity) -> Quantity:
        """The quantity, of a left leg turned back across the body where it is given in ground axes."""
        assert self.door is not None
        if quantity.frame != GROUND or not self.door.mirrors:
            return quantity
        out = quantity.array.copy()
        self._mirrored.append((out, quantity.array))
        return quantity._replace(array=out)

    def _answer_method(self, args: Args) -> tuple[bool, str]:
        method = str(args.get("method", ""))
        if method not in self.estimator.methods:
            said = plain(method, LONGEST_METHOD)
            return False, f"No method {said!r}; this run offers {', '.join(self.estimator.methods)}."
        return True, f"The method is {method} from the next frame on."

    def _obey_method(self, args: Args) -> bool:
        self.estimator.switch(str(args["method"]))
        return True

    def _answer_downweighting(self, args: Args) -> tuple[bool, str]:
        switch = SWITCHES.get(str(args.get("on", "")).lower())
        if switch is None:
            return False, "set_downweighting needs the argument on = true or false."
        return (
            True,
            f"Down-weighting of suspicious markers is {'on' if switch else 'off'} from the next frame on.",
        )

    def _obey_downweighting(self, args: Args) -> bool:
        self.estimator.set_downweighting(SWITCHES[str(args["on"]).lower()])
        return False


def make(setting: Setting) -> Kinematics:
    """The kinematics of a run."""
    run, spec = setting.run, setting.spec
    estimator = MultibodyEstimator(
        spec, setting.subject, run.method, methods_of(run, spec), run.solver, run.markers
    )
    return Kinematics(estimator, setting.subject)


def methods_of(run: Run, spec: ModelSpec) -> tuple[str, ...]:
    """The methods that the run can switch to; ConfigError for one that the model does not have."""
    methods = run.methods or tuple(method for method in USUAL_METHODS if method in spec.methods)
    unknown = [method for method in (run.method, *methods) if method not in spec.methods]
    if unknown:
        raise ConfigError(
            f"unknown method {unknown[0]!r}",
            where="--method",
            allowed=", ".join(spec.methods),
            remedy=f"give one of the model {spec.name}",
        )
    return methods


def status_of(solution: Solution, plausible: bool) -> Status:
    """Status bits of a solution."""
    if not plausible:
        return Status.INVALID_INPUT
    status = Status.OK
    if solution.n_open > 0 or solution.n_visible == 0:
        status |= Status.DEGRADED
    if not solution.converged:
        status |= Status.NOT_CONVERGED
    return status


def mirror(x: Array) -> None:
    """Turn points (n, 3) or rotation matrices (n, 3, 3) in ground back to a left leg, in place."""
    if x.ndim == 2:
        x[:, 2] *= -1.0
    else:
        x[:, 2, :2] *= -1.0
        x[:, :2, 2] *= -1.0


def displaced_joint(body_names: tuple[str, ...], distal: NDArray[np.int64]) -> int:
    """Joint whose displacements are reported: the one that carries the shank; -1 where there is none."""
    names = [body_names[b] for b in distal]
    return names.index("shank") if "shank" in names else -1


def centre_names(body_names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the points of the stick figure: the proximal end of every body and the tip of the last."""
    return (*(CENTRES.get(name, name) for name in body_names), "toe")


def stick(body_names: tuple[str, ...]) -> list[list[str]]:
    """Pairs of points that a stick figure joins."""
    return [list(pair) for pair in itertools.pairwise(centre_names(body_names))]
