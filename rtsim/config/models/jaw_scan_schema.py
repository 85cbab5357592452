"""Schema of a scanned head: landmarks, markers and surfaces, all in the scan's axes."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.bounds import check_numbers
from rtsim.config.models.place_schema import Vector

Ends = tuple[Vector, Vector]


class JawScan(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Schema of a head scan with the teeth in contact: landmarks, markers, surfaces and muscle ends."""

    # highest points of the condyles, porions and left orbitale: LANDMARKS of rtsim/models/jaw/jaw_scan
    landmarks: dict[str, Vector]
    # positions of at least three markers of the reference trial that move with the skull, on skin or a brace
    markers: dict[str, Vector]
    unit: Literal["mm", "cm", "m"] = "mm"
    # source of these data, which is stated in the model
    source: str = ""
    # files beside this one: left_condyle, right_condyle, left_fossa, right_fossa; one fossa may be missing
    surfaces: dict[str, str] = {}
    # ends of muscles of the mandible, by name, in any order: two places, or a file of two landmarks
    muscles: dict[str, str | Ends] = {}
    # thickness of the soft tissue on the condyles that a scan of bone lacks; 1 mm in Andersen et al. 2017
    grown_mm: Annotated[float, msgspec.Meta(ge=0.0, le=5.0)] = 1.0

    def __post_init__(self) -> None:
        check_numbers(self)
