"""Gait events out of counts."""

from collections.abc import Callable

import numpy as np

from rtsim.bridges.gait_events import N_KEPT, GaitEvents, ShownGaitEvent
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame


def test_each_event_is_told_once_with_side_and_time(walk_frames: Callable[..., list[ReceivedFrame]]) -> None:
    """Protects the list of events: one entry for each step of a count, at the time of its frame."""
    events = GaitEvents()
    for frame in walk_frames(0, 101):
        events.look(frame)
    assert list(events.kept) == [
        ShownGaitEvent(0.25, "left", "toe-off"),
        ShownGaitEvent(0.50, "right", "heel strike"),
        ShownGaitEvent(0.75, "left", "toe-off"),
        ShownGaitEvent(1.00, "right", "heel strike"),
    ]


def test_what_was_counted_before_is_no_event(
    walk_frames: Callable[..., list[ReceivedFrame]], new_walk_session: Callable[..., Session]
) -> None:
    """Protects whoever joins late, and a new session: its first counts are no strikes of now."""
    events = GaitEvents()
    session = new_walk_session()
    for frame in [*walk_frames(60, 5, session), *walk_frames(240, 5, new_walk_session())]:
        events.look(frame)
    assert not events.kept


def test_another_session_has_its_own_list(
    walk_frames: Callable[..., list[ReceivedFrame]], new_walk_session: Callable[..., Session]
) -> None:
    """Protects who reads the list from the steps of the person before; the count of all steps goes on."""
    events = GaitEvents()
    for frame in [*walk_frames(0, 60), *walk_frames(0, 30, new_walk_session())]:
        events.look(frame)
    assert list(events.kept) == [ShownGaitEvent(0.25, "left", "toe-off")]
    assert events.n_event == 3


def test_unknown_counts_and_those_that_begin_anew(
    walk_frames: Callable[..., list[ReceivedFrame]], new_walk_session: Callable[..., Session]
) -> None:
    """Protects events around NaN, and after a source that has gone back to its start."""
    events, session = GaitEvents(), new_walk_session()
    blank = {"heel_strikes": np.full(2, np.nan), "toe_offs": np.full(2, np.nan)}
    for frame in [
        *walk_frames(98, 1, session),
        *walk_frames(99, 1, session, **blank),
        *walk_frames(100, 1, session),
        *walk_frames(0, 51, session),
    ]:
        events.look(frame)
    assert [event.kind for event in events.kept] == ["heel strike", "toe-off", "heel strike"]


def test_a_flood_of_events_is_bounded(
    walk_frames: Callable[..., list[ReceivedFrame]], new_walk_session: Callable[..., Session]
) -> None:
    """Protects memory: the newest are kept, all are counted."""
    events, session = GaitEvents(), new_walk_session()
    for k in range(500):
        events.look(
            walk_frames(k, 1, session, heel_strikes=np.array([float(k), 0.0]), toe_offs=np.zeros(2))[0]
        )
    assert len(events.kept) == N_KEPT
    assert events.n_event == 499
