"""A simulated orthosis of one joint: spring, damper, hysteresis, an actuator and its sensors."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np

from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.device.limits import within
from rtsim.device.watchdog import NOTHING, Watchdog


class SensorValues(NamedTuple):
    """Sensor values of one tick: angle [rad], speed [rad/s], total torque, torque of the actuator [N m]."""

    angle: float
    speed: float
    torque: float
    actuator: float


class Orthosis:
    """Torque on a joint from its motion, and from commands that a watchdog lets pass: spring, damper,
    friction and actuator.

    The torque is tau = -k (theta - theta_n) - c w - z + a, with stiffness k, damping c, neutral angle
    theta_n, joint angle theta and speed w. z is the torque of an elastic element that slips at the friction
    torque (a Jenkin element). a is the torque of the actuator: it follows the delayed command with a
    first-order lag, and is limited in size and rate.

    Attributes
    ----------
    actuator : torque of the actuator [N m]
    angle, speed : joint angle and speed [rad, rad/s]
    """

    def __init__(self, spec: DeviceSpec) -> None:
        self.spec = spec
        self.period_s = 1.0 / spec.tick_hz
        self.begin()

    def begin(self) -> None:
        """Return to the initial state: the elastic element relaxed, no command pending, the same noise
        sequence.
        """
        sensors, actuator = self.spec.sensors, self.spec.actuator
        self._noise = np.random.default_rng(sensors.seed)
        n_delay = round(1e-3 * actuator.delay_ms / self.period_s)
        self._delayed: deque[float] = deque([0.0] * n_delay, maxlen=n_delay + 1)
        self.actuator = self._wound = self._wanted = 0.0
        self.angle = self.speed = 0.0
        self._turned = math.nan

    def move(self, angle: float, speed: float) -> None:
        """Set the joint to an angle and a speed [rad, rad/s]."""
        self.angle = angle + math.radians(self.spec.mechanics.misalignment_deg)
        self.speed = speed

    def rest(self) -> None:
        """Set the joint's speed to zero."""
        self.speed = 0.0

    def step(
        self, watchdog: Watchdog, period_s: float, t_ns: int | None = None, asked: bool = True
    ) -> SensorValues:
        """Advance by one tick of this length [s]; return the sensor values.

        t_ns : time of the device's clock [ns]; None if time is measured by ticks only. asked : whether the
            model requests the tick, so that the clock may run ahead of the ticks (see Watchdog.tick). A
            torque that is no longer commanded falls as time passes on the clock; a rise is that of one tick
        """
        torque = self._actuate(watchdog, period_s, watchdog.tick(period_s, t_ns, asked)) + self._passive()
        sensors = self.spec.sensors
        scale = (
            math.radians(sensors.angle_noise_deg), math.radians(sensors.speed_noise_deg_s),
            sensors.torque_noise_Nm,
        )  # fmt: skip
        by_angle, by_speed, by_torque = self._noise.standard_normal(3) * scale
        return SensorValues(
            self.angle + float(by_angle),
            self.speed + float(by_speed),
            torque + float(by_torque),
            self.actuator,
        )

    def drops(self) -> bool:
        """Return, at random, whether the message of this tick is lost."""
        dropout = self.spec.sensors.dropout
        return dropout > 0.0 and float(self._noise.random()) < dropout

    def _actuate(self, watchdog: Watchdog, period_s: float, passed_s: float) -> float:
        """Compute the actuator's torque at the end of the tick [N m].

        period_s : nominal length of the tick [s], which limits how far the torque may rise
        passed_s : time that counts for it [s], in which a torque that is no longer commanded falls
        """
        spec, output = self.spec.actuator, watchdog.output
        commanded, most, time_s = 0.0, 0.0, passed_s
        if watchdog.state == "armed" and output is not None:
            time_s, commanded = period_s, output.torque[0]
            most = within(output.torque_max[0], spec.torque_max_Nm)
        self._delayed.append(within(commanded, most))
        if watchdog.state == "falling":  # of its own: no command is on its way
            wanted = watchdog.falling_torque(self.angle, self.speed)
            self._wanted = within(within(wanted, watchdog.most), spec.torque_max_Nm)
        elif watchdog.state == "stopped":
            self._wanted = 0.0
        else:
            change = spec.rate_max_Nm_s * time_s
            self._wanted += within(within(self._delayed[0], most) - self._wanted, change)
        lag = spec.bandwidth_hz
        share = 1.0 if lag is None else 1.0 - math.exp(-2.0 * math.pi * lag * time_s)
        self.actuator += share * (self._wanted - self.actuator)
        if abs(self.actuator) < NOTHING:
            self.actuator = 0.0
        return self.actuator

    def _passive(self) -> float:
        """Return the torque of spring, damper and hysteresis [N m]."""
        m = self.spec.mechanics
        turned = 0.0 if math.isnan(self._turned) else self.angle - self._turned
        self._turned = self.angle
        if m.friction_Nm > 0.0:
            stiffness = m.friction_Nm / math.radians(m.friction_deg)
            self._wound = min(max(self._wound + stiffness * turned, -m.friction_Nm), m.friction_Nm)
        stretch = self.angle - math.radians(m.neutral_deg)
        return -m.stiffness_N_m_rad * stretch - m.damping_N_m_s_rad * self.speed - self._wound
