"""Certainty of labels, from searches that agree with them and from other markers of the segment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, Indices, MarkedBody

VOTES, VOTES_WEAK = 3, 6
"""Number of searches that must agree on a label until it is certain: usually, and on a segment that is poorly
distinguishable from other points (`weak` of MarkedBody)."""
APART_S = 0.1
"""Shortest time between two searches that count as independent evidence [s]."""
STAYS_S, STAYS_FRAMES = 0.05, 5
"""Time [s] and number of frames for which a marker must be at its predicted position until its label is
certain."""
NEAR = 0.5
"""Fraction of its tolerance within which a marker counts as being at its predicted position."""
BETTER = 0.5
"""Another point fits a marker better if it is nearer to the predicted position than this fraction of the
distance of the present point."""
FAR_M = 0.012
"""Distance of a marker from its predicted position up to which no other point counts as better [m]."""


class Judged(NamedTuple):
    """Markers with questionable labels after a frame.

    exchanged, gone : markers for which another point fits better, and markers that are not at their
        predicted position
    """

    exchanged: Indices
    gone: Indices


class NameCertainty:
    """Certainty of the label of each marker.

    certain : (n_marker,) whether there is enough evidence for the label
    proven : (n_marker,) whether there once was enough evidence on the present track of the marker, even if a
        search has contradicted the label since
    agreed : (n_marker,) whether a search has found the same label on the present track
    """

    def __init__(self, body: MarkedBody) -> None:
        self._needed = np.where(body.weak, VOTES_WEAK, VOTES)
        self._of = body.segment_of
        self.forget()

    def forget(self) -> None:
        """Discard all evidence for the labels of all markers."""
        n = len(self._needed)
        self._votes, self._apart_s = np.zeros(n, np.int64), np.full(n, np.inf)
        self._stays_s, self._n_stay = np.zeros(n), np.zeros(n, np.int64)
        self._dt = 0.0
        self.certain, self.proven, self.agreed = np.zeros((3, n), bool)

    def pass_by(self, dt: float) -> None:
        """Advance the time by dt [s] to that of the next frame."""
        self._apart_s += dt
        self._dt = dt

    def doubt(self, markers: Indices) -> None:
        """Discard all evidence for the labels of these markers."""
        self.contradict(markers)
        self.proven[markers] = self.agreed[markers] = False

    def contradict(self, markers: Indices) -> None:
        """Mark these markers' labels as uncertain, because a search has found others; `proven` still states
        that they were certain.
        """
        self._votes[markers] = 0
        self._stays_s[markers] = 0.0
        self._n_stay[markers] = 0
        self.certain[markers] = False

    def vote(self, markers: Indices) -> None:
        """Count for these markers that a search has confirmed their labels, with no other assignment of
        similar cost. A search too soon after the last counted one is not counted, as it is no independent
        evidence.
        """
        self.agreed[markers] = True
        markers = markers[self._apart_s[markers] >= APART_S]
        self._votes[markers] += 1
        self._apart_s[markers] = 0.0
        self.certain |= self._votes >= self._needed
        self.proven |= self.certain

    def stay(self, off: Array, apart: Array, reach: Array, known: NDArray[np.bool_]) -> Judged:
        """Compare markers with the positions predicted from the others of their segment; return which markers
        seem exchanged, and which are not at their position.

        off : (n_marker,) distance of the marker from its predicted position [m]
        apart : (n_marker,) distance of the nearest unlabelled point from that position [m]
        reach : (n_marker,) distance up to which a marker counts as being at that position [m]
        known : (n_marker,) whether its position can be predicted
        """
        doubted = known & ~self.certain & np.isfinite(off)
        in_place = doubted & (off <= NEAR * reach) & (apart > np.maximum(2.0 * off, reach))
        self._stays_s = np.where(in_place, self._stays_s + self._dt, 0.0)
        self._n_stay = np.where(in_place, self._n_stay + 1, 0)
        exchanged = doubted & (off > FAR_M) & (apart < BETTER * off) & (apart < reach)
        gone = doubted & ~exchanged & (off > 1.5 * reach)
        gone &= ~self.agreed | ~np.isin(self._of, self._of[gone & ~self.agreed])  # these are wrong, not those
        return Judged(np.flatnonzero(exchanged), np.flatnonzero(gone))

    def confirm(self, sure_beside: NDArray[np.bool_]) -> None:
        """Mark a marker's label as certain if the marker has long been at the position predicted from certain
        markers of its segment.

        sure_beside : (n_marker,) whether enough certain markers determine that position
        """
        stays = (self._stays_s >= STAYS_S) & (self._n_stay >= STAYS_FRAMES)
        self.certain |= stays & sure_beside
        self.proven |= self.certain
