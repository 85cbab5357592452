"""Contacts of bodies with prescribed motion: wrenches, and derivatives with respect to the motion and all
parameters.

The mechanics are those of forward simulation (kernels/contact/contacts, slopes), but the caller prescribes
how the bodies move. Every contact has its own pair of bodies, so that the wrench of each contact and its
derivatives are results. Body B of every contact is at rest in ground: a plate, a floor or a step, of any
orientation.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import inlined, njit
from kernels.contact.contacts import add_contacts
from kernels.contact.elements import Contacts, ContactWork, new_contact_work
from kernels.contact.parameter_slopes import N_PARAMETER, parameter_slopes
from kernels.contact.slopes import add_contact_slopes
from kernels.forces.pairs import BY_PLACE, BY_SPEED, VELOCITY, Pairs, PairWork, clear_slopes
from kernels.joints.tree import Pose, new_pose

POSITION, TURNED, SPEED, TURNING = 0, 3, 6, 9
"""First rows of the derivatives with respect to the motion of a body, three each along X, Y and Z of ground:
the position of its origin [m], a rotation about its origin [rad], the velocity of its origin [m/s] and its
angular velocity [rad/s]; in each derivative the other three quantities are held fixed."""
N_MOTION = 12
"""Number of these rows."""


class Prescribed(NamedTuple):
    """Contacts of bodies with prescribed motion, each between a body and ground."""

    pairs: Pairs  # contact e is pair e, between its body and ground
    contacts: Contacts


class BodyMotion(NamedTuple):
    """Positions and velocities of bodies in ground."""

    position: Annotated[np.ndarray, Floats("n_body", 3)]  # of the bodies' origins [m]
    rotation: np.ndarray  # (n_body, 3, 3) - their axes as columns
    velocity: Annotated[np.ndarray, Floats("n_body", 3)]  # of their origins [m/s]
    turning: Annotated[np.ndarray, Floats("n_body", 3)]  # angular velocities [rad/s]


class PrescribedWork(NamedTuple):
    """Results of contacts with prescribed motion, and working space."""

    pose: Pose
    contacts: ContactWork
    pairs: PairWork
    # on the bodies, moment about the origin of ground [N m], force [N]
    wrench: Annotated[np.ndarray, Floats("n_contact", 6)]
    # its derivatives with respect to the motion of the contact's own body, rows as for N_MOTION
    by_motion: Annotated[np.ndarray, Floats("n_contact", N_MOTION, 6)]
    # its derivatives with respect to the contact's parameters
    by_parameter: Annotated[np.ndarray, Floats("n_contact", N_PARAMETER, 6)]


def prescribe(contacts: Contacts, body: np.ndarray) -> Prescribed:
    """Return contacts with prescribed motion, contact e between body[e] and ground.

    contacts : Contacts - contacts of any model in which they touch ground
    body : (n_contact,) - number of the body in each contact
    """
    n = len(contacts.pair)
    pairs = allocate(Pairs, n_pair=n, n_path_max=1, body_a=np.array(body, np.int64), body_b=np.full(n, -1))
    return Prescribed(pairs, contacts._replace(pair=np.arange(n)))


def new_motion(n_body: int) -> BodyMotion:
    """Allocate a BodyMotion of bodies at rest, with the axes of ground."""
    return allocate(BodyMotion, n_body=n_body, rotation=np.tile(np.eye(3), (n_body, 1, 1)))


def new_prescribed_work(model: Prescribed, n_body: int) -> PrescribedWork:
    """Allocate a PrescribedWork: results of contacts with prescribed motion, and working space."""
    n = len(model.contacts.pair)
    pairs = allocate(PairWork, n_pair=n, n_v=0)
    return allocate(
        PrescribedWork,
        n_contact=n,
        pose=new_pose(n_body, 0),
        contacts=new_contact_work(model.contacts),
        pairs=pairs,
    )


@njit
def contact_wrenches(model, motion, work):
    """Write the wrenches of all contacts into work.wrench, and their patches and forces into work.contacts
    (see kernels/contact/contacts).

    model : Prescribed - the contacts of bodies with given motion
    motion : BodyMotion - positions and velocities of the bodies
    work : PrescribedWork - results and working space, written
    """
    wrenches(model, motion, work)


@njit
def contact_derivatives(model, motion, work, with_parameters):
    """Write the wrenches of all contacts (work.wrench) and their derivatives with respect to the motion of
    the body (work.by_motion) and, on request, to the contact parameters (work.by_parameter).

    The derivatives are exact, except where the force laws themselves have a kink, a jump of their derivative.
    A wrench depends on the motion of the body of its own contact only.

    model : Prescribed - the contacts of bodies with given motion
    motion : BodyMotion - positions and velocities of the bodies
    work : PrescribedWork - results and working space, written
    with_parameters : bool - whether work.by_parameter is written, too, for contacts of ellipsoids with planes
    """
    wrenches(model, motion, work)
    clear_slopes(work.pairs)
    add_contact_slopes(model.contacts, motion.position[0], 0.0, work.contacts, work.pairs)
    for e in range(model.contacts.pair.shape[0]):
        slopes, V = work.pairs.slopes[e], work.pairs.motion[e, VELOCITY]
        by_motion(motion, model.pairs.body_a[e], slopes, V, work.by_motion[e])
        if with_parameters:
            parameter_slopes(
                model.pairs, model.contacts, e, work.pose, V, work.contacts, slopes, work.by_parameter[e]
            )
            for k in range(N_PARAMETER):
                shift_moment(motion.position[0], work.by_parameter[e, k])


@inlined
def wrenches(model, motion, work):
    """Write the wrenches of all contacts into work.wrench, and their patches and forces into work.contacts;
    merged into contact_wrenches and contact_derivatives.

    model : Prescribed - the contacts of bodies with given motion
    motion : BodyMotion - positions and velocities of the bodies
    work : PrescribedWork - results and working space, written
    """
    pose, pairs = work.pose, work.pairs
    for b in range(motion.position.shape[0]):
        for i in range(3):
            pose.position[b, i] = motion.position[b, i]
            for j in range(3):
                pose.rotation[b, i, j] = motion.rotation[b, i, j]
    for e in range(model.contacts.pair.shape[0]):
        b, V = model.pairs.body_a[e], pairs.motion[e, VELOCITY]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            xj = motion.position[b, j] - motion.position[0, j]
            xk = motion.position[b, k] - motion.position[0, k]
            V[i] = motion.turning[b, i]
            V[3 + i] = motion.velocity[b, i] - motion.turning[b, j] * xk + motion.turning[b, k] * xj
        for i in range(6):
            pairs.wrench[e, i] = 0.0
    add_contacts(model.pairs, model.contacts, pose, work.contacts, pairs)
    for e in range(model.contacts.pair.shape[0]):
        for i in range(6):
            work.wrench[e, i] = pairs.wrench[e, i]
        shift_moment(motion.position[0], work.wrench[e])


@inlined
def shift_moment(origin, wrench):
    """Convert a wrench given about the point origin to one about the origin of ground, in place.

    origin : (3,) - point about which the moment is given, in ground [m]
    wrench : (6,) - moment [N m] and force [N], changed
    """
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        wrench[i] += origin[j] * wrench[3 + k] - origin[k] * wrench[3 + j]


@inlined
def by_motion(motion, body, slopes, V, out):
    """Write into out the derivatives of a contact's wrench with respect to the motion of its body, converted
    from those with respect to twists about O, the place of body 0's origin.

    In slopes, moments are about O, which is held fixed in ground, and each row belongs to a unit twist of the
    body about O. In out, moments are about the origin of ground, and each row belongs to the body's own
    origin. If this origin is shifted by d while its velocity stays the same, the velocity of the body's point
    at O changes by d x w, with the angular velocity w.

    motion : BodyMotion - positions and velocities of the bodies
    body : int - index of the body
    slopes : (2, 6, 6) - PairWork.slopes: derivatives of the wrench with respect to position and velocity;
      rows 0 to 2 of each belong to rotations about the axes of ground through O, rows 3 to 5 to translations
    V : (6,) - angular velocity of the body, and velocity of its point at O [rad/s, m/s]
    out : (N_MOTION, 6) - derivatives of moment and force, written: rows 0 to 2 with respect to the position
      of the body's origin, 3 to 5 to a rotation about it, 6 to 8 to its velocity, 9 to 11 to the angular
      velocity of the body; each along X, Y and Z of ground, with the other three quantities held fixed
    """
    place, speed, origin, own = slopes[BY_PLACE], slopes[BY_SPEED], motion.position[0], motion.position[body]
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        xi, xj = own[i] - origin[i], own[j] - origin[j]
        for c in range(6):
            # - w x e_k = w_i e_j - w_j e_i, as e_k x w
            out[POSITION + k, c] = place[3 + k, c] + V[i] * speed[3 + j, c] - V[j] * speed[3 + i, c]
            # rotated about its own origin: the point at O moves by x x e_k = x_j e_i - x_i e_j
            out[TURNED + k, c] = place[k, c] + xj * place[3 + i, c] - xi * place[3 + j, c]
            out[SPEED + k, c] = speed[3 + k, c]
            out[TURNING + k, c] = speed[k, c] + xj * speed[3 + i, c] - xi * speed[3 + j, c]
        shift_moment(origin, out[POSITION + k])
        shift_moment(origin, out[TURNED + k])
        shift_moment(origin, out[SPEED + k])
        shift_moment(origin, out[TURNING + k])
