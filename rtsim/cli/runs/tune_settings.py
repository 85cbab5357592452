"""What the costs in the file of a search depend on, and the check that it is continued under the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rtsim.cli.runs.tune_options import Asking
from rtsim.cli.terminal.lines import tell
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import HilSpec, given
from rtsim.errors import ConfigError
from rtsim.files import model_toml
from rtsim.live.hardware.device_replay import flat
from rtsim.models.load import load_model
from rtsim.studies.plan import hash_of_file, surface_files, without_folders
from rtsim.tuning.problem import tuning_of
from streams.account import plain

SHOWN, NOTHING = 80, "nothing"
"""Longest text of a setting in a message, and the text of one that is not there."""
CONTENT = "content"
"""Beginning of the keys of checksums."""


def settings_of(spec: HilSpec, tuned: Sequence[str], asking: Asking) -> dict[str, Any]:
    """Return everything in the config on which the cost of a setting depends besides the setting itself, by
    its keys, joined with dots, with values as they are read from a JSON file.

    tuned : names of the tuned parameters, which a search sets itself: their values in the config do not count

    Of simulations the content of the config's files counts, too; a running model does not tell that of its
    own.
    """
    of_search = ("budget", "parameters", *(["costs"] if asking.operator else []))
    tuning = {k: v for k, v in msgspec.to_builtins(tuning_of(spec)).items() if k not in of_search}
    if "costs" in tuning:
        tuning["costs"] = {str(k): term for k, term in enumerate(tuning["costs"])}
    measured = {"device": spec.device, CONTENT: content_of(spec)} if asking.offline else {}
    of_change = (*tuned, "ranges", "change_s")
    controller = {key: v for key, v in spec.settings["controller"].items() if key not in of_change}
    searched = {"controller": controller, "tuning": given(tuning), "offline": asking.offline}
    tables = {**spec.settings, **searched, **measured}
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(flat(tables)))
    return found


def content_of(spec: HilSpec) -> dict[str, str]:
    """Return checksums of what the files of a config contain, which its names of files do not tell: the
    model, with those that it is made from and the surfaces of its contacts, the device, and the motion.
    """
    device = load_toml(find_config(spec.device, "devices"), DeviceSpec)
    model = model_toml.given(load_model(spec.model))
    files = list(surface_files(model))
    without = without_folders(model, {str(path): path.name for path in files})
    found = {
        "model": checksum([without, [hash_of_file(path) for path in files]]),
        "device": checksum(model_toml.given(device)),
    }
    return found | ({"motion": checksum(hash_of_file(Path(spec.motion)))} if spec.motion else {})


def checksum(tables: Any) -> str:
    """Return a checksum of plain values."""
    return hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()[:16]


def check_settings(was: dict[str, Any], now: dict[str, Any], where: str) -> None:
    """Raise ConfigError if a search in a file was made with other settings than those of the config; note it
    if the file does not state them.

    was, now : both as of `settings_of`; where : the file
    """
    if not was:
        tell(
            f"note: {where} does not state the settings of its runs (an earlier version of rtsim wrote it), "
            "so they are not compared with those of the config"
        )
        return
    # a name of a file says more than the checksum of its content
    for key in sorted({*was, *now}, key=lambda key: (key.startswith(f"{CONTENT}."), key)):
        if was.get(key) != now.get(key):
            before, after = (plain(str(one.get(key, NOTHING)), SHOWN) for one in (was, now))
            raise ConfigError(
                f"the search in the file has {plain(key, SHOWN)} = {before}, but now it is {after}",
                where=where, remedy="give the config with which the file began, or the name of a new file",
            )  # fmt: skip
