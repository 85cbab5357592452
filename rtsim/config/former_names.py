"""Former keys and values of config files, which are still accepted."""

from __future__ import annotations

import warnings
from typing import Any

KEYS = {"second_opinion": "restart_interval"}
"""Former key -> key."""
VALUES = {("law", "proposed"): "brown_mcphee"}
"""Key and its former value -> value."""


class FormerName(FutureWarning):
    """Warning about a former name in a config; shown once for each name, file and process."""


def with_current_names(tables: dict[str, Any], where: str) -> dict[str, Any]:
    """Replace former keys and values in the tables of a file by the present ones, each with a FormerName
    warning.

    where : the file, as shown to the user. If a key and its former name are both present, both are kept, so
        that the schema rejects the former one.
    """
    current: dict[str, Any] = {}
    for key, value in tables.items():
        name = KEYS.get(key, key)
        if name != key and name in tables:
            name = key
        elif name != key:
            tell(f"the key {key} was renamed {name}", where)
        if isinstance(value, str) and (key, value) in VALUES:
            tell(f'{key} = "{value}" was renamed "{VALUES[key, value]}"', where)
            value = VALUES[key, value]
        current[name] = _within(value, where)
    return current


def _within(value: Any, where: str) -> Any:
    """Return a value of a config file, with former names replaced in all nested tables."""
    if isinstance(value, dict):
        return with_current_names(value, where)
    if isinstance(value, list):
        return [_within(entry, where) for entry in value]
    return value


def tell(sentence: str, where: str) -> None:
    """Issue a warning that a name in a config file has changed; the file is still read as before."""
    warnings.warn(f"{where}: {sentence}; the former name is still accepted", FormerName, stacklevel=2)
