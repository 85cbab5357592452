"""What goes between a computer and a moteus controller behind an fdcanusb adapter: lines, frames, registers.

After the public references of both: github.com/mjbots/moteus, docs/protocol (can.md, registers.md), and
github.com/mjbots/fdcanusb, README.md. Positions there are revolutions of the output shaft, torques N m.
"""

import contextlib
import math
import os
import struct
import termios
import tty

MODE, POSITION, VELOCITY, TORQUE, VOLTAGE, FAULT_CODE = 0, 1, 2, 3, 13, 15  # registers
COMMAND, TIMEOUT, INTEGRAL = 0x20, 0x27, 0x2B
STOPPED, FAULT, IN_POSITION, TIMED_OUT = 0, 1, 10, 11  # modes
FAULTS = {
    32: "calibration", 33: "motor driver", 34: "over voltage", 35: "encoder", 36: "motor not configured",
    37: "PWM cycle overrun", 38: "over temperature", 39: "outside limit", 40: "under voltage",
    41: "config changed", 42: "theta invalid", 43: "position invalid",
}  # fmt: skip
INT8, INT16, INT32, FLOAT = "bhif"
SIZES = (INT8, INT16, INT32, FLOAT)  # in the order of the two bits that name them
WRITE, READ, REPLY, NOP = 0x00, 0x10, 0x20, 0x50
LENGTHS = (*range(9), 12, 16, 20, 24, 32, 48, 64)  # that a frame may have; the rest is filled with NOP
LARGEST_NM = 1000.0  # of torque, at the output shaft
LONGEST_S = 1.1  # of its watchdog: the longest time to live of an output, and some ticks
MOST_WAITING = 65536  # bytes of lines that are not read yet


def write(kind: str, first: int, *values: float) -> bytes:
    """A part of a frame that writes registers from `first` on."""
    return _head(WRITE, kind, first, len(values)) + struct.pack(f"<{len(values)}{kind}", *values)


def read(kind: str, first: int, n: int) -> bytes:
    """A part that asks for n registers from `first` on."""
    return _head(READ, kind, first, n)


def _head(what: int, kind: str, first: int, n: int) -> bytes:
    code = what | SIZES.index(kind) << 2
    return bytes([code | n, first] if n < 4 else [code, n, first])


QUERY = read(INT8, MODE, 1) + read(FLOAT, POSITION, 3) + read(INT8, VOLTAGE, 3)
STOP = write(INT8, MODE, STOPPED) + QUERY


def torque_frame(torque: float, most: float, valid_s: float) -> bytes:
    """Apply a torque [N m], of all sources at most so much, for so long [s]; then its own watchdog acts.

    A stop where one of them is no number, or size or time is not above zero, which a controller may take for
    "without end", or the size is none of a joint. Its position controller is given no place (NaN) and no
    gains, so that the feedforward alone acts.
    """
    if not (math.isfinite(torque) and 0.0 < most <= LARGEST_NM and 0.0 < valid_s < math.inf):
        return STOP
    torque, valid_s = max(-most, min(most, torque)), min(valid_s, LONGEST_S)
    command = write(FLOAT, COMMAND, math.nan, 0.0, torque, 0.0, 0.0, most)
    kept = write(FLOAT, TIMEOUT, valid_s) + write(FLOAT, INTEGRAL, 0.0)
    return write(INT8, MODE, IN_POSITION) + command + kept + QUERY


def line_of(servo: int, frame: bytes) -> bytes:
    """The line that sends a frame to a controller, which answers to 0 as bit 15 is set."""
    length = next(n for n in LENGTHS if n >= len(frame))
    return f"can send {0x8000 | servo:04x} {frame.ljust(length, bytes([NOP])).hex()} BF\n".encode()


def reply_of(servo: int, line: bytes) -> dict[int, float] | None:
    """Registers by number, whole numbers as they come; None where the line is no reply of this controller."""
    words = line.split()
    if len(words) < 3 or words[0] != b"rcv":
        return None
    try:
        if int(words[1], 16) != servo << 8:
            return None
        return _registers(bytes.fromhex(words[2].decode("ascii")))
    except (ValueError, IndexError, struct.error):
        return None


def _registers(data: bytes) -> dict[int, float]:
    found: dict[int, float] = {}
    at = 0
    while at < len(data):
        code = data[at]
        at += 1
        if code == NOP:
            continue
        if code & 0xF0 != REPLY:
            raise ValueError(f"a part of kind {code:#x}")
        n = code & 3
        if not n:
            n, at = _number(data, at)
        first, at = _number(data, at)
        form = struct.Struct(f"<{n}{SIZES[code >> 2 & 3]}")
        for k, value in enumerate(form.unpack_from(data, at)):
            found[first + k] = float(value)
        at += form.size
    return found


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at
        if shift > 28:
            raise ValueError("a number of more than five bytes")


class Port:
    """A serial port that never waits; for Linux and macOS."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        tty.setraw(self.fd, termios.TCSANOW)
        self._waiting = b""

    def send(self, line: bytes) -> bool:
        """Send a line; whether all of it could go."""
        try:
            return os.write(self.fd, line) == len(line)
        except BlockingIOError:
            return False

    def lines(self) -> list[bytes]:
        """The whole lines that have come. OSError where the adapter is gone."""
        with contextlib.suppress(BlockingIOError):
            while len(self._waiting) < MOST_WAITING and (came := os.read(self.fd, 4096)):
                self._waiting += came
        *lines, self._waiting = self._waiting.split(b"\n")
        if len(self._waiting) >= MOST_WAITING:
            self._waiting = b""  # no line is so long
        return lines
