"""The process that serves a browser page on a result stream: `rtsim serve --page`."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from rtsim.bridges.gait_events import GaitEvents
from rtsim.bridges.page_access import access_for, place_of, tls_context
from rtsim.bridges.page_server import TURN_S, PageServer, Showing
from rtsim.errors import ConfigError
from rtsim.monitor.app import BACKLOG, QUEUE, TOPICS
from rtsim.monitor.feed import Feed
from streams.access.security import Security
from streams.errors import StreamError
from streams.messages import Session, Telemetry
from streams.receiving.ring import ReceivedFrame
from streams.receiving.subscriber import Subscriber


class PageOptions(NamedTuple):
    """Options of the browser page: the address at which it is served, and authentication of viewers.

    place : HOST:PORT
    token_file : file with the token; None = a random token is generated if one is needed
    certificate, key : PEM files for TLS; None = none
    """

    place: str
    token_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class Watched:
    """A subscriber of results that also searches every received frame for gait events; the browser page gets
    its data from it.
    """

    def __init__(self, subscriber: Subscriber, events: GaitEvents) -> None:
        self._subscriber, self._events = subscriber, events

    @property
    def session(self) -> Session | None:
        return self._subscriber.session

    @property
    def counters(self) -> Mapping[str, int]:
        return self._subscriber.counters

    @property
    def events(self) -> deque[str]:
        return self._subscriber.events

    @property
    def telemetry(self) -> deque[Telemetry]:
        return self._subscriber.telemetry

    @property
    def ended(self) -> bool:
        return self._subscriber.ended

    def wait(self, timeout_s: float) -> ReceivedFrame | None:
        frame = self._subscriber.wait(timeout_s)
        if frame is not None:
            self._events.look(frame)
        return frame


def serve_page(
    address: str,
    options: PageOptions,
    security: Security | None,
    stop: threading.Event,
    ready: Callable[[str], None],
    say: Callable[[str], None],
) -> None:
    """Serve a browser page with the results at an address until `stop` is set.

    address : endpoint of the results
    security : keys, for an endpoint that requires them
    ready : function called with the address of the page once it is served
    say : function called with messages on faults

    Raises ConfigError for an address, token, certificate or endpoint that cannot be used.
    """
    place, tls = place_of(options.place), tls_context(options.certificate, options.key)
    access = access_for(place, options.token_file, tls is not None)
    try:
        subscriber = Subscriber(address, TOPICS, backlog=BACKLOG, security=security, queue=QUEUE)
    except StreamError as error:
        raise ConfigError(str(error), where="serve") from error
    with subscriber:
        events = GaitEvents()
        showing = Showing(Feed(Watched(subscriber, events), address, looks_back=False), events)
        with PageServer(place, access, showing, tls, say) as server:
            thread = threading.Thread(target=server.serve_forever, name="page", daemon=True)
            thread.start()
            try:
                ready(server.url)
                while not stop.wait(TURN_S):
                    showing.turn()
            finally:
                showing.close()
                server.shutdown()
