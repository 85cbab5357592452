"""Which outputs a device takes and which it refuses: one table, and every client of ours held against it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.clock import now_ns
from streams.exchange import OutputIntake
from tests.rtsim.live.clients import CLIENTS, KEEP, Trial, client
from tests.rtsim.live.output_table import TABLE, Case, parts_of
from tests.rtsim.live.rig import until
from tests.rtsim.live.test_device_clients import Talk

PLAIN = TABLE[0]


def test_the_table_is_what_it_says() -> None:
    """Protects the table itself: many messages, each with a name of its own, some right and most wrong."""
    names = [case.name for case in TABLE]
    assert len(set(names)) == len(names) > 120
    assert sum(case.taken for case in TABLE) > 15


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_what_a_simulated_device_takes(case: Case) -> None:
    """Protects `rtsim device`, without a socket: what it refuses is what the protocol's page says."""
    intake = OutputIntake()
    assert intake.accept(parts_of(PLAIN, 6), now_ns()) is not None
    found = intake.accept(parts_of(case, 7), now_ns())
    assert (found is not None) == case.taken
    assert intake.accept(parts_of(PLAIN, 8), now_ns()) is not None


@pytest.fixture(params=CLIENTS)
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Talk]:
    """Each client in its turn."""
    with client(request.param, tmp_path) as made:
        yield made


@pytest.mark.process
def test_every_client_takes_and_refuses_the_same(talk: Talk) -> None:
    """Protects whoever copies a client: over a real socket each message of the table is taken, or is not."""
    trial, wrong = Trial(talk), []
    for case in TABLE:
        if found := trial.verdict(case):
            wrong.append(f"{case.name} {found}")
    assert wrong == []
    assert talk.process.poll() is None


@pytest.mark.process
@pytest.mark.parametrize("size", [100_000, 3 << 20])
def test_a_giant_part_ends_no_client(talk: Talk, size: int) -> None:
    """Protects the connection: after a part that no output has, a client is there again by itself."""
    trial = Trial(talk)
    until(trial.hold if trial.hold() else lambda: trial.arm() or trial.hold())
    trial.send([b"output", bytes(size)])

    def is_back() -> bool:
        talk.port._heard_ns = 0  # the place is free
        talk.heard.clear()
        return trial.answer(trial.say(KEEP, armed=False), 0.05) is not None

    until(is_back)
    assert talk.process.poll() is None
