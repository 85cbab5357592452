"""A check whether a trial belongs to the subject that it is solved with; it finds another person, exchanged
labels and moved markers.

The criteria are distances that movement does not change (`distances`), as medians over the frames, so that
neither soft tissue nor single bad frames matter. Within one session such medians stay within about 1 cm of
the static trial, those of single markers on thigh or heel within 3 cm (soft tissue, Leardini et al. 2005). If
markers are put on anew, each differs by 1 to 2.5 cm (Della Croce et al. 2005); those of another person do as
well, and the bones have other lengths, too.

In eleven recordings of five laboratories the root mean square difference over all distances is below 9 mm
with the person's own static trial. With the static trial of another person it is above 11 mm, and the
distances are 1.7 to 8 % longer or shorter on the whole. As recordings of other laboratories may be worse, a
trial is rejected only if the overall size differs, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial, name_some
from rtsim.subjects.markers.distances import FEWEST, Distances, Ruler, ruler_of_subject
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.markers_of import in_order
from rtsim.subjects.markers.relabelling import find_exchanged
from rtsim.subjects.markers.sides import MIRROR
from rtsim.subjects.subject import Subject

Array = NDArray[np.float64]

LARGEST_MISFIT = 0.01
"""Misfit above which a trial is unusual for its subject [m]: a note is given, and the trial is rejected if
the person is also of another size."""
FARTHEST = 0.02
"""Misfit above which a trial is refused in any case [m]."""
OTHER_SIZE = 0.015
"""Relative difference of the overall size above which the sizes count as different [1]."""
MOVED, MOVED_PART = 0.03, 0.15
"""A marker has moved if a distance differs by more than the larger of the first [m] and the second times the
distance: soft tissue moves single markers by 2 to 3 cm for whole phases of a movement."""
MOST_MOVED = 0.1
"""Largest fraction of markers that may have moved in a trial of the subject [1]."""
MIRRORED = 0.5
"""The mirror image is taken as true if its misfit is below this fraction of the misfit [1]."""
MAX_FRAME = 100
FEWEST_DISTANCES = 6
"""Least number of distances by which a person is judged."""
SIZE = 0.03
"""Relative difference of size from which a message mentions it [1]."""
OR_ANYWAY = "or add --anyway to continue"
SUBJECTS = "give the static trial or the subject that belongs to this person and session"
MODELS = "scale the model to this person and these markers (`rtsim scale`), or correct the labels"


class SubjectFit(NamedTuple):
    """Agreement of a subject with a trial.

    misfit : root mean square deviation of the distances of legs and pelvis, without markers that have moved
        [m]; scale : median ratio of these distances to those of the subject [1]
    exchanged : groups of labels that are exchanged among each other: (a, b) = two exchanged labels, (a, b,
        c) = a cyclic exchange
    moved : marker -> largest deviation of one of its distances [m]
    mirrored : whether the mirror image fits much better
    """

    misfit: float
    scale: float = 1.0
    exchanged: tuple[tuple[str, ...], ...] = ()
    moved: Mapping[str, float] = {}
    mirrored: bool = False

    @property
    def another(self) -> bool:
        """Return whether the trial does not belong to the subject, even after correcting exchanged labels
        and removing moved markers.
        """
        other_size = abs(self.scale - 1.0) > OTHER_SIZE
        return self.mirrored or self.misfit > (LARGEST_MISFIT if other_size else FARTHEST)


def fit_of(subject: Subject, trial: MarkerTrial, search: bool = True) -> SubjectFit | None:
    """Compare a person with a trial by distances between markers; return None if the trial shows too few
    distances; search : whether to search for exchanged labels.
    """
    if subject.side == "left":
        trial = trial._replace(positions=MIRROR * trial.positions)
    return fit_of_trial(ruler_of_subject(subject), subject.marker_names, trial, search)


def fit_of_trial(
    ruler: Ruler, names: tuple[str, ...], trial: MarkerTrial, search: bool = True
) -> SubjectFit | None:
    """Compare a person or model with a trial by distances between markers; None if it shows too few
    distances.

    ruler : expected distances; names : markers to use; search : whether to search for exchanged labels
    """
    own = in_order(trial, names)
    frames = chosen_frames(own)
    tracks = {name: x for k, name in enumerate(names) if seen(x := own[frames, k])}
    if not search:
        return fit_of_tracks(ruler, tracks)
    used = set(find_markers(names, trial.names).values())
    positions = trial.positions[frames]
    strangers = {
        name: x for k, name in enumerate(trial.names) if k not in used and seen(x := positions[:, k])
    }
    return searched_fit(ruler, tracks, strangers)


def searched_fit(ruler: Ruler, tracks: dict[str, Array], strangers: dict[str, Array]) -> SubjectFit | None:
    """Compare markers (n, 3) [m] by name, with a search for exchanged labels and for a mirror image.

    strangers : markers that the subject does not track, which may be exchanged with tracked ones
    """
    fit = fit_of_tracks(ruler, tracks)
    if fit is None:
        return None
    exchanged, mended = find_exchanged(ruler, tracks, strangers)
    if exchanged:
        better = fit_of_tracks(ruler, mended)
        assert better is not None
        return better._replace(exchanged=exchanged)
    across = fit_of_tracks(ruler, {name: MIRROR * x for name, x in tracks.items()})
    odd = fit.another or bool(fit.moved)
    mirrored = odd and across is not None and across.misfit < MIRRORED * fit.misfit
    return fit._replace(mirrored=mirrored)


def chosen_frames(positions: Array) -> NDArray[np.int64]:
    """Return at most MAX_FRAME of the frames (n, n_marker, 3) that show most markers, evenly spread."""
    n_seen = np.isfinite(positions[:, :, 0]).sum(axis=1)
    good = np.flatnonzero((n_seen > 0) & (n_seen >= 0.9 * np.percentile(n_seen, 90.0)))
    return good[np.linspace(0, len(good) - 1, min(len(good), MAX_FRAME)).astype(np.int64)]


def seen(x: Array) -> bool:
    return bool(np.isfinite(x[:, 0]).sum() >= FEWEST)


def fit_of_tracks(ruler: Ruler, tracks: dict[str, Array]) -> SubjectFit | None:
    """Compare the distances between the markers of a trial with expected ones; markers that have moved are
    left out one by one, the worst first. None if there are too few distances.

    ruler : expected distances; tracks : marker -> (n, 3) [m]
    """
    moved: dict[str, float] = {}
    found = measured(ruler, tracks, frozenset())
    if sum(np.isfinite(d.found).sum() for d in found.values()) < FEWEST_DISTANCES:
        return None
    while len(moved) < max(1, int(MOST_MOVED * len(tracks))) and (worst := worst_marker(found)) is not None:
        moved[worst[0]] = worst[1]
        found = measured(ruler, tracks, frozenset(moved))
    apart = [(d, d.expected > MOVED) for d in found.values()]
    ratio = np.concatenate([d.found[far] / d.expected[far] for d, far in apart])
    return SubjectFit(root_mean_square(found), float(np.nanmedian(ratio)), moved=moved)


def measured(ruler: Ruler, tracks: dict[str, Array], leave_out: frozenset[str]) -> dict[str, Distances]:
    """Compare the distances of each segment in a trial with the subject's, except for segments that do not
    characterise a person.

    ruler : the subject's distances; tracks : marker -> (n, 3) [m]; leave_out : markers to ignore
    """
    return {name: ruler.measure(name, tracks, leave_out) for name in ruler.local if name not in ruler.loose}


def root_mean_square(found: dict[str, Distances]) -> float:
    """Return the root mean square of the differences between measured and expected distances [m]."""
    off = np.concatenate([d.found - d.expected for d in found.values()])
    off = off[np.isfinite(off)]
    return float(np.sqrt(np.mean(off**2))) if off.size else 0.0


def worst_marker(found: dict[str, Distances]) -> tuple[str, float] | None:
    """Return the marker with the largest sum of squared deviations among the markers with a too large
    deviation, and its largest deviation [m]; None if no deviation is too large.
    """
    sums: dict[str, float] = {}
    largest: dict[str, float] = {}
    for d in found.values():
        off = np.nan_to_num(np.abs(d.found - d.expected))
        for a, b, by, expected in zip(d.first, d.second, off.tolist(), d.expected.tolist(), strict=True):
            for name in filter(None, (a, b)):
                sums[name] = sums.get(name, 0.0) + by * by
                if by > max(MOVED, MOVED_PART * expected):
                    largest[name] = max(largest.get(name, 0.0), by)
    if not largest:
        return None
    name = max(largest, key=lambda marker: sums[marker])
    return name, largest[name]


def sentences(fit: SubjectFit, whose: str = "the subject") -> list[str]:
    """Return notes for the user on a trial that is accepted although it fits its subject (or model) unusually
    badly, and on markers that have moved; none if all is usual.

    whose : words for the subject or the model in the notes
    """
    unusual = (
        f"the distances between its markers are {1e3 * fit.misfit:.0f} mm off those of {whose} (root "
        f"mean square; up to {1e3 * LARGEST_MISFIT:.0f} mm is usual); were markers re-applied, or is "
        "this another person?"
    )
    return [unusual] * (fit.misfit > LARGEST_MISFIT) + [
        f"{name} seems to have moved on the skin, or been re-applied; its distances to other markers "
        f"differ by up to {1e3 * by:.0f} mm from those of {whose}"
        for name, by in fit.moved.items()
    ]


def fault_of(
    fit: SubjectFit, whose: str, where: str, remedy: str = SUBJECTS, sized: bool = True
) -> ConfigError | None:
    """Return an error if a trial must not be solved with a subject or a model, because labels are exchanged,
    the markers are mirrored, or distances between markers differ too much; None if it may be solved.

    whose : "the subject NAME" or "the model NAME"; where, remedy : place and remedy stated in the error
    sized : False = the trial is rejected if its distances differ by more than FARTHEST (20 mm root mean
        square); True = it is also rejected above LARGEST_MISFIT (10 mm) if the overall size differs, too
    """
    if fit.exchanged:
        groups = [
            f"{a} and {rest[0]} seem exchanged" if len(rest) == 1
            else f"{', '.join((a, *rest))} seem exchanged among each other"
            for a, *rest in fit.exchanged
        ]  # fmt: skip
        return ConfigError(
            f"its distances between markers differ from those of {whose} and show exchanged labels: "
            f"{name_some(groups)}",
            where=where, remedy=f"exchange these labels in the file, {OR_ANYWAY}",
        )  # fmt: skip
    if fit.mirrored:
        return ConfigError(
            f"its markers are the mirror image of those of {whose}: labels of right and left are exchanged, "
            "or the axes are left-handed", where=where,
            remedy=f"correct the labels or the axes in the file, {OR_ANYWAY}",
        )  # fmt: skip
    if not (fit.another if sized else fit.misfit > FARTHEST):
        return None
    larger = "larger" if fit.scale > 1.0 else "smaller"
    size = f", and {100.0 * abs(fit.scale - 1.0):.0f} % {larger}" if abs(fit.scale - 1.0) >= SIZE else ""
    farthest = f"a difference of up to {1e3 * FARTHEST:.0f} mm"
    usual = f"a difference of up to {1e3 * LARGEST_MISFIT:.0f} mm"
    return ConfigError(
        f"the distances between its markers differ from those of {whose} by {1e3 * fit.misfit:.0f} mm "
        f"(root mean square){size}; the trial is of another person, or markers were re-applied", where=where,
        allowed=f"{usual}; {farthest} if the trial's person has the size of {whose}" if sized else farthest,
        remedy=f"{remedy}, {OR_ANYWAY}",
    )  # fmt: skip
