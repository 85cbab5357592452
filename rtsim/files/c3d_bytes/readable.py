"""Provides a copy of a C3D file that ezc3d, the library that reads C3D files, can read if it cannot read the
original.

ezc3d supports only the Intel format, and files by Vicon only with the group TRIAL, which programs that edit
such files leave out. It truncates the number of analog samples per frame, which it takes from the two rates:
at 59.94006 and 599.4006 Hz, rounded to 32 bits, it takes 9.9999996 for 9.
"""

from __future__ import annotations

import math
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

import numpy as np

from rtsim.config.reading import file_faults
from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.blocks import LAST_BLOCK, rotations_at
from rtsim.files.c3d_bytes.processor import for_processor, read_all
from rtsim.files.c3d_bytes.section import INTEGER, MOST_ENTRIES, REAL, C3dParameter, Section
from rtsim.files.c3d_bytes.words import INTEL
from rtsim.files.markers.c3d_check import BLOCK, MAX_COUNTED, Head
from streams.recording.opening import open_regular

FIELDS = (("ACTUAL_START_FIELD", 6), ("ACTUAL_END_FIELD", 8))
"""Parameters of the group TRIAL that state the first and the last frame, and the bytes of the header that
state them, too.
"""

CONVERSION = ("SCALE", "OFFSET")
"""Parameters of the group ANALOG that have a value for each channel."""
ROUNDED = 1e-4
"""Relative difference up to which the ratio of two rates differs from a whole number by rounding only."""


@contextmanager
def readable_copy(path: Path, head: Head) -> Iterator[Path]:
    """Yield a path at which ezc3d can read a C3D file: that of the file itself or of a temporary copy, which
    is deleted afterwards.

    An error about the copy is raised with the name of the original file.
    """
    section = _parameters(path, head)
    _check_conversion(section, path)
    lacks_trial, is_truncated = _lacks_trial(section), _analog_rate(section, head) is not None
    if head.processor == INTEL and not lacks_trial and not is_truncated:
        yield path
        return
    data = read_all(path)
    if head.processor != INTEL:
        data = for_processor(data, INTEL, str(path))
    if lacks_trial:
        data = with_trial(data, str(path))
    if is_truncated:
        data = _with_analog_rate(data, head, str(path))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(data)
        try:
            yield copy
        except ConfigError as error:
            raise ConfigError(
                error.what, where=str(path), allowed=error.allowed, remedy=error.remedy
            ) from None


def _parameters(path: Path, head: Head) -> Section:
    """Return the parameter section of a file."""
    with file_faults(path), BufferedReader(open_regular(path)) as file:
        at = BLOCK * (file.read(1)[0] - 1)
        file.seek(at)
        return Section(file.read(max(BLOCK * (head.data_start - 1) - at, BLOCK * MAX_COUNTED)), str(path))


def _check_conversion(section: Section, path: Path) -> None:
    """Raise ConfigError if a parameter that converts analog counts to values (such as ANALOG:SCALE) is
    missing for a channel.

    ezc3d would crash on such a file, without naming what is missing.
    """
    n_channel = min(section.number("ANALOG", "USED") or 0.0, MOST_ENTRIES)
    for name in CONVERSION:
        found = section.parameter("ANALOG", name)
        n = 0 if found is None else math.prod(found.sizes)
        if n < n_channel:
            raise ConfigError(
                f"ANALOG:{name} has {n} values for {n_channel:g} analog channels, so that their samples "
                "cannot be converted to volts or forces",
                where=str(path),
                remedy="export the trial again, as C3D or as TRC",
            )


def _analog_rate(section: Section, head: Head) -> float | None:
    """Return the least analog rate [Hz] with which ezc3d finds the true number of samples per frame; None if
    it finds this number with the rate of the file.

    A header that counts the samples of the smaller number confirms that number.
    """
    rate, of_points = section.number("ANALOG", "RATE") or 0.0, section.number("POINT", "RATE") or 0.0
    if rate <= 0.0 or of_points <= 0.0:
        return None
    ratio = rate / of_points
    n_sample = round(ratio)
    n_channel = section.number("ANALOG", "USED") or 0.0
    if int(ratio) >= n_sample or ratio < (1.0 - ROUNDED) * n_sample or head.n_value == int(ratio) * n_channel:
        return None
    least = np.float32(n_sample * of_points)
    while float(least) / of_points < n_sample:
        least = np.nextafter(least, np.float32(np.inf))
    return float(least)


def _with_analog_rate(data: bytes, head: Head, where: str) -> bytes:
    """Return the bytes of a file in Intel format with the analog rate that `_analog_rate` finds; the data
    keep their position.
    """
    start, data_at = BLOCK * (data[0] - 1), BLOCK * (struct.unpack_from("<H", data, 16)[0] - 1)
    section = Section(data[start:], where)
    rate = _analog_rate(section, head)
    section.put("ANALOG", "RATE", C3dParameter(REAL, (), section.words.from_floats(rate)))
    return data[:start] + section.written().ljust(data_at - start, b"\0") + data[data_at:]


def _lacks_trial(section: Section) -> bool:
    """Return whether a file was written by Vicon and lacks the group TRIAL."""
    company = " ".join(section.texts("MANUFACTURER", "COMPANY")).casefold()
    return "vicon" in company and not any(r.group < 0 and r.key == "TRIAL" for r in section.records)


def with_trial(data: bytes, where: str) -> bytes:
    """Add the group TRIAL, with the frame numbers of the header, to the bytes of a file in Intel format, and
    return the new bytes. The data begin later in them if the parameters need more room.
    """
    start = BLOCK * (data[0] - 1)
    section = Section(data[start:], where)
    for name, at in FIELDS:
        section.put("TRIAL", name, C3dParameter(INTEGER, (2,), data[at : at + 2] + bytes(2)))
    data_at = BLOCK * (struct.unpack_from("<H", data, 16)[0] - 1)
    n_more = max(0, start + len(section.written()) - data_at)  # in whole blocks, as both are
    block = (data_at + n_more) // BLOCK + 1
    if section.parameter("POINT", "DATA_START") is not None:
        section.put_number("POINT", "DATA_START", block)
    moved = rotations_at(section) + n_more // BLOCK
    if data_at // BLOCK + n_more // BLOCK < moved <= LAST_BLOCK:
        section.put_number("ROTATION", "DATA_START", moved)
    head = bytearray(data[:start])
    struct.pack_into("<H", head, 16, block)
    written = section.written().ljust(data_at + n_more - start, b"\0")
    return bytes(head) + written + data[data_at:]
