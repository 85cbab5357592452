"""Check of numbers, such as joint angles, against their allowed ranges."""

from __future__ import annotations

from kernels.compiler.jit import njit


@njit
def find_outside(raw, index, sign, low, high, ignored, value_out, outside_out):
    """Multiply selected numbers by their signs, and mark those outside their ranges; return how many these
    are.

    A number that is NaN is never counted as outside.

    raw : (n_raw,) - numbers of which some are selected [rad, m]
    index : (n,) int64 - indices of the selected numbers
    sign : (n,) - factor of each selected number
    low, high : (n,) - limits of the ranges, infinite where there is none
    ignored : (n,) bool - numbers that are never counted as outside
    value_out : (n,) - selected numbers times their factors
    outside_out : (n,) - 1 = outside the range, else 0
    """
    n = 0
    for k in range(index.shape[0]):
        value = sign[k] * raw[index[k]]
        outside = (value > high[k] or value < low[k]) and not ignored[k]
        value_out[k] = value
        outside_out[k] = 1.0 if outside else 0.0
        n += int(outside)
    return n
