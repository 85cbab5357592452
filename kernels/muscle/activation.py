"""Activation dynamics of muscles: activation a follows excitation e by a differential equation of first
order.

De Groote et al. (2016), Ann Biomed Eng 44:2922-2936, after Winters (1995):
  da/dt = ((1/2 + f) / (tau_a g) + (1/2 - f) g / tau_d) (e - a),  f = tanh(b (e - a)) / 2,  g = 1/2 + 3 a / 2
tau_a and tau_d are the time constants of activation and deactivation. The law is chosen rather than that of
Thelen (2003) as the transition between both time constants is smooth. With the paper's b = 0.1 the time
constants hardly differ (f < 0.05: rising and falling both have the mean of the two rates); with b = 10, as
here, each direction has its own time constant.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.muscle.curves import held, limited

SWITCH = 10.0


@njit
def asked_activation(muscles, m, excitation):
    """Return the activation that a constant excitation leads to in the end: from min_activation for
    excitation 0 to 1 for excitation 1.

    muscles : Muscles or Generators - with min_activation; m : int - index; excitation : float [1].
    """
    least = muscles.min_activation[m]
    return least + (1.0 - least) * held(excitation)[0]


@njit
def activations_of_step(muscles, m, excitation, activation, h):
    """Return (activation in the middle, activation at the end) of a time step with constant excitation.

    If the factor of (e - a) in the law were constant, the activation would approach its final value, that of
    `asked_activation`, exponentially. The step follows this approach with the factor in its middle (midpoint
    rule). The method is of second order, and never passes beyond the final value, however long the step.

    muscles : Muscles or Generators - with min_activation, activation_time and deactivation_time
    m : int - index of the muscle or generator
    excitation : float - excitation during the step [1]
    activation : float - activation at the start of the step [1]
    h : float - length of the step [s]
    """
    asked = asked_activation(muscles, m, excitation)
    if activation == asked:
        return asked, asked
    rate = activation_rate(muscles, m, excitation, activation)[0] / (asked - activation)
    middle = asked + (activation - asked) * math.exp(-0.5 * h * rate)
    if middle != asked:
        rate = activation_rate(muscles, m, excitation, middle)[0] / (asked - middle)
    return middle, asked + (activation - asked) * math.exp(-h * rate)


@njit
def activation_rate(muscles, m, excitation, activation):
    """Return (da/dt of muscle m, its derivative with respect to activation, that with respect to excitation)
    [1/s].

    Excitations from 0 to 1 lead to activations from min_activation to 1; the activation never leaves these
    bounds.
    """
    least = muscles.min_activation[m]
    up, down = 1.0 / muscles.activation_time[m], 1.0 / muscles.deactivation_time[m]
    e, inside_e = held(excitation)
    a, inside = limited(activation)
    in_range, inside_a = held(a)
    g = 0.5 + 1.5 * in_range
    gap = least + (1.0 - least) * e - a
    switch = math.tanh(SWITCH * gap)
    f = 0.5 * switch
    rising, falling = up / g, down * g
    rate = (0.5 + f) * rising + (0.5 - f) * falling
    by_gap = rate + gap * 0.5 * SWITCH * (1.0 - switch * switch) * (rising - falling)
    by_g = gap * ((0.5 - f) * down - (0.5 + f) * rising / g)
    return rate * gap, (1.5 * inside_a * by_g - by_gap) * inside, by_gap * (1.0 - least) * inside_e
