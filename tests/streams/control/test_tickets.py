"""Commands that are sent again, late or by others; and what is written down of each command. Real sockets."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import zmq

from streams.access.askers import Asker
from streams.access.key_files import create_keys
from streams.access.security import Security, secure_client
from streams.codec import encode
from streams.control.commands import ControlServer, request
from streams.control.held_connection import HeldControl, read_answer
from streams.control.journal import MOST_A_SECOND, CommandJournal
from streams.control.tickets import VALID_S, Tickets
from streams.messages import Command

LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0
NAMES = ("arm", "disarm", "status", "emergency_stop")


class Rights:
    """Everybody may stop; all else needs a key of the role arm."""

    free = ("emergency_stop",)

    def refusal(self, command: str, asker: Asker) -> str:
        return (
            "" if asker.role == "arm" else f"{command} needs the role arm, and {asker.name} has {asker.role}."
        )

    def done(self, command: str, asker: Asker) -> None:
        return None


class Controlled:
    """A control address with keys, the commands that it obeyed, and what people connect with."""

    def __init__(self, folder: Path) -> None:
        public, secret = create_keys(folder / "server", "server")
        self.done: list[str] = []
        self.of: dict[str, Security] = {}
        for name, role in (("anna", "arm"), ("bea", "arm"), ("lea", "watch")):
            key, own = create_keys(folder / "own", name)
            (folder / "clients" / role).mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / "clients" / role / key.name).write_text(key.read_text())
            self.of[name] = Security.for_client(own, public)
        self.security = Security.for_server(secret, folder / "clients")

    def serve(self, security: bool = True) -> ControlServer:
        def do(command: Command) -> tuple[bool, str]:
            self.done.append(command.name)
            return True, "Done."

        return ControlServer(LOCAL, do, NAMES, self.security if security else None, Rights())


@pytest.fixture
def control(tmp_path: Path, monkeypatch) -> Controlled:
    monkeypatch.setattr("streams.control.tickets.VALID_S", GUARD_S)  # longer than a busy machine pauses
    return Controlled(tmp_path)


class Wire:
    """A client that sends exactly what it is told."""

    def __init__(self, address: str, security: Security | None) -> None:
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.REQ)
        self.socket.linger, self.socket.rcvtimeo = 0, round(1e3 * GUARD_S)
        if security is not None:
            secure_client(self.socket, security)
        self.socket.connect(address)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()
        self.context.term()

    def ask(self, name: str, **more: str) -> tuple[bool, str]:
        self.socket.send_multipart(encode(Command(name=name, **more)))
        return read_answer(self.socket.recv_multipart(), "it")


def test_a_command_sent_again_by_the_same_or_another_peer_is_refused(control: Controlled) -> None:
    """Protects from torque by an old command: a ticket is good once and on its own connection, and with keys
    nothing that changes something goes without one; what leads to no torque does.
    """
    with (
        control.serve() as server,
        Wire(server.address, control.of["anna"]) as anna,
        Wire(server.address, control.of["bea"]) as bea,
    ):
        ticket = anna.ask("ticket")[1]
        assert anna.ask("arm", ticket=ticket) == (True, "Done.")
        for again in (anna, bea):
            ok, text = again.ask("arm", ticket=ticket)
            assert not ok
            assert "arm is no new command" in text
        stolen = anna.ask("ticket")[1]
        assert "belongs to another connection" in bea.ask("arm", ticket=stolen)[1]
        assert "came without a ticket" in bea.ask("arm")[1]
        assert anna.ask("disarm")[0]
        assert bea.ask("emergency_stop")[0]
        assert request(server.address, "arm", {}, GUARD_S, control.of["bea"]) == (True, "Done.")
    assert control.done == ["arm", "disarm", "emergency_stop", "arm"]


def test_a_command_that_comes_late_or_after_a_restart_is_refused(control: Controlled, monkeypatch) -> None:
    """Protects from a command that arrives when its sender has given up, and from one of a former run."""
    with control.serve() as server, Wire(server.address, control.of["anna"]) as anna:
        ticket = anna.ask("ticket")[1]
        monkeypatch.setattr("streams.control.tickets.VALID_S", 0.0)
        late = anna.ask("ticket")[1]
        assert "after its ticket was given out; give it again" in anna.ask("arm", ticket=late)[1]
        monkeypatch.undo()
    with control.serve() as server, Wire(server.address, control.of["anna"]) as anna:
        assert "arm is no new command" in anna.ask("arm", ticket=ticket)[1]
    assert not control.done


class Tap:
    """A TCP relay that keeps what a client sends, and can put some of it on the wire a second time."""

    def __init__(self, address: str) -> None:
        import socket

        host, port = address.removeprefix("tcp://").split(":")
        self.target = host, int(port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.sent: list[bytes] = []
        self.twice = False
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        import socket

        near = self.listener.accept()[0]
        far = socket.create_connection(self.target)
        threading.Thread(target=self._pass, args=(far, near, False), daemon=True).start()
        self._pass(near, far, True)

    def _pass(self, source, target, keeps: bool) -> None:
        try:
            while data := source.recv(65536):
                if keeps:
                    self.sent.append(data)
                target.sendall(2 * data if keeps and self.twice and b"MESSAGE" in data else data)
        except OSError:
            pass
        for wire in (source, target):
            wire.close()


def test_what_was_caught_on_the_wire_is_of_no_use(control: Controlled) -> None:
    """Protects the network's traffic: the bytes of a command with keys, sent again over the same connection
    or a new one, are not taken for a command; without keys the bytes of one with a ticket are not, either.
    """
    import socket

    with control.serve() as server:
        tap = Tap(server.address)
        assert request(tap.address, "arm", {}, GUARD_S, control.of["anna"])[0]
        with socket.create_connection(tap.target) as again:
            again.settimeout(GUARD_S)
            with suppress(
                ConnectionResetError, BrokenPipeError
            ):  # it hangs up at once, or after its greeting
                again.sendall(b"".join(tap.sent))
                while again.recv(65536):
                    pass
        tap = Tap(server.address)
        tap.twice = True
        assert not request(tap.address, "arm", {}, 1.0, control.of["anna"])[0]  # it was cut off at once
        assert request(server.address, "status", {}, GUARD_S, control.of["anna"])[0]
    assert control.done == ["arm", "status"]
    control.done.clear()
    with control.serve(security=False) as server, Wire(server.address, None) as wire:
        ticket = wire.ask("ticket")[1]
        assert wire.ask("arm", ticket=ticket)[0]
        assert "arm is no new command" in wire.ask("arm", ticket=ticket)[1]
    assert control.done == ["arm"]


def test_the_held_connection_takes_a_ticket_for_each_command(control: Controlled) -> None:
    """Protects the window's buttons: over the connection that stays every command has a ticket of its own."""
    answers: list[tuple[bool, str]] = []
    came = threading.Semaphore(0)

    def then(ok: bool, text: str) -> None:
        answers.append((ok, text))
        came.release()

    with control.serve() as server, HeldControl(server.address, GUARD_S, control.of["anna"]) as held:
        for name in ("arm", "emergency_stop", "arm", "status"):
            held.ask(name, {}, then)
        assert all(came.acquire(timeout=GUARD_S) for _ in range(4))
    assert answers == [(True, "Done.")] * 4
    assert sorted(control.done) == ["arm", "arm", "emergency_stop", "status"]


def test_a_program_that_knows_of_no_tickets_is_still_commanded() -> None:
    """Protects older programs: without the command `ticket` there, the command itself goes as before."""
    from streams.account import Sentences, account
    from streams.codec import decode

    heard: list[str] = []
    with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
        socket.bind(LOCAL)

        def answer() -> None:
            for _ in range(2):
                *envelope, topic, payload = socket.recv_multipart()
                name = decode([topic, payload]).name
                heard.append(name)
                sentences = Sentences()
                sentences.say("Done." if name == "arm" else f"There is no command {name!r}; there are arm.")
                socket.send_multipart(
                    envelope + encode(account("", {}, {"ok": float(name == "arm")}, sentences))
                )

        thread = threading.Thread(target=answer)
        thread.start()
        assert request(socket.getsockopt_string(zmq.LAST_ENDPOINT), "arm", {}, GUARD_S) == (True, "Done.")
        thread.join()
    assert heard == ["ticket", "arm"]


def test_who_did_what_is_written_down(control: Controlled) -> None:
    """Protects the record: each command that was done or refused, with key, role, time, and the stops."""
    with control.serve() as server:
        assert request(server.address, "arm", {"ticks": 3}, GUARD_S, control.of["anna"])[0]
        assert not request(server.address, "arm", {}, GUARD_S, control.of["lea"])[0]
        assert request(server.address, "emergency_stop", {}, GUARD_S, control.of["lea"])[0]
        assert not request(server.address, "fly", {}, GUARD_S, control.of["anna"])[0]
        assert request(server.address, "status", {}, GUARD_S, control.of["anna"])[0]
        told = list(server.events)
        assert server.journal.counters == {"commands_refused": 2}
    assert [words.split(" at ")[0] for words in told] == [
        "Command arm(ticks=3) by key anna (role arm)",
        "Command arm by key lea (role watch)",
        "Command emergency_stop by key lea (role watch)",
        "Command fly by key anna (role arm)",
    ]
    assert [words.split("UTC: ")[1].split(":")[0] for words in told] == ["done", "refused", "done", "refused"]


@pytest.fixture
def seconds(monkeypatch) -> Iterator[Callable[[float], None]]:
    """Sets the clock of the journal and of tickets [s]."""
    at = [0]
    for module in ("journal", "tickets"):
        monkeypatch.setattr(f"streams.control.{module}.now_ns", lambda: at[0])

    def to(s: float) -> None:
        at[0] = round(1e9 * s)

    return to


def test_a_flood_of_refused_commands_pushes_nothing_out(seconds) -> None:
    """Protects the record of what was done: refusals beyond a number a second are counted."""
    journal = CommandJournal(day=lambda: "noon")
    seconds(10.0)
    for _ in range(5000):
        journal.note("arm", {}, Asker("user eve", "watch"), False, "no")
    journal.note("arm", {}, Asker("user ada", "arm"), True, "yes \x1b[31m")
    seconds(11.5)
    journal.flush()
    told = list(journal.sentences)
    assert len(told) == MOST_A_SECOND + 2
    assert told[-2] == "Command arm by user ada (role arm) at noon: done: yes \\x1b[31m"
    assert told[-1].startswith(f"And {5000 - MOST_A_SECOND} more commands")
    assert journal.counters["commands_refused"] == 5000


def test_tickets_are_bounded_and_age(seconds) -> None:
    """Protects memory from who asks for tickets alone, and states how long one is good."""
    tickets = Tickets()
    first = tickets.issue(b"a")
    for _ in range(3000):
        last = tickets.issue(b"a")
    assert len(tickets._given) == 1024
    assert "no new command" in tickets.refusal("arm", first, b"a")
    seconds(VALID_S)
    assert tickets.refusal("arm", last, b"a") == ""
    fresh = tickets.issue(b"a")
    seconds(2.0 * VALID_S + 0.001)
    assert "more than 2 s" in tickets.refusal("arm", fresh, b"a")
