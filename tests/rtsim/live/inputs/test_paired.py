"""Markers and forces over real sockets: paired, late, gone, and at other rates."""

from __future__ import annotations

import threading

import msgspec
import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import PlateUse, RunConfig
from rtsim.files.forces.force_stream import force_channel
from rtsim.files.forces.force_trial import ForceTrial
from rtsim.live.inputs.paired import PairedInput
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import MASS_KG, walker_forces
from rtsim.subjects.subject import load_subject
from streams.clock import now_ns
from streams.messages import Status, marker_session
from streams.publisher import Publisher
from streams.recording.player import PlayedStream, play

SPEC, SUBJECT = load_model("lower_limb"), load_subject(find_config("walker", "subjects"))
RUN = RunConfig(
    name="test", method="minimised", methods=("minimised",), mass_kg=MASS_KG,
    stages=("kinematics", "rates", "plates", "inverse_dynamics"), plates=PlateUse(bear_all=True),
)  # fmt: skip
TRIAL = walk(SPEC, SUBJECT, 0.8)
FORCES = walker_forces(TRIAL)
PATIENT_MS = 1000.0  # so that nothing is late however slow the machine
BASE = "one recording"
pytestmark = pytest.mark.process


def cut(first: float, last: float) -> ForceTrial:
    """The samples of a part."""
    keep = (FORCES.times >= first - 1e-9) & (FORCES.times <= last + 1e-9)
    names = ("times", "force", "moment", "centre", "free_moment", "loaded")
    return FORCES._replace(**{name: getattr(FORCES, name)[keep] for name in names})


def channel(forces: ForceTrial, rate: float = TRIAL.rate, base: str = BASE) -> PlayedStream:
    return force_channel(forces, rate, t_start=now_ns(), time_base=base)


def live(
    beside: PlayedStream, wait_ms: float = PATIENT_MS, base: str = BASE, speed: float = 1.0
) -> KeptResults:
    """What came of the walker and its forces over sockets of this machine."""
    allow_compilation()
    feed, kept = ForceFeed(), KeptResults()
    stages = make_stages(RUN, SPEC, SUBJECT, feed, MASS_KG)
    meta = {"time_base": base, "speed": speed}
    session = marker_session(TRIAL.names, rate=speed * TRIAL.rate, t_start=now_ns(), meta=meta)
    with Publisher("tcp://127.0.0.1:0") as publisher:
        player = threading.Thread(
            target=play,
            args=(publisher, session, TRIAL, speed),
            kwargs={"beside": (beside,), "wait_s": 30.0},
        )
        addresses = (publisher.address, publisher.address)
        loop = Loop(PairedInput.beside(addresses, 1024, feed, wait_ms), stages, kept)
        player.start()
        loop.run()
        player.join()
    return kept


def offline(forces: ForceTrial) -> KeptResults:
    """The same without sockets."""
    allow_compilation()
    feed, kept = ForceFeed(), KeptResults()
    stages = make_stages(RUN, SPEC, SUBJECT, feed, MASS_KG)
    Loop(RecordingInput(TRIAL, forces=forces, feed=feed), stages, kept).run()
    return kept


def counted(kept: KeptResults) -> dict[str, int]:
    assert kept.telemetry is not None
    return kept.telemetry.counters


@pytest.mark.parametrize("forces", [FORCES, cut(0.3, 9.0), cut(0.0, 0.5)], ids=["all", "late", "stopped"])
def test_live_and_recorded_are_the_same(forces: ForceTrial):
    """Protects the promise with forces: to the last bit the same, and forces that lack are named alike."""
    was, now = live(channel(forces)), offline(forces)
    seen, known = was.results(), now.results()
    assert seen is not None
    assert known is not None
    assert len(seen.times) == len(known.times) == len(TRIAL.times)
    for name, values in known.fields.items():
        np.testing.assert_array_equal(seen.fields[name], values, err_msg=name)
    np.testing.assert_array_equal(seen.status & ~int(Status.LATE), known.status)
    for name in ("forces_early", "forces_late"):
        assert counted(was)[name] == counted(now)[name]
    assert (counted(now)["forces_early"] > 20) == (forces.times[0] > 0.1)
    assert (counted(now)["forces_late"] > 20) == (forces.times[-1] < 0.6)


def test_by_the_clock_where_no_time_is_shared():
    """Protects plates of another system: paired by the moment of capture, the same within a sample."""
    seen, known = live(channel(FORCES, base=""), base="").results(), offline(FORCES).results()
    assert seen is not None
    assert known is not None
    force, other = (np.nan_to_num(r.fields["foot_loads"][1:, 0]) for r in (seen, known))
    np.testing.assert_allclose(force, other, atol=1.0)


def test_messages_at_a_slower_pace_are_waited_for_up_to_the_limit():
    """Protects the deadline: forces that come five times a second are mostly late, named, survived."""
    counters = counted(live(channel(FORCES, 5.0), wait_ms=2.0))
    assert counters["forces_late"] > 0.5 * len(TRIAL.times)
    assert counters["published"] >= len(TRIAL.times)
    assert counters["degraded"] >= counters["forces_late"]


def test_samples_at_another_rate_than_told_are_gaps():
    """Protects from interpolation over what was not measured: a tenth of the samples are gaps, named."""
    few = FORCES._replace(**{name: getattr(FORCES, name)[::50] for name in ("times", "force", "moment")})
    kept = live(channel(few))
    assert counted(kept)["forces_gap"] > 0.5 * len(TRIAL.times)
    assert any("Samples of the force plates are missing" in said for said in kept.sentences)


def test_other_plates_begin_a_new_result_session():
    """Protects clients: when other plates come, or go, the descriptor is told anew with their names."""
    allow_compilation()
    feed, kept = ForceFeed(), KeptResults()
    stages = make_stages(RUN, SPEC, SUBJECT, feed, MASS_KG)
    source = RecordingInput(TRIAL, forces=FORCES, feed=feed)
    announced: list[tuple[str, ...]] = []

    class Telling(RecordingInput):
        """Another session of forces in the middle."""

        def wait(self, apply):
            frame = source.wait(apply)
            if source.n_done == 20:
                other = channel(FORCES._replace(names=("other",))).session
                feed.begin(msgspec.structs.replace(other, meta={**other.meta, "time_base": "recording"}))
            return frame

        @property
        def over(self):
            return source.over

        def counters(self):
            return source.counters()

    def announce(session):
        announced.append(tuple(next(f.labels for f in session.fields if f.name == "plate_forces")))

    kept.announce = announce
    Loop(Telling(TRIAL), stages, kept).run()
    assert announced == [("right",), ("other",), ("right",)]


def test_a_recording_that_is_played_slowly_has_the_same_results() -> None:
    """Protects moments of slow replays: filters and waits go by the stream's time, not by this computer's."""
    was, now = live(channel(FORCES, rate=0.25 * TRIAL.rate), speed=0.25), offline(FORCES)
    seen, known = was.results(), now.results()
    assert seen is not None
    assert known is not None
    assert np.isfinite(seen.fields["joint_moments"]).any()
    for name in ("joint_moments", "coordinate_speeds", "foot_forces"):
        np.testing.assert_array_equal(seen.fields[name], known.fields[name])
