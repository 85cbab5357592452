"""Which numbers are outside their ranges."""

from __future__ import annotations

from kernels.compiler.jit import njit


@njit
def find_outside(raw, index, sign, low, high, ignored, value_out, outside_out):
    """value_out : (n,) - the numbers with their signs; outside_out : (n,) - 1 = outside the range, else 0.

    raw : (n_raw,) - where the numbers are; index : (n,) int64 - which of them [rad, m]
    sign : (n,) - factors
    low, high : (n,) - ends of the ranges, infinite where there is none
    ignored : (n,) bool - numbers that are never outside
    Returns how many are outside; NaN is not.
    """
    n = 0
    for k in range(index.shape[0]):
        value = sign[k] * raw[index[k]]
        outside = (value > high[k] or value < low[k]) and not ignored[k]
        value_out[k] = value
        outside_out[k] = 1.0 if outside else 0.0
        n += int(outside)
    return n
