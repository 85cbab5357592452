"""Extraction of a static trial from a live stream, once a person has stood still long enough with all
markers visible.

Markers of a standing person sway by some millimetres within seconds. If the person shifts the weight or
turns, they move by centimetres. The newest successive frames are used in which all markers stay near their
mean positions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabMap
from rtsim.errors import ConfigError
from rtsim.files.markers.ground import to_ground
from rtsim.files.markers.persons import of_person
from rtsim.files.markers.trial import MarkerTrial, RawTrial, count_of, name_some, unique_names
from rtsim.subjects.calibration.landmarks import PELVIS, needed_roles, role_positions
from rtsim.subjects.calibration.stand_ins import MEDIAL, missing_widths
from rtsim.subjects.knee_centre import width_of
from rtsim.subjects.markers.labs import ENOUGH, SIDES, cover, find_lab, side_of
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.persons import choose, share_of_labs
from rtsim.subjects.markers.spellings import as_spelled
from streams.messages import Session, time_rate
from streams.receiving.ring import ReceivedFrame

Array = NDArray[np.float64]

STILL_MM = 20.0
"""Largest distance of a standing person's marker from the middle of its places [mm]. A choice: in the
static trials of three persons of two laboratories no marker left it by more than 10 in five seconds."""
SHOWN = 0.5
"""Fraction of the newest frames in which a marker must be visible so that it counts as present."""
NEWEST_S = 0.5
"""Duration of the newest frames by which movement and missing markers are reported [s]."""
SPARE = 2.0
"""Frames are stored for this multiple of the required duration, as not all of them are complete."""
MOST_FRAMES = 20_000
"""Frames that are stored; if more come in the time for which frames are stored, they are thinned evenly, as a
person who stands still does not need them."""


class StandingSoFar(NamedTuple):
    """Progress of a static trial in its newest frames.

    seconds : duration of the successive frames so far in which the person stands still and all markers are
        visible [s]
    movement_mm : largest distance of a marker from its mean position in the newest half second [mm]; NaN = no
      marker is visible
    missing : names of required markers that are not visible
    n_wanted : number of required markers
    fault : reason why the labels of the stream cannot be used; None = they can be used
    """

    seconds: float = 0.0
    movement_mm: float = float("nan")
    missing: tuple[str, ...] = ()
    n_wanted: int = 0
    fault: ConfigError | None = None

    @property
    def in_words(self) -> str:
        """Return the progress of a static trial as text, for a person in front of a screen."""
        if self.fault is not None:
            return self.fault.what
        if not self.n_wanted:
            return "no frame has arrived yet"
        seen = f"{self.n_wanted - len(self.missing)} of {self.n_wanted} markers"
        if self.missing:
            seen += f" ({name_some(list(self.missing))} missing)"
        moved = "" if np.isnan(self.movement_mm) else f", movement of a marker {self.movement_mm:.0f} mm"
        still = " (stand still)" if self.movement_mm > STILL_MM else ""
        counted = np.floor(10.0 * self.seconds + 1e-6) / 10.0  # never more than there is
        return f"{seen}{moved}{still}, {counted:.1f} s counted as standing still"


class StandingTrial:
    """Collects frames of a marker stream until they are a static trial.

    Parameters
    ----------
    source : address, for messages
    wanted_s : required duration [s]
    lab : marker map, None = found by the names
    side : right, left, or "" = the legs with markers
    person : the person whose markers are used, "" = the only one
    stored : known measurements of the person (name -> value in SI units); None = they are supplied later

    Attributes
    ----------
    lacking : reason why the labels are insufficient for any subject; None = nothing is known to be missing
    """

    def __init__(
        self, source: str, wanted_s: float, lab: LabMap | None = None, side: str = "", person: str = "",
        stored: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        self.source, self.wanted_s = source, wanted_s
        self._lab, self._side, self._asked_person = lab, side, person
        self._session: Session | None = None
        self._last_time = float("nan")
        self._frames: deque[tuple[float, Array]] = deque()
        self._least_step = SPARE * wanted_s / MOST_FRAMES
        self._n_repeated = self._n_thinned = 0
        self._map, self._person = lab, ""
        self._fault: ConfigError | None = None
        self.notes: tuple[str, ...] = ()
        self.lacking: ConfigError | None = None
        self._stored = stored

    def take(self, frame: ReceivedFrame) -> None:
        """Add a frame; a frame of another session, or with an earlier time than the last, restarts the
        collection. A frame with the time of the last one, as some systems send or round it, is left out."""
        if frame.session is not self._session:
            self._begin(frame.session)
        since = frame.time - self._last_time
        self._last_time = frame.time
        if since < 0.0:
            self._clear()
        elif since == 0.0:
            self._n_repeated += 1
            return
        elif self._frames and frame.time - self._frames[-1][0] + 0.5 * since < self._least_step:
            self._n_thinned += 1
            return
        self._frames.append((frame.time, frame.data["positions"].copy()))
        while self._frames[-1][0] - self._frames[0][0] > SPARE * self.wanted_s:
            self._frames.popleft()

    def look(self) -> StandingSoFar:
        """Return the progress of the static trial, from the frames so far."""
        if self._fault is not None or not self._frames:
            return StandingSoFar(fault=self._fault)
        trial = self._trial()
        wanted = self._wanted(trial)
        columns = find_markers(wanted, trial.names)
        newest = trial.times > trial.times[-1] - NEWEST_S
        seen: NDArray[np.bool_] = np.asarray(np.isfinite(trial.positions).all(axis=2))
        missing = tuple(
            name for name in wanted if name not in columns or seen[newest, columns[name]].mean() < SHOWN
        )
        if len(columns) < len(wanted):
            return StandingSoFar(missing=missing, n_wanted=len(wanted))
        x = trial.positions[:, list(columns.values())]
        complete: NDArray[np.bool_] = np.asarray(np.isfinite(x).all(axis=(1, 2)))
        reach = 1e3 * reach_back(x)
        first = int(np.argmax(reach <= STILL_MM)) if (reach <= STILL_MM).any() else len(reach)
        pace = pace_of(trial.times)
        moved = reach[int(np.argmax(newest))] if seen[newest].any() else float("nan")
        return StandingSoFar(pace * int(complete[first:].sum()), float(moved), missing, len(wanted))

    def trial(self) -> MarkerTrial:
        """Return the successive frames in which the person stands still as a trial."""
        trial = self._trial()
        columns = list(find_markers(self._wanted(trial), trial.names).values())
        reach = 1e3 * reach_back(trial.positions[:, columns])
        kept = np.arange(len(reach)) >= int(np.argmax(reach <= STILL_MM))
        notes = list(trial.notes)
        if self._n_repeated:
            notes.append(f"{count_of(self._n_repeated, 'frame')} with the time of the frame before left out")
        if self._n_thinned:
            least = 1e3 * self._least_step
            notes.append(
                f"{count_of(self._n_thinned, 'frame')} left out: one every {least:.3g} ms is enough while "
                "the person stands"
            )
        return trial._replace(times=trial.times[kept], positions=trial.positions[kept], notes=tuple(notes))

    def _begin(self, session: Session) -> None:
        """Restart the collection for a new stream or changed labels."""
        self._session, self._fault, self.lacking = session, None, None
        self._clear()
        names = next(field.labels for field in session.fields if field.name == "positions")
        try:
            share = share_of_labs(self._lab, self._side)
            chosen = choose(names, share, self.source, self._asked_person)
            self._person, self.notes = chosen.person, chosen.told
            own = of_person(self._raw(np.zeros(0), np.zeros((0, len(names), 3))), self._person).names
            self._map = as_spelled(self._lab or find_lab(own, self._side), own)
            self.lacking = self._widths_that_lack(own)
        except ConfigError as fault:
            self._fault = fault

    def _clear(self) -> None:
        """Discard all frames."""
        self._frames.clear()
        self._n_repeated = self._n_thinned = 0

    def _widths_that_lack(self, names: Sequence[str]) -> ConfigError | None:
        """Return the error for legs with a pelvis whose labels have no medial markers, and whose joint
        widths are not given.
        """
        assert self._map is not None
        for side in self._sides(names) if self._stored is not None else ():
            table = side_of(self._map, side)
            found = find_markers(table.named.values(), names)
            roles = {role for role, name in table.named.items() if name in found}
            needed = [] if table.is_keypoints or roles.isdisjoint(PELVIS) else list(MEDIAL)
            missing = [
                joint
                for joint in needed
                if not roles >= {*MEDIAL[joint]} and not width_of(self._stored or {}, side, joint, None)
            ]
            if missing:
                return missing_widths(side, missing, self.source)
        return None

    def _sides(self, names: Sequence[str]) -> list[str]:
        """Return the sides of the legs that are requested, or else of those that have enough markers."""
        if self._side in SIDES:
            return [self._side]
        assert self._map is not None
        return [side for side in SIDES if cover(self._map, side, names).share >= ENOUGH]

    def _raw(self, times: Array, positions: Array) -> RawTrial:
        """Return frames of the stream as a trial in the stream's own unit and axes."""
        assert self._session is not None
        field = next(field for field in self._session.fields if field.name == "positions")
        up = str(self._session.meta.get("up", ""))
        names, renamed = unique_names(field.labels)
        return RawTrial(
            names=names, times=times, positions=positions, rate=time_rate(self._session), source=self.source,
            units=field.unit, up=up, up_key="the descriptor's meta up", notes=tuple(renamed),
        )  # fmt: skip

    def _trial(self) -> MarkerTrial:
        """Return the stored frames as a trial in metres and ground axes."""
        times = np.array([time for time, _ in self._frames])
        raw = self._raw(times, np.array([x for _, x in self._frames]))
        trial = to_ground(raw, person=self._person)
        pace = pace_of(times)
        stated = trial.rate > 0.0 and not self._n_thinned
        return trial if stated or not pace else trial._replace(rate=1.0 / pace)

    def _wanted(self, trial: MarkerTrial) -> list[str]:
        """Return the required markers of the available legs: those for landmarks, and the tracked ones that
        have a label.
        """
        assert self._map is not None
        names: list[str] = []
        for side in self._sides(trial.names):
            table = side_of(self._map, side)
            names += [table.named[role] for role in needed_roles(table, role_positions(trial, table))]
            followed = [name for name in table.tracking.names if find_markers([name], trial.names)]
            names += followed
        return list(dict.fromkeys(names))


def pace_of(times: Array) -> float:
    """Return the mean time from one frame to the next where none is missing between them [s]; 0 for fewer
    than two frames.

    times : (n,) - strictly increasing [s]
    """
    if len(times) < 2:
        return 0.0
    steps = np.diff(times)
    return float(steps[steps <= 2.0 * np.median(steps)].mean())


def reach_back(x: Array) -> Array:
    """Return for each frame how far markers move from this frame to the last one, (n,) [m]: half the diagonal
    of the box that contains a marker's positions in these frames, the largest of all markers.

    x : (n, n_marker, 3) - positions, NaN = not visible [m]
    """
    backwards = x[::-1]
    low = np.minimum.accumulate(np.where(np.isfinite(backwards), backwards, np.inf))
    high = np.maximum.accumulate(np.where(np.isfinite(backwards), backwards, -np.inf))
    span = np.where(np.isfinite(low), high - low, 0.0)
    reach: Array = 0.5 * np.linalg.norm(span, axis=2).max(axis=1)[::-1]
    return reach


def refusal(so_far: StandingSoFar, wanted_s: float, where: str, over: bool = False) -> ConfigError:
    """Return the error for a stream that never became a static trial, with the reason and a remedy.

    so_far : its last progress
    wanted_s : required duration of standing still [s]
    where : address of the stream
    over : whether the stream has ended
    """
    if so_far.fault is not None:
        return so_far.fault
    if not so_far.n_wanted:
        return ConfigError(
            "no frame has arrived", where=where,
            remedy="start the program that sends the markers; check its host and port, and whether a "
                "firewall blocks its data",
        )  # fmt: skip
    if so_far.missing:
        what = f"{name_some(list(so_far.missing))} not seen"
        remedy = (
            "attach the missing markers, make them visible to the cameras, or name them in the capture system"
        )
    elif so_far.movement_mm > STILL_MM:
        what = f"a marker moved {so_far.movement_mm:.0f} mm during the last half second"
        remedy = (
            "have the person stand still, or look for a marker that is loose or has the label of "
            "another marker"
        )
    elif over:
        what, remedy = (
            "the stream ended before enough frames were recorded",
            "start it again, or give fewer --seconds",
        )
    else:
        what = "the person did not stand still long enough with all markers visible"
        remedy = "have the person stand still for longer, or give fewer --seconds"
    return ConfigError(
        f"no static trial of {wanted_s:g} s could be recorded: {what}; {so_far.seconds:.1f} s were "
            "usable", where=where,
        allowed=f"movement of at most {STILL_MM:.0f} mm, with all markers visible", remedy=remedy,
    )  # fmt: skip
