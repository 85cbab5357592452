"""Torques in the volumetric contact of an ellipsoid with a plane: rolling resistance, spinning friction.

Q, s, h, d, V and the radii a, b, c are those of kernels/contact/ellipsoid_on_plane; k_V and a_V are stiffness
and damping. C is the second moment of the volume about its centroid, projected along the normal n:
C = P {c1 Q + c2 s s'/h^2} P, P = 1 - n n', c1 = a b c Jn/2, c2 = a b c (m - Jn/2),
Jn = pi d^3 (3 d^2 - 15 d + 20)/30, m = pi d^4 (3 d^2 - 24 d + 40)/(240 (3 - d)), and J = tr(C) 1 - C.
This is exact, where eqs 5.36-5.37 of Brown (2017, MASc thesis) project obliquely (see its errata). The torque
of rolling resistance is -k_V |a_V| J w_t (eq. 5.45), w_t being the angular velocity in the plane; it is zero
where the normal force is clamped at zero. The torque of spinning friction, about the normal, is -F(|w_n|) r_g
with r_g = sqrt(tr(C)/V) (eqs 5.51 and 5.50 with the errata) and a friction law F of the angular velocity w_n.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.contact.elements import (
    AXIS,
    CENTRE,
    D_DEPTH,
    D_FLAT,
    D_SUPPORT,
    D_TORQUE,
    D_TURN,
    D_VOLUME,
    ETA,
    FLAT,
    GYRATION,
    OMEGA,
    PATCH,
    POINT,
    PRESSING,
    STRETCH,
    TURN,
)
from kernels.contact.ellipsoid_on_plane import HEIGHT, SUPPORT
from kernels.contact.pressure import DAMPING, STIFFNESS
from kernels.forces.friction import friction_force
from kernels.forces.pairs import BY_PLACE, BY_SPEED


@njit
def patch_moments(d, size):
    """Return c1, c2, V of this module at the relative depth d, then their derivatives by d; size = a b c."""
    scale = size * math.pi
    J = scale * d**3 * (3.0 * d * d - 15.0 * d + 20.0) / 30.0
    J_d = scale * d * d * (15.0 * d * d - 60.0 * d + 60.0) / 30.0
    top = d**4 * (3.0 * d * d - 24.0 * d + 40.0)
    top_d = d**3 * (18.0 * d * d - 120.0 * d + 160.0)
    m = scale * top / (240.0 * (3.0 - d))
    m_d = scale * (top_d + top / (3.0 - d)) / (240.0 * (3.0 - d))
    V, V_d = scale * d * d * (1.0 - d / 3.0), scale * d * (2.0 - d)
    return 0.5 * J, m - 0.5 * J, V, 0.5 * J_d, m_d - 0.5 * J_d, V_d


@inlined
def size_of(contacts, e):
    """Return the product a b c of the radii of the ellipsoid of contact e [m^3]."""
    return contacts.radii[e, 0] * contacts.radii[e, 1] * contacts.radii[e, 2]


@inlined
def add_patch_torque(contacts, e, row, Q, V, change, wrench):
    """Add the torques of rolling resistance and of spinning friction of contact e to wrench.

    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    change : (N_CHANGE, 3) - ContactWork.change; its row TURN receives the angular velocity in the plane
    wrench : (6,) - moment and force on A about the origin of body 0 [N m, N]
    """
    patch = contacts.rolls[e], contacts.spins[e], contacts.friction_law[e], size_of(contacts, e)
    patch_torque(patch, contacts.pressure[e], contacts.spin_friction[e], row, Q, V, change, wrench)


@njit
def patch_torque(patch, p, friction, row, Q, V, change, wrench):
    """Add the torques of rolling resistance and of spinning friction of a contact to wrench.

    patch : (1 = rolling resistance, 1 = spinning friction, friction law, product a b c of the radii [m^3])
    p : (N_PRESSURE,) - parameters of the normal force
    friction : (N_FRICTION,) - parameters of spinning friction
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    change : (N_CHANGE, 3) - ContactWork.change, of which rows are written
    wrench : (6,) - moment and force on A about the origin of body 0 [N m, N]
    """
    rolls, spins, law, size = patch
    n, s, turn = row[AXIS : AXIS + 3], row[SUPPORT : SUPPORT + 3], change[TURN]
    h, N = row[HEIGHT], row[PRESSING]
    if not N > 0.0:
        return
    c1, c2, volume, _, _, _ = patch_moments(min(row[PATCH] / h, 2.0), size)
    trace = flat_trace(c1, c2, h, s, Q)
    spin = V[0] * n[0] + V[1] * n[1] + V[2] * n[2]
    for i in range(3):
        turn[i] = V[i] - spin * n[i]
    if rolls:
        resistance = p[STIFFNESS] * p[DAMPING]
        reach = (s[0] * turn[0] + s[1] * turn[1] + s[2] * turn[2]) * c2 / (h * h)
        across = 0.0
        for i in range(3):
            flat = c1 * dot_row(Q, i, turn) + reach * s[i]
            across += flat * n[i]
            wrench[i] -= resistance * (trace * turn[i] - flat)
        for i in range(3):
            wrench[i] -= resistance * across * n[i]
    if spins:
        row[GYRATION] = radius = math.sqrt(trace / volume)
        F, _, _ = friction_force(law, friction, spin, N)
        for i in range(3):
            wrench[i] -= F * radius * n[i]


@inlined
def add_patch_slopes(contacts, e, secant, row, Q, V, moved, change, slopes):
    """Add the derivatives of rolling and spinning torques with respect to the motion of A to slopes.

    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    secant : bool - whether F/w_n, where it is steeper, replaces dF/dw_n of spinning friction
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    moved : (6, N_MOVED) - ContactWork.moved, how the patch changes as A moves
    change : (N_CHANGE, 3) - ContactWork.change, of which rows are written
    slopes : (2, 6, 6) - PairWork.slopes: position and velocity derivatives of the wrench, transposed
    """
    patch = contacts.rolls[e], contacts.spins[e], contacts.friction_law[e], size_of(contacts, e), secant
    constants = contacts.pressure[e], contacts.spin_friction[e]
    patch_slopes(patch, contacts.round[e], constants, row, Q, V, moved, change, slopes)


@njit
def patch_slopes(patch, round_, constants, row, Q, V, moved, change, slopes):
    """Add the derivatives of rolling and spinning torques with respect to the motion of A to slopes.

    patch : (1 = rolling resistance, 1 = spinning friction, friction law, a b c [m^3], secant : bool)
    round_ : int - 1 = the ellipsoid is a sphere
    constants : ((N_PRESSURE,), (N_FRICTION,)) - parameters of the normal force and of spinning friction
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    moved : (6, N_MOVED) - ContactWork.moved, how the patch changes as A moves
    change : (N_CHANGE, 3) - ContactWork.change, of which rows are written
    slopes : (2, 6, 6) - PairWork.slopes: position and velocity derivatives of the wrench, transposed
    """
    if not row[PRESSING] > 0.0:
        return
    omega, eta, torque, d_s = change[OMEGA], change[ETA], change[D_TORQUE], change[D_SUPPORT]
    n, x, N_v = row[AXIS : AXIS + 3], row[POINT : POINT + 3], row[PRESSING + 3]
    known = held_patch(patch, constants, row, Q, V)
    start_change(row, V, change)
    patch_slope(patch, known, (1.0, 0.0, 0.0, 0.0), row, Q, change)
    by_d = torque[0], torque[1], torque[2]
    for c in range(3):
        for i in range(3):
            omega[i], eta[i] = 1.0 if i == c else 0.0, 0.0
        d_h = turned_support(c, round_, row, Q, d_s)
        d_depth, d_N = displaced(c, round_, row, V, moved)
        d_d = (d_depth - row[PATCH] / row[HEIGHT] * d_h) / row[HEIGHT]
        patch_slope(patch, known, (d_d, d_h, d_N, 0.0), row, Q, change)
        for i in range(3):
            slopes[BY_PLACE, c, i] += torque[i]
            omega[i], eta[i], d_s[i] = 0.0, 1.0 if i == c else 0.0, 0.0
        patch_slope(patch, known, (0.0, 0.0, N_v * cross_at(c, x, n), 0.0), row, Q, change)
        for i in range(3):
            slopes[BY_SPEED, c, i] += torque[i]
    for c in range(3, 6):
        d_depth, d_N = displaced(c, round_, row, V, moved)
        for i in range(3):
            by_N = -known[SPIN_GRIP] * n[i]
            slopes[BY_PLACE, c, i] += by_d[i] * d_depth / row[HEIGHT] + by_N * d_N
            slopes[BY_SPEED, c, i] += by_N * N_v * n[c - 3]


SPIN_GRIP = 8
"""Index into what held_patch returns: r_g times the derivative of friction by the normal force [m]."""


@njit
def held_patch(patch, constants, row, Q, V):
    """Return twelve numbers of a contact's patch, which are computed once for all derivatives of its torques.

    They are, with the symbols of this module, c1, c2, V, their derivatives by the relative depth d, tr(C) and
    r_g; of spinning friction r_g dF/dN (N is the normal force), F and dF/dw_n; and the factor k_V |a_V|.

    patch : (1 = rolling resistance, 1 = spinning friction, friction law, a b c [m^3], secant : bool)
    constants : ((N_PRESSURE,), (N_FRICTION,)) - parameters of the normal force and of spinning friction
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    """
    _, spins, law, size, secant = patch
    s, h, n = row[SUPPORT : SUPPORT + 3], row[HEIGHT], row[AXIS : AXIS + 3]
    c1, c2, volume, c1_d, c2_d, volume_d = patch_moments(min(row[PATCH] / h, 2.0), size)
    trace = flat_trace(c1, c2, h, s, Q)
    radius, F, F_v, F_N = math.sqrt(trace / volume), 0.0, 0.0, 0.0
    if spins:
        spin = dot3(V, n)
        F, F_v, F_N = friction_force(law, constants[1], spin, row[PRESSING])
        if secant:
            F_v = max(F_v, F / spin)
    resistance = constants[0][STIFFNESS] * constants[0][DAMPING]
    return c1, c2, volume, c1_d, c2_d, volume_d, trace, radius, radius * F_N, F, F_v, resistance


@inlined
def start_change(row, V, change):
    """Write the angular velocity in the plane into change[TURN]; set the ellipsoid's changes to zero.

    row : (N_STATE,) - the contact's row of ContactWork.state
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    change : (N_CHANGE, 3) - ContactWork.change, of which rows are written
    """
    spin = V[0] * row[AXIS] + V[1] * row[AXIS + 1] + V[2] * row[AXIS + 2]
    for i in range(3):
        change[TURN, i] = V[i] - spin * row[AXIS + i]
        change[OMEGA, i], change[ETA, i] = 0.0, 0.0
        change[D_SUPPORT, i], change[STRETCH, i] = 0.0, 0.0


@njit
def grown_torque(patch, constants, moves, grown, row, Q, V, change):
    """Write into change[D_TORQUE] how the patch's torque changes with a radius and the normal force.

    patch : (1 = rolling resistance, 1 = spinning friction, friction law, a b c [m^3], secant = False)
    constants : ((N_PRESSURE,), (N_FRICTION,)) - parameters of the normal force and of spinning friction
    moves : (change of depth [m], of h [m], of the normal force [N], relative change of a b c [1])
    grown : (r [m], 2 r (u . n) [m], u) - radius that grows and its axis u; r = 0 where no radius grows
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    change : (N_CHANGE, 3) - ContactWork.change, of which rows are written
    """
    d_depth, d_h, d_N, growth = moves
    r, by, u = grown
    w, known = math.sqrt(2.0 * r), held_patch(patch, constants, row, Q, V)
    start_change(row, V, change)
    for i in range(3):
        change[D_SUPPORT, i], change[STRETCH, i] = by * u[i], w * u[i]
    d_d = (d_depth - row[PATCH] / row[HEIGHT] * d_h) / row[HEIGHT]
    patch_slope(patch, known, (d_d, d_h, d_N, growth), row, Q, change)


@njit
def cross_at(c, x, y):
    """Return (e_c x x) . y for vectors x and y, where e_c is the unit vector of coordinate axis c."""
    j, k = (c + 1) % 3, (c + 2) % 3
    return x[j] * y[k] - x[k] * y[j]


@njit
def turned_support(c, round_, row, Q, d_s):
    """Write the change of the support vector s by unit twist c of the ellipsoid; return the change of h [m].

    c : int - component of the unit twist, 0 to 2 angular, 3 to 5 linear
    round_ : int - 1 = the ellipsoid is a sphere
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    d_s : (3,) - change of the support vector s [m^2], written
    """
    d_s[0], d_s[1], d_s[2] = 0.0, 0.0, 0.0
    if round_ or c > 2:
        return 0.0
    n, s, j, k = row[AXIS : AXIS + 3], row[SUPPORT : SUPPORT + 3], (c + 1) % 3, (c + 2) % 3
    d_s[j], d_s[k] = -s[k], s[j]
    for i in range(3):
        d_s[i] -= Q[i, k] * n[j] - Q[i, j] * n[k]
    return (s[j] * n[k] - s[k] * n[j]) / row[HEIGHT]


@njit
def displaced(c, round_, row, V, moved):
    """Return the changes of depth [m] and normal force [N] by a displacement of unit twist c.

    c : int - component of the unit twist, 0 to 2 angular, 3 to 5 linear
    round_ : int - 1 = a sphere, for which the first three rows of moved are not written
    row : (N_STATE,) - the contact's row of ContactWork.state
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    moved : (6, N_MOVED) - ContactWork.moved, how the patch changes as A moves
    """
    centre, n = row[CENTRE : CENTRE + 3], row[AXIS : AXIS + 3]
    d_depth, d_N = 0.0, 0.0
    for k in range(6):
        share = 1.0 if k == c and not (round_ and k < 3) else 0.0
        if c < 3 and k == 3 + (c + 1) % 3:
            share = -centre[(c + 2) % 3]
        elif c < 3 and k == 3 + (c + 2) % 3:
            share = centre[(c + 1) % 3]
        if share != 0.0:
            x = moved[k]
            # n . (W x change of the point of contact)
            d_vn = 0.0
            for i in range(3):
                d_vn += (n[(i + 1) % 3] * V[(i + 2) % 3] - n[(i + 2) % 3] * V[(i + 1) % 3]) * x[i]
            d_depth += share * x[D_DEPTH]
            change = row[PRESSING + 1] * x[D_DEPTH] + row[PRESSING + 2] * x[D_VOLUME]
            d_N += share * (change + row[PRESSING + 3] * d_vn)
    return d_depth, d_N


@njit
def flat_trace(c1, c2, h, s, Q):
    """Return tr(C), the second moment of the overlap's volume about the normal.

    c1, c2 : float - factors of Q and of s s'/h^2 in C
    h : float - half height of the ellipsoid along the normal [m]
    s : (3,) - support vector [m^2]
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    """
    square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2]
    return c1 * (Q[0, 0] + Q[1, 1] + Q[2, 2] - h * h) + c2 * (square / (h * h) - h * h)


@njit
def dot3(x, y):
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


@njit
def dot_row(A, i, x):
    return A[i, 0] * x[0] + A[i, 1] * x[1] + A[i, 2] * x[2]


@njit
def patch_slope(patch, known, moves, row, Q, change):
    """Write into change[D_TORQUE] the change of the patch's torque as the ellipsoid turns, moves or grows.

    change[OMEGA] is its rotation, [ETA] its change of angular velocity, [STRETCH] and [D_SUPPORT] its growth.

    patch : (1 = rolling resistance, 1 = spinning friction, friction law, a b c [m^3], secant : bool)
    known : (12,) - the numbers that held_patch returns
    moves : (change of d [1], of h [m], of the normal force [N], relative change of a b c [1])
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    change : (N_CHANGE, 3) - ContactWork.change, of which rows are written
    """
    d_d, d_h, d_N, growth = moves
    n, s, turn = row[AXIS : AXIS + 3], row[SUPPORT : SUPPORT + 3], change[TURN]
    h, d_s, w = row[HEIGHT], change[D_SUPPORT], change[STRETCH]
    torque, d_turn, eta = change[D_TORQUE], change[D_TURN], change[ETA]
    torque[0], torque[1], torque[2] = 0.0, 0.0, 0.0
    if row[PATCH] > 2.0 * h:
        d_d = 0.0
    c1, c2, volume, c1_d, c2_d, volume_d, trace, radius, grip, F, F_v, resistance = known
    d_c1, d_c2 = c1_d * d_d + c1 * growth, c2_d * d_d + c2 * growth
    square, rise, d_spin = dot3(s, s), dot3(s, d_s), dot3(eta, n)
    for i in range(3):
        d_turn[i] = eta[i] - d_spin * n[i]
    d_trace = flat_trace(d_c1, d_c2, h, s, Q) + c1 * (dot3(w, w) - 2.0 * h * d_h)
    d_trace += 2.0 * c2 * (rise / (h * h) - square * d_h / (h * h * h) - h * d_h)
    if patch[0]:
        flat_change(c1, c2, d_c1, d_c2, h, d_h, row, Q, change)
        d_flat = change[D_FLAT]
        across = dot3(d_flat, n)
        for i in range(3):
            gain = d_trace * turn[i] + trace * d_turn[i] - d_flat[i] + across * n[i]
            torque[i] -= resistance * gain
    if patch[1]:
        d_volume = volume_d * d_d + volume * growth
        d_radius = (d_trace - radius * radius * d_volume) / (2.0 * radius * volume)
        for i in range(3):
            torque[i] -= (F_v * d_spin * radius + grip * d_N + F * d_radius) * n[i]


@njit
def flat_change(c1, c2, d_c1, d_c2, h, d_h, row, Q, change):
    """Write into change[D_FLAT] the change of C t: C is the second moment of this module, t = change[TURN].

    C t = c1 Q t + c2 s (s . t)/h^2; Q rotates by change[OMEGA] and grows by w w' with w = change[STRETCH].

    c1, c2 : float - factors of Q and of s s'/h^2 in C
    d_c1, d_c2 : float - their changes
    h, d_h : float - half height of the ellipsoid along the normal, and its change [m]
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    change : (N_CHANGE, 3) - ContactWork.change, of which rows are written
    """
    s, t, d_s, d_t = row[SUPPORT : SUPPORT + 3], change[TURN], change[D_SUPPORT], change[D_TURN]
    flat, omega, d_flat, w = change[FLAT], change[OMEGA], change[D_FLAT], change[STRETCH]
    growth = dot3(w, t)
    reach, d_reach, inverse = 0.0, 0.0, 1.0 / (h * h)
    for i in range(3):
        flat[i] = dot_row(Q, i, t)
        reach += s[i] * t[i]
        d_reach += d_s[i] * t[i] + s[i] * d_t[i]
    wx = omega[1] * t[2] - omega[2] * t[1]
    wy = omega[2] * t[0] - omega[0] * t[2]
    wz = omega[0] * t[1] - omega[1] * t[0]
    along = (d_c2 * reach + c2 * d_reach - 2.0 * c2 * reach * d_h / h) * inverse
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        turned = omega[j] * flat[k] - omega[k] * flat[j] + growth * w[i]
        turned += dot_row(Q, i, d_t) - Q[i, 0] * wx - Q[i, 1] * wy - Q[i, 2] * wz
        d_flat[i] = d_c1 * flat[i] + c1 * turned + along * s[i] + c2 * reach * inverse * d_s[i]
