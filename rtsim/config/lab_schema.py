"""Schema of configs/labs/*.toml: how a laboratory names the markers of each leg.

Names are relative to the leg, so that a left leg, mirrored, reads like a right one: `asis` is on the side
of the leg, `asis_opposite` on the other.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Name = Annotated[str, msgspec.Meta(min_length=1)]
Names = Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]


def check_once(names: tuple[str, ...]) -> None:
    """ValueError where a marker is on more than one segment, or on one twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} listed more than once; a marker belongs to one segment")


class Tracking(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Markers that are followed in trials, segment by segment, in any order."""

    pelvis: Names
    thigh: Names
    shank: Names
    foot: Names

    def __post_init__(self) -> None:
        check_once(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, segment by segment."""
        return tuple(name for segment in self.__struct_fields__ for name in getattr(self, segment))


class Trunk(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Markers of the trunk: those on the shoulders, which its axes come from, and those that are followed."""

    shoulder: Name
    shoulder_opposite: Name
    tracking: Annotated[tuple[Name, ...], msgspec.Meta(min_length=3)]

    def __post_init__(self) -> None:
        if self.shoulder == self.shoulder_opposite:
            raise ValueError(f"shoulder and shoulder_opposite are both {self.shoulder!r}; give one of each")
        check_once(self.tracking)


class LabSide(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Markers of one leg by what they stand on; an empty name means that the lab has no such marker."""

    asis: Name
    asis_opposite: Name
    epicondyle_lateral: Name
    malleolus_lateral: Name
    malleolus_medial: Name
    calcaneus: Name
    metatarsal_1: Name
    metatarsal_5: Name
    tracking: Tracking
    psis: str = ""
    psis_opposite: str = ""
    # stands in for the middle of the PSIS
    sacrum: str = ""
    # without it the knee centre needs thigh_lateral and the width of the knee
    epicondyle_medial: str = ""
    # on the outside of the thigh, in the frontal plane of the knee
    thigh_lateral: str = ""
    # without it the frontal plane of the shank is that of the malleoli
    fibula_head: str = ""
    # only checked to lie where they should
    tibial_tuberosity: str = ""
    greater_trochanter: str = ""
    # of the foot's own frame, for its contact with the ground: heads of metatarsals, and the first toe
    metatarsal_2: str = ""
    metatarsal_3: str = ""
    hallux: str = ""
    # where it is marked
    trunk: Trunk | None = None

    def __post_init__(self) -> None:
        check_once((*self.tracking.names, *(self.trunk.tracking if self.trunk else ())))
        if not self.sacrum and not (self.psis and self.psis_opposite):
            raise ValueError("needs psis and psis_opposite, or sacrum")
        if not self.epicondyle_medial and not self.thigh_lateral:
            raise ValueError("needs epicondyle_medial, or thigh_lateral to construct the knee centre")
        by_name: dict[str, str] = {}
        for role, name in self.roles.items():
            if role == "thigh_lateral":
                continue  # any marker there will do, the trochanter's too
            if name in by_name:
                raise ValueError(
                    f"{by_name[name]} and {role} are both {name!r}; allowed: another marker for each"
                )
            by_name[name] = role

    @property
    def roles(self) -> dict[str, str]:
        """Role -> marker name, of all roles that are filled."""
        fields = (field for field in self.__struct_fields__ if field not in ("tracking", "trunk"))
        return {field: getattr(self, field) for field in fields if getattr(self, field)}


class Lab(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A marker map."""

    name: Name
    source: str
    right: LabSide
    left: LabSide
    about: str = ""
