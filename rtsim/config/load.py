"""Read a TOML file into a checked record: every mistake is one sentence that names the key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rtsim.config.mistake import explain
from rtsim.errors import ConfigError

Record = TypeVar("Record", bound=msgspec.Struct)


def load_toml(path: Path, record: type[Record]) -> Record:
    """Decode and check a TOML file against a msgspec Struct; ConfigError names file, key and remedy."""
    return check_record(read_toml(path), record, str(path))


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file, unchecked; ConfigError names file, line and remedy."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # with or without the mark that some editors put first
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(path), remedy="check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot be read ({error})", where=str(path), remedy="give a UTF-8 TOML file"
        ) from None
    return parse_toml(text, str(path))


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The tables of a TOML text; `where` names its origin in messages."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", where=where, remedy="mend the line named") from None
    except RecursionError:
        raise ConfigError("not valid TOML: nested without end", where=where) from None


def check_record(data: dict[str, Any], record: type[Record], where: str) -> Record:
    """The record that the tables make; ConfigError names the key that does not fit."""
    try:
        return msgspec.convert(data, record)
    except msgspec.ValidationError as error:
        what, allowed, remedy = explain(str(error), data, record)
        raise ConfigError(what, where=where, allowed=allowed, remedy=remedy) from None
