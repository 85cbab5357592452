"""Marker maps in the names that recordings use."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.markers.labs import lab_of, load_lab
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.spellings import as_spelled, with_names_of

CGM = ("RASI", "LASI", "RPSI", "LPSI", "RTHI", "RKNE", "RTIB", "RANK", "RHEE", "RTOE")


@pytest.mark.parametrize(
    "spelt",
    ["RMED", "R.Med", "RMMAL", "rmmal", "RMed_ank", "RMMA", "RMM", "RANKM", "RMEDMAL", "Ann:RMED", "R_MMAL"],
)
def test_spellings_of_the_medial_malleolus(spelt: str) -> None:
    """Protects the spellings that laboratories use, whatever their case and separators."""
    names = (*(f"Ann:{n}" for n in CGM), spelt) if spelt.startswith("Ann:") else (*CGM, spelt)
    marker = as_spelled(load_lab("cgm1"), names).right.malleolus_medial
    assert find_markers([marker], names) == {marker: len(CGM)}
    assert lab_of("", names).name == "cgm1"


def test_a_marker_of_the_map_is_no_spelling_of_another() -> None:
    """Protects from one marker in two roles: RANK is the lateral malleolus, and no other one's spelling."""
    lab = as_spelled(load_lab("cgm1"), CGM)
    assert lab == load_lab("cgm1")
    cast = as_spelled(load_lab("cast"), (*CGM, "RLA", "RTH1"))
    assert cast.right.malleolus_lateral == "RLA"


def test_both_tables_and_tracked_markers_are_renamed() -> None:
    """Protects the whole map: roles, tracked markers and the opposite side's roles follow a spelling."""
    names = ("RASIS", "LASIS", "SACR", "RTHIGH", "RKNEE", "RSHANK", "RANKLE", "RHEEL", "RTOE", "LTHIGH")
    lab = as_spelled(load_lab("helen_hayes"), names)
    assert lab.right.sacrum == lab.left.sacrum == "SACR"
    assert "SACR" in lab.right.tracking.pelvis
    assert lab.right.thigh_lateral == "R.Thigh"  # the same but for the separator


def test_static_trial_and_walk_may_be_spelt_by_two_hands() -> None:
    """Protects tracked markers: those of the static trial are called as in the walk."""
    lab = load_lab("cast")
    walk = ("RASI", "LASI", "RTH1", "RSH1", "RHEE")
    still = ("RASIS", "LASIS", "RTH1", "RSK1", "RCA", "RLE", "RME")
    spelt = as_spelled(lab, walk, still)
    assert spelt.right.tracking.shank[0] == "RSH1"
    assert spelt.right.epicondyle_lateral == "RLE"
    trial = MarkerTrial(still, np.zeros(1), np.zeros((1, len(still), 3)), 100.0, "static.c3d")
    assert with_names_of(trial, lab, spelt).names == ("RASI", "LASI", "RTH1", "RSH1", "RHEE", "RLE", "RME")
    assert with_names_of(trial, load_lab("bmc"), load_lab("bmc")) is trial
