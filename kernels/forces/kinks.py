"""Split of a time step of forward simulation into substeps, short enough for the fast change of friction.

While the sliding speed passes through the transition velocity v_t, friction changes over its whole range in
far less than a step. So within one substep a sliding speed v may change only by D, the larger of f |v| and
c v_t, with the settings f (fraction) and c (floor) of kernels/rosenbrock/step.StepOptions. With the magnitude
a of the sliding acceleration and the rate s at which it grows, a substep may last
  2 D/(a + sqrt(a^2 + 2 ONSET s D)),
a rule of this project with the constant ONSET. The rate s shows that a sticking contact is about to slide; it
costs a linear solve, and is computed only while some contact sticks.

A substep also ends when a contact would close at its present normal velocity. While a contact closes further
within the depth over which viscous friction sets in, a substep may cross at most a quarter of that depth
(kernels/contact/slopes.RAMP_PART).
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.contact.elements import LIMIT, PLACE, RATE, SPEED, SPIN, SPIN_RATE
from kernels.contact.slopes import spinning
from kernels.forces.friction import V_T
from kernels.forces.frictions import DIRECTION, POINT, SLIDING_RATE, SLIDING_SPEED, along
from kernels.forces.pairs import JERK, relative_motion

ONSET = 16.0
"""Weight of s, the rate of the sliding acceleration, in the length of a substep [1]."""
STICKING = 4.0
"""Sliding speed, over the transition velocity, below which a contact counts as sticking [1]."""


@inlined
def sticks(forces, work):
    """Return whether any contact or sliding point sticks: its sliding speed is below STICKING times the
    transition velocity of its friction.
    """
    contacts, frictions = forces.contacts, forces.frictions
    for e in range(contacts.pair.shape[0]):
        speed = work.contacts.kink[e, SPEED]
        if contacts.friction_law[e] >= 0 and 0.0 <= speed < STICKING * contacts.friction[e, V_T]:
            return True
        slow = STICKING * contacts.spin_friction[e, V_T]
        if contacts.spins[e] and speed >= 0.0 and abs(work.contacts.kink[e, SPIN]) < slow:
            return True
    for e in range(frictions.pair.shape[0]):
        if abs(work.frictions.state[e, SLIDING_SPEED]) < STICKING * frictions.parameter[e, V_T]:
            return True
    return False


@inlined
def part_length(forces, twist, origin, jerk, fraction, floor, rest, work):
    """Return the length of the next substep of a time step [s], in which no sliding speed changes by more
    than the rule of this module allows.

    forces : ForceElements - the force elements of the model
    twist : (n_v, 6) - twists of all dofs about the origin of body 0
    origin : (3,) - position of the origin of body 0 in ground [m]
    jerk : (n_v,) - rate of the generalized accelerations [rad/s^3, m/s^3], or zeros
    fraction : float - allowed change of a sliding speed, relative to that speed [1]
    floor : float - allowed change, relative to the transition velocity [1]; the larger of the two counts
    rest : float - remaining time of the step [s]
    work : ForceWork - results and working space of all elements
    """
    relative_motion(forces.pairs, twist, jerk, work.pairs.motion, JERK)
    h = rest
    contacts, frictions = forces.contacts, forces.frictions
    for e in range(contacts.pair.shape[0]):
        kink = work.contacts.kink[e]
        h = min(h, kink[LIMIT])
        if kink[SPEED] >= 0.0 and contacts.friction_law[e] >= 0:
            a = math.sqrt(kink[RATE] ** 2 + kink[RATE + 1] ** 2 + kink[RATE + 2] ** 2)
            rise = 0.0
            if a > 0.0:
                rise = (
                    along_rate(work.pairs.motion[contacts.pair[e], JERK], work.contacts.out[e], origin, kink)
                    / a
                )
            D = max(fraction * kink[SPEED], floor * contacts.friction[e, V_T])
            h = min(h, allowed(D, a, rise))
        if kink[SPEED] >= 0.0 and contacts.spins[e]:
            a, rise = (
                kink[SPIN_RATE],
                spinning(work.pairs.motion[contacts.pair[e], JERK], work.contacts.state[e]),
            )
            D = max(fraction * abs(kink[SPIN]), floor * contacts.spin_friction[e, V_T])
            h = min(h, allowed(D, abs(a), rise if a > 0.0 else -rise))
    for e in range(frictions.pair.shape[0]):
        row = work.frictions.state[e]
        tx, ty, tz = row[DIRECTION], row[DIRECTION + 1], row[DIRECTION + 2]
        pair_jerk = work.pairs.motion[frictions.pair[e], JERK]
        a, rise = row[SLIDING_RATE], along(pair_jerk, row[POINT], row[POINT + 1], row[POINT + 2], tx, ty, tz)
        D = max(fraction * abs(row[SLIDING_SPEED]), floor * frictions.parameter[e, V_T])
        h = min(h, allowed(D, abs(a), rise if a > 0.0 else -rise))
    return h


@njit
def along_rate(jerk, out, origin, kink):
    """Return the scalar product of a contact's sliding acceleration and the rate of that acceleration
    [m^2/s^5].

    Divided by the magnitude of the acceleration, it is the rate at which that magnitude grows.

    jerk : (6,) - rate of the acceleration of A relative to B, about the origin of body 0
    out : (N_CONTACT_OUT,) - the contact's row of ContactWork.out, with its position
    origin : (3,) - position of the origin of body 0 in ground [m]
    kink : (N_KINK,) - the contact's row of ContactWork.kink, with its sliding acceleration
    """
    rise = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        xj, xk = out[PLACE + j] - origin[j], out[PLACE + k] - origin[k]
        rise += kink[RATE + i] * (jerk[3 + i] + jerk[j] * xk - jerk[k] * xj)
    return rise


@njit
def allowed(D, a, rise):
    """Return how long a substep may last [s] if a sliding speed may change by at most D [m/s] in it.

    The rule is that of the module; the time is infinite without acceleration. For spinning contacts D, a and
    rise are those of the angular velocity.

    a : float - magnitude of the sliding acceleration [m/s^2]
    rise : float - rate at which a grows [m/s^3]; a negative rate counts as 0
    """
    total = a + math.sqrt(a * a + 2.0 * ONSET * max(rise, 0.0) * D)
    return 2.0 * D / total if total > 0.0 else math.inf
