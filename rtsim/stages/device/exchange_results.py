"""Quantities of the exchange with a device: names, units, meanings, and how they are plotted."""

from __future__ import annotations

from streams.messages import Curves

STATES = ("disarmed", "armed", "falling", "stopped")
"""States of a device, by their numbers in results."""
TRACKING, CUFF = ("commanded", "delivered", "off"), ("across", "along")
DELIVERED = Curves("Device: torque commanded and delivered", "torque", 2, 1.0)
PARASITIC = Curves("Device: forces at the cuff", "force", 2, 1.0)
MEANINGS: dict[str, tuple[str, Curves | None, str]] = {
    "device_angles": ("rad", Curves("Device: angle", "angle", 2, 0.1), "angle that the device measures"),
    "device_speeds": ("rad/s", None, "speed that the device measures"),
    "device_torques": ("N m", Curves("Device: torque", "torque", 2, 1.0), "total torque of the device"),
    "device_actuator_torques": ("N m", None, "part of the torque that follows commands; NaN = not reported"),
    "device_commands": ("N m", None, "torque requested by the command that came before the newest one"),
    "device_states": ("1", None, "state of the device: 0 disarmed, 1 armed, 2 falling, 3 stopped"),
    "device_arming": ("1", None, "state of the model: 0 disarmed, 1 ramping, 2 armed, 3 fault"),
    "device_ages": ("s", None, "age of the newest device message; in lockstep a whole number of time steps"),
    "device_energy": ("J", None, "work of the device on the limb during about the last second"),
    "device_in_time": ("1", None, "share of the last 100 commands that reached the device in time"),
}  # fmt: skip
