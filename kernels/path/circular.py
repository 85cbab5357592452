"""Path between two points over a sphere or cylinder in closed form, along a great circle or a helix.

Seen from the centre (along the axis of a cylinder) the ends P and Q of the path enclose an angle, the sweep;
the path goes round by this angle, or the other way round. The tangents from P and Q to a surface of radius r
take the angles cos(alpha) = r / |P| and cos(beta) = r / |Q|; over the rest, sweep - alpha - beta, the path
touches the surface. Scholz et al. 2016, Multibody Syst Dyn 36, 195-219, treat both as geodesics of general
surfaces; here they need no iteration.

`ends_out` : (4, 3) are entry and exit [m] and the unit directions of the path there, in the surface frame.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit

FREE = -1.0  # instead of an arc: the path does not touch
# Below this sine P and Q count as seen in one direction, or in opposite ones: no plane of their own.
COLLINEAR = 1e-12
# Radius over distance up to which a point counts as lying on a cylinder, not in it: placed there by rounding.
ON_SURFACE = 1.0 + 2e-7


@njit
def wrap_angle(cosine, sine, p, u, q, v, other_way):
    """Return the angle sweep - alpha - beta over which a path touches a sphere or cylinder [rad], in (-pi,
    pi].

    A negative angle means that the path does not touch. If the path takes the longer way round, the angle is
    in (0, 2 pi].

    cosine, sine : float - cosine and sine of the sweep, the angle from P to Q
    p, u : float - cosine and sine of alpha, the angle taken by the tangent from P
    q, v : float - cosine and sine of beta, the angle taken by the tangent from Q
    other_way : bool - whether the path takes the longer way round
    """
    c, s = p * q - u * v, u * q + p * v
    angle = math.atan2(sine * c - cosine * s, cosine * c + sine * s)
    if other_way and angle <= 0.0:
        angle += 2.0 * math.pi
    return angle


@njit
def wrap_sphere(r, P, Q, side, ends_out):
    """Return the length of the part of a path that lies on a sphere about the origin [m], or FREE if it does
    not touch.

    P and Q are outside. The path lies in the plane of P, Q and the centre. If these are on one line, the
    plane through the line that contains `side` is taken, or without a side the one that contains that axis
    of the frame which is most nearly at right angles to the line.

    r : float - radius [m]
    P, Q : (3,) - ends of the path in the sphere's frame [m]
    side : (3,) - vector in the sphere's frame that points to the side on which the path passes; zeros = the
      shorter way
    ends_out : (4, 3) - entry, exit [m] and the directions there, written
    """
    px, py, pz, qx, qy, qz = P[0], P[1], P[2], Q[0], Q[1], Q[2]
    p, q = 1.0 / math.sqrt(px * px + py * py + pz * pz), 1.0 / math.sqrt(qx * qx + qy * qy + qz * qz)
    px, py, pz, qx, qy, qz = px * p, py * p, pz * p, qx * q, qy * q, qz * q
    cosine = px * qx + py * qy + pz * qz
    # p x q without the cancellation of 1 - cosine^2
    nx, ny, nz = py * qz - pz * qy, pz * qx - px * qz, px * qy - py * qx
    sine = math.sqrt(nx * nx + ny * ny + nz * nz)
    other_way = (px + qx) * side[0] + (py + qy) * side[1] + (pz + qz) * side[2] < 0.0
    if sine > COLLINEAR:
        wx, wy, wz = ny * pz - nz * py, nz * px - nx * pz, nx * py - ny * px
        if other_way:
            wx, wy, wz, sine = -wx, -wy, -wz, -sine
    else:
        if cosine < 0.0:
            other_way = False
        sine = 0.0
        wx, wy, wz = across(px, py, pz, side[0], side[1], side[2])
    w = 1.0 / math.sqrt(wx * wx + wy * wy + wz * wz)
    wx, wy, wz = wx * w, wy * w, wz * w
    cp, cq = min(r * p, 1.0), min(r * q, 1.0)
    sp, sq = math.sqrt((1.0 - cp) * (1.0 + cp)), math.sqrt((1.0 - cq) * (1.0 + cq))
    angle = wrap_angle(cosine, sine, cp, sp, cq, sq, other_way)
    if not angle > 0.0:
        return FREE
    # the direction at Q, then in its plane back to the exit
    tx, ty, tz = cosine * wx - sine * px, cosine * wy - sine * py, cosine * wz - sine * pz
    entry, leave, entry_direction, leave_direction = ends_out[0], ends_out[1], ends_out[2], ends_out[3]
    entry[0], entry[1], entry[2] = r * (cp * px + sp * wx), r * (cp * py + sp * wy), r * (cp * pz + sp * wz)
    leave[0], leave[1], leave[2] = r * (cq * qx - sq * tx), r * (cq * qy - sq * ty), r * (cq * qz - sq * tz)
    entry_direction[0] = cp * wx - sp * px
    entry_direction[1] = cp * wy - sp * py
    entry_direction[2] = cp * wz - sp * pz
    leave_direction[0] = cq * tx + sq * qx
    leave_direction[1] = cq * ty + sq * qy
    leave_direction[2] = cq * tz + sq * qz
    return r * angle


@njit
def across(x, y, z, sx, sy, sz):
    """Return the component of a vector s at right angles to a unit vector, as three numbers.

    If s is parallel to the unit vector, s is replaced by that coordinate axis which is most nearly at right
    angles to the unit vector.

    x, y, z : float - components of the unit vector
    sx, sy, sz : float - components of s
    """
    along = sx * x + sy * y + sz * z
    wx, wy, wz = sx - along * x, sy - along * y, sz - along * z
    if wx * wx + wy * wy + wz * wz < COLLINEAR:
        ax, ay, az = abs(x), abs(y), abs(z)
        if ax <= ay and ax <= az:
            wx, wy, wz = 1.0 - x * x, -x * y, -x * z
        elif ay <= az:
            wx, wy, wz = -y * x, 1.0 - y * y, -y * z
        else:
            wx, wy, wz = -z * x, -z * y, 1.0 - z * z
    return wx, wy, wz


@njit
def wrap_cylinder(r, half, P, Q, side, ends_out):
    """Return the length of the part of a path that lies on a cylinder about the z axis [m], or FREE if it
    does not touch.

    On the unrolled surface the path is a straight line: dz / dl, with the length l, is the same on both
    tangents and on the helix.

    r : float - radius [m]
    half : float - the cylinder ends at z = -half and half [m], 0 = it has no ends; a path whose helix lies
        wholly beyond one end does not touch
    P, Q : (3,) - ends of the path in the cylinder's frame [m]
    side : (3,) - vector in the cylinder's frame that points to the side on which the path passes; zeros = the
      shorter way
    ends_out : (4, 3) - entry, exit [m] and the directions there, written
    """
    p, q = math.hypot(P[0], P[1]), math.hypot(Q[0], Q[1])
    if p == 0.0 or q == 0.0:
        return FREE  # on the axis, which only a point beyond an end may be: there is no side to go round
    p, q = 1.0 / p, 1.0 / q
    if half > 0.0 and r * max(p, q) > ON_SURFACE:  # before an end, within the radius
        return FREE
    px, py, qx, qy = P[0] * p, P[1] * p, Q[0] * q, Q[1] * q
    cosine, sine = px * qx + py * qy, px * qy - py * qx
    other_way = (px + qx) * side[0] + (py + qy) * side[1] < 0.0
    turn = 1.0 if sine >= 0.0 else -1.0
    if abs(sine) <= COLLINEAR:
        # P and Q in one plane with the axis: by the side
        turn = 1.0 if px * side[1] - py * side[0] >= 0.0 else -1.0
        sine = 0.0
        if cosine < 0.0:
            other_way = False
    elif other_way:
        turn = -turn
    sine *= turn  # of the sweep, in the sense of the path
    cp, cq = min(r * p, 1.0), min(r * q, 1.0)
    sp, sq = math.sqrt((1.0 - cp) * (1.0 + cp)), math.sqrt((1.0 - cq) * (1.0 + cq))
    angle = wrap_angle(cosine, sine, cp, sp, cq, sq, other_way)
    if not angle > 0.0:
        return FREE
    before, after = sp / p, sq / q
    flat = before + r * angle + after
    slope = (Q[2] - P[2]) / flat
    lands, leaves = P[2] + slope * before, Q[2] - slope * after
    if half > 0.0 and (min(lands, leaves) > half or max(lands, leaves) < -half):
        return FREE
    wx, wy, tx, ty = -turn * py, turn * px, -turn * qy, turn * qx
    scale = 1.0 / math.sqrt(1.0 + slope * slope)
    entry, leave, entry_direction, leave_direction = ends_out[0], ends_out[1], ends_out[2], ends_out[3]
    entry[0], entry[1], entry[2] = r * (cp * px + sp * wx), r * (cp * py + sp * wy), lands
    leave[0], leave[1], leave[2] = r * (cq * qx - sq * tx), r * (cq * qy - sq * ty), leaves
    entry_direction[0], entry_direction[1] = scale * (cp * wx - sp * px), scale * (cp * wy - sp * py)
    leave_direction[0], leave_direction[1] = scale * (cq * tx + sq * qx), scale * (cq * ty + sq * qy)
    entry_direction[2] = leave_direction[2] = scale * slope
    return r * angle / scale
