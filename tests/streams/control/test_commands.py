"""Commands over real sockets."""

import contextlib
import socket
import threading
import time

import msgpack
import pytest
import zmq

from streams.access.askers import NOT_TOLD, Asker
from streams.control import commands
from streams.control.commands import COMMAND_LIMIT, ControlServer, request
from streams.errors import StreamError
from streams.sockets import client_socket

GUARD_S = 120.0
LOCAL = "tcp://127.0.0.1:0"
COMMANDS = ("set_method", "set_downweighting", "status", "stop")


def handle(command) -> tuple[bool, str]:
    if command.args.get("method") == "nonsense":
        return False, "There is no method 'nonsense'."
    if command.args.get("method") == "broken":
        raise RuntimeError("the solver is gone")
    return True, f"{command.name} done with {command.args}."


@pytest.fixture
def server():
    with ControlServer(LOCAL, handle, COMMANDS) as server:
        yield server


@pytest.fixture
def raw_client(server):
    context = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.linger, socket.rcvtimeo = 0, int(GUARD_S * 1000)
    socket.connect(server.address)
    yield socket
    socket.close()
    context.term()


def ask(server: ControlServer, name: str, **args) -> tuple[bool, str]:
    return request(server.address, name, args, GUARD_S)


def test_a_command_is_done_and_answered(server):
    """Protects the way there and back, arguments included."""
    assert ask(server, "set_method", method="mbo") == (True, "set_method done with {'method': 'mbo'}.")
    assert request(server.address, "status", timeout_s=GUARD_S) == (True, "status done with {}.")


def test_refusals_are_told(server):
    """Protects the user: what the handler refuses, fails at or does not know comes back as a sentence."""
    assert ask(server, "set_method", method="nonsense") == (False, "There is no method 'nonsense'.")
    assert ask(server, "set_method", method="broken") == (
        False,
        "The command 'set_method' failed: the solver is gone.",
    )
    ok, text = ask(server, "fly")
    assert not ok
    assert "'fly'" in text
    assert "set_method" in text
    assert ask(server, "status")[0]  # still alive


@pytest.mark.parametrize(
    "body",
    [
        [b"command", b"\xc1"],
        [b"command"],
        [],
        [b"x"] * 20,
        [b"end", msgpack.packb({"v": 1, "type": "end", "session": "", "seq": 0, "reason": ""})],
        [b"command", msgpack.packb({"v": 2, "type": "command", "session": "", "name": "status", "args": {}})],
        [b"command", msgpack.packb({"v": 1, "type": "command", "session": "", "name": 5})],
        [b"command", msgpack.packb({"v": 1, "type": "command", "session": "", "name": "x" * 65})],
    ],
)
def test_malformed_commands_are_answered(server, raw_client, body):
    """Protects clients in other languages: a mistake gets an answer that says what it was."""
    raw_client.send_multipart([b"", *body])
    empty, topic, payload = raw_client.recv_multipart()
    reply = msgpack.unpackb(payload)
    assert (empty, topic, reply["type"], reply["gauges"]) == (b"", b"telemetry", "telemetry", {"ok": 0.0})
    assert len(reply["text"][0]) > 20
    assert ask(server, "status")[0]


def test_an_enormous_command_is_cut_off(server, raw_client):
    """Protects the server's memory; others are served on."""
    raw_client.send_multipart([b"", b"command", bytes(COMMAND_LIMIT + 1)])
    assert ask(server, "status")[0]


def test_many_clients_get_their_own_answers(server):
    """Protects replies from going to somebody else."""
    answers = {}

    def client(number: int) -> None:
        answers[number] = ask(server, "set_method", method=f"m{number}")

    threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: (True, f"set_method done with {{'method': 'm{n}'}}.") for n in range(8)}


def test_nobody_there_is_said():
    """Protects the user from waiting for ever."""
    with ControlServer(LOCAL, handle, COMMANDS) as server:
        address = server.address
    ok, text = request(address, "status", timeout_s=0.05)
    assert not ok
    assert address in text
    assert "0.05 s" in text


def test_a_stranger_behind_the_address_is_named(raw_sender):
    """Protects against asking the wrong port: a publisher gives no answer."""
    ok, text = request(raw_sender.address, "status", timeout_s=0.1)
    assert not ok
    assert "Nobody answered" in text


def test_a_stranger_who_hangs_up_before_the_command_is_sent_is_named(raw_sender, monkeypatch) -> None:
    """Protects against waiting for ever: a publisher may end the link for good before anything is sent."""
    opened, answers = commands.ClientLink, []

    def late(*arguments):
        link = opened(*arguments)
        time.sleep(0.02)  # the publisher has seen who calls, and in one of three cases has hung up
        return link

    def ask_often() -> None:
        answers.extend(request(raw_sender.address, "status", timeout_s=0.05) for _ in range(12))

    monkeypatch.setattr(commands, "ClientLink", late)
    asking = threading.Thread(target=ask_often, daemon=True)
    asking.start()
    asking.join(GUARD_S)
    assert len(answers) == 12
    assert all(not ok and "Nobody answered" in text for ok, text in answers)


def test_arguments_must_be_plain(server):
    """Protects the wire: an argument that cannot travel is refused before sending."""
    with pytest.raises(StreamError):
        ask(server, "set_method", method=object())


class Cutting:
    """A wire to a server that cuts a connection as soon as a message with these bytes came over it."""

    def __init__(self, address: str, word: bytes, n_cut: int) -> None:
        self.word, self.n_left = word, n_cut
        self._to = ("127.0.0.1", int(address.rpartition(":")[2]))
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._door.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, far = self._door.accept()[0], socket.create_connection(self._to)
                for one, other, cuts in ((near, far, True), (far, near, False)):
                    threading.Thread(target=self._carry, args=(one, other, cuts), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket, cuts: bool) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                if cuts and self.n_left and self.word in data:
                    self.n_left -= 1
                    break
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self._thread.join()


def test_a_crowded_endpoint_is_tried_every_second() -> None:
    """Protects who gives a command among a crowd: the system would rest for up to a minute between tries."""
    with zmq.Context() as context, client_socket(context, zmq.REQ, "tcp://127.0.0.1:1", None) as made:
        assert made.connect_timeout == 1000


@pytest.mark.parametrize(
    ("name", "word", "done"),
    [("status", b"status", True), ("set_method", b"ticket", True), ("set_method", b"set_method", False)],
)
def test_a_connection_that_is_lost_is_made_anew(server, name: str, word: bytes, done: bool) -> None:
    """Protects who gives a command among a crowd that has it cut off: it is given again where it cannot have
    been done or may be done twice, and not where nobody knows.
    """
    cutting = Cutting(server.address, word, 2 if done else 1)
    with contextlib.closing(cutting):
        ok, text = request(cutting.address, name, {}, GUARD_S if done else 0.5)
    assert (ok, text.startswith(f"{name} done with")) == (done, done)
    assert cutting.n_left == 0


class Doubts:
    """Rights that know nobody for a while, as while messages of a connection that was cut off wait."""

    free = ()

    def __init__(self, n: int) -> None:
        self.n = n

    def refusal(self, command: str, asker: Asker) -> str:
        self.n -= 1
        return f"{command} needs the role set, and {NOT_TOLD.name} has none." if self.n >= 0 else ""

    def done(self, command: str, asker: Asker) -> None:
        """Nothing is noted."""


def test_who_is_not_known_yet_asks_again():
    """Protects `disarm` behind a flood: a refusal for want of a name passes, and nobody has to repeat it."""
    rights = Doubts(2)
    with ControlServer(LOCAL, handle, COMMANDS, rights=rights) as server:
        assert request(server.address, "set_method", {"method": "mbo"}, GUARD_S)[0]
    assert rights.n == -1


def test_who_is_never_known_is_told(monkeypatch):
    """Protects from waiting: where no system says whose a connection is, the refusal comes back."""
    monkeypatch.setattr(commands, "UNKNOWN_NS", 0)
    with ControlServer(LOCAL, handle, COMMANDS, rights=Doubts(10**9)) as server:
        done, answer = request(server.address, "status", timeout_s=GUARD_S)
    assert not done
    assert NOT_TOLD.name in answer
