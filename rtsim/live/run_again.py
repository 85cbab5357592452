"""A recorded run with a device, run again: the device's messages and the commands come from the recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rtsim.config.hil_schema import HilSpec
from rtsim.errors import ConfigError
from streams.clock import now_ns
from streams.codec import decode
from streams.errors import DecodeError
from streams.messages import Command, Device, Output, Session
from streams.recorded import read_messages

MOVED = "moved"
"""Name of a command that stands for what a stream said of the limb's motion: nobody gives it."""


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The entries of a table and of those in it, by their keys with dots."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{before}{key}.") if isinstance(value, Mapping) else {f"{before}{key}": value}
    return found


class RecordedPort:
    """Answers each output with what the device answered then.

    Attributes
    ----------
    path : the file; session : id of the outputs; commands : by tick; n_output : outputs, the last included
    moved : whether a stream moved the limb; note : a sentence where the recording is cut

    Raises ConfigError where the file holds no run in lockstep.
    """

    def __init__(self, path: Path) -> None:
        self.taken: list[tuple[Device, int]] = []
        self.counters: dict[str, int] = {}
        self.decode_ns = self.encoded_ns = 0
        self.keeps = False
        self.commands: dict[int, list[Command]] = defaultdict(list)
        self.session, self.n_output, self.moved = "", 0, False
        self._answers: dict[int, list[Device]] = defaultdict(list)
        self._coming: list[Device] = []
        self.path, self._meta = path, {}
        asks, newest, messages = True, -1, read_messages(path)
        for _, topic, payload in messages:
            try:
                message = decode([topic, payload])
            except DecodeError:
                continue
            if isinstance(message, Output):
                self.session, asks, newest = message.session, asks and message.answer, message.seq
                self.n_output += 1
            elif isinstance(message, Device):
                self._answers[newest].append(message)  # when it came, in time or not
            elif isinstance(message, Session) and "device" in message.meta:
                self._meta = message.meta
            elif isinstance(message, Command):
                self.commands[int(message.args.get("tick", -1))].append(message)
                self.moved |= message.name == MOVED
        if not self.n_output or not asks:
            raise ConfigError(
                "it holds no run with a device in lockstep", where=str(path),
                remedy="record one from its beginning, by --record",
            )  # fmt: skip
        self.note = messages.note
        # no tick comes before somebody has spoken
        self._coming = [
            Device(session="", seq=0, t=0, angle=[0.0], speed=[0.0], torque=[0.0], state="disarmed")
        ]

    def check(self, spec: HilSpec) -> None:
        """ConfigError where it is a run of another config, or of this one as it no longer is."""
        device, now = self._meta.get("device"), flat(spec.settings)
        device = device if isinstance(device, dict) else {}
        settings = device.get("settings")
        if isinstance(settings, dict):
            was = flat(settings)
            keys = {*was, *now}
        else:  # recordings of before settings were told
            was = {"name": self._meta.get("config"), "coordinate": device.get("coordinate")}
            was |= {f"exchange.{key}": device.get(key) for key in ("mode", "rate_hz")}
            keys = {key for key, value in was.items() if value is not None}
        for key in sorted(keys):
            if was.get(key) != now.get(key):
                raise ConfigError(
                    f"it is a run with {key} = {was.get(key, 'nothing')}", where=f"--again {self.path}",
                    allowed=f"{key} = {now.get(key, 'nothing')}",
                    remedy="name the config, and give the options, that it was made with",
                )  # fmt: skip

    def receive(self) -> bool:
        """What the device said then."""
        self.taken = [(message, now_ns()) for message in self._coming]
        self._coming = []
        return bool(self.taken)

    def poll(self, timeout_ms: int) -> bool:
        """Nothing comes later."""
        return bool(self._coming)

    def send(self, output: Output) -> None:
        """The answers of then are there at once."""
        self._coming = self._answers.get(output.seq, [])

    def sentences(self) -> list[str]:
        """Nothing to tell."""
        return []
