"""Detection of labels that are exchanged in a whole trial, by the cost of distances that deviate from the
subject's.

The exchange of two labels that lowers the cost most is applied repeatedly; cyclic exchanges of three or more
labels result from several steps. Labels that the subject does not track take part, such as one on the other
leg.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.markers.distances import Ruler, Tracks

Array = NDArray[np.float64]

TOLERANCE = 0.015
"""Tolerance of a distance in a subject's own trial, soft tissue included [m]."""
CAP = 9.0
"""Largest cost of a distance, reached at a deviation of three tolerances: beyond that, the size of the
deviation is not informative."""
FAR = 0.03
"""A marker that deviates by less [m] may have been re-applied, so that its label is not exchanged with that
of a nearby marker which the subject does not track."""
GAIN = 0.1
"""Least relative decrease of the cost by an exchange of two labels [1]."""
MOST_STEPS = 12
N_FRAME = 40


class Costs:
    """Costs of assigning the labels of a trial to a subject's markers: squared deviations of the distances
    between these markers from the subject's distances. Costs of a segment depend only on the labels on it and
    on adjacent segments, so they are computed once for each choice of these.
    """

    def __init__(self, ruler: Ruler, tracks: Tracks) -> None:
        self.ruler, self.tracks = ruler, tracks
        self._known: dict[tuple[str, ...], float] = {}

    def of(self, label_of: dict[str, str], segments: set[str]) -> float:
        """Return the cost of the distances on some segments and their neighbours; label_of : marker of the
        subject -> label in the trial.
        """
        touched = set(segments).union(*(self.ruler.neighbours(name) for name in segments))
        return sum(self._of_segment(name, label_of) for name in sorted(touched))

    def _of_segment(self, segment: str, label_of: dict[str, str]) -> float:
        near = (segment, *self.ruler.neighbours(segment))
        markers = [m for name in near for m in self.ruler.local[name] if m in label_of]
        key = (segment, *(label_of[m] for m in markers))
        if key not in self._known:
            d = self.ruler.measure(segment, {m: self.tracks[label_of[m]] for m in markers})
            cost = np.minimum((d.away / TOLERANCE) ** 2, CAP)
            self._known[key] = float(np.nansum(cost))
        return self._known[key]


def find_exchanged(
    ruler: Ruler, tracks: dict[str, Array], strangers: dict[str, Array]
) -> tuple[tuple[tuple[str, ...], ...], dict[str, Array]]:
    """Find groups of labels that are exchanged among each other; return them, and the tracks with each label
    at its correct marker.

    tracks : tracks of the subject's markers, (n, 3) [m]; strangers : tracks of the trial's other markers

    An exchange is accepted only if the markers concerned then are at their places. Markers of segments whose
    own distances change in movement, such as the trunk, are at first treated as markers that the subject does
    not track, so that they do not hide exchanges on other segments.
    """
    loose = {name: x for name, x in tracks.items() if ruler.segment_of[name] in ruler.loose}
    firm = {name: x for name, x in tracks.items() if name not in loose}
    if loose and firm:
        found, mended = exchanged_among(ruler, firm, {**strangers, **loose})
        if found:
            return found, {**loose, **mended}
    return exchanged_among(ruler, tracks, strangers)


def exchanged_among(
    ruler: Ruler, tracks: dict[str, Array], strangers: dict[str, Array]
) -> tuple[tuple[tuple[str, ...], ...], dict[str, Array]]:
    """Find groups of labels that are exchanged among each other, treating all segments alike; return the
    groups, and the tracks with each label at its correct marker.

    tracks : tracks of the subject's markers, (n, 3) [m]; strangers : tracks of the trial's other markers
    """
    step = max(1, len(next(iter(tracks.values()))) // N_FRAME)
    thin = {name: x[::step] for name, x in {**strangers, **tracks}.items()}
    costs = Costs(ruler, thin)
    label_of = {name: name for name in tracks}
    first = cost = costs.of(label_of, {ruler.segment_of[name] for name in tracks})
    for _ in range(MOST_STEPS):
        step_found = best_step(ruler, costs, label_of, list(strangers))
        if step_found is None or -step_found[0] < GAIN * cost:
            break
        label_of = step_found[1]
        cost += step_found[0]
    changed = [m for m, label in label_of.items() if m != label]
    if not changed or not all(in_place(ruler, thin, label_of, m) for m in changed) or cost > 0.5 * first:
        return (), tracks
    whole = {**strangers, **tracks}
    return cycles(label_of), {m: whole[label] for m, label in label_of.items()}


def best_step(
    ruler: Ruler, costs: Costs, label_of: dict[str, str], strangers: list[str]
) -> tuple[float, dict[str, str]] | None:
    """Return the exchange of two labels that lowers the cost of deviating distances most: the change of the
    cost, and the label of each marker afterwards; None if all markers are at their places.

    A label of the subject may also be exchanged with that of a marker that the subject does not track, one of
    `strangers`. This is tried only for labels whose distances deviate by at least FAR, and not on segments
    whose own distances change in movement, such as the trunk.
    """
    bad = [m for m in label_of if not in_place(ruler, costs.tracks, label_of, m)]
    taken = set(label_of.values())
    free = [name for name in strangers if name not in taken]
    best: tuple[float, dict[str, str]] | None = None
    for k, a in enumerate(bad):
        strange = ruler.segment_of[a] not in ruler.loose and off(ruler, costs.tracks, label_of, a) > FAR
        others = free if strange else []
        for b in [*bad[k + 1 :], *others]:
            new = dict(label_of)
            if b in label_of:
                new[a], new[b] = label_of[b], label_of[a]
                segments = {ruler.segment_of[a], ruler.segment_of[b]}
            else:
                new[a] = b
                segments = {ruler.segment_of[a]}
            change = costs.of(new, segments) - costs.of(label_of, segments)
            if best is None or change < best[0]:
                best = change, new
    return best


def in_place(ruler: Ruler, tracks: Tracks, label_of: dict[str, str], marker: str) -> bool:
    """Return whether most distances from a marker to other points of its segment agree with those of the
    subject.

    tracks : label in the trial -> (n, 3) [m]; label_of : marker of the subject -> label in the trial
    """
    return off(ruler, tracks, label_of, marker) <= TOLERANCE


def off(ruler: Ruler, tracks: Tracks, label_of: dict[str, str], marker: str) -> float:
    """Return the median deviation of a marker's distances to other points of its segment from those of the
    subject [m]; infinite if no distance is known.

    tracks : label in the trial -> (n, 3) [m]; label_of : marker of the subject -> label in the trial
    """
    d = ruler.measure(ruler.segment_of[marker], {m: tracks[label] for m, label in label_of.items()})
    own = np.array([marker in pair for pair in zip(d.first, d.second, strict=True)], dtype=bool)
    away = d.away[own]
    away = away[np.isfinite(away)]
    return float(np.median(away)) if away.size else np.inf


def cycles(label_of: dict[str, str]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of labels that a trial has exchanged.

    A group (a, b, c) means: points that the trial labels b are those of the subject's marker a, points
    labelled c are of b, and points labelled a are of c, unless c is no marker of the subject.

    label_of : marker of the subject -> label of its points in the trial; for example {"LKNE": "LANK", "LANK":
        "LKNE"} gives (("LKNE", "LANK"),). Markers with their own label are in no group.
    """
    groups, done = [], set[str]()
    for start, label in label_of.items():
        if start == label or start in done:
            continue
        group = [start]
        while label not in group and label in label_of:
            group.append(label)
            label = label_of[label]
        if label not in group:  # of a marker that the subject does not follow
            group.append(label)
        done.update(group)
        groups.append(tuple(group))
    return tuple(groups)
