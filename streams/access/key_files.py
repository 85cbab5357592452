"""Key files in the certificate format of ZeroMQ: creating them, and reading them only if nobody else could
have written them.

A key is a pair of files: NAME.key (public, may be copied) and NAME.key_secret (stays on its machine).
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import zmq

from streams.access.ownership import check_kept
from streams.errors import StreamError
from streams.recording.opening import open_regular
from streams.whole_file import whole_file

MOST_BYTES = 65_536
"""Size of a key file [bytes], far more than it needs."""
_PUBLIC_FILE = """#   A public CURVE key of ZeroMQ, as of a certificate of zmq.auth: to be copied.

metadata
curve
    public-key = "{0}"
"""
_SECRET_FILE = """#   A secret CURVE key of ZeroMQ, as of a certificate of zmq.auth: it stays here.

metadata
curve
    public-key = "{0}"
    secret-key = "{1}"
"""


def create_keys(folder: Path | str, name: str) -> tuple[Path, Path]:
    """Write NAME.key (public) and NAME.key_secret (readable by the owner only); return both paths.

    Raises StreamError if one of the files exists, as an overwritten key could not be recovered. Raises it
    also for a folder that others may write to.
    """
    folder = Path(folder)
    if not name.isprintable() or not name or Path(name).name != name:
        raise StreamError(f"{name!r} cannot name a key; give a plain file name")
    for suffix in (".key", ".key_secret"):
        if os.path.lexists(folder / (name + suffix)):
            raise StreamError(
                f"{folder / (name + suffix)} exists already; choose another name or remove it first"
            )
    for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        missing.mkdir(mode=0o700)  # whatever the umask
    check_kept(folder)
    public, secret = folder / f"{name}.key", folder / f"{name}.key_secret"
    keys = [key.decode() for key in zmq.curve_keypair()]
    try:
        # The secret first: what others are given has one.
        with whole_file(secret, 0o600) as part:
            part.write_text(_SECRET_FILE.format(*keys), encoding="ascii")
        with whole_file(public) as part:
            part.write_text(_PUBLIC_FILE.format(*keys), encoding="ascii")
            part.chmod(0o644)  # nobody else writes it, whatever the umask
    except OSError as fault:
        for path in (public, secret):  # half a key is no key
            path.unlink(missing_ok=True)
        raise StreamError(
            f"the keys {name} cannot be written into {folder} ({fault.strerror}); no file was kept"
        ) from fault
    return public, secret


def public_key_of(path: Path) -> str:
    """Return the public key that a file holds; StreamError where it holds none."""
    return load_public(path).decode()


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Within the `with` block, turn the library's error about a key (too short, for example) into a
    StreamError that names the file."""
    try:
        yield
    except zmq.ZMQError as fault:
        raise StreamError(
            f"{path} cannot be read as a key file ({fault.strerror}); make one with `rtsim keys`"
        ) from fault


def load_public(path: Path) -> bytes:
    public = _read(path)[0]
    check_kept(path)
    return public


def load_pair(path: Path) -> tuple[bytes, bytes]:
    public, secret = _read(path)
    if secret is None:
        raise StreamError(f"{path} contains no secret key; give the file that ends in .key_secret")
    check_private(path)
    check_kept(path)
    return public, secret


def check_private(path: Path) -> None:
    """Raise StreamError for a file with a secret that other users of this machine may read."""
    if os.name == "posix" and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        raise StreamError(
            f"{path} contains a secret key, and others than its owner may use it (mode {mode:03o}); "
            f"close it to them with `chmod 600 {shlex.quote(str(path))}`"
        )


def read_small(path: Path) -> bytes:
    """Return the bytes of a file with a key or a token.

    Raises ValueError if the file is empty or far too large: some system files appear to be empty, and reading
    them may never end. Raises OSError if it cannot be opened, and StreamError for a folder, a pipe or a
    device.
    """
    with open_regular(path) as file:
        n_byte = os.fstat(file.fileno()).st_size
        if not 0 < n_byte <= MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES} bytes" if n_byte else "it is empty")
        return file.read(MOST_BYTES) or b""


def keys_in(text: bytes) -> tuple[bytes, bytes | None]:
    """Return the public and the secret key in the text of a ZeroMQ certificate; the secret key is None if
    there is none.

    Raises ValueError if the text has no public key, or one of the keys twice.
    """
    found: dict[bytes, bytes] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition(b"=")
        name = name.strip()
        if equals and name in (b"public-key", b"secret-key"):
            if name in found:
                raise ValueError(f"it contains {name.decode()} twice")
            found[name] = value.strip(b" \t'\"")
    if b"public-key" not in found:
        raise ValueError("it contains no public key")
    return found[b"public-key"], found.get(b"secret-key")


def _read(path: Path) -> tuple[bytes, bytes | None]:
    try:
        return keys_in(read_small(path))
    except (OSError, ValueError) as fault:
        raise StreamError(
            f"{path} cannot be read as a key file ({fault}); make one with `rtsim keys`"
        ) from fault
