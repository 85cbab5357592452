"""The results of the kinematics as quantities, in the signs and on the side in which they are published."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.solver.published_values import FrameValues, new_published_values, show
from rtsim.methods.kinematics.deviations import MethodDeviations, displaced_joints, places_of
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.model import Model
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.markers.marker_faults import MEANING
from rtsim.stages.poses.angle_ranges import AngleRanges
from rtsim.stages.poses.coordinates import CoordinateValues
from rtsim.stages.poses.joint_status import JointStatus
from rtsim.stages.poses.stick import centre_names, side_of
from rtsim.subjects.subject import kind_of_segment
from rtsim.units import DEGREES
from streams.messages import Curves

Array = NDArray[np.float64]

WAYS = ("lateral", "anterior", "proximal")
LONGEST_FRAME = 64
"""Length up to which the descriptor of a stream takes the name of a frame (streams.messages.FieldSpec)."""


class KinematicResults:
    """Published results of the method in use: joint angles, displacements of the knees, ligaments, contacts,
    markers and segments.

    Arrays of the solver that need no conversion are published directly; `report` updates the others.

    Parameters
    ----------
    estimator : the solver; for another method, another object of this class is built
    measured : (n_marker, 3) - markers of the frame, the input of the solver [m]
    mirrors : whether a left leg is solved as a right one
    of_person : whether the stick figure is that of a person, not of the bodies of a model
    unknown : (3 n_joint,) bool, angles that are NaN; may change from frame to frame
    lost : (n_body,) bool, segments whose pose is NaN, with all points on them; may change from frame to frame
    ranges : ranges of the angles
    by_joint : status of the joints
    """

    def __init__(
        self,
        estimator: MultibodyEstimator,
        measured: Array,
        mirrors: bool,
        of_person: bool,
        unknown: NDArray[np.bool_],
        lost: NDArray[np.bool_],
        ranges: AngleRanges,
        by_joint: JointStatus,
    ) -> None:
        self._estimator, self._measured = estimator, measured
        self._mirrors, self._of_person = mirrors, of_person
        self._outside = ranges.outside if ranges.given else None
        self._by_joint = by_joint
        self._signed: list[tuple[Array, Array, Array]] = []  # raw, signs, as published
        self._mirrored: list[tuple[Array, Array]] = []  # as published, as solved
        self._lost = lost
        self._of_lost: list[tuple[Array, Array, NDArray[np.int64]]] = []  # as published, as solved, body
        self._deviations = estimator.deviations
        found = found_by(estimator)
        self._told = new_published_values(found)
        self._show = hold(show, (found, unknown, self._told))
        named = bool(estimator.model.names.joint_angles)
        self._coordinates = None if named else CoordinateValues(estimator.model)
        self._weighted = np.zeros(1)
        model = estimator.model
        self._places = places_of(model.outline.body, model.outline.points)
        self._place_deviations, self._covariance_version = np.full(model.outline.points.shape, math.nan), -1

    def report(self) -> None:
        """Update the published arrays.

        These are: angles with their clinical signs; vectors whose lateral components are positive outwards;
        exchanged labels and faults of markers as numbers; poses, NaN for lost segments; positions, mirrored
        back for a left leg that was solved as a right one; and coordinates.
        """
        self._show()
        for raw, signs, out in self._signed:
            np.multiply(raw, signs, out)
        if self._deviations is not None:
            self._of_pose(self._deviations)
        if self._coordinates is not None:
            self._coordinates.report(self._estimator.q)
            self._weighted[0] = weighted_rms(self._estimator)
        for shown, own, body in self._of_lost:  # a marker that is fixed to the ground has body -1
            shown[:] = own
            shown[self._lost[body] & (body >= 0)] = math.nan
        for turned, own in self._mirrored:
            turned[:] = own
            mirror(turned)

    def _of_pose(self, found: MethodDeviations) -> None:
        """Update the standard deviations of positions and coordinates from the covariance of the pose, if
        that has been computed anew since the last call. found : the deviations of the method in use
        """
        if found.covariance_version == self._covariance_version:
            return
        self._covariance_version = found.covariance_version
        found.write_places(self._places, self._place_deviations)
        if self._coordinates is not None:
            self._coordinates.deviate(found.coordinates)

    def quantities(self) -> list[Quantity]:
        """Return all published quantities of the kinematics. It must be called only once for each object."""
        found = [*self._of_coordinates(), *self._of_joints(), *self._by_joint.quantities()]
        found += [*self._of_markers(), *self._of_segments()]
        return [self._of_side(quantity) for quantity in found]

    def _of_coordinates(self) -> list[Quantity]:
        if self._coordinates is None:
            return []
        return [
            *self._coordinates.quantities(self._outside, self._deviations is not None, self._by_joint),
            Quantity(
                "marker_rms_weighted", self._weighted, "m",
                curves=Curves("Marker residual, weighted", "RMS", 1, 0.005, True),
                meaning="sqrt(sum of weight * residual^2 / sum of weights), with the weights of "
                    "marker_weights in the descriptor's meta",
            ),
        ]  # fmt: skip

    def _of_joints(self) -> list[Quantity]:
        model, out = self._estimator.model, self._estimator.outputs
        ligaments = tuple(model.names.elements[e] for e in model.reported.ligaments)
        contacts = tuple(model.names.elements[e] for e in model.reported.contacts)
        planes = model.elements.body_b[model.reported.contacts]
        frame = frame_of_planes(model.names.bodies, planes)
        # a plane on ground has no side; its point is mirrored back with the field where all are on ground
        on_left = np.where(planes >= 0, model.mirrored[planes], self._mirrors and frame != GROUND)
        ways, displaced = self._knees(model)
        angles, displacements, lengthening, contact, mask = self._of_deviations()
        across = self._by_joint.joints_across
        between = [(model.elements.body_a[e], model.elements.body_b[e]) for e in model.reported.ligaments]
        touching = [(model.elements.body_a[e], model.elements.body_b[e]) for e in model.reported.contacts]
        shanks = model.joints.distal[displaced_joints(model.names.bodies, model.joints.distal)]
        knees = [(model.tree.parent[b], b) for b in shanks.tolist() for _ in WAYS]
        return [
            Quantity(
                "joint_angles", self._told.angle, "rad",
                model.names.joint_angles, curves=Curves("", "angle", 0, 10.0 / DEGREES),
                meaning="joint angles by the ISB joint coordinate system, mobile Z-X-Y; positive as the "
                    "label says",
                deviation=angles, mask=mask,
                implausible=self._outside if self._told.angle.size else None,
                joints=self._by_joint.joints_of_angles if self._told.angle.size else (),
            ),
            Quantity(
                "knee_displacements", displaced, "m", ways,
                curves=Curves("Knee displacement", "displacement", 1, 0.004),
                meaning="position of the tibial origin relative to the femoral origin, along the axes of "
                    "the knee",
                deviation=displacements, joints=across(knees),
            ),
            Quantity(
                "ligament_lengthening", out.lengthening, "1", ligaments,
                curves=Curves("Ligaments", "lengthening", 1, 0.04),
                meaning="strain: change of length / neutral length",
                deviation=lengthening, joints=across(between),
            ),
            Quantity(
                name="contact_points", array=self._shown(out.contact_points, lateral_signs(on_left, 2)),
                unit="m", labels=contacts,
                parts=AXES, frame=frame,
                meaning="contact points in the axes of the segment that carries their plane: X forward, Y "
                    "up, Z lateral; of a plane on ground in its axes",
                deviation=contact, joints=across(touching),
            ),
        ]  # fmt: skip

    def _of_deviations(self) -> tuple[Array | None, Array | None, Array | None, Array | None, Array | None]:
        """Return the standard deviations of angles, displacements, lengthening and contact points, and a mask
        of the uncertain angles; None for those that are not computed.
        """
        found = self._deviations
        if found is None:
            return None, None, None, None, None
        if not self._told.angle.size:
            return None, None, found.lengthening, found.contact_points, None
        return (
            self._told.deviation, found.displacements.reshape(-1), found.lengthening, found.contact_points,
            self._told.uncertain,
        )  # fmt: skip

    def _knees(self, model: Model) -> tuple[tuple[str, ...], Array]:
        """Return names and values of the displacements of all knees, which are the joints that carry a
        shank."""
        knees = displaced_joints(model.names.bodies, model.joints.distal)
        shanks = model.joints.distal[knees]
        ways = tuple(f"{way}{side_of(model.names.bodies[b])}" for b in shanks for way in WAYS)
        signs = lateral_signs(model.mirrored[shanks], 0)
        rows = [self._estimator.outputs.displacements[j] for j in knees]
        if len(rows) == 1:
            return ways, self._shown(rows[0], signs[0])
        displaced = np.zeros(len(ways))
        self._signed += zip(rows, signs, np.split(displaced, len(rows)) if rows else (), strict=True)
        return ways, displaced

    def _of_markers(self) -> list[Quantity]:
        out, health = self._estimator.outputs, self._estimator.health
        model = self._estimator.model
        names = model.names.markers
        return [
            Quantity(
                "markers_measured", self._measured, "m", names, frame=GROUND,
                meaning="measured marker positions, converted to metres and Y up; NaN = occluded",
            ),
            Quantity(
                "markers_model", self._but_lost(out.markers, model.markers.body), "m", names, frame=GROUND,
                meaning="positions of the model markers in the fitted pose",
            ),
            Quantity(
                "marker_residuals", out.residuals, "m", names,
                meaning="distance between measured marker and model marker; NaN = occluded",
            ),
            Quantity(
                "marker_weights", health.weight, "1", names,
                meaning="weight of each marker in the solution: 1 = full, 0 = occluded or at fault",
            ),
            Quantity(
                "marker_gap_age", health.gap_age, "s", names,
                meaning="how long each marker has been occluded",
            ),
            Quantity(
                "marker_swap_with", self._told.swap_with, "1", names,
                meaning="exchanged labels: index of the marker at whose position this marker is; -1 = none",
            ),
            Quantity("marker_fault", self._told.fault, "1", names, meaning=MEANING),
            Quantity(
                "marker_rms", out.rms, "m", curves=Curves("Marker residual", "RMS", 1, 0.005, True),
                meaning="root mean square of the marker residuals",
            ),
        ]  # fmt: skip

    def _of_segments(self) -> list[Quantity]:
        model, bodies = self._estimator.model, self._estimator.model.names.bodies
        own = np.arange(len(bodies))
        position, rotation = (self._but_lost(pose, own) for pose in self._estimator.pose)
        points = centre_names(bodies, model.tree.parent) if self._of_person else bodies
        centres = None
        if self._deviations is not None:
            centres = self._but_lost(self._place_deviations, model.outline.body)
        return [
            Quantity(
                "joint_centres", self._but_lost(self._estimator.outputs.points, model.outline.body), "m",
                points, frame=GROUND,
                meaning="points for drawing a stick figure", deviation=centres,
            ),
            Quantity(
                "segment_positions", position, "m", bodies, frame=GROUND, meaning="segment origins",
                deviation=centres[: len(bodies)] if centres is not None else None,  # they come first
            ),
            Quantity(
                "segment_rotations", rotation, "1", bodies, frame=GROUND,
                meaning="rotation matrices from segment axes to ground axes",
            ),
        ]  # fmt: skip

    def _shown(self, raw: Array, signs: Array) -> Array:
        """Return the array to publish for `raw`: `raw` itself if all signs are positive, else a new array to
        which `report` writes `raw` times `signs`."""
        if (signs == 1.0).all():
            return raw
        out = np.zeros(raw.shape)
        self._signed.append((raw, signs, out))
        return out

    def _but_lost(self, raw: Array, body: NDArray[np.int64]) -> Array:
        """Return the array to publish for `raw`, with one row for each of the bodies `body`: for a model with
        a trunk, the only segment that can be lost, a new array to which `report` writes `raw` with NaN for a
        lost segment; else `raw` itself.
        """
        if not self._by_joint.is_trunk[body].any():
            return raw
        out = np.full(raw.shape, math.nan)
        self._of_lost.append((out, raw, body))
        return out

    def _of_side(self, quantity: Quantity) -> Quantity:
        """Return the quantity; for a left leg that is solved as a right one, with an array to which `report`
        writes its values mirrored across the body, if they are in ground axes."""
        if quantity.frame != GROUND or not self._mirrors:
            return quantity
        out = quantity.array.copy()
        self._mirrored.append((out, quantity.array))
        return quantity._replace(array=out)


def found_by(estimator: MultibodyEstimator) -> FrameValues:
    """Return the arrays of the solver from which the published values of each frame are computed: joint
    angles and their signs, standard deviations of the angles if they are computed, and labels and faults of
    the markers.
    """
    model, health, none = estimator.model, estimator.health, np.zeros(0)
    named, deviations = bool(model.names.joint_angles), estimator.deviations
    stated = deviations is not None and named
    return FrameValues(
        angle=estimator.outputs.angles.reshape(-1) if named else none,
        sign=model.joint_signs.ravel() if named else none,
        deviation=deviations.angles.reshape(-1) if stated and deviations is not None else none,
        uncertain=deviations.uncertain if stated and deviations is not None else none,
        swap_with=health.swap_with,
        fault=health.fault,
    )


def weighted_rms(estimator: MultibodyEstimator) -> float:
    """Return the RMS of the residuals of the last frame, weighted by the markers' own weights [m]; NaN if no
    marker is seen.
    """
    residuals, own = estimator.outputs.residuals, estimator.model.markers.weight
    seen = np.isfinite(residuals)
    if not seen.any():
        return math.nan
    w = np.ones(len(residuals)) if own is None else own
    return math.sqrt(float(w[seen] @ residuals[seen] ** 2) / float(w[seen].sum()))


def mirror(x: Array) -> None:
    """Mirror points (n, 3) or rotation matrices (n, 3, 3) in ground axes across the sagittal plane, in place,
    for a left leg that was solved as a right one."""
    if x.ndim == 2:
        x[:, 2] *= -1.0
    else:
        x[:, 2, :2] *= -1.0
        x[:, :2, 2] *= -1.0


def frame_of_planes(bodies: tuple[str, ...], planes: NDArray[np.int64]) -> str:
    """Return the name of the frame in which contact points are published: the segment, without its side, or
    ground, if all planes are on one of these.

    bodies : names of all bodies; planes : (n_contact,) body of each plane, -1 = ground
    """
    kinds = {kind_of_segment(bodies[b]) if b >= 0 else GROUND for b in planes.tolist()}
    name = kinds.pop() if len(kinds) == 1 else ""
    return name if 0 < len(name) <= LONGEST_FRAME else "the segment that carries the plane"


def lateral_signs(mirrored: NDArray[np.bool_], lateral: int) -> Array:
    """Return signs (n, 3) with which the component `lateral` of vectors points laterally on both sides of the
    body; mirrored : whether each vector belongs to the left side"""
    signs = np.ones((len(mirrored), 3))
    signs[mirrored, lateral] = -1.0
    return signs
