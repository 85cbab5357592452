"""The command line as a whole: help, lazy imports, and errors as sentences."""

from __future__ import annotations

import errno
import importlib
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
import zmq

from rtsim.cli.main import COMMANDS
from rtsim.errors import ConfigError
from streams.errors import StreamError

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_help(here, name, option):
    """Protects the user: each command explains itself and its options."""
    done = here(name, option)
    assert done.code == 0
    assert done.out.startswith(f"Usage: rtsim {name}")
    assert len(done.out.splitlines()) > 5


def test_every_command_is_listed_and_there(here):
    """Protects `rtsim --help`: every command with a line, and each line a command of that name."""
    done = here("--help")
    assert done.code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in done.out
        assert importlib.import_module(f"rtsim.cli.commands.{name.replace('-', '_')}").command.name == name


def test_every_option_is_explained():
    """Protects the help: an option without a word is none."""
    for name in COMMANDS:
        command = importlib.import_module(f"rtsim.cli.commands.{name.replace('-', '_')}").command
        commands = command.commands.values() if isinstance(command, click.Group) else [command]
        for one in commands:
            assert one.help, name
            for parameter in one.params:
                obvious = isinstance(parameter, click.Argument) or parameter.name in ("side", "model")
                assert obvious or parameter.help, (one.name, parameter.name)


def test_the_version_is_told(here):
    """Protects bug reports."""
    done = here("--version")
    assert (done.code, done.out.split()[0]) == (0, "rtsim,")


def test_without_a_command_there_is_help(here):
    """Protects the first contact."""
    done = here()
    assert done.code == 2
    assert "Usage: rtsim" in done.out + done.err


def test_help_and_checks_need_no_heavy_imports():
    """Protects the speed of help and check: neither the compiler nor sockets nor windows are imported."""
    code = (
        "import sys\nfrom rtsim.cli.main import main\n"
        "for arguments in (['--help'], ['live', '--help'], ['check', '--help']):\n"
        "    try:\n        main(arguments)\n    except SystemExit:\n        pass\n"
        "heavy = {'numba', 'scipy', 'rich', 'PySide6', 'ezc3d', 'mcap'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigError("no such thing", where="file", allowed="a, b", remedy="look again"), 1,
         "rtsim: file: no such thing; allowed: a, b; look again\n"),
        (StreamError("the address is in use"), 1, "rtsim: the address is in use\n"),
        (PermissionError(13, "Permission denied", "/etc/mine"), 1, "rtsim: /etc/mine: Permission denied\n"),
        (OSError("something about a file"), 1, "rtsim: something about a file\n"),
        (KeyboardInterrupt(), 130, "rtsim: interrupted\n"),
        (MemoryError(), 1, "memory limit (ulimit -v)\n"),
        (RuntimeError("can't start new thread"), 1, "memory limit (ulimit -v)\n"),
        (OSError(errno.EMFILE, "Too many open files"), 1, "raise the limit (ulimit -n 1024)\n"),
        (zmq.ZMQError(errno.EMFILE), 1, "raise the limit (ulimit -n 1024)\n"),
        (click.UsageError("no such option"), 2, "Error: no such option\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)  # fmt: skip
def test_errors_made_on_purpose_are_sentences(here, monkeypatch, error, code, said):
    """Protects the user: one sentence and an exit code, no traceback."""
    module = importlib.import_module("rtsim.cli.commands.check")

    def fail() -> None:
        raise error

    monkeypatch.setattr(module, "command", click.command("check")(fail))
    done = here("check")
    assert done.code == code
    assert done.err.endswith(said)
    assert "Traceback" not in done.err


@pytest.mark.parametrize(("threads", "code"), [("0", 1), ("-3", 1), ("1", 0), ("many", 0)])
def test_a_number_of_threads_that_ends_the_compiler_is_refused(here, monkeypatch, threads, code):
    """Protects whoever set a variable of Numba: its import would end every command with a traceback."""
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    done = here("--version")
    assert done.code == code
    refused = f"rtsim: the environment variable NUMBA_NUM_THREADS is {threads}; allowed: 1 or more"
    assert done.err.startswith(refused if code else "")


def test_errors_of_ours_are_not_hidden(here, monkeypatch):
    """Protects the developer: what nobody foresaw keeps its traceback."""
    module = importlib.import_module("rtsim.cli.commands.check")

    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(module, "command", click.command("check")(fail))
    with pytest.raises(ZeroDivisionError):
        here("check")


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes")
def test_a_reader_that_leaves_is_no_error():
    """Protects `rtsim check | head -1`: no traceback about a broken pipe."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "rtsim.cli.main", "check"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert said == ""


def test_one_thread_of_linear_algebra() -> None:
    """Protects fits and loops from threads that wait for each other: one, if nothing says more."""
    code = "import rtsim.cli, os; print(os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])"
    usual = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    for given, told in (({}, "1 1"), ({"OMP_NUM_THREADS": "3"}, "3 1")):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**usual, **given}
        )
        assert done.stdout.strip() == told
