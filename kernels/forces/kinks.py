"""How long a step may be before sliding turns round: the parts of a split step.

Within the transition velocity v_t friction changes by all it has, in a time far shorter than a step. A part of a
step may change a sliding speed v by D = max(fraction v, floor v_t) only: with the sliding acceleration a and its
rate along a, s, it may last 2 D/(|a| + sqrt(a^2 + 2 ONSET s D)) (own rule). s, which tells that a sticking contact
is about to let go, costs a solve and is found only where some contact sticks. A part also ends where a contact
closes at its present speed, and covers but a part of the depth over which viscous friction sets in.
"""

from __future__ import annotations

import math

from kernels._jit import inlined, njit
from kernels.contact.elements import LIMIT, PLACE, RATE, SPEED
from kernels.forces.frictions import SPEED as RUB_SPEED
from kernels.forces.pairs import relative_motion
from kernels.friction import V_T

ONSET = 16.0
"""Weight of the rate of the sliding acceleration [1]."""
STICKING = 4.0
"""Sliding speed in transition velocities below which a contact counts as sticking [1]."""


@njit
def sticks(forces, work):
    """Whether some contact in contact, or sliding point, moves slower than STICKING of its transition velocity."""
    contacts, frictions = forces.contacts, forces.frictions
    for e in range(contacts.pair.shape[0]):
        speed = work.contacts.kink[e, SPEED]
        if contacts.friction_law[e] >= 0 and 0.0 <= speed < STICKING * contacts.friction[e, V_T]:
            return True
    for e in range(frictions.pair.shape[0]):
        if abs(work.frictions.out[e, RUB_SPEED]) < STICKING * frictions.parameter[e, V_T]:
            return True
    return False


@inlined
def part_length(forces, twist, origin, jerk, fraction, floor, rest, work):
    """Length of the next part of a step of which `rest` [s] is left; jerk : (n_v,) - rate of v_dot, or zero."""
    relative_motion(forces.pairs, twist, jerk, work.pairs.jerk)
    h = rest
    contacts, frictions = forces.contacts, forces.frictions
    for e in range(contacts.pair.shape[0]):
        kink = work.contacts.kink[e]
        h = min(h, kink[LIMIT])
        if kink[SPEED] >= 0.0 and contacts.friction_law[e] >= 0:
            a = math.sqrt(kink[RATE] ** 2 + kink[RATE + 1] ** 2 + kink[RATE + 2] ** 2)
            rise = 0.0
            if a > 0.0:
                rise = along_rate(work.pairs.jerk[contacts.pair[e]], work.contacts.out[e], origin, kink) / a
            D = max(fraction * kink[SPEED], floor * contacts.friction[e, V_T])
            h = min(h, allowed(D, a, rise))
    for e in range(frictions.pair.shape[0]):
        a, rise = work.frictions.rate[e], 0.0
        for i in range(6):
            rise += work.frictions.arm[e, i] * work.pairs.jerk[frictions.pair[e], i]
        D = max(fraction * abs(work.frictions.out[e, RUB_SPEED]), floor * frictions.parameter[e, V_T])
        h = min(h, allowed(D, abs(a), rise if a > 0.0 else -rise))
    return h


@njit
def along_rate(jerk, out, origin, kink):
    """Rate of the sliding acceleration of a contact times that acceleration [m^2/s^5]."""
    rise = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        xj, xk = out[PLACE + j] - origin[j], out[PLACE + k] - origin[k]
        rise += kink[RATE + i] * (jerk[3 + i] + jerk[j] * xk - jerk[k] * xj)
    return rise


@njit
def allowed(D, a, rise):
    """Time in which a sliding speed changes by D [m/s] at the rate a, growing by rise."""
    total = a + math.sqrt(a * a + 2.0 * ONSET * max(rise, 0.0) * D)
    return 2.0 * D / total if total > 0.0 else math.inf
