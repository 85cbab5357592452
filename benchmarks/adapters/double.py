"""The double of a capture system's server, which sends the frames that it is told to."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters import doubles

FloatArray = NDArray[np.float64]


class DoubledPlate(NamedTuple):
    """A force plate: its name, corners (4, 3) [m] in the markers' axes, samples per second [Hz]."""

    name: str
    corners: FloatArray
    rate: float


class DoubledFrame(NamedTuple):
    """A frame that a double sends.

    positions : (n_marker, 3) [m], NaN = occluded; stamp_ns : time on the server's clock; number : number of
        the frame
    unnamed : (n, 3) positions of unlabelled markers [m]
    wrenches : (n_plate, n_sample, 9) - force [N], moment about the laboratory's origin [N m], centre of
        pressure [m], as the server has them
    """

    positions: FloatArray
    stamp_ns: int
    number: int
    unnamed: FloatArray | None = None
    wrenches: FloatArray | None = None


class CaptureDouble(Protocol):
    """The double of a server on this machine; clients of the protocol cannot tell it from a real one.

    The caller decides what to send and when. All methods may be called from any thread.
    """

    def __init__(self, names: Sequence[str], rate: float, plates: Sequence[DoubledPlate] = ()) -> None:
        """Prepare a double with names of markers, frames per second [Hz] and force plates; it does not
        listen yet.
        """

    @property
    def address(self) -> str:
        """Address of the running server, as `rtsim connect` and `--source` accept it."""

    @property
    def n_client(self) -> int:
        """Number of clients that receive frames."""

    def start(self) -> None:
        """Listen at any free port the first time, later at the same one."""

    def stop(self) -> None:
        """Disconnect all clients and stop listening, like a server that ends."""

    def describe(self, names: Sequence[str]) -> None:
        """Change the markers from now on; whether clients are notified depends on the protocol."""

    def send(self, frame: DoubledFrame) -> None:
        """Send a frame to every client that has requested frames."""

    def keep_clock(self, given: Callable[[int], int]) -> None:
        """Use this function of our clock as the server's clock [ns], for protocols that send the time by
        themselves.
        """

    def decoder(self, frame: DoubledFrame) -> Callable[[], object]:
        """Return a function that decodes the message of this frame with our decoder, to be timed."""


class ByteDouble(CaptureDouble, Protocol):
    """A double that encodes its own messages, not by a library, so that they can be damaged."""

    @property
    def head_bytes(self) -> int:
        """Number of bytes at the front of a message that determine where the next message begins."""

    def message(self, frame: DoubledFrame) -> bytes:
        """Return the message with which a frame is sent."""

    def send_bytes(self, data: bytes) -> None:
        """Send any bytes to all clients, as a message or a part of one."""


def has_bytes(double: type[CaptureDouble]) -> TypeGuard[type[ByteDouble]]:
    """Return whether the messages of a double can be damaged."""
    return hasattr(double, "send_bytes")


def double_of(scheme: str) -> type[CaptureDouble]:
    """Return the double of a system; KeyError if there is none."""
    if scheme not in doubled_schemes():
        raise KeyError(scheme)
    double: type[CaptureDouble] = import_module(f"{doubles.__name__}.{scheme}").Double
    return double


def doubled_schemes() -> list[str]:
    """Return the systems that have a double."""
    return sorted(module.name for module in pkgutil.iter_modules(doubles.__path__))
