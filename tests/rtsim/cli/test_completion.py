"""Completion in the shell: what a Tab offers, asked as bash asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.process


def offers(words: str) -> list[str]:
    """What is offered for the last of these words."""
    done = subprocess.run(
        [sys.executable, "-c", "from rtsim.cli.main import main; main()"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "_RTSIM_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "some"),
    [
        ("rtsim ", {"plain,live", "plain,moment-arms", "plain,bench"}),
        ("rtsim si", {"plain,simulate"}),
        ("rtsim live --met", {"plain,--method"}),
        ("rtsim live --method ", {"plain,zero", "plain,minimised", "plain,hinge"}),
        ("rtsim live --lab ", {"plain,bmc", "plain,rajagopal"}),
        ("rtsim estimate --subject w", {"plain,walker"}),
        ("rtsim live --model lower", {"plain,lower_limb"}),
        ("rtsim live --source w", {"plain,walker"}),
        ("rtsim live --port-offset ", {"plain,auto"}),
        ("rtsim simulate k", {"plain,knee"}),
        ("rtsim moment-arms fi", {"plain,finger"}),
        ("rtsim bench pa", {"plain,paced"}),
        ("rtsim simulate my_", {"file,my_"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_tab_offers_what_there_is(words, some):
    """Protects the completion: commands, options, methods, models, labs, subjects; files where none fits."""
    assert some <= set(offers(words))


def test_completion_is_silent_where_it_knows_nothing():
    """Protects the line being typed: no error text in the middle of it."""
    assert offers("rtsim nosuch --a") == []
    assert offers("rtsim live --model nowhere.toml --method ") == []


def test_runs_are_offered():
    """Protects --config: every shipped run."""
    shipped = {f"plain,{path.stem}" for path in (ROOT / "configs" / "runs").glob("*.toml")}
    assert shipped <= set(offers("rtsim live --config "))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shells_get_their_script(shell):
    """Protects the line of the README."""
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "_RTSIM_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=False,
    )
    if shell == "bash" and not done.stdout:
        pytest.skip("bash is older than 4.4")
    assert "_RTSIM_COMPLETE" in done.stdout
