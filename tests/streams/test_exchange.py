"""The exchange between a model and a device over real sockets: what is taken, refused and never kept."""

from __future__ import annotations

import time

import msgspec
import pytest
import zmq

from streams import exchange
from streams.addresses import is_here
from streams.clock import now_ns
from streams.codec import encode
from streams.errors import DecodeError, StreamError
from streams.exchange import DevicePort, ExchangeIntake, ModelLink, OutputIntake
from streams.messages import Device, Output
from streams.receiving.checks import count_frames

LOCAL = "tcp://127.0.0.1:0"
RUN, OTHER = "0123456789abcdef", "fedcba9876543210"
WAIT_S = 120.0


def output(seq: int = 0, **changed) -> Output:
    """Return an output of one joint."""
    plain = Output(
        session=RUN, seq=seq, t_sent=now_ns(), valid_for_ms=5.0, armed=False, time=0.0, tick_ms=1.0,
        torque=[0.0], torque_max=[1.0], angle=[0.0], speed=[0.0],
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changed)


def measured(seq: int = 0, **changed) -> Device:
    """Return a message of a device of one joint."""
    plain = Device(session=RUN, seq=seq, t=1, angle=[0.0], speed=[0.0], torque=[0.0], state="disarmed")
    return msgspec.structs.replace(plain, **changed)


def until(asked):
    """Return what is asked for, as soon as it is there."""
    due = time.monotonic() + WAIT_S
    while not (found := asked()):
        assert time.monotonic() < due, "it never came"
        time.sleep(0.002)
    return found


@pytest.mark.parametrize(
    "bad",
    [
        output(torque=[float("nan")]), output(torque=[0.0, 0.0]), output(torque_max=[-1.0]),
        output(angle=[float("inf")]), output(time=float("nan")), measured(angle=[float("nan")]),
        measured(speed=[]), measured(actuator=[0.0, 0.0]), measured(torque=[1.0, 2.0]),
        measured(torque_max=[-1.0]), measured(torque_max=[float("inf")]), measured(torque_max=[1.0, 1.0]),
    ],
)  # fmt: skip
def test_what_is_no_torque_or_angle_is_neither_sent_nor_taken(bad):
    """Protects both sides from numbers that are none, and from lists of different joints."""
    with pytest.raises(StreamError):
        encode(bad)
    parts = [bad.type.encode(), msgspec.msgpack.encode(bad)]
    with pytest.raises(DecodeError):
        exchange.decode(parts)


def test_each_message_is_judged_once():
    """Protects the counters: copies, latecomers, gaps, other types and versions each have their name."""
    intake = ExchangeIntake(Device)
    good = [encode(measured(k)) for k in range(6)]
    for parts in (
        good[0],
        good[1],
        good[1],
        good[0],
        good[4],
        good[2],
        encode(output()),
        [b"device", b"\xc1"],
    ):
        intake.accept(parts, 0)
    intake.accept(encode(measured(5, v=2)), 0)
    assert intake.counters == {
        "received": 3, "lost": 2, "duplicate": 2, "out_of_order": 1, "oversize": 0, "malformed": 2,
        "bad_version": 1,
    }  # fmt: skip
    assert intake.accept(encode(measured(0, session=OTHER)), 0) is not None


@pytest.mark.parametrize(
    ("parts", "counter"),
    [
        ([b"device", b"\xc1"], "malformed"), ([b"nothing", b""], "malformed"),
        ([b"device", bytes(2 << 20)], "oversize"), (encode(measured(v=2)), "bad_version"),
        (encode(output()), "malformed"),
    ],
)  # fmt: skip
def test_a_refusal_is_counted_and_told_once(parts, counter):
    """Protects the counters of a device: each reason has its own, and a sentence tells of one message."""
    intake = ExchangeIntake(Device)
    assert intake.accept(parts, 0) is None
    assert {name: n for name, n in intake.counters.items() if n} == {counter: 1}
    assert len(intake.events.sentences) == 1
    assert count_frames(1) in intake.events.sentences[0]


def test_messages_go_both_ways_and_the_newest_counts():
    """Protects the exchange: a device that was busy finds the newest output, not the oldest."""
    with DevicePort(LOCAL) as port, ModelLink(port.address) as link:
        until(lambda: link.send(measured(0)) or port.poll(10))
        until(port.receive)
        for seq in range(5):
            port.send(output(seq, torque=[float(seq)]))
        taken = []
        until(lambda: taken.append(link.newest(20)) or (taken[-1] and taken[-1][0].seq == 4))
        assert taken[-1][0].torque == [4.0]


TOO_MUCH = {"3 MiB": [bytes(3 << 20)], "20 MiB": [bytes(20 << 20)], "300 parts": [b"x"] * 300}


@pytest.mark.parametrize("rest", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_device_is_back_after_a_part_that_is_too_large(rest):
    """Protects the connection: libzmq cuts it off at a large part and makes no new one by itself. It ends the
    process where a connection closes within a message of many parts, so that the device reads no further.
    """
    with DevicePort(LOCAL) as port, ModelLink(port.address) as link:
        numbers = iter(range(1_000_000))
        until(lambda: link.send(measured(next(numbers))) or (port.poll(10) and port.receive()))
        port._socket.send_multipart([port._identity, b"output", *rest], zmq.DONTWAIT)

        def is_back() -> bool:
            link.send(measured(next(numbers)))
            port._heard_ns = 0  # the place is free
            port.poll(5)
            port.receive()
            port.send(output(next(numbers)))
            return link.newest(10) is not None

        assert until(is_back)


def test_a_device_at_the_end_of_a_tunnel_has_another_clock():
    """Protects both: on one machine the future is refused; through a tunnel stamps say nothing of here."""
    late = encode(output(0, t_sent=now_ns() + 10**12))
    assert OutputIntake(one_clock=True).accept(late, now_ns()) is None
    assert OutputIntake(one_clock=False).accept(late, now_ns()) is not None
    for address, one in (("tcp://127.0.0.1:1", True), ("tcp://localhost:1", True), ("tcp://[::1]:1", True),
                         ("ipc:///tmp/x", True), ("tcp://10.0.0.7:1", False)):  # fmt: skip
        assert is_here(address) == one


def test_nothing_is_kept_for_a_device_that_is_not_there():
    """Protects from old commands: what was sent before a device connects never reaches it."""
    with DevicePort(LOCAL) as port:
        for seq in range(5):
            port.send(output(seq, armed=True, torque=[9.0]))
        with ModelLink(port.address) as link:
            until(lambda: link.send(measured(0)) or port.poll(10))
            until(port.receive)
            port.send(output(5))
            found = until(lambda: link.newest(20))
            assert found[0].seq == 5
            assert not found[0].armed


def test_a_second_device_waits_until_the_first_is_silent():
    """Protects from two devices at one model: the second is counted and refused, and has its turn later."""
    with DevicePort(LOCAL) as port, ModelLink(port.address) as first, ModelLink(port.address) as second:
        numbers = iter(range(1_000_000))

        def refused() -> bool:
            k = next(numbers)
            first.send(measured(k, torque=[1.0]))
            second.send(measured(k, torque=[2.0]))
            port.poll(5)
            port.receive()
            return port.n_other > 3

        until(lambda: first.send(measured(next(numbers), torque=[1.0])) or (port.poll(5) and port.receive()))
        until(refused)
        assert any("second device" in said for said in port.sentences())
        until(
            lambda: (
                second.send(measured(next(numbers), torque=[2.0]))
                or (port.poll(5) and port.receive() and port.taken[-1][0].torque == [2.0])
            )
        )


def test_nobody_takes_the_place_of_a_device_under_torque():
    """Protects whoever wears it: while torque is commanded a silent device is a fault, not a vacancy."""
    with DevicePort(LOCAL) as port, ModelLink(port.address) as first, ModelLink(port.address) as second:
        until(lambda: first.send(measured(0)) or (port.poll(5) and port.receive()))
        port.keeps = True
        due = now_ns() + 2 * exchange.SILENT_NS
        numbers = iter(range(1_000_000))

        def is_taken() -> bool:
            second.send(measured(next(numbers), torque=[2.0]))
            port.poll(5)
            return port.receive() and any(message.torque == [2.0] for message, _ in port.taken)

        def is_refused() -> bool:
            assert not is_taken()
            return now_ns() > due and port.n_other > 3

        until(is_refused)
        port.keeps = False
        until(is_taken)


def test_a_device_that_is_faster_than_the_model_is_never_behind():
    """Protects slow models from old measurements: one look takes all that waits and reads the newest."""
    with DevicePort(LOCAL) as port, ModelLink(port.address) as link:
        until(lambda: link.send(measured(0)) or (port.poll(10) and port.receive()))
        for seq in range(1, 401):
            link.send(measured(seq))
            time.sleep(0.0005)
        until(lambda: port.poll(10) and port.receive() and port.taken[-1][0].seq == 400)
        assert port.counters["skipped"] > 0
        assert port.counters["skipped"] + port.counters["received"] == 401


def test_rubbish_from_a_device_is_counted_and_survived():
    """Protects the model's side from bytes of a stranger: each is counted, good ones still come through."""
    with DevicePort(LOCAL) as port, zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
        stranger.linger = 0
        stranger.connect(port.address)
        for rubbish in ([b""], [b"device"], [b"device", b"x" * 3000], [b"a", b"b", b"c", b"d", b"e"]):
            stranger.send_multipart(rubbish)
        stranger.send_multipart(encode(measured(0)))
        until(lambda: port.poll(10) and port.receive())
        assert port.counters["malformed"] == 4
        assert port.counters["received"] == 1
