"""A recorded run is computed again, byte for byte, whatever made it depend on its time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.forces.force_stream import force_channel
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.exact.reading import entries_of, read_run
from rtsim.live.exact.replay import replayed
from rtsim.models.load import load_model
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import MASS_KG, walker_forces
from rtsim.subjects.subject import load_subject
from streams.messages import marker_session, new_session_id
from tests.rtsim.live.exact.recorded import MarkerSender, recorded_run

RUN = RunConfig(name="test", subject="walker", method="minimised", backlog=1024)


@pytest.fixture(autouse=True)
def _permitted() -> None:
    allow_compilation()


@pytest.fixture(scope="module")
def trial() -> MarkerTrial:
    return walk(load_model("lower_limb"), load_subject(find_config("walker", "subjects")), 7.0)


def assert_exact(path: Path, n_least: int) -> dict:
    """Return the figures of a replay that is exact, with at least so many results."""
    outcome = replayed(read_run(path))
    figures = outcome.row()
    assert outcome.is_equal, figures
    assert outcome.code == 0
    assert figures["results"] == figures["results_equal"] >= n_least, figures
    assert figures["descriptors"] == figures["descriptors_equal"] > 0
    assert not figures["results_not_recorded"], figures
    return figures


def test_damage_commands_and_a_source_that_starts_anew(tmp_path, trial):
    """Protects the whole claim: markers lost, exchanged, far off and in another order after a restart,
    methods changed between frames, a pause with stale repetitions, and the thread that checks the subject.
    """
    rng = np.random.default_rng(7)
    others = rng.permutation(len(trial.names))

    def drive(sender: MarkerSender) -> None:
        sender.begin(marker_session(trial.names, rate=100.0, t_start=0, meta={"source": "test"}))
        for k in range(650):
            positions = trial.positions[k].copy()
            if k % 7 == 0:
                positions[rng.integers(len(positions))] = np.nan
            if 100 <= k < 140:
                positions[[0, 3]] = positions[[3, 0]]
            if k % 50 == 9:
                positions[rng.integers(len(positions))] += rng.normal(0.0, 0.2, 3)
            if 200 <= k < 205:
                positions += 1e8
            if k in (150, 300):
                sender.command("set_method", method="zero" if k == 150 else "minimised")
            if k == 400:
                sender.command("set_downweighting", on=False)
            sender.frame(positions, seq=k + (k > 250) * 3)
            if k == 350:
                sender.await_repeat()
        names = [trial.names[k] for k in others]
        sender.begin(marker_session(names, rate=100.0, t_start=0))
        for k in range(60):
            sender.frame(trial.positions[k, others])

    recorded_run(tmp_path / "run.mcap", RUN, drive)
    figures = assert_exact(tmp_path / "run.mcap", 300)
    assert figures["commands"] == 3
    assert figures["sessions"] == 2
    assert figures["descriptors"] >= 4
    assert figures["frames_skipped_in_the_run"] >= 3
    entries = list(entries_of(read_run(tmp_path / "run.mcap")))
    kinds = {entry.entry for entry in entries}
    assert {"repeat", "command", "frame", "results", "end"} <= kinds
    assert max(entry.values["n_awaited"] for entry in entries if entry.entry == "frame") >= 1


def test_names_sought_while_frames_wait(tmp_path, trial):
    """Protects a run whose search for names rested as its frames waited: the journal has for how long."""
    names = [f"*{k + 1}" for k in range(len(trial.names))]

    def drive(sender: MarkerSender) -> None:
        sender.begin(marker_session(names, rate=100.0, t_start=0))
        for k in range(600):
            sender.frame(trial.positions[k], pause_s=0.0 if k % 300 else 0.5)

    recorded_run(tmp_path / "run.mcap", replace(RUN, label_unnamed=True), drive)
    assert_exact(tmp_path / "run.mcap", 500)
    entries = [e.values for e in entries_of(read_run(tmp_path / "run.mcap")) if e.entry == "frame"]
    assert max(values["t_taken"] - values["t_arrived"] for values in entries) > 5_000_000


def test_forces_that_come_when_they_come(tmp_path, trial):
    """Protects pairing: samples before, with and after their frames, late ones, plates that begin anew, and
    a tare by command.
    """
    plates = walker_forces(trial)
    base = {"time_base": new_session_id()}
    channel = force_channel(plates, trial.rate, t_start=0, source="test", **base)

    def drive(sender: MarkerSender) -> None:
        sender.begin(channel.session)
        sender.begin(marker_session(trial.names, rate=100.0, t_start=0, meta=base))
        sent = 0

        def until(time_s: float) -> None:
            nonlocal sent
            while sent < len(channel.times) and channel.times[sent] <= time_s:
                rows = {name: values[sent] for name, values in channel.data.items()}
                sender.forces(float(channel.times[sent]), rows)
                sent += 1

        for k in range(250):
            if k % 20:
                until(trial.times[k] + (0.05 if k % 3 else 0.0))
            if k == 40:
                sender.command("tare", seconds=0.2)
            sender.frame(trial.positions[k], time=float(trial.times[k]))
            if k == 120:
                sender.begin(force_channel(plates, trial.rate, t_start=1, source="test", **base).session)

    run = RunConfig(name="test", subject="walker", method="minimised", mass_kg=MASS_KG, backlog=1024)
    recorded_run(tmp_path / "run.mcap", run, drive, with_forces=True)
    figures = assert_exact(tmp_path / "run.mcap", 200)
    kinds = [entry.entry for entry in entries_of(read_run(tmp_path / "run.mcap"))]
    assert kinds.count("forces") > 50
    assert kinds.count("turn") == 1
    assert figures["commands"] == 1


def test_the_files_of_then_are_used(tmp_path, trial):
    """Protects against what changes later: a subject that is edited, and one that is gone."""
    subject = tmp_path / "subject.toml"
    text = find_config("walker", "subjects").read_text(encoding="utf-8")
    subject.write_text(text, encoding="utf-8")

    def drive(sender: MarkerSender) -> None:
        sender.begin(marker_session(trial.names, rate=100.0, t_start=0))
        for k in range(40):
            sender.frame(trial.positions[k])

    run = RunConfig(name="test", subject=str(subject), method="minimised")
    recorded_run(tmp_path / "run.mcap", run, drive)
    assert [part.n_byte for part in read_run(tmp_path / "run.mcap").files] == [len(text.encode())]
    assert_exact(tmp_path / "run.mcap", 40)
    subject.write_text(text.replace("length_mm", "length_mm ").replace("= 4", "= 5"), encoding="utf-8")
    assert_exact(tmp_path / "run.mcap", 40)
    subject.unlink()
    assert_exact(tmp_path / "run.mcap", 40)
