"""Markers and forces from servers with keys of their own: who may publish one cannot publish the other."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from rtsim.files.forces.force_stream import force_channel
from rtsim.live.inputs.paired import PairedInput
from rtsim.methods.plates.force_feed import ForceFeed
from streams.access.key_files import create_keys
from streams.access.security import Security
from streams.clock import now_ns
from streams.messages import Session, marker_session
from streams.publisher import Publisher
from tests.rtsim.live.inputs.test_paired import FORCES

LOCAL = "tcp://127.0.0.1:0"
MARKERS = marker_session(["LASI"], rate=100.0, t_start=0)


class StreamKeys(NamedTuple):
    """Keys of both servers, and of a client that knows which server is which."""

    markers: Security
    forces: Security
    of_markers: Security
    of_forces: Security


@pytest.fixture
def keys(tmp_path: Path) -> StreamKeys:
    """A pair for the source of markers, one for that of forces, and one for the estimator."""
    markers_public, markers_secret = create_keys(tmp_path / "markers", "markers")
    forces_public, forces_secret = create_keys(tmp_path / "forces", "forces")
    own_public, own_secret = create_keys(tmp_path / "own", "own")
    clients = tmp_path / "clients"
    clients.mkdir(mode=0o700)
    shutil.copy(own_public, clients)
    return StreamKeys(
        Security.for_server(markers_secret, clients),
        Security.for_server(forces_secret, clients),
        Security.for_client(own_secret, markers_public),
        Security.for_client(own_secret, forces_public),
    )


def forces_session() -> Session:
    """The descriptor of forces of the walker."""
    return force_channel(FORCES, 100.0, t_start=now_ns(), time_base="one").session


def announced(markers: Publisher, forces: Publisher, keys: StreamKeys) -> PairedInput:
    """The input of both servers' streams, each with the key that was given for it; both have begun."""
    markers.announce(MARKERS)
    forces.announce(forces_session())
    return PairedInput.beside(
        (markers.address, forces.address), 64, ForceFeed(), 20.0, (keys.of_markers, keys.of_forces)
    )


def seen_by(
    source: PairedInput, publishers: tuple[Publisher, Publisher], enough: Callable[[], bool]
) -> tuple[str, str]:
    """Streams of the sessions that the subscribers of markers and of forces have heard of."""
    for _ in range(400):
        for publisher in publishers:
            publisher.service()
        source.subscriber.wait(0.01)
        source.forces.wait(0.01)
        if enough():
            break
    sessions = source.subscriber.session, source.forces.session
    first, second = ("" if session is None else session.stream for session in sessions)
    return first, second


@pytest.mark.process
def test_each_server_is_heard_as_what_its_key_is_of(keys: StreamKeys) -> None:
    """Protects both streams: each comes from the server whose key was given for it."""
    with Publisher(LOCAL, keys.markers) as markers, Publisher(LOCAL, keys.forces) as forces:
        source = announced(markers, forces, keys)
        with source:
            seen = seen_by(
                source, (markers, forces),
                lambda: None not in (source.subscriber.session, source.forces.session),
            )  # fmt: skip
        assert seen == ("markers", "forces")


@pytest.mark.process
def test_a_server_with_the_key_of_the_other_stream_is_not_heard(keys: StreamKeys) -> None:
    """Protects markers from who may publish forces alone, and forces from who may publish markers alone."""
    with Publisher(LOCAL, keys.forces) as markers, Publisher(LOCAL, keys.markers) as forces:
        source = announced(markers, forces, keys)
        said: list[list[str]] = [[], []]

        def refused() -> bool:
            for kept, subscriber in zip(said, (source.subscriber, source.forces), strict=True):
                kept += list(subscriber.events)
            return refused_both(said)

        with source:
            seen = seen_by(source, (markers, forces), refused)
        assert refused_both(said)
        assert seen == ("", "")


def refused_both(said: list[list[str]]) -> bool:
    """Whether both subscribers have said that the server has another key."""
    return all(any("keys are missing or wrong" in one for one in kept) for kept in said)


@pytest.mark.process
def test_a_server_is_not_heard_with_the_other_stream(keys: StreamKeys) -> None:
    """Protects each stream from the server of the other, which sends what is not its own beside its own."""
    false, true = forces_session(), forces_session()
    others = marker_session(["LASI"], rate=50.0, t_start=0)
    with Publisher(LOCAL, keys.markers) as markers, Publisher(LOCAL, keys.forces) as forces:
        markers.announce(false)
        forces.announce(others)
        markers.announce(MARKERS)
        forces.announce(true)
        source = PairedInput.beside(
            (markers.address, forces.address), 64, ForceFeed(), 20.0, (keys.of_markers, keys.of_forces)
        )
        with source:
            heard = [source.subscriber, source.forces]
            seen_by(source, (markers, forces), lambda: all(one.session is not None for one in heard))
            found = [one.session.session for one in heard if one.session is not None]
        assert found == [MARKERS.session, true.session]
