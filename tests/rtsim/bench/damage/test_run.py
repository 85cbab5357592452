"""Damaged walkers from end to end."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from benchmarks.damage import run
from benchmarks.damage.cases import QUICK_ROUNDS, DamageCase, Workshop
from benchmarks.damage.kinds import find_kinds
from benchmarks.damage.persons import RecordedPerson, all_methods, recordings
from benchmarks.damage.solving import ANGLES, solve
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import write_trc
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop

CASE = DamageCase("walker", "right", "minimised", "marker_jump_200mm", 4)


@pytest.fixture(scope="module")
def walker() -> RecordedPerson:
    """The walker's right leg."""
    return RecordedPerson(None, "walker", "right")


def test_a_clean_scene_is_solved_as_analyse_solves_it(walker):
    """Protects the reader: the bench judges the code that users run."""
    scene = walker.scene(1)
    walker.use("minimised")
    solved = solve(walker, scene)
    trial = MarkerTrial(scene.names, scene.times, scene.positions, scene.rate, "walker")
    kept = KeptResults()
    walker.stage.reset()
    Loop(RecordingInput(trial), [walker.stage], kept, walker.meta).run()
    results = kept.results()
    np.testing.assert_array_equal(solved.angles, results.fields[ANGLES])
    np.testing.assert_array_equal(solved.status, results.status)


def test_parts_of_a_long_recording_lie_at_its_begin_middle_and_end(walker):
    starts = [walker.scene(part).times[0] for part in range(3)]
    assert starts == pytest.approx([0.0, 3.5, 7.0], abs=0.01)
    assert {walker.scene(part).n_frame for part in range(3)} == {300}
    assert set(walker.groups) == {"pelvis", "thigh", "shank", "foot"}


def test_a_case_comes_to_the_same_alone_and_after_others(walker):
    workshop = Workshop(None, find_kinds())
    alone = workshop.do(CASE)
    for method in all_methods():
        workshop.do(CASE._replace(method=method, kind="sides_exchanged"))
        workshop.do(CASE._replace(method=method, kind="shuffled_at_first"))
    assert workshop.do(CASE) == alone
    assert Workshop(None, find_kinds()).do(CASE) == alone


def test_frames_before_the_damage_are_those_of_the_clean_run(walker):
    workshop = Workshop(None, find_kinds())
    clean = workshop.clean(CASE)
    damage = workshop.damage(CASE, clean.scene)
    damaged = solve(clean.person, clean.scene, damage)
    np.testing.assert_array_equal(damaged.angles[: damage.first], clean.solved.angles[: damage.first])
    assert (
        damaged.angles[damage.first : damage.stop] != clean.solved.angles[damage.first : damage.stop]
    ).any()


def test_frames_that_are_not_sent_have_no_result(walker):
    workshop = Workshop(None, find_kinds())
    case = CASE._replace(kind="frames_dropped")
    clean = workshop.clean(case)
    damage = workshop.damage(case, clean.scene)
    solved = solve(clean.person, clean.scene, damage)
    dropped = np.setdiff1d(np.arange(clean.scene.n_frame), damage.kept)
    assert (solved.status[dropped] == -1).all()
    assert np.isnan(solved.angles[dropped]).all()
    assert (solved.status[damage.kept] >= 0).all()


def test_what_nobody_sees_is_flagged(walker):
    """The largest fault there is: no marker at all is told in every frame of it."""
    done = Workshop(None, find_kinds()).do(CASE._replace(kind="all_missing"))
    assert done.score.n_damaged == 20
    assert done.score.n_missed == 0
    assert done.score.unflagged_deg < 5.0


@pytest.mark.parametrize("method", ["minimised", "hinge"])
def test_a_marker_that_slides_off_its_range_is_told(walker, method):
    """Protects the range of markers: one of three on a foot, across their plane, where shape tells nothing,
    is told in most of the wrong frames; the clean run has no flag."""
    workshop = Workshop(None, find_kinds())
    case = DamageCase("walker", "right", method, "marker_slides_across", 4)
    done, clean = workshop.do(case), workshop.clean(case)
    assert (clean.solved.status == 0).all()
    assert done.score.n_wrong > 20
    assert done.score.n_missed < 0.4 * done.score.n_wrong


def test_a_recording_of_one_leg_has_no_other_side():
    with pytest.raises(ConfigError, match="cannot have the left leg alone"):
        RecordedPerson(None, "walker", "left")


def test_the_same_file_is_taken_once_and_an_unfit_one_is_left_out(tmp_path, walker):
    few = MarkerTrial(walker.trial.names, walker.trial.times[:5], walker.trial.positions[:5], 100.0, "few")
    write_trc(tmp_path / "few.trc", few)
    (tmp_path / "again.trc").write_bytes((tmp_path / "few.trc").read_bytes())
    assert recordings(tmp_path) == ["walker", "again.trc"]
    assert recordings(None) == ["walker"]
    outcome = run.run(tmp_path, only="spike", method="hinge")
    assert list(outcome.left_out) == ["again.trc"]
    assert {done.case.recording for done in outcome.done} == {"walker"}


def test_figures_table_and_worst_cases_tell_of_the_same_cases():
    outcome = run.run(None, only="marker_missing", method="minimised", side="right")
    figures = {figure.name: figure for figure in outcome.figures()}
    worst = max(outcome.done, key=lambda done: done.score.unflagged_deg)
    assert figures["unflagged_deg.marker_missing"].value == worst.score.unflagged_deg
    assert figures["unflagged_deg.marker_missing"].limit == 5.0
    assert figures["needless_percent.marker_missing"].limit == 20.0
    assert figures["cases.marker_missing"].value == len(outcome.done) == QUICK_ROUNDS
    for name in ("false_alarm", "false_suspect", "false_alarm_sound", "flagged_clean"):
        assert figures[f"{name}_percent"].value == 0.0
    (row,) = outcome.table().splitlines()[2:]
    assert row.startswith(f"| marker_missing | {QUICK_ROUNDS} | {worst.score.unflagged_deg:.1f} |")
    (line,) = outcome.worst(1)
    assert line.endswith(f"--case {worst.case}")
    assert worst.what in line
    told = run.repeat(None, str(worst.case))
    assert told.startswith(f"{worst.case}: {worst.what}, frames {worst.first} to")
    row = next(row for row in told.splitlines() if row.startswith(f"{worst.worst}* |"))
    assert f"{worst.score.unflagged_deg:.1f}" in row.split("|")[3].split()


def test_a_request_to_end_keeps_what_is_done(monkeypatch):
    do, n = Workshop.do, iter(range(100))

    def interrupted(self, case):
        if next(n) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return do(self, case)

    monkeypatch.setattr(Workshop, "do", interrupted)
    outcome = run.run(None, only="spike", method="minimised")
    assert outcome.interrupted
    assert len(outcome.done) == 3
    assert outcome.figures()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"only": "nothing"}, "--only.*no 'nothing'.*marker_missing"),
        ({"method": "best"}, "--method.*no 'best'.*minimised"),
    ],
)
def test_an_unknown_class_or_method_is_told_with_those_there_are(options, words):
    with pytest.raises(ConfigError, match=words):
        run.run(None, **options)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("nowhere/at_all.trc:right:zero:spike:1", "no such source 'nowhere/at_all.trc'"),
        ("walker:left:zero:spike:1", "cannot have the left leg alone"),
        ("walker:up:zero:spike:1", "no 'up'"),
        ("walker:right:best:spike:1", "no 'best'"),
        ("walker:right:zero:spike", "is not the name of a case"),
    ],
)
def test_a_case_that_cannot_be_repeated_is_told(words, told):
    with pytest.raises(ConfigError, match=told):
        run.repeat(None, words)


def test_a_reader_that_a_request_ended_is_no_fault_of_the_file(monkeypatch):
    def interrupted(self, recording, side):
        os.kill(os.getpid(), signal.SIGINT)
        self.left_out[recording] = ["right: the reader crashed"]

    monkeypatch.setattr(Workshop, "person", interrupted)
    outcome = run.run(None, full=True, only="spike", method="minimised")
    assert (outcome.interrupted, dict(outcome.left_out), outcome.done) == (True, {}, [])


@pytest.mark.parametrize("seed", [3, 6])
def test_a_marker_that_is_off_at_first_leaves_no_doubt_behind(walker, seed):
    """Protects the rest of a trial: of three markers on a foot, one 100 mm off for 0.3 s is right then."""
    workshop = Workshop(None, {"begins_displaced": find_kinds()["begins_displaced"]})
    case = DamageCase("walker", "right", "minimised", "begins_displaced", seed)
    clean = workshop.clean(case)
    damage = workshop.damage(case, clean.scene)
    foot = clean.scene.names.index("RHEE")
    positions = clean.scene.positions.copy()
    by = np.random.default_rng(seed).normal(size=3)
    positions[: damage.stop, foot] += 0.1 * by / np.linalg.norm(by)
    walker.use("minimised")
    solved = solve(walker, clean.scene, damage._replace(positions=positions))
    assert np.count_nonzero(solved.status[damage.stop :]) <= 5
