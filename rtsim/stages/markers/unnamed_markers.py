"""Labelling of markers without names: the markers of the person or model are identified in each frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, MarkedBody
from rtsim.labelling.both_ways import RecordingNames, UnnamedRecording, name_both_ways
from rtsim.labelling.labeller import Labeller
from rtsim.labelling.unnamed import unnamed_in
from rtsim.models.tracked import TrackedModel

IN_DOUBT = "names_in_doubt"
"""Counter of frames whose names are not certain."""
WEAK = (
    "The names of {listed} become certain late or never, because their segments have too few markers "
    "to be distinguished from others. Until then frames with them are suspect; name these markers at "
    "the sender, or add a marker."
)
N_NAMED = 8


class UnnamedMarkers:
    """Names for the unnamed markers of one stream. In every session the person is searched for anew.

    Attributes
    ----------
    rows : indices of the stream's markers without names
    told : sentences for the user on markers that too few others on their segment help to identify
    n_frame, n_found : number of checked frames, and of those in which the person was tracked or labelled
    n_marker, most_certain : number of markers to identify, and the largest number that was certain in one
        frame
    """

    def __init__(self, body: MarkedBody, names: tuple[str, ...]) -> None:
        self._labeller = Labeller(body)
        self._names, self._weak, self.n_frame = names, body.weak, 0
        self.n_found = self.most_certain = 0
        self.n_marker = len(names)
        self.rows = np.zeros(0, np.int64)
        self.told: list[str] = []
        self.points, self.group = np.zeros((0, 3)), np.zeros(0, np.int64)
        self._ahead: RecordingNames | None = None
        self._next_ahead, self._following = 0, False
        self._disputed = np.zeros(len(names), bool)

    def begin(self, labels: Sequence[str], followed: Sequence[int], others: Sequence[int] = ()) -> None:
        """Begin another session of the stream, in which no name is known yet.

        labels : labels of its markers, "" = without a name; followed : indices of the labels that name a
            tracked marker; others : indices of the markers of other persons, by their labels in the stream
        """
        self._labeller.forget()
        self._next_ahead = 0
        self.rows = unnamed_in(labels, followed, others)
        self.told = [WEAK.format(listed=self._listed(self._weak))] if self._weak.any() else []
        self.points = np.full((len(self.rows), 3), np.nan)
        self.group = np.zeros(len(self.rows), np.int64)

    def name_ahead(self, recording: UnnamedRecording, progress: Callable[[int], None]) -> None:
        """Label all frames of a recording beforehand, forwards and backwards; `label` then writes these
        labels frame by frame.

        progress : called with the number of finished frames, each of which is processed twice
        """
        self._labeller.forget()
        self._ahead = name_both_ways(self._labeller, recording, progress)
        self._labeller.forget()

    def label(self, markers: Array, dt: float, waited: float = 0.0) -> None:
        """Write the positions of the tracked markers that were identified among those without names into
        markers (n_marker, 3) [m], in which the named ones already are.

        dt : time since the previous frame [s], 0 = unknown
        waited : time from the frame's arrival until the loop took it [s]
        """
        named = np.isfinite(markers[:, 0])
        if self._ahead is None:
            seen = np.isfinite(self.points).all(axis=1)
            self._labeller.label(markers, self.points[seen], dt, waited)
            self._following = self._labeller.following
            self._disputed = self._labeller.disputed(markers)
        else:
            k, self._next_ahead = self._next_ahead, self._next_ahead + 1
            found = np.flatnonzero(self._ahead.points[k] >= 0)
            markers[found] = self.points[self._ahead.points[k, found]]
            self._following = bool(self._ahead.following[k])
            self._disputed = np.isfinite(markers[:, 0]) & ~named & ~self._ahead.certain[k]
        self.n_frame += 1
        self.n_found += self._following or bool(named.any())
        certain = named
        if self._following:
            certain = np.isfinite(markers[:, 0]) & ~self._disputed
        self.most_certain = max(self.most_certain, int(np.count_nonzero(certain)))

    def keep_pace(self) -> None:
        """Divide every search for the person into steps over many frames from now on, so that no frame of a
        stream in real time is late.
        """
        self._labeller.paced = True

    def doubt(self) -> str:
        """Return why the names given in the newest frame are not certain, as text; empty if they are
        certain."""
        if not self._following:
            n = int(np.count_nonzero(np.isfinite(self.points[:, 0])))
            return (
                f"The {n} markers without names are not yet identified as those of the person or model, "
                "by the distances between them."
            )
        if not self._disputed.any():
            return ""
        return (
            "Identified among the markers without names, but not yet with certainty: "
            f"{self._listed(self._disputed)}."
        )

    def _listed(self, which: NDArray[np.bool_]) -> str:
        names = [self._names[k] for k in np.flatnonzero(which)]
        more = f" and {len(names) - N_NAMED} more" if len(names) > N_NAMED else ""
        return ", ".join(names[:N_NAMED]) + more


def unnamed_markers(tracked: TrackedModel, names: tuple[str, ...]) -> UnnamedMarkers:
    """Create the labeller for the markers of the person or model; names : names of the markers in the order
    of the frames
    """
    return UnnamedMarkers(MarkedBody(tracked.ruler, names, tracked.is_person, tracked.spine), names)
