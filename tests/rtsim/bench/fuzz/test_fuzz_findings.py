"""Findings of `rtsim bench fuzz`: the smallest input of each, which is refused or read without noise now."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.reading import is_file
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.measures_schema import PersonMeasures
from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.source import open_source
from rtsim.files.c3d_bytes.words import INTEL, Words
from rtsim.files.forces.c3d_plates import read_c3d_forces
from rtsim.files.forces.cortex_forces import read_cortex_forces
from rtsim.files.forces.force_storage import read_external_forces
from rtsim.files.gait.events import read_events
from rtsim.files.markers.c3d import read_c3d
from rtsim.files.markers.trc import read_trc
from rtsim.files.norms.norm_set import read_norms
from rtsim.files.pressure.pressure import read_pressure
from rtsim.files.surfaces.surfaces import read_surface
from rtsim.methods.generators.joint_motion import read_joint_motion
from rtsim.tuning.kept import read_kept
from streams.capture.byte_reader import ByteReader, as_doubles
from streams.capture.qtm.forces import QtmForces
from streams.capture.qtm.packets import QtmPlateSamples
from streams.capture.records import CaptureDescription, PlateDescription
from streams.codec import encode
from streams.control.held_connection import read_answer
from streams.messages import Telemetry
from tests.rtsim.files.c3d_bytes.results import source_file

LONG = "a" * 300
"""Longer than any file's name."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Warnings of NumPy, which stand in a user's terminal, fail here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a text to a file of this name."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_an_error_has_only_characters_that_can_be_printed() -> None:
    """Protects terminals: marks that turn the direction of writing, line ends, and halves of characters."""
    text = str(ConfigError("a \u202eb\u2028c", where="f\ud800", allowed="x\x9b\n", remedy="\x1b[31m"))
    assert text == "f?: a ?b?c; allowed: x??; ?[31m"


def test_an_error_is_a_line() -> None:
    """Protects terminals from a list of names out of a file: every part of a sentence is cut."""
    text = str(ConfigError("x" * 9000, where="y" * 9000, allowed="z" * 9000, remedy="w" * 9000))
    assert len(text) <= 4000
    assert text.endswith("w")
    assert "; allowed: z" in text


def test_an_answer_without_words_is_none() -> None:
    """Protects who sends a command from an empty line in place of an answer."""
    done, text = read_answer(encode(Telemetry(session="", t=0, gauges={"ok": 1.0}, text=[" "])), "tcp://h:1")
    assert not done
    assert "not a reply" in text


def test_forces_at_infinity_beside_loaded_ones_are_not_measured() -> None:
    """Protects a stream of QTM: a sample that is no number is missing, and nothing is said by NumPy."""
    description = CaptureDescription((), "mm", "+Z", 100.0, (PlateDescription("p"),))
    values = np.array([[0.0, 0, 700, 1, 1, 1, 10, 10, 0], [np.inf, 0, np.inf, 0, 0, 0, np.inf, 0, 0]])
    samples = QtmForces(description, (1,), 1e-3).samples([QtmPlateSamples(1, 0, values)], 0)
    assert samples is not None
    assert np.isfinite(samples.force[0, 0]).all()
    assert np.isnan(samples.force[0, 1]).all()


def test_a_number_that_signals_is_read_as_missing() -> None:
    """Protects C3D files and packets: a NaN of the signalling kind is a NaN."""
    signals = struct.pack("<I", 0x7FA00000)
    assert np.isnan(Words(INTEL).floats(signals)).all()
    assert np.isnan(as_doubles(ByteReader(signals).array(np.dtype("<f4"), 1))).all()


@pytest.mark.parametrize("rate", [0.0, -12_440.0])
def test_events_of_a_c3d_file_without_a_rate_are_refused(tmp_path: Path, rate: float) -> None:
    """Protects all readers of C3D files, as of events: the rate is looked at before times."""
    path = source_file(tmp_path, more={"POINT": {"RATE": rate, "UNITS": ["mm"]}})
    data = bytearray(path.read_bytes())
    struct.pack_into("<f", data, 20, rate)
    path.write_bytes(data)
    for read in (read_events, read_c3d_forces):
        with pytest.raises(ConfigError, match=f"the point rate is {rate:g} Hz"):
            read(path)


def test_a_c3d_file_whose_header_does_not_say_where_data_begin(tmp_path: Path) -> None:
    """Protects the reader of what 16 bits hide, and the writer of results, from a place before the file."""
    path = source_file(tmp_path)
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, 16, 0)
    data += bytes(2000)  # so much that more frames could be in it
    path.write_bytes(data)
    assert len(read_c3d(path).times) == 12
    with pytest.raises(ConfigError, match="does not say where its frames begin"):
        open_source(path)


def test_forces_of_cortex_at_infinity_are_missing(file: Callable[[str, str], Path]) -> None:
    """Protects .forces files: infinite samples are told once, not by NumPy."""
    head = "NumberOfForcePlates=1\nSampleRate=100\n#Sample\tFX1\tFY1\tFZ1\tX1\tY1\tZ1\tMZ1\n"
    rows = "1\t1\t700\t2\t10\t0\t10\t5\n2\t-inf\t1e308\t0\t1e308\t0\t10\t1e308\n3\t1\t700\t2\t10\t0\t10\t5\n"
    trial = read_cortex_forces(file("a.forces", head + rows))
    assert not np.isinf(trial.force).any()
    assert not np.isinf(trial.moment).any()


def test_a_name_that_no_file_can_have_is_no_file(file: Callable[[str, str], Path]) -> None:
    """Protects configs and setups that name files: one that is too long is not there, as any other."""
    assert not is_file(LONG)
    assert not is_file("a\0b")
    with pytest.raises(ConfigError, match="no such file"):
        find_config(f"{LONG}.toml", "models")
    loads = (
        f'<OpenSimDocument Version="40000"><ExternalLoads name="l"><objects><ExternalForce name="r">'
        f"<applied_to_body>b</applied_to_body></ExternalForce></objects><datafile>{LONG}</datafile>"
        "</ExternalLoads></OpenSimDocument>"
    )
    with pytest.raises(ConfigError, match="does not exist"):
        read_external_forces(file("loads.xml", loads))


@pytest.mark.parametrize("kind", ["lst", "apd"])
def test_a_pressure_beyond_all_numbers_is_refused(kind: str, file: Callable[[str, str], Path]) -> None:
    """Protects pressure files: 1e308 kPa is refused by a sentence alone."""
    texts = {
        "lst": "Matrix: 4x4\nSensor size: 0.5x0.5 cm\nTime/picture: 20 ms\nPict-No.: 1\n"
        "\t1\tForce\n1\t1e308\t1\nForce\t1\t1\n",
        "apd": "SensCountX=1\nSensCountY=1\nUnitDistance=mm\nUnitPressure=kPa\nLDistX=8\nLDistY=8\n"
        "StartSensX=1\nStartSensY=1\n[Data]\n1e308\n",
    }
    with pytest.raises(ConfigError, match="a pressure is"):
        read_pressure(file(f"a.{kind}", texts[kind]))


def test_a_triangle_without_its_vertex_is_refused(file: Callable[[str, str], Path]) -> None:
    """Protects surfaces: an index beyond the vertices is told."""
    pytest.importorskip("trimesh")
    places = "0 0 0\n10 0 0\n0 10 0\n0 0 10\n"
    axes = "".join(f"property float {axis}\n" for axis in "xyz")
    text = (
        f"ply\nformat ascii 1.0\nelement vertex 4\n{axes}element face 2\n"
        f"property list uchar int vertex_indices\nend_header\n{places}3 0 1 2\n3 0 1 14\n"
    )
    with pytest.raises(ConfigError, match="a triangle refers to a vertex that does not exist"):
        read_surface(file("a.ply", text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("convention = [1]\n", "convention"),
        (f"n_person = {'1' * 5000}\n", "this is not a file of norms"),
        ('convention = "isb"\nn_stride = -1\n', "n_stride = -1"),
        ("x = " + "[" * 5000, "this is not a file of norms"),
    ],
)
def test_norms_that_are_none_are_told(text: str, said: str, file: Callable[[str, str], Path]) -> None:
    """Protects files of norms: lists for texts, numbers without end, less than nobody, endless depth."""
    with pytest.raises(ConfigError, match=said):
        read_norms(file("norms.toml", text))


def test_a_table_in_a_list_of_numbers_is_told(file: Callable[[str, str], Path]) -> None:
    """Protects configs whose keys take one number or several: the fault names the entry."""
    with pytest.raises(ConfigError, match=r"key knee_width_mm\[1\]: Expected `float`, got `table`"):
        load_toml(file("a.toml", "knee_width_mm = [100.0, {}]"), PersonMeasures)


def test_a_kind_that_is_no_word_is_told(file: Callable[[str, str], Path]) -> None:
    """Protects authors of configs: the key that tells records apart is no field of theirs."""
    with pytest.raises(ConfigError, match=r"rates\.kind"):
        load_run(file("run.toml", 'name = "x"\nrates = { kind = 0, cutoff_hz = 6.0, order = 2 }\n'))


@pytest.mark.parametrize("data", [b'{"config": "\xff"}', b"[" * 100_000, b"{}"])
def test_a_stored_tuning_that_is_none_is_told(data: bytes, tmp_path: Path) -> None:
    """Protects stored tunings: bytes of no text, endless depth, what lacks a key."""
    path = tmp_path / "kept.json"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match="the file contains no trials of a tuning"):
        read_kept(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n1,2\n", "names no column"),
        ("time,knee,knee_moment\n0,1,2\n1e-320,1,2\n2e-320,1,2\n", "are too few or do not increase"),
        ("time,knee,knee_moment\n0,1,2\n1,1,2\ninf,1,2\n", "are too few or do not increase"),
    ],
)
def test_motions_without_columns_or_times_are_told(
    text: str, said: str, file: Callable[[str, str], Path]
) -> None:
    """Protects fits of torque generators: times over which no speed can be computed are refused."""
    with pytest.raises(ConfigError, match=said):
        read_joint_motion(file("a.csv", text), ("knee",))


def test_a_rate_next_to_nothing_is_refused_in_silence(file: Callable[[str, str], Path]) -> None:
    """Protects TRC files: a rate of 1e-320 Hz is refused by its sentence, not told by NumPy first."""
    head = "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n1e-320\t1e-320\t3\t1\tm\n"
    rows = "".join(f"{k}\t\t0.1\t0.2\t0.3\n" for k in range(3))
    with pytest.raises(ConfigError, match="Hz"):
        read_trc(file("a.trc", f"{head}Frame#\tTime\tA\n\t\tX1\tY1\tZ1\n{rows}"))
