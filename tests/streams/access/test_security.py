"""Keys and allow-list, with real keys over loopback."""

import shutil
import stat
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from streams.access.key_files import create_keys
from streams.access.security import Security, check_bind, is_loopback
from streams.control.commands import ControlServer, request
from streams.errors import StreamError
from streams.messages import Command, marker_session
from streams.publisher import Publisher

GUARD_S = 120.0
LOCAL = "tcp://127.0.0.1:0"


class Keys(NamedTuple):
    server: Security
    friend: Security
    stranger: Security
    folder: Path


@pytest.fixture
def keys(tmp_path) -> Keys:
    """A server that allows the friend, and a stranger whom it does not know."""
    server_public, server_secret = create_keys(tmp_path / "server", "server")
    friend_public, friend_secret = create_keys(tmp_path / "friend", "friend")
    _, stranger_secret = create_keys(tmp_path / "stranger", "stranger")
    (tmp_path / "allowed").mkdir()
    shutil.copy(friend_public, tmp_path / "allowed")
    return Keys(
        Security.for_server(server_secret, tmp_path / "allowed"),
        Security.for_client(friend_secret, server_public),
        Security.for_client(stranger_secret, server_public),
        tmp_path,
    )


def test_the_allowed_client_receives_and_others_do_not(keys, subscribe, eventually):
    """Protects the stream: only keys on the list get in; the refused client is told."""
    with Publisher(LOCAL, keys.server) as publisher:
        session = marker_session(["LASI"], rate=100.0, t_start=0)
        publisher.announce(session)
        friend = subscribe(publisher.address, security=keys.friend)
        stranger = subscribe(publisher.address, security=keys.stranger)
        keyless = subscribe(publisher.address)

        def settled() -> bool:
            publisher.service()
            return (
                friend.session == session
                and any("refuses this client's key" in said for said in stranger.events)
                and any("keys are missing or wrong" in said for said in keyless.events)
                and publisher.n_subscriber == 1
            )

        eventually(settled)
        assert stranger.session is None
        assert keyless.session is None


def test_a_client_does_not_trust_another_server(keys, subscribe, eventually):
    """Protects the client: a server without the expected key is not listened to."""
    other_public, _ = create_keys(keys.folder / "other", "other")
    suspicious = Security.for_client(keys.friend.client_key, other_public)
    with Publisher(LOCAL, keys.server) as publisher:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        subscriber = subscribe(publisher.address, security=suspicious)

        def told() -> bool:
            publisher.service()
            return any("keys are missing or wrong" in said for said in subscriber.events)

        eventually(told)
        assert subscriber.session is None


def test_commands_need_a_key_too(keys):
    """Protects the estimator from commands of strangers."""
    done: list[str] = []

    def do(command: Command) -> tuple[bool, str]:
        done.append(command.name)
        return True, "done"

    with ControlServer(LOCAL, do, ("stop", "status"), keys.server) as server:
        assert request(server.address, "status", timeout_s=GUARD_S, security=keys.friend) == (True, "done")
        assert not request(server.address, "stop", timeout_s=0.3, security=keys.stranger)[0]
        assert not request(server.address, "stop", timeout_s=0.3)[0]
    assert done == ["status"]


@pytest.mark.parametrize(
    "address",
    ["tcp://0.0.0.0:5560", "tcp://*:5560", "tcp://192.168.1.5:5560", "tcp://[::]:5560", "tcp://eth0:5560"],
)
def test_the_network_is_closed_without_keys(address):
    """Protects against opening a port to everybody by accident: what, where and remedy in one sentence."""
    for make in (Publisher, lambda address: ControlServer(address, lambda command: (True, ""), ())):
        with pytest.raises(StreamError) as caught:
            make(address)
        text = str(caught.value)
        assert address in text
        assert "no keys" in text
        assert "bind to tcp://127.0.0.1" in text
        assert "\n" not in text


def test_client_keys_do_not_open_the_network(keys):
    """Protects against the wrong half of the keys."""
    with pytest.raises(StreamError, match="no keys"):
        check_bind("tcp://0.0.0.0:5560", keys.friend)
    check_bind("tcp://0.0.0.0:5560", keys.server)


def test_the_network_is_open_with_keys(keys):
    """Protects the laboratory: with keys and allow-list, any interface can be bound."""
    with Publisher("tcp://0.0.0.0:0", keys.server) as publisher:
        assert publisher.address.startswith("tcp://0.0.0.0:")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("tcp://127.0.0.1:5560", True),
        ("tcp://127.9.9.9:1", True),
        ("tcp://localhost:5560", True),
        ("tcp://[::1]:5560", True),
        ("ipc:///run/markers", True),
        ("inproc://markers", True),
        ("tcp://localhost.example.org:5560", False),
        ("tcp://127.0.0.1.example.org:5560", False),
        ("tcp://*:5560", False),
        ("tcp://0.0.0.0:5560", False),
        ("tcp://[::]:5560", False),
        ("udp://127.0.0.1:5560", False),
        ("", False),
    ],
)
def test_loopback_is_recognised(address, expected):
    """Protects the rule on which all depends."""
    assert is_loopback(address) == expected


def test_ipv6_loopback_works(subscribe, eventually):
    """Protects machines that name loopback by its other address."""
    try:
        publisher = Publisher("tcp://[::1]:0")
    except StreamError:
        pytest.skip("this machine has no IPv6")
    with publisher:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        subscriber = subscribe(publisher.address)
        assert publisher.wait_for_subscriber(GUARD_S)
        eventually(lambda: subscriber.session is not None)


def test_unusable_keys_are_named(keys, tmp_path):
    """Protects the user: each wrong file is a sentence that names it, before the run."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "junk.key_secret").write_text("junk")
    public = keys.friend.server_public_key
    server = keys.server
    for security, words in (
        (Security.for_server(tmp_path / "missing", server.allowed_clients), "missing"),
        (Security.for_server(tmp_path / "junk.key_secret", server.allowed_clients), "junk"),
        (Security.for_server(public, server.allowed_clients), "no secret key"),
        (Security.for_server(server.server_key, tmp_path / "empty"), "no allowed client keys"),
        (Security.for_server(server.server_key, tmp_path / "absent"), "no allowed client keys"),
        (keys.friend, "its own secret key file"),
    ):
        with pytest.raises(StreamError, match=words):
            Publisher(LOCAL, security)
    with pytest.raises(StreamError, match="its own secret key file"):
        request("tcp://127.0.0.1:1", "status", security=server)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no mode there")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o602, 0o777])
def test_a_secret_that_others_may_read_is_refused(keys, subscribe, mode):
    """Protects secrets: a key file open to others is refused on both sides, with the remedy."""
    for path, use in (
        (keys.server.server_key, lambda: Publisher(LOCAL, keys.server)),
        (keys.server.server_key, lambda: ControlServer(LOCAL, lambda command: (True, ""), (), keys.server)),
        (keys.friend.client_key, lambda: subscribe("tcp://127.0.0.1:1", security=keys.friend)),
        (keys.friend.client_key, lambda: request("tcp://127.0.0.1:1", "status", security=keys.friend)),
    ):
        path.chmod(mode)
        with pytest.raises(StreamError) as caught:
            use()
        assert f"chmod 600 {path}" in str(caught.value)
        assert "\n" not in str(caught.value)
        path.chmod(0o600)
    Publisher(LOCAL, keys.server).close()


def test_keys_are_made_once_and_kept_private(tmp_path):
    """Protects secrets: readable by the owner only, and never overwritten."""
    public, secret = create_keys(tmp_path / "keys", "me")
    assert (public.name, secret.name) == ("me.key", "me.key_secret")
    if sys.platform != "win32":
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert "secret-key" not in public.read_text()
    before = secret.read_text()
    with pytest.raises(StreamError, match="exists already"):
        create_keys(tmp_path / "keys", "me")
    with pytest.raises(StreamError, match="plain file name"):
        create_keys(tmp_path, "../me")
    assert secret.read_text() == before
