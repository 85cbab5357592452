"""Conversion of the markers of any stream to the markers of the model, in metres, Y up, right side.

Faults are reported in plain language and counted: missing or unknown markers, millimetres sent as metres, a
wrong up axis. Order, duplicates, clock jumps and infinities are checked before, by the subscriber.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import bind
from kernels.markers.marker_intake import take_in
from kernels.markers.marker_limits import FARTHEST
from rtsim.errors import ConfigError
from rtsim.files.markers.persons import COLON, UNNAMED, rows_of
from rtsim.labelling.both_ways import UnnamedRecording
from rtsim.labelling.unnamed import named_others
from rtsim.stages.markers.reference_length import ReferenceLength
from rtsim.stages.markers.unnamed_markers import IN_DOUBT, UnnamedMarkers
from rtsim.stages.stage import SAY_EVERY
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.persons import choose, masked, persons_by, share_of
from rtsim.subjects.subject import Subject
from rtsim.units import METRES, STREAMED
from streams.account import plain
from streams.messages import Session

Array = NDArray[np.float64]
FLOAT = np.dtype(np.float64)

N_NAMED = 8
"""Largest number of missing or unknown markers that a message names."""
LONGEST_LABEL = 32
"""Length to which a label of the stream is shortened in a message [characters]."""
SHORTEST_M = 1e-9
"""Least measured length by which the expected length is divided [m]."""
TOO_LARGE = {
    1000.0: 'millimetres sent as metres? Declare unit "mm" in the session, or send metres',
    100.0: 'centimetres sent as metres? Declare unit "cm" in the session, or send metres',
    39.37: "inches sent as metres? Send metres",
    10.0: 'millimetres declared as cm? Declare unit "mm" in the session, or send centimetres',
}
TOO_SMALL = {
    1000.0: 'metres declared as mm? Declare unit "m" in the session, or send millimetres',
    100.0: 'metres declared as cm? Declare unit "m" in the session, or send centimetres',
    25.4: "inches declared as mm? Send millimetres",
    10.0: 'centimetres declared as mm? Declare unit "cm" in the session, or send millimetres',
}
"""Factor by which a person is too large or too small -> probable mistake and remedy."""


class MarkerInput:
    """Maps the frames of one session of a marker stream to the tracked markers of the model.

    person : name of the person whose markers are used if the stream has several; "" = found by `known`, or by
        the marker names
    known : name that precedes the labels of the subject's markers -> phrase for messages on who that is; used
        if `person` is ""
    labels : labels of the stream's markers; "" in place of labels of other persons
    usable : whether the session has tracked markers, all of one person, in a unit that is known
    """

    def __init__(
        self,
        reference_length: ReferenceLength,
        session: Session,
        person: str = "",
        known: Mapping[str, str] | None = None,
        unnamed: UnnamedMarkers | None = None,
    ) -> None:
        self.reference_length, self.names = reference_length, reference_length.names
        self.counters: Counter[str] = Counter(millimetres_as_metres=0, wrong_up_axis=0, missing_markers=0)
        self.sentences: list[str] = []
        self.mirrors = reference_length.mirrors
        self._told: dict[str, int] = {}
        self._n_frame = 0
        field = next((f for f in session.fields if f.name == "positions"), None)
        shaped = field is not None and len(field.shape) == 2 and field.shape[1] == 3
        labels = tuple(field.labels) if field is not None and shaped else ()
        unit = field.unit if field is not None else "m"
        self._shape = tuple(field.shape) if field is not None else ()
        self._scale = METRES[unit] if unit in STREAMED else 0.0
        self._z_up = session.meta.get("up") in ("Z", "z")
        self.labels, one = self._of_one(labels, person, known)
        index = find_markers(self.names, self.labels) if one else {}
        self._unnamed, self.in_doubt = unnamed if one else None, False
        if self._unnamed is not None:
            self._unnamed.begin(self.labels, list(index.values()), named_others(labels, self.labels))
            self._unnamed = self._unnamed if len(self._unnamed.rows) else None
            for said in self._unnamed.told if self._unnamed is not None else ():
                self._say(said)
        self.usable = (bool(index) or self._unnamed is not None) and unit in STREAMED
        self.absent = frozenset(self.names) - index.keys() if self._unnamed is None else frozenset()
        self._source = np.array([index.get(name, -1) for name in self.names], np.int64)
        self.measured: Array = np.full((len(self.names), 3), np.nan)
        example = (np.zeros((1, 3)), self._source, 1.0, 0, 0, reference_length.group, self.measured)
        self._take_in = bind(take_in, example)
        if not shaped:
            self._say("The session of markers has no field 'positions' of shape [n_marker, 3]; declare one.")
        if one:
            self._name_faults(index, self.labels, unit, session.meta.get("up", "Y"))

    def admit(self, data: Mapping[str, Array], dt: float = 0.0, waited: float = 0.0) -> tuple[Array, bool]:
        """Convert a frame to the markers of the model, (n_marker, 3) [m], and check their size.

        Returns the markers, in an array that the next call overwrites, and whether they can be those of a
        person. The latter is false if their size is implausible, if the session has no usable markers
        (`usable`), or if the positions do not have the stated shape; in the last two cases the markers are
        not updated.

        data : arrays of the frame by name; "positions" is (n, 3) in the unit and the axes that the session
            states
        dt : time since the previous frame [s], 0 = unknown
        waited : time from the arrival of the frame until the loop took it [s]
        """
        self._n_frame += 1
        if not self.usable:
            return self.measured, False
        positions = data["positions"]
        if not self._fits(positions):  # the kernel trusts the shape: beyond it lies other memory
            self.count(
                "unfit",
                f"The positions have the shape {positions.shape}, but the session states {self._shape}.",
            )
            return self.measured, False
        length, rise, sideways, n_far = self._take_in(
            positions,
            self._source,
            self._scale,
            int(self._z_up),
            int(self.mirrors),
            self.reference_length.group,
            self.measured,
        )
        if self._unnamed is not None:
            self._label(self._unnamed, positions, dt, waited)
        if n_far:
            self.count(
                "too_far",
                f"{n_far} markers were more than {FARTHEST:g} m from the origin and count as occluded.",
            )
        return self.measured, self._check_size(length, rise, sideways)

    @property
    def gives_names(self) -> bool:
        """Whether this input labels markers that have no names in the stream."""
        return self._unnamed is not None

    def in_ground(self) -> Array:
        """Return the markers of the model in ground axes, (n_marker, 3) [m]; those of a left leg are not
        mirrored."""
        return self.measured * np.array([1.0, 1.0, -1.0 if self.mirrors else 1.0])

    def name_ahead(self, positions: Array, steps: Array, progress: Callable[[int], None]) -> None:
        """Label the markers without names in a whole recording, before its first frame is used.

        positions : (n, n_point, 3) in the unit and the axes that the session states
        steps : (n,) time since the previous frame [s], 0 = unknown
        progress : called with the number of finished frames; each frame counts twice, as it is processed
            forwards and backwards
        """
        unnamed = self._unnamed
        if unnamed is None or not self.usable:
            return
        axes = self._scale, int(self._z_up), int(self.mirrors)
        markers = np.empty((len(positions), *self.measured.shape))
        points = np.empty((len(positions), *unnamed.points.shape))
        for k, frame in enumerate(positions):
            self._take_in(frame, self._source, *axes, self.reference_length.group, markers[k])
            self._take_in(frame, unnamed.rows, *axes, unnamed.group, points[k])
        unnamed.name_ahead(UnnamedRecording(markers, points, steps), progress)

    def _label(self, unnamed: UnnamedMarkers, positions: Array, dt: float, waited: float) -> None:
        """Label the markers without names; count frames in which the labels are not certain."""
        axes = self._scale, int(self._z_up), int(self.mirrors)
        self._take_in(positions, unnamed.rows, *axes, unnamed.group, unnamed.points)
        unnamed.label(self.measured, dt, waited)
        said = unnamed.doubt()
        self.in_doubt = bool(said)
        if said:
            self.count(IN_DOUBT, said)

    def _of_one(
        self, labels: tuple[str, ...], person: str, known: Mapping[str, str] | None
    ) -> tuple[tuple[str, ...], bool]:
        """Return the labels of one person, with "" in place of all others, and whether it is certain which
        person they belong to; report the choice.

        person : requested person, "" = none; known : names of further candidates, with their origin as text
        """
        share = share_of(self.names)
        persons = persons_by(labels, share)
        is_another = bool(person and persons) and UNNAMED not in persons and not rows_of(labels, person)
        if len(persons) < 2 and not (is_another and _lack(labels, person)):
            return labels, True
        bare = tuple("" if COLON in label else label for label in labels)
        others = 0.0 if person.casefold() == UNNAMED else share([x for x in labels if COLON in x])
        if len(persons) < 2 and share(bare) > others:  # who has a name before the label may be a prop
            self._say(
                "The markers without a person's name before the label are used, as no label of the stream "
                f"begins with {person.rstrip(COLON)}:."
            )
            return bare, True
        try:
            choice = choose(labels, share, "the stream", person, known)
        except ConfigError as fault:
            self._say(f"{str(fault)[:1].upper()}{str(fault)[1:]}.")
            return labels, False
        for said in choice.told or (f"the markers of {choice.person} are used, as requested",):
            self._say(f"{said[:1].upper()}{said[1:]}.")
        return masked(labels, choice.person), True

    def _fits(self, positions: Array) -> bool:
        """Return whether positions have the shape and type that the session states."""
        return positions.shape == self._shape and positions.dtype == FLOAT and positions.flags.c_contiguous

    def _check_size(self, length: float, rise: float, sideways: float) -> bool:
        """Check the line from the lower to the upper of two groups of markers; return whether its length is
        plausible. A length of millimetres sent as metres is not; a line that does not point up is only
        reported.

        length, rise, sideways : length of the line, its component along the stated up axis, and that along
            the axis which would be up otherwise [m]; NaN (not visible) counts as plausible
        """
        of = self.reference_length
        if not of.size:
            return True
        if length > of.limit * of.size:
            self.count(
                "millimetres_as_metres",
                f"The markers span {length:.0f} m {of.span}: {_nearest(TOO_LARGE, length / of.size)}.",
            )
            return False
        if length < of.size / of.limit:
            self.count(
                "millimetres_as_metres",
                f"The markers span {1e3 * length:.2f} mm {of.span}: "
                f"{_nearest(TOO_SMALL, of.size / max(length, SHORTEST_M))}.",
            )
            return False
        if of.upright and rise < 0.5 * length and abs(sideways) > 0.8 * length:
            up = "Y" if self._z_up else "Z"
            self._doubt_up(
                f'the up axis seems to be {up}. Declare up = "{up}" in the descriptor of the marker stream.'
            )
        elif of.upright and rise < -0.8 * length:
            self._doubt_up("the up axis points down. Send positions that are the right way up.")
        return True

    def _doubt_up(self, how: str) -> None:
        """Count an implausible up axis; how : description with the remedy"""
        self.count(
            "wrong_up_axis",
            f"{self.reference_length.fallen}: {how} For a file give the axis by --up, or correct a "
            "wrong --up. Joint angles do not depend on the up axis, but the stick figure and the joint "
            "forces do.",
        )

    def _name_faults(self, index: dict[str, int], labels: tuple[str, ...], unit: str, up: object) -> None:
        missing = [name for name in self.names if name not in index]
        if unit not in STREAMED:
            self._say(f"The session's unit is {unit!r}; allowed are {', '.join(STREAMED)}.")
        if up not in ("Y", "y", "Z", "z"):
            said = f"'{plain(up, LONGEST_LABEL)}'" if isinstance(up, str) else "no text"
            self._say(f"The session's up axis is {said}; allowed are Y and Z. Y is assumed.")
        doubled = [name for name, k in index.items() if labels.count(labels[k]) > 1]
        if doubled:
            self._say(
                f"The stream has more than one marker with the label {listed(doubled[:N_NAMED])}: the "
                "first one is used, even if another one contains the data. Give each marker its own label."
            )
        if missing and self._unnamed is not None:
            self._say(
                f"{len(missing)} of the {self.reference_length.whose} {len(self.names)} markers have "
                f"no name in the stream; they are searched for among the {len(self._unnamed.rows)} "
                "markers without a name, as requested."
            )
        elif missing:
            self.counters["missing_markers"] = len(missing)
            used = set(index.values())
            strangers = (label for i, label in enumerate(labels) if label and i not in used)
            unknown = listed(islice(strangers, N_NAMED))
            also = f"; do {unknown} of the stream mean the same markers?" if unknown else "."
            self._say(
                f"{len(missing)} of the {self.reference_length.whose} {len(self.names)} markers are not in "
                f"the stream's {len(labels)} markers: {listed(missing[:N_NAMED])}{also}"
            )

    def _say(self, sentence: str) -> None:
        self.sentences.append(plain(sentence))

    def count(self, kind: str, sentence: str) -> None:
        """Count a fault of the present frame, and report it at its first frame and from time to time while it
        lasts.
        """
        self.counters[kind] += 1
        if self._n_frame >= self._told.get(kind, 0):
            self._told[kind] = self._n_frame + SAY_EVERY
            self._say(sentence)


def _lack(labels: Iterable[str], person: str) -> bool:
    """Return whether the name of a person is no part of any label before its last colon, as Anna is of
    S1:Anna:RASI.
    """
    wanted = person.strip().rstrip(COLON).casefold()
    return all(wanted not in (part.strip().casefold() for part in x.split(COLON)[:-1]) for x in labels)


def listed(labels: Iterable[str]) -> str:
    """Return labels in one line, each shortened to fit into a sentence."""
    return ", ".join(plain(label, LONGEST_LABEL) for label in labels)


def known_labels(subject: Subject | None) -> dict[str, str]:
    """Return the argument `known` of `MarkerInput`: one entry with the name that precedes the labels of the
    subject's markers, and a phrase for messages that says who that is; {} without a subject.
    """
    return {subject.person: f"to whom the markers of the subject {subject.name} belong"} if subject else {}


def _nearest(mistakes: Mapping[float, str], ratio: float) -> str:
    """Return the description of that mistake in the unit whose factor is nearest to the ratio of measured and
    expected length, on a logarithmic scale.

    mistakes : factor by which the mistake changes lengths -> description
    """
    return mistakes[min(mistakes, key=lambda factor: abs(math.log(ratio / factor)))]
