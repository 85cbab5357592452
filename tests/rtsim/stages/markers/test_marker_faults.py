"""Faults of markers in words."""

from __future__ import annotations

import numpy as np

from kernels.markers.marker_health import EXCHANGED, FROZEN, MOVED, OUTLIER, SEGMENT, new_health
from rtsim.stages.markers.fault_words import SHORT
from rtsim.stages.markers.marker_faults import KINDS, MEANING, MOST_NAMES, PUT_RIGHT, faults_in_words

NAMES = [f"M{k}" for k in range(20)]


def test_each_fault_has_words_of_its_own():
    """Protects the reader: every code has a counter, a sentence, a few words, and stands in the meaning."""
    codes = {OUTLIER, FROZEN, EXCHANGED, SEGMENT, MOVED}
    assert set(KINDS) == set(SHORT) == codes
    assert len({counter for counter, _ in KINDS.values()}) == len(codes)
    assert all(f"{code} " in MEANING for code in codes)


def test_markers_are_named_by_kind_and_long_lists_are_cut():
    """Protects the sentences: which markers, of which fault, and how many more."""
    health = new_health(len(NAMES))
    assert not list(faults_in_words(health, NAMES))
    health.fault[3] = FROZEN
    health.fault[5:17] = SEGMENT
    (frozen, said), (segment, more) = faults_in_words(health, NAMES)
    assert (frozen, segment) == ("marker_frozen", "segment_suspect")
    assert said.startswith("These markers stand still while others move: M3")
    assert ", ".join(NAMES[5 : 5 + MOST_NAMES]) + f" and {12 - MOST_NAMES} more" in more
    assert NAMES[5 + MOST_NAMES] not in more
    np.testing.assert_array_equal(health.weight, 1.0)


def test_labels_put_right_for_certain_are_told_apart():
    """Protects the reader: these make no frame suspect, others do, and both are named."""
    health = new_health(len(NAMES))
    health.fault[1:5] = EXCHANGED
    health.certain[1:3] = 1
    (right, said), (other, suspect) = faults_in_words(health, NAMES)
    assert (right, other) == (PUT_RIGHT, "labels_exchanged")
    assert said == "Exchanged labels, put right: M1, M2."
    assert suspect == "These markers have exchanged labels: M3, M4. The frames are suspect."
