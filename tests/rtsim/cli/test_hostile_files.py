"""Files made to crash, hang or fill memory: every command that reads them ends in one sentence and a code."""

from __future__ import annotations

import io
import struct
import sys
import zipfile

import numpy as np
import pytest

from rtsim.files.markers.trc import write_trc
from rtsim.subjects.subject import load_subject
from streams.codec import encode
from streams.messages import FieldSpec, Markers, Result, Session
from streams.recording.recorder import Recorder
from tests.rtsim.cli.files import REPLAY, command_for, trc

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no such files")
OWN = "00000000000000aa"
# A command with little memory and time: what asks for more fails, in other words than those about the file.
LITTLE = """if True:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    from rtsim.cli.main import main
    main()
"""
STORAGE = "results\nnRows=2\nnColumns=3\ninDegrees=yes\nendheader\ntime\ta\tb\n0\t1\t2\n0.1\t3\t4\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (trc(more="A" * 3_000_000), "characters in one line"),
        (trc(start="1e300"), "the times are from 1e+300 to 1e+300 s"),
        (trc(start="99999999.0"), "the times are from 1e+08 to"),
        (trc() + "4\t0.03\t1\t950" + "\t" * 3_000_000 + "\n", "line 10: there are 3000012 characters"),
        (trc(more="A\t\t\t" * 30_000) + "5\n" * 100_000, "30002 marker names are given for the columns"),
        (trc(rate="1e300", start="x"), "'x' in column Time is not a number"),
        (trc(rate="1e300", start="nan\t"), "the frame rate is 1e+300 Hz"),
        (trc(rate="1e-300", start="nan\t"), "the frame rate is 1e-300 Hz"),
    ],
    ids=["name", "times", "late", "line", "columns", "word", "fast", "slow"],
)  # fmt: skip
def test_trc_headers_that_lie(refused, tmp_path, text, words):
    """Protects memory and the player: what a header announces is compared with what the file can hold."""
    (tmp_path / "a.trc").write_text(text)
    assert words in refused("replay", "a.trc", *REPLAY)


@pytest.mark.parametrize("n", ["1000000000", "1e308", "-1", "nan", "9" * 5000])
def test_counts_of_a_trc_header_are_not_believed(here, tmp_path, n):
    """Protects memory: nothing is made by the counts; the trial is what the rows hold."""
    (tmp_path / "a.trc").write_text(trc(n_marker=n))
    done = here("replay", "a.trc", *REPLAY)
    assert done.code == 0, done.err
    assert "playing a.trc: 3 frames" in done.err


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", ["1e308", "-1e308", "2e9", "1e999"])
def test_a_marker_farther_than_any_room_is_missing(here, tmp_path, number):
    """Protects from sums that overflow, and the warnings on them: such a coordinate is a gap, and told."""
    (tmp_path / "a.trc").write_text(trc().replace("950", number, 1))
    done = here("replay", "a.trc", *REPLAY)
    assert done.code == 0, done.err
    assert "1 marker sample with a" in done.err
    assert "playing a.trc: 3 frames" in done.err


@pytest.mark.process
@POSIX
def test_a_descriptor_that_asks_for_more_than_the_file_holds(start, tmp_path):
    """Protects memory: 20 000 empty frames of 43 000 markers are 2 MB in the file, not 20 GB in memory."""
    fields = (FieldSpec("positions", (43_000, 3), "m"),)
    for stream, kind in (("markers", Markers), ("result", Result)):
        session = Session(session=OWN, stream=stream, t_start=0, rate=100.0, fields=fields, meta={"up": "Y"})
        more = (
            {} if kind is Markers else dict.fromkeys(("t_received", "t_solved", "t_published", "status"), 0)
        )
        more |= {} if kind is Markers else {"iterations": 0, "residual": 0.0}
        with Recorder(tmp_path / f"{stream}.mcap") as recorder:
            recorder.write(*encode(session), 0)
            for seq in range(20_000):
                frame = kind(
                    session=OWN, seq=seq, t_capture=seq, time=0.01 * seq, data={"positions": b""}, **more
                )
                recorder.write(*encode(frame), seq)
    for name, out in (("markers.mcap", "out.trc"), ("result.mcap", "out.csv")):
        done = start("export", name, out, python=("-c", LITTLE)).wait()
        assert done.code == 1
        assert done.err == f"rtsim: {name}: no frame of the recording fits the stream descriptor\n"


def test_a_recording_without_markers_in_its_frames(refused, tmp_path):
    """Protects the player from a marker stream of no markers."""
    fields = (FieldSpec("positions", (0, 3), "m"),)
    session = Session(session=OWN, stream="markers", t_start=0, rate=100.0, fields=fields, meta={"up": "Y"})
    with Recorder(tmp_path / "a.mcap") as recorder:
        recorder.write(*encode(session), 0)
        frame = Markers(session=OWN, seq=0, t_capture=0, time=0.0, data={"positions": b""})
        recorder.write(*encode(frame), 0)
    assert "the file contains no frames of markers" in refused("replay", "a.mcap", *REPLAY)


def npy(shape: tuple[int, ...], data: bytes) -> bytes:
    """The bytes of an array with this header, whatever its data."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue() + data


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (npy((2_000_000, 12), bytes(192_000_000)), "an array is larger than 64 MB"),
        (npy((10**12, 12), bytes(96)), "96 bytes do not fit an array of shape (1000000000000, 12)"),
        (npy((2**62, 4), b""), "0 bytes do not fit an array of shape"),
        (b"\x93NUMPY\x01\x00\xff\xff", "not an .npz file of arrays"),
        (b"", "not an .npz file of arrays"),
    ],
    ids=["bomb", "header", "overflow", "cut", "empty"],
)
def test_archives_that_unfold(refused, tmp_path, member, words):
    """Protects memory: an array of zeros compresses a thousandfold, a header can announce anything."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("foot_Q.npy", member)
    assert words in refused("replay", "a.npz", *REPLAY)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = " + "9" * 5000, "not valid TOML: Exceeds the limit (4300 digits)"),
        ("x = 0x" + "f" * 5000, "unknown field `x`"),
        ("name = 'a'\nduration_s = 0x" + "f" * 5000, "key duration_s"),
        ("name = 'a'\nbacklog = 0x" + "f" * 5000, "key backlog"),
        ("a" + ".a" * 50_000 + " = 1", "a key has more than 64 parts (at line 1)"),
        ("\n[" + "a . " * 50_000 + "a]\nx = 1", "a key has more than 64 parts (at line 2)"),
        ("'a'" + ".\"b\"" * 50_000 + " = 1", "a key has more than 64 parts"),
        ("x = " + "[" * 100_000, "arrays or tables are nested too deeply"),
        ("x = " + "{a = " * 100_000, "arrays or tables are nested too deeply"),
        ("a" * 1_000_000 + " = 1", "unknown field `aaa"),
        ("a" * 1_000_000, "not valid TOML"),
        ("'''" * 100_000, "not valid TOML"),
        ("x = 1979-99-99", "not valid TOML"),
        ("x = '" + "\x1b[2J" + "'", "not valid TOML: Found invalid character"),
        ("\"\\u001b[2J\" = 1", "unknown field `?[2J`"),
        ("#" * 5_000_000, "larger than 4 MB"),
        ("", "lacks the required field `name`"),
    ],
    ids=lambda value: value[:12] if " " not in value[:3] else "",
)  # fmt: skip
def test_configs_that_take_the_parser_apart(refused, tmp_path, text, words):
    """Protects the start: numbers, keys and nesting of any size are refused in a second and in a line."""
    (tmp_path / "a.toml").write_text(text)
    said = refused("check", "a.toml")
    assert "a.toml: " in said
    assert words in said
    assert "\x1b" not in said


def osim(body: str, version: str = "40000", head: str = '<?xml version="1.0"?>') -> str:
    return f'{head}<OpenSimDocument Version="{version}"><Model name="m">{body}</Model></OpenSimDocument>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (osim("", version="9" * 5000), "allowed: a number such as 40000"),
        (osim("", head='<?xml version="1.0" encoding="UT1e308"?>'), "not valid XML: unknown encoding"),
        (osim("<a/>" * 1_100_000), "more than 1000000 elements"),
        (osim("<a>" * 200 + "</a>" * 200), "nested more than 100 deep"),
        (osim("&lol;", head='<!DOCTYPE x [<!ENTITY lol "lol">]>'), "document type definition"),
        (osim("<gravity>" + "1 " * 500_000 + "</gravity>"), "gravity needs 3 numbers; 500000 numbers"),
        (osim("<gravity>" + "x" * 500_000 + "</gravity>"), "does not consist of numbers"),
        (osim("<a/>").replace("<a/>", "<a " + "n" * 500_000 + "='1'></b>"), "not valid XML: mismatched tag"),
    ],
    ids=["version", "encoding", "elements", "depth", "entities", "numbers", "words", "name"],
)
def test_models_that_take_the_parser_apart(refused, tmp_path, text, words):
    """Protects the start: OpenSim documents of any depth, width and encoding are refused in a line."""
    (tmp_path / "a.osim").write_text(text)
    assert words in refused(*command_for("a.osim"))


def crashing_c3d() -> bytes:
    """A C3D file with a text parameter without dimensions, on which the C++ reader crashes."""
    record = b"\x05\xffPOINT\x03\x00\x00" + b"\x05\x01UNITS\x06\x00\xff\x00m\x00" + b"\x00\x00"
    section = (b"\x01\x50\x01\x54" + record).ljust(512, b"\0")
    header = struct.pack("<BBHHHHHfHHf", 2, 0x50, 1, 0, 1, 1, 0, -0.1, 3, 0, 100.0).ljust(512, b"\0")
    return header + section + bytes(512)


@pytest.mark.process
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="how a process ends differs")
@pytest.mark.parametrize(
    "command", [("replay", "a.c3d"), ("calibrate", "a.c3d"), ("live", "--source", "a.c3d")]
)
def test_a_c3d_that_crashes_its_reader(rtsim, any_ports, tmp_path, command):
    """Protects commands that read C3D: a process beside them dies, they say which file and end."""
    (tmp_path / "a.c3d").write_bytes(crashing_c3d())
    done = rtsim(*command, *(any_ports if command[0] == "live" else ()))
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "rtsim: a.c3d: the C3D file is damaged: the reader crashed (SIGSEGV); "
        "export the trial again, as C3D or as TRC\n"
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("away", [1e3, 1e5])
def test_garbage_in_all_frames_makes_no_subject(refused, trial, own_lab, tmp_path, away):
    """Protects from subject files that no command reads: a marker far away on all frames is named."""
    positions = trial.positions.copy()
    positions[:, trial.names.index("RTH1")] += away
    write_trc(tmp_path / "walk.trc", trial._replace(positions=positions))
    sentence = refused("calibrate", "walk.trc", "--lab", own_lab, "--out", "me.toml")
    assert "walk.trc: segments.thigh: 'RTH1' is" in sentence
    assert not (tmp_path / "me.toml").exists()


@pytest.mark.parametrize("away", [1e3, 1e5])
def test_a_frame_of_garbage_is_left_out(here, trial, own_lab, tmp_path, away):
    """Protects the subject: a marker far away on one frame changes no place of it, and is named."""
    places = {}
    for name, shift in (("clean", 0.0), ("walk", away)):
        positions = trial.positions.copy()
        positions[7, trial.names.index("RTH1")] += shift
        write_trc(tmp_path / f"{name}.trc", trial._replace(positions=positions))
        done = here("calibrate", f"{name}.trc", "--lab", own_lab, "--out", f"{name}.toml")
        assert done.code == 0, done.err
        subject = load_subject(tmp_path / f"{name}.toml")
        places[name] = subject.segments["thigh"].markers_mm["RTH1"]
    assert "RTH1" in done.err
    np.testing.assert_allclose(places["walk"], places["clean"], atol=2.0)


@pytest.mark.filterwarnings("error")
def test_landmarks_that_no_calibration_frame_shows(here, trial, own_lab, tmp_path):
    """Protects the user from warnings of libraries: what hidden landmarks would tell is left out."""
    positions = trial.positions.copy()
    hidden = [trial.names.index(name) for name in ("RTTB", "RGTR")]
    positions[0, hidden] = np.nan
    positions[1:, trial.names.index("RANM")] = np.nan
    write_trc(tmp_path / "walk.trc", trial._replace(positions=positions))
    done = here("calibrate", "walk.trc", "--lab", own_lab, "--out", "me.toml")
    assert done.code == 0, done.err
    assert "no calibration frame shows them: RGTR, RTTB" in done.err


@pytest.mark.filterwarnings("error")
def test_a_pelvis_of_no_width_is_a_sentence(refused, trial, own_lab, tmp_path):
    """Protects calibration from markers at one place, between which there is no direction."""
    positions = trial.positions.copy()
    positions[:, trial.names.index("LASI")] = positions[:, trial.names.index("RASI")]
    write_trc(tmp_path / "walk.trc", trial._replace(positions=positions))
    assert "walk.trc" in refused("calibrate", "walk.trc", "--lab", own_lab, "--out", "me.toml")
