"""How much of the loop's time sessions that begin in floods may have."""

from __future__ import annotations

from rtsim.files.force_stream import MOST_PLATES
from streams.messages import Session

N_FREE = 128
"""Labels of a session that is always let in: those of nearly every lab, looked up in 0.2 ms."""
LABELS_PER_SECOND = 100_000.0
"""Labels of larger sessions that are looked up in a second, which takes about an eighth of it."""
LABELS_AT_ONCE = 50_000.0
PLATES_PER_SECOND = 100.0
"""Force plates of other sessions that are laid out in a second, which takes about a twentieth of it."""
PLATES_AT_ONCE = 300.0
OF_A_SESSION = 8.0
"""A session costs as much as so many plates, whatever it has."""


class Credit:
    """What may be spent at once, and comes back by and by."""

    def __init__(self, at_once: float, per_second: float) -> None:
        self._most, self._per_ns = at_once, 1e-9 * per_second
        self._left, self._t_ns = at_once, 0

    def spend(self, cost: float, t_ns: int) -> bool:
        """Whether there is so much at `t_ns`, which is then spent."""
        self._left = min(self._most, self._left + self._per_ns * (t_ns - self._t_ns))
        self._t_ns = t_ns
        if self._left < cost:
            return False
        self._left -= cost
        return True


class LabelBudget:
    """Lets in any session, of those with very many labels only so many a second."""

    def __init__(self) -> None:
        self._credit = Credit(LABELS_AT_ONCE, LABELS_PER_SECOND)

    def grants(self, session: Session, t_ns: int) -> bool:
        """Whether the labels of a session may be looked up at `t_ns`; a later frame may ask again."""
        n_label = sum(len(field.labels) for field in session.fields)
        return n_label <= N_FREE or self._credit.spend(n_label, t_ns)


class PlateBudget:
    """Lets in so many sessions of forces a second, fewer of those with many plates."""

    def __init__(self) -> None:
        self._credit = Credit(PLATES_AT_ONCE, PLATES_PER_SECOND)

    def grants(self, session: Session, t_ns: int) -> bool:
        """Whether the plates of a session may be laid out at `t_ns`; a later message may ask again."""
        n_plate = max((field.shape[0] for field in session.fields if len(field.shape) == 3), default=0)
        return self._credit.spend(OF_A_SESSION + min(n_plate, MOST_PLATES), t_ns)
