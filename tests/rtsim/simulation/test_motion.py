"""Motions from files and streams: columns that become splines, pieces between frames, what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.models.load import load_model
from rtsim.simulation.load import load_simulator
from rtsim.simulation.motion import check_motion, moved_names, with_motion, with_prescribed, within
from rtsim.simulation.run import run

KICK = find_config("kick", "models").read_text(encoding="utf-8")
STREAM = "tcp://127.0.0.1:1"
TURN = 2.0 * math.pi


def motion_text(values: np.ndarray, start: float = 0.4, degrees: bool = True, label: str = "hip") -> str:
    """A .mot file with a sample every 10 ms."""
    head = ["a motion", "version=1", f"inDegrees={'yes' if degrees else 'no'}", "endheader", f"time\t{label}"]
    rows = [f"{start + 0.01 * k:.6f}\t{value:.12g}" for k, value in enumerate(values)]
    return "\n".join([*head, *rows, ""])


@pytest.fixture
def write(tmp_path):
    """Writes a motion file; its path."""

    def write(text: str, name: str = "hip.mot") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize(("degrees", "label"), [(True, "hip"), (False, "/jointset/hip_joint/hip/value")])
def test_a_file_moves_a_coordinate_from_its_first_time_on(model, write, degrees, label):
    """Protects units, the shift of time, names by path, and the length of the run."""
    allow_compilation()
    t = 0.01 * np.arange(31)
    angle = 0.3 * np.sin(TURN * t)
    path = write(motion_text(np.degrees(angle) if degrees else angle, degrees=degrees, label=label))
    simulator = load_simulator(model, motion=path, step_ms=1.0)
    assert simulator.settings.duration_s == pytest.approx(0.3)
    done = run(simulator, 300, 10)
    hip = simulator.model.coordinates.names.index("hip")
    np.testing.assert_allclose(done.trace.q[:31, simulator.model.coordinates.q[hip]], angle, atol=1e-9)
    speed = 0.3 * TURN * np.cos(TURN * 0.1)
    assert done.trace.v[10, simulator.model.coordinates.dof[hip]] == pytest.approx(speed, rel=1e-4)


PENDULUM = """
name = "pendulum"
source = "made up"
[[bodies]]
name = "rod"
joint = "hinge"
axis = [0.0, 0.0, 1.0]
coordinates = [{ name = "swing" }]
mass_kg = 2.0
mass_centre_mm = [0.0, -300.0, 0.0]
inertia_kg_m2 = [0.05, 0.01, 0.06]
"""


def test_the_moment_that_holds_a_pendulum_is_that_of_its_motion(tmp_path, write):
    """Protects forces from the first row to the last: position of fourth order in the distance of samples
    that begin and end curved, the moment of second; rounding of the clock leads past the last one here."""
    allow_compilation()
    (tmp_path / "pendulum.toml").write_text(PENDULUM, encoding="utf-8")
    apart = []
    for stride in (2, 1):
        t = 0.01 * np.arange(0, 31, stride)
        rows = [f"{0.4 + x:.6f}\t{0.5 * math.cos(TURN * x):.15g}" for x in t]
        text = "\n".join(["m", "version=1", "inDegrees=no", "endheader", "time\tswing", *rows, ""])
        simulator = load_simulator(
            str(tmp_path / "pendulum.toml"), motion=write(text), prescribed=("swing",), step_ms=1.0
        )
        assert simulator.settings.duration_s < 0.3  # by rounding
        done = run(simulator, 300)
        angle = 0.5 * np.cos(TURN * done.times)
        weight = -2.0 * 0.3 * simulator.model.system.gravity[1]
        moment = -(0.06 + 2.0 * 0.3**2) * TURN**2 * angle + weight * np.sin(angle)
        gaps = done.trace.q[:, 0] - angle, done.trace.coupler[:, 0] - moment
        apart.append([np.abs(gap).max() for gap in gaps])
    order = np.log2(np.array(apart[0]) / apart[1])
    assert order[0] > 3.7
    assert order[1] > 1.7
    assert apart[1][1] < 0.01 * 2.0  # of a peak of 2 N m


def test_any_coordinate_can_be_prescribed(write):
    """Protects models that have no coupler of their own for it: the same motion, the same run."""
    spec = with_prescribed(load_model("kick"), ("knee",))
    assert moved_names(spec) == ("knee",)
    moved, length = with_motion(spec, write(motion_text(np.linspace(60.0, 20.0, 21), label="knee")))
    coupler = next(c for c in moved.couplers if c.coordinate == "knee")
    assert coupler.spline.value[-1] == pytest.approx(math.radians(20.0))
    assert length == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (motion_text(np.zeros(9), label="knee"), "no column for the coordinate 'hip'; allowed: knee"),
        (motion_text(np.array([0.0, 1.0, np.nan, 2.0, 3.0])), "hip has no value at 0.42 s .1 of 5 rows"),
        (motion_text(np.zeros(3)), "the times of the motion are missing, too few"),
        (
            motion_text(np.zeros(5)).replace("0.430000", "0.400000"),
            "the times of the motion are missing, too few",
        ),
        (
            motion_text(np.zeros(5)).replace("0.440000", "1e300"),
            "the times of the motion .* at most 604800 s",
        ),
        ("nonsense", "no endheader line"),
    ],
)
def test_files_that_cannot_be_are_named(model, write, text, words):
    """Protects users: the file, what is wrong with it, what to do."""
    with pytest.raises(ConfigError, match=words):
        with_motion(load_model(model), write(text))


def test_motions_that_are_hardly_meant_are_told(model, write, tmp_path):
    """Protects from degrees read as radians, and from seconds that nobody recorded: told, not refused."""
    values, heard = 20.0 + np.arange(9.0), []
    text = motion_text(values).replace("0.480000", "5.480000")
    with_motion(load_model(model), write(text), heard.append)
    assert [note.partition(": ")[2] for note in heard] == [
        "the motion has no rows from 0.07 to 5.08 s after its start; the gap was filled by a spline"
    ]
    ranged = tmp_path / "ranged.toml"
    kick = Path(model).read_text(encoding="utf-8")
    ranged.write_text(kick.replace('{ name = "hip" }', '{ name = "hip", range_deg = [-90.0, 90.0] }'))
    with_motion(load_model(str(ranged)), write(motion_text(values)), heard.append)
    assert len(heard) == 1
    with_motion(load_model(str(ranged)), write(motion_text(values, degrees=False)), heard.append)
    assert "hip goes from 1146 to 1604 deg, far beyond its range of -90 to 90 deg" in heard[1]


def test_times_in_milliseconds_are_told(model, write):
    """Protects from a motion that is a thousand times as slow as the one that was recorded."""
    heard = []
    head, _, _ = motion_text(np.zeros(9)).partition("hip\n")
    rows = [f"{10 * k}\t0" for k in range(9)]
    _, length = with_motion(load_model(model), write("\n".join([head + "hip", *rows, ""])), heard.append)
    assert length == pytest.approx(80.0)
    assert [note.partition(": ")[2] for note in heard] == [
        "the times increase by 10 from row to row and were read as seconds; if the times are in "
        "milliseconds, divide them by 1000"
    ]


def test_what_does_not_fit_together_is_refused(model, write):
    """Protects against a motion that nobody takes, one that lacks, and one that is too short."""
    spec, still = load_model(model), load_model("kick")
    for given, motion, words in (
        (spec, "", "hip: the prescribed motion is missing"),
        (still, "x.mot", "no coordinate of kick is prescribed by a motion"),
        (spec, "x.c3d", "a motion cannot be read from"),
    ):
        with pytest.raises(ConfigError, match=words):
            check_motion(given, motion)
    check_motion(spec, STREAM)
    for name, words in (("toe", "unknown coordinate 'toe'"), ("kneecap_x", "is already determined by knee")):
        with pytest.raises(ConfigError, match=words):
            with_prescribed(still, (name,))
    with pytest.raises(ConfigError, match=r"the motion lasts 0\.1 s, but the simulation 2 s"):
        load_simulator(model, motion=write(motion_text(np.zeros(11))), duration_s=2.0)


def test_a_duration_as_long_as_the_motion_is_one(write):
    """Protects --duration of the whole file: rounding of its times neither refuses nor lengthens it."""
    length = 3.0 - 4e-16
    assert within(length, 3.0, "hip.mot") == length
    assert within(3.0, 1.0, "hip.mot") == 1.0
    with pytest.raises(ConfigError, match=r"lasts 3 s, but the simulation 3\.001 s"):
        within(3.0, 3.001, "hip.mot")
