"""Torque over a stride, given by four parameters, as Zhang et al. (2017, Science 356, 1280-1284) optimised
it.

The four parameters are those of the paper: size and time of the peak, rise time and fall time. OpenExo calls
this the "Zhang Collins controller". The curve consists of cubics whose derivative is zero at the ends and at
the peak. The paper only shows figures, and this choice follows them: the torque then has no kink, does not
exceed its peak and does not change its sign.
"""

from __future__ import annotations

import math


def torque(phase: float, peak_Nm: float, peak_time: float, rise_time: float, fall_time: float) -> float:
    """Compute the torque at a phase of the stride [N m]. The torque and its derivative are continuous; it is
    zero before the rise and after the fall.

    On each piece it is peak (3 s^2 - 2 s^3), with s from 0 at the end of the piece to 1 at the peak. A piece
    may extend across the heel strike, as the phase is cyclic.

    Parameters
    ----------
    phase : phase of the stride since the heel strike, 0 to 1; others are taken modulo 1
    peak_Nm : torque at the peak [N m], of either sign
    peak_time : phase of the peak
    rise_time : from the first torque to the peak, in parts of the stride, above 0
    fall_time : from the peak to the last torque, in parts of the stride, above 0; the sum of rise_time and
        fall_time is at most 1
    """
    if not (rise_time > 0.0 and fall_time > 0.0 and rise_time + fall_time <= 1.0 and math.isfinite(phase)):
        raise ValueError(
            f"phase is {phase}, rise_time {rise_time} and fall_time {fall_time}; allowed: a finite phase, "
            "and times above 0 whose sum is at most 1"
        )
    since = (phase - peak_time + rise_time) % 1.0
    s = since / rise_time if since < rise_time else 1.0 - (since - rise_time) / fall_time
    return peak_Nm * s * s * (3.0 - 2.0 * s) if s > 0.0 else 0.0
