"""Replay of a recorded run with a device: the recording supplies the device's messages and the commands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rtsim.config.runs.hil_schema import HilSpec
from rtsim.errors import ConfigError
from streams.account import plain
from streams.clock import now_ns
from streams.codec import decode
from streams.errors import DecodeError
from streams.messages import AnyMessage, Command, Device, Output, Session
from streams.recording.recorded import read_messages

MOVED = "moved"
"""Name under which the motion that a stream prescribed is recorded as a command; no user gives this
command."""


MOST_BYTES = 1 << 30
"""Largest total size of messages that are read: an hour of a device at 1 kHz [bytes]."""
MOST_ANSWERS, MOST_COMMANDS = 4096, 1024
"""Largest numbers of device messages and of commands in a tick: more than any run has."""
MOST_SESSIONS = 64
SHOWN = 80
WHY = {
    "damaged": "which are damaged",
    "timeless": "because they are commands without the time step at which they were given",
    "foreign": "because they are commands of another run",
    "crowd": "because they are more than one time step can take",
}
"""Why messages are left out, in words."""


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the entries of a table and of nested tables, by their keys joined with dots; before : prefix of
    the keys"""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{before}{key}.") if isinstance(value, Mapping) else {f"{before}{key}": value}
    return found


class RecordedPort:
    """Answers each output, a message of the model to the device, with the messages that the device sent as
    answers to it in the recorded run.

    Parts that cannot be replayed are left out and reported: damaged messages, commands without a tick of the
    run, and everything after the first gap in the outputs.

    Attributes
    ----------
    path : path of the file
    session : id of the session of outputs
    commands : number of a tick -> commands that were given in it
    n_output : number of outputs, including the last
    moved : whether a stream moved the limb
    notes : sentences on what is not replayed

    Raises ConfigError if the file does not contain a run in lockstep from its beginning.
    """

    def __init__(self, path: Path) -> None:
        self.taken: list[tuple[Device, int]] = []
        self.counters: dict[str, int] = {}
        self.decode_ns = self.encoded_ns = 0
        self.keeps = False
        self.commands: dict[int, list[Command]] = defaultdict(list)
        self.session, self.n_output, self.moved = "", 0, False
        self._answers: dict[int, list[Device]] = defaultdict(list)
        self._asks = True
        self._n_byte, self._ended = 0, ""
        self._left_out: Counter[str] = Counter()
        self.path, self._metas = path, list[Mapping[str, Any]]()
        messages = read_messages(path)
        for _, topic, payload in messages:
            try:
                message = decode([topic, payload])
            except DecodeError:
                self._left_out["damaged"] += 1
                continue
            self._take(message, len(payload))
            if self._ended:
                messages.close()
                break
        if self.n_output < 2 or not self._asks:  # the last output is that of the run's end
            raise ConfigError(
                "the recording contains no run in lockstep, in which model and device wait for each other",
                where=str(path),
                remedy="record such a run from its beginning, with --record",
            )  # fmt: skip
        self.notes = [f"{words}: the run ends there" for words in (messages.note, self._ended) if words]
        for why, n in self._left_out.items():
            self.notes.append(f"{path}: {n} {'message' if n == 1 else 'messages'} left out, {WHY[why]}")
        # no tick comes before somebody has spoken
        self._coming = [
            Device(session="", seq=0, t=0, angle=[0.0], speed=[0.0], torque=[0.0], state="disarmed")
        ]

    def check(self, spec: HilSpec) -> None:
        """Raise ConfigError if the recorded run had another config than this one, or this one with other
        settings.
        """
        now = flat(spec.settings)
        meta = next((meta for meta in self._metas if self._is_of_run(meta)), {})
        device = meta.get("device", {})
        settings = device.get("settings")
        if settings is None:  # recordings of before settings were told
            was = {"name": meta.get("config"), "coordinate": device.get("coordinate")}
            was |= {f"exchange.{key}": device.get(key) for key in ("mode", "rate_hz")}
        else:
            was = flat(settings) if isinstance(settings, Mapping) else {}
        keys = {*was, *now} if settings is not None else {key for key in was if was[key] is not None}
        if not any(was.values()):
            raise ConfigError(
                "the recording does not state the settings of the run", where=f"--again {self.path}",
                remedy="record such a run from its beginning, with --record",
            )  # fmt: skip
        for key in sorted(keys):
            if was.get(key) != now.get(key):
                raise ConfigError(
                    f"the recorded run has {plain(key, SHOWN)} = "
                    f"{plain(str(was.get(key, 'nothing')), SHOWN)}",
                    where=f"--again {self.path}",
                    allowed=f"{plain(key, SHOWN)} = {now.get(key, 'nothing')}",
                    remedy="give the config and the options of the recorded run",
                )  # fmt: skip

    def _take(self, message: AnyMessage, n_byte: int) -> None:
        """Store one recorded message of n_byte bytes, in the recorded order: an output of the model, a
        measurement of the device, a command or a descriptor.
        """
        if isinstance(message, Output):
            self._take_output(message)
        elif isinstance(message, Session):
            if isinstance(message.meta.get("device"), Mapping) and len(self._metas) < MOST_SESSIONS:
                self._metas.append(message.meta)
        elif isinstance(message, Device):
            answers = self._answers[self.n_output - 1]  # when it came, in time or not
            if len(answers) < MOST_ANSWERS:
                answers.append(message)
                self._n_byte += n_byte
            else:
                self._left_out["crowd"] += 1
        elif isinstance(message, Command):
            self._take_command(message, n_byte)
        if self._n_byte > MOST_BYTES:
            self._ended = f"{self.path} is longer than {MOST_BYTES >> 20} MB of a device's messages"

    def _take_output(self, output: Output) -> None:
        if self.n_output and output.session != self.session:
            self._ended = f"{self.path} contains more than one run"
        elif output.seq != self.n_output:
            self._ended = (
                f"{self.path}: message {output.seq} to the device does not follow message {self.n_output - 1}"
            )
        else:
            self.session, self._asks = output.session, self._asks and output.answer
            self.n_output += 1

    def _take_command(self, command: Command, n_byte: int) -> None:
        tick = command.args.get("tick")
        if command.session and self.session and command.session != self.session:
            self._left_out["foreign"] += 1
        elif not isinstance(tick, int) or isinstance(tick, bool) or not 0 <= tick <= self.n_output:
            self._left_out["timeless"] += 1
        elif len(self.commands[tick]) >= MOST_COMMANDS:
            self._left_out["crowd"] += 1
        else:
            self.commands[tick].append(command)
            self.moved |= command.name == MOVED
            self._n_byte += n_byte

    def _is_of_run(self, meta: Mapping[str, Any]) -> bool:
        """Return whether a descriptor belongs to the run of the recorded outputs; old descriptors do not
        state it.
        """
        return meta["device"].get("session", self.session) == self.session

    def receive(self) -> bool:
        """Make the waiting recorded messages available in `taken`; return whether there are any."""
        self.taken = [(message, now_ns()) for message in self._coming]
        self._coming = []
        return bool(self.taken)

    def poll(self, timeout_ms: int) -> bool:
        """Return whether a recorded message is waiting; none can arrive later."""
        return bool(self._coming)

    def send(self, output: Output) -> None:
        """Accept an output of the model; the recorded answers to it are available at once."""
        self._coming = self._answers.get(output.seq, [])

    def sentences(self) -> list[str]:
        """Return no sentences: there is nothing to report."""
        return []
