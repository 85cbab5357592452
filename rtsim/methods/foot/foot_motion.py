"""The recorded motion of a foot, corrected by splines over the contact, and the rotation of its toes; with
derivatives.

The correction consists of seven cubic splines with ten knots each, evenly spaced over the contact (Brown
2017, section 5.3.2). Three splines correct the position of the heel along X, Y and Z. Three correct the
orientation by successive rotations about X, then the rotated Y, then the rotated Z. The last one is the
rotation of the toes about their axis. The rates of the splines are added to the velocities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from kernels.contact.prescribed import N_MOTION, POSITION, SPEED, TURNED, TURNING
from kernels.contact.recorded import RecordedBodies, new_recorded
from rtsim.methods.foot.foot_parameters import Bounds, euler
from rtsim.methods.foot.foot_trial import FootTrial

Array = NDArray[np.float64]

N_SPLINE, N_KNOT = 7, 10
N_OWN = N_SPLINE * N_KNOT
PLACE, HEIGHT, TURN, TOE = slice(0, 3), 2, slice(3, 6), 6
"""Splines of a step."""
LARGEST_SHIFT, LARGEST_TURN, LARGEST_YAW = 0.002, 0.05, 0.3
"""Bounds of the correction [m], [rad]; about Z it may go down to -0.3 rad (section 5.3.2)."""
LARGEST_LIFT = 0.008
"""Bound of the constant shift of the heel's height that is fitted to a step with other markers [m]."""
TOE_RANGE = (-1.0, 1.6)
"""Range of the toes' rotation [rad]."""
SPLINE_SCALE = np.array([0.002, 0.002, 0.002, 0.05, 0.05, 0.05, 0.3])


class FootAndToes(NamedTuple):
    """Motion of foot and toes in n frames, and its derivatives.

    recorded : motion of both bodies, with the correction applied
    slopes : (n, 2 N_SPLINE, 2 N_MOTION) derivatives of the motion of both bodies (in the order of
        kernels/contact/prescribed) with respect to the splines' values, then to their rates
    """

    recorded: RecordedBodies
    slopes: Array


class StepMotion:
    """Foot motion of one step as a function of the knots of its splines.

    Parameters
    ----------
    trial : the step

    Attributes
    ----------
    value, rate : (n, N_KNOT) matrices by which the knots of a spline give its value and its rate in the n
      frames
    """

    def __init__(self, trial: FootTrial) -> None:
        self.trial = trial
        knots = np.linspace(trial.times[0], trial.times[-1], N_KNOT)
        spline = CubicSpline(knots, np.eye(N_KNOT))
        self.value: Array = spline(trial.times)
        self.rate: Array = spline(trial.times, 1)
        n = len(trial.times)
        self._recorded = new_recorded(n, 2)
        self._slopes = np.zeros((n, 2 * N_SPLINE, 2 * N_MOTION))
        for i in range(3):
            for body in (0, N_MOTION):
                self._slopes[:, i, body + POSITION + i] = 1.0
                self._slopes[:, N_SPLINE + i, body + SPEED + i] = 1.0

    def at(self, knots: Array) -> FootAndToes:
        """Compute the motion for knots (N_SPLINE, N_KNOT); the next call overwrites its arrays."""
        trial, out = self.trial, self._recorded
        s, s_dot = self.value @ knots.T, self.rate @ knots.T
        R_c, axes = euler(s[:, TURN])
        recorded_turn = np.einsum("nij,nj->ni", R_c, trial.turning)
        R = R_c @ trial.rotation
        turning = recorded_turn + np.einsum("nk,nki->ni", s_dot[:, TURN], axes)
        position, velocity = trial.position + s[:, PLACE], trial.velocity + s_dot[:, PLACE]
        arm = R @ trial.frame.toe_origin
        toe = R @ trial.frame.toe_axes
        hinge = toe[:, :, 0]
        bend, _ = euler(np.stack([s[:, TOE], np.zeros(len(s)), np.zeros(len(s))], axis=1))
        flexing = s_dot[:, TOE, None] * hinge
        out.position[:, 0], out.position[:, 1] = position, position + arm
        out.rotation[:, 0], out.rotation[:, 1] = R, toe @ bend
        out.velocity[:, 0], out.velocity[:, 1] = velocity, velocity + np.cross(turning, arm)
        out.turning[:, 0], out.turning[:, 1] = turning, turning + flexing
        self._turn_slopes(axes, recorded_turn, s_dot[:, TURN], arm, turning, flexing)
        toes = self._slopes[:, :, N_MOTION:]
        toes[:, TOE, TURNED : TURNED + 3] = hinge
        toes[:, N_SPLINE + TOE, TURNING : TURNING + 3] = hinge
        return FootAndToes(out, self._slopes)

    def _turn_slopes(
        self, axes: Array, recorded_turn: Array, rates: Array, arm: Array, turning: Array, flexing: Array
    ) -> None:
        """Write the derivatives of the motion of foot and toes with respect to the three correcting angles
        and their rates.

        axes : (n, 3, 3) axes of the angles, as rows; rates : (n, 3) rates of the angles
        recorded_turn : (n, 3) recorded angular velocity of the foot, rotated by the correction
        arm : (n, 3) vector from the heel to the toes' axis
        turning : (n, 3) corrected angular velocity of the foot
        flexing : (n, 3) angular velocity of the toes relative to the foot
        """
        foot, toes = self._slopes[:, :, :N_MOTION], self._slopes[:, :, N_MOTION:]
        for k in range(3):
            axis = axes[:, k]
            later = recorded_turn.copy()
            for m in range(k + 1, 3):
                later += rates[:, m, None] * axes[:, m]
            d_turning = np.cross(axis, later)
            d_arm = np.cross(axis, arm)
            by, by_rate = 3 + k, N_SPLINE + 3 + k
            foot[:, by, TURNED : TURNED + 3] = axis
            foot[:, by, TURNING : TURNING + 3] = d_turning
            toes[:, by, TURNED : TURNED + 3] = axis
            toes[:, by, TURNING : TURNING + 3] = d_turning + np.cross(axis, flexing)
            toes[:, by, POSITION : POSITION + 3] = d_arm
            toes[:, by, SPEED : SPEED + 3] = np.cross(d_turning, arm) + np.cross(turning, d_arm)
            foot[:, by_rate, TURNING : TURNING + 3] = axis
            toes[:, by_rate, TURNING : TURNING + 3] = axis
            toes[:, by_rate, SPEED : SPEED + 3] = d_arm

    def by_knots(self, slopes: Array) -> Array:
        """Convert derivatives with respect to the splines (n, 2 N_SPLINE, n_out) to those with respect to the
        knots.

        The result has the shape (n, n_out, N_SPLINE N_KNOT).
        """
        by_value, by_rate = slopes[:, :N_SPLINE], slopes[:, N_SPLINE:]
        found = np.einsum("nso,nk->nosk", by_value, self.value) + np.einsum(
            "nso,nk->nosk", by_rate, self.rate
        )
        return found.reshape(*found.shape[:2], N_SPLINE * N_KNOT)


def spline_bounds() -> Bounds:
    """Return the bounds of all knots of a step's motion correction, (N_SPLINE N_KNOT,)."""
    high = np.array([*(LARGEST_SHIFT,) * 3, *(LARGEST_TURN,) * 3, TOE_RANGE[1]])
    low = np.array([*(-LARGEST_SHIFT,) * 3, -LARGEST_TURN, -LARGEST_TURN, -LARGEST_YAW, TOE_RANGE[0]])
    return Bounds(np.repeat(low, N_KNOT), np.repeat(high, N_KNOT))
