"""Interface of the settings of a controller, which computes the torque of a device: its kind, parameters with
units and ranges, stiffness.

Each module in the folder rtsim/config/controllers is a kind, with a record `Controller`. The control law of
each kind is in the module of the same name in rtsim/device/controllers.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

LONGEST_UNIT, MIXED = 32, "mixed"
Pair = Annotated[tuple[float, ...], msgspec.Meta(min_length=2, max_length=2)]


class ControllerSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, tag_field="kind"):
    """Base of the settings of all kinds of controllers.

    Attributes
    ----------
    UNITS : name of each parameter of this kind -> its unit, in the order in which they are published
    SIGNED : names of the parameters that may be negative
    STIFFNESS : name of the key that contains the stiffness of the controller, "" if it has none
    """

    UNITS: ClassVar[dict[str, str]] = {}
    SIGNED: ClassVar[tuple[str, ...]] = ()
    STIFFNESS: ClassVar[str] = ""

    # parameters that may be changed during a run: name = [lowest, highest]
    ranges: dict[str, Pair] = msgspec.field(default_factory=dict)
    # time over which a parameter changes to its new value, if the command does not state it
    change_s: Annotated[float, msgspec.Meta(ge=0.0, le=60.0)] = 1.0

    def __post_init__(self) -> None:
        for name, (low, high) in self.ranges.items():
            if name not in self.values:
                known = ", ".join(self.values) or "none, because the controller has no parameters"
                raise ValueError(f"controller.ranges: unknown key {name!r}; allowed: {known}")
            value = self.values[name]
            if not low <= value <= high or (low < 0.0 and not self.is_signed(name)):
                raise ValueError(
                    f"controller.ranges.{name}: {[low, high]}; allowed: [low, high] with low < high, "
                    f"the present value {name} = {value:g} between them, and no bound below zero "
                    "unless this parameter can be negative"
                )

    @property
    def kind(self) -> str:
        """Name of the controller's kind, as `kind` in configs."""
        return str(self.__struct_config__.tag)

    @property
    def values(self) -> dict[str, float]:
        """Values of the controller's parameters by name."""
        return {name: getattr(self, name) for name in self.UNITS}

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the controller's parameters, in the order of `UNITS`."""
        return tuple(self.UNITS.values())

    @property
    def unit_of_all(self) -> str:
        """The unit that all parameters share, else all units joined by commas, or MIXED if that is longer
        than a descriptor permits.
        """
        units = self.units
        told = units[0] if len(set(units)) == 1 else ", ".join(units)
        return told if len(told) <= LONGEST_UNIT else MIXED

    def is_signed(self, name: str) -> bool:
        """Return whether a parameter of the controller may be negative."""
        return name in self.SIGNED

    def largest(self, name: str) -> float:
        """Return the largest value that a parameter can have."""
        return max((self.values[name], *self.ranges.get(name, ())))

    def smallest(self, name: str) -> float:
        """Return the smallest value that a parameter can have."""
        return min((self.values[name], *self.ranges.get(name, ())))

    @property
    def stiffest(self) -> float:
        """Return the largest derivative of the torque with respect to the measured angle [N m/rad]."""
        return 0.0

    @property
    def most_damping(self) -> float:
        """Return the largest derivative of the torque with respect to the measured speed [N m s/rad]."""
        return 0.0

    @property
    def needs_gait(self) -> bool:
        """Return whether the controller gives no torque without the gait phase."""
        return False

    def beyond(self, torque_max: float) -> str:
        """Return a phrase on the parameters with which the torque could exceed `torque_max` [N m]; "" if
        it cannot.
        """
        return ""
