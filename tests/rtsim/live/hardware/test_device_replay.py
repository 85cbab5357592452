"""A recording that is damaged, or was made by hand, run again: sound parts, or one sentence, never torque."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.errors import RtsimError
from rtsim.live.hardware.device_loop import hil_loop
from rtsim.live.hardware.device_replay import MOVED, RecordedPort
from rtsim.live.hardware.limb_parts import simulator_for
from streams.codec import encode
from streams.errors import StreamError
from streams.messages import AnyMessage, Command, Device, Output, Session, Telemetry
from streams.recording.recorder import Recorder
from tests.rtsim.device.straight import StraightPort

TICKS = 100
Messages = list[AnyMessage]


class Kept:
    """In the place of a publisher: keeps what is published."""

    def __init__(self) -> None:
        self.events: deque[str] = deque()
        self.messages: Messages = []

    def announce(self, session: Session) -> None:
        self.messages.append(session)

    def send(self, message: AnyMessage) -> None:
        self.messages.append(msgspec.msgpack.decode(encode(message)[1], type=type(message)))

    def service(self) -> None:
        pass

    def end(self, reason: str) -> None:
        pass


def ankle() -> HilSpec:
    """The usual run, as fast as it goes."""
    spec = load_toml(find_config("ankle", "hil"), HilSpec)
    return replace(
        spec, exchange=replace(spec.exchange, paced=False), duration_s=TICKS / spec.exchange.rate_hz
    )


def run(spec: HilSpec, port: StraightPort | RecordedPort, arm_s: float | None = None) -> Messages:
    """What a run publishes."""
    kept = Kept()
    again = port if isinstance(port, RecordedPort) else None
    try:
        hil_loop(spec, simulator_for(spec), port, kept, arm_s=arm_s, again=again).run()
    finally:
        allow_compilation()
    return kept.messages


def straight(spec: HilSpec) -> StraightPort:
    """The device of a config, which has spoken."""
    port = StraightPort(load_toml(find_config(spec.device, "devices"), DeviceSpec))
    port.hello()
    return port


@pytest.fixture(scope="module")
def unarmed() -> Messages:
    """A sound run in which nobody armed."""
    spec = ankle()
    return run(spec, straight(spec))


@pytest.fixture(scope="module")
def armed() -> Messages:
    """A sound run, armed after a while."""
    spec = ankle()
    return run(spec, straight(spec), arm_s=0.05)


def written(path: Path, messages: Messages) -> Path:
    """A recording of these."""
    path.unlink(missing_ok=True)
    with Recorder(path) as recorder:
        for k, message in enumerate(messages):
            topic, payload = encode(message)
            recorder.write(topic, payload, k)
    return path


def again(path: Path) -> tuple[Messages, list[str]]:
    """What is published when a recording is run again, and the sentences on what is not."""
    port = RecordedPort(path)
    port.check(ankle())
    return run(ankle(), port), port.notes


def outputs(messages: Messages) -> list[tuple[bool, list[float], list[float]]]:
    """What was commanded, tick by tick."""
    return [(m.armed, m.torque, m.angle) for m in messages if isinstance(m, Output)]


def told(messages: Messages) -> str:
    """All sentences."""
    return " ".join(words for m in messages if isinstance(m, Telemetry) for words in m.text)


def beside(messages: Messages, *commands: Command) -> Messages:
    """The same with commands after the output of the tick before theirs, or after all."""
    at = 1 + next(k for k, m in enumerate(messages) if isinstance(m, Output) and m.seq == 60)
    return [*messages[:at], *commands, *messages[at:]]


def test_a_sound_recording_comes_again(armed: Messages, tmp_path: Path) -> None:
    """Protects what follows: the run is repeated, torque and all, and nothing is left out."""
    repeated, notes = again(written(tmp_path / "run.mcap", armed))
    assert outputs(repeated) == outputs(armed)
    assert any(is_armed for is_armed, _, _ in outputs(armed))
    assert notes == []


@pytest.mark.parametrize("name", ["dance", "", "ARM", "arm ", "ready", MOVED, "status", "stop"])
def test_no_command_but_arm_arms(name: str, unarmed: Messages, tmp_path: Path) -> None:
    """Protects a wearer from words nobody knows: an unknown recorded command does nothing, and is told."""
    command = Command(session="", name=name, args={"tick": 61})
    if name == MOVED:
        with pytest.raises(RtsimError, match="was moved by a stream"):
            again(written(tmp_path / "run.mcap", beside(unarmed, command)))
        return
    repeated, _ = again(written(tmp_path / "run.mcap", beside(unarmed, command)))
    assert not any(is_armed or torque != [0.0] for is_armed, torque, _ in outputs(repeated))
    assert "is not a command of a run with a device; nothing was done" in told(repeated)


@pytest.mark.parametrize(
    "args",
    [
        {}, {"tick": "x"}, {"tick": "61"}, {"tick": -1}, {"tick": 1e300}, {"tick": 2**62}, {"tick": True},
        {"tick": [61]}, {"tick": {"at": 61}}, {"tick": 61.0}, {"tock": 61},
    ],
)  # fmt: skip
def test_a_command_without_its_tick_is_left_out(args: dict, unarmed: Messages, tmp_path: Path) -> None:
    """Protects the repetition: nobody knows when it was given, so that it is not done, and said."""
    command = Command(session="", name="arm", args=args)
    repeated, notes = again(written(tmp_path / "run.mcap", beside(unarmed, command)))
    assert outputs(repeated) == outputs(unarmed)
    assert "1 message left out, because they are commands without the time step" in notes[0]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("set", {"stiffness_N_m_rad": "stiff"}), ("set", {"stiffness_N_m_rad": 1e9}), ("set", {"mass": 1.0}),
        ("set", {}), ("set", {"stiffness_N_m_rad": [1.0]}), ("undo", {"over_s": "long"}),
        ("save", {"name": 3}), ("save", {}), ("switch", {"name": "nowhere"}),
        ("step", {"ticks": "x"}), ("step", {"ticks": 1e300}),
        ("pause", {"now": 1}), ("resume", {}), ("reset", {"to": [1]}),
    ],
)  # fmt: skip
def test_commands_with_wrong_arguments_do_no_harm(
    name: str, args: dict, unarmed: Messages, tmp_path: Path
) -> None:
    """Protects the repetition: what a live run would refuse is refused, in words."""
    command = Command(session="", name=name, args={**args, "tick": 61})
    repeated, _ = again(written(tmp_path / "run.mcap", beside(unarmed, command)))
    assert not any(is_armed or torque != [0.0] for is_armed, torque, _ in outputs(repeated))


def lost_output(messages: Messages) -> Messages:
    return [m for m in messages if not (isinstance(m, Output) and m.seq == 70)]


def exchanged(messages: Messages) -> Messages:
    one, two = (k for k, m in enumerate(messages) if isinstance(m, Output) and m.seq in (70, 71))
    swapped = list(messages)
    swapped[one], swapped[two] = swapped[two], swapped[one]
    return swapped


def two_runs(messages: Messages) -> Messages:
    cut = messages[: 1 + next(k for k, m in enumerate(messages) if isinstance(m, Output) and m.seq == 69)]
    others = [replace(m, session="f" * 16) if hasattr(m, "session") else m for m in messages]
    return [*cut, *others]


def huge(messages: Messages) -> Messages:
    return [
        replace(m, seq=2**62) if isinstance(m, Output) and m.seq >= 70 else m for m in messages
    ]  # fmt: skip


@pytest.mark.parametrize("damage", [lost_output, exchanged, two_runs, huge])
def test_the_run_ends_where_outputs_do_not_follow(
    damage: Callable[[Messages], Messages], armed: Messages, tmp_path: Path
) -> None:
    """Protects the repetition: up to the damage it is the run, and the rest is left out, with a sentence."""
    repeated, notes = again(written(tmp_path / "run.mcap", damage(armed)))
    assert outputs(repeated)[:69] == outputs(armed)[:69]
    assert len(outputs(repeated)) <= 71
    assert outputs(repeated)[-1][:2] == (False, [0.0])
    assert any("the run ends there" in words for words in notes)


@pytest.mark.parametrize("joints", [(), (0.0, 0.0)])
def test_a_device_of_other_joints_is_no_traceback(joints: tuple, armed: Messages, tmp_path: Path) -> None:
    """Protects the repetition from messages without or with two joints: a fault of the run, or left out."""
    messages = [
        replace(m, angle=list(joints), speed=list(joints), torque=list(joints), actuator=[])
        if isinstance(m, Device) and m.command == 60 else m
        for m in armed
    ]  # fmt: skip
    repeated, notes = again(written(tmp_path / "run.mcap", messages))
    assert outputs(repeated)[:60] == outputs(armed)[:60]
    assert notes or "the device reports 2 joints" in told(repeated)


@pytest.mark.parametrize(
    "meta",
    [
        {}, {"device": 1}, {"device": {}}, {"device": {"settings": 5}}, {"device": {"settings": {}}},
        {"device": {"settings": [1, 2]}}, {"device": {"settings": {"name": {"of": {"it": 1}}}}},
        {"device": {"coordinate": ["ankle"]}}, {"device": {"session": 7, "settings": {}}}, None,
    ],
)  # fmt: skip
def test_a_run_of_settings_that_nobody_knows_is_refused(
    meta: dict | None, armed: Messages, tmp_path: Path
) -> None:
    """Protects from results of another config: without settings a run is not repeated, and says so."""
    messages = [
        replace(m, meta=meta or {}) if isinstance(m, Session) else m
        for m in armed if meta is not None or not isinstance(m, Session)
    ]  # fmt: skip
    with pytest.raises(RtsimError) as caught:
        again(written(tmp_path / "run.mcap", messages))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_flood_in_one_tick_is_bounded(unarmed: Messages, tmp_path: Path) -> None:
    """Protects time and memory: of a tick's messages and commands no more are kept than any run has."""
    device = next(m for m in unarmed if isinstance(m, Device) and m.command == 60)
    flood = [Command(session="", name="save", args={"name": "x", "tick": 61})] * 20_000
    at = unarmed.index(device)
    began = time.monotonic()
    _, notes = again(
        written(tmp_path / "run.mcap", beside([*unarmed[:at], *[device] * 20_000, *unarmed[at:]], *flood))
    )
    assert time.monotonic() - began < 60.0
    assert any("more than one time step can take" in words for words in notes)


def cuts_and_flips(whole: bytes, seed: int) -> Iterator[bytes]:
    """The bytes of a recording, cut, or with some of them other ones."""
    chance = random.Random(seed)
    for _ in range(12):
        spoilt = bytearray(whole[: chance.randrange(1, len(whole))] if chance.random() < 0.3 else whole)
        for _ in range(chance.choice((1, 4, 64))):
            spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
        yield bytes(spoilt)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_bytes_never_arm_and_never_raise(seed: int, unarmed: Messages, tmp_path: Path) -> None:
    """Protects `--again` from any file: refused in a sentence, or repeated without a torque of its own."""
    path = written(tmp_path / "whole.mcap", unarmed)
    spoilt_path = tmp_path / "spoilt.mcap"
    for spoilt in cuts_and_flips(path.read_bytes(), seed):
        spoilt_path.write_bytes(spoilt)
        try:
            repeated, _ = again(spoilt_path)
        except (RtsimError, StreamError):
            continue
        assert not any(is_armed or torque != [0.0] for is_armed, torque, _ in outputs(repeated))


def test_the_command_line_says_what_it_left_out(unarmed: Messages, tmp_path: Path, capsys) -> None:
    """Protects who runs it: the sentences stand on standard error, and the run is over with its exit code."""
    dance = Command(session="", name="dance", args={"tick": "x"})
    path = written(tmp_path / "run.mcap", beside(lost_output(unarmed), dance))
    any_port = [f"--{name}-address=tcp://127.0.0.1:0" for name in ("results", "control", "port")]
    with pytest.raises(SystemExit) as over:
        cli.main(
            ["hil", "ankle", "--fast", "--duration", str(TICKS / 500), "--again", str(path), *any_port],
            standalone_mode=False,
        )
    allow_compilation()
    said = capsys.readouterr().err
    assert over.value.code == 0
    assert "message 71 to the device does not follow message 69: the run ends there" in said
    assert "1 message left out, because they are commands without the time step" in said
