"""Markers are found whatever the spelling."""

from __future__ import annotations

import pytest

from rtsim.subjects.markers.marker_names import find_markers


@pytest.mark.parametrize("name", ["R.ASIS", "r.asis", "R ASIS", "r_asis", "R-Asis", "RASIS"])
def test_case_and_separators_do_not_matter(name: str) -> None:
    """Protects files of the same lab exported by other software."""
    assert find_markers(["R.ASIS"], ["C7", name]) == {"R.ASIS": 1}


@pytest.mark.parametrize(
    "names",
    [
        ("Ann:RASI", "Ann:LASI"),
        ("Ann_RASI", "Ann_LASI"),
        ("trial 1: Ann:RASI", "trial 1: Ann:LASI"),
        ("Ann Lee.RASI", "Ann Lee.LASI"),
    ],
)
def test_subject_names_in_front_are_ignored(names: tuple[str, ...]) -> None:
    """Protects exports that write the subject before every marker."""
    assert find_markers(["RASI", "LASI"], names) == {"RASI": 0, "LASI": 1}


def test_exact_name_wins() -> None:
    """Protects files that hold two spellings of one name."""
    assert find_markers(["r_sh1"], ["R.SH1", "r_sh1"]) == {"r_sh1": 1}


def test_subject_in_front_of_the_wanted_name_is_ignored() -> None:
    """Protects a saved subject, whose names are those of its trial, against another person's stream."""
    assert find_markers(["Ann:R_ASIS"], ["Bob:R.ASIS"]) == {"Ann:R_ASIS": 0}
    assert find_markers(["Ann:R_ASIS"], ["R.ASIS"]) == {"Ann:R_ASIS": 0}


def test_names_that_are_not_there_are_left_out() -> None:
    """Protects against a near match: a virtual or another side's marker is not the marker."""
    assert find_markers(["R.TT", "R.HF"], ["V_R.TT", "L.TT", "R.TT.2", "R.HF"]) == {"R.HF": 3}
    assert find_markers(["RASI"], []) == {}


def test_side_shared_by_all_names_is_not_a_subject() -> None:
    """Protects one-legged marker sets, in which all names begin alike."""
    assert find_markers(["R.Knee", "L.Knee"], ["R.Knee", "R.Ankle"]) == {"R.Knee": 0}
