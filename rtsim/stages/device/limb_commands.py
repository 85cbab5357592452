"""Commands that pause a simulated limb, advance it by single steps, or return it to its start. A pause and a
return disarm the device first, and only a paused limb can be stepped, so that no torque acts meanwhile.
"""

from __future__ import annotations

from rtsim.device.exchange import DeviceExchange
from rtsim.device.tuning import number_of
from rtsim.stages.stage import Args

MOST_STEPS = 10_000
MOVING = {
    "pause": "The device is disarmed; the limb is paused as soon as the torque is off.",
    "step": "The limb moves on for this number of time steps (ticks).",
    "resume": "The limb continues from the next time step on; the device stays disarmed.",
    "reset": "The device is disarmed; the limb goes back to its start as soon as the torque is off.",
}
"""The commands, and the answer to each."""


def refusal(x: DeviceExchange, name: str, args: Args) -> str:
    """Return why the limb cannot be paused, stepped or reset by the command `name`, as a sentence; empty if
    it can."""
    if x.spec.markers is not None:
        return "A person wears the device and cannot be paused by a command: disarm the device instead."
    if name in ("pause", "step") and not x.lockstep:
        return (
            "In a free run each side follows its own clock, so the limb cannot be paused; disarm the device."
        )
    if name == "step":
        n = number_of(args.get("ticks", 1))
        if not (1 <= n <= MOST_STEPS and n == int(n)):
            return f"ticks = {args['ticks']!s:.32} is not a number of time steps; allowed: 1 to {MOST_STEPS}."
        if not x.hold.wanted:
            return "Only a paused limb can be stepped; pause the limb first."
    return ""


def move(x: DeviceExchange, name: str, args: Args) -> None:
    """Pause, resume, step or reset the limb as commanded, or report why this is refused. Pausing and
    resetting disarm the device."""
    if refused := refusal(x, name, args):
        x.arming.told.append(refused)
    elif name == "step":
        x.hold.n_left += int(number_of(args.get("ticks", 1)))
    else:
        if name != "resume":
            x.arming.disarm(f"the limb was commanded to {name}")
        getattr(x.hold, name)()
        if name == "reset":
            x.arming.told.append("The limb goes back to its start.")
