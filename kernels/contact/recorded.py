"""Contacts of bodies with recorded motion: the sum of their wrenches in every frame, and its derivatives with
respect to the motion of the bodies and to the parameters of the contacts."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import entry, inlined
from kernels.contact.parameter_slopes import N_PARAMETER
from kernels.contact.prescribed import (
    N_MOTION,
    BodyMotion,
    Prescribed,
    PrescribedWork,
    contact_derivatives,
    contact_wrenches,
    new_motion,
    new_prescribed_work,
)


class RecordedBodies(NamedTuple):
    """Positions and velocities of bodies in n frames, in ground."""

    position: Annotated[np.ndarray, Floats("n", "n_body", 3)]  # of the bodies' origins [m]
    rotation: np.ndarray  # (n, n_body, 3, 3) - their axes as columns
    velocity: Annotated[np.ndarray, Floats("n", "n_body", 3)]  # of their origins [m/s]
    turning: Annotated[np.ndarray, Floats("n", "n_body", 3)]  # angular velocities [rad/s]


class RecordedWork(NamedTuple):
    """Summed contact wrenches of n frames with their derivatives, and working space for one frame."""

    # of all contacts, moment about the origin of ground [N m], force [N]
    wrench: Annotated[np.ndarray, Floats("n", 6)]
    by_motion: Annotated[np.ndarray, Floats("n", "n_body", N_MOTION, 6)]  # of wrench, by each body's motion
    # of wrench, by the parameters of each contact
    by_parameter: Annotated[np.ndarray, Floats("n", "n_contact", N_PARAMETER, 6)]
    motion: BodyMotion
    frame: PrescribedWork


def new_recorded(n: int, n_body: int) -> RecordedBodies:
    """Allocate a RecordedBodies of bodies at rest, with the axes of ground."""
    return allocate(RecordedBodies, n=n, n_body=n_body, rotation=np.tile(np.eye(3), (n, n_body, 1, 1)))


def new_recorded_work(model: Prescribed, n: int, n_body: int) -> RecordedWork:
    """Allocate a RecordedWork: summed contact wrenches of all frames, and working space."""
    n_contact = len(model.contacts.pair)
    return allocate(
        RecordedWork,
        n=n,
        n_body=n_body,
        n_contact=n_contact,
        motion=new_motion(n_body),
        frame=new_prescribed_work(model, n_body),
    )


@entry
def recorded_wrenches(model, recorded, work):
    """Write the sum of the wrenches of all contacts in every frame into work.wrench : (n, 6) [N m, N], about
    the origin of ground.

    model : Prescribed - the contacts of bodies with given motion
    recorded : RecordedBodies - positions and velocities of the bodies in every frame
    work : RecordedWork - results and working space, written
    """
    for n in range(recorded.position.shape[0]):
        at_frame(recorded, n, work.motion)
        contact_wrenches(model, work.motion, work.frame)
        add_up(work.frame.wrench, work.wrench[n])


@entry
def recorded_derivatives(model, recorded, work):
    """Write the sum of the wrenches of all contacts in every frame (work.wrench) and its derivatives with
    respect to the motion of the bodies (work.by_motion) and to the contact parameters (work.by_parameter).

    model : Prescribed - the contacts of bodies with given motion
    recorded : RecordedBodies - positions and velocities of the bodies in every frame
    work : RecordedWork - results and working space, written
    """
    for n in range(recorded.position.shape[0]):
        at_frame(recorded, n, work.motion)
        contact_derivatives(model, work.motion, work.frame, True)
        add_up(work.frame.wrench, work.wrench[n])
        for b in range(recorded.position.shape[1]):
            for r in range(N_MOTION):
                for i in range(6):
                    work.by_motion[n, b, r, i] = 0.0
        for e in range(model.contacts.pair.shape[0]):
            b = model.pairs.body_a[e]
            for r in range(N_MOTION):
                for i in range(6):
                    work.by_motion[n, b, r, i] += work.frame.by_motion[e, r, i]
            for r in range(N_PARAMETER):
                for i in range(6):
                    work.by_parameter[n, e, r, i] = work.frame.by_parameter[e, r, i]


@inlined
def at_frame(recorded, n, motion_out):
    """Copy the motion of all bodies in frame n into motion_out.

    recorded : RecordedBodies - positions and velocities of the bodies in every frame
    n : int - index of the frame
    motion_out : BodyMotion - positions and velocities of the bodies, written
    """
    for b in range(recorded.position.shape[1]):
        for i in range(3):
            motion_out.position[b, i] = recorded.position[n, b, i]
            motion_out.velocity[b, i] = recorded.velocity[n, b, i]
            motion_out.turning[b, i] = recorded.turning[n, b, i]
            for j in range(3):
                motion_out.rotation[b, i, j] = recorded.rotation[n, b, i, j]


@inlined
def add_up(wrenches, total_out):
    """Write the sum of the wrenches : (n_contact, 6) into total_out : (6,)."""
    for i in range(6):
        total_out[i] = 0.0
        for e in range(wrenches.shape[0]):
            total_out[i] += wrenches[e, i]
