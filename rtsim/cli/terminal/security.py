"""Command-line options for CURVE keys, of commands that bind an address, and of those that connect to one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rtsim.errors import ConfigError
from streams.access.roles import RoleKeys
from streams.access.security import Security


def bind_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the key options for a command that binds an address; keys are required if the address is reachable
    from the network.
    """
    function = click.option(
        "--clients", metavar="FOLDER", help="Folder of the public keys whose owners may connect."
    )(function)
    return click.option("--key", metavar="FILE", help="Secret key of this server (rtsim keys).")(function)


def connect_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the key options for a command that connects to an address."""
    function = click.option("--server-key", metavar="FILE", help="Public key of the server to connect to.")(
        function
    )
    return click.option("--client-key", metavar="FILE", help="Secret key of this client (rtsim keys).")(
        function
    )


def bind_security(key: str | None, clients: str | None) -> Security | None:
    """Return the security of a server from the options; None if no key is given."""
    if not key and not clients:
        return None
    if not (key and clients):
        raise ConfigError("--key and --clients go together", where="security", remedy="give both")
    return _checked(Security.for_server(key, clients))


def role_keys(key: str | None, clients: str | None) -> RoleKeys | None:
    """Return the keys of a run with a device: its own from the file `key`, and those of its clients from the
    folder `clients`, whose subfolders (watch, set, arm, device) state what a client with a key in them may
    do. None if no key is given.

    ConfigError if only one of the two is given."""
    if not key and not clients:
        return None
    if not (key and clients):
        raise ConfigError("--key and --clients go together", where="security", remedy="give both")
    return RoleKeys(Path(key), Path(clients))


def connect_security(
    client_key: str | None, server_key: str | None, option: str = "--server-key"
) -> Security | None:
    """Return the security of a client from the options; None if no key is given. option : name of the option
    with the server's key.
    """
    if not client_key and not server_key:
        return None
    if not (client_key and server_key):
        raise ConfigError(f"--client-key and {option} go together", where="security", remedy="give both")
    return _checked(Security.for_client(client_key, server_key))


def _checked(security: Security) -> Security:
    """Return the keys after reading them; StreamError names an unreadable file."""
    security.check()
    return security
