"""A person on both legs with a marked trunk."""

from __future__ import annotations

import msgspec

from rtsim.config.paths import find_config
from rtsim.subjects.both_sides import symmetric
from rtsim.subjects.calibration.trunk import LUMBOSACRAL, TRUNK
from rtsim.subjects.subject import Subject, SubjectSegment, load_subject

TRUNK_MARKERS = {"RSHO": (0.0, 0.0, 170.0), "LSHO": (0.0, 0.0, -170.0), "C7": (-70.0, 30.0, 0.0),
                 "STRN": (100.0, -170.0, 0.0)}  # fmt: skip


def both_legs() -> Subject:
    """Return the walker on both legs."""
    return symmetric(load_subject(find_config("walker", "subjects")))


def whole_person() -> Subject:
    """Return the same with four markers on the trunk."""
    legs = both_legs()
    pelvis = legs.segments["pelvis"]
    x, y, _ = next(place for name, place in pelvis.points_mm.items() if name.startswith("hip_centre"))
    pelvis = msgspec.structs.replace(pelvis, points_mm={**pelvis.points_mm, LUMBOSACRAL: (x, y + 80.0, 0.0)})
    trunk = SubjectSegment(450.0, 90.0, 90.0, 90.0, TRUNK_MARKERS)
    return msgspec.structs.replace(legs, segments={**legs.segments, "pelvis": pelvis, TRUNK: trunk})
