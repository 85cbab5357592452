"""What is no file, or none of its kind (pipe, device, folder, key, loop) ends in one sentence and a code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from streams.access.key_files import create_keys
from tests.rtsim.cli.files import SUFFIXES, command_for, trc

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no such files")


@POSIX
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_pipes_devices_and_folders_are_no_files(refused, tmp_path, suffix):
    """Protects the program from waiting for ever for a pipe, and from reading a device without end."""
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
    (tmp_path / f"folder{suffix}").mkdir()
    (tmp_path / f"loop{suffix}").symlink_to(f"loop{suffix}")
    assert f"pipe{suffix} is a pipe, not a file" in refused(*command_for(f"pipe{suffix}"))
    assert f"zero{suffix} is a device, not a file" in refused(*command_for(f"zero{suffix}"))
    of_markers = suffix in (".trc", ".c3d")  # told before anything is opened
    words = ": markers cannot be read from a folder" if of_markers else " is a folder, not a file"
    assert f"folder{suffix}{words}" in refused(*command_for(f"folder{suffix}"))
    said = refused(*command_for(f"loop{suffix}"))
    assert "no such source" in said or "Too many levels of symbolic links" in said


@POSIX
def test_configs_that_are_pipes(refused, tmp_path):
    """Protects the options that name configs: what is no file is not there."""
    os.mkfifo(tmp_path / "pipe.toml")
    os.mkfifo(tmp_path / "pipe.trc")
    (tmp_path / "a.trc").write_text(trc())
    assert "no such file 'pipe.toml'" in refused("calibrate", "a.trc", "--lab", "pipe.toml")
    assert "no such file 'pipe.toml'" in refused("live", "--config", "pipe.toml")
    assert "pipe.trc is a pipe" in refused("calibrate", "a.trc", "--static", "pipe.trc")


@POSIX
@pytest.mark.parametrize(
    "command", [("report",), ("fit", "foot"), ("study",), ("calibrate", "a.trc", "--scan")]
)
def test_links_that_lead_to_themselves(refused, tmp_path, command):
    """Protects commands that look whether two names are one file: a link to itself is none."""
    (tmp_path / "loop.trc").symlink_to("loop.trc")
    (tmp_path / "a.trc").write_text(trc())
    assert "loop.trc" in refused(*command, "loop.trc")


@pytest.mark.parametrize("command", [("replay",), ("replay", "walker", "--forces"), ("keys", "own")])
def test_names_that_a_terminal_would_obey(refused, tmp_path, command):
    """Protects the terminal, and from a traceback, where a name has control characters."""
    assert "\x1b" not in refused(*command, "a\x1b[2J.trc")


@POSIX
def test_a_folder_of_keys_that_a_terminal_would_obey(here, tmp_path):
    """Protects the terminal from the name of a folder that is there already."""
    done = here("keys", "own\x1b[2J", "lab")
    assert done.code == 0
    assert "\x1b" not in done.out


KEYS = {
    "empty": b"",
    "random": bytes(range(256)) * 10,
    "gzip": b"\x1f\x8b\x08" + b"\0" * 2000,
    "huge": b"#" * 70_000,
    "overflow": b'curve\n    public-key = "' + b"#" * 40 + b'"\n    secret-key = "' + b"#" * 40 + b'"\n',
    "short": b'curve\n    public-key = "abc"\n    secret-key = "abc"\n',
}


@pytest.mark.parametrize("kind", [*KEYS, "pipe", "folder", "device", "nothing"])
def test_key_files_of_another_kind(refused, tmp_path, kind):
    """Protects who connects: a key file is read in no time or refused by name, whatever it is."""
    path = tmp_path / "me.key_secret"
    if kind in KEYS:
        path.touch(mode=0o600)
        path.write_bytes(KEYS[kind])
    elif kind == "folder":
        path.mkdir(mode=0o700)
    elif sys.platform == "win32":
        pytest.skip("no such files")
    elif kind == "pipe":
        os.mkfifo(path, mode=0o600)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    keys = ("--client-key", path.name, "--server-key", path.name)
    said = refused("record", "tcp://127.0.0.1:1", "new.mcap", "--duration", "0.1", *keys)
    assert "me.key_secret" in said
    assert not (tmp_path / "new.mcap").exists()


@pytest.mark.parametrize("kind", KEYS)
def test_key_files_of_another_kind_for_who_binds(refused, tmp_path, kind):
    """Protects who offers a stream: a wrong key of the server is one sentence, and the command ends."""
    create_keys(tmp_path / "allowed", "friend")
    path = tmp_path / "me.key_secret"
    path.touch(mode=0o600)
    path.write_bytes(KEYS[kind])
    keys = ("--key", path.name, "--clients", "allowed")
    assert "me.key_secret" in refused("replay", "walker", "--address", "tcp://127.0.0.1:0", *keys)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"\0" * 2000, "some text".encode("utf-16"), b"\xff" * 2000, b"\x1f\x8b\x08" + b"\0" * 2000],
    ids=["empty", "blank", "zeros", "UTF-16", "0xff", "gzip"],
)
def test_content_of_another_kind(refused, tmp_path, suffix, content):
    """Protects the user who picks the wrong file: empty, binary, compressed or of another encoding."""
    (tmp_path / f"a{suffix}").write_bytes(content)
    assert f"a{suffix}" in refused(*command_for(f"a{suffix}"))


@POSIX
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_without_permission(refused, tmp_path, suffix):
    """Protects the user: which file may not be read."""
    (tmp_path / f"a{suffix}").write_bytes(b"x")
    (tmp_path / f"a{suffix}").chmod(0)
    assert "Permission denied" in refused(*command_for(f"a{suffix}"))


@POSIX
def test_a_file_that_grows_is_read_as_far_as_allowed(refused, tmp_path, monkeypatch):
    """Protects memory from a file to which somebody writes on and on: /proc has such ones, of size 0."""
    if not Path("/proc/self/maps").exists():
        pytest.skip("no such file")
    monkeypatch.setattr("rtsim.config.load.MOST_BYTES", 1000)
    (tmp_path / "a.toml").symlink_to("/proc/self/maps")
    assert "larger than 0.001 MB" in refused("check", "a.toml")


@POSIX
def test_outputs_in_a_loop_of_links(refused, tmp_path):
    """Protects the end of a run: a path that leads nowhere is told before it."""
    (tmp_path / "loop").symlink_to("loop")
    assert "loop" in refused("simulate", "impact", "--out", "loop/a.sto")
    assert "loop" in refused("record", "tcp://127.0.0.1:1", "loop/a.mcap")
    assert "loop" in refused("live", "--record", "loop/a.mcap")
