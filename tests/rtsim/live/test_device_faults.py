"""What goes wrong between model and device, with processes that are killed, stopped, flooded and lied to.

After each the device's own log obeys: no torque by an old command, from the fall on a ramp to zero in ticks
of its own clock, nothing until disarmed and armed again.
"""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from contextlib import suppress

import pytest
import zmq
from msgspec.structs import replace

from streams.clock import now_ns
from streams.codec import decode, encode
from streams.control.commands import request
from streams.exchange import DevicePort
from streams.messages import Command, Device, Output, Telemetry
from streams.recording.recorded import read_messages
from tests.rtsim.live.rig import FIVE, NAN, RAMP_MS, VALID_MS, Rig, Row, obeys, rows_of, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="it stops processes by signals"),
]
RUN = "0123456789abcdef"


def after(rows: list[Row], t_ns: int) -> list[Row]:
    """Return the ticks after a time."""
    return [row for row in rows if row.t_ns > t_ns]


def test_a_model_that_is_killed(rig: Rig) -> None:
    """Protects from a dead model: torque falls by the device's own clock; a new model must arm first."""
    model = rig.start_model()
    device, log = rig.start_device()
    rig.arm()
    n_before, t_ns = obeys(rows_of(log)), now_ns()
    model.kill()
    until(lambda: rows_of(log)[-1].state == "stopped")
    rows = rows_of(log)
    assert obeys(rows) == n_before + 1  # in the first tick beyond the time of its command
    falling = [row for row in after(rows, t_ns) if row.state == "falling"]
    assert falling[0].age_ms > falling[0].valid_for_ms
    assert falling[-1].kind == "own"
    rig.outputs.clear()
    rig.start_model()
    until(lambda: len(rig.outputs) > 50)
    assert rows_of(log)[-1].state == "disarmed"
    assert all(row.actuator == 0.0 for row in after(rows_of(log), rows[-1].t_ns))
    rig.arm()
    until(lambda: rows_of(log)[-1].actuator > 1.0)
    obeys(rows_of(log))
    assert device.poll() is None


def test_a_model_that_is_stopped_for_a_while(rig: Rig) -> None:
    """Protects from a stall: the device falls meanwhile, the model finds it so and latches."""
    model = rig.start_model()
    _, log = rig.start_device()
    rig.arm()
    n_before = obeys(rows_of(log))
    model.send_signal(signal.SIGSTOP)
    until(lambda: rows_of(log)[-1].state == "stopped")
    model.send_signal(signal.SIGCONT)
    assert "-> fault" in rig.heard("the command is older than")
    until(lambda: not rig.outputs[-1].armed)
    time.sleep(0.3)
    assert (rows_of(log)[-1].actuator, obeys(rows_of(log))) == (0.0, n_before + 1)
    rig.arm()


def test_a_device_that_is_killed(rig: Rig) -> None:
    """Protects from a dead device: the model latches, another one must be armed, all is recorded."""
    recording = rig.folder / "run.mcap"
    model = rig.start_model("--record", str(recording))
    device, _ = rig.start_device()
    rig.arm()
    device.kill()
    assert "armed -> fault" in rig.heard("has not answered")
    _, log = rig.start_device("second")
    until(lambda: log.exists() and len(rows_of(log)) > 50)
    assert all(row.state == "disarmed" and row.actuator == 0.0 for row in rows_of(log))
    rig.arm()
    until(lambda: rows_of(log)[-1].actuator > 1.0)
    obeys(rows_of(log))
    rig.ask("stop")
    assert model.wait(120.0) == 0
    kept = [decode([topic, payload]) for _, topic, payload in read_messages(recording)]
    seqs = [message.seq for message in kept if isinstance(message, Output)]
    assert seqs == list(range(len(seqs)))
    told = [text for message in kept if isinstance(message, Telemetry) for text in message.text]
    assert any("armed -> fault: the device has not answered" in text for text in told)
    names = [message.name for message in kept if isinstance(message, Command)]
    assert len(names) > 1
    assert set(names) == {"arm"}


def test_a_device_that_is_stopped_for_a_while(rig: Rig) -> None:
    """Protects from a stalled device: at its first tick its last command is expired and its ramp over,
    by the clock; the model latched."""
    rig.start_model()
    device, log = rig.start_device()
    rig.arm()
    until(lambda: rows_of(log)[-1].actuator > 1.0)
    n_before = obeys(rows_of(log))
    device.send_signal(signal.SIGSTOP)
    rig.heard("has not answered")
    time.sleep(1e-3 * (VALID_MS + RAMP_MS))
    t_ns = now_ns()
    device.send_signal(signal.SIGCONT)
    until(lambda: len(after(rows_of(log), t_ns)) > 30)
    first = after(rows_of(log), t_ns)[0]
    assert (first.state, first.actuator) == ("stopped", 0.0)
    assert (rows_of(log)[-1].actuator, obeys(rows_of(log))) == (0.0, n_before + 1)


def test_the_emergency_stop_of_the_device(rig: Rig) -> None:
    """Protects the button: the device falls in its next tick, the model says why."""
    rig.start_model()
    device, log = rig.start_device()
    rig.arm()
    n_before = obeys(rows_of(log))
    device.send_signal(signal.SIGUSR1)
    assert "emergency stop" in rig.heard("-> fault")
    until(lambda: rows_of(log)[-1].actuator == 0.0)
    assert obeys(rows_of(log)) == n_before + 1


def test_strangers_at_the_device_endpoint(rig: Rig) -> None:
    """Protects the exchange from a flood of rubbish and from a second device: neither changes the torque."""
    rig.start_model()
    _, log = rig.start_device()
    rig.arm()
    liar = Device(
        session=rig.outputs[-1].session, seq=0, t=0, command=0, angle=[9.0], speed=[0.0], torque=[50.0],
        state="armed",
    )  # fmt: skip
    with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
        stranger.linger = 0
        stranger.connect(rig.address)
        for k in range(3000):
            with suppress(zmq.Again):
                stranger.send_multipart([b"device", b"x" * 200], zmq.DONTWAIT)
                stranger.send_multipart(encode(replace(liar, seq=k)), zmq.DONTWAIT)
        until(lambda: any(t.counters.get("device_other_device", 0) > 10 for t in rig.telemetry))
    assert all(abs(message.torque[0]) < 50.0 for message in rig.devices)
    obeys(rows_of(log))
    if rows_of(log)[-1].state != "armed":  # a flood may cost it time: then it is latched, and can be armed
        rig.arm()


@pytest.mark.parametrize("attack", ["rubbish", "commands", "unknown", "deaf"])
def test_strangers_at_the_command_channel(rig: Rig, attack: str) -> None:
    """Protects arming from floods, rubbish, names that are none, who never reads: the run goes on unmoved."""
    rig.start_model()
    rig.start_device()
    rig.arm()
    n_before = len(rig.outputs)
    if attack == "rubbish":
        with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
            stranger.linger = 0
            stranger.connect(rig.control)
            for _ in range(500):
                with suppress(zmq.Again):
                    stranger.send_multipart([b"", b"command", b"\xc1" * 100], zmq.DONTWAIT)
    elif attack == "deaf":  # asks without end and reads no answer
        with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
            stranger.linger, stranger.rcvhwm = 0, 1
            stranger.connect(rig.control)
            parts = encode(Command(session="", name="status", args={}))
            for _ in range(2000):
                with suppress(zmq.Again):
                    stranger.send_multipart([b"", *parts], zmq.DONTWAIT)
            until(lambda: len(rig.outputs) > n_before + 30)
    elif attack == "commands":
        for _ in range(30):
            assert rig.ask("status")[0]
    else:
        assert not rig.ask("arm_now")[0]
        assert not request(rig.control, "arm", {"torque": 99.0}, 10.0)[0]
    until(lambda: len(rig.outputs) > n_before + 30)
    if not all(output.armed for output in rig.outputs[n_before:]):
        rig.heard("-> fault")  # nothing but lost time may have cost it the torque
    assert rig.ask("disarm")[0]
    until(lambda: not rig.outputs[-1].armed)


class Relay(threading.Thread):
    """A wire between a device and the model, which can be cut: all that runs through it is then lost."""

    def __init__(self, to: str) -> None:
        super().__init__(name="relay")
        self.to, self.ends = to.removeprefix("tcp://").split(":"), []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._door.getsockname()[1]}"

    def run(self) -> None:
        with suppress(OSError):
            while True:
                near, far = self._door.accept()[0], socket.create_connection(self.to)
                self.ends += (near, far)
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other)).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)

    def cut(self) -> None:
        """Close all, nobody comes back in."""
        for end in (self._door, *self.ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def test_a_cut_wire(rig: Rig) -> None:
    """Protects from a lost socket, both processes alive: the device falls by its clock, the model latches."""
    rig.start_model()
    relay = Relay(rig.address)
    relay.start()
    log = rig.folder / "first.csv"
    device = rig.start("device", str(rig.spec), "--model", relay.address, "--log", str(log))
    try:
        rig.arm()
        n_before = obeys(rows_of(log))
    finally:
        relay.cut()
    assert "armed -> fault" in rig.heard("has not answered")
    until(lambda: rows_of(log)[-1].state == "stopped")
    assert (rows_of(log)[-1].actuator, obeys(rows_of(log))) == (0.0, n_before + 1)
    assert device.poll() is None
    relay.join()


class FalseModel:
    """A model that says what a test has it say, 100 times a second."""

    def __init__(self, rig: Rig) -> None:
        self.port, self.seq, self.session = DevicePort(rig.address), 0, RUN
        self.device, self.log = rig.start_device()
        self.n_fall = 0  # how often it had fallen when it was armed
        until(lambda: self.port.poll(20) and self.port.receive())
        until(lambda: rows_of(self.log))

    def say(self, n: int, **changed) -> None:
        """Send outputs, a hundredth of a second apart."""
        for _ in range(n):
            self.port.send(self.output(**changed))
            self.seq += 1
            time.sleep(0.01)
            self.port.receive()

    def output(self, **changed) -> Output:
        """Return an output that arms with 5 N m."""
        plain = Output(
            session=self.session, seq=self.seq, t_sent=now_ns(), valid_for_ms=VALID_MS, armed=True, time=0.0,
            tick_ms=10.0, torque=[5.0], torque_max=[20.0], angle=[0.0], speed=[0.0],
        )  # fmt: skip
        return replace(plain, **changed)

    def disarm(self) -> None:
        """Send outputs until one of them has disarmed the device."""
        until(lambda: self.say(5, armed=False) or ((row := rows_of(self.log)[-1]).state == "disarmed"
              and row.command >= 0 and not row.commanded_armed))  # fmt: skip

    def armed(self) -> FalseModel:
        """Disarm, arm, and wait for the torque; anew where a busy machine costs it the torque meanwhile."""
        self.disarm()

        def has_torque() -> bool:
            self.say(5)
            rows = rows_of(self.log)
            if rows[-1].state in ("falling", "stopped"):
                self.disarm()
            self.n_fall = obeys(rows)
            return rows[-1].state == "armed" and rows[-1].actuator == 5.0

        until(has_torque)
        return self


def changed(model: FalseModel, right: bytes, wrong: bytes) -> list[bytes]:
    """Return an output in whose bytes some are others."""
    topic, payload = encode(model.output())
    assert right in payload
    return [topic, payload.replace(right, wrong)]


BAD = {
    "nothing finite": lambda m: changed(m, FIVE, NAN),
    "other version": lambda m: changed(m, b"\xa1v\x01", b"\xa1v\x02"),
    "rubbish": lambda m: [b"output", b"\xc1" * 80],
    "one part": lambda m: [b"output"],
    "too large": lambda m: [b"output", b"x" * (1 << 20) + b"x"],
    "same number": lambda m: encode(m.output(seq=1)),
    "sent long ago": lambda m: encode(m.output(t_sent=now_ns() - 2_000_000_000)),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_commands_that_are_none(rig: Rig, kind: str) -> None:
    """Protects the device from a model gone wrong: such commands keep no torque up, however many come."""
    model = FalseModel(rig).armed()
    with model.port:
        t_ns = now_ns()

        def is_over() -> bool:
            model.port._socket.send_multipart([model.port._identity, *BAD[kind](model)], zmq.DONTWAIT)
            model.seq += 1
            return bool(after(rows_of(model.log), t_ns + round(1e6 * (2.0 * VALID_MS + RAMP_MS))))

        until(is_over)
        assert obeys(rows_of(model.log)) == model.n_fall + 1
        assert rows_of(model.log)[-1].actuator == 0.0


@pytest.mark.parametrize("press", ["at once", "between two questions"])
def test_the_button_does_not_wait_for_a_model_that_asks_slowly(rig: Rig, press: str) -> None:
    """Protects the button: beside a model that asks once, and not again, torque is gone by the device's own
    clock while the question is still valid, and stays so."""
    model = FalseModel(rig)
    with model.port:

        def is_gone_in_time() -> bool:  # again where a busy machine pauses for as long as a question is valid
            model.armed()
            model.port.send(model.output(answer=True))
            model.seq += 1
            time.sleep(0.0 if press == "at once" else 0.2)
            t_ns = now_ns()
            model.device.send_signal(signal.SIGUSR1)
            until(lambda: rows_of(model.log)[-1].state == "stopped")
            rows = rows_of(model.log)
            assert obeys(rows) == model.n_fall + 1
            off = next(row for row in after(rows, t_ns) if row.actuator == 0.0)
            return off.kind == "own" and off.age_ms < off.valid_for_ms

        until(is_gone_in_time)
        for _ in range(3):
            model.port.send(model.output(answer=True))
            model.seq += 1
            n = len(rows_of(model.log))
            until(lambda: len(rows_of(model.log)) > n + 20)  # noqa: B023
            assert all(row.actuator == 0.0 for row in rows_of(model.log)[n:])


def test_another_model_in_the_middle(rig: Rig) -> None:
    """Protects from a model that begins anew without a word: its armed commands give nothing."""
    model = FalseModel(rig).armed()
    with model.port:
        model.session, model.seq = "f" * 16, 0
        until(lambda: model.say(5) or rows_of(model.log)[-1].state == "stopped")
        model.say(60)
        assert rows_of(model.log)[-1].actuator == 0.0
        assert obeys(rows_of(model.log)) == model.n_fall + 1
        model.armed()
        obeys(rows_of(model.log))


def test_a_flood_of_commands(rig: Rig) -> None:
    """Protects the device's clock: it ticks under a flood, obeys the newest, and falls after the last."""
    model = FalseModel(rig).armed()
    with model.port:
        t_ns, n = now_ns(), 0

        def has_ticked() -> bool:
            nonlocal n
            for _ in range(500):
                model.port.send(model.output(torque=[7.0]))
                model.seq, n = model.seq + 1, n + 1
            rows = after(rows_of(model.log), t_ns)
            return n > 2000 and len(rows) > 30 and any(row.actuator > 5.0 for row in rows)

        until(has_ticked)
        until(lambda: rows_of(model.log)[-1].state == "stopped")
        assert obeys(rows_of(model.log)) >= model.n_fall + 1


def test_the_end_says_zero_and_disarmed(rig: Rig) -> None:
    """Protects the end of a run: the last output is zero and disarmed, the device and the record say so."""
    model = rig.start_model()
    _, log = rig.start_device()
    rig.arm()
    n_before = obeys(rows_of(log))
    assert rig.ask("stop")[0]
    assert model.wait(120.0) == 0
    until(lambda: not rig.outputs[-1].armed)
    assert rig.outputs[-1].torque == [0.0]
    until(lambda: rows_of(log)[-1].actuator == 0.0)
    assert obeys(rows_of(log)) == n_before  # it was told, it did not have to fall
    assert "the run ends" in rig.heard("armed -> disarmed")
