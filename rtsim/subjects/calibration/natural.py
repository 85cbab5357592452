"""Natural coordinates, in which the anatomy is defined: segment parameters and the orthonormal frame of a
segment.

A segment is two points and two unit directions, Q = [u, rP, rD, w], with v = rP - rD (Dumas and Cheze 2007;
Sancisi et al. 2017, eq. 2). Its parameters are means over frames (eqs 12, 13); a rigid segment with those
parameters has the orthonormal frame of eq. 15: X along u, v in the X-Y plane, origin rP.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Segment:
    """Parameters of one segment in natural coordinates: its length [m], and the angles [rad] between its
    directions u (forwards), v (from the distal to the proximal end) and w (to the right) (Sancisi et al.
    2017, eq. 12).
    """

    length: float
    alpha: float  # between v and w
    beta: float  # between u and w
    gamma: float  # between u and v

    def basis(self) -> Array:
        """Return the matrix B (3, 3) with columns u, v [m], w in the orthonormal segment frame (Sancisi et
        al. 2017, eq. 15).
        """
        ca, cb, cg = np.cos([self.alpha, self.beta, self.gamma])
        sg = np.sin(self.gamma)
        wy = (ca - cb * cg) / sg
        return np.array(
            [
                [1.0, self.length * cg, cb],
                [0.0, self.length * sg, wy],
                [0.0, 0.0, np.sqrt(max(0.0, 1.0 - cb**2 - wy**2))],
            ]
        )

    def axes(self, primary: str, secondary: str) -> Array:
        """Return orthonormal axes (3, 3) of the segment, as columns X, Y, Z for its directions u, v, w.

        primary, secondary : two of the names "u", "v", "w". The axis of the primary direction has exactly
            this direction, that of the secondary one is made perpendicular to it in the plane of both, and
            the third axis is the normal of this plane.
        """
        basis = self.basis()
        p, s = "uvw".index(primary), "uvw".index(secondary)
        third = 3 - p - s
        sign = 1.0 if (s - p) % 3 == 1 else -1.0
        axes = np.empty((3, 3))
        axes[:, p] = unit(basis[:, p])
        axes[:, third] = sign * unit(np.cross(basis[:, p], basis[:, s]))
        axes[:, s] = sign * np.cross(axes[:, third], axes[:, p])
        return axes


def unit(x: Array) -> Array:
    """Return x scaled to unit length along its last axis; NaN where its length is 0."""
    with np.errstate(invalid="ignore"):
        return x / np.linalg.norm(x, axis=-1, keepdims=True)


def segment_parameters(Q: Array) -> Segment:
    """Return the length and the angles between u, v, w of a segment, means over the frames without NaN.

    Q : (n_frame, 4, 3) = u, rP, rD, w [m] (Sancisi et al. 2017, eq. 12)
    """
    u, r_p, r_d, w = np.moveaxis(Q[known_frames(Q)], 1, 0)
    v = r_p - r_d
    length = np.linalg.norm(v, axis=1)
    return Segment(
        float(length.mean()),
        float(np.arccos(np.sum(v * w, 1) / length).mean()),
        float(np.arccos(np.sum(u * w, 1)).mean()),
        float(np.arccos(np.sum(u * v, 1) / length).mean()),
    )


def known_frames(x: Array) -> NDArray[np.bool_]:
    """Return a mask (n_frame,) of the frames in which x : (n_frame, ., .) has no NaN."""
    return np.all(np.isfinite(x), axis=(1, 2))


def local_points(Q: Array, segment: Segment, points: Array) -> Array:
    """Return the mean local coordinates of points in the frame of a segment, (n_point, 3) [m].

    Q : (n_frame, 4, 3) natural coordinates u, rP, rD, w of the segment
    points : (n_frame, n_point, 3) in ground [m]

    Points are projected non-orthogonally onto u, v, w frame by frame (Sancisi et al. 2017, eq. 13), averaged
    over the frames that show the point and the segment, and multiplied by the matrix B, whose columns are u,
    v, w in the segment frame (eq. 15). A point that is never visible is NaN.
    """
    u, r_p, r_d, w = np.moveaxis(Q, 1, 0)
    bases = np.stack([u, r_p - r_d, w], axis=2)
    gap = points - r_p[:, None, :]
    known = known_frames(bases)
    n = np.full(gap.shape, np.nan)
    n[known] = np.einsum("fij,fpj->fpi", np.linalg.inv(bases[known]), gap[known])
    seen = np.all(np.isfinite(n), axis=2)
    total = np.where(seen[:, :, None], n, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean = total / seen.sum(axis=0)[:, None]
    return mean @ segment.basis().T
