"""Models that bring their own markers, from the command line: live, analysed, checked, and what cannot be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trc import trc_text
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.recording import read_results
from rtsim.files.tables.storage import read_storage

MODEL = """
name = "boom"
source = "made up"

[[bodies]]
name = "cart"
joint = "planar"
axes = [[1, 0, 0], [0, 1, 0]]
coordinates = [{ name = "forward" }, { name = "up", neutral_mm = 900.0 }, { name = "tilt" }]

[[bodies]]
name = "boom"
parent = "cart"
joint = "hinge"
axis = [0, 0, 1]
coordinates = [{ name = "swing", range_deg = [-80.0, 80.0], clamped = true }]
"""
MARKER = '[[markers]]\nname = "{name}"\nsegment = "{segment}"\noffset_mm = {offset}\n'
PLACES = {
    "C1": ("cart", [0.0, 400.0, 50.0]),
    "C2": ("cart", [100.0, 300.0, 0.0]),
    "C3": ("cart", [-100.0, 350.0, 0.0]),
    "B1": ("boom", [0.0, -300.0, 0.0]),
    "B2": ("boom", [40.0, -500.0, 0.0]),
}
SETUP = """<OpenSimDocument Version="40000"><InverseKinematicsTool name="t"><IKTaskSet><objects>
<IKMarkerTask name="{marker}"><apply>true</apply><weight>2</weight></IKMarkerTask>
<IKCoordinateTask name="{coordinate}"><apply>true</apply><weight>1</weight></IKCoordinateTask>
</objects></IKTaskSet></InverseKinematicsTool></OpenSimDocument>"""


def run(*arguments: object) -> Result:
    allow_compilation()
    try:
        return CliRunner().invoke(cli, [*map(str, arguments)])
    finally:
        allow_compilation()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "boom.toml"
    markers = (MARKER.format(name=n, segment=s, offset=o) for n, (s, o) in PLACES.items())
    path.write_text(MODEL + "\n".join(markers))
    return path


@pytest.fixture
def make_trial(tmp_path: Path) -> Callable[..., Path]:
    """Half a second in which the boom swings and the cart drives, with the names that are told."""

    def make(names: tuple[str, ...] = tuple(PLACES)) -> Path:
        times = np.arange(50) / 100.0
        swing, tilt = 0.8 * np.sin(6.0 * times), 0.1 * np.cos(4.0 * times)
        positions = np.empty((50, len(PLACES), 3))
        for k, (segment, offset) in enumerate(PLACES.values()):
            x, y, z = 1e-3 * np.array(offset)
            angle = tilt + (swing if segment == "boom" else 0.0)
            positions[:, k, 0] = times + np.cos(angle) * x - np.sin(angle) * y
            positions[:, k, 1] = 0.9 + np.sin(angle) * x + np.cos(angle) * y
            positions[:, k, 2] = z
        path = tmp_path / "swing.trc"
        path.write_text(
            trc_text(MarkerTrial(names, times, positions, 100.0, "made up"), path.name, str(path))
        )
        return path

    return make


def test_it_is_analysed_by_its_own_coordinates(model: Path, make_trial: Callable[..., Path], tmp_path: Path):
    """Protects who has a model and no person: its coordinates come back under their names."""
    out = tmp_path / "swing.mot"
    done = run("analyse", make_trial(), "--model", model, "--up", "Y", "--out", out)
    assert done.exit_code == 0, done.output
    motion = read_storage(out)
    assert set(motion.columns) == {"time", "status", "forward", "up", "tilt", "swing"}
    times = motion.column("time")
    swing = np.degrees(0.8 * np.sin(6.0 * times))
    np.testing.assert_allclose(motion.column("swing"), swing, atol=1e-3)  # the file holds micrometres
    np.testing.assert_allclose(motion.column("forward"), times, atol=1e-5)


@pytest.mark.process
def test_live_it_gives_the_same_numbers(model: Path, make_trial: Callable[..., Path], tmp_path: Path) -> None:
    """Protects real sockets for any model: nothing lost, and what analyse gives, to the last bit."""
    trial, live, offline = make_trial(), tmp_path / "live.mcap", tmp_path / "offline.mcap"
    options = ["--model", str(model), "--up", "Y"]
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.entry", "live", "--source", str(trial), *options,
         "--record", str(live), "--json", "--port-offset", "auto"],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert run("analyse", trial, *options, "--out", offline).exit_code == 0
    was, now = read_results(live), read_results(offline)
    assert len(was.times) == 50
    assert was.session.fields == now.session.fields
    for name, values in now.fields.items():
        np.testing.assert_array_equal(was.fields[name], values, err_msg=name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ik-setup", "{other}"), ("Hat", "C1, C2, C3, B1, B2", "belongs to the model")),
        (("--ik-setup", "{task}"), ("'knee'", "forward, up, tilt, swing")),
        (("--ik-setup", "nothing.xml"), ("nothing.xml",)),
        (("--lab", "gait"), ("no person is calibrated", "leave it out")),
        (("--subject", "walker"), ("--subject", "boom defines its own markers", "remove the option")),
        (("--static", "{other}"), ("--static", "boom defines its own markers", "rtsim scale")),
        (("--side", "left"), ("no person is calibrated", "leave it out")),
        (("--method", "minimised"), ("unknown method 'minimised'", "default")),
    ],
)
def test_what_cannot_be_is_one_sentence(
    model: Path, make_trial: Callable[..., Path], tmp_path: Path, options: tuple, words: tuple
) -> None:
    """Protects the user before anything slow begins."""
    files = {"other": tmp_path / "other.xml", "task": tmp_path / "task.xml"}
    files["other"].write_text(SETUP.format(marker="Hat", coordinate="tilt"))
    files["task"].write_text(SETUP.format(marker="C1", coordinate="knee"))
    done = run("analyse", make_trial(), "--model", model, *(option.format(**files) for option in options))
    told = done.output + str(done.exception)
    assert done.exit_code != 0
    assert all(word in told for word in words), told


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            lambda trial: trial._replace(positions=1.2 * trial.positions),
            ("differ from those of", "20 % larger", "scale"),
        ),
        (lambda trial: trial._replace(positions=trial.positions * [-1.0, 1.0, 1.0]), ("mirror image",)),
        (lambda trial: trial._replace(names=("C1", "B2", "C3", "B1", "C2")), ("C2 and B2 seem exchanged",)),
    ],
    ids=["larger", "mirrored", "exchanged"],
)
def test_a_trial_that_is_not_the_models_is_refused(
    model: Path, make_trial: Callable[..., Path], how: Callable, words: tuple
) -> None:
    """Protects from angles of a person with the bones of another, or with labels exchanged."""
    path = make_trial()
    options = ("--model", model, "--up", "Y")
    trial = how(read_markers(path))
    path.write_text(trc_text(trial, path.name, str(path)))
    done = run("analyse", path, *options)
    told = done.output + str(done.exception)
    assert done.exit_code != 0
    assert all(word in told for word in (*words, "the model boom", "--anyway")), told
    assert run("analyse", path, *options, "--anyway").exit_code == 0


def test_a_recording_of_other_markers_is_refused(model: Path, make_trial: Callable[..., Path]) -> None:
    """Protects from a run in which nothing is solved: no marker in common, said with both sides' names."""
    done = run("analyse", make_trial(names=("P", "Q", "R", "S", "T")), "--model", model, "--up", "Y")
    told = done.output + str(done.exception)
    assert done.exit_code != 0
    assert "C1, C2, C3, B1, B2" in told
    assert "P, Q, R, S, T" in told


def test_a_model_without_markers_is_refused(tmp_path: Path, make_trial: Callable[..., Path]) -> None:
    """Protects from a model that nothing can move."""
    path = tmp_path / "bare.toml"
    path.write_text(MODEL)
    done = run("analyse", make_trial(), "--model", path)
    assert "no markers" in str(done.exception)
    walker = run("analyse", "walker", "--model", path)
    assert walker.exit_code != 0


def test_a_setup_is_for_such_models_alone(tmp_path: Path) -> None:
    """Protects from weights that would be left aside in silence."""
    path = tmp_path / "setup.xml"
    path.write_text(SETUP.format(marker="C1", coordinate="tilt"))
    done = run("analyse", "walker", "--ik-setup", path)
    assert "a model that defines its own markers" in str(done.exception)


def test_check_tells_what_a_setup_asks_for(model: Path, tmp_path: Path) -> None:
    """Protects whoever asks before a run: markers and coordinates with their weights."""
    path = tmp_path / "setup.xml"
    path.write_text(SETUP.format(marker="C1", coordinate="tilt"))
    done = run("check", model, "--ik-setup", path)
    assert done.exit_code == 0, done.output
    assert "C1 2" in done.output
    assert "tilt 1" in done.output
