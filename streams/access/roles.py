"""Keys with roles: folders below the allow-list say what the holder of a key may.

`watch` gets results and asks how it stands, `set` may change parameters and move the limb as well, `arm` may
arm besides; `device` is for the endpoint of the device alone. A key right in the allow-list's folder has the
role `watch`. Which command needs which role says whoever takes commands.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import get_args

from streams.access.askers import Asker, Role
from streams.access.security import Security, create_keys, public_key_of
from streams.access.users import own_name
from streams.closing import Closing
from streams.errors import StreamError

FOLDERS = tuple(role for role in get_args(Role) if role)
PEOPLE = ("watch", "set", "arm")
"""Roles of people, each with all that those before it may."""


def read_roles(folder: Path) -> dict[str, Asker]:
    """Who may do what, by public key. StreamError for a folder that names no role, a key in two places,
    and no keys at all.
    """
    if not folder.is_dir():
        raise StreamError(f"{folder} is no folder; it holds the public .key files of those who may connect")
    found: dict[str, Asker] = {}
    where: dict[str, Path] = {}
    names: dict[str, Path] = {}
    strange = next(
        (each for each in sorted(folder.iterdir()) if each.is_dir() and each.name not in FOLDERS), None
    )
    if strange is not None:
        raise StreamError(f"{strange} is no role; folders of an allow-list are {', '.join(FOLDERS)}")
    for role, place in (("watch", folder), *((role, folder / role) for role in FOLDERS)):
        for path in sorted(place.glob("*.key")):
            key = public_key_of(path)
            if key in found:
                raise StreamError(f"{path} is the same key as {where[key]}; leave it in one place alone")
            if path.stem in names:
                raise StreamError(f"{path} has the name of {names[path.stem]}; one name is one key")
            found[key], where[key], names[path.stem] = Asker(f"key {path.stem}", role), path, path
    if not found:
        raise StreamError(
            f"{folder} holds no allowed client keys; put public .key files into its folders "
            f"{', '.join(FOLDERS)}"
        )
    return found


class RoleKeys(Closing):
    """The keys of a run: its own, those of clients that may connect, and a pair for the programs that it
    starts itself.

    The pair is made anew for each run, in a folder that only its user can read, and is gone with the run.

    Parameters
    ----------
    server_key : secret key file; clients : folder of the allow-list

    Raises StreamError where a key cannot be used.
    """

    def __init__(self, server_key: Path, clients: Path) -> None:
        Security(server_key=server_key).check()
        self._server_key, self._clients = server_key, clients
        self._known = read_roles(clients)
        self._folder = tempfile.TemporaryDirectory(prefix="rtsim-keys-")
        public, self._secret = create_keys(Path(self._folder.name), "run")
        self._own = {public_key_of(public): Asker(own_name(), "arm")}

    @property
    def people(self) -> Security:
        """The keys for results and commands."""
        return self._for(PEOPLE)

    @property
    def devices(self) -> Security:
        """The keys for the endpoint of the device."""
        return self._for(("device",))

    @property
    def options(self) -> list[str]:
        """Options that let a program connect which the run starts."""
        return ["--client-key", str(self._secret), "--server-key", str(self._server_key)]

    def close(self) -> None:
        """Remove the pair."""
        self._folder.cleanup()

    def _for(self, roles: Collection[str]) -> Security:
        known = {key: asker for key, asker in self._known.items() if asker.role in roles}
        return Security(server_key=self._server_key, allowed_clients=self._clients, known=known | self._own)
