"""Taring in runs: seconds of a recording, and the command of a running estimator."""

from __future__ import annotations

import threading
import time

import msgspec
import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import PlateUse, RunConfig
from rtsim.errors import ConfigError
from rtsim.files.forces.force_stream import force_channel
from rtsim.files.forces.force_tare import tare
from rtsim.files.forces.force_trial import ForceTrial, RawForces, force_trial
from rtsim.live.forces import check_tare, tared
from rtsim.live.inputs.paired import PairedInput
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.subjects.made_up.walker import CYCLE_S, walk
from rtsim.subjects.made_up.walker_forces import MASS_KG, STANCE, walker_forces
from rtsim.subjects.subject import load_subject
from streams.clock import now_ns
from streams.control.commands import ControlServer, request
from streams.messages import marker_session
from streams.publisher import Publisher
from streams.recording.player import play

SPEC, SUBJECT = load_model("lower_limb"), load_subject(find_config("walker", "subjects"))
RUN = RunConfig(
    name="test", method="minimised", methods=("minimised",), mass_kg=MASS_KG,
    stages=("kinematics", "plates"), plates=PlateUse(bear_all=True),
)  # fmt: skip
DRIFTS = np.array([[3.0, 12.0, -2.0, 1.0, 0.5, -6.0], [-1.0, -9.0, 4.0, 0.2, 3.0, 2.0]])
SWING = (STANCE * CYCLE_S + 0.01, CYCLE_S - 0.01)
BASE = "one recording"


def plates_of(trial, wrenches) -> ForceTrial:
    """The walker's plate and others, a constant wrench (6,) added to each."""
    walker = walker_forces(trial)
    n, n_plate = len(walker.times), len(wrenches)
    values = np.zeros((n, n_plate, 6))
    values[:, 0, :3], values[:, 0, 3:] = walker.force[:, 0], walker.moment[:, 0]
    values += wrenches
    level = np.full(n_plate, walker.plates.centre[0, 1])
    return force_trial(
        RawForces(
            ("right", "second", "third")[:n_plate], walker.times, walker.rate,
            np.full((n_plate, 4, 3), np.nan),
            level, values[..., :3].copy(), values[..., 3:].copy(), "made", (),
        )
    )  # fmt: skip


def offline(trial, forces: ForceTrial) -> KeptResults:
    allow_compilation()
    feed, kept = ForceFeed(), KeptResults()
    stages = make_stages(RUN, SPEC, SUBJECT, feed, MASS_KG)
    Loop(RecordingInput(trial, forces=forces, feed=feed), stages, kept).run()
    return kept


def fields_of(kept: KeptResults) -> dict[str, np.ndarray]:
    results = kept.results()
    assert results is not None
    return results.fields


class Live:
    """A run of the walker and its forces over sockets, with a control socket, in threads of this process."""

    def __init__(self, trial, forces: ForceTrial) -> None:
        allow_compilation()
        self.feed, self.kept = ForceFeed(), KeptResults()
        self.trial, self.forces, self.control = trial, forces, ""
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(120.0)
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.join(120.0)

    def _run(self) -> None:
        stages = make_stages(RUN, SPEC, SUBJECT, self.feed, MASS_KG)
        session = marker_session(
            self.trial.names, rate=self.trial.rate, t_start=now_ns(), meta={"time_base": BASE}
        )
        beside = force_channel(self.forces, self.trial.rate, t_start=now_ns(), time_base=BASE)
        with Publisher("tcp://127.0.0.1:0") as publisher:
            source = PairedInput.beside((publisher.address, publisher.address), 1024, self.feed, 1000.0)
            loop = Loop(source, stages, self.kept)
            with ControlServer("tcp://127.0.0.1:0", loop.command, loop.commands) as control:
                self.control = control.address
                player = threading.Thread(
                    target=play, args=(publisher, session, self.trial),
                    kwargs={"beside": (beside,), "wait_s": 30.0},
                )  # fmt: skip
                player.start()
                self._ready.set()
                loop.run()
                player.join()


def test_a_drift_is_taken_off_by_the_seconds_in_which_nobody_is_on_the_plates():
    """Protects `--tare`: forces, pressure and what each foot bears are those of plates without a drift."""
    trial = walk(SPEC, SUBJECT, 1.2)
    clean = offline(trial, plates_of(trial, np.zeros((2, 6))))
    drifted = plates_of(trial, DRIFTS)
    off = tared(drifted, SWING)
    assert off is not None
    assert off.notes[-1].endswith("right 12 N, second -9 N")
    known, seen, raw = fields_of(clean), fields_of(offline(trial, off)), fields_of(offline(trial, drifted))
    for name in ("plate_forces", "plate_moments", "foot_forces", "foot_moments", "foot_loads"):
        np.testing.assert_allclose(seen[name], known[name], rtol=0, atol=1e-9, err_msg=name)
    assert np.nanmax(np.abs(raw["foot_loads"] - known["foot_loads"])) > 5.0
    np.testing.assert_allclose(seen["plate_zeros"], np.tile([12.0, -9.0], (len(trial.times), 1)), atol=1e-9)
    assert not known["plate_zeros"].any()


@pytest.mark.process
def test_a_tared_recording_is_the_same_live():
    """Protects live = analyse with a zero: to the last bit, what was taken off included."""
    trial = walk(SPEC, SUBJECT, 1.2)
    off = tare(plates_of(trial, DRIFTS), *SWING)
    with Live(trial, off) as live:
        pass
    seen, known = fields_of(live.kept), fields_of(offline(trial, off))
    for name, values in known.items():
        np.testing.assert_array_equal(seen[name], values, err_msg=name)


def asked(control: str, name: str, **args: str) -> tuple[bool, str]:
    return request(control, name, args, timeout_s=120.0)


def awaited(control: str, words: str) -> str:
    """The answer to `status`, once these words are in it."""
    due = time.monotonic() + 120.0
    while time.monotonic() < due:
        ok, text = asked(control, "status")
        if ok and words in text:
            return text
        time.sleep(0.02)
    pytest.fail(f"{words!r} was never told")


@pytest.mark.process
def test_a_running_estimator_takes_the_zero_off_by_command():
    """Protects `rtsim command tare`: over a real socket, empty plates are tared and told by how much, one on
    which somebody stands is left and told, and before that nothing changes."""
    trial = walk(SPEC, SUBJECT, 8.0)
    added = np.zeros((3, 6))
    added[1], added[2, 1] = DRIFTS[1], 350.0
    forces = plates_of(trial, added)
    with Live(trial, forces) as live:
        awaited(live.control, "frames published")
        while live.feed.intake is None:
            time.sleep(0.01)
        for wrong in ({"seconds": "x"}, {"seconds": "nan"}, {"seconds": "0"}, {"seconds": "61"}):
            ok, text = asked(live.control, "tare", **wrong)
            assert not ok
            assert "0.1 to 60" in text
        assert asked(live.control, "tare", s="1") == (False, "The command tare accepts only seconds, not s.")
        ok, text = asked(live.control, "tare", seconds="1.2")  # longer than a cycle: right is loaded, too
        assert ok, text
        assert "right, second, third is measured during the next 1.2 s" in text
        said = "zero subtracted for second -9 N; plates that were loaded or not measured: right, third"
        assert said in awaited(live.control, said)
    assert f"Force plates: {said}." in live.kept.sentences
    seen, known = fields_of(live.kept), fields_of(offline(trial, forces))
    zeros = seen["plate_zeros"]
    begun = int(np.flatnonzero(zeros[:, 1])[0])
    assert begun > 100
    np.testing.assert_allclose(zeros[begun:], np.tile([0.0, -9.0, 0.0], (len(zeros) - begun, 1)), atol=1e-9)
    for name, part in (("plate_forces", slice(0, 3)), ("plate_moments", slice(3, 6))):
        n = min(len(seen[name]), len(known[name]))
        np.testing.assert_array_equal(seen[name][:n, [0, 2]], known[name][:n, [0, 2]])
        np.testing.assert_allclose(seen[name][: begun - 5, 1], np.tile(DRIFTS[1, part], (begun - 5, 1)))
        np.testing.assert_allclose(seen[name][begun + 5 :, 1], 0.0, atol=1e-9)


def test_without_plates_the_command_is_refused():
    """Protects who tares too soon: before any forces there are no plates, and that is said."""
    allow_compilation()
    stages = make_stages(RUN, SPEC, SUBJECT, ForceFeed(), MASS_KG)
    ok, text = stages[1].orders["tare"].answer({})
    assert not ok
    assert "No stream of forces has arrived yet" in text
    assert stages[1].orders["tare"].apply({}) is False


def test_seconds_of_a_recording_are_not_for_streams_nor_without_plates():
    """Protects from an option without effect: one sentence, and what to do instead."""
    use = PlateUse(tare=(0.0, 1.0))
    for source, forces in (("tcp://127.0.0.1:1", "tcp://127.0.0.1:1"), ("walker", "tcp://127.0.0.1:1")):
        run = msgspec.structs.replace(RUN, source=source, forces=forces, plates=use)
        with pytest.raises(ConfigError, match=r"these forces come from a stream.*rtsim command tare"):
            check_tare(run)
    check_tare(msgspec.structs.replace(RUN, source="walker", forces="walker", plates=use))
    with pytest.raises(ConfigError, match="no force plates to tare"):
        tared(None, (0.0, 1.0))
    assert tared(None, None) is None
