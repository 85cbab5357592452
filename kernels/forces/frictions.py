"""Dry friction at a point along a given direction under a constant normal force: a block on a belt, a brake,
a guide.

The unit direction t is fixed in body B, the point a in body A; both are in ground axes, about the reference
point. With g = (a x t, t) and the velocity V : (6,) of A relative to B, the sliding speed is v = g . V -
surface_velocity, and the wrench on A is -F(v, N) g with the friction F under the normal force N. Where a is
displaced by da, g changes by (da x t, 0).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import inlined
from kernels.forces.friction import friction_force
from kernels.forces.pairs import BY_PLACE, BY_SPEED, ONSET, VELOCITY
from kernels.forces.places import add_displaced, add_force, add_stiffness, direction, place

SLIDING_SPEED, FORCE = 0, 1
N_FRICTION_OUT = 2

SLIDING_RATE, SLOPE, POINT, DIRECTION = 2, 3, 4, 7
"""Further columns of FrictionWork.state: sliding acceleration [m/s^2], dF/dv [N s/m], the point a (3)
relative to the origin of body 0 [m], and the direction t (3)."""
N_STATE = 10


class Frictions(NamedTuple):
    """Points of bodies A that slide along a direction fixed in bodies B, with their friction laws and normal
    forces.
    """

    pair: np.ndarray  # (n_friction,) int64
    law: np.ndarray  # (n_friction,) int64 - of kernels/forces/friction
    point: np.ndarray  # (n_friction, 3) - on body A [m]
    direction: np.ndarray  # (n_friction, 3) - unit, on body B
    surface_velocity: np.ndarray  # (n_friction,) - speed of B's surface along the direction [m/s]
    load: np.ndarray  # (n_friction,) - normal force [N]
    parameter: np.ndarray  # (n_friction, N_FRICTION)


class FrictionWork(NamedTuple):
    """Results of the friction elements, one for each sliding point."""

    # (n_friction, N_STATE) - sliding speed [m/s], friction on A along the direction [N]; what the slopes need
    state: Annotated[np.ndarray, Floats("n_friction", N_STATE)]


def new_friction_work(n_friction: int) -> FrictionWork:
    """Allocate a FrictionWork: results of the friction elements."""
    return allocate(FrictionWork, n_friction=n_friction)


@inlined
def add_frictions(pairs, frictions, pose, work, pair_work):
    """Add the friction wrench of every sliding point to the wrench of its pair of bodies.

    The columns of work.state are written, except SLIDING_RATE (the sliding acceleration).

    pairs : Pairs - the two bodies of every pair
    frictions : Frictions - points, directions, laws and normal forces
    pose : Pose - positions and orientations of all bodies in ground
    work : FrictionWork - results of the sliding points, written
    pair_work : PairWork - motions are read, wrenches added to
    """
    for e in range(frictions.pair.shape[0]):
        p, row = frictions.pair[e], work.state[e]
        ax, ay, az = place(pose, pairs.body_a[p], frictions.point[e])
        tx, ty, tz = direction(pose, pairs.body_b[p], frictions.direction[e])
        v = along(pair_work.motion[p, VELOCITY], ax, ay, az, tx, ty, tz) - frictions.surface_velocity[e]
        F, F_v, _ = friction_force(frictions.law[e], frictions.parameter[e], v, frictions.load[e])
        add_force(ax, ay, az, -F * tx, -F * ty, -F * tz, pair_work.wrench[p])
        row[SLIDING_SPEED], row[FORCE], row[SLOPE] = v, -F, F_v
        row[POINT], row[POINT + 1], row[POINT + 2] = ax, ay, az
        row[DIRECTION], row[DIRECTION + 1], row[DIRECTION + 2] = tx, ty, tz


@inlined
def along(motion, x, y, z, tx, ty, tz):
    """Return the component along a unit direction of the velocity of a body's point [m/s], or likewise of its
    acceleration.

    motion : (6,) - velocity or acceleration of the body about the origin of body 0, angular part first
    x, y, z : float - position of the point relative to the origin of body 0 [m]
    tx, ty, tz : float - the unit direction
    """
    w0, w1, w2 = motion[0], motion[1], motion[2]
    return (
        tx * (motion[3] + w1 * z - w2 * y)
        + ty * (motion[4] + w2 * x - w0 * z)
        + tz * (motion[5] + w0 * y - w1 * x)
    )


@inlined
def add_friction_slopes(frictions, step, work, pair_work):
    """Add the derivatives of the friction wrenches with respect to relative pose and velocity to those of the
    pairs.

    It also writes the sliding accelerations, and is called after add_frictions. A displacement x of the
    sliding point changes the force by -F_v t (t x W) . x, with F_v = dF/dv, the direction t and the relative
    angular velocity W, and moves the point at which the force acts; a change x of the point's velocity
    changes the force by -F_v t (t . x).

    frictions : Frictions - points, directions, laws and normal forces
    step : float - length of the time step [s]; where sliding reverses within it, a secant slope replaces F_v;
        0 = always F_v
    work : FrictionWork - results of the sliding points, written
    pair_work : PairWork - motions are read, slopes added to
    """
    for e in range(frictions.pair.shape[0]):
        p, row = frictions.pair[e], work.state[e]
        ax, ay, az = row[POINT], row[POINT + 1], row[POINT + 2]
        tx, ty, tz = row[DIRECTION], row[DIRECTION + 1], row[DIRECTION + 2]
        rate = along(pair_work.motion[p, ONSET], ax, ay, az, tx, ty, tz)
        v, F, slope = row[SLIDING_SPEED], row[FORCE], row[SLOPE]
        if step > 0.0 and v != 0.0 and v * (v + 2.0 * step * rate) <= 0.0:
            slope = max(slope, -F / v)
        row[SLIDING_RATE] = rate
        V = pair_work.motion[p, VELOCITY]
        cx, cy, cz = slope * tx, slope * ty, slope * tz
        mx, my, mz = cy * V[2] - cz * V[1], cz * V[0] - cx * V[2], cx * V[1] - cy * V[0]
        a, slopes = (ax, ay, az), pair_work.slopes[p]
        pair_work.loaded[p] = 1
        D = (-tx * mx, -tx * my, -tx * mz, -ty * mx, -ty * my, -ty * mz, -tz * mx, -tz * my, -tz * mz)
        add_stiffness(D, a, a, slopes[BY_PLACE])
        add_displaced(a, F * tx, F * ty, F * tz, slopes[BY_PLACE])
        D = (-tx * cx, -tx * cy, -tx * cz, -ty * cx, -ty * cy, -ty * cz, -tz * cx, -tz * cy, -tz * cz)
        add_stiffness(D, a, a, slopes[BY_SPEED])
