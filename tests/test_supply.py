"""What rtsim is made of: locked dependencies, their licences, versions, and what a distribution may hold."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("packaging")
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOP = {
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "pyproject.toml",
}
LOCKS = {
    name: (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8") for name in ("core", "checks")
}


def script(name: str) -> ModuleType:
    """A script of `.ci` as a module."""
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def blocks(lock: str) -> list[str]:
    """Packages of a lock, each with its hashes."""
    return re.findall(r"^\S+==(?:.*\\\n)+.*", lock, re.M)


def required(name: str) -> list[Requirement]:
    """What a lock is made for; `rtsim[...]` stands for its extras."""
    lines = list(PROJECT["dependencies"])
    if name == "checks":
        waiting = ["dev"]
        while waiting:
            for line in PROJECT["optional-dependencies"][waiting.pop()]:
                needed = Requirement(line)
                waiting += needed.extras if needed.name == "rtsim" else ()
                lines += [] if needed.name == "rtsim" else [line]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("name", list(LOCKS))
def test_every_locked_package_has_hashes(name: str) -> None:
    """Protects whoever installs the locked set: no file is taken whose contents nobody has seen."""
    found = blocks(LOCKS[name])
    assert len(found) == len(re.findall(r"^[^#\s]", LOCKS[name], re.M)) > 15
    assert [block for block in found if not re.search(r"--hash=sha256:[0-9a-f]{64}", block)] == []


@pytest.mark.parametrize("name", list(LOCKS))
def test_a_lock_names_no_index_and_no_place(name: str) -> None:
    """Protects other labs: the locked set does not depend on where it was made."""
    assert re.findall(r"https?:|file:|index|/", re.sub(r"#.*", "", LOCKS[name])) == []


@pytest.mark.parametrize("name", list(LOCKS))
def test_a_lock_satisfies_the_project(name: str) -> None:
    """Protects against a dependency that is added or raised, and not locked: run `.ci/lock`."""
    locked: dict[str, list[str]] = {}
    for package, version in re.findall(r"^([\w.-]+)==([^\s;]+)", LOCKS[name], re.M):
        locked.setdefault(canonicalize_name(package), []).append(version)
    for needed in required(name):
        versions = locked.get(canonicalize_name(needed.name), [])
        assert versions, needed.name
        fitting = [version for version in versions if needed.specifier.contains(version, prereleases=True)]
        assert fitting, f"{needed} is locked as {versions}"


def test_licences_list_what_is_locked() -> None:
    """Protects users: no package is installed whose licence is not told, and none that would bind theirs."""
    licences = script("licences")
    rows = licences.read_rows((ROOT / "docs" / "licences.md").read_text(encoding="utf-8"))
    assert {row.name for row in rows} == {*licences.locked_names(LOCKS["checks"]), *licences.PEERS}
    assert licences.bound(rows) == []


@pytest.mark.parametrize(
    ("licence", "is_open"),
    [("MIT", True), ("BSD-3-Clause AND MIT", True), ("GPL-3.0-only", False), ("?", False), ("", False),
     ("LGPL-3.0-only OR GPL-2.0-only", True), ("MIT AND AGPL-3.0-only", False), ("Proprietary", False)],
)  # fmt: skip
def test_a_licence_that_binds_is_found(licence: str, is_open: bool) -> None:
    """Protects the check of licences from one that lets everything through."""
    assert script("licences").is_open(licence) is is_open


def test_a_changed_licence_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the page: the licence of an installed package is the one that is listed."""
    licences = script("licences")
    monkeypatch.setattr(licences, "locked_here", lambda: {"numpy"})
    row = licences.PackageRow
    listed, found = [row("numpy", "MIT", "core")], [row("numpy", "BSD", "core"), row("click", "MIT", "core")]
    told = licences.differences(listed, found)
    assert len(told) == 2
    assert "click is locked and not listed" in told[0]
    assert "numpy is listed as MIT, and is BSD" in told[1]


def test_the_version_is_one() -> None:
    """Protects whoever cites: project, citation and changelog speak of the same version."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", citation, re.M) == [PROJECT["version"]]
    assert re.findall(r"^## (\S+)", changelog, re.M)[0] == PROJECT["version"]


def test_pythons_are_the_same_everywhere() -> None:
    """Protects users of a Python that one file allows and another refuses."""
    yaml = pytest.importorskip("yaml")
    named = [line.rpartition(" :: ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8"))
    allowed = Requirement(f"python{PROJECT['requires-python']}").specifier
    assert workflow["jobs"]["tests"]["strategy"]["matrix"]["python"] == named
    assert [minor for minor in range(8, 20) if allowed.contains(f"3.{minor}.1")] == [
        int(version.partition(".")[2]) for version in named
    ]


def test_scripts_of_the_workflow_are_there() -> None:
    """Protects the workflow from a file that was moved: scripts, extras and locks it names are there."""
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8"))
    assert {"all", "tests", "locked", "lowest", "newest"} == set(workflow["jobs"])
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    named = {
        path for command in commands for path in re.findall(r"(?:\.ci|requirements|tests)/[\w./]+", command)
    }
    assert len(named) >= 5
    assert [path for path in named if not (ROOT / path).exists()] == []
    extras = {
        e
        for command in commands
        for found in re.findall(r"\.\[([\w,]+)\]", command)
        for e in found.split(",")
    }
    assert extras <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("rtsim/__pycache__/a.pyc", b"", "left behind"),
        ("kernels/a.so", b"", "left behind"),
        ("docs/a.md", b"see /home/anna/walk.c3d", "path of a machine, /home/anna/"),
        ("rtsim/a.py", b'ROOT = "C:\\Users\\anna\\x"', "path of a machine"),
        ("docs/big.png", bytes(4_000_000), "4000000 bytes"),
    ],
)
def test_what_a_distribution_must_not_hold_is_found(name: str, content: bytes, fault: str) -> None:
    """Protects the check of archives: each kind of stray file is told with its name."""
    told = script("distribution").faults("rtsim.tar.gz", {name: content, "rtsim/b.py": b"x = '/home/USER/x'"})
    assert len(told) == 1
    assert name in told[0]
    assert fault in told[0]


def test_a_path_of_this_machine_is_found() -> None:
    """Protects users from a build that leaves the place of its checkout in a file."""
    told = script("distribution").faults("x.whl", {"rtsim/a.json": str(ROOT).encode()})
    assert len(told) == 1
    assert str(ROOT) in told[0]


def test_configs_are_expected_where_a_wheel_has_them() -> None:
    """Protects the wheel from shipping without its configs: they are looked for below the package."""
    distribution = script("distribution")
    expected = distribution.installed(["configs/labs/a.toml", "rtsim/b.py", "tests/test_c.py"])
    assert expected == ["rtsim/configs/labs/a.toml", "rtsim/b.py"]
    assert distribution.missing(expected, {"rtsim/b.py": b""}) == ["rtsim/configs/labs/a.toml"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows what was committed")
def test_nothing_is_committed_at_the_top_by_mistake() -> None:
    """Protects the project from outputs of somebody's trial: each file at the top is a known one."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name for name in listed.split() if "/" not in name} - {".gitignore"} == TOP
