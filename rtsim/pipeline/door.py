"""The door: from the markers of any stream to the markers of the model, in metres, Y up, right side.

What cannot be meant is named in plain language and counted: markers that are missing or unknown,
millimetres sent as metres, a wrong up axis. Order, duplicates, clock jumps and infinities are judged
before, by the subscriber.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kernels._jit import bind
from kernels.intake import take_in
from rtsim.models.marker_names import find_markers
from rtsim.models.subject import Subject
from streams.messages import Session

Array = NDArray[np.float64]

METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001}
SAY_EVERY = 500
"""A lasting fault is told again after this many frames."""
SCALE_LIMIT = 5.0
"""A person this many times too large or too small is in the wrong unit."""


class Door:
    """Maps the frames of one marker session onto a subject's markers."""

    def __init__(self, subject: Subject, session: Session) -> None:
        self.names = subject.marker_names
        self.counters: Counter[str] = Counter(millimetres_as_metres=0, wrong_up_axis=0, missing_markers=0)
        self.sentences: list[str] = []
        self.mirrors = subject.side == "left"
        self._told: dict[str, int] = {}
        self._n_frame = 0
        field = next((f for f in session.fields if f.name == "positions"), None)
        shaped = field is not None and len(field.shape) == 2 and field.shape[1] == 3
        labels = tuple(field.labels) if field is not None and shaped else ()
        self._scale = METRES.get(field.unit if field else "m", 0.0)
        self._z_up = str(session.meta.get("up", "Y")).upper() == "Z"
        index = find_markers(self.names, labels)
        self.usable = bool(index)
        self._source = np.array([index.get(name, -1) for name in self.names], np.int64)
        self.measured: Array = np.full((len(self.names), 3), np.nan)
        self._size = body_size(subject)
        groups = [len(segment.markers_mm) for segment in subject.segments.values()]
        self._n_first, self._n_last = groups[0], groups[-1]
        example = (np.zeros((1, 3)), self._source, 1.0, 0, 0, 0, 0, self.measured)
        self._take_in = bind(take_in, example)
        if not shaped:
            self.sentences.append("The session has no field 'positions' of shape [n_marker, 3]; declare one.")
        self._name_faults(index, labels, field.unit if field else "m")

    def admit(self, data: Mapping[str, Array]) -> tuple[Array, bool]:
        """Markers of the model (n_marker, 3) [m], and whether they can be a person.

        data : the frame's fields; "positions" is (n, 3) in the session's unit and axes, where the session is
        usable. The array returned is overwritten by the next call.
        """
        self._n_frame += 1
        if not self.usable:  # the kernel trusts the shape
            return self.measured, False
        positions = data["positions"]
        length, rise, sideways = self._take_in(
            positions,
            self._source,
            self._scale,
            int(self._z_up),
            int(self.mirrors),
            self._n_first,
            self._n_last,
            self.measured,
        )
        return self.measured, self._check_size(length, rise, sideways)

    def mirror(self, x: Array) -> None:
        """Turn points (n, 3) or rotation matrices (n, 3, 3) in ground back to a left leg, in place."""
        if x.ndim == 2:
            x[:, 2] *= -1.0
        else:
            x[:, 2, :2] *= -1.0
            x[:, :2, 2] *= -1.0

    def _check_size(self, length: float, rise: float, sideways: float) -> bool:
        """Whether the line from foot to pelvis can be a person's; NaN (not visible) says nothing."""
        if length > SCALE_LIMIT * self._size:
            self.count(
                "millimetres_as_metres",
                f"The markers span {length:.0f} m from pelvis to foot: millimetres sent as metres? "
                'Declare unit "mm" in the session, or send metres.',
            )
            return False
        if length < self._size / SCALE_LIMIT:
            self.count(
                "millimetres_as_metres",
                f"The markers span {1e3 * length:.2f} mm from pelvis to foot: metres declared as mm? "
                'Declare unit "m" in the session, or send millimetres.',
            )
            return False
        if rise < 0.5 * length and abs(sideways) > 0.8 * length:
            up = "Y" if self._z_up else "Z"
            self.count(
                "wrong_up_axis",
                f"The pelvis is not above the foot: the up axis looks like {up}. "
                f'Declare up = "{up}" in the session. Joint angles do not depend on it, the picture does.',
            )
        return True

    def _name_faults(self, index: dict[str, int], labels: tuple[str, ...], unit: str) -> None:
        missing = [name for name in self.names if name not in index]
        unknown = [label for i, label in enumerate(labels) if i not in index.values()]
        if unit not in METRES:
            self.usable = False
            self.sentences.append(f"The session's unit is {unit!r}; allowed are {', '.join(METRES)}.")
        if missing:
            self.counters["missing_markers"] = len(missing)
            also = f"; the stream has {', '.join(unknown[:8])} instead?" if unknown else "."
            self.sentences.append(
                f"{len(missing)} of the subject's {len(self.names)} markers are not in the stream's "
                f"{len(labels)} markers: {', '.join(missing[:8])}{also}"
            )

    def count(self, kind: str, sentence: str) -> None:
        """Count a fault of the frame at hand; say it at its first frame and now and then while it lasts."""
        self.counters[kind] += 1
        if self._n_frame >= self._told.get(kind, 0):
            self._told[kind] = self._n_frame + SAY_EVERY
            self.sentences.append(sentence)


def body_size(subject: Subject) -> float:
    """Length of the leg, the yardstick of the check [m]."""
    return 1e-3 * sum(
        s.length_mm for name, s in subject.segments.items() if name != next(iter(subject.segments))
    )
