"""Kinematics: from the markers of a frame to the pose, by multi-body optimisation."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.config.model_schema import ModelSpec
from rtsim.config.run_schema import USUAL_METHOD, USUAL_METHODS, Run
from rtsim.errors import ConfigError
from rtsim.files.osim.setup_ik import read_ik_setup
from rtsim.methods.multibody import MultibodyEstimator, Solution
from rtsim.models.following import Following, following_of
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.coordinates import CoordinateValues, tree_lines
from rtsim.stages.door import Door
from rtsim.stages.find import Setting
from rtsim.stages.stage import Args, Order, Outcome, Stage
from rtsim.stages.yardstick import Yardstick, of_model, of_subject
from rtsim.subjects.subject import Subject, kind_of_segment
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
HELD = "held_frames"
LONGEST_METHOD = 64
"""So much of a method's name is told when there is none of that name [characters]."""
SWITCHES = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
FREE_DOFS = 6
CENTRES = {"pelvis": "lumbar", "thigh": "hip", "shank": "knee", "foot": "ankle"}
WAYS = ("lateral", "anterior", "proximal")


class Kinematics(Stage):
    """The pose of a subject, or of a model with markers of its own, from the markers of a stream.

    Attributes
    ----------
    estimator : whose newest results other stages read; door : of the session at hand
    dt : time since the frame before [s], 0 where the stream does not tell
    admitted : whether the newest frame could be a person, and the solver saw it
    """

    def __init__(self, estimator: MultibodyEstimator, subject: Subject | None) -> None:
        super().__init__()
        self.estimator, self.subject = estimator, subject
        self.yardstick = yardstick_of(estimator, subject)
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
        self.door = Door(self.yardstick, session)
        self._time = math.nan

    def run(self, frame: Frame) -> Outcome:
        """Solve one frame; never raises for bad data, the status says what is wrong with it."""
        assert self.door is not None
        dt = frame.time - self._time
        self._time = frame.time
        self.dt = dt if SHORTEST_STEP_S <= dt < LONGEST_STEP_S else 0.0
        measured, plausible = self.door.admit(frame.data)
        self.admitted = plausible
        self.estimator.aim(frame.time)
        solution = self.estimator.estimate(measured, self.dt) if plausible else NO_SOLUTION
        rms = float(self.estimator.outputs.rms[0])
        self.n_frame += 1
        if solution.n_open and self.n_frame >= self._tell_at.get(HELD, 0):
            held = ", ".join(self.estimator.held_bodies)
            self.count(HELD, f"No marker determined {held}: held near the last pose, degraded.")
        elif solution.n_open:
            self.counters[HELD] += 1
        if plausible and rms == rms:
            self._square_sum += rms * rms
            self._n_square += 1
        return Outcome(status_of(solution, plausible), solution.iterations, solution.residual)

    def report(self) -> None:
        """Signs of the angles and of what is lateral, swaps as numbers, the side of the body; coordinates."""
        out = self.estimator.outputs
        np.multiply(out.angles.reshape(-1), self._signs, out=self._angles)
        np.multiply(out.displacements[self._knees], self._knee_signs, out=self._displaced.reshape(-1, 3))
        np.multiply(out.contact_points, self._contact_signs, out=self._contacts)
        self._swaps[:] = self.estimator.health.swap_with
        if self._coordinates is not None:
            self._coordinates.report(self.estimator.q)
            self._weighted[:] = weighted_rms(self.estimator)
        for turned, own in self._mirrored:
            turned[:] = own
            mirror(turned)

    def quantities(self) -> list[Quantity]:
        """Angles, knee, ligaments, contacts, markers and segments of the method in use."""
        assert self.door is not None
        model, out, health = self.estimator.model, self.estimator.outputs, self.estimator.health
        self._signs = model.joint_signs.ravel()
        self._angles = np.zeros(self._signs.shape)
        self._swaps = np.zeros(health.swap_with.shape)
        names, bodies = model.names.markers, model.names.bodies
        centres = centre_names(bodies, model.tree.parent)
        ligaments = tuple(model.names.elements[e] for e in model.reported.ligaments)
        contacts = tuple(model.names.elements[e] for e in model.reported.contacts)
        self._knees = displaced_joints(bodies, model.joints.distal)
        shanks = model.joints.distal[self._knees]
        self._knee_signs = lateral_signs(model.mirrored[shanks], 0)
        self._contact_signs = lateral_signs(model.mirrored[model.elements.body_b[model.reported.contacts]], 2)
        self._displaced = np.zeros(3 * len(self._knees))
        self._contacts = np.zeros(out.contact_points.shape)
        ways = tuple(f"{way}{side_of(bodies[b])}" for b in shanks for way in WAYS)
        position, rotation = self.estimator.pose
        self._coordinates = None if names_angles(self.estimator) else CoordinateValues(model)
        self._weighted = np.zeros(1)
        own = [
            *self._coordinates.quantities(),
            Quantity(
                "marker_rms_weighted", self._weighted, "m",
                curves=Curves("Marker residual", "RMS", 1, 0.005, True),
                meaning="sqrt(sum of weight * residual^2 / sum of weights), by the weights of marker_weights "
                "in the descriptor's meta",
            ),
        ] if self._coordinates is not None else []  # fmt: skip
        stick_points = centres if self.subject is not None else bodies
        found = [
            *own,
            Quantity(
                "joint_angles", self._angles, "rad", model.names.joint_angles,
                curves=Curves("", "angle", 0, 10.0 / DEGREES),
                meaning="joint coordinate system of the ISB, mobile Z-X-Y; positive as the label says",
            ),
            Quantity(
                "knee_displacements", self._displaced, "m", ways,
                curves=Curves("Knee displacement", "displacement", 1, 0.004),
                meaning="tibial origin from the femoral one, along the knee's axes",
            ),
            Quantity(
                "ligament_lengthening", out.lengthening, "1", ligaments,
                curves=Curves("Ligaments", "lengthening", 1, 0.04),
                meaning="change of length / neutral length",
            ),
            Quantity(
                "contact_points", self._contacts, "m", contacts, AXES, "tibia",
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
                "joint_centres", out.points, "m", stick_points, frame=GROUND,
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
        """Method, stick figure, and the person, or weights of the model's own markers."""
        model, following = self.estimator.model, self.estimator.following
        if self.subject is not None:
            person = {"subject": self.subject.name, "side": self.subject.side}
            lines = stick(model.names.bodies, model.tree.parent)
            return {"model": model.name, "method": self.estimator.method, "stick": lines, **person}
        assert following is not None
        return {
            "model": model.name,
            "method": self.estimator.method,
            "stick": tree_lines(model),
            "marker_weights": dict(following.markers),
            "coordinate_weights": {drawn.name: drawn.weight for drawn in following.coordinates},
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
    run, spec, subject = setting.run, setting.spec, setting.subject
    following = followed_by(run, spec) if subject is None else None
    methods = methods_of(run, spec)
    estimator = MultibodyEstimator(
        spec, subject, method_of(run, spec), methods, run.solver, run.markers, following
    )
    return Kinematics(estimator, subject)


def followed_by(run: Run, spec: ModelSpec) -> Following:
    """What a run follows of a model with markers of its own."""
    setup = read_ik_setup(run.ik_setup) if run.ik_setup else None
    return following_of(spec, setup, run.ik_setup)


def method_of(run: Run, spec: ModelSpec) -> str:
    """The method that a run begins with: the one it names, else the usual one, or the model's first."""
    return run.method or (USUAL_METHOD if USUAL_METHOD in spec.methods else next(iter(spec.methods)))


def methods_of(run: Run, spec: ModelSpec) -> tuple[str, ...]:
    """The methods that the run can switch to; ConfigError for one that the model does not have."""
    methods = run.methods or tuple(method for method in USUAL_METHODS if method in spec.methods)
    unknown = [method for method in (method_of(run, spec), *methods) if method not in spec.methods]
    if unknown:
        raise ConfigError(
            f"unknown method {unknown[0]!r}",
            where="--method",
            allowed=", ".join(spec.methods),
            remedy=f"give one of the model {spec.name}",
        )
    return methods


def yardstick_of(estimator: MultibodyEstimator, subject: Subject | None) -> Yardstick:
    """What the door holds markers against: the person, or the model's own markers in the neutral pose."""
    if subject is not None:
        return of_subject(subject)
    model = estimator.model
    estimator.estimate(np.full((len(model.names.markers), 3), np.nan), 0.0)
    neutral = estimator.outputs.markers.copy()
    estimator.restart()
    return of_model(model.names.markers, neutral, moves=bool(model.tree.v_start[1] >= FREE_DOFS))


def names_angles(estimator: MultibodyEstimator) -> bool:
    """Whether the model names the angles of anatomical joints."""
    return bool(estimator.model.names.joint_angles)


def weighted_rms(estimator: MultibodyEstimator) -> float:
    """RMS of the residuals of the last frame by the markers' own weights [m]; NaN where none is seen."""
    residuals, own = estimator.outputs.residuals, estimator.model.markers.weight
    seen = np.isfinite(residuals)
    if not seen.any():
        return math.nan
    w = np.ones(len(residuals)) if own is None else own
    return math.sqrt(float(w[seen] @ residuals[seen] ** 2) / float(w[seen].sum()))


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


def displaced_joints(body_names: tuple[str, ...], distal: NDArray[np.int64]) -> list[int]:
    """Joints whose displacements are reported: those that carry a shank."""
    return [j for j, b in enumerate(distal) if kind_of_segment(body_names[b]) == "shank"]


def lateral_signs(mirrored: NDArray[np.bool_], lateral: int) -> Array:
    """(n, 3) - signs that make one component of vectors lateral on both sides."""
    signs = np.ones((len(mirrored), 3))
    signs[mirrored, lateral] = -1.0
    return signs


def side_of(body_name: str) -> str:
    """The end of a name that says the side, empty where it does not."""
    return body_name[len(kind_of_segment(body_name)) :]


def centre_names(body_names: tuple[str, ...], parent: NDArray[np.int64]) -> tuple[str, ...]:
    """Names of the points of the stick figure: the proximal end of every body and the tips of the last."""
    kinds = [(kind_of_segment(name), side_of(name)) for name in body_names]
    ends = [side_of(body_names[b]) for b in ends_of(parent)]
    return (*(CENTRES.get(kind, kind) + side for kind, side in kinds), *(f"toe{side}" for side in ends))


def stick(body_names: tuple[str, ...], parent: NDArray[np.int64]) -> list[list[str]]:
    """Pairs of points that a stick figure joins."""
    names, ends = centre_names(body_names, parent), ends_of(parent)
    joints = [[names[p], names[b]] for b, p in enumerate(parent) if p >= 0]
    tips = [[names[b], names[len(body_names) + k]] for k, b in enumerate(ends)]
    return [*joints, *tips]


def ends_of(parent: NDArray[np.int64]) -> list[int]:
    """Bodies that carry no other."""
    return [b for b in range(len(parent)) if b not in parent]
