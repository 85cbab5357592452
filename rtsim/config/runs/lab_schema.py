"""Schema of configs/labs/*.toml: a laboratory's marker names for the landmarks of each leg.

Names are relative to the leg, so that a mirrored left leg has the form of a right one: `asis` is on the side
of the leg, `asis_opposite` on the other.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Name = Annotated[str, msgspec.Meta(min_length=1)]
Names = Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]


ALWAYS = ("asis", "asis_opposite", "epicondyle_lateral", "malleolus_lateral", "calcaneus")
KEYPOINTS = (
    "hip_centre", "hip_centre_opposite", "knee_centre", "ankle_centre", "calcaneus", "metatarsal_1",
    "metatarsal_5", "neck",
)  # fmt: skip


def check_once(names: tuple[str, ...]) -> None:
    """Raise ValueError if a marker is on more than one segment, or twice on one segment."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"{', '.join(twice)} listed more than once; a marker belongs to one segment, so list it once"
        )


class Tracking(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Markers that are tracked in trials, by segment, in any order."""

    pelvis: Names
    thigh: Names
    shank: Names
    foot: Names

    def __post_init__(self) -> None:
        check_once(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tracked markers, segment by segment."""
        return tuple(name for segment in self.__struct_fields__ for name in getattr(self, segment))


class Trunk(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Markers of the trunk: those on the shoulders, which define its axes, and those that are tracked."""

    shoulder: Name
    shoulder_opposite: Name
    tracking: Annotated[tuple[Name, ...], msgspec.Meta(min_length=3)]

    def __post_init__(self) -> None:
        if self.shoulder == self.shoulder_opposite:
            raise ValueError(
                f"shoulder and shoulder_opposite are the same marker, {self.shoulder!r}; "
                "give two different markers"
            )
        check_once(self.tracking)


class LabSide(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Markers of one leg by landmark; an empty name means that the lab has no such marker."""

    tracking: Tracking
    # required, except for a lab with keypoints (joint centres) instead of markers
    asis: Name = ""
    asis_opposite: Name = ""
    epicondyle_lateral: Name = ""
    malleolus_lateral: Name = ""
    calcaneus: Name = ""
    # without it the ankle centre needs shank_lateral and the width of the ankle
    malleolus_medial: str = ""
    # on the outside of the shank, in the frontal plane of the ankle
    shank_lateral: str = ""
    # if one of these two is missing, the toe marker replaces their midpoint
    metatarsal_1: str = ""
    metatarsal_5: str = ""
    # on the forefoot, between the heads of the second and the third metatarsal
    toe: str = ""
    psis: str = ""
    psis_opposite: str = ""
    # replaces the midpoint of both PSIS
    sacrum: str = ""
    # without it the knee centre needs thigh_lateral and the width of the knee
    epicondyle_medial: str = ""
    # on the outside of the thigh, in the frontal plane of the knee
    thigh_lateral: str = ""
    # a knee alignment device, in the static trial instead of the lateral epicondyle: along its axis, and
    # the other two arms
    knee_device_axis: str = ""
    knee_device_1: str = ""
    knee_device_2: str = ""
    # without it the frontal plane of the shank is that of the malleoli
    fibula_head: str = ""
    # used for plausibility checks; the trochanter also for the hip centre of a leg without a pelvis
    tibial_tuberosity: str = ""
    greater_trochanter: str = ""
    # used only for the axes of the foot in contact with the ground: heads of metatarsals, and the first toe
    metatarsal_2: str = ""
    metatarsal_3: str = ""
    hallux: str = ""
    # keypoints from cameras without markers: joint centres, and the neck
    hip_centre: str = ""
    hip_centre_opposite: str = ""
    knee_centre: str = ""
    ankle_centre: str = ""
    neck: str = ""
    # None = the lab has no trunk markers
    trunk: Trunk | None = None

    def __post_init__(self) -> None:
        check_once((*self.tracking.names, *(self.trunk.tracking if self.trunk else ())))
        lacking = [role for role in (KEYPOINTS if self.is_keypoints else ALWAYS) if not getattr(self, role)]
        if lacking:
            raise ValueError(f"needs {', '.join(lacking)}")
        if not self.is_keypoints:
            self._check_landmarks()
        self._check_roles()

    @property
    def is_keypoints(self) -> bool:
        """Whether the map names joint centres (keypoints) instead of skin markers."""
        return bool(self.hip_centre or self.knee_centre or self.ankle_centre)

    def _check_landmarks(self) -> None:
        """Raise ValueError for a needed landmark if neither its marker nor a replacement is named."""
        if not self.sacrum and not (self.psis and self.psis_opposite):
            raise ValueError("the pelvis needs psis and psis_opposite, or sacrum")
        if not self.epicondyle_medial and not self.thigh_lateral:
            raise ValueError("the knee needs epicondyle_medial, or thigh_lateral to construct its centre")
        if not self.malleolus_medial and not self.shank_lateral:
            raise ValueError("the ankle needs malleolus_medial, or shank_lateral to construct its centre")
        if not (self.metatarsal_1 and self.metatarsal_5) and not self.toe:
            raise ValueError(
                "the foot needs metatarsal_1 and metatarsal_5, or toe, which is then used as their midpoint"
            )

    def _check_roles(self) -> None:
        """Raise ValueError for a marker in two roles (landmarks), and for an incomplete knee alignment
        device."""
        device = [name for role, name in self.named.items() if role.startswith("knee_device")]
        if len(device) not in (0, 3):
            raise ValueError("a knee alignment device needs knee_device_axis, knee_device_1, knee_device_2")
        by_name: dict[str, str] = {}
        for role, name in self.named.items():
            if role == "thigh_lateral":
                continue  # any marker there will do, the trochanter's too
            if name in by_name:
                raise ValueError(
                    f"{by_name[name]} and {role} are both {name!r}; allowed: another marker for each"
                )
            by_name[name] = role

    @property
    def named(self) -> dict[str, str]:
        """Return role (landmark) -> marker name for the roles of this leg that have a marker."""
        fields = (field for field in self.__struct_fields__ if field not in ("tracking", "trunk"))
        return {field: getattr(self, field) for field in fields if getattr(self, field)}

    @property
    def roles(self) -> dict[str, str]:
        """Return role -> marker name for the roles from which landmarks are computed if all markers are
        present: those with a marker, except the replacements (`spare`).
        """
        return {role: name for role, name in self.named.items() if role not in self.spare}

    @property
    def spare(self) -> dict[str, str]:
        """Return role -> marker name for those roles whose marker is only a replacement for missing ones,
        such as the toe marker if both metatarsals have markers.
        """
        pairs = {
            "shank_lateral": self.malleolus_medial,
            "toe": self.metatarsal_1 and self.metatarsal_5,
        }
        return {role: getattr(self, role) for role, other in pairs.items() if other and getattr(self, role)}


class LabMap(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A marker map: the names that a laboratory gives its markers."""

    name: Name
    source: str
    right: LabSide
    left: LabSide
    about: str = ""
    # marker of the tables above -> what else laboratories call it
    spellings: dict[Name, Names] = {}

    def __post_init__(self) -> None:
        known = {*names_of(self.right), *names_of(self.left)}
        strange = sorted(self.spellings.keys() - known)
        if strange:
            raise ValueError(
                "spellings of markers that are not in any table of this map: "
                f"{', '.join(strange)}; correct the names, or remove these entries"
            )


def names_of(table: LabSide) -> tuple[str, ...]:
    """Return all marker names in a leg's marker map in order; markers with several roles (landmarks) occur
    repeatedly."""
    trunk = (
        (table.trunk.shoulder, table.trunk.shoulder_opposite, *table.trunk.tracking) if table.trunk else ()
    )
    return (*table.named.values(), *table.tracking.names, *trunk)
