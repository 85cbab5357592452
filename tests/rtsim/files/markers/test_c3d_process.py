"""C3D files that crash, exhaust or stop their reader: only a process of its own dies of them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers import c3d_process
from rtsim.files.markers.markers import read_markers

LABELS = ["RASI", "RKNE", "RHEE"]
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="how the process ends differs")


@pytest.fixture
def plain(make_c3d) -> Path:
    """A sound file: stacked markers of a Z-up file [mm]."""
    points = np.full((5, 3, 3), 500.0)
    points[:, :, 2] = [950.0, 480.0, 50.0]
    return make_c3d(LABELS, points)


def units_replaced(path: Path, record: bytes) -> Path:
    """The file with other bytes for what POINT:UNITS holds: its type, dimensions, data and description."""
    content = path.read_bytes()
    at = content.index(b"\x05\x01UNITS") + 7
    length = int.from_bytes(content[at : at + 2], "little")
    end = 512 + 512 * content[512 + 2]
    section = content[:at] + (2 + len(record)).to_bytes(2, "little") + record + content[at + length : end]
    path.write_bytes(section[:end].ljust(end, b"\0") + content[end:])
    return path


def fake_reader(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    """Let the reading process find this module under the name of ezc3d."""
    (folder / "ezc3d.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(folder))


@LINUX
def test_a_crash_of_the_reader_is_told(plain):
    """Protects the program: a text without dimensions, on which the C++ reader fails with a bad access."""
    with pytest.raises(
        ConfigError, match=r"the C3D file is damaged: the reader crashed \(SIGSEGV\); export the trial again"
    ):
        read_markers(units_replaced(plain, b"\xff\0m\0"))


@LINUX
def test_memory_is_limited(plain):
    """Protects the machine: a description of 200 bytes is read as one of 2^64 - 56."""
    with pytest.raises(ConfigError, match="needs more than 512 MB; export the trial again"):
        read_markers(units_replaced(plain, b"\xff\x01\x02mm" + bytes([200]) + b"x" * 200))


@LINUX
def test_memory_that_is_really_taken_is_limited(plain, monkeypatch, tmp_path):
    """Protects the machine from a reader that fills memory bit by bit."""
    fake_reader(
        monkeypatch, tmp_path, "def c3d(path):\n    return [bytearray(1 << 24) for _ in range(1 << 20)]\n"
    )
    with pytest.raises(ConfigError, match="needs more than 512 MB"):
        read_markers(plain)


def test_a_reader_that_hangs_is_ended(plain, monkeypatch, tmp_path):
    """Protects the user from a reader that never returns."""
    fake_reader(monkeypatch, tmp_path, "import time\n\ndef c3d(path):\n    time.sleep(3600.0)\n")
    monkeypatch.setattr(c3d_process, "LEAST_S", 1.0)
    monkeypatch.setattr(c3d_process, "PATIENCE", 1.0)
    with pytest.raises(
        ConfigError, match="the C3D file could not be read within 1 s; the disk or the machine is"
    ):
        read_markers(plain)


@LINUX
def test_a_reader_that_runs_on_is_ended_by_its_processor_time(plain, monkeypatch, tmp_path):
    """Protects sound files on a busy machine: a reader may spend processor time, not time of day."""
    fake_reader(monkeypatch, tmp_path, "def c3d(path):\n    while True:\n        pass\n")
    monkeypatch.setattr(c3d_process, "LEAST_S", 1.0)
    with pytest.raises(ConfigError, match="took more processor time"):
        read_markers(plain)


def test_a_broken_ezc3d_is_told(plain, monkeypatch, tmp_path):
    """Without a working ezc3d the error says what to do."""
    fake_reader(monkeypatch, tmp_path, "raise OSError('libezc3d.so is no library')\n")
    with pytest.raises(ConfigError, match=r"cannot be loaded \(libezc3d.so is no library\); reinstall ezc3d"):
        read_markers(plain)


def test_modules_beside_a_recording_are_not_imported(plain, monkeypatch):
    """Protects the user of a folder from strangers: a numpy.py in it is not run."""
    (plain.parent / "numpy.py").write_text("raise SystemExit('taken over')\n")
    monkeypatch.chdir(plain.parent)
    assert read_markers(plain.name).names == tuple(LABELS)


def test_labels_of_latin_1(plain):
    """Names with letters of another encoding than UTF-8 are names."""
    plain.write_bytes(plain.read_bytes().replace(b"RKNE", b"R\xfcNE"))
    assert read_markers(plain).names == ("RASI", "RüNE", "RHEE")
