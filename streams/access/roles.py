"""Keys with roles: the folder of a key in the allow-list decides what its holder may do.

With the role `watch` a client may receive results and ask for the status, with `set` also change parameters
and move the limb, and with `arm` also arm the device, so that it exerts torque. The role `device` is only for
the endpoint to which the device connects. A key directly in the allow-list's folder has the role `watch`. The
receiver of commands decides which role each command needs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path

from streams.access.allow_list import PEOPLE, AllowList, ListedKeys
from streams.access.askers import Asker
from streams.access.key_files import create_keys, public_key_of
from streams.access.security import Security
from streams.access.users import own_name
from streams.closing import Closing


class RoleKeys(Closing):
    """The keys of a run: its own, those of clients that may connect, and a pair for the programs that it
    starts itself.

    The pair is created for each run, in a folder that only its user can read, and is deleted at the end of
    the run.

    Parameters
    ----------
    server_key : secret key file; clients : folder of the allow-list

    Raises StreamError where a key cannot be used.
    """

    def __init__(self, server_key: Path, clients: Path) -> None:
        Security(server_key=server_key).check()
        self._server_key, self._clients = server_key, clients
        self._listed = AllowList(clients)
        self._folder = tempfile.TemporaryDirectory(prefix="rtsim-keys-")
        public, self._secret = create_keys(Path(self._folder.name), "run")
        self._own = {public_key_of(public): Asker(own_name(), "arm")}

    @property
    def people(self) -> Security:
        """Keys of the endpoints for results and commands, to which persons connect."""
        return self._for(PEOPLE)

    @property
    def devices(self) -> Security:
        """Keys of the endpoint to which the device connects."""
        return self._for(("device",))

    @property
    def options(self) -> list[str]:
        """Command-line options by which a program that the run starts can connect with keys."""
        return ["--client-key", str(self._secret), "--server-key", str(self._server_key)]

    def close(self) -> None:
        """Delete the temporary key pair by which the programs that the run starts itself connect to it."""
        self._folder.cleanup()

    def _for(self, roles: Collection[str]) -> Security:
        known = ListedKeys(self._listed, roles, self._own)
        return Security(server_key=self._server_key, allowed_clients=self._clients, known=known)
