"""Markers that are high or low on a body, by their names."""

from __future__ import annotations

import pytest

from rtsim.files.markers.landmarks import upper_and_lower

PLACES = ("pelvis", "trunk", "foot")


@pytest.mark.parametrize(
    ("names", "place"),
    [
        (
            (
                "Head",
                "LHead",
                "R.Head.Front",
                "TopHead",
                "HeadFrontal",
                "HeadOccipital",
                "LParietalHead",
                "RFHD",
                "C7",
                "T10",
                "STRN",
                "RSHO",
            ),
            "trunk",
        ),
        (("R_1stMetHead", "R_5thMetHead", "MT1_head", "RMetatarsalHead5", "L.Meta.Head"), "foot"),
        (("R_FibularHead", "HeadOfFibula", "RadialHead", "FemoralHead", "HumerusHead"), None),
        (("RASI", "Sacrum", "R.PSIS", "RHJC"), "pelvis"),
        (("R_Heel", "RTOE", "R_MedMall", "L5MT1", "RANK"), "foot"),
    ],
)
def test_places_by_names(names: tuple[str, ...], place: str | None) -> None:
    """Protects the upright axis: heads of bones in foot, shank and arm are not the person's head."""
    found = dict(zip(PLACES, upper_and_lower(names), strict=True))
    assert {key: len(rows) for key, rows in found.items() if rows} == ({place: len(names)} if place else {})
