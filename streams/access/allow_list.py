"""The allow-list: a folder of public keys, sorted into one folder per role, which may change during a run.

The folder is read again every half second while a client is connected or tries to connect. Keys that were
added are admitted. A connection is closed if its key was removed or has another role now. The list is
invalid, for example, if one key is in two folders. While it is invalid, no new client is admitted, and
removed keys stay removed.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import get_args

from streams.access.askers import Asker, Role
from streams.access.key_files import public_key_of
from streams.clock import is_over, now_ns
from streams.errors import StreamError

FOLDERS: tuple[Role, ...] = tuple(role for role in get_args(Role) if role)
PEOPLE = ("watch", "set", "arm")
"""Roles of persons; each includes the permissions of those before it."""
LOOK_NS = 500_000_000
"""Interval at which the folder is read again [ns]."""
NOTHING: Mapping[str, Asker] = {}


def read_roles(folder: Path) -> dict[str, Asker]:
    """Read the keys in the folder; return the name and the role of each, by public key.

    Raises StreamError for a folder that names no role, for a key in two places, and if there are no keys.
    """
    if not folder.is_dir():
        raise StreamError(
            f"{folder} contains no allowed client keys, as it is not a folder; put public .key files there"
        )
    found: dict[str, Asker] = {}
    where: dict[str, Path] = {}
    names: dict[str, Path] = {}
    strange = next(
        (each for each in sorted(folder.iterdir()) if each.is_dir() and each.name not in FOLDERS), None
    )
    if strange is not None:
        raise StreamError(f"{strange} is not a role; the folders of an allow-list are {', '.join(FOLDERS)}")
    for role, path in _files(folder):
        key = public_key_of(path)
        if key in found:
            raise StreamError(f"{path} is the same key as {where[key]}; keep it in one of these places only")
        if path.stem in names:
            raise StreamError(f"{path} has the same name as {names[path.stem]}; give each key its own name")
        found[key], where[key], names[path.stem] = Asker(f"key {path.stem}", role), path, path
    if not found:
        raise StreamError(
            f"{folder} contains no allowed client keys; put public .key files into its folders "
            f"{', '.join(FOLDERS)}"
        )
    return found


class AllowList:
    """The keys that the allow-list in a folder contains at present. Any thread may use it.

    Attributes
    ----------
    askers : names and roles by public key
    n_taken : number of times that a key was removed or given another role
    sentences : sentences on changes, newest last; take them with popleft

    Raises StreamError where the list cannot be used at the start.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.askers: Mapping[str, Asker] = read_roles(folder)
        self.n_taken = 0
        self.sentences: deque[str] = deque(maxlen=16)
        self._lock = threading.Lock()
        self._state, self._looked_ns = _state_of(folder), now_ns()

    def refresh(self) -> None:
        """Read the folder again, at most once every half second, and take over what has changed in it."""
        if not is_over(self._looked_ns, LOOK_NS, now_ns()) or not self._lock.acquire(blocking=False):
            return
        try:
            self._looked_ns = now_ns()
            state = _state_of(self.folder)
            if state != self._state:
                self._state = state
                self._turn_to(self._read())
        finally:
            self._lock.release()

    def _read(self) -> dict[str, Asker]:
        """Read the allow-list; if it is invalid, return those entries of the former list whose keys still
        exist."""
        try:
            return read_roles(self.folder)
        except (StreamError, OSError) as fault:
            self.sentences.append(f"The allow-list cannot be used, so new connections are refused: {fault}.")
        roles: dict[str, list[Role]] = {}
        for role, path in _files(self.folder):
            try:
                roles.setdefault(public_key_of(path), []).append(role)
            except (StreamError, OSError):
                continue  # a key that cannot be trusted is as good as taken out
        return {key: asker for key, asker in self.askers.items() if roles.get(key) == [asker.role]}

    def _turn_to(self, askers: Mapping[str, Asker]) -> None:
        before, self.askers = self.askers, askers
        for key in before.keys() - askers.keys():
            self.sentences.append(f"The {before[key].name} was taken off the allow-list.")
        for key, asker in askers.items():
            if key not in before:
                self.sentences.append(
                    f"The {asker.name} was put on the allow-list, with the role {asker.role}."
                )
            elif before[key].role != asker.role:
                self.sentences.append(f"The {asker.name} has the role {asker.role} now.")
        self.n_taken += sum(key not in askers or askers[key].role != was.role for key, was in before.items())


class ListedKeys(Mapping[str, Asker]):
    """The keys of the allow-list that one socket accepts: public key -> name and role of its holder.

    listed : the whole list
    roles : roles that may connect
    own : further keys that may connect, but are not in the folder: that of the programs which the run starts
    """

    def __init__(
        self, listed: AllowList, roles: Collection[str] = PEOPLE, own: Mapping[str, Asker] = NOTHING
    ) -> None:
        self.listed, self._roles, self._own = listed, roles, own

    def __getitem__(self, key: str) -> Asker:
        if key in self._own:
            return self._own[key]
        asker = self.listed.askers[key]
        if asker.role not in self._roles:
            raise KeyError(key)
        return asker

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (key for key, asker in self.listed.askers.items() if asker.role in self._roles)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def callback(self, domain: str, key: bytes) -> bool:
        """Return whether a public key may connect; called by libzmq's authenticator.

        domain : the ZAP domain, part of the callback's signature
        """
        self.listed.refresh()
        return key.decode() in self


def _files(folder: Path) -> list[tuple[Role, Path]]:
    """Return the key files of an allow-list, each with its role, which determines the commands that the key's
    owner may give and is the name of its folder."""
    places: list[tuple[Role, Path]] = [("watch", folder), *((role, folder / role) for role in FOLDERS)]
    return [(role, path) for role, place in places for path in sorted(place.glob("*.key"))]


def _state_of(folder: Path) -> tuple[object, ...]:
    """Return a value that changes whenever a file or folder of the allow-list does: path, time, size and
    permissions of all of them.
    """
    paths = [folder, *(folder / name for name in FOLDERS), *(path for _, path in _files(folder))]
    state: list[tuple[object, ...]] = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            state.append((str(path),))
            continue
        rights = status.st_mode, status.st_uid, status.st_gid
        state.append((str(path), status.st_ino, status.st_size, status.st_mtime_ns, *rights))
    return tuple(state)
