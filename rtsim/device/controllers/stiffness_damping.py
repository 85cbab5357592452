"""Controller law of a spring and a damper about a neutral angle."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rtsim.config.controllers.stiffness_damping import Controller
from rtsim.device.controller import Seen


class SpringDamper:
    """A spring-damper law: the torque is tau = -k (theta - theta_n) - c w, with stiffness k, damping c,
    neutral angle theta_n, and the angle theta and speed w that the device measures.
    """

    def torque(self, values: Mapping[str, float], seen: Seen) -> float:
        """Compute the torque for these parameters and measurements [N m]."""
        stretch = seen.angle - math.radians(values["neutral_deg"])
        return -values["stiffness_N_m_rad"] * stretch - values["damping_N_m_s_rad"] * seen.speed


def make(spec: Controller) -> SpringDamper:
    """Create the law of a spring and damper; it keeps no state between ticks."""
    return SpringDamper()
