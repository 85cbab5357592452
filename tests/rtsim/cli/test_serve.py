"""`rtsim serve`: the page as a user starts it."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner

from rtsim.cli.main import cli
from rtsim.errors import ConfigError

GUARD_S = 120.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["serve"], "nothing is served"),
        (["serve", "--page", "0.0.0.0:5580"], "can be reached from the network"),
        (["serve", "--page", "99999"], "port 99999"),
        (["serve", "--page", "5580", "--certificate", "missing.crt"], "go together"),
        (["serve", "--page", "5580", "--token-file", "missing"], "missing cannot be used"),
        (["serve", "--page", "0", "--duration", "-1"], "more than 0 s"),
        (["serve", "--page", "0", "http://host:1"], "is not an address"),
        (["live", "--page", "192.168.0.5:80"], "serve the page by `rtsim serve --page`"),
    ],
)
def test_wrong_calls_are_one_sentence(arguments: list[str], words: str) -> None:
    """Protects whoever mistypes: told what is wrong before anything is served or compiled."""
    result = CliRunner().invoke(cli, arguments)
    assert isinstance(result.exception, ConfigError), result.output
    assert words in str(result.exception)


@pytest.mark.process
def test_the_page_is_served_and_ends_when_asked() -> None:
    """Protects the command as a process: it says where the page is, serves it, and ends on a request."""
    arguments = [sys.executable, "-m", "rtsim.cli.main", "serve", "--page", "0"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", told)
        assert found, told
        with urllib.request.urlopen(found.group(), timeout=GUARD_S) as answer:
            assert b"<canvas" in answer.read()
        process.terminate()
        assert process.wait(GUARD_S) == 143
