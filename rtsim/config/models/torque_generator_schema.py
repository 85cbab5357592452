"""Schema of configs/generators/*.toml: joint torque generators (Millard et al. 2019), and the joints on which
they act.
"""

from __future__ import annotations

from math import radians
from typing import Annotated, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.bounds import check_numbers, check_texts
from rtsim.config.models.place_schema import Name, NonNegative, Positive

MOST_STRENGTH_NM = 5000.0
Strength = Annotated[float, msgspec.Meta(gt=0.0, le=MOST_STRENGTH_NM)]
Angle = Annotated[float, msgspec.Meta(ge=-360.0, le=360.0)]
LEAST_RISE_DEG = 1.0
Turn = TypeVar("Turn", float, NDArray[np.float64])
"""An angle or (n,) angles [rad]."""


class TorqueGenerator(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One joint torque generator, which stands for all flexors or extensors of a joint: its strength and its
    curves; angles are positive in flexion, 0 in neutral standing (kernels/torque_generator).
    """

    source: str
    # how the numbers were derived, if they were not measured directly
    derivation: str = ""
    strength_Nm: Strength
    optimal_angle_deg: Angle
    # the lower bounds exclude numbers that were given in radians
    width_deg: Annotated[float, msgspec.Meta(ge=5.0, le=1000.0)]
    speed_deg_s: Annotated[float, msgspec.Meta(ge=60.0, le=1e4)]
    # torques as fractions of the isometric torque: lengthening at speed_deg_s, shortening at half of it
    lengthening: Annotated[float, msgspec.Meta(ge=1.05, le=3.0)]
    half_speed: Annotated[float, msgspec.Meta(ge=0.05, le=0.45)]
    # angles at which the passive torque begins, and at which it is as large as the isometric torque
    passive_zero_deg: Angle
    passive_one_deg: Angle
    # damping torque at the highest speed as a fraction of the passive torque, as in RBDL's muscle addon
    damping: NonNegative = 0.1
    # De Groote et al. (2016) Ann Biomed Eng 44, 2922-2936
    activation_ms: Positive = 15.0
    deactivation_ms: Positive = 60.0
    min_activation: Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)] = 0.0

    def __post_init__(self) -> None:
        if abs(self.passive_zero_deg - self.passive_one_deg) < LEAST_RISE_DEG:
            raise ValueError(
                f"passive_zero_deg and passive_one_deg are less than {LEAST_RISE_DEG:g} deg apart, "
                "between which the passive torque rises; move them apart"
            )


class JointGenerators(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A joint and its two antagonistic torque generators.

    coordinate : coordinate of the joint
    extensor, flexor : names of the generators
    flexion_sign : direction of the coordinate, -1 if it decreases in flexion
    offset_deg : value of the coordinate at which the generators' angle is 0 [deg]
    factor : angle on the generators' curves divided by the angle of the joint, and likewise for speeds; 2 if
        the curves are those of a motion, such as trunk flexion, that the model divides between two joints
    """

    coordinate: Name
    extensor: str
    flexor: str
    flexion_sign: Literal[-1, 1] = 1
    offset_deg: float = 0.0
    factor: Positive = 1.0

    @property
    def offset(self) -> float:
        """Value of the coordinate at which the generators' angle is 0 [rad]."""
        return radians(self.offset_deg)

    def flexion_of(self, theta: Turn) -> Turn:
        """Return the joint angle, positive in flexion [rad], for an angle theta on the axis of the
        generators' curves [rad].
        """
        return theta / self.factor + self.flexion_sign * self.offset

    def theta_of(self, flexion: Turn) -> Turn:
        """Return the angle on the axis of the generators' curves [rad] for a joint angle, positive in flexion
        [rad].
        """
        return self.factor * (flexion - self.flexion_sign * self.offset)


class GeneratorFit(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Fitted parameters of one torque generator at a joint; see `rtsim fit`. They scale, shift and blend its
    curves and scale its strength (Millard et al. 2019, eq. 8).

    strength_Nm : strength before the fit, if it differs from that of the set
    """

    strength_Nm: Strength | None = None
    angle_scale: Positive = 1.0
    speed_scale: Positive = 1.0
    passive_shift_deg: float = 0.0
    passive_blend: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.0
    strength_scale: Positive = 1.0

    @property
    def row(self) -> tuple[float, ...]:
        """Parameters of the fit: scales of angle s_A and speed s_V, shift Delta_P [rad] and blend lambda_P
        of the passive curve, scale of strength s_tau.
        """
        shift = radians(self.passive_shift_deg)
        return (self.angle_scale, self.speed_scale, shift, self.passive_blend, self.strength_scale)


class GeneratorSet(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Torque generators of a population or a person, and optionally the joints on which they act.

    base : a shipped set or a .toml file whose generators are extended or replaced
    columns : names of the columns of motion files that have no header
    fits : fits of generators at joints, by the names COORDINATE_extensor, COORDINATE_flexor
    velocity_blends_to : limit towards which the parameter lambda_V blends the torque-velocity curve: its
        eccentric maximum, as in the program of Millard et al. (RBDL, muscle addon) and so in the published
        fits, or one, as in the printed eq. 5 (Millard et al. 2019); by default that of the base, else
        eccentric
    """

    name: Name
    source: str
    base: str = ""
    generators: dict[str, TorqueGenerator] = {}
    joints: tuple[JointGenerators, ...] = ()
    columns: tuple[str, ...] = ()
    fits: dict[str, GeneratorFit] = {}
    velocity_blends_to: Literal["eccentric", "one", ""] = ""

    def __post_init__(self) -> None:
        check_numbers(self)
        check_texts(msgspec.to_builtins(self))
        names = [joint.coordinate for joint in self.joints]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"joints: {twice[0]} is listed twice; remove one entry")
        if not (self.base or self.generators):
            raise ValueError(
                "generators: no generators are given; add [generators.NAME], or base = the set to start from"
            )
