"""A device for `rtsim hil` whose actuator does at once what it is told: python device_client.py [ADDRESS].

What the model is told, which outputs are refused, and when torque may act stands in drivers/device_side.py.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "drivers"))

from device_side import Guard, now, serve

LIMIT = 30.0  # own limit of torque [N m]


class Ideal:
    """Angle and speed [rad, rad/s] are the model's, torque [N m] is what was told: a real one measures."""

    angle = speed = torque = 0.0
    t_ns = 0

    def tick(self, guard: Guard) -> str:
        """Apply the torque of this tick."""
        self.t_ns = now()
        self.torque = guard.tick()
        self.angle, self.speed = guard.output["angle"][0], guard.output["speed"][0]
        return ""

    def stop(self) -> None:
        """End all torque."""
        self.torque = 0.0


if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:5563", Ideal(), LIMIT)
