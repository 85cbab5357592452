"""Keys that somebody else could have put there, or could exchange, let nobody in."""

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from streams.access.key_files import create_keys
from streams.access.ownership import check_kept
from streams.access.security import Security
from streams.errors import StreamError
from streams.publisher import Publisher

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are of POSIX")
LOCAL = "tcp://127.0.0.1:0"
STRANGER = 65534


class Places(NamedTuple):
    """Files and folders of a server's keys and its allow-list, and of a client's."""

    secret: Path
    allowed: Path
    friend: Path
    client: Path
    server_public: Path

    @property
    def server(self) -> Security:
        return Security.for_server(self.secret, self.allowed)

    @property
    def of_client(self) -> Security:
        return Security.for_client(self.client, self.server_public)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """All in order."""
    _, secret = create_keys(tmp_path / "server", "server")
    public, client = create_keys(tmp_path / "client", "client")
    allowed, known = tmp_path / "allowed", tmp_path / "known"
    for folder in (allowed, known):
        folder.mkdir(mode=0o700)
    friend = Path(shutil.copy(public, allowed))
    server_public = Path(shutil.copy(secret.with_suffix(".key"), known))
    return Places(secret, allowed, friend, client, server_public)


def opened(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o002)


def opened_to_group(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o020)


def given_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(path, STRANGER, -1)


def behind_a_link_of_a_stranger(path: Path) -> None:
    away = path.with_name(f"away-{path.name}")
    path.rename(away)
    path.symlink_to(away)
    if os.geteuid() != 0:
        pytest.skip("only root gives links away")
    os.chown(path, STRANGER, -1, follow_symlinks=False)


SERVER = (
    lambda p: p.secret, lambda p: p.secret.parent, lambda p: p.friend, lambda p: p.allowed,
    lambda p: p.allowed.parent,
)  # fmt: skip
CLIENT = (
    lambda p: p.client,
    lambda p: p.client.parent,
    lambda p: p.server_public,
    lambda p: p.client.parent.parent,
)


@pytest.mark.parametrize("spoil", [opened, opened_to_group, given_away, behind_a_link_of_a_stranger])
@pytest.mark.parametrize("place", range(len(SERVER)))
def test_a_server_refuses_keys_that_others_could_exchange(
    places: Places, spoil: Callable[[Path], None], place: int
) -> None:
    """Protects the allow-list and the server's secret: files, folders, folders above, before it is bound."""
    Publisher(LOCAL, places.server).close()
    spoil(SERVER[place](places))
    with pytest.raises(StreamError) as caught:
        Publisher(LOCAL, places.server)
    assert any(words in str(caught.value) for words in ("could replace", "others than its owner may use"))
    assert "\n" not in str(caught.value)
    with pytest.raises(StreamError):
        places.server.check()


@pytest.mark.parametrize("spoil", [opened, opened_to_group, given_away, behind_a_link_of_a_stranger])
@pytest.mark.parametrize("place", range(len(CLIENT)))
def test_a_client_refuses_keys_that_others_could_exchange(
    places: Places, spoil: Callable[[Path], None], place: int, subscribe
) -> None:
    """Protects who connects: the public key of the server says whom it trusts."""
    places.of_client.check()
    spoil(CLIENT[place](places))
    with pytest.raises(StreamError):
        subscribe("tcp://127.0.0.1:1", security=places.of_client)
    with pytest.raises(StreamError):
        places.of_client.check()


def test_links_of_ones_own_and_sticky_folders_are_good(places: Places, tmp_path: Path) -> None:
    """Protects the usual: keys in another place by a link of one's own, or below /tmp."""
    sticky = tmp_path / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    (sticky / "link.key_secret").symlink_to(places.secret)
    (tmp_path / "list").symlink_to(places.allowed.name)
    with Publisher(LOCAL, Security.for_server(sticky / "link.key_secret", tmp_path / "list")) as publisher:
        assert publisher.address.startswith("tcp://127.0.0.1:")


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    """Protects the check itself: links that lead back to each other are a sentence."""
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(StreamError, match="more than 40 symbolic links"):
        check_kept(tmp_path / "one")


def test_a_stranger_in_a_list_of_friends_closes_it(places: Places) -> None:
    """Protects the allow-list: with one file of somebody else in it nobody is let in."""
    _, other = create_keys(places.allowed.parent / "stranger", "stranger")
    planted = Path(shutil.copy(other.with_suffix(".key"), places.allowed))
    given_away(planted)
    with pytest.raises(StreamError, match=r"stranger\.key belongs to "):
        Publisher(LOCAL, places.server)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_keys_are_made_closed_to_others(tmp_path: Path, umask: int) -> None:
    """Protects what is made from the start: whatever the umask, folders above included."""
    before = os.umask(umask)
    try:
        public, secret = create_keys(tmp_path / "a" / "b", "me")
    finally:
        os.umask(before)
    modes = [
        stat.S_IMODE(path.stat().st_mode) for path in (secret.parent.parent, secret.parent, public, secret)
    ]
    assert modes == [0o700, 0o700, 0o644, 0o600]
    Security.for_client(secret, public).check()


def test_keys_are_not_made_where_others_may_write(tmp_path: Path) -> None:
    """Protects a secret before there is one: in an open folder, or through a link, none is made."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(StreamError, match="chmod go-w"):
        create_keys(folder, "me")
    folder.chmod(0o755)
    (folder / "me.key_secret").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StreamError, match="exists already"):
        create_keys(folder, "me")
    assert not (tmp_path / "elsewhere").exists()
