"""Forces meant to hold up or end the estimator, through its sockets: counted, told, and the markers go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import PlateUse, RunConfig
from rtsim.live.compiled.cache_warming import CacheWarming
from rtsim.live.inputs.inputs import StreamInput
from rtsim.live.inputs.paired import SILENT_NS, PairedInput
from rtsim.live.inputs.recorded import KeptResults
from rtsim.live.loop import Loop
from rtsim.live.processes.serve import await_subscribers
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import MASS_KG
from rtsim.subjects.subject import load_subject
from streams.clock import now_ns
from streams.codec import FieldLayout
from streams.messages import (
    AnyMessage,
    End,
    Forces,
    Markers,
    Result,
    Session,
    Status,
    force_session,
    marker_session,
)
from streams.publisher import Publisher
from streams.receiving.ring import ReceivedFrame

SPEC, SUBJECT = load_model("lower_limb"), load_subject(find_config("walker", "subjects"))
RUN = RunConfig(
    name="test", method="minimised", methods=("minimised",), mass_kg=MASS_KG,
    stages=("kinematics", "rates", "plates", "inverse_dynamics"), plates=PlateUse(bear_all=True),
)  # fmt: skip
TRIAL = walk(SPEC, SUBJECT, 0.5)
META = {"time_base": "test"}
GUARD_S = 120.0


def forces_of(n_plate: int, sample_rate: float = 1000.0) -> Session:
    names = [f"plate {k}" for k in range(n_plate)]
    return force_session(names, 1, rate=100.0, sample_rate=sample_rate, t_start=0, meta=META)


def sample(session: Session, seq: int, time: float) -> Forces:
    layout = FieldLayout(session)
    arrays = layout.views(np.full(layout.n_value, np.nan))
    for array in arrays.values():
        array[...] = 0.0
    arrays["sample_times"][...] = time
    return Forces(session=session.session, seq=seq, t_capture=now_ns(), time=time, data=layout.pack(arrays))


def markers(session: Session, seq: int, k: int) -> Markers:
    data = FieldLayout(session).pack({"positions": TRIAL.positions[k]})
    return Markers(
        session=session.session, seq=seq, t_capture=now_ns(), time=float(TRIAL.times[k]), data=data
    )


class CountedResults(KeptResults):
    """Results, of all sessions counted."""

    n_result = 0

    def send(self, message: AnyMessage) -> None:
        super().send(message)
        self.n_result += isinstance(message, Result)


@pytest.fixture
def kept() -> CountedResults:
    """What a run has made so far."""
    return CountedResults()


@pytest.fixture
def run(kept: CountedResults) -> Iterator[Callable[..., KeptResults]]:
    """What came of what a sender sends, who has a publisher and a session of markers."""
    allow_compilation()

    def begin(send: Callable[[Publisher, Session], None], wait_ms: float = 2.0) -> KeptResults:
        feed = ForceFeed()
        stages = make_stages(RUN, SPEC, SUBJECT, feed, MASS_KG)
        session = marker_session(TRIAL.names, rate=0.0, t_start=0, meta=META)
        with Publisher("tcp://127.0.0.1:0") as publisher:

            def sends() -> None:
                await_subscribers(publisher, 2, GUARD_S)
                publisher.announce(session)
                send(publisher, session)
                publisher.send(End(session=session.session, seq=len(TRIAL.times), reason="over"))

            sender = threading.Thread(target=sends)
            source = PairedInput.beside((publisher.address, publisher.address), 1024, feed, wait_ms)
            sender.start()
            Loop(source, stages, kept).run()
            sender.join(GUARD_S)
        return kept

    yield begin
    allow_compilation()


def test_a_flood_of_sessions_of_forces_costs_the_markers_nothing(run):
    """Protects the frames from sessions that take long to lay out: some are used, the rest is turned away."""

    def send(publisher: Publisher, session: Session) -> None:
        for k in range(len(TRIAL.times)):
            for _ in range(2):
                forces = forces_of(64, 1e5)
                publisher.announce(forces)
                publisher.send(sample(forces, 0, float(TRIAL.times[k])))
            publisher.announce(session)
            publisher.send(markers(session, k, k))

    kept = run(send)
    counters = kept.telemetry.counters
    assert counters["published"] == len(TRIAL.times)
    assert counters["forces_turned_away"] > len(TRIAL.times)
    assert any("Other sessions of forces take too much time" in said for said in kept.sentences)


def test_markers_that_begin_again_as_the_plates_change(run, kept):
    """Protects arrays of the plates: their number is looked at for frames of a session come back too."""
    other = marker_session(TRIAL.names[::-1], rate=0.0, t_start=0, meta=META)

    def send(publisher: Publisher, session: Session) -> None:
        for k in range(12):
            due = time.monotonic() + GUARD_S
            while kept.n_result < k:  # frames before a change are done before it comes
                assert time.monotonic() < due
                time.sleep(0.002)
            if k % 4 == 0:
                forces = forces_of(1 + k // 4)
                publisher.announce(forces)
                publisher.announce(other)
                publisher.announce(session)
            publisher.send(sample(forces, k, float(TRIAL.times[k])))
            publisher.send(markers(session, k, k))

    run(send, wait_ms=1000.0)
    results = kept.results()
    assert results is not None
    spec = next(f for f in results.session.fields if f.name == "plate_forces")
    assert spec.shape[0] == 3
    assert kept.telemetry.counters["published"] == 12
    assert not kept.telemetry.counters.get("invalid_input", 0)
    assert not results.status[-1] & int(Status.INVALID_INPUT)


def test_a_pause_of_both_streams_is_no_silence_of_the_plates(run):
    """Protects the first frame after a pause: its forces are waited for, as nobody lacked them meanwhile."""

    def send(publisher: Publisher, session: Session) -> None:
        forces = forces_of(1)
        publisher.announce(forces)
        for k in range(10):
            if k == 5:
                time.sleep(1.5e-9 * SILENT_NS)
            publisher.send(markers(session, k, k))
            time.sleep(0.01)
            publisher.send(sample(forces, k, float(TRIAL.times[k])))

    kept = run(send, wait_ms=1000.0)
    counters = kept.telemetry.counters
    assert counters["published"] == 10
    assert counters["forces_late"] == 0


def test_frames_of_strangers_are_not_rehearsed(monkeypatch):
    """Protects the loop's time: copies of the stages turn to nobody but the session that leads."""
    now = [10_000_000_000]
    monkeypatch.setattr("rtsim.live.compiled.cache_warming.now_ns", lambda: now[0])
    monkeypatch.setattr("rtsim.live.inputs.inputs.now_ns", lambda: now[0])
    source = StreamInput(lambda: None)  # type: ignore[arg-type, return-value]
    source.rehearsal = CacheWarming([])
    followed: list[Session] = []
    monkeypatch.setattr(source.rehearsal, "follow", lambda frame: followed.append(frame.session))
    known = marker_session(["RASI"], rate=100.0, t_start=0)
    frames = []
    for _ in range(20):
        other = marker_session(["LASI"], rate=100.0, t_start=0)
        for session in (known, other):
            frames.append(ReceivedFrame(session, FieldLayout(session)))
            frames[-1].leads = session is known

    class Received:
        def wait(self, timeout_s: float) -> ReceivedFrame | None:
            return frames.pop(0)

    source.subscriber = Received()  # type: ignore[assignment]
    let_in = [source.wait(lambda: None) for _ in range(40)]
    assert None not in let_in  # nothing takes any time on this clock
    assert followed == [known] * 20
