"""A simulated moteus controller behind an fdcanusb adapter, at a pseudo-terminal: lines, registers, watchdog.

Written after the public references of both, apart from the driver: github.com/mjbots/moteus, docs/protocol.
"""

from __future__ import annotations

import math
import os
import struct
import threading
import time
import tty

from streams.readable import readable

SIZE, FORM = {0: 1, 4: 2, 8: 4, 12: 4}, {0: "b", 4: "h", 8: "i", 12: "f"}


class Servo:
    """Serves one controller in a thread.

    Attributes
    ----------
    path : of the serial port; mode, torque : as they are; timeouts : of the commands in position mode [s]
    position, velocity : what it will measure [revolutions, revolutions/s]
    deaf : it answers nothing; noise : sent before each reply
    """

    def __init__(self, number: int = 1) -> None:
        self._end, self._other = os.openpty()
        tty.setraw(self._other)
        self.path, self.number = os.ttyname(self._other), number
        self.mode, self.code, self.torque, self.most = 0, 0, 0.0, math.nan
        self.position = self.velocity = 0.0
        self.deaf, self.noise = False, b""
        self.timeouts: list[float] = []
        self._until, self._waiting, self._over = math.inf, b"", threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Unplug it."""
        if not self._over.is_set():
            self._over.set()
            self._thread.join()
            os.close(self._end)
            os.close(self._other)

    def fail(self, code: int) -> None:
        """Have a fault, as over temperature (38): no torque until it is stopped."""
        self.mode, self.code, self.torque = 1, code, 0.0

    def _run(self) -> None:
        while not self._over.is_set():
            if readable([self._end], 0.002):
                self._waiting += os.read(self._end, 4096)
                *lines, self._waiting = self._waiting.split(b"\n")
                for line in lines:
                    self._hear(line)
            if self.mode == 10 and time.monotonic() > self._until:
                self.mode, self.torque = 11, 0.0

    def _hear(self, line: bytes) -> None:
        words = line.split()
        if words[:2] != [b"can", b"send"] or len(words) < 4:
            os.write(self._end, b"ERR unknown\n")
            return
        os.write(self._end, b"OK\n")
        if int(words[2], 16) & 0x7F != self.number:
            return
        reply = self._frame(bytes.fromhex(words[3].decode()))
        if int(words[2], 16) & 0x8000 and reply and not self.deaf:
            answer = f"rcv {self.number << 8:04x} {reply.hex()} E B F t123\n".encode()
            os.write(self._end, self.noise + answer)

    def _frame(self, data: bytes) -> bytes:
        assert len(data) in (*range(9), 12, 16, 20, 24, 32, 48, 64)
        at, written, reply = 0, {}, b""
        while at < len(data):
            code, n = data[at] & 0xFC, data[at] & 3
            at += 1
            if code == 0x50:
                continue
            if not n:
                n, at = data[at], at + 1
            first, at = data[at], at + 1
            kind = code & 0x0C
            if code & 0xF0 == 0x00:
                end = at + n * SIZE[kind]
                values = struct.unpack(f"<{n}{FORM[kind]}", data[at:end])
                written |= {first + k: value for k, value in enumerate(values)}
                at = end
            else:
                assert code & 0xF0 == 0x10
                self._obey(written)
                written = {}
                values = [self._read(first + k, kind) for k in range(n)]
                reply += bytes([0x20 | kind | n, first]) + struct.pack(f"<{n}{FORM[kind]}", *values)
        return reply

    def _obey(self, written: dict[int, float]) -> None:
        mode = written.get(0)
        if mode == 0:
            self.mode, self.code, self.torque = 0, 0, 0.0
        elif mode == 10 and self.mode in (0, 10):
            assert math.isnan(written[0x20])
            assert written[0x23] == written[0x24] == written[0x2B] == 0.0
            self.mode, self.most = 10, written[0x25]
            self.torque = max(-self.most, min(self.most, written[0x22]))
            self.timeouts.append(written[0x27])
            self._until = time.monotonic() + written[0x27]

    def _read(self, register: int, kind: int) -> float:
        moving = {1: self.position, 2: self.velocity, 3: self.torque}
        found = ({0: self.mode, 13: 48, 14: 25, 15: self.code} | moving)[register]
        return found if kind == 12 else int(found)
