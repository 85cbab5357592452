"""Recordings that are not what they are said to be: a sentence, and an exit code that is not 0."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trc import trc_text
from rtsim.files.markers.trial import MarkerTrial
from tests.rtsim.cli.patience import nothing_begins

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
MCGILL = DATA / "gait_mcgill"
CHILD, ADULT = "HC002D", "HC030A"
COMMANDS = ("analyse", "live", "calibrate", "check")
RUN = 'name = "r"\nsource = "{trial}"\n'
recordings = pytest.mark.skipif(not MCGILL.is_dir(), reason="needs the recordings of gait_mcgill")


def words_of(command: str, trial: str, *options: str) -> tuple[str, ...]:
    """The command line that looks at a trial; `check` does so by a run config beside it."""
    if command == "live":
        return ("live", "--source", trial, *options)
    if command == "check":
        given = dict(zip((o.removeprefix("--") for o in options[::2]), options[1::2], strict=True))
        text = RUN.format(trial=trial) + "".join(f'{key} = "{value}"\n' for key, value in given.items())
        Path("run.toml").write_text(text)
        return ("check", "run.toml")
    return (command, trial, *options)


@pytest.fixture
def mcgill(tmp_path: Path) -> Path:
    """The recordings in the folder of the test."""
    for file in MCGILL.glob("*.c3d"):
        shutil.copy(file, tmp_path)
    return tmp_path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told before the first frame is told before anything is compiled, or begins its work."""
    nothing_begins(monkeypatch)


def write(trial: MarkerTrial, path: Path) -> str:
    path.write_text(trc_text(trial, path.name, str(path)))
    return path.name


def exchanged(trial: MarkerTrial, *labels: str) -> MarkerTrial:
    """Each of the labels where the next one belongs."""
    columns = [trial.names.index(label) for label in labels]
    positions = trial.positions.copy()
    positions[:, columns] = trial.positions[:, np.roll(columns, -1)]
    return trial._replace(positions=positions)


@recordings
@pytest.mark.parametrize(
    ("command", "who", "other"), [*((c, CHILD, ADULT) for c in COMMANDS), ("check", ADULT, CHILD)]
)
def test_static_of_another_person_is_refused(refused, mcgill, quick, command, who, other):
    """Protects a child's results from an adult's bones, and the other way round."""
    said = refused(*words_of(command, f"{who}_straight.c3d", "--static", f"{other}_static.c3d"))
    assert f"{who}_straight.c3d: the distances between its markers differ from those of the subject" in said
    assert "the trial is of another person" in said
    assert "--anyway" in said


@recordings
@pytest.mark.parametrize(
    ("command", "labels"),
    [
        *((command, ("RTHI", "RKNE")) for command in COMMANDS),
        ("check", ("RTIB", "LANK")),
        ("check", ("RSHN", "RTUB", "RANK")),
    ],
)
def test_exchanged_labels_are_named(refused, mcgill, quick, command, labels):
    """Protects the user from looking for the two names among forty."""
    write(exchanged(read_markers(mcgill / "HC002D_straight.c3d"), *labels), mcgill / "walk.trc")
    said = refused(*words_of(command, "walk.trc", "--static", "HC002D_static.c3d"))
    named = said.split("exchanged labels: ")[1].split(" seem exchanged")[0]
    assert set(named.replace(" and ", ", ").split(", ")) == set(labels)
    assert "exchange these labels in the file" in said


@recordings
def test_the_right_static_is_taken_without_a_word(here, mcgill):
    """Protects from warnings that nobody reads any more."""
    for trial, static in (("HC002D_straight", "HC002D_static"), ("HC030A_turn", "HC030A_static")):
        done = here(*words_of("check", f"{trial}.c3d", "--static", f"{static}.c3d"))
        assert done.code == 0, done.err
        assert not any(word in done.out for word in ("moved", "exchanged", "another person"))


@recordings
def test_another_person_is_solved_where_it_is_asked_for(here, mcgill):
    """Protects those who know better: they may, and the subject says what was done."""
    arguments = words_of("calibrate", "HC002D_straight.c3d", "--static", "HC030A_static.c3d")
    done = here(*arguments, "--out", "s.toml", "--anyway")
    assert done.code == 0, done.err
    assert "solved in spite of this, because of --anyway" in (mcgill / "s.toml").read_text()


@recordings
def test_a_moved_marker_is_told_and_the_run_goes_on(here, mcgill):
    """Protects the user of one loose marker from losing the trial, and from not knowing."""
    trial = read_markers(mcgill / "HC030A_straight.c3d")
    ankle, tibia, shin = (trial.positions[:, trial.names.index(name)] for name in ("RANK", "RTUB", "RSHN"))
    shin += 0.5 * (ankle - tibia)  # in the trial
    write(trial, mcgill / "walk.trc")
    done = here(*words_of("check", "walk.trc", "--static", "HC030A_static.c3d"))
    assert done.code == 0, done.err
    assert "note: walk.trc: RSHN seems to have moved on the skin, or been re-applied" in done.out


@pytest.mark.parametrize("command", ["analyse", "live", "check"])
def test_wrong_leg_wrong_names_and_no_data_are_refused(refused, trial, tmp_path, quick, command):
    """Protects from a run that shows nothing and ends as if all were well."""
    write(trial, tmp_path / "walk.trc")
    write(trial._replace(names=tuple(f"M{k}" for k in range(len(trial.names)))), tmp_path / "names.trc")
    positions = np.full_like(trial.positions, np.nan)
    write(trial._replace(positions=positions), tmp_path / "empty.trc")
    text = (tmp_path / "walk.trc").read_text()
    (tmp_path / "rows.trc").write_text("".join(text.splitlines(keepends=True)[:6]))
    for file, words, options in (
        ("walk.trc", ("walker has the right leg alone", "leave --side out"), ("--side", "left")),
        ("names.trc", ("the recording has none of the subject's markers, but M0, M1", "RASI"), ()),
        ("empty.trc", ("empty.trc", "shows any of the subject's markers"), ()),
        ("rows.trc", ("rows.trc",), ()),
    ):
        said = refused(*words_of(command, file, "--subject", "walker", *options))
        for word in words:
            assert word in said


@pytest.mark.parametrize("command", COMMANDS)
def test_the_leg_that_a_recording_does_not_have_is_refused(refused, trial, tmp_path, own_lab, quick, command):
    """Protects from calibrating one leg by the markers of the other."""
    write(trial, tmp_path / "walk.trc")
    right, left = (tmp_path / own_lab).read_text().split("[left]")
    left = re.sub('"R(T|K|F)', r'"L\1', left)
    (tmp_path / own_lab).write_text(f"{right}[left]{left}")
    said = refused(*words_of(command, "walk.trc", "--lab", own_lab, "--side", "left"))
    assert "walk.trc" in said


def test_a_run_without_a_usable_frame_fails(here, trial, tmp_path):
    """Protects scripts that go by the exit code."""
    positions = trial.positions.copy()
    positions[:, 4:] *= 40.0  # the leg, of which the file's own unit says nothing
    write(trial._replace(positions=positions), tmp_path / "large.trc")
    done = here("analyse", "large.trc", "--subject", "walker", "--anyway", "--units", "mm")
    assert done.code == 1
    assert f"none of {len(trial.times)} frames gave usable results" in done.sentence


@pytest.mark.parametrize("command", ["analyse", "live", "check"])
def test_one_side_of_a_model_of_both_is_refused(refused, trial, tmp_path, quick, command):
    """Protects from a run of both legs that was asked for one."""
    for source in (write(trial, tmp_path / "walk.trc"), "walker"):
        if command == "check" and source == "walker":
            continue
        said = refused(*words_of(command, source, "--model", "both_legs", "--side", "right"))
        assert "--side: the model both_legs has both legs, but only the right leg is requested" in said


def test_both_sides_of_a_model_of_one_leg_are_refused(refused, trial, tmp_path, quick):
    """Protects from a person of two legs, who does not fit into the model, and a sentence on segments."""
    walk = write(trial, tmp_path / "walk.trc")
    said = refused("analyse", walk, "--run", "knee_fdk", "--forces", walk, "--side", "both")
    assert "--side: the model knee_fdk has one leg, but both legs are requested; allowed: right, left" in said
