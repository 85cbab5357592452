"""Moments that are marked by command while a run goes on."""

from __future__ import annotations

from pathlib import Path

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.gait.events import GaitEvent
from rtsim.files.gait.marks import LONGEST_LABEL, MARK, MARKED, MOST_MARKS, mark_of, marks_of
from rtsim.files.recording import read_results
from rtsim.files.tables.export import described
from rtsim.live.exact.reading import read_run
from rtsim.live.exact.replay import replayed
from rtsim.models.load import load_model
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.subject import load_subject
from streams.messages import Command, marker_session
from tests.rtsim.live.exact.recorded import MarkerSender, recorded_run


def test_marks_are_in_the_recording_and_replayed(tmp_path: Path) -> None:
    """Protects marks: several between two frames are kept, with time and name, and read back."""
    allow_compilation()
    trial = walk(load_model("lower_limb"), load_subject(find_config("walker", "subjects")), 1.0)

    def drive(sender: MarkerSender) -> None:
        sender.begin(marker_session(trial.names, rate=100.0, t_start=0))
        for k in range(40):
            if k == 20:
                sender.command(MARK, label="cough")
                sender.command(MARK, label="stumble", time="0.075")
            sender.frame(trial.positions[k], pause_s=0.002)

    path = tmp_path / "run.mcap"
    recorded_run(path, RunConfig(name="test", subject="walker", method="minimised", backlog=1024), drive)
    results = read_results(path)
    names = [(mark.label, mark.by) for mark in results.marks]
    assert sorted(names) == [("cough", MARKED), ("stumble", MARKED)]
    assert next(mark.time for mark in results.marks if mark.label == "stumble") == 0.075
    assert results.times[0] <= next(m.time for m in results.marks if m.label == "cough") <= results.times[-1]
    assert "event: 0.075 s stumble (marked)" in described(results)
    outcome = replayed(read_run(path))
    assert outcome.is_equal, outcome.row()
    assert outcome.row()["commands"] == 2


def test_marks_that_are_none_are_left_out() -> None:
    """Protects readers from strangers' messages: no time, no name, another session, or far too many."""
    assert mark_of({"time": 1, "label": " cough "}) == GaitEvent(1.0, "", "", "cough", MARKED)
    bad = (
        {},
        {"time": "1", "label": "a"},
        {"time": True, "label": "a"},
        {"time": float("nan"), "label": "a"},
    )
    long = "x" * (LONGEST_LABEL + 1)
    for args in (*bad, {"time": 1e9, "label": "a"}, {"time": 1, "label": " "}, {"time": 1, "label": long}):
        assert mark_of(args) is None
    told = [
        (Command(session=s, name=MARK, args={"time": t, "label": "a"}), number)
        for number, (s, t) in enumerate((("a", 2), ("b", 1), ("a", 1)))
    ]
    assert [(mark.time, number) for mark, number in marks_of(told, "a")] == [(2.0, 0), (1.0, 2)]
    assert len(marks_of(told * MOST_MARKS, "a")) == MOST_MARKS
