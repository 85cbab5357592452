"""Keys that are added, taken out or moved while a socket is bound, with real keys over loopback."""

import shutil
import sys
from pathlib import Path

import pytest

from streams.access.allow_list import AllowList, ListedKeys, read_roles
from streams.access.askers import Asker
from streams.access.key_files import create_keys
from streams.access.security import Security
from streams.control.commands import ControlServer, request
from streams.errors import StreamError
from streams.exchange import DevicePort, ModelLink
from streams.messages import Command, Device, marker_session
from streams.publisher import Publisher

LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0
WATCHED = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells connections apart")


class Team:
    """A server with an allow-list, and a pair of keys for each of its people."""

    def __init__(self, folder: Path) -> None:
        self.server_public, self.server_key = create_keys(folder / "server", "server")
        self.clients, self._own = folder / "clients", folder / "own"
        self.clients.mkdir(mode=0o700)

    @property
    def server(self) -> Security:
        return Security.for_server(self.server_key, self.clients)

    def of(self, name: str) -> Security:
        """What somebody connects with; the pair is made where there is none yet."""
        if not (self._own / f"{name}.key").exists():
            create_keys(self._own, name)
        return Security.for_client(self._own / f"{name}.key_secret", self.server_public)

    def put(self, name: str, role: str) -> None:
        """Put the public key of somebody into the folder of a role, as a copy that appears at once."""
        self.of(name)
        (self.clients / role).mkdir(exist_ok=True, mode=0o700)
        part = self._own / f"{name}.part"
        shutil.copy(self._own / f"{name}.key", part)
        part.rename(self.clients / role / f"{name}.key")

    def take(self, name: str, role: str) -> None:
        (self.clients / role / f"{name}.key").unlink()


@pytest.fixture
def team(tmp_path: Path) -> Team:
    team = Team(tmp_path)
    team.put("anna", "arm")
    team.put("lea", "watch")
    return team


@WATCHED
def test_who_is_taken_off_is_cut_and_the_others_miss_nothing(team: Team, subscribe, eventually) -> None:
    """Protects a stream when somebody leaves: the open connection of a removed key ends, a sentence says so,
    and those who stay, each known by its key, get every frame.
    """
    with Publisher(LOCAL, team.server) as publisher:
        session = marker_session(["LASI"], rate=100.0, t_start=0)
        publisher.announce(session)
        anna, lea = (subscribe(publisher.address, security=team.of(name)) for name in ("anna", "lea"))
        said: list[str] = []

        def served() -> None:
            publisher.service()
            said.extend(publisher.events.popleft() for _ in range(len(publisher.events)))

        def both() -> bool:
            served()
            return publisher.n_subscriber == 2 and anna.session == session and lea.session == session

        eventually(both)
        team.take("lea", "watch")

        def refused() -> bool:
            served()
            return publisher.n_subscriber == 1 and any(
                "refuses this client's key" in words for words in lea.events
            )

        def told(part: str) -> bool:
            served()
            return any(part in words for words in said)

        eventually(refused)
        eventually(lambda: told("key lea was taken off the allow-list"))
        eventually(lambda: told("has a key that was removed from the allow-list"))
        assert not [words for words in anna.events if "closed" in words]


def test_who_is_put_on_is_let_in_without_a_restart(team: Team, subscribe, eventually) -> None:
    """Protects a run that goes on: a client that was refused gets in by itself once its key is there."""
    with Publisher(LOCAL, team.server) as publisher:
        session = marker_session(["LASI"], rate=100.0, t_start=0)
        publisher.announce(session)
        tom = subscribe(publisher.address, security=team.of("tom"))

        def refused() -> bool:
            publisher.service()
            return any("refuses this client's key" in words for words in tom.events)

        eventually(refused)
        team.put("tom", "watch")

        def joined() -> bool:
            publisher.service()
            return tom.session == session and publisher.n_subscriber == 1

        eventually(joined)
        assert tom.session == session


class Rights:
    """Everything but `status` needs the role arm."""

    free = ()

    def refusal(self, command: str, asker: Asker) -> str:
        return (
            "" if command == "status" or asker.role == "arm" else f"{asker.name} has the role {asker.role}."
        )

    def done(self, command: str, asker: Asker) -> None:
        return None


def test_another_role_holds_from_the_next_command_on(team: Team, eventually) -> None:
    """Protects from rights that were taken away, and gives those that were granted, without a restart."""
    done: list[str] = []

    def do(command: Command) -> tuple[bool, str]:
        done.append(command.name)
        return True, "done"

    with ControlServer(LOCAL, do, ("stop", "status"), team.server, Rights()) as server:

        def ask(name: str, command: str) -> tuple[bool, str]:
            return request(server.address, command, timeout_s=GUARD_S, security=team.of(name))

        assert ask("anna", "stop") == (True, "done")
        assert "key lea has the role watch" in ask("lea", "stop")[1]
        (team.clients / "watch" / "lea.key").rename(team.clients / "arm" / "lea.key")
        (team.clients / "arm" / "anna.key").rename(team.clients / "watch" / "anna.key")
        eventually(lambda: ask("lea", "stop")[0])
        eventually(lambda: "key anna has the role watch" in ask("anna", "stop")[1])


@WATCHED
def test_a_device_whose_key_is_taken_off_is_no_longer_heard(team: Team, eventually) -> None:
    """Protects the limb from a device that was taken out of use; another one is heard without a restart."""
    team.put("orthosis", "device")
    listed = ListedKeys(AllowList(team.clients), ("device",))
    security = Security(server_key=team.server_key, allowed_clients=team.clients, known=listed)
    with DevicePort(LOCAL, security) as port:

        def speak(link: ModelLink, n: int) -> bool:
            link.newest(10)
            link.send(Device(session="", seq=n, t=n + 1, angle=[0.0], speed=[0.0], torque=[0.0],
                             state="disarmed"))  # fmt: skip
            return port.receive()

        with ModelLink(port.address, team.of("orthosis")) as link:
            sent = iter(range(100_000))
            eventually(lambda: speak(link, next(sent)))
            team.take("orthosis", "device")
            team.put("spare", "device")
            eventually(lambda: not speak(link, next(sent)) and link.counters is not None
                       and any("from the allow-list" in words for words in port.sentences()))  # fmt: skip
            assert not any(speak(link, next(sent)) for _ in range(20))
            with ModelLink(port.address, team.of("spare")) as spare:
                eventually(lambda: speak(spare, next(sent)))


def test_a_list_that_cannot_be_used_lets_nobody_new_in_and_keeps_who_was(team: Team, monkeypatch) -> None:
    """Protects from a slip in the middle of a change: no role is given or kept by accident."""
    monkeypatch.setattr("streams.access.allow_list.LOOK_NS", 0)
    listed = AllowList(team.clients)
    before = dict(listed.askers)
    team.put("tom", "set")
    team.put("tom", "arm")  # one key in two places
    listed.refresh()
    assert listed.askers == before
    assert any("new connections are refused" in words for words in listed.sentences)
    team.take("lea", "watch")
    listed.refresh()
    assert [asker.name for asker in listed.askers.values()] == ["key anna"]
    team.take("tom", "arm")
    listed.refresh()
    assert {asker.name: asker.role for asker in listed.askers.values()} == {
        "key anna": "arm",
        "key tom": "set",
    }
    (team.clients / "set" / "tom.key").write_text("junk")
    listed.refresh()
    assert [asker.name for asker in listed.askers.values()] == ["key anna"]
    shutil.rmtree(team.clients)
    listed.refresh()
    assert not listed.askers
    with pytest.raises(StreamError, match="it is not a folder"):
        read_roles(team.clients)
