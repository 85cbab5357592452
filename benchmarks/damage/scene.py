"""Scenes to be damaged, the resulting damage, and random choices of frames and markers in a scene."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Generator = np.random.Generator

MARGIN = 0.2
"""Part of a scene before damage begins, and after it ends."""
LONGEST = 0.5
"""Part of a scene that damage of limited length takes at most."""
DETERMINING = 3
"""Markers that determine a segment; fewer do where it has no more."""
N_NAMED = 12
"""Number of markers that are named where more are damaged."""
RIGID_M = 0.025
"""Change of the distance of two markers from which their segment has not kept its shape [m]: a choice, of the
size of what skin does (docs/uncertainty.md)."""
SEEN = 0.5
"""Part of its frames in which a marker is seen that is worth damaging."""


class DamagedMarkers(NamedTuple):
    """Markers of a part of a recording, as a stream sends them.

    names : n_marker labels; groups : the segment of each, "" = not a marker of the subject
    positions : (n_frame, n_marker, 3) - in ground, Y up [m]; NaN = missing
    times : (n_frame,) [s]; rate : rate of the frames [Hz]
    calibrated : labels of the static trial that the subject comes from, () = it comes from none
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    positions: Array
    times: Array
    rate: float
    calibrated: tuple[str, ...] = ()

    @property
    def n_frame(self) -> int:
        """Number of frames."""
        return len(self.times)

    @property
    def usable(self) -> list[int]:
        """Return the indices of the subject's markers that are visible in enough frames."""
        seen = np.isfinite(self.positions).all(axis=2).mean(axis=0) >= SEEN
        return [m for m, group in enumerate(self.groups) if group and seen[m]]

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Return whether every marker of the subject is visible, (n_frame,)."""
        followed = [m for m, group in enumerate(self.groups) if group]
        return np.asarray(np.isfinite(self.positions[:, followed]).all(axis=(1, 2)))

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Return whether enough markers of every segment are visible to determine its pose, (n_frame,)."""
        determined = np.ones(self.n_frame, bool)
        for group in {group for group in self.groups if group}:
            own = [m for m, other in enumerate(self.groups) if other == group]
            seen = np.isfinite(self.positions[:, own]).all(axis=2).sum(axis=1)
            determined &= seen >= min(DETERMINING, len(own))
        return determined

    @property
    def sound(self) -> NDArray[np.bool_]:
        """Return whether all pairs of markers of a segment keep their median distance within RIGID_M,
        (n_frame,).
        """
        sound = np.ones(self.n_frame, bool)
        for own in self.segments(2).values():
            for k, m in enumerate(own):
                apart = np.linalg.norm(self.positions[:, own[k + 1 :]] - self.positions[:, m, None], axis=2)
                sound &= ~(np.abs(apart - np.nanmedian(apart, axis=0)) > RIGID_M).any(axis=1)
        return sound

    def segments(self, least: int = 1) -> dict[str, list[int]]:
        """Return the usable markers of each segment that has at least `least` of them."""
        found: dict[str, list[int]] = {}
        for m in self.usable:
            found.setdefault(self.groups[m], []).append(m)
        return {name: markers for name, markers in found.items() if len(markers) >= least}


class Damage(NamedTuple):
    """A damaged scene.

    positions, times : as in DamagedMarkers; kept : the frames that are sent, in order
    first, stop : the damage is in frames first to stop - 1; stop = n_frame: it lasts to the end
    what : markers and sizes, as text
    misplaced : a label of the static trial, "" = none; by : (3,) - its displacement there [m]
    """

    positions: Array
    times: Array
    kept: NDArray[np.int64]
    first: int
    stop: int
    what: str
    misplaced: str = ""
    by: tuple[float, ...] = ()


Damaging = Callable[[Generator, DamagedMarkers], Damage | None]
"""Draws a damage of one kind; None where the scene cannot have it. The scene stays as it is."""


class DamageKind(NamedTuple):
    """A class of damage, named after its function.

    in_deviations : whether errors count relative to the stated standard deviation, for damage that is small,
        or that develops slowly like skin motion
    needless : largest share of the damaged frames that may be flagged although they are right [%]
    """

    damage: Damaging
    in_deviations: bool = False
    needless: float = math.inf

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.damage.__name__


def damaged(scene: DamagedMarkers, positions: Array, frames: slice, what: str) -> Damage:
    """Return a damage of positions only, in frames first to stop - 1."""
    return Damage(
        positions=positions,
        times=scene.times,
        kept=np.arange(scene.n_frame),
        first=frames.start,
        stop=frames.stop,
        what=what,
    )


def some_frames(rng: Generator, scene: DamagedMarkers, seconds: float) -> slice:
    """Choose random frames of about that duration, shorter in a short scene, with margins before and
    after.
    """
    n = max(1, min(round(seconds * scene.rate), int(LONGEST * scene.n_frame)))
    margin = int(MARGIN * scene.n_frame)
    first = int(rng.integers(margin, max(margin, scene.n_frame - margin - n) + 1))
    return slice(first, min(first + n, scene.n_frame))


def rest_of(rng: Generator, scene: DamagedMarkers) -> slice:
    """Choose the frames from a random one in the first half, after the margin, to the end."""
    first = int(rng.integers(int(MARGIN * scene.n_frame), scene.n_frame // 2 + 1))
    return slice(first, scene.n_frame)


def whole_of(scene: DamagedMarkers) -> slice:
    """Return all frames."""
    return slice(0, scene.n_frame)


def some_marker(rng: Generator, scene: DamagedMarkers) -> int:
    """Choose a usable marker at random."""
    return int(rng.choice(scene.usable))


def some_segment(rng: Generator, scene: DamagedMarkers, least: int = 1) -> tuple[str, list[int]] | None:
    """Choose a segment with at least `least` usable markers at random; return it and these markers; None if
    there is none.
    """
    segments = scene.segments(least)
    if not segments:
        return None
    name = sorted(segments)[int(rng.integers(len(segments)))]
    return name, segments[name]


def some_direction(rng: Generator) -> Array:
    """Return a random unit vector, uniformly distributed, (3,)."""
    x = rng.standard_normal(3)
    return np.asarray(x / np.linalg.norm(x))


def named(scene: DamagedMarkers, markers: Sequence[int]) -> str:
    """Return the names of markers in one line, shortened if there are many."""
    more = f" and {len(markers) - N_NAMED} more" if len(markers) > N_NAMED else ""
    return ", ".join(scene.names[m] for m in markers[:N_NAMED]) + more
