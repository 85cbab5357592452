"""Read a TOML file into a checked record: every mistake is one sentence that names the key."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TypeVar

import msgspec

from rtsim.errors import ConfigError

Record = TypeVar("Record", bound=msgspec.Struct)


def load_toml(path: Path, record: type[Record]) -> Record:
    """Decode and check a TOML file against a msgspec Struct; ConfigError names file, key and remedy."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(path), remedy="check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot be read ({error})", where=str(path), remedy="give a UTF-8 TOML file"
        ) from None
    return parse_toml(text, record, str(path))


def parse_toml(text: str, record: type[Record], where: str) -> Record:
    """Decode and check TOML text; `where` names its origin in messages."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", where=where, remedy="mend the line named") from None
    try:
        return msgspec.convert(data, record)
    except msgspec.ValidationError as error:
        raise ConfigError(plain(str(error)), where=where, remedy=allowed_keys(str(error), record)) from None


def plain(message: str) -> str:
    """msgspec's message with its path written as TOML keys."""
    found = re.search(r" - at `(?:key in )?\$?\.?(.*)`$", message)
    if not found:
        return message
    key = found.group(1).replace("[...]", "[]") or "top level"
    return f"key {key}: {message[: found.start()].replace('Object ', 'the table ')}"


def allowed_keys(message: str, record: type[msgspec.Struct]) -> str:
    if "unknown field" in message:
        known = ", ".join(record.__struct_fields__)
        return f"remove it or spell it as one of the known keys (top level: {known})"
    return "correct the value"
