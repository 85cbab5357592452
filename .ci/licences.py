"""The licences of all packages that rtsim, or one of its extras, installs: held against docs/licences.md.

    python .ci/licences.py            # 1, and a sentence for each, where the page and the packages differ
    python .ci/licences.py --write    # the page's table anew, after requirements/checks.txt has changed

What is not installed here, as another platform's packages, keeps the row that it has.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
LOCKED = ROOT / "requirements" / "checks.txt"
CORE, FOR_USERS = "core", ("monitor", "mesh", "report", "lsl", "foxglove", "tune", "study")
FOR_CHECKS = ("docs", "test", "dev")
PEERS = ("opensim",)
"""Of the extra `peers`, which is for no lock: not every platform has it."""
OPEN = ("MIT", "BSD", "0BSD", "Apache-2.0", "ISC", "Zlib", "PSF-2.0", "MPL-2.0", "BSL-1.0", "CC0-1.0",
        "MIT-CMU", "Qhull", "LGPL-3.0-only", "matplotlib")  # fmt: skip
"""Beginnings of licences that do not bind what is used beside them."""
OF_CLASSIFIERS = {
    "MIT License": "MIT", "BSD License": "BSD", "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "Python Software Foundation License": "PSF-2.0",
    "ISC License (ISCL)": "ISC", "Public Domain": "CC0-1.0",
}  # fmt: skip
OF_FILES = {
    "ezc3d": "MIT", "cmeel-qhull": "Qhull", "motioncapture": "MIT", "matplotlib": "matplotlib (as PSF-2.0)",
    "docutils": "CC0-1.0 AND BSD-2-Clause", "numba": "BSD-2-Clause", "scipy": "BSD-3-Clause",
    "lz4": "BSD-3-Clause", "contourpy": "BSD-3-Clause", "jinja2": "BSD-3-Clause",
    "opensim": "Apache-2.0",
}  # fmt: skip
"""Read in their own licence files, where their metadata says nothing, or several things at once."""


class PackageRow(NamedTuple):
    """A row of the table: a package, its licence as SPDX has it, and the extras that bring it."""

    name: str
    licence: str
    brought_by: str


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    text = PAGE.read_text(encoding="utf-8")
    rows = read_rows(text)
    if parser.parse_args().write:
        head, _, tail = text.partition("| package |")
        table = "\n".join(f"| {row.name} | {row.licence} | {row.brought_by} |" for row in found_rows(rows))
        after = re.sub(r"\A.*?\n(?!\|)", "", "| package |" + tail, count=1, flags=re.S) if tail else ""
        PAGE.write_text(
            f"{head}| package | licence | brought by |\n|---|---|---|\n{table}\n{after}", encoding="utf-8"
        )
        return
    found = found_rows(rows)
    wrong = differences(rows, found) + bound(rows) + bound([row for row in found if row not in rows])
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(rows)} packages, each with a licence that docs/licences.md lists and that is open")


def read_rows(text: str) -> list[PackageRow]:
    """The rows of the page's table."""
    lines = [line for line in text.partition("| package |")[2].splitlines()[2:] if line.startswith("|")]
    return [PackageRow(*(cell.strip() for cell in line.strip("|").split("|"))) for line in lines]


def found_rows(known: list[PackageRow]) -> list[PackageRow]:
    """A row for each locked package, of its metadata where it is installed, as it was known elsewhere."""
    former = {row.name: row for row in known}
    brought = {name: ", ".join(extras) for name, extras in brought_by().items()}
    found = []
    for name in sorted({*locked_names(LOCKED.read_text(encoding="utf-8")), *PEERS}):
        licence = licence_of(name) or (former[name].licence if name in former else "?")
        by = brought.get(name) or (former[name].brought_by if name in former else "?")
        found.append(PackageRow(name, licence, by))
    return found


def locked_names(text: str) -> Iterator[str]:
    """Names of the packages of a lock."""
    return (canonicalize_name(name) for name in re.findall(r"^([A-Za-z0-9][\w.-]*)==", text, re.M))


def licence_of(name: str) -> str:
    """What an installed package says of itself; "" where it is not installed."""
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return ""
    if name in OF_FILES:
        return OF_FILES[name]
    if told["License-Expression"]:
        return str(told["License-Expression"])
    named = [
        line.rpartition(" :: ")[2] for line in told.get_all("Classifier") or () if line.startswith("License")
    ]
    short = str(told["License"] or "")
    if re.fullmatch(r"[\w.-]+(?: OR [\w.-]+)*", short) and short not in ("UNKNOWN", "BSD", "PSFL"):
        return short
    return " AND ".join(OF_CLASSIFIERS.get(line, line) for line in named) or short.partition("\n")[0] or "?"


def brought_by() -> dict[str, list[str]]:
    """Of every package that is installed: what brings it; extras for checks only where no other does."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: Mapping[str, list[str]] = project["optional-dependencies"]
    found: dict[str, list[str]] = {}
    for extra in (CORE, *FOR_USERS, *FOR_CHECKS):
        for name in closure(project["dependencies"] if extra == CORE else extras[extra]):
            users = found.setdefault(name, [])
            if CORE not in users and (extra in FOR_USERS or not users):
                users.append(extra)
    return found | {name: ["peers"] for name in PEERS}


def closure(lines: list[str]) -> set[str]:
    """Names of what these requirements bring, whatever the platform, as far as it is installed."""
    waiting = [Requirement(line) for line in lines]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        needed = waiting.pop()
        name = canonicalize_name(needed.name)
        key = (name, frozenset(needed.extras))
        if name == "rtsim" or key in seen:
            continue
        seen.add(key)
        try:
            below = [Requirement(line) for line in requires(name) or ()]
        except PackageNotFoundError:
            continue
        waiting += [child for child in below if applies(child, needed.extras)]
    return {name for name, _ in seen}


def applies(needed: Requirement, extras: set[str]) -> bool:
    """Whether a requirement is one of these extras of its package, or of none, on some platform."""
    if needed.marker is None:
        return True
    named = re.findall(r"extra == ['\"]([\w.-]+)['\"]", str(needed.marker))
    return not named or bool(set(named) & extras)


def differences(rows: list[PackageRow], found: list[PackageRow]) -> list[str]:
    """Where the page and the packages differ, in sentences; licences of the locked versions alone."""
    listed, there = {row.name: row for row in rows}, {row.name: row for row in found}
    wrong = [f"{name} is locked and not listed" for name in sorted(set(there) - set(listed))]
    wrong += [f"{name} is listed and not locked" for name in sorted(set(listed) - set(there))]
    for name in sorted(set(listed) & set(there) & locked_here()):
        if listed[name].licence != there[name].licence:
            wrong.append(f"{name} is listed as {listed[name].licence}, and is {there[name].licence}")
    remedy = "run python .ci/licences.py --write, and look at what has changed"
    return [f"docs/licences.md: {line}; {remedy}" for line in wrong]


def locked_here() -> set[str]:
    """Packages of which a locked version is installed: another one may have other words for its licence."""
    pinned = re.findall(r"^([A-Za-z0-9][\w.-]*)==([\w.!+]+)", LOCKED.read_text(encoding="utf-8"), re.M)
    return {canonicalize_name(name) for name, locked in pinned if version_of(name) == locked}


def version_of(name: str) -> str:
    """The version that is installed; "" without."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def bound(rows: list[PackageRow]) -> list[str]:
    """Packages whose licence is not known to be open, in sentences; of A OR B one is enough."""
    return [f"docs/licences.md: {row.name}: the licence {row.licence!r} is not among {', '.join(OPEN)}"
            for row in rows if not is_open(row.licence)]  # fmt: skip


def is_open(licence: str) -> bool:
    """Whether what is used beside a package of this licence is free of it."""
    choices = licence.replace("(as ", "").replace(")", "").split(" OR ")
    return any(all(part.strip().startswith(OPEN) for part in choice.split(" AND ")) for choice in choices)


if __name__ == "__main__":
    main()
