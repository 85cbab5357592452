"""The synthetic walker as an endless stream: markers, and the samples of its force plate.

A process of its own. Standard output: {"markers": address}, and at the end what was sent. It begins with a
line on standard input, and ends when that closes. A lap is a whole number of strides, so that the walk goes
on from lap to lap, and time and seq go on with it. What is late by more than a frame is counted: then the
machine holds up the source.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from typing import Any

import numpy as np

from rtsim.config.paths import find_config
from rtsim.files.forces.force_stream import force_channel
from rtsim.models.load import ONE_LEG, load_model, model_for
from rtsim.subjects.made_up.walker import CYCLE_S, walk
from rtsim.subjects.made_up.walker_forces import walker_forces
from rtsim.subjects.subject import load_subject
from streams.clock import Pacer, now_ns
from streams.codec import FieldLayout
from streams.messages import Forces, Markers, marker_session, new_session_id
from streams.publisher import Publisher
from streams.recording.player import PlayedStream

N_STRIDE = 10
"""Strides of a lap, of which the samples are a whole number at 50 Hz and more."""
LEAST_SAMPLES = 1


class SoakSource:
    """Frames of the walker, one after the other.

    rate : frames per second; force_rate : samples of the plate per second [Hz], 0 = no plate
    subject : a subject's file or name
    """

    def __init__(self, publisher: Publisher, rate: float, force_rate: float, subject: str) -> None:
        person = load_subject(find_config(subject, "subjects"))
        trial = walk(load_model(model_for(ONE_LEG, person.side)), person, N_STRIDE * CYCLE_S, rate)
        self._publisher, self.rate = publisher, rate
        self._n_lap, self._lap_s = len(trial.times), len(trial.times) / rate
        self._positions = np.ascontiguousarray(trial.positions)
        base = new_session_id() if force_rate else ""
        meta = {"time_base": base} if base else {}
        session = marker_session(trial.names, rate=rate, t_start=now_ns(), meta=meta)
        self._session, self._layout = session, FieldLayout(session)
        self._forces: PlayedStream | None = None
        if force_rate:
            plates = walker_forces(trial)
            step = max(LEAST_SAMPLES, round(plates.rate / force_rate))
            names = ("times", "force", "moment", "centre", "free_moment", "loaded")
            thinned = plates._replace(
                rate=plates.rate / step, **{name: getattr(plates, name)[::step] for name in names}
            )
            self._forces = force_channel(thinned, rate, t_start=now_ns(), time_base=base)
            self._force_layout = FieldLayout(self._forces.session)
        self.n_sent = 0

    def announce(self) -> None:
        """Begin the sessions."""
        if self._forces is not None:
            self._publisher.announce(self._forces.session)
        self._publisher.announce(self._session)

    @property
    def is_heard(self) -> bool:
        """Return whether each of its streams has a subscriber."""
        publisher = self._publisher
        return publisher.is_heard("markers") and (self._forces is None or publisher.is_heard("forces"))

    def send(self, due_ns: int) -> None:
        """Send the next frame, stamped with the time when it was due [ns], after the force samples up
        to it.
        """
        lap, index = divmod(self.n_sent, self._n_lap)
        time, before = self.n_sent / self.rate, lap * self._lap_s
        if self._forces is not None:
            values: dict[str, Any] = {name: rows[index] for name, rows in self._forces.data.items()}
            values["sample_times"] = values["sample_times"] + before
            self._publisher.send(
                Forces(
                    session=self._forces.session.session, seq=self.n_sent, t_capture=due_ns, time=time,
                    data=self._force_layout.pack(values),
                )
            )  # fmt: skip
        self._publisher.send(
            Markers(
                session=self._session.session, seq=self.n_sent, t_capture=due_ns, time=time,
                data=self._layout.pack({"positions": self._positions[index]}),
            )
        )  # fmt: skip
        self.n_sent += 1


def main() -> None:
    """Send until standard input closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rate", type=float)
    parser.add_argument("force_rate", type=float)
    parser.add_argument("--subject", default="walker")
    given = parser.parse_args()
    begins, over = threading.Event(), threading.Event()

    def listen() -> None:
        if sys.stdin.readline():
            begins.set()
            sys.stdin.read()
        over.set()

    with Publisher("tcp://127.0.0.1:0") as publisher:
        source = SoakSource(publisher, given.rate, given.force_rate, given.subject)
        print(json.dumps({"markers": publisher.address}), flush=True)
        threading.Thread(target=listen, daemon=True).start()
        source.announce()
        while not ((begins.is_set() and source.is_heard) or over.is_set()):
            publisher.wait_for_subscriber(0.05)
            begins.wait(0.05)
        pacer, n_late, period_ns = Pacer(given.rate), 0, round(1e9 / given.rate)
        while not over.is_set():
            n_late += pacer.wait() > period_ns
            source.send(now_ns())
            publisher.service()
        publisher.end("the benchmark has ended")
        print(json.dumps({"sent": source.n_sent, "late": n_late, "held_up": pacer.n_resync}), flush=True)


if __name__ == "__main__":
    main()
