"""Largest stiffness of a control loop through a device: delay turns stiffness into negative damping.

Let a spring of stiffness k act on a limb with damping b. Its torque is computed from the angle n ticks ago
and is constant over a tick of length T; D is the further delay or lag [s], and c the damping of a damper in
device or controller. The spring generates no energy if b >= k T (n + 1/2) + k D + c. docs/limbs.md derives it
for any limb and for springs that are not linear; it is the condition of Colgate & Schenkel (1997, J Robotic
Syst 14, 37-47).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.misalignment import Misalignment, Worst
from rtsim.errors import ConfigError

ANSWER_TICKS = 1
"""Delay in lockstep: a command is computed from the angle one tick before its torque acts [ticks]."""
FREE_TICKS = 2
"""Additional delay with two free-running clocks: a value may be a tick old on either side [ticks]."""


class Path(NamedTuple):
    """A spring in the control loop, as a source of torque: its stiffness [N m/rad], the damping that acts
    with it [N m s/rad], and its delay in addition to half a tick [s].
    """

    name: str
    stiffness: float
    damping: float
    delay_s: float

    def through(self, worst: Worst, torque_max: float) -> Path:
        """Return the equivalent spring at the limb's joint, if this spring acts through a device whose joint
        is misaligned, with a torque of at most `torque_max` [N m]; worst : largest ratio of the speeds of the
        device's and the limb's joint, and largest derivative of this ratio with respect to the limb's angle
        """
        return self._replace(
            stiffness=worst.ratio**2 * self.stiffness + worst.slope * torque_max,
            damping=worst.ratio**2 * self.damping,
        )

    def needs(self, tick_s: float) -> float:
        """Return the damping that the limb needs so that the delayed spring generates no energy [N m s/rad];
        tick_s : length of a tick [s]
        """
        return self.stiffness * (0.5 * tick_s + self.delay_s) + self.damping


def paths_of(spec: HilSpec, device: DeviceSpec) -> tuple[Path, Path]:
    """Return the two springs in the control loop on which stability depends: that of the controller, and the
    passive one of the device.
    """
    tick_s, m, a = 1.0 / spec.exchange.rate_hz, device.mechanics, device.actuator
    free = spec.exchange.mode == "free"
    late = (FREE_TICKS * max(tick_s, 1.0 / device.tick_hz)) if free else 0.0
    lag_s = 0.0 if a.bandwidth_hz is None else 0.5 / (math.pi * a.bandwidth_hz)
    friction = m.friction_Nm / math.radians(m.friction_deg) if m.friction_Nm else 0.0
    c = spec.controller
    delay_s = ANSWER_TICKS * tick_s + 1e-3 * a.delay_ms + lag_s + late
    return (
        Path("the controller's", c.stiffest, c.most_damping, delay_s),
        Path("the device's own", m.stiffness_N_m_rad + friction, m.damping_N_m_s_rad, late),
    )


def check_stable(
    spec: HilSpec, device: DeviceSpec, damping: float, joint: Misalignment | None = None
) -> float:
    """Return the fraction of the limb's damping that the control loop needs to be stable, 0 to 1. Raise
    ConfigError if it needs more damping than the limb has.

    The error states the stability limit: the largest stiffness of the controller at these delays.
    """
    tick_s = 1.0 / spec.exchange.rate_hz
    control, own = paths_of(spec, device)
    ratio = 1.0
    if joint is not None:
        worst = joint.worst(*map(math.radians, spec.limits.angle_deg))
        ratio = worst.ratio
        control = control.through(worst, spec.limits.torque_max_Nm)
        own = own.through(worst, spec.limits.measured_max_Nm)
    needed = control.needs(tick_s) + own.needs(tick_s)
    if needed <= damping:
        return needed / damping if damping else 0.0
    bent = control.stiffness - ratio**2 * spec.controller.stiffest  # by misalignment
    room = damping - own.needs(tick_s) - control.damping
    most = (room / (0.5 * tick_s + control.delay_s) - bent) / ratio**2
    remedy = (
        f"controller.{spec.controller.STIFFNESS} of at most {most:.4g}, a higher rate, or more damping "
        "of the limb"
        if most > 0.0
        else "less damping of controller and device, a higher rate, or more damping of the limb"
    )
    raise ConfigError(
        f"the loop may generate energy: stiffness {control.stiffness:g} N m/rad and damping "
        f"{control.damping + own.damping:g} N m s/rad with time steps of {1e3 * tick_s:g} ms and a delay of "
        f"{1e3 * control.delay_s:.4g} ms need a joint damping of {needed:.4g} N m s/rad, but "
        f"{spec.coordinate} of {spec.model} has {damping:g}",
        where=f"{spec.name}: controller",
        remedy=remedy,
    )
