"""Volumetric contact of an ellipsoid with a plane: closed forms, the thesis' own form, and a sum over slices.

Everything in the ellipsoid's own axes: radii (3,), n the plane's unit normal, of which the ellipsoid lies on
the positive side, and d the depth in parts of h = |S n|, S = diag(radii): 0 = touching, 2 = swallowed.
Brown (2017), MASc thesis, University of Waterloo, chapter 5; deviations are named where they are made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


class Patch(NamedTuple):
    """The part of an ellipsoid that lies beyond a plane."""

    volume: float  # [m^3]
    centroid: Array  # (3,) from the ellipsoid's centre [m]
    second: Array  # (3, 3) - about the centroid, flattened along the normal into the plane [m^5]

    @property
    def J(self) -> Array:
        """Return the weighted second moment of area (3, 3) as of an inertia [m^5]."""
        return np.trace(self.second) * np.eye(3) - self.second


def height(radii: Array, n: Array) -> float:
    """Return h = |S n|: how far the ellipsoid reaches towards the plane [m]."""
    return float(np.linalg.norm(radii * n))


def depth(radii: Array, n: Array, p: Array) -> float:
    """Return d for a plane through the point p, eqs 5.1, 5.10, 5.13."""
    in_sphere, normal = p / radii, radii * n
    return float(1.0 + in_sphere @ normal / np.linalg.norm(normal))


def patch(radii: Array, n: Array, d: float) -> Patch:
    """Return the patch; volume and centroid by eqs 5.2, 5.4, 5.15, 5.17.

    The second moment is that of the spherical cap, J_n/2 across its axis and m along it, stretched by S and
    then projected at right angles to the plane.
    """
    a, b, c = radii
    S = np.diag(radii)
    n_S = S @ n / np.linalg.norm(S @ n)
    c_S = -3.0 * (d - 2.0) ** 2 / (4.0 * d - 12.0)
    across = normal_moment(d) / 2.0
    along = np.pi * d**4 * (3.0 * d**2 - 24.0 * d + 40.0) / (240.0 * (3.0 - d))
    cap = across * (np.eye(3) - np.outer(n_S, n_S)) + along * np.outer(n_S, n_S)
    P = np.eye(3) - np.outer(n, n)
    return Patch(volume(radii, d), -c_S * S @ n_S, a * b * c * P @ S @ cap @ S @ P)


def volume(radii: Array, d: float) -> float:
    """Return V, eqs 5.2 and 5.15 [m^3]."""
    return float(-np.prod(radii) * np.pi * d**2 * (d - 3.0) / 3.0)


def normal_moment(d: float) -> float:
    """Return J_n of the unit sphere's cap, eq. 5.5."""
    return np.pi * d**3 * (3.0 * d**2 - 15.0 * d + 20.0) / 30.0


def thesis_J(radii: Array, n: Array, d: float) -> Array:
    """Return J (3, 3) by eqs 5.28-5.37 as printed: the flat patch of the sphere, stretched with it.

    The cap is flattened along S n before it is stretched, which is a projection along S^2 n afterwards: exact
    for a sphere and for a normal on an axis of the ellipsoid, else an approximation.
    """
    n_S = radii * n / height(radii, n)
    flat = normal_moment(d) / 2.0 * (np.eye(3) + np.outer(n_S, n_S))  # eq. 5.36 turned into S
    return stretched(flat, *radii)


def stretched(J: Array, a: float, b: float, c: float) -> Array:
    """Return a second moment (3, 3) after stretching its axes, eqs 5.28-5.33."""
    xx, yy, zz = (0.5 * (J[0, 0] + J[1, 1] + J[2, 2]) - J[i, i] for i in range(3))
    found = np.diag([b**2 * yy + c**2 * zz, a**2 * xx + c**2 * zz, a**2 * xx + b**2 * yy])
    for (i, j), scale in {(0, 1): a * b, (0, 2): a * c, (1, 2): b * c}.items():
        found[i, j] = found[j, i] = scale * J[i, j]
    return a * b * c * found


def patch_by_slices(radii: Array, n: Array, d: float, n_slice: int = 8, n_ray: int = 400) -> Patch:
    """Return the patch by adding up slices parallel to the plane, each by rays from a point inside it.

    Along a normal coordinate area and moments of the slices are polynomials, which Gauss sums up exactly;
    round a slice the rays' trapezoidal rule converges faster than any power. No closed form is used.
    """
    u, w = plane_axes(n)
    metric = np.diag(radii**-2.0)
    h = height(radii, n)
    nodes, weights = np.polynomial.legendre.leggauss(n_slice)
    angle = 2.0 * np.pi * np.arange(n_ray) / n_ray
    rays = np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * w
    V, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for node, weight in zip(nodes, weights, strict=True):
        level = -h + 0.5 * d * h * (1.0 + node)
        inside = innermost(metric, level * n, u, w)
        # inside + r ray lies on the ellipsoid: A r^2 + 2 B r + C = 0
        A = np.einsum("ij,jk,ik->i", rays, metric, rays)
        B, C = rays @ metric @ inside, inside @ metric @ inside - 1.0
        r = (-B + np.sqrt(B**2 - A * C)) / A
        share = 0.5 * d * h * weight * 2.0 * np.pi / n_ray
        area, reach = share * np.sum(r**2) / 2.0, share * (r**3 / 3.0) @ rays
        V += area
        first += area * inside + reach
        around = share * np.einsum("i,ij,ik->jk", r**4 / 4.0, rays, rays)
        second += around + np.outer(inside, reach) + np.outer(reach, inside) + area * np.outer(inside, inside)
    centroid = first / V
    P = np.eye(3) - np.outer(n, n)
    return Patch(V, centroid, P @ (second - V * np.outer(centroid, centroid)) @ P)


def plane_axes(n: Array) -> tuple[Array, Array]:
    """Return two unit vectors square to n and to each other."""
    u = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    u /= np.linalg.norm(u)
    return u, np.cross(n, u)


def innermost(metric: Array, x: Array, u: Array, w: Array) -> Array:
    """Return the point of the plane x + span(u, w) that is deepest inside the ellipsoid of a metric."""
    axes = np.column_stack([u, w])
    return x - axes @ np.linalg.solve(axes.T @ metric @ axes, axes.T @ metric @ x)


def energy(k_V: float, radii: Array, n: Array, d: float) -> float:
    """Return the energy stored in the volume: k_V times its first moment about the plane [J].

    The volume is an elastic foundation whose columns push by k_V times their depth; half the depth squared,
    added up over the plane, is the first moment of the volume.
    """
    found = patch(radii, n, d)
    level = -height(radii, n) * (1.0 - d)
    return float(k_V * found.volume * (level - found.centroid @ n))


def normal_force(k_V: float, damping: float, V: float, v_n: float) -> float:
    """Return F_n, eq. 5.44 with v_n = v_c . n positive where the bodies part, a_V = -damping, and no pull."""
    return k_V * V * max(0.0, 1.0 - damping * v_n)


def rolling_torque(k_V: float, damping: float, J: Array, w_t: Array) -> Array:
    """Return the torque on the ellipsoid (3,) by eq. 5.45, a_V = -damping, w_t the turning in the plane."""
    return k_V * -damping * J @ w_t


def spinning_torque(F_t: float, r_g: float, n: Array) -> Array:
    """Return the torque on the ellipsoid (3,); F_t : friction at the angular velocity w_n, by eq. 5.51 [N].

    Eq. 5.50, mu F_n J/V, is N m^2; the radius r_g = sqrt(J_nn/V) in its place makes it a torque.
    """
    return -F_t * r_g * n


def gyration(J: Array, V: float, n: Array) -> float:
    """Return r_g = sqrt(J_nn/V) [m]."""
    return float(np.sqrt(n @ J @ n / V))
