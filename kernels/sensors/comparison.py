"""Comparison of one measurement of a device with the angles that the model sent to it.

It is made once per tick, which is one cycle of the exchange with the device.
rtsim/device/sensor_check.py explains what is compared and why, and writes the messages; the computation is
here. All state is in one array, so that a tick accesses little memory.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kernels.compiler.jit import njit
from kernels.sensors.lag_sums import MEMORY_S, N_SUM, add_sample
from kernels.sensors.told import ANGLE, SPEED, angle_told, beyond, time_between

# places in the state, after the sums of kernels/sensors/lag_sums
# [rad] - difference of the newest angle from the sent one, 0 where a delay explains it; its recent maximum
OFF, WORST = N_SUM, N_SUM + 1
WAS_THERE, WAS_SEQ, WAS_ANGLE, WAS_SPEED = N_SUM + 2, N_SUM + 3, N_SUM + 4, N_SUM + 5
# h, e [rad]: what the angle turned by, and what the speed says beyond it; sums of h*h and e*h [rad^2 s]
TURNED, EXTRA, HH, EH = N_SUM + 6, N_SUM + 7, N_SUM + 8, N_SUM + 9
OFF_TIMES, DENIED_TIMES = N_SUM + 10, N_SUM + 13  # three each
N_STATE = N_SUM + 16
WRONG_S, RIGHT_S, OVER = 0, 1, 2  # [s], [s] and whether it was too long

# bits of what was found
ANGLE_OFF, ANGLE_OVER, SPEED_OVER, SPEED_OFF, GAIN_OFF = 1, 2, 4, 8, 16

LONG_S = 10.0
"""Time constant with which the time for which something was wrong decays [s]."""
AGREED_S = 1.0
"""Time without a fault after which a fault that lasted too long is reset [s]."""
SHORT_S = 0.5
"""Time constant with which the sums of changes of the angle, by speed and by angle, decay [s]."""
LONGEST_S = 0.05
"""Longest time between two measurements of which speed and angle are compared [s]."""
MOST_GAIN_OFF = 0.5
"""Allowed difference of the gain of the speed, relative to the rate of the angle, from 1."""
MOVED_RAD = math.radians(1.0)
LEAP_RAD = math.radians(1.0)
"""Jump of the sent angle, beyond the greatest speed, up to which its motion is compared [rad]."""


class Allowed(NamedTuple):
    """Limits for the comparison of a device's measurements with the model.

    agreement : allowed difference of angles [rad]
    n_late : number of outputs by which a device may be late
    most_s : time for which a measurement may be wrong [s]
    speed_max : greatest speed of the joint [rad/s]
    """

    agreement: float
    n_late: int
    most_s: float
    speed_max: float


@njit
def compare(state, told, allowed, at, awaited, angle, speed, passed_s, by_device_s):
    """Compare a device's measured angle and speed with the angles sent to it; return bits that state what is
    wrong, 0 = nothing.

    The bits are ANGLE_OFF (the angle is wrong), ANGLE_OVER and SPEED_OVER (angle or speed has been wrong for
    too long), SPEED_OFF and GAIN_OFF (the speed does not fit the angle, see speed_found). The result is -1 if
    the angle that was sent is not known.

    state : (N_STATE,) - state of the comparison, updated
    told : (n, 4) - outputs that were sent (kernels/sensors/told)
    allowed : Allowed - limits for the comparison of the device with the model
    at, awaited : int, int - numbers of the output that the measurement answers, and of the newest output
    angle, speed : float, float - measured [rad, rad/s]
    passed_s, by_device_s : float, float - time since the previous measurement [s], by ticks, and by the
        device's clock (NaN where the clock cannot be used)
    """
    reference = angle_told(told, at)
    if reference != reference:
        state[WAS_THERE] = 0.0
        return -1
    off = angle - reference
    if abs(off) > allowed.agreement:
        off = beyond(told, angle, max(0, at - allowed.n_late), awaited)
    off = off if abs(off) > allowed.agreement else 0.0
    state[OFF] = off
    add_time(state[OFF_TIMES:DENIED_TIMES], off != 0.0, passed_s, allowed.most_s)
    over = state[OFF_TIMES + OVER] != 0.0
    if abs(off) > abs(state[WORST]) or not (off != 0.0 or over):
        state[WORST] = off
    add_sample(state, angle, reference, told[at % told.shape[0], SPEED], passed_s)
    found = compare_speed(state, told, allowed, at, angle, speed, passed_s, by_device_s)
    found |= ANGLE_OFF if off != 0.0 else 0
    found |= ANGLE_OVER if over else 0
    return found | (SPEED_OVER if state[DENIED_TIMES + OVER] != 0.0 else 0)


@njit
def add_time(times, wrong, passed_s, most_s):
    """Add to the time for which a measured quantity was wrong, and set OVER if that is too long.

    The time decays with the time constant LONG_S. If it was too long, it and OVER are reset once the quantity
    has been right for AGREED_S.

    times : (3,) - WRONG_S, RIGHT_S, OVER; updated
    wrong : bool - whether it was wrong since the last measurement
    passed_s, most_s : float, float - time since the last measurement, and time for which it may be wrong [s]
    """
    times[WRONG_S] *= math.exp(-passed_s / LONG_S)
    if wrong:
        times[RIGHT_S] = 0.0
        times[WRONG_S] += passed_s
        if times[WRONG_S] > most_s:
            times[OVER] = 1.0
        return
    times[RIGHT_S] += passed_s
    if times[OVER] != 0.0 and times[RIGHT_S] > AGREED_S:
        times[OVER] = times[WRONG_S] = 0.0


@njit
def compare_speed(state, told, allowed, at, angle, speed, passed_s, by_device_s):
    """Compare the measured speed with the change of the measured angle; return SPEED_OFF or GAIN_OFF (see
    speed_found), or 0 if they agree.

    state, told, allowed : (N_STATE,), (n, 4), Allowed - state of the comparison, updated; outputs that were
        sent to the device; limits
    at, angle, speed : int, float, float - number of the output that is answered, measured angle [rad] and
        speed [rad/s]
    passed_s, by_device_s : float, float - time since the last measurement by ticks and by the device's clock
        [s]
    """
    was_there, was_seq = state[WAS_THERE] != 0.0, int(state[WAS_SEQ])
    was_angle, was_speed = state[WAS_ANGLE], state[WAS_SPEED]
    state[WAS_THERE], state[WAS_SEQ], state[WAS_ANGLE], state[WAS_SPEED] = 1.0, at, angle, speed
    keeps = math.exp(-passed_s / SHORT_S)
    state[TURNED] *= keeps
    state[EXTRA] *= keeps
    if not was_there:
        return 0
    short = time_between(told, was_seq, at)
    long = short
    if by_device_s == by_device_s:
        short, long = min(short, by_device_s), max(long, by_device_s)
    if not (short >= 0.0 and long <= LONGEST_S):
        return 0
    turned_told = abs(told[at % told.shape[0], ANGLE] - angle_told(told, was_seq))
    if not turned_told <= allowed.speed_max * long + LEAP_RAD:
        return 0
    turned, slow, fast = angle - was_angle, min(was_speed, speed), max(was_speed, speed)
    low = slow * (short if slow > 0.0 else long)
    high = fast * (long if fast > 0.0 else short)
    state[TURNED] += turned
    state[EXTRA] += low - turned if turned < low else min(0.0, high - turned)
    found = speed_found(state, allowed.agreement, passed_s)
    add_time(state[DENIED_TIMES:N_STATE], found != 0, passed_s, allowed.most_s)
    return found


@njit
def speed_found(state, agreement, passed_s):
    """Compare the measured speed with the measured angle over the recent past, by the running sums in state;
    return SPEED_OFF, GAIN_OFF or 0.

    SPEED_OFF: the integral of the speed disagrees with the angle; GAIN_OFF: the ratio of the speed to the
    rate of the angle is wrong; 0: neither.

    state : (N_STATE,) - state of the comparison; its sums of products HH and EH are updated
    agreement, passed_s : float, float - allowed difference of angles [rad], time since the last measurement
        [s]
    """
    h, e, k = state[TURNED], state[EXTRA], math.exp(-passed_s / MEMORY_S)
    state[HH] = k * state[HH] + passed_s * h * h
    state[EH] = k * state[EH] + passed_s * e * h
    if abs(e) > agreement:
        return SPEED_OFF
    moved = state[HH] > MOVED_RAD * MOVED_RAD * MEMORY_S
    return GAIN_OFF if moved and abs(state[EH]) > MOST_GAIN_OFF * state[HH] else 0
