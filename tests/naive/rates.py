"""Filters by SciPy's transfer functions and NumPy's polynomials, one channel at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import signal
from scipy.spatial.transform import Rotation

Array = NDArray[np.floating]


def butterworth(order: int, cutoff: float, rate: float, x: Array) -> Array:
    """Return value, speed and acceleration (n, 3) of a channel (n,), at rest on its first number.

    The analog filter is prewarped; s and s^2 times its transfer function go through the same bilinear
    transform.
    """
    w = 2.0 * rate * np.tan(np.pi * cutoff / rate)
    _, poles, gain = signal.butter(order, w, analog=True, output="zpk")
    columns = []
    for derivative in range(3):
        digital = signal.bilinear_zpk(np.zeros(derivative), poles, gain, rate)
        columns.append(signal.sosfilt(signal.zpk2sos(*digital), x - x[0]))
    columns[0] += x[0]
    return np.stack(columns, axis=1)


def polynomial(t: Array, x: Array, order: int, read: float) -> Array:
    """Return value, slope and curvature (3,) at time read of the least-squares polynomial through (t, x)."""
    fitted = np.polynomial.Polynomial.fit(t, x, order)
    return np.array([fitted.deriv(d)(read) if d else fitted(read) for d in range(3)])


def there_and_back(order: int, cutoff: float, rate: float, x: Array, n_pad: int) -> Array:
    """Return a channel (n,) after a Butterworth filter forwards and backwards, the ends reflected."""
    sos = signal.butter(order, cutoff, fs=rate, output="sos")
    return signal.sosfiltfilt(sos, x, padtype="odd", padlen=n_pad)


def turned(fitted: Sequence[np.polynomial.Polynomial], t: float) -> Rotation:
    """Return the rotation whose rotation vector three polynomials give at a time."""
    return Rotation.from_rotvec([f(t) for f in fitted])


def turning_rates(at: Callable[[float], Rotation], t: float, step: float = 1e-3) -> tuple[Array, Array]:
    """Return angular velocity and acceleration (3,), in the turned frame, by differences of rotations."""

    def velocity(s: float) -> Array:
        short = 0.1 * step
        return (at(s - short).inv() * at(s + short)).as_rotvec() / (2.0 * short)

    return velocity(t), (velocity(t + step) - velocity(t - step)) / (2.0 * step)
