"""A device with a joint centre off the limb's: the angle that it measures, and the forces that it exerts.

Consider the plane at right angles to the axis of a hinge, with the limb's joint at the origin. The device
holds the moving segment by a cuff; e(theta) is the direction from the joint to the cuff, r the distance, and
n the direction at right angles to e. The device's joint is at d, fixed in the other segment. A bar of the
device goes from d to the cuff, which slides along it:

    r e(theta) - d = rho e(phi),    phi = theta - atan2(n . d, r - e . d),    rho = |r e - d|

with d(rho)/d(theta) = -r (n . d) / rho and the ratio J = d(phi)/d(theta) = r (r - e . d) / rho^2. The angle
that the device measures is phi minus its value at theta = 0, so that it is zero where the limb's angle is. A
torque tau of the device is a force tau/rho across the bar at the cuff; its virtual work is tau d(phi), so it
is the torque J tau about the limb's joint, and its power is the same at both joints: tau phi' = J tau theta'.
Straps that hold the cuff act as a spring along the bar with the force k (rho - rho at theta = 0). The torque
of the device does not include this force on the limb. The force has a potential, so it generates no energy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rtsim.config.runs.hil_schema import MisalignmentSpec
from rtsim.errors import ConfigError

NEAREST = 0.5
"""Largest distance of the joints of device and limb, relative to the cuff's distance: beyond it the bar of
the device would rotate much faster than the limb."""
N_LOOK = 721
"""Number of angles at which the largest ratio is searched."""
Triple = tuple[float, float, float]


class Worst(NamedTuple):
    """Largest values over a range of angles: of the ratio J of the speeds of the device's and the limb's
    joint [1], and of the size of dJ/d(theta) [1/rad], where theta is the angle of the limb's joint.
    """

    ratio: float
    slope: float


class Misalignment:
    """The offset of the device's joint from the limb's joint, a hinge.

    Parameters
    ----------
    spec : positions of the cuff and of the device's joint relative to the limb's joint, in the axes of the
        body that the hinge carries, at angle zero
    where : name of the config table, for a ConfigError
    axis : (3,) axis of the hinge

    Attributes
    ----------
    rest : distance from the device's joint to the cuff at angle zero [m]; straps are then not stretched
    stiffness : stiffness of the straps along the line from the device's joint to the cuff [N/m]
    """

    def __init__(self, spec: MisalignmentSpec, axis: Sequence[float], where: str) -> None:
        self._axis = unit(axis)
        held = self.in_plane(spec.cuff_mm)
        e = unit(held) if any(held) else held
        n = cross(self._axis, e)
        self._along, self._beside = (1e-3 * dot(spec.offset_mm, way) for way in (e, n))
        self._cuff, self.stiffness = 1e-3 * dot(held, e), spec.stiffness_N_m
        apart = math.hypot(self._along, self._beside)
        if not apart < NEAREST * self._cuff:
            raise ConfigError(
                f"the device's joint is {1e3 * apart:.3g} mm from the limb's joint, and the cuff is "
                f"{1e3 * self._cuff:.3g} mm from the limb's joint, both measured across the axis",
                where=where,
                allowed=f"a distance between the two joints of less than {NEAREST:g} times that of the cuff",
            )  # fmt: skip
        self._zero = math.atan2(self._beside, self._cuff - self._along)
        self.rest = math.hypot(self._cuff - self._along, self._beside)

    def in_plane(self, place: Sequence[float]) -> Triple:
        """Return the component of a point (3,) perpendicular to the axis."""
        x, y, z = self._axis
        along = dot(place, self._axis)
        return place[0] - along * x, place[1] - along * y, place[2] - along * z

    def angle(self, angle: float) -> float:
        """Return the angle that the device measures at an angle of the limb's joint [rad]; both are zero in
        the same pose.
        """
        forward, beside = self._bar(angle)
        return angle - math.atan2(beside, forward) + self._zero

    def ratio(self, angle: float) -> float:
        """Return the ratio of the device's joint speed to the limb's [1], at an angle of the limb's joint
        [rad]. The torque on the limb's joint is this ratio times that of the device.
        """
        forward, beside = self._bar(angle)
        return self._cuff * forward / (forward * forward + beside * beside)

    def forces(self, angle: float, torque: float) -> tuple[float, float]:
        """Return the two components of the force on the limb at the cuff [N], at the limb's angle [rad].

        The bar of the device leads from the device's joint to the cuff, which slides along it. The first
        component is at right angles to the bar and comes from the device's torque [N m]. The second is along
        the bar, positive away from the device's joint, and comes from the elastic straps.
        """
        reach = math.hypot(*self._bar(angle))
        return torque / reach, -self.stiffness * (reach - self.rest)

    def worst(self, low: float, high: float) -> Worst:
        """Return the largest ratio J of the joint speeds of device and limb, and the largest size of
        dJ/d(theta) [1/rad], over a range of the angle theta of the limb's joint, from low to high [rad].
        """
        step = (high - low) / (N_LOOK - 1)
        ratios = [self.ratio(low + k * step) for k in range(N_LOOK)]
        return Worst(max(ratios), max(abs(b - a) for a, b in pairwise(ratios)) / step)

    def _bar(self, angle: float) -> tuple[float, float]:
        """Return two lengths at an angle of the limb's joint [rad]: the distance from the device's joint to
        the cuff along the limb's arm, r - e . d, and the offset of the device's joint across this arm, n . d
        [m]. The symbols are those of the module's docstring.
        """
        c, s = math.cos(angle), math.sin(angle)
        return self._cuff - c * self._along - s * self._beside, c * self._beside - s * self._along


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """Dot product of two vectors (3,)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Sequence[float], b: Sequence[float]) -> Triple:
    """Cross product of two vectors (3,)."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def unit(a: Sequence[float]) -> Triple:
    """Return the direction of a vector (3,)."""
    size = math.sqrt(dot(a, a))
    return a[0] / size, a[1] / size, a[2] / size
