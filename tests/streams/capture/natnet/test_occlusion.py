"""Occluded markers of NatNet from the first frame on: last positions that Motive goes on sending."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.adapters.natnet_writer import Body, Stamps, definitions, frame, labelled
from streams.capture.natnet.frame import decode_frame
from streams.capture.natnet.markers import NamedRows
from streams.capture.natnet.messages import decode_definitions

VERSION = (4, 1)
NAMES = ["LASI", "RASI", "LPSI", "RPSI", "SACR"]
POINTS = np.arange(15.0).reshape(5, 3) / 8.0 + 1.0
BOB = POINTS[:2] + 5.0
SEEN, OCCLUDED, UNLABELLED = 2 | 8, 1 | 8, 2 | 16
ANNA_NUMBERS = [3 << 16 | k for k in range(1, 6)]
BOB_NUMBERS = [4 << 16 | k for k in (1, 2)]


def rows() -> NamedRows:
    """Anna with five markers, Bob with two, of whom nothing has been received yet."""
    bodies = [Body("Anna", 3, NAMES), Body("Bob", 4, NAMES[:2])]
    return NamedRows(decode_definitions(definitions(VERSION, bodies), VERSION))


def missing(
    found: NamedRows, marks: list[tuple[int, np.ndarray, int]], anna: np.ndarray = POINTS
) -> list[bool]:
    """Which markers of Anna are missing in a frame with these labelled markers: number, position, params.

    anna : (5, 3) positions of her set [m]
    """
    numbers, places, params = zip(*marks, strict=True) if marks else ((), np.zeros((0, 3)), ())
    content = labelled(list(numbers), np.array(places), list(params)) if marks else b""
    packet = frame(VERSION, 1, {"Anna": anna, "Bob": BOB}, content, Stamps(0.0, 1, 2, 3))
    positions = found.positions(decode_frame(packet, VERSION))
    assert positions is not None
    gone = np.isnan(positions[:5]).all(axis=1)
    np.testing.assert_array_equal(positions[:5][~gone], anna.astype(np.float32)[~gone])
    return gone.tolist()


def marks_of(numbers: list[int], places: np.ndarray, params: int) -> list[tuple[int, np.ndarray, int]]:
    return [(number, place, params) for number, place in zip(numbers, places, strict=True)]


BOBS = marks_of(BOB_NUMBERS, BOB, SEEN)


@pytest.mark.parametrize("others", [[], BOBS], ids=["alone", "with Bob"])
def test_a_person_who_is_outside_from_the_first_frame_on_is_missing(others):
    """Protects calibration: who has not been seen yet is missing, not somebody who stands perfectly still."""
    found = rows()
    outside = marks_of(ANNA_NUMBERS, POINTS, OCCLUDED) + others
    assert missing(found, outside) == [True] * 5
    assert missing(found, marks_of(ANNA_NUMBERS, POINTS, SEEN) + others) == [False] * 5
    assert missing(found, outside) == [True] * 5
    assert found.disagreeing == 0


def test_a_person_who_is_absent_from_the_first_list_is_missing():
    """Protects from last positions where Motive leaves out who is outside, also after everybody has left."""
    found = rows()
    assert missing(found, BOBS) == [True] * 5
    assert missing(found, []) == [True] * 5
    assert missing(found, marks_of(ANNA_NUMBERS[:3], POINTS[:3], SEEN)) == [False] * 3 + [True] * 2
    assert missing(found, []) == [True] * 5


def test_a_set_whose_labelled_markers_have_other_numbers_is_not_lost():
    """Protects sets that the numbers do not name: their markers are seen at the set's own places."""
    found = rows()
    others = marks_of([9 << 16 | k for k in range(5)], POINTS, SEEN)
    assert missing(found, others[:4] + BOBS) == [False] * 5
    assert found.disagreeing == 1


def test_markers_that_have_lost_their_labels_decide_nothing():
    """Protects flags of a person who stands still while Motive loses her: unlabelled markers at her places
    show no other numbering."""
    found = rows()
    unlabelled = marks_of([50_000 + k for k in range(5)], POINTS, UNLABELLED)
    assert missing(found, unlabelled) == [False] * 5  # as where labelled markers are switched off
    assert missing(found, unlabelled + BOBS) == [True] * 5
    assert missing(found, unlabelled) == [True] * 5
    one = marks_of(ANNA_NUMBERS, POINTS, SEEN)
    assert missing(found, one[:4]) == [False] * 4 + [True]
    assert found.disagreeing == 0


def test_a_set_that_moves_while_none_of_its_numbers_is_listed_is_not_lost():
    """Protects sets that are solved from markers with other numbers, some millimetres beside them: who moves
    is seen, and it is counted that the numbers are others."""
    found = rows()
    for k in range(200):
        anna = POINTS + 0.001 * k
        others = marks_of([9 << 16 | j for j in range(5)], anna + 0.0015, SEEN)
        gone = missing(found, others + BOBS, anna)
        assert gone == [k < 100] * 5
    assert found.disagreeing == 1


@pytest.mark.parametrize("listed", [False, True])
def test_a_set_that_stands_still_or_was_listed_stays_missing(listed):
    """Protects from last positions, and from positions that a solver makes for markers whose numbers the
    server knows: nothing shows that the numbers are others."""
    found = rows()
    if listed:
        assert missing(found, marks_of(ANNA_NUMBERS, POINTS, OCCLUDED) + BOBS) == [True] * 5
    for k in range(300):
        anna = POINTS + 0.001 * k * listed
        assert missing(found, BOBS, anna) == [True] * 5
    assert found.disagreeing == 0
