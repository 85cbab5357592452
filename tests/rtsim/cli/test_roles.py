"""Who may arm a run with a device: by key, and by user of this machine; real processes and sockets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streams.access.allow_list import read_roles
from streams.access.key_files import create_keys
from streams.access.roles import RoleKeys
from streams.access.security import Security
from streams.access.users import own_name
from streams.control.commands import request
from streams.control.emergency_stop import request_stop
from streams.errors import StreamError
from tests.rtsim.live.rig import GUARD_S, ROOT, Rig, until

pytestmark = pytest.mark.process
NOBODY = 65534
AS_ANOTHER = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can be another user, and only Linux tells"
)


class Keys:
    """A server, its allow-list, and who holds a key of which role."""

    def __init__(self, folder: Path) -> None:
        self.server_public, self.server = create_keys(folder / "server", "server")
        self.clients = folder / "clients"
        self.secret: dict[str, Path] = {}
        roles = {"lea": "watch", "tom": "set", "anna": "arm", "bea": "arm", "orthosis": "device", "old": ""}
        for name, role in roles.items():
            public, self.secret[name] = create_keys(folder / "own", name)
            (self.clients / role).mkdir(parents=True, exist_ok=True)
            (self.clients / role / public.name).write_text(public.read_text())

    def of(self, name: str) -> Security:
        """What somebody connects with."""
        return Security.for_client(self.secret[name], self.server_public)

    def options(self, name: str) -> list[str]:
        """The same on the command line."""
        return ["--client-key", str(self.secret[name]), "--server-key", str(self.server_public)]


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "keys")


def ready(rig: Rig, *options: str) -> subprocess.Popen:
    """A run of the rig whose addresses are known; its process."""
    model = rig.start("hil", str(rig.config), "--json", "--duration", "60", *options)
    told = json.loads(model.stdout.readline())
    rig.control, rig.results_address, rig.address = told["control"], told["results"], told["device"]
    return model


def test_each_role_may_what_it_may_and_whoever_armed_owns_arming(tmp_path: Path, keys: Keys) -> None:
    """Protects whoever wears it from commands of others; the stop is open to all, without any key."""
    with Rig(tmp_path) as rig:
        ready(rig, "--device", str(rig.spec), "--key", str(keys.server), "--clients", str(keys.clients))

        def ask(name: str, command: str, **args) -> tuple[bool, str]:
            return request(rig.control, command, args, GUARD_S, keys.of(name))

        assert ask("lea", "status")[0]
        assert ask("old", "list")[0]
        refused = {"lea": ("set", "disarm", "arm"), "old": ("stop",), "tom": ("arm", "stop")}
        for name, command in ((name, command) for name, commands in refused.items() for command in commands):
            ok, text = ask(name, command)
            assert not ok
            assert f"key {name} has the role" in text
        assert ask("tom", "set", stiffness_N_m_rad=11.0)[0]
        assert not request(rig.control, "status", timeout_s=0.5)[0]
        assert not request(rig.control, "status", timeout_s=0.5, security=keys.of("orthosis"))[0]

        until(lambda: ask("anna", "arm")[0])
        ok, text = ask("bea", "arm")
        assert not ok
        assert "armed by key anna" in text
        assert ask("bea", "set", stiffness_N_m_rad=10.0)[0]
        assert request_stop(rig.control, timeout_s=GUARD_S)
        until(lambda: "emergency stop" in ask("lea", "status")[1])
        assert "armed by key anna" in ask("bea", "arm")[1]  # a fault gives nothing away
        assert ask("tom", "disarm")[0]
        until(lambda: ask("bea", "arm")[0])
        ok, text = ask("lea", "emergency_stop")
        assert ok
        until(lambda: "emergency stop" in ask("lea", "status")[1])
        assert ask("anna", "stop")[0]


def test_a_run_with_keys_lets_its_own_programs_and_a_device_with_a_key_in(tmp_path: Path, keys: Keys) -> None:
    """Protects runs with keys: recorder and device of its own have a pair of the run; others need theirs."""
    record = tmp_path / "run.mcap"
    server = ("--key", str(keys.server), "--clients", str(keys.clients))
    with Rig(tmp_path) as rig:
        model = rig.start(
            "hil", str(rig.config), "--device", str(rig.spec), "--json", "--duration", "1.5", "--arm", "0.2",
            "--record", str(record), *server,
        )  # fmt: skip
        told, _ = model.communicate(timeout=GUARD_S)
        assert json.loads(told.splitlines()[-1])["arming"] in ("armed", "disarmed")
        assert record.stat().st_size > 10_000
    with Rig(tmp_path) as rig:
        ready(rig, "--device", "none", *server, "--port-address", "tcp://127.0.0.1:0")
        for name in ("anna", "orthosis"):
            rig.start("device", str(rig.spec), "--model", rig.address, *keys.options(name))
            time.sleep(2.0 if name == "anna" else 0.0)  # whose key is none of a device
            if name == "anna":
                assert (
                    "no device has answered" in request(rig.control, "arm", {}, GUARD_S, keys.of("anna"))[1]
                )
        until(lambda: request(rig.control, "arm", {}, GUARD_S, keys.of("anna"))[0])


def test_folders_that_are_no_roles_and_keys_in_two_are_refused(tmp_path: Path, keys: Keys) -> None:
    """Protects from a key that may more than was meant: one sentence that says where."""
    assert {asker.name: asker.role for asker in read_roles(keys.clients).values()} == {
        "key lea": "watch", "key tom": "set", "key anna": "arm", "key bea": "arm", "key orthosis": "device",
        "key old": "watch",
    }  # fmt: skip
    (keys.clients / "admin").mkdir()
    with pytest.raises(StreamError, match="admin is not a role; the folders of an allow-list are watch, set"):
        RoleKeys(keys.server, keys.clients)
    (keys.clients / "admin").rmdir()
    twin = keys.clients / "watch" / "anna2.key"
    twin.write_text((keys.clients / "arm" / "anna.key").read_text())
    with pytest.raises(StreamError, match="is the same key as"):
        read_roles(keys.clients)
    twin.write_text((keys.clients / "set" / "tom.key").read_text())
    twin.rename(keys.clients / "watch" / "anna.key")
    with pytest.raises(StreamError, match=r"is the same key as|has the name of"):
        read_roles(keys.clients)
    (tmp_path / "empty" / "arm").mkdir(parents=True)
    with pytest.raises(StreamError, match="contains no allowed client keys"):
        read_roles(tmp_path / "empty")


def test_an_address_of_the_network_demands_keys(tmp_path: Path, keys: Keys) -> None:
    """Protects from commands of the network: refused before anything starts."""
    with Rig(tmp_path) as rig:
        command = [sys.executable, "-m", "rtsim.cli.main", "hil", str(rig.config), "--device", "none",
                   "--control-address", "tcp://0.0.0.0:0"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        assert done.returncode == 1
        assert "no keys" in done.stderr
        rig.start(*command[3:], "--json", "--duration", "1", "--key", str(keys.server), "--clients",
                  str(keys.clients)).stdout.readline()  # fmt: skip


STRANGER = """
import json, os, sys
os.setgid({nobody}); os.setuid({nobody})
{code}
"""


def as_another(code: str) -> str:
    """What a program of another user prints."""
    text = STRANGER.format(nobody=NOBODY, code=code)
    # imported before, as the files may be closed to that user
    first = (
        "import encodings.idna, fcntl, termios, streams.exchange, tests.streams.crowds\n"
        "from streams.control.commands import request\n"
        "request('tcp://127.0.0.1:1', 'status', timeout_s=0.0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", first + text], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return done.stdout


@AS_ANOTHER
def test_another_user_may_watch_and_stop_only(tmp_path: Path) -> None:
    """Protects a machine that others use: without keys the system says whose a connection is."""
    with Rig(tmp_path) as rig:
        ready(rig, "--device", str(rig.spec), "--arm", "0.1")
        until(lambda: "device armed" in rig.ask("status")[1])
        code = (
            "from streams.control.commands import request\n"
            f"for name in ('status', 'list', 'set', 'arm', 'disarm', 'stop'):\n"
            f"    print(json.dumps([name, *request({rig.control!r}, name, timeout_s={GUARD_S})]))\n"
        )
        answers = {name: (ok, text) for name, ok, text in map(json.loads, as_another(code).splitlines())}
        assert answers["status"][0]
        assert answers["list"][0]
        for name in ("set", "arm", "disarm", "stop"):
            assert not answers[name][0]
            assert "has the role watch" in answers[name][1]
        assert "device armed" in rig.ask("status")[1]
        print_stop = (
            "from streams.control.commands import request\n"
            f"print(request({rig.control!r}, 'emergency_stop', timeout_s={GUARD_S}))"
        )
        assert "True" in as_another(print_stop)
        until(lambda: "emergency stop" in rig.ask("status")[1])
        assert rig.ask("arm")[0]  # the run's own user owns it, by --arm


@AS_ANOTHER
def test_another_user_who_hangs_up_at_once_is_not_taken_for_root(tmp_path: Path) -> None:
    """Protects from the system's account of connections that are over, which it says are root's."""
    with Rig(tmp_path) as rig:
        ready(rig, "--device", str(rig.spec))
        until(lambda: "no device" not in rig.ask("status")[1])
        host, port = rig.control.removeprefix("tcp://").split(":")
        code = (
            "import socket\n"
            "from tests.streams.crowds import GREETING, ready, message\n"
            "from streams.codec import encode\nfrom streams.messages import Command\n"
            "arm = message(b'', *encode(Command(name='arm')))\n"
            "for _ in range(500):\n"
            f"    s = socket.create_connection(({host!r}, {port}))\n"
            "    s.sendall(GREETING + ready(b'DEALER') + arm)\n"
            "    s.close()\n"
        )
        as_another(code)
        for _ in range(20):
            assert "ramping" not in (told := rig.ask("status")[1]), told
            assert "device armed" not in told
            time.sleep(0.02)


@AS_ANOTHER
def test_a_device_of_another_user_is_refused_and_counted(tmp_path: Path) -> None:
    """Protects the exchange: who is no user of the run moves no limb; the true device is heard beside it."""
    with Rig(tmp_path) as rig:
        rig.start_model("--duration", "60")
        code = (
            "import time\nfrom streams.exchange import ModelLink\nfrom streams.messages import Device\n"
            f"link = ModelLink({rig.address!r})\n"
            "for k in range(200):\n"
            "    link.send(Device(session='', seq=k, t=k + 1, angle=[0.0], speed=[0.0], torque=[0.0],\n"
            "                     state='disarmed'))\n"
            "    time.sleep(0.01)\n"
        )
        as_another(code)
        assert not rig.outputs
        assert "no device" in rig.ask("arm")[1]
        rig.start_device()
        until(lambda: len(rig.outputs) > 20)
        until(lambda: any(each.counters.get("device_other_user", 0) > 50 for each in rig.telemetry))


def test_the_user_of_a_connection_is_told() -> None:
    """Protects the account: this process is its own user, by either family of addresses."""
    import socket

    from streams.access.users import TELLS, name_of, uid_of

    if not TELLS:
        pytest.skip("the system does not tell")
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            listener = socket.create_server((host, 0), family=family)
        except OSError:
            continue
        with (
            listener,
            socket.create_connection(listener.getsockname()[:2]) as peer,
            listener.accept()[0] as wire,
        ):
            assert uid_of(wire) == os.geteuid()
            assert name_of(os.geteuid()) == own_name()
            peer.close()
            assert uid_of(wire) is None
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_INET6) as peer,
    ):
        peer.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            peer.connect(("::ffff:127.0.0.1", listener.getsockname()[1]))
        except OSError:
            return
        with listener.accept()[0] as wire:
            assert uid_of(wire) == os.geteuid()
