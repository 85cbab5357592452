"""The content of a C3D file, read by a separate process that may crash, run out of memory or hang."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers import c3d_child

AGAIN = "export the trial again, as C3D or as TRC"
LEAST_BYTES = 512 << 20  # address space of a reader of a small file: the libraries, with room to spare
BYTES_PER_BYTE = 48  # address space for each byte of the file; usual files take ten
LEAST_S = 20.0  # processor time for a small file, which takes a tenth of a second
S_PER_BYTE = 2e-6  # processor time for each byte of the file; usual files take a hundredth of it
PATIENCE = 15.0  # so many times as long may pass on a machine that is busy


class Content(NamedTuple):
    """Content of a C3D file.

    rate : frame rate [Hz]
    first : index of the first frame, counted from 0
    points : (n, n_point, 3) float64 in file units and axes; NaN = missing
    parameters : group -> name -> texts or numbers, of the groups that a trial needs; arrays in the order of
        the file: the first dimension runs fastest
    sizes : name -> dimensions of the parameters of the group FORCE_PLATFORM
    analog_rate : sample rate of the analog channels [Hz]
    analogs : (n_sample, n_channel) float64 with the offset subtracted and scaled; empty unless requested
    n_value : number of analog values of each frame
    notes : plain sentences
    """

    rate: float
    first: int
    points: NDArray[np.float64]
    parameters: dict[str, dict[str, list[Any]]]
    sizes: dict[str, list[int]]
    analog_rate: float
    analogs: NDArray[np.float64]
    n_value: int = 0
    notes: tuple[str, ...] = ()

    @property
    def is_integer(self) -> bool:
        """Whether the file's point data are integers of 16 bits, by the sign of POINT:SCALE."""
        values = self.parameters["POINT"].get("SCALE", [])
        return bool(values) and not isinstance(values[0], str) and values[0] > 0.0


def read_content(path: Path, n_byte: int, *, with_analogs: bool = False) -> Content:
    """Read a C3D file of `n_byte` bytes by ezc3d in a separate process; ConfigError if ezc3d rejects it,
    crashes or hangs. with_analogs : whether the analog samples are read, too
    """
    memory = LEAST_BYTES + BYTES_PER_BYTE * n_byte
    seconds = LEAST_S + S_PER_BYTE * n_byte
    # -P: a folder with recordings is no place to import modules from
    limits = (str(memory), str(int(seconds)))
    command = [sys.executable, "-P", c3d_child.__file__, str(path), *limits]
    if with_analogs:
        command.append("analogs")
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE * seconds
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"the C3D file could not be read within {PATIENCE * seconds:.0f} s; the disk or the "
            "machine is busy, or the reader does not respond",
            where=str(path),
            remedy="try again, or export the trial as TRC",
        ) from None
    if done.returncode != 0:
        raise failure(path, done.returncode, done.stderr.decode("utf-8", "replace"), memory)
    return content_of(done.stdout)


def content_of(out: bytes) -> Content:
    """Parse the content of a C3D file from what the process that reads it wrote to its output."""
    head, _, data = out.partition(b"\n")
    said = json.loads(head)
    numbers = np.frombuffer(data, np.float64)
    n_point = math.prod(said["shape"])
    return Content(
        rate=said["rate"],
        first=said["first"],
        points=numbers[:n_point].reshape(said["shape"]),
        parameters=said["parameters"],
        sizes=said["sizes"],
        analog_rate=said["analog_rate"],
        analogs=numbers[n_point:].reshape(said["analog_shape"]),
        n_value=said["n_value"],
    )


def failure(path: Path, code: int, words: str, memory: int) -> ConfigError:
    """Return the error for a reader's process that ended with an exit code, or by a signal (negative code).

    words : what the process wrote to its error output
    memory : memory that it was allowed [bytes]
    """
    reason = " ".join(words.split())[:200]
    if code == -getattr(signal, "SIGXCPU", 0) != 0:
        return ConfigError(
            "the C3D file is probably damaged: reading it took more processor time than is allowed",
            where=str(path),
            remedy=AGAIN,
        )
    if code == c3d_child.NO_READER:
        return ConfigError(
            f"C3D files need the package ezc3d, and this package cannot be loaded ({reason})",
            where=str(path),
            remedy="reinstall ezc3d, or export the trial as TRC",
        )
    if code == c3d_child.UNREADABLE:
        return ConfigError(f"the C3D file cannot be read ({reason})", where=str(path), remedy=AGAIN)
    if code == c3d_child.TOO_LARGE:
        return ConfigError(
            f"the C3D file is damaged or too large: the reader needs more than {memory >> 20} MB",
            where=str(path),
            remedy=AGAIN,
        )
    return ConfigError(
        f"the C3D file is damaged: the reader crashed ({_name_of(code)})", where=str(path), remedy=AGAIN
    )


def _name_of(code: int) -> str:
    """Return an exit code as text, or the name of the signal that ended the process."""
    if code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"
