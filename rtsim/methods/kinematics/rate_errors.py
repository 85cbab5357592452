"""Standard deviations of filtered coordinates, their speeds and accelerations (docs/uncertainty.md).

Persistent errors of markers vary with the gait cycle. Their correlation falls with the time t between two
frames as exp(-t^2 / (2 T^2)), so that the speed at which such an error changes is its size divided by T.
Noise is white. Let h be the impulse response of a filter, with values, speeds and accelerations as columns.
The variance of each kind of error is h' R h, where R is the matrix of the correlations between frames; for
noise R is the identity. Bendat and Piersol 2010, Random Data, chapter 6 (linear systems with random input).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernels.joints.tree import Tree
from kernels.rates.manifold import Rates
from kernels.uncertainty.covariance_factor import ThreePoses
from rtsim.config.runs.rate_schema import RateSpec
from rtsim.methods.kinematics.deviations import MethodDeviations
from rtsim.methods.kinematics.rates import impulse_response
from rtsim.models.packing.joints import rotations

Array = NDArray[np.float64]

LASTING, NOISE = 0, 1
"""Kinds of errors."""
VALUE, SPEED, ACCELERATION = 0, 1, 2
MOST_CORRELATED = 6.0
"""Multiple of T beyond which persistent errors count as independent: exp(-18) is 1.5e-8."""


@lru_cache(maxsize=16)
def products(spec: RateSpec, rate: float, time: float) -> Array:
    """Compute the covariance matrix of value, speed and acceleration after a filter, (2, 3, 3), for an input
    with an error of standard deviation 1.

    The first index is LASTING (time constant `time` [s]) or NOISE; rate : rate of the frames [Hz]
    """
    h = impulse_response(spec, rate)
    reach = min(int(MOST_CORRELATED * time * rate), len(h) - 1)
    correlation = np.exp(-0.5 * (np.arange(-reach, reach + 1) / (rate * time)) ** 2)
    smooth = np.array([np.convolve(column, correlation)[reach : reach + len(h)] for column in h.T])
    return np.array([smooth @ h, h.T @ h])


class RateDeviations:
    """Standard deviations of one session's filtered coordinates, speeds and accelerations; NaN before there
    is a filtered motion.

    tree : joint tree of the model
    spec, rate : the filter and its frame rate [Hz]
    time : time constant of persistent errors [s]
    apart : interval between poses for the rates of errors [s]: 1 / (root mean square frequency of the
        filter's pass band [rad/s]), as the filter does not pass faster changes
    q : (n_q,) standard deviations of the coordinates [rad, m, 1]
    v, v_dot : (n_v,) those of the speeds and accelerations, in the order of kernels/rates/manifold.Rates
    """

    def __init__(self, tree: Tree, spec: RateSpec, rate: float, time: float) -> None:
        self.products = products(spec, rate, time)
        passed = self.products[NOISE]
        self.apart = math.sqrt(passed[VALUE, VALUE] / passed[SPEED, SPEED])
        n_q, n_v = int(tree.q_start[-1]), len(tree.dof_body)
        self.q, self.v, self.v_dot = np.full(n_q, math.nan), np.full(n_v, math.nan), np.full(n_v, math.nan)
        self._newest: tuple[Array, ThreePoses] | None = None
        self._mean, self._n_mean, self._time, self._told = np.zeros((3, n_v)), 0, math.nan, (0, b"")
        self._turns = [(int(q), int(v)) for _, q, v in rotations(tree)]
        of_turns = {q + k for q, _ in self._turns for k in range(4)}
        dofs_of_turns = {v + k for _, v in self._turns for k in range(3)}
        self._plain_q = np.array([q for q in range(n_q) if q not in of_turns], np.int64)
        self._plain_v = np.array([v for v in range(n_v) if v not in dofs_of_turns], np.int64)

    def forget(self) -> None:
        """Discard the filtered motion and its deviations."""
        self._newest, self._n_mean = None, 0
        for array in (self.q, self.v, self.v_dot):
            array[:] = math.nan

    def update(self, found: MethodDeviations, rates: Rates, time: float) -> None:
        """Compute the deviations of the rates from the newest covariance, in a filtered motion at a time [s].

        The variances are averaged over the time `average_s` of the settings, as long as the same markers are
        used. The reason: where a coordinate of a mechanism reverses, its derivative vanishes, and the errors
        at nearby poses matter as well (kernels/uncertainty/deviation).

        An error e of marker positions on the bodies causes an error S e of the tangent coordinates. S changes
        while the skeleton moves, so the rates have the error S e' + S' e, and accelerations accordingly. In a
        joint that rotates with the angular velocity w in the child's frame, an error d of the coordinates
        changes at the rate d' + w x d, so that its acceleration has the error d'' + w x d' + w' x d. The
        deviations are NaN if poses of the motion are not determined.
        """
        columns = found.columns(*rates, self.apart)
        if columns is None or math.isnan(found.covariance[0, 0]):
            self.forget()
            return
        self._newest = columns, found.course
        before, S, after = columns
        turning, more, gain = self._carried(rates.v), self._carried(rates.v_dot), self.products
        first, second = (after - before) / (2.0 * self.apart), (after - 2.0 * S + before) / self.apart**2
        was = turning @ S
        by_rate, by_value = 2.0 * first + was, second + turning @ first + more @ S
        # errors and their rates at one time are independent, an error and the rate of its rate are not
        speed = gain[:, 0, :1] * squares(first + was) + gain[:, 1, 1:2] * squares(S)
        acceleration = gain[:, 0, :1] * squares(by_value) + gain[:, 1, 1:2] * squares(by_rate)
        acceleration += 2.0 * gain[:, 0, 2:] * (by_value * S).sum(axis=2) + gain[:, 2, 2:] * squares(S)
        noise = found.noise_covariance
        C = np.array([found.covariance - noise, noise])
        squared = (gain[:, 0, :1] * C.diagonal(axis1=1, axis2=2), speed, acceleration)
        self._average(found, time, [np.maximum(each.sum(axis=0), 0.0) for each in squared])
        value, self.v[:], self.v_dot[:] = np.sqrt(self._mean)
        self.q[self._plain_q] = value[self._plain_v]
        for at_q, at_v in self._turns:
            slopes, block = quaternion_slopes(rates.q[at_q : at_q + 4]), slice(at_v, at_v + 3)
            square = (gain[:, :1, :1] * C[:, block, block]).sum(axis=0)
            self.q[at_q : at_q + 4] = np.sqrt(np.maximum(((slopes @ square) * slopes).sum(axis=1), 0.0))

    def _average(self, found: MethodDeviations, time: float, squared: list[Array]) -> None:
        """Add variances (3, n_v) to their running mean.

        The mean restarts when the set of markers or the method changes. It also restarts in every frame in
        which dofs are held, as their uncertainty grows from frame to frame.
        """
        told, constant = (id(found), found.state.pose.seen.tobytes()), found.stated.average_s
        since, self._time = time - self._time, time
        if told != self._told or found.state.held_for.any() or not 0.0 < since < constant:
            self._told, self._n_mean = told, 0
        self._n_mean += 1
        if self._n_mean == 1:
            self._mean[:] = squared
        else:
            self._mean += max(1.0 / self._n_mean, since / constant) * (np.array(squared) - self._mean)

    def _carried(self, v: Array) -> Array:
        """Return the matrix (n_v, n_v) that maps errors d of the coordinates to w x d for every rotation with
        angular velocity (or acceleration) w in v : (n_v,); zero elsewhere.
        """
        carried = np.zeros((len(v), len(v)))
        for _, d in self._turns:
            x, y, z = v[d : d + 3]
            carried[d : d + 3, d : d + 3] = (0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)
        return carried

    @property
    def known(self) -> bool:
        """Whether there is a filtered motion whose poses are determined."""
        return self._newest is not None

    def speeds_of(self, slopes_at: Callable[[Array], Array]) -> Array:
        """Compute the standard deviations (n,) of the rates of n quantities that depend on the pose.

        An error e of marker positions causes the error S e of the tangent coordinates, and F S e of the
        quantities. So their rates have the error F S e' + (F S)' e, where ' is the derivative with respect to
        time.

        slopes_at : function of coordinates (n_q,) that returns the derivatives F : (n, n_v) of the quantities
            with respect to the dofs
        """
        assert self._newest is not None
        columns, course = self._newest
        before, now, after = (slopes_at(q) @ S for q, S in zip(course.pose, columns, strict=True))
        gain = self.products
        first = squares(after - before) / (2.0 * self.apart) ** 2
        return np.asarray(np.sqrt((gain[:, 0, :1] * first + gain[:, 1, 1:2] * squares(now)).sum(axis=0)))


def squares(rows: Array) -> Array:
    """Return the sums of squares (..., n) along the last axis of rows (..., n, m)."""
    return np.asarray((rows * rows).sum(axis=-1))


def quaternion_slopes(q: Array) -> Array:
    """Return (4, 3) derivatives of a unit quaternion w, x, y, z with respect to rotations about the child's
    axes."""
    w, x, y, z = q
    return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
