"""Settings of Motive that change while a measurement runs: rate, axis and samples of force plates."""

from __future__ import annotations

import struct
from collections import deque

import numpy as np
import pytest

from benchmarks.adapters.double import DoubledPlate
from benchmarks.adapters.doubles.natnet import NatNetDouble
from streams.capture.natnet.questions import QUESTIONS, Questions
from tests.streams.capture.relays import NAMES, relayed, sent, until

CORNERS = np.array([[0.6, 0.0, 0.4], [0.0, 0.0, 0.4], [0.0, 0.0, 0.0], [0.6, 0.0, 0.0]])
RATE, UP, UNIT, SAMPLES = QUESTIONS
SETTINGS = {RATE: 120.0, UP: 1, UNIT: 1000.0, SAMPLES: 8}


def answered(query: bytes, settings: dict[bytes, float]) -> bytes:
    """The server's answer to a query."""
    name = query[4:].rstrip(b"\0")
    return struct.pack("<HH", 3, 4) + struct.pack(QUESTIONS[name][0], settings[name])


def heard(asked: Questions) -> tuple[float, str, str, float]:
    return asked.rate, asked.up, asked.unit, asked.plate_rate


def conversation(asked: Questions, settings: dict[bytes, float], n_tick: int, late: int = 0) -> list[tuple]:
    """Ask at each of some ticks and whenever an answer is news, and answer so many ticks late; what is known
    after each answer."""
    on_the_way: deque[tuple[int, bytes]] = deque()
    known = []

    def ask(tick: int) -> None:
        if query := asked.next():
            on_the_way.append((tick + late, answered(query, settings)))

    for tick in range(n_tick):
        ask(tick)
        while on_the_way and on_the_way[0][0] <= tick:
            if asked.answer(on_the_way.popleft()[1]):
                ask(tick)
            known.append(heard(asked))
    return known


def test_changed_settings_are_known_within_two_rounds_and_change_together():
    """Protects force samples: rate and samples per frame are never those of different settings, and a change
    is known after eight questions that are a quarter of a second apart at most."""
    asked = Questions()
    conversation(asked, SETTINGS, 4)
    assert heard(asked) == (120.0, "+Y", "m", 960.0)
    changed = {RATE: 240.0, UP: 2, UNIT: 1000.0, SAMPLES: 4}
    known = conversation(asked, changed, 8)
    assert set(known) == {(120.0, "+Y", "m", 960.0), (240.0, "+Z", "m", 960.0)}
    assert known[-1][0] == 240.0


@pytest.mark.parametrize("late", range(7))
@pytest.mark.parametrize(
    "settings", [SETTINGS, {RATE: 1000.0, UP: 1, UNIT: 10.0, SAMPLES: 2}], ids=["usual", "alike"]
)
def test_late_answers_change_nothing(late, settings):
    """Protects a session from a slow network: an answer to another question is never taken for a change."""
    asked = Questions()
    conversation(asked, settings, 4)
    before = heard(asked)
    assert set(conversation(asked, settings, 60, late)) == {before}


def test_what_differs_once_or_hardly_is_no_change():
    """Protects a session from damage, and from a rate that the server measures."""
    asked = Questions()
    conversation(asked, SETTINGS, 4)
    before = heard(asked)
    for k in range(20):
        conversation(asked, SETTINGS | {RATE: 120.0 + 0.01 * (k % 3)}, 4)
    conversation(asked, SETTINGS | {UP: 2}, 4)
    conversation(asked, SETTINGS, 40)
    assert heard(asked) == before


def test_a_server_that_answers_no_questions_is_left_alone():
    """Protects other servers from questions without an end, and keeps what one knew that falls silent."""
    asked = Questions()
    queries = [asked.next() for _ in range(20)]
    assert all(queries[:12])
    assert not any(queries[12:])
    asked = Questions()
    conversation(asked, SETTINGS, 4)
    assert all(asked.next() for _ in range(20))
    assert heard(asked) == (120.0, "+Y", "m", 960.0)


def test_a_rate_and_an_axis_that_change_in_motive_begin_one_session():
    """Protects who changes a setting while rtsim connect runs: positions and forces have their new label."""
    double = NatNetDouble(NAMES, 120.0, [DoubledPlate("plate", CORNERS, 960.0)])
    double.start()
    try:
        with relayed(double) as run:
            sent(double, 0)
            until(lambda: run.take() == 1, "a frame")
            double.rate, double.up = 240.0, 2
            until(
                lambda: sent(double, len(run.frames)) and run.take() and len(run.sessions) == 2, "a session"
            )
            first, second = run.sessions.values()
            assert (first.rate, first.meta["up"]) == (120.0, "Y")
            assert (second.rate, second.meta["up"]) == (240.0, "Z")
            until(lambda: any("the rate is 240 Hz" in said for said in run.said), "the sentence")
    finally:
        double.stop()
