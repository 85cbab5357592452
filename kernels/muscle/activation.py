"""Activation dynamics of first order, from excitation to activation; activation is faster than deactivation.

De Groote et al. (2016), Ann Biomed Eng 44:2922-2936, after Winters (1995):
  da/dt = ((1/2 + f) / (tau_a g) + (1/2 - f) g / tau_d) (e - a),  f = tanh(b (e - a)) / 2,  g = 1/2 + 3 a / 2
It is chosen rather than Thelen (2003) as the transition between both time constants is smooth. With the
paper's b = 0.1 there is hardly any (f < 0.05: both directions have the mean of both rates); with b = 10, as
here, each direction has its own time constant.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.muscle.curves import held, limited

SWITCH = 10.0


@njit
def asked_activation(muscles, m, excitation):
    """Return the activation that a constant excitation leads to: min_activation for excitation 0, up to 1 for
    1."""
    least = muscles.min_activation[m]
    return least + (1.0 - least) * held(excitation)[0]


@njit
def activations_of_step(muscles, m, excitation, activation, h):
    """Return the activations in the middle and at the end of a step over which the excitation is constant.

    At any instant the law is an exponential approach to the activation of `asked_activation`; the midpoint
    rule is applied to its rate. The method is of second order, and never goes beyond that activation, however
    long the step.

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
    """Return da/dt of muscle m [1/s] and its derivatives with respect to activation and excitation [1/s].

    Excitations of 0 to 1 lead to activations of min_activation to 1, which are the bounds of the activation
    for any course of the excitation.
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
