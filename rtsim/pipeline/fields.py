"""The fields of a result frame: names, units and labels once, arrays on every frame."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.multibody import MultibodyEstimator
from rtsim.methods.muscle_arms import MuscleArms
from rtsim.pipeline.door import Door
from streams.codec import FieldLayout
from streams.messages import FieldSpec, Session, new_session_id

Array = NDArray[np.float64]


class ResultFields:
    """Collects what a frame publishes: mostly the estimator's own output arrays, without a copy between.

    Attributes
    ----------
    session : descriptor of the result stream
    arrays : field -> its values in the last frame that was filled
    """

    def __init__(
        self, estimator: MultibodyEstimator, door: Door, meta: dict, rate: float, t_start: int
    ) -> None:
        self.session = Session(
            session=new_session_id(),
            stream="result",
            t_start=t_start,
            rate=rate,
            fields=field_specs(estimator),
            meta=meta,
        )
        self.layout = FieldLayout(self.session)
        self._door = door
        self._signs = estimator.model.joint_signs.ravel()
        self._angles = np.zeros(self._signs.shape)
        self._arms = np.zeros((len(estimator.muscles.names) if estimator.muscles else 0, len(self._signs)))
        self._swaps = np.zeros(estimator.health.swap_with.shape)
        self.arrays = self._sources(estimator, door)
        self._across = {name: self.arrays[name] for name in ACROSS} if door.mirrors else {}
        self.arrays.update({name: array.copy() for name, array in self._across.items()})

    def fill(self, estimator: MultibodyEstimator) -> dict[str, bytes]:
        """Bytes of every field of the last frame."""
        np.multiply(estimator.outputs.angles.reshape(-1), self._signs, out=self._angles)
        if estimator.muscles:
            np.multiply(estimator.muscles.arms, self._signs, out=self._arms)
        self._swaps[:] = estimator.health.swap_with
        for name, array in self._across.items():
            self.arrays[name][:] = array
            self._door.mirror(self.arrays[name])
        return {name: array.tobytes() for name, array in self.arrays.items()}

    def _sources(self, estimator: MultibodyEstimator, door: Door) -> dict[str, Array]:
        """Field -> the array that holds it after every frame, in the order of the descriptor."""
        model, out, health = estimator.model, estimator.outputs, estimator.health
        position, rotation = estimator.pose
        joint = displaced_joint(model.names.bodies, model.joints.distal)
        sources = {
            "joint_angles": self._angles,
            "knee_displacements": out.displacements[joint] if joint >= 0 else np.full(3, np.nan),
            "ligament_lengthening": out.lengthening,
            "contact_points": out.contact_points,
            "markers_measured": door.measured,
            "markers_model": out.markers,
            "marker_residuals": out.residuals,
            "marker_weights": health.weight,
            "marker_gap_age": health.gap_age,
            "marker_swap_with": self._swaps,
            "marker_rms": out.rms,
            "joint_centres": out.points,
            "segment_positions": position,
            "segment_rotations": rotation,
        }
        if estimator.muscles:
            sources |= {"muscle_lengths": estimator.muscles.lengths, "moment_arms": self._arms}
        for name, array in sources.items():
            assert array.shape == tuple(self.layout.specs[name].shape), name
        return sources


ACROSS = ("markers_measured", "markers_model", "joint_centres", "segment_positions", "segment_rotations")
"""Fields in ground axes, which a left leg's mirroring touches."""


def displaced_joint(body_names: tuple[str, ...], distal: NDArray[np.int64]) -> int:
    """Joint whose displacements are reported: the one that carries the shank; -1 where there is none."""
    names = [body_names[b] for b in distal]
    return names.index("shank") if "shank" in names else -1


def field_specs(estimator: MultibodyEstimator) -> tuple[FieldSpec, ...]:
    """What a result frame holds (docs/protocol.md lists the meaning of each)."""
    model = estimator.model
    n_marker, n_body = len(model.names.markers), len(model.names.bodies)
    ligaments = tuple(model.names.elements[e] for e in model.reported.ligaments)
    contacts = tuple(model.names.elements[e] for e in model.reported.contacts)
    centres = centre_names(model.names.bodies)
    return (
        FieldSpec(
            name="joint_angles",
            shape=(len(model.names.joint_angles),),
            unit="rad",
            labels=model.names.joint_angles,
        ),
        FieldSpec(
            name="knee_displacements", shape=(3,), unit="m", labels=("lateral", "anterior", "proximal")
        ),
        FieldSpec(name="ligament_lengthening", shape=(len(ligaments),), unit="1", labels=ligaments),
        FieldSpec(name="contact_points", shape=(len(contacts), 3), unit="m", labels=contacts),
        FieldSpec(name="markers_measured", shape=(n_marker, 3), unit="m", labels=model.names.markers),
        FieldSpec(name="markers_model", shape=(n_marker, 3), unit="m", labels=model.names.markers),
        *(
            FieldSpec(name=f"marker_{what}", shape=(n_marker,), unit=unit, labels=model.names.markers)
            for what, unit in (("residuals", "m"), ("weights", "1"), ("gap_age", "s"), ("swap_with", "1"))
        ),
        FieldSpec(name="marker_rms", shape=(1,), unit="m"),
        FieldSpec(name="joint_centres", shape=(len(centres), 3), unit="m", labels=centres),
        FieldSpec(name="segment_positions", shape=(n_body, 3), unit="m", labels=model.names.bodies),
        FieldSpec(name="segment_rotations", shape=(n_body, 3, 3), unit="1", labels=model.names.bodies),
        *(muscle_specs(estimator.muscles) if estimator.muscles else ()),
    )


def muscle_specs(muscles: MuscleArms) -> tuple[FieldSpec, ...]:
    """The fields of models with muscles; the columns of moment_arms are the entries of joint_angles."""
    return (
        FieldSpec(name="muscle_lengths", shape=muscles.lengths.shape, unit="m", labels=muscles.names),
        FieldSpec(name="moment_arms", shape=muscles.arms.shape, unit="m", labels=muscles.names),
    )


CENTRES = {"pelvis": "lumbar", "thigh": "hip", "shank": "knee", "foot": "ankle"}


def centre_names(body_names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the points of the stick figure: the proximal end of every body and the tip of the last."""
    return (*(CENTRES.get(name, name) for name in body_names), "toe")


def stick(body_names: tuple[str, ...]) -> list[list[str]]:
    """Pairs of points that a stick figure joins."""
    names = centre_names(body_names)
    return [list(pair) for pair in itertools.pairwise(names)]
