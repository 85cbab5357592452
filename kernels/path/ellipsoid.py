"""Path between two points over an ellipsoid by Newton's method, with exact tangents and an integrated
geodesic.

Divided by its half axes the ellipsoid becomes the unit sphere, and straight lines stay straight. With p the
end P of the path in these coordinates, the tangents from P touch the sphere along the circle y . p = 1, y = p
/ p^2 + k e, k^2 = 1 - 1 / p^2. So at either end a unit vector e at right angles to p is the only unknown,
also where P lies on the surface (k = 0). The third unknown is the length of the arc: the geodesic that leaves
the tangent from P has to arrive on the tangent to Q, in its direction. The Jacobi fields a, r of the geodesic
give the derivatives. With the length d1 of the tangent from P, d2 of that to Q, and y := d1 a + r, the field
y + d2 y' of the whole path is positive as long as the path is a minimum.

The way round is chosen as on the unit sphere, for the plane section through P, Q and the centre
(kernels/path/circular). If the path found is far from that section, or is hardly a minimum, other paths may
exist. Then all paths are searched for, and the shortest one on the given side is taken. So the result does
not depend on the first guess.
"""

from __future__ import annotations

import math

from kernels.algebra.copying import copy
from kernels.algebra.spatial import dot
from kernels.compiler.jit import njit
from kernels.path.circular import COLLINEAR, FREE, across, wrap_sphere
from kernels.path.geodesic import arrive, depart, flow, step, step_length
from kernels.path.surfaces import ELLIPSOID

FAILED = -2.0  # instead of an arc: no path found
N_NEWTON = 12
CONVERGED = 1e-9  # step [rad]; the next one would be its square
TURN_MAX = 0.5  # of a tangent in one step [rad]
NEAR_SECTION = 0.5  # cosine between the path's middle and the section's: beyond, other paths are looked for
NEAR_CENTRE = 0.5  # of the line P-Q on the unit sphere: nearer, other paths are looked for
STABLE = 0.3  # total field over length (1 = flat): below, other paths are looked for
DOUBT = 4.0  # share of the last two limits that holds, per excess of the longest axis over the shortest
N_START = 16  # tangents tried in the search for all paths
N_BISECT = 4
WRONG_SIDE = 1e9  # rank of a path off the given side: taken only if there is no other, the nearest to it
N_MARCH = 100

# rows of the scratch array (12, 3)
P_S, Q_S, E_P, E_Q, A, T_A, B, T_B, X, T_X, SIDE, E_0 = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
N_SCRATCH = 12


@njit
def wrap_ellipsoid(size, P, Q, side, known, arc, ends_out, work):
    """Return the length of the part of a path that lies on an ellipsoid [m]; FREE if it does not touch,
    FAILED if no path is found.

    size : (3,) - half axes [m]
    P, Q : (3,) - ends of the path in the ellipsoid's frame [m]
    side : (3,) - vector in the ellipsoid's frame that points to the side on which the path passes; zeros =
        the shorter way
    known : int - 1 = ends_out and arc are a first guess
    arc : float - length on the ellipsoid of a path found before, for the first guess [m]
    ends_out : (4, 3) - entry, exit [m] and the directions there, written
    work : (N_SCRATCH, 3) - working space
    """
    p, q = work[P_S], work[Q_S]
    for i in range(3):
        p[i], q[i] = P[i] / size[i], Q[i] / size[i]
        work[SIDE, i] = side[i] * size[i]
    if known == 1:
        copy(ends_out[2], work[T_A])
        copy(ends_out[3], work[T_B])
    angle = wrap_sphere(1.0, p, q, work[SIDE], ends_out)
    if angle < 0.0:
        return FREE
    if known == 1:
        tangents_of(size, work[T_A], work[T_B], work)
        s, field = newton(size, arc, work)
        if s >= 0.0 and alone(size, field, work):
            return finish(s, ends_out, work)
    for i in range(3):
        work[T_A, i], work[T_B, i] = ends_out[2, i] * size[i], ends_out[3, i] * size[i]
    tangents_of(size, work[T_A], work[T_B], work)
    copy(work[E_P], work[E_0])
    s, field = newton(size, section_arc(size, angle, ends_out), work)
    if s >= 0.0 and alone(size, field, work):
        return finish(s, ends_out, work)
    return search(size, s, ends_out, work)


@njit
def finish(s, ends_out, work):
    """Copy entry, exit and directions of the path found from work into ends_out : (4, 3); return its arc s
    [m].
    """
    copy(work[A], ends_out[0])
    copy(work[B], ends_out[1])
    copy(work[T_A], ends_out[2])
    copy(work[T_B], ends_out[3])
    return s


@njit
def section_arc(size, angle, ends):
    """Return the length [m] of the plane section of an ellipsoid between the ends of a path, by Simpson's
    rule.

    size : (3,) - half axes [m]; angle : float - angle of the arc on the unit sphere to which the ellipsoid is
        scaled [rad]; ends : (4, 3) - ends of that arc and its directions there.
    """
    total = 0.0
    for k in range(5):
        c, n = math.cos(0.25 * k * angle), math.sin(0.25 * k * angle)
        speed = 0.0
        for i in range(3):
            speed += (size[i] * (c * ends[2, i] - n * ends[0, i])) ** 2
        total += (1.0 if k % 4 == 0 else 4.0 if k % 2 == 1 else 2.0) * math.sqrt(speed)
    return total * angle / 12.0


@njit
def tangents_of(size, t_p, t_q, work):
    """Write the unit vectors e (see the module) whose tangents from P and to Q are nearest to the directions
    t_p at entry and t_q at exit into work[E_P] and work[E_Q].

    size : (3,) - half axes [m]; t_p, t_q : (3,) - directions in the ellipsoid's frame.
    """
    for end in range(2):
        p, e = work[P_S + end], work[E_P + end]
        t, sign = (t_p, 1.0) if end == 0 else (t_q, -1.0)
        scale = 1.0 / math.sqrt(dot(p, p))
        x, y, z = across(
            p[0] * scale,
            p[1] * scale,
            p[2] * scale,
            sign * t[0] / size[0],
            sign * t[1] / size[1],
            sign * t[2] / size[2],
        )
        norm = 1.0 / math.sqrt(x * x + y * y + z * z)
        e[0], e[1], e[2] = x * norm, y * norm, z * norm


@njit
def tangent(size, p, e, sign, x_out, t_out):
    """Compute one of the tangents from an end of the path to the ellipsoid: the point where it touches, and
    its direction.

    Returns its length [m], and two derivatives with respect to the rotation of e about p: that of the angle
    by which t_out rotates in the surface, positive towards normal x direction [1], and that of the motion of
    x_out along t_out [m/rad].

    size : (3,) - half axes [m]
    p : (3,) - end of the path, scaled to the unit sphere
    e : (3,) - unit vector at right angles to p, scaled, that chooses the tangent
    sign : float - +1 = direction from p to the surface, -1 = from the surface to p
    x_out : (3,) - point of the surface [m], written
    t_out : (3,) - unit direction, written
    """
    square = dot(p, p)
    k = math.sqrt(max(1.0 - 1.0 / square, 0.0))
    for i in range(3):
        x_out[i] = size[i] * (p[i] / square + k * e[i])
        t_out[i] = sign * size[i] * (e[i] - k * p[i])
    norm = math.sqrt(t_out[0] ** 2 + t_out[1] ** 2 + t_out[2] ** 2)
    for i in range(3):
        t_out[i] /= norm
    # turning e about p moves it along e' = p x e / |p|
    scale = 1.0 / math.sqrt(square)
    ux = (p[1] * e[2] - p[2] * e[1]) * scale * size[0]
    uy = (p[2] * e[0] - p[0] * e[2]) * scale * size[1]
    uz = (p[0] * e[1] - p[1] * e[0]) * scale * size[2]
    bx, by, bz = binormal(size, x_out, t_out)
    turn = sign * (ux * bx + uy * by + uz * bz) / norm
    return k * norm, turn, k * (ux * t_out[0] + uy * t_out[1] + uz * t_out[2])


@njit
def binormal(size, x, t):
    """Return the binormal (x, y, z) of a path on an ellipsoid: the unit vector normal x tangent.

    size : (3,) - half axes [m]; x : (3,) - point of the surface [m]; t : (3,) - unit tangent of the path
        there.
    """
    nx, ny, nz = x[0] / size[0] ** 2, x[1] / size[1] ** 2, x[2] / size[2] ** 2
    norm = 1.0 / math.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = nx * norm, ny * norm, nz * norm
    return ny * t[2] - nz * t[1], nz * t[0] - nx * t[2], nx * t[1] - ny * t[0]


@njit
def rotate_tangent(p, e, angle):
    """Rotate e : (3,), a unit vector at right angles to p : (3,), about p by angle [rad], in place."""
    scale = 1.0 / math.sqrt(dot(p, p))
    x = (p[1] * e[2] - p[2] * e[1]) * scale
    y = (p[2] * e[0] - p[0] * e[2]) * scale
    z = (p[0] * e[1] - p[1] * e[0]) * scale
    c, n = math.cos(angle), math.sin(angle)
    x, y, z = c * e[0] + n * x, c * e[1] + n * y, c * e[2] + n * z
    # across p again, and unit: rounding would add up from frame to frame
    along = (x * p[0] + y * p[1] + z * p[2]) * scale * scale
    x, y, z = x - along * p[0], y - along * p[1], z - along * p[2]
    norm = 1.0 / math.sqrt(x * x + y * y + z * z)
    e[0], e[1], e[2] = x * norm, y * norm, z * norm


@njit
def newton(size, s, work):
    """Find a path over the ellipsoid by Newton's method, from the tangents work[E_P], work[E_Q] and the arc s
    [m].

    Returns the length of the arc [m], FAILED if none is found, and the Jacobi field y + d2 y' at Q, divided
    by the path's length [1]. The unknowns are the rotations u, v of the first and the last tangent's
    direction, and the change of the arc. y (see the module) is taken at the end of the geodesic. With the
    distance d2 from Q to its point of contact, the component o_b across the path of the vector from the
    geodesic's end to that point, and the angle w between the tangents there, y u + d2 v = o_b, y' u - v = w.
    """
    p, q, e_p, e_q, x, t = work[P_S], work[Q_S], work[E_P], work[E_Q], work[X], work[T_X]
    mean = (size[0] + size[1] + size[2]) / 3.0
    for _ in range(N_NEWTON):
        d1, turn_p, slide_p = tangent(size, p, e_p, 1.0, work[A], work[T_A])
        d2, turn_q, slide_q = tangent(size, q, e_q, -1.0, work[B], work[T_B])
        a, a_rate, r, r_rate = flow(ELLIPSOID, size, work[A], work[T_A], s, x, t)
        bx, by, bz = binormal(size, x, t)
        ox, oy, oz = work[B, 0] - x[0], work[B, 1] - x[1], work[B, 2] - x[2]
        aside = ox * bx + oy * by + oz * bz
        ahead = ox * t[0] + oy * t[1] + oz * t[2]
        angle = work[T_B, 0] * bx + work[T_B, 1] * by + work[T_B, 2] * bz
        if work[T_B, 0] * t[0] + work[T_B, 1] * t[1] + work[T_B, 2] * t[2] < 0.0:
            angle = math.copysign(1.0, angle)
        rate = a_rate * d1 + r_rate
        field = a * d1 + r + d2 * rate
        u = (aside + d2 * angle) / field
        v = rate * u - angle
        u = min(max(u / turn_p, -TURN_MAX), TURN_MAX)
        v = min(max(v / turn_q, -TURN_MAX), TURN_MAX)
        change = ahead + slide_q * v - slide_p * u
        if not math.isfinite(u + v + change):
            return FAILED, 0.0
        rotate_tangent(p, e_p, u)
        rotate_tangent(q, e_q, v)
        former = s
        s = min(max(s + change, 0.0), 6.0 * (mean + s))
        if max(abs(u), abs(v), abs(s - former) / mean) < CONVERGED:
            if s - former > change + CONVERGED * mean or aside * aside > CONVERGED * mean * mean:
                return FAILED, 0.0
            tangent(size, p, e_p, 1.0, work[A], work[T_A])
            tangent(size, q, e_q, -1.0, work[B], work[T_B])
            return s, field / (d1 + s + d2)
    return FAILED, 0.0


@njit
def middle(size, work):
    """Return two numbers that show on which side of the ellipsoid the path lies.

    They are the cosine of the angle between the middle of its arc and the middle of the short way, 0 if P and
    Q are opposite, and the scalar product of the middle of the arc with `side`. The middle of the arc follows
    from its ends and directions on the unit sphere, and is projected onto the plane midway between P and Q;
    there the middle of the short way is p / |p| + q / |q|.

    size : (3,) - half axes [m]; work : (N_SCRATCH, 3) - path found.
    """
    p, q, side = work[P_S], work[Q_S], work[SIDE]
    pp, qq, ta, tb = 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        pp += p[i] * p[i]
        qq += q[i] * q[i]
        ta += (work[T_A, i] / size[i]) ** 2
        tb += (work[T_B, i] / size[i]) ** 2
    pp, qq, ta, tb = 1.0 / math.sqrt(pp), 1.0 / math.sqrt(qq), 2.0 / math.sqrt(ta), 2.0 / math.sqrt(tb)
    mw, ww, mm, uu, mu, ms, ws = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(3):
        m = (work[A, i] + work[B, i] + ta * work[T_A, i] - tb * work[T_B, i]) / size[i]
        w, u = p[i] * pp - q[i] * qq, p[i] * pp + q[i] * qq
        mw, ww, mm, uu, mu = mw + m * w, ww + w * w, mm + m * m, uu + u * u, mu + m * u
        ms, ws = ms + m * side[i], ws + w * side[i]
    if ww < COLLINEAR:
        ww = 1.0
    across_square = mm - mw * mw / ww
    cosine = mu / math.sqrt(across_square * uu) if across_square * uu > COLLINEAR * mm else 0.0
    return cosine, (ms - mw * ws / ww) / math.sqrt(mm)


@njit
def given(work):
    """Return whether a side on which the path must pass the ellipsoid is given: work[SIDE] is not zero."""
    return work[SIDE, 0] != 0.0 or work[SIDE, 1] != 0.0 or work[SIDE, 2] != 0.0


@njit
def offset(p, q):
    """Return the distance of the line through the points p and q : (3,) from the origin."""
    x, y, z = p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]
    u, v, w = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    return math.sqrt((x * x + y * y + z * z) / (u * u + v * v + w * w))


@njit
def alone(size, field, work):
    """Return whether the path found needs no comparison with others: it is near the plane section on the
    given side, and `field`, returned by `newton`, shows clearly a minimum (clearly none the long way round).
    """
    longest, shortest = max(size[0], size[1], size[2]), min(size[0], size[1], size[2])
    doubt = min(1.0, DOUBT * (longest / shortest - 1.0))  # none on a sphere
    if not offset(work[P_S], work[Q_S]) > doubt * NEAR_CENTRE:
        return False
    cosine, towards = middle(size, work)
    if given(work) and towards < 0.0:
        return False
    if given(work) and cosine < -NEAR_SECTION:
        return field < -doubt * STABLE  # the long way round: never a minimum
    return cosine > NEAR_SECTION and field > doubt * STABLE


@njit
def rank_of(size, s, work):
    """Return the length of the path found [m], of which s lies on the surface; a much larger number if the
    path is not on the given side. The path with the smallest number is chosen.
    """
    _, towards = middle(size, work)
    if given(work) and towards <= 0.0:
        return WRONG_SIDE * (1.0 - towards) * (size[0] + size[1] + size[2])
    return s + distance(size, work[P_S], work[A]) + distance(size, work[Q_S], work[B])


@njit
def search(size, s, ends_out, work):
    """Search all paths over the ellipsoid; return the arc of the shortest one on the given side [m], or
    FAILED.

    Geodesics are followed from N_START tangents; between two that pass Q on different sides there is a path.

    size : (3,) - half axes [m]
    s : float - arc of one path that was found already [m], or negative
    ends_out : (4, 3) - entry, exit [m] and the directions there, written
    work : (N_SCRATCH, 3) - working space
    """
    best, best_arc = math.inf, FAILED
    if s >= 0.0:
        best, best_arc = rank_of(size, s, work), finish(s, ends_out, work)
    spacing = 2.0 * math.pi / N_START
    _, miss = shoot(size, 0.0, work)
    for i in range(N_START):
        low, high, miss_low = i * spacing, (i + 1) * spacing, miss
        s, miss = shoot(size, high, work)
        if miss_low * miss > 0.0:
            continue
        for _ in range(N_BISECT):
            angle = 0.5 * (low + high)
            s, off = shoot(size, angle, work)
            if off * miss_low > 0.0:
                low = angle
            else:
                high = angle
        tangents_of(size, work[T_A], work[T_X], work)
        s, _ = newton(size, s, work)
        if s >= 0.0:
            rank = rank_of(size, s, work)
            if rank < best * (1.0 - CONVERGED):
                best, best_arc = rank, finish(s, ends_out, work)
    return best_arc


@njit
def distance(size, p, x):
    """Return the distance [m] of x : (3,) from the point p : (3,), which is in units of the half axes."""
    u, v, w = p[0] * size[0] - x[0], p[1] * size[1] - x[1], p[2] * size[2] - x[2]
    return math.sqrt(u * u + v * v + w * w)


@njit
def shoot(size, angle, work):
    """Follow the geodesic that continues a tangent from P up to a point from which Q can be seen, or to the
    point nearest to Q; return (arc, miss) [m].

    The tangent is work[E_0] rotated by `angle` [rad]; from y on the unit sphere Q is seen if y . q > 1. arc
    is the geodesic's length, miss the offset of Q to the left of its direction at the end, work[T_X].
    """
    q, x, t = work[Q_S], work[X], work[T_X]
    copy(work[E_0], work[E_P])
    rotate_tangent(work[P_S], work[E_P], angle)
    tangent(size, work[P_S], work[E_P], 1.0, work[A], work[T_A])
    shape, place, rate = depart(size, work[A], work[T_A])
    s = 0.0
    seen, near = dot(place, q), dot(rate, q) > 0.0
    for _ in range(N_MARCH):
        if seen >= 1.0:
            break
        h = step_length(shape, place, rate)
        place_next, rate_next = step(shape, h, place, rate)
        seen_next = dot(place_next, q)
        if seen_next > 1.0:
            h *= (1.0 - seen) / (seen_next - seen)
            place_next, rate_next = step(shape, h, place, rate)
            seen_next = 1.0
        elif near and dot(rate_next, q) < 0.0:
            break
        place, rate, seen = place_next, rate_next, seen_next
        near = near or dot(rate, q) > 0.0
        s += h
    arrive(size, place, rate, x, t)
    bx, by, bz = binormal(size, x, t)
    ox, oy, oz = q[0] * size[0] - x[0], q[1] * size[1] - x[1], q[2] * size[2] - x[2]
    return s, ox * bx + oy * by + oz * bz
