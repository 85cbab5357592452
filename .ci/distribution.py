"""Builds source distribution and wheel, looks into them, installs each in a new environment, and tries it.

    python .ci/distribution.py FOLDER [--locked requirements/core.txt]

FOLDER gets the two files, the bill of materials (CycloneDX) of what the wheel installs, and SHA256SUMS. Ends
with 1 and a sentence where something is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("kernels", "streams", "rtsim")
WITHOUT = (
    r"__pycache__",
    r"\.py[co]$",
    r"\.so$",
    r"\.pyd$",
    r"(^|/)\.(venv|git|hypothesis|mypy_cache|ruff_cache)/",
    r"~$",
)
"""Patterns of names that no distribution has."""
MACHINE_PATHS = re.compile(r"(?<![\w.:/])/(?:home|Users)/(?!(?:USER|you)\b)\w+/|\b[A-Z]:\\Users\\\w+")
LARGEST_FILE = 3_000_000
TRIALS: tuple[tuple[str, ...], ...] = (
    ("--version",),
    ("doctor",),
    ("show",),
    ("show", "cgm1"),
    ("check",),
    ("paper", "002", "--list"),
    ("live", "--duration", "2", "--json"),
)
"""Commands of an installed rtsim, which must end with 0."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--locked", type=Path, default=ROOT / "requirements" / "core.txt")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(given.folder), str(ROOT))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    source = given.folder / f"rtsim-{version}.tar.gz"
    wheel = given.folder / f"rtsim-{version}-py3-none-any.whl"
    texts = {source: source_texts(source), wheel: wheel_texts(wheel)}
    wrong = [fault for path, files in texts.items() for fault in faults(path.name, files)]
    wrong += [f"{name} is missing in {source.name}" for name in missing(tracked(), texts[source])]
    wrong += [f"{name} is missing in {wheel.name}" for name in missing(installed(tracked()), texts[wheel])]
    if wrong:
        sys.exit("\n".join(wrong))
    bill = given.folder / f"rtsim-{version}.cdx.json"
    for path in (wheel, source):
        try_in_clean_environment(path, given.locked, version, bill if path == wheel else None)
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in (source, wheel, bill)
    ]
    (given.folder / "SHA256SUMS").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def run(*command: str, cwd: Path = ROOT, environment: Mapping[str, str] | None = None) -> str:
    """Standard output of a command; ends this program where it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8",
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def source_texts(path: Path) -> dict[str, bytes]:
    """Every file of a source distribution by its path below the first folder."""
    with tarfile.open(path) as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        streams = {member.name.partition("/")[2]: archive.extractfile(member) for member in files}
        return {name: stream.read() for name, stream in streams.items() if stream is not None}


def wheel_texts(path: Path) -> dict[str, bytes]:
    """Every file of a wheel by its path."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def faults(archive: str, files: Mapping[str, bytes]) -> list[str]:
    """What is wrong with the names and contents of an archive's files, in sentences."""
    found = []
    for name, content in files.items():
        if any(re.search(pattern, name) for pattern in WITHOUT):
            found.append(f"{name} in {archive} is a file that was left behind")
        if len(content) > LARGEST_FILE:
            found.append(f"{name} in {archive} has {len(content)} bytes, of {LARGEST_FILE} allowed")
        text = content.decode("utf-8", errors="replace")
        for path in {str(ROOT), str(Path.home())} - {"/", "/root"}:
            if path in text:
                found.append(f"{name} in {archive} has a path of this machine, {path}")
        machine = None if name.startswith("tests/") else MACHINE_PATHS.search(text)
        if machine:
            found.append(f"{name} in {archive} has a path of a machine, {machine[0]}")
    return found


def missing(expected: Iterable[str], files: Mapping[str, bytes]) -> list[str]:
    return sorted(set(expected) - set(files))


def tracked() -> list[str]:
    """Files under version control that a source distribution has."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    parts = patterns["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    return run("git", "ls-files", "--", *(part.strip("/") for part in parts)).splitlines()


def installed(files: Iterable[str]) -> list[str]:
    """Where those files are in a wheel that it has."""
    moved = [re.sub(r"^configs/", "rtsim/configs/", name) for name in files]
    return [name for name in moved if name.startswith(tuple(f"{package}/" for package in PACKAGES))]


def try_in_clean_environment(distribution: Path, locked: Path, version: str, bill: Path | None) -> None:
    """Install the locked dependencies and the distribution away from the checkout, and run its commands."""
    with tempfile.TemporaryDirectory(prefix="rtsim-clean-") as folder:
        place = Path(folder)
        run(sys.executable, "-m", "venv", "--without-pip", str(place / "venv"))
        scripts = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
        pip = (sys.executable, "-m", "pip", "--python", str(scripts / "python"), "install", "--quiet")
        run(*pip, "--no-deps", "--require-hashes", "-r", str(locked))
        run(*pip, "--no-deps", str(distribution))
        run(sys.executable, "-m", "pip", "--python", str(scripts / "python"), "check")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        for words in TRIALS:
            told = run(str(scripts / "rtsim"), *words, cwd=place, environment=clean)
            if words == ("--version",) and version not in told:
                sys.exit(f"rtsim --version of {distribution.name} says {told.strip()}, not {version}")
            print(f"{distribution.name}: rtsim {' '.join(words)}: {len(told.splitlines())} lines", flush=True)
        if bill is not None:
            run(
                sys.executable, "-m", "cyclonedx_py", "environment", str(place / "venv"), "--pyproject",
                str(ROOT / "pyproject.toml"), "--output-reproducible", "--of", "JSON", "-o", str(bill),
            )  # fmt: skip


if __name__ == "__main__":
    main()
