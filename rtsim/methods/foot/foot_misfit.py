"""Misfit of a foot's contact in one footstep: residuals between simulation and measurement, and their
derivatives with respect to parameters and knots.

The sum of the squared residuals is the cost of Brown (2017, eq. 5.52) with the scale factors of table 5.3. A
centre of pressure is a moment divided by a force, so it is undefined when the simulated foot leaves the
ground. Below a force of 5 N its residual is therefore reduced smoothly to zero, and such frames are reported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.contact.parameter_slopes import N_PARAMETER
from kernels.contact.prescribed import N_MOTION, Prescribed
from kernels.contact.pressure_misfit import N_ROW, MeasuredPressure, new_misfit_work, pressure_misfit
from kernels.contact.recorded import new_recorded_work, recorded_derivatives, recorded_wrenches
from rtsim.methods.foot.foot_motion import N_KNOT, N_OWN, N_SPLINE, StepMotion
from rtsim.methods.foot.foot_parameters import BODY, N_CONTACT
from rtsim.methods.foot.foot_pressure import StepPressure
from rtsim.methods.foot.foot_trial import FootTrial

Array = NDArray[np.float64]

M_COP = 0.2
"""Scale of the centre of pressure: the distance over which it moves in a step [m] (table 5.3)."""
FADE = 5.0
"""Simulated force below which a centre of pressure loses its meaning [N]."""
BEARS_COP = 50.0
"""Least measured force at which centres of pressure are compared [N]: with an error of the plate's moment of
2.5 N m (docs/forces.md) the error is 50 mm there."""


UNFELT = StepPressure(np.zeros(0, np.int64), np.zeros((0, 2)), 0.0, np.zeros((0, 0)))
"""Pressure where none was measured."""


class Weights(NamedTuple):
    """Weights of the terms of the cost (Brown 2017, eq. 5.52): normal force, centre of pressure, pressure,
    friction, free moment. The defaults are those of Brown's fit without friction.
    """

    normal: float = 1.0
    cop: float = 1.0
    pressure: float = 0.1
    friction: float = 0.0
    spin: float = 0.0

    @property
    def rubs(self) -> bool:
        """Whether a friction term of the cost has a weight above zero."""
        return self.friction > 0.0 or self.spin > 0.0


class Scales(NamedTuple):
    """Scales by which the residuals of normal force, centre of pressure, friction and free moment are
    divided (Brown 2017, table 5.3).
    """

    normal: float  # [N]
    cop: float  # [m]
    friction: float  # [N]
    spin: float  # [N m]


class Simulated(NamedTuple):
    """Simulated contact of a foot in the n frames of a step.

    force : (n, 3) contact force [N]
    centre : (n, 2) centre of pressure [m]; NaN without contact
    free_moment : (n,) - about Z [N m]
    pressure : (n_pressed, n_cell) pressure at the measured cells [Pa]; None = not measured
    """

    force: Array
    centre: Array
    free_moment: Array
    pressure: Array | None


class Errors(NamedTuple):
    """Root mean square errors of a simulated step divided by their scales (Brown 2017, eqs 5.53 to 5.57):
    normal force, friction, centre of pressure, pressure, free moment (`spin`) [1]; NaN where there is nothing
    to compare. The errors of the centre of pressure along and across the foot are in metres; n_lost counts
    the frames in which only the plate, not the simulated foot, has contact.
    """

    normal: float
    friction: float
    cop: float
    cop_along: float  # its part along Y [m]
    cop_across: float  # its part along X [m]
    pressure: float
    spin: float
    n_lost: int  # frames in which the plate is loaded, but the simulated foot has no contact


def scales_of(trial: FootTrial) -> Scales:
    """Return the scales of a step's residuals (Brown 2017, table 5.3)."""
    most = np.max(trial.force[:, :2] ** 2, axis=0)
    spin = np.nanmax(np.abs(trial.free_moment))
    return Scales(trial.weight, M_COP, max(float(np.sqrt(most.sum())), 1e-9), max(float(spin), 1e-9))


class StepMisfit:
    """Residuals of one footstep, and their derivatives with respect to the 30 parameters and the knots.

    The pressure term of the cost, a sum of magnitudes, has no second derivative where a magnitude is zero; it
    is replaced by a quadratic upper bound. After a call of `slopes`, `curvature` is half the second
    derivative of this bound with respect to parameters and knots.

    Parameters
    ----------
    trial : the step
    weights : weights of the terms
    """

    def __init__(self, trial: FootTrial, weights: Weights, model: Prescribed) -> None:
        self.trial, self.weights, self.scales = trial, weights, scales_of(trial)
        self.motion = StepMotion(trial)
        n = len(trial.times)
        self._model, self._work = model, new_recorded_work(model, n, 2)
        self.bears = np.isfinite(trial.centre).all(axis=1) & (trial.force[:, 2] >= BEARS_COP)
        s, w = self.scales, weights
        self._normal = np.sqrt(w.normal / n) / s.normal
        self._cop = np.where(self.bears, np.sqrt(w.cop / max(1, self.bears.sum())) / s.cop, 0.0)
        self._friction = np.sqrt(w.friction / n) / s.friction
        self._spin = np.where(np.isfinite(trial.free_moment), np.sqrt(w.spin / n) / s.spin, 0.0)
        self._goal = np.nan_to_num(trial.centre)
        felt = trial.pressure if trial.pressure is not None else UNFELT
        self._measured = MeasuredPressure(felt.frames, felt.cells, felt.pressure, felt.area)
        self._pressed = new_misfit_work(self._measured, 2, N_CONTACT)
        self.curvature: Array = np.zeros((0, 0))
        self._pressure = np.sqrt(w.pressure / max(1, len(felt.frames))) / s.normal

    @property
    def with_pressure(self) -> bool:
        """Whether the pressure term of the cost has a weight above zero."""
        return self.trial.pressure is not None and self.weights.pressure > 0.0

    def values(self, knots: Array) -> Array:
        """Compute the residuals (m,) for knots (N_SPLINE, N_KNOT), with the contact parameters that the
        contact model holds at present.
        """
        recorded = self.motion.at(knots).recorded
        recorded_wrenches(self._model, recorded, self._work)
        rows = [*self._terms(self._work.wrench)]
        if self.with_pressure:
            pressure_misfit(self._model, recorded, self._measured, self._pressed, False)
            rows.append(self._pressure * self._pressed.misfit)
        return np.concatenate(rows)

    def slopes(self, knots: Array, change: Array) -> tuple[Array, Array]:
        """Compute the derivatives of `values` with respect to the parameters, (m, 30), and with respect to
        the knots, (m, N_SPLINE N_KNOT).

        knots : (N_SPLINE, N_KNOT) spline values that correct the motion
        change : (30, N_CONTACT N_PARAMETER) derivatives of the parameters of all contacts with respect to the
            30 parameters of the fit
        """
        motion = self.motion.at(knots)
        work = self._work
        recorded_derivatives(self._model, motion.recorded, work)
        n = len(work.wrench)
        by_wrench = self._by_wrench(work.wrench)
        n_out = by_wrench.shape[2]
        by_motion = work.by_motion.reshape(n, 2 * N_MOTION, 6) @ by_wrench
        by_parameter = work.by_parameter.reshape(n, N_CONTACT * N_PARAMETER, 6) @ by_wrench
        knot = self.motion.by_knots(motion.slopes @ by_motion).transpose(1, 0, 2)
        parameter = np.moveaxis(by_parameter, 2, 0) @ change.T
        knot, parameter = knot.reshape(n_out * n, -1), parameter.reshape(n_out * n, -1)
        if not self.with_pressure:
            return parameter, knot
        pressed, frames = self._pressed, self._measured.frames
        pressure_misfit(self._model, motion.recorded, self._measured, pressed, True)
        by_splines = motion.slopes[frames] @ pressed.by_motion.reshape(len(frames), -1)[:, :, None]
        of_knots = by_splines[:, :N_SPLINE] * self.motion.value[frames][:, None]
        of_knots = of_knots + by_splines[:, N_SPLINE:] * self.motion.rate[frames][:, None]
        of_parameters = pressed.by_parameter.reshape(len(frames), -1) @ change.T
        self._bend(motion.slopes[frames], change)
        return (
            np.vstack([parameter, self._pressure * of_parameters]),
            np.vstack([knot, self._pressure * of_knots.reshape(len(frames), N_SPLINE * N_KNOT)]),
        )

    def _bend(self, slopes: Array, change: Array) -> None:
        """Write `curvature`: the curvature of an upper bound of the pressure term with respect to parameters
        and knots, minus the part that the squared derivatives of the residuals contain.

        slopes : (n_pressed, 2 N_SPLINE, 2 N_MOTION) derivatives of the motion with respect to values and
            rates of the splines
        change : (30, N_CONTACT N_PARAMETER) derivatives of the contacts' parameters with respect to the 30
            parameters
        """
        frames, pressed, n = self._measured.frames, self._pressed, len(change)
        value, rate = self.motion.value[frames], self.motion.rate[frames]
        total = np.zeros((n + N_OWN, n + N_OWN))
        weight = self._pressure**2 * pressed.misfit / self._measured.area
        for e in range(N_CONTACT):
            of_body = slopes[:, :, BODY[e] * N_MOTION : (BODY[e] + 1) * N_MOTION]
            knot = np.einsum("fsm,fk->fskm", of_body[:, :N_SPLINE], value)
            knot += np.einsum("fsm,fk->fskm", of_body[:, N_SPLINE:], rate)
            rows = np.zeros((len(frames), n + N_OWN, N_ROW))
            rows[:, :n, :N_PARAMETER] = change[:, e * N_PARAMETER : (e + 1) * N_PARAMETER]
            rows[:, n:, N_PARAMETER:] = knot.reshape(len(frames), N_OWN, N_MOTION)
            half = rows @ (weight[:, None, None] * pressed.curvature[:, e])
            total += np.einsum("fim,fjm->ij", half, rows, optimize=True)
        self.curvature = total

    def _terms(self, wrench: Array) -> list[Array]:
        """Compute the residuals (n,) of normal force, centre of pressure and, if they have a weight, friction
        and free moment, from the wrenches (n, 6) of the foot's contact about the origin [N m, N].
        """
        t = self.trial
        M, F = wrench[:, :3], wrench[:, 3:]
        fade = self._cop / np.hypot(F[:, 2], FADE)
        terms = [
            self._normal * (F[:, 2] - t.force[:, 2]),
            fade * (-M[:, 1] - self._goal[:, 0] * F[:, 2]),
            fade * (M[:, 0] - self._goal[:, 1] * F[:, 2]),
        ]
        if self.weights.rubs:
            terms += [self._friction * (F[:, i] - t.force[:, i]) for i in range(2)]
            terms.append(self._spin * (self._free_moment(wrench) - np.nan_to_num(t.free_moment)))
        return terms

    def _by_wrench(self, wrench: Array) -> Array:
        """Compute the derivatives (n, 6, n_out) of the residuals of normal force, centre of pressure,
        friction and free moment with respect to the wrenches (n, 6) of the foot's contact.
        """
        M, F = wrench[:, :3], wrench[:, 3:]
        size = np.hypot(F[:, 2], FADE)
        fade, bend = self._cop / size, -self._cop * F[:, 2] / size**3
        found = np.zeros((len(wrench), 6, 6 if self.weights.rubs else 3))
        found[:, 5, 0] = self._normal
        found[:, 1, 1], found[:, 0, 2] = -fade, fade
        found[:, 5, 1] = bend * (-M[:, 1] - self._goal[:, 0] * F[:, 2]) - fade * self._goal[:, 0]
        found[:, 5, 2] = bend * (M[:, 0] - self._goal[:, 1] * F[:, 2]) - fade * self._goal[:, 1]
        if self.weights.rubs:
            found[:, 3, 3] = found[:, 4, 4] = self._friction
            square = size * size
            share, turned = F[:, 2] / square, M[:, 0] * F[:, 0] + M[:, 1] * F[:, 1]
            for i in range(2):
                found[:, i, 5] = self._spin * F[:, i] * share
                found[:, 3 + i, 5] = self._spin * M[:, i] * share
            found[:, 2, 5] = self._spin
            found[:, 5, 5] = self._spin * turned * (1.0 / square - 2.0 * share * share)
        return found

    def _free_moment(self, wrench: Array) -> Array:
        """Return the moment about Z through the centre of pressure (n,) [N m]; at small forces the
        contribution of that centre's position is reduced smoothly to zero.
        """
        M, F = wrench[:, :3], wrench[:, 3:]
        share = F[:, 2] / (F[:, 2] ** 2 + FADE**2)
        return np.asarray(M[:, 2] + share * (M[:, 0] * F[:, 0] + M[:, 1] * F[:, 1]))

    def simulate(self, knots: Array) -> Simulated:
        """Simulate the contact forces and pressures of the step, with its motion corrected by the knots
        (N_SPLINE, N_KNOT).
        """
        recorded = self.motion.at(knots).recorded
        recorded_wrenches(self._model, recorded, self._work)
        wrench = self._work.wrench.copy()
        pressure = None
        if self.trial.pressure is not None:
            pressure_misfit(self._model, recorded, self._measured, self._pressed, False)
            pressure = self._pressed.pressure.copy()
        with np.errstate(invalid="ignore", divide="ignore"):
            over = np.where(wrench[:, 5] > 0.0, 1.0 / wrench[:, 5], np.nan)
        centre = np.stack([-wrench[:, 1] * over, wrench[:, 0] * over], axis=1)
        return Simulated(wrench[:, 3:], centre, self._free_moment(wrench), pressure)

    def errors(self, found: Simulated) -> Errors:
        """Compute the relative errors of force, centre of pressure, pressure and free moment of a step (Brown
        2017, eqs 5.53 to 5.57).

        The errors of the centre of pressure are taken over the frames in which both the plate and the
        simulated foot have a centre of pressure.
        """
        t, s = self.trial, self.scales
        held = self.bears & (found.force[:, 2] > FADE)
        off = found.centre[held] - t.centre[held]
        along, across = (rms(off[:, 1]), rms(off[:, 0])) if held.any() else (np.nan, np.nan)
        pressure = np.nan
        if t.pressure is not None and found.pressure is not None:
            misfit = t.pressure.area * np.abs(found.pressure - t.pressure.pressure).sum(axis=1)
            pressure = rms(misfit) / s.normal
        known = np.isfinite(t.free_moment)
        return Errors(
            normal=rms(found.force[:, 2] - t.force[:, 2]) / s.normal,
            friction=rms(np.linalg.norm(found.force[:, :2] - t.force[:, :2], axis=1)) / s.friction,
            cop=float(np.hypot(along, across)) / s.cop,
            cop_along=along,
            cop_across=across,
            pressure=pressure,
            spin=rms((found.free_moment - t.free_moment)[known]) / s.spin,
            n_lost=int((self.bears & ~held).sum()),
        )


def rms(values: Array) -> float:
    """Return the root mean square of differences."""
    return float(np.sqrt(np.mean(values**2)))
