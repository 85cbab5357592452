"""Activation dynamics: excitation to activation, first order, faster up than down.

De Groote et al. (2016), Ann Biomed Eng 44:2922-2936, after Winters (1995):
  da/dt = ((1/2 + f) / (tau_a g) + (1/2 - f) g / tau_d) (e - a),  f = tanh(b (e - a)) / 2,  g = 1/2 + 3 a / 2
Chosen over Thelen (2003) because the switch between both times is smooth. The paper's b = 0.1 hardly
switches (f < 0.05: both directions take the mean of both rates); with b = 10 each has its own time.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.muscle.curves import held, limited

SWITCH = 10.0


@njit
def asked_activation(muscles, m, excitation):
    """Activation that an excitation asks for if it lasts: min_activation to 1."""
    least = muscles.min_activation[m]
    return least + (1.0 - least) * held(excitation)[0]


@njit
def activations_of_step(muscles, m, excitation, activation, h):
    """Activation in the middle and at the end of a step over which the excitation holds.

    The midpoint rule on what the law is at any moment, an exponential towards what is asked for: of second
    order, and never beyond it, however long the step.

    muscles : Muscles or Generators - with min_activation, activation_time and deactivation_time
    m : int - which of them
    excitation, activation : float - the latter at the begin of the step [1]
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
    """da/dt of muscle m [1/s] and its derivatives by activation and by excitation [1/s].

    Excitation 0 to 1 asks for activations min_activation to 1, which bound the activation of any history.
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
