"""Contacts of bodies whose motion is given: wrenches, and derivatives by motion and by all parameters.

The mechanics are those of forward simulation (kernels/contact/contacts, slopes); here nothing moves the
bodies but what is handed over. Every contact is a pair of its own, so that wrenches and slopes of each are
results.
B of every contact is at rest in ground: a plate, a floor, a step, of any orientation.
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
"""Rows of the derivatives by the motion of a body, three each along the axes of ground: where its origin lies
[m], turned about its origin [rad], velocity of its origin [m/s], angular velocity [rad/s]; each with the
others held."""
N_MOTION = 12


class Prescribed(NamedTuple):
    """Contacts of bodies in given motion."""

    pairs: Pairs  # contact e is pair e, between its body and ground
    contacts: Contacts


class BodyMotion(NamedTuple):
    """Where bodies are and how they move, in ground."""

    position: Annotated[np.ndarray, Floats("n_body", 3)]  # of the bodies' origins [m]
    rotation: np.ndarray  # (n_body, 3, 3) - their axes as columns
    velocity: Annotated[np.ndarray, Floats("n_body", 3)]  # of their origins [m/s]
    turning: Annotated[np.ndarray, Floats("n_body", 3)]  # angular velocities [rad/s]


class PrescribedWork(NamedTuple):
    """Results and working space."""

    pose: Pose
    contacts: ContactWork
    pairs: PairWork
    # on the bodies, moment about the origin of ground [N m], force [N]
    wrench: Annotated[np.ndarray, Floats("n_contact", 6)]
    # of it, by the motion of the contact's own body
    by_motion: Annotated[np.ndarray, Floats("n_contact", N_MOTION, 6)]
    # of it, by the contact's parameters
    by_parameter: Annotated[np.ndarray, Floats("n_contact", N_PARAMETER, 6)]


def prescribe(contacts: Contacts, body: np.ndarray) -> Prescribed:
    """The contacts, e on body[e], against ground; of any model whose contacts touch ground."""
    n = len(contacts.pair)
    pairs = allocate(Pairs, n_pair=n, n_path_max=1, body_a=np.array(body, np.int64), body_b=np.full(n, -1))
    return Prescribed(pairs, contacts._replace(pair=np.arange(n)))


def new_motion(n_body: int) -> BodyMotion:
    """Allocate a Motion, at rest in ground's own axes."""
    return allocate(BodyMotion, n_body=n_body, rotation=np.tile(np.eye(3), (n_body, 1, 1)))


def new_prescribed_work(model: Prescribed, n_body: int) -> PrescribedWork:
    """Allocate a PrescribedWork."""
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
    """work.wrench of all contacts, and what kernels/contact leaves in work.contacts.

    model : Prescribed
    motion : Motion
    work : PrescribedWork - written
    """
    wrenches(model, motion, work)


@njit
def contact_derivatives(model, motion, work, with_parameters):
    """work.wrench and work.by_motion; with parameters also work.by_parameter, of ellipsoids on planes.

    Exact, but for the kinks of the laws themselves; the body of another contact has no part in them.

    model : Prescribed
    motion : Motion
    work : PrescribedWork - written
    with_parameters : bool
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
    """As contact_wrenches.

    model : Prescribed
    motion : Motion
    work : PrescribedWork - written
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
    """wrench : (6,), given about the point origin : (3,), about that of ground instead."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        wrench[i] += origin[j] * wrench[3 + k] - origin[k] * wrench[3 + j]


@inlined
def by_motion(motion, body, slopes, V, out):
    """out : (N_MOTION, 6) - the slopes of a pair by the motion of its body, about the origin of ground.

    About the reference point, the twist that shifts the body's origin by x changes the velocity there by
    x x w, as that of the body's origin is held.

    motion : Motion
    body : int
    slopes : (2, 6, 6) - of PairWork, transposed
    V : (6,) - of the body about the reference point [rad/s, m/s]
    """
    place, speed, origin, own = slopes[BY_PLACE], slopes[BY_SPEED], motion.position[0], motion.position[body]
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        xi, xj = own[i] - origin[i], own[j] - origin[j]
        for c in range(6):
            # - w x e_k = w_i e_j - w_j e_i, as e_k x w
            out[POSITION + k, c] = place[3 + k, c] + V[i] * speed[3 + j, c] - V[j] * speed[3 + i, c]
            # turned about the own origin: the reference point moves by x x e_k = x_j e_i - x_i e_j
            out[TURNED + k, c] = place[k, c] + xj * place[3 + i, c] - xi * place[3 + j, c]
            out[SPEED + k, c] = speed[3 + k, c]
            out[TURNING + k, c] = speed[k, c] + xj * speed[3 + i, c] - xi * speed[3 + j, c]
        shift_moment(origin, out[POSITION + k])
        shift_moment(origin, out[TURNED + k])
        shift_moment(origin, out[SPEED + k])
        shift_moment(origin, out[TURNING + k])
