"""What stands behind the frames of a C3D file, in its copy with results."""

from __future__ import annotations

import struct
from pathlib import Path

import ezc3d
import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.blocks import rotations_of
from rtsim.files.c3d_bytes.words import DEC, INTEL, MIPS
from rtsim.files.markers.c3d import read_c3d
from tests.rtsim.files.c3d_bytes.results import (
    ROTATION,
    source_file,
    with_rotations,
    written,
)


@pytest.mark.parametrize("code", [INTEL, DEC, MIPS])
@pytest.mark.parametrize("scale", [-0.1, 0.1])
def test_rotations_behind_the_frames_are_kept(tmp_path: Path, code: int, scale: float) -> None:
    """Protects the segments of a markerless system: they stood behind the frames, and were cut off."""
    source = with_rotations(source_file(tmp_path, code=code, scale=scale, more=ROTATION))
    wanted = rotations_of(source.read_bytes(), "source")
    assert len(wanted) == 12 * 2 * 17 * 4
    out, _, notes = written(tmp_path, source)
    assert rotations_of(out.read_bytes(), "out") == wanted
    assert not any("behind the frames" in note for note in notes)
    said = read_c3d(out).notes
    assert "the rotations of 2 segments (group ROTATION) are not used" in said
    assert not any("more frames" in note for path in (source, out) for note in read_c3d(path).notes)
    if code != MIPS:
        old, new = (ezc3d.c3d(str(path))["data"]["rotations"] for path in (source, out))
        np.testing.assert_array_equal(new, old)
        assert old.shape == (4, 4, 2, 12)


def test_labels_and_ranges_behind_the_frames_are_kept(tmp_path: Path) -> None:
    """Protects the section of labels and ranges that the header announces, where it is the last one."""
    source = source_file(tmp_path)
    data = bytearray(source.read_bytes())
    data += bytes(-len(data) % 512)
    struct.pack_into("<2H", data, 294, 12_345, len(data) // 512 + 1)
    source.write_bytes(bytes(data) + b"labels and ranges".ljust(512, b"\0"))
    out, _, _ = written(tmp_path, source)
    new = out.read_bytes()
    key, block = struct.unpack_from("<2H", new, 294)
    assert key == 12_345
    assert new[512 * (block - 1) :].startswith(b"labels and ranges")


def test_bytes_that_nothing_refers_to_are_told(tmp_path: Path) -> None:
    """Protects from losing in silence what stands behind the frames of a recording."""
    source = source_file(tmp_path)
    data = source.read_bytes()
    data += bytes(-len(data) % 512)
    source.write_bytes(data + b"\x01" * 512)
    out, _, notes = written(tmp_path, source)
    assert sum(note.startswith("512 bytes behind the frames of the recording") for note in notes) == 1
    assert b"\x01" * 512 not in out.read_bytes()


def test_rotations_among_the_frames_are_refused(tmp_path: Path) -> None:
    """Protects from a file whose rotations would be other bytes than those of the source."""
    source = source_file(tmp_path, more={"ROTATION": {**ROTATION["ROTATION"], "DATA_START": 1}})
    with pytest.raises(ConfigError, match="begin in block 1 of the file, which is not apart"):
        written(tmp_path, source)
    assert not (tmp_path / "out.rtsim.c3d").exists()
