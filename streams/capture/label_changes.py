"""Changes in a system's list of markers: their description in words, a limit on the new sessions that they
begin, and the rearrangement of frames to another list.

With a new session every subscriber needs a new descriptor, and the estimator restarts. So a system that
changes its description with every frame must not begin a new session each time. Until the next session may
begin, its frames are published in the rows of the present session, each marker under its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from streams.account import plain
from streams.capture.records import CaptureDescription, CaptureFrame, FloatArray

STEP_NS = 500_000_000
"""Least mean interval between beginnings of sessions [ns]."""
AT_ONCE = 3
"""Number of sessions that may begin at once after a pause, as when a person is chosen and named."""
MOST_NAMED = 8
SAME_RATE = 0.02
"""Difference up to which two measured rates are the same, as a part of the rate."""


class SessionPace:
    """Limits how often changes of the list of markers begin a new session: to two per second in the long run,
    and to three at once after a pause.
    """

    def __init__(self) -> None:
        self._paid_ns = self._begun_ns = 0  # until when the sessions so far are paid for; the newest

    def begin(self, now_ns: int) -> None:
        """Note that a session begins now."""
        self._paid_ns, self._begun_ns = max(self._paid_ns, now_ns) + STEP_NS, now_ns

    def allows(self, now_ns: int) -> bool:
        """Return whether another session may begin now."""
        return self._paid_ns - now_ns <= (AT_ONCE - 1) * STEP_NS

    def recent(self, now_ns: int) -> bool:
        """Return whether the last session began less than 1.5 s ago. Then a new session without a stated unit
        and axis takes over those of the last one.
        """
        return now_ns - self._begun_ns < AT_ONCE * STEP_NS


class RowsByName:
    """Rearranges the rows of frames with one description of markers into the order of another.

    before : description of the frames
    after : description of the required rows; if both have a name twice, its first row becomes the first and
      its second row the second
    fits : whether rows can be rearranged, because unit and axis of both descriptions are equal or unknown
    """

    def __init__(self, before: CaptureDescription, after: CaptureDescription) -> None:
        self.fits = before.unit in ("", after.unit) and before.up in ("", after.up)
        places = {key: row for row, key in enumerate(_numbered(before.names))}
        self._n_row = len(before.names)
        self._rows = np.array([places.get(key, self._n_row) for key in _numbered(after.names)], np.int64)
        wanted = set(self._rows.tolist())
        self._others = np.array([row for row in range(self._n_row) if row not in wanted], np.int64)

    def moved(self, positions: FloatArray) -> tuple[FloatArray, int] | None:
        """Return the rows in the order required, (n_after, 3), and the number of markers with a known
        position that have no row in that order.

        Rows of markers that the frame does not have are NaN. Returns None if the rows do not fit the
        description `before`.
        """
        if not self.fits or positions.shape != (self._n_row, 3):
            return None
        padded = np.vstack((positions, np.full((1, 3), np.nan)))
        n_left = int(np.isfinite(positions[self._others]).all(axis=1).sum()) if len(self._others) else 0
        return padded[self._rows], n_left


def _numbered(names: Sequence[str]) -> list[tuple[str, int]]:
    """Return each name together with the number of its earlier occurrences in the list."""
    if len(set(names)) == len(names):
        return [(name, 0) for name in names]
    seen: Counter[str] = Counter()
    keys: list[tuple[str, int]] = []
    for name in names:
        keys.append((name, seen[name]))
        seen[name] += 1
    return keys


def rows_kept(
    frames: Sequence[CaptureFrame], before: CaptureDescription, after: CaptureDescription
) -> list[CaptureFrame]:
    """Return those frames that fit the description `before`, with the positions of their markers in the order
    of the description `after`, which replaces it. If the names of markers differ, force samples are left out.
    """
    if before.names == after.names:  # unit, axis or rate are told late
        return list(frames)
    rows = RowsByName(before, after)
    moved = [(frame, rows.moved(frame.positions)) for frame in frames]
    return [frame._replace(positions=found[0], forces=None) for frame, found in moved if found is not None]


def rate_kept(after: CaptureDescription, before: CaptureDescription | None) -> CaptureDescription:
    """Return the description `after`, but with the rate of the one before if its own was measured and differs
    from that by no more than errors of measurement do.
    """
    rate = after.rate
    if before is not None and after.rate_measured and abs(rate - before.rate) <= SAME_RATE * before.rate:
        rate = before.rate
    return after._replace(rate=rate, rate_measured=False)


def words_of_change(before: CaptureDescription, after: CaptureDescription) -> str:
    """Describe in words, for the user, the differences between two descriptions of the data of a system."""
    former, present = set(before.names), set(after.names)
    added = [name for name in after.names if name not in former]
    gone = [name for name in before.names if name not in present]
    words = [
        f"{', '.join(map(plain, names[:MOST_NAMED]))} {verb}"
        for names, verb in ((added, "came"), (gone, "went"))
        if names
    ]
    if not words and after.names != before.names:
        words = ["the order of the names has changed"]
    if after.rate != before.rate:
        words.append(f"the rate is {after.rate:g} Hz")
    if after.plates != before.plates:
        words.append(
            f"there are {len(after.plates)} force plates" if after.plates else "there are no force plates"
        )
    if after.up != before.up:
        words.append(f"{after.up} points up" if after.up else "the upward axis is no longer stated")
    if after.unit != before.unit:
        words.append(f"positions are in {after.unit}" if after.unit else "the unit is no longer stated")
    if after.labelled != before.labelled:
        words.append(f"names are {'those of markers' if after.labelled else 'mere numbers'}")
    return ", ".join(words)
