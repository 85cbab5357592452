"""Derivatives of the wrench of a contact with respect to its own parameters: place, axes and radii of the
surface, and the parameters of the force laws.

The parameters are those of Brown (2017), MASc thesis, table 5.1. A displacement of the surface on body A has
the same effect as a displacement of A while the velocity field of A is held fixed; the latter derivative is
known (kernels/forces/pairs, BY_PLACE). A change of a radius changes the patch (kernels/contact/geometries).
Every law is linear in its stiffness, in its damping and in both coefficients of friction.
"""

from __future__ import annotations

from kernels.compiler.jit import inlined, njit
from kernels.contact.elements import (
    AXIS,
    CENTRE,
    D_DEPTH,
    D_TORQUE,
    D_VOLUME,
    GYRATION,
    PATCH,
    POINT,
    PRESSING,
    RUBBING,
    SLIP,
)
from kernels.contact.geometries import find_grown
from kernels.contact.patch_torques import grown_torque, patch_torque, size_of
from kernels.contact.pressure import DAMPING, STIFFNESS, force_by_parameters
from kernels.contact.slopes import force_slopes, moved_wrench, swept
from kernels.forces.friction import K_V, MU_D, MU_S, MU_V, N_FRICTION, friction_force
from kernels.forces.pairs import BY_PLACE
from kernels.forces.places import add_force, direction

BY_CENTRE, BY_TURN, BY_RADIUS, BY_STIFFNESS, BY_DAMPING, BY_STATIC, BY_DYNAMIC = 0, 3, 6, 9, 10, 11, 12
"""Rows of the derivatives: by the centre along the axes of body A (3) [m], by a rotation about the centre and
these axes (3) [rad], by the radii (3) [m], by stiffness and damping of the pressure law, and by mu_s and mu_d
of friction and spinning friction."""
N_PARAMETER = 13


@inlined
def parameter_slopes(pairs, contacts, e, pose, V, work, slopes, out):
    """Write into out the derivatives of the wrench of contact e with respect to its parameters.

    Call it after the wrench of the contact and the derivatives `slopes` have been computed. `slopes` must
    contain the derivatives of this contact alone, without those of other contacts of the same pair.

    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact, of an ellipsoid on A with a plane on B
    pose : Pose - positions and orientations of all bodies in ground
    V : (6,) - velocity of A relative to B, about the origin of body 0 [rad/s, m/s]
    work : ContactWork - results of the contacts; moved, change and law are written
    slopes : (2, 6, 6) - PairWork.slopes: derivatives of the wrench with respect to position and velocity,
      transposed
    out : (N_PARAMETER, 6) - derivatives of the wrench with respect to the parameters, written
    """
    row, Q = work.state[e], work.Q[e]
    for k in range(N_PARAMETER):
        for i in range(6):
            out[k, i] = 0.0
    if row[PATCH] <= 0.0 or not row[PRESSING] > 0.0:  # an open contact keeps the force of the frame before
        return
    by_place(pose, pairs.body_a[contacts.pair[e]], row, slopes[BY_PLACE], out)
    patch = contacts.rolls[e], contacts.spins[e], contacts.friction_law[e], size_of(contacts, e), False
    constants = contacts.pressure[e], contacts.spin_friction[e]
    for k in range(3):
        d_h, by, u = find_grown(pairs, contacts, e, k, pose, row, work.moved[0])
        r = contacts.radii[e, k]
        by_radius(
            patch, constants, (d_h, r, by, u), row, Q, V, (work.moved[0], work.change), out[BY_RADIUS + k]
        )
    by_pressure(contacts.law[e], patch, constants, row, Q, V, work.change, out)
    if patch[2] >= 0:
        by_friction(patch, contacts.friction[e], constants[1], row, V, work.law, out)


@inlined
def unit_vector(k):
    return 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0


@inlined
def by_place(pose, body, row, slopes, out):
    """Write the derivatives of a contact's wrench with respect to displacements and rotations of its surface
    on body A into out: three rows from BY_CENTRE on, and three from BY_TURN on.

    pose : Pose - positions and orientations of all bodies in ground
    body : int - index of the body that carries the surface
    row : (N_STATE,) - the contact's row of ContactWork.state
    slopes : (6, 6) - derivatives of the wrench with respect to twists of the body about the origin of body 0:
      row k belongs to unit twist k
    out : (N_PARAMETER, 6) - derivatives of the wrench with respect to the parameters
    """
    cx, cy, cz = row[CENTRE], row[CENTRE + 1], row[CENTRE + 2]
    for k in range(3):
        x, y, z = direction(pose, body, unit_vector(k))
        # rotated about the centre: its point at body 0's origin moves by centre x axis
        tx, ty, tz = cy * z - cz * y, cz * x - cx * z, cx * y - cy * x
        for i in range(6):
            out[BY_CENTRE + k, i] = x * slopes[3, i] + y * slopes[4, i] + z * slopes[5, i]
            turned = x * slopes[0, i] + y * slopes[1, i] + z * slopes[2, i]
            out[BY_TURN + k, i] = turned + tx * slopes[3, i] + ty * slopes[4, i] + tz * slopes[5, i]


@njit
def by_radius(patch, constants, grown, row, Q, V, changes, out):
    """Add the derivative of a contact's wrench with respect to a radius of its ellipsoid to out.

    patch : (4,) - 1 if there is rolling resistance, 1 if there is spinning friction, the friction law, the
        product a b c of the radii [m^3], and False (the exact derivative of friction is taken, not a secant)
    constants : ((N_PRESSURE,), (N_FRICTION,)) - parameters of the normal force and of spinning friction
    grown : (dh/dr [1], r [m], 2 r (u . n) [m], u) - radius r with its axis u; h is the ellipsoid's half
        height along the normal n
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    changes : ((N_MOVED,) - derivative of the patch by r, (N_CHANGE, 3) - ContactWork.change, written)
    out : (6,) - derivative of the wrench
    """
    d_h, r, by, u = grown
    moved, change = changes
    B, g, bend = force_slopes(row[RUBBING + 1], row)
    w = moved_wrench(swept(B, V), g, moved, row, False, bend)
    for i in range(6):
        out[i] += w[i]
    if not (patch[0] or patch[1]):
        return
    d_vn = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        d_vn += row[AXIS + i] * (V[j] * moved[k] - V[k] * moved[j])
    d_N = row[PRESSING + 1] * moved[D_DEPTH] + row[PRESSING + 2] * moved[D_VOLUME] + row[PRESSING + 3] * d_vn
    moves = moved[D_DEPTH], d_h, d_N, 1.0 / r
    grown_torque(patch, constants, moves, (r, by, u), row, Q, V, change)
    for i in range(3):
        out[i] += change[D_TORQUE, i]


@njit
def by_pressure(law, patch, constants, row, Q, V, change, out):
    """Add the derivatives of a contact's wrench with respect to stiffness and damping of the pressure law to
    out[BY_STIFFNESS] and out[BY_DAMPING].

    law : int - the pressure law, as numbered in kernels/contact/pressure
    patch : (4,) - 1 if there is rolling resistance, 1 if there is spinning friction, the friction law, the
        product a b c of the radii [m^3], and False (the exact derivative of friction is taken, not a secant)
    constants : ((N_PRESSURE,), (N_FRICTION,)) - parameters of the normal force and of spinning friction
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    change : (N_CHANGE, 3) - ContactWork.change, of which rows are written
    out : (N_PARAMETER, 6) - derivatives of the wrench with respect to the parameters
    """
    p = constants[0]
    by_laws = force_by_parameters(law, p, row[PATCH], row[PATCH + 1], row[PATCH + 2])
    _, g, _ = force_slopes(row[RUBBING + 1], row)
    x, y, z = row[POINT], row[POINT + 1], row[POINT + 2]
    for k in range(2):
        d_N, one = by_laws[k], out[BY_STIFFNESS + k]
        add_force(x, y, z, d_N * g[0], d_N * g[1], d_N * g[2], one)
        if not (patch[0] or patch[1]):
            continue
        none = (0.0, 0.0, (0.0, 0.0, 0.0))
        grown_torque(patch, constants, (0.0, 0.0, d_N, 0.0), none, row, Q, V, change)
        for i in range(3):
            one[i] += change[D_TORQUE, i]
        if patch[0]:  # rolling resistance is k_V |a_V| times what it is
            rolling = (patch[0], 0, patch[2], patch[3])
            add_scaled_rolling(rolling, constants, (STIFFNESS, DAMPING)[k], row, Q, V, change, one)


@njit
def add_scaled_rolling(patch, constants, column, row, Q, V, change, out):
    """Add the derivative of the torque of rolling resistance with respect to stiffness or damping to out; the
    torque is proportional to both.

    patch : (4,) - 1 if there is rolling resistance, 0 (spinning friction is left out), the friction law, and
        the product a b c of the radii [m^3]
    constants : ((N_PRESSURE,), (N_FRICTION,)) - parameters of the normal force and of spinning friction
    column : int - column of the parameter, STIFFNESS or DAMPING
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    change : (N_CHANGE, 3) - ContactWork.change, of which rows are written
    out : (6,) - derivative of the wrench
    """
    p, torque = constants[0], change[D_TORQUE]
    for i in range(3):
        torque[i] = 0.0
    patch_torque(patch, p, constants[1], row, Q, V, change, torque)
    if p[column] > 0.0:
        for i in range(3):
            out[i] += torque[i] / p[column]


@njit
def by_friction(patch, friction, spin_friction, row, V, dry, out):
    """Add the derivatives of the wrench with respect to both friction coefficients to out[BY_STATIC] and
    out[BY_DYNAMIC].

    Every law of friction is linear in both coefficients.

    patch : (4,) - 1 if there is rolling resistance, 1 if there is spinning friction, the friction law, the
        product a b c of the radii [m^3], and False (the exact derivative of friction is taken, not a secant)
    friction : (N_FRICTION,) - parameters of friction
    spin_friction : (N_FRICTION,) - parameters of spinning friction
    row : (N_STATE,) - the contact's row of ContactWork.state
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    dry : (N_FRICTION,) - working space: parameters of friction in which one coefficient is 1 and the other 0
    out : (N_PARAMETER, 6) - derivatives of the wrench with respect to the parameters
    """
    N, speed, law = row[PRESSING], row[RUBBING + 3], patch[2]
    spin = V[0] * row[AXIS] + V[1] * row[AXIS + 1] + V[2] * row[AXIS + 2]
    x, y, z = row[POINT], row[POINT + 1], row[POINT + 2]
    for k in range(2):
        one = out[BY_STATIC + k]
        if speed > 0.0:
            for i in range(N_FRICTION):
                dry[i] = friction[i]
            dry[MU_S], dry[MU_D], dry[MU_V], dry[K_V] = 1.0 - k, 1.0 * k, 0.0, 0.0
            F = -friction_force(law, dry, speed, N)[0] / speed
            add_force(x, y, z, F * row[SLIP], F * row[SLIP + 1], F * row[SLIP + 2], one)
        if patch[1]:
            for i in range(N_FRICTION):
                dry[i] = spin_friction[i]
            dry[MU_S], dry[MU_D] = 1.0 - k, 1.0 * k
            torque = -friction_force(law, dry, spin, N)[0] * row[GYRATION]
            for i in range(3):
                one[i] += torque * row[AXIS + i]
