"""Markers that stand still while others move."""

from __future__ import annotations

import numpy as np

from kernels.faults.frozen import MOVES, N_FINE, N_SAME, N_STALLED, find_frozen, is_sent_again
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import FROZEN, new_health, visibility
from tests.kernels.faults.scene import BODY, DT, LOCAL, N_MARKER


def frozen_frames(step: float, speed: float, n: int, stuck: dict[int, int]) -> list[list[int]]:
    """Markers at fault in each of n frames: all move at a speed [m/s] on a grid [m], but some from
    one of these frames on."""
    health, rng = new_health(N_MARKER), np.random.default_rng(8)
    x, found = rng.normal(size=(N_MARKER, 3)), []
    markers = ModelMarkers(BODY, LOCAL)
    ways = rng.normal(size=(N_MARKER, 3))
    ways *= speed / np.linalg.norm(ways, axis=1)[:, None]
    for k in range(N_FINE + n):
        shown = x + DT * k * ways
        still = [m for m, first in stuck.items() if k >= N_FINE + first]
        shown[still] = x[still]
        if step > 0.0:
            shown = np.round(shown / step) * step
        visibility(shown, DT, health)
        find_frozen(markers, shown, DT, health)
        found.append(np.flatnonzero(health.fault == FROZEN).tolist())
    return found[N_FINE:]


def test_a_marker_that_stands_still_among_others() -> None:
    """Protects frozen markers: called so after N_SAME frames without change, not in coarse streams, not while
    a person stands."""
    one = {3: 0}
    assert frozen_frames(0.0, 0.5, 20, one) == [[]] * N_SAME + [[3]] * (20 - N_SAME)
    assert frozen_frames(0.001, 0.2, 20, one) == [[]] * 20
    assert frozen_frames(0.0, 0.9 * MOVES, 20, one) == [[]] * 20


def test_markers_of_a_segment_that_stop_together() -> None:
    """Protects frozen segments: called so in their first frame without change, as each marker is evidence for
    the others; not markers of different segments, nor one beside another that stopped long before."""
    segment = [5, 6, 7]
    assert frozen_frames(0.0, 0.5, 20, dict.fromkeys(segment, 0)) == [[]] + [segment] * 19
    assert frozen_frames(0.001, 0.2, 20, dict.fromkeys(segment, 0)) == [[]] * 20
    assert frozen_frames(0.0, 0.5, 20, {3: 0, 6: 0}) == [[]] * N_SAME + [[3, 6]] * (20 - N_SAME)
    alone = [[3]] * 10
    assert frozen_frames(0.0, 0.5, 20, {3: 0, 4: 10})[N_SAME:] == alone + [[3, 4]] * (10 - N_SAME)


def test_a_source_that_stalls_is_told_from_one_that_sends_frames_twice() -> None:
    """Protects walks whose source repeats its last frame: all markers are frozen then, after a time in which
    some sources repeat frames as they are; where nobody has moved, or in coarse streams, nothing is said."""
    everyone = dict.fromkeys(range(N_MARKER), 0)
    found = frozen_frames(0.0, 0.5, 20, everyone)
    assert found == [[]] * N_STALLED + [list(range(N_MARKER))] * (20 - N_STALLED)
    assert frozen_frames(0.001, 0.2, 20, everyone) == [[]] * 20
    assert frozen_frames(0.0, 0.0, 20, everyone) == [[]] * 20


def test_a_frame_that_comes_again_is_no_new_one() -> None:
    """Protects streams that send frames twice: equal to the last bit, the same markers there, and for less
    long than a source that stalls."""
    health, rng = new_health(N_MARKER), np.random.default_rng(4)
    measured = rng.normal(size=(N_MARKER, 3))
    measured[2] = np.nan
    empty = np.full((N_MARKER, 3), np.nan)
    assert not is_sent_again(measured, DT, health)
    assert not is_sent_again(empty, DT, health)
    find_frozen(ModelMarkers(BODY, LOCAL), measured, DT, health)
    found = [bool(is_sent_again(measured, DT, health)) for _ in range(N_STALLED)]
    assert found == [True] * (N_STALLED - 1) + [False]
    for other in (np.nan, measured[5, 1] + 1e-15):
        changed = measured.copy()
        changed[5, 1] = other
        assert not is_sent_again(changed, DT, health)
    came = measured.copy()
    came[2] = 0.1
    assert not is_sent_again(came, DT, health)
