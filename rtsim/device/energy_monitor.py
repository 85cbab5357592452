"""Comparison of the change of a model's energy with the work of the forces on it."""

from __future__ import annotations

import math


class EnergyMonitor:
    """Check of the time integration of a simulated limb: its energy must change by the work of the loads.

    Over a tick (time step) of length T, the sum E of kinetic and gravitational energy changes by the work of
    all loads except gravity. The work of the device is m (theta - theta_before), with the joint angle theta
    and the device's torque m, which is constant within a tick. The work of the other loads is approximated by
    T/2 (P + P_before), with their power P at the end and P_before at the beginning of the tick. Any further
    change of E is an error of the integration. The drift D is the sum of these errors, each of which decays
    with a time constant of 1 s: dD/dt = dE/dt - (power of all loads except gravity) - D / (1 s).

    Attributes
    ----------
    energy : kinetic and gravitational energy E [J]
    drift : present drift D [J]
    largest : largest absolute drift so far [J]
    work : work of each source of energy since the start [J]; the first is the device
    """

    def __init__(self, period_s: float, n_source: int) -> None:
        self.period_s = period_s
        self._kept = math.exp(-period_s)
        self.work = [0.0] * n_source
        self.largest = 0.0
        self.begin()

    def begin(self) -> None:
        """Restart: the next state that is added is the first one."""
        self.energy, self.drift = math.nan, 0.0
        self.work = [0.0] * len(self.work)
        self._power = math.nan
        self._powers = [0.0] * len(self.work)

    def add(self, energy: float, power: float, done: float, powers: list[float]) -> float:
        """Add the state one tick after the previous one; return the drift [J], NaN if an argument is not a
        number.

        Parameters
        ----------
        energy : energy in this state [J]
        power : power of all loads except gravity and the device in this state [W]
        done : work of the device over the tick [J]
        powers : power of each source of energy in this state [W], of which `work` is the integral; the first
            is the device, for which `done` is used instead
        """
        half = 0.5 * self.period_s
        if self._power == self._power:  # not the first
            made = energy - self.energy - done - half * (power + self._power)
            self.drift = self._kept * self.drift + made
            self.largest = max(self.largest, abs(self.drift))
            self.work[0] += done
            for k in range(1, len(powers)):
                self.work[k] += half * (powers[k] + self._powers[k])
        self.energy, self._power, self._powers = energy, power, powers
        return self.drift if math.isfinite(energy + power) else math.nan
