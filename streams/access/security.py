"""Who may listen: loopback by default, CURVE keys and an allow-list of clients for anything else.

A key is a pair of files made by create_keys: NAME.key (public, may be copied) and NAME.key_secret (stays
on its machine). The server holds its secret file and a folder with the public files of the clients it
allows; a client holds its own secret file and the server's public file. What others could have put there, or
could exchange, is refused (`streams/access/ownership.py`).
"""

from __future__ import annotations

import ipaddress
import logging
import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import zmq
import zmq.auth

from streams.access.ownership import check_kept
from streams.addresses import check_address
from streams.errors import StreamError
from streams.recording.opening import open_regular

if TYPE_CHECKING:
    from zmq.auth.thread import ThreadAuthenticator

    from streams.access.askers import Asker

ZAP_DOMAIN = "rtsim"
MOST_BYTES = 65_536
"""Size of a key file [bytes], far more than it needs."""


@dataclass(frozen=True)
class Security:
    """The keys of one side; build it with `for_server` or `for_client`, or by streams/access/roles.py.

    known : who may connect, by public key, in the place of the keys of the folder `allowed_clients`
    """

    server_key: Path | None = None
    allowed_clients: Path | None = None
    client_key: Path | None = None
    server_public_key: Path | None = None
    known: Mapping[str, Asker] | None = None

    @staticmethod
    def for_server(server_key: Path | str, allowed_clients: Path | str) -> Security:
        """For the side that binds: its secret key file and the folder of allowed public key files."""
        return Security(server_key=Path(server_key), allowed_clients=Path(allowed_clients))

    def check(self) -> None:
        """Read every key once, before anything is started; StreamError where a file is not a key."""
        if self.server_key is not None:
            _load_pair(self.server_key)
        if self.allowed_clients is not None and self.known is None:
            _check_allowed(self.allowed_clients)
        if self.client_key is not None:
            _load_pair(self.client_key)
        if self.server_public_key is not None:
            _load_public(self.server_public_key)

    @staticmethod
    def for_client(client_key: Path | str, server_public_key: Path | str) -> Security:
        """For the side that connects: its secret key file and the server's public key file."""
        return Security(client_key=Path(client_key), server_public_key=Path(server_public_key))


def create_keys(folder: Path | str, name: str) -> tuple[Path, Path]:
    """Write NAME.key (public) and NAME.key_secret (readable by the owner only); returns both paths.

    Raises StreamError when one of them exists: a lost key cannot be had back; and for a folder that others
    may write to.
    """
    folder = Path(folder)
    if not name or Path(name).name != name:
        raise StreamError(f"{name!r} cannot name a key; give a plain file name")
    for suffix in (".key", ".key_secret"):
        if os.path.lexists(folder / (name + suffix)):
            raise StreamError(
                f"{folder / (name + suffix)} exists already; choose another name or remove it first"
            )
    for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        missing.mkdir(mode=0o700)  # whatever the umask
    check_kept(folder)
    try:
        # Created empty and closed to others first, so that the secret is never readable by anyone else.
        (folder / f"{name}.key_secret").touch(mode=0o600)
        public, secret = zmq.auth.create_certificates(folder, name)
        Path(public).chmod(0o644)  # nobody else writes it, whatever the umask
    except OSError as fault:
        for suffix in (".key", ".key_secret"):  # half a key is none
            (folder / (name + suffix)).unlink(missing_ok=True)
        raise StreamError(
            f"the keys {name} cannot be written into {folder} ({fault.strerror}); no file was kept"
        ) from fault
    return Path(public), Path(secret)


def public_key_of(path: Path) -> str:
    """The public key that a file holds; StreamError where it holds none."""
    return _load_public(path).decode()


def is_loopback(address: str) -> bool:
    """Whether an endpoint can only be reached from this machine."""
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
    """Refuse (StreamError) to open an endpoint to the network without keys and an allow-list."""
    check_address(address, binding=True)
    secured = security is not None and security.server_key and security.allowed_clients
    if not secured and not is_loopback(address):
        raise StreamError(
            f"{address} can be reached from the network and has no keys; bind to tcp://127.0.0.1 instead, "
            "or give a server key and a folder of allowed client keys"
        )


def secure_server(
    context: zmq.Context[zmq.Socket[bytes]], socket: zmq.Socket[bytes], security: Security
) -> ThreadAuthenticator:
    """Make a socket that is about to bind demand keys; returns the running authenticator, to be stopped
    after the socket is closed. The allow-list is read once, here.
    """
    if security.server_key is None or security.allowed_clients is None:
        raise StreamError(
            "the side that binds needs its own secret key file and a folder of allowed client keys"
        )
    public, secret = _load_pair(security.server_key)
    if security.known is None:
        _check_allowed(security.allowed_clients)

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
    if security.known is None:
        authenticator.configure_curve(domain=ZAP_DOMAIN, location=security.allowed_clients)
    else:
        authenticator.configure_curve_callback(ZAP_DOMAIN, _Known(security.known))
    return authenticator


class _Known:
    """Answers the authenticator for keys that are in no folder."""

    def __init__(self, known: Mapping[str, Asker]) -> None:
        self._known = known

    def callback(self, domain: str, key: bytes) -> bool:
        """Whether a public key may connect."""
        return key.decode() in self._known


def secure_client(socket: zmq.Socket[bytes], security: Security) -> None:
    """Give a socket that is about to connect its own keys and the one server key it trusts."""
    if security.client_key is None or security.server_public_key is None:
        raise StreamError(
            "the side that connects needs its own secret key file and the server's public key file"
        )
    _set_pair(socket, security.client_key, *_load_pair(security.client_key))
    with _naming(security.server_public_key):
        socket.curve_serverkey = _load_public(security.server_public_key)


def _set_pair(socket: zmq.Socket[bytes], path: Path, public: bytes, secret: bytes) -> None:
    with _naming(path):
        socket.curve_publickey, socket.curve_secretkey = public, secret


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn the library's refusal of a key, as of one too short, into a sentence on its file."""
    try:
        yield
    except zmq.ZMQError as fault:
        raise StreamError(
            f"{path} cannot be read as a key file ({fault.strerror}); make one with `rtsim keys`"
        ) from fault


def _load_public(path: Path) -> bytes:
    public = _load(path)[0]
    check_kept(path)
    return public


def _load_pair(path: Path) -> tuple[bytes, bytes]:
    public, secret = _load(path)
    if secret is None:
        raise StreamError(f"{path} holds no secret key; give the file that ends in .key_secret")
    check_private(path)
    check_kept(path)
    return public, secret


def check_private(path: Path) -> None:
    """Refuse (StreamError) a secret that others on this machine may read."""
    if os.name == "posix" and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        raise StreamError(
            f"{path} holds a secret key, and others than its owner may use it (mode {mode:03o}); "
            f"close it to them with `chmod 600 {shlex.quote(str(path))}`"
        )


def _load(path: Path) -> tuple[bytes, bytes | None]:
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > MOST_BYTES:
                raise ValueError(f"it is larger than {MOST_BYTES} bytes")
        return zmq.auth.load_certificate(path)
    except (OSError, ValueError) as fault:
        raise StreamError(
            f"{path} cannot be read as a key file ({fault}); make one with `rtsim keys`"
        ) from fault


def _check_allowed(folder: Path) -> None:
    """An unreadable or empty allow-list refuses everybody; say so before the run."""
    files = sorted(folder.glob("*.key")) if folder.is_dir() else []
    if not files:
        raise StreamError(f"{folder} holds no allowed client keys; put the clients' public .key files there")
    for path in files:
        _load_public(path)
