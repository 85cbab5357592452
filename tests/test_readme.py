"""The README, and the pages of commands and programs that it leads to, do what they say."""

from __future__ import annotations

import ast
import re
import struct
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import msgpack
import pytest

from rtsim.live.processes.children import Child
from tests.free_ports import free_port

ROOT = Path(__file__).resolve().parents[1]
README, COMMAND_PAGE, PROGRAMS = (
    ROOT / "README.md",
    ROOT / "docs" / "commands.md",
    ROOT / "docs" / "programs.md",
)


def code_below(heading: str) -> str:
    _, _, section = PROGRAMS.read_text(encoding="utf-8").partition(f"## {heading}\n")
    found = re.search(r"```python\n(.*?)```", section, re.S)
    assert found is not None
    return found.group(1)


def client_code() -> str:
    return code_below("Write a client")


def test_moment_arms_from_python() -> None:
    """Protects the three lines of moment arms from Python: they run, and the user's angle has an arm."""
    names: dict = {}
    exec(code_below("Moment arms from Python"), names)
    assert names["arms"].shape == (2, 3)
    assert abs(names["own"]).min() > 1e-3


def test_client_is_forty_lines() -> None:
    """Protects the promise that a client is small and needs none of our packages."""
    code = client_code()
    assert len(code.splitlines()) <= 40
    assert not re.search(r"import (rtsim|streams|kernels)|from (rtsim|streams|kernels)", code)


def test_clients_need_nothing_but_the_core() -> None:
    """Protects whoever installed the core alone: all packages that the documents import are in it."""
    text = PROGRAMS.read_text(encoding="utf-8")
    imported = {
        name.name if isinstance(node, ast.Import) else str(node.module)
        for block in re.findall(r"```python\n(.*?)```", text, re.S)
        for node in ast.walk(ast.parse(block))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
    }
    packages = {name.partition(".")[0] for name in imported}
    assert {"msgpack", "zmq", "rtsim"} <= packages
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in project["dependencies"]}
    of_import = packages_distributions()
    foreign = packages - set(sys.stdlib_module_names) - {"rtsim", "streams", "kernels"}
    assert [name for name in foreign if not {d.lower() for d in of_import[name]} & core] == []


def test_what_needs_the_extra_says_so() -> None:
    """Protects whoever installed the core alone from a figure that cannot be drawn unannounced."""
    text = README.read_text(encoding="utf-8") + COMMAND_PAGE.read_text(encoding="utf-8")
    plots = [line for line in text.splitlines() if line.startswith("rtsim") and "--plot" in line]
    assert len(plots) >= 2
    for line in plots:
        below = text.partition(line)[2].split("\n", 2)[1]
        assert "extra of the monitor" in line + below


def test_client_bears_a_result_before_the_session() -> None:
    """Protects the client: who joins in between may get a result of a session not described yet."""
    receive = next(node for node in ast.parse(client_code()).body if getattr(node, "name", "") == "receive")
    printed: list[tuple] = []

    class Results:
        """What came: a result, the session, a result of it."""

        def __init__(self) -> None:
            self.said = iter(
                (
                    (b"result", {"seq": 0, "status": 0, "data": {"joint_angles": struct.pack("<d", 1.0)}}),
                    (b"session", {"fields": [{"name": "joint_angles", "labels": ["knee_flexion_r"]}]}),
                    (b"result", {"seq": 1, "status": 0, "data": {"joint_angles": struct.pack("<d", 2.0)}}),
                )
            )

        def recv_multipart(self) -> tuple[bytes, bytes]:
            topic, message = next(self.said)
            return topic, msgpack.packb(message)

    names = {"labels": [], "results": Results(), "struct": struct, "msgpack": msgpack}
    names["print"] = lambda *words: printed.append(words)
    exec(compile(ast.Module([receive], []), "programs.md", "exec"), names)
    for _ in range(3):
        names["receive"]()
    assert printed == [(1, 0, {"knee_flexion_r": 2.0})]


@pytest.mark.process
def test_client_talks_to_the_estimator(tmp_path: Path) -> None:
    """Protects the client: it sends markers to a real estimator and prints its results."""
    markers = f"tcp://127.0.0.1:{free_port()}"
    arguments = ["--source", markers, "--subject", "walker"]
    ports = ["--results", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"]
    estimator = Child("estimator", ["estimate", *arguments, *ports])
    try:
        results = estimator.wait_ready(300.0)["results"]
        code = client_code().replace("tcp://127.0.0.1:5560", markers).replace("tcp://127.0.0.1:5561", results)
        client = tmp_path / "client.py"
        client.write_text(code, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(client)], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "knee_flexion" in done.stdout
        assert len(done.stdout.splitlines()) > 50
    finally:
        estimator.close()


def test_commands_are_in_their_page() -> None:
    """Protects the list of commands against a command that nobody is told of."""
    from rtsim.cli.main import COMMANDS

    text = COMMAND_PAGE.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`{name}`" not in text] == []


def test_the_readme_is_short() -> None:
    """Protects newcomers: what the program is, and how to begin, on a page or two."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120


def test_figures_of_the_readme_are_those_of_the_benchmarks() -> None:
    """Protects the README's table of speed: every number with a unit in it stands in docs/benchmarks.md."""
    _, _, section = README.read_text(encoding="utf-8").partition("## What was measured\n")
    table = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")][2:]
    measured = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    figures = [figure for row in table for figure in re.findall(r"\b(\d[\d.e-]*)(?= (?:us|frames/s))", row)]
    assert len(figures) >= 10
    assert [
        figure for figure in figures if not re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d])", measured)
    ] == []


def test_the_changelog_is_for_users() -> None:
    """Protects readers of a release: what is new, on a page."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = text.split("\n## ")[1:]
    assert releases
    assert all(len(release.strip().splitlines()) <= 31 for release in releases)
