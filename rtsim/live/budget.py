"""How much of the loop's time sessions that begin in floods may have."""

from __future__ import annotations

from streams.messages import Session

N_FREE = 128
"""Labels of a session that is always let in: those of nearly every lab, looked up in 0.2 ms."""
PER_SECOND = 100_000.0
"""Labels of larger sessions that are looked up in a second, which takes about an eighth of it."""
AT_ONCE = 50_000.0


class LabelBudget:
    """Lets in any session, of those with very many labels only so many a second."""

    def __init__(self) -> None:
        self._credit = AT_ONCE
        self._t_ns = 0

    def grants(self, session: Session, t_ns: int) -> bool:
        """Whether the labels of a session may be looked up at `t_ns`; a later frame may ask again."""
        n_label = sum(len(field.labels) for field in session.fields)
        if n_label <= N_FREE:
            return True
        self._credit = min(AT_ONCE, self._credit + PER_SECOND * 1e-9 * (t_ns - self._t_ns))
        self._t_ns = t_ns
        if self._credit < n_label:
            return False
        self._credit -= n_label
        return True
