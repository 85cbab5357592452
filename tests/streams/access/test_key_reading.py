"""What is read of key files: text of a bounded size, from files that have one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import zmq.auth

from rtsim.bridges.page_access import read_token, tls_context
from rtsim.errors import ConfigError
from streams.access.key_files import create_keys, keys_in, load_public, read_small
from streams.errors import StreamError


@pytest.mark.parametrize("suffix", [".key", ".key_secret"])
def test_keys_are_read_as_the_library_reads_them(tmp_path, suffix):
    """Protects keys of before, and of other programs: the same text gives the same keys."""
    create_keys(tmp_path, "ours")
    zmq.auth.create_certificates(tmp_path, "theirs")
    for name in ("ours", "theirs"):
        path = tmp_path / f"{name}{suffix}"
        assert keys_in(path.read_bytes()) == zmq.auth.load_certificate(path)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"curve\n", b"# public-key = 'a'\n", b'public-key = "a"\npublic-key = "b"\n',
        b'public-key = "a"\nsecret-key = "b"\nsecret-key = "c"\n',
    ],
)  # fmt: skip
def test_what_names_no_key_or_two_is_none(text):
    """Protects from a file that two programs would read in two ways."""
    with pytest.raises(ValueError, match="key"):
        keys_in(text)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="files that the system makes up")
@pytest.mark.parametrize("name", ["/proc/kmsg", "/proc/self/environ", "/proc/self/mem"])
def test_files_that_the_system_makes_up_hold_no_key(name):
    """Protects who starts a run: files that look regular, and wait or never end when read, are refused."""
    path = Path(name)
    with pytest.raises(StreamError, match=r"empty|denied|permitted"):
        load_public(path)
    with pytest.raises(ConfigError):
        read_token(path)
    with pytest.raises(ConfigError):
        tls_context(path, path)


def test_a_file_without_end_is_not_read_to_it(tmp_path):
    """Protects memory: a file of many gigabytes is refused by its size."""
    path = tmp_path / "large.key"
    with path.open("wb") as file:
        file.truncate(1 << 33)
    with pytest.raises(ValueError, match="larger"):
        read_small(path)
