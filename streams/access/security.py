"""Access to endpoints: loopback by default, CURVE keys and an allow-list of clients for anything else.

The server holds its secret file and a folder with the public files of the clients it allows; a client holds
its own secret file and the server's public file. Key files that other users could have written or could
replace are refused (`streams/access/ownership.py`).
"""

from __future__ import annotations

import ipaddress
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import zmq

from streams.access.allow_list import AllowList, ListedKeys
from streams.access.key_files import load_pair, load_public, naming_file
from streams.addresses import check_address
from streams.errors import StreamError

if TYPE_CHECKING:
    from zmq.auth.thread import ThreadAuthenticator

ZAP_DOMAIN = "rtsim"


@dataclass(frozen=True)
class Security:
    """The keys of one end of a connection, which is either the server, whose socket binds, or a client. Build
    it with `for_server` or `for_client`, or by streams/access/roles.py.

    known : names and roles of those who may connect, by public key; None = those in the folder
        `allowed_clients`
    """

    server_key: Path | None = None
    allowed_clients: Path | None = None
    client_key: Path | None = None
    server_public_key: Path | None = None
    known: ListedKeys | None = None

    @staticmethod
    def for_server(server_key: Path | str, allowed_clients: Path | str) -> Security:
        """Return the keys of the side that binds: its secret key file and the folder of allowed public key
        files."""
        return Security(server_key=Path(server_key), allowed_clients=Path(allowed_clients))

    def check(self) -> None:
        """Read every key once, before anything is started; StreamError where a file is not a key."""
        if self.server_key is not None:
            load_pair(self.server_key)
        if self.allowed_clients is not None and self.known is None:
            AllowList(self.allowed_clients)
        if self.client_key is not None:
            load_pair(self.client_key)
        if self.server_public_key is not None:
            load_public(self.server_public_key)

    @staticmethod
    def for_client(client_key: Path | str, server_public_key: Path | str) -> Security:
        """Return the keys of the side that connects: its secret key file and the server's public key file."""
        return Security(client_key=Path(client_key), server_public_key=Path(server_public_key))


def is_loopback(address: str) -> bool:
    """Return whether an endpoint can only be reached from this machine."""
    if address.startswith(("ipc://", "inproc://")):
        return True
    if not address.startswith("tcp://"):
        return False
    host = address.removeprefix("tcp://").rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_bind(address: str, security: Security | None) -> None:
    """Raise StreamError for an endpoint that would be open to the network without keys and an allow-list."""
    check_address(address, binding=True)
    secured = security is not None and security.server_key and security.allowed_clients
    if not secured and not is_loopback(address):
        raise StreamError(
            f"{address} can be reached from the network and has no keys; bind to tcp://127.0.0.1 instead, "
            "or give a server key and a folder of allowed client keys"
        )


def secure_server(
    context: zmq.Context[zmq.Socket[bytes]], socket: zmq.Socket[bytes], security: Security
) -> tuple[ThreadAuthenticator, ListedKeys]:
    """Make a socket that is about to bind demand keys of its clients.

    Returns the running authenticator, to be stopped after the socket is closed, and the keys that it accepts,
    which follow the allow-list.
    """
    if security.server_key is None or security.allowed_clients is None:
        raise StreamError(
            "the side that binds needs its own secret key file and a folder of allowed client keys"
        )
    public, secret = load_pair(security.server_key)
    listed = security.known or ListedKeys(AllowList(security.allowed_clients))
    _set_pair(socket, security.server_key, public, secret)
    socket.curve_server = True
    # With a domain set, a client is refused when no authenticator answers.
    socket.zap_domain = ZAP_DOMAIN.encode()

    # Imported here because it brings asyncio along, which nothing else needs.
    from zmq.auth.thread import ThreadAuthenticator

    quiet = logging.getLogger("streams.access.security")
    quiet.addHandler(logging.NullHandler())
    authenticator = ThreadAuthenticator(context, log=quiet)
    authenticator.start()  # last of what can fail: nobody would stop it
    authenticator.configure_curve_callback(ZAP_DOMAIN, listed)
    return authenticator, listed


def secure_client(socket: zmq.Socket[bytes], security: Security) -> None:
    """Give a socket that is about to connect its own keys and the one server key it trusts."""
    if security.client_key is None or security.server_public_key is None:
        raise StreamError(
            "the side that connects needs its own secret key file and the server's public key file"
        )
    _set_pair(socket, security.client_key, *load_pair(security.client_key))
    with naming_file(security.server_public_key):
        socket.curve_serverkey = load_public(security.server_public_key)


def _set_pair(socket: zmq.Socket[bytes], path: Path, public: bytes, secret: bytes) -> None:
    with naming_file(path):
        socket.curve_publickey, socket.curve_secretkey = public, secret
