"""The door: sessions that cannot be meant are named in plain words, counted, and flagged."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.pipeline.door import SAY_EVERY, Door, body_size
from streams.messages import FieldSpec, Session, Status, marker_session, new_session_id


def positions_session(names, unit="m", **meta) -> Session:
    return marker_session(names, rate=100.0, t_start=0, unit=unit, meta=None)  if not meta else Session(
        session=new_session_id(),
        stream="markers",
        t_start=0,
        rate=100.0,
        fields=(FieldSpec("positions", (len(names), 3), unit, tuple(names)),),
        meta=meta,
    )


def faults(door: Door) -> dict[str, int]:
    return {name: n for name, n in door.counters.items() if n}
