"""Reading of a TOML file into a checked record; every mistake gives one message that names the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from rtsim.config.former_names import with_current_names
from rtsim.config.mistake import bound_in_words, explain
from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError

MOST_BYTES = 4_000_000
MOST_DOTS = 64
# A key of so many parts: the parser takes quadratic time for them, hours for a file of a megabyte.
DEEP = re.compile(
    r"""(?<![\w-])(?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){%d}""" % MOST_DOTS  # noqa: UP031
)

Record = TypeVar("Record", bound=msgspec.Struct)


def load_toml(path: Path, record: type[Record]) -> Record:
    """Decode and check a TOML file against a msgspec Struct; ConfigError names file, key and remedy."""
    return check_record(read_toml(path), record, str(path))


def read_toml(path: Path) -> dict[str, Any]:
    """Read the tables of a TOML file, unchecked; ConfigError names file, line and remedy."""
    data = read_bounded(path, MOST_BYTES, "the file is too large for a config; give a UTF-8 TOML file")
    try:
        text = data.decode("utf-8-sig")  # with or without the mark that some editors put first
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"cannot be read ({error})", where=str(path), remedy="give a UTF-8 TOML file"
        ) from None
    return parse_toml(text, str(path))


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Parse the tables of a TOML text, with former names replaced; where : its origin, for messages."""
    deep = DEEP.search(text)
    if deep:
        line = text.count("\n", 0, deep.start()) + 1
        raise ConfigError(
            f"not valid TOML: a key has more than {MOST_DOTS} parts (at line {line})",
            where=where,
            remedy="correct the line named in this message",
        )
    try:
        return with_current_names(tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"not valid TOML: {error}", where=where, remedy="correct the line named in this message"
        ) from None
    except RecursionError:
        raise ConfigError("not valid TOML: arrays or tables are nested too deeply", where=where) from None
    except ValueError as error:  # numbers of thousands of digits, dates that no calendar has
        words = str(error).partition(";")[0]  # then comes advice for programmers
        raise ConfigError(f"not valid TOML: {words}", where=where, remedy="correct the value") from None


def check_record(
    data: dict[str, Any], record: type[Record], where: str, options: Mapping[str, str] = MappingProxyType({})
) -> Record:
    """Return the record that a schema makes of the tables of a config; ConfigError names the key that does
    not fit.

    where : the file, for messages
    options : key -> command-line option that it comes from, which is named instead
    """
    try:
        return msgspec.convert(data, record)
    except msgspec.ValidationError as error:
        what, allowed, remedy = explain(str(error), data, record)
        key, _, rest = what.removeprefix("key ").partition(": ")
        if key in options:
            where, what = options[key], rest
            if bound := bound_in_words(rest):
                what, allowed = f"{value_at(data, key)}", bound
        raise ConfigError(what, where=where, allowed=allowed, remedy=remedy) from None


def value_at(data: dict[str, Any], key: str) -> Any:
    """Return the value in nested tables at a key with dots, such as `exchange.rate_hz`."""
    for name in key.split("."):
        data = data[name]
    return data
