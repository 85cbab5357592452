"""The files of a recorded run, restored for a replay with their content at the time of that run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import msgspec

from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.exact.reading import RecordedRun
from rtsim.live.exact.run_files import FilePart, sha256_of


def restored_run(recorded: RecordedRun, folder: Path) -> RunConfig:
    """Return the run with its files at their present or restored paths.

    If no file has changed, all are read where they are. If a file is missing or changed, all files whose
    content is in the recording are written below `folder`, in their original folders, as they may include
    each other. Raises ConfigError if neither is possible.
    """
    files = _by_path(recorded.files)
    changed = [path for path, parts in files.items() if not _is_as_it_was(path, parts[0])]
    moved = {path: path for path in files}
    if changed:
        for path, parts in files.items():
            if parts[0].n_part or not parts[0].n_byte:
                moved[path] = _write(path, parts, folder, recorded)
            elif path in changed:
                raise ConfigError(
                    f"the run was made with {path}, which no longer exists or was changed, and was too "
                    "large to be kept in the recording",
                    where=str(recorded.path), remedy="restore the file as it was during the run",
                )  # fmt: skip
    then = os.fsdecode(recorded.files[0].folder) if recorded.files else os.getcwd()
    plain = msgspec.to_builtins(recorded.request.run)
    return msgspec.convert(_with_names(plain, moved, then), RunConfig)


def _by_path(parts: tuple[FilePart, ...]) -> dict[str, list[FilePart]]:
    found: dict[str, list[FilePart]] = {}
    for part in parts:
        found.setdefault(os.fsdecode(part.path), []).append(part)
    return found


def _is_as_it_was(path: str, part: FilePart) -> bool:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) != part.n_byte:
            return False
        return sha256_of(Path(path)) == part.sha256
    except (OSError, ValueError):
        return False


def _write(path: str, parts: list[FilePart], folder: Path, recorded: RecordedRun) -> str:
    """Write the parts of a file below the folder, at the path that it had in the recorded run; return its new
    path."""
    content = b"".join(part.content for part in sorted(parts, key=lambda part: part.part))
    if hashlib.sha256(content).hexdigest() != parts[0].sha256:
        raise ConfigError(
            f"the recording does not contain all of {path}, with which the run was made",
            where=str(recorded.path),
            remedy="take another copy of the recording, or restore the file as it was then",
        )  # fmt: skip
    names = [name for name in PurePath(path).parts[1:] if name not in ("..", ".", os.sep)]
    out = folder.joinpath(*names)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(content)
    except (OSError, ValueError) as fault:
        raise ConfigError(f"{path} of the run cannot be written ({fault})", where=str(folder)) from None
    return str(out)


def _with_names(value: Any, moved: Mapping[str, str], then: str) -> Any:
    """Replace file paths in plain values by the paths in `moved`; then : working folder of the recorded run,
    to which relative paths refer"""
    if isinstance(value, dict):
        return {key: _with_names(item, moved, then) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_names(item, moved, then) for item in value]
    if isinstance(value, str) and value and "\0" not in value:
        was = os.path.realpath(os.path.join(then, value))
        if was in moved and not (moved[was] == was and os.path.realpath(value) == was):
            return moved[was]
    return value
