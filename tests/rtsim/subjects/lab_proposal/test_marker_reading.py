"""What names of markers say."""

from __future__ import annotations

import pytest

from rtsim.subjects.lab_proposal.marker_reading import COMPUTED_POINT, ELSEWHERE, read_name
from rtsim.subjects.markers.labs import load_lab

MEDIAL_ANKLE = ("RMED", "RMMAL", "RMMA", "RMED_ank", "RMANK", "RANKM", "R.Ankle.Med", "RTAM", "RMM")


@pytest.mark.parametrize("name", MEDIAL_ANKLE)
def test_spellings_of_the_medial_malleolus(name: str) -> None:
    """Protects the nine spellings that laboratories publish."""
    reading = read_name(name)
    assert (reading.roles, reading.side) == (frozenset(["malleolus_medial"]), "right")


@pytest.mark.parametrize(
    ("name", "role", "side"),
    [
        ("ANK_R", "malleolus_lateral", "right"),
        ("HEE_L", "calcaneus", "left"),
        ("Right Knee Medial", "epicondyle_medial", "right"),
        ("KnieInnenRechts", "epicondyle_medial", "right"),
        ("Knöchel_außen_li", "malleolus_lateral", "left"),
        ("caviglia_med_dx", "malleolus_medial", "right"),
        ("EIAS_droite", "asis", "right"),
        ("SIPS_sx", "psis", "left"),
        ("talon_gauche", "calcaneus", "left"),
        ("Metatarsal5Left", "metatarsal_5", "left"),
        ("MT1_links", "metatarsal_1", "left"),
        ("Trochanter.R", "greater_trochanter", "right"),
        ("SACRUM", "sacrum", ""),
    ],
)
def test_words_and_sides_before_and_behind(name: str, role: str, side: str) -> None:
    """Protects names that no map spells: words of several languages, the side wherever it stands."""
    reading = read_name(name)
    assert (reading.roles, reading.side) == (frozenset([role]), side)


def test_names_that_say_nothing() -> None:
    """Protects against roles read into numbers, and into trunk, arms, clusters and computed points."""
    for name in ("M001", "*12", "Q07z", "marker", "", "R", "abc"):
        assert read_name(name).says_nothing, name
    for name in ("RELB", "LFHD", "Schulter_re", "C7", "R.Wrist.Lat"):
        assert not read_name(name).roles, name
    assert read_name("RELB").segment == ELSEWHERE
    assert read_name("R_HJC").segment == COMPUTED_POINT
    assert read_name("RTH3").segment == "thigh"
    assert not read_name("R.Toe.Tip").roles


@pytest.mark.parametrize("lab", ["bmc", "cgm1", "cgm2.4", "mcgill", "ior", "isb", "cast", "helen_hayes"])
def test_every_name_of_a_shipped_map_is_read(lab: str) -> None:
    """Protects the vocabulary: each marker of a map may have its role there, on its side."""
    shipped = load_lab(lab)
    for side in ("right", "left"):
        for role, name in getattr(shipped, side).named.items():
            if not role.endswith("_opposite"):
                reading = read_name(name)
                assert role in reading.roles, (name, role, reading)
                assert reading.side == ("" if role == "sacrum" else side), (name, reading)
